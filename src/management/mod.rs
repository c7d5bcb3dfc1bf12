//! What management tools see, and what they ask for.
//!
//! One model, several views of it: objects of the classes in `spec/management.spec`, methods to be
//! called on them, events. The views are both versions of QMF ([`crate::qmf`]) and [`http`]. The
//! [`Agent`] is what stands between QMF and the broker, without I/O and without a clock of its own: a
//! message in, and out comes what to publish, what to look for and which method to call. Whoever owns the
//! agent looks, calls and hands back what was found; what decides anything does so as a command of the
//! core.

pub mod agent;
pub mod deed;
pub mod http;
mod links;
pub mod model;

pub use agent::Agent;
