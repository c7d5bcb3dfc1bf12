//! The description of all operations as an OpenAPI 3.1 document.

use serde_json::{Map as JsonMap, Value as Json, json};

use super::limits::{NAME_BYTES_MAX, PAGE_SIZE_MAX};
use super::nouns::{self, Field, Shape};
use super::operations::{self, Body, Method, Operation, Parameter, ParameterType, Success};
use super::problem::Kind;
use crate::qmf::limits::OBJECT_NAME_BYTES_MAX;

/// The document.
pub fn document() -> Json {
    let mut paths = JsonMap::new();
    for operation in operations::ALL {
        let path = paths
            .entry(operation.path)
            .or_insert_with(|| json!({}))
            .as_object_mut();
        if let Some(path) = path {
            path.insert(method(operation.method).to_owned(), described(operation));
        }
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "FerryMQ management",
            "version": env!("CARGO_PKG_VERSION"),
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": schemas(),
            "securitySchemes": {"basic": {"type": "http", "scheme": "basic"}},
        },
        "security": [{}, {"basic": []}],
    })
}

/// The name of a method, in small letters.
fn method(method: Method) -> &'static str {
    match method {
        Method::Get => "get",
        Method::Put => "put",
        Method::Post => "post",
        Method::Delete => "delete",
    }
}

fn described(operation: &Operation) -> Json {
    let in_path = operation.path_parameters().map(path_parameter);
    let parameters = in_path.chain(operation.query.iter().map(query_parameter));
    let mut answers = JsonMap::new();
    for success in operation.successes {
        answers.insert(success.status.to_string(), succeeded(success));
    }
    for problem in operation.all_problems() {
        answers.insert(problem.status().to_string(), failed(problem));
    }
    let mut described = json!({
        "operationId": operation.id(),
        "tags": [operation.tag],
        "summary": operation.about,
        "parameters": parameters.collect::<Vec<_>>(),
        "responses": answers,
    });
    if let Some(schema) = operation.body {
        let body = json!({
            "required": needs_members(schema),
            "content": {"application/json": {"schema": reference(schema)}},
        });
        put(&mut described, "requestBody", body);
    }
    described
}

/// Gives an object one member more.
fn put(object: &mut Json, name: &str, value: Json) {
    if let Json::Object(members) = object {
        members.insert(name.to_owned(), value);
    }
}

/// Whether a request's schema has members that have to be there, so that there has to be a body.
fn needs_members(schema: &str) -> bool {
    let mut requests = REQUESTS.iter();
    requests.any(|(name, _, needed)| *name == schema && !needed.is_empty())
}

fn reference(schema: &str) -> Json {
    json!({"$ref": format!("#/components/schemas/{schema}")})
}

fn succeeded(success: &Success) -> Json {
    let (media, schema) = match success.body {
        None => return json!({"description": success.about}),
        Some(Body::Json(name)) => ("application/json", reference(name)),
        Some(Body::List(name)) => {
            let plain = json!({"type": "array", "items": reference(name)});
            let page = json!({
                "type": "object",
                "required": ["items", "page", "page_size", "page_count", "total_count",
                             "filtered_count", "item_count"],
                "properties": {
                    "items": {"type": "array", "items": reference(name), "maxItems": PAGE_SIZE_MAX},
                    "page": {"type": "integer"},
                    "page_size": {"type": "integer"},
                    "page_count": {"type": "integer"},
                    "total_count": {"type": "integer"},
                    "filtered_count": {"type": "integer"},
                    "item_count": {"type": "integer"},
                },
            });
            ("application/json", json!({"oneOf": [plain, page]}))
        }
        Some(Body::Text(media)) => (media, json!({"type": "string"})),
    };
    json!({
        "description": success.about,
        "content": {media: {"schema": schema}},
    })
}

fn failed(problem: Kind) -> Json {
    json!({
        "description": problem.about(),
        "content": {"application/json": {"schema": reference("Problem")}},
    })
}

fn path_parameter(name: &str) -> Json {
    let (max, example) = match name {
        "vhost" => (NAME_BYTES_MAX, json!("/")),
        "object" => (
            OBJECT_NAME_BYTES_MAX,
            json!("org.apache.qpid.broker:broker:amqp-broker"),
        ),
        "method" => (NAME_BYTES_MAX, json!("getLogLevel")),
        "class" => (NAME_BYTES_MAX, json!("queue")),
        _ => (NAME_BYTES_MAX, Json::Null),
    };
    let mut parameter = json!({
        "name": name,
        "in": "path",
        "required": true,
        "schema": {"type": "string", "minLength": 1, "maxLength": max},
    });
    if !example.is_null() {
        put(&mut parameter, "example", example);
    }
    parameter
}

