//! Class `file` (code 9).

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

/// `file.return-code`; values without a name are kept as they come.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileReturnCode(pub u16);

impl FileReturnCode {
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

impl fmt::Display for FileReturnCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "{}", self.0),
        }
    }
}

impl fmt::Debug for FileReturnCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FileReturnCode({}", self.0)?;
        if let Some(name) = self.name() {
            write!(f, " {name}")?;
        }
        f.write_str(")")
    }
}

/// `file.file-properties`, a struct of code 0x0901.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FileProperties {
    /// `str8`, optional.
    pub content_type: Option<Text>,
    /// `str8`, optional.
    pub content_encoding: Option<Text>,
    /// `map`, optional.
    pub headers: Option<Map>,
    /// `uint8`, optional.
    pub priority: Option<u8>,
    /// `str8`, optional.
    pub reply_to: Option<Text>,
    /// `str8`, optional.
    pub message_id: Option<Text>,
    /// `str8`, optional.
    pub filename: Option<Text>,
    /// `datetime`, optional.
    pub timestamp: Option<i64>,
    /// `str8`, optional.
    pub cluster_id: Option<Text>,
}

impl Packed for FileProperties {
    const NAME: &'static str = "file.file-properties";

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        Self::decode_selected(cursor, u16::MAX)
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = u16::from(self.content_type.is_some())
            | u16::from(self.content_encoding.is_some()) << 1
            | u16::from(self.headers.is_some()) << 2
            | u16::from(self.priority.is_some()) << 3
            | u16::from(self.reply_to.is_some()) << 4
            | u16::from(self.message_id.is_some()) << 5
            | u16::from(self.filename.is_some()) << 6
            | u16::from(self.timestamp.is_some()) << 7
            | u16::from(self.cluster_id.is_some()) << 8;
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
        if let Some(reply_to) = &self.reply_to {
            encode::str8(out, reply_to);
        }
        if let Some(message_id) = &self.message_id {
            encode::str8(out, message_id);
        }
        if let Some(filename) = &self.filename {
            encode::str8(out, filename);
        }
        if let Some(timestamp) = self.timestamp {
            encode::i64(out, timestamp);
        }
        if let Some(cluster_id) = &self.cluster_id {
            encode::str8(out, cluster_id);
        }
    }
}

impl HeaderEntry for FileProperties {
    fn decode_selected(cursor: &mut Cursor<'_>, wanted: u16) -> Result<Self, DecodeError> {
        let flags = cursor
            .in_field("file.file-properties")
            .packing_flags(0x01ff)?;
        Ok(Self {
            content_type: if flags & wanted & 0x0001 != 0 {
                Some(
                    cursor
                        .in_field("file.file-properties.content-type")
                        .str8()?,
                )
            } else {
                if flags & 0x0001 != 0 {
                    cursor
                        .in_field("file.file-properties.content-type")
                        .walk_text(1, "str8")?;
                }
                None
            },
            content_encoding: if flags & wanted & 0x0002 != 0 {
                Some(
                    cursor
                        .in_field("file.file-properties.content-encoding")
                        .str8()?,
                )
            } else {
                if flags & 0x0002 != 0 {
                    cursor
                        .in_field("file.file-properties.content-encoding")
                        .walk_text(1, "str8")?;
                }
                None
            },
            headers: if flags & wanted & 0x0004 != 0 {
                Some(cursor.in_field("file.file-properties.headers").map()?)
            } else {
                if flags & 0x0004 != 0 {
                    cursor.in_field("file.file-properties.headers").walk_map()?;
                }
                None
            },
            priority: if flags & wanted & 0x0008 != 0 {
                Some(cursor.in_field("file.file-properties.priority").u8()?)
            } else {
                if flags & 0x0008 != 0 {
                    cursor.in_field("file.file-properties.priority").bytes(1)?;
                }
                None
            },
            reply_to: if flags & wanted & 0x0010 != 0 {
                Some(cursor.in_field("file.file-properties.reply-to").str8()?)
            } else {
                if flags & 0x0010 != 0 {
                    cursor
                        .in_field("file.file-properties.reply-to")
                        .walk_text(1, "str8")?;
                }
                None
            },
            message_id: if flags & wanted & 0x0020 != 0 {
                Some(cursor.in_field("file.file-properties.message-id").str8()?)
            } else {
                if flags & 0x0020 != 0 {
                    cursor
                        .in_field("file.file-properties.message-id")
                        .walk_text(1, "str8")?;
                }
                None
            },
            filename: if flags & wanted & 0x0040 != 0 {
                Some(cursor.in_field("file.file-properties.filename").str8()?)
            } else {
                if flags & 0x0040 != 0 {
                    cursor
                        .in_field("file.file-properties.filename")
                        .walk_text(1, "str8")?;
                }
                None
            },
            timestamp: if flags & wanted & 0x0080 != 0 {
                Some(
                    cursor
                        .in_field("file.file-properties.timestamp")
                        .datetime()?,
                )
            } else {
                if flags & 0x0080 != 0 {
                    cursor.in_field("file.file-properties.timestamp").bytes(8)?;
                }
                None
            },
            cluster_id: if flags & wanted & 0x0100 != 0 {
                Some(cursor.in_field("file.file-properties.cluster-id").str8()?)
            } else {
                if flags & 0x0100 != 0 {
                    cursor
                        .in_field("file.file-properties.cluster-id")
                        .walk_text(1, "str8")?;
                }
                None
            },
        })
    }
}

