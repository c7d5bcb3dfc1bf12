//! The enums over all controls and all commands, and the tables of roles, rules and exceptions.

use std::fmt::Write;

use super::model::{Class, Description, Item, Kind};
use super::names::{constant, item_name};

fn items(description: &Description, kind: Kind) -> Vec<(&Class, &Item)> {
    let all = description
        .classes
        .iter()
        .flat_map(|class| class.items.iter().map(move |item| (class, item)));
    all.filter(|(_, item)| item.kind == kind).collect()
}

/// The enum over all items of a kind: reading, writing, names, codes, roles.
pub fn dispatch(description: &Description, kind: Kind) -> String {
    let (name, plural) = match kind {
        Kind::Control => ("Control", "controls"),
        Kind::Command => ("Command", "commands"),
    };
    let items = items(description, kind);
    let mut out = format!("//! All {plural}.\n\n");
    out.push_str(
        "use crate::wire::cursor::Cursor;\nuse crate::wire::decode_error::{DecodeError, Problem};\n\
         use crate::wire::packed::Packed;\n",
    );
    if kind == Kind::Command {
        out.push_str("use crate::wire::encode;\nuse super::SessionHeader;\n");
    }
    for (class, item) in &items {
        let _ = writeln!(out, "use super::{};", item_name(class, item));
    }
    let _ = writeln!(
        out,
        "\n/// Any of the {plural}.\n#[derive(Clone, Debug, PartialEq)]\npub enum {name} {{"
    );
    for (class, item) in &items {
        let item_name = item_name(class, item);
        let _ = writeln!(
            out,
            "/// `{}.{}`.\n{item_name}({item_name}),",
            class.name, item.name
        );
    }
    let _ = writeln!(out, "}}\n\nimpl {name} {{");
    match kind {
        Kind::Control => control_codec(&mut out),
        Kind::Command => command_codec(&mut out),
    }
    field_codec(&mut out, &items, name);
    if kind == Kind::Command {
        has_content(&mut out, &items);
    }
    out.push_str("}\n");
    let _ = writeln!(
        out,
        "\nmacro_rules! from_items {{\n($($item:ident)*) => {{\n$(impl From<$item> for {name} {{\n\
         fn from(item: $item) -> Self {{\nSelf::$item(item)\n}}\n}})*\n}};\n}}\n\nfrom_items! {{"
    );
    for (class, item) in &items {
        let _ = writeln!(out, "    {}", item_name(class, item));
    }
    out.push_str("}\n");
    out
}

fn control_codec(out: &mut String) {
    out.push_str(
        "/// Reads a whole control segment: class, code, fields, and nothing behind them.\n\
         pub fn decode(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {\n\
         let (class, code) = cursor.codes(\"control\")?;\n\
         Self::decode_fields(cursor, class, code)\n}\n\n\
         /// Appends class, code and fields.\n\
         pub fn encode(&self, out: &mut Vec<u8>) {\n\
         let (class, code) = self.code();\n\
         out.extend_from_slice(&[class, code]);\n\
         self.encode_fields(out);\n}\n",
    );
}

fn command_codec(out: &mut String) {
    out.push_str(
        "/// Reads a whole command segment: class, code, session header, fields, and nothing \
         behind\n/// them.\n\
         pub fn decode(cursor: &mut Cursor<'_>) -> Result<(SessionHeader, Self), DecodeError> {\n\
         let (class, code) = cursor.codes(\"command\")?;\n\
         let header = cursor.sized::<SessionHeader>(1)?;\n\
         Ok((header, Self::decode_fields(cursor, class, code)?))\n}\n\n\
         /// Appends class, code, session header and fields.\n\
         pub fn encode(&self, sync: bool, out: &mut Vec<u8>) {\n\
         let (class, code) = self.code();\n\
         out.extend_from_slice(&[class, code]);\n\
         encode::sized(out, 1, &SessionHeader { sync });\n\
         self.encode_fields(out);\n}\n",
    );
}

