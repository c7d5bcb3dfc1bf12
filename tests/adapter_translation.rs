//! What a client says to the core and hears from it, without sockets: a client's protocol, a broker's
//! protocol with its adapter, and a group of one.

#[path = "adapter_translation/branches.rs"]
mod branches;

use std::task::Waker;

use bytes::{Bytes, BytesMut};
use ferrymq::adapter::{Adapter, limits};
use ferrymq::broker::ids::{ConnectionNumber, MemberId};
use ferrymq::broker::limits::{BATCH_BYTES_MAX, BATCH_COMMANDS_MAX};
use ferrymq::broker::{Command as CoreCommand, ConnectionRecord, Effect, Options};
use ferrymq::cluster::solo::Solo;
use ferrymq::cluster::{Group, Millis};
use ferrymq::protocol::{BrokerConfig, ClientConfig, Connection, Content, Event, Pieces, Time};
use ferrymq::wire::{self, AcceptMode, Command, CommandId, Control, Map, SequenceSet};

const NOW: Time = Time(1);

/// A group of one and a client of it.
struct World {
    group: Solo,
}

impl World {
    fn new() -> World {
        World {
            group: Solo::new(MemberId(1), Options::default(), Millis(0)),
        }
    }

    fn connect(&self) -> Pair<'_> {
        let number = self.group.open(Waker::noop().clone());
        let record = ConnectionRecord {
            peer: "test".into(),
            user: "anonymous".into(),
            ..ConnectionRecord::default()
        };
        let mut pair = Pair {
            group: &self.group,
            number,
            client: Connection::client(ClientConfig::default(), NOW),
            broker: Connection::broker(BrokerConfig::default(), NOW),
            adapter: Adapter::new(number, record),
            heard: Vec::new(),
            largest_batch: (0, 0),
            is_draining: true,
        };
        pair.run();
        assert!(pair.client.is_open());
        pair
    }
}

/// Both ends of a connection, and what the client has heard.
struct Pair<'g> {
    group: &'g Solo,
    number: ConnectionNumber,
    client: Connection,
    broker: Connection,
    adapter: Adapter,
    heard: Vec<Event>,
    /// Commands and octets.
    largest_batch: (usize, u64),
    /// Whether the client reads what the broker writes.
    is_draining: bool,
}

fn pass(from: &mut Connection, to: &mut Connection) -> usize {
    let mut bytes = BytesMut::new();
    while !from.output().is_empty() {
        let front = from.output().front().to_vec();
        from.output().advance(front.len());
        bytes.extend_from_slice(&front);
    }
    let passed = bytes.len();
    to.handle_input(NOW, &mut bytes);
    passed
}

