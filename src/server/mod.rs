//! The running broker: sockets, one driver for each connection, the sequencer's task, options, the
//! log, the only clock.
//!
//! ```text
//!   listen -- accept -- driver (one task a connection)            sequencer (one task a member)
//!                        |  ^                                       |
//!          socket <-> protocol <-> adapter <-- propose, take --> Group::tick
//! ```
//!
//! A driver is woken by its socket, by its own deadline, or by its [`doorbell::Doorbell`], which the
//! group rings when effects come to an empty outbox. It never waits with a lock held, and no
//! connection waits for another: a peer that does not read is bounded by headroom (deliveries) and
//! by its unread answers, see [`driver`].
//!
//! A panic in a driver ends that connection, is logged, and makes the broker's exit status 1; a
//! panic in a sequencer stops the broker.

pub mod accept;
pub mod agent;
pub mod begin_anew;
pub mod clock;
pub mod cluster;
pub mod cluster_options;
pub mod config;
pub mod doorbell;
pub mod driver;
pub mod federation_options;
pub mod happenings;
pub mod http;
pub mod journal_tool;
pub mod keeper;
pub mod limit_options;
pub mod limits;
mod links;
pub mod listen;
pub mod log;
mod managed;
pub mod management_options;
pub mod members;
pub mod memory;
pub mod newcomers;
pub mod options;
pub mod peers;
pub mod plant;
pub mod registry;
pub mod reload;
mod replication;
pub mod replication_options;
pub mod rights;
pub mod security_options;
pub mod sequencer;
pub mod serve;
pub mod socket;
pub mod storage;
pub mod strangers;
pub mod syslog;
pub mod traffic;
pub mod turns;
pub mod user_tool;

pub use options::Options;
pub use serve::run;
