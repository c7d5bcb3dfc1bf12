//! Class `exchange` (code 7), spoken by the server (must), the client (must).

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

/// `exchange.exchange-query-result`, a struct of code 0x0701.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExchangeQueryResult {
    /// `str8`, optional.
    pub r#type: Option<Text>,
    /// `bit`.
    pub durable: bool,
    /// `bit`.
    pub not_found: bool,
    /// `map`, optional.
    pub arguments: Option<Map>,
}

impl Packed for ExchangeQueryResult {
    const NAME: &'static str = "exchange.exchange-query-result";
    const FIELDS: &'static [&'static str] = &[
        "exchange.exchange-query-result.type",
        "exchange.exchange-query-result.durable",
        "exchange.exchange-query-result.not-found",
        "exchange.exchange-query-result.arguments",
    ];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            r#type: fields.optional(0, Cursor::str8)?,
            durable: fields.bit(1),
            not_found: fields.bit(2),
            arguments: fields.optional(3, Cursor::map)?,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(
            out,
            2,
            u16::from(self.r#type.is_some())
                | u16::from(self.durable) << 1
                | u16::from(self.not_found) << 2
                | u16::from(self.arguments.is_some()) << 3,
        );
        if let Some(r#type) = &self.r#type {
            encode::str8(out, r#type);
        }
        if let Some(arguments) = &self.arguments {
            arguments.encode(out);
        }
    }
}

impl Struct for ExchangeQueryResult {
    const CODE: u16 = 0x0701;
}

/// `exchange.exchange-bound-result`, a struct of code 0x0702.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExchangeBoundResult {
    /// `bit`.
    pub exchange_not_found: bool,
    /// `bit`.
    pub queue_not_found: bool,
    /// `bit`.
    pub queue_not_matched: bool,
    /// `bit`.
    pub key_not_matched: bool,
    /// `bit`.
    pub args_not_matched: bool,
}

impl Packed for ExchangeBoundResult {
    const NAME: &'static str = "exchange.exchange-bound-result";
    const FIELDS: &'static [&'static str] = &[
        "exchange.exchange-bound-result.exchange-not-found",
        "exchange.exchange-bound-result.queue-not-found",
        "exchange.exchange-bound-result.queue-not-matched",
        "exchange.exchange-bound-result.key-not-matched",
        "exchange.exchange-bound-result.args-not-matched",
    ];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            exchange_not_found: fields.bit(0),
            queue_not_found: fields.bit(1),
            queue_not_matched: fields.bit(2),
            key_not_matched: fields.bit(3),
            args_not_matched: fields.bit(4),
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(
            out,
            2,
            u16::from(self.exchange_not_found)
                | u16::from(self.queue_not_found) << 1
                | u16::from(self.queue_not_matched) << 2
                | u16::from(self.key_not_matched) << 3
                | u16::from(self.args_not_matched) << 4,
        );
    }
}

impl Struct for ExchangeBoundResult {
    const CODE: u16 = 0x0702;
}

/// Command `exchange.declare`, code 7.1.
///
/// Handled by the server (must).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExchangeDeclare {
    /// `name`, required.
    pub exchange: Text,
    /// `str8`, required.
    pub r#type: Text,
    /// `name`, optional.
    pub alternate_exchange: Option<Text>,
    /// `bit`.
    pub passive: bool,
    /// `bit`.
    pub durable: bool,
    /// `bit`.
    pub auto_delete: bool,
    /// `map`, optional.
    pub arguments: Option<Map>,
}

impl Packed for ExchangeDeclare {
    const NAME: &'static str = "exchange.declare";
    const FIELDS: &'static [&'static str] = &[
        "exchange.declare.exchange",
        "exchange.declare.type",
        "exchange.declare.alternate-exchange",
        "exchange.declare.passive",
        "exchange.declare.durable",
        "exchange.declare.auto-delete",
        "exchange.declare.arguments",
    ];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            exchange: fields.required(0, Cursor::str8)?,
            r#type: fields.required(1, Cursor::str8)?,
            alternate_exchange: fields.optional(2, Cursor::str8)?,
            passive: fields.bit(3),
            durable: fields.bit(4),
            auto_delete: fields.bit(5),
            arguments: fields.optional(6, Cursor::map)?,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(
            out,
            2,
            0x0003
                | u16::from(self.alternate_exchange.is_some()) << 2
                | u16::from(self.passive) << 3
                | u16::from(self.durable) << 4
                | u16::from(self.auto_delete) << 5
                | u16::from(self.arguments.is_some()) << 6,
        );
        encode::str8(out, &self.exchange);
        encode::str8(out, &self.r#type);
        if let Some(alternate_exchange) = &self.alternate_exchange {
            encode::str8(out, alternate_exchange);
        }
        if let Some(arguments) = &self.arguments {
            arguments.encode(out);
        }
    }
}

