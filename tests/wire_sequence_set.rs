//! Sets of command ids: serial arithmetic, merging, windows, bounds.

mod wire_support;

use std::collections::BTreeSet;

use ferrymq::wire::limits::RANGES_MAX;
use ferrymq::wire::{Command, CommandId, Cursor, DecodeError, MessageAccept, Problem, SequenceSet};
use wire_support::seeded::Seeded;

fn set(ranges: &[(u32, u32)]) -> SequenceSet {
    let mut set = SequenceSet::new();
    for &(lower, upper) in ranges {
        assert!(
            set.insert_range(CommandId(lower), CommandId(upper)),
            "{lower}-{upper}"
        );
    }
    set
}

fn ranges(set: &SequenceSet) -> Vec<(u32, u32)> {
    set.ranges()
        .iter()
        .map(|&(lower, upper)| (lower.0, upper.0))
        .collect()
}

/// What a peer's set of these ranges reads as.
fn read(ranges: &[(u32, u32)]) -> Result<SequenceSet, DecodeError> {
    let mut bytes = vec![4, 2, 1, 0, 1, 0];
    bytes.extend(((ranges.len() * 8) as u16).to_be_bytes());
    for (lower, upper) in ranges {
        bytes.extend(lower.to_be_bytes());
        bytes.extend(upper.to_be_bytes());
    }
    match Command::decode(&mut Cursor::new(&bytes))?.1 {
        Command::MessageAccept(accept) => Ok(accept.transfers),
        other => panic!("{other:?}"),
    }
}

#[test]
fn ids_compare_in_serial_order() {
    let last = CommandId(u32::MAX);
    assert_eq!(last.next(), CommandId(0));
    assert_eq!(last.plus(3), CommandId(2));
    assert_eq!(last.distance_to(CommandId(2)), 3);
    assert_eq!(CommandId(2).distance_to(last), -3);
    assert!(last.precedes(CommandId(0)) && !CommandId(0).precedes(last));
    assert!(last.at_or_before(last) && !last.precedes(last));
    let half = CommandId(1 << 31);
    assert!(!CommandId(0).precedes(half) && !half.precedes(CommandId(0)));
}

#[test]
fn ranges_merge_where_they_touch() {
    assert_eq!(ranges(&set(&[(1, 2), (5, 6), (3, 4)])), [(1, 6)]);
    assert_eq!(ranges(&set(&[(1, 2), (4, 5)])), [(1, 2), (4, 5)]);
    assert_eq!(ranges(&set(&[(4, 5), (1, 2)])), [(1, 2), (4, 5)]);
    assert_eq!(ranges(&set(&[(1, 2), (4, 5), (8, 9), (2, 8)])), [(1, 9)]);
    assert_eq!(ranges(&set(&[(5, 9), (6, 7)])), [(5, 9)]);
    assert_eq!(ranges(&set(&[(6, 7), (5, 9)])), [(5, 9)]);
    assert_eq!(
        ranges(&set(&[(1, 1), (9, 9), (4, 6)])),
        [(1, 1), (4, 6), (9, 9)]
    );
}

#[test]
fn order_goes_on_over_the_wrap() {
    let wrapped = set(&[(2, 3), (u32::MAX - 1, u32::MAX), (0, 0)]);
    assert_eq!(ranges(&wrapped), [(u32::MAX - 1, 0), (2, 3)]);
    assert_eq!(
        (wrapped.first(), wrapped.last()),
        (Some(CommandId(u32::MAX - 1)), Some(CommandId(3)))
    );
    assert!(wrapped.contains(CommandId(0)) && !wrapped.contains(CommandId(1)));
    assert_eq!(wrapped.id_count(), 5);
    let ids: Vec<_> = wrapped.ids().map(|id| id.0).collect();
    assert_eq!(ids, [u32::MAX - 1, u32::MAX, 0, 2, 3]);
}

#[test]
fn removal_splits_and_cuts() {
    let mut ids = set(&[(0, 10), (20, 30)]);
    ids.remove_range(CommandId(3), CommandId(4));
    assert_eq!(ranges(&ids), [(0, 2), (5, 10), (20, 30)]);
    ids.remove_range(CommandId(9), CommandId(25));
    assert_eq!(ranges(&ids), [(0, 2), (5, 8), (26, 30)]);
    ids.remove_range(CommandId(4), CommandId(3));
    assert_eq!(ranges(&ids), [(0, 2), (5, 8), (26, 30)]);
    ids.remove_range(CommandId(u32::MAX), CommandId(100));
    assert!(ids.is_empty());
}

#[test]
fn inverted_ranges_are_refused() {
    let mut ids = set(&[(1, 2)]);
    assert!(!ids.insert_range(CommandId(5), CommandId(4)));
    assert_eq!(ranges(&ids), [(1, 2)]);
    assert!(SequenceSet::from_range(CommandId(5), CommandId(4)).is_empty());
    assert_eq!(
        read(&[(1, 2), (5, 4)]).unwrap_err().problem,
        Problem::Inverted(5, 4)
    );
}

#[test]
fn one_maximal_range_costs_one_range() {
    let most = read(&[(0, 0x7fff_ffff)]).unwrap();
    assert_eq!(most.ranges().len(), 1);
    assert_eq!(most.id_count(), 1 << 31);
    assert_eq!(
        ranges(&most.clipped(CommandId(10), CommandId(12))),
        [(10, 12)]
    );
    assert!(
        most.clipped(CommandId(0x8000_0000), CommandId(0x8000_0010))
            .is_empty()
    );
    let mut cut = most.clone();
    cut.remove_range(CommandId(5), CommandId(6));
    assert_eq!(ranges(&cut), [(0, 4), (7, 0x7fff_ffff)]);
    assert!(cut.union(&most));
    assert_eq!(cut, most);
}

