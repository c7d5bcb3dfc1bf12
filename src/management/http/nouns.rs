//! What things look like over HTTP: for each noun a table of its fields, of which both the answers and
//! their description are made.
//!
//! Names are those of RabbitMQ's management where the notions are the same. What an object's class tells
//! beyond that is in `statistics`, by the names of the schema.

use serde_json::{Map as JsonMap, Value as Json, json};

use super::json::of_datum;
use crate::qmf::broker as schema;
use crate::qmf::datum::Datum;
use crate::qmf::object::Object;
use crate::qmf::schema::Class;

/// What values of a field are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A text.
    Text,
    /// A text, or null.
    OptionalText,
    /// A whole number that is not negative.
    Number,
    /// The same, or null.
    OptionalNumber,
    /// True or false.
    Truth,
    /// An object with any members.
    Map,
    /// A list of objects that another schema describes.
    List(&'static str),
    /// An object that another schema describes.
    Of(&'static str),
}

/// A field of a noun.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// What its values are.
    pub shape: Shape,
    /// What it says.
    pub about: &'static str,
    make: fn(&Object) -> Json,
}

/// A noun: objects of a class as they are shown.
#[derive(Debug)]
pub struct Noun {
    /// What it is called in the description.
    pub name: &'static str,
    /// Its class.
    pub class: &'static Class,
    /// Its fields, the one that lists are filtered by first.
    pub fields: &'static [Field],
}

impl Noun {
    /// An object of the class.
    pub fn show(&self, object: &Object) -> Json {
        let fields = self.fields.iter();
        let members = fields.map(|field| (field.name.to_owned(), (field.make)(object)));
        Json::Object(members.collect())
    }

    /// One field of an object; None if the noun has no such field.
    pub fn field(&self, object: &Object, name: &str) -> Option<Json> {
        let field = self.fields.iter().find(|field| field.name == name)?;
        Some((field.make)(object))
    }

    /// What lists are filtered by.
    pub fn label(&self, object: &Object) -> String {
        match self.fields.first().map(|field| (field.make)(object)) {
            Some(Json::String(text)) => text,
            _ => String::new(),
        }
    }
}

const fn field(
    name: &'static str,
    shape: Shape,
    about: &'static str,
    make: fn(&Object) -> Json,
) -> Field {
    Field {
        name,
        shape,
        about,
        make,
    }
}

fn of(object: &Object, name: &str) -> Json {
    object.value(name).map_or(Json::Null, of_datum)
}

/// A number of the model, a truth as 0 or 1; 0 where it is neither.
pub fn number(object: &Object, name: &str) -> u64 {
    match object.value(name).cloned() {
        Some(Datum::Bool(truth)) => truth.into(),
        Some(value) => value.into_value(0).as_u64().unwrap_or(0),
        None => 0,
    }
}

/// A text of the model; empty where it is none.
pub fn text(object: &Object, name: &str) -> String {
    match object.value(name) {
        Some(Datum::ShortText(text) | Datum::LongText(text)) => text.as_str().to_owned(),
        _ => String::new(),
    }
}

/// The key of the object that a property refers to; None where it refers to none.
pub fn referred(object: &Object, name: &str) -> Option<String> {
    match object.value(name) {
        Some(Datum::Reference(name)) => Some(name.key().to_owned()),
        _ => None,
    }
}

fn key(object: &Object, name: &str) -> Json {
    referred(object, name).map_or(Json::Null, Json::String)
}

fn vhost(_: &Object) -> Json {
    json!("/")
}

fn created(object: &Object) -> Json {
    json!(object.times.created / 1_000_000)
}

fn name(object: &Object) -> Json {
    json!(object.name.as_str())
}

/// Statistics by the names of the schema.
pub fn statistics(object: &Object) -> Json {
    let statistics = object.class().statistics.iter();
    let pairs = statistics.zip(&object.values.statistics);
    let members = pairs.map(|(one, value)| (one.value_name.to_owned(), of_datum(value)));
    Json::Object(members.collect())
}

fn properties(object: &Object) -> Json {
    let properties = object.class().properties.iter();
    let pairs = properties.zip(&object.values.properties);
    let members = pairs.map(|(one, value)| {
        let value = value.as_ref().map_or(Json::Null, of_datum);
        (one.name.to_owned(), value)
    });
    Json::Object(members.collect())
}

