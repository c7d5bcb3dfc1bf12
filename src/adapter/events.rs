//! From what a client says to commands of the core.

use std::collections::{BTreeSet, VecDeque};

use crate::broker::command::ConnectionDetails;
use crate::broker::effect::Again;
use crate::broker::ids::{ChannelKey, ConnectionNumber};
use crate::broker::limits as broker_limits;
use crate::broker::{Command, ConnectionRecord, Request};
use crate::protocol::{Connection, Event};
use crate::wire::{self, CloseCode, ErrorCode, SequenceSet, Text};

use super::dtx::DtxTimeouts;
use super::message::Transfers;
use super::outflow::Outflow;
use super::request::{self, Given, Outcome};
use super::rights::{self, Rights};
use super::room::Room;
use super::xml::Matcher;
use super::{limits, session};

/// One open connection's translation, both ways. `handle_event` fills a batch, which the caller
/// proposes when [`is_full`](Adapter::is_full), when the protocol waits for an answer, and when no
/// event is left; `handle_effects` writes what comes of it.
#[derive(Debug)]
pub struct Adapter {
    pub(super) connection: ConnectionNumber,
    pub(super) peer: Text,
    batch: Vec<Command>,
    batch_bytes: usize,
    /// What the client waits for, or waits for the client.
    pub(super) pending: Option<Pending>,
    pub(super) outflow: Outflow,
    pub(super) transfers: Transfers,
    pub(super) room: Room,
    /// Channels whose sessions are about to fail, since a delivery was lost: no other may be sent.
    pub(super) spoiled: BTreeSet<u16>,
    /// What is decided here and goes into requests.
    given: Given,
    /// Seconds for which a session may outlive its connection.
    timeout_max: u32,
    /// Messages that have come and gone.
    pub(super) messages: (u64, u64),
    /// What is known of bindings of xml exchanges.
    matcher: Matcher,
    /// Commands that the core has given back, and others that are proposed before what comes next.
    given_back: VecDeque<Command>,
    /// What the user may do; None is everything.
    pub(super) rights: Option<Box<dyn Rights>>,
}

/// What no further event may overtake: a channel between two sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pending {
    /// The client asked for a session on this channel.
    Attach(u16),
    /// The client ends the session of this channel, asking or not.
    Detach(u16),
}

impl Adapter {
    /// The translation of a connection that has just been opened; the command that tells the core
    /// of it is in the batch. The headroom in `record` is set here.
    pub fn new(connection: ConnectionNumber, mut record: ConnectionRecord) -> Adapter {
        record.headroom_messages = limits::HEADROOM_MESSAGES;
        record.headroom_bytes = limits::HEADROOM_BYTES_FIRST;
        let peer = record.peer.clone();
        let record = Box::new(record);
        Adapter {
            connection,
            peer,
            batch: vec![Command::ConnectionOpen { connection, record }],
            batch_bytes: 0,
            pending: None,
            outflow: Outflow::default(),
            transfers: Transfers::default(),
            room: Room::default(),
            spoiled: BTreeSet::new(),
            given: Given::default(),
            timeout_max: 0,
            messages: (0, 0),
            matcher: Matcher::default(),
            given_back: VecDeque::new(),
            rights: None,
        }
    }

    /// Messages that have come, and messages that were sent, since the connection was opened.
    pub fn messages(&self) -> (u64, u64) {
        self.messages
    }

    /// Has management show more of the connection than its record, and told that it is there.
    pub fn show(&mut self, details: ConnectionDetails) {
        let connection = self.connection;
        let details = Box::new(details);
        self.batch.push(Command::ConnectionDetails {
            connection,
            details,
        });
    }

    /// Says what the connection's user may do. Without it everything is allowed, and nothing looked at.
    pub fn set_rights(&mut self, rights: Box<dyn Rights>) {
        self.rights = Some(rights);
    }

    /// Says how long work in branches of distributed transactions may take.
    pub fn set_dtx_timeouts(&mut self, timeouts: DtxTimeouts) {
        self.given.dtx_timeouts = timeouts;
    }

    /// Messages get this for the time of their coming, in seconds since 1970; None: they get none.
    pub fn stamp_with(&mut self, stamp: Option<u64>) {
        self.given.stamp = stamp;
    }

    /// Lets sessions outlive their connections, at most for so many seconds.
    #[must_use]
    pub fn with_timeout_max(mut self, seconds: u32) -> Adapter {
        self.timeout_max = seconds;
        self
    }

