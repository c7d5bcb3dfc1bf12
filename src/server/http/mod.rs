//! Management over HTTP: the sockets of what `management/http` describes.
//!
//! ```text
//!   listen -- connection (one task each) -- router -- answer -- look: the agent, then the core
//!                                                        \----- act: the agent, the order, the outcome
//! ```
//!
//! Nothing here knows the core by another way than the model, and whatever changes something goes
//! through the member's agent as a command of the core.

mod access;
mod act;
mod answer;
mod events;
pub mod limits;
mod listen;
mod look;
mod metrics;
mod options;
mod places;
mod query;
mod rights;
mod room;
mod router;
mod secure;

pub use self::listen::{Listening, look, open, run};
pub use self::look::View;
pub use self::options::HttpOptions;
pub use self::places::{Places, places};
