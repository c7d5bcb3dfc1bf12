//! Class `queue`.

use super::request::not_implemented;
use crate::broker::Request;
use crate::broker::arguments::WITHOUT_EFFECT;
use crate::wire::{Command, QueueDeclare};

/// The core reads the commands as they are: rare ones, boxed.
pub(super) fn request(command: Command) -> Request {
    match command {
        Command::QueueDeclare(declare) => {
            warn_of_arguments(&declare);
            Request::QueueDeclare(Box::new(declare))
        }
        Command::QueueDelete(delete) => Request::QueueDelete(Box::new(delete)),
        Command::QueuePurge(purge) => Request::QueuePurge(Box::new(purge)),
        Command::QueueQuery(query) => Request::QueueQuery(Box::new(query)),
        other => not_implemented(&other),
    }
}

/// An argument that is kept without effect must not be silent: whoever relies on it would lose or
/// misorder messages and not know why.
fn warn_of_arguments(declare: &QueueDeclare) {
    let Some(arguments) = &declare.arguments else {
        return;
    };
    for name in WITHOUT_EFFECT
        .iter()
        .filter(|name| arguments.contains(name))
    {
        tracing::warn!(
            target: "Broker",
            "queue {}: the argument {name} is kept and returned, but has no effect yet",
            declare.queue
        );
    }
}
