//! Cores recovered from facts, in runs from seeds: after any batch they are what the core that wrote
//! the facts was, whatever a journal does to the records that it may do. A failure names the seed;
//! `FERRYMQ_FACT_SEEDS` runs more of them.

mod broker;

use std::collections::BTreeSet;

use broker::actors::{
    APPLIES, Actor, Tally, branch, connect, declare_copy, events_to, sound_arguments, step,
};
use broker::durable::{self, At, compare, recovered};
use broker::seeded::Seeded;
use broker::{Broker, MEMBER, Session};
use ferrymq::broker::dead::Reason;
use ferrymq::broker::facts::{Enqueued, Fact, FactRecord};
use ferrymq::broker::ids::{MemberId, QueueKey, ShardId};
use ferrymq::broker::{Command, Options, Recovery};
use ferrymq::wire::{DeliveryMode, Value};

const SEEDS: u64 = 28;
const ROUNDS: usize = 300;

/// Facts of a journal that is to be compacted.
const LONG: usize = 3000;

fn options() -> Options {
    Options {
        default_queue_limit: 10_000,
        queue_purge_interval: 3,
        events_to: events_to(),
        ..Options::default()
    }
}

fn is_of_messages(fact: &Fact) -> bool {
    matches!(
        fact,
        Fact::Enqueued(_)
            | Fact::Dequeued(_)
            | Fact::Rejected(_)
            | Fact::Died(_)
            | Fact::GivenBack(_)
            | Fact::Prepared(_)
    )
}

/// The same facts as they may lie in a journal: message facts anywhere, some of them twice.
fn shuffled(seeded: &mut Seeded, facts: &[FactRecord]) -> Vec<FactRecord> {
    let mut mixed: Vec<(u64, FactRecord)> = Vec::new();
    for (at, record) in facts.iter().enumerate() {
        for fact in &record.facts {
            let alone = FactRecord {
                index: record.index,
                time: record.time,
                facts: vec![fact.clone()],
            };
            if !is_of_messages(fact) {
                mixed.push((at as u64 * 2, alone));
                continue;
            }
            for _ in 0..1 + seeded.below(2) {
                let place = seeded.below(facts.len() * 2 + 1) as u64;
                mixed.push((place, alone.clone()));
            }
        }
    }
    // Stable: definitions keep their order.
    mixed.sort_by_key(|(at, _)| *at);
    mixed.into_iter().map(|(_, record)| record).collect()
}

/// A journal whose first records were compacted: a checkpoint and what of their messages is needed
/// come behind the last record. The first records may still be there: the broker may have ended
/// before they were removed.
fn compacted(
    seeded: &mut Seeded,
    broker: &Broker,
    facts: &[FactRecord],
    is_whole: bool,
) -> Vec<FactRecord> {
    let first = match is_whole {
        true => facts.len(),
        false => seeded.below(facts.len() + 1),
    };
    let (old, rest) = facts.split_at(first);
    let mut journal = match !is_whole && seeded.once_in(3) {
        true => old.to_vec(),
        false => Vec::new(),
    };
    journal.extend(rest.iter().cloned());
    let left = places(rest);
    broker.core(|core| {
        journal.push(core.definitions());
        for record in old {
            let mut needed = core.still_needed(&record.facts);
            let dequeued = record.facts.iter().filter(|fact| names_one_of(fact, &left));
            needed.extend(dequeued.cloned());
            journal.push(core.record_of(needed));
        }
    });
    journal
}

/// Whether a fact says that a message has left one of some places.
fn names_one_of(fact: &Fact, places: &BTreeSet<At>) -> bool {
    let Fact::Dequeued(fact) = fact else {
        return false;
    };
    let ranges = fact.positions.0.iter().copied();
    let mut ranges = ranges.chain([(0, fact.before.saturating_sub(1))]);
    ranges.any(|(first, last)| {
        let mut found = places.range((fact.queue, first)..=(fact.queue, last));
        found.next().is_some()
    })
}

