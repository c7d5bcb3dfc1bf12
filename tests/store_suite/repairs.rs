//! Check and repair: whatever happened to the files, what is left can be opened, and what is not is
//! set aside.

use ferrymq::store::disk::Disk;
use ferrymq::store::{Flaw, OpenError, SimulatedDisk, check, repair};

use crate::crashes::number_from;
use crate::seed::of_this_run;
use crate::seeded::Seeded;
use crate::store::{Recovered, Store};

fn name(number: u64) -> String {
    format!("{number:016x}.journal")
}

/// A store of some segments, some with records larger than usual.
fn some_segments(seed: u64) -> (SimulatedDisk, Vec<Recovered>) {
    let disk = SimulatedDisk::new(seed);
    let mut store = Store::new(&disk);
    let mut random = Seeded::new(seed);
    while store.journal.segments().len() < 8 {
        let length = *random.pick(&[500, 700, 1500, 9000]);
        store.append(&random.bytes(length));
        if random.once_in(2) {
            store.settle();
        }
    }
    store.settle();
    store
        .journal
        .remove_segments(&[1, 3])
        .expect("they are sealed");
    store.append(b"the last");
    if random.once_in(2) {
        store.writer.finish();
    }
    drop(store);
    // What a power cut leaves, too.
    let disk = disk.crash(seed);
    let records = Store::open(&disk.crash(0)).expect("all is well").records;
    (disk, records)
}

/// Something happens to a file: its name, and what.
fn happen(random: &mut Seeded, disk: &SimulatedDisk) -> (String, String) {
    let names = disk.list().expect("the disk is sound");
    let name = random.pick(&names).clone();
    let mut octets = disk.contents(&name).expect("it has a name");
    let length = octets.len().max(1);
    let at = random.below(length);
    match random.below(8) {
        0 => {
            disk.lose(&name).expect("it is there");
            let what = format!("{name} is lost");
            return (name, what);
        }
        1 => octets.truncate(at),
        2 => {
            let end = (at + random.below(6000)).min(octets.len());
            octets[at.min(end)..end].fill(0);
        }
        3 => octets.fill(0),
        4 => {
            let from = random.below(length);
            let end = (from + random.below(3000)).min(octets.len());
            let count = end
                .saturating_sub(from)
                .min(octets.len() - at.min(octets.len()));
            octets.copy_within(from..from + count, at);
        }
        5 => octets.extend(vec![random.octet(); random.below(9000)]),
        _ => {
            for octet in octets.iter_mut().skip(at).take(random.below(64)) {
                *octet ^= random.octet();
            }
        }
    }
    disk.put(&name, &octets);
    let what = format!("{name} is changed at {at}");
    (name, what)
}

/// Compares what is in a store with what was: all of it, or less, in order.
fn compare(found: &[Recovered], records: &[Recovered]) -> Result<(), String> {
    let mut rest = records.iter();
    for record in found {
        let same = |other: &&Recovered| {
            other.place.position() == record.place.position() && other.payload == record.payload
        };
        if !rest.any(|other| same(&other)) {
            return Err(format!("{:?} is none of the records", record.place));
        }
    }
    Ok(())
}

