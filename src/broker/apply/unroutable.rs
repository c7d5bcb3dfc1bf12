//! Messages that go nowhere: no queue takes them, or nobody is ready for one that is `immediate`.
//!
//! 0-10: message.delivery-properties. A client that wants to hear of each transfer (accept mode explicit)
//! is told by `message.reject`, unless it has said by `discard-unroutable` that it does not care. As in
//! qpidd an alternate exchange comes first in any accept mode, and in accept mode none the message is
//! dropped in silence.

use crate::broker::connections::Connection;
use crate::broker::core::Core;
use crate::broker::ids::{ExchangeId, QueueId, SessionId, SubscriptionId};
use crate::broker::message::{Message, Stored};
use crate::broker::selected::Selected;
use crate::wire::{CommandId, RejectCode};

impl Core {
    /// Why a message goes nowhere, when it does. Of an immediate one only the queues stay in `matched`
    /// where somebody is ready for it; when there is none it goes where what cannot be routed goes.
    pub(super) fn goes_nowhere(
        &mut self,
        exchange: ExchangeId,
        stored: &mut Stored,
        matched: &mut Vec<QueueId>,
    ) -> Option<RejectCode> {
        if matched.is_empty() {
            return Some(RejectCode::UNROUTABLE);
        }
        if !stored.message.is_immediate() {
            return None;
        }
        matched.retain(|queue| self.is_somebody_ready(*queue, &stored.message));
        if !matched.is_empty() {
            return None;
        }
        match self.exchange_mut(exchange).alternate {
            Some(alternate) => self.route(alternate, stored, None, matched),
            None => self.counters.discards_no_route += 1,
        }
        matched.is_empty().then_some(RejectCode::IMMEDIATE)
    }

    /// Whether a message that comes to a queue goes on to a consumer at once: nothing waits before it,
    /// and somebody wants it, has credit for it, and has a connection that can take it. Looking at each
    /// costs a step; when the entry has no more, nobody is found.
    fn is_somebody_ready(&mut self, queue: QueueId, message: &Message) -> bool {
        let Some(found) = self.queues.get(queue.0) else {
            return false;
        };
        if found.available > 0 {
            return false;
        }
        let most = self.scratch.steps as usize;
        let mut looked = 0;
        let mut subscriptions = found.subscriptions.iter().take(most);
        let is_ready = subscriptions.any(|id| {
            looked += 1;
            self.is_ready_for(*id, message)
        });
        self.scratch.steps = self.scratch.steps.saturating_sub(looked);
        is_ready
    }

    fn is_ready_for(&self, id: SubscriptionId, message: &Message) -> bool {
        let Some(subscription) = self.subscriptions.get(id.0) else {
            return false;
        };
        let credit = &subscription.credit;
        let has_credit = credit.is_some() && credit.allows(message.size());
        if !subscription.is_acquiring || !has_credit {
            return false;
        }
        let Some(session) = self.sessions.get(subscription.session.0) else {
            return false;
        };
        let connection = self.connections.get(session.connection_id);
        let has_headroom = connection.is_some_and(Connection::has_headroom);
        let selector = subscription.selector.as_ref();
        let is_wanted =
            || selector.is_none_or(|selector| selector.matches(&Selected::of_published(message)));
        has_headroom && !session.is_choked() && is_wanted()
    }

    /// Tells, at the end of the batch, that a transfer went nowhere.
    pub(super) fn reject_transfer(&mut self, id: SessionId, command: CommandId, code: RejectCode) {
        let Some(session) = self.sessions.get_mut(id.0) else {
            return;
        };
        let rejected = match code {
            RejectCode::IMMEDIATE => &mut session.incoming.not_immediate,
            _ => &mut session.incoming.unroutable,
        };
        rejected.insert(command);
        self.scratch.telling.push(id);
    }
}
