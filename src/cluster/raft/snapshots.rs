//! Snapshots of a member: its own, written piece by piece beside the entries, and those that travel.
//!
//! ```text
//!   freeze -> Job: encode -> piece -> log ...                    its own, when one is due
//!
//!   leader --offer (raft's message, how many pieces)--> newcomer
//!          <--wanted (from which piece, how many)------
//!          --piece, piece, ...------------------------>  each into its log, as it comes
//!          <--wanted ...-------------------------------  the last one: then raft hears of the snapshot
//! ```
//!
//! The newcomer asks, and asks again for what does not come, so the leader keeps no more than which
//! pieces are still to be read. Raft's message takes effect when all that it stands for is there. What
//! takes long (to encode, to read, to make a machine of octets) is a [`Job`], which whoever drives the
//! member runs without its lock.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::marker::PhantomData;
use std::ops::Bound;

use bytes::Bytes;
use raft::prelude::Message;
use raft::{SnapshotStatus, StateRole};

use super::Plant;
use super::codec;
use super::member::{Member, Now};
use super::ordered::{Content, Envelope, Offer, Wanted};
use crate::broker::ids::MemberId;
use crate::broker::snapshot::{Frozen, Pieces, Thawing};
use crate::cluster::entry_log::{self, PieceHead, RaftBase, Written};
use crate::cluster::limits;
use crate::cluster::machine::Machine;

/// Work of a member that takes long and needs nothing of it: to be run anywhere, without a lock, and
/// handed back by [`Member::finish`]. One that is lost with its member does no harm.
pub struct Job<M>(Kind<M>);

enum Kind<M> {
    Encode {
        frozen: Box<Frozen>,
        bytes: usize,
    },
    Cut {
        pieces: Box<Pieces>,
    },
    Read {
        written: Written,
        to: u64,
        piece: u32,
    },
    Thaw {
        thawing: Box<Thawing>,
        index: u64,
        of: PhantomData<fn() -> M>,
    },
}

/// What came of a [`Job`].
pub struct Done<M>(Outcome<M>);

enum Outcome<M> {
    Cut {
        pieces: Box<Pieces>,
        piece: Result<Bytes, String>,
    },
    Read {
        to: u64,
        index: u64,
        piece: u32,
        octets: Result<Bytes, String>,
    },
    Thawed {
        index: u64,
        machine: Result<M, String>,
    },
}

impl<M> fmt::Debug for Job<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Encode { frozen, .. } => write!(f, "encode the state at {}", frozen.index()),
            Kind::Cut { .. } => f.write_str("encode a piece"),
            Kind::Read { to, piece, .. } => write!(f, "read piece {piece} for member {to}"),
            Kind::Thaw { index, .. } => write!(f, "decode the state at {index}"),
        }
    }
}

impl<M: Machine> Job<M> {
    /// Does it: encoding or decoding a whole state takes a second a few million messages, all else
    /// some milliseconds at most.
    pub fn run(self) -> Done<M> {
        let cut = |mut pieces: Box<Pieces>| {
            let piece = pieces.next_piece().map(Option::unwrap_or_default);
            Outcome::Cut { pieces, piece }
        };
        Done(match self.0 {
            Kind::Encode { frozen, bytes } => cut(Box::new(frozen.into_pieces(bytes))),
            Kind::Cut { pieces } => cut(pieces),
            Kind::Read { written, to, piece } => Outcome::Read {
                to,
                index: written.head().index,
                piece,
                octets: written.piece(piece),
            },
            Kind::Thaw { thawing, index, .. } => Outcome::Thawed {
                index,
                machine: entry_log::machine_at(index, *thawing),
            },
        })
    }
}

/// A snapshot of its own that is being written.
struct Writing {
    base: RaftBase,
    wall: u64,
    at: WritingAt,
    /// Of its first piece, once it is known.
    first: Option<PieceHead>,
    next: u32,
    /// Where pieces end that are not known to be on the disk.
    unsynced: VecDeque<u64>,
}

