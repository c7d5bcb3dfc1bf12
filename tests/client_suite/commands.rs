//! Commands, completions, results, exceptions.

use std::future::Future;
use std::task::{Context, Poll, Waker};

use ferrymq::client::{Error, Message};
use ferrymq::wire::{
    Command, ErrorCode, MessageTransfer, QueueDeclare, QueueQuery, QueueQueryResult, TxSelect,
};

use crate::broker::{Manners, attached, joined};

fn message(n: usize) -> Message {
    Message::new(format!("body {n}")).routing_key("q")
}

fn query(queue: &str) -> Command {
    Command::QueueQuery(QueueQuery {
        queue: queue.into(),
    })
}

#[tokio::test]
async fn a_pipelined_command_completes_without_a_sync_of_the_caller() {
    let (session, seen) = attached(Manners::default()).await;
    let completion = session.publish("", &message(0)).await.unwrap();
    completion.await.unwrap();
    assert_eq!(seen.lock().queues["q"].len(), 1);
}

#[tokio::test]
async fn many_thousand_messages_go_through_one_pipeline() {
    let (session, seen) = attached(Manners::default()).await;
    let mut completions = Vec::new();
    for n in 0..30_000 {
        completions.push(session.publish("", &message(n)).await.unwrap());
    }
    for completion in completions {
        completion.await.unwrap();
    }
    session.sync().await.unwrap();
    let seen = seen.lock();
    assert_eq!(seen.queues["q"].len(), 30_000);
    let bodies = seen.queues["q"]
        .iter()
        .map(|(_, body)| body.as_ref().unwrap().concat());
    assert!(
        bodies
            .enumerate()
            .all(|(n, body)| body == format!("body {n}").as_bytes())
    );
}

#[tokio::test]
async fn completions_that_nobody_awaits_cost_nothing() {
    let (session, seen) = attached(Manners::default()).await;
    for n in 0..20_000 {
        session.publish("", &message(n)).await.unwrap();
    }
    session.sync().await.unwrap();
    assert_eq!(seen.lock().queues["q"].len(), 20_000);
}

#[tokio::test]
async fn a_sender_waits_when_too_much_is_incomplete() {
    let (session, _) = attached(Manners {
        lazy: true,
        ..Manners::default()
    })
    .await;
    let mut sent = 0;
    loop {
        let message = message(sent);
        let mut publish = Box::pin(session.publish("", &message));
        // Give the task and the broker every chance before concluding that it waits.
        let mut turns = 0;
        let ready = loop {
            let mut context = Context::from_waker(Waker::noop());
            match publish.as_mut().poll(&mut context) {
                Poll::Ready(result) => break Some(result),
                Poll::Pending if turns > 2_000 => break None,
                Poll::Pending => {
                    turns += 1;
                    tokio::task::yield_now().await;
                }
            }
        };
        match ready {
            Some(result) => drop(result.unwrap()),
            None => break,
        }
        sent += 1;
    }
    assert_eq!(sent, ferrymq::client::limits::INCOMPLETE_MAX);
}

#[tokio::test]
async fn queries_return_their_results() {
    let (session, _) = attached(Manners::default()).await;
    for n in 0..3 {
        session.publish("", &message(n)).await.unwrap();
    }
    let found: QueueQueryResult = session.query(query("q")).await.unwrap();
    assert_eq!((found.queue.as_str(), found.message_count), ("q", 3));
    let other: QueueQueryResult = session.query(query("other")).await.unwrap();
    assert_eq!(other.message_count, 0);
}

#[tokio::test]
async fn a_query_without_a_result_is_an_error() {
    let (session, _) = attached(Manners::default()).await;
    let declare = Command::QueueDeclare(QueueDeclare {
        queue: "q".into(),
        ..Default::default()
    });
    assert_eq!(
        session.query::<QueueQueryResult>(declare).await,
        Err(Error::NoResult)
    );
}

#[tokio::test]
async fn a_failed_command_ends_its_session_with_the_exception() {
    let (client, seen) = joined(Manners::default()).await;
    let session = client.session("s").await.unwrap();
    let good = session.publish("", &message(0)).await.unwrap();
    session.sync().await.unwrap();
    let bad = session.publish("nowhere", &message(1)).await.unwrap();
    let error = bad.await.unwrap_err();
    let Error::Exception(exception) = &error else {
        panic!("{error:?}")
    };
    assert_eq!(exception.error_code, ErrorCode::NOT_FOUND);
    assert_eq!(error.code(), Some(404));
    assert!(error.to_string().contains("failed for the test"), "{error}");
    good.await.unwrap();
    // Everything later fails alike; another session of the connection does not.
    assert_eq!(session.sync().await, Err(error.clone()));
    assert_eq!(session.publish("", &message(2)).await.err(), Some(error));
    client.session("s").await.unwrap().sync().await.unwrap();
    assert_eq!(seen.lock().queues["q"].len(), 1);
}

#[tokio::test]
async fn an_old_handle_does_not_reach_the_session_that_took_its_channel() {
    let (client, seen) = joined(Manners::default()).await;
    let old = client.session("old").await.unwrap();
    old.tx_commit().await.unwrap_err();
    let new = client.session("new").await.unwrap();
    old.tx_select().await.unwrap_err();
    new.sync().await.unwrap();
    assert!(
        !seen
            .lock()
            .commands
            .contains(&Command::TxSelect(TxSelect {}))
    );
}

#[tokio::test]
async fn transactions_are_asked_for_and_their_failure_is_told() {
    let (session, _) = attached(Manners::default()).await;
    session.tx_select().await.unwrap();
    session.tx_rollback().await.unwrap();
    assert_eq!(session.tx_commit().await.unwrap_err().code(), Some(503));
}

#[tokio::test]
async fn detach_waits_for_what_was_sent_before() {
    let (client, seen) = joined(Manners::default()).await;
    let session = client.session("s").await.unwrap();
    let completion = session.publish("", &message(0)).await.unwrap();
    session.detach().await.unwrap();
    completion.await.unwrap();
    assert_eq!(seen.lock().queues["q"].len(), 1);
    client.session("s").await.unwrap().sync().await.unwrap();
}

#[tokio::test]
async fn content_may_be_passed_on_as_it_is_or_left_out() {
    let (session, seen) = attached(Manners::default()).await;
    let transfer = MessageTransfer::default();
    session
        .forward(transfer, None, None)
        .await
        .unwrap()
        .await
        .unwrap();
    assert_eq!(seen.lock().queues[""][0], (None, None));
}

#[tokio::test]
async fn large_messages_pass_unchanged() {
    let (session, seen) = attached(Manners::default()).await;
    let body: Vec<u8> = (0..1_048_577_u32).map(|n| (n / 7) as u8).collect();
    let text = "x".repeat(60_000);
    let mut message = Message::new(body.clone()).routing_key("q");
    for key in ["a", "b", "c", "d"] {
        message = message.application_header(key, text.as_str());
    }
    session.publish("", &message).await.unwrap().await.unwrap();
    let (_, sent) = seen.lock().queues["q"][0].clone();
    assert!(sent.unwrap().concat() == body);
}
