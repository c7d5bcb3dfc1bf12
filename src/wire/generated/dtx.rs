//! Class `dtx` (code 6), spoken by the server (may), the client (may).

// Generated from spec/amqp-0-10.spec by spec/generator. Not to be edited:
// UPDATE=1 cargo test --test spec_staleness

use crate::wire::array::Array;
use crate::wire::cursor::Cursor;
use crate::wire::decode_error::DecodeError;
use crate::wire::encode;
use crate::wire::fields::Fields;
use crate::wire::named_number;
use crate::wire::packed::Packed;
use crate::wire::packed::Struct;

named_number! {
    /// `dtx.xa-status`; values without a name are kept as they come.
    pub struct XaStatus(u16) {
        /// `xa-ok`.
        XA_OK = 0, "xa-ok";
        /// `xa-rbrollback`.
        XA_RBROLLBACK = 1, "xa-rbrollback";
        /// `xa-rbtimeout`.
        XA_RBTIMEOUT = 2, "xa-rbtimeout";
        /// `xa-heurhaz`.
        XA_HEURHAZ = 3, "xa-heurhaz";
        /// `xa-heurcom`.
        XA_HEURCOM = 4, "xa-heurcom";
        /// `xa-heurrb`.
        XA_HEURRB = 5, "xa-heurrb";
        /// `xa-heurmix`.
        XA_HEURMIX = 6, "xa-heurmix";
        /// `xa-rdonly`.
        XA_RDONLY = 7, "xa-rdonly";
    }
}

/// `dtx.xa-result`, a struct of code 0x0601.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DtxXaResult {
    /// `xa-status`, required.
    pub status: XaStatus,
}

impl Packed for DtxXaResult {
    const NAME: &'static str = "dtx.xa-result";
    const FIELDS: &'static [&'static str] = &["dtx.xa-result.status"];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            status: fields.required(0, XaStatus::decode)?,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(out, 2, 0x0001);
        encode::u16(out, self.status.0);
    }
}

impl Struct for DtxXaResult {
    const CODE: u16 = 0x0601;
}

/// `dtx.xid`, a struct of code 0x0604.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DtxXid {
    /// `uint32`, required.
    pub format: u32,
    /// `vbin8`, required.
    pub global_id: Vec<u8>,
    /// `vbin8`, required.
    pub branch_id: Vec<u8>,
}

impl Packed for DtxXid {
    const NAME: &'static str = "dtx.xid";
    const FIELDS: &'static [&'static str] =
        &["dtx.xid.format", "dtx.xid.global-id", "dtx.xid.branch-id"];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            format: fields.required(0, Cursor::u32)?,
            global_id: fields.required(1, Cursor::vbin8)?,
            branch_id: fields.required(2, Cursor::vbin8)?,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(out, 2, 0x0007);
        encode::u32(out, self.format);
        encode::vbin8(out, &self.global_id);
        encode::vbin8(out, &self.branch_id);
    }
}

impl Struct for DtxXid {
    const CODE: u16 = 0x0604;
}

/// `dtx.get-timeout-result`, a struct of code 0x0602.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DtxGetTimeoutResult {
    /// `uint32`, required.
    pub timeout: u32,
}

impl Packed for DtxGetTimeoutResult {
    const NAME: &'static str = "dtx.get-timeout-result";
    const FIELDS: &'static [&'static str] = &["dtx.get-timeout-result.timeout"];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            timeout: fields.required(0, Cursor::u32)?,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(out, 2, 0x0001);
        encode::u32(out, self.timeout);
    }
}

impl Struct for DtxGetTimeoutResult {
    const CODE: u16 = 0x0602;
}

/// `dtx.recover-result`, a struct of code 0x0603.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DtxRecoverResult {
    /// `array`, required.
    pub in_doubt: Array,
}

impl Packed for DtxRecoverResult {
    const NAME: &'static str = "dtx.recover-result";
    const FIELDS: &'static [&'static str] = &["dtx.recover-result.in-doubt"];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            in_doubt: fields.required(0, Cursor::array)?,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(out, 2, 0x0001);
        self.in_doubt.encode(out);
    }
}

impl Struct for DtxRecoverResult {
    const CODE: u16 = 0x0603;
}

/// Command `dtx.select`, code 6.1.
///
/// Handled by the server (may).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DtxSelect {}

impl Packed for DtxSelect {
    const NAME: &'static str = "dtx.select";
    const FIELDS: &'static [&'static str] = &[];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        Fields::of::<Self>(cursor, 2)?;
        Ok(Self {})
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(out, 2, 0x0000);
    }
}

/// Command `dtx.start`, code 6.2.
///
/// Handled by the server (may).
/// Its result is a [`DtxXaResult`](super::DtxXaResult).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DtxStart {
    /// `xid`, required.
    pub xid: DtxXid,
    /// `bit`.
    pub join: bool,
    /// `bit`.
    pub resume: bool,
}

impl Packed for DtxStart {
    const NAME: &'static str = "dtx.start";
    const FIELDS: &'static [&'static str] =
        &["dtx.start.xid", "dtx.start.join", "dtx.start.resume"];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            xid: fields.required(0, DtxXid::decode)?,
            join: fields.bit(1),
            resume: fields.bit(2),
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(
            out,
            2,
            0x0001 | u16::from(self.join) << 1 | u16::from(self.resume) << 2,
        );
        self.xid.encode(out);
    }
}

