//! Three brokers that act as one: any of them shows and changes the same.

use serde_json::{Value as Json, json};

use crate::http::{self, Answer, Managed};
use crate::members::Members;
use crate::server_support::{Broker, until};

fn start(members: &Members) -> Vec<Managed> {
    members.start_all().into_iter().map(Managed::of).collect()
}

fn kill(broker: &mut Broker) {
    broker.signal("KILL");
    broker.wait();
}

#[test]
fn what_one_member_was_asked_for_all_members_show() {
    let all = start(&Members::new(3, &["--http-port", "0"]));
    let document = json!({
        "queues": [{"name": "q"}],
        "bindings": [{"source": "amq.topic", "destination": "q", "routing_key": "a"}],
    });
    assert_eq!(all[0].post("/api/definitions", &document).status, 200);
    for one in &all {
        assert_eq!(one.shown("/api/queues/%2F/q")["durable"], true);
        let nodes = one.shown("/api/nodes");
        let nodes = nodes.as_array().expect("a list");
        assert_eq!(
            nodes.iter().filter(|node| node["running"] == true).count(),
            3
        );
        assert_eq!(
            nodes.iter().filter(|node| node["is_self"] == true).count(),
            1
        );
    }
    assert_eq!(all[1].delete("/api/queues/%2F/q").status, 204);
    for one in &all {
        one.get("/api/queues/%2F/q").refused(404);
    }
}

#[test]
fn a_connection_is_closed_through_any_member() {
    let all = start(&Members::new(3, &["--http-port", "0"]));
    let mut client = all[2].client("a");
    let connections = all[0].shown("/api/connections");
    let name = connections[0]["name"].as_str().expect("a name");
    assert_eq!(
        all[1].delete(&format!("/api/connections/{name}")).status,
        204
    );
    let (code, text) = client.closed();
    assert_eq!((code, text.as_str()), (320, "Closed by Management Request"));
}

#[test]
fn a_minority_shows_and_changes_nothing_and_says_so() {
    let members = Members::new(3, &["--http-port", "0"]);
    let mut all = start(&members);
    kill(&mut all[1].broker);
    kill(&mut all[2].broker);
    let refused = all[0].get("/api/queues").refused(503);
    assert!(refused.contains("quorum"), "{refused}");
    all[0].put("/api/queues/%2F/q", &json!({})).refused(503);
    all[0].get("/api/health/ready").refused(503);
    assert_eq!(all[0].get("/api/health/alive").status, 200);
    all[1] = Managed::of(members.start(1));
    until("it shows again", || all[0].get("/api/queues").status == 200);
}

#[test]
fn a_member_is_not_taken_out_without_a_quorum_and_that_is_said() {
    let members = Members::new(3, &["--http-port", "0"]);
    let mut all = start(&members);
    let names = names(&all);
    kill(&mut all[1].broker);
    kill(&mut all[2].broker);
    for gone in &names[1..] {
        let refused = all[0].delete(&format!("/api/nodes/{gone}")).refused(503);
        assert!(refused.contains("quorum"), "{refused}");
        assert!(!refused.contains("may still be done"), "{refused}");
    }
    // Nor later, when there is one again: whoever asked was told that it was not done.
    for place in [1, 2] {
        all[place] = Managed::of(members.start(place));
    }
    until_voters(&all[0], 3);
    let ours: Vec<String> = parts(&all[1]).into_iter().map(|(name, ..)| name).collect();
    assert!(names.iter().all(|name| ours.contains(name)), "{ours:?}");
    assert_eq!(all[2].put("/api/queues/%2F/q", &json!({})).status, 201);
}

/// Calls a method of the cluster's object at a member.
fn call(managed: &Managed, method: &str, arguments: &Json) -> Answer {
    let cluster = "org.apache.qpid.cluster:cluster:org.apache.qpid.broker:broker:amqp-broker";
    managed.post(&format!("/api/objects/{cluster}/{method}"), arguments)
}

fn id(managed: &Managed) -> String {
    let shown = managed.shown("/api/classes/cluster/objects");
    let id = &shown[0]["properties"]["memberID"];
    id.as_str()
        .unwrap_or_else(|| panic!("no identity in {shown}"))
        .to_owned()
}

#[test]
fn any_member_is_asked_to_end_all_of_them() {
    let mut all = start(&Members::new(3, &["--http-port", "0"]));
    assert_eq!(call(&all[1], "stopFullCluster", &json!({})).status, 200);
    for one in &mut all {
        assert!(one.broker.wait().success());
    }
}

