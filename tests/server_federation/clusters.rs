//! Links of a cluster: one member drives each, and another takes over what it drove.

use ferrymq::client::Message;

use crate::console;
use crate::members::Members;
use crate::net::{Node, bodies, uncalled};
use crate::server_support::{Broker, until};

/// Messages before a member is killed, while it is, and behind that.
const MESSAGES: usize = 400;

/// What a member says whose link is there.
const IS_THERE: &str = "link l to";

async fn publish(source: &Node, from: usize) {
    let messages = from..from + MESSAGES;
    let message = |n: usize| Message::new(n.to_string()).routing_key("from");
    source.publish_all(messages.map(message)).await;
}

/// Which member drives the link.
fn owner(brokers: &mut [Broker]) -> usize {
    let mut found = None;
    until("a member drives the link", || {
        found = brokers
            .iter_mut()
            .position(|broker| broker.log().iter().any(|line| line.contains(IS_THERE)));
        found.is_some()
    });
    found.expect("it was found")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_member_takes_a_link_over_and_each_message_comes_once() {
    let source = Node::start("source").await;
    console::declare(source.session(), "from").await;
    let common = [
        "--federation-tag",
        "cluster",
        "--link-maintenance-interval",
        "100ms",
        "--log-enable",
        "info+:Federation",
        "--log-enable",
        "notice+",
    ];
    let members = Members::new(3, &common);
    let mut brokers = members.start_all();
    {
        let mut first = Node::of(brokers.remove(0), "first").await;
        first.queue("to", "#").await;
        first.route_queue(source.port(), 20).await;
        brokers.insert(0, first.broker);
    }
    let owned = owner(&mut brokers);
    publish(&source, 0).await;
    let killed = brokers.remove(owned);
    let other = brokers.remove(0);
    let other = Node::of(other, "other").await;
    let mut subscription = other.subscribe("to").await;
    let mut found = bodies(&mut subscription, MESSAGES / 2).await;
    killed.signal("KILL");
    drop(killed);
    publish(&source, MESSAGES).await;
    found.extend(bodies(&mut subscription, 2 * MESSAGES - found.len()).await);
    let wanted: Vec<String> = (0..2 * MESSAGES).map(|n| n.to_string()).collect();
    assert_eq!(found, wanted);
    // Who comes back has a link of its own again only if it is its owner's turn.
    let again = members.start(owned);
    publish(&source, 2 * MESSAGES).await;
    let found = bodies(&mut subscription, MESSAGES).await;
    assert_eq!(found.first().map(String::as_str), Some("800"));
    assert_eq!(uncalled(&mut subscription).await, Vec::<String>::new());
    drop((again, brokers));
}
