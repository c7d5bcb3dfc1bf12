//! What is a fact and what is not, and what a restart makes of facts.

mod broker;

use broker::durable::{At, durable, recovered};
use broker::scenes::{persist, persist_for, persistent, restarted};
use broker::{Broker, Session, ids, range};
use ferrymq::broker::facts::{Dequeued, Fact, FactRecord, Positions};
use ferrymq::broker::ids::{QueueKey, ShardId};
use ferrymq::broker::{Command, Options, Recovery};
use ferrymq::wire::{AcceptMode, Value};

fn durable_queue(session: &Session, queue: &str) {
    session.declare_with(queue, |declare| declare.durable = true);
}

fn durable_queue_with_alternate(session: &Session, queue: &str, alternate: &str) {
    session.declare_with(queue, |declare| {
        declare.durable = true;
        declare.alternate_exchange = Some(alternate.into());
    });
}

fn persist_to(session: &Session, exchange: &str, key: &str, body: &str) {
    session.publish_message(exchange, persistent(key, body, None));
}

fn persist_many(session: &Session, queue: &str, count: usize) {
    session.connection.broker.together(|| {
        for number in 0..count {
            persist(session, queue, &number.to_string());
        }
    });
}

/// The records of what `act` does.
fn facts_of(broker: &Broker, act: impl FnOnce()) -> Vec<FactRecord> {
    let before = broker.facts().len();
    act();
    broker.facts().split_off(before)
}

/// The facts of what `act` does, which is one record.
#[track_caller]
fn record_of(broker: &Broker, act: impl FnOnce()) -> Vec<Fact> {
    let mut records = facts_of(broker, act);
    assert_eq!(records.len(), 1, "{records:?}");
    records.remove(0).facts
}

/// Everything that a queue holds, taken.
fn drained(session: &Session, queue: &str) -> Vec<String> {
    session.subscribe(queue, "drain");
    session.flow("drain", u32::MAX);
    let received = session.received();
    session.cancel("drain");
    received
}

fn places(fact: &Fact) -> Vec<At> {
    match fact {
        Fact::Enqueued(fact) => {
            let places = fact.places.iter();
            places.map(|place| (place.queue, place.position)).collect()
        }
        other => panic!("no message came: {other:?}"),
    }
}

fn dequeued(fact: &Fact) -> &Dequeued {
    match fact {
        Fact::Dequeued(fact) => fact,
        other => panic!("no message left: {other:?}"),
    }
}

// What is a fact.

#[test]
fn what_need_not_survive_gives_no_facts() {
    let broker = Broker::new();
    let session = broker.session("a");
    durable_queue(&session, "q");
    let records = facts_of(&broker, || {
        session.declare("t");
        session.bind("amq.fanout", "t", "", &[]);
        session.declare_exchange("e", "topic", None);
        session.bind("e", "q", "#", &[]);
        session.publish_many("q", 0, 10);
        persist(&session, "t", "persistent, but its queue is not");
        session.subscribe("q", "d");
        session.flow("d", 5);
        session.accept(range(0, 1));
        session.release(ids([2]));
        session.reject(ids([3]));
        session.purge("q");
        session.purge("t");
        session.unbind("e", "q", "#");
        let scope = [("x-scope", Value::Str16("session".into()))];
        session.bind("amq.topic", "q", "a", &scope);
        session.unbind("amq.topic", "q", "a");
        session.bind("amq.topic", "q", "b", &scope);
        session.delete_exchange("e");
        session.delete("t");
        broker.pass(5);
        broker.sequencer(Command::Tick);
    });
    assert_eq!(records, []);
}

#[test]
fn message_is_one_fact_however_many_durable_queues_it_comes_to() {
    let broker = Broker::new();
    let session = broker.session("a");
    for queue in ["q", "r"] {
        durable_queue(&session, queue);
    }
    session.declare("t");
    for queue in ["q", "t", "r"] {
        session.bind("amq.fanout", queue, "", &[]);
    }
    let facts = record_of(&broker, || persist_to(&session, "amq.fanout", "", "body"));
    let [fact] = facts.as_slice() else {
        panic!("{facts:?}")
    };
    assert_eq!(places(fact), [(QueueKey(1), 1), (QueueKey(2), 1)]);
}

