//! Queue-state replication: the events that queues give, and the exchange that applies them at another
//! broker. Each rule is Qpid's unless it says otherwise.

mod broker;

use std::panic::{AssertUnwindSafe, catch_unwind};

use broker::agent::Agent;
use broker::scenes::{pass, persist, persistent, restarted};
use broker::seeded::Seeded;
use broker::told::Arrived;
use broker::{Broker, Draft, Session, Told, ids, message, message_with_headers};
use ferrymq::broker::plant::{Plant, plant_here};
use ferrymq::broker::replication::{EventsTo, ReplicationCounters};
use ferrymq::broker::seen::IDENTITY;
use ferrymq::broker::{Command, Options, limits};
use ferrymq::wire::{AcceptMode, Map, QueueDeclare, Value};

const KIND: &str = "qpid.replication.type";
const NUMBER: &str = "qpid.replication.seqno";
const QUEUE: &str = "qpid.replication.target_queue";
const CAME_TO: &str = "qpid.replication.queue.position";
const LEFT: &str = "qpid.replication.message";
const LAST_EVENT: &str = "qpid.replication-event.sequence";

/// The exchange of a backup, and the queue of events of a source.
const APPLIES: &str = "rep-ex";
const EVENTS: &str = "rep-queue";

fn text(value: &str) -> Value {
    Value::Str16(value.into())
}

fn into_queue(makes_queue: bool) -> Options {
    Options {
        events_to: EventsTo {
            queue: EVENTS.into(),
            makes_queue,
            ..EventsTo::default()
        },
        ..Options::default()
    }
}

/// A broker that is started with options.
fn started(options: Options) -> Broker {
    let broker = Broker::with(options.clone());
    broker.sequencer(Command::Configure(Box::new(options)));
    broker
}

fn giving(generation: u32) -> impl FnOnce(&mut QueueDeclare) {
    move |declare| {
        let arguments = [("qpid.queue_event_generation", Value::U32(generation))];
        declare.durable = true;
        declare.arguments = Some(arguments.into_iter().collect());
    }
}

/// A source with a durable queue `q` that gives all events, into a durable queue.
fn source() -> (Broker, Session) {
    let broker = started(into_queue(false));
    let session = broker.session("source");
    session.declare_with(EVENTS, |declare| declare.durable = true);
    session.declare_with("q", giving(2));
    (broker, session)
}

fn take_all(session: &Session, queue: &str) -> Vec<Arrived> {
    session.subscribe_with(queue, "all", |subscribe| {
        subscribe.accept_mode = AcceptMode::NONE;
    });
    session.flow("all", u32::MAX);
    let all = session.told().into_iter().filter_map(|told| match told {
        Told::Delivered(arrived) => Some(*arrived),
        _ => None,
    });
    let all = all.collect();
    session.cancel("all");
    all
}

/// What an event says: its number, its queue, what happened, the position, the body.
type Said = (i64, String, char, i64, String);

fn number(headers: &Map, name: &str) -> i64 {
    headers.get(name).and_then(Value::as_i64).unwrap_or(-1)
}

fn said(event: &Arrived) -> Said {
    let headers = &event.headers;
    let (what, position) = match number(headers, KIND) {
        1 => ('+', number(headers, CAME_TO)),
        2 => ('-', number(headers, LEFT)),
        other => panic!("no event: {other}"),
    };
    let queue = headers.get(QUEUE).and_then(Value::as_str).unwrap_or("");
    let number = number(headers, NUMBER);
    (number, queue.into(), what, position, event.body.clone())
}

fn told(session: &Session) -> Vec<Said> {
    take_all(session, EVENTS).iter().map(said).collect()
}

/// The same without number and queue.
fn told_of_one(session: &Session) -> Vec<String> {
    let all = told(session).into_iter();
    all.map(|(_, _, what, position, body)| format!("{what}{position}{body}"))
        .collect()
}

