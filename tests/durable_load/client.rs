//! The load: publishers and consumers of every kind, each on a connection of its own, until the
//! broker is gone, or with several members, until the load is told to stop.

use std::net::SocketAddr;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use ferrymq::client::{Client, Delivery, Error, Flow, Options, Session, Subscription, unique_name};
use ferrymq::cluster::lockstep::dice::Dice;
use ferrymq::protocol::ClosedBy;
use ferrymq::wire::url::Url;
use ferrymq::wire::{
    CloseCode, Command, DeliveryMode, ExchangeBind, ExchangeUnbind, Map, MessageSubscribe,
    QueueDeclare, QueueDelete, SequenceSet,
};
use parking_lot::Mutex;
use tokio::task::JoinSet;

use super::ledger::{Ledger, Line, Uid};
use super::{BRANCHED, DEFINED, FAN, FANNED, QUEUES, branches, queues_of};

/// Messages that may be sent to the queues and not delivered before publishers pause: the judge
/// reads all that is left after each end.
const AHEAD_MAX: u64 = 3_000;

/// How many confirmations lie between two lines of progress.
const PROGRESS_STEP: u64 = 250;

/// For how many lives of the broker one message in [`SLOW_PART`] of a queue stays unaccepted.
const SLOW_LIVES: u32 = 3;
const SLOW_PART: u32 = 40;

/// Work in a group whose sessions go on over lost connections, at any member: it never ends by itself.
const GOES_ON: [&str; 7] = [
    "accepts ranges q1",
    "accepts ahead f1",
    "single q3",
    "batches fan",
    "transactions",
    "branches",
    "definitions",
];

/// How long such a session outlives its connection, and how long a member is looked for: far longer than
/// all of them are gone.
const GOES_ON_FOR: Duration = Duration::from_secs(120);

/// Seconds between two heartbeats of such a client: a member that is frozen does not close its
/// connections.
const HEARTBEAT: u16 = 1;

/// How long a session of a group is given to detach.
const DETACH_SECONDS_MAX: u64 = 20;

/// What all tasks share.
struct Shared {
    ledger: Ledger,
    life: u32,
    /// The broker's, or those of a group's members.
    addresses: Vec<SocketAddr>,
    /// Sessions so far: each goes to the next of the addresses.
    sessions_made: AtomicUsize,
    /// Whether the sessions made now are to go on over lost connections.
    goes_on: AtomicBool,
    /// All sessions of a group, to be detached at the end.
    sessions: Mutex<Vec<Session>>,
    /// Completions seen: of transfers and of what commits bring.
    confirmed: AtomicU64,
    /// Messages in queues and not delivered, more or less.
    ahead: AtomicU64,
    transactions: AtomicU32,
    /// Whether the broker is gone.
    is_over: AtomicBool,
}

impl Shared {
    fn confirmed(&self, count: u64) {
        let before = self.confirmed.fetch_add(count, Ordering::Relaxed);
        let after = before + count;
        if before / PROGRESS_STEP != after / PROGRESS_STEP {
            println!("confirmed {after}");
        }
    }

    fn transaction(&self) -> u32 {
        self.transactions.fetch_add(1, Ordering::Relaxed) + 1
    }

    async fn session(&self) -> Result<Session, Error> {
        let made = self.sessions_made.fetch_add(1, Ordering::Relaxed);
        // Another life of the load has other members for the same tasks.
        let at = (made + self.life as usize) % self.addresses.len();
        let session = match self.goes_on.load(Ordering::Relaxed) {
            true => self.session_that_goes_on(at).await?,
            false => {
                let url = Url::parse(&self.addresses[at].to_string()).expect("an address is a URL");
                let client = Client::connect(&url, &Options::default()).await?;
                client.session(&unique_name("load")).await?
            }
        };
        if self.is_group() {
            self.sessions.lock().push(session.clone());
        }
        Ok(session)
    }

