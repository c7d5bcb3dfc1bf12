//! Every bound of this room, with its reason.

/// Octets asked of a socket in one read, at least and at most. A silent connection holds no buffer;
/// one that sends much grows to the larger.
pub const READ_BYTES_MIN: usize = 4 * 1024;
/// See [`READ_BYTES_MIN`].
pub const READ_BYTES_MAX: usize = 64 * 1024;

/// Pieces of one vectored write. Linux takes 1024; more than this does not pay.
pub const WRITE_SLICES_MAX: usize = 64;

/// Octets written to one socket before others have their turn.
pub const WRITE_BYTES_PER_TURN: usize = 1024 * 1024;

/// Batches that a connection proposes in one round. One read may hold thousands of commands that
/// each take long; others have their turn between them.
pub const BATCHES_PER_ROUND: usize = 4;

/// Rounds of reading and writing that a connection has before other tasks have their turn.
pub const ROUNDS_PER_TURN: u32 = 8;

/// How long, in milliseconds, a peer that owes us reading (it has left answers unread up to their
/// bound, so nothing is read from it) may take no octet. Then it is cut off: a peer that waits for
/// us to read before it reads would wait for ever.
pub const UNREAD_MILLISECONDS: u64 = 30_000;

/// How long, in milliseconds, beyond two heartbeat intervals a peer with heartbeats may take no
/// octet while some wait for it. Its heartbeats show that its host lives; a client whose reader has
/// died holds messages that others could have.
pub const WRITE_STALL_MILLISECONDS: u64 = 10_000;

/// How long, in milliseconds, the last octets of a connection that has ended may wait for a peer
/// that does not take them.
pub const LAST_WORDS_MILLISECONDS: u64 = 2_000;

/// How long, in milliseconds, and how many octets a peer may still send after our last word. Were
/// the socket closed with octets unread, the kernel would take our last word back.
pub const LINGER_MILLISECONDS: u64 = 1_000;
/// See [`LINGER_MILLISECONDS`].
pub const LINGER_BYTES_MAX: usize = 1024 * 1024;

/// Connections that have not been opened, at one moment. When one more comes, the oldest of them is
/// dropped: whoever stalls in the handshake gives way to who may not.
pub const NEGOTIATING_MAX: usize = 8192;

/// Pause, in milliseconds, after the system has refused a new socket (too many files are open).
pub const ACCEPT_PAUSE_MILLISECONDS: u64 = 50;

/// Attempts to find one port that is free on all interfaces, when any port will do.
pub const PORT_ATTEMPTS: usize = 16;

/// `max-negotiate-time` at most, in milliseconds: a day. A larger one is a mistake.
pub const NEGOTIATE_MILLISECONDS_MAX: u64 = 24 * 60 * 60 * 1000;

/// Ports of one broker: one for each member of a group in one process.
pub const PORTS_MAX: usize = 16;

/// How often it is looked at how much memory the queues take. What comes meanwhile is over the limit.
pub const PAGING_INTERVAL: std::time::Duration = std::time::Duration::from_millis(20);

/// How many of these go by between two looks at the journal's room. A segment is filled in that time
/// only by a disk of hundred megabytes a second and more; one round takes several.
pub const PAGINGS_PER_COMPACTION: u32 = 8;

/// Octets of the disk that persistent messages do not get: what connections have on its way when it
/// gets full, about a mebibyte each of those that publish, and what makes room, go there. Were they
/// to wait for room themselves, accepts would wait behind them and there would never be any.
pub const JOURNAL_SPARE_BYTES: u64 = 16 * 1024 * 1024;

/// How long a connection on which nothing moves keeps the buffers that it had when it was busy: long
/// enough that a busy one, which also waits now and then, does not give memory back and ask for it
/// again all the time; short enough that many silent ones hold nothing.
pub const IDLE_MILLISECONDS: u64 = 1000;

/// Rounds of compaction in one look at the journal's room: whoever stops the broker waits for no more.
pub const COMPACTIONS_PER_LOOK: u32 = 16;
