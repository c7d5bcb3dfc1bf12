//! A queue with priorities: messages of a higher level go out before those of a lower one, and within
//! a level in order. With shares a level gives way after so many messages in a row.

use crate::broker::blocks::Blocks;
use crate::broker::encoding::record;

/// The messages of one level.
#[derive(Clone, Debug, Hash)]
struct Level {
    /// Their positions.
    positions: Blocks<u64>,
    /// How many of them can be had.
    available: u64,
    /// None before this position can be had.
    hint: u64,
}
record!(Level {
    positions,
    available,
    hint
});

/// The turns of levels.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Shares {
    /// How many messages in a row each level gets, the lowest level first; 0 is any number.
    limits: Vec<u32>,
    /// The level whose turn it is.
    level: u32,
    /// How many it has got.
    count: u32,
}
record!(Shares {
    limits,
    level,
    count
} if is_level(level, Vec::<u32>::len(&limits)), else "level of priority");

fn is_level(level: u32, count: usize) -> bool {
    (level as usize) < count
}

impl Shares {
    /// So many in a row for each level, of which there is one at least; the highest begins.
    pub fn new(limits: Vec<u32>) -> Shares {
        Shares {
            level: limits.len().saturating_sub(1) as u32, // limits.rs bounds the levels
            limits,
            count: 0,
        }
    }

    /// The level that is looked at first.
    fn first(&self) -> usize {
        let level = self.level as usize;
        let limit = self.limits[level];
        match limit > 0 && self.count >= limit {
            true => self.below(level),
            false => level,
        }
    }

    fn below(&self, level: usize) -> usize {
        level.checked_sub(1).unwrap_or(self.limits.len() - 1)
    }

    /// A message of a level has gone to a consumer.
    fn taken(&mut self, level: usize) {
        match self.first() == level && level == self.level as usize {
            true => self.count = self.count.saturating_add(1),
            false => (self.level, self.count) = (level as u32, 1),
        }
    }
}

/// The levels of a queue with priorities.
#[derive(Clone, Debug, Hash)]
pub struct Levels {
    /// The lowest first.
    levels: Vec<Level>,
    /// The turns that they take; None: a higher one is always before a lower one.
    shares: Option<Shares>,
}
record!(Levels { levels, shares } if {
    are_alike(Vec::<Level>::len(&levels), Option::<Shares>::as_ref(&shares))
}, else "levels of priority");

fn are_alike(levels: usize, shares: Option<&Shares>) -> bool {
    let is_shared = |shares: &Shares| shares.limits.len() == levels;
    levels > 0 && shares.is_none_or(is_shared)
}

impl Levels {
    /// So many levels, one at least.
    pub fn new(levels: usize, shares: Option<Shares>) -> Levels {
        let level = Level {
            positions: Blocks::default(),
            available: 0,
            hint: 0,
        };
        Levels {
            levels: vec![level; levels.max(1)],
            shares,
        }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.levels.len()
    }

    /// The level of a priority. 0-10: message.transfer, rule priority-level-implementation: with fewer
    /// levels than ten the middle ones are told apart, and what is below or above goes with the lowest
    /// or highest.
    pub fn level_of(&self, priority: u8) -> usize {
        let highest = self.levels.len() - 1;
        let first = 5 - self.levels.len().div_ceil(2).min(5);
        usize::from(priority).saturating_sub(first).min(highest)
    }

    /// The levels in the order in which a consumer is offered their messages.
    pub fn order(&self) -> impl Iterator<Item = usize> + use<> {
        let count = self.levels.len();
        let first = self.shares.as_ref().map_or(count - 1, Shares::first);
        (0..count).map(move |step| (first + count - step) % count)
    }

    /// The first position in a level, from `from` on, for which `wanted` holds; `steps` is what the
    /// search may cost. Err is where to go on when it ran out.
    pub fn find(
        &self,
        level: usize,
        from: u64,
        steps: &mut u32,
        wanted: impl Fn(u64) -> bool,
    ) -> Result<Option<u64>, u64> {
        let positions = &self.levels[level].positions;
        positions.find(from, steps, |position| wanted(*position))
    }

    /// How many messages of a level can be had.
    pub fn available(&self, level: usize) -> u64 {
        self.levels[level].available
    }

    /// No message of a level before this position can be had.
    pub fn hint(&self, level: usize) -> u64 {
        self.levels[level].hint
    }

    /// No message of a level before a position can be had.
    pub fn set_hint(&mut self, level: usize, hint: u64) {
        self.levels[level].hint = hint;
    }

    /// Behind the last message of a level.
    pub fn tail(&self, level: usize) -> u64 {
        self.levels[level].positions.tail()
    }

    /// The first message of the lowest level that has one, acquired or not.
    pub fn lowest(&self) -> Option<u64> {
        let mut levels = self.levels.iter();
        levels.find_map(|level| level.positions.next_at(0))
    }

    /// A message goes to a consumer: its level has had its turn.
    pub(super) fn taken(&mut self, priority: u8) {
        let level = self.level_of(priority);
        if let Some(shares) = &mut self.shares {
            shares.taken(level);
        }
    }

    fn level(&mut self, priority: u8) -> &mut Level {
        let level = self.level_of(priority);
        &mut self.levels[level]
    }

    pub(super) fn entered(&mut self, position: u64, priority: u8) {
        let level = self.level(priority);
        level.positions.push_at(position, position);
        if level.available == 0 {
            level.hint = position;
        }
        level.available += 1;
    }

    pub(super) fn acquired(&mut self, position: u64, priority: u8) {
        let level = self.level(priority);
        level.available -= 1;
        if level.hint == position {
            level.hint = position + 1;
        }
    }

    pub(super) fn released(&mut self, position: u64, priority: u8) {
        let level = self.level(priority);
        level.hint = match level.available {
            0 => position,
            _ => level.hint.min(position),
        };
        level.available += 1;
    }

    pub(super) fn left(&mut self, position: u64, priority: u8, was_available: bool) {
        let level = self.level(priority);
        level.positions.remove(position);
        level.available -= u64::from(was_available);
    }

    /// Only messages at these positions are left, each with its priority, and none can be had.
    pub(super) fn left_but(&mut self, stays: impl Iterator<Item = (u64, u8)>, tail: u64) {
        for level in &mut self.levels {
            level.positions = Blocks::default();
            (level.available, level.hint) = (0, tail);
        }
        for (position, priority) in stays {
            self.level(priority).positions.push_at(position, position);
        }
        for level in &mut self.levels {
            level.positions.set_tail(tail);
        }
    }
}
