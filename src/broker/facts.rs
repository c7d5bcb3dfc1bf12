//! Facts: what `apply` decided and must survive the process.
//!
//! A batch that decided something durable gives one [`FactRecord`], which a journal keeps as a whole
//! or not at all; `recovery` makes a core of records again. Replaying the durable commands instead
//! would not do: which queue a message went to depends on what was not durable.
//!
//! There are two kinds.
//!
//! - *Message facts* ([`Fact::Enqueued`], [`Fact::Dequeued`], [`Fact::Rejected`], [`Fact::Died`],
//!   [`Fact::Prepared`] and [`Fact::GivenBack`]) mean the same in
//!   whatever order and however often they are read, because a queue's key and a position in it are
//!   never used again: a message is at a place if an `Enqueued` names the place and no `Dequeued`
//!   does. So a journal may copy those that are [`super::Core::still_needed`] forward and forget
//!   the rest.
//! - *Definition facts* (all others) are read in the order of the batches. [`Fact::Definitions`]
//!   stands for all before it.
//!
//! A fact is about durable exchanges, durable queues, bindings between them that do not end with a
//! session, and persistent messages in durable queues. Who has acquired a message is no fact:
//! recovered messages can be acquired, and are flagged as redelivered.
//!
//! Numbers of variants are not used again and the layout of a variant does not change: a fact that
//! must say more is a new variant. [`VERSION`] counts changes of the frame around them.

mod gathered;
mod live;

use std::sync::Arc;

use bytes::Bytes;
use smallvec::SmallVec;

use super::branch::Xid;
use super::dead::Death;
use super::encoding::{Decoder, Encoder, EncodingError, MessageBy, Record, record, record_enum};
use super::ids::{GroupTime, QueueKey};
use super::limits;
use super::links::{BridgeDefinition, LinkDefinition};
use super::message::{BodyHandle, Message};
use crate::wire::{Map, Text};

pub use self::gathered::{Crossing, Gathered};

/// What is written first in a record: how the rest is to be read.
pub const VERSION: u8 = 1;

/// What one batch decided, or what a compaction carries forward. All of it survives or nothing.
///
/// How large one gets follows from the bounds of a batch: a commit, or a branch that is prepared, with
/// [`limits::TRANSACTION_BYTES_MAX`] and 24 octets for each of [`limits::TRANSACTION_PLACES_MAX`] places,
/// is the largest, at less than 320 MiB; rerouting is bounded by [`limits::REROUTED_BYTES_PER_STEP`].
#[derive(Clone, Debug, PartialEq)]
pub struct FactRecord {
    /// The batch's index, or any later one: handles of new messages go on behind it.
    pub index: u64,
    /// The batch's group time, or any later one: group time goes on from it.
    pub time: GroupTime,
    /// What was decided.
    pub facts: Vec<Fact>,
}

