//! Somebody who makes the entries of an order, with a client that publishes into queues.

use bytes::Bytes;
use ferrymq::broker::encoding::{Encoder, Record};
use ferrymq::broker::ids::{ChannelKey, ConnectionNumber, GroupTime, MemberId, ShardId};
use ferrymq::broker::message::Message;
use ferrymq::broker::{Batch, Command, ConnectionRecord, Core, Options, Origin, Out, Request};
use ferrymq::wire::{self, AcceptMode, CommandId, DeliveryMode, DeliveryProperties};

/// The member whose client it is: one that no group of the tests has.
pub const MEMBER: MemberId = MemberId(77);

/// The state so far, and what the next entry needs.
pub struct Author {
    pub core: Core,
    seq: u64,
    next: CommandId,
}

/// An entry: its index, and the encoded batch.
pub type Entry = (u64, Vec<u8>);

/// A request to make a queue.
pub fn declare(queue: &str) -> Request {
    Request::QueueDeclare(Box::new(wire::QueueDeclare {
        queue: queue.into(),
        durable: true,
        ..Default::default()
    }))
}

/// A request to publish.
pub fn publish(queue: &str, body: &[u8]) -> Request {
    let delivery = DeliveryProperties {
        routing_key: Some(queue.into()),
        delivery_mode: Some(DeliveryMode::PERSISTENT),
        ..Default::default()
    };
    let mut header = Vec::new();
    wire::header::encode(&Some(delivery), &[], &mut header);
    let body = [Bytes::copy_from_slice(body)];
    let message = Message::new(Some(&header), Some(&body), "");
    Request::Transfer {
        destination: "".into(),
        accept_mode: AcceptMode::NONE,
        message: message.expect("it was just encoded").into(),
    }
}

impl Author {
    /// One who goes on with a state, which the client does not know yet.
    pub fn of(core: Core) -> Author {
        let seq = core.last_seq(MEMBER, 1);
        let next = CommandId(0);
        Author { core, seq, next }
    }

    pub fn new() -> Author {
        Author::of(Core::new(ShardId(0), Options::default()))
    }

    /// The entries that make a session and a queue.
    pub fn begin(&mut self, queue: &str) -> Vec<Entry> {
        let connection = ConnectionNumber(1);
        let record = ConnectionRecord {
            user: "guest".into(),
            headroom_messages: 100,
            headroom_bytes: 100_000,
            ..Default::default()
        };
        let open = Command::ConnectionOpen {
            connection,
            record: Box::new(record),
        };
        let attach = Command::Attach {
            at: at(),
            name: b"author".to_vec(),
            force: true,
        };
        vec![self.entry(vec![open, attach]), self.ask(declare(queue))]
    }

    /// One who goes on as this one with another state.
    pub fn with(&self, core: Core) -> Author {
        let (seq, next) = (self.seq, self.next);
        Author { core, seq, next }
    }

    /// The entry that asks something.
    pub fn ask(&mut self, request: Request) -> Entry {
        let id = self.next;
        self.next = id.next();
        self.entry(vec![Command::Session {
            at: at(),
            id,
            sync: false,
            request,
        }])
    }

    /// The next entry.
    pub fn entry(&mut self, commands: Vec<Command>) -> Entry {
        self.seq += 1;
        let origin = Origin::Member {
            id: MEMBER,
            epoch: 1,
            seq: self.seq,
        };
        self.entry_of(origin, commands)
    }

    /// The next entry, of somebody.
    pub fn entry_of(&mut self, origin: Origin, commands: Vec<Command>) -> Entry {
        let mut batch = Batch {
            shard: ShardId(0),
            index: self.core.index() + 1,
            time: GroupTime(self.core.time().0 + 1),
            origin,
            commands,
        };
        let mut encoder = Encoder::default();
        batch.encode(&mut encoder);
        let index = batch.index;
        self.core.apply(&mut batch, &mut Out::default());
        (index, encoder.bytes)
    }
}

fn at() -> ChannelKey {
    ChannelKey {
        connection: ConnectionNumber(1),
        channel: 0,
    }
}
