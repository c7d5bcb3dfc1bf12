//! What waits for a member's connections: effects in order, and how much they have proposed.

use std::collections::BTreeMap;
use std::task::Waker;

use super::{Outstanding, limits};
use crate::broker::ids::{ConnectionKey, ConnectionNumber, MemberId};
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
    waker: Waker,
    proposed: usize,
}

/// The outboxes of one member, by connection. They are bounded by construction: a delivery needs
/// headroom, and everything else answers a command of a batch that was counted in `proposed`.
#[derive(Debug, Default)]
pub struct Outboxes {
    boxes: BTreeMap<ConnectionNumber, Outbox>,
    opened: u32,
}

impl Outboxes {
    /// Makes an outbox and gives its number: 1, 2, 3 and so on, never used twice.
    ///
    /// # Panics
    /// After 2^32 connections: with numbers used twice, late commands would reach the wrong one.
    pub fn open(&mut self, waker: Waker) -> ConnectionNumber {
        self.opened = self
            .opened
            .checked_add(1)
            .expect("a member starts anew before it has had 2^32 connections");
        let number = ConnectionNumber(self.opened);
        let outbox = Outbox {
            effects: Vec::new(),
            waker,
            proposed: 0,
        };
        self.boxes.insert(number, outbox);
        number
    }

    /// Whether a connection has an outbox.
    pub fn is_open(&self, connection: ConnectionNumber) -> bool {
        self.boxes.contains_key(&connection)
    }

    /// Gives up an outbox with what is in it.
    pub fn close(&mut self, connection: ConnectionNumber) {
        self.boxes.remove(&connection);
    }

    /// Gives up all outboxes; numbers go on.
    pub fn close_all(&mut self) {
        self.boxes.clear();
    }

    /// Swaps what is in an outbox into `effects`, which is empty. The buffers go back and forth, so
    /// that none is allocated for each batch; one that has grown far is let go.
    pub fn take(&mut self, connection: ConnectionNumber, effects: &mut Vec<Effect>) -> Outstanding {
        debug_assert!(effects.is_empty(), "what is left there would be told late");
        let Some(outbox) = self.boxes.get_mut(&connection) else {
            return Outstanding::default();
        };
        if outbox.effects.is_empty() {
            return Outstanding {
                proposed: outbox.proposed,
            };
        }
        if effects.capacity() > limits::OUTBOX_KEPT_EFFECTS {
            *effects = Vec::new();
        }
        std::mem::swap(&mut outbox.effects, effects);
        Outstanding {
            proposed: outbox.proposed,
        }
    }

    /// Empties `out` into the outboxes of `member`'s connections. Effects for other members, or for
    /// connections that are closed, are dropped: they are told elsewhere, or nobody is left to be
    /// told.
    pub fn distribute(&mut self, member: MemberId, out: &mut Out, woken: &mut Woken) {
        let mut effects = out.effects.drain(..).peekable();
        while let Some((key, effect)) = effects.next() {
            // Effects of one batch are mostly for one connection: it is looked up once for a run.
            let outbox = match key.member == member {
                true => self.boxes.get_mut(&key.number),
                false => None,
            };
            let Some(outbox) = outbox else { continue };
            if outbox.effects.is_empty() {
                woken.push(outbox.waker.clone());
            }
            outbox.effects.push(effect);
            let is_same = |(next, _): &(ConnectionKey, Effect)| *next == key;
            while let Some((_, effect)) = effects.next_if(is_same) {
                outbox.effects.push(effect);
            }
        }
    }

    /// A batch of the connection is on its way.
    pub fn proposed(&mut self, connection: ConnectionNumber) {
        if let Some(outbox) = self.boxes.get_mut(&connection) {
            outbox.proposed += 1;
        }
    }

    /// A batch of the connection has been applied.
    pub fn applied(&mut self, connection: ConnectionNumber, woken: &mut Woken) {
        if let Some(outbox) = self.boxes.get_mut(&connection) {
            outbox.proposed = outbox.proposed.saturating_sub(1);
            if outbox.proposed + 1 == limits::PROPOSED_BATCHES_MAX {
                woken.push(outbox.waker.clone());
            }
        }
    }

    /// Wakes every connection: something has happened that each has to look at.
    pub fn wake_all(&self, woken: &mut Woken) {
        for outbox in self.boxes.values() {
            woken.push(outbox.waker.clone());
        }
    }
}
