//! The one reader of bytes from a peer.

use super::array::Array;
use super::byte_ranges::ByteRanges;
use super::command_id::CommandId;
use super::decode_error::{DecodeError, Problem};
use super::limits::{BUDGET_FLOOR, BUDGET_PER_OCTET, DEPTH_MAX};
use super::map::Map;
use super::packed::{Packed, Selected, Struct};
use super::sequence_set::SequenceSet;
use super::struct32::Struct32;
use super::value::Value;
use super::{INLINE_TEXT_BYTES, Text};

/// Reads 0-10 values from the front of a byte slice.
///
/// It knows which field is read and at which offset, so every error says both. It charges what
/// decoded values take in memory to a budget, and nothing is allocated for a declared length
/// before that many octets are known to be there.
#[derive(Clone, Debug)]
pub struct Cursor<'a> {
    /// The bytes that may be read: cut at the end of the innermost value of declared size.
    bytes: &'a [u8],
    offset: usize,
    field: &'static str,
    budget: usize,
    depth: u32,
}

impl<'a> Cursor<'a> {
    /// A cursor at the start of `bytes`, with a budget in proportion to their length.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self::with_budget(bytes, BUDGET_FLOOR + bytes.len() * BUDGET_PER_OCTET)
    }

    /// A cursor whose decoded values may take `budget` bytes of memory.
    pub fn with_budget(bytes: &'a [u8], budget: usize) -> Self {
        Self {
            bytes,
            offset: 0,
            field: "the start",
            budget,
            depth: 0,
        }
    }

    /// Names what is read next, for errors.
    #[inline]
    pub fn in_field(&mut self, field: &'static str) -> &mut Self {
        self.field = field;
        self
    }

    /// Octets read so far.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Octets that can still be read.
    #[inline]
    pub fn remaining(&self) -> usize {
        self.bytes.len() - self.offset
    }

    /// Bytes of memory that further values may take.
    pub fn budget(&self) -> usize {
        self.budget
    }

    /// Whether everything has been read.
    pub fn is_at_end(&self) -> bool {
        self.remaining() == 0
    }

    /// An error at the current field and offset.
    #[cold]
    pub fn error(&self, problem: Problem) -> DecodeError {
        DecodeError {
            field: self.field,
            offset: self.offset,
            problem,
        }
    }

    /// Fails unless everything has been read.
    pub fn finish(&self) -> Result<(), DecodeError> {
        match self.remaining() {
            0 => Ok(()),
            left => Err(self.error(Problem::TrailingBytes(left))),
        }
    }

    /// Takes `bytes` of memory from the budget.
    #[inline]
    pub(crate) fn charge(&mut self, bytes: usize) -> Result<(), DecodeError> {
        match self.budget.checked_sub(bytes) {
            Some(left) => {
                self.budget = left;
                Ok(())
            }
            None => Err(self.error(Problem::OverBudget)),
        }
    }

    /// The next `count` octets, for a value of type `what`.
    #[inline]
    pub(crate) fn take(
        &mut self,
        count: usize,
        what: &'static str,
    ) -> Result<&'a [u8], DecodeError> {
        match self
            .bytes
            .get(self.offset..)
            .and_then(|rest| rest.get(..count))
        {
            Some(taken) => {
                self.offset += count;
                Ok(taken)
            }
            None => Err(self.error(Problem::RunsPastEnd(what))),
        }
    }

    #[inline]
    fn fixed<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], DecodeError> {
        match self
            .bytes
            .get(self.offset..)
            .and_then(|rest| rest.first_chunk::<N>())
        {
            Some(taken) => {
                self.offset += N;
                Ok(*taken)
            }
            None => Err(self.error(Problem::RunsPastEnd(what))),
        }
    }

    /// Runs `read` on exactly the next `length` octets, one level deeper; it must read them all.
    pub(crate) fn nested<T>(
        &mut self,
        length: usize,
        what: &'static str,
        read: impl FnOnce(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<T, DecodeError> {
        let outer = self.bytes;
        let end = self.offset.checked_add(length);
        let Some(inner) = end.and_then(|end| outer.get(..end)) else {
            return Err(self.error(Problem::RunsPastEnd(what)));
        };
        if self.depth == DEPTH_MAX {
            return Err(self.error(Problem::TooDeep));
        }
        self.bytes = inner;
        self.depth += 1;
        let value = read(self)?;
        self.finish()?;
        self.depth -= 1;
        self.bytes = outer;
        Ok(value)
    }

    /// The next `count` octets.
    pub fn bytes(&mut self, count: usize) -> Result<&'a [u8], DecodeError> {
        self.take(count, "bytes")
    }

    /// All octets that are left.
    pub fn rest(&mut self) -> &'a [u8] {
        let rest = self.bytes.get(self.offset..).unwrap_or_default();
        self.offset = self.bytes.len();
        rest
    }

    /// `uint8`.
    #[inline]
    pub fn u8(&mut self) -> Result<u8, DecodeError> {
        Ok(self.fixed::<1>("uint8")?[0])
    }

    /// `uint16`.
    #[inline]
    pub fn u16(&mut self) -> Result<u16, DecodeError> {
        Ok(u16::from_be_bytes(self.fixed("uint16")?))
    }

    /// `uint32`.
    #[inline]
    pub fn u32(&mut self) -> Result<u32, DecodeError> {
        Ok(u32::from_be_bytes(self.fixed("uint32")?))
    }

    /// `uint64`.
    #[inline]
    pub fn u64(&mut self) -> Result<u64, DecodeError> {
        Ok(u64::from_be_bytes(self.fixed("uint64")?))
    }

    /// `int8`.
    pub fn i8(&mut self) -> Result<i8, DecodeError> {
        Ok(i8::from_be_bytes(self.fixed("int8")?))
    }

    /// `int16`.
    pub fn i16(&mut self) -> Result<i16, DecodeError> {
        Ok(i16::from_be_bytes(self.fixed("int16")?))
    }

    /// `int32`.
    pub fn i32(&mut self) -> Result<i32, DecodeError> {
        Ok(i32::from_be_bytes(self.fixed("int32")?))
    }

    /// `int64`.
    pub fn i64(&mut self) -> Result<i64, DecodeError> {
        Ok(i64::from_be_bytes(self.fixed("int64")?))
    }

    /// `datetime`: seconds since 1970.
    pub fn datetime(&mut self) -> Result<i64, DecodeError> {
        Ok(i64::from_be_bytes(self.fixed("datetime")?))
    }

    /// `uuid`.
    pub fn uuid(&mut self) -> Result<[u8; 16], DecodeError> {
        self.fixed("uuid")
    }

    /// `sequence-no`.
    pub fn sequence_no(&mut self) -> Result<CommandId, DecodeError> {
        Ok(CommandId(u32::from_be_bytes(self.fixed("sequence-no")?)))
    }

    /// Packing flags in `width` (1 or 2) octets; bit n belongs to field n. Bits beyond the first
    /// `fields` are reserved.
    #[inline]
    pub(crate) fn packing_flags(
        &mut self,
        width: usize,
        fields: usize,
    ) -> Result<u16, DecodeError> {
        let flags = match width {
            1 => u16::from(self.fixed::<1>("packing flags")?[0]),
            _ => u16::from_le_bytes(self.fixed("packing flags")?),
        };
        let reserved = u32::from(flags) >> fields << fields;
        if reserved != 0 {
            return Err(self.error(Problem::ReservedFlags(reserved as u16)));
        }
        Ok(flags)
    }

    /// The octets of a value with a count of `width` (1, 2 or 4) octets in front.
    #[inline]
    pub(crate) fn counted(
        &mut self,
        width: usize,
        what: &'static str,
    ) -> Result<&'a [u8], DecodeError> {
        let length = self.length(width, what)?;
        self.take(length, what)
    }

    /// A count of octets, or a size, in `width` (1, 2 or 4) octets.
    #[inline]
    fn length(&mut self, width: usize, what: &'static str) -> Result<usize, DecodeError> {
        Ok(match width {
            1 => usize::from(self.fixed::<1>(what)?[0]),
            2 => usize::from(u16::from_be_bytes(self.fixed(what)?)),
            _ => u32::from_be_bytes(self.fixed(what)?) as usize,
        })
    }

    #[inline]
    fn text(&mut self, width: usize, what: &'static str) -> Result<Text, DecodeError> {
        let bytes = self.counted(width, what)?;
        let Ok(text) = std::str::from_utf8(bytes) else {
            return Err(self.error(Problem::NotUtf8(what)));
        };
        self.charge_text(bytes.len())?;
        Ok(Text::from(text))
    }

    /// Charges a text of `length` octets: short ones lie in the `Text` itself.
    #[inline]
    pub(crate) fn charge_text(&mut self, length: usize) -> Result<(), DecodeError> {
        if length > INLINE_TEXT_BYTES {
            self.charge(length)
        } else {
            Ok(())
        }
    }

    /// Passes over a text, with all checks and charges of reading it.
    pub(crate) fn walk_text(
        &mut self,
        width: usize,
        what: &'static str,
    ) -> Result<(), DecodeError> {
        let bytes = self.counted(width, what)?;
        if std::str::from_utf8(bytes).is_err() {
            return Err(self.error(Problem::NotUtf8(what)));
        }
        self.charge_text(bytes.len())
    }

    /// Passes over octets with a count in front, with all checks and charges of reading them.
    pub(crate) fn walk_binary(
        &mut self,
        width: usize,
        what: &'static str,
    ) -> Result<(), DecodeError> {
        let bytes = self.counted(width, what)?;
        self.charge(bytes.len())
    }

    fn binary(&mut self, width: usize, what: &'static str) -> Result<Vec<u8>, DecodeError> {
        let bytes = self.counted(width, what)?;
        self.charge(bytes.len())?;
        Ok(bytes.to_vec())
    }

    /// `str8`.
    #[inline]
    pub fn str8(&mut self) -> Result<Text, DecodeError> {
        self.text(1, "str8")
    }

    /// `str16`.
    pub fn str16(&mut self) -> Result<Text, DecodeError> {
        self.text(2, "str16")
    }

    /// `vbin8`.
    pub fn vbin8(&mut self) -> Result<Vec<u8>, DecodeError> {
        self.binary(1, "vbin8")
    }

    /// `vbin16`.
    pub fn vbin16(&mut self) -> Result<Vec<u8>, DecodeError> {
        self.binary(2, "vbin16")
    }

    /// `vbin32`.
    pub fn vbin32(&mut self) -> Result<Vec<u8>, DecodeError> {
        self.binary(4, "vbin32")
    }

    /// `map`.
    pub fn map(&mut self) -> Result<Map, DecodeError> {
        Map::decode(self)
    }

    /// `list`.
    pub fn list(&mut self) -> Result<Vec<Value>, DecodeError> {
        Value::decode_list(self)
    }

    /// `array`.
    pub fn array(&mut self) -> Result<Array, DecodeError> {
        Array::decode(self)
    }

    /// `struct32`: its code and content, unread.
    pub fn struct32(&mut self) -> Result<Struct32, DecodeError> {
        Struct32::decode(self)
    }

    /// `byte-ranges`.
    pub fn byte_ranges(&mut self) -> Result<ByteRanges, DecodeError> {
        let bytes = self.counted(2, "byte-ranges")?;
        self.charge(bytes.len())?;
        let Some(ranges) = ByteRanges::from_bytes(bytes) else {
            return Err(self.error(Problem::BadLength("byte-ranges", bytes.len() as u32)));
        };
        Ok(ranges)
    }

    /// `sequence-set`. Ranges may come in any order and overlap; an inverted range is refused, and
    /// so is a set over more than half of all ids.
    pub fn sequence_set(&mut self) -> Result<SequenceSet, DecodeError> {
        let start = self.offset;
        let bytes = self.counted(2, "sequence-set")?;
        let (ranges, left) = bytes.as_chunks::<8>();
        if !left.is_empty() {
            return Err(self.error(Problem::BadLength("sequence-set", bytes.len() as u32)));
        }
        if ranges.len() > 1 {
            self.charge(bytes.len())?;
        }
        let ranges = ranges.iter().map(|&[a, b, c, d, e, f, g, h]| {
            (
                u32::from_be_bytes([a, b, c, d]),
                u32::from_be_bytes([e, f, g, h]),
            )
        });
        SequenceSet::from_wire(ranges).map_err(|problem| DecodeError {
            field: self.field,
            offset: start,
            problem,
        })
    }

    /// Passes over a `map`, with all checks and charges of reading it.
    pub(crate) fn walk_map(&mut self) -> Result<(), DecodeError> {
        Map::walk(self)
    }

    /// The class code and the code of the control or command that comes next.
    pub(crate) fn codes(&mut self, what: &'static str) -> Result<(u8, u8), DecodeError> {
        let [class, code] = self.in_field(what).fixed("code")?;
        Ok((class, code))
    }

    /// A struct without a code, its size in `width` octets in front (0: no size).
    pub(crate) fn sized<T: Packed>(&mut self, width: usize) -> Result<T, DecodeError> {
        if width == 0 {
            return T::decode_fields(self);
        }
        let length = self.length(width, T::NAME)?;
        self.nested(length, T::NAME, T::decode_fields)
    }

    /// Passes over a struct without a code, with all checks and charges of reading it.
    pub(crate) fn walk_sized<T: Selected>(&mut self, width: usize) -> Result<(), DecodeError> {
        let length = self.length(width, T::NAME)?;
        self.nested(length, T::NAME, |inner| {
            T::walk(inner, &mut |_, _| {}).map(drop)
        })
    }

    /// Runs `read` on the fields of the struct with the code of `T` that comes next, size and code
    /// in front.
    pub(crate) fn coded<T: Struct, R>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<R, DecodeError>,
    ) -> Result<R, DecodeError> {
        let length = u32::from_be_bytes(self.fixed(T::NAME)?) as usize;
        self.nested(length, T::NAME, |inner| {
            let found = inner.u16()?;
            if found != T::CODE {
                return Err(inner.error(Problem::OtherStruct {
                    wanted: T::CODE,
                    found,
                }));
            }
            read(inner)
        })
    }
}
