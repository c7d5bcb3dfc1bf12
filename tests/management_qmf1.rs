//! QMF version 1 through the agent: frames of consoles, answers as consoles read them.

mod management_support;

use ferrymq::management::Agent;
use ferrymq::management::agent::{Called, Find, Work};
use ferrymq::qmf::broker::{self, BrokerMethod, QueueMethod};
use ferrymq::qmf::datum::Datum;
use ferrymq::qmf::limits::{ANSWER_BYTES_MAX, REQUEST_FRAMES_MAX};
use ferrymq::qmf::object::Times;
use ferrymq::qmf::qmf1;
use ferrymq::qmf::qmf1::{Numbers, ObjectId};
use ferrymq::qmf::schema::{Class, Type};
use ferrymq::qmf::{Call, Fault, Object, ObjectName, PACKAGES, Publication, Query, Status};
use ferrymq::wire::{Cursor, Map, Text, Value};
use management_support::*;

/// A frame as consoles write it.
fn frame(opcode: u8, sequence: u32, content: &[u8]) -> Vec<u8> {
    let mut octets = b"AM2".to_vec();
    octets.push(opcode);
    octets.extend_from_slice(&sequence.to_be_bytes());
    octets.extend_from_slice(content);
    octets
}

fn str8(text: &str) -> Vec<u8> {
    [&[text.len() as u8], text.as_bytes()].concat()
}

fn ask(agent: &mut Agent, body: &[u8]) -> Vec<Work> {
    receive(agent, "broker", &properties(), body)
}

/// Takes the head of a frame off: its operation code and its number.
fn head(cursor: &mut Cursor<'_>) -> (char, u32) {
    assert_eq!(cursor.bytes(3).unwrap(), b"AM2");
    (cursor.u8().unwrap().into(), cursor.u32().unwrap())
}

fn completion(publication: &Publication) -> (u32, u32, Text) {
    let mut cursor = Cursor::new(&publication.body);
    let (opcode, sequence) = head(&mut cursor);
    assert_eq!(opcode, 'z');
    let read = (sequence, cursor.u32().unwrap(), cursor.str8().unwrap());
    cursor.finish().unwrap();
    read
}

const OK: Text = Text::const_new("OK");

fn object_frame(query: Map) -> Vec<u8> {
    frame(b'G', 5, &encoded(query))
}

fn find(agent: &mut Agent, query: Map) -> Find {
    match only(ask(agent, &object_frame(query))) {
        Work::Find(find) => find,
        other => panic!("no query: {other:?}"),
    }
}

fn class_query(class: &str) -> Map {
    [("_class", class)].into_iter().collect()
}

/// Lets a console see an object, and gives the number that it then knows it by.
fn number(agent: &mut Agent, object: &Object) -> ObjectId {
    let find = find(agent, class_query(object.class().name));
    let told = agent.found(&find, std::slice::from_ref(object), true);
    let mut cursor = Cursor::new(&told[0].body);
    assert_eq!(head(&mut cursor), ('g', 5));
    read_head(&mut cursor, object.class());
    ObjectId {
        first: cursor.u64().unwrap(),
        second: cursor.u64().unwrap(),
    }
}

/// Reads class and times of an object, up to what it is called.
fn read_head(cursor: &mut Cursor<'_>, class: &Class) -> [u64; 3] {
    assert_eq!(cursor.str8().unwrap(), class.package);
    assert_eq!(cursor.str8().unwrap(), class.name);
    assert_eq!(cursor.uuid().unwrap(), class.hash);
    [(); 3].map(|()| cursor.u64().unwrap())
}

fn method_frame(object: ObjectId, class: &str, method: &str, arguments: &[u8]) -> Vec<u8> {
    let content = [
        &object.first.to_be_bytes()[..],
        &object.second.to_be_bytes(),
        &str8("org.apache.qpid.broker"),
        &str8(class),
        &[0; 16],
        &str8(method),
        arguments,
    ];
    frame(b'M', 8, &content.concat())
}

fn call(agent: &mut Agent, body: &[u8]) -> Called {
    match only(ask(agent, body)) {
        Work::Call(called) => *called,
        other => panic!("no call: {other:?}"),
    }
}

fn response(publication: &Publication) -> (u32, Text, Vec<u8>) {
    assert_eq!(publication.exchange, "amq.direct");
    let mut cursor = Cursor::new(&publication.body);
    assert_eq!(head(&mut cursor), ('m', 8));
    let read = (cursor.u32().unwrap(), cursor.str16().unwrap());
    (read.0, read.1, cursor.rest().to_vec())
}

