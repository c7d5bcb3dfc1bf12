//! Message groups: what of a group is acquired is one consumer's.

use super::broker::{Broker, Session, ids, message_with, range};
use super::{browsed, publish_with, text};
use ferrymq::broker::Command;
use ferrymq::wire::Value;

fn grouped(broker: &Broker) -> Session {
    let session = broker.session("publisher");
    let arguments = [
        ("qpid.group_header_key", text("g")),
        ("qpid.shared_msg_group", Value::U32(1)),
    ];
    session.declare_kind("q", &arguments);
    session
}

/// Publishes messages whose bodies begin with their group's letter.
fn publish_all(session: &Session, bodies: &[&str]) {
    for body in bodies {
        publish_with(session, "q", body, ("g", &body[..1]));
    }
}

/// A consumer of `q` that has asked for so many messages.
fn consumer(broker: &Broker, name: &str, credit: u32) -> Session {
    let session = broker.session(name);
    session.subscribe("q", "d");
    session.set_mode("d", ferrymq::wire::FlowMode::CREDIT);
    session.flow("d", credit);
    session
}

/// Another consumer of `q`, of messages that a selector wants.
fn selecting(broker: &Broker, selector: &str) -> Session {
    let session = broker.session("other");
    session.subscribe_with("q", "d", |subscribe| {
        let arguments = [("x-apache-selector", text(selector))];
        subscribe.arguments = Some(arguments.into_iter().collect());
    });
    session.flow("d", 9);
    session
}

#[test]
fn group_of_which_a_consumer_has_messages_is_its_own() {
    let broker = Broker::new();
    let session = grouped(&broker);
    publish_all(&session, &["a1", "a2", "b1", "a3", "b2"]);
    let one = consumer(&broker, "one", 1);
    let other = consumer(&broker, "other", 9);
    assert_eq!(one.received(), ["a1"]);
    assert_eq!(other.received(), ["b1", "b2"]);
    one.flow("d", 9);
    assert_eq!(one.received(), ["a2", "a3"]);
}

#[test]
fn group_is_nobodys_when_all_that_was_acquired_is_accepted() {
    let broker = Broker::new();
    let session = grouped(&broker);
    publish_all(&session, &["a1", "a2", "a3"]);
    let one = consumer(&broker, "one", 2);
    let other = consumer(&broker, "other", 9);
    assert_eq!(one.received(), ["a1", "a2"]);
    one.accept(ids([0]));
    assert_eq!(other.received(), Vec::<String>::new());
    one.accept(ids([1]));
    assert_eq!(other.received(), ["a3"]);
}

#[test]
fn group_is_nobodys_when_all_that_was_acquired_is_released() {
    let broker = Broker::new();
    let session = grouped(&broker);
    publish_all(&session, &["a1", "b1", "a2"]);
    let one = consumer(&broker, "one", 2);
    let other = consumer(&broker, "other", 0);
    assert_eq!(one.received(), ["a1", "b1"]);
    one.release(ids([0]));
    other.flow("d", 9);
    assert_eq!(other.received(), ["a1", "a2"]);
    one.release(ids([1]));
    assert_eq!(other.received(), ["b1"]);
}

#[test]
fn group_is_nobodys_when_all_that_was_acquired_is_rejected() {
    let broker = Broker::new();
    let session = grouped(&broker);
    publish_all(&session, &["a1", "a2"]);
    let one = consumer(&broker, "one", 1);
    let other = consumer(&broker, "other", 9);
    one.reject(ids([0]));
    assert_eq!(other.received(), ["a2"]);
}

#[test]
fn group_outlives_its_subscription_until_what_it_acquired_is_settled() {
    let broker = Broker::new();
    let session = grouped(&broker);
    publish_all(&session, &["a1", "a2"]);
    let one = consumer(&broker, "one", 1);
    one.cancel("d");
    let other = consumer(&broker, "other", 9);
    assert_eq!(other.received(), Vec::<String>::new());
    one.accept(ids([0]));
    assert_eq!(other.received(), ["a2"]);
}

#[test]
fn end_of_a_session_gives_its_groups_back_in_order() {
    let broker = Broker::new();
    let session = grouped(&broker);
    publish_all(&session, &["a1", "b1", "a2", "b2"]);
    let one = consumer(&broker, "one", 2);
    let other = consumer(&broker, "other", 9);
    assert_eq!(other.received(), Vec::<String>::new());
    one.detach();
    assert_eq!(other.received(), ["a1*", "b1*", "a2", "b2"]);
}

#[test]
fn message_without_a_group_is_of_the_default_group() {
    let broker = Broker::new();
    let session = grouped(&broker);
    session.publish("q", "none 1");
    publish_with(&session, "q", "none 2", ("g", ""));
    publish_with(&session, "q", "named", ("g", "qpid.no-group"));
    publish_all(&session, &["a1"]);
    let one = consumer(&broker, "one", 1);
    let other = consumer(&broker, "other", 9);
    assert_eq!(one.received(), ["none 1"]);
    assert_eq!(other.received(), ["a1"]);
}

