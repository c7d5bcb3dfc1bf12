//! Many connections that change the same queue at once, on one broker and on a group of three with the
//! clients spread over its members.

mod durable_support;
mod server_support;

use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use durable_support::{binding, call, connect, persistent, query, session_at};
use ferrymq::client::{Error, Session};
use ferrymq::wire::{
    Command, ExchangeBind, ExchangeBound, ExchangeBoundResult, ExchangeUnbind, QueueDeclare,
    QueueDelete, Value,
};
use server_support::Broker;

/// The queue that all of them change.
const QUEUE: &str = "contended";

/// An exchange of each type.
const EXCHANGES: [&str; 4] = ["amq.direct", "amq.topic", "amq.fanout", "amq.match"];

/// Connections that change it.
const CLIENTS: usize = 8;

/// Changes of each.
const CHANGES: usize = 300;

/// A safety net: ten times what it takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// One broker, and a group; of each the addresses of its members.
fn places() -> [(Broker, Vec<SocketAddr>); 2] {
    let one = Broker::start(&[]);
    let group = Broker::start_lockstep("7", &[]);
    let of_group = group.ports.iter();
    let of_group = of_group.map(|port| SocketAddr::from(([127, 0, 0, 1], *port)));
    let of_group = of_group.collect();
    let of_one = vec![one.address()];
    [(one, of_one), (group, of_group)]
}

fn declare() -> Command {
    Command::QueueDeclare(QueueDeclare {
        queue: QUEUE.into(),
        ..QueueDeclare::default()
    })
}

fn bind(exchange: &str) -> Command {
    let arguments = [("x-match", "all"), ("n", "1")];
    Command::ExchangeBind(ExchangeBind {
        arguments: Some(arguments.into_iter().collect()),
        ..binding(exchange, QUEUE, "k")
    })
}

fn change(number: usize) -> Command {
    let exchange = EXCHANGES[number / 7 % EXCHANGES.len()];
    match number % 7 {
        0 | 1 => declare(),
        2..=4 => bind(exchange),
        5 => Command::ExchangeUnbind(ExchangeUnbind {
            queue: QUEUE.into(),
            exchange: exchange.into(),
            binding_key: "k".into(),
        }),
        _ => Command::QueueDelete(QueueDelete {
            queue: QUEUE.into(),
            ..QueueDelete::default()
        }),
    }
}

/// Changes the queue again and again. What another has deleted is not found, which ends a session and
/// nothing else.
async fn contend(address: SocketAddr, number: usize) -> usize {
    let client = connect(address).await;
    let attach = |n: usize| {
        let client = &client;
        async move {
            let name = format!("changes {number} {n}");
            client.session(&name).await.expect("it attaches")
        }
    };
    let mut session = attach(0).await;
    let mut done = 0;
    for n in 0..CHANGES {
        match session.call(change(number + n)).await {
            Ok(_) => done += 1,
            Err(Error::Exception(exception)) => {
                assert_eq!(exception.error_code.0, 404, "{exception:?}");
                session = attach(n + 1).await;
            }
            Err(error) => panic!("{number}: {error}"),
        }
    }
    done
}

/// Publishes to all exchanges until it is told to end.
async fn publish(address: SocketAddr, end: tokio::sync::watch::Receiver<bool>) {
    let session = session_at(address).await;
    while !*end.borrow() {
        for exchange in EXCHANGES {
            let message = persistent("k", "body").application_header("n", Value::from("1"));
            session.publish(exchange, &message).await.expect("it goes");
        }
        session.sync().await.expect("all are taken");
    }
}

/// To which of the exchanges the queue is bound.
async fn bound(session: &Session) -> Vec<&'static str> {
    let mut found = Vec::new();
    for exchange in EXCHANGES {
        let asked = Command::ExchangeBound(ExchangeBound {
            exchange: Some(exchange.into()),
            queue: QUEUE.into(),
            ..ExchangeBound::default()
        });
        let bound: ExchangeBoundResult = session.query(asked).await.expect("an answer");
        if !bound.queue_not_found && !bound.queue_not_matched {
            found.push(exchange);
        }
    }
    found
}

/// QPID-3755, QPID-4672.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_queue_is_bound_unbound_declared_and_deleted_by_many_while_messages_pass() {
    for (_broker, addresses) in places() {
        let at = |n: usize| addresses[n % addresses.len()];
        let (end, ended) = tokio::sync::watch::channel(false);
        let publishers: Vec<_> = (0..2)
            .map(|n| tokio::spawn(publish(at(n), ended.clone())))
            .collect();
        let clients: Vec<_> = (0..CLIENTS)
            .map(|n| tokio::spawn(contend(at(n), n)))
            .collect();
        let mut done = 0;
        for client in clients {
            let ended = tokio::time::timeout(PATIENCE, client).await;
            done += ended.expect("it ends").expect("it does not panic");
        }
        end.send(true).expect("publishers listen");
        for publisher in publishers {
            let ended = tokio::time::timeout(PATIENCE, publisher).await;
            ended.expect("it ends").expect("it does not panic");
        }
        assert!(done > CLIENTS * CHANGES / 2, "{done} changes");
        // Whatever came of it, all members say the same, and a binding is what brings a message.
        let session = session_at(at(0)).await;
        call(&session, declare()).await;
        let found = bound(&session).await;
        for address in &addresses {
            assert_eq!(bound(&session_at(*address).await).await, found);
        }
        let before = query(&session, QUEUE).await.message_count as usize;
        for exchange in EXCHANGES {
            let message = persistent("k", "body").application_header("n", Value::from("1"));
            session.publish(exchange, &message).await.expect("it goes");
        }
        session.sync().await.expect("all are taken");
        let after = query(&session, QUEUE).await.message_count as usize;
        assert_eq!(after - before, found.len(), "{found:?}");
    }
}

/// QPID-3244.
#[tokio::test]
async fn what_a_full_queue_holds_back_is_completed_when_another_connection_deletes_the_queue() {
    for (_broker, addresses) in places() {
        let session = session_at(addresses[0]).await;
        let limits = [
            ("qpid.flow_stop_count", Value::U32(5)),
            ("qpid.flow_resume_count", Value::U32(3)),
        ];
        let held = QueueDeclare {
            queue: QUEUE.into(),
            arguments: Some(limits.into_iter().collect()),
            ..QueueDeclare::default()
        };
        call(&session, Command::QueueDeclare(held)).await;
        for _ in 0..5 {
            let message = persistent(QUEUE, "body");
            session.publish("", &message).await.expect("it goes");
        }
        session.sync().await.expect("there is room");
        let sent = session.publish("", &persistent(QUEUE, "body")).await;
        let mut last = sent.expect("it goes");
        let other = session_at(addresses[addresses.len() - 1]).await;
        let end = Instant::now() + PATIENCE;
        while query(&other, QUEUE).await.message_count < 6 {
            assert!(Instant::now() < end, "it does not come");
        }
        let waits = Pin::new(&mut last).poll(&mut Context::from_waker(Waker::noop()));
        assert!(waits.is_pending(), "it is held back");
        let delete = QueueDelete {
            queue: QUEUE.into(),
            ..QueueDelete::default()
        };
        call(&other, Command::QueueDelete(delete)).await;
        let done = tokio::time::timeout(PATIENCE, last).await;
        done.expect("it is answered").expect("it is completed");
    }
}
