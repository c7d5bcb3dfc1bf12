//! Facts of a core as it is: what it says when something is defined, its checkpoint, and what a
//! compaction may not forget.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use smallvec::SmallVec;

use super::{
    BindingDefinition, Definitions, Enqueued, ExchangeDefinition, Fact, FactRecord, GivenBack,
    Maker, Place, Positions, Prepared, PreparedPublish, QueueDefinition, Rejected, Rerouting,
};
use crate::broker::arguments;
use crate::broker::branch::{Branch, BranchState, Xid};
use crate::broker::core::{Core, Work};
use crate::broker::exchange::Binding;
use crate::broker::exchanges::Exchange;
use crate::broker::ids::{ExchangeId, QueueId, QueueKey, QueueRef};
use crate::broker::message::{BodyHandle, Message};
use crate::broker::plant::{Plant, is_planted};
use crate::broker::publishes::TransactionPublish;
use crate::broker::queue::{Entry, Queue, Remains};
use crate::wire::{Map, Value};

use super::gathered::left_fact;

/// Messages that have left their queues and that facts still name there, by queue.
type Leaving<'a> = BTreeMap<QueueKey, Vec<&'a Remains>>;

impl Core {
    pub(in crate::broker) fn say_exchange_declared(&mut self, id: ExchangeId) {
        if self.scratch.facts.is_wanted()
            && let Some(exchange) = self.exchanges.get(id.0).filter(|e| e.is_durable)
        {
            let definition = Box::new(self.exchange_definition(exchange));
            let fact = Fact::ExchangeDeclared(definition);
            self.scratch.facts.defined(|| fact);
        }
    }

    /// Says how far exchanges have numbered their messages.
    pub(in crate::broker) fn say_sequences(&mut self) {
        for id in std::mem::take(&mut self.scratch.numbering) {
            let exchange = self.exchanges.get(id.0).filter(|e| e.is_durable);
            if let Some(exchange) = exchange
                && let Some(last) = exchange.last_number()
            {
                let exchange = exchange.name.clone();
                let said = || Fact::Sequenced { exchange, last };
                self.scratch.facts.defined(said);
            }
        }
    }

    pub(in crate::broker) fn say_queue_declared(&mut self, id: QueueId) {
        if self.scratch.facts.is_wanted()
            && let Some(queue) = self.queues.get(id.0).filter(|queue| queue.is_durable)
        {
            let definition = Box::new(self.queue_definition(queue));
            let fact = Fact::QueueDeclared(definition);
            self.scratch.facts.defined(|| fact);
        }
    }

    /// A queue was bound, or bound again with other arguments. Whether a binding ends with its
    /// session follows from its arguments.
    pub(in crate::broker) fn say_bound(
        &mut self,
        exchange: ExchangeId,
        queue: QueueId,
        key: &str,
        arguments: &Map,
    ) {
        if arguments::is_session_scoped(arguments) {
            return self.say_unbound(exchange, queue, key);
        }
        if let Some((exchange, queue)) = self.durable_ends(exchange, queue)
            && !is_planted(Plant::BindingNotSaid)
        {
            let (exchange, queue) = (exchange.name.clone(), queue.reference.key());
            self.scratch.facts.defined(|| {
                Fact::Bound(Box::new(BindingDefinition {
                    exchange,
                    queue,
                    key: key.into(),
                    arguments: arguments.clone(),
                }))
            });
        }
    }

    /// A binding that is not of a session's scope is gone.
    pub(in crate::broker) fn say_unbound(
        &mut self,
        exchange: ExchangeId,
        queue: QueueId,
        key: &str,
    ) {
        if let Some((exchange, queue)) = self.durable_ends(exchange, queue) {
            let (exchange, queue) = (exchange.name.clone(), queue.reference.key());
            self.scratch.facts.defined(|| Fact::Unbound {
                exchange,
                queue,
                key: key.into(),
            });
        }
    }

