//! A publisher and a consumer that know nothing of lost connections.

use std::time::Duration;

use ferrymq::client::{Client, Flow, Message, Options, Session, unique_name};
use ferrymq::wire::url::Url;
use ferrymq::wire::{
    AcceptMode, Command, MessageSubscribe, QueueDeclare, QueueQuery, QueueQueryResult, SequenceSet,
};
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::durable_support::got;

/// Messages of a run.
const MESSAGES: u32 = 1500;

/// Messages between two confirmations that the publisher waits for.
const BATCH: u32 = 50;

/// Messages of which a run is in the middle.
const AMID: usize = 300;

/// How long a run may take at most: far longer than it does.
const PATIENCE: Duration = Duration::from_secs(240);

/// A client that looks for its broker for long when it has lost it.
pub async fn client_of(url: &Url) -> Client {
    let options = Options {
        reconnect_timeout: Duration::from_secs(60),
        ..Options::default()
    };
    loop {
        // A line may be cut before the connection is open.
        if let Ok(client) = Client::connect(url, &options).await {
            return client;
        }
    }
}

async fn session(url: &Url) -> Session {
    loop {
        let client = client_of(url).await;
        let name = unique_name("resumed");
        // Nor is there a session to go on with before it has its timeout.
        let attached = client.session_with_timeout(&name, Duration::from_secs(60));
        if let Ok(session) = attached.await {
            assert!(session.timeout() > Duration::ZERO);
            return session;
        }
    }
}

async fn publish(session: Session) {
    for first in (0..MESSAGES).step_by(BATCH as usize) {
        let mut completions = Vec::new();
        for n in first..first + BATCH {
            let message = Message::new(n.to_string().into_bytes()).routing_key("q");
            let sent = session.publish("", &message).await;
            completions.push(sent.expect("the session goes on"));
        }
        for completion in completions {
            completion.await.expect("it is completed");
        }
        // An answer that was lost on the way comes again, before its question is known to be done.
        let query = Command::QueueQuery(QueueQuery { queue: "q".into() });
        let queue: QueueQueryResult = session.query(query).await.expect("an answer");
        assert_eq!(queue.queue, "q");
    }
}

/// Messages as they came, with their flags.
async fn consume(session: Session, accept_mode: AcceptMode, amid: &Notify) -> Vec<(u32, bool)> {
    let subscribe = MessageSubscribe {
        queue: "q".into(),
        accept_mode,
        ..MessageSubscribe::default()
    };
    let subscribed = session.subscribe(subscribe, Flow::Window(70)).await;
    let mut subscription = subscribed.expect("it subscribes");
    let mut all = Vec::new();
    while all.len() < MESSAGES as usize {
        let delivery = subscription.next().await.expect("the session goes on");
        let (body, is_redelivered) = got(&delivery);
        let text = String::from_utf8(body).expect("a number");
        all.push((text.parse().expect("a number"), is_redelivered));
        if accept_mode == AcceptMode::EXPLICIT {
            let accepted = session.accept(SequenceSet::of(delivery.id)).await;
            accepted.expect("the session goes on");
        }
        if all.len() == AMID {
            amid.notify_one();
        }
    }
    session.sync().await.expect("all is accepted");
    // More would come now if anything came twice.
    assert_eq!(subscription.try_next(), None);
    all
}

/// Publishes and consumes, and checks that all has arrived once and in order.
pub async fn run(url: &Url, accept_mode: AcceptMode) {
    run_and_tell(url, accept_mode, &Notify::new()).await;
}

/// The same; tells when it is in the middle of it.
pub async fn run_and_tell(url: &Url, accept_mode: AcceptMode, amid: &Notify) {
    timeout(PATIENCE, run_in_time(url, accept_mode, amid))
        .await
        .expect("it ends in time");
}

async fn run_in_time(url: &Url, accept_mode: AcceptMode, amid: &Notify) {
    let publisher = session(url).await;
    let declare = QueueDeclare {
        queue: "q".into(),
        ..Default::default()
    };
    let declared = publisher.call(Command::QueueDeclare(declare)).await;
    declared.expect("it declares");
    let consumer = session(url).await;
    let publishing = publish(publisher.clone());
    let ((), consumed) = tokio::join!(publishing, consume(consumer.clone(), accept_mode, amid));
    let expected: Vec<(u32, bool)> = (0..MESSAGES).map(|n| (n, false)).collect();
    assert_eq!(consumed, expected);
    consumer.detach().await.expect("it detaches");
    let query = Command::QueueQuery(QueueQuery { queue: "q".into() });
    let left: QueueQueryResult = publisher.query(query).await.expect("an answer");
    assert_eq!((left.message_count, left.subscriber_count), (0, 0));
}
