//! The only clock, and the only randomness.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::cluster::Millis;
use crate::protocol::Time;

/// A monotonic clock that began with the broker. All rooms that are told the time are told this one.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Instant,
}

impl Clock {
    /// A clock that shows 0 now.
    pub fn start() -> Clock {
        Clock {
            start: Instant::now(),
        }
    }

    /// Milliseconds since the start, for groups.
    pub fn millis(&self) -> Millis {
        Millis(u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX))
    }

    /// The same for connections.
    pub fn time(&self) -> Time {
        Time(self.millis().0)
    }

    /// When the clock will show `milliseconds`; a moment too far away to name is a year from now.
    pub fn instant(&self, milliseconds: u64) -> tokio::time::Instant {
        const YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);
        let at = self.start.checked_add(Duration::from_millis(milliseconds));
        tokio::time::Instant::from_std(at.unwrap_or_else(|| Instant::now() + YEAR))
    }
}

/// 64 random bits: the standard library seeds its hashers from the system.
pub fn random() -> u64 {
    RandomState::new().hash_one(std::process::id())
}

/// Milliseconds since 1970 by the wall clock, for how long the broker was down.
pub fn wall_milliseconds() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |passed| {
            u64::try_from(passed.as_millis()).unwrap_or(u64::MAX)
        })
}

/// Nanoseconds since 1970 by the wall clock, for management.
pub fn wall_nanoseconds() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |passed| {
            u64::try_from(passed.as_nanos()).unwrap_or(u64::MAX)
        })
}
