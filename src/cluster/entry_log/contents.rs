//! What a journal of entries holds, kept in memory while it is read and while it is written.

use std::collections::{BTreeMap, VecDeque};

use super::records::{
    EntryHead, PIECE_HEAD_BYTES, PieceHead, RaftBase, RaftState, Truncated, Voter,
};
use crate::store::Place;

/// Where an entry is.
#[derive(Clone, Debug)]
pub struct EntryAt {
    /// When it was first written.
    pub wall: u64,
    /// The term of the raft leader that ordered it; 0 in other groups.
    pub term: u64,
    /// Its record.
    pub place: Place,
}

/// Where a whole snapshot is.
#[derive(Clone, Debug)]
pub struct SnapshotAt {
    /// Of the first piece.
    pub head: PieceHead,
    /// All pieces.
    pub places: Vec<Place>,
}

impl SnapshotAt {
    /// The position behind it.
    pub fn end(&self) -> u64 {
        self.places.last().map_or(0, Place::end)
    }

    /// Octets of state and messages.
    pub fn bytes(&self) -> u64 {
        content_bytes(&self.places)
    }
}

fn content_bytes(places: &[Place]) -> u64 {
    let of = |place: &Place| u64::from(place.length()).saturating_sub(PIECE_HEAD_BYTES as u64);
    places.iter().map(of).sum()
}

/// See the module.
#[derive(Debug, Default)]
pub struct Contents {
    /// The entries behind the snapshot, without a gap.
    entries: VecDeque<EntryAt>,
    /// The index that the next entry has; 0 as long as nothing is known of it: the beginning of the
    /// journal may have been removed.
    next: u64,
    /// Octets of the entries behind the snapshot.
    entry_bytes: u64,
    snapshot: Option<SnapshotAt>,
    /// The newest, and the segment that it is in.
    voter: Option<(Voter, u64)>,
    /// The newest, and the segment that it is in.
    raft_state: Option<(RaftState, u64)>,
    /// Of the newest snapshot and those that are not whole yet, by index; and where each is.
    raft_bases: BTreeMap<u64, (RaftBase, u64)>,
    /// By segment: the highest index of an entry in it.
    segments: BTreeMap<u64, u64>,
    /// A snapshot of which not all pieces have come.
    gathering: Option<SnapshotAt>,
    has_begun_snapshot: bool,
    /// Entries that are not there: the first and the last.
    missing: Option<(u64, u64)>,
}

impl Contents {
    /// The newest whole snapshot.
    pub fn snapshot(&self) -> Option<&SnapshotAt> {
        self.snapshot.as_ref()
    }

    /// The last entry that the snapshot holds; 0 without one.
    pub fn snapshot_index(&self) -> u64 {
        self.snapshot.as_ref().map_or(0, |at| at.head.index)
    }

    /// Whose journal it is, once it counts.
    pub fn voter(&self) -> Option<Voter> {
        self.voter.map(|(voter, _)| voter)
    }

    /// The first entry behind the snapshot, there or not.
    pub fn first_index(&self) -> u64 {
        self.next.max(1) - self.entries.len() as u64
    }

    /// The last entry, be it in the snapshot only; 0 for none.
    pub fn last_index(&self) -> u64 {
        self.next.max(1) - 1
    }

    /// Octets that the entries behind the snapshot take.
    pub fn entry_bytes(&self) -> u64 {
        self.entry_bytes
    }

    /// Where an entry is, when it is there by itself and not only in the snapshot.
    pub fn entry(&self, index: u64) -> Option<&EntryAt> {
        let at = index.checked_sub(self.first_index())?;
        self.entries.get(usize::try_from(at).ok()?)
    }

    /// When the last entry was first written.
    pub fn last_wall(&self) -> Option<u64> {
        let last = self.entries.back().map(|entry| entry.wall);
        last.or(self.snapshot.as_ref().map(|at| at.head.wall))
    }

    /// Entries that are missing before the last one.
    pub fn missing(&self) -> Option<(u64, u64)> {
        match self.snapshot {
            None if self.first_index() > 1 => Some((1, self.first_index() - 1)),
            _ => self.missing,
        }
    }

    /// The segments before this one hold no piece of the newest snapshot, nor whose journal it is.
    pub fn needed_from(&self) -> u64 {
        let snapshot = self.snapshot.as_ref().and_then(|at| at.places.first());
        let snapshot = snapshot.map_or(0, |place| place.segment().number());
        let voter = self.voter.map_or(u64::MAX, |(_, segment)| segment);
        let state = self.raft_state.map_or(u64::MAX, |(_, segment)| segment);
        let base = self.raft_bases.get(&self.snapshot_index());
        let base = base.map_or(u64::MAX, |(_, segment)| *segment);
        snapshot.min(voter).min(state).min(base)
    }

    /// What a member of a raft group has promised.
    pub fn raft_state(&self) -> Option<RaftState> {
        self.raft_state.map(|(state, _)| state)
    }

    /// What raft must know of the newest snapshot.
    pub fn raft_base(&self) -> Option<&RaftBase> {
        let base = self.raft_bases.get(&self.snapshot_index());
        base.map(|(base, _)| base)
    }

    /// A member of a raft group promises something.
    pub fn add_raft_state(&mut self, state: RaftState, place: &Place) {
        self.raft_state = Some((state, place.segment().number()));
    }