    /// Exchange and queue of a binding, if both are durable and anybody wants to know.
    pub(in crate::broker) fn durable_ends(
        &self,
        exchange: ExchangeId,
        queue: QueueId,
    ) -> Option<(&Exchange, &Queue)> {
        let (exchange, queue) = (self.exchanges.get(exchange.0)?, self.queues.get(queue.0)?);
        let are_durable = exchange.is_durable && queue.is_durable;
        (are_durable && self.scratch.facts.is_wanted()).then_some((exchange, queue))
    }

    /// How far an exchange has numbered its messages is said as an argument, as in qpidd.
    fn exchange_definition(&self, exchange: &Exchange) -> ExchangeDefinition {
        let mut arguments = exchange.shown_arguments();
        let sequence = exchange.routed.as_ref().and_then(|routed| routed.sequence);
        if let Some(last) = sequence.filter(|last| *last > 0) {
            let last = i64::try_from(last).unwrap_or(i64::MAX);
            arguments.insert(arguments::SEQUENCE_COUNTER, Value::I64(last));
        }
        ExchangeDefinition {
            name: exchange.name.clone(),
            kind: exchange.kind.type_name().into(),
            is_auto_delete: exchange.is_auto_delete,
            alternate: self.durable_name(exchange.alternate),
            arguments,
        }
    }

    fn queue_definition(&self, queue: &Queue) -> QueueDefinition {
        QueueDefinition {
            queue: queue.reference.key(),
            name: queue.name.clone(),
            is_auto_delete: queue.is_auto_delete,
            alternate: self.durable_name(queue.alternate),
            arguments: queue.arguments.clone(),
            tail: queue.tail_in_facts(),
        }
    }

    /// A checkpoint: a record that stands for all definition facts written before it, and that must
    /// be written before any later batch's. It says nothing of messages. Its size is that of all
    /// durable definitions.
    pub fn definitions(&self) -> FactRecord {
        let exchanges = || self.exchanges.iter().filter(|(_, e)| e.is_durable);
        let queues = self.queues.iter().filter(|(_, queue)| queue.is_durable);
        let bindings = exchanges().flat_map(|(_, exchange)| {
            let bindings = exchange.kind.bindings();
            bindings.filter_map(|binding| self.binding_definition(exchange, binding))
        });
        let mut seen = BTreeSet::new();
        let rerouting = self.leaving().filter_map(|(queue, remains)| {
            let is_deleted = !self.queue_keys.contains_key(&queue);
            let exchange = self.durable_name(remains.alternate)?;
            (is_deleted && seen.insert(queue)).then_some(Rerouting { queue, exchange })
        });
        let definitions = Definitions {
            incarnations: self.incarnations,
            rerouting: rerouting.collect(),
            exchanges: exchanges()
                .map(|(_, exchange)| self.exchange_definition(exchange))
                .collect(),
            queues: queues
                .map(|(_, queue)| self.queue_definition(queue))
                .collect(),
            bindings: bindings.collect(),
        };
        let makers: Vec<Maker> = self
            .queue_keys
            .keys()
            .filter_map(|queue| {
                let user = self.makers.of(*queue)?.clone();
                Some(Maker {
                    queue: *queue,
                    user,
                })
            })
            .collect();
        let mut facts = vec![Fact::Definitions(Box::new(definitions))];
        if !makers.is_empty() {
            facts.push(Fact::QueueMakers(makers));
        }
        for link in self.links.iter().filter(|link| link.definition.is_durable) {
            facts.push(Fact::LinkDefined(Box::new(link.definition.clone())));
            let bridges = link.bridges.values().map(|bridge| &bridge.definition);
            let durable = bridges.filter(|bridge| bridge.is_durable);
            facts.extend(durable.map(|bridge| Fact::BridgeDefined(Box::new(bridge.clone()))));
        }
        self.record_of(facts)
    }

