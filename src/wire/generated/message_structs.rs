//! Structs and numbers of class `message` (code 4).

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
use crate::wire::sequence_set::SequenceSet;

named_number! {
    /// `message.accept-mode`; values without a name are kept as they come.
    pub struct AcceptMode(u8) {
        /// `explicit`.
        EXPLICIT = 0, "explicit";
        /// `none`.
        NONE = 1, "none";
    }
}

named_number! {
    /// `message.acquire-mode`; values without a name are kept as they come.
    pub struct AcquireMode(u8) {
        /// `pre-acquired`.
        PRE_ACQUIRED = 0, "pre-acquired";
        /// `not-acquired`.
        NOT_ACQUIRED = 1, "not-acquired";
    }
}

named_number! {
    /// `message.reject-code`; values without a name are kept as they come.
    pub struct RejectCode(u16) {
        /// `unspecified`.
        UNSPECIFIED = 0, "unspecified";
        /// `unroutable`.
        UNROUTABLE = 1, "unroutable";
        /// `immediate`.
        IMMEDIATE = 2, "immediate";
    }
}

named_number! {
    /// `message.delivery-mode`; values without a name are kept as they come.
    pub struct DeliveryMode(u8) {
        /// `non-persistent`.
        NON_PERSISTENT = 1, "non-persistent";
        /// `persistent`.
        PERSISTENT = 2, "persistent";
    }
}

named_number! {
    /// `message.delivery-priority`; values without a name are kept as they come.
    pub struct DeliveryPriority(u8) {
        /// `lowest`.
        LOWEST = 0, "lowest";
        /// `lower`.
        LOWER = 1, "lower";
        /// `low`.
        LOW = 2, "low";
        /// `below-average`.
        BELOW_AVERAGE = 3, "below-average";
        /// `medium`.
        MEDIUM = 4, "medium";
        /// `above-average`.
        ABOVE_AVERAGE = 5, "above-average";
        /// `high`.
        HIGH = 6, "high";
        /// `higher`.
        HIGHER = 7, "higher";
        /// `very-high`.
        VERY_HIGH = 8, "very-high";
        /// `highest`.
        HIGHEST = 9, "highest";
    }
}

named_number! {
    /// `message.flow-mode`; values without a name are kept as they come.
    pub struct FlowMode(u8) {
        /// `credit`.
        CREDIT = 0, "credit";
        /// `window`.
        WINDOW = 1, "window";
    }
}

named_number! {
    /// `message.credit-unit`; values without a name are kept as they come.
    pub struct CreditUnit(u8) {
        /// `message`.
        MESSAGE = 0, "message";
        /// `byte`.
        BYTE = 1, "byte";
    }
}

/// `message.delivery-properties`, a struct of code 0x0401.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeliveryProperties {
    /// `bit`.
    pub discard_unroutable: bool,
    /// `bit`.
    pub immediate: bool,
    /// `bit`.
    pub redelivered: bool,
    /// `delivery-priority`, optional.
    pub priority: Option<DeliveryPriority>,
    /// `delivery-mode`, optional.
    pub delivery_mode: Option<DeliveryMode>,
    /// `uint64`, optional.
    pub ttl: Option<u64>,
    /// `datetime`, optional.
    pub timestamp: Option<i64>,
    /// `datetime`, optional.
    pub expiration: Option<i64>,
    /// `exchange.name`, optional.
    pub exchange: Option<Text>,
    /// `str8`, optional.
    pub routing_key: Option<Text>,
    /// `resume-id`, optional.
    pub resume_id: Option<Text>,
    /// `uint64`, optional.
    pub resume_ttl: Option<u64>,
}

