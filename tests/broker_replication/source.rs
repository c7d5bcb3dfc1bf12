//! The events that queues give.

use super::*;

#[test]
fn event_has_the_headers_of_qpid() {
    let (_, session) = source();
    let own = [("own", text("header"))];
    session.publish_message("", message_with_headers("q", "body", &own));
    consume(&session, "q", 1);
    let events = take_all(&session, EVENTS);
    let [came, left] = events.as_slice() else {
        panic!("two events: {events:?}");
    };
    assert_eq!(came.body, "body");
    let expected = [
        ("own", text("header")),
        (QUEUE, text("q")),
        (KIND, Value::I64(1)),
        (CAME_TO, Value::I64(1)),
        (NUMBER, Value::I64(1)),
    ];
    assert_eq!(came.headers, expected.into_iter().collect::<Map>());
    assert_eq!(left.body, "");
    let expected = [
        (QUEUE, text("q")),
        (KIND, Value::I32(2)),
        (LEFT, Value::I32(1)),
        (NUMBER, Value::I64(2)),
    ];
    assert_eq!(left.headers, expected.into_iter().collect::<Map>());
}

#[test]
fn queue_gives_the_events_that_its_argument_asks_for() {
    let broker = started(into_queue(true));
    let session = broker.session("a");
    for (queue, generation) in [("none", 0), ("came", 1), ("all", 2), ("more", 7)] {
        session.declare_with(queue, giving(generation));
    }
    session.declare("silent");
    for queue in ["none", "silent", "came", "all", "more"] {
        session.publish(queue, "m");
        consume(&session, queue, 1);
    }
    let expected = [
        (1, "came".into(), '+', 1, "m".into()),
        (2, "all".into(), '+', 1, "m".into()),
        (3, "all".into(), '-', 1, String::new()),
        (4, "more".into(), '+', 1, "m".into()),
        (5, "more".into(), '-', 1, String::new()),
    ];
    assert_eq!(told(&session), expected);
    session.declare_kind("r", &[("qpid.queue_event_generation", text("often"))]);
    session.assert_failed(542, "qpid.queue_event_generation");
}

#[test]
fn nobody_who_wants_events_gets_none() {
    let session = Broker::new().session("a");
    session.declare(EVENTS);
    session.declare_with("q", giving(2));
    session.publish("q", "m");
    session.purge("q");
    assert_eq!(session.count(EVENTS), 0);
    assert_eq!(session.count("q"), 0);
}

#[test]
fn message_leaves_with_an_event_whatever_takes_it() {
    let (broker, session) = source();
    let limited = [
        ("qpid.queue_event_generation", Value::U32(2)),
        ("qpid.max_count", Value::U32(1)),
        ("qpid.policy_type", text("ring")),
    ];
    session.declare_kind("ring", &limited);
    let newest = [
        ("qpid.queue_event_generation", Value::U32(2)),
        ("qpid.last_value_queue_key", text("k")),
    ];
    session.declare_kind("last", &newest);
    // Rejected, sent without accept, run out, purged.
    session.publish("q", "a");
    session.subscribe("q", "d");
    session.flow("d", 1);
    session.reject(ids(session
        .arrivals()
        .into_iter()
        .map(|arrived| arrived.id)));
    session.cancel("d");
    assert_eq!(told_of_one(&session), ["+1a", "-1"]);
    session.publish("q", "b");
    take_all(&session, "q");
    assert_eq!(told_of_one(&session), ["+2b", "-2"]);
    session.publish_for("q", "c", 10);
    pass(&broker, 700_000);
    assert_eq!(told_of_one(&session), ["+3c", "-3"]);
    session.publish("q", "d");
    session.publish("q", "e");
    session.purge("q");
    assert_eq!(told_of_one(&session), ["+4d", "+5e", "-4", "-5"]);
    // Pushed out, replaced.
    session.publish("ring", "f");
    session.publish("ring", "g");
    assert_eq!(told_of_one(&session), ["+1f", "-1", "+2g"]);
    for body in ["h", "i"] {
        session.publish_message("", message_with_headers("last", body, &[("k", text("1"))]));
    }
    assert_eq!(told_of_one(&session), ["+1h", "+2i", "-1"]);
    // Gone with its queue.
    session.publish("q", "j");
    session.delete("q");
    assert_eq!(told_of_one(&session), ["+6j", "-6"]);
}

