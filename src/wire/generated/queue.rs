//! Class `queue` (code 8), spoken by the server (must), the client (must).

// Generated from spec/amqp-0-10.spec by spec/generator. Not to be edited:
// UPDATE=1 cargo test --test spec_staleness

use crate::wire::Text;
use crate::wire::cursor::Cursor;
use crate::wire::decode_error::DecodeError;
use crate::wire::encode;
use crate::wire::fields::Fields;
use crate::wire::map::Map;
use crate::wire::packed::Packed;
use crate::wire::packed::Struct;

/// `queue.queue-query-result`, a struct of code 0x0801.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueueQueryResult {
    /// `name`, required.
    pub queue: Text,
    /// `exchange.name`, optional.
    pub alternate_exchange: Option<Text>,
    /// `bit`.
    pub durable: bool,
    /// `bit`.
    pub exclusive: bool,
    /// `bit`.
    pub auto_delete: bool,
    /// `map`, optional.
    pub arguments: Option<Map>,
    /// `uint32`, required.
    pub message_count: u32,
    /// `uint32`, required.
    pub subscriber_count: u32,
}

impl Packed for QueueQueryResult {
    const NAME: &'static str = "queue.queue-query-result";
    const FIELDS: &'static [&'static str] = &[
        "queue.queue-query-result.queue",
        "queue.queue-query-result.alternate-exchange",
        "queue.queue-query-result.durable",
        "queue.queue-query-result.exclusive",
        "queue.queue-query-result.auto-delete",
        "queue.queue-query-result.arguments",
        "queue.queue-query-result.message-count",
        "queue.queue-query-result.subscriber-count",
    ];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            queue: fields.required(0, Cursor::str8)?,
            alternate_exchange: fields.optional(1, Cursor::str8)?,
            durable: fields.bit(2),
            exclusive: fields.bit(3),
            auto_delete: fields.bit(4),
            arguments: fields.optional(5, Cursor::map)?,
            message_count: fields.required(6, Cursor::u32)?,
            subscriber_count: fields.required(7, Cursor::u32)?,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(
            out,
            2,
            0x00c1
                | u16::from(self.alternate_exchange.is_some()) << 1
                | u16::from(self.durable) << 2
                | u16::from(self.exclusive) << 3
                | u16::from(self.auto_delete) << 4
                | u16::from(self.arguments.is_some()) << 5,
        );
        encode::str8(out, &self.queue);
        if let Some(alternate_exchange) = &self.alternate_exchange {
            encode::str8(out, alternate_exchange);
        }
        if let Some(arguments) = &self.arguments {
            arguments.encode(out);
        }
        encode::u32(out, self.message_count);
        encode::u32(out, self.subscriber_count);
    }
}

impl Struct for QueueQueryResult {
    const CODE: u16 = 0x0801;
}

/// Command `queue.declare`, code 8.1.
///
/// Handled by the server (must).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueueDeclare {
    /// `name`, required.
    pub queue: Text,
    /// `exchange.name`, optional.
    pub alternate_exchange: Option<Text>,
    /// `bit`.
    pub passive: bool,
    /// `bit`.
    pub durable: bool,
    /// `bit`.
    pub exclusive: bool,
    /// `bit`.
    pub auto_delete: bool,
    /// `map`, optional.
    pub arguments: Option<Map>,
}

impl Packed for QueueDeclare {
    const NAME: &'static str = "queue.declare";
    const FIELDS: &'static [&'static str] = &[
        "queue.declare.queue",
        "queue.declare.alternate-exchange",
        "queue.declare.passive",
        "queue.declare.durable",
        "queue.declare.exclusive",
        "queue.declare.auto-delete",
        "queue.declare.arguments",
    ];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            queue: fields.required(0, Cursor::str8)?,
            alternate_exchange: fields.optional(1, Cursor::str8)?,
            passive: fields.bit(2),
            durable: fields.bit(3),
            exclusive: fields.bit(4),
            auto_delete: fields.bit(5),
            arguments: fields.optional(6, Cursor::map)?,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(
            out,
            2,
            0x0001
                | u16::from(self.alternate_exchange.is_some()) << 1
                | u16::from(self.passive) << 2
                | u16::from(self.durable) << 3
                | u16::from(self.exclusive) << 4
                | u16::from(self.auto_delete) << 5
                | u16::from(self.arguments.is_some()) << 6,
        );
        encode::str8(out, &self.queue);
        if let Some(alternate_exchange) = &self.alternate_exchange {
            encode::str8(out, alternate_exchange);
        }
        if let Some(arguments) = &self.arguments {
            arguments.encode(out);
        }
    }
}

/// Command `queue.delete`, code 8.2.
///
/// Handled by the server (must).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueueDelete {
    /// `name`, required.
    pub queue: Text,
    /// `bit`.
    pub if_unused: bool,
    /// `bit`.
    pub if_empty: bool,
}

impl Packed for QueueDelete {
    const NAME: &'static str = "queue.delete";
    const FIELDS: &'static [&'static str] = &[
        "queue.delete.queue",
        "queue.delete.if-unused",
        "queue.delete.if-empty",
    ];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            queue: fields.required(0, Cursor::str8)?,
            if_unused: fields.bit(1),
            if_empty: fields.bit(2),
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(
            out,
            2,
            0x0001 | u16::from(self.if_unused) << 1 | u16::from(self.if_empty) << 2,
        );
        encode::str8(out, &self.queue);
    }
}

/// Command `queue.purge`, code 8.3.
///
/// Handled by the server (must).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueuePurge {
    /// `name`, required.
    pub queue: Text,
}

impl Packed for QueuePurge {
    const NAME: &'static str = "queue.purge";
    const FIELDS: &'static [&'static str] = &["queue.purge.queue"];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            queue: fields.required(0, Cursor::str8)?,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(out, 2, 0x0001);
        encode::str8(out, &self.queue);
    }
}

/// Command `queue.query`, code 8.4.
///
/// Handled by the server (must).
/// Its result is a [`QueueQueryResult`](super::QueueQueryResult).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueueQuery {
    /// `name`, required.
    pub queue: Text,
}

impl Packed for QueueQuery {
    const NAME: &'static str = "queue.query";
    const FIELDS: &'static [&'static str] = &["queue.query.queue"];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            queue: fields.required(0, Cursor::str8)?,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(out, 2, 0x0001);
        encode::str8(out, &self.queue);
    }
}
