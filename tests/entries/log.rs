//! One member's log by itself.

use std::sync::Arc;

use ferrymq::broker::Core;
use ferrymq::cluster::entry_log::{self, EntryLog, LogError, Plant, Voter};
use ferrymq::cluster::lockstep::dice::Dice;
use ferrymq::store::{self, Disk, Journal, OpenError, Part, SimulatedDisk, Turn, Writer};

use super::author::{Author, Entry, MEMBER, publish};
use super::group::{PIECE_BYTES, log_options};
use super::seed;

/// The wall-clock time of the n-th entry.
fn wall(index: u64) -> u64 {
    5000 + 10 * index
}

struct Open {
    log: EntryLog,
    writer: Writer,
}

fn try_open(disk: &SimulatedDisk, plant: Plant) -> Result<Open, LogError> {
    let disk = Arc::new(disk.clone());
    let ((log, _), writer) = EntryLog::open_without_thread(disk, &log_options(plant), 7)?;
    Ok(Open { log, writer })
}

fn open(disk: &SimulatedDisk) -> Open {
    try_open(disk, Plant::None).unwrap_or_else(|error| panic!("{error}"))
}

/// A new log that begins with the state that `author` begins with.
fn begun(disk: &SimulatedDisk, author: &Author) -> Open {
    let mut log = open(disk);
    let state = author.core.freeze();
    let installed = log.log.install(wall(0), author.core.index(), state);
    installed.expect("it is empty");
    log
}

impl Open {
    fn append(&mut self, (index, batch): &Entry) {
        let appended = self.log.append(wall(*index), *index, batch);
        appended.expect("it is the next");
    }

    /// Appends some entries that publish so many octets each.
    fn publish(&mut self, author: &mut Author, count: usize, bytes: usize) {
        for n in 0..count {
            let body = vec![n as u8; bytes];
            let entry = author.ask(publish("q", &body));
            self.append(&entry);
        }
    }

    fn snapshot(&mut self, author: &Author) {
        let (index, state) = (author.core.index(), author.core.freeze());
        let taken = self.log.take_snapshot(index, state);
        taken.expect("the log has come so far");
    }

    fn write(&mut self) {
        while self.writer.turn() == Turn::Worked {}
    }

    fn assert_gives(&self, core: &Core) {
        let index = self.log.last_index();
        assert_eq!(index, core.index());
        let replayed = self.log.replay::<Core>(index);
        let replayed = replayed.unwrap_or_else(|why| panic!("{why}"));
        assert_eq!(replayed.digest(), core.digest());
    }
}

#[test]
fn a_state_and_the_entries_behind_it_give_the_core_again() {
    let disk = SimulatedDisk::new(1);
    let mut author = Author::new();
    let mut log = begun(&disk, &author);
    for entry in author.begin("q") {
        log.append(&entry);
    }
    log.publish(&mut author, 30, 100);
    log.assert_gives(&author.core);
    assert_eq!(log.log.synced_index(), 0, "nothing is on the disk yet");
    log.write();
    assert_eq!(log.log.synced_index(), author.core.index());
    drop(log);

    let mut log = open(&disk);
    assert_eq!((log.log.first_index(), log.log.last_index()), (1, 32));
    assert_eq!(log.log.last_wall(), Some(wall(32)));
    log.assert_gives(&author.core);
    log.snapshot(&author);
    assert_eq!(
        log.log.first_index(),
        33,
        "the snapshot has what was before"
    );
    log.publish(&mut author, 3, 100);
    log.write();
    let log = open(&disk);
    assert_eq!((log.log.snapshot_index(), log.log.last_index()), (32, 35));
    log.assert_gives(&author.core);
}