fn places(records: &[FactRecord]) -> BTreeSet<At> {
    let facts = records.iter().flat_map(|record| &record.facts);
    let of = |fact: &Fact| match fact {
        Fact::Enqueued(fact) => {
            let places = fact.places.iter();
            places.map(|place| (place.queue, place.position)).collect()
        }
        Fact::Prepared(branch) => vec![(QueueKey::BRANCHES, branch.number)],
        _ => Vec::new(),
    };
    facts.flat_map(of).collect()
}

/// Definitions that a later checkpoint stands for are left out.
fn without_superseded(facts: &[FactRecord]) -> Vec<FactRecord> {
    let is_checkpoint = |fact: &Fact| matches!(fact, Fact::Definitions(_));
    let last = facts
        .iter()
        .rposition(|record| record.facts.iter().any(is_checkpoint));
    let mut left = facts.to_vec();
    for record in &mut left[..last.unwrap_or(0)] {
        record.facts.retain(is_of_messages);
    }
    left
}

/// Durable messages, so many that what becomes of them takes more than an entry.
fn publish_many(session: &Session, queue: &str, count: usize) {
    session.connection.broker.together(|| {
        for number in 0..count {
            let message = broker::message_with(queue, &number.to_string(), |delivery| {
                delivery.delivery_mode = Some(DeliveryMode::PERSISTENT);
            });
            session.publish_message("", message);
        }
    });
}

/// Rejects the messages of a deep queue, or deletes it: they go to an exchange, not all in one entry.
fn reroute_many(seeded: &mut Seeded, broker: &Broker, name: &str) {
    let session = broker.session(name);
    let marks = seeded.once_in(3);
    session.declare_with("deep", |declare| {
        declare.durable = true;
        declare.alternate_exchange = Some("amq.fanout".into());
        let mut arguments = vec![("qpid.max_size", Value::U64(0))];
        arguments.extend(marks.then(|| ("qpid.dead_letter", Value::Str16("all".into()))));
        declare.arguments = Some(arguments.into_iter().collect());
    });
    for queue in ["q", "r", "s"] {
        session.declare_with(queue, |declare| declare.durable = true);
        if seeded.once_in(3) {
            session.purge(queue);
        }
        session.bind("amq.fanout", queue, "", &[]);
    }
    let count = 350 + seeded.below(250);
    publish_many(&session, "deep", count);
    if !seeded.once_in(3) {
        session.subscribe("deep", "d");
        session.flow("d", u32::MAX);
        session.reject(broker::range(0, count as u32));
    }
    if !seeded.once_in(3) {
        session.delete("deep");
    }
    session.detach();
}

/// Changes exchanges and bindings, on a session of its own since it may fail.
fn rewire(seeded: &mut Seeded, broker: &Broker, name: &str) {
    let session = broker.session(name);
    let queue = *seeded.pick(&["q", "r", "s", ""]);
    let exchange = *seeded.pick(&["amq.direct", "amq.match", "amq.topic", "e", "f", "g"]);
    let key = *seeded.pick(&["q", "a.#", "a.*.#"]);
    let mut arguments = vec![("x-match", Value::Str16("all".into()))];
    if seeded.once_in(3) {
        arguments.push(("qpid.exclusive-binding", Value::Void));
    }
    if seeded.once_in(4) {
        arguments.push(("x-scope", Value::Str16("session".into())));
    }
    if seeded.once_in(4) {
        arguments.push(("n", Value::I32(seeded.below(2) as i32)));
    }
    let alternate = *seeded.pick(&["amq.fanout", "e", "f"]);
    let (durable, auto_delete) = (!seeded.once_in(3), seeded.once_in(3));
    let has_alternate = seeded.once_in(3);
    match seeded.below(9) {
        0..=1 => drop(session.unbind(exchange, queue, key)),
        2 => drop(session.delete_exchange(exchange)),
        3..=4 => {
            let exchange = *seeded.pick(&["e", "f", "g"]);
            let kind = *seeded.pick(&["direct", "topic", "fanout", "headers"]);
            session.declare_exchange_with(exchange, kind, |declare| {
                (declare.durable, declare.auto_delete) = (durable, auto_delete);
                declare.alternate_exchange = has_alternate.then(|| alternate.into());
            });
        }
        _ => drop(session.bind(exchange, queue, key, &arguments)),
    }
    if seeded.once_in(2) {
        session.detach();
    }
}

