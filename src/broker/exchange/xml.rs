//! The xml exchange of Qpid: routing key equal to the binding key, and a query about the message.

use std::collections::BTreeMap;

use super::direct::Direct;
use super::limits::{QUERIES_PER_KEY_MAX, QUERY_BYTES_MAX};
use super::{Behind, BindError, Binding};
use crate::broker::ids::QueueId;
use crate::wire::{Map, Text, Value};

/// What the type is called.
pub const TYPE: &str = "xml";

/// The argument of a binding that holds its query.
pub const QUERY: &str = "xquery";

/// Queues by key. Which of a key's queues a message goes to says the query of each binding, and that
/// is decided by whoever proposes the message: nothing here reads XML. See `broker::xml`.
///
/// As in qpidd a queue is bound once with a key, whatever the queries.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub struct Xml {
    bound: Direct,
}

/// The query of a binding with these arguments, if there is one: a text that is not empty.
pub fn query(arguments: &Map) -> Option<&str> {
    let query = arguments.get(QUERY).and_then(Value::as_str);
    query.filter(|query| !query.is_empty())
}

impl Xml {
    /// Gives whether the binding is new.
    ///
    /// # Errors
    /// The arguments have no query, or a longer one than [`QUERY_BYTES_MAX`], or the key has
    /// [`QUERIES_PER_KEY_MAX`].
    pub fn bind(&mut self, queue: QueueId, key: &str, arguments: &Map) -> Result<bool, BindError> {
        if self.bound.is_bound(Some(queue), Some(key)) {
            return Ok(false);
        }
        let query = query(arguments).ok_or(BindError::NoQuery)?;
        if query.len() > QUERY_BYTES_MAX {
            return Err(BindError::LongQuery);
        }
        if self.bound.of_key(key).count() >= QUERIES_PER_KEY_MAX {
            return Err(BindError::TooManyQueries);
        }
        Ok(self.bound.add(queue, key, arguments))
    }

    pub(super) fn binding_mut(&mut self, queue: QueueId, key: &str) -> Option<&mut Binding> {
        self.bound.binding_mut(queue, key)
    }

    /// Gives whether the queue was bound so.
    pub fn unbind(&mut self, queue: QueueId, key: &str) -> bool {
        self.bound.unbind(queue, key)
    }

    /// Gives the keys that the queue was bound with.
    pub fn unbind_queue(&mut self, queue: QueueId) -> Vec<Text> {
        self.bound.unbind_queue(queue)
    }

    /// The bindings of a key, in the order in which they were made.
    pub fn of_key(&self, key: &str) -> Vec<&Binding> {
        self.bound.of_key(key).collect()
    }

    /// The queries of a key, in the order in which their queues were bound to it.
    pub fn queries(&self, key: &str) -> Vec<Text> {
        let bindings = self.bound.of_key(key);
        let query = |binding: &Binding| query(&binding.arguments).unwrap_or_default().into();
        bindings.map(query).collect()
    }

    /// Adds the queues of the key whose queries a message was found to match: their places in
    /// [`Xml::queries`], ascending.
    pub fn route(&mut self, key: &str, matching: &[u32], matched: &mut Vec<QueueId>) {
        let mut matching = matching.iter().copied().peekable();
        for (place, binding) in self.bound.of_key_mut(key).enumerate() {
            if matching.next_if(|found| *found as usize == place).is_some() {
                binding.matched += 1;
                matched.push(binding.queue);
            }
        }
    }

    /// Whether there is a binding with this queue and this key, as far as they are given.
    pub fn is_bound(&self, queue: Option<QueueId>, key: Option<&str>) -> bool {
        self.bound.is_bound(queue, key)
    }

    /// Whether there is room for bindings with these keys.
    pub fn has_room_for(&self, keys: &[&str]) -> bool {
        let mut more: BTreeMap<&str, usize> = BTreeMap::new();
        for key in keys {
            *more.entry(key).or_default() += 1;
        }
        more.into_iter()
            .all(|(key, more)| self.bound.of_key(key).count() + more <= QUERIES_PER_KEY_MAX)
    }

    /// By key, and those of a key in the order they were bound.
    pub fn bindings_behind<'a>(
        &'a self,
        behind: Option<&'a Behind>,
    ) -> impl Iterator<Item = (usize, &'a Binding)> {
        self.bound.bindings_behind(behind)
    }

    /// How many.
    pub fn binding_count(&self) -> usize {
        self.bound.binding_count()
    }
}
