//! A core as bytes, and back.
//!
//! `freeze` is a clone that shares all queue blocks and messages, so it takes the lock for
//! milliseconds at a million messages; encoding goes on off the lock. Bodies are apart from the
//! state: a member that has them in its journal does not need them again.
//!
//! A snapshot is the state, and the messages behind it. Both come and go in pieces of any size: a
//! [`Pieces`] has the encoded state and never more of the messages than a piece and the last message
//! of it, a [`Thawing`] makes messages of what has come.

use std::collections::{BTreeMap, btree_map};
use std::sync::Arc;

use bytes::{Bytes, BytesMut};

use super::branch::Branches;
use super::core::Core;
use super::encoding::{Decoder, Encoder, EncodingError, Record};
use super::kept::Detached;
use super::level::Level;
use super::message::{BodyHandle, Message};
use super::plant::{Plant, is_planted};
use super::queue::kind::Kind;
use super::queue::settings::Settings;
use super::routed::Routed;

/// Marks the bytes of a snapshot's state, with the digit of its format behind it: `FMQ3` and so on. The
/// first format knew one kind of queue, the second nothing of management and no xml exchange; since the
/// third it is the number of the level at which it was written.
const MAGIC: &[u8; 3] = b"FMQ";

/// Octets of a message beside header and body: handle, flags, and two lengths.
const MESSAGE_HEAD_BYTES: usize = HEADER_LENGTH_AT + 4 + 4;

/// Where the length of a message's header is: behind handle and flags.
const HEADER_LENGTH_AT: usize = 14 + 1;

/// A core as it was at one index.
#[derive(Clone, Debug)]
pub struct Frozen(Core);

/// An encoded snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// Everything but the messages.
    pub state: Vec<u8>,
    /// The messages that queues and transactions hold, each once, by handle.
    pub messages: Vec<u8>,
}

impl Core {
    /// The state as it is now, to be encoded off the lock.
    pub fn freeze(&self) -> Frozen {
        Frozen(self.clone())
    }

    /// Lets the arguments of queues have the effect that they had not when the snapshot was taken.
    fn settle_in_queues(&mut self) {
        let options = self.options.clone();
        let slots: Vec<u32> = self.queues.iter().map(|(slot, _)| slot).collect();
        for slot in slots {
            if let Some(queue) = self.queues.get_mut(slot)
                && let Ok(settings) = Settings::recovered(&queue.name, &queue.arguments, &options)
            {
                queue.settle_in(settings);
            }
        }
    }

    /// Counts in queues what the snapshot has no counts of.
    fn count_queues_anew(&mut self) {
        let slots: Vec<u32> = self.queues.iter().map(|(slot, _)| slot).collect();
        for slot in slots {
            if let Some(queue) = self.queues.get_mut(slot) {
                queue.count_anew();
            }
        }
        let exchanges = self.exchanges.iter();
        let bindings = exchanges.flat_map(|(_, exchange)| exchange.kind.bindings());
        for queue in bindings.map(|binding| binding.queue) {
            if let Some(queue) = self.queues.get_mut(queue.0) {
                queue.binding_count += 1;
            }
        }
    }

    /// The same of exchanges.
    fn settle_in_exchanges(&mut self) {
        let slots: Vec<u32> = self.exchanges.iter().map(|(slot, _)| slot).collect();
        for slot in slots {
            if let Some(exchange) = self.exchanges.get_mut(slot) {
                exchange.routed = Routed::of(&exchange.arguments);
            }
        }
    }

    /// What a planted fault leaves out of a snapshot, is not there.
    fn forget_as_planted(&mut self) {
        if is_planted(Plant::CursorLeftOut) {
            let slots: Vec<u32> = self.subscriptions.iter().map(|(slot, _)| slot).collect();
            for slot in slots {
                if let Some(subscription) = self.subscriptions.get_mut(slot) {
                    subscription.cursor = 0;
                }
            }
        }
        if is_planted(Plant::BranchesLeftOut) {
            self.branches = Branches::default();
        }
        if is_planted(Plant::WaitLeftOut) {
            self.detached = Detached::default();
        }
        if is_planted(Plant::OwnerLeftOut) {
            let slots: Vec<u32> = self.queues.iter().map(|(slot, _)| slot).collect();
            for slot in slots {
                if let Some(queue) = self.queues.get_mut(slot) {
                    queue.owner = None;
                }
            }
        }
        if is_planted(Plant::GroupOwnersLeftOut) || is_planted(Plant::LastValuesLeftOut) {
            let slots: Vec<u32> = self.queues.iter().map(|(slot, _)| slot).collect();
            for slot in slots {
                match self.queues.get_mut(slot).map(|queue| &mut queue.kind) {
                    Some(Kind::Groups(groups)) if is_planted(Plant::GroupOwnersLeftOut) => {
                        groups.forget_owners();
                    }
                    Some(Kind::LastValue(keys)) if is_planted(Plant::LastValuesLeftOut) => {
                        keys.forget_positions();
                    }
                    _ => {}
                }
            }
        }
    }
}

