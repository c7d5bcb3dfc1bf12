//! What a client says becomes commands of the core, and what the core tells becomes what a client
//! hears.
//!
//! ```text
//!   protocol::Event --Adapter::handle_event--> broker::Command ..> batch --propose--> group
//!   protocol output <--Adapter::handle_effects-- broker::Effect <--------- outbox <-----'
//! ```
//!
//! An [`Adapter`] belongs to one open connection. It decides all that may differ from member to
//! member before anything is proposed: the header of a message is checked and split, a selector is
//! compiled once to see that it is sound, what is not built is refused. It does no I/O and knows no
//! clock; it logs the errors of peers.
//!
//! One file an AMQP class: `session`, `execution`, `message`, `tx`, `dtx`, `exchange`, `queue`, and
//! those that are not built: `file`, `stream`. `events` and `effects` are the two directions,
//! `outflow` counts what waits for the socket, `room` refuses what has none, `rights` what its user may
//! not; `xml` decides what messages to xml exchanges match.

mod dtx;
mod effects;
mod events;
pub mod exchange;
mod execution;
mod file;
pub mod limits;
mod message;
mod outflow;
mod queue;
mod request;
mod rights;
mod room;
mod session;
mod stream;
mod tx;
mod xml;
#[cfg(feature = "xml-exchange")]
pub mod xquery;

pub use dtx::DtxTimeouts;
pub use effects::{Aside, channel_of};
pub use events::Adapter;
pub use rights::{Rights, Verdict};
