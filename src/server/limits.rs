//! Every bound of this room, with its reason.

/// Octets asked of a socket in one read, at least and at most. A silent connection holds no buffer;
/// one that sends much grows to the larger.
pub const READ_BYTES_MIN: usize = 4 * 1024;
/// See [`READ_BYTES_MIN`].
pub const READ_BYTES_MAX: usize = 64 * 1024;

/// Octets that TLS holds for a socket that does not take them.
pub const TLS_BUFFER_BYTES_MAX: usize = 64 * 1024;

/// Reads from a socket for TLS that give no octet of AMQP, before others have their turn.
pub const TLS_READS_PER_TURN: u32 = 32;

/// Pieces of one vectored write. Linux takes 1024; more than this does not pay.
pub const WRITE_SLICES_MAX: usize = 64;

/// Octets written to one socket before others have their turn.
pub const WRITE_BYTES_PER_TURN: usize = 1024 * 1024;

/// Batches that a connection proposes in one round. One read may hold thousands of commands that
/// each take long; others have their turn between them.
pub const BATCHES_PER_ROUND: usize = 4;

/// Rounds of reading and writing that a connection has before other tasks have their turn.
pub const ROUNDS_PER_TURN: u32 = 8;

/// How long, in milliseconds, a peer that owes us reading (it has left answers unread up to their
/// bound, so nothing is read from it) may take no octet. Then it is cut off: a peer that waits for
/// us to read before it reads would wait for ever.
pub const UNREAD_MILLISECONDS: u64 = 30_000;

/// How long, in milliseconds, beyond two heartbeat intervals a peer with heartbeats may take no
/// octet while some wait for it. Its heartbeats show that its host lives; a client whose reader has
/// died holds messages that others could have.
pub const WRITE_STALL_MILLISECONDS: u64 = 10_000;

/// How long, in milliseconds, the last octets of a connection that has ended may wait for a peer
/// that does not take them.
pub const LAST_WORDS_MILLISECONDS: u64 = 2_000;

/// How long, in milliseconds, and how many octets a peer may still send after our last word. Were
/// the socket closed with octets unread, the kernel would take our last word back.
pub const LINGER_MILLISECONDS: u64 = 1_000;
/// See [`LINGER_MILLISECONDS`].
pub const LINGER_BYTES_MAX: usize = 1024 * 1024;

/// Connections that have not been opened, at one moment. When one more comes, the oldest of the host
/// that has the most is dropped: whoever stalls in the handshake gives way to who may not.
pub const NEGOTIATING_MAX: usize = 8192;

/// Octets that a connection may hold before it is open, whatever others hold: more than clients say until
/// then. So many for each of [`NEGOTIATING_MAX`] are 32 MiB.
pub const STRANGER_BYTES_FREE: usize = 4 * 1024;

/// Octets that all connections that are not open may hold beside that: room for hundreds that say as much
/// as they may. Who says more than is left is refused.
pub const STRANGERS_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Pause, in milliseconds, after the system has refused a new socket (too many files are open).
pub const ACCEPT_PAUSE_MILLISECONDS: u64 = 50;

/// Attempts to find one port that is free on all interfaces, when any port will do.
pub const PORT_ATTEMPTS: usize = 16;

/// `max-negotiate-time` at most, in milliseconds: a day. A larger one is a mistake.
pub const NEGOTIATE_MILLISECONDS_MAX: u64 = 24 * 60 * 60 * 1000;

/// `session-timeout-max` at most, in seconds: a week. A larger one is a mistake.
pub const SESSION_TIMEOUT_SECONDS_MAX: u32 = 7 * 24 * 60 * 60;

/// Ports of one broker: one for each member of a group in one process.
pub const PORTS_MAX: usize = 16;

/// How often it is looked at how much memory the queues take. What comes meanwhile is over the limit.
pub const PAGING_INTERVAL: std::time::Duration = std::time::Duration::from_millis(20);

/// How many of these go by between two looks at the journal's room. A segment is filled in that time
/// only by a disk of hundred megabytes a second and more; one round takes several.
pub const PAGINGS_PER_COMPACTION: u32 = 8;

/// Files of the usual size that would fit on a file system at the least: a journal has one and one that
/// is made ahead, and so have the pages.
pub const JOURNAL_FILES_PER_DISK: u64 = 64;

/// Octets of a journal's file on the smallest file systems, unless said otherwise.
pub const JOURNAL_FILE_BYTES_LEAST: u64 = 256 * 1024;

