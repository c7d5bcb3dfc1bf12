//! One application header, found or added in a header segment that was checked: nothing else is decoded.

use std::ops::Range;

use super::{APPLICATION_HEADERS, FIELDS_AT, field_of_properties};
use crate::wire::generated::{MessageProperties, type_code};
use crate::wire::packed::Struct;
use crate::wire::value_code::Width;

/// Number of a field of the message properties. It is the last.
const FIELD: usize = 8;

/// Its bit in the second octet of the packing flags.
const FLAG: u8 = (APPLICATION_HEADERS >> 8) as u8;

/// Octets of size and count in front of a map's entries.
const ENTRIES_AT: usize = 8;

/// Where the application headers lie in message properties, size and code included; their own size included.
fn field(struct32: &[u8]) -> Option<Range<usize>> {
    field_of_properties(struct32, FIELD)
}

/// The type and the octets of the value that a map has for a name; None when it has none.
fn value<'a>(map: &'a [u8], name: &str) -> Option<(u8, &'a [u8])> {
    let mut entries = map.get(ENTRIES_AT..)?;
    while let Some((&length, behind)) = entries.split_first() {
        let (found, behind) = behind.split_at_checked(length.into())?;
        let (&code, behind) = behind.split_first()?;
        let (length, behind) = match Width::of(code)? {
            Width::Fixed(octets) => (octets, behind),
            Width::Counted(octets) => {
                let (count, behind) = behind.split_at_checked(octets)?;
                let number = count
                    .iter()
                    .fold(0, |number, octet| number << 8 | usize::from(*octet));
                (number, behind)
            }
        };
        let (value, behind) = behind.split_at_checked(length)?;
        if found == name.as_bytes() {
            return Some((code, value));
        }
        entries = behind;
    }
    None
}

/// The application header of a name, if it is a `str8` or `str16`. `struct32` is as for
/// [`message_properties`](super::message_properties).
pub fn application_header<'a>(struct32: &'a [u8], name: &str) -> Option<&'a str> {
    if struct32.get(FIELDS_AT - 1)? & FLAG == 0 {
        return None;
    }
    let (code, value) = value(struct32.get(field(struct32)?)?, name)?;
    let is_text = code == type_code::STR8 || code == type_code::STR16;
    std::str::from_utf8(value).ok().filter(|_| is_text)
}

/// Adds an application header, a `str16`, to a header segment whose message properties lie at
/// `properties`; to new ones at its end when there are none. False, and nothing is changed, when there is one
/// of that name, or a name or text is too long for its type.
pub fn add_application_header(
    header: &mut Vec<u8>,
    properties: Option<Range<usize>>,
    name: &str,
    text: &str,
) -> bool {
    let (Ok(name_length), Ok(text_length)) = (u8::try_from(name.len()), u16::try_from(text.len()))
    else {
        return false;
    };
    let item = properties.clone().and_then(|lies| header.get(lies));
    let map = item.and_then(field);
    if let (Some(item), Some(map)) = (item, &map)
        && item
            .get(map.clone())
            .is_none_or(|map| map.len() < ENTRIES_AT || value(map, name).is_some())
    {
        return false;
    }
    let lies = properties.unwrap_or_else(|| {
        let start = header.len();
        header.extend_from_slice(&[0, 0, 0, 4]);
        header.extend_from_slice(&MessageProperties::CODE.to_be_bytes());
        header.extend_from_slice(&[0, 0]);
        start..header.len()
    });
    let mut added = Vec::with_capacity(ENTRIES_AT + 4 + name.len() + text.len());
    if map.is_none() {
        // An empty map: its size counts its count.
        added.extend_from_slice(&[0, 0, 0, 4, 0, 0, 0, 0]);
    }
    added.push(name_length);
    added.extend_from_slice(name.as_bytes());
    added.push(type_code::STR16);
    added.extend_from_slice(&text_length.to_be_bytes());
    added.extend_from_slice(text.as_bytes());
    let count = added.len();
    match lies.end == header.len() {
        true => header.extend_from_slice(&added),
        false => drop(header.splice(lies.end..lies.end, added)),
    }
    let item = header.get_mut(lies.start..).unwrap_or_default();
    grow(item, 0, count);
    if let Some(flags) = item.get_mut(FIELDS_AT - 1) {
        *flags |= FLAG;
    }
    // The map is the last field.
    let (at, in_map) = match map {
        Some(map) => (map.start, count),
        None => (lies.len(), count - ENTRIES_AT),
    };
    grow(item, at, in_map);
    grow(item, at + 4, 1);
    true
}

