//! Messages: which come back, in what order, with what flag.

use std::time::Duration;

use ferrymq::client::{Message, Session};
use ferrymq::wire::{Command, ExchangeDelete, MessageRelease, QueueDelete, QueuePurge, Value};

use crate::durable_support::*;
use crate::server_support::Broker;

/// Ends a broker by a signal and starts another in its place.
fn restart(broker: &mut Broker, directory: &Directory, signal: &str) {
    stop(broker, signal);
    *broker = start(directory, &[]);
}

/// A durable queue whose rejected and left messages go to the queue "others".
async fn with_alternate(session: &Session, queue: &str) {
    let exchange = durable_exchange("dead", "fanout");
    call(session, Command::ExchangeDeclare(exchange)).await;
    declare(session, durable_queue("others")).await;
    call(
        session,
        Command::ExchangeBind(binding("dead", "others", "")),
    )
    .await;
    let mut declared = durable_queue(queue);
    declared.alternate_exchange = Some("dead".into());
    declare(session, declared).await;
}

#[tokio::test]
async fn persistent_messages_survive_both_ends_in_order_and_flagged() {
    for end in ["KILL", "TERM"] {
        let directory = Directory::new();
        let mut broker = start(&directory, &[]);
        let session = session(&broker).await;
        declare(&session, durable_queue("q")).await;
        let mut sent = bodies(0, 500);
        // One without a body and one larger than any frame.
        sent.push(Vec::new());
        sent.push((0..300_000u32).map(|at| at as u8).collect());
        publish_all(&session, "q", &sent).await;
        assert!(browse(&session, "q").await.iter().all(|(_, flag)| !flag));
        for _ in 0..2 {
            restart(&mut broker, &directory, end);
            let session = self::session(&broker).await;
            assert!(browse(&session, "q").await == redelivered(&sent), "{end}");
        }
        let session = self::session(&broker).await;
        publish_all(&session, "q", &bodies(900, 1)).await;
        let all = browse(&session, "q").await;
        let last = all.last().expect("there are some").clone();
        assert_eq!(last, (bodies(900, 1).remove(0), false), "{end}");
    }
}

#[tokio::test]
async fn headers_survive_as_they_were_published() {
    let directory = Directory::new();
    let mut broker = start(&directory, &[]);
    let session = session(&broker).await;
    declare(&session, durable_queue("q")).await;
    let mut message = persistent("q", "body").application_header("x", Value::I64(7));
    message.delivery.priority = Some(ferrymq::wire::DeliveryPriority::HIGH);
    message.delivery.timestamp = Some(1_234_567);
    message.properties.message_id = Some([7; 16]);
    message.properties.content_type = Some("text/plain".into());
    let published = session.publish("", &message).await.expect("attached");
    published.await.expect("it is enqueued");
    let before = take_all(&session, "q").await.remove(0);
    restart(&mut broker, &directory, "KILL");

    let session = self::session(&broker).await;
    let after = take_all(&session, "q").await.remove(0);
    assert_eq!(after.message_properties(), before.message_properties());
    let mut expected = before.delivery_properties().expect("a header");
    expected.redelivered = true;
    assert_eq!(after.delivery_properties(), Ok(expected));
}

#[tokio::test]
async fn what_is_not_persistent_or_not_in_a_durable_queue_does_not_survive() {
    for end in ["KILL", "TERM"] {
        let directory = Directory::new();
        let mut broker = start(&directory, &[]);
        let session = session(&broker).await;
        declare(&session, durable_queue("long")).await;
        let mut short = durable_queue("short");
        short.durable = false;
        declare(&session, short.clone()).await;
        for queue in ["long", "short"] {
            let bind = binding("amq.fanout", queue, "");
            call(&session, Command::ExchangeBind(bind)).await;
        }
        let transient = Message::new("transient").routing_key("long");
        session.publish("", &transient).await.expect("attached");
        publish_all(&session, "short", &bodies(0, 3)).await;
        let both = persistent("", "both");
        session
            .publish("amq.fanout", &both)
            .await
            .expect("attached");
        session.sync().await.expect("all are completed");
        assert_eq!(browse(&session, "long").await.len(), 2);
        restart(&mut broker, &directory, end);

        let session = self::session(&broker).await;
        let both = (b"both".to_vec(), true);
        assert_eq!(browse(&session, "long").await, [both], "{end}");
        declare(&session, short).await;
        assert_eq!(browse(&session, "short").await, [], "{end}");
    }
}

