//! A queue: messages in the order in which they came, and who wants them.
//!
//! What arguments make of a queue is in files of its own: [`settings`] reads them, [`kind`] is the order
//! in which messages go out, [`policy`], [`flow`] and [`alerts`] are about how many there are, [`rules`]
//! about which come in, [`lifetime`] about when the queue goes.

pub mod alerts;
pub mod flow;
pub mod groups;
pub mod kind;
pub mod last_value;
pub mod lifetime;
mod lines;
pub mod policy;
pub mod priority;
mod purge;
mod remains;
mod replicated;
pub mod rules;
pub mod settings;

use std::collections::BTreeSet;
use std::sync::Arc;

use super::blocks::Blocks;
use super::branch::Promised;
use super::dead::{DeadCounters, DeadLetters, Death};
use super::encoding::{record, record_enum};
use super::facts::Gathered;
use super::held::{Derived, Held, Looked};
use super::ids::{ExchangeId, GroupTime, QueueRef, SessionId, SubscriptionId};
use super::message::{Message, Stored};
use super::plant::{Plant, is_planted};
use super::replication::Generation;
use super::ring::Ring;
use super::subscription::SubscriptionRef;
use super::watched::QueueWatched;
use crate::wire::{Map, Text};

use self::alerts::Alerts;
use self::flow::Flow;
use self::kind::Kind;
use self::lifetime::{Lifetime, LifetimePolicy};
use self::lines::Lines;
use self::policy::Policy;
use self::rules::Rules;
use self::settings::Settings;

pub use self::policy::DepthLimit;
pub use self::remains::Remains;

/// A message in a queue.
#[derive(Clone, Debug, Hash)]
pub struct Entry {
    /// The message.
    pub stored: Stored,
    /// When it is no longer worth delivering; [`GroupTime::NEVER`] for a message without time to
    /// live.
    pub expires: GroupTime,
    /// Whether anybody holds it.
    pub state: EntryState,
    /// Whether it may have been delivered to an application before.
    pub redelivered: bool,
    /// How often it came back after a delivery, where the queue counts that.
    pub deliveries: u32,
}
record!(Entry {
    stored,
    expires,
    state,
    redelivered,
} since 2 {
    deliveries = 0,
});

/// Whether a message can be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EntryState {
    /// It can be acquired.
    Available,
    /// A session has it and has not settled it.
    Acquired,
    /// It was recovered out of its queue, on its way to the alternate exchange: where it comes to it
    /// is flagged, as all that is recovered.
    Recovered,
}
record_enum!(EntryState { 0 = Available, 1 = Acquired, 2 = Recovered });

/// Plain counters, read by management. They count from the queue's making.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct QueueCounters {
    /// Messages enqueued.
    pub enqueues: u64,
    /// Messages dequeued, in whatever way.
    pub dequeues: u64,
    /// Octets enqueued.
    pub bytes_enqueued: u64,
    /// Messages acquired.
    pub acquires: u64,
    /// Messages released.
    pub releases: u64,
    /// Messages dropped because their time had run out.
    pub discards_ttl: u64,
    /// Messages dropped by a rejecting subscriber, with no alternate exchange to take them.
    pub discards_subscriber: u64,
    /// Messages purged.
    pub discards_purge: u64,
    /// Messages refused because the queue was full.
    pub discards_overflow: u64,
    /// Messages given to the alternate exchange.
    pub reroutes: u64,
    /// Messages that made room for others, or came in vain because none made room for them.
    pub discards_ring: u64,
    /// Messages that a later one with their key replaced.
    pub discards_last_value: u64,
    /// Messages that died and went to the alternate exchange, by reason.
    pub dead: DeadCounters,
    /// Persistent messages enqueued.
    pub persistent_enqueues: u64,
    /// Octets of these.
    pub persistent_bytes_enqueued: u64,
    /// Messages that transactions enqueued.
    pub transaction_enqueues: u64,
    /// Octets of these.
    pub transaction_bytes_enqueued: u64,
    /// Messages that transactions dequeued.
    pub transaction_dequeues: u64,
    /// Octets of these.
    pub transaction_bytes_dequeued: u64,
}
record!(QueueCounters {
    enqueues,
    dequeues,
    bytes_enqueued,
    acquires,
    releases,
    discards_ttl,
    discards_subscriber,
    discards_purge,
    discards_overflow,
    reroutes,
} since 2 {
    discards_ring = 0,
    discards_last_value = 0,
    dead = DeadCounters::default(),
} since 3 {
    persistent_enqueues = 0,
    persistent_bytes_enqueued = 0,
    transaction_enqueues = 0,
    transaction_bytes_enqueued = 0,
    transaction_dequeues = 0,
    transaction_bytes_dequeued = 0,
});

