//! Queues, exchanges, bindings, connections, sessions and their consumers.

use serde_json::json;

use crate::durable_support::Directory;
use crate::http::Managed;

#[test]
fn a_queue_is_made_shown_and_deleted() {
    let managed = Managed::start();
    let path = "/api/queues/%2F/a%2Fb";
    let body = json!({"durable": true, "arguments": {"qpid.max_count": 5}});
    assert_eq!(managed.put(path, &body).status, 201);
    let queue = managed.shown(path);
    assert_eq!(queue["name"], "a/b");
    assert_eq!(queue["durable"], true);
    assert_eq!(queue["arguments"], json!({"qpid.max_count": 5}));
    assert_eq!(queue["messages"], 0);
    assert_eq!(managed.delete(path).status, 204);
    managed.get(path).refused(404);
    managed.delete(path).refused(404);
}

#[test]
fn a_queue_that_is_there_and_like_that_is_left_and_another_is_a_conflict() {
    let managed = Managed::start();
    let path = "/api/queues/%2F/q";
    let body = json!({"arguments": {"qpid.max_count": 5}});
    assert_eq!(managed.put(path, &body).status, 201);
    assert_eq!(managed.put(path, &body).status, 204);
    let other = json!({"arguments": {"qpid.max_count": 6}});
    assert!(managed.put(path, &other).refused(409).contains("arguments"));
}

#[test]
fn a_queue_in_use_is_not_deleted_by_who_wants_it_unused() {
    let managed = Managed::start();
    managed.put("/api/queues/%2F/q", &json!({}));
    let mut client = managed.client("a");
    client.publish(0, "q", b"one");
    client.sync(0);
    managed
        .delete("/api/queues/%2F/q?if_empty=true")
        .refused(409);
    assert_eq!(managed.delete("/api/queues/%2F/q").status, 204);
}

#[test]
fn messages_are_counted_moved_rerouted_and_purged() {
    let managed = Managed::start();
    for name in ["a", "b"] {
        managed.put(&format!("/api/queues/%2F/{name}"), &json!({}));
    }
    managed.post("/api/bindings/%2F/e/amq.fanout/q/b", &json!({}));
    let mut client = managed.client("a");
    for _ in 0..5 {
        client.publish(0, "a", b"one");
    }
    client.sync(0);
    assert_eq!(managed.shown("/api/queues/%2F/a")["messages_ready"], 5);
    let moved = managed.post(
        "/api/queues/%2F/a/move",
        &json!({"destination": "b", "count": 2}),
    );
    assert_eq!(moved.json(), json!({"messages": 2}));
    let path = "/api/queues/%2F/a/reroute";
    let rerouted = managed.post(path, &json!({"exchange": "amq.fanout", "count": 1}));
    assert_eq!(rerouted.json(), json!({"messages": 1}));
    assert_eq!(managed.shown("/api/queues/%2F/b")["messages"], 3);
    let purged = managed.delete("/api/queues/%2F/a/contents");
    assert_eq!(purged.json(), json!({"messages": 2}));
    assert_eq!(managed.shown("/api/queues/%2F/a")["messages"], 0);
}

#[test]
fn a_new_binding_is_where_its_location_says() {
    let managed = Managed::start();
    managed.put("/api/queues/%2F/q", &json!({}));
    for (exchange, key) in [
        ("amq.fanout", "k"),
        ("amq.topic", "#.*"),
        ("amq.direct", "k"),
    ] {
        let path = format!("/api/bindings/%2F/e/{exchange}/q/q");
        let made = managed.post(&path, &json!({"routing_key": key}));
        let mut head = made.head.lines();
        let location = head.find_map(|line| {
            line.to_lowercase()
                .strip_prefix("location: ")
                .map(|_| line[10..].to_owned())
        });
        let location = location.unwrap_or_else(|| panic!("{made:?}"));
        assert_eq!(managed.get(&location).status, 200, "{location}");
    }
}

#[test]
fn exchanges_and_bindings_are_made_shown_and_deleted() {
    let managed = Managed::start();
    let exchange = "/api/exchanges/%2F/e";
    assert_eq!(managed.put(exchange, &json!({"type": "topic"})).status, 201);
    assert_eq!(managed.put(exchange, &json!({"type": "topic"})).status, 204);
    managed
        .put(exchange, &json!({"type": "direct"}))
        .refused(409);
    managed.put("/api/queues/%2F/q", &json!({}));
    let between = "/api/bindings/%2F/e/e/q/q";
    let made = managed.post(
        between,
        &json!({"routing_key": "a.#", "arguments": {"x": 1}}),
    );
    assert_eq!(made.status, 201);
    assert!(
        made.head
            .to_lowercase()
            .contains("location: /api/bindings/%2f/e/e/q/q/a.%23")
    );
    let binding = managed.shown(&format!("{between}/a.%23"));
    assert_eq!(binding["source"], "e");
    assert_eq!(binding["destination"], "q");
    assert_eq!(binding["arguments"], json!({"x": 1}));
    let count = |path: &str| managed.shown(path).as_array().expect("a list").len();
    assert_eq!(count("/api/exchanges/%2F/e/bindings/source"), 1);
    assert_eq!(count("/api/exchanges/%2F/e/bindings/destination"), 0);
    assert_eq!(count("/api/queues/%2F/q/bindings"), 2);
    assert_eq!(count(between), 1);
    assert_eq!(managed.delete(&format!("{between}/a.%23")).status, 204);
    managed.delete(&format!("{between}/a.%23")).refused(404);
    assert_eq!(managed.delete(exchange).status, 204);
    managed.delete("/api/exchanges/%2F/amq.topic").refused(409);
}

