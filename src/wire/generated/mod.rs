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
mod message_structs;
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
pub use message_structs::*;
pub use queue::*;
pub use session::*;
pub use stream::*;
pub use tx::*;

/// `min-max-frame-size`.
pub const MIN_MAX_FRAME_SIZE: u32 = 4096;

use crate::wire::named_number;

named_number! {
    /// `segment-type`; values without a name are kept as they come.
    pub struct SegmentType(u8) {
        /// `control`.
        CONTROL = 0, "control";
        /// `command`.
        COMMAND = 1, "command";
        /// `header`.
        HEADER = 2, "header";
        /// `body`.
        BODY = 3, "body";
    }
}

named_number! {
    /// `track`; values without a name are kept as they come.
    pub struct Track(u8) {
        /// `control`.
        CONTROL = 0, "control";
        /// `command`.
        COMMAND = 1, "command";
    }
}
