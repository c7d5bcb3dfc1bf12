//! The schema as Rust: tables, and a type for every class, event and the methods of a class.

use std::fmt::Write;

use aws_lc_rs::digest;

use super::model::{Argument, Class, Event, Notes, Package, Property, Spread, Statistic, type_of};
use super::names::{camel, constant, module};
use super::render_fields::{class_type, event_type, method_type};
use super::resolve::SEVERITIES;

const MARK: &str = "// Generated from spec/management.spec by spec/generator/management. Not to be \
                    edited:\n// UPDATE=1 cargo test --test spec_staleness\n\n";

/// Name and text of every file; the text is not formatted yet.
pub fn files(packages: &[Package]) -> Vec<(String, String)> {
    let file = |package: &Package| {
        let name = format!("{}.rs", module(&package.name));
        (name, package_file(package))
    };
    let mut files: Vec<_> = packages.iter().map(file).collect();
    files.push(("mod.rs".to_owned(), root(packages)));
    for (_, text) in &mut files {
        let doc_end = text.find("\n\n").map_or(0, |at| at + 2);
        text.insert_str(doc_end, MARK);
    }
    files
}

fn root(packages: &[Package]) -> String {
    let mut out = String::from("//! What `spec/management.spec` says, as Rust.\n\n");
    for package in packages {
        let _ = writeln!(out, "pub mod {};", module(&package.name));
    }
    out += "\nuse super::datum::Arguments;\nuse super::schema::{Class, Package};\n\n";
    out += "/// Every package, in the order in which consoles are told of them.\n";
    out += "pub static PACKAGES: &[&Package] = &[";
    for package in packages {
        let _ = write!(out, "&{}::PACKAGE, ", module(&package.name));
    }
    out += "];\n\n/// A method to be called, with its arguments, by the class of the object.\n";
    out += "#[derive(Clone, Debug, PartialEq)]\npub enum Call {\n";
    let mut arms = String::new();
    for package in packages {
        let module = module(&package.name);
        for class in package
            .classes
            .iter()
            .filter(|class| !class.methods.is_empty())
        {
            let name = camel(&class.name);
            let _ = writeln!(
                out,
                "/// Of class `{}`.\n{name}({module}::{name}Method),",
                class.name
            );
            let _ = writeln!(
                arms,
                "({:?}, {:?}) => {module}::{name}Method::from_arguments(index, arguments)\
                 .map(Call::{name}),",
                package.name, class.name
            );
        }
    }
    out += "}\n\nimpl Call {\n";
    out += "/// The call of the method at `index` of `class`; None unless the arguments are those of \
            the\n/// schema, which [`Method`](super::schema::Method) makes.\n";
    out += "pub(crate) fn new(class: &Class, index: usize, arguments: &mut Arguments) -> \
            Option<Self> {\nmatch (class.package, class.name) {\n";
    out += &arms;
    out += "_ => None,\n}\n}\n}\n";
    out
}

fn package_file(package: &Package) -> String {
    let mut body = String::new();
    let _ = writeln!(
        body,
        "/// The package.\npub static PACKAGE: Package = Package {{ name: {:?},",
        package.name
    );
    let list = |names: Vec<String>| names.join(", ");
    let classes = package
        .classes
        .iter()
        .map(|class| format!("&{}", constant(&class.name)));
    let events = package
        .events
        .iter()
        .map(|event| format!("&{}_EVENT", constant(&event.name)));
    let _ = writeln!(
        body,
        "classes: &[{}], events: &[{}] }};\n",
        list(classes.collect()),
        list(events.collect())
    );
    for class in &package.classes {
        body += &class_table(package, class);
        body += &class_type(class);
        body += &method_type(class);
    }
    for event in &package.events {
        body += &event_table(package, event);
        body += &event_type(event);
    }
    format!("//! Package `{}`.\n\n", package.name) + &imports(&body) + &body
}

/// The `use` lines for what the text mentions.
fn imports(body: &str) -> String {
    let mentions = |name: &str| {
        body.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .any(|word| word == name)
    };
    let line = |path: &str, names: &[&str]| {
        let used: Vec<_> = names
            .iter()
            .copied()
            .filter(|name| mentions(name))
            .collect();
        match used.is_empty() {
            true => String::new(),
            false => format!("use {path}::{{{}}};\n", used.join(", ")),
        }
    };
    let datum = ["Arguments", "Datum", "Samples", "Watermarks"];
    let object = ["ObjectName", "Values"];
    let schema = [
        "Access",
        "Argument",
        "Class",
        "EventClass",
        "Method",
        "Package",
        "Property",
        "Severity",
        "Statistic",
        "Type",
    ];
    let wire = ["Map", "Text", "Value"];
    line("crate::qmf::datum", &datum)
        + &line("crate::qmf::event", &["Event"])
        + &line("crate::qmf::object", &object)
        + &line("crate::qmf::schema", &schema)
        + &line("crate::wire", &wire)
        + "\n"
}

/// What tells a class from others of its name: all that changes how its objects are read.
fn hash(lines: &[String]) -> String {
    let digest = digest::digest(&digest::SHA256, lines.join("\n").as_bytes());
    let octets: Vec<_> = digest.as_ref()[..16]
        .iter()
        .map(|b| format!("{b:#04x}"))
        .collect();
    format!("[{}]", octets.join(", "))
}

fn argument_lines(arguments: &[Argument]) -> impl Iterator<Item = String> + '_ {
    let line = |a: &Argument| {
        let default = a.default.as_deref().unwrap_or("-");
        format!(
            "argument {} {} {} {default}",
            a.direction, a.name, a.type_name
        )
    };
    arguments.iter().map(line)
}

