//! The members of the cluster, as its leader has said, and those that are to take part no more.

use std::collections::VecDeque;

use super::encoding::record;
use super::ids::MemberId;
use super::level::LevelsOf;
use super::limits;

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Members {
    /// All that take part, those that still learn included, in order.
    parts: Vec<MemberId>,
    /// Those of them that are to take part no more.
    leaving: Vec<MemberId>,
    /// Who took part and does no more, the last [`limits::MEMBERS_MAX`].
    left: VecDeque<MemberId>,
    /// The levels that those know that take part, as far as they have said so.
    levels: LevelsOf,
}
record!(Members {
    parts,
    leaving,
    left,
    levels,
});

impl Members {
    /// All that take part. Empty for a broker that is in no cluster.
    pub fn parts(&self) -> &[MemberId] {
        &self.parts
    }

    /// Those of them that are to take part no more.
    pub fn leaving(&self) -> &[MemberId] {
        &self.leaving
    }

    /// Who took part and does no more, the last of them. Their ids do not come again.
    pub fn left(&self) -> impl Iterator<Item = MemberId> {
        self.left.iter().copied()
    }

    /// The levels that those know that take part, as far as they have said so.
    pub fn levels(&self) -> &LevelsOf {
        &self.levels
    }

    /// Sets the levels that members know; of others than those that take part nothing is kept.
    pub fn set_levels(&mut self, mut levels: LevelsOf) {
        levels.retain(|member, _| self.parts.contains(member));
        self.levels = levels;
    }

    /// Sets who takes part, [`limits::MEMBERS_MAX`] at most. Who does no more is gone from those that
    /// are to leave.
    pub fn set(&mut self, mut parts: Vec<MemberId>) {
        parts.truncate(limits::MEMBERS_MAX);
        for member in &self.parts {
            if !parts.contains(member) {
                self.left.push_back(*member);
            }
        }
        let over = self.left.len().saturating_sub(limits::MEMBERS_MAX);
        self.left.drain(..over);
        self.leaving.retain(|member| parts.contains(member));
        self.levels.retain(|member, _| parts.contains(member));
        self.parts = parts;
    }

    /// A member is to take part no more. False, and nothing is changed, when nobody would be left.
    pub fn take_out(&mut self, member: MemberId) -> bool {
        let is_left = |other: &MemberId| *other != member && !self.leaving.contains(other);
        if !self.parts.iter().any(is_left) {
            return false;
        }
        if !self.leaving.contains(&member) {
            self.leaving.push(member);
        }
        true
    }
}
