//! The OpenAPI document and what is served are the same.

use serde_json::{Value as Json, json};

use crate::http::Managed;

const METHODS: [&str; 4] = ["get", "put", "post", "delete"];

/// A path with some name for each parameter; the one virtual host where it is meant.
fn filled(path: &str) -> String {
    let part = |part: &str| match part {
        "{vhost}" => "%2F".to_owned(),
        part if part.starts_with('{') => "nobody".to_owned(),
        part => part.to_owned(),
    };
    path.split('/').map(part).collect::<Vec<_>>().join("/")
}

#[test]
fn every_method_of_the_document_is_served_and_no_other() {
    let managed = Managed::start();
    let document = managed.shown("/api/openapi.json");
    assert_eq!(document["openapi"], "3.1.0");
    let paths = document["paths"].as_object().expect("paths");
    assert!(paths.len() > 30, "{}", paths.len());
    for (path, described) in paths {
        let end = match path.as_str() {
            "/api/events" => "?seconds=1",
            _ => "",
        };
        for method in METHODS {
            let url = format!("{}{end}", filled(path));
            let answer = managed.ask(&method.to_uppercase(), &url, "", "");
            let is_served = answer.status != 405 && !answer.body.contains("no such path");
            let is_described = described.get(method).is_some();
            assert_eq!(is_served, is_described, "{method} {path}: {answer:?}");
            if is_described {
                let status = answer.status.to_string();
                let answers = &described[method]["responses"];
                assert!(
                    answers.get(&status).is_some(),
                    "{method} {path}: {answer:?}"
                );
            }
        }
    }
}

#[test]
fn every_reference_in_the_document_is_to_something_in_it() {
    let managed = Managed::start();
    let document = managed.shown("/api/openapi.json");
    let mut count = 0;
    each_reference(&document, &mut |to| {
        let pointer = to.trim_start_matches('#');
        assert!(document.pointer(pointer).is_some(), "{to}");
        count += 1;
    });
    assert!(count > 100, "{count}");
}

fn each_reference(json: &Json, see: &mut dyn FnMut(&str)) {
    match json {
        Json::Object(members) => {
            if let Some(Json::String(to)) = members.get("$ref") {
                see(to);
            }
            members
                .values()
                .for_each(|value| each_reference(value, see));
        }
        Json::Array(items) => items.iter().for_each(|item| each_reference(item, see)),
        _ => {}
    }
}

#[test]
fn operations_have_names_of_their_own() {
    let managed = Managed::start();
    let document = managed.shown("/api/openapi.json");
    let mut names = Vec::new();
    for described in document["paths"].as_object().expect("paths").values() {
        let operations = described.as_object().expect("operations").values();
        names.extend(operations.map(|one| one["operationId"].to_string()));
    }
    let all = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), all);
}

/// An answer has the fields that its schema requires and no others.
fn is_as_described(document: &Json, schema: &str, answer: &Json) {
    let schema = &document["components"]["schemas"][schema];
    let described = schema["properties"].as_object().expect("properties");
    let members = answer.as_object().expect("an object");
    for name in schema["required"].as_array().expect("a list") {
        let name = name.as_str().expect("a name");
        assert!(members.contains_key(name), "{name} is missing in {answer}");
    }
    for (name, value) in members {
        let of = described.get(name);
        let of = of.unwrap_or_else(|| panic!("{name} is not described: {answer}"));
        let kind = match value {
            Json::Null => "null",
            Json::Bool(_) => "boolean",
            Json::Number(_) => "integer",
            Json::String(_) => "string",
            Json::Array(_) => "array",
            Json::Object(_) => "object",
        };
        let kinds = of["type"].to_string();
        assert!(
            kinds.contains(kind) || of.get("$ref").is_some(),
            "{name}: {value} is no {kinds}"
        );
    }
}

#[test]
fn answers_have_the_fields_that_the_document_says() {
    let managed = Managed::start();
    let document = managed.shown("/api/openapi.json");
    managed.put("/api/queues/%2F/q", &json!({}));
    managed.post(
        "/api/bindings/%2F/e/amq.direct/q/q",
        &json!({"routing_key": "k"}),
    );
    let mut client = managed.client("a");
    client.subscribe(0, "q", ferrymq::wire::AcceptMode::EXPLICIT);
    client.sync(0);
    for (path, schema) in [
        ("/api/queues", "Queue"),
        ("/api/exchanges", "Exchange"),
        ("/api/bindings", "Binding"),
        ("/api/connections", "Connection"),
        ("/api/sessions", "Session"),
        ("/api/consumers", "Consumer"),
        ("/api/nodes", "Node"),
        ("/api/classes", "Class"),
        ("/api/classes/queue/objects", "Object"),
    ] {
        let items = managed.shown(path);
        let items = items.as_array().expect("a list");
        assert!(!items.is_empty(), "{path}");
        for item in items {
            is_as_described(&document, schema, item);
        }
    }
    is_as_described(&document, "Overview", &managed.shown("/api/overview"));
    let difference = managed.post("/api/definitions?dry_run=true", &json!({}));
    is_as_described(&document, "Difference", &difference.json());
    is_as_described(
        &document,
        "Problem",
        &managed.get("/api/queues/%2F/x").json(),
    );
}
