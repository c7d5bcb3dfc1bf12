//! Messages that die in a queue, for whatever reason, and what becomes of them.

mod broker;

use std::collections::BTreeMap;

use broker::agent::Agent;
use broker::durable::recovered;
use broker::scenes::{pass, persist, persist_for, persistent};
use broker::told::Arrived;
use broker::{Broker, Draft, Session, ids, message_with, message_with_headers};
use ferrymq::broker::Options;
use ferrymq::broker::dead::DeadCounters;
use ferrymq::broker::management::{AgentCommand, WallTime};
use ferrymq::wire::{Map, Value};

fn text(text: &str) -> Value {
    Value::Str16(text.into())
}

/// A durable queue with an alternate exchange and arguments.
fn declare(session: &Session, queue: &str, alternate: &str, arguments: &[(&str, Value)]) {
    let arguments: Map = arguments.iter().cloned().collect();
    session.declare_with(queue, |declare| {
        declare.durable = true;
        declare.alternate_exchange = Some(alternate.into());
        declare.arguments = Some(arguments);
    });
}

/// A session with a queue `dead` bound to `amq.fanout`, and a queue `q` whose alternate that is.
fn with_dead_letters(broker: &Broker, arguments: &[(&str, Value)]) -> Session {
    let session = broker.session("a");
    session.declare_with("dead", |declare| declare.durable = true);
    session.bind("amq.fanout", "dead", "", &[]);
    declare(&session, "q", "amq.fanout", arguments);
    session
}

