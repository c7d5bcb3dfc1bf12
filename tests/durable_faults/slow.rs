//! Calls that take long.

use std::time::Duration;

use ferrymq::client::{Client, Flow, Message, Options, unique_name};
use ferrymq::wire::url::Url;
use ferrymq::wire::{AcceptMode, Command, MessageSubscribe, MessageTransfer};

use crate::durable_support::*;
use crate::server_support::Broker;
use crate::tracer::{JOURNAL, Tracer};

/// How long the disk takes in these tests, in strace's microseconds. Nobody waits for it but who
/// must.
const LONG: u32 = 1_500_000;

/// Longer than a client with heartbeats of a second is patient.
const LONGER: u32 = 4_000_000;

/// How long something is waited for that must not come.
const MOMENT: Duration = Duration::from_millis(400);

/// Tries all, or the one of this name.
pub async fn all(only: Option<&str>) -> Result<(), String> {
    let is_wanted = |name| only.is_none_or(|only| only == name);
    if is_wanted("transient") {
        transient_work_and_heartbeats_go_on().await?;
    }
    if is_wanted("later-sync") {
        for mode in [AcceptMode::NONE, AcceptMode::EXPLICIT] {
            what_is_not_written_is_not_completed_by_a_later_sync(mode).await?;
        }
    }
    if is_wanted("seen") {
        what_is_not_written_is_not_seen().await?;
    }
    if is_wanted("whole") {
        a_transaction_is_written_whole_or_not_at_all().await?;
    }
    if is_wanted("copied") {
        what_was_copied_stays_until_the_copy_is_written().await?;
    }
    Ok(())
}

/// Lets calls take so long: those of these numbers, as strace counts them.
fn attach(
    broker: &Broker,
    (call, when): (&str, &str),
    microseconds: u32,
    directory: &Directory,
) -> Result<Tracer, String> {
    let inject = format!("{call}:delay_enter={microseconds}:when={when}");
    Tracer::attach(broker.pid(), JOURNAL, &inject, directory.path())
}

/// While a sync takes long, those who need none are served, and nobody is cut off.
async fn transient_work_and_heartbeats_go_on() -> Result<(), String> {
    let directory = Directory::new();
    let mut broker = start(&directory, &[]);
    let url = Url::parse(&broker.address().to_string()).expect("an address is a URL");
    let beating = Options {
        heartbeat: 1,
        ..Options::default()
    };
    let client = Client::connect(&url, &beating).await.expect("it is let in");
    let durable = client.session(&unique_name("durable")).await;
    let durable = durable.expect("it attaches");
    declare(&durable, durable_queue("q")).await;
    let other = session(&broker).await;
    let mut transient = durable_queue("passing");
    transient.durable = false;
    declare(&other, transient).await;
    let tracer = attach(&broker, ("fdatasync", "1"), LONGER, &directory)?;
    let body = bodies(0, 1).remove(0);
    let sent = durable.publish("", &persistent("q", body)).await;
    let mut sent = sent.expect("it is attached");
    let mut done = 0;
    let serve = async {
        loop {
            let message = Message::new("passing").routing_key("passing");
            let sent = other.publish("", &message).await.expect("it is attached");
            sent.await.expect("it is completed");
            done += 1;
        }
    };
    tokio::select! {
        completed = &mut sent => completed.expect("it is completed in the end"),
        () = serve => unreachable!("it has no end"),
    };
    if done == 0 {
        return Err("a transient message waits for the disk".to_owned());
    }
    if client.is_closed() {
        return Err("a connection was cut off".to_owned());
    }
    stop(&mut broker, "KILL");
    tracer.finish().map(drop)
}

/// While a write takes long, a sync that comes later, and needs no write itself, says nothing of the
/// commands before it.
async fn what_is_not_written_is_not_completed_by_a_later_sync(
    accept_mode: AcceptMode,
) -> Result<(), String> {
    let directory = Directory::new();
    let mut broker = start(&directory, &[]);
    let publisher = session(&broker).await;
    declare(&publisher, durable_queue("q")).await;
    let tracer = attach(&broker, ("pwritev", "1"), LONG, &directory)?;
    let transfer = MessageTransfer {
        accept_mode: Some(accept_mode),
        ..MessageTransfer::default()
    };
    // So large that what comes behind it is not worked on together with it.
    let message = persistent("q", vec![7; 200_000]);
    let transfer = Command::MessageTransfer(transfer);
    let sent = publisher.command(transfer, Some(&message)).await;
    let sent = sent.expect("it is attached");
    let is_completed = tokio::select! {
        done = publisher.sync() => done.is_ok(),
        done = sent => done.is_ok(),
        () = tokio::time::sleep(MOMENT) => false,
    };
    stop(&mut broker, "KILL");
    tracer.finish()?;
    let broker = start(&directory, &[]);
    let session = self::session(&broker).await;
    match is_completed && browse(&session, "q").await.is_empty() {
        false => Ok(()),
        true => Err("a message is gone whose completion was seen".to_owned()),
    }
}

