//! The records of a replicated member's journal. Numbers of kinds are not used again: 1 is that of
//! facts.
//!
//! ```text
//!   entry:      wall 8, then the batch as it travels: shard 2, index 8, time 8, origin, commands
//!   snapshot:   wall 8, index 8, piece 4, pieces 4, state octets 8, messages octets 8,
//!               then a piece of the state and the messages, which stand one behind the other
//!   truncated:  after 8
//!   voter:      group 8, member 8
//!   raft entry: wall 8, shard 2, index 8, term 8, then what raft has of it
//!   raft state: term 8, vote 8, commit 8, epoch 8
//!   raft base:  index 8, term 8, configuration: of the snapshot behind it
//! ```
//!
//! *Wall* is the wall-clock time in milliseconds since 1970 at which the entry was first written, or
//! that of the last entry that a snapshot holds.

use crate::broker::encoding::{Decoder, Encoder, EncodingError, Record, record};
use crate::broker::ids::{MemberId, ShardId};
use crate::broker::limits::COUNTED_MAX;

/// An entry.
pub const ENTRY: u8 = 2;

/// A piece of a snapshot.
pub const SNAPSHOT: u8 = 3;

/// The entries behind an index are not in the order after all.
pub const TRUNCATED: u8 = 4;

/// From here on the journal holds all that its member has ever said to have.
pub const VOTER: u8 = 5;

/// An entry of a raft group.
pub const RAFT_ENTRY: u8 = 6;

/// What a member of a raft group has promised.
pub const RAFT_STATE: u8 = 7;

/// What raft must know of the snapshot that comes behind.
pub const RAFT_BASE: u8 = 8;

/// Octets of the wall-clock time in front of an entry.
pub const WALL_BYTES: usize = 8;

/// What stands at the beginning of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryHead {
    /// When it was first written.
    pub wall: u64,
    /// Its place in the order.
    pub index: u64,
    /// The term of the raft leader that ordered it; 0 in other groups.
    pub term: u64,
}

impl EntryHead {
    /// That of a payload.
    ///
    /// # Errors
    /// It is too short, or the index cannot be.
    pub fn decode(payload: &[u8]) -> Result<EntryHead, EncodingError> {
        let mut from = Decoder::new(payload);
        let wall = u64::decode(&mut from)?;
        ShardId::decode(&mut from)?;
        let index = u64::decode(&mut from)?;
        match index {
            1..COUNTED_MAX => Ok(EntryHead {
                wall,
                index,
                term: 0,
            }),
            _ => Err(from.error("an entry's index")),
        }
    }

    /// That of the payload of a raft entry.
    ///
    /// # Errors
    /// It is too short, or its numbers cannot be.
    pub fn decode_raft(payload: &[u8]) -> Result<EntryHead, EncodingError> {
        let head = EntryHead::decode(payload)?;
        let mut from = Decoder::new(payload);
        from.raw(RAFT_TERM_AT, "a raft entry")?;
        let term = u64::decode(&mut from)?;
        match term {
            1..COUNTED_MAX => Ok(EntryHead { term, ..head }),
            _ => Err(from.error("a raft entry's term")),
        }
    }
}

/// Octets in front of the term of a raft entry: wall, shard, index.
const RAFT_TERM_AT: usize = WALL_BYTES + 10;

/// Octets in front of what raft has of an entry.
pub const RAFT_HEAD_BYTES: usize = RAFT_TERM_AT + 8;

/// What stands at the beginning of a piece of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PieceHead {
    /// When the last entry that is in the snapshot was first written.
    pub wall: u64,
    /// The last entry that is in it.
    pub index: u64,
    /// Which piece, from 0.
    pub piece: u32,
    /// How many there are.
    pub pieces: u32,
    /// Octets of the state.
    pub state_bytes: u64,
    /// Octets of the messages.
    pub messages_bytes: u64,
}
record!(PieceHead {
    wall,
    index,
    piece,
    pieces,
    state_bytes,
    messages_bytes,
} if index < COUNTED_MAX && piece < pieces, else "a piece of a snapshot");

/// Octets of [`PieceHead`].
pub const PIECE_HEAD_BYTES: usize = 40;

