//! Class `tx` (code 5), spoken by the server (should).

// Generated from spec/amqp-0-10.spec by spec/generator. Not to be edited:
// UPDATE=1 cargo test --test spec_staleness

use crate::wire::cursor::Cursor;
use crate::wire::decode_error::DecodeError;
use crate::wire::encode;
use crate::wire::fields::Fields;
use crate::wire::packed::Packed;

/// Command `tx.select`, code 5.1.
///
/// Handled by the server (must).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TxSelect {}

impl Packed for TxSelect {
    const NAME: &'static str = "tx.select";
    const FIELDS: &'static [&'static str] = &[];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        Fields::of::<Self>(cursor, 2)?;
        Ok(Self {})
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(out, 2, 0x0000);
    }
}

/// Command `tx.commit`, code 5.2.
///
/// Handled by the server (must).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TxCommit {}

impl Packed for TxCommit {
    const NAME: &'static str = "tx.commit";
    const FIELDS: &'static [&'static str] = &[];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        Fields::of::<Self>(cursor, 2)?;
        Ok(Self {})
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(out, 2, 0x0000);
    }
}

/// Command `tx.rollback`, code 5.3.
///
/// Handled by the server (must).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TxRollback {}

impl Packed for TxRollback {
    const NAME: &'static str = "tx.rollback";
    const FIELDS: &'static [&'static str] = &[];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        Fields::of::<Self>(cursor, 2)?;
        Ok(Self {})
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(out, 2, 0x0000);
    }
}
