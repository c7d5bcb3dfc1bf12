//! Sessions that outlive their connection: timeouts, detached sessions, going on with one.

mod broker;

use broker::{Broker, Connection, MEMBER, Session, Told, ids, range};
use ferrymq::broker::ids::MemberId;
use ferrymq::broker::{Command, Request, limits};
use ferrymq::wire::{AcceptMode, CommandId, DetachCode, MessageResumeResult, SequenceSet, Value};

/// A session with a timeout of ten seconds.
fn kept(broker: &Broker, name: &str) -> Session {
    let session = broker.session(name);
    session.grant_timeout(10);
    session
}

/// Goes on with a session on a connection of its own that has room for everything.
fn resumed(session: &Session, expected: u32) -> Session {
    resumed_on(session, &session.connection.broker.connection(), expected)
}

/// The same on a connection, which is told what a resumed session has to know.
fn resumed_on(session: &Session, connection: &Connection, expected: u32) -> Session {
    connection.attach(1, "a", false);
    let resumed = session.on(connection, 1);
    let told = resumed.told();
    assert!(matches!(told[0], Told::Resumed(_)), "{told:?}");
    assert_eq!(told.last(), Some(&Told::Flush(true)));
    resumed.expect(Some(expected));
    resumed
}

fn tick_after(broker: &Broker, milliseconds: u64) {
    broker.pass(milliseconds);
    broker.sequencer(Command::Tick);
}

#[test]
fn session_without_a_timeout_ends_with_its_connection() {
    let broker = Broker::new();
    let session = broker.session("a");
    session.grant_timeout(10);
    session.grant_timeout(0);
    session.connection.end();
    let again = broker.connection().attach(1, "a", false);
    assert_eq!(again.told(), [Told::Attached]);
}

#[test]
fn attach_of_a_detached_session_goes_on_with_it_and_says_what_it_has() {
    let broker = Broker::new();
    let session = kept(&broker, "a");
    session.declare("q");
    session.publish("q", "0");
    session.connection.end();
    let again = broker.connection().attach(4, "a", false);
    assert_eq!(
        again.told(),
        [
            Told::Resumed(2),
            Told::Expected(ids([2])),
            Told::Confirmed(range(0, 1)),
            Told::Flush(true),
        ]
    );
    again.expect(Some(0));
    assert_eq!(again.told(), [Told::Completed(range(0, 1), true)]);
}

#[test]
fn session_of_which_nothing_has_come_is_known_when_it_has_a_timeout() {
    let broker = Broker::new();
    let session = kept(&broker, "a");
    session.connection.end();
    let again = broker.connection().attach(1, "a", false);
    assert_eq!(
        again.told()[..2],
        [Told::Resumed(0), Told::Expected(ids([0]))]
    );
}

#[test]
fn what_is_completed_is_told_behind_what_is_sent_again() {
    let broker = Broker::new();
    let session = kept(&broker, "a");
    session.declare("q");
    session.publish_many("q", 0, 3);
    session.subscribe("q", "d");
    session.flow("d", 9);
    assert_eq!(session.received().len(), 3);
    let stop = session.stop("d");
    assert_eq!(session.count("q"), 0);
    session.connection.end();
    let narrow = broker.connection_with(MEMBER, 2, u64::MAX);
    let session = resumed_on(&session, &narrow, 0);
    let sync = session.send_with(Request::Sync, true);
    session.flush_session(false, false, true);
    let told = session.all_told();
    assert!(
        matches!(told[..], [Told::Delivered(_), Told::Delivered(_)]),
        "{told:?}"
    );
    narrow.drained(2, 0);
    let told = session.all_told();
    let [
        Told::Delivered(_),
        Told::Result(..),
        Told::Completed(done, true),
    ] = &told[..]
    else {
        panic!("not behind all that: {told:?}");
    };
    assert!(done.contains(CommandId(stop)) && done.contains(CommandId(sync)));
}

