//! Messages that die in a queue go to its alternate exchange: one way for all reasons.
//!
//! A message leaves its queue in one step and comes to its new places in another, since what it
//! meets there may make others die. Between the two it is work of the core. A durable one stands in
//! facts at its old place until the batch that says its new ones: it is never at neither.

use std::sync::Arc;

use crate::broker::blocks::Blocks;
use crate::broker::core::{Core, Work};
use crate::broker::dead::{Death, Reason, preserved};
use crate::broker::effect::Out;
use crate::broker::ids::{ExchangeId, GroupTime, QueueId, QueueRef};
use crate::broker::message::{BodyHandle, Stored};
use crate::broker::queue::{Entry, Queue, Remains};

impl Core {
    /// Lets a message die: it leaves its queue, and goes to the alternate exchange if there is one and
    /// the queue's arguments want that of the reason, or the message itself does ([`preserved`]). False
    /// when it is not there.
    ///
    /// Where it goes is seen to as work: now, when the caller lets work be done
    /// ([`Core::run_work`]), or in the next `Continue` entry.
    pub(super) fn die(&mut self, queue: QueueRef, position: u64, reason: Reason) -> bool {
        let Some(found) = self.live_queue(queue) else {
            return false;
        };
        let Some(entry) = found.entries.get(position) else {
            return false;
        };
        let has_alternate = found.alternate.is_some();
        // Without an alternate exchange there is nothing to ask the message for.
        let says = match has_alternate {
            true => preserved(&entry.stored.message),
            false => None,
        };
        let goes_on = has_alternate && says.unwrap_or(found.dead_letters.takes(reason));
        match reason {
            Reason::Expired => found.counters.discards_ttl += 1,
            Reason::Oldest | Reason::LowPriority => found.counters.discards_ring += 1,
            Reason::Replaced => found.counters.discards_last_value += 1,
            // As in qpidd, wherever the message goes.
            Reason::Rejected | Reason::OverDelivered => found.counters.discards_subscriber += 1,
        }
        if !goes_on {
            return self.dequeue(queue, position);
        }
        let death = self.death(queue.id, reason);
        let Some(entry) = self.take_dead(queue, position, reason, death.as_ref()) else {
            return false;
        };
        self.reroute_with_others(queue, position, entry, death);
        true
    }

    /// What the copies of messages that die now are to say; None when they say nothing.
    pub(super) fn death(&self, queue: QueueId, reason: Reason) -> Option<Death> {
        let queue = self.queues.get(queue.0)?;
        let deliveries = match reason {
            Reason::OverDelivered => queue.dead_letters.deliveries_max,
            _ => 0,
        };
        queue.dead_letters.marks(reason).then(|| Death {
            reason,
            queue: queue.name.clone(),
            time: self.time,
            deliveries,
        })
    }

    /// Takes a message out of a queue that has an alternate exchange, to go there.
    pub(super) fn take_dead(
        &mut self,
        queue: QueueRef,
        position: u64,
        reason: Reason,
        death: Option<&Death>,
    ) -> Option<Entry> {
        let found = self.queues.get_mut(queue.id.0);
        let found = found.filter(|found| found.reference == queue)?;
        let alternate = self.exchanges.get(found.alternate?.0);
        let is_durable = alternate.is_some_and(|exchange| exchange.is_durable);
        let entry = found.leave(
            position,
            is_durable,
            death,
            (&mut self.held, &mut self.scratch.facts),
        )?;
        found.counters.reroutes += 1;
        found.counters.dead.count(reason);
        self.counters.dead.count(reason);
        Some(entry)
    }

    /// What is to be rerouted of a queue.
    pub(super) fn remains(
        &self,
        queue: &Queue,
        entries: Blocks<Entry>,
        death: Option<Death>,
    ) -> Remains {
        let is_durable = queue.is_durable && self.durable_name(queue.alternate).is_some();
        Remains {
            entries,
            alternate: queue.alternate,
            queue: is_durable.then_some(queue.reference),
            death: death.map(Box::new),
            told_of: None,
        }
    }

    /// Lets a message that died be rerouted behind those that died before it: together with them, if
    /// they died alike and stood in front of it.
    fn reroute_with_others(
        &mut self,
        queue: QueueRef,
        position: u64,
        entry: Entry,
        death: Option<Death>,
    ) {
        let mut entries = Blocks::default();
        let remains = self.remains(self.queue(queue.id), Blocks::default(), death);
        if let Some(Work::Reroute(last)) = self.work.back_mut()
            && remains.death.is_some()
            && last.death == remains.death
            && (last.alternate, last.queue) == (remains.alternate, remains.queue)
            && last.entries.tail() <= position
        {
            last.entries.push_at(position, entry);
            return;
        }
        entries.push_at(position, entry);
        self.reroute_later(Remains { entries, ..remains });
    }

    /// Reroutes the copy of a message that died. It does not go to a queue in which it has died by
    /// itself before, unless a client has rejected it since.
    pub(super) fn reroute_dead(
        &mut self,
        exchange: ExchangeId,
        entry: &Entry,
        death: &Death,
        out: &mut Out,
    ) {
        let stored = &entry.stored;
        let headers = stored.message.application_headers();
        let path = death.path(headers.as_ref());
        let mut headers = headers.unwrap_or_default();
        death.mark(
            &mut headers,
            self.agents.wall(death.time),
            entry.deliveries,
            path.as_deref().unwrap_or_default(),
        );
        let message = stored.message.remade(headers, false);
        let (Some(path), Some(message)) = (path, message) else {
            self.counters.discards_dead += 1;
            return;
        };
        let copy = Entry {
            stored: Stored {
                handle: self.new_handle(),
                publisher: stored.publisher,
                message: Arc::new(message),
            },
            expires: GroupTime::NEVER,
            state: entry.state,
            redelivered: false,
            deliveries: 0,
        };
        self.reroute(exchange, &copy, &path, out);
    }

    /// The handle of a message that the core itself makes in this entry.
    pub(super) fn new_handle(&mut self) -> BodyHandle {
        let n = FIRST_MADE.saturating_add(self.scratch.made);
        self.scratch.made += 1;
        BodyHandle {
            shard: self.shard,
            index: self.index,
            n,
        }
    }
}

/// Messages that the core makes are numbered from here on in their entry: the commands of an entry
/// have the numbers before.
const FIRST_MADE: u32 = 1 << 31;
