//! How a group begins, and who comes to it later.

use std::thread;
use std::time::Duration;

use ferrymq::client::{Client, Flow, Options, Subscription};
use ferrymq::cluster::lockstep::dice::Dice;
use ferrymq::wire::url::Url;
use ferrymq::wire::{AcceptMode, Command, MessageSubscribe, Value};

use super::members::{Members, ended_well};
use crate::durable_support::{
    binding, bodies, call, declare, durable_queue, number, publish_all, query, session,
};
use crate::server_support::{Broker, PATIENCE};

/// One time in so many a member that comes back has lost its disk.
const WIPED: u64 = 3;

/// The group that a member says it takes part in.
fn group(broker: &mut Broker) -> String {
    broker.log_line("leads in term");
    // Formed, joined, or gone on in: each line names it behind the same word.
    let lines = broker.log().iter();
    let mut named = lines.filter_map(|line| line.split_once("] notice ")?.1.split_once(" group "));
    let (_, rest) = named.next().expect("it is named");
    rest.split(' ').next().expect("a word").to_owned()
}

#[tokio::test]
async fn whenever_all_are_killed_while_a_group_is_formed_one_group_comes_of_it() {
    let mut dice = Dice::new(3);
    for _ in 0..6 {
        let members = Members::new(3, &[]);
        for _ in 0..2 {
            let mut brokers: Vec<_> = (0..3).map(|n| members.launch(n)).collect();
            // Somewhere in what takes a second or so.
            thread::sleep(Duration::from_millis(dice.below(1500)));
            brokers.iter_mut().for_each(|broker| {
                broker.signal("KILL");
                broker.wait();
            });
        }
        let mut brokers = members.start_all();
        let first = group(&mut brokers[0]);
        for broker in &mut brokers {
            assert_eq!(group(broker), first);
        }
        let client = session(&brokers[0]).await;
        declare(&client, durable_queue("q")).await;
        publish_all(&client, "q", &bodies(0, 1)).await;
        let other = session(&brokers[2]).await;
        assert_eq!(query(&other, "q").await.message_count, 1);
    }
}

#[test]
fn fewer_than_are_needed_form_no_group_and_end_well() {
    let members = Members::new(3, &[]);
    let mut brokers: Vec<_> = (0..2).map(|n| members.launch(n)).collect();
    for broker in &mut brokers {
        broker.log_line("2 members with empty stores are there of 3 that have to be");
    }
    for broker in &mut brokers {
        broker.signal("TERM");
        ended_well(broker);
        let log = broker.log().join("\n");
        assert!(
            !log.contains("Formed") && !log.contains("Listening"),
            "{log}"
        );
    }
}

#[test]
fn members_that_list_only_the_others_are_told_to_list_themselves() {
    let members = Members::new(3, &[]);
    let launch = |n: usize| {
        let mut options = members.options(n);
        let at = options
            .iter()
            .position(|option| option == "--cluster-peers");
        let others = (0..3).filter(|other| *other != n);
        let others = others.map(|other| format!("127.0.0.1:{}", members.ports[other]));
        options[at.expect("it has peers") + 1] = others.collect::<Vec<_>>().join(",");
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        Broker::launch_on(&options)
    };
    let mut brokers: Vec<_> = (0..3).map(launch).collect();
    for broker in &mut brokers {
        broker.log_line("found itself at none of --cluster-peers");
    }
    for broker in &mut brokers {
        broker.signal("TERM");
        ended_well(broker);
    }
}

#[tokio::test]
async fn a_majority_that_is_enough_forms_a_group_and_the_last_joins_it() {
    let members = Members::new(3, &["--cluster-size", "2"]);
    let mut brokers: Vec<_> = (0..2).map(|n| members.launch(n)).collect();
    for (member, broker) in brokers.iter_mut().enumerate() {
        members.serves(member, broker);
    }
    let client = session(&brokers[0]).await;
    declare(&client, durable_queue("q")).await;
    publish_all(&client, "q", &bodies(0, 10)).await;
    let mut last = members.start(2);
    let other = session(&last).await;
    assert_eq!(query(&other, "q").await.message_count, 10);
    last.log_line("learning: none");
}

#[tokio::test]
async fn a_member_comes_back_at_another_address_and_is_found() {
    let mut members = Members::new(3, &[]);
    let mut brokers = members.start_all();
    let client = session(&brokers[0]).await;
    declare(&client, durable_queue("q")).await;
    brokers[2].signal("KILL");
    brokers[2].wait();
    // The others still list the address that it had.
    members.ports[2] = Members::new(1, &[]).ports[0];
    brokers[2] = members.start(2);
    publish_all(&client, "q", &bodies(0, 10)).await;
    let back = session(&brokers[2]).await;
    publish_all(&back, "q", &bodies(10, 10)).await;
    assert_eq!(query(&client, "q").await.message_count, 20);
}

