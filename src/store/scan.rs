//! Reading a segment's records, and finding where they go on when one is not valid.

use super::format::{self, Checks, GAP, MARK, RecordHeader, SEAL, SEGMENT_HEADER_BYTES};
use super::limits;

/// Octets without a valid record, before one that is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hole {
    /// Where they begin.
    pub offset: u64,
    /// Where the next valid record begins.
    pub next: u64,
}

/// What a segment holds. Offsets are in its file.
#[derive(Clone, Debug, Default)]
pub struct Scanned {
    /// Where the last record ends that lies before any hole.
    pub end: u64,
    /// Where the last valid record ends.
    pub last_end: u64,
    /// Whether that one is a seal.
    pub is_sealed: bool,
    /// The holes.
    pub holes: Vec<Hole>,
    /// The highest position that a valid record says was on the disk.
    pub synced: u64,
    /// Records of the caller before any hole.
    pub records: u64,
    /// Octets of their payloads.
    pub bytes: u64,
    /// Gaps left by a repair.
    pub gaps: u64,
    /// Where the last octet that is not zero ends.
    pub used: u64,
    /// Whether zeros stand where a record's header would, at `end`.
    pub is_blank_at_end: bool,
}

impl Scanned {
    /// Whether it ends as a segment should that others follow.
    pub fn is_whole(&self) -> bool {
        self.is_sealed && self.holes.is_empty()
    }
}

/// Takes a record of the caller: its header, its offset, its payload. What it answers ends the scan.
pub type Deliver<'a> = dyn FnMut(&RecordHeader, u64, &[u8]) -> Result<(), String> + 'a;

/// The caller's reason for ending a scan, and at which record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Where it begins.
    pub offset: u64,
    /// Why.
    pub reason: String,
}

/// Reads a segment from the octets of its file. The caller gets all records before the first hole.
pub fn scan(
    octets: &[u8],
    base: u64,
    checks: &Checks,
    deliver: &mut Deliver<'_>,
) -> Result<Scanned, Refused> {
    let mut offset = SEGMENT_HEADER_BYTES as u64;
    let mut found = Scanned {
        end: offset,
        last_end: offset,
        used: used_bytes(octets),
        ..Scanned::default()
    };
    while offset < found.used {
        let Some(header) = checks.record_at(octets, base, offset) else {
            let Some(next) = next_record(octets, base, offset, found.used, checks) else {
                break;
            };
            found.holes.push(Hole { offset, next });
            offset = next;
            continue;
        };
        let end = offset + header.record_bytes();
        found.synced = found.synced.max(header.synced);
        if found.holes.is_empty() {
            let payload = offset as usize + format::RECORD_HEADER_BYTES;
            let payload = &octets[payload..payload + header.length as usize];
            take(&header, offset, payload, &mut found, deliver)?;
            found.end = end;
        }
        found.last_end = end;
        offset = end;
        if header.kind == SEAL {
            found.is_sealed = true;
            break;
        }
    }
    let after = octets.get(found.end as usize..).unwrap_or_default();
    let after = after.get(..format::RECORD_HEADER_BYTES);
    found.is_blank_at_end = after.is_some_and(|after| after.iter().all(|octet| *octet == 0));
    Ok(found)
}

fn take(
    header: &RecordHeader,
    offset: u64,
    payload: &[u8],
    found: &mut Scanned,
    deliver: &mut Deliver<'_>,
) -> Result<(), Refused> {
    match header.kind {
        MARK | SEAL => {}
        GAP => found.gaps += 1,
        kind => {
            let refused = |reason| Refused { offset, reason };
            if kind > limits::KIND_MAX {
                return Err(refused(format!("kind {kind:#x} is not known")));
            }
            found.records += 1;
            found.bytes += payload.len() as u64;
            deliver(header, offset, payload).map_err(refused)?;
        }
    }
    Ok(())
}

/// The next valid record after `offset`.
fn next_record(octets: &[u8], base: u64, offset: u64, used: u64, checks: &Checks) -> Option<u64> {
    let offsets = (offset + 8..used).step_by(8);
    let mut valid = offsets.filter(|offset| checks.record_at(octets, base, *offset).is_some());
    valid.next()
}

/// Where the last octet that is not zero ends.
fn used_bytes(octets: &[u8]) -> u64 {
    const STEP: usize = 4096;
    const ZEROS: [u8; STEP] = [0; STEP];
    let mut end = octets.len();
    while end >= STEP && octets[end - STEP..end] == ZEROS {
        end -= STEP;
    }
    let last = octets[..end].iter().rposition(|octet| *octet != 0);
    last.map_or(0, |at| at as u64 + 1)
}