enum WritingAt {
    Frozen(Box<Frozen>),
    Pieces(Box<Pieces>),
    /// A job has it.
    Out,
}

/// A snapshot that was offered to another member.
struct Outgoing {
    written: Written,
    /// The pieces that it wants and that are not read yet.
    wanted: BTreeSet<u32>,
    /// At which tick it last asked.
    heard: u64,
}

/// A snapshot that another member offered.
struct Incoming<M> {
    from: MemberId,
    offer: Offer,
    /// The piece that is taken next.
    next: u32,
    /// Pieces behind it that have come already.
    early: BTreeMap<u32, Bytes>,
    /// Up to which piece it has asked, and when.
    asked: u32,
    asked_at: u64,
    /// Ticks after which it asks again.
    patience: u64,
    /// At which tick something of it last came.
    heard: u64,
    state: IncomingState<M>,
    /// The last piece, which is written when raft has taken the snapshot.
    last: Bytes,
}

enum IncomingState<M> {
    Gathering(Box<Thawing>),
    /// All is there.
    Whole(Box<Thawing>),
    /// A job has it.
    Out,
    Ready(Box<M>),
}

impl<M> Incoming<M> {
    fn index(&self) -> u64 {
        self.offer.head.index
    }
}

/// See the module.
pub(super) struct Snapshots<M> {
    writing: Option<Writing>,
    /// What was written before, for [`Plant::SnapshotBehind`].
    before: Option<Frozen>,
    outgoing: BTreeMap<u64, Outgoing>,
    /// Whom a piece was last read for.
    served: u64,
    incoming: Option<Incoming<M>>,
    /// Raft has taken it, and it is installed with what raft gives next.
    installing: Option<Incoming<M>>,
    is_job_out: bool,
    /// Whether its own snapshot has its turn, and not what others want.
    is_own_turn: bool,
}

impl<M> Default for Snapshots<M> {
    fn default() -> Self {
        Snapshots {
            writing: None,
            before: None,
            outgoing: BTreeMap::new(),
            served: 0,
            incoming: None,
            installing: None,
            is_job_out: false,
            is_own_turn: false,
        }
    }
}

impl<M> Snapshots<M> {
    /// The next piece that is to be read for another member.
    fn next_read(&mut self) -> Option<Kind<M>> {
        let waits = |(_, outgoing): &(&u64, &mut Outgoing)| !outgoing.wanted.is_empty();
        let served = self.served;
        let behind = (Bound::Excluded(served), Bound::Unbounded);
        let behind = self.outgoing.range_mut(behind).find(waits);
        let (to, outgoing) = match behind {
            Some(found) => found,
            None => self.outgoing.iter_mut().find(waits)?,
        };
        self.served = *to;
        Some(Kind::Read {
            written: outgoing.written.clone(),
            to: *to,
            piece: outgoing.wanted.pop_first()?,
        })
    }

    /// The next piece of its own snapshot, if the disk has what came before.
    fn next_cut(&mut self, synced: u64, bytes: usize) -> Option<Kind<M>> {
        let writing = self.writing.as_mut()?;
        while writing
            .unsynced
            .pop_front_if(|end| *end <= synced)
            .is_some()
        {}
        if writing.unsynced.len() >= limits::SNAPSHOT_PIECES_UNSYNCED {
            return None;
        }
        match std::mem::replace(&mut writing.at, WritingAt::Out) {
            WritingAt::Frozen(frozen) => Some(Kind::Encode { frozen, bytes }),
            WritingAt::Pieces(pieces) => Some(Kind::Cut { pieces }),
            WritingAt::Out => None,
        }
    }

    fn next_thaw(&mut self) -> Option<Kind<M>> {
        let incoming = self.incoming.as_mut()?;
        if !matches!(incoming.state, IncomingState::Whole(_)) {
            return None;
        }
        match std::mem::replace(&mut incoming.state, IncomingState::Out) {
            IncomingState::Whole(thawing) => Some(Kind::Thaw {
                thawing,
                index: incoming.index(),
                of: PhantomData,
            }),
            _ => None,
        }
    }
}

