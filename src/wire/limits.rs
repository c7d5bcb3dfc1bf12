//! The bounds of this room: how far bytes from a peer may grow in memory.

/// Bytes of memory that one octet on the wire may turn into when a [`Cursor`](super::Cursor) is
/// made without a budget of its own. A map entry of four octets or more keeps within it, as does all
/// that clients send; long lists of values of one or two octets do not, and are refused: what is
/// decoded may be kept, as a queue's arguments are.
pub const BUDGET_PER_OCTET: usize = 16;

/// Bytes that every budget starts with, so that small inputs are never refused for their size.
pub const BUDGET_FLOOR: usize = 1024;

/// Bytes that the controls of a connection may take before its peer is authenticated:
/// enough for the properties of every known client, far below the 1 MiB a stranger may cost.
pub const UNAUTHENTICATED_BUDGET: usize = 256 * 1024;

/// Maps, lists and arrays may lie this deep in each other. The management data of Qpid nests
/// five deep; the bound keeps the decoder's stack small.
pub const DEPTH_MAX: u32 = 32;

/// Ranges that fit into one sequence set on the wire: its octet count has 16 bits, a range 8 octets.
pub const RANGES_MAX: usize = 0xffff / 8;

/// Octets of a `str8` or `vbin8`.
pub const STR8_BYTES_MAX: usize = 0xff;

/// Octets of a `str16` or `vbin16`.
pub const STR16_BYTES_MAX: usize = 0xffff;

/// Octets of a broker URL. Known hosts and failover lists come from peers.
pub const URL_BYTES_MAX: usize = 16 * 1024;

/// Addresses in one broker URL: more than any cluster has members with several networks each.
pub const URL_ADDRESSES_MAX: usize = 256;