/// A queue.
#[derive(Clone, Debug, Hash)]
pub struct Queue {
    /// Its name.
    pub name: Text,
    /// Which of its slot's queues it is.
    pub reference: QueueRef,
    /// Whether it outlives the broker's process.
    pub is_durable: bool,
    /// Whether it goes when it is no longer used.
    pub is_auto_delete: bool,
    /// The session that has it for itself. 0-10: queue.declare exclusive; as in qpidd the owner is
    /// the session, not the connection.
    pub owner: Option<SessionId>,
    /// Where messages go that are rejected, or left when it is deleted.
    pub alternate: Option<ExchangeId>,
    /// As declared; unknown ones are kept and returned.
    pub arguments: Map,
    /// `no-local`: what the connection of its owner or of its exclusive subscription publishes does
    /// not enter it.
    pub is_no_local: bool,
    /// How much it holds.
    pub limit: DepthLimit,
    /// The messages.
    pub entries: Blocks<Entry>,
    /// How many of them can be acquired.
    pub available: u64,
    /// No message before this position can be acquired.
    pub hint: u64,
    /// Octets of all messages.
    pub bytes: u64,
    /// How many messages have a time to live.
    pub expiring: u64,
    /// How many messages are persistent.
    pub persistent: u64,
    /// How many messages have been rejected and stand in facts until they are rerouted.
    pub rejecting: u64,
    /// All subscriptions.
    pub subscriptions: BTreeSet<SubscriptionId>,
    /// Acquiring subscriptions that have credit.
    pub ready: Ring,
    /// Browsing subscriptions that have credit.
    pub browsers: Ring,
    /// Subscriptions with a `message.flush` that is not done.
    pub flushing: BTreeSet<SubscriptionId>,
    /// Acquiring subscriptions with a selector: their cursors go back when a message comes back.
    pub selecting: BTreeSet<SubscriptionId>,
    /// The subscription that has the queue for itself.
    pub exclusive_subscription: Option<SubscriptionId>,
    /// Whether it has been used, so that auto-delete applies.
    pub was_used: bool,
    /// Exchanges that hold bindings of it.
    pub bound_to: BTreeSet<ExchangeId>,
    /// Whether a dispatch of it waits among the core's work.
    pub is_dispatch_pending: bool,
    /// Counters.
    pub counters: QueueCounters,
    /// What of it was looked at, to page it out.
    pub looked: Looked,
    /// What becomes of a message that would be too much.
    pub policy: Policy,
    /// In which order messages go out, and to whom.
    pub kind: Kind,
    /// When publishers are held back.
    pub flow: Flow,
    /// When an alert is due.
    pub alerts: Alerts,
    /// Depths outside of which something follows.
    lines: Lines,
    /// Which messages come in, and what is added to them.
    pub rules: Option<Box<Rules>>,
    /// When it goes by itself.
    pub lifetime: Lifetime,
    /// Whether nobody takes messages away.
    pub is_browse_only: bool,
    /// Room that prepared branches will take.
    pub promised: Promised,
    /// What becomes of messages that die in it.
    pub dead_letters: DeadLetters,
    /// Octets of its persistent messages.
    pub persistent_bytes: u64,
    /// When it was made.
    pub created: GroupTime,
    /// The user that made it; empty for one that was recovered.
    pub creator: Text,
    /// How many bindings it has.
    pub binding_count: u32,
    /// How high and low some of its numbers were.
    pub watched: QueueWatched,
    /// Octets of what its kind keeps, as they are counted in [`Held`].
    index_bytes: Derived,
    /// Of what it gives events.
    pub generation: Generation,
    /// Whether others know its messages by their positions, so that none may be given twice: not even
    /// after a crash, of messages that leave no facts since they are not durable, or gone at once.
    pub keeps_positions: bool,
    /// Positions before this one may have been given: as it stands in a fact.
    kept_before: u64,
}
record!(Queue {
    name,
    reference,
    is_durable,
    is_auto_delete,
    owner,
    alternate,
    arguments,
    is_no_local,
    limit,
    entries,
    available,
    hint,
    bytes,
    expiring,
    persistent,
    rejecting,
    subscriptions,
    ready,
    browsers,
    flushing,
    selecting,
    exclusive_subscription,
    was_used,
    bound_to,
    is_dispatch_pending,
    counters,
    looked,
} since 2 {
    policy = Policy::Reject,
    kind = Kind::Fifo,
    flow = Flow::default(),
    alerts = Alerts::default(),
    lines = Lines::default(),
    rules = None,
    lifetime = Lifetime::default(),
    is_browse_only = false,
    promised = Promised::default(),
    dead_letters = DeadLetters::default(),
} since 3 {
    persistent_bytes = 0,
    created = GroupTime(0),
    creator = Text::default(),
    binding_count = 0,
    watched = QueueWatched::default(),
    index_bytes = Derived::default(),
    generation = Generation::None,
    keeps_positions = false,
    kept_before = 0,
});

