//! What changes the core: commands, and the batches that bring them in one order.
//!
//! Everything that may differ from member to member was decided before a command was proposed:
//! bytes are decoded, rights are checked, defaults from options are put in.

use std::sync::Arc;

use bytes::Bytes;

use super::branch::DtxRequest;
use super::encoding::{Decoder, Encoder, EncodingError, Record, record, record_enum};
use super::guard::Guarded;
use super::ids::{ChannelKey, ConnectionNumber, GroupTime, MemberId, ShardId};
use super::level::LevelsOf;
use super::management::AgentCommand;
use super::message::Message;
use super::options::{FirstOptions, Options, SecondOptions};
use super::parts::TransferOfParts;
use crate::wire::{
    self, AcceptMode, CommandId, CreditUnit, ErrorCode, FlowMode, Map, SequenceSet, Text,
};

/// Commands at one place of the order.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// The shard whose order this is.
    pub shard: ShardId,
    /// The place: one more than the batch before.
    pub index: u64,
    /// Group time.
    pub time: GroupTime,
    /// Who proposed it.
    pub origin: Origin,
    /// What is to be done, in this order. At most [`super::limits::BATCH_COMMANDS_MAX`].
    pub commands: Vec<Command>,
}
record!(Batch {
    shard,
    index,
    time,
    origin,
    commands
});

/// Who proposed a batch, numbered so that loss, doubling and reordering on the way do no harm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// A member, for its own connections. Only `seq` = last + 1 of the open epoch is taken.
    Member {
        /// Who.
        id: MemberId,
        /// Counts the member's starts; a lower one than the last seen is stale.
        epoch: u64,
        /// Counts the member's batches of this epoch from 1.
        seq: u64,
    },
    /// Another shard's port.
    Port {
        /// The other shard.
        shard: ShardId,
        /// Counts the port's batches from 1.
        seq: u64,
    },
    /// The sequencer itself: ticks, continuations, members that are down.
    Sequencer,
}
record_enum!(Origin {
    0 = Member { id, epoch, seq },
    1 = Port { shard, seq },
    2 = Sequencer,
});

