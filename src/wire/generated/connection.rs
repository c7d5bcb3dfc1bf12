//! Class `connection` (code 1).

// Generated from spec/amqp-0-10.spec by spec/generator. Not to be edited:
// UPDATE=1 cargo test --test spec_staleness

use std::fmt;

use crate::wire::Text;
use crate::wire::array::Array;
use crate::wire::cursor::Cursor;
use crate::wire::decode_error::DecodeError;
use crate::wire::encode;
use crate::wire::map::Map;
use crate::wire::packed::Packed;

/// `connection.close-code`; values without a name are kept as they come.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CloseCode(pub u16);

impl CloseCode {
    /// `normal`.
    pub const NORMAL: Self = Self(200);
    /// `connection-forced`.
    pub const CONNECTION_FORCED: Self = Self(320);
    /// `invalid-path`.
    pub const INVALID_PATH: Self = Self(402);
    /// `framing-error`.
    pub const FRAMING_ERROR: Self = Self(501);

    /// The name of the value, if it has one.
    pub fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::NORMAL => "normal",
            Self::CONNECTION_FORCED => "connection-forced",
            Self::INVALID_PATH => "invalid-path",
            Self::FRAMING_ERROR => "framing-error",
            _ => return None,
        })
    }
}

impl fmt::Display for CloseCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "{}", self.0),
        }
    }
}

impl fmt::Debug for CloseCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CloseCode({}", self.0)?;
        if let Some(name) = self.name() {
            write!(f, " {name}")?;
        }
        f.write_str(")")
    }
}

/// Control `connection.start`, code 1.1.
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

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor.in_field("connection.start").packing_flags(0x0007)?;
        Ok(Self {
            server_properties: if flags & 0x0001 != 0 {
                Some(
                    cursor
                        .in_field("connection.start.server-properties")
                        .map()?,
                )
            } else {
                None
            },
            mechanisms: if flags & 0x0002 != 0 {
                cursor.in_field("connection.start.mechanisms").array()?
            } else {
                Default::default()
            },
            locales: if flags & 0x0004 != 0 {
                cursor.in_field("connection.start.locales").array()?
            } else {
                Default::default()
            },
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = 0x0006 | u16::from(self.server_properties.is_some());
        encode::packing_flags(out, flags);
        if let Some(server_properties) = &self.server_properties {
            server_properties.encode(out);
        }
        self.mechanisms.encode(out);
        self.locales.encode(out);
    }
}