    /// One that begins at a member, and knows the others.
    async fn session_that_goes_on(&self, first: usize) -> Result<Session, Error> {
        let (before, from) = self.addresses.split_at(first);
        let all: Vec<String> = from
            .iter()
            .chain(before)
            .map(SocketAddr::to_string)
            .collect();
        let url = Url::parse(&all.join(",")).expect("addresses are a URL");
        let options = Options {
            reconnect_timeout: GOES_ON_FOR,
            heartbeat: HEARTBEAT,
            ..Options::default()
        };
        let client = Client::connect(&url, &options).await?;
        let name = unique_name("goes on");
        let session = client.session_with_timeout(&name, GOES_ON_FOR).await?;
        assert!(session.timeout() > Duration::ZERO, "no timeout was granted");
        Ok(session)
    }

    fn is_group(&self) -> bool {
        self.addresses.len() > 1
    }
}

/// What it says when all its tasks are there.
pub const BEGUN: &str = "begun";

/// Loads a broker until it is gone, or the members of a group until standard input ends. Progress
/// goes to standard output; the last line is `end`. `backlog` messages are in the queues already.
pub fn run(
    addresses: Vec<SocketAddr>,
    ledger: &Path,
    life: u32,
    backlog: u64,
    seed: u64,
) -> ExitCode {
    let shared = Arc::new(Shared {
        ledger: Ledger::append_to(ledger).expect("the ledger can be written"),
        life,
        addresses,
        sessions_made: AtomicUsize::new(0),
        goes_on: AtomicBool::new(false),
        sessions: Mutex::default(),
        confirmed: AtomicU64::new(0),
        ahead: AtomicU64::new(backlog),
        transactions: AtomicU32::new(0),
        is_over: AtomicBool::new(false),
    });
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    let failed = runtime.block_on(load(&shared, seed));
    shared.ledger.flush();
    println!("confirmed {}", shared.confirmed.load(Ordering::Relaxed));
    for error in &failed {
        eprintln!("client: {error}");
    }
    println!("end");
    match failed.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

/// Errors of tasks that ended otherwise than by the end of the broker.
async fn load(shared: &Arc<Shared>, seed: u64) -> Vec<String> {
    let mut tasks = JoinSet::new();
    let mut failed = Vec::new();
    match start(shared, seed, &mut tasks).await {
        Ok(()) => println!("{BEGUN}"),
        Err(error) if is_end_of_broker(&error) => {}
        Err(error) => failed.push(format!("while it started: {error}")),
    }
    if shared.is_group() {
        let shared = shared.clone();
        std::thread::spawn(move || {
            // Whatever it says, its end is meant.
            let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
            shared.is_over.store(true, Ordering::Relaxed);
        });
    }
    loop {
        let ended = tokio::select! {
            () = until_over(shared), if shared.is_group() => break,
            ended = tasks.join_next() => match ended {
                Some(ended) => ended,
                None if shared.is_group() => {
                    until_over(shared).await;
                    break;
                }
                None => break,
            },
        };
        if !shared.is_group() {
            // With one connection all have ended, or are about to.
            shared.is_over.store(true, Ordering::Relaxed);
        }
        match ended {
            Ok((name, Err(error)))
                if is_end_of_broker(&error) && !(shared.is_group() && GOES_ON.contains(&name)) => {}
            Ok((name, Err(error))) => failed.push(format!("{name}: {error}")),
            Ok((name, Ok(()))) => failed.push(format!("{name}: ended by itself")),
            Err(error) => failed.push(format!("a task panicked: {error}")),
        }
    }
    tasks.shutdown().await;
    detach(shared).await;
    failed
}

async fn until_over(shared: &Shared) {
    while !shared.is_over.load(Ordering::Relaxed) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Ends the sessions that are left: when they are detached, what they did not accept is back.
async fn detach(shared: &Shared) {
    let sessions = std::mem::take(&mut *shared.sessions.lock());
    for session in sessions {
        let patience = Duration::from_secs(DETACH_SECONDS_MAX);
        // One that has lost its connection cannot be detached.
        let _ = tokio::time::timeout(patience, session.detach()).await;
    }
}

/// Connects one after the other: brokers keep few waiting.
async fn start(
    shared: &Arc<Shared>,
    seed: u64,
    tasks: &mut JoinSet<(&'static str, Result<(), Error>)>,
) -> Result<(), Error> {
    let random = |n: u64| Dice::new(seed ^ (n << 32));
    macro_rules! task {
        ($name:literal, $run:expr) => {{
            let goes_on = shared.is_group() && GOES_ON.contains(&$name);
            shared.goes_on.store(goes_on, Ordering::Relaxed);
            let run = $run;
            tasks.spawn(async move { ($name, run.await) });
        }};
    }
    let consumer = |queue| Consumer::new(shared, queue, false);
    task!("accepts one by one", consumer("q0").await?.singly());
    task!("accepts ranges q1", consumer("q1").await?.ranges());
    task!("accepts ranges q3", consumer("q3").await?.ranges());
    task!("accepts ranges f0", consumer(FANNED[0]).await?.ranges());
    task!("accepts ahead f1", consumer(FANNED[1]).await?.ahead());
    let producer = |number, queue| Producer::new(shared, number, queue);
    task!("single q0", producer(1, "q0").await?.one_by_one());
    task!("single q3", producer(2, "q3").await?.one_by_one());
    task!("batches q1", producer(3, "q1").await?.in_batches(100));
    task!("batches fan", producer(4, FAN).await?.in_batches(30));
    task!("transactions", {
        producer(5, "q2").await?.in_transactions(random(5))
    });
    task!("moves", {
        let consumer = Consumer::new(shared, QUEUES[2], true).await?;
        run_moves(consumer, producer(6, QUEUES[3]).await?, random(6))
    });
    task!("batches b0", producer(7, BRANCHED).await?.in_batches(20));
    task!("branches", {
        let consumer = Consumer::new(shared, BRANCHED, false).await?;
        run_branches(consumer, producer(8, QUEUES[3]).await?, random(8))
    });
    task!("definitions", {
        let session = shared.session().await?;
        define(shared.clone(), session, random(7))
    });
    Ok(())
}

/// A broker that is killed says nothing; a member that has lost the others may say so.
fn is_end_of_broker(error: &Error) -> bool {
    match error {
        Error::Io { .. } => true,
        Error::Closed { by, code, .. } => {
            *by == ClosedBy::Lost || *code == CloseCode::CONNECTION_FORCED
        }
        _ => false,
    }
}

/// Sends messages to one target.
struct Producer {
    shared: Arc<Shared>,
    producer: u32,
    target: &'static str,
    number: u32,
    session: Session,
}

impl Producer {
    async fn new(
        shared: &Arc<Shared>,
        producer: u32,
        target: &'static str,
    ) -> Result<Producer, Error> {
        Ok(Producer {
            session: shared.session().await?,
            shared: shared.clone(),
            producer,
            target,
            number: 0,
        })
    }

    async fn pause_when_ahead(&self) {
        let is_over = || self.shared.is_over.load(Ordering::Relaxed);
        while self.shared.ahead.load(Ordering::Relaxed) > AHEAD_MAX && !is_over() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    /// Sends one; the completion says when it is done.
    async fn send(
        &mut self,
        target: &'static str,
        tx: u32,
    ) -> Result<(Uid, ferrymq::client::Completion), Error> {
        self.number += 1;
        let uid = Uid {
            life: self.shared.life,
            producer: self.producer,
            number: self.number,
        };
        let sent = Line::Sent {
            uid,
            target: target.to_owned(),
            tx,
        };
        self.shared.ledger.write([sent]);
        if tx == 0 {
            self.count(target);
        }
        let mut message = ferrymq::client::Message::new(uid.body()).routing_key(target);
        message.delivery.delivery_mode = Some(DeliveryMode::PERSISTENT);
        let exchange = if target == FAN { FAN } else { "" };
        let completion = self.session.publish(exchange, &message).await?;
        Ok((uid, completion))
    }

    fn count(&self, target: &str) {
        let copies = queues_of(target).len() as u64;
        self.shared.ahead.fetch_add(copies, Ordering::Relaxed);
    }

    async fn one_by_one(mut self) -> Result<(), Error> {
        loop {
            self.pause_when_ahead().await;
            let (uid, completion) = self.send(self.target, 0).await?;
            completion.await?;
            self.shared.ledger.write([Line::Completed { uid }]);
            self.shared.confirmed(1);
        }
    }

    /// Batches that one `execution.sync` confirms.
    async fn in_batches(mut self, count: usize) -> Result<(), Error> {
        loop {
            self.pause_when_ahead().await;
            let mut sent = Vec::with_capacity(count);
            for _ in 0..count {
                sent.push(self.send(self.target, 0).await?);
            }
            // When it fails, single ones may have been completed all the same.
            let synced = self.session.sync().await;
            for (uid, completion) in sent {
                if completion.await.is_ok() {
                    self.shared.ledger.write([Line::Completed { uid }]);
                    self.shared.confirmed(1);
                }
            }
            synced?;
        }
    }

    /// Transactions of twenty, over two queues, some rolled back.
    async fn in_transactions(mut self, mut random: Dice) -> Result<(), Error> {
        self.session.tx_select().await?;
        loop {
            self.pause_when_ahead().await;
            let tx = self.shared.transaction();
            for n in 0..20 {
                let queue = if n % 3 == 0 { "q3" } else { self.target };
                self.send(queue, tx).await?;
            }
            if random.below(6) == 0 {
                self.shared.ledger.write([Line::RolledBack { tx }]);
                self.session.tx_rollback().await?;
                continue;
            }
            self.shared.ledger.write([Line::CommitSent { tx }]);
            (0..20).for_each(|_| self.count("q2"));
            self.session.tx_commit().await?;
            self.shared.ledger.write([Line::Committed { tx }]);
            self.shared.confirmed(20);
        }
    }
}

/// Takes messages of a queue.
struct Consumer {
    shared: Arc<Shared>,
    queue: &'static str,
    session: Session,
    subscription: Subscription,
}

impl Consumer {
    async fn new(
        shared: &Arc<Shared>,
        queue: &'static str,
        is_transactional: bool,
    ) -> Result<Consumer, Error> {
        let session = shared.session().await?;
        if is_transactional {
            session.tx_select().await?;
        }
        let subscribe = MessageSubscribe {
            queue: queue.into(),
            ..MessageSubscribe::default()
        };
        let subscription = session.subscribe(subscribe, Flow::Window(200)).await?;
        Ok(Consumer {
            shared: shared.clone(),
            queue,
            session,
            subscription,
        })
    }

    async fn next(&mut self) -> Result<Delivery, Error> {
        let delivery = self.subscription.next().await?;
        self.note(&delivery)?;
        Ok(delivery)
    }

    /// One, and what is here besides, to a number.
    async fn some(&mut self, most: usize) -> Result<Vec<Delivery>, Error> {
        let mut all = vec![self.next().await?];
        while all.len() < most
            && let Some(delivery) = self.subscription.try_next()
        {
            self.note(&delivery)?;
            all.push(delivery);
        }
        Ok(all)
    }

    fn note(&self, delivery: &Delivery) -> Result<(), Error> {
        let redelivered = delivery.delivery_properties()?.redelivered;
        let delivered = Line::Delivered {
            uid: uid_of(delivery),
            queue: self.queue.to_owned(),
            redelivered,
        };
        self.shared.ledger.write([delivered]);
        let less = |ahead: u64| Some(ahead.saturating_sub(1));
        let ahead = &self.shared.ahead;
        let _ = ahead.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        Ok(())
    }

    /// Whether a message is to stay where it is for some lives.
    fn is_slow(&self, delivery: &Delivery) -> bool {
        let uid = uid_of(delivery);
        uid.number.is_multiple_of(SLOW_PART) && uid.life + SLOW_LIVES > self.shared.life
    }

    fn lines<'a>(
        &'a self,
        deliveries: &'a [Delivery],
        line: impl Fn(Uid, String) -> Line + 'a,
    ) -> impl Iterator<Item = Line> + 'a {
        let line = move |delivery| line(uid_of(delivery), self.queue.to_owned());
        deliveries.iter().map(line)
    }

    async fn accept(
        &self,
        deliveries: &[Delivery],
        tx: u32,
    ) -> Result<ferrymq::client::Completion, Error> {
        let sent = |uid, queue| Line::AcceptSent { uid, queue, tx };
        self.shared.ledger.write(self.lines(deliveries, sent));
        let mut transfers = SequenceSet::new();
        for delivery in deliveries {
            transfers.insert(delivery.id);
        }
        self.session.accept(transfers).await
    }

    fn accepted(&self, deliveries: &[Delivery]) {
        let accepted = |uid, queue| Line::Accepted { uid, queue };
        self.shared.ledger.write(self.lines(deliveries, accepted));
    }
}

/// What a delivery is; every octet of it has to be right.
fn uid_of(delivery: &Delivery) -> Uid {
    let body = delivery.body_bytes();
    Uid::of_body(&body).unwrap_or_else(|| {
        let start = &body[..body.len().min(40)];
        panic!("nobody sent a body of {} octets with {start:?}", body.len())
    })
}

impl Consumer {
    async fn singly(mut self) -> Result<(), Error> {
        loop {
            let one = [self.next().await?];
            if self.is_slow(&one[0]) {
                continue;
            }
            self.accept(&one, 0).await?.await?;
            self.accepted(&one);
        }
    }

    async fn ranges(mut self) -> Result<(), Error> {
        loop {
            let mut some = self.some(50).await?;
            some.retain(|delivery| !self.is_slow(delivery));
            self.accept(&some, 0).await?.await?;
            self.accepted(&some);
        }
    }

    /// Sends up to ten accepts before it looks for completions.
    async fn ahead(mut self) -> Result<(), Error> {
        loop {
            let mut waiting = Vec::new();
            for one in self.some(10).await? {
                if !self.is_slow(&one) {
                    let accepting = self.accept(std::slice::from_ref(&one), 0).await?;
                    waiting.push((one, accepting));
                }
            }
            let mut ended = Ok(());
            for (one, accepting) in waiting {
                match accepting.await {
                    Ok(_) => self.accepted(&[one]),
                    Err(error) => ended = Err(error),
                }
            }
            ended?;
        }
    }
}

/// Moves messages from one queue to another, in transactions.
async fn run_moves(
    mut consumer: Consumer,
    mut producer: Producer,
    mut random: Dice,
) -> Result<(), Error> {
    // Both in one session.
    producer.session = consumer.session.clone();
    let shared = producer.shared.clone();
    loop {
        let some = consumer.some(10).await?;
        loop {
            let tx = shared.transaction();
            consumer.accept(&some, tx).await?;
            for _ in 0..3 {
                producer.send(producer.target, tx).await?;
            }
            if random.below(5) == 0 {
                // What was accepted stays with the session and is accepted again.
                shared.ledger.write([Line::RolledBack { tx }]);
                consumer.session.tx_rollback().await?;
                continue;
            }
            shared.ledger.write([Line::CommitSent { tx }]);
            (0..3).for_each(|_| producer.count(producer.target));
            consumer.session.tx_commit().await?;
            shared.ledger.write([Line::Committed { tx }]);
            shared.confirmed(3);
            break;
        }
    }
}

/// Moves messages from one queue to another, in branches of distributed transactions.
async fn run_branches(
    consumer: Consumer,
    mut producer: Producer,
    random: Dice,
) -> Result<(), Error> {
    // Both in one session.
    producer.session = consumer.session.clone();
    branches::select(&consumer.session).await?;
    let mut branches = BranchWork {
        consumer,
        producer,
        random,
    };
    loop {
        branches.next().await?;
    }
}

struct BranchWork {
    consumer: Consumer,
    producer: Producer,
    random: Dice,
}

impl BranchWork {
    async fn next(&mut self) -> Result<(), Error> {
        let is_rolled_back = self.random.below(5) == 0;
        // What a branch accepted that is rolled back would be delivered again in the same life.
        let some = match is_rolled_back {
            true => Vec::new(),
            false => self.consumer.some(10).await?,
        };
        let shared = self.producer.shared.clone();
        let tx = shared.transaction();
        let (name, session) = (
            branches::name(shared.life, tx),
            self.consumer.session.clone(),
        );
        branches::start(&session, &name).await?;
        if !some.is_empty() {
            self.consumer.accept(&some, tx).await?;
        }
        for _ in 0..3 {
            self.producer.send(self.producer.target, tx).await?;
        }
        branches::end(&session, &name).await?;
        let is_one_phase = self.random.below(5) == 0;
        if !is_one_phase {
            shared.ledger.write([Line::PrepareSent { tx }]);
            branches::prepare(&session, &name).await?;
            shared.ledger.write([Line::Prepared { tx }]);
            shared.confirmed(1);
            // Most of its time a branch is prepared, so that an end finds it so.
            tokio::time::sleep(Duration::from_millis(self.random.below(20))).await;
        }
        if is_rolled_back {
            shared.ledger.write([Line::RolledBack { tx }]);
            branches::roll_back(&session, &name).await?;
            shared.ledger.write([Line::RollbackCompleted { tx }]);
            return Ok(());
        }
        shared.ledger.write([Line::CommitSent { tx }]);
        (0..3).for_each(|_| self.producer.count(self.producer.target));
        branches::commit(&session, &name, is_one_phase).await?;
        shared.ledger.write([Line::Committed { tx }]);
        shared.confirmed(3);
        Ok(())
    }
}

/// Declares, binds and deletes queues.
async fn define(shared: Arc<Shared>, session: Session, mut random: Dice) -> Result<(), Error> {
    for number in 0.. {
        let queue = format!("d{}.{number}", shared.life);
        shared.ledger.write([Line::DeclareSent {
            queue: queue.clone(),
        }]);
        let declare = QueueDeclare {
            queue: queue.as_str().into(),
            durable: true,
            ..QueueDeclare::default()
        };
        session.call(Command::QueueDeclare(declare)).await?;
        let bind = ExchangeBind {
            queue: queue.as_str().into(),
            exchange: DEFINED.into(),
            binding_key: queue.as_str().into(),
            arguments: Some(Map::new()),
        };
        session.call(Command::ExchangeBind(bind)).await?;
        shared.ledger.write([Line::Declared {
            queue: queue.clone(),
        }]);
        // Few stay: each start of the broker asks for every one of them.
        if random.below(10) > 0 {
            delete(&shared, &session, &queue).await?;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}

async fn delete(shared: &Shared, session: &Session, queue: &str) -> Result<(), Error> {
    shared.ledger.write([Line::DeleteSent {
        queue: queue.to_owned(),
    }]);
    let unbind = ExchangeUnbind {
        queue: queue.into(),
        exchange: DEFINED.into(),
        binding_key: queue.into(),
    };
    session.call(Command::ExchangeUnbind(unbind)).await?;
    let delete = QueueDelete {
        queue: queue.into(),
        ..QueueDelete::default()
    };
    session.call(Command::QueueDelete(delete)).await?;
    shared.ledger.write([Line::Deleted {
        queue: queue.to_owned(),
    }]);
    Ok(())
}
