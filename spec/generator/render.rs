//! The description as Rust: one file a class, one for what belongs to none, one each for the
//! enums of all controls and all commands.

use std::fmt::Write;

use super::model::{Class, Description, Duty, Enum, Item, Kind, Role, Struct, Width};
use super::names::{camel, constant, enum_name, is_in_header, item_name, struct_name};
use super::render_fields::{fields_impl, struct_definition};
use super::render_tables::{catalogue, dispatch};

const MARK: &str = "// Generated from spec/amqp-0-10.spec by spec/generator. Not to be edited:\n\
                    // UPDATE=1 cargo test --test spec_staleness\n\n";

/// Name and text of every file; the text is not formatted yet.
pub fn files(description: &Description) -> Vec<(String, String)> {
    let mut files = vec![
        ("mod.rs".to_owned(), root(description)),
        ("type_code.rs".to_owned(), type_codes(description)),
        (
            "control.rs".to_owned(),
            dispatch(description, Kind::Control),
        ),
        (
            "command.rs".to_owned(),
            dispatch(description, Kind::Command),
        ),
        ("catalogue.rs".to_owned(), catalogue(description)),
    ];
    for class in &description.classes {
        let (values, items) = (values(description, class), items(description, class));
        let (code, name) = (class.code, &class.name);
        let duties = duties(&class.roles);
        let title = format!("//! Class `{name}` (code {code}), spoken by {duties}.\n\n");
        if is_split(class) {
            let about = format!("//! Structs and numbers of class `{name}` (code {code}).\n\n");
            let text = about + &imports(description, class, &values) + &values;
            files.push((format!("{name}_structs.rs"), text));
            let text = title + &imports(description, class, &items) + &items;
            files.push((format!("{name}.rs"), text));
        } else {
            let body = values + &items;
            let text = title + &imports(description, class, &body) + &body;
            files.push((format!("{name}.rs"), text));
        }
    }
    for (_, text) in &mut files {
        let doc_end = text.find("\n\n").map_or(0, |at| at + 2);
        text.insert_str(doc_end, MARK);
    }
    files
}

fn root(description: &Description) -> String {
    let mut out = String::from("//! What `spec/amqp-0-10.spec` says, as Rust.\n\n");
    let mut modules = vec![
        "catalogue".to_owned(),
        "command".to_owned(),
        "control".to_owned(),
    ];
    modules.extend(description.classes.iter().map(|class| class.name.clone()));
    let split = description.classes.iter().filter(|class| is_split(class));
    modules.extend(split.map(|class| format!("{}_structs", class.name)));
    modules.sort();
    for name in &modules {
        let _ = writeln!(out, "mod {name};");
    }
    out.push_str("pub mod type_code;\n\n");
    for name in &modules {
        let _ = writeln!(out, "pub use {name}::*;");
    }
    for (name, value) in &description.constants {
        let _ = writeln!(
            out,
            "\n/// `{name}`.\npub const {}: u32 = {value};",
            constant(name)
        );
    }
    out.push_str("\nuse crate::wire::named_number;\n");
    for item in &description.enums {
        enumeration(&mut out, &camel(&item.name), &item.name, item);
    }
    out
}

fn type_codes(description: &Description) -> String {
    let mut out =
        String::from("//! Codes of the types that can stand in maps, lists and arrays.\n\n");
    let coded = || {
        description
            .types
            .iter()
            .filter_map(|item| Some((item, item.code?)))
    };
    for (item, code) in coded() {
        let width = match item.width {
            Width::Fixed(1) => "1 octet".to_owned(),
            Width::Fixed(octets) => format!("{octets} octets"),
            Width::Counted(octets) => format!("octets behind a count of {octets}"),
        };
        let _ = writeln!(
            out,
            "/// `{}`: {width}.\npub const {}: u8 = {code:#04x};",
            item.name,
            constant(&item.name)
        );
    }
    out.push_str(
        "\n/// The name of the type with this code.\n\
         pub fn name(code: u8) -> Option<&'static str> {\nSome(match code {\n",
    );
    for (item, _) in coded() {
        let _ = writeln!(out, "{} => {:?},", constant(&item.name), item.name);
    }
    out.push_str("_ => return None,\n})\n}\n");
    out
}

/// Whether a class has so many structs and numbers that they get a file of their own.
fn is_split(class: &Class) -> bool {
    class.enums.len() + class.structs.len() > 12
}

fn values(description: &Description, class: &Class) -> String {
    let mut out = String::new();
    for item in &class.enums {
        let path = format!("{}.{}", class.name, item.name);
        enumeration(
            &mut out,
            &enum_name(description, Some(class), item),
            &path,
            item,
        );
    }
    for item in &class.structs {
        structure(&mut out, description, class, item);
    }
    out
}

fn items(description: &Description, class: &Class) -> String {
    let mut out = String::new();
    for item in &class.items {
        control_or_command(&mut out, description, class, item);
    }
    out
}

