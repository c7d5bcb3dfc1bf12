//! What a connection tells its caller.

use bytes::Bytes;
use smallvec::SmallVec;

use crate::wire::{
    CloseCode, Command, CommandId, DetachCode, ErrorCode, ExecutionException, Map, SequenceSet,
    Struct32, Text,
};

/// The body segment of a message: pieces in order, none of them empty. Pieces may be slices of
/// the read buffer: what keeps a small one for long should copy it.
pub type Body = SmallVec<[Bytes; 1]>;

/// One thing that happened, in the order of the bytes that caused it.
///
/// *Questions* ([`StartOk`](Event::StartOk), [`SecureOk`](Event::SecureOk), [`Open`](Event::Open),
/// [`Attach`](Event::Attach), [`Detach`](Event::Detach), and of a client [`Start`](Event::Start)
/// and [`Secure`](Event::Secure)) stop the connection: no further event comes before the answer,
/// so that what a peer sends ahead of an answer meets the state that the answer made.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// Broker: the client chose a mechanism. Answer with `secure`, `authenticated` or `close`.
    StartOk {
        /// The mechanism's name as the client wrote it.
        mechanism: Text,
        /// The initial response; absent and empty differ.
        response: Option<Vec<u8>>,
        /// `client-properties`, empty when absent.
        client_properties: Map,
        /// The locale chosen.
        locale: Text,
    },
    /// Broker: the client answered a challenge. Answer with `secure`, `authenticated` or `close`.
    SecureOk {
        /// The response.
        response: Vec<u8>,
    },
    /// Broker: negotiation of the limits is done; nothing to answer.
    TuneOk(Tuned),
    /// Broker: the client wants a virtual host. Answer with `open_ok` or `close`.
    Open {
        /// The virtual host's name.
        virtual_host: Text,
        /// `connection.open.insist`.
        insist: bool,
    },
    /// Client: the broker's greeting. Answer with `start_ok` or `close`.
    Start {
        /// The broker's properties.
        server_properties: Map,
        /// Mechanisms offered.
        mechanisms: Vec<Text>,
        /// Locales offered.
        locales: Vec<Text>,
    },
    /// Client: a challenge. Answer with `secure_ok` or `close`.
    Secure {
        /// The challenge.
        challenge: Vec<u8>,
    },
    /// Client: limits are agreed on and `connection.open` is sent; nothing to answer.
    Tuned(Tuned),
    /// Client: the connection is open.
    OpenOk {
        /// URLs of all brokers of the cluster, if it says.
        known_hosts: Vec<Text>,
    },
    /// Client: go there instead. `Closed` follows.
    Redirect {
        /// URL to go to.
        host: Text,
        /// URLs of all brokers.
        known_hosts: Vec<Text>,
    },
    /// Broker: the client wants a session on this channel. Answer with `attached` or `detached`.
    Attach {
        /// The channel.
        channel: u16,
        /// The session's name, unique within the user's.
        name: Vec<u8>,
        /// Take the session from another connection.
        force: bool,
    },
    /// Client: the broker attached the session.
    Attached {
        /// The channel.
        channel: u16,
        /// The session's name.
        name: Vec<u8>,
    },
    /// Broker: the client ends the session of this channel. Answer with `detached`.
    Detach {
        /// The channel.
        channel: u16,
        /// The session's name.
        name: Vec<u8>,
    },
    /// The peer says that the session is no longer attached to this channel. Nothing to answer.
    Detached {
        /// The channel.
        channel: u16,
        /// The session's name.
        name: Vec<u8>,
        /// Why.
        code: DetachCode,
    },
    /// The peer asks for a timeout. Answer with the control `session.timeout`.
    RequestTimeout {
        /// The channel.
        channel: u16,
        /// Seconds; absent means for ever.
        timeout: Option<u32>,
    },
    /// The peer granted a timeout.
    Timeout {
        /// The channel.
        channel: u16,
        /// Seconds; absent means for ever.
        timeout: Option<u32>,
    },
    /// The peer expects these commands of ours next.
    Expected {
        /// The channel.
        channel: u16,
        /// The ids.
        commands: SequenceSet,
    },
    /// The peer has these commands of ours. Ids may lie outside what was sent.
    Confirmed {
        /// The channel.
        channel: u16,
        /// The ids.
        commands: SequenceSet,
    },
    /// The peer has done these commands of ours. Broker: ids may lie outside what was sent, clip
    /// before use. Client: those newly completed.
    Completed {
        /// The channel.
        channel: u16,
        /// The ids.
        commands: SequenceSet,
        /// The peer asked for `known-completed`; this layer has sent it.
        timely_reply: bool,
    },
    /// The peer knows that these commands of its are completed. Clip before use.
    KnownCompleted {
        /// The channel.
        channel: u16,
        /// The ids.
        commands: SequenceSet,
    },
    /// Broker: the peer wants to be told the state of its commands now.
    Flush {
        /// The channel.
        channel: u16,
        /// Answer with `expected`.
        expected: bool,
        /// Answer with `confirmed`.
        confirmed: bool,
        /// Answer with `completed`, timely-reply set.
        completed: bool,
    },
    /// The peer will never send these commands. Broker: ids may lie outside what can come, clip before
    /// use.
    Gap {
        /// The channel.
        channel: u16,
        /// The ids.
        commands: SequenceSet,
    },
    /// A command with all its content.
    Command {
        /// The channel.
        channel: u16,
        /// Its id within the session.
        id: CommandId,
        /// The peer wants its completion soon.
        sync: bool,
        /// The command.
        command: Command,
        /// The header segment, not yet looked at; `None` when there was none.
        header: Option<Bytes>,
        /// The body segment; `None` when there was none, which differs from an empty one.
        body: Option<Body>,
    },
    /// Client: the result of a command.
    Result {
        /// The channel.
        channel: u16,
        /// The command that asked.
        command_id: CommandId,
        /// The result; `None` when the broker sent an empty one.
        value: Option<Struct32>,
    },
    /// Client: a command failed; the broker detaches the session next.
    Exception {
        /// The channel.
        channel: u16,
        /// The broker's words.
        exception: ExecutionException,
    },
    /// Something of this session cannot be taken. End the session and answer with `fail_session`;
    /// until then the layer drops what comes on the channel but a detach.
    Refused {
        /// The channel.
        channel: u16,
        /// The command's id; for a control the id of the next command.
        id: CommandId,
        /// Why.
        code: ErrorCode,
        /// Class of the command, 0 when it has content or is not known.
        class: u8,
        /// Code of the command, 0 when it has content or is not known.
        command: u8,
        /// Why, in words.
        text: String,
    },
    /// The last event. The sessions of the connection are no longer attached.
    Closed {
        /// The code sent or received.
        code: CloseCode,
        /// Why, in words; with the field and its offset when bytes could not be decoded. This is
        /// for the log: the peer gets at most 128 bytes of it.
        text: String,
        /// Whose doing it is.
        by: ClosedBy,
    },
}

/// The limits agreed on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tuned {
    /// Highest channel number.
    pub channel_max: u16,
    /// Largest whole frame, in bytes.
    pub max_frame_size: u16,
    /// Heartbeat interval in seconds, 0 for none.
    pub heartbeat: u16,
}

/// Who ended a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClosedBy {
    /// The peer sent `connection.close`.
    Peer,
    /// We did: the caller's `close`, or a fault of the peer.
    Us,
    /// Nobody said anything: the socket ended or fell silent.
    Lost,
}
