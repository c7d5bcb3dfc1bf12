//! What waits for a member's connections: effects in order, and how much they have proposed.
//!
//! Effects of a batch that decided something durable are *held* until the journal has synced it;
//! what comes for the same connection afterwards waits behind them, so that the order stays.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::task::Waker;

use super::{Outstanding, limits};
use crate::broker::ids::{ConnectionKey, ConnectionNumber, MemberId};
use crate::broker::management::ForAgent;
use crate::broker::plant::{Plant, is_planted};
use crate::broker::{Effect, Out};

/// Those to be woken once the lock under which it was found out is free: a waker may run anything,
/// also what wants that lock.
#[derive(Debug, Default)]
#[must_use = "somebody sleeps until it is woken"]
pub struct Woken(Vec<Waker>);

impl Woken {
    /// Adds one.
    pub fn push(&mut self, waker: Waker) {
        self.0.push(waker);
    }

    /// Wakes all. Not to be called with the group's lock held.
    pub fn wake(self) {
        for waker in self.0 {
            waker.wake();
        }
    }
}

#[derive(Debug)]
struct Outbox {
    effects: Vec<Effect>,
    /// Effects behind them that are not to be seen yet, each until the journal is synced to a
    /// position.
    held: VecDeque<(u64, Effect)>,
    /// The connection's batches that are applied and not synced, by position.
    unsynced: VecDeque<u64>,
    waker: Waker,
    proposed: usize,
    proposed_bytes: usize,
}

impl Outbox {
    /// Whether an effect is not for this outbox any more: an event, where many effects wait already.
    /// Events are the only effects that nobody's credit or count bounds.
    #[inline]
    fn passes_over(&self, effect: &Effect) -> bool {
        let waiting = self.effects.len() + self.held.len();
        waiting >= limits::OUTBOX_HEARS_EVENTS_MAX
            && matches!(effect, Effect::Agent(told) if matches!(**told, ForAgent::Event(_)))
    }

    /// Lets go of what was held until `synced`. True when something still is.
    fn release(&mut self, synced: u64, woken: &mut Woken) -> bool {
        let (was_empty, proposed) = (self.effects.is_empty(), self.proposed);
        while let Some((_, effect)) = self.held.pop_front_if(|(until, _)| *until <= synced) {
            self.effects.push(effect);
        }
        while self
            .unsynced
            .pop_front_if(|until| *until <= synced)
            .is_some()
        {
            self.proposed = self.proposed.saturating_sub(1);
        }
        let may_read = proposed >= limits::PROPOSED_BATCHES_MAX
            && self.proposed < limits::PROPOSED_BATCHES_MAX;
        if may_read || was_empty && !self.effects.is_empty() {
            woken.push(self.waker.clone());
        }
        !self.held.is_empty() || !self.unsynced.is_empty()
    }
}

/// The outboxes of one member, by connection. They are bounded by construction: a delivery needs
/// headroom, and everything else answers a command of a batch that was counted in `proposed`.
#[derive(Debug, Default)]
pub struct Outboxes {
    boxes: BTreeMap<ConnectionNumber, Outbox>,
    opened: u32,
    /// Connections that wait for the journal.
    holding: BTreeSet<ConnectionNumber>,
    /// How far the journal is synced.
    synced: u64,
    /// Octets of all batches that are proposed and not applied, also of connections that are closed.
    proposed_bytes: usize,
}

