//! Queues deeper than memory, through a broker's process.

mod server_support;

use ferrymq::client::{Client, Flow, Message, Options, Session};
use ferrymq::wire::url::Url;
use ferrymq::wire::{Command, DeliveryMode, MessageSubscribe, QueueDeclare, SequenceSet};
use server_support::Broker;

/// Octets of a body.
const BODY: usize = 4096;

/// Messages: together many times the memory limit.
const MESSAGES: usize = 12_000;

struct Directory(std::path::PathBuf);

impl Directory {
    fn new(name: &str) -> Directory {
        let path = std::env::temp_dir().join(format!("ferrymq-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Directory(path)
    }

    fn start(&self) -> Broker {
        let path = self.0.to_str().expect("a path that is text");
        Broker::start(&["--data-dir", path, "--memory-limit", "2m"])
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

async fn session(broker: &Broker) -> (Client, Session) {
    let url: Url = broker.address().to_string().parse().expect("a URL");
    let client = Client::connect(&url, &Options::default()).await;
    let client = client.expect("it listens");
    let session = client.session("s").await.expect("a session");
    (client, session)
}

fn body(n: usize) -> Vec<u8> {
    let mut body = format!("{n:08}").into_bytes();
    body.resize(BODY, n as u8);
    body
}

async fn fill(session: &Session, durable: bool) {
    let declare = QueueDeclare {
        queue: "deep".into(),
        durable,
        ..QueueDeclare::default()
    };
    let declared = session.call(Command::QueueDeclare(declare)).await;
    declared.expect("a queue");
    for n in 0..MESSAGES {
        let mut message = Message::new(body(n)).routing_key("deep");
        if durable {
            message.delivery.delivery_mode = Some(DeliveryMode::PERSISTENT);
        }
        session.publish("", &message).await.expect("it is taken");
    }
    session.sync().await.expect("all are taken");
}

/// Takes and accepts all, in the order of publishing.
async fn drain(session: &Session, redelivered: bool) {
    let subscribe = MessageSubscribe {
        queue: "deep".into(),
        ..MessageSubscribe::default()
    };
    let subscribed = session.subscribe(subscribe, Flow::Window(500)).await;
    let mut subscription = subscribed.expect("a subscription");
    for n in 0..MESSAGES {
        let delivery = subscription.next().await.expect("a message");
        assert!(delivery.body_bytes() == body(n), "message {n}");
        let properties = delivery.delivery_properties().expect("a header");
        assert_eq!(properties.redelivered, redelivered, "message {n}");
        let accepted = session.accept(SequenceSet::of(delivery.id)).await;
        accepted.expect("it is accepted");
    }
    session.sync().await.expect("all are accepted");
}

#[tokio::test(flavor = "multi_thread")]
async fn transient_queue_deeper_than_memory_keeps_order_and_bodies() {
    let directory = Directory::new("paging-transient");
    let broker = directory.start();
    let (_client, session) = session(&broker).await;
    let before = broker.resident_bytes();
    fill(&session, false).await;
    let grown = broker.resident_bytes().saturating_sub(before);
    let all = (MESSAGES * BODY) as u64;
    assert!(
        grown < all / 2,
        "{grown} octets more for {all} in the queue"
    );
    drain(&session, false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn durable_queue_deeper_than_memory_keeps_order_and_bodies_also_after_a_kill() {
    let directory = Directory::new("paging-durable");
    let broker = directory.start();
    {
        let (_client, session) = session(&broker).await;
        let before = broker.resident_bytes();
        fill(&session, true).await;
        let grown = broker.resident_bytes().saturating_sub(before);
        let all = (MESSAGES * BODY) as u64;
        assert!(
            grown < all / 2,
            "{grown} octets more for {all} in the queue"
        );
    }
    drop(broker);
    let broker = directory.start();
    let all = (MESSAGES * BODY) as u64;
    let resident = broker.resident_bytes();
    assert!(resident < all, "{resident} octets for {all} in the queue");
    let (_client, session) = session(&broker).await;
    drain(&session, true).await;
}