/// Consumes so many messages and accepts them.
fn consume(session: &Session, queue: &str, count: u32) {
    session.subscribe(queue, "some");
    session.flow("some", count);
    let delivered = session.arrivals().into_iter().map(|arrived| arrived.id);
    session.accept(ids(delivered));
    session.cancel("some");
}

/// Positions and bodies in a queue.
fn content(broker: &Broker, queue: &str) -> Vec<(u64, String)> {
    broker.core(|core| {
        let entries = core.queue_of_name(queue).map(|queue| queue.entries.clone());
        let body = |message: &ferrymq::broker::message::Message| {
            String::from_utf8_lossy(message.body().unwrap_or_default()).into_owned()
        };
        let entries = entries.unwrap_or_default();
        let all = entries.iter();
        all.map(|(position, entry)| (position, body(&entry.stored.message)))
            .collect()
    })
}

fn counters(broker: &Broker) -> ReplicationCounters {
    broker.core(|core| core.replication().counters)
}

/// Whether a scene goes wrong with a fault in it.
fn is_caught(plant: Plant, scene: impl FnOnce()) -> bool {
    plant_here(Some(plant));
    let caught = catch_unwind(AssertUnwindSafe(scene)).is_err();
    plant_here(None);
    caught
}

// The source.

#[test]
fn event_has_the_headers_of_qpid() {
    let (_, session) = source();
    let own = [("own", text("header"))];
    session.publish_message("", message_with_headers("q", "body", &own));
    consume(&session, "q", 1);
    let events = take_all(&session, EVENTS);
    let [came, left] = events.as_slice() else {
        panic!("two events: {events:?}");
    };
    assert_eq!(came.body, "body");
    let expected = [
        ("own", text("header")),
        (QUEUE, text("q")),
        (KIND, Value::I64(1)),
        (CAME_TO, Value::I64(1)),
        (NUMBER, Value::I64(1)),
    ];
    assert_eq!(came.headers, expected.into_iter().collect::<Map>());
    assert_eq!(left.body, "");
    let expected = [
        (QUEUE, text("q")),
        (KIND, Value::I32(2)),
        (LEFT, Value::I32(1)),
        (NUMBER, Value::I64(2)),
    ];
    assert_eq!(left.headers, expected.into_iter().collect::<Map>());
}

#[test]
fn queue_gives_the_events_that_its_argument_asks_for() {
    let broker = started(into_queue(true));
    let session = broker.session("a");
    for (queue, generation) in [("none", 0), ("came", 1), ("all", 2), ("more", 7)] {
        session.declare_with(queue, giving(generation));
    }
    session.declare("silent");
    for queue in ["none", "silent", "came", "all", "more"] {
        session.publish(queue, "m");
        consume(&session, queue, 1);
    }
    let expected = [
        (1, "came".into(), '+', 1, "m".into()),
        (2, "all".into(), '+', 1, "m".into()),
        (3, "all".into(), '-', 1, String::new()),
        (4, "more".into(), '+', 1, "m".into()),
        (5, "more".into(), '-', 1, String::new()),
    ];
    assert_eq!(told(&session), expected);
    session.declare_kind("r", &[("qpid.queue_event_generation", text("often"))]);
    session.assert_failed(542, "qpid.queue_event_generation");
}

#[test]
fn nobody_who_wants_events_gets_none() {
    let session = Broker::new().session("a");
    session.declare(EVENTS);
    session.declare_with("q", giving(2));
    session.publish("q", "m");
    session.purge("q");
    assert_eq!(session.count(EVENTS), 0);
    assert_eq!(session.count("q"), 0);
}

