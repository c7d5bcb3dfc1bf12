//! A message on its way into queues.

use std::sync::Arc;

use super::refuse;
use crate::broker::command::Refusal;
use crate::broker::core::Core;
use crate::broker::dead::Reason;
use crate::broker::effect::Out;
use crate::broker::ids::{ExchangeId, GroupTime, QueueId, QueueRef, SessionId};
use crate::broker::limits;
use crate::broker::message::{Message, Stored};
use crate::broker::parts::TransferOfParts;
use crate::broker::queue::flow::HeldTransfer;
use crate::broker::queue::kind::Kind;
use crate::broker::queue::policy::Policy;
use crate::broker::queue::{Entry, EntryState};
use crate::broker::routed::Last;
use crate::broker::session::TransactionPublish;
use crate::wire::{AcceptMode, CommandId, ErrorCode, Text};

impl Core {
    /// `message.transfer` from a client. In a transaction the message is routed now and enqueued at
    /// the commit.
    pub(super) fn transfer(
        &mut self,
        id: SessionId,
        command: CommandId,
        destination: &str,
        accept_mode: AcceptMode,
        message: Arc<Message>,
        out: &mut Out,
    ) -> Result<(), Refusal> {
        let exchange = self.exchange_named(destination)?;
        let mut stored = Stored {
            handle: self.scratch.handle,
            publisher: self.session(id).connection,
            message,
        };
        let mut matched = std::mem::take(&mut self.scratch.matched);
        self.route(exchange, &mut stored, None, &mut matched);
        if (matched.is_empty() || stored.message.is_immediate())
            && let Some(code) = self.goes_nowhere(exchange, &mut stored, &mut matched)
            && accept_mode == AcceptMode::EXPLICIT
            && !stored.message.is_discarded_unroutable()
        {
            self.scratch.matched = matched;
            self.reject_transfer(id, command, code);
            return Ok(());
        }
        let routed = if self.session(id).transaction.is_some() {
            self.publish_in_transaction(id, stored, &matched)
        } else {
            let session = id;
            self.scratch.transfer = Some(HeldTransfer { session, command });
            let routed = self.enqueue_all(&stored, &matched, out);
            self.scratch.transfer = None;
            routed
        };
        matched.clear();
        self.scratch.matched = matched;
        routed?;
        if self.is_held(id, command, accept_mode == AcceptMode::EXPLICIT) {
            return Ok(());
        }
        if accept_mode == AcceptMode::EXPLICIT
            && let Some(session) = self.sessions.get_mut(id.0)
        {
            if session.incoming.accepted.is_empty() {
                self.scratch.telling.push(id);
            }
            session.incoming.accepted.insert(command);
        }
        Ok(())
    }

    /// The same for a message that has come in parts. That it has is its proposer's duty: when it has
    /// not, the session fails.
    pub(super) fn transfer_of_parts(
        &mut self,
        id: SessionId,
        command: CommandId,
        publish: &TransferOfParts,
        out: &mut Out,
    ) -> Result<(), Refusal> {
        let connection = self.session(id).connection;
        let Some(message) = self.parts.take(connection, publish) else {
            let text = "the message has not come as it was sent";
            return Err(refuse(ErrorCode::INTERNAL_ERROR, text));
        };
        let (destination, accept_mode) = (&publish.destination, publish.accept_mode);
        self.transfer(id, command, destination, accept_mode, message.into(), out)
    }

    fn publish_in_transaction(
        &mut self,
        id: SessionId,
        stored: Stored,
        matched: &[QueueId],
    ) -> Result<(), Refusal> {
        let expires = self.expiry(&stored.message);
        let queues: Vec<QueueRef> = matched
            .iter()
            .map(|queue| self.queue(*queue).reference)
            .collect();
        let routes = queues.len() * size_of::<QueueRef>();
        let bytes = stored.message.size() + routes as u64;
        let publish = TransactionPublish {
            stored,
            expires,
            queues,
        };
        if let Some(xid) = self.branches.associated(id).cloned() {
            return self.publish_in_branch(id, &xid, publish, bytes);
        }
        let transaction = self.session_mut(id).transaction.get_or_insert_default();
        transaction.bytes = transaction.bytes.saturating_add(bytes);
        if transaction.bytes > limits::TRANSACTION_BYTES_MAX
            || transaction.publishes.len() >= limits::TRANSACTION_OPERATIONS_MAX
        {
            let text = "the open transaction publishes more than a broker can hold";
            return Err(refuse(ErrorCode::RESOURCE_LIMIT_EXCEEDED, text));
        }
        transaction.publishes.push(publish);
        Ok(())
    }