    /// It is said what raft must know of the snapshot that comes.
    pub fn add_raft_base(&mut self, base: RaftBase, place: &Place) {
        let segment = place.segment().number();
        self.raft_bases.insert(base.index, (base, segment));
    }

    /// The highest index of an entry in a segment; 0 for none.
    pub fn last_in(&self, segment: u64) -> u64 {
        self.segments.get(&segment).copied().unwrap_or(0)
    }

    /// A segment has been removed.
    pub fn forget(&mut self, segment: u64) {
        self.segments.remove(&segment);
    }

    /// An entry comes behind what there is.
    ///
    /// Those between may be missing as long as the beginning of the journal is being removed: a
    /// later snapshot holds them.
    ///
    /// # Errors
    /// It stands where another stands already.
    pub fn add_entry(&mut self, head: EntryHead, place: Place) -> Result<(), String> {
        if head.index < self.next {
            return Err(format!(
                "entry {} comes behind entry {}",
                head.index,
                self.next - 1
            ));
        }
        if self.next != 0 && head.index > self.next {
            self.missing = Some((self.next, head.index - 1));
            self.drop_entries();
        }
        self.next = head.index + 1;
        let last = self.segments.entry(place.segment().number()).or_default();
        *last = (*last).max(head.index);
        self.entry_bytes += place.bytes();
        let EntryHead { wall, term, .. } = head;
        self.entries.push_back(EntryAt { wall, term, place });
        Ok(())
    }

    fn drop_entries(&mut self) {
        self.entries.clear();
        self.entry_bytes = 0;
    }

    /// A piece of a snapshot comes. One that was never finished is forgotten when the next begins.
    ///
    /// # Errors
    /// It does not follow the piece before, or the whole is not what it says to be.
    pub fn add_piece(&mut self, head: PieceHead, place: Place) -> Result<(), String> {
        let mut gathering = match self.gathering.take() {
            _ if head.piece == 0 => {
                self.has_begun_snapshot = true;
                let places = Vec::new();
                SnapshotAt { head, places }
            }
            Some(gathering) if follows(&gathering, &head) => gathering,
            // Its beginning was removed, because there is a newer one.
            None if !self.has_begun_snapshot => return Ok(()),
            _ => {
                let PieceHead { piece, index, .. } = head;
                return Err(format!(
                    "piece {piece} of the snapshot at entry {index} follows no piece before it"
                ));
            }
        };
        gathering.places.push(place);
        if head.piece + 1 < head.pieces {
            self.gathering = Some(gathering);
            return Ok(());
        }
        let bytes = head.state_bytes.checked_add(head.messages_bytes);
        if bytes != Some(gathering.bytes()) {
            let index = head.index;
            let has = gathering.bytes();
            return Err(format!(
                "the snapshot at entry {index} has {has} octets, not {} and {}",
                head.state_bytes, head.messages_bytes
            ));
        }
        self.add_snapshot(gathering)
    }

    fn add_snapshot(&mut self, snapshot: SnapshotAt) -> Result<(), String> {
        let index = snapshot.head.index;
        if let Some(before) = self.snapshot.as_ref().map(|at| at.head.index)
            && index <= before
        {
            return Err(format!(
                "the snapshot at entry {index} comes behind the one at entry {before}"
            ));
        }
        if index >= self.next {
            self.drop_entries();
            self.next = index + 1;
        }
        while self.first_index() <= index
            && let Some(entry) = self.entries.pop_front()
        {
            self.entry_bytes -= entry.place.bytes();
        }
        let first = self.first_index();
        self.missing = (index + 1 < first).then(|| (index + 1, first - 1));
        self.snapshot = Some(snapshot);
        self.raft_bases = self.raft_bases.split_off(&index);
        Ok(())
    }

    /// The entries behind an index go. Pieces of a snapshot stay, also of one behind that index: a
    /// state is always of entries that are in the order, those of another member's that is on its way
    /// here too, and they are not what is taken back.
    ///
    /// # Errors
    /// The snapshot holds some of them.
    pub fn truncate(&mut self, truncated: Truncated) -> Result<(), String> {
        let after = truncated.after;
        if after < self.snapshot_index() {
            let index = self.snapshot_index();
            return Err(format!(
                "entries behind {after} are taken back, and the snapshot at entry {index} holds them"
            ));
        }
        while self.last_index() > after
            && let Some(entry) = self.entries.pop_back()
        {
            self.entry_bytes -= entry.place.bytes();
            self.next -= 1;
        }
        let missing = self.missing.take();
        self.missing = missing.and_then(|(first, last)| {
            let last = last.min(after);
            (first <= last).then_some((first, last))
        });
        if self.last_index() > after {
            // All that is known of is gone: the entries before it were removed.
            self.next = after + 1;
        }
        Ok(())
    }

    /// It is said whose journal it is.
    ///
    /// # Errors
    /// It was said to be another's.
    pub fn add_voter(&mut self, voter: Voter, place: &Place) -> Result<(), String> {
        if let Some((before, _)) = self.voter
            && before != voter
        {
            return Err(format!(
                "the journal of member {} in group {:x} goes on as that of member {} in group {:x}",
                before.member.0, before.group, voter.member.0, voter.group
            ));
        }
        self.voter = Some((voter, place.segment().number()));
        Ok(())
    }
}

fn follows(gathering: &SnapshotAt, next: &PieceHead) -> bool {
    let last = PieceHead {
        piece: gathering.places.len().saturating_sub(1) as u32,
        ..gathering.head
    };
    last.is_followed_by(next)
}
