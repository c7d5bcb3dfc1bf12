//! Members that end, are killed, lose their disks, or hear of too few others.

use std::time::Duration;

use ferrymq::client::{Client, Options};
use ferrymq::wire::url::Url;
use tokio::time::{sleep, timeout};

use super::members::{Members, ended_well, leader, leader_and_term};
use crate::durable_support::{
    Directory, accept, bodies, browse, declare, durable_queue, got, ids, persistent, publish_all,
    query, redelivered, session, take_all,
};
use crate::server_support::{Broker, PATIENCE, until};

/// Kills one, as a crash does.
pub fn kill(broker: &mut Broker) {
    broker.signal("KILL");
    broker.wait();
}

#[tokio::test]
async fn messages_of_a_killed_members_clients_come_back_flagged_on_others() {
    let members = Members::new(3, &["--cluster-down-after", "1"]);
    let mut brokers = members.start_all();
    let holder = session(&brokers[1]).await;
    declare(&holder, durable_queue("q")).await;
    let sent = bodies(0, 10);
    publish_all(&holder, "q", &sent).await;
    assert_eq!(take_all(&holder, "q").await.len(), 10);
    kill(&mut brokers[1]);
    let other = session(&brokers[0]).await;
    let mut taken = Vec::new();
    while taken.len() < sent.len() {
        taken.extend(take_all(&other, "q").await);
    }
    let received: Vec<_> = taken.iter().map(got).collect();
    assert_eq!(received, redelivered(&sent));
}

/// The silence that a member is given is for those of whom nobody knows what they do: where a process
/// was killed its host says so.
#[tokio::test]
async fn sessions_of_a_killed_process_end_at_once_however_long_silence_may_last() {
    for is_leader in [false, true] {
        let members = Members::new(3, &["--cluster-down-after", "60"]);
        let mut brokers = members.start_all();
        let first = leader(&mut brokers);
        let killed = if is_leader { first } else { (first + 1) % 3 };
        let holder = session(&brokers[killed]).await;
        declare(&holder, durable_queue("q")).await;
        let sent = bodies(0, 10);
        publish_all(&holder, "q", &sent).await;
        assert_eq!(take_all(&holder, "q").await.len(), 10);
        kill(&mut brokers[killed]);
        let other = session(&brokers[(killed + 1) % 3]).await;
        let given_back = async {
            while query(&other, "q").await.message_count < 10 {
                sleep(Duration::from_millis(20)).await;
            }
        };
        let given_back = timeout(PATIENCE, given_back).await;
        given_back.unwrap_or_else(|_| panic!("the leader was killed: {is_leader}"));
    }
}

#[tokio::test]
async fn others_go_on_without_a_killed_leader_and_it_catches_up() {
    let members = Members::new(3, &[]);
    let mut brokers = members.start_all();
    let first = leader(&mut brokers);
    let client = session(&brokers[(first + 1) % 3]).await;
    declare(&client, durable_queue("q")).await;
    publish_all(&client, "q", &bodies(0, 20)).await;
    kill(&mut brokers[first]);
    publish_all(&client, "q", &bodies(20, 20)).await;
    brokers[first] = members.start(first);
    let back = session(&brokers[first]).await;
    let all: Vec<_> = bodies(0, 40)
        .into_iter()
        .map(|body| (body, false))
        .collect();
    assert_eq!(browse(&back, "q").await, all);
}

#[tokio::test]
async fn a_member_whose_disk_was_lost_is_replaced_by_what_comes_in_its_place() {
    let mut members = Members::new(3, &["--cluster-down-after", "1"]);
    let mut brokers = members.start_all();
    let client = session(&brokers[0]).await;
    declare(&client, durable_queue("q")).await;
    publish_all(&client, "q", &bodies(0, 20)).await;
    kill(&mut brokers[2]);
    members.wipe(2);
    brokers[2] = members.start(2);
    let fresh = session(&brokers[2]).await;
    assert_eq!(query(&fresh, "q").await.message_count, 20);
    brokers[2].log_line("learning: none");
    // It counts now: with it, one of the others can go.
    kill(&mut brokers[1]);
    publish_all(&fresh, "q", &bodies(20, 20)).await;
    let other = session(&brokers[0]).await;
    assert_eq!(query(&other, "q").await.message_count, 40);
}

