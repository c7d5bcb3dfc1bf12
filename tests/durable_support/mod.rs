//! What tests of durable brokers share: directories that go away, and clients that say what is
//! durable.
#![allow(dead_code, reason = "each test file uses its part")]

pub mod branches;
pub mod plants;

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use ferrymq::client::{Client, Delivery, Flow, Message, Options, Session, unique_name};
use ferrymq::wire::url::Url;
use ferrymq::wire::{
    AcquireMode, Command, DeliveryMode, ExchangeBind, ExchangeDeclare, Map, MessageFlush,
    MessageSubscribe, QueueDeclare, QueueQuery, QueueQueryResult, SequenceSet,
};

use crate::server_support::Broker;

/// A number of the environment: how often a run does what it is for. `usual` without it.
pub fn number(name: &str, usual: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text
            .parse()
            .unwrap_or_else(|_| panic!("{name}={text} is no number")),
        Err(_) => usual,
    }
}

/// An empty place for files that goes away with this.
pub struct Directory(PathBuf);

impl Directory {
    /// Makes one.
    pub fn new() -> Directory {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("durable-{}-{number}", std::process::id());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&path).expect("the target's directory can be written to");
        Directory(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// As an option of the broker.
    pub fn text(&self) -> &str {
        self.0.to_str().expect("it is UTF-8")
    }

    /// Where the segments are.
    pub fn journal(&self) -> PathBuf {
        self.0.join("journal")
    }

    /// The files of the segments, in their order.
    pub fn segments(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.journal()).expect("there is a journal");
        let paths = entries.map(|entry| entry.expect("an entry").path());
        let mut paths: Vec<PathBuf> = paths
            .filter(|path| path.extension().is_some_and(|end| end == "journal"))
            .collect();
        paths.sort();
        paths
    }

    /// Another with the same files.
    pub fn copy(&self) -> Directory {
        let copy = Directory::new();
        copy_all(&self.0, &copy.0);
        copy
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // What a test leaves behind is looked at when it failed and should not have.
        if !std::thread::panicking() || plants::is_planted() {
            let _ = fs::remove_dir_all(&self.0);
        }
    }
}

fn copy_all(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).expect("a directory") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        if entry.file_type().expect("a type").is_dir() {
            fs::create_dir_all(&target).expect("a new directory");
            copy_all(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("a copy");
        }
    }
}

/// A broker that keeps things in `directory`.
pub fn start(directory: &Directory, options: &[&str]) -> Broker {
    let mut all = vec!["--data-dir", directory.text()];
    all.extend(options);
    Broker::start(&all)
}

/// Ends a broker by a signal and waits for its end.
pub fn stop(broker: &mut Broker, signal: &str) {
    broker.signal(signal);
    broker.wait();
}

/// Connects.
pub async fn connect(address: SocketAddr) -> Client {
    let url = Url::parse(&address.to_string()).expect("an address is a URL");
    Client::connect(&url, &Options::default())
        .await
        .expect("the broker lets us in")
}

/// Connects and attaches a session.
pub async fn session(broker: &Broker) -> Session {
    session_at(broker.address()).await
}

/// The same by address.
pub async fn session_at(address: SocketAddr) -> Session {
    let client = connect(address).await;
    let session = client.session(&unique_name("test")).await;
    session.expect("it attaches")
}

/// A durable queue, to be declared as it is or changed before.
pub fn durable_queue(name: &str) -> QueueDeclare {
    QueueDeclare {
        queue: name.into(),
        durable: true,
        ..QueueDeclare::default()
    }
}

/// A durable exchange of a type.
pub fn durable_exchange(name: &str, kind: &str) -> ExchangeDeclare {
    ExchangeDeclare {
        exchange: name.into(),
        r#type: kind.into(),
        durable: true,
        ..ExchangeDeclare::default()
    }
}

/// A binding.
pub fn binding(exchange: &str, queue: &str, key: &str) -> ExchangeBind {
    ExchangeBind {
        queue: queue.into(),
        exchange: exchange.into(),
        binding_key: key.into(),
        arguments: Some(Map::new()),
    }
}

