//! Which connection gives way when there is no room for another.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether a connection has asked something that it may ask. Whoever holds it can tell that it has.
#[derive(Clone, Debug, Default)]
pub(super) struct Known(Arc<AtomicBool>);

impl Known {
    /// It has.
    pub fn note(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn is(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Connections, the oldest first. `T` is what ends one.
#[derive(Debug)]
pub(super) struct Room<T>(VecDeque<(IpAddr, Known, T)>);

impl<T> Default for Room<T> {
    fn default() -> Room<T> {
        Room(VecDeque::new())
    }
}

impl<T> Room<T> {
    /// One more has come, from an address.
    pub fn push(&mut self, host: IpAddr, known: Known, connection: T) {
        self.0.push_back((host, known, connection));
    }

    /// Forgets those that are over. What is left, if that is as many as there may be, makes room for one
    /// more: it is to be ended.
    pub fn make(
        &mut self,
        connections_max: usize,
        mut is_over: impl FnMut(&T) -> bool,
    ) -> Option<T> {
        self.0.retain(|(_, _, connection)| !is_over(connection));
        if self.0.len() < connections_max {
            return None;
        }
        let at = self.stranger().unwrap_or(0);
        self.0.remove(at).map(|(_, _, connection)| connection)
    }

    /// The oldest that is not known, of the address that has the most of them: whoever takes all the room
    /// takes it from himself first, and from nobody who may be there.
    fn stranger(&self) -> Option<usize> {
        let strangers = || {
            let all = self.0.iter().enumerate();
            all.filter(|(_, (_, known, _))| !known.is())
        };
        let mut of_hosts: BTreeMap<IpAddr, usize> = BTreeMap::new();
        for (_, (host, _, _)) in strangers() {
            *of_hosts.entry(*host).or_default() += 1;
        }
        let most = of_hosts.values().max()?;
        let mut all = strangers();
        all.find(|(_, (host, _, _))| of_hosts.get(host) == Some(most))
            .map(|(at, _)| at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strangers_of_the_address_that_has_the_most_give_way_first_and_then_the_oldest() {
        let mut room = Room::default();
        for (host, name, is_known) in [
            (1, 'a', true),
            (2, 'b', false),
            (3, 'c', false),
            (3, 'd', false),
            (3, 'e', true),
        ] {
            let known = Known::default();
            if is_known {
                known.note();
            }
            room.push(IpAddr::from([10, 0, 0, host]), known, name);
        }
        assert_eq!(room.make(6, |_| false), None, "there is room");
        let given: String = std::iter::from_fn(|| room.make(1, |_| false)).collect();
        assert_eq!(given, "cbdae");
    }

    #[test]
    fn those_that_are_over_give_way_to_all() {
        let mut room = Room::default();
        for name in ['a', 'b'] {
            room.push(IpAddr::from([10, 0, 0, 1]), Known::default(), name);
        }
        assert_eq!(room.make(2, |name| *name == 'b'), None);
        assert_eq!(room.make(1, |_| false), Some('a'));
    }
}
