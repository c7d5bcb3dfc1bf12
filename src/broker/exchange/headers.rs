//! The headers exchange: application headers matching the arguments of a binding.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};

use super::in_order::InOrder;
use super::{Behind, BindError, Binding};
use crate::broker::digest::Digest;
use crate::broker::ids::QueueId;
use crate::wire::{Map, Text, Value};

/// The argument that says how many of the others must match.
const MATCH: &str = "x-match";

/// Arguments whose names begin so are about the binding, not about messages.
const RESERVED: &str = "qpid.";

/// Bindings in the order they were made.
///
/// A queue may have several, told apart by their keys, which routing ignores. As in qpidd a queue's
/// binding with the arguments of another of its bindings is not made, also under another key, and
/// one with the key of another and other arguments is refused.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub struct Headers {
    bindings: InOrder<(QueueId, Text), Wanting>,
    /// The bindings of each queue, by a hash of what they want.
    by_queue: BTreeSet<(QueueId, u64, Text)>,
}

/// A binding, and what it wants of a message.
#[derive(Clone, Debug, PartialEq, Hash)]
struct Wanting {
    binding: Binding,
    mode: Mode,
    /// By name, in order: void wants the header to be there, any other value wants an equal one.
    wanted: Vec<(Text, Value)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Mode {
    All,
    Any,
}

impl Mode {
    fn of(arguments: &Map) -> Result<Mode, BindError> {
        match arguments.get(MATCH).and_then(Value::as_str) {
            Some("all") => Ok(Mode::All),
            Some("any") => Ok(Mode::Any),
            _ => Err(BindError::MatchMode),
        }
    }
}

/// Values by name; of a repeated name the last counts.
type ByName<'a> = BTreeMap<&'a str, &'a Value>;

/// What arguments want of messages.
fn wanted(arguments: &Map) -> ByName<'_> {
    let is_wanted = |(name, _): &(&str, &Value)| *name != MATCH && !name.starts_with(RESERVED);
    arguments.iter().filter(is_wanted).collect()
}

impl Wanting {
    fn is_same(&self, mode: Mode, wanted: &ByName<'_>) -> bool {
        let own = self
            .wanted
            .iter()
            .map(|(name, value)| (name.as_str(), value));
        self.mode == mode && own.eq(wanted.iter().map(|(name, value)| (*name, *value)))
    }

    /// Whether a message with these headers goes to the queue: with `all` that want nothing every
    /// message, with `any` none.
    fn matches(&self, headers: &ByName<'_>) -> bool {
        let is_met = |(name, wanted): &(Text, Value)| {
            let header = headers.get(name.as_str());
            header.is_some_and(|header| is_met_by(wanted, header))
        };
        match self.mode {
            Mode::All => self.wanted.iter().all(is_met),
            Mode::Any => self.wanted.iter().any(is_met),
        }
    }

    /// Whether each argument of the binding is among those given, `x-match` too; more may be given.
    fn is_covered_by(&self, mode: Option<Mode>, given: &ByName<'_>) -> bool {
        let is_given = |(name, wanted): &(Text, Value)| {
            let value = given.get(name.as_str());
            value.is_some_and(|value| *wanted == Value::Void || wanted == *value)
        };
        mode == Some(self.mode) && self.wanted.iter().all(is_given)
    }
}

impl Headers {
    /// Whether a queue has a binding with this key.
    pub fn has_key(&self, queue: QueueId, key: &str) -> bool {
        self.bindings.get(&(queue, Text::from(key))).is_some()
    }

    /// Gives whether the binding is new.
    ///
    /// # Errors
    /// When the arguments have no `x-match`, or the key is the queue's for other arguments.
    pub fn bind(&mut self, queue: QueueId, key: &str, arguments: &Map) -> Result<bool, BindError> {
        let mode = Mode::of(arguments)?;
        let wanted = wanted(arguments);
        let name = (queue, Text::from(key));
        if let Some(bound) = self.bindings.get(&name) {
            return match bound.is_same(mode, &wanted) {
                true => Ok(false),
                false => Err(BindError::DuplicateKey),
            };
        }
        let hash = hash_of(mode, wanted.iter().map(|(name, value)| (*name, *value)));
        let alike = self.by_queue.range((queue, hash, Text::default())..);
        let alike = alike.take_while(|(other, found, _)| (*other, *found) == (queue, hash));
        let mut alike = alike.filter_map(|(_, _, key)| self.bindings.get(&(queue, key.clone())));
        if alike.any(|bound| bound.is_same(mode, &wanted)) {
            return Ok(false);
        }
        let own = |(name, value): (&str, &Value)| (Text::from(name), value.clone());
        let wanting = Wanting {
            binding: Binding::new(queue, key, arguments),
            mode,
            wanted: wanted.into_iter().map(own).collect(),
        };
        self.by_queue.insert((queue, hash, key.into()));
        self.bindings.add(name, wanting);
        Ok(true)
    }

    pub(super) fn binding_mut(&mut self, queue: QueueId, key: &str) -> Option<&mut Binding> {
        let found = self.bindings.get_mut(&(queue, key.into()))?;
        Some(&mut found.binding)
    }

