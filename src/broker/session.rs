//! A session: the two command sequences, what was delivered and is not settled, what is subscribed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::blocks::Blocks;
use super::credit::Room;
use super::encoding::record;
use super::ids::{
    ChannelKey, ConnectionId, ConnectionKey, ExchangeId, GroupTime, QueueId, QueueRef,
    SubscriptionId,
};
use super::kept::{Kept, Outgoing, Replay};
use super::limits;
use super::publishes::Publishes;
use super::subscription::SubscriptionRef;
use crate::wire::{CommandId, SequenceSet, Text};

/// A session's name: the authenticated user and what the client chose. 0-10: session.attach/scoping.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionName {
    /// The user.
    pub user: Text,
    /// The client's own octets.
    pub name: Arc<[u8]>,
}
record!(SessionName { user, name });

/// A delivery that is not settled, or not known to have been received.
#[derive(Clone, Debug, Hash)]
pub struct Unsettled {
    /// The queue it came from.
    pub queue: QueueRef,
    /// The message's place there.
    pub position: u64,
    /// The subscription.
    pub subscription: SubscriptionRef,
    /// The room it takes in the subscription's window.
    pub room: Room,
    /// Whether the session has acquired the message and not settled it.
    pub is_acquired: bool,
    /// Whether it was accepted in the open transaction.
    pub is_in_transaction: bool,
    /// Whether an acquired message is settled at once (accept mode none).
    pub is_implicit: bool,
    /// Whether the client has yet to say that it received it, and something comes of that: credit
    /// comes back, or a browsed message can no longer be acquired.
    pub awaits_completion: bool,
}
record!(Unsettled {
    queue,
    position,
    subscription,
    room,
    is_acquired,
    is_in_transaction,
    is_implicit,
    awaits_completion,
});

impl Unsettled {
    /// Whether nothing can come of it any more.
    pub fn is_over(&self) -> bool {
        !self.is_acquired && !self.awaits_completion
    }
}

/// The client's commands.
#[derive(Clone, Debug, Hash, Default)]
pub struct Incoming {
    /// The number of the next command.
    pub next: CommandId,
    /// Completed and not known by the client to be.
    pub completed: SequenceSet,
    /// Begun and not done: what they ask takes longer than an entry, or waits for headroom.
    pub pending: SequenceSet,
    /// `execution.sync` commands that wait for a pending command before them.
    pub waiting: SequenceSet,
    /// Transfers of which `message.accept` is still to be sent.
    pub accepted: SequenceSet,
    /// Whether completions are to be told at the end of the batch.
    pub is_telling: bool,
    /// Commands from `next` on that will never come.
    pub gaps: SequenceSet,
    /// Transfers of which `message.reject` is still to be sent, since they went nowhere.
    pub unroutable: SequenceSet,
    /// The same, since nobody was ready for them.
    pub not_immediate: SequenceSet,
}
record!(Incoming {
    next,
    completed,
    pending,
    waiting,
    accepted,
    is_telling
} since 2 {
    gaps = SequenceSet::new(),
    unroutable = SequenceSet::new(),
    not_immediate = SequenceSet::new(),
});

impl Incoming {
    /// Whether a command that was taken is yet to be done.
    pub fn is_pending(&self, command: CommandId) -> bool {
        self.pending.contains(command) || self.waiting.contains(command)
    }

    /// How many pieces it is kept in.
    pub fn ranges(&self) -> usize {
        self.completed.ranges().len() + self.pending.ranges().len() + self.waiting.ranges().len()
    }

    /// The command behind one that has come: those that will never come are passed over.
    #[inline]
    pub fn go_on_behind(&mut self, command: CommandId) {
        self.next = command.next();
        if !self.gaps.is_empty() {
            self.pass_gaps();
        }
    }

    /// Passes over commands that will never come. Gaps before the next command are forgotten.
    pub fn pass_gaps(&mut self) {
        while let Some((first, last)) = self.gaps.ranges().first().copied() {
            if self.next.precedes(first) {
                return;
            }
            if self.next.at_or_before(last) {
                self.next = last.next();
            }
            self.gaps.remove_range(first, last);
        }
    }

