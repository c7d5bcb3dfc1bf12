//! Class `stream` (code 10), spoken by the server (may), the client (may).

// Generated from spec/amqp-0-10.spec by spec/generator. Not to be edited:
// UPDATE=1 cargo test --test spec_staleness

use std::ops::Range;

use crate::wire::Text;
use crate::wire::cursor::Cursor;
use crate::wire::decode_error::DecodeError;
use crate::wire::encode;
use crate::wire::fields::Fields;
use crate::wire::map::Map;
use crate::wire::named_number;
use crate::wire::packed::Packed;
use crate::wire::packed::Selected;
use crate::wire::packed::Struct;

named_number! {
    /// `stream.return-code`; values without a name are kept as they come.
    pub struct StreamReturnCode(u16) {
        /// `content-too-large`.
        CONTENT_TOO_LARGE = 311, "content-too-large";
        /// `no-route`.
        NO_ROUTE = 312, "no-route";
        /// `no-consumers`.
        NO_CONSUMERS = 313, "no-consumers";
    }
}

/// `stream.stream-properties`, a struct of code 0x0a01.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StreamProperties {
    /// `str8`, optional.
    pub content_type: Option<Text>,
    /// `str8`, optional.
    pub content_encoding: Option<Text>,
    /// `map`, optional.
    pub headers: Option<Map>,
    /// `uint8`, optional.
    pub priority: Option<u8>,
    /// `datetime`, optional.
    pub timestamp: Option<i64>,
}

impl Packed for StreamProperties {
    const NAME: &'static str = "stream.stream-properties";
    const FIELDS: &'static [&'static str] = &[
        "stream.stream-properties.content-type",
        "stream.stream-properties.content-encoding",
        "stream.stream-properties.headers",
        "stream.stream-properties.priority",
        "stream.stream-properties.timestamp",
    ];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        Self::decode_selected(cursor, u16::MAX)
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(
            out,
            2,
            u16::from(self.content_type.is_some())
                | u16::from(self.content_encoding.is_some()) << 1
                | u16::from(self.headers.is_some()) << 2
                | u16::from(self.priority.is_some()) << 3
                | u16::from(self.timestamp.is_some()) << 4,
        );
        if let Some(content_type) = &self.content_type {
            encode::str8(out, content_type);
        }
        if let Some(content_encoding) = &self.content_encoding {
            encode::str8(out, content_encoding);
        }
        if let Some(headers) = &self.headers {
            headers.encode(out);
        }
        if let Some(priority) = self.priority {
            encode::u8(out, priority);
        }
        if let Some(timestamp) = self.timestamp {
            encode::i64(out, timestamp);
        }
    }
}

impl Selected for StreamProperties {
    fn decode_selected(cursor: &mut Cursor<'_>, wanted: u16) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            content_type: fields.selected(0, wanted, Cursor::str8, |cursor| {
                cursor.walk_text(1, "str8")
            })?,
            content_encoding: fields.selected(1, wanted, Cursor::str8, |cursor| {
                cursor.walk_text(1, "str8")
            })?,
            headers: fields.selected(2, wanted, Cursor::map, Cursor::walk_map)?,
            priority: fields.optional(3, Cursor::u8)?,
            timestamp: fields.optional(4, Cursor::datetime)?,
        })
    }

    #[inline]
    fn walk(
        cursor: &mut Cursor<'_>,
        seen: &mut impl FnMut(usize, Range<usize>),
    ) -> Result<u16, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        fields.walked(0, seen, |cursor| cursor.walk_text(1, "str8"))?;
        fields.walked(1, seen, |cursor| cursor.walk_text(1, "str8"))?;
        fields.walked(2, seen, Cursor::walk_map)?;
        fields.walked(3, seen, |cursor| Cursor::u8(cursor).map(drop))?;
        fields.walked(4, seen, |cursor| Cursor::datetime(cursor).map(drop))?;
        Ok(fields.flags())
    }
}

impl Struct for StreamProperties {
    const CODE: u16 = 0x0a01;
}

/// Command `stream.qos`, code 10.1.
///
/// Handled by the server (must). Answered by `qos-ok`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StreamQos {
    /// `uint32`, optional.
    pub prefetch_size: Option<u32>,
    /// `uint16`, optional.
    pub prefetch_count: Option<u16>,
    /// `uint32`, optional.
    pub consume_rate: Option<u32>,
    /// `bit`.
    pub global: bool,
}