impl<M: Machine> Member<M> {
    /// The next work that is to be done without its lock, if there is any: to be asked for after
    /// [`Member::work`]. There is none while another is being done.
    pub fn job(&mut self) -> Option<Job<M>> {
        if self.snapshots.is_job_out || self.failure().is_some() {
            return None;
        }
        let synced = self.log().journal().synced();
        let bytes = self.log().options().snapshot_piece_bytes;
        let snapshots = &mut self.snapshots;
        let is_own_turn = snapshots.is_own_turn;
        snapshots.is_own_turn = !is_own_turn;
        let kind = match (snapshots.next_thaw(), is_own_turn) {
            (Some(kind), _) => Some(kind),
            (None, true) => {
                let own = snapshots.next_cut(synced, bytes);
                own.or_else(|| snapshots.next_read())
            }
            (None, false) => {
                let read = snapshots.next_read();
                read.or_else(|| snapshots.next_cut(synced, bytes))
            }
        };
        snapshots.is_job_out = kind.is_some();
        kind.map(Job)
    }

    /// Takes what came of a job. [`Member::work`] goes on with it.
    pub fn finish(&mut self, now: Now, done: Done<M>) {
        self.now = now;
        self.snapshots.is_job_out = false;
        match done.0 {
            Outcome::Cut { pieces, piece } => {
                let written = self.cut(pieces, piece);
                self.try_to(written);
            }
            Outcome::Read {
                to,
                index,
                piece,
                octets,
            } => self.read(to, index, piece, octets),
            Outcome::Thawed { index, machine } => self.thawed(index, machine),
        }
    }

    /// Begins a snapshot when one is due: all that it has applied is in the order.
    pub(super) fn take_snapshot(&mut self) {
        let index = self.machine.index();
        let is_wanted = self.raw.store().wants_snapshot();
        let is_due = is_wanted || self.is_snapshot_due();
        let is_busy = self.snapshots.writing.is_some() || self.snapshots.incoming.is_some();
        if !is_due || is_busy || index <= self.log().snapshot_index() {
            return;
        }
        let wall = self.log().wall_of(index);
        let (Some(term), Ok(wall)) = (self.log().raft_term(index), wall) else {
            return self.fail(format!("entry {index} was applied and is not in the log"));
        };
        let configuration = self.configuration();
        let base = RaftBase {
            index,
            term,
            configuration,
        };
        let mut frozen = self.machine.freeze();
        if self.settings.plant == Plant::SnapshotBehind {
            let before = self.snapshots.before.replace(frozen.clone());
            frozen = before.unwrap_or(frozen);
        }
        self.snapshots.writing = Some(Writing {
            base,
            wall,
            at: WritingAt::Frozen(Box::new(frozen)),
            first: None,
            next: 0,
            unsynced: VecDeque::new(),
        });
    }

    /// While the last one is on its way to another member, the next one waits: what comes behind the
    /// one is needed there.
    fn is_snapshot_due(&self) -> bool {
        let outgoing = self.snapshots.outgoing.values();
        let is_live =
            |outgoing: &Outgoing| outgoing.heard + limits::RAFT_SNAPSHOT_TICKS > self.ticks;
        match outgoing.into_iter().any(is_live) {
            true => self
                .log()
                .is_snapshot_due_by(limits::SNAPSHOT_PUT_OFF_TIMES),
            false => self.log().is_snapshot_due(),
        }
    }

    /// A piece of its own snapshot is encoded.
    fn cut(&mut self, pieces: Box<Pieces>, piece: Result<Bytes, String>) -> Result<(), String> {
        let Some(writing) = &mut self.snapshots.writing else {
            return Ok(());
        };
        if !matches!(writing.at, WritingAt::Out) {
            return Ok(());
        }
        let octets = piece?;
        let first = match writing.first {
            Some(first) => first,
            None => PieceHead::first(writing.wall, writing.base.index, &pieces)?,
        };
        let head = first.at(writing.next);
        writing.first = Some(first);
        writing.next += 1;
        writing.at = WritingAt::Pieces(pieces);
        let is_last = writing.next == first.pieces;
        let log = &mut self.raw.mut_store().log;
        if is_last && let Some(writing) = self.snapshots.writing.take() {
            log.raft_base_follows(writing.base)?;
        }
        log.write_piece(head, &octets)?;
        let end = log.end();
        if let Some(writing) = &mut self.snapshots.writing {
            writing.unsynced.push_back(end);
        }
        Ok(())
    }

