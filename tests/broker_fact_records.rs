//! Facts as octets: what is read back is the same, and any octets give a record or an error, and no
//! more than that.

mod broker;

use std::sync::Arc;

use broker::durable::carried;
use broker::seeded::Seeded;
use broker::{Broker, message_with};
use ferrymq::broker::encoding::{Decoder, Encoder, EncodingError, Record};
use ferrymq::broker::facts::{
    Definitions, Dequeued, EncodedFacts, EncodedMessage, Enqueued, Fact, FactRecord, Place,
    Positions, QueueDefinition, Rejected,
};
use ferrymq::broker::ids::{GroupTime, QueueKey, ShardId};
use ferrymq::broker::message::{BodyHandle, Message};
use ferrymq::broker::{Batch, Command, Core, Options, Origin, Out, Recovery};
use ferrymq::wire::{DeliveryMode, Map, Value};

fn encoded<T: Record>(value: &T) -> Vec<u8> {
    let mut encoder = Encoder::default();
    value.encode(&mut encoder);
    encoder.bytes
}

fn record(facts: Vec<Fact>) -> FactRecord {
    let (index, time) = (7, GroupTime(8));
    FactRecord { index, time, facts }
}

fn persistent(key: &str, body: &str) -> Arc<Message> {
    let draft = message_with(key, body, |delivery| {
        delivery.delivery_mode = Some(DeliveryMode::PERSISTENT);
        delivery.ttl = Some(5);
    });
    Arc::new(draft.published("amq.topic"))
}

fn enqueued(message: Arc<Message>, position: u64) -> Fact {
    let handle = BodyHandle {
        shard: ShardId(0),
        index: 6,
        n: 5,
    };
    let place = |queue| Place {
        queue: QueueKey(queue),
        position,
        expires: GroupTime::NEVER,
    };
    Fact::Enqueued(Enqueued {
        handle,
        places: [place(1), place(2)].into_iter().collect(),
        message,
    })
}

fn left(positions: &[(u64, u64)]) -> Dequeued {
    Dequeued {
        queue: QueueKey(1),
        before: 4,
        positions: Positions(positions.to_vec()),
    }
}

/// Records with a fact of every kind: those of a broker that does everything.
fn every_kind() -> Vec<FactRecord> {
    let broker = Broker::new();
    let session = broker.session("a");
    session.declare_exchange_with("e", "topic", |declare| {
        declare.durable = true;
        let numbers = [("qpid.msg_sequence", Value::Void)];
        declare.arguments = Some(numbers.into_iter().collect());
    });
    session.publish_message("e", message_with("nobody", "numbered", |_| {}));
    for queue in ["dead", "q"] {
        session.declare_with(queue, |declare| {
            declare.durable = true;
            declare.alternate_exchange = Some("amq.fanout".into());
        });
    }
    session.bind("amq.fanout", "dead", "", &[]);
    session.bind("e", "q", "a.*", &[]);
    broker.together(|| {
        for number in 0..1500 {
            let message = message_with("q", &number.to_string(), |delivery| {
                delivery.delivery_mode = Some(DeliveryMode::PERSISTENT);
            });
            session.publish_message("", message);
        }
    });
    session.subscribe("q", "d");
    session.flow("d", 1200);
    broker.hold_work();
    session.reject(broker::range(0, 1199));
    session.declare_with("m", |declare| {
        declare.durable = true;
        declare.alternate_exchange = Some("amq.fanout".into());
        let marks = [("qpid.dead_letter", Value::Str16("rejected".into()))];
        declare.arguments = Some(marks.into_iter().collect());
    });
    let message = message_with("m", "marked", |delivery| {
        delivery.delivery_mode = Some(DeliveryMode::PERSISTENT);
    });
    session.publish_message("", message);
    session.subscribe("m", "of m");
    session.flow("of m", 1);
    session.reject(broker::range(1200, 1200));
    let mut records = vec![broker.core(|core| core.definitions())];
    session.unbind("e", "q", "a.*");
    session.delete_exchange("e");
    session.delete("q");
    records.push(broker.core(|core| core.definitions()));
    records.splice(0..0, broker.facts());
    records
}