#[test]
fn message_that_comes_and_goes_in_a_batch_leaves_no_fact() {
    let broker = Broker::new();
    let session = broker.session("a");
    for queue in ["q", "r"] {
        durable_queue(&session, queue);
        session.bind("amq.fanout", queue, "", &[]);
    }
    session.subscribe_with("q", "d", |subscribe| {
        subscribe.accept_mode = AcceptMode::NONE;
    });
    session.flow("d", u32::MAX);
    assert_eq!(facts_of(&broker, || persist(&session, "q", "one")), []);
    let facts = record_of(&broker, || persist_to(&session, "amq.fanout", "", "two"));
    let [fact] = facts.as_slice() else {
        panic!("{facts:?}")
    };
    assert_eq!(places(fact), [(QueueKey(2), 1)]);
    let records = facts_of(&broker, || {
        broker.in_one_entry(|| {
            persist(&session, "r", "three");
            session.purge("r");
        });
    });
    assert_eq!(records.len(), 1);
    assert_eq!(dequeued(&records[0].facts[0]).before, 3);
    let records = facts_of(&broker, || {
        broker.in_one_entry(|| {
            persist(&session, "r", "four");
            session.purge("r");
        });
    });
    assert_eq!(records, []);
}

#[test]
fn messages_that_leave_are_said_in_ranges() {
    let broker = Broker::new();
    let session = broker.session("a");
    durable_queue(&session, "q");
    persist_many(&session, "q", 200);
    session.subscribe("q", "d");
    session.flow("d", 150);
    let facts = record_of(&broker, || {
        session.accept(range(0, 19));
    });
    assert_eq!(dequeued(&facts[0]).positions, Positions(vec![(1, 20)]));
    let facts = record_of(&broker, || {
        session.accept(ids([30, 31, 33]));
    });
    let positions = Positions(vec![(31, 32), (34, 34)]);
    assert_eq!(dequeued(&facts[0]).positions, positions);
    let facts = record_of(&broker, || {
        session.accept(range(20, 129));
    });
    // What stands behind the gap-free beginning is named; that is said in one number.
    assert_eq!(dequeued(&facts[0]).before, 128);
    assert_eq!(dequeued(&facts[0]).positions, Positions(vec![(128, 130)]));
}

#[test]
fn purge_of_a_deep_queue_is_a_small_fact() {
    let broker = Broker::new();
    let session = broker.session("a");
    durable_queue(&session, "q");
    persist_many(&session, "q", 3000);
    let facts = record_of(&broker, || {
        session.purge("q");
    });
    let [Fact::Dequeued(fact)] = facts.as_slice() else {
        panic!("{facts:?}")
    };
    assert_eq!((fact.before, fact.positions.0.len()), (3001, 0));
}

#[test]
fn purge_names_no_message_that_is_acquired() {
    let broker = Broker::new();
    let session = broker.session("a");
    durable_queue(&session, "q");
    persist_many(&session, "q", 10);
    session.subscribe("q", "d");
    session.flow("d", 5);
    session.release(ids([0, 3]));
    session.purge("q");
    let (_, session) = restarted(&broker);
    assert_eq!(drained(&session, "q"), ["1*", "2*", "4*"]);
}

#[test]
fn ranges_that_overlap_are_one() {
    let broker = Broker::new();
    let session = broker.session("a");
    durable_queue(&session, "q");
    persist_many(&session, "q", 10);
    session.subscribe("q", "d");
    session.flow("d", 9);
    session.release(ids([0, 2, 3, 4, 5, 6, 7]));
    // Position 2 is acquired and accepted, position 9 is acquired and stays.
    broker.in_one_entry(|| {
        session.accept(ids([1]));
        session.purge("q");
    });
    let (_, session) = restarted(&broker);
    assert_eq!(drained(&session, "q"), ["8*"]);
}

