//! Values in the order they were added, each found by its key.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

use smallvec::SmallVec;

use super::limits::SEARCHED_MAX;

/// Values in the order they were added. One or a few, which is usual for a binding key, lie in one
/// piece and are searched; many are found by an index, and what is removed leaves a gap until half
/// of the places are gaps, so that adding and removing stay cheap with a million of them.
///
/// Gaps and index are not part of the value: two of these are equal, and hash alike, when the same
/// values come in the same order.
#[derive(Clone, Debug)]
pub struct InOrder<K, V> {
    slots: SmallVec<[Option<(K, V)>; 1]>,
    /// Where a key is; empty as long as there are at most [`SEARCHED_MAX`] slots, which then have
    /// no gaps.
    places: BTreeMap<K, usize>,
    len: usize,
}

impl<K, V> Default for InOrder<K, V> {
    fn default() -> Self {
        InOrder {
            slots: SmallVec::new(),
            places: BTreeMap::new(),
            len: 0,
        }
    }
}

impl<K: Ord + Clone, V> InOrder<K, V> {
    fn place(&self, key: &K) -> Option<usize> {
        if self.slots.len() > SEARCHED_MAX {
            return self.places.get(key).copied();
        }
        let is_it = |slot: &Option<(K, V)>| slot.as_ref().is_some_and(|(found, _)| found == key);
        self.slots.iter().position(is_it)
    }

    /// The value of `key`.
    pub fn get(&self, key: &K) -> Option<&V> {
        let slot = self.slots.get(self.place(key)?)?;
        slot.as_ref().map(|(_, value)| value)
    }

    /// The value of `key`, to be changed.
    pub fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        let place = self.place(key)?;
        let slot = self.slots.get_mut(place)?;
        slot.as_mut().map(|(_, value)| value)
    }

    /// The slot behind that of `key`; `slot` when the key is not there any more, which had that one.
    pub fn slot_behind(&self, key: &K, slot: usize) -> usize {
        self.place(key).map_or(slot, |place| place + 1)
    }

    /// Adds a value at the end, unless its key is there. Gives whether it was added.
    pub fn add(&mut self, key: K, value: V) -> bool {
        if self.place(&key).is_some() {
            return false;
        }
        let place = self.slots.len();
        self.slots.push(Some((key.clone(), value)));
        self.len += 1;
        match self.slots.len() > SEARCHED_MAX {
            true if self.places.is_empty() => self.index(),
            true => _ = self.places.insert(key, place),
            false => {}
        }
        true
    }

    /// Takes out the value of `key`.
    pub fn remove(&mut self, key: &K) -> Option<V> {
        let place = self.place(key)?;
        self.len -= 1;
        if self.slots.len() <= SEARCHED_MAX {
            return self.slots.remove(place).map(|(_, value)| value);
        }
        self.places.remove(key);
        let taken = self.slots.get_mut(place).and_then(Option::take);
        if self.len * 2 < self.slots.len() {
            self.slots.retain(|slot| slot.is_some());
            self.index();
        }
        taken.map(|(_, value)| value)
    }

    /// Makes the index anew, of slots without gaps.
    fn index(&mut self) {
        self.places.clear();
        if self.slots.len() > SEARCHED_MAX {
            let key = |(place, slot): (usize, &Option<(K, V)>)| {
                slot.as_ref().map(|(key, _)| (key.clone(), place))
            };
            self.places = self.slots.iter().enumerate().filter_map(key).collect();
        }
    }
}

impl<K, V> InOrder<K, V> {
    /// How many values there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The values in order from a slot on, each with its slot.
    pub fn starting_at(&self, slot: usize) -> impl Iterator<Item = (usize, &V)> {
        let slots = self.slots.iter().enumerate().skip(slot);
        slots.filter_map(|(slot, found)| found.as_ref().map(|(_, value)| (slot, value)))
    }

    /// Keys and values in order.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        let entries = self.slots.iter().flatten();
        entries.map(|(key, value)| (key, value))
    }

    /// The values in order.
    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.slots.iter().flatten().map(|(_, value)| value)
    }

    /// The values in order, to be changed.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.slots.iter_mut().flatten().map(|(_, value)| value)
    }
}

impl<K: PartialEq, V: PartialEq> PartialEq for InOrder<K, V> {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.iter().eq(other.iter())
    }
}

impl<K: Hash, V: Hash> Hash for InOrder<K, V> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.len.hash(state);
        for entry in self.iter() {
            entry.hash(state);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_never_outnumber_values_for_long() {
        let mut values = InOrder::default();
        for number in 0..10_000 {
            assert!(values.add(number, ()));
            if number >= 100 {
                assert_eq!(values.remove(&(number - 100)), Some(()));
            }
            assert!(values.slots.len() <= 2 * values.len() + 1);
        }
        assert!(values.iter().map(|(key, ())| *key).eq(9_900..10_000));
        for number in 9_900..10_000 {
            assert_eq!(values.remove(&number), Some(()));
            assert!(values.slots.len() <= SEARCHED_MAX.max(2 * values.len()));
        }
        assert!(values.is_empty() && values.places.is_empty());
    }
}
