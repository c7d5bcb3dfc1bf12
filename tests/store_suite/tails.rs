//! The end of the last segment: what a crash leaves there is cut, and never comes back.

use ferrymq::store::{Damages, Flaw, OpenError, Options, Plant, SimulatedDisk, SyncMode};

use crate::store::{Store, options};

const FIRST: &str = "0000000000000001.journal";
const SECOND: &str = "0000000000000002.journal";

/// Octets of a record's header, and of a mark.
const HEADER: u64 = 32;

fn damages(opened: Result<Store, OpenError>) -> Damages {
    match opened {
        Err(OpenError::Damaged { damages, .. }) => damages,
        Err(error) => panic!("{error}"),
        Ok(store) => panic!("opened, with {:?}", store.recovery),
    }
}

#[test]
fn torn_last_record_is_cut() {
    let disk = SimulatedDisk::new(1);
    let mut store = Store::new(&disk);
    store.append(b"first");
    store.settle();
    let place = store.append(b"the last one, which is torn");
    store.writer.turn();
    let whole = disk.contents(FIRST).expect("it is there");
    let (start, length) = (place.offset() as usize, place.bytes() as usize);
    for kept in 0..=length {
        let mut octets = whole.clone();
        octets[start + kept..].fill(0);
        let image = disk.crash(0);
        image.put(FIRST, &octets);
        let store = Store::open(&image).expect("a torn tail is no damage");
        // Padding at the end is zeros anyway.
        let is_whole = octets == whole;
        assert_eq!(
            store.records.len(),
            1 + usize::from(is_whole),
            "{kept} octets"
        );
        assert_eq!(store.records[0].payload, b"first");
        let tail = store.recovery.torn_tail;
        match octets[start..].iter().rposition(|octet| *octet != 0) {
            Some(last) if !is_whole => {
                let tail = tail.expect("octets were cut");
                assert_eq!((tail.file.as_str(), tail.offset), (FIRST, start as u64));
                assert_eq!(tail.octets, last as u64 + 1);
            }
            _ => assert_eq!(tail, None),
        }
        let image = image.contents(FIRST).expect("it is there");
        assert!(is_whole || image[start..].iter().all(|octet| *octet == 0));
    }
}

/// A store whose three records are synced one by one, without the last mark if so wished.
fn three_records(plant: Plant) -> (SimulatedDisk, Vec<u64>) {
    let disk = SimulatedDisk::new(2);
    let (_, store) = Store::open_with(&disk, &options(plant));
    let mut store = store.expect("the disk is sound");
    let records: [&[u8]; 3] = [b"one", b"two", b"three"];
    let append = |payload: &[u8]| {
        let place = store.append(payload);
        store.settle();
        u64::from(place.offset())
    };
    let offsets = records.map(append).to_vec();
    (disk, offsets)
}

#[test]
fn synced_record_that_is_damaged_is_no_torn_tail() {
    let (disk, offsets) = three_records(Plant::None);
    for (n, offset) in offsets.iter().enumerate() {
        let image = disk.crash(0);
        image
            .flip(FIRST, (offset + HEADER) * 8 + 3)
            .expect("it is there");
        let (records, opened) = Store::open_with(&image, &options(Plant::None));
        assert_eq!(records.len(), n);
        let damages = damages(opened);
        assert_eq!(damages.list.len(), 1);
        assert_eq!(
            (damages.list[0].file.as_str(), damages.list[0].offset),
            (FIRST, *offset)
        );
        assert!(matches!(
            damages.list[0].what,
            Flaw::Record { next: Some(_) }
        ));
    }
}

#[test]
fn damaged_mark_is_cut_without_a_loss() {
    let (disk, offsets) = three_records(Plant::None);
    let mark = offsets[2] + HEADER + 8;
    disk.flip(FIRST, mark * 8 + 77).expect("it is there");
    let mut store = Store::open(&disk).expect("nothing of the caller's is damaged");
    assert_eq!(store.records.len(), 3);
    assert_eq!(
        store
            .recovery
            .torn_tail
            .as_ref()
            .expect("it is told")
            .offset,
        mark
    );
    // And the last record is vouched for again.
    store.settle();
    drop(store);
    disk.flip(FIRST, (offsets[2] + HEADER) * 8)
        .expect("it is there");
    damages(Store::open(&disk));
}

