//! Every bound of the sockets of HTTP, with its reason.

use std::time::Duration;

/// Connections at one moment, over TLS and without, also such as are still shaking hands. When one more
/// comes, one is dropped, first of those that have asked nothing that they may ask.
pub const CONNECTIONS_MAX: usize = 256;

/// Requests that are being answered at one moment. One more is told to come again.
pub const REQUESTS_MAX: usize = 32;

/// Streams of events at one moment.
pub const EVENT_STREAMS_MAX: usize = 64;

/// Octets of the head of a request: the longest path there is has some four thousand.
pub const HEAD_BYTES_MAX: usize = 32 * 1024;

/// Octets of the body of a request: an import of some thousand definitions.
pub const BODY_BYTES_MAX: usize = 1024 * 1024;

/// How long a client may take for the head of a request, and be silent before it.
pub const HEAD_TIME: Duration = Duration::from_secs(15);

/// How long a client may take for the body of a request.
pub const BODY_TIME: Duration = Duration::from_secs(15);

/// How long the order is waited for. A member that does not hear a majority of the others learns nothing
/// of it.
pub const ORDER_TIME: Duration = Duration::from_secs(5);

/// How long messages may be taken out of a queue: millions take some seconds.
pub const TAKING_TIME: Duration = Duration::from_secs(60);

/// Parameters in a query.
pub const PARAMETERS_MAX: usize = 32;

/// Between two signs of life on a stream of events.
pub const EVENT_PAUSE: Duration = Duration::from_secs(15);

/// Events that wait for a stream's socket. Whoever takes them slower misses some, and is told how many.
pub const EVENTS_WAITING_MAX: usize = 16;
