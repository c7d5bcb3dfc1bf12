//! Commands with conditions on what is there.

use super::refuse;
use crate::broker::command::Refusal;
use crate::broker::core::Core;
use crate::broker::effect::{Effect, Out};
use crate::broker::event::{Act, Event};
use crate::broker::facts::{Fact, Maker};
use crate::broker::guard::{Aspect, BY_CONDITION, BY_QUOTA, Guard, Guarded, Ruled, truth};
use crate::broker::ids::{ConnectionKey, ExchangeId, QueueId, SessionId};
use crate::broker::management::Import;
use crate::broker::queue::policy::Policy;
use crate::wire::{ErrorCode, QueueDeclare, Text};

/// For whom a command with conditions is done.
#[derive(Clone, Copy)]
pub(super) enum By {
    /// A session.
    Session(SessionId),
    /// Somebody who asked this agent.
    Agent(ConnectionKey),
}

/// What is decided of, in the words of ACL files.
struct Asked<'a> {
    action: &'static str,
    object: &'static str,
    name: &'a Text,
}

impl Core {
    /// A command with conditions, of a session or of management.
    pub(super) fn guarded(
        &mut self,
        by: By,
        guarded: Guarded,
        out: &mut Out,
    ) -> Result<(), Refusal> {
        let teller = match by {
            By::Session(id) => self.session_mut(id).connection,
            By::Agent(agent) => agent,
        };
        match guarded {
            Guarded::QueueDeclare { declare, quota } => {
                self.check_quota(&declare, quota)?;
                let name = declare.queue.clone();
                let was_there = self.queue_names.contains_key(&name);
                let declared = match by {
                    By::Session(id) => self.queue_declare(id, declare, out),
                    By::Agent(_) => self.create_queue(&declare),
                };
                if !was_there && let Some(queue) = self.queue_names.get(&name).copied() {
                    self.note_maker(queue);
                }
                declared
            }
            Guarded::QueueDelete { delete, guard } => {
                self.check_queue(teller, &delete.queue, &guard, out)?;
                match by {
                    By::Session(id) => self.queue_delete(id, &delete, out),
                    By::Agent(_) => self.delete_queue(&delete, out),
                }
            }
            Guarded::ExchangeDelete { delete, guard } => {
                self.check_exchange(teller, &delete.exchange, &guard, out)?;
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

    /// Decides a command by its conditions, and says so to whoever serves its client where that is asked
    /// for. What is not there has no aspects. Where only what has some may be deleted, it is denied as what
    /// has others is: nobody finds out by asking which names are taken.
    fn rule(
        &self,
        teller: ConnectionKey,
        guard: &Guard,
        of: &Asked<'_>,
        aspects: &[(Aspect, &str)],
        out: &mut Out,
    ) -> Result<(), Refusal> {
        let ruling = guard.ruling(aspects);
        if ruling.is_told() {
            let act = Act {
                user: self.requester().user,
                action: of.action.into(),
                object: of.object.into(),
                name: of.name.clone(),
            };
            let told = Ruled {
                act,
                is_allowed: ruling.is_allowed(),
            };
            out.effects.push((teller, Effect::Ruled(Box::new(told))));
        }
        match ruling.is_allowed() {
            true => Ok(()),
            false => {
                let what = format!("{} {}", of.object, of.action);
                Err(self.denied(&what, BY_CONDITION))
            }
        }
    }

    fn check_queue(
        &self,
        teller: ConnectionKey,
        name: &Text,
        guard: &Guard,
        out: &mut Out,
    ) -> Result<(), Refusal> {
        let of = Asked {
            action: "delete",
            object: "queue",
            name,
        };
        let Some(id) = self.queue_names.get(name).copied() else {
            return self.rule(teller, guard, &of, &[], out);
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
        self.rule(teller, guard, &of, &aspects, out)
    }

    fn check_exchange(
        &self,
        teller: ConnectionKey,
        name: &Text,
        guard: &Guard,
        out: &mut Out,
    ) -> Result<(), Refusal> {
        if name.is_empty() {
            // No right is asked for what nobody can do.
            return Ok(());
        }
        let of = Asked {
            action: "delete",
            object: "exchange",
            name,
        };
        let found = self.exchange_named(name).ok();
        let Some(exchange) = found.and_then(|id| self.exchanges.get(id.0)) else {
            return self.rule(teller, guard, &of, &[], out);
        };
        let aspects = [
            (Aspect::Durable, truth(exchange.is_durable)),
            (Aspect::Type, exchange.kind.type_name()),
            (
                Aspect::Alternate,
                self.name_of_alternate(exchange.alternate),
            ),
        ];
        self.rule(teller, guard, &of, &aspects, out)
    }

    /// Whether messages of a queue may be routed anew to its alternate exchange.
    pub(super) fn check_rerouting(
        &self,
        teller: ConnectionKey,
        queue: &Text,
        guard: &Guard,
        out: &mut Out,
    ) -> Result<(), Refusal> {
        let of = Asked {
            action: "reroute",
            object: "queue",
            name: queue,
        };
        let Some(id) = self.queue_names.get(queue).copied() else {
            return self.rule(teller, guard, &of, &[], out);
        };
        let alternate = self.name_of_alternate(self.queue(id).alternate);
        self.rule(teller, guard, &of, &[(Aspect::Alternate, alternate)], out)
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
