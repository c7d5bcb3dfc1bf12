//! Class `connection` (code 1), spoken by the server (must), the client (must).

// Generated from spec/amqp-0-10.spec by spec/generator. Not to be edited:
// UPDATE=1 cargo test --test spec_staleness

use crate::wire::Text;
use crate::wire::array::Array;
use crate::wire::cursor::Cursor;
use crate::wire::decode_error::DecodeError;
use crate::wire::encode;
use crate::wire::fields::Fields;
use crate::wire::map::Map;
use crate::wire::named_number;
use crate::wire::packed::Packed;

named_number! {
    /// `connection.close-code`; values without a name are kept as they come.
    pub struct CloseCode(u16) {
        /// `normal`.
        NORMAL = 200, "normal";
        /// `connection-forced`.
        CONNECTION_FORCED = 320, "connection-forced";
        /// `invalid-path`.
        INVALID_PATH = 402, "invalid-path";
        /// `framing-error`.
        FRAMING_ERROR = 501, "framing-error";
    }
}

/// Control `connection.start`, code 1.1.
///
/// Handled by the client (must). Answered by `start-ok`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConnectionStart {
    /// `map`, optional.
    pub server_properties: Option<Map>,
    /// `str16-array`, required.
    pub mechanisms: Array,
    /// `str16-array`, required.
    pub locales: Array,
}

impl Packed for ConnectionStart {
    const NAME: &'static str = "connection.start";
    const FIELDS: &'static [&'static str] = &[
        "connection.start.server-properties",
        "connection.start.mechanisms",
        "connection.start.locales",
    ];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            server_properties: fields.optional(0, Cursor::map)?,
            mechanisms: fields.required(1, Cursor::array)?,
            locales: fields.required(2, Cursor::array)?,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(out, 2, 0x0006 | u16::from(self.server_properties.is_some()));
        if let Some(server_properties) = &self.server_properties {
            server_properties.encode(out);
        }
        self.mechanisms.encode(out);
        self.locales.encode(out);
    }
}

/// Control `connection.start-ok`, code 1.2.
///
/// Handled by the server (must).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConnectionStartOk {
    /// `map`, optional.
    pub client_properties: Option<Map>,
    /// `str8`, required.
    pub mechanism: Text,
    /// `vbin32`, required; absent differs from empty.
    pub response: Option<Vec<u8>>,
    /// `str8`, required.
    pub locale: Text,
}

impl Packed for ConnectionStartOk {
    const NAME: &'static str = "connection.start-ok";
    const FIELDS: &'static [&'static str] = &[
        "connection.start-ok.client-properties",
        "connection.start-ok.mechanism",
        "connection.start-ok.response",
        "connection.start-ok.locale",
    ];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            client_properties: fields.optional(0, Cursor::map)?,
            mechanism: fields.required(1, Cursor::str8)?,
            response: fields.optional(2, Cursor::vbin32)?,
            locale: fields.required(3, Cursor::str8)?,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(
            out,
            2,
            0x000a
                | u16::from(self.client_properties.is_some())
                | u16::from(self.response.is_some()) << 2,
        );
        if let Some(client_properties) = &self.client_properties {
            client_properties.encode(out);
        }
        encode::str8(out, &self.mechanism);
        if let Some(response) = &self.response {
            encode::vbin32(out, response);
        }
        encode::str8(out, &self.locale);
    }
}

/// Control `connection.secure`, code 1.3.
///
/// Handled by the client (must). Answered by `secure-ok`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConnectionSecure {
    /// `vbin32`, required.
    pub challenge: Vec<u8>,
}

impl Packed for ConnectionSecure {
    const NAME: &'static str = "connection.secure";
    const FIELDS: &'static [&'static str] = &["connection.secure.challenge"];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            challenge: fields.required(0, Cursor::vbin32)?,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(out, 2, 0x0001);
        encode::vbin32(out, &self.challenge);
    }
}

