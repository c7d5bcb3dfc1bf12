//! Class `exchange`.

use super::request::{not_implemented, refused};
use super::xml::Queries;
use crate::broker::Request;
use crate::broker::command::UnreadableBind;
use crate::broker::exchange::limits::QUERY_BYTES_MAX;
use crate::broker::exchange::xml;
use crate::wire::{Command, ErrorCode, ExchangeBind, ExchangeDeclare};

/// The core reads the commands as they are: rare ones, boxed.
pub(super) fn request(command: Command) -> Request {
    match command {
        Command::ExchangeDeclare(ref declare) if !declare.passive && is_not_built(declare) => {
            refused(&command, ErrorCode::NOT_FOUND, NOT_BUILT)
        }
        Command::ExchangeDeclare(declare) => Request::ExchangeDeclare(Box::new(declare)),
        Command::ExchangeDelete(delete) => Request::ExchangeDelete(Box::new(delete)),
        Command::ExchangeQuery(query) => Request::ExchangeQuery(Box::new(query)),
        Command::ExchangeBind(bind) => bound(bind),
        Command::ExchangeUnbind(unbind) => Request::ExchangeUnbind(Box::new(unbind)),
        Command::ExchangeBound(bound) => Request::ExchangeBound(Box::new(bound)),
        other => not_implemented(&other),
    }
}

/// What is told of an exchange of a type that this broker was built without.
pub const NOT_BUILT: &str = "Exchange type not implemented: xml";

/// Whether an exchange is of a type that this broker was built without.
pub fn is_not_built(declare: &ExchangeDeclare) -> bool {
    declare.r#type == xml::TYPE && !cfg!(feature = "xml-exchange")
}

/// What is wrong with a binding's query, if something is. It is read once, so that it is known to be one
/// before anybody is to match it. One that is longer than the core takes is not read: the core says so.
pub fn query_fault(bind: &ExchangeBind) -> Option<String> {
    let query = bind.arguments.as_ref().and_then(xml::query);
    let query = query.filter(|query| query.len() <= QUERY_BYTES_MAX);
    query.and_then(Queries::fault)
}

fn bound(bind: ExchangeBind) -> Request {
    match query_fault(&bind) {
        Some(text) => Request::BindUnreadable(Box::new(UnreadableBind { bind, text })),
        None => Request::ExchangeBind(Box::new(bind)),
    }
}
