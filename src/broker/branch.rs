//! Branches of distributed transactions: work that sessions did under an xid, and that happens for
//! everybody else when the branch is committed, or never.
//!
//! A message that a branch publishes is in no queue before the commit. One that it accepts stays in
//! its place in the queue, acquired by the branch: it is no longer the session's, which may end.
//! A branch that is prepared belongs to no session at all. It survives the process, keeps the room
//! in queues that its messages will take, and waits for its outcome without end: who was promised
//! that it can be committed may come late.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::encoding::{Decoder, Encoder, EncodingError, Record, record, record_enum};
use super::ids::{GroupTime, QueueRef, SessionId};
use super::limits::XID_PART_BYTES_MAX;
use super::publishes::{Publishes, TransactionPublish};
use super::session::Transaction;
use crate::wire::DtxXid;

/// The name of a branch, chosen by the transaction manager. 0-10: dtx.xid; X/Open XA: `XID`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Xid {
    format: u32,
    global_id: Arc<[u8]>,
    branch_id: Arc<[u8]>,
}
record!(Xid { format, global_id, branch_id }
    if global_id_fits(&global_id, &branch_id), else "xid");

fn global_id_fits(global_id: &Arc<[u8]>, branch_id: &Arc<[u8]>) -> bool {
    global_id.len().max(branch_id.len()) <= XID_PART_BYTES_MAX
}

impl Xid {
    /// The xid as it came. None when a part has more than [`XID_PART_BYTES_MAX`] octets.
    pub fn new(format: u32, global_id: &[u8], branch_id: &[u8]) -> Option<Xid> {
        let (global_id, branch_id) = (Arc::from(global_id), Arc::from(branch_id));
        global_id_fits(&global_id, &branch_id).then_some(Xid {
            format,
            global_id,
            branch_id,
        })
    }

    /// The xid as it goes out.
    pub fn to_wire(&self) -> DtxXid {
        DtxXid {
            format: self.format,
            global_id: self.global_id.to_vec(),
            branch_id: self.branch_id.to_vec(),
        }
    }
}

impl fmt::Display for Xid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (global, branch) = (&self.global_id, &self.branch_id);
        write!(f, "{}:", self.format)?;
        write!(f, "{}:{}", global.escape_ascii(), branch.escape_ascii())
    }
}

/// A message acquired by a branch: its queue and its place there.
pub type Acquired = (QueueRef, u64);

/// What becomes of a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BranchState {
    /// Work is being done in it, or is done.
    Active,
    /// It can be committed, whatever happens. The number is its name in facts.
    Prepared(u64),
    /// Its work is undone. It is kept for a while so that who asks is told.
    RolledBack {
        /// Whether its time ran out; else a session failed it, ended in it, or a queue was full.
        is_timed_out: bool,
    },
}
record_enum!(BranchState {
    0 = Active,
    1 = Prepared(number),
    2 = RolledBack { is_timed_out },
});

/// A branch.
#[derive(Clone, Debug, Hash)]
pub struct Branch {
    /// What becomes of it.
    pub state: BranchState,
    /// Sessions that are associated with it, or have suspended that.
    pub open: BTreeSet<SessionId>,
    /// Messages to be published, in the order in which they came.
    pub publishes: Publishes,
    /// Messages accepted, in the order in which that was said.
    pub accepts: VecDeque<Acquired>,
    /// Octets that the publishes take.
    pub bytes: u64,
    /// Seconds that work in it may take; 0 is without end.
    pub timeout: u32,
    /// When its time runs out; of one that is rolled back, when it is forgotten.
    pub due: GroupTime,
}
record!(Branch {
    state,
    open,
    publishes,
    accepts,
    bytes,
    timeout,
    due
});

/// What the class `dtx` has to do with a session that was selected for it.
#[derive(Clone, Debug, Default, Hash)]
pub struct DtxSession {
    /// The branch in which it works.
    pub association: Option<Association>,
    /// Branches in which it will go on.
    pub suspended: BTreeSet<Xid>,
}
record!(DtxSession {
    association,
    suspended
});

