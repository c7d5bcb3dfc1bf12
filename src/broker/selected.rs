//! A message as a selector sees it.

use std::cell::OnceCell;

use super::message::Message;
use super::queue::Entry;
use super::selector::{Environment, Scalar, identifier};
use crate::wire::{DeliveryProperties, MessageProperties, ReplyTo, UuidText, Value};

/// A message in a queue, whose header is decoded when something in it is first asked for.
pub struct Selected<'a> {
    message: &'a Message,
    redelivered: bool,
    delivery: OnceCell<DeliveryProperties>,
    properties: OnceCell<MessageProperties>,
}

impl<'a> Selected<'a> {
    /// The message of an entry.
    pub fn of(entry: &'a Entry) -> Selected<'a> {
        Selected {
            message: &entry.stored.message,
            redelivered: entry.redelivered,
            delivery: OnceCell::new(),
            properties: OnceCell::new(),
        }
    }

    /// A message that comes in.
    pub fn of_published(message: &'a Message) -> Selected<'a> {
        Selected {
            message,
            redelivered: false,
            delivery: OnceCell::new(),
            properties: OnceCell::new(),
        }
    }

    fn delivery(&self) -> &DeliveryProperties {
        let decode = || self.message.delivery_properties().unwrap_or_default();
        self.delivery.get_or_init(decode)
    }

    fn properties(&self) -> &MessageProperties {
        self.properties
            .get_or_init(|| self.message.properties().unwrap_or_default())
    }

    fn header(&self, key: &str) -> Option<&Value> {
        self.properties().application_headers.as_ref()?.get(key)
    }

    fn exchange(&self) -> &str {
        self.delivery().exchange.as_deref().unwrap_or("")
    }

    fn property(&self, name: &str) -> Scalar<'_> {
        match name {
            identifier::DELIVERY_MODE => match self.message.is_persistent {
                true => "PERSISTENT".into(),
                false => "NON_PERSISTENT".into(),
            },
            identifier::PRIORITY => Scalar::Exact(i64::from(self.message.priority)),
            identifier::REDELIVERED => Scalar::Bool(self.redelivered),
            identifier::SUBJECT => match self.exchange() {
                "" => self
                    .header("qpid.subject")
                    .and_then(Value::as_str)
                    .map_or(Scalar::Unknown, unless_empty),
                _ => unless_empty(&self.message.routing_key),
            },
            identifier::TO => match self.exchange() {
                "" => unless_empty(&self.message.routing_key),
                exchange => unless_empty(exchange),
            },
            identifier::REPLY_TO => self
                .properties()
                .reply_to
                .as_ref()
                .map_or(Scalar::Unknown, reply_to),
            identifier::CORRELATION_ID => {
                let id = self.properties().correlation_id.as_ref();
                id.map(|id| String::from_utf8_lossy(id).into_owned()).into()
            }
            identifier::MESSAGE_ID => self
                .properties()
                .message_id
                .as_ref()
                .map(|id| UuidText(id).to_string())
                .into(),
            // Stamps of arrival are not put on messages, so no message has one that is known.
            identifier::CREATION_TIME => match self.delivery().timestamp {
                Some(seconds) => Scalar::Exact(seconds.saturating_mul(1000)),
                None => Scalar::Unknown,
            },
            identifier::ABSOLUTE_EXPIRY_TIME => match self.delivery().expiration {
                Some(seconds) => Scalar::Exact(seconds.saturating_mul(1000)),
                None => Scalar::Exact(0),
            },
            identifier::JMS_TYPE => self
                .header("jms-type")
                .and_then(Value::as_str)
                .map_or(Scalar::Unknown, unless_empty),
            _ => Scalar::Unknown,
        }
    }
}

impl Environment for Selected<'_> {
    fn value(&self, name: &str) -> Scalar<'_> {
        if name.starts_with("amqp.") {
            return self.property(name);
        }
        match self.header(name) {
            Some(Value::Bool(value)) => Scalar::Bool(*value),
            Some(Value::F32(value)) => Scalar::Approximate(f64::from(*value)),
            Some(Value::F64(value)) => Scalar::Approximate(*value),
            Some(Value::U64(value)) => (*value).into(),
            Some(value) => match (value.as_i64(), value.as_str()) {
                (Some(number), _) => Scalar::Exact(number),
                (None, Some(text)) => text.into(),
                (None, None) => Scalar::Unknown,
            },
            None => Scalar::Unknown,
        }
    }
}

fn unless_empty(text: &str) -> Scalar<'_> {
    if text.is_empty() {
        Scalar::Unknown
    } else {
        text.into()
    }
}

fn reply_to(reply_to: &ReplyTo) -> Scalar<'static> {
    let exchange = reply_to.exchange.as_deref().unwrap_or("");
    let key = reply_to.routing_key.as_deref().unwrap_or("");
    match (exchange, key) {
        ("", "") => Scalar::Unknown,
        ("", one) | (one, "") => one.to_owned().into(),
        (exchange, key) => format!("{exchange}/{key}").into(),
    }
}
