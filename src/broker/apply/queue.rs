//! The `queue` class.

use std::collections::BTreeSet;

use super::refuse;
use super::session::queue_deleted;
use crate::broker::command::Refusal;
use crate::broker::core::{Core, Work};
use crate::broker::effect::Out;
use crate::broker::event::Event;
use crate::broker::facts::Fact;
use crate::broker::ids::{QueueId, QueueRef, SessionId, SubscriptionId};
use crate::broker::limits;
use crate::broker::queue::lifetime::LifetimePolicy;
use crate::broker::queue::settings::Settings;
use crate::broker::queue::{Queue, Remains};
use crate::broker::replication::Generation;
use crate::wire::{
    CommandId, ErrorCode, QueueDeclare, QueueDelete, QueuePurge, QueueQuery, QueueQueryResult,
    Struct32, Text,
};

impl Core {
    /// `queue.declare`. As in qpidd an existing queue is not compared with what is asked, but for
    /// exclusive access, which is granted when nobody has it and nobody consumes; browsers do not
    /// count.
    pub(super) fn queue_declare(
        &mut self,
        id: SessionId,
        declare: QueueDeclare,
        out: &mut Out,
    ) -> Result<(), Refusal> {
        let alternate = self.alternate_of(declare.alternate_exchange.as_deref())?;
        let found = self.queue_names.get(&declare.queue).copied();
        let queue = match found {
            Some(queue) => {
                out.rests_on_facts |= self.queue(queue).is_durable;
                queue
            }
            None if declare.passive => return self.queue_named(&declare.queue).map(|_| ()),
            None => self.make_queue(&declare, alternate)?,
        };
        if declare.exclusive {
            self.claim(id, queue, declare.passive)?;
        }
        Ok(())
    }

    pub(super) fn make_queue(
        &mut self,
        declare: &QueueDeclare,
        alternate: Option<crate::broker::ids::ExchangeId>,
    ) -> Result<QueueId, Refusal> {
        if self.queues.len() >= limits::QUEUES_MAX {
            let text = "a broker can have no more queues";
            return Err(refuse(ErrorCode::RESOURCE_LIMIT_EXCEEDED, text));
        }
        let arguments = declare.arguments.clone().unwrap_or_default();
        let settings = Settings::of(&declare.queue, &arguments, &self.options)
            .map_err(|text| refuse(ErrorCode::INVALID_ARGUMENT, text))?;
        let reference = QueueRef {
            id: QueueId(0),
            incarnation: self.incarnation(),
        };
        let mut queue = Queue::new(declare.queue.clone(), reference);
        queue.is_durable = declare.durable;
        queue.is_auto_delete = declare.auto_delete;
        queue.alternate = alternate;
        queue.arguments = arguments;
        queue.settle_in(settings);
        queue.created = self.time;
        queue.creator = self.requester().user;
        let queue_id = self.add_queue(queue);
        self.say_queue_declared(queue_id);
        self.happened_by(|requester| Event::QueueDeclare {
            requester,
            queue: declare.queue.clone(),
            is_durable: declare.durable,
            is_exclusive: declare.exclusive,
            is_auto_delete: declare.auto_delete,
            alternate: declare.alternate_exchange.clone().unwrap_or_default(),
            arguments: declare.arguments.clone().unwrap_or_default(),
        });
        Ok(queue_id)
    }

    /// Exclusive access for a session. A passive declaration only asks whether it has it.
    fn claim(&mut self, id: SessionId, queue_id: QueueId, is_passive: bool) -> Result<(), Refusal> {
        let queue = self.queue(queue_id);
        if queue.owner == Some(id) {
            return Ok(());
        }
        if is_passive || queue.owner.is_some() || self.has_consumers(queue) {
            let text = format_args!("Cannot grant exclusive access to queue {}", queue.name);
            return Err(refuse(ErrorCode::RESOURCE_LOCKED, text));
        }
        let queue = self.queue_mut(queue_id);
        queue.owner = Some(id);
        queue.was_used = true;
        self.session_mut(id).owned.insert(queue_id);
        self.keep_used(queue_id);
        Ok(())
    }