    /// A record of facts that are carried forward, to be written like one of a batch.
    pub fn record_of(&self, facts: Vec<Fact>) -> FactRecord {
        FactRecord {
            index: self.index,
            time: self.time,
            facts,
        }
    }

    fn binding_definition(
        &self,
        exchange: &Exchange,
        binding: &Binding,
    ) -> Option<BindingDefinition> {
        let queue = self.queues.get(binding.queue.0)?;
        let is_fact = queue.is_durable && !arguments::is_session_scoped(&binding.arguments);
        is_fact.then(|| BindingDefinition {
            exchange: exchange.name.clone(),
            queue: queue.reference.key(),
            key: binding.key.clone(),
            arguments: binding.arguments.clone(),
        })
    }

    fn leaving(&self) -> impl Iterator<Item = (QueueKey, &Remains)> {
        self.work.iter().filter_map(|work| match work {
            Work::Reroute(remains) => Some((remains.queue?.key(), &**remains)),
            Work::Dispatch(_)
            | Work::EndSession(_)
            | Work::Expire(..)
            | Work::Evict(_)
            | Work::Depart(_)
            | Work::GiveBack(_)
            | Work::Replay(_)
            | Work::Take(_) => None,
        })
    }

    /// What of old message facts a compaction must carry forward: of an [`Fact::Enqueued`] the places
    /// where the message still is, of a [`Fact::Rejected`] or [`Fact::Died`] the messages that are still
    /// to be rerouted, a [`Fact::Prepared`] whose outcome is not decided, of a [`Fact::GivenBack`] the
    /// messages of which no more was said since. What nothing is left of is left
    /// out.
    ///
    /// Of other facts nothing is given. Definitions are carried by a checkpoint
    /// ([`Core::definitions`]). A [`Fact::Dequeued`] must stay until no `Enqueued` of what it names
    /// is left in the journal, and only the journal knows that.
    ///
    /// Costs a look-up for each place and for each message still to be rerouted, and one walk over the work that waits.
    pub fn still_needed(&self, facts: &[Fact]) -> Vec<Fact> {
        let mut leaving = Leaving::new();
        for (queue, remains) in self.leaving() {
            leaving.entry(queue).or_default().push(remains);
        }
        let needed = facts.iter().filter_map(|fact| match fact {
            Fact::Enqueued(fact) => {
                let is_held = |place: &&Place| {
                    let (queue, position) = (place.queue, place.position);
                    self.holds(queue, position) || is_leaving(&leaving, queue, position)
                };
                let places: SmallVec<_> = fact.places.iter().filter(is_held).copied().collect();
                (!places.is_empty()).then(|| {
                    Fact::Enqueued(Enqueued {
                        places,
                        ..fact.clone()
                    })
                })
            }
            Fact::Rejected(fact) => {
                let queue = fact.queue;
                let positions = still_leaving(leaving.get(&queue)?, &fact.positions);
                let is_needed = !positions.0.is_empty();
                is_needed.then_some(Fact::Rejected(Rejected { queue, positions }))
            }
            Fact::Prepared(branch) => {
                let is_needed = self.branches.of_number(branch.number).is_some();
                is_needed.then(|| fact.clone())
            }
            Fact::Died(fact) => {
                let positions = still_leaving(leaving.get(&fact.queue)?, &fact.positions);
                let is_needed = !positions.0.is_empty();
                is_needed.then(|| left_fact(fact.queue, positions, Some(&fact.death)))
            }
            Fact::GivenBack(fact) => {
                let positions = fact.positions.0.iter();
                let positions = positions.flat_map(|(first, last)| *first..=*last);
                let is_needed = |position: &u64| {
                    let deliveries = self.deliveries_at(&leaving, fact.queue, *position);
                    deliveries == Some(fact.deliveries)
                };
                let positions: Positions = positions.filter(is_needed).collect();
                (!positions.0.is_empty()).then(|| {
                    Fact::GivenBack(GivenBack {
                        positions,
                        ..fact.clone()
                    })
                })
            }
            _ => None,
        });
        needed.collect()
    }

