//! Class `dtx` (code 6).

// Generated from spec/amqp-0-10.spec by spec/generator. Not to be edited:
// UPDATE=1 cargo test --test spec_staleness

use std::fmt;

use crate::wire::array::Array;
use crate::wire::cursor::Cursor;
use crate::wire::decode_error::DecodeError;
use crate::wire::encode;
use crate::wire::packed::Packed;
use crate::wire::packed::Struct;

/// `dtx.xa-status`; values without a name are kept as they come.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct XaStatus(pub u16);

impl XaStatus {
    /// `xa-ok`.
    pub const XA_OK: Self = Self(0);
    /// `xa-rbrollback`.
    pub const XA_RBROLLBACK: Self = Self(1);
    /// `xa-rbtimeout`.
    pub const XA_RBTIMEOUT: Self = Self(2);
    /// `xa-heurhaz`.
    pub const XA_HEURHAZ: Self = Self(3);
    /// `xa-heurcom`.
    pub const XA_HEURCOM: Self = Self(4);
    /// `xa-heurrb`.
    pub const XA_HEURRB: Self = Self(5);
    /// `xa-heurmix`.
    pub const XA_HEURMIX: Self = Self(6);
    /// `xa-rdonly`.
    pub const XA_RDONLY: Self = Self(7);

    /// The name of the value, if it has one.
    pub fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::XA_OK => "xa-ok",
            Self::XA_RBROLLBACK => "xa-rbrollback",
            Self::XA_RBTIMEOUT => "xa-rbtimeout",
            Self::XA_HEURHAZ => "xa-heurhaz",
            Self::XA_HEURCOM => "xa-heurcom",
            Self::XA_HEURRB => "xa-heurrb",
            Self::XA_HEURMIX => "xa-heurmix",
            Self::XA_RDONLY => "xa-rdonly",
            _ => return None,
        })
    }
}

impl fmt::Display for XaStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "{}", self.0),
        }
    }
}