/// Control `connection.start-ok`, code 1.2.
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

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor
            .in_field("connection.start-ok")
            .packing_flags(0x000f)?;
        Ok(Self {
            client_properties: if flags & 0x0001 != 0 {
                Some(
                    cursor
                        .in_field("connection.start-ok.client-properties")
                        .map()?,
                )
            } else {
                None
            },
            mechanism: if flags & 0x0002 != 0 {
                cursor.in_field("connection.start-ok.mechanism").str8()?
            } else {
                Default::default()
            },
            response: if flags & 0x0004 != 0 {
                Some(cursor.in_field("connection.start-ok.response").vbin32()?)
            } else {
                None
            },
            locale: if flags & 0x0008 != 0 {
                cursor.in_field("connection.start-ok.locale").str8()?
            } else {
                Default::default()
            },
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = 0x000a
            | u16::from(self.client_properties.is_some())
            | u16::from(self.response.is_some()) << 2;
        encode::packing_flags(out, flags);
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
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConnectionSecure {
    /// `vbin32`, required.
    pub challenge: Vec<u8>,
}

impl Packed for ConnectionSecure {
    const NAME: &'static str = "connection.secure";

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor.in_field("connection.secure").packing_flags(0x0001)?;
        Ok(Self {
            challenge: if flags & 0x0001 != 0 {
                cursor.in_field("connection.secure.challenge").vbin32()?
            } else {
                Default::default()
            },
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = 0x0001;
        encode::packing_flags(out, flags);
        encode::vbin32(out, &self.challenge);
    }
}

/// Control `connection.secure-ok`, code 1.4.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConnectionSecureOk {
    /// `vbin32`, required.
    pub response: Vec<u8>,
}

impl Packed for ConnectionSecureOk {
    const NAME: &'static str = "connection.secure-ok";

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor
            .in_field("connection.secure-ok")
            .packing_flags(0x0001)?;
        Ok(Self {
            response: if flags & 0x0001 != 0 {
                cursor.in_field("connection.secure-ok.response").vbin32()?
            } else {
                Default::default()
            },
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = 0x0001;
        encode::packing_flags(out, flags);
        encode::vbin32(out, &self.response);
    }
}

/// Control `connection.tune`, code 1.5.
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

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor.in_field("connection.tune").packing_flags(0x000f)?;
        Ok(Self {
            channel_max: if flags & 0x0001 != 0 {
                Some(cursor.in_field("connection.tune.channel-max").u16()?)
            } else {
                None
            },
            max_frame_size: if flags & 0x0002 != 0 {
                Some(cursor.in_field("connection.tune.max-frame-size").u16()?)
            } else {
                None
            },
            heartbeat_min: if flags & 0x0004 != 0 {
                Some(cursor.in_field("connection.tune.heartbeat-min").u16()?)
            } else {
                None
            },
            heartbeat_max: if flags & 0x0008 != 0 {
                Some(cursor.in_field("connection.tune.heartbeat-max").u16()?)
            } else {
                None
            },
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = u16::from(self.channel_max.is_some())
            | u16::from(self.max_frame_size.is_some()) << 1
            | u16::from(self.heartbeat_min.is_some()) << 2
            | u16::from(self.heartbeat_max.is_some()) << 3;
        encode::packing_flags(out, flags);
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

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor
            .in_field("connection.tune-ok")
            .packing_flags(0x0007)?;
        Ok(Self {
            channel_max: if flags & 0x0001 != 0 {
                cursor.in_field("connection.tune-ok.channel-max").u16()?
            } else {
                Default::default()
            },
            max_frame_size: if flags & 0x0002 != 0 {
                Some(cursor.in_field("connection.tune-ok.max-frame-size").u16()?)
            } else {
                None
            },
            heartbeat: if flags & 0x0004 != 0 {
                Some(cursor.in_field("connection.tune-ok.heartbeat").u16()?)
            } else {
                None
            },
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = 0x0001
            | u16::from(self.max_frame_size.is_some()) << 1
            | u16::from(self.heartbeat.is_some()) << 2;
        encode::packing_flags(out, flags);
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

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor.in_field("connection.open").packing_flags(0x0007)?;
        Ok(Self {
            virtual_host: if flags & 0x0001 != 0 {
                cursor.in_field("connection.open.virtual-host").str8()?
            } else {
                Default::default()
            },
            capabilities: if flags & 0x0002 != 0 {
                Some(cursor.in_field("connection.open.capabilities").array()?)
            } else {
                None
            },
            insist: flags & 0x0004 != 0,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 =
            0x0001 | u16::from(self.capabilities.is_some()) << 1 | u16::from(self.insist) << 2;
        encode::packing_flags(out, flags);
        encode::str8(out, &self.virtual_host);
        if let Some(capabilities) = &self.capabilities {
            capabilities.encode(out);
        }
    }
}

/// Control `connection.open-ok`, code 1.8.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConnectionOpenOk {
    /// `amqp-host-array`, optional.
    pub known_hosts: Option<Array>,
}

impl Packed for ConnectionOpenOk {
    const NAME: &'static str = "connection.open-ok";

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor
            .in_field("connection.open-ok")
            .packing_flags(0x0001)?;
        Ok(Self {
            known_hosts: if flags & 0x0001 != 0 {
                Some(cursor.in_field("connection.open-ok.known-hosts").array()?)
            } else {
                None
            },
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = u16::from(self.known_hosts.is_some());
        encode::packing_flags(out, flags);
        if let Some(known_hosts) = &self.known_hosts {
            known_hosts.encode(out);
        }
    }
}

/// Control `connection.redirect`, code 1.9.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConnectionRedirect {
    /// `amqp-host-url`, required.
    pub host: Text,
    /// `amqp-host-array`, optional.
    pub known_hosts: Option<Array>,
}

impl Packed for ConnectionRedirect {
    const NAME: &'static str = "connection.redirect";

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor
            .in_field("connection.redirect")
            .packing_flags(0x0003)?;
        Ok(Self {
            host: if flags & 0x0001 != 0 {
                cursor.in_field("connection.redirect.host").str16()?
            } else {
                Default::default()
            },
            known_hosts: if flags & 0x0002 != 0 {
                Some(cursor.in_field("connection.redirect.known-hosts").array()?)
            } else {
                None
            },
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = 0x0001 | u16::from(self.known_hosts.is_some()) << 1;
        encode::packing_flags(out, flags);
        encode::str16(out, &self.host);
        if let Some(known_hosts) = &self.known_hosts {
            known_hosts.encode(out);
        }
    }
}

/// Control `connection.heartbeat`, code 1.10.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConnectionHeartbeat {}

impl Packed for ConnectionHeartbeat {
    const NAME: &'static str = "connection.heartbeat";

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        cursor
            .in_field("connection.heartbeat")
            .packing_flags(0x0000)?;
        Ok(Self {})
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = 0x0000;
        encode::packing_flags(out, flags);
    }
}

/// Control `connection.close`, code 1.11.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConnectionClose {
    /// `close-code`, required.
    pub reply_code: CloseCode,
    /// `str8`, optional.
    pub reply_text: Option<Text>,
}

impl Packed for ConnectionClose {
    const NAME: &'static str = "connection.close";

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor.in_field("connection.close").packing_flags(0x0003)?;
        Ok(Self {
            reply_code: if flags & 0x0001 != 0 {
                cursor
                    .in_field("connection.close.reply-code")
                    .u16()
                    .map(CloseCode)?
            } else {
                Default::default()
            },
            reply_text: if flags & 0x0002 != 0 {
                Some(cursor.in_field("connection.close.reply-text").str8()?)
            } else {
                None
            },
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = 0x0001 | u16::from(self.reply_text.is_some()) << 1;
        encode::packing_flags(out, flags);
        encode::u16(out, self.reply_code.0);
        if let Some(reply_text) = &self.reply_text {
            encode::str8(out, reply_text);
        }
    }
}

/// Control `connection.close-ok`, code 1.12.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConnectionCloseOk {}

impl Packed for ConnectionCloseOk {
    const NAME: &'static str = "connection.close-ok";

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        cursor
            .in_field("connection.close-ok")
            .packing_flags(0x0000)?;
        Ok(Self {})
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = 0x0000;
        encode::packing_flags(out, flags);
    }
}