impl QueueCounters {
    /// Adds what another queue has counted.
    pub fn add(&mut self, other: &QueueCounters) {
        self.enqueues += other.enqueues;
        self.dequeues += other.dequeues;
        self.bytes_enqueued += other.bytes_enqueued;
        self.acquires += other.acquires;
        self.releases += other.releases;
        self.discards_ttl += other.discards_ttl;
        self.discards_subscriber += other.discards_subscriber;
        self.discards_purge += other.discards_purge;
        self.discards_overflow += other.discards_overflow;
        self.reroutes += other.reroutes;
        self.discards_ring += other.discards_ring;
        self.discards_last_value += other.discards_last_value;
        self.dead.add(&other.dead);
        self.persistent_enqueues += other.persistent_enqueues;
        self.persistent_bytes_enqueued += other.persistent_bytes_enqueued;
        self.transaction_enqueues += other.transaction_enqueues;
        self.transaction_bytes_enqueued += other.transaction_bytes_enqueued;
        self.transaction_dequeues += other.transaction_dequeues;
        self.transaction_bytes_dequeued += other.transaction_bytes_dequeued;
    }
}

impl Queue {
    /// An empty queue.
    pub fn new(name: Text, reference: QueueRef) -> Queue {
        Queue {
            name,
            reference,
            is_durable: false,
            is_auto_delete: false,
            owner: None,
            alternate: None,
            arguments: Map::new(),
            is_no_local: false,
            limit: DepthLimit::default(),
            entries: Blocks::starting_at(1),
            available: 0,
            hint: 1,
            bytes: 0,
            expiring: 0,
            persistent: 0,
            rejecting: 0,
            subscriptions: BTreeSet::new(),
            ready: Ring::default(),
            browsers: Ring::default(),
            flushing: BTreeSet::new(),
            selecting: BTreeSet::new(),
            exclusive_subscription: None,
            was_used: false,
            bound_to: BTreeSet::new(),
            is_dispatch_pending: false,
            counters: QueueCounters::default(),
            looked: Looked::default(),
            policy: Policy::default(),
            kind: Kind::default(),
            flow: Flow::default(),
            alerts: Alerts::default(),
            lines: Lines::default(),
            rules: None,
            lifetime: Lifetime::default(),
            is_browse_only: false,
            promised: Promised::default(),
            dead_letters: DeadLetters::default(),
            persistent_bytes: 0,
            created: GroupTime(0),
            creator: Text::default(),
            binding_count: 0,
            watched: QueueWatched::default(),
            index_bytes: Derived::default(),
            generation: Generation::None,
            keeps_positions: false,
            kept_before: 0,
        }
    }

    /// Takes what follows from the queue's arguments. Messages that are there are counted in, as if they
    /// had just come; nobody is told of what follows.
    pub fn settle_in(&mut self, settings: Settings) {
        self.limit = settings.limit;
        self.policy = settings.policy;
        self.kind = settings.kind;
        self.flow = settings.flow;
        self.alerts = settings.alerts;
        self.rules = settings.rules;
        self.lifetime = settings.lifetime;
        self.is_browse_only = settings.is_browse_only;
        self.dead_letters = settings.dead_letters;
        self.is_no_local = settings.is_no_local;
        self.generation = settings.generation;
        let numbers = self.rules.as_ref().is_some_and(|rules| rules.number());
        self.keeps_positions = numbers || self.generation != Generation::None;
        if let Some(is_auto_delete) = settings.is_auto_delete {
            self.is_auto_delete = is_auto_delete;
        }
        self.fill_kind();
        self.look_again();
    }

