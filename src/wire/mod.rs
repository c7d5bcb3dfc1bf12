//! AMQP 0-10 as octets, and the values that they mean.
//!
//! Bytes are read by one [`Cursor`] and written by the functions of one file. What a control,
//! command or struct looks like is generated from `spec/amqp-0-10.spec`; the types of values, maps
//! and sequence sets are written by hand. Every read gives a value or a [`DecodeError`] that names
//! field, offset and problem; no input makes this room panic, and what bytes may grow to in memory
//! is bounded by the cursor's budget. This room knows no connection, session or broker, no clock
//! and no socket.

mod array;
mod byte_ranges;
mod command_head;
mod command_id;
mod cursor;
mod decode_error;
pub(crate) mod encode;
mod fields;
pub mod frame;
mod generated;
pub mod header;
pub mod limits;
mod map;
mod named_number;
mod packed;
pub mod protocol_header;
mod sequence_set;
mod struct32;
pub mod url;
mod value;
mod value_code;

pub use array::Array;
pub use byte_ranges::ByteRanges;
pub use command_head::CommandHead;
pub use command_id::CommandId;
pub use cursor::Cursor;
pub use decode_error::{DecodeError, Problem};
pub use encode::cut;
pub use generated::*;
pub use map::Map;
use named_number::named_number;
pub use packed::{Packed, Selected, Struct};
pub use sequence_set::SequenceSet;
pub use struct32::Struct32;
pub use value::{UuidText, Value};

/// Text of `str8` and `str16`.
pub type Text = compact_str::CompactString;

/// Octets of text that lie in a [`Text`] itself.
const INLINE_TEXT_BYTES: usize = size_of::<Text>();
