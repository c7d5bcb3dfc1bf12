//! The header segment of a message: structs one after the other.
//!
//! The broker reads the delivery properties and rewrites them; everything else passes through byte
//! exact. So a header is split once, checked whole at that moment, and what was checked never
//! fails for another client later.

mod added;

use std::ops::Range;

pub use self::added::{add_application_header, application_header};
use super::cursor::Cursor;
use super::decode_error::{DecodeError, Problem};
use super::generated::{DeliveryProperties, FragmentProperties, MessageProperties};
use super::map::Map;
use super::packed::{Selected, Struct};

/// A header segment, taken apart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HeaderParts {
    /// The delivery properties.
    pub delivery: Option<DeliveryProperties>,
    /// Every other struct with size and code, as it came, in order.
    pub rest: Vec<u8>,
    /// Where in `rest` the message properties lie, size and code included.
    pub message_properties: Option<Range<usize>>,
}

/// Bit of `application-headers` in the packing flags of the message properties.
const APPLICATION_HEADERS: u16 = 1 << 8;

/// Numbers of fields of the delivery properties.
const PRIORITY: usize = 3;
const DELIVERY_MODE: usize = 4;
const TTL: usize = 5;
const EXCHANGE: usize = 8;
const ROUTING_KEY: usize = 9;

/// Number of a field of the message properties.
const USER_ID: usize = 6;

/// Where things lie in a header segment that was checked whole.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layout {
    /// The delivery properties.
    pub delivery: Option<DeliveryLayout>,
    /// The message properties, size and code included.
    pub message_properties: Option<Range<usize>>,
    has_fragment: bool,
}

impl Layout {
    /// The exchange that the delivery properties name; empty without. `bytes` is the segment.
    pub fn exchange<'a>(&self, bytes: &'a [u8]) -> &'a str {
        let delivery = self.delivery.as_ref();
        let field = delivery.and_then(|delivery| bytes.get(delivery.exchange.clone()));
        let name = field.and_then(|field| field.get(1..)).unwrap_or_default();
        // It was checked to be UTF-8.
        std::str::from_utf8(name).unwrap_or_default()
    }
}

/// Where the delivery properties lie, and what the broker reads of them. All offsets are of the
/// segment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeliveryLayout {
    /// All of them, size and code included.
    pub range: Range<usize>,
    /// The priority, if there is one.
    pub priority: Option<u8>,
    /// The delivery mode, if there is one.
    pub delivery_mode: Option<u8>,
    /// The first of the eight octets of the time to live, if there is one.
    pub ttl: Option<usize>,
    /// The exchange with its length octet; empty where it would be, if there is none.
    pub exchange: Range<usize>,
    /// The routing key without its length octet; empty if there is none.
    pub routing_key: Range<usize>,
}

/// Octets of size, code and packing flags in front of a struct's fields.
const FIELDS_AT: usize = 8;

/// Checks a header segment and finds out where things lie. Structs of known code are checked to the
/// last value, without building any; structs of unknown code pass through. Nothing is allocated.
///
/// # Errors
/// A struct is cut off, malformed, over the budget in proportion to its size, or one of the known
/// ones comes twice.
pub fn layout(bytes: &[u8]) -> Result<Layout, DecodeError> {
    let mut layout = Layout::default();
    let mut offset = 0;
    while let Some(left @ [_, ..]) = bytes.get(offset..) {
        let mut outer = Cursor::new(left);
        outer.in_field("header");
        let at = |mut error: DecodeError| {
            error.offset += offset;
            error
        };
        let content = outer.counted(4, "struct32").map_err(at)?;
        let Some((&code, _)) = content.split_first_chunk() else {
            let problem = Problem::BadLength("struct32", content.len() as u32);
            return Err(at(outer.error(problem)));
        };
        let code = u16::from_be_bytes(code);
        let range = offset..offset + 4 + content.len();
        let item = part(bytes, range.clone());
        let is_repeated = match code {
            DeliveryProperties::CODE => {
                let delivery = delivery_layout(item, offset).map_err(at)?;
                layout.delivery.replace(delivery).is_some()
            }
            FragmentProperties::CODE => {
                check::<FragmentProperties>(item, |_, _| {}).map_err(at)?;
                std::mem::replace(&mut layout.has_fragment, true)
            }
            MessageProperties::CODE => {
                check::<MessageProperties>(item, |_, _| {}).map_err(at)?;
                let found = range.clone();
                layout.message_properties.replace(found).is_some()
            }
            _ => false,
        };
        if is_repeated {
            return Err(DecodeError {
                field: "header",
                offset,
                problem: Problem::Repeated(code),
            });
        }
        offset = range.end;
    }
    Ok(layout)
}

