//! Both ends of a client's session: the commands it has sent and those it has received.
//!
//! A broker keeps the same in its core, where it outlives connections.

use crate::wire::{CommandId, SequenceSet};

use super::limits;

/// The sender and the receiver of one session.
#[derive(Debug, Default)]
pub(super) struct Ends {
    pub(super) sender: Sender,
    pub(super) receiver: Receiver,
}

/// Outgoing commands: who they are and which of them are not completed.
#[derive(Debug, Default)]
pub struct Sender {
    next: CommandId,
    incomplete: SequenceSet,
}

impl Sender {
    /// Id of the next command to send.
    pub fn next(&self) -> CommandId {
        self.next
    }

    /// Ids sent and not known to be completed.
    pub fn incomplete(&self) -> &SequenceSet {
        &self.incomplete
    }

    /// Takes the id for one more command.
    pub fn send(&mut self) -> CommandId {
        let id = self.next;
        self.next = id.next();
        self.incomplete.insert(id);
        id
    }

    /// The peer says that it has completed these; returns those of them that were not before.
    /// Ids never sent have no effect.
    pub fn completed(&mut self, commands: &SequenceSet) -> SequenceSet {
        let mut newly = SequenceSet::new();
        for (first, last) in self.incomplete.ranges() {
            newly.union(&commands.clipped(*first, *last));
        }
        for (first, last) in newly.ranges() {
            self.incomplete.remove_range(*first, *last);
        }
        newly
    }
}

/// Incoming commands: which are being worked on and which are completed but not yet known by
/// the peer to be.
#[derive(Debug, Default)]
pub struct Receiver {
    /// Arrived and not completed, without `syncs`.
    open: SequenceSet,
    /// Those of `open` whose sync bit asks for a report as soon as they are completed.
    eager: SequenceSet,
    /// `execution.sync` commands, completed when nothing before them is open.
    syncs: SequenceSet,
    /// Completed, not known-completed.
    completed: SequenceSet,
    /// Completed since the last report.
    unreported: u32,
    /// A report is owed now.
    due: bool,
}

impl Receiver {
    /// A command arrived that is completed later.
    pub fn arrived(&mut self, id: CommandId, sync: bool) {
        self.open.insert(id);
        if sync {
            self.eager.insert(id);
        }
    }

    /// `execution.sync` arrived.
    pub fn sync_arrived(&mut self, id: CommandId) {
        self.syncs.insert(id);
        self.settle_syncs();
    }

    /// A command arrived and is completed at once.
    pub fn done(&mut self, id: CommandId, sync: bool) {
        self.completed.insert(id);
        self.unreported += 1;
        self.due |= sync;
    }

    /// These arrived and are now completed. Ids that are not open have no effect.
    pub fn complete(&mut self, commands: &SequenceSet) {
        let mut closed = SequenceSet::new();
        for (first, last) in self.open.ranges() {
            closed.union(&commands.clipped(*first, *last));
        }
        for (first, last) in closed.ranges() {
            self.open.remove_range(*first, *last);
            if !self.eager.is_empty() && !self.eager.clipped(*first, *last).is_empty() {
                self.eager.remove_range(*first, *last);
                self.due = true;
            }
            self.completed.insert_range(*first, *last);
            let ids = u32::try_from(first.distance_to(*last))
                .unwrap_or(0)
                .saturating_add(1);
            self.unreported = self.unreported.saturating_add(ids);
        }
        self.settle_syncs();
    }

    /// These will never come: they count as completed.
    pub fn never_comes(&mut self, commands: &SequenceSet) {
        self.completed.union(commands);
        self.unreported = self.unreported.saturating_add(1);
        self.due |= !commands.is_empty();
    }

    fn settle_syncs(&mut self) {
        let Some(barrier) = self.open.first() else {
            if !self.syncs.is_empty() {
                self.completed.union(&self.syncs);
                self.syncs.clear();
                self.due = true;
            }
            return;
        };
        while let Some(id) = self.syncs.first().filter(|id| id.precedes(barrier)) {
            self.syncs.remove_range(id, id);
            self.completed.insert(id);
            self.due = true;
        }
    }

    /// Completed commands that the peer may not know of.
    pub fn completed(&self) -> &SequenceSet {
        &self.completed
    }

    /// Something was completed since the last report.
    pub fn has_unreported(&self) -> bool {
        self.unreported > 0 || self.due
    }

    /// A report must go out without being asked for.
    pub fn is_due(&self) -> bool {
        self.due
            || self.unreported >= limits::COMPLETED_IDS_MAX
            || (self.unreported > 0 && self.completed.ranges().len() > limits::COMPLETED_RANGES_MAX)
    }

    /// The report is sent. Returns whether it should ask for `known-completed`, which lets the
    /// set shrink: 0-10, session.completed/known-completed-reply.
    pub fn reported(&mut self) -> bool {
        self.unreported = 0;
        self.due = false;
        self.completed.ranges().len() > limits::COMPLETED_RANGES_MAX / 2
    }

    /// The peer knows these to be completed: they need not be told again.
    pub fn known_completed(&mut self, commands: &SequenceSet) {
        let mut known = SequenceSet::new();
        for (first, last) in self.completed.ranges() {
            known.union(&commands.clipped(*first, *last));
        }
        for (first, last) in known.ranges() {
            self.completed.remove_range(*first, *last);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(first: u32, last: u32) -> SequenceSet {
        SequenceSet::from_range(CommandId(first), CommandId(last))
    }

    #[test]
    fn a_completion_of_ids_never_sent_completes_only_the_sent_ones() {
        let mut sender = Sender::default();
        for _ in 0..3 {
            sender.send();
        }
        assert_eq!(sender.completed(&set(1, 2_000_000_000)), set(1, 2));
        assert_eq!(sender.completed(&set(0, 2)), set(0, 0));
        assert!(sender.incomplete().is_empty());
    }

    #[test]
    fn a_sync_completes_when_everything_before_it_has() {
        let mut receiver = Receiver::default();
        receiver.arrived(CommandId(0), false);
        receiver.sync_arrived(CommandId(1));
        receiver.arrived(CommandId(2), false);
        assert!(receiver.completed().is_empty());
        receiver.complete(&set(0, 0));
        assert_eq!(*receiver.completed(), set(0, 1));
        assert!(receiver.is_due());
    }

    #[test]
    fn known_completed_ids_are_not_reported_again() {
        let mut receiver = Receiver::default();
        for id in 0..4 {
            receiver.arrived(CommandId(id), false);
        }
        receiver.complete(&set(0, 3));
        receiver.known_completed(&set(0, 2));
        assert_eq!(*receiver.completed(), set(3, 3));
    }
}
