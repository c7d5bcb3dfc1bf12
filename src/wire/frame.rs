//! The twelve octets in front of every frame's payload.

use super::decode_error::{DecodeError, Problem};
use super::generated::SegmentType;

/// Octets of a frame header.
pub const HEADER_BYTES: usize = 12;

const FIRST_SEGMENT: u8 = 0x08;
const LAST_SEGMENT: u8 = 0x04;
const FIRST_FRAME: u8 = 0x02;
const LAST_FRAME: u8 = 0x01;

/// A frame header: where the frame's payload belongs.
///
/// An assembly (a control, or a command with its header and body) is made of segments, a segment of
/// frames; flags mark the first and last of both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHeader {
    /// The frame belongs to the first segment of its assembly.
    pub first_segment: bool,
    /// The frame belongs to the last segment of its assembly.
    pub last_segment: bool,
    /// The frame is the first of its segment.
    pub first_frame: bool,
    /// The frame is the last of its segment.
    pub last_frame: bool,
    /// What the segment holds.
    pub segment: SegmentType,
    /// Octets of the whole frame, this header included: at least [`HEADER_BYTES`].
    pub size: u16,
    /// Track: controls and commands of a channel overtake each other only across tracks.
    pub track: u8,
    /// Channel.
    pub channel: u16,
}

impl FrameHeader {
    /// Octets of the payload that follows.
    pub fn payload_bytes(&self) -> usize {
        usize::from(self.size).saturating_sub(HEADER_BYTES)
    }

    /// Reads a header. Refuses a framing version other than 0, reserved bits, an unknown segment
    /// type and a size below that of the header, as qpidd does (framing error, 501); the last four
    /// octets are reserved but not looked at, as in qpidd.
    pub fn decode(bytes: &[u8; HEADER_BYTES]) -> Result<FrameHeader, DecodeError> {
        let &[
            flags,
            segment,
            size_high,
            size_low,
            reserved,
            track,
            channel_high,
            channel_low,
            ..,
        ] = bytes;
        let error = |field, offset, problem| {
            Err(DecodeError {
                field,
                offset,
                problem,
            })
        };
        if flags & 0xc0 != 0 {
            return error(
                "frame.flags",
                0,
                Problem::BadFrame("framing version is not 0"),
            );
        }
        if flags & 0x30 != 0 {
            return error("frame.flags", 0, Problem::BadFrame("reserved bits are set"));
        }
        let segment = SegmentType(segment);
        if segment.name().is_none() {
            return error(
                "frame.segment-type",
                1,
                Problem::BadFrame("unknown segment type"),
            );
        }
        let size = u16::from_be_bytes([size_high, size_low]);
        if usize::from(size) < HEADER_BYTES {
            return error("frame.size", 2, Problem::BadLength("frame", size.into()));
        }
        if reserved != 0 {
            return error(
                "frame.reserved",
                4,
                Problem::BadFrame("reserved bits are set"),
            );
        }
        if track & 0xf0 != 0 {
            return error("frame.track", 5, Problem::BadFrame("reserved bits are set"));
        }
        Ok(FrameHeader {
            first_segment: flags & FIRST_SEGMENT != 0,
            last_segment: flags & LAST_SEGMENT != 0,
            first_frame: flags & FIRST_FRAME != 0,
            last_frame: flags & LAST_FRAME != 0,
            segment,
            size,
            track,
            channel: u16::from_be_bytes([channel_high, channel_low]),
        })
    }

    /// The header's octets.
    pub fn encode(&self) -> [u8; HEADER_BYTES] {
        let flag = |set: bool, bit: u8| if set { bit } else { 0 };
        let flags = flag(self.first_segment, FIRST_SEGMENT)
            | flag(self.last_segment, LAST_SEGMENT)
            | flag(self.first_frame, FIRST_FRAME)
            | flag(self.last_frame, LAST_FRAME);
        let [size_high, size_low] = self.size.to_be_bytes();
        let [channel_high, channel_low] = self.channel.to_be_bytes();
        let track = self.track & 0x0f;
        let segment = self.segment.0;
        [
            flags,
            segment,
            size_high,
            size_low,
            0,
            track,
            channel_high,
            channel_low,
            0,
            0,
            0,
            0,
        ]
    }
}
