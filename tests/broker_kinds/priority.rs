//! Queues with priorities, and the turns of their levels.

use super::broker::{Broker, Session, ids, message_with, range};
use super::{browsed, publish_at, taken};
use ferrymq::broker::Command;
use ferrymq::wire::{DeliveryPriority, Value};

fn with_levels(broker: &Broker, levels: u32) -> Session {
    let session = broker.session("a");
    session.declare_kind("q", &[("qpid.priorities", Value::U32(levels))]);
    session
}

/// Publishes messages whose bodies are their priority and a letter that counts them.
fn publish_all(session: &Session, priorities: &[u8]) {
    for (letter, priority) in ('a'..).zip(priorities) {
        publish_at(session, "q", &format!("{priority}{letter}"), *priority);
    }
}

#[test]
fn highest_priority_goes_out_first_and_equal_ones_in_order() {
    for name in ["qpid.priorities", "x-qpid-priorities"] {
        let session = Broker::new().session("a");
        session.declare_kind("q", &[(name, Value::U32(10))]);
        publish_all(&session, &[1, 5, 9, 5, 0, 9]);
        assert_eq!(taken(&session, "q"), ["9c", "9f", "5b", "5d", "1a", "0e"]);
    }
}

#[test]
fn fewer_levels_than_ten_tell_the_middle_priorities_apart() {
    // Rule priority-level-implementation of 0-10: the first level that is told apart is
    // 5 - ceil(levels / 2); with three levels 0 to 3 are one, 4 is one, and 5 and above are one.
    let session = with_levels(&Broker::new(), 3);
    publish_all(&session, &[3, 4, 0, 5, 9, 4]);
    assert_eq!(taken(&session, "q"), ["5d", "9e", "4b", "4f", "3a", "0c"]);
    let session = with_levels(&Broker::new(), 1);
    publish_all(&session, &[0, 9, 4]);
    assert_eq!(taken(&session, "q"), ["0a", "9b", "4c"]);
    let session = with_levels(&Broker::new(), 2);
    publish_all(&session, &[4, 5, 0, 9]);
    assert_eq!(taken(&session, "q"), ["5b", "9d", "4a", "0c"]);
}

#[test]
fn message_without_priority_is_of_the_lowest() {
    let session = with_levels(&Broker::new(), 10);
    session.publish("q", "none");
    publish_at(&session, "q", "one", 1);
    publish_at(&session, "q", "zero", 0);
    assert_eq!(taken(&session, "q"), ["one", "none", "zero"]);
}

#[test]
fn browser_goes_from_the_highest_level_down_and_sees_what_comes_later() {
    let session = with_levels(&Broker::new(), 10);
    publish_all(&session, &[1, 5, 9]);
    session.browse("q", "d");
    session.flow("d", 20);
    assert_eq!(session.received(), ["9c", "5b", "1a"]);
    publish_all(&session, &[3, 9]);
    assert_eq!(session.received(), ["3a", "9b"]);
    assert_eq!(session.count("q"), 5);
}

#[test]
fn released_message_goes_out_again_ten_times() {
    let session = with_levels(&Broker::new(), 10);
    publish_at(&session, "q", "m", 4);
    session.subscribe("q", "d");
    for delivery in 0..10 {
        session.flow("d", 1);
        assert_eq!(session.received(), ["m"]);
        session.complete(ids([delivery]));
        session.stop("d");
        session.release(ids([delivery]));
    }
}

#[test]
fn released_messages_come_back_to_their_level_and_place() {
    let session = with_levels(&Broker::new(), 10);
    publish_all(&session, &[5, 5, 9, 5]);
    session.subscribe("q", "d");
    session.flow("d", 3);
    assert_eq!(session.received(), ["9c", "5a", "5b"]);
    session.stop("d");
    session.release_with(range(0, 2), true);
    publish_at(&session, "q", "6", 6);
    session.cancel("d");
    session.subscribe("q", "e");
    session.flow("e", 9);
    assert_eq!(session.received(), ["9c*", "6", "5a*", "5b*", "5d"]);
}

