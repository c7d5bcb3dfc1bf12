//! Batches, snapshots and their parts as bytes: what is read back is the same, and any bytes give a
//! value or an error.

mod broker;

use std::collections::BTreeSet;

use broker::seeded::Seeded;
use broker::{Broker, MEMBER, Session, ids, range};
use bytes::Bytes;
use ferrymq::broker::encoding::{Decoder, Encoder, Record};
use ferrymq::broker::ids::{ChannelKey, ConnectionNumber, GroupTime, MemberId, QueueId, ShardId};
use ferrymq::broker::ranges::without;
use ferrymq::broker::slab::Slab;
use ferrymq::broker::snapshot::{Snapshot, Thawing};
use ferrymq::broker::{Batch, Command, Core, Origin, Request};
use ferrymq::wire::{AcceptMode, CommandId, SequenceSet, Value};

fn encoded<T: Record>(value: &T) -> Vec<u8> {
    let mut encoder = Encoder::default();
    value.encode(&mut encoder);
    encoder.bytes
}

fn decoded<T: Record>(bytes: &[u8]) -> Option<T> {
    let mut decoder = Decoder::new(bytes);
    let value = T::decode(&mut decoder).ok()?;
    decoder.is_at_end().then_some(value)
}

/// Branches in every state.
fn works_in_branches(session: &Session) {
    drop(session.told());
    session.dtx_select();
    for branch in ["prepared", "undone", "suspended", "open"] {
        session.start(branch);
        session.publish("q", branch);
        match branch {
            "prepared" => {
                session.accept(ids([5]));
                session.end(branch);
                session.prepare(branch);
            }
            "undone" => _ = session.end_failed(branch),
            "suspended" => _ = session.suspend(branch),
            _ => {}
        }
    }
}

/// A broker in the middle of everything that a core can hold.
fn busy() -> Broker {
    busy_with(true)
}

fn busy_with(has_parts: bool) -> Broker {
    let broker = Broker::new();
    broker.pass(17);
    let (a, b, c) = (
        broker.session("a"),
        broker.connection_with(MemberId(2), 7, 5000).session("b"),
        broker.session("c"),
    );
    a.declare_exchange("e", "topic", Some("amq.fanout"));
    a.declare_limited("q", &[("qpid.max_count", Value::U32(9000))]);
    a.declare_with("own", |declare| {
        declare.exclusive = true;
        declare.auto_delete = true;
        declare.alternate_exchange = Some("e".into());
    });
    a.bind(
        "e",
        "q",
        "x.#",
        &[("x-scope", Value::Str16("session".into()))],
    );
    a.publish_many("q", 0, 3000);
    a.publish_for("q", "short", 5);
    a.publish_message(
        "",
        broker::message_with_headers("q", "h", &[("n", Value::I32(1))]),
    );
    a.transfer(
        "e",
        broker::message("x.y", "accepted"),
        AcceptMode::EXPLICIT,
    );
    b.subscribe("q", "d");
    b.flow("d", 4000);
    b.complete(range(0, 3));
    b.accept(ids([1, 3]));
    c.browse("q", "b");
    c.subscribe_with("q", "s", |subscribe| {
        let arguments = [("x-apache-selector", Value::Str16("n = 1".into()))];
        subscribe.arguments = Some(arguments.into_iter().collect());
    });
    c.flow("s", 3);
    c.flow("b", 100);
    c.select();
    c.publish("q", "in transaction");
    c.accept(range(0, 0));
    works_in_branches(&b);
    if has_parts {
        let part = Command::BodyPart {
            connection: a.connection.key.number,
            at: 0,
            octets: Bytes::from_static(b"begun"),
        };
        broker.entry(MEMBER, vec![part]);
    }
    broker.hold_work();
    a.purge("q");
    c.flush("b");
    b.detach();
    broker.in_one_entry(|| {
        a.publish_many("own", 0, 100);
        a.send(Request::Sync);
    });
    broker
}

