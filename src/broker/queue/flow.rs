//! Producer flow control: above a line the transfers of messages that come are not completed, so that
//! publishers which wait for completion pause, until the queue has sunk below another.
//!
//! Which transfers are held is state, since their completion is a reply that all members give alike.

use std::collections::BTreeMap;

use super::policy::DepthLimit;
use crate::broker::arguments::{self, number, number_of_32_bits};
use crate::broker::encoding::record;
use crate::broker::ids::SessionId;
use crate::broker::options::QueueDefaults;
use crate::wire::{CommandId, Map};

/// A transfer that is not completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HeldTransfer {
    /// The session of its publisher.
    pub session: SessionId,
    /// Its number there.
    pub command: CommandId,
}
record!(HeldTransfer { session, command });

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flow {
    /// `qpid.flow_stop_count`: with more messages publishers are held back. None for any number.
    pub stop_count: Option<u64>,
    /// `qpid.flow_stop_size`: with more octets publishers are held back. None for any number.
    pub stop_bytes: Option<u64>,
    /// `qpid.flow_resume_count`: with fewer messages they go on. None for any number.
    pub resume_count: Option<u64>,
    /// `qpid.flow_resume_size`: with fewer octets they go on. None for any number.
    pub resume_bytes: Option<u64>,
    /// Whether publishers are held back.
    pub is_stopped: bool,
    /// How often they have been.
    pub stopped_count: u64,
    /// Transfers that are held, by the position of their message. There are none while publishers are
    /// not held back.
    pub held: BTreeMap<u64, HeldTransfer>,
    /// Transfers that are held no longer and of which the session has yet to hear.
    pub released: Vec<HeldTransfer>,
}
record!(Flow {
    stop_count,
    stop_bytes,
    resume_count,
    resume_bytes,
    is_stopped,
    stopped_count,
    held,
    released
});

impl Flow {
    /// Of a queue that holds so much.
    ///
    /// # Errors
    /// A line to go on at is above the one to stop at, or that one above the limit.
    pub fn of(
        name: &str,
        arguments: &Map,
        limit: DepthLimit,
        defaults: &QueueDefaults,
    ) -> Result<Flow, String> {
        let [count, bytes] = Line::of(arguments, limit)?;
        let (stop_count, resume_count) = count.checked("count", name, defaults)?;
        let (stop_bytes, resume_bytes) = bytes.checked("size", name, defaults)?;
        if stop_count.is_none() && stop_bytes.is_none() {
            return Ok(Flow::default());
        }
        Ok(Flow {
            stop_count,
            stop_bytes,
            resume_count,
            resume_bytes,
            ..Flow::default()
        })
    }

    /// Looks at the arguments of a queue in which publishers are never held back.
    ///
    /// # Errors
    /// A value is no number.
    pub fn none(arguments: &Map) -> Result<Flow, String> {
        Line::of(arguments, DepthLimit::default()).map(|_| Flow::default())
    }

    /// Looks whether publishers are held back in a queue with so many messages and octets.
    pub fn look(&mut self, (depth, bytes): (u64, u64)) {
        let is_above = |line: Option<u64>, now| line.is_some_and(|line| now > line);
        let is_below = |line: Option<u64>, now| line.is_none_or(|line| now < line);
        if !self.is_stopped {
            let is_over = is_above(self.stop_count, depth) || is_above(self.stop_bytes, bytes);
            self.is_stopped = is_over;
            self.stopped_count += u64::from(is_over);
        } else if is_below(self.resume_count, depth) && is_below(self.resume_bytes, bytes) {
            self.is_stopped = false;
            let held = std::mem::take(&mut self.held);
            self.released.extend(held.into_values());
        }
    }

    /// A message has left: its transfer is held no longer.
    pub fn left(&mut self, position: u64) {
        self.released.extend(self.held.remove(&position));
    }

    /// Only messages at these positions are left.
    pub fn left_but(&mut self, stays: &[u64]) {
        let all = std::mem::take(&mut self.held);
        for (position, transfer) in all {
            match stays.binary_search(&position) {
                Ok(_) => _ = self.held.insert(position, transfer),
                Err(_) => self.released.push(transfer),
            }
        }
    }
}

/// What is given for messages or octets.
struct Line {
    stop: Option<u64>,
    resume: Option<u64>,
    /// 0 is without limit.
    max: u64,
}

impl Line {
    /// What is given for messages, and for octets.
    fn of(arguments: &Map, limit: DepthLimit) -> Result<[Line; 2], String> {
        let narrow = |name| number_of_32_bits(arguments, name).map(|n| n.map(u64::from));
        let count = Line {
            stop: narrow(arguments::FLOW_STOP_COUNT)?,
            resume: narrow(arguments::FLOW_RESUME_COUNT)?,
            max: limit.count.unwrap_or(0),
        };
        let bytes = Line {
            stop: number(arguments, arguments::FLOW_STOP_SIZE)?,
            resume: number(arguments, arguments::FLOW_RESUME_SIZE)?,
            max: limit.bytes.unwrap_or(0),
        };
        Ok([count, bytes])
    }

    /// Where to stop and where to go on. 0 is nowhere, but to go on: there it is where one stops.
    fn checked(
        &self,
        what: &str,
        queue: &str,
        defaults: &QueueDefaults,
    ) -> Result<(Option<u64>, Option<u64>), String> {
        let share = |percent: u8, rounding: u64| {
            let product = u128::from(self.max) * u128::from(percent) + u128::from(rounding);
            u64::try_from(product / 100).unwrap_or(u64::MAX)
        };
        let stop = self
            .stop
            .unwrap_or_else(|| share(defaults.flow_stop_percent, 50));
        let mut resume = self
            .resume
            .unwrap_or_else(|| share(defaults.flow_resume_percent, 0));
        if stop > 0 {
            if resume > stop {
                return Err(format!(
                    "Queue \"{queue}\": qpid.flow_resume_{what}={resume} must be less or equal to \
                     qpid.flow_stop_{what}={stop}"
                ));
            }
            if resume == 0 {
                resume = stop;
            }
            if self.max != 0 && self.max < stop {
                return Err(format!(
                    "Queue \"{queue}\": qpid.flow_stop_{what}={stop} must be less than \
                     qpid.max_{what}={}",
                    self.max
                ));
            }
        }
        let there = |line: u64| (line > 0).then_some(line);
        Ok((there(stop), there(resume)))
    }
}
