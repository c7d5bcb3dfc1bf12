//! How members' words stand on a connection: a length, a kind, octets.
//!
//! ```text
//!   length 4   of what follows, big endian, 1 to what is allowed at this point
//!   kind 1     see [`Kind`]
//!   octets     as many as are left
//! ```
//!
//! Room is taken as octets come, never on the word of a length.

use std::fmt;
use std::io;

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt};

use crate::server::limits;

/// What a frame holds. Numbers are not used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Who speaks, in which version of all this: [`super::words::Greeting`].
    Greeting,
    /// That the speaker knows the cluster key; empty where there is none.
    Proof,
    /// What the speaker belongs to: [`super::words::Hello`].
    Hello,
    /// Why the other side is not listened to: [`super::words::Refusal`]. The last frame.
    Refused,
    /// A message of raft's, as it is.
    Message,
    /// A newcomer asks to take part.
    Join,
    /// The first member asks another to be in the group that it forms: the group, 8 octets.
    Form,
    /// The other will be in no other group than that: the group, 8 octets.
    Promised,
    /// Nothing but that the connection lives.
    Ping,
    /// The answer.
    Pong,
}

const KINDS: [(u8, Kind); 10] = [
    (1, Kind::Greeting),
    (2, Kind::Proof),
    (3, Kind::Hello),
    (4, Kind::Refused),
    (5, Kind::Message),
    (6, Kind::Join),
    (7, Kind::Form),
    (8, Kind::Promised),
    (9, Kind::Ping),
    (10, Kind::Pong),
];

/// A frame as it was read.
pub type Frame = (Kind, Bytes);

/// What is wrong with octets that should be a frame: the fault of whoever sent them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameError {
    /// The length is 0, or more than is allowed at this point.
    Length {
        /// What it says.
        length: usize,
        /// What is allowed.
        length_max: usize,
    },
    /// The kind is none.
    Kind(u8),
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FrameError::Length { length, .. } if is_of_tls(*length) => write!(
                f,
                "it speaks TLS and this member does not: a member of a cluster with a key or \
                 certificates needs them, too"
            ),
            FrameError::Length { length, length_max } => write!(
                f,
                "a frame of {length} octets at offset 0, where 1 to {length_max} are allowed"
            ),
            FrameError::Kind(kind) => write!(f, "a frame of the unknown kind {kind} at offset 4"),
        }
    }
}

/// Whether what stands where a length should be is the beginning of a record of TLS: a handshake or an
/// alert, of any version.
fn is_of_tls(length: usize) -> bool {
    matches!(length >> 16, 0x1503 | 0x1603)
}

/// Octets of the length.
const LENGTH_BYTES: usize = 4;

/// Takes the first frame out of octets. None: it has not come whole.
///
/// # Errors
/// What stands there is no frame.
pub fn take(octets: &mut BytesMut, length_max: usize) -> Result<Option<Frame>, FrameError> {
    let Some(length) = octets.first_chunk::<LENGTH_BYTES>() else {
        return Ok(None);
    };
    let length = u32::from_be_bytes(*length) as usize;
    if length == 0 || length > length_max {
        return Err(FrameError::Length { length, length_max });
    }
    if let Some(number) = octets.get(LENGTH_BYTES) {
        kind(*number)?;
    }
    if octets.len() < LENGTH_BYTES + length {
        return Ok(None);
    }
    octets.advance(LENGTH_BYTES);
    let mut frame = octets.split_to(length).freeze();
    let kind = kind(frame.get_u8())?;
    Ok(Some((kind, frame)))
}

fn kind(number: u8) -> Result<Kind, FrameError> {
    let found = KINDS.iter().find(|(known, _)| *known == number);
    found.map(|(_, kind)| *kind).ok_or(FrameError::Kind(number))
}

/// Appends a frame.
#[expect(
    clippy::expect_used,
    reason = "what members tell each other is cut into pieces far under 2^32 octets, and a wrong \
              length would make all that follows nonsense"
)]
pub fn put(kind: Kind, octets: &[u8], to: &mut Vec<u8>) {
    let number = KINDS.iter().find(|(_, known)| *known == kind);
    let number = number.map_or(0, |(number, _)| *number);
    let length = u32::try_from(octets.len() + 1).expect("frames are bounded far under 2^32");
    to.extend_from_slice(&length.to_be_bytes());
    to.push(number);
    to.extend_from_slice(octets);
}

