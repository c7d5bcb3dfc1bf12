//! Frames of version 1 on their way into messages.

use super::super::limits::ANSWER_BYTES_MAX;
use super::super::publication::Publication;
use crate::wire::{Text, encode};

/// What every frame begins with.
pub(super) const MAGIC: &[u8; 3] = b"AM2";

/// Octets of a frame's head: the magic, the operation code and the sequence number.
const HEAD_BYTES: usize = MAGIC.len() + 1 + 4;

/// Frames, in as few messages as hold them. One that is longer than a message should be goes alone.
#[derive(Debug, Default)]
pub(super) struct Frames {
    full: Vec<Vec<u8>>,
    last: Vec<u8>,
    in_last: usize,
    per_message_max: Option<usize>,
}

impl Frames {
    /// With at most so many frames in a message.
    pub(super) fn at_most(per_message_max: usize) -> Self {
        Frames {
            per_message_max: Some(per_message_max),
            ..Frames::default()
        }
    }

    /// Adds a frame. `write` appends what follows its head.
    pub(super) fn frame(
        &mut self,
        opcode: u8,
        sequence: u32,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> &mut Self {
        let start = self.last.len();
        self.last.reserve(HEAD_BYTES);
        self.last.extend_from_slice(MAGIC);
        self.last.push(opcode);
        encode::u32(&mut self.last, sequence);
        write(&mut self.last);
        let is_crowded = self.per_message_max.is_some_and(|max| self.in_last >= max);
        if start > 0 && (is_crowded || self.last.len() > ANSWER_BYTES_MAX) {
            let frame = self.last.split_off(start);
            self.full.push(std::mem::replace(&mut self.last, frame));
            self.in_last = 0;
        }
        self.in_last += 1;
        self
    }

    /// The messages.
    pub(super) fn publications(&mut self, exchange: &str, routing_key: &str) -> Vec<Publication> {
        let mut bodies = std::mem::take(&mut self.full);
        if !self.last.is_empty() {
            bodies.push(std::mem::take(&mut self.last));
        }
        let publication =
            |body| Publication::new(Text::from(exchange), Text::from(routing_key), body);
        bodies.into_iter().map(publication).collect()
    }
}
