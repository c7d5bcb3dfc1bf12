//! Making a damaged store one that can be opened, with what is left in it.
//!
//! A segment's file is copied aside, whole, before anything in it is changed. Then damaged octets
//! become a gap, which is a record of the journal's own; a lost header or seal is made again; a
//! segment that is missing, or of which nothing can be known, counts as removed. What a record said
//! that is lost is for the caller to miss.

use std::collections::BTreeSet;
use std::io;

use super::check::{self, Report};
use super::disk::{self, Disk, DiskFile};
use super::error::{Flaw, OpenError};
use super::examination::{self, Progress};
use super::format::{
    self, Checks, EMPTY_RECORD_BYTES, GAP, HeaderError, RECORD_HEADER_BYTES, RecordHeader, SEAL,
    SEGMENT_HEADER_BYTES, SegmentHeader,
};
use super::limits;
use super::recovery::{self, disk_error, wipe};
use super::scan::{self, Scanned};
use super::store_file::{self, Identity, StoreFile};

/// What a repair did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repaired {
    /// What was mended, the first [`limits::DAMAGES_MAX`] of it.
    pub mended: Vec<Mended>,
    /// How much more was.
    pub more: usize,
    /// Files that hold what the changed ones held before.
    pub set_aside: Vec<String>,
    /// What is in the store now.
    pub report: Report,
}

/// One thing that was mended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mended {
    /// The file.
    pub file: String,
    /// Where in it.
    pub offset: u64,
    /// Octets that are lost there.
    pub octets: u64,
    /// What was wrong.
    pub what: Flaw,
}

/// Makes a store one that can be opened. Nothing is done to one that can be.
///
/// It may be run again when it was interrupted.
pub fn repair(disk: &dyn Disk, progress: &mut dyn FnMut(Progress)) -> Result<Repaired, OpenError> {
    let report = check::check(disk, &mut |_| {})?;
    if report.damages.is_empty() {
        return Ok(Repaired {
            report,
            ..Repaired::default()
        });
    }
    let Some((store, identity)) = check::identity(disk)? else {
        // Not one header says whose records these are.
        return Err(OpenError::Damaged {
            directory: disk.directory(),
            damages: report.damages,
        });
    };
    let what = format!("the journal in {} cannot be repaired", disk.directory());
    let mut repair = Repair {
        disk,
        checks: Checks::new(identity.store_id),
        identity,
        numbers: BTreeSet::new(),
        last: None,
        lost: Vec::new(),
        ended_early: 0,
        done: Repaired::default(),
    };
    repair.run(store, progress).map_err(disk_error(what))?;
    repair.done.report = check::check(disk, &mut |_| {})?;
    Ok(repair.done)
}

struct Repair<'a> {
    disk: &'a dyn Disk,
    checks: Checks,
    identity: Identity,
    /// The segments that there are.
    numbers: BTreeSet<u64>,
    /// The last segment that is in order, and whether it is sealed.
    last: Option<(SegmentHeader, bool)>,
    /// Segments that will count as removed.
    lost: Vec<u64>,
    /// Segments that lost their end, and the store file: what was there has left no gap.
    ended_early: u32,
    done: Repaired,
}

