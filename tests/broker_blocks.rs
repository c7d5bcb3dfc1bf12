//! The deque of shared blocks, against an ordered map.

#[path = "wire_support/seeded.rs"]
#[allow(dead_code)] // a part of it is used here
mod seeded;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::rc::Rc;

use ferrymq::broker::blocks::{BLOCK_ITEMS, Blocks};
use ferrymq::broker::digest::Digest;
use ferrymq::broker::encoding::{Decoder, Encoder, Record};
use seeded::Seeded;

fn encoded<T: Record>(value: &T) -> Vec<u8> {
    let mut encoder = Encoder::default();
    value.encode(&mut encoder);
    encoder.bytes
}

fn decoded<T: Record>(bytes: &[u8]) -> Option<T> {
    let mut decoder = Decoder::new(bytes);
    let value = T::decode(&mut decoder).ok()?;
    decoder.is_at_end().then_some(value)
}

fn digest<T: Hash>(value: &T) -> u64 {
    let mut digest = Digest::default();
    value.hash(&mut digest);
    digest.finish()
}

/// Deque and model, changed alike.
struct Pair {
    blocks: Blocks<u64>,
    model: BTreeMap<u64, u64>,
    tail: u64,
}

impl Pair {
    fn change(&mut self, seeded: &mut Seeded) {
        let some = self.model.keys().copied().collect::<Vec<_>>();
        let known = some.get(seeded.below(some.len().max(1))).copied();
        let any = seeded.u64() % (self.tail + 3);
        match seeded.below(12) {
            0..=3 => {
                let item = seeded.u64();
                assert_eq!(self.blocks.push(item), self.tail);
                self.model.insert(self.tail, item);
                self.tail += 1;
            }
            4 => {
                let gap = [0, 1, 63, 64, 65, 1000, 1 << 40];
                let (item, position) = (seeded.u64(), self.tail + seeded.pick(&gap));
                self.blocks.push_at(position, item);
                self.model.insert(position, item);
                self.tail = position + 1;
            }
            5 => assert_eq!(self.blocks.pop(), self.model.pop_first()),
            6 => {
                let position = known.unwrap_or(any);
                assert_eq!(self.blocks.remove(position), self.model.remove(&position));
            }
            7 => assert_eq!(self.blocks.remove(any), self.model.remove(&any)),
            8 => {
                let position = known.unwrap_or(any);
                let (one, other) = (self.blocks.get_mut(position), self.model.get_mut(&position));
                assert_eq!(one, other);
                if let (Some(one), Some(other)) = (one, other) {
                    (*one, *other) = (1, 1);
                }
            }
            9 => {
                let gap = seeded.below(200) as u64;
                self.tail += gap;
                self.blocks.set_tail(self.tail);
            }
            10 => self.blocks = decoded(&encoded(&self.blocks)).expect("its own bytes"),
            _ => drop(self.blocks.clone()),
        }
    }

    fn agree(&self, seeded: &mut Seeded) {
        assert_eq!(self.blocks.len(), self.model.len() as u64);
        assert_eq!(self.blocks.is_empty(), self.model.is_empty());
        assert_eq!(self.blocks.tail(), self.tail);
        let all = self.blocks.iter().map(|(position, item)| (position, *item));
        assert!(all.eq(self.model.iter().map(|(position, item)| (*position, *item))));
        let first = self.model.keys().next().copied();
        assert!(self.blocks.head() <= first.unwrap_or(self.tail));
        let from = seeded.u64() % (self.tail + 3);
        assert_eq!(
            self.blocks.next_at(from),
            self.model
                .range(from..)
                .next()
                .map(|(position, _)| *position)
        );
        assert_eq!(self.blocks.get(from), self.model.get(&from));
    }
}

#[test]
fn blocks_hold_what_an_ordered_map_holds() {
    for seed in 0..60 {
        let mut seeded = Seeded::new(seed);
        let mut pair = Pair {
            blocks: Blocks::starting_at(seed * 7),
            model: BTreeMap::new(),
            tail: seed * 7,
        };
        let mut frozen = Vec::new();
        for step in 0..400 {
            if step % 50 == 0 {
                frozen.push((pair.blocks.clone(), pair.model.clone()));
            }
            pair.change(&mut seeded);
            pair.agree(&mut seeded);
        }
        for (blocks, model) in frozen {
            let all = blocks.iter().map(|(position, item)| (position, *item));
            assert!(all.eq(model), "a clone stays as it was, seed {seed}");
        }
    }
}

