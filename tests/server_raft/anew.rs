//! A group whose majority lost its disks for good: what an operator can do with what is left.

use std::process::{Command, Output};

use super::faults::kill;
use super::members::{Members, ended_well};
use crate::durable_support::{
    Directory, accept, bodies, browse, declare, durable_queue, got, ids, publish_all, query,
    redelivered, session, take_all,
};
use crate::server_support::Broker;

/// Asks for a new beginning of the store in a directory.
fn begin_anew(directory: &Directory, more: &[&str]) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_ferrymq"))
        .args(["journal", "begin-anew", "--data-dir", directory.text()])
        .args(more)
        .output();
    output.expect("it was built")
}

fn text(octets: &[u8]) -> String {
    String::from_utf8_lossy(octets).into_owned()
}

/// Three members with messages, of which some are at a client's, are killed, and two of them lose their
/// disks. Gives one of the disks, too: it turns up later.
async fn lost(members: &mut Members) -> Directory {
    let mut brokers = members.start_all();
    let client = session(&brokers[1]).await;
    declare(&client, durable_queue("q")).await;
    publish_all(&client, "q", &bodies(0, 10)).await;
    let taken = take_all(&client, "q").await;
    accept(&client, ids(&taken[..4])).await;
    // What is at a client of the first is not accepted yet when all are killed.
    for broker in &mut brokers {
        kill(broker);
    }
    let old = members.directories[1].copy();
    members.wipe(1);
    members.wipe(2);
    old
}

async fn bodies_left(broker: &Broker) -> Vec<(Vec<u8>, bool)> {
    browse(&session(broker).await, "q").await
}

#[tokio::test]
async fn one_store_becomes_a_new_group_that_the_others_join_and_old_stores_do_not() {
    let mut members = Members::new(3, &["--cluster-down-after", "1"]);
    let old = lost(&mut members).await;
    let asked = begin_anew(&members.directories[0], &[]);
    assert_eq!(asked.status.code(), Some(2), "{asked:?}");
    let said = text(&asked.stdout);
    assert!(
        said.contains("1 queues") && said.contains("--lose-what-others-had"),
        "{said}"
    );
    let mut waits = members.launch(0);
    waits.log_line("No quorum");
    // As long as a broker has it, nothing is done.
    let meant = ["--lose-what-others-had", "--json"];
    let refused = begin_anew(&members.directories[0], &meant);
    assert!(!refused.status.success(), "{refused:?}");
    kill(&mut waits);
    let begun = begin_anew(&members.directories[0], &meant);
    assert!(begun.status.success(), "{begun:?}");
    let told: serde_json::Value = serde_json::from_slice(&begun.stdout).expect("JSON");
    let kept = told["begun"]["old_store"].as_str().expect("a path");
    assert!(std::path::Path::new(kept).is_dir(), "{told}");
    let mut brokers: Vec<Broker> = (0..3).map(|n| members.launch(n)).collect();
    for (member, broker) in brokers.iter_mut().enumerate() {
        members.serves(member, broker);
    }
    // The session of the old group has ended: its messages are back, in place and flagged.
    let expected = redelivered(&bodies(4, 6));
    for broker in &brokers {
        assert_eq!(bodies_left(broker).await, expected);
    }
    let client = session(&brokers[2]).await;
    publish_all(&client, "q", &bodies(10, 5)).await;
    kill(&mut brokers[0]);
    assert_eq!(query(&client, "q").await.message_count, 11);
    let taken = take_all(&session(&brokers[1]).await, "q").await;
    assert_eq!(taken.iter().map(got).count(), 11);
    // A disk that turns up is that of another group.
    kill(&mut brokers[1]);
    members.directories[1] = old;
    let mut stranger = members.launch(1);
    stranger.log_line("one of the two data directories is of another cluster");
    kill(&mut stranger);
    brokers[0] = members.start(0);
    brokers[2].signal("TERM");
    ended_well(&mut brokers[2]);
}

#[tokio::test]
async fn a_new_beginning_that_was_interrupted_is_ended_before_the_broker_starts() {
    let mut members = Members::new(1, &[]);
    let mut broker = members.start(0);
    let client = session(&broker).await;
    declare(&client, durable_queue("q")).await;
    publish_all(&client, "q", &bodies(0, 3)).await;
    kill(&mut broker);
    let directory = members.directories.remove(0);
    // As it is when the process is killed between the two names.
    let place = |name: &str| directory.path().join(name);
    let begun = begin_anew(&directory, &["--lose-what-others-had"]);
    assert!(begun.status.success(), "{begun:?}");
    std::fs::rename(place("member"), place("member.new")).expect("it is there");
    members.directories.push(directory);
    let mut refused = members.launch(0);
    refused.log_line("a new beginning of this member was interrupted");
    assert!(!refused.wait().success());
    let ended = begin_anew(&members.directories[0], &[]);
    assert!(text(&ended.stdout).contains("1 queues"), "{ended:?}");
    let broker = members.start(0);
    let kept: Vec<_> = bodies(0, 3).into_iter().map(|body| (body, false)).collect();
    assert_eq!(bodies_left(&broker).await, kept);
}

#[test]
fn a_directory_that_is_of_no_member_begins_nothing() {
    let directory = Directory::new();
    let refused = begin_anew(&directory, &["--lose-what-others-had"]);
    assert_eq!(refused.status.code(), Some(2));
    let said = text(&refused.stderr);
    assert!(
        said.contains("not the data directory of a member"),
        "{said}"
    );
}