impl fmt::Debug for XaStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "XaStatus({}", self.0)?;
        if let Some(name) = self.name() {
            write!(f, " {name}")?;
        }
        f.write_str(")")
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

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor.in_field("dtx.xa-result").packing_flags(0x0001)?;
        Ok(Self {
            status: if flags & 0x0001 != 0 {
                cursor
                    .in_field("dtx.xa-result.status")
                    .u16()
                    .map(XaStatus)?
            } else {
                Default::default()
            },
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = 0x0001;
        encode::packing_flags(out, flags);
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

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor.in_field("dtx.xid").packing_flags(0x0007)?;
        Ok(Self {
            format: if flags & 0x0001 != 0 {
                cursor.in_field("dtx.xid.format").u32()?
            } else {
                Default::default()
            },
            global_id: if flags & 0x0002 != 0 {
                cursor.in_field("dtx.xid.global-id").vbin8()?
            } else {
                Default::default()
            },
            branch_id: if flags & 0x0004 != 0 {
                cursor.in_field("dtx.xid.branch-id").vbin8()?
            } else {
                Default::default()
            },
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = 0x0007;
        encode::packing_flags(out, flags);
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

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor
            .in_field("dtx.get-timeout-result")
            .packing_flags(0x0001)?;
        Ok(Self {
            timeout: if flags & 0x0001 != 0 {
                cursor.in_field("dtx.get-timeout-result.timeout").u32()?
            } else {
                Default::default()
            },
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = 0x0001;
        encode::packing_flags(out, flags);
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

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor
            .in_field("dtx.recover-result")
            .packing_flags(0x0001)?;
        Ok(Self {
            in_doubt: if flags & 0x0001 != 0 {
                cursor.in_field("dtx.recover-result.in-doubt").array()?
            } else {
                Default::default()
            },
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = 0x0001;
        encode::packing_flags(out, flags);
        self.in_doubt.encode(out);
    }
}

impl Struct for DtxRecoverResult {
    const CODE: u16 = 0x0603;
}

/// Command `dtx.select`, code 6.1.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DtxSelect {}

impl Packed for DtxSelect {
    const NAME: &'static str = "dtx.select";

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        cursor.in_field("dtx.select").packing_flags(0x0000)?;
        Ok(Self {})
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = 0x0000;
        encode::packing_flags(out, flags);
    }
}

/// Command `dtx.start`, code 6.2. Its result is a [`DtxXaResult`].
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

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor.in_field("dtx.start").packing_flags(0x0007)?;
        Ok(Self {
            xid: if flags & 0x0001 != 0 {
                cursor
                    .in_field("dtx.start.xid")
                    .coded::<DtxXid, _>(DtxXid::decode_fields)?
            } else {
                Default::default()
            },
            join: flags & 0x0002 != 0,
            resume: flags & 0x0004 != 0,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = 0x0001 | u16::from(self.join) << 1 | u16::from(self.resume) << 2;
        encode::packing_flags(out, flags);
        encode::coded(out, &self.xid);
    }
}

/// Command `dtx.end`, code 6.3. Its result is a [`DtxXaResult`].
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

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor.in_field("dtx.end").packing_flags(0x0007)?;
        Ok(Self {
            xid: if flags & 0x0001 != 0 {
                cursor
                    .in_field("dtx.end.xid")
                    .coded::<DtxXid, _>(DtxXid::decode_fields)?
            } else {
                Default::default()
            },
            fail: flags & 0x0002 != 0,
            suspend: flags & 0x0004 != 0,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = 0x0001 | u16::from(self.fail) << 1 | u16::from(self.suspend) << 2;
        encode::packing_flags(out, flags);
        encode::coded(out, &self.xid);
    }
}

/// Command `dtx.commit`, code 6.4. Its result is a [`DtxXaResult`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DtxCommit {
    /// `xid`, required.
    pub xid: DtxXid,
    /// `bit`.
    pub one_phase: bool,
}

impl Packed for DtxCommit {
    const NAME: &'static str = "dtx.commit";

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor.in_field("dtx.commit").packing_flags(0x0003)?;
        Ok(Self {
            xid: if flags & 0x0001 != 0 {
                cursor
                    .in_field("dtx.commit.xid")
                    .coded::<DtxXid, _>(DtxXid::decode_fields)?
            } else {
                Default::default()
            },
            one_phase: flags & 0x0002 != 0,
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = 0x0001 | u16::from(self.one_phase) << 1;
        encode::packing_flags(out, flags);
        encode::coded(out, &self.xid);
    }
}

/// Command `dtx.forget`, code 6.5.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DtxForget {
    /// `xid`, required.
    pub xid: DtxXid,
}

impl Packed for DtxForget {
    const NAME: &'static str = "dtx.forget";

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor.in_field("dtx.forget").packing_flags(0x0001)?;
        Ok(Self {
            xid: if flags & 0x0001 != 0 {
                cursor
                    .in_field("dtx.forget.xid")
                    .coded::<DtxXid, _>(DtxXid::decode_fields)?
            } else {
                Default::default()
            },
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = 0x0001;
        encode::packing_flags(out, flags);
        encode::coded(out, &self.xid);
    }
}

/// Command `dtx.get-timeout`, code 6.6. Its result is a [`DtxGetTimeoutResult`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DtxGetTimeout {
    /// `xid`, required.
    pub xid: DtxXid,
}

impl Packed for DtxGetTimeout {
    const NAME: &'static str = "dtx.get-timeout";

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor.in_field("dtx.get-timeout").packing_flags(0x0001)?;
        Ok(Self {
            xid: if flags & 0x0001 != 0 {
                cursor
                    .in_field("dtx.get-timeout.xid")
                    .coded::<DtxXid, _>(DtxXid::decode_fields)?
            } else {
                Default::default()
            },
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = 0x0001;
        encode::packing_flags(out, flags);
        encode::coded(out, &self.xid);
    }
}

/// Command `dtx.prepare`, code 6.7. Its result is a [`DtxXaResult`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DtxPrepare {
    /// `xid`, required.
    pub xid: DtxXid,
}

impl Packed for DtxPrepare {
    const NAME: &'static str = "dtx.prepare";

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor.in_field("dtx.prepare").packing_flags(0x0001)?;
        Ok(Self {
            xid: if flags & 0x0001 != 0 {
                cursor
                    .in_field("dtx.prepare.xid")
                    .coded::<DtxXid, _>(DtxXid::decode_fields)?
            } else {
                Default::default()
            },
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = 0x0001;
        encode::packing_flags(out, flags);
        encode::coded(out, &self.xid);
    }
}

/// Command `dtx.recover`, code 6.8. Its result is a [`DtxRecoverResult`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DtxRecover {}

impl Packed for DtxRecover {
    const NAME: &'static str = "dtx.recover";

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        cursor.in_field("dtx.recover").packing_flags(0x0000)?;
        Ok(Self {})
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = 0x0000;
        encode::packing_flags(out, flags);
    }
}

/// Command `dtx.rollback`, code 6.9. Its result is a [`DtxXaResult`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DtxRollback {
    /// `xid`, required.
    pub xid: DtxXid,
}

impl Packed for DtxRollback {
    const NAME: &'static str = "dtx.rollback";

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor.in_field("dtx.rollback").packing_flags(0x0001)?;
        Ok(Self {
            xid: if flags & 0x0001 != 0 {
                cursor
                    .in_field("dtx.rollback.xid")
                    .coded::<DtxXid, _>(DtxXid::decode_fields)?
            } else {
                Default::default()
            },
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = 0x0001;
        encode::packing_flags(out, flags);
        encode::coded(out, &self.xid);
    }
}

/// Command `dtx.set-timeout`, code 6.10.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DtxSetTimeout {
    /// `xid`, required.
    pub xid: DtxXid,
    /// `uint32`, required.
    pub timeout: u32,
}

impl Packed for DtxSetTimeout {
    const NAME: &'static str = "dtx.set-timeout";

    fn decode_fields(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor.in_field("dtx.set-timeout").packing_flags(0x0003)?;
        Ok(Self {
            xid: if flags & 0x0001 != 0 {
                cursor
                    .in_field("dtx.set-timeout.xid")
                    .coded::<DtxXid, _>(DtxXid::decode_fields)?
            } else {
                Default::default()
            },
            timeout: if flags & 0x0002 != 0 {
                cursor.in_field("dtx.set-timeout.timeout").u32()?
            } else {
                Default::default()
            },
        })
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let flags: u16 = 0x0003;
        encode::packing_flags(out, flags);
        encode::coded(out, &self.xid);
        encode::u32(out, self.timeout);
    }
}
