//! Who sends a member's clients' port what he should not, or passwords that are wrong: neither that
//! member nor another has anything of it, and their states stay the same.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr};
use std::time::Duration;

use ferrymq::client::Session;
use ferrymq::wire::{self, Command, CommandId, Control, Map, SequenceSet, protocol_header};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpSocket;
use tokio::task::JoinSet;

use super::fanned_out::elections;
use super::members::{Members, ended_well, leader};
use crate::durable_support::{
    Directory, bodies, declare, durable_queue, publish_all, query, session,
};
use crate::server_support::{
    Broker, add_user, control_frame, frame, one_entry, opening, session_controls, socket,
    start_ok_of,
};

/// Wrong passwords that are tried, and the addresses that they come from: 127.0.0.2 and on. Nobody else
/// is there, so that nobody is shut out with them.
const PASSWORDS: usize = 1000;
const HOSTS: u8 = 4;

/// Connections that try passwords at one moment.
const TRYING_MAX: usize = 16;

/// Sockets that say nothing, or stop after the header.
const SILENT: usize = 40;

/// What is longer is not said octet by octet.
const SPLIT_MAX: usize = 500;

/// What is written at once.
const PIECE: usize = 64 * 1024;

/// A queue whose messages nobody of those should touch, filled amid all of it.
async fn go_on(session: Session) -> usize {
    let mut sent = 0;
    loop {
        publish_all(&session, "q", &bodies(sent, 10)).await;
        sent += 10;
        if query(&session, "stop").await.message_count > 0 {
            return sent;
        }
    }
}

fn attach(name: &str) -> Vec<u8> {
    let attach = wire::SessionAttach {
        name: name.into(),
        force: false,
    };
    let point = wire::SessionCommandPoint {
        command_id: CommandId(0),
        command_offset: 0,
    };
    [
        control_frame(0, &Control::SessionAttach(attach)),
        control_frame(0, &Control::SessionCommandPoint(point)),
    ]
    .concat()
}

/// One frame with one whole command, without a header of its own.
fn command(octets: &[u8]) -> Vec<u8> {
    frame(
        0x0f,
        1,
        1,
        0,
        &[&octets[..2], &[1, 0], &octets[2..]].concat(),
    )
}

fn encoded(command: &Command) -> Vec<u8> {
    let mut octets = Vec::new();
    command.encode(false, &mut octets);
    frame(0x0f, 1, 1, 0, &octets)
}

/// What is said before a connection is open.
fn before_open() -> Vec<Vec<u8>> {
    let countless = [&[0xf0][..], &u32::MAX.to_be_bytes()].concat();
    let countless = [&(countless.len() as u32).to_be_bytes()[..], &countless].concat();
    let small = [&5_u32.to_be_bytes()[..], &[0xf0], &256_u32.to_be_bytes()].concat();
    let mut many = 5000_u32.to_be_bytes().to_vec();
    for n in 0..5000 {
        let name = format!("{n}");
        many.push(name.len() as u8);
        many.extend([name.as_bytes(), &[0xaa], &small].concat());
    }
    let mut nested = 0_u32.to_be_bytes().to_vec();
    for _ in 0..8000 {
        let length = (nested.len() as u32).to_be_bytes();
        nested = one_entry(0xa8, &[&length[..], &nested].concat());
    }
    let mut all = vec![
        start_ok_of(&one_entry(0xaa, &countless)),
        start_ok_of(&many),
        start_ok_of(&nested),
        start_ok_of(&one_entry(0xa8, &u32::MAX.to_be_bytes())),
        start_ok_of(&u32::MAX.to_be_bytes()),
        b"AMQP\x01\x01\x00\x09".to_vec(),
        b"AMQP\x00\x01\x00\x00".to_vec(),
        b"whatever".to_vec(),
        [protocol_header::BYTES.to_vec(), attach("early")].concat(),
        [
            protocol_header::BYTES.to_vec(),
            frame(0x0f, 3, 1, 5, b"body"),
        ]
        .concat(),
        [protocol_header::BYTES.to_vec(), command(&[4, 1, 0, 0])].concat(),
    ];
    for size in (0..12_u16).chain([65_535]) {
        let mut octets =
            control_frame(0, &Control::ConnectionOpen(wire::ConnectionOpen::default()));
        octets[2..4].copy_from_slice(&size.to_be_bytes());
        octets.resize(4096, 0);
        all.push([protocol_header::BYTES.to_vec(), octets.clone()].concat());
        all.push([opening(), octets].concat());
    }
    for response in [None, Some(Vec::new())] {
        for mechanism in ["PLAIN", "EXTERNAL", "SCRAM-SHA-256", "ANONYMOUS"] {
            let start_ok = Control::ConnectionStartOk(wire::ConnectionStartOk {
                client_properties: Some(Map::new()),
                mechanism: mechanism.into(),
                response: response.clone(),
                locale: "en_US".into(),
            });
            let said = control_frame(0, &start_ok);
            all.push([protocol_header::BYTES.to_vec(), said].concat());
        }
    }
    all
}

