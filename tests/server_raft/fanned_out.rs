//! Messages that go to very many queues at once, and commits that do.
//!
//! `FERRYMQ_FANNED_OUT` says how many messages each publisher sends (20), `FERRYMQ_COMMITTED_MESSAGES`
//! how many a transaction has (100), and `FERRYMQ_COMMITTED_QUEUES` to how many queues each goes (100).

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use ferrymq::client::{Client, Error, Message, Options, Session, unique_name};
use ferrymq::wire::url::Url;
use ferrymq::wire::{Command, Map, QueueDeclare, Value};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::faults::kill;
use super::members::{Members, leader};
use crate::durable_support::{binding, call, durable_queue, number, persistent, query, session};
use crate::server_support::Broker;

/// Queues that a message to `amq.fanout` comes to.
const QUEUES: usize = 2000;

/// Messages that a queue keeps.
const KEPT: u32 = 5;

/// Publishers at each member.
const PUBLISHERS: usize = 4;

/// Messages of one confirmation.
const UNCONFIRMED: u64 = 100;

/// Octets of memory that a member takes at most that holds only some messages in each queue.
const RESIDENT_MAX: u64 = 256 << 20;

/// Transactions that each client commits.
const COMMITS: u32 = 4;

/// How long the first of them takes at most, however large they are.
const COMMITTED_MAX: Duration = Duration::from_secs(300);

/// Queues, which may keep the newest messages only, all of them bound to `amq.fanout`.
async fn fan_out(session: &Session, queues: usize, is_ring: bool) {
    for n in 0..queues {
        let mut arguments = Map::new();
        if is_ring {
            arguments.insert("qpid.policy_type", Value::from("ring"));
            arguments.insert("qpid.max_count", Value::U32(KEPT));
        }
        let queue = n.to_string();
        let declare = QueueDeclare {
            arguments: Some(arguments),
            ..durable_queue(&queue)
        };
        let declared = session.command(Command::QueueDeclare(declare), None).await;
        declared.expect("it is attached");
        call(
            session,
            Command::ExchangeBind(binding("amq.fanout", &queue, "")),
        )
        .await;
    }
}

async fn publish(session: Session, count: u64) {
    for n in 1..=count {
        let message = Message::new(n.to_string());
        let published = session.publish("amq.fanout", &message).await;
        published.expect("its session goes on");
        if n.is_multiple_of(UNCONFIRMED) {
            session.sync().await.expect("its session goes on");
        }
    }
    session.sync().await.expect("its session goes on");
}

/// What members have said of who leads.
pub fn elections(brokers: &mut [Broker]) -> BTreeSet<String> {
    let logs = brokers.iter_mut().flat_map(|broker| broker.log().to_vec());
    let terms = logs.filter_map(|line| Some(line.split_once("leads in term ")?.1.to_owned()));
    terms.collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn publishers_to_very_many_queues_keep_their_sessions_on_all_members() {
    let count = number("FERRYMQ_FANNED_OUT", 20);
    let members = Members::new(3, &[]);
    let mut brokers = members.start_all();
    leader(&mut brokers);
    let definer = session(&brokers[0]).await;
    fan_out(&definer, QUEUES, true).await;
    let before = elections(&mut brokers).len();
    let mut publishers = JoinSet::new();
    for broker in &brokers {
        for _ in 0..PUBLISHERS {
            publishers.spawn(publish(session(broker).await, count));
        }
    }
    while let Some(published) = publishers.join_next().await {
        published.expect("its session goes on");
    }
    assert_eq!(query(&definer, "1999").await.message_count, KEPT);
    let elected = elections(&mut brokers).len() - before;
    println!("{} messages, {elected} elections", 12 * count);
    for broker in &brokers {
        let resident = broker.resident_bytes();
        assert!(resident < RESIDENT_MAX, "{resident} octets");
    }
}

/// Transactions that a client commits one after the other, each with as many messages, until it has
/// committed enough. Gives how many were confirmed, and of how many that is not known.
async fn commit(
    addresses: Vec<SocketAddr>,
    messages: u64,
    committed: Arc<AtomicU32>,
) -> (u32, u32) {
    let (mut confirmed, mut unknown) = (0, 0);
    let mut turn = 0;
    while confirmed < COMMITS {
        let address = addresses[turn % addresses.len()];
        turn += 1;
        // The member may be gone, or have no leader at the moment.
        let Ok(session) = try_session(address).await else {
            sleep(Duration::from_millis(20)).await;
            continue;
        };
        while confirmed < COMMITS {
            let Ok(()) = prepare(&session, messages).await else {
                break;
            };
            match session.tx_commit().await {
                Ok(()) => {
                    confirmed += 1;
                    committed.fetch_add(1, Ordering::Relaxed);
                }
                Err(_) => {
                    unknown += 1;
                    break;
                }
            }
        }
    }
    (confirmed, unknown)
}

async fn try_session(address: SocketAddr) -> Result<Session, Error> {
    let url = Url::parse(&address.to_string()).expect("an address is a URL");
    let client = Client::connect(&url, &Options::default()).await?;
    let session = client.session(&unique_name("commits")).await?;
    session.tx_select().await?;
    Ok(session)
}

/// Publishes what is to be committed. All has been routed when this is done.
async fn prepare(session: &Session, messages: u64) -> Result<(), Error> {
    for n in 0..messages {
        session
            .publish("amq.fanout", &persistent("", n.to_string()))
            .await?;
    }
    session.sync().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commits_to_many_queues_are_whole_or_nothing_when_the_leader_is_killed() {
    let queues = number("FERRYMQ_COMMITTED_QUEUES", 100);
    let messages = number("FERRYMQ_COMMITTED_MESSAGES", 100);
    let members = Members::new(3, &[]);
    let mut brokers = members.start_all();
    let first = leader(&mut brokers);
    let definer = session(&brokers[(first + 1) % 3]).await;
    let queues = usize::try_from(queues).expect("few");
    fan_out(&definer, queues, false).await;
    let addresses: Vec<SocketAddr> = brokers.iter().map(Broker::address).collect();
    let committed = Arc::new(AtomicU32::new(0));
    let mut clients = JoinSet::new();
    for place in 0..3 {
        let mut addresses = addresses.clone();
        addresses.rotate_left(place);
        clients.spawn(commit(addresses, messages, committed.clone()));
    }
    let some = async {
        while committed.load(Ordering::Relaxed) == 0 {
            sleep(Duration::from_millis(5)).await;
        }
    };
    // Others are on their way then.
    let some = timeout(COMMITTED_MAX, some).await;
    some.expect("one is committed");
    kill(&mut brokers[first]);
    let (mut confirmed, mut unknown) = (0, 0);
    while let Some(done) = clients.join_next().await {
        let done = done.expect("it ends");
        (confirmed, unknown) = (confirmed + done.0, unknown + done.1);
    }
    brokers[first] = members.start(first);
    let client = session(&brokers[first]).await;
    let mut counts = BTreeSet::new();
    for queue in 0..queues {
        counts.insert(query(&client, &queue.to_string()).await.message_count);
    }
    let messages = u32::try_from(messages).expect("few");
    println!(
        "{confirmed} commits of {messages} messages to {queues} queues, {unknown} unknown: {counts:?}"
    );
    let [count] = counts.iter().copied().collect::<Vec<_>>()[..] else {
        panic!("queues have some of a transaction: {counts:?}");
    };
    let (whole, rest) = (count / messages, count % messages);
    assert_eq!(rest, 0, "half a transaction: {count} messages");
    assert!(
        (confirmed..=confirmed + unknown).contains(&whole),
        "{whole}"
    );
}
