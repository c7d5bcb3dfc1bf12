//! Class `session` (code 2).

// Generated from spec/amqp-0-10.spec by spec/generator. Not to be edited:
// UPDATE=1 cargo test --test spec_staleness

use std::fmt;

use crate::wire::array::Array;
use crate::wire::byte_ranges::ByteRanges;
use crate::wire::command_id::CommandId;
use crate::wire::cursor::Cursor;
use crate::wire::decode_error::DecodeError;
use crate::wire::encode;
use crate::wire::packed::Packed;
use crate::wire::sequence_set::SequenceSet;

/// `session.detach-code`; values without a name are kept as they come.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DetachCode(pub u8);

impl DetachCode {
    /// `normal`.
    pub const NORMAL: Self = Self(0);
    /// `session-busy`.
    pub const SESSION_BUSY: Self = Self(1);
    /// `transport-busy`.
    pub const TRANSPORT_BUSY: Self = Self(2);
    /// `not-attached`.
    pub const NOT_ATTACHED: Self = Self(3);
    /// `unknown-ids`.
    pub const UNKNOWN_IDS: Self = Self(4);

    /// The name of the value, if it has one.
    pub fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::NORMAL => "normal",
            Self::SESSION_BUSY => "session-busy",
            Self::TRANSPORT_BUSY => "transport-busy",
            Self::NOT_ATTACHED => "not-attached",
            Self::UNKNOWN_IDS => "unknown-ids",
            _ => return None,
        })
    }
}

impl fmt::Display for DetachCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "{}", self.0),
        }
    }
}

impl fmt::Debug for DetachCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DetachCode({}", self.0)?;
        if let Some(name) = self.name() {
            write!(f, " {name}")?;
        }
        f.write_str(")")
    }
}

/// `session.header`, a struct without a code.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionHeader {
    /// `bit`.
    pub sync: bool,
}

impl Packed for SessionHeader {
    const NAME: &'static str = "session.header";

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor
            .in_field("session.header")
            .packing_flags_octet(0x01)?;
        Ok(Self {
            sync: flags & 0x0001 != 0,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = u16::from(self.sync);
        encode::u8(out, flags as u8);
    }
}

/// `session.command-fragment`, a struct without a code.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionCommandFragment {
    /// `sequence-no`, required.
    pub command_id: CommandId,
    /// `byte-ranges`, required.
    pub byte_ranges: ByteRanges,
}

impl Packed for SessionCommandFragment {
    const NAME: &'static str = "session.command-fragment";

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            command_id: cursor
                .in_field("session.command-fragment.command-id")
                .sequence_no()?,
            byte_ranges: cursor
                .in_field("session.command-fragment.byte-ranges")
                .byte_ranges()?,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::u32(out, self.command_id.0);
        encode::byte_ranges(out, &self.byte_ranges);
    }
}

/// Control `session.attach`, code 2.1.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionAttach {
    /// `name`, required.
    pub name: Vec<u8>,
    /// `bit`.
    pub force: bool,
}

impl Packed for SessionAttach {
    const NAME: &'static str = "session.attach";

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor.in_field("session.attach").packing_flags(0x0003)?;
        Ok(Self {
            name: if flags & 0x0001 != 0 {
                cursor.in_field("session.attach.name").vbin16()?
            } else {
                Default::default()
            },
            force: flags & 0x0002 != 0,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = 0x0001 | u16::from(self.force) << 1;
        encode::packing_flags(out, flags);
        encode::vbin16(out, &self.name);
    }
}

/// Control `session.attached`, code 2.2.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionAttached {
    /// `name`, required.
    pub name: Vec<u8>,
}

impl Packed for SessionAttached {
    const NAME: &'static str = "session.attached";

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor.in_field("session.attached").packing_flags(0x0001)?;
        Ok(Self {
            name: if flags & 0x0001 != 0 {
                cursor.in_field("session.attached.name").vbin16()?
            } else {
                Default::default()
            },
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = 0x0001;
        encode::packing_flags(out, flags);
        encode::vbin16(out, &self.name);
    }
}

/// Control `session.detach`, code 2.3.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionDetach {
    /// `name`, required.
    pub name: Vec<u8>,
}

