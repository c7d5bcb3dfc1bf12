//! Connections and sessions: open, attach, the two command sequences, end.

use std::sync::Arc;

use super::guarded::By;
use super::refuse;
use crate::broker::branch::DtxRequest;
use crate::broker::command::{ConnectionDetails, ConnectionRecord, Refusal, Request};
use crate::broker::connections::Connection;
use crate::broker::core::{Acting, Core, Work};
use crate::broker::effect::{Effect, Out};
use crate::broker::event::Event;
use crate::broker::guard::Guarded;
use crate::broker::ids::{ConnectionKey, MemberId, SessionId};
use crate::broker::kept::Outgoing;
use crate::broker::limits;
use crate::broker::plant::{Plant, is_planted};
use crate::broker::ranges::without;
use crate::broker::session::{Session, SessionName};
use crate::wire::{
    CommandId, DetachCode, ErrorCode, MessageResumeResult, RejectCode, SequenceSet, Struct32,
};

impl Core {
    pub(in crate::broker) fn connection_open(
        &mut self,
        key: ConnectionKey,
        record: ConnectionRecord,
    ) {
        self.connections.insert(key, record, self.time);
    }

    /// What management shows of a connection, which is told that it is there.
    pub(in crate::broker) fn connection_details(
        &mut self,
        key: ConnectionKey,
        details: ConnectionDetails,
    ) {
        let found = self.connections.id(key);
        let Some(connection) = found.and_then(|id| self.connections.get_mut(id)) else {
            return;
        };
        let is_outgoing = details.is_outgoing;
        connection.details = Some(Box::new(details));
        if is_outgoing {
            // What is told of a link is whether it is there.
            return;
        }
        let requester = connection.requester();
        let properties = connection.record.client_properties.clone();
        self.happened(|| Event::ClientConnect {
            requester,
            properties,
        });
    }

    pub(in crate::broker) fn connection_end(&mut self, key: ConnectionKey, out: &mut Out) {
        if self.agents.is_agent(key) {
            self.agents.close(key);
            self.share_out_links();
        }
        let found = self.connections.id(key);
        let Some(connection) = found.and_then(|id| self.connections.get(id)) else {
            return;
        };
        for session in connection.channels.values().copied().collect::<Vec<_>>() {
            self.leave_session(session, false, out);
        }
        let ended = self.connections.remove(key);
        self.parts.forget(key);
        let is_clients = |ended: &Connection| {
            let details = ended.details.as_ref();
            details.is_some_and(|details| !details.is_outgoing)
        };
        if let Some(connection) = ended.filter(is_clients) {
            self.happened(|| Event::ClientDisconnect {
                requester: connection.requester(),
                properties: connection.record.client_properties,
            });
        }
    }

    /// Ends all connections of a member.
    pub(in crate::broker) fn end_member(&mut self, member: MemberId, out: &mut Out) {
        self.agents.close_member(member);
        self.share_out_links();
        for key in self.connections.of_member(member) {
            self.connection_end(key, out);
        }
    }

    /// 0-10: session.attach. The same name again on the same channel is idempotent. Without force a
    /// name that is attached elsewhere is busy; with force its holder is detached, so that a client
    /// whose old connection has not been noticed as dead can go on. A session with a timeout goes on
    /// with all that it has, one without ends and a new one begins.
    pub(in crate::broker) fn attach(
        &mut self,
        key: ConnectionKey,
        channel: u16,
        name: Vec<u8>,
        force: bool,
        out: &mut Out,
    ) {
        let Some(connection_id) = self.connections.id(key) else {
            return;
        };
        let Some(connection) = self.connections.get(connection_id) else {
            return;
        };
        let name = SessionName {
            user: connection.record.user.clone(),
            name: Arc::from(name),
        };
        let refused = |code| Effect::Detached {
            channel,
            name: name.name.clone(),
            code,
        };
        if let Some(there) = connection.channels.get(&channel) {
            if self.session(*there).name != name {
                out.effects.push((key, refused(DetachCode::TRANSPORT_BUSY)));
            }
            return;
        }
        if connection.channels.len() >= limits::SESSIONS_PER_CONNECTION_MAX {
            out.effects.push((key, refused(DetachCode::TRANSPORT_BUSY)));
            return;
        }
        if let Some(holder) = self.session_names.get(&name).copied() {
            let is_free = self.session(holder).deadline().is_some();
            let is_kept = self.session(holder).is_kept() && !is_planted(Plant::TakeoverEnds);
            if is_free || force && is_kept {
                self.resume(holder, (key, connection_id), channel, out);
                return;
            }
            if !force && !is_planted(Plant::NameTakenTwice) {
                out.effects.push((key, refused(DetachCode::SESSION_BUSY)));
                return;
            }
            if force {
                self.end_session(holder, true, out);
            }
        }
        let attached = Effect::Attached {
            channel,
            name: name.name.clone(),
            resumed: None,
        };
        let mut session = Session::new(name.clone(), (key, connection_id), channel);
        session.created = self.time;
        let connection = self.connections.get(connection_id);
        session.is_of_link = connection.is_some_and(|connection| {
            let details = connection.details.as_ref();
            details.is_some_and(|details| details.is_link)
        });
        let id = SessionId(self.sessions.insert(session));
        self.session_names.insert(name, id);
        if let Some(connection) = self.connections.get_mut(connection_id) {
            connection.channels.insert(channel, id);
        }
        out.effects.push((key, attached));
    }

