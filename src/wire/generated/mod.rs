//! What `spec/amqp-0-10.spec` says, as Rust.

// Generated from spec/amqp-0-10.spec by spec/generator. Not to be edited:
// UPDATE=1 cargo test --test spec_staleness

mod catalogue;
mod command;
mod connection;
mod control;
mod dtx;
mod exchange;
mod execution;
mod file;
mod message;
mod queue;
mod session;
mod stream;
mod tx;
pub mod type_code;

pub use catalogue::*;
pub use command::*;
pub use connection::*;
pub use control::*;
pub use dtx::*;
pub use exchange::*;
pub use execution::*;
pub use file::*;
pub use message::*;
pub use queue::*;
pub use session::*;
pub use stream::*;
pub use tx::*;

/// `min-max-frame-size`.
pub const MIN_MAX_FRAME_SIZE: u32 = 4096;

/// `segment-type`; values without a name are kept as they come.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SegmentType(pub u8);

impl SegmentType {
    /// `control`.
    pub const CONTROL: Self = Self(0);
    /// `command`.
    pub const COMMAND: Self = Self(1);
    /// `header`.
    pub const HEADER: Self = Self(2);
    /// `body`.
    pub const BODY: Self = Self(3);

    /// The name of the value, if it has one.
    pub fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::CONTROL => "control",
            Self::COMMAND => "command",
            Self::HEADER => "header",
            Self::BODY => "body",
            _ => return None,
        })
    }
}

impl std::fmt::Display for SegmentType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "{}", self.0),
        }
    }
}

impl std::fmt::Debug for SegmentType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SegmentType({}", self.0)?;
        if let Some(name) = self.name() {
            write!(f, " {name}")?;
        }
        f.write_str(")")
    }
}

/// `track`; values without a name are kept as they come.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Track(pub u8);

impl Track {
    /// `control`.
    pub const CONTROL: Self = Self(0);
    /// `command`.
    pub const COMMAND: Self = Self(1);

    /// The name of the value, if it has one.
    pub fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::CONTROL => "control",
            Self::COMMAND => "command",
            _ => return None,
        })
    }
}

impl std::fmt::Display for Track {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "{}", self.0),
        }
    }
}

impl std::fmt::Debug for Track {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Track({}", self.0)?;
        if let Some(name) = self.name() {
            write!(f, " {name}")?;
        }
        f.write_str(")")
    }
}
