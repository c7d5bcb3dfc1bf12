//! Large messages, and queues deeper than memory.

use std::path::Path;

use super::faults::kill;
use super::members::{Members, leader};
use crate::durable_support::{declare, durable_queue, got, publish_all, session, take_all};
use crate::server_support::until;

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

/// Octets in a member's pages.
fn paged_bytes(members: &Members, member: usize) -> u64 {
    let folder = Path::new(members.directories[member].text()).join("pages/journal");
    let files = std::fs::read_dir(folder).expect("a member has pages");
    let length = |file: std::io::Result<std::fs::DirEntry>| file.ok()?.metadata().ok();
    files.filter_map(length).map(|file| file.len()).sum()
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
