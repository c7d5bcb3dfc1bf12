//! A list of fields as a Rust struct that reads and writes itself.

use std::fmt::Write;

use super::model::{Class, Description, Field, Presence};
use super::resolve::{Resolved, enum_name, resolve, snake, struct_name};

/// How a field's type looks in Rust and how it is read and written.
struct Shape {
    /// The Rust type, without `Option`.
    rust: String,
    /// Reads a value: continues `cursor`.
    read: String,
    /// Passes over a value: continues `cursor`.
    walk: String,
    /// Writes a value: `VALUE` stands for it.
    write: String,
    /// The value is passed by value.
    copied: bool,
}

fn shape(description: &Description, class: &Class, field: &Field) -> Shape {
    let made = |rust: &str, read: &str, walk: String, write: &str, copied| Shape {
        rust: rust.to_owned(),
        read: read.to_owned(),
        walk,
        write: format!("encode::{write}(out, VALUE)"),
        copied,
    };
    let scalar = |rust: &str, read: &str, width: usize, write: &str| {
        made(
            rust,
            &format!("{read}()?"),
            format!("bytes({width})?"),
            write,
            true,
        )
    };
    // `resolve::check` has seen every field.
    match resolve(description, Some(class), &field.type_name) {
        Ok(Resolved::Enum(item, owner)) => {
            let name = enum_name(description, owner, item);
            let (read, width) = if item.base == "uint8" {
                ("u8", 1)
            } else {
                ("u16", 2)
            };
            let mut shape = scalar(&name, read, width, read);
            shape.read = format!("{read}().map({name})?");
            shape.write = format!("encode::{read}(out, VALUE.0)");
            shape
        }
        Ok(Resolved::Struct(item, owner)) => {
            let name = struct_name(owner, item);
            let (read, write) = match item.code {
                Some(_) => (
                    format!("coded::<{name}, _>({name}::decode_fields)?"),
                    "encode::coded(out, VALUE)".to_owned(),
                ),
                None => (
                    format!("sized::<{name}>({})?", item.size),
                    format!("encode::sized(out, {}, VALUE)", item.size),
                ),
            };
            Shape {
                rust: name,
                walk: read.clone(),
                read,
                write,
                copied: false,
            }
        }
        Ok(Resolved::Plain(name)) => match name {
            "uint8" => scalar("u8", "u8", 1, "u8"),
            "uint16" => scalar("u16", "u16", 2, "u16"),
            "uint32" => scalar("u32", "u32", 4, "u32"),
            "uint64" => scalar("u64", "u64", 8, "u64"),
            "datetime" => scalar("i64", "datetime", 8, "i64"),
            "sequence-no" => {
                let mut shape = scalar("CommandId", "sequence_no", 4, "u32");
                shape.write = "encode::u32(out, VALUE.0)".to_owned();
                shape
            }
            "uuid" => {
                let mut shape = scalar("[u8; 16]", "uuid", 16, "");
                shape.write = "out.extend_from_slice(&VALUE)".to_owned();
                shape
            }
            "str8" => made(
                "Text",
                "str8()?",
                "walk_text(1, \"str8\")?".into(),
                name,
                false,
            ),
            "str16" => made(
                "Text",
                "str16()?",
                "walk_text(2, \"str16\")?".into(),
                name,
                false,
            ),
            "vbin8" | "vbin16" | "vbin32" => {
                let width = match name {
                    "vbin8" => 1,
                    "vbin16" => 2,
                    _ => 4,
                };
                let walk = format!("walk_binary({width}, {name:?})?");
                made("Vec<u8>", &format!("{name}()?"), walk, name, false)
            }
            "map" | "array" | "struct32" => {
                let rust = match name {
                    "map" => "Map",
                    "array" => "Array",
                    _ => "Struct32",
                };
                let mut shape = made(
                    rust,
                    &format!("{name}()?"),
                    format!("walk_{name}()?"),
                    "",
                    false,
                );
                shape.write = "VALUE.encode(out)".to_owned();
                shape
            }
            "sequence-set" => {
                let read = "sequence_set()?";
                made("SequenceSet", read, read.into(), "sequence_set", false)
            }
            "byte-ranges" => {
                let read = "byte_ranges()?";
                made("ByteRanges", read, read.into(), "byte_ranges", false)
            }
            _ => made("bool", "", String::new(), "", true),
        },
        Err(error) => made(
            &format!("compile_error!({error:?})"),
            "",
            String::new(),
            "",
            true,
        ),
    }
}

