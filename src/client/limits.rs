//! What a client lets pile up.

use std::time::Duration;

/// Requests of all sessions that may wait for the connection's task.
pub const REQUESTS_MAX: usize = 1024;

/// Requests taken in one turn of the task; then the socket has its say.
pub const REQUESTS_BATCH: usize = 256;

/// Commands of a session that may be sent and not completed. A sender waits beyond it.
pub const INCOMPLETE_MAX: usize = 16 * 1024;

/// Bytes that may wait for the socket before no more requests are taken.
pub const OUTPUT_BYTES_MAX: usize = 1024 * 1024;

/// Room offered to one read of the socket, in bytes.
pub const READ_BYTES: usize = 64 * 1024;

/// Messages of credit that a subscription may ask for: so many may wait in it unread.
pub const CREDIT_MESSAGES_MAX: u32 = 65_536;

/// Redirections followed in one connect.
pub const REDIRECTIONS_MAX: usize = 4;

/// Time for one address: to connect and to open, unless configured otherwise.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Ranges of taken transfers of a session that wait to be told to the broker.
pub const TAKEN_RANGES_MAX: usize = 64;

/// Time between two rounds over all addresses of a broker that is looked for again.
pub const RECONNECT_PAUSE: Duration = Duration::from_millis(50);
