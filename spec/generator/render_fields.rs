//! A list of fields as a Rust struct that reads and writes itself.

use std::fmt::Write;

use super::model::{Class, Description, Field, Presence};
use super::names::{enum_name, snake, struct_name};
use super::resolve::{Resolved, resolve};

/// How a field's type looks in Rust and how it is read and written.
struct Shape {
    /// The Rust type, without `Option`.
    rust: String,
    /// A function of the cursor that reads a value.
    read: String,
    /// A function of the cursor that passes over a value, if building one may take memory.
    walk: Option<String>,
    /// Writes a value: `VALUE` stands for it.
    write: String,
    /// The value is passed by value.
    copied: bool,
}

impl Shape {
    /// A value without memory of its own.
    fn scalar(rust: &str, read: &str, write: &str) -> Self {
        let (rust, write) = (rust.to_owned(), write.to_owned());
        Shape {
            rust,
            read: format!("Cursor::{read}"),
            walk: None,
            write,
            copied: true,
        }
    }

    fn owned(rust: &str, read: &str, walk: Option<String>, write: &str) -> Self {
        let (rust, write) = (rust.to_owned(), write.to_owned());
        Shape {
            rust,
            read: format!("Cursor::{read}"),
            walk,
            write,
            copied: false,
        }
    }
}

fn shape(description: &Description, class: &Class, field: &Field) -> Shape {
    // `resolve::check` has seen every field.
    match resolve(description, Some(class), &field.type_name) {
        Ok(Resolved::Enum(item, owner)) => {
            let name = enum_name(description, owner, item);
            let width = if item.base == "uint8" { "u8" } else { "u16" };
            let mut shape = Shape::scalar(&name, "", &format!("encode::{width}(out, VALUE.0)"));
            shape.read = format!("{name}::decode");
            shape
        }
        Ok(Resolved::Struct(item, owner)) => {
            let name = struct_name(owner, item);
            let size = item.size;
            let (read, walk, write) = match item.code {
                Some(_) => (
                    format!("{name}::decode"),
                    None,
                    "VALUE.encode(out)".to_owned(),
                ),
                None => (
                    format!("|cursor| cursor.sized({size})"),
                    Some(format!("|cursor| cursor.walk_sized::<{name}>({size})")),
                    format!("encode::sized(out, {size}, VALUE)"),
                ),
            };
            let mut shape = Shape::owned(&name, "", walk, &write);
            shape.read = read;
            shape
        }
        Ok(Resolved::Plain(name)) => plain_shape(name),
        Err(error) => Shape::scalar(&format!("compile_error!({error:?})"), "", ""),
    }
}

