//! Messages that go nowhere, and those that are to go on at once or not at all.

mod broker;

use broker::{Broker, Draft, Session, Told, ids, message_with};
use ferrymq::wire::{AcceptMode, FlowMode, RejectCode, Value};

fn immediate(key: &str) -> Draft {
    message_with(key, "0", |delivery| delivery.immediate = true)
}

fn discarded(key: &str) -> Draft {
    message_with(key, "0", |delivery| delivery.discard_unroutable = true)
}

/// What comes of a transfer in accept mode explicit.
#[track_caller]
fn assert_rejected(session: &Session, message: Draft, code: RejectCode) {
    let sent = session.transfer("amq.direct", message, AcceptMode::EXPLICIT);
    assert_eq!(session.told(), [Told::Rejected(ids([sent]), code)]);
}

#[track_caller]
fn assert_accepted(session: &Session, message: Draft) {
    let sent = session.transfer("amq.direct", message, AcceptMode::EXPLICIT);
    assert_eq!(session.told(), [Told::Accepted(ids([sent]))]);
}

/// A session, and another that is subscribed with credit for one message to the queue `q` that is bound
/// to `amq.direct` by `k`.
fn with_consumer(broker: &Broker) -> (Session, Session) {
    let session = broker.session("a");
    session.declare("q");
    session.bind("amq.direct", "q", "k", &[]);
    let consumer = broker.session("b");
    consumer.subscribe("q", "d");
    consumer.set_mode("d", FlowMode::CREDIT);
    consumer.flow("d", 1);
    (session, consumer)
}

#[test]
fn unroutable_message_is_rejected_and_completed() {
    let session = Broker::new().session("a");
    assert_rejected(&session, broker::message("k", "0"), RejectCode::UNROUTABLE);
    session.assert_untroubled();
}

#[test]
fn unroutable_message_that_may_be_discarded_is_accepted() {
    assert_accepted(&Broker::new().session("a"), discarded("k"));
}

#[test]
fn unroutable_message_in_accept_mode_none_is_dropped_in_silence() {
    let session = Broker::new().session("a");
    session.publish_message("amq.direct", broker::message("k", "0"));
    session.assert_untroubled();
}

#[test]
fn unroutable_message_goes_to_the_alternate_exchange_and_is_accepted() {
    let session = Broker::new().session("a");
    session.declare("q");
    session.bind("amq.fanout", "q", "", &[]);
    session.declare_exchange("e", "direct", Some("amq.fanout"));
    let sent = session.transfer("e", broker::message("k", "0"), AcceptMode::EXPLICIT);
    assert_eq!(session.told(), [Told::Accepted(ids([sent]))]);
    assert_eq!(session.count("q"), 1);
}

#[test]
fn unroutable_message_of_a_transaction_is_rejected_at_once() {
    let session = Broker::new().session("a");
    session.select();
    assert_rejected(&session, broker::message("k", "0"), RejectCode::UNROUTABLE);
    session.commit();
    session.assert_untroubled();
}

#[test]
fn immediate_message_goes_to_a_consumer_that_is_ready() {
    let (session, consumer) = with_consumer(&Broker::new());
    assert_accepted(&session, immediate("k"));
    assert_eq!(consumer.received(), ["0"]);
}

#[test]
fn immediate_message_without_a_consumer_is_rejected_and_not_enqueued() {
    let session = Broker::new().session("a");
    session.declare("q");
    session.bind("amq.direct", "q", "k", &[]);
    assert_rejected(&session, immediate("k"), RejectCode::IMMEDIATE);
    assert_eq!(session.count("q"), 0);
}

#[test]
fn immediate_message_is_rejected_when_the_consumer_has_no_credit() {
    let (session, consumer) = with_consumer(&Broker::new());
    assert_accepted(&session, immediate("k"));
    assert_rejected(&session, immediate("k"), RejectCode::IMMEDIATE);
    consumer.flow("d", 1);
    assert_accepted(&session, immediate("k"));
}

#[test]
fn immediate_message_is_rejected_when_the_consumer_does_not_want_it() {
    let broker = Broker::new();
    let session = broker.session("a");
    session.declare("q");
    session.bind("amq.direct", "q", "k", &[]);
    let consumer = broker.session("b");
    consumer.subscribe_with("q", "d", |subscribe| {
        let selector = [("x-apache-selector", Value::Str16("n = 1".into()))];
        subscribe.arguments = Some(selector.into_iter().collect());
    });
    consumer.flow("d", 9);
    assert_rejected(&session, immediate("k"), RejectCode::IMMEDIATE);
}

#[test]
fn immediate_message_is_rejected_when_only_browsers_are_there() {
    let broker = Broker::new();
    let session = broker.session("a");
    session.declare("q");
    session.bind("amq.direct", "q", "k", &[]);
    let browser = broker.session("b");
    browser.browse("q", "d");
    browser.flow("d", 9);
    assert_rejected(&session, immediate("k"), RejectCode::IMMEDIATE);
    assert_eq!(browser.received(), Vec::<String>::new());
}

#[test]
fn immediate_message_is_rejected_when_its_consumer_has_lost_its_connection() {
    let (session, consumer) = with_consumer(&Broker::new());
    consumer.grant_timeout(10);
    consumer.connection.end();
    assert_rejected(&session, immediate("k"), RejectCode::IMMEDIATE);
}

#[test]
fn immediate_message_goes_only_to_queues_with_a_consumer_that_is_ready() {
    let broker = Broker::new();
    let (session, consumer) = with_consumer(&broker);
    session.declare("r");
    session.bind("amq.direct", "r", "k", &[]);
    assert_accepted(&session, immediate("k"));
    assert_eq!(consumer.received(), ["0"]);
    assert_eq!(session.count("r"), 0);
}

#[test]
fn immediate_message_that_nobody_is_ready_for_goes_to_the_alternate_exchange() {
    let session = Broker::new().session("a");
    for queue in ["q", "r"] {
        session.declare(queue);
    }
    session.bind("amq.fanout", "r", "", &[]);
    session.declare_exchange("e", "direct", Some("amq.fanout"));
    session.bind("e", "q", "k", &[]);
    let sent = session.transfer("e", immediate("k"), AcceptMode::EXPLICIT);
    assert_eq!(session.told(), [Told::Accepted(ids([sent]))]);
    assert_eq!((session.count("q"), session.count("r")), (0, 1));
}

#[test]
fn immediate_message_that_may_be_discarded_is_dropped_and_accepted() {
    let session = Broker::new().session("a");
    session.declare("q");
    session.bind("amq.direct", "q", "k", &[]);
    let message = message_with("k", "0", |delivery| {
        (delivery.immediate, delivery.discard_unroutable) = (true, true);
    });
    assert_accepted(&session, message);
    assert_eq!(session.count("q"), 0);
}

#[test]
fn exchange_delete_if_unused_refuses_an_exchange_with_bindings() {
    let broker = Broker::new();
    let session = broker.session("a");
    session.declare("q");
    session.declare_exchange("e", "direct", None);
    session.bind("e", "q", "k", &[]);
    session.delete_exchange_if_unused("e");
    session.assert_failed(406, "in use");
    let session = broker.session("b");
    session.unbind("e", "q", "k");
    session.delete_exchange_if_unused("e");
    assert!(session.query_exchange("e").not_found);
}
