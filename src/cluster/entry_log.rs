//! The journal of a replicated member: every entry of the order, and from time to time the state.
//!
//! A core is made again of the newest whole snapshot and the entries behind it. Entries stand
//! without a gap. The segments that only have what a snapshot holds are given back, once that is on
//! the disk. Entries that turn out not to be in the order after all are taken back by a record that
//! says so ([`EntryLog::truncate_after`]): what was written is never changed.
//!
//! ```text
//!   append(wall, index, batch)                    on the disk up to synced_index()
//!   entry(index), snapshot(), replay(upto)        what was written, read back
//!   take_snapshot(index, state), install(..)      pieces; an unfinished one does not count
//!   superseded() -> segments                      for give_back(), off the group's lock
//!   vote(voter), voter()                          whether the journal counts for a majority
//! ```

mod contents;
mod records;
mod snapshots;

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use self::contents::{Contents, SnapshotAt};
use self::records::{EntryHead, Truncated};
use super::limits;
use super::machine::Machine;
use crate::broker::ids::ShardId;
use crate::broker::snapshot::Thawing;
use crate::broker::{Batch, Out};
use crate::store::{
    self, Disk, Journal, OpenError, Part, Place, RecordAt, Recovery, RemoveError, State, Writer,
};

pub use self::records::{Configuration, RaftBase, RaftState, Voter};
pub(super) use self::records::{PieceHead, octets, whole};
pub(super) use self::snapshots::Written;

/// What can be chosen about a log. All of it may differ from one opening to the next.
#[derive(Clone, Debug)]
pub struct Options {
    /// Of its journal.
    pub journal: store::Options,
    /// Octets of entries after which a snapshot is due; more when the last one was larger.
    pub snapshot_after_bytes: u64,
    /// Octets of one piece of a snapshot that is written: [`limits::SNAPSHOT_PIECE_BYTES`], but in
    /// tests. Those of a journal may have others.
    pub snapshot_piece_bytes: usize,
    /// What is done wrongly on purpose, to test the tests.
    #[doc(hidden)]
    pub plant: Plant,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            journal: store::Options::default(),
            snapshot_after_bytes: limits::SNAPSHOT_AFTER_BYTES,
            snapshot_piece_bytes: limits::SNAPSHOT_PIECE_BYTES,
            plant: Plant::None,
        }
    }
}

/// A fault of a replicated member with a log, for the tests that must find it.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Plant {
    /// As it should be.
    #[default]
    None,
    /// Segments are given back before the snapshot that holds what was in them is on the disk.
    SnapshotNotSynced,
    /// A snapshot holds entries that are not on the disks of a majority.
    SnapshotAhead,
    /// Entries that were taken back are replayed.
    TruncationIgnored,
    /// New entries are ordered before it is on the disk that others were taken back.
    TruncationNotSynced,
    /// An entry is acknowledged when one member has it.
    AcknowledgedByOne,
    /// A journal that was lost counts as one in which nothing was.
    LostCounts,
    /// A journal that was lost counts before it has caught up.
    CountsEarly,
    /// A member starts anew in the epoch that it had.
    EpochKept,
    /// Time stands still while the group is down.
    TimeStands,
}

/// Why a log cannot be opened. Nothing on the disk was changed.
#[derive(Debug)]
pub enum LogError {
    /// The journal cannot be read, or a record of it makes no sense.
    Journal(OpenError),
    /// Entries are missing.
    Missing {
        /// Where the journal is.
        directory: String,
        /// The first that is missing.
        first: u64,
        /// The last.
        last: u64,
    },
}

impl fmt::Display for LogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LogError::Journal(error) => error.fmt(f),
            LogError::Missing {
                directory,
                first,
                last,
            } => write!(
                f,
                "the journal in {directory} lacks entries {first} to {last}, and no snapshot in it \
                 holds them"
            ),
        }
    }
}

impl std::error::Error for LogError {}

/// See the module. All errors that its functions give mean that the member cannot go on.
pub struct EntryLog {
    journal: Arc<Journal>,
    contents: Contents,
    options: Options,
    /// Entries that are not known to be on the disk: where their records end, and their indices.
    unsynced: VecDeque<(u64, u64)>,
    synced_index: u64,
    /// Where the last record ends.
    end: u64,
}

impl fmt::Debug for EntryLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, last) = (self.first_index(), self.last_index());
        let state = self.journal.state();
        write!(f, "EntryLog({state}, snapshot and {first} to {last})")
    }
}

/// A log and what was found when it was opened.
pub type Opened = (EntryLog, Recovery);

