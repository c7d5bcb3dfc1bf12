//! The facts of the batch at hand, as `apply` comes upon them.
//!
//! A message that comes and goes within a batch leaves no fact, so nothing is final before the
//! batch ends. Gathering is appending; what cancels what is looked at once, at the end.

use std::sync::Arc;

use smallvec::SmallVec;

use super::{Dequeued, Died, Enqueued, Fact, GivenBack, Place, Positions, Prepared, Rejected};
use crate::broker::dead::Death;
use crate::broker::ids::{GroupTime, QueueId, QueueKey, QueueRef};
use crate::broker::limits;
use crate::broker::message::{BodyHandle, Message, Stored};
use crate::broker::plant::{Plant, is_planted};
use crate::broker::queue::Queue;
use crate::broker::replication::Change;
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
    /// Messages on their way to alternate exchanges, and what their copies there say.
    leaving: Vec<(QueueRef, Option<Death>, u64)>,
    prepared: Vec<Prepared>,
    /// Messages that were given back, and how often.
    given_back: Vec<(QueueRef, u64, u32)>,
    /// Queues that are gone with all their messages.
    deleted: Vec<QueueKey>,
    /// Queues of which something follows when the command at hand is done. No facts, but come upon in
    /// the same places.
    touched: Vec<QueueId>,
    /// Lines of alerts that were crossed, in order. No facts either.
    crossings: Vec<Crossing>,
    /// How many were too many.
    crossings_lost: u64,
    /// Whether anybody is to be told of changes.
    tells_changes: bool,
    /// Whether positions of messages that come are given by the broker of which they are copies.
    gives_positions: bool,
    /// What has happened in queues that give events of it, in order. No facts either.
    changes: Vec<Change>,
}

/// A queue has crossed a line that an alert was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crossing {
    /// The queue.
    pub queue: QueueRef,
    /// Whether it has grown to the upper line; else it has sunk to the lower one.
    pub is_high: bool,
    /// Messages in it then.
    pub depth: u64,
    /// Octets in it then.
    pub bytes: u64,
}

impl Gathered {
    /// Begins a batch. Facts may be wanted, and changes of queues may be to be told.
    pub fn begin(&mut self, is_wanted: bool, tells_changes: bool) {
        (self.is_wanted, self.tells_changes) = (is_wanted, tells_changes);
    }

    /// Whether anybody is to be told of changes.
    #[inline]
    pub fn tells_changes(&self) -> bool {
        self.tells_changes
    }

    /// Positions of messages that come are given by the broker of which they are copies, or no longer.
    pub fn give_positions(&mut self, gives_positions: bool) {
        self.gives_positions = gives_positions;
    }

    /// Whether they are.
    pub fn gives_positions(&self) -> bool {
        self.gives_positions
    }

    /// Something has happened in a queue that gives events of it: what follows comes when the command
    /// at hand is done.
    pub fn changed(&mut self, change: Change) {
        self.changes.push(change);
    }

