//! Every bound of the core, with its reason.

/// Commands in one batch: what one lock of the core is held for.
pub const BATCH_COMMANDS_MAX: usize = 256;

/// Places in queues that the messages of one batch can come to, beside the last one, or the commit with
/// which it ends: each takes some 100 ns and an octet or two dozen of a journal's record, and may be every
/// queue there is.
pub const BATCH_PLACES_MAX: usize = 1 << 20;

/// The same as soon as it is known that messages go to many queues: some milliseconds' work, and less than
/// what members have to hear of each other in on a machine that is thirty times as slow, or as busy.
pub const BATCH_PLACES_USUAL: usize = 1 << 13;

/// Octets of messages in one batch, beside the last one: as above.
pub const BATCH_BYTES_MAX: usize = 64 * 1024;

/// Steps of work that one entry may take: deliveries, messages given back, looked at or moved.
/// At some 100 ns each an entry stays around a tenth of a millisecond.
pub const WORK_PER_ENTRY_MAX: u32 = 1024;

/// Octets of a header or of a selector, or steps on text within one, that looking at one message for
/// one subscription may take in a step of work: about as long as a delivery.
pub const SELECTED_BYTES_PER_STEP: usize = 64;

/// Octets of a message that one step of work reroutes: a journal writes the message again, and so
/// one entry makes it write 16 MiB and a message at most.
pub const REROUTED_BYTES_PER_STEP: u64 = 16 * 1024;

/// Sessions on one connection. Qpid's clients use a few; a channel number allows 65,535, which a
/// hostile one would use to fill memory.
pub const SESSIONS_PER_CONNECTION_MAX: usize = 1024;

/// Subscriptions of one session, for the same reason.
pub const SUBSCRIPTIONS_PER_SESSION_MAX: usize = 10_000;

/// Bindings that end with one session, for the same reason.
pub const SCOPED_BINDINGS_PER_SESSION_MAX: usize = 10_000;

/// Queues of one core: a client that declares without end meets an exception, not the end of memory.
pub const QUEUES_MAX: usize = 1_000_000;

/// Exchanges of one core, for the same reason.
pub const EXCHANGES_MAX: usize = 100_000;

/// Bindings of one exchange, for the same reason.
pub const BINDINGS_PER_EXCHANGE_MAX: usize = 1_000_000;

/// Octets of the publishes of one open transaction, and of what says which queues each goes to: they
/// stand in no queue, so no queue's limit counts them.
pub const TRANSACTION_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// Operations of one open transaction, for the same reason.
pub const TRANSACTION_OPERATIONS_MAX: usize = 1_000_000;

/// Places in queues that the publishes of one open transaction come to: a commit puts all of them there
/// in one entry, and a journal writes all of them in one record. As many as a batch without it may have,
/// which is more than the operations, so that it binds only who publishes to several queues at once.
pub const TRANSACTION_PLACES_MAX: usize = BATCH_PLACES_MAX;

/// Octets of either part of an xid: X/Open XA's number for both.
pub const XID_PART_BYTES_MAX: usize = 64;

/// Branches of distributed transactions, those that are rolled back and remembered included: they
/// outlive the sessions that made them, so no bound of a session holds them. Transaction managers have
/// some hundreds in doubt after a crash. `dtx.recover` names all in one answer, of less than 2 MiB.
pub const BRANCHES_MAX: usize = 10_000;

/// Octets of what all branches publish, for the same reason; of one branch as of one transaction.
pub const BRANCHES_BYTES_MAX: u64 = 1024 * 1024 * 1024;

/// Milliseconds for which a branch is remembered that was rolled back without being asked: whoever
/// comes later to end it finds that it is not known, which comes to the same. Long enough for a
/// transaction manager that starts anew.
pub const UNDONE_BRANCH_MS: u64 = 600_000;

/// Deliveries of one session that are not settled: a client that never accepts stops receiving.
pub const UNSETTLED_PER_SESSION_MAX: usize = 1_000_000;

/// Completed commands that the client has not said to know of, before it is asked to: qpidd's
/// number.
pub const COMPLETED_UNKNOWN_MAX: u32 = 65_536;

/// Ranges of a session's completed commands that its client does not know of: what one
/// `session.completed` can carry. Clients number their commands one by one and so make one range; one
/// that leaves gaps with `session.command-point` for ever would fill memory.
pub const COMPLETED_RANGES_MAX: usize = crate::wire::limits::RANGES_MAX;

/// Ranges of deliveries that a client has completed, kept so that being told again costs nothing:
/// forgetting some is no harm.
pub const COMPLETED_REMEMBERED_MAX: usize = 1024;

/// Octets of one message that comes in parts: more than any that a connection's assembly gives (128
/// MiB, and what broker and exchange add to a header).
pub const PARTS_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// How many exchanges a message passes on its way from alternate to alternate, so that two that
/// name each other end.
pub const ALTERNATES_MAX: usize = 2;

/// Indices, positions in a queue and keys of queues stay below: counted one by one, a thousand million
/// a second, they get there in a century. A larger one in a journal is damage.
pub const COUNTED_MAX: u64 = 1 << 62;

/// Positions that events give to messages stay below: behind the highest a queue still counts one by one
/// for half a century before it comes to [`COUNTED_MAX`].
pub const REPLICATED_POSITION_MAX: u64 = COUNTED_MAX / 2;

/// Positions that a fact keeps for messages that leave none, where somebody else knows messages by them:
/// so many are left out after a crash, and one fact is written for as many messages.
pub const KEPT_POSITIONS: u64 = 1024;

