//! What must be there after an end of the broker, given what clients did and saw.
//!
//! The judge keeps a book of every message in every queue. After an end it is told what the queues
//! hold, and compares:
//!
//! - a message whose completion, or delivery, was seen is there, unless its accept was sent;
//! - one whose accept's completion was seen is not, and never comes back;
//! - of what was neither, either may be true, and from then on stays so;
//! - a transaction whose commit's completion was seen has happened, one without a commit has not,
//!   and one between has happened wholly or not at all; the same for a message in several queues;
//! - a branch whose prepare's completion was seen is in doubt, unless its outcome was asked for; one
//!   in doubt does then what is decided;
//! - what was never sent is not there, and nothing is there twice;
//! - all is in the order in which each producer sent it, and flagged as redelivered: all of it after
//!   a start of the only broker, in a group what was delivered before.

use std::collections::{BTreeMap, BTreeSet};

use super::ledger::{Line, Uid};
use super::queues_of;
use super::{all_queues, branches};

/// What a queue holds: messages in their order, each with its flag.
pub type Found = BTreeMap<&'static str, Vec<(Uid, bool)>>;

/// Violations told of one check at most; the rest is counted.
const TOLD_MAX: usize = 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Accept {
    None,
    Sent,
    Completed,
    /// Sent in a transaction of this life.
    In(u32),
}

