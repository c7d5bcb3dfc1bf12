//! What happens in this process and the core cannot see: logins that fail, what rules decide. It waits
//! here until an agent has the core tell of it, like of what the core has done.
//!
//! Whoever sees it happen waits for nothing: what comes faster than it may be told, or is too much to be
//! kept, is lost, and the log says how much.

use std::collections::VecDeque;
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;

use super::clock::Clock;
use super::limits::{HAPPENINGS_MAX, HAPPENINGS_PER_SECOND};
use crate::broker::event::Event;
use crate::security::witness::Witness;

/// See the module.
#[derive(Debug)]
pub struct Happenings {
    clock: Clock,
    /// Whether there are agents.
    is_told: bool,
    waiting: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    events: VecDeque<Event>,
    /// Agents that wait for more.
    wakers: Vec<Waker>,
    pace: Pace,
}

/// How many are told in a second.
#[derive(Debug, Default)]
struct Pace {
    second: u64,
    count: u32,
    lost: u64,
}

impl Pace {
    /// Whether one more may be told in this second. When a second has begun, gives how many were lost
    /// before.
    fn step(&mut self, second: u64) -> (bool, u64) {
        let mut lost = 0;
        if self.second != second {
            lost = std::mem::take(&mut self.lost);
            *self = Pace {
                second,
                ..Pace::default()
            };
        }
        let may = self.count < HAPPENINGS_PER_SECOND;
        self.count += u32::from(may);
        (may, lost)
    }
}

impl Happenings {
    /// Nothing has happened. Where nobody tells, nothing is kept.
    pub fn new(clock: Clock, is_told: bool) -> Happenings {
        Happenings {
            clock,
            is_told,
            waiting: Mutex::default(),
        }
    }

    /// Something has happened.
    pub fn add(&self, event: Event) {
        if !self.is_told {
            return;
        }
        let mut waiting = self.waiting.lock();
        let (may, lost) = waiting.pace.step(self.clock.millis().0 / 1000);
        let is_kept = may && waiting.events.len() < HAPPENINGS_MAX;
        match is_kept {
            true => waiting.events.push_back(event),
            false => waiting.pace.lost += 1,
        }
        let wakers = std::mem::take(&mut waiting.wakers);
        drop(waiting);
        wakers.into_iter().for_each(Waker::wake);
        if lost > 0 {
            tracing::warn!(
                target: "Management",
                "{lost} events of logins and rights were too many to be told"
            );
        }
    }

    /// Takes what has happened, so many at most.
    pub fn take(&self, events_max: usize) -> Vec<Event> {
        let mut waiting = self.waiting.lock();
        let count = waiting.events.len().min(events_max);
        waiting.events.drain(..count).collect()
    }

    /// Ready when something has happened that nobody has taken.
    pub fn poll(&self, context: &Context<'_>) -> Poll<()> {
        let mut waiting = self.waiting.lock();
        if !waiting.events.is_empty() {
            return Poll::Ready(());
        }
        let mut known = waiting.wakers.iter();
        if !known.any(|waker| waker.will_wake(context.waker())) {
            waiting.wakers.push(context.waker().clone());
        }
        Poll::Pending
    }
}

impl Witness for Happenings {
    fn saw(&self, event: Event) {
        self.add(event);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_has_so_many_and_the_next_tells_how_many_were_lost() {
        let mut pace = Pace::default();
        for _ in 0..HAPPENINGS_PER_SECOND {
            assert_eq!(pace.step(7), (true, 0));
        }
        assert_eq!(pace.step(7), (false, 0));
        pace.lost += 1;
        assert_eq!(pace.step(8), (true, 1));
        assert_eq!(pace.step(8), (true, 0));
    }

    #[test]
    fn what_is_too_much_to_be_kept_is_lost() {
        let happenings = Happenings::new(Clock::start(), true);
        for _ in 0..=HAPPENINGS_MAX {
            happenings.add(Event::FileLoaded);
        }
        assert!(happenings.take(usize::MAX).len() <= HAPPENINGS_MAX);
        assert!(happenings.take(1).is_empty());
        let untold = Happenings::new(Clock::start(), false);
        untold.add(Event::FileLoaded);
        assert!(untold.take(1).is_empty(), "nobody tells of it");
    }
}
