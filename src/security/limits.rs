//! Every bound of this room, with its reason. Those of ACL files are in `acl/limits.rs`.

/// Octets of a user's name with its realm: as much as a `str8` may hold, in which QMF and message
/// properties carry it.
pub const USER_BYTES_MAX: usize = 255;

/// Octets of a response: names, passwords and proofs are far shorter.
pub const RESPONSE_BYTES_MAX: usize = 4096;

/// How often a new password is hashed. RFC 7677 asks for 4,096 at least; PLAIN hashes at every login,
/// and this is some milliseconds.
pub const ITERATIONS: u32 = 16_384;

/// How often one may be hashed: more would keep a processor for seconds.
pub const ITERATIONS_MAX: u32 = 10_000_000;

/// Octets of a salt, and of a nonce before it is made text.
pub const SALT_BYTES: usize = 16;
/// See [`SALT_BYTES`].
pub const NONCE_BYTES: usize = 24;

/// Directives of a DIGEST-MD5 response: RFC 2831 has a dozen.
pub const DIRECTIVES_MAX: usize = 32;

/// Octets of a users file: a hundred thousand users.
pub const USERS_FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Octets of a password that is set.
pub const PASSWORD_BYTES_MAX: usize = 1024;

/// Failures of one user from one address in [`FAILURES_MILLISECONDS`] after which he is not listened to
/// from there until they are over: guessing at this rate finds nothing. Others behind the same address
/// get in meanwhile, so that one program with an old password keeps nobody else out.
pub const FAILURES_MAX: u32 = 30;

/// Failures of one address, whoever failed, in [`FAILURES_MILLISECONDS`] after which nobody from there is
/// listened to until they are over: hashing costs the guesser nothing and us a processor.
pub const HOST_FAILURES_MAX: u32 = 600;

/// See [`FAILURES_MAX`].
pub const FAILURES_MILLISECONDS: u64 = 60_000;

/// Addresses whose failures are counted, and as many users at addresses. When there are more the oldest
/// is forgotten.
pub const FAILING_MAX: usize = 10_000;

/// Octets of a file with certificates or a key: a larger file is a mistake.
pub const KEY_FILE_BYTES_MAX: u64 = 1024 * 1024;
