//! The kinds of queues: which of the messages in it a queue offers, to whom, and in which order.
//!
//! The messages of every queue lie in one deque, by position; a kind keeps what it needs beside it. A
//! plain queue needs nothing, so that each step on its way is one test of the kind.

use super::groups::Groups;
use super::last_value::LastValue;
use super::priority::Levels;
use crate::broker::encoding::record_enum;
use crate::broker::message::Message;
use crate::broker::plant::{Plant, is_planted};
use crate::broker::subscription::SubscriptionRef;
use crate::wire::Text;

/// See the module.
#[derive(Clone, Debug, Default, Hash)]
pub enum Kind {
    /// In the order of positions.
    #[default]
    Fifo,
    /// The same, and of each key only the last message.
    LastValue(Box<LastValue>),
    /// The highest priority first.
    Priority(Box<Levels>),
    /// In the order of positions, and all that is acquired of a group is one consumer's.
    Groups(Box<Groups>),
}
record_enum!(Kind {
    0 = Fifo,
    1 = LastValue(keys),
    2 = Priority(levels),
    3 = Groups(groups),
});

/// The header by whose absence all messages of [`Kind::in_order`] are of one group.
const OTHER_GROUP: &str = "x-ferrymq.other-group";

impl Kind {
    /// In the order of positions for whoever takes them, too: while one consumer holds a message none
    /// behind it goes to another. All are of one group, unless a message says otherwise.
    pub fn in_order(group: Text) -> Kind {
        match is_planted(Plant::EventsOvertake) {
            true => Kind::Fifo,
            false => Kind::Groups(Box::new(Groups::new(OTHER_GROUP.into(), group))),
        }
    }

    /// A message that can be had has come to a position behind all others.
    #[inline]
    pub fn entered(&mut self, position: u64, message: &Message) {
        match self {
            Kind::Fifo => {}
            Kind::LastValue(keys) => keys.entered(position, message),
            Kind::Priority(levels) => levels.entered(position, message.priority),
            Kind::Groups(groups) => groups.entered(position, message),
        }
    }

    /// A message goes to a consumer.
    #[inline]
    pub fn taken(&mut self, priority: u8) {
        match self {
            Kind::Fifo | Kind::LastValue(_) | Kind::Groups(_) => {}
            Kind::Priority(levels) => levels.taken(priority),
        }
    }

    /// A message is acquired.
    #[inline]
    pub fn acquired(&mut self, position: u64, priority: u8, by: SubscriptionRef) {
        match self {
            Kind::Fifo | Kind::LastValue(_) => {}
            Kind::Priority(levels) => levels.acquired(position, priority),
            Kind::Groups(groups) => groups.acquired(position, by),
        }
    }

    /// A message that was acquired can be had again.
    #[inline]
    pub fn released(&mut self, position: u64, priority: u8) {
        match self {
            Kind::Fifo | Kind::LastValue(_) => {}
            Kind::Priority(levels) => levels.released(position, priority),
            Kind::Groups(groups) => groups.released(position),
        }
    }

    /// A message is there no longer.
    #[inline]
    pub fn left(&mut self, position: u64, priority: u8, was_available: bool) {
        match self {
            Kind::Fifo => {}
            Kind::LastValue(keys) => keys.left(position),
            Kind::Priority(levels) => levels.left(position, priority, was_available),
            Kind::Groups(groups) => groups.left(position, was_available),
        }
    }

    /// Octets that it keeps beside so many messages.
    pub fn bytes(&self, messages: u64) -> u64 {
        match self {
            Kind::Fifo => 0,
            Kind::LastValue(keys) => keys.bytes(),
            // The position of each.
            Kind::Priority(_) => messages * size_of::<Option<u64>>() as u64,
            Kind::Groups(groups) => groups.bytes(),
        }
    }

    /// Counts anew what it cannot tell at once.
    pub fn count_anew(&mut self) {
        match self {
            Kind::Fifo | Kind::Priority(_) => {}
            Kind::LastValue(keys) => keys.count_anew(),
            Kind::Groups(groups) => groups.count_anew(),
        }
    }

    /// Whether a consumer may have a message now.
    #[inline]
    pub fn is_open(&self, position: u64, to: SubscriptionRef) -> bool {
        match self {
            Kind::Fifo | Kind::LastValue(_) | Kind::Priority(_) => true,
            Kind::Groups(groups) => groups.is_open(position, to),
        }
    }

    /// Whether something has become open to consumers that was not, and from which position on.
    pub fn take_opened(&mut self) -> Option<u64> {
        match self {
            Kind::Fifo | Kind::LastValue(_) | Kind::Priority(_) => None,
            Kind::Groups(groups) => groups.take_opened(),
        }
    }

    /// Whether something has become open that nobody has looked at.
    #[inline]
    pub fn has_opened(&self) -> bool {
        match self {
            Kind::Fifo | Kind::LastValue(_) | Kind::Priority(_) => false,
            Kind::Groups(groups) => groups.has_opened(),
        }
    }
}
