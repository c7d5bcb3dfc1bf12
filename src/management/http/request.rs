//! What the bodies of requests ask for.
//!
//! A member that nobody knows is refused: what is written wrong must not seem to be done.

use serde_json::{Map as JsonMap, Value as Json};

use super::json::to_map;
use super::limits::{ARGUMENTS_BYTES_MAX, NAME_BYTES_MAX};
use super::problem::Problem;
use crate::broker::exchanges::is_reserved;
use crate::broker::management::{Destination, HeaderMatch, Take};
use crate::wire::{ExchangeBind, ExchangeDeclare, Map, QueueDeclare, Text, Value};

/// The members of an object, taken one after the other.
pub struct Members(JsonMap<String, Json>);

impl Members {
    /// Of a body; null has none.
    ///
    /// # Errors
    /// It is no object.
    pub fn of(json: Json) -> Result<Members, Problem> {
        match json {
            Json::Null => Ok(Members(JsonMap::new())),
            Json::Object(members) => Ok(Members(members)),
            _ => Err(Problem::bad("not an object")),
        }
    }

    /// A member; null is as if it were not there.
    pub fn take(&mut self, name: &str) -> Option<Json> {
        self.0.remove(name).filter(|value| !value.is_null())
    }

    /// A truth.
    ///
    /// # Errors
    /// It is something else.
    pub fn truth(&mut self, name: &str, default: bool) -> Result<bool, Problem> {
        match self.take(name) {
            None => Ok(default),
            Some(Json::Bool(truth)) => Ok(truth),
            Some(_) => Err(Problem::bad(format!("{name}: neither true nor false"))),
        }
    }

    /// A text of at most [`NAME_BYTES_MAX`] octets.
    ///
    /// # Errors
    /// It is something else, or longer.
    pub fn text(&mut self, name: &str) -> Result<Option<Text>, Problem> {
        match self.take(name) {
            None => Ok(None),
            Some(Json::String(text)) => short(name, &text).map(Some),
            Some(_) => Err(Problem::bad(format!("{name}: not a text"))),
        }
    }

    /// The same of one that has to be there.
    ///
    /// # Errors
    /// As [`text`](Members::text), or it is not there.
    pub fn needed(&mut self, name: &str) -> Result<Text, Problem> {
        let text = self.text(name)?;
        text.ok_or_else(|| Problem::bad(format!("{name} is missing")))
    }

    /// A number of 32 bits.
    ///
    /// # Errors
    /// It is something else.
    pub fn number(&mut self, name: &str) -> Result<u32, Problem> {
        let number = match self.take(name) {
            None => Some(0),
            Some(value) => value.as_u64().and_then(|number| u32::try_from(number).ok()),
        };
        number.ok_or_else(|| Problem::bad(format!("{name}: not a number from 0 to {}", u32::MAX)))
    }

    /// Arguments.
    ///
    /// # Errors
    /// They are no object, or hold what no argument can be.
    pub fn arguments(&mut self) -> Result<Map, Problem> {
        let json = self.take("arguments").unwrap_or(Json::Null);
        let map = to_map(&json).map_err(|why| Problem::bad(format!("arguments: {why}")))?;
        let octets = encoded_bytes(&map);
        match octets > ARGUMENTS_BYTES_MAX {
            true => Err(Problem::bad(format!(
                "arguments: {octets} octets; at most {ARGUMENTS_BYTES_MAX} are possible"
            ))),
            false => Ok(map),
        }
    }

    /// Nothing may be left but what has been said elsewhere.
    ///
    /// # Errors
    /// There is more.
    pub fn end(self, said: &[&str]) -> Result<(), Problem> {
        let mut left = self.0.keys().filter(|name| !said.contains(&name.as_str()));
        match left.next() {
            None => Ok(()),
            Some(name) => Err(Problem::bad(format!(
                "{}: nothing of that name can be said here",
                name.escape_debug()
            ))),
        }
    }
}

/// Octets that arguments take where commands are encoded.
pub fn encoded_bytes(map: &Map) -> usize {
    let mut octets = Vec::new();
    Value::Map(map.clone()).encode(&mut octets);
    octets.len()
}

