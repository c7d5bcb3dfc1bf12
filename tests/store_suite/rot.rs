//! Damage: told, and never delivered.

use ferrymq::store::disk::Disk;
use ferrymq::store::{Flaw, OpenError, Plant, SimulatedDisk};

use crate::crashes::number_from;
use crate::seeded::Seeded;
use crate::store::{Recovered, STORE_ID, Store, options};

const STORE: &str = "store";

fn name(number: u64) -> String {
    format!("{number:016x}.journal")
}

/// A closed store of some segments, one of them removed, and what is in it.
fn some_segments() -> (SimulatedDisk, Vec<Recovered>) {
    let disk = SimulatedDisk::new(5);
    let mut store = Store::new(&disk);
    let mut random = Seeded::new(6);
    while store.journal.segments().len() < 5 {
        store.append(&random.bytes(700));
        store.writer.turn();
    }
    store
        .journal
        .remove_segments(&[1, 3])
        .expect("they are sealed");
    store.append(b"the last");
    store.writer.finish();
    drop(store);
    let store = Store::open(&disk).expect("all is well");
    assert_eq!(store.recovery.torn_tail, None);
    let records = store.records.clone();
    (disk, records)
}

/// Opens a damaged store. What is handed over must be a beginning of what was in it, even when
/// opening fails. Returns whether it was opened with all.
fn open_damaged(
    image: &SimulatedDisk,
    records: &[Recovered],
    plant: Plant,
) -> Result<bool, String> {
    let (found, opened) = Store::open_with(image, &options(plant));
    let same = |(a, b): (&Recovered, &Recovered)| {
        let is_same_place = a.place.position() == b.place.position();
        is_same_place && (a.kind, &a.payload) == (b.kind, &b.payload)
    };
    if found.len() > records.len() || !found.iter().zip(records).all(same) {
        return Err("records were handed over that are none".to_owned());
    }
    match opened {
        Err(OpenError::Damaged { .. } | OpenError::Version { .. }) => Ok(false),
        Err(error) => Err(error.to_string()),
        Ok(_) if found.len() < records.len() => Err("records were lost".to_owned()),
        Ok(store) => {
            let is_told = store.recovery.torn_tail.is_some() || !store.recovery.remade.is_empty();
            is_told
                .then_some(true)
                .ok_or_else(|| "nothing was told".to_owned())
        }
    }
}

/// Flips bits one at a time: of each octet `per_octet` of them.
fn flip_each(plant: Plant, per_octet: u64) -> Result<u64, String> {
    let (disk, records) = some_segments();
    let mut flips = 0;
    for file in disk.list().expect("the disk is sound") {
        let length = disk.contents(&file).expect("it is there").len() as u64;
        for octet in 0..length {
            for n in 0..per_octet {
                let bit = octet * 8 + (octet + n) % 8;
                let image = disk.crash(0);
                image.flip(&file, bit).expect("it is there");
                let opened = open_damaged(&image, &records, plant);
                opened.map_err(|error| format!("{file}, bit {bit}: {error}"))?;
                flips += 1;
            }
        }
    }
    Ok(flips)
}

