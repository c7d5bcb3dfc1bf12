//! Queue-state replication: events of what happens in queues are made and go where they are wanted, and
//! events that come from another broker are applied.

use std::sync::Arc;

use super::refuse;
use crate::broker::command::Refusal;
use crate::broker::core::Core;
use crate::broker::effect::Out;
use crate::broker::exchange::Kind;
use crate::broker::exchanges::Exchange;
use crate::broker::ids::{ConnectionKey, ExchangeId, GroupTime, QueueId, SessionId};
use crate::broker::limits;
use crate::broker::message::Stored;
use crate::broker::plant::{Plant, is_planted};
use crate::broker::queue::EntryState;
use crate::broker::replication::{Change, Event, EventsTo, Generation, ReplicationCounters, Told};
use crate::wire::{ErrorCode, QueueDeclare, Text};

/// Why an event is not applied.
enum Drop {
    /// It is none.
    Strange,
    /// It has been before.
    Repeated,
    /// Its queue is not there.
    Missing,
    /// Its position has been passed.
    Ahead,
    /// Its message is not there, or acquired.
    Absent,
}

impl Drop {
    fn counted(self, counters: &mut ReplicationCounters) -> &mut u64 {
        match self {
            Drop::Strange => &mut counters.strange,
            Drop::Repeated => &mut counters.repeated,
            Drop::Missing => &mut counters.missing,
            Drop::Ahead => &mut counters.ahead,
            Drop::Absent => &mut counters.absent,
        }
    }
}

// The source.

impl Core {
    /// Makes the queue or the exchange that events go to, where it is to be made and is not there. What
    /// is refused, since there are too many, is found missing when the first event comes. A queue that is
    /// there and had another use keeps events in order from now on.
    pub(in crate::broker) fn make_ways_of_events(&mut self) {
        let there = self.queue_names.get(&self.options.events_to.queue);
        if let Some(queue) = there.and_then(|id| self.queues.get_mut(id.0)) {
            let group = self.options.of_queues.message_group.clone();
            queue.keep_in_order(group, &mut self.held);
        }
        let EventsTo {
            queue,
            makes_queue,
            exchange,
            exchange_type,
        } = self.options.events_to.clone();
        if exchange.is_empty() {
            if makes_queue && !queue.is_empty() && !self.queue_names.contains_key(&queue) {
                let declare = QueueDeclare {
                    queue,
                    ..QueueDeclare::default()
                };
                let _ = self.make_queue(&declare, None);
            }
        } else if !self.exchange_names.contains_key(&exchange)
            && self.see_room_for_exchanges(1).is_ok()
            && let Some(kind) = Kind::of_type(&exchange_type)
        {
            let mut made = Exchange::new(exchange, kind);
            made.created = self.time;
            self.add_exchange(made);
        }
    }

    /// Makes an event of everything that has happened in queues that give events of it, in that order.
    pub(super) fn tell_changes(&mut self, out: &mut Out) {
        for change in self.scratch.facts.take_changes() {
            let octets = change.bytes() / limits::REROUTED_BYTES_PER_STEP;
            let steps = u32::try_from(octets).unwrap_or(u32::MAX).saturating_add(1);
            self.scratch.steps = self.scratch.steps.saturating_sub(steps);
            let is_told = match self.options.events_to.exchange.is_empty() {
                true => self.tell_by_queue(&change, out),
                false => self.tell_by_exchange(&change, out),
            };
            let counters = &mut self.replication.counters;
            match is_told {
                true => counters.told += 1,
                false => {
                    counters.lost += 1;
                    self.replication.trouble = change.name;
                }
            }
        }
    }

    /// An event goes into its queue, and says which it is there. False when it is lost.
    fn tell_by_queue(&mut self, change: &Change, out: &mut Out) -> bool {
        let events_to = &self.options.events_to.queue;
        let Some(id) = self.queue_names.get(events_to).copied() else {
            return false;
        };
        let number = self.queue(id).entries.tail();
        let Some(mut event) = self.stored_event(change, Some(number)) else {
            return false;
        };
        if self.admits(id, &event, out) != Ok(true) {
            return false;
        }
        let Some(queue) = self.queues.get_mut(id.0) else {
            return false;
        };
        // A backup goes by the number.
        queue.keeps_positions = true;
        let tail = queue.entries.tail();
        if tail != number {
            // What made room for it has come to it again, as its own dead letter.
            let Some(renumbered) = self.stored_event(change, Some(tail)) else {
                return false;
            };
            event = renumbered;
        }
        // A message's time is counted where it is, and an event is none of it.
        self.append(id, event, GroupTime::NEVER, None);
        self.dispatch(id, out);
        true
    }

