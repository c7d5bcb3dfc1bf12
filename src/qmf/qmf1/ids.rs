//! What objects are called in version 1: two numbers.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::super::limits::NUMBERED_OBJECTS_MAX;
use super::super::object::ObjectName;

/// The broker's own bank of objects. Agents' banks began above it.
const BROKER_BANK: u64 = 1;

/// An object in version 1: which start of which agent, and a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ObjectId {
    /// Four bits of flags, twelve of the agent's epoch, twenty of the broker's bank, 28 of the
    /// agent's.
    pub first: u64,
    /// The object's number; 0 refers to nothing.
    pub second: u64,
}

impl ObjectId {
    /// Of the broker's own object number `number`, in the start `epoch`.
    pub fn new(epoch: u16, number: u64) -> Self {
        ObjectId {
            first: u64::from(epoch & 0xfff) << 48 | BROKER_BANK << 28,
            second: number,
        }
    }

    /// As consoles write it: flags, epoch, broker's bank, agent's bank and number, with `-` between.
    /// None for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let mut fields = [0; 5];
        let mut parts = text.split('-');
        for field in &mut fields {
            *field = parts.next()?.parse::<u64>().ok()?;
        }
        let [flags, epoch, broker, agent, number] = fields;
        let fits = flags < 1 << 4 && epoch < 1 << 12 && broker < 1 << 20 && agent < 1 << 28;
        (fits && parts.next().is_none()).then_some(ObjectId {
            first: flags << 60 | epoch << 48 | broker << 28 | agent,
            second: number,
        })
    }
}

/// The numbers that objects have got. A name keeps its number as long as it is known.
#[derive(Debug)]
pub struct Numbers {
    epoch: u16,
    last: u64,
    names_max: usize,
    by_name: HashMap<Arc<str>, u64>,
    by_number: BTreeMap<u64, Arc<str>>,
}

impl Numbers {
    /// None given out yet, in the start `epoch`.
    pub fn new(epoch: u16) -> Self {
        Self::bounded(epoch, NUMBERED_OBJECTS_MAX)
    }

    /// As [`new`](Self::new), with at most `names_max` names known.
    pub fn bounded(epoch: u16, names_max: usize) -> Self {
        Numbers {
            epoch,
            last: 0,
            names_max: names_max.max(1),
            by_name: HashMap::new(),
            by_number: BTreeMap::new(),
        }
    }

    /// What an object is called; no name is called 0 and 0. If too many are known, the one that got
    /// its number first is forgotten.
    pub fn id(&mut self, name: &ObjectName) -> ObjectId {
        let name = name.as_str();
        if name.is_empty() {
            return ObjectId::default();
        }
        let number = match self.by_name.get(name) {
            Some(&number) => number,
            None => self.number(name),
        };
        ObjectId::new(self.epoch, number)
    }

    fn number(&mut self, name: &str) -> u64 {
        if self.by_name.len() >= self.names_max
            && let Some((_, first)) = self.by_number.pop_first()
        {
            self.by_name.remove(&first);
        }
        self.last += 1;
        let name: Arc<str> = name.into();
        self.by_number.insert(self.last, Arc::clone(&name));
        self.by_name.insert(name, self.last);
        self.last
    }

    /// Which object is called so, in this start of the agent.
    pub fn name(&self, id: ObjectId) -> Option<ObjectName> {
        let name = self.by_number.get(&id.second)?;
        let is_ours = id.first == ObjectId::new(self.epoch, id.second).first;
        is_ours.then(|| ObjectName::parse(name).ok()).flatten()
    }

    /// Forgets an object that is gone. One of the same name gets a number of its own.
    pub fn forget(&mut self, name: &ObjectName) {
        if let Some(number) = self.by_name.remove(name.as_str()) {
            self.by_number.remove(&number);
        }
    }

    /// How many are known.
    pub fn len(&self) -> usize {
        self.by_name.len()
    }

    /// Whether none is known.
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }
}
