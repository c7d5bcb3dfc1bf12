//! Deliveries, credit and settlement.

use ferrymq::client::{Error, Flow, Message, Session, Subscription};
use ferrymq::protocol::ClosedBy;
use ferrymq::wire::{AcceptMode, CommandId, MessageSubscribe, SequenceSet, Value};

use crate::broker::{Manners, Shared, attached};

async fn publish(session: &Session, count: usize) {
    for n in 0..count {
        let message = Message::new(format!("{n}"))
            .routing_key("q")
            .application_header("n", n as i64);
        session.publish("", &message).await.unwrap();
    }
    session.sync().await.unwrap();
}

fn to(queue: &str) -> MessageSubscribe {
    MessageSubscribe {
        queue: queue.into(),
        ..MessageSubscribe::default()
    }
}

async fn subscribed(flow: Flow, messages: usize) -> (Session, Subscription, Shared) {
    let (session, seen) = attached(Manners::default()).await;
    publish(&session, messages).await;
    let subscription = session.subscribe(to("q"), flow).await.unwrap();
    (session, subscription, seen)
}

#[tokio::test]
async fn a_window_lets_all_messages_through_in_order_and_few_at_a_time() {
    for window in [1, 2, 10, 1_000] {
        let (_session, mut subscription, seen) = subscribed(Flow::Window(window), 500).await;
        for n in 0..500_i64 {
            let delivery = subscription.next().await.unwrap();
            assert_eq!(delivery.body_bytes(), n.to_string().as_bytes());
            let headers = delivery
                .message_properties()
                .unwrap()
                .application_headers
                .unwrap();
            assert_eq!(headers.get("n"), Some(&Value::I64(n)));
            let routing_key = delivery.delivery_properties().unwrap().routing_key;
            assert_eq!(routing_key.as_deref(), Some("q"));
        }
        assert!(
            seen.lock().unread_max <= i64::from(window),
            "window {window}"
        );
    }
}

#[tokio::test]
async fn credit_is_spent_and_not_renewed() {
    let (session, mut subscription, seen) = subscribed(Flow::Credit, 10).await;
    session.sync().await.unwrap();
    assert_eq!(subscription.try_next(), None);
    subscription.grant(3, None).await.unwrap();
    session.sync().await.unwrap();
    for _ in 0..3 {
        subscription.next().await.unwrap();
    }
    session.sync().await.unwrap();
    assert_eq!(subscription.try_next(), None);
    assert_eq!(seen.lock().queues["q"].len(), 7);
}

#[tokio::test]
async fn accepted_and_released_transfers_are_told() {
    let (session, mut subscription, seen) = subscribed(Flow::Window(100), 10).await;
    let mut ids = Vec::new();
    for _ in 0..10 {
        ids.push(subscription.next().await.unwrap().id);
    }
    let mut accepted = SequenceSet::new();
    ids[..6].iter().for_each(|id| assert!(accepted.insert(*id)));
    let mut released = SequenceSet::new();
    ids[6..].iter().for_each(|id| assert!(released.insert(*id)));
    session
        .accept(accepted.clone())
        .await
        .unwrap()
        .await
        .unwrap();
    session
        .release(released.clone(), true)
        .await
        .unwrap()
        .await
        .unwrap();
    assert_eq!(seen.lock().accepted, accepted);
    assert_eq!(seen.lock().released, released);
}

#[tokio::test]
async fn transfers_taken_are_completed_even_without_a_window() {
    let (session, mut subscription, seen) = subscribed(Flow::Credit, 5).await;
    subscription.grant(5, None).await.unwrap();
    let mut taken = SequenceSet::new();
    for _ in 0..5 {
        taken.insert(subscription.next().await.unwrap().id);
    }
    session.detach().await.unwrap();
    assert_eq!(seen.lock().completed, taken);
}

#[tokio::test]
async fn cancel_gives_unread_messages_back() {
    let (session, mut subscription, seen) = subscribed(Flow::Window(8), 20).await;
    let first = subscription.next().await.unwrap().id;
    subscription.cancel().await.unwrap();
    session.sync().await.unwrap();
    let seen = seen.lock();
    assert!(!seen.released.contains(first));
    let released = seen.released.id_count() as usize;
    assert_eq!(seen.queues["q"].len() + released, 19);
    assert!(released >= 7, "{released}");
}

#[tokio::test]
async fn messages_to_a_dropped_subscription_are_released_not_lost() {
    let (session, subscription, seen) = subscribed(Flow::Window(5), 0).await;
    drop(subscription);
    publish(&session, 3).await;
    while seen.lock().released.id_count() < 3 {
        session.sync().await.unwrap();
    }
}

#[tokio::test]
async fn a_refused_subscription_is_an_error_with_its_code() {
    let (session, _) = attached(Manners::default()).await;
    let error = session
        .subscribe(to("missing"), Flow::Window(1))
        .await
        .err();
    assert_eq!(error.and_then(|error| error.code()), Some(404));
}

#[tokio::test]
async fn a_subscription_ends_with_its_session_after_what_came_before() {
    let (session, mut subscription, _) = subscribed(Flow::Window(10), 3).await;
    session.sync().await.unwrap();
    let failure = session.tx_commit().await.unwrap_err();
    for _ in 0..3 {
        subscription.next().await.unwrap();
    }
    assert_eq!(subscription.next().await, Err(failure));
}

#[tokio::test]
async fn a_broker_that_ignores_credit_is_closed_on() {
    let (session, _) = attached(Manners {
        pushy: true,
        ..Manners::default()
    })
    .await;
    publish(&session, 50).await;
    let mut subscription = session.subscribe(to("q"), Flow::Window(4)).await;
    let error = loop {
        match &mut subscription {
            Ok(subscription) => {
                session.sync().await.ok();
                if let Err(error) = subscription.next().await {
                    break error;
                }
            }
            Err(error) => break error.clone(),
        }
    };
    assert!(
        matches!(
            error,
            Error::Closed {
                by: ClosedBy::Us,
                ..
            }
        ),
        "{error:?}"
    );
}

#[tokio::test]
async fn two_subscriptions_of_a_session_are_told_apart() {
    let (session, _) = attached(Manners::default()).await;
    for queue in ["a", "b", "a", "b"] {
        session
            .publish("", &Message::new(queue).routing_key(queue))
            .await
            .unwrap();
    }
    let mut a = session.subscribe(to("a"), Flow::Window(10)).await.unwrap();
    let mut b = session.subscribe(to("b"), Flow::Window(10)).await.unwrap();
    for _ in 0..2 {
        assert_eq!(a.next().await.unwrap().body_bytes(), "a");
        assert_eq!(b.next().await.unwrap().body_bytes(), "b");
    }
}

#[tokio::test]
async fn accept_mode_none_needs_no_settlement() {
    let (session, seen) = attached(Manners::default()).await;
    publish(&session, 2).await;
    let subscribe = MessageSubscribe {
        accept_mode: AcceptMode::NONE,
        ..to("q")
    };
    let mut subscription = session.subscribe(subscribe, Flow::Window(1)).await.unwrap();
    let delivery = subscription.next().await.unwrap();
    assert_eq!(delivery.transfer.accept_mode, Some(AcceptMode::NONE));
    subscription.next().await.unwrap();
    subscription.cancel().await.unwrap();
    assert!(!seen.lock().released.contains(CommandId(0)));
}
