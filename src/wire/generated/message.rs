//! Class `message` (code 4).

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
use crate::wire::sequence_set::SequenceSet;

/// `message.accept-mode`; values without a name are kept as they come.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AcceptMode(pub u8);

impl AcceptMode {
    /// `explicit`.
    pub const EXPLICIT: Self = Self(0);
    /// `none`.
    pub const NONE: Self = Self(1);

    /// The name of the value, if it has one.
    pub fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::EXPLICIT => "explicit",
            Self::NONE => "none",
            _ => return None,
        })
    }
}

impl fmt::Display for AcceptMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "{}", self.0),
        }
    }
}

impl fmt::Debug for AcceptMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AcceptMode({}", self.0)?;
        if let Some(name) = self.name() {
            write!(f, " {name}")?;
        }
        f.write_str(")")
    }
}

/// `message.acquire-mode`; values without a name are kept as they come.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AcquireMode(pub u8);

impl AcquireMode {
    /// `pre-acquired`.
    pub const PRE_ACQUIRED: Self = Self(0);
    /// `not-acquired`.
    pub const NOT_ACQUIRED: Self = Self(1);

    /// The name of the value, if it has one.
    pub fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::PRE_ACQUIRED => "pre-acquired",
            Self::NOT_ACQUIRED => "not-acquired",
            _ => return None,
        })
    }
}

impl fmt::Display for AcquireMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "{}", self.0),
        }
    }
}

impl fmt::Debug for AcquireMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AcquireMode({}", self.0)?;
        if let Some(name) = self.name() {
            write!(f, " {name}")?;
        }
        f.write_str(")")
    }
}

/// `message.reject-code`; values without a name are kept as they come.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RejectCode(pub u16);

impl RejectCode {
    /// `unspecified`.
    pub const UNSPECIFIED: Self = Self(0);
    /// `unroutable`.
    pub const UNROUTABLE: Self = Self(1);
    /// `immediate`.
    pub const IMMEDIATE: Self = Self(2);

    /// The name of the value, if it has one.
    pub fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::UNSPECIFIED => "unspecified",
            Self::UNROUTABLE => "unroutable",
            Self::IMMEDIATE => "immediate",
            _ => return None,
        })
    }
}

impl fmt::Display for RejectCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "{}", self.0),
        }
    }
}

impl fmt::Debug for RejectCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RejectCode({}", self.0)?;
        if let Some(name) = self.name() {
            write!(f, " {name}")?;
        }
        f.write_str(")")
    }
}

/// `message.delivery-mode`; values without a name are kept as they come.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeliveryMode(pub u8);

impl DeliveryMode {
    /// `non-persistent`.
    pub const NON_PERSISTENT: Self = Self(1);
    /// `persistent`.
    pub const PERSISTENT: Self = Self(2);

    /// The name of the value, if it has one.
    pub fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::NON_PERSISTENT => "non-persistent",
            Self::PERSISTENT => "persistent",
            _ => return None,
        })
    }
}

impl fmt::Display for DeliveryMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "{}", self.0),
        }
    }
}

impl fmt::Debug for DeliveryMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeliveryMode({}", self.0)?;
        if let Some(name) = self.name() {
            write!(f, " {name}")?;
        }
        f.write_str(")")
    }
}

/// `message.delivery-priority`; values without a name are kept as they come.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeliveryPriority(pub u8);

impl DeliveryPriority {
    /// `lowest`.
    pub const LOWEST: Self = Self(0);
    /// `lower`.
    pub const LOWER: Self = Self(1);
    /// `low`.
    pub const LOW: Self = Self(2);
    /// `below-average`.
    pub const BELOW_AVERAGE: Self = Self(3);
    /// `medium`.
    pub const MEDIUM: Self = Self(4);
    /// `above-average`.
    pub const ABOVE_AVERAGE: Self = Self(5);
    /// `high`.
    pub const HIGH: Self = Self(6);
    /// `higher`.
    pub const HIGHER: Self = Self(7);
    /// `very-high`.
    pub const VERY_HIGH: Self = Self(8);
    /// `highest`.
    pub const HIGHEST: Self = Self(9);