    /// A numbered command of a session.
    pub(in crate::broker) fn session_command(
        &mut self,
        id: SessionId,
        command: CommandId,
        sync: bool,
        request: Request,
        out: &mut Out,
    ) {
        if !self.xml.is_idle() {
            return self.command_in_turn(id, command, (sync, request), out);
        }
        self.take_command(id, command, (sync, request), out);
    }

    /// Does a command whose turn it is.
    #[inline]
    pub(super) fn take_command(
        &mut self,
        id: SessionId,
        command: CommandId,
        (sync, request): (bool, Request),
        out: &mut Out,
    ) {
        self.scratch.acting = Acting::Session(id);
        let incoming = &mut self.session_mut(id).incoming;
        incoming.go_on_behind(command);
        if incoming.ranges() >= limits::COMPLETED_RANGES_MAX {
            let text = "too many gaps between completed commands that are not known-completed";
            let refusal = refuse(ErrorCode::RESOURCE_LIMIT_EXCEEDED, text);
            let connection = self.session(id).connection;
            self.parts.forget(connection);
            return self.fail_session(id, command, refusal, out);
        }
        let told = sync || matches!(request, Request::Sync);
        let code = code_of(&request);
        match self.perform(id, command, request, out) {
            Ok(()) => self.complete_unless_pending(id, command, told),
            Err(mut refusal) => {
                if refusal.class == 0 {
                    (refusal.class, refusal.command) = code;
                }
                self.fail_session(id, command, refusal, out);
            }
        }
    }

    fn perform(
        &mut self,
        id: SessionId,
        command: CommandId,
        request: Request,
        out: &mut Out,
    ) -> Result<(), Refusal> {
        match request {
            Request::Transfer {
                destination,
                accept_mode,
                message,
            } => self.transfer(id, command, &destination, accept_mode, message, out),
            Request::TransferOfParts(publish) => self.transfer_of_parts(id, command, &publish, out),
            Request::Accept { transfers } => self.accept(id, &transfers, out),
            Request::Release {
                transfers,
                set_redelivered,
            } => {
                self.release(id, &transfers, set_redelivered, out);
                Ok(())
            }
            Request::Reject { transfers } => self.reject(id, &transfers, out),
            Request::Acquire { transfers } => self.acquire(id, command, &transfers, out),
            Request::Flow {
                destination,
                unit,
                value,
            } => self.flow(id, &destination, unit, value, out),
            Request::SetFlowMode {
                destination,
                flow_mode,
            } => self.set_flow_mode(id, &destination, flow_mode),
            Request::FlushSubscription { destination } => {
                self.flush(id, command, &destination, out)
            }
            Request::Stop { destination } => self.stop(id, &destination),
            Request::Cancel { destination } => self.cancel(id, &destination, out),
            Request::Subscribe(subscribe) => self.subscribe(id, *subscribe),
            Request::TxSelect => {
                self.select(id);
                Ok(())
            }
            Request::TxCommit => self.commit(id, out),
            Request::TxRollback => self.rollback(id),
            Request::ExchangeDeclare(declare) => self.exchange_declare(*declare, out),
            Request::ExchangeDelete(delete) => self.exchange_delete(&delete),
            Request::ExchangeQuery(query) => self.exchange_query(id, command, &query, out),
            Request::ExchangeBind(bind) => self.exchange_bind(Some(id), *bind, out),
            Request::BindUnreadable(unreadable) => self.bind_unreadable(Some(id), *unreadable, out),
            Request::ExchangeUnbind(unbind) => self.exchange_unbind(id, &unbind, out),
            Request::ExchangeBound(bound) => self.exchange_bound(id, command, &bound, out),
            Request::QueueDeclare(declare) => self.queue_declare(id, *declare, out),
            Request::QueueDelete(delete) => self.queue_delete(id, &delete, out),
            Request::QueuePurge(purge) => self.queue_purge(&purge, out),
            Request::QueueQuery(query) => self.queue_query(id, command, &query, out),
            Request::Refused(refusal) => Err(*refusal),
            Request::Sync => {
                let incoming = &mut self.session_mut(id).incoming;
                if !incoming.pending.is_empty() {
                    incoming.waiting.insert(command);
                }
                Ok(())
            }
            Request::MessageResume => {
                // 0-10: message.resume/unknown-resume-id. Nothing is kept of a transfer that came in
                // part, so no id is known.
                let value = Struct32::of(&MessageResumeResult { offset: Some(0) });
                self.answer(id, command, value, out);
                Ok(())
            }
            Request::Nothing => Ok(()),
            Request::Dtx(request) => self.dtx(id, command, *request, out),
            Request::Guarded(guarded) => self.guarded(By::Session(id), *guarded, out),
        }
    }

