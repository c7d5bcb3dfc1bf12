//! The journal on the machine's disk, with its thread.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc;

use bytes::Bytes;
use ferrymq::store::{
    Journal, LockError, OpenError, Options, Part, Place, RealDisk, Recovery, RemoveError, State,
};

/// A directory of its own for each test.
fn directory(name: &str) -> PathBuf {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("store-{name}"));
    match fs::remove_dir_all(&directory) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => panic!("{error}"),
        _ => directory,
    }
}

type Records = Vec<(u8, Place, Vec<u8>)>;

fn open(directory: &Path, options: &Options) -> (Journal, Records, Recovery) {
    let mut records = Vec::new();
    let disk = Arc::new(RealDisk::open(directory).expect("nobody has it"));
    let opened = Journal::open(disk, options, 0x5707e, &mut |record, payload| {
        records.push((record.kind, record.place, payload.to_vec()));
        Ok(())
    });
    let (journal, recovery) = opened.expect("nothing is wrong with it");
    (journal, records, recovery)
}

fn small() -> Options {
    Options {
        segment_bytes: 4096,
        ..Options::default()
    }
}

/// Waits until all is on the disk up to `end`.
fn wait(journal: &Journal, end: u64) {
    let (told, tell) = mpsc::channel();
    journal.set_waker(Arc::new(move || {
        // The test may be past caring.
        let _ = told.send(());
    }));
    while journal.synced() < end {
        tell.recv().expect("the waker stays set");
    }
}

fn payload(n: usize) -> Vec<u8> {
    let length = n * 37 % 600;
    (0..length).map(|at| (n + at) as u8).collect()
}

#[test]
fn what_is_appended_is_there_when_opened_again() {
    let directory = directory("append");
    let (journal, records, recovery) = open(&directory, &small());
    assert!(recovery.is_new && records.is_empty());
    let mut places = Vec::new();
    for n in 0..100 {
        let payload = payload(n);
        let (head, tail) = payload.split_at(payload.len() / 3);
        let shared = Bytes::from(tail.to_vec());
        let parts = [Part::Octets(head), Part::Shared(&shared)];
        places.push(
            journal
                .append(n as u8, &parts)
                .expect("it is not too large"),
        );
    }
    for (n, place) in places.iter().enumerate() {
        let payload = payload(n);
        assert_eq!(journal.read_record(place).expect("it is there"), payload);
        let range = payload.len() / 3..payload.len();
        assert_eq!(
            journal.read(place, range.clone()).expect("it is there"),
            payload[range]
        );
    }
    wait(&journal, places[99].end());
    assert_eq!(journal.buffered_bytes(), 0);
    assert_eq!(journal.close(), State::Ok);
    drop(journal);

    let (journal, records, recovery) = open(&directory, &small());
    assert!(!recovery.is_new && recovery.torn_tail.is_none() && recovery.remade.is_empty());
    assert_eq!(recovery.store_id, 0x5707e);
    assert_eq!(records.len(), 100);
    assert!(recovery.segments > 5, "{recovery:?}");
    for (n, (kind, place, octets)) in records.iter().enumerate() {
        assert_eq!((usize::from(*kind), octets), (n, &payload(n)));
        assert_eq!(place.position(), places[n].position());
        assert_eq!(&journal.read_record(place).expect("it is there"), octets);
    }
}

#[test]
fn a_record_larger_than_a_segment_gets_one_of_its_own_size() {
    let directory = directory("large");
    let (journal, _, _) = open(&directory, &small());
    let large = Bytes::from(vec![7; 1_000_000]);
    let mut places = Vec::new();
    for n in 0..6 {
        let shared = [Part::Shared(&large)];
        let parts: &[Part<'_>] = if n % 2 == 0 {
            &shared
        } else {
            &[Part::Octets(b"small")]
        };
        places.push(journal.append(1, parts).expect("it is not too large"));
    }
    wait(&journal, places[5].end());
    assert_eq!(journal.read_record(&places[4]).expect("it is there"), large);
    drop(journal);
    let (_, records, _) = open(&directory, &small());
    let lengths: Vec<usize> = records.iter().map(|record| record.2.len()).collect();
    assert_eq!(lengths, [1_000_000, 5, 1_000_000, 5, 1_000_000, 5]);
}

#[test]
fn a_directory_that_is_open_is_refused_by_name_and_process() {
    let directory = directory("lock");
    let (journal, _, _) = open(&directory, &small());
    let Err(error) = RealDisk::open(&directory) else {
        panic!("it was opened twice");
    };
    assert!(
        matches!(error, LockError::Held { pid: Some(pid), .. } if pid == std::process::id()),
        "{error}"
    );
    assert!(error.to_string().contains("store-lock"), "{error}");
    drop(journal);
    open(&directory, &small());
}

