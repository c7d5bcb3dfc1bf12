//! How much may be published, and when it is enough.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};

use tokio::sync::Notify;

/// What a producer may publish now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Grant {
    /// So many, which are counted as published.
    Messages(u64),
    /// None before some are consumed: wait with [`Flight::room`].
    Full,
    /// None any more.
    Over,
}

/// Counts messages published and delivered, over all lanes. Without it a faster producer would
/// measure how a queue grows.
#[derive(Debug)]
pub(super) struct Flight {
    published: AtomicU64,
    delivered: AtomicU64,
    /// Deliveries of each message.
    copies: u64,
    /// Messages published and not delivered; `None` when a schedule decides.
    in_flight_max: Option<u64>,
    /// Messages in all.
    messages: u64,
    over: AtomicBool,
    /// A producer waits for room.
    waiting: AtomicBool,
    room: Notify,
}

impl Flight {
    pub(super) fn new(copies: u64, in_flight_max: Option<u64>, messages: Option<u64>) -> Flight {
        Flight {
            published: AtomicU64::new(0),
            delivered: AtomicU64::new(0),
            copies,
            in_flight_max,
            messages: messages.unwrap_or(u64::MAX),
            over: AtomicBool::new(false),
            waiting: AtomicBool::new(false),
            room: Notify::new(),
        }
    }

    /// Messages published.
    pub(super) fn published(&self) -> u64 {
        self.published.load(SeqCst)
    }

    /// Deliveries received.
    pub(super) fn delivered(&self) -> u64 {
        self.delivered.load(SeqCst)
    }

    /// Everything that was published has been delivered.
    pub(super) fn is_drained(&self) -> bool {
        self.delivered() >= self.published() * self.copies
    }

    /// All messages are published, if their number was given.
    pub(super) fn is_complete(&self) -> bool {
        self.published() >= self.messages
    }

    /// Asks to publish up to `wanted` messages. Small grants are held back until there is room
    /// for a good part of the flight, since a write costs the same for one message as for many.
    pub(super) fn reserve(&self, wanted: u64) -> Grant {
        loop {
            if self.over.load(SeqCst) {
                return Grant::Over;
            }
            let published = self.published();
            let left = self.messages.saturating_sub(published);
            if left == 0 {
                return Grant::Over;
            }
            let mut granted = wanted.min(left);
            if let Some(most) = self.in_flight_max {
                let flying = published.saturating_sub(self.delivered() / self.copies);
                let room = most.saturating_sub(flying);
                if room < granted.min((most / 4).max(1)) {
                    return Grant::Full;
                }
                granted = granted.min(room);
            }
            let next = published + granted;
            if self
                .published
                .compare_exchange(published, next, SeqCst, SeqCst)
                .is_ok()
            {
                return Grant::Messages(granted);
            }
        }
    }

    /// Waits until `reserve` may say something else than `Full`.
    pub(super) async fn room(&self) {
        let mut notified = std::pin::pin!(self.room.notified());
        notified.as_mut().enable();
        self.waiting.store(true, SeqCst);
        // What was delivered since the caller asked is seen here; what comes later notifies.
        if !self.has_room() && !self.over.load(SeqCst) {
            notified.await;
        }
    }

    /// Waits until nothing is published any more.
    pub(super) async fn over(&self) {
        let mut notified = std::pin::pin!(self.room.notified());
        loop {
            notified.as_mut().enable();
            if self.over.load(SeqCst) {
                return;
            }
            notified.as_mut().await;
            notified.set(self.room.notified());
        }
    }

    fn has_room(&self) -> bool {
        let flying = self
            .published()
            .saturating_sub(self.delivered() / self.copies);
        self.in_flight_max.is_none_or(|most| flying <= most / 2)
    }

    /// Deliveries have been received.
    pub(super) fn arrived(&self, deliveries: u64) {
        self.delivered.fetch_add(deliveries, SeqCst);
        if self.waiting.load(SeqCst) && self.has_room() {
            self.waiting.store(false, SeqCst);
            self.room.notify_waiters();
        }
    }

    /// Nothing is published any more.
    pub(super) fn finish(&self) {
        self.over.store(true, SeqCst);
        self.room.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_flight_grants_again_when_a_quarter_is_free() {
        let flight = Flight::new(1, Some(100), None);
        assert_eq!(flight.reserve(500), Grant::Messages(100));
        flight.arrived(24);
        assert_eq!(flight.reserve(500), Grant::Full);
        flight.arrived(1);
        assert_eq!(flight.reserve(500), Grant::Messages(25));
    }

    #[test]
    fn a_message_is_in_flight_until_its_last_copy_arrives() {
        let flight = Flight::new(3, Some(4), None);
        assert_eq!(flight.reserve(4), Grant::Messages(4));
        flight.arrived(2);
        assert_eq!(flight.reserve(1), Grant::Full);
        flight.arrived(1);
        assert_eq!(flight.reserve(1), Grant::Messages(1));
        flight.arrived(12);
        assert!(flight.is_drained());
    }

    #[test]
    fn no_more_than_the_given_number_is_published() {
        let flight = Flight::new(1, None, Some(10));
        assert_eq!(flight.reserve(7), Grant::Messages(7));
        assert_eq!(flight.reserve(7), Grant::Messages(3));
        assert_eq!(flight.reserve(7), Grant::Over);
        assert!(flight.is_complete() && !flight.is_drained());
    }

    #[test]
    fn nothing_is_granted_after_the_end() {
        let flight = Flight::new(1, None, None);
        flight.finish();
        assert_eq!(flight.reserve(1), Grant::Over);
    }
}
