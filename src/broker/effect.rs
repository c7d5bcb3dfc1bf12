//! What the core asks of the world: data, safe to run twice.

use std::sync::Arc;

use super::command::{Command, Refusal};
use super::facts::Fact;
use super::guard::Ruled;
use super::ids::{ConnectionKey, GroupTime};
use super::management::ForAgent;
use super::message::Message;
use super::seen::Identity;
use crate::wire::{
    AcceptMode, AcquireMode, CommandId, DetachCode, RejectCode, SequenceSet, Struct32, Text,
};

/// Something to be told to the client of a session, on the member that serves its connection and in
/// the order given. Outgoing command ids are part of it: `apply` gave them, so every member agrees.
#[derive(Clone, Debug)]
pub enum Effect {
    /// The session is attached.
    Attached {
        /// The channel.
        channel: u16,
        /// The session's name.
        name: Arc<[u8]>,
        /// What there is of a session that had lost its connection; None for a new one.
        resumed: Option<Box<Resumed>>,
    },
    /// The session is no longer attached, or never was.
    Detached {
        /// The channel.
        channel: u16,
        /// The session's name.
        name: Arc<[u8]>,
        /// Why.
        code: DetachCode,
    },
    /// A message for a subscription.
    Deliver(Delivery),
    /// The answer to a query.
    Result {
        /// The channel.
        channel: u16,
        /// The broker's number for `execution.result`.
        id: CommandId,
        /// The command that is answered.
        command: CommandId,
        /// The answer.
        value: Box<Struct32>,
    },
    /// The broker has accepted transfers of the client.
    Accept {
        /// The channel.
        channel: u16,
        /// The broker's number for `message.accept`.
        id: CommandId,
        /// The client's transfers.
        transfers: SequenceSet,
    },
    /// The session has failed and is detached after this.
    Exception {
        /// The channel.
        channel: u16,
        /// The broker's number for `execution.exception`.
        id: CommandId,
        /// The command at fault; 0 when none is.
        command: CommandId,
        /// The session's name, for the detach that follows.
        name: Arc<[u8]>,
        /// Code, class, command and text.
        refusal: Box<Refusal>,
    },
    /// Commands of the client are completed.
    Completed {
        /// The channel.
        channel: u16,
        /// All that are completed and not known to be.
        commands: SequenceSet,
        /// Whether the client shall say soon that it knows.
        timely_reply: bool,
    },
    /// Commands of the client are received.
    Confirmed {
        /// The channel.
        channel: u16,
        /// All that are received and not known to be completed.
        commands: SequenceSet,
    },
    /// The command that the session expects next.
    Expected {
        /// The channel.
        channel: u16,
        /// The next command of the client.
        commands: SequenceSet,
    },
    /// The broker has rejected transfers of the client.
    Reject {
        /// The channel.
        channel: u16,
        /// The broker's number for `message.reject`.
        id: CommandId,
        /// The client's transfers.
        transfers: SequenceSet,
        /// Why.
        code: RejectCode,
    },
    /// How long the session outlives its connection.
    Timeout {
        /// The channel.
        channel: u16,
        /// Seconds; 0 for not at all.
        timeout: u32,
    },
    /// The client is to say what it has of the broker's commands.
    Flush {
        /// The channel.
        channel: u16,
        /// Whether it is to say what it expects and what it has confirmed, too, and not only what it has
        /// completed: its session is resumed.
        is_resumed: bool,
    },
    /// Commands of the broker that will never come: their messages have left their queues.
    Gap {
        /// The channel.
        channel: u16,
        /// The broker's numbers.
        commands: SequenceSet,
    },
    /// What rules have decided by what there is, where that is to be told.
    Ruled(Box<Ruled>),
    /// For an agent of management.
    Agent(Box<ForAgent>),
    /// The connection is to be closed.
    Close {
        /// What the client is told.
        text: Text,
    },
    /// A command was not done and is to be proposed again: it publishes to an xml exchange and what it
    /// matches is not known, or it is behind such a one.
    Again(Box<Again>),
}

/// A command that is to be proposed again, behind those of its session that were given back before.
#[derive(Clone, Debug, PartialEq)]
pub struct Again {
    /// The channel.
    pub channel: u16,
    /// The command.
    pub command: Command,
    /// The bindings by which it is to be decided what it matches; None when it has only to wait.
    pub bindings: Option<KeyBindings>,
}

/// The bindings of a key of an xml exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyBindings {
    /// The exchange.
    pub exchange: Text,
    /// The key.
    pub key: Text,
    /// The number of the change that they have seen last.
    pub version: u64,
    /// Their queries, in the order in which they are numbered.
    pub queries: Vec<Text>,
}

/// What the transport of a resumed session has to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Resumed {
    /// The number of the client's next command: what comes again before it is done already.
    pub next: CommandId,
    /// Octets of the messages that the open transaction publishes and that have to survive; None for
    /// a session without transactions.
    pub transaction: Option<u64>,
}

/// A message on its way to a subscription.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// The channel.
    pub channel: u16,
    /// The broker's number for the transfer.
    pub id: CommandId,
    /// What a transfer says of its subscription.
    pub subscription: Arc<Tag>,
    /// The message.
    pub message: Arc<Message>,
    /// Whether it has been delivered before.
    pub redelivered: bool,
    /// Milliseconds left to live, at least 1, when it has a time to live.
    pub ttl: Option<u64>,
    /// Which message it is, where its subscriber wants to know and it does not say so itself.
    pub identity: Option<Identity>,
    /// Whether the transfer carries the sync bit.
    pub sync: bool,
}

/// What every transfer of a subscription repeats.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tag {
    /// The subscription's name.
    pub destination: Text,
    /// As subscribed.
    pub accept_mode: AcceptMode,
    /// As subscribed.
    pub acquire_mode: AcquireMode,
}
super::encoding::record!(Tag {
    destination,
    accept_mode,
    acquire_mode
});

/// The caller's buffer for what comes out of `apply`; it is emptied and reused by the caller.
#[derive(Debug, Default)]
pub struct Out {
    /// Effects and whose they are, in order.
    pub effects: Vec<(ConnectionKey, Effect)>,
    /// Whether the caller has a journal and so wants facts. It decides nothing but whether they are
    /// collected: the state comes out the same.
    pub wants_facts: bool,
    /// Whether effects rest on facts of batches before this one: a durable message is delivered, a
    /// definition is said to be there, or a query is answered. They are not to be seen before those facts are safe.
    pub rests_on_facts: bool,
    /// What the batch decided that must survive, to be written as one [`super::FactRecord`] with the
    /// batch's index and time. None: nothing of the batch must survive.
    pub facts: Vec<Fact>,
}

/// What became of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applied {
    /// It was taken.
    Done,
    /// It was taken before: nothing was done.
    Seen,
    /// One before it is missing: nothing was done, and the proposer sends again from `expected`.
    Gap {
        /// The number that the core takes next from this origin.
        expected: u64,
    },
    /// Its epoch is closed: nothing was done.
    Stale,
}

/// What the core wants of its sequencer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wants {
    /// Whether work is left for a `Continue`.
    pub work: bool,
    /// When the next `Tick` is due; [`GroupTime::NEVER`] for none.
    pub deadline: GroupTime,
}