#[tokio::test]
async fn accepted_messages_do_not_come_back_and_delivered_ones_do() {
    let directory = Directory::new();
    let mut broker = start(&directory, &[]);
    let session = session(&broker).await;
    declare(&session, durable_queue("q")).await;
    let sent = bodies(0, 100);
    publish_all(&session, "q", &sent).await;
    let taken = take_all(&session, "q").await;
    assert_eq!(taken.len(), 100);
    // One by one, a range, a set with holes; the rest is delivered and nothing else.
    for one in &taken[..10] {
        accept(&session, ids([one])).await;
    }
    accept(&session, ids(&taken[20..40])).await;
    accept(&session, ids(taken[50..70].iter().step_by(2))).await;
    let mut left: Vec<_> = sent[10..20].to_vec();
    left.extend_from_slice(&sent[40..50]);
    left.extend(sent[50..70].iter().skip(1).step_by(2).cloned());
    left.extend_from_slice(&sent[70..]);
    restart(&mut broker, &directory, "KILL");

    let session = self::session(&broker).await;
    assert_eq!(browse(&session, "q").await, redelivered(&left));
    let taken = take_all(&session, "q").await;
    accept(&session, ids(&taken)).await;
    restart(&mut broker, &directory, "KILL");

    let session = self::session(&broker).await;
    assert_eq!(browse(&session, "q").await, []);
}

#[tokio::test]
async fn messages_sent_without_accept_are_gone_once_delivered() {
    let directory = Directory::new();
    let mut broker = start(&directory, &[]);
    let session = session(&broker).await;
    declare(&session, durable_queue("q")).await;
    publish_all(&session, "q", &bodies(0, 20)).await;
    let subscribe = ferrymq::wire::MessageSubscribe {
        queue: "q".into(),
        accept_mode: ferrymq::wire::AcceptMode::NONE,
        ..Default::default()
    };
    let subscribed = session.subscribe(subscribe, ferrymq::client::Flow::Credit);
    let mut subscription = subscribed.await.expect("the queue is there");
    subscription.grant(5, None).await.expect("attached");
    for body in bodies(0, 5) {
        let delivery = subscription.next().await.expect("a delivery");
        assert_eq!(got(&delivery), (body, false));
    }
    restart(&mut broker, &directory, "KILL");

    let session = self::session(&broker).await;
    assert_eq!(browse(&session, "q").await, redelivered(&bodies(5, 15)));
}

#[tokio::test]
async fn purged_messages_do_not_come_back() {
    let directory = Directory::new();
    let mut broker = start(&directory, &[]);
    let session = session(&broker).await;
    declare(&session, durable_queue("q")).await;
    publish_all(&session, "q", &bodies(0, 50)).await;
    let acquired = take_all(&session, "q").await;
    publish_all(&session, "q", &bodies(50, 50)).await;
    let release = MessageRelease {
        transfers: ids(&acquired[..10]),
        set_redelivered: false,
    };
    call(&session, Command::MessageRelease(release)).await;
    let purge = QueuePurge { queue: "q".into() };
    call(&session, Command::QueuePurge(purge)).await;
    publish_all(&session, "q", &bodies(100, 1)).await;
    restart(&mut broker, &directory, "KILL");

    // What a session had acquired was not purged.
    let session = self::session(&broker).await;
    let mut left = bodies(10, 40);
    left.extend(bodies(100, 1));
    assert_eq!(browse(&session, "q").await, redelivered(&left));
}

