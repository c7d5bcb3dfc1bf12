//! Seeded fuzzers of what reads octets from outside, the wire room's, the journal's, a group's,
//! management's, logins' and the files' of an operator, and a short run of each.
//!
//! `FUZZ_ROUNDS=100000 cargo test --test wire_fuzz` runs longer; a failure prints the seed, and
//! `FUZZ_SEED=n FUZZ_ROUNDS=1` runs that one again, `FUZZ_TARGET=name` one of them alone.

#[expect(
    clippy::duplicate_mod,
    reason = "each of the two has its numbers from there"
)]
#[path = "broker/mod.rs"]
mod cores;
#[path = "wire_fuzz/management.rs"]
mod management;
#[path = "wire_fuzz/peer_frames.rs"]
mod peer_frames;
#[path = "wire_fuzz/raft_member.rs"]
mod raft_member;
#[path = "wire_fuzz/sasl.rs"]
mod sasl;
#[path = "wire_fuzz/snapshots.rs"]
mod snapshots;
#[path = "wire_fuzz/texts.rs"]
mod texts;
#[path = "wire_fuzz/values.rs"]
mod values;
mod wire_support;

use std::panic::{AssertUnwindSafe, catch_unwind};

use ferrymq::broker::encoding::{Decoder, Encoder, Record};
use ferrymq::broker::facts::{BindingDefinition, Dequeued, Fact, FactRecord, Positions};
use ferrymq::broker::ids::{GroupTime, MemberId, QueueKey, ShardId};
use ferrymq::broker::{self, Options, Origin, Recovery};
use ferrymq::cluster::raft;
use ferrymq::wire::frame::FrameHeader;
use ferrymq::wire::url::Url;
use ferrymq::wire::{Command, Control, Cursor, Value, header};
use wire_support::description;
use wire_support::generator::model::{Description, Kind};
use wire_support::random_bytes::RandomBytes;
use wire_support::seeded::Seeded;

/// A fuzzer does its part with the numbers of one seed and panics on what must not be.
type Fuzzer = fn(&Description, Seeded);

const FUZZERS: &[(&str, Fuzzer)] = &[
    ("control", control),
    ("command", command),
    ("value", value),
    ("nested_value", |_, mut seeded| values::nested(&mut seeded)),
    ("sequence_set", |_, mut seeded| {
        values::sequence_set(&mut seeded)
    }),
    ("header_segment", header_segment),
    ("frame_header", frame_header),
    ("url", url),
    ("fact_record", fact_record),
    ("peer_frames", |_, mut seeded| {
        peer_frames::peer_frames(&mut seeded)
    }),
    ("management_request_2", |_, mut seeded| {
        management::request_of_version_2(&mut seeded)
    }),
    ("management_frames_1", |_, mut seeded| {
        management::frames_of_version_1(&mut seeded)
    }),
    ("management_arguments_1", |_, mut seeded| {
        values::qmf1_arguments(&mut seeded)
    }),
    ("sasl_exchange", |_, mut seeded| sasl::exchange(&mut seeded)),
    ("acl_file", |_, mut seeded| texts::acl_file(&mut seeded)),
    ("qpidd_conf", |_, mut seeded| texts::qpidd_conf(&mut seeded)),
    ("toml", |_, mut seeded| texts::toml(&mut seeded)),
    ("entry", |_, mut seeded| {
        snapshots::entry_octets(&mut seeded)
    }),
    ("core_snapshot", |_, mut seeded| {
        snapshots::core_snapshot(&mut seeded)
    }),
    ("raft_message", raft_message),
    ("member_noise", |_, mut seeded| {
        raft_member::member_noise(&mut seeded)
    }),
    ("member_forged", |_, mut seeded| {
        raft_member::member_forged(&mut seeded)
    }),
    ("canary", canary),
    ("raft_canary", raft_canary),
    ("management_canary", |_, mut seeded| {
        management::management_canary(&mut seeded)
    }),
    ("member_canary", |_, mut seeded| {
        raft_member::member_canary(&mut seeded)
    }),
];

const ROUNDS: u64 = 1500;

