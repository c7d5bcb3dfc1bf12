//! Whichever member is asked, management sees one broker.

use ferrymq::client::{Client, Options, Subscription, unique_name};
use ferrymq::wire::url::Url;
use ferrymq::wire::{Map, Value};

use super::console::{Console, list, listen, next, object_name, session as listener};
use super::faults::kill;
use super::members::Members;
use crate::durable_support::{declare, durable_queue, session};
use crate::server_support::{Broker, PATIENCE};

/// How a member names a queue, in whole.
async fn named(broker: &Broker, queue: &str) -> Map {
    let mut console = Console::open(broker).await;
    let name = format!("org.apache.qpid.broker:queue:{queue}");
    let found = console.named(&name).await;
    let [object] = &found[..] else {
        panic!("{found:?}");
    };
    match object.get("_object_id") {
        Some(Value::Map(id)) => id.clone(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn objects_are_called_the_same_by_all_members_however_often_one_has_started() {
    let members = Members::new(3, &[]);
    let mut brokers = members.start_all();
    let client = session(&brokers[0]).await;
    declare(&client, durable_queue("q")).await;
    let before = named(&brokers[0], "q").await;
    for _ in 0..2 {
        kill(&mut brokers[2]);
        brokers[2] = members.start(2);
    }
    for broker in &brokers {
        assert_eq!(named(broker, "q").await, before);
    }
}

/// Waits until a connection of a client with this peer's port is told of, as one that is there or is gone.
async fn told_of(told: &mut Subscription, port: &str, is_gone: bool) {
    let is_meant = |object: &Map| {
        let deleted = object.get("_delete_ts").and_then(Value::as_u64);
        object_name(object).ends_with(port) && deleted.is_some_and(|at| (at > 0) == is_gone)
    };
    let all = async { while !list(&next(told).await.body_bytes()).iter().any(is_meant) {} };
    let in_time = tokio::time::timeout(PATIENCE, all).await;
    in_time.unwrap_or_else(|_| panic!("nobody tells of {port}, gone: {is_gone}"));
}

/// The connections that a member knows of.
async fn connections(broker: &Broker) -> Vec<String> {
    let mut console = Console::open(broker).await;
    let names = console.names("connection").await;
    names.into_iter().collect()
}

#[tokio::test]
async fn what_goes_with_the_member_that_tells_is_told_by_another() {
    let members = Members::new(
        3,
        &["--mgmt-pub-interval", "1", "--cluster-down-after", "1"],
    );
    let mut brokers = members.start_all();
    // The agent of the member with the smallest id tells for all.
    let ids = brokers.iter_mut().map(|broker| {
        let line = broker.log_line("This is member ");
        let (_, id) = line.rsplit_once(' ').expect("its id");
        u64::from_str_radix(id, 16).expect("a number")
    });
    let ids: Vec<u64> = ids.collect();
    let first = (0..3).min_by_key(|n| ids[*n]).expect("there are three");
    let (_client, listening) = listener(&brokers[(first + 1) % 3]).await;
    let key = "agent.ind.data.org_apache_qpid_broker.connection.#";
    let (_, mut told) = listen(&listening, "qmf.default.topic", key).await;
    let before = connections(&brokers[(first + 1) % 3]).await;
    let client = session(&brokers[first]).await;
    let now = connections(&brokers[first]).await;
    let at = format!(":{}-", brokers[first].address().port());
    let mut its = now
        .iter()
        .filter(|name| name.contains(&at) && !before.contains(name));
    let its = its.next().expect("it is connected");
    let (_, port) = its.rsplit_once(':').expect("a port");
    let port = format!(":{port}");
    told_of(&mut told, &port, false).await;
    kill(&mut brokers[first]);
    told_of(&mut told, &port, true).await;
    drop(client);
}

/// Whether somebody is let in at a member.
async fn is_let_in(broker: &Broker) -> Option<Client> {
    let url = Url::parse(&broker.address().to_string()).expect("a URL");
    Client::connect(&url, &Options::default()).await.ok()
}

#[tokio::test]
async fn a_limit_of_connections_holds_for_all_members_together() {
    let members = Members::new(3, &["--connection-limit-per-user", "3"]);
    let brokers = members.start_all();
    let mut clients = Vec::new();
    for broker in &brokers {
        let client = is_let_in(broker).await.expect("there are two");
        let session = client.session(&unique_name("limit")).await;
        clients.push((client, session.expect("it is let in")));
    }
    // What the last has done comes behind what the others did: its member knows of them.
    declare(&clients[2].1, durable_queue("q")).await;
    assert!(is_let_in(&brokers[2]).await.is_none(), "it is the fourth");
    let (first, _) = clients.remove(0);
    first.close().await;
    let room = async { while is_let_in(&brokers[2]).await.is_none() {} };
    let room = tokio::time::timeout(PATIENCE, room).await;
    room.expect("the place of one that has ended is not free");
}