#[tokio::test]
async fn large_messages_and_deep_queues_reach_a_member_that_comes_in_anothers_place() {
    let mut members = Members::new(3, &["--cluster-down-after", "1"]);
    let mut brokers = members.start_all();
    let client = session(&brokers[0]).await;
    declare(&client, durable_queue("deep")).await;
    declare(&client, durable_queue("large")).await;
    let deep = bodies(0, 5000);
    publish_all(&client, "deep", &deep).await;
    let large: Vec<Vec<u8>> = (0..4u8).map(|n| vec![n; 6 << 20]).collect();
    publish_all(&client, "large", &large).await;
    kill(&mut brokers[2]);
    members.wipe(2);
    brokers[2] = members.start(2);
    let fresh = session(&brokers[2]).await;
    for (queue, sent) in [("deep", &deep), ("large", &large)] {
        let found = browse(&fresh, queue).await.into_iter();
        let found: Vec<Vec<u8>> = found.map(|(body, _)| body).collect();
        assert!(found == *sent, "{queue}: {} of {}", found.len(), sent.len());
    }
}

#[tokio::test]
async fn when_a_majority_lost_its_disks_nobody_begins_with_an_empty_state() {
    let mut members = Members::new(3, &["--cluster-down-after", "1"]);
    let mut brokers = members.start_all();
    let client = session(&brokers[0]).await;
    declare(&client, durable_queue("q")).await;
    for lost in [1, 2] {
        kill(&mut brokers[lost]);
        members.wipe(lost);
    }
    brokers[1] = members.launch(1);
    brokers[2] = members.launch(2);
    brokers[0].log_line("what they had is lost");
    for lost in [1, 2] {
        brokers[lost].log_line("not let in yet");
        let log = brokers[lost].log().join("\n");
        assert!(!log.contains("Formed") && !log.contains("running"), "{log}");
    }
}

#[tokio::test]
async fn a_minority_confirms_nothing_and_sends_its_clients_away() {
    let members = Members::new(3, &[]);
    let mut brokers = members.start_all();
    let client = session(&brokers[0]).await;
    declare(&client, durable_queue("q")).await;
    kill(&mut brokers[1]);
    kill(&mut brokers[2]);
    let sent = client.publish("", &persistent("q", "lost")).await;
    let confirmed = sent.expect("it is attached").await;
    let error = confirmed.expect_err("nobody else has it").to_string();
    assert!(
        error.contains("320") && error.contains("no quorum"),
        "{error}"
    );
    let url = Url::parse(&brokers[0].address().to_string()).expect("a URL");
    let refused = Client::connect(&url, &Options::default()).await;
    let error = refused.err().expect("nobody is let in").to_string();
    assert!(error.contains("no quorum"), "{error}");
    brokers[1] = members.start(1);
    brokers[0].log_line("There is a quorum again");
    let client = session(&brokers[0]).await;
    publish_all(&client, "q", &bodies(0, 1)).await;
}

#[tokio::test]
async fn what_was_confirmed_is_there_after_all_were_killed() {
    let members = Members::new(3, &[]);
    let mut brokers = members.start_all();
    let client = session(&brokers[0]).await;
    declare(&client, durable_queue("q")).await;
    let sent = bodies(0, 50);
    publish_all(&client, "q", &sent).await;
    let other = session(&brokers[1]).await;
    let taken = take_all(&other, "q").await;
    accept(&other, ids(&taken[..20])).await;
    brokers.iter_mut().for_each(kill);
    let brokers = members.start_all();
    for broker in &brokers {
        let client = session(broker).await;
        let left: Vec<_> = browse(&client, "q").await;
        let left: Vec<_> = left.into_iter().map(|(body, _)| body).collect();
        assert_eq!(left, sent[20..]);
    }
}

#[tokio::test]
async fn a_leader_that_is_told_to_stop_hands_leadership_on() {
    let members = Members::new(3, &[]);
    let mut brokers = members.start_all();
    let first = leader(&mut brokers);
    let client = session(&brokers[(first + 1) % 3]).await;
    declare(&client, durable_queue("q")).await;
    brokers[first].signal("TERM");
    ended_well(&mut brokers[first]);
    brokers[first].log_line("Handed leadership on");
    publish_all(&client, "q", &bodies(0, 1)).await;
}

#[tokio::test]
async fn members_that_are_restarted_one_after_the_other_lose_nothing() {
    let members = Members::new(3, &[]);
    let mut brokers = members.start_all();
    let client = session(&brokers[0]).await;
    declare(&client, durable_queue("q")).await;
    publish_all(&client, "q", &bodies(0, 10)).await;
    for member in 0..3 {
        brokers[member].signal("TERM");
        ended_well(&mut brokers[member]);
        let other = session(&brokers[(member + 1) % 3]).await;
        publish_all(&other, "q", &bodies(10 + 10 * member, 10)).await;
        brokers[member] = members.start(member);
        let back = session(&brokers[member]).await;
        let count = query(&back, "q").await.message_count as usize;
        assert_eq!(count, 20 + 10 * member);
    }
    let client = session(&brokers[2]).await;
    let left = browse(&client, "q").await.into_iter().map(|(body, _)| body);
    assert_eq!(left.collect::<Vec<_>>(), bodies(0, 40));
}

