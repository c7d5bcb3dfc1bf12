//! Which session has which delivery, as the order itself says.

use std::collections::{BTreeMap, BTreeSet};

use ferrymq::broker::ids::{ChannelKey, ConnectionKey, GroupTime, MemberId};
use ferrymq::wire::CommandId;

use super::super::watched::{Asked, Happened, Subscribed};

/// A session: the connection and the channel.
pub type At = (ConnectionKey, u16);

/// A message in a queue.
pub type Key = (String, u64);

/// One session's subscriptions, by their names, and its deliveries that it has not settled.
#[derive(Debug, Default)]
pub struct Holder {
    /// Tells it apart from all others, wherever it is attached.
    pub serial: u64,
    pub queues: BTreeMap<String, Subscribed>,
    /// What a checker keeps of those that it was given, by number.
    pub deliveries: BTreeMap<u32, Key>,
    /// Of messages with groups, by number: the group, and the subscription that has it.
    pub groups: BTreeMap<u32, (u64, String)>,
    /// The name that it is attached by.
    pub name: Option<Vec<u8>>,
    /// Seconds for which it outlives its connection.
    pub timeout: u32,
}

/// A session that waits without a connection.
#[derive(Debug)]
struct Waiting {
    holder: Holder,
    /// When it ends.
    deadline: GroupTime,
    /// Where it was attached.
    at: At,
}

/// See the module.
#[derive(Debug, Default)]
pub struct Holders {
    all: BTreeMap<At, Holder>,
    waiting: BTreeMap<Vec<u8>, Waiting>,
    epochs: BTreeMap<MemberId, u64>,
    serials: u64,
    /// Names of sessions that ended since nobody came in time.
    over: BTreeSet<Vec<u8>>,
    /// How many there were.
    pub run_out: u64,
}

impl Holders {
    /// A session, which may be new.
    pub fn at(&mut self, at: At) -> &mut Holder {
        let serials = &mut self.serials;
        self.all.entry(at).or_insert_with(|| {
            *serials += 1;
            Holder {
                serial: *serials,
                ..Holder::default()
            }
        })
    }

    /// The session that has a message under a number, and when it ends if it waits.
    pub fn who_has(&self, serial: u64, id: u32, key: &Key) -> Option<(At, Option<GroupTime>)> {
        let has_it = |holder: &Holder| {
            holder.serial == serial && holder.deliveries.get(&id).is_some_and(|held| held == key)
        };
        let attached = self.all.iter().find(|(_, holder)| has_it(holder));
        let waits = self
            .waiting
            .values()
            .find(|waiting| has_it(&waiting.holder));
        attached
            .map(|(at, _)| (*at, None))
            .or_else(|| waits.map(|waiting| (waiting.at, Some(waiting.deadline))))
    }

    /// Who else has messages of a group, unsettled, than a subscription of a session.
    pub fn who_has_group(&self, serial: u64, own: &(u64, String)) -> Option<(u64, u32)> {
        let waiting = self.waiting.values().map(|waiting| &waiting.holder);
        let mut all = self.all.values().chain(waiting);
        all.find_map(|holder| {
            let mut held = holder.groups.iter();
            let other = held.find(|(id, has)| {
                let is_held = holder.deliveries.contains_key(id);
                is_held && has.0 == own.0 && (holder.serial != serial || has.1 != own.1)
            });
            other.map(|(id, _)| (holder.serial, *id))
        })
    }

    /// All of them that are attached.
    pub fn all(&self) -> impl Iterator<Item = (&At, &Holder)> {
        self.all.iter()
    }

    /// A session is detached. One with a timeout waits, which what was asked says already.
    pub fn detached(&mut self, at: &At) {
        if self.all.get(at).is_some_and(|holder| holder.timeout == 0) {
            self.all.remove(at);
        }
    }

    /// A session has failed. It may have lost its connection in the same entry.
    pub fn failed(&mut self, at: &At, name: &[u8]) {
        self.all.remove(at);
        self.waiting.remove(name);
    }

    /// A session is attached: one that goes on has what it had. None does in the place of one that waits
    /// and has time left, and none whose time is over does.
    pub fn attached(&mut self, at: At, name: &[u8], is_resumed: bool) -> Result<(), String> {
        let waiting = self.waiting.remove(name);
        match (waiting, is_resumed) {
            (Some(waiting), true) => drop(self.all.insert(at, waiting.holder)),
            (Some(waiting), false) => {
                let (name, deadline) = (String::from_utf8_lossy(name), waiting.deadline);
                return Err(format!("{name} was ended before its time, {deadline:?}"));
            }
            (None, true) if self.over.contains(name) => {
                let name = String::from_utf8_lossy(name);
                return Err(format!("{name} goes on, and its time was over"));
            }
            // Of what one entry did and undid too little is known.
            (None, _) => drop(self.over.remove(name)),
        }
        self.at(at).name = Some(name.to_vec());
        Ok(())
    }

