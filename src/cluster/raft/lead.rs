//! The leader's duties: it makes group time, orders what is proposed and the sequencer's own commands,
//! ends the sessions of members that are silent, and lets newcomers in.

use std::collections::BTreeMap;

use raft::{ProgressState, SnapshotStatus};

use super::member::{Member, Now};
use super::ordered::Change;
use super::proposals::Proposals;
use crate::broker::ids::MemberId;
use crate::broker::{Command, Origin};
use crate::cluster::clock::GroupClock;
use crate::cluster::entry_log::{self, Configuration};
use crate::cluster::machine::Machine;
use crate::cluster::{Millis, limits};

/// What a member has while it leads and has applied the first entry of its term.
pub(super) struct Lead {
    pub term: u64,
    clock: GroupClock,
    /// Whether an entry of its own is on its way.
    pub is_ticking: bool,
    /// Before this tick nothing of its own is ordered again, what was last tried having found no place:
    /// leadership is being handed on, or there is too much on its way.
    tries_at: u64,
    /// By member: at which tick something was last heard of it.
    pub heard: BTreeMap<u64, u64>,
    /// By member: the epoch that it was said to be down in.
    down: BTreeMap<u64, u64>,
}

impl<M: Machine> Member<M> {
    /// Begins to give the order, once the first entry of its term is applied.
    pub(super) fn begin_to_lead(&mut self, term: u64) {
        if self.lead.is_some() || !self.is_elected() || term != self.raw.raft.term {
            return;
        }
        let mut base = self.machine.time();
        if !std::mem::replace(&mut self.has_followed, true) {
            // Nobody led while it was down, as far as it knows.
            let last = self.log().last_wall().unwrap_or(self.now.wall);
            base = base.plus(self.now.wall.saturating_sub(last));
        }
        self.lead = Some(Lead {
            term,
            clock: GroupClock::continued(base, self.now.clock),
            is_ticking: false,
            tries_at: 0,
            heard: BTreeMap::new(),
            down: BTreeMap::new(),
        });
        let ticks = self.ticks;
        for id in self.others() {
            // Who is known to be gone was so under the former leader.
            let heard = match self.gone.contains(&id) {
                true => ticks.saturating_sub(limits::RAFT_GONE_TICKS),
                false => ticks,
            };
            if let Some(lead) = &mut self.lead {
                lead.heard.insert(id, heard);
            }
        }
    }

    /// Ticks in which nothing is heard of a member before its sessions end.
    fn silence_of(&self, id: u64) -> u64 {
        let silence = self.settings.down_after_ms / limits::RAFT_TICK_MS;
        match self.gone.contains(&id) {
            true => silence.min(limits::RAFT_GONE_TICKS),
            false => silence,
        }
    }

    /// All who take part, but itself.
    fn others(&self) -> Vec<u64> {
        let Configuration {
            voters, learners, ..
        } = self.configuration();
        let mut others: Vec<u64> = voters.into_iter().chain(learners).collect();
        others.sort_unstable();
        others.retain(|id| *id != self.id().0);
        others
    }

    /// Gives an encoded proposal a place in the order, if it leads. False: it does not, or there is too
    /// much on its way, to others or to its own disk. A majority without it goes on, so nothing else
    /// would bound what waits for a disk that is slow or full.
    pub(super) fn order(&mut self, proposal: &[u8]) -> bool {
        if !self.log().journal().has_room() {
            return false;
        }
        let Some(lead) = &mut self.lead else {
            return false;
        };
        let time = lead.clock.time(self.now.clock);
        let mut data = Vec::with_capacity(16 + proposal.len());
        data.extend_from_slice(&self.now.wall.to_be_bytes());
        data.extend_from_slice(&time.0.to_be_bytes());
        data.extend_from_slice(proposal);
        self.raw.propose(Vec::new(), data).is_ok()
    }

    /// Orders a command of the sequencer's, if it leads. False: it does not.
    pub fn order_command(&mut self, now: Now, command: Command) -> bool {
        self.now = now;
        self.order(&Proposals::encode(Origin::Sequencer, &[command]))
    }

