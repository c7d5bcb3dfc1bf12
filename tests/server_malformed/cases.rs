//! What has brought brokers of AMQP down before: each input with what is to come of it.

use ferrymq::wire::{self, Command, CommandId, Control, SequenceSet, protocol_header};

use crate::answers::Answer;
use crate::frames::{command_frame, first_channel};
use crate::server_support::{
    control_frame, frame, one_entry, opening, session_controls, start_ok_of,
};

/// What is to come of an input.
#[derive(Clone, Copy, Debug)]
pub enum Wanted {
    /// The connection is closed with this code.
    Closed(u16),
    /// A session fails with this code, and no connection is closed.
    Failed(u16),
    /// `session.detached` with this code, and nothing else is wrong.
    Detached(u8),
    /// Nothing is wrong with it, or nobody is there to be told.
    Nothing,
}

impl Wanted {
    /// What came instead, in words.
    fn missed(self, answer: &Answer) -> Option<String> {
        let Answer {
            closed,
            failed,
            detached,
            ..
        } = answer;
        let is_met = match self {
            Wanted::Closed(code) => *closed == [code],
            Wanted::Failed(code) => closed.is_empty() && *failed == [code],
            Wanted::Detached(code) => closed.is_empty() && failed.is_empty() && *detached == [code],
            Wanted::Nothing => closed.is_empty() && failed.is_empty() && detached.is_empty(),
        };
        (!is_met).then(|| format!("wanted {self:?}, came {answer:?}"))
    }
}

/// What came of cases otherwise than it should.
#[derive(Default)]
pub struct Missed(Vec<String>);

impl Missed {
    pub fn note(&mut self, name: &str, wanted: Wanted, answer: &Answer) {
        let missed = wanted.missed(answer);
        self.0
            .extend(missed.map(|missed| format!("{name}: {missed}")));
    }

    /// Nothing did.
    pub fn judge(self) {
        assert!(self.0.is_empty(), "{:#?}", self.0);
    }
}

/// An input.
pub struct Case {
    pub name: &'static str,
    pub said: Vec<u8>,
    pub wanted: Wanted,
}

fn case(name: &'static str, said: Vec<u8>, wanted: Wanted) -> Case {
    Case { name, said, wanted }
}

fn attach(channel: u16, name: &str) -> Vec<u8> {
    let attach = wire::SessionAttach {
        name: name.into(),
        force: false,
    };
    control_frame(channel, &Control::SessionAttach(attach))
}

