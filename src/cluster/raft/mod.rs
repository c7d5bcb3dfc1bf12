//! One order by Raft: the crate `raft` behind members that do no I/O, read no clock and start no
//! thread. Its types stay in this folder.
//!
//! ```text
//!   clients -> propose -> Member --raft entries--> majority of logs --committed--> apply -> outboxes
//!              step, tick, synced -> Member -> messages to others
//! ```
//!
//! Entries of raft and of the core have the same numbers: an entry that raft makes for itself, and a
//! change of who takes part, is an empty batch of the sequencer's. The leader makes group time, from
//! its own clock and behind the last value of its predecessors: it orders nothing before it has applied
//! the first entry of its term.
//!
//! A proposal can be lost, doubled and overtaken on its way to the leader, and lost with it. It is
//! numbered by its member, sent again until it is applied, and taken once by the core.
//!
//! An entry is applied when a majority has it on its disks, and only then are its effects told: a
//! minority tells nothing. Queries are entries, too, so no read passes by the order.

mod codec;
mod committed;
mod lead;
mod live;
mod member;
#[cfg(test)]
mod node;
mod ordered;
mod proposals;
mod remains;
#[allow(
    clippy::indexing_slicing,
    reason = "for tests: members of one process by their places"
)]
pub mod seats;
mod snapshots;
mod storage;

pub use self::committed::{Farewell, Observed};
pub use self::live::{Live, Outgoing, View};
pub use self::member::{Member, Now, Settings, form};
pub use self::ordered::{Change, reread};
pub use self::remains::{Found, Remains};
pub use self::snapshots::{Done, Job};

/// A fault of a member, for the tests that must find it.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Plant {
    /// As it should be.
    #[default]
    None,
    /// What a member promised is forgotten when it starts anew.
    VoteForgotten,
    /// That a change of members is in the order is not written before the next entry.
    ChangeNotKept,
    /// A member says to have what is not on its disk.
    SentUnsynced,
    /// An entry is applied at the time of the member's own clock.
    LocalTime,
    /// A member starts anew in the epoch that it had.
    EpochKept,
    /// A member that took its state from another keeps its connections.
    ConnectionsKept,
    /// A member that was taken for down keeps its connections.
    DownUnheeded,
    /// What may have been lost is not sent again.
    NotResent,
    /// The state that is sent to others is not the one it says to be.
    SnapshotBehind,
    /// What a new leader is sent again has numbers of its own: what was in the order already is
    /// applied a second time.
    Renumbered,
}
