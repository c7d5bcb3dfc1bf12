//! Every bound of this room: what a peer can make a connection hold, and for how long.
//!
//! Before authentication a connection holds at most [`UNAUTHENTICATED_BYTES_MAX`]: one frame
//! that has not arrived whole, one control in several frames, and the values decoded from it.

/// Smallest value that `max-frame-size` may be negotiated to, in bytes of a whole frame.
/// 0-10: MIN-MAX-FRAME-SIZE.
pub const MIN_MAX_FRAME_SIZE: u16 = 4096;

/// Largest whole frame offered, in bytes: all that the 16-bit size field can say, as qpidd offers.
pub const MAX_FRAME_SIZE: u16 = 65535;

/// Highest channel number offered, as qpidd offers.
pub const CHANNEL_MAX: u16 = 65534;

/// Longest heartbeat interval offered, in seconds, as qpidd offers.
pub const HEARTBEAT_MAX_SECONDS: u16 = 120;

/// Time from the first moment of a connection to its `connection.open`, in milliseconds; after
/// it the socket is closed. Stalling peers would hold sockets otherwise. qpidd's
/// `max-negotiate-time`.
pub const NEGOTIATE_MILLISECONDS: u64 = 10_000;

/// How long a closing connection that never opened waits for `close-ok`, in milliseconds. Short,
/// since such a peer may never have spoken the protocol at all.
pub const UNOPENED_LINGER_MILLISECONDS: u64 = 1_000;

/// How long a closing connection that was open waits for `close-ok`, in milliseconds.
pub const LINGER_MILLISECONDS: u64 = 5_000;

/// Sum of what one connection may hold before it is authenticated, in bytes.
pub const UNAUTHENTICATED_BYTES_MAX: usize = 256 * 1024;

/// Input bytes that may wait in an unopened connection before the driver is asked to stop
/// reading. One whole frame must fit.
pub const UNAUTHENTICATED_INPUT_BYTES_MAX: usize = 64 * 1024;

/// Bytes of controls in several frames that an unopened connection may hold.
pub const UNAUTHENTICATED_CONTROL_BYTES_MAX: usize = 64 * 1024;

/// Memory that the values decoded from one control may take before authentication, in bytes. A
/// few wire bytes can describe a huge array; 64 KiB of client properties are far more than any
/// client sends.
pub const UNAUTHENTICATED_DECODED_BYTES_MAX: usize = 96 * 1024;

/// Input bytes that may wait for an answer of the caller (attach, detach) before the driver is
/// asked to stop reading. The pause ends with that answer, which needs nothing of the peer.
pub const INPUT_BYTES_MAX: usize = 256 * 1024;

/// Bytes of controls in several frames that a connection may hold, over all its channels. The
/// largest legal control is a sequence set of 65535 bytes with a few bytes around it.
pub const CONTROL_BYTES_MAX: usize = 128 * 1024;

/// Channels on which a control may be half received at one moment. Senders finish a control
/// before they start another; more than a few is an attack.
pub const PARTIAL_CONTROLS_MAX: usize = 8;

/// Bytes of one command segment (a declare with its arguments), in as many frames as it takes.
pub const COMMAND_BYTES_MAX: usize = 1024 * 1024;

/// Bytes of one message (header and body) unless configured otherwise. A body that never ends
/// is cut here.
pub const ASSEMBLY_BYTES_MAX: usize = 128 * 1024 * 1024;

/// Bytes of all half-received messages of a connection, over all its channels, unless
/// configured otherwise: two of the largest.
pub const ASSEMBLIES_BYTES_MAX: usize = 2 * ASSEMBLY_BYTES_MAX;

/// Sessions attached on one connection unless configured otherwise. Clients use one per thread
/// or so; each costs a few hundred bytes here and more in the broker.
pub const SESSIONS_MAX: usize = 8192;

/// Bytes of a session name. Names are uuids or, for federation, four names of at most 255 bytes
/// joined; the wire would allow 65535.
pub const SESSION_NAME_BYTES_MAX: usize = 4096;

/// Octets of a body of several frames that are kept as slices of read buffers; what comes after is
/// copied. A slice pins its whole buffer, and of a body as large as the limit allows that would be
/// up to as much again.
pub const BODY_BY_REFERENCE_MAX: usize = 1024 * 1024;

/// Body fragments of at least this many bytes are kept as slices of the read buffer, smaller ones
/// of a body in several frames are copied together. A slice pins its whole read buffer: with
/// buffers of 64 KiB, 16 KiB bounds the waste to four times the body.
pub const FRAGMENT_BY_REFERENCE_MIN: usize = 16 * 1024;

/// Size up to which copied body fragments are gathered in one piece, in bytes.
pub const FRAGMENT_CHUNK_BYTES: usize = 64 * 1024;

/// Outgoing body parts of at least this many bytes are kept by reference, smaller ones copied.
pub const OUTPUT_BY_REFERENCE_MIN: usize = 4096;

/// Room for copied output that stays allocated when all has been written, in bytes: what a busy
/// connection fills between two writes, so that it does not give memory back and ask for it again
/// all the time.
pub const OUTPUT_KEPT_BYTES: usize = 1024 * 1024;

/// The same for a connection on which nothing moves.
pub const OUTPUT_IDLE_BYTES: usize = 4 * 1024;

/// Answers of this layer itself (known-completed, detached, ...) that may wait unsent, in bytes.
/// A peer that asks without ever reading is cut off: pausing its input instead could stall both.
pub const REPLY_BYTES_MAX: usize = 1024 * 1024;

/// Text of `connection.close`, in bytes, as qpidd cuts it.
pub const CLOSE_TEXT_BYTES_MAX: usize = 128;

/// Description of an `execution.exception`, in bytes; its length field has 16 bits.
pub const EXCEPTION_TEXT_BYTES_MAX: usize = 65_535;

/// Channel numbers below this are kept in a table indexed by number; others in a sorted list.
pub const DENSE_CHANNELS: usize = 256;

/// Ranges in the set of completed incoming commands of a client after which it is reported
/// without being asked, so that `known-completed` can shrink it.
pub const COMPLETED_RANGES_MAX: usize = 64;

/// Completed incoming commands after which a client reports them without being asked. As qpidd
/// does.
pub const COMPLETED_IDS_MAX: u32 = 65_536;

/// Ranges of commands that a peer has said will never come, ahead of the next command: senders skip
/// what they cannot send again, which is a few.
pub const GAP_RANGES_MAX: usize = 1024;
