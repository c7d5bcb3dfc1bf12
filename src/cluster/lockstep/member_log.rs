//! A member's log, and what brings it to the disk.

use std::thread;
use std::time::Duration;

use super::member::Entry;
use crate::broker::snapshot::Frozen;
use crate::cluster::entry_log::{EntryLog, Plant};
use crate::cluster::{Millis, limits};
use crate::store::{State, Turn, Writer};

/// See the module.
pub(super) struct MemberLog {
    pub log: EntryLog,
    /// Writes when the group is called; None when the journal has a thread that does.
    writer: Option<Writer>,
    /// When it writes next, while there is something to write.
    writes_at: Option<Millis>,
    /// A state and the entry behind which it is, until a majority has that entry.
    held: Option<(u64, Frozen)>,
    /// Whether there may be segments to give back.
    gives_back: bool,
}

impl MemberLog {
    pub fn new(log: EntryLog, writer: Option<Writer>) -> MemberLog {
        MemberLog {
            log,
            writer,
            writes_at: None,
            held: None,
            gives_back: true,
        }
    }

    /// Appends an entry. `wall` is the wall-clock time.
    pub fn append(&mut self, wall: u64, entry: &Entry) -> Result<(), String> {
        self.log.append(wall, entry.index, &entry.bytes)
    }

    /// Whether it wants a state to keep as a snapshot.
    pub fn wants_snapshot(&self) -> bool {
        self.held.is_none() && self.log.is_snapshot_due()
    }

    /// Keeps a state as a snapshot, once a majority has the entry behind which it is.
    pub fn hold(&mut self, index: u64, frozen: Frozen) {
        self.held = Some((index, frozen));
    }

    /// Writes the snapshot that is held, if a majority has come so far. True when it did.
    pub fn acknowledged(&mut self, index: u64, plant: Plant) -> Result<bool, String> {
        let is_due = |(at, _): &mut (u64, Frozen)| *at <= index || plant == Plant::SnapshotAhead;
        let Some((at, frozen)) = self.held.take_if(is_due) else {
            return Ok(false);
        };
        self.log.take_snapshot(at, frozen)?;
        self.gives_back = true;
        Ok(true)
    }

    /// The segments to be given back now: each is named once.
    pub fn superseded(&mut self) -> Vec<u64> {
        if !self.gives_back {
            return Vec::new();
        }
        let superseded = self.log.superseded();
        self.gives_back = superseded.is_empty() && !self.log.is_snapshot_synced();
        superseded
    }

    /// Whether there may be segments to give back now.
    pub fn gives_back(&self) -> bool {
        self.gives_back && self.log.is_snapshot_synced()
    }

    /// Something was appended, and is written at `at`, if not before.
    pub fn write_at(&mut self, at: Millis) {
        if self.writer.is_some() {
            self.writes_at.get_or_insert(at);
        }
    }

    /// When it writes next.
    pub fn writes_at(&self) -> Option<Millis> {
        self.writes_at
    }

    /// Writes what waits, if it is time. False when it is not.
    pub fn write(&mut self, now: Millis) -> bool {
        if self.writes_at.is_none_or(|at| at > now) {
            return false;
        }
        self.writes_at = None;
        if self.work() == Turn::Full {
            self.writes_at = Some(Millis(now.0 + limits::FULL_LOOKS_MS));
        }
        true
    }

    fn work(&mut self) -> Turn {
        let Some(writer) = &mut self.writer else {
            return Turn::Idle;
        };
        loop {
            match writer.turn() {
                Turn::Worked => {}
                turn => return turn,
            }
        }
    }

    /// Waits until what was appended is on the disk up to a position.
    pub fn wait(&mut self, end: u64) -> Result<(), String> {
        loop {
            self.work();
            if self.log.journal().synced() >= end {
                return Ok(());
            }
            match self.log.journal().state() {
                State::Ok if self.writer.is_some() => {
                    return Err("the journal does not write".to_owned());
                }
                State::Ok => thread::sleep(Duration::from_millis(limits::SYNC_LOOKS_MS)),
                State::Full(why) => return Err(format!("no room for the journal: {why}")),
                State::Failed(why) => return Err(format!("the journal has failed: {why}")),
            }
        }
    }

    /// Waits while too much waits to be written.
    pub fn wait_for_room(&mut self) -> Result<(), String> {
        match self.log.journal().has_room() {
            true => Ok(()),
            false => self.wait(self.log.end()),
        }
    }

    /// Writes and syncs all, at the end, unless a thread does that when the journal is closed.
    pub fn finish(&mut self) {
        if let Some(writer) = &mut self.writer {
            writer.finish();
        }
    }
}
