//! What a broker has said, taken apart: every octet of it is to be AMQP.

use std::collections::BTreeMap;

use ferrymq::wire::frame::{FrameHeader, HEADER_BYTES};
use ferrymq::wire::{CloseCode, Command, Control, Cursor, ErrorCode, SegmentType, protocol_header};

/// The codes with which a connection may be closed for what its peer said.
const CLOSED: [CloseCode; 3] = [
    CloseCode::CONNECTION_FORCED,
    CloseCode::INVALID_PATH,
    CloseCode::FRAMING_ERROR,
];

/// What a broker has said.
#[derive(Debug, Default)]
pub struct Answer {
    /// `connection.open-ok` came.
    pub is_open: bool,
    /// Sessions that were attached.
    pub attached: usize,
    /// Codes of `connection.close`.
    pub closed: Vec<u16>,
    /// Codes of exceptions.
    pub failed: Vec<u16>,
    /// Codes of `session.detached`.
    pub detached: Vec<u8>,
    /// Frames of whatever kind.
    pub frames: u64,
}

impl Answer {
    /// Reads all that a broker has said on a connection. Where the system has thrown away the end of it, as it
    /// does for a socket that is closed with octets unread, the last frame may be cut off.
    ///
    /// # Errors
    /// What of it is no AMQP, or a code that no peer's fault has.
    pub fn read(octets: &[u8]) -> Result<Answer, String> {
        let mut answer = Answer::default();
        if octets.is_empty() {
            return Ok(answer);
        }
        let Some(mut left) = octets.strip_prefix(&protocol_header::BYTES[..]) else {
            return Err(format!("no protocol header: {octets:?}"));
        };
        let mut segments = BTreeMap::<(u16, u8), Vec<u8>>::new();
        while let Some(head) = left.first_chunk::<HEADER_BYTES>() {
            let head = FrameHeader::decode(head).map_err(|error| error.to_string())?;
            let size = usize::from(head.size);
            let Some(payload) = left.get(HEADER_BYTES..size) else {
                break;
            };
            left = &left[size..];
            answer.frames += 1;
            let segment = segments.entry((head.channel, head.track)).or_default();
            if head.first_frame {
                segment.clear();
            }
            segment.extend_from_slice(payload);
            if head.last_frame {
                answer.segment(head.segment, segment)?;
            }
        }
        Ok(answer)
    }

    fn segment(&mut self, kind: SegmentType, octets: &[u8]) -> Result<(), String> {
        let mut cursor = Cursor::new(octets);
        match kind {
            SegmentType::CONTROL => {
                let control = Control::decode(&mut cursor).map_err(|error| error.to_string())?;
                self.control(&control)
            }
            SegmentType::COMMAND => {
                let (_, command) =
                    Command::decode(&mut cursor).map_err(|error| error.to_string())?;
                match command {
                    Command::ExecutionException(exception) => {
                        let code = exception.error_code;
                        self.failed.push(code.0);
                        let is_of_peer = code.name().is_some() && code != ErrorCode::INTERNAL_ERROR;
                        is_of_peer.then_some(()).ok_or(format!("{exception:?}"))
                    }
                    _ => Ok(()),
                }
            }
            SegmentType::HEADER | SegmentType::BODY => Ok(()),
            other => Err(format!("a segment of type {}", other.0)),
        }
    }

    fn control(&mut self, control: &Control) -> Result<(), String> {
        match control {
            Control::ConnectionOpenOk(_) => self.is_open = true,
            Control::SessionAttached(_) => self.attached += 1,
            Control::SessionDetached(detached) => self.detached.push(detached.code.0),
            Control::ConnectionClose(close) => {
                self.closed.push(close.reply_code.0);
                if !CLOSED.contains(&close.reply_code) {
                    return Err(format!("{close:?}"));
                }
            }
            _ => {}
        }
        Ok(())
    }
}
