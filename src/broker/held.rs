//! What the messages in queues and of open transactions take of this member's memory. Not state: members differ in it.
//!
//! A message is counted from its first place in a queue until it has left the last, however many
//! there are: its body is held once. One that an open transaction or a branch publishes is counted with the
//! places to which it goes. Messages that have left their queue and are yet to be rerouted
//! or freed still count. What is counted is what the allocator gives, so that a queue of many small
//! messages is not taken for a small one. What a queue's kind keeps beside its messages (keys, groups,
//! levels) counts as well, since a client chooses how much that is.

use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};

use super::encoding::{Decoder, Encoder, EncodingError, Record};
use super::ids::QueueRef;
use super::message::Message;
use super::publishes::TransactionPublish;
use super::queue::Entry;
use crate::wire::Text;

/// What the allocator adds to one allocation: its own eight octets, and what rounding up to sixteen
/// takes on average.
const ALLOCATION_BYTES: u64 = 16;

/// Octets of a message beside its content: the structure with its two counts, the allocation of the
/// content, and the allocations of both.
const MESSAGE_BYTES: u64 =
    (size_of::<Message>() + 2 * size_of::<usize>()) as u64 + 2 * ALLOCATION_BYTES;

/// Octets of what says where on the disk a message is, in `cluster`: measured, since what stands
/// there is not of this room.
const HOME_BYTES: u64 = 64 + ALLOCATION_BYTES;

/// Octets that are lost between allocations where a body was and has left the memory: measured with
/// some hundred thousand small messages, of which it is a tenth.
const GAP_BYTES: u64 = 40;

/// Octets of an entry of a queue. A block of them is allocated whole, so that what is left of a block
/// of which most has gone takes more.
pub const ENTRY_BYTES: u64 = size_of::<Option<Entry>>() as u64;

/// Octets of text that lie in the value itself, without an allocation.
const INLINE_TEXT_BYTES: usize = size_of::<Text>();

/// Octets that a text takes beside its value.
pub fn text_bytes(text: &Text) -> u64 {
    match text.len() {
        0..=INLINE_TEXT_BYTES => 0,
        len => len as u64 + ALLOCATION_BYTES,
    }
}

/// A number that follows from what is beside it, and so is no state: whoever decodes that counts anew.
#[derive(Clone, Copy, Debug, Default)]
pub struct Derived(pub u64);

impl Hash for Derived {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl Record for Derived {
    fn encode(&self, _: &mut Encoder) {}
    fn decode(_: &mut Decoder<'_>) -> Result<Self, EncodingError> {
        Ok(Derived::default())
    }
}

/// Whether memory is gained when a message's body leaves it: what says where it is, and the gaps, take
/// some, too.
pub fn is_worth_paging(message: &Message) -> bool {
    let cost = match message.is_persistent {
        // It has a home anyway.
        true => GAP_BYTES,
        false => GAP_BYTES + HOME_BYTES,
    };
    message.body().is_some_and(|body| body.len() as u64 > cost)
}

/// Octets of what a transaction keeps of a message beside it: mostly where it goes.
fn publish_bytes(publish: &TransactionPublish) -> u64 {
    let routes = publish.queues.len() * size_of::<QueueRef>();
    (size_of::<TransactionPublish>() + routes) as u64 + ALLOCATION_BYTES
}

/// Octets that a message takes, beside its entries in queues.
pub fn message_bytes(message: &Message) -> u64 {
    let home = match message.is_persistent || message.is_resting() {
        true => HOME_BYTES,
        false => 0,
    };
    let gap = if message.is_resting() { GAP_BYTES } else { 0 };
    message.content_bytes() + MESSAGE_BYTES + home + gap
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Held {
    bytes: u64,
    /// Slots of queues to which messages have come that nobody has looked at, to page them out. Some
    /// may be empty, or have another queue.
    listed: BTreeSet<u32>,
}

impl Held {
    /// Octets of all messages counted.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// A message has come to a place.
    #[inline]
    pub fn come(&mut self, message: &Message) {
        self.bytes += ENTRY_BYTES;
        if message.come() {
            self.bytes += message_bytes(message);
        }
    }

    /// A message has left a place.
    #[inline]
    pub fn leave(&mut self, message: &Message) {
        let message = match message.leave() {
            true => message_bytes(message),
            false => 0,
        };
        // Cores that share messages, as a copy of one does, count none of theirs right.
        self.bytes = self.bytes.saturating_sub(ENTRY_BYTES + message);
    }

    /// A message is published in a transaction or a branch.
    pub fn come_to_transaction(&mut self, publish: &TransactionPublish) {
        self.bytes += publish_bytes(publish);
        if publish.stored.message.come() {
            self.bytes += message_bytes(&publish.stored.message);
        }
    }

    /// It is not any more, the transaction or branch being over.
    pub fn leave_transaction(&mut self, publish: &TransactionPublish) {
        let message = match publish.stored.message.leave() {
            true => message_bytes(&publish.stored.message),
            false => 0,
        };
        let bytes = publish_bytes(publish) + message;
        self.bytes = self.bytes.saturating_sub(bytes);
    }

    /// What a queue's kind keeps has taken `before` and takes `now`.
    #[inline]
    pub fn change(&mut self, before: u64, now: u64) {
        self.bytes = self.bytes.saturating_add(now).saturating_sub(before);
    }

    /// A message has come to a queue in a slot in which all had been looked at.
    pub fn list(&mut self, slot: u32) {
        self.listed.insert(slot);
    }

    /// All messages in a slot have been looked at.
    pub fn unlist(&mut self, slot: u32) {
        self.listed.remove(&slot);
    }

    /// The first slot with messages that nobody has looked at.
    pub fn first_listed(&self) -> Option<u32> {
        self.listed.first().copied()
    }
}

impl Hash for Held {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

/// A core that is decoded counts anew.
impl Record for Held {
    fn encode(&self, _: &mut Encoder) {}
    fn decode(_: &mut Decoder<'_>) -> Result<Self, EncodingError> {
        Ok(Held::default())
    }
}

/// How far a queue's messages have been looked at, to page them out. Not state.
#[derive(Clone, Copy, Debug, Default)]
pub struct Looked {
    /// Whether the queue's slot is listed in [`Held`].
    pub is_listed: bool,
    /// All messages before this position were looked at.
    pub until: u64,
}

impl Hash for Looked {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl Record for Looked {
    fn encode(&self, _: &mut Encoder) {}
    fn decode(_: &mut Decoder<'_>) -> Result<Self, EncodingError> {
        Ok(Looked::default())
    }
}
