//! What clients do in branches of distributed transactions, and what must be in doubt at the end.

use std::collections::{BTreeMap, BTreeSet};

use ferrymq::broker::Request;
use ferrymq::broker::branch::{DtxRequest, Xid};
use ferrymq::wire::{DtxRecoverResult, DtxXid, Struct32, Value};

use super::cluster::Cluster;
use super::ledger::{Certainty, End, Ledger};
use super::session::{Doing, Transaction};
use super::world::{At, World};

/// What was asked to become of a branch: whether a commit, and whether it is known to be done.
type Decision = (bool, Certainty);

/// A branch that somebody has asked to be prepared.
#[derive(Debug)]
struct Prepared {
    work: Transaction,
    is_prepared: Certainty,
    decision: Option<Decision>,
}

/// All branches.
#[derive(Debug, Default)]
pub struct Branches {
    /// Those in which work was ended, and of which it is not known that they have had their outcome.
    open: BTreeSet<String>,
    prepared: BTreeMap<String, Prepared>,
    /// How many were seen to be prepared.
    pub seen: u64,
    /// How many were in doubt at the end.
    pub in_doubt: u64,
}

impl Ledger {
    /// Somebody ends the work in a branch: from then on it outlives the session.
    pub fn branch_ended(&mut self, name: &str) {
        self.branches.open.insert(name.to_owned());
    }

    /// A branch has had its outcome, or will be undone without being asked.
    pub fn branch_over(&mut self, name: &str) {
        self.branches.open.remove(name);
    }

    /// A branch is asked to be prepared.
    pub fn branch_asked(&mut self, name: &str, work: Transaction) {
        let prepared = Prepared {
            work,
            is_prepared: Certainty::Open,
            decision: None,
        };
        self.branches.prepared.insert(name.to_owned(), prepared);
    }

    /// It is known, or known never to be known, whether a branch is prepared.
    pub fn branch_prepared(&mut self, name: &str, is_prepared: Certainty) {
        if is_prepared == Certainty::No {
            return self.branch_undone(name);
        }
        self.branches.seen += u64::from(is_prepared == Certainty::Yes);
        if let Some(branch) = self.branches.prepared.get_mut(name) {
            branch.is_prepared = is_prepared;
        }
    }

    /// A branch that is known to be prepared, and of which nobody has decided.
    fn undecided(&self) -> Vec<String> {
        let all = self.branches.prepared.iter();
        let undecided = all.filter(|(_, branch)| {
            branch.is_prepared == Certainty::Yes && branch.decision.is_none()
        });
        undecided.map(|(name, _)| name.clone()).collect()
    }

    /// What becomes of a branch is asked, or it is known whether that was done.
    pub fn branch_decided(&mut self, name: &str, is_commit: bool, is_done: Certainty) {
        match is_done {
            Certainty::Yes => self.branch_done(name, is_commit),
            Certainty::No => self.set_decision(name, None),
            _ => self.set_decision(name, Some((is_commit, is_done))),
        }
    }

    fn set_decision(&mut self, name: &str, decision: Option<Decision>) {
        if let Some(branch) = self.branches.prepared.get_mut(name) {
            branch.decision = decision;
        }
    }

    fn branch_done(&mut self, name: &str, is_commit: bool) {
        let Some(branch) = self.branches.prepared.remove(name) else {
            return;
        };
        self.branch_over(name);
        match is_commit {
            true => {
                self.published(&branch.work.publishes, Certainty::Yes);
                let is_certain = true;
                self.ends(&branch.work.taken(), End::Settled { is_certain });
            }
            false => self.undone(&branch.work),
        }
    }

    fn branch_undone(&mut self, name: &str) {
        if let Some(branch) = self.branches.prepared.remove(name) {
            self.undone(&branch.work);
        }
    }

    /// Work was undone: nothing was published, and what was accepted is given back, flagged.
    pub fn undone(&mut self, work: &Transaction) {
        self.published(&work.publishes, Certainty::No);
        self.ends(&work.taken(), End::Ended);
    }

    /// Concludes from what is in doubt, after everything has come to rest, what became of all branches
    /// but those; gives these.
    fn conclude(&mut self, in_doubt: &BTreeSet<String>) -> Result<Vec<String>, String> {
        let known = &self.branches.prepared;
        if let Some(name) = in_doubt.iter().find(|name| !known.contains_key(*name)) {
            return Err(format!("the branch {name} is in doubt, and cannot be"));
        }
        let others: Vec<(String, Certainty, Option<Decision>)> = known
            .iter()
            .filter(|(name, _)| !in_doubt.contains(*name))
            .map(|(name, branch)| (name.clone(), branch.is_prepared, branch.decision))
            .collect();
        for (name, is_prepared, decision) in others {
            match (is_prepared, decision) {
                (_, Some((is_commit, Certainty::Maybe))) => self.branch_done(&name, is_commit),
                (Certainty::Maybe, None) => self.branch_undone(&name),
                other => {
                    return Err(format!("the branch {name} is not in doubt: {other:?}"));
                }
            }
        }
        self.branches.in_doubt += in_doubt.len() as u64;
        Ok(in_doubt.iter().cloned().collect())
    }
}

