//! Whose turn it is to have a password hashed. Addresses that wait have theirs one after the other, however
//! many connections of each do: who guesses from one address makes others wait for one guess at a time.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::security::sasl::network;

/// So many turns at a time. Of a connection one waits at most, so no more do than there are connections that
/// are not in.
#[derive(Debug)]
pub struct Turns {
    line: Mutex<Line>,
}

/// A turn: it goes to the next when this is dropped.
#[derive(Debug)]
pub struct Turn {
    /// None: it has gone to somebody else already.
    turns: Option<Arc<Turns>>,
}

#[derive(Debug)]
struct Line {
    /// Turns that nobody has. None are left while somebody waits.
    free: usize,
    /// Who waits, by address.
    waiting: BTreeMap<IpAddr, Waiting>,
    /// The addresses in the order in which they have their turns.
    round: BTreeMap<u64, IpAddr>,
    /// The number of the next place, in the round or of a connection.
    next: u64,
}

/// The connections of one address that wait, in the order in which they came.
#[derive(Debug)]
struct Waiting {
    /// The address's place in the round.
    place: u64,
    connections: BTreeMap<u64, oneshot::Sender<Turn>>,
}

impl Turns {
    /// So many at a time.
    pub fn new(at_once: usize) -> Arc<Turns> {
        Arc::new(Turns {
            line: Mutex::new(Line {
                free: at_once,
                waiting: BTreeMap::new(),
                round: BTreeMap::new(),
                next: 0,
            }),
        })
    }

    /// Waits for the turn of a connection from this address. Whoever drops this leaves the line.
    pub async fn take(self: &Arc<Turns>, host: IpAddr) -> Turn {
        let place = self.line.lock().enter(network(host));
        let (number, turn) = match place {
            None => return self.turn(),
            Some(place) => place,
        };
        let _place = Place {
            turns: self,
            host: network(host),
            number,
        };
        // The line keeps the other end until it is used.
        turn.await.unwrap_or_else(|_| self.turn())
    }

    fn turn(self: &Arc<Turns>) -> Turn {
        Turn {
            turns: Some(self.clone()),
        }
    }

    /// Gives a turn to the next, if anybody waits.
    fn pass_on(self: &Arc<Turns>) {
        loop {
            let Some(next) = self.line.lock().leave() else {
                return;
            };
            match next.send(self.turn()) {
                Ok(()) => return,
                // He has left the line just now.
                Err(mut turn) => turn.turns = None,
            }
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(turns) = self.turns.take() {
            turns.pass_on();
        }
    }
}

impl Line {
    /// None: the turn has come. Otherwise the number of the place in the line, and what it waits for.
    fn enter(&mut self, host: IpAddr) -> Option<(u64, oneshot::Receiver<Turn>)> {
        if self.free > 0 {
            self.free -= 1;
            return None;
        }
        let (tell, told) = oneshot::channel();
        let place = self.number();
        let waiting = self.waiting.entry(host).or_insert_with(|| {
            self.round.insert(place, host);
            Waiting {
                place,
                connections: BTreeMap::new(),
            }
        });
        waiting.connections.insert(place, tell);
        Some((place, told))
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// Whose turn it is. None: nobody's, and it is free.
    fn leave(&mut self) -> Option<oneshot::Sender<Turn>> {
        let next = self.first();
        self.free += usize::from(next.is_none());
        next
    }

    fn first(&mut self) -> Option<oneshot::Sender<Turn>> {
        let (_, host) = self.round.pop_first()?;
        let place = self.number();
        let waiting = self.waiting.get_mut(&host)?;
        let (_, next) = waiting.connections.pop_first()?;
        match waiting.connections.is_empty() {
            true => drop(self.waiting.remove(&host)),
            false => {
                waiting.place = place;
                self.round.insert(place, host);
            }
        }
        Some(next)
    }

    /// One does not wait any more.
    fn forget(&mut self, host: IpAddr, number: u64) {
        let Some(waiting) = self.waiting.get_mut(&host) else {
            return;
        };
        waiting.connections.remove(&number);
        if waiting.connections.is_empty() {
            self.round.remove(&waiting.place);
            self.waiting.remove(&host);
        }
    }
}

/// A place in the line.
struct Place<'a> {
    turns: &'a Turns,
    host: IpAddr,
    number: u64,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.turns.line.lock().forget(self.host, self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    type Waits<'a> = Pin<Box<dyn Future<Output = Turn> + 'a>>;

    /// Enters the line.
    fn wait<'a>(turns: &'a Arc<Turns>, host: &str) -> Waits<'a> {
        let mut waits: Waits<'a> = Box::pin(turns.take(host.parse().expect("an address")));
        assert!(turn(&mut waits).is_none(), "{host} has to wait");
        waits
    }

