//! Who a peer is and what it may: decided on the member that it is connected to, before anything is
//! proposed to the group.
//!
//! So far nobody's password is checked. [`sasl`] speaks the exchange that qpidd offers with
//! `--auth no`; [`access`] holds that whoever needs no password is either on this machine or was let
//! in by name.

pub mod access;
pub mod limits;
pub mod sasl;
