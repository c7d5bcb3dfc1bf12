//! Group time made from a member's clock.

use super::Millis;
use crate::broker::ids::GroupTime;

/// Continues group time from the last value applied, with the sequencer's own clock.
#[derive(Clone, Copy, Debug)]
pub struct GroupClock {
    base: GroupTime,
    start: Millis,
    last: GroupTime,
}

impl GroupClock {
    /// A clock that shows `base` at `start`.
    pub fn continued(base: GroupTime, start: Millis) -> GroupClock {
        GroupClock {
            base,
            start,
            last: base,
        }
    }

    /// Group time at `now`, never before one that was given out.
    pub fn time(&mut self, now: Millis) -> GroupTime {
        let passed = now.0.saturating_sub(self.start.0);
        self.last = self.last.max(self.base.plus(passed));
        self.last
    }

    /// When the clock will show `time`; None for never.
    pub fn when(&self, time: GroupTime) -> Option<Millis> {
        let left = time.0.saturating_sub(self.base.0);
        let at = self.start.0.checked_add(left)?;
        (time != GroupTime::NEVER).then_some(Millis(at))
    }
}
