//! Random well-formed bytes, written straight from the description.

use super::generator::model::{Class, Description, Field, Item, Presence, Struct, Width};
use super::generator::resolve::{Resolved, resolve};
use super::seeded::Seeded;

/// Writes random values of what a description describes.
pub struct RandomBytes<'a> {
    pub description: &'a Description,
    pub seeded: Seeded,
    /// Leave required fields out now and then.
    pub with_gaps: bool,
}

/// Appends what `content` writes behind its length in `width` octets.
fn counted(out: &mut Vec<u8>, width: usize, content: &[u8]) {
    out.extend_from_slice(&(content.len() as u64).to_be_bytes()[8 - width..]);
    out.extend_from_slice(content);
}

impl RandomBytes<'_> {
    /// The payload of a control or command segment.
    pub fn item(&mut self, class: &Class, item: &Item, session_header: Option<bool>) -> Vec<u8> {
        let mut out = vec![class.code, item.code];
        if let Some(sync) = session_header {
            out.extend_from_slice(&[1, u8::from(sync)]);
        }
        self.fields(&mut out, class, 2, &item.fields);
        out
    }

    /// A struct with its size and code, as far as it has them.
    pub fn structure(&mut self, class: &Class, item: &Struct) -> Vec<u8> {
        let mut content = Vec::new();
        if let Some(code) = item.code {
            content.extend_from_slice(&[class.code, code]);
        }
        self.fields(&mut content, class, item.pack, &item.fields);
        let mut out = Vec::new();
        counted(&mut out, item.size, &content);
        if item.size == 0 { content } else { out }
    }

    fn fields(&mut self, out: &mut Vec<u8>, class: &Class, pack: usize, fields: &[Field]) {
        let mut flags = 0u16;
        let mut content = Vec::new();
        for (index, field) in fields.iter().enumerate() {
            let skipped = match field.presence {
                _ if pack == 0 => false,
                Presence::Required => self.with_gaps && self.seeded.once_in(8),
                _ => self.seeded.once_in(2),
            };
            if skipped {
                continue;
            }
            flags |= 1 << index;
            if field.type_name != "bit" {
                // A present but empty text of this kind would go out as an absent one.
                let bytes_min = usize::from(field.presence == Presence::Empty);
                self.value(&mut content, class, &field.type_name, bytes_min);
            }
        }
        out.extend_from_slice(&flags.to_le_bytes()[..pack]);
        out.extend_from_slice(&content);
    }

    fn value(&mut self, out: &mut Vec<u8>, class: &Class, name: &str, bytes_min: usize) {
        match resolve(self.description, Some(class), name).unwrap() {
            Resolved::Enum(item, _) => {
                let base = item.base.clone();
                self.plain(out, &base, 0);
            }
            Resolved::Struct(item, owner) => {
                let bytes = self.structure(owner, item);
                out.extend_from_slice(&bytes);
            }
            Resolved::Plain(name) => self.plain(out, name, bytes_min),
        }
    }

    fn plain(&mut self, out: &mut Vec<u8>, name: &str, bytes_min: usize) {
        let item = self
            .description
            .types
            .iter()
            .find(|item| item.name == name)
            .unwrap();
        match (name, &item.width) {
            ("str8" | "str16", Width::Counted(width)) => {
                let text = "x".repeat(bytes_min) + &self.seeded.text(60);
                counted(out, *width, text.as_bytes());
            }
            ("sequence-set", _) => self.sequence_set(out),
            ("byte-ranges", _) => {
                let ranges = self.seeded.below(3);
                let content: Vec<u8> = (0..ranges * 16).map(|_| self.seeded.octet()).collect();
                counted(out, 2, &content);
            }
            ("map" | "list" | "array" | "struct32", _) => self.container(out, name, 0),
            (_, Width::Fixed(width)) => {
                out.extend((0..*width).map(|_| self.seeded.octet()));
            }
            (_, Width::Counted(width)) => {
                let content = self.seeded.bytes(40);
                counted(out, *width, &content);
            }
        }
    }

    /// Ascending ranges that do not adjoin, from anywhere in the circle of ids.
    fn sequence_set(&mut self, out: &mut Vec<u8>) {
        let mut at = self.seeded.u32();
        let mut content = Vec::new();
        for _ in 0..self.seeded.below(5) {
            let upper = at.wrapping_add(self.seeded.below(1000) as u32);
            content.extend_from_slice(&at.to_be_bytes());
            content.extend_from_slice(&upper.to_be_bytes());
            at = upper.wrapping_add(2 + self.seeded.below(100) as u32);
        }
        counted(out, 2, &content);
    }

    fn container(&mut self, out: &mut Vec<u8>, name: &str, depth: usize) {
        let count = self.seeded.below(if depth > 3 { 1 } else { 5 });
        let mut content = Vec::new();
        match name {
            "struct32" => {
                content.extend_from_slice(&[0x70, self.seeded.octet()]);
                content.extend(self.seeded.bytes(20));
            }
            "array" => {
                let code = self.type_code();
                content.push(code);
                content.extend_from_slice(&(count as u32).to_be_bytes());
                for _ in 0..count {
                    self.content(&mut content, code, depth);
                }
            }
            _ => {
                content.extend_from_slice(&(count as u32).to_be_bytes());
                for _ in 0..count {
                    if name == "map" {
                        let key = self.seeded.text(40);
                        counted(&mut content, 1, key.as_bytes());
                    }
                    let code = self.type_code();
                    content.push(code);
                    self.content(&mut content, code, depth);
                }
            }
        }
        counted(out, 4, &content);
    }

    fn type_code(&mut self) -> u8 {
        let codes: Vec<u8> = self
            .description
            .types
            .iter()
            .filter_map(|item| item.code)
            .collect();
        *self.seeded.pick(&codes)
    }

    /// A value as it stands in a map: text is not always UTF-8 there.
    fn content(&mut self, out: &mut Vec<u8>, code: u8, depth: usize) {
        let types = &self.description.types;
        let item = types.iter().find(|item| item.code == Some(code)).unwrap();
        match item.name.as_str() {
            name @ ("map" | "list" | "array" | "struct32") => self.container(out, name, depth + 1),
            "str8" | "str16" if self.seeded.once_in(4) => {
                let Width::Counted(width) = item.width else {
                    unreachable!()
                };
                counted(out, width, &[b'a', 0xff, 0xfe]);
            }
            name => self.plain(out, name, 0),
        }
    }
}
