//! Whichever member is asked, management sees one broker.

use ferrymq::wire::{Map, Value};

use super::console::Console;
use super::faults::kill;
use super::members::Members;
use crate::durable_support::{declare, durable_queue, session};
use crate::server_support::Broker;

/// How a member names a queue, in whole.
async fn named(broker: &Broker, queue: &str) -> Map {
    let mut console = Console::open(broker).await;
    let name = format!("org.apache.qpid.broker:queue:{queue}");
    let found = console.named(&name).await;
    let [object] = &found[..] else {
        panic!("{found:?}");
    };
    match object.get("_object_id") {
        Some(Value::Map(id)) => id.clone(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn objects_are_called_the_same_by_all_members_however_often_one_has_started() {
    let members = Members::new(3, &[]);
    let mut brokers = members.start_all();
    let client = session(&brokers[0]).await;
    declare(&client, durable_queue("q")).await;
    let before = named(&brokers[0], "q").await;
    for _ in 0..2 {
        kill(&mut brokers[2]);
        brokers[2] = members.start(2);
    }
    for broker in &brokers {
        assert_eq!(named(broker, "q").await, before);
    }
}
