//! Connections as all members know them.

use std::collections::BTreeMap;

use super::command::{ConnectionDetails, ConnectionRecord};
use super::encoding::record;
use super::ids::{ConnectionId, ConnectionKey, ConnectionNumber, GroupTime, MemberId, SessionId};
use super::management::{Requester, Traffic};
use super::slab::Slab;
use crate::wire::Text;

/// A connection.
#[derive(Clone, Debug, Hash)]
pub struct Connection {
    /// What was told when it opened.
    pub record: ConnectionRecord,
    /// The sessions attached to it, by channel.
    pub channels: BTreeMap<u16, SessionId>,
    /// How many messages more its member can take.
    pub headroom_messages: i64,
    /// How many octets more its member can take; below 0 after a message that was larger.
    pub headroom_bytes: i64,
    /// When it was opened.
    pub created: GroupTime,
    /// What management shows of it; None until it was told.
    pub details: Option<Box<ConnectionDetails>>,
    /// What its sockets have counted, as its member told last.
    pub traffic: Traffic,
}
record!(Connection {
    record,
    channels,
    headroom_messages,
    headroom_bytes
} since 3 {
    created = GroupTime(0),
    details = None,
    traffic = Traffic::default(),
});

/// What management calls a connection from `peer` to the address `local`.
pub fn address(local: &str, peer: &str) -> Text {
    format!("qpid.{local}-{peer}").into()
}

impl Connection {
    /// A connection that has just been opened, with all of its headroom.
    pub fn new(record: ConnectionRecord, created: GroupTime) -> Connection {
        let mut connection = Connection {
            record,
            channels: BTreeMap::new(),
            headroom_messages: 0,
            headroom_bytes: 0,
            created,
            details: None,
            traffic: Traffic::default(),
        };
        connection.refill(u32::MAX, u64::MAX);
        connection
    }

    /// Its name for management: `qpid.`, the address that was connected to, and the peer's, with `-`
    /// between.
    pub fn address(&self) -> Text {
        let local = self.details.as_ref().map_or("", |details| &*details.local);
        address(local, &self.record.peer)
    }

    /// Who it is, for events.
    pub fn requester(&self) -> Requester {
        Requester {
            user: self.record.user.clone(),
            address: self.address(),
        }
    }

    /// Whether its member can take one message more.
    pub fn has_headroom(&self) -> bool {
        self.headroom_messages > 0 && self.headroom_bytes > 0
    }

    /// A message of `bytes` is on its way to the member.
    pub fn spend(&mut self, bytes: u64) {
        self.headroom_messages -= 1;
        self.headroom_bytes -= signed(bytes);
    }

    /// The member can take so much more; never more than it said when the connection opened.
    pub fn refill(&mut self, messages: u32, bytes: u64) {
        let most_messages = i64::from(self.record.headroom_messages);
        let most_bytes = signed(self.record.headroom_bytes);
        let messages = self.headroom_messages.saturating_add(i64::from(messages));
        let bytes = self.headroom_bytes.saturating_add(signed(bytes));
        self.headroom_messages = messages.min(most_messages);
        self.headroom_bytes = bytes.min(most_bytes);
    }

    /// The member can hold so many octets from now on, if that is more than before.
    pub fn raise_headroom(&mut self, bytes: u64) {
        let more = bytes.saturating_sub(self.record.headroom_bytes);
        self.record.headroom_bytes += more;
        self.headroom_bytes = self.headroom_bytes.saturating_add(signed(more));
    }
}

fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

/// All connections: found by key where a command names one, by slot where a session does.
#[derive(Clone, Debug, Default, Hash)]
pub struct Connections {
    slots: Slab<Connection>,
    keys: BTreeMap<ConnectionKey, ConnectionId>,
}
record!(Connections { slots, keys });

impl Connections {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds a connection; one that is there stays as it is.
    pub fn insert(&mut self, key: ConnectionKey, record: ConnectionRecord, now: GroupTime) {
        if !self.keys.contains_key(&key) {
            let id = ConnectionId(self.slots.insert(Connection::new(record, now)));
            self.keys.insert(key, id);
        }
    }

    /// Takes a connection away.
    pub fn remove(&mut self, key: ConnectionKey) -> Option<Connection> {
        let id = self.keys.remove(&key)?;
        self.slots.remove(id.0)
    }

    /// The slot of a connection.
    pub fn id(&self, key: ConnectionKey) -> Option<ConnectionId> {
        self.keys.get(&key).copied()
    }

    /// The connection in a slot.
    pub fn get(&self, id: ConnectionId) -> Option<&Connection> {
        self.slots.get(id.0)
    }

    /// The connection in a slot, to be changed.
    pub fn get_mut(&mut self, id: ConnectionId) -> Option<&mut Connection> {
        self.slots.get_mut(id.0)
    }

    /// Connections behind a key, in the order of their keys.
    pub fn behind(
        &self,
        key: Option<ConnectionKey>,
    ) -> impl Iterator<Item = (ConnectionKey, &Connection)> {
        use std::ops::Bound;
        let from = key.map_or(Bound::Unbounded, Bound::Excluded);
        let found = self.keys.range((from, Bound::Unbounded));
        found.filter_map(|(key, id)| Some((*key, self.get(*id)?)))
    }

    /// All connections of a member.
    pub fn of_member(&self, member: MemberId) -> Vec<ConnectionKey> {
        let bound = |number| ConnectionKey {
            member,
            number: ConnectionNumber(number),
        };
        self.keys
            .range(bound(0)..=bound(u32::MAX))
            .map(|(key, _)| *key)
            .collect()
    }
}
