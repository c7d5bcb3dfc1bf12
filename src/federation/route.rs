//! Which address a link tries next, and after what pause.

use std::time::Duration;

use super::limits;
use crate::wire::Text;
use crate::wire::url::{Address, Url};

/// The addresses of a link: the one that was given, and those of the other broker's cluster. As in qpidd
/// each that is known is tried at once when one is lost; when all have failed, a pause comes that is twice
/// as long each time.
#[derive(Debug)]
pub struct Route {
    given: Address,
    others: Vec<Address>,
    /// What is left of this round, the next one last.
    left: Vec<Address>,
    pause_min: Duration,
    growth: u32,
}

impl Route {
    /// Of a link to this address.
    pub fn new(given: Address, pause_min: Duration) -> Route {
        Route {
            left: vec![given.clone()],
            given,
            others: Vec::new(),
            pause_min,
            growth: 1,
        }
    }

    /// The next address of this round; None when all have been tried.
    pub fn next(&mut self) -> Option<Address> {
        self.left.pop()
    }

    /// The pause before the next round, which begins.
    pub fn pause(&mut self) -> Duration {
        let pause = self.pause_min * self.growth;
        self.growth = (self.growth * 2).min(limits::PAUSE_GROWTH_MAX);
        self.begin_round();
        pause
    }

    /// The longest of pauses: whoever has refused us is not asked often.
    pub fn longest_pause(&mut self) -> Duration {
        self.growth = limits::PAUSE_GROWTH_MAX;
        self.pause()
    }

    /// An address has let us in: when it is lost the others are tried first, and at once.
    pub fn succeeded(&mut self, with: &Address) {
        self.growth = 1;
        self.begin_round();
        if let Some(at) = self.left.iter().position(|address| address == with) {
            let used = self.left.remove(at);
            self.left.insert(0, used);
        }
    }

    /// The members of the other broker's cluster, as it has told: URLs. What cannot be read is passed over.
    pub fn learn(&mut self, urls: &[Text]) {
        let mut known: Vec<Address> = Vec::new();
        for url in urls.iter().filter_map(|url| Url::parse(url).ok()) {
            for address in url.addresses {
                let is_of_use = address.protocol == self.given.protocol;
                if is_of_use && !known.contains(&address) && known.len() < limits::ADDRESSES_MAX {
                    known.push(address);
                }
            }
        }
        if !known.is_empty() {
            self.others = known;
        }
    }

    fn begin_round(&mut self) {
        self.left = vec![self.given.clone()];
        let others = self.others.iter().filter(|other| **other != self.given);
        self.left.extend(others.cloned());
        self.left.reverse();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(port: u16) -> Address {
        Address {
            protocol: "tcp".into(),
            host: "h".into(),
            port,
        }
    }

    fn round(route: &mut Route) -> Vec<u16> {
        std::iter::from_fn(|| route.next())
            .map(|next| next.port)
            .collect()
    }

    #[test]
    fn pauses_grow_to_a_bound_and_begin_anew_after_success() {
        let mut route = Route::new(address(1), Duration::from_secs(1));
        assert_eq!(round(&mut route), [1]);
        let pauses: Vec<u64> = (0..8).map(|_| route.pause().as_secs()).collect();
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 32, 32]);
        route.succeeded(&address(1));
        assert_eq!(route.pause().as_secs(), 1);
    }

    #[test]
    fn all_members_are_tried_and_the_one_that_was_lost_last() {
        let mut route = Route::new(address(1), Duration::from_secs(1));
        assert_eq!(round(&mut route), [1]);
        route.learn(&[
            "amqp:tcp:h:2,tcp:h:1".into(),
            "nonsense:::".into(),
            "amqp:tcp:h:3".into(),
        ]);
        route.succeeded(&address(1));
        assert_eq!(round(&mut route), [2, 3, 1]);
        route.pause();
        assert_eq!(round(&mut route), [1, 2, 3]);
    }

    #[test]
    fn addresses_of_another_transport_are_not_tried() {
        let mut route = Route::new(address(1), Duration::from_secs(1));
        route.learn(&["amqp:ssl:h:2,tcp:h:3".into()]);
        route.pause();
        assert_eq!(round(&mut route), [1, 3]);
    }
}
