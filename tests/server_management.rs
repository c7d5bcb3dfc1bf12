//! Management through sockets: awkward names, many objects, many consoles, and peers that ask what
//! makes no sense. Nobody else notices these, and nothing is lost.

#[path = "server_management/awkward.rs"]
mod awkward;
#[path = "server_management/console.rs"]
mod console;
#[path = "server_management/decided.rs"]
mod decided;
#[path = "server_management/hostile.rs"]
mod hostile;
#[path = "server_management/many.rs"]
mod many;
#[path = "server_management/rights.rs"]
mod rights;
#[path = "server_management/told.rs"]
mod told;

mod durable_support;

mod server_support;
