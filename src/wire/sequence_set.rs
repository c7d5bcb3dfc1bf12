//! Sets of command ids.

use std::fmt;

use smallvec::{SmallVec, smallvec};

use super::command_id::CommandId;
use super::decode_error::Problem;
use super::limits::RANGES_MAX;

/// Command ids as sorted, disjoint, merged, inclusive ranges in serial order (`sequence-set`).
///
/// A set spans less than half of all ids, as every window of a session does; beyond that serial
/// order means nothing, so what would make a set wider is refused. No operation steps through
/// ids: a set of one range of 2^31 ids costs what a set of one id costs.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct SequenceSet {
    ranges: SmallVec<[(CommandId, CommandId); 1]>,
}

/// Ids in the widest set, less one.
const SPAN_MAX: i64 = (1 << 31) - 1;

fn distance(from: CommandId, to: CommandId) -> i64 {
    i64::from(from.distance_to(to))
}

impl SequenceSet {
    /// The empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// The set of one id.
    pub fn of(id: CommandId) -> Self {
        Self {
            ranges: smallvec![(id, id)],
        }
    }

    /// The ids from `first` to `last`, both included; empty when `last` comes before `first`.
    pub fn from_range(first: CommandId, last: CommandId) -> Self {
        if first.at_or_before(last) {
            Self {
                ranges: smallvec![(first, last)],
            }
        } else {
            Self::new()
        }
    }

    /// The set of ranges that may come in any order and overlap, as peers send them.
    pub(crate) fn from_wire(
        ranges: impl ExactSizeIterator<Item = (u32, u32)> + Clone,
    ) -> Result<Self, Problem> {
        let mut set = Self::new();
        let Some((base, _)) = ranges.clone().next() else {
            return Ok(set);
        };
        let mut ascending = true;
        let (mut low, mut high) = (0, 0);
        for (lower, upper) in ranges.clone() {
            let (lower, upper) = (CommandId(lower), CommandId(upper));
            if !lower.at_or_before(upper) {
                return Err(Problem::Inverted(lower.0, upper.0));
            }
            let at = distance(CommandId(base), lower);
            ascending &= at >= high;
            low = at.min(low);
            high = (at + distance(lower, upper)).max(high);
        }
        if high - low > SPAN_MAX {
            return Err(Problem::TooWide);
        }
        let ids = ranges.map(|(lower, upper)| (CommandId(lower), CommandId(upper)));
        if ascending {
            set.ranges.reserve(ids.len());
            ids.for_each(|(lower, upper)| set.append(lower, upper));
        } else {
            // One sort instead of many insertions: a set on the wire may have thousands of ranges.
            let mut sorted: Vec<_> = ids.collect();
            sorted.sort_unstable_by_key(|&(lower, _)| distance(CommandId(base), lower));
            sorted
                .into_iter()
                .for_each(|(lower, upper)| set.append(lower, upper));
        }
        Ok(set)
    }

    /// Adds a range that begins at or after the beginning of the last one.
    fn append(&mut self, lower: CommandId, upper: CommandId) {
        match self.ranges.last_mut() {
            Some((_, end)) if distance(*end, lower) <= 1 => {
                if distance(*end, upper) > 0 {
                    *end = upper;
                }
            }
            _ => self.ranges.push((lower, upper)),
        }
    }

    /// Adds one id. `false`, and nothing changes, if the set would span half of all ids.
    pub fn insert(&mut self, id: CommandId) -> bool {
        self.insert_range(id, id)
    }

    /// Adds the ids from `first` to `last`. `false`, and nothing changes, if `last` comes before
    /// `first` or the set would span half of all ids. Appending is cheap; elsewhere the work grows
    /// with the number of ranges, never with the number of ids.
    pub fn insert_range(&mut self, first: CommandId, last: CommandId) -> bool {
        if !first.at_or_before(last) {
            return false;
        }
        let (Some(&(base, _)), Some(&(_, end))) = (self.ranges.first(), self.ranges.last()) else {
            self.ranges.push((first, last));
            return true;
        };
        // Everything as steps from the set's first id: plain numbers, in plain order.
        let low = distance(base, first);
        let high = low + distance(first, last);
        let span = distance(base, end);
        if high.max(span) - low.min(0) > SPAN_MAX {
            return false;
        }
        if low > span + 1 {
            self.ranges.push((first, last));
            return true;
        }
        // The ranges that the new one touches or adjoins become one with it.
        let from = self
            .ranges
            .partition_point(|&(_, upper)| distance(base, upper) + 1 < low);
        let until = self
            .ranges
            .partition_point(|&(lower, _)| distance(base, lower) <= high + 1);
        let touched = self.ranges.get_mut(from..until).unwrap_or_default();
        let (Some(&(lower, _)), Some(&(_, upper))) = (touched.first(), touched.last()) else {
            self.ranges.insert(from, (first, last));
            return true;
        };
        let lower = if distance(base, lower) < low {
            lower
        } else {
            first
        };
        let upper = if distance(base, upper) > high {
            upper
        } else {
            last
        };
        if let Some(whole) = touched.first_mut() {
            *whole = (lower, upper);
        }
        self.ranges.drain(from + 1..until);
        true
    }

