//! The records of a replicated member's journal. Numbers of kinds are not used again: 1 is that of
//! facts.
//!
//! ```text
//!   entry:      wall 8, then the batch as it travels: shard 2, index 8, time 8, origin, commands
//!   snapshot:   wall 8, index 8, piece 4, pieces 4, state octets 8, messages octets 8,
//!               then a piece of the state and the messages, which stand one behind the other
//!   truncated:  after 8
//!   voter:      group 8, member 8
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

/// Octets of the wall-clock time in front of an entry.
pub const WALL_BYTES: usize = 8;

/// What stands at the beginning of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryHead {
    /// When it was first written.
    pub wall: u64,
    /// Its place in the order.
    pub index: u64,
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
            1..COUNTED_MAX => Ok(EntryHead { wall, index }),
            _ => Err(from.error("an entry's index")),
        }
    }
}

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
