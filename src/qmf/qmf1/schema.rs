//! What a class or an event looks like, as version 1 tells it.

use super::super::schema::{Argument, Class, EventClass, Property, Statistic};
use crate::wire::{Map, Value, encode};

/// What kind of thing a schema is of.
pub(super) const CLASS: u8 = 1;
pub(super) const EVENT: u8 = 2;

/// Appends kind, package, name and hash.
pub(super) fn put_key(kind: u8, package: &str, name: &str, hash: &[u8; 16], out: &mut Vec<u8>) {
    encode::u8(out, kind);
    encode::str8(out, package);
    encode::str8(out, name);
    out.extend_from_slice(hash);
}

/// Appends the schema of a class: how many properties, statistics and methods, then a map each, and
/// behind a method's a map for each of its arguments.
pub(super) fn put_class(class: &Class, out: &mut Vec<u8>) {
    put_key(CLASS, class.package, class.name, &class.hash, out);
    let counts = [
        class.properties.len(),
        class.statistics.len(),
        class.methods.len(),
    ];
    for count in counts {
        encode::u16(out, count as u16);
    }
    for property in class.properties {
        property_map(property).encode(out);
    }
    for statistic in class.statistics {
        statistic_map(statistic).encode(out);
    }
    for method in class.methods {
        let mut map = Map::new();
        map.insert("name", method.name);
        map.insert("argCount", method.arguments.len() as i32);
        say(&mut map, "desc", method.about);
        map.encode(out);
        for argument in method.arguments {
            let mut map = argument_map(argument);
            map.insert("dir", argument.direction.name());
            say(&mut map, "default", argument.default);
            map.encode(out);
        }
    }
}

/// Appends the schema of an event: how many arguments, then a map each.
pub(super) fn put_event(event: &EventClass, out: &mut Vec<u8>) {
    put_key(EVENT, event.package, event.name, &event.hash, out);
    encode::u16(out, event.arguments.len() as u16);
    for argument in event.arguments {
        argument_map(argument).encode(out);
    }
}

fn say(map: &mut Map, name: &'static str, text: Option<&'static str>) {
    if let Some(text) = text {
        map.insert(name, text);
    }
}

fn property_map(property: &Property) -> Map {
    let mut map = Map::new();
    map.insert("name", property.name);
    map.insert("type", property.r#type.code());
    map.insert("access", property.access as u8);
    map.insert("index", i32::from(property.is_index));
    map.insert("optional", i32::from(property.is_optional));
    if let Some((package, class)) = property.refers_to {
        map.insert("refPackage", package);
        map.insert("refClass", class);
    }
    say(&mut map, "unit", property.unit);
    if let Some(min) = property.min {
        map.insert("min", Value::U32(min));
    }
    say(&mut map, "desc", property.about);
    map
}

fn statistic_map(statistic: &Statistic) -> Map {
    let mut map = Map::new();
    map.insert("name", statistic.name);
    map.insert("type", statistic.r#type.code());
    say(&mut map, "unit", statistic.unit);
    say(&mut map, "desc", statistic.about);
    map
}

fn argument_map(argument: &Argument) -> Map {
    let mut map = Map::new();
    map.insert("name", argument.name);
    map.insert("type", argument.r#type.code());
    map
}
