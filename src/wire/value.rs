//! A value of any 0-10 type.

use std::fmt;
use std::hash::{Hash, Hasher};

use super::Text;
use super::array::Array;
use super::generated::type_code as code;
use super::map::Map;
use super::struct32::Struct32;

/// A value of any 0-10 type, as it stands in maps, lists and arrays.
///
/// Types without a variant, and values that do not fit the variant of their type (text that is not
/// UTF-8, a boolean octet other than 0 and 1), stay byte exact in `Other`.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Value {
    /// `void`.
    #[default]
    Void,
    /// `boolean`.
    Bool(bool),
    /// `uint8`.
    U8(u8),
    /// `uint16`.
    U16(u16),
    /// `uint32`.
    U32(u32),
    /// `uint64`.
    U64(u64),
    /// `int8`.
    I8(i8),
    /// `int16`.
    I16(i16),
    /// `int32`.
    I32(i32),
    /// `int64`.
    I64(i64),
    /// `float`.
    F32(f32),
    /// `double`.
    F64(f64),
    /// `char-utf32`: a character's number, not checked to be one.
    Char(u32),
    /// `char`: one octet of text.
    Char8(u8),
    /// `datetime`: seconds since 1970.
    Datetime(i64),
    /// `uuid`.
    Uuid([u8; 16]),
    /// `str8`. More than 255 octets go out as the next wider type.
    Str8(Text),
    /// `str16`. More than 65535 octets go out as `vbin32`.
    Str16(Text),
    /// `vbin8`. More than 255 octets go out as the next wider type.
    Vbin8(Vec<u8>),
    /// `vbin16`. More than 65535 octets go out as `vbin32`.
    Vbin16(Vec<u8>),
    /// `vbin32`.
    Vbin32(Vec<u8>),
    /// `map`.
    Map(Map),
    /// `list`.
    List(Vec<Value>),
    /// `array`.
    Array(Array),
    /// `struct32`.
    Struct32(Struct32),
    /// Anything else: the type's code and the value's octets without their count.
    Other {
        /// Type code.
        code: u8,
        /// The octets; as many as the type has if its width is fixed.
        bytes: Vec<u8>,
    },
}

impl Value {
    /// The text of a `str8` or `str16`, and of a `vbin8`, `vbin16` or `vbin32` that is UTF-8: the
    /// Python 2 client sends its byte strings so.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::Str8(text) | Value::Str16(text) => Some(text),
            Value::Vbin8(bytes) | Value::Vbin16(bytes) | Value::Vbin32(bytes) => {
                std::str::from_utf8(bytes).ok()
            }
            _ => None,
        }
    }

    /// The octets of any text or binary type that carries a count.
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Value::Str8(text) | Value::Str16(text) => Some(text.as_bytes()),
            Value::Vbin8(bytes) | Value::Vbin16(bytes) | Value::Vbin32(bytes) => Some(bytes),
            Value::Other {
                code: 0x80..=0xaf,
                bytes,
            } => Some(bytes),
            _ => None,
        }
    }

    /// The number of any integer type, if it fits.
    pub fn as_i64(&self) -> Option<i64> {
        match *self {
            Value::U8(number) => Some(number.into()),
            Value::U16(number) => Some(number.into()),
            Value::U32(number) => Some(number.into()),
            Value::U64(number) => number.try_into().ok(),
            Value::I8(number) => Some(number.into()),
            Value::I16(number) => Some(number.into()),
            Value::I32(number) => Some(number.into()),
            Value::I64(number) | Value::Datetime(number) => Some(number),
            _ => None,
        }
    }

    /// The number of any integer type, if it is not negative.
    pub fn as_u64(&self) -> Option<u64> {
        match *self {
            Value::U64(number) => Some(number),
            _ => self.as_i64()?.try_into().ok(),
        }
    }

    /// The truth of a `boolean`; any octet but 0 counts as true.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Bool(truth) => Some(*truth),
            Value::Other {
                code: code::BOOLEAN,
                bytes,
            } => Some(bytes.iter().any(|&b| b != 0)),
            _ => None,
        }
    }

    /// The number of a `float`, `double` or any integer type; large integers are rounded.
    pub fn as_f64(&self) -> Option<f64> {
        match *self {
            Value::F32(number) => Some(number.into()),
            Value::F64(number) => Some(number),
            Value::U64(number) => Some(number as f64),
            _ => self.as_i64().map(|number| number as f64),
        }
    }

    /// The map inside.
    pub fn as_map(&self) -> Option<&Map> {
        match self {
            Value::Map(map) => Some(map),
            _ => None,
        }
    }

    /// The items of a list or an array.
    pub fn as_items(&self) -> Option<&[Value]> {
        match self {
            Value::List(items) => Some(items),
            Value::Array(array) => Some(&array.items),
            _ => None,
        }
    }

    /// A scalar as text: text as it is, numbers in decimal, booleans as `true` and `false`, a UUID
    /// in its usual form. `None` for `void`, containers, and octets that are no text.
    pub fn text(&self) -> Option<String> {
        match self {
            Value::Bool(truth) => Some(truth.to_string()),
            Value::U64(number) => Some(number.to_string()),
            Value::F32(number) => Some(number.to_string()),
            Value::F64(number) => Some(number.to_string()),
            Value::Char(number) => char::from_u32(*number).map(String::from),
            Value::Char8(octet) => Some(char::from(*octet).to_string()),
            Value::Uuid(bytes) => Some(UuidText(bytes).to_string()),
            _ => match self.as_i64() {
                Some(number) => Some(number.to_string()),
                None => self.as_str().map(String::from),
            },
        }
    }
}