fn query_parameter(parameter: &Parameter) -> Json {
    let schema = match parameter.r#type {
        ParameterType::Text(max) => json!({"type": "string", "maxLength": max}),
        ParameterType::Word(words) => {
            json!({"type": "array", "items": {"type": "string", "enum": words}})
        }
        ParameterType::Number(max) => json!({"type": "integer", "minimum": 1, "maximum": max}),
        ParameterType::Truth => json!({"type": "boolean"}),
    };
    json!({
        "name": parameter.name,
        "in": "query",
        "required": false,
        "description": parameter.about,
        "schema": schema,
    })
}

fn shape(shape: Shape) -> Json {
    match shape {
        Shape::Text => json!({"type": "string"}),
        Shape::OptionalText => json!({"type": ["string", "null"]}),
        Shape::Number => json!({"type": "integer", "minimum": 0}),
        Shape::OptionalNumber => json!({"type": ["integer", "null"], "minimum": 0}),
        Shape::Truth => json!({"type": "boolean"}),
        Shape::Map => json!({"type": "object", "additionalProperties": true}),
        Shape::List(name) => json!({"type": "array", "items": reference(name)}),
        Shape::Of(name) => reference(name),
    }
}

/// A field of a schema that no noun has.
pub type Plain = (&'static str, Shape, &'static str);

/// Schemas of answers that are made without a noun: all their fields are there.
pub const ANSWERS: &[(&str, &[Plain])] = &[
    (
        "Overview",
        &[
            ("product", Shape::Text, "What it is"),
            ("version", Shape::Text, "Of the broker"),
            ("node", Shape::Text, "The member that answers"),
            ("broker", Shape::Text, "Its identity"),
            ("agent", Shape::Text, "What the group's agents are called"),
            (
                "uptime",
                Shape::Number,
                "Nanoseconds since its process began",
            ),
            (
                "object_totals",
                Shape::Map,
                "How many there are of each noun",
            ),
            ("queue_totals", Shape::Map, "Messages and octets in queues"),
            (
                "statistics",
                Shape::Map,
                "All that is counted, by the names of the model",
            ),
        ],
    ),
    (
        "Node",
        &[
            ("name", Shape::Text, "The member"),
            ("url", Shape::Text, "Where clients find it, if it says so"),
            (
                "role",
                Shape::OptionalText,
                "voter, or learner as long as it catches up; null where there is no cluster, or it takes \
                 part no more",
            ),
            (
                "is_leader",
                Shape::Truth,
                "Whether it gives the order, as far as is known",
            ),
            (
                "is_leaving",
                Shape::Truth,
                "Whether it is being taken out of the cluster",
            ),
            (
                "running",
                Shape::Truth,
                "Whether it has an agent at present",
            ),
            (
                "is_self",
                Shape::Truth,
                "Whether it is the one that answers",
            ),
            (
                "is_first",
                Shape::Truth,
                "Whether its agent tells what is told once",
            ),
            ("connections", Shape::Number, "Connections of its clients"),
            (
                "level_most",
                Shape::OptionalNumber,
                "The highest level that its version knows, if it has said so",
            ),
        ],
    ),
    (
        "Level",
        &[
            ("level", Shape::Number, "At which the broker runs"),
            (
                "possible",
                Shape::OptionalNumber,
                "The highest that all members know; null while one has not said",
            ),
        ],
    ),
    ("Health", &[("status", Shape::Text, "ok")]),
    ("Moved", &[("messages", Shape::Number, "How many messages")]),
    (
        "Class",
        &[
            ("package", Shape::Text, "Its package"),
            ("class", Shape::Text, "Its name"),
            ("properties", Shape::List("ClassPart"), "What an object is"),
            (
                "statistics",
                Shape::List("ClassPart"),
                "What changes while it lives",
            ),
            (
                "methods",
                Shape::List("ClassMethod"),
                "What can be done to it",
            ),
        ],
    ),
    (
        "ClassMethod",
        &[
            ("name", Shape::Text, "Its name"),
            ("about", Shape::Text, "What it does"),
            ("arguments", Shape::Map, "What it is given, with types"),
            ("answers", Shape::Map, "What it answers, with types"),
        ],
    ),
    (
        "Difference",
        &[
            ("dry_run", Shape::Truth, "Whether nothing was done"),
            ("to_make", Shape::Of("Definitions"), "What was not there"),
            (
                "to_delete",
                Shape::Of("Definitions"),
                "What the document does not have, for prune=true",
            ),
            (
                "conflicts",
                Shape::List("DefinitionConflict"),
                "What is there and is not like that, or else would be refused",
            ),
        ],
    ),
    (
        "DefinitionConflict",
        &[
            (
                "kind",
                Shape::Text,
                "queue, exchange or binding; document for all of it",
            ),
            ("name", Shape::Text, "Its name"),
            ("reason", Shape::Text, "What differs"),
        ],
    ),
    (
        "Problem",
        &[
            ("error", Shape::Text, "The kind of problem"),
            ("reason", Shape::Text, "What is wrong"),
        ],
    ),
];

