//! The names by which the core's parts are known to each other and to the members.

use super::encoding::record_newtype;

/// A member of the group: random, made once with the member's store, never reused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MemberId(pub u64);

/// One core with one group. A broker that stands alone has shard 0 only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ShardId(pub u16);

/// A client connection, numbered by the member that serves it. Numbers are not reused within an
/// epoch of the member, so a late command of a dead connection can never reach a new one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionNumber(pub u32);

/// A connection as the whole group knows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionKey {
    /// The member that holds the socket.
    pub member: MemberId,
    /// The member's own number for it.
    pub number: ConnectionNumber,
}

impl ConnectionKey {
    /// The connection of a session that has none: no member ever gives this number.
    pub const NOWHERE: ConnectionKey = ConnectionKey {
        member: MemberId(0),
        number: ConnectionNumber(u32::MAX),
    };

    /// Who has published what has come over a link, whichever it was: no member ever gives this number.
    pub const LINK: ConnectionKey = ConnectionKey {
        member: MemberId(0),
        number: ConnectionNumber(u32::MAX - 1),
    };
}

/// A session's place on its connection: what a command names, since the proposer knows it before
/// the core has answered the attach.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChannelKey {
    /// The connection, on the member that proposes.
    pub connection: ConnectionNumber,
    /// The channel on that connection.
    pub channel: u16,
}

/// The slot of a connection in the core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u32);

/// The slot of a queue in the core. Slots are reused; [`QueueRef`] tells incarnations apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueueId(pub u32);

impl ConnectionId {
    /// Where a session is that has no connection.
    pub const NOWHERE: ConnectionId = ConnectionId(u32::MAX);
}

impl QueueId {
    /// Where the queue of a subscription was, when it has been deleted.
    pub const NOWHERE: QueueId = QueueId(u32::MAX);
}

/// The slot of an exchange in the core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExchangeId(pub u32);

/// The slot of a session in the core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(pub u32);

/// The slot of a subscription in the core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SubscriptionId(pub u32);

/// A queue that may meanwhile have been deleted: its slot and which of the slot's queues it was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueueRef {
    /// The slot.
    pub id: QueueId,
    /// Counts the queues that the core has ever made; equal only for the same queue.
    pub incarnation: u64,
}

/// A queue in facts: its incarnation, which no other queue of the shard ever has, also after a
/// restart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueueKey(pub u64);

impl QueueKey {
    /// No queue: what facts say of outcomes of prepared branches, they say as of a queue whose
    /// positions are the branches' numbers. Keys of queues are counted from 1.
    pub const BRANCHES: QueueKey = QueueKey(0);
}

impl QueueRef {
    /// [`QueueKey::BRANCHES`] as a queue's name.
    pub const BRANCHES: QueueRef = QueueRef {
        id: QueueId::NOWHERE,
        incarnation: 0,
    };

    /// The queue's name in facts.
    pub fn key(self) -> QueueKey {
        QueueKey(self.incarnation)
    }
}

/// Milliseconds of group time: they never go back, and only the sequencer makes them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupTime(pub u64);

impl GroupTime {
    /// The end of time: for deadlines that do not come.
    pub const NEVER: GroupTime = GroupTime(u64::MAX);

    /// This time and `milliseconds` later; a sum past the end of time is never, so that a time to
    /// live near 2^64 ms does not count as run out.
    pub fn plus(self, milliseconds: u64) -> GroupTime {
        GroupTime(self.0.saturating_add(milliseconds))
    }
}

record_newtype!(MemberId(u64));
record_newtype!(ShardId(u16));
record_newtype!(ConnectionNumber(u32));
record_newtype!(ConnectionId(u32));
record_newtype!(QueueId(u32));
record_newtype!(ExchangeId(u32));
record_newtype!(SessionId(u32));
record_newtype!(SubscriptionId(u32));
record_newtype!(GroupTime(u64));
super::encoding::record!(ConnectionKey { member, number });
super::encoding::record!(ChannelKey {
    connection,
    channel
});
super::encoding::record!(QueueRef { id, incarnation });
