//! Every bound of the groups, with its reason.

/// Batches of one connection that are proposed and not yet applied, before reading from its socket
/// pauses. With 256 commands a batch this keeps a fast network busy; a client that floods a group
/// in which nothing is applied costs this many batches and no more.
pub const PROPOSED_BATCHES_MAX: usize = 16;

/// `Continue` entries that one call of `tick` applies, the lock being free between them. More work
/// than this asks for another call, so that whoever calls can do something else meanwhile.
pub const CONTINUES_PER_TICK_MAX: usize = 16;

/// Room of an outbox that is kept for its next use: the usual batch fits, and one great delivery
/// does not hold its memory for ever.
pub const OUTBOX_KEPT_EFFECTS: usize = 1024;

/// Lockstep: steps (an arrival, an entry applied by one member) in one call, the rest being left
/// to the next.
pub const LOCKSTEP_STEPS_MAX: usize = 256;

/// Lockstep: how long a member waits for its proposals to go on, before it sends them again. Long
/// enough for the delays of an undisturbed way there and back.
pub const RESEND_AFTER_MS: u64 = 10;

/// Lockstep: how long at most, doubling each time that nothing came of it: on a network that is
/// slower than was thought, sending again sooner would only fill it.
pub const RESEND_AFTER_MS_MAX: u64 = 160;

/// Lockstep: for how long an answered gap is not answered again.
pub const GAP_ANSWERED_MS: u64 = 4;

/// Lockstep: proposals sent again at once: more would mostly come too early.
pub const RESENT_BATCHES_MAX: usize = 16;

/// Lockstep: octets of state for which one entry more lies between two comparisons, so that
/// comparing a large state does not take most of the time.
pub const COMPARED_BYTES_PER_ENTRY: u64 = 1024;

/// Lockstep: steps of time in which the members must come to rest at the end: each is an arrival or
/// a delay, so this is far above what can be on its way.
pub const DRAIN_STEPS_MAX: usize = 1_000_000;

/// A segment of the journal is copied and removed when at most one part of so many is still needed:
/// few octets are written twice, and what is kept takes at most so many times its room.
pub const COMPACTED_PART: i64 = 16;

/// The same when the disk is full, where room counts more than work.
pub const COMPACTED_WHEN_FULL_PART: i64 = 2;

/// Segments compacted in one round: what is copied waits for one sync, and none of the room is free
/// before that.
pub const COMPACTED_SEGMENTS_MAX: usize = 8;

/// How often a compaction looks whether what it appended is on the disk.
pub const COMPACTION_LOOKS_MS: u64 = 2;

/// Octets of entries in a replicated member's log after which it takes a snapshot: to read and apply
/// so many again takes some tenths of a second. When the last snapshot was larger, as many octets as
/// that had: so at most as much is written for snapshots as for entries.
pub const SNAPSHOT_AFTER_BYTES: u64 = 64 * 1024 * 1024;

/// Octets of one piece of a snapshot: a segment holds several, and reading one back takes no more
/// memory than that.
pub const SNAPSHOT_PIECE_BYTES: usize = 1024 * 1024;

/// Entries that are copied into the journal of a member that is behind, between two looks at whether
/// it has room for more.
pub const CAUGHT_UP_ENTRIES: u64 = 256;

/// How often it is looked whether what a start has written is on the disk.
pub const SYNC_LOOKS_MS: u64 = 1;

/// Lockstep: how often it is looked whether a full disk has room again, where no thread does.
pub const FULL_LOOKS_MS: u64 = 500;

/// Messages looked at in one piece of paging, or of moving pages, with the group's lock held.
pub const PAGED_MESSAGES_PER_PIECE: u32 = 256;

/// Looks, of those in which nothing could leave the memory although it should, between two walks over
/// all messages: as many more after each walk that finds nothing, up to this. With one look in 20 ms
/// that is five seconds.
pub const LOOKS_PER_WALK_MAX: u32 = 256;

/// Messages that must leave the memory in a piece of such a walk, on average, so that it was worth it.
pub const RESTED_PER_PIECE_MIN: usize = 8;

/// Octets of memory that messages have, whatever the limit, before they are refused when nothing more
/// can leave it: a broker takes some of this for itself, and one that refused sooner would be of no
/// use.
pub const MEMORY_REFUSED_BYTES_MIN: u64 = 64 * 1024 * 1024;

/// Segments of the pages beyond twice what is needed of them, before what is needed of sparse ones is
/// written anew: what is just being written, and what has just gone.
pub const PAGES_SPARE_SEGMENTS: u64 = 4;

/// Pieces of that in one look, so that memory is looked at between them.
pub const MOVED_PIECES_PER_LOOK: usize = 64;

/// Members of one group: more than any sensible cluster, and a bound for what one message can name.
pub const MEMBERS_MAX: usize = 64;

/// Raft: milliseconds of one tick, in which the two below are counted.
pub const RAFT_TICK_MS: u64 = 50;

/// Raft: ticks between two heartbeats of the leader.
pub const RAFT_HEARTBEAT_TICKS: usize = 2;

/// Raft: ticks without a leader after which a member stands for election, and again as many at most,
/// so that few stand at the same time: a new leader is there within a second or two.
pub const RAFT_ELECTION_TICKS: usize = 10;

/// Raft: octets of one message, beside a single large entry: what a network takes at once.
pub const RAFT_APPEND_BYTES: u64 = 256 * 1024;

/// Raft: messages with entries on their way to one member: with the octets above, what a fast network
/// keeps in flight.
pub const RAFT_INFLIGHT_MAX: usize = 64;

/// Raft: octets of entries that the leader has ordered and no majority has: more proposals are sent
/// again later, so that a leader without a majority fills neither its memory nor its disk.
pub const RAFT_UNCOMMITTED_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Raft: octets of committed entries that are applied before anything else is done.
pub const RAFT_APPLIED_BYTES_MAX: u64 = 1024 * 1024;

/// Raft: octets of one entry: a batch is one message of any size and little more. A larger one ends
/// its connection.
pub const RAFT_ENTRY_BYTES_MAX: usize = 128 * 1024 * 1024;

/// Raft: octets of one message as it travels, a snapshot in one piece being the largest.
pub const RAFT_MESSAGE_BYTES_MAX: usize = 1024 * 1024 * 1024;

/// Raft: octets of the context of a message or entry, which only we fill.
pub const RAFT_CONTEXT_BYTES_MAX: usize = 64;

/// Raft: octets of the newest entries that are kept in memory, for the members that follow.
pub const RAFT_RECENT_BYTES: usize = 8 * 1024 * 1024;

/// Raft: entries that a learner may be behind when it is made a voter: it has the rest before a
/// majority is counted again.
pub const RAFT_LEARNER_BEHIND_MAX: u64 = 64;

/// Raft: ticks after which a snapshot that was sent and not answered is sent again: some seconds, in
/// which a large one comes over a network that is not slow.
pub const RAFT_SNAPSHOT_TICKS: u64 = 100;
