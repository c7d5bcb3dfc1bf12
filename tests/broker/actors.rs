//! Clients that do anything at all, from a seed.

use super::linking;
use super::managing::{manage, members};
use super::seeded::Seeded;
use super::session::{commit, end, prepare, xid};
use super::{Broker, Connection, Session, Told, message_with};
use ferrymq::broker::Options;
use ferrymq::broker::branch::DtxRequest;
use ferrymq::broker::ids::MemberId;
use ferrymq::broker::queue::settings::Settings;
use ferrymq::broker::replication::EventsTo;
use ferrymq::broker::{Command, Request};
use ferrymq::wire::{
    AcceptMode, AcquireMode, CommandId, CreditUnit, DeliveryMode, DeliveryPriority, FlowMode, Map,
    SequenceSet, Value,
};

pub const QUEUES: [&str; 5] = ["q", "r", "s", "", "missing"];
pub const EXCHANGES: [&str; 7] = [
    "",
    "amq.fanout",
    "amq.topic",
    "amq.direct",
    "e",
    "f",
    "missing",
];

const POLICIES: [&str; 5] = ["ring", "ring", "ring_strict", "self-destruct", "reject"];
const LIFETIMES: [&str; 3] = ["delete-if-unused-and-empty", "delete-on-close", "manual"];

/// A session and what it has that its commands can name: most commands name what there is, or
/// every session would fail at once.
pub struct Actor {
    pub session: Session,
    destinations: Vec<String>,
    is_transactional: bool,
    is_in_branches: bool,
}

impl Actor {
    pub fn new(session: Session) -> Actor {
        Actor {
            session,
            destinations: Vec::new(),
            is_transactional: false,
            is_in_branches: false,
        }
    }
}

