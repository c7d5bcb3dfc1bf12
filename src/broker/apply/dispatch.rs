//! Messages from a queue to those who want them.
//!
//! Subscriptions that have credit stand in a ring; the one in front takes the next message that is
//! for it and goes to the back. One for which there is nothing rests until there may be something.
//! One that lacks credit leaves the ring until it has some; one that lacks its connection's headroom
//! waits in its session until the socket has drained.

use crate::broker::blocks::Blocks;
use crate::broker::connections::Connection;
use crate::broker::core::{Core, Work};
use crate::broker::credit::Room;
use crate::broker::dead::Reason;
use crate::broker::effect::{Delivery, Effect, Out};
use crate::broker::ids::{ConnectionKey, GroupTime, QueueId, QueueRef, SessionId, SubscriptionId};
use crate::broker::kept::Outgoing;
use crate::broker::limits;
use crate::broker::plant::{Plant, is_planted};
use crate::broker::queue::kind::Kind;
use crate::broker::queue::priority::Levels;
use crate::broker::queue::{Entry, EntryState, Queue};
use crate::broker::seen::Identity;
use crate::broker::selected::Selected;
use crate::broker::selector::Selector;
use crate::broker::session::{Session, Unsettled};
use crate::broker::subscription::{Subscription, SubscriptionRef};

/// Whether a selector wants a message, and the steps of work that telling so took: the header is
/// decoded and each identifier looked up in it.
fn select(selector: &Selector, entry: &Entry) -> (bool, u32) {
    let (wanted, steps) = selector.matches_counting(&Selected::of(entry));
    let header = entry.stored.message.header().len();
    let lookups = header / 16 * selector.identifiers().count();
    let octets = header + lookups + selector.text().len() + steps as usize;
    let cost = octets / limits::SELECTED_BYTES_PER_STEP;
    (wanted, u32::try_from(cost).unwrap_or(u32::MAX))
}

/// What came of offering messages to a subscription.
enum Offer {
    /// It got one.
    Delivered,
    /// There is none for it, or, when it is short, the next one is larger than its credit.
    Nothing { is_short: bool },
    /// It cannot take one; it has left its ring.
    Left,
    /// It is no more.
    Gone,
    /// The entry's work is used up.
    NoSteps,
}

/// The first message that may be for a subscription. Err when the entry's work is used up.
#[inline]
fn seek(
    queue: &mut Queue,
    subscription: &mut Subscription,
    steps: &mut u32,
) -> Result<Option<u64>, ()> {
    let follows_hint = subscription.is_acquiring && subscription.selector.is_none();
    match &mut queue.kind {
        Kind::Fifo | Kind::LastValue(_) => {}
        Kind::Priority(levels) => {
            return seek_by_level(levels, &queue.entries, subscription, steps);
        }
        Kind::Groups(groups) if follows_hint => {
            *steps = steps.checked_sub(1).ok_or(())?;
            return Ok(groups.first_for(subscription.reference));
        }
        Kind::Groups(_) => {}
    }
    let from = match (follows_hint, subscription.is_acquiring) {
        (true, _) => queue.hint,
        (false, true) => queue.hint.max(subscription.cursor),
        (false, false) => subscription.cursor,
    };
    let available = |entry: &Entry| entry.state == EntryState::Available;
    let found = queue.entries.find(from, steps, available);
    let place = match found {
        Ok(Some(position)) | Err(position) => position,
        Ok(None) => queue.entries.tail(),
    };
    match follows_hint {
        true => queue.hint = place,
        false => subscription.cursor = place,
    }
    found.map_err(|_| ())
}

