//! Prepared branches, as facts about them come in: in whatever order, some of them twice.

use std::collections::{BTreeMap, BTreeSet};

use super::places::Ranges;
use crate::broker::branch::{Branch, BranchState};
use crate::broker::core::Core;
use crate::broker::facts::{Dequeued, Prepared};
use crate::broker::ids::{ConnectionKey, GroupTime, QueueRef};
use crate::broker::message::Stored;
use crate::broker::plant::{Plant, is_planted};
use crate::broker::publishes::{Publishes, TransactionPublish};
use crate::broker::subscription::SubscriptionRef;

/// See the module.
#[derive(Debug, Default)]
pub struct Prepareds {
    branches: BTreeMap<u64, Prepared>,
    /// The outcomes of all branches before this number were decided.
    before: u64,
    /// And those of these.
    completed: Ranges,
    /// No branch has had a higher number.
    last: u64,
}

impl Prepareds {
    /// A branch was prepared, unless its outcome was decided.
    pub fn prepared(&mut self, branch: Prepared) {
        let number = branch.number;
        self.last = self.last.max(number);
        if number >= self.before && !self.completed.contains(number) {
            self.branches.insert(number, branch);
        }
    }

    /// Outcomes were decided.
    pub fn completed(&mut self, fact: &Dequeued) {
        self.last = self.last.max(fact.before.saturating_sub(1));
        self.before = self.before.max(fact.before);
        self.completed.cut(self.before);
        for (first, last) in &fact.positions.0 {
            self.last = self.last.max(*last);
            self.completed.insert(*first, *last);
        }
        let (before, completed) = (self.before, &self.completed);
        self.branches
            .retain(|number, _| *number >= before && !completed.contains(*number));
    }

    /// Puts the branches that are left into a core, which has its queues and their messages. What they
    /// accepted cannot be had there.
    pub fn restore(self, core: &mut Core) {
        core.branches.go_on_behind(self.last);
        for (number, prepared) in self.branches {
            let mut branch = Branch {
                state: BranchState::Prepared(number),
                open: BTreeSet::new(),
                publishes: Publishes::default(),
                accepts: Default::default(),
                bytes: 0,
                timeout: prepared.timeout,
                due: GroupTime::NEVER,
            };
            for publish in prepared.publishes {
                let queues: Vec<QueueRef> = publish
                    .queues
                    .iter()
                    .filter_map(|key| core.queue_of(*key))
                    .collect();
                let routes = queues.len() * size_of::<QueueRef>();
                branch.bytes += publish.message.size() + routes as u64;
                let publish = TransactionPublish {
                    stored: Stored {
                        handle: publish.handle,
                        // The connection is no more.
                        publisher: ConnectionKey::default(),
                        message: publish.message,
                    },
                    expires: publish.expires,
                    queues,
                    // What an exchange keeps does not outlive the process.
                    last_of: Vec::new(),
                };
                core.held.come_to_transaction(&publish);
                branch.publishes.push(publish);
            }
            for (key, positions) in prepared.accepts {
                let Some(queue) = core.queue_of(key) else {
                    continue;
                };
                for position in positions.0.iter().flat_map(|(first, last)| *first..=*last) {
                    let found = core.live_queue(queue);
                    let is_there = match is_planted(Plant::AcceptedOfBranchOffered) {
                        true => found.is_some(),
                        false => found.is_some_and(|queue| {
                            queue
                                .acquire(position, SubscriptionRef::default())
                                .is_some()
                        }),
                    };
                    if is_there {
                        branch.accepts.push_back((queue, position));
                    }
                }
            }
            core.branches.restore(prepared.xid, number, branch);
        }
        core.promise_anew();
    }
}
