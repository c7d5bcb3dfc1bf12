//! What a queue does for its copy at another broker: it says what happens in it, and gives no position
//! twice.

use super::Queue;
use super::kind::Kind;
use crate::broker::facts::{Fact, Gathered};
use crate::broker::held::Held;
use crate::broker::limits;
use crate::broker::message::Message;
use crate::broker::plant::{Plant, is_planted};
use crate::broker::replication::{Change, What, is_event};
use crate::wire::Text;
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
    /// since others may know the message by it then. Nothing is kept of one that a source gives: it gives it
    /// to no other message, and what it sends again after a crash has to find it free.
    #[cold]
    pub(super) fn keep_positions(&mut self, facts: &mut Gathered) {
        let position = self.entries.tail();
        if !self.is_durable
            || facts.gives_positions()
            || position < self.kept_before
            || is_planted(Plant::PositionsNotKept)
        {
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

    /// A plain queue offers what is behind a message only to who has that message, from now on.
    pub fn keep_in_order(&mut self, group: Text, held: &mut Held) {
        if !matches!(self.kind, Kind::Fifo) || self.name.is_empty() {
            return;
        }
        self.kind = Kind::in_order(group);
        self.fill_kind();
        self.count_index(held);
    }

    /// Positions before this one are kept by a fact.
    pub fn kept_before(&self) -> u64 {
        self.kept_before
    }

    /// The next message comes to a position that the queue has not passed. Those between stay empty.
    pub fn go_on_at(&mut self, position: u64) {
        self.entries.set_tail(position);
    }
}