/// While a write takes long, what it would write is delivered to nobody and completed for nobody: the
/// broker may end before it is written, and then it never was.
async fn what_is_not_written_is_not_seen() -> Result<(), String> {
    for is_redeclared in [false, true] {
        let directory = Directory::new();
        let mut broker = start(&directory, &[]);
        let first = session(&broker).await;
        declare(&first, durable_queue("q")).await;
        first.tx_select().await.expect("it is selected");
        for body in bodies(0, 20) {
            let sent = first.publish("", &persistent("q", body)).await;
            sent.expect("it is attached");
        }
        first.sync().await.expect("they are in the transaction");
        let second = session(&broker).await;
        let tracer = attach(&broker, ("pwritev", "1"), LONG, &directory)?;
        let (mut delivered, mut declared) = (0, false);
        if is_redeclared {
            let waiting = first.clone();
            tokio::spawn(async move { waiting.call(declaration()).await });
            until_known(&second, "new").await;
            tokio::select! {
                done = second.call(declaration()) => declared = done.is_ok(),
                () = tokio::time::sleep(MOMENT) => {}
            }
        } else {
            let waiting = first.clone();
            tokio::spawn(async move { waiting.tx_commit().await });
            until_count(&second, "q", 20).await;
            let subscribe = MessageSubscribe {
                queue: "q".into(),
                ..MessageSubscribe::default()
            };
            let reading = async {
                let subscribed = second.subscribe(subscribe, Flow::Window(10)).await;
                let mut subscription = subscribed.expect("the queue is there");
                while subscription.next().await.is_ok() {
                    delivered += 1;
                }
            };
            tokio::select! {
                () = reading => {}
                () = tokio::time::sleep(MOMENT) => {}
            }
        }
        stop(&mut broker, "KILL");
        tracer.finish()?;
        let broker = start(&directory, &[]);
        let session = self::session(&broker).await;
        let found = browse(&session, "q").await.len();
        if delivered > 0 && found != 20 {
            return Err(format!(
                "{delivered} messages of a transaction were delivered, of which {found} are there"
            ));
        }
        if declared && query(&session, "new").await.queue.is_empty() {
            return Err("a queue is gone whose declaration was completed".to_owned());
        }
    }
    Ok(())
}

/// A transaction larger than a file of the journal, and the broker killed at each write of it.
async fn a_transaction_is_written_whole_or_not_at_all() -> Result<(), String> {
    let (mut whole, mut none) = (0, 0);
    for write in ["1", "2", "3", "4", "5", "6"] {
        let directory = Directory::new();
        let options = ["--journal-file-size", "64k"];
        let mut broker = start(&directory, &options);
        let session = session(&broker).await;
        declare(&session, durable_queue("q")).await;
        session.tx_select().await.expect("it is selected");
        let sent: Vec<Vec<u8>> = (0..12).map(|n| vec![n; 10_000]).collect();
        publish_all(&session, "q", &sent).await;
        let tracer = attach(&broker, ("pwritev", write), LONG, &directory)?;
        tokio::select! {
            _ = session.tx_commit() => {}
            () = tokio::time::sleep(MOMENT) => {}
        }
        stop(&mut broker, "KILL");
        tracer.finish()?;
        let broker = start(&directory, &options);
        let session = self::session(&broker).await;
        let found = browse(&session, "q").await;
        match found.len() {
            0 => none += 1,
            12 if found == redelivered(&sent) => whole += 1,
            some => return Err(format!("{some} messages of a transaction of 12 are there")),
        }
    }
    match whole > 0 && none > 0 {
        true => Ok(()),
        false => Err(format!(
            "{whole} times whole, {none} times not: kills too early or late"
        )),
    }
}

/// While copies of what is still needed are not written, the segments that they were copied from are
/// not removed.
async fn what_was_copied_stays_until_the_copy_is_written() -> Result<(), String> {
    let directory = Directory::new();
    let options = ["--journal-file-size", "64k"];
    let mut broker = start(&directory, &options);
    let session = session(&broker).await;
    for queue in ["slow", "fast"] {
        declare(&session, durable_queue(queue)).await;
    }
    let slow = bodies(0, 10);
    for body in &slow {
        publish_all(&session, "slow", std::slice::from_ref(body)).await;
        let fast: Vec<Vec<u8>> = (0..30).map(|n| vec![n; 2_000]).collect();
        publish_all(&session, "fast", &fast).await;
    }
    let taken = take_all(&session, "fast").await;
    // The accept is written, and what is written after it takes long.
    let tracer = attach(&broker, ("pwritev", "2+"), LONG, &directory)?;
    accept(&session, ids(&taken)).await;
    tokio::time::sleep(2 * MOMENT).await;
    stop(&mut broker, "KILL");
    tracer.finish()?;
    let broker = start(&directory, &options);
    let session = self::session(&broker).await;
    let found = browse(&session, "slow").await;
    match found == redelivered(&slow) {
        true => Ok(()),
        false => Err(format!(
            "{} of {} copied messages are there",
            found.len(),
            slow.len()
        )),
    }
}

fn declaration() -> Command {
    Command::QueueDeclare(durable_queue("new"))
}

/// What the core knows can be asked for before it is on the disk.
async fn until_known(session: &ferrymq::client::Session, queue: &str) {
    while query(session, queue).await.queue.is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn until_count(session: &ferrymq::client::Session, queue: &str, count: u32) {
    while query(session, queue).await.message_count < count {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