#[test]
fn sealed_segments_are_read_and_removed() {
    let directory = directory("remove");
    let (journal, _, _) = open(&directory, &small());
    let place = |n| {
        journal
            .append(3, &[Part::Octets(&payload(n))])
            .expect("it is not too large")
    };
    let places: Vec<Place> = (0..100).map(place).collect();
    wait(&journal, places[99].end());
    let mut read = Vec::new();
    let visited = journal.read_segment(2, &mut |record, payload| {
        read.push((record.place.position(), payload.to_vec()));
        Ok(())
    });
    visited.expect("it is sealed");
    let of_second = |place: &&Place| place.segment().number() == 2;
    let expected: Vec<u64> = places
        .iter()
        .filter(of_second)
        .map(Place::position)
        .collect();
    assert_eq!(
        read.iter()
            .map(|(position, _)| *position)
            .collect::<Vec<_>>(),
        expected
    );

    let last = journal.segments().last().expect("there is one").number;
    let refused = journal.remove_segments(&[last]);
    assert!(matches!(refused, Err(RemoveError::NotSealed(number)) if number == last));
    journal.remove_segments(&[1, 3]).expect("they are sealed");
    assert!(journal.read_record(&places[0]).is_err());
    drop(journal);

    let (journal, records, _) = open(&directory, &small());
    let gone = |place: &Place| [1, 3].contains(&place.segment().number());
    let left: Vec<u64> = places
        .iter()
        .filter(|p| !gone(p))
        .map(Place::position)
        .collect();
    assert_eq!(
        records
            .iter()
            .map(|record| record.1.position())
            .collect::<Vec<_>>(),
        left
    );
    assert_eq!(journal.segments()[0].number, 2);
}

#[test]
fn the_caller_may_refuse_a_record() {
    let directory = directory("refused");
    let (journal, _, _) = open(&directory, &small());
    journal
        .append(1, &[Part::Octets(b"what is this")])
        .expect("it is not too large");
    drop(journal);
    let disk = Arc::new(RealDisk::open(&directory).expect("nobody has it"));
    let refuse = &mut |_, _: &[u8]| Err("not understood".to_owned());
    let Err(error) = Journal::open(disk, &small(), 1, refuse) else {
        panic!("it was opened");
    };
    assert!(matches!(error, OpenError::Refused { .. }));
    let text = "the record in 0000000000000001.journal at offset 64: not understood";
    assert_eq!(error.to_string(), text);
}

#[test]
fn threads_append_and_read_while_the_writer_works() {
    let directory = directory("threads");
    let (journal, _, _) = open(&directory, &small());
    let append = |thread: u8| {
        let journal = &journal;
        move || {
            let mut places = Vec::new();
            for n in 0..300 {
                let mut payload = vec![thread; 1 + n];
                payload[0] = n as u8;
                let parts = [Part::Octets(&payload)];
                places.push(journal.append(thread, &parts).expect("it is not too large"));
                let back = n / 2;
                let payload = journal.read_record(&places[back]).expect("it is there");
                assert_eq!((payload.len(), payload[0]), (back + 1, back as u8));
            }
            places.last().expect("there are some").end()
        }
    };
    let ends = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|thread| scope.spawn(append(thread))).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, u64>| thread.join();
        threads
            .into_iter()
            .map(join)
            .map(|end| end.expect("no assertion failed"))
            .max()
    });
    wait(&journal, ends.expect("there are some"));
    drop(journal);
    let (_, records, _) = open(&directory, &small());
    for thread in 0..4 {
        let of_thread = records.iter().filter(|(kind, _, _)| *kind == thread);
        let lengths: Vec<usize> = of_thread.map(|(_, _, payload)| payload.len()).collect();
        assert_eq!(lengths, (1..=300).collect::<Vec<_>>());
    }
}

#[test]
fn writer_that_ends_by_a_panic_leaves_a_failed_journal() {
    let directory = directory("panic");
    let (journal, _, _) = open(&directory, &small());
    journal.set_waker(Arc::new(|| panic!("a fault of the caller's")));
    journal
        .append(1, &[Part::Octets(b"one")])
        .expect("it is not too large");
    assert!(matches!(journal.close(), State::Failed(why) if why.contains("panic")));
    journal
        .append(1, &[Part::Octets(b"two")])
        .expect("it is not too large");
    assert_eq!(journal.buffered_bytes(), 0);
    drop(journal);
    let (_, records, _) = open(&directory, &small());
    assert_eq!(records.len(), 1);
}
