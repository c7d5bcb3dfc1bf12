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
