//! Who may ask what: the users and the rights of AMQP hold here, too.

use std::process::{Command, Stdio};

use serde_json::json;

use crate::durable_support::Directory;
use crate::http::{Answer, Managed, basic};

/// What the broker does for a user, whom the scheme Basic names.
fn ask(managed: &Managed, method: &str, path: &str, user: &str, password: &str) -> Answer {
    managed.ask(method, path, &basic(user, password), "")
}

/// A broker on which ann and bob log in, by their names as passwords, with these rules.
fn secured(directory: &Directory, rules: &str) -> Managed {
    Managed::secured(directory, &[("ann", "ann"), ("bob", "bob")], rules)
}

#[test]
fn who_has_to_log_in_over_amqp_has_to_over_http() {
    let directory = Directory::new();
    let mut managed = secured(&directory, "acl allow all all\n");
    for path in [
        "/api/overview",
        "/metrics",
        "/api/queues",
        "/api/openapi.json",
    ] {
        let nobody = managed.get(path);
        assert_eq!(nobody.status, 401, "{path}");
        let head = nobody.head.to_lowercase();
        assert!(head.contains("www-authenticate: basic"), "{head}");
        assert_eq!(ask(&managed, "GET", path, "ann", "bob").status, 401);
        assert_eq!(ask(&managed, "GET", path, "nobody", "ann").status, 401);
        assert_eq!(ask(&managed, "GET", path, "ann", "ann").status, 200);
    }
    for path in ["/api/health/alive", "/api/health/ready"] {
        assert_eq!(managed.get(path).status, 200, "{path}");
    }
    for head in ["Bearer x", "Basic !", "Basic YW5u", "Basic", ""] {
        let head = format!("Authorization: {head}\r\n");
        let answer = managed.ask("GET", "/api/overview", &head, "");
        assert_eq!(answer.status, 401, "{head}");
    }
    let log = managed.broker.log().join("\n");
    assert!(!log.contains("YW5u"), "{log}");
}

#[test]
fn passwords_that_fail_too_often_are_not_looked_at_for_a_while() {
    let directory = Directory::new();
    let managed = secured(&directory, "acl allow all all\n");
    let answers: Vec<_> = (0..40)
        .map(|_| ask(&managed, "GET", "/api/overview", "ann", "x").refused(401))
        .collect();
    assert!(answers[39].contains("too many failures"), "{answers:?}");
}

#[test]
fn a_login_that_fails_is_an_event() {
    let directory = Directory::new();
    let managed = secured(&directory, "acl allow all all\n");
    let mut lines = managed.events("?name=clientconnectfail", &basic("ann", "ann"));
    assert_eq!(
        ask(&managed, "GET", "/api/overview", "bob", "x").status,
        401
    );
    let data = lines.find(|line| line.starts_with("data: "));
    let data = data.expect("it is told");
    assert!(
        data.contains("bob") && data.contains("http-127.0.0.1:"),
        "{data}"
    );
}

#[test]
fn rules_of_the_acl_file_hold_over_http() {
    let directory = Directory::new();
    let rules = "acl allow ann@QPID all\n\
                 acl allow bob@QPID access query\n\
                 acl allow bob@QPID access method name=create\n\
                 acl allow bob@QPID create queue name=bob-*\n\
                 acl deny all all\n";
    let managed = secured(&directory, rules);
    let bob = |method: &str, path: &str| ask(&managed, method, path, "bob", "bob").status;
    let ann = |method: &str, path: &str| ask(&managed, method, path, "ann", "ann").status;
    assert_eq!(bob("PUT", "/api/queues/%2F/bob-1"), 201);
    assert_eq!(bob("PUT", "/api/queues/%2F/ann-1"), 403);
    assert_eq!(ann("PUT", "/api/queues/%2F/ann-1"), 201);
    for queue in ["ann-1", "bob-1"] {
        assert_eq!(bob("GET", &format!("/api/queues/%2F/{queue}")), 200);
        assert_eq!(bob("DELETE", &format!("/api/queues/%2F/{queue}")), 403);
        let contents = format!("/api/queues/%2F/{queue}/contents");
        assert_eq!(bob("DELETE", &contents), 403);
        assert_eq!(ann("DELETE", &contents), 200);
    }
    let shutdown = "/api/objects/org.apache.qpid.broker:broker:amqp-broker/shutdown";
    assert_eq!(bob("POST", shutdown), 403);
    assert_eq!(bob("GET", "/api/overview"), 200);
}