impl Struct for FileProperties {
    const CODE: u16 = 0x0901;
}

/// Command `file.qos`, code 9.1.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FileQos {
    /// `uint32`, optional.
    pub prefetch_size: Option<u32>,
    /// `uint16`, optional.
    pub prefetch_count: Option<u16>,
    /// `bit`.
    pub global: bool,
}

impl Packed for FileQos {
    const NAME: &'static str = "file.qos";

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor.in_field("file.qos").packing_flags(0x0007)?;
        Ok(Self {
            prefetch_size: if flags & 0x0001 != 0 {
                Some(cursor.in_field("file.qos.prefetch-size").u32()?)
            } else {
                None
            },
            prefetch_count: if flags & 0x0002 != 0 {
                Some(cursor.in_field("file.qos.prefetch-count").u16()?)
            } else {
                None
            },
            global: flags & 0x0004 != 0,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = u16::from(self.prefetch_size.is_some())
            | u16::from(self.prefetch_count.is_some()) << 1
            | u16::from(self.global) << 2;
        encode::packing_flags(out, flags);
        if let Some(prefetch_size) = self.prefetch_size {
            encode::u32(out, prefetch_size);
        }
        if let Some(prefetch_count) = self.prefetch_count {
            encode::u16(out, prefetch_count);
        }
    }
}

/// Command `file.qos-ok`, code 9.2.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FileQosOk {}

impl Packed for FileQosOk {
    const NAME: &'static str = "file.qos-ok";

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        cursor.in_field("file.qos-ok").packing_flags(0x0000)?;
        Ok(Self {})
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = 0x0000;
        encode::packing_flags(out, flags);
    }
}

/// Command `file.consume`, code 9.3.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FileConsume {
    /// `queue.name`, optional.
    pub queue: Option<Text>,
    /// `str8`, optional.
    pub consumer_tag: Option<Text>,
    /// `bit`.
    pub no_local: bool,
    /// `bit`.
    pub no_ack: bool,
    /// `bit`.
    pub exclusive: bool,
    /// `bit`.
    pub nowait: bool,
    /// `map`, optional.
    pub arguments: Option<Map>,
}

