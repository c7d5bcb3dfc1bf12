//! One member: its machine, what is on its way to it, and what it has proposed.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::Waker;

use super::member_log::MemberLog;
use crate::broker::digest::Digest;
use crate::broker::encoding::{Decoder, Encoder, Record};
use crate::broker::ids::{ConnectionNumber, MemberId};
use crate::broker::{Applied, Batch, Command, Origin, Out};
use crate::cluster::machine::{Machine, digest_effects};
use crate::cluster::outbox::{Outboxes, Woken};
use crate::cluster::{Millis, limits, proposal};

/// An entry on its way to a member.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// Its place in the order.
    pub index: u64,
    /// The encoded batch.
    pub bytes: Arc<[u8]>,
    /// Whether the members' digests are compared behind it.
    pub is_compared: bool,
}

/// A batch that a member has proposed and not applied.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    /// Its number in the member's epoch.
    pub seq: u64,
    /// Whose it is, and whether it is the last of what that proposed at once.
    pub connection: (ConnectionNumber, bool),
    /// Encoded origin and commands.
    pub bytes: Arc<[u8]>,
}

/// What applying an entry told its member of the member's own proposals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// Nothing new.
    Nothing,
    /// One is missing: to be sent again from this number on.
    Gap(u64),
}

/// A member.
pub(super) struct Member<M> {
    pub id: MemberId,
    pub epoch: u64,
    pub seq: u64,
    pub machine: M,
    pub effects: Digest,
    pub outboxes: Outboxes,
    pub out: Out,
    /// What it keeps on its disk.
    pub log: Option<MemberLog>,
    /// Entries in order, and when each comes.
    pub inbox: VecDeque<(Millis, Entry)>,
    pub pending: VecDeque<Pending>,
    /// When it last saw its proposals go on, or sent them again.
    pub waits_since: Millis,
    /// For how long it waits then, in milliseconds.
    pub patience: u64,
    /// Who it believes to be the sequencer, and of which term.
    pub believes: (usize, u64),
    /// When it sent its last tick, while it has not seen one applied since.
    pub ticked: Option<Millis>,
    /// Who calls `tick` for it, and when it will at the latest.
    pub sequencer: Option<(Waker, Option<Millis>)>,
}

impl<M: Machine> Member<M> {
    pub fn new(id: MemberId, machine: M) -> Member<M> {
        Member {
            id,
            epoch: 1,
            seq: 0,
            machine,
            effects: Digest::default(),
            outboxes: Outboxes::default(),
            out: Out::default(),
            log: None,
            inbox: VecDeque::new(),
            pending: VecDeque::new(),
            waits_since: Millis(0),
            patience: limits::RESEND_AFTER_MS,
            believes: (0, 1),
            ticked: None,
            sequencer: None,
        }
    }

    /// Numbers and encodes what a connection proposes, and keeps it until it is applied. Gives how
    /// many batches that is.
    pub fn number(
        &mut self,
        now: Millis,
        connection: ConnectionNumber,
        (commands, most): (&[Command], (usize, usize)),
    ) -> usize {
        if self.pending.is_empty() {
            self.waits_since = now;
        }
        let batches = proposal::cut(connection, commands, most);
        let count = batches.len();
        for (n, commands) in batches.iter().enumerate() {
            self.seq += 1;
            let origin = Origin::Member {
                id: self.id,
                epoch: self.epoch,
                seq: self.seq,
            };
            let (bytes, is_last) = (Arc::<[u8]>::from(commands.of(origin)), n + 1 == count);
            self.outboxes.proposed(connection, bytes.len(), is_last);
            self.pending.push_back(Pending {
                seq: self.seq,
                connection: (connection, is_last),
                bytes,
            });
        }
        count
    }

    /// Decodes and applies an entry, and appends it to the log. The effects for its own connections
    /// go into their outboxes; with a log they are held there until a majority has the entry on its
    /// disks.
    ///
    /// # Errors
    /// When the entry cannot be read or written.
    pub fn apply(
        &mut self,
        (now, wall): (Millis, u64),
        entry: &Entry,
        woken: &mut Woken,
    ) -> Result<Told, String> {
        let mut held_until = 0;
        if let Some(log) = &mut self.log {
            log.append(wall, entry)?;
            held_until = entry.index;
        }
        let mut batch = decode::<Batch>(&entry.bytes)
            .map_err(|error| format!("entry {}: {error}", entry.index))?;
        let origin = batch.origin;
        let applied = self.machine.apply(&mut batch, &mut self.out);
        digest_effects(&self.out.effects, &mut self.effects);
        self.outboxes
            .distribute(self.id, &mut self.out, held_until, woken);
        match origin {
            Origin::Sequencer => {
                self.ticked = None;
                Ok(Told::Nothing)
            }
            Origin::Member { id, epoch, .. } if (id, epoch) == (self.id, self.epoch) => {
                Ok(self.proposal_applied(now, applied, held_until, woken))
            }
            Origin::Member { .. } | Origin::Port { .. } => Ok(Told::Nothing),
        }
    }

    fn proposal_applied(
        &mut self,
        now: Millis,
        applied: Applied,
        held_until: u64,
        woken: &mut Woken,
    ) -> Told {
        let last = self.machine.last_seq(self.id, self.epoch);
        while let Some(pending) = self.pending.pop_front_if(|pending| pending.seq <= last) {
            self.waits_since = now;
            self.patience = limits::RESEND_AFTER_MS;
            let ((connection, is_last), bytes) = (pending.connection, pending.bytes.len());
            if is_last {
                self.outboxes.applied_unsynced(connection, held_until);
            }
            self.outboxes.applied(connection, bytes, is_last, woken);
        }
        match applied {
            Applied::Gap { expected } => Told::Gap(expected),
            Applied::Done | Applied::Seen | Applied::Stale => Told::Nothing,
        }
    }

    /// When it sends its proposals again.
    pub fn resends_at(&self) -> Option<Millis> {
        let at = Millis(self.waits_since.0 + self.patience);
        (!self.pending.is_empty()).then_some(at)
    }

    /// State and effects so far, as two digests.
    pub fn digests(&self) -> (u64, u64) {
        use std::hash::Hasher;
        (self.machine.digest(), self.effects.finish())
    }
}

/// A value as bytes.
pub(super) fn encode(value: &impl Record) -> Arc<[u8]> {
    let mut encoder = Encoder::default();
    value.encode(&mut encoder);
    Arc::from(encoder.bytes)
}

/// The value that all of `bytes` is.
pub(super) fn decode<T: Record>(bytes: &[u8]) -> Result<T, String> {
    let mut decoder = Decoder::new(bytes);
    let value = T::decode(&mut decoder).map_err(|error| error.to_string())?;
    match decoder.is_at_end() {
        true => Ok(value),
        false => Err(format!("{} octets are too many", bytes.len())),
    }
}
