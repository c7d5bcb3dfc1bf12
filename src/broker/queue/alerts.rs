//! Alerts: a queue that has grown to a line is to be told of once, until it has sunk to a lower one.
//! The core counts the crossings; who listens is told of them elsewhere.

use super::policy::DepthLimit;
use crate::broker::arguments::{self, number, number_of_32_bits, number_of_any};
use crate::broker::encoding::record;
use crate::wire::Map;

/// The line for messages, or that for octets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct AlertLine {
    /// From here on the queue is high; None for never.
    pub up: Option<u64>,
    /// Down to here it is until then.
    pub down: u64,
    /// Whether it is high.
    pub is_high: bool,
    /// How often it has become high.
    pub crossed_up: u64,
    /// How often it has ceased to be.
    pub crossed_down: u64,
}
record!(AlertLine {
    up,
    down,
    is_high,
    crossed_up,
    crossed_down
});

impl AlertLine {
    fn of(up: u64, down: u64) -> AlertLine {
        AlertLine {
            up: (up > 0).then_some(up),
            down: if down == 0 || down >= up {
                up / 2
            } else {
                down
            },
            ..AlertLine::default()
        }
    }

    /// Gives whether the queue has become high, or has ceased to be; None when neither.
    fn look(&mut self, now: u64) -> Option<bool> {
        let up = self.up?;
        if !self.is_high && now >= up {
            self.crossed_up += 1;
        } else if self.is_high && now <= self.down {
            self.crossed_down += 1;
        } else {
            return None;
        }
        self.is_high = !self.is_high;
        Some(self.is_high)
    }

    /// With more than this something is crossed.
    pub fn above(&self) -> u64 {
        match self.up {
            Some(up) if !self.is_high => up.saturating_sub(1),
            _ => u64::MAX,
        }
    }

    /// With less than this something is crossed.
    pub fn below(&self) -> u64 {
        match self.is_high {
            true => self.down.saturating_add(1),
            false => 0,
        }
    }
}

/// See the module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Alerts {
    /// Of messages.
    pub count: AlertLine,
    /// Of octets.
    pub bytes: AlertLine,
    /// Whether no lower line is given: then tools of former brokers are to be told, too.
    pub is_plain: bool,
}
record!(Alerts {
    count,
    bytes,
    is_plain
});

impl Alerts {
    /// Of a queue that holds so much. An alert is due at this part of it unless the queue says
    /// otherwise.
    ///
    /// # Errors
    /// A value is no number.
    pub fn of(arguments: &Map, limit: DepthLimit, percent: u8) -> Result<Alerts, String> {
        number_of_any(arguments, &arguments::ALERT_REPEAT_GAP)?;
        let share = |max: Option<u64>| {
            let share = u128::from(max.unwrap_or(0)) * u128::from(percent) / 100;
            u64::try_from(share).unwrap_or(u64::MAX)
        };
        let count = number_of_any(arguments, &arguments::ALERT_COUNT)?;
        let bytes = number_of_any(arguments, &arguments::ALERT_SIZE)?;
        let count_down = number_of_32_bits(arguments, arguments::ALERT_COUNT_DOWN)?.unwrap_or(0);
        let bytes_down = number(arguments, arguments::ALERT_SIZE_DOWN)?.unwrap_or(0);
        let count = count.unwrap_or_else(|| share(limit.count));
        let bytes = bytes.unwrap_or_else(|| share(limit.bytes));
        Ok(Alerts {
            count: AlertLine::of(count, u64::from(count_down)),
            bytes: AlertLine::of(bytes, bytes_down),
            is_plain: count_down == 0 && bytes_down == 0,
        })
    }

    /// Looks which lines a queue with so many messages and octets has crossed. Gives of each whether the
    /// queue has become high, or has ceased to be; None when neither.
    pub fn look(&mut self, (depth, bytes): (u64, u64)) -> [Option<bool>; 2] {
        [self.count.look(depth), self.bytes.look(bytes)]
    }
}
