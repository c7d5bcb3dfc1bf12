//! What the tests of management share: an agent, the messages that consoles send it and what is in its
//! answers.
#![allow(dead_code, reason = "each test uses a part of this")]

use ferrymq::management::Agent;
use ferrymq::management::agent::{Incoming, Told, Work};
use ferrymq::qmf::object::Times;
use ferrymq::qmf::{Identity, Object, ObjectName, Publication, broker};
use ferrymq::wire::{Cursor, Map, MessageProperties, ReplyTo, Value};

/// The time of everything in these tests, in nanoseconds.
pub const NOW: u64 = 1_600_000_000_000_000_000;

/// The broker's identity.
pub const BROKER: [u8; 16] = [
    0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde, 0xf0, 1, 2, 3, 4, 5, 6, 7, 8,
];

/// The name of its agent.
pub const NAME: &str = "apache.org:qpidd:12345678-9abc-def0-0102-030405060708";

pub fn agent() -> Agent {
    let told = Told {
        in_version_1: true,
        ..Told::default()
    };
    Agent::new(Identity::new(BROKER, 3), told)
}

/// Properties with which an answer comes to `amq.direct` under `reply`.
pub fn properties() -> MessageProperties {
    MessageProperties {
        reply_to: Some(ReplyTo {
            exchange: Some("amq.direct".into()),
            routing_key: Some("reply".into()),
        }),
        ..MessageProperties::default()
    }
}

/// Properties of a request of version 2.
pub fn properties_2(opcode: &str) -> MessageProperties {
    let headers: Map = [("qmf.opcode", opcode)].into_iter().collect();
    MessageProperties {
        app_id: Some(b"qmf2".to_vec()),
        correlation_id: Some(b"7".to_vec()),
        application_headers: Some(headers),
        ..properties()
    }
}

pub fn encoded(map: Map) -> Vec<u8> {
    // A value has its type in front, which a body has not.
    let mut octets = Vec::new();
    Value::Map(map).encode(&mut octets);
    octets.split_off(1)
}

/// Hands a message to an agent.
pub fn receive(
    agent: &mut Agent,
    routing_key: &str,
    properties: &MessageProperties,
    body: &[u8],
) -> Vec<Work> {
    agent.receive(&Incoming {
        routing_key,
        properties,
        body,
        now: NOW,
    })
}

/// The publications among what is to be done; nothing else may be there.
pub fn published(work: Vec<Work>) -> Vec<Publication> {
    let publication = |work| match work {
        Work::Publish(publication) => publication,
        other => panic!("more than an answer: {other:?}"),
    };
    work.into_iter().map(publication).collect()
}

/// The one thing of a kind.
pub fn only<T>(items: Vec<T>) -> T {
    assert_eq!(items.len(), 1, "not one");
    items.into_iter().next().unwrap()
}

/// The body of a message of version 2.
pub fn body(publication: &Publication) -> Value {
    let mut cursor = Cursor::new(&publication.body);
    let value = match publication.properties.content_type.as_deref() {
        Some("amqp/list") => Value::List(cursor.list().unwrap()),
        Some("amqp/map") => Value::Map(cursor.map().unwrap()),
        other => panic!("content of type {other:?}"),
    };
    cursor.finish().unwrap();
    value
}

/// An application header.
pub fn header<'a>(publication: &'a Publication, name: &str) -> Option<&'a Value> {
    publication
        .properties
        .application_headers
        .as_ref()?
        .get(name)
}

/// What lies in maps within maps.
pub fn at<'a>(value: &'a Value, path: &[&str]) -> &'a Value {
    path.iter().fold(value, |value, name| {
        let map = value
            .as_map()
            .unwrap_or_else(|| panic!("no map holds {name}"));
        map.get(name)
            .unwrap_or_else(|| panic!("{name} is missing in {map:?}"))
    })
}

pub fn text_at<'a>(value: &'a Value, path: &[&str]) -> &'a str {
    at(value, path).as_str().unwrap()
}

/// Code and text of an exception of version 2.
pub fn exception(publication: &Publication) -> (u64, String) {
    let opcode = header(publication, "qmf.opcode").unwrap();
    assert_eq!(opcode.as_str(), Some("_exception"));
    let body = body(publication);
    let code = at(&body, &["_values", "error_code"]).as_u64().unwrap();
    (code, text_at(&body, &["_values", "error_text"]).to_owned())
}

/// A queue with some of everything in it.
pub fn queue(name: &str) -> Object {
    let queue = broker::Queue {
        vhost_ref: ObjectName::vhost(),
        name: name.into(),
        durable: true,
        arguments: [("qpid.max_count", 5u32)].into_iter().collect(),
        alt_exchange: Some(ObjectName::exchange("amq.fanout")),
        msg_depth: 12,
        consumer_count: 4.into(),
        creator: "anonymous".into(),
        ..broker::Queue::default()
    };
    let times = Times {
        created: NOW - 5,
        updated: NOW,
        deleted: 0,
    };
    Object::new(queue.into_values(), times)
}
