//! From what a client says to commands of the core.

use std::collections::BTreeSet;

use crate::broker::ids::{ChannelKey, ConnectionNumber};
use crate::broker::limits as broker_limits;
use crate::broker::{Command, ConnectionRecord, Request};
use crate::protocol::{Connection, Event};
use crate::wire::{self, CloseCode, Text};

use super::dtx::DtxTimeouts;
use super::message::Transfers;
use super::outflow::Outflow;
use super::request::{self, Outcome};
use super::room::Room;
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
    dtx_timeouts: DtxTimeouts,
    /// Seconds for which a session may outlive its connection.
    timeout_max: u32,
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
        record.headroom_bytes = limits::HEADROOM_BYTES;
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
            dtx_timeouts: DtxTimeouts::default(),
            timeout_max: 0,
        }
    }

    /// Says how long work in branches of distributed transactions may take.
    pub fn set_dtx_timeouts(&mut self, timeouts: DtxTimeouts) {
        self.dtx_timeouts = timeouts;
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
                match request::of(command, header.as_ref(), body.as_ref(), self.dtx_timeouts) {
                    Outcome::Request(request) => {
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
        self.batch_bytes += request::batch_bytes(&request);
        self.batch.push(Command::Session {
            at: self.at(channel),
            id,
            sync,
            request,
        });
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
        self.batch.len() >= broker_limits::BATCH_COMMANDS_MAX
            || self.batch_bytes >= broker_limits::BATCH_BYTES_MAX
    }

    /// The batch, to be proposed and emptied.
    pub fn batch(&mut self) -> &mut Vec<Command> {
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

    /// Puts into the batch what room there is again for deliveries, once that is half of all.
    /// True when it did. The batch must have room.
    pub fn return_headroom(&mut self) -> bool {
        let Some((messages, bytes)) = self.outflow.take_headroom() else {
            return false;
        };
        self.batch.push(Command::Headroom {
            connection: self.connection,
            messages,
            bytes,
        });
        true
    }

    /// Whether the client has left so many answers unread that no more of its commands are taken.
    pub fn is_unread(&self) -> bool {
        self.outflow.unread_answer_bytes() > limits::UNREAD_ANSWER_BYTES_MAX
    }
}
