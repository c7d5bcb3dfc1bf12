//! FerryMQ: a message broker for AMQP 0-10.
//!
//! The rooms of the crate are layers; `docs/ARCHITECTURE.md` draws the map and
//! `tests/tidy.rs` holds it.
#![warn(missing_docs)]

pub mod adapter;
pub mod broker;
pub mod client;
pub mod cluster;
pub mod console;
pub mod federation;
pub mod load;
pub mod management;
pub mod protocol;
pub mod qmf;
pub mod security;
pub mod server;
pub mod store;
pub mod terminal;
pub mod wire;
