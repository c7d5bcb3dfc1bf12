//! What comes before a message is enqueued: whether the queue takes it, and what makes room for it.

use crate::broker::core::{Core, Work};
use crate::broker::dead::Reason;
use crate::broker::effect::Out;
use crate::broker::ids::{ConnectionKey, QueueId, QueueRef};
use crate::broker::limits;
use crate::broker::message::{Message, Stored};
use crate::broker::queue::kind::Kind;
use crate::broker::queue::policy::Policy;
use crate::broker::queue::{EntryState, Queue};

/// What a full ring comes to.
enum Room {
    /// This message makes room.
    Of(u64),
    /// None does, and the new one is dropped.
    Dropped,
    /// None does, and the new one is refused.
    Refused,
}

impl Core {
    /// Whether a queue takes a message. Err is qpidd's text for one that is full.
    #[inline]
    pub(super) fn admits(
        &mut self,
        id: QueueId,
        stored: &Stored,
        out: &mut Out,
    ) -> Result<bool, String> {
        if self.keeps_out(id, stored) {
            return Ok(false);
        }
        match self.queue(id).is_overfull_with(1, stored.message.size()) {
            false => Ok(true),
            true => self.admits_to_full(id, &stored.message, out),
        }
    }

    /// Whether a queue has nothing to do with a message, which nobody is told of.
    #[inline]
    pub(super) fn keeps_out(&self, id: QueueId, stored: &Stored) -> bool {
        let queue = self.queue(id);
        let is_kept_out = match &queue.rules {
            None => false,
            Some(rules) => !rules.admit(&stored.message),
        };
        is_kept_out || queue.is_no_local && self.is_local(queue, stored.publisher)
    }

    /// Whether what a connection publishes is a queue's own (`no-local`).
    fn is_local(&self, queue: &Queue, publisher: ConnectionKey) -> bool {
        let subscriber = queue
            .exclusive_subscription
            .and_then(|id| Some(self.subscriptions.get(id.0)?.session));
        let sessions = [queue.owner, subscriber];
        sessions
            .into_iter()
            .flatten()
            .filter_map(|id| self.sessions.get(id.0))
            .any(|session| session.connection == publisher)
    }

    /// Why a queue would refuse a message, without a trace of the question.
    pub(super) fn refuses(&self, id: QueueId, stored: &Stored) -> Option<String> {
        let (queue, message) = (self.queue(id), &stored.message);
        let size = message.size();
        if !queue.is_overfull_with(1, size) || self.keeps_out(id, stored) {
            return None;
        }
        let is_refused = match queue.policy {
            Policy::Reject => true,
            Policy::SelfDestruct => false,
            Policy::Ring | Policy::RingStrict => {
                let is_larger = queue.limit.bytes.is_some_and(|max| size > max);
                is_larger || matches!(room_for(queue, message), Room::Refused)
            }
        };
        is_refused.then(|| queue.overflow_text(1, size))
    }

    /// As `admits`, of a queue that would be too full.
    fn admits_to_full(
        &mut self,
        id: QueueId,
        message: &Message,
        out: &mut Out,
    ) -> Result<bool, String> {
        let queue = self.queue_mut(id);
        match queue.policy {
            Policy::Reject => {
                queue.counters.discards_overflow += 1;
                Err(queue.overflow_text(1, message.size()))
            }
            Policy::SelfDestruct => {
                self.remove_queue(id, out);
                Ok(false)
            }
            Policy::Ring | Policy::RingStrict => self.make_room(id, message, out),
        }
    }

    /// Lets messages of a ring make room for a new one, as far as one command goes: a large message
    /// may take the room of very many. Then it comes in at once, and others leave in `Continue`
    /// entries.
    fn make_room(&mut self, id: QueueId, message: &Message, out: &mut Out) -> Result<bool, String> {
        let size = message.size();
        let queue = self.queue_mut(id);
        if let Some(max) = queue.limit.bytes.filter(|max| size > *max) {
            queue.counters.discards_overflow += 1;
            return Err(format!(
                "Message larger than configured maximum depth on {}: size={size}, max-size={max}",
                queue.name
            ));
        }
        let reference = queue.reference;
        let (mut left, mut has_more) = (limits::EVICTED_PER_COMMAND_MAX, false);
        let result = loop {
            let queue = self.queue_mut(id);
            if !queue.is_overfull_with(1, size) {
                break Ok(true);
            }
            if left == 0 {
                has_more = true;
                break Ok(true);
            }
            left -= 1;
            match room_for(queue, message) {
                Room::Of(position) => self.evict(reference, position),
                Room::Dropped => {
                    queue.counters.discards_ring += 1;
                    break Ok(false);
                }
                Room::Refused => {
                    queue.counters.discards_overflow += 1;
                    break Err(queue.overflow_text(1, size));
                }
            }
        };
        if self.queue(id).alternate.is_some() {
            self.run_work(out);
        }
        if has_more {
            // Only when the new message is in does the queue hold too much.
            self.work.push_back(Work::Evict(reference));
        }
        result
    }

    /// Takes a message out of its ring. As in qpidd one that somebody has acquired goes too, and its
    /// accept will find nothing.
    fn evict(&mut self, reference: QueueRef, position: u64) {
        let reason = match self.queue(reference.id).kind {
            Kind::Priority(_) => Reason::LowPriority,
            Kind::Fifo | Kind::LastValue(_) | Kind::Groups(_) => Reason::Oldest,
        };
        self.die(reference, position, reason);
    }

    /// Goes on taking messages out of a ring that holds too many.
    pub(super) fn evict_rest(&mut self, reference: QueueRef) -> Option<Work> {
        let mut unfinished = None;
        while let Some(queue) = self.live_queue(reference)
            && queue.is_overfull_with(0, 0)
            && let Some(position) = oldest(queue)
        {
            if self.scratch.steps == 0 {
                unfinished = Some(Work::Evict(reference));
                break;
            }
            self.scratch.steps -= 1;
            self.evict(reference, position);
        }
        unfinished
    }
}

/// The message that leaves a ring first.
fn oldest(queue: &Queue) -> Option<u64> {
    match &queue.kind {
        Kind::Priority(levels) => levels.lowest(),
        Kind::Fifo | Kind::LastValue(_) | Kind::Groups(_) => queue.entries.next_at(0),
    }
}

/// What makes room for a message in a full ring. Of a queue with priorities only one message is looked
/// at, the first of the lowest level: when that is above the new one, the new one is dropped.
fn room_for(queue: &Queue, message: &Message) -> Room {
    let Some(position) = oldest(queue) else {
        return Room::Dropped;
    };
    let Some(entry) = queue.entries.get(position) else {
        return Room::Dropped;
    };
    let has_priorities = matches!(queue.kind, Kind::Priority(_));
    if has_priorities && entry.stored.message.priority > message.priority {
        return Room::Dropped;
    }
    let is_strict = queue.policy == Policy::RingStrict;
    match is_strict && entry.state == EntryState::Acquired {
        true => Room::Refused,
        false => Room::Of(position),
    }
}