#[test]
fn entries_are_appended_and_read_without_a_gap() {
    let disk = SimulatedDisk::new(2);
    let mut author = Author::new();
    let mut log = begun(&disk, &author);
    let entries = author.begin("q");
    assert!(log.log.append(0, 2, &entries[1].1).is_err());
    log.append(&entries[0]);
    assert!(log.log.append(0, 1, &entries[0].1).is_err());
    assert_eq!(log.log.entry(1).expect("it is there").1, entries[0].1);
    assert!(log.log.entry(2).is_err() && log.log.entry(0).is_err());
}

/// What is told of a journal with these records.
fn told_of(records: &[(u8, Vec<u8>)]) -> String {
    let disk = SimulatedDisk::new(3);
    let options = log_options(Plant::None);
    let opened =
        Journal::open_without_thread(Arc::new(disk.clone()), &options.journal, 7, &mut |_, _| {
            Ok(())
        });
    let (journal, mut writer, _) = opened.expect("the disk is sound");
    for (kind, payload) in records {
        let appended = journal.append(*kind, &[Part::Octets(payload)]);
        appended.expect("it is small");
    }
    while writer.turn() == Turn::Worked {}
    match try_open(&disk, Plant::None) {
        Ok(log) => {
            let last = log.log.last_index();
            let replayed = log.log.replay::<Core>(last);
            format!("opened: {:?}", replayed.map(|core| core.index()))
        }
        Err(error) => error.to_string(),
    }
}

fn entry_payload((_, batch): &Entry) -> Vec<u8> {
    [&wall(1).to_be_bytes(), batch.as_slice()].concat()
}

#[test]
fn what_makes_no_sense_is_told_with_its_place() {
    let mut author = Author::new();
    let entries: Vec<Vec<u8>> = author.begin("q").iter().map(entry_payload).collect();
    let entry = |n: usize| (2, entries[n].clone());
    let place = "the record in 0000000000000001.journal at offset";

    let told = told_of(&[entry(0), entry(0)]);
    assert!(
        told.starts_with(place) && told.ends_with("entry 1 comes behind entry 1"),
        "{told}"
    );
    let told = told_of(&[entry(1)]);
    assert!(
        told.contains("lacks entries 1 to 1, and no snapshot"),
        "{told}"
    );
    let told = told_of(&[(9, Vec::new())]);
    assert!(
        told.starts_with(place) && told.contains("unknown kind 9"),
        "{told}"
    );
    let told = told_of(&[(2, vec![0; 17])]);
    assert!(told.contains("u64 cannot be read at offset 10"), "{told}");
    let told = told_of(&[(4, vec![0; 9])]);
    assert!(
        told.contains("the end of a record cannot be read at offset 8"),
        "{told}"
    );
    let voter = |member: u8| (5, [vec![0; 15], vec![member]].concat());
    let told = told_of(&[voter(1), voter(2)]);
    assert!(
        told.contains("member 1") && told.contains("member 2"),
        "{told}"
    );
    let told = told_of(&[entry(0)]);
    assert!(told.contains("no snapshot to begin with"), "{told}");
}

#[test]
fn whatever_stands_in_the_journal_no_core_is_made_of_it_by_a_panic() {
    let mut dice = Dice::new(seed::of_this_run(61));
    let mut author = Author::new();
    let disk = SimulatedDisk::new(4);
    let mut log = begun(&disk, &author);
    let entries = author.begin("q");
    entries.iter().for_each(|entry| log.append(entry));
    log.log
        .vote(Voter {
            group: 1,
            member: MEMBER,
        })
        .expect("it is the first");
    log.snapshot(&author);
    log.write();
    drop(log);
    let mut records = Vec::new();
    let options = log_options(Plant::None);
    let mut visit = |at: store::RecordAt, payload: &[u8]| {
        records.push((at.kind, payload.to_vec()));
        Ok(())
    };
    let disk = Arc::new(disk);
    Journal::open_without_thread(disk, &options.journal, 7, &mut visit).expect("it is sound");
    let mut opened = 0;
    for _ in 0..300 {
        let mut some = records.clone();
        for _ in 0..=dice.below(2) {
            let at = dice.below(some.len() as u64) as usize;
            match dice.below(5) {
                0 => drop(some.remove(at)),
                1 => {
                    let record = some[at].clone();
                    some.push(record);
                }
                2 => some[at].0 = 1 + dice.below(7) as u8,
                _ if some[at].1.is_empty() => {}
                3 => {
                    let length = dice.below(some[at].1.len() as u64);
                    some[at].1.truncate(length as usize);
                }
                _ => {
                    let bit = dice.below(8 * some[at].1.len().min(60) as u64);
                    some[at].1[bit as usize / 8] ^= 1 << (bit % 8);
                }
            }
            if some.is_empty() {
                break;
            }
        }
        opened += usize::from(told_of(&some).starts_with("opened"));
    }
    assert!((1..300).contains(&opened), "{opened} of 300 were opened");
}