/// One change of the core. At most 96 bytes, so that a batch is moved cheaply; rare ones are boxed.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// A command of a session, numbered by its client.
    Session {
        /// Which session: the one attached there.
        at: ChannelKey,
        /// The client's number for the command.
        id: CommandId,
        /// Whether the client asks to be told at once when it is completed.
        sync: bool,
        /// What to do.
        request: Request,
    },
    /// The client has received deliveries so far: window credit returns.
    Completed {
        /// The session's place.
        at: ChannelKey,
        /// Outgoing command ids.
        commands: SequenceSet,
    },
    /// The client knows of completions: they need not be told again.
    KnownCompleted {
        /// The session's place.
        at: ChannelKey,
        /// Incoming command ids.
        commands: SequenceSet,
    },
    /// The client asks for the state of its commands.
    SessionFlush {
        /// The session's place.
        at: ChannelKey,
        /// Answer with `session.expected`.
        expected: bool,
        /// Answer with `session.confirmed`.
        confirmed: bool,
        /// Answer with `session.completed`.
        completed: bool,
    },
    /// The member's sockets have drained: it can take this much more.
    Headroom {
        /// The connection.
        connection: ConnectionNumber,
        /// Messages.
        messages: u32,
        /// Octets.
        bytes: u64,
    },
    /// A connection has been opened.
    ConnectionOpen {
        /// Its number.
        connection: ConnectionNumber,
        /// What is known of it.
        record: Box<ConnectionRecord>,
    },
    /// A connection is gone: its sessions end, but for those that have a timeout.
    ConnectionEnd {
        /// Its number.
        connection: ConnectionNumber,
    },
    /// A session is to be attached.
    Attach {
        /// Where.
        at: ChannelKey,
        /// The session's name; the user is the connection's.
        name: Vec<u8>,
        /// Whether a session of that name elsewhere is pushed aside.
        force: bool,
    },
    /// A session is to be detached, which ends it unless it has a timeout.
    Detach {
        /// Where.
        at: ChannelKey,
    },
    /// Time has come to the core's next deadline.
    Tick,
    /// Go on with work that was too much for one entry.
    Continue,
    /// A member is down: its connections are gone, and batches of its epochs so far are stale.
    MemberDown {
        /// Who.
        member: MemberId,
        /// The last epoch that is closed.
        epoch: u64,
    },
    /// As [`Command::Configure`], of a version that knew few options.
    ConfigureFirst(Box<FirstOptions>),
    /// Octets of a large message, which go ahead of its publish ([`Request::TransferOfParts`]): header
    /// and body, in order.
    BodyPart {
        /// The connection that publishes it.
        connection: ConnectionNumber,
        /// How many octets were before; 0 begins a message.
        at: u64,
        /// The octets.
        octets: Bytes,
    },
    /// The body of a message on its way to a client is lost: the message leaves its queue, and the
    /// session fails.
    Lost {
        /// Which session: the one attached there.
        at: ChannelKey,
        /// The broker's number for the transfer.
        delivery: CommandId,
        /// What the client is told.
        text: String,
    },
    /// The client has these deliveries, answers and accepts: they need not be sent again.
    Confirmed {
        /// The session's place.
        at: ChannelKey,
        /// Outgoing command ids.
        commands: SequenceSet,
    },
    /// The client of a resumed session says which command of the broker it expects.
    Expected {
        /// The session's place.
        at: ChannelKey,
        /// The first outgoing command id that it does not have; none when it knows of no session.
        commands: SequenceSet,
    },
    /// Commands of the client will never come: they count as done.
    Gap {
        /// The session's place.
        at: ChannelKey,
        /// Incoming command ids.
        commands: SequenceSet,
    },
    /// The session outlives its connection for this time. What an operator allows at most was looked
    /// at by the proposer.
    GrantTimeout {
        /// The session's place.
        at: ChannelKey,
        /// Seconds; 0 for a session that ends with its connection.
        timeout: u32,
    },
    /// What management shows of a connection that has just been opened.
    ConnectionDetails {
        /// Its number.
        connection: ConnectionNumber,
        /// What is shown.
        details: Box<ConnectionDetails>,
    },
    /// An agent of management asks.
    Agent {
        /// The agent's connection.
        connection: ConnectionNumber,
        /// What.
        command: Box<AgentCommand>,
    },
    /// What the session's next transfer, to an xml exchange, was found to match.
    Matching(Box<Matching>),
    /// As [`Command::Configure`], of a version that replicated nothing.
    ConfigureSecond(Box<SecondOptions>),
    /// Members of the cluster have come or gone, or are found elsewhere.
    Members {
        /// All that take part, in order.
        parts: Vec<MemberId>,
        /// Where clients find those that are there, in order.
        urls: Vec<Text>,
    },
    /// The levels that the versions know which members run, [`super::limits::MEMBERS_MAX`] at most.
    Levels(LevelsOf),
    /// The member can hold so much for a connection from now on, in all.
    HeadroomMax {
        /// The connection.
        connection: ConnectionNumber,
        /// Octets of messages. Fewer than before change nothing.
        bytes: u64,
    },
    /// Options that `apply` reads have new values.
    Configure(Box<Options>),
}
record_enum!(Command {
    0 = Session { at, id, sync, request },
    1 = Completed { at, commands },
    2 = KnownCompleted { at, commands },
    3 = SessionFlush { at, expected, confirmed, completed },
    4 = Headroom { connection, messages, bytes },
    5 = ConnectionOpen { connection, record },
    6 = ConnectionEnd { connection },
    7 = Attach { at, name, force },
    8 = Detach { at },
    9 = Tick,
    10 = Continue,
    11 = MemberDown { member, epoch },
    12 = ConfigureFirst(options),
    13 = BodyPart { connection, at, octets },
    14 = Lost { at, delivery, text },
    15 = Confirmed { at, commands },
    16 = Expected { at, commands },
    17 = Gap { at, commands },
    18 = GrantTimeout { at, timeout },
    19 = ConnectionDetails { connection, details },
    20 = Agent { connection, command },
    21 = Matching(matching),
    22 = ConfigureSecond(options),
    23 = Members { parts, urls },
    24 = Levels(levels),
    25 = HeadroomMax { connection, bytes },
    26 = Configure(options),
});

