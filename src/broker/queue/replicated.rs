//! What a queue does for its copy at another broker: it says what happens in it, and gives no position
//! twice.

use super::Queue;
use crate::broker::facts::{Fact, Gathered};
use crate::broker::limits;
use crate::broker::message::Message;
use crate::broker::plant::{Plant, is_planted};
use crate::broker::replication::{Change, What, is_event};
use std::sync::Arc;

impl Queue {
    /// A message comes to the next position.
    #[cold]
    pub(super) fn say_came(&self, message: &Arc<Message>, facts: &mut Gathered) {
        if facts.tells_changes() && !is_event(message) {
            let what = What::Came(message.clone());
            self.say(self.entries.tail(), what, facts);
        }
    }

    /// A message has left its position.
    #[cold]
    pub(super) fn say_left(&self, position: u64, message: &Message, facts: &mut Gathered) {
        if facts.tells_changes() && !is_event(message) {
            let is_fact = self.is_durable && message.is_persistent;
            self.say(position, What::Left { is_fact }, facts);
        }
    }

    fn say(&self, position: u64, what: What, facts: &mut Gathered) {
        facts.changed(Change {
            name: self.name.clone(),
            position,
            what,
        });
    }

    /// The next position goes to a message that may leave no fact: it is not given again after a crash,
    /// since others may know the message by it then.
    #[cold]
    pub(super) fn keep_positions(&mut self, facts: &mut Gathered) {
        let position = self.entries.tail();
        if !self.is_durable || position < self.kept_before || is_planted(Plant::PositionsNotKept) {
            return;
        }
        self.kept_before = position + limits::KEPT_POSITIONS;
        let (queue, before) = (self.reference.key(), self.kept_before);
        facts.defined(|| Fact::PositionsKept { queue, before });
    }

    /// No message has been at this position or behind it, nor will be known by one before after a crash.
    pub fn tail_in_facts(&self) -> u64 {
        self.entries.tail().max(self.kept_before)
    }

    /// The next message comes to a position that the queue has not passed. Those between stay empty.
    pub fn go_on_at(&mut self, position: u64) {
        self.entries.set_tail(position);
    }
}
