//! Journals that were recorded once, one of each kind, and must be read by every later version.
//!
//! `UPDATE=1` writes anew what they say. A journal itself is recorded only where there is none: what
//! an old version wrote cannot be written again.

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use ferrymq::broker::ids::{MemberId, ShardId};
use ferrymq::broker::{Core, Fact, Options, Request};
use ferrymq::cluster::entry_log::{EntryLog, Plant};
use ferrymq::cluster::fact_log::{self, FactLog, Opening};
use ferrymq::cluster::limits::{PROPOSAL_BYTES, RAFT_RECENT_BYTES, RESEND_AFTER_MS};
use ferrymq::cluster::raft;
use ferrymq::cluster::raft::seats::{Faults, Setup};
use ferrymq::cluster::solo::Solo;
use ferrymq::cluster::{Group, Millis};
use ferrymq::store::{self, Disk, SimulatedDisk};
use ferrymq::wire::{self, AcceptMode, AcquireMode, CommandId, CreditUnit, SequenceSet};

use super::author::{declare, publish};
use super::group::{Client, Disks, WALL_AT_ZERO, log_options};
use super::start::{change, lengthen};

fn folder(kind: &str) -> PathBuf {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    root.join("tests/journals").join(kind)
}

fn is_updating() -> bool {
    std::env::var_os("UPDATE").is_some()
}

/// Keeps the files of a disk.
fn record(kind: &str, disk: &SimulatedDisk) {
    let folder = folder(kind);
    fs::create_dir_all(&folder).expect("it can be made");
    for name in disk.list().expect("it can be read") {
        let octets = disk.contents(&name).expect("it is there");
        fs::write(folder.join(name), octets).expect("it can be written");
    }
}

/// A disk with the files that were recorded; `record` makes them where there are none.
fn recorded(kind: &str, record: impl FnOnce()) -> SimulatedDisk {
    if !folder(kind).exists() {
        assert!(is_updating(), "there is no journal of {kind}");
        record();
    }
    let disk = SimulatedDisk::new(1);
    for file in fs::read_dir(folder(kind)).expect("it is there") {
        let file = file.expect("it can be read");
        let octets = fs::read(file.path()).expect("it can be read");
        disk.put(&file.file_name().to_string_lossy(), &octets);
    }
    disk
}

/// Compares a text with what was written down.
fn expect(kind: &str, text: &str) {
    let path = folder(kind).with_extension("txt");
    if is_updating() {
        fs::write(&path, text).expect("it can be written");
    }
    let expected = fs::read_to_string(&path).expect("it was written down");
    assert_eq!(text, expected, "{}", path.display());
}

/// What a core has, as lines that one can read.
fn contents(core: &Core) -> String {
    let mut text = String::new();
    let (index, time, digest) = (core.index(), core.time().0, core.digest());
    let mut line = |line: String| writeln!(text, "{line}").expect("it is memory");
    line(format!("index {index}, time {time}, digest {digest:016x}"));
    line(format!(
        "{} queues, {} messages",
        core.queue_count(),
        core.message_count()
    ));
    for fact in core.definitions().facts {
        let Fact::Definitions(definitions) = fact else {
            panic!("a checkpoint is one fact");
        };
        definitions
            .exchanges
            .iter()
            .for_each(|one| line(format!("{one:?}")));
        definitions
            .queues
            .iter()
            .for_each(|one| line(format!("{one:?}")));
        definitions
            .bindings
            .iter()
            .for_each(|one| line(format!("{one:?}")));
    }
    for fact in core.message_facts() {
        match fact {
            Fact::Enqueued(fact) => {
                let body = fact.message.fetch().expect("it is there");
                let body = String::from_utf8_lossy(body.body().unwrap_or_default()).into_owned();
                let key = &fact.message.routing_key;
                line(format!("{key} {body:?} at {:?}", fact.places));
            }
            other => line(format!("{other:?}")),
        }
    }
    text
}

fn exchange(name: &str, kind: &str) -> Request {
    Request::ExchangeDeclare(Box::new(wire::ExchangeDeclare {
        exchange: name.into(),
        r#type: kind.into(),
        durable: true,
        ..Default::default()
    }))
}