#[test]
fn session_that_is_resumed_under_a_member_that_is_taken_for_down_is_left_again() {
    let broker = Broker::new();
    let session = kept(&broker, "a");
    session.declare("q");
    session.publish("q", "0");
    session.subscribe("q", "d");
    session.flow("d", 9);
    assert_eq!(session.received(), ["0"]);
    session.connection.end();
    let elsewhere = broker.connection_with(MemberId(2), u32::MAX, u64::MAX);
    elsewhere.attach(1, "a", false);
    // Its client has not said what it has when this member is gone, too.
    broker.sequencer(Command::MemberDown {
        member: MemberId(2),
        epoch: 1,
    });
    let session = resumed(&session, 0);
    assert_eq!(session.received(), ["0"]);
    session.accept(range(0, 0));
    assert_eq!(session.count("q"), 0);
}

#[test]
fn timeout_begins_anew_each_time_that_a_session_loses_its_connection() {
    let broker = Broker::new();
    let session = kept(&broker, "a");
    session.connection.end();
    tick_after(&broker, 9_000);
    let session = resumed(&session, 0);
    session.connection.end();
    tick_after(&broker, 9_000);
    resumed(&session, 0).assert_untroubled();
}

#[test]
fn session_name_of_another_user_is_another_session() {
    let broker = Broker::new();
    let session = kept(&broker, "a");
    session.connection.end();
    let other = broker.connection_of("other").attach(1, "a", true);
    assert_eq!(other.told(), [Told::Attached]);
    resumed(&session, 0).assert_untroubled();
}

#[test]
fn detached_session_ends_when_its_timeout_has_run_out() {
    let broker = Broker::new();
    let session = kept(&broker, "a");
    session.declare_with("own", |declare| {
        (declare.exclusive, declare.auto_delete) = (true, true);
    });
    session.connection.end();
    let other = broker.session("other");
    tick_after(&broker, 9_999);
    assert!(other.has_queue("own"));
    tick_after(&broker, 1);
    assert!(!other.has_queue("own"));
    let again = broker.connection().attach(1, "a", false);
    assert_eq!(again.told(), [Told::Attached]);
}

#[test]
fn deadline_of_the_core_is_that_of_the_first_detached_session() {
    let broker = Broker::new();
    let session = kept(&broker, "a");
    broker.pass(500);
    session.connection.end();
    assert_eq!(broker.core(|core| core.wants().deadline.0), 10_500);
    let session = resumed(&session, 0);
    assert!(broker.core(|core| core.wants().deadline.0) > 10_500);
    tick_after(&broker, 20_000);
    session.assert_untroubled();
}

#[test]
fn detach_of_a_session_with_a_timeout_keeps_it() {
    let broker = Broker::new();
    let session = kept(&broker, "a");
    session.detach();
    assert_eq!(session.told(), [Told::Detached(DetachCode::NORMAL)]);
    resumed(&session, 0).assert_untroubled();
}

#[test]
fn messages_of_a_detached_session_stay_acquired_until_its_timeout_and_come_back_in_place() {
    let broker = Broker::new();
    let session = kept(&broker, "a");
    session.declare("q");
    session.publish_many("q", 0, 3);
    session.subscribe("q", "d");
    session.flow("d", 2);
    assert_eq!(session.received(), ["0", "1"]);
    session.connection.end();
    let other = broker.session("other");
    other.subscribe("q", "d");
    other.flow("d", 9);
    assert_eq!(other.received(), ["2"]);
    tick_after(&broker, 10_000);
    assert_eq!(other.received(), ["0*", "1*"]);
}

#[test]
fn nothing_is_delivered_to_a_detached_session() {
    let broker = Broker::new();
    let session = kept(&broker, "a");
    session.declare("q");
    session.subscribe("q", "d");
    session.flow("d", 9);
    session.connection.end();
    let other = broker.session("other");
    other.publish_many("q", 0, 3);
    assert_eq!(other.count("q"), 3);
    assert_eq!(resumed(&session, 0).received(), ["0", "1", "2"]);
}