/// Something that was decided and must survive.
#[derive(Clone, Debug, PartialEq)]
pub enum Fact {
    /// A message has come into durable queues.
    Enqueued(Enqueued),
    /// Messages have left a queue for good.
    Dequeued(Dequeued),
    /// Messages of a queue were rejected and are still to go to its alternate exchange.
    Rejected(Rejected),
    /// A durable exchange was made.
    ExchangeDeclared(Box<ExchangeDefinition>),
    /// A durable exchange is gone, with its bindings.
    ExchangeDeleted {
        /// Its name.
        name: Text,
    },
    /// A durable queue was made.
    QueueDeclared(Box<QueueDefinition>),
    /// A durable queue is gone, with its bindings.
    QueueDeleted {
        /// Which.
        queue: QueueKey,
        /// The durable exchange to which its messages go, one by one: each until a `Dequeued`
        /// names it. None: they are gone with it.
        rerouted_to: Option<Text>,
    },
    /// A binding was made, or has other arguments.
    Bound(Box<BindingDefinition>),
    /// A binding is gone; of what is not bound it is said for nothing.
    Unbound {
        /// The exchange.
        exchange: Text,
        /// The queue.
        queue: QueueKey,
        /// The key, as given.
        key: Text,
    },
    /// All definitions there are: those before it do not count.
    Definitions(Box<Definitions>),
    /// A branch was prepared. A [`Fact::Dequeued`] that names [`QueueKey::BRANCHES`] and its number
    /// says that its outcome was decided.
    Prepared(Box<Prepared>),
    /// Messages of a queue died and are still to go to its alternate exchange, where they say so.
    Died(Box<Died>),
    /// An exchange has numbered its messages.
    Sequenced {
        /// The exchange.
        exchange: Text,
        /// The number of the last one.
        last: u64,
    },
    /// Messages of a queue that counts it were given back after a delivery.
    GivenBack(GivenBack),
    /// Users made these durable queues, and quotas count them.
    QueueMakers(Vec<Maker>),
    /// A durable link was made.
    LinkDefined(Box<LinkDefinition>),
    /// A durable link is gone, with its bridges.
    LinkDeleted {
        /// Its name.
        name: Text,
    },
    /// A durable bridge was made.
    BridgeDefined(Box<BridgeDefinition>),
    /// A durable bridge is gone.
    BridgeDeleted {
        /// Its name.
        name: Text,
    },
    /// Positions of a queue may have been given to messages that leave no facts, and others may know
    /// these by them.
    PositionsKept {
        /// The queue.
        queue: QueueKey,
        /// All before this one.
        before: u64,
    },
}
record_enum!(Fact {
    1 = Enqueued(fact),
    2 = Dequeued(fact),
    3 = Rejected(fact),
    4 = ExchangeDeclared(definition),
    5 = ExchangeDeleted { name },
    6 = QueueDeclared(definition),
    7 = QueueDeleted { queue, rerouted_to },
    8 = Bound(definition),
    9 = Unbound { exchange, queue, key },
    10 = Definitions(definitions),
    11 = Prepared(branch),
    12 = Died(fact),
    13 = Sequenced { exchange, last },
    14 = GivenBack(fact),
    16 = QueueMakers(makers),
    17 = LinkDefined(definition),
    18 = LinkDeleted { name },
    19 = BridgeDefined(definition),
    20 = BridgeDeleted { name },
    21 = PositionsKept { queue, before },
});

/// Who made a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Maker {
    /// Which queue.
    pub queue: QueueKey,
    /// The user.
    pub user: Text,
}
record!(Maker { queue, user });

/// A message with all durable queues that one routing put it into. It says all that is needed: the
/// same message routed again later is written again.
#[derive(Clone, Debug, PartialEq)]
pub struct Enqueued {
    /// Which message.
    pub handle: BodyHandle,
    /// Where it is.
    pub places: SmallVec<[Place; 1]>,
    /// What it is.
    pub message: Arc<Message>,
}

/// Where a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The queue.
    pub queue: QueueKey,
    /// Its position there.
    pub position: u64,
    /// When its time runs out; [`GroupTime::NEVER`] without time to live.
    pub expires: GroupTime,
}

record!(Place { queue, position, expires } if position > 0 && is_counted(position), else "position");

/// Messages that have left a queue for good: accepted, sent without accept, expired, purged,
/// rejected, rerouted. What was never there may be named too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dequeued {
    /// The queue.
    pub queue: QueueKey,
    /// All before this position have left.
    pub before: u64,
    /// And these.
    pub positions: Positions,
}
record!(Dequeued { queue, before, positions } if is_counted(before), else "position");

/// Messages that were rejected and are on their way to the queue's alternate exchange, until a
/// [`Dequeued`] names them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejected {
    /// The queue.
    pub queue: QueueKey,
    /// Which.
    pub positions: Positions,
}
record!(Rejected { queue, positions });

/// A branch of a distributed transaction that can be committed: what of its work is durable. Of a
/// branch of which nothing is, it is said too, since its transaction manager will ask.
#[derive(Clone, Debug, PartialEq)]
pub struct Prepared {
    /// Its number: no other branch ever has it.
    pub number: u64,
    /// Its xid: another branch may have it later.
    pub xid: Xid,
    /// Seconds that work in it might take.
    pub timeout: u32,
    /// Messages to be published, in order.
    pub publishes: Vec<PreparedPublish>,
    /// Messages to be dequeued, by queue.
    pub accepts: Vec<(QueueKey, Positions)>,
}
record!(Prepared { number, xid, timeout, publishes, accepts }
    if number > 0 && is_counted(number), else "branch's number");

