//! What a peer can make large stays bounded: work of an entry, sets of ids, sizes, copies.

mod broker;

use std::sync::Arc;

use broker::{Broker, Session, ids, range};
use ferrymq::broker::facts::Gathered;
use ferrymq::broker::held::Held;
use ferrymq::broker::ids::{
    ConnectionId, ConnectionKey, ConnectionNumber, GroupTime, MemberId, QueueRef, ShardId,
    SubscriptionId,
};
use ferrymq::broker::limits::WORK_PER_ENTRY_MAX;
use ferrymq::broker::message::{BodyHandle, Stored};
use ferrymq::broker::queue::Queue;
use ferrymq::broker::session::{SessionName, Unsettled};
use ferrymq::broker::subscription::SubscriptionRef;
use ferrymq::broker::{Command, Request, session};
use ferrymq::wire::{AcceptMode, CommandId, FlowMode, SequenceSet, Value};

/// How deep a deep queue is.
const DEEP: u32 = 5000;

/// Entries that so many steps of work take at least.
fn entries(steps: u32) -> u64 {
    u64::from(steps / WORK_PER_ENTRY_MAX)
}

fn deep() -> Session {
    let session = Broker::new().session("a");
    session.declare("q");
    session.publish_many("q", 0, DEEP);
    session
}

fn numbers(range: std::ops::Range<u32>) -> Vec<String> {
    range.map(|number| number.to_string()).collect()
}

#[test]
fn deep_queue_is_delivered_in_several_entries() {
    let session = deep();
    let broker = session.connection.broker.clone();
    broker.hold_work();
    session.subscribe("q", "d");
    session.flow("d", u32::MAX);
    assert!(session.received().len() <= WORK_PER_ENTRY_MAX as usize);
    while broker.continue_once() {}
    assert!(broker.continued() >= entries(DEEP) - 1);
    session.publish("q", "last");
    assert_eq!(
        session.received().len() as u32,
        DEEP - WORK_PER_ENTRY_MAX + 1
    );
}

#[test]
fn deep_queue_is_delivered_in_order() {
    let session = deep();
    session.subscribe("q", "d");
    session.flow("d", u32::MAX);
    assert_eq!(session.received(), numbers(0..DEEP));
}

#[test]
fn deep_queue_is_searched_for_a_selector_in_several_entries() {
    let session = deep();
    let wanted = [("n", Value::I32(1))];
    session.publish_message("", broker::message_with_headers("q", "wanted", &wanted));
    let broker = session.connection.broker.clone();
    session.subscribe_with("q", "d", |subscribe| {
        let arguments = [("x-apache-selector", Value::Str16("n = 1".into()))];
        subscribe.arguments = Some(arguments.into_iter().collect());
    });
    let before = broker.continued();
    session.flow("d", 1);
    assert_eq!(session.received(), ["wanted"]);
    assert!(broker.continued() - before >= entries(DEEP));
}

#[test]
fn large_headers_are_searched_for_a_selector_in_several_entries() {
    let session = Broker::new().session("a");
    session.declare("q");
    let large = Value::Vbin32(vec![
        0;
        64 * usize::try_from(WORK_PER_ENTRY_MAX).expect("small")
    ]);
    for _ in 0..10 {
        let headers = [("large", large.clone())];
        session.publish_message("", broker::message_with_headers("q", "unwanted", &headers));
    }
    let wanted = [("n", Value::I32(1))];
    session.publish_message("", broker::message_with_headers("q", "wanted", &wanted));
    let broker = session.connection.broker.clone();
    session.subscribe_with("q", "d", |subscribe| {
        let arguments = [("x-apache-selector", Value::Str16("n = 1".into()))];
        subscribe.arguments = Some(arguments.into_iter().collect());
    });
    let before = broker.continued();
    session.flow("d", 1);
    assert_eq!(session.received(), ["wanted"]);
    assert!(broker.continued() - before >= 10);
}

