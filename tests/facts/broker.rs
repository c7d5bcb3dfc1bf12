//! The broker of one life, with its disks, on one thread.

use std::collections::BTreeMap;
use std::sync::Arc;

use ferrymq::broker::branch::DtxRequest;
use ferrymq::broker::facts::{Definitions, FactRecord};
use ferrymq::broker::ids::MemberId;
use ferrymq::broker::management::WallTime;
use ferrymq::broker::message::Message;
use ferrymq::broker::{Core, Effect, Fact, Options, Request};
use ferrymq::cluster::compaction::Copied;
use ferrymq::cluster::fact_log::{FactLog, Opening, Plant};
use ferrymq::cluster::paging::Paging;
use ferrymq::cluster::solo::Solo;
use ferrymq::cluster::{Group as _, Millis};
use ferrymq::store::{self, Journal, SimulatedDisk, Turn, Writer};

use super::client::{self, Client};
use super::content;
use super::ledger::{Doing, Found, Ledger, Observed, Thing};

/// The wall-clock time at `Millis(0)`.
const WALL_AT_ZERO: u64 = 1_700_000_000_000;

/// Rounds in which everything must come to rest.
const ROUNDS_MAX: usize = 10_000;

/// Octets of the time in front of a record's facts.
const STAMP_BYTES: usize = 8;

/// How a broker is.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    pub plant: Plant,
    pub segment_bytes: u64,
    pub memory_bytes_max: u64,
}

/// See the module.
pub struct Broker {
    pub solo: Arc<Solo>,
    pub writer: Writer,
    pages: Writer,
    /// Segments that were copied and are not yet removed.
    pub copied: Option<Copied>,
    /// Records that were read at the start.
    pub records: u64,
}

/// Whether an error is one that the run asked a disk for.
pub fn is_of_a_disk(text: &str) -> bool {
    let reasons = [
        "the power is off",
        "Input/output error",
        "the journal has failed",
        "lost when the journal failed",
    ];
    reasons.iter().any(|reason| text.contains(reason))
}

impl Broker {
    /// Starts with what is on a disk.
    pub fn open(disk: &SimulatedDisk, setup: Setup, now: Millis) -> Result<Broker, String> {
        let opening = Opening {
            store_id: 0xfe44,
            wall_at_zero: WALL_AT_ZERO,
            now,
            memory_bytes_max: setup.memory_bytes_max,
            plant: setup.plant,
        };
        let journal = store::Options {
            segment_bytes: setup.segment_bytes,
            ..store::Options::default()
        };
        let options = Options {
            queue_purge_interval: 40,
            ..Options::default()
        };
        let disk = Arc::new(disk.clone());
        let opened = FactLog::open_without_thread(disk, &journal, options.clone(), &opening);
        let (log, core, writer, found) = opened.map_err(|error| error.to_string())?;
        if core.wall() != WallTime(WALL_AT_ZERO + now.0) {
            return Err(format!("the core takes {:?} for now", core.wall()));
        }
        let memory = *log.memory();
        let member = MemberId(found.store_id);
        let solo = Solo::with_log(member, 1, (log, core), options, now);
        let pages = store::Options {
            sync: store::SyncMode::None,
            ..journal
        };
        let disk = Arc::new(SimulatedDisk::new(1));
        let opened = Journal::open_without_thread(disk, &pages, 1, &mut |_, _| Ok(()));
        let (journal, pages, _) = opened.map_err(|error| error.to_string())?;
        solo.page_with(Paging::new(journal, memory));
        Ok(Broker {
            solo,
            writer,
            pages,
            copied: None,
            records: found.records,
        })
    }

    /// What stopped it, if something has.
    pub fn check(&self) -> Result<(), String> {
        self.solo.failure().map_or(Ok(()), Err)
    }

    /// The writers bring some of what waits to the disks.
    pub fn write(&mut self) {
        self.writer.turn();
        self.pages.turn();
    }

    /// And all of it.
    pub fn write_all(&mut self) {
        while self.writer.turn() == Turn::Worked {}
        while self.pages.turn() == Turn::Worked {}
    }

    /// Everything that has work left does it.
    pub fn rest(&mut self, now: Millis) -> Result<(), String> {
        for _ in 0..ROUNDS_MAX {
            let next = self.solo.tick(now);
            self.write_all();
            self.check()?;
            if next.is_none_or(|next| next > now) {
                return Ok(());
            }
        }
        Err("there is no end of work".to_owned())
    }

