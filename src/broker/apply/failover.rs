//! Clients are told where members are.

use std::sync::Arc;

use crate::broker::core::Core;
use crate::broker::effect::Out;
use crate::broker::exchange::{Fanout, Kind};
use crate::broker::exchanges::Exchange;
use crate::broker::failover::FAILOVER;
use crate::broker::ids::{ConnectionKey, MemberId, QueueId};
use crate::broker::message::Stored;
use crate::wire::Text;

impl Core {
    /// Members have come or gone, or are found elsewhere: whoever listens is told where they are. The
    /// exchange comes with the first of them.
    pub(in crate::broker) fn set_members(
        &mut self,
        parts: Vec<MemberId>,
        urls: Vec<Text>,
        out: &mut Out,
    ) {
        self.members.set(parts);
        if !self.failover.set(urls) {
            return;
        }
        let Some(id) = self.exchange_names.get(FAILOVER).copied() else {
            let kind = Kind::Failover(Fanout::default());
            let mut exchange = Exchange::new(FAILOVER.into(), kind);
            exchange.created = self.time;
            self.add_exchange(exchange);
            return;
        };
        let bindings = self.exchange_mut(id).kind.bindings();
        let bound: Vec<QueueId> = bindings.map(|binding| binding.queue).collect();
        self.tell_where_members_are(&bound, out);
    }

    /// Gives queues the message that says where the members are.
    pub(super) fn tell_where_members_are(&mut self, queues: &[QueueId], out: &mut Out) {
        let Some(message) = self.failover.message() else {
            return;
        };
        let stored = Stored {
            handle: self.new_handle(),
            publisher: ConnectionKey::default(),
            message: Arc::new(message),
        };
        let queues: Vec<QueueId> = queues.iter().map(|id| self.redirects.place(*id)).collect();
        // Err: a queue is full and has counted it as an overflow.
        let _ = self.enqueue_all(&stored, &queues, out);
    }
}
