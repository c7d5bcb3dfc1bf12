//! Every bound of the view over HTTP that is no bound of a socket, with its reason.

use crate::broker::limits::IMPORT_COMPLAINTS_BYTES_MAX;

/// Items on one page, at most: some hundred kilobytes of answer.
pub const PAGE_SIZE_MAX: usize = 500;

/// Items on one page unless said otherwise, as in RabbitMQ.
pub const PAGE_SIZE: usize = 100;

/// Items of an answer without pages. Who has more asks for pages.
pub const ITEMS_MAX: usize = 10_000;

/// Objects that one listing looks at. A broker with more is looked at by name.
pub const OBJECTS_MAX: usize = 1_000_000;

/// Octets of a text to filter names by.
pub const FILTER_BYTES_MAX: usize = 256;

/// Octets of a name in a request, as on the wire of AMQP 0-10 (`str8`).
pub const NAME_BYTES_MAX: usize = 255;

/// How deep maps and lists of an argument may lie in each other.
pub const ARGUMENT_DEPTH_MAX: usize = 32;

/// Octets of a reason in an answer: a peer chose parts of it. All that is wrong with an import goes in.
pub const REASON_BYTES_MAX: usize = IMPORT_COMPLAINTS_BYTES_MAX + 1024;

/// Octets of a value that differs from another, as that is told.
pub const VALUE_BYTES_MAX: usize = 200;

/// Octets of the arguments of one definition where commands are encoded: less than a frame of AMQP 0-10.
pub const ARGUMENTS_BYTES_MAX: usize = 32 * 1024;

/// Octets of all arguments in an import: it is one entry, which is of 4 MiB at most.
pub const IMPORT_ARGUMENTS_BYTES_MAX: usize = 1024 * 1024;