/// Control `connection.secure-ok`, code 1.4.
///
/// Handled by the server (must).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConnectionSecureOk {
    /// `vbin32`, required.
    pub response: Vec<u8>,
}

impl Packed for ConnectionSecureOk {
    const NAME: &'static str = "connection.secure-ok";
    const FIELDS: &'static [&'static str] = &["connection.secure-ok.response"];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            response: fields.required(0, Cursor::vbin32)?,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(out, 2, 0x0001);
        encode::vbin32(out, &self.response);
    }
}

/// Control `connection.tune`, code 1.5.
///
/// Handled by the client (must). Answered by `tune-ok`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConnectionTune {
    /// `uint16`, optional.
    pub channel_max: Option<u16>,
    /// `uint16`, optional.
    pub max_frame_size: Option<u16>,
    /// `uint16`, optional.
    pub heartbeat_min: Option<u16>,
    /// `uint16`, optional.
    pub heartbeat_max: Option<u16>,
}

impl Packed for ConnectionTune {
    const NAME: &'static str = "connection.tune";
    const FIELDS: &'static [&'static str] = &[
        "connection.tune.channel-max",
        "connection.tune.max-frame-size",
        "connection.tune.heartbeat-min",
        "connection.tune.heartbeat-max",
    ];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            channel_max: fields.optional(0, Cursor::u16)?,
            max_frame_size: fields.optional(1, Cursor::u16)?,
            heartbeat_min: fields.optional(2, Cursor::u16)?,
            heartbeat_max: fields.optional(3, Cursor::u16)?,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(
            out,
            2,
            u16::from(self.channel_max.is_some())
                | u16::from(self.max_frame_size.is_some()) << 1
                | u16::from(self.heartbeat_min.is_some()) << 2
                | u16::from(self.heartbeat_max.is_some()) << 3,
        );
        if let Some(channel_max) = self.channel_max {
            encode::u16(out, channel_max);
        }
        if let Some(max_frame_size) = self.max_frame_size {
            encode::u16(out, max_frame_size);
        }
        if let Some(heartbeat_min) = self.heartbeat_min {
            encode::u16(out, heartbeat_min);
        }
        if let Some(heartbeat_max) = self.heartbeat_max {
            encode::u16(out, heartbeat_max);
        }
    }
}

/// Control `connection.tune-ok`, code 1.6.
///
/// Handled by the server (must).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConnectionTuneOk {
    /// `uint16`, required.
    pub channel_max: u16,
    /// `uint16`, optional.
    pub max_frame_size: Option<u16>,
    /// `uint16`, optional.
    pub heartbeat: Option<u16>,
}

impl Packed for ConnectionTuneOk {
    const NAME: &'static str = "connection.tune-ok";
    const FIELDS: &'static [&'static str] = &[
        "connection.tune-ok.channel-max",
        "connection.tune-ok.max-frame-size",
        "connection.tune-ok.heartbeat",
    ];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            channel_max: fields.required(0, Cursor::u16)?,
            max_frame_size: fields.optional(1, Cursor::u16)?,
            heartbeat: fields.optional(2, Cursor::u16)?,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(
            out,
            2,
            0x0001
                | u16::from(self.max_frame_size.is_some()) << 1
                | u16::from(self.heartbeat.is_some()) << 2,
        );
        encode::u16(out, self.channel_max);
        if let Some(max_frame_size) = self.max_frame_size {
            encode::u16(out, max_frame_size);
        }
        if let Some(heartbeat) = self.heartbeat {
            encode::u16(out, heartbeat);
        }
    }
}

/// Control `connection.open`, code 1.7.
///
/// Handled by the server (must). Answered by `open-ok` or `redirect`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConnectionOpen {
    /// `str8`, required.
    pub virtual_host: Text,
    /// `str16-array`, optional.
    pub capabilities: Option<Array>,
    /// `bit`.
    pub insist: bool,
}

