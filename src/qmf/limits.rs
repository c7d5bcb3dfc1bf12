//! Every bound of this room, with its reason.

/// Octets of a request's body: qpidd drops what is larger, and no tool sends nearly as much.
pub const REQUEST_BYTES_MAX: usize = 64 * 1024;

/// Frames of QMF version 1 in one message. Consoles send one; each may cost an answer of
/// [`ANSWER_BYTES_MAX`].
pub const REQUEST_FRAMES_MAX: usize = 64;

/// Octets of one answer of QMF version 1, as in qpidd: consoles of that time read no more.
pub const ANSWER_BYTES_MAX: usize = 64 * 1024;

/// Objects in one message: as many as qpidd puts into one, and what is asked of the broker at a time.
pub const OBJECTS_PER_MESSAGE: usize = 100;

/// Octets of an object's name in a request: the longest there is, a binding's, is made of two names,
/// a key of 255 octets each, and the words between.
pub const OBJECT_NAME_BYTES_MAX: usize = 4096;

/// Octets of a session's name with that of its user: a session's has 4096 at most, and nobody's user and
/// realm have as many.
pub const SESSION_KEY_BYTES_MAX: usize = 8 * 1024;

/// Objects whose numbers of QMF version 1 are known. When there are more, the number that was
/// given out longest ago is forgotten; who uses it hears that the object is unknown. At the longest
/// names that is some 60 MiB.
pub const NUMBERED_OBJECTS_MAX: usize = 65_536;

/// Octets of a text in an exception: it is told in a message property of no bound, but a peer chose
/// parts of it.
pub const FAULT_TEXT_BYTES_MAX: usize = 1024;