    /// Looks at all that is there, as a client does that takes nothing.
    pub fn observe(&mut self, now: Millis) -> Result<Observed, String> {
        self.rest(now)?;
        let definitions = self.definitions()?;
        let mut observed = Observed::default();
        let mut client = Client::new(&self.solo, u64::MAX, now, false);
        for queue in &definitions.queues {
            client.subscribe(&queue.name, false, u32::MAX);
            observed.queues.insert(queue.name.to_string(), Vec::new());
        }
        observed.definitions = things(&definitions);
        let mut nobody = Ledger::default();
        client.ask(Request::Dtx(Box::new(DtxRequest::Recover)), Doing::Nothing);
        loop {
            client.flush(&self.solo, &mut nobody, now);
            self.rest(now)?;
            client.take(&self.solo);
            let (mut messages, mut bytes) = (0, 0);
            for effect in client.effects().collect::<Vec<_>>() {
                if let Effect::Result { value, .. } = &effect {
                    observed.branches = client::in_doubt(value)?;
                }
                let Effect::Deliver(delivery) = effect else {
                    continue;
                };
                (messages, bytes) = (messages + 1, bytes + delivery.message.size());
                let (queue, uid) = client.message_of(&delivery)?;
                let found = Found {
                    uid,
                    is_redelivered: delivery.redelivered,
                    ttl: delivery.ttl,
                };
                observed.queues.entry(queue).or_default().push(found);
            }
            if messages == 0 {
                break;
            }
            client.refill(messages, bytes);
        }
        client.close(&self.solo, &mut nobody, now);
        Ok(observed)
    }

    fn definitions(&self) -> Result<Definitions, String> {
        let record = self.solo.read(Core::definitions);
        match record.facts.into_iter().next() {
            Some(Fact::Definitions(definitions)) => Ok(*definitions),
            other => Err(format!("{other:?} is no checkpoint")),
        }
    }

    /// All bodies are where they are looked for, also of messages that are on their way.
    pub fn check_bodies(&self) -> Result<(), String> {
        let messages: Vec<Arc<Message>> = self.solo.read(|core| {
            let facts = core.message_facts().filter_map(|fact| match &fact {
                Fact::Enqueued(_) | Fact::Prepared(_) => {
                    let messages = fact.messages().map(|(message, _)| message.clone());
                    Some(messages.collect::<Vec<_>>())
                }
                _ => None,
            });
            facts.flatten().collect()
        });
        for message in messages {
            let message = message.fetch()?;
            let uid = message.body().and_then(content::uid_of);
            uid.ok_or("a message that rests is not what was sent")?;
        }
        Ok(())
    }

    /// What is needed of a segment counts as such. Not to be asked while there may be two copies.
    pub fn check_live(&self) -> Result<(), String> {
        let journal = self.solo.journal().ok_or("there is no journal")?;
        let segments = journal.segments().into_iter();
        let sealed = segments.filter(|segment| segment.is_sealed);
        let mut needed = BTreeMap::new();
        for segment in sealed {
            let read = journal.read_segment(segment.number, &mut |_, octets| {
                let facts = octets.get(STAMP_BYTES..).unwrap_or_default();
                let record = FactRecord::decode_with(facts, None);
                let facts = record.map_err(|error| error.to_string())?.facts;
                for fact in self.solo.read(|core| core.still_needed(&facts)) {
                    match fact {
                        Fact::Enqueued(fact) => {
                            needed.insert(fact.handle, (segment.number, fact.message.size()));
                        }
                        Fact::Prepared(branch) => {
                            needed.extend(branch.publishes.iter().map(|publish| {
                                (publish.handle, (segment.number, publish.message.size()))
                            }))
                        }
                        _ => {}
                    }
                }
                Ok(())
            });
            read.map_err(|error| error.to_string())?;
        }
        let mut by_segment: BTreeMap<u64, i64> = BTreeMap::new();
        for (segment, bytes) in needed.into_values() {
            *by_segment.entry(segment).or_default() += bytes as i64;
        }
        for segment in journal.segments() {
            let needed = by_segment.get(&segment.number).copied().unwrap_or(0);
            if segment.is_sealed && segment.live_bytes < needed {
                return Err(format!("{segment:?} counts less than the {needed} needed"));
            }
        }
        Ok(())
    }
}

fn things(definitions: &Definitions) -> std::collections::BTreeSet<Thing> {
    let Definitions {
        exchanges,
        queues,
        bindings,
        ..
    } = definitions;
    let is_ours = |name: &str| !name.is_empty() && !name.starts_with("amq.");
    let exchanges = exchanges.iter().filter(|exchange| is_ours(&exchange.name));
    let mut all: std::collections::BTreeSet<Thing> = exchanges
        .map(|exchange| Thing::Exchange(exchange.name.to_string()))
        .collect();
    let names: BTreeMap<_, _> = queues
        .iter()
        .map(|queue| (queue.queue, queue.name.to_string()))
        .collect();
    all.extend(names.values().cloned().map(Thing::Queue));
    for binding in bindings {
        let queue = names.get(&binding.queue).cloned().unwrap_or_default();
        let (exchange, key) = (binding.exchange.to_string(), binding.key.to_string());
        all.insert(Thing::Binding(exchange, queue, key));
    }
    all
}
