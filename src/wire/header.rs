//! The header segment of a message: structs one after the other.
//!
//! The broker reads the delivery properties and rewrites them; everything else passes through byte
//! exact. So a header is split once, checked whole at that moment, and what was checked never
//! fails for another client later.

use std::ops::Range;

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

/// Takes a header segment apart. Structs of known code are checked to the last value, without
/// building any but the delivery properties; structs of unknown code pass through. The only
/// allocation is `rest`.
///
/// # Errors
/// A struct is cut off, malformed, over the budget in proportion to its size, or one of the known
/// ones comes twice.
pub fn split(bytes: &[u8]) -> Result<HeaderParts, DecodeError> {
    let mut parts = HeaderParts::default();
    let mut fragment_seen = false;
    let mut delivery_range = 0..0;
    let mut offset = 0;
    while offset < bytes.len() {
        let mut outer = Cursor::new(&bytes[offset..]);
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
        let repeated = match code {
            DeliveryProperties::CODE => parts.delivery.is_some(),
            FragmentProperties::CODE => fragment_seen,
            MessageProperties::CODE => parts.message_properties.is_some(),
            _ => false,
        };
        if repeated {
            return Err(DecodeError {
                field: "header",
                offset,
                problem: Problem::Repeated(code),
            });
        }
        let item = &bytes[range.clone()];
        match code {
            DeliveryProperties::CODE => {
                parts.delivery = Some(select(item, u16::MAX).map_err(at)?);
                delivery_range = range.clone();
            }
            FragmentProperties::CODE => {
                select::<FragmentProperties>(item, 0).map_err(at)?;
                fragment_seen = true;
            }
            MessageProperties::CODE => {
                select::<MessageProperties>(item, 0).map_err(at)?;
                parts.message_properties = Some(range.clone());
            }
            _ => {}
        }
        offset = range.end;
    }
    if let Some(range) = &mut parts.message_properties
        && range.start >= delivery_range.end
    {
        *range = range.start - delivery_range.len()..range.end - delivery_range.len();
    }
    parts.rest.reserve_exact(bytes.len() - delivery_range.len());
    parts.rest.extend_from_slice(&bytes[..delivery_range.start]);
    parts.rest.extend_from_slice(&bytes[delivery_range.end..]);
    Ok(parts)
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

/// Appends a header segment: the delivery properties, then the rest.
pub fn encode(delivery: &Option<DeliveryProperties>, rest: &[u8], out: &mut Vec<u8>) {
    if let Some(delivery) = delivery {
        delivery.encode(out);
    }
    out.extend_from_slice(rest);
}
