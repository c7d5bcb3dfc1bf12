//! What can go wrong, and who said so.

use std::{fmt, io};

use crate::protocol::ClosedBy;
use crate::wire::{CloseCode, DecodeError, DetachCode, ExecutionException, Text};

/// Why a command, a session or a connection failed.
#[derive(Clone, Debug, PartialEq)]
pub enum Error {
    /// The socket.
    Io {
        /// The operating system's kind of error.
        kind: io::ErrorKind,
        /// Its words.
        text: String,
    },
    /// The broker did not answer in time.
    TimedOut,
    /// The URL names no address that we can reach: its protocols are unknown here.
    NoAddress,
    /// The broker lets us in without having proved that it knows the password: it may be another.
    NotProved,
    /// The broker offers no SASL mechanism that we can use.
    NoMechanism {
        /// What it offers.
        offered: Vec<Text>,
    },
    /// The broker wants us to connect elsewhere, and did so too often.
    Redirected {
        /// Where.
        host: Text,
    },
    /// The connection is closed.
    Closed {
        /// The code of `connection.close`.
        code: CloseCode,
        /// Its text.
        text: String,
        /// Who closed it.
        by: ClosedBy,
    },
    /// A command of the session failed, and the session ended with it.
    Exception(Box<ExecutionException>),
    /// The session is not attached, or no longer.
    Detached(DetachCode),
    /// The connection was lost, and the broker that was found again knows of no such session: what was
    /// sent last may be done or not.
    SessionLost,
    /// Every channel of the connection carries a session.
    NoChannel,
    /// What the broker sent as a result or a message cannot be read.
    Decode(DecodeError),
    /// A command that must have a result was completed without one.
    NoResult,
}

impl Error {
    /// The code of the exception, close or detach, if it is one of those.
    pub fn code(&self) -> Option<u16> {
        match self {
            Error::Closed { code, .. } => Some(code.0),
            Error::Exception(exception) => Some(exception.error_code.0),
            Error::Detached(code) => Some(u16::from(code.0)),
            _ => None,
        }
    }
}

impl Error {
    /// Whether the broker has refused us, and closed the connection to say so: it is there, and will
    /// hardly think better of it soon.
    pub fn is_refusal(&self) -> bool {
        let forced = CloseCode::CONNECTION_FORCED;
        matches!(self, Error::Closed { code, by: ClosedBy::Peer, .. } if *code == forced)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Io { text, .. } => write!(f, "{text}"),
            Error::TimedOut => f.write_str("the broker does not answer in time"),
            Error::NoAddress => f.write_str("no address to connect to"),
            Error::NotProved => f.write_str(
                "the broker has not proved that it knows the password: it may be another",
            ),
            Error::NoMechanism { offered } => {
                write!(f, "no usable mechanism; the broker offers {offered:?}")
            }
            Error::Redirected { host } => write!(f, "redirected to {host}"),
            Error::Closed { code, text, .. } => {
                write!(f, "connection closed: {} {code}: {text}", code.0)
            }
            Error::Exception(exception) => {
                let text = exception.description.as_deref().unwrap_or_default();
                write!(
                    f,
                    "{} {}: {text}",
                    exception.error_code.0, exception.error_code
                )
            }
            Error::Detached(code) => write!(f, "session detached: {code}"),
            Error::SessionLost => f.write_str("the broker has lost the session"),
            Error::NoChannel => f.write_str("no channel is free"),
            Error::Decode(error) => write!(f, "{error}"),
            Error::NoResult => f.write_str("completed without a result"),
        }
    }
}

impl std::error::Error for Error {}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Error::Io {
            kind: error.kind(),
            text: error.to_string(),
        }
    }
}

impl From<DecodeError> for Error {
    fn from(error: DecodeError) -> Self {
        Error::Decode(error)
    }
}