impl EntryLog {
    /// Opens the log of a store, or makes one. A thread of the journal writes what is appended.
    pub fn open(
        disk: Arc<dyn Disk>,
        options: &Options,
        store_id_if_new: u64,
    ) -> Result<Opened, LogError> {
        let directory = disk.directory();
        let mut contents = Contents::default();
        let plant = options.plant;
        let mut visit = |at: RecordAt, payload: &[u8]| take(&mut contents, plant, at, payload);
        let opened = Journal::open(disk, &options.journal, store_id_if_new, &mut visit);
        let (journal, found) = opened.map_err(LogError::Journal)?;
        let log = EntryLog::of(directory, journal, contents, options)?;
        Ok((log, found))
    }

    /// The same, but what is appended is written by whoever calls [`Writer::turn`].
    pub fn open_without_thread(
        disk: Arc<dyn Disk>,
        options: &Options,
        store_id_if_new: u64,
    ) -> Result<(Opened, Writer), LogError> {
        let directory = disk.directory();
        let mut contents = Contents::default();
        let plant = options.plant;
        let mut visit = |at: RecordAt, payload: &[u8]| take(&mut contents, plant, at, payload);
        let opened =
            Journal::open_without_thread(disk, &options.journal, store_id_if_new, &mut visit);
        let (journal, writer, found) = opened.map_err(LogError::Journal)?;
        let log = EntryLog::of(directory, journal, contents, options)?;
        Ok(((log, found), writer))
    }

    fn of(
        directory: String,
        journal: Journal,
        contents: Contents,
        options: &Options,
    ) -> Result<EntryLog, LogError> {
        if let Some((first, last)) = contents.missing() {
            return Err(LogError::Missing {
                directory,
                first,
                last,
            });
        }
        let log = EntryLog {
            end: journal.synced(),
            journal: Arc::new(journal),
            synced_index: contents.last_index(),
            contents,
            options: options.clone(),
            unsynced: VecDeque::new(),
        };
        Ok(log)
    }

    /// The journal.
    pub fn journal(&self) -> &Arc<Journal> {
        &self.journal
    }

    /// Why nothing can be written any more.
    pub fn failure(&self) -> Option<String> {
        match self.journal.state() {
            State::Failed(why) => Some(format!("the journal has failed: {why}")),
            State::Ok | State::Full(_) => None,
        }
    }

    /// Whether there is nothing in it: neither a state nor entries.
    pub fn is_empty(&self) -> bool {
        self.contents.snapshot().is_none() && self.last_index() == 0
    }

    /// The first entry that can be read by itself; the one behind the last when none can.
    pub fn first_index(&self) -> u64 {
        self.contents.first_index()
    }

    /// The last entry; 0 for none.
    pub fn last_index(&self) -> u64 {
        self.contents.last_index()
    }

    /// The last entry that the newest snapshot holds; 0 without one.
    pub fn snapshot_index(&self) -> u64 {
        self.contents.snapshot_index()
    }

    /// When the last entry was first written: milliseconds since 1970.
    pub fn last_wall(&self) -> Option<u64> {
        self.contents.last_wall()
    }

    /// Whose journal it is, once it counts for a majority.
    pub fn voter(&self) -> Option<Voter> {
        self.contents.voter()
    }

    /// The last entry that is on the disk with all before it.
    pub fn synced_index(&mut self) -> u64 {
        let synced = self.journal.synced();
        while let Some((_, index)) = self.unsynced.pop_front_if(|(end, _)| *end <= synced) {
            self.synced_index = index;
        }
        self.synced_index
    }

    /// Appends an entry, which is one more than the last: the encoded batch, and when it was first
    /// written.
    pub fn append(&mut self, wall: u64, index: u64, batch: &[u8]) -> Result<(), String> {
        if index != self.last_index() + 1 {
            let last = self.last_index();
            return Err(format!("entry {index} is not the one behind {last}"));
        }
        let wall_octets = wall.to_be_bytes();
        let parts = [Part::Octets(&wall_octets), Part::Octets(batch)];
        let place = self.write(records::ENTRY, &parts)?;
        let end = place.end();
        let term = 0;
        self.contents
            .add_entry(EntryHead { wall, index, term }, place)?;
        self.unsynced.push_back((end, index));
        Ok(())
    }

    /// Appends an entry of a raft group, which is one more than the last: when it was first written,
    /// the term of the leader that ordered it, and what raft has of it.
    pub fn append_raft(
        &mut self,
        (wall, index, term): (u64, u64, u64),
        entry: &[u8],
    ) -> Result<(), String> {
        if index != self.last_index() + 1 {
            let last = self.last_index();
            return Err(format!("entry {index} is not the one behind {last}"));
        }
        let head = EntryHead { wall, index, term };
        let octets = records::octets(&((wall, ShardId::default()), (index, term)));
        let parts = [Part::Octets(&octets), Part::Octets(entry)];
        let place = self.write(records::RAFT_ENTRY, &parts)?;
        let end = place.end();
        self.contents.add_entry(head, place)?;
        self.unsynced.push_back((end, index));
        Ok(())
    }

