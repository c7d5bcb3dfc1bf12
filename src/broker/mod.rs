//! The core: a deterministic state machine, and everything that changes it.
//!
//! ```text
//! commands --propose--> group --ordered--> Batch --apply(batch, out)--> effects
//! ```
//!
//! [`Core::apply`] does no I/O, reads no clock, draws no randomness, goes through no hash map and
//! logs nothing: members that apply the same batches are in the same state and ask for the same
//! effects. What a batch may not take (time, rights, defaults, bytes to decode) was decided before
//! it was proposed and is carried in its commands. Work an entry is bounded by [`limits`]; what is
//! left goes on in `Continue` entries, which the core asks for through [`Core::wants`].
//!
//! What is where: `command` and `effect` are the two sides; `core` holds the state and `apply/`
//! what each command does to it; `connections`, `session`, `kept`, `subscription`, `queue`, `exchange`,
//! `exchanges`, `message` are the parts; `branch` is work of distributed transactions; `publishes` is what a commit publishes; `dead` is why messages
//! leave a queue unasked, `routed` what an exchange does with all of its own; `parts` are messages on their way; `held` and `paging` know
//! what is in memory, `width` how far messages spread; `guard` are conditions that a command carries, `makers` who
//! made which queue; `links` are those to other brokers, `origins` who wants what they bind, `seen` what has come over them, `replication` what queues tell each other over them; `blocks`, `slab`, `ring`, `ranges`, `credit`, `selector`, `arguments` are what they are
//! made of; `encoding`, `snapshot`, `digest` are how a core is carried and compared; `facts` are what must
//! survive the process, and `recovery` makes a core of them.

pub mod arguments;
#[allow(
    clippy::indexing_slicing,
    reason = "places and ids are the core's own, and one that is not there would be a fault of ours"
)]
pub mod blocks;
pub mod branch;
#[allow(
    clippy::indexing_slicing,
    reason = "places and ids are the core's own, and one that is not there would be a fault of ours"
)]
pub mod chunks;
pub mod command;
pub mod connections;
pub mod core;
pub mod credit;
pub mod dead;
pub mod digest;
pub mod effect;
pub mod encoding;
pub mod event;
pub mod exchange;
pub mod exchanges;
#[allow(
    clippy::indexing_slicing,
    reason = "places and ids are the core's own, and one that is not there would be a fault of ours"
)]
pub mod facts;
pub mod failover;
pub mod guard;
pub mod held;
pub mod ids;
pub mod kept;
pub mod level;
pub mod limits;
pub mod links;
pub mod makers;
pub mod management;
pub mod members;
pub mod message;
pub mod options;
pub mod origins;
pub mod paging;
pub mod parts;
pub mod plant;
pub mod publishes;
#[allow(
    clippy::indexing_slicing,
    reason = "places and ids are the core's own, and one that is not there would be a fault of ours"
)]
pub mod queue;
pub mod ranges;
pub mod recovery;
pub mod redirects;
pub mod replication;
pub mod ring;
pub mod routed;
pub mod seen;
pub mod selected;
pub mod selector;
pub mod session;
#[allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "places and ids are the core's own, and one that is not there would be a fault of ours"
)]
pub mod slab;
pub mod snapshot;
pub mod subscription;
pub mod tally;
pub mod view;
pub mod watched;
pub mod width;
pub mod xml;

#[allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "places and ids are the core's own, and one that is not there would be a fault of ours"
)]
mod apply;

pub use self::command::{Batch, Command, ConnectionRecord, Origin, Refusal, Request};
pub use self::core::Core;
pub use self::effect::{Applied, Delivery, Effect, Out, Tag, Wants};
pub use self::facts::{Fact, FactRecord};
pub use self::options::Options;
pub use self::recovery::Recovery;
