//! What has happened is told in the entry in which it has, to all that listen.

mod broker;

use broker::agent::Agent;
use broker::session::Session;
use broker::{Broker, MEMBER};
use ferrymq::broker::command::ConnectionDetails;
use ferrymq::broker::event::Event;
use ferrymq::broker::ids::MemberId;
use ferrymq::broker::management::{Action, AgentCommand, Requester, Versions, WallTime};
use ferrymq::broker::{Command, limits};
use ferrymq::wire::{QueueDeclare, Value};

/// The keys of events of a class, whoever tells them.
fn key(class: &str) -> String {
    format!("agent.ind.event.org_apache_qpid_broker.{class}.#")
}

fn scene() -> (Broker, Agent, Session) {
    let broker = Broker::new();
    let agent = Agent::open(&broker);
    let session = broker.session("a");
    (broker, agent, session)
}

/// A session that reads events of a class as they come.
fn listening(broker: &Broker, class: &str) -> Session {
    let listener = broker.session("listener");
    listener.declare("events");
    listener.bind("qmf.default.topic", "events", &key(class), &[]);
    listener.subscribe("events", "d");
    listener.flow("d", u32::MAX);
    listener.told();
    listener
}

/// Binds a queue and takes it away again, so often.
fn bind_and_unbind(session: &Session, times: usize) {
    for _ in 0..times {
        session.bind("amq.direct", "q", "k", &[]);
        session.unbind("amq.direct", "q", "k");
    }
}

#[test]
fn events_tell_who_did_what() {
    let (_, mut agent, _) = scene();
    agent.begin(Action::CreateQueue(Box::new(QueueDeclare {
        queue: "q".into(),
        ..QueueDeclare::default()
    })));
    assert_eq!(
        agent.events(),
        [Event::QueueDeclare {
            requester: Requester {
                user: "boss".into(),
                address: "there".into(),
            },
            queue: "q".into(),
            is_durable: false,
            is_exclusive: false,
            is_auto_delete: false,
            alternate: "".into(),
            arguments: Default::default(),
        }]
    );
}

#[test]
fn a_binding_that_exists_is_no_event() {
    let (_, agent, session) = scene();
    session.declare("q");
    session.bind("amq.direct", "q", "k", &[]);
    assert_eq!(agent.events().len(), 2);
    session.bind("amq.direct", "q", "k", &[]);
    assert_eq!(agent.events(), []);
}

#[test]
fn subscribing_and_cancelling_are_events() {
    let (_, agent, session) = scene();
    session.declare("q");
    agent.told();
    session.subscribe("q", "d");
    session.cancel("d");
    let events = agent.events();
    assert!(
        matches!(&events[0], Event::Subscribe { queue, .. } if queue == "q"),
        "{events:?}"
    );
    assert!(matches!(&events[1], Event::Unsubscribe { destination, .. } if destination == "d"));
}

#[test]
fn connections_that_are_shown_are_told_of() {
    let (broker, agent, _) = scene();
    let connection = broker.connection();
    agent.told();
    let details = ConnectionDetails {
        local: "here".into(),
        ..ConnectionDetails::default()
    };
    let command = Command::ConnectionDetails {
        connection: connection.key.number,
        details: Box::new(details),
    };
    broker.entry(MEMBER, vec![command]);
    connection.end();
    let events = agent.events();
    let who = Requester {
        user: "guest".into(),
        address: "qpid.here-peer".into(),
    };
    assert!(matches!(&events[0], Event::ClientConnect { requester, .. } if *requester == who));
    assert!(matches!(&events[1], Event::ClientDisconnect { requester, .. } if *requester == who));
}

#[test]
fn a_line_that_is_crossed_is_told_once_each_way() {
    let (_, agent, session) = scene();
    session.declare_limited("q", &[("qpid.alert_count", Value::U32(2))]);
    agent.told();
    for body in ["one", "two", "three"] {
        session.publish("q", body);
    }
    session.purge("q");
    let events = agent.events();
    let up = |event: &Event| matches!(event, Event::ThresholdUp { depth: 2, .. });
    let down = |event: &Event| matches!(event, Event::ThresholdDown { depth: 0, .. });
    assert!(
        up(&events[0]) && down(&events[1]) && events.len() == 2,
        "{events:?}"
    );
}

#[test]
fn a_member_that_is_down_has_no_agent() {
    let (broker, agent, _) = scene();
    let second = Agent::of_member(&broker, MemberId(2), "other");
    broker.sequencer(Command::MemberDown {
        member: MEMBER,
        epoch: 1,
    });
    let connection = broker.connection_with(MemberId(3), u32::MAX, u64::MAX);
    connection.session("b").declare("q");
    assert_eq!(agent.events(), []);
    assert_eq!(second.events().len(), 1);
}

