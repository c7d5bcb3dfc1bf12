//! What becomes of a message that would be too much: `qpid.policy_type`.

use super::broker::{Broker, Session, ids, message};
use super::{browsed, persist, publish_at, taken, text};
use ferrymq::broker::limits::EVICTED_PER_COMMAND_MAX;
use ferrymq::wire::Value;

fn policy(policy: &str, max: u32) -> [(&'static str, Value); 2] {
    [
        ("qpid.policy_type", text(policy)),
        ("qpid.max_count", Value::U32(max)),
    ]
}

fn ring(session: &Session, max: u32) {
    session.declare_kind("q", &policy("ring", max));
}

#[test]
fn ring_drops_the_oldest_when_it_is_full() {
    let session = Broker::new().session("a");
    ring(&session, 3);
    session.publish_many("q", 0, 5);
    session.assert_untroubled();
    assert_eq!(browsed(&session, "q"), ["2", "3", "4"]);
}

#[test]
fn ring_drops_messages_that_are_acquired_too_and_their_accept_does_nothing() {
    let session = Broker::new().session("a");
    ring(&session, 2);
    session.publish_many("q", 0, 2);
    session.subscribe("q", "d");
    session.flow("d", 1);
    session.publish_many("q", 2, 1);
    session.accept(ids([0]));
    assert_eq!(browsed(&session, "q"), ["1", "2"]);
}

#[test]
fn ring_gives_what_it_drops_to_the_alternate_exchange_in_order() {
    let session = Broker::new().session("a");
    session.declare("listener");
    session.bind("amq.fanout", "listener", "", &[]);
    session.declare_with("q", |declare| {
        declare.arguments = Some(policy("ring", 10).into_iter().collect());
        declare.alternate_exchange = Some("amq.fanout".into());
    });
    for number in 1..=20 {
        session.publish("q", &number.to_string());
    }
    let numbers = |range: std::ops::RangeInclusive<u32>| -> Vec<String> {
        range.map(|number| number.to_string()).collect()
    };
    assert_eq!(browsed(&session, "q"), numbers(11..=20));
    assert_eq!(browsed(&session, "listener"), numbers(1..=10));
}

#[test]
fn ring_of_octets_drops_as_many_as_it_needs_room_for() {
    let size = message("q", "x").published("").size();
    let session = Broker::new().session("a");
    let max = ("qpid.max_size", Value::U64(3 * size));
    session.declare_kind("q", &[("qpid.policy_type", text("ring")), max]);
    for body in ["1", "2", "3"] {
        session.publish("q", body);
    }
    session.publish("q", "xx");
    assert_eq!(browsed(&session, "q"), ["3", "xx"]);
}

#[test]
fn message_larger_than_a_ring_is_refused_and_drops_none() {
    let broker = Broker::new();
    let session = broker.session("a");
    let max = ("qpid.max_size", Value::U32(100));
    session.declare_kind("q", &[("qpid.policy_type", text("ring")), max]);
    session.publish("q", "small");
    session.publish("q", &"x".repeat(101));
    session.assert_failed(506, "larger than configured maximum depth");
    assert_eq!(browsed(&broker.session("b"), "q"), ["small"]);
}

#[test]
fn ring_drops_very_many_over_several_entries() {
    let broker = Broker::new();
    let session = broker.session("a");
    let many = 5 * EVICTED_PER_COMMAND_MAX;
    let size = message("q", "1").published("").size();
    let max = ("qpid.max_size", Value::U64(u64::from(many) * (size + 10)));
    session.declare_kind("q", &[("qpid.policy_type", text("ring")), max.clone()]);
    session.publish_many("q", 0, many);
    let Value::U64(max) = max.1 else {
        unreachable!("it was made so")
    };
    broker.hold_work();
    let large = "x".repeat(usize::try_from(max - size).expect("small"));
    session.publish("q", &large);
    let left = session.count("q");
    assert_eq!(left, many - EVICTED_PER_COMMAND_MAX + 1);
    while broker.continue_once() {}
    assert!(session.count("q") <= 2);
    assert_eq!(browsed(&session, "q").pop(), Some(large));
}

#[test]
fn strict_ring_refuses_when_the_oldest_is_acquired() {
    let broker = Broker::new();
    let session = broker.session("a");
    session.declare_kind("q", &policy("ring_strict", 2));
    session.publish_many("q", 0, 3);
    assert_eq!(browsed(&session, "q"), ["1", "2"]);
    let consumer = broker.session("consumer");
    consumer.subscribe("q", "d");
    consumer.flow("d", 1);
    session.publish("q", "3");
    session.assert_failed(506, "Maximum depth exceeded on q");
    consumer.release(ids([0]));
    let session = broker.session("b");
    session.publish("q", "3");
    assert_eq!(browsed(&session, "q"), ["2", "3"]);
}

#[test]
fn ring_with_priorities_drops_the_first_of_the_lowest_level() {
    let session = Broker::new().session("a");
    let levels = ("qpid.priorities", Value::U32(10));
    session.declare_kind("q", &[&policy("ring", 3)[..], &[levels]].concat());
    for (body, priority) in [("low 1", 1), ("high", 9), ("low 2", 1), ("middle", 5)] {
        publish_at(&session, "q", body, priority);
    }
    assert_eq!(taken(&session, "q"), ["high", "middle", "low 2"]);
}

#[test]
fn ring_with_priorities_drops_the_new_one_when_all_are_above_it() {
    let session = Broker::new().session("a");
    let levels = ("qpid.priorities", Value::U32(10));
    session.declare_kind("q", &[&policy("ring", 2)[..], &[levels]].concat());
    for (body, priority) in [("a", 5), ("b", 5), ("low", 4), ("same", 5)] {
        publish_at(&session, "q", body, priority);
    }
    session.assert_untroubled();
    assert_eq!(taken(&session, "q"), ["b", "same"]);
}

#[test]
fn self_destruct_deletes_the_queue_and_does_not_trouble_the_publisher() {
    let broker = Broker::new();
    let session = broker.session("a");
    let flow = [("qpid.flow_stop_count", Value::U32(0))];
    session.declare_kind("q", &[&policy("self-destruct", 2)[..], &flow].concat());
    let consumer = broker.session("consumer");
    consumer.subscribe("q", "d");
    consumer.flow("d", 9);
    session.publish_many("q", 0, 3);
    session.assert_untroubled();
    assert!(!session.has_queue("q"));
    consumer.assert_failed(408, "Queue q has been deleted.");
}

#[test]
fn self_destruct_gives_what_the_queue_held_to_the_alternate_exchange() {
    let session = Broker::new().session("a");
    session.declare("listener");
    session.bind("amq.fanout", "listener", "", &[]);
    session.declare_with("q", |declare| {
        declare.arguments = Some(policy("self-destruct", 2).into_iter().collect());
        declare.alternate_exchange = Some("amq.fanout".into());
    });
    session.publish_many("q", 0, 3);
    assert_eq!(browsed(&session, "listener"), ["0", "1"]);
}

#[test]
fn one_full_queue_refuses_and_the_others_get_the_message() {
    let broker = Broker::new();
    let session = broker.session("a");
    for queue in ["a", "b", "c"] {
        session.declare(queue);
        session.bind("amq.fanout", queue, "", &[]);
    }
    session.declare_limited("d", &[("qpid.max_count", Value::U32(4))]);
    session.bind("amq.fanout", "d", "", &[]);
    for number in 0..5 {
        session.publish_message("amq.fanout", message("", &number.to_string()));
    }
    session.assert_failed(506, "Maximum depth exceeded on d");
    let session = broker.session("b");
    assert_eq!(
        ["a", "b", "c", "d"].map(|queue| session.count(queue)),
        [5, 5, 5, 4]
    );
}

#[test]
fn depth_is_nothing_again_when_all_was_refused_or_taken() {
    let broker = Broker::new();
    let session = broker.session("a");
    session.declare_limited("q", &[("qpid.max_count", Value::U32(2))]);
    session.publish_many("q", 0, 3);
    let session = broker.session("b");
    assert_eq!(taken(&session, "q"), ["0", "1"]);
    session.publish_many("q", 3, 2);
    session.assert_untroubled();
}

#[test]
fn commit_to_a_ring_makes_room_and_to_a_full_queue_fails_whole() {
    let broker = Broker::new();
    let session = broker.session("a");
    ring(&session, 2);
    session.declare_limited("full", &[("qpid.max_count", Value::U32(1))]);
    session.select();
    session.publish_many("q", 0, 4);
    session.commit();
    assert_eq!(browsed(&session, "q"), ["2", "3"]);
    session.publish_many("q", 4, 1);
    session.publish_many("full", 0, 2);
    session.commit();
    session.assert_failed(541, "Maximum depth exceeded on full");
    assert_eq!(browsed(&broker.session("b"), "q"), ["2", "3"]);
}

#[test]
fn commit_that_destroys_a_queue_enqueues_to_the_others() {
    let session = Broker::new().session("a");
    session.declare_kind("q", &policy("self-destruct", 1));
    session.declare("r");
    session.select();
    session.publish_many("q", 0, 2);
    session.publish_many("r", 0, 1);
    session.commit();
    assert!(!session.has_queue("q"));
    assert_eq!(browsed(&session, "r"), ["0"]);
}

#[test]
fn durable_ring_forgets_what_it_dropped() {
    let broker = Broker::new();
    let session = broker.session("a");
    session.declare_with("q", |declare| {
        declare.durable = true;
        declare.arguments = Some(policy("ring", 2).into_iter().collect());
    });
    for number in 0..5 {
        persist(&session, "q", &number.to_string());
    }
    let again = broker.restarted();
    again.work();
    let session = again.session("b");
    assert_eq!(browsed(&session, "q"), ["3", "4"]);
    persist(&session, "q", "5");
    assert_eq!(browsed(&session, "q"), ["4", "5"]);
}