#[test]
fn transaction_is_one_record_at_its_commit() {
    let broker = Broker::new();
    let (session, other) = (broker.session("a"), broker.session("b"));
    for queue in ["q", "r"] {
        durable_queue(&session, queue);
    }
    persist(&other, "r", "accepted");
    session.subscribe("r", "d");
    session.flow("d", 1);
    let records = facts_of(&broker, || {
        session.select();
        persist(&session, "q", "one");
        persist(&session, "r", "two");
        session.accept(ids([0]));
    });
    assert_eq!(records, [], "an open transaction is no fact");
    let facts = record_of(&broker, || session.commit());
    assert_eq!(facts.len(), 3, "{facts:?}");
    let (_, session) = restarted(&broker);
    assert_eq!(drained(&session, "q"), ["one*"]);
    assert_eq!(drained(&session, "r"), ["two*"]);
}

#[test]
fn transaction_that_is_not_committed_is_no_fact() {
    for ends_by_rollback in [true, false] {
        let broker = Broker::new();
        let session = broker.session("a");
        durable_queue(&session, "q");
        persist(&session, "q", "before");
        session.subscribe("q", "d");
        session.flow("d", 1);
        let records = facts_of(&broker, || {
            session.select();
            persist(&session, "q", "never");
            session.accept(ids([0]));
            match ends_by_rollback {
                true => session.rollback(),
                false => session.connection.end(),
            }
        });
        assert_eq!(records, []);
        let (_, session) = restarted(&broker);
        assert_eq!(drained(&session, "q"), ["before*"]);
    }
}

#[test]
fn rejected_message_moves_in_one_record() {
    let broker = Broker::new();
    let session = broker.session("a");
    durable_queue(&session, "dead");
    session.bind("amq.fanout", "dead", "", &[]);
    durable_queue_with_alternate(&session, "q", "amq.fanout");
    persist(&session, "q", "body");
    session.subscribe("q", "d");
    session.flow("d", 1);
    let facts = record_of(&broker, || {
        session.reject(ids([0]));
    });
    let [enqueued, left] = facts.as_slice() else {
        panic!("{facts:?}")
    };
    assert_eq!(places(enqueued), [(QueueKey(1), 1)]);
    assert_eq!(dequeued(left).queue, QueueKey(2));
}

#[test]
fn rerouting_large_messages_is_spread_over_entries() {
    let broker = Broker::new();
    let session = broker.session("a");
    durable_queue(&session, "dead");
    session.bind("amq.fanout", "dead", "", &[]);
    durable_queue_with_alternate(&session, "q", "amq.fanout");
    let body = "x".repeat(1 << 20);
    for _ in 0..30 {
        persist(&session, "q", &body);
    }
    broker.hold_work();
    let first = record_of(&broker, || {
        session.delete("q");
    });
    let moved = first.iter().filter(|f| matches!(f, Fact::Enqueued(_)));
    assert_eq!(
        moved.count(),
        16,
        "16 MiB, and the message that it ends with"
    );
    broker.work();
    assert_eq!(session.count("dead"), 30);
}

// What a restart makes of facts.

#[test]
fn recovered_messages_are_in_order_and_flagged_redelivered() {
    let broker = Broker::new();
    let session = broker.session("a");
    durable_queue(&session, "q");
    for body in ["1", "2", "3", "4"] {
        persist(&session, "q", body);
        session.publish("q", "not durable");
    }
    // The first is accepted, the third is held, as the broker dies.
    session.subscribe("q", "d");
    session.flow("d", 5);
    session.accept(ids([0]));
    let (_, session) = restarted(&broker);
    persist(&session, "q", "5");
    assert_eq!(session.count("q"), 4);
    assert_eq!(drained(&session, "q"), ["2*", "3*", "4*", "5"]);
}

