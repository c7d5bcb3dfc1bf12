//! Messages of one publisher leave a queue in the order in which they were sent, whoever takes them:
//! those of one colour do, since some take one colour only.

use std::collections::{BTreeMap, BTreeSet};

use ferrymq::wire::CommandId;

use super::super::kinds::lane;
use super::super::ledger::{Ledger, NOBODY};
use super::super::topology::is_red;
use super::super::watched::{Asked, Happened, Subscribed, Told};
use super::holders::{At, Holders, Key, key};
use super::kinds::Places;

/// Subscriptions, by their names, and messages that were browsed, by number.
type Had = (BTreeMap<String, Subscribed>, BTreeMap<u32, Key>);

/// See the module.
#[derive(Debug, Default)]
pub struct Order {
    holders: Holders,
    /// By place: the session that was attached there last.
    names: BTreeMap<At, Vec<u8>>,
    /// By session: what it had where it was attached last, once another is attached there.
    left: BTreeMap<Vec<u8>, Had>,
    /// By queue, lane, colour and publisher: the last message that was taken for the first time.
    last: BTreeMap<(String, u64, bool, u64), u64>,
    /// Messages that were taken, or asked for by whoever had browsed them: their place is no longer
    /// what tells when they come.
    taken: BTreeSet<Key>,
    /// Messages that somebody was shown, in whichever queue.
    shown: BTreeSet<u64>,
    /// What is to be known of queues of other kinds.
    pub places: Places,
    /// Messages found in their order.
    pub first: u64,
}

impl Order {
    /// An entry was applied.
    pub fn happened(&mut self, happened: &Happened, ledger: &Ledger) -> Result<(), String> {
        for asked in &happened.asked {
            if let Asked::Publish(uid) = asked {
                self.places.asked(happened.index, *uid);
            }
            let Asked::Acquire(at, transfers) = asked else {
                continue;
            };
            let holder = self.holders.at(key(happened, at));
            for (id, browsed) in &holder.deliveries {
                if transfers.contains(CommandId(*id)) {
                    self.taken.insert(browsed.clone());
                }
            }
        }
        // Sessions that end are not forgotten: what an entry asks for may have been told before they
        // did. Whoever comes in their place subscribes anew.
        self.holders.subscribe_as_asked(happened);
        for (connection, told) in &happened.told {
            if let Told::Attached(channel, name, is_resumed) = told {
                self.attached((*connection, *channel), name, *is_resumed);
            }
            let Told::Delivered(delivered) = told else {
                continue;
            };
            let uid = delivered.uid;
            if self.shown.insert(uid) && delivered.is_redelivered {
                return Err(format!("{uid} is flagged, and nobody was shown it before"));
            }
            let holder = self.holders.at((*connection, delivered.channel));
            let Some(subscribed) = holder.queues.get(&delivered.destination) else {
                continue;
            };
            let key = (subscribed.queue.clone(), delivered.uid);
            if delivered.is_acquiring {
                let how = (subscribed.is_red, delivered.is_redelivered);
                if !self.taken.contains(&key) {
                    self.places.given(happened.index, &key, how, ledger)?;
                }
                self.took(key, ledger)?;
            } else {
                holder.deliveries.insert(delivered.id, key);
            }
        }
        Ok(())
    }

    /// One that goes on has its subscriptions wherever it comes.
    fn attached(&mut self, at: At, name: &[u8], is_resumed: bool) {
        let before = self.names.iter().find(|(_, one)| *one == name);
        if let Some((before, _)) = before {
            let before = *before;
            self.leaves(before);
        }
        if self.names.contains_key(&at) {
            self.leaves(at);
        }
        self.names.insert(at, name.to_vec());
        if let Some((queues, deliveries)) = self.left.remove(name).filter(|_| is_resumed) {
            let holder = self.holders.at(at);
            (holder.queues, holder.deliveries) = (queues, deliveries);
        }
    }

    fn leaves(&mut self, at: At) {
        if let Some(name) = self.names.remove(&at) {
            let holder = self.holders.at(at);
            let had = (holder.queues.clone(), holder.deliveries.clone());
            self.left.insert(name, had);
        }
    }

    fn took(&mut self, key: Key, ledger: &Ledger) -> Result<(), String> {
        let Some((publisher, place)) = ledger.item(&key).map(|item| item.publisher) else {
            return Ok(());
        };
        if !self.taken.insert(key.clone()) || publisher == NOBODY {
            return Ok(());
        }
        self.first += 1;
        let (queue, uid) = key;
        let lane = lane(&queue, uid);
        let last = self
            .last
            .insert((queue.clone(), lane, is_red(uid), publisher), place);
        match last.is_some_and(|last| last >= place) {
            true => Err(format!(
                "out of order in {queue}: {place} of {publisher} after {last:?}"
            )),
            false => Ok(()),
        }
    }
}
