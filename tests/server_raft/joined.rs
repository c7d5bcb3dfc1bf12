//! A member whose disk was lost takes all of the state over, whatever it is: when the one that led is
//! killed after that, everything goes on as it was.

use ferrymq::broker::arguments;
use ferrymq::client::{Delivery, Flow, Message, Session};
use ferrymq::wire::{
    AcquireMode, Command, DeliveryPriority, ExchangeDeclare, ExchangeUnbind, Map, MessageFlush,
    MessageSubscribe, QueueDeclare, Value,
};

use super::faults::kill;
use super::members::{Members, leader};
use crate::durable_support::{
    accept, binding, browse, call, declare, durable_exchange, durable_queue, got, ids, query,
    session, take_all,
};
use crate::server_support::until;

/// Where dead messages go.
const DEAD: &str = "dead";

fn text(value: &str) -> Value {
    Value::Str16(value.into())
}

async fn declare_with(session: &Session, queue: &str, pairs: &[(&str, Value)]) {
    let arguments = pairs.iter().map(|(name, value)| (*name, value.clone()));
    let with = QueueDeclare {
        arguments: Some(Map::from_iter(arguments)),
        ..durable_queue(queue)
    };
    declare(session, with).await;
}

/// Publishes messages whose bodies begin with what is in a header, and waits until all are there.
async fn publish(session: &Session, queue: &str, header: &str, bodies: &[&str]) {
    for body in bodies {
        let message = Message::new(body.as_bytes().to_vec()).routing_key(queue);
        let message = message.application_header(header, text(&body[..1]));
        session.publish("", &message).await.expect("it is attached");
    }
    session.sync().await.expect("all are there");
}

async fn texts(session: &Session, queue: &str) -> Vec<String> {
    let read = browse(session, queue).await.into_iter();
    let texts = read.map(|(body, _)| String::from_utf8(body).expect("text"));
    texts.collect()
}

fn text_of(delivery: &Delivery) -> String {
    String::from_utf8(delivery.body_bytes().to_vec()).expect("text")
}

/// What a subscription is given for so much credit, and the subscription, which stays.
async fn given(
    session: &Session,
    queue: &str,
    acquire_mode: AcquireMode,
    (messages, bytes): (u32, Option<u32>),
) -> Result<(ferrymq::client::Subscription, Vec<Delivery>), ferrymq::client::Error> {
    let subscribe = MessageSubscribe {
        queue: queue.into(),
        destination: ferrymq::client::unique_name("given").as_str().into(),
        acquire_mode,
        ..MessageSubscribe::default()
    };
    let mut subscription = session.subscribe(subscribe, Flow::Credit).await?;
    subscription.grant(messages, bytes).await?;
    let destination = subscription.destination().into();
    call(session, Command::MessageFlush(MessageFlush { destination })).await;
    let all = std::iter::from_fn(|| subscription.try_next()).collect();
    Ok((subscription, all))
}

/// The fewest octets of credit for which the first message of a queue comes.
async fn octets_needed(session: &Session, queue: &str) -> u32 {
    let (mut too_few, mut enough) = (0, 4096);
    while enough - too_few > 1 {
        let between = (too_few + enough) / 2;
        let credit = (1, Some(between));
        let browsed = given(session, queue, AcquireMode::NOT_ACQUIRED, credit).await;
        let (subscription, all) = browsed.expect("the queue is there");
        subscription.cancel().await.expect("it is there");
        match all.is_empty() {
            true => too_few = between,
            false => enough = between,
        }
    }
    enough
}

/// Queues of all kinds, with something in each.
async fn define(session: &Session) {
    declare_with(session, "last", &[(arguments::LAST_VALUE_KEY, text("k"))]).await;
    publish(session, "last", "k", &["a1", "b1", "b2", "c1"]).await;
    assert_eq!(texts(session, "last").await, ["a1", "b2", "c1"]);
    publish(session, "last", "k", &["a2", "a5", "b3"]).await;

    declare_with(
        session,
        "levels",
        &[(arguments::PRIORITIES[0], Value::U32(10))],
    )
    .await;
    for priority in [2, 7, 4, 7] {
        let mut message = Message::new(format!("{priority}")).routing_key("levels");
        message.delivery.priority = Some(DeliveryPriority(priority));
        session.publish("", &message).await.expect("it is attached");
    }

    let groups = [
        (arguments::GROUP_KEY, text("g")),
        (arguments::GROUP_SHARED, Value::U32(1)),
    ];
    declare_with(session, "groups", &groups).await;
    publish(session, "groups", "g", &["a1", "a2", "b1"]).await;

    let ring = [
        (arguments::POLICY_TYPE, text("ring")),
        (arguments::MAX_COUNT, Value::U32(3)),
    ];
    declare_with(session, "ring", &ring).await;
    publish(session, "ring", "n", &["1", "2", "3", "4", "5"]).await;

    declare_with(
        session,
        "numbered",
        &[(arguments::MESSAGE_SEQUENCE, text("n"))],
    )
    .await;
    publish(session, "numbered", "x", &["one", "two"]).await;

    declare(session, durable_queue("held")).await;
    publish(session, "held", "x", &["h1", "h2", "h3", "h4"]).await;
    define_alternates(session).await;
    define_fanned(session).await;
}