fn try_repair(seed: u64) -> Result<bool, String> {
    let (disk, records) = some_segments(seed % 16);
    let mut random = Seeded::new(seed);
    let count = 1 + random.below(3);
    let happened: Vec<_> = (0..count).map(|_| happen(&mut random, &disk)).collect();
    let is_untouched = |record: &&Recovered| {
        let file = name(record.place.segment().number());
        happened.iter().all(|(name, _)| *name != file)
    };
    let fail = |error: String| Err(format!("FERRYMQ_SEED={seed}: {happened:?}: {error}"));
    let report = match check(&disk, &mut |_| {}) {
        Ok(report) => report,
        Err(error) => return fail(error.to_string()),
    };
    let before = disk.crash(0);
    let is_damaged = !report.damages.is_empty();
    match Store::open(&before.crash(0)) {
        Ok(store) if is_damaged => return fail(format!("{report:?}, {:?}", store.recovery)),
        Err(OpenError::Damaged { .. }) if !is_damaged => return fail(format!("{report:?}")),
        _ => {}
    }
    let repaired = match repair(&disk, &mut |_| {}) {
        Ok(repaired) => repaired,
        // Not one header is left.
        Err(OpenError::Damaged { damages, .. }) if damages.list[0].what == Flaw::StoreFile => {
            return Ok(true);
        }
        Err(error) => return fail(error.to_string()),
    };
    if is_damaged == repaired.mended.is_empty() || !repaired.report.damages.is_empty() {
        return fail(format!("{report:?}, {repaired:?}"));
    }
    // What was changed is there as it was.
    for aside in &repaired.set_aside {
        let original = aside.strip_prefix("damaged-").expect("that is its name");
        let same = disk.contents(aside).ok() == before.contents(original).ok();
        if !same {
            return fail(format!("{aside} is not what {original} was"));
        }
    }
    let mut store = match Store::open(&disk) {
        Ok(store) => store,
        Err(error) => return fail(format!("after {repaired:?}: {error}")),
    };
    if let Err(error) = compare(&store.records, &records) {
        return fail(error);
    }
    let untouched = |records: &[Recovered]| records.iter().filter(is_untouched).count();
    if untouched(&store.records) < untouched(&records) {
        return fail(format!("records of other files were lost: {repaired:?}"));
    }
    // And it goes on.
    let count = store.records.len();
    for n in 0..30 {
        store.append(&[n; 300]);
    }
    store.settle();
    drop(store);
    match Store::open(&disk) {
        Ok(store) if store.records.len() == count + 30 => Ok(is_damaged),
        Ok(store) => fail(format!("{} of {} records", store.records.len(), count + 30)),
        Err(error) => fail(error.to_string()),
    }
}

#[test]
fn whatever_happened_to_the_files_what_is_left_can_be_opened_after_a_repair() {
    let first = of_this_run(2);
    let count = number_from("FERRYMQ_REPAIRS").unwrap_or(500);
    let mut damaged = 0;
    for seed in first..first + count {
        match try_repair(seed) {
            Ok(is_damaged) => damaged += usize::from(is_damaged),
            Err(error) => panic!("{error}"),
        }
    }
    println!("{damaged} of {count} were damaged");
}

/// Found by the test above: a gap took all of a segment that was open, and the seal of it stood behind
/// its end.
#[test]
fn a_gap_at_the_end_of_a_segment_leaves_room_for_its_seal() {
    try_repair(178_536_738_203_295)
        .map(drop)
        .expect("it goes on");
}

#[test]
fn sound_store_is_told_and_left_alone() {
    let (disk, records) = some_segments(1);
    let changes = disk.changes();
    let repaired = repair(&disk, &mut |_| {}).expect("nothing is wrong");
    assert!(repaired.mended.is_empty() && repaired.set_aside.is_empty());
    assert_eq!(
        repaired.report,
        check(&disk, &mut |_| {}).expect("nothing is wrong")
    );
    assert_eq!(repaired.report.records, records.len() as u64);
    let bytes: usize = records.iter().map(|record| record.payload.len()).sum();
    assert_eq!(repaired.report.bytes, bytes as u64);
    // Files are synced, nothing is written.
    use ferrymq::store::simulated::Call;
    assert_eq!(disk.calls(Call::Write) + disk.calls(Call::Remove), 0);
    assert!(disk.changes() > changes);
    let empty = SimulatedDisk::new(1);
    assert_eq!(
        check(&empty, &mut |_| {})
            .expect("nothing is wrong")
            .store_id,
        None
    );
}