/// Octets that events of one published message come to, which hold all of it once more for each queue
/// that gives them: as many as one transaction may publish.
pub const EVENTS_BYTES_MAX: u64 = TRANSACTION_BYTES_MAX;

/// Messages at the front of a queue whose bodies stay in memory when others leave it: they are
/// wanted next.
pub const PAGED_BEHIND: u64 = 256;

/// Messages that leave a ring before one command's message comes into it: some tenths of a
/// millisecond. The rest leaves in `Continue` entries.
pub const EVICTED_PER_COMMAND_MAX: u32 = 256;

/// Levels of a queue with priorities: a priority is an octet, more levels could not be told apart.
pub const PRIORITY_LEVELS_MAX: usize = 256;

/// Queues in which a message may die by itself, one after the other, before a client has a say: more
/// than anybody lays out on purpose. Their names stand in its headers.
pub const DEATHS_MAX: usize = 16;

/// Sessions that wait without a connection: each keeps its queues, messages and answers until its
/// timeout has run out.
pub const DETACHED_SESSIONS_MAX: usize = 10_000;

/// Those of one user: no user keeps all others out.
pub const DETACHED_SESSIONS_PER_USER_MAX: u64 = 1_000;

/// Commands of the broker that a session with a timeout keeps until its client has them: as many as
/// deliveries may be unsettled. More messages come when the client has said what it has.
pub const KEPT_COMMANDS_PER_SESSION_MAX: u64 = 1_000_000;

/// Octets of answers that a session keeps until its client has them. One that asks and never says
/// what it has loses its timeout.
pub const KEPT_BYTES_PER_SESSION_MAX: u64 = 16 * 1024 * 1024;

/// What a kept answer takes beside its value.
pub const KEPT_COMMAND_BYTES: u64 = 128;

/// Detached sessions that end in one `Tick`: those of a member may all run out at once.
pub const EXPIRED_SESSIONS_PER_TICK: usize = 256;

/// Ranges of commands that a session's client has said will never come, ahead of the next command.
pub const GAP_RANGES_MAX: usize = 1024;

/// Requests of one connection that an agent of management has been given and not taken. One more fails
/// its client's session: tools ask one thing after the other, or for all schemas at once.
pub const AGENT_REQUESTS_PER_CONNECTION_MAX: u32 = 500;

/// Octets of these.
pub const AGENT_REQUEST_BYTES_PER_CONNECTION_MAX: u64 = 1024 * 1024;

/// Requests of all connections that an agent has been given and not taken: what a hundred consoles send
/// that ask for all schemas at once.
pub const AGENT_REQUESTS_MAX: u32 = 10_000;

/// Octets of these.
pub const AGENT_REQUEST_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Octets of one request; qpidd drops what is larger, and so do we.
pub const AGENT_REQUEST_SIZE_MAX: u64 = 64 * 1024;

/// Bindings of an exchange of management that are looked at to find whether anybody listens for a class
/// of objects. Where there are more, somebody is taken to listen.
pub const LISTENERS_LOOKED_AT_MAX: usize = 1_000;

/// Members that the core knows, and that clients are told of: more than a cluster has.
pub const MEMBERS_MAX: usize = 64;

/// Events that are still to be published. More are lost, and counted.
pub const UNTOLD_EVENTS_MAX: usize = 10_000;

/// Events that are published in one entry: at some ten microseconds each that is as long as other
/// entries take. The others come in the next.
pub const EVENTS_PER_ENTRY_MAX: usize = 256;

/// Places of queues that events come to in one entry, unless a single one comes to more.
pub const EVENT_PLACES_PER_ENTRY_MAX: u64 = 4096;

/// Events that lead to each other by being published, since they fill a queue to a line that an alert is
/// asked for. That of such a queue is told; what follows of telling that is lost, and counted: a queue
/// that is told of itself would have no end.
pub const EVENT_GENERATIONS_MAX: u8 = 2;

/// Lines of alerts that are crossed in one command. More are counted as events that were lost: a queue
/// would have to fill and empty hundreds of times in it.
pub const CROSSINGS_PER_COMMAND_MAX: usize = 1024;

/// What a threshold of a queue can be of its limit.
pub const PERCENT_MAX: u8 = 100;

/// How often a message to an xml exchange is given back because the bindings of its key have changed
/// since it was decided what it matches. Whoever changes them faster than that keeps publishers out.
pub const MATCHINGS_MAX: u32 = 32;

/// Links to other brokers. Each takes a connection and tasks of the member that drives it.
pub const LINKS_MAX: usize = 1_000;

/// Bridges on all links. Each takes a session at both ends.
pub const BRIDGES_MAX: usize = 10_000;

/// Octets of origin and tags of a binding that a link has made: some hundred brokers on one way.
pub const TAGS_BYTES_MAX: usize = 16 * 1024;

/// Brokers that want one binding of one queue.
pub const ORIGINS_PER_BINDING_MAX: usize = 1_024;

/// Messages that have come over links and would be known again, at least: twice what a link may have on its
/// way, all of which comes again when it is lost, and some of what came by others meanwhile.
pub const SEEN_MAX: usize = 131_072;

/// Of these, those of one entry of one broker that are kept, and forgotten, as one.
pub const SEEN_RUN_MAX: usize = 1_024;

/// Octets of what a link tells of what went wrong.
pub const LINK_ERROR_BYTES_MAX: usize = 1_024;

/// Definitions in one import, which is done in one entry: at a few microseconds each some tens of
/// milliseconds.
pub const IMPORTED_DEFINITIONS_MAX: usize = 10_000;

/// Octets of what is wrong with the definitions of an import, all together: beyond that they are counted.
pub const IMPORT_COMPLAINTS_BYTES_MAX: usize = 16 * 1024;
