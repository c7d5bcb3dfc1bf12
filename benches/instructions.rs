//! Pieces of the hot path to count instructions of: `instructions NAME COUNT` does one of them
//! COUNT times. `benches/run --instructions` runs each under callgrind with two counts; the
//! difference, divided, is what one costs, whatever start and end cost. Unlike a time it does not
//! depend on what else the machine does.

use std::hint::black_box;
use std::sync::Arc;
use std::task::Waker;

use bytes::Bytes;
use ferrymq::broker::command::{Command, ConnectionRecord, Request};
use ferrymq::broker::effect::Effect;
use ferrymq::broker::ids::{ChannelKey, ConnectionNumber, MemberId};
use ferrymq::broker::message::Message;
use ferrymq::broker::options::Options;
use ferrymq::cluster::solo::Solo;
use ferrymq::cluster::{Group, Millis};
use ferrymq::wire::{
    self, AcceptMode, CommandId, Control, CreditUnit, Cursor, DeliveryProperties, Map,
    MessageProperties, SequenceSet, Struct, Text, Value, header,
};

/// Messages in one batch, as a driver would find them in its read buffer.
const BATCH: u32 = 64;

/// Bindings of the exchanges.
const BINDINGS: u32 = 1000;

type Piece = fn(u32);

const PIECES: [(&str, Piece); 14] = [
    ("decode transfer", |count| {
        decode_command(&transfer(), count)
    }),
    ("encode transfer", |count| {
        encode_command(&transfer(), count)
    }),
    ("decode accept", |count| decode_command(&accept(), count)),
    ("encode accept", |count| encode_command(&accept(), count)),
    ("decode completed", decode_completed),
    ("encode completed", encode_completed),
    ("decode frame header", decode_frame),
    ("split header", |count| split_header(&plain_header(), count)),
    ("split header, 10 application headers", |count| {
        split_header(&rich_header(), count)
    }),
    ("apply, default exchange", |count| {
        apply(&Way::Default, count)
    }),
    ("apply, direct, 1000 bindings", |count| {
        apply(&Way::Exchange("direct", "key.500"), count)
    }),
    ("apply, topic, 1000 bindings", |count| {
        apply(&Way::Exchange("topic", "key.500.x"), count)
    }),
    ("apply, fanout, 1 binding", |count| {
        apply(&Way::Exchange("fanout", ""), count)
    }),
    ("apply, headers, 10 bindings", |count| {
        apply(&Way::Headers, count)
    }),
];

fn main() {
    let mut arguments = std::env::args()
        .skip(1)
        .filter(|argument| argument != "--bench");
    let (name, count) = (arguments.next(), arguments.next());
    let count = count
        .and_then(|count| count.parse().ok())
        .unwrap_or(10 * BATCH);
    match name {
        None => PIECES.iter().for_each(|(name, _)| println!("{name}")),
        Some(name) => match PIECES.iter().find(|(known, _)| *known == name) {
            Some((_, piece)) => piece(count),
            None => panic!("{name:?} is none of the pieces"),
        },
    }
}

fn transfer() -> wire::Command {
    wire::Command::MessageTransfer(wire::MessageTransfer {
        destination: "amq.topic".into(),
        accept_mode: Some(AcceptMode::NONE),
        ..Default::default()
    })
}

fn accept() -> wire::Command {
    let transfers = SequenceSet::from_range(CommandId(1000), CommandId(1099));
    wire::Command::MessageAccept(wire::MessageAccept { transfers })
}

fn decode_command(command: &wire::Command, count: u32) {
    let mut bytes = Vec::new();
    command.encode(false, &mut bytes);
    for _ in 0..count {
        let decoded = wire::Command::decode(&mut Cursor::new(black_box(&bytes)));
        black_box(decoded.expect("it was encoded"));
    }
}

fn encode_command(command: &wire::Command, count: u32) {
    let mut bytes = Vec::with_capacity(256);
    for _ in 0..count {
        bytes.clear();
        black_box(command).encode(false, &mut bytes);
        black_box(&bytes);
    }
}

fn completed() -> Control {
    let commands = Some(SequenceSet::from_range(CommandId(0), CommandId(1000)));
    Control::SessionCompleted(wire::SessionCompleted {
        commands,
        timely_reply: false,
    })
}

fn decode_completed(count: u32) {
    let mut bytes = Vec::new();
    completed().encode(&mut bytes);
    for _ in 0..count {
        let decoded = Control::decode(&mut Cursor::new(black_box(&bytes)));
        black_box(decoded.expect("it was encoded"));
    }
}

fn encode_completed(count: u32) {
    let (control, mut bytes) = (completed(), Vec::with_capacity(256));
    for _ in 0..count {
        bytes.clear();
        black_box(&control).encode(&mut bytes);
        black_box(&bytes);
    }
}

fn decode_frame(count: u32) {
    let bytes = [0x0f, 1, 0, 100, 0, 1, 0, 0, 0, 0, 0, 0];
    for _ in 0..count {
        let decoded = wire::frame::FrameHeader::decode(black_box(&bytes));
        black_box(decoded.expect("it is sound"));
    }
}

