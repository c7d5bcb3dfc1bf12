//! Class `execution` (code 3).

// Generated from spec/amqp-0-10.spec by spec/generator. Not to be edited:
// UPDATE=1 cargo test --test spec_staleness

use std::fmt;

use crate::wire::Text;
use crate::wire::command_id::CommandId;
use crate::wire::cursor::Cursor;
use crate::wire::decode_error::DecodeError;
use crate::wire::encode;
use crate::wire::map::Map;
use crate::wire::packed::Packed;
use crate::wire::struct32::Struct32;

/// `execution.error-code`; values without a name are kept as they come.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ErrorCode(pub u16);

impl ErrorCode {
    /// `unauthorized-access`.
    pub const UNAUTHORIZED_ACCESS: Self = Self(403);
    /// `not-found`.
    pub const NOT_FOUND: Self = Self(404);
    /// `resource-locked`.
    pub const RESOURCE_LOCKED: Self = Self(405);
    /// `precondition-failed`.
    pub const PRECONDITION_FAILED: Self = Self(406);
    /// `resource-deleted`.
    pub const RESOURCE_DELETED: Self = Self(408);
    /// `illegal-state`.
    pub const ILLEGAL_STATE: Self = Self(409);
    /// `command-invalid`.
    pub const COMMAND_INVALID: Self = Self(503);
    /// `resource-limit-exceeded`.
    pub const RESOURCE_LIMIT_EXCEEDED: Self = Self(506);
    /// `not-allowed`.
    pub const NOT_ALLOWED: Self = Self(530);
    /// `illegal-argument`.
    pub const ILLEGAL_ARGUMENT: Self = Self(531);
    /// `not-implemented`.
    pub const NOT_IMPLEMENTED: Self = Self(540);
    /// `internal-error`.
    pub const INTERNAL_ERROR: Self = Self(541);
    /// `invalid-argument`.
    pub const INVALID_ARGUMENT: Self = Self(542);

    /// The name of the value, if it has one.
    pub fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::UNAUTHORIZED_ACCESS => "unauthorized-access",
            Self::NOT_FOUND => "not-found",
            Self::RESOURCE_LOCKED => "resource-locked",
            Self::PRECONDITION_FAILED => "precondition-failed",
            Self::RESOURCE_DELETED => "resource-deleted",
            Self::ILLEGAL_STATE => "illegal-state",
            Self::COMMAND_INVALID => "command-invalid",
            Self::RESOURCE_LIMIT_EXCEEDED => "resource-limit-exceeded",
            Self::NOT_ALLOWED => "not-allowed",
            Self::ILLEGAL_ARGUMENT => "illegal-argument",
            Self::NOT_IMPLEMENTED => "not-implemented",
            Self::INTERNAL_ERROR => "internal-error",
            Self::INVALID_ARGUMENT => "invalid-argument",
            _ => return None,
        })
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "{}", self.0),
        }
    }
}

impl fmt::Debug for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ErrorCode({}", self.0)?;
        if let Some(name) = self.name() {
            write!(f, " {name}")?;
        }
        f.write_str(")")
    }
}

/// Command `execution.sync`, code 3.1.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExecutionSync {}

impl Packed for ExecutionSync {
    const NAME: &'static str = "execution.sync";

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        cursor.in_field("execution.sync").packing_flags(0x0000)?;
        Ok(Self {})
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = 0x0000;
        encode::packing_flags(out, flags);
    }
}

/// Command `execution.result`, code 3.2.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExecutionResult {
    /// `sequence-no`, required.
    pub command_id: CommandId,
    /// `struct32`, optional.
    pub value: Option<Struct32>,
}

impl Packed for ExecutionResult {
    const NAME: &'static str = "execution.result";

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor.in_field("execution.result").packing_flags(0x0003)?;
        Ok(Self {
            command_id: if flags & 0x0001 != 0 {
                cursor
                    .in_field("execution.result.command-id")
                    .sequence_no()?
            } else {
                Default::default()
            },
            value: if flags & 0x0002 != 0 {
                Some(cursor.in_field("execution.result.value").struct32()?)
            } else {
                None
            },
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = 0x0001 | u16::from(self.value.is_some()) << 1;
        encode::packing_flags(out, flags);
        encode::u32(out, self.command_id.0);
        if let Some(value) = &self.value {
            value.encode(out);
        }
    }
}

/// Command `execution.exception`, code 3.3.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExecutionException {
    /// `error-code`, required.
    pub error_code: ErrorCode,
    /// `sequence-no`, optional.
    pub command_id: Option<CommandId>,
    /// `uint8`, optional.
    pub class_code: Option<u8>,
    /// `uint8`, optional.
    pub command_code: Option<u8>,
    /// `uint8`, optional.
    pub field_index: Option<u8>,
    /// `str16`, optional.
    pub description: Option<Text>,
    /// `map`, optional.
    pub error_info: Option<Map>,
}

impl Packed for ExecutionException {
    const NAME: &'static str = "execution.exception";

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor
            .in_field("execution.exception")
            .packing_flags(0x007f)?;
        Ok(Self {
            error_code: if flags & 0x0001 != 0 {
                cursor
                    .in_field("execution.exception.error-code")
                    .u16()
                    .map(ErrorCode)?
            } else {
                Default::default()
            },
            command_id: if flags & 0x0002 != 0 {
                Some(
                    cursor
                        .in_field("execution.exception.command-id")
                        .sequence_no()?,
                )
            } else {
                None
            },
            class_code: if flags & 0x0004 != 0 {
                Some(cursor.in_field("execution.exception.class-code").u8()?)
            } else {
                None
            },
            command_code: if flags & 0x0008 != 0 {
                Some(cursor.in_field("execution.exception.command-code").u8()?)
            } else {
                None
            },
            field_index: if flags & 0x0010 != 0 {
                Some(cursor.in_field("execution.exception.field-index").u8()?)
            } else {
                None
            },
            description: if flags & 0x0020 != 0 {
                Some(cursor.in_field("execution.exception.description").str16()?)
            } else {
                None
            },
            error_info: if flags & 0x0040 != 0 {
                Some(cursor.in_field("execution.exception.error-info").map()?)
            } else {
                None
            },
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = 0x0001
            | u16::from(self.command_id.is_some()) << 1
            | u16::from(self.class_code.is_some()) << 2
            | u16::from(self.command_code.is_some()) << 3
            | u16::from(self.field_index.is_some()) << 4
            | u16::from(self.description.is_some()) << 5
            | u16::from(self.error_info.is_some()) << 6;
        encode::packing_flags(out, flags);
        encode::u16(out, self.error_code.0);
        if let Some(command_id) = self.command_id {
            encode::u32(out, command_id.0);
        }
        if let Some(class_code) = self.class_code {
            encode::u8(out, class_code);
        }
        if let Some(command_code) = self.command_code {
            encode::u8(out, command_code);
        }
        if let Some(field_index) = self.field_index {
            encode::u8(out, field_index);
        }
        if let Some(description) = &self.description {
            encode::str16(out, description);
        }
        if let Some(error_info) = &self.error_info {
            error_info.encode(out);
        }
    }
}