#[tokio::test]
async fn a_leader_that_was_frozen_has_ended_its_connections_when_it_is_back() {
    let members = Members::new(3, &["--cluster-down-after", "1"]);
    let mut brokers = members.start_all();
    let first = leader(&mut brokers);
    let frozen = session(&brokers[first]).await;
    declare(&frozen, durable_queue("q")).await;
    let sent = bodies(0, 10);
    publish_all(&frozen, "q", &sent).await;
    assert_eq!(take_all(&frozen, "q").await.len(), 10);
    brokers[first].signal("STOP");
    let other = session(&brokers[(first + 1) % 3]).await;
    let mut taken = Vec::new();
    while taken.len() < sent.len() {
        taken.extend(take_all(&other, "q").await);
    }
    let received: Vec<_> = taken.iter().map(got).collect();
    assert_eq!(received, redelivered(&sent));
    // What it is told meanwhile is confirmed to nobody: it has not the right to any more.
    let late = frozen.publish("", &persistent("q", "late")).await;
    let late = late.expect("it is only frozen");
    brokers[first].signal("CONT");
    assert!(late.await.is_err());
    brokers[first].log_line("was taken for down");
    accept(&other, ids(&taken)).await;
    let back = session(&brokers[first]).await;
    assert_eq!(browse(&back, "q").await, []);
}

#[test]
fn a_member_with_a_copy_of_anothers_directory_is_refused() {
    let mut members = Members::new(3, &[]);
    let mut brokers = members.start_all();
    kill(&mut brokers[2]);
    kill(&mut brokers[1]);
    members.directories[2] = members.directories[1].copy();
    brokers[1] = members.start(1);
    brokers[2] = members.launch(2);
    brokers[1].log_line("the data directory of one is a copy");
    brokers[2].log_line("the data directory of one is a copy");
}

/// Has a member go on from what its directory was before its last life, in which it published.
async fn put_back(members: &mut Members, brokers: &mut [Broker], member: usize) -> Directory {
    let client = session(&brokers[0]).await;
    declare(&client, durable_queue("q")).await;
    brokers[member].signal("TERM");
    ended_well(&mut brokers[member]);
    let old = members.directories[member].copy();
    brokers[member] = members.start(member);
    let client = session(&brokers[member]).await;
    publish_all(&client, "q", &bodies(0, 50)).await;
    old
}

#[tokio::test]
async fn a_member_with_less_than_it_has_acknowledged_ends_and_says_so() {
    let mut members = Members::new(3, &[]);
    let mut brokers = members.start_all();
    // The leader knows what was acknowledged to it. One that is elected meanwhile does not, and nothing
    // can be seen then: the machine may be busy.
    for tries in 1..10 {
        let led = leader_and_term(&mut brokers);
        let old = (led.0 + 1) % 3;
        let directory = put_back(&mut members, &mut brokers, old).await;
        kill(&mut brokers[old]);
        members.directories[old] = directory;
        brokers[old] = members.launch(old);
        let mut has_ended = false;
        until("it ends, or another leads", || {
            has_ended = !brokers[old].is_running();
            has_ended || leader_and_term(&mut brokers) != led
        });
        if has_ended {
            assert!(!brokers[old].wait().success());
            brokers[old].log_line("directory is an older copy");
            let other = session(&brokers[(old + 1) % 3]).await;
            assert_eq!(query(&other, "q").await.message_count, 50 * tries);
            return;
        }
        members.serves(old, &mut brokers[old]);
    }
    panic!("leaders change all the time");
}

#[tokio::test]
async fn what_a_member_proposes_is_not_taken_for_what_a_lost_life_of_it_did() {
    let mut members = Members::new(3, &[]);
    let mut brokers = members.start_all();
    let directory = put_back(&mut members, &mut brokers, 1).await;
    // Nobody is left who remembers what it acknowledged.
    brokers.iter_mut().for_each(kill);
    members.directories[1] = directory;
    let brokers = members.start_all();
    let client = session(&brokers[1]).await;
    publish_all(&client, "q", &bodies(50, 20)).await;
    let other = session(&brokers[0]).await;
    assert_eq!(query(&other, "q").await.message_count, 70);
}

#[test]
fn a_directory_of_another_kind_of_group_is_refused() {
    let alone = Directory::new();
    drop(Broker::start(&["--data-dir", alone.text()]));
    let mut members = Members::new(1, &[]);
    let formed = std::mem::replace(&mut members.directories[0], alone);
    let mut broker = members.launch(0);
    assert!(!broker.wait().success());
    broker.log_line("that of a broker that stands alone");
    members.directories[0] = formed;
    drop(members.start(0));
    let text = members.directories[0].text();
    let mut broker = Broker::launch_on(&["--port", "0", "--data-dir", text]);
    assert!(!broker.wait().success());
    broker.log_line("that of a member of a cluster");
}