/// A session works in a branch.
#[derive(Clone, Debug, Hash)]
pub struct Association {
    /// The branch. It may be no more, and another may have its xid: see [`Branch::open`].
    pub xid: Xid,
    /// The local transaction that goes on when the association ends.
    pub local: Option<Transaction>,
}
record!(Association { xid, local });

/// All branches.
#[derive(Clone, Debug, Default)]
pub struct Branches {
    by_xid: BTreeMap<Xid, Branch>,
    /// Those that have a deadline, by it.
    due: BTreeSet<(GroupTime, Xid)>,
    /// Those that are prepared, by number.
    prepared: BTreeMap<u64, Xid>,
    /// How many branches have been prepared.
    numbers: u64,
    /// Octets of all publishes.
    bytes: u64,
    /// Sessions that were selected for the class.
    sessions: BTreeMap<SessionId, DtxSession>,
}

impl Branches {
    /// How many there are, those that are rolled back and remembered included.
    pub fn len(&self) -> usize {
        self.by_xid.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.by_xid.is_empty()
    }

    /// Octets of what all of them publish.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// What all of them publish, and what local transactions do that wait behind one.
    pub fn publishes(&self) -> impl Iterator<Item = &TransactionPublish> {
        let associations = self.sessions.values();
        let associations = associations.filter_map(|session| session.association.as_ref());
        let waiting = associations.filter_map(|association| association.local.as_ref());
        let waiting = waiting.map(|transaction| &transaction.publishes);
        let branches = self.by_xid.values().map(|branch| &branch.publishes);
        waiting.chain(branches).flatten()
    }

    /// A branch.
    pub fn get(&self, xid: &Xid) -> Option<&Branch> {
        self.by_xid.get(xid)
    }

    /// The branch in which a session works, if it is still the one that it began to work in and work
    /// can still be done in it.
    pub fn open_in(&mut self, xid: &Xid, session: SessionId) -> Option<&mut Branch> {
        let found = self.by_xid.get_mut(xid)?;
        let is_open = found.state == BranchState::Active && found.open.contains(&session);
        is_open.then_some(found)
    }

    /// Makes a branch; there is none with this xid.
    pub fn insert(&mut self, xid: Xid, timeout: u32, due: GroupTime) {
        let branch = Branch {
            state: BranchState::Active,
            open: BTreeSet::new(),
            publishes: Publishes::default(),
            accepts: VecDeque::new(),
            bytes: 0,
            timeout,
            due: GroupTime::NEVER,
        };
        self.by_xid.insert(xid.clone(), branch);
        self.set_due(&xid, due);
    }

    /// Puts a recovered branch back, which is prepared under a number of its own.
    pub fn restore(&mut self, xid: Xid, number: u64, branch: Branch) {
        self.numbers = self.numbers.max(number);
        self.bytes += branch.bytes;
        self.prepared.insert(number, xid.clone());
        self.by_xid.insert(xid, branch);
    }

    /// Forgets a branch, and gives it. Sessions that had suspended it can no longer go on there.
    pub fn remove(&mut self, xid: &Xid) -> Option<Branch> {
        let branch = self.by_xid.remove(xid)?;
        self.due.remove(&(branch.due, xid.clone()));
        self.bytes -= branch.bytes;
        if let BranchState::Prepared(number) = branch.state {
            self.prepared.remove(&number);
        }
        for session in &branch.open {
            if let Some(session) = self.sessions.get_mut(session) {
                session.suspended.remove(xid);
            }
        }
        Some(branch)
    }

    /// A session opens a branch, or has done its work there. False when it had not opened it.
    pub fn set_open(&mut self, xid: &Xid, session: SessionId, is_open: bool) -> bool {
        let Some(branch) = self.by_xid.get_mut(xid) else {
            return false;
        };
        match is_open {
            true => branch.open.insert(session),
            false => branch.open.remove(&session),
        }
    }

