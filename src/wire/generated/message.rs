//! Class `message` (code 4), spoken by the server (must), the client (must).

// Generated from spec/amqp-0-10.spec by spec/generator. Not to be edited:
// UPDATE=1 cargo test --test spec_staleness

use super::AcceptMode;
use super::AcquireMode;
use super::CreditUnit;
use super::FlowMode;
use super::RejectCode;
use crate::wire::Text;
use crate::wire::cursor::Cursor;
use crate::wire::decode_error::DecodeError;
use crate::wire::encode;
use crate::wire::fields::Fields;
use crate::wire::map::Map;
use crate::wire::packed::Packed;
use crate::wire::sequence_set::SequenceSet;

/// Command `message.transfer`, code 4.1.
///
/// Handled by the server (must), the client (must).
/// A header may follow.
/// A body may follow.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MessageTransfer {
    /// `destination`; absent means empty.
    pub destination: Text,
    /// `accept-mode`, optional.
    pub accept_mode: Option<AcceptMode>,
    /// `acquire-mode`, required.
    pub acquire_mode: AcquireMode,
}

impl Packed for MessageTransfer {
    const NAME: &'static str = "message.transfer";
    const FIELDS: &'static [&'static str] = &[
        "message.transfer.destination",
        "message.transfer.accept-mode",
        "message.transfer.acquire-mode",
    ];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            destination: fields.required(0, Cursor::str8)?,
            accept_mode: fields.optional(1, AcceptMode::decode)?,
            acquire_mode: fields.required(2, AcquireMode::decode)?,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(
            out,
            2,
            0x0004
                | u16::from(!self.destination.is_empty())
                | u16::from(self.accept_mode.is_some()) << 1,
        );
        if !self.destination.is_empty() {
            encode::str8(out, &self.destination);
        }
        if let Some(accept_mode) = self.accept_mode {
            encode::u8(out, accept_mode.0);
        }
        encode::u8(out, self.acquire_mode.0);
    }
}

/// Command `message.accept`, code 4.2.
///
/// Handled by the server (must), the client (must).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MessageAccept {
    /// `session.commands`, required.
    pub transfers: SequenceSet,
}

impl Packed for MessageAccept {
    const NAME: &'static str = "message.accept";
    const FIELDS: &'static [&'static str] = &["message.accept.transfers"];

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

/// Command `message.reject`, code 4.3.
///
/// Handled by the server (must), the client (must).
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
    const FIELDS: &'static [&'static str] = &[
        "message.reject.transfers",
        "message.reject.code",
        "message.reject.text",
    ];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            transfers: fields.required(0, Cursor::sequence_set)?,
            code: fields.required(1, RejectCode::decode)?,
            text: fields.optional(2, Cursor::str8)?,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(out, 2, 0x0003 | u16::from(self.text.is_some()) << 2);
        encode::sequence_set(out, &self.transfers);
        encode::u16(out, self.code.0);
        if let Some(text) = &self.text {
            encode::str8(out, text);
        }
    }
}

/// Command `message.release`, code 4.4.
///
/// Handled by the server (must), the client (may).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MessageRelease {
    /// `session.commands`, required.
    pub transfers: SequenceSet,
    /// `bit`.
    pub set_redelivered: bool,
}

impl Packed for MessageRelease {
    const NAME: &'static str = "message.release";
    const FIELDS: &'static [&'static str] = &[
        "message.release.transfers",
        "message.release.set-redelivered",
    ];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            transfers: fields.required(0, Cursor::sequence_set)?,
            set_redelivered: fields.bit(1),
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(out, 2, 0x0001 | u16::from(self.set_redelivered) << 1);
        encode::sequence_set(out, &self.transfers);
    }
}

/// Command `message.acquire`, code 4.5.
///
/// Handled by the server (must).
/// Its result is a [`MessageAcquired`](super::MessageAcquired).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MessageAcquire {
    /// `session.commands`, required.
    pub transfers: SequenceSet,
}

impl Packed for MessageAcquire {
    const NAME: &'static str = "message.acquire";
    const FIELDS: &'static [&'static str] = &["message.acquire.transfers"];

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

/// Command `message.resume`, code 4.6.
///
/// Handled by the server (must), the client (must).
/// Its result is a [`MessageResumeResult`](super::MessageResumeResult).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MessageResume {
    /// `destination`; absent means empty.
    pub destination: Text,
    /// `resume-id`, required.
    pub resume_id: Text,
}

