//! The places of one queue, as facts about them come in: in whatever order, some of them twice.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::spans::Spans;
use crate::broker::dead::Death;
use crate::broker::ids::GroupTime;
use crate::broker::message::{BodyHandle, Message};

/// A message at a place.
#[derive(Clone, Debug)]
pub struct Recovered {
    /// Which message.
    pub handle: BodyHandle,
    /// What it is.
    pub message: Arc<Message>,
    /// When its time runs out.
    pub expires: GroupTime,
    /// How often it was given back after a delivery, where its queue counts that.
    pub deliveries: u32,
}

/// Positions that are apart, as ranges: last by first.
#[derive(Debug, Default)]
pub(super) struct Ranges(BTreeMap<u64, u64>);

impl Ranges {
    pub(super) fn contains(&self, position: u64) -> bool {
        let range = self.0.range(..=position).next_back();
        range.is_some_and(|(_, last)| position <= *last)
    }

    /// Adds a range, and puts it together with those that it touches.
    pub(super) fn insert(&mut self, mut first: u64, mut last: u64) {
        if let Some((before, end)) = self.0.range(..=first).next_back()
            && first <= end.saturating_add(1)
        {
            (first, last) = (*before, last.max(*end));
        }
        while let Some((next, end)) = self.0.range(first..).next()
            && *next <= last.saturating_add(1)
        {
            let (next, end) = (*next, *end);
            last = last.max(end);
            self.0.remove(&next);
        }
        self.0.insert(first, last);
    }

    /// Forgets what ends before a position.
    pub(super) fn cut(&mut self, before: u64) {
        while let Some(first) = self.0.first_entry()
            && *first.get() < before
        {
            first.remove();
        }
    }
}

/// See the module.
#[derive(Debug)]
pub struct Places {
    entries: BTreeMap<u64, Recovered>,
    /// All before this position have left.
    before: u64,
    /// And these.
    left: Ranges,
    rejected: Ranges,
    /// How those died that did: some of them may have left since.
    died: Spans<Death>,
    /// How often those were given back that were: some have left since.
    given_back: Spans<u32>,
    /// No message has been at this position or behind it.
    tail: u64,
}

/// Of a new queue, whose first position is 1.
impl Default for Places {
    fn default() -> Self {
        Places {
            entries: BTreeMap::new(),
            before: 1,
            left: Ranges::default(),
            rejected: Ranges::default(),
            died: Spans::default(),
            given_back: Spans::default(),
            tail: 1,
        }
    }
}

impl Places {
    /// How many messages are at places.
    pub fn count(&self) -> u64 {
        let is_there = |position: &u64| *position >= self.before && !self.left.contains(*position);
        self.entries
            .keys()
            .filter(|position| is_there(position))
            .count() as u64
    }

    /// No message will come to a position before this one any more.
    pub fn go_on_at(&mut self, tail: u64) {
        self.tail = self.tail.max(tail);
    }

    /// A message has come, unless it has left.
    pub fn enqueued(&mut self, position: u64, recovered: Recovered) {
        self.go_on_at(position + 1);
        if position >= self.before && !self.left.contains(position) {
            self.entries.insert(position, recovered);
        }
    }

    /// Messages have left.
    pub fn dequeued(&mut self, first: u64, last: u64) {
        self.go_on_at(last + 1);
        self.left.insert(first, last);
        while let Some((position, _)) = self.entries.range(first..=last).next() {
            let position = *position;
            self.entries.remove(&position);
        }
    }

    /// All before a position have left.
    pub fn dequeued_before(&mut self, before: u64) {
        if before <= self.before {
            return;
        }
        self.go_on_at(before);
        self.before = before;
        self.left.cut(before);
        self.rejected.cut(before);
        self.died.cut(before);
        self.given_back.cut(before);
        while let Some(first) = self.entries.first_entry()
            && *first.key() < before
        {
            first.remove();
        }
    }

    /// Messages that are there are to be rerouted.
    pub fn rejected(&mut self, first: u64, last: u64) {
        self.go_on_at(last + 1);
        self.rejected.insert(first, last);
    }

    /// Messages that are there died, and are to be rerouted.
    pub fn died(&mut self, first: u64, last: u64, death: &Death) {
        self.go_on_at(last + 1);
        // One that is said twice is said again as it was.
        self.died.put(first, last, |_| death.clone());
    }

    /// Messages that are there were given back so often in all.
    pub fn given_back(&mut self, first: u64, last: u64, deliveries: u32) {
        self.go_on_at(last + 1);
        // The most that was said, in whatever order.
        let most = |said: Option<&u32>| said.map_or(deliveries, |said| deliveries.max(*said));
        self.given_back.put(first, last, most);
    }

    /// The position of the next message.
    pub fn tail(&self) -> u64 {
        self.tail
    }

    /// The messages that are left, in order, and what became of each.
    pub fn into_entries(self) -> impl Iterator<Item = (u64, Recovered, Fate)> {
        let (rejected, died) = (self.rejected, self.died);
        let given_back = self.given_back;
        self.entries
            .into_iter()
            .map(move |(position, mut recovered)| {
                recovered.deliveries = given_back.get(position).copied().unwrap_or(0);
                let fate = match died.get(position) {
                    Some(death) => Fate::Died(death.clone()),
                    None if rejected.contains(position) => Fate::Rejected,
                    None => Fate::Stays,
                };
                (position, recovered, fate)
            })
    }
}

/// What became of a message that is at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is in its queue.
    Stays,
    /// It is on its way to the alternate exchange.
    Rejected,
    /// The same, and its copy there says why.
    Died(Death),
}