impl Pair<'_> {
    /// Lets both talk until neither has more to say.
    fn run(&mut self) {
        loop {
            let said = pass(&mut self.client, &mut self.broker);
            self.serve();
            let mut told = 0;
            if self.is_draining {
                told = pass(&mut self.broker, &mut self.client);
                self.adapter.drained(told);
                if self.adapter.return_headroom() {
                    self.propose();
                }
            }
            self.listen();
            if said + told == 0 && self.client.output().is_empty() {
                return;
            }
        }
    }

    fn listen(&mut self) {
        while let Some(event) = self.client.poll_event() {
            match event {
                Event::Start { .. } => self.client.start_ok("ANONYMOUS", None, "en_US"),
                Event::Tuned(_) | Event::OpenOk { .. } => {}
                event => self.heard.push(event),
            }
        }
    }

    fn serve(&mut self) {
        loop {
            while !self.adapter.is_full() && !self.adapter.is_pending() {
                match self.broker.poll_event() {
                    Some(Event::StartOk { .. }) => self.broker.authenticated(),
                    Some(Event::Open { .. }) => self.broker.open_ok(&[]),
                    Some(event) => self.adapter.handle_event(&mut self.broker, event),
                    None => break,
                }
            }
            if !self.propose() {
                return;
            }
        }
    }

    fn propose(&mut self) -> bool {
        let batch = self.adapter.batch();
        if batch.is_empty() {
            return false;
        }
        let bytes = batch.iter().map(message_bytes).sum();
        self.largest_batch.0 = self.largest_batch.0.max(batch.len());
        self.largest_batch.1 = self.largest_batch.1.max(bytes);
        self.group.propose(Millis(1), self.number, batch);
        let mut effects: Vec<Effect> = Vec::new();
        self.group.take(self.number, &mut effects);
        self.adapter.handle_effects(&mut self.broker, &mut effects);
        true
    }

    /// Attaches a session and forgets what was heard.
    fn attach(&mut self, channel: u16, name: &str) {
        self.client.attach(channel, name.into(), false);
        self.run();
        assert!(
            matches!(self.heard[..], [Event::Attached { .. }]),
            "{:?}",
            self.heard
        );
        self.heard.clear();
    }

    fn send(&mut self, command: Command) -> CommandId {
        let sent = self.client.send(0, &command, false, None);
        sent.expect("the session is attached")
    }

    fn declare(&mut self, queue: &str) {
        self.send(Command::QueueDeclare(wire::QueueDeclare {
            queue: queue.into(),
            ..Default::default()
        }));
    }

    /// Subscribes with all the credit there is.
    fn subscribe(&mut self, queue: &str, accept_mode: AcceptMode, arguments: Option<Map>) {
        self.send(Command::MessageSubscribe(wire::MessageSubscribe {
            queue: queue.into(),
            destination: queue.into(),
            accept_mode,
            arguments,
            ..Default::default()
        }));
        for unit in [wire::CreditUnit::MESSAGE, wire::CreditUnit::BYTE] {
            self.send(Command::MessageFlow(wire::MessageFlow {
                destination: queue.into(),
                unit,
                value: Some(u32::MAX),
            }));
        }
        self.run();
    }

    fn publish(&mut self, header: Option<&[u8]>, body: Option<&[u8]>) -> CommandId {
        let transfer = Command::MessageTransfer(wire::MessageTransfer {
            accept_mode: Some(AcceptMode::NONE),
            ..Default::default()
        });
        let body = body.map(|body| [Bytes::copy_from_slice(body)]);
        let content = Content {
            header,
            body: body.as_ref().map(|body| Pieces::Shared(body)),
        };
        let sent = self.client.send(0, &transfer, false, Some(content));
        sent.expect("the session is attached")
    }

    /// The exception that the client has heard.
    fn exception(&self) -> &wire::ExecutionException {
        let found = self.heard.iter().find_map(|event| match event {
            Event::Exception { exception, .. } => Some(exception),
            _ => None,
        });
        found.unwrap_or_else(|| panic!("no exception in {:?}", self.heard))
    }

    /// Code and text of the close that the client has heard.
    fn closed(&self) -> (u16, &str) {
        let found = self.heard.iter().find_map(|event| match event {
            Event::Closed { code, text, .. } => Some((code.0, &text[..])),
            _ => None,
        });
        found.unwrap_or_else(|| panic!("no close in {:?}", self.heard))
    }

    /// Headers and bodies of the deliveries heard.
    fn deliveries(&self) -> Vec<(Bytes, Vec<u8>)> {
        let picked = self.heard.iter().filter_map(|event| match event {
            Event::Command { header, body, .. } => {
                let body = body.iter().flat_map(|body| body.iter());
                let body = body.flat_map(|part| part.to_vec()).collect();
                Some((header.clone().unwrap_or_default(), body))
            }
            _ => None,
        });
        picked.collect()
    }
}

fn message_bytes(command: &CoreCommand) -> u64 {
    match command {
        CoreCommand::Session {
            request: ferrymq::broker::Request::Transfer { message, .. },
            ..
        } => message.size(),
        _ => 0,
    }
}

