//! Snapshots of a core and entries of its log, whole and damaged: what is read can be written again, and
//! is then the same.

use std::sync::OnceLock;

use ferrymq::broker::encoding::{Decoder, Encoder, Record};
use ferrymq::broker::ids::MemberId;
use ferrymq::broker::snapshot::Snapshot;
use ferrymq::broker::{Command, Options, Origin};

use super::cores::Broker;
use super::cores::actors::{Actor, Tally, connect, step};
use super::cores::seeded::Seeded as Numbers;
use super::wire_support::seeded::Seeded;

/// How many brokers the snapshots are of.
const BROKERS: u64 = 6;

/// What clients do in each before it is frozen, in steps.
const STEPS: usize = 80;

/// Snapshots of brokers in which clients have done anything at all.
fn snapshots() -> &'static [Snapshot] {
    static MADE: OnceLock<Vec<Snapshot>> = OnceLock::new();
    MADE.get_or_init(|| (0..BROKERS).map(snapshot).collect())
}

fn snapshot(seed: u64) -> Snapshot {
    let mut numbers = Numbers::new(seed);
    let broker = Broker::with(Options {
        default_queue_limit: 5000,
        ..Options::default()
    });
    let broker = broker.without_comparing().without_recovering();
    let mut actors: Vec<Actor> = (0..3)
        .map(|n| Actor::new(connect(&mut numbers, &broker).attach(0, &n.to_string(), true)))
        .collect();
    let keeper = broker.session("keeper");
    for queue in ["q", "r", "s"] {
        keeper.declare(queue);
    }
    let mut tally = Tally::default();
    for _ in 0..STEPS {
        step(&mut numbers, &broker, &mut actors, &mut tally);
    }
    broker.core(|core| core.freeze().encode())
}

/// Says other numbers than there were, puts in what another snapshot has there, cuts, and damages octets.
/// Numbers are of four or eight octets: where most of them are 0 there mostly is one.
fn damage(seeded: &mut Seeded, octets: &mut Vec<u8>, other: &[u8]) {
    for _ in 0..=seeded.below(2) {
        if octets.len() < 16 {
            return seeded.damage(octets);
        }
        let at = seeded.below(octets.len() - 8);
        match seeded.below(8) {
            0..4 => {
                let number = (at..octets.len() - 4).find(|at| octets[*at..*at + 3] == [0, 0, 0]);
                let at = number.unwrap_or(at);
                let said = match seeded.below(6) {
                    0 => u32::from(octets[at + 3]).wrapping_add(1),
                    1 => u32::from(octets[at + 3]).wrapping_sub(1),
                    2 => u32::MAX,
                    3 => 0,
                    4 => i32::MAX as u32,
                    _ => seeded.below(9) as u32,
                };
                octets[at..at + 4].copy_from_slice(&said.to_be_bytes());
            }
            4 => {
                let end = (at + 1 + seeded.below(64)).min(octets.len());
                let piece = other.get(at..end).unwrap_or_default().to_vec();
                octets.splice(at..end, piece);
            }
            5 => octets.truncate(at),
            _ => seeded.damage(octets),
        }
    }
}

/// A damaged snapshot is an error, or a core that can be written again, and is then the same core.
pub fn core_snapshot(seeded: &mut Seeded) {
    let [of, other] = [seeded.pick(snapshots()), seeded.pick(snapshots())];
    let mut damaged = of.clone();
    let is_damaged = !seeded.once_in(50);
    if is_damaged {
        match seeded.once_in(4) {
            true => damage(seeded, &mut damaged.messages, &other.messages),
            false => damage(seeded, &mut damaged.state, &other.state),
        }
    }
    let core = match damaged.decode() {
        Ok(core) => core,
        Err(error) => return assert!(is_damaged, "{error:?}"),
    };
    let once = core.freeze().encode();
    assert!(
        is_damaged || once == *of,
        "what was not damaged is the same"
    );
    let again = once.decode().expect("what was written is read");
    assert_eq!(again.digest(), core.digest());
    assert!(again.freeze().encode() == once, "written twice alike");
}

/// An entry of a log: what a member proposed, and what there was of it in the logs of actors.
fn entry(seeded: &mut Seeded) -> (Origin, Vec<Command>) {
    let origin = match seeded.below(2) {
        0 => Origin::Sequencer,
        _ => Origin::Member {
            id: MemberId(seeded.u64()),
            epoch: 1,
            seq: seeded.u64(),
        },
    };
    let command = |seeded: &mut Seeded| match seeded.below(3) {
        0 => Command::Tick,
        1 => Command::Continue,
        _ => Command::MemberDown {
            member: MemberId(seeded.below(4) as u64),
            epoch: seeded.below(3) as u64,
        },
    };
    let commands = (0..seeded.below(4)).map(|_| command(seeded)).collect();
    (origin, commands)
}

fn encoded<T: Record>(value: &T) -> Vec<u8> {
    let mut encoder = Encoder::default();
    value.encode(&mut encoder);
    encoder.bytes
}

/// A damaged entry is an error, or one that is written with the octets that were read.
pub fn entry_octets(seeded: &mut Seeded) {
    let mut octets = encoded(&entry(seeded));
    // Any kind of command, with anything in it.
    let kind = octets.len() - 1;
    if seeded.once_in(2) {
        octets[kind] = seeded.below(32) as u8;
        octets.extend((0..seeded.below(60)).map(|_| match seeded.once_in(3) {
            true => seeded.octet(),
            false => 0,
        }));
    } else {
        let other = encoded(&entry(seeded));
        damage(seeded, &mut octets, &other);
    }
    let mut decoder = Decoder::new(&octets);
    let Ok(read) = <(Origin, Vec<Command>)>::decode(&mut decoder) else {
        return;
    };
    let once = encoded(&read);
    let again = <(Origin, Vec<Command>)>::decode(&mut Decoder::new(&once));
    let again = again.expect("what was written is read");
    assert_eq!(format!("{again:?}"), format!("{read:?}"));
    assert_eq!(encoded(&again), once);
}