#[test]
fn message_leaves_with_an_event_whatever_takes_it() {
    let (broker, session) = source();
    let limited = [
        ("qpid.queue_event_generation", Value::U32(2)),
        ("qpid.max_count", Value::U32(1)),
        ("qpid.policy_type", text("ring")),
    ];
    session.declare_kind("ring", &limited);
    let newest = [
        ("qpid.queue_event_generation", Value::U32(2)),
        ("qpid.last_value_queue_key", text("k")),
    ];
    session.declare_kind("last", &newest);
    // Rejected, sent without accept, run out, purged.
    session.publish("q", "a");
    session.subscribe("q", "d");
    session.flow("d", 1);
    session.reject(ids(session
        .arrivals()
        .into_iter()
        .map(|arrived| arrived.id)));
    session.cancel("d");
    assert_eq!(told_of_one(&session), ["+1a", "-1"]);
    session.publish("q", "b");
    take_all(&session, "q");
    assert_eq!(told_of_one(&session), ["+2b", "-2"]);
    session.publish_for("q", "c", 10);
    pass(&broker, 700_000);
    assert_eq!(told_of_one(&session), ["+3c", "-3"]);
    session.publish("q", "d");
    session.publish("q", "e");
    session.purge("q");
    assert_eq!(told_of_one(&session), ["+4d", "+5e", "-4", "-5"]);
    // Pushed out, replaced.
    session.publish("ring", "f");
    session.publish("ring", "g");
    assert_eq!(told_of_one(&session), ["+1f", "-1", "+2g"]);
    for body in ["h", "i"] {
        session.publish_message("", message_with_headers("last", body, &[("k", text("1"))]));
    }
    assert_eq!(told_of_one(&session), ["+1h", "+2i", "-1"]);
    // Gone with its queue.
    session.publish("q", "j");
    session.delete("q");
    assert_eq!(told_of_one(&session), ["+6j", "-6"]);
}

#[test]
fn transaction_gives_its_events_when_it_is_committed() {
    let (broker, session) = source();
    session.publish("q", "a");
    assert_eq!(told_of_one(&session), ["+1a"]);
    let worker = broker.session("worker");
    worker.select();
    worker.publish("q", "b");
    worker.subscribe("q", "d");
    worker.flow("d", 1);
    let held = worker.received_among_others();
    assert_eq!(held, ["a"]);
    worker.accept(ids([0]));
    assert_eq!(told_of_one(&session), [""; 0]);
    worker.commit();
    assert_eq!(told_of_one(&session), ["-1", "+2b"]);
    worker.publish("q", "c");
    worker.rollback();
    assert_eq!(told_of_one(&session), [""; 0]);
}

#[test]
fn deep_queue_is_purged_with_an_event_of_each_message_in_bounded_entries() {
    let (broker, session) = source();
    session.publish_many("q", 0, 5000);
    take_all(&session, EVENTS);
    broker.hold_work();
    session.purge("q");
    let in_one = session.count(EVENTS);
    assert!(
        in_one > 0 && in_one <= limits::WORK_PER_ENTRY_MAX,
        "{in_one}"
    );
    broker.work();
    assert_eq!((session.count("q"), session.count(EVENTS)), (0, 5000));
}

#[test]
fn events_that_go_through_an_exchange_are_numbered_by_their_queues() {
    // Qpid's own test of it.
    let broker = started(Options {
        events_to: EventsTo {
            exchange: "qpid.replication".into(),
            ..EventsTo::default()
        },
        ..Options::default()
    });
    let session = broker.session("a");
    assert_eq!(
        session.query_exchange("qpid.replication").r#type.as_deref(),
        Some("direct")
    );
    for (events, queue) in [("event-1", "queue-1"), ("event-2", "queue-2")] {
        let numbered = [("qpid.insert_sequence_numbers", text(NUMBER))];
        session.declare_kind(events, &numbered);
        session.bind("qpid.replication", events, queue, &[]);
        session.declare_with(queue, giving(2));
    }
    for n in 1..=10 {
        session.publish("queue-1", &format!("m{n}"));
        session.publish("queue-2", &format!("m{n}"));
    }
    consume(&session, "queue-1", 10);
    let all: Vec<Said> = take_all(&session, "event-1").iter().map(said).collect();
    let came = (1..=10).map(|n| (n, "queue-1".to_owned(), '+', n, format!("m{n}")));
    let left = (1..=10).map(|n| (n + 10, "queue-1".to_owned(), '-', n, String::new()));
    assert_eq!(all, came.chain(left).collect::<Vec<Said>>());
    assert_eq!(take_all(&session, "event-2").len(), 10);
    // One that no queue is bound for is lost, and counted.
    session.declare_with("queue-3", giving(1));
    session.publish("queue-3", "m");
    assert_eq!(counters(&broker).lost, 1);
}