#[derive(Clone, Debug)]
struct Copy {
    /// Whether it was ever delivered.
    was_seen: bool,
    /// The transaction of its life that it was sent in, 0 for none.
    tx: u32,
    /// Whether a completion was seen.
    is_completed: bool,
    /// Whether it was delivered in this life.
    is_delivered: bool,
    accept: Accept,
    /// Whether it was there when it was last looked at.
    was_there: Option<bool>,
    /// Whether it came when a branch was committed that an end had left in doubt: after a start.
    is_late: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Outcome {
    /// Nobody asked for a commit.
    #[default]
    Open,
    RolledBack,
    /// The commit was sent.
    Unknown,
    Committed,
}

#[derive(Clone, Debug, Default)]
struct Transaction {
    outcome: Outcome,
    is_prepare_sent: bool,
    is_prepared: bool,
    is_rollback_completed: bool,
    sent: Vec<(&'static str, Uid)>,
    accepted: Vec<(&'static str, Uid)>,
}

/// What was counted over all lives, for the closing lines.
#[derive(Clone, Copy, Debug, Default)]
pub struct Totals {
    pub sent: u64,
    pub confirmed: u64,
    pub delivered: u64,
    pub redelivered: u64,
    pub accepted: u64,
    pub committed: u64,
    /// Transactions of which nobody knew the outcome until the next start: those that had happened.
    pub found_committed: u64,
    /// And those that had not.
    pub found_open: u64,
    /// Messages of which neither was known.
    pub unknown: u64,
    pub definitions: u64,
    /// Branches that were seen to be prepared.
    pub prepared: u64,
    /// Branches that an end left in doubt.
    pub in_doubt: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Definition {
    is_declared: bool,
    delete_sent: bool,
    is_deleted: bool,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Judge {
    /// Whether what is there was with members that lived on.
    is_group: bool,
    life: u32,
    copies: BTreeMap<(&'static str, Uid), Copy>,
    /// Those of the life at hand that a check has to look at.
    transactions: BTreeMap<u32, Transaction>,
    definitions: BTreeMap<String, Definition>,
    /// The last number delivered in this life, by queue and producer of a life.
    last: BTreeMap<(&'static str, u32, u32), u32>,
    pub totals: Totals,
    violations: Vec<String>,
    more: usize,
}

fn name(queue: &str) -> &'static str {
    all_queues()
        .find(|name| *name == queue)
        .unwrap_or_else(|| panic!("the ledger names {queue:?}"))
}

impl Judge {
    /// A judge of a group: its queues live on between two checks.
    pub fn of_group() -> Judge {
        Judge {
            is_group: true,
            ..Judge::default()
        }
    }

    fn violation(&mut self, text: String) {
        match self.violations.len() < TOLD_MAX {
            true => self.violations.push(text),
            false => self.more += 1,
        }
    }

    /// What was found wrong since this was last asked.
    pub fn verdict(&mut self) -> Result<(), String> {
        if self.violations.is_empty() {
            return Ok(());
        }
        let mut text = std::mem::take(&mut self.violations).join("\n");
        if self.more > 0 {
            text.push_str(&format!("\nand {} more", self.more));
        }
        self.more = 0;
        Err(text)
    }

    /// Reads what the clients of one life of the broker wrote.
    pub fn read(&mut self, life: u32, lines: Vec<Line>) {
        self.life = life;
        self.transactions.clear();
        self.last.clear();
        for line in lines {
            self.line(line);
        }
        let committed = |tx: &&Transaction| tx.outcome == Outcome::Committed;
        self.totals.committed += self.transactions.values().filter(committed).count() as u64;
    }

    fn line(&mut self, line: Line) {
        match line {
            Line::Sent { uid, target, tx } => self.sent(uid, &target, tx),
            Line::Completed { uid } => {
                self.totals.confirmed += 1;
                for queue in all_queues() {
                    if let Some(copy) = self.copies.get_mut(&(queue, uid)) {
                        copy.is_completed = true;
                    }
                }
            }
            Line::Delivered {
                uid,
                queue,
                redelivered,
            } => self.delivered(name(&queue), uid, redelivered),
            Line::AcceptSent { uid, queue, tx } => {
                let queue = name(&queue);
                let accept = if tx == 0 {
                    Accept::Sent
                } else {
                    Accept::In(tx)
                };
                if let Some(copy) = self.copies.get_mut(&(queue, uid)) {
                    copy.accept = accept;
                }
                if tx > 0 {
                    let transaction = self.transactions.entry(tx).or_default();
                    transaction.accepted.push((queue, uid));
                }
            }
            Line::Accepted { uid, queue } => {
                self.totals.accepted += 1;
                if let Some(copy) = self.copies.get_mut(&(name(&queue), uid))
                    && copy.accept == Accept::Sent
                {
                    copy.accept = Accept::Completed;
                }
            }
            Line::CommitSent { tx } => self.outcome(tx, Outcome::Unknown),
            Line::Committed { tx } => self.outcome(tx, Outcome::Committed),
            Line::RolledBack { tx } => self.outcome(tx, Outcome::RolledBack),
            Line::RollbackCompleted { tx } => {
                self.transactions
                    .entry(tx)
                    .or_default()
                    .is_rollback_completed = true;
            }
            Line::PrepareSent { tx } => {
                self.transactions.entry(tx).or_default().is_prepare_sent = true;
            }
            Line::Prepared { tx } => {
                self.totals.prepared += 1;
                self.totals.confirmed += 1;
                self.transactions.entry(tx).or_default().is_prepared = true;
            }
            Line::DeclareSent { queue } => {
                self.definitions.insert(queue, Definition::default());
            }
            Line::Declared { queue } => {
                self.totals.definitions += 1;
                self.definitions.entry(queue).or_default().is_declared = true;
            }
            Line::DeleteSent { queue } => {
                self.definitions.entry(queue).or_default().delete_sent = true;
            }
            Line::Deleted { queue } => {
                self.totals.definitions += 1;
                self.definitions.entry(queue).or_default().is_deleted = true;
            }
        }
    }

    fn outcome(&mut self, tx: u32, outcome: Outcome) {
        let transaction = self.transactions.entry(tx).or_default();
        transaction.outcome = outcome;
        if outcome == Outcome::Committed {
            self.totals.confirmed += transaction.sent.len() as u64;
        }
        if outcome == Outcome::RolledBack {
            for key in transaction.accepted.clone() {
                if let Some(copy) = self.copies.get_mut(&key) {
                    copy.accept = Accept::None;
                }
            }
        }
    }

    fn sent(&mut self, uid: Uid, target: &str, tx: u32) {
        self.totals.sent += 1;
        for queue in queues_of(target) {
            let copy = Copy {
                was_seen: false,
                tx,
                is_completed: false,
                is_delivered: false,
                accept: Accept::None,
                was_there: None,
                is_late: false,
            };
            self.copies.insert((queue, uid), copy);
            if tx > 0 {
                let transaction = self.transactions.entry(tx).or_default();
                transaction.sent.push((queue, uid));
            }
        }
    }

    fn delivered(&mut self, queue: &'static str, uid: Uid, redelivered: bool) {
        self.totals.delivered += 1;
        self.totals.redelivered += u64::from(redelivered);
        let (life, is_old) = (self.life, uid.life < self.life);
        let Some(copy) = self.copies.get_mut(&(queue, uid)) else {
            return self.violation(format!("{queue} delivers {uid}, which nobody sent there"));
        };
        let was_delivered = std::mem::replace(&mut copy.is_delivered, true);
        let was_seen = std::mem::replace(&mut copy.was_seen, true);
        let (was_gone, is_late) = (copy.was_there == Some(false), copy.is_late);
        if was_delivered {
            self.violation(format!("{queue} delivers {uid} twice in life {life}"));
        }
        if was_gone {
            self.violation(format!("{queue} delivers {uid} again, which had gone"));
        }
        let is_right = match is_late || self.is_group && is_old && !was_seen {
            // It may have been on its way to a connection that was lost.
            true => true,
            false => redelivered == is_old,
        };
        if !is_right {
            self.violation(format!(
                "{queue} delivers {uid} in life {life} with redelivered={redelivered}"
            ));
        }
        let producer = (queue, uid.life, uid.producer);
        let last = self.last.insert(producer, uid.number);
        if last.is_some_and(|last| last >= uid.number) {
            self.violation(format!("{queue} delivers {uid} behind {last:?}"));
        }
    }

    /// What becomes of the branches that are in doubt: true for a commit. Those that are not must
    /// have had their outcome. Before the queues are looked at.
    pub fn decide(&mut self, in_doubt: &BTreeSet<String>) -> Vec<(String, bool)> {
        let mut decided = Vec::new();
        let mut known = BTreeSet::new();
        for name in in_doubt {
            let tx = branches::parse(name).filter(|(life, _)| *life == self.life);
            let found = tx.and_then(|(_, tx)| Some((tx, self.transactions.get(&tx)?)));
            let Some((tx, transaction)) = found.filter(|(_, of)| of.is_prepare_sent) else {
                self.violation(format!("{name} is in doubt, and was never prepared"));
                continue;
            };
            if transaction.outcome == Outcome::Committed || transaction.is_rollback_completed {
                let text = format!("{name} is in doubt, and was decided: {transaction:?}");
                self.violation(text);
            }
            known.insert(tx);
            self.totals.in_doubt += 1;
            let is_commit = tx.is_multiple_of(2);
            self.decided(tx, is_commit);
            decided.push((name.clone(), is_commit));
        }
        let others: Vec<(u32, Transaction)> = self
            .transactions
            .iter()
            .filter(|(tx, of)| of.is_prepared && !known.contains(tx))
            .map(|(tx, of)| (*tx, of.clone()))
            .collect();
        for (tx, transaction) in others {
            match transaction.outcome {
                Outcome::Open => {
                    let life = self.life;
                    let text = format!("the branch {tx} of life {life} is not in doubt any more");
                    self.violation(text);
                }
                // It was prepared, so the commit that was sent has happened.
                Outcome::Unknown => self.outcome(tx, Outcome::Committed),
                Outcome::Committed | Outcome::RolledBack => {}
            }
        }
        decided
    }

    fn decided(&mut self, tx: u32, is_commit: bool) {
        let outcome = match is_commit {
            true => Outcome::Committed,
            false => Outcome::RolledBack,
        };
        self.outcome(tx, outcome);
        let sent = self.transactions.get(&tx).map(|of| of.sent.clone());
        for key in sent.into_iter().flatten() {
            if let Some(copy) = self.copies.get_mut(&key) {
                copy.is_late = true;
            }
        }
    }

    /// Transactions of a group whose outcome nobody has asked for: some may be branches that wait.
    pub fn left_open(&self) -> Vec<String> {
        let open = self.transactions.iter().filter(|(_, transaction)| {
            self.is_group && transaction.outcome == Outcome::Open && !transaction.is_prepared
        });
        open.map(|(tx, _)| branches::name(self.life, *tx)).collect()
    }

    /// Compares with what the queues hold now, at the beginning of another life.
    pub fn check(&mut self, found: &Found) {
        let there: BTreeSet<(&'static str, Uid)> = found
            .iter()
            .flat_map(|(queue, all)| all.iter().map(|(uid, _)| (*queue, *uid)))
            .collect();
        self.check_queues(found);
        let transactions = std::mem::take(&mut self.transactions);
        let outcomes: BTreeMap<u32, bool> = transactions
            .iter()
            .map(|(tx, transaction)| (*tx, self.happened(*tx, transaction, &there)))
            .collect();
        self.check_fanned(&there);
        let mut violations = Vec::new();
        let mut unknown = 0;
        for (key, copy) in &mut self.copies {
            let is_there = there.contains(key);
            let may = possible(copy, &outcomes);
            unknown += u64::from(may == [true, true]);
            if !may[usize::from(is_there)] {
                let (queue, uid) = key;
                let what = if is_there { "has" } else { "does not have" };
                violations.push(format!("{queue} {what} {uid}: {copy:?}"));
            }
            copy.was_there = Some(is_there);
            (copy.tx, copy.accept, copy.is_delivered) = (0, Accept::None, false);
        }
        self.totals.unknown += unknown;
        violations.into_iter().for_each(|text| self.violation(text));
    }

    fn check_queues(&mut self, found: &Found) {
        for (queue, all) in found {
            let mut seen = BTreeSet::new();
            let mut last: BTreeMap<(u32, u32), u32> = BTreeMap::new();
            for (uid, redelivered) in all {
                if !seen.insert(*uid) {
                    self.violation(format!("{queue} has {uid} twice"));
                }
                let copy = self.copies.get(&(*queue, *uid));
                let is_late = copy.is_some_and(|copy| copy.is_late);
                let must_be_flagged = match self.is_group {
                    true => copy.is_some_and(|copy| copy.was_seen),
                    false => !is_late,
                };
                if copy.is_none() {
                    self.violation(format!("{queue} has {uid}, which nobody sent there"));
                }
                if must_be_flagged && !redelivered {
                    self.violation(format!("{queue} has {uid} without the flag"));
                }
                let before = last.insert((uid.life, uid.producer), uid.number);
                if before.is_some_and(|before| before >= uid.number) {
                    self.violation(format!("{queue} has {uid} behind {before:?}"));
                }
            }
        }
    }

    /// Whether a transaction has happened, by all that it did.
    fn happened(
        &mut self,
        tx: u32,
        transaction: &Transaction,
        there: &BTreeSet<(&'static str, Uid)>,
    ) -> bool {
        match transaction.outcome {
            Outcome::Committed => return true,
            Outcome::Open | Outcome::RolledBack => return false,
            Outcome::Unknown => {}
        }
        let (mut yes, mut no) = (Vec::new(), Vec::new());
        for key in &transaction.sent {
            let Some(copy) = self.copies.get(key) else {
                continue;
            };
            match there.contains(key) || copy.is_delivered {
                true => yes.push(*key),
                false => no.push(*key),
            }
        }
        for key in &transaction.accepted {
            match there.contains(key) {
                true => no.push(*key),
                false => yes.push(*key),
            }
        }
        if let (Some(one), Some(other)) = (yes.first(), no.first()) {
            self.violation(format!(
                "a transaction ({tx} of life {}) has happened by {} of its messages ({one:?}) and \
                 not by {} ({other:?})",
                self.life,
                yes.len(),
                no.len()
            ));
        }
        match yes.is_empty() {
            false => self.totals.found_committed += 1,
            true => self.totals.found_open += 1,
        }
        !yes.is_empty()
    }

    /// A message published to several queues is in all of them or in none.
    fn check_fanned(&mut self, there: &BTreeSet<(&'static str, Uid)>) {
        let mut of_message: BTreeMap<Uid, (bool, bool)> = BTreeMap::new();
        for queue in super::FANNED {
            for (key, copy) in self.copies.range((queue, FIRST)..=(queue, LAST)) {
                if copy.was_there.is_some() {
                    continue;
                }
                let (enqueued, missing) = of_message.entry(key.1).or_default();
                match there.contains(key) || copy.accept != Accept::None {
                    true => *enqueued = true,
                    false => *missing = true,
                }
            }
        }
        for (uid, both) in of_message {
            if both == (true, true) {
                self.violation(format!(
                    "{uid} is in one of its queues and not in the other"
                ));
            }
        }
    }

    /// Durable queues that have to be there, with their bindings, and those that must not.
    pub fn definitions(&self) -> (Vec<String>, Vec<String>) {
        let (mut there, mut gone) = (Vec::new(), Vec::new());
        for (queue, definition) in &self.definitions {
            if definition.is_deleted {
                gone.push(queue.clone());
            } else if definition.is_declared && !definition.delete_sent {
                there.push(queue.clone());
            }
        }
        (there, gone)
    }

    /// Says whether a queue that comes and goes was found, with its binding.
    pub fn check_definition(&mut self, queue: &str, should_be: bool, is: bool, is_bound: bool) {
        if should_be && !(is && is_bound) {
            self.violation(format!(
                "the queue {queue} should be there: found={is}, bound={is_bound}"
            ));
        }
        if !should_be && is {
            self.violation(format!("the queue {queue} is there again"));
        }
    }

    /// Says that all queues were emptied, and what they held accepted, after the last check.
    pub fn forget_drained(&mut self) {
        for copy in self.copies.values_mut() {
            copy.was_there = Some(false);
        }
    }

    /// Forgets definitions that were looked at and are gone.
    pub fn forget_deleted(&mut self) {
        self.definitions
            .retain(|_, definition| !definition.is_deleted);
    }
}

const FIRST: Uid = Uid {
    life: 0,
    producer: 0,
    number: 0,
};
const LAST: Uid = Uid {
    life: u32::MAX,
    producer: u32::MAX,
    number: u32::MAX,
};

/// Whether a message may be absent, and whether it may be there.
fn possible(copy: &Copy, outcomes: &BTreeMap<u32, bool>) -> [bool; 2] {
    let happened = |tx: &u32| outcomes.get(tx).copied().unwrap_or(false);
    // May it have come, and may it have not?
    let (not_come, come) = match (copy.was_there, copy.tx) {
        (Some(was_there), _) => (!was_there, was_there),
        (None, 0) => (!copy.is_completed && !copy.is_delivered, true),
        (None, tx) => (!happened(&tx), happened(&tx)),
    };
    let (stays, leaves) = match copy.accept {
        Accept::None => (true, false),
        Accept::Sent => (true, true),
        Accept::Completed => (false, true),
        Accept::In(tx) => (!happened(&tx), happened(&tx)),
    };
    [not_come || come && leaves, come && stays]
}
