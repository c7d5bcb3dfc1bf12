//! Sessions and connections: attach, the two command sequences, end; members and their batches.

mod broker;

use broker::{Broker, MEMBER, Told, ids, range};
use ferrymq::broker::ids::{MemberId, ShardId};
use ferrymq::broker::{Applied, Command, Origin, Request};
use ferrymq::wire::{CommandId, DetachCode, Value};

#[test]
fn attach_of_a_name_that_is_attached_is_busy() {
    let broker = Broker::new();
    let session = broker.session("a");
    let other = broker.connection().attach(1, "a", false);
    assert_eq!(other.told(), [Told::Detached(DetachCode::SESSION_BUSY)]);
    session.assert_untroubled();
}

#[test]
fn attach_by_force_detaches_the_holder_and_gives_its_messages_back() {
    let broker = Broker::new();
    let session = broker.session("a");
    session.declare("q");
    session.publish("q", "0");
    session.subscribe("q", "d");
    session.flow("d", 1);
    assert_eq!(session.received(), ["0"]);
    let other = broker.connection().attach(1, "a", true);
    assert_eq!(other.told(), [Told::Attached]);
    assert_eq!(session.told(), [Told::Detached(DetachCode::NORMAL)]);
    other.subscribe("q", "d");
    other.flow("d", 1);
    assert_eq!(other.received(), ["0*"]);
}

#[test]
fn attach_by_force_of_a_free_name_is_a_plain_attach() {
    let session = Broker::new().connection().attach(3, "a", true);
    assert_eq!(session.told(), [Told::Attached]);
}

#[test]
fn attach_again_on_the_same_channel_is_idempotent_and_silent() {
    let session = Broker::new().session("a");
    session.declare("q");
    let again = session.connection.attach(session.channel, "a", false);
    assert_eq!(again.told(), []);
    assert!(session.has_queue("q"));
}

#[test]
fn attach_of_another_name_on_a_channel_in_use_is_transport_busy() {
    let session = Broker::new().session("a");
    let other = session.connection.attach(session.channel, "b", false);
    assert_eq!(other.told(), [Told::Detached(DetachCode::TRANSPORT_BUSY)]);
    session.assert_untroubled();
}

#[test]
fn attach_of_more_sessions_than_a_connection_may_have_is_transport_busy() {
    let connection = Broker::new().connection();
    let most = u16::try_from(ferrymq::broker::limits::SESSIONS_PER_CONNECTION_MAX).expect("few");
    for channel in 0..most {
        let session = connection.attach(channel, &channel.to_string(), false);
        assert_eq!(session.told(), [Told::Attached]);
    }
    let one_more = connection.attach(most, "one more", false);
    assert_eq!(
        one_more.told(),
        [Told::Detached(DetachCode::TRANSPORT_BUSY)]
    );
}

#[test]
fn session_name_is_free_when_its_session_has_failed() {
    let broker = Broker::new();
    for _ in 0..5 {
        let session = broker.session("a");
        session.delete("missing");
        session.assert_failed(404, "missing");
    }
}

#[test]
fn session_name_is_free_when_its_connection_has_ended() {
    let broker = Broker::new();
    for _ in 0..5 {
        broker.session("a").connection.end();
    }
}

#[test]
fn channel_is_free_when_its_session_has_ended() {
    let session = Broker::new().session("a");
    session.detach();
    assert_eq!(session.told(), [Told::Detached(DetachCode::NORMAL)]);
    let next = session.connection.attach(session.channel, "b", false);
    assert_eq!(next.told(), [Told::Attached]);
}

#[test]
fn commands_of_a_channel_without_session_are_ignored() {
    let broker = Broker::new();
    let nobody = broker::Session::new(broker.connection(), 9);
    nobody.declare("q");
    nobody.complete(range(0, 5));
    nobody.know_completed(range(0, 5));
    nobody.flush_session(true, true, true);
    nobody.detach();
    assert_eq!(nobody.told(), []);
    assert!(!broker.session("a").has_queue("q"));
}

#[test]
fn commands_of_an_unknown_connection_are_ignored() {
    let broker = Broker::new();
    let connection = broker.connection();
    connection.end();
    connection.end();
    connection.drained(1, 1);
    let session = connection.attach(1, "a", false);
    session.declare("q");
    assert_eq!(session.told(), []);
}

#[test]
fn end_of_a_session_gives_its_messages_back_in_place_and_flagged() {
    let broker = Broker::new();
    let session = broker.session("a");
    session.declare("q");
    session.publish_many("q", 0, 6);
    session.subscribe("q", "d");
    session.flow("d", 4);
    assert_eq!(session.received().len(), 4);
    session.accept(ids([1]));
    session.connection.end();
    let other = broker.session("b");
    other.subscribe("q", "d");
    other.flow("d", u32::MAX);
    assert_eq!(other.received(), ["0*", "2*", "3*", "4", "5"]);
}

