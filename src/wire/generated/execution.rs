//! Class `execution` (code 3), spoken by the server (must), the client (must).

// Generated from spec/amqp-0-10.spec by spec/generator. Not to be edited:
// UPDATE=1 cargo test --test spec_staleness

use crate::wire::Text;
use crate::wire::command_id::CommandId;
use crate::wire::cursor::Cursor;
use crate::wire::decode_error::DecodeError;
use crate::wire::encode;
use crate::wire::fields::Fields;
use crate::wire::map::Map;
use crate::wire::named_number;
use crate::wire::packed::Packed;
use crate::wire::struct32::Struct32;

named_number! {
    /// `execution.error-code`; values without a name are kept as they come.
    pub struct ErrorCode(u16) {
        /// `unauthorized-access`.
        UNAUTHORIZED_ACCESS = 403, "unauthorized-access";
        /// `not-found`.
        NOT_FOUND = 404, "not-found";
        /// `resource-locked`.
        RESOURCE_LOCKED = 405, "resource-locked";
        /// `precondition-failed`.
        PRECONDITION_FAILED = 406, "precondition-failed";
        /// `resource-deleted`.
        RESOURCE_DELETED = 408, "resource-deleted";
        /// `illegal-state`.
        ILLEGAL_STATE = 409, "illegal-state";
        /// `command-invalid`.
        COMMAND_INVALID = 503, "command-invalid";
        /// `resource-limit-exceeded`.
        RESOURCE_LIMIT_EXCEEDED = 506, "resource-limit-exceeded";
        /// `not-allowed`.
        NOT_ALLOWED = 530, "not-allowed";
        /// `illegal-argument`.
        ILLEGAL_ARGUMENT = 531, "illegal-argument";
        /// `not-implemented`.
        NOT_IMPLEMENTED = 540, "not-implemented";
        /// `internal-error`.
        INTERNAL_ERROR = 541, "internal-error";
        /// `invalid-argument`.
        INVALID_ARGUMENT = 542, "invalid-argument";
    }
}

/// Command `execution.sync`, code 3.1.
///
/// Handled by the server (must), the client (must).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExecutionSync {}

impl Packed for ExecutionSync {
    const NAME: &'static str = "execution.sync";
    const FIELDS: &'static [&'static str] = &[];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        Fields::of::<Self>(cursor, 2)?;
        Ok(Self {})
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(out, 2, 0x0000);
    }
}

/// Command `execution.result`, code 3.2.
///
/// Handled by the server (must), the client (must).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExecutionResult {
    /// `sequence-no`, required.
    pub command_id: CommandId,
    /// `struct32`, optional.
    pub value: Option<Struct32>,
}

impl Packed for ExecutionResult {
    const NAME: &'static str = "execution.result";
    const FIELDS: &'static [&'static str] =
        &["execution.result.command-id", "execution.result.value"];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            command_id: fields.required(0, Cursor::sequence_no)?,
            value: fields.optional(1, Cursor::struct32)?,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(out, 2, 0x0001 | u16::from(self.value.is_some()) << 1);
        encode::u32(out, self.command_id.0);
        if let Some(value) = &self.value {
            value.encode(out);
        }
    }
}

/// Command `execution.exception`, code 3.3.
///
/// Handled by the client (must), the server (must).
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
    const FIELDS: &'static [&'static str] = &[
        "execution.exception.error-code",
        "execution.exception.command-id",
        "execution.exception.class-code",
        "execution.exception.command-code",
        "execution.exception.field-index",
        "execution.exception.description",
        "execution.exception.error-info",
    ];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            error_code: fields.required(0, ErrorCode::decode)?,
            command_id: fields.optional(1, Cursor::sequence_no)?,
            class_code: fields.optional(2, Cursor::u8)?,
            command_code: fields.optional(3, Cursor::u8)?,
            field_index: fields.optional(4, Cursor::u8)?,
            description: fields.optional(5, Cursor::str16)?,
            error_info: fields.optional(6, Cursor::map)?,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(
            out,
            2,
            0x0001
                | u16::from(self.command_id.is_some()) << 1
                | u16::from(self.class_code.is_some()) << 2
                | u16::from(self.command_code.is_some()) << 3
                | u16::from(self.field_index.is_some()) << 4
                | u16::from(self.description.is_some()) << 5
                | u16::from(self.error_info.is_some()) << 6,
        );
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
