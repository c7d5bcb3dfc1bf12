//! A map in the order of its keys, in shared chunks.
//!
//! A clone shares every chunk, so that it takes microseconds where a tree of a million items takes a
//! tenth of a second: a snapshot is taken with the core locked. A chunk that is shared is copied when
//! it is next written to. What can be seen from outside follows from the items alone and not from how
//! they came to lie there.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::encoding::{Decoder, Encoder, EncodingError, Record};

/// Items of a chunk at most: a few kilobytes, so that copying a shared one stays cheap.
const CHUNK_ITEMS: usize = 128;

type Chunk<K, V> = Arc<Vec<(K, V)>>;

/// See the module.
#[derive(Clone, Debug)]
pub struct Chunks<K, V> {
    /// None is empty; in each and from one to the next the keys rise.
    chunks: Vec<Chunk<K, V>>,
    len: u64,
}

impl<K, V> Default for Chunks<K, V> {
    fn default() -> Self {
        Chunks {
            chunks: Vec::new(),
            len: 0,
        }
    }
}

impl<K: Ord, V> Chunks<K, V> {
    /// How many items there are.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The item with the lowest key.
    pub fn first(&self) -> Option<&(K, V)> {
        self.chunks.first()?.first()
    }

    /// All items in order.
    pub fn iter(&self) -> impl Iterator<Item = &(K, V)> {
        self.chunks.iter().flat_map(|chunk| chunk.iter())
    }

    /// The first chunk that has this key or a higher one.
    fn chunk_of(&self, key: &K) -> usize {
        let is_before = |chunk: &Chunk<K, V>| chunk.last().is_some_and(|(last, _)| last < key);
        self.chunks.partition_point(is_before)
    }

    /// The value of a key.
    pub fn get(&self, key: &K) -> Option<&V> {
        let chunk = self.chunks.get(self.chunk_of(key))?;
        let at = chunk.binary_search_by(|(other, _)| other.cmp(key)).ok()?;
        Some(&chunk[at].1)
    }
}

impl<K: Ord + Clone, V: Clone> Chunks<K, V> {
    /// Gives a key a value, and what it had.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        let mut index = self.chunk_of(&key);
        if index == self.chunks.len() {
            // Behind all others: keys that only rise fill chunk after chunk.
            let is_full = |chunk: &Chunk<K, V>| chunk.len() >= CHUNK_ITEMS;
            if self.chunks.last().is_none_or(is_full) {
                self.chunks.push(Arc::default());
            }
            index = self.chunks.len() - 1;
        }
        let chunk = Arc::make_mut(&mut self.chunks[index]);
        let at = match chunk.binary_search_by(|(other, _)| other.cmp(&key)) {
            Ok(at) => return Some(std::mem::replace(&mut chunk[at].1, value)),
            Err(at) => at,
        };
        chunk.insert(at, (key, value));
        self.len += 1;
        if chunk.len() > CHUNK_ITEMS {
            let upper = chunk.split_off(chunk.len() / 2);
            self.chunks.insert(index + 1, Arc::new(upper));
        }
        None
    }

    /// Takes a key out, and gives what it had.
    pub fn remove(&mut self, key: &K) -> Option<V> {
        let index = self.chunk_of(key);
        let chunk = self.chunks.get_mut(index)?;
        let at = chunk.binary_search_by(|(other, _)| other.cmp(key)).ok()?;
        self.len -= 1;
        if chunk.len() == 1 {
            let chunk = self.chunks.remove(index);
            return chunk.first().map(|(_, value)| value.clone());
        }
        Some(Arc::make_mut(chunk).remove(at).1)
    }

    /// Keeps only the items for which `is_kept` holds.
    pub fn retain(&mut self, is_kept: impl Fn(&K, &V) -> bool) {
        let all = std::mem::take(self);
        for (key, value) in all.iter().filter(|(key, value)| is_kept(key, value)) {
            self.insert(key.clone(), value.clone());
        }
    }
}

/// What counts is which items there are, not how the chunks came to lie.
impl<K: Ord + Hash, V: Hash> Hash for Chunks<K, V> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.len.hash(state);
        self.iter().for_each(|item| item.hash(state));
    }
}

impl<K: Ord + PartialEq, V: PartialEq> PartialEq for Chunks<K, V> {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.iter().eq(other.iter())
    }
}

impl<K: Ord, V: Eq> Eq for Chunks<K, V> {}

impl<K: Record + Ord + Clone, V: Record + Clone> Record for Chunks<K, V> {
    fn encode(&self, to: &mut Encoder) {
        self.len.encode(to);
        for (key, value) in self.iter() {
            key.encode(to);
            value.encode(to);
        }
    }
    fn decode(from: &mut Decoder<'_>) -> Result<Self, EncodingError> {
        let count = u64::decode(from)?;
        let mut chunks = Chunks::default();
        for _ in 0..count {
            let (key, value) = (K::decode(from)?, V::decode(from)?);
            let last = chunks.chunks.last().and_then(|chunk| chunk.last());
            if last.is_some_and(|(last, _)| *last >= key) {
                return Err(from.error("order of keys"));
            }
            chunks.insert(key, value);
        }
        Ok(chunks)
    }
}
