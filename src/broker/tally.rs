//! How many there are of each: what has none takes no room.

use std::collections::BTreeMap;

/// Counts by key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tally<K: Ord>(BTreeMap<K, u32>);

impl<K: Ord> Default for Tally<K> {
    fn default() -> Tally<K> {
        Tally(BTreeMap::new())
    }
}

impl<K: Ord> Tally<K> {
    /// One more.
    pub fn add(&mut self, key: K) {
        *self.0.entry(key).or_default() += 1;
    }

    /// One that was added is gone.
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q)
    where
        K: std::borrow::Borrow<Q>,
    {
        if let Some(count) = self.0.get_mut(key) {
            *count -= 1;
            if *count == 0 {
                self.0.remove(key);
            }
        }
    }

    /// How many there are.
    pub fn of<Q: Ord + ?Sized>(&self, key: &Q) -> u32
    where
        K: std::borrow::Borrow<Q>,
    {
        self.0.get(key).copied().unwrap_or(0)
    }

    /// Those of which there is one at least, with how many there are, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&K, u32)> {
        self.0.iter().map(|(key, count)| (key, *count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_none_is_not_there() {
        let mut tally = Tally::default();
        for key in ["a", "b", "a"] {
            tally.add(key);
        }
        tally.remove("b");
        tally.remove("c");
        assert_eq!((tally.of("a"), tally.of("b")), (2, 0));
        assert_eq!(tally.iter().collect::<Vec<_>>(), [(&"a", 2)]);
    }
}
