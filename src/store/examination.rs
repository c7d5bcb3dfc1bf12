//! Reading a whole store and judging it, without changing anything.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

use super::disk::{self, Disk, DiskFile};
use super::error::{Damages, Flaw, OpenError};
use super::format::{self, Checks, HeaderError, SEGMENT_HEADER_BYTES, SegmentHeader};
use super::options::{Options, Plant};
use super::recovery::disk_error;
use super::scan::{self, Scanned};
use super::segment::{Place, RecordAt, SegmentUse};
use super::state::{Recovery, TornTail};
use super::store_file::Identity;
use super::{Visit, limits};

/// A segment as the journal keeps it.
#[derive(Clone, Debug)]
pub(super) struct Segment {
    pub of: Arc<SegmentUse>,
    /// Octets of its file.
    pub size: u64,
    /// The offset after its last record.
    pub end: u64,
    pub is_sealed: bool,
}

/// The segments' numbers, ascending.
pub(super) fn numbers(disk: &dyn Disk) -> io::Result<BTreeSet<u64>> {
    let names = disk.list()?;
    Ok(names
        .iter()
        .filter_map(|name| format::number_of(name))
        .collect())
}

/// Reads a segment's file into `octets`: up to the size that its header says, if that can be read.
/// Returns the length of the file.
pub(super) fn read_file(file: &dyn DiskFile, octets: &mut Vec<u8>) -> io::Result<u64> {
    let length = file.length()?;
    let mut header = [0; SEGMENT_HEADER_BYTES];
    let count = disk::read_full(file, &mut header, 0)?;
    let most = match SegmentHeader::decode(&header[..count]) {
        Ok(header) => header.size.min(limits::SEGMENT_BYTES_MAX),
        Err(_) => limits::SEGMENT_BYTES_MAX,
    };
    octets.resize(length.min(most) as usize, 0);
    let count = disk::read_full(file, octets, 0)?;
    octets.truncate(count);
    Ok(length)
}

/// Whether a segment holds nothing behind its header.
pub(super) fn is_empty(octets: &[u8]) -> bool {
    let body = octets.get(SEGMENT_HEADER_BYTES..).unwrap_or_default();
    body.iter().all(|octet| *octet == 0)
}

/// The last segment with records.
pub(super) struct Last {
    pub file: Arc<dyn DiskFile>,
    /// The length of its file.
    pub length: u64,
    /// Where its last octet ends that is not zero.
    pub wipe_to: u64,
}

/// A store as it is read.
pub(super) struct Examination<'a> {
    disk: &'a dyn Disk,
    options: &'a Options,
    identity: Identity,
    pub checks: Checks,
    octets: Vec<u8>,
    pub damages: Damages,
    /// A file of a newer version.
    version: Option<(String, u32)>,
    pub segments: Vec<Segment>,
    /// None when there is damage, or when the last one is sealed, which is damage too.
    pub last: Option<Last>,
    pub reserve: Option<(Arc<dyn DiskFile>, u64)>,
    pub recovery: Recovery,
    /// Names of files that hold nothing that is needed.
    pub leftovers: Vec<String>,
}

/// How far the reading of a store has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Segments read.
    pub segments: usize,
    /// Segments that there are.
    pub of: usize,
}

impl<'a> Examination<'a> {
    pub fn new(disk: &'a dyn Disk, options: &'a Options, identity: Identity) -> Self {
        let store_id = identity.store_id;
        let mut checks = Checks::new(store_id);
        checks.are_ignored = options.plant == Plant::CheckIgnored;
        checks.positions_are_ignored = options.plant == Plant::PositionIgnored;
        Examination {
            disk,
            options,
            checks,
            octets: Vec::new(),
            damages: Damages::default(),
            version: None,
            segments: Vec::new(),
            last: None,
            reserve: None,
            recovery: Recovery {
                store_id,
                gaps: u64::from(identity.lost),
                ..Recovery::default()
            },
            leftovers: Vec::new(),
            identity,
        }
    }