#[test]
fn repair_loses_the_damaged_record_and_no_other() {
    let (disk, records) = some_segments(2);
    let lost = &records[records.len() / 2];
    let file = name(lost.place.segment().number());
    let at = u64::from(lost.place.offset());
    disk.flip(&file, (at + 32) * 8).expect("it is there");
    let mut told = Vec::new();
    let repaired = repair(&disk, &mut |progress| told.push(progress)).expect("it can be");
    assert_eq!(repaired.mended.len(), 1);
    let mended = &repaired.mended[0];
    assert_eq!(
        (&mended.file, mended.offset, mended.octets),
        (&file, at, lost.place.bytes())
    );
    assert_eq!(repaired.set_aside, [format!("damaged-{file}")]);
    assert_eq!(told.len(), told[0].of);
    let store = Store::open(&disk).expect("it was repaired");
    assert_eq!(store.recovery.gaps, 1);
    assert_eq!(store.records.len(), records.len() - 1);
    compare(&store.records, &records).expect("none is another");
    // A second time the first copy is kept.
    drop(store);
    disk.flip(&file, (at + 3) * 8).expect("it is there");
    let repaired = repair(&disk, &mut |_| {}).expect("it can be");
    assert_eq!(repaired.set_aside, [format!("damaged-{file}-1")]);
}

#[test]
fn what_leaves_no_gap_counts_as_set_aside_until_the_store_ends() {
    for end in [None, Some(3000)] {
        let (disk, _) = some_segments(2);
        let file = name(4);
        match end {
            None => disk.lose(&file).expect("it is there"),
            Some(at) => {
                let mut octets = disk.contents(&file).expect("it is there");
                octets.truncate(at);
                disk.put(&file, &octets);
            }
        }
        let repaired = repair(&disk, &mut |_| {}).expect("it can be");
        assert!(repaired.report.gaps > 0, "{end:?}: {repaired:?}");
        for _ in 0..2 {
            let store = Store::open(&disk).expect("it was repaired");
            assert_eq!(store.recovery.gaps, repaired.report.gaps, "{end:?}");
        }
    }
}

#[test]
fn repair_that_is_cut_short_can_be_done_again() {
    for step in 1..60 {
        let (disk, records) = some_segments(3);
        let mut random = Seeded::new(step);
        for file in [name(2), name(4), name(5)] {
            let mut octets = disk.contents(&file).expect("it is there");
            octets[random.below(2000)..][..100].fill(9);
            disk.put(&file, &octets);
        }
        let untouched = |record: &&Recovered| record.place.segment().number() > 5;
        disk.power_off_after(step);
        let done = repair(&disk, &mut |_| {});
        for seed in 0..5 {
            let image = disk.crash(seed);
            repair(&image, &mut |_| {}).unwrap_or_else(|error| panic!("{step}: {error}"));
            let store = Store::open(&image).expect("it was repaired");
            compare(&store.records, &records).expect("none is another");
            let left = store.records.iter().filter(untouched).count();
            assert_eq!(left, records.iter().filter(untouched).count());
        }
        if done.is_ok() {
            return;
        }
    }
    panic!("a repair takes more steps than were tried");
}

/// What a cut file leaves of a record that was synced is no crash's: after the repair nothing says
/// that nobody was told of it.
#[test]
fn rest_of_a_record_in_a_cut_file_becomes_a_gap() {
    let disk = SimulatedDisk::new(7);
    let mut store = Store::new(&disk);
    for _ in 0..3 {
        store.append(&[0x5a; 700]);
        store.settle();
    }
    let last = store.append(&[0x5b; 700]);
    store.settle();
    store.writer.finish();
    drop(store);
    let file = name(last.segment().number());
    let octets = disk.contents(&file).expect("it is there");
    disk.put(&file, &octets[..last.offset() as usize + 400]);
    let found = check(&disk, &mut |_| {}).expect("it can be read");
    assert!(!found.damages.is_empty());
    assert_eq!(
        found.torn_tail, None,
        "nothing is cut while there is damage"
    );
    let repaired = repair(&disk, &mut |_| {}).expect("it can be");
    let is_told = |mended: &ferrymq::store::Mended| mended.offset == u64::from(last.offset());
    assert!(repaired.mended.iter().any(is_told), "{repaired:?}");
    let store = Store::open(&disk).expect("it was repaired");
    assert_eq!(store.recovery.torn_tail, None);
    assert_eq!(store.recovery.gaps, 1);
    assert_eq!(store.records.len(), 3);
}
