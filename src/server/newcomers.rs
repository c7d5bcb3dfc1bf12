//! Connections that have not been opened, in the order in which they came. When there are too many, one
//! of the host that has the most gives way: whoever stalls in the handshake takes room from himself
//! first.

use std::collections::VecDeque;
use std::net::IpAddr;

use crate::broker::tally::Tally;

/// See the module. `T` is what ends a connection.
#[derive(Debug)]
pub struct Newcomers<T> {
    /// Oldest first. Those that have opened may still be among them.
    all: VecDeque<(IpAddr, T)>,
    of_hosts: Tally<IpAddr>,
}

impl<T> Default for Newcomers<T> {
    fn default() -> Newcomers<T> {
        Newcomers {
            all: VecDeque::new(),
            of_hosts: Tally::default(),
        }
    }
}

impl<T> Newcomers<T> {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// One more has come.
    pub fn push(&mut self, host: IpAddr, newcomer: T) {
        self.of_hosts.add(host);
        self.all.push_back((host, newcomer));
    }

    /// Forgets the oldest for as long as they are none any more.
    pub fn forget(&mut self, mut is_over: impl FnMut(&T) -> bool) {
        while self.all.front().is_some_and(|(_, oldest)| is_over(oldest)) {
            self.take(0);
        }
    }

    /// Takes out the oldest of the host that has the most; of hosts that have as many, of the first by
    /// its address.
    pub fn take_of_the_most(&mut self) -> Option<T> {
        let most = self.of_hosts.iter().map(|(_, count)| count).max()?;
        let (host, _) = self.of_hosts.iter().find(|(_, count)| *count == most)?;
        let at = self.all.iter().position(|(of, _)| of == host)?;
        self.take(at)
    }

    fn take(&mut self, at: usize) -> Option<T> {
        let (host, newcomer) = self.all.remove(at)?;
        self.of_hosts.remove(&host);
        Some(newcomer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(last: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, last])
    }

    #[test]
    fn the_oldest_of_the_host_with_the_most_gives_way() {
        let mut newcomers = Newcomers::default();
        for (of, name) in [(1, 'a'), (2, 'b'), (2, 'c'), (3, 'd'), (2, 'e'), (3, 'f')] {
            newcomers.push(host(of), name);
        }
        let mut given = String::new();
        while let Some(name) = newcomers.take_of_the_most() {
            given.push(name);
        }
        assert_eq!(given, "bcdaef");
        assert!(newcomers.is_empty() && newcomers.of_hosts.iter().next().is_none());
    }

    #[test]
    fn those_that_have_opened_are_forgotten_and_count_no_more() {
        let mut newcomers = Newcomers::default();
        for (of, number) in [(1, 1), (1, 2), (2, 3), (1, 4)] {
            newcomers.push(host(of), number);
        }
        newcomers.forget(|number| *number != 2);
        assert_eq!(newcomers.len(), 3);
        let of_hosts: Vec<_> = newcomers.of_hosts.iter().collect();
        assert_eq!(of_hosts, [(&host(1), 2), (&host(2), 1)]);
    }
}
