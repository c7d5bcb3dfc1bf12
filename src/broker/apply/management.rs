//! Commands of the agents of management, and requests for them.

use std::sync::Arc;

use super::guarded::By;
use super::refuse;
use crate::broker::command::Refusal;
use crate::broker::core::{Acting, Core};
use crate::broker::effect::{Effect, Out};
use crate::broker::exchange::Kind;
use crate::broker::exchanges::Exchange;
use crate::broker::ids::{ConnectionKey, ConnectionNumber, MemberId, SessionId};
use crate::broker::limits;
use crate::broker::management::{Action, AgentCommand, Face, ForAgent, Traffic};
use crate::broker::message::{Message, Stored};
use crate::broker::session::SessionName;
use crate::wire::{ErrorCode, ExchangeDeclare, ExchangeUnbind, QueueDeclare};

/// What a client is told whose connection management closes. qpidd's words.
const CLOSED_BY_MANAGEMENT: &str = "Closed by Management Request";

impl Core {
    /// A command of an agent; of one that is not open nothing but that it opens.
    pub(in crate::broker) fn agent_command(
        &mut self,
        key: ConnectionKey,
        command: AgentCommand,
        out: &mut Out,
    ) {
        match command {
            AgentCommand::Open {
                name,
                versions,
                now,
                run,
            } => {
                self.agents.open(key, name, versions, run);
                self.agents.set_wall(self.time, now);
                self.make_faces();
                self.share_out_links();
                if !self.links.is_empty() {
                    // Whoever has begun anew knows of none.
                    self.scratch.link_news.owners.insert(key.member);
                }
            }
            _ if !self.agents.is_agent(key) => {}
            AgentCommand::Tell(event) => self.happened(|| event),
            AgentCommand::Now(now) => self.agents.set_wall(self.time, now),
            AgentCommand::Took(requests) => {
                if let Some((_, agent)) = self.agents.of_member(key.member) {
                    agent.took(&requests);
                }
            }
            AgentCommand::Publish { exchange, message } => {
                self.publish_for_broker(key, &exchange, message, out);
            }
            AgentCommand::AskCounts => self.ask_counts(key, out),
            AgentCommand::Counts {
                asker,
                counts,
                is_last,
            } => self.take_counts(key, asker, (counts, is_last), out),
            AgentCommand::Stopping => {
                for agent in self.agents.all() {
                    let told = Effect::Agent(Box::new(ForAgent::Stopping));
                    out.effects.push((agent, told));
                }
            }
            AgentCommand::Act {
                number,
                requester,
                action,
            } => {
                self.scratch.acting = Acting::Requester(requester);
                // What is told rests on what was done, and what was done before.
                out.rests_on_facts = true;
                if let Some(outcome) = self.act(key, number, *action, out).transpose() {
                    tell_outcome(key, number, outcome, out);
                }
            }
        }
    }

    /// Makes the exchanges that agents are reached by, those that are not there.
    fn make_faces(&mut self) {
        for (face, name, kind) in Face::ALL {
            if let Some(found) = self.exchange_names.get(name).copied() {
                let exchange = self.exchange_mut(found);
                if exchange.kind.type_name() == kind {
                    exchange.face = Some(face);
                }
                continue;
            }
            let kind = Kind::of_type(kind).expect("the faces name known types");
            let mut exchange = Exchange::new(name.into(), kind);
            exchange.face = Some(face);
            exchange.created = self.time;
            self.add_exchange(exchange);
        }
    }

    /// Asks all agents but one for what their members' sockets count.
    fn ask_counts(&mut self, asker: ConnectionKey, out: &mut Out) {
        let others = self.agents.all().filter(|agent| *agent != asker);
        let others: Vec<ConnectionKey> = others.collect();
        let agents = others.len();
        for agent in others {
            let asked = ForAgent::AskCounts { asker };
            out.effects.push((agent, Effect::Agent(Box::new(asked))));
        }
        let told = ForAgent::CountsAsked { agents };
        out.effects.push((asker, Effect::Agent(Box::new(told))));
    }