#[test]
fn a_binding_with_an_empty_key_has_a_path() {
    let managed = Managed::start();
    managed.put("/api/queues/%2F/q", &json!({}));
    let between = "/api/bindings/%2F/e/amq.direct/q/q";
    assert_eq!(managed.post(between, &json!({})).status, 201);
    assert_eq!(managed.shown(&format!("{between}/~"))["routing_key"], "");
    assert_eq!(managed.delete(&format!("{between}/~")).status, 204);
}

#[test]
fn connections_sessions_and_consumers_are_shown_and_ended() {
    let managed = Managed::start();
    managed.put("/api/queues/%2F/q", &json!({}));
    let client = managed.client("mine");
    let connections = managed.shown("/api/connections");
    let name = connections[0]["name"].as_str().expect("a name").to_owned();
    assert_eq!(
        managed.shown(&format!("/api/connections/{name}"))["name"],
        name
    );
    let sessions = managed.shown("/api/sessions?name=mine");
    assert_eq!(sessions[0]["connection"], name);
    let session = sessions[0]["name"].as_str().expect("a name");
    assert_eq!(
        managed.shown(&format!("/api/sessions/{session}"))["number"],
        0
    );
    assert_eq!(managed.shown("/api/consumers"), json!([]));
    assert_eq!(
        managed.delete(&format!("/api/sessions/{session}")).status,
        204
    );
    assert_eq!(
        managed.delete(&format!("/api/connections/{name}")).status,
        204
    );
    drop(client);
    managed.delete("/api/connections/nobody").refused(404);
    managed.delete("/api/sessions/nobody.x").refused(404);
}

#[test]
fn every_class_can_be_listed_and_every_object_shown() {
    let managed = Managed::start();
    let classes = managed.shown("/api/classes");
    let mut objects = 0;
    for class in classes.as_array().expect("a list") {
        let name = class["class"].as_str().expect("a name");
        let package = class["package"].as_str().expect("a package");
        let path = format!("/api/classes/{name}/objects?package={package}");
        for object in managed.shown(&path).as_array().expect("a list") {
            let name = object["object"].as_str().expect("a name");
            let escaped = name.replace('/', "%2F").replace(',', "%2C");
            let one = managed.shown(&format!("/api/objects/{escaped}"));
            assert_eq!(one["class"], object["class"], "{name}");
            objects += 1;
        }
    }
    assert!(objects > 10, "{objects}");
    managed.get("/api/classes/moon/objects").refused(404);
    managed.get("/api/objects/moon").refused(404);
}

#[test]
fn methods_of_any_object_can_be_called() {
    let managed = Managed::start();
    let broker = "/api/objects/org.apache.qpid.broker:broker:amqp-broker";
    let call = |method: &str, body| managed.post(&format!("{broker}/{method}"), &body);
    let echoed = call("echo", json!({"sequence": 7, "body": "hello"}));
    assert_eq!(echoed.json(), json!({"sequence": 7, "body": "hello"}));
    let properties = json!({"durable": true});
    let created = json!({"type": "queue", "name": "q", "properties": properties, "strict": true});
    assert_eq!(call("create", created.clone()).status, 200);
    assert_eq!(managed.shown("/api/queues/%2F/q")["durable"], true);
    call("create", created).refused(409);
    call("moon", json!({})).refused(404);
    call("echo", json!({"sequence": "moon"})).refused(400);
    call("echo", json!({"moon": 1})).refused(400);
}

#[test]
fn lists_come_in_pages_filtered_and_sorted() {
    let managed = Managed::start();
    for number in 0..7 {
        managed.put(&format!("/api/queues/%2F/q{number}"), &json!({}));
    }
    let mut client = managed.client("a");
    client.publish(0, "q3", b"one");
    client.sync(0);
    let page = managed.shown("/api/queues/%2F?page=2&page_size=3&name=Q");
    assert_eq!(page["items"][0]["name"], "q3");
    assert_eq!(page["page_count"], 3);
    let path = "/api/queues?page=1&page_size=1&sort=messages&sort_reverse=true";
    assert_eq!(managed.shown(path)["items"][0]["name"], "q3");
    managed.get("/api/queues?sort=moon").refused(400);
    managed.get("/api/queues?page=0").refused(400);
    managed.get("/api/queues?moon=1").refused(400);
    managed.get("/api/queues/moon").refused(404);
}

#[cfg(feature = "xml-exchange")]
#[test]
fn a_query_that_cannot_be_read_is_not_bound_to_an_xml_exchange() {
    let managed = Managed::start();
    managed.put("/api/queues/%2F/q", &json!({}));
    managed.put("/api/exchanges/%2F/x", &json!({"type": "xml"}));
    let bind = |exchange: &str, query: &str| {
        let body = json!({"routing_key": "k", "arguments": {"xquery": query}});
        managed.post(&format!("/api/bindings/%2F/e/{exchange}/q/q"), &body)
    };
    let reason = bind("x", "][").refused(409);
    assert!(reason.contains("Could not parse xquery:]["), "{reason}");
    assert_eq!(bind("x", "true()").status, 201);
    assert_eq!(bind("amq.direct", "][").status, 201);
}

#[test]
fn what_a_broker_has_kept_counts_as_made_when_it_started() {
    let directory = Directory::new();
    let start = || Managed::with(&["--data-dir", directory.text()]);
    let created = |managed: &Managed, path: &str| {
        let shown = managed.shown(path);
        shown["created_at"].as_u64().expect("a time")
    };
    let mut first = start();
    first.put("/api/queues/%2F/q", &json!({}));
    let made = created(&first, "/api/queues/%2F/q");
    first.broker.signal("TERM");
    assert!(first.broker.wait().success());
    let second = start();
    let kept = created(&second, "/api/queues/%2F/q");
    assert!(kept >= made, "{kept} is before {made}");
}