#[test]
fn event_that_finds_no_room_is_lost_and_counted_and_its_message_is_not() {
    let (broker, session) = source();
    session.delete(EVENTS);
    session.publish("q", "a");
    session.declare_limited(EVENTS, &[("qpid.max_count", Value::U32(1))]);
    session.publish("q", "b");
    session.publish("q", "c");
    assert_eq!(told_of_one(&session), ["+2b"]);
    assert_eq!(session.count("q"), 3);
    let ReplicationCounters { told, lost, .. } = counters(&broker);
    assert_eq!((told, lost), (1, 2));
}

#[test]
fn events_of_events_are_not_given() {
    let broker = started(into_queue(false));
    let session = broker.session("a");
    session.declare_with(EVENTS, giving(2));
    session.declare_with("q", giving(2));
    session.publish("q", "m");
    assert_eq!(told(&session).len(), 1);
    assert_eq!(session.count(EVENTS), 0, "of what was taken from it");
    session.publish(EVENTS, "of a client");
    assert_eq!(session.count(EVENTS), 2, "with its event");
}

#[test]
fn event_does_not_run_out_with_its_message() {
    let (broker, session) = source();
    session.publish_for("q", "m", 10);
    pass(&broker, 700_000);
    let events = take_all(&session, EVENTS);
    let events: Vec<Said> = events.iter().map(said).collect();
    assert_eq!(events.len(), 2);
    assert_eq!((events[0].2, events[1].2), ('+', '-'));
}

#[test]
fn durable_message_gives_durable_events() {
    let (broker, session) = source();
    persist(&session, "q", "a");
    persist(&session, "q", "b");
    consume(&session, "q", 1);
    session.publish("q", "not durable");
    let (_, session) = restarted(&broker);
    let expected = [
        (1, "q".to_owned(), '+', 1, "a".to_owned()),
        (2, "q".into(), '+', 2, "b".into()),
        (3, "q".into(), '-', 1, String::new()),
    ];
    assert_eq!(told(&session), expected);
}

/// What others know by its position or number is not followed by another of the same.
fn positions_that_were_seen() {
    let (broker, session) = source();
    persist(&session, "q", "a");
    session.publish("q", "not durable");
    let before = told(&session);
    let (_, session) = restarted(&broker);
    persist(&session, "q", "b");
    let after = told(&session);
    let (last, next) = (&before[1], &after[0]);
    assert!(next.0 > last.0, "a number again: {last:?}, {next:?}");
    assert!(next.3 > last.3, "a position again: {last:?}, {next:?}");
}

#[test]
fn positions_that_a_backup_has_seen_are_not_given_again_after_a_crash() {
    positions_that_were_seen();
    assert!(is_caught(Plant::PositionsNotKept, positions_that_were_seen));
}

#[test]
fn message_that_leaves_no_fact_costs_one_for_many() {
    let (broker, session) = source();
    let before = broker.facts().len();
    for _ in 0..500 {
        session.publish("q", "m");
    }
    assert_eq!(broker.facts().len() - before, 1);
}

#[test]
fn queue_of_events_keeps_its_positions_and_another_does_not() {
    let (broker, session) = source();
    session.publish("q", "m");
    let keeps = broker.core(|core| {
        core.queue_of_name(EVENTS)
            .map(|queue| queue.keeps_positions)
    });
    assert_eq!(keeps, Some(true));
    session.declare_with("r", |declare| declare.durable = true);
    session.publish("r", "m");
    let keeps = broker.core(|core| core.queue_of_name("r").map(|queue| queue.keeps_positions));
    assert_eq!(keeps, Some(false));
}

// The backup.

