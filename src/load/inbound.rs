//! What a lane reads: deliveries are counted by their frames, everything else is decoded.

use crate::wire::frame::{FrameHeader, HEADER_BYTES};
use crate::wire::{Command, CommandHead, Control, Cursor, SegmentType};

use super::error::Error;
use super::limits::READ_BYTES;
use super::prepared::STAMP_BYTES;

/// Class and code of `message.transfer`.
const TRANSFER: (u8, u8) = (4, 1);

/// Something whole that came.
#[derive(Debug)]
pub(super) enum Arrival {
    /// A message; the stamp is the first octets of its body, if there are as many.
    Message {
        /// What the producer put there.
        stamp: Option<u64>,
    },
    /// A control.
    Control(Control),
    /// Any other command.
    Command(Command),
}

/// Octets read and not looked at, and where in a message they are.
#[derive(Debug)]
pub(super) struct Inbound {
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Commands that have begun: the id of the next one, since brokers number from 0.
    commands: u32,
    stamp: Option<u64>,
    /// A command came with the sync bit.
    asked: bool,
}

impl Inbound {
    pub(super) fn new() -> Inbound {
        Inbound {
            buffer: vec![0; READ_BYTES],
            start: 0,
            end: 0,
            commands: 0,
            stamp: None,
            asked: false,
        }
    }

    /// Room to read into: never empty after [`next`](Inbound::next) has returned `None`, since
    /// a frame is smaller than the buffer.
    pub(super) fn room(&mut self) -> &mut [u8] {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        } else if self.buffer.len() - self.end < READ_BYTES / 2 {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        &mut self.buffer[self.end..]
    }

    /// Whether there is room without looking at anything first.
    pub(super) fn has_room(&self) -> bool {
        self.start > 0 || self.end < self.buffer.len()
    }

    /// So much of the room has been filled.
    pub(super) fn filled(&mut self, bytes: usize) {
        self.end = (self.end + bytes).min(self.buffer.len());
    }

    /// Commands received.
    pub(super) fn commands(&self) -> u32 {
        self.commands
    }

    /// Whether the broker has asked for completion since this was asked last.
    pub(super) fn take_asked(&mut self) -> bool {
        std::mem::take(&mut self.asked)
    }

    /// The next thing that is whole.
    ///
    /// # Errors
    /// The octets are no frames, or not such as brokers send.
    pub(super) fn next(&mut self) -> Result<Option<Arrival>, Error> {
        loop {
            let bytes = &self.buffer[self.start..self.end];
            let Some(head) = bytes.first_chunk::<HEADER_BYTES>() else {
                return Ok(None);
            };
            let frame = FrameHeader::decode(head)?;
            let size = usize::from(frame.size);
            let Some(payload) = bytes.get(HEADER_BYTES..size) else {
                return Ok(None);
            };
            self.start += size;
            let ends = frame.last_segment && frame.last_frame;
            match frame.segment {
                SegmentType::BODY if frame.first_frame => {
                    self.stamp = payload
                        .first_chunk::<STAMP_BYTES>()
                        .map(|stamp| u64::from_be_bytes(*stamp));
                }
                SegmentType::BODY | SegmentType::HEADER => {}
                _ if !(frame.first_frame && frame.last_frame) => {
                    return Err(Error::Lane(
                        "a control or command in several frames".to_owned(),
                    ));
                }
                SegmentType::CONTROL => {
                    return Ok(Some(Arrival::Control(Control::decode(&mut Cursor::new(
                        payload,
                    ))?)));
                }
                _ => {
                    self.commands += 1;
                    let Some(head) = CommandHead::of(payload) else {
                        return Err(Error::Lane("a command without a code".to_owned()));
                    };
                    self.asked |= head.sync;
                    if (head.class, head.code) != TRANSFER {
                        let (_, command) = Command::decode(&mut Cursor::new(payload))?;
                        return Ok(Some(Arrival::Command(command)));
                    }
                    self.stamp = None;
                }
            }
            if ends {
                return Ok(Some(Arrival::Message { stamp: self.stamp }));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::prepared::{self, Prepared, Shape};
    use crate::wire::{ExecutionSync, SessionFlush};

    fn shape(body_bytes: usize) -> Shape {
        Shape {
            exchange: "e".into(),
            body_bytes,
            persistent: false,
        }
    }

    fn read(inbound: &mut Inbound, mut bytes: &[u8], step: usize) -> Vec<Arrival> {
        let mut all = Vec::new();
        while !bytes.is_empty() {
            let room = inbound.room();
            let (part, rest) = bytes.split_at(bytes.len().min(step).min(room.len()));
            room[..part.len()].copy_from_slice(part);
            inbound.filled(part.len());
            bytes = rest;
            while let Some(arrival) = inbound.next().unwrap() {
                all.push(arrival);
            }
        }
        all
    }

    #[test]
    fn messages_are_counted_however_the_octets_are_cut() {
        for (body_bytes, step) in [(64, 1), (64, 100_000), (200_000, 70_000), (8, 13)] {
            let message = Prepared::new(&shape(body_bytes), &"k".into(), 4096);
            let mut bytes = Vec::new();
            for due in 0..20 {
                message.append(false, Some(due), &mut bytes);
            }
            let mut inbound = Inbound::new();
            let arrivals = read(&mut inbound, &bytes, step);
            let stamps: Vec<_> = arrivals
                .iter()
                .map(|arrival| match arrival {
                    Arrival::Message { stamp } => stamp.unwrap(),
                    other => panic!("{other:?}"),
                })
                .collect();
            assert_eq!(stamps, (0..20).collect::<Vec<_>>());
            assert_eq!(inbound.commands(), 20);
        }
    }

    #[test]
    fn a_body_too_short_for_a_stamp_has_none() {
        let message = Prepared::new(&shape(3), &"k".into(), 4096);
        let mut bytes = Vec::new();
        message.append(false, Some(7), &mut bytes);
        let arrivals = read(&mut Inbound::new(), &bytes, 1000);
        assert!(
            matches!(arrivals[..], [Arrival::Message { stamp: None }]),
            "{arrivals:?}"
        );
    }

    #[test]
    fn what_is_no_transfer_is_decoded_and_the_sync_bit_is_seen() {
        let mut bytes = Vec::new();
        let flush = Control::SessionFlush(SessionFlush {
            completed: true,
            ..Default::default()
        });
        let sync = Command::ExecutionSync(ExecutionSync {});
        prepared::control(&flush, &mut bytes);
        prepared::command(&sync, true, &mut bytes);
        let mut inbound = Inbound::new();
        let arrivals = read(&mut inbound, &bytes, 5);
        assert!(matches!(&arrivals[0], Arrival::Control(control) if *control == flush));
        assert!(matches!(&arrivals[1], Arrival::Command(command) if *command == sync));
        assert!(inbound.take_asked() && !inbound.take_asked());
    }

    #[test]
    fn octets_that_are_no_frames_are_an_error() {
        let mut inbound = Inbound::new();
        inbound.room()[..12].copy_from_slice(&[0xff; 12]);
        inbound.filled(12);
        assert!(inbound.next().is_err());
    }
}
