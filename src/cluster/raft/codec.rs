//! What raft's members tell each other, as octets: our own encoding, never the crate's parser, which
//! is known to end the process on some input.
//!
//! Of a message every field travels. Kinds have our own numbers; those that a member only tells itself
//! cannot be read. What would make the crate panic and can be seen in the octets alone is refused here:
//! entries that do not follow one another, a configuration without voters.

use bytes::Bytes;
use raft::prelude::{ConfState, Entry, EntryType, Message, MessageType, Snapshot};

use crate::broker::encoding::{Decoder, Encoder, EncodingError, Record};
use crate::broker::limits::COUNTED_MAX;
use crate::cluster::entry_log::{Configuration, RaftBase};
use crate::cluster::limits;

/// Kinds of messages by their numbers: those that travel.
const KINDS: [(u8, MessageType); 13] = [
    (1, MessageType::MsgAppend),
    (2, MessageType::MsgAppendResponse),
    (3, MessageType::MsgRequestVote),
    (4, MessageType::MsgRequestVoteResponse),
    (5, MessageType::MsgSnapshot),
    (6, MessageType::MsgHeartbeat),
    (7, MessageType::MsgHeartbeatResponse),
    (8, MessageType::MsgTransferLeader),
    (9, MessageType::MsgTimeoutNow),
    (10, MessageType::MsgReadIndex),
    (11, MessageType::MsgReadIndexResp),
    (12, MessageType::MsgRequestPreVote),
    (13, MessageType::MsgRequestPreVoteResponse),
];

/// Writes a message. None for one of a kind that does not travel.
pub(super) fn encode(message: &Message, to: &mut Encoder) -> Option<()> {
    let kind = message.get_msg_type();
    let (number, _) = KINDS.iter().find(|(_, known)| *known == kind)?;
    number.encode(to);
    for number in numbers(message) {
        number.encode(to);
    }
    message.reject.encode(to);
    message.priority.encode(to);
    to.sized(&message.context);
    (message.get_entries().len() as u32).encode(to);
    for entry in message.get_entries() {
        encode_entry(entry, to);
    }
    message.has_snapshot().encode(to);
    if message.has_snapshot() {
        base_of(message.get_snapshot()).encode(to);
    }
    Some(())
}

/// The fields that are plain numbers, in their order.
fn numbers(message: &Message) -> [u64; 10] {
    [
        message.to,
        message.from,
        message.term,
        message.log_term,
        message.index,
        message.commit,
        message.commit_term,
        message.request_snapshot,
        message.reject_hint,
        message.deprecated_priority,
    ]
}

/// Reads a message.
pub(super) fn decode(from: &mut Decoder<'_>) -> Result<Message, EncodingError> {
    let number = u8::decode(from)?;
    let kind = KINDS.iter().find(|(known, _)| *known == number);
    let (_, kind) = kind.ok_or(from.error("the kind of a raft message"))?;
    let mut message = Message::default();
    message.set_msg_type(*kind);
    for field in [
        &mut message.to,
        &mut message.from,
        &mut message.term,
        &mut message.log_term,
        &mut message.index,
        &mut message.commit,
        &mut message.commit_term,
        &mut message.request_snapshot,
        &mut message.reject_hint,
        &mut message.deprecated_priority,
    ] {
        *field = u64::decode(from)?;
    }
    message.reject = bool::decode(from)?;
    message.priority = i64::decode(from)?;
    message.context = context(from)?;
    if message.from == 0 || message.to == 0 {
        return Err(from.error("a raft message from or to nobody"));
    }
    let counted = [message.term, message.log_term, message.commit];
    if counted.iter().any(|number| *number >= COUNTED_MAX) || message.index >= COUNTED_MAX {
        return Err(from.error("a number in a raft message"));
    }
    let entries = decode_entries(from, &message)?;
    message.set_entries(entries.into());
    if bool::decode(from)? {
        message.set_snapshot(decode_snapshot(from)?);
    }
    match message.has_snapshot() == (*kind == MessageType::MsgSnapshot) {
        true => Ok(message),
        false => Err(from.error("a snapshot in a raft message")),
    }
}