impl Packed for SessionDetach {
    const NAME: &'static str = "session.detach";

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor.in_field("session.detach").packing_flags(0x0001)?;
        Ok(Self {
            name: if flags & 0x0001 != 0 {
                cursor.in_field("session.detach.name").vbin16()?
            } else {
                Default::default()
            },
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = 0x0001;
        encode::packing_flags(out, flags);
        encode::vbin16(out, &self.name);
    }
}

/// Control `session.detached`, code 2.4.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionDetached {
    /// `name`, required.
    pub name: Vec<u8>,
    /// `detach-code`, required.
    pub code: DetachCode,
}

impl Packed for SessionDetached {
    const NAME: &'static str = "session.detached";

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor.in_field("session.detached").packing_flags(0x0003)?;
        Ok(Self {
            name: if flags & 0x0001 != 0 {
                cursor.in_field("session.detached.name").vbin16()?
            } else {
                Default::default()
            },
            code: if flags & 0x0002 != 0 {
                cursor
                    .in_field("session.detached.code")
                    .u8()
                    .map(DetachCode)?
            } else {
                Default::default()
            },
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = 0x0003;
        encode::packing_flags(out, flags);
        encode::vbin16(out, &self.name);
        encode::u8(out, self.code.0);
    }
}

/// Control `session.request-timeout`, code 2.5.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionRequestTimeout {
    /// `uint32`, optional.
    pub timeout: Option<u32>,
}

impl Packed for SessionRequestTimeout {
    const NAME: &'static str = "session.request-timeout";

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor
            .in_field("session.request-timeout")
            .packing_flags(0x0001)?;
        Ok(Self {
            timeout: if flags & 0x0001 != 0 {
                Some(cursor.in_field("session.request-timeout.timeout").u32()?)
            } else {
                None
            },
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = u16::from(self.timeout.is_some());
        encode::packing_flags(out, flags);
        if let Some(timeout) = self.timeout {
            encode::u32(out, timeout);
        }
    }
}

/// Control `session.timeout`, code 2.6.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionTimeout {
    /// `uint32`, optional.
    pub timeout: Option<u32>,
}

impl Packed for SessionTimeout {
    const NAME: &'static str = "session.timeout";

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor.in_field("session.timeout").packing_flags(0x0001)?;
        Ok(Self {
            timeout: if flags & 0x0001 != 0 {
                Some(cursor.in_field("session.timeout.timeout").u32()?)
            } else {
                None
            },
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = u16::from(self.timeout.is_some());
        encode::packing_flags(out, flags);
        if let Some(timeout) = self.timeout {
            encode::u32(out, timeout);
        }
    }
}

/// Control `session.command-point`, code 2.7.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionCommandPoint {
    /// `sequence-no`, required.
    pub command_id: CommandId,
    /// `uint64`, required.
    pub command_offset: u64,
}

impl Packed for SessionCommandPoint {
    const NAME: &'static str = "session.command-point";

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor
            .in_field("session.command-point")
            .packing_flags(0x0003)?;
        Ok(Self {
            command_id: if flags & 0x0001 != 0 {
                cursor
                    .in_field("session.command-point.command-id")
                    .sequence_no()?
            } else {
                Default::default()
            },
            command_offset: if flags & 0x0002 != 0 {
                cursor
                    .in_field("session.command-point.command-offset")
                    .u64()?
            } else {
                Default::default()
            },
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = 0x0003;
        encode::packing_flags(out, flags);
        encode::u32(out, self.command_id.0);
        encode::u64(out, self.command_offset);
    }
}

/// Control `session.expected`, code 2.8.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionExpected {
    /// `commands`, required.
    pub commands: SequenceSet,
    /// `command-fragments`, optional.
    pub fragments: Option<Array>,
}

impl Packed for SessionExpected {
    const NAME: &'static str = "session.expected";

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor.in_field("session.expected").packing_flags(0x0003)?;
        Ok(Self {
            commands: if flags & 0x0001 != 0 {
                cursor
                    .in_field("session.expected.commands")
                    .sequence_set()?
            } else {
                Default::default()
            },
            fragments: if flags & 0x0002 != 0 {
                Some(cursor.in_field("session.expected.fragments").array()?)
            } else {
                None
            },
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = 0x0001 | u16::from(self.fragments.is_some()) << 1;
        encode::packing_flags(out, flags);
        encode::sequence_set(out, &self.commands);
        if let Some(fragments) = &self.fragments {
            fragments.encode(out);
        }
    }
}

/// Control `session.confirmed`, code 2.9.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionConfirmed {
    /// `commands`, optional.
    pub commands: Option<SequenceSet>,
    /// `command-fragments`, optional.
    pub fragments: Option<Array>,
}

