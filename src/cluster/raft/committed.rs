//! Committed entries: what they do to a member's machine, to what its clients are told, and to who takes
//! part.

use std::hash::Hasher;

use raft::prelude::{Entry, EntryType};

use super::Plant;
use super::member::Member;
use super::ordered::{Change, Ordered};
use crate::broker::digest::Digest;
use crate::broker::ids::{GroupTime, MemberId, ShardId};
use crate::broker::{Applied, Batch, Command, Origin};
use crate::cluster::machine::{Machine, digest_effects};
use crate::cluster::{entry_log, limits};

/// An entry as a member applied it: equal on all members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observed {
    /// Its place.
    pub index: u64,
    /// The term of its leader.
    pub term: u64,
    /// A digest of its octets.
    pub entry: u64,
    /// A digest of what came out of it.
    pub effects: u64,
    /// A digest of the state behind it; now and then.
    pub state: Option<u64>,
}

/// A member that ends well says so in the order: all members can then be compared at one entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Farewell {
    /// Who ends.
    pub member: MemberId,
    /// The entry in which it says so.
    pub index: u64,
    /// The digest of the state behind that entry.
    pub digest: u64,
}

/// Entries between two digests of the state of a member that is observed.
const OBSERVED_EVERY: u64 = 64;

fn is_own_word(origin: Origin, member: MemberId) -> bool {
    matches!(origin, Origin::Member { id, .. } if id == member)
}

/// What an entry has a machine do that has applied those before it, and how it changes who takes part.
///
/// # Errors
/// It is not what members write.
pub(super) fn read<M: Machine>(
    entry: &Entry,
    machine: &M,
) -> Result<(Batch, Option<Change>), String> {
    let text = |error| format!("entry {}: {error}", entry.index);
    let mut batch = Batch {
        shard: ShardId::default(),
        index: entry.index,
        time: machine.time(),
        origin: Origin::Sequencer,
        commands: Vec::new(),
    };
    let mut changed = None;
    match entry.get_entry_type() {
        EntryType::EntryNormal if entry.data.is_empty() => {}
        EntryType::EntryNormal => {
            let Ordered { time, proposal, .. } = entry_log::whole(&entry.data).map_err(text)?;
            batch.time = batch.time.max(time);
            (batch.origin, batch.commands) = (proposal.origin, proposal.commands);
        }
        EntryType::EntryConfChange | EntryType::EntryConfChangeV2 => {
            let change: Change = entry_log::whole(&entry.context).map_err(text)?;
            if let Change::Leave(member) = change {
                // Whatever it proposes until it knows is of a closed epoch.
                let epoch = limits::EPOCH_OF_WHO_LEFT;
                batch.commands.push(Command::MemberDown { member, epoch });
            }
            changed = Some(change);
        }
    }
    Ok((batch, changed))
}

impl<M: Machine> Member<M> {
    /// Applies what is committed, as far as its work allows: time must not stand still meanwhile, and
    /// others must hear of this member.
    pub(super) fn apply_committed(&mut self) {
        let mut last = None;
        while self.failure.is_none()
            && self.machine.enqueue_count() < self.applies_until
            && let Some(entry) = self.unapplied.pop_front()
        {
            last = Some(entry.index);
            let applied = self.apply(entry);
            self.try_to(applied);
        }
        if let Some(last) = last.filter(|_| self.failure.is_none()) {
            self.raw.advance_apply_to(last);
        }
    }

    fn apply(&mut self, entry: Entry) -> Result<(), String> {
        let (index, term) = (entry.index, entry.term);
        let mut batch = self.batch(&entry)?;
        let origin = batch.origin;
        let is_down = batch.commands.iter().any(|command| {
            matches!(command, Command::MemberDown { member, epoch }
                if *member == self.id() && *epoch >= self.promised.epoch)
        });
        let is_tick = origin == Origin::Sequencer && !batch.commands.is_empty();
        let had_begun = self.has_begun();
        let leaver = batch.commands.iter().find_map(|command| match command {
            Command::MemberDown { member, .. } if is_own_word(origin, *member) => Some(*member),
            _ => None,
        });
        let applied = self.machine.apply(&mut batch, &mut self.out);
        self.applied += 1;
        if let Some(member) = leaver {
            let digest = self.machine.digest();
            self.farewells.push(Farewell {
                member,
                index,
                digest,
            });
        }
        if self.settings.is_observed {
            self.observe(&entry);
        }
        if !had_begun {
            // It concerns connections of a former epoch, of which some had the same numbers.
            self.out.effects.clear();
        }
        self.outboxes
            .distribute(self.settings.member, &mut self.out, 0, &mut self.woken);
        if is_tick && let Some(lead) = self.lead.as_mut().filter(|lead| lead.term == term) {
            lead.is_ticking = false;
        }
        let is_own = matches!(origin, Origin::Member { id, epoch, .. }
            if (id, epoch) == (self.id(), self.promised.epoch));
        let ends = is_down || is_own && applied == Applied::Stale;
        if self.is_leaving {
            self.note_applied_while_leaving(is_own, applied);
        } else if ends && !self.is_out() && self.settings.plant != Plant::DownUnheeded {
            tracing::warn!(target: "Cluster", "this member was taken for down at entry {index}");
            self.renew();
        } else if is_own {
            self.proposal_applied(applied);
        }
        self.begin_to_lead(term);
        Ok(())
    }