#[tokio::test]
async fn committed_transactions_survive_whole_and_open_ones_leave_nothing() {
    let directory = Directory::new();
    let mut broker = start(&directory, &[]);
    let session = session(&broker).await;
    for queue in ["from", "to", "aside"] {
        declare(&session, durable_queue(queue)).await;
    }
    publish_all(&session, "from", &bodies(0, 10)).await;
    let transactional = session_at(broker.address()).await;
    transactional.tx_select().await.expect("it is selected");
    let taken = take_all(&transactional, "from").await;
    // Committed: takes 0 to 4, brings them to two queues.
    accept(&transactional, ids(&taken[..5])).await;
    for queue in ["to", "aside"] {
        publish_all(&transactional, queue, &bodies(0, 5)).await;
    }
    transactional.tx_commit().await.expect("it is committed");
    // Rolled back.
    accept(&transactional, ids(&taken[5..7])).await;
    publish_all(&transactional, "to", &bodies(5, 2)).await;
    transactional
        .tx_rollback()
        .await
        .expect("it is rolled back");
    // Open at the end.
    accept(&transactional, ids(&taken[5..])).await;
    publish_all(&transactional, "to", &bodies(5, 5)).await;
    restart(&mut broker, &directory, "KILL");

    let session = self::session(&broker).await;
    let moved = redelivered(&bodies(0, 5));
    assert_eq!(browse(&session, "to").await, moved);
    assert_eq!(browse(&session, "aside").await, moved);
    assert_eq!(browse(&session, "from").await, redelivered(&bodies(5, 5)));
}

#[tokio::test]
async fn time_to_live_goes_on_while_the_broker_is_down() {
    let directory = Directory::new();
    let mut broker = start(&directory, &[]);
    let session = session(&broker).await;
    with_alternate(&session, "q").await;
    let ttl = |milliseconds: u64, body: &str| {
        let mut message = persistent("q", body);
        message.delivery.ttl = Some(milliseconds);
        message
    };
    for _ in 0..100 {
        let message = ttl(2_000, "short");
        session.publish("", &message).await.expect("attached");
    }
    session
        .publish("", &ttl(600_000, "long"))
        .await
        .expect("attached");
    publish_all(&session, "q", &bodies(0, 1)).await;
    stop(&mut broker, "KILL");
    // Longer than the short ones have to live, whatever had passed before.
    tokio::time::sleep(Duration::from_millis(2_100)).await;

    let mut broker = start(&directory, &[]);
    let session = self::session(&broker).await;
    let taken = take_all(&session, "q").await;
    let left: Vec<_> = taken.iter().map(got).collect();
    let expected = [b"long".to_vec(), b"message 0".to_vec()];
    assert_eq!(left, redelivered(&expected));
    let long = taken[0].delivery_properties().expect("a header");
    let ttl = long.ttl.expect("it has one");
    assert!(
        (1..=597_900).contains(&ttl),
        "{ttl} ms are left of 10 minutes"
    );
    // They are dropped as when the broker runs: not to the alternate exchange.
    assert_eq!(browse(&session, "others").await, []);
    restart(&mut broker, &directory, "KILL");
    let session = self::session(&broker).await;
    assert_eq!(browse(&session, "q").await.len(), 2);
    assert_eq!(query(&session, "q").await.message_count, 2);
    assert_eq!(browse(&session, "others").await, []);
}

#[tokio::test]
async fn rejected_messages_are_at_the_alternate_exchange_once() {
    let directory = Directory::new();
    let mut broker = start(&directory, &[]);
    let session = session(&broker).await;
    with_alternate(&session, "q").await;
    declare(&session, durable_queue("without")).await;
    publish_all(&session, "q", &bodies(0, 30)).await;
    publish_all(&session, "without", &bodies(0, 3)).await;
    let taken = take_all(&session, "q").await;
    let rejected = session.reject(ids(&taken[..20])).await.expect("attached");
    rejected.await.expect("they are rejected");
    let taken = take_all(&session, "without").await;
    let rejected = session.reject(ids(&taken[..2])).await.expect("attached");
    rejected.await.expect("they are rejected");
    restart(&mut broker, &directory, "KILL");

    let session = self::session(&broker).await;
    assert_eq!(browse(&session, "q").await, redelivered(&bodies(20, 10)));
    assert_eq!(
        browse(&session, "others").await,
        redelivered(&bodies(0, 20))
    );
    assert_eq!(
        browse(&session, "without").await,
        redelivered(&bodies(2, 1)),
        "nobody takes what is rejected there"
    );
}