impl Repair<'_> {
    fn run(
        &mut self,
        store: Option<StoreFile>,
        progress: &mut dyn FnMut(Progress),
    ) -> io::Result<()> {
        let mut numbers = examination::numbers(self.disk)?;
        numbers.retain(|number| !self.identity.is_removed(*number));
        self.numbers = numbers.clone();
        let mut expected = self.identity.first;
        for (n, number) in numbers.iter().enumerate() {
            // A number far off is that of a file that is none of ours, not of so many lost ones.
            if number - expected > limits::SEGMENTS_MISSED_MAX {
                self.give_up(*number)?;
                continue;
            }
            for missing in expected..*number {
                if !self.identity.is_removed(missing) {
                    self.note(&format::file_name(missing), 0, 0, Flaw::SegmentMissing);
                    self.lost.push(missing);
                }
            }
            expected = number + 1;
            let has_records_behind = self.has_records_behind(*number)?;
            self.mend_segment(*number, has_records_behind)?;
            progress(Progress {
                segments: n + 1,
                of: numbers.len(),
            });
        }
        self.end_open(expected)?;
        self.note_identity(store)?;
        self.disk.sync_directory()
    }

    fn note(&mut self, file: &str, offset: u64, octets: u64, what: Flaw) {
        if self.done.mended.len() == limits::DAMAGES_MAX {
            self.done.more += 1;
            return;
        }
        self.done.mended.push(Mended {
            file: file.to_owned(),
            offset,
            octets,
            what,
        });
    }

    /// Whether a segment behind this one has records, so that this one must be sealed.
    fn has_records_behind(&self, number: u64) -> io::Result<bool> {
        let mut behind = self.numbers.range(number + 1..);
        let Some(next) = behind.next() else {
            return Ok(false);
        };
        if behind.next().is_some() || *next != number + 1 {
            return Ok(true);
        }
        let (_, octets) = self.read(*next)?;
        Ok(!examination::is_empty(&octets))
    }

    fn read(&self, number: u64) -> io::Result<(u64, Vec<u8>)> {
        let file = self.disk.open(&format::file_name(number))?;
        let mut octets = Vec::new();
        let length = examination::read_file(&*file, &mut octets)?;
        Ok((length, octets))
    }

    fn mend_segment(&mut self, number: u64, has_records_behind: bool) -> io::Result<()> {
        let name = format::file_name(number);
        let (length, mut octets) = self.read(number)?;
        let follows = self.last.filter(|(last, _)| last.number + 1 == number);
        if follows.is_some_and(|(_, is_sealed)| !is_sealed) && examination::is_empty(&octets) {
            // Prepared ahead, and never written to: opening the journal sees to it.
            return Ok(());
        }
        let decoded = SegmentHeader::decode(&octets);
        if let Err(HeaderError::Version(_)) = decoded {
            return Err(io::Error::other(format!("{name} is of a newer version")));
        }
        let decoded = decoded.ok().filter(|header| self.is_ours(header, number));
        let header = decoded.or_else(|| self.suppose_header(number, length, &octets));
        let Some(header) = header else {
            return self.give_up(number);
        };
        octets.truncate(header.size as usize);
        let scanned = scan::scan(&octets, header.base, &self.checks, &mut |_, _, _| Ok(()));
        let Ok(scanned) = scanned else {
            return Err(io::Error::other(format!(
                "{name} has records of a newer version"
            )));
        };
        let mut mends = Mends {
            makes_header: decoded.is_none(),
            header,
            length,
            scanned,
            must_be_sealed: has_records_behind,
        };
        mends.must_be_sealed |= mends.has_remains() && mends.remains().is_none();
        if mends.has_room_for_seal() {
            self.apply(&name, &mends)?;
            let is_sealed = mends.must_be_sealed || mends.will_be_whole();
            self.last = Some((header, is_sealed));
            Ok(())
        } else {
            self.give_up(number)
        }
    }

    /// Whether a header is what the segment's should be.
    fn is_ours(&self, header: &SegmentHeader, number: u64) -> bool {
        let base_follows = self.last.is_none_or(|(last, _)| {
            let end = last.base + last.size;
            header.base == end || last.number + 1 != number && header.base > end
        });
        header.store_id == self.identity.store_id && header.number == number && base_follows
    }

    /// The header that a segment must have had, by the one before it or by a record in it.
    fn suppose_header(&self, number: u64, length: u64, octets: &[u8]) -> Option<SegmentHeader> {
        let follows = self.last.filter(|(last, _)| last.number + 1 == number);
        let base = match follows {
            Some((last, _)) => Some(last.base + last.size),
            None => self.base_by_record(octets),
        };
        let base = base?;
        let by_length = length.next_multiple_of(limits::SEGMENT_BYTES_STEP);
        let size = match self.next_base(number) {
            Some((next, next_base)) => {
                let most = next_base.checked_sub(base)?;
                if next == number + 1 {
                    most
                } else {
                    most.min(by_length)
                }
            }
            None => by_length,
        };
        let header = SegmentHeader {
            store_id: self.identity.store_id,
            number,
            base,
            size,
        };
        let sizes = limits::SEGMENT_BYTES_MIN..=limits::SEGMENT_BYTES_MAX;
        (sizes.contains(&size) && self.is_ours(&header, number)).then_some(header)
    }

    /// The next segment with a good header, and the base in it.
    fn next_base(&self, number: u64) -> Option<(u64, u64)> {
        let mut behind = self.numbers.range(number + 1..);
        behind.find_map(|next| {
            let mut octets = [0; SEGMENT_HEADER_BYTES];
            let file = self.disk.open(&format::file_name(*next)).ok()?;
            disk::read_full(&*file, &mut octets, 0).ok()?;
            let header = SegmentHeader::decode(&octets).ok()?;
            let is_ours = header.store_id == self.identity.store_id && header.number == *next;
            is_ours.then_some((*next, header.base))
        })
    }

    /// The base by which some record is valid.
    fn base_by_record(&self, octets: &[u8]) -> Option<u64> {
        let mut offsets = (SEGMENT_HEADER_BYTES..octets.len()).step_by(8);
        offsets.find_map(|offset| {
            let position = octets.get(offset + 8..offset + 16)?;
            let base = format::u64_at(position, 0).checked_sub(offset as u64)?;
            // Sizes are whole blocks, and so bases are: that leaves few to try.
            let is_base = base.is_multiple_of(limits::SEGMENT_BYTES_STEP);
            let record = || self.checks.record_at(octets, base, offset as u64);
            (is_base && record().is_some()).then_some(base)
        })
    }

    /// Puts a file aside of which nothing can be known, and counts it as removed.
    fn give_up(&mut self, number: u64) -> io::Result<()> {
        let name = format::file_name(number);
        let aside = self.name_aside(&name)?;
        let length = self.disk.open(&name)?.length()?;
        self.note(&name, 0, length, Flaw::SegmentHeader);
        self.disk.rename(&name, &aside)?;
        self.disk.sync_directory()?;
        self.done.set_aside.push(aside);
        self.lost.push(number);
        Ok(())
    }

    /// A name that is not taken.
    fn name_aside(&self, name: &str) -> io::Result<String> {
        let taken = self.disk.list()?;
        let names = (0..=taken.len()).map(|n| match n {
            0 => format!("damaged-{name}"),
            n => format!("damaged-{name}-{n}"),
        });
        let mut free = names.filter(|name| !taken.contains(name));
        Ok(free.next().expect("one of more names than there are files"))
    }

    /// Copies a file aside, and syncs the copy.
    fn copy_aside(&mut self, name: &str) -> io::Result<()> {
        let aside = self.name_aside(name)?;
        let (from, to) = (self.disk.open(name)?, self.disk.create(&aside)?);
        let mut octets = vec![0; limits::ZEROS_BYTES];
        let mut at = 0;
        loop {
            let count = disk::read_full(&*from, &mut octets, at)?;
            if count == 0 {
                break;
            }
            disk::write_all(&*to, &octets[..count], at)?;
            at += count as u64;
        }
        to.sync_data()?;
        self.disk.sync_directory()?;
        self.done.set_aside.push(aside);
        Ok(())
    }

    fn apply(&mut self, name: &str, mends: &Mends) -> io::Result<()> {
        let flaws = mends.flaws();
        if flaws.is_empty() {
            return Ok(());
        }
        self.copy_aside(name)?;
        let ends_early = |(_, octets, what): &(u64, u64, Flaw)| match what {
            Flaw::SealMissing => true,
            Flaw::SegmentLength { .. } => *octets > 0 && mends.remains().is_none(),
            _ => false,
        };
        self.ended_early += u32::from(flaws.iter().any(ends_early));
        for (offset, octets, what) in flaws {
            self.note(name, offset, octets, what);
        }
        let file = self.disk.open(name)?;
        let header = &mends.header;
        file.preallocate(header.size)?;
        file.set_length(header.size)?;
        disk::write_all(&*file, &header.encode(), 0)?;
        for hole in mends.holes() {
            self.fill(&*file, header.base, hole.offset, hole.next)?;
        }
        if let Some((offset, to)) = mends.remains() {
            let what = Flaw::Record { next: None };
            self.note(name, offset, to - offset, what);
            self.fill(&*file, header.base, offset, to)?;
            wipe(&*file, to, mends.scanned.used)?;
        }
        if mends.must_be_sealed || mends.will_be_whole() {
            let end = mends.scanned.last_end;
            wipe(&*file, end, mends.scanned.used)?;
            if !mends.scanned.is_sealed {
                let seal = self.checks.empty_record(SEAL, header.base + end, 0);
                disk::write_all(&*file, &seal, end)?;
            }
        }
        file.sync_data()
    }

    /// Makes gaps of the octets from one offset to another.
    fn fill(&self, file: &dyn DiskFile, base: u64, from: u64, to: u64) -> io::Result<()> {
        wipe(file, from, to)?;
        let most = format::record_bytes(limits::RECORD_BYTES_MAX / 2);
        let mut at = from;
        while at < to {
            // What is left behind a gap must have room for another.
            let bytes = if to - at > 2 * most { most } else { to - at };
            let payload = bytes as usize - RECORD_HEADER_BYTES;
            let header = RecordHeader {
                length: payload as u32,
                kind: GAP,
                position: base + at,
                synced: 0,
            };
            let mut octets = header.encode();
            let check = self.checks.of(&octets, [&vec![0; payload][..]]);
            octets[RECORD_HEADER_BYTES - 4..].copy_from_slice(&check.to_be_bytes());
            disk::write_all(file, &octets, at)?;
            at += bytes;
        }
        Ok(())
    }

    /// A store that ends with a seal goes on in a new segment; one of which nothing is left begins
    /// anew with the number after the last.
    fn end_open(&mut self, next: u64) -> io::Result<()> {
        let base = match self.last {
            Some((_, false)) => return Ok(()),
            Some((last, true)) => last.base + last.size,
            None => 0,
        };
        let header = SegmentHeader {
            store_id: self.identity.store_id,
            number: next,
            base,
            size: format::segment_bytes(limits::SEGMENT_BYTES, 0),
        };
        self.note(&format::file_name(next), 0, 0, Flaw::SegmentMissing);
        recovery::create_segment(self.disk, &header)?.sync_data()?;
        self.disk.sync_directory()
    }

    /// Says in the store file which segments count as removed.
    fn note_identity(&mut self, store: Option<StoreFile>) -> io::Result<()> {
        let identity = self.identity.without(&self.lost);
        let identity = identity.ok_or_else(|| io::Error::other("too many segments are missing"))?;
        let lost = u32::try_from(self.lost.len()).unwrap_or(u32::MAX);
        let lost = lost.saturating_add(self.ended_early + u32::from(store.is_none()));
        let identity = Identity {
            lost: identity.lost.saturating_add(lost),
            ..identity
        };
        match store {
            Some(mut store) => {
                store.write(identity)?;
                store.sync()
            }
            None => {
                self.note(store_file::NAME, 0, 0, Flaw::StoreFile);
                match self.copy_aside(store_file::NAME) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                    _ => {}
                }
                StoreFile::create(self.disk, identity).map(drop)
            }
        }
    }
}

