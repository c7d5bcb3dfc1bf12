//! A core made of facts.
//!
//! [`Recovery`] takes the records of a journal in the order in which they lie there, once, and gives
//! the core that wrote them: its durable exchanges, queues and bindings, and the messages in their
//! places. What is not in facts begins anew: no connection, session or subscription is left, and
//! counters start again, but for those of what a queue holds.
//!
//! As in qpidd:
//! - Every recovered message may have been delivered before, and is flagged so.
//! - A durable queue that was exclusive belongs to nobody, since its owner was a session. One that is
//!   auto-delete stays until it has been used again and is no longer.
//! - An alternate exchange that was not durable is none any more.
//! - A branch that was prepared still is, and waits for its outcome; others are no more.
//! - Messages whose time has run out, the time the broker was down included, are dropped as they
//!   are when it runs: they are not delivered, and do not go to an alternate exchange. The core has
//!   work for that at once.
//!
//! Not as in qpidd, which lets the time to live begin again: it goes on.
//!
//! Where a repair has set records aside, what is left may speak of what only those declared, and
//! what only those deleted is still there. See [`Recovery::pass_over`].

mod branches;
mod places;
mod spans;

use std::collections::BTreeMap;

use self::branches::Prepareds;
use self::places::{Fate, Places, Recovered};
use super::blocks::Blocks;
use super::core::{Core, Work};
use super::dead::Death;
use super::encoding::{EncodingError, MessageBy};
use super::exchange::{BindError, Kind};
use super::exchanges::Exchange;
use super::facts::{
    BindingDefinition, Definitions, Dequeued, Died, Enqueued, ExchangeDefinition, Fact, FactRecord,
    GivenBack, Prepared, QueueDefinition, Rejected,
};
use super::held::Held;
use super::ids::{ConnectionKey, ExchangeId, QueueId, QueueKey, QueueRef, ShardId};
use super::links::{BridgeDefinition, LinkDefinition};
use super::message::Stored;
use super::options::Options;
use super::plant::{Plant, is_planted};
use super::queue::settings::Settings;
use super::queue::{Entry, EntryState, Queue, Remains};
use crate::wire::{Map, Text};

/// Definition facts that contradict each other: records are missing, or were given in another order
/// than they were written in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contradiction {
    /// What cannot be.
    pub what: &'static str,
    /// Of which exchange or queue; empty where only a key is known.
    pub name: Text,
    /// The index of the record that said so.
    pub index: u64,
}

impl std::fmt::Display for Contradiction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Contradiction { what, name, index } = self;
        write!(f, "facts contradict each other at index {index}: {what}")?;
        match name.as_str() {
            "" => Ok(()),
            name => write!(f, " ({name})"),
        }
    }
}

impl std::error::Error for Contradiction {}