    fn take_counts(
        &mut self,
        agent: ConnectionKey,
        asker: ConnectionKey,
        (counts, is_last): (Vec<(ConnectionNumber, Traffic)>, bool),
        out: &mut Out,
    ) {
        let member = agent.member;
        for (number, traffic) in counts {
            let found = self.connections.id(ConnectionKey { member, number });
            if let Some(connection) = found.and_then(|id| self.connections.get_mut(id)) {
                connection.traffic = traffic;
            }
        }
        if is_last && self.agents.is_agent(asker) {
            let told = Effect::Agent(Box::new(ForAgent::CountsTold));
            out.effects.push((asker, told));
        }
    }

    /// Gives a message to the agent of its publisher's member, if it is for the agent. Gives whether
    /// the message goes to queues, too. One that is too large is not looked at, as in qpidd.
    ///
    /// # Errors
    /// The agent has taken too little of what it was given.
    pub(super) fn give_to_agent(
        &mut self,
        id: SessionId,
        face: Face,
        message: &Arc<Message>,
        out: &mut Out,
    ) -> Result<bool, Refusal> {
        let (is_for_agent, goes_on) = face.takes(&message.routing_key, &self.agents.name);
        if !is_for_agent {
            return Ok(true);
        }
        let connection = self.session(id).connection;
        let bytes = message.size();
        let requester = self.requester();
        let agent = self.agents.of_member(connection.member);
        let Some((key, agent)) = agent.filter(|_| bytes <= limits::AGENT_REQUEST_SIZE_MAX) else {
            return Ok(goes_on);
        };
        if !agent.takes_request(connection.number, bytes) {
            let text = "management has more requests than it can hold";
            return Err(refuse(ErrorCode::RESOURCE_LIMIT_EXCEEDED, text));
        }
        let request = ForAgent::Request {
            face,
            connection,
            requester,
            message: message.clone(),
        };
        out.effects.push((key, Effect::Agent(Box::new(request))));
        // What is answered may be what a batch before has made.
        out.rests_on_facts = true;
        Ok(goes_on)
    }

    /// The broker publishes. Nobody is there to be told of a queue that is full.
    pub(super) fn publish_for_broker(
        &mut self,
        publisher: ConnectionKey,
        exchange: &str,
        message: Arc<Message>,
        out: &mut Out,
    ) {
        let Ok(exchange) = self.exchange_named(exchange) else {
            self.counters.discards_no_route += 1;
            return;
        };
        let mut stored = Stored {
            handle: self.scratch.handle,
            publisher,
            message,
        };
        let mut matched = std::mem::take(&mut self.scratch.matched);
        self.route(exchange, &mut stored, None, &mut matched);
        // Err: the queue has counted it as an overflow.
        let _ = self.enqueue_all(&stored, &matched, out);
        matched.clear();
        self.scratch.matched = matched;
    }

    /// Does what management asks. None: it goes on in later entries, and is told then.
    fn act(
        &mut self,
        agent: ConnectionKey,
        number: u64,
        action: Action,
        out: &mut Out,
    ) -> Result<Option<u64>, Refusal> {
        match action {
            Action::Barrier => {}
            Action::CreateQueue(declare) => self.create_queue(&declare)?,
            Action::DeleteQueue(delete) => self.delete_queue(&delete, out)?,
            Action::CreateExchange(declare) => self.create_exchange(*declare)?,
            Action::DeleteExchange(delete) => self.exchange_delete(&delete)?,
            Action::Bind(bind) => self.exchange_bind(None, *bind, out)?,
            Action::BindUnreadable(bind) => self.bind_unreadable(None, *bind, out)?,
            Action::Unbind(unbind) => return self.take_binding_away(&unbind).map(Some),
            Action::Take(take) => return self.take(agent, number, *take, out),
            Action::CloseConnection(key) => {
                if self.connections.id(key).is_none() {
                    return Err(refuse(ErrorCode::NOT_FOUND, "the connection is gone"));
                }
                let text = CLOSED_BY_MANAGEMENT.into();
                out.effects.push((key, Effect::Close { text }));
            }
            Action::EndSession { user, name } => {
                let name = SessionName {
                    user,
                    name: Arc::from(name),
                };
                let found = self.session_names.get(&name).copied();
                let session =
                    found.ok_or_else(|| refuse(ErrorCode::NOT_FOUND, "the session is gone"))?;
                self.end_session(session, true, out);
            }
            Action::Guarded(guarded) => self.guarded(By::Agent(agent), *guarded, out)?,
            Action::Redirect(redirect) => self.redirect(&redirect, out)?,
            Action::Stop(member) => self.stop_members(member, out)?,
            Action::TakeOut(member) => self.take_out_member(member)?,
            Action::Raise(level) => self.raise(level)?,
            Action::CreateLink(_)
            | Action::Connect(_)
            | Action::DeleteLink(_)
            | Action::CreateBridge(_)
            | Action::AddBridge(_)
            | Action::DeleteBridge(_)
            | Action::ReportLink(_) => self.link_action(agent.member, action)?,
            Action::Import(import) => return self.import(*import, out).map(Some),
            Action::CheckImport(import) => return self.check_import(&import).map(Some),
            Action::Stamp(is_stamping) => {
                self.agents.is_stamping = is_stamping;
                for key in self.agents.all() {
                    let told = ForAgent::Stamp(is_stamping);
                    out.effects.push((key, Effect::Agent(Box::new(told))));
                }
            }
        }
        Ok(Some(0))
    }

