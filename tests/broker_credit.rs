//! Credit: how much a subscription is sent.

mod broker;

use broker::{Broker, Session, Told, ids, range};
use ferrymq::wire::{AcceptMode, CommandId, CreditUnit, FlowMode, Map, MessageSubscribe, Value};

const BYTE: CreditUnit = CreditUnit::BYTE;
const MESSAGE: CreditUnit = CreditUnit::MESSAGE;

/// A session with a queue `q` of so many messages, whose bodies are their numbers from 0, and a
/// subscription `d` without credit.
fn subscribed(messages: u32) -> Session {
    let session = Broker::new().session("a");
    session.declare("q");
    session.publish_many("q", 0, messages);
    session.subscribe("q", "d");
    session
}

fn size(queue: &str, body: &str) -> u32 {
    let message = broker::message(queue, body).published("");
    u32::try_from(message.size()).expect("a small message")
}

fn selecting(selector: &str) -> impl FnOnce(&mut MessageSubscribe) {
    let arguments: Map = [("x-apache-selector", Value::Str16(selector.into()))]
        .into_iter()
        .collect();
    move |subscribe| subscribe.arguments = Some(arguments)
}

#[test]
fn subscription_begins_without_credit() {
    let session = subscribed(3);
    session.assert_untroubled();
}

#[test]
fn delivery_needs_credit_in_both_units() {
    let session = subscribed(3);
    session.grant("d", MESSAGE, 2);
    session.assert_untroubled();
    session.grant("d", BYTE, u32::MAX);
    assert_eq!(session.received(), ["0", "1"]);
    let session = subscribed(3);
    session.grant("d", BYTE, u32::MAX);
    session.assert_untroubled();
    session.grant("d", MESSAGE, 2);
    assert_eq!(session.received(), ["0", "1"]);
}

#[test]
fn credit_of_several_flows_adds_up() {
    let session = subscribed(5);
    session.flow("d", 1);
    session.grant("d", MESSAGE, 2);
    assert_eq!(session.received(), ["0", "1", "2"]);
}

#[test]
fn credit_without_end_stays_so() {
    let session = subscribed(300);
    session.flow("d", u32::MAX);
    session.grant("d", MESSAGE, 1);
    assert_eq!(session.received().len(), 300);
    session.publish("q", "last");
    assert_eq!(session.received(), ["last"]);
}

#[test]
fn octets_are_counted_with_the_header() {
    let session = subscribed(3);
    session.grant("d", MESSAGE, u32::MAX);
    session.grant("d", BYTE, 2 * size("q", "0") - 1);
    assert_eq!(session.received(), ["0"]);
    session.grant("d", BYTE, 1);
    assert_eq!(session.received(), ["1"]);
}

#[test]
fn message_that_is_larger_than_the_credit_is_not_skipped() {
    let session = Broker::new().session("a");
    session.declare("q");
    session.publish("q", &"x".repeat(100));
    session.publish("q", "1");
    session.subscribe("q", "d");
    session.grant("d", MESSAGE, 5);
    session.grant("d", BYTE, size("q", "1"));
    session.assert_untroubled();
    session.grant("d", BYTE, 100 + size("q", ""));
    assert_eq!(session.received().len(), 2);
}

#[test]
fn window_credit_returns_on_completion_not_on_accept() {
    let session = subscribed(5);
    session.flow("d", 2);
    assert_eq!(session.received(), ["0", "1"]);
    session.accept(range(0, 1));
    assert_eq!(session.received(), [""; 0]);
    session.complete(ids([0]));
    assert_eq!(session.received(), ["2"]);
    session.complete(ids([1]));
    assert_eq!(session.received(), ["3"]);
}

#[test]
fn window_credit_returns_for_messages_that_were_rejected() {
    let session = subscribed(20);
    session.flow("d", 10);
    assert_eq!(session.received().len(), 10);
    session.reject(range(0, 9));
    session.complete(range(0, 9));
    assert_eq!(session.received().len(), 10);
}