    /// Raft sends a snapshot: it is offered, and its pieces go when they are wanted.
    pub(super) fn offer(&mut self, message: Message) {
        let to = message.to;
        let written = self.log().newest_snapshot();
        let index = message.get_snapshot().get_metadata().index;
        let Some(written) = written.filter(|written| written.head().index == index) else {
            // There is a newer one by now.
            self.raw.report_snapshot(to, SnapshotStatus::Failure);
            return;
        };
        let head = written.head();
        let outgoing = Outgoing {
            written,
            wanted: BTreeSet::new(),
            heard: self.ticks,
        };
        self.snapshots.outgoing.insert(to, outgoing);
        let offer = Offer {
            message: Box::new(message),
            head,
        };
        self.send_content(MemberId(to), Content::Offer(offer));
    }

    fn send_content(&mut self, to: MemberId, content: Content) {
        let envelope = Envelope {
            group: self.settings.group,
            from: self.id(),
            to,
            content,
        };
        match envelope.encode() {
            Some(octets) => self.outgoing.push((to, octets)),
            None => self.fail(format!("raft sends what does not travel: {envelope:?}")),
        }
    }

    /// Another member wants pieces.
    pub(super) fn wanted(&mut self, from: MemberId, wanted: Wanted) {
        let ticks = self.ticks;
        let Some(outgoing) = self.snapshots.outgoing.get_mut(&from.0) else {
            return;
        };
        let head = outgoing.written.head();
        if head.index != wanted.index {
            return;
        }
        outgoing.heard = ticks;
        let end = wanted.piece.saturating_add(wanted.count).min(head.pieces);
        outgoing.wanted.extend(wanted.piece..end);
        while outgoing.wanted.len() > 2 * limits::RAFT_PIECES_WANTED_MAX as usize {
            outgoing.wanted.pop_last();
        }
        if let Some(since) = self.sent_snapshots.get_mut(&from.0) {
            *since = ticks;
        }
    }

    /// A piece for another member was read.
    fn read(&mut self, to: u64, index: u64, piece: u32, octets: Result<Bytes, String>) {
        match octets {
            Ok(octets) => {
                let piece = Content::Piece {
                    index,
                    piece,
                    octets,
                };
                self.send_content(MemberId(to), piece);
            }
            Err(why) => {
                // It may have been given back, for a newer one.
                tracing::warn!(
                    target: "Cluster",
                    "piece {piece} of the snapshot at entry {index} is not sent: {why}"
                );
                self.snapshots.outgoing.remove(&to);
                self.raw.report_snapshot(to, SnapshotStatus::Failure);
            }
        }
    }

    /// Another member offers a snapshot.
    pub(super) fn offered(&mut self, from: MemberId, offer: Offer) -> Result<(), String> {
        let metadata = offer.message.get_snapshot().get_metadata();
        let (index, term) = (metadata.index, metadata.term);
        let raft = &self.raw.raft;
        let is_old = offer.message.term < raft.term;
        let has_it = raft.raft_log.match_term(index, term);
        if is_old || index < raft.raft_log.committed || has_it {
            // Nothing of it is needed: raft answers.
            return self.step_raft(*offer.message);
        }
        if index == raft.raft_log.committed {
            return Err(format!(
                "a snapshot with another entry {index} than in the order"
            ));
        }
        let ticks = self.ticks;
        if let Some(incoming) = &mut self.snapshots.incoming
            && incoming.offer.head == offer.head
            && (incoming.from == from || matches!(incoming.state, IncomingState::Ready(_)))
        {
            incoming.offer = offer;
            incoming.heard = ticks;
        } else {
            let head = offer.head;
            self.snapshots.writing = None;
            self.snapshots.incoming = Some(Incoming {
                from,
                offer,
                next: 0,
                early: BTreeMap::new(),
                asked: 0,
                asked_at: ticks,
                patience: limits::RAFT_PIECE_TICKS,
                heard: ticks,
                state: IncomingState::Gathering(Box::new(Thawing::new(
                    head.state_bytes,
                    head.messages_bytes,
                ))),
                last: Bytes::new(),
            });
        }
        self.ask(true);
        self.install_if_ready();
        Ok(())
    }