    /// Has the agents of members end their processes. Each waits for the others that are to end: one that
    /// ended at once might take the majority with it by which the others hear of it.
    fn stop_members(&self, member: Option<MemberId>, out: &mut Out) -> Result<(), Refusal> {
        let is_meant = |agent: &ConnectionKey| member.is_none_or(|member| member == agent.member);
        let meant: Vec<_> = self.agents.all().filter(is_meant).collect();
        if meant.is_empty() {
            let text = "the member is not there to be told";
            return Err(refuse(ErrorCode::NOT_FOUND, text));
        }
        let agents = meant.len();
        for agent in meant {
            let told = Effect::Agent(Box::new(ForAgent::Stop { agents }));
            out.effects.push((agent, told));
        }
        Ok(())
    }

    /// Has whoever leads take a member out of the cluster.
    fn take_out_member(&mut self, member: MemberId) -> Result<(), Refusal> {
        if !self.members.parts().contains(&member) {
            let text = format_args!("no member is called {:x}", member.0);
            return Err(refuse(ErrorCode::NOT_FOUND, text));
        }
        match self.members.take_out(member) {
            true => Ok(()),
            false => {
                let text = "no member would be left, and nothing that is in the cluster";
                Err(refuse(ErrorCode::PRECONDITION_FAILED, text))
            }
        }
    }

    pub(super) fn create_queue(&mut self, declare: &QueueDeclare) -> Result<(), Refusal> {
        let alternate = self.alternate_of(declare.alternate_exchange.as_deref())?;
        if self.queue_names.contains_key(&declare.queue) {
            return Err(exists(&declare.queue));
        }
        self.make_queue(declare, alternate).map(|_| ())
    }

    fn create_exchange(&mut self, declare: ExchangeDeclare) -> Result<(), Refusal> {
        let alternate = self.alternate_of(declare.alternate_exchange.as_deref())?;
        if self.exchange_names.contains_key(&declare.exchange) {
            return Err(exists(&declare.exchange));
        }
        self.make_exchange(declare, alternate)
    }

    /// Gives how many bindings went: one that is not there is not missed, as with the command of AMQP.
    fn take_binding_away(&mut self, unbind: &ExchangeUnbind) -> Result<u64, Refusal> {
        let (queue, exchange) = self.bindable(None, &unbind.queue, &unbind.exchange)?;
        let kind = &mut self.exchange_mut(exchange).kind;
        if kind.arguments(queue, &unbind.binding_key).is_none() {
            return Ok(0);
        }
        self.unbind_queue_key(exchange, queue, &unbind.binding_key);
        Ok(1)
    }
}

/// What is told of a name that is taken. qpidd's words.
pub(super) fn exists(name: &str) -> Refusal {
    Refusal {
        code: ErrorCode::NOT_ALLOWED,
        class: 0,
        command: 0,
        text: format!("object already exists: {name}"),
    }
}

/// Tells an agent what became of its command.
pub(super) fn tell_outcome(
    agent: ConnectionKey,
    number: u64,
    outcome: Result<u64, Refusal>,
    out: &mut Out,
) {
    let outcome = ForAgent::Outcome { number, outcome };
    out.effects.push((agent, Effect::Agent(Box::new(outcome))));
}