fn declare_all(seeded: &mut Seeded, keeper: &Session) {
    declare_copy(keeper);
    for queue in ["q", "r", "s", ""] {
        let durable = !seeded.once_in(4);
        let alternate = *seeded.pick(&["amq.fanout", "amq.direct", "amq.topic"]);
        let has_alternate = seeded.once_in(2);
        let arguments = sound_arguments(seeded);
        keeper.declare_with(queue, |declare| {
            declare.durable = durable;
            declare.arguments = Some(arguments);
            declare.alternate_exchange = has_alternate.then(|| alternate.into());
        });
    }
}

/// What a run met: one that meets little proves little.
#[derive(Default)]
struct Met {
    told: Tally,
    checks: usize,
    messages: usize,
    rejected: usize,
    died: usize,
    rerouting: usize,
    bindings: usize,
    branches: usize,
    lives: usize,
}

/// What a run does to the facts of each entry before they are kept: nothing, or a planted fault.
type Fault = fn(&mut FactRecord);

struct Run {
    seeded: Seeded,
    broker: Broker,
    actors: Vec<Actor>,
    keeper: Session,
    fault: Fault,
    /// Records up to here have had the fault.
    faulty: usize,
}

impl Run {
    fn new(seed: u64, fault: Fault) -> Run {
        let mut seeded = Seeded::new(seed);
        let broker = Broker::with(options()).without_recovering();
        broker.hold_work();
        let (actors, keeper) = people(&mut seeded, &broker);
        Run {
            seeded,
            broker,
            actors,
            keeper,
            fault,
            faulty: 0,
        }
    }

    fn journal(&mut self) -> Vec<FactRecord> {
        let mut facts = self.broker.facts();
        let from = self.faulty.min(facts.len());
        facts[from..].iter_mut().for_each(self.fault);
        self.faulty = facts.len();
        self.broker.keep_facts(facts.clone());
        facts
    }

    fn round(&mut self, round: usize, met: &mut Met) -> Result<(), String> {
        if round.is_multiple_of(20) {
            declare_all(&mut self.seeded, &self.keeper);
        }
        if self.seeded.once_in(40) {
            let name = format!("deep {round}");
            reroute_many(&mut self.seeded, &self.broker, &name);
            self.check(met)?;
        }
        if self.seeded.once_in(3) {
            let name = format!("wire {round}");
            rewire(&mut self.seeded, &self.broker, &name);
        }
        if self.seeded.once_in(6) {
            let name = format!("branch {round}");
            branch(&mut self.seeded, &self.broker, &name);
        }
        if self.seeded.once_in(5) {
            self.broker.continue_once();
        }
        let (seeded, broker) = (&mut self.seeded, &self.broker);
        step(seeded, broker, &mut self.actors, &mut met.told);
        drop(self.keeper.told());
        Ok(())
    }

    /// Compares, and may compact or begin a new life.
    fn check(&mut self, met: &mut Met) -> Result<(), String> {
        let facts = self.journal();
        let seeded = &mut self.seeded;
        let is_long = facts.iter().map(|record| record.facts.len()).sum::<usize>() > LONG;
        let journal = match seeded.below(4) {
            _ if is_long => compacted(seeded, &self.broker, &facts, true),
            0 => facts.clone(),
            1 => shuffled(seeded, &facts),
            2 => without_superseded(&facts),
            _ => compacted(seeded, &self.broker, &facts, false),
        };
        let now = match seeded.once_in(3) {
            true => without_superseded(&journal),
            false => journal.clone(),
        };
        let core = recovered(&now, &options(), 0);
        self.broker.core(|live| compare(live, &core))?;
        let (durable, _) = durable::durable(&core);
        met.checks += 1;
        met.messages += durable.messages.len();
        met.bindings += durable.bindings.len();
        met.branches += durable.branches.len();
        met.rejected += durable.rejected.len();
        met.died += durable.died.len();
        met.rerouting += durable.rerouting.len();
        if is_long || self.seeded.once_in(4) {
            self.faulty = journal.len();
            self.broker.keep_facts(journal);
        }
        if self.seeded.once_in(10) {
            met.lives += 1;
            self.restart();
        }
        Ok(())
    }

