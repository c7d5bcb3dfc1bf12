//! Subscriptions that take turns.
//!
//! The one in front is offered a message and goes to the back. One for which there was nothing
//! rests: it is not offered again until something has changed that may give it a message. So a
//! round that is too long for one entry goes on in the next, and ends.

use std::collections::VecDeque;

use super::encoding::record;
use super::subscription::SubscriptionRef;

/// See the module.
#[derive(Clone, Debug, Default, Hash)]
pub struct Ring {
    /// Those to be offered a message, the next one first.
    active: VecDeque<SubscriptionRef>,
    /// Those that rest.
    resting: VecDeque<SubscriptionRef>,
    /// Whether one rests because a message is larger than its credit: another may take that
    /// message away.
    has_short: bool,
    /// How many are of subscriptions that are no more. Taking one out of the middle would cost a
    /// walk, so they are left until their turn comes or they are half of all.
    gone: u64,
}
record!(Ring {
    active,
    resting,
    has_short,
    gone
});

impl Ring {
    /// A message has come, or come back: all are to be offered it.
    pub fn stir(&mut self) {
        self.active.append(&mut self.resting);
        self.has_short = false;
    }

    /// A message has gone: those are to be offered the next that could not pay for it.
    pub fn stir_short(&mut self) {
        if self.has_short {
            self.stir();
        }
    }

    /// Adds a subscription, or puts one to the back after its turn.
    pub fn put_back(&mut self, subscription: SubscriptionRef) {
        self.active.push_back(subscription);
    }

    /// Takes out the next to be offered a message.
    pub fn take(&mut self) -> Option<SubscriptionRef> {
        self.active.pop_front()
    }

    /// Puts one that was taken to the front: its turn is not over.
    pub fn put_front(&mut self, subscription: SubscriptionRef) {
        self.active.push_front(subscription);
    }

    /// Lets one that was taken rest: there was nothing for it, or nothing that it could pay for.
    pub fn rest(&mut self, subscription: SubscriptionRef, is_short: bool) {
        self.resting.push_back(subscription);
        self.has_short |= is_short;
    }

    /// One that may rest because a message was too large for it has more credit.
    pub fn rouse(&mut self, subscription: SubscriptionRef) {
        if !self.has_short {
            return;
        }
        let found = self.resting.iter().position(|other| *other == subscription);
        if let Some(subscription) = found.and_then(|at| self.resting.remove(at)) {
            self.active.push_back(subscription);
        }
    }

    /// One that was taken was of a subscription that is no more.
    pub fn forget(&mut self) {
        self.gone = self.gone.saturating_sub(1);
    }

    /// A subscription that stands in the ring is no more.
    pub fn remove(&mut self, is_live: impl Fn(SubscriptionRef) -> bool) {
        self.gone += 1;
        let all = self.active.len() + self.resting.len();
        if self.gone * 2 > all as u64 {
            self.active.retain(|id| is_live(*id));
            self.resting.retain(|id| is_live(*id));
            self.gone = 0;
        }
    }
}