/// The names of the branches in the answer to `dtx.recover`, if it is one.
pub fn names_of(answer: &Struct32) -> Option<BTreeSet<String>> {
    let in_doubt = answer.parse::<DtxRecoverResult>().ok()?.in_doubt;
    let name = |value: &Value| match value {
        Value::Struct32(packed) => {
            let xid = packed.parse::<DtxXid>().ok()?;
            String::from_utf8(xid.global_id).ok()
        }
        _ => None,
    };
    in_doubt.items.iter().map(name).collect()
}

fn xid(name: &str) -> Xid {
    Xid::new(0, name.as_bytes(), b"branch").expect("a short name")
}

fn request(request: DtxRequest) -> Request {
    Request::Dtx(Box::new(request))
}

fn outcome(name: &str, is_commit: bool) -> Request {
    let xid = xid(name);
    request(match is_commit {
        true => DtxRequest::Commit {
            xid,
            one_phase: false,
        },
        false => DtxRequest::Rollback { xid },
    })
}

impl<C: Cluster> World<C> {
    /// A session begins to work in a branch, or ends its work in some way, or decides what becomes of
    /// a branch that anybody has prepared.
    pub fn someone_branches(&mut self) {
        let working = self.working();
        let at = match self.dice.chance(700) {
            true => self.dice.pick(&working).copied(),
            false => None,
        };
        let Some(at) = at.or_else(|| self.someone()) else {
            return;
        };
        let undecided = self.ledger.undecided();
        let session = self.session(at);
        let (is_local, branch) = (session.transaction.is_some(), session.branch.take());
        match branch {
            Some(branch) => self.end_branch(at, branch),
            None if !undecided.is_empty() && self.dice.chance(600) => {
                if let Some(name) = self.dice.pick(&undecided).cloned() {
                    let is_commit = self.dice.chance(600);
                    self.decide(at, &name, is_commit);
                }
            }
            // Where a local transaction waits meanwhile is of no concern here.
            None if is_local => {}
            None => self.start_branch(at),
        }
    }

    /// Sessions that work in a branch.
    fn working(&self) -> Vec<At> {
        let mut working = Vec::new();
        for connection in self.open_connections() {
            let sessions = self.connections[connection].sessions.iter();
            let here = sessions.filter(|(_, found)| found.is_usable() && found.branch.is_some());
            working.extend(here.map(|(channel, _)| (connection, *channel)));
        }
        working
    }

    fn start_branch(&mut self, at: At) {
        self.serials += 1;
        let name = format!("branch {}", self.serials);
        let branch = Transaction {
            branch: Some(name.clone()),
            publisher: Some(self.serials),
            ..Transaction::default()
        };
        self.session(at).branch = Some(branch);
        self.command(at, false, request(DtxRequest::Select), Doing::Other);
        let start = DtxRequest::Start {
            xid: xid(&name),
            join: false,
            resume: false,
            timeout: 0,
        };
        self.command(at, false, request(start), Doing::Other);
    }

    fn end_branch(&mut self, at: At, work: Transaction) {
        let name = work.branch.clone().unwrap_or_default();
        let end = DtxRequest::End {
            xid: xid(&name),
            fail: false,
            suspend: false,
        };
        self.ledger.branch_ended(&name);
        self.command(at, false, request(end), Doing::Other);
        match self.dice.below(6) {
            0 => {
                let is_certain = false;
                self.ledger.ends(&work.taken(), End::Settled { is_certain });
                let one_phase = true;
                let xid = xid(&name);
                let commit = request(DtxRequest::Commit { xid, one_phase });
                self.command(at, true, commit, Doing::Commit(work));
            }
            1 => self.command(at, true, outcome(&name, false), Doing::Undo(work)),
            _ => {
                self.ledger.branch_asked(&name, work);
                let prepare = request(DtxRequest::Prepare { xid: xid(&name) });
                self.command(at, true, prepare, Doing::Prepare(name));
            }
        }
    }

    fn decide(&mut self, at: At, name: &str, is_commit: bool) {
        self.ledger.branch_decided(name, is_commit, Certainty::Open);
        let doing = Doing::Decide(name.to_owned(), is_commit);
        self.command(at, true, outcome(name, is_commit), doing);
    }

    /// Everything has come to rest and everybody is gone: what must be in doubt is, nothing else is, and
    /// all branches have an outcome then.
    pub fn resolve_branches(&mut self) -> Result<(), String> {
        let connection = self.connect(0);
        let at = (connection, self.attach(connection, "resolve", false));
        self.rest()?;
        self.command(at, true, request(DtxRequest::Recover), Doing::Other);
        self.rest()?;
        let sessions = &self.connections[connection].sessions;
        let in_doubt = sessions.get(&at.1).and_then(|found| found.in_doubt.clone());
        let in_doubt = in_doubt.ok_or("nobody says what is in doubt")?;
        for (n, name) in self.ledger.conclude(&in_doubt)?.into_iter().enumerate() {
            self.decide(at, &name, n % 2 == 0);
        }
        self.rest()?;
        // What was ended and never prepared waits for its time to run out. Of most of these it is only
        // not known that they are gone: a session fails of it.
        let open: Vec<String> = self.ledger.branches.open.iter().cloned().collect();
        for name in open {
            let at = (connection, self.attach(connection, &name, false));
            self.command(at, true, outcome(&name, false), Doing::Other);
        }
        self.rest()?;
        self.close(connection);
        self.rest()
    }
}
