//! Every bound of this room, with its reason.

/// Deliveries that may be on their way to one socket: in the outbox, in the output, or written and
/// not yet reported as drained. Enough to keep a fast consumer of small messages busy between two
/// refills; small enough that a consumer that has stopped reading holds little.
pub const HEADROOM_MESSAGES: u32 = 4096;

/// Octets of messages that may be on their way to one socket, beside the last one, in the same
/// sense, once its peer is known to read. About what the kernel holds for a socket as well.
pub const HEADROOM_BYTES: u64 = 1024 * 1024;

/// The same before that. Thousands of consumers that never read hold this.
pub const HEADROOM_BYTES_FIRST: u64 = 128 * 1024;

/// Octets that a socket has taken when its peer is known to read: more than the system keeps for one that
/// does not (4 MiB here, and what the peer's system takes).
pub const READ_BYTES_PROVEN: u64 = 16 * 1024 * 1024;

/// Octets of a connection's output that are one mark of [`super::outflow`]: what has drained is
/// known to this grain. A sixteenth of the headroom, so that a refill is never late by much.
pub const MARK_BYTES: u64 = 64 * 1024;

/// Octets of answers (completions, accepts, results, exceptions) that a peer may leave unread. Above
/// it nothing more is read from the peer, until it has read some of them. Deliveries do not count:
/// credit and headroom bound them, and their receiver must always be heard, or it could not accept.
pub const UNREAD_ANSWER_BYTES_MAX: usize = 1024 * 1024;

/// Octets of a body that queries of xml exchanges look into: what such messages have by far, and read in
/// some milliseconds. A larger one matches no query that looks at the body.
pub const XML_BODY_BYTES_MAX: usize = 1024 * 1024;

/// Nodes of such a body: each takes memory of about a hundred octets while it is looked at.
pub const XML_NODES_MAX: u32 = 50_000;

/// Steps that one query may take for one message: an expression, a node or 64 octets of text each. Some
/// milliseconds; one that takes more does not match.
pub const XQUERY_STEPS_MAX: usize = 200_000;

/// How many expressions of a query may be in brackets one in the other, as it is read.
pub const XQUERY_NESTING_MAX: usize = 32;

/// How many expressions of a query may be one in the other, as it is worked out: each takes a frame of
/// the stack, or two.
pub const XQUERY_DEPTH_MAX: usize = 96;

/// Keys of xml exchanges whose queries a connection remembers, and octets of these: beyond, it is told
/// them again.
pub const XML_KEYS_MAX: usize = 64;

/// See [`XML_KEYS_MAX`].
pub const XML_QUERIES_BYTES_MAX: usize = 1024 * 1024;
