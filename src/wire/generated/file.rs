//! Class `file` (code 9), spoken by the server (may), the client (may).

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
    /// `file.return-code`; values without a name are kept as they come.
    pub struct FileReturnCode(u16) {
        /// `content-too-large`.
        CONTENT_TOO_LARGE = 311, "content-too-large";
        /// `no-route`.
        NO_ROUTE = 312, "no-route";
        /// `no-consumers`.
        NO_CONSUMERS = 313, "no-consumers";
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
    const FIELDS: &'static [&'static str] = &[
        "file.file-properties.content-type",
        "file.file-properties.content-encoding",
        "file.file-properties.headers",
        "file.file-properties.priority",
        "file.file-properties.reply-to",
        "file.file-properties.message-id",
        "file.file-properties.filename",
        "file.file-properties.timestamp",
        "file.file-properties.cluster-id",
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
                | u16::from(self.reply_to.is_some()) << 4
                | u16::from(self.message_id.is_some()) << 5
                | u16::from(self.filename.is_some()) << 6
                | u16::from(self.timestamp.is_some()) << 7
                | u16::from(self.cluster_id.is_some()) << 8,
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

impl Selected for FileProperties {
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
            reply_to: fields.selected(4, wanted, Cursor::str8, |cursor| {
                cursor.walk_text(1, "str8")
            })?,
            message_id: fields.selected(5, wanted, Cursor::str8, |cursor| {
                cursor.walk_text(1, "str8")
            })?,
            filename: fields.selected(6, wanted, Cursor::str8, |cursor| {
                cursor.walk_text(1, "str8")
            })?,
            timestamp: fields.optional(7, Cursor::datetime)?,
            cluster_id: fields.selected(8, wanted, Cursor::str8, |cursor| {
                cursor.walk_text(1, "str8")
            })?,
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
        fields.walked(4, seen, |cursor| cursor.walk_text(1, "str8"))?;
        fields.walked(5, seen, |cursor| cursor.walk_text(1, "str8"))?;
        fields.walked(6, seen, |cursor| cursor.walk_text(1, "str8"))?;
        fields.walked(7, seen, |cursor| Cursor::datetime(cursor).map(drop))?;
        fields.walked(8, seen, |cursor| cursor.walk_text(1, "str8"))?;
        Ok(fields.flags())
    }
}

impl Struct for FileProperties {
    const CODE: u16 = 0x0901;
}

/// Command `file.qos`, code 9.1.
///
/// Handled by the server (must). Answered by `qos-ok`.
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
    const FIELDS: &'static [&'static str] = &[
        "file.qos.prefetch-size",
        "file.qos.prefetch-count",
        "file.qos.global",
    ];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            prefetch_size: fields.optional(0, Cursor::u32)?,
            prefetch_count: fields.optional(1, Cursor::u16)?,
            global: fields.bit(2),
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(
            out,
            2,
            u16::from(self.prefetch_size.is_some())
                | u16::from(self.prefetch_count.is_some()) << 1
                | u16::from(self.global) << 2,
        );
        if let Some(prefetch_size) = self.prefetch_size {
            encode::u32(out, prefetch_size);
        }
        if let Some(prefetch_count) = self.prefetch_count {
            encode::u16(out, prefetch_count);
        }
    }
}

/// Command `file.qos-ok`, code 9.2.
///
/// Handled by the client (must).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FileQosOk {}

impl Packed for FileQosOk {
    const NAME: &'static str = "file.qos-ok";
    const FIELDS: &'static [&'static str] = &[];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        Fields::of::<Self>(cursor, 2)?;
        Ok(Self {})
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(out, 2, 0x0000);
    }
}

/// Command `file.consume`, code 9.3.
///
/// Handled by the server (must). Answered by `consume-ok`.
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
    const FIELDS: &'static [&'static str] = &[
        "file.consume.queue",
        "file.consume.consumer-tag",
        "file.consume.no-local",
        "file.consume.no-ack",
        "file.consume.exclusive",
        "file.consume.nowait",
        "file.consume.arguments",
    ];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            queue: fields.optional(0, Cursor::str8)?,
            consumer_tag: fields.optional(1, Cursor::str8)?,
            no_local: fields.bit(2),
            no_ack: fields.bit(3),
            exclusive: fields.bit(4),
            nowait: fields.bit(5),
            arguments: fields.optional(6, Cursor::map)?,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(
            out,
            2,
            u16::from(self.queue.is_some())
                | u16::from(self.consumer_tag.is_some()) << 1
                | u16::from(self.no_local) << 2
                | u16::from(self.no_ack) << 3
                | u16::from(self.exclusive) << 4
                | u16::from(self.nowait) << 5
                | u16::from(self.arguments.is_some()) << 6,
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

/// Command `file.consume-ok`, code 9.4.
///
/// Handled by the client (must).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FileConsumeOk {
    /// `str8`, optional.
    pub consumer_tag: Option<Text>,
}

impl Packed for FileConsumeOk {
    const NAME: &'static str = "file.consume-ok";
    const FIELDS: &'static [&'static str] = &["file.consume-ok.consumer-tag"];

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

/// Command `file.cancel`, code 9.5.
///
/// Handled by the server (must).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FileCancel {
    /// `str8`, optional.
    pub consumer_tag: Option<Text>,
}

impl Packed for FileCancel {
    const NAME: &'static str = "file.cancel";
    const FIELDS: &'static [&'static str] = &["file.cancel.consumer-tag"];

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

/// Command `file.open`, code 9.6.
///
/// Handled by the server (must), the client (must). Answered by `open-ok`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FileOpen {
    /// `str8`, optional.
    pub identifier: Option<Text>,
    /// `uint64`, optional.
    pub content_size: Option<u64>,
}