#[tokio::test]
async fn a_deleted_queue_is_gone_and_its_messages_are_at_the_alternate_exchange_once() {
    let directory = Directory::new();
    let mut broker = start(&directory, &[]);
    let session = session(&broker).await;
    with_alternate(&session, "q").await;
    // More than one entry of the order reroutes.
    let sent = bodies(0, 5_000);
    publish_all(&session, "q", &sent).await;
    let delete = QueueDelete {
        queue: "q".into(),
        ..QueueDelete::default()
    };
    call(&session, Command::QueueDelete(delete)).await;
    for _ in 0..3 {
        restart(&mut broker, &directory, "KILL");
    }

    let session = self::session(&broker).await;
    assert_eq!(query(&session, "q").await.queue, "");
    until_count(&session, "others", 5_000).await;
    // Those that the last start has routed on are flagged as the others: all were recovered.
    assert!(browse(&session, "others").await == redelivered(&sent));
    // Nobody needs the exchange any more.
    let delete = ExchangeDelete {
        exchange: "dead".into(),
        ..ExchangeDelete::default()
    };
    call(&session, Command::ExchangeDelete(delete)).await;
    restart(&mut broker, &directory, "KILL");
    let session = self::session(&broker).await;
    assert!(browse(&session, "others").await == redelivered(&sent));
}

/// Rerouting goes on after the start, in entries of its own.
async fn until_count(session: &Session, queue: &str, count: u32) {
    for _ in 0..2_000 {
        if query(session, queue).await.message_count == count {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let found = query(session, queue).await.message_count;
    panic!("{queue} has {found} messages and should have {count}");
}

#[tokio::test]
async fn a_message_refused_as_too_big_is_absent_after_a_restart() {
    let directory = Directory::new();
    let mut broker = start(&directory, &["--journal-file-size", "64k"]);
    let session = session(&broker).await;
    let mut queue = durable_queue("q");
    let most = Value::U32(200_000);
    queue.arguments = Some([("qpid.max_size", most)].into_iter().collect());
    declare(&session, queue).await;
    declare(&session, durable_queue("free")).await;
    publish_all(&session, "q", &bodies(0, 3)).await;
    let big = persistent("q", vec![7; 300_000]);
    let published = session.publish("", &big).await.expect("attached");
    let refused = published.await.expect_err("it is too big");
    assert_eq!(refused.code(), Some(506), "{refused}");
    // Another takes it, though it is larger than a file of the journal.
    let session = self::session(&broker).await;
    publish_all(&session, "free", &[vec![7; 300_000]]).await;
    publish_all(&session, "q", &bodies(3, 3)).await;
    restart(&mut broker, &directory, "KILL");

    let session = self::session(&broker).await;
    assert_eq!(browse(&session, "q").await, redelivered(&bodies(0, 6)));
    assert_eq!(
        browse(&session, "free").await,
        redelivered(&[vec![7; 300_000]])
    );
}

#[tokio::test]
async fn a_message_in_several_queues_leaves_each_for_itself() {
    let directory = Directory::new();
    let mut broker = start(&directory, &[]);
    let session = session(&broker).await;
    for queue in ["a", "b", "c"] {
        declare(&session, durable_queue(queue)).await;
        let bind = binding("amq.fanout", queue, "");
        call(&session, Command::ExchangeBind(bind)).await;
    }
    for body in bodies(0, 10) {
        let message = persistent("", body);
        session
            .publish("amq.fanout", &message)
            .await
            .expect("attached");
    }
    session.sync().await.expect("all are completed");
    let taken = take_all(&session, "a").await;
    accept(&session, ids(&taken)).await;
    let taken = take_all(&session, "b").await;
    accept(&session, ids(&taken[..4])).await;
    restart(&mut broker, &directory, "KILL");

    let session = self::session(&broker).await;
    assert_eq!(browse(&session, "a").await, []);
    assert_eq!(browse(&session, "b").await, redelivered(&bodies(4, 6)));
    assert_eq!(browse(&session, "c").await, redelivered(&bodies(0, 10)));
}

#[tokio::test]
async fn messages_sent_after_a_restart_are_not_taken_for_those_that_have_left() {
    let directory = Directory::new();
    let mut broker = start(&directory, &[]);
    let session = session(&broker).await;
    declare(&session, durable_queue("q")).await;
    publish_all(&session, "q", &bodies(0, 20)).await;
    let taken = take_all(&session, "q").await;
    accept(&session, ids(&taken)).await;
    restart(&mut broker, &directory, "KILL");

    let session = self::session(&broker).await;
    publish_all(&session, "q", &bodies(20, 10)).await;
    restart(&mut broker, &directory, "KILL");

    let session = self::session(&broker).await;
    assert_eq!(browse(&session, "q").await, redelivered(&bodies(20, 10)));
}
