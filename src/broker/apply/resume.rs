//! Sessions that outlive their connection: the timeout, the time without a transport, and going on with
//! a client that has come back.
//!
//! When a session is attached again the broker says which command of the client it expects and what it has
//! confirmed, and asks the same of the client. Until the client has answered, the broker's commands wait;
//! then those that the client does not have are sent again in their order, under their numbers, as
//! headroom allows, and what came up meanwhile follows. Completions come behind all that: an answer comes
//! before the completion of its question, and no message after that of `message.stop`.

use super::refuse;
use crate::broker::command::Command;
use crate::broker::core::{Core, Work};
use crate::broker::effect::{Delivery, Effect, Out, Resumed, Tag};
use crate::broker::ids::{
    ChannelKey, ConnectionId, ConnectionKey, GroupTime, MemberId, QueueRef, SessionId,
};
use crate::broker::kept::{Kept, Outgoing, Replay};
use crate::broker::limits;
use crate::broker::plant::{Plant, is_planted};
use crate::broker::seen::Identity;
use crate::broker::session::Session;
use crate::wire::{AcquireMode, CommandId, DetachCode, ErrorCode, SequenceSet};

use std::sync::Arc;

/// What one command that is sent again comes to.
enum Again {
    /// This is told.
    Told(Effect),
    /// Its message has left its queue: the number stays empty.
    Empty,
}

impl Core {
    /// What both sides of a session say of their commands.
    pub(in crate::broker) fn session_control(
        &mut self,
        member: MemberId,
        command: Command,
        out: &mut Out,
    ) {
        let (Command::SessionFlush { at, .. }
        | Command::Confirmed { at, .. }
        | Command::Expected { at, .. }
        | Command::Gap { at, .. }
        | Command::GrantTimeout { at, .. }) = &command
        else {
            return;
        };
        let ChannelKey {
            connection: number,
            channel,
        } = *at;
        let Some(session) = self.attached(ConnectionKey { member, number }, channel) else {
            return;
        };
        match command {
            Command::SessionFlush {
                expected,
                confirmed,
                completed,
                ..
            } => self.session_flush(session, (expected, confirmed, completed), out),
            Command::Confirmed { commands, .. } => {
                self.deliveries_confirmed(session, &commands, out);
            }
            Command::Expected { commands, .. } => self.expected(session, &commands, out),
            Command::Gap { commands, .. } => self.gap(session, &commands, out),
            Command::GrantTimeout { timeout, .. } => self.grant_timeout(session, timeout, out),
            _ => {}
        }
    }

    /// 0-10: session.request-timeout. What is told from now on is kept until the client has it. With 0
    /// the session ends with its connection, and what it keeps is kept no longer.
    fn grant_timeout(&mut self, id: SessionId, timeout: u32, out: &mut Out) {
        let session = self.session_mut(id);
        let next = session.outgoing_next;
        match (&mut session.kept, timeout) {
            (Some(kept), _) => kept.timeout = timeout,
            (None, 0) => {}
            (None, _) => session.kept = Some(Box::new(Kept::new(timeout, next))),
        }
        let (key, channel) = (session.connection, session.channel);
        out.effects
            .push((key, Effect::Timeout { channel, timeout }));
        self.keep_no_longer(id, out);
    }

    /// Frees what a session keeps that has no timeout any more, once its client has been sent all of it.
    fn keep_no_longer(&mut self, id: SessionId, out: &mut Out) {
        let Some(session) = self.sessions.get_mut(id.0) else {
            return;
        };
        let is_over = session
            .kept
            .as_ref()
            .is_some_and(|kept| kept.timeout == 0 && kept.is_live());
        if is_over {
            session.kept = None;
            self.after_settling(id, out);
        }
    }

    /// The transport of a session is gone. Without a timeout the session ends; so does one when as many
    /// wait as may.
    pub(in crate::broker) fn leave_session(&mut self, id: SessionId, reply: bool, out: &mut Out) {
        let session = self.session(id);
        let has_room = self.detached.has_room_for(&session.name.user);
        match session.is_kept() && has_room {
            true => self.detach_session(id, reply, out),
            false => self.end_session(id, reply, out),
        }
    }

