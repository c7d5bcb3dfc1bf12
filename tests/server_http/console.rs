//! The subcommands that speak to a running broker.

use std::process::{Command, Output};

use serde_json::{Value as Json, json};

use crate::http::Managed;
use crate::members::Members;
use crate::server_support::until;

pub fn say(arguments: &[&str]) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_ferrymq"))
        .args(arguments)
        .output();
    output.expect("it was built")
}

fn told(managed: &Managed, arguments: &[&str]) -> (i32, String, String) {
    let url = managed.url();
    let mut all = arguments.to_vec();
    all.extend(["--url", &url]);
    let output = say(&all);
    let text = |octets: &[u8]| String::from_utf8_lossy(octets).into_owned();
    (
        output.status.code().expect("it ended"),
        text(&output.stdout),
        text(&output.stderr),
    )
}

/// What is printed with `--json`, of what ends well.
fn printed(managed: &Managed, arguments: &[&str]) -> Json {
    let mut all = arguments.to_vec();
    all.push("--json");
    let (code, out, err) = told(managed, &all);
    assert_eq!(code, 0, "{arguments:?}: {err}");
    serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}"))
}

#[test]
fn links_and_routes_are_added_listed_and_deleted() {
    let managed = Managed::start();
    let address = managed.broker.address().to_string();
    assert_eq!(
        printed(&managed, &["link", "add", "l", &address]),
        json!({})
    );
    let route = ["link", "add-route", "l", "amq.topic", "amq.topic", "a.#"];
    assert_eq!(printed(&managed, &route), json!({}));
    until("the link is there", || {
        printed(&managed, &["link", "list"])[0]["state"] == json!("Operational")
    });
    let (_, table, _) = told(&managed, &["link", "list"]);
    assert!(table.contains("Operational"), "{table}");
    let routes = printed(&managed, &["link", "routes"]);
    let name = "l!amq.topic!amq.topic!a.#";
    let route = &routes[0];
    assert_eq!(
        (&route["name"], &route["link"], &route["key"]),
        (&json!(name), &json!("l"), &json!("a.#"))
    );
    assert_eq!(
        printed(&managed, &["link", "delete-route", name]),
        json!({})
    );
    assert_eq!(told(&managed, &["link", "delete-route", name]).0, 3);
    assert_eq!(printed(&managed, &["link", "delete", "l"]), json!({}));
    assert_eq!(printed(&managed, &["link", "list"]), json!([]));
    let (code, _, why) = told(&managed, &["link", "delete", "l"]);
    assert_eq!(code, 3, "{why}");
    assert!(why.contains("no link is called l"), "{why}");
    let (code, _, why) = told(&managed, &["link", "add", "qpid.l", &address]);
    assert_ne!(code, 0);
    assert!(why.contains("reserved"), "{why}");
}

#[test]
fn queues_are_added_listed_moved_purged_and_deleted() {
    let managed = Managed::start();
    assert_eq!(
        printed(
            &managed,
            &["queue", "add", "a", "--argument", "qpid.max_count=9"]
        ),
        json!({})
    );
    assert_eq!(
        printed(&managed, &["queue", "add", "b", "--transient"]),
        json!({})
    );
    let mut client = managed.client("a");
    for _ in 0..3 {
        client.publish(0, "a", b"one");
    }
    client.sync(0);
    let moved = printed(&managed, &["queue", "move", "a", "b", "--count", "2"]);
    assert_eq!(moved, json!({"messages": 2}));
    assert_eq!(
        printed(&managed, &["queue", "purge", "a"]),
        json!({"messages": 1})
    );
    let list = printed(
        &managed,
        &["queue", "list", "--sort", "messages", "--reverse"],
    );
    assert_eq!(
        (&list[0]["name"], &list[0]["messages"]),
        (&json!("b"), &json!(2))
    );
    assert_eq!(
        printed(&managed, &["queue", "show", "a"])["arguments"],
        json!({"qpid.max_count": 9})
    );
    let (_, table, _) = told(&managed, &["queue", "list"]);
    assert!(table.starts_with("NAME"), "{table}");
    assert_eq!(printed(&managed, &["queue", "delete", "a"]), json!({}));
}

#[test]
fn exchanges_and_bindings_are_added_listed_and_deleted() {
    let managed = Managed::start();
    printed(&managed, &["exchange", "add", "e", "--type", "topic"]);
    printed(&managed, &["queue", "add", "q"]);
    for key in ["a.#", "~", ""] {
        printed(&managed, &["binding", "add", "e", "q", key]);
    }
    let list = printed(&managed, &["binding", "list", "--name", "a."]);
    assert_eq!(list[0]["source"], "e");
    for key in ["a.#", "~", ""] {
        printed(&managed, &["binding", "delete", "e", "q", key]);
    }
    assert_eq!(printed(&managed, &["exchange", "show", "e"])["bindings"], 0);
    printed(&managed, &["exchange", "delete", "e"]);
}

#[test]
fn connections_are_listed_and_closed() {
    let managed = Managed::start();
    let _client = managed.client("a");
    let list = printed(&managed, &["connection", "list"]);
    let name = list[0]["name"].as_str().expect("a name");
    assert_eq!(printed(&managed, &["connection", "close", name]), json!({}));
}

#[test]
fn definitions_are_exported_compared_and_imported() {
    let managed = Managed::start();
    printed(&managed, &["queue", "add", "q"]);
    let file = std::env::temp_dir().join(format!("ferrymq-definitions-{}", std::process::id()));
    let name = file.to_str().expect("text");
    let (code, _, err) = told(&managed, &["definitions", "export", "--file", name]);
    assert_eq!(code, 0, "{err}");
    printed(&managed, &["queue", "delete", "q"]);
    let (_, text, _) = told(&managed, &["definitions", "import", name, "--dry-run"]);
    assert_eq!(text, "+ queue q\n");
    let done = printed(&managed, &["definitions", "import", name]);
    assert_eq!(done["to_make"]["queues"][0]["name"], "q");
    let (_, text, _) = told(&managed, &["definitions", "import", name, "--prune"]);
    assert_eq!(text, "nothing to change\n");
    std::fs::remove_file(file).expect("it was written");
}