    /// The name of the value, if it has one.
    pub fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::LOWEST => "lowest",
            Self::LOWER => "lower",
            Self::LOW => "low",
            Self::BELOW_AVERAGE => "below-average",
            Self::MEDIUM => "medium",
            Self::ABOVE_AVERAGE => "above-average",
            Self::HIGH => "high",
            Self::HIGHER => "higher",
            Self::VERY_HIGH => "very-high",
            Self::HIGHEST => "highest",
            _ => return None,
        })
    }
}

impl fmt::Display for DeliveryPriority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "{}", self.0),
        }
    }
}

impl fmt::Debug for DeliveryPriority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeliveryPriority({}", self.0)?;
        if let Some(name) = self.name() {
            write!(f, " {name}")?;
        }
        f.write_str(")")
    }
}

/// `message.flow-mode`; values without a name are kept as they come.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowMode(pub u8);

impl FlowMode {
    /// `credit`.
    pub const CREDIT: Self = Self(0);
    /// `window`.
    pub const WINDOW: Self = Self(1);

    /// The name of the value, if it has one.
    pub fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::CREDIT => "credit",
            Self::WINDOW => "window",
            _ => return None,
        })
    }
}

impl fmt::Display for FlowMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "{}", self.0),
        }
    }
}

impl fmt::Debug for FlowMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FlowMode({}", self.0)?;
        if let Some(name) = self.name() {
            write!(f, " {name}")?;
        }
        f.write_str(")")
    }
}

/// `message.credit-unit`; values without a name are kept as they come.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CreditUnit(pub u8);

impl CreditUnit {
    /// `message`.
    pub const MESSAGE: Self = Self(0);
    /// `byte`.
    pub const BYTE: Self = Self(1);

    /// The name of the value, if it has one.
    pub fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::MESSAGE => "message",
            Self::BYTE => "byte",
            _ => return None,
        })
    }
}

impl fmt::Display for CreditUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "{}", self.0),
        }
    }
}