impl Command {
    /// Whether it ends a transaction, or prepares one: who proposes puts nothing behind it into the same
    /// batch, since it may do as much as [`super::limits::TRANSACTION_PLACES_MAX`] allows.
    #[inline]
    pub fn ends_transaction(&self) -> bool {
        let Command::Session { request, .. } = self else {
            return false;
        };
        match request {
            Request::TxCommit | Request::TxRollback => true,
            Request::Dtx(request) => matches!(
                **request,
                DtxRequest::Prepare { .. }
                    | DtxRequest::Commit { .. }
                    | DtxRequest::Rollback { .. }
            ),
            _ => false,
        }
    }
}

/// What all members know of a connection.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub struct ConnectionRecord {
    /// The peer's address, as text.
    pub peer: Text,
    /// The authenticated user, as sessions and rights know it: `user@realm` or `anonymous`.
    pub user: Text,
    /// What the client said of itself.
    pub client_properties: Map,
    /// How much the member can hold for it at once: messages.
    pub headroom_messages: u32,
    /// How much the member can hold for it at once: octets.
    pub headroom_bytes: u64,
}
record!(ConnectionRecord {
    peer,
    user,
    client_properties,
    headroom_messages,
    headroom_bytes
});

/// What management shows of a connection beside its record.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub struct ConnectionDetails {
    /// The address that the client has connected to, as text.
    pub local: Text,
    /// How it has proved who it is.
    pub mechanism: Text,
    /// How many bits keep others from listening; 0 for a connection that is not encrypted.
    pub strength: u16,
    /// Whether it is a link's.
    pub is_link: bool,
    /// Whether it stands for a connection that this broker has made itself: then that is what is shown, and
    /// the client is the other broker.
    pub is_outgoing: bool,
}
record!(ConnectionDetails {
    local,
    mechanism,
    strength,
    is_link,
    is_outgoing
});

/// What a session asks. Frequent ones are flat, rare ones are boxed commands of the wire.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// `execution.sync`: complete when all earlier ones are.
    Sync,
    /// `message.transfer`: publish.
    Transfer {
        /// The exchange.
        destination: Text,
        /// Whether the client wants `message.accept` for it.
        accept_mode: AcceptMode,
        /// The message, made for this destination.
        message: Arc<Message>,
    },
    /// `message.accept`.
    Accept {
        /// Outgoing command ids.
        transfers: SequenceSet,
    },
    /// `message.reject`.
    Reject {
        /// Outgoing command ids.
        transfers: SequenceSet,
    },
    /// `message.release`.
    Release {
        /// Outgoing command ids.
        transfers: SequenceSet,
        /// Whether the messages are to be flagged redelivered.
        set_redelivered: bool,
    },
    /// `message.acquire`.
    Acquire {
        /// Outgoing command ids.
        transfers: SequenceSet,
    },
    /// `message.flow`.
    Flow {
        /// The subscription.
        destination: Text,
        /// What the credit counts.
        unit: CreditUnit,
        /// How much; 0xFFFFFFFF is without end.
        value: u32,
    },
    /// `message.set-flow-mode`.
    SetFlowMode {
        /// The subscription.
        destination: Text,
        /// Credit or window.
        flow_mode: FlowMode,
    },
    /// `message.flush`: send what credit allows, then have none.
    FlushSubscription {
        /// The subscription.
        destination: Text,
    },
    /// `message.stop`: have no credit.
    Stop {
        /// The subscription.
        destination: Text,
    },
    /// `message.cancel`.
    Cancel {
        /// The subscription.
        destination: Text,
    },
    /// `message.subscribe`; the selector among the arguments was found sound.
    Subscribe(Box<wire::MessageSubscribe>),
    /// `tx.select`.
    TxSelect,
    /// `tx.commit`.
    TxCommit,
    /// `tx.rollback`.
    TxRollback,
    /// `exchange.declare`.
    ExchangeDeclare(Box<wire::ExchangeDeclare>),
    /// `exchange.delete`.
    ExchangeDelete(Box<wire::ExchangeDelete>),
    /// `exchange.query`.
    ExchangeQuery(Box<wire::ExchangeQuery>),
    /// `exchange.bind`.
    ExchangeBind(Box<wire::ExchangeBind>),
    /// `exchange.unbind`.
    ExchangeUnbind(Box<wire::ExchangeUnbind>),
    /// `exchange.bound`.
    ExchangeBound(Box<wire::ExchangeBound>),
    /// `queue.declare`.
    QueueDeclare(Box<wire::QueueDeclare>),
    /// `queue.delete`.
    QueueDelete(Box<wire::QueueDelete>),
    /// `queue.purge`.
    QueuePurge(Box<wire::QueuePurge>),
    /// `queue.query`.
    QueueQuery(Box<wire::QueueQuery>),
    /// A command that was refused before it was proposed (not built, malformed, without right): the
    /// session fails with this exception when its turn comes.
    Refused(Box<Refusal>),
    /// A command that needs no doing here: it is completed (`execution.result`, an exception of the
    /// client's, accepts of nothing).
    Nothing,
    /// `message.transfer` of a message that has come ahead in [`Command::BodyPart`]s.
    TransferOfParts(Box<TransferOfParts>),
    /// A command of the class `dtx`.
    Dtx(Box<DtxRequest>),
    /// `message.resume`: how much of an interrupted transfer is here.
    MessageResume,
    /// `exchange.bind` with an `xquery` that was found not to be one: refused by an xml exchange.
    BindUnreadable(Box<UnreadableBind>),
    /// A command that depends on what is there already, or on who made it.
    Guarded(Box<Guarded>),
}
record_enum!(Request {
    0 = Sync,
    1 = Transfer { destination, accept_mode, message },
    2 = Accept { transfers },
    3 = Reject { transfers },
    4 = Release { transfers, set_redelivered },
    5 = Acquire { transfers },
    6 = Flow { destination, unit, value },
    7 = SetFlowMode { destination, flow_mode },
    8 = FlushSubscription { destination },
    9 = Stop { destination },
    10 = Cancel { destination },
    11 = Subscribe(command),
    12 = TxSelect,
    13 = TxCommit,
    14 = TxRollback,
    15 = ExchangeDeclare(command),
    16 = ExchangeDelete(command),
    17 = ExchangeQuery(command),
    18 = ExchangeBind(command),
    19 = ExchangeUnbind(command),
    20 = ExchangeBound(command),
    21 = QueueDeclare(command),
    22 = QueueDelete(command),
    23 = QueuePurge(command),
    24 = QueueQuery(command),
    25 = Refused(refusal),
    26 = Nothing,
    27 = TransferOfParts(publish),
    28 = Dtx(request),
    32 = MessageResume,
    33 = BindUnreadable(bind),
    40 = Guarded(guarded),
});
/// A binding whose query cannot be read.
#[derive(Clone, Debug, PartialEq)]
pub struct UnreadableBind {
    /// The command.
    pub bind: wire::ExchangeBind,
    /// What is wrong with the query.
    pub text: String,
}
record!(UnreadableBind { bind, text });

