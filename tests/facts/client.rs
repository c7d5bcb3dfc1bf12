//! A client: one connection with one session, and what it knows.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::task::Waker;

use ferrymq::broker::branch::{DtxRequest, Xid};
use ferrymq::broker::ids::{ChannelKey, ConnectionNumber};
use ferrymq::broker::{Command, ConnectionRecord, Delivery, Effect, Request};
use ferrymq::cluster::solo::Solo;
use ferrymq::cluster::{Group as _, Millis};
use ferrymq::wire::{
    self, AcceptMode, AcquireMode, CommandId, CreditUnit, DetachCode, DtxRecoverResult,
    DtxXaResult, DtxXid, SequenceSet, Struct32, Value, XaStatus,
};

use super::content::{self, NOT_ACCEPTED};
use super::ledger::{Changed, Doing, Held, Ledger, Order, Sent};

/// Messages of headroom that a client begins with.
const HEADROOM_MESSAGES: u32 = 30;

/// Octets of headroom that a client begins with.
const HEADROOM_BYTES: u64 = 1 << 20;

#[derive(Clone, Debug)]
struct Subscription {
    queue: String,
    /// The order of what came last for the first time.
    last: Option<Order>,
}

/// What becomes of work in a branch.
#[derive(Clone, Copy, Debug)]
pub enum Outcome {
    Prepare,
    CommitOnePhase,
    Rollback,
}

/// The xid of a name.
fn xid(name: &str) -> Xid {
    Xid::new(1, name.as_bytes(), b"").expect("a short name")
}

/// The names of the branches in the answer to `dtx.recover`.
pub fn in_doubt(answer: &Struct32) -> Result<BTreeSet<String>, String> {
    let answer = answer.parse::<DtxRecoverResult>();
    let in_doubt = answer.map_err(|error| error.to_string())?.in_doubt;
    let name = |value: &Value| {
        let Value::Struct32(packed) = value else {
            return Err(format!("{value:?} is no xid"));
        };
        let xid = packed.parse::<DtxXid>();
        let xid = xid.map_err(|error| error.to_string())?;
        String::from_utf8(xid.global_id).map_err(|error| error.to_string())
    };
    in_doubt.items.iter().map(name).collect()
}

/// What a transaction has gathered.
#[derive(Clone, Debug, Default)]
pub struct Transaction {
    pub sent: Vec<Sent>,
    /// Deliveries by their number.
    pub accepted: Vec<(u32, Held)>,
}

/// See the module.
pub struct Client {
    /// Names it for the ledger.
    pub serial: u64,
    number: ConnectionNumber,
    next: CommandId,
    batch: Vec<(Command, Option<(CommandId, Doing)>)>,
    /// What was asked and is not known to be completed.
    open: BTreeMap<u32, Changed>,
    /// Effects taken and not yet looked at.
    taken: VecDeque<Effect>,
    /// What was delivered and is not settled.
    pub held: BTreeMap<u32, Held>,
    subscriptions: BTreeMap<String, Subscription>,
    /// The open transaction of one that has them, or what it does in its branch.
    pub transaction: Option<Transaction>,
    /// The branch in which one works that has those.
    branch: Option<String>,
    /// How many branches it has begun.
    branches: u64,
    /// Batches on their way.
    pub proposed: usize,
    /// Bodies that were not in memory.
    pub fetched: u64,
}

impl Client {
    /// Connects.
    pub fn new(solo: &Solo, serial: u64, now: Millis, has_transactions: bool) -> Client {
        let number = solo.open(Waker::noop().clone());
        let mut client = Client {
            serial,
            number,
            next: CommandId(0),
            batch: Vec::new(),
            open: BTreeMap::new(),
            taken: VecDeque::new(),
            held: BTreeMap::new(),
            subscriptions: BTreeMap::new(),
            transaction: has_transactions.then(Transaction::default),
            branch: None,
            branches: 0,
            proposed: 0,
            fetched: 0,
        };
        let record = ConnectionRecord {
            user: "guest".into(),
            headroom_messages: HEADROOM_MESSAGES,
            headroom_bytes: HEADROOM_BYTES,
            ..Default::default()
        };
        let open = Command::ConnectionOpen {
            connection: number,
            record: Box::new(record),
        };
        let attach = Command::Attach {
            at: client.at(),
            name: serial.to_string().into_bytes(),
            force: false,
        };
        solo.propose(now, number, &mut vec![open, attach]);
        if has_transactions {
            client.ask(Request::TxSelect, Doing::Nothing);
        }
        client
    }

