//! A subscription as its client knows it: how much it may be sent, and in which order.

use std::collections::BTreeMap;

use super::ledger::Key;

/// What was granted.
#[derive(Clone, Copy, Debug)]
struct Grant {
    /// The place in the order of what the client sent.
    place: u64,
    amount: u64,
    is_infinite: bool,
    /// The mode it was granted in. As in qpidd each mode has credit of its own.
    is_window: bool,
}

/// Credit in one unit, as an upper bound of what the broker may still know of.
#[derive(Clone, Debug, Default)]
struct Unit {
    granted: u64,
    is_infinite: bool,
    used: u64,
    /// All that no stop has made void.
    grants: Vec<Grant>,
}

impl Unit {
    fn grant(&mut self, grant: Grant) {
        self.granted += grant.amount;
        self.is_infinite |= grant.is_infinite;
        self.grants.push(grant);
    }

    /// What was granted in a mode before `place` is void, and what was used is used. What was
    /// granted in the other mode may have been used or not: it counts once more.
    fn stopped(&mut self, place: u64, is_window: bool) {
        self.grants
            .retain(|grant| grant.place > place || grant.is_window != is_window);
        let left: u64 = self.grants.iter().map(|grant| grant.amount).sum();
        self.granted = self.used + left;
        self.is_infinite = self.grants.iter().any(|grant| grant.is_infinite);
    }

    fn is_exceeded(&self) -> bool {
        !self.is_infinite && self.used > self.granted
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Subscription {
    /// The queue.
    pub queue: String,
    /// Whether it takes messages.
    pub is_acquiring: bool,
    /// Whether it must accept them.
    pub is_explicit: bool,
    /// Whether it wants red ones only.
    pub is_red: bool,
    /// Whether its client has asked for its end.
    pub is_leaving: bool,
    /// Whether it is cancelled for certain.
    pub is_cancelled: bool,
    /// Whether it is set to window mode, after all that its client has sent.
    pub is_window: bool,
    /// Where its client last changed the mode.
    pub mode_place: u64,
    messages: Unit,
    bytes: Unit,
    /// By publisher and lane: the last message that had not been delivered before.
    last: BTreeMap<(u64, u64), u64>,
    /// What was browsed.
    browsed: BTreeMap<Key, ()>,
}

impl Subscription {
    /// One that was just asked for; window mode is the default.
    pub fn new(queue: &str, is_acquiring: bool, is_explicit: bool, is_red: bool) -> Subscription {
        Subscription {
            queue: queue.to_owned(),
            is_acquiring,
            is_explicit,
            is_red,
            is_leaving: false,
            is_cancelled: false,
            is_window: true,
            mode_place: 0,
            messages: Unit::default(),
            bytes: Unit::default(),
            last: BTreeMap::new(),
            browsed: BTreeMap::new(),
        }
    }

    /// The client has granted credit.
    pub fn flow(&mut self, place: u64, messages: Option<u32>, bytes: Option<u32>) {
        let is_window = self.is_window;
        let grant = |value: u32| Grant {
            place,
            amount: if value == u32::MAX {
                0
            } else {
                u64::from(value)
            },
            is_infinite: value == u32::MAX,
            is_window,
        };
        if let Some(value) = messages {
            self.messages.grant(grant(value));
        }
        if let Some(value) = bytes {
            self.bytes.grant(grant(value));
        }
    }

    /// The client has said that it received a delivery.
    pub fn completed(&mut self, place: u64, bytes: u64) {
        let grant = |amount| Grant {
            place,
            amount,
            is_infinite: false,
            is_window: true,
        };
        self.messages.grant(grant(1));
        self.bytes.grant(grant(bytes));
    }

    /// A stop or flush is done, that the client sent at `place` in a mode. A flush may have gone on
    /// until after a change of the mode: then it cannot be told what it stopped.
    pub fn stopped(&mut self, place: u64, is_window: bool) {
        if self.mode_place >= place {
            return;
        }
        self.messages.stopped(place, is_window);
        self.bytes.stopped(place, is_window);
    }

    /// A message was delivered.
    pub fn delivered(&mut self, bytes: u64) -> Result<(), String> {
        self.messages.used += 1;
        self.bytes.used += bytes;
        if self.is_cancelled {
            return Err("was cancelled and goes on".to_owned());
        }
        if self.messages.is_exceeded() || self.bytes.is_exceeded() {
            let (messages, bytes) = (&self.messages, &self.bytes);
            return Err(format!("has no credit: {messages:?}, {bytes:?}"));
        }
        Ok(())
    }

    /// A message came that nobody has been sent before: those of one publisher and lane come in order.
    pub fn in_order(&mut self, publisher: (u64, u64), place: u64) -> Result<(), String> {
        let last = self.last.insert(publisher, place);
        match last.is_some_and(|last| last >= place) {
            true => {
                let (who, lane) = publisher;
                Err(format!(
                    "out of order: {place} of {who} in lane {lane} after {last:?}"
                ))
            }
            false => Ok(()),
        }
    }

    /// A browser was shown a message: each once.
    pub fn browsed(&mut self, key: Key) -> Result<(), String> {
        match self.browsed.insert(key.clone(), ()) {
            Some(()) => Err(format!("was shown {key:?} twice")),
            None => Ok(()),
        }
    }
}
