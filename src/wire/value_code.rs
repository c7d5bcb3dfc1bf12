//! Values as octets: building them, checking them unbuilt, appending them.

use super::array::Array;
use super::cursor::Cursor;
use super::decode_error::{DecodeError, Problem};
use super::encode;
use super::generated::type_code as code;
use super::limits::{STR8_BYTES_MAX, STR16_BYTES_MAX};
use super::map::Map;
use super::struct32::Struct32;
use super::value::Value;

/// Memory that a value takes where it lies in a map, list or array.
pub(crate) const VALUE_BYTES: usize = size_of::<Value>();

/// How many octets a value takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Width {
    /// Always this many.
    Fixed(usize),
    /// As many as the count says that has this many octets.
    Counted(usize),
}

impl Width {
    /// The width of the type with this code. The high four bits tell it, so that a decoder can
    /// pass over types that it does not know; two rows of the table are unassigned.
    pub(crate) fn of(code: u8) -> Option<Width> {
        Some(match code >> 4 {
            row @ 0x0..=0x7 => Width::Fixed(1 << row),
            0x8 => Width::Counted(1),
            0x9 => Width::Counted(2),
            0xa => Width::Counted(4),
            0xc => Width::Fixed(5),
            0xd => Width::Fixed(9),
            0xf => Width::Fixed(0),
            _ => return None,
        })
    }

    /// The fewest octets that a value of this width takes.
    pub(crate) fn octets_min(self) -> usize {
        match self {
            Width::Fixed(octets) | Width::Counted(octets) => octets,
        }
    }
}

impl Value {
    /// The code of the type that this value goes out as.
    pub fn code(&self) -> u8 {
        match self {
            Value::Void => code::VOID,
            Value::Bool(_) => code::BOOLEAN,
            Value::U8(_) => code::UINT8,
            Value::U16(_) => code::UINT16,
            Value::U32(_) => code::UINT32,
            Value::U64(_) => code::UINT64,
            Value::I8(_) => code::INT8,
            Value::I16(_) => code::INT16,
            Value::I32(_) => code::INT32,
            Value::I64(_) => code::INT64,
            Value::F32(_) => code::FLOAT,
            Value::F64(_) => code::DOUBLE,
            Value::Char(_) => code::CHAR_UTF32,
            Value::Char8(_) => code::CHAR,
            Value::Datetime(_) => code::DATETIME,
            Value::Uuid(_) => code::UUID,
            Value::Str8(text) => text_code(code::STR8, text.len()),
            Value::Str16(text) => text_code(code::STR16, text.len()),
            Value::Vbin8(bytes) if bytes.len() <= STR8_BYTES_MAX => code::VBIN8,
            Value::Vbin8(bytes) | Value::Vbin16(bytes) if bytes.len() <= STR16_BYTES_MAX => {
                code::VBIN16
            }
            Value::Vbin8(_) | Value::Vbin16(_) | Value::Vbin32(_) => code::VBIN32,
            Value::Map(_) => code::MAP,
            Value::List(_) => code::LIST,
            Value::Array(_) => code::ARRAY,
            Value::Struct32(_) => code::STRUCT32,
            Value::Other { code, .. } => *code,
        }
    }

    /// Reads a type code and a value of that type.
    pub fn decode(cursor: &mut Cursor<'_>) -> Result<Value, DecodeError> {
        let code = cursor.u8()?;
        Self::decode_content(cursor, code)
    }