#[test]
fn recovered_message_is_the_one_that_was_sent() {
    let broker = Broker::new();
    let session = broker.session("a");
    durable_queue(&session, "q");
    let body = "long ".repeat(1000);
    persist_for(&session, "q", &body, 1000);
    let (before, _) = broker.core(durable);
    let (after, _) = broker.restarted().core(durable);
    assert_eq!(before, after);
    assert!(
        after
            .messages
            .values()
            .all(|held| held.body == body.as_bytes())
    );
}

#[test]
fn time_to_live_goes_on_while_the_broker_is_down() {
    let broker = Broker::new();
    let session = broker.session("a");
    broker.pass(100);
    durable_queue(&session, "dead");
    session.bind("amq.fanout", "dead", "", &[]);
    durable_queue_with_alternate(&session, "q", "amq.fanout");
    persist_for(&session, "q", "short", 50);
    persist_for(&session, "q", "long", 500);
    persist(&session, "q", "for ever");
    let again = broker.restarted_with(broker.facts(), 60);
    let dropped = facts_of(&again, || again.work());
    assert_eq!(dropped.len(), 1, "that it has left is a fact");
    let session = again.session("again");
    assert_eq!(session.count("q"), 2);
    session.subscribe("q", "d");
    session.flow("d", u32::MAX);
    let arrivals = session.arrivals();
    let arrived: Vec<_> = arrivals.iter().map(|a| (a.body.as_str(), a.ttl)).collect();
    assert_eq!(arrived, [("long", Some(440)), ("for ever", None)]);
    assert_eq!(session.count("dead"), 0);
}

#[test]
fn rejected_messages_go_on_to_the_alternate_exchange_after_a_restart() {
    let broker = Broker::new();
    let session = broker.session("a");
    durable_queue(&session, "dead");
    session.bind("amq.fanout", "dead", "", &[]);
    durable_queue_with_alternate(&session, "q", "amq.fanout");
    persist_many(&session, "q", 2000);
    session.subscribe("q", "d");
    session.flow("d", 1900);
    broker.hold_work();
    session.reject(range(0, 1899));
    let (moved, _) = broker.core(durable);
    assert!(moved.rejected.len() > 1000, "too little to go on with");
    session.purge("q");
    let (again, session) = restarted(&broker);
    assert_eq!((session.count("q"), session.count("dead")), (0, 1900));
    let (after, _) = again.core(durable);
    assert_eq!(after.rejected.len(), 0);
    let dead = drained(&session, "dead");
    assert!(
        dead.iter()
            .enumerate()
            .all(|(n, body)| body.trim_end_matches('*') == n.to_string())
    );
}

#[test]
fn messages_of_a_deleted_queue_go_on_to_the_alternate_exchange_after_a_restart() {
    let broker = Broker::new();
    let session = broker.session("a");
    session.declare_exchange_with("e", "fanout", |declare| declare.durable = true);
    durable_queue(&session, "dead");
    session.bind("e", "dead", "", &[]);
    durable_queue_with_alternate(&session, "q", "e");
    persist_many(&session, "q", 2000);
    broker.hold_work();
    session.delete("q");
    let (moved, _) = broker.core(durable);
    assert_eq!(moved.rerouting.len(), 1);
    let again = broker.restarted();
    let session = again.session("again");
    session.delete_exchange("e");
    session.assert_failed(530, "in use as alternate-exchange");
    again.work();
    let session = again.session("later");
    assert!(!session.has_queue("q"));
    assert_eq!(session.count("dead"), 2000);
    session.delete_exchange("e");
    assert!(session.query_exchange("e").not_found);
}