    fn leave(&mut self, time: GroupTime, is_meant: impl Fn(&At, &Holder) -> bool) {
        let places: Vec<At> = self
            .all
            .iter()
            .filter(|(at, holder)| is_meant(at, holder))
            .map(|(at, _)| *at)
            .collect();
        for at in places {
            let holder = self.all.remove(&at).filter(|holder| holder.timeout > 0);
            let named = holder.and_then(|holder| Some((holder.name.clone()?, holder)));
            if let Some((name, holder)) = named {
                let deadline = GroupTime(time.0 + u64::from(holder.timeout) * 1000);
                let waiting = Waiting {
                    holder,
                    deadline,
                    at,
                };
                self.waiting.insert(name, waiting);
            }
        }
    }

    /// What an entry subscribes to, is known.
    pub fn subscribe_as_asked(&mut self, happened: &Happened) {
        for asked in &happened.asked {
            if let Asked::Subscribe(at, name, subscribed) = asked {
                let queues = &mut self.at(key(happened, at)).queues;
                queues.insert(name.clone(), subscribed.clone());
            }
        }
    }

    /// What an entry asks to end, ends. As some of what an entry tells comes before, and some after,
    /// this is called before and after that is looked at: what is then known too little of is not
    /// checked. What was asked of a session before another was attached in its place is not asked of
    /// that other one, which is there only behind what was told (`is_behind`).
    pub fn end_as_asked(&mut self, happened: &Happened, is_behind: bool) {
        let time = happened.time;
        if let Some((member, epoch)) = happened.origin
            && self.epochs.insert(member, epoch) != Some(epoch)
        {
            self.leave(time, |(key, _), _| key.member == member);
        }
        let key = |at: &ChannelKey| key(happened, at);
        let is_followed = |place: usize, at: &ChannelKey| {
            let mut later = happened.asked[place + 1..].iter();
            later.any(|asked| matches!(asked, Asked::Attach { at: other, .. } if other == at))
        };
        for (place, asked) in happened.asked.iter().enumerate() {
            match asked {
                Asked::Publish(_) | Asked::Subscribe(..) | Asked::Acquire(..) => {}
                Asked::Settle(at, _) | Asked::Grant(at, _) | Asked::Detach(at)
                    if is_behind && is_followed(place, at) => {}
                Asked::Settle(at, transfers) => {
                    let deliveries = &mut self.at(key(at)).deliveries;
                    deliveries.retain(|id, _| !transfers.contains(CommandId(*id)));
                }
                Asked::Grant(at, timeout) => {
                    if let Some(holder) = self.all.get_mut(&key(at)) {
                        holder.timeout = *timeout;
                    }
                }
                Asked::Attach {
                    at,
                    name,
                    is_forced,
                } => {
                    let at = key(at);
                    self.leave(time, |other, holder| {
                        *is_forced && *other != at && holder.name.as_deref() == Some(name)
                    });
                }
                Asked::Detach(at) => {
                    let at = key(at);
                    self.leave(time, |other, _| *other == at);
                }
                Asked::End(number) => {
                    let member = happened.origin.map(|(member, _)| member);
                    self.leave(time, |(key, _), _| {
                        Some(key.member) == member && key.number == *number
                    });
                }
                Asked::Down(member, epoch) => {
                    // A later epoch is not concerned.
                    if self.epochs.get(member).is_none_or(|last| last <= epoch) {
                        self.leave(time, |(key, _), _| key.member == *member);
                    }
                }
                Asked::Tick => {
                    let over = self
                        .waiting
                        .extract_if(.., |_, waiting| waiting.deadline <= time);
                    let before = self.over.len();
                    self.over.extend(over.map(|(name, _)| name));
                    self.run_out += (self.over.len() - before) as u64;
                }
            }
        }
    }
}

/// The session that a command of an entry is of.
pub fn key(happened: &Happened, at: &ChannelKey) -> At {
    let member = happened.origin.map_or(MemberId::default(), |(id, _)| id);
    let key = ConnectionKey {
        member,
        number: at.connection,
    };
    (key, at.channel)
}
