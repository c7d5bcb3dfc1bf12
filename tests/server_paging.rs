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
        Broker::start(&["--data-dir", path, "--memory-limit", "8m"])
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

/// Octets of the pages' files.
fn page_bytes(directory: &Directory) -> u64 {
    let files = std::fs::read_dir(directory.0.join("pages/journal")).expect("there are pages");
    let bytes = files.filter_map(|file| Some(file.ok()?.metadata().ok()?.len()));
    bytes.sum()
}

async fn declare(session: &Session, queue: &str) {
    let declare = QueueDeclare {
        queue: queue.into(),
        ..QueueDeclare::default()
    };
    let declared = session.call(Command::QueueDeclare(declare)).await;
    declared.expect("a queue");
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_a_queue_that_stays_do_not_keep_those_of_one_that_went() {
    let directory = Directory::new("paging-sparse");
    let path = directory.0.to_str().expect("a path that is text");
    let options = ["--data-dir", path, "--memory-limit", "1m"];
    let small = ["--journal-file-size", "256k"];
    let broker = Broker::start(&[&options[..], &small].concat());
    let (_client, session) = session(&broker).await;
    declare(&session, "stays").await;
    declare(&session, "deep").await;
    // One in sixteen stays: each file has some.
    let stays: Vec<usize> = (0..MESSAGES).step_by(16).collect();
    for n in 0..MESSAGES {
        let queue = if n % 16 == 0 { "stays" } else { "deep" };
        let message = Message::new(body(n)).routing_key(queue);
        session.publish("", &message).await.expect("it is taken");
    }
    session.sync().await.expect("all are taken");
    server_support::until("most bodies are in the pages", || {
        page_bytes(&directory) > (MESSAGES * BODY / 2) as u64
    });
    let purge = ferrymq::wire::QueuePurge {
        queue: "deep".into(),
    };
    let purged = session.call(Command::QueuePurge(purge)).await;
    purged.expect("it is purged");
    // Twice what is needed, and a few files.
    let most = 2 * (stays.len() * (BODY + 128)) as u64 + 8 * 256 * 1024;
    server_support::until("the room of the pages is given back", || {
        page_bytes(&directory) <= most
    });
    let subscribe = MessageSubscribe {
        queue: "stays".into(),
        ..MessageSubscribe::default()
    };
    let subscribed = session.subscribe(subscribe, Flow::Window(500)).await;
    let mut subscription = subscribed.expect("a subscription");
    for n in stays {
        let delivery = subscription.next().await.expect("a message");
        assert!(delivery.body_bytes() == body(n), "message {n}");
        let accepted = session.accept(SequenceSet::of(delivery.id)).await;
        accepted.expect("it is accepted");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_was_damaged_loses_its_message_and_no_other() {
    let directory = Directory::new("paging-damaged");
    let mut broker = directory.start();
    let (client, mut session) = session(&broker).await;
    fill(&session, false).await;
    // Somewhere in the middle of a file that is written.
    let files = std::fs::read_dir(directory.0.join("pages/journal")).expect("there are pages");
    let paths = files.map(|file| file.expect("a file").path());
    let is_segment =
        |path: &std::path::PathBuf| path.extension().is_some_and(|end| end == "journal");
    let first = paths.filter(is_segment).min().expect("a segment");
    let file = std::fs::OpenOptions::new().write(true).open(&first);
    let file = file.expect("it is ours");
    std::os::unix::fs::FileExt::write_all_at(&file, &[0xAA; 300], 2_000_000).expect("written");
    let subscribe = || MessageSubscribe {
        queue: "deep".into(),
        ..MessageSubscribe::default()
    };
    let (mut found, mut failures) = (std::collections::BTreeSet::new(), Vec::new());
    for attempt in 0..3 {
        let subscribed = session.subscribe(subscribe(), Flow::Window(500)).await;
        let mut subscription = subscribed.expect("a subscription");
        while found.len() + failures.len() < MESSAGES {
            let delivery = match subscription.next().await {
                Ok(delivery) => delivery,
                Err(error) => {
                    failures.push(error);
                    break;
                }
            };
            let octets = delivery.body_bytes();
            let n: usize = std::str::from_utf8(&octets[..8])
                .expect("a number")
                .parse()
                .expect("a number");
            assert!(octets == body(n), "message {n}");
            found.insert(n);
            // Of a session that has just failed it comes to nothing, and the message comes again.
            let _ = session.accept(SequenceSet::of(delivery.id)).await;
        }
        let name = format!("again {attempt}");
        session = client.session(&name).await.expect("a session");
    }
    // It may be the end of one and the beginning of the next.
    assert_eq!(found.len() + failures.len(), MESSAGES);
    assert!((1..=2).contains(&failures.len()), "{failures:?}");
    assert_eq!(failures[0].code(), Some(541), "{}", failures[0]);
    let line = broker.log_line("is lost");
    let name = first
        .file_name()
        .expect("a name")
        .to_string_lossy()
        .into_owned();
    for part in ["queue deep, message ", &name, " at offset "] {
        assert!(line.contains(part), "{line}");
    }
    assert!(broker.is_running());
}
