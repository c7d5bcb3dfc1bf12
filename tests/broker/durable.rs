//! What of a core is durable, and cores made of facts.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

use ferrymq::broker::dead::Death;
use ferrymq::broker::encoding::{Decoder, Encoder, Record};
use ferrymq::broker::facts::{
    BindingDefinition, ExchangeDefinition, Fact, Prepared, QueueDefinition,
};
use ferrymq::broker::ids::{GroupTime, QueueKey, ShardId};
use ferrymq::broker::links::{BridgeDefinition, Link, LinkDefinition};
use ferrymq::broker::message::BodyHandle;
use ferrymq::broker::{Core, FactRecord, Options, Recovery};

/// A place in a queue.
pub type At = (QueueKey, u64);

/// The durable part of a core.
#[derive(Debug, PartialEq)]
pub struct Durable {
    pub exchanges: Vec<ExchangeDefinition>,
    /// Their tails are apart: see [`assert_same`].
    pub queues: Vec<QueueDefinition>,
    /// Those of an exchange in its order.
    pub bindings: Vec<BindingDefinition>,
    /// Deleted queues that have messages left, and where these go.
    pub rerouting: BTreeMap<QueueKey, String>,
    pub messages: BTreeMap<At, Held>,
    pub rejected: BTreeSet<At>,
    /// Prepared branches by number.
    pub branches: BTreeMap<u64, Prepared>,
    pub died: BTreeMap<At, Death>,
    /// How often messages were given back, where their queue counts that.
    pub given_back: BTreeMap<At, u32>,
    /// Links, and the bridges on them.
    pub links: Vec<(LinkDefinition, Vec<BridgeDefinition>)>,
}

/// A message at a place.
#[derive(Debug, PartialEq)]
pub struct Held {
    pub handle: BodyHandle,
    pub expires: GroupTime,
    pub header: Vec<u8>,
    pub body: Vec<u8>,
    pub has_header: bool,
    pub has_body: bool,
}

/// The durable part of a core, and the tails of its queues.
pub fn durable(core: &Core) -> (Durable, BTreeMap<QueueKey, u64>) {
    let record = core.definitions();
    // Links come behind them.
    let Some(Fact::Definitions(definitions)) = record.facts.first() else {
        panic!("a checkpoint begins with the definitions");
    };
    let mut definitions = definitions.clone();
    let tails = definitions.queues.iter().map(|q| (q.queue, q.tail));
    let tails = tails.collect();
    for queue in &mut definitions.queues {
        queue.tail = 1;
    }
    definitions.queues.sort_by_key(|queue| queue.queue);
    definitions.exchanges.sort_by(|a, b| a.name.cmp(&b.name));
    let by_exchange = |a: &BindingDefinition, b: &BindingDefinition| a.exchange.cmp(&b.exchange);
    definitions.bindings.sort_by(by_exchange);
    let mut durable = Durable {
        exchanges: definitions.exchanges,
        queues: definitions.queues,
        bindings: definitions.bindings,
        rerouting: BTreeMap::new(),
        messages: BTreeMap::new(),
        rejected: BTreeSet::new(),
        branches: BTreeMap::new(),
        died: BTreeMap::new(),
        given_back: BTreeMap::new(),
        links: links(core),
    };
    for fact in core.message_facts() {
        durable.hold(&fact);
    }
    for rerouting in definitions.rerouting {
        let is_of_it = |at: &At| at.0 == rerouting.queue;
        if durable.messages.keys().any(is_of_it) {
            let exchange = rerouting.exchange.to_string();
            durable.rerouting.insert(rerouting.queue, exchange);
        }
    }
    (durable, tails)
}

fn links(core: &Core) -> Vec<(LinkDefinition, Vec<BridgeDefinition>)> {
    let durable = core
        .links()
        .iter()
        .filter(|link| link.definition.is_durable);
    let bridges = |link: &Link| {
        let all = link
            .bridges
            .values()
            .map(|bridge| bridge.definition.clone());
        all.filter(|bridge| bridge.is_durable).collect()
    };
    durable
        .map(|link| (link.definition.clone(), bridges(link)))
        .collect()
}