impl Frozen {
    /// The index of the last entry in it.
    pub fn index(&self) -> u64 {
        self.0.index
    }

    /// Encodes it whole. For small ones.
    ///
    /// # Panics
    /// The body of a message is not in memory.
    pub fn encode(&self) -> Snapshot {
        let state = self.encode_state();
        let mut messages = Encoder::default();
        state.messages.encode(&mut messages);
        Snapshot {
            state: state.bytes,
            messages: messages.bytes,
        }
    }

    fn encode_state(&self) -> Encoder {
        let mut state = Encoder::default();
        let format = match is_planted(Plant::FormatAhead) {
            true => Level::most().number(),
            false => self.0.level.number(),
        };
        state.raw(MAGIC);
        state.raw(&[b'0' + format]);
        state.format = Some(format);
        self.0.encode(&mut state);
        state
    }

    /// Encodes the state, to be written together with the messages in pieces of so many octets.
    pub fn into_pieces(self, piece_bytes: usize) -> Pieces {
        let state = self.encode_state();
        let of = |message: &Arc<Message>| MESSAGE_HEAD_BYTES as u64 + message.size();
        let messages_bytes = 4 + state.messages.values().map(of).sum::<u64>();
        let state_bytes = state.bytes.len() as u64;
        let mut pending = BytesMut::from(Bytes::from(state.bytes));
        pending.extend_from_slice(&(state.messages.len() as u32).to_be_bytes());
        Pieces {
            state_bytes,
            messages_bytes,
            piece_bytes: piece_bytes.max(1),
            pending,
            messages: state.messages.into_iter(),
        }
    }
}

/// A snapshot that is being encoded piece by piece.
#[derive(Debug)]
pub struct Pieces {
    state_bytes: u64,
    messages_bytes: u64,
    piece_bytes: usize,
    /// What is encoded and not given out.
    pending: BytesMut,
    messages: btree_map::IntoIter<BodyHandle, Arc<Message>>,
}

impl Pieces {
    /// Octets of the state.
    pub fn state_bytes(&self) -> u64 {
        self.state_bytes
    }

    /// Octets of the messages.
    pub fn messages_bytes(&self) -> u64 {
        self.messages_bytes
    }

    /// How many pieces there are in all.
    pub fn count(&self) -> u64 {
        let bytes = self.state_bytes + self.messages_bytes;
        bytes.div_ceil(self.piece_bytes as u64)
    }

    /// The next piece; None behind the last. A body that is not in memory is fetched.
    ///
    /// # Errors
    /// A body cannot be fetched.
    pub fn next_piece(&mut self) -> Result<Option<Bytes>, String> {
        while self.pending.len() < self.piece_bytes {
            let Some((handle, message)) = self.messages.next() else {
                break;
            };
            let mut encoder = Encoder::default();
            handle.encode(&mut encoder);
            message.fetch()?.encode(&mut encoder);
            self.pending.extend_from_slice(&encoder.bytes);
        }
        let bytes = self.pending.len().min(self.piece_bytes);
        let piece = self.pending.split_to(bytes).freeze();
        Ok((!piece.is_empty()).then_some(piece))
    }
}

/// A snapshot that comes in pieces.
#[derive(Debug, Default)]
pub struct Thawing {
    state_bytes: u64,
    /// Octets of the messages that are still to come.
    messages_left: u64,
    /// What has come of the state.
    pub state: Vec<u8>,
    /// How many messages there are, once it is known.
    count: Option<u32>,
    /// What has come of messages and is not one yet.
    pending: Vec<u8>,
    messages: BTreeMap<BodyHandle, Arc<Message>>,
}

impl Thawing {
    /// Of a snapshot whose state has so many octets, and whose messages have so many.
    pub fn new(state_bytes: u64, messages_bytes: u64) -> Thawing {
        Thawing {
            state_bytes,
            messages_left: messages_bytes,
            ..Thawing::default()
        }
    }

