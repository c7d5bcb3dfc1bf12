//! What is known of positions, by ranges that do not overlap: what is asked of one is found in the time
//! of one look, however many ranges there are.

use std::collections::BTreeMap;

/// See the module. The last position of each range and its value, by the first.
#[derive(Debug)]
pub(super) struct Spans<T>(BTreeMap<u64, (u64, T)>);

impl<T> Default for Spans<T> {
    fn default() -> Self {
        Spans(BTreeMap::new())
    }
}

impl<T: Clone + PartialEq> Spans<T> {
    /// What is known of a position.
    pub(super) fn get(&self, position: u64) -> Option<&T> {
        let (_, (last, value)) = self.0.range(..=position).next_back()?;
        (position <= *last).then_some(value)
    }

    /// Makes known of all positions of a range what `of` gives for what was known of them.
    pub(super) fn put(&mut self, first: u64, last: u64, of: impl Fn(Option<&T>) -> T) {
        self.split_before(first);
        if let Some(behind) = last.checked_add(1) {
            self.split_before(behind);
        }
        let mut next = first;
        let inside: Vec<(u64, u64)> = self
            .0
            .range(first..=last)
            .map(|(from, (to, _))| (*from, *to))
            .collect();
        for (from, to) in inside {
            if next < from {
                self.0.insert(next, (from - 1, of(None)));
            }
            if let Some((_, value)) = self.0.get_mut(&from) {
                *value = of(Some(value));
            }
            next = to.saturating_add(1);
        }
        if next <= last && self.get(next).is_none() {
            self.0.insert(next, (last, of(None)));
        }
        self.join_before(first);
    }

    /// Forgets what ends before a position.
    pub(super) fn cut(&mut self, before: u64) {
        while let Some(first) = self.0.first_entry()
            && first.get().0 < before
        {
            first.remove();
        }
    }

    /// Makes a range begin at a position that is inside one.
    fn split_before(&mut self, position: u64) {
        let Some((_, (last, value))) = self.0.range_mut(..position).next_back() else {
            return;
        };
        if *last >= position {
            let behind = (*last, value.clone());
            *last = position - 1;
            self.0.insert(position, behind);
        }
    }

    /// Puts the range that begins at a position together with the one before it, if both say the same:
    /// facts about one message after the other become one range.
    fn join_before(&mut self, position: u64) {
        let Some((last, value)) = self.0.get(&position).cloned() else {
            return;
        };
        if let Some((_, (before, same))) = self.0.range_mut(..position).next_back()
            && *before + 1 == position
            && *same == value
        {
            *before = last;
            self.0.remove(&position);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_know_of_each_position_what_was_made_known_of_it() {
        // Against a map of each position, with ranges from a fixed sequence.
        let mut state = 7_u64;
        let mut below = |bound: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % bound
        };
        for _ in 0..200 {
            let (mut spans, mut plain) = (Spans::default(), BTreeMap::new());
            for _ in 0..30 {
                let first = below(40);
                let (last, value) = (first + below(8), below(4));
                let most = |old: Option<&u64>| old.map_or(value, |old| value.max(*old));
                spans.put(first, last, most);
                for position in first..=last {
                    let value = most(plain.get(&position));
                    plain.insert(position, value);
                }
                for position in 0..50 {
                    assert_eq!(spans.get(position), plain.get(&position), "{position}");
                }
            }
            let before = below(40);
            spans.cut(before);
            for position in before..50 {
                assert_eq!(spans.get(position), plain.get(&position), "{position}");
            }
        }
    }

    #[test]
    fn one_position_after_the_other_becomes_one_range() {
        let mut spans = Spans::default();
        for position in 0..1000 {
            spans.put(position, position, |_| "x");
        }
        assert_eq!(spans.0.len(), 1);
    }

    #[test]
    fn the_last_position_there_is_can_be_in_a_range() {
        let mut spans = Spans::default();
        spans.put(0, u64::MAX, |_| 1);
        spans.put(u64::MAX, u64::MAX, |_| 2);
        assert_eq!((spans.get(0), spans.get(u64::MAX)), (Some(&1), Some(&2)));
    }
}
