//! A broker and a client joined without a network, on one virtual clock.

use bytes::{Bytes, BytesMut};
use ferrymq::protocol::{BrokerConfig, ClientConfig, Connection, Content, Event, Pieces, Time};
use ferrymq::wire::{Command, DetachCode, MessageTransfer, Text};

/// Two ends and what happened at each.
pub struct Pair {
    pub broker: Connection,
    pub client: Connection,
    pub now: Time,
    pub broker_events: Vec<Event>,
    pub client_events: Vec<Event>,
    /// All that the client has sent.
    pub to_broker: Vec<u8>,
    /// All that the broker has sent.
    pub to_client: Vec<u8>,
}

pub fn broker_config() -> BrokerConfig {
    BrokerConfig {
        mechanisms: vec![Text::from("ANONYMOUS")],
        ..BrokerConfig::default()
    }
}

impl Pair {
    pub fn new(broker: BrokerConfig, client: ClientConfig) -> Pair {
        let now = Time(1_000);
        Pair {
            broker: Connection::broker(broker, now),
            client: Connection::client(client, now),
            now,
            broker_events: Vec::new(),
            client_events: Vec::new(),
            to_broker: Vec::new(),
            to_client: Vec::new(),
        }
    }

    /// A pair with default limits, open.
    pub fn opened() -> Pair {
        Pair::opened_with(broker_config(), ClientConfig::default())
    }

    pub fn opened_with(broker: BrokerConfig, client: ClientConfig) -> Pair {
        let mut pair = Pair::new(broker, client);
        pair.exchange();
        assert!(pair.broker.is_open() && pair.client.is_open());
        pair.forget();
        pair
    }

    /// An open pair with the session `s` on channel 0.
    pub fn attached() -> Pair {
        let mut pair = Pair::opened();
        pair.client.attach(0, b"s".to_vec(), false);
        pair.exchange();
        pair.forget();
        pair
    }

    /// Forgets the events so far.
    pub fn forget(&mut self) {
        self.broker_events.clear();
        self.client_events.clear();
    }

    /// Carries bytes and answers questions until both ends are quiet.
    pub fn exchange(&mut self) {
        loop {
            let mut busy = false;
            for event in polled(&mut self.broker) {
                self.broker_events.push(event);
                busy = true;
            }
            for event in polled(&mut self.client) {
                self.client_events.push(event);
                busy = true;
            }
            let mut bytes = BytesMut::from(&taken(&mut self.client)[..]);
            busy |= !bytes.is_empty();
            self.to_broker.extend_from_slice(&bytes);
            if !bytes.is_empty() {
                self.broker.handle_input(self.now, &mut bytes);
            }
            let mut bytes = BytesMut::from(&taken(&mut self.broker)[..]);
            busy |= !bytes.is_empty();
            self.to_client.extend_from_slice(&bytes);
            if !bytes.is_empty() {
                self.client.handle_input(self.now, &mut bytes);
            }
            if !busy {
                return;
            }
        }
    }

    /// Moves the clock, running every timer at its moment.
    pub fn advance(&mut self, milliseconds: u64) {
        let until = self.now.plus_milliseconds(milliseconds);
        loop {
            let due = [self.broker.poll_timeout(), self.client.poll_timeout()];
            let Some(at) = due.into_iter().flatten().min().filter(|at| *at <= until) else {
                break;
            };
            self.now = self.now.max(at);
            self.broker.handle_timeout(self.now);
            self.client.handle_timeout(self.now);
            self.exchange();
        }
        self.now = until;
    }
}

/// All events until the end is quiet, questions answered with yes.
pub fn polled(end: &mut Connection) -> Vec<Event> {
    let mut events = Vec::new();
    while let Some(event) = end.poll_event() {
        answer(end, &event);
        events.push(event);
    }
    events
}

/// Says yes.
pub fn answer(end: &mut Connection, event: &Event) {
    match event {
        Event::StartOk { .. } | Event::SecureOk { .. } => end.authenticated(),
        Event::Open { .. } => end.open_ok(&[]),
        Event::Start { .. } => end.start_ok("ANONYMOUS", None, "en_US"),
        Event::Secure { .. } => end.secure_ok(Vec::new()),
        Event::Attach { channel, .. } => end.attached(*channel),
        Event::Detach { channel, .. } => end.detached(*channel, DetachCode::NORMAL),
        _ => {}
    }
}

/// Takes all output.
pub fn taken(end: &mut Connection) -> Vec<u8> {
    let output = end.output();
    let mut bytes = Vec::with_capacity(output.len());
    while !output.is_empty() {
        let count = output.front().len();
        bytes.extend_from_slice(output.front());
        output.advance(count);
    }
    bytes
}

pub fn transfer(destination: &str) -> Command {
    Command::MessageTransfer(MessageTransfer {
        destination: Text::from(destination),
        ..MessageTransfer::default()
    })
}

/// Sends a transfer from the client.
pub fn publish(client: &mut Connection, channel: u16, header: Option<&[u8]>, body: Option<&[u8]>) {
    let pieces = body.map(|body| [Bytes::copy_from_slice(body)]);
    let content = Content {
        header,
        body: pieces.as_ref().map(|pieces| Pieces::Shared(pieces)),
    };
    client.send(channel, &transfer("q"), false, Some(content));
}