    /// Translates an event of an open connection. Events that belong to negotiation, or to
    /// clients, come to nothing.
    pub fn handle_event(&mut self, protocol: &mut Connection, event: Event) {
        match event {
            Event::Command {
                channel,
                id,
                sync,
                command,
                header,
                body,
            } => {
                self.log_exception(channel, &command);
                let decided = self
                    .rights
                    .as_deref_mut()
                    .and_then(|rights| rights::decided(rights, &command));
                let outcome = match decided {
                    Some(outcome) => outcome,
                    None => request::of(command, header.as_ref(), body.as_ref(), self.given),
                };
                match outcome {
                    Outcome::Request(request) => {
                        let request = match &mut self.rights {
                            None => request,
                            Some(rights) => rights::permitted(&mut **rights, request),
                        };
                        let request = self.room.admitted(channel, request);
                        self.command(channel, id, sync, request);
                    }
                    Outcome::Close(text) => {
                        let text = format!("{text} (channel {channel}, command {id})");
                        protocol.close(CloseCode::FRAMING_ERROR, &text);
                    }
                }
            }
            Event::Refused {
                channel,
                id,
                code,
                class,
                command,
                text,
            } => {
                let refusal = request::refusal(code, (class, command), &text);
                self.command(channel, id, false, refusal);
            }
            Event::Completed {
                channel, commands, ..
            } => {
                let at = self.at(channel);
                self.batch_bytes += request::named(&commands);
                self.batch.push(Command::Completed { at, commands });
            }
            Event::KnownCompleted { channel, commands } => {
                let at = self.at(channel);
                self.batch.push(Command::KnownCompleted { at, commands });
            }
            Event::RequestTimeout { channel, timeout } => {
                self.request_timeout(protocol, channel, timeout);
            }
            event => self.session_event(event),
        }
    }

    /// Says whether there is no room for messages that have to survive, or for any: they are refused
    /// before they are proposed.
    pub fn set_full(&mut self, for_persistent: bool, for_all: bool) {
        self.room.set_full(for_persistent, for_all);
    }

    /// Says for how many octets of messages that have to survive there is room: more at once are
    /// refused.
    pub fn set_room(&mut self, bytes: u64) {
        self.room.set_room(bytes);
    }

    fn session_event(&mut self, event: Event) {
        match event {
            Event::Attach {
                channel,
                name,
                force,
            } => {
                let at = self.at(channel);
                self.pending = Some(Pending::Attach(channel));
                self.batch.push(Command::Attach { at, name, force });
            }
            Event::Detach { channel, .. } | Event::Detached { channel, .. } => {
                let at = self.at(channel);
                self.pending = Some(Pending::Detach(channel));
                self.batch.push(Command::Detach { at });
            }
            Event::Flush {
                channel,
                expected,
                confirmed,
                completed,
            } => {
                let at = self.at(channel);
                self.batch.push(Command::SessionFlush {
                    at,
                    expected,
                    confirmed,
                    completed,
                });
            }
            Event::Expected { channel, commands } => {
                let at = self.at(channel);
                self.batch.push(Command::Expected { at, commands });
            }
            Event::Confirmed { channel, commands } => {
                let at = self.at(channel);
                self.batch_bytes += request::named(&commands);
                self.batch.push(Command::Confirmed { at, commands });
            }
            Event::Gap { channel, commands } => {
                let at = self.at(channel);
                self.batch.push(Command::Gap { at, commands });
            }
            // The rest belongs to negotiation or to the client's role.
            _ => {}
        }
    }

    /// 0-10: session.request-timeout/maximum-granted-timeout. Where an operator grants none the answer
    /// is known at once, as qpidd's always is. A client that names no time wants as much as there is.
    fn request_timeout(&mut self, protocol: &mut Connection, channel: u16, asked: Option<u32>) {
        if self.timeout_max == 0 {
            return self.answer(protocol, |protocol| {
                protocol.send_control(channel, &session::timeout(0));
            });
        }
        let timeout = asked.map_or(self.timeout_max, |asked| asked.min(self.timeout_max));
        let at = self.at(channel);
        self.batch.push(Command::GrantTimeout { at, timeout });
    }

    fn command(&mut self, channel: u16, id: wire::CommandId, sync: bool, request: Request) {
        self.messages.0 += u64::from(matches!(request, Request::Transfer { .. }));
        self.batch_bytes += request::batch_bytes(&request);
        let at = self.at(channel);
        if !self.matcher.is_idle() {
            self.batch.extend(self.matcher.matching(at, id, &request));
        }
        self.batch.push(Command::Session {
            at,
            id,
            sync,
            request,
        });
    }

