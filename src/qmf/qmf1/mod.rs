//! QMF version 1: frames of octets, several in a message. `qmf.console` asks for schemas in no other
//! way, and older consoles for everything.
//!
//! Agents of this version that attach to a broker of their own are not served: what they tell of
//! their schema is passed over, and who wants to attach is told so. Agents of version 2 need no
//! broker's help and work.

mod answer;
mod data;
mod frames;
mod ids;
mod indication;
mod request;
mod schema;

pub use answer::{Asker, broker, classes, completed, method_response, objects, packages, schema};
pub use data::arguments;
pub use ids::{Numbers, ObjectId};
pub use indication::{data, data_key, event, event_key, heartbeat};
pub use request::{Request, Requests, Wanted, requests};