    /// Reads it all. Damage is noted, what else keeps a store from being read is an error.
    pub fn read(
        &mut self,
        visit: &mut Visit<'_>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), OpenError> {
        let numbers = self.present()?;
        let newest = numbers.last().copied();
        let newest_is_empty = match newest {
            Some(number) => self.sync_and_test(&numbers, number)?,
            None => false,
        };
        for (n, number) in numbers.iter().enumerate() {
            let is_newest = Some(*number) == newest;
            let is_reserve = is_newest && newest_is_empty && self.last.is_some();
            if is_reserve && self.is_next(*number) {
                self.read_reserve(*number)?;
            } else {
                let may_be_open = is_newest || newest_is_empty && Some(*number + 1) == newest;
                self.read_segment(*number, may_be_open, visit)?;
            }
            progress(Progress {
                segments: n + 1,
                of: numbers.len(),
            });
        }
        if let Some((file, version)) = self.version.take() {
            return Err(OpenError::Version { file, version });
        }
        if let (true, None, Some(last)) =
            (self.damages.is_empty(), &self.last, self.segments.last())
        {
            // A segment is sealed only when the next one is on the disk.
            let name = format::file_name(last.of.number() + 1);
            self.damages.add(&name, 0, Flaw::SegmentMissing);
        }
        Ok(())
    }

    /// The numbers of the segments that there should be and are.
    fn present(&mut self) -> Result<BTreeSet<u64>, OpenError> {
        let what = format!("{} cannot be listed", self.disk.directory());
        let mut numbers = numbers(self.disk).map_err(disk_error(what))?;
        let identity = self.identity.clone();
        let is_leftover = |number: &u64| identity.is_removed(*number);
        let leftovers = numbers.iter().copied().filter(is_leftover);
        self.leftovers = leftovers.map(format::file_name).collect();
        numbers.retain(|number| !identity.is_removed(*number));
        if numbers.is_empty() {
            let name = format::file_name(identity.first);
            self.damages.add(&name, 0, Flaw::SegmentMissing);
        }
        let mut expected = identity.first;
        for number in &numbers {
            while expected < *number && self.damages.more == 0 {
                if !identity.is_removed(expected) {
                    let name = format::file_name(expected);
                    self.damages.add(&name, 0, Flaw::SegmentMissing);
                }
                expected += 1;
            }
            expected = number.saturating_add(1);
        }
        Ok(numbers)
    }

    /// Syncs the files that an earlier process may have left unsynced, so that what is read of them
    /// is what the disk has. Returns whether the newest holds nothing.
    fn sync_and_test(&mut self, numbers: &BTreeSet<u64>, newest: u64) -> Result<bool, OpenError> {
        let before = numbers.range(..newest).next_back();
        for number in before.into_iter().chain([&newest]) {
            let file = self.open(*number)?;
            let what = format!("{} cannot be synced", format::file_name(*number));
            if self.options.plant != Plant::RecoveredNotSynced {
                file.sync_data()
                    .and_then(|()| file.drop_cache())
                    .map_err(disk_error(what))?;
            }
            if *number == newest {
                self.read_into(*number, &*file)?;
            }
        }
        Ok(is_empty(&self.octets))
    }

    fn open(&self, number: u64) -> Result<Arc<dyn DiskFile>, OpenError> {
        let name = format::file_name(number);
        let opened = self.disk.open(&name);
        opened.map_err(disk_error(format!("{name} cannot be opened")))
    }

    fn read_into(&mut self, number: u64, file: &dyn DiskFile) -> Result<u64, OpenError> {
        let what = format!("{} cannot be read", format::file_name(number));
        read_file(file, &mut self.octets).map_err(disk_error(what))
    }

    /// Whether this number follows that of the last segment read.
    fn is_next(&self, number: u64) -> bool {
        let last = self.segments.last();
        last.is_some_and(|last| last.of.number() + 1 == number)
    }

    /// The header of a segment that should have records.
    fn header(&mut self, number: u64) -> Option<SegmentHeader> {
        let name = format::file_name(number);
        let header = match SegmentHeader::decode(&self.octets) {
            Ok(header) => header,
            Err(HeaderError::Version(version)) => {
                self.version.get_or_insert((name, version));
                return None;
            }
            Err(HeaderError::Invalid) => {
                self.damages.add(&name, 0, Flaw::SegmentHeader);
                return None;
            }
        };
        let mut fields = vec![
            ("store id", header.store_id, self.recovery.store_id),
            ("number", header.number, number),
        ];
        if let Some(last) = self.segments.last() {
            let base = last.of.base() + last.size;
            if self.is_next(number) || header.base < base {
                fields.push(("base", header.base, base));
            }
        }
        for (field, found, expected) in fields {
            if found != expected {
                let flaw = Flaw::SegmentForeign {
                    field,
                    found,
                    expected,
                };
                self.damages.add(&name, 0, flaw);
                return None;
            }
        }
        Some(header)
    }