    /// A session goes on without a transport: what it has acquired stays acquired, what it owns stays
    /// its own, and nothing is delivered to it.
    fn detach_session(&mut self, id: SessionId, reply: bool, out: &mut Out) {
        self.tell_session(id, out);
        // What was given back comes again from its client, if it comes back.
        self.xml.forget(id);
        let now = self.time;
        let Some(session) = self.sessions.get_mut(id.0) else {
            return;
        };
        let (key, channel) = (session.connection, session.channel);
        let (connection_id, name) = (session.connection_id, session.name.clone());
        let Some(kept) = &mut session.kept else {
            return;
        };
        let milliseconds = match is_planted(Plant::TimeoutCutShort) {
            true => u64::from(kept.timeout),
            false => u64::from(kept.timeout) * 1000,
        };
        let deadline = now.plus(milliseconds);
        (kept.deadline, kept.replay) = (Some(deadline), Replay::Awaited);
        session.connection = ConnectionKey::NOWHERE;
        session.connection_id = ConnectionId::NOWHERE;
        self.detached.insert(deadline, id, &name.user);
        if let Some(connection) = self.connections.get_mut(connection_id) {
            connection.channels.remove(&channel);
        }
        self.scratch.last = None;
        if reply {
            let (name, code) = (name.name, DetachCode::NORMAL);
            let detached = Effect::Detached {
                channel,
                name,
                code,
            };
            out.effects.push((key, detached));
        }
    }

    /// Ends sessions for which nobody has come in time. Those that are too many for one entry are due
    /// at once in the next.
    pub(in crate::broker) fn expire_detached(&mut self, out: &mut Out) {
        for _ in 0..limits::EXPIRED_SESSIONS_PER_TICK {
            let Some(session) = self.detached.due(self.time) else {
                return;
            };
            if is_planted(Plant::RunOutUnheeded) {
                let (user, now) = (self.session(session).name.user.clone(), self.time);
                let deadline = self.session(session).deadline().unwrap_or(now);
                self.detached.remove(deadline, session, &user);
                continue;
            }
            self.end_session(session, false, out);
        }
    }

    /// A session that ends waits no longer.
    pub(super) fn forget_detached(&mut self, id: SessionId) {
        let Some(session) = self.sessions.get_mut(id.0) else {
            return;
        };
        if let Some(deadline) = session.deadline() {
            self.detached.remove(deadline, id, &session.name.user);
        }
        session.kept = None;
    }

    /// A client goes on with a session, which another transport may still hold: that one is told.
    pub(super) fn resume(
        &mut self,
        id: SessionId,
        (key, connection_id): (ConnectionKey, ConnectionId),
        channel: u16,
        out: &mut Out,
    ) {
        if self.session(id).deadline().is_none() {
            self.detach_session(id, true, out);
        }
        let session = self.session_mut(id);
        let (name, deadline) = (session.name.clone(), session.deadline());
        session.connection = key;
        session.connection_id = connection_id;
        session.channel = channel;
        if let Some(kept) = &mut session.kept {
            (kept.deadline, kept.replay) = (None, Replay::Awaited);
        }
        if is_planted(Plant::ResumedBehind) && session.incoming.next.0 > 0 {
            session.incoming.next = CommandId(session.incoming.next.0 - 1);
        }
        let resumed = Resumed {
            next: session.incoming.next,
            transaction: transaction_bytes(session),
        };
        if let Some(deadline) = deadline {
            self.detached.remove(deadline, id, &name.user);
        }
        if let Some(connection) = self.connections.get_mut(connection_id) {
            connection.channels.insert(channel, id);
        }
        self.scratch.last = None;
        let attached = Effect::Attached {
            channel,
            name: name.name,
            resumed: Some(Box::new(resumed)),
        };
        out.effects.push((key, attached));
        // What is said to be done may stand in the facts of a batch before.
        out.rests_on_facts = true;
        self.session_flush(id, (true, true, false), out);
        let is_resumed = true;
        let ask = Effect::Flush {
            channel,
            is_resumed,
        };
        out.effects.push((key, ask));
    }

    /// 0-10: session.expected. The client has all commands before the first that it names; from that
    /// one on they are sent again. A client that knows of no session, or wants what the broker no longer
    /// has, cannot go on with this one, which ends.
    fn expected(&mut self, id: SessionId, commands: &SequenceSet, out: &mut Out) {
        let session = self.session_mut(id);
        let next = session.outgoing_next;
        let Some(kept) = &mut session.kept else {
            return;
        };
        if kept.replay != Replay::Awaited {
            return;
        }
        let count = commands.first().and_then(|first| {
            let behind = u64::try_from(first.distance_to(CommandId(next as u32))).ok()?;
            next.checked_sub(behind)
                .filter(|count| *count >= kept.first)
        });
        let Some(count) = count else {
            let (key, channel) = (session.connection, session.channel);
            let (name, code) = (session.name.name.clone(), DetachCode::UNKNOWN_IDS);
            let detached = Effect::Detached {
                channel,
                name,
                code,
            };
            self.end_session(id, false, out);
            out.effects.push((key, detached));
            return;
        };
        kept.replay = match is_planted(Plant::NotSentAgain) {
            true => Replay::From(next),
            false => Replay::From(count),
        };
        if let Some(last) = count.checked_sub(1) {
            self.note_received(id, &SequenceSet::of(CommandId(last as u32)));
        }
        self.replay(id, out);
    }

