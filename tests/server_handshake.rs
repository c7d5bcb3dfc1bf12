//! From the first octet of a connection to its opening, over real sockets.

mod server_support;

use std::io::{Read, Write};
use std::net::Shutdown;

use ferrymq::protocol::Event;
use ferrymq::wire::{self, Control, Cursor, protocol_header};
use server_support::{
    Broker, Client, control_frame, frame, opening, rest, rest_or_reset, socket, until,
};

#[test]
fn an_unknown_protocol_header_is_answered_with_ours_and_the_socket_closed() {
    let mut broker = Broker::start(&[]);
    for header in [*b"AMQP\0\0\x09\x01", *b"AMQP\x01\x01\x08\x00", *b"GET / HT"] {
        let mut stream = socket(broker.address());
        // With more behind it than anybody reads: our header still has to arrive.
        let mut bytes = header.to_vec();
        bytes.extend([7; 100_000]);
        stream.write_all(&bytes).expect("it is sent");
        assert_eq!(rest(&mut stream), protocol_header::BYTES);
    }
    let line = broker.log_line("GET / HT");
    assert!(line.contains("the client is at fault"), "{line}");
}

#[test]
fn the_same_comes_back_however_the_bytes_are_cut() {
    let broker = Broker::start(&[]);
    let attach = wire::SessionAttach {
        name: b"cut".to_vec(),
        force: false,
    };
    let mut said = opening();
    said.extend(control_frame(3, &wire::Control::SessionAttach(attach)));
    let answers = |step: usize| {
        let mut stream = socket(broker.address());
        for part in said.chunks(step) {
            stream.write_all(part).expect("it is sent");
        }
        stream.shutdown(Shutdown::Write).expect("an end");
        rest(&mut stream)
    };
    let whole = answers(said.len());
    assert!(whole.starts_with(&protocol_header::BYTES));
    let found = whole.windows(3).filter(|part| part == b"cut").count();
    assert_eq!(found, 1, "session.attached names the session");
    for step in [1, 2, 3, 5, 7, 11, 13, 64] {
        assert_eq!(answers(step), whole, "in steps of {step}");
    }
}

#[test]
fn who_does_not_open_in_time_is_closed() {
    let mut broker = Broker::start(&["--max-negotiate-time", "300ms"]);
    let mut silent = socket(broker.address());
    let mut header_only = socket(broker.address());
    header_only
        .write_all(&protocol_header::BYTES)
        .expect("it is sent");
    let mut client = Client::open(broker.address());
    assert_eq!(rest(&mut silent), b"");
    assert!(rest(&mut header_only).starts_with(&protocol_header::BYTES));
    broker.log_line("not opened in time");
    client.attach(0, "in time");
    client.declare(0, "q");
}

#[test]
fn start_offers_anonymous_and_plain() {
    let broker = Broker::start(&[]);
    let mut client = Client::start(broker.address());
    let Event::Start {
        mechanisms,
        server_properties,
        locales,
    } = client.event()
    else {
        panic!("no start");
    };
    assert_eq!(mechanisms, ["ANONYMOUS", "PLAIN"]);
    assert_eq!(locales, ["en_US"]);
    for name in [
        "product",
        "version",
        "platform",
        "host",
        "qpid.federation_tag",
    ] {
        assert!(server_properties.contains(name), "{name}");
    }
}

#[test]
fn a_malformed_plain_response_closes_with_320() {
    let mut broker = Broker::start(&[]);
    let mut client = Client::start(broker.address());
    client.event();
    client
        .protocol()
        .start_ok("PLAIN", Some(b"no zero octets".to_vec()), "en_US");
    assert_eq!(client.closed(), (320, "Authentication failed".to_owned()));
    let line = broker.log_line("Authentication failed");
    assert!(line.contains("PLAIN"), "{line}");
}

#[test]
fn a_plain_response_that_is_absent_is_asked_for() {
    let broker = Broker::start(&[]);
    let mut client = Client::start(broker.address());
    client.event();
    client.protocol().start_ok("PLAIN", None, "en_US");
    client.event_of(|event| matches!(event, Event::Secure { .. }).then_some(()));
    client.protocol().secure_ok(b"\0guest\0guest".to_vec());
    client.event_of(|event| matches!(event, Event::OpenOk { .. }).then_some(()));
}