    /// The core has not done a command: it is to be proposed again.
    pub(super) fn again(&mut self, again: Again) {
        let Again {
            mut command,
            bindings,
            ..
        } = again;
        if let Some(bindings) = bindings {
            match &mut command {
                Command::Session { request, .. } if !cfg!(feature = "xml-exchange") => {
                    let text = "this broker is built without the xml exchange";
                    *request = request::refusal(ErrorCode::NOT_IMPLEMENTED, (0, 0), text);
                }
                _ => self.matcher.learn(bindings),
            }
        }
        self.given_back.push_back(command);
    }

    /// Has the core know that completions have been heard of.
    pub(super) fn know_completed(&mut self, channel: u16, commands: SequenceSet) {
        let at = self.at(channel);
        self.given_back
            .push_back(Command::KnownCompleted { at, commands });
    }

    /// A session has ended, and with it what it asked for.
    pub(super) fn forget_given_back(&mut self, channel: u16) {
        let is_others = |command: &Command| match command {
            Command::Session { at, .. }
            | Command::Detach { at }
            | Command::KnownCompleted { at, .. } => at.channel != channel,
            _ => true,
        };
        self.given_back.retain(is_others);
    }

    /// Puts commands that were given back into the batch, as many as it holds.
    fn refill(&mut self) {
        while self.has_room()
            && let Some(command) = self.given_back.pop_front()
        {
            match command {
                Command::Session {
                    at,
                    id,
                    sync,
                    request,
                } => self.command(at.channel, id, sync, request),
                other => self.batch.push(other),
            }
        }
    }

    fn at(&self, channel: u16) -> ChannelKey {
        ChannelKey {
            connection: self.connection,
            channel,
        }
    }

    fn log_exception(&self, channel: u16, command: &wire::Command) {
        if let wire::Command::ExecutionException(exception) = command {
            tracing::error!(
                target: "Protocol",
                "{} channel {channel}: the client could not do command {}: {} {}",
                self.peer,
                exception.command_id.unwrap_or_default(),
                exception.error_code,
                exception.description.as_deref().unwrap_or_default().escape_debug(),
            );
        }
    }

    /// A delivery cannot be sent: its message is lost, and its session is to fail, with this text. No
    /// delivery goes to the session any more.
    pub fn lose(&mut self, channel: u16, delivery: wire::CommandId, text: String) {
        if self.spoiled.insert(channel) {
            let at = self.at(channel);
            self.batch.push(Command::Lost { at, delivery, text });
        }
    }

    /// Whether deliveries to a session are not sent any more, since one was lost.
    pub fn is_spoiled(&self, channel: u16) -> bool {
        self.spoiled.contains(&channel)
    }

    /// Whether the batch has to be proposed before the next event.
    pub fn is_full(&self) -> bool {
        !self.has_room() || !self.given_back.is_empty()
    }

    /// Whether a command fits, with what it was found to match.
    fn has_room(&self) -> bool {
        let more = usize::from(!self.matcher.is_idle());
        self.batch.len() + more < broker_limits::BATCH_COMMANDS_MAX
            && self.batch_bytes < broker_limits::BATCH_BYTES_MAX
    }

    /// The batch, to be proposed and emptied.
    pub fn batch(&mut self) -> &mut Vec<Command> {
        self.refill();
        self.batch_bytes = 0;
        &mut self.batch
    }

    /// Whether the next event has to wait until effects have come: a session is between being asked
    /// for and being there, or between its end and the end being known.
    pub fn is_pending(&self) -> bool {
        self.pending.is_some()
    }

    /// So many octets of the output have gone to the socket.
    pub fn drained(&mut self, octets: usize) {
        self.outflow.drained(octets);
    }

    /// Puts into the batch what room there is again for deliveries, once that is half of all, and that there
    /// is more once the peer is known to read.
    /// True when it did. The batch must have room.
    pub fn return_headroom(&mut self) -> bool {
        let connection = self.connection;
        let raised = self.outflow.take_headroom_max();
        let refilled = self.outflow.take_headroom();
        let raise = raised.map(|bytes| Command::HeadroomMax { connection, bytes });
        let refill = refilled.map(|(messages, bytes)| Command::Headroom {
            connection,
            messages,
            bytes,
        });
        let is_due = raise.is_some() || refill.is_some();
        self.batch.extend(raise.into_iter().chain(refill));
        is_due
    }

    /// Whether the client has left so many answers unread that no more of its commands are taken.
    pub fn is_unread(&self) -> bool {
        self.outflow.unread_answer_bytes() > limits::UNREAD_ANSWER_BYTES_MAX
    }
}
