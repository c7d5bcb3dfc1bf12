//! Links to other brokers: what drives the definitions that the core has (`broker/links.rs`).
//!
//! ```text
//!   core --news--> Keeper --one task a link--> link --one a bridge--> bridge
//!                                               |                        |
//!                                     the other broker            a session at each end
//! ```
//!
//! A [`Keeper`] looks at which links its member owns and has a task for each. A *link* keeps a connection
//! to the other broker, tries again with growing pauses when it is lost, goes to other members of the
//! peer's cluster, and reports how it is. A *bridge* on it is a pump between two sessions, one at the other
//! broker and one at this: either may be the source. It subscribes at the one and publishes at the other,
//! and accepts at the source what the destination has taken, where acknowledgement was asked for: so what
//! is lost with a link at any moment is still at the source. A dynamic bridge also tells the other broker
//! what is bound here (`broker/origins.rs`).
//!
//! To its own broker a link is a client as to the other, over a pipe instead of a socket; what bridges
//! publish here joins that connection without octets in between ([`Inlets`]). What belongs to the process
//! (clock, sockets, certificates) comes through [`Home`].

mod bindings;
mod bridge;
mod destination;
mod failover;
mod home;
mod inlet;
mod keeper;
pub mod limits;
mod link;
mod news;
mod pump;
mod route;

pub use self::home::{Home, Later, Outgoing};
pub use self::inlet::{CHANNEL_FIRST, Inlets, Intake, Step, inlets};
pub use self::keeper::Keeper;
pub use self::news::News;
