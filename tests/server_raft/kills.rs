//! Members are killed again and again amid load: what was confirmed is delivered, once but for what
//! may come twice, and in order. What goes through sessions that go on at other members comes once.
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
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::members::{Members, leader};
use super::relay::Relay;
use crate::durable_support::{declare, durable_queue, got, persistent, session};
use crate::seed;
use crate::server_support::{Broker, until};

/// Publishers, each with a queue and a consumer of its own. The sessions of the last lane go on over lost
/// connections, so that its clients notice nothing.
const LANES: usize = 4;
const RESUMED: usize = LANES - 1;

/// How long a session outlives its connection, and how long its client looks for a member: far longer
/// than all of them are gone.
const GOES_ON: Duration = Duration::from_secs(300);

/// A member that lets nobody in is asked again after this.
const REFUSED_PAUSE: Duration = Duration::from_millis(20);

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

    /// What is wrong with one whose sessions went on: everything came once, and nothing was sent anew.
    fn check_resumed(&self) {
        let expected: Vec<_> = (0..self.confirmed.len() as u32)
            .map(|n| (n, false))
            .collect();
        let differs = self.delivered.iter().zip(&expected).find(|(a, b)| a != b);
        assert!(differs.is_none(), "came, and was due: {differs:?}");
        assert_eq!(self.delivered.len(), expected.len());
    }
}

#[derive(Default)]
struct Shared {
    /// Where clients find the members that are up.
    addresses: Mutex<Vec<Option<SocketAddr>>>,
    lanes: [Mutex<Lane>; LANES],
    /// No more is to be published.
    is_over: AtomicBool,
    /// A member is up again.
    is_up: Notify,
    /// Something was delivered.
    came: Notify,
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

    /// Says where a member is, or that it is gone.
    fn moved(&self, member: usize, address: Option<SocketAddr>, relay: &Relay) {
        let mut addresses = self.addresses.lock();
        addresses[member] = address;
        relay.leads_to(addresses.iter().flatten().copied().collect());
        drop(addresses);
        self.is_up.notify_waiters();
    }

    /// Waits until some member is up.
    async fn some_member(&self) {
        loop {
            let is_up = self.is_up.notified();
            if self.addresses.lock().iter().any(Option::is_some) {
                return;
            }
            is_up.await;
        }
    }

    /// A session at one member after the other, until one lets us in.
    async fn session(&self, turn: &mut usize) -> Session {
        loop {
            self.some_member().await;
            *turn += 1;
            let address = {
                let addresses = self.addresses.lock();
                addresses[*turn % addresses.len()]
            };
            let Some(address) = address else { continue };
            let url = Url::parse(&address.to_string()).expect("an address is a URL");
            if let Ok(client) = Client::connect(&url, &Options::default()).await
                && let Ok(session) = client.session(&unique_name("lane")).await
            {
                return session;
            }
            sleep(REFUSED_PAUSE).await;
        }
    }
}

/// A session that goes on at any member that the relay leads to, or that these name.
async fn resumed_session(relay: &Url) -> Session {
    let options = Options {
        reconnect_timeout: GOES_ON,
        ..Options::default()
    };
    let client = Client::connect(relay, &options).await.expect("it connects");
    let name = unique_name("resumed");
    let session = client.session_with_timeout(&name, GOES_ON).await;
    let session = session.expect("it attaches");
    assert!(session.timeout() > Duration::ZERO);
    session
}

async fn publisher(shared: Arc<Shared>, number: usize, resumed: Option<Session>) {
    let (lane, queue) = (&shared.lanes[number], format!("q{number}"));
    let (mut turn, mut first) = (number, 0);
    loop {
        let session = match &resumed {
            Some(session) => session.clone(),
            None => shared.session(&mut turn).await,
        };
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
            let published = publish(&session, &queue, lane, first).await;
            if resumed.is_some() {
                published.clone().expect("the session goes on");
            }
            if published.is_err() {
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

async fn consumer(shared: Arc<Shared>, number: usize, resumed: Option<Session>) {
    let mut turn = number + 1;
    if let Some(session) = resumed {
        let ended = consume(&session, &shared, number).await;
        return ended.expect("the session goes on");
    }
    loop {
        let session = shared.session(&mut turn).await;
        // It ends with its member; another is found then.
        let _ = consume(&session, &shared, number).await;
    }
}

async fn consume(session: &Session, shared: &Shared, number: usize) -> Result<(), Error> {
    let lane = &shared.lanes[number];
    let subscribe = MessageSubscribe {
        queue: format!("q{number}").into(),
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
        shared.came.notify_one();
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
    let timeout_max = GOES_ON.as_secs().to_string();
    let options = ["--cluster-down-after", "1", "--session-timeout-max"];
    let members = Members::new(3, &[&options[..], &[&timeout_max]].concat());
    let mut brokers = members.start_all();
    let shared = Arc::new(Shared::default());
    let address = |broker: &Broker| Some(broker.address());
    *shared.addresses.lock() = brokers.iter().map(address).collect();
    let relay = Relay::start(brokers.iter().map(Broker::address).collect(), seed, 0).await;
    let definer = session(&brokers[0]).await;
    let (mut publishers, mut consumers) = (JoinSet::new(), JoinSet::new());
    for lane in 0..LANES {
        declare(&definer, durable_queue(&format!("q{lane}"))).await;
        let (mut sends, mut takes) = (None, None);
        if lane == RESUMED {
            sends = Some(resumed_session(&relay.url()).await);
            takes = Some(resumed_session(&relay.url()).await);
        }
        publishers.spawn(publisher(shared.clone(), lane, sends));
        consumers.spawn(consumer(shared.clone(), lane, takes));
    }
    for _ in 0..kills {
        go_on(&shared);
        let victims = victims(&mut dice, &mut brokers);
        for victim in &victims {
            brokers[*victim].signal("KILL");
            shared.moved(*victim, None, &relay);
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
            shared.moved(victim, address(&brokers[victim]), &relay);
        }
    }
    go_on(&shared);
    shared.is_over.store(true, Ordering::Relaxed);
    while let Some(ended) = publishers.join_next().await {
        ended.expect("a publisher ends when it is told to");
    }
    let done = async {
        while !shared.is_done() {
            shared.came.notified().await;
        }
    };
    // What is missing then is lost.
    let _ = timeout(crate::server_support::PATIENCE, done).await;
    consumers.shutdown().await;
    shared.lanes.iter().for_each(|lane| lane.lock().check());
    shared.lanes[RESUMED].lock().check_resumed();
    println!(
        "{} connections for two sessions that went on",
        relay.connections()
    );
    println!("{kills} kills, {} confirmed, none lost", shared.confirmed());
}