#[test]
fn snapshot_in_the_middle_of_everything_gives_the_same_state() {
    for has_parts in [false, true] {
        let broker = busy_with(has_parts);
        loop {
            broker.core(|core| {
                let same = core.freeze().encode().decode().expect("its own snapshot");
                assert_eq!(same.digest(), core.digest());
                assert_eq!(same.freeze().encode(), core.freeze().encode());
            });
            if !broker.continue_once() {
                break;
            }
        }
    }
}

#[test]
fn snapshot_that_is_cut_or_longer_is_refused() {
    let snapshot = busy().core(|core| core.freeze().encode());
    assert!(snapshot.decode().is_ok());
    let mut cut = snapshot.clone();
    cut.state.pop();
    assert!(cut.decode().is_err());
    let mut longer = snapshot.clone();
    longer.state.push(0);
    assert!(longer.decode().is_err());
    let mut longer = snapshot.clone();
    longer.messages.push(0);
    assert!(longer.decode().is_err());
    let mut without_messages = snapshot.clone();
    without_messages.messages = encoded(&0_u32);
    assert!(without_messages.decode().is_err());
    let mut other = snapshot;
    other.state[0] ^= 1;
    assert!(other.decode().is_err());
}

/// A snapshot cut into pieces, and how many octets were said to be in state and messages.
fn pieces_of(core: &Core, bytes: usize) -> (Vec<Bytes>, u64, u64) {
    let mut pieces = core.freeze().into_pieces(bytes);
    let (count, state, messages) = (
        pieces.count(),
        pieces.state_bytes(),
        pieces.messages_bytes(),
    );
    let mut all = Vec::new();
    while let Some(piece) = pieces.next_piece().expect("all is in memory") {
        assert!(piece.len() == bytes || all.len() as u64 + 1 == count);
        all.push(piece);
    }
    assert_eq!(all.len() as u64, count);
    (all, state, messages)
}

#[test]
fn snapshot_in_pieces_of_any_size_is_the_whole_one() {
    busy().core(|core| {
        let whole = core.freeze().encode();
        let octets = [&whole.state[..], &whole.messages].concat();
        for bytes in [1, 7, 100, 1000, octets.len(), octets.len() + 1] {
            let (pieces, state, messages) = pieces_of(core, bytes);
            assert_eq!(pieces.concat(), octets, "pieces of {bytes}");
            assert_eq!(state, whole.state.len() as u64);
            assert_eq!(messages, whole.messages.len() as u64);
            let mut thawing = Thawing::new(state, messages);
            for piece in &pieces {
                thawing.push(piece).expect("it is sound");
            }
            let same = thawing.finish().expect("all has come");
            assert_eq!(same.digest(), core.digest(), "pieces of {bytes}");
        }
    });
}

#[test]
fn snapshot_of_which_a_piece_is_missing_or_one_too_many_is_refused() {
    busy().core(|core| {
        let (pieces, state, messages) = pieces_of(core, 300);
        for left_out in 0..pieces.len() {
            let mut thawing = Thawing::new(state, messages);
            let kept = pieces.iter().enumerate().filter(|(n, _)| *n != left_out);
            let pushed = kept
                .map(|(_, piece)| thawing.push(piece))
                .collect::<Vec<_>>();
            let is_read = pushed.iter().all(Result::is_ok) && thawing.finish().is_ok();
            assert!(!is_read, "without piece {left_out}");
        }
        let mut thawing = Thawing::new(state, messages);
        for piece in &pieces {
            thawing.push(piece).expect("it is sound");
        }
        assert!(thawing.push(&[0]).is_err());
    });
}

#[test]
fn slab_keeps_which_slot_is_used_next() {
    let mut slab = Slab::default();
    for number in 0..6_u64 {
        slab.insert(number);
    }
    for slot in [4, 1, 3] {
        slab.remove(slot);
    }
    let mut same: Slab<u64> = decoded(&encoded(&slab)).expect("its own bytes");
    assert_eq!((same.len(), same.get(4), same.get(5)), (3, None, Some(&5)));
    let next = [
        same.insert(7),
        same.insert(8),
        same.insert(9),
        same.insert(10),
    ];
    assert_eq!(next, [3, 1, 4, 6]);
}

