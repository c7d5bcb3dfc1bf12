//! Messages that management takes out of a queue: purged, moved to another queue, or routed anew.

use std::sync::Arc;

use super::management::tell_outcome;
use super::refuse;
use crate::broker::command::Refusal;
use crate::broker::core::{Core, Work};
use crate::broker::dead::TRACE;
use crate::broker::effect::Out;
use crate::broker::ids::{ConnectionKey, ExchangeId, QueueId, QueueRef};
use crate::broker::limits;
use crate::broker::management::{Destination, Take, Taken, Taking};
use crate::broker::message::Stored;
use crate::broker::queue::{Entry, EntryState};
use crate::wire::{ErrorCode, Text, Value};

impl Core {
    /// Begins to take messages. Those that are there now are looked at, not what comes later. None: the
    /// agent is told when it is done.
    pub(super) fn take(
        &mut self,
        agent: ConnectionKey,
        number: u64,
        take: Take,
        out: &mut Out,
    ) -> Result<Option<u64>, Refusal> {
        if let Destination::AlternateIf(guard) = &take.to {
            self.check_rerouting(agent, &take.queue, guard, out)?;
        }
        let id = self.queue_named(&take.queue)?;
        let (source, alternate) = (self.queue(id).reference, self.queue(id).alternate);
        let to = match &take.to {
            Destination::Nowhere if take.count == 0 && take.filter.is_none() => {
                return Ok(Some(self.purge(id, out)));
            }
            Destination::Nowhere => Taken::Nowhere,
            Destination::Queue(name) => {
                let target = self.queue_named(name)?;
                Taken::Queue(self.queue(target).reference)
            }
            Destination::Exchange(name) => Taken::Exchange(self.alternate_named(name)?),
            Destination::Alternate | Destination::AlternateIf(_) => {
                Taken::Exchange(alternate.ok_or_else(|| {
                    let text = format_args!("Queue {} has no alternate exchange", take.queue);
                    refuse(ErrorCode::PRECONDITION_FAILED, text)
                })?)
            }
        };
        if to == Taken::Queue(source) {
            let text = format_args!("Cannot move messages of {} to itself", take.queue);
            return Err(refuse(ErrorCode::INVALID_ARGUMENT, text));
        }
        if let Taken::Exchange(exchange) = to {
            self.exchange_mut(exchange).alternate_users += 1;
        }
        let entries = &self.queue(id).entries;
        let taking = Taking {
            queue: source,
            next: entries.head(),
            end: entries.tail(),
            left: match take.count {
                0 => u64::MAX,
                count => u64::from(count),
            },
            filter: take.filter,
            to,
            taken: 0,
            asker: Some((agent, number)),
        };
        self.work.push_back(Work::Take(Box::new(taking)));
        self.run_work(out);
        Ok(None)
    }

    /// Takes all messages that are there now and that nobody holds, and frees them.
    pub(super) fn take_all(&mut self, id: QueueId, out: &mut Out) {
        let queue = self.queue(id);
        let taking = Taking {
            queue: queue.reference,
            next: queue.entries.head(),
            end: queue.entries.tail(),
            left: u64::MAX,
            filter: None,
            to: Taken::Nowhere,
            taken: 0,
            asker: None,
        };
        self.work.push_back(Work::Take(Box::new(taking)));
        self.run_work(out);
    }

    /// Goes on taking, as far as the entry's work goes. A queue that has no room ends it.
    pub(super) fn take_on(&mut self, mut taking: Box<Taking>, out: &mut Out) -> Option<Work> {
        let mut outcome = Ok(());
        while taking.left > 0 && outcome.is_ok() {
            match self.next_taken(&mut taking) {
                Ok(Some(position)) => {
                    taking.next = position + 1;
                    match self.take_one(&taking, position, out) {
                        Ok(false) => {}
                        Ok(true) => {
                            taking.left -= 1;
                            taking.taken += 1;
                        }
                        Err(refusal) => outcome = Err(refusal),
                    }
                }
                Ok(None) => break,
                Err(()) => return Some(Work::Take(taking)),
            }
        }
        if let Taken::Exchange(exchange) = taking.to {
            self.exchange_mut(exchange).alternate_users -= 1;
        }
        let outcome = outcome.map(|()| taking.taken).map_err(|text| {
            let text = format_args!("{text} ({} messages were moved)", taking.taken);
            refuse(ErrorCode::RESOURCE_LIMIT_EXCEEDED, text)
        });
        if let Some((agent, number)) = taking.asker {
            tell_outcome(agent, number, outcome, out);
            out.rests_on_facts = true;
        }
        None
    }

