//! What raft reads of its member's log.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

use bytes::Bytes;
use raft::prelude::{Entry, HardState};
use raft::{Error, GetEntriesContext, RaftState, StorageError};

use super::codec;
use super::ordered::Ordered;
use crate::broker::encoding::{Decoder, Encoder};
use crate::cluster::entry_log::{Configuration, EntryLog, PieceHead, RaftBase};

/// A log, its newest entries in memory, and why it could not be read.
pub(super) struct Storage {
    pub log: EntryLog,
    /// The last entries of the log, without a gap up to its end; some of them may be in the snapshot,
    /// for members that are a little behind it.
    recent: VecDeque<Entry>,
    recent_bytes: usize,
    recent_bytes_max: usize,
    failure: RefCell<Option<String>>,
    /// A member is to get a snapshot that says that it takes part, and there is none yet.
    wants_snapshot: Cell<bool>,
}

impl Storage {
    pub fn new(log: EntryLog, recent_bytes_max: usize) -> Storage {
        Storage {
            log,
            recent_bytes_max,
            recent: VecDeque::new(),
            recent_bytes: 0,
            failure: RefCell::new(None),
            wants_snapshot: Cell::new(false),
        }
    }

    /// Whether a newer snapshot was asked for since this was last called.
    pub fn wants_snapshot(&self) -> bool {
        self.wants_snapshot.take()
    }

    /// Why the log could not be read.
    pub fn failure(&self) -> Option<String> {
        self.failure.borrow().clone()
    }

    /// Appends entries that follow one another. Those in their places are taken back before.
    pub fn append(&mut self, entries: &[Entry]) -> Result<(), String> {
        for entry in entries {
            if entry.index <= self.log.last_index() {
                self.truncate_after(entry.index - 1)?;
            }
            let mut encoder = Encoder::default();
            codec::encode_entry(entry, &mut encoder);
            let wall = Ordered::wall_of(&entry.data);
            let wall = wall.or(self.log.last_wall()).unwrap_or(0);
            let place = (wall, entry.index, entry.term);
            self.log.append_raft(place, &encoder.bytes)?;
            self.recent_bytes += entry.data.len();
            self.recent.push_back(entry.clone());
            while self.recent_bytes > self.recent_bytes_max
                && let Some(first) = self.recent.pop_front()
            {
                self.recent_bytes -= first.data.len();
            }
        }
        Ok(())
    }

    fn truncate_after(&mut self, index: u64) -> Result<(), String> {
        self.log.truncate_after(index)?;
        while let Some(last) = self.recent.pop_back_if(|entry| entry.index > index) {
            self.recent_bytes -= last.data.len();
        }
        Ok(())
    }

    /// Lets the state that another member sent take the place of all that there is: its pieces are in
    /// the log, but for the last.
    pub fn install(
        &mut self,
        base: RaftBase,
        head: PieceHead,
        octets: &Bytes,
    ) -> Result<(), String> {
        if self.log.last_index() > base.index {
            self.truncate_after(base.index)?;
        }
        self.recent.clear();
        self.recent_bytes = 0;
        self.log.raft_base_follows(base)?;
        self.log.install_last_piece(head, octets)
    }

    fn recent(&self, index: u64) -> Option<&Entry> {
        let first = self.recent.front()?.index;
        self.recent
            .get(usize::try_from(index.checked_sub(first)?).ok()?)
    }

    fn entry(&self, index: u64) -> Result<Entry, String> {
        match self.recent(index) {
            Some(entry) => Ok(entry.clone()),
            None => read(&self.log, index),
        }
    }

    /// The first entry that others can be given: of the one before it, the term is known.
    fn first(&self) -> u64 {
        let behind_snapshot = self.log.snapshot_index() + 1;
        let recent = self
            .recent
            .front()
            .map_or(u64::MAX, |entry| entry.index + 1);
        recent.min(behind_snapshot)
    }
}

impl raft::Storage for Storage {
    fn initial_state(&self) -> raft::Result<RaftState> {
        let promised = self.log.raft_state().unwrap_or_default();
        // What is in a snapshot is in the order; what was lost with the end of the log was not told.
        let known = promised.commit.min(self.log.last_index());
        let hard = HardState {
            term: promised.term,
            vote: promised.vote,
            commit: known.max(self.log.snapshot_index()),
            ..HardState::default()
        };
        let base = self.log.raft_base();
        let configuration = base.map(|base| codec::conf_state_of(&base.configuration));
        Ok(RaftState::new(hard, configuration.unwrap_or_default()))
    }

    fn entries(
        &self,
        low: u64,
        high: u64,
        max_size: impl Into<Option<u64>>,
        _: GetEntriesContext,
    ) -> raft::Result<Vec<Entry>> {
        if low < self.first() {
            return Err(Error::Store(StorageError::Compacted));
        }
        let (mut left, mut entries) = (max_size.into().unwrap_or(u64::MAX), Vec::new());
        for index in low..high {
            match self.entry(index) {
                Ok(entry) => {
                    let bytes = (entry.data.len() + entry.context.len()) as u64;
                    if bytes > left && !entries.is_empty() {
                        break;
                    }
                    left = left.saturating_sub(bytes);
                    entries.push(entry);
                }
                // Fewer are no harm; the member ends because of the failure.
                Err(why) => {
                    self.failure.borrow_mut().get_or_insert(why);
                    break;
                }
            }
        }
        Ok(entries)
    }

    fn term(&self, index: u64) -> raft::Result<u64> {
        if index == 0 && self.log.raft_base().is_none() {
            return Ok(0);
        }
        let recent = self.recent(index).map(|entry| entry.term);
        match recent.or_else(|| self.log.raft_term(index)) {
            Some(term) => Ok(term),
            None if index < self.first() => Err(Error::Store(StorageError::Compacted)),
            None => Err(Error::Store(StorageError::Unavailable)),
        }
    }

    fn first_index(&self) -> raft::Result<u64> {
        Ok(self.first())
    }

    fn last_index(&self) -> raft::Result<u64> {
        Ok(self.log.last_index())
    }

    fn snapshot(&self, request_index: u64, to: u64) -> raft::Result<raft::prelude::Snapshot> {
        let base = self.log.raft_base();
        let unavailable = Error::Store(StorageError::SnapshotTemporarilyUnavailable);
        let Some(base) = base else {
            return Err(unavailable);
        };
        let Configuration {
            voters, learners, ..
        } = &base.configuration;
        let takes_part = voters.contains(&to) || learners.contains(&to);
        if !takes_part || base.index < request_index {
            self.wants_snapshot.set(true);
            return Err(unavailable);
        }
        Ok(codec::snapshot_of(base))
    }
}

/// An entry as it is in a log.
pub(super) fn read(log: &EntryLog, index: u64) -> Result<Entry, String> {
    let octets = log.raft_entry(index)?;
    let mut from = Decoder::new(&octets);
    let entry = codec::decode_entry(&mut from);
    let entry = entry.map_err(|error| format!("entry {index}: {error}"))?;
    match entry.index == index && from.is_at_end() {
        true => Ok(entry),
        false => Err(format!("entry {index} is not what it says to be")),
    }
}

/// The machine and the base of a log that has a snapshot.
pub(super) fn begin<M: crate::cluster::machine::Machine>(
    log: &EntryLog,
) -> Result<Option<M>, String> {
    let machine = log.snapshot()?;
    match machine.is_some() && log.raft_base().is_none() {
        true => Err("the log has a snapshot that is not of a raft group".to_owned()),
        false => Ok(machine),
    }
}