    /// Pending commands are done, and with them the syncs that waited for no other.
    pub fn finish(&mut self, commands: &SequenceSet) {
        for (first, last) in commands.ranges() {
            self.pending.remove_range(*first, *last);
            self.completed.insert_range(*first, *last);
        }
        let mut waiting = SequenceSet::new();
        let next = self.pending.first();
        for (first, last) in std::mem::take(&mut self.waiting).ranges() {
            match next {
                Some(next) if next.precedes(*first) => waiting.insert_range(*first, *last),
                _ => self.completed.insert_range(*first, *last),
            };
        }
        self.waiting = waiting;
    }
}

/// Messages that an open transaction publishes, and what it accepts.
#[derive(Clone, Debug, Hash, Default)]
pub struct Transaction {
    /// In order of publishing: message and the queues it was routed to.
    pub publishes: Publishes,
    /// Octets that the publishes take.
    pub bytes: u64,
    /// Outgoing numbers of accepted deliveries.
    pub accepts: SequenceSet,
}
record!(Transaction {
    publishes,
    bytes,
    accepts
});

/// A transfer that queues hold back: see `queue/flow.rs`.
#[derive(Clone, Debug, Hash, Default)]
pub struct Held {
    /// Where its message stands, in queues that hold it back or did.
    pub places: Vec<(QueueRef, u64)>,
    /// How many of these hold it back no longer.
    pub released: u32,
    /// Whether all of its queues are known.
    pub is_whole: bool,
    /// Whether its client wants `message.accept` for it.
    pub wants_accept: bool,
}
record!(Held {
    places,
    released,
    is_whole,
    wants_accept
});

/// A session.
#[derive(Clone, Debug, Hash)]
pub struct Session {
    /// Its name.
    pub name: SessionName,
    /// The connection it is attached to.
    pub connection: ConnectionKey,
    /// The connection's slot.
    pub connection_id: ConnectionId,
    /// The channel.
    pub channel: u16,
    /// The client's commands.
    pub incoming: Incoming,
    /// The number of the broker's next command, as a count that does not wrap.
    pub outgoing_next: u64,
    /// Broker's commands that the client has completed: a client repeats itself until it is told
    /// that this is known, and repetitions must cost nothing.
    pub outgoing_completed: SequenceSet,
    /// Deliveries by that count.
    pub unsettled: Blocks<Unsettled>,
    /// Subscriptions by destination.
    pub subscriptions: BTreeMap<Text, SubscriptionId>,
    /// Subscriptions that wait for headroom or settling.
    pub starved: Vec<SubscriptionId>,
    /// The open transaction, once the session is transactional.
    pub transaction: Option<Transaction>,
    /// Queues it has for itself.
    pub owned: BTreeSet<QueueId>,
    /// Bindings that end with it: exchange, queue, key.
    pub scoped_bindings: BTreeSet<ScopedBinding>,
    /// Queues that it was subscribed to, to be looked at for auto-delete when it has ended.
    pub left: BTreeSet<QueueId>,
    /// Whether it is ending: it takes no commands and its messages are being given back.
    pub is_ending: bool,
    /// Whether the client is to be told when it has ended.
    pub detached_reply: bool,
    /// Transfers of the client that queues hold back, by command.
    pub held: BTreeMap<u32, Held>,
    /// What it keeps to be resumed; None for one that ends with its connection.
    pub kept: Option<Box<Kept>>,
    /// When it was attached first.
    pub created: GroupTime,
    /// Counters.
    pub counters: SessionCounters,
    /// Whether its client is a link.
    pub is_of_link: bool,
}
record!(Session {
    name,
    connection,
    connection_id,
    channel,
    incoming,
    outgoing_next,
    outgoing_completed,
    unsettled,
    subscriptions,
    starved,
    transaction,
    owned,
    scoped_bindings,
    left,
    is_ending,
    detached_reply,
} since 2 {
    held = BTreeMap::new(),
    kept = None,
} since 3 {
    created = GroupTime(0),
    counters = SessionCounters::default(),
    is_of_link = false,
});

/// Plain counters of a session, read by management.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SessionCounters {
    /// Transactions begun.
    pub transactions: u64,
    /// Transactions committed.
    pub commits: u64,
    /// Transactions rolled back, or failed.
    pub rollbacks: u64,
}
record!(SessionCounters {
    transactions,
    commits,
    rollbacks
});

/// A binding with `x-scope` = `session`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ScopedBinding {
    /// The exchange.
    pub exchange: ExchangeId,
    /// The queue.
    pub queue: QueueRef,
    /// The key.
    pub key: Text,
}
record!(ScopedBinding {
    exchange,
    queue,
    key
});

