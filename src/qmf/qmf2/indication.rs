//! What an agent says unasked in version 2.

use super::super::event::Event;
use super::super::identity::{AgentName, Identity, QMF_TOPIC};
use super::super::limits::OBJECTS_PER_MESSAGE;
use super::super::object::Object;
use super::super::publication::Publication;
use super::{Headers, VALUES, agent_values, element, message, schema_id};
use crate::wire::{Map, Text, Value};

fn indication(
    agent: &AgentName,
    routing_key: String,
    opcode: &'static str,
    content: Option<&'static str>,
    body: &Value,
) -> Publication {
    let headers = Headers {
        method: "indication",
        opcode,
        content,
        agent: agent.name(),
        is_partial: false,
    };
    message((QMF_TOPIC.into(), Text::from(routing_key)), &headers, body)
}

/// That the agent is there. `now` is in nanoseconds since 1970, `interval` in seconds. The message
/// lives for two intervals, so that no console hears an old one.
pub fn heartbeat(identity: &Identity, now: u64, interval: u16) -> Publication {
    let mut body = Map::new();
    body.insert(VALUES, agent_values(identity, now, interval));
    let (key, opcode) = (identity.heartbeat_key(), "_agent_heartbeat_indication");
    let mut publication = indication(identity.called(), key, opcode, None, &Value::Map(body));
    publication.ttl = Some(u64::from(interval.max(1)) * 2 * 1000);
    publication
}

/// No event's argument names an object, whose name would be told with the epoch of its agent.
const NO_EPOCH: u64 = 0;

/// That something happened, `now` in nanoseconds since 1970.
pub fn event(agent: &AgentName, event: &Event, now: u64) -> Publication {
    let class = event.class;
    let names = class.arguments.iter().map(|argument| argument.name);
    let values = event
        .arguments
        .iter()
        .map(|datum| datum.clone().into_value(NO_EPOCH));
    let mut map = Map::new();
    let schema_id = schema_id(class.package, class.name, "_event", class.hash);
    map.insert("_schema_id", schema_id);
    map.insert(VALUES, names.zip(values).collect::<Map>());
    map.insert("_timestamp", now);
    map.insert("_severity", class.severity as u8);
    let (key, list) = (agent.event_key(class), Value::List(vec![map.into()]));
    indication(agent, key, "_data_indication", Some("_event"), &list)
}

/// How objects are now, in order; one message holds objects of one class.
pub fn data(identity: &Identity, objects: &[Object]) -> Vec<Publication> {
    let epoch = identity.epoch.into();
    let of_one_class = objects.chunk_by(|a, b| a.class() == b.class());
    let pieces = of_one_class.flat_map(|objects| objects.chunks(OBJECTS_PER_MESSAGE));
    let told = |piece: &[Object]| {
        let class = piece.first()?.class();
        let list = piece.iter().map(|object| element(object, epoch)).collect();
        let (key, list) = (identity.data_key(class), Value::List(list));
        let content = Some("_data");
        Some(indication(
            identity.called(),
            key,
            "_data_indication",
            content,
            &list,
        ))
    };
    pieces.filter_map(told).collect()
}
