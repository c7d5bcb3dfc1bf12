//! What becomes of messages that were delivered: accept, release, reject, acquire, time to live.

mod broker;

use broker::{Broker, Session, Told, ids, range};
use ferrymq::broker::Command;
use ferrymq::wire::{
    AcceptMode, AcquireMode, Map, MessageSubscribe, RejectCode, SequenceSet, Value,
};

/// A session with a queue `q` of so many messages, whose bodies are their numbers from 0, and a
/// subscription `d` that got all of them.
fn delivered(messages: u32) -> Session {
    let session = Broker::new().session("a");
    session.declare("q");
    session.publish_many("q", 0, messages);
    session.subscribe("q", "d");
    session.flow("d", messages);
    assert_eq!(session.received().len(), messages as usize);
    session
}

/// The bodies that a new subscription of a new session gets.
fn drained(broker: &Broker, queue: &str) -> Vec<String> {
    let session = broker.session(&format!("drain {}", broker.core(|core| core.index())));
    session.subscribe(queue, "drain");
    session.flow("drain", u32::MAX);
    let bodies = session.received();
    session.detach();
    bodies
}

fn implicit(subscribe: &mut MessageSubscribe) {
    subscribe.accept_mode = AcceptMode::NONE;
}

fn selecting(selector: &str) -> impl FnOnce(&mut MessageSubscribe) {
    let arguments: Map = [("x-apache-selector", Value::Str16(selector.into()))]
        .into_iter()
        .collect();
    move |subscribe| subscribe.arguments = Some(arguments)
}

#[test]
fn accepted_messages_leave_the_queue() {
    let session = delivered(3);
    session.accept(ids([0, 2]));
    session.detach();
    assert_eq!(drained(&session.connection.broker, "q"), ["1*"]);
}

#[test]
fn accept_mode_none_takes_messages_from_the_queue_as_they_are_sent() {
    let session = Broker::new().session("a");
    session.declare("q");
    session.publish_many("q", 0, 3);
    session.subscribe_with("q", "d", implicit);
    session.flow("d", 2);
    assert_eq!(session.received(), ["0", "1"]);
    session.detach();
    assert_eq!(drained(&session.connection.broker, "q"), ["2"]);
}

#[test]
fn accept_of_what_is_unknown_or_settled_is_ignored() {
    let session = delivered(3);
    session.accept(range(2, 500));
    session.accept(range(0x7fff_0000, 0x7fff_ffff));
    session.accept(range(1, 1));
    session.accept(range(0, i32::MAX as u32));
    session.accept(range(0, i32::MAX as u32));
    session.accept(SequenceSet::new());
    session.release(range(0, 2));
    session.reject(range(0, 2));
    session.assert_untroubled();
    session.detach();
    assert_eq!(drained(&session.connection.broker, "q"), [""; 0]);
}

#[test]
fn release_keeps_the_order_of_the_queue() {
    let session = delivered(5);
    session.publish("q", "5");
    session.release(ids([3]));
    session.release(ids([1, 0]));
    session.release(ids([4, 2]));
    session.detach();
    let bodies = drained(&session.connection.broker, "q");
    assert_eq!(bodies, ["0", "1", "2", "3", "4", "5"]);
}

#[test]
fn release_leaves_the_redelivered_flag_as_it_was() {
    let session = delivered(2);
    session.release(ids([0]));
    session.release_with(ids([1]), true);
    session.flow("d", 2);
    assert_eq!(session.received(), ["0", "1*"]);
    session.release(ids([2, 3]));
    session.flow("d", 2);
    assert_eq!(session.received(), ["0", "1*"]);
}

#[test]
fn released_messages_go_to_those_who_have_credit() {
    let session = delivered(2);
    let other = session.connection.broker.session("b");
    other.subscribe("q", "d");
    other.flow("d", 5);
    other.assert_untroubled();
    session.release(ids([1]));
    assert_eq!(other.received(), ["1"]);
}

#[test]
fn message_is_delivered_as_often_as_it_is_released() {
    let session = delivered(1);
    for n in 0..10 {
        session.release(ids([n]));
        session.flow("d", 1);
        session.complete(ids([n]));
        assert_eq!(session.received(), ["0"]);
    }
}

#[test]
fn first_message_stays_first_however_often_it_is_taken_and_released() {
    let session = delivered(5);
    session.detach();
    let session = session.connection.session("b");
    for n in 0..5 {
        let name = n.to_string();
        session.subscribe("q", &name);
        session.flow(&name, 1);
        assert_eq!(session.received(), ["0*"]);
        session.release(ids([n]));
        session.cancel(&name);
    }
}