/// A log with a state of several pieces behind the entries.
fn with_large_snapshot(disk: &SimulatedDisk) -> (Open, Author) {
    let mut author = Author::new();
    let mut log = begun(disk, &author);
    for entry in author.begin("q") {
        log.append(&entry);
    }
    log.publish(&mut author, 25, PIECE_BYTES / 8);
    (log, author)
}

#[test]
fn a_snapshot_that_was_cut_off_is_ignored() {
    for changes in 0..40 {
        let disk = SimulatedDisk::new(changes);
        let (mut log, mut author) = with_large_snapshot(&disk);
        log.write();
        disk.power_off_after(changes);
        log.snapshot(&author);
        log.write();
        let is_whole = log.log.is_snapshot_synced();
        let image = disk.crash(changes);
        let mut log = open(&image);
        if is_whole {
            assert_eq!(log.log.snapshot_index(), 27, "after {changes} changes");
        }
        log.assert_gives(&author.core);
        // The next one is not taken for its end.
        log.publish(&mut author, 2, 10);
        log.snapshot(&author);
        log.publish(&mut author, 1, 10);
        log.write();
        let log = open(&image);
        assert_eq!((log.log.snapshot_index(), log.log.last_index()), (29, 30));
        log.assert_gives(&author.core);
        if changes > 10 && is_whole {
            return;
        }
    }
    panic!("no snapshot was ever whole");
}

#[test]
fn segments_are_given_back_when_a_snapshot_that_is_on_the_disk_has_what_was_in_them() {
    let disk = SimulatedDisk::new(5);
    let mut author = Author::new();
    let mut log = begun(&disk, &author);
    log.log
        .vote(Voter {
            group: 1,
            member: MEMBER,
        })
        .expect("it is the first");
    for entry in author.begin("q") {
        log.append(&entry);
    }
    log.publish(&mut author, 200, 1000);
    log.write();
    assert!(log.log.superseded().is_empty());
    log.snapshot(&author);
    assert!(log.log.superseded().is_empty(), "it is not on the disk");
    log.publish(&mut author, 5, 100);
    log.write();
    let segments = log.log.superseded();
    assert!(segments.len() > 5 && segments[0] == 1, "{segments:?}");

    // The power goes at any step of it.
    for changes in 0.. {
        let image = disk.crash(changes);
        let mut log = open(&image);
        image.power_off_after(changes);
        let segments = log.log.superseded();
        let given = entry_log::give_back(log.log.journal(), &segments);
        segments.iter().for_each(|segment| log.log.forget(*segment));
        let left = image.crash(changes);
        let mut after = open(&left);
        after.assert_gives(&author.core);
        assert!(after.log.voter().is_some(), "it still counts");
        after
            .log
            .append(0, author.core.index() + 1, &[0; 60])
            .expect("it goes on");
        if given.is_ok() {
            assert!(open(&left).log.superseded().is_empty());
            break;
        }
    }
}