/// Entries follow one another, those of an append the entry before them, and terms never go back.
fn decode_entries(from: &mut Decoder<'_>, message: &Message) -> Result<Vec<Entry>, EncodingError> {
    let count = u32::decode(from)?;
    let is_append = message.get_msg_type() == MessageType::MsgAppend;
    let may_have_one = message.get_msg_type() == MessageType::MsgReadIndex
        || message.get_msg_type() == MessageType::MsgReadIndexResp;
    if !is_append && count > u32::from(may_have_one) {
        return Err(from.error("entries in a raft message"));
    }
    let mut entries: Vec<Entry> = Vec::new();
    let (mut index, mut term) = (message.index, message.log_term);
    for _ in 0..count {
        let entry = decode_entry(from)?;
        if is_append && (entry.index != index + 1 || entry.term < term.max(1)) {
            return Err(from.error("entries that follow one another"));
        }
        if is_append && entry.term > message.term {
            return Err(from.error("the term of an entry"));
        }
        (index, term) = (entry.index, entry.term);
        entries.push(entry);
    }
    Ok(entries)
}

fn context(from: &mut Decoder<'_>) -> Result<Bytes, EncodingError> {
    let octets = from.sized("a context")?;
    match octets.len() <= limits::RAFT_CONTEXT_BYTES_MAX {
        true => Ok(Bytes::copy_from_slice(octets)),
        false => Err(from.error("a context")),
    }
}

/// Writes an entry.
pub(super) fn encode_entry(entry: &Entry, to: &mut Encoder) {
    let kind: u8 = match entry.get_entry_type() {
        EntryType::EntryNormal => 1,
        EntryType::EntryConfChange => 2,
        EntryType::EntryConfChangeV2 => 3,
    };
    kind.encode(to);
    entry.term.encode(to);
    entry.index.encode(to);
    to.sized(&entry.context);
    to.sized(&entry.data);
}

/// Reads an entry.
pub(super) fn decode_entry(from: &mut Decoder<'_>) -> Result<Entry, EncodingError> {
    let mut entry = Entry::default();
    entry.set_entry_type(match u8::decode(from)? {
        1 => EntryType::EntryNormal,
        2 => EntryType::EntryConfChange,
        3 => EntryType::EntryConfChangeV2,
        _ => return Err(from.error("the kind of an entry")),
    });
    entry.term = u64::decode(from)?;
    entry.index = u64::decode(from)?;
    entry.context = context(from)?;
    let data = from.sized("an entry")?;
    let is_counted = entry.term < COUNTED_MAX && entry.index < COUNTED_MAX;
    if !is_counted || data.len() > limits::RAFT_ENTRY_BYTES_MAX {
        return Err(from.error("an entry"));
    }
    entry.data = Bytes::copy_from_slice(data);
    Ok(entry)
}

/// What a snapshot's metadata say.
pub(super) fn base_of(snapshot: &Snapshot) -> RaftBase {
    let metadata = snapshot.get_metadata();
    RaftBase {
        index: metadata.index,
        term: metadata.term,
        configuration: configuration_of(metadata.get_conf_state()),
    }
}

/// A snapshot as raft has it: the state travels beside it.
pub(super) fn snapshot_of(base: &RaftBase) -> Snapshot {
    let mut snapshot = Snapshot::default();
    let metadata = snapshot.mut_metadata();
    metadata.index = base.index;
    metadata.term = base.term;
    metadata.set_conf_state(conf_state_of(&base.configuration));
    snapshot
}

fn decode_snapshot(from: &mut Decoder<'_>) -> Result<Snapshot, EncodingError> {
    let base = RaftBase::decode(from)?;
    if base.index == 0 || base.term == 0 {
        return Err(from.error("the place of a snapshot"));
    }
    Ok(snapshot_of(&base))
}

/// The crate's word for who takes part, in ours.
pub(super) fn configuration_of(state: &ConfState) -> Configuration {
    Configuration {
        voters: state.voters.clone(),
        learners: state.learners.clone(),
        voters_outgoing: state.voters_outgoing.clone(),
        learners_next: state.learners_next.clone(),
        leaves_by_itself: state.auto_leave,
    }
}

