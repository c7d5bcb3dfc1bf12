//! Every bound of the groups, with its reason.

/// Batches of one connection that are proposed and not yet applied, before reading from its socket
/// pauses. With 256 commands a batch this keeps a fast network busy; a client that floods a group
/// in which nothing is applied costs this many batches and no more.
pub const PROPOSED_BATCHES_MAX: usize = 16;

/// Octets of batches of one connection that are proposed and not yet applied, before reading from its
/// socket pauses: as above. A large message passes it once.
pub const PROPOSED_BYTES_MAX: usize = 4 * 1024 * 1024;

/// The same of all connections of a member: what many publishers of large messages cost it while
/// nothing is applied, beside the last message of each.
pub const PROPOSED_BY_MEMBER_BYTES_MAX: usize = 64 * 1024 * 1024;

/// `Continue` entries that one call of `tick` applies, the lock being free between them. More work
/// than this asks for another call, so that whoever calls can do something else meanwhile.
pub const CONTINUES_PER_TICK_MAX: usize = 16;

/// Room of an outbox that is kept for its next use: the usual batch fits, and one great delivery
/// does not hold its memory for ever.
pub const OUTBOX_KEPT_EFFECTS: usize = 1024;

/// Effects in the outbox of an agent of management, beyond which it hears of no more events: those who
/// listen by HTTP miss some, as when they read too slowly.
pub const OUTBOX_HEARS_EVENTS_MAX: usize = 10_000;

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

/// Octets of one piece of a snapshot, as it is written and as it travels: entries and heartbeats wait
/// behind no more than some of these, and reading one back takes no more memory than that.
pub const SNAPSHOT_PIECE_BYTES: usize = 256 * 1024;

/// Octets of the largest piece that is taken: older versions wrote larger ones.
pub const SNAPSHOT_PIECE_BYTES_MAX: usize = 1024 * 1024;

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
pub const MEMBERS_MAX: usize = crate::broker::limits::MEMBERS_MAX;

/// The epoch that is closed of a member that was taken out: all of them, since it has no other. Epochs are
/// times of the wall clock, or follow one another.
pub const EPOCH_OF_WHO_LEFT: u64 = u64::MAX;

/// Raft: milliseconds of one tick, in which the two below are counted.
pub const RAFT_TICK_MS: u64 = 50;

/// Raft: ticks that pass at once, however long a member has not looked at its clock: it has not looked at
/// what others say either, and takes them for silent only when it has. A leader that let all of a long
/// entry's time pass at once would step down for want of answers that it has not read.
pub const RAFT_TICKS_AT_ONCE: usize = 3;

/// Raft: messages that come into queues between two looks at the clock and at what others say: some
/// milliseconds' work, as a batch of messages that go to many queues is. Entries of more are applied one by
/// one.
pub const RAFT_APPLIED_ENQUEUES: u64 = crate::broker::limits::BATCH_PLACES_USUAL as u64;

/// Raft: ticks in which nothing is heard of a member whose process is known to be gone, after which its
/// sessions end: two heartbeats, of which one that is there after all answers one.
pub const RAFT_GONE_TICKS: u64 = 2 * RAFT_HEARTBEAT_TICKS as u64;

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

/// Raft: octets of a member's proposals on their way to the leader, unless one alone has more: what a
/// fast network takes at once, and what is sent again when the leader changes.
pub const RAFT_PROPOSALS_ON_WAY_BYTES: usize = 4 * 1024 * 1024;

/// Raft: octets of entries that the leader has ordered and no majority has: more proposals are sent
/// again later, so that a leader without a majority fills neither its memory nor its disk.
pub const RAFT_UNCOMMITTED_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Raft: octets of committed entries that are applied before anything else is done.
pub const RAFT_APPLIED_BYTES_MAX: u64 = 1024 * 1024;

/// Octets of a proposal beside its last command, and of one part of a large message: what comes behind
/// waits for no more than this.
pub const PROPOSAL_BYTES: usize = 256 * 1024;

/// Raft: octets of one entry: a proposal, whose last command is the largest that a client can send. A
/// larger one ends its connection.
pub const RAFT_ENTRY_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Raft: octets of one message as it travels: entries, of which one may be large, or a piece of a
/// snapshot, and some numbers.
pub const RAFT_MESSAGE_BYTES_MAX: usize =
    RAFT_ENTRY_BYTES_MAX + RAFT_APPEND_BYTES as usize + 64 * 1024;

/// Raft: octets of a snapshot: more than any machine's memory, so that sums of them stay numbers.
pub const RAFT_SNAPSHOT_BYTES_MAX: u64 = 1 << 44;

/// Raft: pieces of a snapshot that a newcomer asks for at once: enough for a fast network, and what
/// other messages wait behind on a slow one.
pub const RAFT_PIECES_WANTED_MAX: u32 = 8;

/// Raft: ticks after which pieces that do not come are asked for again.
pub const RAFT_PIECE_TICKS: u64 = 4;

/// Raft: the same at most, doubling each time: on a network that is slower than was thought, asking
/// sooner would only fill it.
pub const RAFT_PIECE_TICKS_MAX: u64 = 40;

/// Pieces of a member's own snapshot that wait for its disk: entries are written behind these.
pub const SNAPSHOT_PIECES_UNSYNCED: usize = 8;

/// By how many times more octets the next snapshot is put off while the last one travels: what comes
/// behind that one is kept meanwhile.
pub const SNAPSHOT_PUT_OFF_TIMES: u64 = 4;

/// Raft: octets of the context of a message or entry, which only we fill.
pub const RAFT_CONTEXT_BYTES_MAX: usize = 64;

/// Raft: octets of the newest entries that are kept in memory, for the members that follow.
pub const RAFT_RECENT_BYTES: usize = 8 * 1024 * 1024;

/// Raft: entries that a learner may be behind when it is made a voter: it has the rest before a
/// majority is counted again.
pub const RAFT_LEARNER_BEHIND_MAX: u64 = 64;

/// Raft: ticks after which a leader whose disk is full hands the leadership on once more: when the disks
/// of all are full, it shall not go round and round.
pub const RAFT_HAND_OVER_TICKS: u64 = 200;

/// Raft: ticks without a word of a member that gets a snapshot, after which it is offered again, and
/// without a piece after which the member gives it up: some seconds.
pub const RAFT_SNAPSHOT_TICKS: u64 = 100;

/// Raft: milliseconds after which a proposal is sent again, where members have connections that keep
/// order. It is lost there only with its connection, with its leader, or because the leader had too
/// much on its way; sent again too early, it is one more entry that says nothing.
pub const RAFT_RESEND_AFTER_MS: u64 = 500;

/// Raft: octets of messages that wait for one member. What is more is dropped, as by a network: raft
/// sends again what is missing.
pub const RAFT_OUTGOING_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Raft: how long a member may hear of no leader, in milliseconds, before it ends its connections: some
/// elections can fail in that time. Clients are to try other members then.
pub const RAFT_NO_QUORUM_MS: u64 = 10_000;

/// Raft: how long a disk without room may take nothing, in milliseconds, before the member ends its
/// connections: it applies nothing meanwhile, and the others have taken it for down. As without a
/// quorum, clients are to try other members then.
pub const RAFT_STUCK_MS: u64 = 10_000;

/// Raft: rounds of what has become possible in one call, each with as much applied as said above: who
/// starts with a long log lets others have the lock between.
pub const RAFT_ROUNDS_PER_WORK: u32 = 4;
