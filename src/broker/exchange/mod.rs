//! Routing: which queues a message goes to.
//!
//! Each type of exchange has a file with the structure that its rule asks for: `direct` a map by
//! key, `topic` a tree by word, `fanout` a list, `headers` a list with what each binding wants, `xml` a
//! map by key of what others have found to match.
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
pub mod pattern;
mod positions;
mod topic;
pub mod xml;

use std::fmt;

use super::failover::FAILOVER;
use super::ids::QueueId;
use super::replication::TYPE as REPLICATION;
use crate::wire::{ErrorCode, Map, Text};

pub use self::bound::{BoundAt, bound_result};
pub use self::direct::Direct;
pub use self::fanout::Fanout;
pub use self::headers::Headers;
pub use self::topic::Topic;
pub use self::xml::Xml;

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

/// A binding behind which a list of them goes on, whether it is still there or not. Among those of one
/// key, whose order is that in which they were made, it may pass over some when it is not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Behind {
    /// Its key.
    pub key: Text,
    /// Its queue.
    pub queue: QueueId,
    /// Where it lay among those of its key, as [`Kind::bindings_behind`] has told.
    pub slot: usize,
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
    /// To an xml exchange, without an `xquery`.
    NoQuery,
    /// To an xml exchange, with a longer `xquery` than [`limits::QUERY_BYTES_MAX`].
    LongQuery,
    /// The key has all the bindings it can have ([`limits::QUERIES_PER_KEY_MAX`]).
    TooManyQueries,
    /// To an exchange that applies events.
    Replication,
}

impl BindError {
    /// The error code of the exception, as qpidd gives it.
    pub fn code(self) -> ErrorCode {
        match self {
            BindError::MatchMode | BindError::DuplicateKey | BindError::NoQuery => {
                ErrorCode::INTERNAL_ERROR
            }
            BindError::TreeFull | BindError::LongQuery | BindError::TooManyQueries => {
                ErrorCode::RESOURCE_LIMIT_EXCEEDED
            }
            BindError::Replication => ErrorCode::NOT_IMPLEMENTED,
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
            BindError::NoQuery => "a binding to an xml exchange needs an xquery, a string",
            BindError::LongQuery => "the xquery of a binding is too long",
            BindError::TooManyQueries => {
                "a binding key of an xml exchange can have no more bindings"
            }
            BindError::Replication => {
                "Replication exchange does not support bind operation or unbind operation"
            }
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
    /// Routing key equal to the binding key, and a query about headers and body.
    Xml(Xml),
    /// No message of clients: those of the broker that say where members are.
    Failover(Fanout),
    /// None: its messages are events, which say for themselves what follows, and no queue can be bound.
    Replication,
}

impl Kind {
    /// An exchange without bindings of the type that is called `name`. Not all of these can be declared:
    /// see [`Kind::can_be_declared`].
    pub fn of_type(name: &str) -> Option<Kind> {
        match name {
            "direct" => Some(Kind::Direct(Direct::default())),
            "topic" => Some(Kind::Topic(Topic::default())),
            "fanout" => Some(Kind::Fanout(Fanout::default())),
            "headers" => Some(Kind::Headers(Headers::default())),
            xml::TYPE => Some(Kind::Xml(Xml::default())),
            FAILOVER => Some(Kind::Failover(Fanout::default())),
            REPLICATION => Some(Kind::Replication),
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
            Kind::Xml(_) => xml::TYPE,
            Kind::Failover(_) => FAILOVER,
            Kind::Replication => REPLICATION,
        }
    }

    /// A binding key as an exchange of this type keeps it: keys that match the same are one.
    pub fn kept_key(&self, key: &str) -> Text {
        match self {
            Kind::Topic(_) => pattern::normal(key),
            // They look at no key.
            Kind::Fanout(_) | Kind::Failover(_) => Text::default(),
            Kind::Direct(_) | Kind::Headers(_) | Kind::Xml(_) | Kind::Replication => key.into(),
        }
    }

    /// Whether a client can declare an exchange of this type.
    pub fn can_be_declared(&self) -> bool {
        !matches!(self, Kind::Failover(_))
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
            Kind::Fanout(fanout) | Kind::Failover(fanout) => Ok(fanout.bind(queue, arguments)),
            Kind::Headers(headers) => headers.bind(queue, key, arguments),
            Kind::Xml(xml) => xml.bind(queue, key, arguments),
            Kind::Replication => Err(BindError::Replication),
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
            Kind::Fanout(fanout) | Kind::Failover(fanout) => fanout.binding_mut(queue),
            Kind::Headers(headers) => headers.binding_mut(queue, key),
            Kind::Xml(xml) => xml.binding_mut(queue, key),
            Kind::Replication => None,
        }
    }

    /// The arguments of a binding, by queue and key as given; a fanout exchange goes by the queue
    /// alone.
    pub fn arguments(&mut self, queue: QueueId, key: &str) -> Option<&Map> {
        let binding = self.binding_mut(queue, key)?;
        Some(&binding.arguments)
    }

    /// Whether a queue is bound by this key; a fanout exchange goes by the queue alone.
    pub fn has_key(&self, queue: QueueId, key: &str) -> bool {
        match self {
            Kind::Direct(direct) => direct.is_bound(Some(queue), Some(key)),
            Kind::Topic(topic) => topic.is_bound(Some(queue), Some(key)),
            Kind::Fanout(_) | Kind::Failover(_) => self.has_queue(queue),
            Kind::Headers(headers) => headers.has_key(queue, key),
            Kind::Xml(xml) => xml.is_bound(Some(queue), Some(key)),
            Kind::Replication => false,
        }
    }

    /// Whether so many more bindings fit, whatever they have in common with those that are there. How
    /// many bindings an exchange can have is another matter.
    pub fn has_room_for(&self, keys: &[&str]) -> bool {
        match self {
            Kind::Topic(topic) => topic.has_room_for(keys),
            Kind::Xml(xml) => xml.has_room_for(keys),
            Kind::Direct(_) | Kind::Fanout(_) | Kind::Headers(_) | Kind::Failover(_) => true,
            Kind::Replication => false,
        }
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
            Kind::Fanout(fanout) | Kind::Failover(fanout) => fanout.unbind(queue),
            Kind::Headers(headers) => headers.unbind(queue, key),
            Kind::Xml(xml) => xml.unbind(queue, key),
            Kind::Replication => false,
        }
    }