/// A header segment with a routing key, then `rest` as it stands.
fn header(delivery: wire::DeliveryProperties, rest: &[u8]) -> Vec<u8> {
    let mut header = Vec::new();
    wire::header::encode(&Some(delivery), rest, &mut header);
    header
}

fn to(queue: &str) -> Vec<u8> {
    let delivery = wire::DeliveryProperties {
        routing_key: Some(queue.into()),
        ..Default::default()
    };
    header(delivery, &[])
}

#[test]
fn what_is_not_built_is_answered_540_and_named() {
    let world = World::new();
    let commands = [
        (Command::FileQos(Default::default()), (9, 1)),
        (Command::StreamQos(Default::default()), (10, 1)),
        // As in qpidd: with content, neither class nor command.
        (Command::FileStage(Default::default()), (0, 0)),
        (Command::StreamPublish(Default::default()), (0, 0)),
    ];
    for (command, (class, code)) in commands {
        let name = command.name();
        let mut pair = world.connect();
        pair.attach(0, name);
        let id = pair.send(command);
        pair.run();
        let exception = pair.exception();
        assert_eq!(
            exception.error_code,
            wire::ErrorCode::NOT_IMPLEMENTED,
            "{name}"
        );
        assert_eq!(exception.command_id, Some(id), "{name}");
        assert_eq!(
            (exception.class_code, exception.command_code),
            (Some(class), Some(code))
        );
        let text = exception.description.as_deref().unwrap_or_default();
        assert_eq!(text, format!("not-implemented: {name} is not implemented"));
    }
}

#[test]
fn session_gap_completes_what_it_names() {
    let world = World::new();
    let mut pair = world.connect();
    pair.attach(0, "gap");
    let commands = SequenceSet::from_range(CommandId(0), CommandId(2));
    let gap = wire::SessionGap {
        commands: Some(commands.clone()),
    };
    pair.client.send_control(0, &Control::SessionGap(gap));
    pair.client.flush_completed(0);
    pair.run();
    let completed = |event: &Event| match event {
        Event::Completed { commands, .. } => Some(commands.clone()),
        _ => None,
    };
    let told: Vec<SequenceSet> = pair.heard.iter().filter_map(completed).collect();
    assert_eq!(
        told,
        [SequenceSet::new()],
        "the client has sent none of them"
    );
    assert!(pair.client.is_open());
}

/// What the client is told when it asks for a timeout.
fn granted(max: u32, asked: Option<u32>) -> Option<u32> {
    let world = World::new();
    let mut pair = world.connect();
    pair.adapter = std::mem::replace(
        &mut pair.adapter,
        Adapter::new(ConnectionNumber(0), ConnectionRecord::default()),
    )
    .with_timeout_max(max);
    pair.attach(0, "timeout");
    let ask = wire::SessionRequestTimeout { timeout: asked };
    pair.client
        .send_control(0, &Control::SessionRequestTimeout(ask));
    pair.run();
    let timeout = |event: &Event| match event {
        Event::Timeout { timeout, .. } => Some(*timeout),
        _ => None,
    };
    pair.heard.iter().find_map(timeout).expect("an answer")
}

#[test]
fn timeout_is_granted_up_to_what_an_operator_allows() {
    assert_eq!(granted(0, Some(60)), Some(0));
    assert_eq!(granted(0, None), Some(0));
    assert_eq!(granted(30, Some(60)), Some(30));
    assert_eq!(granted(30, Some(7)), Some(7));
    assert_eq!(granted(30, Some(0)), Some(0));
    assert_eq!(granted(30, None), Some(30));
}

#[test]
fn a_selector_that_cannot_be_read_closes_with_501() {
    let world = World::new();
    let mut pair = world.connect();
    pair.attach(0, "selector");
    pair.declare("q");
    let arguments: Map = [("x-apache-selector", "a = ")].into_iter().collect();
    pair.subscribe("q", AcceptMode::NONE, Some(arguments));
    let (code, text) = pair.closed();
    assert_eq!(code, 501);
    assert!(text.starts_with("Illegal selector: "), "{text}");
}