/// Command `exchange.delete`, code 7.2.
///
/// Handled by the server (must).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExchangeDelete {
    /// `name`, required.
    pub exchange: Text,
    /// `bit`.
    pub if_unused: bool,
}

impl Packed for ExchangeDelete {
    const NAME: &'static str = "exchange.delete";
    const FIELDS: &'static [&'static str] =
        &["exchange.delete.exchange", "exchange.delete.if-unused"];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            exchange: fields.required(0, Cursor::str8)?,
            if_unused: fields.bit(1),
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(out, 2, 0x0001 | u16::from(self.if_unused) << 1);
        encode::str8(out, &self.exchange);
    }
}

/// Command `exchange.query`, code 7.3.
///
/// Handled by the server (must).
/// Its result is a [`ExchangeQueryResult`](super::ExchangeQueryResult).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExchangeQuery {
    /// `str8`, optional.
    pub name: Option<Text>,
}

impl Packed for ExchangeQuery {
    const NAME: &'static str = "exchange.query";
    const FIELDS: &'static [&'static str] = &["exchange.query.name"];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            name: fields.optional(0, Cursor::str8)?,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(out, 2, u16::from(self.name.is_some()));
        if let Some(name) = &self.name {
            encode::str8(out, name);
        }
    }
}

/// Command `exchange.bind`, code 7.4.
///
/// Handled by the server (must).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExchangeBind {
    /// `queue.name`, required.
    pub queue: Text,
    /// `name`, required.
    pub exchange: Text,
    /// `str8`, required.
    pub binding_key: Text,
    /// `map`, optional.
    pub arguments: Option<Map>,
}

impl Packed for ExchangeBind {
    const NAME: &'static str = "exchange.bind";
    const FIELDS: &'static [&'static str] = &[
        "exchange.bind.queue",
        "exchange.bind.exchange",
        "exchange.bind.binding-key",
        "exchange.bind.arguments",
    ];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            queue: fields.required(0, Cursor::str8)?,
            exchange: fields.required(1, Cursor::str8)?,
            binding_key: fields.required(2, Cursor::str8)?,
            arguments: fields.optional(3, Cursor::map)?,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(out, 2, 0x0007 | u16::from(self.arguments.is_some()) << 3);
        encode::str8(out, &self.queue);
        encode::str8(out, &self.exchange);
        encode::str8(out, &self.binding_key);
        if let Some(arguments) = &self.arguments {
            arguments.encode(out);
        }
    }
}

/// Command `exchange.unbind`, code 7.5.
///
/// Handled by the server (must).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExchangeUnbind {
    /// `queue.name`, required.
    pub queue: Text,
    /// `name`, required.
    pub exchange: Text,
    /// `str8`, required.
    pub binding_key: Text,
}

impl Packed for ExchangeUnbind {
    const NAME: &'static str = "exchange.unbind";
    const FIELDS: &'static [&'static str] = &[
        "exchange.unbind.queue",
        "exchange.unbind.exchange",
        "exchange.unbind.binding-key",
    ];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            queue: fields.required(0, Cursor::str8)?,
            exchange: fields.required(1, Cursor::str8)?,
            binding_key: fields.required(2, Cursor::str8)?,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(out, 2, 0x0007);
        encode::str8(out, &self.queue);
        encode::str8(out, &self.exchange);
        encode::str8(out, &self.binding_key);
    }
}

/// Command `exchange.bound`, code 7.6.
///
/// Handled by the server (must).
/// Its result is a [`ExchangeBoundResult`](super::ExchangeBoundResult).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExchangeBound {
    /// `str8`, optional.
    pub exchange: Option<Text>,
    /// `str8`, required.
    pub queue: Text,
    /// `str8`, optional.
    pub binding_key: Option<Text>,
    /// `map`, optional.
    pub arguments: Option<Map>,
}

impl Packed for ExchangeBound {
    const NAME: &'static str = "exchange.bound";
    const FIELDS: &'static [&'static str] = &[
        "exchange.bound.exchange",
        "exchange.bound.queue",
        "exchange.bound.binding-key",
        "exchange.bound.arguments",
    ];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            exchange: fields.optional(0, Cursor::str8)?,
            queue: fields.required(1, Cursor::str8)?,
            binding_key: fields.optional(2, Cursor::str8)?,
            arguments: fields.optional(3, Cursor::map)?,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(
            out,
            2,
            0x0002
                | u16::from(self.exchange.is_some())
                | u16::from(self.binding_key.is_some()) << 2
                | u16::from(self.arguments.is_some()) << 3,
        );
        if let Some(exchange) = &self.exchange {
            encode::str8(out, exchange);
        }
        encode::str8(out, &self.queue);
        if let Some(binding_key) = &self.binding_key {
            encode::str8(out, binding_key);
        }
        if let Some(arguments) = &self.arguments {
            arguments.encode(out);
        }
    }
}