/// A fuzzer with a whole group in each round has so many times fewer of them, and one with a whole core.
const FEWER: [(&str, u64); 2] = [("member", 100), ("core", 10)];

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Runs a fuzzer over a stretch of seeds; the first seed that fails, with its message.
fn run(name: &str, rounds: u64) -> Result<(), String> {
    let description = description();
    let fuzzer = FUZZERS.iter().find(|fuzzer| fuzzer.0 == name).unwrap().1;
    let first = number("FUZZ_SEED").unwrap_or(0);
    for seed in first..first + rounds {
        let round = || fuzzer(&description, Seeded::new(seed));
        if let Err(panic) = catch_unwind(AssertUnwindSafe(round)) {
            let word = || panic.downcast_ref::<&str>().copied().map(str::to_owned);
            let text = panic.downcast_ref::<String>().cloned().or_else(word);
            let text = text.unwrap_or_default();
            return Err(format!("{name}, seed {seed}: {text}"));
        }
    }
    Ok(())
}

#[test]
fn smoke() {
    let rounds = number("FUZZ_ROUNDS").unwrap_or(ROUNDS);
    let wanted = std::env::var("FUZZ_TARGET").ok();
    let is_wanted = |name: &str| wanted.as_ref().is_none_or(|wanted| wanted == name);
    let (mut ran, mut all) = (0, 0);
    for (name, _) in FUZZERS
        .iter()
        .filter(|(name, _)| !name.ends_with("canary") && is_wanted(name))
    {
        let fewer = FEWER.iter().find(|(first, _)| name.starts_with(first));
        let rounds = rounds.div_ceil(fewer.map_or(1, |(_, times)| *times));
        run(name, rounds).unwrap();
        println!("{name}: {rounds} rounds");
        (ran, all) = (ran + 1, all + rounds);
    }
    assert!(ran > 0, "no target is called {wanted:?}");
    println!("fuzzed: {ran} targets, {all} rounds");
}

#[test]
fn the_canary_dies() {
    assert!(run("canary", 500).unwrap_err().starts_with("canary, seed "));
    let of_raft = run("raft_canary", 500).unwrap_err();
    assert!(of_raft.starts_with("raft_canary, seed "));
    let of_management = run("management_canary", 500).unwrap_err();
    assert!(of_management.starts_with("management_canary, seed "));
    let of_member = run("member_canary", 5).unwrap_err();
    assert!(of_member.starts_with("member_canary, seed "));
}

/// Holds a rule that does not hold: a damaged control is never read.
fn canary(description: &Description, mut seeded: Seeded) {
    let bytes = item_bytes(description, &mut seeded, Kind::Control);
    assert!(
        Control::decode(&mut Cursor::new(&bytes)).is_err(),
        "read {bytes:?}"
    );
}

/// A control or command of any kind, damaged three times in four.
fn item_bytes(description: &Description, seeded: &mut Seeded, kind: Kind) -> Vec<u8> {
    let all = description.classes.iter();
    let all = all.flat_map(|class| class.items.iter().map(move |item| (class, item)));
    let items: Vec<_> = all.filter(|(_, item)| item.kind == kind).collect();
    let &(class, item) = seeded.pick(&items);
    let source = Seeded::new(seeded.u64());
    let mut random = RandomBytes {
        description,
        seeded: source,
        with_gaps: true,
    };
    let sync = (kind == Kind::Command).then_some(true);
    let mut bytes = random.item(class, item, sync);
    if !seeded.once_in(4) {
        seeded.damage(&mut bytes);
    }
    bytes
}

fn control(description: &Description, mut seeded: Seeded) {
    let bytes = item_bytes(description, &mut seeded, Kind::Control);
    let mut cursor = Cursor::new(&bytes);
    let Ok(read) = Control::decode(&mut cursor) else {
        return;
    };
    assert!(cursor.is_at_end());
    let mut once = Vec::new();
    read.encode(&mut once);
    let again = Control::decode(&mut Cursor::new(&once)).unwrap();
    assert_eq!(format!("{again:?}"), format!("{read:?}"));
    let mut twice = Vec::new();
    again.encode(&mut twice);
    assert_eq!(twice, once);
}

fn command(description: &Description, mut seeded: Seeded) {
    let bytes = item_bytes(description, &mut seeded, Kind::Command);
    let mut cursor = Cursor::new(&bytes);
    let Ok((head, read)) = Command::decode(&mut cursor) else {
        return;
    };
    assert!(cursor.is_at_end());
    let mut once = Vec::new();
    read.encode(head.sync, &mut once);
    let (head_again, again) = Command::decode(&mut Cursor::new(&once)).unwrap();
    assert_eq!(
        format!("{again:?}{head_again:?}"),
        format!("{read:?}{head:?}")
    );
    let mut twice = Vec::new();
    again.encode(head.sync, &mut twice);
    assert_eq!(twice, once);
}

