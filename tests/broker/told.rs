//! What a channel is told, in a form that tests compare.

use bytes::Bytes;
use ferrymq::broker::effect::Again;
use ferrymq::broker::guard::Ruled;
use ferrymq::broker::management::ForAgent;
use ferrymq::broker::{Delivery, Effect};
use ferrymq::wire::{
    AcquireMode, CommandId, DetachCode, ErrorCode, Map, RejectCode, SequenceSet, Struct32, header,
};

/// One thing told to a client, without the numbers that the harness checks by itself.
#[derive(Clone, Debug, PartialEq)]
pub enum Told {
    Attached,
    /// The session goes on; the next command of the client is this one.
    Resumed(u32),
    Detached(DetachCode),
    /// Destination, body, and whether it was delivered before.
    Delivered(Box<Arrived>),
    /// To which command.
    Result(CommandId, Box<Struct32>),
    Accepted(SequenceSet),
    Failed(Box<Failure>),
    /// Ids, and whether the client shall answer soon.
    Completed(SequenceSet, bool),
    Confirmed(SequenceSet),
    Expected(SequenceSet),
    Rejected(SequenceSet, RejectCode),
    /// Seconds.
    Timeout(u32),
    /// Whether all is to be said that a resumed session has to know.
    Flush(bool),
    /// Numbers of the broker that stay empty.
    Gap(SequenceSet),
    /// For an agent of management.
    Agent(Box<ForAgent>),
    Ruled(Box<Ruled>),
    /// The connection is to be closed.
    Close(String),
    /// A command that is to be proposed again.
    Again(Box<Again>),
}

/// A message that arrived.
#[derive(Clone, Debug, PartialEq)]
pub struct Arrived {
    pub destination: String,
    pub body: String,
    /// The body as it is.
    pub octets: Bytes,
    pub id: u32,
    pub redelivered: bool,
    pub ttl: Option<u64>,
    pub sync: bool,
    pub acquire_mode: AcquireMode,
    /// The application headers; empty without.
    pub headers: Map,
}

/// An exception.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    pub code: ErrorCode,
    /// Class and command.
    pub of: (u8, u8),
    /// The number of the command at fault.
    pub at: u32,
    pub text: String,
}

impl Told {
    /// The channel, what it is told, and the number among the broker's commands if it is one.
    pub fn of(effect: Effect) -> (u16, Told, Option<CommandId>) {
        match effect {
            Effect::Attached {
                channel, resumed, ..
            } => {
                let resumed = resumed.map(|resumed| Told::Resumed(resumed.next.0));
                (channel, resumed.unwrap_or(Told::Attached), None)
            }
            Effect::Detached { channel, code, .. } => (channel, Told::Detached(code), None),
            Effect::Deliver(delivery) => {
                let (channel, id) = (delivery.channel, delivery.id);
                let arrived = Box::new(Arrived::of(delivery));
                (channel, Told::Delivered(arrived), Some(id))
            }
            Effect::Result {
                channel,
                id,
                command,
                value,
            } => (channel, Told::Result(command, value), Some(id)),
            Effect::Accept {
                channel,
                id,
                transfers,
            } => (channel, Told::Accepted(transfers), Some(id)),
            Effect::Exception {
                channel,
                id,
                command,
                refusal,
                ..
            } => {
                let failure = Failure {
                    code: refusal.code,
                    of: (refusal.class, refusal.command),
                    at: command.0,
                    text: refusal.text,
                };
                (channel, Told::Failed(Box::new(failure)), Some(id))
            }
            Effect::Completed {
                channel,
                commands,
                timely_reply,
            } => (channel, Told::Completed(commands, timely_reply), None),
            Effect::Confirmed { channel, commands } => (channel, Told::Confirmed(commands), None),
            Effect::Expected { channel, commands } => (channel, Told::Expected(commands), None),
            Effect::Reject {
                channel,
                id,
                transfers,
                code,
            } => (channel, Told::Rejected(transfers, code), Some(id)),
            Effect::Timeout { channel, timeout } => (channel, Told::Timeout(timeout), None),
            Effect::Flush {
                channel,
                is_resumed,
            } => (channel, Told::Flush(is_resumed), None),
            Effect::Gap { channel, commands } => (channel, Told::Gap(commands), None),
            Effect::Agent(told) => (0, Told::Agent(told), None),
            Effect::Ruled(ruled) => (0, Told::Ruled(ruled), None),
            Effect::Close { text } => (0, Told::Close(text.to_string()), None),
            Effect::Again(again) => (again.channel, Told::Again(again), None),
        }
    }
}

impl Arrived {
    fn of(delivery: Delivery) -> Arrived {
        Arrived {
            destination: delivery.subscription.destination.to_string(),
            body: String::from_utf8_lossy(delivery.message.body().expect("in memory")).into_owned(),
            octets: Bytes::copy_from_slice(delivery.message.body().expect("in memory")),
            id: delivery.id.0,
            redelivered: delivery.redelivered,
            ttl: delivery.ttl,
            sync: delivery.sync,
            acquire_mode: delivery.subscription.acquire_mode,
            headers: headers_of(&delivery),
        }
    }
}

/// The application headers of the header segment as it is sent.
fn headers_of(delivery: &Delivery) -> Map {
    let mut sent = Vec::new();
    let message = &delivery.message;
    let told = (delivery.redelivered, delivery.ttl);
    message.delivered_header(told, delivery.identity, &mut sent);
    let parts = header::split(&sent).expect("a sound header");
    let properties = parts.message_properties.map(|at| parts.rest[at].to_vec());
    let headers = properties.and_then(|octets| header::application_headers(&octets).ok()?);
    headers.unwrap_or_default()
}