    /// Tells a new kind of the messages that are there.
    fn fill_kind(&mut self) {
        for (position, entry) in self.entries.iter() {
            let message = &entry.stored.message;
            self.kind.entered(position, message);
            if entry.state == EntryState::Acquired {
                let nobody = SubscriptionRef::default();
                self.kind.acquired(position, message.priority, nobody);
            }
        }
    }

    /// Messages that somebody has acquired.
    #[inline]
    pub fn unacknowledged(&self) -> u64 {
        self.entries.len().saturating_sub(self.available)
    }

    /// It has one binding more at an exchange.
    pub fn bound(&mut self, exchange: ExchangeId) {
        self.bound_to.insert(exchange);
        self.binding_count += 1;
        self.watched.bindings.rise(self.binding_count.into());
    }

    /// It has one binding less at an exchange, and the last there if it is said so.
    pub fn unbound(&mut self, exchange: ExchangeId, was_last: bool) {
        self.binding_count -= 1;
        self.watched.bindings.sink(self.binding_count.into());
        if was_last {
            self.bound_to.remove(&exchange);
        }
    }

    /// Counts what snapshots before the third format did not have.
    pub fn count_anew(&mut self) {
        let persistent = self
            .entries
            .iter()
            .filter(|(_, entry)| entry.stored.message.is_persistent);
        self.persistent_bytes = persistent
            .map(|(_, entry)| entry.stored.message.size())
            .sum();
    }

    /// Whether so many messages and octets more would pass a limit.
    #[inline]
    pub fn is_overfull_with(&self, count: u64, bytes: u64) -> bool {
        self.limit.is_passed(self.depth_to_be(), (count, bytes))
    }

    /// Messages and octets, with those that prepared branches will bring.
    fn depth_to_be(&self) -> (u64, u64) {
        let Promised { count, bytes } = self.promised;
        (self.entries.len() + count, self.bytes + bytes)
    }

    /// Why `count` messages of `bytes` in all are refused, when they are: the queue would be too full
    /// and makes no room for them. The text is qpidd's, which tools and tests look into.
    pub fn overflow_by(&self, count: u64, bytes: u64) -> Option<String> {
        let is_refusing = self.policy == Policy::Reject;
        (is_refusing && self.is_overfull_with(count, bytes))
            .then(|| self.overflow_text(count, bytes))
    }

    /// What a publisher is told whose messages are too many.
    pub fn overflow_text(&self, count: u64, bytes: u64) -> String {
        let part = |n: Option<u64>| n.map_or("unlimited".to_owned(), |n| n.to_string());
        let (depth, depth_bytes) = self.depth_to_be();
        format!(
            "Maximum depth exceeded on {}: current=[count: {}, size: {}], \
             max=[count: {}, size: {}], increment=[count: {count}, size: {bytes}]",
            self.name,
            depth,
            depth_bytes,
            part(self.limit.count),
            part(self.limit.bytes),
        )
    }

    /// Appends a message. The caller has looked at the limits.
    pub fn enqueue(
        &mut self,
        stored: Stored,
        expires: GroupTime,
        held: &mut Held,
        facts: &mut Gathered,
    ) -> u64 {
        self.hold(&stored, held);
        let is_persistent = stored.message.is_persistent;
        if self.is_durable && is_persistent {
            facts.enqueued(self.reference, self.entries.tail(), &stored, expires);
        }
        if self.keeps_positions {
            self.keep_positions(facts);
        }
        if self.generation != Generation::None {
            self.say_came(&stored.message, facts);
        }
        let bytes = stored.message.size();
        if is_persistent {
            self.count_persistent(bytes);
        }
        self.bytes += bytes;
        self.counters.enqueues += 1;
        self.counters.bytes_enqueued += bytes;
        self.expiring += u64::from(expires != GroupTime::NEVER);
        let state = EntryState::Available;
        self.kind.entered(self.entries.tail(), &stored.message);
        let position = self.entries.push(Entry {
            stored,
            expires,
            state,
            redelivered: false,
            deliveries: 0,
        });
        self.count_index(held);
        if self.available == 0 {
            self.hint = position;
        }
        self.available += 1;
        self.stir();
        self.has_grown(facts);
        position
    }