    /// The next message to be taken. Err: the entry's work is done before it is found.
    fn next_taken(&mut self, taking: &mut Taking) -> Result<Option<u64>, ()> {
        let mut steps = self.scratch.steps;
        let found = loop {
            let Some(queue) = self.live_queue(taking.queue) else {
                break Ok(None);
            };
            let is_there = |entry: &Entry| entry.state == EntryState::Available;
            match queue.entries.find(taking.next, &mut steps, is_there) {
                Ok(Some(position)) if position < taking.end => {
                    let entry = queue.entries.get(position);
                    let message = entry.map(|entry| &entry.stored.message);
                    let filter = taking.filter.as_ref();
                    let is_met = match (filter, message) {
                        (Some(filter), Some(message)) => {
                            let octets = message.header().len() / limits::SELECTED_BYTES_PER_STEP;
                            steps = steps.saturating_sub(octets as u32);
                            filter.is_met_by(message)
                        }
                        _ => true,
                    };
                    if is_met {
                        break Ok(Some(position));
                    }
                    taking.next = position + 1;
                }
                Ok(_) => break Ok(None),
                Err(place) => {
                    taking.next = place;
                    break Err(());
                }
            }
            if steps == 0 {
                break Err(());
            }
        };
        self.scratch.steps = steps;
        found
    }

    /// Takes one message. False when it stays, since a rule of its new queue keeps it out.
    ///
    /// # Errors
    /// The queue that it is to go to is full, or gone.
    fn take_one(&mut self, taking: &Taking, position: u64, out: &mut Out) -> Result<bool, String> {
        let queue = self.live_queue(taking.queue);
        let Some(entry) = queue.and_then(|queue| queue.entries.get(position).cloned()) else {
            return Ok(false);
        };
        self.scratch.steps = self.scratch.steps.saturating_sub(1);
        match taking.to {
            Taken::Nowhere => {
                self.dequeue(taking.queue, position);
            }
            Taken::Exchange(exchange) => {
                let entry = self.without_trace(entry);
                self.route_anew(taking.queue, position, (exchange, &entry), out)?;
            }
            Taken::Queue(target) => {
                if self.live_queue(target).is_none() {
                    return Err("the queue that messages move to is gone".to_owned());
                }
                if !self.admits(target.id, &entry.stored, out)? || self.live_queue(target).is_none()
                {
                    return Ok(false);
                }
                self.dequeue(taking.queue, position);
                self.move_to(target, entry, out);
            }
        }
        if let Some(queue) = self.live_queue(taking.queue) {
            match taking.to {
                Taken::Nowhere => queue.counters.discards_purge += 1,
                Taken::Queue(_) | Taken::Exchange(_) => queue.counters.reroutes += 1,
            }
        }
        Ok(true)
    }

    /// Takes a message out and routes it anew.
    ///
    /// # Errors
    /// A queue that it would go to is full. It stays, as somebody is there to be told; only room in its
    /// own queue is not looked for, which it makes itself.
    fn route_anew(
        &mut self,
        source: QueueRef,
        position: u64,
        (exchange, entry): (ExchangeId, &Entry),
        out: &mut Out,
    ) -> Result<(), String> {
        let mut stored = entry.stored.clone();
        let mut matched = std::mem::take(&mut self.scratch.matched);
        self.route(exchange, &mut stored, Some(entry.expires), &mut matched);
        let mut others = matched.iter().filter(|id| **id != source.id);
        let refused = others.find_map(|id| self.refuses(*id, &stored));
        if refused.is_none() {
            self.dequeue(source, position);
            self.spread(&stored, entry, &matched, out);
        }
        matched.clear();
        self.scratch.matched = matched;
        refused.map_or(Ok(()), Err)
    }

    /// A message that is routed anew may go by links that it came by: its trace is emptied, as qpidd
    /// does.
    fn without_trace(&mut self, mut entry: Entry) -> Entry {
        if entry.stored.publisher == ConnectionKey::LINK {
            // It is another message from now on.
            entry.stored.publisher = ConnectionKey::NOWHERE;
            entry.stored.handle = self.new_handle();
        }
        let message = &entry.stored.message;
        let headers = message.application_headers();
        let Some(mut headers) = headers.filter(|headers| headers.contains(TRACE)) else {
            return entry;
        };
        headers.insert(TRACE, Value::Str16(Text::default()));
        let Some(message) = message.remade(headers, true) else {
            return entry;
        };
        Entry {
            stored: Stored {
                handle: self.new_handle(),
                publisher: entry.stored.publisher,
                message: Arc::new(message),
            },
            ..entry
        }
    }

    /// Puts a message that was taken out of a queue into another, which takes it.
    fn move_to(&mut self, target: QueueRef, entry: Entry, out: &mut Out) {
        let octets = entry.stored.message.size() / limits::REROUTED_BYTES_PER_STEP;
        let octets = u32::try_from(octets).unwrap_or(u32::MAX);
        self.scratch.steps = self.scratch.steps.saturating_sub(octets);
        self.append(target.id, entry.stored, entry.expires, None);
        if entry.redelivered {
            self.queue_mut(target.id).flag_last();
        }
        self.dispatch(target.id, out);
    }
}
