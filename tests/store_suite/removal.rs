//! Segments that are removed, and compaction by copying.

use std::collections::BTreeSet;

use ferrymq::store::limits::REMOVED_IN_USE_MAX;
use ferrymq::store::{Part, Place, Plant, RemoveError, SimulatedDisk};

use crate::store::{Store, options};

/// A store with so many sealed segments.
fn sealed(disk: &SimulatedDisk, count: usize) -> (Store, Vec<Place>) {
    let mut store = Store::new(disk);
    let mut places = Vec::new();
    while store
        .journal
        .segments()
        .iter()
        .filter(|segment| segment.is_sealed)
        .count()
        < count
    {
        places.push(store.append(&[places.len() as u8; 1000]));
        store.settle();
    }
    (store, places)
}

fn present(store: &Store) -> BTreeSet<u64> {
    store
        .records
        .iter()
        .map(|record| record.place.segment().number())
        .collect()
}

#[test]
fn crash_at_each_step_of_a_removal_is_harmless() {
    let mut steps = 0;
    for step in 0.. {
        let disk = SimulatedDisk::new(step);
        let (store, _) = sealed(&disk, 5);
        let before: BTreeSet<u64> = (1..7).collect();
        let changes = disk.changes();
        disk.power_off_after(step);
        let removed = store.journal.remove_segments(&[1, 2, 4]);
        let is_done = disk.changes() - changes < step;
        for seed in 0..20 {
            let image = disk.crash(seed);
            let store = Store::open(&image).expect("a removal cut short is no damage");
            let present = present(&store);
            assert!(present.is_subset(&before) && present.is_superset(&[3, 5, 6].into()));
            if removed.is_ok() {
                assert_eq!(present, [3, 5, 6].into());
            }
            let numbers = |store: &Store| -> Vec<u64> {
                store
                    .journal
                    .segments()
                    .iter()
                    .map(|segment| segment.number)
                    .collect()
            };
            let kept = numbers(&store);
            drop(store);
            let again = Store::open(&image).expect("all is well");
            assert_eq!(numbers(&again), kept);
        }
        if is_done {
            steps = step;
            break;
        }
    }
    assert!(steps >= 6, "{steps}");
}

#[test]
fn planted_removal_before_it_is_noted_is_found() {
    let disk = SimulatedDisk::new(1);
    let (_, store) = Store::open_with(&disk, &options(Plant::RemovedBeforeNoted));
    let mut store = store.expect("the disk is sound");
    for n in 0..20 {
        store.append(&[n; 1000]);
        store.settle();
    }
    // The store file's write is the first change: it is done, and not synced.
    store
        .journal
        .remove_segments(&[1, 2])
        .expect("they are sealed");
    let is_bad = |seed: &u64| Store::open(&disk.crash(*seed)).is_err();
    assert!((0..100).any(|seed| is_bad(&seed)));
}

#[test]
fn a_removed_segment_can_be_read_while_it_counts_as_needed() {
    let disk = SimulatedDisk::new(3);
    disk.set_capacity(1 << 20);
    let (store, places) = sealed(&disk, 5);
    let free = || ferrymq::store::disk::Disk::free_bytes(&disk).expect("it knows");
    let before = free();
    let of = places[0].segment();
    assert_eq!(of.number(), 1);
    of.count_live(1000);
    let removed = store.journal.remove_segments(&[1, 2]);
    removed.expect("they are sealed");
    let octets = store.journal.read_record(&places[0]);
    assert_eq!(octets.expect("it is needed"), [0; 1000]);
    assert_eq!(store.journal.removed_in_use(), 1);
    assert_eq!(free(), before + 4096, "of the one that nobody needs");
    of.count_live(-1000);
    assert_eq!(store.journal.removed_in_use(), 0);
    assert_eq!(free(), before + 2 * 4096);
    let gone = store.journal.read_record(&places[0]);
    gone.expect_err("it is gone");
    // No crash brings it back.
    let store = Store::open(&disk.crash(1)).expect("the disk is sound");
    assert!(!present(&store).contains(&1));
}

#[test]
fn few_removed_segments_can_be_needed() {
    let most = REMOVED_IN_USE_MAX as u64;
    let disk = SimulatedDisk::new(4);
    let (store, places) = sealed(&disk, REMOVED_IN_USE_MAX + 2);
    places
        .iter()
        .for_each(|place| place.segment().count_live(1));
    let all: Vec<u64> = (1..=most + 1).collect();
    let refused = store.journal.remove_segments(&all);
    assert!(matches!(refused, Err(RemoveError::InUse(number)) if number == most + 1));
    let removed = store.journal.remove_segments(&all[1..]);
    removed.expect("these are not too many");
    let refused = store.journal.remove_segments(&[1]);
    assert!(matches!(refused, Err(RemoveError::InUse(1))));
    let of_second = places.iter().filter(|place| place.segment().number() == 2);
    of_second.for_each(|place| place.segment().count_live(-1));
    let removed = store.journal.remove_segments(&[1]);
    removed.expect("one of the others is not needed any more");
}