    /// Flags the message that came last as one that may have been delivered before.
    pub fn flag_last(&mut self) {
        let last = self.entries.tail().saturating_sub(1);
        if let Some(entry) = self.entries.get_mut(last) {
            entry.redelivered = true;
        }
    }

    /// Puts a message back into the place that it had, behind all that are there.
    pub fn restore(&mut self, position: u64, entry: Entry, held: &mut Held) {
        self.hold(&entry.stored, held);
        let bytes = entry.stored.message.size();
        self.bytes += bytes;
        self.counters.enqueues += 1;
        self.counters.bytes_enqueued += bytes;
        self.expiring += u64::from(entry.expires != GroupTime::NEVER);
        if entry.stored.message.is_persistent {
            self.count_persistent(bytes);
        }
        if self.available == 0 {
            self.hint = position;
        }
        self.available += 1;
        self.kind.entered(position, &entry.stored.message);
        self.entries.push_at(position, entry);
        self.count_index(held);
    }

    /// Counts what the kind keeps, of which a plain queue has nothing.
    #[inline]
    fn count_index(&mut self, held: &mut Held) {
        if !matches!(self.kind, Kind::Fifo) {
            let now = self.kind.bytes(self.entries.len());
            held.change(self.index_bytes.0, now);
            self.index_bytes.0 = now;
        }
    }

    /// Counts the same of a queue of a core that was decoded, of which nothing is counted.
    pub fn count_index_anew(&mut self, held: &mut Held) {
        self.index_bytes = Derived::default();
        self.kind.count_anew();
        self.count_index(held);
    }

    /// The queue is gone, with what its kind kept.
    pub fn forget_index(&mut self, held: &mut Held) {
        held.change(self.index_bytes.0, 0);
        self.index_bytes = Derived::default();
    }

    fn count_persistent(&mut self, bytes: u64) {
        self.persistent += 1;
        self.persistent_bytes += bytes;
        self.counters.persistent_enqueues += 1;
        self.counters.persistent_bytes_enqueued += bytes;
    }

    #[inline]
    fn hold(&mut self, stored: &Stored, held: &mut Held) {
        held.come(&stored.message);
        if !self.looked.is_listed {
            self.looked.is_listed = true;
            held.list(self.reference.id.0);
        }
    }

    /// A message has come, or come back.
    fn stir(&mut self) {
        self.ready.stir();
        self.browsers.stir();
    }

    /// An available message has gone.
    fn stir_short(&mut self) {
        self.ready.stir_short();
        self.browsers.stir_short();
    }

    /// Gives an available message to a session. None when it is gone or another has it.
    pub fn acquire(&mut self, position: u64, by: SubscriptionRef) -> Option<&Entry> {
        let entry = self.entries.get_mut(position)?;
        if entry.state == EntryState::Acquired || !self.kind.is_open(position, by) {
            return None;
        }
        if is_planted(Plant::OfferedTwice) && position.is_multiple_of(7) {
            return self.entries.get(position);
        }
        entry.state = EntryState::Acquired;
        self.kind
            .acquired(position, entry.stored.message.priority, by);
        self.available -= 1;
        let unacknowledged = self.unacknowledged();
        self.watched.unacknowledged.rise(unacknowledged);
        self.counters.acquires += 1;
        if self.hint == position {
            self.hint = position + 1;
        }
        self.stir_short();
        self.entries.get(position)
    }

    /// A message as it goes out.
    pub fn delivered(&self, position: u64, entry: &Entry) -> Arc<Message> {
        match &self.rules {
            None => entry.stored.message.clone(),
            Some(rules) => rules.delivered(position, entry),
        }
    }

    /// Takes an acquired message back into its place. False when it is gone.
    pub fn release(&mut self, position: u64, set_redelivered: bool, facts: &mut Gathered) -> bool {
        let Some(entry) = self.entries.get_mut(position) else {
            return false;
        };
        if entry.state == EntryState::Available {
            return false;
        }
        entry.state = EntryState::Available;
        entry.redelivered |= set_redelivered;
        self.kind.released(position, entry.stored.message.priority);
        self.hint = if self.available == 0 {
            position
        } else if is_planted(Plant::ReleasedOutOfSight) {
            self.hint
        } else {
            self.hint.min(position)
        };
        self.available += 1;
        let unacknowledged = self.unacknowledged();
        self.watched.unacknowledged.sink(unacknowledged);
        self.counters.releases += 1;
        self.stir();
        if self.kind.has_opened() {
            facts.touch(self.reference.id);
        }
        true
    }

