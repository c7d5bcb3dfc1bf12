//! Class `session` (code 2), spoken by the server (must), the client (must), the sender (must), the receiver (must).

// Generated from spec/amqp-0-10.spec by spec/generator. Not to be edited:
// UPDATE=1 cargo test --test spec_staleness

use crate::wire::array::Array;
use crate::wire::byte_ranges::ByteRanges;
use crate::wire::command_id::CommandId;
use crate::wire::cursor::Cursor;
use crate::wire::decode_error::DecodeError;
use crate::wire::encode;
use crate::wire::fields::Fields;
use crate::wire::named_number;
use crate::wire::packed::Packed;
use crate::wire::sequence_set::SequenceSet;

named_number! {
    /// `session.detach-code`; values without a name are kept as they come.
    pub struct DetachCode(u8) {
        /// `normal`.
        NORMAL = 0, "normal";
        /// `session-busy`.
        SESSION_BUSY = 1, "session-busy";
        /// `transport-busy`.
        TRANSPORT_BUSY = 2, "transport-busy";
        /// `not-attached`.
        NOT_ATTACHED = 3, "not-attached";
        /// `unknown-ids`.
        UNKNOWN_IDS = 4, "unknown-ids";
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
    const FIELDS: &'static [&'static str] = &["session.header.sync"];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let fields = Fields::of::<Self>(cursor, 1)?;
        Ok(Self {
            sync: fields.bit(0),
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(out, 1, u16::from(self.sync));
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
    const FIELDS: &'static [&'static str] = &[
        "session.command-fragment.command-id",
        "session.command-fragment.byte-ranges",
    ];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 0)?;
        Ok(Self {
            command_id: fields.required(0, Cursor::sequence_no)?,
            byte_ranges: fields.required(1, Cursor::byte_ranges)?,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::u32(out, self.command_id.0);
        encode::byte_ranges(out, &self.byte_ranges);
    }
}

/// Control `session.attach`, code 2.1.
///
/// Handled by the server (must), the client (may). Answered by `attached` or `detached`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionAttach {
    /// `name`, required.
    pub name: Vec<u8>,
    /// `bit`.
    pub force: bool,
}

impl Packed for SessionAttach {
    const NAME: &'static str = "session.attach";
    const FIELDS: &'static [&'static str] = &["session.attach.name", "session.attach.force"];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            name: fields.required(0, Cursor::vbin16)?,
            force: fields.bit(1),
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(out, 2, 0x0001 | u16::from(self.force) << 1);
        encode::vbin16(out, &self.name);
    }
}

/// Control `session.attached`, code 2.2.
///
/// Handled by the server (must), the client (must).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionAttached {
    /// `name`, required.
    pub name: Vec<u8>,
}

impl Packed for SessionAttached {
    const NAME: &'static str = "session.attached";
    const FIELDS: &'static [&'static str] = &["session.attached.name"];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            name: fields.required(0, Cursor::vbin16)?,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(out, 2, 0x0001);
        encode::vbin16(out, &self.name);
    }
}

/// Control `session.detach`, code 2.3.
///
/// Handled by the server (must), the client (must). Answered by `detached`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionDetach {
    /// `name`, required.
    pub name: Vec<u8>,
}

impl Packed for SessionDetach {
    const NAME: &'static str = "session.detach";
    const FIELDS: &'static [&'static str] = &["session.detach.name"];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            name: fields.required(0, Cursor::vbin16)?,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(out, 2, 0x0001);
        encode::vbin16(out, &self.name);
    }
}

/// Control `session.detached`, code 2.4.
///
/// Handled by the server (must), the client (must).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionDetached {
    /// `name`, required.
    pub name: Vec<u8>,
    /// `detach-code`, required.
    pub code: DetachCode,
}

impl Packed for SessionDetached {
    const NAME: &'static str = "session.detached";
    const FIELDS: &'static [&'static str] = &["session.detached.name", "session.detached.code"];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            name: fields.required(0, Cursor::vbin16)?,
            code: fields.required(1, DetachCode::decode)?,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(out, 2, 0x0003);
        encode::vbin16(out, &self.name);
        encode::u8(out, self.code.0);
    }
}

/// Control `session.request-timeout`, code 2.5.
///
/// Handled by the sender (must), the receiver (must). Answered by `timeout`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionRequestTimeout {
    /// `uint32`, optional.
    pub timeout: Option<u32>,
}

impl Packed for SessionRequestTimeout {
    const NAME: &'static str = "session.request-timeout";
    const FIELDS: &'static [&'static str] = &["session.request-timeout.timeout"];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            timeout: fields.optional(0, Cursor::u32)?,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(out, 2, u16::from(self.timeout.is_some()));
        if let Some(timeout) = self.timeout {
            encode::u32(out, timeout);
        }
    }
}

/// Control `session.timeout`, code 2.6.
///
/// Handled by the sender (must), the receiver (must).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionTimeout {
    /// `uint32`, optional.
    pub timeout: Option<u32>,
}

