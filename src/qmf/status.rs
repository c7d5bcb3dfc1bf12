//! How a request ended.

use std::borrow::Cow;

use super::limits::FAULT_TEXT_BYTES_MAX;
use crate::wire::cut;

/// How a method call ended; the numbers are qpidd's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Done.
    Ok,
    /// There is no such object.
    UnknownObject,
    /// Its class has no such method.
    UnknownMethod,
    /// The method is there, and does nothing.
    NotImplemented,
    /// An argument is not what it should be.
    InvalidParameter,
    /// The method cannot do this.
    FeatureNotImplemented,
    /// The user may not do this.
    Forbidden,
    /// What was tried failed, with the text of the exception.
    Exception,
    /// A number of the method's own, added to 65536.
    User(u16),
}

impl Status {
    /// The number on the wire.
    pub fn code(self) -> u32 {
        match self {
            Status::Ok => 0,
            Status::UnknownObject => 1,
            Status::UnknownMethod => 2,
            Status::NotImplemented => 3,
            Status::InvalidParameter => 4,
            Status::FeatureNotImplemented => 5,
            Status::Forbidden => 6,
            Status::Exception => 7,
            Status::User(number) => 0x1_0000 + u32::from(number),
        }
    }

    /// The word that stands where there is no text of its own.
    pub fn word(self) -> &'static str {
        match self {
            Status::Ok => "OK",
            Status::UnknownObject => "UnknownObject",
            Status::UnknownMethod => "UnknownMethod",
            Status::NotImplemented => "NotImplemented",
            Status::InvalidParameter => "InvalidParameter",
            Status::FeatureNotImplemented => "FeatureNotImplemented",
            Status::Forbidden => "Forbidden",
            Status::Exception => "Exception",
            Status::User(_) => "",
        }
    }
}

/// Why a request was not done. Never [`Status::Ok`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// How it ended.
    pub status: Status,
    /// What the asker is told, at most [`FAULT_TEXT_BYTES_MAX`] octets.
    pub text: String,
}

impl Fault {
    /// With a text of its own.
    pub fn new(status: Status, text: impl Into<String>) -> Self {
        let text = text.into();
        let text = match cut(&text, FAULT_TEXT_BYTES_MAX) {
            whole if whole.len() == text.len() => text,
            part => part.to_owned(),
        };
        Fault { status, text }
    }

    /// With the word of the status.
    pub fn of(status: Status) -> Self {
        Fault::new(status, status.word())
    }

    /// What was tried failed, for this reason.
    pub fn exception(text: impl Into<Cow<'static, str>>) -> Self {
        Fault::new(Status::Exception, text.into())
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", self.text, self.status.code())
    }
}

impl std::error::Error for Fault {}
