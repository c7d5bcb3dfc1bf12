//! What raft's entries hold, and what members send each other beside raft's own messages.

use bytes::Bytes;
use raft::prelude::{ConfChange, ConfChangeType, Entry, Message};

use super::{codec, snapshots};
use crate::broker::encoding::{Decoder, Encoder, EncodingError, Record, record, record_enum};
use crate::broker::ids::{GroupTime, MemberId};
use crate::broker::limits::BATCH_COMMANDS_MAX;
use crate::broker::{Command, Origin};
use crate::cluster::entry_log::{self, Configuration, PieceHead};
use crate::cluster::limits;

/// Commands in the order: what the leader made of a proposal.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ordered {
    /// The leader's wall clock: milliseconds since 1970. It decides nothing while the group runs.
    pub wall: u64,
    /// Group time.
    pub time: GroupTime,
    /// Who proposed, and what.
    pub proposal: Proposal,
}
record!(Ordered {
    wall,
    time,
    proposal
});

/// Commands that a member proposes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Proposal {
    /// Whose they are, numbered.
    pub origin: Origin,
    /// At most [`BATCH_COMMANDS_MAX`].
    pub commands: Vec<Command>,
}
record!(Proposal { origin, commands } if Vec::len(&commands) <= BATCH_COMMANDS_MAX, else "a proposal");

impl Ordered {
    /// The wall clock of encoded commands; None for an entry without any.
    pub fn wall_of(data: &[u8]) -> Option<u64> {
        u64::decode(&mut Decoder::new(data)).ok()
    }
}

/// A change of who takes part. One at a time is on its way to be decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// A member gets all entries from now on, and is made a voter when it has caught up.
    Join(MemberId),
    /// A member that has caught up counts from now on.
    Promote(MemberId),
    /// A member takes part no more: its sessions end.
    Leave(MemberId),
}
record_enum!(Change {
    1 = Join(member),
    2 = Promote(member),
    3 = Leave(member),
});

impl Change {
    /// Makes it in who takes part.
    pub(super) fn make(self, configuration: &mut Configuration) {
        let Configuration {
            voters, learners, ..
        } = configuration;
        let (Change::Join(MemberId(id))
        | Change::Promote(MemberId(id))
        | Change::Leave(MemberId(id))) = self;
        voters.retain(|voter| *voter != id);
        learners.retain(|learner| *learner != id);
        match self {
            Change::Join(_) => learners.push(id),
            Change::Promote(_) => voters.push(id),
            Change::Leave(_) => {}
        }
    }

    /// The same for the crate.
    pub(super) fn to_raft(self) -> ConfChange {
        let (kind, MemberId(id)) = match self {
            Change::Join(id) => (ConfChangeType::AddLearnerNode, id),
            Change::Promote(id) => (ConfChangeType::AddNode, id),
            Change::Leave(id) => (ConfChangeType::RemoveNode, id),
        };
        let mut change = ConfChange::default();
        change.set_change_type(kind);
        change.node_id = id;
        change
    }
}

/// What one member sends another.
#[derive(Clone, Debug)]
pub(super) struct Envelope {
    /// The group: a message of another is not for us.
    pub group: u64,
    pub from: MemberId,
    pub to: MemberId,
    pub content: Content,
}

#[derive(Clone, Debug)]
pub(super) enum Content {
    Raft(Box<Message>),
    /// An encoded [`Proposal`] of the sender's, to the leader.
    Proposal(Bytes),
    /// A snapshot is to be had.
    Offer(Offer),
    /// Pieces of the one that was offered are wanted.
    Wanted(Wanted),
    /// A piece.
    Piece {
        /// Of the snapshot at this entry.
        index: u64,
        /// Which, from 0.
        piece: u32,
        octets: Bytes,
    },
}

/// A snapshot that is to be had, in pieces.
#[derive(Clone, Debug)]
pub(super) struct Offer {
    /// Raft's message, for when all pieces have come.
    pub message: Box<Message>,
    /// What stands in front of the first piece.
    pub head: PieceHead,
}

/// Pieces of a snapshot that are wanted; none when nothing is but to be known to be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    /// Of the snapshot at this entry.
    pub index: u64,
    /// The first.
    pub piece: u32,
    /// How many.
    pub count: u32,
}
record!(Wanted { index, piece, count } if count <= limits::RAFT_PIECES_WANTED_MAX, else "how many pieces are wanted");

/// A message of raft's as several, each with so many octets of entries or one that is larger: the crate
/// adds to an append that waits to be sent whatever comes behind, without a bound, and who gets one
/// that is too long ends the connection.
pub(super) fn in_bounded(mut message: Message, bytes_max: usize) -> Vec<Message> {
    let size = |entry: &Entry| entry.data.len() + entry.context.len();
    if message.get_entries().iter().map(size).sum::<usize>() <= bytes_max {
        return vec![message];
    }
    let (mut bounded, mut bytes) = (Vec::new(), 0);
    let entries = message.take_entries();
    let mut next = message.clone();
    for entry in entries {
        if bytes + size(&entry) > bytes_max
            && let Some(last) = next.get_entries().last()
        {
            (message.index, message.log_term) = (last.index, last.term);
            bounded.push(std::mem::replace(&mut next, message.clone()));
            bytes = 0;
        }
        bytes += size(&entry);
        next.mut_entries().push(entry);
    }
    bounded.push(next);
    bounded
}

