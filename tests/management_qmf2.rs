//! QMF version 2 through the agent: what consoles ask, what they are answered, what they are told.

mod management_support;

use ferrymq::broker::event::Event;
use ferrymq::broker::management::Requester;
use ferrymq::management::Agent;
use ferrymq::management::agent::{Called, Find, Work};
use ferrymq::qmf::broker::{self, BrokerMethod, QueueMethod};
use ferrymq::qmf::limits::{OBJECTS_PER_MESSAGE, REQUEST_BYTES_MAX};
use ferrymq::qmf::object::Times;
use ferrymq::qmf::{Call, Fault, Identity, Object, ObjectName, Query, Status, qmf2};
use ferrymq::wire::{Map, MessageProperties, Text, Value};
use management_support::*;

fn ask(agent: &mut Agent, opcode: &str, body: Map) -> Vec<Work> {
    receive(agent, "broker", &properties_2(opcode), &encoded(body))
}

fn object_id(name: &str) -> Map {
    [("_object_name", name)].into_iter().collect()
}

fn call_body(object: &str, method: &str, arguments: Map) -> Map {
    let mut map = Map::new();
    map.insert("_object_id", object_id(object));
    map.insert("_method_name", method);
    map.insert("_arguments", arguments);
    map
}

fn call(agent: &mut Agent, object: &str, method: &str, arguments: Map) -> Called {
    let body = call_body(object, method, arguments);
    match only(ask(agent, "_method_request", body)) {
        Work::Call(called) => *called,
        other => panic!("no call: {other:?}"),
    }
}

fn refused(agent: &mut Agent, opcode: &str, body: Map) -> (u64, String) {
    exception(&only(published(ask(agent, opcode, body))))
}

fn query(what: &str) -> Map {
    [("_what", what)].into_iter().collect()
}

fn class_query(class: &str) -> Map {
    let mut map = query("OBJECT");
    let schema_id: Map = [("_class_name", class)].into_iter().collect();
    map.insert("_schema_id", schema_id);
    map
}

fn find(agent: &mut Agent, body: Map) -> Find {
    match only(ask(agent, "_query_request", body)) {
        Work::Find(find) => find,
        other => panic!("no query: {other:?}"),
    }
}

const BROKER_NAME: &str = "org.apache.qpid.broker:broker:amqp-broker";

#[test]
fn method_request_arguments_are_those_of_the_schema() {
    let mut arguments = Map::new();
    arguments.insert("request", 3i64);
    arguments.insert("filter", Map::new());
    let called = call(
        &mut agent(),
        "org.apache.qpid.broker:queue:a:b",
        "purge",
        arguments,
    );
    assert_eq!(called.object, ObjectName::queue("a:b"));
    assert_eq!(called.method().name, "purge");
    let purge = QueueMethod::Purge {
        request: 3,
        filter: Map::new(),
    };
    assert_eq!(called.call, Call::Queue(purge));
}

#[test]
fn method_request_numbers_may_come_as_text_and_absent_arguments_are_empty() {
    let arguments = [("srcQueue", "a"), ("destQueue", "b"), ("qty", "12")];
    let arguments: Map = arguments.into_iter().collect();
    let called = call(&mut agent(), BROKER_NAME, "queueMoveMessages", arguments);
    let moved = BrokerMethod::QueueMoveMessages {
        src_queue: "a".into(),
        dest_queue: "b".into(),
        qty: 12,
        filter: Map::new(),
    };
    assert_eq!(called.call, Call::Broker(moved));
}

#[test]
fn method_request_an_absent_argument_is_its_default_if_it_has_one() {
    let link = "org.apache.qpid.broker:link:l";
    let called = call(&mut agent(), link, "bridge", Map::new());
    let Call::Link(broker::LinkMethod::Bridge { credit, sync, .. }) = called.call else {
        panic!("{:?}", called.call);
    };
    assert_eq!((credit, sync), (u32::MAX, 0));
}

