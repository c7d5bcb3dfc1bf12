//! Members are killed again and again amid load: what was confirmed is delivered, once but for what
//! may come twice, and in order.
//!
//! `FERRYMQ_RAFT_KILLS` says how often (4), `FERRYMQ_SEED` where the random numbers begin, else the
//! commit.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ferrymq::client::{Client, Error, Flow, Options, Session, unique_name};
use ferrymq::cluster::lockstep::dice::Dice;
use ferrymq::wire::url::Url;
use ferrymq::wire::{MessageSubscribe, SequenceSet};
use parking_lot::Mutex;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::members::{Members, leader};
use crate::durable_support::{declare, durable_queue, got, persistent, session};
use crate::seed;
use crate::server_support::{Broker, until};

/// Publishers, each with a queue and a consumer of its own.
const LANES: usize = 3;

/// Messages of one confirmation.
const BATCH: u32 = 20;

/// Messages that are confirmed and not delivered, at which a publisher pauses.
const AHEAD_MAX: usize = 1000;

/// Confirmations between two kills, and while members are gone that the others can do without.
const CONFIRMED_BETWEEN: usize = 400;

/// What became of one publisher's messages, by their numbers.
#[derive(Default)]
struct Lane {
    /// How often each was sent.
    sent: BTreeMap<u32, u32>,
    confirmed: BTreeSet<u32>,
    /// As they came, with their flags.
    delivered: Vec<(u32, bool)>,
    seen: BTreeSet<u32>,
    /// How often it was confirmed that one was accepted.
    accepted: BTreeMap<u32, u32>,
}

impl Lane {
    /// What is wrong with it at the end.
    fn check(&self) {
        let lost: Vec<_> = self.confirmed.difference(&self.seen).collect();
        assert!(lost.is_empty(), "confirmed and lost: {lost:?}");
        for (n, times) in &self.accepted {
            let sent = self.sent[n];
            assert!(*times <= sent, "{n}: sent {sent} times, accepted {times}");
        }
        let (mut last, mut known) = (None, BTreeSet::new());
        for (n, is_redelivered) in &self.delivered {
            let is_first = known.insert(*n);
            if is_first && !is_redelivered {
                assert!(last < Some(*n), "{n} came behind {last:?}");
                last = Some(*n);
            }
        }
    }
}

#[derive(Default)]
struct Shared {
    /// Where clients find the members that are up.
    addresses: Mutex<Vec<Option<SocketAddr>>>,
    lanes: [Mutex<Lane>; LANES],
    /// No more is to be published.
    is_over: AtomicBool,
}

impl Shared {
    fn confirmed(&self) -> usize {
        let lanes = self.lanes.iter();
        lanes.map(|lane| lane.lock().confirmed.len()).sum()
    }

    /// Whether all that was confirmed was delivered.
    fn is_done(&self) -> bool {
        self.lanes.iter().all(|lane| {
            let lane = lane.lock();
            lane.confirmed.is_subset(&lane.seen)
        })
    }

    /// A session at one member after the other, until one lets us in.
    async fn session(&self, turn: &mut usize) -> Session {
        loop {
            *turn += 1;
            let address = {
                let addresses = self.addresses.lock();
                addresses[*turn % addresses.len()]
            };
            if let Some(address) = address {
                let url = Url::parse(&address.to_string()).expect("an address is a URL");
                if let Ok(client) = Client::connect(&url, &Options::default()).await
                    && let Ok(session) = client.session(&unique_name("lane")).await
                {
                    return session;
                }
            }
            sleep(Duration::from_millis(20)).await;
        }
    }
}

async fn publisher(shared: Arc<Shared>, number: usize) {
    let (lane, queue) = (&shared.lanes[number], format!("q{number}"));
    let (mut turn, mut first) = (number, 0);
    loop {
        let session = shared.session(&mut turn).await;
        loop {
            if shared.is_over.load(Ordering::Relaxed) {
                return;
            }
            let ahead = {
                let lane = lane.lock();
                lane.confirmed.len().saturating_sub(lane.seen.len())
            };
            if ahead > AHEAD_MAX {
                sleep(Duration::from_millis(10)).await;
                continue;
            }
            if publish(&session, &queue, lane, first).await.is_err() {
                break;
            }
            lane.lock().confirmed.extend(first..first + BATCH);
            first += BATCH;
        }
    }
}