fn the_broker() -> Object {
    let values = broker::Broker {
        name: "amqp-broker".into(),
        ..broker::Broker::default()
    };
    Object::new(values.into_values(), Times::default())
}

#[test]
fn broker_request_is_answered_with_the_brokers_identity() {
    let told = only(published(ask(&mut agent(), &frame(b'B', 1, &[]))));
    assert_eq!(
        (&*told.exchange, &*told.routing_key),
        ("amq.direct", "reply")
    );
    assert_eq!(told.body, frame(b'b', 1, &BROKER));
}

#[test]
fn package_request_is_answered_with_every_package_and_a_completion() {
    let told = published(ask(&mut agent(), &frame(b'P', 2, &[])));
    let mut cursor = Cursor::new(&told[0].body);
    let mut packages = Vec::new();
    while !cursor.is_at_end() {
        assert_eq!(head(&mut cursor), ('p', 2));
        packages.push(cursor.str8().unwrap());
    }
    let expected: Vec<_> = PACKAGES.iter().map(|package| package.name).collect();
    assert_eq!(packages, expected);
    assert_eq!(completion(&told[1]), (2, 0, OK));
}

#[test]
fn class_request_is_answered_with_classes_and_events_and_a_completion() {
    let request = frame(b'Q', 3, &str8("org.apache.qpid.acl"));
    let told = published(ask(&mut agent(), &request));
    let mut cursor = Cursor::new(&told[0].body);
    let mut found = Vec::new();
    while !cursor.is_at_end() {
        assert_eq!(head(&mut cursor), ('q', 3));
        let kind = cursor.u8().unwrap();
        assert_eq!(cursor.str8().unwrap(), "org.apache.qpid.acl");
        found.push((kind, cursor.str8().unwrap(), cursor.uuid().unwrap()));
    }
    assert_eq!(found[0].0, 1);
    assert_eq!(found[0].1, "acl");
    assert!(
        found
            .iter()
            .any(|(kind, name, _)| *kind == 2 && name == "fileLoaded")
    );
    assert_eq!(completion(&told[1]), (3, 0, OK));
}

#[test]
fn class_request_for_no_package_is_completed() {
    let told = published(ask(&mut agent(), &frame(b'Q', 3, &str8("nothing"))));
    assert_eq!(completion(&only(told)), (3, 0, OK));
}

fn schema_frame(package: &str, name: &str, hash: &[u8; 16]) -> Vec<u8> {
    frame(b'S', 4, &[&str8(package)[..], &str8(name), hash].concat())
}

/// Reads a map and gives one of its texts and one of its numbers.
fn row(cursor: &mut Cursor<'_>, number: &str) -> (Text, i64) {
    let map = cursor.map().unwrap();
    let name = map.get("name").unwrap().as_str().unwrap().into();
    (name, map.get(number).unwrap().as_i64().unwrap())
}