/// What happened to a connection, in words: those of TLS and of the system say what they saw and not what it
/// means.
pub fn words(error: &io::Error) -> String {
    let what = match error.kind() {
        io::ErrorKind::UnexpectedEof => {
            return "the peer closed the connection without a goodbye: its process has ended, or something \
                    between has cut it"
                .to_owned();
        }
        io::ErrorKind::ConnectionReset
        | io::ErrorKind::ConnectionAborted
        | io::ErrorKind::BrokenPipe => {
            "the peer's host has cut the connection: its process has ended"
        }
        io::ErrorKind::TimedOut => "nothing comes from the peer: it is gone or frozen, or cut off",
        io::ErrorKind::ConnectionRefused => "nobody listens there",
        _ => return error.to_string(),
    };
    format!("{what} ({error})")
}

/// Reads frames off a stream.
pub struct Frames {
    octets: BytesMut,
    /// Octets of a frame at most, without its length.
    pub length_max: usize,
}

impl Frames {
    /// With nothing read, and frames as they are before a peer has said who it is.
    pub fn of_stranger() -> Frames {
        Frames {
            octets: BytesMut::new(),
            length_max: limits::PEER_GREETING_BYTES_MAX,
        }
    }

    /// The next frame; None at the end of the stream, which is between two frames. Nothing is lost when
    /// this is dropped before it is done.
    ///
    /// # Errors
    /// The stream fails or ends within a frame, or what comes is no frame.
    pub async fn next(&mut self, from: &mut (impl AsyncRead + Unpin)) -> io::Result<Option<Frame>> {
        loop {
            match take(&mut self.octets, self.length_max) {
                Ok(Some(frame)) => return Ok(Some(frame)),
                Ok(None) => {}
                Err(error) => {
                    return Err(io::Error::new(
                        io::ErrorKind::InvalidData,
                        error.to_string(),
                    ));
                }
            }
            self.octets.reserve(limits::PEER_READ_BYTES);
            if from.read_buf(&mut self.octets).await? == 0 {
                return match self.octets.is_empty() {
                    true => Ok(None),
                    false => Err(io::ErrorKind::UnexpectedEof.into()),
                };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn octets(text: &[u8]) -> BytesMut {
        BytesMut::from(text)
    }

    #[test]
    fn a_frame_comes_out_as_it_went_in_and_not_before_it_is_whole() {
        for (_, kind) in KINDS {
            let mut whole = Vec::new();
            put(kind, b"octets", &mut whole);
            for cut in 0..whole.len() {
                assert_eq!(take(&mut octets(&whole[..cut]), 7), Ok(None));
            }
            whole.extend(b"rest");
            let mut left = octets(&whole);
            let taken = take(&mut left, 7);
            assert_eq!(taken, Ok(Some((kind, Bytes::from_static(b"octets")))));
            assert_eq!(left, octets(b"rest"));
        }
    }

    #[test]
    fn a_record_of_tls_is_called_by_its_name() {
        for first in [[0x15, 3, 3, 0], [0x16, 3, 1, 2]] {
            let error = take(&mut octets(&first), 256).expect_err("it is no frame");
            assert!(error.to_string().contains("it speaks TLS"), "{error}");
        }
    }

    #[test]
    fn what_is_no_frame_is_told_before_it_has_come_whole() {
        let length = |length, length_max| FrameError::Length { length, length_max };
        let none = take(&mut octets(&[0, 0, 0, 0]), 7);
        assert_eq!(none, Err(length(0, 7)));
        let long = take(&mut octets(&[0, 0, 0, 8]), 7);
        assert_eq!(long, Err(length(8, 7)));
        let huge = take(&mut octets(&[255; 4]), 7);
        assert_eq!(huge, Err(length(u32::MAX as usize, 7)));
        for number in [0, 11, 255] {
            let strange = take(&mut octets(&[0, 0, 0, 7, number]), 7);
            assert_eq!(strange, Err(FrameError::Kind(number)));
        }
    }
}
