//! The real core, raft groups and journals on a simulated network, on simulated disks and clocks: one
//! seed decides everything. Faults come first and then healing; what must hold is in `checks`, beside
//! what the runner's clients are told.
//!
//! `cargo test --profile simulation --test simulator` is quick and has all assertions.
//! `FERRYMQ_SIM_SEEDS=n` tries so many seeds of a simulated minute; `FERRYMQ_SEED=n` tries one again.

#[allow(dead_code)]
#[path = "runner/answers.rs"]
mod answers;
#[allow(dead_code)]
#[path = "runner/branches.rs"]
mod branches;
#[path = "simulator/checks/mod.rs"]
mod checks;
#[allow(dead_code)]
#[path = "runner/cluster.rs"]
mod cluster;
#[allow(dead_code)]
#[path = "runner/connection.rs"]
mod connection;
#[path = "simulator/group.rs"]
mod group;
#[allow(dead_code)]
#[path = "runner/kinds.rs"]
mod kinds;
#[allow(dead_code)]
#[path = "runner/ledger.rs"]
mod ledger;
#[path = "simulator/members.rs"]
mod members;
#[path = "simulator/mischief.rs"]
mod mischief;
#[allow(dead_code)]
#[path = "runner/planted.rs"]
mod planted;
#[path = "simulator/plants.rs"]
mod plants;
#[allow(dead_code)]
#[path = "runner/resuming.rs"]
mod resuming;
#[allow(dead_code)]
#[path = "runner/run.rs"]
mod run;
#[path = "simulator/schedule.rs"]
mod schedule;
#[allow(dead_code)]
#[path = "runner/seed.rs"]
mod seed;
#[path = "simulator/seeds.rs"]
mod seeds;
#[allow(dead_code)]
#[path = "runner/session.rs"]
mod session;
#[path = "simulator/shrink.rs"]
mod shrink;
#[path = "simulator/simulation.rs"]
mod simulation;
#[allow(dead_code)]
#[path = "runner/subscription.rs"]
mod subscription;
#[allow(dead_code)]
#[path = "runner/topology.rs"]
mod topology;
#[allow(dead_code)]
#[path = "runner/trace.rs"]
mod trace;
#[path = "simulator/watched.rs"]
mod watched;
#[allow(dead_code)]
#[path = "runner/workload.rs"]
mod workload;
#[allow(dead_code)]
#[path = "runner/world.rs"]
mod world;
