//! One value of an object, an argument or an event, of a type of the schema.

use std::hash::{Hash, Hasher};

use super::object::ObjectName;
use super::schema::Type;
use crate::wire::{Map, Text, Value};

/// A value of a type of the schema.
#[derive(Clone, Debug, PartialEq)]
pub enum Datum {
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
    /// Truth.
    Bool(bool),
    /// `float`.
    F32(f32),
    /// `double`.
    F64(f64),
    /// Text of at most 255 octets; what is longer is cut where it has to go into a `str8`.
    ShortText(Text),
    /// Text of at most 65535 octets.
    LongText(Text),
    /// Nanoseconds since 1970.
    AbsTime(i64),
    /// Nanoseconds.
    DeltaTime(u64),
    /// The name of another object.
    Reference(ObjectName),
    /// `uuid`.
    Uuid([u8; 16]),
    /// A map.
    Map(Map),
    /// A list.
    List(Vec<Value>),
}

impl Datum {
    /// Its type.
    pub fn r#type(&self) -> Type {
        match self {
            Datum::U8(_) => Type::U8,
            Datum::U16(_) => Type::U16,
            Datum::U32(_) => Type::U32,
            Datum::U64(_) => Type::U64,
            Datum::I8(_) => Type::I8,
            Datum::I16(_) => Type::I16,
            Datum::I32(_) => Type::I32,
            Datum::I64(_) => Type::I64,
            Datum::Bool(_) => Type::Bool,
            Datum::F32(_) => Type::F32,
            Datum::F64(_) => Type::F64,
            Datum::ShortText(_) => Type::ShortText,
            Datum::LongText(_) => Type::LongText,
            Datum::AbsTime(_) => Type::AbsTime,
            Datum::DeltaTime(_) => Type::DeltaTime,
            Datum::Reference(_) => Type::Reference,
            Datum::Uuid(_) => Type::Uuid,
            Datum::Map(_) => Type::Map,
            Datum::List(_) => Type::List,
        }
    }

    /// What is empty of a type: 0, no text, nothing in it.
    pub fn empty(of: Type) -> Self {
        match of {
            Type::U8 => Datum::U8(0),
            Type::U16 => Datum::U16(0),
            Type::U32 => Datum::U32(0),
            Type::U64 => Datum::U64(0),
            Type::I8 => Datum::I8(0),
            Type::I16 => Datum::I16(0),
            Type::I32 => Datum::I32(0),
            Type::I64 => Datum::I64(0),
            Type::Bool => Datum::Bool(false),
            Type::F32 => Datum::F32(0.0),
            Type::F64 => Datum::F64(0.0),
            Type::ShortText => Datum::ShortText(Text::default()),
            Type::LongText => Datum::LongText(Text::default()),
            Type::AbsTime => Datum::AbsTime(0),
            Type::DeltaTime => Datum::DeltaTime(0),
            Type::Reference => Datum::Reference(ObjectName::default()),
            Type::Uuid => Datum::Uuid([0; 16]),
            Type::Map => Datum::Map(Map::new()),
            Type::List => Datum::List(Vec::new()),
        }
    }

    /// A value of version 2 as one of a type of the schema. Numbers may come in any width that
    /// holds them, and as text, as consoles send them.
    pub fn from_value(of: Type, value: &Value) -> Option<Self> {
        let integer = || integer(value);
        Some(match of {
            Type::U8 => Datum::U8(integer()?.try_into().ok()?),
            Type::U16 => Datum::U16(integer()?.try_into().ok()?),
            Type::U32 => Datum::U32(integer()?.try_into().ok()?),
            Type::U64 => Datum::U64(integer()?.try_into().ok()?),
            Type::I8 => Datum::I8(integer()?.try_into().ok()?),
            Type::I16 => Datum::I16(integer()?.try_into().ok()?),
            Type::I32 => Datum::I32(integer()?.try_into().ok()?),
            Type::I64 => Datum::I64(integer()?.try_into().ok()?),
            Type::AbsTime => Datum::AbsTime(integer()?.try_into().ok()?),
            Type::DeltaTime => Datum::DeltaTime(integer()?.try_into().ok()?),
            Type::Bool => Datum::Bool(truth(value)?),
            Type::F32 => Datum::F32(value.as_f64()? as f32),
            Type::F64 => Datum::F64(value.as_f64()?),
            Type::ShortText => Datum::ShortText(text(value)?),
            Type::LongText => Datum::LongText(text(value)?),
            Type::Reference => Datum::Reference(ObjectName::from_map(value.as_map()?).ok()?),
            Type::Uuid => match value {
                Value::Uuid(octets) => Datum::Uuid(*octets),
                _ => return None,
            },
            Type::Map => match value {
                Value::Void => Datum::Map(Map::new()),
                _ => Datum::Map(value.as_map()?.clone()),
            },
            Type::List => Datum::List(value.as_items()?.to_vec()),
        })
    }

    /// The value of version 2. Text goes out as octets, as qpidd has it: the Python 2 tools make
    /// byte strings of those.
    pub fn into_value(self, epoch: u64) -> Value {
        match self {
            Datum::U8(number) => Value::U8(number),
            Datum::U16(number) => Value::U16(number),
            Datum::U32(number) => Value::U32(number),
            Datum::U64(number) | Datum::DeltaTime(number) => Value::U64(number),
            Datum::I8(number) => Value::I8(number),
            Datum::I16(number) => Value::I16(number),
            Datum::I32(number) => Value::I32(number),
            Datum::I64(number) | Datum::AbsTime(number) => Value::I64(number),
            Datum::Bool(truth) => Value::Bool(truth),
            Datum::F32(number) => Value::F32(number),
            Datum::F64(number) => Value::F64(number),
            Datum::ShortText(text) | Datum::LongText(text) => octets(&text),
            Datum::Reference(name) => Value::Map(name.to_map(epoch)),
            Datum::Uuid(octets) => Value::Uuid(octets),
            Datum::Map(map) => Value::Map(map),
            Datum::List(items) => Value::List(items),
        }
    }
}

