//! How high and how low numbers were since management was told of them last.
//!
//! These are no state: no command's outcome goes by them, each member has its own, and one that was
//! decoded begins anew. They are changed where the number is, and taken back by whoever tells.

use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};

use super::encoding::{Decoder, Encoder, EncodingError, Record, record};

/// The highest and the lowest that a number was. It is told under the lock of the core, which others only
/// look at then: so nothing is ordered by these.
#[derive(Debug, Default)]
pub struct Watched {
    high: AtomicU64,
    low: AtomicU64,
}

impl Watched {
    /// Of a number that nothing is known of.
    fn unknown() -> Watched {
        Watched {
            high: AtomicU64::new(0),
            low: AtomicU64::new(u64::MAX),
        }
    }

    /// The number has grown.
    #[inline]
    pub fn rise(&mut self, to: u64) {
        let high = self.high.get_mut();
        if to > *high {
            *high = to;
        }
    }

    /// The number has shrunk.
    #[inline]
    pub fn sink(&mut self, to: u64) {
        let low = self.low.get_mut();
        if to < *low {
            *low = to;
        }
    }

    /// The number has changed.
    pub fn change(&mut self, to: u64) {
        self.rise(to);
        self.sink(to);
    }

    /// The highest and the lowest of a number that is `now`. When it `is_told` they begin anew.
    pub fn marks(&self, now: u64, is_told: bool) -> (u64, u64) {
        let high = self.high.load(Ordering::Relaxed).max(now);
        let low = self.low.load(Ordering::Relaxed).min(now);
        if is_told {
            self.high.store(now, Ordering::Relaxed);
            self.low.store(now, Ordering::Relaxed);
        }
        (high, low)
    }
}

impl Clone for Watched {
    fn clone(&self) -> Self {
        Watched {
            high: AtomicU64::new(self.high.load(Ordering::Relaxed)),
            low: AtomicU64::new(self.low.load(Ordering::Relaxed)),
        }
    }
}

impl Hash for Watched {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl Record for Watched {
    fn encode(&self, _: &mut Encoder) {}
    fn decode(_: &mut Decoder<'_>) -> Result<Self, EncodingError> {
        Ok(Watched::unknown())
    }
}

/// What is watched of a queue.
#[derive(Clone, Debug, Default, Hash)]
pub struct QueueWatched {
    /// Messages that somebody has acquired.
    pub unacknowledged: Watched,
    /// Subscriptions.
    pub consumers: Watched,
    /// Bindings, without that to the default exchange.
    pub bindings: Watched,
}
record!(QueueWatched {
    unacknowledged,
    consumers,
    bindings
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_those_since_they_were_told_last() {
        let mut watched = Watched::default();
        watched.rise(3);
        watched.rise(2);
        assert_eq!(watched.marks(2, false), (3, 0));
        assert_eq!(watched.marks(2, true), (3, 0));
        assert_eq!(watched.marks(2, true), (2, 2));
        watched.change(1);
        watched.change(2);
        assert_eq!(watched.marks(2, true), (2, 1));
    }

    #[test]
    fn a_number_that_nothing_is_known_of_is_what_it_is() {
        assert_eq!(Watched::unknown().marks(5, false), (5, 5));
    }
}
