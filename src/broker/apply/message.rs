//! Subscriptions and what clients say of deliveries: the `message` class but for transfers.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use super::refuse;
use crate::broker::arguments;
use crate::broker::blocks::Blocks;
use crate::broker::branch::Xid;
use crate::broker::command::Refusal;
use crate::broker::core::Core;
use crate::broker::credit::Credit;
use crate::broker::dead::{Reason, preserved};
use crate::broker::effect::{Out, Tag};
use crate::broker::event::Event;
use crate::broker::ids::{QueueId, QueueRef, SessionId, SubscriptionId};
use crate::broker::limits;
use crate::broker::plant::{Plant, is_planted};
use crate::broker::queue::kind::Kind;
use crate::broker::queue::{Entry, Queue};
use crate::broker::ranges::without;
use crate::broker::seen::WANTS_IDENTITY;
use crate::broker::selector::Selector;
use crate::broker::session::{Session, Unsettled};
use crate::broker::subscription::{Subscription, SubscriptionRef};
use crate::wire::limits::RANGES_MAX;
use crate::wire::{
    AcceptMode, AcquireMode, CommandId, CreditUnit, ErrorCode, FlowMode, MessageAcquired,
    MessageSubscribe, SequenceSet, Struct32, Value,
};

/// Queues to which messages came back, and the first place of those in each.
pub(super) type Returned = BTreeMap<QueueId, u64>;

impl Core {
    /// `message.subscribe`.
    pub(super) fn subscribe(
        &mut self,
        id: SessionId,
        subscribe: MessageSubscribe,
    ) -> Result<(), Refusal> {
        let queue_id = self.subscribable_queue(id, &subscribe)?;
        let acquire_mode = match self.queue(queue_id).is_browse_only {
            true => AcquireMode::NOT_ACQUIRED,
            false => subscribe.acquire_mode,
        };
        let is_acquiring = acquire_mode == AcquireMode::PRE_ACQUIRED;
        let arguments = subscribe.arguments.unwrap_or_default();
        let selector = match arguments.get("x-apache-selector").and_then(Value::as_str) {
            None | Some("") => None,
            Some(text) => Some(Selector::parse(text).map_err(|error| {
                let text = format_args!("Illegal selector: {error}");
                refuse(ErrorCode::INVALID_ARGUMENT, text)
            })?),
        };
        let frequency = arguments.get("qpid.sync_frequency").and_then(Value::as_u64);
        let incarnation = self.incarnation();
        let queue = self.queues.get_mut(queue_id.0).expect("it was just found");
        let tag = Tag {
            destination: subscribe.destination.clone(),
            accept_mode: subscribe.accept_mode,
            acquire_mode,
        };
        let subscription = Subscription {
            reference: SubscriptionRef {
                id: SubscriptionId(0),
                incarnation,
            },
            session: id,
            queue: queue_id,
            deleted_queue: None,
            tag: Arc::new(tag),
            is_acquiring,
            is_explicit: subscribe.accept_mode == AcceptMode::EXPLICIT,
            is_exclusive: subscribe.exclusive,
            selector,
            wants_identity: arguments::flag(&arguments, WANTS_IDENTITY),
            arguments,
            credit: Credit::default(),
            cursor: queue.entries.head(),
            is_ready: false,
            is_starved: false,
            flushes: SequenceSet::new(),
            sync_frequency: frequency.map_or(0, |f| u32::try_from(f).unwrap_or(u32::MAX)),
            delivered: 0,
            level_cursors: match &queue.kind {
                Kind::Priority(levels) => vec![0; levels.count()],
                Kind::Fifo | Kind::LastValue(_) | Kind::Groups(_) => Vec::new(),
            },
        };
        let selects = is_acquiring && subscription.selector.is_some();
        let slot = SubscriptionId(self.subscriptions.insert(subscription));
        if let Some(made) = self.subscriptions.get_mut(slot.0) {
            made.reference.id = slot;
        }
        queue.was_used = true;
        queue.subscriptions.insert(slot);
        let consumers = queue.subscriptions.len() as u64;
        queue.watched.consumers.rise(consumers);
        if selects {
            queue.selecting.insert(slot);
        }
        if subscribe.exclusive && is_acquiring {
            queue.exclusive_subscription = Some(slot);
        }
        self.happened_subscribed(slot);
        self.session_mut(id)
            .subscriptions
            .insert(subscribe.destination, slot);
        self.keep_used(queue_id);
        Ok(())
    }

