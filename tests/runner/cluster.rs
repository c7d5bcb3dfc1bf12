//! The groups that a workload runs on.

use ferrymq::broker::Options;
use ferrymq::broker::ids::MemberId;
use ferrymq::cluster::lockstep::{Seat, Settings, seats, seats_of};
use ferrymq::cluster::machine::Machine;
use ferrymq::cluster::solo::Solo;
use ferrymq::cluster::{Group, Millis};

/// A group with all its seats.
pub trait Cluster {
    /// How many seats there are.
    fn len(&self) -> usize;

    /// A seat.
    fn seat(&self, place: usize) -> &dyn Group;

    /// Ends and starts a member anew.
    fn restart(&self, now: Millis, place: usize);

    /// Lets time pass on all seats. Gives when something happens next.
    fn pass(&self, _before: Millis, now: Millis) -> Option<Millis> {
        let seats = 0..self.len();
        let next = seats.map(|place| self.seat(place).tick(now));
        next.flatten().min()
    }

    /// How often work was too much for one entry, where that is counted.
    fn continuations(&self) -> u64 {
        0
    }

    /// What went wrong on the way, in words.
    fn faults(&self) -> String;
}

impl Cluster for Solo {
    fn len(&self) -> usize {
        1
    }

    fn seat(&self, _: usize) -> &dyn Group {
        self
    }

    fn restart(&self, now: Millis, _: usize) {
        Solo::restart(self, now);
    }

    fn faults(&self) -> String {
        "solo: none".to_owned()
    }
}

impl<M: Machine> Cluster for Vec<Seat<M>> {
    fn len(&self) -> usize {
        Vec::len(self)
    }

    fn seat(&self, place: usize) -> &dyn Group {
        &self[place]
    }

    fn restart(&self, now: Millis, place: usize) {
        self[place].restart(now);
    }

    fn continuations(&self) -> u64 {
        self[0].tally().continuations
    }

    fn faults(&self) -> String {
        format!("{:?}", self[0].tally())
    }
}

fn options() -> Options {
    Options {
        queue_purge_interval: 400,
        ..Options::default()
    }
}

/// One broker.
pub fn solo() -> Solo {
    Solo::new(MemberId(7), options(), Millis(1000))
}

/// Three cores in lockstep.
pub fn lockstep(settings: Settings) -> impl Cluster {
    seats(3, options(), settings, Millis(1000))
}

/// Machines of another kind in lockstep.
pub fn machines<M: Machine>(machines: Vec<M>, settings: Settings) -> impl Cluster {
    seats_of(machines, settings, Millis(1000))
}
