//! The `tx` class: transactions of one session.

use std::collections::BTreeMap;

use super::refuse;
use crate::broker::command::Refusal;
use crate::broker::core::Core;
use crate::broker::effect::Out;
use crate::broker::ids::{QueueRef, SessionId};
use crate::broker::plant::{Plant, is_planted};
use crate::broker::session::Transaction;
use crate::wire::ErrorCode;

impl Core {
    /// `tx.select`: a transaction starts, if there is none. In a branch it waits for its end.
    pub(super) fn select(&mut self, id: SessionId) {
        let session = self.branches.session_mut(id);
        let association = session.and_then(|session| session.association.as_mut());
        let transaction = match association {
            Some(association) => &mut association.local,
            None => &mut self.session_mut(id).transaction,
        };
        transaction.get_or_insert_default();
    }

    fn take_transaction(&mut self, id: SessionId) -> Result<Transaction, Refusal> {
        if let Some(xid) = self.branches.associated(id) {
            let text = format_args!("Session is associated with xid {xid}");
            return Err(refuse(ErrorCode::ILLEGAL_STATE, text));
        }
        match &mut self.session_mut(id).transaction {
            // A new transaction starts at once.
            Some(transaction) => Ok(std::mem::take(transaction)),
            None => Err(refuse(
                ErrorCode::COMMAND_INVALID,
                "Session has not been selected for use with transactions",
            )),
        }
    }

    /// `tx.commit`: all of it in this entry, or, when a queue would be too full, nothing: then the
    /// session fails with 541 and everything is rolled back.
    pub(super) fn commit(&mut self, id: SessionId, out: &mut Out) -> Result<(), Refusal> {
        let transaction = self.take_transaction(id)?;
        let overflow = self.commit_overflow(id, &transaction);
        if let Some(text) = overflow {
            self.undo_accepts(id, &transaction);
            let text = format_args!("Commit failed: {text}");
            return Err(refuse(ErrorCode::INTERNAL_ERROR, text));
        }
        for (first, last) in self.session(id).unsettled_ranges(&transaction.accepts) {
            for count in first..=last {
                if let Some(settled) = self.settle(id, count) {
                    self.dequeue(settled.queue, settled.position);
                }
            }
        }
        for publish in transaction.publishes {
            self.enqueue_committed(publish, out);
            if is_planted(Plant::HalfCommitted) {
                break;
            }
        }
        self.wake_starved(id, out);
        Ok(())
    }

    /// Why the publishes of a transaction do not fit, when they do not. What it accepts makes no
    /// room: the depth is freed by the commit itself.
    fn commit_overflow(&mut self, _: SessionId, transaction: &Transaction) -> Option<String> {
        let mut more: BTreeMap<QueueRef, (u64, u64)> = BTreeMap::new();
        for publish in &transaction.publishes {
            for queue in &publish.queues {
                let (count, bytes) = more.entry(*queue).or_default();
                *count += 1;
                *bytes += publish.stored.message.size();
            }
        }
        more.into_iter().find_map(|(reference, (count, bytes))| {
            self.live_queue(reference)?.overflow_by(count, bytes)
        })
    }

    /// `tx.rollback`: what was published is gone; what was accepted stays acquired by the session
    /// and can be accepted again.
    pub(super) fn rollback(&mut self, id: SessionId) -> Result<(), Refusal> {
        let transaction = self.take_transaction(id)?;
        self.undo_accepts(id, &transaction);
        Ok(())
    }

    fn undo_accepts(&mut self, id: SessionId, transaction: &Transaction) {
        for (first, last) in self.session(id).unsettled_ranges(&transaction.accepts) {
            let session = self.session_mut(id);
            for count in first..=last {
                if let Some(unsettled) = session.unsettled.get_mut(count) {
                    unsettled.is_acquired &= !is_planted(Plant::RollbackSettles);
                    unsettled.is_in_transaction = false;
                }
            }
        }
    }
}
