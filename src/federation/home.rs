//! The broker that links belong to.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use super::inlet::Inlets;
use crate::broker::Core;
use crate::broker::ids::MemberId;
use crate::broker::links::Report;
use crate::client::{Client, Error};
use crate::wire::Text;

/// A link's connection to the other broker, as management shows it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outgoing {
    /// Our address.
    pub local: Text,
    /// That of the other broker.
    pub remote: Text,
    /// How the link has proved who it is.
    pub mechanism: Text,
    /// What the other broker says of itself.
    pub properties: crate::wire::Map,
}

/// What takes a while.
pub type Later<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What links need of the broker they belong to.
pub trait Home: Send + Sync + 'static {
    /// The member whose links these are.
    fn member(&self) -> MemberId;

    /// The broker's name for federation.
    fn tag(&self) -> Text;

    /// Looks at the member's core, for a short time.
    fn look(&self, look: &mut dyn FnMut(&Core));

    /// A connection to this broker, over which everything is allowed: that of a link, whose connection to
    /// the other broker it stands for. And the way for what is published here by it.
    fn open(&self, outgoing: Outgoing) -> Later<'_, Result<(Client, Inlets), Error>>;

    /// Has the core know what has become of a link.
    fn report(&self, report: Report) -> Later<'_, ()>;

    /// How brokers are reached over TLS, if that is configured.
    fn tls(&self) -> Option<Arc<rustls::ClientConfig>>;

    /// The pause after a first failure.
    fn pause(&self) -> Duration;

    /// Seconds between heartbeats on links.
    fn heartbeat(&self) -> u16;
}
