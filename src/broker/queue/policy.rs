//! How much a queue holds, and what becomes of a message that would be more.

use crate::broker::encoding::{record, record_enum};

/// How much a queue holds at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct DepthLimit {
    /// `qpid.max_count`: messages, acquired ones included.
    pub count: Option<u64>,
    /// `qpid.max_size` or the broker's default: octets of headers and bodies.
    pub bytes: Option<u64>,
}
record!(DepthLimit { count, bytes });

impl DepthLimit {
    /// Whether a queue with `depth` messages and `bytes` octets would be too full with so many more.
    #[inline]
    pub fn is_passed(&self, (depth, bytes): (u64, u64), (more, more_bytes): (u64, u64)) -> bool {
        let is_over = |max: Option<u64>, now: u64, more: u64| {
            max.is_some_and(|max| now.saturating_add(more) > max)
        };
        is_over(self.count, depth, more) || is_over(self.bytes, bytes, more_bytes)
    }
}

/// `qpid.policy_type`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Policy {
    /// The message is refused.
    #[default]
    Reject,
    /// The oldest messages make room, acquired ones too; of a queue with priorities one of the lowest
    /// level, if it is not above the new one.
    Ring,
    /// As `Ring`, but an oldest message that somebody has acquired stays, and the new one is refused.
    /// Of former brokers.
    RingStrict,
    /// The queue is deleted.
    SelfDestruct,
}
record_enum!(Policy { 0 = Reject, 1 = Ring, 2 = RingStrict, 3 = SelfDestruct });

impl Policy {
    /// Whether messages make room for others.
    pub fn is_ring(self) -> bool {
        matches!(self, Policy::Ring | Policy::RingStrict)
    }
}