    fn turn(waits: &mut Waits<'_>) -> Option<Turn> {
        let mut context = Context::from_waker(Waker::noop());
        match waits.as_mut().poll(&mut context) {
            Poll::Ready(turn) => Some(turn),
            Poll::Pending => None,
        }
    }

    fn taken(turns: &Arc<Turns>) -> Turn {
        let mut waits: Waits<'_> = Box::pin(turns.take(IpAddr::V4([127, 0, 0, 1].into())));
        turn(&mut waits).expect("nobody has it")
    }

    /// Lets everybody have his turn, one at a time; gives the order.
    fn order(held: Turn, mut line: Vec<(&str, Waits<'_>)>) -> Vec<String> {
        let mut order = Vec::new();
        let mut held = Some(held);
        while !line.is_empty() {
            drop(held.take());
            let had = line.iter_mut().enumerate().find_map(|(at, (_, waits))| {
                held = turn(waits);
                held.is_some().then_some(at)
            });
            order.push(
                line.remove(had.expect("it is somebody's turn"))
                    .0
                    .to_owned(),
            );
        }
        order
    }

    #[test]
    fn addresses_have_their_turns_one_after_the_other_however_many_wait_from_each() {
        let turns = Turns::new(1);
        let held = taken(&turns);
        let hosts = [
            "10.0.0.1", "10.0.0.1", "10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.2",
        ];
        let line = hosts.map(|host| (host, wait(&turns, host)));
        assert_eq!(
            order(held, line.into()),
            [
                "10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.1", "10.0.0.2", "10.0.0.1"
            ]
        );
        drop(taken(&turns));
    }

    #[test]
    fn addresses_of_one_network_of_ipv6_count_as_one() {
        let turns = Turns::new(1);
        let held = taken(&turns);
        let hosts = [
            "2001:db8::1",
            "2001:db8::2",
            "2001:db8:0:1::1",
            "::ffff:10.0.0.1",
        ];
        let line = hosts.map(|host| (host, wait(&turns, host)));
        assert_eq!(
            order(held, line.into()),
            [
                "2001:db8::1",
                "2001:db8:0:1::1",
                "::ffff:10.0.0.1",
                "2001:db8::2"
            ]
        );
    }

    #[test]
    fn who_does_not_wait_any_more_is_passed_over_and_leaves_nothing() {
        let turns = Turns::new(1);
        let held = taken(&turns);
        drop(wait(&turns, "10.0.0.1"));
        let mut first = wait(&turns, "10.0.0.2");
        let second = wait(&turns, "10.0.0.2");
        let mut last = wait(&turns, "10.0.0.3");
        drop(second);
        drop(held);
        drop(turn(&mut first).expect("its turn"));
        let held = turn(&mut last).expect("its turn");
        // Given and not looked at.
        let gone = wait(&turns, "10.0.0.1");
        drop(held);
        drop(gone);
        let line = turns.line.lock();
        assert_eq!((line.free, line.round.len(), line.waiting.len()), (1, 0, 0));
    }

    #[test]
    fn so_many_at_a_time_have_their_turn() {
        let turns = Turns::new(2);
        let held = [taken(&turns), taken(&turns)];
        let mut third = wait(&turns, "10.0.0.1");
        drop(held);
        assert!(turn(&mut third).is_some());
    }
}
