//! What members do must agree: one leader in a term, and at one index one entry, one set of effects
//! and one state, whenever and however often a member comes by.

use std::collections::BTreeMap;

use ferrymq::broker::ids::MemberId;
use ferrymq::cluster::raft::Observed;
use ferrymq::cluster::raft::seats::Seen;

/// What the first who came by an index had there, and who that was.
#[derive(Default)]
pub struct Agreement {
    entries: BTreeMap<u64, (MemberId, Observed)>,
    leaders: BTreeMap<u64, MemberId>,
    /// Entries seen a second time and found equal.
    pub compared: u64,
    /// States seen a second time and found equal.
    pub states: u64,
    /// Entries applied by all members together.
    pub applied: u64,
}

impl Agreement {
    /// Members have applied entries.
    pub fn applied(&mut self, seen: Vec<Seen>) -> Result<(), String> {
        for (member, observed) in seen {
            self.applied += 1;
            let first = self.entries.entry(observed.index);
            let (other, before) = first.or_insert((member, observed));
            if *before != observed {
                return Err(format!(
                    "members come apart: {other:?} applied {before:?}, {member:?} {observed:?}"
                ));
            }
            self.compared += u64::from(*other != member);
            self.states += u64::from(*other != member && observed.state.is_some());
        }
        Ok(())
    }

    /// Members were elected.
    pub fn elected(&mut self, elected: Vec<(u64, MemberId)>) -> Result<(), String> {
        for (term, member) in elected {
            let first = *self.leaders.entry(term).or_insert(member);
            if first != member {
                return Err(format!("{first:?} and {member:?} both lead in term {term}"));
            }
        }
        Ok(())
    }

    /// The entries that there are, each once.
    pub fn entries(&self) -> usize {
        self.entries.len()
    }

    /// Terms that had a leader.
    pub fn terms(&self) -> usize {
        self.leaders.len()
    }
}
