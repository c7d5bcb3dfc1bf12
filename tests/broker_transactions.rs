//! Transactions of one session.

mod broker;

use broker::{Broker, Session, ids, range};
use ferrymq::broker::limits::TRANSACTION_PLACES_MAX;
use ferrymq::wire::{Value, XaStatus};

/// A transactional session with a queue `q`.
fn transactional() -> Session {
    let session = Broker::new().session("a");
    session.declare("q");
    session.select();
    session
}

#[test]
fn commit_without_select_is_an_invalid_command() {
    let broker = Broker::new();
    let session = broker.session("a");
    session.commit();
    session.assert_failed(503, "not been selected");
    let session = broker.session("b");
    session.rollback();
    session.assert_failed(503, "not been selected");
}

#[test]
fn select_twice_changes_nothing() {
    let session = transactional();
    session.publish("q", "0");
    session.select();
    session.commit();
    assert_eq!(session.count("q"), 1);
}

/// Transactions begun, committed and rolled back.
fn counted(session: &Session) -> (u64, u64, u64) {
    session.connection.broker.core(|core| {
        let found = core.sessions_behind(None).next();
        let counters = found.expect("the session").counters;
        (counters.transactions, counters.commits, counters.rollbacks)
    })
}

#[test]
fn transaction_is_counted_when_it_begins() {
    let session = transactional();
    assert_eq!(counted(&session), (1, 0, 0));
    session.select();
    assert_eq!(counted(&session), (1, 0, 0));
    session.commit();
    assert_eq!(counted(&session), (2, 1, 0));
    session.rollback();
    assert_eq!(counted(&session), (3, 1, 1));
}

#[test]
fn browser_sees_what_a_transaction_publishes_when_it_commits() {
    let session = transactional();
    let browser = session.connection.broker.session("b");
    browser.browse("q", "b");
    browser.flow("b", u32::MAX);
    session.publish_many("q", 0, 3);
    browser.assert_untroubled();
    assert_eq!(browser.count("q"), 0);
    session.commit();
    assert_eq!(browser.received(), ["0", "1", "2"]);
}

#[test]
fn rollback_forgets_what_was_published() {
    let session = transactional();
    session.publish_many("q", 0, 3);
    session.rollback();
    session.publish("q", "3");
    session.commit();
    assert_eq!(session.count("q"), 1);
}

#[test]
fn accepted_messages_leave_the_queue_when_the_transaction_commits() {
    let session = transactional();
    let broker = session.connection.broker.clone();
    let other = broker.session("b");
    other.declare_limited("limited", &[("qpid.max_count", Value::U32(2))]);
    other.publish_many("limited", 0, 2);
    session.subscribe("limited", "d");
    session.flow("d", 2);
    assert_eq!(session.received().len(), 2);
    session.accept(range(0, 1));
    let before = broker.session("c");
    before.publish("limited", "too early");
    before.assert_failed(506, "Maximum depth exceeded");
    session.commit();
    other.publish("limited", "2");
    other.assert_untroubled();
    assert_eq!(other.count("limited"), 1);
}

#[test]
fn rollback_leaves_accepted_messages_acquired_and_they_can_be_accepted_again() {
    let session = transactional();
    let other = session.connection.broker.session("b");
    other.publish_many("q", 0, 3);
    session.subscribe("q", "d");
    session.flow("d", 3);
    assert_eq!(session.received(), ["0", "1", "2"]);
    session.accept(range(0, 2));
    session.rollback();
    assert_eq!(other.count("q"), 0);
    session.accept(ids([1]));
    session.commit();
    session.release_with(ids([0]), true);
    session.detach();
    other.subscribe("q", "d");
    other.flow("d", u32::MAX);
    assert_eq!(other.received(), ["0*", "2*"]);
}

#[test]
fn end_of_the_session_rolls_back() {
    let session = transactional();
    let other = session.connection.broker.session("b");
    other.publish_many("q", 0, 3);
    session.subscribe("q", "d");
    session.flow("d", 3);
    session.accept(range(0, 2));
    session.publish("q", "never");
    session.connection.end();
    other.subscribe("q", "d");
    other.flow("d", u32::MAX);
    assert_eq!(other.received(), ["0*", "1*", "2*"]);
}

