//! Queue-state replication over a link: the copy of a queue is as its source was, whatever became of the
//! link and of the two brokers meanwhile.

use std::time::Duration;

use ferrymq::wire::{Command, ExchangeDeclare, Map, QueueDeclare, QueueQuery, Value};
use tokio::time::{Instant, sleep};

use crate::console::{self, headers};
use crate::durable_support::{self, Directory, accept, ids, persistent, take_all};
use crate::net::{Node, Way, text};
use crate::server_support::{Broker, PATIENCE};

const EVENTS: &str = "rep-queue";
const APPLIES: &str = "rep-ex";

/// The header by which either end says the position of a message.
const PLACE: &str = "place";

/// Messages that come while the link is cut again and again.
const MESSAGES: usize = 2000;

/// Positions and bodies.
type Content = Vec<(u64, String)>;

/// A queue that says positions, and gives events if it is a source.
fn queue(name: &str, generation: Option<u32>) -> QueueDeclare {
    let mut arguments: Map = [("qpid.queue_msg_sequence", text(PLACE))]
        .into_iter()
        .collect();
    if let Some(generation) = generation {
        arguments.insert("qpid.queue_event_generation", generation);
    }
    QueueDeclare {
        queue: name.into(),
        durable: true,
        arguments: Some(arguments),
        ..QueueDeclare::default()
    }
}

async fn declare(node: &Node, queue: QueueDeclare) {
    let declared = node.session().call(Command::QueueDeclare(queue)).await;
    declared.expect("a queue");
}

/// The copy's side: the exchange, the queues, and the route to the source behind a port.
async fn follow(copy: &mut Node, port: u16) {
    let exchange = ExchangeDeclare {
        exchange: APPLIES.into(),
        r#type: "replication".into(),
        durable: true,
        ..ExchangeDeclare::default()
    };
    let declared = copy
        .session()
        .call(Command::ExchangeDeclare(exchange))
        .await;
    declared.expect("an exchange");
    for name in ["q", "end"] {
        declare(copy, queue(name, None)).await;
    }
    let mut link: Map = [("host", text("127.0.0.1"))].into_iter().collect();
    link.insert("port", u32::from(port));
    link.insert("durable", Value::Bool(true));
    let made = copy.broker_call("create", ("link", "l"), link).await;
    made.expect("a link");
    let route = [
        ("src", text(EVENTS)),
        ("dest", text(APPLIES)),
        ("srcIsQueue", Value::Bool(true)),
        ("sync", Value::U32(50)),
        ("durable", Value::Bool(true)),
    ];
    copy.bridge("l", &route).await;
}

/// What is in a queue: nothing is taken.
async fn content(node: &Node, queue: &str) -> Content {
    let (_client, session) = console::session(&node.broker).await;
    let all = take_all(&session, queue).await;
    all.iter()
        .map(|delivery| {
            let place = headers(delivery).get(PLACE).and_then(Value::as_u64);
            let body = String::from_utf8_lossy(&delivery.body_bytes()).into_owned();
            (place.expect("a place"), body)
        })
        .collect()
}

async fn depth(node: &Node, queue: &str) -> u32 {
    let query = QueueQuery {
        queue: queue.into(),
    };
    let answer: ferrymq::wire::QueueQueryResult = node
        .session()
        .query(Command::QueueQuery(query))
        .await
        .expect("an answer");
    answer.message_count
}

/// All events so far are applied when the last one is: a message of a queue of its own.
async fn applied(source: &Node, copy: &Node) {
    let before = depth(copy, "end").await;
    source.publish("", "end", "the end").await;
    let since = Instant::now();
    while depth(copy, "end").await == before {
        assert!(since.elapsed() < PATIENCE, "events do not come");
        sleep(Duration::from_millis(20)).await;
    }
}

/// Takes so many messages of a queue for good.
async fn consume(node: &Node, queue: &str, count: u32) {
    let (_client, session) = console::session(&node.broker).await;
    let subscribe = ferrymq::wire::MessageSubscribe {
        queue: queue.into(),
        ..Default::default()
    };
    let flow = ferrymq::client::Flow::Window(count);
    let mut subscription = session
        .subscribe(subscribe, flow)
        .await
        .expect("it is there");
    let mut taken = Vec::new();
    for _ in 0..count {
        taken.push(console::next(&mut subscription).await);
    }
    // Every third goes back to where it was.
    let kept = taken.iter().enumerate().filter(|(n, _)| n % 3 != 2);
    accept(&session, ids(kept.map(|(_, delivery)| delivery))).await;
    session.detach().await.expect("it is attached");
}

async fn killed_behind_a_link_that_was_cut(mut copy: Node) {
    let directory = Directory::new();
    let broker = Broker::start(&[
        "--data-dir",
        directory.text(),
        "--federation-tag",
        "source",
        "--replication-queue",
        EVENTS,
        "--create-replication-queue",
        "true",
    ]);
    let source = Node::of(broker, "source").await;
    declare(&source, queue("q", Some(2))).await;
    declare(&source, queue("end", Some(1))).await;
    let way = Way::to(source.port()).await;
    follow(&mut copy, way.port).await;
    let cutting = way.cut_again_and_again(12, 9);
    for part in 0..10 {
        let message = |n: usize| persistent("q", format!("{part}.{n}"));
        source.publish_all((0..MESSAGES / 10).map(message)).await;
        consume(&source, "q", (MESSAGES / 20) as u32).await;
    }
    cutting.await.expect("it has cut");
    applied(&source, &copy).await;
    let wanted = content(&source, "q").await;
    source.broker.signal("KILL");
    drop(source);
    assert!(wanted.len() > MESSAGES / 2 && wanted.len() < MESSAGES);
    assert_same(&content(&copy, "q").await, &wanted, &mut [&mut copy]);
}

