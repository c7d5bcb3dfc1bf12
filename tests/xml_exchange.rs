//! The xml exchange as clients see it, and the language of its queries.

#[path = "xml_exchange/queries.rs"]
mod queries;
mod server_support;
#[path = "xml_exchange/through_sockets.rs"]
mod through_sockets;
