//! The fields behind packing flags, one by one.

use std::ops::Range;

use super::cursor::Cursor;
use super::decode_error::DecodeError;
use super::packed::Packed;

/// The fields of one struct, control or command while it is read: they must be asked for in order.
pub(crate) struct Fields<'c, 'a> {
    cursor: &'c mut Cursor<'a>,
    flags: u16,
    names: &'static [&'static str],
}

impl<'c, 'a> Fields<'c, 'a> {
    /// Reads the packing flags of `T`, in `width` octets. Without packing flags (width 0) every
    /// field is there.
    #[inline]
    pub(crate) fn of<T: Packed>(
        cursor: &'c mut Cursor<'a>,
        width: usize,
    ) -> Result<Self, DecodeError> {
        let flags = match width {
            0 => u16::MAX,
            _ => cursor
                .in_field(T::NAME)
                .packing_flags(width, T::FIELDS.len())?,
        };
        Ok(Self {
            cursor,
            flags,
            names: T::FIELDS,
        })
    }

    /// A field that is its packing flag.
    #[inline]
    pub(crate) fn bit(&self, index: usize) -> bool {
        self.flags >> index & 1 != 0
    }

    /// The cursor, at the field with this number.
    #[inline]
    fn field(&mut self, index: usize) -> &mut Cursor<'a> {
        // Every struct has a name for each of its fields.
        let name = self.names.get(index).copied().unwrap_or_default();
        self.cursor.in_field(name)
    }

    /// A field that is there, or else has its type's default, as in qpidd.
    #[inline]
    pub(crate) fn required<T: Default>(
        &mut self,
        index: usize,
        read: impl FnOnce(&mut Cursor<'a>) -> Result<T, DecodeError>,
    ) -> Result<T, DecodeError> {
        if self.bit(index) {
            read(self.field(index))
        } else {
            Ok(T::default())
        }
    }

    /// A field that may be absent.
    #[inline]
    pub(crate) fn optional<T>(
        &mut self,
        index: usize,
        read: impl FnOnce(&mut Cursor<'a>) -> Result<T, DecodeError>,
    ) -> Result<Option<T>, DecodeError> {
        if self.bit(index) {
            read(self.field(index)).map(Some)
        } else {
            Ok(None)
        }
    }

    /// A field that is built only if its bit is set in `wanted`, and else passed over.
    #[inline]
    pub(crate) fn selected<T>(
        &mut self,
        index: usize,
        wanted: u16,
        read: impl FnOnce(&mut Cursor<'a>) -> Result<T, DecodeError>,
        walk: impl FnOnce(&mut Cursor<'a>) -> Result<(), DecodeError>,
    ) -> Result<Option<T>, DecodeError> {
        if !self.bit(index) {
            return Ok(None);
        }
        let cursor = self.field(index);
        if wanted >> index & 1 != 0 {
            read(cursor).map(Some)
        } else {
            walk(cursor).map(|()| None)
        }
    }

    /// Passes over a field, if it is there, and says where it lies.
    #[inline]
    pub(crate) fn walked(
        &mut self,
        index: usize,
        seen: &mut impl FnMut(usize, Range<usize>),
        walk: impl FnOnce(&mut Cursor<'a>) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError> {
        if self.bit(index) {
            let start = self.cursor.offset();
            walk(self.field(index))?;
            seen(index, start..self.cursor.offset());
        }
        Ok(())
    }

    /// The packing flags.
    #[inline]
    pub(crate) fn flags(&self) -> u16 {
        self.flags
    }
}
