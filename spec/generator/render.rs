//! The description as Rust: one file a class, one for what belongs to none, one each for the
//! enums of all controls and all commands.

use std::fmt::Write;

use super::model::{Class, Description, Enum, Item, Kind, Struct, Width};
use super::render_fields::{fields_impl, struct_definition};
use super::render_tables::{catalogue, dispatch};
use super::resolve::{camel, constant, enum_name, is_header_entry, item_name, struct_name};

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
        files.push((format!("{}.rs", class.name), class_file(description, class)));
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

fn class_file(description: &Description, class: &Class) -> String {
    let mut body = String::new();
    for item in &class.enums {
        let path = format!("{}.{}", class.name, item.name);
        enumeration(
            &mut body,
            &enum_name(description, Some(class), item),
            &path,
            item,
        );
    }
    for item in &class.structs {
        structure(&mut body, description, class, item);
    }
    for item in &class.items {
        control_or_command(&mut body, description, class, item);
    }
    let title = format!("//! Class `{}` (code {}).\n\n", class.name, class.code);
    title + &imports(description, class, &body) + &body
}

/// Imports of the names that `body` uses.
fn imports(description: &Description, class: &Class, body: &str) -> String {
    let uses = |name: &str| {
        body.match_indices(name).any(|(at, _)| {
            let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let before = body[..at].chars().next_back();
            let after = body[at + name.len()..].chars().next();
            !before.is_some_and(is_name) && !after.is_some_and(is_name)
        })
    };
    let mut out = String::from("use std::fmt;\n\n");
    if class.enums.is_empty() {
        out.clear();
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
        ("HeaderEntry", "packed::HeaderEntry"),
        ("Packed", "packed::Packed"),
        ("Struct", "packed::Struct"),
        ("SequenceSet", "sequence_set::SequenceSet"),
        ("Struct32", "struct32::Struct32"),
    ];
    for (name, path) in shared {
        if uses(name) {
            let _ = writeln!(out, "use crate::wire::{path};");
        }
    }
    for other in description
        .classes
        .iter()
        .filter(|other| other.name != class.name)
    {
        let enums = other
            .enums
            .iter()
            .map(|item| enum_name(description, Some(other), item));
        let structs = other.structs.iter().map(|item| struct_name(other, item));
        for name in enums.chain(structs).filter(|name| uses(name)) {
            let _ = writeln!(out, "use super::{}::{name};", other.name);
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
        "\n/// `{path}`; values without a name are kept as they come.\n\
         #[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]\n\
         pub struct {name}(pub {base});\n\nimpl {name} {{"
    );
    for (value, number) in &item.values {
        let _ = writeln!(
            out,
            "/// `{value}`.\npub const {}: Self = Self({number});",
            constant(value)
        );
    }
    out.push_str(
        "\n/// The name of the value, if it has one.\n\
         pub fn name(self) -> Option<&'static str> {\nSome(match self {\n",
    );
    for (value, _) in &item.values {
        let _ = writeln!(out, "Self::{} => {value:?},", constant(value));
    }
    let fmt = if path.contains('.') {
        "fmt"
    } else {
        "std::fmt"
    };
    let _ = writeln!(
        out,
        "_ => return None,\n}})\n}}\n}}\n\n\
         impl {fmt}::Display for {name} {{\n\
         fn fmt(&self, f: &mut {fmt}::Formatter<'_>) -> {fmt}::Result {{\n\
         match self.name() {{\nSome(name) => f.write_str(name),\n\
         None => write!(f, \"{{}}\", self.0),\n}}\n}}\n}}\n\n\
         impl {fmt}::Debug for {name} {{\n\
         fn fmt(&self, f: &mut {fmt}::Formatter<'_>) -> {fmt}::Result {{\n\
         write!(f, \"{name}({{}}\", self.0)?;\n\
         if let Some(name) = self.name() {{\nwrite!(f, \" {{name}}\")?;\n}}\n\
         f.write_str(\")\")\n}}\n}}"
    );
}

fn structure(out: &mut String, description: &Description, class: &Class, item: &Struct) {
    let name = struct_name(class, item);
    let path = format!("{}.{}", class.name, item.name);
    let about = match item.code {
        Some(code) => format!("`{path}`, a struct of code {:#06x}.", code_of(class, code)),
        None => format!("`{path}`, a struct without a code."),
    };
    struct_definition(out, description, class, &name, &about, &item.fields);
    let selected = is_header_entry(class, item);
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
    let mut about = format!("{kind} `{path}`, code {}.{}.", class.code, item.code);
    if let Some(result) = &item.result {
        let found = class.structs.iter().find(|item| item.name == *result);
        let result = found.map_or_else(String::new, |found| struct_name(class, found));
        let _ = write!(about, " Its result is a [`{result}`].");
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
