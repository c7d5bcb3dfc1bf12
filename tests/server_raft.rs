//! Three brokers in processes of their own that act as one: what clients see of it.

mod durable_support;
mod server_raft {
    pub mod members;

    mod belonging;
    mod faults;
    mod forming;
    mod hostile;
    mod kills;
    mod large;
    mod order;
}
#[allow(dead_code)]
#[path = "runner/seed.rs"]
mod seed;
mod server_support;
