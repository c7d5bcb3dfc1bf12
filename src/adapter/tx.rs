//! Class `tx`: local transactions.

use super::request::not_implemented;
use crate::broker::Request;
use crate::wire::Command;

/// Whether there is a transaction to end is the core's to know.
pub(super) fn request(command: &Command) -> Request {
    match command {
        Command::TxSelect(_) => Request::TxSelect,
        Command::TxCommit(_) => Request::TxCommit,
        Command::TxRollback(_) => Request::TxRollback,
        other => not_implemented(other),
    }
}