/// A header as Qpid's clients send it.
fn header_of(routing_key: &str, headers: Option<Map>) -> Vec<u8> {
    let delivery = DeliveryProperties {
        routing_key: Some(routing_key.into()),
        ..Default::default()
    };
    let properties = MessageProperties {
        content_length: Some(64),
        content_type: Some("text/plain".into()),
        application_headers: headers,
        ..Default::default()
    };
    let (mut rest, mut bytes) = (Vec::new(), Vec::new());
    properties.encode(&mut rest);
    header::encode(&Some(delivery), &rest, &mut bytes);
    bytes
}

fn plain_header() -> Vec<u8> {
    header_of("key.500", None)
}

fn rich_header() -> Vec<u8> {
    let headers = (0..10).map(|n| (Text::from(format!("name-{n}")), Value::I64(n)));
    header_of("key.500", Some(headers.collect()))
}

fn split_header(bytes: &[u8], count: u32) {
    for _ in 0..count {
        black_box(header::split(black_box(bytes)).expect("it was encoded"));
    }
}

/// How messages come to the queue.
enum Way {
    Default,
    /// Its type, and the routing key.
    Exchange(&'static str, &'static str),
    Headers,
}

impl Way {
    fn destination(&self) -> Text {
        match self {
            Way::Default => "".into(),
            _ => "e".into(),
        }
    }

    fn header(&self) -> Vec<u8> {
        match self {
            Way::Default => header_of("q", None),
            Way::Exchange(_, key) => header_of(key, None),
            Way::Headers => rich_header(),
        }
    }

    /// Declares the exchange and its bindings, one of which matches.
    fn declare(&self, peer: &mut Peer<'_>) {
        let (kind, count) = match self {
            Way::Default => return,
            Way::Exchange("fanout", _) => ("fanout", 1),
            Way::Exchange(kind, _) => (*kind, BINDINGS),
            Way::Headers => ("headers", 10),
        };
        let declare = wire::ExchangeDeclare {
            exchange: "e".into(),
            r#type: kind.into(),
            ..Default::default()
        };
        peer.push(Request::ExchangeDeclare(Box::new(declare)));
        for n in 0..count {
            let binding_key = match kind {
                "topic" => format!("key.{n}.*"),
                _ => format!("key.{n}"),
            };
            let match_all = (Text::from("x-match"), Value::Str16("all".into()));
            // Two headers each, of which the last binding's are the message's.
            let first = (Text::from("name-0"), Value::I64(0));
            let second = (
                Text::from(format!("name-{n}")),
                Value::I64(if n == 9 { 9 } else { -1 }),
            );
            let arguments = (kind == "headers").then(|| Map::from_iter([match_all, first, second]));
            let bind = wire::ExchangeBind {
                queue: "q".into(),
                exchange: "e".into(),
                binding_key: binding_key.into(),
                arguments,
            };
            peer.push(Request::ExchangeBind(Box::new(bind)));
            peer.flush();
        }
    }
}

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

    /// Declares the queue and reads it.
    fn subscribe(&mut self) {
        let declare = wire::QueueDeclare {
            queue: "q".into(),
            ..Default::default()
        };
        self.push(Request::QueueDeclare(Box::new(declare)));
        let subscribe = wire::MessageSubscribe {
            queue: "q".into(),
            destination: "c".into(),
            accept_mode: AcceptMode::EXPLICIT,
            ..Default::default()
        };
        self.push(Request::Subscribe(Box::new(subscribe)));
        for unit in [CreditUnit::MESSAGE, CreditUnit::BYTE] {
            self.push(Request::Flow {
                destination: "c".into(),
                unit,
                value: u32::MAX,
            });
        }
        self.flush();
    }

    /// Takes a batch of deliveries, accepts and completes it.
    fn settle(&mut self) -> u32 {
        self.effects.clear();
        self.group.take(self.connection, &mut self.effects);
        let ids = self.effects.iter().filter_map(|effect| match effect {
            Effect::Deliver(delivery) => Some(delivery.id),
            _ => None,
        });
        let mut transfers = SequenceSet::new();
        let mut count = 0;
        for id in ids {
            transfers.insert(id);
            count += 1;
        }
        let (at, connection) = (self.at(), self.connection);
        self.push(Request::Accept {
            transfers: transfers.clone(),
        });
        self.commands.push(Command::Completed {
            at,
            commands: transfers,
        });
        let (messages, bytes) = (BATCH, u64::from(BATCH) * 128);
        self.commands.push(Command::Headroom {
            connection,
            messages,
            bytes,
        });
        self.flush();
        count
    }
}

/// A message from command to delivery, acceptance and completion, in batches; its header is taken
/// apart too, as a driver does.
fn apply(way: &Way, count: u32) {
    let group = Solo::new(MemberId(1), Options::default(), Millis(0));
    let mut consumer = Peer::open(&group, "consumer");
    consumer.subscribe();
    let mut producer = Peer::open(&group, "producer");
    way.declare(&mut producer);
    let (header, body, destination) = (way.header(), Bytes::from(vec![7; 64]), way.destination());
    let mut delivered = 0;
    for _ in 0..count / BATCH {
        for _ in 0..BATCH {
            let body = Some(std::slice::from_ref(&body));
            let message = Message::new(Some(&header), body, &destination);
            let message = Arc::new(message.expect("it was encoded"));
            let destination = destination.clone();
            let accept_mode = AcceptMode::NONE;
            producer.push(Request::Transfer {
                destination,
                accept_mode,
                message,
            });
        }
        producer.flush();
        delivered += consumer.settle();
    }
    assert_eq!(
        delivered,
        count / BATCH * BATCH,
        "every message was delivered"
    );
}