/// The same of a queue with priorities. A consumer gets what has the highest level, or the level whose
/// turn it is; a browser goes through the levels from the highest to the lowest.
fn seek_by_level(
    levels: &mut Levels,
    entries: &Blocks<Entry>,
    subscription: &mut Subscription,
    steps: &mut u32,
) -> Result<Option<u64>, ()> {
    let count = levels.count();
    let follows_hint = subscription.is_acquiring && subscription.selector.is_none();
    subscription.level_cursors.resize(count, 0);
    let by_turns = subscription.is_acquiring.then(|| levels.order());
    let by_rank = (!subscription.is_acquiring).then(|| (0..count).rev());
    let order = by_turns
        .into_iter()
        .flatten()
        .chain(by_rank.into_iter().flatten());
    for level in order {
        if levels.available(level) == 0 {
            continue;
        }
        let cursor = &mut subscription.level_cursors[level];
        let from = match follows_hint {
            true => levels.hint(level),
            false => levels.hint(level).max(*cursor),
        };
        let is_available = |position| {
            let entry = entries.get(position);
            entry.is_some_and(|entry| entry.state == EntryState::Available)
        };
        let found = levels.find(level, from, steps, is_available);
        let place = match found {
            Ok(Some(position)) | Err(position) => position,
            Ok(None) => levels.tail(level),
        };
        match follows_hint {
            true => levels.set_hint(level, place),
            false => *cursor = place,
        }
        match found {
            Ok(Some(position)) => return Ok(Some(position)),
            Ok(None) => {}
            Err(_) => return Err(()),
        }
    }
    Ok(None)
}

/// A subscription that goes by a cursor is done with a message.
#[inline]
fn pass(queue: &Queue, subscription: &mut Subscription, position: u64) {
    let cursor = match (&queue.kind, queue.entries.get(position)) {
        (Kind::Priority(levels), Some(entry)) => {
            let level = levels.level_of(entry.stored.message.priority);
            subscription.level_cursors.get_mut(level)
        }
        _ => None,
    };
    *cursor.unwrap_or(&mut subscription.cursor) = position + 1;
}

/// What a delivery leaves in its session.
struct Noted {
    queue: QueueRef,
    position: u64,
    room: Room,
    is_acquired: bool,
    redelivered: bool,
    sync: bool,
}

/// Notes a delivery as long as something can come of it: until it is settled, and until its client has
/// it where it may have to be sent again. A session that keeps very many is asked what it has.
#[inline]
fn note(session: &mut Session, subscription: &Subscription, noted: Noted, out: &mut Out) {
    let Noted {
        queue,
        position,
        room,
        is_acquired,
        redelivered,
        sync,
    } = noted;
    let is_kept = session.kept.is_some();
    let awaits_completion = room.is_some() || !subscription.is_acquiring || is_kept;
    if is_acquired || awaits_completion {
        let unsettled = Unsettled {
            queue,
            position,
            subscription: subscription.reference,
            room,
            is_acquired,
            is_in_transaction: false,
            is_implicit: !subscription.is_explicit,
            awaits_completion,
        };
        session.unsettled.push_at(session.outgoing_next, unsettled);
    }
    if !is_kept {
        return;
    }
    let tag = subscription.tag.clone();
    session.note_outgoing(|| Outgoing::Delivery {
        tag,
        queue,
        position,
        redelivered,
        sync,
    });
    if session.kept.as_ref().is_some_and(|kept| kept.is_full()) {
        let (channel, is_resumed) = (session.channel, false);
        let ask = Effect::Flush {
            channel,
            is_resumed,
        };
        out.effects.push((session.connection, ask));
    }
}

impl Core {
    /// Delivers what can be delivered of a queue, as far as the entry's work goes.
    pub(super) fn dispatch(&mut self, id: QueueId, out: &mut Out) {
        let done = self.dispatch_acquiring(id, out) && self.dispatch_browsing(id, out);
        let Some(queue) = self.queues.get_mut(id.0) else {
            return;
        };
        if done {
            if !queue.flushing.is_empty() {
                self.finish_flushes(id);
            }
        } else if !queue.is_dispatch_pending {
            queue.is_dispatch_pending = true;
            let reference = queue.reference;
            self.work.push_back(Work::Dispatch(reference));
        }
    }

    /// A group of messages is nobody's any more, if one is: who has passed its messages looks again. Before
    /// anybody is offered one, since a command may free a group and bring more of it.
    #[inline]
    fn look_at_opened(&mut self, id: QueueId) {
        let Some(queue) = self.queues.get_mut(id.0) else {
            return;
        };
        let Some(first) = queue.kind.take_opened() else {
            return;
        };
        queue.ready.stir();
        for id in &queue.selecting {
            if let Some(subscription) = self.subscriptions.get_mut(id.0) {
                subscription.look_again_from(first);
            }
        }
    }