impl Durable {
    fn hold(&mut self, fact: &Fact) {
        match fact {
            Fact::Enqueued(fact) => {
                for place in &fact.places {
                    let held = Held {
                        handle: fact.handle,
                        expires: place.expires,
                        header: fact.message.header().to_vec(),
                        body: fact.message.body().unwrap_or_default().to_vec(),
                        has_header: fact.message.has_header,
                        has_body: fact.message.has_body,
                    };
                    let at = (place.queue, place.position);
                    assert!(self.messages.insert(at, held).is_none(), "twice at {at:?}");
                }
            }
            Fact::Rejected(fact) => {
                for (first, last) in &fact.positions.0 {
                    let positions = (*first..=*last).map(|position| (fact.queue, position));
                    self.rejected.extend(positions);
                }
            }
            Fact::Prepared(branch) => {
                let branch = (**branch).clone();
                assert!(self.branches.insert(branch.number, branch).is_none());
            }
            Fact::Died(fact) => {
                for (first, last) in &fact.positions.0 {
                    for position in *first..=*last {
                        let at = (fact.queue, position);
                        let before = self.died.insert(at, fact.death.clone());
                        assert_eq!(before, None, "dead twice at {at:?}");
                    }
                }
            }
            Fact::GivenBack(fact) => {
                for (first, last) in &fact.positions.0 {
                    for position in *first..=*last {
                        let at = (fact.queue, position);
                        let before = self.given_back.insert(at, fact.deliveries);
                        assert_eq!(before, None, "counted twice at {at:?}");
                    }
                }
            }
            other => panic!("no fact of a message: {other:?}"),
        }
    }
}

/// A record from its octets; those that are shared put back.
pub fn carried(record: &FactRecord) -> FactRecord {
    let mut bytes = Encoder::default();
    record.encode(&mut bytes);
    let encoded = record.encode_sharing();
    let mut octets = encoded.octets;
    for (at, run) in encoded.shared.iter().rev() {
        octets.splice(*at..*at, run.iter().copied());
    }
    assert!(octets == bytes.bytes, "sharing changes nothing");
    let messages = record.facts.iter().flat_map(Fact::messages);
    for (at, (message, _)) in encoded.contents.iter().zip(messages) {
        assert!(
            octets[*at..].starts_with(message.content()),
            "where it is said to be"
        );
    }
    let mut decoder = Decoder::new(&octets);
    let same = FactRecord::decode(&mut decoder).expect("a record can be read back");
    assert!(decoder.is_at_end());
    assert_eq!(same, *record);
    same
}

/// The core that facts give.
pub fn recovered(facts: &[FactRecord], options: &Options, elapsed: u64) -> Core {
    let mut recovery = Recovery::new(ShardId(0), options.clone());
    for record in facts {
        recovery.take_record(record.clone());
    }
    recovery.finish(elapsed).expect("facts that fit together")
}

/// Asserts that a core is what the facts of another give.
#[track_caller]
pub fn assert_same(live: &Core, recovered: &Core) {
    if let Err(text) = compare(live, recovered) {
        panic!("{text}");
    }
}

/// How the durable part of a core differs from that of the core that wrote the facts.
pub fn compare(live: &Core, recovered: &Core) -> Result<(), String> {
    let ((one, live_tails), (other, tails)) = (durable(live), durable(recovered));
    if one != other {
        return Err(difference(&one, &other));
    }
    for at in one.messages.keys() {
        let is_free = tails.get(&at.0).is_none_or(|tail| at.1 < *tail);
        if !is_free {
            return Err(format!("the position {at:?} would be used again"));
        }
    }
    for (key, tail) in &tails {
        let queue = live
            .queue_of(*key)
            .and_then(|queue| live.queue_at(queue.id));
        if queue.is_some_and(|queue| *tail < queue.kept_before()) {
            return Err(format!("positions of {key:?} would be given again"));
        }
    }
    // Messages that were not durable may have come behind the last that was.
    if !tails.iter().all(|(queue, tail)| *tail <= live_tails[queue]) {
        return Err(format!("positions are left out: {tails:?}, {live_tails:?}"));
    }
    Ok(())
}

/// In which parts two differ: a whole core is too much to read.
fn difference(one: &Durable, other: &Durable) -> String {
    let mut text = String::new();
    let mut part = |name: &str, one: &dyn Debug, other: &dyn Debug| {
        let (one, other) = (format!("{one:?}"), format!("{other:?}"));
        if one != other {
            text += &format!("{name} written: {one}\n{name} recovered: {other}\n");
        }
    };
    part("exchanges", &one.exchanges, &other.exchanges);
    part("queues", &one.queues, &other.queues);
    part("bindings", &one.bindings, &other.bindings);
    part("rerouting", &one.rerouting, &other.rerouting);
    part("rejected", &one.rejected, &other.rejected);
    part("branches", &one.branches, &other.branches);
    part("died", &one.died, &other.died);
    part("links", &one.links, &other.links);
    let places = |of: &Durable| of.messages.keys().copied().collect::<BTreeSet<At>>();
    let (written, recovered) = (places(one), places(other));
    let lost: Vec<&At> = written.difference(&recovered).take(20).collect();
    let risen: Vec<&At> = recovered.difference(&written).take(20).collect();
    let other_there = written.intersection(&recovered);
    let other_there = other_there.filter(|at| one.messages[at] != other.messages[at]);
    let other_there: Vec<&At> = other_there.take(20).collect();
    text + &format!("lost at {lost:?}, risen at {risen:?}, others at {other_there:?}")
}
