//! The direct exchange: routing key equal to binding key.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use super::in_order::InOrder;
use super::{Behind, Binding};
use crate::broker::ids::QueueId;
use crate::wire::{Map, Text};

/// The argument that makes a binding the only one of its key. Its presence counts, as in qpidd.
const EXCLUSIVE_BINDING: &str = "qpid.exclusive-binding";

/// Queues by key. One look-up routes, without allocation.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub struct Direct {
    by_key: BTreeMap<Text, InOrder<QueueId, Binding>>,
    /// The keys of each queue.
    by_queue: BTreeSet<(QueueId, Text)>,
}

impl Direct {
    /// Gives whether the binding is new. One that is exclusive takes the key from all other queues.
    pub fn bind(&mut self, queue: QueueId, key: &str, arguments: &Map) -> bool {
        for other in self.displaced(queue, key, arguments) {
            self.unbind(other, key);
        }
        self.add(queue, key, arguments)
    }

    /// As [`Direct::bind`], and no other queue loses the key.
    pub(super) fn add(&mut self, queue: QueueId, key: &str, arguments: &Map) -> bool {
        let key = Text::from(key);
        let bound = self.by_key.entry(key.clone()).or_default();
        if let Some(binding) = bound.get_mut(&queue) {
            if Self::is_exclusive(arguments) {
                binding.arguments = arguments.clone();
            }
            return false;
        }
        bound.add(queue, Binding::new(queue, key.clone(), arguments));
        self.by_queue.insert((queue, key));
        true
    }

    /// Whether a binding with these arguments is the only one of its key.
    pub fn is_exclusive(arguments: &Map) -> bool {
        arguments.contains(EXCLUSIVE_BINDING)
    }

    /// The other queues of the key, when the arguments make a binding to it exclusive.
    pub fn displaced(&self, queue: QueueId, key: &str, arguments: &Map) -> Vec<QueueId> {
        if !Self::is_exclusive(arguments) {
            return Vec::new();
        }
        let bound = self.by_key.get(key).into_iter().flat_map(InOrder::iter);
        let others = bound.map(|(other, _)| *other);
        others.filter(|other| *other != queue).collect()
    }

    /// The bindings of a key, in the order they were made.
    pub(super) fn of_key(&self, key: &str) -> impl Iterator<Item = &Binding> {
        self.by_key.get(key).into_iter().flat_map(InOrder::values)
    }

    pub(super) fn of_key_mut(&mut self, key: &str) -> impl Iterator<Item = &mut Binding> {
        let bound = self.by_key.get_mut(key);
        bound.into_iter().flat_map(InOrder::values_mut)
    }

    pub(super) fn binding_mut(&mut self, queue: QueueId, key: &str) -> Option<&mut Binding> {
        self.by_key.get_mut(key)?.get_mut(&queue)
    }

    /// Gives whether the queue was bound so.
    pub fn unbind(&mut self, queue: QueueId, key: &str) -> bool {
        let Some(bound) = self.by_key.get_mut(key) else {
            return false;
        };
        if bound.remove(&queue).is_none() {
            return false;
        }
        if bound.is_empty() {
            self.by_key.remove(key);
        }
        self.by_queue.remove(&(queue, key.into()));
        true
    }

    /// Gives the keys that the queue was bound with.
    pub fn unbind_queue(&mut self, queue: QueueId) -> Vec<Text> {
        let keys: Vec<Text> = keys_of(&self.by_queue, queue).cloned().collect();
        for key in &keys {
            self.unbind(queue, key);
        }
        keys
    }

    /// Adds the queues of the key, in the order they were bound to it.
    pub fn route(&mut self, key: &str, matched: &mut Vec<QueueId>) {
        let Some(bound) = self.by_key.get_mut(key) else {
            return;
        };
        for binding in bound.values_mut() {
            binding.matched += 1;
            matched.push(binding.queue);
        }
    }

    /// Whether there is a binding with this queue and this key, as far as they are given.
    pub fn is_bound(&self, queue: Option<QueueId>, key: Option<&str>) -> bool {
        match (queue, key) {
            (None, None) => !self.by_key.is_empty(),
            (None, Some(key)) => self.by_key.contains_key(key),
            (Some(queue), None) => keys_of(&self.by_queue, queue).next().is_some(),
            (Some(queue), Some(key)) => {
                let bound = self.by_key.get(key);
                bound.is_some_and(|bound| bound.get(&queue).is_some())
            }
        }
    }

    /// By key, and those of a key in the order they were bound.
    pub fn bindings_behind<'a>(
        &'a self,
        behind: Option<&'a Behind>,
    ) -> impl Iterator<Item = (usize, &'a Binding)> {
        let from = behind.map_or(Bound::Unbounded, |behind| Bound::Included(&behind.key));
        let found = self.by_key.range::<Text, _>((from, Bound::Unbounded));
        found.flat_map(move |(key, bound)| {
            let last = behind.filter(|behind| behind.key == *key);
            bound.starting_at(last.map_or(0, |last| bound.slot_behind(&last.queue, last.slot)))
        })
    }

    /// How many.
    pub fn binding_count(&self) -> usize {
        self.by_queue.len()
    }
}

/// The keys that a queue is bound with.
pub(super) fn keys_of(
    bound: &BTreeSet<(QueueId, Text)>,
    queue: QueueId,
) -> impl Iterator<Item = &Text> {
    let from = bound.range((queue, Text::default())..);
    from.take_while(move |(other, _)| *other == queue)
        .map(|(_, key)| key)
}
