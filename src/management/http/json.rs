//! Values of the model as JSON, and back.
//!
//! Numbers of any width are numbers, text and octets that are text are strings. What JSON has no type
//! for is an object with one member whose name begins with `$`, so that it can be read back: octets are
//! `{"$hex": "00ff"}`, a UUID is `{"$uuid": "..."}`, and a floating point number that is none is
//! `{"$float": "NaN"}`, or `inf` or `-inf`. A map that could be taken for one of these is
//! `{"$map": {...}}`.

use serde_json::{Map as JsonMap, Number, Value as Json};

use super::limits::ARGUMENT_DEPTH_MAX;
use crate::qmf::datum::Datum;
use crate::wire::{Map, Text, UuidText, Value};

/// The member that holds octets which are no text.
const HEX: &str = "$hex";

/// The member that holds a UUID.
const UUID: &str = "$uuid";

/// The member that holds a floating point number that JSON has not.
const FLOAT: &str = "$float";

/// The member that holds a map which could be taken for one of these.
const MAP: &str = "$map";

fn looks_tagged(map: &Map) -> bool {
    let mut names = map.iter().map(|(name, _)| name);
    names.next().is_some_and(|name| name.starts_with('$')) && names.next().is_none()
}

/// A value of AMQP 0-10.
pub fn of_value(value: &Value) -> Json {
    match value {
        Value::Void => Json::Null,
        Value::Bool(truth) => Json::Bool(*truth),
        Value::U64(number) => Json::from(*number),
        Value::F32(number) => float(f64::from(*number)),
        Value::F64(number) => float(*number),
        Value::Char(number) => match char::from_u32(*number) {
            Some(character) => Json::String(character.into()),
            None => Json::from(*number),
        },
        Value::Char8(octet) => Json::String(char::from(*octet).into()),
        Value::Uuid(octets) => tagged(UUID, UuidText(octets).to_string()),
        Value::Map(map) => match looks_tagged(map) {
            true => Json::Object(JsonMap::from_iter([(MAP.to_owned(), of_map(map))])),
            false => of_map(map),
        },
        Value::List(items) => Json::Array(items.iter().map(of_value).collect()),
        other => match (other.as_i64(), other.as_str(), other.as_items()) {
            (Some(number), _, _) => Json::from(number),
            (_, Some(text), _) => Json::String(text.to_owned()),
            (_, _, Some(items)) => Json::Array(items.iter().map(of_value).collect()),
            _ => of_octets(other),
        },
    }
}

fn of_octets(value: &Value) -> Json {
    match (value, value.as_bytes()) {
        (_, Some(bytes)) => tagged(HEX, hex(bytes)),
        (Value::Other { bytes, .. }, None) => tagged(HEX, hex(bytes)),
        _ => Json::Null,
    }
}

/// A map of AMQP 0-10.
pub fn of_map(map: &Map) -> Json {
    let members = map
        .iter()
        .map(|(name, value)| (name.to_owned(), of_value(value)));
    Json::Object(members.collect())
}

/// A value of an object or an event. References are names.
pub fn of_datum(datum: &Datum) -> Json {
    match datum {
        Datum::Reference(name) => Json::String(name.as_str().to_owned()),
        Datum::Uuid(octets) => Json::String(UuidText(octets).to_string()),
        Datum::ShortText(text) | Datum::LongText(text) => Json::String(text.as_str().to_owned()),
        Datum::Map(map) => of_map(map),
        Datum::List(items) => Json::Array(items.iter().map(of_value).collect()),
        other => of_value(&other.clone().into_value(0)),
    }
}

/// A value of AMQP 0-10 of JSON.
///
/// # Errors
/// What is wrong: it is deeper than any argument, or what a `$` announces is not there.
pub fn to_value(json: &Json) -> Result<Value, String> {
    value_at(json, 0)
}

/// A map of AMQP 0-10 of a JSON object; null is an empty one.
///
/// # Errors
/// As [`to_value`], or it is no object.
pub fn to_map(json: &Json) -> Result<Map, String> {
    match json {
        Json::Null => Ok(Map::new()),
        Json::Object(members) => map_at(members, 0),
        _ => Err("not an object".to_owned()),
    }
}

fn map_at(members: &JsonMap<String, Json>, depth: usize) -> Result<Map, String> {
    let mut map = Map::new();
    for (name, value) in members {
        if name.len() > 255 {
            return Err(format!("a name of {} octets in a map", name.len()));
        }
        let value = value_at(value, depth + 1).map_err(|why| format!("{name}: {why}"))?;
        map.insert(Text::from(name.as_str()), value);
    }
    Ok(map)
}