/// Imports of the names that `body` uses.
fn imports(description: &Description, class: &Class, body: &str) -> String {
    let is_code = |line: &&str| !line.trim_start().starts_with("///");
    let code: String = body
        .lines()
        .filter(is_code)
        .flat_map(|line| [line, "\n"])
        .collect();
    let uses = |name: &str| {
        code.match_indices(name).any(|(at, _)| {
            let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let before = code[..at].chars().next_back();
            let after = code[at + name.len()..].chars().next();
            !before.is_some_and(is_name) && !after.is_some_and(is_name)
        })
    };
    let mut out = String::new();
    if uses("Range") {
        out.push_str("use std::ops::Range;\n\n");
    }
    let shared = [
        ("Text", "Text"),
        ("Array", "array::Array"),
        ("ByteRanges", "byte_ranges::ByteRanges"),
        ("CommandId", "command_id::CommandId"),
        ("Cursor", "cursor::Cursor"),
        ("DecodeError", "decode_error::DecodeError"),
        ("encode", "encode"),
        ("Map", "map::Map"),
        ("Fields", "fields::Fields"),
        ("named_number", "named_number"),
        ("Packed", "packed::Packed"),
        ("Selected", "packed::Selected"),
        ("Struct", "packed::Struct"),
        ("SequenceSet", "sequence_set::SequenceSet"),
        ("Struct32", "struct32::Struct32"),
    ];
    for (name, path) in shared {
        if uses(name) {
            let _ = writeln!(out, "use crate::wire::{path};");
        }
    }
    let elsewhere = |other: &&Class| other.name != class.name || is_split(other);
    for other in description.classes.iter().filter(elsewhere) {
        let enums = other
            .enums
            .iter()
            .map(|item| enum_name(description, Some(other), item));
        let structs = other.structs.iter().map(|item| struct_name(other, item));
        let defined = |name: &str| {
            let begins = |end: char| body.contains(&format!("pub struct {name}{end}"));
            begins(' ') || begins('(')
        };
        for name in enums
            .chain(structs)
            .filter(|name| uses(name) && !defined(name))
        {
            let _ = writeln!(out, "use super::{name};");
        }
    }
    out + "\n"
}

/// A number with named values: unknown ones are kept and printed.
fn enumeration(out: &mut String, name: &str, path: &str, item: &Enum) {
    let base = match item.base.as_str() {
        "uint8" => "u8",
        _ => "u16",
    };
    let _ = writeln!(
        out,
        "\nnamed_number! {{\n    /// `{path}`; values without a name are kept as they come.\n    \
         pub struct {name}({base}) {{"
    );
    for (value, number) in &item.values {
        let _ = writeln!(
            out,
            "        /// `{value}`.\n        {} = {number}, {value:?};",
            constant(value)
        );
    }
    out.push_str("    }\n}\n");
}

fn structure(out: &mut String, description: &Description, class: &Class, item: &Struct) {
    let name = struct_name(class, item);
    let path = format!("{}.{}", class.name, item.name);
    let about = match item.code {
        Some(code) => format!("`{path}`, a struct of code {:#06x}.", code_of(class, code)),
        None => format!("`{path}`, a struct without a code."),
    };
    struct_definition(out, description, class, &name, &about, &item.fields);
    let selected = is_in_header(class, item);
    fields_impl(
        out,
        description,
        class,
        (&name, &path),
        item.pack,
        &item.fields,
        selected,
    );
    if let Some(code) = item.code {
        let code = code_of(class, code);
        let _ = writeln!(
            out,
            "\nimpl Struct for {name} {{\nconst CODE: u16 = {code:#06x};\n}}"
        );
    }
}

fn code_of(class: &Class, code: u8) -> u16 {
    u16::from(class.code) << 8 | u16::from(code)
}

fn control_or_command(out: &mut String, description: &Description, class: &Class, item: &Item) {
    let name = item_name(class, item);
    let path = format!("{}.{}", class.name, item.name);
    let kind = match item.kind {
        Kind::Control => "Control",
        Kind::Command => "Command",
    };
    let mut about = format!("{kind} `{path}`, code {}.{}.\n///\n", class.code, item.code);
    let _ = write!(about, "/// Handled by {}.", duties(&item.roles));
    if !item.replies.is_empty() {
        let _ = write!(about, " Answered by `{}`.", item.replies.join("` or `"));
    }
    if let Some(result) = &item.result {
        let found = class.structs.iter().find(|item| item.name == *result);
        let result = found.map_or_else(String::new, |found| struct_name(class, found));
        let _ = write!(
            about,
            "\n/// Its result is a [`{result}`](super::{result})."
        );
    }
    for (segment, what) in [(&item.header, "header"), (&item.body, "body")] {
        if let Some(segment) = segment {
            let presence = if segment.required { "must" } else { "may" };
            let _ = write!(about, "\n/// A {what} {presence} follow.");
        }
    }
    struct_definition(out, description, class, &name, &about, &item.fields);
    fields_impl(
        out,
        description,
        class,
        (&name, &path),
        2,
        &item.fields,
        false,
    );
}

/// `the server (must), the client (may)`.
fn duties(roles: &[Role]) -> String {
    let duty = |role: &Role| match role.duty {
        Duty::Must => format!("the {} (must)", role.name),
        Duty::Should => format!("the {} (should)", role.name),
        Duty::May => format!("the {} (may)", role.name),
    };
    roles.iter().map(duty).collect::<Vec<_>>().join(", ")
}