    /// What raft has of an entry that is in the log by itself.
    pub fn raft_entry(&self, index: u64) -> Result<Vec<u8>, String> {
        let at = self.contents.entry(index);
        let at = at.ok_or_else(|| format!("entry {index} is not in the log by itself"))?;
        let mut octets = self.read(&at.place)?;
        octets.drain(..records::RAFT_HEAD_BYTES.min(octets.len()));
        Ok(octets)
    }

    /// The term of an entry that is in the log by itself, or the last one in the snapshot.
    pub fn raft_term(&self, index: u64) -> Option<u64> {
        let base = self.contents.raft_base();
        let of_base = base.filter(|base| base.index == index);
        let of_entry = || self.contents.entry(index).map(|at| at.term);
        of_base.map(|base| base.term).or_else(of_entry)
    }

    /// What the member of a raft group has promised.
    pub fn raft_state(&self) -> Option<RaftState> {
        self.contents.raft_state()
    }

    /// What raft must know of the newest snapshot.
    pub fn raft_base(&self) -> Option<&RaftBase> {
        self.contents.raft_base()
    }

    /// The member of a raft group promises something: it counts when it is on the disk.
    pub fn promise(&mut self, state: RaftState) -> Result<(), String> {
        let octets = records::octets(&state);
        let place = self.write(records::RAFT_STATE, &[Part::Octets(&octets)])?;
        self.contents.add_raft_state(state, &place);
        Ok(())
    }

    /// Says what raft must know of the snapshot that is written next.
    pub fn raft_base_follows(&mut self, base: RaftBase) -> Result<(), String> {
        let octets = records::octets(&base);
        let place = self.write(records::RAFT_BASE, &[Part::Octets(&octets)])?;
        self.contents.add_raft_base(base, &place);
        Ok(())
    }