#[test]
fn what_is_used_again_after_a_restart_is_never_a_position_or_a_key() {
    let broker = Broker::new();
    let session = broker.session("a");
    durable_queue(&session, "q");
    durable_queue(&session, "gone");
    persist_many(&session, "gone", 3);
    session.delete("gone");
    persist_many(&session, "q", 3);
    session.subscribe("q", "d");
    session.flow("d", 3);
    session.accept(range(0, 2));
    let mut broker = broker;
    for life in 1..4 {
        let (again, session) = restarted(&broker);
        durable_queue(&session, &format!("of life {life}"));
        persist(&session, "q", &life.to_string());
        broker = again;
    }
    let (_, session) = restarted(&broker);
    assert_eq!(drained(&session, "q"), ["1*", "2*", "3*"]);
    let (after, _) = broker.core(durable);
    let mut keys: Vec<u64> = after.queues.iter().map(|queue| queue.queue.0).collect();
    keys.dedup();
    assert!(keys.len() == 4 && keys[1] > 2, "{keys:?}");
    let mut handles: Vec<_> = after.messages.values().map(|held| held.handle).collect();
    handles.dedup();
    assert_eq!(handles.len(), 3);
}

#[test]
fn group_time_and_index_go_on_after_a_restart() {
    let broker = Broker::new();
    let session = broker.session("a");
    broker.pass(1000);
    durable_queue(&session, "q");
    let (index, time) = broker.core(|core| (core.index(), core.time()));
    let again = broker.restarted_with(broker.facts(), 234);
    let after = again.core(|core| (core.index(), core.time()));
    assert_eq!(after, (index, time.plus(234)));
}

#[test]
fn durable_exclusive_queue_belongs_to_nobody_after_a_restart() {
    let broker = Broker::new();
    let session = broker.session("a");
    session.declare_with("q", |declare| {
        (declare.durable, declare.exclusive) = (true, true);
    });
    let (_, session) = restarted(&broker);
    let query = session.query("q");
    assert!(query.durable && !query.exclusive);
    session.declare_with("q", |declare| declare.exclusive = true);
    assert!(session.query("q").exclusive);
}

#[test]
fn durable_auto_delete_queue_stays_after_a_restart_until_it_was_used() {
    let broker = Broker::new();
    let session = broker.session("a");
    session.declare_with("q", |declare| {
        (declare.durable, declare.auto_delete) = (true, true);
    });
    session.subscribe("q", "d");
    let (again, session) = restarted(&broker);
    assert!(session.query("q").auto_delete);
    session.subscribe("q", "d");
    session.cancel("d");
    assert!(!session.has_queue("q"));
    let (_, session) = restarted(&again);
    assert!(!session.has_queue("q"));
}

#[test]
fn alternate_exchange_that_is_not_durable_is_none_after_a_restart() {
    let broker = Broker::new();
    let session = broker.session("a");
    session.declare_exchange("t", "fanout", None);
    session.declare_exchange_with("e", "topic", |declare| {
        declare.durable = true;
        declare.alternate_exchange = Some("t".into());
    });
    durable_queue_with_alternate(&session, "q", "t");
    persist_many(&session, "q", 10);
    session.subscribe("q", "d");
    session.flow("d", 5);
    session.reject(range(0, 4));
    let (_, session) = restarted(&broker);
    assert_eq!(session.query("q").alternate_exchange, None);
    assert!(session.query_exchange("t").not_found);
    assert!(session.query_exchange("e").durable);
    assert_eq!(session.count("q"), 5);
}

#[test]
fn limits_hold_after_a_restart() {
    let broker = Broker::with(Options {
        default_queue_limit: 1000,
        ..Options::default()
    });
    let session = broker.session("a");
    session.declare_with("counted", |declare| {
        declare.durable = true;
        let limit = [
            ("qpid.max_count", Value::U32(3)),
            ("qpid.flow_stop_count", Value::U32(0)),
        ];
        declare.arguments = Some(limit.into_iter().collect());
    });
    durable_queue(&session, "sized");
    persist_many(&session, "counted", 2);
    persist(&session, "sized", &"x".repeat(500));
    let (again, session) = restarted(&broker);
    persist(&session, "counted", "the third");
    session.assert_untroubled();
    persist(&session, "counted", "the fourth");
    session.assert_failed(506, "current=[count: 3");
    let session = again.session("b");
    persist(&session, "sized", &"x".repeat(500));
    session.assert_failed(506, "max=[count: unlimited, size: 1000]");
}

