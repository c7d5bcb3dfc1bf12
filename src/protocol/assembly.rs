//! One command with its content, gathered from its frames.
//!
//! ```text
//!   Idle --command--> Gathering --(header)--(body)--> whole, Idle again
//!                         |
//!                         +--too large--> Dropping --last frame--> Idle
//! ```
//!
//! 0-10: an assembly is a command segment, then at most one header segment, then at most one
//! body segment; each segment is one or more frames.

use std::mem;

use bytes::{Bytes, BytesMut};

use crate::wire::SegmentType;
use crate::wire::frame::FrameHeader;
use crate::wire::{Command, CommandId, Cursor, DecodeError, ErrorCode, Problem};

use super::event::Body;
use super::limits;

/// A command that has arrived whole.
pub(super) struct Whole {
    pub(super) id: CommandId,
    pub(super) sync: bool,
    pub(super) command: Command,
    pub(super) header: Option<Bytes>,
    pub(super) body: Option<Body>,
}

/// What a frame led to.
pub(super) enum Outcome {
    /// More frames are to come.
    More,
    /// The command has arrived whole: [`Assembly::take_whole`] gives it.
    Whole,
    /// This command cannot be taken; the rest of its assembly is dropped.
    Refused(Box<Refused>),
}

/// Why a command cannot be taken.
pub(super) struct Refused {
    pub(super) id: CommandId,
    pub(super) code: ErrorCode,
    pub(super) class: u8,
    pub(super) command: u8,
    pub(super) text: String,
}

/// The frames break the rules: the connection is closed with 501.
pub(super) struct Fault(pub(super) String);

/// What may be held.
#[derive(Clone, Copy)]
pub(super) struct Room {
    pub(super) assembly_bytes_max: usize,
    pub(super) assemblies_bytes_max: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    #[default]
    Idle,
    Command,
    Header,
    Body,
}

/// The assembly of one channel.
#[derive(Default)]
pub(super) struct Assembly {
    stage: Stage,
    /// The last frame of the segment `stage` has not come.
    in_segment: bool,
    /// The rest is not kept.
    dropping: bool,
    id: CommandId,
    sync: bool,
    command: Option<Command>,
    /// A command or header segment in several frames.
    gathered: BytesMut,
    header: Option<Bytes>,
    body: Option<Fragments>,
    /// Bytes that count to the limits: header and body so far.
    held_bytes: usize,
}

impl Assembly {
    /// The command that has come in part.
    pub(super) fn begun(&self) -> Option<CommandId> {
        (!self.is_idle()).then_some(self.id)
    }

    /// A frame of a command segment with content to come, or in several frames: others are
    /// decoded in place. `held` is the connection's total.
    pub(super) fn take_command(
        &mut self,
        frame: &FrameHeader,
        payload: &[u8],
        id: CommandId,
        held: &mut usize,
    ) -> Result<Outcome, Fault> {
        self.enter(frame, id)?;
        if self.dropping {
            self.leave(frame, held);
            return Ok(Outcome::More);
        }
        let outcome = self.command_frame(frame, payload, held)?;
        Ok(self.after(frame, outcome, held))
    }

    /// A frame of a header or body segment.
    pub(super) fn take_content(
        &mut self,
        frame: &FrameHeader,
        payload: Bytes,
        room: Room,
        held: &mut usize,
    ) -> Result<Outcome, Fault> {
        self.enter(frame, self.id)?;
        if self.dropping {
            self.leave(frame, held);
            return Ok(Outcome::More);
        }
        let outcome = self.content_frame(frame, payload, room, held)?;
        Ok(self.after(frame, outcome, held))
    }

    /// Notes the frame's end.
    fn after(&mut self, frame: &FrameHeader, outcome: Outcome, held: &mut usize) -> Outcome {
        if matches!(outcome, Outcome::Refused(_)) {
            self.let_go(held);
            self.dropping = true;
        }
        if self.dropping || !(frame.last_frame && frame.last_segment) {
            self.leave(frame, held);
            return outcome;
        }
        Outcome::Whole
    }

