//! Last value queues.

use super::broker::{Broker, Session, ids, message_with, message_with_headers};
use super::{browsed, publish_with, taken, text};
use ferrymq::broker::Command;
use ferrymq::wire::Value;

/// A session with a last value queue `q` whose keys are in the header `k`.
fn keyed(broker: &Broker) -> Session {
    let session = broker.session("a");
    session.declare_kind("q", &[("qpid.last_value_queue_key", text("k"))]);
    session
}

fn put(session: &Session, key: &str, body: &str) {
    publish_with(session, "q", body, ("k", key));
}

#[test]
fn later_message_takes_the_place_of_the_one_with_its_key() {
    let session = keyed(&Broker::new());
    for (key, body) in [
        ("a", "a1"),
        ("b", "b1"),
        ("b", "b2"),
        ("c", "c1"),
        ("a", "a2"),
    ] {
        put(&session, key, body);
    }
    assert_eq!(browsed(&session, "q"), ["b2", "c1", "a2"]);
    assert_eq!(session.count("q"), 3);
}

#[test]
fn older_arguments_take_their_key_from_a_header_of_their_own() {
    for name in ["qpid.last_value_queue", "qpid.last_value_queue_no_browse"] {
        let session = Broker::new().session("a");
        session.declare_kind("q", &[(name, Value::U32(1))]);
        for body in ["one", "two"] {
            publish_with(&session, "q", body, ("qpid.LVQ_key", "same"));
        }
        assert_eq!(browsed(&session, "q"), ["two"]);
    }
}

#[test]
fn messages_without_the_header_share_the_empty_key() {
    let session = keyed(&Broker::new());
    session.publish("q", "one");
    put(&session, "", "two");
    session.publish("q", "three");
    put(&session, "a", "a1");
    assert_eq!(browsed(&session, "q"), ["three", "a1"]);
}

#[test]
fn key_may_be_a_number() {
    let session = keyed(&Broker::new());
    for (number, body) in [(1, "one"), (2, "two"), (1, "one again")] {
        let message = message_with_headers("q", body, &[("k", Value::U32(number))]);
        session.publish_message("", message);
    }
    assert_eq!(browsed(&session, "q"), ["two", "one again"]);
}

#[test]
fn browser_sees_a_message_again_when_a_later_one_took_its_place() {
    let session = keyed(&Broker::new());
    put(&session, "a", "a1");
    session.browse("q", "d");
    session.flow("d", 10);
    assert_eq!(session.received(), ["a1"]);
    put(&session, "a", "a2");
    put(&session, "b", "b1");
    assert_eq!(session.received(), ["a2", "b1"]);
}

#[test]
fn message_that_is_acquired_is_replaced_and_its_accept_does_nothing() {
    let session = keyed(&Broker::new());
    put(&session, "a", "a1");
    session.subscribe("q", "d");
    session.flow("d", 1);
    assert_eq!(session.received(), ["a1"]);
    put(&session, "a", "a2");
    session.accept(ids([0]));
    assert_eq!(browsed(&session, "q"), ["a2"]);
}

#[test]
fn message_that_is_released_after_it_was_replaced_does_not_come_back() {
    let session = keyed(&Broker::new());
    put(&session, "a", "a1");
    session.subscribe("q", "d");
    session.flow("d", 1);
    session.told();
    put(&session, "a", "a2");
    session.release(ids([0]));
    assert_eq!(taken(&session, "q"), ["a2"]);
}

#[test]
fn key_whose_message_was_taken_is_free() {
    let session = keyed(&Broker::new());
    put(&session, "a", "a1");
    assert_eq!(taken(&session, "q"), ["a1"]);
    put(&session, "a", "a2");
    assert_eq!(taken(&session, "q"), ["a2"]);
}

#[test]
fn key_whose_message_has_expired_is_free_and_a_fresh_value_stays() {
    let broker = Broker::new();
    let session = keyed(&broker);
    let put_for = |key: &str, body: &str, ttl: u64| {
        let short = message_with("q", body, |delivery| delivery.ttl = Some(ttl));
        let draft = short.with_headers(&[("k", text(key))]);
        session.publish_message("", draft);
    };
    put_for("k1", "old", 60_000);
    put_for("k2", "short", 100);
    put_for("k1", "new", 6_000_000);
    broker.pass(600_000);
    broker.sequencer(Command::Tick);
    assert_eq!(browsed(&session, "q"), ["new"]);
    put(&session, "k2", "again");
    put(&session, "k1", "newest");
    assert_eq!(browsed(&session, "q"), ["again", "newest"]);
}

#[test]
fn purge_frees_the_keys_of_what_it_takes_and_of_nothing_else() {
    let session = keyed(&Broker::new());
    put(&session, "a", "a1");
    session.subscribe("q", "d");
    session.flow("d", 1);
    put(&session, "b", "b1");
    session.purge("q");
    put(&session, "b", "b2");
    assert_eq!(browsed(&session, "q"), ["b2"]);
    put(&session, "a", "a2");
    session.release(ids([0]));
    assert_eq!(browsed(&session, "q"), ["b2", "a2"]);
}

#[test]
fn ring_of_last_values_drops_the_oldest_and_has_one_of_each_key() {
    let session = Broker::new().session("a");
    let ring = [
        ("qpid.last_value_queue_key", text("k")),
        ("qpid.policy_type", text("ring")),
        ("qpid.max_count", Value::U32(3)),
    ];
    session.declare_kind("q", &ring);
    for (key, body) in [
        ("a", "a1"),
        ("b", "b1"),
        ("c", "c1"),
        ("a", "a2"),
        ("d", "d1"),
    ] {
        put(&session, key, body);
        assert!(session.count("q") <= 3);
    }
    assert_eq!(browsed(&session, "q"), ["c1", "a2", "d1"]);
}