/// Octets of the disk that persistent messages do not get: what connections have on its way when it
/// gets full, about a mebibyte each of those that publish, and what makes room, go there. Were they
/// to wait for room themselves, accepts would wait behind them and there would never be any.
pub const JOURNAL_SPARE_BYTES: u64 = 16 * 1024 * 1024;

/// How long a connection on which nothing moves keeps the buffers that it had when it was busy: long
/// enough that a busy one, which also waits now and then, does not give memory back and ask for it
/// again all the time; short enough that many silent ones hold nothing.
pub const IDLE_MILLISECONDS: u64 = 1000;

/// Rounds of compaction in one look at the journal's room: whoever stops the broker waits for no more.
pub const COMPACTIONS_PER_LOOK: u32 = 16;

/// Octets of a frame of a member that has not said and proved who it is: a greeting and a proof are
/// some dozens.
pub const PEER_GREETING_BYTES_MAX: usize = 256;

/// Octets of a text that a member says of itself: a URL of the greatest length fits.
pub const PEER_TEXT_BYTES_MAX: usize = 4096;

/// Octets of a frame in which a member says what it belongs to: three such texts, and little more.
pub const PEER_HELLO_BYTES_MAX: usize = 4 * PEER_TEXT_BYTES_MAX;

/// Octets of any other frame of a member: the largest message, and its kind.
pub const PEER_FRAME_BYTES_MAX: usize = crate::cluster::limits::RAFT_MESSAGE_BYTES_MAX + 1;

/// Octets for which there is room in one read from a member.
pub const PEER_READ_BYTES: usize = 64 * 1024;

/// Octets of messages that are put into one buffer, before it is written to a member.
pub const PEER_WRITE_BYTES: usize = 256 * 1024;

/// How long a member has to say and prove who it is; some machines start slowly, but a peer that says
/// nothing is not waited for.
pub const PEER_MEETING: std::time::Duration = std::time::Duration::from_secs(10);

/// Peers at one moment that have not proved who they are. When one more comes, the oldest of them is
/// dropped.
pub const PEERS_UNPROVEN_MAX: usize = 128;

/// Connections of members and of such peers at one moment: one of each member, a second of those that
/// have just lost one, and room for strangers.
pub const PEERS_MAX: usize = PEERS_UNPROVEN_MAX + 2 * crate::cluster::limits::MEMBERS_MAX;

/// Refused peers that the log names in one second; the others are counted.
pub const REFUSALS_LOGGED_PER_SECOND: u32 = 10;

/// How long a connection to a member is silent before it is asked whether it lives, and how long until
/// it counts as dead.
pub const PEER_PING: std::time::Duration = std::time::Duration::from_secs(1);
/// See [`PEER_PING`].
pub const PEER_SILENCE: std::time::Duration = std::time::Duration::from_secs(10);

/// How long after a member was met in another life of its process something has to be heard of the former
/// one, in milliseconds, so that it counts as a second process: what the former one has sent last may come
/// later than its successor. And for how long that is waited for: whoever lives speaks each
/// [`PEER_PING`].
pub const COPY_HEARD_AFTER_MS: u64 = 200;
/// See [`COPY_HEARD_AFTER_MS`].
pub const COPY_HEARD_MS_MAX: u64 = 2_500;

/// Between two attempts to reach a member: at first, and at most, doubling. A member that comes back
/// is found within the longer.
pub const PEER_REDIAL_MIN: std::time::Duration = std::time::Duration::from_millis(50);
/// See [`PEER_REDIAL_MIN`].
pub const PEER_REDIAL_MAX: std::time::Duration = std::time::Duration::from_millis(1000);

/// Between two looks at who is there, while a group is being formed.
pub const FORMING_INTERVAL: std::time::Duration = std::time::Duration::from_millis(250);

/// Between two looks at who takes part, once there is a group.
pub const STEWARD_INTERVAL: std::time::Duration = std::time::Duration::from_millis(250);

/// How long a member is connected to another in one direction only before the log says so, in
/// milliseconds: connections that are lost come back one after the other.
pub const ONE_WAY_TOLD_AFTER_MS: u64 = 5_000;

/// After how long the log says again what is wrong between members and does not end by itself, in
/// milliseconds: at first, and at most, doubling.
pub const REMINDED_AFTER_MS: u64 = 5_000;
/// See [`REMINDED_AFTER_MS`].
pub const REMINDED_AFTER_MS_MAX: u64 = 600_000;

/// Between two requests of a newcomer to take part, and how long one counts.
pub const JOIN_INTERVAL: std::time::Duration = std::time::Duration::from_millis(500);
/// See [`JOIN_INTERVAL`].
pub const JOIN_MILLISECONDS: u64 = 5_000;

