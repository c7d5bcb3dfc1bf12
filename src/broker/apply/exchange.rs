//! The `exchange` class.

use super::refuse;
use crate::broker::arguments;
use crate::broker::command::Refusal;
use crate::broker::core::Core;
use crate::broker::effect::Out;
use crate::broker::event::Event;
use crate::broker::exchange::{BindError, BoundAt, Kind, bound_result};
use crate::broker::exchanges::{Exchange, is_reserved};
use crate::broker::facts::Fact;
use crate::broker::failover::FAILOVER;
use crate::broker::ids::{ExchangeId, QueueId, SessionId};
use crate::broker::limits;
use crate::broker::origins;
use crate::broker::session::ScopedBinding;
use crate::wire::{
    CommandId, ErrorCode, ExchangeBind, ExchangeBound, ExchangeDeclare, ExchangeDelete,
    ExchangeQuery, ExchangeQueryResult, ExchangeUnbind, Map, Struct32,
};

impl Core {
    /// `exchange.declare`. Names that begin with `amq.` or `qpid.` are refused, even for one that
    /// exists, unless passive; durable, auto-delete and arguments of one that exists are not
    /// compared.
    pub(super) fn exchange_declare(
        &mut self,
        declare: ExchangeDeclare,
        out: &mut Out,
    ) -> Result<(), Refusal> {
        let name = &declare.exchange;
        let alternate = self.alternate_of(declare.alternate_exchange.as_deref())?;
        if is_reserved(name) && !declare.passive {
            let text = format_args!(
                "Exchange names beginning with \"amq.\" or \"qpid.\" are reserved. (exchange=\"{name}\")"
            );
            return Err(refuse(ErrorCode::NOT_ALLOWED, text));
        }
        if let Some(found) = self.exchange_names.get(name).copied() {
            out.rests_on_facts |= self.exchange_mut(found).is_durable;
            return self.redeclare(found, &declare, alternate);
        }
        if declare.passive {
            return self.exchange_named(name).map(|_| ());
        }
        self.make_exchange(declare, alternate)
    }

    /// Makes an exchange of a name that no other has.
    pub(super) fn make_exchange(
        &mut self,
        declare: ExchangeDeclare,
        alternate: Option<ExchangeId>,
    ) -> Result<(), Refusal> {
        let mut exchange = self.declared(&declare)?;
        exchange.alternate = alternate;
        self.see_room_for_exchanges(1)?;
        let arguments = exchange.arguments.clone();
        let id = self.add_exchange(exchange);
        self.say_exchange_declared(id);
        self.happened_by(|requester| Event::ExchangeDeclare {
            requester,
            exchange: declare.exchange,
            kind: declare.r#type,
            alternate: declare.alternate_exchange.unwrap_or_default(),
            is_durable: declare.durable,
            is_auto_delete: declare.auto_delete,
            arguments,
        });
        Ok(())
    }

