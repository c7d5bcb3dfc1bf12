//! Work that is too much for one entry goes on in the next.

use super::message::Returned;
use crate::broker::core::{Core, Work};
use crate::broker::dead::Reason;
use crate::broker::effect::Out;
use crate::broker::ids::{QueueRef, SessionId};
use crate::broker::plant::{Plant, is_planted};
use crate::broker::queue::{Entry, EntryState, Remains};
use crate::broker::replication::{Change, What, is_event};
use crate::wire::Text;

impl Core {
    /// Does what is left, in the order in which it arose, as far as the entry's work goes. What is
    /// not done stays in front. Work that arises from work waits for its turn here: one that called
    /// the other would nest as deep as a peer likes.
    pub(in crate::broker) fn run_work(&mut self, out: &mut Out) {
        if std::mem::replace(&mut self.scratch.is_working, true) {
            return;
        }
        self.work_on(out);
        self.scratch.is_working = false;
    }

    fn work_on(&mut self, out: &mut Out) {
        while self.scratch.steps > 0 {
            let Some(work) = self.work.pop_front() else {
                return;
            };
            let unfinished = match work {
                Work::Dispatch(queue) => {
                    self.dispatch_again(queue, out);
                    None
                }
                Work::EndSession(session) => self.give_back(session, out),
                Work::Reroute(remains) => self.reroute_remains(remains, out),
                Work::Expire(queue, position) => self.expire(queue, position, out),
                Work::Evict(queue) => self.evict_rest(queue),
                Work::Replay(session) => {
                    self.replay_queued(session, out);
                    None
                }
                Work::Depart(queue) => {
                    self.scratch.steps -= 1;
                    self.depart(queue, out);
                    None
                }
                Work::GiveBack(accepted) => self.give_back_accepted(accepted, out),
                Work::Take(taking) => self.take_on(taking, out),
            };
            if let Some(work) = unfinished {
                self.work.push_front(work);
                return;
            }
        }
    }

    fn dispatch_again(&mut self, reference: QueueRef, out: &mut Out) {
        if let Some(queue) = self.live_queue(reference) {
            queue.is_dispatch_pending = false;
            self.dispatch(reference.id, out);
        }
    }

    /// Gives the messages of an ended session back, flagged.
    fn give_back(&mut self, id: SessionId, out: &mut Out) -> Option<Work> {
        let mut back = Returned::new();
        let mut is_done = false;
        while self.scratch.steps > 0 {
            self.scratch.steps -= 1;
            let Some((_, unsettled)) = self.sessions.get_mut(id.0)?.unsettled.pop() else {
                is_done = true;
                break;
            };
            if unsettled.is_acquired && unsettled.is_implicit {
                // It counted as accepted when it was sent.
                self.dequeue(unsettled.queue, unsettled.position);
            } else if unsettled.is_acquired {
                let is_flagged = !is_planted(Plant::GivenBackUnflagged);
                self.put_back(&unsettled, is_flagged, &mut back);
            }
        }
        if is_done {
            self.finish_session(id, out);
        }
        self.dispatch_returned(back, out);
        (!is_done).then_some(Work::EndSession(id))
    }

    /// Lets messages that have left their queue go to its alternate exchange, which stays in use
    /// until they have.
    pub(in crate::broker) fn reroute_later(&mut self, remains: Remains) {
        if let Some(exchange) = remains.alternate {
            self.exchange_mut(exchange).alternate_users += 1;
        }
        self.work.push_back(Work::Reroute(Box::new(remains)));
    }

    fn reroute_remains(&mut self, mut remains: Box<Remains>, out: &mut Out) -> Option<Work> {
        while let Some((position, entry)) = remains.entries.pop() {
            if let Some(queue) = remains.queue
                && entry.stored.message.is_persistent
            {
                self.leave_for_good(queue, position);
            }
            if let Some(name) = &remains.told_of {
                self.say_gone_with_queue(name, position, &entry);
            }
            if let Some(exchange) = remains.alternate {
                match &remains.death {
                    None => self.reroute(exchange, &entry, &[], out),
                    Some(death) => self.reroute_dead(exchange, &entry, death, out),
                }
            }
            self.held.leave(&entry.stored.message);
            self.scratch.steps = self.scratch.steps.saturating_sub(1);
            if self.scratch.steps == 0 && !remains.entries.is_empty() {
                return Some(Work::Reroute(remains));
            }
        }
        if let Some(exchange) = remains.alternate {
            self.exchange_mut(exchange).alternate_users -= 1;
        }
        None
    }

    /// A message is gone with its queue, which gave events of what left it.
    fn say_gone_with_queue(&mut self, name: &Text, position: u64, entry: &Entry) {
        let message = &entry.stored.message;
        if !is_event(message) {
            self.scratch.facts.changed(Change {
                name: name.clone(),
                position,
                what: What::Left {
                    is_fact: message.is_persistent,
                },
            });
        }
    }

    /// A message that facts name at a place that it has left goes on now: in the same batch they name
    /// its new places.
    fn leave_for_good(&mut self, queue: QueueRef, position: u64) {
        if !is_planted(Plant::RerouteForgetsPlace) {
            self.scratch.facts.dequeued(queue, position);
        }
        if let Some(queue) = self.live_queue(queue) {
            queue.rejecting -= 1;
        }
    }

    /// Lets messages die whose time has run out and that nobody has acquired. What stands behind one
    /// may be for somebody for whom that one was too large. What they leave behind comes before the
    /// search goes on: else all of a deep queue would wait at once.
    fn expire(&mut self, reference: QueueRef, position: u64, out: &mut Out) -> Option<Work> {
        let now = self.time;
        let mut steps = self.scratch.steps;
        let mut next = position;
        let mut has_died = false;
        let place = loop {
            let queue = self.live_queue(reference)?;
            let over = |entry: &Entry| entry.state == EntryState::Available && entry.expires <= now;
            match queue.entries.find(next, &mut steps, over) {
                Ok(Some(found)) => {
                    has_died |= self.die(reference, found, Reason::Expired);
                    next = found + 1;
                }
                Ok(None) => break None,
                Err(place) => break Some(place),
            }
        };
        self.scratch.steps = steps;
        if has_died {
            self.dispatch(reference.id, out);
        }
        let left = Work::Expire(reference, place?);
        match has_died {
            true => self.work.push_back(left),
            false => return Some(left),
        }
        None
    }
}