    /// The queue of a subscription that is allowed.
    fn subscribable_queue(
        &self,
        id: SessionId,
        subscribe: &MessageSubscribe,
    ) -> Result<QueueId, Refusal> {
        if subscribe.queue.is_empty() {
            return Err(refuse(ErrorCode::ILLEGAL_ARGUMENT, "No queue name given."));
        }
        let queue_id = self.queue_named(&subscribe.queue)?;
        let session = self.session(id);
        if session.subscriptions.contains_key(&subscribe.destination) {
            let text = format_args!("Consumer tags must be unique: {}", subscribe.destination);
            return Err(refuse(ErrorCode::NOT_ALLOWED, text));
        }
        if session.subscriptions.len() >= limits::SUBSCRIPTIONS_PER_SESSION_MAX {
            let text = "a session can have no more subscriptions";
            return Err(refuse(ErrorCode::RESOURCE_LIMIT_EXCEEDED, text));
        }
        let queue = self.queue(queue_id);
        let is_browsing =
            subscribe.acquire_mode != AcquireMode::PRE_ACQUIRED || queue.is_browse_only;
        // As in qpidd: what is another session's own can be looked at.
        if queue.is_locked_for(Some(id)) && !is_browsing {
            let text = format_args!("Cannot subscribe to exclusive queue {}", queue.name);
            return Err(refuse(ErrorCode::RESOURCE_LOCKED, text));
        }
        // Browsers have nothing to do with an exclusive subscription, as in qpidd: it does not keep
        // them out, and they cannot have one.
        if is_browsing {
            return Ok(queue_id);
        }
        if queue.exclusive_subscription.is_some() {
            let text = format_args!("Queue {} has an exclusive consumer.", queue.name);
            return Err(refuse(ErrorCode::RESOURCE_LOCKED, text));
        }
        if subscribe.exclusive && self.has_consumers(queue) {
            let text = format_args!("Queue {} already has consumers.", queue.name);
            return Err(refuse(ErrorCode::RESOURCE_LOCKED, text));
        }
        Ok(queue_id)
    }

    /// Whether anybody takes messages from a queue; browsers do not.
    pub(super) fn has_consumers(&self, queue: &Queue) -> bool {
        let mut all = queue.subscriptions.iter();
        all.any(|id| {
            let found = self.subscriptions.get(id.0);
            found.is_some_and(|subscription| subscription.is_acquiring)
        })
    }

    /// Takes a subscription out of its queue and gives the queue. The session's table is the
    /// caller's.
    pub(super) fn remove_subscription(&mut self, id: SubscriptionId) -> Option<QueueId> {
        let subscription = self.subscriptions.remove(id.0)?;
        if !subscription.flushes.is_empty() {
            self.complete_pending(subscription.session, &subscription.flushes);
        }
        if subscription.is_starved
            && let Some(session) = self.sessions.get_mut(subscription.session.0)
        {
            session.starved.retain(|other| *other != id);
        }
        let queue = self.queues.get_mut(subscription.queue.0)?;
        queue.subscriptions.remove(&id);
        let consumers = queue.subscriptions.len() as u64;
        queue.watched.consumers.sink(consumers);
        queue.selecting.remove(&id);
        queue.flushing.remove(&id);
        if subscription.is_ready {
            let ring = match subscription.is_acquiring {
                true => &mut queue.ready,
                false => &mut queue.browsers,
            };
            let all = &self.subscriptions;
            ring.remove(|reference| {
                let found = all.get(reference.id.0);
                found.is_some_and(|found| found.reference == reference)
            });
        }
        if queue.exclusive_subscription == Some(id) {
            queue.exclusive_subscription = None;
        }
        Some(subscription.queue)
    }

    fn subscription_named(
        &self,
        id: SessionId,
        destination: &str,
    ) -> Result<SubscriptionId, Refusal> {
        let found = self.session(id).subscriptions.get(destination).copied();
        let text = format_args!("Invalid destination: {destination}");
        found.ok_or_else(|| refuse(ErrorCode::NOT_FOUND, text))
    }

    fn credit_of(&mut self, id: SubscriptionId) -> &mut Credit {
        let subscription = self.subscriptions.get_mut(id.0);
        &mut subscription
            .expect("the session's table names live ones")
            .credit
    }