impl Packed for MessageResume {
    const NAME: &'static str = "message.resume";
    const FIELDS: &'static [&'static str] =
        &["message.resume.destination", "message.resume.resume-id"];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            destination: fields.required(0, Cursor::str8)?,
            resume_id: fields.required(1, Cursor::str16)?,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(out, 2, 0x0002 | u16::from(!self.destination.is_empty()));
        if !self.destination.is_empty() {
            encode::str8(out, &self.destination);
        }
        encode::str16(out, &self.resume_id);
    }
}

/// Command `message.subscribe`, code 4.7.
///
/// Handled by the server (must).
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
    const FIELDS: &'static [&'static str] = &[
        "message.subscribe.queue",
        "message.subscribe.destination",
        "message.subscribe.accept-mode",
        "message.subscribe.acquire-mode",
        "message.subscribe.exclusive",
        "message.subscribe.resume-id",
        "message.subscribe.resume-ttl",
        "message.subscribe.arguments",
    ];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            queue: fields.required(0, Cursor::str8)?,
            destination: fields.required(1, Cursor::str8)?,
            accept_mode: fields.required(2, AcceptMode::decode)?,
            acquire_mode: fields.required(3, AcquireMode::decode)?,
            exclusive: fields.bit(4),
            resume_id: fields.optional(5, Cursor::str16)?,
            resume_ttl: fields.optional(6, Cursor::u64)?,
            arguments: fields.optional(7, Cursor::map)?,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(
            out,
            2,
            0x000d
                | u16::from(!self.destination.is_empty()) << 1
                | u16::from(self.exclusive) << 4
                | u16::from(self.resume_id.is_some()) << 5
                | u16::from(self.resume_ttl.is_some()) << 6
                | u16::from(self.arguments.is_some()) << 7,
        );
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
///
/// Handled by the server (must).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MessageCancel {
    /// `destination`, required.
    pub destination: Text,
}

impl Packed for MessageCancel {
    const NAME: &'static str = "message.cancel";
    const FIELDS: &'static [&'static str] = &["message.cancel.destination"];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            destination: fields.required(0, Cursor::str8)?,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(out, 2, 0x0001);
        encode::str8(out, &self.destination);
    }
}

/// Command `message.set-flow-mode`, code 4.9.
///
/// Handled by the server (must), the client (must).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MessageSetFlowMode {
    /// `destination`; absent means empty.
    pub destination: Text,
    /// `flow-mode`, required.
    pub flow_mode: FlowMode,
}

impl Packed for MessageSetFlowMode {
    const NAME: &'static str = "message.set-flow-mode";
    const FIELDS: &'static [&'static str] = &[
        "message.set-flow-mode.destination",
        "message.set-flow-mode.flow-mode",
    ];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            destination: fields.required(0, Cursor::str8)?,
            flow_mode: fields.required(1, FlowMode::decode)?,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(out, 2, 0x0002 | u16::from(!self.destination.is_empty()));
        if !self.destination.is_empty() {
            encode::str8(out, &self.destination);
        }
        encode::u8(out, self.flow_mode.0);
    }
}

/// Command `message.flow`, code 4.10.
///
/// Handled by the server (must), the client (must).
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
    const FIELDS: &'static [&'static str] = &[
        "message.flow.destination",
        "message.flow.unit",
        "message.flow.value",
    ];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            destination: fields.required(0, Cursor::str8)?,
            unit: fields.required(1, CreditUnit::decode)?,
            value: fields.optional(2, Cursor::u32)?,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(
            out,
            2,
            0x0002 | u16::from(!self.destination.is_empty()) | u16::from(self.value.is_some()) << 2,
        );
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
///
/// Handled by the server (must).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MessageFlush {
    /// `destination`; absent means empty.
    pub destination: Text,
}

impl Packed for MessageFlush {
    const NAME: &'static str = "message.flush";
    const FIELDS: &'static [&'static str] = &["message.flush.destination"];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            destination: fields.required(0, Cursor::str8)?,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(out, 2, u16::from(!self.destination.is_empty()));
        if !self.destination.is_empty() {
            encode::str8(out, &self.destination);
        }
    }
}

/// Command `message.stop`, code 4.12.
///
/// Handled by the server (must), the client (must).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MessageStop {
    /// `destination`; absent means empty.
    pub destination: Text,
}

impl Packed for MessageStop {
    const NAME: &'static str = "message.stop";
    const FIELDS: &'static [&'static str] = &["message.stop.destination"];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            destination: fields.required(0, Cursor::str8)?,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(out, 2, u16::from(!self.destination.is_empty()));
        if !self.destination.is_empty() {
            encode::str8(out, &self.destination);
        }
    }
}
