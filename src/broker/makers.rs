//! Who made which queue: quotas of users count by it.

use std::collections::BTreeMap;

use super::encoding::{Decoder, Encoder, EncodingError, Record};
use super::ids::QueueKey;
use super::tally::Tally;
use crate::wire::Text;

/// The users that made the queues that are there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Makers {
    of_queues: BTreeMap<QueueKey, Text>,
    /// Follows from the above.
    counts: Tally<Text>,
}

impl Makers {
    /// A user has made a queue. A queue has one maker: a second one counts for nothing.
    pub fn note(&mut self, queue: QueueKey, user: Text) {
        if self.of_queues.contains_key(&queue) {
            return;
        }
        self.counts.add(user.clone());
        self.of_queues.insert(queue, user);
    }

    /// A queue is gone.
    pub fn forget(&mut self, queue: QueueKey) {
        if let Some(user) = self.of_queues.remove(&queue) {
            self.counts.remove(&user);
        }
    }

    /// Queues of a user that are there.
    pub fn count(&self, user: &str) -> u32 {
        self.counts.of(user)
    }

    /// Who made a queue, where that is known.
    pub fn of(&self, queue: QueueKey) -> Option<&Text> {
        self.of_queues.get(&queue)
    }
}

impl Record for Makers {
    fn encode(&self, to: &mut Encoder) {
        self.of_queues.encode(to);
    }
    fn decode(from: &mut Decoder<'_>) -> Result<Self, EncodingError> {
        let mut makers = Makers::default();
        for (queue, user) in BTreeMap::<QueueKey, Text>::decode(from)? {
            makers.note(queue, user);
        }
        Ok(makers)
    }
}
