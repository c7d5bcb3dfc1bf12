//! What each command does to the core.

mod admission;
mod aftermath;
mod dead_letter;
mod dispatch;
mod dtx;
mod exchange;
mod failover;
mod guarded;
mod happened;
mod import;
mod level;
mod links;
mod lost;
mod management;
mod message;
mod publish;
mod queue;
pub(in crate::broker) mod redirect;
mod replication;
mod resume;
mod session;
mod take;
mod transaction;
mod unroutable;
mod work;
mod xml;

use super::command::Refusal;
use super::core::Core;
use super::exchanges::Exchange;
use super::ids::{ExchangeId, QueueId, QueueRef, SessionId};
use super::queue::Queue;
use super::session::Session;
use crate::wire::ErrorCode;

/// A refusal whose class and command are filled in where the command is known. The text begins
/// with the code's name, as qpidd's does.
fn refuse(code: ErrorCode, text: impl std::fmt::Display) -> Refusal {
    let name = match code {
        ErrorCode::UNAUTHORIZED_ACCESS => "unauthorized-access",
        ErrorCode::NOT_FOUND => "not-found",
        ErrorCode::RESOURCE_LOCKED => "resource-locked",
        ErrorCode::PRECONDITION_FAILED => "precondition-failed",
        ErrorCode::RESOURCE_DELETED => "resource-deleted",
        ErrorCode::ILLEGAL_STATE => "illegal-state",
        ErrorCode::COMMAND_INVALID => "command-invalid",
        ErrorCode::RESOURCE_LIMIT_EXCEEDED => "resource-limit-exceeded",
        ErrorCode::NOT_ALLOWED => "not-allowed",
        ErrorCode::ILLEGAL_ARGUMENT => "illegal-argument",
        ErrorCode::NOT_IMPLEMENTED => "not-implemented",
        ErrorCode::INVALID_ARGUMENT => "invalid-argument",
        _ => "internal-error",
    };
    Refusal {
        code,
        class: 0,
        command: 0,
        text: format!("{name}: {text}"),
    }
}

impl Core {
    pub(super) fn session(&self, id: SessionId) -> &Session {
        self.sessions
            .get(id.0)
            .expect("a session's id is dropped with it")
    }

    pub(super) fn session_mut(&mut self, id: SessionId) -> &mut Session {
        self.sessions
            .get_mut(id.0)
            .expect("a session's id is dropped with it")
    }

    pub(super) fn queue(&self, id: QueueId) -> &Queue {
        self.queues
            .get(id.0)
            .expect("bindings and subscriptions go with their queue")
    }

    pub(super) fn queue_mut(&mut self, id: QueueId) -> &mut Queue {
        self.queues
            .get_mut(id.0)
            .expect("bindings and subscriptions go with their queue")
    }

    /// A queue that may have been deleted meanwhile.
    pub(super) fn live_queue(&mut self, queue: QueueRef) -> Option<&mut Queue> {
        self.queues
            .get_mut(queue.id.0)
            .filter(|found| found.reference == queue)
    }

    /// Takes a message out of a queue for good. False when either is gone.
    fn dequeue(&mut self, queue: QueueRef, position: u64) -> bool {
        let found = self.queues.get_mut(queue.id.0);
        found
            .filter(|found| found.reference == queue)
            .is_some_and(|found| found.dequeue(position, &mut self.held, &mut self.scratch.facts))
    }

    /// The same, by a transaction.
    fn dequeue_committed(&mut self, queue: QueueRef, position: u64) {
        if let Some(found) = self.live_queue(queue)
            && let Some(entry) = found.entries.get(position)
        {
            let bytes = entry.stored.message.size();
            found.counters.transaction_dequeues += 1;
            found.counters.transaction_bytes_dequeued += bytes;
        }
        self.dequeue(queue, position);
    }

    pub(super) fn exchange_mut(&mut self, id: ExchangeId) -> &mut Exchange {
        self.exchanges
            .get_mut(id.0)
            .expect("an exchange in use as alternate is not deleted")
    }

    fn queue_named(&self, name: &str) -> Result<QueueId, Refusal> {
        let found = self.queue_names.get(name).copied();
        found.ok_or_else(|| {
            refuse(
                ErrorCode::NOT_FOUND,
                format_args!("Queue not found: {name}"),
            )
        })
    }

    fn exchange_named(&self, name: &str) -> Result<ExchangeId, Refusal> {
        let found = self.exchange_names.get(name).copied();
        let text = format_args!("Exchange not found: {name}");
        found.ok_or_else(|| refuse(ErrorCode::NOT_FOUND, text))
    }
}
