//! What is on its way between members, and what becomes of it.

use std::collections::{BTreeMap, BTreeSet};

use super::super::ordered;
use crate::cluster::Millis;
use crate::cluster::lockstep::dice::Dice;

/// How often what goes wrong, in a thousand, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Faults {
    /// A message is lost.
    pub drops: u32,
    /// A message arrives twice.
    pub doublings: u32,
    /// A message takes longer than a millisecond, so that later ones overtake it.
    pub delays: u32,
    /// How long it takes then at most, in milliseconds.
    pub delay_ms_max: u64,
    /// A sync takes long.
    pub slow_syncs: u32,
    /// How long it takes then at most, in milliseconds.
    pub sync_ms_max: u64,
}

impl Faults {
    /// Nothing goes wrong: a message and a sync take a millisecond.
    pub const NONE: Faults = Faults {
        drops: 0,
        doublings: 0,
        delays: 0,
        delay_ms_max: 0,
        slow_syncs: 0,
        sync_ms_max: 0,
    };
}

/// How often what happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Messages sent.
    pub messages: u64,
    /// Messages lost.
    pub drops: u64,
    /// Messages lost because the way is cut.
    pub cut_off: u64,
    /// Messages that came twice.
    pub doublings: u64,
    /// Refusals of raft's among them.
    pub doubled_rejects: u64,
    /// Messages that took long.
    pub delays: u64,
    /// Messages that came before one that the same member had sent to the same before.
    pub overtakes: u64,
    /// Messages not heeded by whom they came to.
    pub refused: u64,
    /// Syncs that took long.
    pub slow_syncs: u64,
    /// Ways that were cut, each in one direction.
    pub cuts: u64,
    /// Members that lost their power.
    pub crashes: u64,
    /// Pieces of a disk of which a power cut left a part.
    pub torn: u64,
    /// Pieces of a disk, written and not synced, of which a power cut left nothing.
    pub unsynced: u64,
    /// Members that did nothing for a time.
    pub pauses: u64,
    /// Members that ended because their disk refused.
    pub failures: u64,
    /// Disks that were full when something was to be written.
    pub full: u64,
    /// Writes that went nowhere.
    pub lost_writes: u64,
    /// Writes that went elsewhere.
    pub misdirected_writes: u64,
    /// Bits that were flipped on a disk at rest.
    pub flips: u64,
    /// Members that did not start because their disk could not be read.
    pub unreadable: u64,
    /// Members that did not start because their journal was damaged.
    pub damaged: u64,
    /// Wall clocks that were set anew.
    pub wall_steps: u64,
    /// Monotonic clocks that became fast or slow.
    pub drifts: u64,
    /// Disks that were lost, or given up.
    pub losses: u64,
    /// Members that were taken out of the group, all being well with them.
    pub leaves: u64,
    /// Members that came in their place.
    pub joins: u64,
    /// Changes made of who takes part.
    pub changes: u64,
    /// Members that another version was put in place of.
    pub upgrades: u64,
    /// Members that went back to the older version.
    pub downgrades: u64,
    /// Times that the level was to be raised.
    pub raises: u64,
}

/// A message on its way.
pub(super) struct Flight {
    pub to: usize,
    pub octets: Vec<u8>,
}

/// See the module.
pub(super) struct Network {
    pub faults: Faults,
    pub tally: Tally,
    dice: Dice,
    cuts: BTreeSet<(usize, usize)>,
    flights: BTreeMap<(Millis, u64), Flight>,
    /// When what a member sent to another arrives at the latest.
    latest: BTreeMap<(usize, usize), Millis>,
    sent: u64,
    members: usize,
}

impl Network {
    pub fn new(seed: u64, faults: Faults, members: usize) -> Network {
        Network {
            faults,
            tally: Tally::default(),
            dice: Dice::new(seed),
            cuts: BTreeSet::new(),
            flights: BTreeMap::new(),
            latest: BTreeMap::new(),
            sent: 0,
            members,
        }
    }

    /// Cuts the way from one member to another, or mends it.
    pub fn cut(&mut self, from: usize, to: usize, is_cut: bool) {
        if from >= self.members || to >= self.members {
            return;
        }
        match is_cut {
            true => self.tally.cuts += u64::from(self.cuts.insert((from, to))),
            false => drop(self.cuts.remove(&(from, to))),
        }
    }

    /// Whether the way from one member to another is cut.
    pub fn is_cut(&self, from: usize, to: usize) -> bool {
        self.cuts.contains(&(from, to))
    }

    pub fn send(&mut self, now: Millis, from: usize, to: usize, octets: Vec<u8>) {
        self.tally.messages += 1;
        if self.cuts.contains(&(from, to)) {
            self.tally.cut_off += 1;
            return;
        }
        if self.dice.chance(self.faults.drops) {
            self.tally.drops += 1;
            return;
        }
        if self.dice.chance(self.faults.doublings) {
            self.tally.doublings += 1;
            self.tally.doubled_rejects += u64::from(ordered::is_reject(&octets));
            let octets = octets.clone();
            self.put(now, from, Flight { to, octets });
        }
        self.put(now, from, Flight { to, octets });
    }

    fn put(&mut self, now: Millis, from: usize, flight: Flight) {
        let mut arrives = now.0 + 1;
        if self.dice.chance(self.faults.delays) {
            self.tally.delays += 1;
            arrives += self.dice.below(self.faults.delay_ms_max);
        }
        let latest = self.latest.entry((from, flight.to)).or_default();
        self.tally.overtakes += u64::from(arrives < latest.0);
        latest.0 = latest.0.max(arrives);
        self.put_off(flight, Millis(arrives));
    }

    /// Lets a message arrive later.
    pub fn put_off(&mut self, flight: Flight, until: Millis) {
        self.sent += 1;
        self.flights.insert((until, self.sent), flight);
    }

    /// What has arrived, the earliest first.
    pub fn arrived(&mut self, now: Millis) -> Option<Flight> {
        let first = self.flights.first_entry()?;
        (first.key().0 <= now).then(|| first.remove())
    }

    /// When the next arrives.
    pub fn next(&self) -> Option<Millis> {
        self.flights.keys().next().map(|(arrives, _)| *arrives)
    }

    /// What is on its way.
    pub fn in_flight(&self) -> Vec<(usize, Vec<u8>)> {
        let flights = self.flights.values();
        flights
            .map(|flight| (flight.to, flight.octets.clone()))
            .collect()
    }

    /// How long the next sync takes, in milliseconds.
    pub fn sync_ms(&mut self) -> u64 {
        match self.dice.chance(self.faults.slow_syncs) {
            true => {
                self.tally.slow_syncs += 1;
                1 + self.dice.below(self.faults.sync_ms_max)
            }
            false => 1,
        }
    }
}
