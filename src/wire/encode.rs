//! Appending values to a buffer. Nothing here fails: what is too long for its length octets is
//! cut, as each function says; callers that must not lose anything check before.

use super::byte_ranges::ByteRanges;
use super::limits::{RANGES_MAX, STR8_BYTES_MAX, STR16_BYTES_MAX};
use super::packed::{Packed, Struct};
use super::sequence_set::SequenceSet;

/// The longest prefix of `text` with at most `bytes_max` octets that ends between characters.
pub fn cut(text: &str, bytes_max: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes_max))
        .unwrap_or(text)
}

pub(crate) fn u8(out: &mut Vec<u8>, value: u8) {
    out.push(value);
}

pub(crate) fn u16(out: &mut Vec<u8>, value: u16) {
    out.extend_from_slice(&value.to_be_bytes());
}

pub(crate) fn u32(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&value.to_be_bytes());
}

pub(crate) fn u64(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(&value.to_be_bytes());
}

pub(crate) fn i64(out: &mut Vec<u8>, value: i64) {
    out.extend_from_slice(&value.to_be_bytes());
}

/// Text of at most 255 octets; longer text is cut between characters.
pub(crate) fn str8(out: &mut Vec<u8>, text: &str) {
    vbin8(out, cut(text, STR8_BYTES_MAX).as_bytes());
}

/// Text of at most 65535 octets; longer text is cut between characters.
pub(crate) fn str16(out: &mut Vec<u8>, text: &str) {
    vbin16(out, cut(text, STR16_BYTES_MAX).as_bytes());
}

/// At most 255 octets; more are cut off.
pub(crate) fn vbin8(out: &mut Vec<u8>, bytes: &[u8]) {
    let bytes = bytes.get(..STR8_BYTES_MAX).unwrap_or(bytes);
    out.push(bytes.len() as u8);
    out.extend_from_slice(bytes);
}

/// At most 65535 octets; more are cut off.
pub(crate) fn vbin16(out: &mut Vec<u8>, bytes: &[u8]) {
    let bytes = bytes.get(..STR16_BYTES_MAX).unwrap_or(bytes);
    u16(out, bytes.len() as u16);
    out.extend_from_slice(bytes);
}

/// At most 2^32 - 1 octets; more are cut off.
pub(crate) fn vbin32(out: &mut Vec<u8>, bytes: &[u8]) {
    let bytes = bytes.get(..u32::MAX as usize).unwrap_or(bytes);
    u32(out, bytes.len() as u32);
    out.extend_from_slice(bytes);
}

/// Packing flags in `width` (1 or 2) octets: field 0 is bit 0 of the first octet.
pub(crate) fn packing_flags(out: &mut Vec<u8>, width: usize, flags: u16) {
    let [low, high] = flags.to_le_bytes();
    out.push(low);
    if width == 2 {
        out.push(high);
    }
}

/// Puts `octets` over those that begin at `at`, if there are as many.
#[inline]
pub(crate) fn overwrite<const N: usize>(out: &mut [u8], at: usize, octets: [u8; N]) {
    let place = out.get_mut(at..).and_then(|rest| rest.first_chunk_mut());
    if let Some(place) = place {
        *place = octets;
    }
}

/// Writes what `content` appends, with its size in four octets in front.
pub(crate) fn sized32(out: &mut Vec<u8>, content: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    u32(out, 0);
    content(out);
    let size = (out.len() - start - 4) as u32;
    overwrite(out, start, size.to_be_bytes());
}

/// A struct without a code, its size in `width` octets in front (0: no size). Such structs are
/// small by their fields' types: the size always fits.
pub(crate) fn sized<T: Packed>(out: &mut Vec<u8>, width: usize, item: &T) {
    let start = out.len();
    out.resize(start + width, 0);
    item.encode_fields(out);
    let size = ((out.len() - start - width) as u32).to_be_bytes();
    match (width, size) {
        (1, [.., a]) => overwrite(out, start, [a]),
        (2, [.., a, b]) => overwrite(out, start, [a, b]),
        (4, size) => overwrite(out, start, size),
        _ => {}
    }
}

/// A struct with size and code in front.
pub(crate) fn coded<T: Struct>(out: &mut Vec<u8>, item: &T) {
    sized32(out, |out| {
        u16(out, T::CODE);
        item.encode_fields(out);
    });
}

/// At most 4095 ranges; more are cut off.
pub(crate) fn byte_ranges(out: &mut Vec<u8>, ranges: &ByteRanges) {
    let ranges = ranges.0.get(..STR16_BYTES_MAX / 16).unwrap_or(&ranges.0);
    u16(out, (ranges.len() * 16) as u16);
    for &(lower, upper) in ranges {
        u64(out, lower);
        u64(out, upper);
    }
}

/// At most [`RANGES_MAX`] ranges; more are cut off (see [`SequenceSet::split_off_excess`]).
pub(crate) fn sequence_set(out: &mut Vec<u8>, set: &SequenceSet) {
    let ranges = set.ranges().get(..RANGES_MAX).unwrap_or(set.ranges());
    u16(out, (ranges.len() * 8) as u16);
    for &(lower, upper) in ranges {
        u32(out, lower.0);
        u32(out, upper.0);
    }
}
