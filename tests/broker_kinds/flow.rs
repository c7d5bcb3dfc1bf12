//! Producer flow control: which transfers are completed, and when.

use super::broker::scenes::persistent;
use super::broker::{Broker, Session, Told, ids, message, range};
use super::{taken, text};
use ferrymq::wire::{AcceptMode, CommandId, SequenceSet, Value};

/// A session with a queue that stops its publishers above `stop` messages, until there are fewer than
/// `resume`.
fn stopping(broker: &Broker, stop: u32, resume: u32) -> Session {
    let session = broker.session("publisher");
    session.declare_kind(
        "q",
        &[
            ("qpid.flow_stop_count", Value::U32(stop)),
            ("qpid.flow_resume_count", Value::U32(resume)),
        ],
    );
    session
}

/// The commands that a session has been told to be completed, all together.
fn completed(session: &Session) -> SequenceSet {
    session.flush_session(false, false, true);
    let mut all = SequenceSet::new();
    for told in session.told() {
        if let Told::Completed(commands, _) = told {
            all.union(&commands);
        }
    }
    all
}

fn is_completed(session: &Session, command: u32) -> bool {
    completed(session).contains(CommandId(command))
}

#[test]
fn transfer_is_held_from_the_message_that_passes_the_line() {
    let session = stopping(&Broker::new(), 3, 2);
    for number in 0..5 {
        session.publish("q", &number.to_string());
    }
    // 0 is the declaration.
    assert_eq!(completed(&session), range(0, 3));
    assert_eq!(session.count("q"), 5);
}

#[test]
fn transfers_are_completed_when_the_queue_is_below_the_other_line() {
    let broker = Broker::new();
    let session = stopping(&broker, 3, 2);
    for number in 0..5 {
        session.publish("q", &number.to_string());
    }
    let consumer = broker.session("consumer");
    consumer.subscribe("q", "d");
    consumer.flow("d", 3);
    consumer.accept(range(0, 2));
    assert!(
        !is_completed(&session, 5),
        "two are left, not fewer than two"
    );
    consumer.flow("d", 1);
    consumer.accept(ids([3]));
    assert!(is_completed(&session, 4) && is_completed(&session, 5));
    session.publish("q", "again");
    assert!(is_completed(&session, 6));
}

#[test]
fn transfer_is_completed_when_its_own_message_is_gone() {
    let broker = Broker::new();
    let session = stopping(&broker, 2, 1);
    for number in 0..4 {
        session.publish("q", &number.to_string());
    }
    let consumer = broker.session("consumer");
    consumer.subscribe("q", "d");
    consumer.flow("d", 4);
    consumer.release(range(0, 2));
    consumer.accept(ids([3]));
    let done = completed(&session);
    assert!(done.contains(CommandId(4)) && !done.contains(CommandId(3)));
}

#[test]
fn accept_of_a_held_transfer_waits_with_its_completion() {
    let broker = Broker::new();
    let session = stopping(&broker, 1, 1);
    session.publish("q", "one");
    let held = session.transfer("", message("q", "two"), AcceptMode::EXPLICIT);
    assert_eq!(session.told(), []);
    assert_eq!(taken(&broker.session("consumer"), "q"), ["one", "two"]);
    let told = session.told();
    assert_eq!(told[0], Told::Accepted(ids([held])));
    assert!(matches!(&told[1], Told::Completed(done, _) if done.contains(CommandId(held))));
}

#[test]
fn sync_behind_a_held_transfer_completes_with_it() {
    let broker = Broker::new();
    let session = stopping(&broker, 1, 1);
    session.publish_many("q", 0, 2);
    let sync = session.send(ferrymq::broker::Request::Sync);
    assert!(!is_completed(&session, sync));
    taken(&broker.session("consumer"), "q");
    assert!(is_completed(&session, sync));
}

#[test]
fn both_count_and_size_must_be_below() {
    let broker = Broker::new();
    let session = broker.session("publisher");
    let size = message("q", "x").published("").size();
    session.declare_kind(
        "q",
        &[
            ("qpid.flow_stop_count", Value::U32(2)),
            ("qpid.flow_resume_count", Value::U32(2)),
            ("qpid.flow_stop_size", Value::U64(100 * size)),
            ("qpid.flow_resume_size", Value::U64(2 * size)),
        ],
    );
    session.publish("q", "1");
    session.publish("q", &"x".repeat(3 * size as usize));
    session.publish("q", "3");
    let consumer = broker.session("consumer");
    consumer.subscribe("q", "d");
    consumer.flow("d", 3);
    consumer.accept(ids([0, 2]));
    // One message is left, but a large one. The third transfer's own message is gone.
    session.publish("q", "4");
    assert!(!is_completed(&session, 4));
    consumer.accept(ids([1]));
    assert!(is_completed(&session, 4));
}

