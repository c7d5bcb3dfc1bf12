//! A session as its client knows it: what it has asked, what it was told, what it holds.

use std::collections::{BTreeMap, BTreeSet};

use ferrymq::broker::{Delivery, Effect};
use ferrymq::wire::{CommandId, DtxXaResult, MessageAcquired, SequenceSet, XaStatus};

use super::branches::names_of;
use super::kinds::lane;
use super::ledger::{Certainty, End, Key, Ledger, NOBODY, Taken, TakenRef};
use super::resuming::{RESUMABLE, Resumable};
use super::subscription::Subscription;
use super::topology::{is_red, is_volatile, uid_of};

/// What a command was sent for, until it is known to be done.
#[derive(Clone, Debug)]
pub enum Doing {
    /// Nothing that is checked apart from being done.
    Other,
    /// Messages into queues.
    Publish(Vec<Key>),
    /// Messages are settled.
    Accept(Vec<TakenRef>),
    /// Messages are given back.
    Release(Vec<TakenRef>, bool),
    /// Messages are rejected, into a queue.
    Reject(Vec<TakenRef>, Option<&'static str>),
    /// A transaction ends, with all that it held.
    Commit(Transaction),
    /// A transaction ends, with nothing done.
    Rollback(Transaction),
    /// A branch is prepared.
    Prepare(String),
    /// What becomes of a prepared branch: whether it is committed.
    Decide(String, bool),
    /// Work in a branch is undone.
    Undo(Transaction),
    /// A branch was to be prepared, and was undone instead.
    NotPrepared(String),
    /// A subscription's credit before this place is void, in window mode or the other.
    Halt(String, u64, bool),
    /// A subscription ends.
    Cancel(String),
}

/// What an open transaction holds.
#[derive(Clone, Debug, Default)]
pub struct Transaction {
    /// Messages to come into queues.
    pub publishes: Vec<Key>,
    /// Messages to be settled, by the number of their delivery.
    pub accepts: Vec<(u32, TakenRef)>,
    /// The branch that it is the work of.
    pub branch: Option<String>,
    /// Who publishes in a branch: as what is published there comes later, the session does not.
    pub publisher: Option<u64>,
}

impl Transaction {
    /// What it settles.
    pub fn taken(&self) -> Vec<TakenRef> {
        let accepts = self.accepts.iter();
        accepts.map(|(_, taken)| taken.clone()).collect()
    }
}

impl Doing {
    /// Whether an answer says what came of it.
    fn is_answered(&self) -> bool {
        match self {
            Doing::Prepare(_) | Doing::Decide(..) => true,
            Doing::Commit(work) => work.branch.is_some(),
            _ => false,
        }
    }
}

/// What became of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Done,
    Not,
    Unknown,
}

/// How a session ended, and so what became of the commands that it was told nothing of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// All commands before its end were done.
    Orderly,
    /// All commands before this one were done, and none from it on.
    Failed(CommandId),
    /// Nobody can tell.
    Unknown,
}

/// A session.
#[derive(Debug)]
pub struct Session {
    /// Tells it apart from all others there ever were.
    pub serial: u64,
    /// Whether others may attach by its name with force: then the end that it asks for is not told
    /// apart from the one that they bring.
    pub is_shared: bool,
    /// Whether the broker has said that it is attached.
    pub is_attached: bool,
    /// Whether it has asked to be detached.
    pub is_detaching: bool,
    /// The number of its next command.
    pub next: CommandId,
    /// How much it has sent, of everything.
    pub place: u64,
    /// Messages it has sent.
    pub sent: u64,
    /// Subscriptions by destination.
    pub subscriptions: BTreeMap<String, Subscription>,
    /// Deliveries that it has taken and not settled.
    pub held: BTreeMap<u32, TakenRef>,
    /// Messages that it has browsed.
    pub browsed: BTreeMap<u32, (Key, bool)>,
    /// Deliveries that it has not yet said to have received: number, destination, octets.
    pub unreported: Vec<(u32, String, u64)>,
    /// Its transaction, once it is transactional.
    pub transaction: Option<Transaction>,
    /// What it does in a branch.
    pub branch: Option<Transaction>,
    /// The branches that it was told to be in doubt.
    pub in_doubt: Option<BTreeSet<String>>,
    /// Commands of which it has not been told that they are done.
    pub doings: BTreeMap<u32, Doing>,
    /// Publishes of which an accept is awaited.
    pub to_be_accepted: SequenceSet,
    outgoing: u32,
    /// What it keeps to be gone on with; None for one that ends with its connection.
    pub resumable: Option<Box<Resumable>>,
}

