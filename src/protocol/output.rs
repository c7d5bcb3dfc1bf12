//! Bytes on their way to the peer.
//!
//! Small things are copied one after the other into one buffer; parts of bodies of 4096 bytes
//! and more stay where they are and are only pointed at. A vectored write takes both:
//!
//! ```text
//!   copied   [ frame | frame | header-of-body-frame ][ frame header ]
//!   shared                                        [ body part ]     [ body part ]
//!   chunks   Copied(n) ................................ Shared .. Copied(12) .. Shared
//! ```

use std::collections::VecDeque;
use std::io::IoSlice;

use bytes::{Buf, Bytes};

use crate::wire::SegmentType;
use crate::wire::encode::overwrite;
use crate::wire::frame::{FrameHeader, HEADER_BYTES};
use crate::wire::{Command, Control};

use super::limits;
use super::sending::Pieces;

/// Bytes to write, in order. Also a [`Buf`], for `AsyncWriteExt::write_buf`.
#[derive(Debug, Default)]
pub struct Output {
    copied: Vec<u8>,
    /// Bytes at the front of `copied` that have been written.
    copied_sent: usize,
    /// Bytes of `copied` that `chunks` covers. Equal to its length between public calls.
    copied_sealed: usize,
    chunks: VecDeque<Chunk>,
    len: usize,
    replies: Replies,
    /// Frames that were ever appended.
    frames: u64,
}

#[derive(Debug)]
enum Chunk {
    /// So many of the next bytes of `copied`.
    Copied(usize),
    Shared(Bytes),
}

/// Where a segment stands in its command.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    pub(super) kind: SegmentType,
    pub(super) channel: u16,
    pub(super) first: bool,
    pub(super) last: bool,
}

impl Segment {
    fn frame(
        self,
        first_frame: bool,
        last_frame: bool,
        payload_bytes: usize,
    ) -> [u8; HEADER_BYTES] {
        let track = match self.kind {
            SegmentType::CONTROL => 0,
            _ => 1,
        };
        FrameHeader {
            first_segment: self.first,
            last_segment: self.last,
            first_frame,
            last_frame,
            segment: self.kind,
            // Callers cut payloads to the 16-bit max-frame-size first.
            size: u16::try_from(HEADER_BYTES + payload_bytes).unwrap_or(u16::MAX),
            track,
            channel: self.channel,
        }
        .encode()
    }
}

impl Output {
    /// Frames that were ever appended.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// Bytes that wait to be written.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Bytes of room that a connection on which nothing moves does not need.
    pub fn idle_room(&self) -> usize {
        match self.is_empty() {
            true => self
                .copied
                .capacity()
                .saturating_sub(limits::OUTPUT_IDLE_BYTES),
            false => 0,
        }
    }

    /// Gives that room back.
    pub fn release(&mut self) {
        if self.is_empty() {
            self.copied.shrink_to(limits::OUTPUT_IDLE_BYTES);
        }
    }

