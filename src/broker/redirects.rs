//! Queues that are redirected to each other: what is routed to one goes into the other.
//!
//! As in qpidd both change places: messages for the source go to the target, and messages for the target
//! to the source, until the redirect is cancelled or one of them is deleted. It does not survive a
//! restart, and is equal on all members.

use std::collections::BTreeMap;

use super::encoding::record;
use super::ids::QueueId;

/// The other queue of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Peer {
    /// Which.
    pub queue: QueueId,
    /// Whether the queue that has this peer is the source of the redirect.
    pub is_source: bool,
}
record!(Peer { queue, is_source });

/// All pairs, each from both sides.
#[derive(Clone, Debug, Default, Hash)]
pub struct Redirects {
    peers: BTreeMap<QueueId, Peer>,
}
record!(Redirects { peers });

impl Redirects {
    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.peers.is_empty()
    }

    /// The queue that a queue makes a pair with.
    pub fn peer(&self, queue: QueueId) -> Option<Peer> {
        self.peers.get(&queue).copied()
    }

    /// Makes a pair of two queues that are in none.
    pub fn insert(&mut self, source: QueueId, target: QueueId) {
        let peer = |queue, is_source| Peer { queue, is_source };
        self.peers.insert(source, peer(target, true));
        self.peers.insert(target, peer(source, false));
    }

    /// Undoes the pair of a queue, if it is in one.
    pub fn remove(&mut self, queue: QueueId) {
        if let Some(peer) = self.peers.remove(&queue) {
            self.peers.remove(&peer.queue);
        }
    }

    /// Where messages routed to a queue go.
    pub fn place(&self, queue: QueueId) -> QueueId {
        self.peers.get(&queue).map_or(queue, |peer| peer.queue)
    }
}
