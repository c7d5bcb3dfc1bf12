//! Dead letters through a broker's process: over a kill, with bodies that are not in memory, and with
//! members that must stay alike.

mod durable_support;
mod server_raft {
    // Of what the tests of members have, some.
    #[allow(dead_code)]
    pub mod members;
}
mod server_support;

use std::sync::atomic::{AtomicU32, Ordering};

use durable_support::Directory;
use ferrymq::client::{Client, Flow, Message, Options, Session};
use ferrymq::wire::url::Url;
use ferrymq::wire::{
    Command, DeliveryMode, ExchangeBind, Map, MessageSubscribe, QueueDeclare, SequenceSet, Value,
};
use server_raft::members::Members;
use server_support::Broker;

/// Octets of a body.
const BODY: usize = 16 * 1024;

/// Messages that a ring holds.
const KEPT: usize = 10;

async fn session(broker: &Broker, member: usize) -> (Client, Session) {
    let address = format!("127.0.0.1:{}", broker.ports[member]);
    let url: Url = address.parse().expect("a URL");
    let client = Client::connect(&url, &Options::default()).await;
    let client = client.expect("it listens");
    // Sessions of one user on all members have names of their own.
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let name = COUNT.fetch_add(1, Ordering::Relaxed).to_string();
    let session = client.session(&name).await.expect("a session");
    (client, session)
}

async fn declare(session: &Session, queue: &str, arguments: Option<Map>) {
    let alternate = arguments.is_some().then(|| "amq.fanout".into());
    let declare = QueueDeclare {
        queue: queue.into(),
        durable: true,
        alternate_exchange: alternate,
        arguments,
        ..QueueDeclare::default()
    };
    let declared = session.call(Command::QueueDeclare(declare)).await;
    declared.expect("a queue");
}

/// A queue with arguments, whose dead letters come to the queue `dead`.
async fn declare_with_dead_letters(session: &Session, arguments: &[(&str, Value)]) {
    declare(session, "dead", None).await;
    let bind = ExchangeBind {
        queue: "dead".into(),
        exchange: "amq.fanout".into(),
        ..ExchangeBind::default()
    };
    let bound = session.call(Command::ExchangeBind(bind)).await;
    bound.expect("a binding");
    let arguments: Map = arguments.iter().cloned().collect();
    declare(session, "q", Some(arguments)).await;
}

async fn publish(session: &Session, number: usize, ttl: Option<u64>) {
    let mut body = format!("{number:08}").into_bytes();
    body.resize(BODY, number as u8);
    let mut message = Message::new(body).routing_key("q");
    message.delivery.delivery_mode = Some(DeliveryMode::PERSISTENT);
    message.delivery.ttl = ttl;
    session.publish("", &message).await.expect("it is taken");
}

/// Takes so many messages from `dead`, in order, and asserts that all of them died for a reason.
async fn take_dead(session: &Session, numbers: std::ops::Range<usize>, reason: &str) {
    let subscribe = MessageSubscribe {
        queue: "dead".into(),
        destination: "dead".into(),
        ..MessageSubscribe::default()
    };
    let subscribed = session.subscribe(subscribe, Flow::Window(500)).await;
    let mut subscription = subscribed.expect("a subscription");
    for number in numbers {
        let delivery = subscription.next().await.expect("a message");
        let body = delivery.body_bytes();
        assert_eq!(body[..8], *format!("{number:08}").as_bytes());
        assert!(body.len() == BODY && body[8..].iter().all(|octet| *octet == number as u8));
        let properties = delivery.message_properties();
        let headers = properties
            .ok()
            .and_then(|properties| properties.application_headers);
        let headers = headers.expect("headers");
        let text = |name: &str| headers.get(name).and_then(Value::as_str);
        assert_eq!(text("x-dead-reason"), Some(reason), "{number}");
        assert_eq!(text("x-dead-queue"), Some("q"), "{number}");
        let accepted = session.accept(SequenceSet::of(delivery.id)).await;
        accepted.expect("it is accepted");
    }
    session.sync().await.expect("all are accepted");
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_that_left_a_ring_are_dead_letters_also_after_a_kill() {
    let directory = Directory::new();
    // Bodies leave the memory, and what is rerouted is fetched to be written again.
    let options = ["--data-dir", directory.text(), "--memory-limit", "1m"];
    let broker = Broker::start(&options);
    let count = 300;
    {
        let (_client, session) = session(&broker, 0).await;
        let ring = [
            ("qpid.policy_type", Value::Str16("ring".into())),
            ("qpid.max_count", Value::U32(KEPT as u32)),
        ];
        declare_with_dead_letters(&session, &ring).await;
        for number in 0..count {
            publish(&session, number, None).await;
        }
        session.sync().await.expect("all are taken");
        broker.signal("KILL");
    }
    drop(broker);
    let broker = Broker::start(&options);
    let (_client, session) = session(&broker, 0).await;
    take_dead(&session, 0..count - KEPT, "OLDEST").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn members_agree_on_what_has_expired() {
    let directory = Directory::new();
    let text = "--group lockstep --lockstep-seed 11 --queue-purge-interval 1 --port 0,0,0";
    let mut options: Vec<&str> = text.split(' ').collect();
    options.extend(["--data-dir", directory.text()]);
    let mut broker = Broker::start_on(&options);
    {
        let (_client, session) = session(&broker, 0).await;
        let marks = [("qpid.dead_letter", Value::Str16("expired".into()))];
        declare_with_dead_letters(&session, &marks).await;
        for number in 0..40 {
            publish(&session, number, Some(1)).await;
        }
        session.sync().await.expect("all are taken");
    }
    let (client, session) = session(&broker, 2).await;
    take_dead(&session, 0..40, "EXPIRED").await;
    drop((client, session));
    broker.signal("TERM");
    assert!(broker.wait().success(), "the members' states are the same");
}

/// Takes the only message of `q`, and does not accept it.
async fn take_one(session: &Session) {
    let subscribe = MessageSubscribe {
        queue: "q".into(),
        destination: "taker".into(),
        ..MessageSubscribe::default()
    };
    let subscribed = session.subscribe(subscribe, Flow::Window(1)).await;
    let mut subscription = subscribed.expect("a subscription");
    subscription.next().await.expect("a message");
}

#[tokio::test(flavor = "multi_thread")]
async fn members_count_deliveries_together_and_over_a_kill() {
    let members = Members::new(3, &[]);
    let mut brokers = members.start_all();
    let (_first, keeper) = session(&brokers[0], 0).await;
    let twice = [("qpid.max_delivery_count", Value::U32(2))];
    declare_with_dead_letters(&keeper, &twice).await;
    publish(&keeper, 0, None).await;
    keeper.sync().await.expect("it is taken");
    let (_second, taker) = session(&brokers[1], 0).await;
    take_one(&taker).await;
    brokers[1].signal("KILL");
    brokers[1].wait();
    let (third, taker) = session(&brokers[2], 0).await;
    take_one(&taker).await;
    drop((third, taker));
    take_dead(&keeper, 0..1, "UNDELIVERABLE").await;
}