#[test]
fn a_member_is_asked_to_end_another_one() {
    let mut all = start(&Members::new(3, &["--http-port", "0"]));
    let name = id(&all[2]);
    assert!(names(&all).contains(&name), "it has one name: {name}");
    // Who drops the zeros in front means the same.
    let other = json!({"brokerId": name.trim_start_matches('0')});
    assert_eq!(call(&all[0], "stopClusterNode", &other).status, 200);
    assert!(all[2].broker.wait().success());
    assert!(all[0].broker.is_running() && all[1].broker.is_running());
    assert_eq!(all[1].put("/api/queues/%2F/q", &json!({})).status, 201);
    let nobody = call(&all[0], "stopClusterNode", &json!({"brokerId": "nobody"}));
    assert!(nobody.refused(400).contains("no member"), "{nobody:?}");
}

/// The members that take part, by what one of them shows: name, role and whether it leads.
fn parts(managed: &Managed) -> Vec<(String, String, bool)> {
    let shown = managed.shown("/api/nodes");
    let nodes = shown.as_array().expect("a list").iter();
    let parts = nodes.filter_map(|node| {
        let name = node["name"].as_str()?.to_owned();
        let role = node["role"].as_str()?.to_owned();
        Some((name, role, node["is_leader"] == true))
    });
    parts.collect()
}

/// What each is called.
fn names(all: &[Managed]) -> Vec<String> {
    all.iter().map(Managed::node).collect()
}

/// Waits until a member shows that so many count, and nobody else takes part.
fn until_voters(managed: &Managed, count: usize) {
    until(&format!("{count} members count"), || {
        let shown = managed.shown("/api/nodes");
        let nodes = shown.as_array().expect("a list").iter();
        let is_leaving = nodes.clone().any(|node| node["is_leaving"] == true);
        let voters = nodes.clone().filter(|node| node["role"] == "voter");
        !is_leaving && voters.count() == count && nodes.len() == count
    });
}

#[test]
fn members_show_who_counts_and_who_leads_and_where_clients_find_them() {
    let url = "amqp:tcp:127.0.0.1:5672";
    let options = ["--http-port", "0", "--cluster-url", url];
    let all = start(&Members::new(3, &options));
    until("all know who leads", || {
        all.iter()
            .all(|one| parts(one).iter().filter(|part| part.2).count() == 1)
    });
    for one in &all {
        assert_eq!(parts(one), parts(&all[0]));
        assert_eq!(parts(one).len(), 3);
    }
    until("clients are told of all", || {
        let shown = all[0].shown("/api/nodes");
        let nodes = shown.as_array().expect("a list");
        nodes.iter().all(|node| node["url"] == url)
    });
}

#[test]
fn a_member_that_runs_is_taken_out_through_another_and_ends_and_the_others_go_on() {
    let members = Members::new(3, &["--http-port", "0"]);
    let mut all = start(&members);
    let names = names(&all);
    let mut client = all[2].client("a");
    client.declare(0, "q");
    client.publish(0, "q", b"one");
    client.subscribe(0, "q", ferrymq::wire::AcceptMode::EXPLICIT);
    client.receive();
    let path = format!("/api/nodes/{}", names[2]);
    assert_eq!(all[0].delete(&path).status, 202);
    assert!(all[2].broker.wait().success(), "{:#?}", all[2].broker.log());
    all[2].broker.log_line("taken this member out");
    until_voters(&all[1], 2);
    // What its client had is there for others, and a majority is one of two fewer.
    until("the message is back", || {
        all[1].shown("/api/queues/%2F/q")["messages_ready"] == 1
    });
    all[1].delete(&path).refused(404);
}

#[test]
fn the_leader_is_taken_out_and_another_leads() {
    let members = Members::new(3, &["--http-port", "0"]);
    let mut all = start(&members);
    let names = names(&all);
    let mut led = None;
    until("one leads", || {
        led = parts(&all[0]).into_iter().find(|part| part.2);
        led.is_some()
    });
    let (name, ..) = led.expect("it was found");
    let place = names.iter().position(|known| *known == name);
    let place = place.expect("it is one of them");
    let path = format!("/api/nodes/{name}");
    assert_eq!(all[(place + 1) % 3].delete(&path).status, 202);
    assert!(all[place].broker.wait().success());
    let other = &all[(place + 2) % 3];
    until_voters(other, 2);
    assert_eq!(other.put("/api/queues/%2F/q", &json!({})).status, 201);
}

