//! What management reads of a core, in bounded pieces: all of a kind behind one that was read last, in an
//! order that does not change.

use std::ops::Bound;

use super::connections::Connection;
use super::core::Core;
use super::exchange::{Behind, Binding, pattern};
use super::exchanges::Exchange;
use super::ids::{ConnectionKey, ExchangeId, QueueId, QueueRef, SessionId};
use super::level::Level;
use super::limits;
use super::management::{Face, WallTime};
use super::members::Members;
use super::queue::Queue;
use super::replication::Replication;
use super::session::{Session, SessionName};
use super::subscription::{Subscription, SubscriptionRef};
use crate::wire::Text;

fn behind<T>(last: Option<&T>) -> (Bound<&T>, Bound<&T>) {
    (
        last.map_or(Bound::Unbounded, Bound::Excluded),
        Bound::Unbounded,
    )
}

/// Whether a topic's pattern may match a key: they are the same up to the pattern's first `#`, or all
/// through.
fn may_match(pattern: &str, key: &str) -> bool {
    let mut key = pattern::words(key);
    for word in pattern::words(pattern) {
        if word == pattern::HASH {
            return true;
        }
        match key.next() {
            Some(of_key) if word == pattern::STAR || word == of_key => {}
            _ => return false,
        }
    }
    key.next().is_none()
}

impl Core {
    /// Queues by name, behind one of that name.
    pub fn queues_behind(&self, name: Option<&Text>) -> impl Iterator<Item = &Queue> {
        let found = self.queue_names.range::<Text, _>(behind(name));
        found.filter_map(|(_, id)| self.queues.get(id.0))
    }

    /// Exchanges by name, behind one of that name.
    pub fn exchanges_behind(&self, name: Option<&Text>) -> impl Iterator<Item = &Exchange> {
        let found = self.exchange_names.range::<Text, _>(behind(name));
        found.filter_map(|(_, id)| self.exchanges.get(id.0))
    }

    /// Sessions by name, behind one of that name.
    pub fn sessions_behind(&self, name: Option<&SessionName>) -> impl Iterator<Item = &Session> {
        let found = self.session_names.range::<SessionName, _>(behind(name));
        found.filter_map(|(_, id)| self.sessions.get(id.0))
    }

    /// Connections behind one of that key.
    pub fn connections_behind(
        &self,
        key: Option<ConnectionKey>,
    ) -> impl Iterator<Item = (ConnectionKey, &Connection)> {
        self.connections.behind(key)
    }

    /// A connection.
    pub fn connection(&self, key: ConnectionKey) -> Option<&Connection> {
        self.connections.get(self.connections.id(key)?)
    }

    /// The exchange of a name.
    pub fn exchange_of_name(&self, name: &str) -> Option<&Exchange> {
        self.exchange_at(*self.exchange_names.get(name)?)
    }

    /// An exchange, where another thing names it.
    pub fn exchange_at(&self, id: ExchangeId) -> Option<&Exchange> {
        self.exchanges.get(id.0)
    }

    /// A queue, where another thing names it.
    pub fn queue_at(&self, id: QueueId) -> Option<&Queue> {
        self.queues.get(id.0)
    }

    /// A session, where another thing names it.
    pub fn session_at(&self, id: SessionId) -> Option<&Session> {
        self.sessions.get(id.0)
    }

    /// The session of a name.
    pub fn session_of_name(&self, name: &SessionName) -> Option<&Session> {
        self.session_at(*self.session_names.get(name)?)
    }