impl Session {
    /// One that was just asked for.
    pub fn new(serial: u64, name: &str) -> Session {
        let is_resumable = name.starts_with(RESUMABLE);
        Session {
            serial,
            is_shared: name.starts_with("shared"),
            is_attached: false,
            is_detaching: false,
            next: CommandId(0),
            place: 0,
            sent: 0,
            subscriptions: BTreeMap::new(),
            held: BTreeMap::new(),
            browsed: BTreeMap::new(),
            unreported: Vec::new(),
            transaction: None,
            branch: None,
            in_doubt: None,
            doings: BTreeMap::new(),
            to_be_accepted: SequenceSet::new(),
            outgoing: 0,
            resumable: is_resumable.then(|| Box::new(Resumable::new(name))),
        }
    }

    /// Numbers a command.
    pub fn number(&mut self, doing: Doing) -> CommandId {
        let id = self.next;
        self.next = id.next();
        self.place += 1;
        self.doings.insert(id.0, doing);
        id
    }

    /// What it does in a branch or a transaction.
    pub fn work(&mut self) -> Option<&mut Transaction> {
        self.branch.as_mut().or(self.transaction.as_mut())
    }

    /// What a branch came to: it may have been undone, since a queue was full.
    fn xa_result(&mut self, command: CommandId, status: XaStatus) -> Result<(), String> {
        if status == XaStatus::XA_OK {
            return Ok(());
        }
        let doing = self.doings.get_mut(&command.0);
        match doing {
            Some(Doing::Commit(work)) if status == XaStatus::XA_RBROLLBACK => {
                let undone = Doing::Undo(std::mem::take(work));
                self.doings.insert(command.0, undone);
                Ok(())
            }
            Some(Doing::Prepare(name)) if status == XaStatus::XA_RBROLLBACK => {
                let undone = Doing::NotPrepared(std::mem::take(name));
                self.doings.insert(command.0, undone);
                Ok(())
            }
            // At the end: whatever became of it.
            Some(Doing::Other) => Ok(()),
            other => Err(format!("{other:?} came to {status:?}")),
        }
    }

    /// Whether it can send commands.
    pub fn is_usable(&self) -> bool {
        let is_live = self.resumable.as_ref().is_none_or(|kept| kept.is_usable());
        self.is_attached && !self.is_detaching && is_live
    }

    /// The number of the next command of the broker.
    pub fn outgoing(&self) -> u32 {
        self.outgoing
    }

    fn took_outgoing(&mut self, id: CommandId) -> Result<(), String> {
        if id.0 != self.outgoing {
            return Err(format!("command {id} where {} was due", self.outgoing));
        }
        self.outgoing += 1;
        Ok(())
    }

    /// Takes note of an effect; what ends the session is not for it to take note of.
    pub fn effect(&mut self, effect: &Effect, ledger: &mut Ledger) -> Result<(), String> {
        match effect {
            Effect::Attached { resumed, .. } if !self.is_attached => {
                self.is_attached = true;
                match resumed.is_some() == self.is_resuming() {
                    true => Ok(()),
                    false => Err("another goes on in the place of a new one".to_owned()),
                }
            }
            Effect::Attached { .. } => Err("attached twice".to_owned()),
            Effect::Detached { .. } => Ok(()),
            _ if !self.is_attached => Err("not attached and told something".to_owned()),
            Effect::Deliver(delivery) => self.delivered(delivery, ledger),
            Effect::Result {
                id, command, value, ..
            } => {
                self.took_outgoing(*id)?;
                if let Ok(result) = value.parse::<DtxXaResult>() {
                    return self.xa_result(*command, result.status);
                }
                if let Some(names) = names_of(value) {
                    self.in_doubt = Some(names);
                    return Ok(());
                }
                let Ok(acquired) = value.parse::<MessageAcquired>() else {
                    return Ok(());
                };
                let known = CommandId(0)..self.next;
                if !(known.start.0..known.end.0).contains(&command.0) {
                    return Err(format!("an answer to {command}, which was never sent"));
                }
                self.acquired(&acquired.transfers, ledger)
            }
            Effect::Accept { id, transfers, .. } => {
                self.took_outgoing(*id)?;
                for id in transfers.ids() {
                    if !self.to_be_accepted.contains(id) {
                        return Err(format!("{id} was accepted and did not wait for it"));
                    }
                    self.to_be_accepted.remove_range(id, id);
                }
                Ok(())
            }
            Effect::Completed { commands, .. } => self.completed(commands, ledger),
            Effect::Confirmed { commands, .. } => {
                self.were_sent(commands)?;
                if let Some(kept) = &mut self.resumable {
                    kept.received(commands, false);
                }
                Ok(())
            }
            Effect::Expected { .. } => Ok(()),
            Effect::Exception { id, .. } => self.took_outgoing(*id),
            Effect::Reject { id, transfers, .. } => {
                self.took_outgoing(*id)?;
                self.rejected(transfers)
            }
            Effect::Timeout { timeout, .. } => match &mut self.resumable {
                Some(kept) => {
                    kept.timeout = *timeout;
                    Ok(())
                }
                None => Err(format!("nobody asked for {effect:?}")),
            },
            Effect::Gap { commands, .. } => self.never_comes(commands),
            Effect::Flush { .. }
            | Effect::Agent(_)
            | Effect::Ruled(_)
            | Effect::Close { .. }
            | Effect::Again(_) => Err(format!("nobody asked for {effect:?}")),
        }
    }