#[test]
fn bindings_between_durable_ends_survive_in_their_order() {
    let broker = Broker::new();
    let session = broker.session("a");
    for queue in ["q", "r", "s"] {
        durable_queue(&session, queue);
    }
    session.declare("t");
    for queue in ["s", "t", "q", "r"] {
        session.bind("amq.topic", queue, "a.#", &[]);
    }
    session.unbind("amq.topic", "q", "a.#");
    session.bind("amq.topic", "q", "a.#", &[]);
    let scope = [("x-scope", Value::Str16("session".into()))];
    session.bind("amq.topic", "r", "b", &scope);
    let (again, session) = restarted(&broker);
    let (after, _) = again.core(durable);
    let bound: Vec<_> = after
        .bindings
        .iter()
        .map(|b| (b.queue.0, b.key.as_str()))
        .collect();
    assert_eq!(bound, [(3, "a.#"), (2, "a.#"), (1, "a.#")]);
    assert!(session.bound("amq.topic", "r", Some("b")).key_not_matched);
}

#[test]
fn exclusive_binding_of_a_queue_that_is_not_durable_takes_the_key_for_good() {
    let broker = Broker::new();
    let session = broker.session("a");
    durable_queue(&session, "q");
    session.declare("t");
    session.bind("amq.direct", "q", "k", &[]);
    session.bind(
        "amq.direct",
        "t",
        "k",
        &[("qpid.exclusive-binding", Value::Void)],
    );
    let (_, session) = restarted(&broker);
    assert!(session.bound("amq.direct", "q", Some("k")).key_not_matched);
}

#[test]
fn exclusive_binding_again_has_its_last_arguments_after_a_restart() {
    let broker = Broker::new();
    let session = broker.session("a");
    durable_queue(&session, "q");
    let exclusive = |n| {
        [
            ("qpid.exclusive-binding", Value::Void),
            ("n", Value::I32(n)),
        ]
    };
    session.bind("amq.direct", "q", "k", &exclusive(1));
    session.bind("amq.direct", "q", "k", &exclusive(2));
    let (again, _) = restarted(&broker);
    let (after, _) = again.core(durable);
    assert_eq!(after.bindings[0].arguments.get("n"), Some(&Value::I32(2)));
}

#[test]
fn exclusive_binding_again_for_a_session_does_not_survive() {
    let broker = Broker::new();
    let session = broker.session("a");
    durable_queue(&session, "q");
    let exclusive = ("qpid.exclusive-binding", Value::Void);
    let scope = ("x-scope", Value::Str16("session".into()));
    session.bind("amq.direct", "q", "k", std::slice::from_ref(&exclusive));
    session.bind("amq.direct", "q", "k", &[exclusive, scope]);
    let (_, session) = restarted(&broker);
    assert!(session.bound("amq.direct", "q", Some("k")).key_not_matched);
}

#[test]
fn deleted_definitions_stay_deleted() {
    let broker = Broker::new();
    let session = broker.session("a");
    let exchange = |name: &str, is_auto_delete| {
        session.declare_exchange_with(name, "direct", |declare| {
            (declare.durable, declare.auto_delete) = (true, is_auto_delete);
        });
    };
    exchange("e", false);
    exchange("auto", true);
    durable_queue(&session, "q");
    persist(&session, "q", "body");
    session.bind("auto", "q", "k", &[]);
    session.delete_exchange("e");
    session.delete("q");
    let (_, session) = restarted(&broker);
    assert!(session.query_exchange("e").not_found);
    assert!(
        session.query_exchange("auto").not_found,
        "it went with its last binding"
    );
    assert!(!session.has_queue("q"));
}

// What a journal may do.