#[test]
fn end_of_a_session_does_not_deliver_to_the_session_itself() {
    let session = Broker::new().session("a");
    session.declare("q");
    session.publish("q", "0");
    session.subscribe("q", "d");
    session.flow("d", u32::MAX);
    session.told();
    session.detach();
    assert_eq!(session.told(), [Told::Detached(DetachCode::NORMAL)]);
}

#[test]
fn completions_are_told_when_asked_for() {
    let session = Broker::new().session("a");
    session.declare("q");
    session.declare("r");
    assert_eq!(session.told(), []);
    session.send_with(Request::Nothing, true);
    assert_eq!(session.told(), [Told::Completed(range(0, 2), false)]);
}

#[test]
fn completions_that_are_known_are_not_told_again() {
    let session = Broker::new().session("a");
    for _ in 0..4 {
        session.send(Request::Nothing);
    }
    session.know_completed(range(1, 2));
    session.send(Request::Sync);
    assert_eq!(session.told(), [Told::Completed(ids([0, 3, 4]), false)]);
    session.know_completed(range(0, i32::MAX as u32));
    session.flush_session(false, false, true);
    assert_eq!(session.told(), [Told::Completed(ids([]), true)]);
}

#[test]
fn session_flush_is_answered_with_what_it_asks_for() {
    let session = Broker::new().session("a");
    session.send(Request::Nothing);
    session.send(Request::Nothing);
    session.flush_session(true, true, true);
    assert_eq!(
        session.told(),
        [
            Told::Expected(ids([2])),
            Told::Confirmed(range(0, 1)),
            Told::Completed(range(0, 1), true),
        ]
    );
    session.flush_session(false, false, false);
    assert_eq!(session.told(), []);
}

#[test]
fn client_that_never_knows_of_completions_is_asked_to() {
    let broker = Broker::new().without_comparing();
    let session = broker.session("a");
    let mut told = Vec::new();
    for _ in 0..600 {
        broker.in_one_entry(|| {
            for _ in 0..250 {
                session.send(Request::Nothing);
            }
        });
        told.extend(session.told());
    }
    let timely = told
        .iter()
        .filter(|told| matches!(told, Told::Completed(_, true)));
    assert_eq!(timely.count(), 2);
}

#[test]
fn command_numbers_wrap() {
    let session = Broker::new().session("a");
    session.count_from(u32::MAX - 1);
    session.declare("q");
    session.publish("q", "0");
    session.publish("q", "1");
    session.send(Request::Sync);
    assert_eq!(
        session.told(),
        [Told::Completed(range(u32::MAX - 1, 1), false)]
    );
    assert_eq!(session.count("q"), 2);
}

#[test]
fn command_numbers_with_a_gap_are_completed_one_by_one() {
    let session = Broker::new().session("a");
    session.send_numbered(5, Request::Nothing, false);
    session.send_numbered(9, Request::Sync, false);
    assert_eq!(session.told(), [Told::Completed(ids([5, 9]), false)]);
}

#[test]
fn batch_that_was_taken_before_is_seen() {
    let broker = Broker::new();
    let session = broker.session("a");
    let origin = |seq| Origin::Member {
        id: MEMBER,
        epoch: 1,
        seq,
    };
    let last = broker.core(|core| core.last_seq(MEMBER, 1));
    let publish = || {
        vec![Command::Session {
            at: session.connection.at(session.channel),
            id: CommandId(0),
            sync: true,
            request: Request::Nothing,
        }]
    };
    for seq in 1..=last {
        assert_eq!(broker.entry_from(origin(seq), publish()), Applied::Seen);
    }
    assert_eq!(broker.entry_from(origin(0), publish()), Applied::Seen);
    assert_eq!(session.told(), []);
    let gap = Applied::Gap { expected: last + 1 };
    assert_eq!(broker.entry_from(origin(last + 2), publish()), gap);
    assert_eq!(broker.entry_from(origin(u64::MAX), publish()), gap);
    assert_eq!(session.told(), []);
    assert_eq!(
        broker.entry_from(origin(last + 1), publish()),
        Applied::Done
    );
    assert_eq!(session.told(), [Told::Completed(ids([0]), false)]);
    assert_eq!(broker.core(|core| core.last_seq(MEMBER, 1)), last + 1);
}

#[test]
fn port_s_batches_are_taken_in_their_order() {
    let broker = Broker::new();
    let origin = |seq| Origin::Port {
        shard: ShardId(7),
        seq,
    };
    let gap = Applied::Gap { expected: 1 };
    assert_eq!(broker.entry_from(origin(2), Vec::new()), gap);
    assert_eq!(broker.entry_from(origin(1), Vec::new()), Applied::Done);
    assert_eq!(broker.entry_from(origin(1), Vec::new()), Applied::Seen);
    assert_eq!(broker.entry_from(origin(2), Vec::new()), Applied::Done);
}

