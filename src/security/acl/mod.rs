//! Who may do what: the ACL file of Qpid C++, unchanged.
//!
//! ```text
//!   file --syntax--> statements --file--> Rules --lookup--> Decision
//!                                           |
//!           Acl: the rules in force, reloaded while it runs, and what counts against quotas
//! ```
//!
//! Decisions are made on the member that a client is connected to, before anything is proposed. So
//! members whose files differ decide differently and stay alike all the same.

pub mod file;
pub mod hosts;
pub mod limits;
pub mod lookups;
pub mod names;
pub mod policy;
pub mod requests;
pub mod rules;
pub mod syntax;
pub mod text;

pub use self::file::{FileError, parse};
pub use self::names::{Action, Decision, Object, Property};
pub use self::policy::{Acl, Admitted, Elsewhere, Settings};
pub use self::rules::{Properties, Rules};