#[test]
fn segment_without_room_for_a_mark_is_sealed() {
    let disk = SimulatedDisk::new(9);
    let mut store = Store::new(&disk);
    let place = store.append(&[5; 4096 - 64 - 3 * 32]);
    store.settle();
    assert!(!store.journal.segments()[0].is_sealed);
    drop(store);
    // The mark took the last room. It is damaged, and so another is due.
    disk.flip(FIRST, (4096 - 64) * 8).expect("it is there");
    let mut store = Store::open(&disk).expect("nothing of the caller's is damaged");
    store.append(b"");
    store.settle();
    assert!(store.journal.segments()[0].is_sealed);
    drop(store);
    disk.flip(FIRST, u64::from(place.offset() + 32) * 8)
        .expect("it is there");
    damages(Store::open(&disk));
}

#[test]
fn without_syncs_no_record_vouches_for_others() {
    let disk = SimulatedDisk::new(3);
    let options = Options {
        sync: SyncMode::None,
        ..options(Plant::None)
    };
    let mut store = Store::open_with(&disk, &options)
        .1
        .expect("the disk is sound");
    let first = store.append(b"first");
    store.settle();
    store.append(b"second");
    store.settle();
    assert!(store.journal.synced() > first.end());
    disk.flip(FIRST, u64::from(first.offset() + 32) * 8)
        .expect("it is there");
    let store = Store::open(&disk).expect("the kernel may write in any order");
    assert!(store.records.is_empty());
}

/// A record that reached the disk behind one that did not, and then the same with other records: the
/// first must not be taken for one of the second life.
#[test]
fn old_octets_never_come_back_after_a_cut() {
    for plant in [Plant::None, Plant::TailKept] {
        let disk = SimulatedDisk::new(4);
        let mut store = Store::new(&disk);
        store.append(b"kept");
        store.settle();
        let lost = store.append(b"old one!");
        let stray = store.append(b"old two!");
        store.writer.turn();
        let mut octets = disk.contents(FIRST).expect("it is there");
        octets[lost.offset() as usize..stray.offset() as usize].fill(0);
        disk.put(FIRST, &octets);

        let store = Store::open_with(&disk, &options(plant))
            .1
            .expect("a torn tail");
        assert_eq!(store.payloads(), [b"kept"]);
        let mut store = store;
        let new = store.append(b"new one!");
        assert_eq!(new.position(), lost.position());
        store.writer.turn();
        drop(store);
        let store = Store::open_with(&disk, &options(plant)).1;
        let found = match &store {
            Ok(store) => store.payloads(),
            Err(error) => panic!("{error}"),
        };
        let is_sound = found == [&b"kept"[..], b"new one!"];
        assert_eq!(is_sound, plant == Plant::None, "{plant:?}");
    }
}

#[test]
fn newest_segment_without_octets_is_the_trace_of_a_crash() {
    let (disk, _) = three_records(Plant::None);
    assert!(disk.contents(SECOND).is_ok(), "one is made ahead");
    for octets in [&[][..], &[0; 100], &[0; 4096], &[7; 64], &[0; 9000]] {
        let image = disk.crash(0);
        image.put(SECOND, octets);
        let mut store = Store::open(&image).expect("nothing was in it");
        assert_eq!(store.records.len(), 3);
        assert_eq!(store.recovery.remade, [SECOND]);
        store.settle();
        for n in 0..100 {
            store.append(&[n; 200]);
        }
        store.settle();
        drop(store);
        assert_eq!(Store::open(&image).expect("all is well").records.len(), 103);
    }
}

#[test]
fn file_cut_behind_its_records_lost_nothing() {
    let (disk, offsets) = three_records(Plant::None);
    let whole = disk.contents(FIRST).expect("it is there");
    // The record, and the mark that vouches for it.
    let end = (offsets[2] + HEADER + 8 + HEADER) as usize;
    for length in 0..whole.len() {
        let image = disk.crash(0);
        image.put(FIRST, &whole[..length]);
        let opened = Store::open(&image);
        if length >= end + HEADER as usize {
            let store = opened.expect("there are zeros behind the last record");
            assert_eq!(
                (store.records.len(), store.recovery.remade),
                (3, vec![FIRST.to_owned()])
            );
            assert_eq!(
                image.contents(FIRST).expect("it is there").len(),
                whole.len()
            );
        } else {
            damages(opened);
        }
    }
}
