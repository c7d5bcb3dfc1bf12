//! What links let pile up, and how long they wait.

use std::time::Duration;

/// The pause after the first failure, unless the link-maintenance-interval says otherwise; each further one
/// is twice as long.
pub const PAUSE_MIN: Duration = Duration::from_secs(1);

/// Pauses do not grow beyond so many times the first one: as with qpidd about a minute.
pub const PAUSE_GROWTH_MAX: u32 = 32;

/// The pause of a bridge whose session has failed, before it is begun again; it grows as that of a link.
pub const BRIDGE_PAUSE: Duration = Duration::from_millis(250);

/// Seconds between heartbeats, unless configured otherwise. qpidd's.
pub const HEARTBEAT_SECONDS: u16 = 120;

/// How long an address has to let a link in.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a bridge that is to end waits for what is on its way.
pub const DETACH_TIMEOUT: Duration = Duration::from_secs(5);

/// Addresses of the other broker's cluster that a link knows.
pub const ADDRESSES_MAX: usize = 64;

/// Messages on their way to a bridge where no credit was asked for; of a bridge that acknowledges these are
/// what may come twice when the link is lost. With a tenth of a second there and back this is 600,000 a
/// second.
pub const WINDOW: u32 = 64 * 1024;

/// Octets on their way to a bridge, or unaccepted: more than the largest message that a broker takes.
pub const WINDOW_BYTES: u32 = 160 * 1024 * 1024;

/// Bridges that have begun and of which their link does not know yet: they wait for it.
pub const SIGNALS_MAX: usize = 64;

/// Bindings that are told in one look at the core.
pub const BINDINGS_PER_LOOK: usize = 500;

/// Messages of a bridge that are passed on before it looks at something else.
pub const MESSAGES_PER_TURN: usize = 256;
