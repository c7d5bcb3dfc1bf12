//! Queue-state replication: what happens in queues of one broker is told as messages, which an exchange
//! of another broker turns into the same state of its own queues. It is Qpid's, header by header, so
//! that either end may be a `qpidd` that still has it.
//!
//! At the *source* a queue with [`GENERATION`](super::arguments::EVENT_GENERATION) gives an *event* for
//! each message that comes into it, with all of the message, and if asked for each that leaves it, with
//! its position alone. Events go where [`EventsTo`] says: into one queue, or through an exchange. A link
//! carries them to an exchange of the type [`TYPE`] at the *backup*, which applies them in the order in
//! which they come. An event is made in the entry of what it tells, and its facts are in that entry's
//! record: neither is there without the other.
//!
//! As in qpidd the backup compares positions: a message goes to the position that it had, so that it
//! comes to no harm when an event is applied twice or one in between was lost.

use std::sync::Arc;

use super::encoding::{record, record_enum};
use super::limits;
use super::message::Message;
use super::seen::IDENTITY;
use crate::wire::header;
use crate::wire::limits::STR8_BYTES_MAX;
use crate::wire::{DeliveryMode, DeliveryProperties, Map, MessageProperties, Text, Value};

/// The type of the exchange that applies events, in `exchange.declare`. Qpid's tools pass it on.
pub const TYPE: &str = "replication";

/// The argument under which that exchange says, and keeps, the number of the last event. qpidd's.
pub const LAST_EVENT: &str = "qpid.replication-event.sequence";

// Application headers of an event. Both ends rely on them, whichever broker they are.

/// Which kind of event it is: [`ENQUEUED`] or [`DEQUEUED`]. What has no such header is no event.
const KIND: &str = "qpid.replication.type";
/// The number of the event in the queue from which the link takes it.
pub const NUMBER: &str = "qpid.replication.seqno";
/// The queue that the event is about.
const QUEUE: &str = "qpid.replication.target_queue";
/// The position of a message that has come.
const CAME_TO: &str = "qpid.replication.queue.position";
/// The position of a message that has left.
const LEFT: &str = "qpid.replication.message";

/// Value of [`KIND`]: a message has come; the event is that message, with headers more.
const ENQUEUED: i64 = 1;
/// Value of [`KIND`]: a message has left; the event has no body.
const DEQUEUED: i32 = 2;

/// Where events go: `replication-queue` and the options beside it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EventsTo {
    /// `replication-queue`: the queue into which they go; empty for none.
    pub queue: Text,
    /// `create-replication-queue`: whether it is made, not durable, where it is not there.
    pub makes_queue: bool,
    /// `replication-exchange-name`: the exchange through which they go instead; empty for none. It is
    /// made, not durable, where it is not there.
    pub exchange: Text,
    /// `replication-exchange-type`: its type then.
    pub exchange_type: Text,
}
record!(EventsTo {
    queue,
    makes_queue,
    exchange,
    exchange_type
} if is_sound(&queue, &exchange, &exchange_type), else "where events go");

/// Types of exchanges that events can go through. An xml exchange looks into bodies beforehand, which
/// is not to be had for what the core itself makes.
const EXCHANGE_TYPES: [&str; 4] = ["direct", "topic", "fanout", "headers"];

fn is_sound(queue: &Text, exchange: &Text, exchange_type: &Text) -> bool {
    let is_short = |name: &Text| name.len() <= STR8_BYTES_MAX;
    is_short(queue) && is_short(exchange) && EXCHANGE_TYPES.contains(&exchange_type.as_str())
}

impl Default for EventsTo {
    fn default() -> Self {
        EventsTo {
            queue: Text::default(),
            makes_queue: false,
            exchange: Text::default(),
            exchange_type: "direct".into(),
        }
    }
}

impl EventsTo {
    /// Whether they go anywhere.
    pub fn is_anywhere(&self) -> bool {
        !self.queue.is_empty() || !self.exchange.is_empty()
    }

    /// Why these cannot be; None when they can.
    pub fn fault(&self) -> Option<String> {
        if !EXCHANGE_TYPES.contains(&self.exchange_type.as_str()) {
            let types = EXCHANGE_TYPES.join(", ");
            let given = &self.exchange_type;
            return Some(format!(
                "replication-exchange-type={given}: it is one of {types}"
            ));
        }
        let is_sound = is_sound(&self.queue, &self.exchange, &self.exchange_type);
        (!is_sound).then(|| {
            format!(
                "the name of a replication queue or exchange is longer than {STR8_BYTES_MAX} octets"
            )
        })
    }
}