impl Packed for DeliveryProperties {
    const NAME: &'static str = "message.delivery-properties";
    const FIELDS: &'static [&'static str] = &[
        "message.delivery-properties.discard-unroutable",
        "message.delivery-properties.immediate",
        "message.delivery-properties.redelivered",
        "message.delivery-properties.priority",
        "message.delivery-properties.delivery-mode",
        "message.delivery-properties.ttl",
        "message.delivery-properties.timestamp",
        "message.delivery-properties.expiration",
        "message.delivery-properties.exchange",
        "message.delivery-properties.routing-key",
        "message.delivery-properties.resume-id",
        "message.delivery-properties.resume-ttl",
    ];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        Self::decode_selected(cursor, u16::MAX)
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(
            out,
            2,
            u16::from(self.discard_unroutable)
                | u16::from(self.immediate) << 1
                | u16::from(self.redelivered) << 2
                | u16::from(self.priority.is_some()) << 3
                | u16::from(self.delivery_mode.is_some()) << 4
                | u16::from(self.ttl.is_some()) << 5
                | u16::from(self.timestamp.is_some()) << 6
                | u16::from(self.expiration.is_some()) << 7
                | u16::from(self.exchange.is_some()) << 8
                | u16::from(self.routing_key.is_some()) << 9
                | u16::from(self.resume_id.is_some()) << 10
                | u16::from(self.resume_ttl.is_some()) << 11,
        );
        if let Some(priority) = self.priority {
            encode::u8(out, priority.0);
        }
        if let Some(delivery_mode) = self.delivery_mode {
            encode::u8(out, delivery_mode.0);
        }
        if let Some(ttl) = self.ttl {
            encode::u64(out, ttl);
        }
        if let Some(timestamp) = self.timestamp {
            encode::i64(out, timestamp);
        }
        if let Some(expiration) = self.expiration {
            encode::i64(out, expiration);
        }
        if let Some(exchange) = &self.exchange {
            encode::str8(out, exchange);
        }
        if let Some(routing_key) = &self.routing_key {
            encode::str8(out, routing_key);
        }
        if let Some(resume_id) = &self.resume_id {
            encode::str16(out, resume_id);
        }
        if let Some(resume_ttl) = self.resume_ttl {
            encode::u64(out, resume_ttl);
        }
    }
}

impl Selected for DeliveryProperties {
    fn decode_selected(cursor: &mut Cursor<'_>, wanted: u16) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            discard_unroutable: fields.bit(0),
            immediate: fields.bit(1),
            redelivered: fields.bit(2),
            priority: fields.optional(3, DeliveryPriority::decode)?,
            delivery_mode: fields.optional(4, DeliveryMode::decode)?,
            ttl: fields.optional(5, Cursor::u64)?,
            timestamp: fields.optional(6, Cursor::datetime)?,
            expiration: fields.optional(7, Cursor::datetime)?,
            exchange: fields.selected(8, wanted, Cursor::str8, |cursor| {
                cursor.walk_text(1, "str8")
            })?,
            routing_key: fields.selected(9, wanted, Cursor::str8, |cursor| {
                cursor.walk_text(1, "str8")
            })?,
            resume_id: fields.selected(10, wanted, Cursor::str16, |cursor| {
                cursor.walk_text(2, "str16")
            })?,
            resume_ttl: fields.optional(11, Cursor::u64)?,
        })
    }

    #[inline]
    fn walk(
        cursor: &mut Cursor<'_>,
        seen: &mut impl FnMut(usize, Range<usize>),
    ) -> Result<u16, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        fields.walked(3, seen, |cursor| DeliveryPriority::decode(cursor).map(drop))?;
        fields.walked(4, seen, |cursor| DeliveryMode::decode(cursor).map(drop))?;
        fields.walked(5, seen, |cursor| Cursor::u64(cursor).map(drop))?;
        fields.walked(6, seen, |cursor| Cursor::datetime(cursor).map(drop))?;
        fields.walked(7, seen, |cursor| Cursor::datetime(cursor).map(drop))?;
        fields.walked(8, seen, |cursor| cursor.walk_text(1, "str8"))?;
        fields.walked(9, seen, |cursor| cursor.walk_text(1, "str8"))?;
        fields.walked(10, seen, |cursor| cursor.walk_text(2, "str16"))?;
        fields.walked(11, seen, |cursor| Cursor::u64(cursor).map(drop))?;
        Ok(fields.flags())
    }
}

impl Struct for DeliveryProperties {
    const CODE: u16 = 0x0401;
}

/// `message.fragment-properties`, a struct of code 0x0402.
#[derive(Clone, Debug, PartialEq)]
pub struct FragmentProperties {
    /// `bit`, set unless cleared.
    pub first: bool,
    /// `bit`, set unless cleared.
    pub last: bool,
    /// `uint64`, optional.
    pub fragment_size: Option<u64>,
}

impl Default for FragmentProperties {
    fn default() -> Self {
        Self {
            first: true,
            last: true,
            fragment_size: Default::default(),
        }
    }
}