#[test]
fn many_messages_are_given_back_in_several_entries_and_in_order() {
    let session = deep();
    let broker = session.connection.broker.clone();
    session.subscribe("q", "d");
    session.flow("d", u32::MAX);
    assert_eq!(session.received().len() as u32, DEEP);
    let other = broker.session("b");
    other.subscribe("q", "d");
    other.flow("d", u32::MAX);
    let before = broker.continued();
    session.connection.end();
    assert!(broker.continued() - before >= entries(DEEP));
    let expected: Vec<String> = (0..DEEP).map(|number| format!("{number}*")).collect();
    assert_eq!(other.received(), expected);
}

#[test]
fn session_that_is_giving_back_is_detached_when_it_has_done_so() {
    let session = deep();
    let broker = session.connection.broker.clone();
    session.subscribe("q", "d");
    session.flow("d", u32::MAX);
    session.told();
    broker.hold_work();
    session.detach();
    session.publish("q", "never");
    assert_eq!(session.told(), []);
    while broker.continue_once() {}
    assert_eq!(session.told().len(), 1);
    assert_eq!(broker.session("b").count("q"), DEEP);
}

#[test]
fn purge_of_a_deep_queue_takes_several_entries_and_is_seen_at_once() {
    let session = deep();
    let broker = session.connection.broker.clone();
    session.subscribe("q", "d");
    session.flow("d", 10);
    session.told();
    broker.hold_work();
    session.purge("q");
    assert_eq!(session.count("q"), 0);
    session.publish("q", "next");
    while broker.continue_once() {}
    assert!(broker.continued() >= entries(DEEP) - 1);
    session.release(range(0, 9));
    session.flow("d", u32::MAX);
    let mut expected = numbers(0..10);
    expected.push("next".into());
    assert_eq!(session.received(), expected);
}

#[test]
fn deep_queue_is_rerouted_in_several_entries_and_loses_nothing() {
    let session = Broker::new().session("a");
    let broker = session.connection.broker.clone();
    session.declare("dead");
    session.bind("amq.fanout", "dead", "", &[]);
    session.declare_with("q", |declare| {
        declare.alternate_exchange = Some("amq.fanout".into());
    });
    session.publish_many("q", 0, DEEP);
    broker.hold_work();
    session.delete("q");
    assert!(session.count("dead") <= WORK_PER_ENTRY_MAX);
    while broker.continue_once() {}
    assert!(broker.continued() >= entries(DEEP) - 1);
    session.subscribe("dead", "d");
    session.flow("d", u32::MAX);
    while broker.continue_once() {}
    assert_eq!(session.received(), numbers(0..DEEP));
}

#[test]
fn expired_messages_of_a_deep_queue_are_dropped_in_several_entries() {
    let broker = Broker::new();
    let session = broker.session("a");
    session.declare("q");
    for first in (0..DEEP).step_by(250) {
        broker.in_one_entry(|| {
            for n in first..first + 250 {
                session.publish_for("q", &n.to_string(), u64::from(1 + n % 2 * 10_000_000));
            }
        });
    }
    broker.pass(600_000);
    let before = broker.continued();
    broker.sequencer(Command::Tick);
    assert!(broker.continued() - before >= entries(DEEP) - 1);
    assert_eq!(session.count("q"), DEEP / 2);
}

#[test]
fn several_works_are_done_one_after_the_other() {
    let session = Broker::new().session("a");
    let broker = session.connection.broker.clone();
    for queue in ["q", "r", "s"] {
        session.declare(queue);
        session.publish_many(queue, 0, 3000);
    }
    session.subscribe("q", "d");
    session.flow("d", u32::MAX);
    session.told();
    broker.hold_work();
    let other = broker.session("b");
    other.subscribe("r", "d");
    broker.in_one_entry(|| {
        session.detach();
        other.flow("d", 2000);
        other.purge("s");
        other.delete("s");
    });
    while broker.continue_once() {}
    assert_eq!(other.received(), numbers(0..2000));
    assert_eq!(other.count("q"), 3000);
    assert!(!other.has_queue("s"));
}

