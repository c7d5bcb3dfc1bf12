//! Records that wait to be written, laid out as they will be.

use std::io::IoSlice;
use std::sync::Arc;

use bytes::Bytes;

use super::format::{Checks, RECORD_HEADER_BYTES, RecordHeader, SEAL, padding};
use super::limits;
use super::segment::{Part, SegmentUse};

/// Records in order, of one segment or several.
#[derive(Default)]
pub(super) struct Buffer {
    /// Headers, copied parts, padding.
    octets: Vec<u8>,
    /// Parts kept by reference: the offset in `octets` before which each goes.
    shared: Vec<(usize, Bytes)>,
    records: Vec<Buffered>,
    runs: Vec<Run>,
}

/// One record of a buffer.
struct Buffered {
    position: u64,
    octets_at: usize,
    shared_at: usize,
}

/// Records that go into the same segment; or its seal, which is a run of its own, because it is
/// written only when the next segment is there.
pub(super) struct Run {
    pub segment: Arc<SegmentUse>,
    /// For a seal: the next segment, and octets of its file.
    pub next: Option<(Arc<SegmentUse>, u64)>,
    /// The index of the first record.
    first: usize,
}

impl Buffer {
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Adds the seal of a segment; the next one, and octets of its file.
    pub fn push_seal(
        &mut self,
        segment: &Arc<SegmentUse>,
        position: u64,
        next: (Arc<SegmentUse>, u64),
    ) {
        let header = RecordHeader {
            length: 0,
            kind: SEAL,
            position,
            synced: 0,
        };
        self.begin_run(segment, Some(next));
        self.push_record(&header, &[]);
    }

    /// Adds a record. Its check and what it says to be synced come later.
    pub fn push(&mut self, segment: &Arc<SegmentUse>, header: &RecordHeader, parts: &[Part<'_>]) {
        let last = self.runs.last();
        if last.is_none_or(|run| !Arc::ptr_eq(&run.segment, segment)) {
            self.begin_run(segment, None);
        }
        self.push_record(header, parts);
    }

    fn begin_run(&mut self, segment: &Arc<SegmentUse>, next: Option<(Arc<SegmentUse>, u64)>) {
        self.runs.push(Run {
            segment: Arc::clone(segment),
            next,
            first: self.records.len(),
        });
    }

    fn push_record(&mut self, header: &RecordHeader, parts: &[Part<'_>]) {
        self.records.push(Buffered {
            position: header.position,
            octets_at: self.octets.len(),
            shared_at: self.shared.len(),
        });
        self.octets.extend_from_slice(&header.encode());
        for part in parts {
            match part {
                Part::Shared(octets) if octets.len() >= limits::SHARED_BYTES_MIN => {
                    self.shared.push((self.octets.len(), Bytes::clone(octets)));
                }
                part => self.octets.extend_from_slice(part.octets()),
            }
        }
        let length = header.length as usize;
        self.octets.extend_from_slice(&[0; 8][..padding(length)]);
    }

    /// Says in all records how far the disk has come, and completes them with their checks.
    pub fn finish(&mut self, synced: u64, checks: &Checks) {
        for n in 0..self.records.len() {
            let at = self.records[n].octets_at;
            self.octets[at + 16..at + 24].copy_from_slice(&synced.to_be_bytes());
            let mut pieces = self.pieces(n, n + 1);
            let first = pieces.next().expect("a record has a header");
            let (header, rest) = first.split_at(RECORD_HEADER_BYTES);
            let check = checks.of(header, std::iter::once(rest).chain(pieces));
            let at = at + RECORD_HEADER_BYTES;
            self.octets[at - 4..at].copy_from_slice(&check.to_be_bytes());
        }
    }

    /// The runs.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    fn records_of(&self, run: usize) -> (usize, usize) {
        let end = self
            .runs
            .get(run + 1)
            .map_or(self.records.len(), |next| next.first);
        (self.runs[run].first, end)
    }

    /// Where a run begins and ends.
    pub fn positions(&self, run: usize) -> (u64, u64) {
        let (first, end) = self.records_of(run);
        let start = self.records[first].position;
        let bytes: usize = self.pieces(first, end).map(<[u8]>::len).sum();
        (start, start + bytes as u64)
    }

    /// The octets of a run.
    pub fn slices(&self, run: usize) -> Vec<IoSlice<'_>> {
        let (first, end) = self.records_of(run);
        self.pieces(first, end).map(IoSlice::new).collect()
    }

    /// The octets of records from one to before another.
    fn pieces(&self, first: usize, end: usize) -> impl Iterator<Item = &[u8]> {
        let (octets_end, shared_end) = match self.records.get(end) {
            Some(next) => (next.octets_at, next.shared_at),
            None => (self.octets.len(), self.shared.len()),
        };
        let Buffered {
            octets_at,
            shared_at,
            ..
        } = self.records[first];
        let shared = &self.shared[shared_at..shared_end];
        let starts = std::iter::once(octets_at).chain(shared.iter().map(|(at, _)| *at));
        let ends = shared.iter().map(|(at, _)| *at).chain([octets_end]);
        let copied = starts
            .zip(ends)
            .map(|(start, end)| &self.octets[start..end]);
        let kept = shared
            .iter()
            .map(|(_, octets)| &octets[..])
            .chain([&[][..]]);
        let both = copied.zip(kept).flat_map(|(copied, kept)| [copied, kept]);
        both.filter(|octets| !octets.is_empty())
    }

    /// Fills `octets` from the payload of the record at this position, from `start` on. False when
    /// it is not here.
    pub fn read(&self, position: u64, start: usize, octets: &mut [u8]) -> bool {
        let found = self
            .records
            .binary_search_by_key(&position, |record| record.position);
        let Ok(n) = found else {
            return false;
        };
        let (mut skip, mut done) = (RECORD_HEADER_BYTES + start, 0);
        for piece in self.pieces(n, n + 1) {
            let skipped = skip.min(piece.len());
            skip -= skipped;
            let piece = &piece[skipped..];
            let count = piece.len().min(octets.len() - done);
            octets[done..done + count].copy_from_slice(&piece[..count]);
            done += count;
        }
        done == octets.len()
    }

    /// Forgets all, and keeps some room.
    pub fn clear(&mut self) {
        self.octets.clear();
        self.octets.shrink_to(limits::BUFFER_KEPT_BYTES);
        self.shared.clear();
        self.records.clear();
        self.records.shrink_to(limits::BUFFER_KEPT_BYTES / 64);
        self.runs.clear();
    }
}
