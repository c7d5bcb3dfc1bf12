//! Who has failed to prove who he is, and how often.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};

use crate::security::limits::{
    FAILING_MAX, FAILURES_MAX, FAILURES_MILLISECONDS, HOST_FAILURES_MAX,
};
use crate::wire::Text;

#[derive(Clone, Copy, Debug)]
struct Failing {
    count: u32,
    /// When counting began, in milliseconds.
    since: u64,
}

/// Failures of whoever is told apart by a key, [`FAILING_MAX`] of them at most.
#[derive(Debug)]
struct Counts<K>(BTreeMap<K, Failing>);

impl<K> Default for Counts<K> {
    fn default() -> Counts<K> {
        Counts(BTreeMap::new())
    }
}

impl<K: Ord + Clone> Counts<K> {
    fn note(&mut self, key: K, now: u64) {
        if !self.0.contains_key(&key) && self.0.len() >= FAILING_MAX {
            let oldest = self.0.iter().min_by_key(|(_, failing)| failing.since);
            if let Some(oldest) = oldest.map(|(key, _)| key.clone()) {
                self.0.remove(&oldest);
            }
        }
        let fresh = Failing {
            count: 0,
            since: now,
        };
        let failing = self.0.entry(key).or_insert(fresh);
        if now.saturating_sub(failing.since) >= FAILURES_MILLISECONDS {
            *failing = fresh;
        }
        failing.count += 1;
    }

    fn has_reached(&self, key: &K, max: u32, now: u64) -> bool {
        self.0.get(key).is_some_and(|failing| {
            failing.count >= max && now.saturating_sub(failing.since) < FAILURES_MILLISECONDS
        })
    }
}

/// Octets of an address of IPv6 by which its network is known: one host may have all that begin so.
const NETWORK_BYTES: usize = 8;

/// What counts as one address: of IPv6 a network of 64 bits.
pub fn network(host: IpAddr) -> IpAddr {
    match host.to_canonical() {
        IpAddr::V6(host) => {
            let mut octets = host.octets();
            octets[NETWORK_BYTES..].fill(0);
            Ipv6Addr::from(octets).into()
        }
        host => host,
    }
}

/// Failures by address, and by user and address. See [`network`].
#[derive(Debug, Default)]
pub struct Failures {
    hosts: Counts<IpAddr>,
    users: Counts<(IpAddr, Text)>,
    total: u64,
}

impl Failures {
    /// Somebody has failed, at a time in milliseconds: who he said he is, empty when he did not say.
    pub fn note(&mut self, host: IpAddr, claimed: &Text, now: u64) {
        let host = network(host);
        self.total += 1;
        self.hosts.note(host, now);
        if !claimed.is_empty() {
            self.users.note((host, claimed.clone()), now);
        }
    }

    /// Whether an address has failed too often to be listened to, whoever it is.
    pub fn is_shut_out(&self, host: IpAddr, now: u64) -> bool {
        self.hosts
            .has_reached(&network(host), HOST_FAILURES_MAX, now)
    }

    /// Whether a user has failed too often from an address to be listened to there.
    pub fn is_user_shut_out(&self, host: IpAddr, user: &Text, now: u64) -> bool {
        let key = (network(host), user.clone());
        self.users.has_reached(&key, FAILURES_MAX, now)
    }

    /// Failures since the start.
    pub fn total(&self) -> u64 {
        self.total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(n: u32) -> IpAddr {
        IpAddr::from(n.to_be_bytes())
    }

    #[test]
    fn who_fails_too_often_is_shut_out_for_a_while_and_nobody_else() {
        let (ann, bob) = (Text::from("ann"), Text::from("bob"));
        let mut failures = Failures::default();
        for at in 0..u64::from(FAILURES_MAX) {
            assert!(!failures.is_user_shut_out(host(1), &ann, at));
            failures.note(host(1), &ann, at);
        }
        assert!(failures.is_user_shut_out(host(1), &ann, 100));
        assert!(!failures.is_user_shut_out(host(2), &ann, 100));
        assert!(!failures.is_user_shut_out(host(1), &bob, 100));
        assert!(!failures.is_shut_out(host(1), 100));
        assert!(!failures.is_user_shut_out(host(1), &ann, FAILURES_MILLISECONDS));
        failures.note(host(1), &ann, FAILURES_MILLISECONDS);
        assert!(!failures.is_user_shut_out(host(1), &ann, FAILURES_MILLISECONDS));
    }

    #[test]
    fn a_network_of_ipv6_counts_as_one_address() {
        let ann = Text::from("ann");
        let of = |n: u16, network: u16| IpAddr::from([0x2001, 0xdb8, 0, network, 0, 0, 0, n]);
        let mut failures = Failures::default();
        (0..FAILURES_MAX).for_each(|n| failures.note(of(n as u16, 1), &ann, 0));
        assert!(failures.is_user_shut_out(of(9999, 1), &ann, 0));
        assert!(!failures.is_user_shut_out(of(0, 2), &ann, 0));
    }

    #[test]
    fn an_address_that_fails_as_ever_new_users_is_shut_out_for_a_while() {
        let mut failures = Failures::default();
        for n in 0..HOST_FAILURES_MAX {
            assert!(!failures.is_shut_out(host(1), 0));
            let claimed = if n % 2 == 0 {
                String::new()
            } else {
                n.to_string()
            };
            failures.note(host(1), &claimed.as_str().into(), 0);
        }
        assert!(failures.is_shut_out(host(1), 0) && !failures.is_shut_out(host(2), 0));
        assert!(!failures.is_shut_out(host(1), FAILURES_MILLISECONDS));
    }

    #[test]
    fn as_many_are_counted_as_there_is_room_for() {
        let mut failures = Failures::default();
        for n in 0..FAILING_MAX as u32 + 5 {
            failures.note(host(n), &"ann".into(), u64::from(n));
        }
        assert_eq!(failures.hosts.0.len(), FAILING_MAX);
        assert_eq!(failures.users.0.len(), FAILING_MAX);
        assert_eq!(failures.total(), FAILING_MAX as u64 + 5);
    }
}
