//! When messages are due.

/// A fixed schedule: message `n` is due at `n / rate`, whatever became of those before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Schedule {
    /// Nanoseconds of the run's clock.
    start: u64,
    /// Nanoseconds between messages.
    interval: f64,
    taken: u64,
}

impl Schedule {
    /// `rate` messages a second from `start` on, in nanoseconds; `offset` of an interval later,
    /// so that several producers interleave.
    pub(super) fn new(rate: f64, start: u64, offset: f64) -> Schedule {
        let interval = 1e9 / rate;
        Schedule {
            start: start.saturating_add((interval * offset) as u64),
            interval,
            taken: 0,
        }
    }

    /// When the next message is due.
    pub(super) fn next(&self) -> u64 {
        self.start
            .saturating_add((self.taken as f64 * self.interval) as u64)
    }

    /// Messages that are due at `now` and not taken.
    pub(super) fn due(&self, now: u64) -> u64 {
        match now.checked_sub(self.start) {
            Some(passed) => {
                let so_far = (passed as f64 / self.interval) as u64 + 1;
                so_far.saturating_sub(self.taken)
            }
            None => 0,
        }
    }

    /// Takes the next message; when it was due.
    pub(super) fn take(&mut self) -> u64 {
        let due = self.next();
        self.taken += 1;
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_missed_in_a_stall_keep_the_time_they_were_due() {
        let mut schedule = Schedule::new(1000.0, 5_000_000, 0.0);
        assert_eq!(schedule.due(4_999_999), 0);
        assert_eq!(schedule.due(5_000_000), 1);
        assert_eq!(schedule.take(), 5_000_000);
        assert_eq!(schedule.due(5_000_000), 0);
        // A stall of ten milliseconds.
        assert_eq!(schedule.due(15_000_000), 10);
        assert_eq!(schedule.take(), 6_000_000);
        assert_eq!(schedule.take(), 7_000_000);
        assert_eq!(schedule.due(15_000_000), 8);
    }

    #[test]
    fn producers_of_one_rate_interleave() {
        let schedule = Schedule::new(500.0, 0, 0.5);
        assert_eq!(schedule.next(), 1_000_000);
    }
}
