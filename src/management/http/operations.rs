//! All operations: the router and the description are made of this table.

use super::problem::Kind;

/// A method of HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// `GET`: changes nothing.
    Get,
    /// `PUT`: so that it is there.
    Put,
    /// `POST`.
    Post,
    /// `DELETE`.
    Delete,
}

/// Which operation it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the table says what each does")]
pub enum Deal {
    Overview,
    ListQueues,
    ShowQueue,
    PutQueue,
    DeleteQueue,
    PurgeQueue,
    MoveMessages,
    RerouteMessages,
    BindingsOfQueue,
    ListExchanges,
    ShowExchange,
    PutExchange,
    DeleteExchange,
    BindingsFrom,
    BindingsTo,
    ListBindings,
    BindingsBetween,
    Bind,
    ShowBinding,
    Unbind,
    ListConnections,
    ShowConnection,
    CloseConnection,
    ListSessions,
    ShowSession,
    EndSession,
    ListConsumers,
    ExportDefinitions,
    ImportDefinitions,
    ListNodes,
    ShowNode,
    TakeOutNode,
    ShowLevel,
    RaiseLevel,
    Alive,
    Ready,
    Events,
    ListClasses,
    ListObjects,
    ShowObject,
    CallMethod,
    Description,
    Metrics,
    DetailedMetrics,
}

/// A parameter of a query.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// What its values are.
    pub r#type: ParameterType,
    /// What it is for.
    pub about: &'static str,
}

/// What values of a parameter are.
#[derive(Clone, Copy, Debug)]
pub enum ParameterType {
    /// Any text up to so many octets.
    Text(usize),
    /// One of these words.
    Word(&'static [&'static str]),
    /// A number from 1 to this.
    Number(usize),
    /// `true` or `false`.
    Truth,
}

/// A success.
#[derive(Clone, Copy, Debug)]
pub struct Success {
    /// The status of HTTP.
    pub status: u16,
    /// What it says.
    pub about: &'static str,
    /// What the body is; None if there is none.
    pub body: Option<Body>,
}