#[test]
fn bit_flipped_anywhere_is_told_and_not_delivered() {
    let per_octet = number_from("FERRYMQ_BITS_PER_OCTET").unwrap_or(1);
    match flip_each(Plant::None, per_octet) {
        Ok(flips) => println!("{flips} bits"),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn planted_check_ignored_is_found_by_a_flipped_bit() {
    println!(
        "{}",
        flip_each(Plant::CheckIgnored, 1).expect_err("it is found")
    );
}

#[test]
fn planted_mark_left_out_is_found_by_a_flipped_bit() {
    let disk = SimulatedDisk::new(7);
    let mut store = Store::open_with(&disk, &options(Plant::MarkLeftOut))
        .1
        .expect("it is sound");
    let place = store.append(b"vouched for by nothing");
    store.settle();
    let records = vec![Recovered {
        kind: 1,
        place: place.clone(),
        payload: b"vouched for by nothing".to_vec(),
    }];
    drop(store);
    disk.flip(&name(1), u64::from(place.offset()) * 8 + 300)
        .expect("it is there");
    let found = open_damaged(&disk, &records, Plant::None);
    assert_eq!(found, Err("records were lost".to_owned()));
}

#[test]
fn file_cut_anywhere_is_told_and_loses_nothing_silently() {
    let (disk, records) = some_segments();
    for file in disk.list().expect("the disk is sound") {
        let octets = disk.contents(&file).expect("it is there");
        for length in (0..octets.len()).step_by(3) {
            let image = disk.crash(0);
            image.put(&file, &octets[..length]);
            let opened = open_damaged(&image, &records, Plant::None);
            opened.unwrap_or_else(|error| panic!("{file} cut to {length}: {error}"));
        }
    }
}

/// What is wrong with a store in which this was changed.
fn flaws(change: impl FnOnce(&SimulatedDisk)) -> Vec<(String, Flaw)> {
    let (disk, records) = some_segments();
    change(&disk);
    assert_eq!(open_damaged(&disk, &records, Plant::None), Ok(false));
    match Store::open(&disk) {
        Err(OpenError::Damaged { damages, .. }) => {
            let flaw = |damage: ferrymq::store::Damage| (damage.file, damage.what);
            damages.list.into_iter().map(flaw).collect()
        }
        _ => panic!("it cannot be opened"),
    }
}

#[test]
fn zeroed_first_block_is_told() {
    let zeroed = |number| {
        flaws(|disk| {
            let mut octets = disk.contents(&name(number)).expect("it is there");
            octets[..4096].fill(0);
            disk.put(&name(number), &octets);
        })
    };
    for number in [2, 4, 5] {
        assert_eq!(zeroed(number)[0], (name(number), Flaw::SegmentHeader));
    }
}

#[test]
fn segment_that_is_missing_is_told() {
    for number in [2, 4] {
        let found = flaws(|disk| disk.lose(&name(number)).expect("it is there"));
        assert_eq!(found[0], (name(number), Flaw::SegmentMissing));
    }
    // The reserve may be missing, the one that is written to may not.
    let found = flaws(|disk| {
        disk.lose(&name(6)).expect("it is there");
        disk.lose(&name(5)).expect("it is there");
    });
    assert_eq!(found, [(name(5), Flaw::SegmentMissing)]);
    let all = flaws(|disk| {
        for number in [2, 4, 5, 6] {
            disk.lose(&name(number)).expect("it is there");
        }
    });
    assert_eq!(all, [(name(2), Flaw::SegmentMissing)]);
}

#[test]
fn store_file_that_is_missing_is_told() {
    let found = flaws(|disk| disk.lose(STORE).expect("it is there"));
    assert_eq!(found, [(STORE.to_owned(), Flaw::StoreFile)]);
    let found = flaws(|disk| disk.put(STORE, &[]));
    assert_eq!(found, [(STORE.to_owned(), Flaw::StoreFile)]);
}

#[test]
fn segment_of_another_store_or_number_is_told() {
    let found = flaws(|disk| {
        let octets = disk.contents(&name(2)).expect("it is there");
        disk.put(&name(4), &octets);
    });
    let foreign = |field, found, expected| Flaw::SegmentForeign {
        field,
        found,
        expected,
    };
    assert_eq!(found[0], (name(4), foreign("number", 2, 4)));
    let found = flaws(|disk| {
        let other = SimulatedDisk::new(8);
        let other_id = STORE_ID + 1;
        let mut options = options(Plant::None);
        options.segment_bytes = 8192;
        let opened = ferrymq::store::Journal::open(
            std::sync::Arc::new(other.clone()),
            &options,
            other_id,
            &mut |_, _| Ok(()),
        );
        drop(opened.expect("the disk is sound"));
        disk.put(&name(2), &other.contents(&name(1)).expect("it is there"));
    });
    assert_eq!(
        found[0],
        (name(2), foreign("store id", STORE_ID + 1, STORE_ID))
    );
}

#[test]
fn file_that_is_none_of_the_segments_is_told() {
    let found = flaws(|disk| disk.put(&name(9), &[]));
    assert_eq!(found.last(), Some(&(name(9), Flaw::SegmentHeader)));
    // Names that are none of ours are left alone.
    let (disk, records) = some_segments();
    disk.put("notes.txt", b"mine");
    disk.put("10.journal", b"mine");
    disk.put("damaged-0000000000000001.journal", b"mine");
    assert_eq!(
        Store::open(&disk).expect("all is well").records.len(),
        records.len()
    );
}

/// A good record at another place, where a record may begin.
fn misplace(plant: Plant) -> Result<bool, String> {
    let (disk, records) = some_segments();
    let last = records.last().expect("there are some");
    let mut octets = disk.contents(&name(5)).expect("it is there");
    let start = last.place.offset() as usize;
    let end = start + last.place.bytes() as usize;
    // Over the mark, which is the last record.
    octets.copy_within(start..end, end);
    disk.put(&name(5), &octets);
    open_damaged(&disk, &records, plant)
}

#[test]
fn record_at_another_place_is_not_one() {
    assert_eq!(misplace(Plant::None), Ok(true));
    let found = misplace(Plant::PositionIgnored);
    assert_eq!(
        found,
        Err("records were handed over that are none".to_owned())
    );
}

/// The file that a store is refused for whose octet 11, the version, is another, with a check that
/// holds: over `end` octets beside its own four, which begin at 60.
fn newer(file: &str, end: usize) -> String {
    let (disk, _) = some_segments();
    let mut octets = disk.contents(file).expect("it is there");
    octets[11] += 1;
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&octets[..60]);
    hasher.update(&octets[64..end]);
    octets[60..64].copy_from_slice(&hasher.finalize().to_be_bytes());
    disk.put(file, &octets);
    match Store::open(&disk) {
        Err(OpenError::Version { file, version: 2 }) => file,
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("it was opened"),
    }
}

#[test]
fn newer_version_is_told_as_such() {
    assert_eq!(newer(&name(4), 64), name(4));
    assert_eq!(newer(STORE, 4096), STORE);
}

#[test]
fn record_of_an_unknown_kind_of_our_own_is_refused() {
    let (disk, _) = some_segments();
    let mut octets = disk.contents(&name(2)).expect("it is there");
    let end = 64 + 32 + (u32::from_be_bytes([0, 0, octets[66], octets[67]]) as usize);
    octets[64 + 4] = 0xf7;
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&STORE_ID.to_be_bytes());
    hasher.update(&octets[64..64 + 28]);
    hasher.update(&octets[64 + 32..end.next_multiple_of(8)]);
    octets[64 + 28..64 + 32].copy_from_slice(&hasher.finalize().to_be_bytes());
    disk.put(&name(2), &octets);
    let Err(error) = Store::open(&disk) else {
        panic!("it was opened");
    };
    let text = "the record in 0000000000000002.journal at offset 64: kind 0xf7 is not known";
    assert_eq!(error.to_string(), text);
}