#[test]
fn slab_with_a_free_list_that_does_not_fit_is_refused() {
    let of = |items: &[Option<u64>], free: &[u32]| {
        let mut bytes = Encoder::default();
        (items.to_vec(), free.to_vec()).encode(&mut bytes);
        decoded::<Slab<u64>>(&bytes.bytes).is_some()
    };
    let items = [Some(1), None, Some(2), None];
    assert!(of(&items, &[1, 3]));
    assert!(of(&items, &[3, 1]));
    assert!(!of(&items, &[1]), "a slot would be lost");
    assert!(!of(&items, &[1, 1]), "a slot would be used twice");
    assert!(!of(&items, &[1, 3, 3]));
    assert!(!of(&items, &[1, 2]), "a slot that is in use");
    assert!(!of(&items, &[1, 9]), "a slot that is not there");
    assert!(!of(&items, &[1, 3, 4]));
    assert!(of(&[], &[]));
    assert!(!of(&[], &[0]));
}

#[test]
fn ids_without_others_are_those_of_a_set() {
    for seed in 0..300 {
        let mut seeded = Seeded::new(seed);
        let base = seeded.u32();
        let mut some = |span: usize| {
            let count = seeded.below(12);
            let shift = seeded.below(60) as u32;
            let mut set = SequenceSet::new();
            for _ in 0..count {
                let first = base.wrapping_add(shift + seeded.below(span) as u32);
                let last = first.wrapping_add(seeded.below(9) as u32);
                set.insert_range(CommandId(first), CommandId(last));
            }
            set
        };
        let (one, other) = (some(90), some(90));
        let taken: BTreeSet<u32> = other.ids().map(|id| id.0).collect();
        let left = ids(one.ids().map(|id| id.0).filter(|id| !taken.contains(id)));
        assert_eq!(
            without(&one, &other),
            left,
            "seed {seed}: {one} without {other}"
        );
    }
    let all = range(5, 5 + i32::MAX as u32);
    assert_eq!(without(&all, &all), SequenceSet::new());
    let far = range(0x9000_0000, 0xffff_ffff);
    assert_eq!(without(&range(0, 10), &far), range(0, 10));
}

/// Batches that say something of every kind.
fn batches() -> Vec<Batch> {
    let at = ChannelKey {
        connection: ConnectionNumber(3),
        channel: 4,
    };
    let session = |request| Command::Session {
        at,
        id: CommandId(9),
        sync: true,
        request,
    };
    let message = broker::message_with_headers("k", "body", &[("n", Value::Str16("v".into()))]);
    let commands = vec![
        session(Request::Transfer {
            destination: "amq.topic".into(),
            accept_mode: AcceptMode::EXPLICIT,
            message: std::sync::Arc::new(message.published("amq.topic")),
        }),
        session(Request::Accept {
            transfers: ids([1, 3, 5]),
        }),
        session(Request::QueueDeclare(Box::new(
            ferrymq::wire::QueueDeclare {
                queue: "q".into(),
                arguments: Some(
                    [("a", Value::List(vec![Value::Void]))]
                        .into_iter()
                        .collect(),
                ),
                ..Default::default()
            },
        ))),
        Command::Completed {
            at,
            commands: range(0, 99),
        },
        Command::Attach {
            at,
            name: b"name".to_vec(),
            force: true,
        },
        Command::Configure(Box::default()),
        Command::Tick,
    ];
    let batch = |origin, commands| Batch {
        shard: ShardId(0),
        index: 5,
        time: GroupTime(6),
        origin,
        commands,
    };
    let member = Origin::Member {
        id: MEMBER,
        epoch: 1,
        seq: 2,
    };
    let port = Origin::Port {
        shard: ShardId(1),
        seq: 7,
    };
    vec![
        batch(member, commands),
        batch(port, Vec::new()),
        batch(Origin::Sequencer, vec![Command::Continue]),
    ]
}