#[test]
fn commit_over_a_queue_limit_fails_and_does_nothing() {
    let broker = Broker::new();
    let session = broker.session("a");
    session.declare_limited("q", &[("qpid.max_count", Value::U32(5))]);
    session.declare("r");
    session.publish("r", "mine");
    session.subscribe("r", "d");
    session.flow("d", 1);
    session.told();
    session.select();
    session.accept(ids([0]));
    session.publish("r", "other");
    session.publish_many("q", 0, 6);
    session.commit();
    session.assert_failed(541, "Maximum depth exceeded on q");
    let other = broker.session("b");
    assert_eq!(other.count("q"), 0);
    other.subscribe("r", "d");
    other.flow("d", u32::MAX);
    assert_eq!(other.received(), ["mine*"]);
}

#[test]
fn commit_counts_room_that_its_own_accepts_make_only_after_itself() {
    let session = Broker::new().session("a");
    session.declare_limited("q", &[("qpid.max_count", Value::U32(1))]);
    session.publish("q", "0");
    session.subscribe("q", "d");
    session.flow("d", 1);
    session.told();
    session.select();
    session.accept(ids([0]));
    session.publish("q", "1");
    session.commit();
    session.assert_failed(541, "Maximum depth exceeded on q");
}

#[test]
fn new_transaction_starts_at_once() {
    let session = transactional();
    for n in 0..3 {
        session.publish("q", &n.to_string());
        session.commit();
        assert_eq!(session.count("q"), n + 1);
        session.publish("q", "never");
        session.rollback();
        assert_eq!(session.count("q"), n + 1);
    }
}

#[test]
fn transaction_publishes_to_the_queues_that_were_there_when_it_published() {
    let session = transactional();
    session.publish("q", "0");
    session.publish("later", "1");
    session.delete("q");
    session.declare("q");
    session.declare("later");
    session.commit();
    assert_eq!((session.count("q"), session.count("later")), (0, 0));
}

#[test]
fn transactional_state_is_in_the_snapshot() {
    let session = transactional();
    let broker = session.connection.broker.clone();
    let other = broker.session("b");
    other.publish_many("q", 0, 10);
    session.subscribe("q", "d");
    session.flow("d", 10);
    session.told();
    for n in 0..10 {
        session.accept(ids([n]));
        session.publish("q", &n.to_string());
        session.complete(ids([n]));
    }
    session.commit();
    assert_eq!(other.count("q"), 0);
    assert_eq!(session.told().len(), 10);
}

#[test]
fn accepted_message_that_is_released_in_the_same_transaction_goes_back_whatever_comes_of_it() {
    let session = transactional();
    let other = session.connection.broker.session("b");
    other.publish_many("q", 0, 2);
    session.subscribe("q", "d");
    session.flow("d", 2);
    session.told();
    session.accept(range(0, 1));
    session.release(ids([0]));
    session.commit();
    other.subscribe("q", "d");
    other.flow("d", u32::MAX);
    assert_eq!(other.received(), ["0"]);
}

#[test]
fn time_to_live_of_what_a_transaction_publishes_begins_when_it_publishes() {
    let session = transactional();
    session.publish_for("q", "0", 100);
    session.connection.broker.pass(60);
    session.commit();
    session.connection.broker.pass(60);
    session.subscribe("q", "d");
    session.flow("d", 1);
    session.assert_untroubled();
}

/// Queues that a message to `amq.fanout` comes to.
const FANNED_OUT: usize = 1024;

/// A session, and as many queues bound to `amq.fanout`. No other core follows: it would take long.
fn fanned_out() -> Session {
    let session = Broker::new().without_comparing().session("a");
    for n in 0..FANNED_OUT {
        let queue = n.to_string();
        session.declare(&queue);
        session.bind("amq.fanout", &queue, "", &[]);
    }
    session.told();
    session
}

/// Publishes as much as one transaction may.
fn fill(session: &Session) {
    for _ in 0..TRANSACTION_PLACES_MAX / FANNED_OUT {
        session.publish_message("amq.fanout", broker::message("", ""));
    }
    session.assert_untroubled();
}

#[test]
fn open_transaction_counts_the_places_in_queues_it_publishes_to() {
    let session = fanned_out();
    session.select();
    fill(&session);
    session.publish_message("amq.fanout", broker::message("", ""));
    session.assert_failed(506, "more than 1048576 places in queues");
}

#[test]
fn what_a_transaction_may_have_at_most_is_committed_in_one_entry() {
    let session = fanned_out();
    session.select();
    fill(&session);
    assert_eq!(session.count("0"), 0);
    session.commit();
    session.assert_untroubled();
    let each = u32::try_from(TRANSACTION_PLACES_MAX / FANNED_OUT).expect("small");
    assert_eq!((session.count("0"), session.count("1023")), (each, each));
    // The next one has as much to itself.
    fill(&session);
    session.rollback();
    session.assert_untroubled();
    assert_eq!(session.count("0"), each);
}

