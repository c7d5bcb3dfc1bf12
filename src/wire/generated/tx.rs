//! Class `tx` (code 5).

// Generated from spec/amqp-0-10.spec by spec/generator. Not to be edited:
// UPDATE=1 cargo test --test spec_staleness

use crate::wire::cursor::Cursor;
use crate::wire::decode_error::DecodeError;
use crate::wire::encode;
use crate::wire::packed::Packed;

/// Command `tx.select`, code 5.1.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TxSelect {}

impl Packed for TxSelect {
    const NAME: &'static str = "tx.select";

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        cursor.in_field("tx.select").packing_flags(0x0000)?;
        Ok(Self {})
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = 0x0000;
        encode::packing_flags(out, flags);
    }
}

/// Command `tx.commit`, code 5.2.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TxCommit {}

impl Packed for TxCommit {
    const NAME: &'static str = "tx.commit";

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        cursor.in_field("tx.commit").packing_flags(0x0000)?;
        Ok(Self {})
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = 0x0000;
        encode::packing_flags(out, flags);
    }
}

/// Command `tx.rollback`, code 5.3.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TxRollback {}

impl Packed for TxRollback {
    const NAME: &'static str = "tx.rollback";

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        cursor.in_field("tx.rollback").packing_flags(0x0000)?;
        Ok(Self {})
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = 0x0000;
        encode::packing_flags(out, flags);
    }
}
