//! Publishing to xml exchanges, as the core sees it: it reads no XML, but sees to it that what a message
//! was found to match was found of the bindings that are there.

mod broker;

use broker::{Broker, MEMBER, Session, Told, ids, message};
use ferrymq::broker::command::{Matching, UnreadableBind};
use ferrymq::broker::effect::Again;
use ferrymq::broker::limits::MATCHINGS_MAX;
use ferrymq::broker::{Command, Request};
use ferrymq::wire::{self, CommandId, Value};

/// A session with queues bound to the xml exchange `x` by the key `k`.
fn with_queues(broker: &Broker, queues: &[&str]) -> Session {
    let session = broker.session("a");
    session.declare_exchange("x", "xml", None);
    for queue in queues {
        session.declare(queue);
        bind(&session, queue);
    }
    session
}

fn bind(session: &Session, queue: &str) {
    let query = [("xquery", Value::Str16(format!("./{queue}").into()))];
    session.bind("x", queue, "k", &query);
}

/// What the session was told to propose again; it was told nothing else.
fn given_back(session: &Session) -> Vec<Again> {
    let told = session.told().into_iter();
    told.map(|told| match told {
        Told::Again(again) => *again,
        other => panic!("not given back: {other:?}"),
    })
    .collect()
}

/// The same of one command, with the version of its bindings and their queries.
fn one_given_back(session: &Session) -> (Command, u64, Vec<String>) {
    let mut given_back = given_back(session);
    let again = given_back.pop().expect("one was given back");
    assert_eq!(given_back, []);
    let bindings = again.bindings.expect("it is to be matched");
    let queries = bindings.queries.iter().map(ToString::to_string).collect();
    (again.command, bindings.version, queries)
}

/// Proposes a command again, with what it was found to match.
fn propose(session: &Session, command: &Command, version: u64, places: &[u32]) {
    let Command::Session { at, id, .. } = command else {
        panic!("not of a session: {command:?}");
    };
    let matching = Matching {
        at: *at,
        id: *id,
        version,
        places: places.to_vec(),
    };
    let matching = Command::Matching(Box::new(matching));
    let broker = &session.connection.broker;
    broker.entry(MEMBER, vec![matching, command.clone()]);
}

fn propose_again(session: &Session, command: &Command) {
    let broker = &session.connection.broker;
    broker.entry(MEMBER, vec![command.clone()]);
}

fn publish(session: &Session, body: &str) -> u32 {
    session.publish_message("x", message("k", body))
}

#[test]
fn transfer_of_which_nothing_was_decided_is_given_back_with_the_bindings_of_its_key() {
    let broker = Broker::new();
    let session = with_queues(&broker, &["p", "q"]);
    let sent = publish(&session, "0");
    let (command, _, queries) = one_given_back(&session);
    assert_eq!(queries, ["./p", "./q"]);
    assert!(matches!(command, Command::Session { id, .. } if id == CommandId(sent)));
    assert_eq!(broker.core(|core| core.message_count()), 0);
}

#[test]
fn transfer_goes_to_the_queues_whose_queries_it_was_found_to_match() {
    let session = with_queues(&Broker::new(), &["p", "q", "r"]);
    publish(&session, "0");
    let (command, version, _) = one_given_back(&session);
    propose(&session, &command, version, &[0, 2]);
    let counts = ["p", "q", "r"].map(|queue| session.count(queue));
    assert_eq!(counts, [1, 0, 1]);
}

#[test]
fn transfer_matched_before_is_done_at_once_while_the_bindings_stay() {
    let session = with_queues(&Broker::new(), &["p"]);
    let sent = publish(&session, "0");
    let (command, version, _) = one_given_back(&session);
    propose(&session, &command, version, &[0]);
    let at = session.connection.at(session.channel);
    for number in [sent + 1, sent + 2] {
        let id = CommandId(number);
        let matching = Matching {
            at,
            id,
            version,
            places: vec![0],
        };
        let broker = &session.connection.broker;
        broker.entry(MEMBER, vec![Command::Matching(Box::new(matching))]);
        assert_eq!(publish(&session, "more"), number);
    }
    assert_eq!(session.count("p"), 3);
}