impl Packed for ConnectionOpen {
    const NAME: &'static str = "connection.open";
    const FIELDS: &'static [&'static str] = &[
        "connection.open.virtual-host",
        "connection.open.capabilities",
        "connection.open.insist",
    ];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            virtual_host: fields.required(0, Cursor::str8)?,
            capabilities: fields.optional(1, Cursor::array)?,
            insist: fields.bit(2),
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(
            out,
            2,
            0x0001 | u16::from(self.capabilities.is_some()) << 1 | u16::from(self.insist) << 2,
        );
        encode::str8(out, &self.virtual_host);
        if let Some(capabilities) = &self.capabilities {
            capabilities.encode(out);
        }
    }
}

/// Control `connection.open-ok`, code 1.8.
///
/// Handled by the client (must).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConnectionOpenOk {
    /// `amqp-host-array`, optional.
    pub known_hosts: Option<Array>,
}

impl Packed for ConnectionOpenOk {
    const NAME: &'static str = "connection.open-ok";
    const FIELDS: &'static [&'static str] = &["connection.open-ok.known-hosts"];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            known_hosts: fields.optional(0, Cursor::array)?,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(out, 2, u16::from(self.known_hosts.is_some()));
        if let Some(known_hosts) = &self.known_hosts {
            known_hosts.encode(out);
        }
    }
}

/// Control `connection.redirect`, code 1.9.
///
/// Handled by the client (must).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConnectionRedirect {
    /// `amqp-host-url`, required.
    pub host: Text,
    /// `amqp-host-array`, optional.
    pub known_hosts: Option<Array>,
}

impl Packed for ConnectionRedirect {
    const NAME: &'static str = "connection.redirect";
    const FIELDS: &'static [&'static str] = &[
        "connection.redirect.host",
        "connection.redirect.known-hosts",
    ];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            host: fields.required(0, Cursor::str16)?,
            known_hosts: fields.optional(1, Cursor::array)?,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(out, 2, 0x0001 | u16::from(self.known_hosts.is_some()) << 1);
        encode::str16(out, &self.host);
        if let Some(known_hosts) = &self.known_hosts {
            known_hosts.encode(out);
        }
    }
}

/// Control `connection.heartbeat`, code 1.10.
///
/// Handled by the client (may), the server (may).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConnectionHeartbeat {}

impl Packed for ConnectionHeartbeat {
    const NAME: &'static str = "connection.heartbeat";
    const FIELDS: &'static [&'static str] = &[];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        Fields::of::<Self>(cursor, 2)?;
        Ok(Self {})
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(out, 2, 0x0000);
    }
}

/// Control `connection.close`, code 1.11.
///
/// Handled by the client (must), the server (must). Answered by `close-ok`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConnectionClose {
    /// `close-code`, required.
    pub reply_code: CloseCode,
    /// `str8`, optional.
    pub reply_text: Option<Text>,
}

impl Packed for ConnectionClose {
    const NAME: &'static str = "connection.close";
    const FIELDS: &'static [&'static str] =
        &["connection.close.reply-code", "connection.close.reply-text"];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            reply_code: fields.required(0, CloseCode::decode)?,
            reply_text: fields.optional(1, Cursor::str8)?,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(out, 2, 0x0001 | u16::from(self.reply_text.is_some()) << 1);
        encode::u16(out, self.reply_code.0);
        if let Some(reply_text) = &self.reply_text {
            encode::str8(out, reply_text);
        }
    }
}

/// Control `connection.close-ok`, code 1.12.
///
/// Handled by the client (must), the server (must).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConnectionCloseOk {}

impl Packed for ConnectionCloseOk {
    const NAME: &'static str = "connection.close-ok";
    const FIELDS: &'static [&'static str] = &[];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        Fields::of::<Self>(cursor, 2)?;
        Ok(Self {})
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(out, 2, 0x0000);
    }
}
