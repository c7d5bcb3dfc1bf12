//! Exchanges, queues and bindings.

use std::time::{Duration, Instant};

use ferrymq::wire::{
    Command, ExchangeBound, ExchangeBoundResult, ExchangeDelete, ExchangeQuery,
    ExchangeQueryResult, ExchangeUnbind, Map, QueueDelete, Value,
};

use crate::durable_support::*;
use crate::server_support::PATIENCE;

/// Both ways for a broker to end.
const ENDS: [&str; 2] = ["KILL", "TERM"];

async fn has_exchange(session: &ferrymq::client::Session, name: &str) -> bool {
    let query = ExchangeQuery {
        name: Some(name.into()),
    };
    let answer = session.query(Command::ExchangeQuery(query)).await;
    let answer: ExchangeQueryResult = answer.expect("an answer");
    !answer.not_found
}

async fn is_bound(session: &ferrymq::client::Session, exchange: &str, queue: &str) -> bool {
    let bound = ExchangeBound {
        exchange: Some(exchange.into()),
        queue: queue.into(),
        ..ExchangeBound::default()
    };
    let answer = session.query(Command::ExchangeBound(bound)).await;
    let answer: ExchangeBoundResult = answer.expect("an answer");
    !(answer.exchange_not_found || answer.queue_not_found || answer.queue_not_matched)
}