fn is_bit(field: &Field) -> bool {
    field.type_name == "bit"
}

fn is_option(field: &Field) -> bool {
    matches!(field.presence, Presence::Optional | Presence::Nullable) && !is_bit(field)
}

/// The struct itself, with the rules' names in the documentation of its fields.
pub fn struct_definition(
    out: &mut String,
    description: &Description,
    class: &Class,
    name: &str,
    about: &str,
    fields: &[Field],
) {
    let set_bits = fields.iter().any(|field| field.presence == Presence::Set);
    let default = if set_bits { "" } else { "Default, " };
    let _ = writeln!(
        out,
        "\n/// {about}\n#[derive(Clone, Debug, {default}PartialEq)]\npub struct {name} {{"
    );
    for field in fields {
        let rust = shape(description, class, field).rust;
        let rust = if is_option(field) {
            format!("Option<{rust}>")
        } else {
            rust
        };
        let presence = match field.presence {
            _ if is_bit(field) && field.presence == Presence::Set => ", set unless cleared",
            _ if is_bit(field) => "",
            Presence::Required => ", required",
            Presence::Nullable => ", required; absent differs from empty",
            Presence::Empty => "; absent means empty",
            Presence::Optional | Presence::Set => ", optional",
        };
        let _ = writeln!(
            out,
            "/// `{}`{presence}.\npub {}: {rust},",
            field.type_name,
            snake(&field.name)
        );
    }
    out.push_str("}\n");
    if set_bits {
        let _ = writeln!(
            out,
            "\nimpl Default for {name} {{\nfn default() -> Self {{\nSelf {{"
        );
        for field in fields {
            let value = match field.presence {
                Presence::Set => "true",
                _ => "Default::default()",
            };
            let _ = writeln!(out, "{}: {value},", snake(&field.name));
        }
        out.push_str("}\n}\n}\n");
    }
}

/// `Packed` of the struct, and `HeaderEntry` if it stands in headers.
pub fn fields_impl(
    out: &mut String,
    description: &Description,
    class: &Class,
    (name, path): (&str, &str),
    pack: usize,
    fields: &[Field],
    selected: bool,
) {
    let _ = writeln!(
        out,
        "\nimpl Packed for {name} {{\nconst NAME: &'static str = {path:?};\n\n\
         fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {{"
    );
    if selected {
        out.push_str("Self::decode_selected(cursor, u16::MAX)\n");
    } else {
        decode_body(out, description, class, path, pack, fields, false);
    }
    let argument = if pack == 0 && fields.is_empty() {
        "_out"
    } else {
        "out"
    };
    let _ = writeln!(
        out,
        "}}\n\nfn encode_fields(&self, {argument}: &mut Vec<u8>) {{"
    );
    encode_body(out, description, class, pack, fields);
    out.push_str("}\n}\n");
    if selected {
        let _ = writeln!(
            out,
            "\nimpl HeaderEntry for {name} {{\nfn decode_selected(\n\
             cursor: &mut Cursor<'_>,\nwanted: u16,\n) -> Result<Self, DecodeError> {{"
        );
        // A struct of bits alone has nothing to select.
        decode_body(out, description, class, path, pack, fields, true);
        out.push_str("}\n}\n");
    }
}