/// What cannot be, whatever records are missing, and of what.
type Wrong = (&'static str, Text);

/// See the module.
///
/// Memory goes by what lives, and by the gaps between messages that have left: those are known until
/// the end, since a copy of what brought them may still come.
#[derive(Debug)]
pub struct Recovery {
    /// All but the messages.
    core: Core,
    places: BTreeMap<QueueKey, Places>,
    /// Deleted queues whose messages go on to an exchange.
    rerouting: BTreeMap<QueueKey, ExchangeId>,
    prepared: Prepareds,
    /// The index of the record that is being taken.
    reading: u64,
    /// The first of all contradictions.
    contradiction: Option<Contradiction>,
    /// The first that missing records do not explain.
    unexplained: Option<Contradiction>,
    /// Contradictions that missing records explain.
    explained: u64,
}

impl Recovery {
    /// Begins with a core that has decided nothing. `options` are those that the broker starts with:
    /// what a queue holds at most follows from its arguments and them.
    pub fn new(shard: ShardId, options: Options) -> Recovery {
        Recovery {
            core: Core::new(shard, options).at_most_level(),
            places: BTreeMap::new(),
            rerouting: BTreeMap::new(),
            prepared: Prepareds::default(),
            reading: 0,
            contradiction: None,
            unexplained: None,
            explained: 0,
        }
    }

    /// Takes the next record, encoded. Messages are made of what stands in it, their bodies in memory.
    ///
    /// # Errors
    /// When the octets are no record; nothing of it is taken then.
    pub fn take(&mut self, record: &[u8]) -> Result<(), EncodingError> {
        self.take_record(FactRecord::decode_with(record, None)?);
        Ok(())
    }

    /// As [`Recovery::take`], but `make` makes the messages: it is given each as it stands in the
    /// record, with its offset.
    ///
    /// # Errors
    /// As for `take`, and what `make` gives.
    pub fn take_with<'a>(
        &mut self,
        record: &'a [u8],
        make: MessageBy<'a>,
    ) -> Result<(), EncodingError> {
        self.take_record(FactRecord::decode_with(record, Some(make))?);
        Ok(())
    }

    /// Takes the next record.
    pub fn take_record(&mut self, record: FactRecord) {
        self.core.index = self.core.index.max(record.index);
        self.core.time = self.core.time.max(record.time);
        self.reading = record.index;
        for fact in record.facts {
            if let Err((what, name)) = self.take_fact(fact) {
                let found = self.note(what, name);
                self.unexplained.get_or_insert(found);
            }
        }
    }

    /// Notes a contradiction, and gives it. The first is what went wrong; what follows from it helps
    /// nobody.
    fn note(&mut self, what: &'static str, name: Text) -> Contradiction {
        let found = Contradiction {
            what,
            name,
            index: self.reading,
        };
        self.contradiction.get_or_insert(found.clone());
        found
    }

    /// What would be a contradiction if no record were missing: the fact, or this part of it, is passed
    /// over.
    fn misses(&mut self, what: &'static str, name: Text) {
        self.note(what, name);
        self.explained += 1;
    }

    /// Records are known to be missing, since a repair has set them aside, so that contradictions which
    /// that explains are none. What refers to an exchange or a queue that was declared there is passed
    /// over: bindings, deletions, alternate exchanges, who made a queue. What must have been deleted
    /// there, since its name is taken anew or its alternate exchange goes, is deleted. Gives how often
    /// that was so since the last checkpoint of definitions.
    pub fn pass_over(&mut self) -> u64 {
        self.contradiction = self.unexplained.take();
        std::mem::take(&mut self.explained)
    }

    fn take_fact(&mut self, fact: Fact) -> Result<(), Wrong> {
        match fact {
            Fact::Enqueued(fact) => self.enqueued(fact),
            Fact::Dequeued(fact) => self.dequeued(&fact),
            Fact::Rejected(fact) => self.rejected(&fact),
            Fact::Died(fact) => self.died(&fact),
            Fact::ExchangeDeclared(definition) => self.declare_exchange(*definition)?,
            Fact::ExchangeDeleted { name } => self.delete_exchange(&name)?,
            Fact::QueueDeclared(definition) => self.declare_queue(*definition)?,
            Fact::QueueDeleted { queue, rerouted_to } => self.delete_queue(queue, rerouted_to),
            Fact::Bound(definition) => self.bind(*definition)?,
            Fact::Unbound {
                exchange,
                queue,
                key,
            } => self.unbind(&exchange, queue, &key),
            Fact::Definitions(definitions) => self.define_anew(*definitions)?,
            Fact::Prepared(branch) => self.branch_prepared(*branch),
            Fact::GivenBack(fact) => self.given_back(&fact),
            Fact::Sequenced { exchange, last } => self.sequenced(&exchange, last),
            Fact::LinkDefined(definition) => self.define_link(*definition),
            Fact::LinkDeleted { name } => _ = self.core.links.remove(&name),
            Fact::BridgeDefined(definition) => self.define_bridge(*definition),
            Fact::BridgeDeleted { name } => _ = self.core.links.remove_bridge(&name),
            Fact::PositionsKept { queue, before } => {
                if self.queue(queue).is_some() {
                    self.places(queue).go_on_at(before);
                }
            }
            Fact::QueueMakers(makers) => {
                for maker in makers {
                    if self.queue(maker.queue).is_some() {
                        self.core.makers.note(maker.queue, maker.user);
                    }
                }
            }
        }
        Ok(())
    }

    // Messages: in whatever order.

    fn places(&mut self, queue: QueueKey) -> &mut Places {
        self.core.incarnations = self.core.incarnations.max(queue.0);
        self.places.entry(queue).or_default()
    }

    fn enqueued(&mut self, fact: Enqueued) {
        self.core.index = self.core.index.max(fact.handle.index);
        for place in fact.places {
            let recovered = Recovered {
                handle: fact.handle,
                message: fact.message.clone(),
                expires: place.expires,
                deliveries: 0,
            };
            self.places(place.queue).enqueued(place.position, recovered);
        }
    }

    fn branch_prepared(&mut self, branch: Prepared) {
        for publish in &branch.publishes {
            self.core.index = self.core.index.max(publish.handle.index);
        }
        self.prepared.prepared(branch);
    }

    fn dequeued(&mut self, fact: &Dequeued) {
        if fact.queue == QueueKey::BRANCHES {
            return self.prepared.completed(fact);
        }
        let places = self.places(fact.queue);
        places.dequeued_before(fact.before);
        for (first, last) in &fact.positions.0 {
            places.dequeued(*first, *last);
        }
    }

    fn rejected(&mut self, fact: &Rejected) {
        let places = self.places(fact.queue);
        for (first, last) in &fact.positions.0 {
            places.rejected(*first, *last);
        }
    }

    fn given_back(&mut self, fact: &GivenBack) {
        let places = self.places(fact.queue);
        for (first, last) in &fact.positions.0 {
            places.given_back(*first, *last, fact.deliveries);
        }
    }

    fn died(&mut self, fact: &Died) {
        let places = self.places(fact.queue);
        for (first, last) in &fact.positions.0 {
            places.died(*first, *last, &fact.death);
        }
    }

    // Definitions: in order.

    fn exchange(&mut self, name: &Text) -> Option<ExchangeId> {
        let found = self.core.exchange_names.get(name).copied();
        if found.is_none() {
            self.misses("an exchange that is not there", name.clone());
        }
        found
    }

    fn alternate(&mut self, name: Option<Text>) -> Option<ExchangeId> {
        self.exchange(&name?)
    }

    fn queue(&mut self, key: QueueKey) -> Option<QueueId> {
        let found = self.core.queue_keys.get(&key).copied();
        if found.is_none() {
            // It was given, and is given to no other.
            self.core.incarnations = self.core.incarnations.max(key.0);
            self.misses("a queue that is not there", Text::default());
        }
        found
    }

    /// The standard exchanges are there, and are only defined by checkpoints.
    fn declare_exchange(&mut self, definition: ExchangeDefinition) -> Result<(), Wrong> {
        let Some(kind) = Kind::of_type(&definition.kind) else {
            return Err(("an exchange of an unknown type", definition.name));
        };
        let mut exchange = Exchange::new(definition.name, kind);
        if let Some(former) = self.core.exchange_names.get(&exchange.name).copied() {
            if exchange.is_standard() {
                return Ok(());
            }
            self.misses("an exchange that is there twice", exchange.name.clone());
            self.remove_exchange(former);
        }
        exchange.is_durable = true;
        exchange.is_auto_delete = definition.is_auto_delete;
        exchange.alternate = self.alternate(definition.alternate);
        exchange.settle_in(definition.arguments);
        self.core.add_exchange(exchange);
        Ok(())
    }

    /// One that is there twice is the later: its deletion is among records that are missing.
    fn define_link(&mut self, definition: LinkDefinition) {
        self.core.links.remove(&definition.name);
        self.core.links.add(definition, self.core.time);
    }

    fn define_bridge(&mut self, definition: BridgeDefinition) {
        self.core.links.remove_bridge(&definition.name);
        let name = definition.name.clone();
        if !self.core.links.add_bridge(definition, self.core.time) {
            self.misses("a bridge on a link that is not there", name);
        }
    }

    fn delete_exchange(&mut self, name: &Text) -> Result<(), Wrong> {
        let Some(id) = self.exchange(name) else {
            return Ok(());
        };
        let exchange = self.core.exchange_mut(id);
        if exchange.is_standard() {
            return Err(("a standard exchange that is deleted", name.clone()));
        }
        if exchange.alternate_users > 0 {
            self.misses("an exchange that is deleted while it is used", name.clone());
        }
        self.remove_exchange(id);
        Ok(())
    }

    /// Takes an exchange away, and its bindings. Who has it for an alternate must have been deleted
    /// before, and has none from now on.
    fn remove_exchange(&mut self, id: ExchangeId) {
        if self.core.exchange_mut(id).alternate_users > 0 {
            self.forget_alternate(id);
        }
        let gone = self.core.exchanges.remove(id.0);
        if let Some(gone) = gone {
            self.core.exchange_names.remove(&gone.name);
            for binding in gone.kind.bindings() {
                self.core.queue_mut(binding.queue).unbound(id, true);
            }
            self.unuse(gone.alternate);
        }
        // It stays in use while messages go to it: there are none left.
        self.rerouting.retain(|_, exchange| *exchange != id);
    }

    fn forget_alternate(&mut self, id: ExchangeId) {
        let exchanges: Vec<u32> = self.core.exchanges.iter().map(|(slot, _)| slot).collect();
        for slot in exchanges {
            if let Some(exchange) = self.core.exchanges.get_mut(slot) {
                exchange.alternate.take_if(|alternate| *alternate == id);
            }
        }
        let queues: Vec<u32> = self.core.queues.iter().map(|(slot, _)| slot).collect();
        for slot in queues {
            if let Some(queue) = self.core.queues.get_mut(slot) {
                queue.alternate.take_if(|alternate| *alternate == id);
            }
        }
        self.core.exchange_mut(id).alternate_users = 0;
    }

    fn sequenced(&mut self, name: &Text, last: u64) {
        let Some(id) = self.exchange(name) else {
            return;
        };
        let exchange = self.core.exchange_mut(id);
        if let Some(applied) = &mut exchange.applied {
            applied.last = last;
            return;
        }
        let routed = exchange.routed.as_mut();
        match routed.and_then(|routed| routed.sequence.as_mut()) {
            Some(sequence) => *sequence = last,
            None => self.misses("an exchange that numbers no messages", name.clone()),
        }
    }

    fn unuse(&mut self, alternate: Option<ExchangeId>) {
        if let Some(alternate) = alternate {
            self.core.exchange_mut(alternate).alternate_users -= 1;
        }
    }

    fn declare_queue(&mut self, definition: QueueDefinition) -> Result<(), Wrong> {
        let (name, key) = (definition.name, definition.queue);
        if self.core.queue_keys.contains_key(&key) {
            return Err(("a queue that is there twice", name));
        }
        let Ok(settings) = Settings::recovered(&name, &definition.arguments, &self.core.options)
        else {
            return Err(("a queue with limits that are none", name));
        };
        if let Some(former) = self.core.queue_names.get(&name).copied() {
            let former = self.core.queue(former).reference.key();
            self.misses("a queue that is there twice", name.clone());
            self.remove_queue(former);
        }
        let reference = QueueRef {
            id: QueueId(0),
            incarnation: key.0,
        };
        let mut queue = Queue::new(name, reference);
        queue.is_durable = true;
        queue.is_auto_delete = definition.is_auto_delete;
        queue.alternate = self.alternate(definition.alternate);
        queue.arguments = definition.arguments;
        queue.settle_in(settings);
        self.places(key).go_on_at(definition.tail);
        self.core.add_queue(queue);
        Ok(())
    }

    /// Where its messages were to go to an exchange that is not known they stay, and are in no queue
    /// that is known.
    fn delete_queue(&mut self, key: QueueKey, rerouted_to: Option<Text>) {
        if self.queue(key).is_some() {
            self.remove_queue(key);
        }
        let is_dropped = rerouted_to.is_none();
        if let Some(exchange) = self.alternate(rerouted_to) {
            self.rerouting.insert(key, exchange);
        } else if is_dropped {
            self.places.remove(&key);
        }
    }

    /// Takes a queue away, and its bindings, but not what is known of its messages.
    fn remove_queue(&mut self, key: QueueKey) {
        self.core.makers.forget(key);
        let Some(id) = self.core.queue_keys.remove(&key) else {
            return;
        };
        if let Some(gone) = self.core.queues.remove(id.0) {
            self.core.queue_names.remove(&gone.name);
            for exchange in &gone.bound_to {
                self.core.exchange_mut(*exchange).kind.unbind_queue(id);
            }
            self.unuse(gone.alternate);
        }
    }

    fn bind(&mut self, definition: BindingDefinition) -> Result<(), Wrong> {
        let exchange = self.exchange(&definition.exchange);
        let (Some(exchange), Some(queue)) = (exchange, self.queue(definition.queue)) else {
            return Ok(());
        };
        let wrong = ("a binding that cannot be", definition.exchange);
        let (key, arguments) = (&definition.key, &definition.arguments);
        let kind = &mut self.core.exchange_mut(exchange).kind;
        let displaced = kind.displaced(queue, key, arguments);
        for other in &displaced {
            self.unbind_from(exchange, *other, key);
        }
        let mut is_new = self.bind_to(exchange, queue, key, arguments);
        if !displaced.is_empty() || is_new == Err(BindError::DuplicateKey) {
            self.misses(wrong.0, wrong.1.clone());
        }
        if is_new == Err(BindError::DuplicateKey) {
            self.unbind_from(exchange, queue, key);
            is_new = self.bind_to(exchange, queue, key, arguments);
        }
        match is_new {
            Ok(true) => self.core.queue_mut(queue).bound(exchange),
            Ok(false) => {}
            // There are bindings that are no more.
            Err(BindError::TreeFull | BindError::TooManyQueries) => self.misses(wrong.0, wrong.1),
            Err(_) => return Err(wrong),
        }
        Ok(())
    }

    fn bind_to(
        &mut self,
        exchange: ExchangeId,
        queue: QueueId,
        key: &str,
        arguments: &Map,
    ) -> Result<bool, BindError> {
        let kind = &mut self.core.exchange_mut(exchange).kind;
        kind.bind(queue, key, arguments)
    }

    fn unbind(&mut self, exchange: &Text, queue: QueueKey, key: &str) {
        let exchange = self.exchange(exchange);
        if let (Some(exchange), Some(queue)) = (exchange, self.queue(queue)) {
            self.unbind_from(exchange, queue, key);
        }
    }

    fn unbind_from(&mut self, exchange: ExchangeId, queue: QueueId, key: &str) {
        let kind = &mut self.core.exchange_mut(exchange).kind;
        if kind.unbind(queue, key) {
            let was_last = !kind.has_queue(queue);
            self.core.queue_mut(queue).unbound(exchange, was_last);
        }
    }

    /// Forgets all definitions for others.
    fn define_anew(&mut self, definitions: Definitions) -> Result<(), Wrong> {
        let fresh = Core::new(self.core.shard, self.core.options.clone()).at_most_level();
        let former = std::mem::replace(&mut self.core, fresh);
        (self.core.index, self.core.time) = (former.index, former.time);
        self.core.incarnations = former.incarnations.max(definitions.incarnations);
        self.rerouting.clear();
        (self.contradiction, self.unexplained, self.explained) = (None, None, 0);
        let mut later = Vec::new();
        for mut definition in definitions.exchanges {
            if let Some(alternate) = definition.alternate.take() {
                later.push((definition.name.clone(), alternate));
            }
            self.declare_exchange(definition)?;
        }
        for (name, alternate) in later {
            let (id, alternate) = (self.exchange(&name), self.exchange(&alternate));
            if let (Some(id), Some(alternate)) = (id, alternate) {
                self.core.exchange_mut(id).alternate = Some(alternate);
                self.core.exchange_mut(alternate).alternate_users += 1;
            }
        }
        for definition in definitions.queues {
            self.declare_queue(definition)?;
        }
        for definition in definitions.bindings {
            self.bind(definition)?;
        }
        for rerouting in definitions.rerouting {
            if let Some(exchange) = self.exchange(&rerouting.exchange) {
                self.rerouting.insert(rerouting.queue, exchange);
            }
        }
        // A checkpoint is one record, of which nothing can be missing.
        self.unexplained = self.contradiction.clone();
        // Keys are given in order: a queue of a former key that is not defined is no more.
        let (keys, rerouting) = (&self.core.queue_keys, &self.rerouting);
        self.places.retain(|key, _| {
            key.0 > definitions.incarnations
                || keys.contains_key(key)
                || rerouting.contains_key(key)
        });
        Ok(())
    }

    /// Messages at places of queues that are not known: they were deleted, or nothing that was read
    /// declared them.
    pub fn stray_count(&self) -> u64 {
        let is_known = |key: &&QueueKey| {
            self.core.queue_keys.contains_key(key) || self.rerouting.contains_key(key)
        };
        let strays = self.places.iter().filter(|(key, _)| !is_known(key));
        strays.map(|(_, places)| places.count()).sum()
    }

    /// The core. `elapsed` are the milliseconds for which the broker was down, as far as that is known:
    /// group time goes on by them.
    ///
    /// # Errors
    /// When definitions contradict each other.
    pub fn finish(self, elapsed: u64) -> Result<Core, Contradiction> {
        if let Some(contradiction) = self.contradiction {
            return Err(contradiction);
        }
        let mut core = self.core;
        core.go_on_at(core.time.plus(elapsed));
        let mut expiring = Vec::new();
        for (key, places) in self.places {
            if let Some(id) = core.queue_keys.get(&key).copied() {
                let Some(queue) = core.queues.get_mut(id.0) else {
                    continue;
                };
                let leaving = fill(queue, places, &mut core.held);
                queue.look_again();
                for remains in leaving {
                    core.reroute_later(remains);
                }
                let queue = core.queue(id);
                if queue.expiring > 0 {
                    expiring.push(Work::Expire(queue.reference, 0));
                }
            } else if let Some(exchange) = self.rerouting.get(&key) {
                for remains in remains_of(key, places, *exchange, &mut core.held) {
                    core.reroute_later(remains);
                }
            }
        }
        core.work.extend(expiring);
        self.prepared.restore(&mut core);
        let_go_later(&mut core);
        core.made_now();
        Ok(core)
    }
}

