//! The connections that are alive on this member.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use dashmap::DashMap;
use tokio::task::Id;

use super::traffic::Counts;
use crate::broker::ids::{ConnectionKey, ConnectionNumber, MemberId};
use crate::broker::management::Traffic;

/// A connection as others may see it.
#[derive(Clone, Copy, Debug)]
pub struct Live {
    /// The peer.
    pub peer: SocketAddr,
    /// Its member and its number there, once it is open.
    pub key: Option<ConnectionKey>,
}

/// All live connections, by the task that drives them. No guard of the map is held over an await or
/// with a core locked: every method takes one and gives it back.
#[derive(Debug, Default)]
pub struct Registry {
    live: DashMap<Id, Live>,
    /// What open connections count.
    counts: DashMap<ConnectionKey, Arc<Counts>>,
    admitted: AtomicU32,
}

impl Registry {
    /// A driver begins.
    pub fn insert(&self, driver: Id, peer: SocketAddr) {
        self.live.insert(driver, Live { peer, key: None });
    }

    /// The driver's connection is open and is this one. What it counts is to be said there.
    pub fn opened(&self, driver: Id, key: ConnectionKey) -> Arc<Counts> {
        if let Some(mut live) = self.live.get_mut(&driver) {
            live.key = Some(key);
        }
        let counts = Arc::<Counts>::default();
        self.counts.insert(key, counts.clone());
        counts
    }

    /// A driver has ended.
    pub fn remove(&self, driver: Id) -> Option<Live> {
        let (_, live) = self.live.remove(&driver)?;
        if let Some(key) = live.key {
            self.counts.remove(&key);
        }
        Some(live)
    }

    /// What all open connections of a member have counted.
    pub fn counts_of(&self, member: MemberId) -> Vec<(ConnectionNumber, Traffic)> {
        let all = self
            .counts
            .iter()
            .filter(|counts| counts.key().member == member);
        all.map(|counts| (counts.key().number, counts.read()))
            .collect()
    }

    /// What an open connection has counted, if it is one of this process.
    pub fn traffic(&self, key: ConnectionKey) -> Option<Traffic> {
        self.counts.get(&key).map(|counts| counts.read())
    }

    /// A driver's connection.
    pub fn live(&self, driver: Id) -> Option<Live> {
        self.live.get(&driver).map(|live| *live)
    }

    /// Whether a driver's connection has been opened.
    pub fn is_open(&self, driver: Id) -> bool {
        self.live(driver).is_some_and(|live| live.key.is_some())
    }

    /// Connections alive, open or not.
    pub fn len(&self) -> usize {
        self.live.len()
    }

    /// Whether none is alive.
    pub fn is_empty(&self) -> bool {
        self.live.is_empty()
    }

    /// Counts one connection more, if no more than `connections_max` are there with it; 0 is no
    /// limit. Who is counted calls [`leave`](Registry::leave) once.
    pub fn admit(&self, connections_max: u32) -> bool {
        let one_more =
            |count: u32| (connections_max == 0 || count < connections_max).then(|| count + 1);
        self.admitted
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more)
            .is_ok()
    }

    /// One that was counted is gone.
    pub fn leave(&self) {
        self.admitted.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_are_admitted_as_may_be_and_one_for_each_that_leaves() {
        let registry = Registry::default();
        assert!(registry.admit(2) && registry.admit(2));
        assert!(!registry.admit(2));
        registry.leave();
        assert!(registry.admit(2));
        assert!(registry.admit(0), "0 is no limit");
    }
}