fn all() -> [(&'static str, Value); 1] {
    [("qpid.dead_letter", text("all"))]
}

/// What a queue holds.
fn look(session: &Session, queue: &str) -> Vec<Arrived> {
    session.browse(queue, "look");
    session.flow("look", u32::MAX);
    let arrivals = session.arrivals();
    session.cancel("look");
    arrivals
}

fn bodies(session: &Session, queue: &str) -> Vec<String> {
    let arrivals = look(session, queue).into_iter();
    arrivals.map(|arrived| arrived.body).collect()
}

/// The header of the only message in a queue.
#[track_caller]
fn only_header(session: &Session, queue: &str, name: &str) -> Option<Value> {
    let arrivals = look(session, queue);
    assert_eq!(arrivals.len(), 1, "{arrivals:?}");
    arrivals[0].headers.get(name).cloned()
}

fn broker() -> Broker {
    Broker::with(Options {
        queue_purge_interval: 1,
        ..Options::default()
    })
}

/// Takes one message of a queue and gives it back as one that was not processed.
fn give_back(session: &Session, queue: &str) -> u32 {
    session.subscribe(queue, "taker");
    session.flow("taker", 1);
    let arrivals = session.arrivals();
    assert_eq!(arrivals.len(), 1, "{arrivals:?}");
    session.cancel("taker");
    let id = arrivals[0].id;
    session.release_with(ids([id]), true);
    id
}

fn core_counters(broker: &Broker) -> (DeadCounters, u64) {
    broker.core(|core| (core.counters().dead, core.counters().discards_dead))
}

#[test]
fn expired_message_goes_to_the_alternate_exchange_of_a_queue_that_asks_for_it() {
    let broker = broker();
    let session = with_dead_letters(&broker, &[("qpid.dead_letter", text("expired"))]);
    session.publish_for("q", "late", 5);
    session.publish("q", "stays");
    pass(&broker, 10);
    assert_eq!(bodies(&session, "q"), ["stays"]);
    assert_eq!(bodies(&session, "dead"), ["late"]);
}

#[test]
fn expired_message_that_a_subscriber_comes_upon_is_dead_too() {
    let broker = Broker::new();
    let session = with_dead_letters(&broker, &all());
    session.publish_for("q", "late", 5);
    broker.pass(10);
    session.subscribe("q", "d");
    session.flow("d", 1);
    assert_eq!(session.received(), [""; 0]);
    assert_eq!(bodies(&session, "dead"), ["late"]);
}

#[test]
fn expired_message_of_a_queue_without_alternate_is_dropped() {
    let broker = broker();
    let session = broker.session("a");
    session.declare_kind("q", &all());
    session.publish_for("q", "late", 5);
    pass(&broker, 10);
    assert_eq!(session.count("q"), 0);
    assert_eq!(core_counters(&broker).0, DeadCounters::default());
}

#[test]
fn dead_letter_says_why_when_and_where_it_died_and_expires_no_more() {
    let broker = broker();
    let session = with_dead_letters(&broker, &all());
    let mut message = message_with_headers("q", "late", &[("mine", Value::U8(7))]);
    let with_ttl = message_with("q", "", |delivery| delivery.ttl = Some(5));
    let delivery_only = message_with("q", "", |_| {}).header.unwrap();
    let properties = message
        .header
        .take()
        .unwrap()
        .split_off(delivery_only.len());
    message.header = Some([with_ttl.header.unwrap(), properties].concat());
    session.publish_message("", message);
    pass(&broker, 10);
    let arrivals = look(&session, "dead");
    assert_eq!((arrivals.len(), arrivals[0].ttl), (1, None));
    let headers = &arrivals[0].headers;
    assert_eq!(headers.get("mine"), Some(&Value::U8(7)));
    assert_eq!(headers.get("x-dead-reason"), Some(&text("EXPIRED")));
    assert_eq!(headers.get("x-dead-queue"), Some(&text("q")));
    let now = broker.core(|core| core.time().0 as i64);
    assert_eq!(headers.get("x-dead-timestamp"), Some(&Value::I64(now)));
    let path = Value::List(vec![text("q")]);
    assert_eq!(headers.get("x-dead-path"), Some(&path));
    assert!(headers.get("x-dead-comment").is_some());
    pass(&broker, 1000);
    assert_eq!(session.count("dead"), 1);
}

#[test]
fn dead_letter_that_had_no_header_has_one() {
    let broker = broker();
    let session = broker.session("a");
    session.declare("dead");
    session.bind("amq.fanout", "dead", "", &[]);
    let ring = [
        ("qpid.policy_type", text("ring")),
        ("qpid.max_count", Value::U32(1)),
    ];
    session.declare_exchange("e", "fanout", None);
    declare(&session, "q", "amq.fanout", &ring);
    session.bind("e", "q", "", &[]);
    for body in ["first", "second"] {
        let bare = Draft {
            header: None,
            body: message_with("", body, |_| {}).body,
        };
        session.publish_message("e", bare);
    }
    assert_eq!(bodies(&session, "dead"), ["first"]);
    let reason = only_header(&session, "dead", "x-dead-reason");
    assert_eq!(reason, Some(text("OLDEST")));
}

#[test]
fn dead_letter_may_go_where_its_trace_says_that_it_was() {
    let broker = broker();
    let session = with_dead_letters(&broker, &all());
    let traced = message_with_headers("q", "m", &[("x-qpid.trace", text("a,b"))]);
    session.publish_message("", traced);
    session.subscribe("q", "d");
    session.flow("d", 1);
    session.reject(ids([0]));
    drop(session.told());
    assert_eq!(only_header(&session, "dead", "x-qpid.trace"), None);
}

#[test]
fn rejected_message_says_so_only_where_the_queue_asks_for_it() {
    for (arguments, expected) in [
        (vec![], None),
        (vec![("qpid.dead_letter", text("expired"))], None),
        (
            vec![("qpid.dead_letter", text("rejected"))],
            Some(text("UNDELIVERABLE")),
        ),
    ] {
        let broker = Broker::new();
        let session = with_dead_letters(&broker, &arguments);
        session.publish("q", "m");
        session.subscribe("q", "d");
        session.flow("d", 1);
        session.reject(ids([0]));
        drop(session.told());
        assert_eq!(only_header(&session, "dead", "x-dead-reason"), expected);
    }
}

#[test]
fn message_that_makes_room_in_a_ring_is_dead_whether_acquired_or_not() {
    let broker = Broker::new();
    let ring = [
        ("qpid.policy_type", text("ring")),
        ("qpid.max_count", Value::U32(10)),
    ];
    let session = with_dead_letters(&broker, &ring);
    session.publish_many("q", 1, 10);
    session.subscribe("q", "d");
    session.flow("d", 3);
    session.publish_many("q", 11, 10);
    drop(session.told());
    let numbers = |numbers: std::ops::RangeInclusive<u32>| -> Vec<String> {
        numbers.map(|number| number.to_string()).collect()
    };
    assert_eq!(bodies(&session, "q"), numbers(11..=20));
    let dead = look(&session, "dead");
    let dead_bodies: Vec<_> = dead.iter().map(|arrived| arrived.body.clone()).collect();
    assert_eq!(dead_bodies, numbers(1..=10));
    let oldest = text("OLDEST");
    assert!(
        dead.iter()
            .all(|arrived| arrived.headers.get("x-dead-reason") == Some(&oldest))
    );
}

#[test]
fn large_message_makes_very_many_of_a_ring_dead_letters() {
    let broker = Broker::new();
    let many: u32 = 1500;
    let size = broker::message("q", "1").published("").size();
    let max = u64::from(many) * (size + 10);
    let ring = [
        ("qpid.policy_type", text("ring")),
        ("qpid.max_size", Value::U64(max)),
    ];
    let session = with_dead_letters(&broker, &ring);
    session.publish_many("q", 0, many);
    let large = "x".repeat(usize::try_from(max - size).expect("small"));
    session.publish("q", &large);
    assert_eq!(bodies(&session, "q").last(), Some(&large));
    assert!(session.count("q") <= 2);
    let dead = bodies(&session, "dead");
    let expected: Vec<String> = (0..many).map(|number| number.to_string()).collect();
    assert!(dead == expected[..dead.len()], "in their order");
    assert_eq!(dead.len() as u32 + session.count("q"), many + 1);
}

#[test]
fn message_of_the_lowest_priority_in_a_ring_says_that_it_was() {
    let broker = Broker::new();
    let ring = [
        ("qpid.policy_type", text("ring")),
        ("qpid.max_count", Value::U32(1)),
        ("qpid.priorities", Value::U8(10)),
    ];
    let session = with_dead_letters(&broker, &ring);
    for priority in [1, 5] {
        let message = message_with("q", &priority.to_string(), |delivery| {
            delivery.priority = Some(ferrymq::wire::DeliveryPriority(priority));
        });
        session.publish_message("", message);
    }
    assert_eq!(bodies(&session, "q"), ["5"]);
    let reason = only_header(&session, "dead", "x-dead-reason");
    assert_eq!(reason, Some(text("LOW_PRIORITY")));
}

#[test]
fn replaced_message_goes_to_the_alternate_exchange_of_a_queue_that_asks_for_it() {
    for (reasons, expected) in [("expired", vec![]), ("replaced", vec!["old"])] {
        let broker = Broker::new();
        let arguments = [
            ("qpid.last_value_queue_key", text("k")),
            ("qpid.dead_letter", text(reasons)),
        ];
        let session = with_dead_letters(&broker, &arguments);
        for body in ["old", "new"] {
            let message = message_with_headers("q", body, &[("k", text("a"))]);
            session.publish_message("", message);
        }
        assert_eq!(bodies(&session, "q"), ["new"]);
        assert_eq!(bodies(&session, "dead"), expected);
    }
}

#[test]
fn message_dies_when_it_has_been_delivered_as_often_as_it_may_be() {
    let broker = Broker::new();
    let session = with_dead_letters(&broker, &[("qpid.max_delivery_count", Value::U32(3))]);
    session.publish("q", "poison");
    for count in [1, 1, 0] {
        give_back(&session, "q");
        assert_eq!(session.count("q"), count);
    }
    let count = only_header(&session, "dead", "x-dead-delivery-count");
    assert_eq!(count, Some(Value::U32(3)));
    let reason = only_header(&session, "dead", "x-dead-reason");
    assert_eq!(reason, Some(text("UNDELIVERABLE")));
}

#[test]
fn deliveries_of_a_message_that_outlives_the_process_are_counted_on_after_a_restart() {
    let broker = Broker::new();
    let session = with_dead_letters(&broker, &[("qpid.max_delivery_count", Value::U32(3))]);
    persist(&session, "q", "0");
    give_back(&session, "q");
    let broker = broker.restarted();
    give_back(&broker.session("b"), "q");
    let session = broker.restarted().session("c");
    give_back(&session, "q");
    assert_eq!(bodies(&session, "q"), Vec::<String>::new());
    let count = only_header(&session, "dead", "x-dead-delivery-count");
    assert_eq!(count, Some(Value::U32(3)));
}

#[test]
fn first_delivery_and_one_that_is_not_counted_leave_no_fact() {
    let said = |arguments: &[(&str, Value)], set_redelivered| {
        let broker = Broker::new();
        let session = with_dead_letters(&broker, arguments);
        persist(&session, "q", "0");
        session.subscribe("q", "taker");
        session.flow("taker", 1);
        let id = session.arrivals()[0].id;
        let before = broker.facts().len();
        session.cancel("taker");
        session.release_with(ids([id]), set_redelivered);
        broker.facts().len() - before
    };
    let counted = [("qpid.max_delivery_count", Value::U32(3))];
    assert_eq!(said(&counted, true), 1);
    assert_eq!(said(&counted, false), 0);
    assert_eq!(said(&[], true), 0);
}

#[test]
fn message_that_is_released_unseen_has_not_been_delivered() {
    let broker = Broker::new();
    let session = with_dead_letters(&broker, &[("qpid.max_delivery_count", Value::U32(1))]);
    session.publish("q", "m");
    session.subscribe("q", "d");
    session.flow("d", 1);
    session.release(ids([0]));
    drop(session.told());
    assert_eq!(bodies(&session, "q"), ["m"]);
}

#[test]
fn message_that_a_session_leaves_behind_has_been_delivered() {
    let broker = Broker::new();
    let session = with_dead_letters(&broker, &[("qpid.max_delivery_count", Value::U32(2))]);
    session.publish("q", "m");
    for name in ["first", "second"] {
        let other = broker.session(name);
        other.subscribe("q", "d");
        other.flow("d", 1);
        assert_eq!(other.arrivals().len(), 1);
        other.connection.end();
    }
    assert_eq!((session.count("q"), session.count("dead")), (0, 1));
}

#[test]
fn message_delivered_too_often_is_dropped_without_an_alternate_exchange() {
    let broker = Broker::new();
    let session = broker.session("a");
    session.declare_kind("q", &[("qpid.max_delivery_count", Value::U32(1))]);
    session.publish("q", "poison");
    give_back(&session, "q");
    assert_eq!(session.count("q"), 0);
}

#[test]
fn ring_that_is_its_own_alternate_does_not_turn_for_ever() {
    let broker = Broker::new();
    let session = broker.session("a");
    let ring = [
        ("qpid.policy_type", text("ring")),
        ("qpid.max_count", Value::U32(2)),
    ];
    declare(&session, "q", "amq.fanout", &ring);
    session.bind("amq.fanout", "q", "", &[]);
    session.publish_many("q", 1, 5);
    assert_eq!(bodies(&session, "q"), ["4", "5"]);
    assert_eq!(core_counters(&broker).1, 3);
}

#[test]
fn rings_that_are_each_other_s_alternates_end_after_one_round() {
    let broker = Broker::new();
    let session = broker.session("a");
    let ring = [
        ("qpid.policy_type", text("ring")),
        ("qpid.max_count", Value::U32(1)),
    ];
    for (queue, exchange, alternate) in [("one", "e", "f"), ("two", "f", "e")] {
        session.declare_exchange("e", "fanout", None);
        session.declare_exchange("f", "fanout", None);
        declare(&session, queue, alternate, &ring);
        session.bind(exchange, queue, "", &[]);
    }
    session.publish_many("one", 1, 4);
    assert_eq!(bodies(&session, "one"), ["4"]);
    assert_eq!(bodies(&session, "two"), ["3"]);
    assert_eq!(core_counters(&broker).1, 2, "the first two died in both");
}

#[test]
fn message_that_a_client_rejects_on_its_way_goes_round_for_as_long_as_it_does() {
    let broker = broker();
    let session = broker.session("a");
    for exchange in ["e", "f"] {
        session.declare_exchange(exchange, "fanout", None);
    }
    declare(&session, "expires", "e", &all());
    declare(&session, "rejects", "f", &all());
    session.bind("e", "rejects", "", &[]);
    session.bind("f", "expires", "", &[]);
    session.publish_for("expires", "m", 5);
    pass(&broker, 10);
    session.subscribe("rejects", "d");
    session.flow("d", u32::MAX);
    let arrivals = session.arrivals();
    assert_eq!(arrivals.len(), 1);
    session.reject(ids([arrivals[0].id]));
    assert_eq!(session.told(), []);
    assert_eq!(bodies(&session, "expires"), ["m"]);
    let path = only_header(&session, "expires", "x-dead-path");
    assert_eq!(path, None, "a client has had its say");
}

#[test]
fn message_that_expires_where_it_has_expired_before_ends() {
    let broker = broker();
    let session = broker.session("a");
    for exchange in ["e", "f"] {
        session.declare_exchange(exchange, "fanout", None);
    }
    declare(&session, "one", "e", &all());
    declare(&session, "two", "f", &all());
    session.bind("e", "two", "", &[]);
    session.bind("f", "one", "", &[]);
    // A publisher that gives the dead a time to live again keeps their headers.
    let headers = [("x-dead-path", Value::List(vec![text("two")]))];
    let mut again = message_with_headers("one", "m", &headers);
    let bare = message_with("one", "", |_| {}).header.unwrap().len();
    let properties = again.header.take().unwrap().split_off(bare);
    let mortal = message_with("one", "", |delivery| delivery.ttl = Some(5));
    again.header = Some([mortal.header.unwrap(), properties].concat());
    session.publish_message("", again);
    pass(&broker, 10);
    assert_eq!((session.count("one"), session.count("two")), (0, 0));
    assert_eq!(core_counters(&broker).1, 1);
}

#[test]
fn path_is_as_long_as_it_may_be_and_no_longer() {
    for (names, arrives) in [(15, true), (16, false)] {
        let broker = Broker::new();
        let ring = [
            ("qpid.policy_type", text("ring")),
            ("qpid.max_count", Value::U32(1)),
        ];
        let session = with_dead_letters(&broker, &ring);
        let path = (0..names)
            .map(|name: u32| text(&name.to_string()))
            .collect();
        let headers = [("x-dead-path", Value::List(path))];
        session.publish_message("", message_with_headers("q", "m", &headers));
        session.publish("q", "next");
        assert_eq!(session.count("dead") == 1, arrives);
        assert_eq!(core_counters(&broker).1 == 0, arrives);
    }
}

#[test]
fn what_is_no_path_is_none() {
    let broker = Broker::new();
    let ring = [
        ("qpid.policy_type", text("ring")),
        ("qpid.max_count", Value::U32(1)),
    ];
    let session = with_dead_letters(&broker, &ring);
    for path in [Value::U8(1), text("dead"), Value::List(vec![Value::Void])] {
        let headers = [("x-dead-path", path)];
        session.publish_message("", message_with_headers("q", "m", &headers));
    }
    session.publish("q", "last");
    assert_eq!(session.count("dead"), 3);
}

#[test]
fn many_that_expire_at_once_are_moved_in_bounded_pieces_and_in_order() {
    let broker = broker();
    let session = with_dead_letters(&broker, &all());
    let count = 6000;
    let numbers: Vec<u32> = (0..count).collect();
    for some in numbers.chunks(256) {
        broker.together(|| {
            for number in some {
                session.publish_for("q", &number.to_string(), 5);
            }
        });
    }
    broker.hold_work();
    pass(&broker, 10);
    let mut most = 0;
    loop {
        let before = broker.core(|core| core.counters().dead.expired);
        if !broker.continue_once() {
            break;
        }
        most = most.max(broker.core(|core| core.counters().dead.expired) - before);
    }
    broker.work();
    assert!(most <= 1024, "{most} in one entry");
    let dead = bodies(&session, "dead");
    let expected: Vec<String> = (0..count).map(|number| number.to_string()).collect();
    assert!(dead == expected, "in their order, each once");
}

#[test]
fn dead_letter_is_at_one_place_whatever_the_broker_survives() {
    let broker = broker();
    let session = with_dead_letters(&broker, &all());
    let count: u32 = 3000;
    broker.together(|| {
        for number in 0..count {
            let ttl = number.is_multiple_of(2).then_some(5);
            session.publish_message("", persistent("q", &number.to_string(), ttl));
        }
    });
    broker.hold_work();
    let published = broker.facts().len();
    pass(&broker, 10);
    while broker.continue_once() {}
    let facts = broker.facts();
    assert!(facts.len() > published + 1, "too little to cut");
    for cut in published..=facts.len() {
        let again = broker.restarted_with(facts[..cut].to_vec(), 0);
        again.work();
        let session = again.session("again");
        pass(&again, 100);
        let mut places: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for queue in ["q", "dead"] {
            for arrived in look(&session, queue) {
                places.entry(arrived.body).or_default().push(queue);
            }
        }
        assert_eq!(places.len(), count as usize, "none is lost, after {cut}");
        for (body, queues) in places {
            let is_mortal = body.parse::<u32>().unwrap().is_multiple_of(2);
            let expected = if is_mortal { "dead" } else { "q" };
            assert_eq!(queues, [expected], "{body} after {cut}");
        }
    }
}

#[test]
fn dead_letter_says_why_after_a_restart_on_its_way() {
    let broker = broker();
    let session = with_dead_letters(&broker, &all());
    broker.together(|| {
        for number in 0..900 {
            persist_for(&session, "q", &number.to_string(), 5);
        }
    });
    broker.hold_work();
    pass(&broker, 10);
    broker.continue_once();
    let died_at = broker.core(|core| core.time().0 as i64);
    let again = broker.restarted_with(broker.facts(), 5000);
    let session = again.session("again");
    again.work();
    let dead = look(&session, "dead");
    assert_eq!(dead.len(), 900);
    let on_the_way: Vec<&Arrived> = dead.iter().filter(|arrived| arrived.redelivered).collect();
    assert!(on_the_way.len() > 100, "too few were on their way");
    for arrived in dead {
        assert_eq!(arrived.headers.get("x-dead-reason"), Some(&text("EXPIRED")));
        assert_eq!(
            arrived.headers.get("x-dead-timestamp"),
            Some(&Value::I64(died_at))
        );
    }
}

#[test]
fn dead_letters_have_the_time_of_the_wall_clock() {
    let broker = broker();
    let agent = Agent::open(&broker);
    agent.command(AgentCommand::Now(WallTime(1_800_000_000_000)));
    let session = with_dead_letters(&broker, &all());
    session.publish_for("q", "late", 5);
    pass(&broker, 1000);
    let dead = look(&session, "dead");
    let died = Value::I64(1_800_000_001_000);
    assert_eq!(dead[0].headers.get("x-dead-timestamp"), Some(&died));
}

#[test]
fn dead_letters_of_a_deleted_queue_still_say_why_after_a_restart() {
    let broker = broker();
    let session = with_dead_letters(&broker, &all());
    broker.together(|| {
        for number in 0..900 {
            persist_for(&session, "q", &number.to_string(), 5);
        }
    });
    broker.hold_work();
    pass(&broker, 10);
    broker.continue_once();
    session.delete("q");
    let (again, facts) = (broker.restarted(), broker.facts());
    let same = recovered(&facts, &Options::default(), 0);
    broker::durable::assert_same(&again.core(Clone::clone), &same);
    let session = again.session("again");
    again.work();
    let dead = look(&session, "dead");
    assert_eq!(dead.len(), 900);
    let reason = Some(text("EXPIRED"));
    let marked = dead
        .iter()
        .filter(|a| a.headers.get("x-dead-reason") == reason.as_ref());
    assert_eq!(marked.count(), 900);
}

/// A message with a time to live of 1 that says what is to become of it.
fn publish_preserved(session: &Session, says: Value) {
    let message = message_with("q", "0", |delivery| delivery.ttl = Some(1));
    let headers = [("JMS_SUN_PRESERVE_UNDELIVERED", says)];
    session.publish_message("", message.with_headers(&headers));
}

#[test]
fn message_that_is_to_be_preserved_goes_on_whatever_its_queue_says() {
    let broker = broker();
    let session = with_dead_letters(&broker, &[]);
    publish_preserved(&session, Value::Bool(true));
    pass(&broker, 2);
    assert_eq!(bodies(&session, "dead"), ["0"]);
}

#[test]
fn message_that_is_not_to_be_preserved_goes_nowhere_whatever_its_queue_says() {
    let broker = broker();
    let session = with_dead_letters(&broker, &all());
    publish_preserved(&session, Value::Bool(false));
    pass(&broker, 2);
    assert_eq!((session.count("q"), session.count("dead")), (0, 0));
}

#[test]
fn message_that_is_not_to_be_preserved_goes_nowhere_when_it_is_rejected() {
    let broker = Broker::new();
    let session = with_dead_letters(&broker, &all());
    let headers = [("JMS_SUN_PRESERVE_UNDELIVERED", Value::Bool(false))];
    session.publish_message("", broker::message("q", "0").with_headers(&headers));
    session.publish("q", "1");
    session.subscribe("q", "d");
    session.flow("d", 2);
    let arrived = session.arrivals();
    session.cancel("d");
    session.reject(ids(arrived.iter().map(|arrived| arrived.id)));
    assert_eq!(bodies(&session, "dead"), ["1"]);
    broker.core(|core| {
        let queue = core.queue_of_name("q").expect("it is there");
        // As in qpidd both were discarded by a subscriber, wherever they went.
        assert_eq!(queue.counters.discards_subscriber, 2);
    });
}

#[test]
fn what_is_no_boolean_says_nothing_of_preserving() {
    let broker = broker();
    let session = with_dead_letters(&broker, &[]);
    publish_preserved(&session, text("true"));
    pass(&broker, 2);
    assert_eq!((session.count("q"), session.count("dead")), (0, 0));
}

#[test]
fn message_that_says_whether_it_is_preserved_hears_why_in_the_words_of_open_mq_too() {
    let broker = broker();
    let session = with_dead_letters(&broker, &all());
    publish_preserved(&session, Value::Bool(true));
    session.publish_for("q", "other", 1);
    pass(&broker, 2);
    let arrivals = look(&session, "dead");
    let [preserved, other] = &arrivals[..] else {
        panic!("{arrivals:?}");
    };
    for (ours, theirs) in [
        ("x-dead-reason", "JMS_SUN_DMQ_UNDELIVERED_REASON"),
        ("x-dead-timestamp", "JMS_SUN_DMQ_UNDELIVERED_TIMESTAMP"),
        ("x-dead-comment", "JMS_SUN_DMQ_UNDELIVERED_COMMENT"),
    ] {
        assert!(preserved.headers.get(ours).is_some());
        assert_eq!(preserved.headers.get(theirs), preserved.headers.get(ours));
        assert!(other.headers.get(ours).is_some());
        assert_eq!(other.headers.get(theirs), None);
    }
}

#[test]
fn count_of_deliveries_has_its_name_of_open_mq() {
    let broker = Broker::new();
    let session = with_dead_letters(&broker, &[("qpid.max_delivery_count", Value::U32(1))]);
    let headers = [("JMS_SUN_PRESERVE_UNDELIVERED", Value::Bool(true))];
    session.publish_message("", broker::message("q", "0").with_headers(&headers));
    give_back(&session, "q");
    let count = only_header(&session, "dead", "JMS_SUN_DMQ_DELIVERY_COUNT");
    assert_eq!(count, Some(Value::U32(1)));
}

#[test]
fn dead_letters_are_counted_by_reason() {
    let broker = broker();
    let arguments = [
        ("qpid.dead_letter", text("all")),
        ("qpid.max_delivery_count", Value::U32(1)),
    ];
    let session = with_dead_letters(&broker, &arguments);
    session.publish("q", "returned");
    give_back(&session, "q");
    session.publish("q", "rejected");
    session.subscribe("q", "d");
    session.flow("d", 1);
    let id = session.arrivals()[0].id;
    session.reject(ids([id]));
    session.publish_for("q", "late", 5);
    pass(&broker, 10);
    let expected = DeadCounters {
        rejected: 1,
        expired: 1,
        over_delivered: 1,
        ..DeadCounters::default()
    };
    assert_eq!(core_counters(&broker), (expected, 0));
    assert_eq!(session.count("dead"), 3);
}

#[test]
fn reason_that_is_unknown_is_an_invalid_argument() {
    for (name, value) in [
        ("qpid.dead_letter", text("expired, rotten")),
        ("qpid.dead_letter", Value::U8(1)),
        ("qpid.max_delivery_count", text("often")),
        ("qpid.max_delivery_count", Value::I8(-1)),
    ] {
        let session = Broker::new().session("a");
        session.declare_kind("q", &[(name, value)]);
        session.assert_failed(542, name);
    }
}
