//! The `tx` class: transactions of one session.

use std::collections::BTreeMap;

use super::refuse;
use crate::broker::command::Refusal;
use crate::broker::core::Core;
use crate::broker::effect::Out;
use crate::broker::ids::{QueueRef, SessionId};
use crate::broker::message::Stored;
use crate::broker::plant::{Plant, is_planted};
use crate::broker::publishes::Publishes;
use crate::broker::queue::Queue;
use crate::broker::session::Transaction;
use crate::wire::ErrorCode;

impl Core {
    /// `tx.select`: a transaction starts, if there is none. In a branch it waits for its end.
    /// Transactions are counted when they begin, and again as soon as one ends: as in qpidd.
    pub(super) fn select(&mut self, id: SessionId) {
        let session = self.branches.session_mut(id);
        let association = session.and_then(|session| session.association.as_mut());
        let transaction = match association {
            Some(association) => &mut association.local,
            None => &mut self.session_mut(id).transaction,
        };
        if transaction.is_none() {
            *transaction = Some(Transaction::default());
            self.session_mut(id).counters.transactions += 1;
        }
    }

    fn take_transaction(&mut self, id: SessionId) -> Result<Transaction, Refusal> {
        if let Some(xid) = self.branches.associated(id) {
            let text = format_args!("Session is associated with xid {xid}");
            return Err(refuse(ErrorCode::ILLEGAL_STATE, text));
        }
        let session = self.session_mut(id);
        match &mut session.transaction {
            // A new transaction starts at once.
            Some(transaction) => {
                session.counters.transactions += 1;
                Ok(std::mem::take(transaction))
            }
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
        let overflow = self.overflow_of(&transaction.publishes);
        if let Some(text) = overflow {
            self.session_mut(id).counters.rollbacks += 1;
            self.undo_accepts(id, &transaction);
            self.forget_publishes(&transaction.publishes);
            let text = format_args!("Commit failed: {text}");
            return Err(refuse(ErrorCode::INTERNAL_ERROR, text));
        }
        self.session_mut(id).counters.commits += 1;
        for (first, last) in self.session(id).unsettled_ranges(&transaction.accepts) {
            for count in first..=last {
                if let Some(settled) = self.settle(id, count) {
                    self.dequeue_committed(settled.queue, settled.position);
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
    /// What a queue keeps out takes no room; what a queue that makes room would refuse by itself, it
    /// refuses here, too.
    pub(super) fn overflow_of(&self, publishes: &Publishes) -> Option<String> {
        let mut alone = publishes.iter().flat_map(|publish| {
            let queues = publish.queues.iter();
            queues.map(move |reference| (*reference, &publish.stored))
        });
        let refused = alone.find_map(|(reference, stored)| {
            let queue = self.queues.get(reference.id.0)?;
            let is_asked = queue.reference == reference && queue.policy.is_ring();
            is_asked.then(|| self.refuses(reference.id, stored))?
        });
        refused.or_else(|| {
            let more = self.depths_of(publishes, |queue, stored| {
                !self.keeps_out(queue.reference.id, stored)
            });
            let mut more = more.into_iter();
            more.find_map(|(reference, (count, bytes))| {
                self.queue(reference.id).overflow_by(count, bytes)
            })
        })
    }

    /// How much of what is published comes to each queue that is there, as far as the queue takes it.
    pub(super) fn depths_of(
        &self,
        publishes: &Publishes,
        takes: impl Fn(&Queue, &Stored) -> bool,
    ) -> BTreeMap<QueueRef, (u64, u64)> {
        let mut depths: BTreeMap<QueueRef, (u64, u64)> = BTreeMap::new();
        for publish in publishes {
            for reference in &publish.queues {
                let queue = self.queues.get(reference.id.0);
                let queue = queue.filter(|queue| queue.reference == *reference);
                if queue.is_some_and(|queue| takes(queue, &publish.stored)) {
                    let (count, bytes) = depths.entry(*reference).or_default();
                    *count += 1;
                    *bytes += publish.stored.message.size();
                }
            }
        }
        depths
    }

    /// `tx.rollback`: what was published is gone; what was accepted stays acquired by the session
    /// and can be accepted again.
    pub(super) fn rollback(&mut self, id: SessionId) -> Result<(), Refusal> {
        let transaction = self.take_transaction(id)?;
        self.session_mut(id).counters.rollbacks += 1;
        self.undo_accepts(id, &transaction);
        self.forget_publishes(&transaction.publishes);
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
