//! Values, objects and arguments as octets of version 1.

use super::super::datum::Datum;
use super::super::object::Object;
use super::super::schema::{Method, Type};
use super::super::status::{Fault, Status};
use super::ids::{Numbers, ObjectId};
use crate::wire::{Cursor, DecodeError, Value, encode};

/// Appends a value, without its type: that is the schema's to say.
pub(super) fn put(datum: &Datum, numbers: &mut Numbers, out: &mut Vec<u8>) {
    match datum {
        Datum::U8(number) => encode::u8(out, *number),
        Datum::U16(number) => encode::u16(out, *number),
        Datum::U32(number) => encode::u32(out, *number),
        Datum::U64(number) | Datum::DeltaTime(number) => encode::u64(out, *number),
        Datum::I8(number) => out.extend_from_slice(&number.to_be_bytes()),
        Datum::I16(number) => out.extend_from_slice(&number.to_be_bytes()),
        Datum::I32(number) => out.extend_from_slice(&number.to_be_bytes()),
        Datum::I64(number) | Datum::AbsTime(number) => encode::i64(out, *number),
        Datum::Bool(truth) => encode::u8(out, u8::from(*truth)),
        Datum::F32(number) => out.extend_from_slice(&number.to_be_bytes()),
        Datum::F64(number) => out.extend_from_slice(&number.to_be_bytes()),
        Datum::ShortText(text) => encode::str8(out, text),
        Datum::LongText(text) => encode::str16(out, text),
        Datum::Reference(name) => put_id(numbers.id(name), out),
        Datum::Uuid(octets) => out.extend_from_slice(octets),
        Datum::Map(map) => map.encode(out),
        Datum::List(items) => Value::List(items.clone()).encode_content(out),
    }
}

/// Appends what an object is called.
pub(super) fn put_id(id: ObjectId, out: &mut Vec<u8>) {
    encode::u64(out, id.first);
    encode::u64(out, id.second);
}

/// Appends class, times and name of an object, which stand before all that is said of it.
fn put_head(object: &Object, numbers: &mut Numbers, out: &mut Vec<u8>) {
    let (class, times) = (object.class(), object.times);
    encode::str8(out, class.package);
    encode::str8(out, class.name);
    out.extend_from_slice(&class.hash);
    encode::u64(out, times.updated);
    encode::u64(out, times.created);
    encode::u64(out, times.deleted);
    put_id(numbers.id(&object.name), out);
}

/// Appends an object's head and its properties: first a bit for each optional one, lowest first, that
/// says whether it is there.
pub(super) fn put_properties(object: &Object, numbers: &mut Numbers, out: &mut Vec<u8>) {
    put_head(object, numbers, out);
    let properties = object.class().properties.iter();
    let optional: Vec<bool> = properties
        .zip(&object.values.properties)
        .filter(|(property, _)| property.is_optional)
        .map(|(_, datum)| datum.is_some())
        .collect();
    for eight in optional.chunks(8) {
        let bit = |(at, is_there): (usize, &bool)| u8::from(*is_there) << at;
        out.push(
            eight
                .iter()
                .enumerate()
                .map(bit)
                .fold(0, |mask, bit| mask | bit),
        );
    }
    for datum in object.values.properties.iter().flatten() {
        put(datum, numbers, out);
    }
}

/// Appends an object's statistics.
pub(super) fn put_statistics(object: &Object, numbers: &mut Numbers, out: &mut Vec<u8>) {
    for datum in &object.values.statistics {
        put(datum, numbers, out);
    }
}

/// Appends an object's head and its statistics.
pub(super) fn put_head_and_statistics(object: &Object, numbers: &mut Numbers, out: &mut Vec<u8>) {
    put_head(object, numbers, out);
    put_statistics(object, numbers, out);
}

/// What a method is given, from the octets of a request.
///
/// # Errors
/// [`Status::InvalidParameter`], with what cannot be read.
pub fn arguments(method: &Method, octets: &[u8], numbers: &Numbers) -> Result<Vec<Datum>, Fault> {
    let mut cursor = Cursor::new(octets);
    cursor.in_field("qmf1.M.arguments");
    let read = |cursor: &mut Cursor<'_>| {
        let mut given = Vec::new();
        for argument in method.given() {
            given.push(take(cursor, argument.r#type, numbers)?);
        }
        cursor.finish().map(|()| given)
    };
    read(&mut cursor).map_err(|error| Fault::new(Status::InvalidParameter, error.to_string()))
}

fn take(cursor: &mut Cursor<'_>, of: Type, numbers: &Numbers) -> Result<Datum, DecodeError> {
    Ok(match of {
        Type::U8 => Datum::U8(cursor.u8()?),
        Type::U16 => Datum::U16(cursor.u16()?),
        Type::U32 => Datum::U32(cursor.u32()?),
        Type::U64 => Datum::U64(cursor.u64()?),
        Type::I8 => Datum::I8(cursor.i8()?),
        Type::I16 => Datum::I16(cursor.i16()?),
        Type::I32 => Datum::I32(cursor.i32()?),
        Type::I64 => Datum::I64(cursor.i64()?),
        Type::AbsTime => Datum::AbsTime(cursor.i64()?),
        Type::DeltaTime => Datum::DeltaTime(cursor.u64()?),
        Type::Bool => Datum::Bool(cursor.u8()? != 0),
        Type::F32 => Datum::F32(f32::from_bits(cursor.u32()?)),
        Type::F64 => Datum::F64(f64::from_bits(cursor.u64()?)),
        Type::ShortText => Datum::ShortText(cursor.str8()?),
        Type::LongText => Datum::LongText(cursor.str16()?),
        Type::Reference => {
            let id = ObjectId {
                first: cursor.u64()?,
                second: cursor.u64()?,
            };
            Datum::Reference(numbers.name(id).unwrap_or_default())
        }
        Type::Uuid => Datum::Uuid(cursor.uuid()?),
        Type::Map => Datum::Map(cursor.map()?),
        Type::List => Datum::List(cursor.list()?),
    })
}