#[test]
fn places_that_an_open_transaction_has_taken_are_counted_by_a_core_that_took_over() {
    let session = fanned_out();
    session.select();
    fill(&session);
    session.connection.broker.take_over();
    session.publish_message("amq.fanout", broker::message("", ""));
    session.assert_failed(506, "places in queues");
}

#[test]
fn branch_counts_the_places_in_queues_it_publishes_to() {
    let session = fanned_out();
    session.dtx_select();
    session.start("x");
    fill(&session);
    session.publish_message("amq.fanout", broker::message("", ""));
    session.assert_failed(506, "places in queues");
}

/// A full ring of two messages that somebody has acquired.
fn held_ring(session: &Session, policy: &str) {
    let limits = [
        ("qpid.policy_type", Value::from(policy)),
        ("qpid.max_count", Value::U32(2)),
    ];
    session.declare_limited("ring", &limits);
    let holder = session.connection.broker.session("holder");
    holder.subscribe("ring", "d");
    holder.flow("d", 2);
    for body in ["0", "1"] {
        holder.publish("ring", body);
    }
}

#[test]
fn commit_of_what_a_ring_cannot_take_fails_and_does_nothing() {
    let session = transactional();
    session.declare_limited(
        "ring",
        &[
            ("qpid.policy_type", Value::from("ring")),
            ("qpid.max_size", Value::U32(1000)),
        ],
    );
    session.publish("q", "0");
    session.publish("ring", &"x".repeat(5000));
    session.commit();
    session.assert_failed(541, "Commit failed");
    let broker = &session.connection.broker;
    assert_eq!(broker.session("b").count("q"), 0);
}

#[test]
fn commit_to_a_strict_ring_whose_messages_are_all_acquired_fails() {
    let session = transactional();
    held_ring(&session, "ring_strict");
    session.publish("ring", "2");
    session.commit();
    session.assert_failed(541, "Commit failed");
}

#[test]
fn branch_that_a_ring_cannot_take_is_not_prepared() {
    let broker = Broker::new();
    let session = broker.session("a");
    session.dtx_select();
    session.declare_limited(
        "ring",
        &[
            ("qpid.policy_type", Value::from("ring")),
            ("qpid.max_size", Value::U32(1000)),
        ],
    );
    session.start("branch");
    session.publish("ring", &"x".repeat(5000));
    session.end("branch");
    assert_eq!(session.prepare("branch"), XaStatus::XA_RBROLLBACK.0);
}

#[test]
fn branch_that_was_promised_room_comes_into_a_ring_that_has_none_left() {
    let broker = Broker::new();
    let session = broker.session("a");
    session.dtx_select();
    session.declare("q");
    let limits = [
        ("qpid.policy_type", Value::from("ring_strict")),
        ("qpid.max_count", Value::U32(2)),
    ];
    session.declare_limited("ring", &limits);
    session.start("branch");
    session.publish("ring", "promised");
    session.end("branch");
    assert_eq!(session.prepare("branch"), 0);
    let holder = broker.session("holder");
    holder.subscribe("ring", "d");
    holder.flow("d", 2);
    for body in ["0", "1"] {
        holder.publish("ring", body);
    }
    assert_eq!(session.commit_prepared("branch"), 0);
    assert_eq!(session.count("ring"), 1);
}

#[test]
fn what_a_queue_keeps_out_takes_no_room_in_a_transaction() {
    let session = transactional();
    let limits = [
        ("qpid.filter", Value::from("a = 'y'")),
        ("qpid.max_count", Value::U32(2)),
        ("qpid.flow_stop_count", Value::U32(0)),
    ];
    session.declare_limited("picky", &limits);
    session.publish("q", "0");
    for _ in 0..5 {
        session.publish("picky", "kept out");
    }
    session.commit();
    session.assert_untroubled();
    assert_eq!((session.count("q"), session.count("picky")), (1, 0));
}

#[test]
fn what_a_queue_keeps_out_takes_no_room_in_a_branch() {
    let session = Broker::new().session("a");
    session.dtx_select();
    let limits = [
        ("qpid.filter", Value::from("a = 'y'")),
        ("qpid.max_count", Value::U32(2)),
        ("qpid.flow_stop_count", Value::U32(0)),
    ];
    session.declare_limited("picky", &limits);
    session.start("branch");
    for _ in 0..5 {
        session.publish("picky", "kept out");
    }
    session.end("branch");
    assert_eq!(session.prepare("branch"), 0);
    assert_eq!(session.commit_prepared("branch"), 0);
}