/// Adds to a number of four octets.
fn grow(item: &mut [u8], at: usize, by: usize) {
    if let Some(field) = item.get_mut(at..).and_then(<[u8]>::first_chunk_mut::<4>) {
        let by = u32::try_from(by).unwrap_or(u32::MAX);
        *field = u32::from_be_bytes(*field).saturating_add(by).to_be_bytes();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::header::{application_headers, encode, split};
    use crate::wire::{DeliveryProperties, Map, Value};

    fn properties(headers: Option<Map>) -> Vec<u8> {
        let properties = MessageProperties {
            content_type: Some("text/plain".into()),
            application_headers: headers,
            ..MessageProperties::default()
        };
        let mut bytes = Vec::new();
        properties.encode(&mut bytes);
        bytes
    }

    fn headers() -> Map {
        [
            ("flag", Value::Bool(true)),
            ("void", Value::Void),
            ("number", Value::U64(7)),
            ("text", Value::Str8("it is".into())),
            ("list", Value::List(vec![Value::I32(-1)])),
        ]
        .into_iter()
        .collect()
    }

    #[test]
    fn a_header_is_added_as_if_all_had_been_encoded_anew() {
        let empty = Map::default();
        for before in [None, Some(empty), Some(headers())] {
            let mut wanted = before.clone().unwrap_or_default();
            wanted.insert("added", Value::Str16("it too".into()));
            let unknown: &[u8] = &[0, 0, 0, 3, 9, 9, 1];
            for behind in [&[][..], unknown] {
                let mut header = Vec::new();
                encode(&Some(DeliveryProperties::default()), &[], &mut header);
                let start = header.len();
                header.extend_from_slice(&properties(before.clone()));
                let lies = start..header.len();
                header.extend_from_slice(behind);
                assert!(add_application_header(
                    &mut header,
                    Some(lies),
                    "added",
                    "it too"
                ));
                let parts = split(&header).unwrap();
                let found = parts.message_properties.unwrap();
                assert_eq!(parts.rest[found.clone()], properties(Some(wanted.clone())));
                assert_eq!(
                    application_header(&parts.rest[found], "added"),
                    Some("it too")
                );
                assert!(parts.rest.ends_with(behind));
            }
        }
    }

    #[test]
    fn without_message_properties_new_ones_are_made() {
        let mut header = Vec::new();
        assert!(add_application_header(&mut header, None, "added", "it"));
        let parts = split(&header).unwrap();
        let found = application_headers(&parts.rest[parts.message_properties.unwrap()]).unwrap();
        let wanted: Map = [("added", Value::Str16("it".into()))].into_iter().collect();
        assert_eq!(found, Some(wanted));
    }

    #[test]
    fn a_name_that_is_there_is_not_added_again() {
        let mut header = properties(Some(headers()));
        let (was, all) = (header.clone(), 0..header.len());
        assert!(!add_application_header(
            &mut header,
            Some(all),
            "void",
            "it"
        ));
        assert_eq!(header, was);
    }

    #[test]
    fn only_texts_are_found() {
        let header = properties(Some(headers()));
        assert_eq!(application_header(&header, "text"), Some("it is"));
        for other in ["flag", "void", "number", "list", "none", "tex"] {
            assert_eq!(application_header(&header, other), None, "{other}");
        }
        assert_eq!(application_header(&properties(None), "text"), None);
    }
}
