//! Load on a broker that is going to be killed, by a process that writes down what it did and saw,
//! and a judge of what is there afterwards.
//!
//! ```text
//!   test --starts--> broker            killed, or stopped by a fault
//!     |                ^
//!     |                | AMQP
//!     +--starts--> the same test as `client` --appends--> ledger
//!     |                                                     |
//!     +--> judge <--------------------- reads --------------+
//! ```
#![allow(dead_code, reason = "each test file uses its part")]

pub mod branches;
pub mod client;
pub mod judge;
pub mod ledger;
pub mod runs;

/// Queues that are published to by their names, all durable.
pub const QUEUES: [&str; 5] = ["q0", "q1", "q2", "q3", BRANCHED];

/// The queue that branches of distributed transactions consume.
pub const BRANCHED: &str = "b0";

/// Durable queues bound to [`FAN`]: what is published there is in both or in none.
pub const FANNED: [&str; 2] = ["f0", "f1"];

/// A durable fanout exchange.
pub const FAN: &str = "fan";

/// A durable exchange to which queues that come and go are bound.
pub const DEFINED: &str = "defined";

/// All queues with messages.
pub fn all_queues() -> impl Iterator<Item = &'static str> {
    QUEUES.into_iter().chain(FANNED)
}

/// The queues that a message published to `target` goes to.
pub fn queues_of(target: &str) -> Vec<&'static str> {
    match target {
        FAN => FANNED.to_vec(),
        queue => QUEUES.into_iter().filter(|name| *name == queue).collect(),
    }
}
