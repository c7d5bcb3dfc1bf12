//! All controls.

// Generated from spec/amqp-0-10.spec by spec/generator. Not to be edited:
// UPDATE=1 cargo test --test spec_staleness

use super::ConnectionClose;
use super::ConnectionCloseOk;
use super::ConnectionHeartbeat;
use super::ConnectionOpen;
use super::ConnectionOpenOk;
use super::ConnectionRedirect;
use super::ConnectionSecure;
use super::ConnectionSecureOk;
use super::ConnectionStart;
use super::ConnectionStartOk;
use super::ConnectionTune;
use super::ConnectionTuneOk;
use super::SessionAttach;
use super::SessionAttached;
use super::SessionCommandPoint;
use super::SessionCompleted;
use super::SessionConfirmed;
use super::SessionDetach;
use super::SessionDetached;
use super::SessionExpected;
use super::SessionFlush;
use super::SessionGap;
use super::SessionKnownCompleted;
use super::SessionRequestTimeout;
use super::SessionTimeout;
use crate::wire::cursor::Cursor;
use crate::wire::decode_error::{DecodeError, Problem};
use crate::wire::packed::Packed;

/// Any of the controls.
#[derive(Clone, Debug, PartialEq)]
pub enum Control {
    /// `connection.start`.
    ConnectionStart(ConnectionStart),
    /// `connection.start-ok`.
    ConnectionStartOk(ConnectionStartOk),
    /// `connection.secure`.
    ConnectionSecure(ConnectionSecure),
    /// `connection.secure-ok`.
    ConnectionSecureOk(ConnectionSecureOk),
    /// `connection.tune`.
    ConnectionTune(ConnectionTune),
    /// `connection.tune-ok`.
    ConnectionTuneOk(ConnectionTuneOk),
    /// `connection.open`.
    ConnectionOpen(ConnectionOpen),
    /// `connection.open-ok`.
    ConnectionOpenOk(ConnectionOpenOk),
    /// `connection.redirect`.
    ConnectionRedirect(ConnectionRedirect),
    /// `connection.heartbeat`.
    ConnectionHeartbeat(ConnectionHeartbeat),
    /// `connection.close`.
    ConnectionClose(ConnectionClose),
    /// `connection.close-ok`.
    ConnectionCloseOk(ConnectionCloseOk),
    /// `session.attach`.
    SessionAttach(SessionAttach),
    /// `session.attached`.
    SessionAttached(SessionAttached),
    /// `session.detach`.
    SessionDetach(SessionDetach),
    /// `session.detached`.
    SessionDetached(SessionDetached),
    /// `session.request-timeout`.
    SessionRequestTimeout(SessionRequestTimeout),
    /// `session.timeout`.
    SessionTimeout(SessionTimeout),
    /// `session.command-point`.
    SessionCommandPoint(SessionCommandPoint),
    /// `session.expected`.
    SessionExpected(SessionExpected),
    /// `session.confirmed`.
    SessionConfirmed(SessionConfirmed),
    /// `session.completed`.
    SessionCompleted(SessionCompleted),
    /// `session.known-completed`.
    SessionKnownCompleted(SessionKnownCompleted),
    /// `session.flush`.
    SessionFlush(SessionFlush),
    /// `session.gap`.
    SessionGap(SessionGap),
}

impl Control {
    /// Reads a whole control segment: class, code, fields, and nothing behind them.
    pub fn decode(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let (class, code) = cursor.codes("control")?;
        Self::decode_fields(cursor, class, code)
    }

