//! Calls that fail, writes that go nowhere or elsewhere, and a full disk.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ferrymq::store::disk::Disk;
use ferrymq::store::simulated::{Call, Failure};
use ferrymq::store::{
    Flaw, Journal, OpenError, Options, Part, Place, Plant, RecordTooLarge, SimulatedDisk, State,
    Turn, limits,
};

use crate::seeded::Seeded;
use crate::store::{STORE_ID, Store, options};

const FIRST: &str = "0000000000000001.journal";

#[test]
fn one_sync_does_for_all_that_gathered() {
    let disk = SimulatedDisk::new(1);
    let mut store = Store::new(&disk);
    store.settle();
    let (writes, syncs) = (disk.calls(Call::Write), disk.calls(Call::Sync));
    for n in 0..50 {
        store.append(&[n; 10]);
    }
    let last = store.append(b"the last");
    assert!(store.journal.synced() <= last.position());
    assert_eq!(store.writer.turn(), Turn::Worked);
    assert_eq!(store.journal.synced(), last.end());
    assert_eq!(disk.calls(Call::Write) - writes, 1);
    assert_eq!(disk.calls(Call::Sync) - syncs, 1);
    // The mark takes a write and no sync, once.
    assert_eq!(store.settle(), Turn::Idle);
    assert_eq!(store.settle(), Turn::Idle);
    assert_eq!(disk.calls(Call::Write) - writes, 2);
    assert_eq!(disk.calls(Call::Sync) - syncs, 1);
}

#[test]
fn waker_is_called_when_the_watermark_has_risen() {
    let disk = SimulatedDisk::new(2);
    let mut store = Store::new(&disk);
    store.settle();
    let called = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&called);
    store.journal.set_waker(Arc::new(move || {
        counted.fetch_add(1, Ordering::Relaxed);
    }));
    store.settle();
    assert_eq!(called.load(Ordering::Relaxed), 0);
    store.append(b"one");
    store.writer.turn();
    assert_eq!(called.load(Ordering::Relaxed), 1);
    store.append(b"two");
    disk.fail(Call::Write, 1, Failure::Error);
    store.writer.turn();
    assert_eq!(called.load(Ordering::Relaxed), 2);
}

/// Appends and works, some segments long. The ends of the records, up to a failure and behind it.
fn work(store: &mut Store) -> Vec<Place> {
    let mut random = Seeded::new(3);
    let mut places = Vec::new();
    for _ in 0..120 {
        places.push(store.append(&random.bytes(400)));
        if random.once_in(3) {
            store.writer.turn();
        }
    }
    store.settle();
    places
}

/// Fails the n-th call of a kind, restarts the broker with and without a power cut.
fn fail_nth(call: Call, n: u64) -> bool {
    let disk = SimulatedDisk::new(4);
    let mut store = Store::new(&disk);
    store.settle();
    disk.fail(call, n, Failure::Error);
    let places = work(&mut store);
    let State::Failed(_) = store.journal.state() else {
        assert_eq!(store.journal.state(), State::Ok);
        return false;
    };
    let synced = store.journal.synced();
    assert_eq!(store.journal.buffered_bytes(), 0);
    // It stays so, whatever the disk says now.
    disk.heal();
    let after = store.append(b"into nothing");
    assert_eq!(store.settle(), Turn::Failed);
    assert_eq!(store.journal.synced(), synced);
    store
        .journal
        .read(&after, 0..4)
        .expect_err("it went nowhere");
    store.writer.finish();
    drop(store);
    let expected = places.iter().filter(|place| place.end() <= synced).count();
    for disk in [disk.clone(), disk.crash(5), disk.crash(6)] {
        let store = Store::open(&disk).expect("a failed call is no damage");
        assert!(store.records.len() >= expected, "{call:?} {n}");
        for (record, place) in store.records.iter().zip(&places) {
            assert_eq!(record.place.position(), place.position());
        }
        assert!(store.records.len() <= places.len());
    }
    true
}

#[test]
fn failed_write_or_sync_ends_the_journal_and_loses_nothing_synced() {
    for call in [
        Call::Write,
        Call::Sync,
        Call::Create,
        Call::Resize,
        Call::SyncDirectory,
    ] {
        let failed = (1..200).take_while(|n| fail_nth(call, *n)).count();
        println!("{call:?}: {failed} calls failed");
        assert!(failed >= 6, "{call:?}: {failed}");
    }
}