#[test]
fn schema_request_is_answered_with_every_row_of_the_class() {
    let class = &broker::QUEUE;
    let request = schema_frame(class.package, class.name, &class.hash);
    let told = only(published(ask(&mut agent(), &request)));
    let mut cursor = Cursor::new(&told.body);
    assert_eq!(head(&mut cursor), ('s', 4));
    assert_eq!(cursor.u8().unwrap(), 1);
    assert_eq!(cursor.str8().unwrap(), class.package);
    assert_eq!(cursor.str8().unwrap(), class.name);
    assert_eq!(cursor.uuid().unwrap(), class.hash);
    let counts = [(); 3].map(|()| usize::from(cursor.u16().unwrap()));
    assert_eq!(counts, [7, 47, 2]);
    for property in class.properties {
        let map = cursor.map().unwrap();
        let number = |name| map.get(name).unwrap().as_i64().unwrap();
        assert_eq!(map.get("name").unwrap().as_str(), Some(property.name));
        assert_eq!(number("type"), i64::from(property.r#type.code()));
        assert_eq!(number("optional") != 0, property.is_optional);
        assert_eq!(number("index") != 0, property.is_index);
    }
    let statistics: Vec<_> = (0..47).map(|_| row(&mut cursor, "type")).collect();
    assert!(statistics.contains(&(Text::from("consumerCountLow"), Type::U32.code().into())));
    assert!(statistics.contains(&(Text::from("messageLatencySamples"), 9)));
    assert_eq!(row(&mut cursor, "argCount"), (Text::from("purge"), 2));
    assert_eq!(row(&mut cursor, "type"), (Text::from("request"), 3));
    let map = cursor.map().unwrap();
    assert_eq!(map.get("dir").unwrap().as_str(), Some("I"));
    assert_eq!(row(&mut cursor, "argCount"), (Text::from("reroute"), 4));
}

#[test]
fn schema_request_is_answered_where_the_asker_says_unlike_all_others() {
    let mut properties = properties();
    let reply_to = properties.reply_to.as_mut().unwrap();
    reply_to.exchange = Some("qmf.default.direct".into());
    let class = &broker::QUEUE;
    let schema = schema_frame(class.package, class.name, &class.hash);
    let body = [schema, frame(b'B', 1, &[])].concat();
    let told = published(receive(&mut agent(), "broker", &properties, &body));
    let exchanges: Vec<_> = told.iter().map(|p| p.exchange.as_str()).collect();
    assert_eq!(exchanges, ["qmf.default.direct", "amq.direct"]);
}

#[test]
fn schema_request_of_an_event_has_its_arguments() {
    let event = &broker::BIND_EVENT;
    let request = schema_frame(event.package, event.name, &event.hash);
    let told = only(published(ask(&mut agent(), &request)));
    let mut cursor = Cursor::new(&told.body);
    head(&mut cursor);
    assert_eq!(cursor.u8().unwrap(), 2);
    cursor.str8().unwrap();
    cursor.str8().unwrap();
    cursor.uuid().unwrap();
    let count = cursor.u16().unwrap();
    let names: Vec<_> = (0..count).map(|_| row(&mut cursor, "type").0).collect();
    assert_eq!(names, ["rhost", "user", "exName", "qName", "key", "args"]);
    cursor.finish().unwrap();
}

#[test]
fn schema_request_for_what_is_not_there_says_so() {
    let mut agent = agent();
    let mut told = |request: Vec<u8>| completion(&only(published(ask(&mut agent, &request))));
    let package = "org.apache.qpid.broker";
    let refused = |text| (4, 1, Text::from(text));
    assert_eq!(
        told(schema_frame("p", "queue", &[0; 16])),
        refused("Package not found")
    );
    assert_eq!(
        told(schema_frame(package, "queue", &[0; 16])),
        refused("Class key not found")
    );
}

#[test]
fn get_request_tells_properties_then_statistics_and_ends_with_a_completion() {
    let mut agent = agent();
    let find = find(&mut agent, class_query("queue"));
    assert_eq!(find.query.classes(), [&broker::QUEUE]);
    let told = agent.found(&find, &[queue("q")], true);
    let mut cursor = Cursor::new(&told[0].body);
    assert_eq!(head(&mut cursor), ('g', 5));
    assert_eq!(read_head(&mut cursor, &broker::QUEUE), [NOW, NOW - 5, 0]);
    let first = cursor.u64().unwrap();
    assert_eq!(first, 3 << 48 | 1 << 28, "epoch, and the broker's bank");
    assert_ne!(cursor.u64().unwrap(), 0);
    assert_eq!(
        cursor.u8().unwrap(),
        1,
        "the one optional property is there"
    );
    assert_eq!(cursor.u64().unwrap(), first);
    cursor.u64().unwrap();
    assert_eq!(cursor.str8().unwrap(), "q");
    let truths = [(); 3].map(|()| cursor.u8().unwrap());
    assert_eq!(truths, [1, 0, 0]);
    let arguments = cursor.map().unwrap();
    assert_eq!(arguments.get("qpid.max_count"), Some(&Value::U32(5)));
    cursor.uuid().unwrap();
    let statistics: Vec<u64> = (0..7).map(|_| cursor.u64().unwrap()).collect();
    assert_eq!(statistics[6], 12, "msgDepth");
    assert_eq!(completion(&told[1]), (5, 0, OK));
}

#[test]
fn get_request_an_absent_property_is_not_in_the_octets() {
    let mut agent = agent();
    let find = find(&mut agent, class_query("memory"));
    let memory = |malloc_keepcost| {
        let memory = broker::Memory {
            name: "amqp-broker".into(),
            malloc_arena: Some(7),
            malloc_keepcost,
            ..broker::Memory::default()
        };
        Object::new(memory.into_values(), Times::default())
    };
    let mut told = |object| {
        let told = agent.found(&find, &[object], true);
        let mut cursor = Cursor::new(&told[0].body);
        head(&mut cursor);
        read_head(&mut cursor, &broker::MEMORY);
        cursor.bytes(16).unwrap();
        let mask = cursor.u8().unwrap();
        cursor.str8().unwrap();
        let numbers = cursor.remaining() / 8;
        (
            mask,
            (0..numbers)
                .map(|_| cursor.u64().unwrap())
                .collect::<Vec<_>>(),
        )
    };
    assert_eq!(told(memory(None)), (0b0000001, vec![7]));
    assert_eq!(told(memory(Some(9))), (0b1000001, vec![7, 9]));
}

#[test]
fn get_request_by_number_finds_what_was_called_so() {
    let mut agent = agent();
    let id = number(&mut agent, &queue("q"));
    let by_number = |text: String| [("_objectid", text)].into_iter().collect::<Map>();
    let text = format!("0-3-1-0-{}", id.second);
    let found = find(&mut agent, by_number(text)).query;
    assert_eq!(found, Query::Object(ObjectName::queue("q")));
    let unknown = [
        "0-3-1-0-999",
        "0-2-1-0-1",
        "0-3-2-0-1",
        "nonsense",
        "0-3-1-0-1-1",
    ];
    for text in unknown {
        // It is looked for like what is there, so that nobody learns what is not by being told sooner.
        let told = match only(ask(&mut agent, &object_frame(by_number(text.to_owned())))) {
            Work::Find(find) => only(agent.found(&find, &[], true)),
            // No number can be called so.
            work => only(published(vec![work])),
        };
        assert_eq!(completion(&told), (5, 0, OK), "{text}");
    }
}

#[test]
fn objects_come_in_messages_that_consoles_can_read() {
    let mut agent = agent();
    let find = find(&mut agent, class_query("queue"));
    let objects: Vec<_> = (0..1000).map(|n| queue(&format!("q{n}"))).collect();
    let told = agent.found(&find, &objects, false);
    assert!(told.len() > 1);
    assert!(told.iter().all(|p| p.body.len() <= ANSWER_BYTES_MAX));
    let heads = told
        .iter()
        .map(|p| p.body.windows(4).filter(|w| w == b"AM2g").count());
    assert_eq!(heads.sum::<usize>(), 1000);
}

#[test]
fn method_request_has_the_schemas_arguments() {
    let mut agent = agent();
    let id = number(&mut agent, &queue("q"));
    let arguments = [&6u32.to_be_bytes()[..], &encoded(Map::new())].concat();
    let called = call(&mut agent, &method_frame(id, "queue", "purge", &arguments));
    assert_eq!(called.object, ObjectName::queue("q"));
    let purge = QueueMethod::Purge {
        request: 6,
        filter: Map::new(),
    };
    assert_eq!(called.call, Call::Queue(purge));
    let told = only(agent.called(&called, Ok(Vec::new())));
    assert_eq!(response(&told), (0, OK, Vec::new()));
    let fault = Fault::of(Status::Forbidden);
    let told = only(agent.called(&called, Err(fault)));
    assert_eq!(response(&told), (6, Text::from("Forbidden"), Vec::new()));
}

#[test]
fn method_response_has_the_answered_arguments_in_order() {
    let mut agent = agent();
    let id = number(&mut agent, &the_broker());
    let arguments = [&1u32.to_be_bytes()[..], &2u16.to_be_bytes(), b"hi"].concat();
    let called = call(&mut agent, &method_frame(id, "broker", "echo", &arguments));
    let echo = BrokerMethod::Echo {
        sequence: 1,
        body: "hi".into(),
    };
    assert_eq!(called.call, Call::Broker(echo));
    let answer = BrokerMethod::echo_answer(1, "hi".into());
    let told = only(agent.called(&called, Ok(answer)));
    assert_eq!(response(&told), (0, OK, arguments));
}

#[test]
fn method_request_that_names_nothing_or_makes_no_sense_is_refused() {
    let mut agent = agent();
    let id = number(&mut agent, &queue("q"));
    let mut told = |body: &[u8]| {
        let (code, text, _) = response(&only(published(ask(&mut agent, body))));
        (code, text)
    };
    let unknown = ObjectId {
        second: id.second + 1000,
        ..id
    };
    let refused = |code, text| (code, Text::from(text));
    let body = method_frame(unknown, "queue", "purge", &[]);
    assert_eq!(told(&body), refused(1, "UnknownObject"));
    let body = method_frame(id, "queue", "sing", &[]);
    assert_eq!(told(&body), refused(2, "UnknownMethod"));
    let body = method_frame(id, "broker", "shutdown", &[]);
    assert_eq!(told(&body), refused(4, "InvalidParameter"));
    let (code, text) = told(&method_frame(id, "queue", "purge", &[0, 0]));
    assert_eq!(code, 4);
    assert!(text.contains("uint32 runs past the end"), "{text}");
}

#[test]
fn several_frames_in_a_message_are_answered_each() {
    let body = [frame(b'B', 1, &[]), frame(b'P', 2, &[])].concat();
    let told = published(ask(&mut agent(), &body));
    assert_eq!(told.len(), 3);
    assert_eq!(completion(&told[2]), (2, 0, OK));
}

#[test]
fn frames_before_one_that_makes_no_sense_are_answered() {
    let damaged = [
        &b"AM3B\0\0\0\x02"[..],
        b"AM2!\0\0\0\x02",
        b"AM2S\0\0\0\x02\x09x",
        b"AM",
    ];
    for rest in damaged {
        let body = [&frame(b'B', 1, &[]), rest].concat();
        assert_eq!(published(ask(&mut agent(), &body)).len(), 1, "{rest:?}");
    }
}

#[test]
fn frames_in_one_message_are_bounded() {
    let body = frame(b'B', 1, &[]).repeat(REQUEST_FRAMES_MAX + 1);
    let told = published(ask(&mut agent(), &body));
    assert_eq!(told.len(), REQUEST_FRAMES_MAX);
}

#[test]
fn agents_of_version_1_are_told_that_they_are_not_served() {
    let content = [&str8("agent")[..], &[0; 24]].concat();
    let told = only(published(ask(&mut agent(), &frame(b'A', 6, &content))));
    let (sequence, code, _) = completion(&told);
    assert_eq!((sequence, code), (6, 5));
    let told = frame(b'p', 7, &str8("package"));
    assert!(ask(&mut agent(), &told).is_empty());
}

#[test]
fn heartbeats_events_and_data_go_to_the_topics_of_version_1() {
    let mut agent = agent();
    let mut told = agent.heartbeat(NOW);
    let event = broker::BrokerLinkUp {
        rhost: "a:1".into(),
    };
    told.extend(qmf1::event(&event.into_event(), NOW));
    told.extend(agent.data(&[queue("q")]));
    told.retain(|p| p.exchange == "qpid.management");
    let keys: Vec<_> = told.iter().map(|p| p.routing_key.as_str()).collect();
    let expected = [
        "console.heartbeat.1.0",
        "console.event.1.0.org.apache.qpid.broker.brokerLinkUp",
        "console.obj.1.0.org.apache.qpid.broker.queue",
    ];
    assert_eq!(keys, expected);
    assert_eq!(told[0].body, frame(b'h', 0, &NOW.to_be_bytes()));
    let mut cursor = Cursor::new(&told[1].body);
    assert_eq!(head(&mut cursor), ('e', 0));
    cursor.str8().unwrap();
    assert_eq!(cursor.str8().unwrap(), "brokerLinkUp");
    cursor.uuid().unwrap();
    assert_eq!((cursor.u64().unwrap(), cursor.u8().unwrap()), (NOW, 6));
    assert_eq!(cursor.str8().unwrap(), "a:1");
    cursor.finish().unwrap();
    let opcodes = told[2].body.windows(4).filter(|w| w.starts_with(b"AM2"));
    let opcodes: Vec<u8> = opcodes.map(|w| w[3]).collect();
    assert_eq!(opcodes, [b'c', b'i']);
}

#[test]
fn an_object_keeps_its_number_while_it_lives_and_another_of_its_name_gets_its_own() {
    let mut agent = agent();
    let first = number(&mut agent, &queue("q"));
    assert_ne!(number(&mut agent, &queue("r")), first);
    assert_eq!(number(&mut agent, &queue("q")), first);
    let mut gone = queue("q");
    gone.times.deleted = NOW;
    agent.data(&[gone]);
    assert_ne!(number(&mut agent, &queue("q")), first);
}

#[test]
fn numbers_are_bounded_and_the_oldest_is_forgotten() {
    let mut numbers = Numbers::bounded(1, 2);
    let names = ["a", "b", "c"].map(ObjectName::queue);
    let ids = [0, 1, 2].map(|index| numbers.id(&names[index]));
    assert_eq!(numbers.len(), 2);
    assert_eq!(numbers.name(ids[0]), None);
    assert_eq!(numbers.name(ids[1]).as_ref(), Some(&names[1]));
    assert_eq!(numbers.id(&names[2]), ids[2]);
    assert_ne!(numbers.id(&names[0]), ids[0]);
    assert_eq!(numbers.id(&ObjectName::default()), ObjectId::default());
}

#[test]
fn what_is_empty_of_a_type_is_of_that_type() {
    for package in PACKAGES {
        for class in package.classes {
            for property in class.properties {
                assert_eq!(Datum::empty(property.r#type).r#type(), property.r#type);
            }
        }
    }
}
