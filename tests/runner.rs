//! Cores and sessions without sockets: many clients at random from a seed on a group, and checks of
//! what they are told. The same seed on the same group gives the same trace.
//!
//! What is checked, from the effects alone: no message is lost; none is delivered twice unless
//! flagged; those of one publisher come in order; every command is completed or failed by an
//! exception; credit and headroom are never exceeded; nothing is told outside a session. Members in
//! lockstep are checked against each other besides. Faults planted into the machine below show that
//! each of these checks can fail.

#[path = "runner/answers.rs"]
mod answers;
#[path = "runner/branches.rs"]
mod branches;
#[path = "runner/canaries.rs"]
mod canaries;
#[path = "runner/cluster.rs"]
mod cluster;
#[path = "runner/connection.rs"]
mod connection;
#[path = "runner/invariants.rs"]
mod invariants;
#[path = "runner/kinds.rs"]
mod kinds;
#[path = "runner/ledger.rs"]
mod ledger;
#[path = "runner/lockstep_faults.rs"]
mod lockstep_faults;
#[path = "runner/planted.rs"]
mod planted;
#[path = "runner/resuming.rs"]
mod resuming;
#[path = "runner/run.rs"]
mod run;
#[path = "runner/seed.rs"]
mod seed;
#[path = "runner/session.rs"]
mod session;
#[path = "runner/snapshots.rs"]
mod snapshots;
#[path = "runner/subscription.rs"]
mod subscription;
#[path = "runner/topology.rs"]
mod topology;
#[path = "runner/trace.rs"]
mod trace;
#[path = "runner/workload.rs"]
mod workload;
#[path = "runner/world.rs"]
mod world;
