//! `amq.failover`: whoever listens there is told where the members are, when he comes and when they change.

mod broker;

use broker::{Broker, Session, message};
use ferrymq::broker::Command;
use ferrymq::wire::{Array, Value};

fn set(broker: &Broker, urls: &[&str]) {
    let urls = urls.iter().map(|url| (*url).into()).collect();
    let parts = Vec::new();
    broker.sequencer(Command::Members { parts, urls });
}

fn listening(broker: &Broker) -> Session {
    let session = broker.session("a");
    session.declare("q");
    session.bind("amq.failover", "q", "any", &[]);
    session.subscribe("q", "d");
    session.flow("d", u32::MAX);
    session
}

/// The lists that a session was told.
fn lists(session: &Session) -> Vec<Value> {
    let arrivals = session.arrivals().into_iter();
    arrivals
        .map(|arrived| {
            assert_eq!(arrived.body, "");
            let list = arrived.headers.get("amq.failover");
            list.expect("a list of members").clone()
        })
        .collect()
}

fn list(urls: &[&str]) -> Value {
    Value::Array(Array::of_str16(urls.iter().copied()))
}

#[test]
fn a_broker_in_no_cluster_has_no_such_exchange() {
    let session = Broker::new().session("a");
    assert!(session.query_exchange("amq.failover").not_found);
}

#[test]
fn a_queue_that_is_bound_is_told_where_the_members_are_at_once() {
    let broker = Broker::new();
    set(&broker, &["amqp:a:1", "amqp:b:2"]);
    let session = listening(&broker);
    assert_eq!(lists(&session), [list(&["amqp:a:1", "amqp:b:2"])]);
    let exchange = session.query_exchange("amq.failover");
    assert_eq!(exchange.r#type.as_deref(), Some("amq.failover"));
}

#[test]
fn a_queue_that_is_bound_again_is_told_again() {
    let broker = Broker::new();
    set(&broker, &["amqp:a:1"]);
    let session = listening(&broker);
    lists(&session);
    session.bind("amq.failover", "q", "another", &[]);
    assert_eq!(lists(&session), [list(&["amqp:a:1"])]);
}

#[test]
fn whoever_listens_is_told_when_members_change_and_only_then() {
    let broker = Broker::new();
    set(&broker, &["amqp:a:1", "amqp:b:2"]);
    let session = listening(&broker);
    lists(&session);
    set(&broker, &["amqp:b:2"]);
    set(&broker, &["amqp:b:2"]);
    assert_eq!(lists(&session), [list(&["amqp:b:2"])]);
}

#[test]
fn who_is_bound_no_more_is_told_nothing_more() {
    let broker = Broker::new();
    set(&broker, &["amqp:a:1"]);
    let session = listening(&broker);
    lists(&session);
    session.unbind("amq.failover", "q", "another key: it goes by the queue");
    set(&broker, &["amqp:b:2"]);
    assert_eq!(lists(&session), []);
}

#[test]
fn what_clients_publish_to_it_is_dropped() {
    let broker = Broker::new();
    set(&broker, &["amqp:a:1"]);
    let session = listening(&broker);
    lists(&session);
    session.publish_message("amq.failover", message("any", "not ours"));
    assert_eq!(lists(&session), []);
}

#[test]
fn it_is_not_deleted_and_no_other_of_its_type_is_made() {
    let broker = Broker::new();
    set(&broker, &["amqp:a:1"]);
    let session = broker.session("a");
    session.delete_exchange("amq.failover");
    session.assert_failed(530, "standard exchange");
    let other = broker.session("b");
    other.declare_exchange("mine", "amq.failover", None);
    other.assert_failed(404, "not implemented: amq.failover");
}
