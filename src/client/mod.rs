//! An AMQP 0-10 client: for the broker's own links, for tools and for tests.
//!
//! A [`Client`] is one connection, driven by a task of its own; handles ask it over one bounded
//! channel and everything happens in the order of asking. [`Client::connect`] walks the addresses
//! of a URL until one lets it in. A session with a timeout goes on over a lost connection
//! ([`Client::session_with_timeout`]); who wants more connects again, to the addresses of
//! [`Client::known_hosts`] if it likes.
//!
//! ```text
//!   Session ----\                      /--> socket
//!   Session -----+-- requests --> task
//!   Subscription <-- deliveries --/    \<-- socket
//! ```
//!
//! - A command's completion is a future that need not be awaited. Brokers report completions only
//!   when asked, so the task asks once for each batch of commands.
//! - What is not completed is bounded ([`limits::INCOMPLETE_MAX`]): senders wait.
//! - Deliveries are bounded by credit. A transfer counts as completed once the application has it.
//! - A failed command ends its session; every handle of it gets the exception.

/// The program on the page is compiled with the tests of the documentation.
#[cfg(doctest)]
#[doc = include_str!("../../docs/sessions.md")]
mod sessions_page {}

mod connect;
mod driver;
mod error;
pub mod limits;
mod message;
mod options;
mod request;
mod resuming;
mod session;
mod sessions;
mod stream;
mod subscription;

pub use connect::{Client, unique_name};
pub use error::Error;
pub use message::{Delivery, Message};
pub use options::Options;
pub use request::Completion;
pub use session::Session;
pub use subscription::{Flow, Subscription};