    /// An event goes through its exchange. False when it is lost, for one queue at least.
    fn tell_by_exchange(&mut self, change: &Change, out: &mut Out) -> bool {
        let events_to = &self.options.events_to.exchange;
        let Some(exchange) = self.exchange_names.get(events_to).copied() else {
            return false;
        };
        let Some(mut event) = self.stored_event(change, None) else {
            return false;
        };
        let mut matched = std::mem::take(&mut self.scratch.matched);
        let never = Some(GroupTime::NEVER);
        self.route(exchange, &mut event, never, &mut matched);
        let mut is_told = !matched.is_empty();
        for id in matched.drain(..) {
            if self.queues.get(id.0).is_none() {
                continue;
            }
            match self.admits(id, &event, out) {
                Ok(true) => {
                    self.append(id, event.clone(), GroupTime::NEVER, None);
                    self.dispatch(id, out);
                }
                // Kept out by a rule of the queue.
                Ok(false) => {}
                Err(_) => is_told = false,
            }
        }
        self.scratch.matched = matched;
        is_told
    }

    /// An event is a message of its own, whoever published what it tells: over a link it is known as
    /// itself.
    fn stored_event(&mut self, change: &Change, number: Option<u64>) -> Option<Stored> {
        let number = match number {
            Some(number) if is_planted(Plant::EventsNumberedAnew) => Some(number % 3),
            number => number,
        };
        let message = Arc::new(change.event(number)?);
        Some(Stored {
            handle: self.new_handle(),
            publisher: ConnectionKey::NOWHERE,
            message,
        })
    }

    /// Octets of events that follow when a message comes to these queues.
    pub(super) fn event_bytes(&self, message_bytes: u64, matched: &[QueueId]) -> u64 {
        if !self.options.events_to.is_anywhere() {
            return 0;
        }
        let gives_events = |id: &&QueueId| {
            let queue = self.queues.get(id.0);
            queue.is_some_and(|queue| queue.generation != Generation::None)
        };
        let count = matched.iter().filter(gives_events).count() as u64;
        count.saturating_mul(message_bytes)
    }

    /// # Errors
    /// Events of a message that comes to these queues would be more than a broker can hold.
    pub(super) fn see_room_for_events(
        &self,
        message_bytes: u64,
        matched: &[QueueId],
    ) -> Result<(), Refusal> {
        if self.event_bytes(message_bytes, matched) > limits::EVENTS_BYTES_MAX {
            let text = "events of what is published are more than a broker can hold";
            return Err(refuse(ErrorCode::RESOURCE_LIMIT_EXCEEDED, text));
        }
        Ok(())
    }
}

// The backup.

impl Core {
    /// Whether what is published to an exchange are events to be applied.
    #[inline]
    pub(super) fn applies_events(&self, exchange: ExchangeId) -> bool {
        let found = self.exchanges.get(exchange.0);
        found.is_some_and(|exchange| exchange.applied.is_some())
    }

    /// What is published to an exchange that applies events. As in qpidd what cannot be applied is
    /// dropped, and counted: whoever published it cannot help it.
    ///
    /// # Errors
    /// It is an event that nobody knows, or its queue is full: then it has not come, and is applied when
    /// it comes again. In a transaction there are none, since what they are is decided as they come.
    pub(super) fn apply_event(
        &mut self,
        session: SessionId,
        exchange: ExchangeId,
        stored: Stored,
        out: &mut Out,
    ) -> Result<(), Refusal> {
        if self.session(session).transaction.is_some()
            || self.branches.associated(session).is_some()
        {
            let text = "Replication exchange does not support transactions";
            return Err(refuse(ErrorCode::NOT_IMPLEMENTED, text));
        }
        let bytes = stored.message.size();
        let headers = stored.message.application_headers();
        let event = headers.as_ref().map_or(Ok(None), Event::of);
        let event = event.map_err(|text| refuse(ErrorCode::ILLEGAL_ARGUMENT, text))?;
        let name = self.exchange_mut(exchange).name.clone();
        let (about, applied) = match event {
            None => (name, Err(Drop::Strange)),
            Some(event) => {
                let applied = match self.has_had(exchange, &event) {
                    true => Err(Drop::Repeated),
                    false => self.apply_new(&event, stored, out)?,
                };
                if !matches!(applied, Err(Drop::Repeated)) {
                    self.note_event(exchange, event.number);
                }
                (event.queue, applied)
            }
        };
        self.count_event(exchange, bytes, about, applied);
        Ok(())
    }