/// A message that a prepared branch publishes.
#[derive(Clone, Debug, PartialEq)]
pub struct PreparedPublish {
    /// Which message.
    pub handle: BodyHandle,
    /// When its time runs out; [`GroupTime::NEVER`] without time to live.
    pub expires: GroupTime,
    /// The durable queues to which it was routed.
    pub queues: Vec<QueueKey>,
    /// What it is.
    pub message: Arc<Message>,
}
/// As [`Rejected`], of messages whose copies there say why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Died {
    /// The queue.
    pub queue: QueueKey,
    /// Which.
    pub positions: Positions,
    /// What their copies say.
    pub death: Death,
}
record!(Died {
    queue,
    positions,
    death
});

/// Messages that were given back so often in all: of what is said of a message the most counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenBack {
    /// The queue.
    pub queue: QueueKey,
    /// Which.
    pub positions: Positions,
    /// How often.
    pub deliveries: u32,
}
record!(GivenBack {
    queue,
    positions,
    deliveries
});

/// Positions as ranges, first and last, in order and apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Positions(pub Vec<(u64, u64)>);

/// An exchange as declared.
#[derive(Clone, Debug, PartialEq)]
pub struct ExchangeDefinition {
    /// Its name.
    pub name: Text,
    /// Its type, as `exchange.declare` calls it.
    pub kind: Text,
    /// Whether it goes with its last binding.
    pub is_auto_delete: bool,
    /// Its alternate exchange, if that is durable.
    pub alternate: Option<Text>,
    /// As declared.
    pub arguments: Map,
}
record!(ExchangeDefinition {
    name,
    kind,
    is_auto_delete,
    alternate,
    arguments
});

/// A queue as declared. What it holds at most follows from its arguments and the broker's options.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueDefinition {
    /// Which queue.
    pub queue: QueueKey,
    /// Its name.
    pub name: Text,
    /// Whether it goes when it is no longer used.
    pub is_auto_delete: bool,
    /// Its alternate exchange, if that is durable.
    pub alternate: Option<Text>,
    /// As declared.
    pub arguments: Map,
    /// No message has ever been at this position or behind it.
    pub tail: u64,
}
record!(QueueDefinition {
    queue,
    name,
    is_auto_delete,
    alternate,
    arguments,
    tail
} if is_counted(tail), else "position");

/// A binding as made.
#[derive(Clone, Debug, PartialEq)]
pub struct BindingDefinition {
    /// The exchange.
    pub exchange: Text,
    /// The queue.
    pub queue: QueueKey,
    /// The key.
    pub key: Text,
    /// As given.
    pub arguments: Map,
}
record!(BindingDefinition {
    exchange,
    queue,
    key,
    arguments
});

/// A deleted queue whose messages are still going to its alternate exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rerouting {
    /// The queue that was.
    pub queue: QueueKey,
    /// The exchange.
    pub exchange: Text,
}
record!(Rerouting { queue, exchange });

/// All durable definitions at one place of the order.
#[derive(Clone, Debug, PartialEq)]
pub struct Definitions {
    /// Keys of queues up to this one have been given.
    pub incarnations: u64,
    /// Exchanges, the standard ones too.
    pub exchanges: Vec<ExchangeDefinition>,
    /// Queues.
    pub queues: Vec<QueueDefinition>,
    /// Bindings, those of an exchange in the order in which it routes.
    pub bindings: Vec<BindingDefinition>,
    /// Deleted queues of which messages are left.
    pub rerouting: Vec<Rerouting>,
}
record!(Definitions {
    incarnations,
    exchanges,
    queues,
    bindings,
    rerouting
} if is_counted(incarnations), else "queue's key");

/// Of positions in order.
impl FromIterator<u64> for Positions {
    fn from_iter<T: IntoIterator<Item = u64>>(positions: T) -> Self {
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        for position in positions {
            match ranges.last_mut() {
                Some((_, last)) if *last + 1 == position => *last = position,
                _ => ranges.push((position, position)),
            }
        }
        Positions(ranges)
    }
}

/// Whether counting one by one comes to a number: others are damage. To one that it comes to, one
/// can be added.
fn is_counted(number: u64) -> bool {
    number < limits::COUNTED_MAX
}