#[test]
fn released_message_is_found_by_subscriptions_with_a_selector_that_have_passed_it() {
    let session = Broker::new().session("a");
    session.declare("q");
    session.subscribe("q", "d");
    session.flow("d", 1);
    let wanted = [("n", Value::I32(1))];
    for body in ["first", "second"] {
        session.publish_message("", broker::message_with_headers("q", body, &wanted));
    }
    assert_eq!(session.received(), ["first"]);
    session.cancel("d");
    session.subscribe_with("q", "e", selecting("n = 1"));
    session.flow("e", 5);
    assert_eq!(session.received(), ["second"]);
    session.release(ids([0]));
    assert_eq!(session.received(), ["first"]);
}

#[test]
fn selector_leaves_to_others_what_it_does_not_want() {
    let session = Broker::new().session("a");
    session.declare("q");
    session.subscribe_with("q", "odd", selecting("n = 1"));
    session.flow("odd", 10);
    for n in 0..4 {
        let headers = [("n", Value::I32(n % 2))];
        session.publish_message(
            "",
            broker::message_with_headers("q", &n.to_string(), &headers),
        );
    }
    assert_eq!(session.received(), ["1", "3"]);
    session.subscribe("q", "rest");
    session.flow("rest", 10);
    assert_eq!(session.received(), ["0", "2"]);
}

#[test]
fn rejected_messages_are_gone_where_there_is_no_alternate_exchange() {
    let session = delivered(2);
    session.reject(ids([0]));
    session.detach();
    assert_eq!(drained(&session.connection.broker, "q"), ["1*"]);
}

#[test]
fn cancelled_subscription_s_messages_can_still_be_accepted() {
    let session = delivered(2);
    session.cancel("d");
    session.accept(ids([0]));
    session.detach();
    assert_eq!(drained(&session.connection.broker, "q"), ["1*"]);
}

#[test]
fn cancelled_subscription_gets_no_more() {
    let session = Broker::new().session("a");
    session.declare("q");
    session.subscribe("q", "d");
    session.flow("d", u32::MAX);
    session.cancel("d");
    session.publish("q", "0");
    session.assert_untroubled();
}

#[test]
fn cancelled_subscription_s_name_is_free() {
    let session = Broker::new().session("a");
    session.declare("q");
    session.subscribe("q", "d");
    session.cancel("d");
    session.subscribe("q", "d");
    session.assert_untroubled();
}

#[test]
fn completion_of_a_cancelled_subscription_s_message_is_no_credit_of_its_successor() {
    let session = delivered(1);
    session.cancel("d");
    session.subscribe("q", "d");
    session.grant("d", ferrymq::wire::CreditUnit::BYTE, u32::MAX);
    session.publish("q", "1");
    session.complete(ids([0]));
    session.assert_untroubled();
}

#[test]
fn subscription_s_name_is_its_session_s_own() {
    let broker = Broker::new();
    let session = broker.session("a");
    session.declare("q");
    session.subscribe("q", "d");
    let other = broker.session("b");
    other.subscribe("q", "d");
    other.assert_untroubled();
    session.subscribe("q", "d");
    session.assert_failed(530, "unique");
}

#[test]
fn subscribe_without_a_queue_name_is_an_illegal_argument() {
    let session = Broker::new().session("a");
    session.subscribe("", "d");
    session.assert_failed(531, "No queue name");
}

#[test]
fn subscribe_to_a_missing_queue_is_not_found() {
    let session = Broker::new().session("a");
    session.subscribe("q", "d");
    session.assert_failed(404, "q");
}

#[test]
fn browser_leaves_the_queue_as_it_is() {
    let session = Broker::new().session("a");
    session.declare("q");
    session.publish_many("q", 0, 3);
    session.browse("q", "b");
    session.flow("b", u32::MAX);
    assert_eq!(session.received(), ["0", "1", "2"]);
    session.complete(range(0, 2));
    session.accept(range(0, 2));
    assert_eq!(session.count("q"), 3);
    session.detach();
    assert_eq!(drained(&session.connection.broker, "q"), ["0", "1", "2"]);
}

#[test]
fn browser_gets_each_message_once() {
    let session = Broker::new().session("a");
    session.declare("q");
    session.publish_many("q", 0, 2);
    session.browse("q", "b");
    session.flow("b", u32::MAX);
    assert_eq!(session.received(), ["0", "1"]);
    session.subscribe("q", "d");
    session.flow("d", 1);
    assert_eq!(session.received(), ["0"]);
    session.release(ids([2]));
    session.publish("q", "2");
    let to_browser = session.arrivals();
    let to_browser = to_browser
        .iter()
        .filter(|arrived| arrived.destination == "b");
    assert_eq!(
        to_browser
            .map(|arrived| arrived.body.as_str())
            .collect::<Vec<_>>(),
        ["2"]
    );
}