#[test]
fn method_request_what_names_no_object_class_or_method_is_refused() {
    let mut agent = agent();
    let name = "org.apache.qpid.broker:nothing:x";
    let body = call_body(name, "purge", Map::new());
    let told = refused(&mut agent, "_method_request", body);
    assert_eq!(told, (1, format!("No object found with ID={name}")));
    let body = call_body(BROKER_NAME, "sing", Map::new());
    let told = refused(&mut agent, "_method_request", body);
    assert_eq!(told, (2, "UnknownMethod".to_owned()));
    let told = refused(&mut agent, "_method_request", query("OBJECT"));
    assert_eq!(told, (4, "InvalidParameter".to_owned()));
    let mut body = call_body(BROKER_NAME, "echo", Map::new());
    body.insert("_object_id", Map::new());
    let told = refused(&mut agent, "_method_request", body);
    assert_eq!(told, (7, "Required _object_name field missing.".to_owned()));
}

#[test]
fn method_request_an_argument_of_the_wrong_type_is_named() {
    let arguments: Map = [("sequence", "many")].into_iter().collect();
    let body = call_body(BROKER_NAME, "echo", arguments);
    let told = refused(&mut agent(), "_method_request", body);
    let text = "echo: argument sequence is not of its type".to_owned();
    assert_eq!(told, (4, text));
}

#[test]
fn method_response_holds_the_answered_arguments_and_what_the_asker_knows_it_by() {
    let mut agent = agent();
    let arguments: Map = [("body", "hello")].into_iter().collect();
    let called = call(&mut agent, BROKER_NAME, "echo", arguments);
    let answer = BrokerMethod::echo_answer(9, Text::from("hello"));
    let told = only(agent.called(&called, Ok(answer)));
    assert_eq!(
        (&*told.exchange, &*told.routing_key),
        ("amq.direct", "reply")
    );
    assert_eq!(told.properties.correlation_id.as_deref(), Some(&b"7"[..]));
    assert_eq!(told.properties.app_id.as_deref(), Some(&b"qmf2"[..]));
    let opcode = header(&told, "qmf.opcode").unwrap();
    assert_eq!(opcode.as_str(), Some("_method_response"));
    assert_eq!(header(&told, "qmf.agent").unwrap().as_str(), Some("broker"));
    let body = body(&told);
    assert_eq!(at(&body, &["_arguments", "sequence"]), &Value::U32(9));
    assert_eq!(text_at(&body, &["_arguments", "body"]), "hello");
}

#[test]
fn method_response_of_a_method_that_answers_nothing_has_an_empty_map() {
    let mut agent = agent();
    let called = call(&mut agent, BROKER_NAME, "shutdown", Map::new());
    let told = only(agent.called(&called, Ok(Vec::new())));
    assert_eq!(at(&body(&told), &["_arguments"]), &Value::Map(Map::new()));
}

#[test]
fn method_response_an_answer_that_is_not_the_schemas_is_an_exception() {
    let mut agent = agent();
    let called = call(&mut agent, BROKER_NAME, "echo", Map::new());
    let told = only(agent.called(&called, Ok(Vec::new())));
    assert_eq!(exception(&told).0, 7);
}

#[test]
fn exception_has_code_and_text_of_what_went_wrong() {
    let mut agent = agent();
    let called = call(
        &mut agent,
        "org.apache.qpid.broker:queue:q",
        "purge",
        Map::new(),
    );
    let fault = called.unknown_object();
    let told = only(agent.called(&called, Err(fault)));
    let text = "No object found with ID=org.apache.qpid.broker:queue:q".to_owned();
    assert_eq!(exception(&told), (1, text));
    let fault = Fault::new(Status::User(4), "own");
    let told = only(agent.called(&called, Err(fault)));
    assert_eq!(exception(&told), (0x1_0004, "own".to_owned()));
}

#[test]
fn query_request_by_class_and_by_object() {
    let mut agent = agent();
    let class = find(&mut agent, class_query("queue")).query;
    assert_eq!(class.classes(), [&broker::QUEUE]);
    let mut body = query("OBJECT");
    body.insert("_object_id", object_id("org.apache.qpid.broker:queue:q"));
    let object = find(&mut agent, body).query;
    assert_eq!(object, Query::Object(ObjectName::queue("q")));
    let nothing = find(&mut agent, class_query("no-such-class")).query;
    assert!(nothing.classes().is_empty());
}