/// A text of at most [`NAME_BYTES_MAX`] octets.
///
/// # Errors
/// It is longer.
pub fn short(what: &str, text: &str) -> Result<Text, Problem> {
    match text.len() {
        length if length > NAME_BYTES_MAX => {
            let text = format!("{what}: {length} octets; at most {NAME_BYTES_MAX} are possible");
            Err(Problem::bad(text))
        }
        _ => Ok(text.into()),
    }
}

/// Members that say again what the path or the table says.
const SAID: [&str; 2] = ["name", "vhost"];

/// A queue to be made. What is not exclusive outlasts the broker unless it says otherwise, as in
/// RabbitMQ.
///
/// # Errors
/// What is wrong with it.
pub fn queue(name: &str, body: Json) -> Result<QueueDeclare, Problem> {
    let mut members = Members::of(body)?;
    let declare = QueueDeclare {
        queue: short("name", name)?,
        durable: members.truth("durable", true)?,
        auto_delete: members.truth("auto_delete", false)?,
        alternate_exchange: members.text("alternate_exchange")?,
        arguments: Some(members.arguments()?),
        ..QueueDeclare::default()
    };
    members.end(&SAID)?;
    Ok(declare)
}

/// An exchange to be made.
///
/// # Errors
/// What is wrong with it.
pub fn exchange(name: &str, body: Json) -> Result<ExchangeDeclare, Problem> {
    let mut members = Members::of(body)?;
    let declare = ExchangeDeclare {
        exchange: short("name", name)?,
        r#type: members.text("type")?.unwrap_or("direct".into()),
        durable: members.truth("durable", true)?,
        auto_delete: members.truth("auto_delete", false)?,
        alternate_exchange: members.text("alternate_exchange")?,
        arguments: Some(members.arguments()?),
        ..ExchangeDeclare::default()
    };
    if members.truth("internal", false)? {
        return Err(Problem::bad("internal: there are no such exchanges here"));
    }
    members.end(&SAID)?;
    Ok(declare)
}

/// Refuses names that are kept for the broker. A document may have some all the same: QMF takes them, as
/// with `qpidd`.
///
/// # Errors
/// It is such a name.
pub fn check_exchange_name(name: &str) -> Result<(), Problem> {
    match name.is_empty() || is_reserved(name) {
        true => Err(Problem::bad(
            "names that are empty or begin with amq. or qpid. are the broker's own",
        )),
        false => Ok(()),
    }
}

/// A binding to be made.
///
/// # Errors
/// What is wrong with it.
pub fn binding(exchange: &str, queue: &str, body: Json) -> Result<ExchangeBind, Problem> {
    let mut members = Members::of(body)?;
    let bind = ExchangeBind {
        queue: short("queue", queue)?,
        exchange: short("exchange", exchange)?,
        binding_key: members.text("routing_key")?.unwrap_or_default(),
        arguments: Some(members.arguments()?),
    };
    let kind = members.text("destination_type")?;
    if kind.is_some_and(|kind| kind != "queue") {
        return Err(Problem::bad("destination_type: only queues can be bound"));
    }
    members.end(&["source", "destination", "vhost", "properties_key"])?;
    Ok(bind)
}

/// Messages to be moved to another queue.
///
/// # Errors
/// What is wrong with it.
pub fn moving(queue: &str, body: Json) -> Result<Take, Problem> {
    let mut members = Members::of(body)?;
    let to = Destination::Queue(members.needed("destination")?);
    taking(queue, members, to)
}

/// Messages to be published again.
///
/// # Errors
/// What is wrong with it.
pub fn rerouting(queue: &str, body: Json) -> Result<Take, Problem> {
    let mut members = Members::of(body)?;
    let to = match members.text("exchange")? {
        Some(exchange) => Destination::Exchange(exchange),
        None => Destination::Alternate,
    };
    taking(queue, members, to)
}

fn taking(queue: &str, mut members: Members, to: Destination) -> Result<Take, Problem> {
    let filter = match members.text("filter")? {
        None => None,
        Some(filter) => {
            let (key, value) = filter
                .split_once('=')
                .ok_or_else(|| Problem::bad("filter: not NAME=VALUE"))?;
            Some(HeaderMatch {
                key: key.into(),
                value: value.into(),
            })
        }
    };
    let take = Take {
        queue: short("queue", queue)?,
        count: members.number("count")?,
        filter,
        to,
    };
    members.end(&[])?;
    Ok(take)
}