    /// Sets when a branch's time runs out.
    pub fn set_due(&mut self, xid: &Xid, due: GroupTime) {
        let Some(branch) = self.by_xid.get_mut(xid) else {
            return;
        };
        let former = std::mem::replace(&mut branch.due, due);
        self.due.remove(&(former, xid.clone()));
        if due != GroupTime::NEVER {
            self.due.insert((due, xid.clone()));
        }
    }

    /// Sets how many seconds work in a branch may take.
    pub fn set_timeout(&mut self, xid: &Xid, seconds: u32) {
        if let Some(branch) = self.by_xid.get_mut(xid) {
            branch.timeout = seconds;
        }
    }

    /// Adds to an active branch what is to be published.
    pub fn publish(&mut self, xid: &Xid, publish: TransactionPublish, bytes: u64) {
        if let Some(branch) = self.by_xid.get_mut(xid) {
            branch.bytes += bytes;
            self.bytes += bytes;
            branch.publishes.push(publish);
        }
    }

    /// A branch is prepared: its number, by which facts name it.
    pub fn prepare(&mut self, xid: &Xid) -> u64 {
        self.set_due(xid, GroupTime::NEVER);
        self.numbers += 1;
        let number = self.numbers;
        if let Some(branch) = self.by_xid.get_mut(xid) {
            branch.state = BranchState::Prepared(number);
            self.prepared.insert(number, xid.clone());
        }
        number
    }

    /// A branch is rolled back and remembered until `forgotten`. Gives what it was to publish, and the
    /// messages that it had acquired.
    pub fn roll_back(
        &mut self,
        xid: &Xid,
        is_timed_out: bool,
        forgotten: GroupTime,
    ) -> (Publishes, VecDeque<Acquired>) {
        self.set_due(xid, forgotten);
        let Some(branch) = self.by_xid.get_mut(xid) else {
            return Default::default();
        };
        branch.state = BranchState::RolledBack { is_timed_out };
        self.bytes -= std::mem::take(&mut branch.bytes);
        (
            std::mem::take(&mut branch.publishes),
            std::mem::take(&mut branch.accepts),
        )
    }

    /// The next deadline of a branch; [`GroupTime::NEVER`] when there is none.
    pub fn deadline(&self) -> GroupTime {
        let first = self.due.first();
        first.map_or(GroupTime::NEVER, |(due, _)| *due)
    }

    /// A branch whose deadline has come.
    pub fn first_due(&self, now: GroupTime) -> Option<Xid> {
        let (due, xid) = self.due.first()?;
        (*due <= now).then(|| xid.clone())
    }

    /// Prepared branches, in the order in which they were prepared.
    pub fn prepared(&self) -> impl Iterator<Item = (u64, &Xid, &Branch)> {
        let all = self.prepared.iter();
        all.filter_map(|(number, xid)| Some((*number, xid, self.by_xid.get(xid)?)))
    }

    /// The prepared branch of a number.
    pub fn of_number(&self, number: u64) -> Option<(&Xid, &Branch)> {
        let xid = self.prepared.get(&number)?;
        Some((xid, self.by_xid.get(xid)?))
    }

    /// No branch with a lower number is prepared.
    pub fn completed_before(&self) -> u64 {
        let first = self.prepared.first_key_value();
        first.map_or(self.numbers + 1, |(number, _)| *number)
    }

    /// Numbers up to this one were given.
    pub fn go_on_behind(&mut self, number: u64) {
        self.numbers = self.numbers.max(number);
    }

    /// A session, if it was selected for the class.
    pub fn session(&self, id: SessionId) -> Option<&DtxSession> {
        self.sessions.get(&id)
    }

    /// The same, to be changed.
    pub fn session_mut(&mut self, id: SessionId) -> Option<&mut DtxSession> {
        self.sessions.get_mut(&id)
    }

    /// The xid under which a session works.
    pub fn associated(&self, id: SessionId) -> Option<&Xid> {
        let association = &self.sessions.get(&id)?.association;
        association.as_ref().map(|association| &association.xid)
    }

    /// A session is selected for the class.
    pub fn select(&mut self, id: SessionId) {
        self.sessions.entry(id).or_default();
    }