    /// Checks that the frame may come here and moves to its segment.
    fn enter(&mut self, frame: &FrameHeader, id: CommandId) -> Result<(), Fault> {
        let segment = match frame.segment {
            SegmentType::COMMAND => Stage::Command,
            SegmentType::HEADER => Stage::Header,
            _ => Stage::Body,
        };
        let fault = |what: &str| {
            Err(Fault(format!(
                "{what} ({:?} frame on channel {})",
                frame.segment, frame.channel
            )))
        };
        if self.in_segment {
            if frame.first_frame {
                return fault("a segment begins before the one before it has ended");
            }
            if self.stage != segment {
                return fault("a frame of another type inside a segment");
            }
            return Ok(());
        }
        if !frame.first_frame {
            return fault("a segment goes on that has not begun");
        }
        if frame.first_segment != (segment == Stage::Command) {
            return fault("only a command segment is the first of its assembly");
        }
        if segment == Stage::Command {
            if self.stage != Stage::Idle {
                return fault("a command begins before the content of the one before it has ended");
            }
            self.id = id;
        } else if self.stage == Stage::Idle {
            return fault("content without a command");
        } else if self.stage >= segment {
            return fault("a segment out of order");
        }
        self.stage = segment;
        self.in_segment = true;
        Ok(())
    }

    /// Notes the end of a segment, and of the assembly.
    fn leave(&mut self, frame: &FrameHeader, held: &mut usize) {
        self.in_segment = !frame.last_frame;
        if frame.last_frame && frame.last_segment {
            self.reset(held);
        }
    }

    fn command_frame(
        &mut self,
        frame: &FrameHeader,
        payload: &[u8],
        held: &mut usize,
    ) -> Result<Outcome, Fault> {
        let decoded = if frame.first_frame && frame.last_frame {
            decode(payload)
        } else {
            if self.held_bytes + payload.len() > limits::COMMAND_BYTES_MAX {
                return Ok(self.too_large("a command segment", limits::COMMAND_BYTES_MAX));
            }
            self.gathered.extend_from_slice(payload);
            self.hold(payload.len(), held);
            if !frame.last_frame {
                return Ok(Outcome::More);
            }
            let gathered = mem::take(&mut self.gathered);
            *held -= mem::take(&mut self.held_bytes);
            decode(&gathered)
        };
        match decoded {
            Ok(Decoded::Known { sync, command }) => {
                self.sync = sync;
                self.command = Some(command);
                Ok(Outcome::More)
            }
            Ok(Decoded::Unknown {
                class,
                command,
                text,
            }) => Ok(Outcome::Refused(Box::new(Refused {
                id: self.id,
                code: ErrorCode::NOT_IMPLEMENTED,
                class,
                command,
                text,
            }))),
            Err(error) => Err(Fault(error.to_string())),
        }
    }

    fn content_frame(
        &mut self,
        frame: &FrameHeader,
        payload: Bytes,
        room: Room,
        held: &mut usize,
    ) -> Result<Outcome, Fault> {
        if let Some(command) = self
            .command
            .as_ref()
            .filter(|command| !command.has_content())
        {
            return Err(Fault(format!(
                "content after {}, which has none",
                command.name()
            )));
        }
        if self.held_bytes + payload.len() > room.assembly_bytes_max {
            return Ok(self.too_large("a message", room.assembly_bytes_max));
        }
        if *held + payload.len() > room.assemblies_bytes_max {
            return Ok(self.too_large(
                "all unfinished messages of the connection",
                room.assemblies_bytes_max,
            ));
        }
        self.hold(payload.len(), held);
        let only = frame.first_frame && frame.last_frame;
        if frame.segment == SegmentType::HEADER {
            if only {
                self.header = Some(payload);
            } else {
                self.gathered.extend_from_slice(&payload);
                if frame.last_frame {
                    self.header = Some(mem::take(&mut self.gathered).freeze());
                }
            }
        } else {
            self.body
                .get_or_insert_with(Fragments::default)
                .push(payload, only);
        }
        Ok(Outcome::More)
    }