fn event(what: &[(&str, Value)], body: &str) -> Draft {
    message_with_headers("", body, what)
}

fn came(number: i64, queue: &str, position: i64, body: &str) -> Draft {
    let headers = [
        (KIND, Value::I64(1)),
        (NUMBER, Value::I64(number)),
        (QUEUE, text(queue)),
        (CAME_TO, Value::I64(position)),
    ];
    event(&headers, body)
}

fn left(number: i64, queue: &str, position: i32) -> Draft {
    let headers = [
        (KIND, Value::I32(2)),
        (NUMBER, Value::I64(number)),
        (QUEUE, text(queue)),
        (LEFT, Value::I32(position)),
    ];
    event(&headers, "")
}

fn backup() -> (Broker, Session) {
    let broker = Broker::new();
    let session = broker.session("backup");
    session.declare_exchange_with(APPLIES, "replication", |declare| declare.durable = true);
    session.declare_with("q", |declare| declare.durable = true);
    (broker, session)
}

fn apply(session: &Session, events: Vec<Draft>) {
    for event in events {
        session.publish_message(APPLIES, event);
    }
}

fn at(all: &[(u64, &str)]) -> Vec<(u64, String)> {
    all.iter()
        .map(|(position, body)| (*position, (*body).to_owned()))
        .collect()
}

/// Positions, those that are passed over too, and what is dropped.
fn events_applied() {
    let (broker, session) = backup();
    let events = vec![
        came(5, "q", 1, "a"),
        came(6, "q", 4, "b"),
        came(7, "q", 5, "c"),
        left(8, "q", 4),
        // Had before.
        came(7, "q", 9, "again"),
        left(8, "q", 5),
        // Passed by now, not there, of no queue.
        came(9, "q", 3, "late"),
        left(10, "q", 2),
        came(11, "r", 1, "nowhere"),
        came(13, "q", 6, "d"),
    ];
    apply(&session, events);
    session.publish_message(APPLIES, message("k", "no event"));
    session.publish_message(APPLIES, message_with_headers("k", "", &[("x", text("y"))]));
    assert_eq!(content(&broker, "q"), at(&[(1, "a"), (5, "c"), (6, "d")]));
    let expected = ReplicationCounters {
        applied: 5,
        repeated: 2,
        ahead: 1,
        absent: 1,
        missing: 1,
        strange: 2,
        gaps: 1,
        ..ReplicationCounters::default()
    };
    assert_eq!(counters(&broker), expected);
    let exchange = broker.core(|core| {
        let found = core.exchange_of_name(APPLIES);
        found.map(|exchange| exchange.counters)
    });
    let exchange = exchange.expect("it is there");
    assert_eq!(
        (exchange.receives, exchange.routes, exchange.drops),
        (12, 5, 7)
    );
}

#[test]
fn events_are_applied_by_position_and_what_cannot_be_is_dropped() {
    events_applied();
    for plant in [Plant::EventsAppliedAgain, Plant::PositionsOfCopyOwn] {
        assert!(is_caught(plant, events_applied), "{plant:?}");
    }
}

#[test]
fn replicated_message_is_as_it_was() {
    let (broker, session) = backup();
    let own = [
        ("own", text("header")),
        (KIND, Value::I64(1)),
        (NUMBER, Value::I64(1)),
        (QUEUE, text("q")),
        (CAME_TO, Value::I64(1)),
    ];
    let mut durable = persistent("the key", "body", None);
    durable = durable.with_headers(&own);
    session.publish_message(APPLIES, durable);
    let (_, session) = restarted(&broker);
    let all = take_all(&session, "q");
    let [only] = all.as_slice() else {
        panic!("one message: {all:?}");
    };
    let headers: Map = [("own", text("header"))].into_iter().collect();
    assert_eq!((&*only.body, &only.headers), ("body", &headers));
}