impl Packed for SessionConfirmed {
    const NAME: &'static str = "session.confirmed";

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor.in_field("session.confirmed").packing_flags(0x0003)?;
        Ok(Self {
            commands: if flags & 0x0001 != 0 {
                Some(
                    cursor
                        .in_field("session.confirmed.commands")
                        .sequence_set()?,
                )
            } else {
                None
            },
            fragments: if flags & 0x0002 != 0 {
                Some(cursor.in_field("session.confirmed.fragments").array()?)
            } else {
                None
            },
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 =
            u16::from(self.commands.is_some()) | u16::from(self.fragments.is_some()) << 1;
        encode::packing_flags(out, flags);
        if let Some(commands) = &self.commands {
            encode::sequence_set(out, commands);
        }
        if let Some(fragments) = &self.fragments {
            fragments.encode(out);
        }
    }
}

/// Control `session.completed`, code 2.10.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionCompleted {
    /// `commands`, optional.
    pub commands: Option<SequenceSet>,
    /// `bit`.
    pub timely_reply: bool,
}

impl Packed for SessionCompleted {
    const NAME: &'static str = "session.completed";

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor.in_field("session.completed").packing_flags(0x0003)?;
        Ok(Self {
            commands: if flags & 0x0001 != 0 {
                Some(
                    cursor
                        .in_field("session.completed.commands")
                        .sequence_set()?,
                )
            } else {
                None
            },
            timely_reply: flags & 0x0002 != 0,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = u16::from(self.commands.is_some()) | u16::from(self.timely_reply) << 1;
        encode::packing_flags(out, flags);
        if let Some(commands) = &self.commands {
            encode::sequence_set(out, commands);
        }
    }
}

/// Control `session.known-completed`, code 2.11.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionKnownCompleted {
    /// `commands`, optional.
    pub commands: Option<SequenceSet>,
}

impl Packed for SessionKnownCompleted {
    const NAME: &'static str = "session.known-completed";

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor
            .in_field("session.known-completed")
            .packing_flags(0x0001)?;
        Ok(Self {
            commands: if flags & 0x0001 != 0 {
                Some(
                    cursor
                        .in_field("session.known-completed.commands")
                        .sequence_set()?,
                )
            } else {
                None
            },
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = u16::from(self.commands.is_some());
        encode::packing_flags(out, flags);
        if let Some(commands) = &self.commands {
            encode::sequence_set(out, commands);
        }
    }
}

/// Control `session.flush`, code 2.12.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionFlush {
    /// `bit`.
    pub expected: bool,
    /// `bit`.
    pub confirmed: bool,
    /// `bit`.
    pub completed: bool,
}

impl Packed for SessionFlush {
    const NAME: &'static str = "session.flush";

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor.in_field("session.flush").packing_flags(0x0007)?;
        Ok(Self {
            expected: flags & 0x0001 != 0,
            confirmed: flags & 0x0002 != 0,
            completed: flags & 0x0004 != 0,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = u16::from(self.expected)
            | u16::from(self.confirmed) << 1
            | u16::from(self.completed) << 2;
        encode::packing_flags(out, flags);
    }
}

/// Control `session.gap`, code 2.13.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionGap {
    /// `commands`, optional.
    pub commands: Option<SequenceSet>,
}

impl Packed for SessionGap {
    const NAME: &'static str = "session.gap";

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor.in_field("session.gap").packing_flags(0x0001)?;
        Ok(Self {
            commands: if flags & 0x0001 != 0 {
                Some(cursor.in_field("session.gap.commands").sequence_set()?)
            } else {
                None
            },
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = u16::from(self.commands.is_some());
        encode::packing_flags(out, flags);
        if let Some(commands) = &self.commands {
            encode::sequence_set(out, commands);
        }
    }
}