/// Nobody uses a queue that has just been recovered: one that goes when it was not used for some time
/// goes when it still is not then. As in qpidd one that would go at once stays until it was used.
fn let_go_later(core: &mut Core) {
    let keys: Vec<QueueId> = core.queue_keys.values().copied().collect();
    for id in keys {
        let due = |delay| core.time.plus(delay);
        let Some(queue) = core.queues.get_mut(id.0) else {
            continue;
        };
        if queue.is_auto_delete && queue.lifetime.delay > 0 {
            queue.was_used = true;
            queue.lifetime.due = due(queue.lifetime.delay);
            core.departures
                .insert((queue.lifetime.due, queue.reference));
        }
    }
}

fn entry_of(recovered: Recovered) -> Entry {
    let stored = Stored {
        handle: recovered.handle,
        // The connection is no more.
        publisher: ConnectionKey::default(),
        message: recovered.message,
    };
    Entry {
        stored,
        expires: recovered.expires,
        state: EntryState::Available,
        redelivered: !is_planted(Plant::FlagLost),
        deliveries: recovered.deliveries,
    }
}

/// The entry of a message that has left its queue.
fn leaving_entry(entry: Entry) -> Entry {
    Entry {
        state: EntryState::Recovered,
        ..entry
    }
}

/// Messages that have left a queue, by what their copies are to say.
type Leaving = BTreeMap<Option<Death>, Blocks<Entry>>;