#[test]
fn every_kind_of_fact_is_read_back_as_it_was() {
    let records = every_kind();
    let mut kinds: Vec<u8> = records
        .iter()
        .flat_map(|record| &record.facts)
        .map(|fact| encoded(fact)[0])
        .collect();
    kinds.sort_unstable();
    kinds.dedup();
    assert_eq!(
        kinds,
        [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13],
        "a kind is missing"
    );
    for record in &records {
        carried(record);
    }
}

#[test]
fn facts_written_by_the_first_version_stay_readable() {
    // Octets as they were written then: they may not change.
    let old = "01 0000000000000007 0000000000000008 00000003 \
        02 0000000000000001 0000000000000004 00000001 0000000000000005 0000000000000006 \
        05 00000001 65 \
        07 0000000000000001 01 00000001 66";
    let octets: Vec<u8> = old
        .split_whitespace()
        .flat_map(|word| (0..word.len()).step_by(2).map(move |at| &word[at..at + 2]))
        .map(|octet| u8::from_str_radix(octet, 16).expect("hexadecimal"))
        .collect();
    let expected = record(vec![
        Fact::Dequeued(left(&[(5, 6)])),
        Fact::ExchangeDeleted { name: "e".into() },
        Fact::QueueDeleted {
            queue: QueueKey(1),
            rerouted_to: Some("f".into()),
        },
    ]);
    assert_eq!(FactRecord::decode(&mut Decoder::new(&octets)), Ok(expected));
}

#[test]
fn version_that_is_not_known_is_refused() {
    let mut octets = encoded(&record(Vec::new()));
    octets[0] += 1;
    let mut recovery = Recovery::new(ShardId(0), Options::default());
    let error = recovery.take(&octets).expect_err("a later version");
    assert_eq!(error.what, "version of facts");
}

#[test]
fn long_message_is_shared_and_a_short_one_copied() {
    let (long, short) = (persistent("k", &"x".repeat(5000)), persistent("k", "y"));
    let sound = record(vec![
        enqueued(long.clone(), 5),
        enqueued(short, 6),
        enqueued(long.clone(), 7),
    ]);
    let EncodedFacts { octets, shared, .. } = sound.encode_sharing();
    assert!(octets.len() < 500);
    assert_eq!(shared.len(), 2);
    let is_same = |run: &bytes::Bytes| run.as_ptr() == long.content().as_ptr();
    assert!(shared.iter().all(|(_, run)| is_same(run)));
    carried(&sound);
}

#[test]
fn message_can_be_made_by_who_reads_the_record() {
    let message = persistent("k", "the body");
    let octets = encoded(&record(vec![enqueued(message.clone(), 5)]));
    let mut recovery = Recovery::new(ShardId(0), Options::default());
    let mut seen = Vec::new();
    let mut make = |there: &EncodedMessage<'_>| -> Result<Arc<Message>, EncodingError> {
        let body_at = there.header_at + there.header.len();
        assert_eq!(&octets[body_at..][..there.body.len()], there.body);
        seen.push((there.handle.index, there.body.to_vec()));
        assert_eq!(there.message()?, message);
        Ok(message.clone())
    };
    recovery.take_with(&octets, &mut make).expect("sound");
    assert_eq!(seen, [(6, b"the body".to_vec())]);
    assert_eq!(
        Arc::strong_count(&message),
        3,
        "two places and the test's own"
    );
}

#[test]
fn messages_of_queues_that_a_checkpoint_does_not_know_take_no_memory() {
    let message = persistent("k", "body");
    let mut recovery = Recovery::new(ShardId(0), Options::default());
    recovery.take_record(record(vec![enqueued(message.clone(), 5)]));
    assert_eq!(Arc::strong_count(&message), 3);
    let checkpoint = Definitions {
        incarnations: 2,
        exchanges: Vec::new(),
        queues: Vec::new(),
        bindings: Vec::new(),
        rerouting: Vec::new(),
    };
    recovery.take_record(record(vec![Fact::Definitions(Box::new(checkpoint))]));
    assert_eq!(Arc::strong_count(&message), 1);
}