#[test]
fn query_request_for_other_things_than_objects_is_an_exception() {
    let mut agent = agent();
    let told = refused(&mut agent, "_query_request", query("SCHEMA_ID"));
    let text = "Query for _what => 'SCHEMA_ID' not supported".to_owned();
    assert_eq!(told, (1, text));
    let told = refused(&mut agent, "_query_request", Map::new());
    assert_eq!(told, (1, "_what element missing in Query".to_owned()));
    let mut body = Map::new();
    body.insert("_what", 5u8);
    let told = refused(&mut agent, "_query_request", body);
    assert_eq!(told, (1, "_what element is not a string".to_owned()));
}

#[test]
fn query_response_tells_of_an_object_by_name_class_times_and_values() {
    let mut agent = agent();
    let find = find(&mut agent, class_query("queue"));
    let told = only(agent.found(&find, &[queue("q")], true));
    assert_eq!(
        header(&told, "qmf.content").unwrap().as_str(),
        Some("_data")
    );
    assert_eq!(header(&told, "partial"), None);
    let list = body(&told);
    let element = &list.as_items().unwrap()[0];
    let name = text_at(element, &["_object_id", "_object_name"]);
    assert_eq!(name, "org.apache.qpid.broker:queue:q");
    let epoch = at(element, &["_object_id", "_agent_epoch"]);
    assert_eq!(epoch.as_u64(), Some(3));
    let package = text_at(element, &["_schema_id", "_package_name"]);
    assert_eq!(package, "org.apache.qpid.broker");
    assert_eq!(text_at(element, &["_schema_id", "_class_name"]), "queue");
    assert_eq!(
        at(element, &["_schema_id", "_hash"]),
        &Value::Uuid(broker::QUEUE.hash)
    );
    assert_eq!(at(element, &["_create_ts"]), &Value::U64(NOW - 5));
    assert_eq!(at(element, &["_delete_ts"]), &Value::U64(0));
    let vhost = text_at(element, &["_values", "vhostRef", "_object_name"]);
    let expected = "org.apache.qpid.broker:vhost:org.apache.qpid.broker:broker:amqp-broker,/";
    assert_eq!(vhost, expected);
    assert_eq!(at(element, &["_values", "durable"]), &Value::Bool(true));
    assert_eq!(at(element, &["_values", "msgDepth"]), &Value::U64(12));
    for name in ["consumerCount", "consumerCountHigh", "consumerCountLow"] {
        assert_eq!(at(element, &["_values", name]), &Value::U32(4));
    }
    for name in ["messageLatencyCount", "messageLatencyAvg"] {
        assert_eq!(at(element, &["_values", name]), &Value::U64(0));
    }
    let count = at(element, &["_values", "arguments", "qpid.max_count"]);
    assert_eq!(count, &Value::U32(5));
}

#[test]
fn query_response_text_goes_out_as_octets_as_python_2_wants_it() {
    let mut agent = agent();
    let find = find(&mut agent, class_query("queue"));
    let told = only(agent.found(&find, &[queue("q")], true));
    let list = body(&told);
    let name = at(&list.as_items().unwrap()[0], &["_values", "name"]);
    assert_eq!(name, &Value::Vbin16(b"q".to_vec()));
}

#[test]
fn query_response_an_absent_property_is_left_out() {
    let mut agent = agent();
    let find = find(&mut agent, class_query("queue"));
    let plain = broker::Queue {
        name: "q".into(),
        ..broker::Queue::default()
    };
    let plain = Object::new(plain.into_values(), Times::default());
    let told = only(agent.found(&find, &[plain], true));
    let list = body(&told);
    let values = at(&list.as_items().unwrap()[0], &["_values"]);
    assert!(!values.as_map().unwrap().contains("altExchange"));
}