#[test]
fn removed_segments_give_their_room_back() {
    let disk = SimulatedDisk::new(2);
    disk.set_capacity(1 << 20);
    let (store, places) = sealed(&disk, 5);
    let free = || ferrymq::store::disk::Disk::free_bytes(&disk).expect("it knows");
    let before = free();
    // A file that was read from is open, and must not keep its room.
    store.journal.read_record(&places[0]).expect("it is there");
    store
        .journal
        .remove_segments(&[1, 2])
        .expect("they are sealed");
    assert_eq!(free(), before + 2 * 4096);
    store
        .journal
        .read_record(&places[0])
        .expect_err("it is gone");
    let refused = store.journal.remove_segments(&[3, 1]);
    assert!(matches!(refused, Err(RemoveError::NotSealed(1))));
    assert_eq!(free(), before + 2 * 4096);
}

#[test]
fn scattered_removals_have_a_bound_that_older_ones_lift() {
    let disk = SimulatedDisk::new(3);
    let (store, _) = sealed(&disk, 520);
    let mut removed = 0;
    let refused = (2..520).step_by(2).find(|number| {
        removed = *number;
        match store.journal.remove_segments(&[*number]) {
            Ok(()) => false,
            Err(RemoveError::TooScattered) => true,
            Err(error) => panic!("{error}"),
        }
    });
    assert_eq!(
        refused,
        Some(2 + 2 * ferrymq::store::limits::REMOVED_RUNS_MAX as u64)
    );
    store
        .journal
        .remove_segments(&[1, 3])
        .expect("they are the oldest");
    store
        .journal
        .remove_segments(&[removed])
        .expect("there is a run to spare");
    drop(store);
    let store = Store::open(&disk).expect("all is well");
    let expected: BTreeSet<u64> = (5..removed).step_by(2).chain(removed + 1..=520).collect();
    assert!(present(&store).is_superset(&expected));
    assert_eq!(store.journal.segments()[0].number, 5);
}

/// What is needed is counted by those who need it.
#[test]
fn live_octets_are_counted_by_segment() {
    let disk = SimulatedDisk::new(4);
    let (store, places) = sealed(&disk, 3);
    for place in &places {
        place.segment().count_live(place.bytes() as i64);
    }
    let live = |store: &Store| -> Vec<i64> {
        store
            .journal
            .segments()
            .iter()
            .map(|segment| segment.live_bytes)
            .collect()
    };
    assert_eq!(live(&store)[..3], [3 * 1032; 3]);
    for place in places.iter().filter(|place| place.segment().number() == 2) {
        place.segment().count_live(-(place.bytes() as i64));
    }
    assert_eq!(live(&store)[..3], [3 * 1032, 0, 3 * 1032]);
    store.journal.count_live(1, -32);
    assert_eq!(live(&store)[0], 3 * 1032 - 32);
    let info = store.journal.segments()[1];
    assert_eq!((info.number, info.base, info.bytes), (2, 4096, 4096));
    // Each record with its mark, and the seal.
    assert_eq!(info.end, 4096 + 64 + 3 * (1032 + 32) + 32);
}

/// Each third record is needed; the oldest segments are copied forward and removed, over and over,
/// with the power cut in between.
#[test]
fn compaction_by_copying_loses_nothing_at_any_crash() {
    for seed in 0..30 {
        let disk = SimulatedDisk::new(seed);
        let (mut store, places) = sealed(&disk, 6);
        let is_live = |payload: &[u8]| payload[0].is_multiple_of(3);
        let live: BTreeSet<u8> = (0..places.len() as u8).filter(|n| n % 3 == 0).collect();
        disk.power_off_after(seed * 2);
        for number in 1..5 {
            let mut copied = Vec::new();
            let read = store.journal.read_segment(number, &mut |record, payload| {
                if is_live(payload) {
                    copied.push((record.kind, payload.to_vec()));
                }
                Ok(())
            });
            if read.is_err() {
                break;
            }
            let mut end = 0;
            for (kind, payload) in &copied {
                let parts = [Part::Octets(payload)];
                end = store
                    .journal
                    .append(*kind, &parts)
                    .expect("it is not too large")
                    .end();
            }
            store.settle();
            if store.journal.synced() < end || store.journal.remove_segments(&[number]).is_err() {
                break;
            }
        }
        for image in 0..10 {
            let store = Store::open(&disk.crash(image)).expect("no damage");
            let found: BTreeSet<u8> = store.payloads().iter().map(|payload| payload[0]).collect();
            assert!(found.is_superset(&live), "seed {seed}");
        }
    }
}
