//! Publishing to xml exchanges: which bindings of its key a message matches is decided here, before the
//! message is proposed. See `broker::xml`.
//!
//! The core tells the bindings of a key when a message comes to it of which nothing was decided, or
//! something about bindings that have changed since. They are remembered, so that this is seldom.

use std::collections::BTreeMap;

use crate::broker::command::Matching;
use crate::broker::effect::KeyBindings;
use crate::broker::ids::ChannelKey;
use crate::broker::message::Message;
use crate::broker::{Command, Request};
use crate::wire::{CommandId, Text};

#[cfg(not(feature = "xml-exchange"))]
pub(super) use self::absent::Queries;
#[cfg(feature = "xml-exchange")]
pub(super) use self::built::Queries;
use super::limits::{XML_KEYS_MAX, XML_QUERIES_BYTES_MAX};

/// What a connection knows of the bindings of xml exchanges.
#[derive(Debug, Default)]
pub(super) struct Matcher {
    /// By exchange and key.
    known: BTreeMap<(Text, Text), Known>,
    /// Octets of all queries.
    bytes: usize,
}

#[derive(Debug)]
struct Known {
    version: u64,
    queries: Queries,
}

impl Matcher {
    /// Whether nothing is known.
    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        self.known.is_empty()
    }

    /// The bindings of a key as they are now. When very many are known the others are forgotten.
    pub(super) fn learn(&mut self, bindings: KeyBindings) {
        let bytes: usize = bindings.queries.iter().map(Text::len).sum();
        let is_full = self.known.len() >= XML_KEYS_MAX;
        if is_full || self.bytes.saturating_add(bytes) > XML_QUERIES_BYTES_MAX {
            self.known.clear();
            self.bytes = 0;
        }
        self.bytes += bytes;
        let known = Known {
            version: bindings.version,
            queries: Queries::read(&bindings.queries),
        };
        self.known.insert((bindings.exchange, bindings.key), known);
    }

    /// What a transfer matches, if it is to a key whose bindings are known.
    pub(super) fn matching(
        &self,
        at: ChannelKey,
        id: CommandId,
        request: &Request,
    ) -> Option<Command> {
        let Request::Transfer {
            destination,
            message,
            ..
        } = request
        else {
            return None;
        };
        let key = Text::from(message.routing_key.as_str());
        let known = self.known.get(&(destination.clone(), key))?;
        let matching = Matching {
            at,
            id,
            version: known.version,
            places: known.queries.matching(message),
        };
        Some(Command::Matching(Box::new(matching)))
    }
}

#[cfg(feature = "xml-exchange")]
mod built {
    use super::{Message, Text};
    use crate::adapter::xquery::{Body, Query, QueryError};

    /// The queries of a key.
    #[derive(Debug)]
    pub(in crate::adapter) struct Queries(Vec<Result<Query, QueryError>>);

    impl Queries {
        pub(super) fn read(queries: &[Text]) -> Queries {
            Queries(queries.iter().map(|query| Query::parse(query)).collect())
        }

        /// The places of those that a message matches.
        pub(super) fn matching(&self, message: &Message) -> Vec<u32> {
            let headers = message.application_headers().unwrap_or_default();
            let is_about_body =
                |query: &Result<Query, QueryError>| query.as_ref().is_ok_and(Query::is_about_body);
            let content = self.0.iter().any(is_about_body).then(|| message.body());
            let body = content.map(Body::read);
            let mut matching = Vec::new();
            for (place, query) in (0..).zip(&self.0) {
                let matches = match query {
                    Ok(query) => query.matches(&headers, body.as_ref()),
                    Err(error) => Err(error.clone()),
                };
                match matches {
                    Ok(true) => matching.push(place),
                    Ok(false) => {}
                    Err(error) => tracing::warn!(
                        target: "Broker",
                        "a message with the key {:?} was not matched with an xquery: {error}",
                        message.routing_key,
                    ),
                }
            }
            matching
        }

        /// What is wrong with a query.
        pub(in crate::adapter) fn fault(query: &str) -> Option<String> {
            Query::parse(query).err().map(|error| error.to_string())
        }
    }
}

#[cfg(not(feature = "xml-exchange"))]
mod absent {
    use super::{Message, Text};

    /// Queries that cannot be read here.
    #[derive(Debug)]
    pub(in crate::adapter) struct Queries;

    impl Queries {
        pub(super) fn read(_: &[Text]) -> Queries {
            Queries
        }

        pub(super) fn matching(&self, _: &Message) -> Vec<u32> {
            Vec::new()
        }

        pub(in crate::adapter) fn fault(_: &str) -> Option<String> {
            Some("this broker is built without the xml exchange".into())
        }
    }
}
