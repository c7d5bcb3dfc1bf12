//! Octets prepared once.

use crate::wire::frame::{FrameHeader, HEADER_BYTES};
use crate::wire::{
    AcceptMode, Command, Control, DeliveryMode, DeliveryProperties, MessageProperties,
    MessageTransfer, SegmentType, Struct, Text, header,
};

/// The channel of a lane's only session.
pub(super) const CHANNEL: u16 = 0;

/// Octets of a body that say when the message was due.
pub(super) const STAMP_BYTES: usize = 8;

/// Appends a control in one frame. Those of a load tool are short.
pub(super) fn control(control: &Control, out: &mut Vec<u8>) {
    one_frame(SegmentType::CONTROL, out, |out| control.encode(out));
}

/// Appends a command without content in one frame.
pub(super) fn command(command: &Command, sync: bool, out: &mut Vec<u8>) {
    one_frame(SegmentType::COMMAND, out, |out| command.encode(sync, out));
}

fn one_frame(segment: SegmentType, out: &mut Vec<u8>, encode: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0; HEADER_BYTES]);
    encode(out);
    let size = out.len() - start;
    let head = frame(segment, (true, true), (true, true), size);
    out[start..start + HEADER_BYTES].copy_from_slice(&head);
}

/// A frame header; of `size` octets with its payload, cut to frames by the caller.
fn frame(
    segment: SegmentType,
    (first_segment, last_segment): (bool, bool),
    (first_frame, last_frame): (bool, bool),
    size: usize,
) -> [u8; HEADER_BYTES] {
    let track = u8::from(segment != SegmentType::CONTROL);
    FrameHeader {
        first_segment,
        last_segment,
        first_frame,
        last_frame,
        segment,
        size: u16::try_from(size).unwrap_or(u16::MAX),
        track,
        channel: CHANNEL,
    }
    .encode()
}

/// What all messages of a run have in common.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    pub(super) exchange: Text,
    pub(super) body_bytes: usize,
    pub(super) persistent: bool,
}

/// A whole `message.transfer`: frames of command, header and body.
#[derive(Clone, Debug)]
pub(super) struct Prepared {
    plain: Vec<u8>,
    /// The same with the sync bit of the session header.
    synced: Vec<u8>,
    /// Where the body begins.
    body: usize,
}

impl Prepared {
    /// A message for this routing key. Frames are no larger than `max_frame_size`.
    pub(super) fn new(shape: &Shape, routing_key: &Text, max_frame_size: u16) -> Prepared {
        let (plain, body) = transfer(shape, routing_key, max_frame_size, false);
        let (synced, _) = transfer(shape, routing_key, max_frame_size, true);
        Prepared {
            plain,
            synced,
            body,
        }
    }

    /// Octets of the whole.
    pub(super) fn len(&self) -> usize {
        self.plain.len()
    }

    /// Appends the message; `due`, if given, goes into the first octets of the body.
    pub(super) fn append(&self, sync: bool, due: Option<u64>, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(if sync { &self.synced } else { &self.plain });
        if let Some(due) = due {
            let at = start + self.body;
            if let Some(stamp) = out.get_mut(at..at + STAMP_BYTES) {
                stamp.copy_from_slice(&due.to_be_bytes());
            }
        }
    }
}

/// The octets, and where in them the body begins.
fn transfer(
    shape: &Shape,
    routing_key: &Text,
    max_frame_size: u16,
    sync: bool,
) -> (Vec<u8>, usize) {
    let transfer = Command::MessageTransfer(MessageTransfer {
        destination: shape.exchange.clone(),
        accept_mode: Some(AcceptMode::NONE),
        ..MessageTransfer::default()
    });
    let delivery_mode = match shape.persistent {
        true => DeliveryMode::PERSISTENT,
        false => DeliveryMode::NON_PERSISTENT,
    };
    let delivery = DeliveryProperties {
        delivery_mode: Some(delivery_mode),
        routing_key: Some(routing_key.clone()),
        ..DeliveryProperties::default()
    };
    let properties = MessageProperties {
        content_length: Some(shape.body_bytes as u64),
        ..MessageProperties::default()
    };
    let (mut command, mut rest, mut head) = (Vec::new(), Vec::new(), Vec::new());
    transfer.encode(sync, &mut command);
    properties.encode(&mut rest);
    header::encode(&Some(delivery), &rest, &mut head);

    let mut out = Vec::with_capacity(shape.body_bytes + 256);
    let whole = (true, true);
    let size = HEADER_BYTES + command.len();
    out.extend_from_slice(&frame(SegmentType::COMMAND, (true, false), whole, size));
    out.extend_from_slice(&command);
    let size = HEADER_BYTES + head.len();
    out.extend_from_slice(&frame(SegmentType::HEADER, (false, false), whole, size));
    out.extend_from_slice(&head);
    let room = usize::from(max_frame_size) - HEADER_BYTES;
    let mut left = shape.body_bytes;
    let mut first = true;
    loop {
        let part = left.min(room);
        left -= part;
        let place = (first, left == 0);
        out.extend_from_slice(&frame(
            SegmentType::BODY,
            (false, true),
            place,
            HEADER_BYTES + part,
        ));
        out.resize(out.len() + part, b'x');
        first = false;
        if left == 0 {
            break;
        }
    }
    let front = 3 * HEADER_BYTES + command.len() + head.len();
    (out, front)
}