impl fmt::Debug for CreditUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CreditUnit({}", self.0)?;
        if let Some(name) = self.name() {
            write!(f, " {name}")?;
        }
        f.write_str(")")
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
    /// `delivery-priority`, required.
    pub priority: DeliveryPriority,
    /// `delivery-mode`, required.
    pub delivery_mode: DeliveryMode,
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

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        Self::decode_selected(cursor, u16::MAX)
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = 0x0018
            | u16::from(self.discard_unroutable)
            | u16::from(self.immediate) << 1
            | u16::from(self.redelivered) << 2
            | u16::from(self.ttl.is_some()) << 5
            | u16::from(self.timestamp.is_some()) << 6
            | u16::from(self.expiration.is_some()) << 7
            | u16::from(self.exchange.is_some()) << 8
            | u16::from(self.routing_key.is_some()) << 9
            | u16::from(self.resume_id.is_some()) << 10
            | u16::from(self.resume_ttl.is_some()) << 11;
        encode::packing_flags(out, flags);
        encode::u8(out, self.priority.0);
        encode::u8(out, self.delivery_mode.0);
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

impl HeaderEntry for DeliveryProperties {
    fn decode_selected(cursor: &mut Cursor<'_>, wanted: u16) -> Result<Self, DecodeError> {
        let flags = cursor
            .in_field("message.delivery-properties")
            .packing_flags(0x0fff)?;
        Ok(Self {
            discard_unroutable: flags & 0x0001 != 0,
            immediate: flags & 0x0002 != 0,
            redelivered: flags & 0x0004 != 0,
            priority: if flags & wanted & 0x0008 != 0 {
                cursor
                    .in_field("message.delivery-properties.priority")
                    .u8()
                    .map(DeliveryPriority)?
            } else {
                if flags & 0x0008 != 0 {
                    cursor
                        .in_field("message.delivery-properties.priority")
                        .bytes(1)?;
                }
                Default::default()
            },
            delivery_mode: if flags & wanted & 0x0010 != 0 {
                cursor
                    .in_field("message.delivery-properties.delivery-mode")
                    .u8()
                    .map(DeliveryMode)?
            } else {
                if flags & 0x0010 != 0 {
                    cursor
                        .in_field("message.delivery-properties.delivery-mode")
                        .bytes(1)?;
                }
                Default::default()
            },
            ttl: if flags & wanted & 0x0020 != 0 {
                Some(cursor.in_field("message.delivery-properties.ttl").u64()?)
            } else {
                if flags & 0x0020 != 0 {
                    cursor
                        .in_field("message.delivery-properties.ttl")
                        .bytes(8)?;
                }
                None
            },
            timestamp: if flags & wanted & 0x0040 != 0 {
                Some(
                    cursor
                        .in_field("message.delivery-properties.timestamp")
                        .datetime()?,
                )
            } else {
                if flags & 0x0040 != 0 {
                    cursor
                        .in_field("message.delivery-properties.timestamp")
                        .bytes(8)?;
                }
                None
            },
            expiration: if flags & wanted & 0x0080 != 0 {
                Some(
                    cursor
                        .in_field("message.delivery-properties.expiration")
                        .datetime()?,
                )
            } else {
                if flags & 0x0080 != 0 {
                    cursor
                        .in_field("message.delivery-properties.expiration")
                        .bytes(8)?;
                }
                None
            },
            exchange: if flags & wanted & 0x0100 != 0 {
                Some(
                    cursor
                        .in_field("message.delivery-properties.exchange")
                        .str8()?,
                )
            } else {
                if flags & 0x0100 != 0 {
                    cursor
                        .in_field("message.delivery-properties.exchange")
                        .walk_text(1, "str8")?;
                }
                None
            },
            routing_key: if flags & wanted & 0x0200 != 0 {
                Some(
                    cursor
                        .in_field("message.delivery-properties.routing-key")
                        .str8()?,
                )
            } else {
                if flags & 0x0200 != 0 {
                    cursor
                        .in_field("message.delivery-properties.routing-key")
                        .walk_text(1, "str8")?;
                }
                None
            },
            resume_id: if flags & wanted & 0x0400 != 0 {
                Some(
                    cursor
                        .in_field("message.delivery-properties.resume-id")
                        .str16()?,
                )
            } else {
                if flags & 0x0400 != 0 {
                    cursor
                        .in_field("message.delivery-properties.resume-id")
                        .walk_text(2, "str16")?;
                }
                None
            },
            resume_ttl: if flags & wanted & 0x0800 != 0 {
                Some(
                    cursor
                        .in_field("message.delivery-properties.resume-ttl")
                        .u64()?,
                )
            } else {
                if flags & 0x0800 != 0 {
                    cursor
                        .in_field("message.delivery-properties.resume-ttl")
                        .bytes(8)?;
                }
                None
            },
        })
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

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        Self::decode_selected(cursor, u16::MAX)
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = u16::from(self.first)
            | u16::from(self.last) << 1
            | u16::from(self.fragment_size.is_some()) << 2;
        encode::packing_flags(out, flags);
        if let Some(fragment_size) = self.fragment_size {
            encode::u64(out, fragment_size);
        }
    }
}

impl HeaderEntry for FragmentProperties {
    fn decode_selected(cursor: &mut Cursor<'_>, wanted: u16) -> Result<Self, DecodeError> {
        let flags = cursor
            .in_field("message.fragment-properties")
            .packing_flags(0x0007)?;
        Ok(Self {
            first: flags & 0x0001 != 0,
            last: flags & 0x0002 != 0,
            fragment_size: if flags & wanted & 0x0004 != 0 {
                Some(
                    cursor
                        .in_field("message.fragment-properties.fragment-size")
                        .u64()?,
                )
            } else {
                if flags & 0x0004 != 0 {
                    cursor
                        .in_field("message.fragment-properties.fragment-size")
                        .bytes(8)?;
                }
                None
            },
        })
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

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor.in_field("message.reply-to").packing_flags(0x0003)?;
        Ok(Self {
            exchange: if flags & 0x0001 != 0 {
                Some(cursor.in_field("message.reply-to.exchange").str8()?)
            } else {
                None
            },
            routing_key: if flags & 0x0002 != 0 {
                Some(cursor.in_field("message.reply-to.routing-key").str8()?)
            } else {
                None
            },
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 =
            u16::from(self.exchange.is_some()) | u16::from(self.routing_key.is_some()) << 1;
        encode::packing_flags(out, flags);
        if let Some(exchange) = &self.exchange {
            encode::str8(out, exchange);
        }
        if let Some(routing_key) = &self.routing_key {
            encode::str8(out, routing_key);
        }
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

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        Self::decode_selected(cursor, u16::MAX)
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = u16::from(self.content_length.is_some())
            | u16::from(self.message_id.is_some()) << 1
            | u16::from(self.correlation_id.is_some()) << 2
            | u16::from(self.reply_to.is_some()) << 3
            | u16::from(self.content_type.is_some()) << 4
            | u16::from(self.content_encoding.is_some()) << 5
            | u16::from(self.user_id.is_some()) << 6
            | u16::from(self.app_id.is_some()) << 7
            | u16::from(self.application_headers.is_some()) << 8;
        encode::packing_flags(out, flags);
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

impl HeaderEntry for MessageProperties {
    fn decode_selected(cursor: &mut Cursor<'_>, wanted: u16) -> Result<Self, DecodeError> {
        let flags = cursor
            .in_field("message.message-properties")
            .packing_flags(0x01ff)?;
        Ok(Self {
            content_length: if flags & wanted & 0x0001 != 0 {
                Some(
                    cursor
                        .in_field("message.message-properties.content-length")
                        .u64()?,
                )
            } else {
                if flags & 0x0001 != 0 {
                    cursor
                        .in_field("message.message-properties.content-length")
                        .bytes(8)?;
                }
                None
            },
            message_id: if flags & wanted & 0x0002 != 0 {
                Some(
                    cursor
                        .in_field("message.message-properties.message-id")
                        .uuid()?,
                )
            } else {
                if flags & 0x0002 != 0 {
                    cursor
                        .in_field("message.message-properties.message-id")
                        .bytes(16)?;
                }
                None
            },
            correlation_id: if flags & wanted & 0x0004 != 0 {
                Some(
                    cursor
                        .in_field("message.message-properties.correlation-id")
                        .vbin16()?,
                )
            } else {
                if flags & 0x0004 != 0 {
                    cursor
                        .in_field("message.message-properties.correlation-id")
                        .walk_binary(2, "vbin16")?;
                }
                None
            },
            reply_to: if flags & wanted & 0x0008 != 0 {
                Some(
                    cursor
                        .in_field("message.message-properties.reply-to")
                        .sized::<ReplyTo>(2)?,
                )
            } else {
                if flags & 0x0008 != 0 {
                    cursor
                        .in_field("message.message-properties.reply-to")
                        .sized::<ReplyTo>(2)?;
                }
                None
            },
            content_type: if flags & wanted & 0x0010 != 0 {
                Some(
                    cursor
                        .in_field("message.message-properties.content-type")
                        .str8()?,
                )
            } else {
                if flags & 0x0010 != 0 {
                    cursor
                        .in_field("message.message-properties.content-type")
                        .walk_text(1, "str8")?;
                }
                None
            },
            content_encoding: if flags & wanted & 0x0020 != 0 {
                Some(
                    cursor
                        .in_field("message.message-properties.content-encoding")
                        .str8()?,
                )
            } else {
                if flags & 0x0020 != 0 {
                    cursor
                        .in_field("message.message-properties.content-encoding")
                        .walk_text(1, "str8")?;
                }
                None
            },
            user_id: if flags & wanted & 0x0040 != 0 {
                Some(
                    cursor
                        .in_field("message.message-properties.user-id")
                        .vbin16()?,
                )
            } else {
                if flags & 0x0040 != 0 {
                    cursor
                        .in_field("message.message-properties.user-id")
                        .walk_binary(2, "vbin16")?;
                }
                None
            },
            app_id: if flags & wanted & 0x0080 != 0 {
                Some(
                    cursor
                        .in_field("message.message-properties.app-id")
                        .vbin16()?,
                )
            } else {
                if flags & 0x0080 != 0 {
                    cursor
                        .in_field("message.message-properties.app-id")
                        .walk_binary(2, "vbin16")?;
                }
                None
            },
            application_headers: if flags & wanted & 0x0100 != 0 {
                Some(
                    cursor
                        .in_field("message.message-properties.application-headers")
                        .map()?,
                )
            } else {
                if flags & 0x0100 != 0 {
                    cursor
                        .in_field("message.message-properties.application-headers")
                        .walk_map()?;
                }
                None
            },
        })
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

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor.in_field("message.acquired").packing_flags(0x0001)?;
        Ok(Self {
            transfers: if flags & 0x0001 != 0 {
                cursor
                    .in_field("message.acquired.transfers")
                    .sequence_set()?
            } else {
                Default::default()
            },
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = 0x0001;
        encode::packing_flags(out, flags);
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

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor
            .in_field("message.message-resume-result")
            .packing_flags(0x0001)?;
        Ok(Self {
            offset: if flags & 0x0001 != 0 {
                Some(
                    cursor
                        .in_field("message.message-resume-result.offset")
                        .u64()?,
                )
            } else {
                None
            },
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = u16::from(self.offset.is_some());
        encode::packing_flags(out, flags);
        if let Some(offset) = self.offset {
            encode::u64(out, offset);
        }
    }
}

impl Struct for MessageResumeResult {
    const CODE: u16 = 0x0405;
}

/// Command `message.transfer`, code 4.1.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MessageTransfer {
    /// `destination`; absent means empty.
    pub destination: Text,
    /// `accept-mode`, required.
    pub accept_mode: AcceptMode,
    /// `acquire-mode`, required.
    pub acquire_mode: AcquireMode,
}

impl Packed for MessageTransfer {
    const NAME: &'static str = "message.transfer";

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor.in_field("message.transfer").packing_flags(0x0007)?;
        Ok(Self {
            destination: if flags & 0x0001 != 0 {
                cursor.in_field("message.transfer.destination").str8()?
            } else {
                Default::default()
            },
            accept_mode: if flags & 0x0002 != 0 {
                cursor
                    .in_field("message.transfer.accept-mode")
                    .u8()
                    .map(AcceptMode)?
            } else {
                Default::default()
            },
            acquire_mode: if flags & 0x0004 != 0 {
                cursor
                    .in_field("message.transfer.acquire-mode")
                    .u8()
                    .map(AcquireMode)?
            } else {
                Default::default()
            },
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = 0x0006 | u16::from(!self.destination.is_empty());
        encode::packing_flags(out, flags);
        if !self.destination.is_empty() {
            encode::str8(out, &self.destination);
        }
        encode::u8(out, self.accept_mode.0);
        encode::u8(out, self.acquire_mode.0);
    }
}

/// Command `message.accept`, code 4.2.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MessageAccept {
    /// `session.commands`, required.
    pub transfers: SequenceSet,
}

impl Packed for MessageAccept {
    const NAME: &'static str = "message.accept";

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor.in_field("message.accept").packing_flags(0x0001)?;
        Ok(Self {
            transfers: if flags & 0x0001 != 0 {
                cursor.in_field("message.accept.transfers").sequence_set()?
            } else {
                Default::default()
            },
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = 0x0001;
        encode::packing_flags(out, flags);
        encode::sequence_set(out, &self.transfers);
    }
}

/// Command `message.reject`, code 4.3.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MessageReject {
    /// `session.commands`, required.
    pub transfers: SequenceSet,
    /// `reject-code`, required.
    pub code: RejectCode,
    /// `str8`, optional.
    pub text: Option<Text>,
}

impl Packed for MessageReject {
    const NAME: &'static str = "message.reject";

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor.in_field("message.reject").packing_flags(0x0007)?;
        Ok(Self {
            transfers: if flags & 0x0001 != 0 {
                cursor.in_field("message.reject.transfers").sequence_set()?
            } else {
                Default::default()
            },
            code: if flags & 0x0002 != 0 {
                cursor
                    .in_field("message.reject.code")
                    .u16()
                    .map(RejectCode)?
            } else {
                Default::default()
            },
            text: if flags & 0x0004 != 0 {
                Some(cursor.in_field("message.reject.text").str8()?)
            } else {
                None
            },
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = 0x0003 | u16::from(self.text.is_some()) << 2;
        encode::packing_flags(out, flags);
        encode::sequence_set(out, &self.transfers);
        encode::u16(out, self.code.0);
        if let Some(text) = &self.text {
            encode::str8(out, text);
        }
    }
}

/// Command `message.release`, code 4.4.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MessageRelease {
    /// `session.commands`, required.
    pub transfers: SequenceSet,
    /// `bit`.
    pub set_redelivered: bool,
}

impl Packed for MessageRelease {
    const NAME: &'static str = "message.release";

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor.in_field("message.release").packing_flags(0x0003)?;
        Ok(Self {
            transfers: if flags & 0x0001 != 0 {
                cursor
                    .in_field("message.release.transfers")
                    .sequence_set()?
            } else {
                Default::default()
            },
            set_redelivered: flags & 0x0002 != 0,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = 0x0001 | u16::from(self.set_redelivered) << 1;
        encode::packing_flags(out, flags);
        encode::sequence_set(out, &self.transfers);
    }
}

/// Command `message.acquire`, code 4.5. Its result is a [`MessageAcquired`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MessageAcquire {
    /// `session.commands`, required.
    pub transfers: SequenceSet,
}

impl Packed for MessageAcquire {
    const NAME: &'static str = "message.acquire";

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor.in_field("message.acquire").packing_flags(0x0001)?;
        Ok(Self {
            transfers: if flags & 0x0001 != 0 {
                cursor
                    .in_field("message.acquire.transfers")
                    .sequence_set()?
            } else {
                Default::default()
            },
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = 0x0001;
        encode::packing_flags(out, flags);
        encode::sequence_set(out, &self.transfers);
    }
}

/// Command `message.resume`, code 4.6. Its result is a [`MessageResumeResult`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MessageResume {
    /// `destination`; absent means empty.
    pub destination: Text,
    /// `resume-id`, required.
    pub resume_id: Text,
}

impl Packed for MessageResume {
    const NAME: &'static str = "message.resume";

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor.in_field("message.resume").packing_flags(0x0003)?;
        Ok(Self {
            destination: if flags & 0x0001 != 0 {
                cursor.in_field("message.resume.destination").str8()?
            } else {
                Default::default()
            },
            resume_id: if flags & 0x0002 != 0 {
                cursor.in_field("message.resume.resume-id").str16()?
            } else {
                Default::default()
            },
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = 0x0002 | u16::from(!self.destination.is_empty());
        encode::packing_flags(out, flags);
        if !self.destination.is_empty() {
            encode::str8(out, &self.destination);
        }
        encode::str16(out, &self.resume_id);
    }
}

/// Command `message.subscribe`, code 4.7.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MessageSubscribe {
    /// `queue.name`, required.
    pub queue: Text,
    /// `destination`; absent means empty.
    pub destination: Text,
    /// `accept-mode`, required.
    pub accept_mode: AcceptMode,
    /// `acquire-mode`, required.
    pub acquire_mode: AcquireMode,
    /// `bit`.
    pub exclusive: bool,
    /// `resume-id`, optional.
    pub resume_id: Option<Text>,
    /// `uint64`, optional.
    pub resume_ttl: Option<u64>,
    /// `map`, optional.
    pub arguments: Option<Map>,
}

impl Packed for MessageSubscribe {
    const NAME: &'static str = "message.subscribe";

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor.in_field("message.subscribe").packing_flags(0x00ff)?;
        Ok(Self {
            queue: if flags & 0x0001 != 0 {
                cursor.in_field("message.subscribe.queue").str8()?
            } else {
                Default::default()
            },
            destination: if flags & 0x0002 != 0 {
                cursor.in_field("message.subscribe.destination").str8()?
            } else {
                Default::default()
            },
            accept_mode: if flags & 0x0004 != 0 {
                cursor
                    .in_field("message.subscribe.accept-mode")
                    .u8()
                    .map(AcceptMode)?
            } else {
                Default::default()
            },
            acquire_mode: if flags & 0x0008 != 0 {
                cursor
                    .in_field("message.subscribe.acquire-mode")
                    .u8()
                    .map(AcquireMode)?
            } else {
                Default::default()
            },
            exclusive: flags & 0x0010 != 0,
            resume_id: if flags & 0x0020 != 0 {
                Some(cursor.in_field("message.subscribe.resume-id").str16()?)
            } else {
                None
            },
            resume_ttl: if flags & 0x0040 != 0 {
                Some(cursor.in_field("message.subscribe.resume-ttl").u64()?)
            } else {
                None
            },
            arguments: if flags & 0x0080 != 0 {
                Some(cursor.in_field("message.subscribe.arguments").map()?)
            } else {
                None
            },
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = 0x000d
            | u16::from(!self.destination.is_empty()) << 1
            | u16::from(self.exclusive) << 4
            | u16::from(self.resume_id.is_some()) << 5
            | u16::from(self.resume_ttl.is_some()) << 6
            | u16::from(self.arguments.is_some()) << 7;
        encode::packing_flags(out, flags);
        encode::str8(out, &self.queue);
        if !self.destination.is_empty() {
            encode::str8(out, &self.destination);
        }
        encode::u8(out, self.accept_mode.0);
        encode::u8(out, self.acquire_mode.0);
        if let Some(resume_id) = &self.resume_id {
            encode::str16(out, resume_id);
        }
        if let Some(resume_ttl) = self.resume_ttl {
            encode::u64(out, resume_ttl);
        }
        if let Some(arguments) = &self.arguments {
            arguments.encode(out);
        }
    }
}

/// Command `message.cancel`, code 4.8.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MessageCancel {
    /// `destination`, required.
    pub destination: Text,
}

impl Packed for MessageCancel {
    const NAME: &'static str = "message.cancel";

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor.in_field("message.cancel").packing_flags(0x0001)?;
        Ok(Self {
            destination: if flags & 0x0001 != 0 {
                cursor.in_field("message.cancel.destination").str8()?
            } else {
                Default::default()
            },
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = 0x0001;
        encode::packing_flags(out, flags);
        encode::str8(out, &self.destination);
    }
}

/// Command `message.set-flow-mode`, code 4.9.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MessageSetFlowMode {
    /// `destination`; absent means empty.
    pub destination: Text,
    /// `flow-mode`, required.
    pub flow_mode: FlowMode,
}

impl Packed for MessageSetFlowMode {
    const NAME: &'static str = "message.set-flow-mode";

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor
            .in_field("message.set-flow-mode")
            .packing_flags(0x0003)?;
        Ok(Self {
            destination: if flags & 0x0001 != 0 {
                cursor
                    .in_field("message.set-flow-mode.destination")
                    .str8()?
            } else {
                Default::default()
            },
            flow_mode: if flags & 0x0002 != 0 {
                cursor
                    .in_field("message.set-flow-mode.flow-mode")
                    .u8()
                    .map(FlowMode)?
            } else {
                Default::default()
            },
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = 0x0002 | u16::from(!self.destination.is_empty());
        encode::packing_flags(out, flags);
        if !self.destination.is_empty() {
            encode::str8(out, &self.destination);
        }
        encode::u8(out, self.flow_mode.0);
    }
}

/// Command `message.flow`, code 4.10.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MessageFlow {
    /// `destination`; absent means empty.
    pub destination: Text,
    /// `credit-unit`, required.
    pub unit: CreditUnit,
    /// `uint32`, optional.
    pub value: Option<u32>,
}

impl Packed for MessageFlow {
    const NAME: &'static str = "message.flow";

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor.in_field("message.flow").packing_flags(0x0007)?;
        Ok(Self {
            destination: if flags & 0x0001 != 0 {
                cursor.in_field("message.flow.destination").str8()?
            } else {
                Default::default()
            },
            unit: if flags & 0x0002 != 0 {
                cursor.in_field("message.flow.unit").u8().map(CreditUnit)?
            } else {
                Default::default()
            },
            value: if flags & 0x0004 != 0 {
                Some(cursor.in_field("message.flow.value").u32()?)
            } else {
                None
            },
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 =
            0x0002 | u16::from(!self.destination.is_empty()) | u16::from(self.value.is_some()) << 2;
        encode::packing_flags(out, flags);
        if !self.destination.is_empty() {
            encode::str8(out, &self.destination);
        }
        encode::u8(out, self.unit.0);
        if let Some(value) = self.value {
            encode::u32(out, value);
        }
    }
}

/// Command `message.flush`, code 4.11.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MessageFlush {
    /// `destination`; absent means empty.
    pub destination: Text,
}

impl Packed for MessageFlush {
    const NAME: &'static str = "message.flush";

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor.in_field("message.flush").packing_flags(0x0001)?;
        Ok(Self {
            destination: if flags & 0x0001 != 0 {
                cursor.in_field("message.flush.destination").str8()?
            } else {
                Default::default()
            },
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = u16::from(!self.destination.is_empty());
        encode::packing_flags(out, flags);
        if !self.destination.is_empty() {
            encode::str8(out, &self.destination);
        }
    }
}

/// Command `message.stop`, code 4.12.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MessageStop {
    /// `destination`; absent means empty.
    pub destination: Text,
}

impl Packed for MessageStop {
    const NAME: &'static str = "message.stop";

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor.in_field("message.stop").packing_flags(0x0001)?;
        Ok(Self {
            destination: if flags & 0x0001 != 0 {
                cursor.in_field("message.stop.destination").str8()?
            } else {
                Default::default()
            },
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = u16::from(!self.destination.is_empty());
        encode::packing_flags(out, flags);
        if !self.destination.is_empty() {
            encode::str8(out, &self.destination);
        }
    }
}