/// What a body is.
#[derive(Clone, Copy, Debug)]
pub enum Body {
    /// JSON that a schema of this name describes.
    Json(&'static str),
    /// A list of such, or a page of it.
    List(&'static str),
    /// Text of that media type.
    Text(&'static str),
}

/// An operation.
#[derive(Debug)]
pub struct Operation {
    /// Which.
    pub deal: Deal,
    /// Its method.
    pub method: Method,
    /// Its path, with parameters in braces.
    pub path: &'static str,
    /// What it is about.
    pub tag: &'static str,
    /// What it does.
    pub about: &'static str,
    /// Parameters of the query.
    pub query: &'static [Parameter],
    /// The schema of the request's body, if it takes one.
    pub body: Option<&'static str>,
    /// How it can end well.
    pub successes: &'static [Success],
    /// How else, besides [`ALWAYS`].
    pub problems: &'static [Kind],
}

/// Problems that any request can have.
pub const ALWAYS: [Kind; 6] = [
    Kind::BadRequest,
    Kind::Unauthorized,
    Kind::Forbidden,
    Kind::Timeout,
    Kind::TooMany,
    Kind::Unavailable,
];

impl Operation {
    /// The names of the parameters in its path.
    pub fn path_parameters(&self) -> impl Iterator<Item = &'static str> {
        let parts = self.path.split('/');
        parts.filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
    }

    /// Its name in the description: unique.
    pub fn id(&self) -> String {
        let mut id = format!("{:?}", self.deal);
        let count = self.path_parameters().count();
        if matches!(
            self.deal,
            Deal::ListQueues | Deal::ListExchanges | Deal::ListBindings | Deal::ListConsumers
        ) && count > 0
        {
            id.push_str("OfVhost");
        }
        id
    }

    /// All problems it can have.
    pub fn all_problems(&self) -> Vec<Kind> {
        let mut problems = ALWAYS.to_vec();
        problems.extend(self.problems);
        if self.body.is_some() {
            problems.extend([Kind::TooLarge, Kind::MediaType]);
        }
        problems
    }
}

const fn get(deal: Deal, path: &'static str, tag: &'static str, about: &'static str) -> Operation {
    Operation {
        deal,
        method: Method::Get,
        path,
        tag,
        about,
        query: &[],
        body: None,
        successes: &[],
        problems: &[],
    }
}

const fn act(
    (deal, method): (Deal, Method),
    path: &'static str,
    tag: &'static str,
    about: &'static str,
) -> Operation {
    Operation {
        method,
        ..get(deal, path, tag, about)
    }
}

impl Operation {
    const fn query(mut self, query: &'static [Parameter]) -> Self {
        self.query = query;
        self
    }

    const fn body(mut self, schema: &'static str) -> Self {
        self.body = Some(schema);
        self
    }

    const fn ends(mut self, successes: &'static [Success]) -> Self {
        self.successes = successes;
        self
    }

    const fn or(mut self, problems: &'static [Kind]) -> Self {
        self.problems = problems;
        self
    }
}

const fn ok(schema: &'static str) -> Success {
    Success {
        status: 200,
        about: "What was asked for",
        body: Some(Body::Json(schema)),
    }
}

const fn list(schema: &'static str) -> Success {
    Success {
        status: 200,
        about: "A list, or the page of it that was asked for",
        body: Some(Body::List(schema)),
    }
}

const fn done(status: u16, about: &'static str) -> Success {
    Success {
        status,
        about,
        body: None,
    }
}

const GONE: &[Success] = &[done(204, "It is gone")];

const PAGE: Parameter = Parameter {
    name: "page",
    r#type: ParameterType::Number(usize::MAX / super::limits::PAGE_SIZE_MAX),
    about: "Which page, the first is 1; without it and page_size all items come as one list",
};

const PAGE_SIZE: Parameter = Parameter {
    name: "page_size",
    r#type: ParameterType::Number(super::limits::PAGE_SIZE_MAX),
    about: "Items on a page",
};

const NAME: Parameter = Parameter {
    name: "name",
    r#type: ParameterType::Text(super::limits::FILTER_BYTES_MAX),
    about: "Only what has this text in its name, whatever its case",
};

const PAGES: &[Parameter] = &[
    PAGE,
    PAGE_SIZE,
    NAME,
    Parameter {
        name: "sort",
        r#type: ParameterType::Text(super::limits::FILTER_BYTES_MAX),
        about: "The field by which items are sorted; without it they come by name",
    },
    Parameter {
        name: "sort_reverse",
        r#type: ParameterType::Truth,
        about: "Whether the last comes first",
    },
];

const PAGES_OF_PACKAGE: &[Parameter] = &[PACKAGE, PAGE, PAGE_SIZE, NAME];

const PACKAGE: Parameter = Parameter {
    name: "package",
    r#type: ParameterType::Text(super::limits::FILTER_BYTES_MAX),
    about: "The package of the class; without it classes of any",
};

const fn flag(name: &'static str, about: &'static str) -> Parameter {
    Parameter {
        name,
        r#type: ParameterType::Truth,
        about,
    }
}

/// Families of metrics that a scrape in detail is made of.
pub const FAMILIES: &[&str] = &["queue_metrics", "exchange_metrics"];

use Deal::*;
use Method::{Delete, Post, Put};

/// All of them.
pub static ALL: &[Operation] = &[
    get(
        Overview,
        "/api/overview",
        "overview",
        "The broker and its sums",
    )
    .ends(&[ok("Overview")]),
    get(ListQueues, "/api/queues", "queues", "Queues")
        .query(PAGES)
        .ends(&[list("Queue")]),
    get(ListQueues, "/api/queues/{vhost}", "queues", "Queues")
        .query(PAGES)
        .ends(&[list("Queue")])
        .or(&[Kind::NotFound]),
    get(
        ShowQueue,
        "/api/queues/{vhost}/{queue}",
        "queues",
        "A queue",
    )
    .ends(&[ok("Queue")])
    .or(&[Kind::NotFound]),
    act(
        (PutQueue, Put),
        "/api/queues/{vhost}/{queue}",
        "queues",
        "Makes a queue, if it is not there",
    )
    .body("QueueDefinition")
    .ends(&[
        done(201, "It was made"),
        done(204, "It is there and is like that"),
    ])
    .or(&[Kind::NotFound, Kind::Conflict]),
    act(
        (DeleteQueue, Delete),
        "/api/queues/{vhost}/{queue}",
        "queues",
        "Deletes a queue",
    )
    .query(&[
        flag("if_unused", "Only if nobody has subscribed to it"),
        flag("if_empty", "Only if there is no message in it"),
    ])
    .ends(GONE)
    .or(&[Kind::NotFound, Kind::Conflict]),
    act(
        (PurgeQueue, Delete),
        "/api/queues/{vhost}/{queue}/contents",
        "queues",
        "Discards the messages of a queue that nobody has acquired",
    )
    .ends(&[Success {
        status: 200,
        about: "How many there were",
        body: Some(Body::Json("Moved")),
    }])
    .or(&[Kind::NotFound, Kind::Conflict]),
    act(
        (MoveMessages, Post),
        "/api/queues/{vhost}/{queue}/move",
        "queues",
        "Moves messages of a queue to another",
    )
    .body("Move")
    .ends(&[ok("Moved")])
    .or(&[Kind::NotFound, Kind::Conflict]),
    act(
        (RerouteMessages, Post),
        "/api/queues/{vhost}/{queue}/reroute",
        "queues",
        "Publishes messages of a queue again, to an exchange or to the queue's alternate exchange",
    )
    .body("Reroute")
    .ends(&[ok("Moved")])
    .or(&[Kind::NotFound, Kind::Conflict]),
    get(
        BindingsOfQueue,
        "/api/queues/{vhost}/{queue}/bindings",
        "bindings",
        "Bindings of a queue",
    )
    .query(PAGES)
    .ends(&[list("Binding")])
    .or(&[Kind::NotFound]),
    get(ListExchanges, "/api/exchanges", "exchanges", "Exchanges")
        .query(PAGES)
        .ends(&[list("Exchange")]),
    get(
        ListExchanges,
        "/api/exchanges/{vhost}",
        "exchanges",
        "Exchanges",
    )
    .query(PAGES)
    .ends(&[list("Exchange")])
    .or(&[Kind::NotFound]),
    get(
        ShowExchange,
        "/api/exchanges/{vhost}/{exchange}",
        "exchanges",
        "An exchange; the default one is called amq.default in paths",
    )
    .ends(&[ok("Exchange")])
    .or(&[Kind::NotFound]),
    act(
        (PutExchange, Put),
        "/api/exchanges/{vhost}/{exchange}",
        "exchanges",
        "Makes an exchange, if it is not there",
    )
    .body("ExchangeDefinition")
    .ends(&[
        done(201, "It was made"),
        done(204, "It is there and is like that"),
    ])
    .or(&[Kind::NotFound, Kind::Conflict]),
    act(
        (DeleteExchange, Delete),
        "/api/exchanges/{vhost}/{exchange}",
        "exchanges",
        "Deletes an exchange",
    )
    .query(&[flag("if_unused", "Only if no queue is bound to it")])
    .ends(GONE)
    .or(&[Kind::NotFound, Kind::Conflict]),
    get(
        BindingsFrom,
        "/api/exchanges/{vhost}/{exchange}/bindings/source",
        "bindings",
        "Bindings of an exchange",
    )
    .query(PAGES)
    .ends(&[list("Binding")])
    .or(&[Kind::NotFound]),
    get(
        BindingsTo,
        "/api/exchanges/{vhost}/{exchange}/bindings/destination",
        "bindings",
        "Bindings by which an exchange gets messages of another: none, as AMQP 0-10 has no such",
    )
    .query(PAGES)
    .ends(&[list("Binding")])
    .or(&[Kind::NotFound]),
    get(ListBindings, "/api/bindings", "bindings", "Bindings")
        .query(PAGES)
        .ends(&[list("Binding")]),
    get(
        ListBindings,
        "/api/bindings/{vhost}",
        "bindings",
        "Bindings",
    )
    .query(PAGES)
    .ends(&[list("Binding")])
    .or(&[Kind::NotFound]),
    get(
        BindingsBetween,
        "/api/bindings/{vhost}/e/{exchange}/q/{queue}",
        "bindings",
        "Bindings of a queue to an exchange",
    )
    .query(PAGES)
    .ends(&[list("Binding")])
    .or(&[Kind::NotFound]),
    act(
        (Bind, Post),
        "/api/bindings/{vhost}/e/{exchange}/q/{queue}",
        "bindings",
        "Binds a queue to an exchange",
    )
    .body("BindingDefinition")
    .ends(&[done(201, "It is bound; Location says where the binding is")])
    .or(&[Kind::NotFound, Kind::Conflict]),
    get(
        ShowBinding,
        "/api/bindings/{vhost}/e/{exchange}/q/{queue}/{properties}",
        "bindings",
        "A binding; the empty key is ~ in paths",
    )
    .ends(&[ok("Binding")])
    .or(&[Kind::NotFound]),
    act(
        (Unbind, Delete),
        "/api/bindings/{vhost}/e/{exchange}/q/{queue}/{properties}",
        "bindings",
        "Takes a binding away",
    )
    .ends(GONE)
    .or(&[Kind::NotFound, Kind::Conflict]),
    get(
        ListConnections,
        "/api/connections",
        "connections",
        "Connections",
    )
    .query(PAGES)
    .ends(&[list("Connection")]),
    get(
        ShowConnection,
        "/api/connections/{connection}",
        "connections",
        "A connection",
    )
    .ends(&[ok("Connection")])
    .or(&[Kind::NotFound]),
    act(
        (CloseConnection, Delete),
        "/api/connections/{connection}",
        "connections",
        "Closes a connection",
    )
    .ends(&[done(204, "Its client is being told")])
    .or(&[Kind::NotFound, Kind::Conflict]),
    get(
        ListSessions,
        "/api/sessions",
        "sessions",
        "Sessions: what AMQP 0-9-1 calls channels",
    )
    .query(PAGES)
    .ends(&[list("Session")]),
    get(
        ShowSession,
        "/api/sessions/{session}",
        "sessions",
        "A session",
    )
    .ends(&[ok("Session")])
    .or(&[Kind::NotFound]),
    act(
        (EndSession, Delete),
        "/api/sessions/{session}",
        "sessions",
        "Ends a session, whatever its timeout",
    )
    .ends(GONE)
    .or(&[Kind::NotFound, Kind::Conflict]),
    get(
        ListConsumers,
        "/api/consumers",
        "sessions",
        "Subscriptions: what AMQP 0-9-1 calls consumers",
    )
    .query(PAGES)
    .ends(&[list("Consumer")]),
    get(
        ListConsumers,
        "/api/consumers/{vhost}",
        "sessions",
        "Subscriptions",
    )
    .query(PAGES)
    .ends(&[list("Consumer")])
    .or(&[Kind::NotFound]),
    get(
        ExportDefinitions,
        "/api/definitions",
        "definitions",
        "Exchanges, queues and bindings, as one document that can be imported",
    )
    .ends(&[ok("Definitions")]),
    act(
        (ImportDefinitions, Post),
        "/api/definitions",
        "definitions",
        "Sees to it that what a document defines is there: all of it, or nothing is changed",
    )
    .query(&[
        flag("dry_run", "Whether only the difference is told"),
        flag(
            "prune",
            "Whether what the document does not have is deleted",
        ),
    ])
    .body("Definitions")
    .ends(&[ok("Difference")])
    .or(&[Kind::NotFound, Kind::Conflict]),
    get(ListNodes, "/api/nodes", "nodes", "The members").ends(&[list("Node")]),
    get(ShowNode, "/api/nodes/{node}", "nodes", "A member")
        .ends(&[ok("Node")])
        .or(&[Kind::NotFound]),
    act(
        (TakeOutNode, Delete),
        "/api/nodes/{node}",
        "nodes",
        "Takes a member out of the cluster, whether it runs or not: it ends, and what it holds is of no \
         use any more",
    )
    .ends(&[done(
        202,
        "It is decided; it is done when the member is no more among the members",
    )])
    .or(&[Kind::NotFound, Kind::Conflict]),
    get(
        ShowLevel,
        "/api/level",
        "nodes",
        "The level at which the broker runs: what the versions of all members can do",
    )
    .ends(&[ok("Level")]),
    act(
        (RaiseLevel, Post),
        "/api/level",
        "nodes",
        "Raises the level to the highest that all members know. Versions that do not know it take part no \
         more",
    )
    .ends(&[ok("Level")])
    .or(&[Kind::Conflict]),
    get(
        Alive,
        "/api/health/alive",
        "health",
        "Whether the process answers; nothing else is looked at",
    )
    .ends(&[ok("Health")]),
    get(
        Ready,
        "/api/health/ready",
        "health",
        "Whether the member serves clients: what is ordered is done and safe",
    )
    .ends(&[ok("Health")]),
    get(
        Events,
        "/api/events",
        "events",
        "What happens at this member from now on, as server-sent events without end",
    )
    .query(&[
        Parameter {
            name: "name",
            r#type: ParameterType::Text(super::limits::FILTER_BYTES_MAX),
            about: "Only events with this text in their name, whatever its case",
        },
        Parameter {
            name: "seconds",
            r#type: ParameterType::Number(86_400),
            about: "Ends after this time",
        },
    ])
    .ends(&[Success {
        status: 200,
        about: "Events, each with its name and JSON for data",
        body: Some(Body::Text("text/event-stream")),
    }]),
    get(
        ListClasses,
        "/api/classes",
        "model",
        "Classes of the model, with properties, statistics and methods",
    )
    .ends(&[list("Class")]),
    get(
        ListObjects,
        "/api/classes/{class}/objects",
        "model",
        "Objects of a class",
    )
    .query(PAGES_OF_PACKAGE)
    .ends(&[list("Object")])
    .or(&[Kind::NotFound]),
    get(
        ShowObject,
        "/api/objects/{object}",
        "model",
        "An object of the model, by its name",
    )
    .ends(&[ok("Object")])
    .or(&[Kind::NotFound]),
    act(
        (CallMethod, Post),
        "/api/objects/{object}/{method}",
        "model",
        "Calls a method of an object",
    )
    .body("Arguments")
    .ends(&[ok("Arguments")])
    .or(&[Kind::NotFound, Kind::Conflict]),
    get(
        Description,
        "/api/openapi.json",
        "overview",
        "This document",
    )
    .ends(&[ok("Arguments")]),
    get(Metrics, "/metrics", "metrics", "Sums, for Prometheus").ends(&[Success {
        status: 200,
        about: "The text format of Prometheus, or OpenMetrics for who accepts it",
        body: Some(Body::Text("text/plain")),
    }]),
    get(
        DetailedMetrics,
        "/metrics/detailed",
        "metrics",
        "Metrics of each queue or exchange, for Prometheus",
    )
    .query(&[Parameter {
        name: "family",
        r#type: ParameterType::Word(FAMILIES),
        about: "What is wanted; may be repeated, without it all families come",
    }])
    .ends(&[Success {
        status: 200,
        about: "The text format of Prometheus, or OpenMetrics for who accepts it",
        body: Some(Body::Text("text/plain")),
    }]),
];
