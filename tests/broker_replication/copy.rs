//! The exchange that applies events.

use super::*;

/// Positions, those that are passed over too, and what is dropped.
fn events_applied() {
    let (broker, session) = backup();
    let events = vec![
        came(5, "q", 1, "a"),
        came(6, "q", 4, "b"),
        came(7, "q", 5, "c"),
        left(8, "q", 4),
        // Had before.
        came(7, "q", 9, "again"),
        left(8, "q", 5),
        // Passed by now, not there, of no queue.
        came(9, "q", 3, "late"),
        left(10, "q", 2),
        came(11, "r", 1, "nowhere"),
        came(13, "q", 6, "d"),
    ];
    apply(&session, events);
    session.publish_message(APPLIES, message("k", "no event"));
    session.publish_message(APPLIES, message_with_headers("k", "", &[("x", text("y"))]));
    assert_eq!(content(&broker, "q"), at(&[(1, "a"), (5, "c"), (6, "d")]));
    let expected = ReplicationCounters {
        applied: 5,
        repeated: 2,
        ahead: 1,
        absent: 1,
        missing: 1,
        strange: 2,
        gaps: 1,
        ..ReplicationCounters::default()
    };
    assert_eq!(counters(&broker), expected);
    let exchange = broker.core(|core| {
        let found = core.exchange_of_name(APPLIES);
        found.map(|exchange| exchange.counters)
    });
    let exchange = exchange.expect("it is there");
    assert_eq!(
        (exchange.receives, exchange.routes, exchange.drops),
        (12, 5, 7)
    );
}

#[test]
fn events_are_applied_by_position_and_what_cannot_be_is_dropped() {
    events_applied();
    for plant in [Plant::EventsAppliedAgain, Plant::PositionsOfCopyOwn] {
        assert!(is_caught(plant, events_applied), "{plant:?}");
    }
}

#[test]
fn replicated_message_is_as_it_was() {
    let (broker, session) = backup();
    let own = [
        ("own", text("header")),
        (KIND, Value::I64(1)),
        (NUMBER, Value::I64(1)),
        (QUEUE, text("q")),
        (CAME_TO, Value::I64(1)),
    ];
    let mut durable = persistent("the key", "body", None);
    durable = durable.with_headers(&own);
    session.publish_message(APPLIES, durable);
    let (_, session) = restarted(&broker);
    let all = take_all(&session, "q");
    let [only] = all.as_slice() else {
        panic!("one message: {all:?}");
    };
    let headers: Map = [("own", text("header"))].into_iter().collect();
    assert_eq!((&*only.body, &only.headers), ("body", &headers));
}

#[test]
fn replication_exchange_says_how_far_it_has_come() {
    let (broker, session) = backup();
    let last = |session: &Session| {
        let arguments = session.query_exchange(APPLIES).arguments;
        arguments.and_then(|arguments| arguments.get(LAST_EVENT).cloned())
    };
    assert_eq!(last(&session), Some(Value::I64(0)));
    apply(&session, vec![came(7, "q", 1, "a"), came(8, "q", 2, "b")]);
    assert_eq!(last(&session), Some(Value::I64(8)));
    let (again, session) = restarted(&broker);
    assert_eq!(last(&session), Some(Value::I64(8)));
    // The first after a start is taken as it comes: what it repeats is known by its position, and a
    // source that has begun anew begins with 1.
    apply(&session, vec![came(7, "q", 1, "a"), came(8, "q", 2, "b")]);
    assert_eq!(content(&again, "q"), at(&[(1, "a"), (2, "b")]));
    apply(&session, vec![came(1, "q", 3, "c")]);
    assert_eq!(counters(&again).repeated, 1, "it has begun by then");
    let named = [(LAST_EVENT, Value::I64(40))];
    session.declare_exchange_with("other", "replication", |declare| {
        declare.arguments = Some(named.into_iter().collect());
    });
    let arguments = session.query_exchange("other").arguments;
    let arguments = arguments.expect("they are told");
    assert_eq!(number(&arguments, LAST_EVENT), 40);
}

#[test]
fn numbers_of_32_bits_begin_anew_as_in_qpidd_and_those_of_64_go_on() {
    let (broker, session) = backup();
    let highest = i64::from(u32::MAX);
    apply(
        &session,
        vec![came(highest, "q", 1, "a"), came(0, "q", 2, "b")],
    );
    assert_eq!(counters(&broker).repeated, 0);
    apply(&session, vec![came(highest, "q", 3, "old")]);
    assert_eq!(counters(&broker).repeated, 1);
    let (broker, session) = backup();
    let events = vec![
        came(highest, "q", 1, "a"),
        came(highest + 1, "q", 2, "b"),
        came(highest, "q", 3, "old"),
    ];
    apply(&session, events);
    assert_eq!(content(&broker, "q"), at(&[(1, "a"), (2, "b")]));
}

#[test]
fn event_that_cannot_be_is_refused() {
    let (broker, _) = backup();
    let refused = |name: &str, headers: &[(&str, Value)]| {
        let session = broker.session(name);
        session.publish_message(APPLIES, event(headers, ""));
        session.assert_failed(531, "Illegal value for qpid.replication.");
    };
    let of_queue = (QUEUE, text("q"));
    refused("kind", &[(KIND, Value::I64(3)), of_queue.clone()]);
    refused("no position", &[(KIND, Value::I64(1)), of_queue.clone()]);
    for position in [0, -1, i64::MAX] {
        let headers = [
            (KIND, Value::I64(1)),
            of_queue.clone(),
            (CAME_TO, Value::I64(position)),
        ];
        refused(&position.to_string(), &headers);
    }
    let number = [
        (KIND, Value::I64(2)),
        of_queue,
        (LEFT, Value::I32(1)),
        (NUMBER, text("seven")),
    ];
    refused("number", &number);
    assert_eq!(content(&broker, "q"), []);
}