#[test]
fn transaction_gives_its_events_when_it_is_committed() {
    let (broker, session) = source();
    session.publish("q", "a");
    assert_eq!(told_of_one(&session), ["+1a"]);
    let worker = broker.session("worker");
    worker.select();
    worker.publish("q", "b");
    worker.subscribe("q", "d");
    worker.flow("d", 1);
    let held = worker.received_among_others();
    assert_eq!(held, ["a"]);
    worker.accept(ids([0]));
    assert_eq!(told_of_one(&session), [""; 0]);
    worker.commit();
    assert_eq!(told_of_one(&session), ["-1", "+2b"]);
    worker.publish("q", "c");
    worker.rollback();
    assert_eq!(told_of_one(&session), [""; 0]);
}

#[test]
fn deep_queue_is_purged_with_an_event_of_each_message_in_bounded_entries() {
    let (broker, session) = source();
    session.publish_many("q", 0, 5000);
    take_all(&session, EVENTS);
    broker.hold_work();
    session.purge("q");
    let in_one = session.count(EVENTS);
    assert!(
        in_one > 0 && in_one <= limits::WORK_PER_ENTRY_MAX,
        "{in_one}"
    );
    broker.work();
    assert_eq!((session.count("q"), session.count(EVENTS)), (0, 5000));
}

#[test]
fn events_that_go_through_an_exchange_are_numbered_by_their_queues() {
    // Qpid's own test of it.
    let broker = started(Options {
        events_to: EventsTo {
            exchange: "qpid.replication".into(),
            ..EventsTo::default()
        },
        ..Options::default()
    });
    let session = broker.session("a");
    assert_eq!(
        session.query_exchange("qpid.replication").r#type.as_deref(),
        Some("direct")
    );
    for (events, queue) in [("event-1", "queue-1"), ("event-2", "queue-2")] {
        let numbered = [("qpid.insert_sequence_numbers", text(NUMBER))];
        session.declare_kind(events, &numbered);
        session.bind("qpid.replication", events, queue, &[]);
        session.declare_with(queue, giving(2));
    }
    for n in 1..=10 {
        session.publish("queue-1", &format!("m{n}"));
        session.publish("queue-2", &format!("m{n}"));
    }
    consume(&session, "queue-1", 10);
    let all: Vec<Said> = take_all(&session, "event-1").iter().map(said).collect();
    let came = (1..=10).map(|n| (n, "queue-1".to_owned(), '+', n, format!("m{n}")));
    let left = (1..=10).map(|n| (n + 10, "queue-1".to_owned(), '-', n, String::new()));
    assert_eq!(all, came.chain(left).collect::<Vec<Said>>());
    assert_eq!(take_all(&session, "event-2").len(), 10);
    // One that no queue is bound for is lost, and counted.
    session.declare_with("queue-3", giving(1));
    session.publish("queue-3", "m");
    assert_eq!(counters(&broker).lost, 1);
}

#[test]
fn event_that_finds_no_room_is_lost_and_counted_and_its_message_is_not() {
    let (broker, session) = source();
    session.delete(EVENTS);
    session.publish("q", "a");
    session.declare_limited(EVENTS, &[("qpid.max_count", Value::U32(1))]);
    session.publish("q", "b");
    session.publish("q", "c");
    assert_eq!(told_of_one(&session), ["+2b"]);
    assert_eq!(session.count("q"), 3);
    let ReplicationCounters { told, lost, .. } = counters(&broker);
    assert_eq!((told, lost), (1, 2));
}

#[test]
fn message_whose_events_are_more_than_a_broker_can_hold_is_refused() {
    let (broker, session) = source();
    let body = "x".repeat(1 << 20);
    let queues = limits::EVENTS_BYTES_MAX / body.len() as u64;
    for n in 0..=queues {
        let name = n.to_string();
        session.declare_with(&name, giving(1));
        session.bind("amq.fanout", &name, "", &[]);
    }
    session.publish_message("amq.fanout", message("", &body));
    session.assert_failed(506, "events of what is published");
    let worker = broker.session("worker");
    assert_eq!((worker.count("0"), worker.count(EVENTS)), (0, 0));
    worker.select();
    worker.publish_message("amq.fanout", message("", &body));
    worker.assert_failed(506, "publishes more than a broker can hold");
}

#[test]
fn events_of_events_are_not_given() {
    let broker = started(into_queue(false));
    let session = broker.session("a");
    session.declare_with(EVENTS, giving(2));
    session.declare_with("q", giving(2));
    session.publish("q", "m");
    assert_eq!(told(&session).len(), 1);
    assert_eq!(session.count(EVENTS), 0, "of what was taken from it");
    session.publish(EVENTS, "of a client");
    assert_eq!(session.count(EVENTS), 2, "with its event");
}