impl PieceHead {
    /// That of a payload.
    ///
    /// # Errors
    /// It is too short, or its numbers cannot be.
    pub fn of(payload: &[u8]) -> Result<PieceHead, EncodingError> {
        PieceHead::decode(&mut Decoder::new(payload))
    }

    /// Whether `next` is the head of the piece behind this one.
    pub fn is_followed_by(&self, next: &PieceHead) -> bool {
        let expected = PieceHead {
            piece: self.piece + 1,
            ..*self
        };
        *next == expected
    }
}

/// Entries behind an index were never in the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Truncated {
    /// The last one that stays.
    pub after: u64,
}
record!(Truncated { after } if after < COUNTED_MAX, else "the index of a truncation");

/// Whose journal it is, once it counts: what a majority of journals with this record has is what was
/// acknowledged. A new one gets it when its group is formed, or when it has caught up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Voter {
    /// The group: random, drawn when it was formed.
    pub group: u64,
    /// The member.
    pub member: MemberId,
}
record!(Voter { group, member });

/// What a member of a raft group has promised, and must not forget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RaftState {
    /// The highest term that it has heard of.
    pub term: u64,
    /// The member that it voted for in that term; 0 for none.
    pub vote: u64,
    /// An entry up to which it knew all to be in the order.
    pub commit: u64,
    /// The epoch in which it proposes.
    pub epoch: u64,
}
record!(RaftState {
    term,
    vote,
    commit,
    epoch,
} if term < COUNTED_MAX && commit < COUNTED_MAX && epoch < COUNTED_MAX, else "what a member promised");

/// Who takes part in a raft group, in what way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Configuration {
    /// Whose journals make a majority.
    pub voters: Vec<u64>,
    /// Who gets all entries and does not count.
    pub learners: Vec<u64>,
    /// The voters of the configuration that is being left.
    pub voters_outgoing: Vec<u64>,
    /// Voters of that one who become learners.
    pub learners_next: Vec<u64>,
    /// Whether it is left by itself.
    pub leaves_by_itself: bool,
}
record!(Configuration {
    voters,
    learners,
    voters_outgoing,
    learners_next,
    leaves_by_itself,
});

impl Configuration {
    /// Whether members can come to a decision in it: it has voters, no id is 0 or there twice.
    pub fn is_sound(&self) -> bool {
        let is_apart = |ids: &[u64]| {
            let mut seen = std::collections::BTreeSet::new();
            ids.iter().all(|id| *id != 0 && seen.insert(*id))
        };
        let all = [&self.voters, &self.learners, &self.voters_outgoing];
        let is_bounded = |ids: &&Vec<u64>| ids.len() <= crate::cluster::limits::MEMBERS_MAX;
        let is_voter = |id: &u64| self.voters.contains(id) || self.voters_outgoing.contains(id);
        let is_outgoing = |id: &u64| self.voters_outgoing.contains(id);
        !self.voters.is_empty()
            && all.iter().all(|ids| is_apart(ids))
            && is_apart(&self.learners_next)
            && all.iter().all(is_bounded)
            && !self.learners.iter().any(is_voter)
            && self.learners_next.iter().all(is_outgoing)
            && !self.learners_next.iter().any(|id| self.voters.contains(id))
            && (!self.voters_outgoing.is_empty() || !self.leaves_by_itself)
    }
}

/// What raft must know of a snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RaftBase {
    /// The last entry in it.
    pub index: u64,
    /// The term of that entry.
    pub term: u64,
    /// Who takes part behind it.
    pub configuration: Configuration,
}
record!(RaftBase { index, term, configuration }
    if index < COUNTED_MAX && term < COUNTED_MAX && Configuration::is_sound(&configuration),
    else "the base of a raft log");

/// The value that all of a payload is.
///
/// # Errors
/// It is not one, or there is more.
pub fn whole<T: Record>(payload: &[u8]) -> Result<T, EncodingError> {
    let mut from = Decoder::new(payload);
    let value = T::decode(&mut from)?;
    match from.is_at_end() {
        true => Ok(value),
        false => Err(from.error("the end of a record")),
    }
}

/// A value as octets.
pub fn octets(value: &impl Record) -> Vec<u8> {
    let mut encoder = Encoder::default();
    value.encode(&mut encoder);
    encoder.bytes
}