/// Ours in the crate's.
pub(super) fn conf_state_of(configuration: &Configuration) -> ConfState {
    ConfState {
        voters: configuration.voters.clone(),
        learners: configuration.learners.clone(),
        voters_outgoing: configuration.voters_outgoing.clone(),
        learners_next: configuration.learners_next.clone(),
        auto_leave: configuration.leaves_by_itself,
        ..ConfState::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::lockstep::dice::Dice;

    fn octets(dice: &mut Dice, most: u64) -> Bytes {
        (0..dice.below(most)).map(|_| dice.roll() as u8).collect()
    }

    fn entries(dice: &mut Dice, message: &Message, count: u64) -> Vec<Entry> {
        let kinds = [
            EntryType::EntryNormal,
            EntryType::EntryConfChange,
            EntryType::EntryConfChangeV2,
        ];
        let entry = |n: u64| {
            let mut entry = Entry {
                index: message.index + n,
                term: message.term,
                data: octets(dice, 40),
                context: octets(dice, 20),
                ..Entry::default()
            };
            entry.set_entry_type(kinds[dice.below(3) as usize]);
            entry
        };
        (1..=count).map(entry).collect()
    }

    /// A message of any kind that travels, with something in every field.
    fn message(dice: &mut Dice) -> Message {
        let (_, kind) = KINDS[dice.below(KINDS.len() as u64) as usize];
        let log_term = 1 + dice.below(1000);
        let mut message = Message {
            to: 1 + dice.roll() / 2,
            from: 1 + dice.roll() / 2,
            term: log_term + dice.below(1000),
            log_term,
            index: dice.below(COUNTED_MAX - 10),
            commit: dice.below(COUNTED_MAX),
            commit_term: dice.roll(),
            request_snapshot: dice.roll(),
            reject: dice.chance(500),
            reject_hint: dice.roll(),
            context: octets(dice, 60),
            deprecated_priority: dice.roll(),
            priority: dice.roll() as i64,
            ..Message::default()
        };
        message.set_msg_type(kind);
        if kind == MessageType::MsgAppend {
            let entries = entries(dice, &message, dice.clone().below(5));
            message.set_entries(entries.into());
        }
        if kind == MessageType::MsgSnapshot {
            let base = RaftBase {
                index: 1 + dice.below(1000),
                term: 1 + dice.below(1000),
                configuration: Configuration {
                    voters: vec![1, 2],
                    learners: vec![5],
                    voters_outgoing: vec![2, 4],
                    learners_next: vec![4],
                    leaves_by_itself: dice.chance(500),
                },
            };
            message.set_snapshot(snapshot_of(&base));
        }
        message
    }

    #[test]
    fn every_field_of_a_message_travels() {
        let mut dice = Dice::new(1);
        for _ in 0..500 {
            let message = message(&mut dice);
            let mut to = Encoder::default();
            encode(&message, &mut to).expect("it travels");
            let read = decode(&mut Decoder::new(&to.bytes));
            assert_eq!(read.as_ref(), Ok(&message));
        }
    }

    #[test]
    fn what_a_member_tells_itself_does_not_travel() {
        for kind in [
            MessageType::MsgHup,
            MessageType::MsgBeat,
            MessageType::MsgPropose,
            MessageType::MsgUnreachable,
            MessageType::MsgSnapStatus,
            MessageType::MsgCheckQuorum,
        ] {
            let mut message = Message::default();
            message.set_msg_type(kind);
            assert_eq!(encode(&message, &mut Encoder::default()), None);
        }
    }

    #[test]
    fn entries_that_do_not_follow_are_refused() {
        let mut dice = Dice::new(2);
        let mut message = Message {
            to: 1,
            from: 2,
            term: 7,
            index: 10,
            log_term: 3,
            ..Message::default()
        };
        message.set_msg_type(MessageType::MsgAppend);
        let refused = |entries: Vec<Entry>, dice: &mut Dice| {
            let mut message = message.clone();
            message.set_entries(entries.into());
            let mut to = Encoder::default();
            encode(&message, &mut to).expect("it travels");
            assert!(
                decode(&mut Decoder::new(&to.bytes)).is_err(),
                "{}",
                dice.roll()
            );
        };
        let good = entries(&mut dice, &message, 2);
        for spoil in [
            (|entry: &mut Entry| entry.index += 1) as fn(&mut Entry),
            |entry| entry.term = 2,
            |entry| entry.term = 8,
            |entry| entry.index = COUNTED_MAX,
        ] {
            let mut bad = good.clone();
            spoil(&mut bad[1]);
            refused(bad, &mut dice);
        }
    }
}
