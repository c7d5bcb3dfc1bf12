//! What is on its way: proposals to the sequencer, and the news who that is.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::dice::Dice;
use super::faults::{Faults, Tally};
use crate::cluster::Millis;

/// A proposal: an encoded origin with encoded commands.
#[derive(Clone, Debug)]
pub(super) struct Proposal {
    /// The member that sent it.
    pub from: usize,
    /// The term of the sequencer it was sent to.
    pub term: u64,
    /// Its number when a member's connections proposed it; None for the sequencer's own.
    pub seq: Option<u64>,
    /// Whether it is sent for the first time.
    pub is_first: bool,
    /// Origin and commands.
    pub bytes: Arc<[u8]>,
}

/// Something on its way.
#[derive(Clone, Debug)]
pub(super) enum Flight {
    /// To whoever was the sequencer when it was sent.
    Proposal(Proposal),
    /// To a member: who the sequencer is.
    News {
        /// The member.
        to: usize,
        /// The sequencer's term.
        term: u64,
        /// The sequencer.
        sequencer: usize,
    },
}

/// The network between the members.
#[derive(Debug)]
pub(super) struct Network {
    pub dice: Dice,
    pub faults: Faults,
    flights: BTreeMap<(Millis, u64), Flight>,
    sent: u64,
}

impl Network {
    pub fn new(dice: Dice, faults: Faults) -> Network {
        Network {
            dice,
            faults,
            flights: BTreeMap::new(),
            sent: 0,
        }
    }

    /// Sends a proposal: it may be lost, come twice, and take its time.
    pub fn propose(&mut self, now: Millis, proposal: Proposal, tally: &mut Tally) {
        if self.dice.chance(self.faults.drops) {
            tally.drops += 1;
            return;
        }
        if self.dice.chance(self.faults.doublings) {
            tally.doublings += 1;
            let again = Proposal {
                is_first: false,
                ..proposal.clone()
            };
            self.send(now, Flight::Proposal(again));
        }
        self.send(now, Flight::Proposal(proposal));
    }

    /// Sends something that arrives for certain, some time.
    pub fn send(&mut self, now: Millis, flight: Flight) {
        let arrives = Millis(now.0 + self.faults.delay(&mut self.dice));
        self.sent += 1;
        self.flights.insert((arrives, self.sent), flight);
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

    /// Another member than `not`, of `members`.
    pub fn other(&mut self, not: usize, members: usize) -> usize {
        let step = 1 + self.dice.below(members.saturating_sub(1).max(1) as u64) as usize;
        (not + step) % members
    }
}

/// The earlier of two times that may not come.
pub(super) fn earlier(a: Option<Millis>, b: Option<Millis>) -> Option<Millis> {
    [a, b]
        .into_iter()
        .flatten()
        .max_by_key(|time| Reverse(*time))
}
