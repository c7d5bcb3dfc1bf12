//! Structs whose code is known only when they come.

use super::cursor::Cursor;
use super::decode_error::{DecodeError, Problem};
use super::encode;
use super::packed::Struct;

/// A struct of any code, its content as it came (`struct32`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Struct32 {
    /// Class code in the high octet, struct code in the low one.
    pub code: u16,
    /// Packing flags and fields.
    pub bytes: Vec<u8>,
}

impl Struct32 {
    /// The struct `item`, packed.
    pub fn of<T: Struct>(item: &T) -> Self {
        let mut bytes = Vec::new();
        item.encode_fields(&mut bytes);
        Self {
            code: T::CODE,
            bytes,
        }
    }

    /// The struct inside, if its code is that of `T` and it has no octets beyond the fields.
    pub fn parse<T: Struct>(&self) -> Result<T, DecodeError> {
        let mut cursor = Cursor::new(&self.bytes);
        cursor.in_field(T::NAME);
        if self.code != T::CODE {
            let problem = Problem::OtherStruct {
                wanted: T::CODE,
                found: self.code,
            };
            return Err(cursor.error(problem));
        }
        let item = T::decode_fields(&mut cursor)?;
        cursor.finish()?;
        Ok(item)
    }

    /// Reads size, code and content.
    pub(crate) fn decode(cursor: &mut Cursor<'_>) -> Result<Struct32, DecodeError> {
        let (code, bytes) = Self::take(cursor)?;
        Ok(Struct32 {
            code,
            bytes: bytes.to_vec(),
        })
    }

    /// Passes over a struct, with all checks and charges of [`decode`](Self::decode).
    pub(crate) fn walk(cursor: &mut Cursor<'_>) -> Result<(), DecodeError> {
        Self::take(cursor).map(drop)
    }

    fn take<'a>(cursor: &mut Cursor<'a>) -> Result<(u16, &'a [u8]), DecodeError> {
        let bytes = cursor.counted(4, "struct32")?;
        let Some((&code, content)) = bytes.split_first_chunk() else {
            return Err(cursor.error(Problem::BadLength("struct32", bytes.len() as u32)));
        };
        cursor.charge(content.len())?;
        Ok((u16::from_be_bytes(code), content))
    }

    /// Appends size, code and content.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        encode::sized32(out, |out| {
            encode::u16(out, self.code);
            out.extend_from_slice(&self.bytes);
        });
    }
}
