//! Names to types: what a field is on the wire and in Rust.

use super::model::{Class, Description, Enum, Field, Item, Struct};

/// What a field's type comes down to.
#[derive(Clone, Copy)]
pub enum Resolved<'a> {
    /// A type of the protocol.
    Plain(&'a str),
    /// A number with named values, and the class that it belongs to.
    Enum(&'a Enum, Option<&'a Class>),
    /// A struct, and the class that it belongs to.
    Struct(&'a Struct, &'a Class),
}

/// What `name`, used inside `class`, stands for.
pub fn resolve<'a>(
    description: &'a Description,
    class: Option<&'a Class>,
    name: &'a str,
) -> Result<Resolved<'a>, String> {
    if let Some((other, name)) = name.split_once('.') {
        let other = description.classes.iter().find(|class| class.name == other);
        return resolve(
            description,
            Some(other.ok_or_else(|| format!("no class of {name}"))?),
            name,
        );
    }
    if let Some(class) = class {
        if let Some(found) = class.enums.iter().find(|item| item.name == name) {
            return Ok(Resolved::Enum(found, Some(class)));
        }
        if let Some(found) = class.structs.iter().find(|item| item.name == name) {
            return Ok(Resolved::Struct(found, class));
        }
        if let Some(found) = class.aliases.iter().find(|item| item.name == name) {
            return resolve(description, None, &found.target);
        }
    }
    if let Some(found) = description.enums.iter().find(|item| item.name == name) {
        return Ok(Resolved::Enum(found, None));
    }
    if let Some(found) = description.aliases.iter().find(|item| item.name == name) {
        return resolve(description, None, &found.target);
    }
    if description.types.iter().any(|item| item.name == name) {
        return Ok(Resolved::Plain(name));
    }
    Err(format!("nothing is called {name}"))
}

/// Checks that every name leads somewhere and that no code stands twice.
pub fn check(description: &Description) -> Result<(), String> {
    for class in &description.classes {
        for (owner, fields) in field_lists(class) {
            for field in fields {
                resolve(description, Some(class), &field.type_name)
                    .map_err(|error| format!("{}.{owner}.{}: {error}", class.name, field.name))?;
            }
        }
        for item in &class.items {
            check_item(description, class, item)?;
        }
        let mut codes: Vec<_> = class.structs.iter().filter_map(|item| item.code).collect();
        let count = codes.len();
        codes.sort_unstable();
        codes.dedup();
        if codes.len() != count {
            return Err(format!("class {} has two structs of one code", class.name));
        }
        for (index, item) in class.items.iter().enumerate() {
            if class.items[..index]
                .iter()
                .any(|other| other.code == item.code)
            {
                return Err(format!("{}.{} shares its code", class.name, item.name));
            }
        }
    }
    Ok(())
}

fn check_item(description: &Description, class: &Class, item: &Item) -> Result<(), String> {
    let known = |name: &String| class.items.iter().any(|other| other.name == *name);
    if let Some(reply) = item.replies.iter().find(|name| !known(name)) {
        return Err(format!("{}.{}: no reply {reply}", class.name, item.name));
    }
    let entries = item.header.iter().flat_map(|header| &header.entries);
    for name in entries.chain(&item.result) {
        if !matches!(
            resolve(description, Some(class), name)?,
            Resolved::Struct(..)
        ) {
            return Err(format!("{}.{}: no struct {name}", class.name, item.name));
        }
    }
    let fields = item.fields.iter().flat_map(|field| &field.notes.raises);
    for (name, error) in fields.chain(&item.notes.raises) {
        if error_number(description, error).is_none() {
            return Err(format!(
                "{}.{}: {name} raises no error",
                class.name, item.name
            ));
        }
    }
    Ok(())
}

/// The number of an error code of class execution.
pub fn error_number(description: &Description, name: &str) -> Option<u32> {
    let class = description
        .classes
        .iter()
        .find(|class| class.name == "execution")?;
    let codes = class.enums.iter().find(|item| item.name == "error-code")?;
    codes
        .values
        .iter()
        .find(|value| value.0 == name)
        .map(|value| value.1)
}

/// Every list of fields of a class, with the name of what has them: structs, then items.
pub fn field_lists(class: &Class) -> impl Iterator<Item = (&str, &[Field])> {
    let structs = class
        .structs
        .iter()
        .map(|item| (item.name.as_str(), item.fields.as_slice()));
    structs.chain(
        class
            .items
            .iter()
            .map(|item| (item.name.as_str(), item.fields.as_slice())),
    )
}
