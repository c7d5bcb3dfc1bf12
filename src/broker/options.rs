//! The options that `apply` reads. They are state of the core, set by a command, so that members
//! with other configuration files do not part ways.

use super::encoding::record;

/// Options of the core; the names are qpidd's.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Options {
    /// `default-queue-limit`: octets a queue holds unless it is declared otherwise; 0 is no limit.
    pub default_queue_limit: u64,
    /// `queue-purge-interval`: milliseconds between two searches for expired messages; 0 is never.
    pub queue_purge_interval: u64,
}
record!(Options {
    default_queue_limit,
    queue_purge_interval
});

impl Default for Options {
    fn default() -> Self {
        Options {
            default_queue_limit: 100 * 1024 * 1024,
            queue_purge_interval: 600_000,
        }
    }
}
