//! Class `execution`.

use crate::broker::Request;
use crate::wire::Command;

/// `execution.sync` completes behind all earlier commands. Results answer nothing that a broker
/// asks, and an exception of the client's is only logged, as qpidd does.
pub(super) fn request(command: &Command) -> Request {
    match command {
        Command::ExecutionSync(_) => Request::Sync,
        _ => Request::Nothing,
    }
}
