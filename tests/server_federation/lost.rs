//! Links that are lost: what was to be acknowledged comes all the same, and once.

use std::collections::BTreeMap;

use ferrymq::wire::{SequenceSet, Value};

use crate::console;
use crate::net::{EXCHANGE, Node, Way, bodies, text, uncalled};

/// Messages that a route carries while it is cut again and again.
const MESSAGES: usize = 3000;

/// A route from a queue of another broker, over a way that can be cut.
async fn queue_route(sync: u32) -> (Node, Node, Way) {
    let (source, mut here) = (Node::start("source").await, Node::start("here").await);
    console::declare(source.session(), "from").await;
    here.queue("to", "#").await;
    let way = Way::to(source.port()).await;
    here.route_queue(way.port, sync).await;
    (source, here, way)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn acknowledged_route_that_is_cut_again_and_again_brings_each_message_once_and_in_order() {
    let (source, here, way) = queue_route(10).await;
    let cutting = way.cut_again_and_again(15, 7);
    let message = |n: usize| ferrymq::client::Message::new(n.to_string()).routing_key("from");
    source.publish_all((0..MESSAGES).map(message)).await;
    let mut subscription = here.subscribe("to").await;
    let found = bodies(&mut subscription, MESSAGES).await;
    cutting.await.expect("it has cut");
    let expected: Vec<String> = (0..MESSAGES).map(|n| n.to_string()).collect();
    let wrong = found
        .iter()
        .zip(&expected)
        .position(|(found, wanted)| found != wanted);
    assert_eq!(
        wrong,
        None,
        "from there on {:?}",
        wrong.map(|at| &found[at..(at + 5).min(found.len())])
    );
    assert_eq!(uncalled(&mut subscription).await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bindings_come_back_with_their_link_and_those_that_went_meanwhile_do_not() {
    let (mut there, mut here) = (Node::start("there").await, Node::start("here").await);
    let way = Way::to(there.port()).await;
    here.queue("stays", "stays").await;
    here.queue("goes", "goes").await;
    here.link("l", way.port).await;
    let properties = [
        ("src", text(EXCHANGE)),
        ("dest", text(EXCHANGE)),
        ("dynamic", Value::Bool(true)),
    ];
    here.bridge("l", &properties).await;
    there.bound(2).await;
    way.open(false);
    there.bound(0).await;
    here.delete("goes").await;
    here.queue("comes", "comes").await;
    way.open(true);
    there.bound(2).await;
    for key in ["stays", "goes", "comes"] {
        there.publish(EXCHANGE, key, key).await;
    }
    let mut found: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for queue in ["stays", "comes"] {
        let mut subscription = here.subscribe(queue).await;
        found.insert(queue, bodies(&mut subscription, 1).await);
    }
    assert_eq!(found["stays"], ["stays"]);
    assert_eq!(found["comes"], ["comes"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn route_from_a_queue_that_is_made_anew_goes_on_by_itself() {
    let (source, here, _way) = queue_route(1).await;
    for n in 0..5 {
        source.publish("", "from", &n.to_string()).await;
    }
    let mut subscription = here.subscribe("to").await;
    assert_eq!(bodies(&mut subscription, 5).await.len(), 5);
    source.delete("from").await;
    console::declare(source.session(), "from").await;
    for n in 5..10 {
        source.publish("", "from", &n.to_string()).await;
    }
    let found = bodies(&mut subscription, 5).await;
    assert_eq!(found, ["5", "6", "7", "8", "9"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn message_that_may_have_been_delivered_there_says_so_here() {
    let (source, here, _way) = {
        let (source, mut here) = (Node::start("source").await, Node::start("here").await);
        console::declare(source.session(), "from").await;
        here.queue("to", "#").await;
        source.publish("", "from", "seen").await;
        let mut subscription = source.subscribe("from").await;
        let seen = console::next(&mut subscription).await;
        let released = source
            .session()
            .release(SequenceSet::from_range(seen.id, seen.id), true);
        released.await.expect("sent").await.expect("given back");
        subscription.cancel().await.expect("it was there");
        let way = Way::to(source.port()).await;
        here.route_queue(way.port, 1).await;
        (source, here, way)
    };
    let mut subscription = here.subscribe("to").await;
    let found = console::next(&mut subscription).await;
    let properties = found.delivery_properties().expect("properties");
    assert!(properties.redelivered, "{properties:?}");
    drop(source);
}
