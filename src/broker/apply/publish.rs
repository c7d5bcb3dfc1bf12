//! A message on its way into queues.

use std::sync::Arc;

use super::refuse;
use crate::broker::command::Refusal;
use crate::broker::core::Core;
use crate::broker::dead::Reason;
use crate::broker::effect::Out;
use crate::broker::exchange::Kind;
use crate::broker::ids::{ConnectionKey, ExchangeId, GroupTime, QueueId, QueueRef, SessionId};
use crate::broker::limits;
use crate::broker::message::{Message, Stored};
use crate::broker::parts::TransferOfParts;
use crate::broker::publishes::{Publishes, TransactionPublish};
use crate::broker::queue::flow::HeldTransfer;
use crate::broker::queue::kind;
use crate::broker::queue::policy::Policy;
use crate::broker::queue::{Entry, EntryState};
use crate::broker::routed::Last;
use crate::broker::seen::Identity;
use crate::wire::{AcceptMode, CommandId, ErrorCode, Text};

/// What a session is told whose transaction or branch publishes to more queues than one entry can fill.
pub(super) fn too_many_places() -> Refusal {
    let most = limits::TRANSACTION_PLACES_MAX;
    let text = format_args!(
        "the transaction publishes to more than {most} places in queues, all of which one commit has to fill"
    );
    refuse(ErrorCode::RESOURCE_LIMIT_EXCEEDED, text)
}

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
        let (is_of_link, mut publisher) = {
            let session = self.session(id);
            (session.is_of_link, session.connection)
        };
        let mut identity = None;
        if is_of_link {
            publisher = ConnectionKey::LINK;
            identity = Identity::of(&message);
            if identity.is_some_and(|identity| self.seen.holds(destination, identity)) {
                self.counters.duplicates += 1;
                return self.accept_transfer(id, command, accept_mode);
            }
        }
        if let Some(face) = self.exchange_mut(exchange).face
            && !self.give_to_agent(id, face, &message, out)?
        {
            return self.accept_transfer(id, command, accept_mode);
        }
        let mut stored = Stored {
            handle: self.scratch.handle,
            publisher,
            message,
        };
        let place = (destination, identity);
        if self.applies_events(exchange) {
            self.scratch.transfer = Some(HeldTransfer {
                session: id,
                command,
            });
            let applied = self.apply_event(id, exchange, stored, out);
            self.scratch.transfer = None;
            applied?;
            return self.has_come(id, command, accept_mode, place);
        }
        let mut matched = std::mem::take(&mut self.scratch.matched);
        let is_transacted = self.session(id).transaction.is_some();
        self.scratch.last_of = is_transacted.then(Vec::new);
        self.route(exchange, &mut stored, None, &mut matched);
        if (matched.is_empty() || stored.message.is_immediate())
            && let Some(code) = self.goes_nowhere(exchange, &mut stored, &mut matched)
            && accept_mode == AcceptMode::EXPLICIT
            && !stored.message.is_discarded_unroutable()
        {
            self.scratch.matched = matched;
            self.scratch.last_of = None;
            self.reject_transfer(id, command, code);
            return Ok(());
        }
        let last_of = self.scratch.last_of.take();
        let routed = if let Some(last_of) = last_of {
            self.publish_in_transaction(id, stored, (&matched, last_of))
        } else {
            let session = id;
            self.scratch.transfer = Some(HeldTransfer { session, command });
            let room = self.see_room_for_events(stored.message.size(), &matched);
            let routed = room.and_then(|()| self.enqueue_all(&stored, &matched, out));
            self.scratch.transfer = None;
            routed
        };
        matched.clear();
        self.scratch.matched = matched;
        routed?;
        self.has_come(id, command, accept_mode, place)
    }

    /// A message has come, to an exchange and as which one it is known if it has come over a link.
    fn has_come(
        &mut self,
        id: SessionId,
        command: CommandId,
        accept_mode: AcceptMode,
        (exchange, identity): (&str, Option<Identity>),
    ) -> Result<(), Refusal> {
        if let Some(identity) = identity {
            self.seen.add(exchange, identity);
        }
        if self.is_held(id, command, accept_mode == AcceptMode::EXPLICIT) {
            return Ok(());
        }
        self.accept_transfer(id, command, accept_mode)
    }

    fn accept_transfer(
        &mut self,
        id: SessionId,
        command: CommandId,
        accept_mode: AcceptMode,
    ) -> Result<(), Refusal> {
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
        (matched, last_of): (&[QueueId], Vec<Text>),
    ) -> Result<(), Refusal> {
        let expires = self.expiry(&stored.message);
        let queues: Vec<QueueRef> = matched
            .iter()
            .map(|queue| self.queue(*queue).reference)
            .collect();
        let routes = queues.len() * size_of::<QueueRef>();
        let size = stored.message.size();
        let bytes = size + routes as u64 + self.event_bytes(size, matched);
        let publish = TransactionPublish {
            stored,
            expires,
            queues,
            last_of,
        };
        if let Some(xid) = self.branches.associated(id).cloned() {
            return self.publish_in_branch(id, &xid, publish, bytes);
        }
        let transaction = self.session_mut(id).transaction.get_or_insert_default();
        transaction.bytes = transaction.bytes.saturating_add(bytes);
        let places = transaction.publishes.places() + publish.queues.len();
        if transaction.bytes > limits::TRANSACTION_BYTES_MAX
            || transaction.publishes.len() >= limits::TRANSACTION_OPERATIONS_MAX
        {
            let text = "the open transaction publishes more than a broker can hold";
            return Err(refuse(ErrorCode::RESOURCE_LIMIT_EXCEEDED, text));
        }
        if places > limits::TRANSACTION_PLACES_MAX {
            return Err(too_many_places());
        }
        self.held.come_to_transaction(&publish);
        self.session_mut(id)
            .transaction
            .get_or_insert_default()
            .publishes
            .push(publish);
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
                if !self.redirects.is_empty() {
                    self.redirect_matched(matched);
                }
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
        let name = self.exchange_mut(id).name.clone();
        match &mut self.scratch.last_of {
            // It is not published before its transaction is committed.
            Some(last_of) => last_of.push(name),
            None => self.keep_last(&name, stored, expires),
        }
    }

    /// A message is the last that an exchange has routed, if the exchange is there and keeps it.
    fn keep_last(&mut self, exchange: &str, stored: &Stored, expires: GroupTime) {
        let Some(id) = self.exchange_names.get(exchange).copied() else {
            return;
        };
        let routed = self.exchange_mut(id).routed.as_mut();
        let Some(routed) = routed.filter(|routed| routed.keeps_last) else {
            return;
        };
        let stored = stored.clone();
        let message = stored.message.clone();
        let before = routed.last.replace(Last { stored, expires });
        self.held.come(&message);
        if let Some(before) = before {
            self.held.leave(&before.stored.message);
        }
    }

    fn route_at(&mut self, id: ExchangeId, message: &Message, matched: &mut Vec<QueueId>) {
        let key = message.routing_key.as_str();
        let by_name = self.queue_names.get(key).copied();
        let exchange = self.exchanges.get_mut(id.0);
        let exchange = exchange.expect("an exchange in use as alternate is not deleted");
        if exchange.is_default() {
            matched.extend(by_name);
        } else if let Kind::Xml(xml) = &mut exchange.kind {
            xml.route(key, &self.scratch.matching, matched);
        } else {
            exchange
                .kind
                .route(key, &mut || message.application_headers(), matched);
        }
        exchange.counters.receives += 1;
        exchange.counters.bytes_received += message.size();
        exchange.counters.routes += matched.len() as u64;
        exchange.counters.bytes_routed += matched.len() as u64 * message.size();
        if matched.is_empty() {
            exchange.counters.drops += 1;
            exchange.counters.bytes_dropped += message.size();
        }
    }

    /// When a message that comes in now runs out.
    pub(super) fn expiry(&self, message: &Message) -> GroupTime {
        message
            .ttl
            .map_or(GroupTime::NEVER, |ttl| self.time.plus(ttl))
    }

    /// Enqueues to every queue. All are tried, even when one is full; the first refusal is given
    /// at the end.
    pub(super) fn enqueue_all(
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

    pub(super) fn append(
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
            kind::Kind::LastValue(keys) => keys.replaced_by(&stored.message),
            kind::Kind::Fifo | kind::Kind::Priority(_) | kind::Kind::Groups(_) => None,
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
        for exchange in &publish.last_of {
            self.keep_last(exchange, &publish.stored, expires);
        }
        for reference in publish.queues.iter().copied() {
            let Some(policy) = self.live_queue(reference).map(|queue| queue.policy) else {
                continue;
            };
            let is_taken = match policy {
                Policy::Reject => !self.keeps_out(reference.id, &publish.stored),
                // Room is made now. Err: none can be made any more, of a message that was promised one:
                // the queue holds more than it should rather than lose it.
                Policy::Ring | Policy::RingStrict | Policy::SelfDestruct => self
                    .admits(reference.id, &publish.stored, out)
                    .unwrap_or(true),
            };
            if is_taken {
                if let Some(queue) = self.queues.get_mut(reference.id.0) {
                    queue.counters.transaction_enqueues += 1;
                    queue.counters.transaction_bytes_enqueued += publish.stored.message.size();
                }
                self.append(reference.id, publish.stored.clone(), expires, None);
                self.dispatch(reference.id, out);
            }
        }
        self.held.leave_transaction(&publish);
    }

    /// What a transaction or a branch was to publish is gone.
    pub(super) fn forget_publishes(&mut self, publishes: &Publishes) {
        for publish in publishes {
            self.held.leave_transaction(publish);
        }
    }

    /// Routes a message that its queue could not keep to an alternate exchange. A queue there that
    /// is full loses it: nobody is left to be told. Each copy costs a step, and so does what a
    /// journal has to write of a large message. Queues with a barred name do not get it.
    pub(super) fn reroute(
        &mut self,
        exchange: ExchangeId,
        entry: &Entry,
        barred: &[Text],
        out: &mut Out,
    ) {
        let mut stored = entry.stored.clone();
        let mut matched = std::mem::take(&mut self.scratch.matched);
        self.route(exchange, &mut stored, Some(entry.expires), &mut matched);
        if !barred.is_empty() {
            let before = matched.len();
            matched.retain(|queue| !barred.contains(&self.queue(*queue).name));
            self.counters.discards_dead += (before - matched.len()) as u64;
        }
        self.spread(&stored, entry, &matched, out);
        matched.clear();
        self.scratch.matched = matched;
    }

    /// Puts what a message has become on its way into the queues that it was routed to.
    pub(super) fn spread(
        &mut self,
        stored: &Stored,
        entry: &Entry,
        matched: &[QueueId],
        out: &mut Out,
    ) {
        let copies = u32::try_from(matched.len()).unwrap_or(u32::MAX);
        let octets = stored.message.size() / limits::REROUTED_BYTES_PER_STEP;
        let octets = u32::try_from(octets).unwrap_or(u32::MAX);
        let steps = copies.saturating_add(octets);
        self.scratch.steps = self.scratch.steps.saturating_sub(steps);
        for queue in matched {
            // Err: the queue has counted it as an overflow.
            if self.queues.get(queue.0).is_some() && self.admits(*queue, stored, out) == Ok(true) {
                self.append(*queue, stored.clone(), entry.expires, None);
                if entry.state == EntryState::Recovered {
                    self.queue_mut(*queue).flag_last();
                }
                self.dispatch(*queue, out);
            }
        }
    }
}
