//! A subscription as its client knows it: how much it may be sent, and in which order.

use std::collections::BTreeMap;

use super::ledger::Key;

/// Credit in one unit, as an upper bound of what the broker may still know of.
#[derive(Clone, Debug, Default)]
struct Unit {
    /// All that was ever granted or given back since the last stop that is known to be done.
    granted: u64,
    is_infinite: bool,
    used: u64,
    /// What was granted when: place in the order of what the client sent.
    grants: Vec<(u64, u64, bool)>,
}

impl Unit {
    fn grant(&mut self, place: u64, amount: u64, is_infinite: bool) {
        self.granted += amount;
        self.is_infinite |= is_infinite;
        self.grants.push((place, amount, is_infinite));
    }

    /// What was granted before `place` is void, and what was used is used.
    fn stopped(&mut self, place: u64) {
        self.grants.retain(|(at, ..)| *at > place);
        let later: u64 = self.grants.iter().map(|(_, amount, _)| *amount).sum();
        self.granted = self.used + later;
        self.is_infinite = self.grants.iter().any(|(_, _, is_infinite)| *is_infinite);
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
    /// Whether it was ever set to window mode, in which completions give credit back.
    pub is_window: bool,
    messages: Unit,
    bytes: Unit,
    /// By publisher: the last message that had not been delivered before.
    last: BTreeMap<u64, u64>,
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
            messages: Unit::default(),
            bytes: Unit::default(),
            last: BTreeMap::new(),
            browsed: BTreeMap::new(),
        }
    }

    /// The client has granted credit.
    pub fn flow(&mut self, place: u64, messages: Option<u32>, bytes: Option<u32>) {
        let mut grant = |unit: fn(&mut Self) -> &mut Unit, value: Option<u32>| match value {
            None => {}
            Some(u32::MAX) => unit(self).grant(place, 0, true),
            Some(value) => unit(self).grant(place, u64::from(value), false),
        };
        grant(|me| &mut me.messages, messages);
        grant(|me| &mut me.bytes, bytes);
    }

    /// The client has said that it received a delivery.
    pub fn completed(&mut self, place: u64, bytes: u64) {
        if self.is_window {
            self.messages.grant(place, 1, false);
            self.bytes.grant(place, bytes, false);
        }
    }

    /// A stop or flush is done, that the client sent at `place`.
    pub fn stopped(&mut self, place: u64) {
        self.messages.stopped(place);
        self.bytes.stopped(place);
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

    /// A message came that nobody has been sent before: those of one publisher come in order.
    pub fn in_order(&mut self, publisher: (u64, u64)) -> Result<(), String> {
        let (who, place) = publisher;
        let last = self.last.insert(who, place);
        match last.is_some_and(|last| last >= place) {
            true => Err(format!("out of order: {place} of {who} after {last:?}")),
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