#[test]
fn bindings_that_change_behind_a_transfer_in_its_entry_have_changed_since() {
    let broker = Broker::new();
    let session = with_queues(&broker, &["p"]);
    let other = broker.session("b");
    other.declare("q");
    other.declare("r");
    broker.in_one_entry(|| {
        bind(&other, "q");
        publish(&session, "0");
        bind(&other, "r");
    });
    let (command, version, queries) = one_given_back(&session);
    assert_eq!(queries, ["./p", "./q"]);
    propose(&session, &command, version, &[0]);
    let (_, _, queries) = one_given_back(&session);
    assert_eq!(queries, ["./p", "./q", "./r"]);
}

#[test]
fn transfer_matched_with_bindings_that_have_changed_since_is_given_back_again() {
    let broker = Broker::new();
    let session = with_queues(&broker, &["p"]);
    publish(&session, "0");
    let (command, version, _) = one_given_back(&session);
    let other = broker.session("b");
    other.declare("q");
    bind(&other, "q");
    propose(&session, &command, version, &[0]);
    let (command, later, queries) = one_given_back(&session);
    assert!(later > version);
    assert_eq!(queries, ["./p", "./q"]);
    propose(&session, &command, later, &[1]);
    assert_eq!((session.count("p"), session.count("q")), (0, 1));
}

#[test]
fn bindings_of_other_keys_make_no_difference() {
    let session = with_queues(&Broker::new(), &["p"]);
    publish(&session, "0");
    let (command, version, _) = one_given_back(&session);
    propose(&session, &command, version, &[0]);
    let query = [("xquery", Value::Str16("1".into()))];
    session.bind("x", "p", "another", &query);
    publish(&session, "1");
    let (_, still, _) = one_given_back(&session);
    assert_eq!(still, version);
}

#[test]
fn commands_behind_one_that_was_given_back_are_given_back_and_done_in_their_order() {
    let session = with_queues(&Broker::new(), &["p"]);
    publish(&session, "0");
    session.publish("p", "1");
    publish(&session, "2");
    session.publish("p", "3");
    let all = given_back(&session);
    assert_eq!(all.len(), 4);
    let version = all[0].bindings.as_ref().expect("the first").version;
    assert!(all[1..].iter().all(|again| again.bindings.is_none()));
    propose(&session, &all[0].command, version, &[0]);
    propose_again(&session, &all[1].command);
    propose(&session, &all[2].command, version, &[0]);
    // What comes meanwhile waits, too.
    session.publish("p", "4");
    let [late] = &given_back(&session)[..] else {
        panic!("one came late");
    };
    propose_again(&session, &all[3].command);
    propose_again(&session, &late.command);
    session.subscribe("p", "d");
    session.flow("d", 9);
    assert_eq!(session.received(), ["0", "1", "2", "3", "4"]);
}

#[test]
fn detach_behind_a_command_that_was_given_back_waits_for_it() {
    let session = with_queues(&Broker::new(), &["p"]);
    publish(&session, "0");
    session.detach();
    let all = given_back(&session);
    assert!(matches!(all[1].command, Command::Detach { .. }));
    let version = all[0].bindings.as_ref().expect("the first").version;
    propose(&session, &all[0].command, version, &[0]);
    propose_again(&session, &all[1].command);
    assert!(matches!(session.told()[..], [Told::Detached(_)]));
    assert_eq!(session.connection.broker.session("b").count("p"), 1);
}

#[test]
fn key_without_bindings_needs_no_matching() {
    let session = with_queues(&Broker::new(), &[]);
    let sent = session.transfer("x", message("k", "0"), wire::AcceptMode::EXPLICIT);
    let unroutable = wire::RejectCode::UNROUTABLE;
    assert_eq!(session.told(), [Told::Rejected(ids([sent]), unroutable)]);
}

