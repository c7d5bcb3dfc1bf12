//! A connection as its member knows it: its sessions, and how much it can take.

use std::collections::{BTreeMap, BTreeSet};

use ferrymq::broker::Command;
use ferrymq::broker::ids::{ChannelKey, ConnectionNumber};

use super::session::Session;

/// See the module.
#[derive(Debug)]
pub struct Connection {
    /// The seat of its member.
    pub seat: usize,
    /// The member's number for it.
    pub number: ConnectionNumber,
    /// Whether it is there.
    pub is_open: bool,
    /// Its sessions.
    pub sessions: BTreeMap<u16, Session>,
    /// Channels whose sessions have moved elsewhere, until the member says so.
    pub moved: BTreeSet<u16>,
    /// What it will propose next.
    pub batch: Vec<Command>,
    /// Batches proposed and not applied.
    pub proposed: usize,
    /// Messages and octets received since it last said that it can take more.
    pub unreturned: (u32, u64),
    /// Messages and octets received, beyond what it has said that it can take.
    outstanding: (i64, i64),
    limit: (i64, i64),
}

impl Connection {
    /// One that was just opened.
    pub fn new(seat: usize, number: ConnectionNumber, messages: u32, bytes: u64) -> Connection {
        Connection {
            seat,
            number,
            is_open: true,
            sessions: BTreeMap::new(),
            moved: BTreeSet::new(),
            batch: Vec::new(),
            proposed: 0,
            unreturned: (0, 0),
            outstanding: (0, 0),
            limit: (i64::from(messages), bytes as i64),
        }
    }

    /// A channel of it.
    pub fn at(&self, channel: u16) -> ChannelKey {
        ChannelKey {
            connection: self.number,
            channel,
        }
    }

    /// A channel that nobody has.
    pub fn free_channel(&self) -> u16 {
        let is_free =
            |channel: &u16| !self.sessions.contains_key(channel) && !self.moved.contains(channel);
        (0..).find(is_free).unwrap_or_default()
    }

    /// A message has come. It must have had room: in octets, so much that there was some.
    pub fn received(&mut self, bytes: u64) -> Result<(), String> {
        let (messages, octets) = self.outstanding;
        self.unreturned = (self.unreturned.0 + 1, self.unreturned.1 + bytes);
        self.outstanding = (messages + 1, octets + bytes as i64);
        if messages >= self.limit.0 || octets >= self.limit.1 {
            return Err(format!("no headroom: {messages} messages, {octets} octets"));
        }
        Ok(())
    }

    /// What it has received has gone on: the member is told so.
    pub fn returned(&mut self) -> (u32, u64) {
        let (messages, bytes) = std::mem::take(&mut self.unreturned);
        self.outstanding.0 -= i64::from(messages);
        self.outstanding.1 -= bytes as i64;
        (messages, bytes)
    }
}
