//! Whether all members are in the same state.

use std::collections::BTreeMap;

use super::faults::Tally;
use crate::broker::ids::MemberId;
use crate::broker::snapshot::Thawing;
use crate::cluster::entry_log::EntryLog;
use crate::cluster::limits;
use crate::cluster::machine::Machine;

/// Digest of the state, and digest of all effects so far.
type Digests = (u64, u64);

/// Which entries the members are compared behind, and how far each has come.
#[derive(Debug)]
pub(super) struct Comparison {
    every: u64,
    next: u64,
    members: usize,
    /// Comparisons begun.
    rounds: u64,
    /// By index: which round it is, and each member's digests.
    open: BTreeMap<u64, (u64, Vec<Option<Digests>>)>,
    /// Octets of the last snapshot.
    state_bytes: u64,
}

impl Comparison {
    pub fn new(every: u64, index: u64, members: usize) -> Comparison {
        Comparison {
            every: every.max(1),
            next: index.saturating_add(every.max(1)),
            members,
            rounds: 0,
            open: BTreeMap::new(),
            state_bytes: 0,
        }
    }

    /// Whether the members are compared behind the entry that is just being ordered. Going through
    /// a large state costs more, so it is done less often.
    pub fn is_due_at(&mut self, index: u64) -> bool {
        if index < self.next {
            return false;
        }
        let pace = self.state_bytes / limits::COMPARED_BYTES_PER_ENTRY;
        self.next = index.saturating_add(self.every.max(pace));
        self.rounds += 1;
        self.open
            .insert(index, (self.rounds, vec![None; self.members]));
        true
    }

    /// A member has come to an index. The last one to come is when they are compared.
    pub fn reached(
        &mut self,
        index: u64,
        place: usize,
        digests: Digests,
        tally: &mut Tally,
    ) -> Result<(), String> {
        let Some((_, all)) = self.open.get_mut(&index) else {
            return Ok(());
        };
        all[place] = Some(digests);
        let all: Vec<Digests> = all.iter().copied().flatten().collect();
        if all.len() < self.members {
            return Ok(());
        }
        self.open.remove(&index);
        equal(index, all, tally)
    }

    /// Whether it is this member's turn to be replaced behind an entry. To be asked before it is
    /// said that the member has come there.
    pub fn is_turn(&self, index: u64, place: usize) -> bool {
        let round = self.open.get(&index).map(|(round, _)| *round);
        round.is_some_and(|round| round % self.members as u64 == place as u64)
    }

    /// Replaces a machine by what its own snapshot gives, and compares the two.
    pub fn replace<M: Machine>(
        &mut self,
        machine: &mut M,
        member: MemberId,
        index: u64,
        tally: &mut Tally,
    ) -> Result<(), String> {
        let snapshot = machine.freeze().encode();
        self.state_bytes = (snapshot.state.len() + snapshot.messages.len()) as u64;
        let place = format!("the snapshot of member {} at entry {index}", member.0);
        let thawed = Thawing::of(&snapshot).and_then(M::thaw);
        let decoded = thawed.map_err(|error| format!("{place}: {error}"))?;
        let (before, after) = (machine.digest(), decoded.digest());
        if before != after {
            return Err(format!(
                "{place} does not give the state it was made of: \
                 digest {before:016x} before, {after:016x} after"
            ));
        }
        *machine = decoded;
        tally.comparisons += 1;
        tally.replacements += 1;
        Ok(())
    }
}

/// Replaces a machine by what its log gives, and compares the two.
pub(super) fn replay<M: Machine>(
    machine: &mut M,
    log: &EntryLog,
    member: MemberId,
    tally: &mut Tally,
) -> Result<(), String> {
    let index = machine.index();
    let place = format!("the log of member {} up to entry {index}", member.0);
    let replayed = log.replay::<M>(index);
    let replayed = replayed.map_err(|error| format!("{place}: {error}"))?;
    let (before, after) = (machine.digest(), replayed.digest());
    if before != after {
        return Err(format!(
            "{place} does not give the state that it was written of: \
             digest {before:016x} before, {after:016x} after"
        ));
    }
    *machine = replayed;
    tally.comparisons += 1;
    tally.replacements += 1;
    Ok(())
}

/// Compares the digests of all members at one index.
pub(super) fn equal(index: u64, all: Vec<Digests>, tally: &mut Tally) -> Result<(), String> {
    let apart = |what: &str, digest: fn(&Digests) -> u64| {
        let differs = all.iter().any(|one| digest(one) != digest(&all[0]));
        differs.then(|| {
            let told = all.iter().enumerate();
            let told: Vec<_> = told
                .map(|(place, one)| format!("member {}: {:016x}", place + 1, digest(one)))
                .collect();
            format!(
                "the members have come apart at entry {index}: digests of their {what} are {}",
                told.join(", ")
            )
        })
    };
    let problem = apart("states", |one| one.0).or_else(|| apart("effects", |one| one.1));
    if let Some(problem) = problem {
        return Err(problem);
    }
    tally.comparisons += 1;
    Ok(())
}
