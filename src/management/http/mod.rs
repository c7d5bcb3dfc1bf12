//! The shape of the view over HTTP: which operations there are, what answers look like, how they are
//! described. Sockets are the server's (`server/http`).
//!
//! [`operations`] is the table of all operations; the router is made of it, and the OpenAPI document
//! ([`openapi`]). [`nouns`] are the tables of what is shown.

pub mod definitions;
pub mod exposition;
pub mod json;
pub mod limits;
pub mod nouns;
pub mod openapi;
pub mod operations;
pub mod pages;
pub mod paths;
pub mod problem;
pub mod request;

pub use problem::{Kind, Problem};