impl Packed for StreamQos {
    const NAME: &'static str = "stream.qos";
    const FIELDS: &'static [&'static str] = &[
        "stream.qos.prefetch-size",
        "stream.qos.prefetch-count",
        "stream.qos.consume-rate",
        "stream.qos.global",
    ];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            prefetch_size: fields.optional(0, Cursor::u32)?,
            prefetch_count: fields.optional(1, Cursor::u16)?,
            consume_rate: fields.optional(2, Cursor::u32)?,
            global: fields.bit(3),
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(
            out,
            2,
            u16::from(self.prefetch_size.is_some())
                | u16::from(self.prefetch_count.is_some()) << 1
                | u16::from(self.consume_rate.is_some()) << 2
                | u16::from(self.global) << 3,
        );
        if let Some(prefetch_size) = self.prefetch_size {
            encode::u32(out, prefetch_size);
        }
        if let Some(prefetch_count) = self.prefetch_count {
            encode::u16(out, prefetch_count);
        }
        if let Some(consume_rate) = self.consume_rate {
            encode::u32(out, consume_rate);
        }
    }
}

/// Command `stream.qos-ok`, code 10.2.
///
/// Handled by the client (must).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StreamQosOk {}

impl Packed for StreamQosOk {
    const NAME: &'static str = "stream.qos-ok";
    const FIELDS: &'static [&'static str] = &[];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        Fields::of::<Self>(cursor, 2)?;
        Ok(Self {})
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(out, 2, 0x0000);
    }
}

/// Command `stream.consume`, code 10.3.
///
/// Handled by the server (must). Answered by `consume-ok`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StreamConsume {
    /// `queue.name`, optional.
    pub queue: Option<Text>,
    /// `str8`, optional.
    pub consumer_tag: Option<Text>,
    /// `bit`.
    pub no_local: bool,
    /// `bit`.
    pub exclusive: bool,
    /// `bit`.
    pub nowait: bool,
    /// `map`, optional.
    pub arguments: Option<Map>,
}

impl Packed for StreamConsume {
    const NAME: &'static str = "stream.consume";
    const FIELDS: &'static [&'static str] = &[
        "stream.consume.queue",
        "stream.consume.consumer-tag",
        "stream.consume.no-local",
        "stream.consume.exclusive",
        "stream.consume.nowait",
        "stream.consume.arguments",
    ];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            queue: fields.optional(0, Cursor::str8)?,
            consumer_tag: fields.optional(1, Cursor::str8)?,
            no_local: fields.bit(2),
            exclusive: fields.bit(3),
            nowait: fields.bit(4),
            arguments: fields.optional(5, Cursor::map)?,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(
            out,
            2,
            u16::from(self.queue.is_some())
                | u16::from(self.consumer_tag.is_some()) << 1
                | u16::from(self.no_local) << 2
                | u16::from(self.exclusive) << 3
                | u16::from(self.nowait) << 4
                | u16::from(self.arguments.is_some()) << 5,
        );
        if let Some(queue) = &self.queue {
            encode::str8(out, queue);
        }
        if let Some(consumer_tag) = &self.consumer_tag {
            encode::str8(out, consumer_tag);
        }
        if let Some(arguments) = &self.arguments {
            arguments.encode(out);
        }
    }
}

/// Command `stream.consume-ok`, code 10.4.
///
/// Handled by the client (must).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StreamConsumeOk {
    /// `str8`, optional.
    pub consumer_tag: Option<Text>,
}

impl Packed for StreamConsumeOk {
    const NAME: &'static str = "stream.consume-ok";
    const FIELDS: &'static [&'static str] = &["stream.consume-ok.consumer-tag"];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            consumer_tag: fields.optional(0, Cursor::str8)?,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(out, 2, u16::from(self.consumer_tag.is_some()));
        if let Some(consumer_tag) = &self.consumer_tag {
            encode::str8(out, consumer_tag);
        }
    }
}

/// Command `stream.cancel`, code 10.5.
///
/// Handled by the server (must).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StreamCancel {
    /// `str8`, optional.
    pub consumer_tag: Option<Text>,
}

impl Packed for StreamCancel {
    const NAME: &'static str = "stream.cancel";
    const FIELDS: &'static [&'static str] = &["stream.cancel.consumer-tag"];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            consumer_tag: fields.optional(0, Cursor::str8)?,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(out, 2, u16::from(self.consumer_tag.is_some()));
        if let Some(consumer_tag) = &self.consumer_tag {
            encode::str8(out, consumer_tag);
        }
    }
}

