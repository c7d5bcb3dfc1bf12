//! Management over HTTP, through a socket.

mod durable_support;
mod server_support;
mod tls_support;

#[path = "server_http/cluster.rs"]
mod cluster;
#[path = "server_http/console.rs"]
mod console;
#[path = "server_http/definitions.rs"]
mod definitions;
#[path = "server_http/described.rs"]
mod described;
#[path = "server_http/hidden.rs"]
mod hidden;
#[path = "server_http/hostile.rs"]
mod hostile;
#[path = "server_http/http.rs"]
mod http;
#[path = "server_http/https.rs"]
mod https;
#[path = "server_http/level.rs"]
mod level;
#[allow(dead_code)]
#[path = "server_raft/members.rs"]
mod members;
#[path = "server_http/nouns.rs"]
mod nouns;
#[path = "server_http/rights.rs"]
mod rights;
#[path = "server_http/watched.rs"]
mod watched;