fn value_at(json: &Json, depth: usize) -> Result<Value, String> {
    if depth > ARGUMENT_DEPTH_MAX {
        return Err(format!("deeper than {ARGUMENT_DEPTH_MAX} levels"));
    }
    Ok(match json {
        Json::Null => Value::Void,
        Json::Bool(truth) => Value::Bool(*truth),
        Json::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
            (Some(number), _, _) => Value::I64(number),
            (_, Some(number), _) => Value::U64(number),
            (_, _, Some(number)) => Value::F64(number),
            _ => return Err("a number that is none".to_owned()),
        },
        Json::String(text) if text.len() > usize::from(u16::MAX) => {
            return Err(format!("a text of {} octets", text.len()));
        }
        Json::String(text) => Value::Str16(Text::from(text.as_str())),
        Json::Array(items) => {
            let items = items.iter().map(|item| value_at(item, depth + 1));
            Value::List(items.collect::<Result<_, _>>()?)
        }
        Json::Object(members) => match (untagged(members)?, members.get(MAP)) {
            (Some(value), _) => value,
            (None, Some(Json::Object(tagged))) if members.len() == 1 => {
                Value::Map(map_at(tagged, depth)?)
            }
            (None, _) => Value::Map(map_at(members, depth)?),
        },
    })
}

fn tagged(name: &str, text: String) -> Json {
    let mut members = JsonMap::new();
    members.insert(name.to_owned(), Json::String(text));
    Json::Object(members)
}

/// What an object with one member that begins with `$` stands for.
fn untagged(members: &JsonMap<String, Json>) -> Result<Option<Value>, String> {
    let only = members.iter().next().filter(|_| members.len() == 1);
    match only {
        Some((name, Json::String(text))) if name == HEX => {
            let bytes = unhex(text).ok_or_else(|| format!("{HEX}: not hexadecimal"))?;
            if bytes.len() > usize::from(u16::MAX) {
                return Err(format!("{HEX}: {} octets", bytes.len()));
            }
            Ok(Some(Value::Vbin16(bytes)))
        }
        Some((name, Json::String(text))) if name == FLOAT => match text.as_str() {
            "NaN" => Ok(Some(Value::F64(f64::NAN))),
            "inf" => Ok(Some(Value::F64(f64::INFINITY))),
            "-inf" => Ok(Some(Value::F64(f64::NEG_INFINITY))),
            _ => Err(format!("{FLOAT}: neither NaN nor inf nor -inf")),
        },
        Some((name, Json::String(text))) if name == UUID => {
            let digits: String = text.chars().filter(|c| *c != '-').collect();
            let octets = unhex(&digits).and_then(|octets| octets.try_into().ok());
            let octets = octets.ok_or_else(|| format!("{UUID}: not a UUID"))?;
            Ok(Some(Value::Uuid(octets)))
        }
        _ => Ok(None),
    }
}

fn float(number: f64) -> Json {
    let found = Number::from_f64(number);
    found.map_or_else(|| tagged(FLOAT, number.to_string()), Json::Number)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let is_hex = text.len().is_multiple_of(2) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let pairs = text.as_bytes().chunks_exact(2).filter(|_| is_hex);
    let bytes: Vec<u8> = pairs
        .filter_map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
        .collect();
    is_hex.then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn json_of_a_value_reads_back_as_the_same_json() {
        let values = [
            Value::Void,
            Value::U8(7),
            Value::U64(u64::MAX),
            Value::I64(-3),
            Value::F64(1.5),
            Value::F64(f64::NAN),
            Value::Map(Map::from_iter([("$uuid", Value::Str8("x".into()))])),
            Value::Map(Map::from_iter([("$map", Value::Map(Map::new()))])),
            Value::F32(f32::NEG_INFINITY),
            Value::Vbin8(vec![0, 255]),
            Value::Vbin16(b"text".to_vec()),
            Value::Uuid([9; 16]),
            Value::List(vec![Value::Bool(true), Value::Str8("x".into())]),
        ];
        for value in values {
            let json = of_value(&value);
            let back = to_value(&json).expect("it was made here");
            assert_eq!(of_value(&back), json, "{value:?}");
        }
    }

    #[test]
    fn what_a_dollar_announces_has_to_be_there() {
        assert!(to_value(&json!({"$hex": "0"})).is_err());
        assert!(to_value(&json!({"$hex": "zz"})).is_err());
        assert!(to_value(&json!({"$uuid": "00"})).is_err());
        assert!(to_value(&json!({"$float": "1.5"})).is_err());
    }

    #[test]
    fn arguments_deeper_than_their_bound_are_refused() {
        let mut deep = json!(1);
        for _ in 0..=ARGUMENT_DEPTH_MAX {
            deep = json!([deep]);
        }
        assert!(to_value(&deep).is_err());
    }
}