impl Packed for SessionTimeout {
    const NAME: &'static str = "session.timeout";
    const FIELDS: &'static [&'static str] = &["session.timeout.timeout"];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            timeout: fields.optional(0, Cursor::u32)?,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(out, 2, u16::from(self.timeout.is_some()));
        if let Some(timeout) = self.timeout {
            encode::u32(out, timeout);
        }
    }
}

/// Control `session.command-point`, code 2.7.
///
/// Handled by the receiver (must).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionCommandPoint {
    /// `sequence-no`, required.
    pub command_id: CommandId,
    /// `uint64`, required.
    pub command_offset: u64,
}

impl Packed for SessionCommandPoint {
    const NAME: &'static str = "session.command-point";
    const FIELDS: &'static [&'static str] = &[
        "session.command-point.command-id",
        "session.command-point.command-offset",
    ];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            command_id: fields.required(0, Cursor::sequence_no)?,
            command_offset: fields.required(1, Cursor::u64)?,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(out, 2, 0x0003);
        encode::u32(out, self.command_id.0);
        encode::u64(out, self.command_offset);
    }
}

/// Control `session.expected`, code 2.8.
///
/// Handled by the sender (must).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionExpected {
    /// `commands`, required.
    pub commands: SequenceSet,
    /// `command-fragments`, optional.
    pub fragments: Option<Array>,
}

impl Packed for SessionExpected {
    const NAME: &'static str = "session.expected";
    const FIELDS: &'static [&'static str] =
        &["session.expected.commands", "session.expected.fragments"];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            commands: fields.required(0, Cursor::sequence_set)?,
            fragments: fields.optional(1, Cursor::array)?,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(out, 2, 0x0001 | u16::from(self.fragments.is_some()) << 1);
        encode::sequence_set(out, &self.commands);
        if let Some(fragments) = &self.fragments {
            fragments.encode(out);
        }
    }
}

/// Control `session.confirmed`, code 2.9.
///
/// Handled by the sender (must).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionConfirmed {
    /// `commands`, optional.
    pub commands: Option<SequenceSet>,
    /// `command-fragments`, optional.
    pub fragments: Option<Array>,
}

impl Packed for SessionConfirmed {
    const NAME: &'static str = "session.confirmed";
    const FIELDS: &'static [&'static str] =
        &["session.confirmed.commands", "session.confirmed.fragments"];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            commands: fields.optional(0, Cursor::sequence_set)?,
            fragments: fields.optional(1, Cursor::array)?,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(
            out,
            2,
            u16::from(self.commands.is_some()) | u16::from(self.fragments.is_some()) << 1,
        );
        if let Some(commands) = &self.commands {
            encode::sequence_set(out, commands);
        }
        if let Some(fragments) = &self.fragments {
            fragments.encode(out);
        }
    }
}

/// Control `session.completed`, code 2.10.
///
/// Handled by the sender (must).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionCompleted {
    /// `commands`, optional.
    pub commands: Option<SequenceSet>,
    /// `bit`.
    pub timely_reply: bool,
}

impl Packed for SessionCompleted {
    const NAME: &'static str = "session.completed";
    const FIELDS: &'static [&'static str] = &[
        "session.completed.commands",
        "session.completed.timely-reply",
    ];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            commands: fields.optional(0, Cursor::sequence_set)?,
            timely_reply: fields.bit(1),
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(
            out,
            2,
            u16::from(self.commands.is_some()) | u16::from(self.timely_reply) << 1,
        );
        if let Some(commands) = &self.commands {
            encode::sequence_set(out, commands);
        }
    }
}

/// Control `session.known-completed`, code 2.11.
///
/// Handled by the receiver (must).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionKnownCompleted {
    /// `commands`, optional.
    pub commands: Option<SequenceSet>,
}

impl Packed for SessionKnownCompleted {
    const NAME: &'static str = "session.known-completed";
    const FIELDS: &'static [&'static str] = &["session.known-completed.commands"];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            commands: fields.optional(0, Cursor::sequence_set)?,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(out, 2, u16::from(self.commands.is_some()));
        if let Some(commands) = &self.commands {
            encode::sequence_set(out, commands);
        }
    }
}

/// Control `session.flush`, code 2.12.
///
/// Handled by the receiver (must).
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
    const FIELDS: &'static [&'static str] = &[
        "session.flush.expected",
        "session.flush.confirmed",
        "session.flush.completed",
    ];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            expected: fields.bit(0),
            confirmed: fields.bit(1),
            completed: fields.bit(2),
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(
            out,
            2,
            u16::from(self.expected)
                | u16::from(self.confirmed) << 1
                | u16::from(self.completed) << 2,
        );
    }
}

/// Control `session.gap`, code 2.13.
///
/// Handled by the receiver (must).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionGap {
    /// `commands`, optional.
    pub commands: Option<SequenceSet>,
}

impl Packed for SessionGap {
    const NAME: &'static str = "session.gap";
    const FIELDS: &'static [&'static str] = &["session.gap.commands"];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            commands: fields.optional(0, Cursor::sequence_set)?,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(out, 2, u16::from(self.commands.is_some()));
        if let Some(commands) = &self.commands {
            encode::sequence_set(out, commands);
        }
    }
}
