//! Messages whose bodies are lost: what rested on this member's disk for this process only came back
//! damaged.

use super::refuse;
use crate::broker::core::Core;
use crate::broker::effect::Out;
use crate::broker::ids::{ConnectionKey, QueueRef, SessionId};
use crate::wire::{CommandId, ErrorCode, SequenceSet};

impl Core {
    /// A delivery cannot be sent. Its message leaves its queue, so that nobody waits for it again, and
    /// the session fails: the delivery has its number, and none that comes after it may be sent
    /// without it.
    pub(in crate::broker) fn lose(
        &mut self,
        id: SessionId,
        delivery: CommandId,
        text: &str,
        out: &mut Out,
    ) {
        if let Some((count, queue, position)) = self.open_delivery(id, delivery) {
            self.settle(id, count);
            self.dequeue(queue, position);
        }
        let refusal = refuse(ErrorCode::INTERNAL_ERROR, text);
        self.fail_session(id, CommandId(0), refusal, out);
    }

    /// The count, queue and position of a delivery of which something can still come.
    fn open_delivery(&self, id: SessionId, delivery: CommandId) -> Option<(u64, QueueRef, u64)> {
        let session = self.sessions.get(id.0)?;
        let ranges = session.unsettled_ranges(&SequenceSet::of(delivery));
        let (count, _) = *ranges.first()?;
        let found = session.unsettled.get(count)?;
        Some((count, found.queue, found.position))
    }

    /// The queue of a delivery and the message's position there, as text for a log. None when nothing
    /// can come of the delivery any more.
    pub fn whence(&self, key: ConnectionKey, channel: u16, delivery: CommandId) -> Option<String> {
        let connection = self.connections.get(self.connections.id(key)?)?;
        let session = *connection.channels.get(&channel)?;
        let (_, queue, position) = self.open_delivery(session, delivery)?;
        let found = self.queues.get(queue.id.0);
        let found = found.filter(|found| found.reference == queue)?;
        Some(format!("queue {}, message {position}", found.name))
    }
}
