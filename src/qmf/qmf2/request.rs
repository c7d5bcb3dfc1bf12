//! What consoles ask in version 2.

use super::super::object::ObjectName;
use super::super::query::Query;
use super::super::status::{Fault, Status};
use crate::wire::{Cursor, Map, Text, Value};

/// A request.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// `_method_request`: call a method of an object.
    Method {
        /// Of which object.
        object: ObjectName,
        /// Which method.
        method: Text,
        /// With these arguments.
        arguments: Map,
    },
    /// `_query_request`: tell of objects.
    Query(Query),
    /// `_agent_locate_request`: say who is there.
    Locate,
}

/// The number of an exception that a query gets which makes no sense. In qpidd it is that of an
/// unknown object.
const QUERY_FAULT: Status = Status::UnknownObject;

/// The request with operation code `opcode` and this body. None for a code that is no request: what an
/// agent says, for example.
///
/// # Errors
/// The exception that the asker is told, as in qpidd: [`Status::InvalidParameter`] for a body that
/// is no map or lacks what it needs, [`Status::Exception`] for what is of the wrong type,
/// [`Status::UnknownObject`] for a query for other things than objects.
pub fn request(opcode: &str, body: &[u8]) -> Result<Option<Request>, Fault> {
    match opcode {
        "_method_request" => method(&map(body)?).map(Some),
        "_query_request" => query(&map(body)?).map(|query| Some(Request::Query(query))),
        // What it asks for is not looked at: there is one agent, and it answers.
        "_agent_locate_request" => Ok(Some(Request::Locate)),
        _ => Ok(None),
    }
}

fn map(body: &[u8]) -> Result<Map, Fault> {
    let mut cursor = Cursor::new(body);
    cursor.in_field("qmf2.request");
    let read = cursor.map().and_then(|map| cursor.finish().map(|()| map));
    read.map_err(|error| Fault::new(Status::InvalidParameter, error.to_string()))
}

fn method(map: &Map) -> Result<Request, Fault> {
    let (Some(object), Some(method)) = (map.get("_object_id"), map.get("_method_name")) else {
        return Err(Fault::of(Status::InvalidParameter));
    };
    let Some(object) = object.as_map() else {
        return Err(Fault::exception("_object_id is not a map"));
    };
    let Some(method) = method.as_str() else {
        return Err(Fault::exception("_method_name is not a string"));
    };
    let arguments = match map.get("_arguments") {
        None | Some(Value::Void) => Map::new(),
        Some(Value::Map(arguments)) => arguments.clone(),
        Some(_) => return Err(Fault::exception("_arguments is not a map")),
    };
    Ok(Request::Method {
        object: ObjectName::from_map(object)?,
        method: method.into(),
        arguments,
    })
}

fn query(map: &Map) -> Result<Query, Fault> {
    let what = map
        .get("_what")
        .ok_or_else(|| Fault::new(QUERY_FAULT, "_what element missing in Query"))?;
    let what = what
        .as_str()
        .ok_or_else(|| Fault::new(QUERY_FAULT, "_what element is not a string"))?;
    if what != "OBJECT" {
        let text = format!("Query for _what => '{what}' not supported");
        return Err(Fault::new(QUERY_FAULT, text));
    }
    if let Some(object) = map.get("_object_id").and_then(Value::as_map) {
        return ObjectName::from_map(object).map(Query::Object);
    }
    let schema_id = map.get("_schema_id").and_then(Value::as_map);
    let named = |name| schema_id?.get(name)?.as_str().map(Text::from);
    Ok(Query::Class {
        package: named("_package_name").filter(|package| !package.is_empty()),
        class: named("_class_name").unwrap_or_default(),
    })
}