    /// Reads a value of the type with `code`. Its place has been charged; what it holds outside
    /// is charged here.
    pub(crate) fn decode_content(cursor: &mut Cursor<'_>, code: u8) -> Result<Value, DecodeError> {
        Ok(match code {
            code::VOID => Value::Void,
            code::UINT8 => Value::U8(cursor.u8()?),
            code::UINT16 => Value::U16(cursor.u16()?),
            code::UINT32 => Value::U32(cursor.u32()?),
            code::UINT64 => Value::U64(cursor.u64()?),
            code::INT8 => Value::I8(cursor.i8()?),
            code::INT16 => Value::I16(cursor.i16()?),
            code::INT32 => Value::I32(cursor.i32()?),
            code::INT64 => Value::I64(cursor.i64()?),
            code::FLOAT => Value::F32(f32::from_bits(cursor.u32()?)),
            code::DOUBLE => Value::F64(f64::from_bits(cursor.u64()?)),
            code::CHAR_UTF32 => Value::Char(cursor.u32()?),
            code::CHAR => Value::Char8(cursor.u8()?),
            code::DATETIME => Value::Datetime(cursor.datetime()?),
            code::UUID => Value::Uuid(cursor.uuid()?),
            code::VBIN8 => Value::Vbin8(cursor.vbin8()?),
            code::VBIN16 => Value::Vbin16(cursor.vbin16()?),
            code::VBIN32 => Value::Vbin32(cursor.vbin32()?),
            code::MAP => Value::Map(Map::decode(cursor)?),
            code::LIST => Value::List(Self::decode_list(cursor)?),
            code::ARRAY => Value::Array(Array::decode(cursor)?),
            code::STRUCT32 => Value::Struct32(Struct32::decode(cursor)?),
            _ => Self::decode_exact(cursor, code)?,
        })
    }

    /// Reads a value whose octets decide whether it has a variant of its own.
    fn decode_exact(cursor: &mut Cursor<'_>, code: u8) -> Result<Value, DecodeError> {
        let bytes = take_content(cursor, code)?;
        match (code, std::str::from_utf8(bytes)) {
            (code::BOOLEAN, _) if bytes == [0] => Ok(Value::Bool(false)),
            (code::BOOLEAN, _) if bytes == [1] => Ok(Value::Bool(true)),
            (code::STR8, Ok(text)) => Ok(Value::Str8(text.into())),
            (code::STR16, Ok(text)) => Ok(Value::Str16(text.into())),
            _ => Ok(Value::Other {
                code,
                bytes: bytes.to_vec(),
            }),
        }
    }

    /// Reads the size, count and items of a list.
    pub(crate) fn decode_list(cursor: &mut Cursor<'_>) -> Result<Vec<Value>, DecodeError> {
        let length = cursor.u32()? as usize;
        if length == 0 {
            return Ok(Vec::new());
        }
        cursor.nested(length, "list", |cursor| {
            let count = list_count(cursor)?;
            let mut items = Vec::with_capacity(count);
            for _ in 0..count {
                items.push(Value::decode(cursor)?);
            }
            Ok(items)
        })
    }

    /// Appends the type code and the value.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.push(self.code());
        self.encode_content(out);
    }

    /// Appends the value as the type that [`code`](Self::code) tells.
    pub(crate) fn encode_content(&self, out: &mut Vec<u8>) {
        match self {
            Value::Void => {}
            Value::Bool(truth) => out.push(u8::from(*truth)),
            Value::U8(number) | Value::Char8(number) => out.push(*number),
            Value::U16(number) => encode::u16(out, *number),
            Value::U32(number) | Value::Char(number) => encode::u32(out, *number),
            Value::U64(number) => encode::u64(out, *number),
            Value::I8(number) => out.push(number.cast_unsigned()),
            Value::I16(number) => encode::u16(out, number.cast_unsigned()),
            Value::I32(number) => encode::u32(out, number.cast_unsigned()),
            Value::I64(number) | Value::Datetime(number) => encode::i64(out, *number),
            Value::F32(number) => encode::u32(out, number.to_bits()),
            Value::F64(number) => encode::u64(out, number.to_bits()),
            Value::Uuid(bytes) => out.extend_from_slice(bytes),
            Value::Str8(text) | Value::Str16(text) => {
                encode_counted(out, self.code(), text.as_bytes());
            }
            Value::Vbin8(bytes) | Value::Vbin16(bytes) | Value::Vbin32(bytes) => {
                encode_counted(out, self.code(), bytes);
            }
            Value::Map(map) => map.encode(out),
            Value::List(items) => encode::sized32(out, |out| {
                encode::u32(out, items.len() as u32);
                for item in items {
                    item.encode(out);
                }
            }),
            Value::Array(array) => array.encode(out),
            Value::Struct32(item) => item.encode(out),
            Value::Other { code, bytes } => encode_counted(out, *code, bytes),
        }
    }
}

