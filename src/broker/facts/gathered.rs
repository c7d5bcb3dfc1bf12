//! The facts of the batch at hand, as `apply` comes upon them.
//!
//! A message that comes and goes within a batch leaves no fact, so nothing is final before the
//! batch ends. Gathering is appending; what cancels what is looked at once, at the end.

use std::sync::Arc;

use smallvec::SmallVec;

use super::{Dequeued, Enqueued, Fact, Place, Positions, Rejected};
use crate::broker::ids::{GroupTime, QueueId, QueueKey, QueueRef};
use crate::broker::message::{BodyHandle, Message, Stored};
use crate::broker::plant::{Plant, is_planted};
use crate::broker::queue::Queue;
use crate::broker::slab::Slab;

/// Positions of a queue that messages have left.
#[derive(Clone, Copy, Debug)]
struct Left {
    queue: QueueRef,
    first: u64,
    last: u64,
    /// How many durable messages were there.
    messages: u64,
}

/// See the module. Empty between two batches.
#[derive(Clone, Debug, Default)]
pub struct Gathered {
    is_wanted: bool,
    definitions: Vec<Fact>,
    messages: Vec<(BodyHandle, Arc<Message>)>,
    /// Places, each with the index of its message.
    places: Vec<(usize, Place)>,
    left: Vec<Left>,
    rejected: Vec<(QueueRef, u64)>,
    /// Queues that are gone with all their messages.
    deleted: Vec<QueueKey>,
    /// Queues of which something follows when the command at hand is done. No facts, but come upon in
    /// the same places.
    touched: Vec<QueueId>,
}

impl Gathered {
    /// Begins a batch.
    pub fn begin(&mut self, is_wanted: bool) {
        self.is_wanted = is_wanted;
    }

    /// Whether anybody wants facts: what is costly to say need not be said else.
    pub fn is_wanted(&self) -> bool {
        self.is_wanted
    }

    /// Something follows of a queue when the command at hand is done.
    pub fn touch(&mut self, queue: QueueId) {
        if self.touched.last() != Some(&queue) {
            self.touched.push(queue);
        }
    }

    /// Whether something follows of any queue.
    #[inline]
    pub fn has_touched(&self) -> bool {
        !self.touched.is_empty()
    }

    /// The queues of which something follows, in order and each once.
    pub fn take_touched(&mut self) -> Vec<QueueId> {
        let mut touched = std::mem::take(&mut self.touched);
        touched.sort_unstable();
        touched.dedup();
        touched
    }

    /// Something was defined, or is defined no more.
    pub fn defined(&mut self, fact: impl FnOnce() -> Fact) {
        if self.is_wanted {
            let fact = fact();
            if let Fact::QueueDeleted {
                queue,
                rerouted_to: None,
            } = &fact
            {
                self.deleted.push(*queue);
            }
            self.definitions.push(fact);
        }
    }

    /// A durable message has come to a place in a durable queue.
    pub fn enqueued(
        &mut self,
        queue: QueueRef,
        position: u64,
        stored: &Stored,
        expires: GroupTime,
    ) {
        if !self.is_wanted {
            return;
        }
        let is_same = |(handle, _): &(BodyHandle, _)| *handle == stored.handle;
        if !self.messages.last().is_some_and(is_same) {
            let message = (stored.handle, stored.message.clone());
            self.messages.push(message);
        }
        let place = Place {
            queue: queue.key(),
            position,
            expires,
        };
        self.places.push((self.messages.len() - 1, place));
    }

    /// A durable message has left its place in a durable queue.
    #[inline]
    pub fn dequeued(&mut self, queue: QueueRef, position: u64) {
        if self.is_wanted {
            self.dequeued_range(queue, position, position, 1);
        }
    }

    /// `messages` durable messages have left places between two positions, at which there is none
    /// now.
    pub fn dequeued_range(&mut self, queue: QueueRef, first: u64, last: u64, messages: u64) {
        if !self.is_wanted {
            return;
        }
        if let Some(before) = self.left.last_mut()
            && (before.queue, before.last + 1) == (queue, first)
        {
            (before.last, before.messages) = (last, before.messages + messages);
            return;
        }
        self.left.push(Left {
            queue,
            first,
            last,
            messages,
        });
    }