    /// `message.cancel`. What was delivered can still be settled.
    pub(super) fn cancel(
        &mut self,
        id: SessionId,
        destination: &str,
        out: &mut Out,
    ) -> Result<(), Refusal> {
        let subscription = self.subscription_named(id, destination)?;
        self.session_mut(id).subscriptions.remove(destination);
        self.happened_by(|requester| Event::Unsubscribe {
            requester,
            destination: destination.into(),
        });
        if let Some(queue) = self.remove_subscription(subscription) {
            self.delete_if_unused(queue, out);
        }
        Ok(())
    }

    /// `message.flow`: credit is added.
    pub(super) fn flow(
        &mut self,
        id: SessionId,
        destination: &str,
        unit: CreditUnit,
        value: u32,
        out: &mut Out,
    ) -> Result<(), Refusal> {
        let subscription = self.subscription_named(id, destination)?;
        let credit = self.credit_of(subscription);
        match unit {
            CreditUnit::MESSAGE => credit.grant_messages(value),
            CreditUnit::BYTE => credit.grant_bytes(value),
            _ => {
                let text = format_args!("Invalid value for unit {}", unit.0);
                return Err(refuse(ErrorCode::INVALID_ARGUMENT, text));
            }
        }
        self.wake_and_dispatch(subscription, out);
        Ok(())
    }

    fn wake_and_dispatch(&mut self, id: SubscriptionId, out: &mut Out) {
        self.wake(id);
        if let Some(queue) = self.subscriptions.get(id.0).map(|found| found.queue) {
            self.dispatch(queue, out);
        }
    }

    /// `message.set-flow-mode`.
    pub(super) fn set_flow_mode(
        &mut self,
        id: SessionId,
        destination: &str,
        mode: FlowMode,
    ) -> Result<(), Refusal> {
        let subscription = self.subscription_named(id, destination)?;
        if mode != FlowMode::CREDIT && mode != FlowMode::WINDOW {
            let text = format_args!("Invalid value for mode {}", mode.0);
            return Err(refuse(ErrorCode::INVALID_ARGUMENT, text));
        }
        self.credit_of(subscription).set_mode(mode);
        Ok(())
    }

    /// `message.flush`: all is sent that credit and queue allow, then there is no credit. What takes
    /// longer than this entry, or waits for headroom, goes on, and the command is completed then.
    pub(super) fn flush(
        &mut self,
        id: SessionId,
        command: CommandId,
        destination: &str,
        out: &mut Out,
    ) -> Result<(), Refusal> {
        let subscription = self.subscription_named(id, destination)?;
        self.wake_and_dispatch(subscription, out);
        let Some(found) = self.subscriptions.get(subscription.0) else {
            return Ok(());
        };
        let queue = found.queue;
        let Some(is_pending) = self.queues.get(queue.0).map(|q| q.is_dispatch_pending) else {
            // The queue has been deleted: a session that asked for its messages fails with that.
            return Ok(());
        };
        if !is_pending && !self.waits_for_headroom(found) {
            self.credit_of(subscription).stop();
            return Ok(());
        }
        if let Some(found) = self.subscriptions.get_mut(subscription.0) {
            found.flushes.insert(command);
        }
        self.queue_mut(queue).flushing.insert(subscription);
        self.session_mut(id).incoming.pending.insert(command);
        Ok(())
    }

    /// Whether a subscription will go on by itself. One whose client has settled too little will
    /// not.
    fn waits_for_headroom(&self, subscription: &Subscription) -> bool {
        subscription.is_starved && !self.session(subscription.session).is_full()
    }

    /// Ends the flushes of subscriptions for which a queue has no more, or which have no more
    /// credit.
    pub(super) fn finish_flushes(&mut self, queue: QueueId) {
        let flushing = std::mem::take(&mut self.queue_mut(queue).flushing);
        for id in flushing {
            let Some(subscription) = self.subscriptions.get(id.0) else {
                continue;
            };
            if self.waits_for_headroom(subscription) {
                self.queue_mut(queue).flushing.insert(id);
                continue;
            }
            let session = subscription.session;
            if let Some(subscription) = self.subscriptions.get_mut(id.0) {
                subscription.credit.stop();
                let flushes = std::mem::take(&mut subscription.flushes);
                self.complete_pending(session, &flushes);
            }
        }
    }

    /// `message.stop`.
    pub(super) fn stop(&mut self, id: SessionId, destination: &str) -> Result<(), Refusal> {
        let subscription = self.subscription_named(id, destination)?;
        self.credit_of(subscription).stop();
        Ok(())
    }