#[test]
fn delivery_that_the_client_does_not_have_comes_again_under_its_number() {
    let broker = Broker::new();
    let session = kept(&broker, "a");
    session.declare("q");
    session.publish_many("q", 0, 4);
    session.subscribe("q", "d");
    session.flow("d", 9);
    assert_eq!(session.received(), ["0", "1", "2", "3"]);
    session.connection.end();
    let session = resumed(&session, 2);
    let arrived = session.arrivals();
    let numbers: Vec<u32> = arrived.iter().map(|arrived| arrived.id).collect();
    assert_eq!(numbers, [2, 3]);
    assert!(arrived.iter().all(|arrived| !arrived.redelivered));
    session.accept(range(0, 3));
    session.assert_untroubled();
    assert_eq!(session.count("q"), 0);
}

#[test]
fn delivery_in_accept_mode_none_comes_again_until_the_client_has_it() {
    let broker = Broker::new();
    let session = kept(&broker, "a");
    session.declare("q");
    session.publish_many("q", 0, 4);
    session.subscribe_with("q", "d", |subscribe| {
        subscribe.accept_mode = AcceptMode::NONE
    });
    session.flow("d", 9);
    assert_eq!(session.received(), ["0", "1", "2", "3"]);
    session.complete(range(0, 0));
    session.confirm(range(0, 1));
    session.connection.end();
    let session = resumed(&session, 2);
    assert_eq!(session.received(), ["2", "3"]);
    session.complete(range(2, 3));
    session.connection.end();
    tick_after(&broker, 10_000);
    let other = broker.session("other");
    assert_eq!(other.count("q"), 0);
}

#[test]
fn delivery_in_accept_mode_none_does_not_come_back_when_its_session_ends() {
    let broker = Broker::new();
    let session = kept(&broker, "a");
    session.declare("q");
    session.publish_many("q", 0, 2);
    session.subscribe_with("q", "d", |subscribe| {
        subscribe.accept_mode = AcceptMode::NONE
    });
    session.flow("d", 9);
    assert_eq!(session.received(), ["0", "1"]);
    session.connection.end();
    tick_after(&broker, 10_000);
    let other = broker.session("other");
    other.subscribe("q", "d");
    other.flow("d", 9);
    assert_eq!(other.received(), Vec::<String>::new());
}

#[test]
fn number_of_a_message_that_has_left_its_queue_stays_empty_and_its_credit_comes_back() {
    let broker = Broker::new();
    let session = kept(&broker, "a");
    let other = broker.session("other");
    session.declare("gone");
    session.declare("q");
    session.subscribe("gone", "g");
    session.subscribe("q", "d");
    session.flow("g", 1);
    session.flow("d", 1);
    other.publish("gone", "0");
    other.publish("q", "1");
    assert_eq!(session.received(), ["0", "1"]);
    session.stop("g");
    session.connection.end();
    other.delete("gone");
    let session = resumed(&session, 0);
    let told = session.told();
    assert_eq!(told[0], Told::Gap(ids([0])));
    assert!(matches!(&told[1..], [Told::Delivered(arrived)] if arrived.body == "1"));
}

#[test]
fn credit_of_a_window_comes_back_for_a_number_that_stays_empty() {
    let broker = Broker::new();
    let session = kept(&broker, "a");
    let other = broker.session("other");
    session.declare_limited(
        "q",
        &[
            ("qpid.max_count", Value::U32(1)),
            ("qpid.policy_type", Value::Str16("ring".into())),
        ],
    );
    session.subscribe("q", "d");
    session.flow("d", 1);
    other.publish("q", "0");
    assert_eq!(session.received(), ["0"]);
    session.connection.end();
    other.publish("q", "1");
    let session = resumed(&session, 0);
    let told = session.told();
    assert_eq!(told[0], Told::Gap(ids([0])));
    assert!(matches!(&told[1..], [Told::Delivered(arrived)] if arrived.body == "1"));
}

#[test]
fn answer_that_the_client_does_not_have_comes_again() {
    let broker = Broker::new();
    let session = kept(&broker, "a");
    session.declare("q");
    assert_eq!(session.count("q"), 0);
    session.connection.end();
    let session = resumed(&session, 0);
    let told = session.told();
    assert!(
        matches!(told[..], [Told::Result(CommandId(1), _)]),
        "{told:?}"
    );
    session.complete(ids([0]));
    session.connection.end();
    assert_eq!(resumed(&session, 1).told(), []);
}