    /// Goes by queue and key alone. Gives whether the queue was bound so.
    pub fn unbind(&mut self, queue: QueueId, key: &str) -> bool {
        let name = (queue, Text::from(key));
        let Some(gone) = self.bindings.remove(&name) else {
            return false;
        };
        let wanted = gone.wanted.iter();
        let hash = hash_of(
            gone.mode,
            wanted.map(|(name, value)| (name.as_str(), value)),
        );
        self.by_queue.remove(&(queue, hash, name.1));
        true
    }

    /// Gives the keys that the queue was bound with.
    pub fn unbind_queue(&mut self, queue: QueueId) -> Vec<Text> {
        let keys: Vec<Text> = self.keys_of(queue).cloned().collect();
        for key in &keys {
            self.unbind(queue, key);
        }
        keys
    }

    /// The keys that a queue is bound with.
    fn keys_of(&self, queue: QueueId) -> impl Iterator<Item = &Text> {
        let from = self.by_queue.range((queue, 0, Text::default())..);
        from.take_while(move |(other, _, _)| *other == queue)
            .map(|(_, _, key)| key)
    }

    /// Adds the queues with a binding that matches, each once, in the order of the bindings. A
    /// queue counts at the first that matches. A message without headers is one with none.
    pub fn route(&mut self, headers: Option<&Map>, matched: &mut Vec<QueueId>) {
        let headers: ByName<'_> = headers.into_iter().flat_map(Map::iter).collect();
        let mut found = BTreeSet::new();
        for wanting in self.bindings.values_mut() {
            let queue = wanting.binding.queue;
            if !found.contains(&queue) && wanting.matches(&headers) {
                wanting.binding.matched += 1;
                found.insert(queue);
                matched.push(queue);
            }
        }
    }

    /// Whether there is a binding of the queue and with these arguments, as far as they are given.
    /// The key does not count, as in qpidd, nor do `qpid.` arguments; and more arguments may be
    /// given than the binding has.
    pub fn is_bound(&self, queue: Option<QueueId>, arguments: Option<&Map>) -> bool {
        let Some(arguments) = arguments else {
            return match queue {
                None => !self.bindings.is_empty(),
                Some(queue) => self.keys_of(queue).next().is_some(),
            };
        };
        let (mode, given) = (Mode::of(arguments).ok(), wanted(arguments));
        let is_it = |wanting: &Wanting| wanting.is_covered_by(mode, &given);
        match queue {
            None => self.bindings.values().any(is_it),
            Some(queue) => {
                let names = self.keys_of(queue).map(|key| (queue, key.clone()));
                let mut own = names.filter_map(|name| self.bindings.get(&name));
                own.any(is_it)
            }
        }
    }

    /// In the order they were made.
    pub fn bindings_behind(
        &self,
        behind: Option<&Behind>,
    ) -> impl Iterator<Item = (usize, &Binding)> + use<'_> {
        let slot = |last: &Behind| {
            let name = (last.queue, last.key.clone());
            self.bindings.slot_behind(&name, last.slot)
        };
        let found = self.bindings.starting_at(behind.map_or(0, slot));
        found.map(|(slot, wanting)| (slot, &wanting.binding))
    }

    /// How many.
    pub fn binding_count(&self) -> usize {
        self.bindings.len()
    }
}

fn hash_of<'a>(mode: Mode, wanted: impl Iterator<Item = (&'a str, &'a Value)>) -> u64 {
    let mut digest = Digest::default();
    mode.hash(&mut digest);
    for entry in wanted {
        entry.hash(&mut digest);
    }
    digest.finish()
}

/// Whether a header is what a binding wants. Integers of all widths and booleans compare by number,
/// floats of both widths too, but not with integers; texts and binaries by their octets, whatever
/// their width; a UUID also with its usual text form. Other types compare within themselves.
///
/// qpidd takes a wanted value that does not convert to the header's type for 0 or the empty text;
/// here such a value is not met.
fn is_met_by(wanted: &Value, header: &Value) -> bool {
    if *wanted == Value::Void {
        return true;
    }
    if let (Some(wanted), Some(header)) = (integer(wanted), integer(header)) {
        return wanted == header;
    }
    if let (Some(wanted), Some(header)) = (float(wanted), float(header)) {
        return wanted == header;
    }
    if let (Some(wanted), Some(header)) = (wanted.as_bytes(), header.as_bytes()) {
        return wanted == header;
    }
    match (wanted, header) {
        (Value::Uuid(_), Value::Uuid(_)) => wanted == header,
        (Value::Uuid(_), text) | (text, Value::Uuid(_)) => {
            text.as_bytes().is_some() && wanted.text() == header.text()
        }
        _ => wanted == header,
    }
}

fn integer(value: &Value) -> Option<i128> {
    match value {
        Value::U64(number) => Some((*number).into()),
        _ => match value.as_bool() {
            Some(truth) => Some(truth.into()),
            None => value.as_i64().map(i128::from),
        },
    }
}

fn float(value: &Value) -> Option<f64> {
    match value {
        Value::F32(_) | Value::F64(_) => value.as_f64(),
        _ => None,
    }
}