    /// A durable message was rejected and is yet to be rerouted.
    pub fn rejected(&mut self, queue: QueueRef, position: u64) {
        if self.is_wanted {
            self.rejected.push((queue, position));
        }
    }

    /// Ends the batch: what is left of it is appended to `facts`.
    pub fn finish(&mut self, queues: &Slab<Queue>, facts: &mut Vec<Fact>) {
        if !self.is_wanted {
            return;
        }
        facts.append(&mut self.definitions);
        self.leave_out_deleted();
        let left = merged(&mut self.left);
        let has_left = |queue: QueueKey, position: u64| {
            let key = (queue, position);
            let at = left.partition_point(|range| (range.queue.key(), range.last) < key);
            let range = left.get(at)?;
            (range.queue.key() == queue && range.first <= position).then_some(at)
        };
        // Of the messages that left a range, those that came in this batch.
        let mut passed = vec![0; left.len()];
        let mut last = None;
        for (message, place) in self.places.drain(..) {
            if let Some(at) = has_left(place.queue, place.position) {
                passed[at] += 1;
                continue;
            }
            match facts.last_mut() {
                Some(Fact::Enqueued(fact)) if last == Some(message) => {
                    if !is_planted(Plant::PlaceLeftOut) {
                        fact.places.push(place);
                    }
                }
                _ => {
                    let (handle, message) = self.messages[message].clone();
                    let places = SmallVec::from_buf([place]);
                    facts.push(Fact::Enqueued(Enqueued {
                        handle,
                        places,
                        message,
                    }));
                }
            }
            last = Some(message);
        }
        self.messages.clear();
        self.rejected
            .retain(|(queue, position)| has_left(queue.key(), *position).is_none());
        append_rejected(&mut self.rejected, facts);
        append_dequeued(left, &passed, queues, facts);
        self.left.clear();
    }

    /// What was said of queues that are gone altogether need not be said.
    fn leave_out_deleted(&mut self) {
        if self.deleted.is_empty() {
            return;
        }
        let mut deleted = std::mem::take(&mut self.deleted);
        deleted.sort_unstable();
        let is_gone = |queue: QueueKey| deleted.binary_search(&queue).is_ok();
        self.places.retain(|(_, place)| !is_gone(place.queue));
        self.left.retain(|range| !is_gone(range.queue.key()));
        self.rejected.retain(|(queue, _)| !is_gone(queue.key()));
    }
}

/// Puts ranges in order and adjoining ones together.
fn merged(left: &mut Vec<Left>) -> &[Left] {
    left.sort_unstable_by_key(|range| (range.queue.key(), range.first));
    left.dedup_by(|next, range| {
        let is_adjoining = next.queue == range.queue && next.first <= range.last + 1;
        if is_adjoining {
            range.last = range.last.max(next.last);
            range.messages += next.messages;
        }
        is_adjoining
    });
    left
}

fn append_rejected(rejected: &mut Vec<(QueueRef, u64)>, facts: &mut Vec<Fact>) {
    rejected.sort_unstable_by_key(|(queue, position)| (queue.key(), *position));
    for of_queue in rejected.chunk_by(|one, next| one.0 == next.0) {
        facts.push(Fact::Rejected(Rejected {
            queue: of_queue[0].0.key(),
            positions: of_queue.iter().map(|(_, position)| *position).collect(),
        }));
    }
    rejected.clear();
}

fn append_dequeued(left: &[Left], passed: &[u64], queues: &Slab<Queue>, facts: &mut Vec<Fact>) {
    let mut at = 0;
    for of_queue in left.chunk_by(|one, next| one.queue == next.queue) {
        let messages: u64 = of_queue.iter().map(|range| range.messages).sum();
        let only_passed: u64 = passed[at..at + of_queue.len()].iter().sum();
        at += of_queue.len();
        if messages == only_passed {
            continue;
        }
        let queue = of_queue[0].queue;
        let found = queues.get(queue.id.0).filter(|q| q.reference == queue);
        let before = found.map_or(0, Queue::gone_before);
        let ranges = of_queue.iter().filter(|range| range.last >= before);
        let ranges = ranges.map(|range| (range.first.max(before), range.last));
        facts.push(Fact::Dequeued(Dequeued {
            queue: queue.key(),
            before,
            positions: Positions(ranges.collect()),
        }));
    }
}
