//! What the core does for agents of management, and tells them.

mod broker;

use broker::agent::Agent;
use broker::session::Session;
use broker::told::Told;
use broker::{Broker, message, message_with_headers};
use ferrymq::broker::guard::{Aspect, Clause, Guard, Ruling};
use ferrymq::broker::ids::MemberId;
use ferrymq::broker::limits;
use ferrymq::broker::management::{
    Action, AgentCommand, Destination, Face, ForAgent, HeaderMatch, Owed, Take,
};
use ferrymq::wire::{
    ExchangeBind, ExchangeDeclare, ExchangeDelete, ExchangeUnbind, QueueDeclare, QueueDelete, Value,
};

fn queue(name: &str) -> Action {
    Action::CreateQueue(Box::new(QueueDeclare {
        queue: name.into(),
        ..QueueDeclare::default()
    }))
}

fn exchange(name: &str, kind: &str) -> Action {
    Action::CreateExchange(Box::new(ExchangeDeclare {
        exchange: name.into(),
        r#type: kind.into(),
        ..ExchangeDeclare::default()
    }))
}

fn bind(exchange: &str, queue: &str, key: &str) -> Action {
    Action::Bind(Box::new(ExchangeBind {
        queue: queue.into(),
        exchange: exchange.into(),
        binding_key: key.into(),
        ..ExchangeBind::default()
    }))
}

fn unbind(exchange: &str, queue: &str, key: &str) -> Action {
    Action::Unbind(Box::new(ExchangeUnbind {
        queue: queue.into(),
        exchange: exchange.into(),
        binding_key: key.into(),
    }))
}

fn take(queue: &str, count: u32, to: Destination) -> Action {
    Action::Take(Box::new(Take {
        queue: queue.into(),
        count,
        filter: None,
        to,
    }))
}

fn scene() -> (Broker, Agent, Session) {
    let broker = Broker::new();
    let agent = Agent::open(&broker);
    let session = broker.session("a");
    (broker, agent, session)
}

