//! Damage to what is on the disk: the broker starts with all that was confirmed, or does not start
//! and says where. It never panics and never delivers other octets than it was given.

use std::fs;
use std::path::{Path, PathBuf};

use ferrymq::wire::{Command, ExchangeDelete, QueueDelete};

use crate::durable_support::*;
use crate::server_support::{Broker, Ended};

/// Octets of a segment's header, and of a record without payload: a mark or a seal.
const HEADER_BYTES: usize = 64;
const MARK_BYTES: usize = 32;

/// Small files, so that there are several.
const OPTIONS: [&str; 2] = ["--journal-file-size", "16k"];

fn sent() -> Vec<Vec<u8>> {
    let body = |number: usize| format!("{number:0>900}").into_bytes();
    (0..40).map(body).collect()
}

/// A store with messages in several segments, and the broker ended as it was told.
async fn store() -> Directory {
    let directory = Directory::new();
    let mut broker = start(&directory, &OPTIONS);
    let session = session(&broker).await;
    declare(&session, durable_queue("q")).await;
    for body in sent() {
        publish_all(&session, "q", &[body]).await;
    }
    stop(&mut broker, "TERM");
    assert!(with_records(&directory).len() >= 3);
    directory
}

fn read(path: &Path) -> Vec<u8> {
    fs::read(path).expect("it is there")
}

fn write(path: &Path, octets: &[u8]) {
    fs::write(path, octets).expect("it is ours");
}

/// Where the last octet that is not zero ends.
fn used(octets: &[u8]) -> usize {
    let last = octets.iter().rposition(|octet| *octet != 0);
    last.map_or(0, |at| at + 1)
}

/// The segments that have records; one is made ahead.
fn with_records(directory: &Directory) -> Vec<PathBuf> {
    let mut segments = directory.segments();
    segments.retain(|path| used(&read(path)) > HEADER_BYTES);
    segments
}

fn open(directory: &Directory) -> Result<Broker, Ended> {
    let mut options = vec!["--data-dir", directory.text()];
    options.extend(OPTIONS);
    Broker::start_under(&[], &options)
}

/// What the broker has of the queue, or the line with which it refused to start.
async fn outcome(directory: &Directory) -> Result<Vec<Got>, String> {
    let mut broker = match open(directory) {
        Ok(broker) => broker,
        Err(ended) => {
            let log = ended.log.join("\n");
            assert_eq!(ended.status.code(), Some(1), "{log}");
            assert!(!log.contains("panicked"), "{log}");
            let line = ended.log.iter().find(|line| line.contains("critical"));
            return Err(line
                .unwrap_or_else(|| panic!("no such line: {log}"))
                .clone());
        }
    };
    let session = session(&broker).await;
    let found = browse(&session, "q").await;
    let log = broker.log().join("\n");
    assert!(!log.contains("panicked"), "{log}");
    stop(&mut broker, "TERM");
    Ok(found)
}

fn name(path: &Path) -> String {
    let name = path.file_name().expect("a file");
    name.to_string_lossy().into_owned()
}

#[tokio::test]
async fn a_segment_that_begins_with_zeros_stops_the_start() {
    let store = store().await;
    for at in 0..with_records(&store).len() {
        let copy = store.copy();
        let segment = with_records(&copy).remove(at);
        let mut octets = read(&segment);
        octets[..4096].fill(0);
        write(&segment, &octets);
        let line = outcome(&copy).await.expect_err("octets are missing");
        let expected = format!("{} at offset 0: ", name(&segment));
        assert!(line.contains(&expected), "{line}");
        assert!(line.contains(copy.text()), "{line}");
        assert!(read(&segment) == octets, "nothing was changed");
    }
    assert!(outcome(&store).await == Ok(redelivered(&sent())));
}