    /// Counts a delivery of an acquired message that came to nothing. True when there may be no more.
    pub fn has_been_delivered_too_often(&mut self, position: u64, facts: &mut Gathered) -> bool {
        let max = self.dead_letters.deliveries_max;
        let entry = self.entries.get_mut(position);
        let Some(entry) = entry.filter(|entry| max > 0 && entry.state == EntryState::Acquired)
        else {
            return false;
        };
        entry.deliveries = entry.deliveries.saturating_add(1);
        let is_over = entry.deliveries >= max;
        // Of one that dies what its copy says is a fact of its own.
        if !is_over && self.is_durable && entry.stored.message.is_persistent {
            facts.given_back(self.reference, position, entry.deliveries);
        }
        is_over
    }

    /// Takes a message away for good. False when it is gone.
    pub fn dequeue(&mut self, position: u64, held: &mut Held, facts: &mut Gathered) -> bool {
        let entry = self.take_out(position, facts);
        if let Some(entry) = &entry {
            held.leave(&entry.stored.message);
            self.count_index(held);
        }
        if let Some(entry) = &entry
            && self.is_durable
            && entry.stored.message.is_persistent
            && !is_planted(Plant::AcceptNotSaid)
        {
            facts.dequeued(self.reference, position);
        }
        entry.is_some()
    }

    /// Takes a message away that is yet to go to the alternate exchange: it still counts as held. When
    /// that exchange is durable the message still is, until a [`Remains`] has rerouted it.
    pub fn leave(
        &mut self,
        position: u64,
        has_durable_alternate: bool,
        death: Option<&Death>,
        (held, facts): (&mut Held, &mut Gathered),
    ) -> Option<Entry> {
        let entry = self.take_out(position, facts)?;
        self.count_index(held);
        match self.is_durable && entry.stored.message.is_persistent {
            true if has_durable_alternate => {
                facts.left_for_alternate(self.reference, position, death);
                self.rejecting += 1;
            }
            true => facts.dequeued(self.reference, position),
            false => {}
        }
        Some(entry)
    }

    #[inline]
    fn take_out(&mut self, position: u64, facts: &mut Gathered) -> Option<Entry> {
        let entry = self.entries.remove(position)?;
        if self.generation == Generation::All {
            self.say_left(position, &entry.stored.message, facts);
        }
        let bytes = entry.stored.message.size();
        if entry.stored.message.is_persistent {
            self.persistent -= 1;
            self.persistent_bytes -= bytes;
        }
        self.bytes -= bytes;
        self.expiring -= u64::from(entry.expires != GroupTime::NEVER);
        if entry.state == EntryState::Available {
            self.available -= 1;
            self.stir_short();
        } else {
            let unacknowledged = self.unacknowledged();
            self.watched.unacknowledged.sink(unacknowledged);
        }
        let was_available = entry.state == EntryState::Available;
        self.kind
            .left(position, entry.stored.message.priority, was_available);
        self.counters.dequeues += 1;
        self.has_shrunk(position, facts);
        Some(entry)
    }

    /// A position before which no message is that a fact could still name.
    pub fn gone_before(&self) -> u64 {
        match self.rejecting {
            0 => self.entries.head(),
            _ => 0,
        }
    }

    /// Whether auto-delete applies now: it has been used, and what its lifetime policy asks holds.
    pub fn is_unused(&self) -> bool {
        let is_unsubscribed = self.subscriptions.is_empty();
        self.is_auto_delete
            && self.was_used
            && self.owner.is_none()
            && match self.lifetime.policy {
                LifetimePolicy::Unused | LifetimePolicy::OnClose => is_unsubscribed,
                LifetimePolicy::UnusedAndEmpty => is_unsubscribed && self.entries.is_empty(),
            }
    }

    /// Whether another session than `session` has the queue for itself.
    pub fn is_locked_for(&self, session: Option<SessionId>) -> bool {
        self.owner.is_some() && self.owner != session
    }
}
