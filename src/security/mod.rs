//! Who a peer is and what it may: decided on the member that it is connected to, before anything is
//! proposed to the group.
//!
//! [`access`] holds that whoever needs no password is either on this machine or was let in by name;
//! [`sasl`] is how the others prove who they are, with what [`users`] keeps; [`tls`] hides what is said; [`acl`] is what they may.

pub mod access;
pub mod acl;
pub mod files;
pub mod limits;
pub mod sasl;
pub mod tls;
pub mod users;
pub mod witness;
