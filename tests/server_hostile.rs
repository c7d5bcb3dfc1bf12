//! Clients that break the rules once they are in: an answer of the protocol's own, the process
//! alive, another connection undisturbed, memory where it was.

mod server_support;

use std::io::Write;

use ferrymq::protocol::{ClientConfig, Event};
use ferrymq::wire::{self, AcceptMode, Command, CommandId, Control, DetachCode, SequenceSet};
use server_support::{Broker, Client, control_frame, frame, session_controls};

/// A broker and a client of it that must notice nothing.
struct Scene {
    broker: Broker,
    witness: Client,
    before: u64,
}

impl Scene {
    fn new() -> Scene {
        let broker = Broker::start(&[]);
        let mut witness = Client::open(broker.address());
        witness.attach(0, "witness");
        witness.declare(0, "witness");
        witness.subscribe(0, "witness", AcceptMode::NONE);
        // Whatever a first connection of each kind makes the process allocate is there now.
        for n in 0..3 {
            let mut first = Client::open(broker.address());
            first.attach(0, &format!("first {n}"));
        }
        let before = broker.resident_bytes();
        Scene {
            broker,
            witness,
            before,
        }
    }

    fn client(&self) -> Client {
        Client::open(self.broker.address())
    }

    /// Nothing has happened that others could notice.
    fn is_well(&mut self, bytes_max: u64) {
        self.witness.publish(0, "witness", b"well");
        assert_eq!(self.witness.receive(), b"well");
        let grown = self.broker.resident_bytes().saturating_sub(self.before);
        assert!(grown <= bytes_max, "{grown} octets");
        assert!(self.broker.is_running());
    }
}

const MIB: u64 = 1 << 20;

#[test]
fn the_widest_sequence_sets_cost_nothing() {
    let mut scene = Scene::new();
    let mut client = scene.client();
    client.attach(0, "wide");
    let all = SequenceSet::from_range(CommandId(0), CommandId(i32::MAX as u32));
    for _ in 0..100 {
        let completed = wire::SessionCompleted {
            commands: Some(all.clone()),
            timely_reply: true,
        };
        let completed = Control::SessionCompleted(completed);
        client.protocol().send_control(0, &completed);
        for command in [
            Command::MessageAccept(wire::MessageAccept {
                transfers: all.clone(),
            }),
            Command::MessageRelease(wire::MessageRelease {
                transfers: all.clone(),
                set_redelivered: false,
            }),
        ] {
            client.protocol().send(0, &command, false, None);
        }
    }
    client.sync(0);
    scene.is_well(MIB);
}

#[test]
fn gaps_of_any_width_cost_nothing_and_leave_the_connection() {
    let mut scene = Scene::new();
    let mut client = scene.client();
    client.attach(0, "gap");
    client.attach(1, "beside");
    let gap = |commands| Control::SessionGap(wire::SessionGap { commands });
    client.protocol().send_control(0, &gap(None));
    client.sync(0);
    // Far ahead, and passed over when it is reached.
    let ahead = SequenceSet::from_range(CommandId(1000), CommandId(i32::MAX as u32));
    client.protocol().send_control(0, &gap(Some(ahead)));
    client.sync(0);
    // Behind this one no command of the client's has a number that is still to come.
    let all = SequenceSet::from_range(CommandId(0), CommandId(i32::MAX as u32));
    for _ in 0..100 {
        client.protocol().send_control(0, &gap(Some(all.clone())));
    }
    client.sync(1);
    scene.is_well(MIB);
}

#[test]
fn an_inverted_range_closes_with_501() {
    let mut scene = Scene::new();
    let mut client = scene.client();
    client.attach(0, "inverted");
    let completed: &[u8] = &[2, 10, 1, 0, 0, 8, 0, 0, 0, 5, 0, 0, 0, 4];
    let bytes = frame(0x0f, 0, 0, 0, completed);
    client.stream.write_all(&bytes).expect("it is sent");
    assert_eq!(client.closed().0, 501);
    let line = scene.broker.log_line("session.completed.commands");
    assert!(
        line.contains("offset") && line.contains("the client is at fault"),
        "{line}"
    );
    scene.is_well(MIB);
}

#[test]
fn session_controls_without_a_session_leave_the_connection_open() {
    let mut scene = Scene::new();
    let mut client = scene.client();
    for control in &session_controls() {
        let bytes = control_frame(5, control);
        client.stream.write_all(&bytes).expect("it is sent");
    }
    let sync = frame(0x0f, 1, 1, 5, &[3, 1, 1, 0, 0, 0]);
    client.stream.write_all(&sync).expect("it is sent");
    client.attach(5, "now");
    client.sync(5);
    scene.is_well(MIB);
}

