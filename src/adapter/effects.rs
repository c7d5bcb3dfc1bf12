//! From effects of the core to what a client hears.

use crate::broker::{Delivery, Effect, Refusal};
use crate::protocol::limits::OUTPUT_BY_REFERENCE_MIN;
use crate::protocol::{Connection, Content, Pieces};
use crate::wire::{
    CloseCode, Command, CommandId, DetachCode, ErrorCode, ExecutionException, ExecutionResult,
    MessageAccept, MessageReject, SequenceSet,
};

use super::Adapter;
use super::events::Pending;
use super::session;

/// What an effect comes to for a session that is not the peer's but of this process.
#[derive(Debug)]
pub enum Aside {
    /// The session is there.
    Attached,
    /// It has ended for this reason.
    Detached(DetachCode),
    /// It has failed.
    Failed(Box<ExecutionException>),
    /// Commands are done.
    Completed(SequenceSet),
}

/// The channel of an effect by which a session without subscriptions and questions hears of itself.
pub fn channel_of(effect: &Effect) -> Option<u16> {
    match effect {
        Effect::Attached { channel, .. }
        | Effect::Detached { channel, .. }
        | Effect::Exception { channel, .. }
        | Effect::Completed { channel, .. } => Some(*channel),
        _ => None,
    }
}

impl Adapter {
    /// Takes in an effect for a session that is not the peer's: its owner is to hear of it. None for one that
    /// has no [`channel_of`].
    pub fn take_aside(&mut self, effect: Effect) -> Option<Aside> {
        match effect {
            Effect::Attached { channel, .. } => {
                self.session_changed(channel);
                self.settle_pending(channel);
                Some(Aside::Attached)
            }
            Effect::Detached { channel, code, .. } => {
                self.session_changed(channel);
                self.settle_pending(channel);
                Some(Aside::Detached(code))
            }
            Effect::Exception {
                channel,
                command,
                name,
                refusal,
                ..
            } => {
                self.session_changed(channel);
                self.settle_pending(channel);
                self.log_failure((channel, &name), command, &refusal);
                let exception = session::exception(command, *refusal);
                Some(Aside::Failed(Box::new(exception)))
            }
            Effect::Completed {
                channel,
                commands,
                timely_reply,
            } => {
                if timely_reply {
                    self.know_completed(channel, commands.clone());
                }
                Some(Aside::Completed(commands))
            }
            _ => None,
        }
    }

    /// Writes effects into the connection's output, in their order, and empties `effects`.
    pub fn handle_effects(&mut self, protocol: &mut Connection, effects: &mut Vec<Effect>) {
        let start = protocol.output().len();
        let (mut messages, mut message_bytes, mut delivery_bytes) = (0, 0, 0);
        for effect in effects.drain(..) {
            match effect {
                Effect::Deliver(delivery) if self.is_spoiled(delivery.channel) => {
                    messages += 1;
                    message_bytes += delivery.message.size();
                }
                Effect::Deliver(delivery) => {
                    let before = protocol.output().len();
                    self.deliver(protocol, &delivery);
                    delivery_bytes += protocol.output().len() - before;
                    messages += 1;
                    message_bytes += delivery.message.size();
                }
                effect => {
                    tracing::trace!(target: "Protocol", "SENT [{}] {effect:?}", self.peer);
                    self.tell(protocol, effect);
                }
            }
        }
        self.messages.1 += u64::from(messages);
        let end = protocol.output().len();
        let answer_bytes = (end - start).saturating_sub(delivery_bytes);
        self.outflow
            .appended((start, end), answer_bytes, (messages, message_bytes));
    }

    /// Lets `write` write an answer that no effect asked for.
    pub(super) fn answer(
        &mut self,
        protocol: &mut Connection,
        write: impl FnOnce(&mut Connection),
    ) {
        let start = protocol.output().len();
        write(protocol);
        let end = protocol.output().len();
        self.outflow
            .appended((start, end), end.saturating_sub(start), (0, 0));
    }

