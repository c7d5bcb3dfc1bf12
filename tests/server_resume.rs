//! Sessions that go on over lost connections, through real sockets: the line between client and broker is
//! cut again and again amid publishing and consuming, at any octet, and everything arrives once.

mod durable_support;
#[allow(dead_code)]
#[path = "server_raft/members.rs"]
mod members;
#[path = "server_resume/relay.rs"]
mod relay;
#[path = "server_resume/run.rs"]
mod run;
mod server_support;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use durable_support::{Directory, bodies, declare, durable_queue, publish_all, query, start, stop};
use ferrymq::client::{Client, Error, Options, unique_name};
use ferrymq::wire::url::Url;
use ferrymq::wire::{AcceptMode, QueueDeclare, QueueQuery, QueueQueryResult};
use members::Members;
use relay::Relay;
use run::{client_of, run, run_and_tell};
use server_support::Broker;
use tokio::sync::Notify;

const CUTS: u32 = 12;

fn at(port: u16) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], port))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_arrives_once_though_the_line_is_cut_again_and_again() {
    let broker = Broker::start(&["--session-timeout-max", "60"]);
    let relay = Relay::start(vec![broker.address()], 1, CUTS).await;
    run(&relay.url(), AcceptMode::EXPLICIT).await;
    assert_eq!(relay.cuts_left(), 0);
    assert!(relay.connections() > CUTS);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn session_is_lost_with_its_only_broker_and_its_client_goes_on() {
    let directory = Directory::new();
    let options = ["--session-timeout-max", "60"];
    let mut broker = start(&directory, &options);
    let relay = Relay::start(vec![broker.address()], 6, 0).await;
    let client = client_of(&relay.url()).await;
    let session = client
        .session_with_timeout("s", Duration::from_secs(60))
        .await;
    let session = session.expect("it attaches");
    declare(&session, durable_queue("q")).await;
    publish_all(&session, "q", &bodies(0, 3)).await;
    stop(&mut broker, "KILL");
    let broker = start(&directory, &options);
    relay.leads_to(vec![broker.address()]);
    assert_eq!(session.sync().await, Err(Error::SessionLost));
    let other = client.session("s").await.expect("its name is free");
    assert_eq!(query(&other, "q").await.message_count, 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_counts_as_accepted_when_sent_arrives_once_too() {
    let broker = Broker::start(&["--session-timeout-max", "60"]);
    let relay = Relay::start(vec![broker.address()], 2, CUTS).await;
    run(&relay.url(), AcceptMode::NONE).await;
    assert_eq!(relay.cuts_left(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_go_on_at_any_member_of_a_lockstep_group() {
    let mut options = vec!["--port", "0,0,0", "--group", "lockstep"];
    options.extend(["--lockstep-seed", "11", "--session-timeout-max", "60"]);
    let broker = Broker::start_on(&options);
    let members = broker.ports.iter().map(|port| at(*port)).collect();
    let relay = Relay::start(members, 3, CUTS).await;
    run(&relay.url(), AcceptMode::EXPLICIT).await;
    assert_eq!(relay.cuts_left(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_go_on_when_the_member_that_serves_them_is_killed() {
    let common = ["--session-timeout-max", "120", "--cluster-down-after", "1"];
    let members = Members::new(3, &common);
    let mut brokers = members.start_all();
    let addresses: Vec<String> = brokers
        .iter()
        .map(|broker| broker.address().to_string())
        .collect();
    // The first is the one that serves.
    let url = Url::parse(&addresses.join(",")).expect("addresses are a URL");
    let amid = Arc::new(Notify::new());
    let tells = amid.clone();
    let running = tokio::spawn(async move {
        run_and_tell(&url, AcceptMode::EXPLICIT, &tells).await;
    });
    amid.notified().await;
    brokers[0].signal("KILL");
    brokers[0].wait();
    running.await.expect("it ran to its end");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn session_is_lost_when_its_time_has_run_out() {
    let broker = Broker::start(&["--session-timeout-max", "1"]);
    let relay = Relay::start(vec![broker.address()], 4, 0).await;
    let client = client_of(&relay.url()).await;
    let session = client
        .session_with_timeout("s", Duration::from_secs(60))
        .await;
    let session = session.expect("it attaches");
    assert_eq!(session.timeout(), Duration::from_secs(1));
    let declare = QueueDeclare {
        queue: "own".into(),
        exclusive: true,
        auto_delete: true,
        ..Default::default()
    };
    let declared = session.call(ferrymq::wire::Command::QueueDeclare(declare));
    declared.await.expect("it declares");
    relay.hang_up();
    let direct = Url::parse(&broker.address().to_string()).expect("a URL");
    let other = client_of(&direct).await;
    let other = other.session("other").await.expect("it attaches");
    loop {
        let query = QueueQuery {
            queue: "own".into(),
        };
        let query = ferrymq::wire::Command::QueueQuery(query);
        let queue: QueueQueryResult = other.query(query).await.expect("an answer");
        if queue.queue.is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    relay.pick_up();
    assert_eq!(session.sync().await, Err(Error::SessionLost));
    // The client goes on with others, though the broker has still to take leave of the one it began.
    let (first, second) = tokio::join!(client.session("first"), client.session("second"));
    for session in [first, second] {
        let session = session.expect("it attaches");
        session.sync().await.expect("it is done");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn session_without_a_timeout_ends_with_its_connection() {
    let broker = Broker::start(&[]);
    let relay = Relay::start(vec![broker.address()], 5, 0).await;
    let client = client_of(&relay.url()).await;
    let session = client
        .session_with_timeout("s", Duration::from_secs(60))
        .await;
    let session = session.expect("it attaches");
    assert_eq!(session.timeout(), Duration::ZERO);
    relay.hang_up();
    assert!(session.sync().await.is_err());
    assert!(client.is_closed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn session_of_a_client_that_closes_is_not_kept() {
    let broker = Broker::start(&["--session-timeout-max", "60"]);
    let url = Url::parse(&broker.address().to_string()).expect("a URL");
    let client = client_of(&url).await;
    let name = unique_name("s");
    let session = client
        .session_with_timeout(&name, Duration::from_secs(60))
        .await;
    let declare = QueueDeclare {
        queue: "own".into(),
        exclusive: true,
        ..Default::default()
    };
    let declare = ferrymq::wire::Command::QueueDeclare(declare);
    session
        .expect("it attaches")
        .call(declare)
        .await
        .expect("it declares");
    client.close().await;
    let other = Client::connect(&url, &Options::default())
        .await
        .expect("it connects");
    let other = other.session("other").await.expect("it attaches");
    loop {
        let query = QueueQuery {
            queue: "own".into(),
        };
        let query = ferrymq::wire::Command::QueueQuery(query);
        let queue: QueueQueryResult = other.query(query).await.expect("an answer");
        if !queue.exclusive {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