#[test]
fn agent_open_makes_the_exchanges_of_management() {
    let (_, _, session) = scene();
    let of = |name| session.query_exchange(name);
    assert_eq!(of("qmf.default.direct").r#type.as_deref(), Some("direct"));
    assert_eq!(of("qmf.default.topic").r#type.as_deref(), Some("topic"));
    assert_eq!(of("qpid.management").r#type.as_deref(), Some("topic"));
    assert!(!of("qpid.management").durable);
}

#[test]
fn an_exchange_of_management_is_not_deleted() {
    let (_, mut agent, session) = scene();
    let delete = Action::DeleteExchange(Box::new(ExchangeDelete {
        exchange: "qmf.default.topic".into(),
        if_unused: false,
    }));
    let refusal = agent.act(delete).expect_err("it stays");
    assert_eq!(refusal.code.0, 530);
    assert!(!session.query_exchange("qmf.default.topic").not_found);
}

#[test]
fn a_request_goes_to_the_agent_and_to_no_queue() {
    let (_, agent, session) = scene();
    session.declare("q");
    session.bind("qmf.default.direct", "q", "broker", &[]);
    agent.told();
    session.publish_message("qmf.default.direct", message("broker", "ask"));
    session.assert_untroubled();
    assert_eq!(agent.requests(), ["ask"]);
    assert_eq!(session.count("q"), 0);
}

#[test]
fn a_request_by_the_agents_name_goes_to_it() {
    let (_, agent, session) = scene();
    session.publish_message("qmf.default.direct", message("agent", "ask"));
    assert_eq!(agent.requests(), ["ask"]);
}

#[test]
fn what_is_for_others_goes_to_queues() {
    let (_, agent, session) = scene();
    session.declare("q");
    session.bind("qmf.default.direct", "q", "mine", &[]);
    agent.told();
    session.publish_message("qmf.default.direct", message("mine", "answer"));
    assert_eq!(agent.requests(), [""; 0]);
    assert_eq!(session.count("q"), 1);
}

#[test]
fn a_locate_request_goes_to_the_agent_and_to_other_agents_queues() {
    let (_, agent, session) = scene();
    session.declare("q");
    session.bind("qmf.default.topic", "q", "console.request.#", &[]);
    agent.told();
    let key = "console.request.agent_locate";
    session.publish_message("qmf.default.topic", message(key, "who"));
    assert_eq!(agent.requests(), ["who"]);
    assert_eq!(session.count("q"), 1);
}

#[test]
fn a_request_that_is_too_large_is_not_looked_at() {
    let (_, agent, session) = scene();
    let large = "x".repeat(limits::AGENT_REQUEST_SIZE_MAX as usize + 1);
    session.publish_message("qmf.default.direct", message("broker", &large));
    session.assert_untroubled();
    assert_eq!(agent.requests(), [""; 0]);
}

#[test]
fn more_requests_than_an_agent_may_owe_fail_the_session() {
    let (broker, agent, session) = scene();
    broker.in_one_entry(|| {
        for _ in 0..limits::AGENT_REQUESTS_PER_CONNECTION_MAX {
            session.publish_message("qmf.default.direct", message("broker", "ask"));
        }
    });
    session.assert_untroubled();
    let one = Owed {
        requests: 1,
        bytes: 0,
    };
    let took = [(session.connection.key.number, one)].into();
    agent.command(AgentCommand::Took(took));
    session.publish_message("qmf.default.direct", message("broker", "ask"));
    session.assert_untroubled();
    session.publish_message("qmf.default.direct", message("broker", "ask"));
    session.assert_failed(506, "more requests");
}

#[test]
fn requests_of_one_connection_take_no_room_from_anothers() {
    let (broker, _, session) = scene();
    let other = broker.session("b");
    broker.in_one_entry(|| {
        for _ in 0..=limits::AGENT_REQUESTS_PER_CONNECTION_MAX {
            session.publish_message("qmf.default.direct", message("broker", "ask"));
        }
    });
    session.assert_failed(506, "more requests");
    other.publish_message("qmf.default.direct", message("broker", "ask"));
    other.assert_untroubled();
}

#[test]
fn what_the_broker_publishes_comes_to_queues() {
    let (_, agent, session) = scene();
    session.declare("q");
    session.bind("amq.direct", "q", "reply", &[]);
    agent.publish(
        "amq.direct",
        message("reply", "answer").published("amq.direct"),
    );
    assert_eq!(session.count("q"), 1);
}

#[test]
fn what_the_broker_publishes_is_no_request() {
    let (_, agent, _) = scene();
    let published = message("broker", "ask").published("qmf.default.direct");
    agent.publish("qmf.default.direct", published);
    assert_eq!(agent.requests(), [""; 0]);
}

#[test]
fn what_the_broker_publishes_to_a_missing_exchange_is_gone() {
    let (broker, agent, _) = scene();
    let before = broker.core(|core| core.counters().discards_no_route);
    agent.publish("nowhere", message("reply", "answer").published("nowhere"));
    let after = broker.core(|core| core.counters().discards_no_route);
    assert_eq!(after, before + 1);
}

#[test]
fn a_command_of_no_agent_does_nothing() {
    let broker = Broker::new();
    let mut agent = Agent::open(&broker);
    agent.end();
    agent.begin(queue("q"));
    assert_eq!(agent.outcome(), None);
    assert!(!broker.session("a").has_queue("q"));
}

#[test]
fn a_created_queue_is_there() {
    let (_, mut agent, session) = scene();
    assert_eq!(agent.act(queue("q")), Ok(0));
    assert!(session.has_queue("q"));
}

#[test]
fn a_queue_that_exists_is_not_created() {
    let (_, mut agent, session) = scene();
    session.declare("q");
    let refusal = agent.act(queue("q")).expect_err("it exists");
    assert_eq!(refusal.text, "object already exists: q");
}

#[test]
fn an_exchange_that_exists_is_not_created() {
    let (_, mut agent, session) = scene();
    assert_eq!(agent.act(exchange("e", "topic")), Ok(0));
    let refusal = agent.act(exchange("e", "topic")).expect_err("it exists");
    assert_eq!(refusal.text, "object already exists: e");
    session.assert_untroubled();
}

#[test]
fn a_queue_is_deleted_whoever_has_it_for_itself() {
    let (_, mut agent, session) = scene();
    session.declare_with("q", |declare| declare.exclusive = true);
    let delete = Action::DeleteQueue(Box::new(QueueDelete {
        queue: "q".into(),
        ..QueueDelete::default()
    }));
    assert_eq!(agent.act(delete), Ok(0));
    assert!(!session.has_queue("q"));
}

#[test]
fn a_queue_with_messages_stays_when_deleted_if_empty() {
    let (_, mut agent, session) = scene();
    session.declare("q");
    session.publish("q", "one");
    let delete = Action::DeleteQueue(Box::new(QueueDelete {
        queue: "q".into(),
        if_empty: true,
        ..QueueDelete::default()
    }));
    assert_eq!(agent.act(delete).expect_err("it stays").code.0, 406);
    assert!(session.has_queue("q"));
}

#[test]
fn bindings_come_and_go() {
    let (_, mut agent, session) = scene();
    session.declare("q");
    assert_eq!(agent.act(bind("amq.direct", "q", "k")), Ok(0));
    session.publish_message("amq.direct", message("k", "one"));
    assert_eq!(agent.act(unbind("amq.direct", "q", "k")), Ok(1));
    session.publish_message("amq.direct", message("k", "two"));
    assert_eq!(session.count("q"), 1);
}

#[test]
fn a_queue_that_a_session_has_for_itself_is_neither_bound_nor_unbound() {
    let (_, mut agent, session) = scene();
    session.declare_with("q", |declare| declare.exclusive = true);
    session.bind("amq.direct", "q", "k", &[]);
    for action in [
        bind("amq.direct", "q", "other"),
        unbind("amq.direct", "q", "k"),
    ] {
        let refused = agent.act(action).expect_err("it is locked");
        assert_eq!(refused.code.0, 405, "{refused:?}");
    }
    session.publish_message("amq.direct", message("k", "one"));
    assert_eq!(session.count("q"), 1);
}

/// QPID-3107.
#[test]
fn messages_rerouted_to_an_alternate_that_routes_nothing_go_to_its_own_alternate() {
    let (_, mut agent, session) = scene();
    session.declare("dead");
    session.declare_exchange("second", "fanout", None);
    session.bind("second", "dead", "", &[]);
    session.declare_exchange("first", "fanout", Some("second"));
    session.declare_with("q", |declare| {
        declare.alternate_exchange = Some("first".into());
    });
    session.publish_many("q", 0, 3);
    assert_eq!(agent.act(take("q", 0, Destination::Alternate)), Ok(3));
    assert_eq!((session.count("q"), session.count("dead")), (0, 3));
}

#[test]
fn a_binding_that_is_not_there_is_not_missed() {
    let (_, mut agent, session) = scene();
    session.declare("q");
    assert_eq!(agent.act(unbind("amq.direct", "q", "k")), Ok(0));
    for (exchange, queue) in [("nowhere", "q"), ("amq.direct", "nobody")] {
        let refusal = agent.act(unbind(exchange, queue, "k"));
        assert_eq!(refusal.expect_err("no end of it").code.0, 404);
    }
}

#[test]
fn a_purge_takes_all_that_nobody_has() {
    let (_, mut agent, session) = scene();
    session.declare("q");
    for body in ["one", "two", "three"] {
        session.publish("q", body);
    }
    session.subscribe("q", "d");
    session.flow("d", 1);
    assert_eq!(agent.act(take("q", 0, Destination::Nowhere)), Ok(2));
    session.release(broker::ids([0]));
    session.told();
    assert_eq!(session.count("q"), 1);
}

#[test]
fn a_purge_of_some_takes_the_oldest() {
    let (_, mut agent, session) = scene();
    session.declare("q");
    for body in ["one", "two", "three"] {
        session.publish("q", body);
    }
    assert_eq!(agent.act(take("q", 2, Destination::Nowhere)), Ok(2));
    session.subscribe("q", "d");
    session.flow("d", 9);
    assert_eq!(session.received(), ["three"]);
}

#[test]
fn a_filter_takes_what_it_matches() {
    let (_, mut agent, session) = scene();
    session.declare("q");
    for colour in ["red", "blue", "red"] {
        let headers = [("colour", Value::Str16(colour.into()))];
        session.publish_message("", message_with_headers("q", colour, &headers));
    }
    let take = Action::Take(Box::new(Take {
        queue: "q".into(),
        count: 0,
        filter: Some(HeaderMatch {
            key: "colour".into(),
            value: "red".into(),
        }),
        to: Destination::Nowhere,
    }));
    assert_eq!(agent.act(take), Ok(2));
    session.subscribe("q", "d");
    session.flow("d", 9);
    assert_eq!(session.received(), ["blue"]);
}

#[test]
fn messages_are_moved_in_order() {
    let (_, mut agent, session) = scene();
    session.declare("from");
    session.declare("to");
    for body in ["one", "two", "three"] {
        session.publish("from", body);
    }
    assert_eq!(
        agent.act(take("from", 2, Destination::Queue("to".into()))),
        Ok(2)
    );
    session.subscribe("to", "d");
    session.flow("d", 9);
    assert_eq!(session.received(), ["one", "two"]);
    assert_eq!(session.count("from"), 1);
}

#[test]
fn a_move_to_a_queue_without_room_stops_and_loses_nothing() {
    let (_, mut agent, session) = scene();
    session.declare("from");
    session.declare_limited("to", &[("qpid.max_count", Value::U32(2))]);
    for body in ["one", "two", "three"] {
        session.publish("from", body);
    }
    let all = take("from", 0, Destination::Queue("to".into()));
    let refusal = agent.act(all).expect_err("no room for the third");
    assert_eq!(refusal.code.0, 506);
    assert!(
        refusal.text.contains("2 messages were moved"),
        "{refusal:?}"
    );
    assert_eq!((session.count("from"), session.count("to")), (1, 2));
}

#[test]
fn a_move_of_a_queue_to_itself_is_refused() {
    let (_, mut agent, session) = scene();
    session.declare("q");
    let refusal = agent.act(take("q", 0, Destination::Queue("q".into())));
    assert_eq!(refusal.expect_err("nonsense").code.0, 542);
}

#[test]
fn a_long_move_goes_on_in_later_entries() {
    let (broker, mut agent, session) = scene();
    session.declare("from");
    session.declare("to");
    let many = 3 * limits::WORK_PER_ENTRY_MAX;
    session.publish_many("from", 0, many);
    broker.hold_work();
    agent.begin(take("from", 0, Destination::Queue("to".into())));
    assert_eq!(agent.outcome(), None, "it is not done in one entry");
    broker.work();
    assert_eq!(agent.outcome(), Some(Ok(u64::from(many))));
    assert_eq!((session.count("from"), session.count("to")), (0, many));
}

#[test]
fn what_comes_while_messages_are_moved_stays() {
    let (broker, mut agent, session) = scene();
    session.declare("from");
    session.declare("to");
    let many = 2 * limits::WORK_PER_ENTRY_MAX;
    session.publish_many("from", 0, many);
    broker.hold_work();
    agent.begin(take("from", 0, Destination::Queue("to".into())));
    session.publish("from", "later");
    broker.work();
    assert_eq!(agent.outcome(), Some(Ok(u64::from(many))));
    assert_eq!(session.count("from"), 1);
}

#[test]
fn a_queue_that_goes_ends_what_takes_of_it() {
    let (broker, mut agent, session) = scene();
    session.declare("from");
    session.declare("to");
    session.publish_many("from", 0, 2 * limits::WORK_PER_ENTRY_MAX);
    broker.hold_work();
    agent.begin(take("from", 0, Destination::Queue("to".into())));
    session.delete("from");
    broker.work();
    let taken = agent.outcome().expect("it ends").expect("no fault");
    assert_eq!(u64::from(session.count("to")), taken);
}

#[test]
fn a_queue_is_rerouted_to_its_alternate_only_where_that_is_allowed() {
    let (_, mut agent, session) = scene();
    session.declare_exchange("vault", "fanout", None);
    session.declare_with("q", |declare| {
        declare.alternate_exchange = Some("vault".into());
    });
    session.declare("without");
    session.publish_many("q", 0, 2);
    let only = |exchange: &str| {
        let clause = Clause {
            wanted: vec![(Aspect::Alternate, exchange.into())],
            ruling: Ruling::Allow,
        };
        Destination::AlternateIf(Guard {
            clauses: vec![clause],
            otherwise: Ruling::Deny,
        })
    };
    let mut code = |queue: &str, exchange: &str| {
        let done = agent.act(take(queue, 0, only(exchange)));
        done.map_err(|refusal| refusal.code.0)
    };
    assert_eq!(code("q", "amq.fanout"), Err(403));
    assert_eq!(session.count("q"), 2);
    assert_eq!(code("without", "vault"), Err(403));
    assert_eq!(code("without", ""), Err(406));
    assert_eq!(code("q", "v*"), Ok(2));
    assert_eq!(session.count("q"), 0);
}

#[test]
fn a_queue_without_alternate_exchange_is_not_rerouted_to_it() {
    let (_, mut agent, session) = scene();
    session.declare("q");
    let refusal = agent
        .act(take("q", 0, Destination::Alternate))
        .expect_err("none");
    assert_eq!(refusal.code.0, 406);
}

#[test]
fn messages_are_rerouted_to_an_exchange() {
    let (_, mut agent, session) = scene();
    session.declare("q");
    session.declare("other");
    session.bind("amq.fanout", "other", "", &[]);
    session.publish("q", "one");
    let to = Destination::Exchange("amq.fanout".into());
    assert_eq!(agent.act(take("q", 0, to)), Ok(1));
    assert_eq!((session.count("q"), session.count("other")), (0, 1));
}

#[test]
fn a_message_that_is_rerouted_to_a_queue_without_room_stays_and_is_told_of() {
    let (_, mut agent, session) = scene();
    session.declare("q");
    session.declare("other");
    session.declare_limited("full", &[("qpid.max_count", Value::U32(2))]);
    for queue in ["other", "full"] {
        session.bind("amq.fanout", queue, "", &[]);
    }
    for body in ["one", "two", "three", "four"] {
        session.publish("q", body);
    }
    let to = Destination::Exchange("amq.fanout".into());
    let refusal = agent.act(take("q", 0, to)).expect_err("no room");
    assert_eq!(refusal.code.0, 506);
    assert!(
        refusal.text.contains("2 messages were moved"),
        "{refusal:?}"
    );
    assert_eq!((session.count("q"), session.count("full")), (2, 2));
    assert_eq!(session.count("other"), 2, "it has none of what stays");
}

#[test]
fn a_full_queue_whose_messages_come_back_to_it_has_room_for_them() {
    let (_, mut agent, session) = scene();
    session.declare_limited("q", &[("qpid.max_count", Value::U32(2))]);
    session.bind("amq.fanout", "q", "", &[]);
    for body in ["one", "two"] {
        session.publish("q", body);
    }
    let to = Destination::Exchange("amq.fanout".into());
    assert_eq!(agent.act(take("q", 0, to)), Ok(2));
    assert_eq!(session.count("q"), 2);
}

#[test]
fn an_exchange_that_messages_are_on_their_way_to_is_not_deleted() {
    let (broker, mut agent, session) = scene();
    session.declare_exchange("e", "fanout", None);
    session.declare("q");
    session.publish_many("q", 0, 2 * limits::WORK_PER_ENTRY_MAX);
    broker.hold_work();
    agent.begin(take("q", 0, Destination::Exchange("e".into())));
    session.delete_exchange("e");
    session.assert_failed(530, "in use as alternate-exchange");
}

#[test]
fn durable_messages_that_were_moved_are_where_they_went_after_a_restart() {
    let (broker, mut agent, session) = scene();
    session.declare_with("from", |declare| declare.durable = true);
    session.declare_with("to", |declare| declare.durable = true);
    session.publish_message(
        "",
        broker::message_with("from", "one", |properties| {
            properties.delivery_mode = Some(ferrymq::wire::DeliveryMode::PERSISTENT);
        }),
    );
    assert_eq!(
        agent.act(take("from", 0, Destination::Queue("to".into()))),
        Ok(1)
    );
    let again = broker.restarted().session("a");
    assert_eq!((again.count("from"), again.count("to")), (0, 1));
}

#[test]
fn a_connection_is_closed_for_management() {
    let (broker, mut agent, session) = scene();
    let key = session.connection.key;
    assert_eq!(agent.act(Action::CloseConnection(key)), Ok(0));
    let told = broker.take_told(key, 0);
    assert!(
        told.iter().any(|told| matches!(told, Told::Close(_))),
        "{told:?}"
    );
}

#[test]
fn a_connection_that_is_gone_is_not_closed() {
    let (_, mut agent, session) = scene();
    session.connection.end();
    let refusal = agent.act(Action::CloseConnection(session.connection.key));
    assert_eq!(refusal.expect_err("gone").code.0, 404);
}

#[test]
fn a_session_is_ended_for_management() {
    let (_, mut agent, session) = scene();
    session.declare_with("q", |declare| {
        declare.exclusive = true;
        declare.auto_delete = true;
    });
    let end = Action::EndSession {
        user: "guest".into(),
        name: b"a".to_vec(),
    };
    assert_eq!(agent.act(end), Ok(0));
    let told = session.told();
    assert!(
        told.iter().any(|told| matches!(told, Told::Detached(_))),
        "{told:?}"
    );
}

#[test]
fn all_agents_have_the_name_of_the_first() {
    let (broker, _, _) = scene();
    let _second = Agent::of_member(&broker, MemberId(2), "other");
    assert_eq!(broker.core(|core| core.agent_name().clone()), "agent");
}

#[test]
fn what_deleted_queues_counted_stays_in_the_sums() {
    let (broker, _, session) = scene();
    session.declare("q");
    session.publish("q", "one");
    session.delete("q");
    let sums = broker.core(|core| core.counters().deleted_queues);
    assert_eq!((sums.enqueues, sums.dequeues), (1, 1));
}

#[test]
fn nobody_hears_of_what_no_binding_of_managements_exchanges_may_match() {
    let (broker, _, session) = scene();
    session.declare("q");
    let heard = |key: &str| broker.core(|core| core.may_be_heard(Face::Topic, key));
    let queue = "agent.ind.data.org_apache_qpid_broker.queue.apache_org.qpidd.7";
    let exchange = "agent.ind.data.org_apache_qpid_broker.exchange.apache_org.qpidd.7";
    assert!(!heard(queue));
    session.bind("qmf.default.topic", "q", "agent.ind.event.#", &[]);
    session.bind("qmf.default.topic", "q", "agent.ind.data.*.queue", &[]);
    assert!(!heard(queue), "the binding is shorter than the key");
    session.bind("qmf.default.topic", "q", "agent.ind.data.*.queue.#", &[]);
    assert!(heard(queue));
    assert!(!heard(exchange));
    session.bind("qmf.default.topic", "q", "#", &[]);
    assert!(heard(exchange));
    assert!(!broker.core(|core| core.may_be_heard(Face::Version1, "console.obj.1.0")));
}

/// How many members are to end, as an agent was told.
fn told_to_stop(agent: &Agent) -> Vec<usize> {
    let stop = |told| match told {
        ForAgent::Stop { agents } => Some(agents),
        _ => None,
    };
    agent.told().into_iter().filter_map(stop).collect()
}

#[test]
fn any_agent_has_all_members_end_or_another_one() {
    let (broker, mut agent, _) = scene();
    let other = Agent::of_member(&broker, MemberId(9), "agent");
    agent.begin(Action::Stop(None));
    assert_eq!(
        (told_to_stop(&agent), told_to_stop(&other)),
        (vec![2], vec![2])
    );
    agent.begin(Action::Stop(Some(MemberId(9))));
    assert_eq!(
        (told_to_stop(&agent), told_to_stop(&other)),
        (vec![], vec![1])
    );
}

#[test]
fn all_agents_hear_of_a_member_that_is_about_to_end() {
    let (broker, agent, _) = scene();
    let other = Agent::of_member(&broker, MemberId(9), "agent");
    other.command(AgentCommand::Stopping);
    for one in [&agent, &other] {
        let told = one.told();
        assert!(matches!(told[..], [ForAgent::Stopping]), "{told:?}");
    }
}

#[test]
fn member_without_an_agent_is_not_told_to_end() {
    let (_, mut agent, _) = scene();
    let refusal = agent.act(Action::Stop(Some(MemberId(9))));
    assert_eq!(refusal.expect_err("it is not there").code.0, 404);
}
