//! A last value queue: of the messages with one value in a header it has the last.

use crate::broker::blocks::Blocks;
use crate::broker::chunks::Chunks;
use crate::broker::encoding::record;
use crate::broker::held::{Derived, text_bytes};
use crate::broker::message::Message;
use crate::wire::Text;

/// The value of a header as keys are compared: text, and what else reads as text. A message without
/// it has the empty one.
pub(super) fn header_text(message: &Message, header: &str) -> Text {
    let headers = message.application_headers();
    let value = headers.as_ref().and_then(|headers| headers.get(header));
    let text = value.and_then(|value| match value.as_str() {
        Some(text) => Some(Text::from(text)),
        None => value.text().map(Text::from),
    });
    text.unwrap_or_default()
}

/// The keys of a last value queue.
#[derive(Clone, Debug, Hash)]
pub struct LastValue {
    /// The header that has the key.
    header: Text,
    /// Where the last message of each key is.
    positions: Chunks<Text, u64>,
    /// The key of each message.
    keys: Blocks<Text>,
    /// Octets of keys that lie in allocations of their own.
    octets: Derived,
}
record!(LastValue {
    header,
    positions,
    keys,
    octets
});

impl LastValue {
    /// Of a queue whose messages have their key in a header.
    pub fn new(header: Text) -> LastValue {
        LastValue {
            header,
            positions: Chunks::default(),
            keys: Blocks::default(),
            octets: Derived::default(),
        }
    }

    /// Forgets where the last message of each key is: a fault for tests to find.
    pub(in crate::broker) fn forget_positions(&mut self) {
        self.positions = Chunks::default();
    }

    /// Octets that the keys take.
    pub(super) fn bytes(&self) -> u64 {
        let of_message = size_of::<Option<Text>>() as u64;
        let of_key = size_of::<(Text, u64)>() as u64;
        self.keys.len() * of_message + self.positions.len() * of_key + self.octets.0
    }

    /// Counts the octets of keys anew.
    pub(super) fn count_anew(&mut self) {
        let of_messages = self.keys.iter().map(|(_, key)| text_bytes(key));
        let of_keys = self.positions.iter().map(|(key, _)| text_bytes(key));
        self.octets = Derived(of_messages.chain(of_keys).sum());
    }

    /// The position of the message that a new one replaces.
    pub fn replaced_by(&self, message: &Message) -> Option<u64> {
        let key = header_text(message, &self.header);
        self.positions.get(&key).copied()
    }

    pub(super) fn entered(&mut self, position: u64, message: &Message) {
        let key = header_text(message, &self.header);
        self.octets.0 += text_bytes(&key);
        if self.positions.insert(key.clone(), position).is_none() {
            self.octets.0 += text_bytes(&key);
        }
        self.keys.push_at(position, key);
    }

    pub(super) fn left(&mut self, position: u64) {
        let Some(key) = self.keys.remove(position) else {
            return;
        };
        let octets = text_bytes(&key);
        self.octets.0 -= octets;
        if self.positions.get(&key) == Some(&position) {
            self.positions.remove(&key);
            self.octets.0 -= octets;
        }
    }

    /// Only messages at these positions are left.
    pub(super) fn left_but(&mut self, stays: &[u64]) {
        let is_there = |position: &u64| stays.binary_search(position).is_ok();
        let mut kept = Blocks::default();
        for position in stays {
            if let Some(key) = self.keys.get(*position) {
                kept.push_at(*position, key.clone());
            }
        }
        kept.set_tail(self.keys.tail());
        self.keys = kept;
        self.positions.retain(|_, position| is_there(position));
        self.count_anew();
    }
}
