//! Messages that die in a queue: why, and what the copy that goes to the alternate exchange says of
//! it.
//!
//! A message that died goes to its queue's alternate exchange as a copy with headers that say why,
//! when and where. Its time to live is gone, and so is its trace: where it comes to it may stay, and
//! go over links that it came by. `docs/decisions/0019-dead-letters.md` has names and reasons.

use super::arguments;
use super::encoding::{record, record_enum};
use super::ids::GroupTime;
use super::limits;
use super::management::WallTime;
use super::message::Message;
use crate::wire::limits::STR8_BYTES_MAX;
use crate::wire::{Map, Text, Value};

/// Why the message died. One of Open MQ's words where it has one for it.
const REASON: &str = "x-dead-reason";
/// The name of the queue in which it died.
const QUEUE: &str = "x-dead-queue";
/// When: milliseconds since 1970, by the wall clock of the member whose agent looked at its own last.
const TIMESTAMP: &str = "x-dead-timestamp";
/// How often it was given back after a delivery, where its queue counts that.
const DELIVERY_COUNT: &str = "x-dead-delivery-count";
/// More about the reason, in words.
const COMMENT: &str = "x-dead-comment";
/// The names of the queues in which it died without a client's having asked for that, since a client
/// last did: it comes to none of them again.
const PATH: &str = "x-dead-path";

/// A header of clients of Open MQ: whether the message goes to the alternate exchange when it dies,
/// whatever its queue says of the reason.
const PRESERVED: &str = "JMS_SUN_PRESERVE_UNDELIVERED";
/// Open MQ's own names for why, when, more about it, and how often it was delivered. A message that
/// has [`PRESERVED`] gets them beside ours.
const OPEN_MQ_REASON: &str = "JMS_SUN_DMQ_UNDELIVERED_REASON";
const OPEN_MQ_TIMESTAMP: &str = "JMS_SUN_DMQ_UNDELIVERED_TIMESTAMP";
const OPEN_MQ_COMMENT: &str = "JMS_SUN_DMQ_UNDELIVERED_COMMENT";
const OPEN_MQ_DELIVERY_COUNT: &str = "JMS_SUN_DMQ_DELIVERY_COUNT";

/// The trace of brokers that a message has passed.
pub(super) const TRACE: &str = "x-qpid.trace";

/// Why a message died.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// A subscriber rejected it.
    Rejected,
    /// Its time to live has run out.
    Expired,
    /// It was the oldest in a ring that was full.
    Oldest,
    /// It was one of the lowest level in a ring with priorities that was full.
    LowPriority,
    /// A later message with its key has taken its place.
    Replaced,
    /// It was given back too often after a delivery.
    OverDelivered,
}
record_enum!(Reason {
    0 = Rejected,
    1 = Expired,
    2 = Oldest,
    3 = LowPriority,
    4 = Replaced,
    5 = OverDelivered,
});

impl Reason {
    /// The word in the header. Open MQ has one for what subscribers do not take, whether they say so or
    /// fail, and none for what a last value queue replaces.
    pub fn word(self) -> &'static str {
        match self {
            Reason::Rejected | Reason::OverDelivered => "UNDELIVERABLE",
            Reason::Expired => "EXPIRED",
            Reason::Oldest => "OLDEST",
            Reason::LowPriority => "LOW_PRIORITY",
            Reason::Replaced => "REPLACED",
        }
    }

    fn comment(self) -> &'static str {
        match self {
            Reason::Rejected => "rejected by a subscriber",
            Reason::Expired => "its time to live has run out",
            Reason::Oldest => "made room in a full ring, as the oldest",
            Reason::LowPriority => "made room in a full ring, as one of the lowest priority",
            Reason::Replaced => "replaced by a later message with its key",
            Reason::OverDelivered => "delivered too often without being accepted",
        }
    }

    /// Whether a client asked for it, so that no message dies of it for ever by itself.
    fn is_asked_for(self) -> bool {
        self == Reason::Rejected
    }
}

/// The death of some messages: all that their copies say of it. A fact keeps it while they are on
/// their way.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Death {
    /// Why.
    pub reason: Reason,
    /// The name of the queue.
    pub queue: Text,
    /// When.
    pub time: GroupTime,
    /// After how many deliveries, if that was the reason; 0 else.
    pub deliveries: u32,
}
record!(Death {
    reason,
    queue,
    time,
    deliveries
} if Text::len(&queue) <= STR8_BYTES_MAX, else "queue's name");

/// The path of a message that died, from its headers. A publisher may have written what it likes
/// there: what is no list of names is no path.
fn path(headers: Option<&Map>) -> Vec<Text> {
    let path = headers.and_then(|headers| headers.get(PATH));
    let names = path.and_then(Value::as_items).unwrap_or_default();
    let names = names.iter().filter_map(Value::as_str);
    names.map(Text::from).collect()
}

/// What a message says itself of its death: whether it goes to the alternate exchange or to nowhere.
/// None when it leaves that to its queue.
pub fn preserved(message: &Message) -> Option<bool> {
    let headers = message
        .mentions(PRESERVED)
        .then(|| message.application_headers());
    preserved_by(&headers??)
}

fn preserved_by(headers: &Map) -> Option<bool> {
    headers.get(PRESERVED)?.as_bool()
}

impl Death {
    /// The path of a message that died so and has these headers: the queues to which it does not go.
    /// None when it has died too often.
    pub fn path(&self, headers: Option<&Map>) -> Option<Vec<Text>> {
        if self.reason.is_asked_for() {
            return Some(Vec::new());
        }
        let mut path = path(headers);
        if !path.contains(&self.queue) {
            path.push(self.queue.clone());
        }
        (path.len() <= limits::DEATHS_MAX).then_some(path)
    }