#[test]
fn sets_of_half_of_all_ids_are_cheap() {
    let session = Broker::new().session("a");
    session.declare("q");
    session.publish_many("q", 0, 100);
    session.subscribe("q", "d");
    session.set_mode("d", FlowMode::CREDIT);
    session.flow("d", 100);
    session.told();
    let half = || range(0, i32::MAX as u32);
    for _ in 0..100 {
        session.accept(range(0x4000_0000, 0x7fff_ffff));
        session.accept(range(0x8000_0000, u32::MAX));
        session.complete(half());
        session.know_completed(half());
        session.acquire(range(1 << 31, u32::MAX));
    }
    session.release(half());
    assert_eq!(session.count("q"), 100);
    session.flow("d", u32::MAX);
    assert_eq!(session.told().len(), 100);
    session.accept(half());
    assert_eq!(session.query("q").message_count, 0);
    session.detach();
    assert_eq!(session.connection.session("b").count("q"), 0);
}

#[test]
fn settling_each_other_message_by_ranges_settles_no_other() {
    let session = deep();
    session.subscribe("q", "d");
    session.flow("d", u32::MAX);
    session.told();
    for first in (0..DEEP).step_by(5000) {
        session.accept(ids((first..first + 5000).filter(|id| id % 2 == 0)));
    }
    session.detach();
    let other = session.connection.session("b");
    assert_eq!(other.count("q"), DEEP / 2);
    other.subscribe("q", "d");
    other.flow("d", 3);
    assert_eq!(other.received(), ["1*", "3*", "5*"]);
}

#[test]
fn subscriptions_by_the_thousand_end_with_their_session() {
    let broker = Broker::new();
    let connection = broker.connection_with(broker::MEMBER, 1, u64::MAX);
    let (session, other) = (connection.session("a"), broker.session("b"));
    other.declare("q");
    other.publish_many("q", 0, 3);
    for first in (0..5000).step_by(100) {
        broker.in_one_entry(|| {
            for n in first..first + 100 {
                let name = n.to_string();
                session.subscribe("q", &name);
                session.flow(&name, 1);
            }
        });
    }
    assert_eq!(session.received(), ["0"]);
    session.detach();
    other.subscribe("q", "d");
    other.flow("d", u32::MAX);
    assert_eq!(other.received(), ["0*", "1", "2"]);
    assert_eq!(other.query("q").subscriber_count, 1);
}

#[test]
fn subscriptions_that_come_and_go_leave_nothing_behind() {
    let session = Broker::new().session("a");
    let broker = session.connection.broker.clone();
    session.declare("q");
    let size = || broker.core(|core| core.freeze().encode().state.len());
    session.subscribe("q", "stays");
    session.flow("stays", 5);
    let cycle = || {
        session.subscribe("q", "d");
        session.flow("d", 5);
        session.browse("q", "b");
        session.flow("b", 5);
        session.cancel("d");
        session.cancel("b");
    };
    (0..5).for_each(|_| cycle());
    let before = size();
    (0..500).for_each(|_| cycle());
    assert!(size() < before + 1000);
    session.publish("q", "0");
    assert_eq!(session.received(), ["0"]);
}

#[test]
fn released_messages_cost_many_selecting_subscriptions_one_look_back() {
    let broker = Broker::new();
    let session = broker.session("a");
    session.declare("q");
    session.publish_many("q", 0, 3000);
    session.subscribe("q", "d");
    session.flow("d", u32::MAX);
    session.told();
    session.cancel("d");
    let other = broker.session("b");
    for first in (0..2000).step_by(100) {
        broker.in_one_entry(|| {
            for n in first..first + 100 {
                other.subscribe_with("q", &n.to_string(), |subscribe| {
                    let arguments = [("x-apache-selector", Value::Str16("n = 1".into()))];
                    subscribe.arguments = Some(arguments.into_iter().collect());
                });
            }
        });
    }
    session.release(range(0, 2999));
    assert_eq!(other.count("q"), 3000);
    other.assert_untroubled();
}

#[test]
fn command_is_small_enough_to_be_moved() {
    assert!(size_of::<Command>() <= 96, "{}", size_of::<Command>());
    assert!(size_of::<Request>() <= 80, "{}", size_of::<Request>());
}

