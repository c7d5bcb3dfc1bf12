//! What is wrong is refused with a reason, and never with a fault of the broker's.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;

use serde_json::json;

use crate::http::{JSON, Managed};
use crate::server_support::{Broker, socket};

#[test]
fn bodies_that_are_no_json_objects_are_refused() {
    let managed = Managed::start();
    let path = "/api/queues/%2F/q";
    for body in ["{", "[]", "7", "\"x\"", "\u{1}"] {
        managed.ask("PUT", path, JSON, body).refused(400);
    }
    managed.ask("PUT", path, "", "{}").refused(415);
    managed.ask("GET", path, JSON, "{}").refused(400);
}

#[test]
fn bodies_that_are_too_large_are_refused() {
    let managed = Managed::start();
    let body = format!("{{\"x\":\"{}\"}}", "x".repeat(1024 * 1024));
    managed
        .ask("PUT", "/api/queues/%2F/q", JSON, &body)
        .refused(413);
}

#[test]
fn members_of_the_wrong_kind_are_refused_by_name() {
    let managed = Managed::start();
    for (body, name) in [
        (json!({"durable": 1}), "durable"),
        (json!({"durabel": true}), "durabel"),
        (json!({"arguments": 1}), "arguments"),
        (json!({"arguments": {"x": {"$hex": "z"}}}), "x"),
        (
            json!({"alternate_exchange": "x".repeat(256)}),
            "alternate_exchange",
        ),
    ] {
        let refused = managed.put("/api/queues/%2F/q", &body).refused(400);
        assert!(refused.contains(name), "{refused}");
    }
    let body = json!({"alternate_exchange": "nowhere"});
    managed.put("/api/queues/%2F/q", &body).refused(404);
}

#[test]
fn arguments_that_are_too_large_are_refused() {
    let managed = Managed::start();
    let numbers: Vec<u8> = vec![1; 10_000];
    let refused = managed.put("/api/queues/%2F/q", &json!({"arguments": {"x": numbers}}));
    assert!(refused.refused(400).contains("octets"));
}

#[test]
fn names_that_are_too_long_are_refused() {
    let managed = Managed::start();
    let name = "x".repeat(256);
    managed
        .put(&format!("/api/queues/%2F/{name}"), &json!({}))
        .refused(400);
    managed
        .delete(&format!("/api/queues/%2F/{name}"))
        .refused(400);
    managed.get(&format!("/api/queues/%2F/{name}")).refused(404);
}

#[test]
fn paths_and_queries_that_are_not_utf_8_are_refused() {
    let managed = Managed::start();
    managed.get("/api/queues/%2F/%ff").refused(400);
    managed.get("/api/queues?name=%ff").refused(400);
}

#[test]
fn paths_and_methods_that_are_not_there_are_refused_as_json() {
    let managed = Managed::start();
    managed.get("/api/moon").refused(404);
    managed.get("/").refused(404);
    managed.post("/api/overview", &json!({})).refused(405);
}

#[test]
fn pages_of_other_origins_and_hosts_are_refused() {
    let managed = Managed::start();
    let path = "/api/overview";
    managed
        .ask("GET", path, "Origin: http://example.org\r\n", "")
        .refused(403);
    managed
        .ask("GET", path, "Host: example.org\r\n", "")
        .refused(403);
    assert_eq!(managed.get(path).status, 200);
}

#[test]
fn a_client_that_says_nothing_keeps_nobody_from_being_answered() {
    let managed = Managed::start();
    let silent: Vec<_> = (0..300).map(|_| socket(managed.address())).collect();
    let mut half = socket(managed.address());
    half.write_all(b"GET /api/overview HTTP/1.1\r\nHost:")
        .expect("it listens");
    assert_eq!(managed.get("/api/health/alive").status, 200);
    drop(silent);
}

#[test]
fn strangers_give_way_before_who_has_asked_what_he_may() {
    let managed = Managed::start();
    let mut stream = socket(managed.address());
    let request = format!(
        "GET /api/events HTTP/1.1\r\nHost: {}\r\n\r\n",
        managed.address()
    );
    stream.write_all(request.as_bytes()).expect("it listens");
    let mut lines = BufReader::new(stream).lines();
    let mut line_with = |text: &str| {
        let found = lines.find(|line| line.as_ref().is_ok_and(|line| line.contains(text)));
        assert!(found.is_some(), "the stream ends before {text}");
    };
    line_with(": open");
    let silent: Vec<_> = (0..300).map(|_| socket(managed.address())).collect();
    assert_eq!(managed.put("/api/queues/%2F/q", &json!({})).status, 201);
    line_with("queueDeclare");
    drop(silent);
}

#[test]
fn a_body_that_nobody_wants_is_not_waited_for() {
    let managed = Managed::start();
    let request = "GET /api/health/alive HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n";
    let answer = managed.say(request.as_bytes());
    // Not 408, which is what comes of waiting.
    assert_eq!(answer.status, 400, "{answer:?}");
}

#[test]
fn what_is_no_http_is_not_answered_as_if_it_were() {
    let managed = Managed::start();
    let answer = managed.say(b"AMQP\x01\x01\x00\x0a");
    assert!(answer.status == 400 || answer.status == 0, "{answer:?}");
    assert_eq!(managed.get("/api/health/alive").status, 200);
}

/// Why a broker with these options does not start.
pub fn refused(options: &[&str]) -> String {
    let ended = Broker::start_under(&[], options)
        .err()
        .expect("it does not start");
    ended.log.join("\n")
}

#[test]
fn it_does_not_listen_off_the_loopback() {
    let log = refused(&["--http-port", "0", "--http-interface", "0.0.0.0"]);
    assert!(
        log.contains("--http-interface") && log.contains("--https-port"),
        "{log}"
    );
    let log = refused(&[
        "--auth",
        "no",
        "--http-port",
        "0",
        "--http-interface",
        "0.0.0.0",
    ]);
    assert!(log.contains("--http-interface"), "{log}");
}

#[test]
fn it_does_not_listen_where_management_is_switched_off() {
    let log = refused(&["--mgmt-enable", "no", "--http-port", "0"]);
    assert!(log.contains("--mgmt-enable"), "{log}");
}

#[test]
fn an_interface_without_its_port_is_refused() {
    for scheme in ["http", "https"] {
        let interface = format!("--{scheme}-interface");
        let log = refused(&[&interface, "127.0.0.1"]);
        assert!(log.contains(&format!("--{scheme}-port")), "{log}");
    }
}

#[test]
fn a_port_that_is_taken_is_told_with_its_option() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = taken.local_addr().expect("it is bound").port().to_string();
    let log = refused(&["--http-port", &port]);
    assert!(log.contains("--http-port: cannot listen"), "{log}");
    assert!(!log.contains("--port N"), "{log}");
}