#[test]
fn replication_exchange_says_how_far_it_has_come() {
    let (broker, session) = backup();
    let last = |session: &Session| {
        let arguments = session.query_exchange(APPLIES).arguments;
        arguments.and_then(|arguments| arguments.get(LAST_EVENT).cloned())
    };
    assert_eq!(last(&session), Some(Value::I64(0)));
    apply(&session, vec![came(7, "q", 1, "a"), came(8, "q", 2, "b")]);
    assert_eq!(last(&session), Some(Value::I64(8)));
    let (again, session) = restarted(&broker);
    assert_eq!(last(&session), Some(Value::I64(8)));
    // The first after a start is taken as it comes: what it repeats is known by its position, and a
    // source that has begun anew begins with 1.
    apply(&session, vec![came(7, "q", 1, "a"), came(8, "q", 2, "b")]);
    assert_eq!(content(&again, "q"), at(&[(1, "a"), (2, "b")]));
    apply(&session, vec![came(1, "q", 3, "c")]);
    assert_eq!(counters(&again).repeated, 1, "it has begun by then");
    let named = [(LAST_EVENT, Value::I64(40))];
    session.declare_exchange_with("other", "replication", |declare| {
        declare.arguments = Some(named.into_iter().collect());
    });
    let arguments = session.query_exchange("other").arguments;
    let arguments = arguments.expect("they are told");
    assert_eq!(number(&arguments, LAST_EVENT), 40);
}

#[test]
fn numbers_of_32_bits_begin_anew_as_in_qpidd_and_those_of_64_go_on() {
    let (broker, session) = backup();
    let highest = i64::from(u32::MAX);
    apply(
        &session,
        vec![came(highest, "q", 1, "a"), came(0, "q", 2, "b")],
    );
    assert_eq!(counters(&broker).repeated, 0);
    apply(&session, vec![came(highest, "q", 3, "old")]);
    assert_eq!(counters(&broker).repeated, 1);
    let (broker, session) = backup();
    let events = vec![
        came(highest, "q", 1, "a"),
        came(highest + 1, "q", 2, "b"),
        came(highest, "q", 3, "old"),
    ];
    apply(&session, events);
    assert_eq!(content(&broker, "q"), at(&[(1, "a"), (2, "b")]));
}

#[test]
fn event_that_cannot_be_is_refused() {
    let (broker, _) = backup();
    let refused = |name: &str, headers: &[(&str, Value)]| {
        let session = broker.session(name);
        session.publish_message(APPLIES, event(headers, ""));
        session.assert_failed(531, "Illegal value for qpid.replication.");
    };
    let of_queue = (QUEUE, text("q"));
    refused("kind", &[(KIND, Value::I64(3)), of_queue.clone()]);
    refused("no position", &[(KIND, Value::I64(1)), of_queue.clone()]);
    for position in [0, -1, i64::MAX] {
        let headers = [
            (KIND, Value::I64(1)),
            of_queue.clone(),
            (CAME_TO, Value::I64(position)),
        ];
        refused(&position.to_string(), &headers);
    }
    let number = [
        (KIND, Value::I64(2)),
        of_queue,
        (LEFT, Value::I32(1)),
        (NUMBER, text("seven")),
    ];
    refused("number", &number);
    assert_eq!(content(&broker, "q"), []);
}

#[test]
fn queue_counts_on_behind_the_highest_position_that_an_event_can_give() {
    let (broker, session) = backup();
    let highest = limits::REPLICATED_POSITION_MAX - 1;
    let headers = [
        (KIND, Value::I64(1)),
        (QUEUE, text("q")),
        (CAME_TO, Value::U64(highest)),
    ];
    let durable = persistent("", "a", None).with_headers(&headers);
    session.publish_message(APPLIES, durable);
    persist(&session, "q", "b");
    let (again, _) = restarted(&broker);
    assert_eq!(
        content(&again, "q"),
        at(&[(highest, "a"), (highest + 1, "b")])
    );
}

