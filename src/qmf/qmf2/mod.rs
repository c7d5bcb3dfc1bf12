//! QMF version 2: requests and answers are maps and lists in the body of a message, with an operation
//! code in its application headers.

mod answer;
mod indication;
mod request;

pub use answer::{Asker, exception, located, method_response, objects};
pub use indication::{data, event, heartbeat};
pub use request::{Request, request};

use super::identity::Identity;
use super::object::Object;
use super::publication::Publication;
use crate::wire::{Map, Text, Value};

/// What messages of this version have as their `app-id`.
pub const APP_ID: &[u8] = b"qmf2";

/// Application headers. Every console reads them.
const OPCODE: &str = "qmf.opcode";
const CONTENT: &str = "qmf.content";
const AGENT: &str = "qmf.agent";
const METHOD: &str = "method";
const PARTIAL: &str = "partial";

/// Where values are in bodies.
const VALUES: &str = "_values";

/// What is in a message's headers besides its operation code.
struct Headers<'a> {
    method: &'static str,
    opcode: &'static str,
    content: Option<&'static str>,
    agent: &'a str,
    is_partial: bool,
}

/// A message with a map or a list in it.
fn message(to: (Text, Text), headers: &Headers<'_>, body: &Value) -> Publication {
    let mut octets = Vec::new();
    body.encode_content(&mut octets);
    let content_type = match body {
        Value::List(_) => "amqp/list",
        _ => "amqp/map",
    };
    let mut publication = Publication::new(to.0, to.1, octets);
    let properties = &mut publication.properties;
    properties.content_type = Some(content_type.into());
    properties.app_id = Some(APP_ID.to_vec());
    let mut map = Map::new();
    map.insert(METHOD, headers.method);
    map.insert(OPCODE, headers.opcode);
    if let Some(content) = headers.content {
        map.insert(CONTENT, content);
    }
    map.insert(AGENT, headers.agent);
    if headers.is_partial {
        map.insert(PARTIAL, Value::Void);
    }
    properties.application_headers = Some(map);
    publication
}

/// What tells a class or an event from all others.
fn schema_id(package: &str, name: &str, of: &'static str, hash: [u8; 16]) -> Map {
    let mut map = Map::new();
    map.insert("_package_name", super::datum::octets(package));
    map.insert("_class_name", super::datum::octets(name));
    map.insert("_type", super::datum::octets(of));
    map.insert("_hash", Value::Uuid(hash));
    map
}

/// Properties and statistics of an object, those that it has.
fn values(object: &Object, epoch: u64) -> Map {
    let class = object.class();
    let properties = class.properties.iter().map(|p| p.name);
    let properties = properties.zip(&object.values.properties);
    let statistics = class.statistics.iter().map(|s| s.value_name);
    let statistics = statistics.zip(&object.values.statistics);
    let there = properties.filter_map(|(name, datum)| Some((name, datum.as_ref()?)));
    // Names of a class are unique, so nothing is looked for among those that are there.
    Map::of_distinct(
        there
            .chain(statistics)
            .map(|(name, datum)| (name.into(), datum.clone().into_value(epoch))),
    )
}

/// An object as it stands in lists.
fn element(object: &Object, epoch: u64) -> Value {
    let class = object.class();
    let mut map = Map::new();
    map.insert("_object_id", object.name.to_map(epoch));
    let schema_id = schema_id(class.package, class.name, "_data", class.hash);
    map.insert("_schema_id", schema_id);
    map.insert("_create_ts", object.times.created);
    map.insert("_update_ts", object.times.updated);
    map.insert("_delete_ts", object.times.deleted);
    map.insert(VALUES, values(object, epoch));
    Value::Map(map)
}

/// Who an agent is, as it tells when asked and with each heartbeat.
fn agent_values(identity: &Identity, now: u64, interval: u16) -> Map {
    let octets = super::datum::octets;
    let mut map = Map::new();
    map.insert("_vendor", octets(identity.vendor()));
    map.insert("_product", octets(identity.product()));
    map.insert("_instance", octets(identity.instance()));
    map.insert("_name", octets(identity.name()));
    map.insert("_timestamp", now);
    map.insert("_heartbeat_interval", interval);
    map.insert("_epoch", identity.epoch);
    map
}