#[test]
fn of_two_members_one_is_taken_out_and_the_other_goes_on_alone() {
    let mut all = start(&Members::new(2, &["--http-port", "0"]));
    let names = names(&all);
    let path = format!("/api/nodes/{}", names[1]);
    assert_eq!(all[1].delete(&path).status, 202);
    assert!(all[1].broker.wait().success());
    until_voters(&all[0], 1);
    assert_eq!(all[0].put("/api/queues/%2F/q", &json!({})).status, 201);
    let last = format!("/api/nodes/{}", names[0]);
    let why = all[0].delete(&last).refused(409);
    assert!(why.contains("no member would be left"), "{why}");
    all[0].delete("/api/nodes/1").refused(404);
    all[0].delete("/api/nodes/nobody").refused(404);
}

#[test]
fn a_member_that_is_down_is_taken_out_and_comes_back_only_as_a_new_one() {
    let mut members = Members::new(3, &["--http-port", "0", "--cluster-down-after", "500ms"]);
    let mut all = start(&members);
    let path = format!("/api/nodes/{}", names(&all)[2]);
    kill(&mut all[2].broker);
    assert_eq!(all[0].delete(&path).status, 202);
    until_voters(&all[1], 2);
    let mut old = members.launch(2);
    old.log_line("taken this member out");
    assert!(!old.wait().success());
    members.wipe(2);
    all[2] = Managed::of(members.start(2));
    until_voters(&all[0], 3);
}

#[test]
fn a_member_that_has_seen_itself_taken_out_says_so_however_often_it_is_started() {
    let members = Members::new(3, &["--http-port", "0"]);
    let mut all = start(&members);
    let path = format!("/api/nodes/{}", names(&all)[2]);
    assert_eq!(all[0].delete(&path).status, 202);
    assert!(all[2].broker.wait().success());
    for _ in 0..3 {
        let mut old = members.launch(2);
        old.log_line("taken this member out");
        assert!(!old.wait().success());
    }
}

#[test]
fn who_is_second_to_make_what_another_makes_is_told_that_it_is_there_and_the_same() {
    let all = start(&Members::new(3, &["--http-port", "0"]));
    for round in 0..5 {
        let queue = format!("/api/queues/%2F/q{round}");
        let exchange = format!("/api/exchanges/%2F/e{round}");
        let put = |address, path: &str, body: &str| {
            http::ask_at(address, ("PUT", path), http::JSON, body).status
        };
        let made: Vec<(u16, u16)> = std::thread::scope(|scope| {
            let puts = (0..9).map(|n| {
                let (address, queue, exchange) = (all[n % 3].address(), &queue, &exchange);
                scope.spawn(move || {
                    let queue = put(address, queue, "{}");
                    (queue, put(address, exchange, r#"{"type": "fanout"}"#))
                })
            });
            let puts: Vec<_> = puts.collect();
            let joined = puts.into_iter().map(|put| put.join().expect("no panic"));
            joined.collect()
        });
        for statuses in [
            made.iter().map(|made| made.0).collect::<Vec<_>>(),
            made.iter().map(|made| made.1).collect(),
        ] {
            let first = statuses.iter().filter(|status| **status == 201);
            assert_eq!(first.count(), 1, "{statuses:?}");
            let second = statuses.iter().filter(|status| **status == 204);
            assert_eq!(second.count(), 8, "{statuses:?}");
        }
    }
}

#[test]
fn the_exchange_that_tells_where_members_are_is_no_definition_and_its_bindings_are() {
    let url = "amqp:tcp:127.0.0.1:5672";
    let options = ["--http-port", "0", "--cluster-url", url];
    let all = start(&Members::new(3, &options));
    until("it is there", || {
        all[0].get("/api/exchanges/%2F/amq.failover").status == 200
    });
    let document = json!({
        "queues": [{"name": "q"}],
        "bindings": [{"source": "amq.failover", "destination": "q", "routing_key": "k"}],
    });
    // It looks at no key, so that the second time finds nothing to do.
    for _ in 0..2 {
        let answer = all[1].post("/api/definitions?prune=true", &document);
        assert_eq!(answer.status, 200, "{answer:?}");
    }
    let exported = all[2].shown("/api/definitions");
    let count = |what: &str| exported[what].as_array().map(Vec::len);
    assert_eq!((count("exchanges"), count("bindings")), (Some(0), Some(1)));
    assert_eq!(all[0].post("/api/definitions", &exported).status, 200);
}
