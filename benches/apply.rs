//! One message through the core: published, delivered, accepted, completed. Prints nanoseconds a
//! message; run it under callgrind for instructions a message.
//!
//!     cargo bench --bench apply [MESSAGES]

use std::sync::Arc;
use std::task::Waker;
use std::time::Instant;

use bytes::Bytes;
use ferrymq::broker::ids::{ChannelKey, ConnectionNumber, MemberId};
use ferrymq::broker::message::Message;
use ferrymq::broker::{Command, ConnectionRecord, Effect, Options, Request};
use ferrymq::cluster::solo::Solo;
use ferrymq::cluster::{Group, Millis};
use ferrymq::wire::{
    self, AcceptMode, AcquireMode, CommandId, CreditUnit, DeliveryProperties, SequenceSet,
};

/// Messages in one batch, as a driver would find them in its read buffer.
const BATCH: u32 = 64;

struct Peer<'a> {
    group: &'a Solo,
    connection: ConnectionNumber,
    next: CommandId,
    commands: Vec<Command>,
    effects: Vec<Effect>,
}

impl<'a> Peer<'a> {
    fn open(group: &'a Solo, name: &str) -> Peer<'a> {
        let connection = group.open(Waker::noop().clone());
        let (commands, effects) = (Vec::new(), Vec::new());
        let mut peer = Peer {
            group,
            connection,
            next: CommandId(0),
            commands,
            effects,
        };
        let record = ConnectionRecord {
            headroom_messages: 1 << 20,
            headroom_bytes: 1 << 30,
            ..ConnectionRecord::default()
        };
        let (at, name) = (peer.at(), name.as_bytes().to_vec());
        peer.commands.push(Command::ConnectionOpen {
            connection,
            record: Box::new(record),
        });
        peer.commands.push(Command::Attach {
            at,
            name,
            force: false,
        });
        peer.flush();
        peer
    }

    fn at(&self) -> ChannelKey {
        ChannelKey {
            connection: self.connection,
            channel: 0,
        }
    }

    fn push(&mut self, request: Request) {
        let (at, id) = (self.at(), self.next);
        self.next = id.next();
        self.commands.push(Command::Session {
            at,
            id,
            sync: false,
            request,
        });
    }

    fn flush(&mut self) {
        self.group
            .propose(Millis(0), self.connection, &mut self.commands);
        self.effects.clear();
        self.group.take(self.connection, &mut self.effects);
    }
}

fn message(body: &Bytes) -> Arc<Message> {
    let delivery = DeliveryProperties {
        routing_key: Some("q".into()),
        ..Default::default()
    };
    let parts = wire::header::HeaderParts {
        delivery: Some(delivery),
        ..Default::default()
    };
    Arc::new(Message::new(
        Some(parts),
        Some(std::slice::from_ref(body)),
        "",
    ))
}

fn main() {
    let count = std::env::args()
        .skip(1)
        .find_map(|argument| argument.parse().ok());
    let count: u32 = count.unwrap_or(2_000_000);
    let group = Solo::new(MemberId(1), Options::default(), Millis(0));
    let mut consumer = Peer::open(&group, "consumer");
    subscribe(&mut consumer);
    let mut producer = Peer::open(&group, "producer");
    let body = Bytes::from(vec![7; 64]);
    let begin = Instant::now();
    let mut delivered = 0;
    for _ in 0..count / BATCH {
        publish(&mut producer, &body);
        delivered += accept_all(&mut consumer);
    }
    let spent = begin.elapsed();
    assert_eq!(
        delivered,
        count / BATCH * BATCH,
        "every message was delivered"
    );
    let each = spent.as_nanos() as f64 / f64::from(delivered);
    println!("{delivered} messages, {each:.1} ns a message");
}

fn subscribe(consumer: &mut Peer<'_>) {
    let declare = wire::QueueDeclare {
        queue: "q".into(),
        ..Default::default()
    };
    consumer.push(Request::QueueDeclare(Box::new(declare)));
    let subscribe = wire::MessageSubscribe {
        queue: "q".into(),
        destination: "c".into(),
        accept_mode: AcceptMode::EXPLICIT,
        acquire_mode: AcquireMode::PRE_ACQUIRED,
        ..Default::default()
    };
    consumer.push(Request::Subscribe(Box::new(subscribe)));
    for unit in [CreditUnit::MESSAGE, CreditUnit::BYTE] {
        consumer.push(Request::Flow {
            destination: "c".into(),
            unit,
            value: u32::MAX,
        });
    }
    consumer.flush();
}

fn publish(producer: &mut Peer<'_>, body: &Bytes) {
    for _ in 0..BATCH {
        let (destination, accept_mode) = ("".into(), AcceptMode::NONE);
        producer.push(Request::Transfer {
            destination,
            accept_mode,
            message: message(body),
        });
    }
    producer.flush();
}

/// Takes what has been delivered, accepts and completes it, and gives how many there were.
fn accept_all(consumer: &mut Peer<'_>) -> u32 {
    consumer
        .group
        .take(consumer.connection, &mut consumer.effects);
    let mut transfers = SequenceSet::new();
    let mut delivered = 0;
    for effect in consumer.effects.drain(..) {
        if let Effect::Deliver(delivery) = effect {
            transfers.insert(delivery.id);
            delivered += 1;
        }
    }
    let (at, connection) = (consumer.at(), consumer.connection);
    consumer.push(Request::Accept {
        transfers: transfers.clone(),
    });
    consumer.commands.push(Command::Completed {
        at,
        commands: transfers,
    });
    let (messages, bytes) = (delivered, u64::from(delivered) * 128);
    consumer.commands.push(Command::Headroom {
        connection,
        messages,
        bytes,
    });
    consumer.flush();
    delivered
}