#[test]
fn query_response_all_messages_but_the_last_are_partial_and_none_is_large() {
    let mut agent = agent();
    let find = find(&mut agent, class_query("queue"));
    let all: Vec<Object> = (0..2 * OBJECTS_PER_MESSAGE + 1)
        .map(|n| queue(&n.to_string()))
        .collect();
    let told = agent.found(&find, &all, true);
    let is_partial = |index: usize| header(&told[index], "partial").is_some();
    assert_eq!(
        [is_partial(0), is_partial(1), is_partial(2)],
        [true, true, false]
    );
    let counts: Vec<usize> = told
        .iter()
        .map(|p| body(p).as_items().unwrap().len())
        .collect();
    assert_eq!(counts, [OBJECTS_PER_MESSAGE, OBJECTS_PER_MESSAGE, 1]);
    let piece = agent.found(&find, &all[..1], false);
    assert!(header(&only(piece), "partial").is_some());
    assert!(agent.found(&find, &[], false).is_empty());
}

#[test]
fn query_response_nothing_found_is_an_empty_list() {
    let mut agent = agent();
    let find = find(&mut agent, class_query("queue"));
    let told = only(agent.found(&find, &[], true));
    assert_eq!(body(&told), Value::List(Vec::new()));
    assert_eq!(header(&told, "partial"), None);
}

#[test]
fn agent_locate_is_answered_by_name_with_what_heartbeats_say() {
    let mut agent = agent();
    let properties = properties_2("_agent_locate_request");
    let work = receive(&mut agent, "console.request.agent_locate", &properties, &[]);
    let told = only(published(work));
    assert_eq!(header(&told, "qmf.agent").unwrap().as_str(), Some(NAME));
    let body = body(&told);
    assert_eq!(text_at(&body, &["_values", "_vendor"]), "apache.org");
    assert_eq!(text_at(&body, &["_values", "_product"]), "qpidd");
    assert_eq!(text_at(&body, &["_values", "_name"]), NAME);
    assert_eq!(at(&body, &["_values", "_timestamp"]), &Value::U64(NOW));
    assert_eq!(at(&body, &["_values", "_epoch"]).as_u64(), Some(3));
}

#[test]
fn a_console_that_asks_who_is_there_or_binds_to_objects_is_new() {
    let mut agent = agent();
    assert!(!agent.take_is_new_heard());
    let properties = properties_2("_agent_locate_request");
    receive(&mut agent, "console.request.agent_locate", &properties, &[]);
    assert!(agent.take_is_new_heard());
    assert!(!agent.take_is_new_heard());
    let bind = |exchange: &str, key: &str| Event::Bind {
        requester: Requester::default(),
        exchange: exchange.into(),
        queue: "q".into(),
        key: key.into(),
        arguments: Map::new(),
    };
    let of_objects = [
        ("qpid.management", "console.obj.1.0.#"),
        ("qpid.management", "#"),
    ];
    let others = [("qpid.management", "schema.#"), ("amq.topic", "#")];
    for (expected, bindings) in [(true, of_objects), (false, others)] {
        for (exchange, key) in bindings {
            agent.hear(&bind(exchange, key));
            assert_eq!(agent.take_is_new_heard(), expected, "{exchange} {key}");
        }
    }
}

#[test]
fn requests_to_the_agents_own_name_are_answered_by_that_name() {
    let mut agent = agent();
    let body = encoded(query("SCHEMA"));
    let work = receive(&mut agent, NAME, &properties_2("_query_request"), &body);
    let told = only(published(work));
    assert_eq!(header(&told, "qmf.agent").unwrap().as_str(), Some(NAME));
}

#[test]
fn what_cannot_be_answered_or_is_no_request_is_passed_over() {
    let mut agent = agent();
    let body = encoded(class_query("queue"));
    let without = MessageProperties {
        reply_to: None,
        ..properties_2("_query_request")
    };
    assert!(receive(&mut agent, "broker", &without, &body).is_empty());
    let answer = properties_2("_query_response");
    assert!(receive(&mut agent, "broker", &answer, &body).is_empty());
    let large = vec![0; REQUEST_BYTES_MAX + 1];
    let request = properties_2("_query_request");
    assert!(receive(&mut agent, "broker", &request, &large).is_empty());
}