    /// More of what is sent again, which an entry before had no time for.
    pub(super) fn replay_queued(&mut self, id: SessionId, out: &mut Out) {
        let kept = self
            .sessions
            .get_mut(id.0)
            .and_then(|session| session.kept.as_mut());
        if let Some(kept) = kept {
            kept.is_replay_queued = false;
            self.replay(id, out);
        }
    }

    /// Sends again what the client does not have, as far as headroom and the entry's work go.
    pub(super) fn replay(&mut self, id: SessionId, out: &mut Out) {
        let mut empty = SequenceSet::new();
        while let Some(session) = self.sessions.get_mut(id.0) {
            let (next, connection_id) = (session.outgoing_next, session.connection_id);
            let Some(kept) = &mut session.kept else {
                break;
            };
            let Replay::From(count) = kept.replay else {
                break;
            };
            if count >= next {
                kept.replay = Replay::Done;
                session.incoming.is_telling = false;
                self.tell_empty(id, std::mem::take(&mut empty), out);
                self.session_flush(id, (false, false, true), out);
                self.keep_no_longer(id, out);
                self.wake_starved(id, out);
                break;
            }
            let connection = self.connections.get(connection_id);
            if !connection.is_some_and(|connection| connection.has_headroom()) {
                break;
            }
            if self.scratch.steps == 0 {
                if !std::mem::replace(&mut kept.is_replay_queued, true) {
                    self.work.push_back(Work::Replay(id));
                }
                break;
            }
            self.scratch.steps -= 1;
            kept.replay = Replay::From(count + 1);
            match self.again(id, count, out) {
                Again::Told(effect) => {
                    self.tell_empty(id, std::mem::take(&mut empty), out);
                    let key = self.session(id).connection;
                    out.effects.push((key, effect));
                }
                Again::Empty => {
                    empty.insert(CommandId(count as u32));
                }
            }
        }
        self.tell_empty(id, empty, out);
    }

    /// Tells that numbers stay empty. What was delivered under them counts as received.
    fn tell_empty(&mut self, id: SessionId, commands: SequenceSet, out: &mut Out) {
        if commands.is_empty() {
            return;
        }
        let Some(session) = self.sessions.get(id.0) else {
            return;
        };
        let (key, channel) = (session.connection, session.channel);
        let gap = Effect::Gap {
            channel,
            commands: commands.clone(),
        };
        out.effects.push((key, gap));
        for (first, last) in session.unsettled_ranges(&commands) {
            for count in first..=last {
                self.settle(id, count);
            }
        }
        self.return_credit(id, &commands, out);
    }

    /// One command to be told again.
    fn again(&mut self, id: SessionId, count: u64, out: &mut Out) -> Again {
        let session = self.session(id);
        let kept = session.kept.as_ref();
        let outgoing = kept.and_then(|kept| kept.outgoing.get(count)).cloned();
        let (channel, number) = (session.channel, CommandId(count as u32));
        // What is said again may stand in the facts of a batch before.
        out.rests_on_facts = true;
        match outgoing {
            None => Again::Empty,
            Some(Outgoing::Delivery {
                tag,
                queue,
                position,
                redelivered,
                sync,
            }) => {
                let flags = (redelivered, sync);
                let delivery = self.delivery_again(id, count, tag, (queue, position), flags);
                delivery.map_or(Again::Empty, |delivery| {
                    Again::Told(Effect::Deliver(delivery))
                })
            }
            Some(Outgoing::Result { command, value }) => Again::Told(Effect::Result {
                channel,
                id: number,
                command,
                value,
            }),
            Some(Outgoing::Accept { transfers }) => Again::Told(Effect::Accept {
                channel,
                id: number,
                transfers,
            }),
            Some(Outgoing::Reject { transfers, code }) => Again::Told(Effect::Reject {
                channel,
                id: number,
                transfers,
                code,
            }),
        }
    }

    /// A delivery to be sent again; None when the session has its message no longer.
    fn delivery_again(
        &mut self,
        id: SessionId,
        count: u64,
        subscription: Arc<Tag>,
        (queue, position): (QueueRef, u64),
        (redelivered, sync): (bool, bool),
    ) -> Option<Delivery> {
        let now = self.time;
        let session = self.sessions.get(id.0)?;
        let unsettled = session.unsettled.get(count);
        let is_acquired = unsettled.is_some_and(|unsettled| unsettled.is_acquired);
        if subscription.acquire_mode == AcquireMode::PRE_ACQUIRED && !is_acquired {
            return None;
        }
        let found = self.queues.get(queue.id.0);
        let queue = found.filter(|found| found.reference == queue)?;
        let entry = queue.entries.get(position)?;
        let subscribed = session.subscriptions.get(&subscription.destination);
        let subscribed = subscribed.and_then(|id| self.subscriptions.get(id.0));
        let wants_identity = subscribed.is_some_and(|subscribed| subscribed.wants_identity);
        let message = queue.delivered(position, entry);
        let identity = match wants_identity {
            true => Identity::to_add(&entry.stored, self.agents.run),
            false => None,
        };
        let ttl = (entry.expires != GroupTime::NEVER)
            .then(|| entry.expires.0.saturating_sub(now.0).max(1));
        let (channel, connection_id) = (session.channel, session.connection_id);
        if let Some(connection) = self.connections.get_mut(connection_id) {
            connection.spend(message.size());
        }
        Some(Delivery {
            channel,
            id: CommandId(count as u32),
            subscription,
            message,
            redelivered,
            ttl,
            identity,
            sync,
        })
    }

