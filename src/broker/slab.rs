//! Slots that are reused in an order that all members share.

use super::encoding::{Decoder, Encoder, EncodingError, Record};

/// Items in numbered slots. The slot freed last is used first, and that order is state too.
#[derive(Clone, Debug, Hash)]
pub struct Slab<T> {
    items: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Slab {
            items: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T> Slab<T> {
    /// Puts an item into a slot and gives its number.
    pub fn insert(&mut self, item: T) -> u32 {
        match self.free.pop() {
            Some(slot) => {
                self.items[slot as usize] = Some(item);
                slot
            }
            None => {
                self.items.push(Some(item));
                u32::try_from(self.items.len() - 1).expect("limits.rs bounds every kind of item")
            }
        }
    }

    /// Empties a slot.
    pub fn remove(&mut self, slot: u32) -> Option<T> {
        let item = self.items.get_mut(slot as usize)?.take()?;
        self.free.push(slot);
        Some(item)
    }

    /// The item in a slot.
    pub fn get(&self, slot: u32) -> Option<&T> {
        self.items.get(slot as usize)?.as_ref()
    }

    /// The item in a slot, to be changed.
    pub fn get_mut(&mut self, slot: u32) -> Option<&mut T> {
        self.items.get_mut(slot as usize)?.as_mut()
    }

    /// The first item in a slot or one after it.
    pub fn next_from(&self, slot: u32) -> Option<(u32, &T)> {
        let items = self.items.get(slot as usize..)?.iter();
        let mut numbered = (slot..).zip(items);
        numbered.find_map(|(slot, item)| Some((slot, item.as_ref()?)))
    }

    /// How many items there are.
    pub fn len(&self) -> usize {
        self.items.len() - self.free.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Slots and items in order of slot.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        let numbered = self.items.iter().enumerate();
        numbered.filter_map(|(slot, item)| Some((slot as u32, item.as_ref()?)))
    }
}

impl<T: Record> Record for Slab<T> {
    fn encode(&self, to: &mut Encoder) {
        let Self { items, free } = self;
        items.encode(to);
        free.encode(to);
    }
    fn decode(from: &mut Decoder<'_>) -> Result<Self, EncodingError> {
        let slab = Slab {
            items: Vec::<Option<T>>::decode(from)?,
            free: Vec::decode(from)?,
        };
        let empty = slab.items.iter().filter(|item| item.is_none()).count();
        let mut free = slab.free.clone();
        free.sort_unstable();
        free.dedup();
        let is_empty = |slot: &u32| matches!(slab.items.get(*slot as usize), Some(None));
        match free.len() == empty && slab.free.len() == empty && free.iter().all(is_empty) {
            true => Ok(slab),
            false => Err(from.error("free slots")),
        }
    }
}