    /// Reads one segment. `may_be_open`: no segment with records follows it.
    fn read_segment(
        &mut self,
        number: u64,
        may_be_open: bool,
        visit: &mut Visit<'_>,
    ) -> Result<(), OpenError> {
        let name = format::file_name(number);
        let file = self.open(number)?;
        let length = self.read_into(number, &*file)?;
        let Some(header) = self.header(number) else {
            return Ok(());
        };
        let of = SegmentUse::new(number, header.base);
        // What comes after damage is not delivered: the caller will be told that nothing counts.
        let is_wanted = self.damages.is_empty();
        let mut deliver = |record: &format::RecordHeader, offset: u64, payload: &[u8]| {
            let place = Place {
                segment: Arc::clone(&of),
                offset: offset as u32,
                length: record.length,
            };
            let kind = record.kind;
            if is_wanted {
                visit(RecordAt { kind, place }, payload)
            } else {
                Ok(())
            }
        };
        let scanned = scan::scan(&self.octets, header.base, &self.checks, &mut deliver);
        let scanned = scanned.map_err(|refused| OpenError::Refused {
            file: name.clone(),
            offset: refused.offset as u32,
            reason: refused.reason,
        })?;
        self.recovery.segments += usize::from(scanned.records > 0);
        self.recovery.records += scanned.records;
        self.recovery.bytes += scanned.bytes;
        self.recovery.gaps += scanned.gaps;
        judge(
            &name,
            &header,
            length,
            may_be_open,
            &scanned,
            &mut self.damages,
        );
        let is_sealed = scanned.is_whole();
        if !is_sealed && may_be_open {
            self.note_tail(&name, &scanned);
            if length < header.size {
                self.recovery.remade.push(name);
            }
            self.last = Some(Last {
                file,
                length,
                wipe_to: scanned.used,
            });
        }
        self.segments.push(Segment {
            of,
            size: header.size,
            end: scanned.end,
            is_sealed,
        });
        Ok(())
    }

    fn note_tail(&mut self, name: &str, scanned: &Scanned) {
        if scanned.used > scanned.end {
            self.recovery.torn_tail = Some(TornTail {
                file: name.to_owned(),
                offset: scanned.end,
                octets: scanned.used - scanned.end,
            });
        }
    }

    /// Takes the segment prepared ahead, or forgets it: there is nothing in it. One of another size
    /// than segments now have is left to the writer to make again.
    fn read_reserve(&mut self, number: u64) -> Result<(), OpenError> {
        let file = self.open(number)?;
        let length = self.read_into(number, &*file)?;
        let last = self.segments.last().expect("a reserve follows a segment");
        let is_ours = |header: &SegmentHeader| {
            header.store_id == self.recovery.store_id
                && header.number == number
                && header.base == last.of.base() + last.size
                && header.size == length
        };
        let usual = format::segment_bytes(self.options.segment_bytes, 0);
        let name = format::file_name(number);
        match SegmentHeader::decode(&self.octets).ok().filter(is_ours) {
            Some(header) if header.size == usual => self.reserve = Some((file, usual)),
            Some(_) => self.leftovers.push(name),
            None => {
                self.leftovers.push(name.clone());
                self.recovery.remade.push(name);
            }
        }
        Ok(())
    }
}

/// What of a segment is damaged.
pub(super) fn judge(
    name: &str,
    header: &SegmentHeader,
    length: u64,
    may_be_open: bool,
    scanned: &Scanned,
    damages: &mut Damages,
) {
    let is_open = may_be_open && !scanned.is_whole();
    for hole in &scanned.holes {
        if !is_open || header.base + hole.offset < scanned.synced {
            let flaw = Flaw::Record {
                next: Some(hole.next),
            };
            damages.add(name, hole.offset, flaw);
        }
    }
    if !is_open && !scanned.is_sealed {
        damages.add(name, scanned.last_end, Flaw::SealMissing);
    }
    if !is_open && scanned.is_sealed && scanned.used > scanned.last_end {
        damages.add(name, scanned.last_end, Flaw::NotZero);
    }
    // A file that lost its end is no harm when zeros stand where the next record would begin:
    // nothing behind them was ever synced.
    let lost_nothing = length < header.size && is_open && scanned.is_blank_at_end;
    if length != header.size && !lost_nothing {
        let flaw = Flaw::SegmentLength {
            found: length,
            expected: header.size,
        };
        damages.add(name, length.min(header.size), flaw);
    }
}