    /// `queue.delete`.
    pub(super) fn queue_delete(
        &mut self,
        id: SessionId,
        delete: &QueueDelete,
        out: &mut Out,
    ) -> Result<(), Refusal> {
        let queue = self.queue(self.queue_named(&delete.queue)?);
        if queue.is_locked_for(Some(id)) {
            let text = format_args!(
                "Cannot delete queue {}; it is exclusive to another session",
                queue.name
            );
            return Err(refuse(ErrorCode::RESOURCE_LOCKED, text));
        }
        self.delete_queue(delete, out)
    }

    /// The same, whoever has it for itself.
    pub(super) fn delete_queue(
        &mut self,
        delete: &QueueDelete,
        out: &mut Out,
    ) -> Result<(), Refusal> {
        let queue = self.check_queue_deletion(delete)?;
        self.remove_queue(queue, out);
        Ok(())
    }

    /// The queue that is to be deleted.
    ///
    /// # Errors
    /// It stays.
    pub(super) fn check_queue_deletion(&self, delete: &QueueDelete) -> Result<QueueId, Refusal> {
        let id = self.queue_named(&delete.queue)?;
        let queue = self.queue(id);
        if delete.if_empty && !queue.entries.is_empty() {
            let text = format_args!("Cannot delete queue {}; queue not empty", queue.name);
            return Err(refuse(ErrorCode::PRECONDITION_FAILED, text));
        }
        if delete.if_unused && !queue.subscriptions.is_empty() {
            let text = format_args!("Cannot delete queue {}; queue in use", queue.name);
            return Err(refuse(ErrorCode::PRECONDITION_FAILED, text));
        }
        Ok(id)
    }

    /// The session that had a queue for itself has ended.
    pub(super) fn close(&mut self, id: QueueId, out: &mut Out) {
        let goes = |queue: &Queue| {
            queue.is_auto_delete && queue.lifetime.policy == LifetimePolicy::OnClose
        };
        if self.queues.get(id.0).is_some_and(goes) {
            self.remove_queue(id, out);
        }
    }

    /// Takes a queue out of the world: its bindings go, and all its messages, acquired ones too, go
    /// to its alternate exchange. Sessions subscribed to it are looked at when the batch ends.
    pub(super) fn remove_queue(&mut self, id: QueueId, out: &mut Out) {
        let Some(mut queue) = self.queues.remove(id.0) else {
            return;
        };
        queue.forget_index(&mut self.held);
        self.queue_names.remove(&queue.name);
        self.count_deleted(&queue);
        self.undo_redirect(id, &queue.name);
        self.happened_by(|requester| Event::QueueDelete {
            requester,
            queue: queue.name.clone(),
        });
        self.queue_keys.remove(&queue.reference.key());
        self.makers.forget(queue.reference.key());
        self.departures
            .remove(&(queue.lifetime.due, queue.reference));
        let rerouted_to = self.durable_name(queue.alternate);
        let rerouted_to = rerouted_to.filter(|_| queue.persistent + queue.rejecting > 0);
        let is_rerouted = queue.is_durable && rerouted_to.is_some();
        if queue.is_durable {
            self.scratch.facts.defined(|| Fact::QueueDeleted {
                queue: queue.reference.key(),
                rerouted_to,
            });
        }
        for exchange in &queue.bound_to {
            self.unbind_queue_everywhere(*exchange, id);
        }
        if let Some(owner) = queue.owner.and_then(|owner| self.sessions.get_mut(owner.0)) {
            owner.owned.remove(&id);
        }
        for transfer in queue.flow.held.into_values().chain(queue.flow.released) {
            self.release_transfer(transfer, out);
        }
        let gives_events =
            queue.generation == Generation::All && self.options.events_to.is_anywhere();
        let remains = Remains {
            entries: queue.entries,
            alternate: queue.alternate,
            queue: is_rerouted.then_some(queue.reference),
            death: None,
            told_of: gives_events.then_some(queue.name.clone()),
        };
        self.work.push_back(Work::Reroute(Box::new(remains)));
        self.orphan(queue.subscriptions, &queue.name);
        self.run_work(out);
    }

    /// What a queue has counted stays in the broker's sums.
    fn count_deleted(&mut self, queue: &Queue) {
        let deleted = &mut self.counters.deleted_queues;
        deleted.add(&queue.counters);
        deleted.dequeues += queue.entries.len();
        match queue.alternate {
            None => self.counters.abandoned += queue.entries.len(),
            Some(_) => self.counters.abandoned_to_alternate += queue.entries.len(),
        }
    }

