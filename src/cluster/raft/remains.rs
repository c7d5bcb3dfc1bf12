//! What is left of a group whose majority lost its disks for good: what one member's log has. Nobody can
//! say what of it the others had confirmed that this one does not have, so no member goes on by itself;
//! an operator can have one begin a new group with it.

use std::collections::BTreeSet;

use super::committed;
use super::member::form;
use super::storage;
use crate::broker::ids::MemberId;
use crate::broker::{Command, Out};
use crate::cluster::entry_log::{Configuration, EntryLog, Voter};
use crate::cluster::machine::Machine;

/// What a log says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Whose log it is, and of which group.
    pub voter: Voter,
    /// Who took part.
    pub configuration: Configuration,
    /// The last entry.
    pub last: u64,
    /// The last entry that this member knows to be in the order.
    pub committed: u64,
    /// The term of the last entry.
    pub term: u64,
    /// When the last entry was ordered, by the leader's wall clock: milliseconds since 1970.
    pub wall: Option<u64>,
}

/// See the module.
#[derive(Debug)]
pub struct Remains<M> {
    /// What the log says of itself.
    pub found: Found,
    machine: M,
}

impl<M: Machine> Remains<M> {
    /// Reads a log to its end. What is behind the last entry that is known to be in the order counts,
    /// too: a majority of which this member was one may have had it, and confirmed it.
    ///
    /// # Errors
    /// It is not the log of a member of a group, or cannot be read.
    pub fn read(log: &EntryLog) -> Result<Remains<M>, String> {
        let voter = log.voter().ok_or("the store is of no group")?;
        let machine: Option<M> = storage::begin(log)?;
        let base = log.raft_base().cloned();
        let (Some(mut machine), Some(base)) = (machine, base) else {
            return Err("the store has no state of the group yet".to_owned());
        };
        let (mut configuration, mut term) = (base.configuration, base.term);
        let mut out = Out::default();
        for index in machine.index() + 1..=log.last_index() {
            let entry = storage::read(log, index)?;
            let (mut batch, change) = committed::read(&entry, &machine)?;
            if let Some(change) = change {
                change.make(&mut configuration);
            }
            machine.apply(&mut batch, &mut out);
            // It was told, or those whom it concerns are gone.
            out.effects.clear();
            term = entry.term;
        }
        let committed = log.raft_state().map_or(0, |state| state.commit);
        let found = Found {
            voter,
            configuration,
            last: machine.index(),
            committed: committed.max(log.snapshot_index()),
            term,
            wall: log.last_wall(),
        };
        Ok(Remains { found, machine })
    }

    /// The state.
    pub fn machine(&self) -> &M {
        &self.machine
    }

    /// Writes the beginning of a new group into a new log: of this state, with the new member alone.
    /// The sessions of all members of the old group end. It is there when the log is synced to its end.
    ///
    /// # Errors
    /// The log cannot be written.
    pub fn begin_anew(self, log: &mut EntryLog, voter: Voter) -> Result<(), String> {
        let former = self.found;
        let Configuration {
            voters,
            learners,
            voters_outgoing,
            ..
        } = &former.configuration;
        let all = voters
            .iter()
            .chain(learners)
            .chain(voters_outgoing)
            .copied();
        let all: BTreeSet<u64> = all.chain([former.voter.member.0]).collect();
        let epochs = all.into_iter().map(MemberId).map(|member| {
            let epoch = self.machine.last_epoch(member);
            Command::MemberDown { member, epoch }
        });
        let parts = vec![voter.member];
        let urls = Vec::new();
        let commands = epochs.chain([Command::Members { parts, urls }]).collect();
        let begin = (self.machine, commands);
        form(log, voter, &[voter.member], begin, former.wall.unwrap_or(0))
    }
}