#[test]
fn entries_are_taken_back() {
    let disk = SimulatedDisk::new(6);
    let mut author = Author::new();
    let mut log = begun(&disk, &author);
    for entry in author.begin("q") {
        log.append(&entry);
    }
    log.publish(&mut author, 4, 10);
    let kept = Author::of(author.core.clone());
    log.publish(&mut author, 3, 10);
    log.write();
    assert_eq!(log.log.synced_index(), 9);

    log.log.truncate_after(6).expect("no snapshot has them");
    assert_eq!((log.log.last_index(), log.log.synced_index()), (6, 6));
    log.assert_gives(&kept.core);
    let not_synced = disk.crash(0);
    log.write();
    open(&disk).assert_gives(&kept.core);
    assert!([6, 9].contains(&open(&not_synced).log.last_index()));

    // Others come in their place, and go in their turn.
    let mut other = Author::of(kept.core.clone());
    log.publish(&mut other, 5, 20);
    log.log.truncate_after(9).expect("no snapshot has them");
    log.write();
    let log = open(&disk);
    assert_eq!(log.log.last_index(), 9);
    let replayed = log.log.replay::<Core>(9).expect("they are there");
    assert_eq!(replayed.index(), 9);
    let (_, batch) = log.log.entry(7).expect("it is there");
    let is_later = batch.windows(20).any(|run| run == [0; 20]);
    assert!(is_later, "the one that came in its place");
    assert!(try_open(&disk, Plant::TruncationIgnored).is_err());
}

#[test]
fn what_a_snapshot_has_is_not_taken_back() {
    let disk = SimulatedDisk::new(7);
    let mut author = Author::new();
    let mut log = begun(&disk, &author);
    for entry in author.begin("q") {
        log.append(&entry);
    }
    log.snapshot(&author);
    assert!(log.log.truncate_after(1).is_err());
    log.log.truncate_after(2).expect("nothing is behind it");
    log.publish(&mut author, 1, 10);
    log.log
        .truncate_after(2)
        .expect("the snapshot does not have it");
    log.write();
    assert_eq!(open(&disk).log.last_index(), 2);
    assert!(
        open(&disk)
            .log
            .take_snapshot(2, author.core.freeze())
            .is_err()
    );
}

#[test]
fn a_snapshot_is_due_when_as_much_was_written_since_the_last_as_that_had() {
    let disk = SimulatedDisk::new(8);
    let mut author = Author::new();
    let mut log = begun(&disk, &author);
    for entry in author.begin("q") {
        log.append(&entry);
    }
    assert!(!log.log.is_snapshot_due());
    log.publish(&mut author, 45, 1000);
    assert!(log.log.is_snapshot_due());
    log.publish(&mut author, 55, 1000);
    log.snapshot(&author);
    log.publish(&mut author, 50, 1000);
    assert!(!log.log.is_snapshot_due(), "the last had 100 messages");
    log.publish(&mut author, 60, 1000);
    assert!(log.log.is_snapshot_due());
    log.write();
    assert!(open(&disk).log.is_snapshot_due(), "also after a start");
}

#[test]
fn damage_is_told_and_nothing_is_changed() {
    let disk = SimulatedDisk::new(9);
    let mut author = Author::new();
    let mut log = begun(&disk, &author);
    for entry in author.begin("q") {
        log.append(&entry);
    }
    log.publish(&mut author, 20, 100);
    log.write();
    drop(log);
    let name = "0000000000000001.journal";
    let before = disk.contents(name).expect("it is there");
    disk.flip(name, 8 * 2000).expect("it is there");
    let damaged = disk.contents(name).expect("it is there");
    assert_ne!(before, damaged);
    match try_open(&disk, Plant::None) {
        Err(LogError::Journal(OpenError::Damaged { damages, .. })) => {
            assert_eq!(damages.list[0].file, name);
        }
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("it was not found"),
    }
    assert_eq!(disk.contents(name).expect("it is there"), damaged);
    assert_eq!(disk.list().expect("it can be read").len(), 3);
}
