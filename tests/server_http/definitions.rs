//! Definitions: exported, compared, imported whole or not at all.

use serde_json::{Value as Json, json};

use crate::durable_support::Directory;
use crate::http::{Managed, basic};
use crate::server_support::Broker;

fn wanted() -> Json {
    json!({
        "exchanges": [
            {"name": "e", "type": "topic", "alternate_exchange": "dead"},
            {"name": "dead", "type": "fanout"},
        ],
        "queues": [{"name": "q", "arguments": {"qpid.max_count": 9}}, {"name": "r"}],
        "bindings": [
            {"source": "e", "destination": "q", "routing_key": "a.#"},
            {"source": "dead", "destination": "r"},
        ],
    })
}

fn lists(difference: &Json, of: &str) -> usize {
    let nouns = ["exchanges", "queues", "bindings"].iter();
    let count = |noun: &&str| difference[of][*noun].as_array().expect("a list").len();
    nouns.map(count).sum()
}

#[test]
fn a_dry_run_tells_the_difference_and_changes_nothing() {
    let managed = Managed::start();
    let before = managed.shown("/api/definitions");
    let told = managed
        .post("/api/definitions?dry_run=true", &wanted())
        .json();
    assert_eq!(lists(&told, "to_make"), 6);
    assert_eq!(managed.shown("/api/definitions"), before);
}

#[test]
fn a_dry_run_tells_what_the_import_would_be_refused_for() {
    let managed = Managed::start();
    let before = managed.shown("/api/definitions");
    for (document, why) in [
        (
            json!({"exchanges": [{"name": "e", "type": "round"}]}),
            "round",
        ),
        (
            json!({"queues": [{"name": "q", "alternate_exchange": "nowhere"}]}),
            "nowhere",
        ),
        (
            json!({"bindings": [{"source": "amq.topic", "destination": "none"}]}),
            "none",
        ),
        (
            json!({"queues": [{"name": "q", "arguments": {"qpid.max_count": "many"}}]}),
            "qpid.max_count",
        ),
    ] {
        let dry = managed
            .post("/api/definitions?dry_run=true", &document)
            .json();
        let told = dry["conflicts"][0]["reason"].as_str().expect("a reason");
        assert!(told.contains(why), "{why}: {dry}");
        let done = managed.post("/api/definitions", &document);
        assert!(done.status >= 400, "{done:?}");
        assert_eq!(done.json()["reason"], told);
    }
    assert_eq!(managed.shown("/api/definitions"), before);
}

#[test]
fn an_import_that_is_refused_names_all_that_is_wrong_as_its_dry_run_does() {
    let managed = Managed::start();
    managed.post("/api/definitions", &wanted());
    let before = managed.shown("/api/definitions");
    let mut document = before.clone();
    for queue in document["queues"].as_array_mut().expect("a list") {
        queue["durable"] = json!(false);
    }
    let queues: Vec<_> = document["queues"].as_array().expect("a list").clone();
    assert!(queues.len() > 1);
    document["exchanges"] = json!([{"name": "x", "type": "round"}]);
    document["bindings"] = json!([{"source": "amq.topic", "destination": "lost"}]);
    let dry = managed.post("/api/definitions?dry_run=true", &document);
    let done = managed.post("/api/definitions", &document);
    assert_eq!(dry.status, 200);
    let why = done.refused(409);
    let names = queues.iter().map(|queue| &queue["name"]);
    let names = names.map(|name| name.as_str().expect("a name"));
    for part in names.chain(["(true, not false)", "round", "lost"]) {
        assert!(dry.body.contains(part), "{part}: {dry:?}");
        assert!(why.contains(part), "{part}: {why}");
    }
    assert_eq!(managed.shown("/api/definitions"), before);
}

#[test]
fn a_dry_run_tells_which_rights_are_missing() {
    let directory = Directory::new();
    let rules = "acl deny bob@QPID create queue name=q*\nacl allow all all\n";
    let managed = Managed::secured(&directory, &[("bob", "bob")], rules);
    let head = basic("bob", "bob") + "Content-Type: application/json\r\n";
    let body = json!({"queues": [{"name": "q1"}, {"name": "open"}, {"name": "q2"}]}).to_string();
    let dry = managed.ask("POST", "/api/definitions?dry_run=true", &head, &body);
    let told = dry.json()["conflicts"][0]["reason"].to_string();
    for name in ["q1", "q2"] {
        let denied = format!("queue {name}: ACL denied queue create");
        assert!(told.contains(&denied), "{told}");
    }
    assert!(!told.contains("open"), "{told}");
}