/// What is to be done to a segment.
struct Mends {
    header: SegmentHeader,
    makes_header: bool,
    length: u64,
    scanned: Scanned,
    must_be_sealed: bool,
}

impl Mends {
    /// The holes to fill: in the segment where the journal ends those only that were synced.
    fn holes(&self) -> Vec<scan::Hole> {
        let is_open = !self.must_be_sealed && !self.scanned.is_whole();
        let mut holes: Vec<scan::Hole> = self.scanned.holes.clone();
        holes.retain(|hole| !is_open || self.header.base + hole.offset < self.scanned.synced);
        holes
    }

    /// Whether there are octets behind the last record of the segment where the journal ends. In a segment
    /// that is damaged they may be what is left of one that was synced: opening the journal must not take
    /// them for what a crash left.
    fn has_remains(&self) -> bool {
        let is_open = !self.must_be_sealed && !self.will_be_whole();
        is_open && self.scanned.used > self.scanned.last_end
    }

    /// Where a gap takes their place, which leaves room for the segment's seal. None where there is no
    /// room for both: the segment ends there.
    fn remains(&self) -> Option<(u64, u64)> {
        let (end, used) = (self.scanned.last_end, self.scanned.used);
        if !self.has_remains() {
            return None;
        }
        let bytes = (used - end).next_multiple_of(8).max(EMPTY_RECORD_BYTES);
        let most = self.header.size.checked_sub(end + EMPTY_RECORD_BYTES)?;
        let bytes = bytes.min(most);
        (bytes >= EMPTY_RECORD_BYTES).then_some((end, end + bytes))
    }

