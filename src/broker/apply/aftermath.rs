//! What follows from a command when it is done: transfers that are held no longer are completed, what
//! has become open to others is offered to them, and queues that nobody uses go.

use crate::broker::core::Core;
use crate::broker::effect::Out;
use crate::broker::ids::{GroupTime, QueueId, QueueRef, SessionId};
use crate::broker::queue::flow::HeldTransfer;
use crate::broker::queue::lifetime::LifetimePolicy;
use crate::wire::{CommandId, SequenceSet};

impl Core {
    /// Sees to the queues of which something follows.
    pub(in crate::broker) fn see_to_touched(&mut self, out: &mut Out) {
        while self.scratch.facts.has_touched() {
            self.tell_changes(out);
            self.note_crossings();
            for id in self.scratch.facts.take_touched() {
                self.see_to(id, out);
            }
        }
    }

    fn see_to(&mut self, id: QueueId, out: &mut Out) {
        let Some(queue) = self.queues.get_mut(id.0) else {
            return;
        };
        let released = std::mem::take(&mut queue.flow.released);
        let has_opened = queue.kind.has_opened();
        let may_go = queue.lifetime.policy == LifetimePolicy::UnusedAndEmpty;
        for transfer in released {
            self.release_transfer(transfer, out);
        }
        if has_opened {
            self.dispatch(id, out);
        }
        if may_go {
            self.delete_if_unused(id, out);
        }
    }

    // Transfers that are held back.

    /// A message of a transfer stands in a queue that holds its publishers back: the transfer is
    /// completed later.
    pub(super) fn hold_transfer(&mut self, transfer: HeldTransfer, queue: QueueId, position: u64) {
        let queue = self.queue_mut(queue);
        queue.flow.held.insert(position, transfer);
        let reference = queue.reference;
        let session = self.session_mut(transfer.session);
        let held = session.held.entry(transfer.command.0).or_default();
        held.places.push((reference, position));
    }

    /// A queue holds a transfer back no longer. When no queue does, it is completed.
    pub(super) fn release_transfer(&mut self, transfer: HeldTransfer, out: &mut Out) {
        let Some(session) = self.sessions.get_mut(transfer.session.0) else {
            return;
        };
        let Some(held) = session.held.get_mut(&transfer.command.0) else {
            return;
        };
        held.released += 1;
        if (held.released as usize) < held.places.len() || !held.is_whole {
            return;
        }
        let wants_accept = held.wants_accept;
        session.held.remove(&transfer.command.0);
        if wants_accept {
            session.incoming.accepted.insert(transfer.command);
            self.scratch.telling.push(transfer.session);
        }
        // What the completion says may stand in the facts of a batch before.
        out.rests_on_facts = true;
        self.complete_pending(transfer.session, &SequenceSet::of(transfer.command));
    }

    /// All queues have got their copy of a transfer. True when one of them holds it back: it is
    /// completed, and accepted if its client wants that, when none does any more.
    pub(super) fn is_held(
        &mut self,
        id: SessionId,
        command: CommandId,
        wants_accept: bool,
    ) -> bool {
        let Some(session) = self.sessions.get_mut(id.0) else {
            return false;
        };
        let Some(held) = session.held.get_mut(&command.0) else {
            return false;
        };
        if held.released as usize == held.places.len() {
            session.held.remove(&command.0);
            return false;
        }
        (held.is_whole, held.wants_accept) = (true, wants_accept);
        session.incoming.pending.insert(command);
        true
    }

    /// A session ends: nobody is left to be told of its transfers.
    pub(super) fn forget_held(&mut self, id: SessionId) {
        let Some(session) = self.sessions.get_mut(id.0) else {
            return;
        };
        let held = std::mem::take(&mut session.held);
        for (queue, position) in held.into_values().flat_map(|held| held.places) {
            if let Some(queue) = self.live_queue(queue) {
                queue.flow.held.remove(&position);
            }
        }
    }

    // Queues that go by themselves.

    /// Deletes a queue that auto-delete applies to, or lets it go later.
    pub(super) fn delete_if_unused(&mut self, id: QueueId, out: &mut Out) {
        let now = self.time;
        let Some(queue) = self.queues.get_mut(id.0).filter(|queue| queue.is_unused()) else {
            return;
        };
        if queue.lifetime.delay == 0 {
            self.remove_queue(id, out);
        } else if queue.lifetime.due == GroupTime::NEVER {
            queue.lifetime.due = now.plus(queue.lifetime.delay);
            self.departures
                .insert((queue.lifetime.due, queue.reference));
        }
    }

    /// A queue is used again: it does not go.
    pub(super) fn keep_used(&mut self, id: QueueId) {
        let queue = self.queue_mut(id);
        let due = std::mem::replace(&mut queue.lifetime.due, GroupTime::NEVER);
        let reference = queue.reference;
        if due != GroupTime::NEVER {
            self.departures.remove(&(due, reference));
        }
    }

    /// Lets a queue go whose time has come, unless it is used.
    pub(super) fn depart(&mut self, reference: QueueRef, out: &mut Out) {
        let Some(queue) = self.live_queue(reference) else {
            return;
        };
        queue.lifetime.due = GroupTime::NEVER;
        if queue.is_unused() {
            self.remove_queue(reference.id, out);
        }
    }
}
