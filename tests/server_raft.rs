//! Three brokers in processes of their own that act as one: what clients see of it.

mod durable_support;
mod server_raft {
    #[allow(dead_code)]
    pub mod members;
    pub mod strangers;

    mod anew;
    mod attacked;
    mod belonging;
    #[allow(dead_code)]
    #[path = "../server_management/console.rs"]
    mod console;
    pub mod fanned_out;
    pub mod faults;
    mod forming;
    mod hostile;
    mod joined;
    mod kills;
    mod large;
    mod managed;
    mod order;
    mod reach;
    #[allow(dead_code)]
    #[path = "../server_resume/relay.rs"]
    mod relay;
}
#[allow(dead_code)]
#[path = "runner/seed.rs"]
mod seed;
mod server_support;