impl Hash for Datum {
    /// Floats hash by their bits.
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::mem::discriminant(self).hash(state);
        match self {
            Datum::U8(number) => number.hash(state),
            Datum::U16(number) => number.hash(state),
            Datum::U32(number) => number.hash(state),
            Datum::U64(number) | Datum::DeltaTime(number) => number.hash(state),
            Datum::I8(number) => number.hash(state),
            Datum::I16(number) => number.hash(state),
            Datum::I32(number) => number.hash(state),
            Datum::I64(number) | Datum::AbsTime(number) => number.hash(state),
            Datum::Bool(truth) => truth.hash(state),
            Datum::F32(number) => number.to_bits().hash(state),
            Datum::F64(number) => number.to_bits().hash(state),
            Datum::ShortText(text) | Datum::LongText(text) => text.hash(state),
            Datum::Reference(name) => name.hash(state),
            Datum::Uuid(octets) => octets.hash(state),
            Datum::Map(map) => map.hash(state),
            Datum::List(items) => items.hash(state),
        }
    }
}

/// Text as a value of octets.
pub(super) fn octets(text: &str) -> Value {
    Value::Vbin16(text.as_bytes().to_vec())
}

/// A number of any width, or one in text.
fn integer(value: &Value) -> Option<i128> {
    match value {
        Value::U64(number) => Some((*number).into()),
        Value::Bool(truth) => Some((*truth).into()),
        _ => match value.as_i64() {
            Some(number) => Some(number.into()),
            None => value.as_str()?.trim().parse().ok(),
        },
    }
}

/// A truth, a number that is one or none, or one of the words for it.
fn truth(value: &Value) -> Option<bool> {
    if let Some(truth) = value.as_bool() {
        return Some(truth);
    }
    if let Some(number) = value.as_i64() {
        return Some(number != 0);
    }
    let word = value.as_str()?;
    let is = |words: [&str; 2]| words.iter().any(|other| word.eq_ignore_ascii_case(other));
    match () {
        () if is(["true", "1"]) => Some(true),
        () if is(["false", "0"]) => Some(false),
        () => None,
    }
}

/// A text, or a scalar as text.
fn text(value: &Value) -> Option<Text> {
    match value {
        Value::Void => Some(Text::default()),
        _ => value.text().map(Text::from),
    }
}

/// A number with the highest and lowest it was since it was last told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Watermarks {
    /// The number now.
    pub value: u32,
    /// The highest.
    pub high: u32,
    /// The lowest.
    pub low: u32,
}

impl From<u32> for Watermarks {
    /// One that was not watched.
    fn from(value: u32) -> Self {
        Watermarks {
            value,
            high: value,
            low: value,
        }
    }
}

/// What there is to say of times that were taken since they were last told, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Samples {
    /// How many.
    pub count: u64,
    /// The shortest.
    pub min: u64,
    /// The longest.
    pub max: u64,
    /// Their average.
    pub average: u64,
}

/// Arguments of a call, to be taken in the schema's order.
#[derive(Debug)]
pub struct Arguments(std::vec::IntoIter<Datum>);

impl Arguments {
    /// These, in this order.
    pub fn new(data: Vec<Datum>) -> Self {
        Arguments(data.into_iter())
    }

    /// The next one; None if there is none, or if it is of another type.
    pub fn take<T: FromDatum>(&mut self) -> Option<T> {
        self.0.next().and_then(T::from_datum)
    }
}

/// What an argument can be in Rust.
pub trait FromDatum: Sized {
    /// The value, if the datum is of a type that it comes from.
    fn from_datum(datum: Datum) -> Option<Self>;
}

macro_rules! from_datum {
    ($($of:ty => $($variant:ident)|+),* $(,)?) => {
        $(impl FromDatum for $of {
            fn from_datum(datum: Datum) -> Option<Self> {
                match datum {
                    $(Datum::$variant(value) => Some(value),)+
                    _ => None,
                }
            }
        })*
    };
}

from_datum! {
    u8 => U8, u16 => U16, u32 => U32, u64 => U64 | DeltaTime, i8 => I8, i16 => I16, i32 => I32,
    i64 => I64 | AbsTime, bool => Bool, f32 => F32, f64 => F64, Text => ShortText | LongText,
    ObjectName => Reference, [u8; 16] => Uuid, Map => Map, Vec<Value> => List,
}