fn delivery_layout(item: &[u8], offset: usize) -> Result<DeliveryLayout, DecodeError> {
    let mut layout = DeliveryLayout {
        range: offset..offset + item.len(),
        ..DeliveryLayout::default()
    };
    let mut exchange = FIELDS_AT..FIELDS_AT;
    check::<DeliveryProperties>(item, |field, lies: Range<usize>| {
        if field < EXCHANGE {
            exchange = lies.end..lies.end;
        }
        match field {
            PRIORITY => layout.priority = item.get(lies.start).copied(),
            DELIVERY_MODE => layout.delivery_mode = item.get(lies.start).copied(),
            TTL => layout.ttl = Some(offset + lies.start),
            EXCHANGE => exchange = lies,
            ROUTING_KEY => layout.routing_key = offset + lies.start + 1..offset + lies.end,
            _ => {}
        }
    })?;
    layout.exchange = offset + exchange.start..offset + exchange.end;
    Ok(layout)
}

/// Checks the one struct in `item`, size and code included. `seen` is told where in it each field
/// lies.
fn check<T: Selected + Struct>(
    item: &[u8],
    mut seen: impl FnMut(usize, Range<usize>),
) -> Result<(), DecodeError> {
    let mut cursor = Cursor::new(item);
    cursor.in_field(T::NAME);
    cursor.coded::<T, u16>(|inner| T::walk(inner, &mut seen))?;
    cursor.in_field(T::NAME).finish()
}

/// Takes a header segment apart.
///
/// # Errors
/// As [`layout`].
pub fn split(bytes: &[u8]) -> Result<HeaderParts, DecodeError> {
    let layout = layout(bytes)?;
    let mut parts = HeaderParts {
        message_properties: layout.message_properties,
        ..HeaderParts::default()
    };
    let mut cut = 0..0;
    if let Some(delivery) = layout.delivery {
        cut = delivery.range;
        parts.delivery = Some(select(part(bytes, cut.clone()), u16::MAX)?);
    }
    if let Some(range) = &mut parts.message_properties
        && range.start >= cut.end
    {
        *range = range.start - cut.len()..range.end - cut.len();
    }
    parts.rest.reserve_exact(bytes.len() - cut.len());
    parts.rest.extend_from_slice(part(bytes, 0..cut.start));
    parts
        .rest
        .extend_from_slice(part(bytes, cut.end..bytes.len()));
    Ok(parts)
}

/// The octets of a segment that lie there; none where a layout is of another segment.
fn part(bytes: &[u8], range: Range<usize>) -> &[u8] {
    bytes.get(range).unwrap_or_default()
}

/// Builds the wanted fields of the one struct in `item`, size and code included.
fn select<T: Selected + Struct>(item: &[u8], wanted: u16) -> Result<T, DecodeError> {
    let mut cursor = Cursor::new(item);
    cursor.in_field(T::NAME);
    let item = cursor.coded::<T, T>(|inner| T::decode_selected(inner, wanted))?;
    cursor.in_field(T::NAME).finish()?;
    Ok(item)
}

/// The message properties in `struct32`, size and code included, as they lie in
/// [`HeaderParts::rest`].
pub fn message_properties(struct32: &[u8]) -> Result<MessageProperties, DecodeError> {
    select(struct32, u16::MAX)
}

/// The application headers alone, from the same octets as [`message_properties`].
pub fn application_headers(struct32: &[u8]) -> Result<Option<Map>, DecodeError> {
    Ok(select::<MessageProperties>(struct32, APPLICATION_HEADERS)?.application_headers)
}

/// The user-id alone, from the same octets: found, and nothing is decoded. None: there is none.
pub fn user_id(struct32: &[u8]) -> Option<&[u8]> {
    // A vbin16: its length stands before it.
    let lies = field_of_properties(struct32, USER_ID)?;
    struct32.get(lies.start + 2..lies.end)
}

/// Where the field of a number lies in message properties; None when it is not there.
fn field_of_properties(struct32: &[u8], number: usize) -> Option<Range<usize>> {
    let mut found = None;
    check::<MessageProperties>(struct32, |field, lies| {
        if field == number {
            found = Some(lies);
        }
    })
    .ok()?;
    found
}

/// Appends a header segment: the delivery properties, then the rest.
pub fn encode(delivery: &Option<DeliveryProperties>, rest: &[u8], out: &mut Vec<u8>) {
    if let Some(delivery) = delivery {
        delivery.encode(out);
    }
    out.extend_from_slice(rest);
}

