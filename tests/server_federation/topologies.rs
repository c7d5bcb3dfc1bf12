//! Dynamic routes in any topology: each subscriber gets each message once, wherever it is published, and
//! what nobody wants any more is bound nowhere.

use std::collections::BTreeMap;

use crate::net::{EXCHANGE, Node, bodies, uncalled};

/// Messages that are published at each broker.
const MESSAGES: usize = 20;

/// Brokers that follow each other as pairs say, both ways.
async fn network(count: usize, pairs: &[(usize, usize)]) -> Vec<Node> {
    let mut nodes = Vec::new();
    for n in 0..count {
        // One tag is the beginning of another.
        nodes.push(Node::start(&"b".repeat(n + 1)).await);
    }
    for &(a, b) in pairs {
        for (from, to) in [(a, b), (b, a)] {
            let mut node = nodes.remove(from);
            let at = if to > from { to - 1 } else { to };
            node.follow(&nodes[at]).await;
            nodes.insert(from, node);
        }
    }
    nodes
}

fn neighbours(pairs: &[(usize, usize)], node: usize) -> usize {
    pairs
        .iter()
        .filter(|(a, b)| *a == node || *b == node)
        .count()
}

/// Each broker has a queue; what each publishes comes to all of them once; what one does not want any more
/// goes to it no more, and in the end nothing is bound.
async fn each_gets_each_once(count: usize, pairs: &[(usize, usize)]) {
    let mut nodes = network(count, pairs).await;
    for node in &nodes {
        node.queue("q", "k.#").await;
    }
    for (n, node) in nodes.iter_mut().enumerate() {
        node.bound(1 + neighbours(pairs, n)).await;
    }
    for n in 0..MESSAGES {
        for node in &nodes {
            node.publish(EXCHANGE, "k.x", &format!("{} {n}", node.tag))
                .await;
        }
    }
    for node in &nodes {
        let mut subscription = node.subscribe("q").await;
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for body in bodies(&mut subscription, MESSAGES * count).await {
            *counts.entry(body).or_default() += 1;
        }
        let twice: Vec<_> = counts.iter().filter(|(_, count)| **count > 1).collect();
        assert!(twice.is_empty(), "{} has had twice {twice:?}", node.tag);
        assert_eq!(counts.len(), MESSAGES * count);
        assert_eq!(
            uncalled(&mut subscription).await,
            Vec::<String>::new(),
            "{}",
            node.tag
        );
        subscription.cancel().await.expect("it was there");
    }
    // All but the first lose interest: where the first can be reached it still is.
    for node in &nodes[1..] {
        node.delete("q").await;
    }
    for (n, node) in nodes.iter_mut().enumerate().skip(1) {
        let shortest = neighbours_nearer(count, pairs, n);
        node.bound(shortest).await;
    }
    nodes[0].delete("q").await;
    for node in &mut nodes {
        node.bound(0).await;
    }
}

/// Neighbours of a broker by which the first can be reached without coming back: each tells what it knows
/// but for what it knows by way of the broker.
fn neighbours_nearer(count: usize, pairs: &[(usize, usize)], node: usize) -> usize {
    let next = |of: usize| {
        let mut found = Vec::new();
        for &(a, b) in pairs {
            match of {
                of if of == a => found.push(b),
                of if of == b => found.push(a),
                _ => {}
            }
        }
        found
    };
    let reaches = |from: usize| {
        let mut seen = vec![false; count];
        seen[node] = true;
        let mut left = vec![from];
        while let Some(at) = left.pop() {
            if !std::mem::replace(&mut seen[at], true) {
                left.extend(next(at));
            }
        }
        seen[0]
    };
    next(node).into_iter().filter(|from| reaches(*from)).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_a_chain_each_subscriber_gets_each_message_once() {
    each_gets_each_once(4, &[(0, 1), (1, 2), (2, 3)]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_a_star_each_subscriber_gets_each_message_once() {
    each_gets_each_once(5, &[(0, 1), (0, 2), (0, 3), (0, 4)]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_a_ring_each_subscriber_gets_each_message_once() {
    each_gets_each_once(4, &[(0, 1), (1, 2), (2, 3), (3, 0)]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_a_mesh_each_subscriber_gets_each_message_once() {
    let pairs: Vec<(usize, usize)> = (0..5)
        .flat_map(|a| (a + 1..5).map(move |b| (a, b)))
        .collect();
    each_gets_each_once(5, &pairs).await;
}
