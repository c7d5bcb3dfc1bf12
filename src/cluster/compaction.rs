//! Giving back the room of a journal of facts.
//!
//! A segment of which little is still needed is removed, after what is needed of it was appended
//! again. What is needed:
//!
//! - messages that are still at a place, and prepared branches: the core knows;
//! - that messages have left, as long as an older segment says that they came: a segment that says so
//!   of many stays until those older ones have gone, or it would be written again and again;
//! - definitions, if there is no checkpoint of them after it: all that there are now are written as
//!   one checkpoint instead.
//!
//! What is not needed is so by what some batch decided, the last one perhaps: so a segment is removed
//! when all that was written before is on the disk, copies or not.
//!
//! A copy is appended under the group's lock, right after the core was asked: whatever happens to
//! the message later comes later in the journal, too. So what brings a message always stands before
//! what takes it away, and only segments older than one can need what it says has left.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use super::fact_log::{self, Contents, FactLog, Plant};
use super::solo::{Solo, State};
use super::{Millis, limits};
use crate::broker::Fact;
use crate::broker::facts::{Dequeued, FactRecord, Positions};
use crate::broker::ids::QueueKey;
use crate::store::{self, Journal, SegmentInfo, limits as store_limits};

/// How much of a segment may be needed so that it is still worth copying, as one part of so many.
fn parts(is_full: bool) -> i64 {
    match is_full {
        true => limits::COMPACTED_WHEN_FULL_PART,
        false => limits::COMPACTED_PART,
    }
}

/// The segments to be removed next, oldest first.
///
/// The store can say of so many gaps between segments, and of no more. Where removing would make one
/// too many the oldest segments are copied, whatever they hold: that closes gaps.
fn victims(journal: &Journal, said_bytes: impl Fn(u64) -> u64) -> Vec<u64> {
    let is_full = matches!(journal.state(), store::State::Full(_));
    let part = parts(is_full);
    let bytes_of = |segment: &SegmentInfo| i64::try_from(segment.bytes).unwrap_or(i64::MAX);
    let segments = journal.segments();
    let sealed = || segments.iter().filter(|segment| segment.is_sealed);
    // What is needed of a segment and in no durable queue any more (a delivery on its way, a message
    // that is also in a queue that is not durable) is not copied: its file stays open.
    let mut may_stay = store_limits::REMOVED_IN_USE_MAX.saturating_sub(journal.removed_in_use());
    let mut is_sparse = |segment: &&SegmentInfo| {
        let most = bytes_of(segment) / part;
        let said = || i64::try_from(said_bytes(segment.number)).unwrap_or(i64::MAX);
        let is_sparse =
            segment.live_bytes <= most && segment.live_bytes.saturating_add(said()) <= most;
        let is_in_use = is_sparse && segment.live_bytes > 0;
        let is_victim = is_sparse && !(is_in_use && may_stay == 0);
        may_stay -= usize::from(is_victim && is_in_use);
        is_victim
    };
    let sparse: Vec<&SegmentInfo> = sealed().filter(|segment| is_sparse(segment)).collect();
    // What is copied takes room before it gives some.
    let mut copied = 0;
    let room = sparse.first().map_or(0, |first| bytes_of(first) / 2);
    let few = sparse.iter().take_while(|segment| {
        copied += segment.live_bytes.max(0);
        !is_full || copied <= room
    });
    let few = few.map(|segment| segment.number);
    let few: Vec<u64> = few.take(limits::COMPACTED_SEGMENTS_MAX).collect();
    if few.is_empty() || gaps_without(&segments, &few) <= store::limits::REMOVED_RUNS_MAX {
        return few;
    }
    let most = match is_full {
        true => 1,
        false => limits::COMPACTED_SEGMENTS_MAX,
    };
    sealed().take(most).map(|segment| segment.number).collect()
}

/// Gaps between the numbers of segments, once some of them are removed.
fn gaps_without(segments: &[SegmentInfo], removed: &[u64]) -> usize {
    let numbers = segments.iter().map(|segment| segment.number);
    let left: Vec<u64> = numbers.filter(|number| !removed.contains(number)).collect();
    let neighbours = left.iter().zip(left.iter().skip(1));
    neighbours.filter(|(one, next)| **next - **one > 1).count()
}

/// Does one round and gives how many segments it removed. It waits for the disk, and takes the
/// group's lock for one piece after the other.
///
/// # Errors
/// Why this broker cannot go on.
pub fn round(solo: &Solo, now: impl Fn() -> Millis) -> Result<usize, String> {
    let Some(copied) = copy(solo, now)? else {
        return Ok(0);
    };
    while !copied.is_synced(solo)? {
        std::thread::sleep(Duration::from_millis(limits::COMPACTION_LOOKS_MS));
    }
    copied.remove(solo)
}