    /// Nothing waits.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends slices for a vectored write, at most `slices_max` of them.
    pub fn io_slices<'a>(&'a self, slices_max: usize, into: &mut Vec<IoSlice<'a>>) {
        let mut at = self.copied_sent;
        for chunk in self.chunks.iter().take(slices_max) {
            into.push(IoSlice::new(match chunk {
                Chunk::Copied(bytes) => {
                    at += bytes;
                    self.copied_part(at - bytes, *bytes)
                }
                Chunk::Shared(bytes) => bytes,
            }));
        }
    }

    /// The first bytes to write, for a writer that takes one slice.
    pub fn front(&self) -> &[u8] {
        match self.chunks.front() {
            Some(Chunk::Copied(bytes)) => self.copied_part(self.copied_sent, *bytes),
            Some(Chunk::Shared(bytes)) => bytes,
            None => &[],
        }
    }

    /// So many of the copied bytes from there: chunks count what was copied.
    fn copied_part(&self, from: usize, bytes: usize) -> &[u8] {
        self.copied.get(from..from + bytes).unwrap_or_default()
    }

    /// Drops the first `written` bytes; no more than [`len`](Output::len).
    pub fn advance(&mut self, written: usize) {
        let mut left = written.min(self.len);
        self.len -= left;
        self.replies.sent(left);
        while left > 0 {
            match self.chunks.front_mut() {
                Some(Chunk::Copied(bytes)) => {
                    let taken = left.min(*bytes);
                    *bytes -= taken;
                    self.copied_sent += taken;
                    left -= taken;
                    if *bytes == 0 {
                        self.chunks.pop_front();
                    }
                }
                Some(Chunk::Shared(bytes)) => {
                    let taken = left.min(bytes.len());
                    bytes.advance(taken);
                    left -= taken;
                    if bytes.is_empty() {
                        self.chunks.pop_front();
                    }
                }
                None => break,
            }
        }
        self.reclaim();
    }

    /// Gives back the written part of `copied`; each byte is moved at most once for each time
    /// that half of the buffer has been written.
    fn reclaim(&mut self) {
        if self.copied_sent == self.copied.len() {
            self.copied.clear();
            self.copied.shrink_to(limits::OUTPUT_KEPT_BYTES);
        } else if self.copied_sent > limits::OUTPUT_KEPT_BYTES
            && self.copied_sent > self.copied.len() / 2
        {
            self.copied.drain(..self.copied_sent);
        } else {
            return;
        }
        self.copied_sent = 0;
        self.copied_sealed = self.copied.len();
    }

    /// Makes what was appended to `copied` part of `chunks`.
    fn seal(&mut self) {
        let fresh = self.copied.len() - self.copied_sealed;
        if fresh == 0 {
            return;
        }
        self.copied_sealed = self.copied.len();
        self.len += fresh;
        match self.chunks.back_mut() {
            Some(Chunk::Copied(bytes)) => *bytes += fresh,
            _ => self.chunks.push_back(Chunk::Copied(fresh)),
        }
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.copied.extend_from_slice(bytes);
        self.seal();
    }

    pub(super) fn control(&mut self, channel: u16, control: &Control, max_frame_size: u16) {
        let segment = Segment {
            kind: SegmentType::CONTROL,
            channel,
            first: true,
            last: true,
        };
        self.encoded(segment, max_frame_size, |out| control.encode(out));
    }

    /// A control that answers the peer. False when the peer has left too many unread.
    pub(super) fn reply(&mut self, channel: u16, control: &Control, max_frame_size: u16) -> bool {
        let before = self.len;
        self.control(channel, control, max_frame_size);
        self.replies.appended(self.len - before, self.len);
        self.replies.unsent <= limits::REPLY_BYTES_MAX
    }

    pub(super) fn command(
        &mut self,
        channel: u16,
        command: &Command,
        sync: bool,
        has_content: bool,
        max_frame_size: u16,
    ) {
        let segment = Segment {
            kind: SegmentType::COMMAND,
            channel,
            first: true,
            last: !has_content,
        };
        self.encoded(segment, max_frame_size, |out| command.encode(sync, out));
    }

    /// Encodes in place behind room for a frame header; only what does not fit one frame is
    /// moved and cut.
    fn encoded(
        &mut self,
        segment: Segment,
        max_frame_size: u16,
        encode: impl FnOnce(&mut Vec<u8>),
    ) {
        let start = self.copied.len();
        self.copied.extend_from_slice(&[0; HEADER_BYTES]);
        encode(&mut self.copied);
        let payload_bytes = self.copied.len() - start - HEADER_BYTES;
        if payload_bytes + HEADER_BYTES <= usize::from(max_frame_size) {
            let header = segment.frame(true, true, payload_bytes);
            overwrite(&mut self.copied, start, header);
            self.frames += 1;
            self.seal();
        } else {
            let payload = self.copied.split_off(start + HEADER_BYTES);
            self.copied.truncate(start);
            self.segment(segment, &payload, max_frame_size);
        }
    }

    /// A segment whose payload is copied, cut into frames.
    pub(super) fn segment(&mut self, segment: Segment, payload: &[u8], max_frame_size: u16) {
        let room = usize::from(max_frame_size) - HEADER_BYTES;
        let mut first = true;
        let mut left = payload;
        loop {
            let (part, rest) = left.split_at(left.len().min(room));
            self.copied
                .extend_from_slice(&segment.frame(first, rest.is_empty(), part.len()));
            self.copied.extend_from_slice(part);
            self.frames += 1;
            if rest.is_empty() {
                break;
            }
            (first, left) = (false, rest);
        }
        self.seal();
    }

    /// A body segment, cut into frames.
    pub(super) fn body(&mut self, channel: u16, pieces: Pieces<'_>, max_frame_size: u16) {
        let segment = Segment {
            kind: SegmentType::BODY,
            channel,
            first: false,
            last: true,
        };
        match pieces {
            Pieces::Copied(octets) => self.segment(segment, octets, max_frame_size),
            Pieces::Shared(pieces) => self.pieces(segment, pieces, max_frame_size),
        }
    }

    /// A segment from its pieces, cut into frames; large parts stay shared.
    fn pieces(&mut self, segment: Segment, pieces: &[Bytes], max_frame_size: u16) {
        let room = usize::from(max_frame_size) - HEADER_BYTES;
        let mut total: usize = pieces.iter().map(Bytes::len).sum();
        let mut pieces = pieces.iter();
        let mut piece: &[u8] = &[];
        let mut owner: Option<&Bytes> = None;
        let mut first = true;
        loop {
            let mut payload = total.min(room);
            total -= payload;
            self.frames += 1;
            self.copied
                .extend_from_slice(&segment.frame(first, total == 0, payload));
            while payload > 0 {
                if piece.is_empty() {
                    match pieces.next() {
                        Some(next) => (owner, piece) = (Some(next), next),
                        None => break,
                    }
                    continue;
                }
                let (part, rest) = piece.split_at(payload.min(piece.len()));
                match owner {
                    Some(owner) if part.len() >= limits::OUTPUT_BY_REFERENCE_MIN => {
                        self.shared(owner.slice_ref(part));
                    }
                    _ => self.copied.extend_from_slice(part),
                }
                payload -= part.len();
                piece = rest;
            }
            if total == 0 {
                break;
            }
            first = false;
        }
        self.seal();
    }

    fn shared(&mut self, bytes: Bytes) {
        self.seal();
        self.len += bytes.len();
        self.chunks.push_back(Chunk::Shared(bytes));
    }
}

