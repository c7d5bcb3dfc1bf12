//! Large messages, and queues deeper than memory.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ferrymq::client::Flow;
use ferrymq::wire::MessageSubscribe;
use tokio::time::{sleep, timeout};

use super::faults::kill;
use super::members::{Members, leader};
use crate::durable_support::{declare, durable_queue, got, publish_all, query, session, take_all};
use crate::server_support::{PATIENCE, until};

/// Octets that tell one place in a body from another.
fn body(of: usize, bytes: usize) -> Vec<u8> {
    let mut body = Vec::with_capacity(bytes + 16);
    while body.len() < bytes {
        body.extend_from_slice(format!("{of}:{:08}", body.len()).as_bytes());
    }
    body
}

#[tokio::test]
async fn a_large_message_comes_to_another_member_as_it_was() {
    let members = Members::new(3, &[]);
    let mut brokers = members.start_all();
    let leader = leader(&mut brokers);
    let sender = session(&brokers[(leader + 1) % 3]).await;
    let receiver = session(&brokers[(leader + 2) % 3]).await;
    declare(&sender, durable_queue("q")).await;
    let sent = vec![body(1, 10), body(2, 8_000_000), body(3, 10)];
    publish_all(&sender, "q", &sent).await;
    let taken = take_all(&receiver, "q").await;
    let received: Vec<Vec<u8>> = taken.iter().map(|delivery| got(delivery).0).collect();
    assert!(received == sent, "{} messages came", received.len());
}

#[tokio::test]
async fn a_member_that_missed_large_messages_catches_up() {
    let members = Members::new(3, &[]);
    let mut brokers = members.start_all();
    let missing = (leader(&mut brokers) + 1) % 3;
    kill(&mut brokers[missing]);
    let sender = session(&brokers[(missing + 1) % 3]).await;
    declare(&sender, durable_queue("q")).await;
    let sent: Vec<Vec<u8>> = (0..4).map(|n| body(n, 8_000_000)).collect();
    publish_all(&sender, "q", &sent).await;
    brokers[missing] = members.start(missing);
    let receiver = session(&brokers[missing]).await;
    let taken = take_all(&receiver, "q").await;
    let received: Vec<Vec<u8>> = taken.iter().map(|delivery| got(delivery).0).collect();
    assert!(received == sent, "{} messages came", received.len());
}

/// The files of a member's pages.
fn pages(members: &Members, member: usize) -> Vec<PathBuf> {
    let folder = Path::new(members.directories[member].text()).join("pages/journal");
    let files = std::fs::read_dir(folder).expect("a member has pages");
    let mut files: Vec<PathBuf> = files.flatten().map(|file| file.path()).collect();
    files.sort();
    files
}

/// Octets in a member's pages.
fn paged_bytes(members: &Members, member: usize) -> u64 {
    let length = |file: &PathBuf| file.metadata().map_or(0, |found| found.len());
    pages(members, member).iter().map(length).sum()
}

#[tokio::test]
async fn queues_deeper_than_memory_page_on_every_member_and_come_to_a_newcomer() {
    let options = ["--memory-limit", "1m", "--cluster-down-after", "1"];
    let mut members = Members::new(3, &options);
    let mut brokers = members.start_all();
    let lost = (leader(&mut brokers) + 1) % 3;
    let sender = session(&brokers[(lost + 1) % 3]).await;
    declare(&sender, durable_queue("deep")).await;
    let sent: Vec<Vec<u8>> = (0..800).map(|n| body(n, 20_000)).collect();
    publish_all(&sender, "deep", &sent).await;
    for member in 0..3 {
        until("bodies have left the memory", || {
            paged_bytes(&members, member) > 8 * 1024 * 1024
        });
    }
    // What it gets is a state whose bodies are not in memory.
    kill(&mut brokers[lost]);
    members.wipe(lost);
    brokers[lost] = members.start(lost);
    let receiver = session(&brokers[lost]).await;
    let taken = take_all(&receiver, "deep").await;
    let received: Vec<Vec<u8>> = taken.iter().map(|delivery| got(delivery).0).collect();
    assert!(received == sent, "{} messages came", received.len());
}

#[tokio::test]
async fn a_damaged_page_ends_its_member_and_the_others_have_the_message() {
    let members = Members::new(3, &["--memory-limit", "1m", "--cluster-down-after", "1"]);
    let mut brokers = members.start_all();
    let damaged = (leader(&mut brokers) + 1) % 3;
    let sender = session(&brokers[(damaged + 1) % 3]).await;
    declare(&sender, durable_queue("deep")).await;
    let sent: Vec<Vec<u8>> = (0..400).map(|n| body(n, 20_000)).collect();
    publish_all(&sender, "deep", &sent).await;
    until("bodies have left the memory", || {
        paged_bytes(&members, damaged) > 4 * 1024 * 1024
    });
    let first = pages(&members, damaged).swap_remove(0);
    let file = OpenOptions::new().write(true).open(&first);
    let file = file.expect("it is ours");
    file.write_all_at(&[0xAA; 100_000], 300_000)
        .expect("written");
    let receiver = session(&brokers[damaged]).await;
    let subscribe = MessageSubscribe {
        queue: "deep".into(),
        ..MessageSubscribe::default()
    };
    let subscription = receiver.subscribe(subscribe, Flow::Window(1000)).await;
    let mut subscription = subscription.expect("a subscription");
    while let Ok(delivery) = subscription.next().await {
        assert!(sent.contains(&got(&delivery).0), "an altered body came");
    }
    assert!(!brokers[damaged].wait().success(), "it has ended by itself");
    let name = first.file_name().expect("a name").to_string_lossy();
    brokers[damaged].log_line(&name);
    let receiver = session(&brokers[(damaged + 2) % 3]).await;
    // What the dead one's session had is given back when it is taken for down.
    let given_back = async {
        while query(&receiver, "deep").await.message_count < 400 {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, given_back).await.expect("all is there");
    let taken = take_all(&receiver, "deep").await;
    let received: Vec<Vec<u8>> = taken.iter().map(|delivery| got(delivery).0).collect();
    assert!(received == sent, "{} messages came", received.len());
}