/// Of what a queue gives events: `qpid.queue_event_generation`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Generation {
    /// Of nothing.
    #[default]
    None,
    /// 1: of messages that come.
    Enqueues,
    /// 2, and as in qpidd any other number: of those that leave, too.
    All,
}
record_enum!(Generation { 0 = None, 1 = Enqueues, 2 = All });

/// Something that has happened in a queue that gives events of it.
#[derive(Clone, Debug)]
pub struct Change {
    /// The queue's name. It may be no more.
    pub name: Text,
    /// The position of the message.
    pub position: u64,
    /// What has become of the message.
    pub what: What,
}

/// What has become of a message.
#[derive(Clone, Debug)]
pub enum What {
    /// It has come.
    Came(Arc<Message>),
    /// It has left.
    Left {
        /// Whether facts say so: then the event has to survive, too.
        is_fact: bool,
    },
}

impl Change {
    /// Octets of what is told, about.
    pub fn bytes(&self) -> u64 {
        match &self.what {
            What::Came(message) => message.size(),
            What::Left { .. } => 0,
        }
    }

    /// The event, with its number if it has one. None when a bound of headers is passed: of a message
    /// whose own headers leave no room.
    pub fn event(&self, number: Option<u64>) -> Option<Message> {
        match &self.what {
            What::Came(message) => self.came(message, number),
            What::Left { is_fact } => self.left(*is_fact, number),
        }
    }

    fn came(&self, message: &Message, number: Option<u64>) -> Option<Message> {
        let mut headers = message.application_headers().unwrap_or_default();
        // Of a message that came over a link: each of its events is another.
        headers.remove(IDENTITY);
        headers.insert(QUEUE, Value::Str16(self.name.clone()));
        headers.insert(KIND, Value::I64(ENQUEUED));
        headers.insert(CAME_TO, signed(self.position));
        if let Some(number) = number {
            headers.insert(NUMBER, signed(number));
        }
        message.remade(headers, true)
    }

    fn left(&self, is_fact: bool, number: Option<u64>) -> Option<Message> {
        let mut headers = Map::new();
        headers.insert(QUEUE, Value::Str16(self.name.clone()));
        headers.insert(KIND, Value::I32(DEQUEUED));
        // qpidd has 32 bits for it.
        let position = i32::try_from(self.position);
        headers.insert(
            LEFT,
            position.map_or_else(|_| signed(self.position), Value::I32),
        );
        if let Some(number) = number {
            headers.insert(NUMBER, signed(number));
        }
        let delivery = DeliveryProperties {
            routing_key: Some(self.name.clone()),
            delivery_mode: is_fact.then_some(DeliveryMode::PERSISTENT),
            ..DeliveryProperties::default()
        };
        let properties = MessageProperties {
            application_headers: Some(headers),
            ..MessageProperties::default()
        };
        let mut segment = Vec::new();
        header::encode(&Some(delivery), &[], &mut segment);
        header::encode_properties(&properties, &mut segment);
        Message::kept(Some(&segment), None).ok()
    }
}

fn signed(number: u64) -> Value {
    Value::I64(i64::try_from(number).unwrap_or(i64::MAX))
}

/// Whether a message is an event: of those no queue gives events, or they would have no end.
pub fn is_event(message: &Message) -> bool {
    let has_header = |headers: Map| headers.contains(KIND);
    message.mentions(KIND) && message.application_headers().is_some_and(has_header)
}

/// An event as it comes to an exchange that applies it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The queue that it is about.
    pub queue: Text,
    /// Its number, if it has one.
    pub number: Option<u64>,
    /// What it says, and of which position.
    pub what: Told,
}

/// What an event says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// Its message has come to this position.
    Came(u64),
    /// The message at this position has left.
    Left(u64),
}

