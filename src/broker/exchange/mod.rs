//! Routing: which queues a message goes to.
//!
//! Each type of exchange has a file with the structure that its rule asks for: `direct` a map by
//! key, `topic` a tree by word, `fanout` a list, `headers` a list with what each binding wants.
//! [`Kind`] is one of them.
//!
//! What always holds:
//! - A message goes to each queue at most once, whatever number of the queue's bindings match.
//! - The order of the queues is the order of [`Kind::bindings`], which depends on the bindings and
//!   the order they were made in, not on what was bound and unbound in between.
//! - Binding again what `bindings` lists, in that order, gives an equal exchange: equal in routing,
//!   order and hash. So an exchange is written down as its bindings.
//! - The cost of a message does not depend on how wildcards are combined: a topic exchange looks at
//!   each node of its tree at most once.

mod bound;
mod direct;
mod fanout;
mod headers;
mod in_order;
pub mod limits;
mod pattern;
mod positions;
mod topic;

use std::fmt;

use super::ids::QueueId;
use crate::wire::{ErrorCode, Map, Text};

pub use self::bound::{BoundAt, bound_result};
pub use self::direct::Direct;
pub use self::fanout::Fanout;
pub use self::headers::Headers;
pub use self::topic::Topic;

/// A queue bound to an exchange.
#[derive(Clone, Debug, PartialEq, Hash)]
pub struct Binding {
    /// Where messages go.
    pub queue: QueueId,
    /// The binding key, as management shows it: a topic's is in its normal form, a fanout's empty.
    pub key: Text,
    /// As given when it was bound, all of them.
    pub arguments: Map,
    /// How many messages went to the queue by this binding.
    pub matched: u64,
}

impl Binding {
    fn new(queue: QueueId, key: impl Into<Text>, arguments: &Map) -> Binding {
        Binding {
            queue,
            key: key.into(),
            arguments: arguments.clone(),
            matched: 0,
        }
    }
}

/// Why a queue cannot be bound. The text is for the peer, without the name of the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BindError {
    /// To a headers exchange, without an `x-match` of `all` or `any`.
    MatchMode,
    /// To a headers exchange, with the key of another binding of the queue and other arguments.
    DuplicateKey,
    /// The exchange's tree has all the nodes it can have ([`limits::TOPIC_NODES_MAX`]).
    TreeFull,
}

impl BindError {
    /// The error code of the exception, as qpidd gives it.
    pub fn code(self) -> ErrorCode {
        match self {
            BindError::MatchMode | BindError::DuplicateKey => ErrorCode::INTERNAL_ERROR,
            BindError::TreeFull => ErrorCode::RESOURCE_LIMIT_EXCEEDED,
        }
    }
}

impl fmt::Display for BindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            BindError::MatchMode => {
                "a binding to a headers exchange needs x-match, the string \"all\" or \"any\""
            }
            BindError::DuplicateKey => "Duplicate binding key not allowed",
            BindError::TreeFull => "a topic exchange can have no more words in its binding keys",
        })
    }
}

impl std::error::Error for BindError {}

/// An exchange's type, with its bindings.
#[derive(Clone, Debug, PartialEq, Hash)]
pub enum Kind {
    /// Routing key equal to the binding key.
    Direct(Direct),
    /// Routing key matching the binding key as a pattern.
    Topic(Topic),
    /// Every message.
    Fanout(Fanout),
    /// Application headers matching the binding's arguments.
    Headers(Headers),
}

impl Kind {
    /// An exchange without bindings of the type that `exchange.declare` calls `name`.
    pub fn of_type(name: &str) -> Option<Kind> {
        match name {
            "direct" => Some(Kind::Direct(Direct::default())),
            "topic" => Some(Kind::Topic(Topic::default())),
            "fanout" => Some(Kind::Fanout(Fanout::default())),
            "headers" => Some(Kind::Headers(Headers::default())),
            _ => None,
        }
    }