    /// Does `each` for every delivery that a set names and that is not over. The counts are taken
    /// first, since `each` may change the session.
    pub(super) fn for_each_unsettled(
        &mut self,
        id: SessionId,
        set: &SequenceSet,
        mut each: impl FnMut(&mut Core, u64),
    ) {
        for (first, last) in self.session(id).unsettled_ranges(set) {
            let mut next = first;
            while let Some(session) = self.sessions.get(id.0) {
                match session.unsettled.next_at(next) {
                    Some(count) if count <= last => {
                        next = count + 1;
                        each(self, count);
                    }
                    _ => break,
                }
            }
        }
    }

    fn unsettled_mut(session: &mut Session, count: u64) -> Option<&mut Unsettled> {
        session.unsettled.get_mut(count)
    }

    /// Forgets a delivery of which nothing can come any more, and else marks it as not acquired. An
    /// accept in the open transaction is forgotten with it.
    pub(super) fn settle(&mut self, id: SessionId, count: u64) -> Option<Unsettled> {
        let session = self.sessions.get_mut(id.0)?;
        let unsettled = session.unsettled.get_mut(count)?;
        if !unsettled.is_acquired {
            return None;
        }
        unsettled.is_acquired = false;
        if std::mem::take(&mut unsettled.is_in_transaction)
            && let Some(transaction) = &mut session.transaction
        {
            let id = CommandId(count as u32);
            transaction.accepts.remove_range(id, id);
        }
        let settled = unsettled.clone();
        if settled.is_over() {
            session.unsettled.remove(count);
        }
        Some(settled)
    }

    /// Wakes subscriptions that waited for the session to settle.
    pub(super) fn after_settling(&mut self, id: SessionId, out: &mut Out) {
        if self
            .sessions
            .get(id.0)
            .is_some_and(|s| !s.starved.is_empty() && !s.is_choked())
        {
            self.wake_starved(id, out);
        }
    }

    /// `message.accept`: the messages leave their queues, in a transaction at its commit. Ids that
    /// are unknown or settled are ignored.
    pub(super) fn accept(
        &mut self,
        id: SessionId,
        transfers: &SequenceSet,
        out: &mut Out,
    ) -> Result<(), Refusal> {
        if self.session(id).transaction.is_some() {
            return self.accept_in_transaction(id, transfers, out);
        }
        let mut queues = BTreeSet::new();
        self.for_each_unsettled(id, transfers, |core, count| {
            if let Some(settled) = core.settle(id, count)
                && core.dequeue(settled.queue, settled.position)
            {
                queues.insert(settled.queue.id);
                if is_planted(Plant::AcceptTakesNext) {
                    core.dequeue(settled.queue, settled.position + 1);
                }
            }
        });
        self.after_settling(id, out);
        Ok(())
    }

    fn accept_in_transaction(
        &mut self,
        id: SessionId,
        transfers: &SequenceSet,
        out: &mut Out,
    ) -> Result<(), Refusal> {
        if let Some(xid) = self.branches.associated(id).cloned() {
            return self.accept_in_branch(id, &xid, transfers, out);
        }
        self.for_each_unsettled(id, transfers, |core, count| {
            let session = core.session_mut(id);
            if let Some(unsettled) = Self::unsettled_mut(session, count)
                && unsettled.is_acquired
                && !std::mem::replace(&mut unsettled.is_in_transaction, true)
                && let Some(transaction) = &mut session.transaction
            {
                transaction.accepts.insert(CommandId(count as u32));
            }
        });
        let ranges = self
            .session(id)
            .transaction
            .as_ref()
            .map_or(0, |t| t.accepts.ranges().len());
        if ranges > limits::TRANSACTION_OPERATIONS_MAX {
            let text = "the open transaction accepts more than a broker can hold";
            return Err(refuse(ErrorCode::RESOURCE_LIMIT_EXCEEDED, text));
        }
        Ok(())
    }

    /// The branch has the messages from now on, but for those that the session's own transaction has.
    fn accept_in_branch(
        &mut self,
        id: SessionId,
        xid: &Xid,
        transfers: &SequenceSet,
        out: &mut Out,
    ) -> Result<(), Refusal> {
        let mut accepted = VecDeque::new();
        self.for_each_unsettled(id, transfers, |core, count| {
            let unsettled = core.session(id).unsettled.get(count);
            let is_local = unsettled.is_some_and(|unsettled| unsettled.is_in_transaction);
            if !is_local && let Some(settled) = core.settle(id, count) {
                accepted.push_back((settled.queue, settled.position));
            }
        });
        self.accepted_in_branch(id, xid, accepted)?;
        self.run_work(out);
        self.after_settling(id, out);
        Ok(())
    }

