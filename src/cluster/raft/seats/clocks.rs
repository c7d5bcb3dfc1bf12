//! The clocks of one member.

use super::super::member::Now;
use crate::cluster::Millis;

/// A monotonic clock that may be fast or slow, and a wall clock that may be wrong.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clocks {
    /// What the monotonic one showed at `since`.
    base: u64,
    since: Millis,
    /// Of its milliseconds so many in a thousand of the simulation's.
    per_mille: u64,
    /// By how much the wall clock is wrong, in milliseconds.
    pub wall_off_ms: i64,
}

impl Clocks {
    /// Of a life that begins at `now`, where the monotonic one shows `base`.
    pub fn new(now: Millis, base: u64, wall_off_ms: i64) -> Clocks {
        Clocks {
            base,
            since: now,
            per_mille: 1000,
            wall_off_ms,
        }
    }

    /// What the monotonic one shows.
    pub fn clock(&self, now: Millis) -> Millis {
        let passed = now.0.saturating_sub(self.since.0);
        Millis(self.base + passed * self.per_mille / 1000)
    }

    /// When the monotonic one shows this.
    pub fn when(&self, clock: Millis) -> Millis {
        let ahead = clock.0.saturating_sub(self.base) * 1000;
        Millis(self.since.0 + ahead.div_ceil(self.per_mille.max(1)))
    }

    /// From now on the monotonic one is that fast. It never goes back.
    pub fn drift(&mut self, now: Millis, per_mille: u64) {
        self.base = self.clock(now).0;
        self.since = now;
        self.per_mille = per_mille;
    }

    /// What both show.
    pub fn now(&self, now: Millis, wall_at_zero: u64) -> Now {
        let wall = wall_at_zero + now.0;
        Now {
            clock: self.clock(now),
            wall: wall.saturating_add_signed(self.wall_off_ms),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn when_is_the_first_time_at_which_the_clock_shows_it() {
        for per_mille in [900, 1000, 1037, 1100] {
            let mut clocks = Clocks::new(Millis(500), 7000, 0);
            clocks.drift(Millis(777), per_mille);
            for shown in 7278..7600 {
                let at = clocks.when(Millis(shown));
                assert!(clocks.clock(at).0 >= shown, "{per_mille}: {shown}");
                let before = Millis(at.0 - 1);
                let is_first = before.0 < 777 || clocks.clock(before).0 < shown;
                assert!(is_first, "{per_mille}: {shown}");
            }
        }
    }
}
