//! Messages of one publisher leave a queue in the order in which they were sent, whoever takes them:
//! those of one colour do, since some take one colour only.

use std::collections::{BTreeMap, BTreeSet};

use ferrymq::wire::CommandId;

use super::super::ledger::{Ledger, NOBODY};
use super::super::topology::is_red;
use super::super::watched::{Asked, Happened, Told};
use super::holders::{Holders, Key, key};

/// See the module.
#[derive(Debug, Default)]
pub struct Order {
    holders: Holders,
    /// By queue, colour and publisher: the last message that was taken for the first time.
    last: BTreeMap<(String, bool, u64), u64>,
    /// Messages that were taken, or asked for by whoever had browsed them: their place is no longer
    /// what tells when they come.
    taken: BTreeSet<Key>,
    /// Messages that somebody was shown, in whichever queue.
    shown: BTreeSet<u64>,
    /// Messages found in their order.
    pub first: u64,
}

impl Order {
    /// An entry was applied.
    pub fn happened(&mut self, happened: &Happened, ledger: &Ledger) -> Result<(), String> {
        for asked in &happened.asked {
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
            let Told::Delivered(delivered) = told else {
                continue;
            };
            let uid = delivered.uid;
            if self.shown.insert(uid) && delivered.is_redelivered {
                return Err(format!("{uid} is flagged, and nobody was shown it before"));
            }
            let holder = self.holders.at((*connection, delivered.channel));
            let Some(queue) = holder.queues.get(&delivered.destination) else {
                continue;
            };
            let key = (queue.clone(), delivered.uid);
            if delivered.is_acquiring {
                self.took(key, ledger)?;
            } else {
                holder.deliveries.insert(delivered.id, key);
            }
        }
        Ok(())
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
        let last = self
            .last
            .insert((queue.clone(), is_red(uid), publisher), place);
        match last.is_some_and(|last| last >= place) {
            true => Err(format!(
                "out of order in {queue}: {place} of {publisher} after {last:?}"
            )),
            false => Ok(()),
        }
    }
}