/// Client properties that few octets make much of.
fn properties() -> [(&'static str, Vec<u8>); 5] {
    let sized = |octets: Vec<u8>| [&(octets.len() as u32).to_be_bytes()[..], &octets].concat();
    let array = |count: u32| sized([&[0xf0][..], &count.to_be_bytes()].concat());
    let mut many = 2000_u32.to_be_bytes().to_vec();
    for n in 0..2000 {
        let name = format!("{n}");
        many.push(name.len() as u8);
        many.extend([name.as_bytes(), &[0xaa], &array(256)].concat());
    }
    let mut nested = 0_u32.to_be_bytes().to_vec();
    for _ in 0..5000 {
        nested = one_entry(0xa8, &sized(nested));
    }
    [
        (
            "an array of countless values without octets",
            one_entry(0xaa, &array(u32::MAX)),
        ),
        ("thousands of arrays of values without octets", many),
        ("maps one in the other", nested),
        (
            "a map that says it is longer than the frame",
            one_entry(0xa8, &u32::MAX.to_be_bytes()),
        ),
        (
            "a count of entries that are not there",
            u32::MAX.to_be_bytes().to_vec(),
        ),
    ]
}

/// What is said before a connection is open.
pub fn before_login() -> Vec<Case> {
    let mut all: Vec<Case> = properties()
        .into_iter()
        .map(|(name, octets)| case(name, start_ok_of(&octets), Wanted::Closed(501)))
        .collect();
    for (name, octets) in [
        ("AMQP 0-9-1", &b"AMQP\x00\x00\x09\x01"[..]),
        ("AMQP 0-8", b"AMQP\x01\x01\x00\x08"),
        ("AMQP 1.0", b"AMQP\x00\x01\x00\x00"),
        ("no AMQP", b"whatever"),
        ("half a header", b"AMQP"),
        ("nothing", b""),
    ] {
        all.push(case(name, octets.to_vec(), Wanted::Nothing));
    }
    all.extend(out_of_turn());
    all
}

/// What has its turn later, if ever, said right behind the header.
fn out_of_turn() -> Vec<Case> {
    let header = protocol_header::BYTES.to_vec();
    let after_header = |said: Vec<u8>| [header.clone(), said].concat();
    let mut all = Vec::new();
    all.push(case(
        "a session before the login",
        after_header(attach(0, "early")),
        Wanted::Closed(501),
    ));
    all.push(case(
        "a session on another channel",
        after_header(attach(5, "early")),
        Wanted::Closed(501),
    ));
    let body = frame(0x0f, 3, 1, 5, b"body");
    all.push(case(
        "a body before the login",
        after_header(body),
        Wanted::Closed(501),
    ));
    let transfer = command_frame(
        0,
        &Command::MessageTransfer(wire::MessageTransfer::default()),
    );
    all.push(case(
        "a message before the login",
        after_header(transfer),
        Wanted::Closed(501),
    ));
    let open = first_channel(&Control::ConnectionOpen(wire::ConnectionOpen::default()));
    all.push(case(
        "open at once",
        after_header(open.clone()),
        Wanted::Closed(501),
    ));
    let tune_ok = first_channel(&Control::ConnectionTuneOk(wire::ConnectionTuneOk::default()));
    all.push(case(
        "tune-ok at once",
        after_header(tune_ok),
        Wanted::Closed(501),
    ));
    let secure_ok = wire::ConnectionSecureOk {
        response: Vec::new(),
    };
    let secure_ok = first_channel(&Control::ConnectionSecureOk(secure_ok));
    all.push(case(
        "an answer to no challenge",
        after_header(secure_ok),
        Wanted::Closed(501),
    ));
    all.push(case(
        "all of a login without one",
        opening(),
        Wanted::Closed(320),
    ));
    for size in [0_u16, 1, 11, 65_535] {
        let mut octets = open.clone();
        octets[2..4].copy_from_slice(&size.to_be_bytes());
        octets.resize(65_535, 0);
        all.push(case(
            "a frame of a wrong size",
            after_header(octets),
            Wanted::Closed(501),
        ));
    }
    all
}

/// What is said on an open connection without a session.
pub fn without_session() -> Vec<Case> {
    let detach = Control::SessionDetach(wire::SessionDetach {
        name: b"nobody".to_vec(),
    });
    let sync = command_frame(5, &Command::ExecutionSync(wire::ExecutionSync {}));
    let controls = session_controls();
    let gap = control_frame(5, &controls[0]);
    let mut all = vec![
        case(
            "detaching nobody",
            control_frame(7, &detach),
            Wanted::Detached(3),
        ),
        case("a gap of nobody", gap, Wanted::Nothing),
        case("a command of nobody", sync, Wanted::Nothing),
        case(
            "a body of nobody",
            frame(0x0f, 3, 1, 9, b"a body"),
            Wanted::Nothing,
        ),
    ];
    for control in &controls {
        let said = control_frame(5, control);
        all.push(case("a control of nobody", said, Wanted::Nothing));
    }
    all
}

/// One frame with one whole command without a header of its own.
fn raw(octets: &[u8]) -> Vec<u8> {
    let payload = [&octets[..2], &[1, 0], &octets[2..]].concat();
    frame(0x0f, 1, 1, 0, &payload)
}

/// What is said on the first channel, where a session is that has sent one command.
pub fn in_session() -> Vec<Case> {
    let wide = SequenceSet::from_range(CommandId(0), CommandId(i32::MAX as u32));
    let completed = Control::SessionCompleted(wire::SessionCompleted {
        commands: Some(wide.clone()),
        timely_reply: true,
    });
    let accept = Command::MessageAccept(wire::MessageAccept {
        transfers: wide.clone(),
    });
    let release = Command::MessageRelease(wire::MessageRelease {
        transfers: wide.clone(),
        set_redelivered: false,
    });
    let gap = Control::SessionGap(wire::SessionGap {
        commands: Some(wide),
    });
    let inverted: &[u8] = &[0, 8, 0, 0, 0, 5, 0, 0, 0, 4];
    let inverted_control = [&[2, 10, 1, 0][..], inverted].concat();
    let inverted_accept = [&[4, 2, 1, 0][..], inverted].concat();
    let all = vec![
        case(
            "the widest set completed",
            control_frame(0, &completed),
            Wanted::Nothing,
        ),
        case(
            "the widest set accepted",
            command_frame(0, &accept),
            Wanted::Nothing,
        ),
        case(
            "the widest set released",
            command_frame(0, &release),
            Wanted::Nothing,
        ),
        case(
            "an inverted range completed",
            frame(0x0f, 0, 0, 0, &inverted_control),
            Wanted::Closed(501),
        ),
        case(
            "an inverted range accepted",
            raw(&inverted_accept),
            Wanted::Closed(501),
        ),
        case("a gap", control_frame(0, &gap), Wanted::Nothing),
        case(
            "another session on the channel",
            attach(0, "another"),
            Wanted::Detached(2),
        ),
    ];
    all.into_iter().chain(commands()).chain(headers()).collect()
}

/// Commands that are none, and segments that have no place.
fn commands() -> Vec<Case> {
    vec![
        case(
            "a class that is none",
            raw(&[99, 1, 0, 0]),
            Wanted::Failed(540),
        ),
        case(
            "a command that is none",
            raw(&[4, 99, 0, 0]),
            Wanted::Failed(540),
        ),
        case(
            "a name that passes the end",
            raw(&[8, 1, 1, 0, 255]),
            Wanted::Closed(501),
        ),
        case(
            "arguments that pass the end",
            raw(&[8, 1, 0x41, 0, 1, b'q', 0xff, 0xff, 0xff, 0xff]),
            Wanted::Closed(501),
        ),
        case(
            "a header behind a command without one",
            [
                frame(0x0b, 1, 1, 0, &[3, 1, 1, 0]),
                frame(0x07, 2, 1, 0, &[]),
            ]
            .concat(),
            Wanted::Closed(501),
        ),
        case(
            "a body without a command",
            frame(0x07, 3, 1, 0, b"x"),
            Wanted::Closed(501),
        ),
    ]
}

/// Messages with headers that are none.
fn headers() -> impl Iterator<Item = Case> {
    let properties = wire::Struct32::of(&wire::MessageProperties::default());
    let headers: [(&'static str, Vec<u8>); 4] = [
        ("a struct that is cut off", vec![0, 0, 0, 9, 4, 1]),
        ("a struct without its code", vec![0, 0, 0, 1, 4]),
        (
            "a map of a type that is none",
            [
                &[0, 0, 0, 17, 4, 3, 0, 1, 0, 0, 0, 9][..],
                &one_entry(0xe0, b"xx"),
            ]
            .concat(),
        ),
        (
            "a struct longer than all there is",
            [&u32::MAX.to_be_bytes()[..], &properties.bytes].concat(),
        ),
    ];
    headers.into_iter().map(|(name, header)| {
        let transfer = frame(0x0b, 1, 1, 0, &[4, 1, 1, 0, 0, 0]);
        let header = frame(0x03, 2, 1, 0, &header);
        let said = [transfer, header, frame(0x07, 3, 1, 0, b"body")].concat();
        case(name, said, Wanted::Closed(501))
    })
}
