//! Over AMQP.

use ferrymq::security::acl::{Action, Object};
use ferrymq::wire::{self, Command, ErrorCode, Map, Value};

use crate::scene::{EVE, FAR, NOWHERE, Scene, THERE, nameless};
use crate::server_support::Client;

/// A command, and for which right it asks.
pub struct Act {
    pub asks: (Action, Object),
    /// Of a queue or exchange with a name.
    command: fn(&str) -> Command,
}

/// Commands of every class that ask for a right.
pub fn acts() -> Vec<Act> {
    let mut acts = of_exchanges();
    acts.extend(of_queues());
    acts
}

fn of_exchanges() -> Vec<Act> {
    let act = |action, command| Act {
        asks: (action, Object::Exchange),
        command,
    };
    vec![
        act(Action::Access, |name| {
            Command::ExchangeQuery(wire::ExchangeQuery {
                name: Some(name.into()),
            })
        }),
        act(Action::Access, |name| {
            Command::ExchangeBound(wire::ExchangeBound {
                exchange: Some(name.into()),
                queue: name.into(),
                ..Default::default()
            })
        }),
        act(Action::Access, |name| {
            Command::ExchangeDeclare(wire::ExchangeDeclare {
                exchange: name.into(),
                passive: true,
                ..Default::default()
            })
        }),
        act(Action::Create, |name| {
            Command::ExchangeDeclare(wire::ExchangeDeclare {
                exchange: name.into(),
                r#type: "fanout".into(),
                ..Default::default()
            })
        }),
        act(Action::Delete, |name| {
            Command::ExchangeDelete(wire::ExchangeDelete {
                exchange: name.into(),
                ..Default::default()
            })
        }),
        act(Action::Bind, |name| {
            Command::ExchangeBind(wire::ExchangeBind {
                queue: name.into(),
                exchange: name.into(),
                binding_key: "eve".into(),
                ..Default::default()
            })
        }),
        act(Action::Unbind, |name| {
            Command::ExchangeUnbind(wire::ExchangeUnbind {
                queue: name.into(),
                exchange: name.into(),
                binding_key: "k".into(),
            })
        }),
        act(Action::Publish, |name| {
            Command::MessageTransfer(wire::MessageTransfer {
                destination: name.into(),
                ..Default::default()
            })
        }),
    ]
}

fn of_queues() -> Vec<Act> {
    let act = |action, command| Act {
        asks: (action, Object::Queue),
        command,
    };
    vec![
        act(Action::Access, |name| {
            Command::QueueQuery(wire::QueueQuery { queue: name.into() })
        }),
        act(Action::Access, |name| {
            Command::QueueDeclare(wire::QueueDeclare {
                queue: name.into(),
                passive: true,
                ..Default::default()
            })
        }),
        act(Action::Create, |name| {
            Command::QueueDeclare(wire::QueueDeclare {
                queue: name.into(),
                ..Default::default()
            })
        }),
        act(Action::Delete, |name| {
            Command::QueueDelete(wire::QueueDelete {
                queue: name.into(),
                ..Default::default()
            })
        }),
        act(Action::Purge, |name| {
            Command::QueuePurge(wire::QueuePurge { queue: name.into() })
        }),
        act(Action::Consume, |name| {
            Command::MessageSubscribe(wire::MessageSubscribe {
                queue: name.into(),
                destination: "d".into(),
                ..Default::default()
            })
        }),
    ]
}

#[test]
fn over_amqp_who_has_no_rights_is_told_the_same_of_every_name() {
    let scene = Scene::new();
    let before = scene.state();
    let mut eve = scene.client(EVE);
    for (at, act) in (0..).zip(acts()) {
        let mut told = Vec::new();
        for (channel, name) in [(2 * at, THERE), (2 * at + 1, NOWHERE)] {
            eve.attach(channel, &format!("attempt {channel}"));
            let (code, text) = eve.ask(channel, (act.command)(name)).expect_err(name);
            assert_eq!(code, ErrorCode::UNAUTHORIZED_ACCESS, "{:?}", act.asks);
            assert!(text.starts_with("unauthorized-access: "), "{text}");
            told.push(nameless(&text, &[name]));
        }
        assert_eq!(told[0], told[1], "{:?}", act.asks);
        assert_eq!(scene.state(), before, "{:?}", act.asks);
    }
}

#[test]
fn who_may_not_connect_or_link_is_closed_with_320() {
    let scene = Scene::new();
    let address = scene.managed.broker.address();
    let link: Map = [("qpid.fed_link", Value::I32(1))].into_iter().collect();
    for (user, properties, said) in [
        (
            FAR,
            Map::new(),
            "User connection denied by configured limit",
        ),
        (EVE, link, "ACL denied eve@QPID creating a federation link"),
    ] {
        let closed = Client::open_as(address, user, properties);
        let (code, text) = closed.err().expect("it is closed");
        assert_eq!((code, text.contains(said)), (320, true), "{text}");
    }
}

#[test]
fn who_may_delete_some_queues_only_is_not_told_which_others_are_there() {
    // What a queue is decides: of a name that is not taken nothing is known, so it is denied alike.
    let directory = crate::durable_support::Directory::new();
    let file = directory.path().join("acl");
    let rules = "acl allow bob@QPID delete queue autodelete=true\n\
                 acl allow bob@QPID delete exchange type=topic\n\
                 acl allow ann@QPID all\nacl deny all all\n";
    std::fs::write(&file, rules).expect("written");
    let file = file.to_str().expect("text");
    let broker = crate::server_support::Broker::start(&["--acl-file", file]);
    let open = |user| Client::open_as(broker.address(), user, Map::new()).expect("it opens");
    let mut ann = open("ann");
    ann.attach(0, "ann");
    ann.declare(0, THERE);
    let exchange = wire::ExchangeDeclare {
        exchange: THERE.into(),
        r#type: "direct".into(),
        ..Default::default()
    };
    ann.run(0, Command::ExchangeDeclare(exchange));
    let mut bob = open("bob");
    let deletions: Vec<Act> = acts()
        .into_iter()
        .filter(|act| act.asks.0 == Action::Delete)
        .collect();
    assert_eq!(deletions.len(), 2);
    for (at, act) in (0..).zip(deletions) {
        let mut told = Vec::new();
        for (channel, name) in [(2 * at, THERE), (2 * at + 1, NOWHERE)] {
            bob.attach(channel, &format!("attempt {channel}"));
            let refused = bob.ask(channel, (act.command)(name)).expect_err(name);
            told.push((refused.0, nameless(&refused.1, &[name])));
        }
        assert_eq!(told[0].0, ErrorCode::UNAUTHORIZED_ACCESS, "{told:?}");
        assert_eq!(told[0], told[1]);
    }
}