#[test]
fn browser_sees_all_groups_and_acquires_of_open_ones_alone() {
    let broker = Broker::new();
    let session = grouped(&broker);
    publish_all(&session, &["a1", "a2", "b1"]);
    let one = consumer(&broker, "one", 1);
    let browser = broker.session("browser");
    browser.browse("q", "d");
    browser.flow("d", 9);
    assert_eq!(browser.received(), ["a2", "b1"]);
    assert_eq!(browser.acquire(range(0, 1)), ids([1]));
    one.accept(ids([0]));
    assert_eq!(browser.acquire(ids([0])), ids([0]));
}

#[test]
fn consumer_that_accepts_implicitly_owns_no_group() {
    let broker = Broker::new();
    let session = grouped(&broker);
    publish_all(&session, &["a1", "a2", "a3"]);
    let one = broker.session("one");
    one.subscribe_with("q", "d", |subscribe| {
        subscribe.accept_mode = ferrymq::wire::AcceptMode::NONE;
    });
    one.flow("d", 1);
    assert_eq!(one.received(), ["a1"]);
    let other = consumer(&broker, "other", 9);
    assert_eq!(other.received(), ["a2", "a3"]);
}

#[test]
fn consumer_with_a_selector_gets_nothing_of_a_group_of_another() {
    let broker = Broker::new();
    let session = grouped(&broker);
    publish_all(&session, &["a1", "b1", "a2"]);
    let one = consumer(&broker, "one", 1);
    let other = selecting(&broker, "g = 'a' OR g = 'b'");
    assert_eq!(other.received(), ["b1"]);
    one.accept(ids([0]));
    assert_eq!(other.received(), ["a2"]);
}

#[test]
fn expiry_of_a_groups_first_message_does_no_harm() {
    let broker = Broker::new();
    let session = grouped(&broker);
    let short = message_with("q", "a1", |delivery| delivery.ttl = Some(1000));
    let short = short.with_headers(&[("g", text("a"))]);
    session.publish_message("", short);
    publish_all(&session, &["a2", "b1"]);
    let one = consumer(&broker, "one", 1);
    assert_eq!(one.received(), ["a1"]);
    broker.pass(600_000);
    broker.sequencer(Command::Tick);
    one.connection.end();
    let other = consumer(&broker, "other", 1);
    assert_eq!(other.received(), ["a2"]);
    other.release(ids([0]));
    let last = consumer(&broker, "last", 9);
    assert_eq!(last.received(), ["a2", "b1"]);
}

#[test]
fn group_whose_messages_are_all_gone_begins_anew() {
    let broker = Broker::new();
    let session = grouped(&broker);
    publish_all(&session, &["a1"]);
    let one = consumer(&broker, "one", 1);
    one.accept(ids([0]));
    publish_all(&session, &["a2"]);
    let other = consumer(&broker, "other", 1);
    assert_eq!(other.received(), ["a2"]);
}

#[test]
fn purge_leaves_the_owner_of_what_is_acquired() {
    let broker = Broker::new();
    let session = grouped(&broker);
    publish_all(&session, &["a1", "a2", "b1"]);
    let one = consumer(&broker, "one", 1);
    session.purge("q");
    publish_all(&session, &["a3", "b2"]);
    let other = consumer(&broker, "other", 9);
    assert_eq!(other.received(), ["b2"]);
    one.accept(ids([0]));
    assert_eq!(other.received(), ["a3"]);
    assert_eq!(browsed(&session, "q"), Vec::<String>::new());
}

#[test]
fn rollback_keeps_the_group_and_commit_gives_it_back() {
    let broker = Broker::new();
    let session = grouped(&broker);
    publish_all(&session, &["a1", "a2"]);
    let one = consumer(&broker, "one", 1);
    let other = consumer(&broker, "other", 9);
    one.select();
    one.accept(ids([0]));
    one.rollback();
    assert_eq!(other.received(), Vec::<String>::new());
    one.accept(ids([0]));
    assert_eq!(other.received(), Vec::<String>::new());
    one.commit();
    assert_eq!(other.received(), ["a2"]);
}

#[test]
fn who_has_passed_a_group_has_its_messages_in_order_when_a_commit_frees_it_and_brings_more() {
    let broker = Broker::new();
    let session = grouped(&broker);
    publish_all(&session, &["a1", "a2"]);
    let one = consumer(&broker, "one", 1);
    let other = selecting(&broker, "g = 'a'");
    assert_eq!(one.received(), ["a1"]);
    one.select();
    one.accept(ids([0]));
    publish_all(&one, &["a3"]);
    assert_eq!(other.received(), Vec::<String>::new());
    one.commit();
    assert_eq!(other.received(), ["a2", "a3"]);
}