/// One of the first of some, and now and then the last.
pub fn usual<'a>(seeded: &mut Seeded, choices: &'a [&'a str]) -> &'a str {
    match seeded.once_in(60) {
        true => choices[choices.len() - 1],
        false => choices[seeded.below(choices.len() - 1)],
    }
}

/// A set of ids near those that are in use, and now and then far from them.
pub fn some_ids(seeded: &mut Seeded) -> SequenceSet {
    let mut set = SequenceSet::new();
    for _ in 0..=seeded.below(3) {
        let first = match seeded.below(10) {
            0 => seeded.u32(),
            _ => seeded.below(60) as u32,
        };
        let last = match seeded.below(6) {
            0 => first.wrapping_add(seeded.u32() >> 1),
            _ => first.wrapping_add(seeded.below(12) as u32),
        };
        set.insert_range(CommandId(first), CommandId(last));
    }
    set
}

/// Arguments of a queue: of any kind, now and then such that exclude each other.
pub fn some_arguments(seeded: &mut Seeded) -> Vec<(&'static str, Value)> {
    let text = |text: &str| Value::Str16(text.into());
    let number = |seeded: &mut Seeded, below: usize| Value::U32(seeded.below(below) as u32);
    let mut arguments = match seeded.below(8) {
        0 => vec![("qpid.last_value_queue_key", text("k"))],
        1 | 2 => vec![("qpid.priorities", number(seeded, 12))],
        3 => vec![
            ("x-qpid-priorities", Value::U8(4)),
            ("qpid.fairshare", number(seeded, 4)),
        ],
        4 | 5 => vec![
            ("qpid.group_header_key", text("k")),
            ("qpid.shared_msg_group", Value::Bool(true)),
        ],
        _ => Vec::new(),
    };
    let more = [
        ("qpid.max_count", number(seeded, 40)),
        ("qpid.max_size", number(seeded, 3000)),
        (
            "qpid.policy_type",
            text(POLICIES[seeded.below(POLICIES.len())]),
        ),
        ("qpid.flow_stop_count", number(seeded, 12)),
        ("qpid.flow_resume_count", number(seeded, 6)),
        ("qpid.alert_count", number(seeded, 12)),
        ("qpid.auto_delete_timeout", number(seeded, 2)),
        (
            "qpid.lifetime-policy",
            text(LIFETIMES[seeded.below(LIFETIMES.len())]),
        ),
        ("qpid.queue_msg_sequence", text("place")),
        ("qpid.trace.id", text("me")),
        ("qpid.filter", text("k IS NULL OR k <> 'b'")),
        ("qpid.browse-only", Value::Bool(true)),
        ("no-local", Value::Bool(true)),
        ("qpid.insert_sequence_numbers", text("number")),
    ];
    if seeded.once_in(3) {
        arguments.push(("qpid.queue_event_generation", number(seeded, 3)));
    }
    if seeded.once_in(2) {
        let reasons = *seeded.pick(&["all", "all", "expired", "rejected, replaced"]);
        arguments.push(("qpid.dead_letter", text(reasons)));
    }
    if seeded.once_in(6) {
        arguments.push(("qpid.max_delivery_count", Value::U32(2)));
    }
    for (n, argument) in more.into_iter().enumerate() {
        if seeded.once_in(if n < 6 { 5 } else { 20 }) {
            arguments.push(argument);
        }
    }
    arguments
}

/// Arguments of a queue, as a map, that do not exclude each other; half of the time there are none.
pub fn sound_arguments(seeded: &mut Seeded) -> Map {
    if seeded.once_in(2) {
        return Map::new();
    }
    let options = Options {
        default_queue_limit: 5000,
        ..Options::default()
    };
    loop {
        let arguments: Map = some_arguments(seeded).into_iter().collect();
        if Settings::of("", &arguments, &options).is_ok() {
            return arguments;
        }
    }
}

pub fn queue_command(seeded: &mut Seeded, session: &Session) {
    let queue = usual(seeded, &QUEUES);
    match seeded.below(24) {
        0..=8 if queue != "missing" => {
            let arguments = some_arguments(seeded);
            let exchange = *seeded.pick(&EXCHANGES[..6]);
            let (exclusive, auto_delete) = (seeded.once_in(40), seeded.once_in(4));
            let durable = !seeded.once_in(3);
            let has_alternate = seeded.once_in(3);
            session.declare_with(queue, |declare| {
                declare.exclusive = exclusive;
                declare.durable = durable;
                declare.auto_delete = auto_delete;
                declare.arguments = Some(arguments.into_iter().collect());
                if has_alternate {
                    declare.alternate_exchange = Some(exchange.into());
                }
            });
        }
        9 => drop(session.purge(queue)),
        10 => {
            let (if_empty, if_unused) = (seeded.once_in(3), seeded.once_in(3));
            session.delete_with(queue, |delete| {
                (delete.if_empty, delete.if_unused) = (if_empty, if_unused);
            });
        }
        _ => {
            let queue = queue.into();
            session.send(Request::QueueQuery(Box::new(ferrymq::wire::QueueQuery {
                queue,
            })));
        }
    }
}

pub fn exchange_command(seeded: &mut Seeded, session: &Session) {
    let (queue, exchange) = (usual(seeded, &QUEUES), usual(seeded, &EXCHANGES[1..]));
    let key = *seeded.pick(&["q", "r", "#", "a.*", ""]);
    match seeded.below(8) {
        0 => {
            let exchange = *seeded.pick(&["e", "f"]);
            let kinds = [
                "direct",
                "topic",
                "fanout",
                "headers",
                "replication",
                "nosuch",
            ];
            let kind = usual(seeded, &kinds);
            let alternate = usual(seeded, &EXCHANGES);
            let (auto_delete, has_alternate) = (seeded.once_in(3), seeded.once_in(2));
            let durable = seeded.once_in(2);
            let arguments = match seeded.below(4) {
                0 => vec![("qpid.msg_sequence", Value::Void)],
                1 => vec![
                    ("qpid.ive", Value::Void),
                    ("qpid.msg_sequence", Value::Void),
                ],
                _ => Vec::new(),
            };
            session.declare_exchange_with(exchange, kind, |declare| {
                declare.durable = durable;
                declare.auto_delete = auto_delete;
                declare.arguments = Some(arguments.into_iter().collect());
                if has_alternate {
                    declare.alternate_exchange = Some(alternate.into());
                }
            });
        }
        1 if seeded.once_in(3) => drop(session.delete_exchange(exchange)),
        2..=4 => {
            let arguments = match seeded.below(6) {
                4 | 5 => linking::bind(seeded),
                0 => vec![("x-scope", Value::Str16("session".into()))],
                1 => vec![("x-match", Value::Str16("any".into()))],
                2 => vec![("qpid.exclusive-binding", Value::Void)],
                _ => Vec::new(),
            };
            session.bind(exchange, queue, key, &arguments);
        }
        _ => drop(session.unbind(exchange, queue, key)),
    }
}

/// Where events of queues go in a run.
pub fn events_to() -> EventsTo {
    EventsTo {
        queue: "s".into(),
        ..EventsTo::default()
    }
}

/// The exchange that applies events.
pub const APPLIES: &str = "copy";

/// Declares it, durable, if it is not there.
pub fn declare_copy(session: &Session) {
    session.declare_exchange_with(APPLIES, "replication", |declare| declare.durable = true);
}

/// What makes an event of a message, for exchanges of the type `replication`.
fn event(seeded: &mut Seeded) -> Vec<(&'static str, Value)> {
    let kind = match seeded.once_in(40) {
        true => 3,
        false => 1 + seeded.below(2) as i32,
    };
    let position = Value::I64(1 + seeded.below(200) as i64);
    let queue = usual(seeded, &QUEUES);
    let mut headers = vec![
        ("qpid.replication.type", Value::I32(kind)),
        ("qpid.replication.target_queue", Value::Str16(queue.into())),
        ("qpid.replication.queue.position", position.clone()),
        ("qpid.replication.message", position),
    ];
    if !seeded.once_in(4) {
        let number = Value::I64(seeded.below(1000) as i64);
        headers.push(("qpid.replication.seqno", number));
    }
    headers
}

pub fn publish(seeded: &mut Seeded, session: &Session) {
    let is_event = seeded.once_in(8);
    let exchange = match seeded.below(12) {
        _ if is_event && !seeded.once_in(4) => APPLIES,
        0 => *seeded.pick(&["e", "f"]),
        n => EXCHANGES[(n % 6).saturating_sub(2)],
    };
    let mode = *seeded.pick(&[DeliveryMode::PERSISTENT, DeliveryMode::NON_PERSISTENT]);
    let key = *seeded.pick(&["q", "r", "s", "", "a.b", "nobody"]);
    let ttl = *seeded.pick(&[None, None, Some(0), Some(5), Some(u64::MAX)]);
    let body = "x".repeat(seeded.below(40));
    let accept = *seeded.pick(&[AcceptMode::NONE, AcceptMode::EXPLICIT]);
    let priority = seeded.below(12) as u8;
    let mut message = message_with(key, &body, |delivery| {
        delivery.ttl = ttl;
        delivery.delivery_mode = (!seeded.once_in(9)).then_some(mode);
        delivery.priority = (priority < 10).then_some(DeliveryPriority(priority));
    });
    let mut headers = Vec::new();
    if seeded.once_in(2) {
        let key = Value::Str16((*seeded.pick(&["a", "b", "c"])).into());
        headers.push(("k", key));
    }
    if seeded.once_in(4) {
        headers.push(("x-ferrymq.identity", linking::identity(seeded)));
    }
    if is_event {
        headers.extend(event(seeded));
    }
    if !headers.is_empty() {
        message = message.with_headers(&headers);
    }
    session.transfer(exchange, message, accept);
}

pub fn subscribe(seeded: &mut Seeded, actor: &mut Actor) {
    let destination = seeded.u32().to_string();

    let queue = *seeded.pick(&QUEUES[..3]);
    let exclusive = seeded.once_in(60);
    let accept = *seeded.pick(&[AcceptMode::NONE, AcceptMode::EXPLICIT]);
    let modes = [AcquireMode::PRE_ACQUIRED, AcquireMode::NOT_ACQUIRED];
    let acquire = *seeded.pick(&modes);
    let (selects, wants_identity) = (seeded.once_in(4), seeded.once_in(4));
    actor
        .session
        .subscribe_with(queue, &destination, |subscribe| {
            subscribe.exclusive = exclusive;
            subscribe.accept_mode = accept;
            subscribe.acquire_mode = acquire;
            let mut arguments = Map::new();
            if selects {
                let selector = Value::Str16("JMSRedelivered = TRUE OR n = 1".into());
                arguments.insert("x-apache-selector", selector);
            }
            if wants_identity {
                arguments.insert("x-ferrymq.wants-identity", Value::Bool(true));
            }
            subscribe.arguments = Some(arguments);
        });
    for (unit, value) in [(CreditUnit::BYTE, u32::MAX), (CreditUnit::MESSAGE, 10)] {
        if seeded.once_in(2) {
            actor.session.grant(&destination, unit, value);
        }
    }
    actor.destinations.push(destination);
}

pub fn subscription_command(seeded: &mut Seeded, actor: &mut Actor) {
    let session = &actor.session;
    let known = actor.destinations.len();
    if known == 0 || seeded.once_in(4) {
        return subscribe(seeded, actor);
    }
    let destination = match seeded.once_in(60) {
        true => "unknown".to_owned(),
        false => actor.destinations[seeded.below(known)].clone(),
    };
    let destination = destination.as_str();
    match seeded.below(9) {
        0..=3 => {
            let unit = *seeded.pick(&[CreditUnit::MESSAGE, CreditUnit::BYTE, CreditUnit::BYTE]);
            let value = *seeded.pick(&[0, 1, 3, 50, 500, u32::MAX - 1, u32::MAX, u32::MAX]);
            session.grant(destination, unit, value);
        }
        4 => drop(session.set_mode(
            destination,
            *seeded.pick(&[FlowMode::CREDIT, FlowMode::WINDOW]),
        )),
        5 => drop(session.flush(destination)),
        6 => drop(session.stop(destination)),
        7 => {
            session.cancel(destination);
            actor.destinations.retain(|known| known != destination);
        }
        _ => {}
    }
}

pub fn settle(seeded: &mut Seeded, session: &Session) {
    let some = some_ids(seeded);
    match seeded.below(14) {
        7 => session.confirm(some),
        8 => session.grant_any_timeout(seeded.below(3) as u32),
        9 => session.expect_any(some),
        10 if seeded.once_in(4) => session.gap(some),
        0 => session.complete(some),
        1 => session.know_completed(some),
        2 => drop(session.accept(some)),
        3 => drop(session.reject(some)),
        4 => drop(session.release_with(some, seeded.once_in(2))),
        5 => drop(session.send(Request::Acquire { transfers: some })),
        11.. => drop(session.accept(some)),
        _ => session.flush_session(seeded.once_in(2), seeded.once_in(2), seeded.once_in(2)),
    }
}

/// Seconds for which work in an actor's branch may take; some branches run out of time.
const BRANCH_SECONDS: u32 = 1;

/// Something about one of a few branches, in whatever state that is.
pub fn dtx_command(seeded: &mut Seeded, session: &Session) {
    let name = *seeded.pick(&["x", "y", "z"]);
    let xid = xid(name);
    let request = match seeded.below(20) {
        0..=5 => DtxRequest::Start {
            xid,
            join: seeded.once_in(3),
            resume: seeded.once_in(8),
            timeout: *seeded.pick(&[0, BRANCH_SECONDS]),
        },
        6..=9 => DtxRequest::End {
            xid,
            fail: seeded.once_in(8),
            suspend: seeded.once_in(5),
        },
        10..=13 => DtxRequest::Prepare { xid },
        14..=15 => DtxRequest::Commit {
            xid,
            one_phase: seeded.once_in(3),
        },
        16 => DtxRequest::Rollback { xid },
        17 => DtxRequest::Recover,
        18 => DtxRequest::SetTimeout {
            xid,
            timeout: BRANCH_SECONDS + 1,
        },
        _ if seeded.once_in(2) => DtxRequest::Forget { xid },
        _ => DtxRequest::GetTimeout { xid },
    };
    session.send(Request::Dtx(Box::new(request)));
}

/// A branch from its beginning to some point: what a client does that knows what it wants.
pub fn branch(seeded: &mut Seeded, broker: &Broker, name: &str) {
    let session = broker.session(name);
    session.dtx_select();
    let xid = name.to_owned();
    session.start(&xid);
    let queue = *seeded.pick(&QUEUES[..3]);
    session.subscribe(queue, "d");
    session.flow("d", 1 + seeded.below(6) as u32);
    for _ in 0..seeded.below(4) {
        publish(seeded, &session);
    }
    session.accept(some_ids(seeded));
    for request in [end(&xid, false, false), prepare(&xid), commit(&xid, false)] {
        if !seeded.once_in(5) {
            session.send(Request::Dtx(Box::new(request)));
        }
    }
    if seeded.once_in(3) {
        session.detach();
    }
}

pub fn actor_command(seeded: &mut Seeded, actor: &mut Actor) {
    let session = &actor.session;
    match seeded.below(20) {
        0..=1 => queue_command(seeded, session),
        2 => exchange_command(seeded, session),
        3..=8 => publish(seeded, session),
        9..=12 => subscription_command(seeded, actor),
        13..=17 => settle(seeded, session),
        18 if seeded.once_in(10) => {
            session.dtx_select();
            actor.is_in_branches = true;
        }
        19 if actor.is_in_branches || seeded.once_in(200) => dtx_command(seeded, session),
        18 if seeded.once_in(10) => {
            session.select();
            actor.is_transactional = true;
        }
        18 if actor.is_transactional || seeded.once_in(200) => match seeded.once_in(3) {
            true => session.rollback(),
            false => session.commit(),
        },
        _ => {
            let request = seeded.pick(&[Request::Sync, Request::Nothing]).clone();
            session.send_with(request, seeded.once_in(2));
        }
    }
}

/// A connection of some member with little room.
pub fn connect(seeded: &mut Seeded, broker: &Broker) -> Connection {
    let member = MemberId(1 + seeded.below(2) as u64);
    let connection = broker.connection_with(
        member,
        1 + seeded.below(20) as u32,
        1 + seeded.below(3000) as u64,
    );
    if seeded.once_in(4) {
        connection.is_of_link(seeded.once_in(2));
    }
    connection
}

/// What the sessions of all seeds were told: a run in which little happens proves little.
#[derive(Debug, Default)]
pub struct Tally {
    pub delivered: usize,
    pub failed: usize,
    pub rest: usize,
}

impl Tally {
    pub fn count(&mut self, told: &[Told]) {
        for told in told {
            match told {
                Told::Delivered(_) => self.delivered += 1,
                Told::Failed(_) => self.failed += 1,
                _ => self.rest += 1,
            }
        }
    }
}

pub fn step(seeded: &mut Seeded, broker: &Broker, actors: &mut [Actor], tally: &mut Tally) {
    let which = seeded.below(actors.len());
    let actor = &mut actors[which];
    let connection = actor.session.connection.clone();
    let mut ended = None;
    match seeded.below(40) {
        0 => actor.session.detach(),
        1 if seeded.once_in(3) => {
            connection.end();
            ended = Some(connection.key);
        }
        2..=4 => connection.drained(seeded.below(9) as u32, seeded.below(900) as u64),
        5 => {
            let milliseconds = match seeded.once_in(20) {
                true => 1000 * u64::from(BRANCH_SECONDS),
                false if seeded.once_in(10) => seeded.below(1500) as u64,
                false => seeded.below(4) as u64,
            };
            broker.pass(milliseconds);
            broker.sequencer(Command::Tick);
        }
        6 => drop(broker.continue_once()),
        8 if seeded.once_in(2) => manage(seeded, broker),
        9 if seeded.once_in(5) => members(seeded, broker),
        7 => broker.in_one_entry(|| {
            for _ in 0..seeded.below(40) {
                actor_command(seeded, actor);
            }
        }),
        _ => actor_command(seeded, actor),
    }
    for actor in actors.iter_mut() {
        let mut told = actor.session.told();
        if let Some(Told::Resumed(next)) = told.first() {
            actor.session.count_from(*next);
            let expected = seeded.below(12) as u32;
            actor
                .session
                .expect((!seeded.once_in(9)).then_some(expected));
            told.extend(actor.session.told());
        }
        tally.count(&told);
        let is_gone = |told: &Told| matches!(told, Told::Failed(_) | Told::Detached(_));
        let has_ended = ended == Some(actor.session.connection.key);
        if has_ended || told.iter().any(is_gone) || seeded.once_in(500) {
            let connection = match has_ended || seeded.once_in(5) {
                true => connect(seeded, broker),
                false => actor.session.connection.clone(),
            };
            let name = *seeded.pick(&["a", "b", "c", "d", "e", "f"]);
            *actor = Actor::new(connection.attach(seeded.below(9) as u16, name, true));
        }
    }
}