fn class_hash(package: &Package, class: &Class) -> String {
    let mut lines = vec![format!("class {} {}", package.name, class.name)];
    for p in &class.properties {
        let access = p.notes.access.as_deref().unwrap_or("RO");
        let (index, optional) = (p.notes.is_index, p.notes.is_optional);
        lines.push(format!(
            "property {} {} {access} {index} {optional} {:?}",
            p.name, p.type_name, p.refers_to
        ));
    }
    for s in &class.statistics {
        lines.push(format!("statistic {} {}", s.name, s.type_name));
    }
    for method in &class.methods {
        lines.push(format!("method {}", method.name));
        lines.extend(argument_lines(&method.arguments));
    }
    hash(&lines)
}

fn class_table(package: &Package, class: &Class) -> String {
    let mut out = format!(
        "/// Class `{}`.\npub static {}: Class = Class {{ package: {:?}, name: {:?}, hash: {}, \
         properties: &[",
        class.name,
        constant(&class.name),
        package.name,
        class.name,
        class_hash(package, class)
    );
    for property in &class.properties {
        out += &property_row(package, property);
    }
    out += "], statistics: &[";
    for statistic in &class.statistics {
        out += &statistic_rows(statistic);
    }
    out += "], methods: &[";
    for method in &class.methods {
        let _ = write!(
            out,
            "Method {{ name: {:?}, about: {:?}, arguments: &[{}] }},",
            method.name,
            method.about,
            argument_rows(&method.arguments)
        );
    }
    out + "] };\n\n"
}

fn property_row(package: &Package, property: &Property) -> String {
    let Notes {
        access,
        is_index,
        is_optional,
        unit,
        min,
        about,
    } = &property.notes;
    let access = match access.as_deref() {
        Some("RC") => "ReadCreate",
        Some("RW") => "ReadWrite",
        _ => "ReadOnly",
    };
    let mut row = format!(
        "Property::new({:?}, Type::{}, Access::{access})",
        property.name,
        variant(&property.type_name)
    );
    if *is_index {
        row += ".index()";
    }
    if *is_optional {
        row += ".optional()";
    }
    if let Some((other, class)) = &property.refers_to {
        let package = other.as_deref().unwrap_or(&package.name);
        let _ = write!(row, ".refers_to({package:?}, {class:?})");
    }
    if let Some(min) = min {
        let _ = write!(row, ".min({min})");
    }
    row + &said(unit, about) + ","
}

/// Unit and description, if there are any.
fn said(unit: &Option<String>, about: &Option<String>) -> String {
    let say = |what, text: &Option<String>| match text {
        Some(text) => format!(".{what}({text:?})"),
        None => String::new(),
    };
    say("unit", unit) + &say("about", about)
}

/// The name of the schema's type.
pub fn variant(type_name: &str) -> &'static str {
    type_of(type_name).map_or("", |found| found.variant)
}

/// The names that a statistic gets behind its own: in the schema, and in maps of values.
fn spread(type_name: &str) -> &'static [(&'static str, &'static str)] {
    match type_of(type_name).map(|found| found.spread) {
        Some(Spread::HighLow) => &[("", ""), ("High", "High"), ("Low", "Low")],
        Some(Spread::Samples) => &[
            ("Samples", "Count"),
            ("Min", "Min"),
            ("Max", "Max"),
            ("Average", "Avg"),
        ],
        _ => &[("", "")],
    }
}

fn statistic_rows(statistic: &Statistic) -> String {
    let mut out = String::new();
    for (in_schema, in_values) in spread(&statistic.type_name) {
        let (name, of) = (&statistic.name, variant(&statistic.type_name));
        let _ = write!(out, "Statistic::new(\"{name}{in_schema}\", Type::{of})");
        if in_schema != in_values {
            let _ = write!(out, ".in_values(\"{name}{in_values}\")");
        }
        out += &(said(&statistic.notes.unit, &statistic.notes.about) + ",");
    }
    out
}

fn argument_rows(arguments: &[Argument]) -> String {
    let mut out = String::new();
    for argument in arguments {
        let direction = match argument.direction.as_str() {
            "O" => "answered",
            "IO" => "both",
            _ => "given",
        };
        let (name, of) = (&argument.name, variant(&argument.type_name));
        let _ = write!(out, "Argument::{direction}({name:?}, Type::{of})");
        if let Some(default) = &argument.default {
            let _ = write!(out, ".default({default:?})");
        }
        out.push(',');
    }
    out
}

fn event_table(package: &Package, event: &Event) -> String {
    let mut lines = vec![format!("event {} {}", package.name, event.name)];
    lines.extend(argument_lines(&event.arguments));
    let severity = SEVERITIES.iter().position(|name| *name == event.severity);
    let severity = match severity {
        Some(0) => "Emergency",
        Some(1) => "Alert",
        Some(2) => "Critical",
        Some(3) => "Error",
        Some(4) => "Warning",
        Some(5) => "Notice",
        Some(6) => "Informational",
        _ => "Debug",
    };
    format!(
        "/// Event `{}`.\npub static {}_EVENT: EventClass = EventClass {{ package: {:?}, name: {:?}, \
         hash: {}, severity: Severity::{severity}, arguments: &[{}] }};\n\n",
        event.name,
        constant(&event.name),
        package.name,
        event.name,
        hash(&lines),
        argument_rows(&event.arguments)
    )
}
