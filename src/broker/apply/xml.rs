//! Publishing to xml exchanges: what a message matches was decided before, of bindings that may have
//! changed since. See `broker::xml`.

use std::sync::Arc;

use super::refuse;
use crate::broker::command::{Command, Refusal, Request, UnreadableBind};
use crate::broker::core::Core;
use crate::broker::effect::{Again, Effect, KeyBindings, Out};
use crate::broker::exchange::{Kind, xml};
use crate::broker::exchanges::Exchange;
use crate::broker::ids::{ChannelKey, ExchangeId, SessionId};
use crate::broker::limits;
use crate::broker::xml::Turn;
use crate::wire::{CommandId, ErrorCode, ExchangeBind, Text};

impl Core {
    /// Does a command when there are xml exchanges, or gives it back.
    #[cold]
    pub(super) fn command_in_turn(
        &mut self,
        id: SessionId,
        command: CommandId,
        (sync, request): (bool, Request),
        out: &mut Out,
    ) {
        let request = self.whole(id, request);
        let stale = match self.xml.turn(id, command) {
            Turn::Now(stale) => stale,
            Turn::Later => {
                self.xml.give_back(id, command, false);
                return self.ask_again(id, command, (sync, request), None, out);
            }
        };
        let matching = self.xml.take_matching(id, command);
        self.scratch.matching.clear();
        let Some((exchange, key)) = self.published_to(&request) else {
            return self.go_on_in_turn(id, command, (sync, request), out);
        };
        let version = self.xml.version(exchange, &key);
        let queries = self.queries(exchange, &key);
        let is_stale = match matching {
            Some(matching) if matching.version == version => {
                self.scratch.matching = matching.places;
                return self.go_on_in_turn(id, command, (sync, request), out);
            }
            // Nothing is bound to the key: there is nothing to match.
            _ if queries.is_empty() => {
                return self.go_on_in_turn(id, command, (sync, request), out);
            }
            matching => matching.is_some(),
        };
        if stale >= limits::MATCHINGS_MAX {
            let text = "the bindings of the exchange change faster than messages can be matched";
            let refusal = refuse(ErrorCode::RESOURCE_LIMIT_EXCEEDED, text);
            let request = Request::Refused(Box::new(refusal));
            return self.go_on_in_turn(id, command, (sync, request), out);
        }
        self.xml.give_back(id, command, is_stale);
        let bindings = KeyBindings {
            exchange: self.exchange_mut(exchange).name.clone(),
            key,
            version,
            queries,
        };
        self.ask_again(id, command, (sync, request), Some(bindings), out);
    }

    /// Does a command, and lets those behind it come.
    fn go_on_in_turn(
        &mut self,
        id: SessionId,
        command: CommandId,
        asked: (bool, Request),
        out: &mut Out,
    ) {
        let incoming = &mut self.session_mut(id).incoming;
        incoming.go_on_behind(command);
        let next = incoming.next;
        self.xml.go_on(id, next);
        self.take_command(id, command, asked, out);
        self.scratch.matching.clear();
    }

    fn ask_again(
        &mut self,
        id: SessionId,
        command: CommandId,
        (sync, request): (bool, Request),
        bindings: Option<KeyBindings>,
        out: &mut Out,
    ) {
        let session = self.session(id);
        let (key, channel) = (session.connection, session.channel);
        let command = Command::Session {
            at: ChannelKey {
                connection: key.number,
                channel,
            },
            id: command,
            sync,
            request,
        };
        let again = Box::new(Again {
            channel,
            command,
            bindings,
        });
        out.effects.push((key, Effect::Again(again)));
    }

    /// A detach behind commands that were given back comes again behind them.
    pub(in crate::broker) fn waits_to_detach(
        &mut self,
        id: SessionId,
        at: ChannelKey,
        out: &mut Out,
    ) -> bool {
        if !self.xml.has_given_back(id) {
            return false;
        }
        let again = Box::new(Again {
            channel: at.channel,
            command: Command::Detach { at },
            bindings: None,
        });
        let key = self.session(id).connection;
        out.effects.push((key, Effect::Again(again)));
        true
    }

