//! Which messages can do without their bodies in memory. Nothing here changes what counts as state.

use std::sync::Arc;

use super::core::{Core, Work};
use super::held;
use super::ids::QueueRef;
use super::limits;
use super::message::Message;
use super::queue::{Entry, Queue};

/// Where a walk over all queues goes on: a queue's slot and a position in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    slot: u32,
    position: u64,
}

/// A message whose body is in memory and may leave it.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The queue.
    pub queue: QueueRef,
    /// The position in it.
    pub position: u64,
    /// The message.
    pub message: Arc<Message>,
}

impl Core {
    /// Octets of this member's memory that messages take: see [`held`].
    pub fn held_bytes(&self) -> u64 {
        self.held.bytes()
    }

    /// Looks at `most` of the messages that have come since they were last looked at, and appends to
    /// `found` those that may leave the memory. True when there are no more of these.
    ///
    /// Costs a step for each message and each queue to which some have come, and nothing for others.
    pub fn page_new(&mut self, most: u32, found: &mut Vec<Candidate>) -> bool {
        let mut steps = most;
        while steps > 0 {
            let Some(slot) = self.held.first_listed() else {
                return true;
            };
            let Some(queue) = self.queues.get_mut(slot) else {
                self.held.unlist(slot);
                steps -= 1;
                continue;
            };
            let from = queue.looked.until.max(front(queue).1);
            match queue.entries.find(from, &mut steps, may_leave) {
                Ok(Some(position)) => {
                    queue.looked.until = position + 1;
                    found.extend(candidate(queue, position));
                }
                Ok(None) => {
                    queue.looked.until = queue.entries.tail();
                    queue.looked.is_listed = false;
                    self.held.unlist(slot);
                    steps = steps.saturating_sub(1);
                }
                Err(position) => queue.looked.until = position,
            }
        }
        false
    }

    /// Looks at `most` messages from `cursor` on, and appends to `found` those that may leave the
    /// memory: also those that were passed over before, since they were at the front, or could not.
    /// True when all have been looked at; the walk begins anew then.
    ///
    /// Costs a step for each message and each queue looked at.
    pub fn page_any(&self, cursor: &mut Cursor, most: u32, found: &mut Vec<Candidate>) -> bool {
        self.walk(cursor, most, may_leave, |queue, position| {
            let (first, behind) = front(queue);
            match position < first || position >= behind {
                true => {
                    found.extend(candidate(queue, position));
                    position + 1
                }
                false => behind,
            }
        })
    }

    /// Looks at `most` messages from `cursor` on, and appends to `found` those that are at home in a
    /// part of the pages for which `is_wanted` holds. True when all have been looked at; the walk
    /// begins anew then.
    ///
    /// Costs a step for each message and each queue looked at.
    pub fn paged_in(
        &self,
        cursor: &mut Cursor,
        most: u32,
        is_wanted: impl Fn(u64) -> bool,
        found: &mut Vec<Arc<Message>>,
    ) -> bool {
        let is_there = |entry: &Entry| entry.stored.message.page().is_some_and(&is_wanted);
        self.walk(cursor, most, is_there, |queue, position| {
            let entry = queue.entries.get(position);
            found.extend(entry.map(|entry| entry.stored.message.clone()));
            position + 1
        })
    }

    /// Goes through the messages of all queues and calls `each` for those that are wanted; it gives
    /// where to go on in the queue.
    fn walk(
        &self,
        cursor: &mut Cursor,
        most: u32,
        is_wanted: impl Fn(&Entry) -> bool,
        mut each: impl FnMut(&Queue, u64) -> u64,
    ) -> bool {
        let mut steps = most;
        while let Some((slot, queue)) = self.queues.next_from(cursor.slot) {
            if slot != cursor.slot {
                *cursor = Cursor { slot, position: 0 };
            }
            match queue.entries.find(cursor.position, &mut steps, &is_wanted) {
                Ok(Some(position)) => cursor.position = each(queue, position),
                Ok(None) => {
                    *cursor = Cursor {
                        slot: slot + 1,
                        position: 0,
                    };
                    steps = steps.saturating_sub(1);
                }
                Err(position) => cursor.position = position,
            }
            if steps == 0 {
                return false;
            }
        }
        *cursor = Cursor::default();
        true
    }

    /// Lets an equal message take the place of one: with its body elsewhere, say.
    pub fn replace_message(&mut self, queue: QueueRef, position: u64, message: &Arc<Message>) {
        let found = self.queues.get_mut(queue.id.0);
        let found = found.filter(|found| found.reference == queue);
        if let Some(entry) = found.and_then(|queue| queue.entries.get_mut(position)) {
            self.held.come(message);
            self.held.leave(&entry.stored.message);
            entry.stored.message = message.clone();
        }
    }

    /// Counts what messages take of the memory, which a decoded core does not know.
    pub(super) fn hold_anew(&mut self) {
        self.held = held::Held::default();
        for (_, queue) in self.queues.iter() {
            for (_, entry) in queue.entries.iter() {
                self.held.come(&entry.stored.message);
            }
        }
        let slots: Vec<u32> = self.queues.iter().map(|(slot, _)| slot).collect();
        for slot in slots {
            if let Some(queue) = self.queues.get_mut(slot) {
                queue.count_index_anew(&mut self.held);
            }
        }
        for (_, exchange) in self.exchanges.iter() {
            let last = exchange
                .routed
                .as_ref()
                .and_then(|routed| routed.last.as_ref());
            if let Some(last) = last {
                self.held.come(&last.stored.message);
            }
        }
        let sessions = self.sessions.iter();
        let local = sessions.filter_map(|(_, session)| session.transaction.as_ref());
        let local = local.flat_map(|transaction| &transaction.publishes);
        for publish in local.chain(self.branches.publishes()) {
            self.held.come_to_transaction(publish);
        }
        for work in &self.work {
            if let Work::Reroute(remains) = work {
                for (_, entry) in remains.entries.iter() {
                    self.held.come(&entry.stored.message);
                }
            }
        }
    }
}

fn may_leave(entry: &Entry) -> bool {
    held::is_worth_paging(&entry.stored.message)
}

fn candidate(queue: &Queue, position: u64) -> Option<Candidate> {
    Some(Candidate {
        queue: queue.reference,
        position,
        message: queue.entries.get(position)?.stored.message.clone(),
    })
}

/// Messages from the first of these positions to before the second are wanted next: some, but never
/// more than half of what is there.
fn front(queue: &Queue) -> (u64, u64) {
    let front = limits::PAGED_BEHIND.min(queue.available / 2);
    (queue.hint, queue.hint.saturating_add(front))
}