async fn publish(
    session: &Session,
    queue: &str,
    lane: &Mutex<Lane>,
    first: u32,
) -> Result<(), Error> {
    for n in first..first + BATCH {
        *lane.lock().sent.entry(n).or_default() += 1;
        let message = persistent(queue, n.to_string());
        session.publish("", &message).await?;
    }
    session.sync().await
}

async fn consumer(shared: Arc<Shared>, number: usize) {
    let mut turn = number + 1;
    loop {
        let session = shared.session(&mut turn).await;
        // It ends with its member; another is found then.
        let _ = consume(&session, &shared.lanes[number], &format!("q{number}")).await;
    }
}

async fn consume(session: &Session, lane: &Mutex<Lane>, queue: &str) -> Result<(), Error> {
    let subscribe = MessageSubscribe {
        queue: queue.into(),
        ..MessageSubscribe::default()
    };
    let mut subscription = session.subscribe(subscribe, Flow::Window(100)).await?;
    loop {
        let (mut ids, mut numbers) = (SequenceSet::new(), Vec::new());
        let mut next = Some(subscription.next().await?);
        while let Some(delivery) = next {
            let (body, is_redelivered) = got(&delivery);
            let text = String::from_utf8(body).expect("a number");
            let n = text.parse().expect("a number");
            {
                let mut lane = lane.lock();
                lane.delivered.push((n, is_redelivered));
                lane.seen.insert(n);
            }
            ids.insert(delivery.id);
            numbers.push(n);
            next = subscription.try_next();
        }
        session.accept(ids).await?.await?;
        for n in numbers {
            *lane.lock().accepted.entry(n).or_default() += 1;
        }
    }
}

/// Who is killed at once.
fn victims(dice: &mut Dice, brokers: &mut [Broker]) -> Vec<usize> {
    match dice.below(10) {
        0 => vec![0, 1, 2],
        1 | 2 => {
            let spared = dice.below(3) as usize;
            (0..3).filter(|n| *n != spared).collect()
        }
        3..6 => vec![leader(brokers)],
        _ => vec![dice.below(3) as usize],
    }
}

/// Waits until so many more are confirmed.
fn go_on(shared: &Shared) {
    let enough = shared.confirmed() + CONFIRMED_BETWEEN;
    until("more is confirmed", || shared.confirmed() >= enough);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_confirmed_is_delivered_however_often_members_are_killed() {
    let kills = std::env::var("FERRYMQ_RAFT_KILLS").ok();
    let kills: u32 = kills.map_or(4, |text| text.parse().expect("a number"));
    let seed = seed::of_this_run(77);
    println!("seed {seed}");
    let mut dice = Dice::new(seed);
    let members = Members::new(3, &["--cluster-down-after", "1"]);
    let mut brokers = members.start_all();
    let shared = Arc::new(Shared::default());
    let address = |broker: &Broker| Some(broker.address());
    *shared.addresses.lock() = brokers.iter().map(address).collect();
    let definer = session(&brokers[0]).await;
    let (mut publishers, mut consumers) = (JoinSet::new(), JoinSet::new());
    for lane in 0..LANES {
        declare(&definer, durable_queue(&format!("q{lane}"))).await;
        publishers.spawn(publisher(shared.clone(), lane));
        consumers.spawn(consumer(shared.clone(), lane));
    }
    for _ in 0..kills {
        go_on(&shared);
        let victims = victims(&mut dice, &mut brokers);
        for victim in &victims {
            brokers[*victim].signal("KILL");
            shared.addresses.lock()[*victim] = None;
        }
        victims.iter().for_each(|victim| {
            brokers[*victim].wait();
        });
        if victims.len() == 1 {
            go_on(&shared);
        }
        for victim in &victims {
            brokers[*victim] = members.launch(*victim);
        }
        for victim in victims {
            members.serves(victim, &mut brokers[victim]);
            shared.addresses.lock()[victim] = address(&brokers[victim]);
        }
    }
    go_on(&shared);
    shared.is_over.store(true, Ordering::Relaxed);
    while publishers.join_next().await.is_some() {}
    let done = async {
        while !shared.is_done() {
            sleep(Duration::from_millis(20)).await;
        }
    };
    // What is missing then is lost.
    let _ = timeout(crate::server_support::PATIENCE, done).await;
    consumers.shutdown().await;
    shared.lanes.iter().for_each(|lane| lane.lock().check());
    println!("{kills} kills, {} confirmed, none lost", shared.confirmed());
}