/// Appends message properties as they lie in a header segment.
pub fn encode_properties(properties: &MessageProperties, out: &mut Vec<u8>) {
    properties.encode(out);
}

/// Octets that [`encode_published`] appends.
pub fn published_bytes(bytes: &[u8], layout: &Layout, exchange: &str) -> usize {
    let exchange_bytes = 1 + exchange.len();
    match &layout.delivery {
        Some(delivery) => bytes.len() - delivery.exchange.len() + exchange_bytes,
        None => bytes.len() + FIELDS_AT + exchange_bytes,
    }
}

/// Appends a header segment as a broker keeps and sends it: the delivery properties first, naming
/// `exchange` as the place of publication and else as they came, then everything else as it came.
/// Gives where in what was appended the message properties and the time to live lie.
pub fn encode_published(
    bytes: &[u8],
    layout: &Layout,
    exchange: &str,
    out: &mut Vec<u8>,
) -> (Option<Range<usize>>, Option<usize>) {
    let start = out.len();
    let Some(delivery) = &layout.delivery else {
        let delivery = DeliveryProperties {
            exchange: Some(exchange.into()),
            ..DeliveryProperties::default()
        };
        delivery.encode(out);
        let shift = out.len() - start;
        out.extend_from_slice(bytes);
        let properties = layout.message_properties.clone();
        return (properties.map(|r| r.start + shift..r.end + shift), None);
    };
    let cut = delivery.range.clone();
    out.extend_from_slice(part(bytes, cut.start..delivery.exchange.start));
    super::encode::str8(out, exchange);
    out.extend_from_slice(part(bytes, delivery.exchange.end..cut.end));
    let length = out.len() - start;
    // The size counts what comes behind it.
    let size = u32::try_from(length - 4).unwrap_or(u32::MAX);
    super::encode::overwrite(out, start, size.to_be_bytes());
    if let Some(flags) = out.get_mut(start + FIELDS_AT - 1) {
        *flags |= 1 << (EXCHANGE - 8);
    }
    out.extend_from_slice(part(bytes, 0..cut.start));
    out.extend_from_slice(part(bytes, cut.end..bytes.len()));
    let moved = |range: &Range<usize>| match range.start < cut.start {
        true => range.start + length..range.end + length,
        false => range.start - cut.len() + length..range.end - cut.len() + length,
    };
    let properties = layout.message_properties.as_ref().map(moved);
    (properties, delivery.ttl.map(|at| at - cut.start))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::packed::Packed;

    #[test]
    fn a_published_header_takes_the_octets_that_were_foretold() {
        let delivery = |exchange: Option<&str>| {
            let mut bytes = Vec::new();
            let delivery = DeliveryProperties {
                exchange: exchange.map(Into::into),
                ttl: Some(7),
                ..DeliveryProperties::default()
            };
            delivery.encode(&mut bytes);
            bytes
        };
        let mut properties = Vec::new();
        MessageProperties::default().encode(&mut properties);
        let (without, with) = (delivery(None), delivery(Some("was")));
        for header in [
            vec![],
            properties.clone(),
            [&properties[..], &without].concat(),
            [&with[..], &properties].concat(),
        ] {
            let layout = layout(&header).unwrap();
            let mut out = vec![0xff; 3];
            let (found, ttl) = encode_published(&header, &layout, "now", &mut out);
            assert_eq!(out.len() - 3, published_bytes(&header, &layout, "now"));
            let parts = split(&out[3..]).unwrap();
            assert_eq!(parts.delivery.unwrap().exchange.as_deref(), Some("now"));
            let found = found.map(|range| out[3..][range].to_vec());
            assert_eq!(
                found,
                parts.message_properties.map(|r| parts.rest[r].to_vec())
            );
            let ttl = ttl.map(|at| out[3 + at..3 + at + 8].to_vec());
            assert_eq!(ttl.is_some(), layout.delivery.is_some());
            assert!(ttl.is_none_or(|ttl| ttl == 7_u64.to_be_bytes()));
        }
    }

    #[test]
    fn field_numbers_are_those_of_the_description() {
        let name = |field: usize| {
            let path = DeliveryProperties::FIELDS[field];
            path.rsplit('.').next()
        };
        assert_eq!(name(PRIORITY), Some("priority"));
        assert_eq!(name(DELIVERY_MODE), Some("delivery-mode"));
        assert_eq!(name(TTL), Some("ttl"));
        assert_eq!(name(EXCHANGE), Some("exchange"));
        assert_eq!(name(ROUTING_KEY), Some("routing-key"));
    }
}