/// A UUID as text: 32 digits, in five parts.
pub struct UuidText<'a>(pub &'a [u8; 16]);

impl fmt::Display for UuidText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, byte) in self.0.iter().enumerate() {
            if matches!(index, 4 | 6 | 8 | 10) {
                f.write_str("-")?;
            }
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

impl Hash for Value {
    /// Floats hash by their bits; the two zeros, which are equal, alike.
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::mem::discriminant(self).hash(state);
        match self {
            Value::Void => {}
            Value::Bool(truth) => truth.hash(state),
            Value::U8(number) | Value::Char8(number) => number.hash(state),
            Value::U16(number) => number.hash(state),
            Value::U32(number) | Value::Char(number) => number.hash(state),
            Value::U64(number) => number.hash(state),
            Value::I8(number) => number.hash(state),
            Value::I16(number) => number.hash(state),
            Value::I32(number) => number.hash(state),
            Value::I64(number) | Value::Datetime(number) => number.hash(state),
            Value::F32(number) => (number + 0.0).to_bits().hash(state),
            Value::F64(number) => (number + 0.0).to_bits().hash(state),
            Value::Uuid(bytes) => bytes.hash(state),
            Value::Str8(text) | Value::Str16(text) => text.hash(state),
            Value::Vbin8(bytes) | Value::Vbin16(bytes) | Value::Vbin32(bytes) => bytes.hash(state),
            Value::Map(map) => map.hash(state),
            Value::List(items) => items.hash(state),
            Value::Array(array) => array.hash(state),
            Value::Struct32(item) => item.hash(state),
            Value::Other { code, bytes } => (code, bytes).hash(state),
        }
    }
}

macro_rules! value_from {
    ($($from:ty => $variant:ident),* $(,)?) => {
        $(impl From<$from> for Value {
            fn from(value: $from) -> Self {
                Value::$variant(value.into())
            }
        })*
    };
}

value_from! {
    bool => Bool, u8 => U8, u16 => U16, u32 => U32, u64 => U64,
    i8 => I8, i16 => I16, i32 => I32, i64 => I64, f32 => F32, f64 => F64,
    &str => Str16, String => Str16, Text => Str16, Vec<u8> => Vbin32, &[u8] => Vbin32,
    Map => Map, Vec<Value> => List, Array => Array, Struct32 => Struct32, [u8; 16] => Uuid,
}