impl Packed for FileConsume {
    const NAME: &'static str = "file.consume";

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor.in_field("file.consume").packing_flags(0x007f)?;
        Ok(Self {
            queue: if flags & 0x0001 != 0 {
                Some(cursor.in_field("file.consume.queue").str8()?)
            } else {
                None
            },
            consumer_tag: if flags & 0x0002 != 0 {
                Some(cursor.in_field("file.consume.consumer-tag").str8()?)
            } else {
                None
            },
            no_local: flags & 0x0004 != 0,
            no_ack: flags & 0x0008 != 0,
            exclusive: flags & 0x0010 != 0,
            nowait: flags & 0x0020 != 0,
            arguments: if flags & 0x0040 != 0 {
                Some(cursor.in_field("file.consume.arguments").map()?)
            } else {
                None
            },
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = u16::from(self.queue.is_some())
            | u16::from(self.consumer_tag.is_some()) << 1
            | u16::from(self.no_local) << 2
            | u16::from(self.no_ack) << 3
            | u16::from(self.exclusive) << 4
            | u16::from(self.nowait) << 5
            | u16::from(self.arguments.is_some()) << 6;
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

/// Command `file.consume-ok`, code 9.4.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FileConsumeOk {
    /// `str8`, optional.
    pub consumer_tag: Option<Text>,
}

impl Packed for FileConsumeOk {
    const NAME: &'static str = "file.consume-ok";

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor.in_field("file.consume-ok").packing_flags(0x0001)?;
        Ok(Self {
            consumer_tag: if flags & 0x0001 != 0 {
                Some(cursor.in_field("file.consume-ok.consumer-tag").str8()?)
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

/// Command `file.cancel`, code 9.5.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FileCancel {
    /// `str8`, optional.
    pub consumer_tag: Option<Text>,
}

impl Packed for FileCancel {
    const NAME: &'static str = "file.cancel";

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor.in_field("file.cancel").packing_flags(0x0001)?;
        Ok(Self {
            consumer_tag: if flags & 0x0001 != 0 {
                Some(cursor.in_field("file.cancel.consumer-tag").str8()?)
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

/// Command `file.open`, code 9.6.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FileOpen {
    /// `str8`, optional.
    pub identifier: Option<Text>,
    /// `uint64`, optional.
    pub content_size: Option<u64>,
}

impl Packed for FileOpen {
    const NAME: &'static str = "file.open";

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor.in_field("file.open").packing_flags(0x0003)?;
        Ok(Self {
            identifier: if flags & 0x0001 != 0 {
                Some(cursor.in_field("file.open.identifier").str8()?)
            } else {
                None
            },
            content_size: if flags & 0x0002 != 0 {
                Some(cursor.in_field("file.open.content-size").u64()?)
            } else {
                None
            },
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 =
            u16::from(self.identifier.is_some()) | u16::from(self.content_size.is_some()) << 1;
        encode::packing_flags(out, flags);
        if let Some(identifier) = &self.identifier {
            encode::str8(out, identifier);
        }
        if let Some(content_size) = self.content_size {
            encode::u64(out, content_size);
        }
    }
}

/// Command `file.open-ok`, code 9.7.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FileOpenOk {
    /// `uint64`, optional.
    pub staged_size: Option<u64>,
}

impl Packed for FileOpenOk {
    const NAME: &'static str = "file.open-ok";

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor.in_field("file.open-ok").packing_flags(0x0001)?;
        Ok(Self {
            staged_size: if flags & 0x0001 != 0 {
                Some(cursor.in_field("file.open-ok.staged-size").u64()?)
            } else {
                None
            },
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = u16::from(self.staged_size.is_some());
        encode::packing_flags(out, flags);
        if let Some(staged_size) = self.staged_size {
            encode::u64(out, staged_size);
        }
    }
}

/// Command `file.stage`, code 9.8.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FileStage {}

impl Packed for FileStage {
    const NAME: &'static str = "file.stage";

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        cursor.in_field("file.stage").packing_flags(0x0000)?;
        Ok(Self {})
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = 0x0000;
        encode::packing_flags(out, flags);
    }
}

/// Command `file.publish`, code 9.9.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FilePublish {
    /// `exchange.name`, optional.
    pub exchange: Option<Text>,
    /// `str8`, optional.
    pub routing_key: Option<Text>,
    /// `bit`.
    pub mandatory: bool,
    /// `bit`.
    pub immediate: bool,
    /// `str8`, optional.
    pub identifier: Option<Text>,
}

impl Packed for FilePublish {
    const NAME: &'static str = "file.publish";

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor.in_field("file.publish").packing_flags(0x001f)?;
        Ok(Self {
            exchange: if flags & 0x0001 != 0 {
                Some(cursor.in_field("file.publish.exchange").str8()?)
            } else {
                None
            },
            routing_key: if flags & 0x0002 != 0 {
                Some(cursor.in_field("file.publish.routing-key").str8()?)
            } else {
                None
            },
            mandatory: flags & 0x0004 != 0,
            immediate: flags & 0x0008 != 0,
            identifier: if flags & 0x0010 != 0 {
                Some(cursor.in_field("file.publish.identifier").str8()?)
            } else {
                None
            },
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = u16::from(self.exchange.is_some())
            | u16::from(self.routing_key.is_some()) << 1
            | u16::from(self.mandatory) << 2
            | u16::from(self.immediate) << 3
            | u16::from(self.identifier.is_some()) << 4;
        encode::packing_flags(out, flags);
        if let Some(exchange) = &self.exchange {
            encode::str8(out, exchange);
        }
        if let Some(routing_key) = &self.routing_key {
            encode::str8(out, routing_key);
        }
        if let Some(identifier) = &self.identifier {
            encode::str8(out, identifier);
        }
    }
}

/// Command `file.return`, code 9.10.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FileReturn {
    /// `return-code`, optional.
    pub reply_code: Option<FileReturnCode>,
    /// `str8`, optional.
    pub reply_text: Option<Text>,
    /// `exchange.name`, optional.
    pub exchange: Option<Text>,
    /// `str8`, optional.
    pub routing_key: Option<Text>,
}

impl Packed for FileReturn {
    const NAME: &'static str = "file.return";

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor.in_field("file.return").packing_flags(0x000f)?;
        Ok(Self {
            reply_code: if flags & 0x0001 != 0 {
                Some(
                    cursor
                        .in_field("file.return.reply-code")
                        .u16()
                        .map(FileReturnCode)?,
                )
            } else {
                None
            },
            reply_text: if flags & 0x0002 != 0 {
                Some(cursor.in_field("file.return.reply-text").str8()?)
            } else {
                None
            },
            exchange: if flags & 0x0004 != 0 {
                Some(cursor.in_field("file.return.exchange").str8()?)
            } else {
                None
            },
            routing_key: if flags & 0x0008 != 0 {
                Some(cursor.in_field("file.return.routing-key").str8()?)
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

/// Command `file.deliver`, code 9.11.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FileDeliver {
    /// `str8`, optional.
    pub consumer_tag: Option<Text>,
    /// `uint64`, optional.
    pub delivery_tag: Option<u64>,
    /// `bit`.
    pub redelivered: bool,
    /// `exchange.name`, optional.
    pub exchange: Option<Text>,
    /// `str8`, optional.
    pub routing_key: Option<Text>,
    /// `str8`, optional.
    pub identifier: Option<Text>,
}

impl Packed for FileDeliver {
    const NAME: &'static str = "file.deliver";

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor.in_field("file.deliver").packing_flags(0x003f)?;
        Ok(Self {
            consumer_tag: if flags & 0x0001 != 0 {
                Some(cursor.in_field("file.deliver.consumer-tag").str8()?)
            } else {
                None
            },
            delivery_tag: if flags & 0x0002 != 0 {
                Some(cursor.in_field("file.deliver.delivery-tag").u64()?)
            } else {
                None
            },
            redelivered: flags & 0x0004 != 0,
            exchange: if flags & 0x0008 != 0 {
                Some(cursor.in_field("file.deliver.exchange").str8()?)
            } else {
                None
            },
            routing_key: if flags & 0x0010 != 0 {
                Some(cursor.in_field("file.deliver.routing-key").str8()?)
            } else {
                None
            },
            identifier: if flags & 0x0020 != 0 {
                Some(cursor.in_field("file.deliver.identifier").str8()?)
            } else {
                None
            },
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = u16::from(self.consumer_tag.is_some())
            | u16::from(self.delivery_tag.is_some()) << 1
            | u16::from(self.redelivered) << 2
            | u16::from(self.exchange.is_some()) << 3
            | u16::from(self.routing_key.is_some()) << 4
            | u16::from(self.identifier.is_some()) << 5;
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
        if let Some(routing_key) = &self.routing_key {
            encode::str8(out, routing_key);
        }
        if let Some(identifier) = &self.identifier {
            encode::str8(out, identifier);
        }
    }
}

/// Command `file.ack`, code 9.12.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FileAck {
    /// `uint64`, optional.
    pub delivery_tag: Option<u64>,
    /// `bit`.
    pub multiple: bool,
}

impl Packed for FileAck {
    const NAME: &'static str = "file.ack";

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor.in_field("file.ack").packing_flags(0x0003)?;
        Ok(Self {
            delivery_tag: if flags & 0x0001 != 0 {
                Some(cursor.in_field("file.ack.delivery-tag").u64()?)
            } else {
                None
            },
            multiple: flags & 0x0002 != 0,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = u16::from(self.delivery_tag.is_some()) | u16::from(self.multiple) << 1;
        encode::packing_flags(out, flags);
        if let Some(delivery_tag) = self.delivery_tag {
            encode::u64(out, delivery_tag);
        }
    }
}

/// Command `file.reject`, code 9.13.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FileReject {
    /// `uint64`, optional.
    pub delivery_tag: Option<u64>,
    /// `bit`.
    pub requeue: bool,
}

impl Packed for FileReject {
    const NAME: &'static str = "file.reject";

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor.in_field("file.reject").packing_flags(0x0003)?;
        Ok(Self {
            delivery_tag: if flags & 0x0001 != 0 {
                Some(cursor.in_field("file.reject.delivery-tag").u64()?)
            } else {
                None
            },
            requeue: flags & 0x0002 != 0,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = u16::from(self.delivery_tag.is_some()) | u16::from(self.requeue) << 1;
        encode::packing_flags(out, flags);
        if let Some(delivery_tag) = self.delivery_tag {
            encode::u64(out, delivery_tag);
        }
    }
}
