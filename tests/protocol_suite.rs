//! The connection's state machine, seen from outside: two of them on one clock, or one against
//! bytes made by hand.

#[path = "protocol_suite/assemblies.rs"]
mod assemblies;
#[path = "protocol_suite/client_role.rs"]
mod client_role;
#[path = "protocol_suite/controls.rs"]
mod controls;
#[path = "protocol_suite/fuzz.rs"]
mod fuzz;
#[path = "protocol_suite/heartbeats.rs"]
mod heartbeats;
#[path = "protocol_suite/negotiation.rs"]
mod negotiation;
#[path = "protocol_suite/order.rs"]
mod order;
#[path = "protocol_suite/pair.rs"]
mod pair;
#[path = "protocol_suite/raw.rs"]
mod raw;
#[path = "protocol_suite/sessions.rs"]
mod sessions;
#[path = "protocol_suite/splits.rs"]
mod splits;