fn field_codec(out: &mut String, items: &[(&Class, &Item)], name: &str) {
    out.push_str(
        "\nfn decode_fields(\ncursor: &mut Cursor<'_>,\nclass: u8,\ncode: u8,\n\
         ) -> Result<Self, DecodeError> {\nlet item = match (class, code) {\n",
    );
    for (class, item) in items {
        let item_name = item_name(class, item);
        let _ = writeln!(
            out,
            "({}, {}) => {item_name}::decode_fields(cursor).map(Self::{item_name})?,",
            class.code, item.code
        );
    }
    out.push_str(
        "_ => return Err(cursor.error(Problem::UnknownCode { class, code })),\n};\n\
         cursor.finish()?;\nOk(item)\n}\n\n\
         fn encode_fields(&self, out: &mut Vec<u8>) {\nmatch self {\n",
    );
    for (class, item) in items {
        let _ = writeln!(
            out,
            "Self::{}(item) => item.encode_fields(out),",
            item_name(class, item)
        );
    }
    let _ = writeln!(
        out,
        "}}\n}}\n\n/// The name, as `class.item`.\npub fn name(&self) -> &'static str {{\n\
         match self {{"
    );
    for (class, item) in items {
        let item_name = item_name(class, item);
        let _ = writeln!(out, "Self::{item_name}(_) => {item_name}::NAME,");
    }
    let _ = writeln!(
        out,
        "}}\n}}\n\n/// Class code, and the code of the {} within the class.\n\
         pub fn code(&self) -> (u8, u8) {{\nmatch self {{",
        name.to_lowercase()
    );
    for (class, item) in items {
        let _ = writeln!(
            out,
            "Self::{}(_) => ({}, {}),",
            item_name(class, item),
            class.code,
            item.code
        );
    }
    out.push_str("}\n}\n");
}

fn has_content(out: &mut String, items: &[(&Class, &Item)]) {
    out.push_str(
        "\n/// Whether a header and a body may follow.\n\
         pub fn has_content(&self) -> bool {\nmatches!(self, ",
    );
    let with: Vec<_> = items
        .iter()
        .filter(|(_, item)| item.header.is_some() || item.body.is_some())
        .map(|(class, item)| format!("Self::{}(_)", item_name(class, item)))
        .collect();
    let _ = writeln!(out, "{})\n}}", with.join(" | "));
}

/// Every rule and exception by name, for tests that say which of them they hold.
pub fn catalogue(description: &Description) -> String {
    let mut rules = Vec::new();
    let mut exceptions = Vec::new();
    for class in &description.classes {
        let mut add = |place: &str, notes: &super::model::Notes| {
            rules.extend(notes.rules.iter().map(|rule| format!("{place}/{rule}")));
            let raises = notes.raises.iter();
            exceptions
                .extend(raises.map(|(name, error)| (format!("{place}/{name}"), error.clone())));
        };
        add(&class.name, &class.notes);
        for item in &class.structs {
            for field in &item.fields {
                add(
                    &format!("{}.{}.{}", class.name, item.name, field.name),
                    &field.notes,
                );
            }
        }
        for item in &class.items {
            let place = format!("{}.{}", class.name, item.name);
            add(&place, &item.notes);
            for field in &item.fields {
                add(&format!("{place}.{}", field.name), &field.notes);
            }
        }
    }
    let mut out = String::from("//! The names of the protocol's rules and exceptions.\n\n");
    out.push_str("use super::ErrorCode;\n\n");
    out.push_str(
        "/// Every rule, as `class.item.field/rule`; a rule of a class or item stands without the\n\
         /// rest.\npub const RULES: &[&str] = &[\n",
    );
    for rule in rules {
        let _ = writeln!(out, "{rule:?},");
    }
    out.push_str(
        "];\n\n/// Every exception, named like the rules, with the error code that it raises.\n\
         pub const EXCEPTIONS: &[(&str, ErrorCode)] = &[\n",
    );
    for (name, error) in exceptions {
        let _ = writeln!(out, "({name:?}, ErrorCode::{}),", constant(&error));
    }
    out.push_str("];\n");
    out
}