#[test]
fn nothing_is_bound_to_a_replication_exchange() {
    let (broker, session) = backup();
    let bound = session.bound(APPLIES, "q", None);
    assert!(bound.queue_not_matched && !bound.exchange_not_found);
    session.bind(APPLIES, "q", "k", &[]);
    session.assert_failed(540, "Replication exchange does not support bind operation");
    let session = broker.session("unbinds");
    session.unbind(APPLIES, "q", "k");
    session.assert_failed(540, "unbind operation");
    let session = broker.session("in a transaction");
    session.select();
    session.publish_message(APPLIES, came(1, "q", 1, "a"));
    session.assert_failed(540, "does not support transactions");
    let session = broker.session("of another type");
    session.declare_exchange(APPLIES, "direct", None);
    session.assert_failed(530, "replication");
}

#[test]
fn event_of_a_full_queue_is_applied_when_it_comes_again() {
    // Unlike in qpidd, where its number counts as had though its message was refused.
    let (broker, session) = backup();
    session.declare_limited("small", &[("qpid.max_count", Value::U32(1))]);
    apply(
        &session,
        vec![came(1, "small", 1, "a"), came(2, "small", 2, "b")],
    );
    session.assert_failed(506, "Maximum depth exceeded on small");
    let session = broker.session("again");
    consume(&session, "small", 1);
    apply(&session, vec![came(2, "small", 2, "b")]);
    assert_eq!(content(&broker, "small"), at(&[(2, "b")]));
}

#[test]
fn message_that_somebody_has_acquired_does_not_leave_by_an_event() {
    let (broker, session) = backup();
    apply(&session, vec![came(1, "q", 1, "a")]);
    session.subscribe("q", "d");
    session.flow("d", 1);
    assert_eq!(session.received(), ["a"]);
    apply(&session, vec![left(2, "q", 1)]);
    assert_eq!(counters(&broker).absent, 1);
    session.release(ids([0]));
    assert_eq!(session.count("q"), 1);
}

#[test]
fn replicated_messages_are_delivered_and_hold_publishers_back() {
    let (broker, session) = backup();
    session.subscribe("q", "d");
    session.flow("d", 10);
    apply(&session, vec![came(1, "q", 3, "a")]);
    assert_eq!(session.received(), ["a"]);
    session.declare_kind(
        "flow",
        &[
            ("qpid.flow_stop_count", Value::U32(1)),
            ("qpid.flow_resume_count", Value::U32(1)),
        ],
    );
    let link = broker.session("link");
    link.transfer(APPLIES, came(2, "flow", 1, "a"), AcceptMode::EXPLICIT);
    link.transfer(APPLIES, came(3, "flow", 2, "b"), AcceptMode::EXPLICIT);
    assert_eq!(link.told(), [Told::Accepted(ids([0]))], "the other waits");
    consume(&session, "flow", 2);
    assert_eq!(link.told().first(), Some(&Told::Accepted(ids([1]))));
}

#[test]
fn replica_may_be_a_source_itself() {
    let broker = started(into_queue(true));
    let session = broker.session("a");
    session.declare_exchange(APPLIES, "replication", None);
    session.declare_with("q", giving(2));
    apply(&session, vec![came(41, "q", 7, "a"), left(42, "q", 7)]);
    let expected = [
        (1, "q".to_owned(), '+', 7, "a".to_owned()),
        (2, "q".into(), '-', 7, String::new()),
    ];
    assert_eq!(told(&session), expected);
}

// Both.

/// A session that is let in as a link.
fn link_session(broker: &Broker) -> Session {
    let connection = broker.connection();
    connection.is_of_link(false);
    connection.session("link")
}

