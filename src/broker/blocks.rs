//! A deque of items by ever growing position, in shared blocks.
//!
//! A clone shares every block and so takes microseconds at a million items: this is what lets a
//! snapshot be encoded off the lock. A block that is shared is copied when it is next written to.
//! Items may be removed anywhere; a block of which nothing is left takes no memory, so one item that
//! stays at the head of a queue does not hold the rest, however long it stays.
//!
//! What can be seen from outside, the cost of a search included, follows from the items and their
//! positions alone and not from how they came to lie there: a member that has its state from a
//! snapshot must go on exactly like one that has not.

use std::collections::VecDeque;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::encoding::{Decoder, Encoder, EncodingError, Record};

/// Positions a block spans: some kilobytes of items, so that copying a shared one stays cheap.
pub const BLOCK_ITEMS: u64 = 64;

/// Slots of the largest empty block that is kept for use again: a queue that was once deep shall
/// not hold memory for it.
const SPARE_ITEMS_MAX: usize = 8;

/// `BLOCK_ITEMS` consecutive positions, of which some have an item.
#[derive(Clone, Debug)]
struct Block<T> {
    /// The place in the block of the first of `items`: there was none before it.
    start: usize,
    items: Vec<Option<T>>,
    live: u32,
}

/// Blocks that have an item, with their numbers: a block's number is its positions divided by
/// `BLOCK_ITEMS`.
type Numbered<T> = (u64, Arc<Block<T>>);

/// See the module.
#[derive(Debug)]
pub struct Blocks<T> {
    blocks: VecDeque<Numbered<T>>,
    /// The position that the next item gets.
    tail: u64,
    live: u64,
    /// A block that became empty, for the next one: a queue that is emptied as fast as it is filled
    /// allocates nothing.
    spare: Option<Arc<Block<T>>>,
}

impl<T> Clone for Blocks<T> {
    fn clone(&self) -> Self {
        Blocks {
            blocks: self.blocks.clone(),
            tail: self.tail,
            live: self.live,
            spare: None,
        }
    }
}

impl<T> Block<T> {
    fn slot(&self, place: usize) -> Option<usize> {
        let slot = place.checked_sub(self.start)?;
        self.items.get(slot)?.as_ref()?;
        Some(slot)
    }

    /// Items from a place in the block on, with their places.
    fn from(&self, place: usize) -> impl Iterator<Item = (usize, &T)> {
        let skipped = place.saturating_sub(self.start).min(self.items.len());
        let items = self.items[skipped..].iter().enumerate();
        let first = self.start + skipped;
        items.filter_map(move |(n, item)| Some((first + n, item.as_ref()?)))
    }
}

/// The number of the block that a position is in, and its place there.
fn parts(position: u64) -> (u64, usize) {
    (
        position / BLOCK_ITEMS,
        (position % BLOCK_ITEMS) as usize, // below BLOCK_ITEMS
    )
}

impl<T> Blocks<T> {
    /// Where the block of a number is; else where it would be.
    #[inline]
    fn index_of(&self, number: u64) -> Result<usize, usize> {
        let (Some((first, _)), Some((last, _))) = (self.blocks.front(), self.blocks.back()) else {
            return Err(0);
        };
        if number < *first {
            return Err(0);
        }
        if number > *last {
            return Err(self.blocks.len());
        }
        // Most often there is no gap between it and one of the ends.
        let from_front = usize::try_from(number - first).ok();
        let from_back = usize::try_from(last - number).ok();
        let from_back = from_back.and_then(|steps| (self.blocks.len() - 1).checked_sub(steps));
        for guess in [from_front, from_back].into_iter().flatten() {
            let found = self.blocks.get(guess);
            if found.is_some_and(|(there, _)| *there == number) {
                return Ok(guess);
            }
        }
        self.blocks
            .binary_search_by_key(&number, |(there, _)| *there)
    }

    /// The item at a position.
    pub fn get(&self, position: u64) -> Option<&T> {
        let (number, place) = parts(position);
        let (_, block) = &self.blocks[self.index_of(number).ok()?];
        block.items[block.slot(place)?].as_ref()
    }

    /// The first item at `from` or behind it for which `wanted` holds. `steps` is what the search
    /// may cost, one for each item looked at and one for each block left behind; what is left of it
    /// stays. Err is where to go on when it ran out.
    pub fn find(
        &self,
        from: u64,
        steps: &mut u32,
        mut wanted: impl FnMut(&T) -> bool,
    ) -> Result<Option<u64>, u64> {
        let (number, mut place) = parts(from);
        let (Ok(index) | Err(index)) = self.index_of(number);
        let mut position = from;
        for (there, block) in self.blocks.range(index..) {
            if *there != number {
                place = 0;
            }
            for (at, item) in block.from(place) {
                position = there * BLOCK_ITEMS + at as u64;
                if *steps == 0 {
                    return Err(position);
                }
                *steps -= 1;
                if wanted(item) {
                    return Ok(Some(position));
                }
            }
            if *steps == 0 {
                return Err(position.saturating_add(1));
            }
            *steps -= 1;
        }
        Ok(None)
    }

    /// The position of the first item at `from` or behind it.
    pub fn next_at(&self, from: u64) -> Option<u64> {
        self.find(from, &mut u32::MAX.clone(), |_| true).ok()?
    }

