//! Which session has which delivery, as the order itself says.

use std::collections::BTreeMap;

use ferrymq::broker::ids::{ChannelKey, ConnectionKey, MemberId};

use super::super::watched::{Asked, Happened};

/// A session: the connection and the channel.
pub type At = (ConnectionKey, u16);

/// A message in a queue.
pub type Key = (String, u64);

/// One session's subscriptions, by their names, and its deliveries that it has not settled.
#[derive(Debug, Default)]
pub struct Holder {
    pub queues: BTreeMap<String, String>,
    /// What a checker keeps of those that it was given, by number.
    pub deliveries: BTreeMap<u32, Key>,
    /// The name that it is attached by.
    pub name: Option<Vec<u8>>,
}

/// See the module.
#[derive(Debug, Default)]
pub struct Holders {
    all: BTreeMap<At, Holder>,
    epochs: BTreeMap<MemberId, u64>,
}

impl Holders {
    /// A session, which may be new.
    pub fn at(&mut self, at: At) -> &mut Holder {
        self.all.entry(at).or_default()
    }

    /// Whether a session has a message under a number.
    pub fn has(&self, at: &At, id: u32, key: &Key) -> bool {
        let holder = self.all.get(at);
        let found = holder.and_then(|holder| holder.deliveries.get(&id));
        found.is_some_and(|held| held == key)
    }

    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = (&At, &Holder)> {
        self.all.iter()
    }

    /// A session ends. Gives what it had.
    pub fn end(&mut self, at: &At) -> Option<Holder> {
        self.all.remove(at)
    }

    fn end_where(&mut self, is_meant: impl Fn(&At) -> bool) {
        self.all.retain(|at, _| !is_meant(at));
    }

    /// What an entry subscribes to, is known.
    pub fn subscribe_as_asked(&mut self, happened: &Happened) {
        for asked in &happened.asked {
            if let Asked::Subscribe(at, name, queue) = asked {
                let queues = &mut self.at(key(happened, at)).queues;
                queues.insert(name.clone(), queue.clone());
            }
        }
    }

    /// What an entry asks to end, ends. As some of what an entry tells comes before, and some after,
    /// this is called before and after that is looked at: what is then known too little of is not
    /// checked.
    pub fn end_as_asked(&mut self, happened: &Happened) {
        if let Some((member, epoch)) = happened.origin
            && self.epochs.insert(member, epoch) != Some(epoch)
        {
            self.end_where(|(key, _)| key.member == member);
        }
        let key = |at: &ChannelKey| key(happened, at);
        for asked in &happened.asked {
            match asked {
                Asked::Subscribe(..) => {}
                Asked::Settle(at, transfers) => {
                    let deliveries = &mut self.at(key(at)).deliveries;
                    deliveries.retain(|id, _| !transfers.contains(ferrymq::wire::CommandId(*id)));
                }
                Asked::Acquire(..) => {}
                Asked::Force(at, name) => {
                    let at = key(at);
                    let has_it = |holder: &Holder| holder.name.as_deref() == Some(name);
                    self.all
                        .retain(|other, holder| *other == at || !has_it(holder));
                }
                Asked::Detach(at) => drop(self.end(&key(at))),
                Asked::End(number) => {
                    let member = happened.origin.map(|(member, _)| member);
                    self.end_where(|(key, _)| Some(key.member) == member && key.number == *number);
                }
                Asked::Down(member) => self.end_where(|(key, _)| key.member == *member),
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
