//! Commands with conditions on what is there.

use super::refuse;
use crate::broker::command::Refusal;
use crate::broker::core::Core;
use crate::broker::effect::Out;
use crate::broker::event::Event;
use crate::broker::facts::{Fact, Maker};
use crate::broker::guard::{Aspect, BY_CONDITION, BY_QUOTA, Guard, Guarded, truth};
use crate::broker::ids::{ExchangeId, QueueId, SessionId};
use crate::broker::management::Import;
use crate::broker::queue::policy::Policy;
use crate::wire::{ErrorCode, QueueDeclare, Text};

impl Core {
    /// A command with conditions, of a session or of management.
    pub(super) fn guarded(
        &mut self,
        by: Option<SessionId>,
        guarded: Guarded,
        out: &mut Out,
    ) -> Result<(), Refusal> {
        match guarded {
            Guarded::QueueDeclare { declare, quota } => {
                self.check_quota(&declare, quota)?;
                let name = declare.queue.clone();
                let was_there = self.queue_names.contains_key(&name);
                let declared = match by {
                    Some(id) => self.queue_declare(id, declare, out),
                    None => self.create_queue(&declare),
                };
                if !was_there && let Some(queue) = self.queue_names.get(&name).copied() {
                    self.note_maker(queue);
                }
                declared
            }
            Guarded::QueueDelete { delete, guard } => {
                self.check_queue(&delete.queue, &guard)?;
                match by {
                    Some(id) => self.queue_delete(id, &delete, out),
                    None => self.delete_queue(&delete, out),
                }
            }
            Guarded::ExchangeDelete { delete, guard } => {
                self.check_exchange(&delete.exchange, &guard)?;
                self.exchange_delete(&delete)
            }
        }
    }

    fn denied(&self, what: &str, why: &str) -> Refusal {
        let user = self.requester().user;
        let text = format_args!("ACL denied {what} request from {user}{why}");
        refuse(ErrorCode::UNAUTHORIZED_ACCESS, text)
    }

    fn check_quota(&mut self, declare: &QueueDeclare, quota: u32) -> Result<(), Refusal> {
        let is_made = !self.queue_names.contains_key(&declare.queue);
        if !is_made || self.makers.count(&self.requester().user) < quota {
            return Ok(());
        }
        Err(self.over_quota(declare))
    }

    /// Whether all queues of an import may be made.
    pub(super) fn check_import_quota(&mut self, import: &Import) -> Result<(), Refusal> {
        let Some(quota) = import.quota else {
            return Ok(());
        };
        let made = self.makers.count(&self.requester().user);
        let room = quota.saturating_sub(made) as usize;
        match import.queues.get(room) {
            Some(over) => Err(self.over_quota(over)),
            None => Ok(()),
        }
    }

    /// Says that a queue is one too many for whoever wants it.
    fn over_quota(&mut self, declare: &QueueDeclare) -> Refusal {
        let queue = declare.queue.clone();
        self.happened_by(|requester| Event::QueueQuotaDeny {
            user: requester.user,
            queue,
        });
        self.denied("queue create", BY_QUOTA)
    }

    /// What is not there has no aspects. Where only what has some may be deleted, it is denied as what has
    /// others is: nobody finds out by asking which names are taken.
    fn check_absent(&self, what: &str, guard: &Guard) -> Result<(), Refusal> {
        match guard.allows(&[]) {
            true => Ok(()),
            false => Err(self.denied(what, BY_CONDITION)),
        }
    }

    fn check_queue(&self, name: &Text, guard: &Guard) -> Result<(), Refusal> {
        let Some(id) = self.queue_names.get(name).copied() else {
            return self.check_absent("queue delete", guard);
        };
        let queue = self.queue(id);
        let policy = match queue.policy {
            Policy::Reject => "reject",
            Policy::Ring | Policy::RingStrict => "ring",
            Policy::SelfDestruct => "self-destruct",
        };
        let aspects = [
            (Aspect::Durable, truth(queue.is_durable)),
            (Aspect::Exclusive, truth(queue.owner.is_some())),
            (Aspect::AutoDelete, truth(queue.is_auto_delete)),
            (Aspect::PolicyType, policy),
            (Aspect::Alternate, self.name_of_alternate(queue.alternate)),
        ];
        match guard.allows(&aspects) {
            true => Ok(()),
            false => Err(self.denied("queue delete", BY_CONDITION)),
        }
    }

    fn check_exchange(&self, name: &Text, guard: &Guard) -> Result<(), Refusal> {
        if name.is_empty() {
            // No right is asked for what nobody can do.
            return Ok(());
        }
        let found = self.exchange_named(name).ok();
        let Some(exchange) = found.and_then(|id| self.exchanges.get(id.0)) else {
            return self.check_absent("exchange delete", guard);
        };
        let aspects = [
            (Aspect::Durable, truth(exchange.is_durable)),
            (Aspect::Type, exchange.kind.type_name()),
            (
                Aspect::Alternate,
                self.name_of_alternate(exchange.alternate),
            ),
        ];
        match guard.allows(&aspects) {
            true => Ok(()),
            false => Err(self.denied("exchange delete", BY_CONDITION)),
        }
    }

    /// Whether messages of a queue may be routed anew to its alternate exchange.
    pub(super) fn check_rerouting(&self, queue: &Text, guard: &Guard) -> Result<(), Refusal> {
        let Some(id) = self.queue_names.get(queue).copied() else {
            return self.check_absent("queue reroute", guard);
        };
        let alternate = self.queue(id).alternate;
        match guard.allows(&[(Aspect::Alternate, self.name_of_alternate(alternate))]) {
            true => Ok(()),
            false => Err(self.denied("queue reroute", BY_CONDITION)),
        }
    }

    /// As rules have it: empty for none.
    fn name_of_alternate(&self, alternate: Option<ExchangeId>) -> &str {
        let found = alternate.and_then(|alternate| self.exchanges.get(alternate.0));
        found.map_or("", |exchange| &exchange.name)
    }

    /// Somebody has made a queue: it counts to its user's quota as long as it is there.
    pub(super) fn note_maker(&mut self, queue: QueueId) {
        let user = self.requester().user;
        let queue = self.queue(queue);
        let (key, is_durable) = (queue.reference.key(), queue.is_durable);
        self.makers.note(key, user.clone());
        if is_durable {
            self.scratch.facts.defined(|| {
                let maker = Maker { queue: key, user };
                Fact::QueueMakers(vec![maker])
            });
        }
    }
}