/// `.ci/run` runs it without features, too.
#[cfg(not(feature = "xml-exchange"))]
#[test]
fn an_exchange_of_a_type_that_is_not_built_is_not_found() {
    let world = World::new();
    let mut pair = world.connect();
    pair.attach(0, "xml");
    pair.send(Command::ExchangeDeclare(wire::ExchangeDeclare {
        exchange: "e".into(),
        r#type: "xml".into(),
        ..Default::default()
    }));
    pair.run();
    assert_eq!(pair.exception().error_code, wire::ErrorCode::NOT_FOUND);
}

#[test]
fn a_queue_filter_that_cannot_be_read_closes_with_501() {
    let world = World::new();
    let mut pair = world.connect();
    pair.attach(0, "filter");
    pair.send(Command::QueueDeclare(wire::QueueDeclare {
        queue: "q".into(),
        arguments: Some([("qpid.filter", "a = ")].into_iter().collect()),
        ..Default::default()
    }));
    pair.run();
    let (code, text) = pair.closed();
    assert_eq!(code, 501);
    assert!(text.starts_with("Illegal selector: "), "{text}");
}

#[test]
fn a_selector_picks_messages() {
    let world = World::new();
    let mut pair = world.connect();
    pair.attach(0, "selector");
    pair.declare("q");
    let arguments: Map = [("x-apache-selector", "colour = 'red'")]
        .into_iter()
        .collect();
    pair.subscribe("q", AcceptMode::NONE, Some(arguments));
    for colour in ["red", "blue", "red"] {
        let properties = wire::MessageProperties {
            application_headers: Some([("colour", colour)].into_iter().collect()),
            ..Default::default()
        };
        let mut rest = Vec::new();
        let packed = wire::Struct32::of(&properties);
        rest.extend((packed.bytes.len() as u32 + 2).to_be_bytes());
        rest.extend(packed.code.to_be_bytes());
        rest.extend(&packed.bytes);
        let delivery = wire::DeliveryProperties {
            routing_key: Some("q".into()),
            ..Default::default()
        };
        pair.publish(Some(&header(delivery, &rest)), Some(colour.as_bytes()));
    }
    pair.run();
    let bodies: Vec<_> = pair
        .deliveries()
        .into_iter()
        .map(|(_, body)| body)
        .collect();
    assert_eq!(bodies, [b"red", b"red"]);
}

#[test]
fn a_malformed_header_closes_with_501_and_names_the_field() {
    let world = World::new();
    let unknown_type: &[u8] = &[
        0, 0, 0, 18, 4, 3, 0, 1, 0, 0, 0, 10, 0, 0, 0, 1, 1, b'k', 0x7f, 0, 0, 0,
    ];
    let cases = [
        &[0, 0, 0, 9, 4, 1, 0, 0][..],
        &[0, 0][..],
        &[0, 0, 0, 1, 4][..],
        unknown_type,
    ];
    for (n, malformed) in cases.into_iter().enumerate() {
        let mut pair = world.connect();
        pair.attach(0, &format!("header {n}"));
        pair.publish(Some(malformed), Some(b"body"));
        pair.run();
        let (code, text) = pair.closed();
        assert_eq!(code, 501);
        assert!(text.contains("offset"), "{text}");
    }
}