#[test]
fn window_credit_returns_with_one_message_and_octets_without_end() {
    let session = subscribed(100);
    session.flow("d", 1);
    for n in 0..100 {
        assert_eq!(session.received(), [n.to_string()]);
        session.complete(ids([n]));
    }
}

#[test]
fn window_credit_in_octets_returns_what_the_message_cost() {
    let session = subscribed(5);
    session.grant("d", MESSAGE, u32::MAX);
    session.grant("d", BYTE, size("q", "0"));
    for n in 0..5 {
        assert_eq!(session.received(), [n.to_string()]);
        session.complete(ids([n]));
    }
}

#[test]
fn window_credit_returns_once_however_often_completion_is_told() {
    let session = subscribed(5);
    session.flow("d", 1);
    session.complete(ids([0]));
    session.complete(ids([0]));
    session.complete(range(0, 0));
    assert_eq!(session.received(), ["0", "1"]);
}

#[test]
fn window_credit_returns_for_accept_mode_none() {
    let session = subscribed(3);
    session.cancel("d");
    session.subscribe_with("q", "d", |subscribe| {
        subscribe.accept_mode = AcceptMode::NONE
    });
    session.flow("d", 1);
    session.complete(ids([0]));
    assert_eq!(session.received(), ["0", "1"]);
}

#[test]
fn completion_of_what_was_never_sent_is_ignored() {
    let session = subscribed(2);
    session.complete(range(0, i32::MAX as u32));
    session.flow("d", 1);
    session.complete(range(1, 1000));
    session.complete(range(0x8000_0000, u32::MAX));
    assert_eq!(session.received(), ["0"]);
    session.complete(range(0, 0));
    assert_eq!(session.received(), ["1"]);
}

#[test]
fn credit_mode_gives_nothing_back() {
    let session = subscribed(5);
    session.set_mode("d", FlowMode::CREDIT);
    session.flow("d", 2);
    assert_eq!(session.received(), ["0", "1"]);
    session.complete(range(0, 1));
    session.accept(range(0, 1));
    session.assert_untroubled();
    session.grant("d", MESSAGE, 1);
    assert_eq!(session.received(), ["2"]);
}

#[test]
fn message_stop_ends_delivery() {
    let session = subscribed(5);
    session.flow("d", 2);
    assert_eq!(session.received(), ["0", "1"]);
    session.stop("d");
    session.publish("q", "5");
    session.assert_untroubled();
}

#[test]
fn message_stop_ends_credit_without_end() {
    let session = subscribed(1);
    session.flow("d", u32::MAX);
    assert_eq!(session.received(), ["0"]);
    session.stop("d");
    session.publish("q", "1");
    session.complete(ids([0]));
    session.assert_untroubled();
}

#[test]
fn message_stop_closes_the_window_until_a_new_flow() {
    let session = subscribed(10);
    session.flow("d", 5);
    assert_eq!(session.received().len(), 5);
    session.stop("d");
    session.complete(range(0, 4));
    session.assert_untroubled();
    session.flow("d", 5);
    assert_eq!(session.received(), ["5", "6", "7", "8", "9"]);
}

#[test]
fn message_flush_ends_credit() {
    let session = subscribed(1);
    session.flow("d", 5);
    session.flush("d");
    assert_eq!(session.received(), ["0"]);
    session.publish("q", "1");
    session.assert_untroubled();
}

#[test]
fn message_flush_of_an_empty_queue_is_completed_at_once() {
    let session = subscribed(0);
    session.flow("d", 5);
    session.flush("d");
    session.assert_untroubled();
}

#[test]
fn message_flush_that_is_not_done_is_completed_by_cancel() {
    let broker = Broker::new();
    let connection = broker.connection_with(broker::MEMBER, 1, u64::MAX);
    let session = connection.session("a");
    session.declare("q");
    session.publish_many("q", 0, 3);
    session.subscribe("q", "d");
    session.flow("d", 3);
    let flush = session.flush("d");
    session.told();
    session.cancel("d");
    let [Told::Completed(commands, _)] = &session.told()[..] else {
        panic!("no completion");
    };
    assert!(commands.contains(CommandId(flush)));
}

