//! What every struct, control and command has in common: packing flags, then fields.

use std::ops::Range;

use super::cursor::Cursor;
use super::decode_error::DecodeError;
use super::encode;

/// Fields in the order of the description, optional ones announced by packing flags.
pub trait Packed: Sized + Default {
    /// The name, as `class.item`.
    const NAME: &'static str;

    /// The names of the fields in order, as `class.item.field`. The number of a field here is its
    /// packing flag, and the `field-index` of an `execution.exception`.
    const FIELDS: &'static [&'static str];

    /// Reads packing flags and fields.
    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError>;

    /// Appends packing flags and fields.
    fn encode_fields(&self, out: &mut Vec<u8>);
}

/// A struct with a code: it can stand in a header, in a `struct32` and as a command's result.
pub trait Struct: Packed {
    /// Class code in the high octet, struct code in the low one.
    const CODE: u16;

    /// Reads size, code and fields.
    fn decode(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        cursor.coded::<Self, Self>(Self::decode_fields)
    }

    /// Appends size, code and fields.
    fn encode(&self, out: &mut Vec<u8>) {
        encode::coded(out, self);
    }
}

/// A struct of the header segment: it can be read in part, and checked without building values.
pub trait Selected: Packed {
    /// Reads packing flags and fields. Of the fields whose values take memory of their own, it
    /// builds those whose bit is set in `wanted`; the others are checked all the same (and charged
    /// to the budget) and stay at their default.
    fn decode_selected(cursor: &mut Cursor<'_>, wanted: u16) -> Result<Self, DecodeError>;

    /// Passes over packing flags and fields with all checks and charges of reading them, and builds
    /// nothing. Gives the flags; `seen` is told of each field that has octets: its number, and the
    /// cursor's offsets from its first octet to behind its last.
    fn walk(
        cursor: &mut Cursor<'_>,
        seen: &mut impl FnMut(usize, Range<usize>),
    ) -> Result<u16, DecodeError>;
}