/// Command `dtx.end`, code 6.3.
///
/// Handled by the server (may).
/// Its result is a [`DtxXaResult`](super::DtxXaResult).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DtxEnd {
    /// `xid`, required.
    pub xid: DtxXid,
    /// `bit`.
    pub fail: bool,
    /// `bit`.
    pub suspend: bool,
}

impl Packed for DtxEnd {
    const NAME: &'static str = "dtx.end";
    const FIELDS: &'static [&'static str] = &["dtx.end.xid", "dtx.end.fail", "dtx.end.suspend"];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            xid: fields.required(0, DtxXid::decode)?,
            fail: fields.bit(1),
            suspend: fields.bit(2),
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(
            out,
            2,
            0x0001 | u16::from(self.fail) << 1 | u16::from(self.suspend) << 2,
        );
        self.xid.encode(out);
    }
}

/// Command `dtx.commit`, code 6.4.
///
/// Handled by the server (may).
/// Its result is a [`DtxXaResult`](super::DtxXaResult).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DtxCommit {
    /// `xid`, required.
    pub xid: DtxXid,
    /// `bit`.
    pub one_phase: bool,
}

impl Packed for DtxCommit {
    const NAME: &'static str = "dtx.commit";
    const FIELDS: &'static [&'static str] = &["dtx.commit.xid", "dtx.commit.one-phase"];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            xid: fields.required(0, DtxXid::decode)?,
            one_phase: fields.bit(1),
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(out, 2, 0x0001 | u16::from(self.one_phase) << 1);
        self.xid.encode(out);
    }
}

/// Command `dtx.forget`, code 6.5.
///
/// Handled by the server (may).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DtxForget {
    /// `xid`, required.
    pub xid: DtxXid,
}

impl Packed for DtxForget {
    const NAME: &'static str = "dtx.forget";
    const FIELDS: &'static [&'static str] = &["dtx.forget.xid"];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            xid: fields.required(0, DtxXid::decode)?,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(out, 2, 0x0001);
        self.xid.encode(out);
    }
}

/// Command `dtx.get-timeout`, code 6.6.
///
/// Handled by the server (may).
/// Its result is a [`DtxGetTimeoutResult`](super::DtxGetTimeoutResult).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DtxGetTimeout {
    /// `xid`, required.
    pub xid: DtxXid,
}

impl Packed for DtxGetTimeout {
    const NAME: &'static str = "dtx.get-timeout";
    const FIELDS: &'static [&'static str] = &["dtx.get-timeout.xid"];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            xid: fields.required(0, DtxXid::decode)?,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(out, 2, 0x0001);
        self.xid.encode(out);
    }
}

/// Command `dtx.prepare`, code 6.7.
///
/// Handled by the server (may).
/// Its result is a [`DtxXaResult`](super::DtxXaResult).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DtxPrepare {
    /// `xid`, required.
    pub xid: DtxXid,
}

impl Packed for DtxPrepare {
    const NAME: &'static str = "dtx.prepare";
    const FIELDS: &'static [&'static str] = &["dtx.prepare.xid"];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            xid: fields.required(0, DtxXid::decode)?,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(out, 2, 0x0001);
        self.xid.encode(out);
    }
}

/// Command `dtx.recover`, code 6.8.
///
/// Handled by the server (may).
/// Its result is a [`DtxRecoverResult`](super::DtxRecoverResult).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DtxRecover {}

impl Packed for DtxRecover {
    const NAME: &'static str = "dtx.recover";
    const FIELDS: &'static [&'static str] = &[];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        Fields::of::<Self>(cursor, 2)?;
        Ok(Self {})
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(out, 2, 0x0000);
    }
}

/// Command `dtx.rollback`, code 6.9.
///
/// Handled by the server (may).
/// Its result is a [`DtxXaResult`](super::DtxXaResult).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DtxRollback {
    /// `xid`, required.
    pub xid: DtxXid,
}

impl Packed for DtxRollback {
    const NAME: &'static str = "dtx.rollback";
    const FIELDS: &'static [&'static str] = &["dtx.rollback.xid"];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            xid: fields.required(0, DtxXid::decode)?,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(out, 2, 0x0001);
        self.xid.encode(out);
    }
}

/// Command `dtx.set-timeout`, code 6.10.
///
/// Handled by the server (may).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DtxSetTimeout {
    /// `xid`, required.
    pub xid: DtxXid,
    /// `uint32`, required.
    pub timeout: u32,
}

impl Packed for DtxSetTimeout {
    const NAME: &'static str = "dtx.set-timeout";
    const FIELDS: &'static [&'static str] = &["dtx.set-timeout.xid", "dtx.set-timeout.timeout"];

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut fields = Fields::of::<Self>(cursor, 2)?;
        Ok(Self {
            xid: fields.required(0, DtxXid::decode)?,
            timeout: fields.required(1, Cursor::u32)?,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        encode::packing_flags(out, 2, 0x0003);
        self.xid.encode(out);
        encode::u32(out, self.timeout);
    }
}
