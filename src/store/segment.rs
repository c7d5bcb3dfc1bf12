//! Segments, and places of records in them.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use super::format;

/// A segment as those know it who have records in it: what of it is still needed is counted here,
/// without a lock.
#[derive(Debug)]
pub struct SegmentUse {
    number: u64,
    base: u64,
    live_bytes: AtomicI64,
}

impl SegmentUse {
    pub(super) fn new(number: u64, base: u64) -> Arc<SegmentUse> {
        Arc::new(SegmentUse {
            number,
            base,
            live_bytes: AtomicI64::new(0),
        })
    }

    /// Its number: 1 for the first of a store, never used again.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The position of its first octet.
    pub fn base(&self) -> u64 {
        self.base
    }

    /// Octets in it that are still needed, as its users count them.
    pub fn live_bytes(&self) -> i64 {
        self.live_bytes.load(Ordering::Relaxed)
    }

    /// Counts `delta` octets more as needed, or fewer.
    pub fn count_live(&self, delta: i64) {
        self.live_bytes.fetch_add(delta, Ordering::Relaxed);
    }
}

/// Where a record is. Sixteen octets, so that one can be kept for each message body.
#[derive(Clone)]
pub struct Place {
    pub(super) segment: Arc<SegmentUse>,
    pub(super) offset: u32,
    pub(super) length: u32,
}

impl Place {
    /// The segment that it is in.
    pub fn segment(&self) -> &Arc<SegmentUse> {
        &self.segment
    }

    /// The offset of the record in the segment's file.
    pub fn offset(&self) -> u32 {
        self.offset
    }

    /// The name of the segment's file.
    pub fn file(&self) -> String {
        format::file_name(self.segment.number)
    }

    /// Octets of the record's payload.
    pub fn length(&self) -> u32 {
        self.length
    }

    /// The position of the record: positions grow from record to record, for ever.
    pub fn position(&self) -> u64 {
        self.segment.base + u64::from(self.offset)
    }

    /// The position after the record: it is on the disk when
    /// [`Journal::synced`](super::Journal::synced) has come to it.
    pub fn end(&self) -> u64 {
        self.position() + format::record_bytes(self.length as usize)
    }

    /// Octets that the record takes in its segment.
    pub fn bytes(&self) -> u64 {
        format::record_bytes(self.length as usize)
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (number, offset, length) = (self.segment.number, self.offset, self.length);
        write!(f, "Place({number:x}:{offset}+{length})")
    }
}

/// A record as it is read back.
#[derive(Clone, Debug)]
pub struct RecordAt {
    /// The kind that it was given.
    pub kind: u8,
    /// Where it is.
    pub place: Place,
}

/// What [`Journal::segments`](super::Journal::segments) tells of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentInfo {
    /// Its number.
    pub number: u64,
    /// The position of its first octet.
    pub base: u64,
    /// The position after its last record.
    pub end: u64,
    /// Octets of its file.
    pub bytes: u64,
    /// Octets still needed, as its users count them.
    pub live_bytes: i64,
    /// Whether it is full and on the disk: what can be read whole and removed.
    pub is_sealed: bool,
}

/// A part of a record's payload.
#[derive(Clone, Copy, Debug)]
pub enum Part<'a> {
    /// Copied at once.
    Octets(&'a [u8]),
    /// Kept by reference until it is written, when it is large.
    Shared(&'a bytes::Bytes),
}

impl Part<'_> {
    pub(super) fn octets(&self) -> &[u8] {
        match self {
            Part::Octets(octets) => octets,
            Part::Shared(octets) => octets,
        }
    }
}
