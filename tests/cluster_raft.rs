//! A raft group under clients with large messages, and with states that take many messages to send.

#[path = "entries/author.rs"]
mod author;
#[path = "cluster_raft/bodies.rs"]
mod bodies;
#[path = "cluster_raft/changes.rs"]
mod changes;
#[path = "cluster_raft/disks.rs"]
mod disks;
#[path = "cluster_raft/group.rs"]
mod group;
#[path = "cluster_raft/snapshots.rs"]
mod snapshots;