    #[expect(
        clippy::expect_used,
        reason = "a driver fetches bodies before it hands effects over; nothing sent in the place of \
                  one would be a message that was altered"
    )]
    fn deliver(&mut self, protocol: &mut Connection, delivery: &Delivery) {
        tracing::trace!(
            target: "Protocol",
            "SENT [{}] channel {} command {} transfer to {:?} of {} octets, redelivered={}",
            self.peer,
            delivery.channel,
            delivery.id,
            delivery.subscription.destination,
            delivery.message.size(),
            delivery.redelivered,
        );
        let (command, header) = self.transfers.of(delivery);
        let message = &delivery.message;
        let shared;
        let octets = message
            .body()
            .expect("bodies are fetched before they are sent");
        let body = match octets.len() < OUTPUT_BY_REFERENCE_MIN {
            true => Pieces::Copied(octets),
            false => {
                let content = message.shared_content();
                shared = [content.slice(message.header().len()..)];
                Pieces::Shared(&shared)
            }
        };
        let content = Content {
            header,
            body: message.has_body.then_some(body),
        };
        protocol.send_command(
            delivery.channel,
            delivery.id,
            command,
            delivery.sync,
            Some(content),
        );
    }

    fn tell(&mut self, protocol: &mut Connection, effect: Effect) {
        match effect {
            Effect::Completed {
                channel,
                commands,
                timely_reply,
            } => session::send_completed(protocol, channel, commands, timely_reply),
            Effect::Accept {
                channel,
                id,
                transfers,
            } => {
                let accept = Command::MessageAccept(MessageAccept { transfers });
                protocol.send_command(channel, id, &accept, false, None);
            }
            Effect::Result {
                channel,
                id,
                command,
                value,
            } => {
                let result = Command::ExecutionResult(ExecutionResult {
                    command_id: command,
                    value: Some(*value),
                });
                protocol.send_command(channel, id, &result, false, None);
            }
            Effect::Confirmed { channel, commands } => {
                session::send_confirmed(protocol, channel, commands);
            }
            Effect::Expected { channel, commands } => {
                session::send_expected(protocol, channel, commands);
            }
            Effect::Reject {
                channel,
                id,
                transfers,
                code,
            } => {
                let reject = Command::MessageReject(MessageReject {
                    transfers,
                    code,
                    text: None,
                });
                protocol.send_command(channel, id, &reject, false, None);
            }
            Effect::Timeout { channel, timeout } => {
                protocol.send_control(channel, &session::timeout(timeout));
            }
            Effect::Flush {
                channel,
                is_resumed,
            } => protocol.send_control(channel, &session::flush(is_resumed)),
            Effect::Gap { channel, commands } => protocol.gap(channel, commands),
            Effect::Deliver(delivery) => self.deliver(protocol, &delivery),
            Effect::Close { text } => protocol.close(CloseCode::CONNECTION_FORCED, &text),
            Effect::Ruled(ruled) => {
                if let Some(rights) = &mut self.rights {
                    rights.note_ruling(*ruled);
                }
            }
            // Agents have connections of their own.
            Effect::Agent(_) => {}
            Effect::Again(again) => self.again(*again),
            effect @ (Effect::Attached { .. }
            | Effect::Detached { .. }
            | Effect::Exception { .. }) => self.tell_of_session(protocol, effect),
        }
    }

    /// A session that was asked for, or whose end was, has come or ended.
    fn settle_pending(&mut self, channel: u16) {
        if matches!(self.pending, Some(Pending::Attach(at) | Pending::Detach(at)) if at == channel)
        {
            self.pending = None;
        }
    }

    /// A session of this channel has begun or ended.
    fn session_changed(&mut self, channel: u16) {
        self.spoiled.remove(&channel);
        // Not before: a session that is attached already keeps its open transaction.
        self.room.detached(channel);
        self.forget_given_back(channel);
    }

    fn log_failure(&self, (channel, name): (u16, &[u8]), command: CommandId, refusal: &Refusal) {
        tracing::error!(
            target: "Broker",
            "{} channel {channel} session {}: command {command} (class {}, code {}) failed, {}: \
             {} {}",
            self.peer,
            name.escape_ascii(),
            refusal.class,
            refusal.command,
            session::fault(refusal.code),
            refusal.code.0,
            refusal.text.escape_debug(),
        );
    }

    fn tell_of_session(&mut self, protocol: &mut Connection, effect: Effect) {
        if let Effect::Attached { channel, .. }
        | Effect::Detached { channel, .. }
        | Effect::Exception { channel, .. } = &effect
        {
            self.session_changed(*channel);
        }
        match effect {
            Effect::Attached {
                channel, resumed, ..
            } if self.pending == Some(Pending::Attach(channel)) => {
                self.pending = None;
                match resumed {
                    None => protocol.attached(channel),
                    Some(resumed) => {
                        self.room.resumed(channel, resumed.transaction);
                        protocol.attached_again(channel, resumed.next);
                    }
                }
            }
            Effect::Detached { channel, code, .. } => {
                self.settle_pending(channel);
                protocol.detached(channel, code);
            }
            Effect::Exception {
                channel,
                id,
                command,
                name,
                refusal,
            } => {
                self.log_failure((channel, &name), command, &refusal);
                if refusal.code == ErrorCode::UNAUTHORIZED_ACCESS
                    && let Some(rights) = &mut self.rights
                {
                    rights.note_denial(&refusal);
                }
                protocol.fail_session(channel, id, session::exception(command, *refusal));
                if self.pending == Some(Pending::Detach(channel)) {
                    // The client's own detach came to a session that had failed: it is answered
                    // here, for the core has nothing more to say of it.
                    self.pending = None;
                    protocol.detached(channel, DetachCode::NORMAL);
                }
            }
            _ => {}
        }
    }
}