/// A queue and an exchange whose messages go elsewhere when nobody takes them.
async fn define_alternates(session: &Session) {
    call(
        session,
        Command::ExchangeDeclare(durable_exchange(DEAD, "fanout")),
    )
    .await;
    declare(session, durable_queue(DEAD)).await;
    call(session, Command::ExchangeBind(binding(DEAD, DEAD, ""))).await;
    let rejecting = QueueDeclare {
        alternate_exchange: Some(DEAD.into()),
        ..durable_queue("rejecting")
    };
    declare(session, rejecting).await;
    publish(session, "rejecting", "x", &["rejected"]).await;
    let exchange = ExchangeDeclare {
        alternate_exchange: Some(DEAD.into()),
        ..durable_exchange("matches nothing", "direct")
    };
    call(session, Command::ExchangeDeclare(exchange)).await;
}

/// A message with a time to live that two queues share.
async fn define_fanned(session: &Session) {
    for queue in ["fanned 1", "fanned 2"] {
        declare(session, durable_queue(queue)).await;
        call(
            session,
            Command::ExchangeBind(binding("amq.fanout", queue, "")),
        )
        .await;
    }
    let mut message = Message::new("to all").routing_key("any");
    message.delivery.ttl = Some(600_000);
    session
        .publish("amq.fanout", &message)
        .await
        .expect("it is attached");
    session.sync().await.expect("it is there");
    for queue in ["fanned 1", "fanned 2"] {
        let unbind = ExchangeUnbind {
            queue: queue.into(),
            exchange: "amq.fanout".into(),
            binding_key: "".into(),
        };
        call(session, Command::ExchangeUnbind(unbind)).await;
    }
}

/// What a session has for itself: an exclusive queue, a group, unaccepted messages, some of which have
/// outlived their time.
async fn hold(session: &Session) -> [Vec<Delivery>; 2] {
    let exclusive = QueueDeclare {
        queue: "mine".into(),
        exclusive: true,
        ..QueueDeclare::default()
    };
    declare(session, exclusive).await;
    let acquired = AcquireMode::PRE_ACQUIRED;
    let of_group = given(session, "groups", acquired, (1, None)).await;
    let (_, of_group) = of_group.expect("the queue is there");
    assert_eq!(of_group.iter().map(text_of).collect::<Vec<_>>(), ["a1"]);
    let held = given(session, "held", acquired, (2, None)).await;
    let (_, held) = held.expect("the queue is there");
    assert_eq!(held.iter().map(text_of).collect::<Vec<_>>(), ["h1", "h2"]);
    declare(session, durable_queue("short")).await;
    for body in ["a", "b"] {
        let mut message = Message::new(body).routing_key("short");
        message.delivery.ttl = Some(50);
        session.publish("", &message).await.expect("it is attached");
        if body == "a" {
            session.sync().await.expect("it is there");
            // Held or gone already: what comes of it must not matter.
            let taken = given(session, "short", acquired, (1, None)).await;
            drop(taken.expect("the queue is there"));
        }
    }
    let browsed = given(session, "short", AcquireMode::NOT_ACQUIRED, (9, None)).await;
    drop(browsed.expect("the queue is there"));
    [of_group, held]
}

