//! What consoles ask of the agent, whole and damaged.

use ferrymq::management::Agent;
use ferrymq::management::agent::{Incoming, Told, Work};
use ferrymq::qmf::limits::REQUEST_FRAMES_MAX;
use ferrymq::qmf::{Identity, PACKAGES, qmf1, qmf2};
use ferrymq::wire::{Cursor, Map, MessageProperties, ReplyTo, Text, Value};

use super::wire_support::seeded::Seeded;

fn agent() -> Agent {
    Agent::new(Identity::new([7; 16], 1), Told::default())
}

fn properties() -> MessageProperties {
    MessageProperties {
        reply_to: Some(ReplyTo {
            exchange: Some("amq.direct".into()),
            routing_key: Some("reply".into()),
        }),
        ..MessageProperties::default()
    }
}

fn body_of(map: Map) -> Vec<u8> {
    let mut octets = Vec::new();
    Value::Map(map).encode(&mut octets);
    octets.split_off(1)
}

/// A method of the schema, with its class.
fn method(seeded: &mut Seeded) -> (Text, Text, Text) {
    let classes: Vec<_> = PACKAGES
        .iter()
        .flat_map(|package| package.classes)
        .collect();
    let class = seeded.pick(&classes);
    let name = match class.methods.is_empty() {
        true => "nothing",
        false => seeded.pick(class.methods).name,
    };
    (class.package.into(), class.name.into(), name.into())
}

fn some_value(seeded: &mut Seeded) -> Value {
    match seeded.below(7) {
        0 => Value::Void,
        1 => Value::U32(seeded.u32()),
        2 => Value::I64(seeded.u64() as i64),
        3 => Value::Bool(seeded.once_in(2)),
        4 => Value::Map([("a", "b")].into_iter().collect()),
        5 => Value::Str16(seeded.u32().to_string().into()),
        _ => Value::Str8(seeded.text(20).into()),
    }
}

fn request_2(seeded: &mut Seeded) -> (&'static str, Vec<u8>) {
    let mut map = Map::new();
    let (package, class, name) = method(seeded);
    let object = format!("{package}:{class}:{}", seeded.text(9));
    let object_id: Map = [("_object_name", object)].into_iter().collect();
    let opcode = if seeded.once_in(2) {
        map.insert("_object_id", object_id);
        map.insert("_method_name", name);
        let arguments = [
            "request", "filter", "sequence", "body", "type", "name", "qty",
        ];
        let arguments = arguments.map(|name| (name, some_value(seeded)));
        map.insert("_arguments", arguments.into_iter().collect::<Map>());
        "_method_request"
    } else {
        map.insert("_what", "OBJECT");
        if seeded.once_in(2) {
            map.insert("_object_id", object_id);
        }
        let schema_id: Map = [("_class_name", class)].into_iter().collect();
        map.insert("_schema_id", schema_id);
        "_query_request"
    };
    (opcode, body_of(map))
}

/// Every request of version 2, whatever is in it, leads to one thing: an answer that can be read, a
/// query or a call.
pub fn request_of_version_2(seeded: &mut Seeded) {
    let (opcode, mut body) = request_2(seeded);
    if !seeded.once_in(4) {
        seeded.damage(&mut body);
    }
    let properties = MessageProperties {
        app_id: Some(qmf2::APP_ID.to_vec()),
        application_headers: Some([("qmf.opcode", opcode)].into_iter().collect()),
        ..properties()
    };
    let work = agent().receive(&Incoming {
        routing_key: "broker",
        properties: &properties,
        body: &body,
        now: 1,
    });
    assert_eq!(work.len(), 1, "{body:?}");
    if let Some(Work::Publish(told)) = work.first() {
        assert_eq!(told.routing_key, "reply");
        let mut cursor = Cursor::new(&told.body);
        let map = cursor.map().expect("an exception");
        cursor.finish().expect("and nothing behind it");
        let values = map.get("_values").and_then(Value::as_map).expect("values");
        let code = values.get("error_code").and_then(Value::as_u64);
        assert!(code.is_some_and(|code| code > 0), "{values:?}");
    }
}

fn frames_1(seeded: &mut Seeded) -> Vec<u8> {
    let mut body = Vec::new();
    let str8 = |text: &str| [&[text.len() as u8], text.as_bytes()].concat();
    for _ in 0..=seeded.below(4) {
        let (package, class, name) = method(seeded);
        let key = [str8(&package), str8(&class), vec![0; 16]].concat();
        let (opcode, content) = match seeded.below(7) {
            0 => (b'B', Vec::new()),
            1 => (b'P', Vec::new()),
            2 => (b'Q', str8(&package)),
            3 => (b'S', key),
            4 => {
                let wanted: Map = [("_class", class)].into_iter().collect();
                (b'G', body_of(wanted))
            }
            5 => {
                let wanted = [("_objectid", format!("0-1-1-0-{}", seeded.below(9)))];
                (b'G', body_of(wanted.into_iter().collect()))
            }
            _ => {
                let object = [0, 1, 0, 0, 0x10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
                let rest = [key, str8(&name), seeded.bytes(30)].concat();
                (b'M', [&object[..], &rest].concat())
            }
        };
        body.extend_from_slice(b"AM2");
        body.push(opcode);
        body.extend_from_slice(&seeded.u32().to_be_bytes());
        body.extend(content);
    }
    body
}

/// Frames of version 1 give no more than so many requests each and are never made up; every answer
/// goes to who asked.
pub fn frames_of_version_1(seeded: &mut Seeded) {
    let mut body = frames_1(seeded);
    if !seeded.once_in(4) {
        seeded.damage(&mut body);
    }
    let read = qmf1::requests(&body);
    assert!(read.requests.len() <= REQUEST_FRAMES_MAX);
    assert!(read.requests.len() * 8 <= body.len());
    let work = agent().receive(&Incoming {
        routing_key: "broker",
        properties: &properties(),
        body: &body,
        now: 1,
    });
    for told in &work {
        if let Work::Publish(told) = told {
            assert_eq!(told.routing_key, "reply");
            assert!(told.body.starts_with(b"AM2"));
        }
    }
    assert!(work.len() <= 2 * read.requests.len());
}

/// Holds a rule that does not hold: frames are read whatever becomes of them.
pub fn management_canary(seeded: &mut Seeded) {
    let mut body = frames_1(seeded);
    seeded.damage(&mut body);
    let read = qmf1::requests(&body);
    assert!(read.unread.is_none(), "not read: {body:?}");
}