    fn has_had(&mut self, exchange: ExchangeId, event: &Event) -> bool {
        let applied = self.exchange_mut(exchange).applied;
        let (Some(applied), Some(number)) = (applied, event.number) else {
            return false;
        };
        applied.has_had(number)
    }

    fn note_event(&mut self, exchange: ExchangeId, number: Option<u64>) {
        let applied = self.exchange_mut(exchange).applied.as_mut();
        let (Some(applied), Some(number)) = (applied, number) else {
            return;
        };
        let misses = applied.misses_before(number);
        applied.note(number);
        self.replication.counters.gaps += u64::from(misses);
        self.scratch.numbering.insert(exchange);
    }

    fn count_event(
        &mut self,
        exchange: ExchangeId,
        bytes: u64,
        about: Text,
        applied: Result<(), Drop>,
    ) {
        let of_exchange = &mut self.exchange_mut(exchange).counters;
        of_exchange.receives += 1;
        of_exchange.bytes_received += bytes;
        match applied {
            Ok(()) => {
                of_exchange.routes += 1;
                of_exchange.bytes_routed += bytes;
                self.replication.counters.applied += 1;
            }
            Err(dropped) => {
                of_exchange.drops += 1;
                of_exchange.bytes_dropped += bytes;
                if !matches!(dropped, Drop::Repeated) {
                    self.replication.trouble = about;
                }
                *dropped.counted(&mut self.replication.counters) += 1;
            }
        }
    }

    /// Applies an event that has not been before.
    ///
    /// # Errors
    /// Its queue is full.
    fn apply_new(
        &mut self,
        event: &Event,
        stored: Stored,
        out: &mut Out,
    ) -> Result<Result<(), Drop>, Refusal> {
        let Some(id) = self.queue_names.get(&event.queue).copied() else {
            return Ok(Err(Drop::Missing));
        };
        match event.what {
            Told::Came(position) => self.apply_came(id, position, stored, out),
            Told::Left(position) => {
                let queue = self.queue(id);
                let entry = queue.entries.get(position);
                let is_there = entry.is_some_and(|entry| entry.state == EntryState::Available);
                let reference = queue.reference;
                let has_left = is_there && self.dequeue(reference, position);
                Ok(has_left.then_some(()).ok_or(Drop::Absent))
            }
        }
    }

    /// A message comes to the position that it had, unless its queue has passed it.
    fn apply_came(
        &mut self,
        id: QueueId,
        position: u64,
        event: Stored,
        out: &mut Out,
    ) -> Result<Result<(), Drop>, Refusal> {
        let has_passed = |core: &Core| {
            let queue = core.queues.get(id.0);
            queue.is_none_or(|queue| queue.entries.tail() > position)
        };
        if has_passed(self) && !is_planted(Plant::EventsAppliedAgain) {
            return Ok(Err(Drop::Ahead));
        }
        let Some(message) = Event::without(&event.message) else {
            let text = "a replicated message has more headers than a message can have";
            return Err(refuse(ErrorCode::RESOURCE_LIMIT_EXCEEDED, text));
        };
        let stored = Stored {
            message: Arc::new(message),
            ..event
        };
        let admitted = self.admits(id, &stored, out);
        let is_admitted =
            admitted.map_err(|text| refuse(ErrorCode::RESOURCE_LIMIT_EXCEEDED, text))?;
        // A rule of the queue keeps it out, which is what becomes of it there, too; or the queue is gone.
        if !is_admitted {
            return Ok(Ok(()));
        }
        // What made room may have come to the queue again.
        if has_passed(self) && !is_planted(Plant::EventsAppliedAgain) {
            return Ok(Err(Drop::Ahead));
        }
        let queue = self.queue_mut(id);
        if !is_planted(Plant::PositionsOfCopyOwn) {
            queue.go_on_at(position.max(queue.entries.tail()));
        }
        let expires = self.expiry(&stored.message);
        let transfer = self.scratch.transfer;
        self.scratch.facts.give_positions(true);
        self.append(id, stored, expires, transfer);
        self.scratch.facts.give_positions(false);
        self.dispatch(id, out);
        Ok(Ok(()))
    }
}
