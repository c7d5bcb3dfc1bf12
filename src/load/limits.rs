//! Every bound of this room.

use std::time::Duration;

/// Octets that a producer prepares for one write. Larger ones leave the processor's cache.
pub const WRITE_BYTES: usize = 64 * 1024;

/// Room of a lane for what it reads, in octets. More than the largest frame, so that a frame is
/// always whole in it after the front has been read.
pub const READ_BYTES: usize = 256 * 1024;

/// Messages published and not consumed, over all queues, unless said otherwise: enough to keep
/// every stage busy, too few to measure how a broker copes with a backlog.
pub const IN_FLIGHT_MESSAGES: u64 = 10_000;

/// Likewise with consumers that never read, which the broker may give this many to keep.
pub const IN_FLIGHT_BESIDE_STUCK: u64 = 200_000;

/// Octets of bodies in flight, unless said otherwise; it lowers the number of messages.
pub const IN_FLIGHT_BYTES: u64 = 64 * 1024 * 1024;

/// Messages in flight however large they are: with fewer nothing would overlap.
pub const IN_FLIGHT_MIN: u64 = 16;

/// Deliveries after which a consumer with unlimited credit reports completion.
pub const COMPLETED_EVERY: u32 = 1000;

/// Size of one message, in octets.
pub const SIZE_MAX: u32 = 64 * 1024 * 1024;

/// Lanes of each kind.
pub const LANES_MAX: u32 = 10_000;

/// Queues, and bindings of a topic exchange.
pub const QUEUES_MAX: u32 = 100_000;

/// Producers with a rate: each has a thread that sleeps until its next message is due.
pub const PACED_PRODUCERS_MAX: usize = 64;

/// Receive buffer of a consumer that never reads, in octets: what the kernel would take on its
/// behalf shall not hide what the broker does.
pub const STUCK_RECEIVE_BYTES: u32 = 4096;

/// Connections that are being opened at one moment: qpidd and its kin let ten wait to be accepted,
/// and what the kernel drops it tries again only after a second.
pub const DIALS_MAX: usize = 8;

/// Time to open and attach one connection.
pub const OPEN_TIMEOUT: Duration = Duration::from_secs(20);

/// Time without any progress after which a run has failed.
pub const STALL_TIMEOUT: Duration = Duration::from_secs(10);

/// Time for the answer to a close; a peer without manners does not spoil a result.
pub const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// Between looks at the counters.
pub const TICK: Duration = Duration::from_millis(50);

/// A schedule sleeps on the runtime's timer, which counts milliseconds, until this long before a
/// message is due, and the rest by the kernel's.
pub const COARSE_SLEEP: Duration = Duration::from_millis(3);

/// Octets moved by one read of the relay.
pub const RELAY_BYTES: usize = 64 * 1024;

/// How long each leg of the floor is measured. The kernel books CPU time in hundredths of a
/// second: this makes an error of a few percent at most.
pub const FLOOR_LEG: Duration = Duration::from_secs(1);

/// Longest latency recorded exactly; what took longer counts as this long.
pub const LATENCY_MAX: Duration = Duration::from_secs(600);