#[test]
fn accept_that_the_client_does_not_have_comes_again() {
    let broker = Broker::new();
    let session = kept(&broker, "a");
    session.declare("q");
    let message = broker::message("q", "0");
    session.transfer("", message, AcceptMode::EXPLICIT);
    assert_eq!(session.told(), [Told::Accepted(ids([1]))]);
    session.connection.end();
    assert_eq!(resumed(&session, 0).told(), [Told::Accepted(ids([1]))]);
}

#[test]
fn commands_of_the_broker_wait_until_the_client_says_what_it_expects() {
    let broker = Broker::new();
    let session = kept(&broker, "a");
    session.declare("q");
    session.subscribe("q", "d");
    session.flow("d", 9);
    let other = broker.session("other");
    other.publish("q", "0");
    assert_eq!(session.received(), ["0"]);
    session.connection.end();
    other.publish("q", "1");
    let connection = broker.connection();
    connection.attach(1, "a", false);
    let session = session.on(&connection, 1);
    session.told();
    let query = ferrymq::wire::QueueQuery { queue: "q".into() };
    let asked = session.send(Request::QueueQuery(Box::new(query)));
    other.publish("q", "2");
    assert_eq!(session.told(), []);
    session.expect(Some(0));
    let told = session.told();
    assert!(matches!(&told[0], Told::Delivered(arrived) if arrived.body == "0"));
    assert!(matches!(told[1], Told::Result(CommandId(id), _) if id == asked));
    assert!(matches!(&told[2], Told::Delivered(arrived) if arrived.body == "1"));
    assert!(matches!(&told[3], Told::Delivered(arrived) if arrived.body == "2"));
    assert_eq!(told.len(), 4);
}

#[test]
fn replay_goes_on_as_the_socket_drains() {
    let broker = Broker::new();
    let session = kept(&broker, "a");
    session.declare("q");
    session.publish_many("q", 0, 5);
    session.subscribe("q", "d");
    session.flow("d", 9);
    assert_eq!(session.received().len(), 5);
    session.connection.end();
    let narrow = broker.connection_with(MEMBER, 2, u64::MAX);
    let session = resumed_on(&session, &narrow, 0);
    assert_eq!(session.received(), ["0", "1"]);
    narrow.drained(2, 0);
    assert_eq!(session.received(), ["2", "3"]);
    session.publish("q", "5");
    narrow.drained(2, 0);
    assert_eq!(session.received(), ["4", "5"]);
}

#[test]
fn replay_of_more_than_an_entry_can_do_goes_on_in_the_next() {
    let broker = Broker::new();
    let session = kept(&broker, "a");
    session.declare("q");
    let many = 3 * limits::WORK_PER_ENTRY_MAX;
    session.publish_many("q", 0, many);
    session.subscribe("q", "d");
    session.flow("d", u32::MAX);
    assert_eq!(session.received().len(), many as usize);
    session.connection.end();
    let before = broker.continued();
    let numbers = resumed(&session, 0).received();
    let expected: Vec<String> = (0..many).map(|number| number.to_string()).collect();
    assert_eq!(numbers, expected);
    assert!(broker.continued() > before);
}

#[test]
fn client_that_knows_of_no_session_cannot_go_on_with_one() {
    let broker = Broker::new();
    let session = kept(&broker, "a");
    session.connection.end();
    let connection = broker.connection();
    connection.attach(1, "a", false);
    let session = session.on(&connection, 1);
    session.told();
    session.expect(None);
    assert_eq!(session.told(), [Told::Detached(DetachCode::UNKNOWN_IDS)]);
    let fresh = connection.attach(1, "a", false);
    assert_eq!(fresh.told(), [Told::Attached]);
}

#[test]
fn client_that_expects_what_the_broker_has_no_longer_cannot_go_on() {
    let broker = Broker::new();
    for unknown in [1, 3] {
        let session = kept(&broker, "a");
        session.declare("q");
        assert!(session.has_queue("q") && session.has_queue("q"));
        session.complete(range(0, 1));
        session.connection.end();
        let connection = broker.connection();
        connection.attach(1, "a", false);
        let again = session.on(&connection, 1);
        again.told();
        again.expect(Some(unknown));
        assert_eq!(again.told(), [Told::Detached(DetachCode::UNKNOWN_IDS)]);
        let fresh = connection.attach(1, "a", false);
        assert_eq!(fresh.told(), [Told::Attached]);
        connection.end();
    }
}