    fn write(&mut self, kind: u8, parts: &[Part<'_>]) -> Result<Place, String> {
        let place = self.journal.append(kind, parts);
        let place = place.map_err(|error| error.to_string())?;
        self.end = place.end();
        Ok(place)
    }

    /// The position behind all that was appended: when the journal is synced to it, all of it is on
    /// the disk.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// An entry that is in the log by itself: when it was first written, and the encoded batch.
    pub fn entry(&self, index: u64) -> Result<(u64, Vec<u8>), String> {
        let at = self.contents.entry(index);
        let at = at.ok_or_else(|| format!("entry {index} is not in the log by itself"))?;
        let mut octets = self.read(&at.place)?;
        octets.drain(..records::WALL_BYTES.min(octets.len()));
        Ok((at.wall, octets))
    }

    fn read(&self, place: &Place) -> Result<Vec<u8>, String> {
        let read = self.journal.read_record(place);
        read.map_err(|error| format!("the journal cannot be read back: {error}"))
    }

    /// The machine that the newest snapshot and the entries behind it give, up to an entry.
    pub fn replay<M: Machine>(&self, upto: u64) -> Result<M, String> {
        let machine = self.snapshot()?;
        let machine = machine.ok_or("the log has no snapshot to begin with")?;
        self.replay_onto(machine, upto)
    }

    /// Applies the entries behind those that a machine has applied, up to one. What comes out is
    /// dropped: it was told, or those whom it concerns are gone.
    pub fn replay_onto<M: Machine>(&self, mut machine: M, upto: u64) -> Result<M, String> {
        let mut out = Out::default();
        for index in machine.index() + 1..=upto {
            let (_, octets) = self.entry(index)?;
            let batch = records::whole::<Batch>(&octets);
            let mut batch = batch.map_err(|error| format!("entry {index}: {error}"))?;
            if batch.index != index {
                return Err(format!("entry {index} says to be {}", batch.index));
            }
            if batch.time < machine.time() {
                return Err(format!("entry {index}: time goes back"));
            }
            machine.apply(&mut batch, &mut out);
            out.effects.clear();
        }
        Ok(machine)
    }

    /// Whether so much was appended since the last snapshot that one more is due.
    pub fn is_snapshot_due(&self) -> bool {
        self.is_snapshot_due_by(1)
    }

    /// Whether so many times as much was.
    pub fn is_snapshot_due_by(&self, times: u64) -> bool {
        let last = self.contents.snapshot().map_or(0, SnapshotAt::bytes);
        let due = last.max(self.options.snapshot_after_bytes);
        self.contents.entry_bytes() > due.saturating_mul(times)
    }

    /// Takes back all entries behind one. It counts when it is on the disk: new ones in their place
    /// are not to be acknowledged, and not to be ordered by others, before.
    pub fn truncate_after(&mut self, index: u64) -> Result<(), String> {
        let truncated = Truncated { after: index };
        if index < self.snapshot_index() {
            let taken = self.snapshot_index();
            return Err(format!(
                "entries behind {index} cannot be taken back: a snapshot holds {taken}"
            ));
        }
        let octets = records::octets(&truncated);
        self.write(records::TRUNCATED, &[Part::Octets(&octets)])?;
        self.contents.truncate(truncated)?;
        self.unsynced.retain(|(_, unsynced)| *unsynced <= index);
        self.synced_index = self.synced_index.min(index);
        Ok(())
    }

    /// Says whose journal it is: from now on it counts for a majority, since it holds all that its
    /// member has ever said to have.
    pub fn vote(&mut self, voter: Voter) -> Result<(), String> {
        let octets = records::octets(&voter);
        let place = self.write(records::VOTER, &[Part::Octets(&octets)])?;
        self.contents.add_voter(voter, &place)
    }

    /// The segments that can be given back, in order, because the newest snapshot holds what is in
    /// them and is on the disk.
    pub fn superseded(&self) -> Vec<u64> {
        let Some(snapshot) = self.contents.snapshot() else {
            return Vec::new();
        };
        if !self.is_snapshot_synced() && self.options.plant != Plant::SnapshotNotSynced {
            return Vec::new();
        }
        let (needed_from, index) = (self.contents.needed_from(), snapshot.head.index);
        let segments = self.journal.segments().into_iter();
        segments
            .take_while(|segment| {
                let is_before = segment.is_sealed && segment.number < needed_from;
                is_before && self.contents.last_in(segment.number) <= index
            })
            .map(|segment| segment.number)
            .collect()
    }

    /// Whether the newest snapshot is on the disk.
    pub fn is_snapshot_synced(&self) -> bool {
        let end = self.contents.snapshot().map_or(0, SnapshotAt::end);
        end <= self.journal.synced()
    }

    /// A segment has been given back.
    pub fn forget(&mut self, segment: u64) {
        self.contents.forget(segment);
    }
}

/// Removes segments, the oldest first and each for itself: what a crash leaves of a log has lost its
/// beginning, and nothing in between. Waits for the disk, so it is not for a group's lock.
///
/// # Errors
/// The disk refuses.
pub fn give_back(journal: &Journal, segments: &[u64]) -> Result<(), String> {
    for segment in segments {
        match journal.remove_segments(&[*segment]) {
            Ok(()) => {}
            // Somebody else has removed it.
            Err(RemoveError::NotSealed(_)) => {}
            Err(
                error @ (RemoveError::TooScattered | RemoveError::InUse(_) | RemoveError::Disk(_)),
            ) => {
                return Err(error.to_string());
            }
        }
    }
    Ok(())
}

/// A machine as a snapshot has it.
pub(in crate::cluster) fn machine_at<M: Machine>(
    index: u64,
    thawing: Thawing,
) -> Result<M, String> {
    let place = format!("the snapshot at entry {index}");
    let machine = M::thaw(thawing).map_err(|error| format!("{place}: {error}"))?;
    match machine.index() {
        found if found == index => Ok(machine),
        found => Err(format!("{place} is one at entry {found}")),
    }
}

/// Takes a record as it is read.
fn take(contents: &mut Contents, plant: Plant, at: RecordAt, payload: &[u8]) -> Result<(), String> {
    let text = |error: crate::broker::encoding::EncodingError| error.to_string();
    match at.kind {
        records::ENTRY => {
            let head = EntryHead::decode(payload).map_err(text)?;
            contents.add_entry(head, at.place)
        }
        records::SNAPSHOT => {
            let head = PieceHead::of(payload).map_err(text)?;
            contents.add_piece(head, at.place)
        }
        records::TRUNCATED if plant == Plant::TruncationIgnored => Ok(()),
        records::TRUNCATED => contents.truncate(records::whole(payload).map_err(text)?),
        records::VOTER => contents.add_voter(records::whole(payload).map_err(text)?, &at.place),
        records::RAFT_ENTRY => {
            let head = EntryHead::decode_raft(payload).map_err(text)?;
            contents.add_entry(head, at.place)
        }
        records::RAFT_STATE => {
            contents.add_raft_state(records::whole(payload).map_err(text)?, &at.place);
            Ok(())
        }
        records::RAFT_BASE => {
            contents.add_raft_base(records::whole(payload).map_err(text)?, &at.place);
            Ok(())
        }
        kind => Err(format!("a record of the unknown kind {kind}")),
    }
}
