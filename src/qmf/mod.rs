//! QMF as octets and types: what management tools of Qpid send, and what they read.
//!
//! The classes, methods and events of `spec/management.spec`, objects of these, and both versions of the
//! protocol in the bodies of messages ([`qmf2`] and [`qmf1`]). Each reads requests and writes answers and
//! knows nothing of a broker: what there is to be told is the core's and that of the room `management`.
//! The core makes messages of events by it, so nothing in it may depend on anything but what is given.

pub mod datum;
pub mod event;
mod generated;
pub mod identity;
pub mod limits;
pub mod object;
pub mod publication;
pub mod qmf1;
pub mod qmf2;
pub mod query;
pub mod schema;
pub mod status;

pub use event::Event;
pub use generated::{Call, PACKAGES, acl, broker, cluster, ha};
pub use identity::Identity;
pub use object::{Object, ObjectName, Values};
pub use publication::Publication;
pub use query::Query;
pub use status::{Fault, Status};