/// Asserts that a copy is as its source, else tells what logs say of it.
fn assert_same(found: &Content, wanted: &Content, nodes: &mut [&mut Node]) {
    let lacks: Vec<_> = wanted.iter().filter(|one| !found.contains(one)).collect();
    let more: Vec<_> = found.iter().filter(|one| !wanted.contains(one)).collect();
    if found == wanted {
        return;
    }
    for node in nodes {
        sleep_for_logs();
        for line in node
            .broker
            .log()
            .iter()
            .filter(|line| line.contains("Replication"))
        {
            eprintln!("{}: {line}", node.tag);
        }
    }
    let ends = |of: &[&(u64, String)]| format!("{}: {:?} to {:?}", of.len(), of.first(), of.last());
    panic!("it lacks {}, and has more {}", ends(&lacks), ends(&more));
}

/// The log tells what came to nothing every two seconds.
fn sleep_for_logs() {
    std::thread::sleep(Duration::from_secs(3));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn copy_is_as_its_source_was_that_was_killed_behind_a_link_that_was_cut() {
    killed_behind_a_link_that_was_cut(Node::start("copy").await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn copy_in_a_cluster_is_as_its_source_was() {
    killed_behind_a_link_that_was_cut(Node::lockstep("copy").await).await;
}

/// A broker that keeps things, at a port of its own choice or at this one.
async fn kept(directory: &Directory, port: u16, tag: &str) -> Node {
    let said = port.to_string();
    let mut broker = Broker::start_on(&[
        "--port",
        &said,
        "--data-dir",
        directory.text(),
        "--federation-tag",
        tag,
        "--link-maintenance-interval",
        "100ms",
        "--log-enable",
        "info+:Replication",
        "--log-enable",
        "notice+",
        "--replication-queue",
        match tag {
            "source" => EVENTS,
            _ => "",
        },
    ]);
    if port > 0 {
        broker.ports = vec![port];
    }
    Node::of(broker, tag).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn copy_catches_up_when_either_end_was_killed_and_is_there_again() {
    let (of_source, of_copy) = (Directory::new(), Directory::new());
    let mut source = kept(&of_source, 0, "source").await;
    let mut copy = kept(&of_copy, 0, "copy").await;
    let (source_port, copy_port) = (source.port(), copy.port());
    declare(&source, durable_support::durable_queue(EVENTS)).await;
    declare(&source, queue("q", Some(2))).await;
    declare(&source, queue("end", Some(1))).await;
    follow(&mut copy, source_port).await;
    for round in 0..6 {
        let message = |n: usize| {
            let mut message = persistent("q", format!("{round}.{n}"));
            if n % 4 == 3 {
                message.delivery.delivery_mode = None;
            }
            message
        };
        source.publish_all((0..200).map(message)).await;
        consume(&source, "q", 60).await;
        if round == 2 || round == 3 {
            // The copy knows the last positions, of messages that their source has nothing of any more.
            applied(&source, &copy).await;
        }
        // What is on its way is lost with whoever had it.
        match round % 2 {
            0 => {
                source.broker.signal("KILL");
                drop(source);
                source = kept(&of_source, source_port, "source").await;
            }
            _ => {
                copy.broker.signal("KILL");
                drop(copy);
                copy = kept(&of_copy, copy_port, "copy").await;
            }
        }
    }
    applied(&source, &copy).await;
    let durable = |content: Content| -> Content {
        // Of the others an end that was killed has none.
        let is_durable = |body: &str| {
            let (_, n) = body.split_once('.').expect("a number");
            n.parse::<usize>().expect("a number") % 4 != 3
        };
        content
            .into_iter()
            .filter(|(_, body)| is_durable(body))
            .collect()
    };
    let wanted = durable(content(&source, "q").await);
    let found = durable(content(&copy, "q").await);
    assert!(wanted.len() > 400, "{}", wanted.len());
    assert_same(&found, &wanted, &mut [&mut source, &mut copy]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn log_and_metrics_say_what_comes_to_nothing() {
    let broker = Broker::start(&[
        "--replication-queue",
        EVENTS,
        "--replication-listener-name",
        "other-site",
    ]);
    let mut source = Node::of(broker, "source").await;
    source
        .broker
        .log_line("other-site: events of queues go into queue rep-queue");
    source.broker.log_line("There is no queue rep-queue");
    declare(&source, queue("q", Some(2))).await;
    source.publish("", "q", "m").await;
    source
        .broker
        .log_line("1 events of queues are lost: where they go there is no queue, or it is full (the last one: q)");
    let exchange = ExchangeDeclare {
        exchange: APPLIES.into(),
        r#type: "replication".into(),
        ..ExchangeDeclare::default()
    };
    source
        .session()
        .call(Command::ExchangeDeclare(exchange))
        .await
        .expect("an exchange");
    source.publish(APPLIES, "q", "no event").await;
    source
        .broker
        .log_line("1 messages to replication exchanges are no events (the last one: rep-ex)");
}