const VHOST: Field = field("vhost", Shape::Text, "The virtual host: always /", vhost);
const CREATED: Field = field(
    "created_at",
    Shape::Number,
    "When it came, in milliseconds since 1970",
    created,
);
const OBJECT: Field = field(
    "object",
    Shape::Text,
    "Its name as an object of the model, for methods",
    name,
);
const STATISTICS: Field = field(
    "statistics",
    Shape::Map,
    "All that is counted of it, by the names of the model",
    statistics,
);
const DURABLE: Field = field(
    "durable",
    Shape::Truth,
    "Whether it outlasts the broker",
    |o| of(o, "durable"),
);
const AUTO_DELETE: Field = field(
    "auto_delete",
    Shape::Truth,
    "Whether it goes by itself",
    |o| of(o, "autoDelete"),
);
const ARGUMENTS: Field = field("arguments", Shape::Map, "As it was declared", |o| {
    of(o, "arguments")
});
const ALTERNATE: Field = field(
    "alternate_exchange",
    Shape::OptionalText,
    "The exchange that gets what nobody took",
    |o| key(o, "altExchange"),
);

/// Queues.
pub static QUEUE: Noun = Noun {
    name: "Queue",
    class: &schema::QUEUE,
    fields: &[
        field("name", Shape::Text, "Its name", |o| of(o, "name")),
        VHOST,
        DURABLE,
        AUTO_DELETE,
        field(
            "exclusive",
            Shape::Truth,
            "Whether a session has it for itself",
            |o| of(o, "exclusive"),
        ),
        ARGUMENTS,
        ALTERNATE,
        field("messages", Shape::Number, "Messages in it", |o| {
            of(o, "msgDepth")
        }),
        field(
            "messages_ready",
            Shape::Number,
            "Messages in it that nobody has acquired",
            |o| json!(number(o, "msgDepth").saturating_sub(number(o, "unackedMessages"))),
        ),
        field(
            "messages_unacknowledged",
            Shape::Number,
            "Messages in it that somebody has acquired",
            |o| of(o, "unackedMessages"),
        ),
        field(
            "messages_persistent",
            Shape::Number,
            "Messages in it that outlast the broker",
            |o| {
                let (came, went) = ("msgPersistEnqueues", "msgPersistDequeues");
                json!(number(o, came).saturating_sub(number(o, went)))
            },
        ),
        field(
            "message_bytes",
            Shape::Number,
            "Octets of the messages in it",
            |o| of(o, "byteDepth"),
        ),
        field("consumers", Shape::Number, "Subscriptions to it", |o| {
            of(o, "consumerCount")
        }),
        field(
            "bindings",
            Shape::Number,
            "Bindings of it, that to the default exchange with them",
            |o| of(o, "bindingCount"),
        ),
        field(
            "state",
            Shape::Text,
            "running, or flow while publishers wait",
            |o| match o.value("flowStopped") {
                Some(Datum::Bool(true)) => json!("flow"),
                _ => json!("running"),
            },
        ),
        field("creator", Shape::Text, "The user who declared it", |o| {
            of(o, "creator")
        }),
        CREATED,
        OBJECT,
        STATISTICS,
    ],
};

/// Exchanges.
pub static EXCHANGE: Noun = Noun {
    name: "Exchange",
    class: &schema::EXCHANGE,
    fields: &[
        field(
            "name",
            Shape::Text,
            "Its name; empty for the default exchange",
            |o| of(o, "name"),
        ),
        VHOST,
        field("type", Shape::Text, "How it routes", |o| of(o, "type")),
        DURABLE,
        AUTO_DELETE,
        field(
            "internal",
            Shape::Truth,
            "Whether clients may not publish to it: never",
            |_| json!(false),
        ),
        ARGUMENTS,
        ALTERNATE,
        field("bindings", Shape::Number, "Bindings of it", |o| {
            of(o, "bindingCount")
        }),
        field("messages_in", Shape::Number, "Messages that came", |o| {
            of(o, "msgReceives")
        }),
        field(
            "messages_out",
            Shape::Number,
            "Messages given to queues, one for each queue",
            |o| of(o, "msgRoutes"),
        ),
        field(
            "messages_dropped",
            Shape::Number,
            "Messages for which there was no queue",
            |o| of(o, "msgDrops"),
        ),
        CREATED,
        OBJECT,
        STATISTICS,
    ],
};

