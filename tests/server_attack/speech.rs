//! What those who attack say: at once, and one octet a second.

use ferrymq::security::sasl::scram::{ClientSide, Hash};
use ferrymq::wire::{
    self, AcceptMode, Command, Control, Cursor, Map, Text, Value, protocol_header,
};

use super::attacker::{HEARTBEAT, Way, deaf_queue};
use crate::server_support::{control_frame, frame};

/// The user as whom they log in, where they do.
pub const USER: &str = "crowd";

/// Octets of the payload of the largest frame.
const PAYLOAD_BYTES_MAX: usize = 65_535 - 12;

/// What a connection says at once: nothing; or something before the login, all of it or half; or a login.
pub fn words(way: Way, number: usize) -> Vec<u8> {
    match way {
        Way::Silent => Vec::new(),
        Way::InsideTheHandshake => inside_the_handshake(number),
        Way::Largest => largest(number),
        Way::LargestHeld => largest_held(),
        Way::LoggedIn | Way::Deaf => login(way, number),
        Way::Trickling => match number % 4 {
            1 => [protocol_header::BYTES.to_vec(), started("nobody")].concat(),
            3 => login(way, number),
            _ => Vec::new(),
        },
    }
}

/// What a trickling connection says one octet a second: a protocol header and more of the handshake, an
/// answer of SASL, the hello of TLS, or a message.
pub fn trickle(number: usize) -> Vec<u8> {
    match number % 4 {
        0 => inside_the_handshake(2),
        1 => {
            let response = vec![b'x'; 1000];
            let secure_ok = wire::ConnectionSecureOk { response };
            control_frame(0, &Control::ConnectionSecureOk(secure_ok))
        }
        // RFC 8446: a record of the handshake with a ClientHello (1) of 508 octets.
        2 => [&[22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3][..], &[0; 505]].concat(),
        _ => {
            let attach = wire::SessionAttach {
                name: format!("trickling {number}").into_bytes(),
                force: false,
            };
            let attach = control_frame(0, &Control::SessionAttach(attach));
            [attach, frame(0x0f, 1, 1, 0, &[0; 1000])].concat()
        }
    }
}

fn inside_the_handshake(number: usize) -> Vec<u8> {
    let mut words = protocol_header::BYTES.to_vec();
    // A name that may be one: a login that fails would be another attack.
    let frame = started(&format!("nobody-{}", number % 10));
    match number % 3 {
        0 => {}
        1 => words.extend(&frame[..frame.len() / 2]),
        _ => words.extend(frame),
    }
    words
}

/// The first words of a login.
fn started(user: &str) -> Vec<u8> {
    start_ok(Map::new(), user)
}

fn start_ok(properties: Map, user: &str) -> Vec<u8> {
    let (_, first) = ClientSide::new(Hash::Sha256, user, b"password");
    let start_ok = Control::ConnectionStartOk(wire::ConnectionStartOk {
        client_properties: Some(properties),
        mechanism: "SCRAM-SHA-256".into(),
        response: Some(first.into_bytes()),
        locale: "en_US".into(),
    });
    control_frame(0, &start_ok)
}

/// Client properties that few octets make much of: an array of countless values without octets, as many
/// arrays of such values as a frame takes, lists one in the other.
fn largest(number: usize) -> Vec<u8> {
    let (count, entries) = match number % 3 {
        0 => (1, array(u32::MAX)),
        1 => {
            let one = [b"\x04name".to_vec(), array(256)].concat();
            let many = PAYLOAD_BYTES_MAX / one.len() - 10;
            (many, one.repeat(many)[5..].to_vec())
        }
        _ => (1, nested(10_000)),
    };
    let entries = [b"\x04name".to_vec(), entries].concat();
    let mut payload = vec![1, 2, 0x0f, 0];
    payload.extend((entries.len() as u32 + 4).to_be_bytes());
    payload.extend((count as u32).to_be_bytes());
    payload.extend(&entries);
    payload.extend(b"\x05PLAIN\0\0\0\0\x05en_US");
    [
        protocol_header::BYTES.to_vec(),
        frame(0x0f, 0, 0, 0, &payload),
    ]
    .concat()
}

/// An array of so many values that take no octet, with its type code.
fn array(count: u32) -> Vec<u8> {
    [&[0xaa, 0, 0, 0, 5, 0xf0][..], &count.to_be_bytes()].concat()
}

