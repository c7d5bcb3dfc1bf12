//! Every bound of ACL files and of what is decided by them, with its reason.

/// Octets of an ACL file: qpidd has none, and the largest in use have some thousand lines.
pub const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Octets of a line without its end, as in qpidd.
pub const LINE_BYTES_MAX: usize = 1023;

/// Words of a statement over all its lines: the members of a group.
pub const STATEMENT_WORDS_MAX: usize = 100_000;

/// Members of all groups, those of groups in groups included: groups of groups double with each line.
pub const MEMBERS_MAX: usize = 1_000_000;

/// Faults of a file that are told: the others are mostly their consequences.
pub const FAULTS_MAX: usize = 100;

/// What a quota may say at most, as in qpidd.
pub const QUOTA_MAX: u32 = 65_530;

/// Decisions on publishing that a connection remembers. Most clients publish with few keys; those of
/// one with more are looked up in the rules.
pub const DECISIONS_MAX: usize = 256;

/// Octets of a name in an event of management: what a `str8` holds. What is longer is cut.
pub const NAME_BYTES_MAX: usize = 255;

/// Octets of what is told in an event of a file that is not taken: the log has all of it.
pub const REASON_BYTES_MAX: usize = 4096;
