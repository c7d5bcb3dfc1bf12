//! Kinds after a restart: the order, what was replaced or dropped, and what is looked at from then on.

use super::broker::scenes::restarted;
use super::broker::{Broker, Session, message_with};
use super::{browsed, persist, publish_with, taken, text};
use ferrymq::wire::{DeliveryMode, DeliveryPriority, Value};

fn durable(session: &Session, arguments: &[(&str, Value)]) {
    session.declare_with("q", |declare| {
        declare.durable = true;
        declare.arguments = Some(arguments.iter().cloned().collect());
    });
}

/// Publishes a persistent message with a priority and headers.
fn keep(session: &Session, body: &str, priority: u8, headers: &[(&str, Value)]) {
    let draft = message_with("q", body, |delivery| {
        delivery.delivery_mode = Some(DeliveryMode::PERSISTENT);
        delivery.priority = Some(DeliveryPriority(priority));
    });
    let draft = draft.with_headers(headers);
    session.publish_message("", draft);
}

#[test]
fn last_values_are_known_after_a_restart_and_are_replaced() {
    let broker = Broker::new();
    let session = broker.session("a");
    durable(&session, &[("qpid.last_value_queue_key", text("k"))]);
    for (key, body) in [("a", "a1"), ("b", "b1"), ("a", "a2")] {
        keep(&session, body, 0, &[("k", text(key))]);
    }
    let (_again, session) = restarted(&broker);
    assert_eq!(browsed(&session, "q"), ["b1", "a2"]);
    keep(&session, "b2", 0, &[("k", text("b"))]);
    assert_eq!(browsed(&session, "q"), ["a2", "b2"]);
}

#[test]
fn last_value_that_is_transient_does_not_bring_a_former_one_back() {
    let broker = Broker::new();
    let session = broker.session("a");
    durable(&session, &[("qpid.last_value_queue_key", text("k"))]);
    for body in ["1", "2", "3"] {
        publish_with(&session, "q", body, ("k", "k1"));
    }
    keep(&session, "4", 0, &[("k", text("k1"))]);
    keep(&session, "former", 0, &[("k", text("k2"))]);
    publish_with(&session, "q", "transient", ("k", "k2"));
    let (_again, session) = restarted(&broker);
    assert_eq!(browsed(&session, "q"), ["4"]);
}

#[test]
fn priorities_order_what_was_recovered_with_what_comes() {
    let broker = Broker::new();
    let session = broker.session("a");
    durable(&session, &[("qpid.priorities", Value::U32(10))]);
    for (body, priority) in [("low", 1), ("high", 9), ("middle", 5)] {
        keep(&session, body, priority, &[]);
    }
    let (_again, session) = restarted(&broker);
    keep(&session, "middle 2", 5, &[]);
    assert_eq!(taken(&session, "q"), ["high", "middle", "middle 2", "low"]);
}

#[test]
fn groups_are_nobodys_after_a_restart_and_whole() {
    let broker = Broker::new();
    let session = broker.session("a");
    let group = [
        ("qpid.group_header_key", text("g")),
        ("qpid.shared_msg_group", Value::U32(1)),
    ];
    durable(&session, &group);
    for body in ["a1", "b1", "a2"] {
        keep(&session, body, 0, &[("g", text(&body[..1]))]);
    }
    session.subscribe("q", "d");
    session.flow("d", 1);
    let (again, one) = restarted(&broker);
    let other = again.session("other");
    for (consumer, credit) in [(&one, 1), (&other, 9)] {
        consumer.subscribe("q", "d");
        consumer.flow("d", credit);
    }
    assert_eq!(one.received(), ["a1*"]);
    assert_eq!(other.received(), ["b1*"]);
}

#[test]
fn what_a_durable_ring_gave_to_its_alternate_does_not_come_back() {
    let broker = Broker::new();
    let session = broker.session("a");
    session.declare_with("kept", |declare| declare.durable = true);
    session.bind("amq.fanout", "kept", "", &[]);
    session.declare_with("q", |declare| {
        declare.durable = true;
        declare.alternate_exchange = Some("amq.fanout".into());
        let ring = [
            ("qpid.policy_type", text("ring")),
            ("qpid.max_count", Value::U32(2)),
        ];
        declare.arguments = Some(ring.into_iter().collect());
    });
    for number in 0..5 {
        persist(&session, "q", &number.to_string());
    }
    let (_again, session) = restarted(&broker);
    assert_eq!(browsed(&session, "q"), ["3", "4"]);
    assert_eq!(browsed(&session, "kept"), ["0", "1", "2"]);
}

#[test]
fn what_a_ring_with_priorities_drops_goes_to_the_alternate_and_is_named_where_it_was() {
    let broker = Broker::new();
    let session = broker.session("a");
    session.declare_with("kept", |declare| declare.durable = true);
    session.bind("amq.fanout", "kept", "", &[]);
    session.declare_with("q", |declare| {
        declare.durable = true;
        declare.alternate_exchange = Some("amq.fanout".into());
        let ring = [
            ("qpid.policy_type", text("ring")),
            ("qpid.max_size", Value::U32(400)),
            ("qpid.priorities", Value::U32(10)),
        ];
        declare.arguments = Some(ring.into_iter().collect());
    });
    for (body, priority) in [("five", 5), ("four", 4), ("three", 3), ("nine", 9)] {
        keep(&session, body, priority, &[]);
    }
    broker.hold_work();
    keep(&session, &"x".repeat(340), 9, &[]);
    let (_again, session) = restarted(&broker);
    let left = browsed(&session, "q");
    let dropped = browsed(&session, "kept");
    assert_eq!(left.len() + dropped.len(), 5, "{left:?} {dropped:?}");
    assert_eq!(dropped[..2], ["three", "four"]);
}

#[test]
fn positions_that_a_sequence_header_says_go_on_after_a_restart() {
    let broker = Broker::new();
    let session = broker.session("a");
    durable(&session, &[("qpid.queue_msg_sequence", text("place"))]);
    persist(&session, "q", "1");
    persist(&session, "q", "2");
    let (_again, session) = restarted(&broker);
    persist(&session, "q", "3");
    session.subscribe("q", "d");
    session.flow("d", 9);
    let places: Vec<_> = session
        .arrivals()
        .into_iter()
        .map(|arrived| arrived.headers.get("place").cloned())
        .collect();
    assert_eq!(places, [1, 2, 3].map(|place| Some(Value::U32(place))));
}

#[test]
fn queue_with_arguments_that_are_refused_now_comes_back_as_a_plain_one() {
    use ferrymq::broker::facts::Fact;
    let broker = Broker::new().without_recovering();
    durable(&broker.session("a"), &[("qpid.max_count", Value::U32(2))]);
    let mut facts = broker.facts();
    let mut declared = facts.iter_mut().flat_map(|record| &mut record.facts);
    let definition = declared.find_map(|fact| match fact {
        Fact::QueueDeclared(definition) => Some(definition),
        _ => None,
    });
    let arguments = &mut definition.expect("it was declared").arguments;
    arguments.insert("qpid.priorities", Value::U32(10));
    arguments.insert("qpid.last_value_queue_key", text("k"));
    let again = broker.restarted_with(facts, 0);
    again.work();
    let session = again.session("b");
    session.publish("q", "1");
    session.publish("q", "2");
    assert_eq!(browsed(&session, "q"), ["1", "2"]);
    session.publish("q", "3");
    session.assert_failed(506, "Maximum depth exceeded");
}
