//! What queues of other kinds than plain ones promise, as the order of entries tells it: what clients
//! cannot see since they learn of it at different times.

use std::collections::{BTreeMap, BTreeSet};

use super::super::kinds::{Entry, Kind, LEVELS, is_sent_before, key_of, kind, level_of};
use super::super::ledger::{Key, Ledger};
use super::super::topology::is_red;

/// Of a key nobody is shown another message and then the former one again: that had been replaced.
#[derive(Debug, Default)]
pub struct Values {
    /// By key: the message that was shown last, and all that were before it.
    shown: BTreeMap<u64, (u64, BTreeSet<u64>)>,
    /// Deliveries, by session and number: what comes again to one that goes on is what it had.
    known: BTreeSet<(u64, u32)>,
    /// Changes of a key's message that were seen.
    pub changes: u64,
}

impl Values {
    /// A message of a last value queue is delivered to a session, under a number.
    pub fn shown(&mut self, serial: u64, id: u32, uid: u64) -> Result<(), String> {
        if !self.known.insert((serial, id)) {
            return Ok(());
        }
        let key = self.shown.entry(key_of(uid));
        let (now, before) = key.or_insert((uid, BTreeSet::new()));
        if *now == uid {
            return Ok(());
        }
        self.changes += 1;
        before.insert(*now);
        match before.contains(&uid) {
            true => Err(format!("{uid} came after {now}, which had taken its place")),
            false => {
                *now = uid;
                Ok(())
            }
        }
    }
}

/// When messages were asked to come into queues of other kinds, and who was given which level when.
#[derive(Debug, Default)]
pub struct Places {
    /// The first and the last entry in which a message was asked to come.
    asked: BTreeMap<u64, (u64, u64)>,
    /// By level, and whether only red ones were wanted: the last entry in which one was given.
    given: [[u64; LEVELS as usize]; 2],
    /// Messages for which it was looked whether a lower one had come before.
    pub compared: u64,
}

impl Places {
    /// An entry asks for a message to come into its queue.
    pub fn asked(&mut self, index: u64, uid: u64) {
        let (_, last) = self.asked.entry(uid).or_insert((index, index));
        *last = index;
    }

    /// A message is given to somebody, for the first time, in an entry.
    pub fn given(
        &mut self,
        index: u64,
        (queue, uid): &Key,
        (wants_red, is_redelivered): (bool, bool),
        ledger: &Ledger,
    ) -> Result<(), String> {
        if kind(queue) != Some(Kind::Priority) {
            return Ok(());
        }
        let level = level_of(*uid) as usize;
        let came = self.asked.get(uid).map(|(_, last)| *last);
        let is_in_time = !ledger.sent_in_work.contains(uid) && !is_redelivered;
        if let Some(came) = came.filter(|_| is_in_time) {
            self.compared += 1;
            // Somebody who wants red ones only cannot have had a blue one instead.
            let may_have = 1 + usize::from(is_red(*uid));
            for given in &self.given[..may_have] {
                let lower = given[..level].iter().position(|entry| *entry > came);
                if let Some(lower) = lower {
                    return Err(format!(
                        "{uid} of level {level} waited from entry {came} on, and one of level {lower} \
                         was given in entry {}",
                        given[lower]
                    ));
                }
            }
        }
        self.given[usize::from(wants_red)][level] = index;
        Ok(())
    }

    /// What is left at the end, given in which order all of it has come.
    pub fn judge(&self, ledger: &Ledger) -> Result<(), String> {
        let is_before = |one: &Entry<'_>, other: &Entry<'_>| {
            let (first, second) = (self.asked.get(&one.0.1), self.asked.get(&other.0.1));
            let is_ordered = match (first, second) {
                // One that was sent in a transaction comes later than it was asked to.
                (Some((_, last)), Some((first, _))) => {
                    last < first && !ledger.sent_in_work.contains(&one.0.1)
                }
                _ => false,
            };
            is_ordered || is_sent_before(one, other)
        };
        ledger.judge_kinds(&is_before)
    }
}