    /// Takes the ids from `first` to `last` out; nothing when `last` comes before `first`.
    pub fn remove_range(&mut self, first: CommandId, last: CommandId) {
        if !first.at_or_before(last) {
            return;
        }
        let mut left = SmallVec::new();
        for &(lower, upper) in &self.ranges {
            let low = distance(lower, first);
            let high = low + distance(first, last);
            let span = distance(lower, upper);
            if high < 0 || low > span {
                left.push((lower, upper));
                continue;
            }
            if low > 0 {
                left.push((lower, CommandId(first.0.wrapping_sub(1))));
            }
            if high < span {
                left.push((last.next(), upper));
            }
        }
        self.ranges = left;
    }

    /// Adds all ids of `other`. `false`, and nothing changes, if the set would span half of all
    /// ids.
    pub fn union(&mut self, other: &SequenceSet) -> bool {
        let (Some(first), Some(last)) = (other.first(), other.last()) else {
            return true;
        };
        if let (Some(base), Some(end)) = (self.first(), self.last()) {
            let low = distance(base, first);
            let high = low + distance(first, last);
            if high.max(distance(base, end)) - low.min(0) > SPAN_MAX {
                return false;
            }
        }
        if other.ranges.len() > 8 && self.ranges.len() > 8 {
            let mut all = self.ranges.to_vec();
            all.extend_from_slice(&other.ranges);
            all.sort_unstable_by_key(|&(lower, _)| distance(first, lower));
            self.ranges.clear();
            all.into_iter()
                .for_each(|(lower, upper)| self.append(lower, upper));
            return true;
        }
        for &(lower, upper) in &other.ranges {
            self.insert_range(lower, upper);
        }
        true
    }

    /// Whether `id` is in the set.
    pub fn contains(&self, id: CommandId) -> bool {
        let Some(base) = self.first() else {
            return false;
        };
        let at = distance(base, id);
        let index = self
            .ranges
            .partition_point(|&(_, upper)| distance(base, upper) < at);
        self.ranges
            .get(index)
            .is_some_and(|&(lower, _)| distance(base, lower) <= at)
    }

    /// Whether the set has no ids.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// The ranges, first and last id each, in order; two neighbours never adjoin.
    pub fn ranges(&self) -> &[(CommandId, CommandId)] {
        &self.ranges
    }

    /// The ids that lie in the window from `first` to `last`, both included.
    ///
    /// What a peer names is cut to what is outstanding before anybody steps through it.
    #[must_use]
    pub fn clipped(&self, first: CommandId, last: CommandId) -> SequenceSet {
        let mut inside = SequenceSet::new();
        if !first.at_or_before(last) {
            return inside;
        }
        let window = distance(first, last);
        for &(lower, upper) in &self.ranges {
            let low = distance(first, lower);
            let high = low + distance(lower, upper);
            if low > window || high < 0 {
                continue;
            }
            let lower = if low < 0 { first } else { lower };
            let upper = if high > window { last } else { upper };
            inside.ranges.push((lower, upper));
        }
        inside
    }

    /// Every id, in order. Only after [`clipped`](Self::clipped): a peer's set may hold 2^31.
    pub fn ids(&self) -> impl Iterator<Item = CommandId> + '_ {
        self.ranges.iter().flat_map(|&(lower, upper)| {
            (0..=upper.0.wrapping_sub(lower.0)).map(move |step| lower.plus(step))
        })
    }

    /// How many ids the set has.
    pub fn id_count(&self) -> u64 {
        self.ranges
            .iter()
            .map(|&(lower, upper)| distance(lower, upper).cast_unsigned() + 1)
            .sum()
    }

    /// The first id.
    pub fn first(&self) -> Option<CommandId> {
        self.ranges.first().map(|range| range.0)
    }

    /// The last id.
    pub fn last(&self) -> Option<CommandId> {
        self.ranges.last().map(|range| range.1)
    }

    /// Takes out and returns the ranges beyond what one set on the wire can carry; empty when all
    /// fit. They go into a further set.
    #[must_use]
    pub fn split_off_excess(&mut self) -> SequenceSet {
        let fit = self.ranges.len().min(RANGES_MAX);
        SequenceSet {
            ranges: self.ranges.drain(fit..).collect(),
        }
    }

    /// Takes every id out; the memory stays.
    pub fn clear(&mut self) {
        self.ranges.clear();
    }
}

impl fmt::Debug for SequenceSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for SequenceSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        for (index, (lower, upper)) in self.ranges.iter().enumerate() {
            if index > 0 {
                f.write_str(", ")?;
            }
            if lower == upper {
                write!(f, "{lower}")?;
            } else {
                write!(f, "{lower}-{upper}")?;
            }
        }
        f.write_str("}")
    }
}