/// The first half of a round, which does not wait: appends again what is needed of the segments that
/// are to be removed. None when there are none. `now` is called without the group's lock.
///
/// # Errors
/// Why this broker cannot go on.
pub fn copy(solo: &Solo, now: impl Fn() -> Millis) -> Result<Option<Copied>, String> {
    let Some(journal) = solo.journal() else {
        return Ok(None);
    };
    let victims = solo.with_state(|state| {
        let log = state.log.as_ref();
        victims(&journal, |segment| {
            log.map_or(0, |log| log.said_bytes(segment, &state.core))
        })
    });
    if victims.is_empty() {
        return Ok(None);
    }
    let mut round = Round {
        solo,
        journal: &journal,
        now: &now,
        plant: plant_of(solo),
        older: older_contents(solo, &victims),
        left: BTreeMap::new(),
        checkpoint_segment: checkpoint_segment_of(solo),
        has_definitions: false,
        end: 0,
    };
    for victim in &victims {
        round.copy(*victim)?;
    }
    round.finish()?;
    let (copied, plant) = (round.end, round.plant);
    // What was not copied is needless by what some batch decided, which must be on the disk first:
    // else a crash takes what came of the message with the message.
    let written = solo.with_state(|state| state.log.as_ref().map_or(0, FactLog::end));
    let end = match plant {
        Plant::DeparturesNotSynced => copied,
        _ => written,
    };
    Ok(Some(Copied {
        journal,
        victims,
        end,
        plant,
    }))
}

fn checkpoint_segment_of(solo: &Solo) -> u64 {
    solo.with_state(|state| state.log.as_ref().map(FactLog::checkpoint_segment))
        .unwrap_or_default()
}

fn plant_of(solo: &Solo) -> Plant {
    solo.with_state(|state| state.log.as_ref().map(FactLog::plant))
        .unwrap_or_default()
}

/// Segments of which nothing is needed any more once what was appended again is on the disk.
#[must_use = "their room is not given back before they are removed"]
pub struct Copied {
    journal: Arc<Journal>,
    victims: Vec<u64>,
    /// Where what must be on the disk before ends.
    end: u64,
    plant: Plant,
}

impl std::fmt::Debug for Copied {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Copied({:x?} until {})", self.victims, self.end)
    }
}

impl Copied {
    /// Whether the segments may be removed.
    ///
    /// # Errors
    /// Why they never may, and this broker cannot go on.
    pub fn is_synced(&self, solo: &Solo) -> Result<bool, String> {
        if self.journal.synced() >= self.end || self.plant == Plant::RemovedBeforeSynced {
            return Ok(true);
        }
        match solo.with_state(|state| state.log.as_ref()?.failure()) {
            Some(why) => Err(why),
            None => Ok(false),
        }
    }

    /// Removes the segments, which may be when [`Copied::is_synced`] says so, and gives how many.
    ///
    /// # Errors
    /// Why this broker cannot go on.
    pub fn remove(self, solo: &Solo) -> Result<usize, String> {
        match self.journal.remove_segments(&self.victims) {
            Ok(()) => {}
            Err(error @ store::RemoveError::Disk(_)) => return Err(error.to_string()),
            // Another round removes them.
            Err(_) => return Ok(0),
        }
        solo.with_state(|state| {
            let log = state.log.as_mut();
            log.map(|log| self.victims.iter().for_each(|victim| log.forget(*victim)))
        });
        Ok(self.victims.len())
    }
}

/// What the segments that stay and are older than one of the victims bring into queues.
fn older_contents(solo: &Solo, victims: &[u64]) -> BTreeMap<u64, Contents> {
    let last = victims.last().copied().unwrap_or(0);
    let gone: BTreeSet<u64> = victims.iter().copied().collect();
    solo.with_state(|state| {
        let contents = state.log.as_ref().map(|log| log.contents());
        let older = contents.into_iter().flat_map(|all| all.range(..last));
        older
            .filter(|(number, _)| !gone.contains(number))
            .map(|(number, contents)| (*number, contents.clone()))
            .collect()
    })
}

/// Positions of a queue that messages have left, of all victims.
#[derive(Debug, Default)]
struct Left {
    /// The number of the newest segment that said so.
    said_in: u64,
    before: u64,
    positions: Vec<(u64, u64)>,
}

struct Round<'a, N> {
    solo: &'a Solo,
    journal: &'a Arc<Journal>,
    now: &'a N,
    plant: Plant,
    older: BTreeMap<u64, Contents>,
    left: BTreeMap<QueueKey, Left>,
    /// Where the definitions that count begin.
    checkpoint_segment: u64,
    /// Whether a victim has some of those.
    has_definitions: bool,
    /// Where what was copied ends.
    end: u64,
}