/// What a transfer to an xml exchange was found to match, and of which bindings.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Matching {
    /// The session's place.
    pub at: ChannelKey,
    /// The transfer.
    pub id: CommandId,
    /// The number of the change that the bindings of the message's key had seen last, as they were looked
    /// at.
    pub version: u64,
    /// The places of those that match, ascending.
    pub places: Vec<u32>,
}
record!(Matching {
    at,
    id,
    version,
    places
});

/// Why a command was refused before it was proposed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Refusal {
    /// The exception's code.
    pub code: ErrorCode,
    /// The class of the command.
    pub class: u8,
    /// The command's code in its class.
    pub command: u8,
    /// What was wrong.
    pub text: String,
}
record!(Refusal {
    code,
    class,
    command,
    text
});

/// Commands of the wire are encoded as on the wire.
macro_rules! record_wire_commands {
    ($($type:ident),* $(,)?) => {$(
        impl Record for wire::$type {
            fn encode(&self, to: &mut Encoder) {
                to.sized_by(|out| wire::Command::$type(self.clone()).encode(false, out));
            }
            fn decode(from: &mut Decoder<'_>) -> Result<Self, EncodingError> {
                let bytes = from.sized(stringify!($type))?;
                let budget = bytes.len().saturating_mul(64).saturating_add(1024);
                let mut cursor = wire::Cursor::with_budget(bytes, budget);
                match wire::Command::decode(&mut cursor) {
                    Ok((_, wire::Command::$type(command))) => Ok(command),
                    _ => Err(from.error(stringify!($type))),
                }
            }
        }
    )*};
}
record_wire_commands!(
    MessageSubscribe,
    ExchangeDeclare,
    ExchangeDelete,
    ExchangeQuery,
    ExchangeBind,
    ExchangeUnbind,
    ExchangeBound,
    QueueDeclare,
    QueueDelete,
    QueuePurge,
    QueueQuery,
);