fn bind(queue: &str, exchange: &str, key: &str) -> Request {
    Request::ExchangeBind(Box::new(wire::ExchangeBind {
        queue: queue.into(),
        exchange: exchange.into(),
        binding_key: key.into(),
        ..Default::default()
    }))
}

fn flow(destination: &str, unit: CreditUnit, value: u32) -> Request {
    Request::Flow {
        destination: destination.into(),
        unit,
        value,
    }
}

fn range(first: u32, last: u32) -> SequenceSet {
    SequenceSet::from_range(CommandId(first), CommandId(last))
}

/// What is done on a group before its journal is recorded: something of everything.
fn use_group(seat: &dyn Group) {
    let mut client = Client::new(seat, 1);
    let mut ask = |request| {
        client.ask(5, request);
    };
    for request in [
        exchange("dead", "fanout"),
        exchange("news", "topic"),
        declare("lost"),
        bind("lost", "dead", ""),
        Request::QueueDeclare(Box::new(wire::QueueDeclare {
            queue: "orders".into(),
            durable: true,
            alternate_exchange: Some("dead".into()),
            ..Default::default()
        })),
        declare("gone"),
        declare("news.all"),
        bind("news.all", "news", "#"),
        bind("orders", "amq.fanout", "any"),
    ] {
        ask(request);
    }
    for n in 0..12 {
        ask(publish("orders", format!("order {n}").as_bytes()));
        ask(publish("gone", b"not for long"));
    }
    ask(Request::Subscribe(Box::new(wire::MessageSubscribe {
        queue: "orders".into(),
        destination: "d".into(),
        accept_mode: AcceptMode::EXPLICIT,
        acquire_mode: AcquireMode::PRE_ACQUIRED,
        ..Default::default()
    })));
    ask(flow("d", CreditUnit::BYTE, u32::MAX));
    ask(flow("d", CreditUnit::MESSAGE, 6));
    // The second and third are done, the fourth goes to the alternate exchange, and the rest is held
    // by a client that will be gone.
    ask(Request::Accept {
        transfers: range(1, 2),
    });
    ask(Request::Reject {
        transfers: range(3, 3),
    });
    ask(Request::QueueDelete(Box::new(wire::QueueDelete {
        queue: "gone".into(),
        ..Default::default()
    })));
    ask(Request::TxSelect);
    ask(publish("news.all", b"in a transaction"));
    ask(Request::Accept {
        transfers: range(4, 4),
    });
    ask(Request::TxCommit);
    ask(publish("news.all", b"in one that is left open"));
}

fn record_facts() {
    let disk = SimulatedDisk::new(1);
    let (log, core) = open_facts(&disk);
    let solo = Solo::with_log(MemberId(1), 1, (log, core), Options::default(), Millis(0));
    use_group(&*solo);
    solo.finish(Millis(10)).expect("all is well");
    record("facts", &disk);
}

fn open_facts(disk: &SimulatedDisk) -> (FactLog, Core) {
    let opening = Opening {
        store_id: 1,
        wall_at_zero: WALL_AT_ZERO,
        now: Millis(0),
        memory_bytes_max: 1 << 30,
        plant: fact_log::Plant::None,
    };
    let journal = store::Options {
        segment_bytes: 4096,
        ..store::Options::default()
    };
    let disk = Arc::new(disk.clone());
    let opened = FactLog::open(disk, &journal, Options::default(), &opening);
    let (log, core, _) = opened.unwrap_or_else(|error| panic!("{error}"));
    (log, core)
}

#[test]
fn a_recorded_journal_of_facts_is_read() {
    let disk = recorded("facts", record_facts);
    let (_, core) = open_facts(&disk);
    expect("facts", &contents(&core));
}

