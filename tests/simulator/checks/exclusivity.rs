//! A message is with one session at a time, and a session's name too.

use std::collections::{BTreeMap, BTreeSet};

use super::super::watched::{Happened, Told};
use super::holders::{At, Holders, Key};

/// See the module.
#[derive(Debug, Default)]
pub struct Exclusivity {
    holders: Holders,
    /// By message: who was last given it, and by which number.
    last: BTreeMap<Key, (At, u32)>,
    /// Messages that were delivered without need of an accept: they are gone.
    gone: BTreeSet<Key>,
    /// Deliveries seen.
    pub deliveries: u64,
}

impl Exclusivity {
    /// An entry was applied.
    pub fn happened(&mut self, happened: &Happened) -> Result<(), String> {
        self.holders.end_as_asked(happened);
        self.holders.subscribe_as_asked(happened);
        for (key, told) in &happened.told {
            match told {
                Told::Attached(channel, name) => self.attached((*key, *channel), name)?,
                Told::Ended(channel) => drop(self.holders.end(&(*key, *channel))),
                Told::Delivered(delivered) if delivered.is_acquiring => {
                    let at = (*key, delivered.channel);
                    let queue = self.holders.at(at).queues.get(&delivered.destination);
                    let Some(queue) = queue.cloned() else {
                        continue;
                    };
                    let key = (queue, delivered.uid);
                    self.took(at, delivered.id, key, delivered.is_explicit)?;
                }
                Told::Delivered(_) => {}
            }
        }
        self.holders.end_as_asked(happened);
        Ok(())
    }

    fn attached(&mut self, at: At, name: &[u8]) -> Result<(), String> {
        let has_it = |holder: &super::holders::Holder| holder.name.as_deref() == Some(name);
        let mut all = self.holders.all();
        let other = all.find(|(other, holder)| **other != at && has_it(holder));
        if let Some((other, _)) = other {
            let name = String::from_utf8_lossy(name);
            return Err(format!("{name} is attached by {at:?} and by {other:?}"));
        }
        drop(all);
        self.holders.at(at).name = Some(name.to_vec());
        Ok(())
    }

    fn took(&mut self, at: At, id: u32, key: Key, is_explicit: bool) -> Result<(), String> {
        self.deliveries += 1;
        if self.gone.contains(&key) {
            return Err(format!("{key:?} was taken for good and came to {at:?}"));
        }
        if let Some((other, number)) = self.last.get(&key)
            && self.holders.has(other, *number, &key)
        {
            return Err(format!("{key:?} is held by {other:?} and came to {at:?}"));
        }
        self.last.insert(key.clone(), (at, id));
        match is_explicit {
            true => drop(self.holders.at(at).deliveries.insert(id, key)),
            false => drop(self.gone.insert(key)),
        }
        Ok(())
    }
}
