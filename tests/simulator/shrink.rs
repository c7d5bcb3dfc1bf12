//! A failing run is cut to the events that it takes to fail.

use super::schedule::Event;

/// Events that a run that was cut has at most.
pub const EVENTS_MAX: usize = 200;

/// Runs that cutting takes at most.
const RUNS_MAX: u32 = 150;

/// The fewest events found with which `fails` still says so; of those given, in their order. Parts
/// are left out, halves first, then ever smaller ones.
pub fn cut(events: &[Event], mut fails: impl FnMut(&[Event]) -> bool) -> Vec<Event> {
    let (mut kept, mut runs) = (events.to_vec(), 0);
    let mut size = kept.len().div_ceil(2).max(1);
    while !kept.is_empty() && runs < RUNS_MAX {
        let (mut at, mut was_cut) = (0, false);
        while at < kept.len() && runs < RUNS_MAX {
            let mut fewer = kept.clone();
            fewer.drain(at..(at + size).min(kept.len()));
            runs += 1;
            match fails(&fewer) {
                true => (kept, was_cut) = (fewer, true),
                false => at += size,
            }
        }
        if size == 1 && !was_cut {
            break;
        }
        size = size.div_ceil(2).min(kept.len().max(1));
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::super::schedule::Act;
    use super::*;

    fn events(count: u64) -> Vec<Event> {
        let event = |at| Event {
            at,
            act: Act::FullStop(at, 0),
        };
        (0..count).map(event).collect()
    }

    #[test]
    fn what_it_takes_is_kept_and_no_more() {
        let all = events(300);
        let needed = [7, 8, 150, 299];
        let has = |events: &[Event], at: u64| events.iter().any(|event| event.at == at);
        let fails = |events: &[Event]| needed.iter().all(|at| has(events, *at));
        let kept = cut(&all, fails);
        assert_eq!(kept.len(), needed.len());
        assert!(fails(&kept));
    }

    #[test]
    fn what_fails_by_itself_is_cut_to_nothing() {
        assert!(cut(&events(60), |_| true).is_empty());
    }
}