    /// An exchange as it is declared, without its alternate.
    ///
    /// # Errors
    /// There is no such type, or it cannot do what is asked of it.
    pub(super) fn declared(&self, declare: &ExchangeDeclare) -> Result<Exchange, Refusal> {
        let Some(kind) = Kind::of_type(&declare.r#type).filter(Kind::can_be_declared) else {
            let text = format_args!("Exchange type not implemented: {}", declare.r#type);
            return Err(refuse(ErrorCode::NOT_FOUND, text));
        };
        let mut exchange = Exchange::new(declare.exchange.clone(), kind);
        exchange.is_durable = declare.durable;
        exchange.is_auto_delete = declare.auto_delete;
        exchange.settle_in(declare.arguments.clone().unwrap_or_default());
        exchange.created = self.time;
        Self::see_that_xml_can(&exchange)?;
        Ok(exchange)
    }

    /// # Errors
    /// There are too many exchanges for so many more.
    pub(super) fn see_room_for_exchanges(&self, more: usize) -> Result<(), Refusal> {
        if self.exchanges.len() + more > limits::EXCHANGES_MAX {
            let text = "a broker can have no more exchanges";
            return Err(refuse(ErrorCode::RESOURCE_LIMIT_EXCEEDED, text));
        }
        Ok(())
    }

    fn redeclare(
        &mut self,
        found: ExchangeId,
        declare: &ExchangeDeclare,
        alternate: Option<ExchangeId>,
    ) -> Result<(), Refusal> {
        let exchange = self.exchange_mut(found);
        let name = exchange.name.clone();
        let kind = exchange.kind.type_name();
        let asked = &declare.r#type;
        if *asked != kind && !(declare.passive && asked.is_empty()) {
            let text =
                format_args!("Exchange {name} declared to be of type {kind}, requested {asked}");
            return Err(refuse(ErrorCode::NOT_ALLOWED, text));
        }
        if alternate.is_some() && alternate != exchange.alternate {
            let text = format_args!("Exchange {name} declared with another alternate-exchange");
            return Err(refuse(ErrorCode::NOT_ALLOWED, text));
        }
        Ok(())
    }

    /// `exchange.delete`. Unlike in qpidd `if-unused` counts: an exchange with bindings stays.
    pub(super) fn exchange_delete(&mut self, delete: &ExchangeDelete) -> Result<(), Refusal> {
        let id = self.check_exchange_deletion(delete, 0)?;
        self.remove_exchange(id);
        Ok(())
    }

    /// The exchange that is to be deleted, when so many of those go with it that have it for alternate.
    ///
    /// # Errors
    /// It stays.
    pub(super) fn check_exchange_deletion(
        &self,
        delete: &ExchangeDelete,
        released: usize,
    ) -> Result<ExchangeId, Refusal> {
        let name = &*delete.exchange;
        if name.is_empty() {
            let text = "Delete not allowed for default exchange";
            return Err(refuse(ErrorCode::INVALID_ARGUMENT, text));
        }
        let id = self.exchange_named(name)?;
        let Some(exchange) = self.exchange_at(id) else {
            return Ok(id);
        };
        if exchange.is_standard() || exchange.face.is_some() {
            let text = format_args!("Exchange {name} is a standard exchange and cannot be deleted");
            return Err(refuse(ErrorCode::NOT_ALLOWED, text));
        }
        if exchange.alternate_users as usize > released {
            let text = format_args!("Cannot delete {name}, in use as alternate-exchange.");
            return Err(refuse(ErrorCode::NOT_ALLOWED, text));
        }
        if delete.if_unused && exchange.kind.binding_count() > 0 {
            let text = format_args!("Cannot delete exchange {name}; exchange in use");
            return Err(refuse(ErrorCode::PRECONDITION_FAILED, text));
        }
        Ok(id)
    }

    /// Takes an exchange out of the world that is no other's alternate.
    pub(super) fn remove_exchange(&mut self, id: ExchangeId) {
        let Some(exchange) = self.exchanges.remove(id.0) else {
            return;
        };
        self.exchange_names.remove(&exchange.name);
        self.xml.forget_exchange(id, &exchange.kind);
        if self.links.are_followed(&exchange.name) {
            let news = &mut self.scratch.link_news.news;
            news.again.insert(exchange.name.clone());
        }
        if let Some(last) = exchange
            .routed
            .as_ref()
            .and_then(|routed| routed.last.as_ref())
        {
            self.held.leave(&last.stored.message);
        }
        if exchange.is_durable {
            let name = exchange.name.clone();
            self.scratch
                .facts
                .defined(|| Fact::ExchangeDeleted { name });
        }
        for binding in exchange.kind.bindings() {
            self.queue_mut(binding.queue).unbound(id, true);
        }
        if let Some(alternate) = exchange.alternate {
            self.exchange_mut(alternate).alternate_users -= 1;
        }
        self.happened_by(|requester| Event::ExchangeDelete {
            requester,
            exchange: exchange.name.clone(),
        });
        // The slot may be used again; no session may unbind there what it did not bind.
        let sessions: Vec<u32> = self.sessions.iter().map(|(slot, _)| slot).collect();
        for slot in sessions {
            self.session_mut(SessionId(slot))
                .scoped_bindings
                .retain(|b| b.exchange != id);
        }
    }

    fn remove_exchange_if_unused(&mut self, id: ExchangeId) {
        let exchange = self.exchange_mut(id);
        let is_unused = exchange.kind.binding_count() == 0 && exchange.alternate_users == 0;
        let stays = exchange.is_standard() || exchange.face.is_some();
        if exchange.is_auto_delete && is_unused && !stays {
            self.remove_exchange(id);
        }
    }

    /// `exchange.query`: an unknown exchange is an answer, not an exception.
    pub(super) fn exchange_query(
        &mut self,
        id: SessionId,
        command: CommandId,
        query: &ExchangeQuery,
        out: &mut Out,
    ) -> Result<(), Refusal> {
        let name = query.name.as_deref().unwrap_or("");
        let mut result = ExchangeQueryResult::default();
        match self
            .exchange_names
            .get(name)
            .and_then(|found| self.exchanges.get(found.0))
        {
            None => result.not_found = true,
            Some(exchange) => {
                result.r#type = Some(exchange.kind.type_name().into());
                result.durable = exchange.is_durable;
                result.arguments = Some(exchange.shown_arguments());
            }
        }
        self.answer(id, command, Struct32::of(&result), out);
        Ok(())
    }

    /// The queue and exchange of a bind or unbind that is allowed, by a session or by management, which
    /// owns no queue.
    pub(super) fn bindable(
        &self,
        by: Option<SessionId>,
        queue: &str,
        exchange: &str,
    ) -> Result<(QueueId, ExchangeId), Refusal> {
        let queue_id = self.queue_named(queue)?;
        let exchange_id = self.exchange_named(exchange)?;
        if exchange.is_empty() {
            let text = "Bind not allowed for default exchange";
            return Err(refuse(ErrorCode::INVALID_ARGUMENT, text));
        }
        let found = self.exchange_at(exchange_id);
        if found.is_some_and(|exchange| exchange.kind == Kind::Replication) {
            let error = BindError::Replication;
            return Err(refuse(error.code(), error));
        }
        if self.queue(queue_id).is_locked_for(by) {
            let text = format_args!("Cannot bind exclusive queue {queue} of another session");
            return Err(refuse(ErrorCode::RESOURCE_LOCKED, text));
        }
        Ok((queue_id, exchange_id))
    }

    /// `exchange.bind`, by a session or by management, or by another broker's link, which may ask for other
    /// things by it.
    pub(super) fn exchange_bind(
        &mut self,
        by: Option<SessionId>,
        bind: ExchangeBind,
        out: &mut Out,
    ) -> Result<(), Refusal> {
        let arguments = bind.arguments.as_ref();
        let operation = arguments.map_or(Ok(None), origins::operation);
        match operation.map_err(|text| refuse(ErrorCode::INVALID_ARGUMENT, text))? {
            Some(operation) => self.bind_by_link(by, operation, bind, out),
            None if *bind.exchange == *FAILOVER => self.bind_to_failover(by, bind, out),
            None => self.bind_plainly(by, bind, out),
        }
    }

    /// The same, to where members are told: whoever binds is told at once, also one that has bound before.
    fn bind_to_failover(
        &mut self,
        by: Option<SessionId>,
        bind: ExchangeBind,
        out: &mut Out,
    ) -> Result<(), Refusal> {
        let (queue, exchange) = self.bindable(by, &bind.queue, &bind.exchange)?;
        self.bind_plainly(by, bind, out)?;
        if let Kind::Failover(_) = self.exchange_mut(exchange).kind {
            self.tell_where_members_are(&[queue], out);
        }
        Ok(())
    }

    /// Binds: again with the same key and arguments it is done already.
    pub(super) fn bind_plainly(
        &mut self,
        by: Option<SessionId>,
        bind: ExchangeBind,
        out: &mut Out,
    ) -> Result<(), Refusal> {
        let (queue_id, exchange_id) = self.bindable(by, &bind.queue, &bind.exchange)?;
        let arguments = bind.arguments.unwrap_or_default();
        let is_scoped = arguments::is_session_scoped(&arguments);
        if is_scoped {
            self.make_room_for_scoped(by)?;
        }
        let exchange = self.exchange_mut(exchange_id);
        if exchange.kind.binding_count() >= limits::BINDINGS_PER_EXCHANGE_MAX {
            let text = "an exchange can have no more bindings";
            return Err(refuse(ErrorCode::RESOURCE_LIMIT_EXCEEDED, text));
        }
        let key = bind.binding_key;
        let displaced = exchange.kind.displaced(queue_id, &key, &arguments);
        let is_new = exchange
            .kind
            .bind(queue_id, &key, &arguments)
            .map_err(|error| refuse(error.code(), error))?;
        let replaces = exchange.kind.replaces_arguments(&arguments);
        for queue in displaced {
            self.exchange_mut(exchange_id).origins.forget(queue, &key);
            self.say_unbound(exchange_id, queue, &key);
            let was_last = !self.exchange_mut(exchange_id).kind.has_queue(queue);
            self.queue_mut(queue).unbound(exchange_id, was_last);
        }
        if is_new && !is_scoped || !is_new && replaces {
            self.say_bound(exchange_id, queue_id, &key, &arguments);
        }
        if !is_new {
            self.note_bound_here(exchange_id, queue_id, &key, &arguments);
            out.rests_on_facts |= self.durable_ends(exchange_id, queue_id).is_some();
            return Ok(());
        }
        self.exchange_mut(exchange_id).watch();
        self.note_xml_change(exchange_id, &key);
        self.note_bindings(exchange_id, &key);
        let reference = {
            let queue = self.queue_mut(queue_id);
            queue.bound(exchange_id);
            queue.reference
        };
        if is_scoped && let Some(id) = by {
            let binding = ScopedBinding {
                exchange: exchange_id,
                queue: reference,
                key: key.clone(),
            };
            self.session_mut(id).scoped_bindings.insert(binding);
        }
        self.happened_by(|requester| Event::Bind {
            requester,
            exchange: bind.exchange,
            queue: bind.queue,
            key: key.clone(),
            arguments: arguments.clone(),
        });
        if self.exchange_mut(exchange_id).routed.is_some() {
            self.give_initial(exchange_id, queue_id, (&key, &arguments), out);
        }
        Ok(())
    }

    /// Gives a queue that was just bound the message that the exchange routed last, if the binding
    /// matches it and its time has not run out. Queues that were bound before have had it.
    fn give_initial(
        &mut self,
        exchange: ExchangeId,
        queue: QueueId,
        (key, arguments): (&str, &Map),
        out: &mut Out,
    ) {
        let now = self.time;
        let exchange = self.exchange_mut(exchange);
        let routed = exchange.routed.as_ref();
        let Some(last) = routed.and_then(|routed| routed.last.clone()) else {
            return;
        };
        let message = &last.stored.message;
        let mut alone = Kind::of_type(exchange.kind.type_name());
        let mut matched = Vec::new();
        if let Some(alone) = &mut alone
            && last.expires > now
            && alone.bind(queue, key, arguments).is_ok()
        {
            let headers = &mut || message.application_headers();
            alone.route(&message.routing_key, headers, &mut matched);
        }
        if matched.is_empty() {
            return;
        }
        exchange.counters.routes += 1;
        let queue = self.redirects.place(queue);
        // Err: the queue has counted it as an overflow; that it is bound is none the worse for it.
        let _ = self.enqueue(queue, last.stored, last.expires, out);
    }

    /// Sees to it that a session can have one more binding that ends with it. Those of queues that
    /// are no more are forgotten when there are many.
    fn make_room_for_scoped(&mut self, by: Option<SessionId>) -> Result<(), Refusal> {
        let Some(id) = by else {
            let text = "a binding of a session's scope needs a session";
            return Err(refuse(ErrorCode::INVALID_ARGUMENT, text));
        };
        if self.session(id).scoped_bindings.len() < limits::SCOPED_BINDINGS_PER_SESSION_MAX {
            return Ok(());
        }
        let mut bindings = std::mem::take(&mut self.session_mut(id).scoped_bindings);
        bindings.retain(|binding| self.live_queue(binding.queue).is_some());
        let is_full = bindings.len() >= limits::SCOPED_BINDINGS_PER_SESSION_MAX;
        self.session_mut(id).scoped_bindings = bindings;
        if is_full {
            let text = "a session can have no more bindings of its own scope";
            return Err(refuse(ErrorCode::RESOURCE_LIMIT_EXCEEDED, text));
        }
        Ok(())
    }

    /// `exchange.unbind`: of what is not bound it is done already.
    pub(super) fn exchange_unbind(
        &mut self,
        id: SessionId,
        unbind: &ExchangeUnbind,
        out: &mut Out,
    ) -> Result<(), Refusal> {
        let (queue, exchange) = self.bindable(Some(id), &unbind.queue, &unbind.exchange)?;
        out.rests_on_facts |= self.durable_ends(exchange, queue).is_some();
        let binding = ScopedBinding {
            exchange,
            queue: self.queue(queue).reference,
            key: unbind.binding_key.clone(),
        };
        self.session_mut(id).scoped_bindings.remove(&binding);
        self.unbind_queue_key(exchange, queue, &unbind.binding_key);
        Ok(())
    }

    /// Takes one binding away; an auto-delete exchange goes with its last.
    pub(super) fn unbind_queue_key(&mut self, exchange: ExchangeId, queue: QueueId, key: &str) {
        let Some(found) = self.exchanges.get_mut(exchange.0) else {
            return;
        };
        let arguments = found.kind.arguments(queue, key);
        let is_scoped = arguments.is_some_and(arguments::is_session_scoped);
        if !found.kind.unbind(queue, key) {
            return;
        }
        found.watch();
        if !found.origins.is_empty() {
            let kept = found.kind.kept_key(key);
            found.origins.forget(queue, &kept);
        }
        let was_last = !found.kind.has_queue(queue);
        self.queue_mut(queue).unbound(exchange, was_last);
        self.note_xml_change(exchange, key);
        self.note_bindings(exchange, key);
        if !is_scoped {
            self.say_unbound(exchange, queue, key);
        }
        self.happened_unbound(exchange, queue, key);
        self.remove_exchange_if_unused(exchange);
    }

    /// Takes all bindings of a queue that is no more from an exchange.
    pub(super) fn unbind_queue_everywhere(&mut self, exchange: ExchangeId, queue: QueueId) {
        let found = self.exchange_mut(exchange);
        let keys = found.kind.unbind_queue(queue);
        found.watch();
        for key in keys {
            self.exchange_mut(exchange).origins.forget(queue, &key);
            self.note_xml_change(exchange, &key);
            self.note_bindings(exchange, &key);
        }
        self.remove_exchange_if_unused(exchange);
    }

    /// `exchange.bound`: flags, never an exception.
    pub(super) fn exchange_bound(
        &mut self,
        id: SessionId,
        command: CommandId,
        bound: &ExchangeBound,
        out: &mut Out,
    ) -> Result<(), Refusal> {
        let name = bound.exchange.as_deref().unwrap_or("");
        let exchange = self
            .exchange_names
            .get(name)
            .and_then(|found| self.exchanges.get(found.0));
        let queue = self.queue_names.get(&bound.queue).copied();
        let key = bound.binding_key.as_deref().unwrap_or("");
        let at = match exchange {
            None => BoundAt::Missing,
            Some(exchange) if exchange.is_default() => BoundAt::Default {
                has_queues: !self.queue_names.is_empty(),
                key_names_queue: self.queue_names.contains_key(key),
            },
            Some(exchange) => BoundAt::Of(&exchange.kind),
        };
        let result = bound_result(at, queue, bound);
        self.answer(id, command, Struct32::of(&result), out);
        Ok(())
    }
}
