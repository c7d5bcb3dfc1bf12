//! What a member has proposed and not seen applied: sent again until it is.

use std::collections::VecDeque;

use bytes::Bytes;

use super::Plant;
use super::member::{Member, Now};
use super::ordered::{Content, Envelope, Proposal};
use crate::broker::ids::{ConnectionNumber, MemberId};
use crate::broker::{Applied, Command, Origin};
use crate::cluster::entry_log;
use crate::cluster::machine::Machine;
use crate::cluster::{Millis, limits, proposal};

/// By how much it waits longer at most when sending again was of no use.
const RESEND_PATIENCE_GROWTH: u64 = 16;

/// A batch that was proposed and not applied.
#[derive(Clone, Debug)]
struct Pending {
    seq: u64,
    /// Whose it is, and whether it is the last of what that proposed at once; None for the member's
    /// own.
    connection: Option<(ConnectionNumber, bool)>,
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
    /// The leader, and its term, to which it was sent.
    sent_to: (u64, u64),
    /// The last one that was sent to it.
    sent: u64,
    /// Octets of those that are pending and were sent.
    on_way: usize,
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
        proposal::encode(origin, commands).into()
    }

    /// One that is pending was taken, up to a number.
    fn take(&mut self, last: u64) -> Option<Pending> {
        let taken = self.pending.pop_front_if(|pending| pending.seq <= last)?;
        if taken.seq <= self.sent {
            self.on_way = self.on_way.saturating_sub(taken.bytes.len());
        }
        Some(taken)
    }

    /// The next one that was not sent, if there may be more on the way.
    fn next_unsent(&self) -> Option<&Pending> {
        let first = self.pending.front()?.seq;
        let at = (self.sent + 1).max(first) - first;
        let next = self.pending.get(usize::try_from(at).ok()?)?;
        let is_within = self.on_way == 0
            || self.on_way + next.bytes.len() <= limits::RAFT_PROPOSALS_ON_WAY_BYTES;
        is_within.then_some(next)
    }

    /// Whether it was sent to this leader, or else will be.
    fn is_sent_to(&self, leader: (u64, u64)) -> bool {
        self.sent_to == leader
    }
}

impl<M: Machine> Member<M> {
    /// Proposes commands of a connection, in entries that are bounded. One that is larger than an entry
    /// can be ends the connection instead.
    pub fn propose(&mut self, now: Now, connection: ConnectionNumber, commands: &[Command]) {
        let batches = proposal::cut(
            connection,
            commands,
            (self.settings.proposal_bytes, self.machine.commands_max()),
        );
        self.propose_batches(now, connection, &batches);
    }

    /// The same with what was cut already.
    pub(super) fn propose_batches(
        &mut self,
        now: Now,
        connection: ConnectionNumber,
        batches: &[proposal::Commands],
    ) {
        self.now = now;
        if !self.outboxes.is_open(connection) {
            return;
        }
        let count = batches.len();
        for (n, commands) in batches.iter().enumerate() {
            let is_last = n + 1 == count;
            if commands.bytes() + 64 > limits::RAFT_ENTRY_BYTES_MAX {
                let bytes = commands.bytes();
                tracing::error!(target: "Cluster", "a command of {bytes} octets ends its connection");
                self.outboxes.close(connection);
                let end = proposal::Commands::of_few(&[Command::ConnectionEnd { connection }]);
                self.number(Some((connection, true)), &end);
                break;
            }
            self.number(Some((connection, is_last)), commands);
        }
        self.send_on();
    }

    /// Numbers commands of its own, few and small: an epoch begins with none.
    pub(super) fn number_own(&mut self, commands: &[Command]) {
        self.number(None, &proposal::Commands::of_few(commands));
    }

    /// Numbers and keeps a batch.
    fn number(
        &mut self,
        connection: Option<(ConnectionNumber, bool)>,
        commands: &proposal::Commands,
    ) {
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
        let bytes = Bytes::from(commands.of(origin));
        if let Some((connection, is_last)) = connection {
            self.outboxes.proposed(connection, bytes.len(), is_last);
        }
        proposals.pending.push_back(Pending {
            seq: proposals.seq,
            connection,
            bytes,
        });
    }