#[test]
fn a_dry_run_of_an_import_that_would_be_refused_ends_as_the_import() {
    let managed = Managed::start();
    printed(&managed, &["queue", "add", "q"]);
    let file = std::env::temp_dir().join(format!("ferrymq-conflict-{}", std::process::id()));
    let other = json!({"queues": [{"name": "q", "durable": false}]});
    std::fs::write(&file, other.to_string()).expect("room");
    let name = file.to_str().expect("text");
    let (code, text, _) = told(&managed, &["definitions", "import", name, "--dry-run"]);
    assert_eq!(code, 1);
    assert!(text.starts_with("! queue q: "), "{text}");
    let (code, _, _) = told(&managed, &["definitions", "import", name]);
    assert_eq!(code, 1);
    std::fs::remove_file(file).expect("it was written");
}

#[test]
fn options_of_all_subcommands_stand_before_or_behind_them() {
    let managed = Managed::start();
    for arguments in [["queue", "--json", "list"], ["queue", "list", "--json"]] {
        let (code, text, err) = told(&managed, &arguments);
        assert_eq!((code, text.as_str()), (0, "[]\n"), "{err}");
    }
    let before = say(&["queue", "--url", &managed.url(), "list", "--json"]);
    assert!(before.status.success(), "{before:?}");
}

#[test]
fn status_and_top_are_printed() {
    let managed = Managed::start();
    printed(&managed, &["queue", "add", "q"]);
    assert_eq!(printed(&managed, &["status"])["product"], "FerryMQ");
    let top = printed(&managed, &["top", "--count", "1"]);
    assert_eq!(
        (&top[0]["name"], &top[0]["messages"]),
        (&json!("q"), &json!(0))
    );
}

#[test]
fn exit_codes_tell_what_went_wrong() {
    let managed = Managed::start();
    let code = |arguments: &[&str]| told(&managed, arguments).0;
    assert_eq!(code(&["queue", "show", "nobody"]), 3);
    assert_eq!(code(&["exchange", "delete", "amq.topic"]), 1);
    assert_eq!(code(&["queue", "moon"]), 2);
    let (_, _, err) = told(&managed, &["queue", "show", "nobody", "--json"]);
    let problem: Json = serde_json::from_str(&err).expect("JSON");
    assert_eq!(problem["error"], "not_found");
    let nobody = say(&["status", "--url", "http://127.0.0.1:1"]);
    assert_eq!(nobody.status.code(), Some(4));
    let wrong = say(&["status", "--url", "ftp://x"]);
    assert_eq!(wrong.status.code(), Some(2));
}

#[test]
fn completions_and_manual_pages_are_made() {
    for shell in ["bash", "zsh", "fish"] {
        let output = say(&["completions", shell]);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            output.status.success() && text.contains("definitions"),
            "{shell}"
        );
    }
    let directory = std::env::temp_dir().join(format!("ferrymq-manual-{}", std::process::id()));
    let output = say(&["man", directory.to_str().expect("text")]);
    assert!(output.status.success(), "{output:?}");
    for page in ["ferrymq.1", "ferrymq-queue-move.1", "ferrymq-serve.1"] {
        assert!(directory.join(page).is_file(), "{page}");
    }
    std::fs::remove_dir_all(directory).expect("it was written");
}

#[test]
fn a_cluster_is_shown_and_its_members_are_stopped_and_taken_out() {
    let members = Members::new(3, &["--http-port", "0"]);
    let brokers = members.start_all().into_iter();
    let mut all: Vec<_> = brokers.map(Managed::of).collect();
    let names: Vec<String> = all.iter().map(Managed::node).collect();
    let shown = printed(&all[0], &["cluster", "status"]);
    let nodes = shown.as_array().expect("a list");
    assert_eq!(nodes.len(), 3);
    assert!(nodes.iter().all(|node| node["role"] == "voter"), "{shown}");
    let level = printed(&all[0], &["cluster", "level"])["level"].clone();
    assert!(level.is_u64(), "{level}");
    assert_eq!(printed(&all[1], &["cluster", "finalise"])["level"], level);
    let (code, out, err) = told(&all[0], &["cluster", "remove", &names[2]]);
    assert_eq!((code, out.as_str()), (0, "it is out\n"), "{err}");
    assert!(all[2].broker.wait().success());
    let (code, _, err) = told(&all[0], &["cluster", "remove", &names[2]]);
    assert_eq!(code, 3, "{err}");
    let (code, _, err) = told(&all[0], &["cluster", "stop", "nobody"]);
    assert!(code == 3 && err.contains("no member"), "{code}: {err}");
    assert_eq!(printed(&all[0], &["cluster", "stop-all"]), json!({}));
    assert!(all[0].broker.wait().success());
    assert!(all[1].broker.wait().success());
}

#[test]
fn a_broker_alone_is_in_no_cluster() {
    let managed = Managed::start();
    let (code, _, err) = told(&managed, &["cluster", "stop-all"]);
    assert!(code == 3 && err.contains("in no cluster"), "{code}: {err}");
    let node = printed(&managed, &["cluster", "status"])[0].clone();
    assert_eq!(node["role"], Json::Null);
    let name = node["name"].as_str().expect("a name");
    let (code, _, err) = told(&managed, &["cluster", "remove", name]);
    assert_eq!(code, 3, "{err}");
}