    /// How many items there are.
    pub fn len(&self) -> u64 {
        self.live
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.live == 0
    }

    /// The position that the next item gets.
    pub fn tail(&self) -> u64 {
        self.tail
    }

    /// No item stands before this position.
    pub fn head(&self) -> u64 {
        let first = self.blocks.front();
        first.map_or(self.tail, |(number, _)| number * BLOCK_ITEMS)
    }

    /// Positions and items in order. For snapshots, views and whole changes; not on the hot path.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &T)> {
        self.blocks.iter().flat_map(|(number, block)| {
            let start = number * BLOCK_ITEMS;
            let items = block.from(0);
            items.map(move |(place, item)| (start + place as u64, item))
        })
    }
}

impl<T: Clone> Blocks<T> {
    /// An empty deque whose first item gets position `tail`.
    pub fn starting_at(tail: u64) -> Self {
        Blocks {
            blocks: VecDeque::new(),
            tail,
            live: 0,
            spare: None,
        }
    }

    /// Appends an item at `position`, which is not before the tail; the positions between stay
    /// empty for ever.
    pub fn push_at(&mut self, position: u64, item: T) {
        self.set_tail(position);
        self.push(item);
    }

    /// Leaves the positions up to `tail` empty for ever.
    pub fn set_tail(&mut self, tail: u64) {
        debug_assert!(tail >= self.tail);
        self.tail = tail.max(self.tail);
    }

    /// Takes the first item away, with its position.
    pub fn pop(&mut self) -> Option<(u64, T)> {
        let position = self.next_at(0)?;
        Some((position, self.remove(position)?))
    }

    /// Appends an item and gives its position.
    pub fn push(&mut self, item: T) -> u64 {
        let position = self.tail;
        let (number, place) = parts(position);
        if self.blocks.back().is_none_or(|(last, _)| *last != number) {
            let block = self.next_block(number, place);
            self.blocks.push_back((number, block));
        }
        if let Some((_, block)) = self.blocks.back_mut() {
            let block = Arc::make_mut(block);
            while block.start + block.items.len() < place {
                block.items.push(None);
            }
            block.items.push(Some(item));
            block.live += 1;
        }
        self.live += 1;
        self.tail += 1;
        position
    }

    /// An empty block for a number, whose first item comes to a place. In a deque that fills block
    /// after block it has room for all of its items at once.
    fn next_block(&mut self, number: u64, start: usize) -> Arc<Block<T>> {
        let last = self.blocks.back().map(|(last, _)| *last);
        if last.is_some_and(|last| last + 1 == number) {
            return Arc::new(Block {
                start,
                items: Vec::with_capacity(BLOCK_ITEMS as usize),
                live: 0,
            });
        }
        let mut block = self.spare.take().unwrap_or_else(|| {
            Arc::new(Block {
                start,
                items: Vec::new(),
                live: 0,
            })
        });
        Arc::make_mut(&mut block).start = start;
        block
    }

    /// The item at a position, to be changed.
    pub fn get_mut(&mut self, position: u64) -> Option<&mut T> {
        let (number, place) = parts(position);
        let index = self.index_of(number).ok()?;
        let (_, block) = &mut self.blocks[index];
        let slot = block.slot(place)?;
        Arc::make_mut(block).items[slot].as_mut()
    }

    /// Takes the item at a position away.
    pub fn remove(&mut self, position: u64) -> Option<T> {
        let (number, place) = parts(position);
        let index = self.index_of(number).ok()?;
        let (_, block) = &mut self.blocks[index];
        let slot = block.slot(place)?;
        self.live -= 1;
        if block.live > 1 {
            let block = Arc::make_mut(block);
            block.live -= 1;
            return block.items[slot].take();
        }
        let (_, mut block) = self.blocks.remove(index)?;
        let Some(own) = Arc::get_mut(&mut block) else {
            return block.items[slot].clone();
        };
        let item = own.items[slot].take();
        own.items.clear();
        own.live = 0;
        if own.items.capacity() <= SPARE_ITEMS_MAX {
            self.spare = Some(block);
        }
        item
    }
}

impl<T: Clone> Default for Blocks<T> {
    fn default() -> Self {
        Blocks::starting_at(0)
    }
}

/// What counts is which item stands at which position, not how the blocks came to lie.
impl<T: Hash> Hash for Blocks<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.tail, self.live).hash(state);
        for (position, item) in self.iter() {
            position.hash(state);
            item.hash(state);
        }
    }
}

impl<T: Clone + Record> Record for Blocks<T> {
    fn encode(&self, to: &mut Encoder) {
        let Self {
            blocks: _,
            tail,
            live,
            spare: _,
        } = self;
        tail.encode(to);
        live.encode(to);
        for (position, item) in self.iter() {
            position.encode(to);
            item.encode(to);
        }
    }
    fn decode(from: &mut Decoder<'_>) -> Result<Self, EncodingError> {
        let (tail, live) = (u64::decode(from)?, u64::decode(from)?);
        let mut blocks = Blocks::starting_at(0);
        for _ in 0..live {
            let position = u64::decode(from)?;
            if position < blocks.tail || position >= tail {
                return Err(from.error("position in blocks"));
            }
            blocks.push_at(position, T::decode(from)?);
        }
        blocks.set_tail(tail);
        Ok(blocks)
    }
}