#[test]
fn flow_of_an_unknown_unit_is_an_invalid_argument() {
    let session = subscribed(0);
    session.grant("d", CreditUnit(7), 1);
    session.assert_failed(542, "7");
}

#[test]
fn unknown_flow_mode_is_an_invalid_argument() {
    let session = subscribed(0);
    session.set_mode("d", FlowMode(7));
    session.assert_failed(542, "7");
}

#[test]
fn commands_for_an_unknown_destination_are_not_found() {
    let broker = Broker::new();
    let asks: [&dyn Fn(&Session) -> u32; 5] = [
        &|session| session.grant("x", MESSAGE, 1),
        &|session| session.set_mode("x", FlowMode::CREDIT),
        &|session| session.flush("x"),
        &|session| session.stop("x"),
        &|session| session.cancel("x"),
    ];
    for (n, ask) in asks.iter().enumerate() {
        let session = broker.session(&n.to_string());
        ask(&session);
        session.assert_failed(404, "x");
    }
}

#[test]
fn headroom_bounds_deliveries() {
    let broker = Broker::new();
    let connection = broker.connection_with(broker::MEMBER, 3, u64::MAX);
    let session = connection.session("a");
    session.declare("q");
    session.publish_many("q", 0, 10);
    session.subscribe("q", "d");
    session.flow("d", u32::MAX);
    assert_eq!(session.received(), ["0", "1", "2"]);
    session.complete(range(0, 2));
    session.accept(range(0, 2));
    session.assert_untroubled();
    connection.drained(2, 0);
    assert_eq!(session.received(), ["3", "4"]);
}

#[test]
fn headroom_in_octets_is_passed_by_one_message_at_most() {
    let broker = Broker::new();
    let connection = broker.connection_with(broker::MEMBER, u32::MAX, 1);
    let session = connection.session("a");
    session.declare("q");
    session.publish_many("q", 0, 10);
    session.subscribe("q", "d");
    session.flow("d", u32::MAX);
    assert_eq!(session.received(), ["0"]);
    connection.drained(0, 1);
    session.assert_untroubled();
    connection.drained(0, u64::from(size("q", "0")));
    assert_eq!(session.received(), ["1"]);
}

#[test]
fn headroom_never_exceeds_what_the_connection_began_with() {
    let broker = Broker::new();
    let connection = broker.connection_with(broker::MEMBER, 3, 1 << 40);
    connection.drained(u32::MAX, u64::MAX);
    connection.drained(u32::MAX, u64::MAX);
    let session = connection.session("a");
    session.declare("q");
    session.publish_many("q", 0, 10);
    session.subscribe("q", "d");
    session.flow("d", u32::MAX);
    assert_eq!(session.received().len(), 3);
}

#[test]
fn headroom_that_is_raised_is_used_and_never_lowered() {
    let broker = Broker::new();
    let each = u64::from(size("q", "0"));
    let connection = broker.connection_with(broker::MEMBER, 1000, each);
    let session = connection.session("a");
    session.declare("q");
    session.publish_many("q", 0, 10);
    session.subscribe("q", "d");
    session.flow("d", u32::MAX);
    assert_eq!(session.received(), ["0"]);
    connection.holds(3 * each);
    assert_eq!(session.received(), ["1", "2"]);
    connection.holds(each);
    connection.drained(u32::MAX, u64::MAX);
    assert_eq!(session.received(), ["3", "4", "5"]);
}

#[test]
fn slow_connection_leaves_messages_to_others() {
    let broker = Broker::new();
    let slow = broker
        .connection_with(broker::MEMBER, 2, u64::MAX)
        .session("slow");
    let quick = broker.session("quick");
    quick.declare("q");
    slow.subscribe("q", "d");
    quick.subscribe("q", "d");
    slow.flow("d", u32::MAX);
    quick.flow("d", u32::MAX);
    quick.publish_many("q", 0, 100);
    assert_eq!(slow.received().len(), 2);
    assert_eq!(quick.received().len(), 98);
}