/// Octets of a cluster key, at least: as many as its proofs have.
pub const CLUSTER_KEY_BYTES_MIN: usize = 32;

/// Members that left and are remembered, the newest: they are refused by name.
pub const MEMBERS_LEFT_MAX: usize = 256;

/// How long a member that is told to stop waits until the order has its farewell, and as long again
/// until another leads.
pub const FAREWELL: std::time::Duration = std::time::Duration::from_secs(3);

/// `--cluster-down-after` at most, in milliseconds: an hour. A longer one is a mistake.
pub const DOWN_AFTER_MILLISECONDS_MAX: u64 = 60 * 60 * 1000;

/// Between two looks whether the disk has what a start waits for.
pub const SYNC_LOOK: std::time::Duration = std::time::Duration::from_millis(2);

/// Between two looks whether a member has caught up, or is done with its end.
pub const READY_LOOK: std::time::Duration = std::time::Duration::from_millis(10);

/// Milliseconds before an agent whose seat was ended takes another: its group has other things to do.
pub const AGENT_PAUSE_MILLISECONDS: u64 = 100;

/// Commands that an agent proposes at once: each may publish a message of a hundred objects.
pub const AGENT_COMMANDS_PER_BATCH: usize = 16;

/// Queries of one connection that an agent has not answered. More are refused: tools ask one thing after
/// the other.
pub const AGENT_LISTINGS_PER_CONNECTION_MAX: usize = 100;

/// Queries of all connections that an agent has not answered: a few megabytes.
pub const AGENT_LISTINGS_MAX: usize = 10_000;

/// Objects of which an agent knows how it told them last. Of more it tells each time.
pub const TOLD_OBJECTS_MAX: usize = 1_000_000;

/// Milliseconds that a query waits for what other members count. What they told before is shown then.
pub const COUNTS_MILLISECONDS_MAX: u64 = 1_000;

/// Octets of a file with options, at most: a larger one is a mistake.
pub const CONFIG_FILE_BYTES_MAX: u64 = 1024 * 1024;

/// Octets of what a daemon says to who waits for it: its port, or why it does not start.
pub const DAEMON_WORDS_BYTES_MAX: u64 = 64 * 1024;

/// Between two looks whether a daemon that was told to stop is gone.
pub const DAEMON_LOOK: std::time::Duration = std::time::Duration::from_millis(10);

/// How often the log tells what has come to nothing of the replication of queues: one line a reason.
pub const REPLICATION_LOOK: std::time::Duration = std::time::Duration::from_secs(2);

/// How long a broker that starts waits until its agents can be asked, before it serves clients.
pub const AGENTS_OPEN: std::time::Duration = std::time::Duration::from_secs(10);

/// How long a member that is to end waits for others that are to end as well, in milliseconds: some of
/// them may be down. A leader that is lost meanwhile is replaced in that time.
pub const STOP_MILLISECONDS_MAX: u64 = 5_000;

/// How long a member goes on when all that are to end have said so, in milliseconds: answers are on
/// their way.
pub const STOP_GRACE_MILLISECONDS: u64 = 300;

/// One of so many processors hashes the passwords of those who want to be let in: what they make the
/// broker do leaves the others to those who are in.
pub const HASHING_SHARE: usize = 2;

/// Passwords that are hashed at a time, by [`HASHING_SHARE`]; 1 at least.
pub fn hashed_at_once() -> usize {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    (processors / HASHING_SHARE).max(1)
}

/// Connections whose counts go in one command.
pub const COUNTS_PER_COMMAND: usize = 1_000;

/// What is asked of an agent by others than QMF and waits to be taken. Who asks more waits.
pub const AGENT_ASKS_MAX: usize = 64;

/// Acts of an agent that the core has not answered: then it takes nothing more that is asked of it.
pub const AGENT_ACTING_MAX: usize = 1_000;

/// Events of logins and rights that wait for an agent. More are lost, and counted.
pub const HAPPENINGS_MAX: usize = 1_000;

/// The same, that are told in one second: each is an entry's part, and whoever fails to log in or does
/// what a rule denies makes them for nothing. More are lost, and counted.
pub const HAPPENINGS_PER_SECOND: u32 = 500;

/// Octets of what a client says of itself in the event that it could not log in. Of one that says more
/// nothing is told: nobody knows who it is.
pub const STRANGER_PROPERTIES_BYTES_MAX: usize = 4096;

/// Events that a listener may be behind; it is told how many it missed.
pub const EVENTS_BEHIND_MAX: usize = 1_024;