    /// Subscriptions whose queue is no more: they wait for nothing, so flushes of them are done.
    fn orphan(&mut self, subscriptions: BTreeSet<SubscriptionId>, queue: &Text) {
        let mut sessions = BTreeSet::new();
        for id in subscriptions {
            let Some(orphan) = self.subscriptions.get_mut(id.0) else {
                continue;
            };
            orphan.queue = QueueId::NOWHERE;
            (orphan.is_ready, orphan.is_starved) = (false, false);
            orphan.deleted_queue = Some(queue.clone());
            let (reference, session) = (orphan.reference, orphan.session);
            let flushes = std::mem::take(&mut orphan.flushes);
            self.scratch.orphans.push(reference);
            sessions.insert(session);
            if !flushes.is_empty() {
                self.complete_pending(session, &flushes);
            }
        }
        let all = &self.subscriptions;
        let is_starved = |id: &SubscriptionId| all.get(id.0).is_some_and(|found| found.is_starved);
        for id in sessions {
            if let Some(session) = self.sessions.get_mut(id.0) {
                session.starved.retain(is_starved);
            }
        }
    }

    /// Fails the sessions that still ask for messages of a queue that is no more. As in qpidd a
    /// subscription without credit asks for nothing: its session learns of the deletion when it
    /// grants some, and one that is cancelled first never does. Qpid's clients stop their
    /// subscriptions, delete the queue and cancel then.
    pub(in crate::broker) fn fail_orphans(&mut self, out: &mut Out) {
        while let Some(reference) = self.scratch.orphans.pop() {
            let found = self.subscriptions.get(reference.id.0);
            if let Some(orphan) = found.filter(|found| found.reference == reference)
                && orphan.credit.is_some()
                && let Some(queue) = &orphan.deleted_queue
            {
                let (session, refusal) = (orphan.session, queue_deleted(queue));
                self.fail_session(session, CommandId(0), refusal, out);
            }
        }
    }

    /// `queue.purge`: messages that nobody has acquired.
    pub(super) fn queue_purge(&mut self, purge: &QueuePurge, out: &mut Out) -> Result<(), Refusal> {
        if purge.queue.is_empty() {
            return Err(refuse(ErrorCode::ILLEGAL_ARGUMENT, "No queue name given."));
        }
        let queue = self.queue_named(&purge.queue)?;
        self.purge(queue, out);
        Ok(())
    }

    /// The same of a queue that is there. Gives how many there were. Of one that gives events of what
    /// leaves they go one by one, each with its event, in `Continue` entries if they are many.
    pub(super) fn purge(&mut self, queue: QueueId, out: &mut Out) -> u64 {
        let count = self.queue(queue).available;
        let gives_events = self.queue(queue).generation == Generation::All;
        if gives_events && self.options.events_to.is_anywhere() {
            self.take_all(queue, out);
            return count;
        }
        let purged = self.queues.get_mut(queue.0).expect("it was just found");
        let entries = purged.purge(&mut self.held, &mut self.scratch.facts);
        // Freeing a million messages takes longer than marking them gone.
        self.work.push_back(Work::Reroute(Box::new(Remains {
            entries,
            alternate: None,
            queue: None,
            death: None,
            told_of: None,
        })));
        self.run_work(out);
        count
    }

    /// `queue.query`: an unknown queue gives an empty answer, not an exception. The count is of the
    /// messages that can be had.
    pub(super) fn queue_query(
        &mut self,
        id: SessionId,
        command: CommandId,
        query: &QueueQuery,
        out: &mut Out,
    ) -> Result<(), Refusal> {
        let mut result = QueueQueryResult::default();
        if let Some(found) = self.queue_names.get(&query.queue).copied() {
            let queue = self.queue(found);
            let alternate = queue.alternate.and_then(|id| self.exchanges.get(id.0));
            result.queue = queue.name.clone();
            result.alternate_exchange = alternate.map(|exchange| exchange.name.clone());
            result.durable = queue.is_durable;
            result.exclusive = queue.owner.is_some();
            result.auto_delete = queue.is_auto_delete;
            result.arguments = Some(queue.arguments.clone());
            result.message_count = u32::try_from(queue.available).unwrap_or(u32::MAX);
            result.subscriber_count = queue.subscriptions.len() as u32;
        }
        self.answer(id, command, Struct32::of(&result), out);
        Ok(())
    }
}