/// Schemas of requests: fields may be left out but for those that are named last.
pub const REQUESTS: &[(&str, &[Plain], &[&str])] = &[
    (
        "QueueDefinition",
        &[
            (
                "durable",
                Shape::Truth,
                "Whether it outlasts the broker; true unless said",
            ),
            ("auto_delete", Shape::Truth, "Whether it goes by itself"),
            ("arguments", Shape::Map, "Its arguments"),
            (
                "alternate_exchange",
                Shape::OptionalText,
                "The exchange that gets what nobody took",
            ),
        ],
        &[],
    ),
    (
        "ExchangeDefinition",
        &[
            (
                "type",
                Shape::Text,
                "direct, fanout, topic or headers; direct unless said",
            ),
            (
                "durable",
                Shape::Truth,
                "Whether it outlasts the broker; true unless said",
            ),
            (
                "auto_delete",
                Shape::Truth,
                "Whether it goes with its last binding",
            ),
            ("arguments", Shape::Map, "Its arguments"),
            (
                "alternate_exchange",
                Shape::OptionalText,
                "The exchange that gets what no queue is bound for",
            ),
        ],
        &[],
    ),
    (
        "BindingDefinition",
        &[
            (
                "routing_key",
                Shape::Text,
                "The binding key; empty unless said",
            ),
            ("arguments", Shape::Map, "Its arguments"),
        ],
        &[],
    ),
    (
        "Move",
        &[
            ("destination", Shape::Text, "The queue that gets them"),
            ("count", Shape::Number, "How many at most; 0 is all"),
            (
                "filter",
                Shape::OptionalText,
                "Only messages with this application header, as NAME=VALUE",
            ),
        ],
        &["destination"],
    ),
    (
        "Reroute",
        &[
            (
                "exchange",
                Shape::OptionalText,
                "The exchange; without it the queue's alternate exchange",
            ),
            ("count", Shape::Number, "How many at most; 0 is all"),
            (
                "filter",
                Shape::OptionalText,
                "Only messages with this application header, as NAME=VALUE",
            ),
        ],
        &[],
    ),
];

fn schemas() -> Json {
    let mut schemas = JsonMap::new();
    for noun in nouns::ALL {
        schemas.insert(noun.name.to_owned(), of_fields(noun.fields));
    }
    schemas.insert("Object".to_owned(), of_fields(nouns::OBJECT_FIELDS));
    for (name, fields) in ANSWERS {
        let required: Vec<&str> = fields.iter().map(|field| field.0).collect();
        schemas.insert((*name).to_owned(), of_plain(fields, &required));
    }
    for (name, fields, required) in REQUESTS {
        schemas.insert((*name).to_owned(), of_plain(fields, required));
    }
    schemas.insert(
        "ClassPart".to_owned(),
        json!({"type": "object", "required": ["name", "type", "about"], "additionalProperties": true}),
    );
    schemas.insert(
        "Arguments".to_owned(),
        json!({"type": "object", "additionalProperties": true}),
    );
    schemas.insert("Definitions".to_owned(), definitions());
    Json::Object(schemas)
}

fn of_fields(fields: &[Field]) -> Json {
    let plain: Vec<Plain> = fields
        .iter()
        .map(|field| (field.name, field.shape, field.about))
        .collect();
    let required: Vec<&str> = fields.iter().map(|field| field.name).collect();
    of_plain(&plain, &required)
}

fn of_plain(fields: &[Plain], required: &[&str]) -> Json {
    let mut properties = JsonMap::new();
    for (name, of, about) in fields {
        let mut property = shape(*of);
        put(&mut property, "description", json!(about));
        properties.insert((*name).to_owned(), property);
    }
    json!({"type": "object", "required": required, "properties": properties})
}

/// The document of definitions, in which each noun's definition has its name.
fn definitions() -> Json {
    let text = || json!({"type": "string", "maxLength": NAME_BYTES_MAX});
    let named = |request: &str, names: &[&str]| -> Json {
        let properties: JsonMap<String, Json> = names
            .iter()
            .map(|name| ((*name).to_owned(), text()))
            .collect();
        json!({"allOf": [
            reference(request),
            {"type": "object", "required": names, "properties": properties},
        ]})
    };
    let list = |items: Json| json!({"type": "array", "items": items});
    json!({
        "type": "object",
        "properties": {
            "ferrymq_version": {"type": "string", "description": "Of the broker that exported it"},
            "exchanges": list(named("ExchangeDefinition", &["name"])),
            "queues": list(named("QueueDefinition", &["name"])),
            "bindings": list(named("BindingDefinition", &["source", "destination"])),
        },
    })
}