/// QPID-6269, QPID-5835.
#[tokio::test]
async fn what_goes_by_itself_still_does_after_both_ends() {
    for end in ENDS {
        let directory = Directory::new();
        let mut broker = start(&directory, &[]);
        let first = session(&broker).await;
        let mut exchange = durable_exchange("news", "direct");
        exchange.auto_delete = true;
        call(&first, Command::ExchangeDeclare(exchange)).await;
        let mut queue = durable_queue("q");
        queue.auto_delete = true;
        let timeout = ("qpid.auto_delete_timeout", Value::U32(2));
        queue.arguments = Some([timeout].into_iter().collect());
        declare(&first, queue).await;
        call(&first, Command::ExchangeBind(binding("news", "q", "k"))).await;
        stop(&mut broker, end);

        let broker = start(&directory, &[]);
        let second = session(&broker).await;
        let found = query(&second, "q").await;
        assert!(found.durable && found.auto_delete, "{end}: {found:?}");
        assert!(is_bound(&second, "news", "q").await, "{end}");
        // Nobody subscribes, so it goes in its time, and the exchange with its last binding.
        let end = Instant::now() + PATIENCE;
        while !query(&second, "q").await.queue.is_empty() || has_exchange(&second, "news").await {
            assert!(Instant::now() < end, "they stay");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

#[tokio::test]
async fn durable_definitions_survive_both_ends() {
    for end in ENDS {
        let directory = Directory::new();
        let mut broker = start(&directory, &[]);
        let session = session(&broker).await;
        let mut alternate = durable_exchange("others", "fanout");
        alternate.arguments = Some([("owner", Value::Str16("me".into()))].into_iter().collect());
        call(&session, Command::ExchangeDeclare(alternate)).await;
        let mut topics = durable_exchange("topics", "topic");
        topics.alternate_exchange = Some("others".into());
        call(&session, Command::ExchangeDeclare(topics)).await;
        let mut queue = durable_queue("orders");
        queue.alternate_exchange = Some("others".into());
        let limits = [
            ("qpid.max_count", Value::U32(3)),
            ("qpid.flow_stop_count", Value::U32(0)),
        ];
        queue.arguments = Some(limits.into_iter().collect());
        declare(&session, queue).await;
        call(
            &session,
            Command::ExchangeBind(binding("topics", "orders", "a.#")),
        )
        .await;
        stop(&mut broker, end);

        let broker = start(&directory, &[]);
        let session = self::session(&broker).await;
        let found = query(&session, "orders").await;
        assert!(found.durable, "{end}: {found:?}");
        assert_eq!(found.alternate_exchange.as_deref(), Some("others"), "{end}");
        let arguments: Map = found.arguments.expect("it was declared with some");
        assert_eq!(arguments.get("qpid.max_count"), Some(&Value::U32(3)));
        assert!(has_exchange(&session, "others").await, "{end}");
        assert!(is_bound(&session, "topics", "orders").await, "{end}");
        // They are what they were, not only of the same name.
        let mut message = persistent("a.b.c", "by topic");
        let published = session.publish("topics", &message).await;
        published.expect("attached").await.expect("it is routed");
        message.delivery.routing_key = Some("b".into());
        let published = session.publish("topics", &message).await;
        published.expect("attached").await.expect("it goes nowhere");
        assert_eq!(
            browse(&session, "orders").await,
            [(b"by topic".to_vec(), false)],
            "{end}"
        );
        for number in 0..2 {
            let more = persistent("orders", format!("{number}"));
            let published = session.publish("", &more).await.expect("attached");
            published.await.expect("there is room");
        }
        let published = session.publish("", &persistent("orders", "4")).await;
        let refused = published.expect("attached").await;
        assert_eq!(
            refused.expect_err("it is full").code(),
            Some(506),
            "{end}: the limit is kept"
        );
    }
}

#[tokio::test]
async fn transient_definitions_do_not_survive() {
    for end in ENDS {
        let directory = Directory::new();
        let mut broker = start(&directory, &[]);
        let session = session(&broker).await;
        let mut exchange = durable_exchange("passing", "direct");
        exchange.durable = false;
        call(&session, Command::ExchangeDeclare(exchange)).await;
        let stays = durable_exchange("staying", "direct");
        call(&session, Command::ExchangeDeclare(stays)).await;
        let mut queue = durable_queue("short");
        queue.durable = false;
        declare(&session, queue).await;
        declare(&session, durable_queue("long")).await;
        for (exchange, queue) in [
            ("passing", "short"),
            ("passing", "long"),
            ("staying", "short"),
        ] {
            let bind = binding(exchange, queue, "k");
            call(&session, Command::ExchangeBind(bind)).await;
        }
        stop(&mut broker, end);

        let broker = start(&directory, &[]);
        let session = self::session(&broker).await;
        assert!(!has_exchange(&session, "passing").await, "{end}");
        assert!(has_exchange(&session, "staying").await, "{end}");
        assert_eq!(query(&session, "short").await.queue, "", "{end}");
        assert_eq!(query(&session, "long").await.queue, "long", "{end}");
        // No binding leads from what is gone to another of its name.
        let mut queue = durable_queue("short");
        queue.durable = false;
        declare(&session, queue).await;
        assert!(!is_bound(&session, "staying", "short").await, "{end}");
    }
}

#[tokio::test]
async fn what_was_deleted_or_unbound_stays_so() {
    let directory = Directory::new();
    let mut broker = start(&directory, &[]);
    let session = session(&broker).await;
    for name in ["one", "two"] {
        let exchange = durable_exchange(name, "direct");
        call(&session, Command::ExchangeDeclare(exchange)).await;
        declare(&session, durable_queue(name)).await;
        call(&session, Command::ExchangeBind(binding(name, name, "k"))).await;
    }
    publish_all(&session, "one", &bodies(0, 3)).await;
    let unbind = ExchangeUnbind {
        queue: "two".into(),
        exchange: "two".into(),
        binding_key: "k".into(),
    };
    call(&session, Command::ExchangeUnbind(unbind)).await;
    let delete = QueueDelete {
        queue: "one".into(),
        ..QueueDelete::default()
    };
    call(&session, Command::QueueDelete(delete)).await;
    let delete = ExchangeDelete {
        exchange: "one".into(),
        ..ExchangeDelete::default()
    };
    call(&session, Command::ExchangeDelete(delete)).await;
    stop(&mut broker, "KILL");

    let mut broker = start(&directory, &[]);
    let session = self::session(&broker).await;
    assert!(!has_exchange(&session, "one").await);
    assert_eq!(query(&session, "one").await.queue, "");
    assert!(has_exchange(&session, "two").await);
    assert!(!is_bound(&session, "two", "two").await);
    // A new queue of an old name is another queue: none of the old one's messages are in it.
    declare(&session, durable_queue("one")).await;
    assert_eq!(browse(&session, "one").await, []);
    publish_all(&session, "one", &bodies(7, 2)).await;
    stop(&mut broker, "KILL");

    let broker = start(&directory, &[]);
    let session = self::session(&broker).await;
    assert_eq!(browse(&session, "one").await, redelivered(&bodies(7, 2)));
}