    /// Asks for a change of who takes part. False: it does not lead, or another change is on its way,
    /// or it is this member that is to leave: then it hands leadership on, and another is to be asked.
    pub fn change(&mut self, now: Now, change: Change) -> bool {
        self.now = now;
        let raft = &self.raw.raft;
        if self.lead.is_none() || raft.has_pending_conf() {
            return false;
        }
        if change == Change::Leave(self.id()) {
            self.hand_over(now);
            return false;
        }
        let context = entry_log::octets(&change);
        let change = change.to_raft();
        self.raw.propose_conf_change(context, change).is_ok()
    }

    /// When the leader's own duties are due.
    pub(super) fn leader_acts_at(&self) -> Option<Millis> {
        let may_try = |lead: &&Lead| !lead.is_ticking && lead.tries_at <= self.ticks;
        let lead = self.lead.as_ref().filter(may_try)?;
        let wants = self.machine.wants();
        match wants.work {
            true => Some(self.now.clock),
            false => lead.clock.when(wants.deadline),
        }
    }

    /// The leader's own duties: ticks, members that are down, newcomers that have caught up.
    pub(super) fn act_as_leader(&mut self) {
        if self.lead.is_none() || self.failure().is_some() {
            return;
        }
        if self.leader_acts_at().is_some_and(|at| at <= self.now.clock) {
            let deadline = self.machine.wants().deadline;
            let now = self.now.clock;
            let is_late = |lead: &mut Lead| deadline <= lead.clock.time(now);
            let command = match self.lead.as_mut().is_some_and(is_late) {
                true => Command::Tick,
                false => Command::Continue,
            };
            let is_ordered = self.order(&Proposals::encode(Origin::Sequencer, &[command]));
            if let Some(lead) = &mut self.lead {
                lead.is_ticking = is_ordered;
                lead.tries_at = self.ticks + u64::from(!is_ordered);
            }
        }
        self.end_silent_members();
        self.promote_learners();
    }

    /// The crate waits for ever for the answer to a snapshot. One who is elected and not yet leading
    /// may need that answer to lead.
    pub(super) fn send_snapshots_again(&mut self) {
        if !self.is_elected() {
            self.sent_snapshots.clear();
            return;
        }
        let ticks = self.ticks;
        for id in self.others() {
            let progress = self.raw.raft.prs().get(id);
            let is_sent = progress.is_some_and(|at| at.state == ProgressState::Snapshot);
            if !is_sent {
                self.sent_snapshots.remove(&id);
                continue;
            }
            let since = *self.sent_snapshots.entry(id).or_insert(ticks);
            if ticks - since >= limits::RAFT_SNAPSHOT_TICKS {
                self.sent_snapshots.remove(&id);
                self.raw.report_snapshot(id, SnapshotStatus::Failure);
            }
        }
    }

    /// Those of whom nothing was heard for as long as it takes to end their sessions, if it leads.
    pub(super) fn silent(&self) -> Vec<MemberId> {
        let Some(lead) = &self.lead else {
            return Vec::new();
        };
        let is_silent = |id: &u64| {
            let heard = lead.heard.get(id);
            heard.is_some_and(|heard| self.ticks - heard >= self.silence_of(*id))
        };
        let others = self.others().into_iter();
        others.filter(is_silent).map(MemberId).collect()
    }

    /// Hands leadership on to the voter that has most of the log and is not silent. True while it leads
    /// and there is one.
    pub(super) fn hand_over(&mut self, now: Now) -> bool {
        self.now = now;
        if !self.is_elected() {
            return false;
        }
        let silent = self.silent();
        let progress = self.raw.raft.prs();
        let candidates = self.configuration().voters.into_iter();
        let candidates =
            candidates.filter(|id| *id != self.id().0 && !silent.contains(&MemberId(*id)));
        let matched = |id: &u64| progress.get(*id).map_or(0, |progress| progress.matched);
        let Some(next) = candidates.max_by_key(matched) else {
            return false;
        };
        if self.raw.raft.lead_transferee != Some(next) {
            self.raw.transfer_leader(next);
        }
        true
    }