    /// The client has the broker's commands up to the last that a set names: transports keep the order,
    /// so it has those before, too.
    pub(super) fn note_received(&mut self, id: SessionId, commands: &SequenceSet) {
        let Some(session) = self.sessions.get_mut(id.0) else {
            return;
        };
        let (next, Some(kept)) = (session.outgoing_next, &mut session.kept) else {
            return;
        };
        if kept.first >= next {
            return;
        }
        let known = commands.clipped(CommandId(kept.first as u32), CommandId((next - 1) as u32));
        let Some(last) = known.last() else {
            return;
        };
        let behind = u64::try_from(last.distance_to(CommandId(next as u32))).unwrap_or(0);
        let more = u64::from(is_planted(Plant::ReceivedTooMuch));
        kept.received_before((next - behind + 1 + more).min(next));
    }

    /// 0-10: session.confirmed. What is accepted by being received is accepted now.
    fn deliveries_confirmed(&mut self, id: SessionId, commands: &SequenceSet, out: &mut Out) {
        if self.session(id).kept.is_none() {
            return;
        }
        self.note_received(id, commands);
        self.for_each_unsettled(id, commands, |core, count| {
            let unsettled = core.session(id).unsettled.get(count);
            if unsettled.is_some_and(|unsettled| unsettled.is_implicit) {
                core.accept_implicitly(id, count);
            }
        });
        self.after_settling(id, out);
    }

    /// A message that counts as accepted once its client has it leaves its queue.
    pub(super) fn accept_implicitly(&mut self, id: SessionId, count: u64) {
        if let Some(settled) = self.settle(id, count) {
            self.dequeue(settled.queue, settled.position);
        }
    }

    /// 0-10: session.gap. Commands that will never come count as done. What has come stays as it is.
    fn gap(&mut self, id: SessionId, commands: &SequenceSet, out: &mut Out) {
        let incoming = &mut self.session_mut(id).incoming;
        let last = CommandId(incoming.next.0.wrapping_add(i32::MAX as u32));
        let ahead = commands.clipped(incoming.next, last);
        if ahead.is_empty() {
            return;
        }
        incoming.completed.union(&ahead);
        incoming.gaps.union(&ahead);
        incoming.pass_gaps();
        let ranges = incoming.gaps.ranges().len();
        if ranges > limits::GAP_RANGES_MAX || incoming.ranges() >= limits::COMPLETED_RANGES_MAX {
            let next = incoming.next;
            let text = "too many gaps between the commands of a session";
            let refusal = refuse(ErrorCode::RESOURCE_LIMIT_EXCEEDED, text);
            self.fail_session(id, next, refusal, out);
        }
    }

    /// Sees to it that answers which the client never says to have do not fill memory: its session loses
    /// its timeout, or fails when not even what it has is known.
    pub(super) fn bound_kept(&mut self, id: SessionId, command: CommandId, out: &mut Out) {
        let session = self.session_mut(id);
        let (key, channel) = (session.connection, session.channel);
        let Some(kept) = &mut session.kept else {
            return;
        };
        if kept.bytes <= limits::KEPT_BYTES_PER_SESSION_MAX {
            return;
        }
        if !kept.is_live() {
            let text =
                "more answers than a session can keep for a client that does not say what it has";
            let refusal = refuse(ErrorCode::RESOURCE_LIMIT_EXCEEDED, text);
            return self.fail_session(id, command, refusal, out);
        }
        kept.timeout = 0;
        let timeout = 0;
        out.effects
            .push((key, Effect::Timeout { channel, timeout }));
        self.keep_no_longer(id, out);
    }
}

/// Octets of the messages that an open transaction publishes and that have to survive.
fn transaction_bytes(session: &Session) -> Option<u64> {
    let transaction = session.transaction.as_ref()?;
    let messages = transaction
        .publishes
        .iter()
        .map(|publish| &publish.stored.message);
    let durable = messages.filter(|message| message.is_persistent);
    Some(durable.map(|message| message.size()).sum())
}
