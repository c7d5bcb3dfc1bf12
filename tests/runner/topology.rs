//! The queues that are there all the time, and what goes where.

use bytes::Bytes;
use ferrymq::broker::Request;
use ferrymq::broker::message::Message;
use ferrymq::wire::{self, DeliveryProperties, Map, MessageProperties, Struct32, Value};

use super::kinds::{Kind, kind};

/// What is checked of a queue's messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Promise {
    /// None is lost.
    Kept,
    /// Messages may go without being seen: the queue is purged, deleted, or consumed without accept.
    Loose,
    /// Those that the queue's kind drops may be gone, which is judged by itself.
    AsItsKind,
}

/// Queues from start to end, whether rejected messages go to [`DEAD`], and what is promised.
pub const QUEUES: [(&str, bool, Promise); 8] = [
    ("plain", false, Promise::Kept),
    ("second", true, Promise::Kept),
    ("small", true, Promise::Kept),
    ("fan.1", false, Promise::Kept),
    ("fan.2", false, Promise::Kept),
    ("topic", false, Promise::Kept),
    ("loose", false, Promise::Loose),
    (DEAD, false, Promise::Kept),
];

/// Where rejected messages of some queues go.
pub const DEAD: &str = "dead";

/// The exchange through which they go there.
/// How queues are called that come and go: what is published to one may find it gone.
pub const VOLATILE: &str = "volatile ";

/// Whether a queue is one of those.
pub fn is_volatile(queue: &str) -> bool {
    queue.starts_with(VOLATILE)
}

const DEAD_EXCHANGE: &str = "dead.exchange";

/// How many messages `small` holds.
pub const SMALL_MAX: u32 = 30;

/// Where messages can be sent, and the queues that they must come to.
pub const ROUTES: [(&str, &str, &[&str]); 8] = [
    ("", "plain", &["plain"]),
    ("", "second", &["second"]),
    ("", "small", &["small"]),
    ("", "loose", &["loose"]),
    ("amq.fanout", "any", &["fan.1", "fan.2"]),
    ("amq.topic", "a.b.c", &["topic"]),
    ("amq.topic", "b.a", &[]),
    ("", "no such queue", &[]),
];

/// The queues that a message comes to.
pub fn route(exchange: &str, key: &str) -> Vec<String> {
    let found = ROUTES.iter().find(|(e, k, _)| (*e, *k) == (exchange, key));
    match (found, exchange) {
        (Some((_, _, queues)), _) => queues.iter().map(|queue| (*queue).to_owned()).collect(),
        (None, "") => vec![key.to_owned()],
        (None, _) => Vec::new(),
    }
}

/// Where a queue's rejected messages go.
pub fn dead_of(queue: &str) -> Option<&'static str> {
    if let Some(kind) = kind(queue) {
        return kind.has_dead().then_some(DEAD);
    }
    let found = QUEUES.iter().find(|(name, ..)| *name == queue)?;
    found.1.then_some(DEAD)
}

/// What is promised of a queue.
pub fn promise(queue: &str) -> Promise {
    match kind(queue) {
        Some(Kind::Priority | Kind::Groups) => return Promise::Kept,
        Some(Kind::LastValue | Kind::Ring) => return Promise::AsItsKind,
        None => {}
    }
    let found = QUEUES.iter().find(|(name, ..)| *name == queue);
    found.map_or(Promise::Loose, |(_, _, promise)| *promise)
}

/// The commands that make all of it, and queues of other kinds.
pub fn declarations(kinds: &[&'static str]) -> Vec<Request> {
    let exchange = wire::ExchangeDeclare {
        exchange: DEAD_EXCHANGE.into(),
        r#type: "fanout".into(),
        ..Default::default()
    };
    let mut all = vec![Request::ExchangeDeclare(Box::new(exchange))];
    for (queue, has_dead, _) in QUEUES {
        let limit = (queue == "small").then(|| {
            let max = ("qpid.max_count", Value::U32(SMALL_MAX));
            // It refuses, and holds nobody back before.
            let stop = ("qpid.flow_stop_count", Value::U32(0));
            Map::from_iter([max, stop])
        });
        all.push(Request::QueueDeclare(Box::new(wire::QueueDeclare {
            queue: queue.into(),
            alternate_exchange: has_dead.then(|| DEAD_EXCHANGE.into()),
            arguments: limit,
            ..Default::default()
        })));
    }
    for queue in kinds {
        let kind = kind(queue);
        let has_dead = kind.is_some_and(Kind::has_dead);
        all.push(Request::QueueDeclare(Box::new(wire::QueueDeclare {
            queue: (*queue).into(),
            alternate_exchange: has_dead.then(|| DEAD_EXCHANGE.into()),
            arguments: kind.map(Kind::arguments),
            ..Default::default()
        })));
    }
    let bindings = [
        (DEAD, DEAD_EXCHANGE, ""),
        ("fan.1", "amq.fanout", ""),
        ("fan.2", "amq.fanout", ""),
        ("topic", "amq.topic", "a.#"),
    ];
    for (queue, exchange, key) in bindings {
        all.push(Request::ExchangeBind(Box::new(wire::ExchangeBind {
            queue: queue.into(),
            exchange: exchange.into(),
            binding_key: key.into(),
            ..Default::default()
        })));
    }
    all
}

/// Whether a message is red: what selectors select.
pub fn is_red(uid: u64) -> bool {
    uid.is_multiple_of(3)
}

/// The selector for red messages.
pub const RED: &str = "colour = 'red'";

/// A message that can be told from all others.
pub fn message(uid: u64, exchange: &str, key: &str, ttl: Option<u64>, padding: usize) -> Message {
    let mut delivery = DeliveryProperties {
        routing_key: Some(key.into()),
        ttl,
        ..Default::default()
    };
    let colour = if is_red(uid) { "red" } else { "blue" };
    let mut headers = Map::from_iter([("colour", Value::Str16(colour.into()))]);
    if let Some(kind) = kind(key).filter(|_| exchange.is_empty()) {
        kind.mark(uid, &mut delivery, &mut headers);
    }
    let properties = Struct32::of(&MessageProperties {
        application_headers: Some(headers),
        ..Default::default()
    });
    let mut rest = ((properties.bytes.len() + 2) as u32).to_be_bytes().to_vec();
    rest.extend_from_slice(&properties.code.to_be_bytes());
    rest.extend_from_slice(&properties.bytes);
    let mut header = Vec::new();
    wire::header::encode(&Some(delivery), &rest, &mut header);
    let mut body = uid.to_be_bytes().to_vec();
    body.resize(8 + padding, 0x5A);
    Message::new(Some(&header), Some(&[Bytes::from(body)]), exchange)
        .expect("the header was just encoded")
}

/// Which message it is.
pub fn uid_of(message: &Message) -> Option<u64> {
    let body = message.body()?;
    body.first_chunk().map(|bytes| u64::from_be_bytes(*bytes))
}