#[test]
fn batch_is_read_back_as_it_was() {
    for batch in batches() {
        assert_eq!(decoded::<Batch>(&encoded(&batch)), Some(batch));
    }
}

#[test]
fn any_bytes_are_a_batch_or_an_error() {
    let sound: Vec<Vec<u8>> = batches().iter().map(encoded).collect();
    for seed in 0..20_000 {
        let mut seeded = Seeded::new(seed);
        let bytes = match seeded.below(3) {
            0 => seeded.bytes(200),
            _ => {
                let mut bytes = seeded.pick(&sound).clone();
                seeded.damage(&mut bytes);
                bytes
            }
        };
        let mut decoder = Decoder::new(&bytes);
        if let Ok(batch) = Batch::decode(&mut decoder) {
            assert!(batch.commands.len() <= bytes.len());
            let again = encoded(&batch);
            assert_eq!(decoded::<Batch>(&again).as_ref().map(encoded), Some(again));
        }
    }
}

#[test]
fn any_bytes_are_a_snapshot_or_an_error() {
    let broker = Broker::new();
    let session = broker.session("a");
    session.declare("q");
    session.publish_many("q", 0, 5);
    session.subscribe("q", "d");
    session.flow("d", 3);
    session.select();
    session.publish("q", "5");
    session.accept(ids([1]));
    let sound = broker.core(|core| core.freeze().encode());
    for seed in 0..5000 {
        let mut seeded = Seeded::new(seed);
        let mut damaged = sound.clone();
        match seeded.below(4) {
            0 => damaged.messages = seeded.bytes(100),
            1 => seeded.damage(&mut damaged.messages),
            2 => damaged.state.splice(4.., seeded.bytes(300)).for_each(drop),
            _ => seeded.damage(&mut damaged.state),
        }
        if let Ok(core) = damaged.decode() {
            let again: Snapshot = core.freeze().encode();
            assert!(again.decode().is_ok());
        }
    }
}

#[test]
fn length_in_bytes_is_not_believed() {
    let mut bytes = Encoder::default();
    u32::MAX.encode(&mut bytes);
    bytes.raw(&[0; 64]);
    assert!(decoded::<Vec<u8>>(&bytes.bytes).is_none());
    assert!(decoded::<Vec<QueueId>>(&bytes.bytes).is_none());
    assert!(decoded::<Slab<u64>>(&bytes.bytes).is_none());
    assert!(decoded::<SequenceSet>(&bytes.bytes).is_none());
    assert!(decoded::<ferrymq::wire::Text>(&bytes.bytes).is_none());
    assert!(decoded::<ferrymq::wire::Map>(&bytes.bytes).is_none());
}

#[test]
fn sequence_set_that_is_not_in_order_is_refused() {
    let of = |ranges: &[(u32, u32)]| {
        let mut bytes = Encoder::default();
        ranges.to_vec().encode(&mut bytes);
        decoded::<SequenceSet>(&bytes.bytes)
    };
    assert_eq!(of(&[(1, 2), (4, 4)]), Some(ids([1, 2, 4])));
    assert_eq!(of(&[(u32::MAX, 0), (2, 2)]), Some(ids([u32::MAX, 0, 2])));
    assert_eq!(of(&[(2, 1)]), None);
    assert_eq!(of(&[(4, 4), (1, 2)]), None);
    assert_eq!(of(&[(1, 4), (4, 5)]), None, "they overlap");
    assert_eq!(of(&[(1, 4), (5, 6)]), None, "they are one range");
    assert_eq!(
        of(&[(0, 0), (0x7fff_fffe, 0x8000_0001)]),
        None,
        "wider than order means something"
    );
}
