//! A last value queue: of the messages with one value in a header it has the last.

use crate::broker::blocks::Blocks;
use crate::broker::chunks::Chunks;
use crate::broker::encoding::record;
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
}
record!(LastValue {
    header,
    positions,
    keys
});

impl LastValue {
    /// Of a queue whose messages have their key in a header.
    pub fn new(header: Text) -> LastValue {
        LastValue {
            header,
            positions: Chunks::default(),
            keys: Blocks::default(),
        }
    }

    /// The position of the message that a new one replaces.
    pub fn replaced_by(&self, message: &Message) -> Option<u64> {
        let key = header_text(message, &self.header);
        self.positions.get(&key).copied()
    }

    pub(super) fn entered(&mut self, position: u64, message: &Message) {
        let key = header_text(message, &self.header);
        self.positions.insert(key.clone(), position);
        self.keys.push_at(position, key);
    }

    pub(super) fn left(&mut self, position: u64) {
        if let Some(key) = self.keys.remove(position)
            && self.positions.get(&key) == Some(&position)
        {
            self.positions.remove(&key);
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
    }
}
