//! All messages of a queue that nobody holds, taken away at once.

use super::kind::Kind;
use super::{Entry, EntryState, Queue};
use crate::broker::blocks::Blocks;
use crate::broker::facts::Gathered;
use crate::broker::held::Held;
use crate::broker::ids::GroupTime;
use crate::broker::plant::{Plant, is_planted};

impl Queue {
    /// Takes all available messages away; acquired ones stay. Gives them, so that what becomes of
    /// them, and the freeing of them, can be spread over entries: until then they count as held. What
    /// stays is given, too.
    pub fn purge(&mut self, held: &mut Held, facts: &mut Gathered) -> Blocks<Entry> {
        let stays: Vec<(u64, Entry)> = match self.available == self.entries.len() {
            true => Vec::new(),
            false => {
                let acquired = |entry: &Entry| entry.state == EntryState::Acquired;
                let all = self.entries.iter().filter(|(_, entry)| acquired(entry));
                all.map(|(position, entry)| (position, entry.clone()))
                    .collect()
            }
        };
        let tail = self.entries.tail();
        let mut kept = Blocks::starting_at(0);
        let (mut bytes, mut expiring, mut persistent, mut persistent_bytes) = (0, 0, 0, 0);
        let places: Vec<u64> = stays.iter().map(|(position, _)| *position).collect();
        for (position, entry) in stays {
            bytes += entry.stored.message.size();
            if entry.stored.message.is_persistent {
                persistent += 1;
                persistent_bytes += entry.stored.message.size();
            }
            expiring += u64::from(entry.expires != GroupTime::NEVER);
            held.come(&entry.stored.message);
            kept.push_at(position, entry);
        }
        kept.set_tail(tail);
        let is_fact = self.is_durable && facts.is_wanted() && self.persistent > persistent;
        if is_fact && !is_planted(Plant::PurgeNotSaid) {
            self.say_purged(&places, self.persistent - persistent, facts);
        }
        (self.persistent, self.persistent_bytes) = (persistent, persistent_bytes);
        self.counters.dequeues += self.available;
        self.counters.discards_purge += self.available;
        (self.available, self.bytes, self.expiring, self.hint) = (0, bytes, expiring, tail);
        let purged = std::mem::replace(&mut self.entries, kept);
        self.keep_only(&places, facts);
        self.count_index(held);
        purged
    }

    /// Only messages at these positions are left, all of them acquired.
    fn keep_only(&mut self, stays: &[u64], facts: &mut Gathered) {
        match &mut self.kind {
            Kind::Fifo => {}
            Kind::LastValue(keys) => keys.left_but(stays),
            Kind::Groups(groups) => groups.left_but(stays),
            Kind::Priority(levels) => {
                let all = self.entries.iter();
                let of = all.map(|(position, entry)| (position, entry.stored.message.priority));
                levels.left_but(of, self.entries.tail());
            }
        }
        self.flow.left_but(stays);
        self.look_at_depth(facts);
        facts.touch(self.reference.id);
    }

    /// Says that all available messages are gone, `persistent` of which are persistent; `stays` are
    /// the positions of those that are not gone. What can be said in ranges between these takes no
    /// walk through a deep queue.
    fn say_purged(&self, stays: &[u64], persistent: u64, facts: &mut Gathered) {
        if self.rejecting > 0 {
            // A range would name those that are being rerouted, too.
            let is_gone = |(_, entry): &(u64, &Entry)| {
                entry.state == EntryState::Available && entry.stored.message.is_persistent
            };
            for (position, _) in self.entries.iter().filter(is_gone) {
                facts.dequeued(self.reference, position);
            }
            return;
        }
        let (mut first, mut messages) = (self.entries.head(), persistent);
        for stays in stays.iter().copied().chain([self.entries.tail()]) {
            if first < stays {
                facts.dequeued_range(self.reference, first, stays - 1, messages);
                messages = 0;
            }
            first = stays + 1;
        }
    }
}