#[test]
fn an_unknown_struct_in_a_header_passes_through() {
    let world = World::new();
    let mut pair = world.connect();
    pair.attach(0, "unknown");
    pair.declare("q");
    let rest: &[u8] = &[0, 0, 0, 5, 0x77, 0x42, 1, 2, 3];
    let delivery = wire::DeliveryProperties {
        routing_key: Some("q".into()),
        ttl: Some(60_000),
        ..Default::default()
    };
    pair.publish(Some(&header(delivery.clone(), rest)), Some(b"body"));
    pair.subscribe("q", AcceptMode::NONE, None);
    let deliveries = pair.deliveries();
    let (header, body) = &deliveries[0];
    let parts = wire::header::split(header).expect("a sound header");
    assert_eq!((&parts.rest[..], &body[..]), (rest, &b"body"[..]));
    let told = parts.delivery.expect("delivery properties");
    assert_eq!(told.exchange.as_deref(), Some(""), "where it was sent to");
    assert_eq!(told.routing_key, delivery.routing_key);
    assert!(!told.redelivered);
    assert!(told.ttl.is_some_and(|left| (1..=60_000).contains(&left)));
}

#[test]
fn a_released_message_comes_again_and_is_flagged_when_asked() {
    let world = World::new();
    let mut pair = world.connect();
    pair.attach(0, "release");
    pair.declare("q");
    pair.publish(Some(&to("q")), Some(b"again"));
    pair.subscribe("q", AcceptMode::EXPLICIT, None);
    let id = pair.heard.iter().find_map(|event| match event {
        Event::Command { id, .. } => Some(*id),
        _ => None,
    });
    pair.heard.clear();
    pair.send(Command::MessageRelease(wire::MessageRelease {
        transfers: SequenceSet::of(id.expect("a delivery")),
        set_redelivered: true,
    }));
    pair.run();
    let deliveries = pair.deliveries();
    let parts = wire::header::split(&deliveries[0].0).expect("a sound header");
    assert!(parts.delivery.is_some_and(|delivery| delivery.redelivered));
}

#[test]
fn a_timeout_is_never_granted() {
    let world = World::new();
    let mut pair = world.connect();
    pair.attach(0, "timeout");
    for timeout in [Some(300), None] {
        let request = wire::SessionRequestTimeout { timeout };
        pair.client
            .send_control(0, &Control::SessionRequestTimeout(request));
        pair.run();
        let granted = pair.heard.pop();
        let none = Event::Timeout {
            channel: 0,
            timeout: Some(0),
        };
        assert_eq!(granted, Some(none));
    }
}

#[test]
fn batches_are_cut_by_number_and_by_octets() {
    let world = World::new();
    let mut pair = world.connect();
    pair.attach(0, "batches");
    pair.declare("q");
    for _ in 0..3 * BATCH_COMMANDS_MAX {
        pair.publish(Some(&to("q")), Some(b"small"));
    }
    pair.run();
    assert_eq!(pair.largest_batch.0, BATCH_COMMANDS_MAX);
    let body = vec![0; 10_000];
    for _ in 0..20 {
        pair.publish(Some(&to("q")), Some(&body));
    }
    pair.run();
    let most = (BATCH_BYTES_MAX + body.len() + 100) as u64;
    assert!(pair.largest_batch.1 <= most, "{}", pair.largest_batch.1);
}

#[test]
fn a_detach_behind_a_command_that_fails_is_answered() {
    let world = World::new();
    let mut pair = world.connect();
    pair.attach(0, "failing");
    pair.send(Command::FileQos(Default::default()));
    pair.client.detach(0);
    pair.run();
    assert!(
        matches!(pair.heard.last(), Some(Event::Detached { .. })),
        "{:?}",
        pair.heard
    );
    pair.heard.clear();
    pair.attach(0, "failing");
}

#[test]
fn after_a_failed_session_its_name_and_channel_are_free() {
    let world = World::new();
    let mut pair = world.connect();
    for _ in 0..3 {
        pair.attach(0, "again");
        pair.send(Command::FileQos(Default::default()));
        pair.declare("never");
        pair.run();
        pair.exception();
        pair.heard.clear();
    }
    pair.attach(0, "again");
    let query = Command::QueueQuery(wire::QueueQuery {
        queue: "never".into(),
    });
    pair.send(query);
    pair.run();
    let value = pair.heard.iter().find_map(|event| match event {
        Event::Result { value, .. } => value.clone(),
        _ => None,
    });
    let result: wire::QueueQueryResult = value.expect("a result").parse().expect("of a query");
    assert_eq!(result.queue, "", "nothing was done behind the failure");
}