/// Any octets at all, and values of the types that nest.
fn value(_: &Description, mut seeded: Seeded) {
    let mut bytes = match seeded.below(3) {
        0 => seeded.bytes(64),
        1 => b"\xa8\0\0\0\x14\0\0\0\x02\x01a\xa9\0\0\0\x05\0\0\0\x01\xf0\x01b\x02\x07".to_vec(),
        _ => b"\xaa\0\0\0\x0d\x95\0\0\0\x02\0\x02ab\0\x02cd".to_vec(),
    };
    seeded.damage(&mut bytes);
    let mut cursor = Cursor::new(&bytes);
    let Ok(read) = Value::decode(&mut cursor) else {
        return;
    };
    let mut once = Vec::new();
    read.encode(&mut once);
    let again = Value::decode(&mut Cursor::new(&once)).unwrap();
    assert_eq!(format!("{again:?}"), format!("{read:?}"));
    let mut twice = Vec::new();
    again.encode(&mut twice);
    assert_eq!(twice, once);
}

/// What was split once can be read and put together for ever.
fn header_segment(description: &Description, mut seeded: Seeded) {
    let class = description
        .classes
        .iter()
        .find(|class| class.name == "message")
        .unwrap();
    let structs: Vec<_> = class
        .structs
        .iter()
        .filter(|item| item.code.is_some())
        .collect();
    let source = Seeded::new(seeded.u64());
    let mut random = RandomBytes {
        description,
        seeded: source,
        with_gaps: true,
    };
    let mut bytes = Vec::new();
    for _ in 0..seeded.below(4) {
        let item = *seeded.pick(&structs);
        bytes.extend(random.structure(class, item));
    }
    if seeded.once_in(2) {
        seeded.damage(&mut bytes);
    }
    let Ok(parts) = header::split(&bytes) else {
        return;
    };
    if let Some(range) = parts.message_properties.clone() {
        let properties = header::message_properties(&parts.rest[range.clone()]).unwrap();
        let headers = header::application_headers(&parts.rest[range]).unwrap();
        assert_eq!(
            format!("{headers:?}"),
            format!("{:?}", properties.application_headers)
        );
    }
    let mut out = Vec::new();
    header::encode(&parts.delivery, &parts.rest, &mut out);
    let again = header::split(&out).unwrap();
    assert_eq!(
        format!("{:?}", again.delivery),
        format!("{:?}", parts.delivery)
    );
    assert_eq!(again.rest, parts.rest);
}

fn frame_header(_: &Description, mut seeded: Seeded) {
    let mut bytes = [0; 12];
    bytes[..8].fill_with(|| if seeded.once_in(2) { seeded.octet() } else { 0 });
    bytes[0] &= 0x3f;
    if let Ok(header) = FrameHeader::decode(&bytes) {
        assert_eq!(header.encode(), bytes);
    }
}

fn url(_: &Description, mut seeded: Seeded) {
    let words = [
        "amqp:", "tcp:", "ssl", "host", "a.b-c", "[", "]", "::1", ":", ",", "/", "@", "56", "9",
    ];
    let text: String = (0..seeded.below(12))
        .map(|_| *seeded.pick(&words))
        .collect();
    let Ok(url) = Url::parse(&text) else { return };
    assert!(!url.addresses.is_empty());
    assert_eq!(Url::parse(&url.to_string()).as_ref(), Ok(&url), "{text}");
}

/// Facts are read as a whole or not at all, and a recovery takes whatever was read.
fn fact_record(_: &Description, mut seeded: Seeded) {
    let encoded = |record: &FactRecord| {
        let mut encoder = Encoder::default();
        record.encode(&mut encoder);
        encoder.bytes
    };
    let queue = QueueKey(seeded.below(3) as u64);
    let first = seeded.below(9) as u64;
    let arguments = [("x-match", Value::Str16("all".into()))];
    let binding = BindingDefinition {
        exchange: "amq.match".into(),
        queue,
        key: "k".into(),
        arguments: arguments.into_iter().collect(),
    };
    let left = Dequeued {
        queue,
        before: first,
        positions: Positions(vec![(first, first + 2), (first + 9, first + 9)]),
    };
    let mut bytes = encoded(&FactRecord {
        index: 1,
        time: GroupTime(2),
        facts: vec![Fact::Bound(Box::new(binding)), Fact::Dequeued(left)],
    });
    seeded.damage(&mut bytes);
    let mut recovery = Recovery::new(ShardId(0), Options::default());
    if recovery.take(&bytes).is_err() {
        return;
    }
    let read = FactRecord::decode(&mut Decoder::new(&bytes)).unwrap();
    let once = encoded(&read);
    assert_eq!(FactRecord::decode(&mut Decoder::new(&once)), Ok(read));
    let _ = recovery.finish(seeded.u64());
}

