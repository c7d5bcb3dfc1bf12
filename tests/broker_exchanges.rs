//! Exchanges as commands make, use and delete them, and the ways to alternate exchanges.

mod broker;

use broker::{Broker, Session, ids, range};
use ferrymq::wire::{QueueDeclare, Value};

fn with_alternate(exchange: &str) -> impl FnOnce(&mut QueueDeclare) {
    let exchange = exchange.to_owned();
    move |declare| declare.alternate_exchange = Some(exchange.as_str().into())
}

fn scoped() -> [(&'static str, Value); 1] {
    [("x-scope", Value::Str16("session".into()))]
}

/// A session with a queue `dead` bound to `amq.fanout`, and a queue `q` whose alternate that is.
fn with_dead_letters(broker: &Broker) -> Session {
    let session = broker.session("a");
    session.declare("dead");
    session.bind("amq.fanout", "dead", "", &[]);
    session.declare_with("q", with_alternate("amq.fanout"));
    session
}

fn bodies(session: &Session, queue: &str) -> Vec<String> {
    session.browse(queue, "look");
    session.flow("look", u32::MAX);
    let bodies = session.received();
    session.cancel("look");
    bodies
}

#[test]
fn standard_exchanges_are_there_from_the_start() {
    let session = Broker::new().session("a");
    let standard = [
        ("", "direct", false),
        ("amq.direct", "direct", true),
        ("amq.topic", "topic", true),
        ("amq.fanout", "fanout", true),
        ("amq.match", "headers", true),
    ];
    for (name, kind, durable) in standard {
        let answer = session.query_exchange(name);
        assert!(!answer.not_found, "{name}");
        assert_eq!(answer.r#type.as_deref(), Some(kind));
        assert_eq!(answer.durable, durable);
        let arguments = answer.arguments.expect("arguments are told");
        assert_eq!(
            arguments.get("qpid.replicate").and_then(Value::as_str),
            Some("none")
        );
    }
}

#[test]
fn exchange_query_of_an_unknown_exchange_says_so() {
    let session = Broker::new().session("a");
    assert!(session.query_exchange("e").not_found);
}

#[test]
fn exchange_declare_of_a_reserved_name_is_not_allowed() {
    let broker = Broker::new();
    for (n, name) in ["amq.new", "qpid.new", "amq.direct"].iter().enumerate() {
        let session = broker.session(&n.to_string());
        session.declare_exchange(name, "direct", None);
        session.assert_failed(530, "reserved");
    }
    let session = broker.session("passive");
    session.declare_exchange_with("amq.direct", "direct", |declare| declare.passive = true);
    session.declare_exchange_with("amq.direct", "", |declare| declare.passive = true);
    session.declare_exchange("qmf.mine", "topic", None);
    session.declare_exchange("", "direct", None);
    session.assert_untroubled();
}

#[test]
fn exchange_declare_of_an_unknown_type_is_not_found() {
    let session = Broker::new().session("a");
    session.declare_exchange("e", "nosuch", None);
    session.assert_failed(404, "Exchange type not implemented");
}

#[test]
fn exchange_declare_again_with_another_type_is_not_allowed() {
    let broker = Broker::new();
    let session = broker.session("a");
    session.declare_exchange("e", "direct", None);
    session.declare_exchange("e", "direct", None);
    session.assert_untroubled();
    session.declare_exchange("e", "topic", None);
    session.assert_failed(530, "topic");
    let session = broker.session("b");
    session.declare_exchange_with("e", "fanout", |declare| declare.passive = true);
    session.assert_failed(530, "fanout");
}

#[test]
fn exchange_declare_again_compares_the_alternate_only_when_one_is_given() {
    let broker = Broker::new();
    let session = broker.session("a");
    session.declare_exchange("e", "direct", Some("amq.fanout"));
    session.declare_exchange("e", "direct", None);
    session.declare_exchange("e", "direct", Some(""));
    session.declare_exchange("e", "direct", Some("amq.fanout"));
    session.declare_exchange_with("e", "direct", |declare| {
        declare.durable = true;
        declare.auto_delete = true;
    });
    session.assert_untroubled();
    session.declare_exchange("e", "direct", Some("amq.topic"));
    session.assert_failed(530, "alternate");
}

#[test]
fn exchange_declare_passive_compares_the_alternate_that_is_given() {
    let session = Broker::new().session("a");
    session.declare_exchange("e", "direct", Some("amq.fanout"));
    let passive = |alternate: Option<&str>| {
        session.declare_exchange_with("e", "direct", |declare| {
            declare.passive = true;
            declare.alternate_exchange = alternate.map(Into::into);
        });
    };
    passive(None);
    passive(Some("amq.fanout"));
    session.assert_untroubled();
    passive(Some("amq.topic"));
    session.assert_failed(530, "alternate");
}

#[test]
fn exchange_declare_with_a_missing_alternate_is_not_found() {
    let broker = Broker::new();
    for (n, passive) in [false, true].into_iter().enumerate() {
        let session = broker.session(&n.to_string());
        session.declare_exchange_with("e", "direct", |declare| {
            declare.alternate_exchange = Some("nowhere".into());
            declare.passive = passive;
        });
        session.assert_failed(404, "nowhere");
    }
}

#[test]
fn exchange_declare_passive_of_a_missing_exchange_is_not_found() {
    let session = Broker::new().session("a");
    session.declare_exchange_with("e", "direct", |declare| declare.passive = true);
    session.assert_failed(404, "e");
}

#[test]
fn exchange_delete_is_refused_where_it_would_hurt() {
    let broker = Broker::new();
    let maker = broker.session("maker");
    maker.declare_exchange("used", "fanout", None);
    maker.declare_exchange("user", "fanout", Some("used"));
    let refused = [
        ("", 542),
        ("amq.direct", 530),
        ("amq.match", 530),
        ("used", 530),
        ("missing", 404),
    ];
    for (n, (name, code)) in refused.into_iter().enumerate() {
        let session = broker.session(&n.to_string());
        session.delete_exchange(name);
        session.assert_failed(code, "");
    }
    maker.delete_exchange("user");
    maker.delete_exchange("used");
    maker.assert_untroubled();
    assert!(maker.query_exchange("used").not_found);
}

#[test]
fn exchange_that_is_the_alternate_of_a_queue_is_not_deleted() {
    let broker = Broker::new();
    let session = broker.session("a");
    session.declare_exchange("e", "fanout", None);
    session.declare_with("q", with_alternate("e"));
    let other = broker.session("b");
    other.delete_exchange("e");
    other.assert_failed(530, "in use as alternate");
    session.delete("q");
    session.delete_exchange("e");
    session.assert_untroubled();
}

#[test]
fn bind_of_what_is_missing_is_not_found() {
    let broker = Broker::new();
    let maker = broker.session("maker");
    maker.declare("q");
    for (n, (exchange, queue)) in [("amq.direct", "x"), ("x", "q")].iter().enumerate() {
        let session = broker.session(&n.to_string());
        session.bind(exchange, queue, "k", &[]);
        session.assert_failed(404, "x");
        let session = broker.session(&format!("u{n}"));
        session.unbind(exchange, queue, "k");
        session.assert_failed(404, "x");
    }
}

#[test]
fn bind_to_the_default_exchange_is_an_invalid_argument() {
    let broker = Broker::new();
    let session = broker.session("a");
    session.declare("q");
    session.bind("", "q", "k", &[]);
    session.assert_failed(542, "default exchange");
    let session = broker.session("b");
    session.unbind("", "q", "q");
    session.assert_failed(542, "default exchange");
}

#[test]
fn unbind_of_what_is_not_bound_is_done_already() {
    let session = Broker::new().session("a");
    session.declare("q");
    session.unbind("amq.direct", "q", "k");
    session.assert_untroubled();
}

#[test]
fn bound_messages_reach_their_queue_until_it_is_unbound() {
    let session = Broker::new().session("a");
    session.declare("q");
    session.bind("amq.direct", "q", "k", &[]);
    session.bind("amq.direct", "q", "k", &[]);
    session.publish_message("amq.direct", broker::message("k", "0"));
    session.publish_message("amq.direct", broker::message("other", "1"));
    session.unbind("amq.direct", "q", "k");
    session.publish_message("amq.direct", broker::message("k", "2"));
    assert_eq!(bodies(&session, "q"), ["0"]);
}

#[test]
fn queue_that_matches_twice_gets_one_copy() {
    let session = Broker::new().session("a");
    session.declare("q");
    session.bind("amq.topic", "q", "red.*", &[]);
    session.bind("amq.topic", "q", "*.herring", &[]);
    for n in 0..10 {
        session.publish_message("amq.topic", broker::message("red.herring", &n.to_string()));
    }
    assert_eq!(session.count("q"), 10);
}

#[test]
fn full_queue_does_not_keep_a_message_from_the_others() {
    let broker = Broker::new();
    let session = broker.session("a");
    session.declare_limited("full", &[("qpid.max_count", Value::U32(4))]);
    session.bind("amq.topic", "full", "k", &[]);
    for queue in ["a", "b", "c"] {
        session.declare(queue);
        session.bind("amq.topic", queue, "k", &[]);
    }
    for n in 0..5 {
        session.publish_message("amq.topic", broker::message("k", &n.to_string()));
    }
    session.assert_failed(506, "Maximum depth exceeded on full");
    let session = broker.session("b");
    let counts = ["full", "a", "b", "c"].map(|queue| session.count(queue));
    assert_eq!(counts, [4, 5, 5, 5]);
}

#[test]
fn exchange_bound_answers_with_flags() {
    let session = Broker::new().session("a");
    session.declare("q");
    session.bind("amq.direct", "q", "k", &[]);
    assert_eq!(
        session.bound("amq.direct", "q", Some("k")),
        Default::default()
    );
    assert!(session.bound("nowhere", "q", None).exchange_not_found);
    assert!(session.bound("amq.direct", "nobody", None).queue_not_found);
    assert!(
        session
            .bound("amq.direct", "q", Some("other"))
            .key_not_matched
    );
    assert!(session.bound("amq.topic", "q", None).queue_not_matched);
}

#[test]
fn auto_delete_exchange_goes_with_its_last_binding() {
    let session = Broker::new().session("a");
    session.declare("q");
    session.declare_exchange_with("e", "direct", |declare| declare.auto_delete = true);
    assert!(!session.query_exchange("e").not_found, "not at once");
    session.bind("e", "q", "k", &[]);
    session.bind("e", "q", "l", &[]);
    session.unbind("e", "q", "k");
    assert!(!session.query_exchange("e").not_found);
    session.unbind("e", "q", "l");
    assert!(session.query_exchange("e").not_found);
}

#[test]
fn auto_delete_exchange_goes_with_its_last_queue() {
    let session = Broker::new().session("a");
    session.declare("q");
    session.declare_exchange_with("e", "fanout", |declare| declare.auto_delete = true);
    session.bind("e", "q", "", &[]);
    session.delete("q");
    assert!(session.query_exchange("e").not_found);
    session.assert_untroubled();
}

#[test]
fn auto_delete_exchange_stays_while_it_is_an_alternate() {
    let session = Broker::new().session("a");
    session.declare("q");
    session.declare_exchange_with("e", "fanout", |declare| declare.auto_delete = true);
    session.declare_with("user", with_alternate("e"));
    session.bind("e", "q", "", &[]);
    session.unbind("e", "q", "");
    assert!(!session.query_exchange("e").not_found);
}

#[test]
fn binding_of_session_scope_ends_with_its_session() {
    let broker = Broker::new();
    let (session, other) = (broker.session("a"), broker.session("b"));
    other.declare("q");
    session.bind("amq.fanout", "q", "", &scoped());
    session.detach();
    other.publish_message("amq.fanout", broker::message("", "0"));
    assert_eq!(other.count("q"), 0);
}

#[test]
fn rejected_messages_go_to_the_alternate_exchange() {
    let broker = Broker::new();
    let session = with_dead_letters(&broker);
    session.publish_many("q", 0, 3);
    session.subscribe("q", "d");
    session.flow("d", 3);
    session.told();
    session.reject(ids([0, 2]));
    assert_eq!(bodies(&session, "dead"), ["0", "2"]);
}

#[test]
fn rerouted_messages_are_not_flagged_and_reach_who_waits() {
    let broker = Broker::new();
    let session = with_dead_letters(&broker);
    let other = broker.session("b");
    other.subscribe("dead", "d");
    other.flow("d", 1);
    session.publish("q", "0");
    session.subscribe("q", "d");
    session.flow("d", 1);
    session.release_with(ids([0]), true);
    session.flow("d", 1);
    session.told();
    session.reject(ids([1]));
    assert_eq!(other.received(), ["0"]);
}

#[test]
fn message_that_matches_nothing_goes_to_the_alternate_exchange() {
    let session = Broker::new().session("a");
    session.declare("dead");
    session.bind("amq.fanout", "dead", "", &[]);
    session.declare_exchange("e", "direct", Some("amq.fanout"));
    session.publish_message("e", broker::message("nobody", "0"));
    assert_eq!(bodies(&session, "dead"), ["0"]);
}

#[test]
fn alternate_exchange_that_routes_nothing_uses_its_own_alternate() {
    let session = Broker::new().session("a");
    session.declare("dead");
    session.declare_exchange("second", "fanout", None);
    session.bind("second", "dead", "", &[]);
    session.declare_exchange("first", "fanout", Some("second"));
    session.declare_with("q", with_alternate("first"));
    session.publish_many("q", 0, 3);
    session.subscribe("q", "d");
    session.flow("d", 1);
    session.told();
    session.reject(ids([0]));
    session.cancel("d");
    session.delete("q");
    assert_eq!(bodies(&session, "dead"), ["0", "1", "2"]);
}

#[test]
fn queue_that_is_its_own_alternate_gets_back_what_is_rejected() {
    let session = Broker::new().session("a");
    session.declare_with("q", with_alternate("amq.fanout"));
    session.bind("amq.fanout", "q", "", &[]);
    session.publish("q", "0");
    session.subscribe("q", "d");
    session.flow("d", 1);
    assert_eq!(session.received(), ["0"]);
    session.reject(ids([0]));
    assert_eq!(session.count("q"), 1);
    session.cancel("d");
    session.delete("q");
    session.assert_untroubled();
}

#[test]
fn two_queues_that_are_each_other_s_alternate_end_with_one_another() {
    let session = Broker::new().session("a");
    for (queue, alternate) in [("q", "amq.fanout"), ("r", "amq.direct")] {
        session.declare_with(queue, with_alternate(alternate));
    }
    session.bind("amq.fanout", "r", "", &[]);
    session.bind("amq.direct", "q", "q", &[]);
    session.publish_many("q", 0, 10);
    session.delete("q");
    assert_eq!(session.count("r"), 10);
    session.delete("r");
    session.assert_untroubled();
}

#[test]
fn deleted_queue_s_messages_go_to_the_alternate_exchange_acquired_ones_too() {
    let broker = Broker::new();
    let session = with_dead_letters(&broker);
    session.publish_many("q", 0, 4);
    session.subscribe("q", "d");
    session.flow("d", 2);
    session.told();
    session.cancel("d");
    session.delete("q");
    session.accept(range(0, 1));
    assert_eq!(bodies(&session, "dead"), ["0", "1", "2", "3"]);
}

#[test]
fn unaccepted_messages_of_an_auto_delete_queue_reach_its_alternate_exchange() {
    let broker = Broker::new();
    let other = broker.session("b");
    other.declare("dead");
    other.bind("amq.fanout", "dead", "", &[]);
    let session = broker.session("a");
    session.declare_with("q", |declare| {
        declare.auto_delete = true;
        declare.alternate_exchange = Some("amq.fanout".into());
    });
    session.publish_many("q", 0, 5);
    session.subscribe("q", "d");
    session.flow("d", 5);
    session.connection.end();
    assert!(!other.has_queue("q"));
    assert_eq!(bodies(&other, "dead"), ["0", "1", "2", "3", "4"]);
}

#[test]
fn message_that_expires_does_not_go_to_the_alternate_exchange() {
    let broker = Broker::new();
    let session = with_dead_letters(&broker);
    session.publish_for("q", "0", 10);
    broker.pass(600_000);
    broker.sequencer(ferrymq::broker::Command::Tick);
    assert_eq!(session.count("q"), 0);
    assert_eq!(session.count("dead"), 0);
}

#[test]
fn rerouted_message_keeps_its_time_to_live() {
    let broker = Broker::new();
    let session = with_dead_letters(&broker);
    session.publish_for("q", "0", 100);
    broker.pass(60);
    session.delete("q");
    session.subscribe("dead", "d");
    session.flow("d", 1);
    assert_eq!(session.arrivals()[0].ttl, Some(40));
}

#[test]
fn purged_messages_do_not_go_to_the_alternate_exchange() {
    let broker = Broker::new();
    let session = with_dead_letters(&broker);
    session.publish_many("q", 0, 3);
    session.purge("q");
    assert_eq!(session.count("dead"), 0);
}

#[test]
fn exchange_is_in_use_until_the_messages_on_their_way_to_it_have_arrived() {
    let broker = Broker::new();
    let session = broker.session("a");
    session.declare_exchange("e", "fanout", None);
    session.declare("dead");
    session.bind("e", "dead", "", &[]);
    session.declare_with("q", with_alternate("e"));
    session.publish_many("q", 0, 5000);
    broker.hold_work();
    session.delete("q");
    let other = broker.session("b");
    other.delete_exchange("e");
    other.assert_failed(530, "in use as alternate");
    while broker.continue_once() {}
    assert_eq!(session.count("dead"), 5000);
    session.delete_exchange("e");
    session.assert_untroubled();
}

#[test]
fn headers_exchange_takes_no_key_of_a_queue_for_other_arguments() {
    let session = Broker::new().session("a");
    session.declare("q");
    let arguments = |n| {
        [
            ("x-match", Value::Str16("all".into())),
            ("n", Value::I32(n)),
        ]
    };
    session.bind("amq.match", "q", "k", &arguments(1));
    session.bind("amq.match", "q", "k", &arguments(1));
    session.assert_untroubled();
    session.bind("amq.match", "q", "k", &arguments(2));
    session.assert_failed(541, "Duplicate binding key not allowed");
}

#[test]
fn headers_exchange_without_a_way_to_match_is_refused() {
    let session = Broker::new().session("a");
    session.declare("q");
    session.bind("amq.match", "q", "k", &[("n", Value::I32(1))]);
    session.assert_failed(541, "x-match");
}

#[test]
fn headers_exchange_reads_application_headers() {
    let session = Broker::new().session("a");
    session.declare("q");
    let arguments = [
        ("x-match", Value::Str16("all".into())),
        ("n", Value::I32(1)),
    ];
    session.bind("amq.match", "q", "k", &arguments);
    let headers = |n| [("n", Value::I32(n))];
    session.publish_message(
        "amq.match",
        broker::message_with_headers("", "0", &headers(1)),
    );
    session.publish_message(
        "amq.match",
        broker::message_with_headers("", "1", &headers(2)),
    );
    session.publish_message("amq.match", broker::message("", "2"));
    assert_eq!(bodies(&session, "q"), ["0"]);
}

#[test]
fn binding_of_session_scope_that_was_unbound_does_not_end_its_successor() {
    let broker = Broker::new();
    let (session, other) = (broker.session("a"), broker.session("b"));
    session.declare("q");
    session.bind("amq.direct", "q", "k", &scoped());
    session.unbind("amq.direct", "q", "k");
    other.bind("amq.direct", "q", "k", &[]);
    session.detach();
    other.publish_message("amq.direct", broker::message("k", "0"));
    assert_eq!(other.count("q"), 1);
}

#[test]
fn bindings_of_session_scope_that_are_unbound_take_no_room() {
    let session = Broker::new().without_comparing().session("a");
    let broker = session.connection.broker.clone();
    let size = || broker.core(|core| core.freeze().encode().state.len());
    session.declare("q");
    let cycle = |n: usize| {
        let key = n.to_string();
        session.bind("amq.direct", "q", &key, &scoped());
        session.unbind("amq.direct", "q", &key);
        session.declare("temporary");
        session.bind("amq.direct", "temporary", "k", &scoped());
        session.delete("temporary");
    };
    let most = ferrymq::broker::limits::SCOPED_BINDINGS_PER_SESSION_MAX;
    let before = size();
    for n in 0..most + 2 {
        cycle(n);
    }
    session.assert_untroubled();
    assert!(size() < before + 100 * most);
}
