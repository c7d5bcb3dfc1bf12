//! What an agent answers in version 2.

use super::super::datum::Datum;
use super::super::identity::{BROKER_KEY, Identity};
use super::super::limits::OBJECTS_PER_MESSAGE;
use super::super::object::Object;
use super::super::publication::Publication;
use super::super::schema::Method;
use super::super::status::Fault;
use super::{Headers, VALUES, agent_values, element, message};
use crate::wire::{Map, Text, Value};

/// Who asked: where an answer goes to, and what it is known by.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Asker {
    /// The exchange that the asker named.
    pub exchange: Text,
    /// The routing key that the asker named.
    pub routing_key: Text,
    /// What the asker knows its request by, if it said so; it gets that back.
    pub correlation: Option<Vec<u8>>,
    /// Whether the request came to the agent as that of the broker at hand. Then it answers as that.
    pub is_to_broker: bool,
}

impl Asker {
    fn answer(&self, identity: &Identity, headers: &Headers<'_>, body: &Value) -> Publication {
        let agent = match self.is_to_broker {
            true => BROKER_KEY,
            false => identity.name(),
        };
        let to = (self.exchange.clone(), self.routing_key.clone());
        let headers = Headers { agent, ..*headers };
        let mut publication = message(to, &headers, body);
        let correlation = self.correlation.clone();
        publication.properties.correlation_id = correlation.filter(|octets| !octets.is_empty());
        publication
    }
}

const fn headers(method: &'static str, opcode: &'static str) -> Headers<'static> {
    Headers {
        method,
        opcode,
        content: None,
        agent: "",
        is_partial: false,
    }
}

/// That a method was called, with what it answers: one datum for each of its answered arguments.
pub fn method_response(
    identity: &Identity,
    asker: &Asker,
    method: &Method,
    answered: Vec<Datum>,
) -> Publication {
    let epoch = identity.epoch.into();
    let values = answered.into_iter().map(|datum| datum.into_value(epoch));
    let arguments: Map = method
        .answered()
        .map(|argument| argument.name)
        .zip(values)
        .collect();
    let mut body = Map::new();
    body.insert("_arguments", arguments);
    let headers = headers("response", "_method_response");
    asker.answer(identity, &headers, &Value::Map(body))
}

/// That a request was not done, and why.
pub fn exception(identity: &Identity, asker: &Asker, fault: &Fault) -> Publication {
    let mut values = Map::new();
    values.insert("error_code", fault.status.code());
    values.insert("error_text", super::super::datum::octets(&fault.text));
    let mut body = Map::new();
    body.insert(VALUES, values);
    let headers = headers("indication", "_exception");
    asker.answer(identity, &headers, &Value::Map(body))
}

/// What a query found, or a part of that: `is_last` says that nothing follows. A query that finds
/// nothing is answered by no objects and `is_last`.
pub fn objects(
    identity: &Identity,
    asker: &Asker,
    found: &[Object],
    is_last: bool,
) -> Vec<Publication> {
    let epoch = identity.epoch.into();
    let mut pieces: Vec<&[Object]> = found.chunks(OBJECTS_PER_MESSAGE).collect();
    if pieces.is_empty() && is_last {
        pieces.push(&[]);
    }
    let count = pieces.len();
    let answer = |(index, piece): (usize, &[Object])| {
        let headers = Headers {
            content: Some("_data"),
            is_partial: !is_last || index + 1 < count,
            ..headers("response", "_query_response")
        };
        let list = piece.iter().map(|object| element(object, epoch)).collect();
        asker.answer(identity, &headers, &Value::List(list))
    };
    pieces.into_iter().enumerate().map(answer).collect()
}

/// Who the agent is. `now` is in nanoseconds since 1970, `interval` in seconds between heartbeats.
pub fn located(identity: &Identity, asker: &Asker, now: u64, interval: u16) -> Publication {
    let mut body = Map::new();
    body.insert(VALUES, agent_values(identity, now, interval));
    // By its own name, whatever it was asked by: that is what the asker wants to know.
    let asker = Asker {
        is_to_broker: false,
        ..asker.clone()
    };
    let headers = headers("indication", "_agent_locate_response");
    asker.answer(identity, &headers, &Value::Map(body))
}