impl Packed for FileOpen {
    const NAME: &'static str = "file.open";
    const FIELDS: &'static [&'static str] = &["file.open.identifier", "file.open.content-size"];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            identifier: fields.optional(0, Cursor::str8)?,
            content_size: fields.optional(1, Cursor::u64)?,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(
            out,
            2,
            u16::from(self.identifier.is_some()) | u16::from(self.content_size.is_some()) << 1,
        );
        if let Some(identifier) = &self.identifier {
            encode::str8(out, identifier);
        }
        if let Some(content_size) = self.content_size {
            encode::u64(out, content_size);
        }
    }
}

/// Command `file.open-ok`, code 9.7.
///
/// Handled by the server (must), the client (must). Answered by `stage`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FileOpenOk {
    /// `uint64`, optional.
    pub staged_size: Option<u64>,
}

impl Packed for FileOpenOk {
    const NAME: &'static str = "file.open-ok";
    const FIELDS: &'static [&'static str] = &["file.open-ok.staged-size"];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            staged_size: fields.optional(0, Cursor::u64)?,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(out, 2, u16::from(self.staged_size.is_some()));
        if let Some(staged_size) = self.staged_size {
            encode::u64(out, staged_size);
        }
    }
}

/// Command `file.stage`, code 9.8.
///
/// Handled by the server (must), the client (must).
/// A header must follow.
/// A body may follow.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FileStage {}

impl Packed for FileStage {
    const NAME: &'static str = "file.stage";
    const FIELDS: &'static [&'static str] = &[];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        Fields::of::<Self>(cursor, 2)?;
        Ok(Self {})
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(out, 2, 0x0000);
    }
}

/// Command `file.publish`, code 9.9.
///
/// Handled by the server (must).
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
    const FIELDS: &'static [&'static str] = &[
        "file.publish.exchange",
        "file.publish.routing-key",
        "file.publish.mandatory",
        "file.publish.immediate",
        "file.publish.identifier",
    ];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            exchange: fields.optional(0, Cursor::str8)?,
            routing_key: fields.optional(1, Cursor::str8)?,
            mandatory: fields.bit(2),
            immediate: fields.bit(3),
            identifier: fields.optional(4, Cursor::str8)?,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(
            out,
            2,
            u16::from(self.exchange.is_some())
                | u16::from(self.routing_key.is_some()) << 1
                | u16::from(self.mandatory) << 2
                | u16::from(self.immediate) << 3
                | u16::from(self.identifier.is_some()) << 4,
        );
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
///
/// Handled by the client (must).
/// A header must follow.
/// A body may follow.
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
    const FIELDS: &'static [&'static str] = &[
        "file.return.reply-code",
        "file.return.reply-text",
        "file.return.exchange",
        "file.return.routing-key",
    ];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            reply_code: fields.optional(0, FileReturnCode::decode)?,
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

/// Command `file.deliver`, code 9.11.
///
/// Handled by the client (must).
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
    const FIELDS: &'static [&'static str] = &[
        "file.deliver.consumer-tag",
        "file.deliver.delivery-tag",
        "file.deliver.redelivered",
        "file.deliver.exchange",
        "file.deliver.routing-key",
        "file.deliver.identifier",
    ];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            consumer_tag: fields.optional(0, Cursor::str8)?,
            delivery_tag: fields.optional(1, Cursor::u64)?,
            redelivered: fields.bit(2),
            exchange: fields.optional(3, Cursor::str8)?,
            routing_key: fields.optional(4, Cursor::str8)?,
            identifier: fields.optional(5, Cursor::str8)?,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(
            out,
            2,
            u16::from(self.consumer_tag.is_some())
                | u16::from(self.delivery_tag.is_some()) << 1
                | u16::from(self.redelivered) << 2
                | u16::from(self.exchange.is_some()) << 3
                | u16::from(self.routing_key.is_some()) << 4
                | u16::from(self.identifier.is_some()) << 5,
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
        if let Some(routing_key) = &self.routing_key {
            encode::str8(out, routing_key);
        }
        if let Some(identifier) = &self.identifier {
            encode::str8(out, identifier);
        }
    }
}

/// Command `file.ack`, code 9.12.
///
/// Handled by the server (must).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FileAck {
    /// `uint64`, optional.
    pub delivery_tag: Option<u64>,
    /// `bit`.
    pub multiple: bool,
}

impl Packed for FileAck {
    const NAME: &'static str = "file.ack";
    const FIELDS: &'static [&'static str] = &["file.ack.delivery-tag", "file.ack.multiple"];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            delivery_tag: fields.optional(0, Cursor::u64)?,
            multiple: fields.bit(1),
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(
            out,
            2,
            u16::from(self.delivery_tag.is_some()) | u16::from(self.multiple) << 1,
        );
        if let Some(delivery_tag) = self.delivery_tag {
            encode::u64(out, delivery_tag);
        }
    }
}

/// Command `file.reject`, code 9.13.
///
/// Handled by the server (must).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FileReject {
    /// `uint64`, optional.
    pub delivery_tag: Option<u64>,
    /// `bit`.
    pub requeue: bool,
}

impl Packed for FileReject {
    const NAME: &'static str = "file.reject";
    const FIELDS: &'static [&'static str] = &["file.reject.delivery-tag", "file.reject.requeue"];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            delivery_tag: fields.optional(0, Cursor::u64)?,
            requeue: fields.bit(1),
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(
            out,
            2,
            u16::from(self.delivery_tag.is_some()) | u16::from(self.requeue) << 1,
        );
        if let Some(delivery_tag) = self.delivery_tag {
            encode::u64(out, delivery_tag);
        }
    }
}