    /// 0-10: execution.sync completes when all commands before it have.
    fn complete_unless_pending(&mut self, id: SessionId, command: CommandId, told: bool) {
        let session = self.sessions.get(id.0);
        if session.is_none_or(|session| !session.incoming.is_pending(command)) {
            self.complete(id, command, told);
        }
    }

    /// Commands that were pending are done, and that is told: their client has waited for it.
    pub(super) fn complete_pending(&mut self, id: SessionId, commands: &SequenceSet) {
        if let Some(session) = self.sessions.get_mut(id.0).filter(|s| !s.is_ending) {
            session.incoming.finish(commands);
            session.incoming.is_telling = true;
            self.scratch.telling.push(id);
        }
    }

    /// A command is done. Completions go out when the client asks, or when it has not said for long
    /// that it knows of them.
    /// A session that the command itself has ended is told nothing more.
    fn complete(&mut self, id: SessionId, command: CommandId, told: bool) {
        let Some(session) = self.sessions.get_mut(id.0).filter(|s| !s.is_ending) else {
            return;
        };
        let incoming = &mut session.incoming;
        incoming.completed.insert(command);
        let unknown = incoming
            .completed
            .first()
            .map_or(0, |first| first.distance_to(command));
        let many = unknown.unsigned_abs() + 1 >= limits::COMPLETED_UNKNOWN_MAX;
        let reminded = many && command.0.is_multiple_of(limits::COMPLETED_UNKNOWN_MAX);
        if told || reminded {
            incoming.is_telling = true;
            self.scratch.telling.push(id);
        }
    }

    /// What is told at the end of a batch: accepts first, then completions.
    pub(in crate::broker) fn tell(&mut self, out: &mut Out) {
        let mut telling = std::mem::take(&mut self.scratch.telling);
        for id in telling.drain(..) {
            self.tell_session(id, out);
        }
        self.scratch.telling = telling;
    }

    pub(super) fn tell_session(&mut self, id: SessionId, out: &mut Out) {
        let Some(session) = self.sessions.get_mut(id.0) else {
            return;
        };
        let (key, channel) = (session.connection, session.channel);
        if !session.incoming.accepted.is_empty() {
            let transfers = std::mem::take(&mut session.incoming.accepted);
            let is_told = session.note_outgoing(|| Outgoing::Accept {
                transfers: transfers.clone(),
            });
            let id = session.take_outgoing();
            let accept = Effect::Accept {
                channel,
                id,
                transfers,
            };
            if is_told {
                out.effects.push((key, accept));
            }
        }
        if !(session.incoming.unroutable.is_empty() && session.incoming.not_immediate.is_empty()) {
            tell_rejects(session, out);
        }
        // What a completion rests on, an answer say, may be among what is sent again: it comes behind that.
        let is_live = session.kept.as_ref().is_none_or(|kept| kept.is_live());
        if is_live && std::mem::take(&mut session.incoming.is_telling) {
            let commands = session.incoming.completed.clone();
            let unknown = match (commands.first(), commands.last()) {
                (Some(first), Some(last)) => first.distance_to(last).unsigned_abs() + 1,
                _ => 0,
            };
            let timely_reply = unknown >= limits::COMPLETED_UNKNOWN_MAX;
            out.effects.push((
                key,
                Effect::Completed {
                    channel,
                    commands,
                    timely_reply,
                },
            ));
        }
    }

    pub(in crate::broker) fn known_completed(&mut self, id: SessionId, commands: &SequenceSet) {
        let completed = &mut self.session_mut(id).incoming.completed;
        *completed = without(completed, commands);
    }