/// Fills a queue, and gives the messages that have left it, if there are any.
fn fill(queue: &mut Queue, places: Places, held: &mut Held) -> Vec<Remains> {
    let tail = places.tail();
    let mut leaving = Leaving::new();
    for (position, recovered, fate) in places.into_entries() {
        let entry = entry_of(recovered);
        let death = match fate {
            Fate::Stays => {
                queue.restore(position, entry, held);
                continue;
            }
            Fate::Rejected => None,
            Fate::Died(death) => Some(death),
        };
        held.come(&entry.stored.message);
        queue.rejecting += 1;
        let alike = leaving.entry(death).or_default();
        alike.push_at(position, leaving_entry(entry));
    }
    if !is_planted(Plant::PositionsAnew) {
        queue.entries.set_tail(tail);
    }
    all_remains(leaving, queue.alternate, queue.reference)
}

/// What is left of a deleted queue.
fn remains_of(
    queue: QueueKey,
    places: Places,
    exchange: ExchangeId,
    held: &mut Held,
) -> Vec<Remains> {
    let mut leaving = Leaving::new();
    for (position, recovered, fate) in places.into_entries() {
        let death = match fate {
            Fate::Stays | Fate::Rejected => None,
            Fate::Died(death) => Some(death),
        };
        let entry = entry_of(recovered);
        held.come(&entry.stored.message);
        let alike = leaving.entry(death).or_default();
        alike.push_at(position, leaving_entry(entry));
    }
    let reference = QueueRef {
        id: QueueId::NOWHERE,
        incarnation: queue.0,
    };
    all_remains(leaving, Some(exchange), reference)
}

fn all_remains(leaving: Leaving, alternate: Option<ExchangeId>, queue: QueueRef) -> Vec<Remains> {
    let remains = |(death, entries): (Option<Death>, Blocks<Entry>)| Remains {
        entries,
        alternate,
        queue: Some(queue),
        death: death.map(Box::new),
        told_of: None,
    };
    leaving.into_iter().map(remains).collect()
}
