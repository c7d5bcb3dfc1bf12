//! What a broker with a data directory has after it was stopped or killed, and started again.

mod durable_support;
mod server_support;

#[path = "durable_restart/branches.rs"]
mod branches;
#[path = "durable_restart/damage.rs"]
mod damage;
#[path = "durable_restart/definitions.rs"]
mod definitions;
#[path = "durable_restart/directories.rs"]
mod directories;
#[path = "durable_restart/messages.rs"]
mod messages;
#[path = "durable_restart/planted.rs"]
mod planted;
#[path = "durable_restart/room.rs"]
mod room;
