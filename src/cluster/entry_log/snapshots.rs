//! Snapshots of a log: written in pieces, and read back so.

use std::sync::Arc;

use bytes::Bytes;

use super::contents::SnapshotAt;
use super::records::{self, PIECE_HEAD_BYTES, PieceHead};
use super::{EntryLog, Options, machine_at};
use crate::broker::snapshot::{Frozen, Pieces, Thawing};
use crate::cluster::machine::Machine;
use crate::store::{Journal, Part, Place};

/// A whole snapshot in a journal, for as long as its segments are there.
#[derive(Clone)]
pub(in crate::cluster) struct Written {
    journal: Arc<Journal>,
    at: SnapshotAt,
}

impl Written {
    /// What stands in front of its first piece.
    pub fn head(&self) -> PieceHead {
        self.at.head
    }

    /// The octets of a piece. Waits for the disk: not for a group's lock.
    ///
    /// # Errors
    /// There is no such piece, it cannot be read, or it was given back.
    pub fn piece(&self, piece: u32) -> Result<Bytes, String> {
        let place = self.at.places.get(piece as usize);
        let place = place.ok_or_else(|| format!("the snapshot has no piece {piece}"))?;
        Ok(Bytes::from(piece_at(&self.journal, place)?).slice(PIECE_HEAD_BYTES..))
    }
}

/// The whole record of a piece.
fn piece_at(journal: &Journal, place: &Place) -> Result<Vec<u8>, String> {
    let read = journal.read_record(place);
    let octets = read.map_err(|error| format!("the journal cannot be read back: {error}"))?;
    match octets.len() >= PIECE_HEAD_BYTES {
        true => Ok(octets),
        false => Err("a piece of a snapshot is too short".to_owned()),
    }
}

impl PieceHead {
    /// That of the first piece of a snapshot at an index; `wall` is when its last entry was first
    /// written.
    ///
    /// # Errors
    /// There are more pieces than can be counted.
    pub(in crate::cluster) fn first(
        wall: u64,
        index: u64,
        of: &Pieces,
    ) -> Result<PieceHead, String> {
        let pieces = u32::try_from(of.count()).map_err(|_| "a snapshot in too many pieces")?;
        Ok(PieceHead {
            wall,
            index,
            piece: 0,
            pieces,
            state_bytes: of.state_bytes(),
            messages_bytes: of.messages_bytes(),
        })
    }

    /// The same of another piece.
    pub(in crate::cluster) fn at(self, piece: u32) -> PieceHead {
        PieceHead { piece, ..self }
    }
}

impl EntryLog {
    /// What a log was opened with.
    pub(in crate::cluster) fn options(&self) -> &Options {
        &self.options
    }

    /// The newest whole snapshot.
    pub(in crate::cluster) fn newest_snapshot(&self) -> Option<Written> {
        Some(Written {
            journal: self.journal.clone(),
            at: self.contents.snapshot()?.clone(),
        })
    }

    /// The machine that the newest snapshot gives; None without one. It is read piece by piece.
    ///
    /// # Errors
    /// It cannot be read, or does not give a state.
    pub fn snapshot<M: Machine>(&self) -> Result<Option<M>, String> {
        let Some(SnapshotAt { head, places }) = self.contents.snapshot() else {
            return Ok(None);
        };
        let text = |error| format!("the snapshot at entry {}: {error}", head.index);
        let mut thawing = Thawing::new(head.state_bytes, head.messages_bytes);
        for place in places {
            let octets = piece_at(&self.journal, place)?;
            let pushed = thawing.push(octets.get(PIECE_HEAD_BYTES..).unwrap_or_default());
            pushed.map_err(text)?;
        }
        machine_at(head.index, thawing).map(Some)
    }

    /// When the last entry in the newest snapshot was first written.
    pub(in crate::cluster) fn snapshot_wall(&self) -> Option<u64> {
        self.contents.snapshot().map(|at| at.head.wall)
    }

    /// Appends the state as it was behind an entry of the log, one that will never be taken back.
    /// Whose journal it is stands in front of it once more, so that nothing before is needed.
    pub fn take_snapshot(&mut self, index: u64, frozen: Frozen) -> Result<(), String> {
        let wall = self.wall_of(index)?;
        self.write_snapshot(wall, index, frozen)
    }

    /// When an entry that is in the log by itself was first written.
    pub(in crate::cluster) fn wall_of(&self, index: u64) -> Result<u64, String> {
        let at = self.contents.entry(index);
        at.map(|at| at.wall).ok_or_else(|| {
            format!("a snapshot at entry {index}, which is not in the log by itself")
        })
    }

    /// Appends a state from elsewhere, that of the beginning or another member's: it is behind all
    /// entries of the log. `wall` is when the last entry in it was first written.
    pub fn install(&mut self, wall: u64, index: u64, frozen: Frozen) -> Result<(), String> {
        self.allows_state_at(index)?;
        self.write_snapshot(wall, index, frozen)?;
        self.installed(index);
        Ok(())
    }

    fn allows_state_at(&self, index: u64) -> Result<(), String> {
        if index < self.last_index() {
            let last = self.last_index();
            return Err(format!("a state at entry {index}, and the log has {last}"));
        }
        Ok(())
    }

    fn installed(&mut self, index: u64) {
        self.synced_index();
        self.unsynced.clear();
        if let Some(at) = self.contents.snapshot() {
            self.unsynced.push_back((at.end(), index));
        }
    }

    fn write_snapshot(&mut self, wall: u64, index: u64, frozen: Frozen) -> Result<(), String> {
        let mut pieces = frozen.into_pieces(self.options.snapshot_piece_bytes);
        let first = PieceHead::first(wall, index, &pieces)?;
        for piece in 0..first.pieces {
            let octets = pieces.next_piece()?.unwrap_or_default();
            self.write_piece(first.at(piece), &octets)?;
        }
        Ok(())
    }

    /// Appends a piece. The snapshot counts when its last one is on the disk; the first one of another
    /// begins anew. Entries may come between.
    pub(in crate::cluster) fn write_piece(
        &mut self,
        head: PieceHead,
        octets: &Bytes,
    ) -> Result<(), String> {
        if head.piece == 0 {
            if let Some(voter) = self.voter() {
                self.vote(voter)?;
            }
            if let Some(state) = self.raft_state() {
                self.promise(state)?;
            }
        }
        let head_octets = records::octets(&head);
        let parts = [Part::Octets(&head_octets), Part::Shared(octets)];
        let place = self.write(records::SNAPSHOT, &parts)?;
        self.contents.add_piece(head, place)
    }

    /// Appends the last piece of a state from elsewhere, of which the others are there: see
    /// [`EntryLog::install`].
    pub(in crate::cluster) fn install_last_piece(
        &mut self,
        head: PieceHead,
        octets: &Bytes,
    ) -> Result<(), String> {
        self.allows_state_at(head.index)?;
        self.write_piece(head, octets)?;
        match self.snapshot_index() == head.index {
            true => {
                self.installed(head.index);
                Ok(())
            }
            false => Err(format!("the state at entry {} is not whole", head.index)),
        }
    }
}