/// What is said on an open connection without a session.
fn without_session() -> Vec<Vec<u8>> {
    let mut controls = session_controls();
    controls.push(Control::SessionDetach(wire::SessionDetach {
        name: b"nobody".to_vec(),
    }));
    let said = controls.iter().map(|control| control_frame(5, control));
    let mut all: Vec<Vec<u8>> = said.collect();
    all.push(command(&[3, 1]));
    all.push(frame(0x0f, 3, 1, 9, b"a body of nobody"));
    all
}

/// What is said in a session.
fn in_session() -> Vec<Vec<u8>> {
    let wide = SequenceSet::from_range(CommandId(0), CommandId(i32::MAX as u32));
    let completed = wire::SessionCompleted {
        commands: Some(wide.clone()),
        timely_reply: true,
    };
    let inverted: &[u8] = &[2, 10, 1, 0, 0, 8, 0, 0, 0, 5, 0, 0, 0, 4];
    let gap = wire::SessionGap {
        commands: Some(wide.clone()),
    };
    let mut all = vec![
        control_frame(0, &Control::SessionCompleted(completed)),
        encoded(&Command::MessageAccept(wire::MessageAccept {
            transfers: wide.clone(),
        })),
        encoded(&Command::MessageRelease(wire::MessageRelease {
            transfers: wide.clone(),
            set_redelivered: false,
        })),
        encoded(&Command::MessageReject(wire::MessageReject {
            transfers: wide,
            code: Default::default(),
            text: None,
        })),
        frame(0x0f, 0, 0, 0, inverted),
        control_frame(0, &Control::SessionGap(gap)),
        attach("another on the channel"),
        // Of no class and of no command.
        command(&[99, 1, 0, 0]),
        command(&[4, 99, 0, 0]),
    ];
    // Each length of a queue's name, of its arguments and of what is in them, that passes the end.
    for length in [1_u8, 5, 255] {
        all.push(command(&[8, 1, 1, 0, length]));
    }
    for length in [1_u32, 100, u32::MAX] {
        let arguments = [&[8, 1, 0x41, 0, 1, b'q'][..], &length.to_be_bytes()].concat();
        all.push(command(&arguments));
    }
    // Headers: cut short, of an unknown code, and a map whose type is none.
    let properties = wire::Struct32::of(&wire::MessageProperties::default());
    for header in [
        vec![0, 0, 0, 9, 4, 1],
        vec![0, 0, 0, 2, 0x7f, 0x7f],
        [&[0, 0, 0, 11, 4, 3, 1, 0][..], &one_entry(0x77, b"")].concat(),
        [&u32::MAX.to_be_bytes()[..], &properties.bytes].concat(),
    ] {
        let transfer = frame(0x0b, 1, 1, 0, &[4, 1, 1, 0, 0, 0]);
        let header = frame(0x0a, 2, 1, 0, &header);
        all.push([transfer, header, frame(0x07, 3, 1, 0, b"body")].concat());
    }
    // Frames of two sessions' segments among each other, and a segment that begins twice.
    all.push(
        [
            frame(0x0b, 1, 1, 0, &[4, 1, 1, 0, 0, 0]),
            frame(0x0a, 3, 1, 0, b"x"),
        ]
        .concat(),
    );
    all.push([frame(0x06, 3, 1, 0, b"a"), frame(0x06, 3, 1, 0, b"b")].concat());
    all
}

/// Says something whole or octet by octet, and reads until the member ends the connection or it is clear
/// that it has answered: nobody says more.
fn say(address: SocketAddr, said: &[u8], is_split: bool) -> Vec<u8> {
    let mut stream = socket(address);
    let piece = if is_split { 1 } else { PIECE };
    for part in said.chunks(piece) {
        // It may have closed before all was said.
        if stream.write_all(part).is_err() {
            break;
        }
    }
    let _ = stream.shutdown(Shutdown::Write);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    answer
}

/// A body without an end: more than a message may have.
fn endless_body(address: SocketAddr) {
    let mut stream = socket(address);
    let transfer = frame(0x0b, 1, 1, 0, &[4, 1, 1, 0, 0, 0]);
    let said = [opening(), attach("endless"), transfer].concat();
    stream.write_all(&said).expect("it is well so far");
    let body = vec![0; 65_000];
    let mut left = ferrymq::protocol::limits::ASSEMBLY_BYTES_MAX / body.len() + 10;
    let mut part = frame(0x06, 3, 1, 0, &body);
    while left > 0 && stream.write_all(&part).is_ok() {
        part = frame(0x04, 3, 1, 0, &body);
        left -= 1;
    }
}