#[test]
fn messages_go_round_the_subscriptions_that_have_credit() {
    let session = Broker::new().session("a");
    session.declare("q");
    for name in ["d", "e", "f"] {
        session.subscribe("q", name);
    }
    session.flow("d", 10);
    session.flow("f", 2);
    session.publish_many("q", 0, 6);
    let to: Vec<String> = session
        .arrivals()
        .into_iter()
        .map(|arrived| arrived.destination)
        .collect();
    assert_eq!(to, ["d", "f", "d", "f", "d", "d"]);
}

#[test]
fn sync_frequency_asks_for_a_sync_with_every_so_many() {
    let session = Broker::new().session("a");
    session.declare("q");
    session.subscribe_with("q", "d", |subscribe| {
        let arguments = [("qpid.sync_frequency", Value::I32(3))];
        subscribe.arguments = Some(arguments.into_iter().collect());
    });
    session.flow("d", u32::MAX);
    session.publish_many("q", 0, 7);
    let syncs: Vec<bool> = session
        .arrivals()
        .iter()
        .map(|arrived| arrived.sync)
        .collect();
    assert_eq!(syncs, [false, false, true, false, false, true, false]);
}

#[test]
fn each_flow_mode_has_its_own_credit() {
    let session = subscribed(5);
    session.grant("d", MESSAGE, 2);
    session.set_mode("d", FlowMode::CREDIT);
    session.grant("d", BYTE, u32::MAX);
    session.assert_untroubled();
    session.grant("d", MESSAGE, 1);
    assert_eq!(session.received(), ["0"]);
    session.set_mode("d", FlowMode::WINDOW);
    session.grant("d", BYTE, u32::MAX);
    assert_eq!(session.received(), ["1", "2"]);
}

#[test]
fn window_does_not_grow_by_what_is_completed_after_it_was_opened_anew() {
    let session = subscribed(100);
    for round in 0..5 {
        session.flow("d", 10);
        let first = round * 10;
        if round > 0 {
            // What is not completed still takes room in the window.
            session.assert_untroubled();
            session.complete(range(first - 10, first - 1));
        }
        assert_eq!(session.received().len(), 10);
        session.flush("d");
    }
}

#[test]
fn subscription_short_of_octets_gets_a_smaller_message_once_the_large_one_is_taken() {
    let session = Broker::new().session("a");
    session.declare("q");
    session.subscribe("q", "short");
    session.grant("short", MESSAGE, 5);
    session.grant("short", BYTE, size("q", "1"));
    session.publish("q", &"x".repeat(100));
    session.assert_untroubled();
    session.subscribe("q", "other");
    session.flow("other", 1);
    assert_eq!(session.received().len(), 1);
    session.publish("q", "1");
    let arrivals = session.arrivals();
    assert_eq!(arrivals.len(), 1);
    assert_eq!(arrivals[0].destination, "short");
}

#[test]
fn subscription_short_of_octets_gets_what_stands_behind_a_message_that_expires() {
    let broker = Broker::new();
    let session = broker.session("a");
    session.declare("q");
    session.publish_for("q", &"x".repeat(100), 1000);
    session.publish("q", "1");
    session.subscribe("q", "short");
    session.grant("short", MESSAGE, 5);
    session.grant("short", BYTE, size("q", "1"));
    session.assert_untroubled();
    broker.pass(600_000);
    broker.sequencer(ferrymq::broker::Command::Tick);
    assert_eq!(session.received(), ["1"]);
}

