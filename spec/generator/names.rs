//! What things are called in Rust.

use super::model::{Class, Description, Enum, Item, Struct};

/// `some-name` as `SomeName`.
pub fn camel(name: &str) -> String {
    name.split('-')
        .map(|word| word[..1].to_uppercase() + &word[1..])
        .collect()
}

/// `some-name` as `SOME_NAME`.
pub fn constant(name: &str) -> String {
    name.replace('-', "_").to_uppercase()
}

/// `some-name` as a field's name.
pub fn snake(name: &str) -> String {
    let name = name.replace('-', "_");
    if matches!(name.as_str(), "type") {
        format!("r#{name}")
    } else {
        name
    }
}

/// The Rust name of a struct: its class in front, unless it is `bare` or begins with it.
pub fn struct_name(class: &Class, item: &Struct) -> String {
    if item.bare || item.name.starts_with(&format!("{}-", class.name)) {
        camel(&item.name)
    } else {
        camel(&class.name) + &camel(&item.name)
    }
}

/// The Rust name of an enum: its class in front only if two classes use the name.
pub fn enum_name(description: &Description, class: Option<&Class>, item: &Enum) -> String {
    let uses = |class: &&Class| class.enums.iter().any(|other| other.name == item.name);
    match class {
        Some(class) if description.classes.iter().filter(uses).count() > 1 => {
            camel(&class.name) + &camel(&item.name)
        }
        _ => camel(&item.name),
    }
}

/// The Rust name of a control or command.
pub fn item_name(class: &Class, item: &Item) -> String {
    camel(&class.name) + &camel(&item.name)
}

/// Whether a struct stands in a header segment, or is a field of one that does.
pub fn is_in_header(class: &Class, item: &Struct) -> bool {
    let headers = || class.items.iter().filter_map(|item| item.header.as_ref());
    let is_entry = |name: &str| {
        headers()
            .flat_map(|header| &header.entries)
            .any(|e| e == name)
    };
    let owners = class.structs.iter().filter(|owner| is_entry(&owner.name));
    is_entry(&item.name)
        || owners
            .flat_map(|owner| &owner.fields)
            .any(|field| field.type_name == item.name)
}
