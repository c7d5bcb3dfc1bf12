//! Definitions are imported all together, or nothing is changed.

mod broker;

use broker::Broker;
use broker::agent::Agent;
use broker::session::Session;
use ferrymq::broker::exchange::limits::QUERIES_PER_KEY_MAX;
use ferrymq::broker::limits;
use ferrymq::broker::management::{Action, Import};
use ferrymq::wire::{
    ExchangeBind, ExchangeDeclare, ExchangeDelete, ExchangeUnbind, Map, QueueDeclare, QueueDelete,
    Value,
};

fn queue(name: &str) -> QueueDeclare {
    QueueDeclare {
        queue: name.into(),
        durable: true,
        ..QueueDeclare::default()
    }
}

fn exchange(name: &str, kind: &str, alternate: &str) -> ExchangeDeclare {
    ExchangeDeclare {
        exchange: name.into(),
        r#type: kind.into(),
        durable: true,
        alternate_exchange: (!alternate.is_empty()).then(|| alternate.into()),
        ..ExchangeDeclare::default()
    }
}

fn bind(exchange: &str, queue: &str, key: &str) -> ExchangeBind {
    ExchangeBind {
        queue: queue.into(),
        exchange: exchange.into(),
        binding_key: key.into(),
        ..ExchangeBind::default()
    }
}

fn unbind(exchange: &str, queue: &str, key: &str) -> ExchangeUnbind {
    ExchangeUnbind {
        queue: queue.into(),
        exchange: exchange.into(),
        binding_key: key.into(),
    }
}

fn no_queue(name: &str) -> QueueDelete {
    QueueDelete {
        queue: name.into(),
        ..QueueDelete::default()
    }
}

fn no_exchange(name: &str) -> ExchangeDelete {
    ExchangeDelete {
        exchange: name.into(),
        ..ExchangeDelete::default()
    }
}

fn query(exchange: &str, queue: &str, query: &str) -> ExchangeBind {
    ExchangeBind {
        arguments: Some([("xquery", query)].into_iter().collect()),
        ..bind(exchange, queue, "k")
    }
}

/// Something of everything: an import that can be done.
fn whole() -> Import {
    Import {
        exchanges: vec![
            exchange("dead", "fanout", ""),
            exchange("e", "topic", "dead"),
        ],
        queues: vec![queue("q"), queue("r")],
        bindings: vec![
            bind("e", "q", "a.#"),
            bind("dead", "r", ""),
            bind("amq.direct", "q", "k"),
        ],
        ..Import::default()
    }
}

fn scene() -> (Broker, Agent, Session) {
    let broker = Broker::new();
    let agent = Agent::open(&broker);
    let session = broker.session("a");
    (broker, agent, session)
}

fn act(agent: &mut Agent, import: Import) -> Result<u64, String> {
    let outcome = agent.act(Action::Import(Box::new(import)));
    outcome.map_err(|refusal| refusal.text)
}

/// Queues, exchanges, and bindings of each.
fn named(broker: &Broker) -> Vec<String> {
    broker.core(|core| {
        let queues = core.queues_behind(None);
        let queues = queues.map(|queue| format!("queue {} {}", queue.name, queue.binding_count));
        let exchanges = core.exchanges_behind(None);
        let exchanges = exchanges
            .map(|found| format!("exchange {} {}", found.name, found.kind.binding_count()));
        queues.chain(exchanges).collect()
    })
}