/// Bindings.
pub static BINDING: Noun = Noun {
    name: "Binding",
    class: &schema::BINDING,
    fields: &[
        field("routing_key", Shape::Text, "The binding key", |o| {
            of(o, "bindingKey")
        }),
        VHOST,
        field("source", Shape::Text, "The exchange", |o| {
            key(o, "exchangeRef")
        }),
        field("destination", Shape::Text, "The queue", |o| {
            key(o, "queueRef")
        }),
        field("destination_type", Shape::Text, "Always queue", |_| {
            json!("queue")
        }),
        ARGUMENTS,
        field(
            "properties_key",
            Shape::Text,
            "The binding key as it stands in paths",
            |o| json!(super::paths::of_key(&text(o, "bindingKey"))),
        ),
        field(
            "messages_matched",
            Shape::Number,
            "Messages that matched it",
            |o| of(o, "msgMatched"),
        ),
        OBJECT,
    ],
};

/// Connections.
pub static CONNECTION: Noun = Noun {
    name: "Connection",
    class: &schema::CONNECTION,
    fields: &[
        field("name", Shape::Text, "Both its addresses", |o| {
            of(o, "address")
        }),
        VHOST,
        field("user", Shape::Text, "Whom the client proved to be", |o| {
            of(o, "authIdentity")
        }),
        field("protocol", Shape::Text, "What it speaks", |o| {
            of(o, "protocol")
        }),
        field(
            "auth_mechanism",
            Shape::Text,
            "How the client proved who it is",
            |o| of(o, "saslMechanism"),
        ),
        field(
            "client_properties",
            Shape::Map,
            "What the client says of itself",
            |o| of(o, "remoteProperties"),
        ),
        field(
            "process",
            Shape::OptionalText,
            "The client's program",
            |o| of(o, "remoteProcessName"),
        ),
        field(
            "process_id",
            Shape::OptionalNumber,
            "The number of the client's process",
            |o| of(o, "remotePid"),
        ),
        field("state", Shape::Text, "running or closing", |o| {
            match o.value("closing") {
                Some(Datum::Bool(true)) => json!("closing"),
                _ => json!("running"),
            }
        }),
        field("recv_oct", Shape::Number, "Octets from the client", |o| {
            of(o, "bytesFromClient")
        }),
        field("recv_cnt", Shape::Number, "Frames from the client", |o| {
            of(o, "framesFromClient")
        }),
        field("send_oct", Shape::Number, "Octets to the client", |o| {
            of(o, "bytesToClient")
        }),
        field("send_cnt", Shape::Number, "Frames to the client", |o| {
            of(o, "framesToClient")
        }),
        field("connected_at", Shape::Number, CREATED.about, created),
        OBJECT,
        STATISTICS,
    ],
};

/// Sessions: what RabbitMQ calls channels.
pub static SESSION: Noun = Noun {
    name: "Session",
    class: &schema::SESSION,
    fields: &[
        field(
            "name",
            Shape::Text,
            "The user's name, a point, and the client's own name for it",
            |o| of(o, "name"),
        ),
        VHOST,
        field(
            "number",
            Shape::Number,
            "Its channel on the connection",
            |o| of(o, "channelId"),
        ),
        field(
            "connection",
            Shape::OptionalText,
            "The name of its connection",
            |o| key(o, "connectionRef"),
        ),
        field(
            "attached",
            Shape::Truth,
            "Whether it has a connection at present",
            |o| of(o, "attached"),
        ),
        field(
            "timeout",
            Shape::Number,
            "Seconds for which it outlives its connection",
            |o| of(o, "detachedLifespan"),
        ),
        field(
            "messages_unacknowledged",
            Shape::Number,
            "Messages that it has acquired",
            |o| of(o, "unackedMessages"),
        ),
        field(
            "credit",
            Shape::Number,
            "Messages that its subscriptions may still get",
            |o| of(o, "clientCredit"),
        ),
        field("transactions", Shape::Number, "Transactions begun", |o| {
            of(o, "TxnStarts")
        }),
        CREATED,
        OBJECT,
        STATISTICS,
    ],
};