    /// The queues that a message goes to, each once: those that match at the exchange, else at its
    /// alternate, else at that one's, so far as [`limits::ALTERNATES_MAX`] goes. An exchange that numbers
    /// its messages makes another of it. `expires` is None for one that comes in now.
    pub(super) fn route(
        &mut self,
        exchange: ExchangeId,
        stored: &mut Stored,
        expires: Option<GroupTime>,
        matched: &mut Vec<QueueId>,
    ) {
        matched.clear();
        let mut next = Some(exchange);
        for _ in 0..=limits::ALTERNATES_MAX {
            let Some(id) = next else { break };
            if self.exchange_mut(id).routed.is_some() {
                self.note_routed(id, stored, expires);
            }
            self.route_at(id, &stored.message, matched);
            if !matched.is_empty() {
                return;
            }
            next = self.exchange_mut(id).alternate;
        }
        self.counters.discards_no_route += 1;
    }

    /// Does what the exchange does with every message.
    #[cold]
    fn note_routed(&mut self, id: ExchangeId, stored: &mut Stored, expires: Option<GroupTime>) {
        let expires = expires.unwrap_or_else(|| self.expiry(&stored.message));
        let Some(routed) = self.exchange_mut(id).routed.as_mut() else {
            return;
        };
        // None with a sequence: no header can be added to what bounds of headers leave no room in.
        if let Some(message) = routed.numbered(&stored.message) {
            stored.message = Arc::new(message);
            stored.handle = self.new_handle();
            self.scratch.numbering.insert(id);
        }
        let Some(routed) = self.exchange_mut(id).routed.as_mut() else {
            return;
        };
        if !routed.keeps_last {
            return;
        }
        let stored = stored.clone();
        let before = routed.last.replace(Last { stored, expires });
        let message = routed.last.as_ref().map(|last| last.stored.message.clone());
        if let Some(message) = message {
            self.held.come(&message);
        }
        if let Some(before) = before {
            self.held.leave(&before.stored.message);
        }
    }

    fn route_at(&mut self, id: ExchangeId, message: &Message, matched: &mut Vec<QueueId>) {
        let key = message.routing_key.as_str();
        let by_name = self.queue_names.get(key).copied();
        let exchange = self.exchange_mut(id);
        if exchange.is_default() {
            matched.extend(by_name);
        } else {
            exchange
                .kind
                .route(key, &mut || message.application_headers(), matched);
        }
        exchange.counters.receives += 1;
        exchange.counters.bytes_received += message.size();
        exchange.counters.routes += matched.len() as u64;
        exchange.counters.drops += u64::from(matched.is_empty());
    }

    /// When a message that comes in now runs out.
    fn expiry(&self, message: &Message) -> GroupTime {
        message
            .ttl
            .map_or(GroupTime::NEVER, |ttl| self.time.plus(ttl))
    }

    /// Enqueues to every queue. All are tried, even when one is full; the first refusal is given
    /// at the end.
    fn enqueue_all(
        &mut self,
        stored: &Stored,
        matched: &[QueueId],
        out: &mut Out,
    ) -> Result<(), Refusal> {
        let mut result = Ok(());
        let expires = self.expiry(&stored.message);
        for queue in matched {
            // A delivery on the way may have ended a queue by auto-delete.
            if let Some(reference) = self.queues.get(queue.0).map(|queue| queue.reference)
                && let Err(text) = self.enqueue(reference.id, stored.clone(), expires, out)
            {
                let refusal = refuse(ErrorCode::RESOURCE_LIMIT_EXCEEDED, text);
                result = result.and(Err(refusal));
            }
        }
        result
    }