    fn hold(&mut self, bytes: usize, held: &mut usize) {
        self.held_bytes += bytes;
        *held += bytes;
    }

    fn too_large(&self, what: &str, bytes_max: usize) -> Outcome {
        Outcome::Refused(Box::new(Refused {
            id: self.id,
            code: ErrorCode::RESOURCE_LIMIT_EXCEEDED,
            class: 0,
            command: 0,
            text: format!("{what} exceeds {bytes_max} bytes"),
        }))
    }

    /// Hands out the gathered command after [`Outcome::Whole`]; then it is always there: the stage
    /// can only pass the command segment by decoding it.
    pub(super) fn take_whole(&mut self, held: &mut usize) -> Option<Whole> {
        let whole = self.command.take().map(|command| Whole {
            id: self.id,
            sync: self.sync,
            command,
            header: self.header.take(),
            body: self.body.take().map(Fragments::finish),
        });
        self.reset(held);
        whole
    }

    /// Frees what is held.
    fn let_go(&mut self, held: &mut usize) {
        *held -= mem::take(&mut self.held_bytes);
        self.command = None;
        self.gathered = BytesMut::new();
        self.header = None;
        self.body = None;
    }

    /// Frees what is held and forgets the assembly.
    pub(super) fn reset(&mut self, held: &mut usize) {
        *held -= mem::take(&mut self.held_bytes);
        self.stage = Stage::Idle;
        self.in_segment = false;
        self.dropping = false;
        self.command = None;
        self.header = None;
        self.body = None;
        if !self.gathered.is_empty() {
            self.gathered = BytesMut::new();
        }
    }

    /// No assembly is under way.
    pub(super) fn is_idle(&self) -> bool {
        self.stage == Stage::Idle
    }
}

/// A command segment read.
pub(super) enum Decoded {
    Known {
        sync: bool,
        command: Command,
    },
    /// Well framed, of a class and code that we do not know.
    Unknown {
        class: u8,
        command: u8,
        text: String,
    },
}

/// Reads a command segment.
pub(super) fn decode(segment: &[u8]) -> Result<Decoded, DecodeError> {
    let mut cursor = Cursor::new(segment);
    match Command::decode(&mut cursor) {
        Ok((header, command)) => Ok(Decoded::Known {
            sync: header.sync,
            command,
        }),
        Err(DecodeError {
            problem: Problem::UnknownCode { class, code },
            ..
        }) if segment.starts_with(&[class, code]) => Ok(Decoded::Unknown {
            class,
            command: code,
            text: format!("Not implemented: command {class}.{code}"),
        }),
        Err(error) => Err(error),
    }
}

/// The body so far: pieces, and small fragments being copied together.
#[derive(Default)]
struct Fragments {
    pieces: Body,
    tail: BytesMut,
    /// Octets kept as slices of read buffers.
    referred: usize,
}

impl Fragments {
    fn push(&mut self, fragment: Bytes, only: bool) {
        if fragment.is_empty() {
            return;
        }
        if only || fragment.len() >= limits::FRAGMENT_BY_REFERENCE_MIN {
            self.end_tail();
            let is_small = self.referred + fragment.len() <= limits::BODY_BY_REFERENCE_MAX;
            self.referred += fragment.len();
            // Only what is whole with its first fragment, or small, may pin read buffers.
            self.pieces.push(match only || is_small {
                true => fragment,
                false => Bytes::copy_from_slice(&fragment),
            });
            return;
        }
        if self.tail.len() + fragment.len() > limits::FRAGMENT_CHUNK_BYTES {
            self.end_tail();
        }
        self.tail.extend_from_slice(&fragment);
    }

    fn end_tail(&mut self) {
        if !self.tail.is_empty() {
            self.pieces.push(mem::take(&mut self.tail).freeze());
        }
    }

    fn finish(mut self) -> Body {
        self.end_tail();
        self.pieces
    }
}