impl Packed for FragmentProperties {
    const NAME: &'static str = "message.fragment-properties";
    const FIELDS: &'static [&'static str] = &[
        "message.fragment-properties.first",
        "message.fragment-properties.last",
        "message.fragment-properties.fragment-size",
    ];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        Self::decode_selected(cursor, u16::MAX)
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(
            out,
            2,
            u16::from(self.first)
                | u16::from(self.last) << 1
                | u16::from(self.fragment_size.is_some()) << 2,
        );
        if let Some(fragment_size) = self.fragment_size {
            encode::u64(out, fragment_size);
        }
    }
}

impl Selected for FragmentProperties {
    fn decode_selected(cursor: &mut Cursor<'_>, _wanted: u16) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            first: fields.bit(0),
            last: fields.bit(1),
            fragment_size: fields.optional(2, Cursor::u64)?,
        })
    }

    #[inline]
    fn walk(
        cursor: &mut Cursor<'_>,
        seen: &mut impl FnMut(usize, Range<usize>),
    ) -> Result<u16, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        fields.walked(2, seen, |cursor| Cursor::u64(cursor).map(drop))?;
        Ok(fields.flags())
    }
}

impl Struct for FragmentProperties {
    const CODE: u16 = 0x0402;
}

/// `message.reply-to`, a struct without a code.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReplyTo {
    /// `exchange.name`, optional.
    pub exchange: Option<Text>,
    /// `str8`, optional.
    pub routing_key: Option<Text>,
}

impl Packed for ReplyTo {
    const NAME: &'static str = "message.reply-to";
    const FIELDS: &'static [&'static str] =
        &["message.reply-to.exchange", "message.reply-to.routing-key"];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        Self::decode_selected(cursor, u16::MAX)
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(
            out,
            2,
            u16::from(self.exchange.is_some()) | u16::from(self.routing_key.is_some()) << 1,
        );
        if let Some(exchange) = &self.exchange {
            encode::str8(out, exchange);
        }
        if let Some(routing_key) = &self.routing_key {
            encode::str8(out, routing_key);
        }
    }
}

impl Selected for ReplyTo {
    fn decode_selected(cursor: &mut Cursor<'_>, wanted: u16) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            exchange: fields.selected(0, wanted, Cursor::str8, |cursor| {
                cursor.walk_text(1, "str8")
            })?,
            routing_key: fields.selected(1, wanted, Cursor::str8, |cursor| {
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
        Ok(fields.flags())
    }
}

/// `message.message-properties`, a struct of code 0x0403.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MessageProperties {
    /// `uint64`, optional.
    pub content_length: Option<u64>,
    /// `uuid`, optional.
    pub message_id: Option<[u8; 16]>,
    /// `vbin16`, optional.
    pub correlation_id: Option<Vec<u8>>,
    /// `reply-to`, optional.
    pub reply_to: Option<ReplyTo>,
    /// `str8`, optional.
    pub content_type: Option<Text>,
    /// `str8`, optional.
    pub content_encoding: Option<Text>,
    /// `vbin16`, optional.
    pub user_id: Option<Vec<u8>>,
    /// `vbin16`, optional.
    pub app_id: Option<Vec<u8>>,
    /// `map`, optional.
    pub application_headers: Option<Map>,
}

impl Packed for MessageProperties {
    const NAME: &'static str = "message.message-properties";
    const FIELDS: &'static [&'static str] = &[
        "message.message-properties.content-length",
        "message.message-properties.message-id",
        "message.message-properties.correlation-id",
        "message.message-properties.reply-to",
        "message.message-properties.content-type",
        "message.message-properties.content-encoding",
        "message.message-properties.user-id",
        "message.message-properties.app-id",
        "message.message-properties.application-headers",
    ];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        Self::decode_selected(cursor, u16::MAX)
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(
            out,
            2,
            u16::from(self.content_length.is_some())
                | u16::from(self.message_id.is_some()) << 1
                | u16::from(self.correlation_id.is_some()) << 2
                | u16::from(self.reply_to.is_some()) << 3
                | u16::from(self.content_type.is_some()) << 4
                | u16::from(self.content_encoding.is_some()) << 5
                | u16::from(self.user_id.is_some()) << 6
                | u16::from(self.app_id.is_some()) << 7
                | u16::from(self.application_headers.is_some()) << 8,
        );
        if let Some(content_length) = self.content_length {
            encode::u64(out, content_length);
        }
        if let Some(message_id) = self.message_id {
            out.extend_from_slice(&message_id);
        }
        if let Some(correlation_id) = &self.correlation_id {
            encode::vbin16(out, correlation_id);
        }
        if let Some(reply_to) = &self.reply_to {
            encode::sized(out, 2, reply_to);
        }
        if let Some(content_type) = &self.content_type {
            encode::str8(out, content_type);
        }
        if let Some(content_encoding) = &self.content_encoding {
            encode::str8(out, content_encoding);
        }
        if let Some(user_id) = &self.user_id {
            encode::vbin16(out, user_id);
        }
        if let Some(app_id) = &self.app_id {
            encode::vbin16(out, app_id);
        }
        if let Some(application_headers) = &self.application_headers {
            application_headers.encode(out);
        }
    }
}

