//! What one member is told, all have.

use ferrymq::wire::Command;

use super::members::{Members, ended_well};
use crate::durable_support::{
    accept, bodies, browse, durable_queue, got, ids, publish_all, query, session, take_all,
};
use crate::durable_support::{declare, persistent};

#[tokio::test]
async fn what_is_published_on_one_member_is_consumed_on_another_in_order() {
    let members = Members::new(3, &[]);
    let brokers = members.start_all();
    let (sender, receiver) = (session(&brokers[0]).await, session(&brokers[2]).await);
    declare(&sender, durable_queue("q")).await;
    let sent = bodies(0, 100);
    publish_all(&sender, "q", &sent).await;
    let taken = take_all(&receiver, "q").await;
    let received: Vec<_> = taken.iter().map(got).collect();
    let expected: Vec<_> = sent.iter().map(|body| (body.clone(), false)).collect();
    assert_eq!(received, expected);
    accept(&receiver, ids(&taken)).await;
    let third = session(&brokers[1]).await;
    assert_eq!(query(&third, "q").await.message_count, 0);
}

#[tokio::test]
async fn a_transaction_is_seen_on_other_members_when_it_is_committed() {
    let members = Members::new(3, &[]);
    let brokers = members.start_all();
    let (sender, other) = (session(&brokers[0]).await, session(&brokers[1]).await);
    declare(&sender, durable_queue("q")).await;
    sender.tx_select().await.expect("it is attached");
    for body in bodies(0, 3) {
        let published = sender.publish("", &persistent("q", body)).await;
        published.expect("it is attached");
    }
    sender.sync().await.expect("all are done");
    assert_eq!(browse(&other, "q").await, []);
    sender.tx_commit().await.expect("it is committed");
    assert_eq!(browse(&other, "q").await.len(), 3);
    let published = sender.publish("", &persistent("q", "no")).await;
    published.expect("it is attached");
    sender.tx_rollback().await.expect("it is rolled back");
    assert_eq!(browse(&other, "q").await.len(), 3);
}

#[tokio::test]
async fn an_exception_reaches_the_client_whose_command_it_was() {
    let members = Members::new(3, &[]);
    let brokers = members.start_all();
    let asker = session(&brokers[1]).await;
    let delete = ferrymq::wire::QueueDelete {
        queue: "none".into(),
        ..Default::default()
    };
    let refused = asker.call(Command::QueueDelete(delete)).await;
    assert_eq!(refused.map_err(|error| error.code()), Err(Some(404)));
}

#[tokio::test]
async fn members_that_end_say_the_same_of_their_state() {
    let members = Members::new(3, &[]);
    let mut brokers = members.start_all();
    let client = session(&brokers[0]).await;
    declare(&client, durable_queue("q")).await;
    publish_all(&client, "q", &bodies(0, 50)).await;
    brokers[0].signal("TERM");
    ended_well(&mut brokers[0]);
    let line = brokers[0].log_line("ends; the state at entry");
    let (_, said) = line.split_once("Member ").expect("who it is");
    let said = said.to_owned();
    brokers[1].log_line(&said);
    brokers[2].log_line(&said);
    let line = brokers[0].log_line("raft: member");
    assert!(line.contains("served 1 connections"), "{line}");
}
