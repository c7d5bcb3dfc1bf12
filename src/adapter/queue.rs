//! Class `queue`.

use super::request::not_implemented;
use crate::broker::Request;
use crate::wire::Command;

/// The core reads the commands as they are: rare ones, boxed.
pub(super) fn request(command: Command) -> Request {
    match command {
        Command::QueueDeclare(declare) => Request::QueueDeclare(Box::new(declare)),
        Command::QueueDelete(delete) => Request::QueueDelete(Box::new(delete)),
        Command::QueuePurge(purge) => Request::QueuePurge(Box::new(purge)),
        Command::QueueQuery(query) => Request::QueueQuery(Box::new(query)),
        other => not_implemented(&other),
    }
}
