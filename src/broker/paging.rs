//! Which messages can do without their bodies in memory. Nothing here changes what counts as state.

use std::sync::Arc;

use super::core::Core;
use super::ids::QueueRef;
use super::limits;
use super::message::Message;
use super::queue::Queue;

/// Where the search for messages to be paged out goes on: a queue's slot and a position in it. It
/// goes round and round.
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
    /// Looks at `most` messages and appends to `found` those that may leave the memory. True when
    /// the search has come to the end of all queues; it begins anew then.
    ///
    /// Costs a step for each message and each queue looked at.
    pub fn page_candidates(
        &self,
        cursor: &mut Cursor,
        most: u32,
        found: &mut Vec<Candidate>,
    ) -> bool {
        let mut steps = most;
        while let Some((slot, queue)) = self.queues.next_from(cursor.slot) {
            if slot != cursor.slot {
                *cursor = Cursor { slot, position: 0 };
            }
            let from = cursor.position.max(behind_the_front(queue));
            let is_in_memory = |entry: &super::queue::Entry| {
                entry
                    .stored
                    .message
                    .body()
                    .is_some_and(|body| !body.is_empty())
            };
            match queue.entries.find(from, &mut steps, is_in_memory) {
                Ok(Some(position)) => {
                    cursor.position = position + 1;
                    if let Some(entry) = queue.entries.get(position) {
                        found.push(Candidate {
                            queue: queue.reference,
                            position,
                            message: entry.stored.message.clone(),
                        });
                    }
                }
                Ok(None) => {
                    *cursor = Cursor {
                        slot: slot + 1,
                        position: 0,
                    };
                    steps = steps.saturating_sub(1);
                }
                Err(position) => {
                    cursor.position = position;
                    return false;
                }
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
            entry.stored.message = message.clone();
        }
    }

    /// Octets of all messages in queues, those that several hold counted for each, and whether their
    /// bodies are in memory or not.
    pub fn queued_bytes(&self) -> u64 {
        self.queues.iter().map(|(_, queue)| queue.bytes).sum()
    }
}

/// Messages before this position are wanted next: some, but never more than half of what is there.
fn behind_the_front(queue: &Queue) -> u64 {
    let front = limits::PAGED_BEHIND.min(queue.available / 2);
    queue.hint.saturating_add(front)
}