    /// Takes all bindings of a queue away. Gives the keys that it was bound with, as they are kept: a fanout
    /// exchange's is empty.
    pub fn unbind_queue(&mut self, queue: QueueId) -> Vec<Text> {
        match self {
            Kind::Direct(direct) => direct.unbind_queue(queue),
            Kind::Topic(topic) => topic.unbind_queue(queue),
            Kind::Fanout(fanout) | Kind::Failover(fanout) => match fanout.unbind(queue) {
                true => vec![Text::default()],
                false => Vec::new(),
            },
            Kind::Headers(headers) => headers.unbind_queue(queue),
            Kind::Xml(xml) => xml.unbind_queue(queue),
            Kind::Replication => Vec::new(),
        }
    }

    /// Adds the queues that a message goes to, each once, to `matched`, which is empty; and counts
    /// at the bindings. `headers` gives the message's application headers: a headers exchange asks
    /// once, the others never. What an xml exchange matches is known beforehand or not at all: here it
    /// matches nothing, and [`Xml::route`] is told.
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
            Kind::Xml(_) | Kind::Failover(_) | Kind::Replication => {}
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
            Kind::Fanout(fanout) | Kind::Failover(fanout) => fanout.is_bound(queue),
            Kind::Headers(headers) => headers.is_bound(queue, arguments),
            Kind::Xml(xml) => xml.is_bound(queue, key),
            Kind::Replication => false,
        }
    }

    /// Whether the queue has a binding here.
    pub fn has_queue(&self, queue: QueueId) -> bool {
        self.is_bound(Some(queue), None, None)
    }

    /// All bindings, in the order in which they route and can be restored.
    pub fn bindings(&self) -> impl Iterator<Item = &Binding> {
        self.bindings_behind(None).map(|(_, binding)| binding)
    }

    /// The same behind one of them, found without a look at those before, each with where it lies among
    /// those of its key.
    pub fn bindings_behind<'a>(
        &'a self,
        behind: Option<&'a Behind>,
    ) -> Box<dyn Iterator<Item = (usize, &'a Binding)> + 'a> {
        match self {
            Kind::Direct(direct) => Box::new(direct.bindings_behind(behind)),
            Kind::Topic(topic) => Box::new(topic.bindings_behind(behind)),
            Kind::Fanout(fanout) | Kind::Failover(fanout) => {
                Box::new(fanout.bindings_behind(behind))
            }
            Kind::Headers(headers) => Box::new(headers.bindings_behind(behind)),
            Kind::Xml(xml) => Box::new(xml.bindings_behind(behind)),
            Kind::Replication => Box::new(std::iter::empty()),
        }
    }

    /// The bindings of a key, in the order in which they were made; all of a fanout exchange, which goes by
    /// no key.
    pub fn with_key(&self, key: &str) -> Vec<&Binding> {
        match self {
            Kind::Direct(direct) => direct.of_key(key).collect(),
            Kind::Topic(topic) => topic.of_key(key),
            Kind::Fanout(_) | Kind::Failover(_) => self.bindings().collect(),
            Kind::Headers(_) => self.bindings().filter(|b| b.key == key).collect(),
            Kind::Xml(xml) => xml.of_key(key),
            Kind::Replication => Vec::new(),
        }
    }

    /// How many bindings there are.
    pub fn binding_count(&self) -> usize {
        match self {
            Kind::Direct(direct) => direct.binding_count(),
            Kind::Topic(topic) => topic.binding_count(),
            Kind::Fanout(fanout) | Kind::Failover(fanout) => fanout.binding_count(),
            Kind::Headers(headers) => headers.binding_count(),
            Kind::Xml(xml) => xml.binding_count(),
            Kind::Replication => 0,
        }
    }

    /// Whether there is no binding.
    pub fn is_unused(&self) -> bool {
        self.binding_count() == 0
    }
}