#[test]
fn new_epoch_ends_the_connections_of_the_former() {
    let broker = Broker::new();
    let (session, other) = (
        broker.session("a"),
        broker.connection_with(MemberId(2), 9, 9).session("b"),
    );
    session.declare("q");
    session.publish("q", "0");
    session.subscribe("q", "d");
    session.flow("d", 1);
    broker.begin_epoch(MEMBER, 2);
    broker.entry(MEMBER, Vec::new());
    session.declare("r");
    assert!(!other.has_queue("r"), "its channel is no more");
    other.assert_untroubled();
    let next = broker.session("a");
    next.subscribe("q", "d");
    next.flow("d", 1);
    assert_eq!(next.received(), ["0*"]);
}

#[test]
fn batch_of_an_older_epoch_is_stale() {
    let broker = Broker::new();
    broker.session("a");
    broker.begin_epoch(MEMBER, 3);
    let session = broker.session("a");
    let late = Origin::Member {
        id: MEMBER,
        epoch: 2,
        seq: 1,
    };
    assert_eq!(broker.entry_from(late, Vec::new()), Applied::Stale);
    session.assert_untroubled();
}

#[test]
fn member_that_is_down_has_no_sessions_and_its_epoch_is_closed() {
    let broker = Broker::new();
    let session = broker.session("a");
    session.declare_with("q", |declare| {
        declare.exclusive = true;
        declare.auto_delete = true;
    });
    let other = broker.connection_with(MemberId(2), 9, 9).session("b");
    broker.sequencer(Command::MemberDown {
        member: MEMBER,
        epoch: 1,
    });
    assert!(!other.has_queue("q"));
    let seq = broker.core(|core| core.last_seq(MEMBER, 1)) + 1;
    let late = Origin::Member {
        id: MEMBER,
        epoch: 1,
        seq,
    };
    assert_eq!(broker.entry_from(late, Vec::new()), Applied::Stale);
    broker.begin_epoch(MEMBER, 2);
    broker.session("a").assert_untroubled();
}

#[test]
fn entries_count_up_and_time_stands_in_the_core() {
    let broker = Broker::new();
    broker.pass(5);
    broker.pass(0);
    let (index, time) = broker.core(|core| (core.index(), core.time()));
    assert_eq!((index, time.0), (2, 5));
}

#[test]
fn two_cores_that_differ_have_other_digests() {
    let (one, other) = (Broker::new(), Broker::new());
    let digest = |broker: &Broker| broker.core(ferrymq::broker::Core::digest);
    assert_eq!(digest(&one), digest(&other));
    one.session("a").declare("q");
    other.session("a").declare("r");
    assert_ne!(digest(&one), digest(&other));
}

#[test]
fn sessions_of_two_users_may_have_one_name() {
    let broker = Broker::new();
    broker.session("a");
    let connection = broker.connection_of("another");
    let session = connection.attach(1, "a", false);
    assert_eq!(session.told(), [Told::Attached]);
}

#[test]
fn no_local_queue_keeps_out_what_its_owner_s_connection_publishes() {
    let broker = Broker::new();
    let session = broker.session("a");
    session.declare_with("q", |declare| {
        declare.exclusive = true;
        declare.arguments = Some([("no-local", Value::Bool(true))].into_iter().collect());
    });
    session.publish("q", "own");
    session.connection.session("b").publish("q", "own too");
    broker.session("c").publish("q", "foreign");
    assert_eq!(session.count("q"), 1);
}

#[test]
fn completions_in_more_pieces_than_a_broker_keeps_end_the_session() {
    let broker = Broker::new().without_comparing();
    let session = broker.session("a");
    let most = u32::try_from(ferrymq::broker::limits::COMPLETED_RANGES_MAX).expect("a bound");
    for n in 0..most {
        session.send_numbered(2 * n, Request::Nothing, false);
    }
    assert_eq!(session.told(), []);
    session.send_numbered(2 * most, Request::Nothing, false);
    session.assert_failed(506, "completed");
}

#[test]
fn known_completions_in_thousands_of_ranges_are_taken_out_of_thousands() {
    let session = Broker::new().without_comparing().session("a");
    for _ in 0..100 {
        session.connection.broker.in_one_entry(|| {
            for _ in 0..200 {
                session.send(Request::Nothing);
            }
        });
    }
    session.know_completed(ids((0..16_000).filter(|n| n % 2 == 0)));
    session.know_completed(ids((0..20_000).filter(|n| n % 4 == 1)));
    session.send(Request::Sync);
    let expected: Vec<u32> = (0..=20_000)
        .filter(|n| (*n >= 16_000 || n % 2 == 1) && n % 4 != 1 || *n == 20_000)
        .collect();
    let [Told::Completed(commands, _)] = &session.told()[..] else {
        panic!("no completion");
    };
    assert_eq!(*commands, ids(expected));
}

#[test]
fn member_that_was_down_in_a_former_epoch_keeps_its_sessions() {
    let broker = Broker::new();
    broker.begin_epoch(MEMBER, 2);
    let session = broker.session("a");
    broker.sequencer(Command::MemberDown {
        member: MEMBER,
        epoch: 1,
    });
    session.assert_untroubled();
}
