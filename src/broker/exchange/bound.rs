//! The answer to `exchange.bound`.

use super::Kind;
use crate::broker::ids::QueueId;
use crate::wire::{ExchangeBound, ExchangeBoundResult, Map};

/// The exchange that `exchange.bound` asks about.
#[derive(Clone, Copy, Debug)]
pub enum BoundAt<'a> {
    /// There is none of that name.
    Missing,
    /// The default exchange, to which every queue is bound by its name.
    Default {
        /// Whether there is any queue.
        has_queues: bool,
        /// Whether there is a queue named like the binding key that is asked for.
        key_names_queue: bool,
    },
    /// Any other.
    Of(&'a Kind),
}

impl BoundAt<'_> {
    fn is_bound(
        &self,
        asked: &ExchangeBound,
        queue: Option<QueueId>,
        key: Option<&str>,
        arguments: Option<&Map>,
    ) -> bool {
        match *self {
            BoundAt::Missing => false,
            BoundAt::Of(kind) => kind.is_bound(queue, key, arguments),
            BoundAt::Default {
                has_queues,
                key_names_queue,
            } => match (queue, key) {
                (Some(_), Some(key)) => asked.queue == key,
                (Some(_), None) => true,
                (None, Some(_)) => key_names_queue,
                (None, None) => has_queues,
            },
        }
    }
}

/// What `exchange.bound` answers: never an exception. `queue` is the queue that `asked` names, if
/// there is one; an empty name, key or map of arguments does not ask, as in qpidd.
///
/// A missing exchange or queue is said alone. Otherwise, if there is a binding that is all that was
/// asked, no flag stands; if not, each part that was asked is looked for by itself, among all
/// bindings, and its flag stands when there is none.
pub fn bound_result(
    at: BoundAt<'_>,
    queue: Option<QueueId>,
    asked: &ExchangeBound,
) -> ExchangeBoundResult {
    let asks_queue = !asked.queue.is_empty();
    let queue = queue.filter(|_| asks_queue);
    let exchange_not_found = matches!(at, BoundAt::Missing);
    let queue_not_found = asks_queue && queue.is_none();
    if exchange_not_found || queue_not_found {
        return ExchangeBoundResult {
            exchange_not_found,
            queue_not_found,
            ..ExchangeBoundResult::default()
        };
    }
    let key = asked.binding_key.as_deref().filter(|key| !key.is_empty());
    let none = Map::new();
    let arguments = asked.arguments.as_ref().unwrap_or(&none);
    // A headers exchange is asked for all arguments here, and no binding of one has none: so it
    // comes to the parts when no arguments are asked for.
    if at.is_bound(asked, queue, key, Some(arguments)) {
        return ExchangeBoundResult::default();
    }
    let lacks_key = |key| !at.is_bound(asked, None, Some(key), None);
    ExchangeBoundResult {
        queue_not_matched: queue.is_some() && !at.is_bound(asked, queue, None, None),
        key_not_matched: key.is_some_and(lacks_key),
        args_not_matched: !arguments.is_empty() && !at.is_bound(asked, None, None, Some(arguments)),
        ..ExchangeBoundResult::default()
    }
}
