//! One peer's AMQP 0-10 connection and the transport side of its sessions, without I/O.
//!
//! A [`Connection`] is a state machine of either role: bytes and the time go in; events, bytes and
//! the next deadline come out. It knows frames, segments and assemblies, negotiation, heartbeats,
//! which channel carries which session, and what is numbered how. It knows nothing of queues,
//! sockets, clocks, threads or passwords: what only its owner can decide comes out as a question
//! (see [`Event`]).
//!
//! ```text
//!   input -> frames -> segments -> controls ------> negotiation, session attach/detach
//!                              \-> assemblies ----> Event::Command{id, command, header, body}
//!
//!   frame     | flags 1 | type 1 | size 2 | 0 | track 1 | channel 2 | 0 0 0 0 | payload ..
//!   flags     first segment 8, last segment 4, first frame 2, last frame 1
//!   segment   one frame or several; frames of other channels may lie between
//!   assembly  command segment, header segment?, body segment?
//! ```
//!
//! Promises: the events do not depend on how the input was cut; parsing is total and never
//! panics on input; everything that a peer can grow has a bound in [`limits`]; a body is not
//! copied on its way in (fragments under 16 KiB are) nor, from 4096 bytes up, on its way out.

mod assembly;
mod channels;
mod config;
mod connection;
mod ends;
mod event;
pub mod limits;
mod negotiation;
mod output;
mod partial_controls;
mod sending;
mod session;
mod suspended;
mod time;

pub use config::{Bounds, BrokerConfig, ClientConfig};
pub use connection::Connection;
pub use ends::{Receiver, Sender};
pub use event::{Body, ClosedBy, Event, Tuned};
pub use output::Output;
pub use sending::{Content, Pieces};
pub use suspended::Suspended;
pub use time::Time;
