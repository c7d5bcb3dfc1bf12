//! Queue-state replication: the events that queues give, and the exchange that applies them at another
//! broker. Each rule is Qpid's unless it says otherwise.

mod broker;
#[path = "broker_replication/copy.rs"]
mod copy;
#[path = "broker_replication/source.rs"]
mod source;
#[path = "broker_replication/together.rs"]
mod together;

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