    /// Connects one that works in branches.
    pub fn in_branches(solo: &Solo, serial: u64, now: Millis) -> Client {
        let mut client = Client::new(solo, serial, now, false);
        client.transaction = Some(Transaction::default());
        client.ask_dtx(DtxRequest::Select, Doing::Nothing);
        client.start_branch();
        client
    }

    fn start_branch(&mut self) {
        self.branches += 1;
        let name = format!("{} {}", self.serial, self.branches);
        let start = DtxRequest::Start {
            xid: xid(&name),
            join: false,
            resume: false,
            timeout: 0,
        };
        self.branch = Some(name);
        self.ask_dtx(start, Doing::Nothing);
    }

    fn ask_dtx(&mut self, request: DtxRequest, doing: Doing) {
        self.ask(Request::Dtx(Box::new(request)), doing);
    }

    /// Ends the work in its branch in some way, and begins the next.
    pub fn end_branch(&mut self, outcome: Outcome) {
        let (Some(name), Some(transaction)) = (self.branch.take(), &mut self.transaction) else {
            return;
        };
        let Transaction { sent, accepted } = std::mem::take(transaction);
        let held = messages(accepted);
        let xid = xid(&name);
        let end = DtxRequest::End {
            xid: xid.clone(),
            fail: false,
            suspend: false,
        };
        self.ask_dtx(end, Doing::Nothing);
        let (request, doing) = match outcome {
            Outcome::Prepare => {
                let doing = Doing::Prepare(name, sent, held);
                (DtxRequest::Prepare { xid }, doing)
            }
            Outcome::CommitOnePhase => {
                let one_phase = true;
                (
                    DtxRequest::Commit { xid, one_phase },
                    Doing::Commit(sent, held),
                )
            }
            Outcome::Rollback => (DtxRequest::Rollback { xid }, Doing::Release(held)),
        };
        self.ask_dtx(request, doing);
        self.start_branch();
    }

    /// Whether it works in branches.
    pub fn has_branches(&self) -> bool {
        self.branch.is_some()
    }

    /// Decides what becomes of a prepared branch, whoever did the work in it.
    pub fn decide(&mut self, name: &str, is_commit: bool) {
        let xid = xid(name);
        let request = match is_commit {
            true => DtxRequest::Commit {
                xid,
                one_phase: false,
            },
            false => DtxRequest::Rollback { xid },
        };
        self.ask_dtx(request, Doing::Decide(name.to_owned(), is_commit));
    }

    fn at(&self) -> ChannelKey {
        ChannelKey {
            connection: self.number,
            channel: 0,
        }
    }

    /// Asks something, with the next batch.
    pub fn ask(&mut self, request: Request, doing: Doing) {
        let id = self.next;
        self.next = id.next();
        let command = Command::Session {
            at: self.at(),
            id,
            sync: true,
            request,
        };
        self.batch.push((command, Some((id, doing))));
    }

    /// How many commands wait for the next batch.
    pub fn waiting(&self) -> usize {
        self.batch.len()
    }

    /// Publishes.
    pub fn publish(&mut self, sent: Sent, accept_mode: AcceptMode) {
        let message = content::message(sent.uid, &sent.exchange, &sent.key, sent.kind);
        let request = Request::Transfer {
            destination: sent.exchange.as_str().into(),
            accept_mode,
            message: message.into(),
        };
        let doing = match &mut self.transaction {
            Some(transaction) => {
                transaction.sent.push(sent);
                Doing::Nothing
            }
            None => Doing::Publish(sent),
        };
        self.ask(request, doing);
    }