#[test]
fn failed_read_while_opening_is_an_error_and_changes_nothing() {
    let disk = SimulatedDisk::new(7);
    let mut store = Store::new(&disk);
    let count = work(&mut store).len();
    drop(store);
    let mut n = 1;
    loop {
        let image = disk.crash(0);
        image.fail(Call::Read, n, Failure::Error);
        match Store::open(&image) {
            Err(OpenError::Disk { .. }) => n += 1,
            Err(error) => panic!("{error}"),
            Ok(store) => {
                assert_eq!(store.records.len(), count);
                break;
            }
        }
        image.heal();
        assert_eq!(
            Store::open(&image).expect("all is well").records.len(),
            count
        );
    }
    assert!(n > 10, "{n}");
}

#[test]
fn write_that_went_nowhere_or_elsewhere_is_told() {
    for failure in [
        Failure::Lost,
        Failure::Misdirected(512),
        Failure::Misdirected(40),
    ] {
        let disk = SimulatedDisk::new(8);
        let mut store = Store::new(&disk);
        store.settle();
        store.append(b"before");
        store.settle();
        disk.fail(Call::Write, 1, failure);
        let place = store.append(b"a disk that lies");
        store.settle();
        store.append(b"after");
        store.settle();
        drop(store);
        let (records, opened) = Store::open_with(&disk, &options(Plant::None));
        assert_eq!(records.len(), 1);
        let Err(OpenError::Damaged { damages, .. }) = opened else {
            panic!("it was opened");
        };
        let damage = &damages.list[0];
        assert_eq!(
            (damage.file.as_str(), damage.offset),
            (FIRST, u64::from(place.offset()))
        );
        assert!(matches!(damage.what, Flaw::Record { .. }));
    }
}

#[test]
fn damage_that_comes_later_shows_in_a_checked_read() {
    let disk = SimulatedDisk::new(9);
    let mut store = Store::new(&disk);
    let place = store.append(b"whole");
    store.settle();
    assert_eq!(
        store.journal.read_record(&place).expect("it is there"),
        b"whole"
    );
    disk.flip(FIRST, u64::from(place.offset() + 32) * 8)
        .expect("it is there");
    store
        .journal
        .read_record(&place)
        .expect_err("it is damaged");
    assert_ne!(
        store.journal.read(&place, 0..5).expect("unchecked"),
        b"whole"
    );
    store
        .journal
        .read(&place, 3..6)
        .expect_err("longer than the record");
}

/// A journal on a disk with room for so many segments beside the store file.
fn confined(segments: u64) -> (SimulatedDisk, Store) {
    let disk = SimulatedDisk::new(10);
    disk.set_capacity(8192 + segments * 4096);
    let store = Store::new(&disk);
    (disk, store)
}

#[test]
fn full_disk_leaves_a_segment_for_what_makes_room() {
    let (disk, mut store) = confined(3);
    let payload = [7; 300];
    let mut places = Vec::new();
    while store.journal.state() == State::Ok {
        places.push(store.append(&payload));
        store.settle();
        assert!(places.len() < 100, "it is never full");
    }
    assert!(matches!(store.journal.state(), State::Full(_)));
    assert_eq!(disk.free_bytes().expect("it knows"), 0);
    // Nearly a whole segment is left: what was appended last began it.
    let last = places.last().expect("there are some").clone();
    assert!(last.offset() < 1000, "{last:?}");
    assert_eq!(store.journal.synced(), last.end());
    for _ in 0..20 {
        let place = store.append(b"a dequeue");
        assert_eq!(store.settle(), Turn::Full);
        assert_eq!(store.journal.synced(), place.end());
    }
    // More than is left waits, what fits does not.
    let waiting: Vec<Place> = (0..20).map(|_| store.append(&payload)).collect();
    assert_eq!(store.settle(), Turn::Full);
    let synced = store.journal.synced();
    assert!(synced >= waiting[0].end() && synced < waiting[19].end());
    assert!(store.journal.buffered_bytes() > 0);
    assert_eq!(
        store
            .journal
            .read(&waiting[19], 0..300)
            .expect("it is in memory"),
        payload
    );
    // A segment is removed, and all goes on.
    store
        .journal
        .remove_segments(&[1])
        .expect("the store file has its room");
    assert_eq!(store.settle(), Turn::Full);
    store
        .journal
        .remove_segments(&[2])
        .expect("the store file has its room");
    disk.set_capacity(1 << 20);
    assert_eq!(store.settle(), Turn::Idle);
    assert_eq!(store.journal.state(), State::Ok);
    assert_eq!(store.journal.synced(), waiting[19].end());
    drop(store);
    let is_left = |place: &&Place| place.segment().number() > 2;
    let left = places.iter().filter(is_left).count() + 20 + 20;
    assert_eq!(Store::open(&disk).expect("all is well").records.len(), left);
}