#[test]
fn many_subscriptions_short_of_octets_do_not_keep_the_core_at_work() {
    let broker = Broker::new();
    let session = broker.session("a");
    session.declare("q");
    session.publish("q", &"x".repeat(1000));
    for n in 0..1500 {
        let name = n.to_string();
        broker.in_one_entry(|| {
            session.subscribe("q", &name);
            session.grant(&name, MESSAGE, 5);
            session.grant(&name, BYTE, 500);
        });
    }
    session.assert_untroubled();
    session.purge("q");
    session.publish("q", "1");
    assert_eq!(session.received(), ["1"]);
}

#[test]
fn execution_sync_waits_for_a_flush_before_it_only() {
    let broker = Broker::new();
    broker.hold_work();
    let session = broker.session("a");
    session.declare("q");
    session.publish_many("q", 0, 3000);
    session.subscribe("q", "d");
    let (mut flush, mut sync) = (0, 0);
    broker.in_one_entry(|| {
        sync = session.send(ferrymq::broker::Request::Sync);
        session.flow("d", 2500);
        flush = session.flush("d");
    });
    let told = session.told();
    let Some(Told::Completed(commands, _)) = told.last() else {
        panic!("the sync is not completed");
    };
    assert!(commands.contains(CommandId(sync)));
    assert!(!commands.contains(CommandId(flush)));
    while broker.continue_once() {}
    session.flush_session(false, false, true);
    let told = session.told();
    let Some(Told::Completed(commands, _)) = told.last() else {
        panic!("no completion");
    };
    assert!(commands.contains(CommandId(flush)));
}

#[test]
fn message_flush_finds_a_selected_message_deep_in_the_queue() {
    let session = Broker::new().session("a");
    session.declare("q");
    session.publish_many("q", 0, 5000);
    let wanted = [("colour", Value::Str16("blue".into()))];
    session.publish_message("", broker::message_with_headers("q", "blue", &wanted));
    session.subscribe_with("q", "d", selecting("colour = 'blue'"));
    session.connection.broker.clone().in_one_entry(|| {
        session.flow("d", 1);
        session.flush("d");
    });
    assert_eq!(session.received_among_others(), ["blue"]);
}

#[test]
fn message_flush_is_completed_behind_what_it_sends() {
    let broker = Broker::new();
    let session = broker.session("a");
    session.declare("q");
    session.publish_many("q", 0, 3000);
    session.subscribe("q", "d");
    let mut flush = 0;
    broker.in_one_entry(|| {
        session.flow("d", 2500);
        flush = session.flush("d");
        session.send_with(ferrymq::broker::Request::Sync, true);
    });
    let told = session.told();
    let delivered = told
        .iter()
        .filter(|told| matches!(told, Told::Delivered(_)));
    assert_eq!(delivered.count(), 2500);
    let first_completed = told.iter().position(|told| match told {
        Told::Completed(commands, _) => commands.contains(CommandId(flush)),
        _ => false,
    });
    assert_eq!(first_completed, Some(told.len() - 1));
    let Some(Told::Completed(commands, _)) = told.last() else {
        panic!("not completed");
    };
    assert!(
        commands.contains(CommandId(flush + 1)),
        "the sync behind it too"
    );
}

#[test]
fn message_flush_sends_all_that_credit_allows_of_a_deep_queue() {
    let session = subscribed(5000);
    session.connection.broker.clone().in_one_entry(|| {
        session.flow("d", 4000);
        session.flush("d");
    });
    assert_eq!(session.received_among_others().len(), 4000);
    session.publish("q", "more");
    session.assert_untroubled();
}

#[test]
fn message_flush_waits_for_headroom() {
    let broker = Broker::new();
    let connection = broker.connection_with(broker::MEMBER, 3, u64::MAX);
    let session = connection.session("a");
    session.declare("q");
    session.publish_many("q", 0, 8);
    session.subscribe("q", "d");
    session.flow("d", 6);
    session.flush("d");
    assert_eq!(session.received().len(), 3);
    connection.drained(3, 0);
    assert_eq!(session.received_among_others().len(), 3);
    connection.drained(3, 0);
    session.publish("q", "more");
    session.assert_untroubled();
}