    /// Asks for pieces: again for all that have not come, or for those behind what was asked for.
    fn ask(&mut self, is_again: bool) {
        let has_room = self.log().journal().has_room();
        let ticks = self.ticks;
        let Some(incoming) = &mut self.snapshots.incoming else {
            return;
        };
        let most = limits::RAFT_PIECES_WANTED_MAX;
        let end = (incoming.next.saturating_add(most)).min(incoming.offer.head.pieces);
        let piece = match is_again {
            true => incoming.next,
            false => incoming.asked.max(incoming.next),
        };
        // A count of 0 says that it is still there.
        let count = if has_room {
            end.saturating_sub(piece)
        } else {
            0
        };
        if count == 0 && !is_again {
            return;
        }
        incoming.asked = piece + count;
        incoming.asked_at = ticks;
        let index = incoming.offer.head.index;
        let (to, wanted) = (
            incoming.from,
            Wanted {
                index,
                piece,
                count,
            },
        );
        self.send_content(to, Content::Wanted(wanted));
    }

    /// A piece has come.
    pub(super) fn came(
        &mut self,
        from: MemberId,
        index: u64,
        piece: u32,
        octets: Bytes,
    ) -> Result<(), String> {
        let ticks = self.ticks;
        let Some(incoming) = &mut self.snapshots.incoming else {
            return Err("a piece of a snapshot that is not awaited".to_owned());
        };
        let is_of_it = (incoming.from, incoming.index()) == (from, index);
        if !is_of_it || piece < incoming.next || piece >= incoming.asked {
            return Err(format!(
                "piece {piece} of the snapshot at entry {index} is not awaited"
            ));
        }
        // As slow as pieces come, and as patient: what is asked for again too early fills a slow network,
        // and one that only loses some is not slow.
        let pause = ticks - incoming.asked_at;
        let patience = 2 * pause + 2;
        incoming.patience = patience.clamp(limits::RAFT_PIECE_TICKS, limits::RAFT_PIECE_TICKS_MAX);
        incoming.early.insert(piece, octets);
        (incoming.heard, incoming.asked_at) = (ticks, ticks);
        while let Some(incoming) = &mut self.snapshots.incoming
            && let Some(octets) = incoming.early.remove(&incoming.next)
        {
            if let Err(why) = self.take_piece(octets) {
                self.snapshots.incoming = None;
                tracing::error!(target: "Cluster", "a snapshot is refused: {why}");
                return Err(why);
            }
        }
        if let Some(incoming) = &self.snapshots.incoming
            && incoming.asked - incoming.next <= limits::RAFT_PIECES_WANTED_MAX / 2
        {
            self.ask(false);
        }
        Ok(())
    }

    fn take_piece(&mut self, octets: Bytes) -> Result<(), String> {
        let Some(incoming) = &mut self.snapshots.incoming else {
            return Ok(());
        };
        let IncomingState::Gathering(thawing) = &mut incoming.state else {
            return Err("a piece behind the last".to_owned());
        };
        thawing.push(&octets).map_err(|error| error.to_string())?;
        let head = incoming.offer.head.at(incoming.next);
        incoming.next += 1;
        if incoming.next < head.pieces {
            let written = self.log_mut().write_piece(head, &octets);
            self.try_to(written);
            return Ok(());
        }
        incoming.last = octets;
        let gathered = std::mem::replace(&mut incoming.state, IncomingState::Out);
        if let IncomingState::Gathering(thawing) = gathered {
            incoming.state = IncomingState::Whole(thawing);
        }
        Ok(())
    }