impl Event {
    /// What a message says. None: it is no event.
    ///
    /// # Errors
    /// It is one that says nothing which can be: the text says why.
    pub fn of(headers: &Map) -> Result<Option<Event>, String> {
        let kind = match headers.get(KIND) {
            None => return Ok(None),
            Some(kind) => kind.as_i64().unwrap_or(0),
        };
        if kind == 0 {
            return Ok(None);
        }
        let what = match kind {
            ENQUEUED => Told::Came(position(headers, CAME_TO)?),
            kind if kind == i64::from(DEQUEUED) => Told::Left(position(headers, LEFT)?),
            kind => return Err(format!("Illegal value for {KIND}: {kind}")),
        };
        let number = match headers.get(NUMBER) {
            None => None,
            Some(value) => {
                let number = unsigned(value).filter(|number| *number < limits::COUNTED_MAX);
                Some(number.ok_or_else(|| illegal(NUMBER))?)
            }
        };
        let queue = headers.get(QUEUE).and_then(Value::as_str);
        Ok(Some(Event {
            queue: queue.unwrap_or_default().into(),
            number,
            what,
        }))
    }

    /// The message as it was before it was an event. None when a bound of headers is passed.
    pub fn without(message: &Message) -> Option<Message> {
        let mut headers = message.application_headers().unwrap_or_default();
        for name in [QUEUE, NUMBER, KIND, CAME_TO] {
            headers.remove(name);
        }
        message.remade(headers, true)
    }
}

fn illegal(name: &str) -> String {
    format!("Illegal value for {name}")
}

fn position(headers: &Map, name: &str) -> Result<u64, String> {
    let position = headers.get(name).and_then(unsigned);
    let is_one = |position: &u64| (1..limits::REPLICATED_POSITION_MAX).contains(position);
    position.filter(is_one).ok_or_else(|| illegal(name))
}

/// A number that counts up. qpidd's has 32 bits, and is below 0 in its upper half.
fn unsigned(value: &Value) -> Option<u64> {
    match value {
        Value::I32(number) => Some(number.cast_unsigned().into()),
        other => other.as_u64(),
    }
}

/// How far an exchange that applies events has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Applied {
    /// The number of the last event.
    pub last: u64,
    /// Whether any has come since the exchange was made, or the broker started: as in qpidd the first
    /// is taken whatever its number, since a source that has begun anew begins with 1. What it repeats
    /// is still known by its position.
    pub has_begun: bool,
}
record!(Applied { last, has_begun });

impl Applied {
    /// Of an exchange that is declared with these arguments.
    pub fn of(arguments: &Map) -> Applied {
        let last = arguments.get(LAST_EVENT).and_then(unsigned);
        Applied {
            last: last.filter(|last| *last < limits::COUNTED_MAX).unwrap_or(0),
            has_begun: false,
        }
    }

    /// Whether an event of this number has been before.
    pub fn has_had(&self, number: u64) -> bool {
        self.has_begun && self.distance_to(number) == 0
    }

    /// Whether events before one of this number have not come.
    pub fn misses_before(&self, number: u64) -> bool {
        self.has_begun && self.distance_to(number) > 1
    }

    /// An event has come.
    pub fn note(&mut self, number: u64) {
        (self.last, self.has_begun) = (number, true);
    }

    /// How much later than the last an event of this number is; 0 for one that is not. qpidd's numbers
    /// begin anew behind 32 bits; ours do not, and there one of more bits comes next.
    fn distance_to(&self, number: u64) -> u64 {
        match (u32::try_from(self.last), u32::try_from(number)) {
            (Ok(last), Ok(number)) => {
                let distance = number.wrapping_sub(last);
                match distance.cast_signed() > 0 {
                    true => distance.into(),
                    false => 0,
                }
            }
            _ => number.saturating_sub(self.last),
        }
    }
}

/// What became of events, here and where they were made, as the log and metrics tell it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ReplicationCounters {
    /// Events that were made and put into a queue.
    pub told: u64,
    /// Events that came to no queue, or not to all: it was not there, or full.
    pub lost: u64,
    /// Events that were applied.
    pub applied: u64,
    /// Events that had been before.
    pub repeated: u64,
    /// Messages that are no events.
    pub strange: u64,
    /// Events of queues that are not there.
    pub missing: u64,
    /// Messages that were to come to positions that their queue has passed.
    pub ahead: u64,
    /// Messages that were to leave and were not there, or that somebody had acquired.
    pub absent: u64,
    /// How often events before one had not come.
    pub gaps: u64,
}
record!(ReplicationCounters {
    told,
    lost,
    applied,
    repeated,
    strange,
    missing,
    ahead,
    absent,
    gaps
});

/// What is known of replication.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Replication {
    /// Counted since the core was made.
    pub counters: ReplicationCounters,
    /// The queue that the last event was about that could not be applied, or the exchange to which
    /// something came that is none.
    pub trouble: Text,
}
record!(Replication { counters, trouble });