    /// How often the message at a place was given back, or one that left it and is on its way.
    fn deliveries_at(&self, leaving: &Leaving<'_>, queue: QueueKey, position: u64) -> Option<u32> {
        let on_its_way = || {
            let mut remains = leaving.get(&queue)?.iter();
            remains.find_map(|remains| remains.entries.get(position))
        };
        let entry = self.entry_at(queue, position).or_else(on_its_way)?;
        Some(entry.deliveries)
    }

    fn holds(&self, queue: QueueKey, position: u64) -> bool {
        self.entry_at(queue, position).is_some()
    }

    fn entry_at(&self, queue: QueueKey, position: u64) -> Option<&Entry> {
        let queue = self.queues.get(self.queue_keys.get(&queue)?.0)?;
        queue.entries.get(position)
    }

    /// The message at a place of a durable queue, or that has left it and that facts name there until
    /// it is rerouted. Only of what is not in the queue any more it costs a walk over the work that
    /// waits.
    pub fn message_at(&self, queue: QueueKey, position: u64) -> Option<&Arc<Message>> {
        let leaving = || {
            let mut remains = self.leaving().filter(|(left, _)| *left == queue);
            remains.find_map(|(_, remains)| remains.entries.get(position))
        };
        let entry = self.entry_at(queue, position).or_else(leaving)?;
        Some(&entry.stored.message)
    }

    /// The messages that the prepared branch of a number publishes.
    pub fn messages_of_branch(
        &self,
        number: u64,
    ) -> impl Iterator<Item = (BodyHandle, &Arc<Message>)> {
        let found = self.branches.of_number(number);
        let publishes = found.into_iter().flat_map(|(_, branch)| &branch.publishes);
        publishes.map(|publish| (publish.stored.handle, &publish.stored.message))
    }

