//! Links to other brokers, their bridges, and what links bind here.

use super::management::exists;
use super::refuse;
use crate::broker::command::Refusal;
use crate::broker::core::Core;
use crate::broker::effect::{Effect, Out};
use crate::broker::event::Event;
use crate::broker::exchange::Kind;
use crate::broker::facts::Fact;
use crate::broker::ids::{ExchangeId, MemberId, QueueId, SessionId};
use crate::broker::limits;
use crate::broker::links::{
    BridgeDefinition, Link, LinkDefinition, LinkNews, LinkState, RESERVED, Report,
};
use crate::broker::management::{Action, ForAgent};
use crate::broker::origins::{self, Operation};
use crate::broker::session::ScopedBinding;
use crate::wire::{ErrorCode, ExchangeBind, Map, Text};

impl Core {
    /// What management or the owner of a link asks.
    pub(super) fn link_action(&mut self, by: MemberId, action: Action) -> Result<(), Refusal> {
        match action {
            Action::CreateLink(definition) => self.create_link(*definition),
            Action::Connect(definition) => match self.links.to(&definition.address) {
                Some(_) => Ok(()),
                None => self.add_link(*definition),
            },
            Action::DeleteLink(name) => {
                self.delete_link(&name);
                Ok(())
            }
            Action::CreateBridge(definition) if self.links.bridge(&definition.name).is_some() => {
                Err(exists(&definition.name))
            }
            Action::AddBridge(definition) if self.links.bridge(&definition.name).is_some() => {
                Ok(())
            }
            Action::CreateBridge(definition) | Action::AddBridge(definition) => {
                self.add_bridge(*definition)
            }
            Action::DeleteBridge(name) => {
                self.delete_bridge(&name);
                Ok(())
            }
            Action::ReportLink(report) => {
                self.take_report(by, *report);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// qpidd's words.
    fn create_link(&mut self, definition: LinkDefinition) -> Result<(), Refusal> {
        let name = &definition.name;
        if name.starts_with(RESERVED) {
            let text =
                format_args!("link name (={name}): names prefixed with '{RESERVED}' are reserved");
            return Err(refuse(ErrorCode::NOT_ALLOWED, text));
        }
        if self.links.get(name).is_some() {
            return Err(exists(name));
        }
        self.add_link(definition)
    }

    fn add_link(&mut self, definition: LinkDefinition) -> Result<(), Refusal> {
        if self.links.get(&definition.name).is_some() {
            return Err(exists(&definition.name));
        }
        if self.links.len() >= limits::LINKS_MAX {
            let text = "a broker can have no more links";
            return Err(refuse(ErrorCode::RESOURCE_LIMIT_EXCEEDED, text));
        }
        self.say_link(&definition);
        self.links.add(definition, self.time);
        self.share_out_links();
        Ok(())
    }

    fn delete_link(&mut self, name: &str) {
        let Some(link) = self.links.remove(name) else {
            return;
        };
        self.scratch.link_news.owners.extend(link.owner);
        self.note_link_down(&link);
        if link.definition.is_durable {
            let name = Text::from(name);
            self.scratch.facts.defined(|| Fact::LinkDeleted { name });
        }
    }

    fn add_bridge(&mut self, definition: BridgeDefinition) -> Result<(), Refusal> {
        let invalid = |text: std::fmt::Arguments<'_>| refuse(ErrorCode::INVALID_ARGUMENT, text);
        let Some(link) = self.links.get(&definition.link) else {
            return Err(invalid(format_args!("no link {}", definition.link)));
        };
        if definition.is_durable && !link.definition.is_durable {
            let text = format_args!("Can't create a durable route on a non-durable link");
            return Err(invalid(text));
        }
        if definition.is_dynamic && definition.source_is_local {
            let text = format_args!("a dynamic route is made at the broker that gets the messages");
            return Err(invalid(text));
        }
        if definition.credit != 0 && u32::from(definition.sync) > definition.credit {
            let (sync, credit) = (definition.sync, definition.credit);
            let text = format_args!(
                "The sync value {sync} is greater than the credit of the bridge, {credit}"
            );
            return Err(invalid(text));
        }
        if self.links.bridge_count() >= limits::BRIDGES_MAX {
            let text = "a broker can have no more bridges";
            return Err(refuse(ErrorCode::RESOURCE_LIMIT_EXCEEDED, text));
        }
        let owner = link.owner;
        self.say_bridge(&definition);
        self.links.add_bridge(definition, self.time);
        self.scratch.link_news.owners.extend(owner);
        Ok(())
    }

    fn delete_bridge(&mut self, name: &str) {
        let owner = self.links.bridge(name).and_then(|(link, _)| link.owner);
        let Some(bridge) = self.links.remove_bridge(name) else {
            return;
        };
        self.scratch.link_news.owners.extend(owner);
        if bridge.definition.is_durable {
            let name = Text::from(name);
            self.scratch.facts.defined(|| Fact::BridgeDeleted { name });
        }
    }

    /// Nothing, if it is not from the owner that the link has now.
    fn take_report(&mut self, by: MemberId, report: Report) {
        let Some(link) = self.links.get_mut(&report.link) else {
            return;
        };
        if link.owner != Some(by) || link.number != report.number {
            return;
        }
        let was_up = link.state == LinkState::Operational;
        let is_up = report.state == LinkState::Operational;
        link.state = report.state;
        link.last_error = report.error;
        link.address = report
            .address
            .filter(|address| *address != link.definition.address);
        link.connection = report.connection;
        let remote = remote_of(link);
        match (was_up, is_up) {
            (false, true) => self.happened(|| Event::LinkUp { remote }),
            (true, false) => self.happened(|| Event::LinkDown { remote }),
            _ => {}
        }
    }

    fn note_link_down(&mut self, link: &Link) {
        if link.state == LinkState::Operational {
            let remote = remote_of(link);
            self.happened(|| Event::LinkDown { remote });
        }
    }

    /// Members have come or gone: every link has an owner among those that are there.
    pub(super) fn share_out_links(&mut self) {
        if self.links.is_empty() {
            return;
        }
        let there: Vec<MemberId> = self.agents.all().map(|agent| agent.member).collect();
        let concerned = self.links.share_out(&there);
        self.scratch.link_news.owners.extend(concerned);
    }

    /// Tells owners of links what they are to look at again.
    pub(in crate::broker) fn tell_owners_of_links(&mut self, out: &mut Out) {
        if self.scratch.link_news.is_empty() {
            return;
        }
        let told = std::mem::take(&mut self.scratch.link_news);
        for agent in self.agents.all().collect::<Vec<_>>() {
            let follows = |exchange: &&Text| self.links.followers(exchange).contains(&agent.member);
            let changed = told.news.bindings.iter();
            let news = LinkNews {
                are_links: told.owners.contains(&agent.member),
                bindings: changed
                    .filter(|(exchange, _)| follows(exchange))
                    .map(|(exchange, keys)| (exchange.clone(), keys.clone()))
                    .collect(),
                again: told.news.again.iter().filter(follows).cloned().collect(),
            };
            if news != LinkNews::default() {
                let told = Effect::Agent(Box::new(ForAgent::Links(news)));
                out.effects.push((agent, told));
            }
        }
    }

    /// The bindings of a key have changed: owners of links that carry them are told.
    pub(super) fn note_bindings(&mut self, exchange: ExchangeId, key: &str) {
        if self.links.is_empty() {
            return;
        }
        let Some(found) = self.exchanges.get(exchange.0) else {
            return;
        };
        if self.links.are_followed(&found.name) {
            let key = found.kind.kept_key(key);
            let news = &mut self.scratch.link_news.news;
            news.bindings
                .entry(found.name.clone())
                .or_default()
                .insert(key);
        }
    }

    /// A bind by a link. What is left of it is bound as usual; None when nothing is.
    ///
    /// # Errors
    /// It is none, or there are too many origins.
    pub(super) fn bind_by_link(
        &mut self,
        by: Option<SessionId>,
        operation: Operation,
        bind: ExchangeBind,
        out: &mut Out,
    ) -> Result<(), Refusal> {
        match operation {
            Operation::Hello => Ok(()),
            Operation::Reorigin => {
                let id = self.exchange_named(&bind.exchange)?;
                if self.exchange_at(id).is_some() && self.links.are_followed(&bind.exchange) {
                    self.scratch.link_news.news.again.insert(bind.exchange);
                }
                Ok(())
            }
            Operation::Bind { origin, tags } => self.bind_for(by, (origin, tags), bind, out),
            Operation::Unbind { origin } => {
                let (queue, exchange) = self.bindable(by, &bind.queue, &bind.exchange)?;
                let found = self.exchange_mut(exchange);
                let key = found.kind.kept_key(&bind.binding_key);
                let (is_changed, is_gone) = found.origins.take(queue, &key, &origin);
                if is_gone {
                    self.forget_scoped(by, (exchange, queue), &bind.binding_key);
                    self.unbind_queue_key(exchange, queue, &bind.binding_key);
                } else if is_changed {
                    self.note_bindings(exchange, &key);
                }
                Ok(())
            }
        }
    }

    fn bind_for(
        &mut self,
        by: Option<SessionId>,
        origin: (Text, Text),
        bind: ExchangeBind,
        out: &mut Out,
    ) -> Result<(), Refusal> {
        let (queue, exchange) = self.bindable(by, &bind.queue, &bind.exchange)?;
        let found = self.exchange_mut(exchange);
        let key = found.kind.kept_key(&bind.binding_key);
        let was_there = found.kind.has_key(queue, &bind.binding_key);
        self.bind_plainly(by, bind, out)?;
        let origins = &mut self.exchange_mut(exchange).origins;
        let Some(is_changed) = origins.add((queue, &key), origin, was_there) else {
            let text = "a binding can be wanted by no more brokers";
            return Err(refuse(ErrorCode::RESOURCE_LIMIT_EXCEEDED, text));
        };
        if is_changed {
            self.note_bindings(exchange, &key);
        }
        Ok(())
    }

    /// Somebody has bound what is bound already: if it is not a link, it is here that it is wanted, too.
    pub(super) fn note_bound_here(
        &mut self,
        exchange: ExchangeId,
        queue: QueueId,
        key: &str,
        arguments: &Map,
    ) {
        let found = self.exchange_mut(exchange);
        if found.origins.is_empty() || origins::is_of_link(arguments) {
            return;
        }
        let key = found.kind.kept_key(key);
        if found.origins.add_local(queue, &key) {
            self.note_bindings(exchange, &key);
        }
    }

    /// A binding of a session's scope ends. What somebody else has bound so, too, stays.
    pub(super) fn end_scoped_binding(&mut self, binding: &ScopedBinding) {
        let (exchange, queue) = (binding.exchange, binding.queue.id);
        if let Some(found) = self.exchanges.get_mut(exchange.0) {
            let key = found.kind.kept_key(&binding.key);
            if found.origins.end(queue, &key) {
                return self.note_bindings(exchange, &key);
            }
        }
        self.unbind_queue_key(exchange, queue, &binding.key);
    }

    fn forget_scoped(
        &mut self,
        by: Option<SessionId>,
        (exchange, queue): (ExchangeId, QueueId),
        key: &Text,
    ) {
        if let Some(id) = by {
            let binding = ScopedBinding {
                exchange,
                queue: self.queue(queue).reference,
                key: key.clone(),
            };
            self.session_mut(id).scoped_bindings.remove(&binding);
        }
    }

    fn say_link(&mut self, definition: &LinkDefinition) {
        if definition.is_durable {
            let definition = Box::new(definition.clone());
            self.scratch.facts.defined(|| Fact::LinkDefined(definition));
        }
    }

    fn say_bridge(&mut self, definition: &BridgeDefinition) {
        if definition.is_durable {
            let definition = Box::new(definition.clone());
            self.scratch
                .facts
                .defined(|| Fact::BridgeDefined(definition));
        }
    }

    /// Links to other brokers.
    pub fn links(&self) -> &crate::broker::links::Links {
        &self.links
    }

    /// An exchange's bindings and for whom links have made them: what a link has to tell its peer.
    pub fn bindings_to_tell(
        &self,
        exchange: &str,
    ) -> Option<(&Kind, &crate::broker::origins::Origins)> {
        let id = self.exchange_names.get(exchange)?;
        let found = self.exchanges.get(id.0)?;
        Some((&found.kind, &found.origins))
    }
}

/// What events call the other broker of a link.
fn remote_of(link: &Link) -> Text {
    let address = link.address();
    format!("{}:{}", address.host, address.port).into()
}