    fn restart(&mut self) {
        let facts = self.journal();
        self.broker = self.broker.restarted_with(facts, 0);
        (self.actors, self.keeper) = people(&mut self.seeded, &self.broker);
    }

    fn all(mut self, met: &mut Met) -> Result<(), String> {
        for round in 0..ROUNDS {
            self.round(round, met)?;
            if self.seeded.once_in(8) {
                self.check(met)?;
            }
        }
        for member in [MEMBER, MemberId(2)] {
            self.broker
                .sequencer(Command::MemberDown { member, epoch: 1 });
        }
        while self.broker.continue_once() {}
        self.check(met)
    }
}

fn people(seeded: &mut Seeded, broker: &Broker) -> (Vec<Actor>, Session) {
    let actor = |n: u64| Actor::new(connect(seeded, broker).attach(0, &n.to_string(), true));
    ((0..4).map(actor).collect(), broker.session("keeper"))
}

fn seeds() -> u64 {
    let asked = std::env::var("FERRYMQ_FACT_SEEDS");
    asked
        .ok()
        .and_then(|seeds| seeds.parse().ok())
        .unwrap_or(SEEDS)
}

#[test]
fn whatever_a_journal_does_the_recovered_core_is_the_one_that_was() {
    let mut met = Met::default();
    for seed in 0..seeds() {
        let run = Run::new(seed, |_| {});
        if let Err(text) = run.all(&mut met) {
            panic!("seed {seed}: {text}");
        }
    }
    assert!(met.told.delivered > 300 && met.checks > 300 && met.lives > 15);
    assert!(met.bindings > 2000, "{}", met.bindings);
    assert!(met.branches > 400, "{}", met.branches);
    let (rejected, rerouting) = (met.rejected, met.rerouting);
    assert!(met.messages > 10_000, "{}", met.messages);
    assert!(rejected > 100 && rerouting > 10, "{rejected} {rerouting}");
    assert!(met.died > 100, "{}", met.died);
}

/// Declares, binds and deletes exchanges and queues, each of them often.
fn come_and_go(seeded: &mut Seeded, broker: &Broker, round: usize) {
    let session = broker.session(&format!("come and go {round}"));
    let queue = *seeded.pick(&["u", "v", "w"]);
    let exchange = *seeded.pick(&["x", "y"]);
    match seeded.below(5) {
        0 => drop(session.delete(queue)),
        1 => drop(session.delete_exchange(exchange)),
        2 => {
            _ = session.declare_exchange_with(exchange, "topic", |declare| declare.durable = true);
        }
        3 => drop(session.bind(exchange, queue, "a.#", &[])),
        _ => drop(session.declare_with(queue, |declare| {
            declare.durable = true;
            declare.alternate_exchange = Some(exchange.into());
        })),
    }
}

/// How often records of one journal are set aside, each time others.
const LOSSES: usize = 12;

/// Reads what is left of a journal, and gives whether it fits together, and how much of it was passed
/// over for a core that can be written down and read again.
fn read_what_is_left(mut left: Vec<FactRecord>, met: &mut Met) -> Result<(bool, u64), String> {
    let read = |records: &[FactRecord]| {
        let mut recovery = Recovery::new(ShardId(0), options());
        for record in records {
            recovery.take_record(record.clone());
        }
        recovery
    };
    let fits = read(&left).finish(0).is_ok();
    let mut lenient = read(&left);
    let passed_over = lenient.pass_over();
    let core = lenient.finish(0).map_err(|error| error.to_string())?;
    met.messages += durable::durable(&core).0.messages.len();
    // As the log does: the next start has nothing to pass over.
    left.push(core.definitions());
    let again = read(&left).finish(0).map_err(|error| error.to_string())?;
    compare(&core, &again)?;
    Ok((fits, passed_over))
}