    /// `message.release`: the messages go back to their places. The redelivered flag stays as it
    /// is unless the client asks for it. A message accepted in the open transaction goes back too:
    /// Qpid's clients release before they roll back.
    pub(super) fn release(
        &mut self,
        id: SessionId,
        transfers: &SequenceSet,
        set_redelivered: bool,
        out: &mut Out,
    ) {
        let mut back = Returned::new();
        let mut has_died = false;
        self.for_each_unsettled(id, transfers, |core, count| {
            if let Some(settled) = core.settle(id, count) {
                has_died |= core.put_back(&settled, set_redelivered, &mut back);
            }
        });
        self.dispatch_returned(back, out);
        if has_died {
            self.run_work(out);
        }
        self.after_settling(id, out);
    }

    /// Makes an acquired message available again, in its place, and notes where that is. One that was
    /// delivered too often dies: then it gives true.
    pub(super) fn put_back(
        &mut self,
        settled: &Unsettled,
        set_redelivered: bool,
        back: &mut Returned,
    ) -> bool {
        self.put_back_at(settled.queue, settled.position, set_redelivered, back)
    }

    /// The same, by its place.
    pub(super) fn put_back_at(
        &mut self,
        reference: QueueRef,
        position: u64,
        set_redelivered: bool,
        back: &mut Returned,
    ) -> bool {
        let queue = self.queues.get_mut(reference.id.0);
        let Some(queue) = queue.filter(|found| found.reference == reference) else {
            return false;
        };
        if set_redelivered && queue.has_been_delivered_too_often(position, &mut self.scratch.facts)
        {
            return self.die(reference, position, Reason::OverDelivered);
        }
        let facts = &mut self.scratch.facts;
        if queue.release(position, set_redelivered, facts) {
            let first = back.entry(reference.id).or_insert(position);
            *first = position.min(*first);
        }
        false
    }

    /// Delivers messages that were put back. Subscriptions with a selector may have passed them and
    /// look again from the first one on.
    pub(super) fn dispatch_returned(&mut self, back: Returned, out: &mut Out) {
        for (queue_id, first) in back {
            let Some(queue) = self.queues.get(queue_id.0) else {
                continue;
            };
            for id in &queue.selecting {
                if let Some(subscription) = self.subscriptions.get_mut(id.0) {
                    subscription.look_again_from(first);
                }
            }
            self.dispatch(queue_id, out);
        }
    }

    /// `message.reject`: the messages go to the queue's alternate exchange, else to nowhere, as work
    /// allows. Code and text are ignored, as in qpidd.
    pub(super) fn reject(
        &mut self,
        id: SessionId,
        transfers: &SequenceSet,
        out: &mut Out,
    ) -> Result<(), Refusal> {
        let mut rejected: BTreeMap<QueueId, Vec<(u64, Entry)>> = BTreeMap::new();
        self.for_each_unsettled(id, transfers, |core, count| {
            if let Some(settled) = core.settle(id, count)
                && let Some(entry) = core.take_rejected(settled.queue, settled.position)
            {
                let of_queue = rejected.entry(settled.queue.id).or_default();
                of_queue.push((settled.position, entry));
            }
        });
        for (queue, entries) in rejected {
            self.reroute_rejected(queue, entries);
        }
        self.run_work(out);
        self.after_settling(id, out);
        Ok(())
    }

    fn take_rejected(&mut self, queue: QueueRef, position: u64) -> Option<Entry> {
        let death = self.death(queue.id, Reason::Rejected);
        let found = self.queues.get_mut(queue.id.0);
        let found = found.filter(|found| found.reference == queue)?;
        let entry = found.entries.get(position)?;
        if found.alternate.is_some() && preserved(&entry.stored.message) == Some(false) {
            found.counters.discards_subscriber += 1;
            self.dequeue(queue, position);
            return None;
        }
        let entry = match found.alternate {
            Some(_) => self.take_dead(queue, position, Reason::Rejected, death.as_ref()),
            None => found.leave(
                position,
                false,
                None,
                (&mut self.held, &mut self.scratch.facts),
            ),
        }?;
        // As in qpidd, wherever the message goes.
        let found = self.queues.get_mut(queue.id.0)?;
        found.counters.discards_subscriber += 1;
        Some(entry)
    }

