//! The async client against a broker of a few lines that speaks through the protocol room.

#[path = "client_suite/broker.rs"]
mod broker;
#[path = "client_suite/commands.rs"]
mod commands;
#[path = "client_suite/connections.rs"]
mod connections;
#[path = "client_suite/subscriptions.rs"]
mod subscriptions;