fn decode_body(
    out: &mut String,
    description: &Description,
    class: &Class,
    path: &str,
    pack: usize,
    fields: &[Field],
    selected: bool,
) {
    let known = (1u32 << fields.len()) - 1;
    let flags = if fields.is_empty() {
        ""
    } else {
        "let flags = "
    };
    let read = match pack {
        0 => String::new(),
        1 => format!("{flags}cursor.in_field({path:?}).packing_flags_octet({known:#04x})?;"),
        _ => format!("{flags}cursor.in_field({path:?}).packing_flags({known:#06x})?;"),
    };
    let _ = writeln!(out, "{read}\nOk(Self {{");
    for (index, field) in fields.iter().enumerate() {
        let flag = 1u32 << index;
        let is_set = format!("flags & {flag:#06x} != 0");
        if is_bit(field) {
            let _ = writeln!(out, "{}: {is_set},", snake(&field.name));
            continue;
        }
        let shape = shape(description, class, field);
        let place = format!("{path}.{}", field.name);
        let read = format!("cursor.in_field({place:?}).{}", shape.read);
        let walk = format!("cursor.in_field({place:?}).{};", shape.walk);
        let (read, absent) = if is_option(field) {
            (format!("Some({read})"), "None".to_owned())
        } else {
            (read, "Default::default()".to_owned())
        };
        let value = match (pack, selected) {
            (0, _) => read,
            (_, false) => format!("if {is_set} {{ {read} }} else {{ {absent} }}"),
            (_, true) => format!(
                "if flags & wanted & {flag:#06x} != 0 {{ {read} }} else {{\n\
                 if {is_set} {{ {walk} }}\n{absent} }}"
            ),
        };
        let _ = writeln!(out, "{}: {value},", snake(&field.name));
    }
    out.push_str("})\n");
}

fn encode_body(
    out: &mut String,
    description: &Description,
    class: &Class,
    pack: usize,
    fields: &[Field],
) {
    let mut always = 0u32;
    let mut terms = Vec::new();
    for (index, field) in fields.iter().enumerate() {
        let name = snake(&field.name);
        let is_set = match field.presence {
            _ if is_bit(field) => format!("self.{name}"),
            Presence::Required => {
                always |= 1 << index;
                continue;
            }
            Presence::Empty => format!("!self.{name}.is_empty()"),
            _ => format!("self.{name}.is_some()"),
        };
        terms.push(match index {
            0 => format!("u16::from({is_set})"),
            _ => format!("u16::from({is_set}) << {index}"),
        });
    }
    if always != 0 || terms.is_empty() {
        terms.insert(0, format!("{always:#06x}"));
    }
    let flags = terms.join(" | ");
    match pack {
        0 => {}
        1 => {
            let _ = writeln!(
                out,
                "let flags: u16 = {flags};\nencode::u8(out, flags as u8);"
            );
        }
        _ => {
            let _ = writeln!(
                out,
                "let flags: u16 = {flags};\nencode::packing_flags(out, flags);"
            );
        }
    }
    for field in fields.iter().filter(|field| !is_bit(field)) {
        let name = snake(&field.name);
        let shape = shape(description, class, field);
        let write = |value: &str| shape.write.replace("VALUE", value);
        let own = |by_reference: bool| match (shape.copied, by_reference) {
            (false, false) => format!("&self.{name}"),
            _ => format!("self.{name}"),
        };
        let by_reference = shape.write.starts_with("VALUE");
        let statement = match field.presence {
            Presence::Required => format!("{};", write(&own(by_reference))),
            Presence::Empty => {
                format!(
                    "if !self.{name}.is_empty() {{ {}; }}",
                    write(&own(by_reference))
                )
            }
            _ => {
                let source = if shape.copied { "" } else { "&" };
                format!(
                    "if let Some({name}) = {source}self.{name} {{ {}; }}",
                    write(&name)
                )
            }
        };
        let _ = writeln!(out, "{statement}");
    }
}
