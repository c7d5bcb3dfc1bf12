//! What an ACL file denies of management.

use std::fs;

use ferrymq::client::{Delivery, Message};
use ferrymq::wire::{Command, Cursor, Map, QueueQuery, QueueQueryResult, Value};

use crate::console::{Console, encoded, opcode};
use crate::durable_support::Directory;
use crate::server_support::Broker;

/// A broker with these rules for `anonymous`, who is everybody here.
fn broker(directory: &Directory, rules: &str) -> Broker {
    let file = directory.path().join("broker.acl");
    fs::write(&file, rules).expect("a file");
    let file = file.to_str().expect("text");
    Broker::start(&["--auth", "no", "--acl-file", file])
}

/// Calls a method of an object; gives what came.
pub async fn call(console: &mut Console, object: &str, method: &str, arguments: Map) -> Delivery {
    let mut id = Map::new();
    id.insert("_object_name", object);
    let mut body = Map::new();
    body.insert("_object_id", id);
    body.insert("_method_name", method);
    body.insert("_arguments", arguments);
    let request = console.message("_method_request", encoded(body));
    console.ask(&request).await;
    console.answer().await
}

fn map(delivery: &Delivery) -> Map {
    let body = delivery.body_bytes();
    Cursor::new(&body).map().expect("a map")
}

/// Code and text of an exception.
pub fn fault(delivery: &Delivery) -> (u64, String) {
    assert_eq!(opcode(delivery), "_exception");
    let body = map(delivery);
    let values = body.get("_values").and_then(Value::as_map).expect("values");
    let code = values.get("error_code").and_then(Value::as_u64);
    let text = values.get("error_text").and_then(Value::as_str);
    (code.expect("a code"), text.expect("a text").to_owned())
}

pub const BROKER: &str = "org.apache.qpid.broker:broker:amqp-broker";
const ACL: &str = "org.apache.qpid.acl:acl:org.apache.qpid.broker:broker:amqp-broker";

fn queue(name: &str) -> Map {
    [("type", "queue"), ("name", name)].into_iter().collect()
}

#[tokio::test]
async fn a_method_that_is_denied_is_forbidden() {
    let directory = Directory::new();
    let broker = broker(
        &directory,
        "acl deny all access method name=create\nacl allow all all\n",
    );
    let mut console = Console::open(&broker).await;
    let answer = call(&mut console, BROKER, "create", queue("q")).await;
    assert_eq!(fault(&answer), (6, "Forbidden".to_owned()));
    assert_eq!(console.named("org.apache.qpid.broker:queue:q").await, []);
}

#[tokio::test]
async fn a_queue_that_its_user_may_not_make_is_not_made_by_management() {
    let directory = Directory::new();
    let broker = broker(
        &directory,
        "acl deny all create queue name=q\nacl allow all all\n",
    );
    let mut console = Console::open(&broker).await;
    let answer = call(&mut console, BROKER, "create", queue("q")).await;
    let (code, text) = fault(&answer);
    assert_eq!(code, 7);
    assert!(
        text.contains("ACL denied queue create request from"),
        "{text}"
    );
    assert_eq!(console.named("org.apache.qpid.broker:queue:q").await, []);
}

#[tokio::test]
async fn a_query_that_is_denied_is_forbidden() {
    let directory = Directory::new();
    let rules = "acl deny all access query schemaclass=queue\nacl allow all all\n";
    let broker = broker(&directory, rules);
    let mut console = Console::open(&broker).await;
    let schema: Map = [("_class_name", "queue")].into_iter().collect();
    let mut query = Map::new();
    query.insert("_what", "OBJECT");
    query.insert("_schema_id", schema);
    let request = console.message("_query_request", encoded(query));
    console.ask(&request).await;
    assert_eq!(fault(&console.answer().await).0, 6);
    assert_eq!(console.objects("broker").await.len(), 1);
}