/// A link that has lost its connection takes events anew before anybody knows that the old one is dead.
fn events_in_order(broker: &Broker, session: &Session) {
    for body in ["a", "b", "c"] {
        session.publish("q", body);
    }
    let dead = broker.session("dead");
    dead.subscribe(EVENTS, "d");
    dead.flow("d", 2);
    assert_eq!(dead.received(), ["a", "b"]);
    let link = broker.session("link");
    link.subscribe(EVENTS, "d");
    link.flow("d", 10);
    session.publish("q", "d");
    assert_eq!(
        link.received(),
        [""; 0],
        "what is behind others' comes too early"
    );
    dead.detach();
    assert_eq!(link.received(), ["a*", "b*", "c", "d"]);
}

#[test]
fn events_do_not_overtake_those_that_another_has() {
    let scene = || {
        let (broker, session) = source();
        events_in_order(&broker, &session);
    };
    scene();
    assert!(is_caught(Plant::EventsOvertake, scene));
    // The queue was there, with messages that somebody has, before events went into it.
    let broker = Broker::new();
    let session = broker.session("source");
    session.declare(EVENTS);
    session.publish(EVENTS, "x");
    session.publish(EVENTS, "y");
    let holder = broker.session("holder");
    holder.subscribe(EVENTS, "d");
    holder.flow("d", 1);
    assert_eq!(holder.received(), ["x"]);
    broker.sequencer(Command::Configure(Box::new(into_queue(true))));
    let link = broker.session("link");
    link.subscribe(EVENTS, "d");
    link.flow("d", 10);
    assert_eq!(link.received(), [""; 0]);
    holder.accept(ids([0]));
    assert_eq!(link.received(), ["y"]);
}

#[test]
fn event_does_not_run_out_with_its_message() {
    let (broker, session) = source();
    session.publish_for("q", "m", 10);
    pass(&broker, 700_000);
    let events = take_all(&session, EVENTS);
    let events: Vec<Said> = events.iter().map(said).collect();
    assert_eq!(events.len(), 2);
    assert_eq!((events[0].2, events[1].2), ('+', '-'));
}

#[test]
fn durable_message_gives_durable_events() {
    let (broker, session) = source();
    persist(&session, "q", "a");
    persist(&session, "q", "b");
    consume(&session, "q", 1);
    session.publish("q", "not durable");
    let (_, session) = restarted(&broker);
    let expected = [
        (1, "q".to_owned(), '+', 1, "a".to_owned()),
        (2, "q".into(), '+', 2, "b".into()),
        (3, "q".into(), '-', 1, String::new()),
    ];
    assert_eq!(told(&session), expected);
}

/// What others know by its position or number is not followed by another of the same.
fn positions_that_were_seen() {
    let (broker, session) = source();
    persist(&session, "q", "a");
    session.publish("q", "not durable");
    let before = told(&session);
    let (_, session) = restarted(&broker);
    persist(&session, "q", "b");
    let after = told(&session);
    let (last, next) = (&before[1], &after[0]);
    assert!(next.0 > last.0, "a number again: {last:?}, {next:?}");
    assert!(next.3 > last.3, "a position again: {last:?}, {next:?}");
}

#[test]
fn positions_that_a_backup_has_seen_are_not_given_again_after_a_crash() {
    positions_that_were_seen();
    assert!(is_caught(Plant::PositionsNotKept, positions_that_were_seen));
}

#[test]
fn message_that_leaves_no_fact_costs_one_for_many() {
    let (broker, session) = source();
    let before = broker.facts().len();
    for _ in 0..500 {
        session.publish("q", "m");
    }
    assert_eq!(broker.facts().len() - before, 1);
}

#[test]
fn queue_of_events_keeps_its_positions_and_another_does_not() {
    let (broker, session) = source();
    session.publish("q", "m");
    let keeps = broker.core(|core| {
        core.queue_of_name(EVENTS)
            .map(|queue| queue.keeps_positions)
    });
    assert_eq!(keeps, Some(true));
    session.declare_with("r", |declare| declare.durable = true);
    session.publish("r", "m");
    let keeps = broker.core(|core| core.queue_of_name("r").map(|queue| queue.keeps_positions));
    assert_eq!(keeps, Some(false));
}