#[test]
fn events_of_one_message_in_two_queues_are_two_messages_to_a_link() {
    // The message came over a link itself and says which it is: of its events each is another.
    let (broker, session) = source();
    let _agent = Agent::open(&broker);
    session.declare_with("r", giving(1));
    session.bind("amq.fanout", "q", "", &[]);
    session.bind("amq.fanout", "r", "", &[]);
    let identity = format!("{:016x}{:016x}{:08x}", 5, 6, 7);
    let known = [(IDENTITY, text(&identity))];
    let link = link_session(&broker);
    link.publish_message("amq.fanout", message_with_headers("", "m", &known));
    session.subscribe_with(EVENTS, "d", |subscribe| {
        let wanted = [("x-ferrymq.wants-identity", Value::U8(1))];
        subscribe.arguments = Some(wanted.into_iter().collect());
    });
    session.flow("d", 10);
    let identities: Vec<Value> = session
        .arrivals()
        .iter()
        .filter_map(|event| event.headers.get(IDENTITY).cloned())
        .collect();
    assert_eq!(identities.len(), 2, "each says which it is");
    assert_ne!(identities[0], identities[1]);
    assert!(!identities.contains(&text(&identity)));
}

#[test]
fn event_that_a_link_brings_again_is_known_as_a_message_before_it_is_as_an_event() {
    let (broker, _) = backup();
    let link = link_session(&broker);
    let known = (IDENTITY, text(&format!("{:016x}{:016x}{:08x}", 5, 6, 7)));
    let once = |number| {
        let headers = [
            (KIND, Value::I64(1)),
            (NUMBER, Value::I64(number)),
            (QUEUE, text("q")),
            (CAME_TO, Value::I64(number)),
            known.clone(),
        ];
        persistent("", "m", None).with_headers(&headers)
    };
    for _ in 0..2 {
        link.transfer(APPLIES, once(1), AcceptMode::EXPLICIT);
    }
    assert_eq!(content(&broker, "q"), at(&[(1, "m")]));
    assert_eq!(broker.core(|core| core.counters().duplicates), 1);
    // After a start only the number and the position are left to know it by.
    let (again, _) = restarted(&broker);
    let link = link_session(&again);
    link.transfer(APPLIES, once(1), AcceptMode::EXPLICIT);
    assert_eq!(content(&again, "q"), at(&[(1, "m")]));
    assert_eq!(counters(&again).ahead, 1);
}

/// Carries events to the copy.
fn carry(applier: &Session, events: &[Arrived]) {
    for event in events {
        let headers = event.headers.iter();
        let headers: Vec<(&str, Value)> =
            headers.map(|(name, value)| (name, value.clone())).collect();
        applier.publish_message(APPLIES, message_with_headers("", &event.body, &headers));
    }
}

/// One source and its copy, to which events come in order, some of them again.
fn copy(seed: u64) {
    let mut seeded = Seeded::new(seed);
    let (source, session) = source();
    let (copy, applier) = backup();
    session.declare_with("r", giving(2));
    applier.declare_with("r", |declare| declare.durable = true);
    let worker = source.session("worker");
    worker.select();
    let mut carried: Vec<Arrived> = Vec::new();
    for round in 0..60 {
        let queue = *seeded.pick(&["q", "r"]);
        let body = round.to_string();
        match seeded.below(6) {
            0 => persist(&session, queue, &body),
            1 | 2 => _ = session.publish(queue, &body),
            3 => consume(&session, queue, 1 + seeded.below(3) as u32),
            4 => {
                worker.publish("q", &body);
                worker.publish("r", &body);
                match seeded.once_in(3) {
                    true => worker.rollback(),
                    false => worker.commit(),
                }
            }
            _ if seeded.once_in(4) => _ = session.purge(queue),
            _ => {}
        }
        if seeded.once_in(3) {
            // Sent again from some place on, as after a link is cut.
            let from = carried.len().saturating_sub(seeded.below(12));
            carried.extend(take_all(&session, EVENTS));
            carry(&applier, &carried[from..]);
        }
    }
    let from = carried.len();
    carried.extend(take_all(&session, EVENTS));
    carry(&applier, &carried[from..]);
    for queue in ["q", "r"] {
        assert_eq!(
            content(&copy, queue),
            content(&source, queue),
            "seed {seed}"
        );
    }
}

#[test]
fn copy_is_as_its_source_however_often_events_come() {
    for seed in 0..40 {
        copy(seed);
    }
    let all = || (0..40).for_each(copy);
    assert!(is_caught(Plant::EventsNumberedAnew, all));
}