#[test]
fn an_import_makes_exchanges_queues_and_bindings_in_one_entry() {
    let (broker, mut agent, session) = scene();
    assert_eq!(act(&mut agent, whole()), Ok(7));
    let names = named(&broker);
    for wanted in ["queue q 2", "queue r 1", "exchange e 1", "exchange dead 1"] {
        assert!(
            names.iter().any(|name| name == wanted),
            "{wanted}: {names:?}"
        );
    }
    assert_eq!(session.query_exchange("e").r#type.as_deref(), Some("topic"));
}

#[test]
fn a_check_of_an_import_tells_what_it_would_come_to_and_changes_nothing() {
    let (broker, mut agent, _session) = scene();
    let before = named(&broker);
    let mut check = |import| {
        let outcome = agent.act(Action::CheckImport(Box::new(import)));
        outcome.map_err(|refusal| refusal.text)
    };
    assert_eq!(check(whole()), Ok(7));
    let mut spoilt = whole();
    spoilt.exchanges[0].r#type = "round".into();
    let why = check(spoilt.clone()).expect_err("there is no such type");
    assert_eq!(named(&broker), before);
    assert_eq!(act(&mut agent, spoilt), Err(why));
}

#[test]
fn all_that_is_wrong_with_an_import_is_named() {
    let (broker, mut agent, session) = scene();
    session.declare("there");
    let before = named(&broker);
    let mut spoilt = whole();
    spoilt.exchanges.push(exchange("x", "round", "nowhere"));
    spoilt.exchanges.push(exchange("e", "topic", "dead"));
    spoilt.queues.push(queue("there"));
    spoilt.bindings.push(bind("amq.match", "q", "unmatched"));
    spoilt.bindings.push(bind("e", "lost", "k"));
    spoilt.unbindings.push(unbind("amq.topic", "there", "k"));
    spoilt.deleted_queues.push(no_queue("missing"));
    spoilt.deleted_exchanges.push(no_exchange("amq.match"));
    let why = act(&mut agent, spoilt).expect_err("much is wrong");
    for part in [
        "not implemented: round",
        "nowhere",
        "the exchange e stands twice",
        "the queue there is there already",
        "lost",
        "binding amq.match to q with the key unmatched: ",
        "no binding of there to amq.topic",
        "missing",
        "amq.match: ",
    ] {
        assert!(why.contains(part), "{part}: {why}");
    }
    assert_eq!(named(&broker), before);
}

#[test]
fn what_is_wrong_with_an_import_beyond_a_bound_is_counted() {
    let (_broker, mut agent, _session) = scene();
    let import = Import {
        deleted_queues: (0..5000).map(|n| no_queue(&format!("q{n}"))).collect(),
        ..Import::default()
    };
    let why = act(&mut agent, import).expect_err("none of them is there");
    assert!(why.len() < limits::IMPORT_COMPLAINTS_BYTES_MAX + 100);
    let named = why.matches("not found").count();
    let more = format!("and {} more", 5000 - named);
    assert!(named > 100 && why.ends_with(&more), "{named}: {why}");
}

/// An import, after something in it was made impossible, is refused and has changed nothing.
fn is_refused(spoil: impl FnOnce(&mut Import), why: &str) {
    let (broker, mut agent, session) = scene();
    session.declare("there");
    session.declare_exchange("old", "direct", None);
    session.bind("old", "there", "k", &[]);
    let before = named(&broker);
    let mut import = whole();
    spoil(&mut import);
    let refused = act(&mut agent, import).expect_err(why);
    assert!(refused.contains(why), "{refused}");
    assert_eq!(named(&broker), before, "{why}");
}

#[test]
fn a_queue_that_is_there_refuses_all_of_an_import() {
    is_refused(|import| import.queues.push(queue("there")), "there already");
}

#[test]
fn an_exchange_that_is_there_refuses_all_of_an_import() {
    let one = exchange("old", "direct", "");
    is_refused(|import| import.exchanges.push(one), "there already");
}

#[test]
fn a_binding_that_is_there_refuses_all_of_an_import() {
    let one = bind("old", "there", "k");
    is_refused(|import| import.bindings.push(one), "there already");
}

#[test]
fn a_definition_that_stands_twice_refuses_all_of_an_import() {
    is_refused(|import| import.queues.push(queue("q")), "twice");
    let one = bind("e", "q", "a.#");
    is_refused(|import| import.bindings.push(one), "twice");
}

#[test]
fn an_exchange_of_unknown_type_refuses_all_of_an_import() {
    let one = exchange("x", "moon", "");
    is_refused(|import| import.exchanges.push(one), "not implemented");
}

#[test]
fn an_alternate_exchange_that_is_not_there_refuses_all_of_an_import() {
    let one = exchange("x", "direct", "nowhere");
    is_refused(|import| import.exchanges.push(one), "nowhere");
    let one = QueueDeclare {
        alternate_exchange: Some("nowhere".into()),
        ..queue("x")
    };
    is_refused(|import| import.queues.push(one), "nowhere");
}

#[test]
fn alternates_that_go_round_in_a_circle_refuse_all_of_an_import() {
    let circle = [exchange("x", "direct", "y"), exchange("y", "direct", "x")];
    is_refused(|import| import.exchanges.extend(circle), "not found: y");
}

#[test]
fn a_queue_argument_that_is_wrong_refuses_all_of_an_import() {
    let mut arguments = Map::new();
    arguments.insert("qpid.max_count", Value::Str16("moon".into()));
    let one = QueueDeclare {
        arguments: Some(arguments),
        ..queue("x")
    };
    is_refused(|import| import.queues.push(one), "x: ");
}

#[test]
fn a_binding_of_what_is_not_there_refuses_all_of_an_import() {
    let one = bind("e", "nowhere", "k");
    is_refused(|import| import.bindings.push(one), "nowhere");
    let one = bind("nowhere", "q", "k");
    is_refused(|import| import.bindings.push(one), "nowhere");
    let one = bind("", "q", "q");
    is_refused(|import| import.bindings.push(one), "default exchange");
}

#[test]
fn a_binding_that_the_exchange_does_not_take_refuses_all_of_an_import() {
    // A headers exchange wants to be told how to match.
    let one = bind("amq.match", "q", "k");
    is_refused(|import| import.bindings.push(one), "x-match");
}

#[test]
fn an_xml_exchange_as_alternate_refuses_all_of_an_import() {
    let spoil = |import: &mut Import| {
        import.exchanges.push(exchange("x", "xml", ""));
        import.exchanges.push(exchange("of-x", "fanout", "x"));
    };
    is_refused(spoil, "no alternate");
    let (_, mut agent, session) = scene();
    session.declare_exchange("x", "xml", None);
    let import = Import {
        exchanges: vec![exchange("e", "topic", ""), exchange("of-x", "fanout", "x")],
        ..Import::default()
    };
    let refused = act(&mut agent, import).expect_err("no alternate");
    assert!(refused.contains("no alternate"), "{refused}");
    assert!(session.query_exchange("e").not_found);
}

#[test]
fn an_xml_exchange_that_keeps_its_last_message_refuses_all_of_an_import() {
    let mut one = exchange("x", "xml", "");
    one.arguments = Some([("qpid.ive", Value::U32(1))].into_iter().collect());
    is_refused(|import| import.exchanges.push(one), "qpid.ive");
}

#[test]
fn more_queries_of_a_key_than_it_can_have_refuse_all_of_an_import() {
    let spoil = |import: &mut Import| {
        import.exchanges.push(exchange("x", "xml", ""));
        for number in 0..=QUERIES_PER_KEY_MAX {
            let name = format!("x{number}");
            import.queues.push(queue(&name));
            import.bindings.push(query("x", &name, "true()"));
        }
    };
    is_refused(spoil, "no more bindings");
}

#[test]
fn a_query_that_cannot_be_read_refuses_all_of_an_import_to_an_xml_exchange() {
    let unreadable = |import: &mut Import| {
        let at = import.bindings.len() as u32 - 1;
        import.unreadable.insert(at, "what it is".into());
    };
    let spoil = |import: &mut Import| {
        import.exchanges.push(exchange("x", "xml", ""));
        import.bindings.push(query("x", "q", "]["));
        unreadable(import);
    };
    is_refused(spoil, "Could not parse xquery:][: what it is");
    let (_, mut agent, _) = scene();
    let mut import = whole();
    import.bindings.push(query("e", "r", "]["));
    unreadable(&mut import);
    assert_eq!(
        act(&mut agent, import),
        Ok(8),
        "it says nothing to a topic exchange"
    );
}

#[test]
fn a_binding_of_what_is_deleted_refuses_all_of_an_import() {
    let one = bind("old", "q", "k");
    is_refused(
        |import| {
            import.bindings.push(one);
            import.deleted_exchanges.push(no_exchange("old"));
        },
        "deleted",
    );
}

#[test]
fn a_deletion_of_what_is_not_there_refuses_all_of_an_import() {
    let one = no_queue("nowhere");
    is_refused(|import| import.deleted_queues.push(one), "nowhere");
    let one = no_exchange("nowhere");
    is_refused(|import| import.deleted_exchanges.push(one), "nowhere");
    let one = unbind("old", "there", "other");
    is_refused(|import| import.unbindings.push(one), "no binding");
}

#[test]
fn a_deletion_of_a_standard_exchange_refuses_all_of_an_import() {
    for name in ["amq.topic", "qmf.default.topic"] {
        let one = no_exchange(name);
        is_refused(|import| import.deleted_exchanges.push(one), "standard");
    }
}

#[test]
fn more_definitions_than_an_import_has_are_refused() {
    let many = (0..=limits::IMPORTED_DEFINITIONS_MAX).map(|number| queue(&format!("q{number}")));
    is_refused(|import| import.queues.extend(many), "at most");
}

#[test]
fn an_import_deletes_an_exchange_with_those_that_have_it_for_alternate() {
    let (broker, mut agent, _) = scene();
    let empty = named(&broker);
    act(&mut agent, whole()).expect("it can be done");
    let gone = Import {
        unbindings: vec![unbind("amq.direct", "q", "k")],
        deleted_queues: vec![no_queue("q"), no_queue("r")],
        deleted_exchanges: vec![no_exchange("dead"), no_exchange("e")],
        ..Import::default()
    };
    assert_eq!(act(&mut agent, gone), Ok(5));
    assert_eq!(named(&broker), empty);
}

#[test]
fn an_exchange_that_others_have_for_alternate_is_not_deleted() {
    let (broker, mut agent, _) = scene();
    act(&mut agent, whole()).expect("it can be done");
    let before = named(&broker);
    let gone = Import {
        deleted_exchanges: vec![no_exchange("dead")],
        ..Import::default()
    };
    let refused = act(&mut agent, gone).expect_err("it is in use");
    assert!(refused.contains("alternate"), "{refused}");
    assert_eq!(named(&broker), before);
}

#[test]
fn what_goes_with_its_last_binding_stays_for_the_new_ones_of_an_import() {
    let (broker, mut agent, session) = scene();
    let mut made = exchange("auto", "direct", "");
    made.auto_delete = true;
    session.declare("q");
    let import = Import {
        exchanges: vec![made],
        bindings: vec![bind("auto", "q", "old")],
        ..Import::default()
    };
    act(&mut agent, import).expect("it can be done");
    let import = Import {
        bindings: vec![bind("auto", "q", "new")],
        unbindings: vec![unbind("auto", "q", "old")],
        ..Import::default()
    };
    act(&mut agent, import).expect("it can be done");
    assert!(named(&broker).iter().any(|name| name == "exchange auto 1"));
}