#[test]
fn consumer_with_a_selector_gets_its_own_in_order_of_levels() {
    let session = with_levels(&Broker::new(), 10);
    publish_all(&session, &[1, 9, 5, 5]);
    session.subscribe_with("q", "d", |subscribe| {
        let selector = Value::Str16("JMSPriority < 9".into());
        let arguments = [("x-apache-selector", selector)];
        subscribe.arguments = Some(arguments.into_iter().collect());
    });
    session.flow("d", 1);
    assert_eq!(session.received(), ["5c"]);
    publish_at(&session, "q", "7", 7);
    session.flow("d", 2);
    assert_eq!(session.received(), ["7", "5d"]);
    session.stop("d");
    session.release(ids([0]));
    session.flow("d", 9);
    assert_eq!(session.received(), ["5c", "1a"]);
    session.cancel("d");
    assert_eq!(taken(&session, "q"), ["9b"]);
}

#[test]
fn expired_messages_of_a_level_are_passed_by() {
    let broker = Broker::new();
    let session = with_levels(&broker, 10);
    let message = message_with("q", "short", |delivery| {
        (delivery.priority, delivery.ttl) = (Some(DeliveryPriority(9)), Some(5));
    });
    session.publish_message("", message);
    publish_at(&session, "q", "low", 1);
    broker.pass(5);
    assert_eq!(taken(&session, "q"), ["low"]);
    publish_at(&session, "q", "high", 9);
    broker.pass(600_000);
    broker.sequencer(Command::Tick);
    assert_eq!(taken(&session, "q"), ["high"]);
}

#[test]
fn purge_empties_all_levels_and_leaves_what_is_acquired() {
    let session = with_levels(&Broker::new(), 10);
    publish_all(&session, &[9, 5, 9, 1]);
    session.subscribe("q", "d");
    session.flow("d", 1);
    session.told();
    session.stop("d");
    session.purge("q");
    assert_eq!(session.count("q"), 0);
    publish_all(&session, &[1, 7]);
    session.release(ids([0]));
    assert_eq!(browsed(&session, "q"), ["9a", "7b", "1a"]);
    session.cancel("d");
    assert_eq!(taken(&session, "q"), ["9a", "7b", "1a"]);
}

#[test]
fn fairshare_gives_way_after_so_many_in_a_row() {
    for name in ["qpid.fairshare", "x-qpid-fairshare"] {
        let session = Broker::new().session("a");
        let arguments = [("qpid.priorities", Value::U32(10)), (name, Value::U32(2))];
        session.declare_kind("q", &arguments);
        publish_all(&session, &[9, 9, 9, 9, 9, 5, 5, 5, 1]);
        let expected = ["9a", "9b", "5f", "5g", "1i", "9c", "9d", "5h", "9e"];
        assert_eq!(taken(&session, "q"), expected);
    }
}

#[test]
fn fairshare_of_one_level_is_its_own() {
    for name in ["qpid.fairshare-9", "x-qpid-fairshare-9"] {
        let session = Broker::new().session("a");
        let arguments = [("qpid.priorities", Value::U32(10)), (name, Value::U32(1))];
        session.declare_kind("q", &arguments);
        publish_all(&session, &[9, 9, 9, 5, 5]);
        assert_eq!(taken(&session, "q"), ["9a", "5d", "5e", "9b", "9c"]);
    }
}

#[test]
fn fairshare_of_the_only_level_with_messages_holds_nothing_back() {
    let session = Broker::new().session("a");
    let shares = [
        ("qpid.priorities", Value::U32(4)),
        ("qpid.fairshare", Value::U32(1)),
    ];
    session.declare_kind("q", &shares);
    publish_all(&session, &[5, 5, 5]);
    assert_eq!(taken(&session, "q"), ["5a", "5b", "5c"]);
}

#[test]
fn browsers_do_not_use_up_a_turn() {
    let session = Broker::new().session("a");
    let shares = [
        ("qpid.priorities", Value::U32(10)),
        ("qpid.fairshare", Value::U32(2)),
    ];
    session.declare_kind("q", &shares);
    publish_all(&session, &[9, 9, 9, 5]);
    assert_eq!(browsed(&session, "q"), ["9a", "9b", "9c", "5d"]);
    assert_eq!(taken(&session, "q"), ["9a", "9b", "5d", "9c"]);
}
