//! Several lives of a broker from one seed, what clients do in them, and how each ends.

use std::cell::RefCell;

use ferrymq::broker::Request;
use ferrymq::cluster::fact_log::Plant;
use ferrymq::cluster::limits::PROPOSED_BATCHES_MAX;
use ferrymq::cluster::lockstep::dice::Dice;
use ferrymq::cluster::{Group as _, Millis, compaction, paging};
use ferrymq::store::SimulatedDisk;
use ferrymq::store::simulated::{Call, Failure};
use ferrymq::wire::{self, AcceptMode};

use super::broker::{Broker, Setup, is_of_a_disk};
use super::client::{Client, Outcome};
use super::content::{
    BOUND, FANOUT, Kind, NOT_ACCEPTED, QUEUES, REJECTING, TRANSIENT, bind, declarations,
    declare_with_alternate, unbind,
};
use super::ledger::{Doing, Ledger, Sent};

/// Lives of a broker in one run, and steps of one at most.
const LIVES: u64 = 6;
const STEPS: u64 = 160;

/// Segments that gather before some lives compact: more than one round takes.
const GATHERED_SEGMENTS: usize = 12;

/// Clients at once.
const CLIENTS: usize = 4;

/// Images of one power cut; the broker goes on with the last.
const IMAGES: u64 = 3;

/// Rounds of compaction in which a journal of nothing must have shrunk, and segments that it has then:
/// the one that is written to and the one before it, one with the newest checkpoint, and two that say
/// what has left those.
const LAST_ROUNDS: usize = 20;
const LAST_SEGMENTS: usize = 5;

/// What runs came to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// Times that a broker was started on what an end had left, and compared.
    pub opened: u64,
    /// Records that were read then.
    pub records: u64,
    /// Rounds of compaction that removed segments.
    pub compactions: u64,
    /// Bodies that were fetched for a delivery.
    pub pages: u64,
    pub power_cuts: u64,
    pub kills: u64,
    pub failures: u64,
    pub orderly: u64,
    /// Branches found prepared after an end.
    pub in_doubt: u64,
    /// Branches decided.
    pub decided: u64,
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        self.opened += other.opened;
        self.records += other.records;
        self.compactions += other.compactions;
        self.pages += other.pages;
        self.power_cuts += other.power_cuts;
        self.kills += other.kills;
        self.failures += other.failures;
        self.orderly += other.orderly;
        self.in_doubt += other.in_doubt;
        self.decided += other.decided;
    }
}

/// See the module.
pub struct Run {
    dice: Dice,
    disk: SimulatedDisk,
    setup: Setup,
    now: Millis,
    ledger: Ledger,
    uids: u64,
    serials: u64,
    /// Whether a compaction may have left two copies of a message.
    has_doubles: bool,
    pub tally: Tally,
}

impl Run {
    pub fn new(seed: u64, plant: Plant) -> Run {
        let mut dice = Dice::new(seed ^ 0xFAC7);
        let segment_bytes = *dice.pick(&[4096, 4096, 8192, 16384]).expect("some");
        let memory_bytes_max = *dice.pick(&[0, 3000, 10_000, 1 << 30]).expect("some");
        Run {
            disk: SimulatedDisk::new(dice.roll()),
            dice,
            setup: Setup {
                plant,
                segment_bytes,
                memory_bytes_max,
            },
            now: Millis(1000),
            ledger: Ledger::default(),
            uids: 0,
            serials: 0,
            has_doubles: false,
            tally: Tally::default(),
        }
    }

    /// All lives, and the last in which everything is consumed.
    pub fn run(&mut self) -> Result<(), String> {
        for _ in 0..LIVES {
            self.disk.heal();
            let is_eager = self.dice.chance(350);
            let is_hurt = self.hurt(is_eager);
            let ended = self.live(is_eager);
            match ended {
                Err(text) if is_hurt && is_of_a_disk(&text) => self.tally.failures += 1,
                other => other?,
            }
            self.end()?;
        }
        self.last_life()
    }

