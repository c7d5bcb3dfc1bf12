//! A message is with one session at a time, and a session's name too. A session with a timeout keeps both
//! while it waits without a connection, until its time is over.

use std::collections::{BTreeMap, BTreeSet};

use super::super::kinds::{Kind, key_of, kind};
use super::super::watched::{Delivered, Happened, Told};
use super::holders::{At, Holders, Key};
use super::kinds::Values;

/// See the module.
#[derive(Debug, Default)]
pub struct Exclusivity {
    holders: Holders,
    /// By message: which session was last given it, and by which number.
    last: BTreeMap<Key, (u64, u32)>,
    /// Messages that were delivered without need of an accept: they are gone.
    gone: BTreeSet<Key>,
    /// What was shown of last value queues.
    pub values: Values,
    /// Deliveries of messages with groups.
    pub grouped: u64,
    /// Deliveries seen.
    pub deliveries: u64,
    /// Sessions that were seen to go on, and deliveries that came again to them.
    pub resumed: u64,
    pub again: u64,
}

impl Exclusivity {
    /// Sessions that ended since nobody came in time.
    pub fn run_out(&self) -> u64 {
        self.holders.run_out
    }

    /// An entry was applied.
    pub fn happened(&mut self, happened: &Happened) -> Result<(), String> {
        self.holders.end_as_asked(happened, false);
        self.holders.subscribe_as_asked(happened);
        for (key, told) in &happened.told {
            match told {
                Told::Attached(channel, name, is_resumed) => {
                    self.attached((*key, *channel), name, *is_resumed)?;
                }
                Told::Detached(channel) => self.holders.detached(&(*key, *channel)),
                Told::Failed(channel, name) => self.holders.failed(&(*key, *channel), name),
                Told::Delivered(delivered) => {
                    self.delivered((*key, delivered.channel), delivered)?;
                }
            }
        }
        self.holders.end_as_asked(happened, true);
        Ok(())
    }

    fn attached(&mut self, at: At, name: &[u8], is_resumed: bool) -> Result<(), String> {
        let has_it = |holder: &super::holders::Holder| holder.name.as_deref() == Some(name);
        let mut all = self.holders.all();
        let other = all.find(|(other, holder)| **other != at && has_it(holder));
        if let Some((other, _)) = other {
            let name = String::from_utf8_lossy(name);
            return Err(format!("{name} is attached by {at:?} and by {other:?}"));
        }
        drop(all);
        self.resumed += u64::from(is_resumed);
        self.holders.attached(at, name, is_resumed)
    }

    fn delivered(&mut self, at: At, delivered: &Delivered) -> Result<(), String> {
        let holder = self.holders.at(at);
        let (serial, id, uid) = (holder.serial, delivered.id, delivered.uid);
        let Some(subscribed) = holder.queues.get(&delivered.destination) else {
            return Ok(());
        };
        let queue = subscribed.queue.clone();
        let kind = kind(&queue);
        if kind == Some(Kind::LastValue) {
            self.values.shown(serial, id, uid)?;
        }
        if !delivered.is_acquiring {
            return Ok(());
        }
        self.took(at, id, (queue, uid), delivered.is_explicit)?;
        if kind == Some(Kind::Groups) && delivered.is_explicit {
            self.took_of_group(at, id, (key_of(uid), delivered.destination.clone()))?;
        }
        Ok(())
    }

    /// All that is held of a group is one subscription's.
    fn took_of_group(&mut self, at: At, id: u32, group: (u64, String)) -> Result<(), String> {
        self.grouped += 1;
        let serial = self.holders.at(at).serial;
        if let Some((other, number)) = self.holders.who_has_group(serial, &group) {
            return Err(format!(
                "two have messages of group {}: {serial} was given {id}, and {other} has {number}",
                group.0
            ));
        }
        let holder = self.holders.at(at);
        let deliveries = &holder.deliveries;
        holder.groups.retain(|id, _| deliveries.contains_key(id));
        holder.groups.insert(id, group);
        Ok(())
    }

    fn took(&mut self, at: At, id: u32, key: Key, is_explicit: bool) -> Result<(), String> {
        self.deliveries += 1;
        let serial = self.holders.at(at).serial;
        let last = self.last.insert(key.clone(), (serial, id));
        if last == Some((serial, id)) {
            // To the same session under the same number: it goes on, and had not got it.
            self.again += 1;
            return Ok(());
        }
        if self.gone.contains(&key) {
            return Err(format!("{key:?} was taken for good and came to {at:?}"));
        }
        let holds = last.and_then(|(other, number)| self.holders.who_has(other, number, &key));
        match holds {
            Some((other, None)) => {
                return Err(format!("{key:?} is held by {other:?} and came to {at:?}"));
            }
            Some((other, Some(deadline))) => {
                return Err(format!(
                    "{key:?} is held by {other:?}, which waits until {deadline:?}, and came to {at:?}"
                ));
            }
            None => {}
        }
        match is_explicit {
            true => drop(self.holders.at(at).deliveries.insert(id, key)),
            false => drop(self.gone.insert(key)),
        }
        Ok(())
    }
}