impl Selected for MessageProperties {
    fn decode_selected(cursor: &mut Cursor<'_>, wanted: u16) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            content_length: fields.optional(0, Cursor::u64)?,
            message_id: fields.optional(1, Cursor::uuid)?,
            correlation_id: fields.selected(2, wanted, Cursor::vbin16, |cursor| {
                cursor.walk_binary(2, "vbin16")
            })?,
            reply_to: fields.selected(
                3,
                wanted,
                |cursor| cursor.sized(2),
                |cursor| cursor.walk_sized::<ReplyTo>(2),
            )?,
            content_type: fields.selected(4, wanted, Cursor::str8, |cursor| {
                cursor.walk_text(1, "str8")
            })?,
            content_encoding: fields.selected(5, wanted, Cursor::str8, |cursor| {
                cursor.walk_text(1, "str8")
            })?,
            user_id: fields.selected(6, wanted, Cursor::vbin16, |cursor| {
                cursor.walk_binary(2, "vbin16")
            })?,
            app_id: fields.selected(7, wanted, Cursor::vbin16, |cursor| {
                cursor.walk_binary(2, "vbin16")
            })?,
            application_headers: fields.selected(8, wanted, Cursor::map, Cursor::walk_map)?,
        })
    }

    #[inline]
    fn walk(
        cursor: &mut Cursor<'_>,
        seen: &mut impl FnMut(usize, Range<usize>),
    ) -> Result<u16, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        fields.walked(0, seen, |cursor| Cursor::u64(cursor).map(drop))?;
        fields.walked(1, seen, |cursor| Cursor::uuid(cursor).map(drop))?;
        fields.walked(2, seen, |cursor| cursor.walk_binary(2, "vbin16"))?;
        fields.walked(3, seen, |cursor| cursor.walk_sized::<ReplyTo>(2))?;
        fields.walked(4, seen, |cursor| cursor.walk_text(1, "str8"))?;
        fields.walked(5, seen, |cursor| cursor.walk_text(1, "str8"))?;
        fields.walked(6, seen, |cursor| cursor.walk_binary(2, "vbin16"))?;
        fields.walked(7, seen, |cursor| cursor.walk_binary(2, "vbin16"))?;
        fields.walked(8, seen, Cursor::walk_map)?;
        Ok(fields.flags())
    }
}

impl Struct for MessageProperties {
    const CODE: u16 = 0x0403;
}

/// `message.acquired`, a struct of code 0x0404.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MessageAcquired {
    /// `session.commands`, required.
    pub transfers: SequenceSet,
}

impl Packed for MessageAcquired {
    const NAME: &'static str = "message.acquired";
    const FIELDS: &'static [&'static str] = &["message.acquired.transfers"];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            transfers: fields.required(0, Cursor::sequence_set)?,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(out, 2, 0x0001);
        encode::sequence_set(out, &self.transfers);
    }
}

impl Struct for MessageAcquired {
    const CODE: u16 = 0x0404;
}

/// `message.message-resume-result`, a struct of code 0x0405.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MessageResumeResult {
    /// `uint64`, optional.
    pub offset: Option<u64>,
}

impl Packed for MessageResumeResult {
    const NAME: &'static str = "message.message-resume-result";
    const FIELDS: &'static [&'static str] = &["message.message-resume-result.offset"];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            offset: fields.optional(0, Cursor::u64)?,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(out, 2, u16::from(self.offset.is_some()));
        if let Some(offset) = self.offset {
            encode::u64(out, offset);
        }
    }
}

impl Struct for MessageResumeResult {
    const CODE: u16 = 0x0405;
}