/// Command `stream.publish`, code 10.6.
///
/// Handled by the server (must).
/// A header must follow.
/// A body may follow.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StreamPublish {
    /// `exchange.name`, optional.
    pub exchange: Option<Text>,
    /// `str8`, optional.
    pub routing_key: Option<Text>,
    /// `bit`.
    pub mandatory: bool,
    /// `bit`.
    pub immediate: bool,
}

impl Packed for StreamPublish {
    const NAME: &'static str = "stream.publish";
    const FIELDS: &'static [&'static str] = &[
        "stream.publish.exchange",
        "stream.publish.routing-key",
        "stream.publish.mandatory",
        "stream.publish.immediate",
    ];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            exchange: fields.optional(0, Cursor::str8)?,
            routing_key: fields.optional(1, Cursor::str8)?,
            mandatory: fields.bit(2),
            immediate: fields.bit(3),
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(
            out,
            2,
            u16::from(self.exchange.is_some())
                | u16::from(self.routing_key.is_some()) << 1
                | u16::from(self.mandatory) << 2
                | u16::from(self.immediate) << 3,
        );
        if let Some(exchange) = &self.exchange {
            encode::str8(out, exchange);
        }
        if let Some(routing_key) = &self.routing_key {
            encode::str8(out, routing_key);
        }
    }
}

/// Command `stream.return`, code 10.7.
///
/// Handled by the client (must).
/// A header must follow.
/// A body may follow.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StreamReturn {
    /// `return-code`, optional.
    pub reply_code: Option<StreamReturnCode>,
    /// `str8`, optional.
    pub reply_text: Option<Text>,
    /// `exchange.name`, optional.
    pub exchange: Option<Text>,
    /// `str8`, optional.
    pub routing_key: Option<Text>,
}

impl Packed for StreamReturn {
    const NAME: &'static str = "stream.return";
    const FIELDS: &'static [&'static str] = &[
        "stream.return.reply-code",
        "stream.return.reply-text",
        "stream.return.exchange",
        "stream.return.routing-key",
    ];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            reply_code: fields.optional(0, StreamReturnCode::decode)?,
            reply_text: fields.optional(1, Cursor::str8)?,
            exchange: fields.optional(2, Cursor::str8)?,
            routing_key: fields.optional(3, Cursor::str8)?,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(
            out,
            2,
            u16::from(self.reply_code.is_some())
                | u16::from(self.reply_text.is_some()) << 1
                | u16::from(self.exchange.is_some()) << 2
                | u16::from(self.routing_key.is_some()) << 3,
        );
        if let Some(reply_code) = self.reply_code {
            encode::u16(out, reply_code.0);
        }
        if let Some(reply_text) = &self.reply_text {
            encode::str8(out, reply_text);
        }
        if let Some(exchange) = &self.exchange {
            encode::str8(out, exchange);
        }
        if let Some(routing_key) = &self.routing_key {
            encode::str8(out, routing_key);
        }
    }
}

/// Command `stream.deliver`, code 10.8.
///
/// Handled by the client (must).
/// A header must follow.
/// A body may follow.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StreamDeliver {
    /// `str8`, optional.
    pub consumer_tag: Option<Text>,
    /// `uint64`, optional.
    pub delivery_tag: Option<u64>,
    /// `exchange.name`, optional.
    pub exchange: Option<Text>,
    /// `queue.name`, required.
    pub queue: Text,
}

impl Packed for StreamDeliver {
    const NAME: &'static str = "stream.deliver";
    const FIELDS: &'static [&'static str] = &[
        "stream.deliver.consumer-tag",
        "stream.deliver.delivery-tag",
        "stream.deliver.exchange",
        "stream.deliver.queue",
    ];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            consumer_tag: fields.optional(0, Cursor::str8)?,
            delivery_tag: fields.optional(1, Cursor::u64)?,
            exchange: fields.optional(2, Cursor::str8)?,
            queue: fields.required(3, Cursor::str8)?,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(
            out,
            2,
            0x0008
                | u16::from(self.consumer_tag.is_some())
                | u16::from(self.delivery_tag.is_some()) << 1
                | u16::from(self.exchange.is_some()) << 2,
        );
        if let Some(consumer_tag) = &self.consumer_tag {
            encode::str8(out, consumer_tag);
        }
        if let Some(delivery_tag) = self.delivery_tag {
            encode::u64(out, delivery_tag);
        }
        if let Some(exchange) = &self.exchange {
            encode::str8(out, exchange);
        }
        encode::str8(out, &self.queue);
    }
}
