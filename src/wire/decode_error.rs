//! What was wrong with bytes: the field, its offset and the problem.

use std::fmt;

use super::generated::ErrorCode;

/// Bytes that are not AMQP 0-10, or more than a bound allows. The peer that sent them is at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecodeError {
    /// The field being read, as `class.item.field`; the item itself for its packing flags.
    pub field: &'static str,
    /// Octets from the start of the decoded bytes to where the problem lies.
    pub offset: usize,
    /// What is wrong there.
    pub problem: Problem,
}

/// What is wrong with the bytes at an offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// A value of this type needs more octets than there are.
    RunsPastEnd(&'static str),
    /// A text of this type is not UTF-8.
    NotUtf8(&'static str),
    /// Octets are left over inside a value whose size was declared, or after the last field.
    TrailingBytes(usize),
    /// The declared size or count cannot be that of a value of this type.
    BadLength(&'static str, u32),
    /// No type of 0-10 has this code, nor does its row of the code table tell a width.
    UnknownType(u8),
    /// No control, command or struct has this code.
    UnknownCode {
        /// Class code.
        class: u8,
        /// Code within the class.
        code: u8,
    },
    /// A struct with this code was needed; another came.
    OtherStruct {
        /// Code needed.
        wanted: u16,
        /// Code found.
        found: u16,
    },
    /// A struct that may come once in a header came twice.
    Repeated(u16),
    /// Packing flags are set that belong to no field.
    ReservedFlags(u16),
    /// A range whose lower end comes after its upper end.
    Inverted(u32, u32),
    /// A sequence set over more than half of all command ids, which has no order (RFC 1982).
    TooWide,
    /// Values lie deeper in each other than [`DEPTH_MAX`](super::limits::DEPTH_MAX).
    TooDeep,
    /// The decoded values would take more memory than the cursor's budget.
    OverBudget,
    /// A frame header with a framing version other than 0 or reserved bits set.
    BadFrame(&'static str),
}

impl DecodeError {
    /// The code of the `execution.exception` that answers this error inside a session:
    /// 506 for a bound of ours, 540 for codes that nobody knows, else 531 (illegal argument).
    pub fn error_code(&self) -> ErrorCode {
        match self.problem {
            Problem::TooDeep | Problem::OverBudget => ErrorCode::RESOURCE_LIMIT_EXCEEDED,
            Problem::UnknownCode { .. } => ErrorCode::NOT_IMPLEMENTED,
            _ => ErrorCode::ILLEGAL_ARGUMENT,
        }
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} at {}, offset {}",
            self.problem, self.field, self.offset
        )
    }
}

impl std::error::Error for DecodeError {}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Problem::RunsPastEnd(what) => write!(f, "{what} runs past the end"),
            Problem::NotUtf8(what) => write!(f, "{what} is not UTF-8"),
            Problem::TrailingBytes(count) => write!(f, "{count} octets left over"),
            Problem::BadLength(what, length) => write!(f, "{what} cannot have length {length}"),
            Problem::UnknownType(code) => write!(f, "unknown type 0x{code:02x}"),
            Problem::UnknownCode { class, code } => write!(f, "unknown code {class}.{code}"),
            Problem::OtherStruct { wanted, found } => {
                write!(f, "struct 0x{found:04x} where 0x{wanted:04x} belongs")
            }
            Problem::Repeated(code) => write!(f, "struct 0x{code:04x} came twice"),
            Problem::ReservedFlags(flags) => write!(f, "reserved packing flags 0x{flags:04x}"),
            Problem::Inverted(lower, upper) => write!(f, "inverted range [{lower}, {upper}]"),
            Problem::TooWide => f.write_str("sequence set wider than half of all ids"),
            Problem::TooDeep => f.write_str("values nested too deep"),
            Problem::OverBudget => f.write_str("values over the memory budget"),
            Problem::BadFrame(what) => write!(f, "{what}"),
        }
    }
}