fn text_code(code: u8, length: usize) -> u8 {
    match length {
        ..=STR8_BYTES_MAX => code,
        length if length <= STR16_BYTES_MAX => code::STR16,
        _ => code::VBIN32,
    }
}

/// Appends octets as the content of the type with `code`; those that its width has no room for
/// are cut off, those missing are zeros.
fn encode_counted(out: &mut Vec<u8>, code: u8, bytes: &[u8]) {
    match Width::of(code) {
        Some(Width::Counted(1)) => encode::vbin8(out, bytes),
        Some(Width::Counted(2)) => encode::vbin16(out, bytes),
        Some(Width::Counted(_)) => encode::vbin32(out, bytes),
        Some(Width::Fixed(width)) => {
            let end = out.len() + width;
            out.extend_from_slice(bytes.get(..width).unwrap_or(bytes));
            out.resize(end, 0);
        }
        None => {}
    }
}

/// The octets of a value without structure, charged as if they were kept.
fn take_content<'a>(cursor: &mut Cursor<'a>, code: u8) -> Result<&'a [u8], DecodeError> {
    let bytes = match Width::of(code) {
        Some(Width::Fixed(octets)) => cursor.take(octets, type_name(code))?,
        Some(Width::Counted(width)) => cursor.counted(width, type_name(code))?,
        None => return Err(cursor.error(Problem::UnknownType(code))),
    };
    cursor.charge(bytes.len())?;
    Ok(bytes)
}

fn type_name(code: u8) -> &'static str {
    code::name(code).unwrap_or("value of an unknown type")
}

/// Reads and charges the count of a list: every item takes at least its type code.
fn list_count(cursor: &mut Cursor<'_>) -> Result<usize, DecodeError> {
    let count = cursor.u32()? as usize;
    if count > cursor.remaining() {
        return Err(cursor.error(Problem::RunsPastEnd("list")));
    }
    cursor.charge(count * VALUE_BYTES)?;
    Ok(count)
}

/// Passes over a type code and a value, with all checks and charges of [`Value::decode`].
pub(crate) fn walk(cursor: &mut Cursor<'_>) -> Result<(), DecodeError> {
    let code = cursor.u8()?;
    walk_content(cursor, code)
}

/// Passes over a value of the type with `code`.
pub(crate) fn walk_content(cursor: &mut Cursor<'_>, code: u8) -> Result<(), DecodeError> {
    match code {
        code::MAP => Map::walk(cursor),
        code::LIST => walk_list(cursor),
        code::ARRAY => Array::walk(cursor),
        code::STRUCT32 => Struct32::walk(cursor),
        // These lie in the value itself.
        code::UINT8 | code::INT8 | code::CHAR => cursor.take(1, type_name(code)).map(drop),
        code::UINT16 | code::INT16 => cursor.take(2, type_name(code)).map(drop),
        code::UINT32 | code::INT32 | code::FLOAT | code::CHAR_UTF32 => {
            cursor.take(4, type_name(code)).map(drop)
        }
        code::UINT64 | code::INT64 | code::DOUBLE | code::DATETIME => {
            cursor.take(8, type_name(code)).map(drop)
        }
        code::UUID => cursor.take(16, type_name(code)).map(drop),
        _ => take_content(cursor, code).map(drop),
    }
}

fn walk_list(cursor: &mut Cursor<'_>) -> Result<(), DecodeError> {
    let length = cursor.u32()? as usize;
    if length == 0 {
        return Ok(());
    }
    cursor.nested(length, "list", |cursor| {
        for _ in 0..list_count(cursor)? {
            walk(cursor)?;
        }
        Ok(())
    })
}
