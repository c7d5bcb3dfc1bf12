//! Depths between which a queue can grow and shrink without anything following from it: most messages
//! come and go with two comparisons, whatever limits the queue has.

use super::Queue;
use super::lifetime::LifetimePolicy;
use crate::broker::encoding::record;
use crate::broker::facts::{Crossing, Gathered};

/// See the module. They follow from what else is known of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Lines {
    /// With more messages than this something follows.
    above_count: u64,
    /// With more octets than this.
    above_bytes: u64,
    /// With fewer messages than this.
    below_count: u64,
    /// With fewer octets than this.
    below_bytes: u64,
}
record!(Lines {
    above_count,
    above_bytes,
    below_count,
    below_bytes
});

impl Default for Lines {
    fn default() -> Self {
        Lines {
            above_count: u64::MAX,
            above_bytes: u64::MAX,
            below_count: 0,
            below_bytes: 0,
        }
    }
}

impl Queue {
    /// A message has come.
    #[inline]
    pub(super) fn has_grown(&mut self, facts: &mut Gathered) {
        let is_within =
            self.entries.len() <= self.lines.above_count && self.bytes <= self.lines.above_bytes;
        if !is_within {
            self.look_at_depth(facts);
            facts.touch(self.reference.id);
        }
    }

    /// A message has left a position.
    #[inline]
    pub(super) fn has_shrunk(&mut self, position: u64, facts: &mut Gathered) {
        let is_within =
            self.entries.len() >= self.lines.below_count && self.bytes >= self.lines.below_bytes;
        if !is_within || self.kind.has_opened() {
            self.flow.left(position);
            self.look_at_depth(facts);
            facts.touch(self.reference.id);
        }
    }

    /// Looks what follows from the depth as it is, and draws the lines anew. An alert is due as soon as
    /// its line is crossed: a message that comes and is taken in one command crosses it, too.
    pub(in crate::broker) fn look_at_depth(&mut self, facts: &mut Gathered) {
        let depth = (self.entries.len(), self.bytes);
        for is_high in self.look_again().into_iter().flatten() {
            facts.crossed(Crossing {
                queue: self.reference,
                is_high,
                depth: depth.0,
                bytes: depth.1,
            });
        }
    }

    /// The same, where nobody is to be told of what is crossed: the queue is as it was before.
    pub(in crate::broker) fn look_again(&mut self) -> [Option<bool>; 2] {
        let depth = (self.entries.len(), self.bytes);
        self.flow.look(depth);
        let crossed = self.alerts.look(depth);
        let (stop_count, stop_bytes) = match self.flow.is_stopped {
            true => (None, None),
            false => (self.flow.stop_count, self.flow.stop_bytes),
        };
        // While publishers are held back, each message that leaves may be one of theirs.
        let below_all = match self.flow.is_stopped {
            true => u64::MAX,
            false => 0,
        };
        // An empty queue may be one that goes.
        let emptied = match self.lifetime.policy {
            LifetimePolicy::UnusedAndEmpty => 1,
            LifetimePolicy::Unused | LifetimePolicy::OnClose => 0,
        };
        let (count, bytes) = (&self.alerts.count, &self.alerts.bytes);
        self.lines = Lines {
            above_count: count.above().min(stop_count.unwrap_or(u64::MAX)),
            above_bytes: bytes.above().min(stop_bytes.unwrap_or(u64::MAX)),
            below_count: count.below().max(below_all).max(emptied),
            below_bytes: bytes.below().max(below_all),
        };
        crossed
    }
}
