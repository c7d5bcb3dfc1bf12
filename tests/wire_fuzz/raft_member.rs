//! What a member of a raft group makes of octets that come to it: a real group of three, its real
//! messages, and what is done to them on the way.

use ferrymq::broker::ids::{ConnectionNumber, ShardId};
use ferrymq::broker::{Command, ConnectionRecord, Core, Options};
use ferrymq::cluster::entry_log;
use ferrymq::cluster::raft::Plant;
use ferrymq::cluster::raft::seats::{Faults, Seat, Setup, seats};
use ferrymq::cluster::{Group, Millis};
use std::task::Waker;

use super::wire_support::seeded::Seeded;

/// Octets in front of what a message says: the group, the sender, the receiver, the kind.
const GROUP: usize = 0;
const SENDER: usize = 8;
const RECEIVER: usize = 16;

const KIND: usize = 24;

/// Pieces of a snapshot are wanted. Only here the sender is said once: from a member to whom none is offered it
/// is a message that does nothing.
const WANTED: u8 = 4;

/// Where the plain numbers of a raft message are, eight octets each.
const NUMBERS: usize = 26;
const NUMBERS_COUNT: usize = 10;

/// Messages that are tried in one round.
const TRIES: usize = 20;

/// A group that has elected somebody and knows a few connections.
struct Victims {
    seats: Vec<Seat<Core>>,
    now: Millis,
    /// What was sent in it: the receiver's place, and the octets.
    sent: Vec<(usize, Vec<u8>)>,
}

impl Victims {
    fn new(seeded: &mut Seeded) -> Victims {
        let setup = Setup {
            seed: seeded.u64(),
            members: 3,
            faults: Faults::NONE,
            down_after_ms: 1500,
            recent_bytes: *seeded.pick(&[0, 4096]),
            proposal_bytes: 4096,
            log: entry_log::Options {
                snapshot_after_bytes: 4096,
                snapshot_piece_bytes: 256,
                ..entry_log::Options::default()
            },
            wall_at_zero: 1_700_000_000_000,
            plant: Plant::None,
        };
        let fresh = || Core::new(ShardId::default(), Options::default());
        let seats = seats(setup, fresh, &[], Millis(0)).expect("new disks are sound");
        let mut victims = Victims {
            seats,
            now: Millis(0),
            sent: Vec::new(),
        };
        victims.pass(1500);
        for n in 0..seeded.below(40) {
            victims.connect(n % 3);
            victims.pass(2);
        }
        if seeded.once_in(2) {
            // A newcomer is sent a snapshot.
            victims.seats[seeded.below(3)].wipe(victims.now);
            victims.pass(700);
        }
        // Nothing is left to be done at this time.
        while victims.seats[0]
            .tick(victims.now)
            .is_some_and(|at| at <= victims.now)
        {}
        victims
    }

    fn connect(&mut self, place: usize) -> ConnectionNumber {
        let connection = self.seats[place].open(Waker::noop().clone());
        let record = Box::new(ConnectionRecord::default());
        let open = Command::ConnectionOpen { connection, record };
        self.seats[place].propose(self.now, connection, &mut vec![open]);
        connection
    }

    fn pass(&mut self, milliseconds: u64) {
        let until = self.now.0 + milliseconds;
        while self.now.0 < until {
            let next = self.seats[0].tick(self.now).map_or(until, |at| at.0);
            self.sent.extend(self.seats[0].in_flight());
            self.now = Millis(next.clamp(self.now.0 + 1, until));
        }
        let kept = self.sent.len().saturating_sub(400);
        self.sent.drain(..kept);
    }

    fn standing(&self, place: usize) -> String {
        format!(
            "{:?} {}",
            self.seats[place].digest(),
            self.seats[place].standing()
        )
    }
}

fn number(octets: &[u8], at: usize) -> u64 {
    let bytes = octets[at..at + 8].first_chunk();
    bytes.map_or(0, |bytes| u64::from_be_bytes(*bytes))
}

fn set(octets: &mut [u8], at: usize, number: u64) {
    octets[at..at + 8].copy_from_slice(&number.to_be_bytes());
}

/// What is not for a member, or is no message, changes nothing in it.
pub fn member_noise(seeded: &mut Seeded) {
    let victims = Victims::new(seeded);
    for _ in 0..TRIES {
        let (place, mut octets) = seeded.pick(&victims.sent).clone();
        match seeded.below(5) {
            0 => octets = seeded.bytes(300),
            1 => {
                let group = number(&octets, GROUP) ^ (1 << seeded.below(64));
                set(&mut octets, GROUP, group);
            }
            2 => {
                let receiver = number(&octets, RECEIVER) + 1 + seeded.below(9) as u64;
                set(&mut octets, RECEIVER, receiver);
            }
            3 if octets.get(KIND) != Some(&WANTED) => {
                // The sender is said in two places.
                let sender = number(&octets, SENDER) + 1 + seeded.below(9) as u64;
                set(&mut octets, SENDER, sender);
            }
            _ => octets.truncate(seeded.below(octets.len())),
        }
        let before = victims.standing(place);
        let heeded = victims.seats[place].deliver(victims.now, &octets);
        assert!(heeded.is_err(), "heeded {octets:?}");
        assert_eq!(victims.standing(place), before, "changed by {octets:?}");
    }
    assert_eq!(victims.seats[0].failure(), None);
}

/// A message as a member could send it, with other numbers in it.
fn forge(seeded: &mut Seeded, octets: &mut Vec<u8>) {
    if octets.len() < NUMBERS + 8 * NUMBERS_COUNT || seeded.once_in(4) {
        return seeded.damage(octets);
    }
    for _ in 0..=seeded.below(3) {
        // To and from stand again among the numbers: what is said of them is the same, as a rule.
        let at = NUMBERS + 8 * (2 + seeded.below(NUMBERS_COUNT - 2));
        let old = number(octets, at);
        let new = match seeded.below(6) {
            0 => old.wrapping_add(1),
            1 => old.wrapping_sub(1),
            2 => old.wrapping_add(seeded.below(100) as u64),
            3 => old.wrapping_sub(seeded.below(100) as u64),
            4 => *seeded.pick(&[0, 1, u64::MAX, u64::MAX >> 1, 1 << 40]),
            _ => seeded.below(60) as u64,
        };
        set(octets, at, new);
    }
    if seeded.once_in(3) {
        let reject = NUMBERS + 8 * NUMBERS_COUNT;
        octets[reject] ^= 1;
    }
}

/// Whatever a member is told, by whoever could be one, it goes on or says why it does not.
pub fn member_forged(seeded: &mut Seeded) {
    let mut victims = Victims::new(seeded);
    for _ in 0..TRIES {
        let (place, mut octets) = seeded.pick(&victims.sent).clone();
        if !seeded.once_in(5) {
            forge(seeded, &mut octets);
        }
        let _ = victims.seats[place].deliver(victims.now, &octets);
        victims.connect(seeded.below(3));
        victims.pass(1 + seeded.below(300) as u64);
        if victims.seats[0].failure().is_some() {
            return;
        }
    }
}

/// Holds a rule that does not hold: no message changes the member it comes to.
pub fn member_canary(seeded: &mut Seeded) {
    let victims = Victims::new(seeded);
    for _ in 0..TRIES {
        let (place, mut octets) = seeded.pick(&victims.sent).clone();
        forge(seeded, &mut octets);
        let before = victims.standing(place);
        let _ = victims.seats[place].deliver(victims.now, &octets);
        assert_eq!(victims.standing(place), before, "changed by a message");
    }
}