    /// 0-10: session.flush. Answered with everything already done; completions with timely-reply,
    /// as qpidd does. While a session is being resumed completions wait for what is sent again.
    pub(in crate::broker) fn session_flush(
        &mut self,
        id: SessionId,
        (expected, confirmed, completed): (bool, bool, bool),
        out: &mut Out,
    ) {
        self.tell_session(id, out);
        let Some(session) = self.sessions.get_mut(id.0) else {
            return;
        };
        let (key, channel) = (session.connection, session.channel);
        let is_live = session.kept.as_ref().is_none_or(|kept| kept.is_live());
        if expected {
            // 0-10: session.expected/commands-empty-means-new-session.
            let commands = match session.is_new() {
                true => SequenceSet::new(),
                false => SequenceSet::of(session.incoming.next),
            };
            out.effects
                .push((key, Effect::Expected { channel, commands }));
        }
        let commands = session.incoming.completed.clone();
        if confirmed {
            let mut commands = commands.clone();
            commands.union(&session.incoming.pending);
            commands.union(&session.incoming.waiting);
            out.effects
                .push((key, Effect::Confirmed { channel, commands }));
        }
        if completed && !is_live {
            session.incoming.is_telling = true;
        } else if completed {
            out.effects.push((
                key,
                Effect::Completed {
                    channel,
                    commands,
                    timely_reply: true,
                },
            ));
        }
    }

    /// Tells the answer to a query. What it says, also that something is not there, may be what a batch
    /// before has just decided: it waits until that is safe.
    pub(super) fn answer(
        &mut self,
        id: SessionId,
        command: CommandId,
        value: crate::wire::Struct32,
        out: &mut Out,
    ) {
        out.rests_on_facts = true;
        let session = self.session_mut(id);
        let (key, channel) = (session.connection, session.channel);
        let value = Box::new(value);
        let is_told = session.note_outgoing(|| Outgoing::Result {
            command,
            value: value.clone(),
        });
        let is_kept = session.kept.is_some();
        let number = session.take_outgoing();
        let result = Effect::Result {
            channel,
            id: number,
            command,
            value,
        };
        if is_told {
            out.effects.push((key, result));
        }
        if is_kept {
            self.bound_kept(id, command, out);
        }
    }

    /// A command has failed, and with it the session. What was done before is told first.
    pub(in crate::broker) fn fail_session(
        &mut self,
        id: SessionId,
        command: CommandId,
        refusal: Refusal,
        out: &mut Out,
    ) {
        self.tell_session(id, out);
        let Some(session) = self.sessions.get_mut(id.0).filter(|s| !s.is_ending) else {
            return;
        };
        let (key, channel) = (session.connection, session.channel);
        let (name, refusal) = (session.name.name.clone(), Box::new(refusal));
        if let Some(commands) = session.untold() {
            // The exception has its number behind those that are not sent again any more.
            out.effects.push((key, Effect::Gap { channel, commands }));
        }
        let outgoing = session.take_outgoing();
        let failed = Effect::Exception {
            channel,
            id: outgoing,
            command,
            name,
            refusal,
        };
        out.effects.push((key, failed));
        self.end_session(id, false, out);
    }

    /// Ends a session: it takes no more commands, its name is free, its subscriptions are gone; its
    /// messages go back in place, flagged, as work allows; then its queues and bindings go.
    pub(in crate::broker) fn end_session(&mut self, id: SessionId, reply: bool, out: &mut Out) {
        self.tell_session(id, out);
        let Some(session) = self.sessions.get_mut(id.0) else {
            return;
        };
        if session.is_ending {
            return;
        }
        session.is_ending = true;
        session.detached_reply = reply;
        let transaction = session.transaction.take();
        let (channel, name) = (session.channel, session.name.clone());
        let connection_id = session.connection_id;
        let subscriptions = std::mem::take(&mut session.subscriptions);
        session.starved.clear();
        if let Some(connection) = self.connections.get_mut(connection_id) {
            connection.channels.remove(&channel);
        }
        self.session_names.remove(&name);
        if let Some(transaction) = transaction {
            self.forget_publishes(&transaction.publishes);
        }
        self.forget_held(id);
        self.forget_detached(id);
        self.xml.forget(id);
        self.scratch.last = None;
        for subscription in subscriptions.into_values() {
            if let Some(queue) = self.remove_subscription(subscription) {
                self.session_mut(id).left.insert(queue);
            }
        }
        self.leave_branches(id);
        self.work.push_back(Work::EndSession(id));
        self.run_work(out);
    }