    /// Whether it ends with its seal when the holes are filled.
    fn will_be_whole(&self) -> bool {
        self.scanned.is_sealed && self.holes().len() == self.scanned.holes.len()
    }

    fn has_room_for_seal(&self) -> bool {
        let holes_have_room = |hole: &scan::Hole| hole.next - hole.offset >= EMPTY_RECORD_BYTES;
        let end = self.scanned.last_end;
        let ends = self.scanned.is_sealed || end + EMPTY_RECORD_BYTES <= self.header.size;
        ends && self.scanned.holes.iter().all(holes_have_room)
    }

    /// What is wrong: offset, octets lost, what.
    fn flaws(&self) -> Vec<(u64, u64, Flaw)> {
        let Mends {
            header,
            length,
            scanned,
            ..
        } = self;
        let mut flaws = Vec::new();
        if self.makes_header {
            flaws.push((0, 0, Flaw::SegmentHeader));
        }
        for hole in self.holes() {
            let what = Flaw::Record {
                next: Some(hole.next),
            };
            flaws.push((hole.offset, hole.next - hole.offset, what));
        }
        let behind = scanned.used.saturating_sub(scanned.last_end);
        if self.must_be_sealed && !scanned.is_sealed {
            flaws.push((scanned.last_end, behind, Flaw::SealMissing));
        } else if scanned.is_sealed && behind > 0 {
            flaws.push((scanned.last_end, behind, Flaw::NotZero));
        }
        let is_open = !self.must_be_sealed && !scanned.is_whole();
        let lost_nothing = *length < header.size && is_open && scanned.is_blank_at_end;
        if *length != header.size && !lost_nothing {
            let what = Flaw::SegmentLength {
                found: *length,
                expected: header.size,
            };
            let lost = header.size.saturating_sub(*length);
            flaws.push(((*length).min(header.size), lost, what));
        }
        flaws
    }
}
