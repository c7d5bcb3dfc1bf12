//! One order on all members.
//!
//! A *group* gives the order: members propose commands, the group numbers them, and every member
//! applies the same batches to its own core. [`Group`] is one member's seat in a group; what stands
//! behind it is [`solo`] (one broker: order of arrival, applied in place, nothing encoded) or
//! [`lockstep`] (three cores in one process, for tests) or [`raft`] (an order that a majority of the
//! members' logs has).

pub mod clock;
pub mod compaction;
pub mod entry_log;
pub mod fact_log;
mod home;
pub mod limits;
#[allow(
    clippy::indexing_slicing,
    reason = "members of one process by their places"
)]
pub mod lockstep;
pub mod machine;
pub mod outbox;
pub mod paging;
mod proposal;
pub mod raft;
pub mod solo;

use std::task::Waker;

use crate::broker::ids::{ConnectionNumber, MemberId};
use crate::broker::{Command, Core, Effect};
use crate::wire::CommandId;

/// A member's monotonic clock in milliseconds. Only the server reads a clock; a group is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Millis(pub u64);

/// What a connection finds when it looks into its outbox.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outstanding {
    /// Batches of the connection that are proposed and not yet applied.
    pub proposed: usize,
    /// Octets of these, where they are encoded.
    pub proposed_bytes: usize,
    /// Whether all connections of the member together have proposed as much as they may.
    pub is_member_held: bool,
    /// The connection has no outbox any more: the group ended its sessions, and the socket is to be
    /// closed.
    pub is_ended: bool,
}

impl Outstanding {
    /// Whether reading from the connection's socket pauses: it has proposed as much as it may
    /// ([`limits::PROPOSED_BATCHES_MAX`], [`limits::PROPOSED_BYTES_MAX`]), or all have
    /// ([`limits::PROPOSED_BY_MEMBER_BYTES_MAX`]). It is woken when that is over.
    pub fn is_held(&self) -> bool {
        self.proposed >= limits::PROPOSED_BATCHES_MAX
            || self.proposed_bytes >= limits::PROPOSED_BYTES_MAX
            || self.is_member_held
    }
}

/// One member's seat in a group.
///
/// Nothing may assume that effects come before `propose` returns: with `solo` they do, else they
/// come later. Proposals of one connection are applied in the order in which they were made.
pub trait Group: Send + Sync {
    /// Who this member is.
    fn member(&self) -> MemberId;

    /// Makes an outbox for a new connection and gives the number that the connection has for this
    /// member's life. `waker` is woken whenever effects come to an empty outbox, and whenever
    /// [`Outstanding::is_held`] is over.
    fn open(&self, waker: Waker) -> ConnectionNumber;

    /// The same for an agent of management, which is no client.
    fn open_agent(&self, waker: Waker) -> ConnectionNumber {
        self.open(waker)
    }

    /// Proposes commands, all of one connection, and empties `commands`. At most
    /// [`crate::broker::limits::BATCH_COMMANDS_MAX`].
    fn propose(&self, now: Millis, connection: ConnectionNumber, commands: &mut Vec<Command>);

    /// Swaps what is in a connection's outbox into `effects`, which is empty.
    fn take(&self, connection: ConnectionNumber, effects: &mut Vec<Effect>) -> Outstanding;

    /// Proposes that the connection has ended and gives up its outbox.
    fn close(&self, now: Millis, connection: ConnectionNumber);

    /// The sequencer's duty: ticks, continuations, resending. To be called at the time that the
    /// last call gave, and whenever `set_sequencer_waker`'s waker is woken. Its work is bounded:
    /// a time that is not after `now` asks to be called again at once.
    fn tick(&self, now: Millis) -> Option<Millis>;

    /// Who is woken when `tick` is to be called before its time.
    fn set_sequencer_waker(&self, waker: Waker);

    /// Looks at this member's core, with the group's lock held: only for what is short. What a batch has
    /// changed is there before it is safe: who is to be told nothing but that, proposes something and
    /// looks when that is answered.
    fn look(&self, look: &mut dyn FnMut(&Core));

    /// Whether there is no room on the disk for more messages that have to survive. Publishers are
    /// refused then; what makes room goes on.
    fn is_full(&self) -> bool {
        false
    }

    /// Octets of messages that have to survive for which there is room on the disk, as far as is known.
    /// A publisher of more at once is refused: it would wait for room, and what makes room behind it.
    fn room(&self) -> u64 {
        u64::MAX
    }

    /// Whether there is room neither in memory nor on the disk for more messages. All publishers are
    /// refused then.
    fn is_memory_full(&self) -> bool {
        false
    }

    /// Why this member can serve nobody at present, in words for clients. Those it had have no outbox
    /// any more.
    fn unserved(&self) -> Option<&'static str> {
        None
    }

    /// Whether no other member has what this one has. A message whose body this one's disk gives back
    /// damaged is lost then; else it is this member that cannot go on.
    fn is_alone(&self) -> bool {
        false
    }

    /// The queue of a delivery to a connection and the message's place there, as text for a log, where
    /// it is known.
    fn whence(
        &self,
        connection: ConnectionNumber,
        channel: u16,
        delivery: CommandId,
    ) -> Option<String> {
        let _ = (connection, channel, delivery);
        None
    }

    /// Something that this member needs does not work, its disk say: it cannot go on.
    fn fail(&self, why: String);

    /// What was found wrong, once the members have come apart or this one cannot go on: the
    /// process is to end. To be looked at after `tick`; whoever waits is woken.
    fn failure(&self) -> Option<String> {
        None
    }

    /// Ends the group after the last connection has closed, when the process is about to end. The
    /// text goes to the log.
    ///
    /// # Errors
    /// What was found wrong, when the members have come apart.
    fn finish(&self, now: Millis) -> Result<Option<String>, String>;
}
