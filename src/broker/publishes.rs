//! Messages that a transaction or a branch publishes when it is committed, and how many places in
//! queues they come to.

use std::hash::{Hash, Hasher};

use super::encoding::{Decoder, Encoder, EncodingError, Record, record};
use super::ids::{GroupTime, QueueRef};
use super::message::Stored;
use crate::wire::Text;

/// A message that a transaction publishes.
#[derive(Clone, Debug, Hash)]
pub struct TransactionPublish {
    /// The message.
    pub stored: Stored,
    /// When it runs out: its time to live began when it was sent.
    pub expires: GroupTime,
    /// Where it was routed when it was sent.
    pub queues: Vec<QueueRef>,
    /// Exchanges that keep it as the last that they have routed, by name.
    pub last_of: Vec<Text>,
}
record!(TransactionPublish {
    stored,
    expires,
    queues
} since 3 {
    last_of = Vec::new(),
});

/// See the module. In the order in which they came.
#[derive(Clone, Debug, Default)]
pub struct Publishes {
    messages: Vec<TransactionPublish>,
    /// Follows from the messages.
    places: usize,
}

impl Publishes {
    /// Messages in order.
    pub fn iter(&self) -> std::slice::Iter<'_, TransactionPublish> {
        self.messages.iter()
    }

    /// How many messages there are.
    pub fn len(&self) -> usize {
        self.messages.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Places in queues that all of them come to.
    pub fn places(&self) -> usize {
        self.places
    }

    /// Adds the next.
    pub fn push(&mut self, publish: TransactionPublish) {
        self.places += publish.queues.len();
        self.messages.push(publish);
    }
}

impl<'a> IntoIterator for &'a Publishes {
    type Item = &'a TransactionPublish;
    type IntoIter = std::slice::Iter<'a, TransactionPublish>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl IntoIterator for Publishes {
    type Item = TransactionPublish;
    type IntoIter = std::vec::IntoIter<TransactionPublish>;

    fn into_iter(self) -> Self::IntoIter {
        self.messages.into_iter()
    }
}

/// The count says nothing that the messages do not.
impl Hash for Publishes {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.messages.hash(state);
    }
}

/// The count is not written.
impl Record for Publishes {
    fn encode(&self, to: &mut Encoder) {
        self.messages.encode(to);
    }
    fn decode(from: &mut Decoder<'_>) -> Result<Self, EncodingError> {
        let messages: Vec<TransactionPublish> = Record::decode(from)?;
        let places = messages.iter().map(|publish| publish.queues.len()).sum();
        Ok(Publishes { messages, places })
    }
}
