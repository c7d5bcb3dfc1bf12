//! Values of one type.

use super::Text;
use super::cursor::Cursor;
use super::decode_error::{DecodeError, Problem};
use super::encode;
use super::generated::type_code;
use super::struct32::Struct32;
use super::value::Value;
use super::value_code::{self, VALUE_BYTES, Width};

/// Values of one type (`array`).
#[derive(Clone, Debug, PartialEq, Hash)]
pub struct Array {
    /// Type code of the items.
    pub code: u8,
    /// The items. One whose type has another code does not go out.
    pub items: Vec<Value>,
}

impl Default for Array {
    fn default() -> Self {
        Self {
            code: type_code::VOID,
            items: Vec::new(),
        }
    }
}

impl Array {
    /// An array of `str16`; of each text at most 65535 octets are kept.
    pub fn of_str16<T: Into<Text>>(texts: impl IntoIterator<Item = T>) -> Self {
        let item = |text: T| {
            let text = text.into();
            Value::Str16(Text::from(encode::cut(
                &text,
                super::limits::STR16_BYTES_MAX,
            )))
        };
        Self {
            code: type_code::STR16,
            items: texts.into_iter().map(item).collect(),
        }
    }

    /// An array of `struct32`.
    pub fn of_struct32(structs: impl IntoIterator<Item = Struct32>) -> Self {
        Self {
            code: type_code::STRUCT32,
            items: structs.into_iter().map(Value::Struct32).collect(),
        }
    }

    /// The items that are text.
    pub fn strs(&self) -> impl Iterator<Item = &str> {
        self.items.iter().filter_map(Value::as_str)
    }

    /// Reads size, type code, count and items. A size of 0 with nothing behind it is taken as an
    /// empty array, as qpidd does.
    pub(crate) fn decode(cursor: &mut Cursor<'_>) -> Result<Array, DecodeError> {
        let length = cursor.u32()? as usize;
        if length == 0 {
            return Ok(Array::default());
        }
        cursor.nested(length, "array", |cursor| {
            let (code, count) = code_and_count(cursor)?;
            let mut items = Vec::with_capacity(count);
            for _ in 0..count {
                items.push(Value::decode_content(cursor, code)?);
            }
            Ok(Array { code, items })
        })
    }

    /// Passes over an array, with all checks and charges of [`decode`](Self::decode).
    pub(crate) fn walk(cursor: &mut Cursor<'_>) -> Result<(), DecodeError> {
        let length = cursor.u32()? as usize;
        if length == 0 {
            return Ok(());
        }
        cursor.nested(length, "array", |cursor| {
            let (code, count) = code_and_count(cursor)?;
            for _ in 0..count {
                value_code::walk_content(cursor, code)?;
            }
            Ok(())
        })
    }

    /// Appends size, type code, count and items.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let fitting = || self.items.iter().filter(|item| item.code() == self.code);
        encode::sized32(out, |out| {
            out.push(self.code);
            encode::u32(out, fitting().count() as u32);
            fitting().for_each(|item| item.encode_content(out));
        });
    }
}

/// Reads type code and count, and charges the items. Items of no width take no octets, so only
/// the budget bounds them (CVE-2012-4458).
fn code_and_count(cursor: &mut Cursor<'_>) -> Result<(u8, usize), DecodeError> {
    let code = cursor.u8()?;
    let count = cursor.u32()? as usize;
    let Some(width) = Width::of(code) else {
        return Err(cursor.error(Problem::UnknownType(code)));
    };
    if count.saturating_mul(width.octets_min()) > cursor.remaining() {
        return Err(cursor.error(Problem::RunsPastEnd("array")));
    }
    cursor.charge(count.saturating_mul(VALUE_BYTES))?;
    Ok((code, count))
}