#[test]
fn an_import_that_is_done_again_changes_nothing() {
    let managed = Managed::start();
    let first = managed.post("/api/definitions", &wanted());
    assert_eq!(lists(&first.json(), "to_make"), 6, "{first:?}");
    let second = managed.post("/api/definitions", &wanted());
    assert_eq!(lists(&second.json(), "to_make"), 0, "{second:?}");
    let exported = managed.shown("/api/definitions");
    let third = managed.post("/api/definitions?prune=true", &exported);
    let changes = ["to_make", "to_delete"].map(|of| lists(&third.json(), of));
    assert_eq!(changes, [0, 0], "{third:?}");
}

#[test]
fn a_key_that_a_fanout_exchange_does_not_look_at_is_no_difference() {
    let managed = Managed::start();
    let document = json!({
        "exchanges": [{"name": "f", "type": "fanout"}],
        "queues": [{"name": "q"}],
        "bindings": [
            {"source": "f", "destination": "q", "routing_key": "k"},
            {"source": "amq.fanout", "destination": "q", "routing_key": "k"},
        ],
    });
    for changes in [4, 0] {
        let done = managed.post("/api/definitions?prune=true", &document);
        assert_eq!(done.status, 200, "{done:?}");
        let (made, gone) = (
            lists(&done.json(), "to_make"),
            lists(&done.json(), "to_delete"),
        );
        assert_eq!((made, gone), (changes, 0), "{done:?}");
    }
}

#[test]
fn what_any_tool_could_make_is_exported_and_imported() {
    let managed = Managed::start();
    let make = |properties: Json| {
        let path = "/api/objects/org.apache.qpid.broker:broker:amqp-broker/create";
        assert_eq!(managed.post(path, &properties).status, 200);
    };
    make(json!({
        "type": "exchange", "name": "amq.own", "properties": {"exchange-type": "direct"}, "strict": true
    }));
    let marks = json!({"$map": {"$uuid": "no uuid"}});
    make(json!({
        "type": "queue", "name": "q", "properties": {"x.map": marks}, "strict": false
    }));
    managed.post(
        "/api/bindings/%2F/e/amq.own/q/q",
        &json!({"routing_key": "k"}),
    );
    let exported = managed.shown("/api/definitions");
    assert!(exported.to_string().contains("no uuid"), "{exported}");
    let other = Managed::start();
    let done = other.post("/api/definitions", &exported);
    assert_eq!(done.status, 200, "{done:?}");
    assert_eq!(other.shown("/api/definitions"), exported);
}

#[test]
fn patterns_that_match_the_same_are_one_binding() {
    let managed = Managed::start();
    let bind =
        |source: &str, key: &str| json!({"source": source, "destination": "q", "routing_key": key});
    let document = json!({
        "exchanges": [{"name": "e", "type": "topic"}, {"name": "d", "type": "direct"}],
        "queues": [{"name": "q"}],
        "bindings": [bind("e", "#.*.a"), bind("e", "#.#.*.a"), bind("amq.topic", "#.#"), bind("d", "#.*")],
    });
    let first = managed.post("/api/definitions", &document).json();
    assert_eq!(
        first["to_make"]["bindings"].as_array().map(Vec::len),
        Some(3)
    );
    let again = managed
        .post("/api/definitions?prune=true", &document)
        .json();
    let changes = ["to_make", "to_delete"].map(|of| lists(&again, of));
    assert_eq!(changes, [0, 0], "{again}");
}

#[test]
fn what_was_exported_makes_another_broker_the_same() {
    let (one, other) = (Managed::start(), Managed::start());
    one.post("/api/definitions", &wanted());
    let exported = one.shown("/api/definitions");
    assert_eq!(other.post("/api/definitions", &exported).status, 200);
    assert_eq!(other.shown("/api/definitions"), exported);
}

#[test]
fn a_conflict_is_named_and_nothing_is_imported() {
    let managed = Managed::start();
    managed.put("/api/queues/%2F/r", &json!({"auto_delete": true}));
    let told = managed
        .post("/api/definitions?dry_run=true", &wanted())
        .json();
    assert_eq!(told["conflicts"][0]["name"], "r");
    let refused = managed.post("/api/definitions", &wanted()).refused(409);
    assert!(
        refused.contains("queue r") && refused.contains("auto_delete"),
        "{refused}"
    );
    managed.get("/api/queues/%2F/q").refused(404);
    managed.get("/api/exchanges/%2F/e").refused(404);
}

