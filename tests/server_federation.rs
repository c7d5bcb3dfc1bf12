//! Networks of brokers in processes of their own: what links carry, in any topology, and what becomes of it
//! when they are lost.

#[path = "server_federation/clusters.rs"]
mod clusters;
#[path = "server_management/console.rs"]
#[allow(dead_code, reason = "it is another suite's, too")]
mod console;
#[path = "server_federation/lost.rs"]
mod lost;
#[path = "server_federation/net.rs"]
mod net;
#[path = "server_federation/replicated.rs"]
mod replicated;
#[path = "server_federation/routes.rs"]
mod routes;
#[path = "server_federation/topologies.rs"]
mod topologies;

#[path = "server_raft/members.rs"]
#[allow(dead_code, reason = "it is another suite's, too")]
mod members;

mod durable_support;
mod server_support;
