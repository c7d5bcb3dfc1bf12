//! Health, members, metrics, events.

use ferrymq::wire::Map;
use serde_json::{Value as Json, json};

use crate::durable_support::Directory;
use crate::http::Managed;
use crate::server_support::Client;

#[test]
fn a_broker_that_serves_is_alive_and_ready() {
    let managed = Managed::start();
    for path in ["/api/health/alive", "/api/health/ready"] {
        assert_eq!(managed.shown(path), json!({"status": "ok"}));
    }
}

#[test]
fn the_overview_counts_what_there_is() {
    let managed = Managed::start();
    managed.put("/api/queues/%2F/q", &json!({}));
    let mut client = managed.client("a");
    client.publish(0, "q", b"one");
    client.sync(0);
    let overview = managed.shown("/api/overview");
    assert_eq!(overview["object_totals"]["queues"], 1);
    assert_eq!(overview["object_totals"]["connections"], 1);
    assert_eq!(overview["queue_totals"]["messages_ready"], 1);
    let node = overview["node"].as_str().expect("a name");
    let member = managed.shown(&format!("/api/nodes/{node}"));
    assert_eq!(
        (&member["is_self"], &member["connections"]),
        (&json!(true), &json!(1))
    );
}

#[test]
fn metrics_are_written_for_prometheus_and_as_openmetrics() {
    let managed = Managed::start();
    managed.put("/api/queues/%2F/q", &json!({}));
    let mut client = managed.client("a");
    client.publish(0, "q", b"one");
    client.sync(0);
    let plain = managed.get("/metrics");
    assert!(
        plain.head.contains("text/plain; version=0.0.4"),
        "{plain:?}"
    );
    for line in [
        "rabbitmq_queues 1",
        "rabbitmq_queue_messages_ready 1",
        "ferrymq_messages_enqueued_total 1",
        "# TYPE ferrymq_messages_enqueued_total counter",
        "ferrymq_messages_discarded_total{reason=\"ttl\"} 0",
    ] {
        assert!(
            plain.body.lines().any(|found| found == line),
            "{line}: {}",
            plain.body
        );
    }
    let accept = "Accept: application/openmetrics-text; version=1.0.0\r\n";
    let open = managed.ask("GET", "/metrics", accept, "");
    assert!(
        open.head.contains("application/openmetrics-text"),
        "{open:?}"
    );
    assert!(open.body.ends_with("# EOF\n"));
    assert!(
        open.body
            .contains("# TYPE ferrymq_messages_enqueued counter\n")
    );
}

#[test]
fn detailed_metrics_have_labels_of_queues_and_none_of_connections() {
    let managed = Managed::start();
    managed.put("/api/queues/%2F/a%22b", &json!({}));
    let _client = managed.client("a");
    let all = managed.get("/metrics/detailed").body;
    let line = "rabbitmq_detailed_queue_messages{vhost=\"/\",queue=\"a\\\"b\"} 0";
    assert!(all.lines().any(|found| found == line), "{all}");
    assert!(!all.contains("connection=") && !all.contains("channel="));
    let some = managed
        .get("/metrics/detailed?family=exchange_metrics")
        .body;
    assert!(some.contains("ferrymq_detailed_exchange_messages_routed_total{"));
    assert!(!some.contains("queue=\""));
    managed.get("/metrics/detailed?family=moon").refused(400);
}

#[test]
fn events_are_told_as_they_happen() {
    let managed = Managed::start();
    let mut lines = managed.events("?name=queue", "");
    managed.put("/api/queues/%2F/q", &json!({}));
    assert!(lines.any(|line| line == "event: queueDeclare"));
    let data = lines.find_map(|line| line.strip_prefix("data: ").map(str::to_owned));
    let data: Json = serde_json::from_str(&data.expect("data")).expect("JSON");
    assert_eq!(data["arguments"]["qName"], "q");
    assert_eq!(data["arguments"]["user"], "anonymous@QPID");
}

#[test]
fn events_of_rights_are_told_too() {
    let directory = Directory::new();
    let file = directory.path().join("acl");
    let rules = "acl deny-log bob@QPID create queue name=q\nacl allow all all\n";
    std::fs::write(&file, rules).expect("written");
    let managed = Managed::with(&["--acl-file", file.to_str().expect("text")]);
    let mut lines = managed.events("?name=deny", "");
    let bob = Client::open_as(managed.broker.address(), "bob", Map::new());
    let mut bob = bob.unwrap_or_else(|closed| panic!("{closed:?}"));
    bob.attach(0, "bob");
    let declare = ferrymq::wire::QueueDeclare {
        queue: "q".into(),
        ..Default::default()
    };
    bob.ask(0, ferrymq::wire::Command::QueueDeclare(declare))
        .expect_err("it is denied");
    assert!(lines.any(|line| line == "event: deny"));
    let data = lines.find_map(|line| line.strip_prefix("data: ").map(str::to_owned));
    let data: Json = serde_json::from_str(&data.expect("data")).expect("JSON");
    assert_eq!(data["package"], "org.apache.qpid.acl");
    assert_eq!(data["arguments"]["userId"], "bob@QPID");
}