#[test]
fn where_records_were_set_aside_the_rest_makes_a_core_that_can_be_written_down_and_read_again() {
    let mut met = Met::default();
    let (mut refused, mut passed_over) = (0, 0);
    for seed in 0..seeds().div_ceil(4) {
        let mut run = Run::new(seed, |_| {});
        for round in 0..ROUNDS {
            run.round(round, &mut met).expect("nothing is compared");
            come_and_go(&mut run.seeded, &run.broker, round);
        }
        let journal = run.journal();
        for loss in 0..LOSSES {
            let often = 2 + run.seeded.below(30);
            let mut left = journal.clone();
            left.retain(|_| !run.seeded.once_in(often));
            let found = read_what_is_left(left, &mut met);
            let (fits, count) = found.unwrap_or_else(|why| panic!("seed {seed}, {loss}: {why}"));
            assert_eq!(fits, count == 0, "seed {seed}, {loss}: {count}");
            refused += usize::from(!fits);
            passed_over += count;
        }
    }
    assert!(refused > 20, "{refused}");
    assert!(passed_over > 200, "{passed_over}");
    assert!(met.messages > 1000, "{}", met.messages);
}

/// What goes wrong in the facts of an entry.
const FAULTS: [(&str, Fault); 14] = [
    ("messages that left are not said", |record| {
        record
            .facts
            .retain(|fact| !matches!(fact, Fact::Dequeued(_)));
    }),
    ("what is rerouted does not leave its old place", |record| {
        let is_moved = |fact: &Fact| matches!(fact, Fact::Enqueued(_));
        if record.facts.iter().any(is_moved) {
            record
                .facts
                .retain(|fact| !matches!(fact, Fact::Dequeued(_)));
        }
    }),
    ("ranges are one short", |record| {
        for fact in &mut record.facts {
            if let Fact::Dequeued(fact) = fact {
                fact.before = 0;
                fact.positions.0.pop();
            }
        }
    }),
    (
        "a message is said to be in its first queue only",
        |record| {
            for fact in &mut record.facts {
                if let Fact::Enqueued(Enqueued { places, .. }) = fact {
                    places.truncate(1);
                }
            }
        },
    ),
    ("rejected messages are said to be still there", |record| {
        record
            .facts
            .retain(|fact| !matches!(fact, Fact::Rejected(_)));
    }),
    ("how often messages were given back is not said", |record| {
        record
            .facts
            .retain(|fact| !matches!(fact, Fact::GivenBack(_)));
    }),
    ("prepared branches are not said", |record| {
        record
            .facts
            .retain(|fact| !matches!(fact, Fact::Prepared(_)));
    }),
    ("outcomes of branches are not said", |record| {
        let is_outcome =
            |fact: &Fact| matches!(fact, Fact::Dequeued(fact) if fact.queue == QueueKey::BRANCHES);
        record.facts.retain(|fact| !is_outcome(fact));
    }),
    ("what branches accept is not said", |record| {
        for fact in &mut record.facts {
            if let Fact::Prepared(branch) = fact {
                branch.accepts.clear();
            }
        }
    }),
    ("a branch publishes its first message only", |record| {
        for fact in &mut record.facts {
            if let Fact::Prepared(branch) = fact {
                branch.publishes.truncate(1);
            }
        }
    }),
    (
        "dead messages are said to have died of something else",
        |record| {
            for fact in &mut record.facts {
                if let Fact::Died(fact) = fact {
                    fact.death.reason = Reason::LowPriority;
                }
            }
        },
    ),
    ("positions that others know are given again", |record| {
        let is_kept = |fact: &Fact| !matches!(fact, Fact::PositionsKept { .. });
        record.facts.retain(is_kept);
    }),
    ("how far a copy has come is forgotten", |record| {
        let is_kept =
            |fact: &Fact| !matches!(fact, Fact::Sequenced { exchange, .. } if exchange == APPLIES);
        record.facts.retain(is_kept);
    }),
    ("deleted queues take their messages with them", |record| {
        for fact in &mut record.facts {
            if let Fact::QueueDeleted { rerouted_to, .. } = fact {
                *rerouted_to = None;
            }
        }
    }),
];

#[test]
fn planted_faults_are_found() {
    for (name, fault) in FAULTS {
        let found = (0..60).any(|seed| Run::new(seed, fault).all(&mut Met::default()).is_err());
        assert!(found, "{name}: not found");
    }
}