#[test]
fn journal_says_that_it_is_full_while_the_spare_is_free_and_goes_on_into_it() {
    let disk = SimulatedDisk::new(10);
    disk.set_capacity(8192 + 10 * 4096);
    let spare_bytes = 5 * 4096;
    let options = Options {
        spare_bytes,
        ..options(Plant::None)
    };
    let mut store = Store::open_with(&disk, &options).1.expect("a new one");
    let free = || disk.free_bytes().expect("it knows");
    while store.journal.state() == State::Ok {
        store.append(&[7; 300]);
        store.settle();
    }
    assert!((spare_bytes - 4096..spare_bytes).contains(&free()));
    // All that comes now is written all the same, as long as there is any room.
    while free() >= 4096 {
        let place = store.append(&[7; 300]);
        assert_eq!(store.settle(), Turn::Full);
        assert_eq!(store.journal.synced(), place.end());
    }
    // It stays full until the spare is free: the segment that is written to has hardly begun.
    let mut removed = 0;
    while matches!(store.journal.state(), State::Full(_)) {
        assert!(free() < spare_bytes, "{} are free", free());
        removed += 1;
        let done = store.journal.remove_segments(&[removed]);
        done.expect("the store file has its room");
        store.settle();
    }
    assert!(free() >= spare_bytes);
    assert_eq!(store.settle(), Turn::Idle);
}

/// A disk of two segments, the spare, and half a segment; and how a journal is on it.
fn narrow_with_a_spare() -> (SimulatedDisk, Options) {
    let disk = SimulatedDisk::new(10);
    let spare_bytes = 5 * 4096;
    disk.set_capacity(8192 + 2 * 4096 + spare_bytes + 2048);
    let options = Options {
        spare_bytes,
        ..options(Plant::None)
    };
    (disk, options)
}

#[test]
fn journal_that_is_opened_with_less_than_the_spare_free_is_full_from_the_beginning() {
    let (disk, options) = narrow_with_a_spare();
    drop(Store::open_with(&disk, &options).1.expect("a new one"));
    let free = disk.free_bytes().expect("it knows");
    disk.set_capacity(disk.used_bytes() + options.spare_bytes - 1);
    let store = Store::open_with(&disk, &options).1.expect("it is sound");
    assert!(matches!(store.journal.state(), State::Full(_)));
    drop(store);
    disk.set_capacity(disk.used_bytes() + free);
    let store = Store::open_with(&disk, &options).1.expect("it is sound");
    assert_eq!(store.journal.state(), State::Ok);
}

/// With less room beside the spare than a segment takes, as on any disk at some time.
#[test]
fn what_was_emptied_is_not_full_though_less_than_a_segment_is_free_beside_the_spare() {
    let (disk, options) = narrow_with_a_spare();
    let mut store = Store::open_with(&disk, &options).1.expect("a new one");
    for removed in 1..=5 {
        while store.journal.state() == State::Ok {
            store.append(&[7; 300]);
            store.settle();
        }
        let done = store.journal.remove_segments(&[removed]);
        done.expect("the store file has its room");
        store.settle();
        assert_eq!(store.journal.state(), State::Ok, "after {removed}");
    }
}

/// Who is told that there is room again can use some before there is none again.
#[test]
fn journal_stays_full_while_the_segment_at_hand_ends_and_no_other_leaves_the_spare() {
    let (disk, options) = narrow_with_a_spare();
    let mut store = Store::open_with(&disk, &options).1.expect("a new one");
    let mut last = store.append(&[7; 300]);
    while store.journal.state() == State::Ok {
        last = store.append(&[7; 300]);
        store.settle();
    }
    while last.segment().number() == 1 || last.offset() < 3100 {
        last = store.append(&[7; 100]);
        store.settle();
    }
    let done = store.journal.remove_segments(&[1]);
    done.expect("the store file has its room");
    store.settle();
    assert!(disk.free_bytes().expect("it knows") >= options.spare_bytes);
    assert!(matches!(store.journal.state(), State::Full(_)));
}