    /// The last of an ended session, when all its messages are back.
    pub(super) fn finish_session(&mut self, id: SessionId, out: &mut Out) {
        let Some(session) = self.sessions.remove(id.0) else {
            return;
        };
        for binding in &session.scoped_bindings {
            if self.live_queue(binding.queue).is_some() {
                self.end_scoped_binding(binding);
            }
        }
        for queue in &session.owned {
            self.queue_mut(*queue).owner = None;
        }
        for queue in &session.owned {
            self.close(*queue, out);
        }
        for queue in session.owned.iter().chain(&session.left).copied() {
            self.delete_if_unused(queue, out);
        }
        if session.detached_reply {
            let (channel, name) = (session.channel, session.name.name);
            let code = DetachCode::NORMAL;
            out.effects.push((
                session.connection,
                Effect::Detached {
                    channel,
                    name,
                    code,
                },
            ));
        }
    }
}

/// Tells of transfers that went nowhere.
fn tell_rejects(session: &mut Session, out: &mut Out) {
    let incoming = &mut session.incoming;
    let unroutable = std::mem::take(&mut incoming.unroutable);
    let not_immediate = std::mem::take(&mut incoming.not_immediate);
    let both = [
        (unroutable, RejectCode::UNROUTABLE),
        (not_immediate, RejectCode::IMMEDIATE),
    ];
    for (transfers, code) in both.into_iter().filter(|(set, _)| !set.is_empty()) {
        let is_told = session.note_outgoing(|| Outgoing::Reject {
            transfers: transfers.clone(),
            code,
        });
        let (channel, id) = (session.channel, session.take_outgoing());
        let reject = Effect::Reject {
            channel,
            id,
            transfers,
            code,
        };
        if is_told {
            out.effects.push((session.connection, reject));
        }
    }
}

/// The class and command of a request, for exceptions. As in qpidd a command with content gives 0.
fn code_of(request: &Request) -> (u8, u8) {
    match request {
        Request::Sync => (3, 1),
        Request::Transfer { .. }
        | Request::TransferOfParts(_)
        | Request::Refused(_)
        | Request::Nothing => (0, 0),
        Request::Accept { .. } => (4, 2),
        Request::Reject { .. } => (4, 3),
        Request::Release { .. } => (4, 4),
        Request::Acquire { .. } => (4, 5),
        Request::MessageResume => (4, 6),
        Request::Subscribe(_) => (4, 7),
        Request::Cancel { .. } => (4, 8),
        Request::SetFlowMode { .. } => (4, 9),
        Request::Flow { .. } => (4, 10),
        Request::FlushSubscription { .. } => (4, 11),
        Request::Stop { .. } => (4, 12),
        Request::TxSelect => (5, 1),
        Request::TxCommit => (5, 2),
        Request::TxRollback => (5, 3),
        Request::ExchangeDeclare(_) => (7, 1),
        Request::ExchangeDelete(_) => (7, 2),
        Request::ExchangeQuery(_) => (7, 3),
        Request::ExchangeBind(_) | Request::BindUnreadable(_) => (7, 4),
        Request::ExchangeUnbind(_) => (7, 5),
        Request::ExchangeBound(_) => (7, 6),
        Request::QueueDeclare(_) => (8, 1),
        Request::QueueDelete(_) => (8, 2),
        Request::QueuePurge(_) => (8, 3),
        Request::QueueQuery(_) => (8, 4),
        Request::Dtx(request) => (6, code_in_dtx(request)),
        Request::Guarded(guarded) => match **guarded {
            Guarded::QueueDeclare { .. } => (8, 1),
            Guarded::QueueDelete { .. } => (8, 2),
            Guarded::ExchangeDelete { .. } => (7, 2),
        },
    }
}

fn code_in_dtx(request: &DtxRequest) -> u8 {
    match request {
        DtxRequest::Select => 1,
        DtxRequest::Start { .. } => 2,
        DtxRequest::End { .. } => 3,
        DtxRequest::Commit { .. } => 4,
        DtxRequest::Forget { .. } => 5,
        DtxRequest::GetTimeout { .. } => 6,
        DtxRequest::Prepare { .. } => 7,
        DtxRequest::Recover => 8,
        DtxRequest::Rollback { .. } => 9,
        DtxRequest::SetTimeout { .. } => 10,
    }
}

/// The exception of a session whose queue was deleted under its subscription: no command is at
/// fault, so all its numbers are 0.
pub(super) fn queue_deleted(queue: &str) -> Refusal {
    refuse(
        ErrorCode::RESOURCE_DELETED,
        format_args!("Queue {queue} has been deleted."),
    )
}