    /// From some call on the disk refuses, as a rule.
    fn hurt(&mut self, is_eager: bool) -> bool {
        let calls = 1 + self.dice.below(if is_eager { 400 } else { 120 });
        match self.dice.below(8) {
            0 => self.disk.fail(Call::Sync, calls, Failure::Error),
            1 => self.disk.fail(Call::Write, calls, Failure::Error),
            2..6 => self.disk.power_off_after(calls),
            _ => return false,
        }
        true
    }

    fn open(&mut self) -> Result<Broker, String> {
        Broker::open(&self.disk, self.setup, self.now)
    }

    /// Starts a broker and compares what is there.
    fn start(&mut self) -> Result<Broker, String> {
        let mut broker = self.open()?;
        let observed = broker.observe(self.now)?;
        self.ledger.settle(&observed, self.now.0)?;
        self.tally.opened += 1;
        self.tally.in_doubt += observed.branches.len() as u64;
        self.tally.records += broker.records;
        Ok(broker)
    }

    fn live(&mut self, is_eager: bool) -> Result<(), String> {
        let broker = self.start()?;
        let steps = self.dice.below(if is_eager { 3 * STEPS } else { STEPS });
        let mut life = Life::new(self, broker, is_eager);
        life.all(steps)
    }

    /// What the end of a life leaves on the disk, and some time later.
    fn end(&mut self) -> Result<(), String> {
        self.disk.heal();
        self.disk.power_off_after(u64::MAX / 2);
        self.now.0 += self.dice.below(60);
        if self.dice.chance(300) {
            // The machine goes on: what was written is there, synced or not.
            self.tally.kills += 1;
            return Ok(());
        }
        self.tally.power_cuts += 1;
        let disk = self.disk.clone();
        for n in 1..=IMAGES {
            self.disk = disk.crash(self.dice.roll());
            if n < IMAGES {
                let ledger = self.ledger.clone();
                self.start()?;
                self.ledger = ledger;
            }
        }
        Ok(())
    }

    /// Nothing goes wrong, everything is consumed, and the journal shrinks.
    fn last_life(&mut self) -> Result<(), String> {
        let broker = self.start()?;
        let mut life = Life::new(self, broker, false);
        life.consume_all()?;
        life.shrink()
    }
}

/// One life.
struct Life<'r> {
    run: &'r mut Run,
    /// None while it is elsewhere.
    broker: Option<Broker>,
    clients: Vec<Client>,
    /// Whether a compaction copies: another may not begin.
    is_compacting: bool,
    /// Whether clients take all they can get, and the broker lets segments gather and compacts them
    /// in many rounds then: what leaves is often the last of its segment, and most segments have no
    /// definitions.
    is_eager: bool,
    /// Whether the disk is slow: most of what is asked waits for it.
    is_slow: bool,
    /// Steps left in which it compacts.
    burst: u32,
    /// Whether there may have been two copies of a message before.
    had_doubles: bool,
    /// What went wrong where no error could be given.
    wrong: Option<String>,
}