    /// All subscriptions of a session, by name.
    pub fn subscriptions_of<'a>(
        &'a self,
        session: &'a Session,
    ) -> impl Iterator<Item = &'a Subscription> {
        let all = session.subscriptions.values();
        all.filter_map(|id| self.subscriptions.get(id.0))
    }

    /// Bindings of an exchange, in its order, behind one of them, each with where it lies among those of
    /// its key. The default exchange has one for each queue, which are not kept and which
    /// [`Core::queues_behind`] gives.
    pub fn bindings_behind<'a>(
        &'a self,
        exchange: &'a Exchange,
        behind: Option<&'a Behind>,
    ) -> impl Iterator<Item = (usize, &'a Binding, &'a Queue)> {
        let found = exchange.kind.bindings_behind(behind);
        found.filter_map(|(slot, binding)| Some((slot, binding, self.queue_at(binding.queue)?)))
    }

    /// The agent that tells what is told once.
    pub fn first_agent(&self) -> Option<ConnectionKey> {
        self.agents.all().next()
    }

    /// The agents of all members.
    pub fn agent_keys(&self) -> impl Iterator<Item = ConnectionKey> {
        self.agents.all()
    }

    /// How many exchanges there are.
    pub fn exchange_count(&self) -> usize {
        self.exchanges.len()
    }

    /// How many sessions there are, those without a connection too.
    pub fn session_count(&self) -> usize {
        self.sessions.len()
    }

    /// How many subscriptions there are.
    pub fn subscription_count(&self) -> usize {
        self.subscriptions.len()
    }

    /// Whether any queue is bound to an exchange that agents publish to unasked.
    pub fn has_management_listeners(&self) -> bool {
        Face::ALL.iter().any(|(face, name, _)| {
            let exchange = self.exchange_of_name(name);
            *face != Face::Direct && exchange.is_some_and(|exchange| !exchange.kind.is_unused())
        })
    }

    /// Whether what an agent publishes by a face with a routing key may reach a queue. True, too, where
    /// finding out would take longer than it spares.
    pub fn may_be_heard(&self, face: Face, key: &str) -> bool {
        let mut bindings = self.bindings_of_face(face).enumerate();
        bindings.any(|(at, binding)| {
            at >= limits::LISTENERS_LOOKED_AT_MAX || may_match(&binding.key, key)
        })
    }

    fn bindings_of_face(&self, face: Face) -> impl Iterator<Item = &Binding> {
        let mut faces = Face::ALL.iter();
        let name = faces.find_map(|(other, name, _)| (*other == face).then_some(*name));
        let exchange = name.and_then(|name| self.exchange_of_name(name));
        exchange.into_iter().flat_map(|of| of.kind.bindings())
    }

    /// Queues, with the keys that they are bound by, that what an agent publishes by a face with a
    /// routing key may reach: of the first [`limits::LISTENERS_LOOKED_AT_MAX`] bindings.
    pub fn listeners<'a>(
        &'a self,
        face: Face,
        key: &'a str,
    ) -> impl Iterator<Item = (QueueRef, &'a Text)> {
        let looked_at = self
            .bindings_of_face(face)
            .take(limits::LISTENERS_LOOKED_AT_MAX);
        let heard = looked_at.filter(move |binding| may_match(&binding.key, key));
        heard.filter_map(|binding| Some((self.queue_at(binding.queue)?.reference, &binding.key)))
    }

    /// What the broker's agent is called; empty while there is none.
    pub fn agent_name(&self) -> &Text {
        &self.agents.name
    }

    /// Whether messages that come in get the time of their coming.
    pub fn is_stamping(&self) -> bool {
        self.agents.is_stamping
    }

    /// A subscription with its session, if it is still there.
    pub fn subscription_at(&self, reference: SubscriptionRef) -> Option<(&Subscription, &Session)> {
        let found = self.subscriptions.get(reference.id.0)?;
        let session = self.session_at(found.session)?;
        (found.reference == reference).then_some((found, session))
    }

    /// What the wall clock shows, as far as an agent has said.
    pub fn wall(&self) -> WallTime {
        self.agents.wall(self.time)
    }

    /// Where clients find the members of the cluster; empty for a broker that is in none.
    pub fn failover_urls(&self) -> &[Text] {
        self.failover.urls()
    }

    /// The level at which the broker runs.
    pub fn level(&self) -> Level {
        self.level
    }

    /// The members of the cluster, and who of them is to leave.
    pub fn members(&self) -> &Members {
        &self.members
    }

    /// What became of events of queues.
    pub fn replication(&self) -> &Replication {
        &self.replication
    }

    /// Events that nobody was told of, since an agent had too many.
    pub fn events_lost(&self) -> u64 {
        self.agents.events_lost
    }
}