    /// The application headers of the copy of a message that had `headers`, died `at` this time by the
    /// wall clock, and was given back `deliveries` times where that is counted.
    pub fn mark(&self, headers: &mut Map, at: WallTime, deliveries: u32, path: &[Text]) {
        headers.remove(TRACE);
        for name in [DELIVERY_COUNT, PATH, OPEN_MQ_DELIVERY_COUNT] {
            headers.remove(name);
        }
        let is_of_open_mq = preserved_by(headers).is_some();
        headers.insert(REASON, Value::Str16(self.reason.word().into()));
        headers.insert(QUEUE, Value::Str16(self.queue.clone()));
        let time = i64::try_from(at.0).unwrap_or(i64::MAX);
        headers.insert(TIMESTAMP, Value::I64(time));
        headers.insert(COMMENT, Value::Str16(self.reason.comment().into()));
        let deliveries = deliveries.max(self.deliveries);
        if deliveries > 0 {
            headers.insert(DELIVERY_COUNT, Value::U32(deliveries));
        }
        if is_of_open_mq {
            let same = [
                (REASON, OPEN_MQ_REASON),
                (TIMESTAMP, OPEN_MQ_TIMESTAMP),
                (COMMENT, OPEN_MQ_COMMENT),
                (DELIVERY_COUNT, OPEN_MQ_DELIVERY_COUNT),
            ];
            for (ours, theirs) in same {
                if let Some(value) = headers.get(ours).cloned() {
                    headers.insert(theirs, value);
                }
            }
        }
        if !path.is_empty() {
            let names = path.iter().map(|name| Value::Str16(name.clone()));
            headers.insert(PATH, Value::List(names.collect()));
        }
    }
}

/// What a queue's arguments say of messages that die in it. Without any it is as in qpidd: what is
/// rejected, or makes room in a ring, goes to the alternate exchange, and what expires or is replaced
/// goes nowhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct DeadLetters {
    /// Whether those that expire go to the alternate exchange.
    pub takes_expired: bool,
    /// Whether those that are replaced do.
    pub takes_replaced: bool,
    /// Whether those that are rejected are marked.
    pub marks_rejected: bool,
    /// After how many deliveries that came to nothing a message dies; 0 is never.
    pub deliveries_max: u32,
}
record!(DeadLetters {
    takes_expired,
    takes_replaced,
    marks_rejected,
    deliveries_max
});

impl DeadLetters {
    /// Of a queue that is declared with these arguments.
    ///
    /// # Errors
    /// A reason is unknown, or a number none.
    pub fn of(arguments: &Map) -> Result<DeadLetters, String> {
        let deliveries = arguments::number_of_32_bits(arguments, arguments::MAX_DELIVERY_COUNT)?;
        let mut dead_letters = DeadLetters {
            deliveries_max: deliveries.unwrap_or(0),
            ..DeadLetters::default()
        };
        let name = arguments::DEAD_LETTER;
        let Some(value) = arguments.get(name) else {
            return Ok(dead_letters);
        };
        let text = value.as_str();
        let text = text.ok_or_else(|| format!("The {name} value is not text"))?;
        for word in text.split([',', ' ']).filter(|word| !word.is_empty()) {
            let all = word == "all";
            if !all && !["expired", "replaced", "rejected"].contains(&word) {
                return Err(format!(
                    "Unknown reason {word} in {name}: all, expired, rejected and replaced are known"
                ));
            }
            dead_letters.takes_expired |= all || word == "expired";
            dead_letters.takes_replaced |= all || word == "replaced";
            dead_letters.marks_rejected |= all || word == "rejected";
        }
        Ok(dead_letters)
    }

    /// Whether a message that dies for a reason goes to the alternate exchange, if there is one.
    pub fn takes(&self, reason: Reason) -> bool {
        match reason {
            Reason::Expired => self.takes_expired,
            Reason::Replaced => self.takes_replaced,
            Reason::Rejected | Reason::Oldest | Reason::LowPriority | Reason::OverDelivered => true,
        }
    }

    /// Whether its copy there says so. What dies by itself always does: its path is what keeps it from
    /// going round for ever.
    pub fn marks(&self, reason: Reason) -> bool {
        !reason.is_asked_for() || self.marks_rejected
    }
}

/// Messages that died and went to the alternate exchange, by reason. Read by management.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct DeadCounters {
    /// Rejected.
    pub rejected: u64,
    /// Expired.
    pub expired: u64,
    /// Made room as the oldest.
    pub oldest: u64,
    /// Made room as one of the lowest priority.
    pub low_priority: u64,
    /// Replaced.
    pub replaced: u64,
    /// Given back too often.
    pub over_delivered: u64,
}
record!(DeadCounters {
    rejected,
    expired,
    oldest,
    low_priority,
    replaced,
    over_delivered
});

impl DeadCounters {
    /// Adds what another has counted.
    pub fn add(&mut self, other: &DeadCounters) {
        self.rejected += other.rejected;
        self.expired += other.expired;
        self.oldest += other.oldest;
        self.low_priority += other.low_priority;
        self.replaced += other.replaced;
        self.over_delivered += other.over_delivered;
    }

    /// A message died.
    pub fn count(&mut self, reason: Reason) {
        let counter = match reason {
            Reason::Rejected => &mut self.rejected,
            Reason::Expired => &mut self.expired,
            Reason::Oldest => &mut self.oldest,
            Reason::LowPriority => &mut self.low_priority,
            Reason::Replaced => &mut self.replaced,
            Reason::OverDelivered => &mut self.over_delivered,
        };
        *counter += 1;
    }
}