    /// A transfer whose message has come in parts, with the message: the parts are taken, whether the
    /// transfer is done or given back.
    fn whole(&mut self, id: SessionId, request: Request) -> Request {
        let Request::TransferOfParts(publish) = request else {
            return request;
        };
        let connection = self.session(id).connection;
        match self.parts.take(connection, &publish) {
            Some(message) => Request::Transfer {
                destination: publish.destination,
                accept_mode: publish.accept_mode,
                message: Arc::new(message),
            },
            None => {
                let text = "the message has not come as it was sent";
                Request::Refused(Box::new(refuse(ErrorCode::INTERNAL_ERROR, text)))
            }
        }
    }

    /// The xml exchange and the key that a request publishes to, if it does.
    fn published_to(&self, request: &Request) -> Option<(ExchangeId, Text)> {
        let Request::Transfer {
            destination,
            message,
            ..
        } = request
        else {
            return None;
        };
        let id = *self.exchange_names.get(destination)?;
        let exchange = self.exchanges.get(id.0)?;
        matches!(exchange.kind, Kind::Xml(_)).then(|| (id, message.routing_key.as_str().into()))
    }

    fn queries(&self, exchange: ExchangeId, key: &str) -> Vec<Text> {
        match self.exchanges.get(exchange.0).map(|found| &found.kind) {
            Some(Kind::Xml(xml)) => xml.queries(key),
            _ => Vec::new(),
        }
    }

    /// The bindings of a key have changed, if the exchange is there and is an xml exchange.
    pub(super) fn note_xml_change(&mut self, exchange: ExchangeId, key: &str) {
        if let Some(Kind::Xml(xml)) = self.exchanges.get(exchange.0).map(|found| &found.kind) {
            let is_bound = xml.is_bound(None, Some(key));
            self.xml.note_change(exchange, key, is_bound);
        }
    }

    /// A bind whose query was found unreadable: an xml exchange refuses it, for others it says nothing.
    pub(super) fn bind_unreadable(
        &mut self,
        by: Option<SessionId>,
        unreadable: UnreadableBind,
        out: &mut Out,
    ) -> Result<(), Refusal> {
        let UnreadableBind { bind, text } = unreadable;
        let exchange = self.exchange_named(&bind.exchange)?;
        if let Kind::Xml(_) = self.exchange_mut(exchange).kind {
            return Err(unreadable_query(&bind, &text));
        }
        self.exchange_bind(by, bind, out)
    }

    /// The exchange of a name that can be an alternate. To an xml exchange messages come by themselves
    /// only, since nobody would have decided what others match.
    pub(super) fn alternate_named(&self, name: &str) -> Result<ExchangeId, Refusal> {
        let id = self.exchange_named(name)?;
        match self.exchanges.get(id.0).map(|exchange| &exchange.kind) {
            Some(Kind::Xml(_)) => Err(no_alternate(name)),
            _ => Ok(id),
        }
    }

    /// The same, where none may be named.
    pub(super) fn alternate_of(&self, name: Option<&str>) -> Result<Option<ExchangeId>, Refusal> {
        match name {
            None | Some("") => Ok(None),
            Some(name) => self.alternate_named(name).map(Some),
        }
    }

    /// What a new xml exchange cannot do: to give its last message to queues that are bound later.
    pub(super) fn see_that_xml_can(exchange: &Exchange) -> Result<(), Refusal> {
        let routed = exchange.routed.as_ref();
        match exchange.kind {
            Kind::Xml(_) if routed.is_some_and(|routed| routed.keeps_last) => {
                let text = "an xml exchange does not keep its last message (qpid.ive)";
                Err(refuse(ErrorCode::NOT_IMPLEMENTED, text))
            }
            _ => Ok(()),
        }
    }
}

/// What is told of an alternate that can be none.
pub(super) fn no_alternate(name: &str) -> Refusal {
    let text = format_args!("{name} is an xml exchange, which is no alternate");
    refuse(ErrorCode::NOT_IMPLEMENTED, text)
}

/// What is told of a query that cannot be read. The beginning is qpidd's.
pub(super) fn unreadable_query(bind: &ExchangeBind, text: &str) -> Refusal {
    let query = bind.arguments.as_ref().and_then(xml::query);
    let query = query.unwrap_or_default();
    let text = format_args!("Could not parse xquery:{query}: {text}");
    refuse(ErrorCode::INTERNAL_ERROR, text)
}