    /// Numbers stay empty: the next ones, and all in a row. A session that fails before its client has said
    /// what it has may be told of some that have come.
    fn never_comes(&mut self, commands: &SequenceSet) -> Result<(), String> {
        let [(first, last)] = commands.ranges() else {
            return Err(format!("{commands:?} stay empty, and not in a row"));
        };
        let Some(kept) = self.resumable.as_mut() else {
            return Err(format!("{commands:?} stay empty, and nothing was lost"));
        };
        kept.has_gap = true;
        match first.0 > self.outgoing {
            true => self.took_outgoing(*first),
            false => {
                self.outgoing = self.outgoing.max(last.0 + 1);
                Ok(())
            }
        }
    }

    /// Transfers went nowhere: that they were to go somewhere is an error, but for queues that go when
    /// the broker ends.
    fn rejected(&mut self, transfers: &SequenceSet) -> Result<(), String> {
        for id in transfers.ids() {
            if !self.to_be_accepted.contains(id) {
                return Err(format!("{id} was rejected and did not wait for it"));
            }
            if let Some(Doing::Publish(keys)) = self.doings.get(&id.0)
                && keys.iter().any(|(queue, _)| !is_volatile(queue))
            {
                return Err(format!("{id} was rejected and goes to {keys:?}"));
            }
            self.to_be_accepted.remove_range(id, id);
        }
        Ok(())
    }

    fn were_sent(&self, commands: &SequenceSet) -> Result<(), String> {
        match commands.last() {
            Some(last) if last.0 >= self.next.0 => Err(format!("{last} was never sent")),
            _ => Ok(()),
        }
    }

    fn completed(&mut self, commands: &SequenceSet, ledger: &mut Ledger) -> Result<(), String> {
        self.were_sent(commands)?;
        if let Some(kept) = &mut self.resumable {
            kept.received(commands, true);
        }
        let is_done = |id: &u32| commands.contains(CommandId(*id));
        let done: Vec<u32> = self.doings.keys().copied().filter(is_done).collect();
        for id in done {
            if let Some(doing) = self.doings.remove(&id) {
                self.resolve(doing, Outcome::Done, ledger);
            }
        }
        Ok(())
    }

    fn delivered(&mut self, delivery: &Delivery, ledger: &mut Ledger) -> Result<(), String> {
        self.took_outgoing(delivery.id)?;
        let destination = delivery.subscription.destination.as_str();
        let bytes = delivery.message.size();
        let Some(subscription) = self.subscriptions.get_mut(destination) else {
            return Err(format!("a delivery for {destination}, which is not there"));
        };
        let told = |text: String| format!("{destination} of {}: {text}", self.serial);
        subscription.delivered(bytes).map_err(told)?;
        let uid = uid_of(&delivery.message).ok_or("a message of somebody else")?;
        if subscription.is_red && !is_red(uid) {
            return Err(format!("{uid} is not red"));
        }
        let key = (subscription.queue.clone(), uid);
        let item = ledger.item(&key);
        let item = item.ok_or_else(|| format!("{key:?} was delivered and never sent there"))?;
        if item.expires.is_some() != delivery.ttl.is_some() {
            return Err(format!("{key:?} has another time to live"));
        }
        let is_fresh = !delivery.redelivered && item.plain_releases == 0;
        let in_order = item.publisher.0 != NOBODY;
        if in_order && (is_fresh || !subscription.is_acquiring) {
            let (publisher, place) = item.publisher;
            let lane = lane(&key.0, uid);
            subscription
                .in_order((publisher, lane), place)
                .map_err(told)?;
        }
        self.unreported
            .push((delivery.id.0, destination.to_owned(), bytes));
        if !subscription.is_acquiring {
            subscription.browsed(key.clone())?;
            let is_explicit = subscription.is_explicit;
            self.browsed.insert(delivery.id.0, (key, is_explicit));
            return Ok(());
        }
        let end = match subscription.is_explicit {
            true => End::Held,
            false => End::Settled { is_certain: true },
        };
        let taken = Taken {
            is_redelivered: Some(delivery.redelivered),
            end,
        };
        let is_explicit = subscription.is_explicit;
        let taken = ledger.took(key, taken)?;
        if is_explicit {
            self.held.insert(delivery.id.0, taken);
        }
        Ok(())
    }