    /// What has happened in queues that give events of it, in order.
    pub fn take_changes(&mut self) -> Vec<Change> {
        std::mem::take(&mut self.changes)
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

    /// A line was crossed: something follows of its queue. What is more than
    /// [`limits::CROSSINGS_PER_COMMAND_MAX`] is counted and not told.
    pub fn crossed(&mut self, crossing: Crossing) {
        if self.crossings.len() < limits::CROSSINGS_PER_COMMAND_MAX {
            self.crossings.push(crossing);
        } else {
            self.crossings_lost += 1;
        }
        self.touch(crossing.queue.id);
    }

    /// The lines that were crossed, in order, and how many more there were.
    pub fn take_crossings(&mut self) -> (Vec<Crossing>, u64) {
        let lost = std::mem::take(&mut self.crossings_lost);
        (std::mem::take(&mut self.crossings), lost)
    }

    /// Whether something follows of any queue.
    #[inline]
    pub fn has_touched(&self) -> bool {
        !self.touched.is_empty() || !self.changes.is_empty()
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

    /// A durable message has left its place and is yet to be rerouted.
    pub fn left_for_alternate(&mut self, queue: QueueRef, position: u64, death: Option<&Death>) {
        if self.is_wanted {
            self.leaving.push((queue, death.cloned(), position));
        }
    }

    /// A durable message of a durable queue was given back so often in all.
    pub fn given_back(&mut self, queue: QueueRef, position: u64, deliveries: u32) {
        if self.is_wanted {
            self.given_back.push((queue, position, deliveries));
        }
    }

    /// A branch is prepared.
    pub fn prepared(&mut self, fact: impl FnOnce() -> Prepared) {
        if self.is_wanted && !is_planted(Plant::PreparedNotSaid) {
            self.prepared.push(fact());
        }
    }

    /// The outcome of a prepared branch was decided.
    pub fn completed(&mut self, number: u64) {
        self.dequeued(QueueRef::BRANCHES, number);
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
        for branch in self.prepared.drain(..) {
            match has_left(QueueKey::BRANCHES, branch.number) {
                Some(at) => passed[at] += 1,
                None => facts.push(Fact::Prepared(Box::new(branch))),
            }
        }
        self.leaving
            .retain(|(queue, _, position)| has_left(queue.key(), *position).is_none());
        append_leaving(&mut self.leaving, facts);
        self.given_back
            .retain(|(queue, position, _)| has_left(queue.key(), *position).is_none());
        append_given_back(&mut self.given_back, facts);
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
        self.leaving.retain(|(queue, ..)| !is_gone(queue.key()));
        self.given_back.retain(|(queue, ..)| !is_gone(queue.key()));
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

fn append_leaving(leaving: &mut Vec<(QueueRef, Option<Death>, u64)>, facts: &mut Vec<Fact>) {
    leaving.sort_unstable_by(|one, next| {
        let key = |of: &(QueueRef, Option<Death>, u64)| (of.0.key(), of.2);
        (&one.1, key(one)).cmp(&(&next.1, key(next)))
    });
    let is_alike = |one: &(QueueRef, Option<Death>, u64), next: &(QueueRef, Option<Death>, u64)| {
        (one.0, &one.1) == (next.0, &next.1)
    };
    for alike in leaving.chunk_by(is_alike) {
        let positions = alike.iter().map(|(_, _, position)| *position);
        facts.push(left_fact(
            alike[0].0.key(),
            positions.collect(),
            alike[0].1.as_ref(),
        ));
    }
    leaving.clear();
}

/// Of a message that was given back more than once the last is said.
fn append_given_back(given_back: &mut Vec<(QueueRef, u64, u32)>, facts: &mut Vec<Fact>) {
    let place = |(queue, position, _): &(QueueRef, u64, u32)| (queue.key(), *position);
    given_back.sort_unstable_by_key(|given| (place(given), std::cmp::Reverse(given.2)));
    given_back.dedup_by_key(|given| place(given));
    given_back.sort_unstable_by_key(|(queue, position, count)| (queue.key(), *count, *position));
    let is_alike = |one: &(QueueRef, u64, u32), next: &(QueueRef, u64, u32)| {
        (one.0, one.2) == (next.0, next.2)
    };
    for alike in given_back.chunk_by(is_alike) {
        facts.push(Fact::GivenBack(GivenBack {
            queue: alike[0].0.key(),
            positions: alike.iter().map(|(_, position, _)| *position).collect(),
            deliveries: alike[0].2,
        }));
    }
    given_back.clear();
}

/// What is said of messages that are on their way to their queue's alternate exchange.
pub(super) fn left_fact(queue: QueueKey, positions: Positions, death: Option<&Death>) -> Fact {
    match death {
        None => Fact::Rejected(Rejected { queue, positions }),
        Some(death) => Fact::Died(Box::new(Died {
            queue,
            positions,
            death: death.clone(),
        })),
    }
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
