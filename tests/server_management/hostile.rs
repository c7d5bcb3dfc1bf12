//! Requests that make no sense, or too many.

use ferrymq::client::Message;
use ferrymq::wire::{Map, ReplyTo, Value};

use crate::console::{Console, encoded, listen, next, opcode, session};
use crate::server_support::Broker;

/// More than an agent is given at once.
const FLOOD: usize = 20_000;

/// Whether management answers, and messages pass.
async fn assert_serves(broker: &Broker) {
    let mut console = Console::open(broker).await;
    assert_eq!(console.objects("broker").await.len(), 1);
    let (_client, other) = session(broker).await;
    let (_, mut heard) = listen(&other, "amq.direct", "passes").await;
    let message = Message::new("body").routing_key("passes");
    other
        .publish("amq.direct", &message)
        .await
        .expect("a session");
    assert_eq!(next(&mut heard).await.body_bytes(), &b"body"[..]);
}

fn query() -> Map {
    let schema: Map = [("_class_name", "broker")].into_iter().collect();
    let mut query = Map::new();
    query.insert("_what", "OBJECT");
    query.insert("_schema_id", schema);
    query
}

#[tokio::test]
async fn a_request_that_is_cut_short_anywhere_is_refused_and_the_next_one_answered() {
    let broker = Broker::start(&["--auth", "no"]);
    let mut console = Console::open(&broker).await;
    let whole = encoded(query());
    for length in 0..whole.len() {
        let cut = console.message("_query_request", whole[..length].to_vec());
        console.ask(&cut).await;
        let answer = console.answer().await;
        assert_eq!(opcode(&answer), "_exception", "{length} octets");
    }
    assert_serves(&broker).await;
}

#[tokio::test]
async fn values_of_wrong_types_are_refused() {
    let broker = Broker::start(&["--auth", "no"]);
    let mut console = Console::open(&broker).await;
    let wrong = [Value::from(7_u64), Value::List(Vec::new()), Value::Void];
    for opcode_asked in ["_query_request", "_method_request"] {
        for value in &wrong {
            let mut body = Map::new();
            for name in ["_what", "_object_id", "_method_name", "_arguments"] {
                body.insert(name, value.clone());
            }
            console
                .ask(&console.message(opcode_asked, encoded(body)))
                .await;
            assert_eq!(opcode(&console.answer().await), "_exception");
        }
    }
    assert_serves(&broker).await;
}

#[tokio::test]
async fn unknown_opcodes_and_what_is_no_request_are_not_answered() {
    let broker = Broker::start(&["--auth", "no"]);
    let mut console = Console::open(&broker).await;
    for opcode in [
        "_nonsense",
        "",
        "_query_response",
        "_agent_heartbeat_indication",
    ] {
        let message = console.message(opcode, encoded(query()));
        console.ask(&message).await;
    }
    let mut silent = console.message("_query_request", encoded(query()));
    silent.properties.reply_to = None;
    console.ask(&silent).await;
    // Larger than a request may be.
    let huge = console.message("_query_request", vec![0; 200 * 1024]);
    console.ask(&huge).await;
    // What comes next is the answer to this.
    assert_eq!(console.objects("vhost").await.len(), 1);
    assert_serves(&broker).await;
}

#[tokio::test]
async fn an_answer_to_nowhere_is_gone_and_one_to_management_itself_is_no_request() {
    let broker = Broker::start(&["--auth", "no"]);
    let console = Console::open(&broker).await;
    let (_client, other) = session(&broker).await;
    // All that management is sent and says by way of its own exchanges that goes to queues.
    let (_, mut heard) = listen(&other, "qpid.management", "#").await;
    let ways = [
        ("no-such-exchange", "key"),
        ("", "no-such-queue"),
        ("qmf.default.direct", "broker"),
        ("qmf.default.topic", "console.request.agent_locate"),
        ("qpid.management", "broker"),
        ("qpid.management", "schema.package"),
    ];
    for (exchange, key) in ways {
        for opcode in ["_query_request", "_agent_locate_request"] {
            let mut message = console.message(opcode, encoded(query()));
            message.properties.reply_to = Some(ReplyTo {
                exchange: Some(exchange.into()),
                routing_key: Some(key.into()),
            });
            console.ask(&message).await;
        }
    }
    assert_serves(&broker).await;
    // One answer for each of the two requests came to its topic, and none led to another: behind them is
    // what is sent now.
    let last = Message::new("last").routing_key("for.others");
    let sent = console.session.publish("qpid.management", &last).await;
    sent.expect("it goes");
    let mut count = 0;
    while next(&mut heard).await.body_bytes() != b"last"[..] {
        count += 1;
    }
    assert!((1..=4).contains(&count), "{count} messages");
}

#[tokio::test]
async fn a_flood_of_requests_is_answered_or_ends_its_own_session_and_no_other() {
    let broker = Broker::start(&["--auth", "no"]);
    let flooding = Console::open(&broker).await;
    let message = flooding.message("_query_request", encoded(query()));
    for _ in 0..FLOOD {
        // The broker may have ended the session.
        if flooding
            .session
            .publish("qmf.default.direct", &message)
            .await
            .is_err()
        {
            break;
        }
    }
    let _ = flooding.session.sync().await;
    assert_serves(&broker).await;
}

#[tokio::test]
async fn many_frames_of_version_1_in_one_message_do_no_harm() {
    let broker = Broker::start(&["--auth", "no"]);
    let console = Console::open(&broker).await;
    let mut body = Vec::new();
    for letter in (b'A'..=b'Z').chain(b'a'..=b'z').cycle().take(5_000) {
        body.extend_from_slice(b"AM2");
        body.push(letter);
        body.extend_from_slice(&[0, 0, 0, 1]);
    }
    let mut message = console.message("", body);
    message.properties.app_id = None;
    console.ask(&message).await;
    assert_serves(&broker).await;
}