impl Envelope {
    /// As it travels. None: it does not.
    pub fn encode(&self) -> Option<Vec<u8>> {
        let mut to = Encoder::default();
        self.group.encode(&mut to);
        self.from.encode(&mut to);
        self.to.encode(&mut to);
        match &self.content {
            Content::Raft(message) => {
                to.raw(&[1]);
                codec::encode(message, &mut to)?;
            }
            Content::Proposal(octets) => {
                to.raw(&[2]);
                to.sized(octets);
            }
            Content::Offer(Offer { message, head }) => {
                to.raw(&[3]);
                codec::encode(message, &mut to)?;
                head.encode(&mut to);
            }
            Content::Wanted(wanted) => {
                to.raw(&[4]);
                wanted.encode(&mut to);
            }
            Content::Piece {
                index,
                piece,
                octets,
            } => {
                to.raw(&[5]);
                index.encode(&mut to);
                piece.encode(&mut to);
                to.sized(octets);
            }
        }
        Some(to.bytes)
    }

    /// Reads all of `octets`.
    pub fn decode(octets: &[u8]) -> Result<Envelope, EncodingError> {
        let mut from = Decoder::new(octets);
        if octets.len() > limits::RAFT_MESSAGE_BYTES_MAX {
            return Err(from.error("so long a message"));
        }
        let (group, sender) = (u64::decode(&mut from)?, MemberId::decode(&mut from)?);
        let to = MemberId::decode(&mut from)?;
        let content = match u8::decode(&mut from)? {
            1 => Content::Raft(raft_message(&mut from, (sender, to), false)?),
            2 => Content::Proposal(Bytes::copy_from_slice(proposal(&mut from, sender)?)),
            3 => {
                let message = raft_message(&mut from, (sender, to), true)?;
                let head = PieceHead::decode(&mut from)?;
                let offer = Offer { message, head };
                if !snapshots::is_sound(&offer) {
                    return Err(from.error("a snapshot that is offered"));
                }
                Content::Offer(offer)
            }
            4 => Content::Wanted(Wanted::decode(&mut from)?),
            5 => piece(&mut from)?,
            _ => return Err(from.error("the content of a message")),
        };
        match from.is_at_end() {
            true => Ok(Envelope {
                group,
                from: sender,
                to,
                content,
            }),
            false => Err(from.error("the end of a message")),
        }
    }
}

/// A message of raft's from one member to another: one that is about a snapshot, or none that is.
fn raft_message(
    from: &mut Decoder<'_>,
    (sender, to): (MemberId, MemberId),
    is_snapshot: bool,
) -> Result<Box<Message>, EncodingError> {
    let message = codec::decode(from)?;
    if (message.from, message.to) != (sender.0, to.0) {
        return Err(from.error("the sender of a raft message"));
    }
    match message.has_snapshot() == is_snapshot {
        true => Ok(Box::new(message)),
        false => Err(from.error("a snapshot in a raft message")),
    }
}

fn piece(from: &mut Decoder<'_>) -> Result<Content, EncodingError> {
    let (index, piece) = (u64::decode(from)?, u32::decode(from)?);
    let octets = from.sized("a piece of a snapshot")?;
    match octets.len() <= limits::SNAPSHOT_PIECE_BYTES_MAX {
        true => Ok(Content::Piece {
            index,
            piece,
            octets: Bytes::copy_from_slice(octets),
        }),
        false => Err(from.error("a piece of a snapshot")),
    }
}

/// The octets of a proposal that is one, of this member's.
fn proposal<'a>(from: &mut Decoder<'a>, sender: MemberId) -> Result<&'a [u8], EncodingError> {
    let octets = from.sized("a proposal")?;
    let read: Proposal = entry_log::whole(octets)?;
    let is_senders = matches!(read.origin, Origin::Member { id, .. } if id == sender);
    match is_senders && octets.len() <= limits::RAFT_ENTRY_BYTES_MAX {
        true => Ok(octets),
        false => Err(from.error("a proposal")),
    }
}

/// Whether octets are a message of raft's that refuses something. For the simulated network.
pub(super) fn is_reject(octets: &[u8]) -> bool {
    let read = Envelope::decode(octets).map(|envelope| envelope.content);
    matches!(read, Ok(Content::Raft(message)) if message.reject)
}

/// Whether octets are a message of a raft group, read and written again to the same. For the fuzzers.
///
/// # Errors
/// They are not.
#[doc(hidden)]
pub fn reread(octets: &[u8]) -> Result<Option<Vec<u8>>, EncodingError> {
    Ok(Envelope::decode(octets)?.encode())
}

#[cfg(test)]
mod tests {
    use raft::prelude::MessageType;

    use super::*;

    #[test]
    fn an_append_of_many_entries_is_several_that_follow_one_another() {
        let entry = |(n, bytes): (u64, usize)| Entry {
            index: 8 + n,
            term: 2 + n / 3,
            data: vec![0; bytes].into(),
            ..Entry::default()
        };
        let sizes = [(0, 4), (1, 5), (2, 2), (3, 30), (4, 1), (5, 9)];
        let entries: Vec<Entry> = sizes.into_iter().map(entry).collect();
        let mut message = Message {
            to: 1,
            from: 2,
            term: 4,
            log_term: 1,
            index: 7,
            commit: 9,
            ..Message::default()
        };
        message.set_msg_type(MessageType::MsgAppend);
        message.set_entries(entries.clone().into());
        let several = in_bounded(message, 10);
        let counts: Vec<usize> = several.iter().map(|one| one.get_entries().len()).collect();
        assert_eq!(counts, [2, 1, 1, 2]);
        let (mut place, mut sent) = ((7, 1), Vec::new());
        for one in several {
            assert_eq!((one.index, one.log_term), place);
            assert_eq!((one.term, one.commit), (4, 9));
            sent.extend(one.get_entries().iter().cloned());
            let last = sent.last().expect("none is empty");
            place = (last.index, last.term);
        }
        assert_eq!(sent, entries);
    }
}