#[test]
fn attach_by_force_takes_a_session_with_a_timeout_with_all_that_it_has() {
    let broker = Broker::new();
    let session = kept(&broker, "a");
    session.declare_with("own", |declare| declare.exclusive = true);
    session.publish("own", "0");
    session.subscribe("own", "d");
    session.flow("d", 9);
    assert_eq!(session.received(), ["0"]);
    let connection = broker.connection();
    connection.attach(1, "a", true);
    assert_eq!(session.told(), [Told::Detached(DetachCode::NORMAL)]);
    let taken = session.on(&connection, 1);
    assert!(matches!(taken.told()[0], Told::Resumed(_)));
    taken.expect(Some(1));
    taken.accept(range(0, 0));
    taken.assert_untroubled();
    session.connection.end();
    taken.publish("own", "1");
    assert_eq!(taken.received(), ["1"]);
}

#[test]
fn attach_without_force_of_an_attached_session_is_busy_though_it_has_a_timeout() {
    let broker = Broker::new();
    let session = kept(&broker, "a");
    let other = broker.connection().attach(1, "a", false);
    assert_eq!(other.told(), [Told::Detached(DetachCode::SESSION_BUSY)]);
    session.assert_untroubled();
}

#[test]
fn session_of_a_member_that_is_down_goes_on_at_another() {
    let broker = Broker::new();
    let session = kept(&broker, "a");
    session.declare("q");
    session.publish("q", "0");
    session.subscribe("q", "d");
    session.flow("d", 9);
    assert_eq!(session.received(), ["0"]);
    broker.sequencer(Command::MemberDown {
        member: MEMBER,
        epoch: 1,
    });
    let elsewhere = broker.connection_with(MemberId(2), u32::MAX, u64::MAX);
    let session = resumed_on(&session, &elsewhere, 0);
    assert_eq!(session.received(), ["0"]);
    session.assert_untroubled();
}

#[test]
fn open_transaction_goes_on_with_its_session() {
    let broker = Broker::new();
    let session = kept(&broker, "a");
    session.declare("q");
    session.select();
    session.publish("q", "0");
    session.connection.end();
    let session = resumed(&session, 0);
    session.publish("q", "1");
    session.commit();
    assert_eq!(session.count("q"), 2);
}

#[test]
fn flush_of_a_subscription_that_waited_for_the_transport_is_completed_after_the_replay() {
    let broker = Broker::new();
    let session = kept(&broker, "a");
    session.declare("q");
    session.publish_many("q", 0, 3);
    session.subscribe("q", "d");
    session.connection.end();
    let narrow = broker.connection_with(MEMBER, 2, u64::MAX);
    let session = resumed_on(&session, &narrow, 0);
    session.flow("d", 9);
    assert_eq!(session.received(), ["0", "1"]);
    let flush = session.flush("d");
    session.connection.end();
    let session = resumed(&session, 1);
    let told = session.told();
    assert!(matches!(&told[0], Told::Delivered(arrived) if arrived.body == "1"));
    assert!(matches!(&told[1], Told::Delivered(arrived) if arrived.body == "2"));
    assert!(matches!(&told[2], Told::Completed(set, _) if set.contains(CommandId(flush))));
    assert_eq!(told.len(), 3);
}

#[test]
fn gap_counts_as_done() {
    let session = Broker::new().session("a");
    session.declare("q");
    session.gap(range(1, 3));
    session.flush_session(true, false, true);
    assert_eq!(
        session.told(),
        [Told::Expected(ids([4])), Told::Completed(range(0, 3), true)]
    );
}

#[test]
fn gap_ahead_of_the_next_command_is_passed_when_it_is_reached() {
    let session = Broker::new().session("a");
    session.declare("q");
    session.gap(ids([2, 3]));
    session.flush_session(true, false, false);
    assert_eq!(session.told(), [Told::Expected(ids([1]))]);
    session.publish("q", "0");
    session.flush_session(true, false, true);
    assert_eq!(
        session.told(),
        [Told::Expected(ids([4])), Told::Completed(range(0, 3), true)]
    );
}