#[test]
fn browser_does_not_see_acquired_messages() {
    let session = delivered(2);
    session.publish("q", "2");
    session.browse("q", "b");
    session.flow("b", u32::MAX);
    assert_eq!(session.received(), ["2"]);
}

#[test]
fn browsing_does_not_flag_a_message_redelivered() {
    let broker = Broker::new();
    let session = broker.session("a");
    session.declare("q");
    session.publish("q", "0");
    for n in 0..3 {
        let browser = broker.session(&n.to_string());
        browser.browse("q", "b");
        browser.flow("b", 1);
        assert_eq!(browser.received(), ["0"]);
        browser.detach();
    }
    assert_eq!(drained(&broker, "q"), ["0"]);
    assert_eq!(drained(&broker, "q"), ["0*"]);
}

#[test]
fn acquire_gives_browsed_messages_to_the_session() {
    let session = Broker::new().session("a");
    session.declare("q");
    session.publish_many("q", 0, 3);
    session.browse("q", "b");
    session.flow("b", u32::MAX);
    session.told();
    assert_eq!(session.acquire(range(0, 1)), range(0, 1));
    assert_eq!(session.count("q"), 1);
    session.accept(ids([0]));
    session.detach();
    assert_eq!(drained(&session.connection.broker, "q"), ["1*", "2"]);
}

#[test]
fn acquire_names_only_what_was_still_to_be_had() {
    let broker = Broker::new();
    let (session, other) = (broker.session("a"), broker.session("b"));
    session.declare("q");
    session.publish_many("q", 0, 4);
    session.browse("q", "b");
    session.flow("b", u32::MAX);
    session.told();
    other.subscribe("q", "d");
    other.flow("d", 2);
    other.told();
    other.accept(ids([0]));
    assert_eq!(session.acquire(range(0, 10)), range(2, 3));
    assert_eq!(session.acquire(range(0, 10)), SequenceSet::new());
}

#[test]
fn acquire_with_accept_mode_none_takes_the_message_from_the_queue() {
    let session = Broker::new().session("a");
    session.declare("q");
    session.publish("q", "0");
    session.subscribe_with("q", "b", |subscribe| {
        subscribe.acquire_mode = AcquireMode::NOT_ACQUIRED;
        subscribe.accept_mode = AcceptMode::NONE;
    });
    session.flow("b", 1);
    session.told();
    assert_eq!(session.acquire(ids([0])), ids([0]));
    session.detach();
    assert_eq!(drained(&session.connection.broker, "q"), [""; 0]);
}

#[test]
fn expired_messages_are_not_delivered() {
    let broker = Broker::new();
    let session = broker.session("a");
    session.declare("q");
    session.publish_for("q", "short", 50);
    session.publish_for("q", "long", 5000);
    session.publish("q", "for ever");
    broker.pass(50);
    session.subscribe("q", "d");
    session.flow("d", 5);
    assert_eq!(session.received(), ["long", "for ever"]);
    assert_eq!(session.query("q").message_count, 0);
}

#[test]
fn time_to_live_that_is_left_is_told_and_at_least_1() {
    let broker = Broker::new();
    let session = broker.session("a");
    session.declare("q");
    session.publish_for("q", "0", 100);
    session.publish("q", "1");
    broker.pass(99);
    session.subscribe("q", "d");
    session.flow("d", 5);
    let left: Vec<_> = session
        .arrivals()
        .iter()
        .map(|arrived| arrived.ttl)
        .collect();
    assert_eq!(left, [Some(1), None]);
}

#[test]
fn time_to_live_of_0_is_none() {
    let broker = Broker::new();
    let session = broker.session("a");
    session.declare("q");
    session.publish_for("q", "0", 0);
    broker.pass(1 << 60);
    session.subscribe("q", "d");
    session.flow("d", 1);
    assert_eq!(session.received(), ["0"]);
}

#[test]
fn huge_times_to_live_never_run_out() {
    let broker = Broker::new();
    broker.pass(12_345);
    let session = broker.session("a");
    session.declare("q");
    session.publish_for("q", "half", 1 << 63);
    session.publish_for("q", "whole", u64::MAX);
    session.publish_for("q", "nearly", u64::MAX - 1);
    broker.pass(1 << 62);
    session.subscribe("q", "d");
    session.flow("d", 5);
    assert_eq!(session.received(), ["half", "whole", "nearly"]);
}

