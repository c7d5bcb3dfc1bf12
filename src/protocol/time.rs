//! The clock of this room: a number that the caller gives.

/// Milliseconds of a monotonic clock of the caller. Only differences mean anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

impl Time {
    /// The moment `milliseconds` later; stays at the end of time instead of wrapping.
    #[must_use]
    pub fn plus_milliseconds(self, milliseconds: u64) -> Time {
        Time(self.0.saturating_add(milliseconds))
    }
}

/// The deadlines of a connection. One of each at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Timer {
    /// The peer has not opened the connection by then.
    Negotiate,
    /// We owe the peer a heartbeat.
    HeartbeatSend,
    /// Nothing has arrived for two heartbeat intervals.
    InputExpiry,
    /// The peer has not answered our close by then.
    Linger,
}

impl Timer {
    const ALL: [Timer; 4] = [
        Timer::Negotiate,
        Timer::HeartbeatSend,
        Timer::InputExpiry,
        Timer::Linger,
    ];
}

/// When each timer runs out, if it runs.
#[derive(Debug, Default)]
pub(super) struct Timers {
    deadlines: [Option<Time>; Timer::ALL.len()],
}

impl Timers {
    pub(super) fn set(&mut self, timer: Timer, at: Time) {
        self.put(timer, Some(at));
    }

    pub(super) fn stop(&mut self, timer: Timer) {
        self.put(timer, None);
    }

    fn put(&mut self, timer: Timer, at: Option<Time>) {
        // There is a place for each timer.
        if let Some(place) = self.deadlines.get_mut(timer as usize) {
            *place = at;
        }
    }

    pub(super) fn stop_all(&mut self) {
        self.deadlines = Default::default();
    }

    /// The earliest deadline.
    pub(super) fn next(&self) -> Option<Time> {
        self.deadlines.iter().flatten().min().copied()
    }

    /// Takes one timer that has run out at `now`.
    pub(super) fn take_expired(&mut self, now: Time) -> Option<Timer> {
        let mut timers = Timer::ALL.into_iter().zip(&mut self.deadlines);
        timers.find_map(|(timer, deadline)| {
            let expired = deadline.take_if(|at| *at <= now);
            expired.map(|_| timer)
        })
    }
}
