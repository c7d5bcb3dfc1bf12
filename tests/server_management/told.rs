//! What is told unasked, and to whom.

use ferrymq::client::{Delivery, Subscription};
use ferrymq::wire::{Command, ExchangeQuery, ExchangeQueryResult};

use crate::console::{declare, headers, list, listen, next, object_name, opcode, session};
use crate::server_support::Broker;

/// The next message in which an object of that name is.
async fn told_of(heard: &mut Subscription, name: &str) -> Vec<ferrymq::wire::Map> {
    loop {
        let told = next(heard).await;
        assert_eq!(opcode(&told), "_data_indication");
        let mut objects = list(&told.body_bytes());
        objects.retain(|object| object_name(object) == name);
        if !objects.is_empty() {
            return objects;
        }
    }
}

/// The next frame of QMF version 1 with that letter, which begins a message.
async fn frame_of(heard: &mut Subscription, letter: u8) -> Delivery {
    loop {
        let told = next(heard).await;
        let body = told.body_bytes();
        assert_eq!(&body[..3], b"AM2");
        if body[3] == letter {
            return told;
        }
    }
}

#[tokio::test]
async fn whoever_hears_of_a_class_is_told_of_its_objects_and_of_their_end() {
    let broker = Broker::start(&["--auth", "no", "--mgmt-pub-interval", "1"]);
    let (_client, session) = session(&broker).await;
    let key = "agent.ind.data.org_apache_qpid_broker.queue.#";
    let (_, mut heard) = listen(&session, "qmf.default.topic", key).await;
    declare(&session, "told").await;
    let name = "org.apache.qpid.broker:queue:told";
    let told = told_of(&mut heard, name).await;
    assert_eq!(
        told[0].get("_delete_ts").and_then(|at| at.as_u64()),
        Some(0)
    );
    let delete = ferrymq::wire::QueueDelete {
        queue: "told".into(),
        ..ferrymq::wire::QueueDelete::default()
    };
    let deleted = session.call(ferrymq::wire::Command::QueueDelete(delete));
    deleted.await.expect("it is there");
    loop {
        let told = told_of(&mut heard, name).await;
        if told[0].get("_delete_ts").and_then(|at| at.as_u64()) > Some(0) {
            break;
        }
    }
}

#[tokio::test]
async fn whoever_hears_of_events_and_heartbeats_only_is_told_no_objects() {
    let broker = Broker::start(&["--auth", "no", "--mgmt-pub-interval", "1"]);
    let (_client, session) = session(&broker).await;
    let (queue, mut heard) = listen(&session, "qmf.default.topic", "agent.ind.heartbeat.#").await;
    crate::console::bind(&session, "qmf.default.topic", &queue, "agent.ind.event.#").await;
    let mut heartbeats = 0;
    while heartbeats < 3 {
        let told = next(&mut heard).await;
        heartbeats += u32::from(opcode(&told) == "_agent_heartbeat_indication");
        let content = headers(&told);
        let content = content.get("qmf.content").and_then(|of| of.as_str());
        assert_ne!(content, Some("_data"));
    }
}

#[tokio::test]
async fn version_1_tells_heartbeats_and_objects_where_it_is_switched_on() {
    let options = [
        "--auth",
        "no",
        "--mgmt-pub-interval",
        "1",
        "--mgmt-qmf1",
        "yes",
    ];
    let broker = Broker::start(&options);
    let (_client, session) = session(&broker).await;
    let (_, mut heard) = listen(&session, "qpid.management", "console.heartbeat.#").await;
    frame_of(&mut heard, b'h').await;
    let key = "console.obj.1.0.org.apache.qpid.broker.exchange";
    let (_, mut heard) = listen(&session, "qpid.management", key).await;
    let told = frame_of(&mut heard, b'c').await;
    let body = told.body_bytes();
    assert!(body.windows(8).any(|octets| octets == b"exchange"));
    // Nothing changes, but one who begins to listen is told of all.
    let (_, mut heard) = listen(&session, "qpid.management", key).await;
    frame_of(&mut heard, b'c').await;
}

#[tokio::test]
async fn whoever_is_served_finds_the_exchanges_of_management() {
    for _ in 0..10 {
        let broker = Broker::start(&["--auth", "no"]);
        let (_client, session) = session(&broker).await;
        for exchange in ["qpid.management", "qmf.default.topic", "qmf.default.direct"] {
            let query = Command::ExchangeQuery(ExchangeQuery {
                name: Some(exchange.into()),
            });
            let found: ExchangeQueryResult = session.query(query).await.expect("an answer");
            assert!(!found.not_found, "{exchange}");
        }
    }
}
