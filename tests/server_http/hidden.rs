//! What rules hide by its name is not told of by what refers to it, and what messages are routed anew to
//! is asked about also where nobody names it.

use serde_json::json;

use crate::durable_support::Directory;
use crate::http::{Answer, Managed, basic};

/// A broker on which ann and bob log in, bob by these rules.
fn secured(directory: &Directory, of_bob: &[&str]) -> Managed {
    let of_bob = of_bob
        .iter()
        .map(|rule| format!("acl {}\n", rule.replacen(' ', " bob@QPID ", 1)));
    let rules = of_bob.collect::<String>() + "acl allow all all\n";
    Managed::secured(directory, &[("ann", "ann"), ("bob", "bob")], &rules)
}

fn ask(managed: &Managed, user: &str, method: &str, path: &str, body: serde_json::Value) -> Answer {
    let head = basic(user, user) + "Content-Type: application/json\r\n";
    let body = match method {
        "GET" | "DELETE" => String::new(),
        _ => body.to_string(),
    };
    managed.ask(method, path, &head, &body)
}

/// A broker where bob sees neither the queue `secret` nor the exchange `hidden`.
fn with_secrets(directory: &Directory) -> Managed {
    let managed = secured(
        directory,
        &[
            "deny access query name=org.apache.qpid.broker:queue:secret",
            "deny access query name=org.apache.qpid.broker:exchange:hidden",
        ],
    );
    let made = |path: &str, body| {
        let answer = ask(&managed, "ann", "PUT", path, body);
        assert_eq!(answer.status, 201, "{answer:?}");
    };
    made("/api/exchanges/%2F/hidden", json!({"type": "direct"}));
    made("/api/queues/%2F/secret", json!({}));
    made(
        "/api/queues/%2F/open",
        json!({"alternate_exchange": "hidden"}),
    );
    for path in [
        "/api/bindings/%2F/e/hidden/q/open",
        "/api/bindings/%2F/e/amq.topic/q/secret",
        "/api/bindings/%2F/e/amq.topic/q/open",
    ] {
        let bound = ask(&managed, "ann", "POST", path, json!({"routing_key": "k"}));
        assert_eq!(bound.status, 201, "{bound:?}");
    }
    managed
}

#[test]
fn a_binding_with_a_hidden_end_is_not_shown() {
    let directory = Directory::new();
    let managed = with_secrets(&directory);
    let seen = |user: &str, path: &str| ask(&managed, user, "GET", path, json!(null));
    for path in ["/api/bindings", "/api/classes/binding/objects"] {
        let (ann, bob) = (seen("ann", path).body, seen("bob", path).body);
        for name in ["secret", "hidden"] {
            assert!(ann.contains(name), "{path}: {ann}");
            assert!(!bob.contains(name), "{path}: {bob}");
        }
        assert!(bob.contains("amq.topic"), "{path}: {bob}");
    }
    for path in [
        "/api/bindings/%2F/e/hidden/q/open/k",
        "/api/bindings/%2F/e/amq.topic/q/secret/k",
    ] {
        assert_eq!(seen("ann", path).status, 200, "{path}");
        assert_eq!(seen("bob", path).status, 404, "{path}");
    }
    let open = "/api/bindings/%2F/e/amq.topic/q/open/k";
    assert_eq!(seen("bob", open).status, 200);
}

#[test]
fn a_hidden_alternate_exchange_is_not_named() {
    let directory = Directory::new();
    let managed = with_secrets(&directory);
    for path in [
        "/api/queues",
        "/api/queues/%2F/open",
        "/api/classes/queue/objects",
        "/api/objects/org.apache.qpid.broker:queue:open",
    ] {
        let ann = ask(&managed, "ann", "GET", path, json!(null)).body;
        let bob = ask(&managed, "bob", "GET", path, json!(null)).body;
        assert!(ann.contains("hidden"), "{path}: {ann}");
        assert!(bob.contains("open") && !bob.contains("hidden"), "{bob}");
    }
}

