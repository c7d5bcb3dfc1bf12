//! Members that keep every entry on a disk, and come back from what a crash leaves of it.
//!
//! `log` is one member's log by itself, `start` a group that starts from three, `crashes` the
//! runner's workload over several lives of a group, with its ledger, and `recorded` journals that
//! were written once and must be read for ever.

#[allow(dead_code)]
#[path = "runner/answers.rs"]
mod answers;
#[allow(dead_code)]
#[path = "entries/author.rs"]
mod author;
#[allow(dead_code)]
#[path = "runner/branches.rs"]
mod branches;
#[allow(dead_code)]
#[path = "runner/cluster.rs"]
mod cluster;
#[allow(dead_code)]
#[path = "runner/connection.rs"]
mod connection;
#[path = "entries/crashes.rs"]
mod crashes;
#[path = "entries/group.rs"]
mod group;
#[allow(dead_code)]
#[path = "runner/kinds.rs"]
mod kinds;
#[allow(dead_code)]
#[path = "runner/ledger.rs"]
mod ledger;
#[path = "entries/log.rs"]
mod log;
#[path = "entries/recorded.rs"]
mod recorded;
#[allow(dead_code)]
#[path = "runner/resuming.rs"]
mod resuming;
#[allow(dead_code)]
#[path = "runner/run.rs"]
mod run;
#[allow(dead_code)]
#[path = "runner/seed.rs"]
mod seed;
#[allow(dead_code)]
#[path = "runner/session.rs"]
mod session;
#[path = "entries/start.rs"]
mod start;
#[allow(dead_code)]
#[path = "runner/subscription.rs"]
mod subscription;
#[allow(dead_code)]
#[path = "runner/topology.rs"]
mod topology;
#[allow(dead_code)]
#[path = "runner/trace.rs"]
mod trace;
#[allow(dead_code)]
#[path = "runner/workload.rs"]
mod workload;
#[allow(dead_code)]
#[path = "runner/world.rs"]
mod world;