#[tokio::test]
async fn a_flipped_bit_alters_no_message_and_loses_none() {
    let store = store().await;
    let (mut refused, mut whole) = (0, 0);
    for segment in with_records(&store) {
        let octets = read(&segment);
        let used = used(&octets);
        // In the header, in records, in the seal or mark, and in the zeros behind.
        let mut places: Vec<usize> = (0..8).map(|n| n * used / 8 + n).collect();
        places.extend([used - 5, (used + octets.len()) / 2]);
        for at in places.into_iter().filter(|at| *at < octets.len()) {
            let copy = store.copy();
            let mut flipped = octets.clone();
            flipped[at] ^= 1 << (at % 8);
            write(&copy.journal().join(name(&segment)), &flipped);
            match outcome(&copy).await {
                Ok(found) => {
                    whole += 1;
                    assert!(found == redelivered(&sent()), "octet {at} of {segment:?}");
                }
                Err(line) => {
                    refused += 1;
                    let expected = format!("{} at offset ", name(&segment));
                    assert!(line.contains(&expected), "{line}");
                }
            }
        }
    }
    // Both happen: some octets say nothing.
    assert!(
        refused > 10 && whole > 0,
        "{refused} refused, {whole} whole"
    );
}

#[tokio::test]
async fn a_lost_end_of_the_last_file_is_made_good_or_told() {
    let store = store().await;
    let segments = with_records(&store);
    let last = segments.last().expect("there is one");
    let octets = read(last);
    // Where the next record would begin there must be zeros: else nobody knows that there was none.
    let enough = used(&octets) + MARK_BYTES;
    assert!(enough < octets.len(), "the last segment has room");
    let (mut whole, mut told) = (0, 0);
    let cuts = (1..4096).step_by(512).chain([4095]);
    for length in cuts.map(|cut| octets.len() - cut).chain([
        enough,
        enough - 1,
        enough - MARK_BYTES,
        enough - 700,
    ]) {
        let copy = store.copy();
        write(&copy.journal().join(name(last)), &octets[..length]);
        let outcome = outcome(&copy).await;
        if length >= enough {
            assert!(outcome == Ok(redelivered(&sent())), "{length}");
            whole += 1;
        } else {
            let line = outcome.expect_err("octets may be missing");
            assert!(line.contains(&name(last)), "{line}");
            told += 1;
        }
    }
    assert!(whole > 3 && told > 2, "{whole} whole, {told} told");
}

#[tokio::test]
async fn a_torn_tail_is_cut_with_a_warning() {
    let store = store().await;
    let segments = with_records(&store);
    let last = segments.last().expect("there is one");
    let octets = read(last);
    let used = used(&octets);
    for torn in [1, MARK_BYTES, MARK_BYTES + 500, MARK_BYTES + 900] {
        let copy = store.copy();
        let mut cut = octets.clone();
        cut[used - torn..].fill(0);
        write(&copy.journal().join(name(last)), &cut);
        let mut broker = open(&copy).expect("it starts");
        if torn != MARK_BYTES {
            let line = broker.log_line("never finished");
            assert!(
                line.contains("warning") && line.contains(&name(last)),
                "{line}"
            );
        }
        let session = session(&broker).await;
        let mut left = sent();
        if torn > MARK_BYTES {
            left.pop();
        }
        assert!(browse(&session, "q").await == redelivered(&left), "{torn}");
        // It goes on behind the cut.
        publish_all(&session, "q", &bodies(0, 3)).await;
        stop(&mut broker, "KILL");
        left.extend(bodies(0, 3));
        assert!(outcome(&copy).await == Ok(redelivered(&left)), "{torn}");
    }
}

#[tokio::test]
async fn files_that_are_empty_or_not_of_the_journal_do_no_harm() {
    let store = store().await;
    let segments = store.segments();
    let reserve = segments.last().expect("there is one");
    assert_eq!(used(&read(reserve)), HEADER_BYTES, "it was made ahead");
    // A crash while it was made.
    let copy = store.copy();
    write(&copy.journal().join(name(reserve)), &[]);
    let mut broker = open(&copy).expect("it starts");
    let line = broker.log_line("made anew");
    assert!(line.contains(&name(reserve)), "{line}");
    stop(&mut broker, "TERM");
    assert!(outcome(&copy).await == Ok(redelivered(&sent())));
    // Things that somebody put there.
    let copy = store.copy();
    for other in ["0.journal", "notes.txt", "1234.journal~"] {
        write(&copy.journal().join(other), b"");
    }
    assert!(outcome(&copy).await == Ok(redelivered(&sent())));
}

