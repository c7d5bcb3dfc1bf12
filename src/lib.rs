//! FerryMQ: a message broker for AMQP 0-10.
//!
//! The rooms of the crate are layers; `docs/ARCHITECTURE.md` draws the map and
//! `tests/tidy.rs` holds it.
//!
//! Whatever a peer sends gives a value or an error. So what may panic is denied in all rooms: where
//! something cannot be missing, `#[expect]` says why at that place. Rooms that only see what others
//! have read and checked may index and expect, each by a line below.
#![warn(missing_docs)]
#![deny(
    clippy::expect_used,
    clippy::get_unwrap,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    clippy::todo,
    clippy::unimplemented,
    clippy::unreachable,
    clippy::unwrap_used
)]

pub mod adapter;
pub mod broker;
pub mod client;
pub mod cluster;
pub mod console;
pub mod federation;
#[allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a tool that measures: it hears a broker of its user"
)]
pub mod load;
pub mod management;
pub mod protocol;
pub mod qmf;
pub mod security;
pub mod server;
#[allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "it reads a disk that is this broker's own, by records whose checksums fit"
)]
pub mod store;
pub mod terminal;
pub mod wire;
