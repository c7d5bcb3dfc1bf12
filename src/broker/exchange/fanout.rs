//! The fanout exchange: every message to every queue.

use super::in_order::InOrder;
use super::{Behind, Binding};
use crate::broker::ids::QueueId;
use crate::wire::Map;

/// Queues in the order they were bound. As in qpidd a queue is bound once, whatever the key, and
/// the key is not kept.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub struct Fanout {
    bindings: InOrder<QueueId, Binding>,
}

impl Fanout {
    /// Gives whether the binding is new.
    pub fn bind(&mut self, queue: QueueId, arguments: &Map) -> bool {
        self.bindings.add(queue, Binding::new(queue, "", arguments))
    }

    pub(super) fn binding_mut(&mut self, queue: QueueId) -> Option<&mut Binding> {
        self.bindings.get_mut(&queue)
    }

    /// Gives whether the queue was bound.
    pub fn unbind(&mut self, queue: QueueId) -> bool {
        self.bindings.remove(&queue).is_some()
    }

    /// Adds every queue.
    pub fn route(&mut self, matched: &mut Vec<QueueId>) {
        matched.reserve(self.bindings.len());
        for binding in self.bindings.values_mut() {
            binding.matched += 1;
            matched.push(binding.queue);
        }
    }

    /// Whether the queue is bound. As in qpidd nothing counts as bound when no queue is asked for.
    pub fn is_bound(&self, queue: Option<QueueId>) -> bool {
        queue.is_some_and(|queue| self.bindings.get(&queue).is_some())
    }

    /// In the order they were bound.
    pub fn bindings_behind(
        &self,
        behind: Option<&Behind>,
    ) -> impl Iterator<Item = (usize, &Binding)> + use<'_> {
        let slot = |last: &Behind| self.bindings.slot_behind(&last.queue, last.slot);
        self.bindings.starting_at(behind.map_or(0, slot))
    }

    /// How many.
    pub fn binding_count(&self) -> usize {
        self.bindings.len()
    }
}
