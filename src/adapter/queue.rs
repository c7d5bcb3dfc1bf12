//! Class `queue`.

use super::request::{Outcome, not_implemented};
use crate::broker::Request;
use crate::broker::arguments;
use crate::broker::selector::Selector;
use crate::wire::{Command, QueueDeclare, Value};

/// The core reads the commands as they are: rare ones, boxed.
pub(super) fn request(command: Command) -> Outcome {
    let request = match command {
        Command::QueueDeclare(declare) => {
            if let Some(text) = unsound_filter(&declare) {
                return Outcome::Close(text);
            }
            warn_of_arguments(&declare);
            Request::QueueDeclare(Box::new(declare))
        }
        Command::QueueDelete(delete) => Request::QueueDelete(Box::new(delete)),
        Command::QueuePurge(purge) => Request::QueuePurge(Box::new(purge)),
        Command::QueueQuery(query) => Request::QueueQuery(Box::new(query)),
        other => not_implemented(&other),
    };
    request.into()
}

/// A filter that cannot be read closes the connection, as with qpidd.
fn unsound_filter(declare: &QueueDeclare) -> Option<String> {
    let arguments = declare.arguments.as_ref()?;
    let filter = arguments::text(arguments, arguments::FILTER)?;
    let error = Selector::parse(&filter).err()?;
    Some(format!("Illegal selector: {error}"))
}

/// A value that is taken for another must not be silent: whoever relies on it would lose messages and
/// not know why.
fn warn_of_arguments(declare: &QueueDeclare) {
    let Some(arguments) = &declare.arguments else {
        return;
    };
    let known = [
        (
            arguments::POLICY_TYPE,
            &["reject", "ring", "ring_strict", "self-destruct"][..],
        ),
        (
            arguments::LIFETIME_POLICY,
            &[
                "delete-if-unused",
                "delete-if-unused-and-empty",
                "delete-on-close",
                "manual",
            ][..],
        ),
    ];
    for (name, values) in known {
        let Some(value) = arguments.get(name) else {
            continue;
        };
        let text = value.as_str().unwrap_or_default();
        if !values.contains(&text) {
            tracing::warn!(
                target: "Broker",
                "queue {}: the value {text:?} of {name} is unknown and counts for nothing",
                declare.queue
            );
        }
    }
    if arguments.get(arguments::PAGING).is_some_and(is_set) {
        tracing::warn!(
            target: "Broker",
            "queue {}: {} has no effect: messages of every queue leave the memory when it is short",
            declare.queue,
            arguments::PAGING
        );
    }
}

fn is_set(value: &Value) -> bool {
    value.as_bool().unwrap_or(true)
}
