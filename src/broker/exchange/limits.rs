//! The bounds of routing, with their reasons.

/// Octets of a binding or routing key: what a `str8` can carry.
pub const KEY_BYTES_MAX: usize = 255;

/// Words of a key: the longest can be nothing but dots, with an empty word on both sides of each.
pub const KEY_WORDS_MAX: usize = KEY_BYTES_MAX + 1;

/// Nodes in the tree of one topic exchange. A binding of 255 octets can make 256, and a node with
/// its place in its parent takes up to some 400 octets: without this bound a million long patterns
/// would take a hundred times what was sent to make them.
pub const TOPIC_NODES_MAX: usize = 4_000_000;

/// Up to so many bindings are searched one by one; beyond, they are found by an index. Sixteen
/// comparisons of a number take less than keeping the index.
pub const SEARCHED_MAX: usize = 16;

/// Up to so many queues found for one message are searched one by one for a repetition, for the
/// same reason.
pub const FOUND_SEARCHED_MAX: usize = 32;

/// Octets of the query of a binding to an xml exchange: those of an application are some lines long,
/// and each is read by every member that publishes there.
pub const QUERY_BYTES_MAX: usize = 8 * 1024;

/// Bindings of one key of an xml exchange: each message with the key is looked at by the query of each.
pub const QUERIES_PER_KEY_MAX: usize = 256;