#[tokio::test]
async fn a_body_damaged_while_the_broker_runs_is_told_with_its_place_and_never_delivered() {
    let directory = Directory::new();
    let options = ["--journal-file-size", "16k", "--memory-limit", "0"];
    let mut broker = start(&directory, &options);
    let session = session(&broker).await;
    declare(&session, durable_queue("q")).await;
    publish_all(&session, "q", &sent()).await;
    let segment = with_records(&directory).remove(1);
    let mut octets = read(&segment);
    let body = octets.windows(64).position(|octets| octets == [b'0'; 64]);
    let at = body.expect("a body begins with zeros");
    octets[at..at + 64].fill(b'1');
    write(&segment, &octets);
    let taken = ferrymq::wire::MessageSubscribe {
        queue: "q".into(),
        ..Default::default()
    };
    let flow = ferrymq::client::Flow::Window(100);
    let mut subscription = session.subscribe(taken, flow).await.expect("it is there");
    while let Ok(delivery) = subscription.next().await {
        assert!(sent().contains(&delivery.body_bytes().to_vec()));
    }
    assert!(!broker.wait().success());
    let log = broker.log().join("\n");
    let line = log.lines().find(|line| line.contains("critical"));
    let line = line.unwrap_or_else(|| panic!("no such line: {log}"));
    for part in ["queue q, message ", &name(&segment), " at offset "] {
        assert!(line.contains(part), "{line}");
    }
    // It does not start with that, and says the same place.
    assert!(outcome(&directory).await.is_err());
}

#[tokio::test]
async fn a_missing_segment_is_told() {
    let store = store().await;
    for at in 0..with_records(&store).len() {
        let copy = store.copy();
        let gone = with_records(&copy).remove(at);
        fs::remove_file(&gone).expect("it was there");
        let line = outcome(&copy).await.expect_err("a file is missing");
        assert!(line.contains(&name(&gone)), "{line}");
    }
}

#[tokio::test]
async fn files_of_the_store_beside_the_segments_are_not_missed_in_silence() {
    let store = store().await;
    let entries = fs::read_dir(store.journal()).expect("a directory");
    let others = entries.map(|entry| entry.expect("an entry").path());
    let others: Vec<PathBuf> = others
        .filter(|path| !store.segments().contains(path))
        .collect();
    assert!(!others.is_empty(), "there is a store file");
    for other in others {
        for zeroed in [false, true] {
            let copy = store.copy();
            let path = copy.journal().join(name(&other));
            match zeroed {
                true => write(&path, &vec![0; read(&other).len()]),
                false => fs::remove_file(&path).expect("it was there"),
            }
            let line = outcome(&copy)
                .await
                .expect_err("nobody knows what is needed");
            assert!(line.contains(&name(&other)), "{line}");
        }
    }
}

#[tokio::test]
async fn messages_whose_queue_was_declared_in_what_a_repair_set_aside_are_told_at_the_start() {
    let directory = store().await;
    let first = with_records(&directory).swap_remove(0);
    let mut octets = read(&first);
    // The first record is what declares the queue.
    octets[HEADER_BYTES + MARK_BYTES] ^= 0xFF;
    write(&first, &octets);
    let repaired = std::process::Command::new(env!("CARGO_BIN_EXE_ferrymq"))
        .args(["journal", "repair", "--data-dir", directory.text()])
        .output();
    assert!(repaired.expect("the tool was built").status.success());
    let mut broker = open(&directory).expect("it is repaired");
    broker.log_line("40 messages are in no queue that is known");
    broker.log_line("Recovered 0 queues");
}

/// Damages the record that declares `victim`, has it repaired, and gives the next two logs.
async fn repaired_without_its_declaration(directory: &Directory) -> [String; 2] {
    let first = with_records(directory).swap_remove(0);
    let mut octets = read(&first);
    let at = octets.windows(6).position(|octets| octets == b"victim");
    octets[at.expect("it was declared")] ^= 0xFF;
    write(&first, &octets);
    let repaired = std::process::Command::new(env!("CARGO_BIN_EXE_ferrymq"))
        .args(["journal", "repair", "--data-dir", directory.text()])
        .output();
    assert!(repaired.expect("the tool was built").status.success());
    [(); 2].map(|()| {
        let mut broker = open(directory).expect("it is repaired");
        let recovered = broker.log_line("Recovered ");
        stop(&mut broker, "TERM");
        format!("{recovered}\n{}", broker.log().join("\n"))
    })
}