    /// A state from elsewhere is decoded.
    fn thawed(&mut self, index: u64, machine: Result<M, String>) {
        let ticks = self.ticks;
        let Some(incoming) = &mut self.snapshots.incoming else {
            return;
        };
        if incoming.index() != index || !matches!(incoming.state, IncomingState::Out) {
            return;
        }
        match machine {
            Ok(machine) => {
                incoming.state = IncomingState::Ready(Box::new(machine));
                incoming.heard = ticks;
                self.install_if_ready();
            }
            Err(why) => {
                tracing::error!(target: "Cluster", "a snapshot is refused: {why}");
                self.snapshots.incoming = None;
            }
        }
    }

    /// Raft hears of a snapshot once all of it is there.
    fn install_if_ready(&mut self) {
        let Some(incoming) = &self.snapshots.incoming else {
            return;
        };
        if !matches!(incoming.state, IncomingState::Ready(_)) {
            return;
        }
        let index = incoming.index();
        let message = (*incoming.offer.message).clone();
        if let Err(why) = self.step_raft(message) {
            tracing::warn!(target: "Cluster", "a snapshot is refused: {why}");
        }
        let raft = &self.raw.raft;
        let is_taken = raft
            .snap()
            .is_some_and(|taken| taken.get_metadata().index == index);
        if is_taken {
            self.snapshots.installing = self.snapshots.incoming.take();
        } else if raft.raft_log.committed >= index {
            self.snapshots.incoming = None;
        }
    }

    /// Takes the state of another member, as raft has taken its snapshot. What its own connections
    /// would have been told meanwhile is not in it: they end.
    pub(super) fn install(&mut self, base: RaftBase) -> Result<(), String> {
        let found = self.snapshots.installing.take();
        let found = found.filter(|incoming| incoming.index() == base.index);
        let Some(Incoming {
            offer,
            state: IncomingState::Ready(machine),
            last,
            ..
        }) = found
        else {
            let index = base.index;
            return Err(format!(
                "raft took the snapshot at entry {index}, which has not come"
            ));
        };
        self.snapshots.writing = None;
        // What was committed and not applied is in that state.
        self.unapplied.clear();
        let voter = self.settings.voter();
        self.log_mut().vote(voter)?;
        let head = offer.head.at(offer.head.pieces - 1);
        self.raw.mut_store().install(base, head, &last)?;
        self.machine = *machine;
        if self.settings.plant != Plant::ConnectionsKept {
            self.renew();
        }
        Ok(())
    }

    /// What time changes: pieces are asked for again, and given up.
    pub(super) fn tick_snapshots(&mut self) {
        let ticks = self.ticks;
        let is_live =
            |outgoing: &mut Outgoing| outgoing.heard + 2 * limits::RAFT_SNAPSHOT_TICKS > ticks;
        self.snapshots
            .outgoing
            .retain(|_, outgoing| is_live(outgoing));
        let leads = self.raw.raft.state == StateRole::Leader;
        let Some(incoming) = &mut self.snapshots.incoming else {
            return;
        };
        let is_out = matches!(incoming.state, IncomingState::Out);
        let is_over = ticks >= incoming.heard + limits::RAFT_SNAPSHOT_TICKS && !is_out;
        if leads || is_over {
            self.snapshots.incoming = None;
        } else if ticks >= incoming.asked_at + incoming.patience {
            incoming.patience = (2 * incoming.patience).min(limits::RAFT_PIECE_TICKS_MAX);
            self.ask(true);
        }
    }
}

/// Whether an offer can be one: it says of what raft's message is about, and is bounded.
pub(super) fn is_sound(offer: &Offer) -> bool {
    let base = codec::base_of(offer.message.get_snapshot());
    let head = &offer.head;
    let bytes = head.state_bytes.checked_add(head.messages_bytes);
    let is_bounded = bytes.is_some_and(|bytes| bytes <= limits::RAFT_SNAPSHOT_BYTES_MAX);
    (head.index, head.piece) == (base.index, 0) && is_bounded
}

#[cfg(test)]
mod tests;