#[test]
fn record_is_taken_as_a_whole_or_not_at_all() {
    let mut octets = encoded(&record(vec![Fact::QueueDeclared(Box::new(
        QueueDefinition {
            queue: QueueKey(1),
            name: "q".into(),
            is_auto_delete: false,
            alternate: None,
            arguments: Map::new(),
            tail: 1,
        },
    ))]));
    octets.push(0);
    let mut recovery = Recovery::new(ShardId(0), Options::default());
    let error = recovery.take(&octets).expect_err("an octet too many");
    assert_eq!(error.what, "end of facts");
    octets.pop();
    recovery.take(&octets).expect("sound");
    let core = recovery.finish(0).expect("nothing of the first was taken");
    assert_eq!(core.index(), 7);
}

#[test]
fn numbers_that_counting_does_not_reach_are_refused() {
    let huge = 1 << 62;
    let dequeued = |before, positions: &[(u64, u64)]| {
        Fact::Dequeued(Dequeued {
            before,
            ..left(positions)
        })
    };
    let rejected = Fact::Rejected(Rejected {
        queue: QueueKey(huge),
        positions: Positions::default(),
    });
    let refused = [
        dequeued(huge, &[]),
        dequeued(0, &[(5, huge)]),
        dequeued(0, &[(5, 4)]),
        dequeued(0, &[(5, 6), (6, 7)]),
        dequeued(0, &[(8, 9), (1, 2)]),
        enqueued(persistent("k", ""), huge),
        enqueued(persistent("k", ""), 0),
        rejected,
    ];
    for fact in refused {
        let octets = encoded(&record(vec![fact.clone()]));
        assert!(
            FactRecord::decode(&mut Decoder::new(&octets)).is_err(),
            "{fact:?}"
        );
    }
    let octets = encoded(&FactRecord {
        index: huge,
        ..record(Vec::new())
    });
    assert!(FactRecord::decode(&mut Decoder::new(&octets)).is_err());
    carried(&record(vec![dequeued(huge - 1, &[(0, 0), (2, huge - 1)])]));
}

#[test]
fn message_that_is_not_persistent_is_no_fact() {
    let message = Arc::new(broker::message("k", "body").published(""));
    let octets = encoded(&record(vec![enqueued(message, 5)]));
    let error = FactRecord::decode(&mut Decoder::new(&octets)).expect_err("not persistent");
    assert_eq!(error.what, "persistent message");
}

/// Lets a recovered core work: what it was made of may be damaged, but not so that it panics.
fn run(core: &mut Core) {
    let mut out = Out {
        wants_facts: true,
        ..Out::default()
    };
    for command in [Command::Tick, Command::Continue, Command::Continue] {
        let mut batch = Batch {
            shard: ShardId(0),
            index: core.index() + 1,
            time: core.time(),
            origin: Origin::Sequencer,
            commands: vec![command],
        };
        core.apply(&mut batch, &mut out);
    }
    let facts = core.message_facts().count();
    assert!(facts < 100_000);
    carried(&core.definitions());
}

#[test]
fn any_octets_are_facts_or_an_error() {
    let sound: Vec<Vec<u8>> = every_kind()
        .iter()
        .map(encoded)
        .filter(|octets| octets.len() < 3000)
        .collect();
    let (mut read, mut finished) = (0, 0);
    for seed in 0..3000 {
        let mut seeded = Seeded::new(seed);
        let mut recovery = Recovery::new(ShardId(0), Options::default());
        for octets in &sound {
            let mut octets = octets.clone();
            match seeded.below(12) {
                0 => octets = seeded.bytes(200),
                1..=3 => seeded.damage(&mut octets),
                4 => continue,
                _ => {}
            }
            if let Err(error) = recovery.take(&octets) {
                assert!(error.offset <= octets.len());
                continue;
            }
            read += 1;
        }
        if let Ok(mut core) = recovery.finish(seeded.u64()) {
            finished += 1;
            run(&mut core);
        }
    }
    assert!(read > 10_000 && finished > 300, "{read} {finished}");
}