    /// Whether it was taken out of the group, as far as it knows.
    pub(super) fn is_out(&self) -> bool {
        self.machine.last_epoch(self.id()) == limits::EPOCH_OF_WHO_LEFT
    }

    /// It takes part to the end, but does not begin anew.
    fn note_applied_while_leaving(&mut self, is_own: bool, applied: Applied) {
        if is_own && applied != Applied::Stale {
            self.proposal_applied(applied);
        }
    }

    fn batch(&mut self, entry: &Entry) -> Result<Batch, String> {
        let (mut batch, change) = read(entry, &self.machine)?;
        if let Some(change) = change {
            if matches!(change, Change::Leave(_)) {
                // Who leaves gets nothing more, and is told so before.
                self.raw.ping();
            }
            let changed = self.raw.apply_conf_change(&change.to_raft());
            changed.map_err(|error| format!("entry {}: {error}", entry.index))?;
            self.keep_change(entry.index);
            self.step_down_when_out();
        }
        if self.settings.plant == Plant::LocalTime {
            batch.time = batch.time.max(GroupTime(self.now.clock.0));
        }
        Ok(batch)
    }

    /// Writes at once that a change of members is in the order: raft says so only with the next entry.
    /// A member that started again without knowing would count as before the change, and ask for the
    /// vote of one that is gone for good.
    fn keep_change(&mut self, index: u64) {
        if self.settings.plant != Plant::ChangeNotKept {
            self.promised.commit = self.promised.commit.max(index);
            self.promise();
            self.change_kept_at = self.log().end();
        }
    }

    /// A leader that is out of the group, its predecessor having ordered that, leads no more: the crate
    /// ends the process when one goes on.
    fn step_down_when_out(&mut self) {
        let takes_part = self.raw.raft.prs().get(self.id().0).is_some();
        if self.is_elected() && !takes_part {
            let term = self.raw.raft.term;
            self.raw.raft.become_follower(term, 0);
            self.note_role();
        }
    }

