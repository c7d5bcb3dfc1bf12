//! Class `exchange`.

use super::request::not_implemented;
use crate::broker::Request;
use crate::wire::Command;

/// The core reads the commands as they are: rare ones, boxed.
pub(super) fn request(command: Command) -> Request {
    match command {
        Command::ExchangeDeclare(declare) => Request::ExchangeDeclare(Box::new(declare)),
        Command::ExchangeDelete(delete) => Request::ExchangeDelete(Box::new(delete)),
        Command::ExchangeQuery(query) => Request::ExchangeQuery(Box::new(query)),
        Command::ExchangeBind(bind) => Request::ExchangeBind(Box::new(bind)),
        Command::ExchangeUnbind(unbind) => Request::ExchangeUnbind(Box::new(unbind)),
        Command::ExchangeBound(bound) => Request::ExchangeBound(Box::new(bound)),
        other => not_implemented(&other),
    }
}
