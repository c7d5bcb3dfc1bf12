//! Exchanges that number their messages (`qpid.msg_sequence`), and that give the last one to a queue
//! that is bound (`qpid.ive`); and bindings that displace others or end with their session, at every
//! type of exchange.

mod broker;

use broker::told::Arrived;
use broker::{Broker, Draft, Session, ids, message, message_with, message_with_headers};
use ferrymq::wire::{DeliveryMode, ExchangeDeclare, Map, Value};

const TYPES: [&str; 4] = ["direct", "topic", "fanout", "headers"];

fn with(arguments: &[(&str, Value)]) -> impl FnOnce(&mut ExchangeDeclare) {
    let arguments: Map = arguments.iter().cloned().collect();
    |declare| {
        declare.durable = true;
        declare.arguments = Some(arguments);
    }
}

fn numbered() -> [(&'static str, Value); 1] {
    [("qpid.msg_sequence", Value::U8(0))]
}

fn initial() -> [(&'static str, Value); 1] {
    [("qpid.ive", Value::Void)]
}

/// Arguments with which a headers exchange matches everything, and which are nothing to others.
fn any() -> [(&'static str, Value); 1] {
    [("x-match", Value::Str16("all".into()))]
}

fn scoped() -> Vec<(&'static str, Value)> {
    let scope = [("x-scope", Value::Str16("session".into()))];
    [any().as_slice(), &scope].concat()
}

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

/// The numbers of the messages in a queue.
fn numbers(session: &Session, queue: &str) -> Vec<Option<i64>> {
    let number = |arrived: Arrived| match arrived.headers.get("qpid.msg_sequence") {
        Some(Value::I64(number)) => Some(*number),
        None => None,
        other => panic!("a number of another type: {other:?}"),
    };
    look(session, queue).into_iter().map(number).collect()
}

fn persistent(key: &str, body: &str) -> Draft {
    message_with(key, body, |delivery| {
        delivery.delivery_mode = Some(DeliveryMode::PERSISTENT);
    })
}

fn with_queue(broker: &Broker) -> Session {
    let session = broker.session("a");
    session.declare_with("q", |declare| declare.durable = true);
    session
}

#[test]
fn numbering_exchange_counts_its_messages_from_one_whatever_its_type() {
    for kind in TYPES {
        let broker = Broker::new();
        let session = with_queue(&broker);
        session.declare_exchange_with("e", kind, with(&numbered()));
        session.bind("e", "q", "k", &any());
        for _ in 0..3 {
            session.publish_message("e", message("k", "m"));
        }
        session.publish_message("", message("q", "not of it"));
        let expected = [Some(1), Some(2), Some(3), None];
        assert_eq!(numbers(&session, "q"), expected, "{kind}");
    }
}

#[test]
fn message_that_matches_nothing_is_counted_too() {
    let broker = Broker::new();
    let session = with_queue(&broker);
    session.declare_exchange_with("e", "direct", with(&numbered()));
    session.bind("e", "q", "k", &[]);
    session.publish_message("e", message("nobody", "lost"));
    session.publish_message("e", message("k", "m"));
    assert_eq!(numbers(&session, "q"), [Some(2)]);
}

#[test]
fn numbered_message_keeps_its_other_headers_and_its_time_to_live() {
    let broker = Broker::new();
    let session = with_queue(&broker);
    session.declare_exchange_with("e", "fanout", with(&numbered()));
    session.bind("e", "q", "", &[]);
    let mine = [("mine", Value::U8(7)), ("qpid.msg_sequence", Value::U8(9))];
    session.publish_message("e", message_with_headers("", "m", &mine));
    let mortal = message_with("", "mortal", |delivery| delivery.ttl = Some(500));
    session.publish_message("e", mortal);
    let arrivals = look(&session, "q");
    assert_eq!(arrivals[0].headers.get("mine"), Some(&Value::U8(7)));
    assert_eq!(
        arrivals[0].headers.get("qpid.msg_sequence"),
        Some(&Value::I64(1))
    );
    assert_eq!(arrivals[1].ttl, Some(500));
}

#[test]
fn counting_goes_on_after_a_restart_and_after_a_checkpoint() {
    let broker = Broker::new();
    let session = with_queue(&broker);
    session.declare_exchange_with("e", "fanout", with(&numbered()));
    session.bind("e", "q", "", &[]);
    for _ in 0..3 {
        session.publish_message("e", persistent("", "m"));
    }
    let mut facts = broker.facts();
    let checkpoint = broker.core(|core| core.definitions());
    for facts in [facts.clone(), {
        facts.push(checkpoint);
        facts
    }] {
        let again = broker.restarted_with(facts, 0);
        again.work();
        let session = again.session("again");
        session.publish_message("e", persistent("", "m"));
        let expected = [Some(1), Some(2), Some(3), Some(4)];
        assert_eq!(numbers(&session, "q"), expected);
    }
}

#[test]
fn counting_begins_where_a_declaration_says_that_it_was() {
    let broker = Broker::new();
    let session = with_queue(&broker);
    let before = [
        ("qpid.msg_sequence", Value::Void),
        ("qpid.sequence_counter", Value::I64(41)),
    ];
    session.declare_exchange_with("e", "fanout", with(&before));
    session.bind("e", "q", "", &[]);
    session.publish_message("e", message("", "m"));
    assert_eq!(numbers(&session, "q"), [Some(42)]);
}

#[test]
fn message_that_comes_by_way_of_an_alternate_exchange_is_numbered_there() {
    let broker = Broker::new();
    let session = with_queue(&broker);
    session.declare_exchange_with("e", "fanout", with(&numbered()));
    session.bind("e", "q", "", &[]);
    session.declare_exchange("nothing", "fanout", Some("e"));
    session.declare_with("rejects", |declare| {
        declare.alternate_exchange = Some("e".into());
    });
    session.publish_message("nothing", message("", "unroutable"));
    session.publish("rejects", "rejected");
    session.subscribe("rejects", "d");
    session.flow("d", 1);
    session.reject(ids([0]));
    drop(session.told());
    assert_eq!(numbers(&session, "q"), [Some(1), Some(2)]);
}

#[test]
fn exchange_that_is_declared_without_numbers_none() {
    let broker = Broker::new();
    let session = with_queue(&broker);
    session.declare_exchange_with("e", "fanout", with(&[("other", Value::U8(1))]));
    // Arguments of one that is there are not compared, and change nothing.
    session.declare_exchange_with("e", "fanout", with(&numbered()));
    session.bind("e", "q", "", &[]);
    session.publish_message("e", message("", "m"));
    assert_eq!(numbers(&session, "q"), [None]);
}

#[test]
fn arguments_of_an_exchange_are_kept_as_declared() {
    let broker = Broker::new();
    let session = with_queue(&broker);
    let declared = [
        ("qpid.msg_sequence", Value::Bool(false)),
        ("mine", Value::Str16("kept".into())),
    ];
    session.declare_exchange_with("e", "fanout", with(&declared));
    session.publish_message("e", message("", "m"));
    let arguments = session.query_exchange("e").arguments;
    assert_eq!(arguments, Some(declared.into_iter().collect()));
}

#[test]
fn queue_that_is_bound_gets_the_last_message_whatever_the_type_of_the_exchange() {
    for kind in TYPES {
        let broker = Broker::new();
        let session = with_queue(&broker);
        session.declare_exchange_with("e", kind, with(&initial()));
        session.publish_message("e", message("k", "first"));
        session.publish_message("e", message("k", "last"));
        session.bind("e", "q", "k", &any());
        assert_eq!(bodies(&session, "q"), ["last"], "{kind}");
        session.bind("e", "q", "k", &any());
        assert_eq!(bodies(&session, "q"), ["last"], "{kind}: it was bound");
        session.declare("r");
        session.bind("e", "r", "k", &any());
        assert_eq!(bodies(&session, "r"), ["last"], "{kind}");
        assert_eq!(bodies(&session, "q"), ["last"], "{kind}: it has had it");
    }
}

#[test]
fn queue_whose_binding_does_not_match_the_last_message_does_not_get_it() {
    for (kind, key, arguments) in [
        ("direct", "other", vec![]),
        ("topic", "k.#.x", vec![]),
        (
            "headers",
            "k",
            vec![("x-match", Value::Str16("all".into())), ("n", Value::U8(1))],
        ),
    ] {
        let broker = Broker::new();
        let session = with_queue(&broker);
        session.declare_exchange_with("e", kind, with(&initial()));
        session.publish_message("e", message("k", "last"));
        session.bind("e", "q", key, &arguments);
        assert_eq!(session.count("q"), 0, "{kind}");
    }
}

#[test]
fn last_message_whose_time_has_run_out_is_given_to_nobody() {
    let broker = Broker::new();
    let session = with_queue(&broker);
    session.declare_exchange_with("e", "fanout", with(&initial()));
    let mortal = message_with("", "m", |delivery| delivery.ttl = Some(10));
    session.publish_message("e", mortal);
    broker.pass(4);
    session.bind("e", "q", "", &[]);
    assert_eq!(look(&session, "q")[0].ttl, Some(6));
    broker.pass(6);
    session.declare("r");
    session.bind("e", "r", "", &[]);
    assert_eq!(session.count("r"), 0);
}

#[test]
fn last_message_is_not_there_after_a_restart() {
    let broker = Broker::new();
    let session = with_queue(&broker);
    session.declare_exchange_with("e", "fanout", with(&initial()));
    session.publish_message("e", persistent("", "m"));
    let again = broker.restarted();
    again.work();
    let session = again.session("again");
    session.bind("e", "q", "", &[]);
    assert_eq!(session.count("q"), 0);
}

#[test]
fn last_message_that_is_given_to_a_durable_queue_survives_there() {
    let broker = Broker::new();
    let session = with_queue(&broker);
    session.declare_exchange_with("e", "fanout", with(&initial()));
    session.publish_message("e", persistent("", "m"));
    session.bind("e", "q", "", &[]);
    let again = broker.restarted();
    again.work();
    assert_eq!(bodies(&again.session("again"), "q"), ["m"]);
}

#[test]
fn last_message_counts_as_held_until_there_is_another() {
    let broker = Broker::new();
    let session = with_queue(&broker);
    let held = || broker.core(|core| core.held_bytes());
    let before = held();
    session.declare_exchange_with("e", "fanout", with(&initial()));
    session.publish_message("e", message("", &"x".repeat(100_000)));
    assert!(held() > before + 100_000);
    session.publish_message("e", message("", ""));
    assert!(held() < before + 1000);
    session.delete_exchange("e");
    assert_eq!(held(), before);
}

#[test]
fn both_are_had_together() {
    let broker = Broker::new();
    let session = with_queue(&broker);
    let both = [numbered(), initial()].concat();
    session.declare_exchange_with("e", "fanout", with(&both));
    for _ in 0..2 {
        session.publish_message("e", message("", "m"));
    }
    session.bind("e", "q", "", &[]);
    assert_eq!(numbers(&session, "q"), [Some(2)], "numbered once");
}

#[test]
fn binding_of_session_scope_ends_with_its_session_and_with_the_broker_at_every_type() {
    for kind in TYPES {
        let broker = Broker::new();
        let session = with_queue(&broker);
        session.declare_exchange_with("e", kind, with(&[]));
        session.declare_with("stays", |declare| declare.durable = true);
        session.bind("e", "stays", "k", &any());
        let other = broker.session("other");
        other.bind("e", "q", "k", &scoped());
        assert!(!session.bound("e", "q", None).queue_not_matched, "{kind}");
        let again = broker.restarted();
        again.work();
        let later = again.session("later");
        assert!(later.bound("e", "q", None).queue_not_matched, "{kind}");
        assert!(!later.bound("e", "stays", None).queue_not_matched, "{kind}");
        other.detach();
        assert!(session.bound("e", "q", None).queue_not_matched, "{kind}");
        assert!(
            !session.bound("e", "stays", None).queue_not_matched,
            "{kind}"
        );
    }
}

#[test]
fn exclusive_binding_displaces_at_a_direct_exchange_only() {
    for kind in TYPES {
        let broker = Broker::new();
        let session = with_queue(&broker);
        session.declare_with("r", |declare| declare.durable = true);
        session.declare_exchange_with("e", kind, with(&[]));
        session.bind("e", "q", "k", &any());
        let exclusive = [("qpid.exclusive-binding", Value::Void)];
        session.bind("e", "r", "k", &[any().as_slice(), &exclusive].concat());
        session.publish_message("e", persistent("k", "m"));
        let again = broker.restarted();
        again.work();
        let later = again.session("later");
        later.publish_message("e", persistent("k", "m"));
        let expected = if kind == "direct" { 0 } else { 2 };
        assert_eq!(
            (later.count("q"), later.count("r")),
            (expected, 2),
            "{kind}"
        );
    }
}

#[test]
fn what_a_transaction_publishes_is_no_initial_value_before_it_is_committed() {
    let broker = Broker::new();
    let session = with_queue(&broker);
    session.declare_exchange_with("e", "direct", with(&initial()));
    session.publish_message("e", message_with("k", "before", |_| {}));
    let other = broker.session("b");
    other.select();
    other.publish_message("e", message_with("k", "rolled back", |_| {}));
    session.bind("e", "q", "k", &[]);
    assert_eq!(bodies(&session, "q"), ["before"]);
    other.rollback();
    session.declare("r");
    session.bind("e", "r", "k", &[]);
    assert_eq!(bodies(&session, "r"), ["before"]);
    other.publish_message("e", message_with("k", "committed", |_| {}));
    broker.take_over();
    other.commit();
    session.declare("s");
    session.bind("e", "s", "k", &[]);
    assert_eq!(bodies(&session, "s"), ["committed"]);
}