impl Record for QueueKey {
    fn encode(&self, to: &mut Encoder) {
        self.0.encode(to);
    }
    fn decode(from: &mut Decoder<'_>) -> Result<Self, EncodingError> {
        match u64::decode(from)? {
            key if is_counted(key) => Ok(QueueKey(key)),
            _ => Err(from.error("queue's key")),
        }
    }
}

impl Record for Positions {
    fn encode(&self, to: &mut Encoder) {
        self.0.encode(to);
    }
    fn decode(from: &mut Decoder<'_>) -> Result<Self, EncodingError> {
        let ranges = Vec::<(u64, u64)>::decode(from)?;
        let mut next = 0;
        for (first, last) in &ranges {
            if *first < next || last < first || !is_counted(*last) {
                return Err(from.error("ranges of positions"));
            }
            next = *last + 1;
        }
        Ok(Positions(ranges))
    }
}

impl Record for SmallVec<[Place; 1]> {
    fn encode(&self, to: &mut Encoder) {
        (self.len() as u32).encode(to);
        self.iter().for_each(|place| place.encode(to));
    }
    fn decode(from: &mut Decoder<'_>) -> Result<Self, EncodingError> {
        let places = Vec::<Place>::decode(from)?;
        Ok(SmallVec::from_vec(places))
    }
}

impl Record for Enqueued {
    fn encode(&self, to: &mut Encoder) {
        let Self {
            handle,
            places,
            message,
        } = self;
        handle.encode(to);
        places.encode(to);
        encode_message(message, to);
    }
    fn decode(from: &mut Decoder<'_>) -> Result<Self, EncodingError> {
        let handle = decode_handle(from)?;
        let places: SmallVec<[Place; 1]> = Record::decode(from)?;
        let message = decode_message(handle, places.len(), from)?;
        Ok(Enqueued {
            handle,
            places,
            message,
        })
    }
}

impl Record for PreparedPublish {
    fn encode(&self, to: &mut Encoder) {
        let Self {
            handle,
            expires,
            queues,
            message,
        } = self;
        handle.encode(to);
        expires.encode(to);
        queues.encode(to);
        encode_message(message, to);
    }
    fn decode(from: &mut Decoder<'_>) -> Result<Self, EncodingError> {
        let handle = decode_handle(from)?;
        let expires = GroupTime::decode(from)?;
        let queues: Vec<QueueKey> = Record::decode(from)?;
        let message = decode_message(handle, queues.len(), from)?;
        Ok(PreparedPublish {
            handle,
            expires,
            queues,
            message,
        })
    }
}

fn decode_handle(from: &mut Decoder<'_>) -> Result<BodyHandle, EncodingError> {
    let handle = BodyHandle::decode(from)?;
    match is_counted(handle.index) {
        true => Ok(handle),
        false => Err(from.error("message handle")),
    }
}

fn encode_message(message: &Arc<Message>, to: &mut Encoder) {
    let (content, header) = (message.content(), message.header().len());
    (u8::from(message.has_header) | u8::from(message.has_body) << 1).encode(to);
    (header as u32).encode(to);
    ((content.len() - header) as u32).encode(to);
    to.content(message);
}

/// A message that is in so many places, or is to come to them.
fn decode_message(
    handle: BodyHandle,
    places: usize,
    from: &mut Decoder<'_>,
) -> Result<Arc<Message>, EncodingError> {
    let flags = u8::decode(from)?;
    let (header, body) = (u32::decode(from)?, u32::decode(from)?);
    let header_at = from.offset();
    let encoded = EncodedMessage {
        handle,
        has_header: flags & 1 != 0,
        has_body: flags & 2 != 0,
        header: from.raw(header as usize, "message header")?,
        body: from.raw(body as usize, "message body")?,
        header_at,
        places,
    };
    let message = match &mut from.message_by {
        Some(make) => make(&encoded)?,
        None => encoded.message()?,
    };
    match message.is_persistent {
        true => Ok(message),
        false => Err(from.error("persistent message")),
    }
}