#[test]
fn who_may_not_connect_from_there_may_not_ask_from_there() {
    let directory = Directory::new();
    let rules = "acl deny bob@QPID create connection host=127.0.0.1\nacl allow all all\n";
    let managed = secured(&directory, rules);
    let status = |user: &str| ask(&managed, "GET", "/api/overview", user, user).status;
    assert_eq!((status("ann"), status("bob")), (200, 403));
    assert_eq!(managed.get("/api/health/alive").status, 200);
}

#[test]
fn who_may_not_look_is_shown_nothing() {
    let directory = Directory::new();
    let rules = "acl allow ann@QPID all\nacl deny bob@QPID access query\nacl allow all all\n";
    let managed = secured(&directory, rules);
    for path in [
        "/api/overview",
        "/api/queues",
        "/api/connections",
        "/api/definitions",
        "/api/classes/queue/objects",
        "/metrics",
        "/metrics/detailed",
        "/api/events",
    ] {
        assert_eq!(
            ask(&managed, "GET", path, "bob", "bob").status,
            403,
            "{path}"
        );
    }
    assert_eq!(
        ask(&managed, "GET", "/api/queues", "ann", "ann").status,
        200
    );
}

#[test]
fn without_logins_rules_hold_for_the_anonymous_user() {
    let directory = Directory::new();
    let file = directory.path().join("acl");
    let rules = "acl deny anonymous@QPID access method name=delete\nacl allow all all\n";
    std::fs::write(&file, rules).expect("written");
    let managed = Managed::with(&["--acl-file", file.to_str().expect("text")]);
    assert_eq!(managed.put("/api/queues/%2F/q", &json!({})).status, 201);
    managed.delete("/api/queues/%2F/q").refused(403);
}

#[test]
fn the_subcommands_log_in() {
    let directory = Directory::new();
    let managed = secured(&directory, "acl allow all all\n");
    let status = |user: Option<&str>, password: Option<&str>| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ferrymq"));
        command.args(["status", "--url", &managed.url()]);
        command.env_remove("FERRYMQ_USER").stdin(Stdio::null());
        if let Some(user) = user {
            command.args(["--user", user]);
        }
        match password {
            Some(password) => command.env("FERRYMQ_PASSWORD", password),
            None => command.env_remove("FERRYMQ_PASSWORD"),
        };
        command.output().expect("it was built").status.code()
    };
    assert_eq!(status(None, None), Some(1));
    assert_eq!(status(Some("ann"), Some("bob")), Some(1));
    assert_eq!(status(Some("ann"), Some("ann")), Some(0));
    assert_eq!(status(Some("ann"), None), Some(2));
    assert_eq!(status(Some("ann:x"), Some("ann")), Some(2));
}

/// Imports queues of these names as a user.
fn import(managed: &Managed, user: &str, names: &[&str]) -> Answer {
    let queues: Vec<_> = names.iter().map(|name| json!({"name": name})).collect();
    let head = basic(user, user) + "Content-Type: application/json\r\n";
    let body = json!({"queues": queues}).to_string();
    managed.ask("POST", "/api/definitions", &head, &body)
}

#[test]
fn who_may_make_queues_imports_them_and_they_count_to_his_quota() {
    let directory = Directory::new();
    let rules = "quota queues 3 ann@QPID\nquota queues 0 bob@QPID\nacl allow all all\n";
    let managed = secured(&directory, rules);
    let quota = "ACL denied queue create request from";
    assert!(import(&managed, "bob", &["a"]).refused(403).contains(quota));
    assert_eq!(import(&managed, "ann", &["a", "b"]).status, 200);
    assert!(
        import(&managed, "ann", &["c", "d"])
            .refused(403)
            .contains(quota)
    );
    // All or nothing; what is there already counts once.
    assert_eq!(
        ask(&managed, "GET", "/api/queues/%2F/c", "ann", "ann").status,
        404
    );
    assert_eq!(import(&managed, "ann", &["a", "b", "c"]).status, 200);
    assert!(import(&managed, "ann", &["d"]).refused(403).contains(quota));
}

#[test]
fn who_may_make_queues_imports_them_where_there_is_no_quota() {
    let directory = Directory::new();
    let rules = "acl allow ann@QPID all\nacl deny bob@QPID create queue\nacl allow all all\n";
    let managed = secured(&directory, rules);
    assert_eq!(import(&managed, "ann", &["a"]).status, 200);
    import(&managed, "bob", &["b"]).refused(403);
}