#[test]
fn message_that_expires_while_it_is_delivered_can_still_be_accepted() {
    let broker = Broker::new();
    let session = broker.session("a");
    session.declare("q");
    session.publish_for("q", "0", 50);
    session.subscribe("q", "d");
    session.flow("d", 1);
    assert_eq!(session.received(), ["0"]);
    broker.pass(600_000);
    broker.sequencer(Command::Tick);
    session.accept(ids([0]));
    session.assert_untroubled();
    session.detach();
    assert_eq!(drained(&broker, "q"), [""; 0]);
}

#[test]
fn expired_message_that_comes_back_is_not_delivered() {
    let broker = Broker::new();
    let session = broker.session("a");
    session.declare("q");
    session.publish_for("q", "0", 50);
    session.subscribe("q", "d");
    session.flow("d", 1);
    session.told();
    broker.pass(51);
    session.release(ids([0]));
    session.flow("d", 1);
    session.assert_untroubled();
}

#[test]
fn tick_drops_expired_messages_that_nobody_asks_for() {
    let broker = Broker::new();
    let session = broker.session("a");
    session.declare_limited("q", &[("qpid.max_count", Value::U32(3))]);
    session.publish_for("q", "0", 50);
    session.publish("q", "1");
    session.publish_for("q", "2", 50);
    broker.pass(600_000);
    assert_eq!(session.count("q"), 3);
    broker.sequencer(Command::Tick);
    assert_eq!(session.count("q"), 1);
    session.publish_many("q", 3, 2);
    session.assert_untroubled();
}

#[test]
fn tick_before_its_time_does_nothing() {
    let broker = Broker::new();
    let session = broker.session("a");
    session.declare("q");
    session.publish_for("q", "0", 50);
    let due = broker.core(|core| core.wants().deadline);
    broker.pass(due.0 - 1 - broker.core(|core| core.time().0));
    broker.sequencer(Command::Tick);
    assert_eq!(session.count("q"), 1);
    broker.pass(1);
    broker.sequencer(Command::Tick);
    assert_eq!(session.count("q"), 0);
}

#[test]
fn transfer_to_a_missing_exchange_is_not_found() {
    let session = Broker::new().session("a");
    session.publish_message("nowhere", broker::message("q", "0"));
    let failure = session.failure();
    assert_eq!((failure.code.0, failure.of), (404, (0, 0)));
}

#[test]
fn transfer_that_no_queue_takes_is_completed_and_rejected() {
    let session = Broker::new().session("a");
    let id = session.transfer("", broker::message("nowhere", "0"), AcceptMode::EXPLICIT);
    let code = RejectCode::UNROUTABLE;
    assert_eq!(session.told(), [Told::Rejected(ids([id]), code)]);
    session.assert_untroubled();
}

#[test]
fn transfers_of_one_entry_are_accepted_together_and_before_completion_is_told() {
    let broker = Broker::new();
    let session = broker.session("a");
    session.declare("q");
    broker.in_one_entry(|| {
        session.transfer("", broker::message("q", "0"), AcceptMode::EXPLICIT);
        session.transfer("", broker::message("q", "1"), AcceptMode::NONE);
        session.transfer("", broker::message("q", "2"), AcceptMode::EXPLICIT);
        session.send(ferrymq::broker::Request::Sync);
    });
    assert_eq!(
        session.told(),
        [
            Told::Accepted(ids([1, 3])),
            Told::Completed(range(0, 4), false)
        ]
    );
}

#[test]
fn message_without_header_has_no_key_and_stays_without() {
    let session = Broker::new().session("a");
    session.declare("");
    let bare = broker::Draft {
        header: None,
        body: None,
    };
    session.publish_message("", bare);
    assert_eq!(session.count(""), 1);
}

#[test]
fn acquire_of_every_other_message_names_no_more_than_an_answer_can_carry() {
    let broker = Broker::new();
    let session = broker.session("a");
    session.declare("q");
    let count: u32 = 18_000;
    session.publish_many("q", 0, count);
    session.browse("q", "b");
    session.flow("b", u32::MAX);
    session.told();
    let other = broker.session("b");
    other.browse("q", "b");
    other.flow("b", u32::MAX);
    other.told();
    for first in (0..count).step_by(4000) {
        let odd = (first..count.min(first + 4000)).filter(|n| n % 2 == 1);
        other.acquire(ids(odd));
    }
    let before = session.count("q");
    let acquired = session.acquire(range(0, count));
    assert_eq!(u64::from(before - session.count("q")), acquired.id_count());
    assert!(acquired.ranges().len() <= ferrymq::wire::limits::RANGES_MAX);
}