/// What a member of a raft group sends, made by hand as the layout says.
fn raft_bytes(seeded: &mut Seeded) -> Vec<u8> {
    let (from, to) = (1 + seeded.below(3) as u64, 4u64);
    let mut bytes = Vec::new();
    let number = |bytes: &mut Vec<u8>, number: u64| bytes.extend_from_slice(&number.to_be_bytes());
    let sized = |bytes: &mut Vec<u8>, octets: &[u8]| {
        bytes.extend_from_slice(&(octets.len() as u32).to_be_bytes());
        bytes.extend_from_slice(octets);
    };
    for field in [9, from, to] {
        number(&mut bytes, field);
    }
    if seeded.once_in(4) {
        let mut encoder = Encoder::default();
        let id = MemberId(from);
        let origin = Origin::Member {
            id,
            epoch: 1,
            seq: seeded.u64(),
        };
        (origin, vec![broker::Command::Tick]).encode(&mut encoder);
        bytes.push(2);
        sized(&mut bytes, &encoder.bytes);
        return bytes;
    }
    let kind = 1 + seeded.below(13) as u8;
    // A snapshot is offered, and comes in pieces.
    bytes.extend_from_slice(&[if kind == 5 { 3 } else { 1 }, kind]);
    let (term, index) = (5 + seeded.below(9) as u64, seeded.below(99) as u64);
    for field in [to, from, term, 4, index, index, 0, 0, seeded.u64(), 0] {
        number(&mut bytes, field);
    }
    bytes.push(seeded.below(2) as u8);
    number(&mut bytes, seeded.u64());
    sized(&mut bytes, &seeded.bytes(20));
    let entries = if kind == 1 { seeded.below(4) as u32 } else { 0 };
    bytes.extend_from_slice(&entries.to_be_bytes());
    for n in 1..=u64::from(entries) {
        bytes.push(1 + seeded.below(3) as u8);
        number(&mut bytes, 5);
        number(&mut bytes, index + n);
        sized(&mut bytes, &seeded.bytes(9));
        sized(&mut bytes, &seeded.bytes(60));
    }
    bytes.push(u8::from(kind == 5));
    if kind == 5 {
        number(&mut bytes, 1 + index);
        number(&mut bytes, term);
        for members in [&[1u64, 2, 3][..], &[4], &[], &[]] {
            bytes.extend_from_slice(&(members.len() as u32).to_be_bytes());
            members
                .iter()
                .for_each(|member| number(&mut bytes, *member));
        }
        bytes.push(0);
        number(&mut bytes, seeded.u64());
        number(&mut bytes, 1 + index);
        bytes.extend_from_slice(&0u32.to_be_bytes());
        bytes.extend_from_slice(&(1 + seeded.below(9) as u32).to_be_bytes());
        for size in [seeded.below(4096), seeded.below(4096)] {
            number(&mut bytes, size as u64);
        }
    }
    bytes
}

fn raft_message(_: &Description, mut seeded: Seeded) {
    let mut bytes = raft_bytes(&mut seeded);
    let whole = raft::reread(&bytes);
    assert_eq!(whole, Ok(Some(bytes.clone())), "what was sent is read");
    seeded.damage(&mut bytes);
    match raft::reread(&bytes) {
        Ok(again) => assert_eq!(
            again.as_ref(),
            Some(&bytes),
            "what is read is all that there is"
        ),
        Err(error) => assert!(error.offset <= bytes.len()),
    }
}

/// Holds a rule that does not hold: a damaged message is never read.
fn raft_canary(_: &Description, mut seeded: Seeded) {
    let mut bytes = raft_bytes(&mut seeded);
    seeded.damage(&mut bytes);
    assert!(raft::reread(&bytes).is_err());
}
