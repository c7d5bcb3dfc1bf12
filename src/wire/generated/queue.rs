//! Class `queue` (code 8).

// Generated from spec/amqp-0-10.spec by spec/generator. Not to be edited:
// UPDATE=1 cargo test --test spec_staleness

use crate::wire::Text;
use crate::wire::cursor::Cursor;
use crate::wire::decode_error::DecodeError;
use crate::wire::encode;
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

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor
            .in_field("queue.queue-query-result")
            .packing_flags(0x00ff)?;
        Ok(Self {
            queue: if flags & 0x0001 != 0 {
                cursor.in_field("queue.queue-query-result.queue").str8()?
            } else {
                Default::default()
            },
            alternate_exchange: if flags & 0x0002 != 0 {
                Some(
                    cursor
                        .in_field("queue.queue-query-result.alternate-exchange")
                        .str8()?,
                )
            } else {
                None
            },
            durable: flags & 0x0004 != 0,
            exclusive: flags & 0x0008 != 0,
            auto_delete: flags & 0x0010 != 0,
            arguments: if flags & 0x0020 != 0 {
                Some(
                    cursor
                        .in_field("queue.queue-query-result.arguments")
                        .map()?,
                )
            } else {
                None
            },
            message_count: if flags & 0x0040 != 0 {
                cursor
                    .in_field("queue.queue-query-result.message-count")
                    .u32()?
            } else {
                Default::default()
            },
            subscriber_count: if flags & 0x0080 != 0 {
                cursor
                    .in_field("queue.queue-query-result.subscriber-count")
                    .u32()?
            } else {
                Default::default()
            },
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = 0x00c1
            | u16::from(self.alternate_exchange.is_some()) << 1
            | u16::from(self.durable) << 2
            | u16::from(self.exclusive) << 3
            | u16::from(self.auto_delete) << 4
            | u16::from(self.arguments.is_some()) << 5;
        encode::packing_flags(out, flags);
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

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor.in_field("queue.declare").packing_flags(0x007f)?;
        Ok(Self {
            queue: if flags & 0x0001 != 0 {
                cursor.in_field("queue.declare.queue").str8()?
            } else {
                Default::default()
            },
            alternate_exchange: if flags & 0x0002 != 0 {
                Some(cursor.in_field("queue.declare.alternate-exchange").str8()?)
            } else {
                None
            },
            passive: flags & 0x0004 != 0,
            durable: flags & 0x0008 != 0,
            exclusive: flags & 0x0010 != 0,
            auto_delete: flags & 0x0020 != 0,
            arguments: if flags & 0x0040 != 0 {
                Some(cursor.in_field("queue.declare.arguments").map()?)
            } else {
                None
            },
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = 0x0001
            | u16::from(self.alternate_exchange.is_some()) << 1
            | u16::from(self.passive) << 2
            | u16::from(self.durable) << 3
            | u16::from(self.exclusive) << 4
            | u16::from(self.auto_delete) << 5
            | u16::from(self.arguments.is_some()) << 6;
        encode::packing_flags(out, flags);
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

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor.in_field("queue.delete").packing_flags(0x0007)?;
        Ok(Self {
            queue: if flags & 0x0001 != 0 {
                cursor.in_field("queue.delete.queue").str8()?
            } else {
                Default::default()
            },
            if_unused: flags & 0x0002 != 0,
            if_empty: flags & 0x0004 != 0,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = 0x0001 | u16::from(self.if_unused) << 1 | u16::from(self.if_empty) << 2;
        encode::packing_flags(out, flags);
        encode::str8(out, &self.queue);
    }
}

/// Command `queue.purge`, code 8.3.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueuePurge {
    /// `name`, required.
    pub queue: Text,
}

impl Packed for QueuePurge {
    const NAME: &'static str = "queue.purge";

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor.in_field("queue.purge").packing_flags(0x0001)?;
        Ok(Self {
            queue: if flags & 0x0001 != 0 {
                cursor.in_field("queue.purge.queue").str8()?
            } else {
                Default::default()
            },
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = 0x0001;
        encode::packing_flags(out, flags);
        encode::str8(out, &self.queue);
    }
}

/// Command `queue.query`, code 8.4. Its result is a [`QueueQueryResult`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueueQuery {
    /// `name`, required.
    pub queue: Text,
}

impl Packed for QueueQuery {
    const NAME: &'static str = "queue.query";

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor.in_field("queue.query").packing_flags(0x0001)?;
        Ok(Self {
            queue: if flags & 0x0001 != 0 {
                cursor.in_field("queue.query.queue").str8()?
            } else {
                Default::default()
            },
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = 0x0001;
        encode::packing_flags(out, flags);
        encode::str8(out, &self.queue);
    }
}
