//! What ends a run.

use std::{fmt, io};

use crate::client;
use crate::wire::DecodeError;

/// Why there is no result.
#[derive(Debug)]
pub enum Error {
    /// The options contradict each other.
    Usage(String),
    /// The operating system.
    Io(io::Error),
    /// Declaring, or opening a connection.
    Client(client::Error),
    /// A connection of the run was ended or not understood.
    Lane(String),
    /// The broker does not go on, or so slowly that nothing was measured.
    Stalled(String),
    /// The tool was told to stop.
    Interrupted,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Usage(text) | Error::Lane(text) | Error::Stalled(text) => f.write_str(text),
            Error::Interrupted => f.write_str("interrupted"),
            Error::Io(error) => write!(f, "{error}"),
            Error::Client(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for Error {}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Error::Io(error)
    }
}

impl From<client::Error> for Error {
    fn from(error: client::Error) -> Self {
        Error::Client(error)
    }
}

impl From<DecodeError> for Error {
    fn from(error: DecodeError) -> Self {
        Error::Lane(error.to_string())
    }
}