/// What kinds of queues promise, on a member that has only taken the state over.
async fn kinds_go_on(fresh: &Session) {
    assert_eq!(texts(fresh, "last").await, ["c1", "a5", "b3"]);
    publish(fresh, "last", "k", &["a6"]).await;
    assert_eq!(texts(fresh, "last").await, ["c1", "b3", "a6"]);

    let taken = take_all(fresh, "levels").await;
    let levels: Vec<String> = taken.iter().map(text_of).collect();
    assert_eq!(levels, ["7", "7", "4", "2"]);

    assert_eq!(texts(fresh, "ring").await, ["3", "4", "5"]);
    publish(fresh, "ring", "n", &["6"]).await;
    assert_eq!(texts(fresh, "ring").await, ["4", "5", "6"]);

    publish(fresh, "numbered", "x", &["three"]).await;
    let taken = take_all(fresh, "numbered").await;
    let numbers: Vec<u64> = taken
        .iter()
        .map(|delivery| {
            let properties = delivery.message_properties().expect("properties");
            let headers = properties.application_headers.expect("headers");
            headers.get("n").and_then(Value::as_u64).expect("a number")
        })
        .collect();
    assert_eq!(numbers, [1, 2, 3]);
}

/// What nobody takes goes where it should.
async fn alternates_go_on(fresh: &Session) {
    let taken = take_all(fresh, "rejecting").await;
    let rejected = fresh.reject(ids(&taken)).await.expect("it is attached");
    rejected.await.expect("it is rejected");
    let message = Message::new("unmatched").routing_key("nowhere");
    let published = fresh.publish("matches nothing", &message).await;
    published.expect("it is attached");
    fresh.sync().await.expect("it is published");
    assert_eq!(texts(fresh, DEAD).await, ["rejected", "unmatched"]);
}

#[tokio::test]
async fn a_member_that_takes_the_state_over_does_with_it_what_the_others_did() {
    let mut members = Members::new(3, &["--cluster-down-after", "1"]);
    let mut brokers = members.start_all();
    let first = leader(&mut brokers);
    let (other, joined) = ((first + 1) % 3, (first + 2) % 3);
    let holder = session(&brokers[other]).await;
    define(&holder).await;
    let [of_group, held] = hold(&holder).await;
    let needed = octets_needed(&holder, "fanned 1").await;

    kill(&mut brokers[joined]);
    members.wipe(joined);
    brokers[joined] = members.start(joined);
    brokers[joined].log_line("learning: none");
    let fresh = session(&brokers[joined]).await;
    kill(&mut brokers[first]);
    let mut found = first;
    until("another leads", || {
        found = leader(&mut brokers);
        found != first
    });

    kinds_go_on(&fresh).await;
    alternates_go_on(&fresh).await;
    for queue in ["fanned 1", "fanned 2"] {
        let browsed = given(&fresh, queue, AcquireMode::NOT_ACQUIRED, (9, None)).await;
        let (_, all) = browsed.expect("the queue is there");
        let [delivery] = &all[..] else {
            panic!("{} in {queue}", all.len());
        };
        let properties = delivery.delivery_properties().expect("a header");
        assert_eq!(properties.exchange.as_deref(), Some("amq.fanout"));
        assert!(properties.ttl.is_some_and(|left| left <= 600_000));
    }
    assert_eq!(octets_needed(&fresh, "fanned 1").await, needed);
    assert_eq!(texts(&fresh, "short").await, Vec::<String>::new());

    // What somebody has for himself, he has.
    let asker = session(&brokers[joined]).await;
    let refused = given(&asker, "mine", AcquireMode::PRE_ACQUIRED, (1, None)).await;
    assert_eq!(
        refused.map(drop).map_err(|error| error.code()),
        Err(Some(405))
    );
    let acquired = AcquireMode::PRE_ACQUIRED;
    let consumer = given(&fresh, "groups", acquired, (9, None)).await;
    let (mut consumer, all) = consumer.expect("the queue is there");
    assert_eq!(all.iter().map(text_of).collect::<Vec<_>>(), ["b1"]);
    accept(&holder, ids(&of_group)).await;
    consumer.grant(9, None).await.expect("it is attached");
    assert_eq!(text_of(&consumer.next().await.expect("it comes")), "a2");

    assert_eq!(query(&fresh, "held").await.message_count, 2);
    assert_eq!(held.len(), 2);
    holder.detach().await.expect("it ends");
    let back: Vec<_> = take_all(&fresh, "held").await.iter().map(got).collect();
    let all = [("h1", true), ("h2", true), ("h3", false), ("h4", false)];
    let all = all.map(|(body, is_flagged)| (body.as_bytes().to_vec(), is_flagged));
    assert_eq!(back, all);
}
