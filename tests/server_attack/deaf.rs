//! Consumers that give all the credit there is and never read: each costs no more than its bound beside what
//! is in its queue, those with heartbeats are cut off, and others still get things done.
//!
//! ```text
//!   publisher --> storm (fanout) --+--> good     --> consumer
//!                                  +--> deaf-0   --> reads nothing
//!                                  +--> deaf-1   --> reads nothing
//! ```

use std::time::{Duration, Instant};

use bytes::Bytes;
use ferrymq::protocol::{Content, Pieces};
use ferrymq::wire::{self, AcceptMode, Command, Map, Value};

use super::attacker::{Way, deaf_queue};
use super::scene::{Attack, HOSTS, Size, good_client, judge, memory, start, warmed};
use crate::durable_support::Directory;
use crate::server_support::{Broker, Client};

/// Octets of memory that one of them may take, on average.
const EACH_MAX: u64 = 256 * 1024;

/// Octets of a body.
const BODY_BYTES: usize = 4096;

/// Messages that the queue of such a consumer keeps.
const RING: u32 = 4;

/// Messages that each of them is sent that are its own: more than the broker, and the system, take for it.
const OWN: usize = 1000;

/// Where all messages go.
const EXCHANGE: &str = "storm";

/// The queue of those that read.
const GOOD: &str = "good";

/// How long the broker takes to cut off those with heartbeats, at most: two intervals and ten seconds; and
/// far more than that.
const CUT_OFF: Duration = Duration::from_secs(200);

/// All of them.
pub fn run(directory: &Directory, size: Size) -> Result<String, String> {
    let mut broker = start(directory, size, &["--max-connections", "20000"]);
    warmed(&broker)?;
    let mut publisher = good_client(&broker, "publisher")?;
    define(&mut publisher, size.deaf);
    let mut consumer = good_client(&broker, "consumer")?;
    consumer.subscribe(0, GOOD, AcceptMode::NONE);
    // The queues get full.
    rate(&mut publisher, &mut consumer, size.messages / 10);
    let absent_before = rate(&mut publisher, &mut consumer, size.messages);
    let before = memory(&broker)?.now;
    let way = Way::Deaf;
    let mut attack = Attack::start(&broker, size, (way, size.deaf), HOSTS)?;
    attack.held()?;
    wait_for_subscriptions(&mut publisher, size.deaf as usize, attack.patience())?;
    fill(&mut publisher, size.deaf as usize);
    let beside = rate(&mut publisher, &mut consumer, size.messages);
    let queued = size.deaf * u64::from(RING) * BODY_BYTES as u64;
    let grown = memory(&broker)?.most.saturating_sub(before + queued);
    let each = grown / size.deaf;
    let ending = way.ending(size.deaf);
    let cut_off = wait_for_cuts(&mut broker, ending);
    let report = attack.end()?;
    // Before and behind: what else the machine does comes and goes.
    let absent = (absent_before + rate(&mut publisher, &mut consumer, size.messages)) / 2.0;
    let told = format!(
        "{way}: {} consumers that never read, {each} octets of memory each, {cut_off} of {ending} with \
         heartbeats cut off, {} left; others move {beside:.0} messages/s beside them and {absent:.0} without, \
         {:.2} of it",
        report.opened,
        report.left,
        beside / absent,
    );
    // The rates are told and not judged: other work on the machine moves them by more than what is looked for.
    judge(
        told,
        &[
            (report.opened == size.deaf, "not all got in"),
            (each <= EACH_MAX, "they took too much memory"),
            (
                cut_off == ending,
                "not all with heartbeats were cut off for taking nothing",
            ),
            (report.wronged == 0, "some were closed that may stay"),
            // On a slow machine some are late with their own heartbeats, and closed for that.
            (
                report.closed == ending,
                "those with heartbeats are there still",
            ),
        ],
    )
}

/// The exchange, and all queues behind it.
fn define(client: &mut Client, deaf: u64) {
    let exchange = wire::ExchangeDeclare {
        exchange: EXCHANGE.into(),
        r#type: "fanout".into(),
        ..Default::default()
    };
    client.run(0, Command::ExchangeDeclare(exchange));
    let ring: Map = [
        ("qpid.policy_type".to_owned(), Value::Str16("ring".into())),
        ("qpid.max_count".to_owned(), Value::U32(RING)),
    ]
    .into_iter()
    .collect();
    let mut queues = vec![(GOOD.to_owned(), None)];
    queues.extend((0..deaf as usize).map(|number| (deaf_queue(number), Some(ring.clone()))));
    for (queue, arguments) in queues {
        let declare = wire::QueueDeclare {
            queue: queue.as_str().into(),
            arguments,
            ..Default::default()
        };
        client.run(0, Command::QueueDeclare(declare));
        let bind = wire::ExchangeBind {
            queue: queue.as_str().into(),
            exchange: EXCHANGE.into(),
            ..Default::default()
        };
        client.run(0, Command::ExchangeBind(bind));
    }
}

/// Publishes one message, without waiting.
fn publish(client: &mut Client, exchange: &str, key: &str, body: &Bytes) {
    let transfer = wire::MessageTransfer {
        destination: exchange.into(),
        accept_mode: Some(AcceptMode::NONE),
        ..Default::default()
    };
    let delivery = wire::DeliveryProperties {
        routing_key: Some(key.into()),
        ..Default::default()
    };
    let mut header = Vec::new();
    wire::header::encode(&Some(delivery), &[], &mut header);
    let body = [body.clone()];
    let content = Content {
        header: Some(&header),
        body: Some(Pieces::Shared(&body)),
    };
    let command = Command::MessageTransfer(transfer);
    client.protocol().send(0, &command, false, Some(content));
    client.flush();
}

/// Sends each of those that never read messages of its own: as many as are taken for it, and more.
fn fill(publisher: &mut Client, deaf: usize) {
    let body = Bytes::from(vec![b'x'; BODY_BYTES]);
    for _ in 0..OWN {
        for number in 0..deaf {
            publish(publisher, "", &deaf_queue(number), &body);
        }
        publisher.sync(0);
    }
}

/// Messages a second that go from the one to the other, and to all queues of those that never read.
fn rate(publisher: &mut Client, consumer: &mut Client, messages: u64) -> f64 {
    let body = Bytes::from(vec![b'x'; BODY_BYTES]);
    let began = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..messages {
                assert_eq!(consumer.receive().len(), BODY_BYTES);
            }
        });
        for _ in 0..messages {
            publish(publisher, EXCHANGE, "", &body);
        }
        publisher.sync(0);
    });
    messages as f64 / began.elapsed().as_secs_f64()
}

/// Waits until all have subscribed but those with heartbeats: the broker may have cut them off already.
fn wait_for_subscriptions(
    client: &mut Client,
    deaf: usize,
    patience: Duration,
) -> Result<(), String> {
    let began = Instant::now();
    for number in (0..deaf).filter(|number| !Way::Deaf.beats(*number)) {
        while client.query_queue(0, &deaf_queue(number)).subscriber_count == 0 {
            if began.elapsed() > patience {
                return Err(format!("consumer {number} does not subscribe"));
            }
        }
    }
    Ok(())
}

/// Waits until so many are cut off for taking nothing; gives how many are.
fn wait_for_cuts(broker: &mut Broker, wanted: u64) -> u64 {
    let began = Instant::now();
    loop {
        let log = broker.log().iter();
        let cuts = log.filter(|line| line.contains("cut off, the client takes nothing"));
        let cuts = cuts.count() as u64;
        if cuts >= wanted || began.elapsed() > CUT_OFF {
            return cuts;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}
