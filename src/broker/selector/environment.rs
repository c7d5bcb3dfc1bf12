//! What a selector asks of a message: identifiers, and the values behind them.

use std::borrow::Cow;

/// A value that a selector computes with.
///
/// Maps, lists, UUIDs and the like have no form here; they are [`Scalar::Unknown`], as qpidd
/// has it.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Scalar<'a> {
    /// The message has no such value (SQL's NULL).
    #[default]
    Unknown,
    /// A truth value.
    Bool(bool),
    /// A whole number.
    Exact(i64),
    /// A floating point number, IEEE 754 binary64.
    Approximate(f64),
    /// Characters.
    Text(Cow<'a, str>),
}

impl From<bool> for Scalar<'_> {
    fn from(value: bool) -> Self {
        Scalar::Bool(value)
    }
}

impl From<i64> for Scalar<'_> {
    fn from(value: i64) -> Self {
        Scalar::Exact(value)
    }
}

impl From<u64> for Scalar<'_> {
    /// A number beyond the range of `i64` becomes approximate, as in qpidd.
    fn from(value: u64) -> Self {
        match i64::try_from(value) {
            Ok(exact) => Scalar::Exact(exact),
            Err(_) => Scalar::Approximate(value as f64),
        }
    }
}

impl From<f64> for Scalar<'_> {
    fn from(value: f64) -> Self {
        Scalar::Approximate(value)
    }
}

impl<'a> From<&'a str> for Scalar<'a> {
    fn from(value: &'a str) -> Self {
        Scalar::Text(Cow::Borrowed(value))
    }
}

impl From<String> for Scalar<'_> {
    fn from(value: String) -> Self {
        Scalar::Text(Cow::Owned(value))
    }
}

impl<'a, T: Into<Scalar<'a>>> From<Option<T>> for Scalar<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Scalar::Unknown, Into::into)
    }
}

/// A message as a selector sees it.
pub trait Environment {
    /// The value behind `identifier`, or [`Scalar::Unknown`] where the message has none.
    ///
    /// An identifier that begins with `amqp.` names a property of the message and comes by its
    /// canonical name (the constants of [`identifier`]; a JMS name such as `JMSPriority` is
    /// translated before). No application header answers for it: an `amqp.` name that the
    /// environment does not know is unknown. Every other identifier is the key of an application
    /// header, case and all.
    ///
    /// Asked once for each identifier and evaluation, and expected to be quick and the same on
    /// all members.
    fn value(&self, identifier: &str) -> Scalar<'_>;
}

impl<E: Environment + ?Sized> Environment for &E {
    fn value(&self, identifier: &str) -> Scalar<'_> {
        (**self).value(identifier)
    }
}

/// The identifiers of message properties. Clients and their users write these strings; each
/// comment says what qpidd answers for a 0-10 message.
pub mod identifier {
    /// Text `PERSISTENT` for delivery-mode 2, else `NON_PERSISTENT`. `JMSDeliveryMode`.
    pub const DELIVERY_MODE: &str = "amqp.delivery_mode";
    /// Exact; 0 where the sender set none. `JMSPriority`.
    pub const PRIORITY: &str = "amqp.priority";
    /// Bool: whether the message was handed to a consumer before. `JMSRedelivered`.
    pub const REDELIVERED: &str = "amqp.redelivered";
    /// Text: the routing key, but for a message sent to the nameless exchange its application
    /// header `qpid.subject`; unknown when empty. `JMSType`.
    pub const SUBJECT: &str = "amqp.subject";
    /// Text: the exchange, but for a message sent to the nameless exchange its routing key;
    /// unknown when empty. `JMSDestination`.
    pub const TO: &str = "amqp.to";
    /// Text: `exchange/routing-key`, or the one of the two that is set; unknown when empty.
    /// `JMSReplyTo`.
    pub const REPLY_TO: &str = "amqp.reply_to";
    /// Text: correlation-id; unknown where there is none. `JMSCorrelationID`.
    pub const CORRELATION_ID: &str = "amqp.correlation_id";
    /// Text: the UUID in its usual form; unknown where there is none. `JMSMessageID`.
    pub const MESSAGE_ID: &str = "amqp.message_id";
    /// Exact: milliseconds since 1970 at which the message was put on the queue, where the broker
    /// stamps that. `JMSTimestamp`.
    pub const CREATION_TIME: &str = "amqp.creation_time";
    /// Exact: milliseconds since 1970; 0 for a message that never expires. `JMSExpiration`.
    pub const ABSOLUTE_EXPIRY_TIME: &str = "amqp.absolute_expiry_time";
    /// Text: the application header `jms-type`; unknown when empty.
    pub const JMS_TYPE: &str = "amqp.jms_type";

    /// The name that the environment is asked by.
    ///
    /// JMS names that are no alias here (`JMSXGroupID`, ...) stand for themselves: JMS clients
    /// carry them as application headers.
    pub(crate) fn canonical(name: &str) -> &str {
        match name {
            "JMSDeliveryMode" => DELIVERY_MODE,
            "JMSPriority" => PRIORITY,
            "JMSRedelivered" => REDELIVERED,
            "JMSType" => SUBJECT,
            "JMSDestination" => TO,
            "JMSReplyTo" => REPLY_TO,
            "JMSCorrelationID" => CORRELATION_ID,
            "JMSMessageID" => MESSAGE_ID,
            "JMSTimestamp" => CREATION_TIME,
            "JMSExpiration" => ABSOLUTE_EXPIRY_TIME,
            other => other,
        }
    }
}