    /// A session has ended.
    pub fn remove_session(&mut self, id: SessionId) -> Option<DtxSession> {
        self.sessions.remove(&id)
    }

    fn is_untouched(&self) -> bool {
        self.by_xid.is_empty() && self.sessions.is_empty() && self.numbers == 0
    }
}

/// Where no branch ever was there is nothing, as in digests of before.
impl Hash for Branches {
    fn hash<H: Hasher>(&self, state: &mut H) {
        if self.is_untouched() {
            return;
        }
        let Branches {
            by_xid,
            due,
            prepared,
            numbers,
            bytes,
            sessions,
        } = self;
        (by_xid, due, prepared).hash(state);
        (numbers, bytes, sessions).hash(state);
    }
}

/// What follows from the branches is not written.
impl Record for Branches {
    fn encode(&self, to: &mut Encoder) {
        let Branches {
            by_xid,
            due: _,
            prepared: _,
            numbers,
            bytes: _,
            sessions,
        } = self;
        by_xid.encode(to);
        numbers.encode(to);
        sessions.encode(to);
    }
    fn decode(from: &mut Decoder<'_>) -> Result<Self, EncodingError> {
        let mut branches = Branches {
            by_xid: Record::decode(from)?,
            numbers: Record::decode(from)?,
            sessions: Record::decode(from)?,
            ..Branches::default()
        };
        for (xid, branch) in &branches.by_xid {
            branches.bytes += branch.bytes;
            if branch.due != GroupTime::NEVER {
                branches.due.insert((branch.due, xid.clone()));
            }
            if let BranchState::Prepared(number) = branch.state {
                branches.prepared.insert(number, xid.clone());
            }
        }
        Ok(branches)
    }
}

/// Room in a queue for messages of prepared branches. Follows from the branches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Promised {
    /// Messages.
    pub count: u64,
    /// Octets of headers and bodies.
    pub bytes: u64,
}

/// It says nothing that the branches do not.
impl Hash for Promised {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

/// A core that is decoded counts anew.
impl Record for Promised {
    fn encode(&self, _: &mut Encoder) {}
    fn decode(_: &mut Decoder<'_>) -> Result<Self, EncodingError> {
        Ok(Promised::default())
    }
}

/// What a session asks of the class `dtx`. 0-10: class dtx.
#[derive(Clone, Debug, PartialEq)]
pub enum DtxRequest {
    /// `dtx.select`.
    Select,
    /// `dtx.start`.
    Start {
        /// The branch.
        xid: Xid,
        /// Whether others work in it, or did.
        join: bool,
        /// Whether the session goes on where it suspended.
        resume: bool,
        /// Seconds that work in a new branch may take: the option of the session's member.
        timeout: u32,
    },
    /// `dtx.end`.
    End {
        /// The branch.
        xid: Xid,
        /// Whether its work has failed.
        fail: bool,
        /// Whether the session will go on.
        suspend: bool,
    },
    /// `dtx.prepare`.
    Prepare {
        /// The branch.
        xid: Xid,
    },
    /// `dtx.commit`.
    Commit {
        /// The branch.
        xid: Xid,
        /// Whether it was not prepared.
        one_phase: bool,
    },
    /// `dtx.rollback`.
    Rollback {
        /// The branch.
        xid: Xid,
    },
    /// `dtx.recover`.
    Recover,
    /// `dtx.get-timeout`.
    GetTimeout {
        /// The branch.
        xid: Xid,
    },
    /// `dtx.set-timeout`; the maximum was looked at.
    SetTimeout {
        /// The branch.
        xid: Xid,
        /// Seconds.
        timeout: u32,
    },
    /// `dtx.forget`.
    Forget {
        /// The branch.
        xid: Xid,
    },
}
record_enum!(DtxRequest {
    0 = Select,
    1 = Start { xid, join, resume, timeout },
    2 = End { xid, fail, suspend },
    3 = Prepare { xid },
    4 = Commit { xid, one_phase },
    5 = Rollback { xid },
    6 = Recover,
    7 = GetTimeout { xid },
    8 = SetTimeout { xid, timeout },
    9 = Forget { xid },
});