#[test]
fn detaching_what_is_not_attached_is_answered_on_its_channel() {
    let scene = Scene::new();
    let mut client = scene.client();
    let detach = Control::SessionDetach(wire::SessionDetach {
        name: b"nobody".to_vec(),
    });
    let bytes = control_frame(7, &detach);
    client.stream.write_all(&bytes).expect("it is sent");
    // The client's own protocol drops an answer that it did not ask for: look at the octets.
    let mut answer = Vec::new();
    while answer.len() < 12 + 4 + 2 + 6 + 1 {
        let mut buffer = [0; 256];
        let read = std::io::Read::read(&mut client.stream, &mut buffer).expect("an answer");
        answer.extend_from_slice(&buffer[..read]);
    }
    let detached = Control::SessionDetached(wire::SessionDetached {
        name: b"nobody".to_vec(),
        code: DetachCode::NOT_ATTACHED,
    });
    assert_eq!(answer, control_frame(7, &detached));
}

#[test]
fn another_session_on_a_channel_in_use_is_told_that_it_is_busy() {
    let scene = Scene::new();
    let mut client = scene.client();
    client.attach(3, "first");
    let attach = Control::SessionAttach(wire::SessionAttach {
        name: b"second".to_vec(),
        force: false,
    });
    let bytes = control_frame(3, &attach);
    client.stream.write_all(&bytes).expect("it is sent");
    let code = client.event_of(|event| match event {
        Event::Detached { code, .. } => Some(*code),
        _ => None,
    });
    assert_eq!(code, DetachCode::TRANSPORT_BUSY);
}

#[test]
fn a_body_that_never_ends_is_cut_at_the_limit() {
    let mut scene = Scene::new();
    let mut client = scene.client();
    client.attach(0, "endless");
    client.sync(0);
    let transfer: &[u8] = &[4, 1, 1, 0, 0, 0];
    let command = frame(0x0b, 1, 1, 0, transfer);
    client.stream.write_all(&command).expect("it is sent");
    let body = vec![0; 65_000];
    let first = frame(0x06, 3, 1, 0, &body);
    let more = frame(0x04, 3, 1, 0, &body);
    client.stream.write_all(&first).expect("it is sent");
    for _ in 0..(ferrymq::protocol::limits::ASSEMBLY_BYTES_MAX / body.len() + 10) {
        client.stream.write_all(&more).expect("it is sent");
    }
    let code = client.event_of(|event| match event {
        Event::Exception { exception, .. } => Some(exception.error_code),
        _ => None,
    });
    assert_eq!(code, wire::ErrorCode::RESOURCE_LIMIT_EXCEEDED);
    client.cut();
    let limit = ferrymq::protocol::limits::ASSEMBLY_BYTES_MAX as u64;
    scene.is_well(limit + limit / 4);
}

#[test]
fn frames_follow_the_peers_limit_whatever_the_message() {
    let scene = Scene::new();
    let config = ClientConfig {
        max_frame_size: 4096,
        ..ClientConfig::default()
    };
    // A client of this protocol closes when a frame is larger than agreed.
    let mut small = Client::open_with(scene.broker.address(), config);
    for channel in [1, 2] {
        small.attach(channel, &format!("session {channel}"));
        small.declare(channel, &format!("q{channel}"));
        small.subscribe(channel, &format!("q{channel}"), AcceptMode::NONE);
    }
    let headers = (0..4).map(|n| {
        (
            format!("h{n}"),
            wire::Value::Str16("x".repeat(50_000).into()),
        )
    });
    let properties = wire::MessageProperties {
        application_headers: Some(headers.collect()),
        ..Default::default()
    };
    let packed = wire::Struct32::of(&properties);
    let mut rest = (packed.bytes.len() as u32 + 2).to_be_bytes().to_vec();
    rest.extend(packed.code.to_be_bytes());
    rest.extend(&packed.bytes);
    let body: Vec<u8> = (0..(1 << 20) + 1).map(|n: u32| (n % 251) as u8).collect();
    small.publish_with(1, "q1", &rest, &body);
    small.publish_with(2, "q2", &rest, b"");
    for expected in [&body[..], b""] {
        let (header, received) = small.event_of(|event| match event {
            Event::Command { header, body, .. } => Some((header.clone(), body.clone())),
            _ => None,
        });
        let parts = wire::header::split(&header.expect("a header")).expect("a sound one");
        assert!(parts.rest == rest, "the header as it was sent");
        let received: Vec<u8> = received
            .expect("a body segment")
            .iter()
            .flat_map(|part| part.to_vec())
            .collect();
        assert!(received == expected, "{} octets", received.len());
    }
}

#[test]
fn frames_whose_size_is_wrong_close_with_501() {
    let mut scene = Scene::new();
    for size in (0..12).chain([65_535]) {
        let mut client = scene.client();
        let mut bytes = frame(0x0f, 0, 0, 0, &[1, 10, 0, 0]);
        bytes[2..4].copy_from_slice(&u16::to_be_bytes(size));
        bytes.resize(65_535, 0);
        client.stream.write_all(&bytes).expect("it is sent");
        assert_eq!(client.closed().0, 501, "{size}");
    }
    scene.is_well(MIB);
}
