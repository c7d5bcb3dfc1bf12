//! Every bound of this room, with its reason.

/// Deliveries that may be on their way to one socket: in the outbox, in the output, or written and
/// not yet reported as drained. Enough to keep a fast consumer of small messages busy between two
/// refills; small enough that a consumer that has stopped reading holds little.
pub const HEADROOM_MESSAGES: u32 = 4096;

/// Octets of messages that may be on their way to one socket, beside the last one, in the same
/// sense. About what the kernel holds for a socket as well.
pub const HEADROOM_BYTES: u64 = 1024 * 1024;

/// Octets of a connection's output that are one mark of [`super::outflow`]: what has drained is
/// known to this grain. A sixteenth of the headroom, so that a refill is never late by much.
pub const MARK_BYTES: u64 = 64 * 1024;

/// Octets of answers (completions, accepts, results, exceptions) that a peer may leave unread. Above
/// it nothing more is read from the peer, until it has read some of them. Deliveries do not count:
/// credit and headroom bound them, and their receiver must always be heard, or it could not accept.
pub const UNREAD_ANSWER_BYTES_MAX: usize = 1024 * 1024;