/// Declares a queue and waits for the completion.
pub async fn declare(session: &Session, declare: QueueDeclare) {
    call(session, Command::QueueDeclare(declare)).await;
}

/// Does a command and waits for its completion.
pub async fn call(session: &Session, command: Command) {
    session.call(command).await.expect("it is done");
}

/// A persistent message for the queue, or binding, of this name.
pub fn persistent(key: &str, body: impl Into<Vec<u8>>) -> Message {
    let mut message = Message::new(body.into()).routing_key(key);
    message.delivery.delivery_mode = Some(DeliveryMode::PERSISTENT);
    message
}

/// Publishes persistent messages by the queue's name and waits until all are completed.
pub async fn publish_all(session: &Session, queue: &str, bodies: &[Vec<u8>]) {
    for body in bodies {
        let message = persistent(queue, body.clone());
        session.publish("", &message).await.expect("it is attached");
    }
    session.sync().await.expect("all are completed");
}

/// What a queue says of itself; the name is empty when there is none.
pub async fn query(session: &Session, queue: &str) -> QueueQueryResult {
    let query = QueueQuery {
        queue: queue.into(),
    };
    let answer = session.query(Command::QueueQuery(query)).await;
    answer.expect("an answer")
}

/// The deliveries of all that can be had from a queue; they are acquired and not accepted.
pub async fn take_all(session: &Session, queue: &str) -> Vec<Delivery> {
    read_all(session, queue, AcquireMode::PRE_ACQUIRED).await
}

/// What is in a queue, which stays there.
pub async fn browse(session: &Session, queue: &str) -> Vec<Got> {
    let read = read_all(session, queue, AcquireMode::NOT_ACQUIRED).await;
    read.iter().map(got).collect()
}

async fn read_all(session: &Session, queue: &str, acquire_mode: AcquireMode) -> Vec<Delivery> {
    let subscribe = MessageSubscribe {
        queue: queue.into(),
        destination: unique_name("reader").as_str().into(),
        acquire_mode,
        ..MessageSubscribe::default()
    };
    let subscribed = session.subscribe(subscribe, Flow::Credit).await;
    let mut subscription = subscribed.expect("the queue is there");
    let mut all = Vec::new();
    loop {
        let granted = subscription.grant(10_000, None).await;
        granted.expect("it is attached");
        let destination = subscription.destination().into();
        call(session, Command::MessageFlush(MessageFlush { destination })).await;
        // The flush is completed behind all that it delivered.
        let before = all.len();
        all.extend(std::iter::from_fn(|| subscription.try_next()));
        if all.len() < before + 10_000 {
            break;
        }
    }
    // What was delivered stays the session's own.
    subscription.cancel().await.expect("it is there");
    all
}

/// A delivery as tests compare it: body, and whether it is flagged as redelivered.
pub type Got = (Vec<u8>, bool);

/// The body of a delivery and its flag.
pub fn got(delivery: &Delivery) -> Got {
    let properties = delivery.delivery_properties().expect("a header");
    (delivery.body_bytes().to_vec(), properties.redelivered)
}

/// The ids of deliveries, to be accepted and the like.
pub fn ids<'a>(deliveries: impl IntoIterator<Item = &'a Delivery>) -> SequenceSet {
    let mut set = SequenceSet::new();
    for delivery in deliveries {
        set.insert(delivery.id);
    }
    set
}

/// Accepts deliveries and waits until the broker has forgotten the messages.
pub async fn accept(session: &Session, transfers: SequenceSet) {
    let accepted = session.accept(transfers).await.expect("it is attached");
    accepted.await.expect("it is completed");
}

/// Bodies that can be told apart, `from` first.
pub fn bodies(from: usize, count: usize) -> Vec<Vec<u8>> {
    let body = |number: usize| format!("message {number}").into_bytes();
    (from..from + count).map(body).collect()
}

/// Of deliveries as compared, what a queue that was recovered gives of these bodies.
pub fn redelivered(bodies: &[Vec<u8>]) -> Vec<Got> {
    bodies.iter().map(|body| (body.clone(), true)).collect()
}
