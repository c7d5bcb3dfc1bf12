//! What a member has proposed and not seen applied: sent again until it is.

use std::collections::VecDeque;

use bytes::Bytes;

use super::Plant;
use super::member::{Member, Now};
use super::ordered::{Content, Envelope};
use crate::broker::encoding::{Encoder, Record};
use crate::broker::ids::{ConnectionNumber, MemberId};
use crate::broker::{Applied, Command, Origin};
use crate::cluster::machine::Machine;
use crate::cluster::{Millis, limits};

/// By how much it waits longer at most when sending again was of no use.
const RESEND_PATIENCE_GROWTH: u64 = 16;

/// A batch that was proposed and not applied.
#[derive(Clone, Debug)]
struct Pending {
    seq: u64,
    /// Whose it is; None for the member's own.
    connection: Option<ConnectionNumber>,
    bytes: Bytes,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Proposals {
    epoch: u64,
    seq: u64,
    pending: VecDeque<Pending>,
    /// Nothing of this epoch is sent before the log is synced so far: the epoch is not used again.
    synced_at: u64,
    /// When something last went on, or was sent again.
    waits_since: Millis,
    /// For how long it waits then, in milliseconds.
    patience: u64,
    /// At first.
    patience_min: u64,
    /// The leader, and its term, to which all was sent.
    sent_to: (u64, u64),
}

impl Proposals {
    /// A new epoch begins: what was proposed in the former one is nobody's.
    pub fn begin(&mut self, now: Millis, epoch: u64, (synced_at, patience): (u64, u64)) {
        *self = Proposals {
            epoch,
            synced_at,
            waits_since: now,
            patience,
            patience_min: patience,
            ..Proposals::default()
        };
    }

    /// Whether all that was proposed was applied.
    pub fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// A proposal as octets.
    pub fn encode(origin: Origin, commands: &[Command]) -> Bytes {
        let mut encoder = Encoder::default();
        origin.encode(&mut encoder);
        (commands.len() as u32).encode(&mut encoder);
        for command in commands {
            command.encode(&mut encoder);
        }
        Bytes::from(encoder.bytes)
    }
}

impl<M: Machine> Member<M> {
    /// Proposes commands of a connection. A batch that is larger than an entry can be ends the
    /// connection instead.
    pub fn propose(&mut self, now: Now, connection: ConnectionNumber, commands: &[Command]) {
        self.now = now;
        if !self.outboxes.is_open(connection) {
            return;
        }
        self.number(Some(connection), commands);
        let Some(last) = self.proposals.pending.back() else {
            return;
        };
        if last.bytes.len() + 64 > limits::RAFT_ENTRY_BYTES_MAX {
            let bytes = last.bytes.len();
            tracing::error!(target: "Cluster", "a batch of {bytes} octets ends its connection");
            self.proposals.pending.pop_back();
            self.proposals.seq -= 1;
            self.outboxes.close(connection);
            self.number(Some(connection), &[Command::ConnectionEnd { connection }]);
        }
        self.send_last();
    }

    /// Sends what was numbered last.
    pub(super) fn send_last(&mut self) {
        let seq = self.proposals.seq;
        self.send_from(seq);
    }

    /// Numbers and keeps a batch.
    pub(super) fn number(&mut self, connection: Option<ConnectionNumber>, commands: &[Command]) {
        let id = self.id();
        let proposals = &mut self.proposals;
        proposals.seq += 1;
        let origin = Origin::Member {
            id,
            epoch: proposals.epoch,
            seq: proposals.seq,
        };
        if proposals.pending.is_empty() {
            proposals.waits_since = self.now.clock;
        }
        proposals.pending.push_back(Pending {
            seq: proposals.seq,
            connection,
            bytes: Proposals::encode(origin, commands),
        });
        if let Some(connection) = connection {
            self.outboxes.proposed(connection);
        }
    }

    /// An entry of its own was applied: what of its proposals is done, and what is missing.
    pub(super) fn proposal_applied(&mut self, applied: Applied) {
        let (now, id) = (self.now.clock, self.id());
        let last = self.machine.last_seq(id, self.proposals.epoch);
        let proposals = &mut self.proposals;
        while let Some(pending) = proposals
            .pending
            .pop_front_if(|pending| pending.seq <= last)
        {
            proposals.waits_since = now;
            proposals.patience = proposals.patience_min;
            if let Some(connection) = pending.connection {
                self.outboxes.applied(connection, &mut self.woken);
            }
        }
        let has_waited = now.0 >= self.proposals.waits_since.0 + limits::GAP_ANSWERED_MS;
        if let Applied::Gap { expected } = applied
            && has_waited
            && self.settings.plant != Plant::NotResent
        {
            self.send_from(expected);
        }
    }

    /// Sends from a number on what is pending, if there is a leader to send it to.
    fn send_from(&mut self, seq: u64) {
        let leader = MemberId(self.raw.raft.leader_id);
        let is_own = self.lead.is_some();
        let is_synced = self.proposals.synced_at <= self.log().journal().synced();
        if !is_synced || leader.0 == 0 || (leader == self.id() && !is_own) {
            return;
        }
        let pending = self.proposals.pending.iter();
        let batches: Vec<Bytes> = pending
            .filter(|pending| pending.seq >= seq)
            .take(limits::RESENT_BATCHES_MAX)
            .map(|pending| pending.bytes.clone())
            .collect();
        self.proposals.waits_since = self.now.clock;
        for bytes in batches {
            if is_own {
                self.order(&bytes);
                continue;
            }
            let envelope = Envelope {
                group: self.settings.group,
                from: self.id(),
                to: leader,
                content: Content::Proposal(bytes),
            };
            self.outgoing
                .extend(envelope.encode().map(|octets| (leader, octets)));
        }
    }

    /// When what is pending is sent again.
    pub(super) fn resends_at(&self) -> Option<Millis> {
        let proposals = &self.proposals;
        let at = Millis(proposals.waits_since.0 + proposals.patience);
        (!proposals.pending.is_empty()).then_some(at)
    }

    /// Sends again what has waited for long.
    pub(super) fn resend_in_time(&mut self) {
        let is_due = self.resends_at().is_some_and(|at| at <= self.now.clock);
        if !is_due {
            return;
        }
        let proposals = &mut self.proposals;
        let most = proposals.patience_min * RESEND_PATIENCE_GROWTH;
        proposals.patience = (proposals.patience * 2).min(most);
        proposals.waits_since = self.now.clock;
        if self.settings.plant != Plant::NotResent {
            self.send_from(0);
        }
    }

    /// Sends all to a leader that it has not been sent to.
    pub(super) fn resend_to_new_leader(&mut self) {
        let raft = &self.raw.raft;
        let leader = (raft.leader_id, raft.term);
        let is_ready = leader.0 != self.id().0 || self.lead.is_some();
        let is_synced = self.proposals.synced_at <= self.log().journal().synced();
        if leader.0 == 0 || !is_ready || !is_synced || self.proposals.sent_to == leader {
            return;
        }
        self.proposals.sent_to = leader;
        if self.settings.plant != Plant::NotResent {
            self.send_from(0);
        }
    }
}