    /// An entry of its own was applied: what of its proposals is done, and what is missing.
    pub(super) fn proposal_applied(&mut self, applied: Applied) {
        let (now, id) = (self.now.clock, self.id());
        let last = self.machine.last_seq(id, self.proposals.epoch);
        while let Some(pending) = self.proposals.take(last) {
            self.proposals.waits_since = now;
            self.proposals.patience = self.proposals.patience_min;
            if let Some((connection, is_last)) = pending.connection {
                let bytes = pending.bytes.len();
                self.outboxes
                    .applied(connection, bytes, is_last, &mut self.woken);
            }
        }
        let has_waited = now.0 >= self.proposals.waits_since.0 + limits::GAP_ANSWERED_MS;
        if let Applied::Gap { expected } = applied
            && has_waited
            && self.settings.plant != Plant::NotResent
        {
            self.send_again_from(expected);
        }
        self.send_on();
    }

    /// To whom proposals go now: the leader, if there is one and it takes them.
    fn proposes_to(&self) -> Option<MemberId> {
        let leader = MemberId(self.raw.raft.leader_id);
        let is_ready = leader.0 != 0 && (leader != self.id() || self.lead.is_some());
        let is_synced = self.proposals.synced_at <= self.log().journal().synced();
        (is_ready && is_synced).then_some(leader)
    }

    /// Sends one. False: it leads itself and cannot order it now.
    fn send_proposal(&mut self, leader: MemberId, bytes: Bytes) -> bool {
        if leader == self.id() {
            return self.order(&bytes);
        }
        let envelope = Envelope {
            group: self.settings.group,
            from: self.id(),
            to: leader,
            content: Content::Proposal(bytes),
        };
        let octets = envelope.encode();
        self.outgoing.extend(octets.map(|octets| (leader, octets)));
        true
    }

    /// Sends what was not sent to this leader, as far as there may be more on the way.
    pub(super) fn send_on(&mut self) {
        let leader = (self.raw.raft.leader_id, self.raw.raft.term);
        let Some(to) = self
            .proposes_to()
            .filter(|_| self.proposals.is_sent_to(leader))
        else {
            return;
        };
        while let Some(next) = self.proposals.next_unsent() {
            let (seq, bytes) = (next.seq, next.bytes.clone());
            let length = bytes.len();
            if !self.send_proposal(to, bytes) {
                return;
            }
            self.proposals.sent = seq;
            self.proposals.on_way += length;
        }
    }

    /// Sends from a number on what was sent and is pending.
    fn send_again_from(&mut self, seq: u64) {
        let Some(leader) = self.proposes_to() else {
            return;
        };
        let sent = self.proposals.sent;
        let pending = self.proposals.pending.iter();
        let batches: Vec<Bytes> = pending
            .filter(|pending| pending.seq >= seq && pending.seq <= sent)
            .take(limits::RESENT_BATCHES_MAX)
            .map(|pending| pending.bytes.clone())
            .collect();
        self.proposals.waits_since = self.now.clock;
        for bytes in batches {
            self.send_proposal(leader, bytes);
        }
        self.send_on();
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
            self.send_again_from(0);
        }
    }

    /// Sends all to a leader that it has not been sent to.
    pub(super) fn send_to_new_leader(&mut self) {
        let leader = (self.raw.raft.leader_id, self.raw.raft.term);
        if self.proposals.is_sent_to(leader) || self.proposes_to().is_none() {
            return;
        }
        self.proposals.sent_to = leader;
        if self.settings.plant == Plant::Renumbered {
            self.renumber();
        }
        if self.settings.plant != Plant::NotResent {
            (self.proposals.sent, self.proposals.on_way) = (0, 0);
        }
        self.send_on();
    }

    /// All that is pending is proposed once more under new numbers.
    fn renumber(&mut self) {
        let pending: Vec<Pending> = self.proposals.pending.iter().cloned().collect();
        for again in pending {
            let read = entry_log::whole::<Proposal>(&again.bytes);
            if let Ok(read) = read {
                let commands = proposal::Commands::of_few(&read.commands);
                self.number(again.connection, &commands);
            }
        }
    }
}
