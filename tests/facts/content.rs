//! Queues that are there all the time, what goes where, and messages that can be told apart.

use bytes::Bytes;
use ferrymq::broker::Request;
use ferrymq::broker::message::Message;
use ferrymq::wire::{self, DeliveryMode, DeliveryProperties, Value};

/// Queues from start to end.
pub const QUEUES: [&str; 9] = ["a", "b", "f1", "f2", "n", "p", "r", "d1", "d2"];

/// The queue that does not outlast the broker. Messages of [`FANOUT`] come to it, too.
pub const TRANSIENT: &str = "t";

/// The queue that is consumed without accept.
pub const NOT_ACCEPTED: &str = "n";

/// The queue of which messages are rejected.
pub const REJECTING: &str = "r";

/// The exchange for what is rejected, or left when a queue is deleted.
pub const DEAD: &str = "dead";

/// The queues behind it.
pub const DEAD_QUEUES: [&str; 2] = ["d1", "d2"];

/// An exchange whose messages go to several queues.
pub const FANOUT: &str = "amq.fanout";

/// The queues behind it that outlast the broker.
pub const FANNED: [&str; 2] = ["f1", "f2"];

/// The exchange to which queues that come and go are bound.
pub const BOUND: &str = "amq.direct";

fn declare(queue: &str) -> wire::QueueDeclare {
    wire::QueueDeclare {
        queue: queue.into(),
        durable: queue != TRANSIENT,
        ..Default::default()
    }
}

/// A request to make a queue whose messages go to [`DEAD`] when it is deleted.
pub fn declare_with_alternate(queue: &str) -> Request {
    Request::QueueDeclare(Box::new(wire::QueueDeclare {
        alternate_exchange: Some(DEAD.into()),
        ..declare(queue)
    }))
}

/// A request to make a queue whose rejected messages say so in [`DEAD`], and expire no more.
fn declare_rejecting(queue: &str) -> Request {
    let marks = [("qpid.dead_letter", Value::Str16("rejected".into()))];
    Request::QueueDeclare(Box::new(wire::QueueDeclare {
        alternate_exchange: Some(DEAD.into()),
        arguments: Some(marks.into_iter().collect()),
        ..declare(queue)
    }))
}

/// A request to bind.
pub fn bind(queue: &str, exchange: &str, key: &str) -> Request {
    Request::ExchangeBind(Box::new(wire::ExchangeBind {
        queue: queue.into(),
        exchange: exchange.into(),
        binding_key: key.into(),
        ..Default::default()
    }))
}

/// A request to unbind.
pub fn unbind(queue: &str, exchange: &str, key: &str) -> Request {
    Request::ExchangeUnbind(Box::new(wire::ExchangeUnbind {
        queue: queue.into(),
        exchange: exchange.into(),
        binding_key: key.into(),
    }))
}

/// What is asked at the beginning of each life: some of it is there already.
pub fn declarations() -> Vec<Request> {
    let mut all = vec![Request::ExchangeDeclare(Box::new(wire::ExchangeDeclare {
        exchange: DEAD.into(),
        r#type: "fanout".into(),
        durable: true,
        ..Default::default()
    }))];
    for queue in QUEUES.into_iter().chain([TRANSIENT]) {
        all.push(match queue == REJECTING {
            true => declare_rejecting(queue),
            false => Request::QueueDeclare(Box::new(declare(queue))),
        });
    }
    for queue in FANNED.into_iter().chain([TRANSIENT]) {
        all.push(bind(queue, FANOUT, ""));
    }
    for queue in DEAD_QUEUES {
        all.push(bind(queue, DEAD, ""));
    }
    all
}

/// How a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// Whether it is to outlast the broker.
    pub is_persistent: bool,
    /// Milliseconds to live.
    pub ttl: Option<u64>,
}

/// Octets of a body: mostly few, sometimes more than a journal copies, or than a segment holds.
fn body_bytes(uid: u64) -> usize {
    let mixed = (uid.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33) as usize;
    match mixed % 64 {
        0 => 9000 + mixed % 9000,
        1..4 => 4000 + mixed % 2000,
        4..20 => 200 + mixed % 1200,
        _ => mixed % 150,
    }
}

/// The body of a message: its number, and octets that follow from it.
pub fn body(uid: u64) -> Vec<u8> {
    let mut body = uid.to_be_bytes().to_vec();
    let octet = |at: usize| (at as u64 * 31 + uid * 7) as u8;
    body.extend((0..body_bytes(uid)).map(octet));
    body
}

/// The message that a body is of; None unless every octet is right.
pub fn uid_of(octets: &[u8]) -> Option<u64> {
    let uid = octets
        .first_chunk()
        .map(|bytes| u64::from_be_bytes(*bytes))?;
    // What is not right may ask for any length.
    let is_long = octets.len() == 8 + body_bytes(uid);
    (is_long && body(uid) == octets).then_some(uid)
}

/// A message.
pub fn message(uid: u64, exchange: &str, key: &str, kind: Kind) -> Message {
    let mode = match kind.is_persistent {
        true => DeliveryMode::PERSISTENT,
        false => DeliveryMode::NON_PERSISTENT,
    };
    let delivery = DeliveryProperties {
        routing_key: Some(key.into()),
        delivery_mode: Some(mode),
        ttl: kind.ttl,
        ..Default::default()
    };
    let mut header = Vec::new();
    wire::header::encode(&Some(delivery), &[], &mut header);
    let body = [Bytes::from(body(uid))];
    let message = Message::new(Some(&header), Some(&body), exchange);
    message.expect("the header was just encoded")
}
