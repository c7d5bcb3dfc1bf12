//! Every bound of this room, with its reason.

/// Octets of a user's name with its realm: as much as a `str8` may hold, in which QMF and message
/// properties carry it.
pub const USER_BYTES_MAX: usize = 255;

/// Challenges in one exchange. PLAIN without initial response needs one.
pub const CHALLENGES_MAX: u32 = 1;