fn plain_shape(name: &str) -> Shape {
    let binary = |width| {
        let walk = format!("|cursor| cursor.walk_binary({width}, {name:?})");
        Shape::owned(
            "Vec<u8>",
            name,
            Some(walk),
            &format!("encode::{name}(out, VALUE)"),
        )
    };
    let text = |width| {
        let walk = format!("|cursor| cursor.walk_text({width}, {name:?})");
        Shape::owned(
            "Text",
            name,
            Some(walk),
            &format!("encode::{name}(out, VALUE)"),
        )
    };
    match name {
        "uint8" => Shape::scalar("u8", "u8", "encode::u8(out, VALUE)"),
        "uint16" => Shape::scalar("u16", "u16", "encode::u16(out, VALUE)"),
        "uint32" => Shape::scalar("u32", "u32", "encode::u32(out, VALUE)"),
        "uint64" => Shape::scalar("u64", "u64", "encode::u64(out, VALUE)"),
        "datetime" => Shape::scalar("i64", "datetime", "encode::i64(out, VALUE)"),
        "sequence-no" => Shape::scalar("CommandId", "sequence_no", "encode::u32(out, VALUE.0)"),
        "uuid" => Shape::scalar("[u8; 16]", "uuid", "out.extend_from_slice(&VALUE)"),
        "str8" => text(1),
        "str16" => text(2),
        "vbin8" => binary(1),
        "vbin16" => binary(2),
        "vbin32" => binary(4),
        "map" => Shape::owned(
            "Map",
            "map",
            Some("Cursor::walk_map".into()),
            "VALUE.encode(out)",
        ),
        "array" => Shape::owned("Array", "array", None, "VALUE.encode(out)"),
        "struct32" => Shape::owned("Struct32", "struct32", None, "VALUE.encode(out)"),
        "sequence-set" => {
            let write = "encode::sequence_set(out, VALUE)";
            Shape::owned("SequenceSet", "sequence_set", None, write)
        }
        "byte-ranges" => {
            let write = "encode::byte_ranges(out, VALUE)";
            Shape::owned("ByteRanges", "byte_ranges", None, write)
        }
        "bit" => Shape::scalar("bool", "", ""),
        other => {
            let error = format!("compile_error!(\"fields of type {other} have no Rust type\")");
            Shape::scalar(&error, "", "")
        }
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

/// `Packed` of the struct, and `Selected` if it stands in headers.
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
        "\nimpl Packed for {name} {{\nconst NAME: &'static str = {path:?};\n\
         const FIELDS: &'static [&'static str] = &["
    );
    for field in fields {
        let _ = writeln!(out, "\"{path}.{}\",", field.name);
    }
    out.push_str(
        "];\n\nfn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {\n",
    );
    if selected {
        out.push_str("Self::decode_selected(cursor, u16::MAX)\n");
    } else {
        decode_body(out, description, class, pack, fields, false);
    }
    out.push_str("}\n\nfn encode_fields(&self, out: &mut Vec<u8>) {\n");
    encode_body(out, description, class, pack, fields);
    out.push_str("}\n}\n");
    if selected {
        let mut body = String::new();
        decode_body(&mut body, description, class, pack, fields, true);
        let wanted = if body.contains("wanted") {
            "wanted"
        } else {
            "_wanted"
        };
        let _ = writeln!(
            out,
            "\nimpl Selected for {name} {{\nfn decode_selected(\n\
             cursor: &mut Cursor<'_>,\n{wanted}: u16,\n) -> Result<Self, DecodeError> {{\n{body}"
        );
        out.push_str("}\n\n");
        walk_body(out, description, class, pack, fields);
        out.push_str("}\n");
    }
}

/// The check of all fields that builds none of them.
fn walk_body(
    out: &mut String,
    description: &Description,
    class: &Class,
    pack: usize,
    fields: &[Field],
) {
    out.push_str(
        "#[inline]\nfn walk(\ncursor: &mut Cursor<'_>,\nseen: &mut impl FnMut(usize, Range<usize>),\n\
         ) -> Result<u16, DecodeError> {\n",
    );
    let bits_only = fields.iter().all(is_bit);
    let mutable = if bits_only { "" } else { "mut " };
    let _ = writeln!(
        out,
        "let {mutable}fields = Fields::of::<Self>(cursor, {pack})?;"
    );
    for (index, field) in fields.iter().enumerate() {
        if is_bit(field) {
            continue;
        }
        let shape = shape(description, class, field);
        let walk = match shape.walk {
            Some(walk) => walk.to_string(),
            None => format!("|cursor| {}(cursor).map(drop)", shape.read),
        };
        let _ = writeln!(out, "fields.walked({index}, seen, {walk})?;");
    }
    out.push_str("Ok(fields.flags())\n}\n");
}

fn decode_body(
    out: &mut String,
    description: &Description,
    class: &Class,
    pack: usize,
    fields: &[Field],
    selected: bool,
) {
    if fields.is_empty() {
        let _ = writeln!(out, "Fields::of::<Self>(cursor, {pack})?;\nOk(Self {{}})");
        return;
    }
    let bits_only = fields.iter().all(is_bit);
    let mutable = if bits_only { "" } else { "mut " };
    let _ = writeln!(
        out,
        "let {mutable}fields = Fields::of::<Self>(cursor, {pack})?;"
    );
    out.push_str("Ok(Self {\n");
    for (index, field) in fields.iter().enumerate() {
        let shape = shape(description, class, field);
        let value = if is_bit(field) {
            format!("fields.bit({index})")
        } else if selected && let Some(walk) = shape.walk {
            let default = if is_option(field) {
                ""
            } else {
                ".unwrap_or_default()"
            };
            format!(
                "fields.selected({index}, wanted, {}, {walk})?{default}",
                shape.read
            )
        } else if is_option(field) {
            format!("fields.optional({index}, {})?", shape.read)
        } else {
            format!("fields.required({index}, {})?", shape.read)
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
    if pack != 0 {
        let _ = writeln!(out, "encode::packing_flags(out, {pack}, {flags});");
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
