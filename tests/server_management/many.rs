//! Many objects while messages pass, and many consoles at once.

use std::collections::BTreeSet;

use ferrymq::client::Message;
use ferrymq::wire::{Command, QueueDeclare};

use crate::console::{Console, session, value};
use crate::server_support::Broker;

/// Queues that are listed.
const QUEUES: usize = 5_000;
const CONSOLES: usize = 10;
const MESSAGES: usize = 5_000;

async fn declare_many(broker: &Broker) {
    let (client, session) = session(broker).await;
    for number in 0..QUEUES {
        let declare = QueueDeclare {
            queue: format!("many-{number:04}").as_str().into(),
            ..QueueDeclare::default()
        };
        let declared = session.command(Command::QueueDeclare(declare), None).await;
        declared.expect("the session is there");
    }
    session.sync().await.expect("queues");
    client.close().await;
}

fn many(names: impl IntoIterator<Item = String>) -> BTreeSet<String> {
    let of_these = names.into_iter().filter(|name| name.starts_with("many-"));
    of_these.collect()
}

#[tokio::test]
async fn ten_consoles_list_five_thousand_queues_while_messages_pass_and_miss_none() {
    let broker = Broker::start(&["--auth", "no"]);
    declare_many(&broker).await;
    let (_client, publisher) = session(&broker).await;
    let publishing = tokio::spawn(async move {
        for number in 0..MESSAGES {
            let queue = format!("many-{:04}", number % QUEUES);
            let message = Message::new("body").routing_key(&queue);
            publisher.publish("", &message).await.expect("a session");
        }
        publisher.sync().await.expect("all are taken");
    });
    let mut listing = Vec::new();
    for _ in 0..CONSOLES {
        let mut console = Console::open(&broker).await;
        listing.push(tokio::spawn(async move {
            let queues = console.objects("queue").await;
            many(queues.iter().map(|queue| value(queue, "name"))).len()
        }));
    }
    for listed in listing {
        assert_eq!(listed.await.expect("it ends"), QUEUES);
    }
    publishing.await.expect("it ends");
    let mut console = Console::open(&broker).await;
    let depth = |queue: &ferrymq::wire::Map| {
        let values = queue.get("_values").and_then(ferrymq::wire::Value::as_map);
        values
            .and_then(|values| values.get("msgDepth")?.as_u64())
            .unwrap_or_default()
    };
    let queues = console.objects("queue").await;
    let queues = queues
        .iter()
        .filter(|queue| value(queue, "name").starts_with("many-"));
    assert_eq!(queues.map(depth).sum::<u64>(), MESSAGES as u64);
}
