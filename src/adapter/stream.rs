//! Class `stream`: streams. As in qpidd it is not implemented.

use super::request::not_implemented;
use crate::broker::Request;
use crate::wire::Command;

/// Every command of the class is answered 540.
pub(super) fn request(command: &Command) -> Request {
    not_implemented(command)
}