    /// Enqueues and delivers on. Err is qpidd's text for a queue that is full.
    pub(super) fn enqueue(
        &mut self,
        id: QueueId,
        stored: Stored,
        expires: GroupTime,
        out: &mut Out,
    ) -> Result<(), String> {
        if self.admits(id, &stored, out)? {
            let transfer = self.scratch.transfer;
            self.append(id, stored, expires, transfer);
            self.dispatch(id, out);
        }
        Ok(())
    }

    fn append(
        &mut self,
        id: QueueId,
        stored: Stored,
        expires: GroupTime,
        transfer: Option<HeldTransfer>,
    ) {
        let Some(queue) = self.queues.get_mut(id.0) else {
            return;
        };
        let replaced = match &queue.kind {
            Kind::LastValue(keys) => keys.replaced_by(&stored.message),
            Kind::Fifo | Kind::Priority(_) | Kind::Groups(_) => None,
        };
        self.counters.enqueues += 1;
        let position = queue.enqueue(stored, expires, &mut self.held, &mut self.scratch.facts);
        if queue.flow.is_stopped
            && let Some(transfer) = transfer
        {
            self.hold_transfer(transfer, id, position);
        }
        if let Some(replaced) = replaced {
            self.replace(id, replaced);
        }
    }

    /// A later message has taken the place of one with its key, acquired or not.
    fn replace(&mut self, id: QueueId, position: u64) {
        let reference = self.queue(id).reference;
        self.die(reference, position, Reason::Replaced);
    }

    /// Enqueues what a committed transaction publishes. The limits were looked at for the whole.
    pub(super) fn enqueue_committed(&mut self, publish: TransactionPublish, out: &mut Out) {
        let expires = publish.expires;
        for reference in publish.queues {
            let Some(policy) = self.live_queue(reference).map(|queue| queue.policy) else {
                continue;
            };
            let is_taken = match policy {
                Policy::Reject => !self.keeps_out(reference.id, &publish.stored),
                // Room is made now. Err: the queue has counted it as an overflow.
                Policy::Ring | Policy::RingStrict | Policy::SelfDestruct => {
                    self.admits(reference.id, &publish.stored, out) == Ok(true)
                }
            };
            if is_taken {
                self.append(reference.id, publish.stored.clone(), expires, None);
                self.dispatch(reference.id, out);
            }
        }
    }

    /// Routes a message that its queue could not keep to an alternate exchange. A queue there that
    /// is full loses it: nobody is left to be told. Each copy costs a step, and so does what a
    /// journal has to write of a large message. Queues with a barred name do not get it.
    pub(super) fn reroute(
        &mut self,
        exchange: ExchangeId,
        Entry {
            stored,
            expires,
            state,
            ..
        }: &Entry,
        barred: &[Text],
        out: &mut Out,
    ) {
        let mut stored = stored.clone();
        let mut matched = std::mem::take(&mut self.scratch.matched);
        self.route(exchange, &mut stored, Some(*expires), &mut matched);
        if !barred.is_empty() {
            let before = matched.len();
            matched.retain(|queue| !barred.contains(&self.queue(*queue).name));
            self.counters.discards_dead += (before - matched.len()) as u64;
        }
        let copies = u32::try_from(matched.len()).unwrap_or(u32::MAX);
        let octets = stored.message.size() / limits::REROUTED_BYTES_PER_STEP;
        let octets = u32::try_from(octets).unwrap_or(u32::MAX);
        let steps = copies.saturating_add(octets);
        self.scratch.steps = self.scratch.steps.saturating_sub(steps);
        for queue in matched.drain(..) {
            // Err: the queue has counted it as an overflow.
            if self.queues.get(queue.0).is_some() && self.admits(queue, &stored, out) == Ok(true) {
                self.append(queue, stored.clone(), *expires, None);
                if *state == EntryState::Recovered {
                    self.queue_mut(queue).flag_last();
                }
                self.dispatch(queue, out);
            }
        }
        self.scratch.matched = matched;
    }
}