#[test]
fn a_name_in_use_is_busy_and_force_detaches_its_holder() {
    let world = World::new();
    let mut first = world.connect();
    first.attach(3, "shared");
    let mut second = world.connect();
    second.client.attach(0, b"shared".to_vec(), false);
    second.run();
    let busy = wire::DetachCode::SESSION_BUSY;
    assert!(
        matches!(second.heard[..], [Event::Detached { code, .. }] if code == busy),
        "{:?}",
        second.heard
    );
    second.heard.clear();
    second.client.attach(0, b"shared".to_vec(), true);
    second.run();
    assert!(matches!(second.heard[..], [Event::Attached { .. }]));
    let mut effects = Vec::new();
    first.group.take(first.number, &mut effects);
    first
        .adapter
        .handle_effects(&mut first.broker, &mut effects);
    first.run();
    assert!(
        matches!(first.heard[..], [Event::Detached { channel: 3, .. }]),
        "{:?}",
        first.heard
    );
}

#[test]
fn the_clients_own_exceptions_and_results_leave_the_session_alone() {
    let world = World::new();
    let mut pair = world.connect();
    pair.attach(0, "sound");
    pair.send(Command::ExecutionException(wire::ExecutionException {
        error_code: wire::ErrorCode::INTERNAL_ERROR,
        ..Default::default()
    }));
    pair.send(Command::ExecutionResult(Default::default()));
    let sync = Command::ExecutionSync(Default::default());
    let id = pair.client.send(0, &sync, true, None).expect("attached");
    pair.run();
    let is_done = pair
        .heard
        .iter()
        .any(|event| matches!(event, Event::Completed { commands, .. } if commands.contains(id)));
    assert!(is_done, "{:?}", pair.heard);
}

#[test]
fn a_client_that_reads_gets_more_than_the_headroom_and_one_that_does_not_gets_no_more() {
    let world = World::new();
    let mut sender = world.connect();
    sender.attach(0, "sender");
    sender.declare("q");
    let count = 3 * limits::HEADROOM_MESSAGES as usize;
    for n in 0..count {
        sender.publish(Some(&to("q")), Some(format!("{n}").as_bytes()));
    }
    sender.run();
    let mut deaf = world.connect();
    deaf.attach(0, "deaf");
    deaf.is_draining = false;
    deaf.subscribe("q", AcceptMode::NONE, None);
    // Work that is left for later entries.
    while world
        .group
        .tick(Millis(1))
        .is_some_and(|next| next <= Millis(1))
    {}
    let mut effects = Vec::new();
    world.group.take(deaf.number, &mut effects);
    deaf.adapter.handle_effects(&mut deaf.broker, &mut effects);
    assert!(deaf.broker.output().len() as u64 <= 2 * limits::HEADROOM_BYTES);
    deaf.is_draining = true;
    for _ in 0..100 {
        deaf.run();
        while world
            .group
            .tick(Millis(1))
            .is_some_and(|next| next <= Millis(1))
        {}
        let mut effects = Vec::new();
        world.group.take(deaf.number, &mut effects);
        deaf.adapter.handle_effects(&mut deaf.broker, &mut effects);
    }
    let bodies: Vec<_> = deaf
        .deliveries()
        .into_iter()
        .map(|(_, body)| body)
        .collect();
    let sent: Vec<_> = (0..count).map(|n| format!("{n}").into_bytes()).collect();
    assert!(bodies == sent, "{} of {count}", bodies.len());
}