/// So many lists, one in the other: all that a frame takes of them.
fn nested(depth: usize) -> Vec<u8> {
    // Type code, size, count of each.
    const EACH: usize = 9;
    let depth = depth.min(PAYLOAD_BYTES_MAX / EACH - 10);
    let mut octets = Vec::new();
    for left in (0..depth).rev() {
        octets.push(0xa9);
        octets.extend((4 + left as u32 * EACH as u32).to_be_bytes());
        octets.extend(u32::from(left > 0).to_be_bytes());
    }
    octets
}

/// All that may be held for a connection before its login, and kept waiting: properties as large as they may
/// be, most of an answer in several frames, and most of a frame.
fn largest_held() -> Vec<u8> {
    let property = |n: usize| (format!("{n:04}"), Value::Str16(Text::from("x".repeat(60))));
    let properties: Map = (0..500).map(property).collect();
    [
        protocol_header::BYTES.to_vec(),
        start_ok(properties, "nobody"),
        frame(0x0e, 0, 0, 0, &[0; 45_000]),
        frame(0x0c, 0, 0, 0, &[0; PAYLOAD_BYTES_MAX])[..45_000].to_vec(),
    ]
    .concat()
}

/// A whole login, without waiting for answers.
fn login(way: Way, number: usize) -> Vec<u8> {
    let start_ok = wire::ConnectionStartOk {
        client_properties: Some(Map::new()),
        mechanism: "PLAIN".into(),
        response: Some(format!("\0{USER}\0password").into_bytes()),
        locale: "en_US".into(),
    };
    let tune_ok = wire::ConnectionTuneOk {
        channel_max: 100,
        max_frame_size: Some(65_535),
        heartbeat: Some(match way.beats(number) {
            true => HEARTBEAT,
            false => 0,
        }),
    };
    let open = wire::ConnectionOpen {
        virtual_host: "".into(),
        capabilities: None,
        insist: true,
    };
    let controls = [
        Control::ConnectionStartOk(start_ok),
        Control::ConnectionTuneOk(tune_ok),
        Control::ConnectionOpen(open),
    ];
    let mut octets = protocol_header::BYTES.to_vec();
    for control in &controls {
        octets.extend(control_frame(0, control));
    }
    octets
}

/// What a consumer says once it is in: a session, a subscription to its queue, all the credit there is.
pub fn consuming(number: usize) -> Vec<u8> {
    let attach = wire::SessionAttach {
        name: format!("deaf {number}").into_bytes(),
        force: false,
    };
    let subscribe = wire::MessageSubscribe {
        queue: deaf_queue(number).as_str().into(),
        destination: "deaf".into(),
        accept_mode: AcceptMode::NONE,
        ..Default::default()
    };
    let flow = |unit| wire::MessageFlow {
        destination: "deaf".into(),
        unit,
        value: Some(u32::MAX),
    };
    let commands = [
        Command::MessageSubscribe(subscribe),
        Command::MessageFlow(flow(wire::CreditUnit::MESSAGE)),
        Command::MessageFlow(flow(wire::CreditUnit::BYTE)),
    ];
    let mut octets = control_frame(0, &Control::SessionAttach(attach));
    let point = Control::SessionCommandPoint(wire::SessionCommandPoint::default());
    octets.extend(control_frame(0, &point));
    for command in &commands {
        let mut payload = Vec::new();
        command.encode(false, &mut payload);
        octets.extend(frame(0x0f, 1, 1, 0, &payload));
    }
    octets
}

/// A heartbeat.
pub fn beat() -> Vec<u8> {
    control_frame(
        0,
        &Control::ConnectionHeartbeat(wire::ConnectionHeartbeat {}),
    )
}

/// What a broker has said, taken apart as it comes.
#[derive(Default)]
pub struct Heard {
    left: Vec<u8>,
    has_header: bool,
    /// It has let the peer in.
    pub is_open: bool,
    /// With what code it has closed.
    pub code: Option<u16>,
}

impl Heard {
    /// More has come.
    pub fn take(&mut self, octets: &[u8]) {
        self.left.extend(octets);
        if !self.has_header && self.left.len() >= protocol_header::BYTES.len() {
            self.left.drain(..protocol_header::BYTES.len());
            self.has_header = true;
        }
        while self.has_header && self.left.len() >= 12 {
            let size = usize::from(u16::from_be_bytes([self.left[2], self.left[3]]));
            if self.left.len() < size {
                return;
            }
            let whole: Vec<u8> = self.left.drain(..size.max(12)).collect();
            match Control::decode(&mut Cursor::new(&whole[12..])) {
                Ok(Control::ConnectionOpenOk(_)) => self.is_open = true,
                Ok(Control::ConnectionClose(close)) => self.code = Some(close.reply_code.0),
                _ => {}
            }
        }
    }
}