    /// Subscribes to a queue, and takes so many messages.
    pub fn subscribe(&mut self, queue: &str, is_acquiring: bool, messages: u32) {
        let destination = format!("{queue} {}", self.next.0);
        let accept_mode = match queue == NOT_ACCEPTED {
            true => AcceptMode::NONE,
            false => AcceptMode::EXPLICIT,
        };
        let acquire_mode = match is_acquiring {
            true => AcquireMode::PRE_ACQUIRED,
            false => AcquireMode::NOT_ACQUIRED,
        };
        let subscribe = wire::MessageSubscribe {
            queue: queue.into(),
            destination: destination.as_str().into(),
            accept_mode,
            acquire_mode,
            ..Default::default()
        };
        let doing = match is_acquiring {
            true => Doing::Subscribe(queue.to_owned()),
            false => Doing::Nothing,
        };
        self.ask(Request::Subscribe(Box::new(subscribe)), doing);
        let subscription = Subscription {
            queue: queue.to_owned(),
            last: None,
        };
        self.subscriptions.insert(destination.clone(), subscription);
        self.grant(&destination, messages);
    }

    /// Takes so many messages more of a subscription.
    pub fn grant(&mut self, destination: &str, messages: u32) {
        for (unit, value) in [
            (CreditUnit::MESSAGE, messages),
            (CreditUnit::BYTE, u32::MAX),
        ] {
            let destination = destination.into();
            let request = Request::Flow {
                destination,
                unit,
                value,
            };
            self.ask(request, Doing::Nothing);
        }
    }

    /// The names of its subscriptions.
    pub fn destinations(&self) -> Vec<String> {
        self.subscriptions.keys().cloned().collect()
    }

    /// Takes deliveries out of what it holds.
    fn unhold(&mut self, ids: &[u32]) -> (SequenceSet, Vec<(u32, Held)>) {
        let mut transfers = SequenceSet::new();
        let mut held = Vec::new();
        for id in ids {
            if let Some(message) = self.held.remove(id) {
                transfers.insert(CommandId(*id));
                held.push((*id, message));
            }
        }
        (transfers, held)
    }

    /// Accepts, all in one command.
    pub fn accept(&mut self, ids: &[u32]) {
        let (transfers, held) = self.unhold(ids);
        let doing = match &mut self.transaction {
            Some(transaction) => {
                transaction.accepted.extend(held);
                Doing::Nothing
            }
            None => Doing::Accept(messages(held)),
        };
        self.ask(Request::Accept { transfers }, doing);
    }

    /// Gives back, flagged.
    pub fn release(&mut self, ids: &[u32]) {
        let (transfers, held) = self.unhold(ids);
        let request = Request::Release {
            transfers,
            set_redelivered: true,
        };
        self.ask(request, Doing::Release(messages(held)));
    }

    /// Rejects.
    pub fn reject(&mut self, ids: &[u32]) {
        let (transfers, held) = self.unhold(ids);
        self.ask(Request::Reject { transfers }, Doing::Reject(messages(held)));
    }

    /// Ends the open transaction.
    pub fn end_transaction(&mut self, is_commit: bool) {
        let Some(transaction) = &mut self.transaction else {
            return;
        };
        let Transaction { sent, accepted } = std::mem::take(transaction);
        match is_commit {
            true => {
                let doing = Doing::Commit(sent, messages(accepted));
                self.ask(Request::TxCommit, doing);
            }
            false => {
                self.held.extend(accepted);
                self.ask(Request::TxRollback, Doing::Nothing);
            }
        }
    }

    /// Proposes what it has asked, as one step for each batch that the group makes of it.
    pub fn flush(&mut self, solo: &Solo, ledger: &mut Ledger, now: Millis) {
        while !self.batch.is_empty() {
            // It gets small when messages have come to many queues of late.
            let mut most = 0;
            solo.look(&mut |core| most = core.commands_max());
            let mut commands = self.batch.iter().map(|(command, _)| command);
            let ends = commands.position(Command::ends_transaction);
            let count = ends.map_or(self.batch.len(), |at| at + 1).min(most);
            let mut commands = Vec::new();
            ledger.begin_step();
            for (command, asked) in self.batch.drain(..count) {
                if let Some((id, doing)) = asked {
                    let changed = ledger.apply(&doing, now.0);
                    self.open.insert(id.0, changed);
                }
                commands.push(command);
            }
            solo.propose(now, self.number, &mut commands);
        }
    }

    /// Takes what came for it, as the connection's driver does. What that is shows later.
    pub fn take(&mut self, solo: &Solo) {
        let mut effects = Vec::new();
        self.proposed = solo.take(self.number, &mut effects).proposed;
        self.taken.extend(effects);
    }

