//! A deque of items by ever growing position, in shared blocks.
//!
//! A clone shares every block and so takes microseconds at a million items: this is what lets a
//! snapshot be encoded off the lock. A block that is shared is copied when it is next written to.
//! Items may be removed anywhere; a block of which nothing is left takes no memory, so one item that
//! stays at the head of a queue does not hold the rest.

use std::collections::VecDeque;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::encoding::{Decoder, Encoder, EncodingError, Record};

/// Items a block holds: some kilobytes, so that copying a shared one stays cheap.
pub const BLOCK_ITEMS: u64 = 64;

/// One block: `BLOCK_ITEMS` consecutive positions, some of them empty.
#[derive(Clone, Debug)]
struct Block<T> {
    items: Vec<Option<T>>,
    live: u32,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Blocks<T> {
    /// Blocks from the one that holds `head` on; None is a block that is empty all through.
    blocks: VecDeque<Option<Arc<Block<T>>>>,
    /// The position at which the first block begins: a multiple of `BLOCK_ITEMS`.
    base: u64,
    /// The position that the next item gets.
    tail: u64,
    live: u64,
}

impl<T: Clone> Blocks<T> {
    /// An empty deque whose first item gets position `tail`.
    pub fn starting_at(tail: u64) -> Self {
        Blocks {
            blocks: VecDeque::new(),
            base: tail - tail % BLOCK_ITEMS,
            tail,
            live: 0,
        }
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
        self.base.min(self.tail)
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
        let position = self
            .find(self.base, &mut u32::MAX.clone(), |_| true)
            .ok()
            .flatten()?;
        Some((position, self.remove(position)?))
    }

    /// Appends an item and gives its position.
    pub fn push(&mut self, item: T) -> u64 {
        let position = self.tail;
        if self.blocks.is_empty() {
            self.base = position - position % BLOCK_ITEMS;
        }
        let index = ((position - self.base) / BLOCK_ITEMS) as usize;
        while self.blocks.len() <= index {
            self.blocks.push_back(None);
        }
        let offset = (position % BLOCK_ITEMS) as usize;
        let block = self.blocks[index].get_or_insert_with(|| {
            Arc::new(Block {
                items: Vec::with_capacity(BLOCK_ITEMS as usize),
                live: 0,
            })
        });
        let block = Arc::make_mut(block);
        while block.items.len() < offset {
            block.items.push(None);
        }
        block.items.push(Some(item));
        block.live += 1;
        self.live += 1;
        self.tail += 1;
        position
    }

    fn place(&self, position: u64) -> Option<(usize, usize)> {
        if position < self.base || position >= self.tail {
            return None;
        }
        let index = ((position - self.base) / BLOCK_ITEMS) as usize;
        Some((index, (position % BLOCK_ITEMS) as usize))
    }

    /// The item at a position.
    pub fn get(&self, position: u64) -> Option<&T> {
        let (index, offset) = self.place(position)?;
        self.blocks
            .get(index)?
            .as_ref()?
            .items
            .get(offset)?
            .as_ref()
    }

    /// The item at a position, to be changed.
    pub fn get_mut(&mut self, position: u64) -> Option<&mut T> {
        let (index, offset) = self.place(position)?;
        let block = self.blocks.get_mut(index)?.as_mut()?;
        block.items.get(offset)?.as_ref()?;
        Arc::make_mut(block).items.get_mut(offset)?.as_mut()
    }

    /// Takes the item at a position away.
    pub fn remove(&mut self, position: u64) -> Option<T> {
        let (index, offset) = self.place(position)?;
        let slot = self.blocks.get_mut(index)?;
        let block = slot.as_mut()?;
        block.items.get(offset)?.as_ref()?;
        let block = Arc::make_mut(block);
        let item = block.items.get_mut(offset)?.take();
        block.live -= 1;
        self.live -= 1;
        if block.live == 0 {
            *slot = None;
            while let Some(None) = self.blocks.front() {
                self.blocks.pop_front();
                self.base += BLOCK_ITEMS;
            }
        }
        item
    }

    /// The first item at `from` or behind it for which `wanted` holds; `steps` is what the search
    /// may cost, and what is left of it after. Err is where to go on when it ran out.
    pub fn find(
        &self,
        from: u64,
        steps: &mut u32,
        mut wanted: impl FnMut(&T) -> bool,
    ) -> Result<Option<u64>, u64> {
        let mut position = from.max(self.base);
        while position < self.tail {
            let index = ((position - self.base) / BLOCK_ITEMS) as usize;
            if *steps == 0 {
                return Err(position);
            }
            let Some(block) = self.blocks.get(index).and_then(Option::as_ref) else {
                *steps -= 1;
                position = self.base + (index as u64 + 1) * BLOCK_ITEMS;
                continue;
            };
            let offset = (position % BLOCK_ITEMS) as usize;
            for item in &block.items[offset.min(block.items.len())..] {
                if *steps == 0 {
                    return Err(position);
                }
                *steps -= 1;
                if item.as_ref().is_some_and(&mut wanted) {
                    return Ok(Some(position));
                }
                position += 1;
            }
            position = self.base + (index as u64 + 1) * BLOCK_ITEMS;
        }
        Ok(None)
    }

    /// Positions and items in order. For snapshots, views and whole changes; not on the hot path.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &T)> {
        self.blocks
            .iter()
            .enumerate()
            .flat_map(move |(index, block)| {
                let start = self.base + index as u64 * BLOCK_ITEMS;
                block.iter().flat_map(move |block| {
                    let numbered = block.items.iter().enumerate();
                    numbered.filter_map(move |(n, item)| Some((start + n as u64, item.as_ref()?)))
                })
            })
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
        for (index, block) in self.blocks.iter().enumerate() {
            for (offset, item) in block
                .iter()
                .flat_map(|block| block.items.iter().enumerate())
            {
                if let Some(item) = item {
                    (self.base + index as u64 * BLOCK_ITEMS + offset as u64).hash(state);
                    item.hash(state);
                }
            }
        }
    }
}

impl<T: Clone + Record> Record for Blocks<T> {
    fn encode(&self, to: &mut Encoder) {
        let Self {
            blocks: _,
            base: _,
            tail,
            live,
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