#[test]
fn answers_that_are_not_read_are_counted_and_deliveries_are_not() {
    let world = World::new();
    let mut pair = world.connect();
    pair.attach(0, "unread");
    pair.declare("q");
    for _ in 0..100 {
        pair.publish(Some(&to("q")), Some(&[0; 9000]));
    }
    pair.run();
    pair.is_draining = false;
    pair.subscribe("q", AcceptMode::NONE, None);
    assert!(pair.broker.output().len() > 100_000);
    assert!(!pair.adapter.is_unread(), "deliveries do not count");
    let query = Command::QueueQuery(wire::QueueQuery { queue: "q".into() });
    for _ in 0..30_000 {
        pair.send(query.clone());
    }
    pair.run();
    assert!(pair.adapter.is_unread());
    pair.is_draining = true;
    pair.run();
    assert!(!pair.adapter.is_unread());
}

#[test]
fn sets_that_name_many_deliveries_share_no_batch() {
    let world = World::new();
    let mut pair = world.connect();
    pair.attach(0, "greedy");
    pair.largest_batch = (0, 0);
    let all = || SequenceSet::from_range(CommandId(0), CommandId(i32::MAX as u32));
    for _ in 0..10 {
        pair.send(Command::MessageAccept(wire::MessageAccept {
            transfers: all(),
        }));
        pair.send(Command::MessageRelease(wire::MessageRelease {
            transfers: all(),
            set_redelivered: false,
        }));
        pair.send(Command::MessageAcquire(wire::MessageAcquire {
            transfers: all(),
        }));
        pair.client.send_control(
            0,
            &Control::SessionCompleted(wire::SessionCompleted {
                commands: Some(all()),
                timely_reply: false,
            }),
        );
    }
    pair.run();
    assert_eq!(pair.largest_batch.0, 1);
}

#[test]
fn great_answers_are_written_one_by_one() {
    let world = World::new();
    let mut pair = world.connect();
    pair.attach(0, "great");
    let great = wire::Value::Vbin32(vec![7; 60_000]);
    pair.send(Command::QueueDeclare(wire::QueueDeclare {
        queue: "q".into(),
        arguments: Some([("great", great)].into_iter().collect()),
        ..Default::default()
    }));
    pair.run();
    pair.largest_batch = (0, 0);
    for _ in 0..10 {
        pair.send(Command::QueueQuery(wire::QueueQuery { queue: "q".into() }));
    }
    pair.run();
    assert_eq!(pair.largest_batch.0, 1);
}

/// A header of a persistent message for a queue.
fn persistent_to(queue: &str) -> Vec<u8> {
    let delivery = wire::DeliveryProperties {
        routing_key: Some(queue.into()),
        delivery_mode: Some(wire::DeliveryMode::PERSISTENT),
        ..Default::default()
    };
    header(delivery, &[])
}

#[test]
fn a_commit_of_persistent_messages_is_refused_without_room_and_one_of_accepts_is_not() {
    let world = World::new();
    for publishes in [true, false] {
        let mut pair = world.connect();
        pair.attach(0, "s");
        pair.declare("q");
        pair.send(Command::TxSelect(wire::TxSelect {}));
        pair.publish(Some(&persistent_to("q")), None);
        pair.run();
        if !publishes {
            pair.send(Command::TxRollback(wire::TxRollback {}));
        }
        pair.run();
        pair.adapter.set_full(true, false);
        // What need not survive needs no room.
        pair.publish(Some(&to("q")), None);
        pair.send(Command::TxCommit(wire::TxCommit {}));
        pair.run();
        let heard = &pair.heard;
        let is_refused = heard
            .iter()
            .any(|event| matches!(event, Event::Exception { .. }));
        assert_eq!(is_refused, publishes, "{heard:?}");
        if publishes {
            let exception = pair.exception();
            assert_eq!(
                exception.error_code,
                wire::ErrorCode::RESOURCE_LIMIT_EXCEEDED
            );
            assert_eq!(
                (exception.class_code, exception.command_code),
                (Some(5), Some(2))
            );
        }
        pair.heard.clear();
        world.group.close(Millis(1), pair.number);
    }
}