fn record_entries() {
    let disks = Disks::new(1);
    let seats = disks.start_soundly(Millis(0));
    use_group(&seats[0]);
    let more = "0123456789".repeat(100);
    let mut client = Client::new(&seats[1], 6);
    for _ in 0..35 {
        client.ask(6, publish("lost", more.as_bytes()));
    }
    client.ask(
        6,
        Request::QueuePurge(Box::new(wire::QueuePurge {
            queue: "lost".into(),
        })),
    );
    for n in 0..5 {
        client.ask(7, publish("lost", format!("late {n}").as_bytes()));
    }
    drop(seats);
    // Entries that are taken back, and others in their place.
    lengthen(&disks.0[0], 3);
    drop(disks.start_soundly(Millis(20)));
    change(&disks.0[0], |log| {
        assert!(log.snapshot_index() > 0 && log.voter().is_some());
    });
    record("entries", &disks.0[0]);
}

#[test]
fn a_recorded_journal_of_entries_is_read() {
    let disk = recorded("entries", record_entries);
    let disk = Arc::new(disk);
    let opened = EntryLog::open_without_thread(disk, &log_options(Plant::None), 1);
    let ((log, _), _) = opened.unwrap_or_else(|error| panic!("{error}"));
    let (first, last) = (log.first_index(), log.last_index());
    let core = log
        .replay::<Core>(last)
        .unwrap_or_else(|why| panic!("{why}"));
    let head = format!(
        "snapshot, and entries {first} to {last}; {:?}\n",
        log.voter()
    );
    expect("entries", &(head + &contents(&core)));
}

/// A raft group that is used as the others are, with a snapshot and entries behind it.
fn record_raft() {
    let setup = Setup {
        seed: 1,
        members: 3,
        faults: Faults::NONE,
        down_after_ms: 1500,
        recent_bytes: RAFT_RECENT_BYTES,
        proposal_bytes: PROPOSAL_BYTES,
        log: log_options(Plant::None),
        wall_at_zero: WALL_AT_ZERO,
        plant: raft::Plant::None,
    };
    let fresh = || Core::new(ShardId::default(), Options::default());
    let seats = raft::seats::seats(setup, fresh, &[], Millis(0)).expect("new disks are sound");
    let until = |at: u64| {
        for millisecond in at - 2000..=at {
            seats[0].tick(Millis(millisecond));
        }
    };
    until(2000);
    use_group(&seats[0]);
    until(4000);
    let more = "0123456789".repeat(100);
    let mut client = Client::new(&seats[1], 4000);
    for _ in 0..45 {
        client.ask(4000, publish("lost", more.as_bytes()));
    }
    let purge = Box::new(wire::QueuePurge {
        queue: "lost".into(),
    });
    client.ask(4000, Request::QueuePurge(purge));
    until(6000);
    for n in 0..5 {
        client.ask(6000, publish("lost", format!("late {n}").as_bytes()));
    }
    until(8000);
    record("raft", &seats[0].disk());
}

#[test]
fn a_recorded_journal_of_a_raft_member_is_read() {
    let disk = Arc::new(recorded("raft", record_raft));
    let opened = EntryLog::open_without_thread(disk, &log_options(Plant::None), 1);
    let ((log, _), _) = opened.unwrap_or_else(|error| panic!("{error}"));
    let voter = log.voter().expect("it counts");
    let mut text = format!("{voter:?}\n{:?}\n{:?}\n", log.raft_state(), log.raft_base());
    for index in log.first_index()..=log.last_index() {
        let octets = log.raft_entry(index).expect("it can be read");
        let (term, count) = (log.raft_term(index), octets.len());
        writeln!(text, "entry {index}, term {term:?}, {count} octets").expect("it is memory");
    }
    assert!(log.last_index() > log.snapshot_index() && log.snapshot_index() > 1);
    let settings = raft::Settings {
        group: voter.group,
        member: voter.member,
        seed: 1,
        down_after_ms: 1500,
        resend_after_ms: RESEND_AFTER_MS,
        recent_bytes: RAFT_RECENT_BYTES,
        proposal_bytes: PROPOSAL_BYTES,
        is_observed: false,
        plant: raft::Plant::None,
    };
    let fresh = || Core::new(ShardId::default(), Options::default());
    let member = raft::Member::open(log, settings, fresh, raft::Now::default());
    let member = member.unwrap_or_else(|why| panic!("{why}"));
    expect("raft", &(text + &contents(member.machine())));
}
