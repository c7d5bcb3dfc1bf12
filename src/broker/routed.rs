//! What an exchange does with every message that it routes, when its arguments ask for it: it counts
//! them, and keeps the last.

use super::arguments;
use super::encoding::record;
use super::ids::GroupTime;
use super::message::{Message, Stored};
use crate::wire::{Map, Value};

/// See the module. Most exchanges have none.
#[derive(Clone, Debug, PartialEq, Hash)]
pub struct Routed {
    /// `qpid.msg_sequence`: the number of the last message, which its header says.
    pub sequence: Option<u64>,
    /// `qpid.ive`: whether a queue that is bound gets the last message.
    pub keeps_last: bool,
    /// That message. As in qpidd it is not there any more after a restart.
    pub last: Option<Last>,
}
record!(Routed {
    sequence,
    keeps_last,
    last
});

/// A message that was routed last.
#[derive(Clone, Debug, PartialEq, Hash)]
pub struct Last {
    /// The message.
    pub stored: Stored,
    /// When its time runs out.
    pub expires: GroupTime,
}
record!(Last { stored, expires });

impl Routed {
    /// Of an exchange with these arguments; None when they ask for nothing. As in qpidd it is enough
    /// that they are there, whatever their values; where counting went before is a number or counts as
    /// 0.
    pub fn of(arguments: &Map) -> Option<Box<Routed>> {
        let is_counting = arguments.contains(arguments::EXCHANGE_SEQUENCE);
        let keeps_last = arguments.contains(arguments::INITIAL_VALUE);
        let counter = arguments.get(arguments::SEQUENCE_COUNTER);
        let before = counter.and_then(Value::as_u64).unwrap_or(0);
        (is_counting || keeps_last).then(|| {
            Box::new(Routed {
                sequence: is_counting.then_some(before),
                keeps_last,
                last: None,
            })
        })
    }

    /// The next message as it is with its number in its header; None where it is not to have one.
    pub fn numbered(&mut self, message: &Message) -> Option<Message> {
        let sequence = self.sequence.as_mut()?;
        *sequence = sequence.saturating_add(1);
        let number = i64::try_from(*sequence).unwrap_or(i64::MAX);
        let mut headers = message.application_headers().unwrap_or_default();
        headers.insert(arguments::EXCHANGE_SEQUENCE, Value::I64(number));
        message.remade(headers, true)
    }
}
