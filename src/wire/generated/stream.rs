//! Class `stream` (code 10).

// Generated from spec/amqp-0-10.spec by spec/generator. Not to be edited:
// UPDATE=1 cargo test --test spec_staleness

use std::fmt;

use crate::wire::Text;
use crate::wire::cursor::Cursor;
use crate::wire::decode_error::DecodeError;
use crate::wire::encode;
use crate::wire::map::Map;
use crate::wire::packed::HeaderEntry;
use crate::wire::packed::Packed;
use crate::wire::packed::Struct;

/// `stream.return-code`; values without a name are kept as they come.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamReturnCode(pub u16);

impl StreamReturnCode {
    /// `content-too-large`.
    pub const CONTENT_TOO_LARGE: Self = Self(311);
    /// `no-route`.
    pub const NO_ROUTE: Self = Self(312);
    /// `no-consumers`.
    pub const NO_CONSUMERS: Self = Self(313);

    /// The name of the value, if it has one.
    pub fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::CONTENT_TOO_LARGE => "content-too-large",
            Self::NO_ROUTE => "no-route",
            Self::NO_CONSUMERS => "no-consumers",
            _ => return None,
        })
    }
}

impl fmt::Display for StreamReturnCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "{}", self.0),
        }
    }
}

impl fmt::Debug for StreamReturnCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StreamReturnCode({}", self.0)?;
        if let Some(name) = self.name() {
            write!(f, " {name}")?;
        }
        f.write_str(")")
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

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        Self::decode_selected(cursor, u16::MAX)
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = u16::from(self.content_type.is_some())
            | u16::from(self.content_encoding.is_some()) << 1
            | u16::from(self.headers.is_some()) << 2
            | u16::from(self.priority.is_some()) << 3
            | u16::from(self.timestamp.is_some()) << 4;
        encode::packing_flags(out, flags);
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

impl HeaderEntry for StreamProperties {
    fn decode_selected(cursor: &mut Cursor<'_>, wanted: u16) -> Result<Self, DecodeError> {
        let flags = cursor
            .in_field("stream.stream-properties")
            .packing_flags(0x001f)?;
        Ok(Self {
            content_type: if flags & wanted & 0x0001 != 0 {
                Some(
                    cursor
                        .in_field("stream.stream-properties.content-type")
                        .str8()?,
                )
            } else {
                if flags & 0x0001 != 0 {
                    cursor
                        .in_field("stream.stream-properties.content-type")
                        .walk_text(1, "str8")?;
                }
                None
            },
            content_encoding: if flags & wanted & 0x0002 != 0 {
                Some(
                    cursor
                        .in_field("stream.stream-properties.content-encoding")
                        .str8()?,
                )
            } else {
                if flags & 0x0002 != 0 {
                    cursor
                        .in_field("stream.stream-properties.content-encoding")
                        .walk_text(1, "str8")?;
                }
                None
            },
            headers: if flags & wanted & 0x0004 != 0 {
                Some(cursor.in_field("stream.stream-properties.headers").map()?)
            } else {
                if flags & 0x0004 != 0 {
                    cursor
                        .in_field("stream.stream-properties.headers")
                        .walk_map()?;
                }
                None
            },
            priority: if flags & wanted & 0x0008 != 0 {
                Some(cursor.in_field("stream.stream-properties.priority").u8()?)
            } else {
                if flags & 0x0008 != 0 {
                    cursor
                        .in_field("stream.stream-properties.priority")
                        .bytes(1)?;
                }
                None
            },
            timestamp: if flags & wanted & 0x0010 != 0 {
                Some(
                    cursor
                        .in_field("stream.stream-properties.timestamp")
                        .datetime()?,
                )
            } else {
                if flags & 0x0010 != 0 {
                    cursor
                        .in_field("stream.stream-properties.timestamp")
                        .bytes(8)?;
                }
                None
            },
        })
    }
}

impl Struct for StreamProperties {
    const CODE: u16 = 0x0a01;
}

/// Command `stream.qos`, code 10.1.
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

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor.in_field("stream.qos").packing_flags(0x000f)?;
        Ok(Self {
            prefetch_size: if flags & 0x0001 != 0 {
                Some(cursor.in_field("stream.qos.prefetch-size").u32()?)
            } else {
                None
            },
            prefetch_count: if flags & 0x0002 != 0 {
                Some(cursor.in_field("stream.qos.prefetch-count").u16()?)
            } else {
                None
            },
            consume_rate: if flags & 0x0004 != 0 {
                Some(cursor.in_field("stream.qos.consume-rate").u32()?)
            } else {
                None
            },
            global: flags & 0x0008 != 0,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = u16::from(self.prefetch_size.is_some())
            | u16::from(self.prefetch_count.is_some()) << 1
            | u16::from(self.consume_rate.is_some()) << 2
            | u16::from(self.global) << 3;
        encode::packing_flags(out, flags);
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
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StreamQosOk {}

impl Packed for StreamQosOk {
    const NAME: &'static str = "stream.qos-ok";

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        cursor.in_field("stream.qos-ok").packing_flags(0x0000)?;
        Ok(Self {})
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = 0x0000;
        encode::packing_flags(out, flags);
    }
}

/// Command `stream.consume`, code 10.3.
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

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor.in_field("stream.consume").packing_flags(0x003f)?;
        Ok(Self {
            queue: if flags & 0x0001 != 0 {
                Some(cursor.in_field("stream.consume.queue").str8()?)
            } else {
                None
            },
            consumer_tag: if flags & 0x0002 != 0 {
                Some(cursor.in_field("stream.consume.consumer-tag").str8()?)
            } else {
                None
            },
            no_local: flags & 0x0004 != 0,
            exclusive: flags & 0x0008 != 0,
            nowait: flags & 0x0010 != 0,
            arguments: if flags & 0x0020 != 0 {
                Some(cursor.in_field("stream.consume.arguments").map()?)
            } else {
                None
            },
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = u16::from(self.queue.is_some())
            | u16::from(self.consumer_tag.is_some()) << 1
            | u16::from(self.no_local) << 2
            | u16::from(self.exclusive) << 3
            | u16::from(self.nowait) << 4
            | u16::from(self.arguments.is_some()) << 5;
        encode::packing_flags(out, flags);
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
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StreamConsumeOk {
    /// `str8`, optional.
    pub consumer_tag: Option<Text>,
}

impl Packed for StreamConsumeOk {
    const NAME: &'static str = "stream.consume-ok";

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor.in_field("stream.consume-ok").packing_flags(0x0001)?;
        Ok(Self {
            consumer_tag: if flags & 0x0001 != 0 {
                Some(cursor.in_field("stream.consume-ok.consumer-tag").str8()?)
            } else {
                None
            },
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = u16::from(self.consumer_tag.is_some());
        encode::packing_flags(out, flags);
        if let Some(consumer_tag) = &self.consumer_tag {
            encode::str8(out, consumer_tag);
        }
    }
}

/// Command `stream.cancel`, code 10.5.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StreamCancel {
    /// `str8`, optional.
    pub consumer_tag: Option<Text>,
}

impl Packed for StreamCancel {
    const NAME: &'static str = "stream.cancel";

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor.in_field("stream.cancel").packing_flags(0x0001)?;
        Ok(Self {
            consumer_tag: if flags & 0x0001 != 0 {
                Some(cursor.in_field("stream.cancel.consumer-tag").str8()?)
            } else {
                None
            },
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = u16::from(self.consumer_tag.is_some());
        encode::packing_flags(out, flags);
        if let Some(consumer_tag) = &self.consumer_tag {
            encode::str8(out, consumer_tag);
        }
    }
}

/// Command `stream.publish`, code 10.6.
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

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor.in_field("stream.publish").packing_flags(0x000f)?;
        Ok(Self {
            exchange: if flags & 0x0001 != 0 {
                Some(cursor.in_field("stream.publish.exchange").str8()?)
            } else {
                None
            },
            routing_key: if flags & 0x0002 != 0 {
                Some(cursor.in_field("stream.publish.routing-key").str8()?)
            } else {
                None
            },
            mandatory: flags & 0x0004 != 0,
            immediate: flags & 0x0008 != 0,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = u16::from(self.exchange.is_some())
            | u16::from(self.routing_key.is_some()) << 1
            | u16::from(self.mandatory) << 2
            | u16::from(self.immediate) << 3;
        encode::packing_flags(out, flags);
        if let Some(exchange) = &self.exchange {
            encode::str8(out, exchange);
        }
        if let Some(routing_key) = &self.routing_key {
            encode::str8(out, routing_key);
        }
    }
}

/// Command `stream.return`, code 10.7.
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

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor.in_field("stream.return").packing_flags(0x000f)?;
        Ok(Self {
            reply_code: if flags & 0x0001 != 0 {
                Some(
                    cursor
                        .in_field("stream.return.reply-code")
                        .u16()
                        .map(StreamReturnCode)?,
                )
            } else {
                None
            },
            reply_text: if flags & 0x0002 != 0 {
                Some(cursor.in_field("stream.return.reply-text").str8()?)
            } else {
                None
            },
            exchange: if flags & 0x0004 != 0 {
                Some(cursor.in_field("stream.return.exchange").str8()?)
            } else {
                None
            },
            routing_key: if flags & 0x0008 != 0 {
                Some(cursor.in_field("stream.return.routing-key").str8()?)
            } else {
                None
            },
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = u16::from(self.reply_code.is_some())
            | u16::from(self.reply_text.is_some()) << 1
            | u16::from(self.exchange.is_some()) << 2
            | u16::from(self.routing_key.is_some()) << 3;
        encode::packing_flags(out, flags);
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

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor.in_field("stream.deliver").packing_flags(0x000f)?;
        Ok(Self {
            consumer_tag: if flags & 0x0001 != 0 {
                Some(cursor.in_field("stream.deliver.consumer-tag").str8()?)
            } else {
                None
            },
            delivery_tag: if flags & 0x0002 != 0 {
                Some(cursor.in_field("stream.deliver.delivery-tag").u64()?)
            } else {
                None
            },
            exchange: if flags & 0x0004 != 0 {
                Some(cursor.in_field("stream.deliver.exchange").str8()?)
            } else {
                None
            },
            queue: if flags & 0x0008 != 0 {
                cursor.in_field("stream.deliver.queue").str8()?
            } else {
                Default::default()
            },
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = 0x0008
            | u16::from(self.consumer_tag.is_some())
            | u16::from(self.delivery_tag.is_some()) << 1
            | u16::from(self.exchange.is_some()) << 2;
        encode::packing_flags(out, flags);
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