const PASSED_OVER: &str = "entries of the journal do not fit what a repair left";

#[tokio::test]
async fn a_deletion_of_a_queue_whose_declaration_a_repair_set_aside_is_passed_over() {
    let directory = Directory::new();
    let mut broker = start(&directory, &OPTIONS);
    let session = session(&broker).await;
    declare(&session, durable_queue("victim")).await;
    let gone = Command::QueueDelete(QueueDelete {
        queue: "victim".into(),
        ..Default::default()
    });
    call(&session, gone).await;
    declare(&session, durable_queue("q")).await;
    publish_all(&session, "q", &sent()).await;
    stop(&mut broker, "TERM");
    let [log, next] = repaired_without_its_declaration(&directory).await;
    assert!(log.contains(&format!("1 {PASSED_OVER}")), "{log}");
    assert!(!next.contains(PASSED_OVER), "{next}");
    assert!(
        next.contains("Recovered 1 queues with 40 messages"),
        "{next}"
    );
    assert!(outcome(&directory).await == Ok(redelivered(&sent())));
}

#[tokio::test]
async fn bindings_and_deletions_of_an_exchange_whose_declaration_a_repair_set_aside_are_passed_over()
 {
    let directory = Directory::new();
    let mut broker = start(&directory, &OPTIONS);
    let session = session(&broker).await;
    declare(&session, durable_queue("q")).await;
    let declared = durable_exchange("victim", "topic");
    call(&session, Command::ExchangeDeclare(declared)).await;
    for key in ["a.b", "a.#"] {
        let bound = binding("victim", "q", key);
        call(&session, Command::ExchangeBind(bound)).await;
    }
    let gone = ExchangeDelete {
        exchange: "victim".into(),
        ..Default::default()
    };
    call(&session, Command::ExchangeDelete(gone)).await;
    publish_all(&session, "q", &sent()).await;
    stop(&mut broker, "TERM");
    let [log, next] = repaired_without_its_declaration(&directory).await;
    assert!(log.contains(&format!("3 {PASSED_OVER}")), "{log}");
    assert!(!next.contains(PASSED_OVER), "{next}");
    assert!(outcome(&directory).await == Ok(redelivered(&sent())));
}

#[tokio::test]
async fn what_was_declared_in_a_file_that_is_gone_is_passed_over_after_a_repair() {
    let directory = Directory::new();
    let mut broker = start(&directory, &OPTIONS);
    let session = session(&broker).await;
    let session = &session;
    declare(session, durable_queue("lost")).await;
    declare(session, durable_queue("filling")).await;
    publish_all(session, "filling", &sent()).await;
    call(
        session,
        Command::ExchangeBind(binding("amq.topic", "lost", "a.b")),
    )
    .await;
    declare(session, durable_queue("q")).await;
    publish_all(session, "q", &sent()).await;
    stop(&mut broker, "TERM");
    let first = with_records(&directory).swap_remove(0);
    fs::remove_file(first).expect("it was there");
    let repaired = std::process::Command::new(env!("CARGO_BIN_EXE_ferrymq"))
        .args(["journal", "repair", "--data-dir", directory.text()])
        .output();
    assert!(repaired.expect("the tool was built").status.success());
    let mut broker = open(&directory).expect("it is repaired");
    broker.log_line(&format!("1 {PASSED_OVER}"));
    stop(&mut broker, "TERM");
    assert!(outcome(&directory).await == Ok(redelivered(&sent())));
}

#[tokio::test]
async fn what_is_kept_is_for_the_brokers_user_alone() {
    use std::os::unix::fs::PermissionsExt;
    let directory = Directory::new();
    let below = directory.path().join("made/by/it");
    let data_dir = below.to_str().expect("a path that is text");
    let _broker = Broker::start(&["--data-dir", data_dir]);
    let mode = |path: &Path| {
        let found = fs::metadata(path).expect("it is there");
        found.permissions().mode() & 0o777
    };
    assert_eq!(mode(&below), 0o700);
    assert_eq!(mode(&below.join("journal")), 0o700);
    for file in fs::read_dir(below.join("journal")).expect("a journal") {
        assert_eq!(mode(&file.expect("a file").path()), 0o600);
    }
}