    fn dispatch_acquiring(&mut self, id: QueueId, out: &mut Out) -> bool {
        self.look_at_opened(id);
        while let Some(queue) = self.queues.get_mut(id.0)
            && queue.available > 0
            && let Some(front) = queue.ready.take()
        {
            let offer = self.offer(id, front, out);
            let ring = &mut self.queue_mut(id).ready;
            match offer {
                Offer::Delivered => ring.put_back(front),
                Offer::Nothing { is_short } => ring.rest(front, is_short),
                Offer::Left => {}
                Offer::Gone => ring.forget(),
                Offer::NoSteps => {
                    ring.put_front(front);
                    return false;
                }
            }
        }
        true
    }

    /// One browser gets all that there is for it before the next.
    fn dispatch_browsing(&mut self, id: QueueId, out: &mut Out) -> bool {
        while let Some(queue) = self.queues.get_mut(id.0)
            && let Some(front) = queue.browsers.take()
        {
            let offer = self.offer(id, front, out);
            let ring = &mut self.queue_mut(id).browsers;
            match offer {
                Offer::Delivered => ring.put_front(front),
                Offer::Nothing { is_short } => ring.rest(front, is_short),
                Offer::Left => {}
                Offer::Gone => ring.forget(),
                Offer::NoSteps => {
                    ring.put_front(front);
                    return false;
                }
            }
        }
        true
    }

    /// Offers a subscription the next message for it. Each offer costs a step at least.
    fn offer(&mut self, queue: QueueId, reference: SubscriptionRef, out: &mut Out) -> Offer {
        let before = self.scratch.steps;
        if before == 0 {
            return Offer::NoSteps;
        }
        let offer = self.offer_next(queue, reference, out);
        if self.scratch.steps == before {
            self.scratch.steps -= 1;
        }
        offer
    }

    fn offer_next(&mut self, queue: QueueId, reference: SubscriptionRef, out: &mut Out) -> Offer {
        let id = reference.id;
        let found = self.subscriptions.get_mut(id.0);
        let Some(subscription) = found.filter(|found| found.reference == reference) else {
            return Offer::Gone;
        };
        if !subscription.credit.is_some() {
            subscription.is_ready = false;
            return Offer::Left;
        }
        let session_id = subscription.session;
        let session = self.session(session_id);
        let has_headroom = self
            .connections
            .get(session.connection_id)
            .is_some_and(Connection::has_headroom);
        if !has_headroom || session.is_choked() {
            self.session_mut(session_id).starved.push(id);
            if let Some(subscription) = self.subscriptions.get_mut(id.0) {
                (subscription.is_ready, subscription.is_starved) = (false, true);
            }
            return Offer::Left;
        }
        match self.next_for(queue, id) {
            Err(()) => Offer::NoSteps,
            Ok(None) => Offer::Nothing { is_short: false },
            Ok(Some(position)) => self.deliver(queue, id, position, out),
        }
    }

    /// The position of the next message for a subscription. Messages whose time has run out are
    /// dropped on the way. Err when the entry's work is used up.
    fn next_for(&mut self, queue: QueueId, id: SubscriptionId) -> Result<Option<u64>, ()> {
        let now = self.time;
        loop {
            let Some(subscription) = self.subscriptions.get_mut(id.0) else {
                return Ok(None);
            };
            let Some(queue) = self.queues.get_mut(queue.0) else {
                return Ok(None);
            };
            let Some(position) = seek(queue, subscription, &mut self.scratch.steps)? else {
                return Ok(None);
            };
            let Some(entry) = queue.entries.get(position) else {
                continue;
            };
            if entry.expires <= now {
                let reference = queue.reference;
                self.die(reference, position, Reason::Expired);
                continue;
            }
            let wanted = match &subscription.selector {
                None => true,
                Some(_)
                    if subscription.is_acquiring
                        && !queue.kind.is_open(position, subscription.reference) =>
                {
                    false
                }
                Some(selector) => {
                    let (wanted, cost) = select(selector, entry);
                    self.scratch.steps = self.scratch.steps.saturating_sub(cost);
                    wanted
                }
            };
            if wanted {
                return Ok(Some(position));
            }
            pass(queue, subscription, position);
        }
    }