    fn observe(&mut self, entry: &Entry) {
        let mut octets = Digest::default();
        octets.write(&entry.data);
        octets.write(&entry.context);
        let mut effects = Digest::default();
        digest_effects(&self.out.effects, &mut effects);
        let is_due = entry.index.is_multiple_of(OBSERVED_EVERY);
        self.observed.push(Observed {
            index: entry.index,
            term: entry.term,
            entry: octets.finish(),
            effects: effects.finish(),
            state: is_due.then(|| self.machine.digest()),
        });
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::super::node::Node;
    use super::*;
    use crate::broker::ids::{ChannelKey, ConnectionNumber};
    use crate::broker::message::Message;
    use crate::broker::{Request, limits as bounds};
    use crate::cluster::limits;
    use crate::wire::{AcceptMode, CommandId, ExchangeBind, QueueDeclare};

    /// Queues that a message comes to.
    const QUEUES: u64 = 1000;

    /// The command of a session, with its number.
    fn of_session(connection: ConnectionNumber, id: u32, request: Request) -> Command {
        let channel = 0;
        Command::Session {
            at: ChannelKey {
                connection,
                channel,
            },
            id: CommandId(id),
            sync: false,
            request,
        }
    }

    /// Commands of a new session, at `connection`, that make many queues, all bound to one exchange.
    fn definitions(connection: ConnectionNumber) -> Vec<Command> {
        let channel = 0;
        let open = Command::ConnectionOpen {
            connection,
            record: Box::default(),
        };
        let attach = Command::Attach {
            at: ChannelKey {
                connection,
                channel,
            },
            name: b"s".to_vec(),
            force: false,
        };
        let requests = (0..QUEUES).flat_map(|n| {
            let queue = crate::wire::Text::from(n.to_string().as_str());
            let declare = QueueDeclare {
                queue: queue.clone(),
                ..QueueDeclare::default()
            };
            let bind = ExchangeBind {
                queue,
                exchange: "amq.fanout".into(),
                ..ExchangeBind::default()
            };
            [
                Request::QueueDeclare(Box::new(declare)),
                Request::ExchangeBind(Box::new(bind)),
            ]
        });
        let numbered = requests.zip(0..);
        let numbered = numbered.map(|(request, id)| of_session(connection, id, request));
        [open, attach].into_iter().chain(numbered).collect()
    }

    fn publish(connection: ConnectionNumber, id: u32) -> Command {
        let body = [Bytes::from_static(b"body")];
        let message = Message::new(None, Some(&body), "").expect("it is sound");
        let publish = Request::Transfer {
            destination: "amq.fanout".into(),
            accept_mode: AcceptMode::NONE,
            message: message.into(),
        };
        of_session(connection, id, publish)
    }

    /// A leader alone, with a session and queues; the session's next command.
    fn fanned_out() -> (Node, ConnectionNumber, u32) {
        let mut node = Node::formed(1);
        node.lead();
        let connection = node.member.outboxes.open(std::task::Waker::noop().clone());
        let commands = definitions(connection);
        let next = u32::try_from(commands.len()).expect("few") - 2;
        node.member.propose(node.now, connection, &commands);
        node.run();
        assert_eq!(node.member.machine().queue_count() as u64, QUEUES);
        (node, connection, next)
    }

    #[test]
    fn messages_that_go_to_many_queues_are_applied_with_looks_at_the_clock_in_between() {
        let (mut node, connection, first) = fanned_out();
        let commands: Vec<Command> = (first..first + 200)
            .map(|id| publish(connection, id))
            .collect();
        // Batches as they are cut when nothing is known of the messages.
        for some in commands.chunks(20) {
            node.member.propose(node.now, connection, some);
        }
        node.work();
        node.write();
        let most = limits::RAFT_APPLIED_ENQUEUES + 20 * QUEUES;
        let (mut calls, mut before) = (0, 0);
        while before < 200 * QUEUES {
            node.work();
            let applied = node.member.machine().enqueue_count();
            assert!(applied - before <= most, "{} at once", applied - before);
            let is_due = node.member.next() <= node.now.clock;
            assert!(applied == 200 * QUEUES || is_due, "it goes on at once");
            (calls, before) = (calls + 1, applied);
            assert!(calls < 100, "{applied} are applied");
        }
        assert!(calls >= 10, "{calls} calls");
    }

    #[test]
    fn batches_are_small_once_messages_have_gone_to_many_queues() {
        let (mut node, connection, first) = fanned_out();
        assert_eq!(
            node.member.machine().commands_max(),
            bounds::BATCH_COMMANDS_MAX
        );
        node.member
            .propose(node.now, connection, &[publish(connection, first)]);
        node.run();
        let most = bounds::BATCH_PLACES_USUAL as u64 / QUEUES;
        assert_eq!(node.member.machine().commands_max() as u64, most);
    }

    #[test]
    fn after_a_pause_little_time_passes_before_what_came_is_looked_at() {
        let mut node = Node::formed(1);
        node.lead();
        let before = node.member.ticks;
        node.now.clock.0 += 100 * limits::RAFT_TICK_MS;
        node.member.tick(node.now);
        assert_eq!(
            node.member.ticks - before,
            limits::RAFT_TICKS_AT_ONCE as u64
        );
        // What has passed is not made up for.
        node.member.tick(node.now);
        assert_eq!(
            node.member.ticks - before,
            limits::RAFT_TICKS_AT_ONCE as u64
        );
    }

    #[test]
    fn who_has_seen_itself_taken_out_promises_nothing_that_it_cannot_read_back() {
        let taken_out = Command::MemberDown {
            member: MemberId(1),
            epoch: limits::EPOCH_OF_WHO_LEFT,
        };
        let mut node = Node::formed_by(1, vec![taken_out]);
        node.write();
        // The first start promises, the second reads what it has promised.
        for _ in 0..3 {
            node = node.again();
            node.run();
        }
    }
}