#[tokio::test]
async fn clients_are_told_where_all_members_are() {
    let members = Members::new(3, &[]);
    let url = |n: usize| format!("amqp:tcp:host-{n}:567{n}");
    let mut brokers: Vec<_> = (0..3)
        .map(|n| {
            let mut options = members.options(n);
            options.extend(["--cluster-url".to_owned(), url(n)]);
            let options: Vec<&str> = options.iter().map(String::as_str).collect();
            Broker::launch_on(&options)
        })
        .collect();
    for (member, broker) in brokers.iter_mut().enumerate() {
        members.serves(member, broker);
    }
    let own = Url::parse(&brokers[1].address().to_string()).expect("a URL");
    let expected: Vec<String> = (0..3).map(url).collect();
    // Members hear of each other's URLs one by one.
    loop {
        let client = Client::connect(&own, &Options::default()).await;
        let client = client.expect("it lets us in");
        let known = client.known_hosts().iter();
        let mut known: Vec<String> = known.map(|url| url.as_str().to_owned()).collect();
        assert_eq!(known.first(), Some(&expected[1]), "its own comes first");
        known.sort();
        if known == expected {
            break;
        }
        assert!(known.iter().all(|url| expected.contains(url)), "{known:?}");
        assert!(brokers.iter_mut().all(Broker::is_running));
    }
}

/// The members that a client was told of last, as it is told of others.
async fn told(subscription: &mut Subscription) -> Vec<String> {
    let delivery = subscription.next().await.expect("it is told");
    let properties = delivery.message_properties().expect("properties");
    let headers = properties.application_headers.expect("headers");
    let Some(Value::Array(list)) = headers.get("amq.failover") else {
        panic!("no list: {headers:?}");
    };
    let mut urls: Vec<String> = list.strs().map(str::to_owned).collect();
    urls.sort();
    urls
}

#[tokio::test]
async fn clients_are_told_when_a_member_goes_and_when_it_comes_back() {
    let mut members = Members::new(3, &["--cluster-down-after", "1"]);
    let url = |n: usize| format!("amqp:tcp:host-{n}:567{n}");
    let launch = |members: &Members, n: usize| {
        let mut options = members.options(n);
        options.extend(["--cluster-url".to_owned(), url(n)]);
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        Broker::launch_on(&options)
    };
    let mut brokers: Vec<_> = (0..3).map(|n| launch(&members, n)).collect();
    for (member, broker) in brokers.iter_mut().enumerate() {
        members.serves(member, broker);
    }
    let session = session(&brokers[0]).await;
    declare(&session, durable_queue("told")).await;
    let bind = binding("amq.failover", "told", "");
    call(&session, Command::ExchangeBind(bind)).await;
    let subscribe = MessageSubscribe {
        queue: "told".into(),
        accept_mode: AcceptMode::NONE,
        ..MessageSubscribe::default()
    };
    let subscribed = session.subscribe(subscribe, Flow::Window(10)).await;
    let mut subscription = subscribed.expect("a subscription");
    let all: Vec<String> = (0..3).map(url).collect();
    while told(&mut subscription).await != all {}
    let own = Url::parse(&brokers[1].address().to_string()).expect("a URL");
    for time in 1..=number("FERRYMQ_COMINGS", 30) {
        brokers[2].signal("KILL");
        brokers[2].wait();
        while told(&mut subscription).await != all[..2] {}
        known_are(&own, &all[..2]).await;
        // Now and then another comes in its place, which changes who takes part.
        if time % WIPED == 0 {
            members.wipe(2);
        }
        brokers[2] = launch(&members, 2);
        while told(&mut subscription).await != all {}
        known_are(&own, &all).await;
    }
    assert!(brokers.iter_mut().all(Broker::is_running));
}

/// Waits until who opens a connection to a member is told of these members, and of no others: it hears of
/// them as the members do.
async fn known_are(own: &Url, expected: &[String]) {
    let told = async {
        loop {
            let client = Client::connect(own, &Options::default()).await;
            let client = client.expect("it lets us in");
            let known = client.known_hosts().iter();
            let mut known: Vec<String> = known.map(|url| url.as_str().to_owned()).collect();
            known.sort();
            if known == expected {
                return;
            }
        }
    };
    let told = tokio::time::timeout(PATIENCE, told).await;
    told.unwrap_or_else(|_| panic!("clients are told of others than {expected:?}"));
}

#[test]
fn what_is_for_clusters_only_is_refused_without_one() {
    let mut broker = Broker::launch_on(&["--port", "0", "--cluster-name", "green"]);
    assert!(!broker.wait().success());
    broker.log_line("--cluster-name is for --group raft");
    let mut broker = Broker::launch_on(&["--port", "0", "--group", "raft"]);
    assert!(!broker.wait().success());
    broker.log_line("--cluster-listen and --cluster-peers");
}