    fn deliver(
        &mut self,
        queue_id: QueueId,
        id: SubscriptionId,
        position: u64,
        out: &mut Out,
    ) -> Offer {
        let now = self.time;
        let queue = self.queues.get_mut(queue_id.0).expect("the queue offers");
        let subscription = self.subscriptions.get_mut(id.0).expect("it was offered to");
        let session = self
            .sessions
            .get_mut(subscription.session.0)
            .expect("it subscribes");
        let entry = queue.entries.get(position).expect("it was found there");
        let bytes = entry.stored.message.size();
        if !subscription.credit.allows(bytes) {
            return Offer::Nothing { is_short: true };
        }
        let ttl = (entry.expires != GroupTime::NEVER).then(|| (entry.expires.0 - now.0).max(1));
        let redelivered = entry.redelivered;
        let message = queue.delivered(position, entry);
        let identity = match subscription.wants_identity {
            true => Identity::to_add(&entry.stored, self.agents.run),
            false => None,
        };
        if subscription.is_acquiring {
            queue.kind.taken(entry.stored.message.priority);
        }
        // One that may have to be sent again stays until its client has it.
        let waits = subscription.is_explicit || session.kept.is_some();
        let is_acquired = subscription.is_acquiring && waits;
        if is_acquired {
            queue.acquire(position, subscription.reference);
        } else if subscription.is_acquiring {
            queue.counters.acquires += 1;
            queue.dequeue(position, &mut self.held, &mut self.scratch.facts);
        } else {
            pass(queue, subscription, position);
        }
        let room = subscription.credit.spend(bytes);
        subscription.delivered += 1;
        let every = u64::from(subscription.sync_frequency);
        let sync = every > 0 && subscription.delivered.is_multiple_of(every);
        let noted = Noted {
            queue: queue.reference,
            position,
            room,
            is_acquired,
            redelivered,
            sync,
        };
        note(session, subscription, noted, out);
        let (channel, key) = (session.channel, session.connection);
        let (id, subscription) = (session.take_outgoing(), subscription.tag.clone());
        if let Some(connection) = self.connections.get_mut(session.connection_id)
            && !is_planted(Plant::HeadroomUnspent)
        {
            connection.spend(bytes);
        }
        out.rests_on_facts |= queue.is_durable && (message.is_persistent || queue.keeps_positions);
        let delivery = Delivery {
            channel,
            id,
            subscription,
            message,
            redelivered,
            ttl,
            identity,
            sync,
        };
        out.effects.push((key, Effect::Deliver(delivery)));
        Offer::Delivered
    }

    /// Puts a subscription that has credit into its queue's ring; one that rests there because a
    /// message was too large for it is to be offered that again.
    pub(super) fn wake(&mut self, id: SubscriptionId) {
        let Some(subscription) = self.subscriptions.get_mut(id.0) else {
            return;
        };
        if subscription.is_starved || !subscription.credit.is_some() {
            return;
        }
        let Some(queue) = self.queues.get_mut(subscription.queue.0) else {
            self.scratch.orphans.push(subscription.reference);
            return;
        };
        let was_ready = std::mem::replace(&mut subscription.is_ready, true);
        let (reference, is_acquiring) = (subscription.reference, subscription.is_acquiring);
        let ring = match is_acquiring {
            true => &mut queue.ready,
            false => &mut queue.browsers,
        };
        match was_ready {
            true => ring.rouse(reference),
            false => ring.put_back(reference),
        }
    }

    /// Wakes the subscriptions of a session that waited, and delivers to them.
    pub(super) fn wake_starved(&mut self, id: SessionId, out: &mut Out) {
        let Some(session) = self.sessions.get_mut(id.0) else {
            return;
        };
        let starved = std::mem::take(&mut session.starved);
        let mut queues = std::collections::BTreeSet::new();
        for subscription in starved {
            if let Some(found) = self.subscriptions.get_mut(subscription.0)
                && std::mem::take(&mut found.is_starved)
            {
                queues.insert(found.queue);
                self.wake(subscription);
            }
        }
        for queue in queues {
            self.dispatch(queue, out);
        }
    }

    /// The member can take more of a connection: `more` says it.
    pub(in crate::broker) fn headroom(
        &mut self,
        key: ConnectionKey,
        more: impl FnOnce(&mut Connection),
        out: &mut Out,
    ) {
        let found = self.connections.id(key);
        let Some(connection) = found.and_then(|id| self.connections.get_mut(id)) else {
            return;
        };
        more(connection);
        for session in connection.channels.values().copied().collect::<Vec<_>>() {
            if self.session(session).kept.is_some() {
                self.replay(session, out);
            }
            let found = self.sessions.get(session.0);
            if found.is_some_and(|session| !session.starved.is_empty()) {
                self.wake_starved(session, out);
            }
        }
    }
}
