//! Command ids and their order.

use std::fmt;

/// The number of a command in its session (`sequence-no`).
///
/// Numbers wrap at 2^32, so two of them compare by serial arithmetic (RFC 1982): the later one is
/// less than 2^31 steps ahead. That order is not transitive over the whole circle, hence no `Ord`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CommandId(pub u32);

impl CommandId {
    /// The id that follows this one.
    #[must_use]
    pub fn next(self) -> Self {
        self.plus(1)
    }

    /// The id `n` steps later.
    #[must_use]
    pub fn plus(self, n: u32) -> Self {
        Self(self.0.wrapping_add(n))
    }

    /// Steps from this id to `later`; negative if `later` comes before it. Two ids exactly 2^31
    /// apart have no order; each is `i32::MIN` from the other.
    pub fn distance_to(self, later: CommandId) -> i32 {
        later.0.wrapping_sub(self.0).cast_signed()
    }

    /// Whether this id comes before `other`.
    pub fn precedes(self, other: CommandId) -> bool {
        self.distance_to(other) > 0
    }

    /// Whether this id is `other` or comes before it.
    pub fn at_or_before(self, other: CommandId) -> bool {
        self.distance_to(other) >= 0
    }
}

impl fmt::Display for CommandId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl From<u32> for CommandId {
    fn from(number: u32) -> Self {
        Self(number)
    }
}