impl Session {
    /// A session that has just been attached.
    pub fn new(
        name: SessionName,
        (connection, connection_id): (ConnectionKey, ConnectionId),
        channel: u16,
    ) -> Session {
        Session {
            name,
            connection,
            connection_id,
            channel,
            incoming: Incoming::default(),
            outgoing_next: 0,
            outgoing_completed: SequenceSet::new(),
            unsettled: Blocks::starting_at(0),
            subscriptions: BTreeMap::new(),
            starved: Vec::new(),
            transaction: None,
            owned: BTreeSet::new(),
            scoped_bindings: BTreeSet::new(),
            left: BTreeSet::new(),
            is_ending: false,
            detached_reply: false,
            held: BTreeMap::new(),
            kept: None,
            created: GroupTime(0),
            counters: SessionCounters::default(),
            is_of_link: false,
        }
    }

    /// Where it is attached.
    pub fn at(&self) -> ChannelKey {
        ChannelKey {
            connection: self.connection.number,
            channel: self.channel,
        }
    }

    /// Takes the next outgoing command number.
    pub fn take_outgoing(&mut self) -> CommandId {
        let id = CommandId(self.outgoing_next as u32);
        self.outgoing_next += 1;
        id
    }

    /// The counts of outgoing commands, lowest and highest first, that `set` names and that can have
    /// a delivery. Ranges that a peer makes up cost nothing: they are cut to what is open.
    pub fn unsettled_ranges(&self, set: &SequenceSet) -> Vec<(u64, u64)> {
        let next = self.outgoing_next;
        // Ids mean something within half of all of them: a delivery that has stayed open for longer
        // can no longer be named, and must not hide those that can.
        let head = self.unsettled.head().max(next.saturating_sub(1 << 31));
        if self.unsettled.is_empty() || head >= next {
            return Vec::new();
        }
        let (first, last) = (CommandId(head as u32), CommandId((next - 1) as u32));
        let base = head;
        let cut = set.clipped(first, last);
        let count = |id: &CommandId| base + u64::from(id.0.wrapping_sub(first.0));
        cut.ranges()
            .iter()
            .map(|(from, to)| (count(from), count(to)))
            .collect()
    }

    /// Whether its client has settled too little to be sent more.
    pub fn is_full(&self) -> bool {
        let is_kept_full = self.kept.as_ref().is_some_and(|kept| kept.is_full());
        self.unsettled.len() >= limits::UNSETTLED_PER_SESSION_MAX as u64 || is_kept_full
    }

    /// Whether it can be sent no new message now.
    pub fn is_choked(&self) -> bool {
        self.is_full() || self.kept.as_ref().is_some_and(|kept| !kept.is_live())
    }

    /// The broker's commands that are yet to be sent again.
    pub fn untold(&self) -> Option<SequenceSet> {
        let kept = self.kept.as_ref()?;
        let first = match kept.replay {
            Replay::Done => return None,
            Replay::Awaited => kept.first,
            Replay::From(count) => count,
        };
        let last = self
            .outgoing_next
            .checked_sub(1)
            .filter(|last| first <= *last)?;
        let (first, last) = (CommandId(first as u32), CommandId(last as u32));
        Some(SequenceSet::from_range(first, last))
    }

    /// Whether nothing has come of it or gone to it. One that was granted a timeout is known.
    pub fn is_new(&self) -> bool {
        if self.kept.is_some() {
            return false;
        }
        let is_first = self.incoming.next == CommandId(0) && self.outgoing_next == 0;
        is_first && self.incoming.ranges() == 0
    }

    /// Whether it outlives its connection.
    pub fn is_kept(&self) -> bool {
        self.kept.as_ref().is_some_and(|kept| kept.timeout > 0)
    }

    /// When it ends, if it has no connection.
    pub fn deadline(&self) -> Option<GroupTime> {
        self.kept.as_ref()?.deadline
    }

    /// Keeps the broker's next command if it may have to be sent again. True when it is to be told
    /// at once.
    #[inline]
    pub fn note_outgoing(&mut self, outgoing: impl FnOnce() -> Outgoing) -> bool {
        match &mut self.kept {
            None => true,
            Some(kept) => kept.note(self.outgoing_next, outgoing()),
        }
    }
}