#[test]
fn what_has_no_place_before_open_closes_with_501() {
    let mut broker = Broker::start(&[]);
    let attach = wire::Control::SessionAttach(wire::SessionAttach {
        name: b"early".to_vec(),
        force: false,
    });
    for early in [
        control_frame(0, &attach),
        control_frame(5, &attach),
        frame(0x0f, 3, 1, 0, b"body"),
        frame(0x0f, 1, 1, 0, &[4, 1, 1, 0, 0, 0]),
    ] {
        let mut stream = socket(broker.address());
        let mut bytes = protocol_header::BYTES.to_vec();
        bytes.extend(early);
        stream.write_all(&bytes).expect("it is sent");
        let answer = rest(&mut stream);
        assert_eq!(close_code(&answer), Some(501));
    }
    broker.log_line("closed with 501");
}

/// The code of the `connection.close` that ends what the broker said.
fn close_code(said: &[u8]) -> Option<u16> {
    let mut left = said.strip_prefix(&protocol_header::BYTES)?;
    let mut code = None;
    while let Some(size) = left.get(2..4) {
        let size = usize::from(u16::from_be_bytes([size[0], size[1]]));
        let control = wire::Control::decode(&mut Cursor::new(left.get(12..size)?)).ok()?;
        if let wire::Control::ConnectionClose(close) = control {
            code = Some(close.reply_code.0);
        }
        left = &left[size..];
    }
    code
}

#[test]
fn more_connections_than_may_be_are_told_so() {
    let mut broker = Broker::start(&["--max-connections", "2"]);
    let first = Client::open(broker.address());
    let mut second = Client::open(broker.address());
    let mut third = Client::start(broker.address());
    third.event();
    third.protocol().start_ok("ANONYMOUS", None, "en_US");
    let denied = "User connection denied by configured limit";
    assert_eq!(third.closed(), (320, denied.to_owned()));
    broker.log_line(denied);
    second.attach(0, "undisturbed");
    second.declare(0, "q");
    first.cut();
    until("one that left has made room", || {
        let mut next = Client::start(broker.address());
        next.event();
        next.protocol().start_ok("ANONYMOUS", None, "en_US");
        next.event_of(|event| match event {
            Event::OpenOk { .. } => Some(true),
            Event::Closed { .. } => Some(false),
            _ => None,
        })
    });
}

#[test]
fn hostile_properties_cost_no_memory() {
    let broker = Broker::start(&[]);
    let before = broker.resident_bytes();
    // connection.start-ok with a map of arrays of 255 void each: few octets, many values.
    let mut map = Vec::new();
    let array: &[u8] = &[0xaa, 0, 0, 0, 5, 0xf0, 0, 0, 0, 255];
    let count = 3000_u32;
    map.extend(count.to_be_bytes());
    for n in 0..count {
        let key = format!("{n:04}");
        map.push(4);
        map.extend(key.as_bytes());
        map.extend(array);
    }
    let mut payload = vec![1, 2, 0x0f, 0];
    payload.extend((map.len() as u32).to_be_bytes());
    payload.extend(&map);
    payload.extend(b"\x09ANONYMOUS\0\0\0\0\x05en_US");
    let mut bytes = protocol_header::BYTES.to_vec();
    bytes.extend(frame(0x0f, 0, 0, 0, &payload));
    let mut streams: Vec<_> = (0..10).map(|_| socket(broker.address())).collect();
    for stream in &mut streams {
        stream.write_all(&bytes).expect("it is sent");
    }
    for stream in &mut streams {
        assert_eq!(close_code(&rest(stream)), Some(501));
    }
    let grown = broker.resident_bytes().saturating_sub(before);
    assert!(grown < 10 << 20, "{grown} octets");
}

