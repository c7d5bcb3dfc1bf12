//! A broker's end against bytes made by hand.

use bytes::BytesMut;
use ferrymq::protocol::{BrokerConfig, Connection, Event, Time};
use ferrymq::wire::frame::{FrameHeader, HEADER_BYTES};
use ferrymq::wire::{
    Command, ConnectionOpen, ConnectionStartOk, ConnectionTuneOk, Control, Cursor, SegmentType,
    SessionAttach, SessionCommandPoint, Text, protocol_header,
};

use crate::pair::{broker_config, polled, taken};

pub const NOW: Time = Time(1_000);

/// A broker's end and what it has said.
pub struct Raw {
    pub broker: Connection,
    pub events: Vec<Event>,
}

impl Raw {
    /// Nothing received yet.
    pub fn new(config: BrokerConfig) -> Raw {
        Raw {
            broker: Connection::broker(config, NOW),
            events: Vec::new(),
        }
    }

    /// Open.
    pub fn opened() -> Raw {
        Raw::opened_with(broker_config())
    }

    pub fn opened_with(config: BrokerConfig) -> Raw {
        let mut raw = Raw::new(config);
        raw.feed(&handshake(65_535, 0));
        assert!(raw.broker.is_open());
        raw.events.clear();
        taken(&mut raw.broker);
        raw
    }

    /// Open, session `s` on channel 0, ready for commands.
    pub fn attached() -> Raw {
        Raw::attached_with(broker_config())
    }

    pub fn attached_with(config: BrokerConfig) -> Raw {
        let mut raw = Raw::opened_with(config);
        raw.attach(0, b"s");
        raw
    }

    /// Attaches a session and sends its command-point.
    pub fn attach(&mut self, channel: u16, name: &[u8]) {
        self.feed(&attach(channel, name));
        self.feed(&point(channel, 0));
        self.events.clear();
        taken(&mut self.broker);
    }

    /// Feeds bytes, answering questions with yes; the events they caused.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<Event> {
        self.broker.handle_input(NOW, &mut BytesMut::from(bytes));
        let events = polled(&mut self.broker);
        self.events.extend(events.iter().cloned());
        events
    }

    /// The controls that wait in the output; commands are left out.
    pub fn controls(&mut self) -> Vec<(u16, Control)> {
        controls(&taken(&mut self.broker))
    }

    /// Code and text of the close that waits in the output, if there is one.
    pub fn close(&mut self) -> Option<(u16, String)> {
        self.controls()
            .into_iter()
            .find_map(|(_, control)| match control {
                Control::ConnectionClose(close) => Some((
                    close.reply_code.0,
                    close.reply_text.unwrap_or_default().into(),
                )),
                _ => None,
            })
    }
}

/// A frame: flags first-segment 8, last-segment 4, first-frame 2, last-frame 1.
pub fn frame(segment: SegmentType, flags: u8, channel: u16, payload: &[u8]) -> Vec<u8> {
    let header = FrameHeader {
        first_segment: flags & 8 != 0,
        last_segment: flags & 4 != 0,
        first_frame: flags & 2 != 0,
        last_frame: flags & 1 != 0,
        segment,
        size: u16::try_from(HEADER_BYTES + payload.len()).unwrap(),
        track: u8::from(segment != SegmentType::CONTROL),
        channel,
    };
    [&header.encode()[..], payload].concat()
}

pub fn control(channel: u16, control: &Control) -> Vec<u8> {
    frame(SegmentType::CONTROL, 15, channel, &control_bytes(control))
}

pub fn control_bytes(control: &Control) -> Vec<u8> {
    let mut bytes = Vec::new();
    control.encode(&mut bytes);
    bytes
}

pub fn command_bytes(command: &Command) -> Vec<u8> {
    let mut bytes = Vec::new();
    command.encode(false, &mut bytes);
    bytes
}

/// A command frame; content follows unless `last`.
pub fn command(channel: u16, command: &Command, last: bool) -> Vec<u8> {
    let flags = if last { 15 } else { 11 };
    frame(
        SegmentType::COMMAND,
        flags,
        channel,
        &command_bytes(command),
    )
}

pub fn attach(channel: u16, name: &[u8]) -> Vec<u8> {
    control(
        channel,
        &Control::SessionAttach(SessionAttach {
            name: name.to_vec(),
            force: false,
        }),
    )
}

pub fn point(channel: u16, id: u32) -> Vec<u8> {
    let point = SessionCommandPoint {
        command_id: id.into(),
        command_offset: 0,
    };
    control(channel, &Control::SessionCommandPoint(point))
}

pub fn start_ok() -> Vec<u8> {
    let start_ok = ConnectionStartOk {
        mechanism: Text::from("ANONYMOUS"),
        locale: Text::from("en_US"),
        ..ConnectionStartOk::default()
    };
    control(0, &Control::ConnectionStartOk(start_ok))
}

pub fn tune_ok(max_frame_size: u16, heartbeat: u16) -> Vec<u8> {
    let tune_ok = ConnectionTuneOk {
        channel_max: 65_534,
        max_frame_size: Some(max_frame_size),
        heartbeat: Some(heartbeat),
    };
    control(0, &Control::ConnectionTuneOk(tune_ok))
}

pub fn open() -> Vec<u8> {
    control(0, &Control::ConnectionOpen(ConnectionOpen::default()))
}

/// All that a client sends until its connection is open.
pub fn handshake(max_frame_size: u16, heartbeat: u16) -> Vec<u8> {
    let header = protocol_header::BYTES.to_vec();
    [
        header,
        start_ok(),
        tune_ok(max_frame_size, heartbeat),
        open(),
    ]
    .concat()
}

/// Frames in bytes that may begin with a protocol header.
pub fn frames(mut bytes: &[u8]) -> Vec<(FrameHeader, Vec<u8>)> {
    if bytes.starts_with(b"AMQP") {
        bytes = &bytes[8..];
    }
    let mut frames = Vec::new();
    while let Some(header) = bytes.first_chunk::<HEADER_BYTES>() {
        let header = FrameHeader::decode(header).unwrap();
        frames.push((
            header,
            bytes[HEADER_BYTES..usize::from(header.size)].to_vec(),
        ));
        bytes = &bytes[usize::from(header.size)..];
    }
    assert!(bytes.is_empty(), "half a frame at the end");
    frames
}

pub fn controls(bytes: &[u8]) -> Vec<(u16, Control)> {
    frames(bytes)
        .into_iter()
        .filter(|(header, _)| header.segment == SegmentType::CONTROL)
        .map(|(header, payload)| {
            (
                header.channel,
                Control::decode(&mut Cursor::new(&payload)).unwrap(),
            )
        })
        .collect()
}