    /// Lets messages of a queue go to its alternate exchange, in their order there.
    fn reroute_rejected(&mut self, queue: QueueId, mut rejected: Vec<(u64, Entry)>) {
        let death = self.death(queue, Reason::Rejected);
        rejected.sort_unstable_by_key(|(position, _)| *position);
        let mut entries = Blocks::default();
        for (position, entry) in rejected {
            entries.push_at(position, entry);
        }
        let remains = self.remains(self.queue(queue), entries, death);
        self.reroute_later(remains);
    }

    /// `message.acquire` of browsed messages: the answer names those that were still to be had, so far
    /// as one answer can; what it does not name is not acquired and can be asked for again. With accept mode none they leave the queue at once.
    pub(super) fn acquire(
        &mut self,
        id: SessionId,
        command: CommandId,
        transfers: &SequenceSet,
        out: &mut Out,
    ) -> Result<(), Refusal> {
        let mut acquired = SequenceSet::new();
        let mut queues = BTreeSet::new();
        self.for_each_unsettled(id, transfers, |core, count| {
            if acquired.ranges().len() >= RANGES_MAX {
                return;
            }
            let Some(unsettled) = core.session(id).unsettled.get(count).cloned() else {
                return;
            };
            let Some(queue) = core.live_queue(unsettled.queue) else {
                return;
            };
            let by = unsettled.subscription;
            if unsettled.is_acquired || queue.acquire(unsettled.position, by).is_none() {
                return;
            }
            acquired.insert(CommandId(count as u32));
            queues.insert(unsettled.queue.id);
            if unsettled.is_implicit {
                core.dequeue(unsettled.queue, unsettled.position);
            } else if let Some(u) = Self::unsettled_mut(core.session_mut(id), count) {
                u.is_acquired = true;
            }
        });
        let value = Struct32::of(&MessageAcquired {
            transfers: acquired,
        });
        self.answer(id, command, value, out);
        // What stands behind one may be for somebody for whom that one was too large.
        for queue in queues {
            self.dispatch(queue, out);
        }
        Ok(())
    }

    /// `session.completed` of deliveries: in window mode credit comes back, whether the message was
    /// accepted, rejected or neither.
    pub(in crate::broker) fn deliveries_completed(
        &mut self,
        id: SessionId,
        commands: &SequenceSet,
        out: &mut Out,
    ) {
        if self.session(id).kept.is_some() {
            self.note_received(id, commands);
        }
        self.return_credit(id, commands, out);
    }

    /// The same of deliveries that count as received.
    pub(super) fn return_credit(&mut self, id: SessionId, commands: &SequenceSet, out: &mut Out) {
        let session = self.session_mut(id);
        let fresh = without(commands, &session.outgoing_completed);
        if session.outgoing_next == 0 || fresh.is_empty() {
            return;
        }
        let newest = CommandId((session.outgoing_next - 1) as u32);
        let oldest = CommandId(newest.0.wrapping_sub(i32::MAX as u32 / 2));
        session
            .outgoing_completed
            .union(&fresh.clipped(oldest, newest));
        if session.outgoing_completed.ranges().len() > limits::COMPLETED_REMEMBERED_MAX {
            session.outgoing_completed.clear();
        }
        let mut queues = BTreeSet::new();
        self.for_each_unsettled(id, &fresh, |core, count| {
            let Some(session) = core.sessions.get_mut(id.0) else {
                return;
            };
            let Some(unsettled) = Self::unsettled_mut(session, count) else {
                return;
            };
            if !std::mem::take(&mut unsettled.awaits_completion) {
                return;
            }
            let completed = unsettled.clone();
            if completed.is_over() {
                session.unsettled.remove(count);
            } else if completed.is_implicit {
                core.accept_implicitly(id, count);
            }
            let subscription = core.subscriptions.get_mut(completed.subscription.id.0);
            if let Some(subscription) =
                subscription.filter(|found| found.reference == completed.subscription)
            {
                subscription.credit.give_back(completed.room);
                queues.insert(subscription.queue);
                core.wake(completed.subscription.id);
            }
        });
        self.forget_completions(id);
        for queue in queues {
            self.dispatch(queue, out);
        }
        self.after_settling(id, out);
    }

    /// Completions before the first open delivery can no longer matter.
    fn forget_completions(&mut self, id: SessionId) {
        let Some(session) = self.sessions.get_mut(id.0) else {
            return;
        };
        let head = session.unsettled.head();
        if session.unsettled.is_empty() {
            session.outgoing_completed.clear();
        } else if head > 0
            && let Some(first) = session.outgoing_completed.first()
        {
            let last = CommandId((head - 1) as u32);
            if first.at_or_before(last) {
                session.outgoing_completed.remove_range(first, last);
            }
        }
    }
}