    /// Appends class, code and fields.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let (class, code) = self.code();
        out.extend_from_slice(&[class, code]);
        self.encode_fields(out);
    }

    fn decode_fields(cursor: &mut Cursor<'_>, class: u8, code: u8) -> Result<Self, DecodeError> {
        let item = match (class, code) {
            (1, 1) => ConnectionStart::decode_fields(cursor).map(Self::ConnectionStart)?,
            (1, 2) => ConnectionStartOk::decode_fields(cursor).map(Self::ConnectionStartOk)?,
            (1, 3) => ConnectionSecure::decode_fields(cursor).map(Self::ConnectionSecure)?,
            (1, 4) => ConnectionSecureOk::decode_fields(cursor).map(Self::ConnectionSecureOk)?,
            (1, 5) => ConnectionTune::decode_fields(cursor).map(Self::ConnectionTune)?,
            (1, 6) => ConnectionTuneOk::decode_fields(cursor).map(Self::ConnectionTuneOk)?,
            (1, 7) => ConnectionOpen::decode_fields(cursor).map(Self::ConnectionOpen)?,
            (1, 8) => ConnectionOpenOk::decode_fields(cursor).map(Self::ConnectionOpenOk)?,
            (1, 9) => ConnectionRedirect::decode_fields(cursor).map(Self::ConnectionRedirect)?,
            (1, 10) => ConnectionHeartbeat::decode_fields(cursor).map(Self::ConnectionHeartbeat)?,
            (1, 11) => ConnectionClose::decode_fields(cursor).map(Self::ConnectionClose)?,
            (1, 12) => ConnectionCloseOk::decode_fields(cursor).map(Self::ConnectionCloseOk)?,
            (2, 1) => SessionAttach::decode_fields(cursor).map(Self::SessionAttach)?,
            (2, 2) => SessionAttached::decode_fields(cursor).map(Self::SessionAttached)?,
            (2, 3) => SessionDetach::decode_fields(cursor).map(Self::SessionDetach)?,
            (2, 4) => SessionDetached::decode_fields(cursor).map(Self::SessionDetached)?,
            (2, 5) => {
                SessionRequestTimeout::decode_fields(cursor).map(Self::SessionRequestTimeout)?
            }
            (2, 6) => SessionTimeout::decode_fields(cursor).map(Self::SessionTimeout)?,
            (2, 7) => SessionCommandPoint::decode_fields(cursor).map(Self::SessionCommandPoint)?,
            (2, 8) => SessionExpected::decode_fields(cursor).map(Self::SessionExpected)?,
            (2, 9) => SessionConfirmed::decode_fields(cursor).map(Self::SessionConfirmed)?,
            (2, 10) => SessionCompleted::decode_fields(cursor).map(Self::SessionCompleted)?,
            (2, 11) => {
                SessionKnownCompleted::decode_fields(cursor).map(Self::SessionKnownCompleted)?
            }
            (2, 12) => SessionFlush::decode_fields(cursor).map(Self::SessionFlush)?,
            (2, 13) => SessionGap::decode_fields(cursor).map(Self::SessionGap)?,
            _ => return Err(cursor.error(Problem::UnknownCode { class, code })),
        };
        cursor.finish()?;
        Ok(item)
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        match self {
            Self::ConnectionStart(item) => item.encode_fields(out),
            Self::ConnectionStartOk(item) => item.encode_fields(out),
            Self::ConnectionSecure(item) => item.encode_fields(out),
            Self::ConnectionSecureOk(item) => item.encode_fields(out),
            Self::ConnectionTune(item) => item.encode_fields(out),
            Self::ConnectionTuneOk(item) => item.encode_fields(out),
            Self::ConnectionOpen(item) => item.encode_fields(out),
            Self::ConnectionOpenOk(item) => item.encode_fields(out),
            Self::ConnectionRedirect(item) => item.encode_fields(out),
            Self::ConnectionHeartbeat(item) => item.encode_fields(out),
            Self::ConnectionClose(item) => item.encode_fields(out),
            Self::ConnectionCloseOk(item) => item.encode_fields(out),
            Self::SessionAttach(item) => item.encode_fields(out),
            Self::SessionAttached(item) => item.encode_fields(out),
            Self::SessionDetach(item) => item.encode_fields(out),
            Self::SessionDetached(item) => item.encode_fields(out),
            Self::SessionRequestTimeout(item) => item.encode_fields(out),
            Self::SessionTimeout(item) => item.encode_fields(out),
            Self::SessionCommandPoint(item) => item.encode_fields(out),
            Self::SessionExpected(item) => item.encode_fields(out),
            Self::SessionConfirmed(item) => item.encode_fields(out),
            Self::SessionCompleted(item) => item.encode_fields(out),
            Self::SessionKnownCompleted(item) => item.encode_fields(out),
            Self::SessionFlush(item) => item.encode_fields(out),
            Self::SessionGap(item) => item.encode_fields(out),
        }
    }

    /// The name, as `class.item`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::ConnectionStart(_) => ConnectionStart::NAME,
            Self::ConnectionStartOk(_) => ConnectionStartOk::NAME,
            Self::ConnectionSecure(_) => ConnectionSecure::NAME,
            Self::ConnectionSecureOk(_) => ConnectionSecureOk::NAME,
            Self::ConnectionTune(_) => ConnectionTune::NAME,
            Self::ConnectionTuneOk(_) => ConnectionTuneOk::NAME,
            Self::ConnectionOpen(_) => ConnectionOpen::NAME,
            Self::ConnectionOpenOk(_) => ConnectionOpenOk::NAME,
            Self::ConnectionRedirect(_) => ConnectionRedirect::NAME,
            Self::ConnectionHeartbeat(_) => ConnectionHeartbeat::NAME,
            Self::ConnectionClose(_) => ConnectionClose::NAME,
            Self::ConnectionCloseOk(_) => ConnectionCloseOk::NAME,
            Self::SessionAttach(_) => SessionAttach::NAME,
            Self::SessionAttached(_) => SessionAttached::NAME,
            Self::SessionDetach(_) => SessionDetach::NAME,
            Self::SessionDetached(_) => SessionDetached::NAME,
            Self::SessionRequestTimeout(_) => SessionRequestTimeout::NAME,
            Self::SessionTimeout(_) => SessionTimeout::NAME,
            Self::SessionCommandPoint(_) => SessionCommandPoint::NAME,
            Self::SessionExpected(_) => SessionExpected::NAME,
            Self::SessionConfirmed(_) => SessionConfirmed::NAME,
            Self::SessionCompleted(_) => SessionCompleted::NAME,
            Self::SessionKnownCompleted(_) => SessionKnownCompleted::NAME,
            Self::SessionFlush(_) => SessionFlush::NAME,
            Self::SessionGap(_) => SessionGap::NAME,
        }
    }

    /// Class code, and the code of the control within the class.
    pub fn code(&self) -> (u8, u8) {
        match self {
            Self::ConnectionStart(_) => (1, 1),
            Self::ConnectionStartOk(_) => (1, 2),
            Self::ConnectionSecure(_) => (1, 3),
            Self::ConnectionSecureOk(_) => (1, 4),
            Self::ConnectionTune(_) => (1, 5),
            Self::ConnectionTuneOk(_) => (1, 6),
            Self::ConnectionOpen(_) => (1, 7),
            Self::ConnectionOpenOk(_) => (1, 8),
            Self::ConnectionRedirect(_) => (1, 9),
            Self::ConnectionHeartbeat(_) => (1, 10),
            Self::ConnectionClose(_) => (1, 11),
            Self::ConnectionCloseOk(_) => (1, 12),
            Self::SessionAttach(_) => (2, 1),
            Self::SessionAttached(_) => (2, 2),
            Self::SessionDetach(_) => (2, 3),
            Self::SessionDetached(_) => (2, 4),
            Self::SessionRequestTimeout(_) => (2, 5),
            Self::SessionTimeout(_) => (2, 6),
            Self::SessionCommandPoint(_) => (2, 7),
            Self::SessionExpected(_) => (2, 8),
            Self::SessionConfirmed(_) => (2, 9),
            Self::SessionCompleted(_) => (2, 10),
            Self::SessionKnownCompleted(_) => (2, 11),
            Self::SessionFlush(_) => (2, 12),
            Self::SessionGap(_) => (2, 13),
        }
    }
}

macro_rules! from_items {
($($item:ident)*) => {
$(impl From<$item> for Control {
fn from(item: $item) -> Self {
Self::$item(item)
}
})*
};
}

from_items! {
    ConnectionStart
    ConnectionStartOk
    ConnectionSecure
    ConnectionSecureOk
    ConnectionTune
    ConnectionTuneOk
    ConnectionOpen
    ConnectionOpenOk
    ConnectionRedirect
    ConnectionHeartbeat
    ConnectionClose
    ConnectionCloseOk
    SessionAttach
    SessionAttached
    SessionDetach
    SessionDetached
    SessionRequestTimeout
    SessionTimeout
    SessionCommandPoint
    SessionExpected
    SessionConfirmed
    SessionCompleted
    SessionKnownCompleted
    SessionFlush
    SessionGap
}