#[test]
fn a_set_over_half_of_all_ids_is_refused() {
    let wide = read(&[(0, 0x7fff_ffff), (0x8000_0005, 0x8000_0005)]);
    assert_eq!(wide.unwrap_err().problem, Problem::TooWide);
    assert_eq!(
        read(&[(0, 0), (1 << 31, 1 << 31)]).unwrap_err().problem,
        Problem::TooWide
    );
    let mut ids = set(&[(0, 0x7fff_fffe)]);
    assert!(ids.insert(CommandId(0x7fff_ffff)));
    assert!(!ids.insert(CommandId(0x8000_0000)));
    assert!(!ids.insert(CommandId(u32::MAX)));
    assert!(!ids.union(&set(&[(u32::MAX, 0)])));
    assert_eq!(ranges(&ids), [(0, 0x7fff_ffff)]);
}

#[test]
fn a_peers_ranges_may_overlap_in_any_order() {
    assert_eq!(
        ranges(&read(&[(5, 9), (1, 2), (3, 6), (7, 7)]).unwrap()),
        [(1, 9)]
    );
    assert_eq!(ranges(&read(&[(1, 2), (3, 4), (4, 9)]).unwrap()), [(1, 9)]);
    let over_the_wrap = read(&[(3, 4), (u32::MAX, 0)]).unwrap();
    assert_eq!(ranges(&over_the_wrap), [(u32::MAX, 0), (3, 4)]);
    assert!(read(&[]).unwrap().is_empty());
}

#[test]
fn the_largest_set_of_a_peer_is_read_in_reverse_too() {
    let mut all: Vec<_> = (0..RANGES_MAX as u32).map(|n| (n * 3, n * 3 + 1)).collect();
    let ascending = read(&all).unwrap();
    all.reverse();
    assert_eq!(read(&all).unwrap(), ascending);
    assert_eq!(ascending.ranges().len(), RANGES_MAX);
}

#[test]
fn what_one_set_cannot_carry_goes_into_another() {
    let mut ids = SequenceSet::new();
    (0..RANGES_MAX as u32 + 2).for_each(|n| assert!(ids.insert(CommandId(n * 2))));
    let excess = ids.split_off_excess();
    assert_eq!(ids.ranges().len(), RANGES_MAX);
    assert_eq!(excess.ranges().len(), 2);
    let mut bytes = Vec::new();
    Command::from(MessageAccept {
        transfers: ids.clone(),
    })
    .encode(false, &mut bytes);
    let (_, read) = Command::decode(&mut Cursor::new(&bytes)).unwrap();
    assert_eq!(read, Command::from(MessageAccept { transfers: ids }));
    assert!(set(&[(1, 1)]).split_off_excess().is_empty());
}

#[test]
fn sets_print_their_ranges() {
    assert_eq!(set(&[(1, 3), (5, 5)]).to_string(), "{1-3, 5}");
    assert_eq!(format!("{:?}", SequenceSet::new()), "{}");
}

/// A set of plain numbers beside a `SequenceSet` whose ids begin somewhere on the circle.
struct Pair {
    base: u32,
    ids: SequenceSet,
    plain: BTreeSet<u32>,
}

impl Pair {
    fn id(&self, number: u32) -> CommandId {
        CommandId(self.base.wrapping_add(number))
    }

    fn check(&self) {
        let found: Vec<_> = self
            .ids
            .ids()
            .map(|id| id.0.wrapping_sub(self.base))
            .collect();
        assert!(
            found.iter().eq(&self.plain),
            "{:?} from {}",
            self.ids,
            self.base
        );
        for neighbours in self.ids.ranges().windows(2) {
            assert!(
                neighbours[0].1.distance_to(neighbours[1].0) > 1,
                "{:?}",
                self.ids
            );
        }
        for number in 0..80 {
            assert_eq!(
                self.ids.contains(self.id(number)),
                self.plain.contains(&number)
            );
        }
    }
}

#[test]
fn random_operations_agree_with_a_set_of_numbers() {
    let seeds = if cfg!(miri) { 5 } else { 300 };
    for seed in 0..seeds {
        let mut seeded = Seeded::new(seed);
        let base = if seeded.once_in(2) {
            u32::MAX - 30
        } else {
            seeded.u32()
        };
        let mut pair = Pair {
            base,
            ids: SequenceSet::new(),
            plain: BTreeSet::new(),
        };
        for _ in 0..40 {
            let lower = seeded.below(70) as u32;
            let upper = lower + seeded.below(8) as u32;
            let (first, last) = (pair.id(lower), pair.id(upper));
            match seeded.below(5) {
                0 => {
                    pair.ids.remove_range(first, last);
                    pair.plain
                        .retain(|number| !(lower..=upper).contains(number));
                }
                1 => {
                    let clipped = pair.ids.clipped(first, last);
                    let inside = pair.plain.range(lower..=upper);
                    assert!(clipped.ids().eq(inside.map(|&number| pair.id(number))));
                }
                2 => {
                    let mut other = SequenceSet::new();
                    for step in 0..seeded.below(14) as u32 {
                        other.insert(pair.id(lower / 3 + step * 3));
                        pair.plain.insert(lower / 3 + step * 3);
                    }
                    assert!(pair.ids.union(&other));
                }
                _ => {
                    assert!(pair.ids.insert_range(first, last));
                    pair.plain.extend(lower..=upper);
                }
            }
            pair.check();
        }
    }
}
