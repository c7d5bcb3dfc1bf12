//! Reading records back while the journal is open.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::Visit;
use super::disk::{self, Disk, DiskFile};
use super::examination;
use super::format::{self, RECORD_HEADER_BYTES};
use super::journal::Shared;
use super::limits;
use super::scan;
use super::segment::{Place, RecordAt, SegmentUse};

/// Files kept open, the one used last at the end.
#[derive(Default)]
pub(super) struct OpenFiles {
    files: Vec<(u64, Arc<dyn DiskFile>)>,
    /// Those of removed segments of which octets are still needed.
    removed: BTreeMap<u64, (Arc<SegmentUse>, Arc<dyn DiskFile>)>,
}

impl OpenFiles {
    fn get(&mut self, disk: &dyn Disk, number: u64) -> io::Result<Arc<dyn DiskFile>> {
        if let Some((_, file)) = self.removed.get(&number) {
            return Ok(Arc::clone(file));
        }
        let found = self.files.iter().position(|(other, _)| *other == number);
        let entry = match found {
            Some(at) => self.files.remove(at),
            None => (number, disk.open(&format::file_name(number))?),
        };
        if self.files.len() == limits::OPEN_FILES_MAX {
            self.files.remove(0);
        }
        let file = Arc::clone(&entry.1);
        self.files.push(entry);
        Ok(file)
    }

    /// How many removed segments are still needed. The room of the others is given back.
    pub fn removed_in_use(&mut self) -> usize {
        self.removed.retain(|_, (of, _)| of.live_bytes() > 0);
        self.removed.len()
    }

    /// Closes the file of a segment, so that its room is free when it is removed, unless octets in it
    /// are still needed: then it stays open until they are not.
    pub fn forget(&mut self, disk: &dyn Disk, of: &Arc<SegmentUse>) -> io::Result<()> {
        let number = of.number();
        if of.live_bytes() > 0 {
            let file = self.get(disk, number)?;
            self.removed.insert(number, (Arc::clone(of), file));
        }
        self.files.retain(|(other, _)| *other != number);
        Ok(())
    }
}

fn invalid(place: &Place, what: &str) -> io::Error {
    let name = format::file_name(place.segment.number());
    let text = format!("{name} at offset {}: {what}", place.offset);
    io::Error::new(io::ErrorKind::InvalidData, text)
}

/// Fills `octets` from a record that is still in memory. False when it is on the disk.
fn read_buffered(
    shared: &Shared,
    place: &Place,
    start: usize,
    octets: &mut [u8],
) -> io::Result<bool> {
    let is_synced = || place.end() <= shared.synced.load(Ordering::Acquire);
    if is_synced() {
        return Ok(false);
    }
    let position = place.position();
    // In this order a record cannot slip from one to the other between the two looks.
    let is_waiting = shared.front.lock().buffer.read(position, start, octets);
    if is_waiting || shared.in_flight.read().read(position, start, octets) {
        return Ok(true);
    }
    // The writer raises the watermark before it lets go of what it wrote.
    if is_synced() {
        return Ok(false);
    }
    Err(invalid(
        place,
        "the record was lost when the journal failed",
    ))
}

pub(super) fn read_into(
    shared: &Shared,
    place: &Place,
    start: usize,
    octets: &mut [u8],
) -> io::Result<()> {
    let is_within = start.checked_add(octets.len());
    if is_within.is_none_or(|end| end > place.length as usize) {
        return Err(invalid(place, "more was asked for than the record has"));
    }
    if read_buffered(shared, place, start, octets)? {
        return Ok(());
    }
    let number = place.segment.number();
    let file = shared.files.lock().get(&*shared.disk, number)?;
    let offset = u64::from(place.offset) + (RECORD_HEADER_BYTES + start) as u64;
    if disk::read_full(&*file, octets, offset)? < octets.len() {
        return Err(invalid(place, "the file ends within the record"));
    }
    Ok(())
}

pub(super) fn read_record(shared: &Shared, place: &Place) -> io::Result<Vec<u8>> {
    let length = place.length as usize;
    let mut octets = vec![0; place.bytes() as usize];
    let payload = RECORD_HEADER_BYTES..RECORD_HEADER_BYTES + length;
    if !read_buffered(shared, place, 0, &mut octets[payload.clone()])? {
        let number = place.segment.number();
        let file = shared.files.lock().get(&*shared.disk, number)?;
        let count = disk::read_full(&*file, &mut octets, u64::from(place.offset))?;
        // The record as if it were a segment of its own, which begins where it does.
        let record = shared
            .checks
            .record_at(&octets[..count], place.position(), 0);
        if record.is_none_or(|record| record.length != place.length) {
            return Err(invalid(place, "no valid record"));
        }
    }
    octets.drain(..payload.start);
    octets.truncate(length);
    Ok(octets)
}

pub(super) fn read_segment(shared: &Shared, number: u64, visit: &mut Visit<'_>) -> io::Result<()> {
    let segment = shared.front.lock().segments.get(&number).cloned();
    let Some(segment) = segment.filter(|segment| segment.is_sealed) else {
        let text = format!("segment {number:x} is not one that is sealed");
        return Err(io::Error::new(io::ErrorKind::NotFound, text));
    };
    let file = shared.files.lock().get(&*shared.disk, number)?;
    let mut octets = Vec::new();
    examination::read_file(&*file, &mut octets)?;
    let mut deliver = |header: &format::RecordHeader, offset: u64, payload: &[u8]| {
        let place = Place {
            segment: Arc::clone(&segment.of),
            offset: offset as u32,
            length: header.length,
        };
        let kind = header.kind;
        visit(RecordAt { kind, place }, payload)
    };
    let base = segment.of.base();
    let scanned = scan::scan(&octets, base, &shared.checks, &mut deliver);
    let scanned = scanned.map_err(|refused| io::Error::other(refused.reason))?;
    if !scanned.is_whole() {
        let name = format::file_name(number);
        let text = format!("{name} at offset {}: no valid record", scanned.end);
        return Err(io::Error::new(io::ErrorKind::InvalidData, text));
    }
    Ok(())
}