impl Outboxes {
    /// Makes an outbox and gives its number: 1, 2, 3 and so on, never used twice.
    ///
    /// # Panics
    /// After 2^32 connections: with numbers used twice, late commands would reach the wrong one.
    #[expect(
        clippy::expect_used,
        reason = "with numbers used twice late commands would reach the wrong connection"
    )]
    pub fn open(&mut self, waker: Waker) -> ConnectionNumber {
        self.opened = self
            .opened
            .checked_add(1)
            .expect("a member starts anew before it has had 2^32 connections");
        let number = ConnectionNumber(self.opened);
        let outbox = Outbox {
            effects: Vec::new(),
            held: VecDeque::new(),
            unsynced: VecDeque::new(),
            waker,
            proposed: 0,
            proposed_bytes: 0,
        };
        self.boxes.insert(number, outbox);
        number
    }

    /// Whether a connection has an outbox.
    pub fn is_open(&self, connection: ConnectionNumber) -> bool {
        self.boxes.contains_key(&connection)
    }

    fn is_member_held(&self) -> bool {
        self.proposed_bytes >= limits::PROPOSED_BY_MEMBER_BYTES_MAX
    }

    /// What a connection has proposed that is not yet applied.
    pub fn outstanding(&self, connection: ConnectionNumber) -> Outstanding {
        let Some(outbox) = self.boxes.get(&connection) else {
            return Outstanding {
                is_ended: true,
                ..Outstanding::default()
            };
        };
        Outstanding {
            proposed: outbox.proposed,
            proposed_bytes: outbox.proposed_bytes,
            is_member_held: self.is_member_held(),
            is_ended: false,
        }
    }

    /// Gives up an outbox with what is in it.
    pub fn close(&mut self, connection: ConnectionNumber) {
        self.boxes.remove(&connection);
        self.holding.remove(&connection);
    }

    /// Gives up all outboxes; numbers go on.
    pub fn close_all(&mut self) {
        self.proposed_bytes = 0;
        self.boxes.clear();
        self.holding.clear();
    }

    /// Swaps what is in an outbox into `effects`, which is empty. The buffers go back and forth, so
    /// that none is allocated for each batch; one that has grown far is let go.
    pub fn take(&mut self, connection: ConnectionNumber, effects: &mut Vec<Effect>) -> Outstanding {
        debug_assert!(effects.is_empty(), "what is left there would be told late");
        let outstanding = self.outstanding(connection);
        if let Some(outbox) = self.boxes.get_mut(&connection)
            && !outbox.effects.is_empty()
        {
            if effects.capacity() > limits::OUTBOX_KEPT_EFFECTS {
                *effects = Vec::new();
            }
            std::mem::swap(&mut outbox.effects, effects);
        }
        outstanding
    }

    /// Empties `out` into the outboxes of `member`'s connections, to be held until the journal is
    /// synced to `position`; 0 is at once. Those of a connection are held for its batches before,
    /// too: what completes a command may come in a later batch than the command. Effects for other
    /// members, or for connections that are closed, are dropped: they are told elsewhere, or nobody
    /// is left to be told.
    pub fn distribute(
        &mut self,
        member: MemberId,
        out: &mut Out,
        position: u64,
        woken: &mut Woken,
    ) {
        let of_batch = position;
        let mut effects = out.effects.drain(..).peekable();
        while let Some((key, effect)) = effects.next() {
            // Effects of one batch are mostly for one connection: it is looked up once for a run.
            let outbox = match key.member == member {
                true => self.boxes.get_mut(&key.number),
                false => None,
            };
            let Some(outbox) = outbox else { continue };
            if outbox.passes_over(&effect) {
                continue;
            }
            let is_same = |(next, _): &(ConnectionKey, Effect)| *next == key;
            let mut position = of_batch.max(outbox.unsynced.back().copied().unwrap_or(0));
            if is_planted(Plant::LaterBatchOvertakes) {
                position = of_batch;
            }
            if position > self.synced || !outbox.held.is_empty() {
                self.holding.insert(key.number);
                outbox.held.push_back((position, effect));
                while let Some((_, effect)) = effects.next_if(is_same) {
                    if !outbox.passes_over(&effect) {
                        outbox.held.push_back((position, effect));
                    }
                }
                continue;
            }
            if outbox.effects.is_empty() {
                woken.push(outbox.waker.clone());
            }
            outbox.effects.push(effect);
            while let Some((_, effect)) = effects.next_if(is_same) {
                if !outbox.passes_over(&effect) {
                    outbox.effects.push(effect);
                }
            }
        }
    }

    /// A batch of the connection has been applied and counts as proposed until the journal is
    /// synced to `position`.
    pub fn applied_unsynced(&mut self, connection: ConnectionNumber, position: u64) {
        if position <= self.synced {
            return;
        }
        if let Some(outbox) = self.boxes.get_mut(&connection) {
            outbox.proposed += 1;
            outbox.unsynced.push_back(position);
            self.holding.insert(connection);
        }
    }

    /// The journal is synced to `position`: what was held until then can be seen.
    pub fn synced(&mut self, position: u64, woken: &mut Woken) {
        self.synced = self.synced.max(position);
        let (boxes, synced) = (&mut self.boxes, self.synced);
        self.holding.retain(|connection| {
            boxes
                .get_mut(connection)
                .is_some_and(|outbox| outbox.release(synced, woken))
        });
    }

    /// So many octets of the connection are on their way, with which a batch of its own ends or not.
    pub fn proposed(&mut self, connection: ConnectionNumber, bytes: usize, is_last: bool) {
        self.proposed_bytes += bytes;
        if let Some(outbox) = self.boxes.get_mut(&connection) {
            outbox.proposed += usize::from(is_last);
            outbox.proposed_bytes += bytes;
        }
    }

    /// So many octets of the connection have been applied.
    pub fn applied(
        &mut self,
        connection: ConnectionNumber,
        bytes: usize,
        is_last: bool,
        woken: &mut Woken,
    ) {
        let before = self.outstanding(connection);
        let was_member_held = self.is_member_held();
        self.proposed_bytes = self.proposed_bytes.saturating_sub(bytes);
        if let Some(outbox) = self.boxes.get_mut(&connection) {
            outbox.proposed = outbox.proposed.saturating_sub(usize::from(is_last));
            outbox.proposed_bytes = outbox.proposed_bytes.saturating_sub(bytes);
        }
        let after = self.outstanding(connection);
        if was_member_held && !self.is_member_held() {
            self.wake_all(woken);
        } else if before.is_held()
            && !after.is_held()
            && let Some(outbox) = self.boxes.get(&connection)
        {
            woken.push(outbox.waker.clone());
        }
    }

    /// Wakes every connection: something has happened that each has to look at.
    pub fn wake_all(&self, woken: &mut Woken) {
        for outbox in self.boxes.values() {
            woken.push(outbox.waker.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::broker::event::Event;
    use crate::broker::management::Requester;
    use crate::wire::SequenceSet;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    const MEMBER: MemberId = MemberId(1);

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    struct Bench {
        boxes: Outboxes,
        connection: ConnectionNumber,
        woken: Arc<Count>,
    }

    impl Bench {
        fn new() -> Bench {
            let mut boxes = Outboxes::default();
            let woken = Arc::new(Count::default());
            let connection = boxes.open(Waker::from(woken.clone()));
            Bench {
                boxes,
                connection,
                woken,
            }
        }

        /// One effect, told apart by its channel.
        fn effect(&mut self, channel: u16, until: u64) {
            let key = ConnectionKey {
                member: MEMBER,
                number: self.connection,
            };
            let effect = Effect::Confirmed {
                channel,
                commands: SequenceSet::new(),
            };
            let mut out = Out::default();
            out.effects.push((key, effect));
            let mut woken = Woken::default();
            self.boxes.distribute(MEMBER, &mut out, until, &mut woken);
            woken.wake();
        }

        fn synced(&mut self, position: u64) {
            let mut woken = Woken::default();
            self.boxes.synced(position, &mut woken);
            woken.wake();
        }

        fn seen(&mut self) -> Vec<u16> {
            let mut effects = Vec::new();
            self.boxes.take(self.connection, &mut effects);
            let channel = |effect: &Effect| match effect {
                Effect::Confirmed { channel, .. } => *channel,
                _ => u16::MAX,
            };
            effects.iter().map(channel).collect()
        }

        fn woken(&self) -> usize {
            self.woken.0.swap(0, Ordering::Relaxed)
        }
    }

    #[test]
    fn an_outbox_takes_no_more_events_than_its_bound() {
        let mut bench = Bench::new();
        let key = ConnectionKey {
            member: MEMBER,
            number: bench.connection,
        };
        let event = || Event::Unsubscribe {
            requester: Requester::default(),
            destination: "d".into(),
        };
        let told = || (key, Effect::Agent(Box::new(ForAgent::Event(event()))));
        let mut out = Out::default();
        let many = limits::OUTBOX_HEARS_EVENTS_MAX + 1;
        out.effects.extend(std::iter::repeat_with(told).take(many));
        let mut woken = Woken::default();
        bench.boxes.distribute(MEMBER, &mut out, 0, &mut woken);
        bench.effect(1, 0);
        let seen = bench.seen();
        assert_eq!((seen.len(), seen.last()), (many, Some(&1)));
    }

    #[test]
    fn effects_of_a_durable_batch_are_seen_when_it_is_synced() {
        let mut bench = Bench::new();
        bench.effect(1, 100);
        assert_eq!((bench.seen(), bench.woken()), (vec![], 0));
        bench.synced(99);
        assert_eq!((bench.seen(), bench.woken()), (vec![], 0));
        bench.synced(100);
        assert_eq!((bench.seen(), bench.woken()), (vec![1], 1));
    }

    #[test]
    fn what_comes_later_waits_behind_what_is_held() {
        let mut bench = Bench::new();
        bench.effect(1, 0);
        bench.effect(2, 100);
        bench.effect(3, 0);
        bench.effect(4, 200);
        assert_eq!(bench.seen(), [1]);
        bench.synced(150);
        assert_eq!(bench.seen(), [2, 3]);
        bench.synced(200);
        assert_eq!(bench.seen(), [4]);
        bench.effect(5, 200);
        assert_eq!(bench.seen(), [5], "it is synced already");
    }

    #[test]
    fn what_a_later_batch_says_waits_for_the_batches_before_it() {
        let mut bench = Bench::new();
        bench.boxes.applied_unsynced(bench.connection, 100);
        bench.boxes.applied_unsynced(bench.connection, 200);
        bench.effect(1, 0);
        assert_eq!(bench.seen(), [0; 0]);
        bench.synced(100);
        assert_eq!(bench.seen(), [0; 0]);
        bench.synced(200);
        assert_eq!(bench.seen(), [1]);
        bench.effect(2, 0);
        assert_eq!(bench.seen(), [2]);
    }

    #[test]
    fn batches_count_as_proposed_until_they_are_synced() {
        let mut bench = Bench::new();
        let most = limits::PROPOSED_BATCHES_MAX as u64;
        for batch in 1..=most {
            bench.boxes.applied_unsynced(bench.connection, batch * 10);
        }
        let proposed = |bench: &mut Bench| {
            let outstanding = bench.boxes.take(bench.connection, &mut Vec::new());
            outstanding.proposed as u64
        };
        assert_eq!(proposed(&mut bench), most);
        bench.synced(20);
        assert_eq!(proposed(&mut bench), most - 2);
        assert_eq!(bench.woken(), 1, "it may read again");
        bench.synced(most * 10);
        assert_eq!(proposed(&mut bench), 0);
        assert_eq!(bench.woken(), 0, "nothing new came of it");
    }

    #[test]
    fn a_closed_connection_holds_nothing() {
        let mut bench = Bench::new();
        bench.effect(1, 100);
        bench.boxes.close(bench.connection);
        bench.synced(100);
        assert_eq!((bench.seen(), bench.woken()), (vec![], 0));
    }
}