#[test]
fn blocks_from_bytes_cost_the_same_steps_and_have_the_same_digest() {
    for seed in 0..60 {
        let mut seeded = Seeded::new(seed);
        let mut pair = Pair {
            blocks: Blocks::starting_at(1),
            model: BTreeMap::new(),
            tail: 1,
        };
        for _ in 0..300 {
            pair.change(&mut seeded);
            let same: Blocks<u64> = decoded(&encoded(&pair.blocks)).expect("its own bytes");
            assert_eq!(digest(&same), digest(&pair.blocks));
            assert_eq!(same.head(), pair.blocks.head());
            let from = seeded.u64() % (pair.tail + 1);
            let mut one = seeded.below(100) as u32;
            let mut other = one;
            let odd = |item: &u64| item.is_multiple_of(7);
            assert_eq!(
                pair.blocks.find(from, &mut one, odd),
                same.find(from, &mut other, odd)
            );
            assert_eq!(one, other, "steps left");
        }
    }
}

#[test]
fn search_that_runs_out_of_steps_goes_on_where_it_stopped() {
    let mut blocks = Blocks::starting_at(0);
    for number in 0..1000_u64 {
        blocks.push(number);
    }
    for number in 100..900 {
        blocks.remove(number);
    }
    let (mut from, mut entries) = (0, 0);
    let found = loop {
        entries += 1;
        assert!(entries < 1000, "no progress");
        match blocks.find(from, &mut 1, |item| *item == 950) {
            Ok(found) => break found,
            Err(place) => from = place,
        }
    };
    assert_eq!(found, Some(950));
}

#[test]
fn search_steps_over_what_was_removed() {
    let mut blocks = Blocks::starting_at(0);
    blocks.push(0_u64);
    for number in 1..1_000_000 {
        blocks.push(number);
        blocks.remove(number);
    }
    blocks.push(1);
    let mut steps = 10;
    assert_eq!(blocks.find(1, &mut steps, |_| true), Ok(Some(1_000_000)));
    assert!(steps >= 8);
}

/// Counts how often it is cloned.
#[derive(Debug)]
struct Counted(Rc<Cell<u64>>);

impl Clone for Counted {
    fn clone(&self) -> Self {
        self.0.set(self.0.get() + 1);
        Counted(self.0.clone())
    }
}

#[test]
fn clone_copies_no_item_and_a_change_after_it_one_block() {
    let clones = Rc::new(Cell::new(0));
    let mut blocks = Blocks::starting_at(1);
    for _ in 0..100_000 {
        blocks.push(Counted(clones.clone()));
    }
    let frozen = blocks.clone();
    assert_eq!(clones.get(), 0);
    blocks.get_mut(50_000);
    blocks.remove(50_001);
    assert!(clones.get() <= BLOCK_ITEMS);
    let before = clones.get();
    blocks.push(Counted(clones.clone()));
    assert!(clones.get() - before <= BLOCK_ITEMS);
    assert_eq!((frozen.len(), blocks.len()), (100_000, 100_000));
    assert!(frozen.get(50_001).is_some());
}

#[test]
fn change_of_blocks_that_are_not_shared_copies_no_item() {
    let clones = Rc::new(Cell::new(0));
    let mut blocks = Blocks::starting_at(1);
    for _ in 0..1000 {
        blocks.push(Counted(clones.clone()));
    }
    for position in (1..=1000).rev() {
        blocks.get_mut(position);
        blocks.remove(position);
    }
    blocks.push(Counted(clones.clone()));
    blocks.pop();
    assert_eq!(clones.get(), 0);
}

#[test]
fn positions_far_apart_are_read_without_memory_for_what_lies_between() {
    let mut bytes = Encoder::default();
    (u64::MAX - 1, 3_u64).encode(&mut bytes);
    for position in [0, 1 << 50, u64::MAX - 2] {
        (position, 7_u64).encode(&mut bytes);
    }
    let blocks: Blocks<u64> = decoded(&bytes.bytes).expect("three items");
    assert_eq!(blocks.len(), 3);
    assert_eq!(blocks.next_at(1), Some(1 << 50));
}

#[test]
fn positions_that_go_back_or_pass_the_tail_are_refused() {
    let of = |tail: u64, positions: &[u64]| {
        let mut bytes = Encoder::default();
        (tail, positions.len() as u64).encode(&mut bytes);
        for position in positions {
            (*position, 7_u64).encode(&mut bytes);
        }
        decoded::<Blocks<u64>>(&bytes.bytes).is_some()
    };
    assert!(of(10, &[3, 4, 9]));
    assert!(!of(10, &[3, 3]));
    assert!(!of(10, &[4, 3]));
    assert!(!of(10, &[3, 10]));
}