#[test]
fn a_message_that_is_taken_as_soon_as_it_comes_crosses_a_line() {
    let (_, agent, session) = scene();
    session.declare_limited("q", &[("qpid.alert_count", Value::U32(1))]);
    session.subscribe_with("q", "d", |subscribe| {
        subscribe.accept_mode = ferrymq::wire::AcceptMode::NONE;
    });
    session.flow("d", 1);
    agent.told();
    session.publish("q", "one");
    let events = agent.events();
    assert!(
        matches!(
            events[..],
            [
                Event::ThresholdUp { depth: 1, .. },
                Event::ThresholdDown { depth: 0, .. }
            ]
        ),
        "{events:?}"
    );
}

#[test]
fn who_sees_a_command_done_finds_its_event_in_his_queue() {
    let (broker, _, session) = scene();
    let listener = listening(&broker, "queueDeclare");
    broker.hold_work();
    session.declare("q");
    let told = listener.received();
    assert!(
        told.len() == 1 && told[0].contains("queueDeclare"),
        "{told:?}"
    );
}

#[test]
fn agents_of_all_members_hear_of_an_event() {
    let (broker, agent, _) = scene();
    let second = Agent::of_member(&broker, MemberId(2), "other");
    let connection = broker.connection_with(MemberId(2), u32::MAX, u64::MAX);
    connection.session("b").declare("q");
    assert_eq!(agent.events().len(), 1);
    assert_eq!(second.events().len(), 1);
}

#[test]
fn an_event_is_told_once_however_many_agents_there_are() {
    let (broker, _, session) = scene();
    let _second = Agent::of_member(&broker, MemberId(2), "other");
    let listener = listening(&broker, "queueDeclare");
    session.declare("q");
    assert_eq!(listener.received().len(), 1);
}

#[test]
fn events_that_are_too_many_for_an_entry_come_in_those_that_follow() {
    let (broker, _, session) = scene();
    let listener = listening(&broker, "bind");
    session.declare("q");
    broker.hold_work();
    let many = limits::EVENTS_PER_ENTRY_MAX;
    broker.in_one_entry(|| bind_and_unbind(&session, many));
    let at_once = listener.received().len();
    assert!(at_once < many, "{at_once}");
    broker.work();
    assert_eq!(at_once + listener.received().len(), many);
}

#[test]
fn what_nobody_listens_for_is_not_kept() {
    let (broker, _, session) = scene();
    session.declare("q");
    broker.hold_work();
    broker.in_one_entry(|| bind_and_unbind(&session, limits::EVENTS_PER_ENTRY_MAX));
    assert!(!broker.continue_once());
}

#[test]
fn more_events_than_can_be_kept_are_lost_and_counted() {
    let (broker, _, session) = scene();
    let listener = listening(&broker, "bind");
    session.declare("q");
    broker.hold_work();
    broker.in_one_entry(|| bind_and_unbind(&session, limits::UNTOLD_EVENTS_MAX / 2 + 1));
    assert_eq!(broker.core(|core| core.events_lost()), 2);
    broker.work();
    assert_eq!(listener.received().len(), limits::UNTOLD_EVENTS_MAX / 2);
}

#[test]
fn a_queue_that_is_told_of_its_own_alerts_is_told_once_more_and_not_for_ever() {
    let (broker, agent, session) = scene();
    let arguments = [
        ("qpid.policy_type", Value::from("ring")),
        ("qpid.max_count", Value::U32(1)),
        ("qpid.alert_count", Value::U32(1)),
    ];
    for queue in ["q", "events"] {
        session.declare_limited(queue, &arguments);
    }
    let upward = key("queueThresholdCrossedUpward");
    session.bind("qmf.default.topic", "events", &upward, &[]);
    agent.told();
    session.publish("q", "one");
    let is_up = |event: &&Event| matches!(event, Event::ThresholdUp { .. });
    assert_eq!(agent.events().iter().filter(is_up).count(), 3);
    assert_eq!(session.count("events"), 1);
    assert!(broker.core(|core| core.events_lost()) > 0);
}

#[test]
fn an_event_has_the_time_of_the_wall_clock() {
    let (broker, agent, session) = scene();
    let listener = listening(&broker, "queueDeclare");
    agent.command(AgentCommand::Now(WallTime(1_800_000_000_000)));
    broker.pass(5_000);
    session.declare("q");
    let arrived = listener.arrivals().remove(0);
    let time = 1_800_000_005_000_000_000_u64.to_be_bytes();
    let is_there = arrived.octets.windows(8).any(|eight| eight == time);
    assert!(is_there, "{arrived:?}");
}

#[test]
fn events_are_told_in_the_versions_that_an_agent_wants() {
    let broker = Broker::new();
    let agent = Agent::open(&broker);
    let session = broker.session("a");
    session.declare("events");
    session.bind("qpid.management", "events", "console.event.#", &[]);
    session.declare("one");
    assert_eq!(session.count("events"), 0);
    agent.command(AgentCommand::Open {
        name: "agent".into(),
        versions: Versions {
            in_version_1: true,
            in_version_2: false,
        },
        now: WallTime(0),
        run: 7,
    });
    session.declare("two");
    assert_eq!(session.count("events"), 1);
}
