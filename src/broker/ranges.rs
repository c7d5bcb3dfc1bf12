//! Set arithmetic that costs what the ranges of both sets cost together.

use crate::wire::{CommandId, SequenceSet};

/// The ids of `set` that are not in `taken`. A peer names thousands of ranges in a set and makes
/// the broker keep thousands: taking them out one after the other would cost the product.
pub fn without(set: &SequenceSet, taken: &SequenceSet) -> SequenceSet {
    let (Some(base), Some(first_taken)) = (set.first(), taken.first()) else {
        return set.clone();
    };
    // Everything as steps from the first id of `set`: plain numbers, in plain order.
    let steps = |from: CommandId, to: CommandId| i64::from(from.distance_to(to));
    let shift = steps(base, first_taken);
    let mut holes = taken
        .ranges()
        .iter()
        .map(|(first, last)| {
            (
                shift + steps(first_taken, *first),
                shift + steps(first_taken, *last),
            )
        })
        .peekable();
    let mut left = SequenceSet::new();
    let mut keep = |first: i64, last: i64| {
        if first <= last {
            left.insert_range(base.plus(first as u32), base.plus(last as u32));
        }
    };
    for (first, last) in set.ranges() {
        let (mut from, to) = (steps(base, *first), steps(base, *last));
        while let Some((hole_from, hole_to)) = holes.peek().copied()
            && hole_from <= to
        {
            keep(from, hole_from - 1);
            from = from.max(hole_to + 1);
            if hole_to > to {
                break;
            }
            holes.next();
        }
        keep(from, to);
    }
    left
}