#[test]
fn full_disk_and_a_power_cut_lose_nothing_synced() {
    for seed in 0..40 {
        let (disk, mut store) = confined(2 + seed % 3);
        let mut random = Seeded::new(seed);
        let mut places = Vec::new();
        for _ in 0..60 {
            let length = *random.pick(&[10, 300, 300, 5000]);
            places.push(store.append(&vec![seed as u8; length]));
            store.writer.turn();
        }
        let synced = store.journal.synced();
        assert!(matches!(store.journal.state(), State::Full(_)));
        let image = disk.crash(seed);
        let store = Store::open(&image).expect("a full disk is no damage");
        let expected = places.iter().filter(|place| place.end() <= synced).count();
        assert!(store.records.len() >= expected);
    }
}

#[test]
fn disk_without_room_for_a_store_refuses_it_until_there_is() {
    let disk = SimulatedDisk::new(11);
    for capacity in [0, 4000, 4096, 10_000, 12_287] {
        disk.set_capacity(capacity);
        assert!(
            matches!(Store::open(&disk), Err(OpenError::Disk { .. })),
            "{capacity}"
        );
    }
    disk.set_capacity(3 * 4096);
    let mut store = Store::open(&disk).expect("there is room");
    assert!(store.recovery.is_new);
    assert_eq!(store.settle(), Turn::Full);
}

/// With its thread: it notices by itself that there is room again.
#[test]
fn full_journal_goes_on_by_itself_when_there_is_room() {
    let disk = SimulatedDisk::new(12);
    disk.set_capacity(8192 + 3 * 4096);
    let shared = Arc::new(disk.clone());
    let opened = Journal::open(shared, &options(Plant::None), STORE_ID, &mut |_, _| Ok(()));
    let (journal, _) = opened.expect("the disk is sound");
    let (told, tell) = std::sync::mpsc::channel();
    journal.set_waker(Arc::new(move || {
        // The test may be past caring.
        let _ = told.send(());
    }));
    let append = |_| {
        journal
            .append(1, &[Part::Octets(&[1; 500])])
            .expect("it is not too large")
    };
    let places: Vec<Place> = (0..100).map(append).collect();
    while !matches!(journal.state(), State::Full(_)) {
        tell.recv().expect("the waker stays set");
    }
    assert!(journal.synced() < places[99].end());
    disk.set_capacity(1 << 20);
    while journal.synced() < places[99].end() || journal.state() != State::Ok {
        tell.recv().expect("the waker stays set");
    }
    assert_eq!(journal.close(), State::Ok);
    assert_eq!(Store::open(&disk).expect("all is well").records.len(), 100);
}

#[test]
fn record_that_is_too_large_leaves_nothing_behind() {
    let disk = SimulatedDisk::new(13);
    let mut store = Store::new(&disk);
    store.settle();
    let tail = store.append(b"before").end();
    let half = bytes::Bytes::from(vec![0; limits::RECORD_BYTES_MAX / 2 + 1]);
    let parts = [Part::Shared(&half), Part::Shared(&half)];
    let refused = store
        .journal
        .append(1, &parts)
        .expect_err("it is too large");
    assert_eq!(
        refused,
        RecordTooLarge {
            bytes: limits::RECORD_BYTES_MAX + 2
        }
    );
    assert_eq!(store.append(b"after").position(), tail);
    store.settle();
    drop(store);
    assert_eq!(
        Store::open(&disk).expect("all is well").payloads(),
        [&b"before"[..], b"after"]
    );
}

#[test]
fn buffer_has_room_until_its_bound() {
    let disk = SimulatedDisk::new(14);
    let options = Options {
        buffer_bytes_max: 1000,
        ..options(Plant::None)
    };
    let mut store = Store::open_with(&disk, &options)
        .1
        .expect("the disk is sound");
    let mut count = 0;
    while store.journal.has_room() {
        store.append(&[0; 68]);
        count += 1;
    }
    assert_eq!((count, store.journal.buffered_bytes()), (10, 1040));
    store.settle();
    assert!(store.journal.has_room());
    assert_eq!(store.journal.buffered_bytes(), 0);
}