#[test]
fn compaction_keeps_the_places_where_a_message_still_is() {
    let broker = Broker::new();
    let session = broker.session("a");
    for queue in ["q", "r"] {
        durable_queue(&session, queue);
        session.bind("amq.fanout", queue, "", &[]);
    }
    let old = record_of(&broker, || persist_to(&session, "amq.fanout", "", "body"));
    assert_eq!(broker.core(|core| core.still_needed(&old)), old);
    session.purge("q");
    let needed = broker.core(|core| core.still_needed(&old));
    assert_eq!(places(&needed[0]), [(QueueKey(2), 1)]);
    session.delete("r");
    assert_eq!(broker.core(|core| core.still_needed(&old)), []);
}

#[test]
fn compaction_keeps_what_is_being_rerouted() {
    let broker = Broker::new();
    let session = broker.session("a");
    durable_queue(&session, "dead");
    session.bind("amq.fanout", "dead", "", &[]);
    durable_queue_with_alternate(&session, "q", "amq.fanout");
    persist_many(&session, "q", 2000);
    session.subscribe("q", "d");
    session.flow("d", u32::MAX);
    broker.hold_work();
    session.reject(range(0, 1999));
    let facts: Vec<Fact> = broker.facts().into_iter().flat_map(|r| r.facts).collect();
    let mut records = vec![broker.core(|core| core.definitions())];
    records.push(broker.core(|core| core.record_of(core.still_needed(&facts))));
    let core = recovered(&records, &Options::default(), 0);
    assert_eq!(durable(&core).0, broker.core(durable).0);
}

#[test]
fn checkpoint_stands_for_all_definitions_before_it() {
    let broker = Broker::new();
    let session = broker.session("a");
    durable_queue(&session, "q");
    durable_queue(&session, "gone");
    persist(&session, "q", "one");
    persist(&session, "gone", "never");
    session.delete("gone");
    let mut facts = broker.facts();
    facts.retain(|record| matches!(record.facts[0], Fact::Enqueued(_)));
    facts.push(broker.core(|core| core.definitions()));
    let again = broker.restarted_with(facts, 0);
    again.work();
    let session = again.session("again");
    durable_queue(&session, "gone");
    assert_eq!(drained(&session, "q"), ["one*"]);
    assert_eq!(
        session.count("gone"),
        0,
        "its key is not that of the former"
    );
}

#[test]
fn checkpoint_alone_gives_the_same_checkpoint() {
    let broker = Broker::new();
    let session = broker.session("a");
    durable_queue(&session, "q");
    persist_many(&session, "q", 3);
    session.subscribe("q", "d");
    session.purge("q");
    durable_queue(&session, "gone");
    session.delete("gone");
    let checkpoint = broker.core(|core| core.definitions());
    match checkpoint.facts.as_slice() {
        [Fact::Definitions(all)] => assert_eq!(all.incarnations, 3, "two queues, a subscription"),
        other => panic!("no checkpoint: {other:?}"),
    }
    let core = recovered(std::slice::from_ref(&checkpoint), &Options::default(), 0);
    assert_eq!(core.definitions(), checkpoint);
}

#[test]
fn definitions_that_contradict_each_other_are_refused_by_name() {
    let broker = Broker::new();
    let session = broker.session("a");
    durable_queue(&session, "q");
    session.bind("amq.topic", "q", "a", &[]);
    let facts = broker.facts();
    let finish = |records: &[&FactRecord]| {
        let mut recovery = Recovery::new(ShardId(0), Options::default());
        for record in records {
            recovery.take_record((*record).clone());
        }
        recovery
            .finish(0)
            .map(|_| ())
            .map_err(|error| error.to_string())
    };
    let [declared, bound] = facts.as_slice() else {
        panic!("{facts:?}")
    };
    assert_eq!(finish(&[declared, bound]), Ok(()));
    let twice = finish(&[declared, declared]).expect_err("twice");
    assert!(twice.contains("there twice (q)"), "{twice}");
    let missing = finish(&[bound]).expect_err("not declared");
    assert!(missing.contains("a queue that is not there"), "{missing}");
    let checkpoint = broker.core(|core| core.definitions());
    assert_eq!(finish(&[bound, &checkpoint]), Ok(()), "it does not count");
}