impl Buf for Output {
    fn remaining(&self) -> usize {
        self.len
    }

    fn chunk(&self) -> &[u8] {
        self.front()
    }

    fn advance(&mut self, count: usize) {
        assert!(count <= self.len, "advanced past the end of the output");
        Output::advance(self, count);
    }

    fn chunks_vectored<'a>(&'a self, into: &mut [IoSlice<'a>]) -> usize {
        let mut at = self.copied_sent;
        let mut filled = 0;
        for (slot, chunk) in into.iter_mut().zip(&self.chunks) {
            *slot = IoSlice::new(match chunk {
                Chunk::Copied(bytes) => {
                    at += bytes;
                    self.copied_part(at - bytes, *bytes)
                }
                Chunk::Shared(bytes) => bytes,
            });
            filled += 1;
        }
        filled
    }
}

/// Counts this layer's own answers that wait unsent, in two generations: the older one is
/// forgotten when all that was queued when it ended has been written. So the count is exact to
/// a generation without a mark per answer.
#[derive(Debug, Default)]
struct Replies {
    unsent: usize,
    younger: usize,
    /// Bytes still to be written until the older generation is gone.
    older_left: usize,
}

impl Replies {
    fn appended(&mut self, bytes: usize, output_len: usize) {
        self.unsent += bytes;
        self.younger += bytes;
        if self.older_left == 0 {
            self.turn(output_len);
        }
    }

    fn sent(&mut self, bytes: usize) {
        if self.older_left == 0 {
            return;
        }
        self.older_left = self.older_left.saturating_sub(bytes);
        if self.older_left == 0 {
            self.unsent = self.younger;
        }
    }

    /// Makes the younger generation the older one.
    fn turn(&mut self, output_len: usize) {
        self.younger = 0;
        self.older_left = output_len;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(output: &mut Output, step: usize) -> Vec<u8> {
        let mut all = Vec::new();
        while !output.is_empty() {
            let front = output.front();
            let taken = front.len().min(step);
            all.extend_from_slice(&front[..taken]);
            output.advance(taken);
        }
        all
    }

    #[test]
    fn large_parts_are_shared_and_small_ones_copied() {
        let mut output = Output::default();
        let large = Bytes::from(vec![7; 10_000]);
        let small = Bytes::from_static(b"tail");
        output.body(3, Pieces::Shared(&[large.clone(), small]), 65535);
        let shared = output
            .chunks
            .iter()
            .filter(|c| matches!(c, Chunk::Shared(_)))
            .count();
        assert_eq!(shared, 1);
        assert_eq!(output.len(), 12 + 10_004);
        let bytes = written(&mut output, 17);
        assert_eq!(&bytes[12..10_012], &large[..]);
        assert_eq!(&bytes[10_012..], b"tail");
    }

    #[test]
    fn written_bytes_are_given_back() {
        let mut output = Output::default();
        for _ in 0..10_000 {
            output.bytes(&[1; 1000]);
            output.advance(999);
        }
        assert_eq!(output.len(), 10_000);
        assert!(
            output.copied.len() < 3 * limits::OUTPUT_KEPT_BYTES,
            "{} bytes kept",
            output.copied.len()
        );
        output.advance(10_000);
        assert!(output.copied.capacity() <= 2 * limits::OUTPUT_KEPT_BYTES);
        assert!(output.idle_room() > 0);
        output.release();
        assert_eq!(output.idle_room(), 0);
    }

    #[test]
    fn replies_count_until_they_are_written() {
        let mut replies = Replies::default();
        replies.appended(10, 110);
        replies.appended(10, 120);
        assert_eq!(replies.unsent, 20);
        replies.sent(110);
        assert_eq!(replies.unsent, 10, "the younger generation may wait still");
        replies.appended(10, 20);
        replies.sent(20);
        assert_eq!(replies.unsent, 0);
    }
}