#[test]
fn gap_of_what_has_come_changes_nothing() {
    let session = Broker::new().session("a");
    session.declare("q");
    session.gap(range(0, 0));
    session.flush_session(true, false, true);
    assert_eq!(
        session.told(),
        [Told::Expected(ids([1])), Told::Completed(range(0, 0), true)]
    );
}

#[test]
fn gaps_without_end_are_an_exception() {
    let session = Broker::new().session("a");
    let mut gaps = SequenceSet::new();
    for n in 0..=limits::GAP_RANGES_MAX as u32 {
        gaps.insert(CommandId(2 * n + 1));
    }
    session.gap(gaps);
    session.assert_failed(506, "gaps");
}

#[test]
fn session_that_never_says_what_it_has_loses_its_timeout_when_its_answers_are_many() {
    let broker = Broker::new().without_comparing();
    let session = kept(&broker, "a");
    session.declare_limited("q", &[("x", Value::Str16("x".repeat(60_000).into()))]);
    let most = limits::KEPT_BYTES_PER_SESSION_MAX / 60_000;
    let mut lapsed = None;
    for asked in 0..=most {
        let query = ferrymq::wire::QueueQuery { queue: "q".into() };
        session.send(Request::QueueQuery(Box::new(query)));
        if session.told().contains(&Told::Timeout(0)) {
            lapsed = Some(asked);
            break;
        }
    }
    assert!(lapsed.is_some());
    session.assert_untroubled();
}

#[test]
fn one_user_cannot_keep_all_others_from_leaving_sessions() {
    let broker = Broker::new().without_comparing();
    let most = limits::DETACHED_SESSIONS_PER_USER_MAX;
    let sessions: Vec<Session> = (0..=most).map(|n| kept(&broker, &n.to_string())).collect();
    for session in &sessions {
        session.detach();
    }
    let other = broker.connection_of("other").session("o");
    other.grant_timeout(10);
    other.detach();
    let attach = |connection: Connection, name: &str| connection.attach(1, name, false).told();
    let first = |told: Vec<Told>| matches!(told[0], Told::Resumed(_));
    assert!(first(attach(broker.connection_of("other"), "o")));
    assert!(first(attach(broker.connection(), "0")));
    assert_eq!(
        attach(broker.connection(), &most.to_string()),
        [Told::Attached]
    );
}

#[test]
fn all_sessions_of_a_member_run_out_in_bounded_ticks() {
    let broker = Broker::new().without_comparing();
    let count = limits::EXPIRED_SESSIONS_PER_TICK + 10;
    for n in 0..count {
        kept(&broker, &n.to_string()).detach();
    }
    tick_after(&broker, 10_000);
    assert_eq!(broker.core(|core| core.detached_count()), 10);
    assert!(broker.core(|core| core.wants().deadline <= core.time()));
    broker.sequencer(Command::Tick);
    assert_eq!(broker.core(|core| core.detached_count()), 0);
}

#[test]
fn message_resume_knows_of_no_part() {
    let session = Broker::new().session("a");
    session.send(Request::MessageResume);
    let told = session.told();
    let [Told::Result(CommandId(0), value)] = told.as_slice() else {
        panic!("no answer: {told:?}");
    };
    let result: MessageResumeResult = value.parse().expect("the answer of this command");
    assert_eq!(result.offset, Some(0));
}

#[test]
fn exception_of_a_session_that_is_being_resumed_comes_behind_what_is_not_sent_again() {
    let broker = Broker::new();
    let session = kept(&broker, "a");
    session.declare("q");
    session.publish_many("q", 0, 4);
    session.subscribe("q", "d");
    session.flow("d", 9);
    assert_eq!(session.received().len(), 4);
    session.connection.end();
    let narrow = broker.connection_with(MEMBER, 2, u64::MAX);
    let session = resumed_on(&session, &narrow, 0);
    assert_eq!(session.received(), ["0", "1"]);
    session.delete("missing");
    let told = session.told();
    assert_eq!(told[0], Told::Gap(range(2, 3)));
    assert!(matches!(told[1], Told::Failed(_)));
}
