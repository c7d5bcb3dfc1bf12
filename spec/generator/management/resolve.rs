//! What a description that parses may still get wrong.

use std::collections::BTreeSet;

use super::model::{Argument, Class, Notes, Package, Spread, type_of};
use super::names::module;

pub const SEVERITIES: [&str; 8] = [
    "emerg", "alert", "crit", "error", "warn", "notice", "inform", "debug",
];

/// Checks that names are unique, that types fit where they stand and that references lead somewhere.
pub fn check(packages: &[Package]) -> Result<(), String> {
    unique(
        "packages",
        packages.iter().map(|package| module(&package.name)),
    )?;
    for package in packages {
        let name = &package.name;
        unique(name, package.classes.iter().map(|class| &*class.name))?;
        unique(name, package.events.iter().map(|event| &*event.name))?;
        for class in &package.classes {
            check_class(packages, package, class)?;
        }
        for event in &package.events {
            let place = format!("{name}.{}", event.name);
            if !SEVERITIES.contains(&event.severity.as_str()) {
                return Err(format!("{place}: no severity is {}", event.severity));
            }
            check_arguments(&place, &event.arguments)?;
        }
    }
    Ok(())
}

fn unique<'a>(place: &str, names: impl Iterator<Item = &'a str>) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    for name in names {
        if !seen.insert(name) {
            return Err(format!("{place}: {name} comes twice"));
        }
    }
    Ok(())
}

fn check_class(packages: &[Package], package: &Package, class: &Class) -> Result<(), String> {
    let place = format!("{}.{}", package.name, class.name);
    let properties = class.properties.iter().map(|property| &*property.name);
    let statistics = class.statistics.iter().map(|statistic| &*statistic.name);
    unique(&place, properties.chain(statistics))?;
    unique(&place, class.methods.iter().map(|method| &*method.name))?;
    for property in &class.properties {
        let place = format!("{place}.{}", property.name);
        one(&place, &property.type_name)?;
        let notes = &property.notes;
        if notes.is_optional && (notes.is_index || notes.access.as_deref() == Some("RC")) {
            return Err(format!(
                "{place}: what is given at creation is not optional"
            ));
        }
        if (property.type_name == "objId") != property.refers_to.is_some() {
            return Err(format!(
                "{place}: an objId, and nothing else, refers to a class"
            ));
        }
        let Some((other, class)) = &property.refers_to else {
            continue;
        };
        let owner = other.as_ref().unwrap_or(&package.name);
        let is_there = |candidate: &&Package| {
            candidate.name == *owner && candidate.classes.iter().any(|c| c.name == *class)
        };
        packages
            .iter()
            .find(is_there)
            .ok_or_else(|| format!("{place}: nothing is called {owner}:{class}"))?;
    }
    for statistic in &class.statistics {
        let Notes {
            access,
            is_index,
            is_optional,
            ..
        } = &statistic.notes;
        if access.is_some() || *is_index || *is_optional {
            return Err(format!("{place}.{}: said of a statistic", statistic.name));
        }
    }
    for method in &class.methods {
        check_arguments(&format!("{place}.{}", method.name), &method.arguments)?;
    }
    Ok(())
}

fn check_arguments(place: &str, arguments: &[Argument]) -> Result<(), String> {
    unique(place, arguments.iter().map(|argument| &*argument.name))?;
    let check = |argument: &Argument| {
        let place = format!("{place}.{}", argument.name);
        one(&place, &argument.type_name)
    };
    arguments.iter().try_for_each(check)
}

/// That a type is one value.
fn one(place: &str, type_name: &str) -> Result<(), String> {
    match type_of(type_name) {
        Some(found) if found.spread == Spread::One => Ok(()),
        _ => Err(format!("{place}: {type_name} is for statistics")),
    }
}