impl<N: Fn() -> Millis> Round<'_, N> {
    fn copy(&mut self, victim: u64) -> Result<(), String> {
        let journal = self.journal;
        let mut refused = None;
        let read = journal.read_segment(victim, &mut |at, octets| {
            let record = fact_log::facts_of(&at, octets)?;
            self.copy_record(victim, record).inspect_err(|why| {
                refused = Some(why.clone());
            })
        });
        match (refused, read) {
            (Some(why), _) => Err(why),
            (None, Err(error)) => Err(format!("segment {victim:x} cannot be read: {error}")),
            (None, Ok(())) => Ok(()),
        }
    }

    fn copy_record(&mut self, victim: u64, record: FactRecord) -> Result<(), String> {
        let mut messages = Vec::new();
        for fact in record.facts {
            match fact {
                Fact::Enqueued(_)
                | Fact::Rejected(_)
                | Fact::Died(_)
                | Fact::GivenBack(_)
                | Fact::Prepared(_) => {
                    messages.push(fact);
                }
                Fact::Dequeued(fact) => {
                    let left = self.left.entry(fact.queue).or_default();
                    left.said_in = left.said_in.max(victim);
                    left.before = left.before.max(fact.before);
                    left.positions.extend(fact.positions.0);
                }
                _ => self.has_definitions |= victim >= self.checkpoint_segment,
            }
        }
        if messages.is_empty() {
            return Ok(());
        }
        self.append(|state| state.core.still_needed(&messages))
    }

    /// Appends what `facts` gives, asked with the lock held.
    fn append(&mut self, facts: impl FnOnce(&mut State) -> Vec<Fact>) -> Result<(), String> {
        let (mut facts, mut early) = (Some(facts), Vec::new());
        if self.plant == Plant::CopiedLate {
            let ask = facts.take();
            early = self
                .solo
                .with_state(|state| ask.map(|ask| ask(state)))
                .unwrap_or_default();
        }
        let now = (self.now)();
        let appended = self.solo.with_state(|state| {
            let facts = facts.map_or(early, |facts| facts(state));
            if facts.is_empty() {
                return Ok(None);
            }
            match state.write(now, facts).ok_or("there is no journal")? {
                u64::MAX => Err(state
                    .log
                    .as_ref()
                    .and_then(FactLog::failure)
                    .unwrap_or_default()),
                end => Ok(Some(end)),
            }
        });
        if let Some(end) = appended? {
            self.end = end;
        }
        Ok(())
    }

    /// Appends what is said of messages that have left, and the definitions.
    fn finish(&mut self) -> Result<(), String> {
        let older = std::mem::take(&mut self.older);
        let left = std::mem::take(&mut self.left);
        let plant = self.plant;
        let has_definitions = self.has_definitions && plant != Plant::DefinitionsForgotten;
        self.append(|state| {
            let left = left.into_iter().filter(|_| plant != Plant::LeftForgotten);
            let mut facts: Vec<Fact> = left
                .filter_map(|(queue, left)| {
                    // Messages of a deleted queue may still go on to its alternate exchange: those that
                    // have gone must not go again.
                    let before = match (state.core.gone_before(queue), plant) {
                        (None, Plant::DeletedForgotten) => return None,
                        (before, _) => before.unwrap_or(0).max(left.before),
                    };
                    still_left(queue, before, &left, &older).map(Fact::Dequeued)
                })
                .collect();
            if has_definitions {
                facts.extend(state.core.definitions().facts);
            }
            facts
        })
    }
}

/// What must still be said of messages that have left a queue: those that an older segment brings.
fn still_left(
    queue: QueueKey,
    before: u64,
    left: &Left,
    older: &BTreeMap<u64, Contents>,
) -> Option<Dequeued> {
    let brought: Vec<(u64, u64)> = older
        .range(..left.said_in)
        .filter_map(|(_, contents)| contents.queues.get(&queue).copied())
        .collect();
    let needs_before = brought.iter().any(|(first, _)| *first < before);
    let mut positions: Vec<(u64, u64)> = Vec::new();
    for (first, last) in &left.positions {
        let first = (*first).max(before);
        let is_brought = |(from, to): &(u64, u64)| first <= *to && *from <= *last;
        if first <= *last && brought.iter().any(is_brought) {
            positions.push((first, *last));
        }
    }
    let positions = joined(positions);
    (needs_before || !positions.0.is_empty()).then_some(Dequeued {
        queue,
        before: if needs_before { before } else { 0 },
        positions,
    })
}

/// Ranges in order and apart.
fn joined(mut ranges: Vec<(u64, u64)>) -> Positions {
    ranges.sort_unstable();
    ranges.dedup_by(|next, range| {
        let touches = next.0 <= range.1.saturating_add(1);
        if touches {
            range.1 = range.1.max(next.1);
        }
        touches
    });
    Positions(ranges)
}
