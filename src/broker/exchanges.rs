//! An exchange: its kind with the bindings, and what it was declared with.

use super::encoding::{Decoder, Encoder, EncodingError, Record, record};
use super::exchange::Kind;
use super::failover::FAILOVER;
use super::ids::{ExchangeId, GroupTime, QueueId};
use super::management::Face;
use super::origins::Origins;
use super::replication::{Applied, LAST_EVENT};
use super::routed::Routed;
use super::watched::Watched;
use crate::wire::{Map, Text, Value};

/// Plain counters of an exchange, read by management.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ExchangeCounters {
    /// Messages that came in.
    pub receives: u64,
    /// Octets that came in.
    pub bytes_received: u64,
    /// Copies routed to queues.
    pub routes: u64,
    /// Messages that matched no queue.
    pub drops: u64,
    /// Octets of copies routed to queues.
    pub bytes_routed: u64,
    /// Octets of messages that matched no queue.
    pub bytes_dropped: u64,
}
record!(ExchangeCounters {
    receives,
    bytes_received,
    routes,
    drops
} since 3 {
    bytes_routed = 0,
    bytes_dropped = 0,
});

/// An exchange.
#[derive(Clone, Debug, Hash)]
pub struct Exchange {
    /// Its name; the default exchange's is empty.
    pub name: Text,
    /// Its type, and its bindings.
    pub kind: Kind,
    /// Whether it outlives the broker's process.
    pub is_durable: bool,
    /// Whether it goes with its last binding.
    pub is_auto_delete: bool,
    /// Where messages go that match nothing.
    pub alternate: Option<ExchangeId>,
    /// How many queues and exchanges have this one for an alternate, and how many messages are on
    /// their way to it as one.
    pub alternate_users: u32,
    /// As declared.
    pub arguments: Map,
    /// Counters.
    pub counters: ExchangeCounters,
    /// What it does with all messages that it routes, if anything.
    pub routed: Option<Box<Routed>>,
    /// What an agent is reached by, if this is it.
    pub face: Option<Face>,
    /// When it was made.
    pub created: GroupTime,
    /// How high and low the number of its bindings was. The default exchange's, which nobody makes, is
    /// not watched.
    pub watched: Watched,
    /// For whom links have made bindings.
    pub origins: Origins,
    /// How far it has come with events, if it applies them.
    pub applied: Option<Applied>,
}
record!(Exchange {
    name,
    kind,
    is_durable,
    is_auto_delete,
    alternate,
    alternate_users,
    arguments,
    counters,
} since 2 {
    routed = None,
} since 3 {
    face = None,
    created = GroupTime(0),
    watched = Watched::default(),
    origins = Origins::default(),
    applied = None,
});

impl Exchange {
    /// An exchange without bindings.
    pub fn new(name: Text, kind: Kind) -> Exchange {
        let applied = matches!(kind, Kind::Replication).then(Applied::default);
        Exchange {
            name,
            kind,
            is_durable: false,
            is_auto_delete: false,
            alternate: None,
            alternate_users: 0,
            arguments: Map::new(),
            counters: ExchangeCounters::default(),
            routed: None,
            face: None,
            created: GroupTime(0),
            watched: Watched::default(),
            origins: Origins::default(),
            applied,
        }
    }

    /// Takes what follows from its arguments.
    pub fn settle_in(&mut self, arguments: Map) {
        self.routed = Routed::of(&arguments);
        if let Some(applied) = &mut self.applied {
            *applied = Applied::of(&arguments);
        }
        self.arguments = arguments;
    }

    /// The number of the last message, of one that numbers them or applies events.
    pub fn last_number(&self) -> Option<u64> {
        let applied = self.applied.map(|applied| applied.last);
        applied.or_else(|| self.routed.as_ref().and_then(|routed| routed.sequence))
    }

    /// Its arguments as queries show them. As in qpidd one that applies events says how far it has come.
    pub fn shown_arguments(&self) -> Map {
        let mut arguments = self.arguments.clone();
        if let Some(applied) = self.applied {
            let last = i64::try_from(applied.last).unwrap_or(i64::MAX);
            arguments.insert(LAST_EVENT, Value::I64(last));
        }
        arguments
    }

    /// Its bindings have changed.
    pub fn watch(&mut self) {
        self.watched.change(self.kind.binding_count() as u64);
    }

    /// Whether it is the default exchange, to which every queue is bound by its name.
    pub fn is_default(&self) -> bool {
        self.name.is_empty()
    }

    /// Whether it is there from the start and stays.
    pub fn is_standard(&self) -> bool {
        STANDARD.iter().any(|(name, _)| *name == self.name)
            || matches!(self.kind, Kind::Failover(_))
    }
}

/// The exchanges of 0-10: exchange/required-instances, by name and type.
const STANDARD: [(&str, &str); 5] = [
    ("", "direct"),
    ("amq.direct", "direct"),
    ("amq.topic", "topic"),
    ("amq.fanout", "fanout"),
    ("amq.match", "headers"),
];

/// The type of an exchange that the broker makes itself, by its name: one of the standard ones, one
/// that management is reached by, or that which tells where members are.
pub fn own_type(name: &str) -> Option<&'static str> {
    let standard = STANDARD.iter().copied();
    let faces = Face::ALL.iter().map(|(_, name, kind)| (*name, *kind));
    let failover = [(FAILOVER, FAILOVER)];
    let mut all = standard.chain(faces).chain(failover);
    all.find_map(|(own, kind)| (own == name).then_some(kind))
}

/// Whether an exchange's name is one that clients may not declare: 0-10 keeps `amq.` for itself and qpidd
/// `qpid.`.
pub fn is_reserved(name: &str) -> bool {
    name.starts_with("amq.") || name.starts_with("qpid.")
}

/// The exchanges that every broker has from the start. As in qpidd all but the default one are
/// durable, and all carry `qpid.replicate`.
pub fn standard_exchanges() -> Vec<Exchange> {
    let make = |(name, kind): &(&str, &str)| {
        // The table above names known types.
        let kind = Kind::of_type(kind)?;
        let mut exchange = Exchange::new((*name).into(), kind);
        exchange.is_durable = !name.is_empty();
        exchange
            .arguments
            .insert("qpid.replicate", Value::Str16("none".into()));
        Some(exchange)
    };
    STANDARD.iter().filter_map(make).collect()
}

/// An exchange is written as its bindings in their order: binding them again gives the same
/// structure, which `exchange` promises.
impl Record for Kind {
    fn encode(&self, to: &mut Encoder) {
        Text::from(self.type_name()).encode(to);
        let bindings: Vec<_> = self.bindings().collect();
        (bindings.len() as u32).encode(to);
        for binding in bindings {
            let super::exchange::Binding {
                queue,
                key,
                arguments,
                matched,
            } = binding;
            queue.encode(to);
            key.encode(to);
            Record::encode(arguments, to);
            matched.encode(to);
        }
    }
    fn decode(from: &mut Decoder<'_>) -> Result<Self, EncodingError> {
        let name = Text::decode(from)?;
        let mut kind = Kind::of_type(&name).ok_or(from.error("exchange type"))?;
        for _ in 0..u32::decode(from)? {
            let queue = QueueId::decode(from)?;
            let (key, arguments) = (Text::decode(from)?, <Map as Record>::decode(from)?);
            let matched = u64::decode(from)?;
            kind.restore(queue, &key, &arguments, matched)
                .map_err(|_| from.error("binding"))?;
        }
        Ok(kind)
    }
}
