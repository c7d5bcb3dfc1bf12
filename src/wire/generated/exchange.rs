//! Class `exchange` (code 7).

// Generated from spec/amqp-0-10.spec by spec/generator. Not to be edited:
// UPDATE=1 cargo test --test spec_staleness

use crate::wire::Text;
use crate::wire::cursor::Cursor;
use crate::wire::decode_error::DecodeError;
use crate::wire::encode;
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

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor
            .in_field("exchange.exchange-query-result")
            .packing_flags(0x000f)?;
        Ok(Self {
            r#type: if flags & 0x0001 != 0 {
                Some(
                    cursor
                        .in_field("exchange.exchange-query-result.type")
                        .str8()?,
                )
            } else {
                None
            },
            durable: flags & 0x0002 != 0,
            not_found: flags & 0x0004 != 0,
            arguments: if flags & 0x0008 != 0 {
                Some(
                    cursor
                        .in_field("exchange.exchange-query-result.arguments")
                        .map()?,
                )
            } else {
                None
            },
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = u16::from(self.r#type.is_some())
            | u16::from(self.durable) << 1
            | u16::from(self.not_found) << 2
            | u16::from(self.arguments.is_some()) << 3;
        encode::packing_flags(out, flags);
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

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor
            .in_field("exchange.exchange-bound-result")
            .packing_flags(0x001f)?;
        Ok(Self {
            exchange_not_found: flags & 0x0001 != 0,
            queue_not_found: flags & 0x0002 != 0,
            queue_not_matched: flags & 0x0004 != 0,
            key_not_matched: flags & 0x0008 != 0,
            args_not_matched: flags & 0x0010 != 0,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = u16::from(self.exchange_not_found)
            | u16::from(self.queue_not_found) << 1
            | u16::from(self.queue_not_matched) << 2
            | u16::from(self.key_not_matched) << 3
            | u16::from(self.args_not_matched) << 4;
        encode::packing_flags(out, flags);
    }
}

impl Struct for ExchangeBoundResult {
    const CODE: u16 = 0x0702;
}

/// Command `exchange.declare`, code 7.1.
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

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor.in_field("exchange.declare").packing_flags(0x007f)?;
        Ok(Self {
            exchange: if flags & 0x0001 != 0 {
                cursor.in_field("exchange.declare.exchange").str8()?
            } else {
                Default::default()
            },
            r#type: if flags & 0x0002 != 0 {
                cursor.in_field("exchange.declare.type").str8()?
            } else {
                Default::default()
            },
            alternate_exchange: if flags & 0x0004 != 0 {
                Some(
                    cursor
                        .in_field("exchange.declare.alternate-exchange")
                        .str8()?,
                )
            } else {
                None
            },
            passive: flags & 0x0008 != 0,
            durable: flags & 0x0010 != 0,
            auto_delete: flags & 0x0020 != 0,
            arguments: if flags & 0x0040 != 0 {
                Some(cursor.in_field("exchange.declare.arguments").map()?)
            } else {
                None
            },
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = 0x0003
            | u16::from(self.alternate_exchange.is_some()) << 2
            | u16::from(self.passive) << 3
            | u16::from(self.durable) << 4
            | u16::from(self.auto_delete) << 5
            | u16::from(self.arguments.is_some()) << 6;
        encode::packing_flags(out, flags);
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
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExchangeDelete {
    /// `name`, required.
    pub exchange: Text,
    /// `bit`.
    pub if_unused: bool,
}

impl Packed for ExchangeDelete {
    const NAME: &'static str = "exchange.delete";

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor.in_field("exchange.delete").packing_flags(0x0003)?;
        Ok(Self {
            exchange: if flags & 0x0001 != 0 {
                cursor.in_field("exchange.delete.exchange").str8()?
            } else {
                Default::default()
            },
            if_unused: flags & 0x0002 != 0,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = 0x0001 | u16::from(self.if_unused) << 1;
        encode::packing_flags(out, flags);
        encode::str8(out, &self.exchange);
    }
}

/// Command `exchange.query`, code 7.3. Its result is a [`ExchangeQueryResult`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExchangeQuery {
    /// `str8`, optional.
    pub name: Option<Text>,
}

impl Packed for ExchangeQuery {
    const NAME: &'static str = "exchange.query";

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor.in_field("exchange.query").packing_flags(0x0001)?;
        Ok(Self {
            name: if flags & 0x0001 != 0 {
                Some(cursor.in_field("exchange.query.name").str8()?)
            } else {
                None
            },
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = u16::from(self.name.is_some());
        encode::packing_flags(out, flags);
        if let Some(name) = &self.name {
            encode::str8(out, name);
        }
    }
}

/// Command `exchange.bind`, code 7.4.
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

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor.in_field("exchange.bind").packing_flags(0x000f)?;
        Ok(Self {
            queue: if flags & 0x0001 != 0 {
                cursor.in_field("exchange.bind.queue").str8()?
            } else {
                Default::default()
            },
            exchange: if flags & 0x0002 != 0 {
                cursor.in_field("exchange.bind.exchange").str8()?
            } else {
                Default::default()
            },
            binding_key: if flags & 0x0004 != 0 {
                cursor.in_field("exchange.bind.binding-key").str8()?
            } else {
                Default::default()
            },
            arguments: if flags & 0x0008 != 0 {
                Some(cursor.in_field("exchange.bind.arguments").map()?)
            } else {
                None
            },
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = 0x0007 | u16::from(self.arguments.is_some()) << 3;
        encode::packing_flags(out, flags);
        encode::str8(out, &self.queue);
        encode::str8(out, &self.exchange);
        encode::str8(out, &self.binding_key);
        if let Some(arguments) = &self.arguments {
            arguments.encode(out);
        }
    }
}

/// Command `exchange.unbind`, code 7.5.
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

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor.in_field("exchange.unbind").packing_flags(0x0007)?;
        Ok(Self {
            queue: if flags & 0x0001 != 0 {
                cursor.in_field("exchange.unbind.queue").str8()?
            } else {
                Default::default()
            },
            exchange: if flags & 0x0002 != 0 {
                cursor.in_field("exchange.unbind.exchange").str8()?
            } else {
                Default::default()
            },
            binding_key: if flags & 0x0004 != 0 {
                cursor.in_field("exchange.unbind.binding-key").str8()?
            } else {
                Default::default()
            },
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = 0x0007;
        encode::packing_flags(out, flags);
        encode::str8(out, &self.queue);
        encode::str8(out, &self.exchange);
        encode::str8(out, &self.binding_key);
    }
}

/// Command `exchange.bound`, code 7.6. Its result is a [`ExchangeBoundResult`].
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

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor.in_field("exchange.bound").packing_flags(0x000f)?;
        Ok(Self {
            exchange: if flags & 0x0001 != 0 {
                Some(cursor.in_field("exchange.bound.exchange").str8()?)
            } else {
                None
            },
            queue: if flags & 0x0002 != 0 {
                cursor.in_field("exchange.bound.queue").str8()?
            } else {
                Default::default()
            },
            binding_key: if flags & 0x0004 != 0 {
                Some(cursor.in_field("exchange.bound.binding-key").str8()?)
            } else {
                None
            },
            arguments: if flags & 0x0008 != 0 {
                Some(cursor.in_field("exchange.bound.arguments").map()?)
            } else {
                None
            },
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = 0x0002
            | u16::from(self.exchange.is_some())
            | u16::from(self.binding_key.is_some()) << 2
            | u16::from(self.arguments.is_some()) << 3;
        encode::packing_flags(out, flags);
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