#[test]
fn many_silent_peers_keep_nobody_waiting_and_leave_nothing_behind() {
    let mut broker = Broker::start(&["--max-negotiate-time", "2s", "--connection-backlog", "500"]);
    let files = broker.open_files();
    let before = broker.resident_bytes();
    let mut silent: Vec<_> = (0..400).map(|_| socket(broker.address())).collect();
    for stream in silent.iter_mut().skip(200) {
        stream
            .write_all(&protocol_header::BYTES)
            .expect("it is sent");
    }
    let grown = broker.resident_bytes().saturating_sub(before);
    assert!(grown < 400 * 32 * 1024, "{grown} octets");
    for n in 0..20 {
        let mut client = Client::open(broker.address());
        client.attach(0, &format!("good {n}"));
    }
    for stream in &mut silent {
        let mut buffer = [0; 4096];
        while stream.read(&mut buffer).is_ok_and(|read| read > 0) {}
    }
    until("all sockets are closed", || broker.open_files() <= files);
    assert!(broker.is_running());
}

#[test]
fn when_files_run_out_the_oldest_silent_peer_gives_way() {
    let mut broker = Broker::start_with_files(64, &["--connection-backlog", "200"]);
    let _silent: Vec<_> = (0..100).map(|_| socket(broker.address())).collect();
    let mut client = Client::open(broker.address());
    client.attach(0, "good");
    client.declare(0, "q");
    broker.log_line("cannot accept a connection");
    broker.log_line("has not opened its connection");
}

/// What a client says to declare a queue on a session of its own.
fn declaring(queue: &str) -> Vec<u8> {
    let attach = wire::SessionAttach {
        name: queue.as_bytes().to_vec(),
        force: false,
    };
    let declare = wire::Command::QueueDeclare(wire::QueueDeclare {
        queue: queue.into(),
        ..Default::default()
    });
    let mut command = Vec::new();
    declare.encode(true, &mut command);
    let mut bytes = control_frame(1, &Control::SessionAttach(attach));
    let point = Control::SessionCommandPoint(Default::default());
    bytes.extend(control_frame(1, &point));
    bytes.extend(frame(0x0f, 1, 1, 1, &command));
    bytes
}

#[test]
fn commands_before_open_ok_are_not_done() {
    let mut broker = Broker::start(&[]);
    let whole = opening();
    // The header and the three controls, by themselves.
    let mut parts = vec![whole[..8].to_vec()];
    let mut left = &whole[8..];
    while !left.is_empty() {
        let size = usize::from(u16::from_be_bytes([left[2], left[3]]));
        parts.push(left[..size].to_vec());
        left = &left[size..];
    }
    assert_eq!(parts.len(), 4);
    // Where the session and its command come: before one of the parts, or instead of one.
    let mut sequences = Vec::new();
    for at in 0..parts.len() {
        for skipped in [0, 1] {
            sequences.push((at, at + skipped));
        }
    }
    let queues: Vec<String> = (0..sequences.len()).map(|n| format!("early-{n}")).collect();
    for ((before, after), queue) in sequences.into_iter().zip(&queues) {
        let mut bytes = parts[..before].concat();
        bytes.extend(declaring(queue));
        bytes.extend(parts[after..].concat());
        let mut stream = socket(broker.address());
        // The broker may close before it has read all.
        let _ = stream.write_all(&bytes);
        rest_or_reset(&mut stream);
    }
    // The same behind all of it is done, though nobody has waited for open-ok.
    let mut stream = socket(broker.address());
    let bytes = [opening(), declaring("in time")].concat();
    stream.write_all(&bytes).expect("it is sent");
    let mut client = Client::open(broker.address());
    let mut channel = 0;
    let mut is_there = |queue: &str| {
        // A question that is answered with no ends its session.
        channel += 1;
        client.attach(channel, &format!("look {channel}"));
        let query = wire::QueueDeclare {
            queue: queue.into(),
            passive: true,
            ..Default::default()
        };
        client
            .ask(channel, wire::Command::QueueDeclare(query))
            .is_ok()
    };
    until("what comes in order is done", || is_there("in time"));
    for queue in &queues {
        assert!(!is_there(queue), "{queue}");
    }
    assert!(broker.is_running());
}