/// Subscriptions: what RabbitMQ calls consumers.
pub static CONSUMER: Noun = Noun {
    name: "Consumer",
    class: &schema::SUBSCRIPTION,
    fields: &[
        field(
            "consumer_tag",
            Shape::Text,
            "The subscription's name",
            |o| of(o, "name"),
        ),
        VHOST,
        field("queue", Shape::OptionalText, "The queue", |o| {
            key(o, "queueRef")
        }),
        field("session", Shape::OptionalText, "The session", |o| {
            key(o, "sessionRef")
        }),
        field(
            "ack_required",
            Shape::Truth,
            "Whether messages stay until they are accepted",
            |o| of(o, "acknowledged"),
        ),
        field(
            "exclusive",
            Shape::Truth,
            "Whether it has the queue for itself",
            |o| of(o, "exclusive"),
        ),
        field(
            "browsing",
            Shape::Truth,
            "Whether it leaves messages where they are",
            |o| of(o, "browsing"),
        ),
        field("credit_mode", Shape::Text, "WINDOW or CREDIT", |o| {
            of(o, "creditMode")
        }),
        ARGUMENTS,
        field("delivered", Shape::Number, "Messages delivered", |o| {
            of(o, "delivered")
        }),
        OBJECT,
    ],
};

/// The nouns whose objects have tables of their own.
pub static ALL: [&Noun; 6] = [
    &QUEUE,
    &EXCHANGE,
    &BINDING,
    &CONNECTION,
    &SESSION,
    &CONSUMER,
];

/// Fields of an object of any class.
pub static OBJECT_FIELDS: &[Field] = &[
    field("object", Shape::Text, "Its name", name),
    field("package", Shape::Text, "The package of its class", |o| {
        json!(o.class().package)
    }),
    field("class", Shape::Text, "Its class", |o| json!(o.class().name)),
    CREATED,
    field(
        "properties",
        Shape::Map,
        "What it is and how it is set up",
        properties,
    ),
    field(
        "statistics",
        Shape::Map,
        "What changes while it lives",
        statistics,
    ),
];

/// An object of any class.
pub fn show_object(object: &Object) -> Json {
    let members = OBJECT_FIELDS
        .iter()
        .map(|field| (field.name.to_owned(), (field.make)(object)));
    Json::Object(members.collect())
}

/// A class of the schema.
pub fn show_class(class: &Class) -> Json {
    let properties = class.properties.iter().map(|property| {
        json!({
            "name": property.name,
            "type": type_word(property.r#type),
            "optional": property.is_optional,
            "about": property.about.unwrap_or_default(),
        })
    });
    let statistics = class.statistics.iter().map(|statistic| {
        json!({
            "name": statistic.value_name,
            "type": type_word(statistic.r#type),
            "unit": statistic.unit.unwrap_or_default(),
            "about": statistic.about.unwrap_or_default(),
        })
    });
    let methods = class.methods.iter().map(|method| {
        let named = |arguments: Vec<&crate::qmf::schema::Argument>| -> Json {
            let members = arguments
                .iter()
                .map(|one| (one.name.to_owned(), json!(type_word(one.r#type))));
            Json::Object(members.collect::<JsonMap<_, _>>())
        };
        json!({
            "name": method.name,
            "about": method.about.unwrap_or_default(),
            "arguments": named(method.given().collect()),
            "answers": named(method.answered().collect()),
        })
    });
    json!({
        "package": class.package,
        "class": class.name,
        "properties": properties.collect::<Vec<_>>(),
        "statistics": statistics.collect::<Vec<_>>(),
        "methods": methods.collect::<Vec<_>>(),
    })
}

fn type_word(r#type: crate::qmf::schema::Type) -> &'static str {
    use crate::qmf::schema::Type;
    match r#type {
        Type::U8 | Type::U16 | Type::U32 | Type::U64 => "number",
        Type::I8 | Type::I16 | Type::I32 | Type::I64 => "number",
        Type::AbsTime | Type::DeltaTime => "nanoseconds",
        Type::ShortText | Type::LongText => "text",
        Type::Reference => "object",
        Type::Bool => "truth",
        Type::F32 | Type::F64 => "float",
        Type::Uuid => "uuid",
        Type::Map => "map",
        Type::List => "list",
    }
}