#[tokio::test]
async fn a_purge_that_is_denied_takes_nothing() {
    let directory = Directory::new();
    let broker = broker(&directory, "acl deny all purge queue\nacl allow all all\n");
    let mut console = Console::open(&broker).await;
    crate::console::declare(&console.session, "q").await;
    let object = "org.apache.qpid.broker:queue:q";
    let arguments: Map = [("request", Value::U32(0))].into_iter().collect();
    let answer = call(&mut console, object, "purge", arguments).await;
    let (code, text) = fault(&answer);
    assert_eq!(code, 7);
    assert!(
        text.contains("ACL denied queue purge request from"),
        "{text}"
    );
}

#[tokio::test]
async fn a_filter_of_a_type_that_nobody_knows_is_refused_and_takes_nothing() {
    let directory = Directory::new();
    let broker = broker(&directory, "acl allow all all\n");
    let mut console = Console::open(&broker).await;
    crate::console::declare(&console.session, "q").await;
    let message = Message::new("one").routing_key("q");
    let sent = console.session.publish("", &message).await;
    sent.expect("it is sent").await.expect("it is taken");
    let object = "org.apache.qpid.broker:queue:q";
    let parameters: Map = [("header_key", "k"), ("header_value", "v")]
        .into_iter()
        .collect();
    let filters: [Map; 3] = [
        [("filter_type", Value::from("header_match_regex"))]
            .into_iter()
            .collect(),
        [("filter_type", Value::from("header_match_str"))]
            .into_iter()
            .collect(),
        [
            ("filter_type", Value::U32(1)),
            ("filter_params", Value::Map(parameters)),
        ]
        .into_iter()
        .collect(),
    ];
    for filter in filters {
        let arguments: Map = [
            ("request", Value::U32(0)),
            ("filter", Value::Map(filter.clone())),
        ]
        .into_iter()
        .collect();
        let answer = call(&mut console, object, "purge", arguments).await;
        assert_eq!(fault(&answer).0, 4, "{filter:?}");
    }
    let query = Command::QueueQuery(QueueQuery { queue: "q".into() });
    let found: QueueQueryResult = console.session.query(query).await.expect("an answer");
    assert_eq!(found.message_count, 1);
}

#[tokio::test]
async fn the_rules_are_shown_and_looked_up() {
    let directory = Directory::new();
    let broker = broker(&directory, "acl deny all purge queue\nacl allow all all\n");
    let mut console = Console::open(&broker).await;
    let shown = console.objects("acl").await;
    let values = shown[0].get("_values").and_then(Value::as_map);
    let enforcing = values.and_then(|values| values.get("enforcingAcl")?.as_bool());
    assert_eq!(enforcing, Some(true));
    let arguments: Map = [
        ("userId", "anybody"),
        ("action", "purge"),
        ("object", "queue"),
        ("objectName", "q"),
    ]
    .into_iter()
    .collect();
    let answer = call(&mut console, ACL, "Lookup", arguments).await;
    assert_eq!(opcode(&answer), "_method_response");
    let body = map(&answer);
    let arguments = body.get("_arguments").and_then(Value::as_map);
    let result = arguments.and_then(|arguments| arguments.get("result")?.as_str());
    assert_eq!(result, Some("deny"));
}

#[tokio::test]
async fn rules_that_are_changed_are_read_again_when_management_says_so() {
    let directory = Directory::new();
    let broker = broker(&directory, "acl allow all all\n");
    let mut console = Console::open(&broker).await;
    let file = directory.path().join("broker.acl");
    fs::write(&file, "acl deny all create queue\nacl allow all all\n").expect("a file");
    let answer = call(&mut console, ACL, "reloadACLFile", Map::new()).await;
    assert_eq!(opcode(&answer), "_method_response");
    let answer = call(&mut console, BROKER, "create", queue("q")).await;
    assert_eq!(fault(&answer).0, 7);
}
