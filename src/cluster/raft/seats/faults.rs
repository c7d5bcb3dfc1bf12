//! What can be done to a member of a simulated group.

use super::super::ordered::Change;
use super::{Faults, Seat};
use crate::cluster::Millis;
use crate::cluster::machine::Machine;
use crate::store::SimulatedDisk;
use crate::store::simulated::Failure;

impl<M: Machine> Seat<M> {
    /// The power goes: the member is gone, and its disk is one of those that can be left.
    pub fn crash(&self, now: Millis) {
        self.call(now, |state| {
            let (dice, tally) = (&mut state.dice, &mut state.network.tally);
            tally.crashes += 1;
            state.nodes[self.place].crash(dice, tally);
        });
    }

    /// The member starts again from its disk, if it can: one whose journal is damaged does not, and
    /// one that has left does not. Its wall clock is off by so much.
    pub fn start(&self, now: Millis, wall_off_ms: i64) {
        self.call(now, |state| {
            state.nodes[self.place].clocks.wall_off_ms = wall_off_ms;
            state.start_again(self.place);
        });
    }

    /// The disk is lost, or given up: a new member takes its place, on an empty one. It joins as a
    /// learner.
    pub fn wipe(&self, now: Millis) {
        self.call(now, |state| {
            let old = state.nodes[self.place].settings.member;
            state.network.tally.losses += 1;
            state.changes.push_back(Change::Leave(old));
            state.newcomer(self.place);
        });
    }

    /// The member is taken out of the group, and ends when it is.
    pub fn leave(&self, now: Millis) {
        self.call(now, |state| {
            let node = &mut state.nodes[self.place];
            node.is_leaving = true;
            let id = node.settings.member;
            state.changes.push_back(Change::Leave(id));
        });
    }

    /// A new member comes to the place of one that has left.
    pub fn join(&self, now: Millis) {
        self.call(now, |state| {
            if state.nodes[self.place].is_absent {
                state.network.tally.joins += 1;
                state.newcomer(self.place);
            }
        });
    }

    /// The member is given octets, as if another had sent them.
    ///
    /// # Errors
    /// It did not heed them, and says why.
    pub fn deliver(&self, now: Millis, octets: &[u8]) -> Result<(), String> {
        self.call(now, |state| state.deliver(self.place, octets))
    }

    /// The member's disk, as it is.
    pub fn disk(&self) -> SimulatedDisk {
        self.state.lock().nodes[self.place].disk.clone()
    }

    /// What is on its way in the group: to whom, and the octets.
    pub fn in_flight(&self) -> Vec<(usize, Vec<u8>)> {
        self.state.lock().network.in_flight()
    }

    /// The member does nothing for a time.
    pub fn pause(&self, now: Millis, milliseconds: u64) {
        self.call(now, |state| {
            state.network.tally.pauses += u64::from(milliseconds > 0);
            state.nodes[self.place].paused_until = Millis(state.now.0 + milliseconds);
        });
    }

    /// Nothing that this member sends comes to another, from now on, or all comes again.
    pub fn cut(&self, now: Millis, to: usize, is_cut: bool) {
        self.call(now, |state| state.network.cut(self.place, to, is_cut));
    }

    /// The n-th sync or write of the member's disk from now on fails; it is as good as new when the
    /// member has ended.
    pub fn hurt_disk(&self, now: Millis, calls: u64) {
        self.call(now, |state| state.nodes[self.place].hurt(calls));
    }

    /// One of the next reads of the member's disk fails: when it starts, it reads.
    pub fn hurt_reading(&self, now: Millis, calls: u64) {
        self.call(now, |state| state.nodes[self.place].hurt_reading(calls));
    }

    /// The n-th write of the member's disk from now on goes nowhere; or, if `further` is not 0, that
    /// many octets further on.
    pub fn deceive(&self, now: Millis, calls: u64, further: u64) {
        let lie = match further {
            0 => Failure::Lost,
            _ => Failure::Misdirected(further),
        };
        self.call(now, |state| state.nodes[self.place].deceive(calls, lie));
    }

    /// The member stops in order, and a bit of its disk is flipped while it is at rest.
    pub fn rot(&self, now: Millis) {
        self.call(now, |state| {
            state.network.tally.flips += 1;
            state.nodes[self.place].rot(&mut state.dice);
        });
    }

    /// The member's disk has so much room left, or, with None, enough.
    pub fn set_room(&self, now: Millis, bytes: Option<u64>) {
        self.call(now, |state| match bytes {
            Some(bytes) => state.nodes[self.place].narrow(bytes),
            None => state.nodes[self.place].widen(),
        });
    }

    /// Until then every sync of the member's disk takes so many milliseconds at least.
    pub fn slow_disk(&self, now: Millis, sync_ms: u64, until: Millis) {
        self.call(now, |state| {
            state.network.tally.slow_syncs += 1;
            state.nodes[self.place].slow = (sync_ms, until);
        });
    }

    /// The member's wall clock is set forward, or back.
    pub fn step_wall(&self, now: Millis, milliseconds: i64) {
        self.call(now, |state| {
            state.network.tally.wall_steps += 1;
            state.nodes[self.place].clocks.wall_off_ms += milliseconds;
        });
    }

    /// Of the member's monotonic clock so many milliseconds pass in a thousand.
    pub fn drift(&self, now: Millis, per_mille: u64) {
        self.call(now, |state| {
            state.network.tally.drifts += u64::from(per_mille != 1000);
            let now = state.now;
            state.nodes[self.place].clocks.drift(now, per_mille);
        });
    }

    /// The member's disk refuses nothing any more, has room and is as quick as it was.
    pub fn mend_disk(&self, now: Millis) {
        self.call(now, |state| {
            let node = &mut state.nodes[self.place];
            node.mend();
            node.widen();
            node.slow = (0, Millis(0));
        });
    }

    /// Sets what goes wrong on the network and on the disks.
    pub fn set_faults(&self, now: Millis, faults: Faults) {
        self.call(now, |state| state.network.faults = faults);
    }
}