    fn acquired(&mut self, ids: &SequenceSet, ledger: &mut Ledger) -> Result<(), String> {
        for id in ids.ids() {
            let Some((key, is_explicit)) = self.browsed.remove(&id.0) else {
                return Err(format!("{id} was acquired and never browsed"));
            };
            let end = match is_explicit {
                true => End::Held,
                false => End::Settled { is_certain: true },
            };
            let taken = Taken {
                is_redelivered: None,
                end,
            };
            let taken = ledger.took(key, taken)?;
            if is_explicit {
                self.held.insert(id.0, taken);
            }
        }
        Ok(())
    }

    fn resolve(&mut self, doing: Doing, outcome: Outcome, ledger: &mut Ledger) {
        let certainty = match outcome {
            Outcome::Done => Certainty::Yes,
            Outcome::Not => Certainty::No,
            Outcome::Unknown => Certainty::Maybe,
        };
        // Of what was not done the session's end is what ended it.
        let settled = |done: End| match outcome {
            Outcome::Done => Some(done),
            Outcome::Not => Some(End::Ended),
            Outcome::Unknown => None,
        };
        let is_certain = true;
        match doing {
            Doing::Other => {}
            Doing::Publish(keys) => ledger.published(&keys, certainty),
            Doing::Accept(taken) => {
                if let Some(end) = settled(End::Settled { is_certain }) {
                    ledger.ends(&taken, end);
                }
            }
            Doing::Release(taken, is_flagged) => {
                let released = End::Released {
                    is_flagged,
                    is_certain,
                };
                if let Some(end) = settled(released) {
                    ledger.ends(&taken, end);
                }
            }
            Doing::Reject(taken, dead) => {
                if let Some(end) = settled(End::Rejected { is_certain }) {
                    ledger.ends(&taken, end);
                }
                if let Some(dead) = dead {
                    ledger.rejected_into(dead, &taken, certainty);
                }
            }
            Doing::Prepare(name) => ledger.branch_prepared(&name, certainty),
            Doing::NotPrepared(name) => ledger.branch_prepared(&name, Certainty::No),
            Doing::Decide(name, is_commit) => {
                ledger.branch_decided(&name, is_commit, certainty);
            }
            Doing::Undo(work) => ledger.undone(&work),
            Doing::Commit(transaction) => {
                if let Some(end) = settled(End::Settled { is_certain }) {
                    ledger.ends(&transaction.taken(), end);
                }
                match outcome {
                    Outcome::Unknown => ledger.maybe_committed(transaction.publishes),
                    _ => ledger.published(&transaction.publishes, certainty),
                }
            }
            Doing::Rollback(transaction) => {
                ledger.published(&transaction.publishes, Certainty::No);
                match outcome {
                    Outcome::Done => self.held.extend(transaction.accepts),
                    _ => ledger.ends(&transaction.taken(), End::Ended),
                }
            }
            Doing::Halt(destination, place, is_window) => {
                if let Some(subscription) = self.subscriptions.get_mut(&destination) {
                    subscription.stopped(place, is_window);
                }
            }
            Doing::Cancel(destination) => {
                if let Some(subscription) = self.subscriptions.get_mut(&destination) {
                    subscription.is_cancelled = true;
                }
            }
        }
    }

    /// The session is gone. What it was never told is concluded from how it ended.
    pub fn end(&mut self, ending: Ending, ledger: &mut Ledger) {
        let has_gap = self.resumable.as_ref().is_some_and(|kept| kept.has_gap);
        for (id, doing) in std::mem::take(&mut self.doings) {
            let outcome = match ending {
                // What the answer was is not known.
                Ending::Failed(_) if has_gap && doing.is_answered() => Outcome::Unknown,
                Ending::Orderly => Outcome::Done,
                Ending::Failed(at) if id < at.0 => Outcome::Done,
                Ending::Failed(_) => Outcome::Not,
                Ending::Unknown => Outcome::Unknown,
            };
            self.resolve(doing, outcome, ledger);
        }
        let held: Vec<TakenRef> = std::mem::take(&mut self.held).into_values().collect();
        ledger.ends(&held, End::Ended);
        for work in self.transaction.take().iter().chain(&self.branch.take()) {
            ledger.undone(work);
        }
    }
}