#[test]
fn an_import_that_would_end_what_it_defines_is_a_conflict() {
    let managed = Managed::start();
    let exchange = json!({"name": "e", "type": "topic", "auto_delete": true});
    let binding = |key: &str| json!({"source": "e", "destination": "q", "routing_key": key});
    let document = |bindings: &[Json]| json!({"exchanges": [exchange], "queues": [{"name": "q"}], "bindings": bindings});
    let path = "/api/definitions?prune=true";
    let made = managed.post(path, &document(&[binding("a")]));
    assert_eq!(made.status, 200, "{made:?}");
    let refused = managed.post(path, &document(&[])).refused(409);
    assert!(refused.contains("exchange e"), "{refused}");
    let changed = managed.post(path, &document(&[binding("b")]));
    assert_eq!(changed.status, 200, "{changed:?}");
    managed.shown("/api/exchanges/%2F/e");
}

#[test]
fn an_import_that_fails_half_way_leaves_everything_as_it_was() {
    let managed = Managed::start();
    let before = managed.shown("/api/definitions");
    let mut document = wanted();
    let bindings = document["bindings"].as_array_mut().expect("a list");
    bindings.push(json!({"source": "amq.match", "destination": "q", "routing_key": "k"}));
    let refused = managed.post("/api/definitions", &document);
    assert!((400..500).contains(&refused.status), "{refused:?}");
    assert_eq!(managed.shown("/api/definitions"), before);
}

#[test]
fn pruning_deletes_what_the_document_does_not_have() {
    let managed = Managed::start();
    managed.post("/api/definitions", &wanted());
    let small = json!({"queues": [{"name": "r"}]});
    let kept = managed.post("/api/definitions", &small);
    assert_eq!(lists(&kept.json(), "to_delete"), 0);
    let told = managed.post("/api/definitions?prune=true", &small).json();
    assert_eq!(lists(&told, "to_delete"), 5, "{told}");
    let left = managed.shown("/api/definitions");
    assert_eq!(left["queues"][0]["name"], "r");
    assert_eq!(
        [&left["exchanges"], &left["bindings"]],
        [&json!([]), &json!([])]
    );
}

#[test]
fn exclusive_queues_and_the_brokers_own_exchanges_are_no_definitions() {
    let managed = Managed::start();
    let exported = managed.shown("/api/definitions");
    assert_eq!(
        [&exported["exchanges"], &exported["queues"]],
        [&json!([]), &json!([])]
    );
    let own = json!({"exchanges": [{"name": "amq.topic", "type": "topic"}]});
    managed.post("/api/definitions", &own).refused(409);
}

#[test]
fn what_is_wrong_in_a_document_is_told_with_its_place() {
    let managed = Managed::start();
    for (document, place) in [
        (json!({"queues": [{"name": "q"}, {}]}), "queues[1]: name"),
        (
            json!({"queues": [{"name": "q"}, {"name": "q"}]}),
            "queues[1]: stands there twice",
        ),
        (json!({"queues": {}}), "queues: not a list"),
        (json!({"policies": []}), "policies"),
        (
            json!({"queues": [{"name": "q", "durabel": true}]}),
            "durabel",
        ),
        (json!({"queues": [{"name": "q", "vhost": "x"}]}), "vhost"),
    ] {
        let refused = managed.post("/api/definitions", &document).refused(400);
        assert!(refused.contains(place), "{refused}");
    }
}

#[test]
fn a_lockstep_group_imports_as_one_broker_does() {
    let managed = Managed::of(Broker::start_lockstep("5", &["--http-port", "0"]));
    let made = managed.post("/api/definitions", &wanted());
    assert_eq!(lists(&made.json(), "to_make"), 6, "{made:?}");
    managed.put("/api/queues/%2F/x", &json!({}));
    let told = managed
        .post("/api/definitions?prune=true", &wanted())
        .json();
    assert_eq!(lists(&told, "to_delete"), 1, "{told}");
    assert_eq!(
        managed
            .shown("/api/nodes")
            .as_array()
            .expect("a list")
            .len(),
        3
    );
}

#[test]
fn what_was_imported_is_there_after_a_kill() {
    let directory = Directory::new();
    let options = ["--data-dir", directory.text()];
    let mut managed = Managed::with(&options);
    assert_eq!(managed.post("/api/definitions", &wanted()).status, 200);
    let exported = managed.shown("/api/definitions");
    managed.broker.signal("KILL");
    managed.broker.wait();
    let again = Managed::with(&options);
    assert_eq!(again.shown("/api/definitions"), exported);
}

#[test]
fn a_queue_whose_name_is_empty_is_exported_and_imported() {
    let managed = Managed::start();
    let mut client = managed.client("a");
    client.declare(0, "");
    let document = managed.shown("/api/definitions");
    assert_eq!(document["queues"][0]["name"], "");
    let other = Managed::start();
    for wanted in [1, 0] {
        let difference = other.post("/api/definitions", &document);
        assert_eq!(difference.status, 200, "{difference:?}");
        let made = difference.json()["to_make"]["queues"].clone();
        assert_eq!(made.as_array().map(Vec::len), Some(wanted), "{made}");
    }
}