#[test]
fn a_body_that_is_no_map_is_an_exception_that_says_where() {
    let mut agent = agent();
    let request = properties_2("_query_request");
    let work = receive(&mut agent, "broker", &request, &[0, 0, 0, 9, 1]);
    let (code, text) = exception(&only(published(work)));
    assert_eq!(code, 4);
    assert!(
        text.contains("qmf2.request") && text.contains("offset"),
        "{text}"
    );
}

#[test]
fn heartbeat_goes_to_the_topic_by_vendor_product_and_instance_and_does_not_stay() {
    let told = agent().heartbeat(NOW);
    let told = told
        .iter()
        .find(|p| p.exchange == "qmf.default.topic")
        .unwrap();
    let key = "agent.ind.heartbeat.apache_org.qpidd.12345678-9abc-def0-0102-030405060708";
    assert_eq!(told.routing_key, key);
    assert_eq!(told.ttl, Some(20_000));
    let opcode = header(told, "qmf.opcode").unwrap();
    assert_eq!(opcode.as_str(), Some("_agent_heartbeat_indication"));
    let interval = at(&body(told), &["_values", "_heartbeat_interval"]).as_u64();
    assert_eq!(interval, Some(10));
}

#[test]
fn event_goes_to_the_topic_by_package_name_and_severity() {
    let event = broker::QueueDelete {
        rhost: "h".into(),
        user: "u".into(),
        q_name: "q".into(),
    };
    let identity = Identity::new(BROKER, 3);
    let told = &qmf2::event(identity.called(), &event.into_event(), NOW);
    assert_eq!(told.exchange, "qmf.default.topic");
    let key = "agent.ind.event.org_apache_qpid_broker.queueDelete.info.apache_org.qpidd.\
               12345678-9abc-def0-0102-030405060708";
    assert_eq!(told.routing_key, key);
    assert_eq!(
        header(told, "qmf.content").unwrap().as_str(),
        Some("_event")
    );
    let list = body(told);
    let element = &list.as_items().unwrap()[0];
    assert_eq!(text_at(element, &["_schema_id", "_type"]), "_event");
    assert_eq!(text_at(element, &["_values", "qName"]), "q");
    assert_eq!(at(element, &["_severity"]), &Value::U8(6));
    assert_eq!(at(element, &["_timestamp"]), &Value::U64(NOW));
}

#[test]
fn data_goes_to_the_topic_of_its_class_in_messages_of_one_class() {
    let mut agent = agent();
    let system = broker::System::default().into_values();
    let objects = [
        queue("a"),
        queue("b"),
        Object::new(system, Times::default()),
    ];
    let told = agent.data(&objects);
    let keys: Vec<_> = told
        .iter()
        .filter(|p| p.exchange == "qmf.default.topic")
        .map(|p| (p.routing_key.as_str(), body(p).as_items().unwrap().len()))
        .collect();
    let instance = "apache_org.qpidd.12345678-9abc-def0-0102-030405060708";
    let key = |class: &str| format!("agent.ind.data.org_apache_qpid_broker.{class}.{instance}");
    assert_eq!(keys, [(&*key("queue"), 2), (&*key("system"), 1)]);
}

#[test]
fn an_objects_name_is_made_of_its_index_properties_without_the_virtual_host() {
    let binding = broker::Binding {
        exchange_ref: ObjectName::exchange("amq.topic"),
        queue_ref: ObjectName::queue("q"),
        binding_key: "a.#".into(),
        ..broker::Binding::default()
    };
    let object = Object::new(binding.into_values(), Times::default());
    let name = "org.apache.qpid.broker:binding:org.apache.qpid.broker:exchange:amq.topic,\
                org.apache.qpid.broker:queue:q,a.#";
    assert_eq!(object.name.as_str(), name);
    assert_eq!(object.name.class(), Some(&broker::BINDING));
    let system = broker::System {
        system_id: BROKER,
        ..broker::System::default()
    };
    let object = Object::new(system.into_values(), Times::default());
    assert_eq!(object.name.key(), "12345678-9abc-def0-0102-030405060708");
}