#[test]
fn queue_counts_on_behind_the_highest_position_that_an_event_can_give() {
    let (broker, session) = backup();
    let highest = limits::REPLICATED_POSITION_MAX - 1;
    let headers = [
        (KIND, Value::I64(1)),
        (QUEUE, text("q")),
        (CAME_TO, Value::U64(highest)),
    ];
    let durable = persistent("", "a", None).with_headers(&headers);
    session.publish_message(APPLIES, durable);
    persist(&session, "q", "b");
    let (again, _) = restarted(&broker);
    assert_eq!(
        content(&again, "q"),
        at(&[(highest, "a"), (highest + 1, "b")])
    );
}

#[test]
fn nothing_is_bound_to_a_replication_exchange() {
    let (broker, session) = backup();
    let bound = session.bound(APPLIES, "q", None);
    assert!(bound.queue_not_matched && !bound.exchange_not_found);
    session.bind(APPLIES, "q", "k", &[]);
    session.assert_failed(540, "Replication exchange does not support bind operation");
    let session = broker.session("unbinds");
    session.unbind(APPLIES, "q", "k");
    session.assert_failed(540, "unbind operation");
    let session = broker.session("in a transaction");
    session.select();
    session.publish_message(APPLIES, came(1, "q", 1, "a"));
    session.assert_failed(540, "does not support transactions");
    let session = broker.session("of another type");
    session.declare_exchange(APPLIES, "direct", None);
    session.assert_failed(530, "replication");
}

#[test]
fn event_of_a_full_queue_is_applied_when_it_comes_again() {
    // Unlike in qpidd, where its number counts as had though its message was refused.
    let (broker, session) = backup();
    session.declare_limited("small", &[("qpid.max_count", Value::U32(1))]);
    apply(
        &session,
        vec![came(1, "small", 1, "a"), came(2, "small", 2, "b")],
    );
    session.assert_failed(506, "Maximum depth exceeded on small");
    let session = broker.session("again");
    consume(&session, "small", 1);
    apply(&session, vec![came(2, "small", 2, "b")]);
    assert_eq!(content(&broker, "small"), at(&[(2, "b")]));
}

#[test]
fn message_that_somebody_has_acquired_does_not_leave_by_an_event() {
    let (broker, session) = backup();
    apply(&session, vec![came(1, "q", 1, "a")]);
    session.subscribe("q", "d");
    session.flow("d", 1);
    assert_eq!(session.received(), ["a"]);
    apply(&session, vec![left(2, "q", 1)]);
    assert_eq!(counters(&broker).absent, 1);
    session.release(ids([0]));
    assert_eq!(session.count("q"), 1);
}

#[test]
fn replicated_messages_are_delivered_and_hold_publishers_back() {
    let (broker, session) = backup();
    session.subscribe("q", "d");
    session.flow("d", 10);
    apply(&session, vec![came(1, "q", 3, "a")]);
    assert_eq!(session.received(), ["a"]);
    session.declare_kind(
        "flow",
        &[
            ("qpid.flow_stop_count", Value::U32(1)),
            ("qpid.flow_resume_count", Value::U32(1)),
        ],
    );
    let link = broker.session("link");
    link.transfer(APPLIES, came(2, "flow", 1, "a"), AcceptMode::EXPLICIT);
    link.transfer(APPLIES, came(3, "flow", 2, "b"), AcceptMode::EXPLICIT);
    assert_eq!(link.told(), [Told::Accepted(ids([0]))], "the other waits");
    consume(&session, "flow", 2);
    assert_eq!(link.told().first(), Some(&Told::Accepted(ids([1]))));
}

#[test]
fn replica_may_be_a_source_itself() {
    let broker = started(into_queue(true));
    let session = broker.session("a");
    session.declare_exchange(APPLIES, "replication", None);
    session.declare_with("q", giving(2));
    apply(&session, vec![came(41, "q", 7, "a"), left(42, "q", 7)]);
    let expected = [
        (1, "q".to_owned(), '+', 7, "a".to_owned()),
        (2, "q".into(), '-', 7, String::new()),
    ];
    assert_eq!(told(&session), expected);
}

#[test]
fn replica_that_is_a_source_itself_goes_on_after_a_crash_where_it_was() {
    let broker = started(into_queue(true));
    let session = broker.session("a");
    session.declare_exchange_with(APPLIES, "replication", |declare| declare.durable = true);
    session.declare_with("q", giving(2));
    let durable = |number: i64, body: &str| {
        let headers = [
            (KIND, Value::I64(1)),
            (NUMBER, Value::I64(number)),
            (QUEUE, text("q")),
            (CAME_TO, Value::I64(number)),
        ];
        persistent("", body, None).with_headers(&headers)
    };
    apply(
        &session,
        vec![durable(1, "a"), came(2, "q", 2, "not durable")],
    );
    let (again, session) = restarted(&broker);
    // The last is sent again, since what it brought is gone, and another behind it.
    apply(&session, vec![came(2, "q", 2, "b"), durable(3, "c")]);
    assert_eq!(content(&again, "q"), at(&[(1, "a"), (2, "b"), (3, "c")]));
}