#[test]
fn freeze_copies_no_message_and_no_entry() {
    let broker = Broker::new().without_comparing();
    let session = broker.session("a");
    session.declare("q");
    let message = Arc::new(broker::message("q", "shared").published(""));
    for _ in 0..1000 {
        broker.in_one_entry(|| {
            for _ in 0..100 {
                session.send(Request::Transfer {
                    destination: "".into(),
                    accept_mode: AcceptMode::NONE,
                    message: message.clone(),
                });
            }
        });
    }
    let before = Arc::strong_count(&message);
    assert!(before >= 100_000);
    let frozen = broker.core(ferrymq::broker::Core::freeze);
    assert_eq!(Arc::strong_count(&message), before, "entries were copied");
    // What is changed while it is frozen copies the block that it is in.
    session.subscribe("q", "d");
    session.flow("d", 1);
    assert!(Arc::strong_count(&message) <= before + 200);
    drop(frozen);
}

#[test]
fn clone_of_a_queue_shares_its_entries() {
    let reference = QueueRef::default();
    let mut queue = Queue::new("q".into(), reference);
    let message = Arc::new(broker::message("q", "shared").published(""));
    for n in 0..100_000 {
        let handle = BodyHandle {
            shard: ShardId(0),
            index: n,
            n: 0,
        };
        let message = message.clone();
        queue.enqueue(
            Stored {
                handle,
                publisher: ConnectionKey::default(),
                message,
            },
            GroupTime::NEVER,
            &mut Held::default(),
            &mut Gathered::default(),
        );
    }
    let clone = queue.clone();
    assert_eq!(Arc::strong_count(&message), 100_001);
    assert_eq!(clone.entries.len(), 100_000);
}

#[test]
fn many_rejected_messages_are_rerouted_in_several_entries_and_in_order() {
    let session = Broker::new().session("a");
    let broker = session.connection.broker.clone();
    session.declare("dead");
    session.bind("amq.fanout", "dead", "", &[]);
    session.declare_with("q", |declare| {
        declare.alternate_exchange = Some("amq.fanout".into());
    });
    session.publish_many("q", 0, DEEP);
    session.subscribe("q", "d");
    session.flow("d", u32::MAX);
    session.told();
    broker.hold_work();
    session.reject(range(0, DEEP));
    assert!(session.count("dead") <= WORK_PER_ENTRY_MAX);
    while broker.continue_once() {}
    session.subscribe("dead", "e");
    session.flow("e", u32::MAX);
    while broker.continue_once() {}
    assert_eq!(session.received(), numbers(0..DEEP));
}

#[test]
fn rerouting_to_many_queues_costs_a_step_for_each() {
    let session = Broker::new().session("a");
    let broker = session.connection.broker.clone();
    for n in 0..100 {
        let queue = n.to_string();
        session.declare(&queue);
        session.bind("amq.fanout", &queue, "", &[]);
    }
    session.declare_with("q", |declare| {
        declare.alternate_exchange = Some("amq.fanout".into());
    });
    session.publish_many("q", 0, 200);
    let before = broker.continued();
    session.delete("q");
    assert!(broker.continued() - before >= entries(200 * 100) - 1);
    assert_eq!((session.count("0"), session.count("99")), (200, 200));
}

#[test]
fn delivery_that_stays_open_for_more_than_half_of_all_ids_hides_no_later_one() {
    let name = SessionName {
        user: "guest".into(),
        name: Arc::from(&b"a"[..]),
    };
    let key = ConnectionKey {
        member: MemberId(1),
        number: ConnectionNumber(1),
    };
    let mut session = session::Session::new(name, (key, ConnectionId(0)), 1);
    let unsettled = |position| Unsettled {
        queue: QueueRef::default(),
        position,
        subscription: SubscriptionRef {
            id: SubscriptionId(0),
            incarnation: 1,
        },
        room: Default::default(),
        is_acquired: true,
        is_in_transaction: false,
        is_implicit: false,
        awaits_completion: false,
    };
    let late = (1 << 33) + 5;
    session.unsettled.push_at(7, unsettled(1));
    session.unsettled.push_at(late, unsettled(2));
    session.outgoing_next = late + 1;
    let named = SequenceSet::of(CommandId(late as u32));
    assert_eq!(session.unsettled_ranges(&named), [(late, late)]);
}