    /// The type as `exchange.declare` and `exchange.query` call it.
    pub fn type_name(&self) -> &'static str {
        match self {
            Kind::Direct(_) => "direct",
            Kind::Topic(_) => "topic",
            Kind::Fanout(_) => "fanout",
            Kind::Headers(_) => "headers",
        }
    }

    /// Binds a queue. `Ok(false)`: it was bound so already, and nothing changed, except that a
    /// `qpid.exclusive-binding` may have taken the key from other queues ([`Kind::displaced`]) and
    /// that its arguments are now the binding's.
    ///
    /// # Errors
    /// See [`BindError`]; nothing has changed then.
    pub fn bind(&mut self, queue: QueueId, key: &str, arguments: &Map) -> Result<bool, BindError> {
        match self {
            Kind::Direct(direct) => Ok(direct.bind(queue, key, arguments)),
            Kind::Topic(topic) => topic.bind(queue, key, arguments),
            Kind::Fanout(fanout) => Ok(fanout.bind(queue, arguments)),
            Kind::Headers(headers) => headers.bind(queue, key, arguments),
        }
    }

    /// The other queues that such a `bind` takes the key from: those of a direct exchange, when
    /// the arguments hold `qpid.exclusive-binding`. To be asked before binding.
    pub fn displaced(&self, queue: QueueId, key: &str, arguments: &Map) -> Vec<QueueId> {
        match self {
            Kind::Direct(direct) => direct.displaced(queue, key, arguments),
            _ => Vec::new(),
        }
    }

    /// Binds as `bindings` listed it: to rebuild an exchange, in the order of that list.
    ///
    /// # Errors
    /// As for `bind`, and [`BindError::DuplicateKey`] for a binding that is there already.
    pub fn restore(
        &mut self,
        queue: QueueId,
        key: &str,
        arguments: &Map,
        matched: u64,
    ) -> Result<(), BindError> {
        if !self.bind(queue, key, arguments)? {
            return Err(BindError::DuplicateKey);
        }
        if let Some(binding) = self.binding_mut(queue, key) {
            binding.matched = matched;
        }
        Ok(())
    }

    fn binding_mut(&mut self, queue: QueueId, key: &str) -> Option<&mut Binding> {
        match self {
            Kind::Direct(direct) => direct.binding_mut(queue, key),
            Kind::Topic(topic) => topic.binding_mut(queue, key),
            Kind::Fanout(fanout) => fanout.binding_mut(queue),
            Kind::Headers(headers) => headers.binding_mut(queue, key),
        }
    }

    /// The arguments of a binding, by queue and key as given; a fanout exchange goes by the queue
    /// alone.
    pub fn arguments(&mut self, queue: QueueId, key: &str) -> Option<&Map> {
        let binding = self.binding_mut(queue, key)?;
        Some(&binding.arguments)
    }

    /// Whether a `bind` with these arguments gives them to a binding that is there already: see
    /// [`Kind::bind`].
    pub fn replaces_arguments(&self, arguments: &Map) -> bool {
        match self {
            Kind::Direct(_) => Direct::is_exclusive(arguments),
            _ => false,
        }
    }

    /// Takes one binding away; a fanout exchange goes by the queue alone. Gives whether there was
    /// one.
    pub fn unbind(&mut self, queue: QueueId, key: &str) -> bool {
        match self {
            Kind::Direct(direct) => direct.unbind(queue, key),
            Kind::Topic(topic) => topic.unbind(queue, key),
            Kind::Fanout(fanout) => fanout.unbind(queue),
            Kind::Headers(headers) => headers.unbind(queue, key),
        }
    }

    /// Takes all bindings of a queue away. Gives how many there were.
    pub fn unbind_queue(&mut self, queue: QueueId) -> usize {
        match self {
            Kind::Direct(direct) => direct.unbind_queue(queue),
            Kind::Topic(topic) => topic.unbind_queue(queue),
            Kind::Fanout(fanout) => usize::from(fanout.unbind(queue)),
            Kind::Headers(headers) => headers.unbind_queue(queue),
        }
    }

    /// Adds the queues that a message goes to, each once, to `matched`, which is empty; and counts
    /// at the bindings. `headers` gives the message's application headers: a headers exchange asks
    /// once, the others never.
    pub fn route(
        &mut self,
        key: &str,
        headers: &mut dyn FnMut() -> Option<Map>,
        matched: &mut Vec<QueueId>,
    ) {
        match self {
            Kind::Direct(direct) => direct.route(key, matched),
            Kind::Topic(topic) => _ = topic.route(key, matched),
            Kind::Fanout(fanout) => fanout.route(matched),
            Kind::Headers(exchange) => exchange.route(headers().as_ref(), matched),
        }
    }

    /// Whether a binding is as asked, part by part as far as asked. What counts as bound differs by
    /// type as in qpidd: see each type.
    pub fn is_bound(
        &self,
        queue: Option<QueueId>,
        key: Option<&str>,
        arguments: Option<&Map>,
    ) -> bool {
        match self {
            Kind::Direct(direct) => direct.is_bound(queue, key),
            Kind::Topic(topic) => topic.is_bound(queue, key),
            Kind::Fanout(fanout) => fanout.is_bound(queue),
            Kind::Headers(headers) => headers.is_bound(queue, arguments),
        }
    }

    /// Whether the queue has a binding here.
    pub fn has_queue(&self, queue: QueueId) -> bool {
        self.is_bound(Some(queue), None, None)
    }

    /// All bindings, in the order in which they route and can be restored.
    pub fn bindings(&self) -> Box<dyn Iterator<Item = &Binding> + '_> {
        match self {
            Kind::Direct(direct) => Box::new(direct.bindings()),
            Kind::Topic(topic) => Box::new(topic.bindings()),
            Kind::Fanout(fanout) => Box::new(fanout.bindings()),
            Kind::Headers(headers) => Box::new(headers.bindings()),
        }
    }

    /// How many bindings there are.
    pub fn binding_count(&self) -> usize {
        match self {
            Kind::Direct(direct) => direct.binding_count(),
            Kind::Topic(topic) => topic.binding_count(),
            Kind::Fanout(fanout) => fanout.binding_count(),
            Kind::Headers(headers) => headers.binding_count(),
        }
    }

    /// Whether there is no binding.
    pub fn is_unused(&self) -> bool {
        self.binding_count() == 0
    }
}