    /// Looks at what was taken.
    pub fn look(&mut self, ledger: &mut Ledger) -> Result<usize, String> {
        let (mut messages, mut bytes, count) = (0, 0, self.taken.len());
        while let Some(effect) = self.taken.pop_front() {
            if let Effect::Deliver(delivery) = &effect {
                messages += 1;
                bytes += delivery.message.size();
            }
            self.effect(effect, ledger)?;
        }
        if messages > 0 {
            self.refill(messages, bytes);
        }
        Ok(count)
    }

    /// Says with the next batch that so much has gone on to the client.
    pub fn refill(&mut self, messages: u32, bytes: u64) {
        let connection = self.number;
        let refilled = Command::Headroom {
            connection,
            messages,
            bytes,
        };
        self.batch.push((refilled, None));
    }

    fn effect(&mut self, effect: Effect, ledger: &mut Ledger) -> Result<(), String> {
        match effect {
            Effect::Attached { .. } => Ok(()),
            Effect::Completed { commands, .. } => {
                self.completed(&commands, ledger);
                Ok(())
            }
            Effect::Accept { transfers, .. } | Effect::Reject { transfers, .. } => {
                self.completed(&transfers, ledger);
                Ok(())
            }
            Effect::Deliver(delivery) => self.delivered(delivery, ledger),
            Effect::Detached { code, .. } if code == DetachCode::NORMAL => Ok(()),
            Effect::Result { value, .. } => {
                let result = value.parse::<DtxXaResult>();
                let status = result.map_err(|error| error.to_string())?.status;
                match status {
                    XaStatus::XA_OK => Ok(()),
                    other => Err(format!("a branch came to {other:?}")),
                }
            }
            other => Err(format!("nobody expected {other:?}")),
        }
    }

    fn completed(&mut self, commands: &SequenceSet, ledger: &mut Ledger) {
        let is_completed = |id: &u32| commands.contains(CommandId(*id));
        let ids: Vec<u32> = self.open.keys().copied().filter(is_completed).collect();
        for id in ids {
            if let Some(changed) = self.open.remove(&id) {
                ledger.completed(&changed);
            }
        }
    }

    /// The queue of a delivery, and the number of the message, every octet of which is right.
    pub fn message_of(&mut self, delivery: &Delivery) -> Result<Held, String> {
        self.fetched += u64::from(delivery.message.body().is_none());
        let message = delivery.message.fetch()?;
        let destination = delivery.subscription.destination.as_str();
        let subscription = self.subscriptions.get(destination);
        let queue = subscription.map(|subscription| subscription.queue.clone());
        let queue = queue.ok_or_else(|| format!("a message for {destination:?}"))?;
        let uid = message.body().and_then(content::uid_of);
        let uid = uid.ok_or_else(|| format!("a message of {queue} is not what was sent"))?;
        Ok((queue, uid))
    }

    fn delivered(&mut self, delivery: Delivery, ledger: &mut Ledger) -> Result<(), String> {
        let held = self.message_of(&delivery)?;
        let is_explicit = held.0 != NOT_ACCEPTED;
        let holder = is_explicit.then_some(self.serial);
        let order = ledger.delivered(&held, delivery.redelivered, holder)?;
        let destination = delivery.subscription.destination.as_str();
        if let Some(subscription) = self.subscriptions.get_mut(destination)
            && order.is_some()
        {
            if subscription.last >= order {
                let last = subscription.last;
                return Err(format!(
                    "{held:?} came out of its place: {order:?} after {last:?}"
                ));
            }
            subscription.last = order;
        }
        if is_explicit {
            self.held.insert(delivery.id.0, held);
        }
        Ok(())
    }

    /// What was taken and is not looked at, for one who does not tell the ledger.
    pub fn effects(&mut self) -> impl Iterator<Item = Effect> {
        std::mem::take(&mut self.taken).into_iter()
    }

    /// Goes without a word.
    pub fn close(self, solo: &Solo, ledger: &mut Ledger, now: Millis) {
        ledger.begin_step();
        solo.close(now, self.number);
        ledger.disconnected(self.serial);
    }
}

fn messages(held: Vec<(u32, Held)>) -> Vec<Held> {
    held.into_iter().map(|(_, held)| held).collect()
}