    /// A leader whose disk is full lets another lead: it would order nothing more, and the others have
    /// room, perhaps.
    pub(super) fn hand_over_when_full(&mut self) {
        let is_time = self.ticks >= self.handed_over_at + limits::RAFT_HAND_OVER_TICKS;
        if self.lead.is_some() && is_time && self.is_full() {
            self.handed_over_at = self.ticks;
            self.hand_over(self.now);
        }
    }

    /// Time is counted in ticks, of which a pause of its own has few.
    fn end_silent_members(&mut self) {
        for id in self.others() {
            let silence = self.silence_of(id);
            let (ticks, member) = (self.ticks, MemberId(id));
            let epoch = self.machine.last_epoch(member);
            let Some(lead) = &mut self.lead else { return };
            let heard = *lead.heard.entry(id).or_insert(ticks);
            let is_told = lead.down.get(&id).is_some_and(|told| *told >= epoch);
            if ticks - heard < silence || epoch == 0 || is_told {
                continue;
            }
            let down = Command::MemberDown { member, epoch };
            if self.order(&Proposals::encode(Origin::Sequencer, &[down]))
                && let Some(lead) = &mut self.lead
            {
                lead.down.insert(id, epoch);
            }
        }
    }

    fn promote_learners(&mut self) {
        if self.raw.raft.has_pending_conf() {
            return;
        }
        let raft = &self.raw.raft;
        let committed = raft.raft_log.committed;
        let has_caught_up = |id: &u64| {
            raft.prs().get(*id).is_some_and(|progress| {
                progress.state == ProgressState::Replicate
                    && progress.matched + limits::RAFT_LEARNER_BEHIND_MAX >= committed
            })
        };
        let learners = self.configuration().learners;
        if let Some(id) = learners.into_iter().find(has_caught_up) {
            let now = self.now;
            self.change(now, Change::Promote(MemberId(id)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::node::{BUFFER_BYTES, Node};
    use super::*;
    use crate::broker::ConnectionRecord;
    use crate::broker::ids::ConnectionNumber;
    use crate::wire::Text;
    use std::task::Waker;

    /// Proposes something of some octets.
    fn propose(node: &mut Node, connection: ConnectionNumber, bytes: usize) {
        let record = ConnectionRecord {
            peer: Text::from("x".repeat(bytes).as_str()),
            ..ConnectionRecord::default()
        };
        let open = Command::ConnectionOpen {
            connection,
            record: Box::new(record),
        };
        node.member.propose(node.now, connection, &[open]);
    }

    #[test]
    fn a_leader_orders_no_more_than_its_own_disk_takes() {
        let mut node = Node::formed(1);
        node.lead();
        node.run();
        let connection = node.member.outboxes.open(Waker::noop().clone());
        let before = node.member.log().last_index();
        for _ in 0..100 {
            propose(&mut node, connection, 4000);
            node.work();
        }
        let waits = node.member.log().journal().buffered_bytes();
        assert!(
            (BUFFER_BYTES..BUFFER_BYTES + 8000).contains(&waits),
            "{waits}"
        );
        assert!(node.member.log().last_index() < before + 20);
        // What it did not order is not lost.
        for _ in 0..1000 {
            node.later();
            node.run();
        }
        assert_eq!(node.member.log().last_index(), before + 100);
        assert_eq!(node.member.outboxes.outstanding(connection).proposed, 0);
    }

    #[test]
    fn a_member_whose_disk_is_full_says_so_until_there_is_room() {
        let mut node = Node::formed(1);
        node.lead();
        let connection = node.member.outboxes.open(Waker::noop().clone());
        node.disk.set_capacity(128 * 1024);
        let mut left = 1000;
        while !node.member.is_full() {
            propose(&mut node, connection, 4000);
            node.run();
            left -= 1;
            assert!(left > 0, "it is never full");
        }
        node.disk.set_capacity(u64::MAX);
        node.run();
        assert!(!node.member.is_full());
    }
}