#[test]
fn queue_with_a_limit_stops_at_four_fifths_of_it_and_goes_on_below_seven_tenths() {
    let broker = Broker::new();
    let session = broker.session("publisher");
    session.declare_kind("q", &[("qpid.max_count", Value::U32(10))]);
    for number in 0..9 {
        session.publish("q", &number.to_string());
    }
    assert_eq!(completed(&session), range(0, 8));
    let consumer = broker.session("consumer");
    consumer.subscribe("q", "d");
    consumer.flow("d", 9);
    consumer.accept(range(0, 1));
    assert!(!is_completed(&session, 9));
    consumer.accept(ids([2]));
    assert!(is_completed(&session, 9));
}

#[test]
fn stop_of_0_holds_nobody_back() {
    let session = Broker::new().session("publisher");
    let limits = [
        ("qpid.max_count", Value::U32(10)),
        ("qpid.flow_stop_count", Value::U32(0)),
    ];
    session.declare_kind("q", &limits);
    session.publish_many("q", 0, 10);
    assert!(is_completed(&session, 10));
}

#[test]
fn ring_holds_nobody_back() {
    let session = Broker::new().session("publisher");
    let ring = [
        ("qpid.max_count", Value::U32(10)),
        ("qpid.policy_type", text("ring")),
    ];
    session.declare_kind("q", &ring);
    session.publish_many("q", 0, 30);
    assert!(is_completed(&session, 30));
}

#[test]
fn delete_of_the_queue_completes_what_it_held() {
    let broker = Broker::new();
    let session = stopping(&broker, 5, 3);
    session.publish_many("q", 0, 6);
    assert!(!is_completed(&session, 6));
    broker.session("other").delete("q");
    assert!(is_completed(&session, 6));
}

#[test]
fn purge_of_the_queue_completes_what_it_held() {
    let broker = Broker::new();
    let session = stopping(&broker, 2, 1);
    session.publish_many("q", 0, 6);
    broker.session("other").purge("q");
    assert_eq!(completed(&session), range(0, 6));
    session.publish_many("q", 6, 2);
    assert!(is_completed(&session, 8));
}

#[test]
fn transfer_to_two_queues_is_held_until_neither_holds_it() {
    let broker = Broker::new();
    let session = stopping(&broker, 1, 1);
    session.declare_kind("r", &[("qpid.flow_stop_count", Value::U32(1))]);
    for queue in ["q", "r"] {
        session.bind("amq.fanout", queue, "", &[]);
        session.publish(queue, "before");
    }
    let held = session.publish_message("amq.fanout", message("", "both"));
    let other = broker.session("other");
    taken(&other, "q");
    assert!(!is_completed(&session, held));
    taken(&other, "r");
    assert!(is_completed(&session, held));
}

#[test]
fn session_that_is_refused_by_one_queue_leaves_nothing_held_in_another() {
    let broker = Broker::new();
    let session = stopping(&broker, 1, 1);
    session.declare_limited("full", &[("qpid.max_count", Value::U32(1))]);
    for queue in ["q", "full"] {
        session.bind("amq.fanout", queue, "", &[]);
        session.publish(queue, "before");
    }
    session.publish_message("amq.fanout", message("", "both"));
    session.assert_failed(506, "full");
    // A session in the same slot, with the same command numbers, is not told of it.
    let next = broker.session("next");
    taken(&broker.session("other"), "q");
    next.assert_untroubled();
}

#[test]
fn publisher_that_ends_is_forgotten() {
    let broker = Broker::new();
    let session = stopping(&broker, 1, 1);
    session.publish_many("q", 0, 3);
    session.detach();
    let next = broker.session("next");
    assert_eq!(taken(&broker.session("other"), "q"), ["0", "1", "2"]);
    next.assert_untroubled();
}

#[test]
fn queue_that_is_above_the_line_after_a_restart_holds_publishers_back() {
    let broker = Broker::new();
    let session = broker.session("publisher");
    session.declare_with("q", |declare| {
        declare.durable = true;
        let stop = [("qpid.flow_stop_count", Value::U32(2))];
        declare.arguments = Some(stop.into_iter().collect());
    });
    for number in 0..3 {
        super::persist(&session, "q", &number.to_string());
    }
    let again = broker.restarted();
    again.work();
    let session = again.session("publisher");
    let held = session.publish_message("", persistent("q", "more", None));
    assert!(!is_completed(&session, held));
    assert_eq!(taken(&again.session("other"), "q").len(), 4);
    assert!(is_completed(&session, held));
}

#[test]
fn transaction_is_not_held_back() {
    let session = stopping(&Broker::new(), 1, 1);
    session.select();
    session.publish_many("q", 0, 4);
    session.commit();
    assert!(is_completed(&session, 6));
    assert_eq!(session.count("q"), 4);
}