    /// Of a whole snapshot.
    ///
    /// # Errors
    /// Its messages cannot be read.
    pub fn of(snapshot: &Snapshot) -> Result<Thawing, EncodingError> {
        let (state, messages) = (&snapshot.state, &snapshot.messages);
        let mut thawing = Thawing::new(state.len() as u64, messages.len() as u64);
        thawing.push(state)?;
        thawing.push(messages)?;
        Ok(thawing)
    }

    /// The octets behind those that have come.
    ///
    /// # Errors
    /// A message cannot be read, or there are more than were said.
    pub fn push(&mut self, octets: &[u8]) -> Result<(), EncodingError> {
        let of_state = self.state_bytes - self.state.len() as u64;
        let of_state = usize::try_from(of_state).unwrap_or(usize::MAX);
        let (state, messages) = octets.split_at(of_state.min(octets.len()));
        self.state.extend_from_slice(state);
        let left = self.messages_left.checked_sub(messages.len() as u64);
        self.messages_left = left.ok_or(wrong("more of a snapshot than was said"))?;
        self.pending.extend_from_slice(messages);
        let read = self.take_messages()?;
        self.pending.drain(..read);
        Ok(())
    }

    /// Makes messages of what has come, and says how many octets that took.
    fn take_messages(&mut self) -> Result<usize, EncodingError> {
        let mut read = 0;
        if self.count.is_none() {
            let Some(count) = self.pending.first_chunk() else {
                return Ok(0);
            };
            self.count = Some(u32::from_be_bytes(*count));
            read = count.len();
        }
        while let Some(octets) = self.pending.get(read..).and_then(whole_message) {
            let mut from = Decoder::new(octets);
            let handle = BodyHandle::decode(&mut from)?;
            let message = Arc::<Message>::decode(&mut from)?;
            if self.messages.insert(handle, message).is_some() || !from.is_at_end() {
                return Err(from.error("messages"));
            }
            read += octets.len();
        }
        Ok(read)
    }

    /// The core that was frozen, when all has come.
    ///
    /// # Errors
    /// When the octets are not those of a snapshot, with the offset.
    pub fn finish(self) -> Result<Core, EncodingError> {
        let count = self.count.map_or(u64::MAX, u64::from);
        let is_whole = self.messages_left == 0 && self.pending.is_empty();
        if !is_whole || count != self.messages.len() as u64 {
            return Err(wrong("end of messages"));
        }
        let mut state = Decoder::new(&self.state);
        state.messages = self.messages;
        let format = format(&mut state)?;
        state.format = Some(format);
        let mut core = Core::decode(&mut state)?;
        if format < 2 {
            core.settle_in_queues();
            core.settle_in_exchanges();
        }
        if format < 3 {
            core.count_queues_anew();
        }
        core.hold_anew();
        core.promise_anew();
        core.forget_as_planted();
        match state.is_at_end() {
            true => Ok(core),
            false => Err(state.error("end of state")),
        }
    }
}

/// The format of a snapshot, of the octets that mark it.
fn format(from: &mut Decoder<'_>) -> Result<u8, EncodingError> {
    let unknown = from.error("a snapshot");
    let later = from.error("a snapshot that a later version of the broker has written");
    let mark = from.raw(MAGIC.len() + 1, "a snapshot")?;
    match mark.strip_prefix(MAGIC) {
        Some([digit @ b'1'..=b'9']) => match digit - b'0' {
            format if format <= Level::most().number() => Ok(format),
            _ => Err(later),
        },
        _ => Err(unknown),
    }
}

/// What is wrong with a snapshot as a whole.
fn wrong(what: &'static str) -> EncodingError {
    EncodingError { what, offset: 0 }
}

/// How many octets the message at the beginning has, if all of it is there.
fn whole_message(octets: &[u8]) -> Option<&[u8]> {
    let length_at = |at: usize| {
        let length = octets.get(at..)?.first_chunk()?;
        usize::try_from(u32::from_be_bytes(*length)).ok()
    };
    let header = length_at(HEADER_LENGTH_AT)?;
    let body = length_at(HEADER_LENGTH_AT + 4 + header)?;
    octets.get(..MESSAGE_HEAD_BYTES + header + body)
}

impl Snapshot {
    /// The core that was frozen.
    ///
    /// # Errors
    /// When the bytes are not those of a snapshot, with the offset.
    pub fn decode(&self) -> Result<Core, EncodingError> {
        Thawing::of(self)?.finish()
    }
}
