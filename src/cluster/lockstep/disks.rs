//! What the members have on their disks, and so what is acknowledged.

use std::sync::Arc;
use std::sync::Weak;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use super::State;
use crate::cluster::Millis;
use crate::cluster::entry_log::Plant;
use crate::cluster::machine::Machine;
use crate::cluster::outbox::Woken;
use crate::store::{self, Journal};

/// See the module. A group that keeps nothing has none.
pub(super) struct Disks {
    /// The wall-clock time at `Millis(0)`.
    pub wall_at_zero: u64,
    /// The last entry that a majority has on its disks.
    pub acknowledged: u64,
    /// Whether a journal has no room.
    pub is_full: Arc<AtomicBool>,
    pub plant: Plant,
}

/// A member's place, its journal, and segments of that to be given back.
pub(super) type Superseded = (usize, Arc<Journal>, Vec<u64>);

impl<M: Machine> State<M> {
    /// The wall-clock time.
    pub(super) fn wall(&self) -> u64 {
        let zero = self.disks.as_ref().map_or(0, |disks| disks.wall_at_zero);
        zero.saturating_add(self.now.0)
    }

    /// A member has applied an entry and appended it to its log: a snapshot may be due.
    pub(super) fn appended(&mut self, place: usize) {
        let member = &mut self.members[place];
        let Some(log) = &mut member.log else { return };
        if log.wants_snapshot() {
            log.hold(member.machine.index(), member.machine.freeze());
        }
        self.write_later(place);
    }

    fn write_later(&mut self, place: usize) {
        let network = &mut self.network;
        if let Some(log) = &mut self.members[place].log
            && log.writes_at().is_none()
        {
            let delay = network.faults.delay(&mut network.dice);
            log.write_at(Millis(self.now.0 + delay));
        }
    }

    /// Lets a member write, if it is time. False when it is not.
    pub(super) fn write(&mut self, place: usize) -> bool {
        let now = self.now;
        let log = self.members[place].log.as_mut();
        log.is_some_and(|log| log.write(now))
    }

    /// Finds out how far the disks have come, and lets go of the effects that waited for it.
    pub(super) fn settle(&mut self, woken: &mut Woken) {
        let Some(acknowledged) = self.acknowledged() else {
            return;
        };
        for member in &mut self.members {
            member.outboxes.synced(acknowledged, woken);
        }
        for place in 0..self.members.len() {
            if let Err(problem) = self.settle_log(place, acknowledged) {
                self.fail(format!("member {}: {problem}", place + 1), woken);
            }
        }
    }

    fn settle_log(&mut self, place: usize, acknowledged: u64) -> Result<(), String> {
        let plant = self.disks.as_ref().map_or(Plant::None, |disks| disks.plant);
        let Some(log) = &mut self.members[place].log else {
            return Ok(());
        };
        if let Some(why) = log.log.failure() {
            return Err(why);
        }
        if log.acknowledged(acknowledged, plant)? {
            self.write_later(place);
        }
        Ok(())
    }

    /// The last entry that a majority has on its disks. As long as the journal of a member has no
    /// room, all must have it: a member cannot fall behind further than its journal may buffer.
    fn acknowledged(&mut self) -> Option<u64> {
        let disks = self.disks.as_mut()?;
        let (mut synced, mut have_room, mut is_full) = (Vec::new(), true, false);
        for log in self.members.iter_mut().filter_map(|m| m.log.as_mut()) {
            synced.push(log.log.synced_index());
            have_room &= log.log.journal().has_room();
            is_full |= matches!(log.log.journal().state(), store::State::Full(_));
        }
        synced.sort_unstable();
        synced.reverse();
        let majority = synced.len() / 2 + 1;
        let last_needed = match (disks.plant, have_room) {
            (Plant::AcknowledgedByOne, _) => 1,
            (_, true) => majority,
            (_, false) => synced.len(),
        };
        let found = synced.get(last_needed - 1).copied().unwrap_or(0);
        disks.acknowledged = disks.acknowledged.max(found);
        if disks.is_full.swap(is_full, Ordering::Relaxed) != is_full {
            match is_full {
                true => tracing::error!(
                    target: "Store",
                    "No room for a journal of the group. Messages are refused until there is some"
                ),
                false => tracing::warn!(target: "Store", "There is room for the journals again"),
            }
        }
        Some(disks.acknowledged)
    }

    /// The segments that members can give back now, off the lock.
    pub(super) fn superseded(&mut self) -> Vec<Superseded> {
        let mut all = Vec::new();
        for (place, member) in self.members.iter_mut().enumerate() {
            let Some(log) = &mut member.log else { continue };
            let segments = log.superseded();
            if !segments.is_empty() {
                all.push((place, log.log.journal().clone(), segments));
            }
        }
        all
    }

    /// Whether somebody has to call for what the disks have done: a segment can be given back, or
    /// the group has failed.
    fn is_called_for(&self) -> bool {
        let gives_back = |log: &super::MemberLog| log.gives_back();
        let logs = self.members.iter().filter_map(|m| m.log.as_ref());
        self.failure.is_some() || logs.into_iter().any(gives_back)
    }

    /// A journal has come further, or stands otherwise than before. Called by its thread.
    pub(super) fn journal_moved(state: &Weak<Mutex<State<M>>>) {
        let Some(state) = state.upgrade() else { return };
        let mut woken = Woken::default();
        let mut guard = state.lock();
        guard.settle(&mut woken);
        if guard.is_called_for() {
            let sequencer = guard.members.iter().find_map(|m| m.sequencer.as_ref());
            if let Some((waker, _)) = sequencer {
                woken.push(waker.clone());
            }
        }
        drop(guard);
        woken.wake();
    }
}
