//! What management asks, at random.

use std::collections::BTreeMap;

use ferrymq::broker::Command;
use ferrymq::broker::guard::{Guard, Ruling};
use ferrymq::broker::ids::ConnectionNumber;
use ferrymq::broker::management::{
    Action, AgentCommand, Destination, HeaderMatch, Import, Owed, Redirect, Take,
};
use ferrymq::wire::{
    ExchangeBind, ExchangeDeclare, ExchangeDelete, ExchangeUnbind, QueueDeclare, QueueDelete,
};

use super::actors::sound_arguments;
use super::agent::Agent;
use super::linking;
use super::seeded::Seeded;
use super::{Broker, MemberId, message};

const QUEUES: [&str; 4] = ["q", "r", "s", "made"];
const EXCHANGES: [&str; 5] = ["amq.direct", "amq.fanout", "amq.failover", "e", ""];

fn queue(seeded: &mut Seeded, name: &str) -> QueueDeclare {
    QueueDeclare {
        queue: name.into(),
        durable: seeded.once_in(2),
        auto_delete: seeded.once_in(4),
        alternate_exchange: seeded.once_in(2).then(|| "amq.fanout".into()),
        arguments: Some(sound_arguments(seeded)),
        ..QueueDeclare::default()
    }
}

fn delete_queue(seeded: &mut Seeded, name: &str) -> QueueDelete {
    QueueDelete {
        queue: name.into(),
        if_empty: seeded.once_in(2),
        if_unused: seeded.once_in(2),
    }
}

fn exchange(seeded: &mut Seeded) -> ExchangeDeclare {
    ExchangeDeclare {
        exchange: "e".into(),
        r#type: (*seeded.pick(&["direct", "topic", "fanout", "headers"])).into(),
        durable: seeded.once_in(2),
        ..ExchangeDeclare::default()
    }
}

fn bind(exchange: &str, queue: &str) -> ExchangeBind {
    ExchangeBind {
        queue: queue.into(),
        exchange: exchange.into(),
        binding_key: "k".into(),
        ..ExchangeBind::default()
    }
}

fn unbind(exchange: &str, queue: &str) -> ExchangeUnbind {
    ExchangeUnbind {
        queue: queue.into(),
        exchange: exchange.into(),
        binding_key: "k".into(),
    }
}

/// Some of everything, of which some is there already and some is not.
fn import(seeded: &mut Seeded, exchange_name: &str) -> Import {
    let mut import = Import::default();
    for name in QUEUES {
        match seeded.below(8) {
            0 => import.queues.push(queue(seeded, name)),
            1 => import.deleted_queues.push(delete_queue(seeded, name)),
            2 => import.bindings.push(bind(exchange_name, name)),
            3 => import.unbindings.push(unbind(exchange_name, name)),
            _ => {}
        }
    }
    if seeded.once_in(3) {
        import.exchanges.push(exchange(seeded));
    }
    if seeded.once_in(3) {
        import.deleted_exchanges.push(ExchangeDelete {
            exchange: exchange_name.into(),
            if_unused: seeded.once_in(2),
        });
    }
    import
}

fn take(seeded: &mut Seeded, queue: &str, exchange: &str) -> Take {
    Take {
        queue: queue.into(),
        count: seeded.below(30) as u32,
        filter: seeded.once_in(3).then(|| HeaderMatch {
            key: "colour".into(),
            value: "red".into(),
        }),
        to: match seeded.below(5) {
            0 => Destination::Nowhere,
            1 => Destination::Queue((*seeded.pick(&QUEUES)).into()),
            2 => Destination::Exchange(exchange.into()),
            3 => Destination::AlternateIf(Guard {
                clauses: Vec::new(),
                otherwise: Ruling::new(seeded.once_in(2), seeded.once_in(2)),
            }),
            _ => Destination::Alternate,
        },
    }
}

fn action(seeded: &mut Seeded) -> Action {
    let name = *seeded.pick(&QUEUES);
    let exchange_name = *seeded.pick(&EXCHANGES);
    match seeded.below(19) {
        0 => Action::Barrier,
        1 => Action::CreateQueue(Box::new(queue(seeded, name))),
        2 => Action::DeleteQueue(Box::new(delete_queue(seeded, name))),
        3 => Action::CreateExchange(Box::new(exchange(seeded))),
        4 => Action::DeleteExchange(Box::new(ExchangeDelete {
            exchange: exchange_name.into(),
            if_unused: seeded.once_in(2),
        })),
        5 => Action::Bind(Box::new(bind(exchange_name, name))),
        6 => Action::Unbind(Box::new(unbind(exchange_name, name))),
        7 => Action::EndSession {
            user: "guest".into(),
            name: seeded.pick(&["a", "b"]).as_bytes().to_vec(),
        },
        8 => Action::Stamp(seeded.once_in(2)),
        9 => Action::Stop(seeded.once_in(2).then_some(super::MEMBER)),
        10 => Action::TakeOut(MemberId(1 + seeded.below(3) as u64)),
        11 => Action::Redirect(Redirect {
            source: name.into(),
            target: match seeded.once_in(3) {
                true => "".into(),
                false => (*seeded.pick(&QUEUES)).into(),
            },
        }),
        12 => Action::Import(Box::new(import(seeded, exchange_name))),
        16..=18 => linking::action(seeded),
        13 => Action::CheckImport(Box::new(import(seeded, exchange_name))),
        _ => Action::Take(Box::new(take(seeded, name, exchange_name))),
    }
}

/// What it may have taken, of connections that there may be.
fn owed(seeded: &mut Seeded) -> BTreeMap<ConnectionNumber, Owed> {
    let number = ConnectionNumber(1 + seeded.below(12) as u32);
    let owed = Owed {
        requests: seeded.below(4) as u32,
        bytes: seeded.below(400) as u64,
    };
    BTreeMap::from([(number, owed)])
}

/// Members come and go, as the leader of a cluster says.
pub fn members(seeded: &mut Seeded, broker: &Broker) {
    let all = (1..4).filter(|_| seeded.once_in(2));
    let parts: Vec<MemberId> = all.map(MemberId).collect();
    let urls = parts
        .iter()
        .map(|part| format!("amqp:tcp:{}:5672", part.0).as_str().into());
    broker.sequencer(Command::Members {
        urls: urls.collect(),
        parts,
    });
}

/// An agent comes, does some of all that it can, and goes or is left there.
pub fn manage(seeded: &mut Seeded, broker: &Broker) {
    let member = MemberId(1 + seeded.below(2) as u64);
    let mut agent = Agent::of_member(broker, member, "agent");
    for _ in 0..seeded.below(6) {
        match seeded.below(8) {
            0 => agent.publish(
                "amq.direct",
                message("k", "of the broker").published("amq.direct"),
            ),
            1 => agent.command(AgentCommand::Took(owed(seeded))),
            _ => agent.begin(action(seeded)),
        }
    }
    agent.told();
    if seeded.once_in(2) {
        agent.end();
    }
}