#[test]
fn session_fails_when_bindings_change_faster_than_a_message_is_matched() {
    let broker = Broker::new();
    let session = with_queues(&broker, &["p"]);
    let other = broker.session("b");
    other.declare("q");
    publish(&session, "0");
    for _ in 0..MATCHINGS_MAX {
        let (command, version, _) = one_given_back(&session);
        bind(&other, "q");
        other.unbind("x", "q", "k");
        propose(&session, &command, version, &[0]);
    }
    let (command, version, _) = one_given_back(&session);
    bind(&other, "q");
    propose(&session, &command, version, &[0]);
    session.assert_failed(506, "change faster");
}

#[test]
fn message_in_a_transaction_goes_where_it_matched_when_it_was_published() {
    let session = with_queues(&Broker::new(), &["p", "q"]);
    session.select();
    publish(&session, "0");
    let (command, version, _) = one_given_back(&session);
    propose(&session, &command, version, &[1]);
    session.unbind("x", "q", "k");
    assert_eq!(session.count("q"), 0);
    session.commit();
    assert_eq!((session.count("p"), session.count("q")), (0, 1));
}

#[test]
fn what_was_given_back_to_a_session_that_ends_is_forgotten() {
    let broker = Broker::new();
    let session = with_queues(&broker, &["p"]);
    publish(&session, "0");
    session.connection.end();
    let other = broker.session("a");
    other.publish("p", "1");
    assert_eq!(other.count("p"), 1);
}

#[test]
fn binding_without_a_query_is_an_internal_error() {
    let session = with_queues(&Broker::new(), &[]);
    session.declare("p");
    session.bind("x", "p", "k", &[]);
    session.assert_failed(541, "xquery");
}

fn unreadable(exchange: &str) -> Request {
    let arguments = [("xquery", Value::Str16("./a[".into()))];
    let bind = wire::ExchangeBind {
        exchange: exchange.into(),
        queue: "p".into(),
        binding_key: "k".into(),
        arguments: Some(arguments.into_iter().collect()),
    };
    let text = "no end".into();
    Request::BindUnreadable(Box::new(UnreadableBind { bind, text }))
}

#[test]
fn binding_with_an_unreadable_query_is_an_internal_error_of_an_xml_exchange() {
    let session = with_queues(&Broker::new(), &["p"]);
    session.send(unreadable("x"));
    session.assert_failed(541, "Could not parse xquery:./a[: no end");
}

#[test]
fn binding_with_an_unreadable_query_to_another_exchange_is_made() {
    let session = with_queues(&Broker::new(), &["p"]);
    session.send(unreadable("amq.direct"));
    session.publish_message("amq.direct", message("k", "0"));
    assert_eq!(session.count("p"), 1);
}

#[test]
fn queue_is_bound_once_with_a_key_whatever_the_queries() {
    let session = with_queues(&Broker::new(), &["p"]);
    session.bind("x", "p", "k", &[("xquery", Value::Str16("2".into()))]);
    publish(&session, "0");
    let (_, _, queries) = one_given_back(&session);
    assert_eq!(queries, ["./p"]);
}

#[test]
fn xml_exchange_is_no_alternate() {
    let broker = Broker::new();
    let session = with_queues(&broker, &[]);
    session.declare_exchange("y", "direct", Some("x"));
    session.assert_failed(540, "no alternate");
    let session = broker.session("b");
    session.declare_with("q", |declare| declare.alternate_exchange = Some("x".into()));
    session.assert_failed(540, "no alternate");
}

#[test]
fn xml_exchange_and_its_bindings_survive_a_restart() {
    let broker = Broker::new();
    let session = broker.session("a");
    session.declare_exchange_with("x", "xml", |declare| declare.durable = true);
    session.declare_with("p", |declare| declare.durable = true);
    bind(&session, "p");
    drop(session.told());
    let session = broker.restarted().session("a");
    publish(&session, "0");
    let (command, version, queries) = one_given_back(&session);
    assert_eq!(queries, ["./p"]);
    propose(&session, &command, version, &[0]);
    assert_eq!(session.count("p"), 1);
}
