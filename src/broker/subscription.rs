//! A session's interest in a queue.

use std::sync::Arc;

use super::credit::Credit;
use super::effect::Tag;
use super::encoding::{Decoder, Encoder, EncodingError, Record, record};
use super::ids::{QueueId, SessionId, SubscriptionId};
use super::selector::Selector;
use crate::wire::{Map, SequenceSet, Text};

/// A subscription that may meanwhile have been cancelled: its slot and which of the slot's it was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SubscriptionRef {
    /// The slot.
    pub id: SubscriptionId,
    /// Counts the subscriptions that the core has ever made.
    pub incarnation: u64,
}
record!(SubscriptionRef { id, incarnation });

/// A subscription.
#[derive(Clone, Debug, Hash)]
pub struct Subscription {
    /// Which of its slot's subscriptions it is.
    pub reference: SubscriptionRef,
    /// The session.
    pub session: SessionId,
    /// The queue.
    pub queue: QueueId,
    /// The name of the queue, once it has been deleted.
    pub deleted_queue: Option<Text>,
    /// What each transfer repeats: destination and modes.
    pub tag: Arc<Tag>,
    /// Whether deliveries take messages from the queue; a browser's do not.
    pub is_acquiring: bool,
    /// Whether acquired messages wait for `message.accept`.
    pub is_explicit: bool,
    /// Whether it has the queue for itself.
    pub is_exclusive: bool,
    /// Which messages it wants.
    pub selector: Option<Selector>,
    /// As subscribed.
    pub arguments: Map,
    /// How much it wants.
    pub credit: Credit,
    /// A browser, or one with a selector: no message before this position is for it.
    pub cursor: u64,
    /// Whether it stands in a ring of its queue.
    pub is_ready: bool,
    /// Whether it waits for its connection's headroom or its session's settling.
    pub is_starved: bool,
    /// `message.flush` commands that are not done: there is more to send than an entry can, or than
    /// the connection has headroom for.
    pub flushes: SequenceSet,
    /// `qpid.sync_frequency`: a sync is asked for with every so many deliveries; 0 is never.
    pub sync_frequency: u32,
    /// Messages delivered.
    pub delivered: u64,
    /// Of a queue with priorities, what `cursor` is for each level; empty for other queues.
    pub level_cursors: Vec<u64>,
    /// Whether its messages say which they are.
    pub wants_identity: bool,
}

impl Subscription {
    /// A message at this position can be had again.
    pub fn look_again_from(&mut self, position: u64) {
        self.cursor = self.cursor.min(position);
        for cursor in &mut self.level_cursors {
            *cursor = (*cursor).min(position);
        }
    }
}

impl Record for Option<Selector> {
    fn encode(&self, to: &mut Encoder) {
        self.as_ref()
            .map(|selector| selector.text().to_owned())
            .encode(to);
    }
    fn decode(from: &mut Decoder<'_>) -> Result<Self, EncodingError> {
        let text = Option::<String>::decode(from)?;
        text.map(|text| Selector::parse(&text).map_err(|_| from.error("selector")))
            .transpose()
    }
}

impl Record for Arc<Tag> {
    fn encode(&self, to: &mut Encoder) {
        (**self).encode(to);
    }
    fn decode(from: &mut Decoder<'_>) -> Result<Self, EncodingError> {
        Ok(Arc::new(Tag::decode(from)?))
    }
}

record!(Subscription {
    reference,
    session,
    queue,
    deleted_queue,
    tag,
    is_acquiring,
    is_explicit,
    is_exclusive,
    selector,
    arguments,
    credit,
    cursor,
    is_ready,
    is_starved,
    flushes,
    sync_frequency,
    delivered,
} since 2 {
    level_cursors = Vec::new(),
} since 3 {
    wants_identity = false,
});