impl Fact {
    /// The messages that it brings, each with the number of its places, in the order in which they
    /// are encoded.
    pub fn messages(&self) -> impl Iterator<Item = (&Arc<Message>, usize)> {
        let enqueued = match self {
            Fact::Enqueued(fact) => Some((&fact.message, fact.places.len())),
            _ => None,
        };
        let prepared = match self {
            Fact::Prepared(branch) => branch.publishes.as_slice(),
            _ => &[],
        };
        let prepared = prepared.iter().map(|one| (&one.message, one.queues.len()));
        enqueued.into_iter().chain(prepared)
    }

    /// The same, to be replaced by others with the same content.
    pub fn messages_mut(&mut self) -> impl Iterator<Item = &mut Arc<Message>> {
        let (enqueued, prepared) = match self {
            Fact::Enqueued(fact) => (Some(&mut fact.message), None),
            Fact::Prepared(branch) => (None, Some(branch.publishes.iter_mut())),
            _ => (None, None),
        };
        let prepared = prepared.into_iter().flatten();
        enqueued
            .into_iter()
            .chain(prepared.map(|one| &mut one.message))
    }
}

/// A message as it stands in a record.
#[derive(Clone, Copy, Debug)]
pub struct EncodedMessage<'a> {
    /// Which message.
    pub handle: BodyHandle,
    /// As [`Message::has_header`].
    pub has_header: bool,
    /// As [`Message::has_body`].
    pub has_body: bool,
    /// The header segment.
    pub header: &'a [u8],
    /// The body, right behind the header.
    pub body: &'a [u8],
    /// The offset of the header in the record.
    pub header_at: usize,
    /// In how many places it is.
    pub places: usize,
}

impl EncodedMessage<'_> {
    /// The message, with its body in memory.
    ///
    /// # Errors
    /// When the header is none.
    pub fn message(&self) -> Result<Arc<Message>, EncodingError> {
        let error = EncodingError {
            what: "message header",
            offset: self.header_at,
        };
        if !self.has_header && !self.header.is_empty() || !self.has_body && !self.body.is_empty() {
            return Err(error);
        }
        let header = self.has_header.then_some(self.header);
        let body = self.has_body.then_some(self.body);
        let message = Message::kept(header, body).map_err(|_| error)?;
        Ok(Arc::new(message))
    }
}

impl FactRecord {
    /// The record as `encode` gives it, with large messages by reference.
    pub fn encode_sharing(&self) -> EncodedFacts {
        let mut to = Encoder {
            shared: Some(Vec::new()),
            ..Encoder::default()
        };
        self.encode(&mut to);
        EncodedFacts {
            octets: to.bytes,
            shared: to.shared.unwrap_or_default(),
            contents: to.contents,
        }
    }
}

impl FactRecord {
    /// Reads a record that is all of `octets`; `make` makes the messages, None of what stands there.
    ///
    /// # Errors
    /// The octets are no record.
    pub fn decode_with<'a>(
        octets: &'a [u8],
        make: Option<MessageBy<'a>>,
    ) -> Result<FactRecord, EncodingError> {
        let mut from = Decoder::new(octets);
        from.message_by = make;
        let record = FactRecord::decode(&mut from)?;
        match from.is_at_end() {
            true => Ok(record),
            false => Err(from.error("end of facts")),
        }
    }
}

/// A record of facts as octets.
#[derive(Clone, Debug, Default)]
pub struct EncodedFacts {
    /// All but the long runs of messages.
    pub octets: Vec<u8>,
    /// These, each with the offset in `octets` before which it belongs.
    pub shared: Vec<(usize, Bytes)>,
    /// Where in all octets together the content of each message begins, as [`Fact::messages`] gives
    /// them.
    pub contents: Vec<usize>,
}

impl Record for FactRecord {
    fn encode(&self, to: &mut Encoder) {
        let Self { index, time, facts } = self;
        VERSION.encode(to);
        index.encode(to);
        time.encode(to);
        facts.encode(to);
    }
    fn decode(from: &mut Decoder<'_>) -> Result<Self, EncodingError> {
        if u8::decode(from)? != VERSION {
            return Err(from.error("version of facts"));
        }
        let (index, time) = (u64::decode(from)?, GroupTime::decode(from)?);
        if !is_counted(index) {
            return Err(from.error("index"));
        }
        let facts = Vec::decode(from)?;
        Ok(FactRecord { index, time, facts })
    }
}