    /// Messages of a branch that must survive, each with the durable queues to which it goes.
    fn durable_publishes<'a>(
        &'a self,
        branch: &'a Branch,
    ) -> impl Iterator<Item = (&'a TransactionPublish, Vec<QueueKey>)> {
        let persistent = branch.publishes.iter();
        let persistent = persistent.filter(|publish| publish.stored.message.is_persistent);
        persistent.filter_map(|publish| {
            let queues = publish.queues.iter().map(|queue| queue.key());
            let durable = queues.filter(|key| self.queue_keys.contains_key(key));
            let durable: Vec<QueueKey> = durable.collect();
            (!durable.is_empty()).then_some((publish, durable))
        })
    }

    fn prepared_fact(&self, number: u64, xid: &Xid, branch: &Branch) -> Prepared {
        let publishes = self.durable_publishes(branch);
        let publishes = publishes.map(|(publish, queues)| PreparedPublish {
            handle: publish.stored.handle,
            expires: publish.expires,
            queues,
            message: publish.stored.message.clone(),
        });
        let mut accepts: BTreeMap<QueueKey, BTreeSet<u64>> = BTreeMap::new();
        for (queue, position) in &branch.accepts {
            let entry = self.entry_at(queue.key(), *position);
            if entry.is_some_and(|entry| entry.stored.message.is_persistent) {
                accepts.entry(queue.key()).or_default().insert(*position);
            }
        }
        let accepts = accepts.into_iter();
        Prepared {
            number,
            xid: xid.clone(),
            timeout: branch.timeout,
            publishes: publishes.collect(),
            accepts: accepts
                .map(|(queue, positions)| (queue, positions.into_iter().collect()))
                .collect(),
        }
    }

    /// The branch of an xid has been prepared.
    pub(in crate::broker) fn say_prepared(&mut self, xid: &Xid) {
        if !self.scratch.facts.is_wanted() {
            return;
        }
        if let Some(branch) = self.branches.get(xid)
            && let BranchState::Prepared(number) = branch.state
        {
            let fact = self.prepared_fact(number, xid, branch);
            self.scratch.facts.prepared(|| fact);
        }
    }

    /// The durable queue of a key, if it is there.
    pub fn queue_of(&self, key: QueueKey) -> Option<QueueRef> {
        let queue = self.queues.get(self.queue_keys.get(&key)?.0)?;
        Some(queue.reference)
    }

    /// A position of a durable queue before which no message is that a fact could still name; None
    /// when the queue is no more. Of [`QueueKey::BRANCHES`]: all branches before have their outcome.
    pub fn gone_before(&self, queue: QueueKey) -> Option<u64> {
        if queue == QueueKey::BRANCHES {
            return Some(self.branches.completed_before());
        }
        let queue = self.queues.get(self.queue_keys.get(&queue)?.0)?;
        Some(queue.gone_before())
    }

    /// The message facts of the whole core, a place a fact and another where it was given back: with [`Core::definitions`] all that a new
    /// journal would have to hold. In order of queue and position, those that have left their
    /// queues behind these, prepared branches last.
    pub fn message_facts(&self) -> impl Iterator<Item = Fact> {
        let queues = self.queues.iter().map(|(_, queue)| queue);
        let there = queues.filter(|queue| queue.is_durable).flat_map(|queue| {
            let key = queue.reference.key();
            let durable = queue.entries.iter().filter(is_persistent);
            durable.flat_map(move |(position, entry)| {
                let place = enqueued(key, position, entry);
                std::iter::once(place).chain(given_back(key, position, entry))
            })
        });
        let leaving = self.leaving().flat_map(|(key, remains)| {
            let durable = || remains.entries.iter().filter(is_persistent);
            let positions: Positions = durable().map(|(position, _)| position).collect();
            // Of a deleted queue all that is left is on its way.
            let is_said = self.queue_keys.contains_key(&key) || remains.death.is_some();
            let is_said = is_said && !positions.0.is_empty();
            let left = is_said.then(|| left_fact(key, positions, remains.death.as_deref()));
            let entries = durable().map(move |(position, entry)| enqueued(key, position, entry));
            entries.chain(left)
        });
        let prepared = self.branches.prepared();
        let prepared = prepared.map(|(number, xid, branch)| {
            Fact::Prepared(Box::new(self.prepared_fact(number, xid, branch)))
        });
        there.chain(leaving).chain(prepared)
    }
}

fn is_leaving(leaving: &Leaving<'_>, queue: QueueKey, position: u64) -> bool {
    let mut of_queue = leaving.get(&queue).into_iter().flatten();
    of_queue.any(|remains| remains.entries.get(position).is_some())
}

/// Which of some positions of a queue have a message that is yet to be rerouted.
fn still_leaving(leaving: &[&Remains], positions: &Positions) -> Positions {
    let mut left = BTreeSet::new();
    for remains in leaving {
        for (first, last) in &positions.0 {
            let mut next = *first;
            while let Some(found) = remains.entries.next_at(next).filter(|found| found <= last) {
                left.insert(found);
                next = found + 1;
            }
        }
    }
    left.into_iter().collect()
}

/// How often a message that is there was given back, if it was.
fn given_back(queue: QueueKey, position: u64, entry: &Entry) -> Option<Fact> {
    (entry.deliveries > 0).then(|| {
        Fact::GivenBack(GivenBack {
            queue,
            positions: Positions(vec![(position, position)]),
            deliveries: entry.deliveries,
        })
    })
}

fn is_persistent((_, entry): &(u64, &Entry)) -> bool {
    entry.stored.message.is_persistent
}

fn enqueued(queue: QueueKey, position: u64, entry: &Entry) -> Fact {
    let place = Place {
        queue,
        position,
        expires: entry.expires,
    };
    Fact::Enqueued(Enqueued {
        handle: entry.stored.handle,
        places: SmallVec::from_buf([place]),
        message: entry.stored.message.clone(),
    })
}