#[test]
fn events_do_not_name_what_is_hidden() {
    let directory = Directory::new();
    let managed = with_secrets(&directory);
    let lines = managed.events("", &basic("bob", "bob"));
    for path in [
        "/api/queues/%2F/secret",
        "/api/exchanges/%2F/hidden",
        "/api/queues/%2F/open",
    ] {
        // The exchange is an alternate until the queue is gone: what matters is the order of events.
        let gone = ask(&managed, "ann", "DELETE", path, json!(null)).status;
        assert_eq!(
            gone,
            if path.ends_with("hidden") { 409 } else { 204 },
            "{path}"
        );
    }
    let told: Vec<String> = lines
        .take_while(|line| !line.contains(r#""qName":"open""#) || !line.contains("queueDelete"))
        .collect();
    let named = |name: &str| told.iter().any(|line| line.contains(name));
    assert!(!named("secret") && !named("hidden"), "{told:#?}");
}

#[test]
fn events_of_rights_do_not_name_what_is_hidden_and_a_redirect_does_not_either() {
    let directory = Directory::new();
    let rules = "quota queues 100 all\n\
                 quota queues 0 eve@QPID\n\
                 acl allow-log ann@QPID create queue\n\
                 acl deny bob@QPID access query name=org.apache.qpid.broker:queue:secret*\n\
                 acl allow all all\n";
    let users = ["ann", "bob", "eve"].map(|name| (name, name));
    let managed = Managed::secured(&directory, &users, rules);
    let lines = managed.events("", &basic("bob", "bob"));
    let put = |user: &str, name: &str| {
        let path = format!("/api/queues/%2F/{name}");
        ask(&managed, user, "PUT", &path, json!({})).status
    };
    assert_eq!([put("ann", "secret"), put("ann", "seen")], [201, 201]);
    assert_eq!(put("eve", "secret-2"), 403);
    let redirect = "/api/objects/org.apache.qpid.broker:broker:amqp-broker/queueRedirect";
    let body = json!({"sourceQueue": "seen", "targetQueue": "secret"});
    assert_eq!(ask(&managed, "ann", "POST", redirect, body).status, 200);
    assert_eq!(put("ann", "last"), 201);
    let told: Vec<String> = lines
        .take_while(|line| !line.contains(r#""qName":"last""#))
        .collect();
    assert!(told.iter().any(|line| line.contains("seen")), "{told:#?}");
    assert!(
        !told.iter().any(|line| line.contains("secret")),
        "{told:#?}"
    );
    let path = "/api/objects/org.apache.qpid.broker:queue:seen";
    let ann = ask(&managed, "ann", "GET", path, json!(null)).body;
    let bob = ask(&managed, "bob", "GET", path, json!(null)).body;
    assert!(ann.contains("secret") && !bob.contains("secret"), "{bob}");
}

#[test]
fn the_alternate_exchange_is_asked_about_where_messages_are_rerouted_without_naming_it() {
    let directory = Directory::new();
    let managed = secured(&directory, &["deny reroute queue exchangename=vault"]);
    for exchange in ["vault", "free"] {
        let path = format!("/api/exchanges/%2F/{exchange}");
        ask(&managed, "ann", "PUT", &path, json!({"type": "fanout"}));
        let path = format!("/api/queues/%2F/to-{exchange}");
        let body = json!({"alternate_exchange": exchange});
        assert_eq!(ask(&managed, "ann", "PUT", &path, body).status, 201);
    }
    let denials = || {
        let acl = "/api/classes/acl/objects";
        let shown = ask(&managed, "ann", "GET", acl, json!(null)).json();
        shown[0]["statistics"]["aclDenyCount"].as_u64()
    };
    let before = denials().expect("a count");
    let reroute = |user: &str, queue: &str, body| {
        let path = format!("/api/queues/%2F/{queue}/reroute");
        ask(&managed, user, "POST", &path, body)
    };
    assert_eq!(reroute("bob", "to-free", json!({})).status, 200);
    let named = reroute("bob", "to-free", json!({"exchange": "vault"}));
    let unnamed = reroute("bob", "to-vault", json!({}));
    for answer in [named, unnamed] {
        let why = answer.refused(403);
        assert!(why.contains("ACL denied queue reroute"), "{why}");
    }
    assert_eq!(reroute("ann", "to-vault", json!({})).status, 200);
    assert_eq!(denials(), Some(before + 2));
}
