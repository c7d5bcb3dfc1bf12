//! Where in a routing key the matching of a pattern can stand.

use std::cell::OnceCell;

use smallvec::SmallVec;

use super::limits::KEY_WORDS_MAX;
use super::pattern;

/// A set of positions between the words of a key: 0 is before the first, and behind the last is the
/// number of words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Positions([u64; BLOCKS]);

const BLOCKS: usize = KEY_WORDS_MAX / 64 + 1;

impl Positions {
    /// One position, at most [`KEY_WORDS_MAX`].
    pub fn at(position: usize) -> Positions {
        let mut set = Positions::default();
        set.insert(position);
        set
    }

    /// Adds a position, at most [`KEY_WORDS_MAX`].
    pub fn insert(&mut self, position: usize) {
        if let Some(block) = self.0.get_mut(position / 64) {
            *block |= 1 << (position % 64);
        }
    }

    /// Whether it holds a position.
    pub fn contains(&self, position: usize) -> bool {
        let block = self.0.get(position / 64).copied().unwrap_or_default();
        block >> (position % 64) & 1 == 1
    }

    /// The first position.
    pub fn first(&self) -> Option<usize> {
        let mut blocks = self.0.iter().enumerate();
        let (at, block) = blocks.find(|(_, block)| **block != 0)?;
        Some(at * 64 + block.trailing_zeros() as usize)
    }

    /// The position, when there is just one.
    pub fn only(&self) -> Option<usize> {
        let ones: u32 = self.0.iter().map(|block| block.count_ones()).sum();
        (ones == 1).then(|| self.first()).flatten()
    }

    /// Those that are in both.
    pub fn and(&self, other: &Positions) -> Positions {
        let mut both = *self;
        for (block, other) in both.0.iter_mut().zip(&other.0) {
            *block &= other;
        }
        both
    }

    /// All from the first of these to `last`.
    pub fn onward(&self, last: usize) -> Positions {
        let first = self.first().unwrap_or(last + 1);
        let below = |position: usize, block: usize| match position.saturating_sub(block * 64) {
            bits @ 0..64 => (1u64 << bits) - 1,
            _ => u64::MAX,
        };
        Positions(std::array::from_fn(|block| {
            below(last + 1, block) & !below(first, block)
        }))
    }

    /// Each one word further; those behind the last word, at `last`, get no further.
    pub fn a_word_on(&self, last: usize) -> Positions {
        let mut from = *self;
        if let Some(block) = from.0.get_mut(last / 64) {
            *block &= !(1 << (last % 64));
        }
        let mut carry = 0;
        Positions(from.0.map(|block| {
            let moved = block << 1 | carry;
            carry = block >> 63;
            moved
        }))
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0 == [0; BLOCKS]
    }
}

/// A routing key taken apart.
#[derive(Debug)]
pub struct RoutingKey<'a> {
    words: SmallVec<[&'a str; 16]>,
    /// Made when first asked for: only patterns with `#` do.
    places: OnceCell<Vec<(&'a str, Positions)>>,
}

impl<'a> RoutingKey<'a> {
    /// The key's words. None for a key that is longer than a key can be.
    pub fn of(key: &'a str) -> Option<RoutingKey<'a>> {
        let words = pattern::words(key).collect::<SmallVec<[_; 16]>>();
        (words.len() <= KEY_WORDS_MAX).then_some(RoutingKey {
            words,
            places: OnceCell::new(),
        })
    }

    /// The position behind the last word.
    pub fn last(&self) -> usize {
        self.words.len()
    }

    /// The word at a position.
    pub fn word(&self, position: usize) -> Option<&'a str> {
        self.words.get(position).copied()
    }

    /// Each different word once, in order, with the positions where it stands.
    pub fn places(&self) -> &[(&'a str, Positions)] {
        self.places.get_or_init(|| {
            let mut places: Vec<(&str, Positions)> = Vec::with_capacity(self.words.len());
            let mut sorted: Vec<(&str, usize)> = self.words.iter().copied().zip(0..).collect();
            sorted.sort_unstable();
            for (word, position) in sorted {
                match places.last_mut() {
                    Some((last, positions)) if *last == word => positions.insert(position),
                    _ => places.push((word, Positions::at(position))),
                }
            }
            places
        })
    }

    /// The positions where a word stands.
    pub fn places_of(&self, word: &str) -> Positions {
        let places = self.places();
        let found = places.binary_search_by(|(other, _)| (*other).cmp(word));
        let found = found.ok().and_then(|index| places.get(index));
        found.map_or_else(Positions::default, |(_, positions)| *positions)
    }
}