impl<'r> Life<'r> {
    fn new(run: &'r mut Run, broker: Broker, is_eager: bool) -> Life<'r> {
        let is_slow = run.dice.chance(200);
        Life {
            run,
            broker: Some(broker),
            clients: Vec::new(),
            is_compacting: false,
            is_slow,
            is_eager,
            burst: 0,
            had_doubles: false,
            wrong: None,
        }
    }

    fn broker(&mut self) -> &mut Broker {
        self.broker.as_mut().expect("it is not elsewhere")
    }

    fn connect(&mut self, has_transactions: bool) -> usize {
        self.run.serials += 1;
        let (serial, now) = (self.run.serials, self.run.now);
        let solo = self.broker().solo.clone();
        self.clients
            .push(Client::new(&solo, serial, now, has_transactions));
        self.clients.len() - 1
    }

    fn connect_in_branches(&mut self) {
        self.run.serials += 1;
        let (serial, now) = (self.run.serials, self.run.now);
        let solo = self.broker().solo.clone();
        let client = Client::in_branches(&solo, serial, now);
        self.clients.push(client);
    }

    fn flush(&mut self, client: usize) {
        let solo = self.broker().solo.clone();
        self.clients[client].flush(&solo, &mut self.run.ledger, self.run.now);
    }

    /// What comes for a client is taken, and perhaps looked at.
    fn look(&mut self, client: usize, is_slow: bool) -> Result<usize, String> {
        let solo = self.broker().solo.clone();
        let client = &mut self.clients[client];
        client.take(&solo);
        match is_slow {
            true => Ok(0),
            false => client.look(&mut self.run.ledger),
        }
    }

    fn close(&mut self, client: usize) {
        let solo = self.broker().solo.clone();
        let client = self.clients.swap_remove(client);
        self.run.tally.pages += client.fetched;
        client.close(&solo, &mut self.run.ledger, self.run.now);
    }

    fn declare_all(&mut self) {
        let client = self.connect(false);
        for request in declarations() {
            let doing = match &request {
                Request::ExchangeDeclare(declare) => {
                    Doing::DeclareExchange(declare.exchange.to_string())
                }
                Request::QueueDeclare(declare) => Doing::Declare(declare.queue.to_string()),
                Request::ExchangeBind(bind) => Doing::Bind(
                    bind.exchange.to_string(),
                    bind.queue.to_string(),
                    bind.binding_key.to_string(),
                ),
                _ => Doing::Nothing,
            };
            self.clients[client].ask(request, doing);
        }
        self.flush(client);
    }

    fn all(&mut self, steps: u64) -> Result<(), String> {
        self.declare_all();
        for _ in 0..steps {
            self.step()?;
            self.broker().check()?;
            if let Some(text) = self.wrong.take() {
                return Err(text);
            }
        }
        if self.run.dice.chance(100) {
            self.broker().write_all();
            for client in 0..self.clients.len() {
                self.look(client, false)?;
            }
            self.run.tally.orderly += 1;
        }
        Ok(())
    }

    /// Somebody does something, the broker may write, and some time may pass.
    fn step(&mut self) -> Result<(), String> {
        match self.run.dice.below(100) {
            0..78 => self.someone_acts()?,
            78..84 if self.is_eager => self.gather(),
            78..84 => self.compact()?,
            84..88 => self.page()?,
            88..90 => self.inspect()?,
            _ => {
                self.run.now.0 += self.run.dice.below(12);
                let now = self.run.now;
                self.broker().solo.tick(now);
            }
        }
        self.burst -= u32::from(self.burst > 0);
        if self.burst > 0 && self.run.dice.chance(500) {
            self.compact()?;
        }
        if !self.is_slow || self.run.dice.chance(40) {
            for _ in 0..self.run.dice.below(3) {
                self.broker().write();
            }
        }
        Ok(())
    }

    fn someone_acts(&mut self) -> Result<(), String> {
        let count = self.clients.len();
        if count == 0 || count < CLIENTS && self.run.dice.chance(80) {
            match self.run.dice.below(6) {
                0 => drop(self.connect(true)),
                1 => self.connect_in_branches(),
                _ => drop(self.connect(false)),
            }
            return Ok(());
        }
        let client = self.run.dice.below(count as u64) as usize;
        if self.clients[client].proposed >= PROPOSED_BATCHES_MAX {
            return self.look(client, false).map(drop);
        }
        match self.run.dice.below(100) {
            0..38 => self.publish(client),
            38..46 => self.subscribe(client),
            46..56 => self.grant(client),
            56..76 => self.settle(client),
            76..84 if self.is_eager => self.settle(client),
            76..84 => self.change_queues(client),
            84..88 => self.purge_or_commit(client),
            88..92 => self.decide(client),
            92..94 => {
                self.close(client);
                return Ok(());
            }
            _ => {}
        }
        if self.run.dice.chance(600) || self.clients[client].waiting() > 100 {
            self.flush(client);
        }
        if self.run.dice.chance(500) {
            let is_slow = self.run.dice.chance(300);
            self.look(client, is_slow)?;
        }
        Ok(())
    }

    fn sent(&mut self, exchange: &str, key: &str) -> Sent {
        self.run.uids += 1;
        let dice = &mut self.run.dice;
        let ttl = dice.chance(80).then(|| 1 + dice.below(120));
        let kind = Kind {
            is_persistent: dice.chance(850),
            ttl,
        };
        Sent {
            uid: self.run.uids,
            exchange: exchange.to_owned(),
            key: key.to_owned(),
            kind,
            expires: None,
        }
    }

    fn publish(&mut self, client: usize) {
        let comers = self.run.ledger.comers();
        let dice = &mut self.run.dice;
        let comer = dice.pick(&comers).cloned();
        let queue = *dice
            .pick(&["a", "b", "n", "p", "r", "r", TRANSIENT])
            .expect("some");
        let (exchange, key) = match (dice.below(10), comer) {
            (0..3, _) => (FANOUT, "any".to_owned()),
            (3, Some(comer)) => ("", comer),
            (4, Some(comer)) => (BOUND, format!("key {comer}")),
            _ => ("", queue.to_owned()),
        };
        let accept_mode = match dice.chance(300) {
            true => AcceptMode::EXPLICIT,
            false => AcceptMode::NONE,
        };
        let count = match dice.below(10) {
            0..3 if self.is_eager => 1 + dice.below(10),
            0 => 1 + dice.below(20),
            1..5 => 1 + dice.below(4),
            _ => 1,
        };
        let is_deep = exchange.is_empty() && key.starts_with('g') && dice.chance(60);
        let count = if is_deep { 400 } else { count };
        for _ in 0..count {
            let mut sent = self.sent(exchange, &key);
            if self.clients[client].transaction.is_some() {
                // Where it goes, and its time, is decided when it is sent: at once.
                let is_stable = exchange != BOUND && !key.starts_with('g');
                if !is_stable {
                    return;
                }
                sent.expires = sent.kind.ttl.map(|ttl| self.run.now.0 + ttl);
            }
            self.clients[client].publish(sent, accept_mode);
        }
        if self.clients[client].transaction.is_some() {
            self.flush(client);
        }
    }

    fn subscribe(&mut self, client: usize) {
        let all = [
            "a",
            "b",
            "f1",
            "f2",
            "r",
            "r",
            "d1",
            "d2",
            NOT_ACCEPTED,
            TRANSIENT,
            "p",
        ];
        let count = match self.run.dice.chance(100) {
            true => all.len(),
            // Of some queues it is known what a purge finds.
            false => all.len() - 1,
        };
        let queue = *self.run.dice.pick(&all[..count]).expect("some");
        let messages = match self.is_eager {
            true => u32::MAX,
            false => self.run.dice.below(12) as u32,
        };
        self.clients[client].subscribe(queue, true, messages);
    }

    fn grant(&mut self, client: usize) {
        let destinations = self.clients[client].destinations();
        if let Some(destination) = self.run.dice.pick(&destinations) {
            let messages = self.run.dice.below(20) as u32;
            self.clients[client].grant(destination, messages);
        }
    }

    /// Accepts one, a range, or all; or gives some back, or rejects them.
    fn settle(&mut self, client: usize) {
        let ids: Vec<u32> = self.clients[client].held.keys().copied().collect();
        if ids.is_empty() {
            return;
        }
        let dice = &mut self.run.dice;
        let first = dice.below(ids.len() as u64) as usize;
        let count = 1 + dice.below((ids.len() - first) as u64) as usize;
        let chosen = match dice.below(3) {
            0 | 1 if self.is_eager => &ids[..],
            0 => &ids[..],
            1 => &ids[first..=first],
            _ => &ids[first..first + count],
        };
        let held = &self.clients[client].held;
        let is_rejecting = |id: &u32| held.get(id).is_some_and(|(queue, _)| queue == REJECTING);
        let rejected: Vec<u32> = chosen.iter().copied().filter(is_rejecting).collect();
        let roll = dice.below(10);
        let client = &mut self.clients[client];
        match (roll, client.transaction.is_some()) {
            (0, false) => client.release(chosen),
            (1..6, false) if !rejected.is_empty() => client.reject(&rejected),
            (1, false) => client.reject(chosen),
            _ => client.accept(chosen),
        }
    }

    /// Decides what becomes of a branch that is in doubt, or ends a transaction. What is asked is
    /// proposed at once, so that nobody decides again.
    fn decide(&mut self, client: usize) {
        let in_doubt = self.run.ledger.in_doubt();
        let Some(branch) = self.run.dice.pick(&in_doubt) else {
            return self.purge_or_commit(client);
        };
        let is_commit = self.run.dice.chance(600);
        self.clients[client].decide(branch, is_commit);
        self.run.tally.decided += 1;
        self.flush(client);
    }

    fn purge_or_commit(&mut self, client: usize) {
        if self.clients[client].has_branches() {
            let outcome = match self.run.dice.below(6) {
                0 => Outcome::CommitOnePhase,
                1 => Outcome::Rollback,
                _ => Outcome::Prepare,
            };
            self.clients[client].end_branch(outcome);
            self.flush(client);
            return;
        }
        if self.clients[client].transaction.is_some() {
            let is_commit = self.run.dice.chance(750);
            self.clients[client].end_transaction(is_commit);
            return;
        }
        let mut queues = self.run.ledger.comers();
        queues.push("p".to_owned());
        if self.run.dice.chance(200) {
            queues.push("a".to_owned());
        }
        let queue = self.run.dice.pick(&queues).cloned().unwrap_or_default();
        let purge = wire::QueuePurge {
            queue: queue.as_str().into(),
        };
        let request = Request::QueuePurge(Box::new(purge));
        self.clients[client].ask(request, Doing::Purge(queue));
        self.flush(client);
    }

    /// Queues come and go, and their bindings. What is asked is proposed at once, so that nobody
    /// asks for what is there no more.
    fn change_queues(&mut self, client: usize) {
        if self.clients[client].transaction.is_some() {
            return;
        }
        let comers = self.run.ledger.comers();
        let comer = self.run.dice.pick(&comers).cloned();
        match (self.run.dice.below(4), comer) {
            (0..2, Some(queue)) if comers.len() > 2 || self.run.dice.chance(300) => {
                let delete = wire::QueueDelete {
                    queue: queue.as_str().into(),
                    ..Default::default()
                };
                let request = Request::QueueDelete(Box::new(delete));
                self.clients[client].ask(request, Doing::Delete(queue));
            }
            (2, Some(queue)) => {
                let keys = self.run.ledger.keys_of(&queue);
                let Some(key) = self.run.dice.pick(&keys).cloned() else {
                    return;
                };
                let request = unbind(&queue, BOUND, &key);
                let doing = Doing::Unbind(BOUND.to_owned(), queue, key);
                self.clients[client].ask(request, doing);
            }
            _ => {
                self.run.uids += 1;
                let queue = format!("g{}", self.run.uids);
                let key = format!("key {queue}");
                let client = &mut self.clients[client];
                let declare = declare_with_alternate(&queue);
                client.ask(declare, Doing::Declare(queue.clone()));
                let request = bind(&queue, BOUND, &key);
                client.ask(request, Doing::Bind(BOUND.to_owned(), queue, key));
            }
        }
        self.flush(client);
    }

    /// A compaction begins, or comes to its end, or both.
    fn compact(&mut self) -> Result<(), String> {
        if self.is_compacting {
            return Ok(());
        }
        if self.broker().copied.is_none() {
            self.copy()?;
            if self.run.dice.chance(500) {
                return Ok(());
            }
        }
        self.remove()
    }

    fn gather(&mut self) {
        let journal = self.broker().solo.journal();
        let segments = journal.map_or(0, |journal| journal.segments().len());
        if self.burst == 0 && segments >= GATHERED_SEGMENTS {
            self.burst = 40;
        }
    }

    fn copy(&mut self) -> Result<(), String> {
        let solo = self.broker().solo.clone();
        self.is_compacting = true;
        // A life that ends before the segments are removed leaves both copies.
        self.had_doubles = std::mem::replace(&mut self.run.has_doubles, true);
        let copied = {
            let life = RefCell::new(&mut *self);
            compaction::copy(&solo, || life.borrow_mut().meanwhile())
        };
        self.is_compacting = false;
        let copied = copied?;
        self.run.has_doubles = self.had_doubles || copied.is_some();
        self.broker().copied = copied;
        Ok(())
    }

    fn remove(&mut self) -> Result<(), String> {
        let solo = self.broker().solo.clone();
        match self.broker().copied.take() {
            Some(copied) if copied.is_synced(&solo)? => {
                let removed = copied.remove(&solo)?;
                self.run.has_doubles = self.had_doubles || removed == 0;
                self.run.tally.compactions += u64::from(removed > 0);
            }
            not_yet => self.broker().copied = not_yet,
        }
        Ok(())
    }

    /// What happens between two pieces of a compaction. Gives the time.
    fn meanwhile(&mut self) -> Millis {
        while self.wrong.is_none() && self.run.dice.chance(400) {
            self.wrong = self.step().err();
        }
        self.run.now
    }

    fn page(&mut self) -> Result<(), String> {
        let solo = self.broker().solo.clone();
        paging::round(&*solo).map(drop)
    }

    fn inspect(&mut self) -> Result<(), String> {
        self.broker().check_bodies()?;
        if !self.run.has_doubles {
            self.broker().check_live()?;
        }
        Ok(())
    }

    fn consume_all(&mut self) -> Result<(), String> {
        self.declare_all();
        for queue in self.run.ledger.comers() {
            let delete = wire::QueueDelete {
                queue: queue.as_str().into(),
                ..Default::default()
            };
            let request = Request::QueueDelete(Box::new(delete));
            self.clients[0].ask(request, Doing::Delete(queue));
        }
        for branch in self.run.ledger.in_doubt() {
            let is_commit = self.run.dice.chance(500);
            self.clients[0].decide(&branch, is_commit);
        }
        self.flush(0);
        let client = self.connect(false);
        for queue in QUEUES {
            self.clients[client].subscribe(queue, true, u32::MAX);
        }
        loop {
            self.flush(client);
            let now = self.run.now;
            self.broker().rest(now)?;
            if self.look(client, false)? == 0 {
                break;
            }
            let ids: Vec<u32> = self.clients[client].held.keys().copied().collect();
            if !ids.is_empty() {
                self.clients[client].accept(&ids);
            }
        }
        Ok(())
    }

    /// Everything was accepted: what is left of the journal is little.
    fn shrink(&mut self) -> Result<(), String> {
        let solo = self.broker().solo.clone();
        let now = self.run.now;
        let left = solo.read(|core| core.message_facts().count());
        if left > 0 {
            return Err(format!("{left} messages are left after all were accepted"));
        }
        for _ in 0..LAST_ROUNDS {
            self.broker().write_all();
            let Some(copied) = compaction::copy(&solo, || now)? else {
                break;
            };
            self.broker().write_all();
            if !copied.is_synced(&solo)? {
                return Err("what was copied is written and not synced".to_owned());
            }
            copied.remove(&solo)?;
        }
        let segments = solo.journal().map(|journal| journal.segments());
        let segments = segments.unwrap_or_default();
        match segments.len() <= LAST_SEGMENTS {
            true => Ok(()),
            false => Err(format!("the journal has not shrunk: {segments:?}")),
        }
    }
}