/// Tries a wrong password from an address of its own; gives what the member answered.
async fn wrong_password(address: SocketAddr, n: usize) -> Vec<u8> {
    let host = 2 + (n % usize::from(HOSTS)) as u8;
    let socket = TcpSocket::new_v4().expect("a socket");
    let own = SocketAddr::from((Ipv4Addr::new(127, 0, 0, host), 0));
    socket.bind(own).expect("it is this machine's");
    let mut stream = socket.connect(address).await.expect("the member listens");
    let start_ok = Control::ConnectionStartOk(wire::ConnectionStartOk {
        client_properties: Some(Map::new()),
        mechanism: "PLAIN".into(),
        response: Some(format!("\0ann\0wrong {n}").into_bytes()),
        locale: "en_US".into(),
    });
    let said = [&protocol_header::BYTES[..], &control_frame(0, &start_ok)].concat();
    stream.write_all(&said).await.expect("it reads");
    // Whoever says no more is not waited for when the connection is closed.
    stream.shutdown().await.expect("it is there");
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    answer
}

async fn wrong_passwords(address: SocketAddr) {
    let mut tries = JoinSet::new();
    for n in 0..PASSWORDS {
        if tries.len() >= TRYING_MAX {
            is_refused(tries.join_next().await);
        }
        tries.spawn(wrong_password(address, n));
    }
    while let Some(tried) = tries.join_next().await {
        is_refused(Some(tried));
    }
}

fn is_refused(tried: Option<Result<Vec<u8>, tokio::task::JoinError>>) {
    let answer = tried.expect("one was tried").expect("it does not panic");
    let text = String::from_utf8_lossy(&answer);
    assert!(text.contains("Authentication failed"), "{text}");
}

/// All that nobody should say, to one member.
fn attack(address: SocketAddr) -> usize {
    let mut silent: Vec<_> = (0..SILENT).map(|_| socket(address)).collect();
    for stream in silent.iter_mut().skip(SILENT / 2) {
        stream.write_all(&protocol_header::BYTES).expect("it reads");
    }
    let (before, inside) = (before_open(), in_session());
    let outside = without_session().into_iter();
    let outside: Vec<Vec<u8>> = outside.map(|said| [opening(), said].concat()).collect();
    for said in before.iter().chain(&outside) {
        say(address, said, false);
        // The same however it is split, the header too; of what is long that takes too long.
        if said.len() < SPLIT_MAX {
            say(address, said, true);
        }
    }
    for (n, said) in inside.iter().enumerate() {
        let name = format!("hostile {n}");
        let said = [opening(), attach(&name), said.clone()].concat();
        let answer = say(address, &said, n % 2 == 0);
        let answer = String::from_utf8_lossy(&answer);
        assert!(answer.contains(&name), "it was never attached: {answer}");
    }
    endless_body(address);
    before.len() + outside.len() + inside.len()
}

/// All members end alike: what the first one says of its state, the others have, too.
fn end_alike(brokers: &mut [Broker]) {
    brokers[0].signal("TERM");
    ended_well(&mut brokers[0]);
    let line = brokers[0].log_line("ends; the state at entry");
    let (_, said) = line.split_once("Member ").expect("who it is");
    let said = said.to_owned();
    for other in &mut brokers[1..] {
        other.log_line(&said);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_nobody_should_say_to_a_member_does_no_harm_to_any() {
    let directory = Directory::new();
    let users = directory.path().join("users");
    let users = users.to_str().expect("it is UTF-8");
    add_user(["--users-file", users], "ann", "the right one");
    let options = [
        "--auth",
        "yes",
        "--users-file",
        users,
        "--sasl-mechanisms",
        "PLAIN,ANONYMOUS,SCRAM-SHA-256",
    ];
    let members = Members::new(3, &options);
    let mut brokers = members.start_all();
    leader(&mut brokers);
    let definer = session(&brokers[0]).await;
    declare(&definer, durable_queue("q")).await;
    declare(&definer, durable_queue("stop")).await;
    let before = elections(&mut brokers);
    // Of the one that is attacked and of another.
    let mut load = JoinSet::new();
    for broker in &brokers[1..] {
        load.spawn(go_on(session(broker).await));
    }
    let address = brokers[1].address();
    let attacked = tokio::task::spawn_blocking(move || attack(address));
    let attacked = attacked.await.expect("all was said");
    assert!(attacked > 70, "only {attacked} were said");
    wrong_passwords(address).await;
    publish_all(&definer, "stop", &bodies(0, 1)).await;
    let mut sent = 0;
    while let Some(ended) = load.join_next().await {
        sent += ended.expect("its session goes on");
    }
    tokio::time::timeout(Duration::from_secs(60), async {
        for broker in &brokers {
            let own = session(broker).await;
            assert_eq!(query(&own, "q").await.message_count as usize, sent);
        }
    })
    .await
    .expect("all members answer");
    assert!(brokers.iter_mut().all(Broker::is_running));
    assert_eq!(elections(&mut brokers), before, "nobody else leads");
    end_alike(&mut brokers);
}
