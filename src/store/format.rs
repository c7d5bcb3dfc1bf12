//! The octets of a segment. Integers are big endian, records begin at multiples of 8.
//!
//! ```text
//!   segment:  header 64, records ..., seal, zeros to the end of the file
//!
//!   header:   0 magic 8    8 version 4   12 zero 4    16 store id 8   24 number 8
//!             32 base 8    40 size 8     48 zero 12   60 check 4
//!
//!   record:   0 length 4    4 kind 1     5 zero 3      8 position 8   16 synced 8
//!             24 zero 4    28 check 4    32 payload, zeros to a multiple of 8
//! ```
//!
//! *Position* is the base of the segment plus the offset in its file; the base of a segment is the
//! base of the one before plus its size. So a position is used once in the life of a store, and
//! with it and the store id in its check a record is valid at its own place only: stale, misplaced
//! and foreign octets are not.
//!
//! *Synced* is a position up to which all was on the disk when the record was written. It is what
//! tells damage from a torn tail: octets before it were there.
//!
//! The check is the CRC-32 of the store id, the 28 octets before it, the payload and the zeros after
//! it.

use crc32fast::Hasher;

use super::limits;

/// Octets of a segment's header.
pub const SEGMENT_HEADER_BYTES: usize = 64;

/// Octets of a record before its payload.
pub const RECORD_HEADER_BYTES: usize = 32;

/// Octets of a record without payload: of a mark and of a seal.
pub const EMPTY_RECORD_BYTES: u64 = RECORD_HEADER_BYTES as u64;

/// The version of this format.
pub const VERSION: u32 = 1;

const MAGIC: [u8; 8] = *b"FerryMQj";

/// The kind of a record that says nothing but how far the disk has come.
pub const MARK: u8 = 0xf0;

/// The kind of the last record of a segment.
pub const SEAL: u8 = 0xf1;

/// The kind of a record that a repair put in the place of damaged octets.
pub const GAP: u8 = 0xf2;

/// Octets of a record with such a payload.
pub fn record_bytes(payload: usize) -> u64 {
    (RECORD_HEADER_BYTES + payload).next_multiple_of(8) as u64
}

/// The octets of zeros after such a payload.
pub fn padding(payload: usize) -> usize {
    payload.next_multiple_of(8) - payload
}

/// The name of a segment's file.
pub fn file_name(number: u64) -> String {
    format!("{number:016x}.journal")
}

/// The number of the segment in a file of this name.
pub fn number_of(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(".journal")?;
    let number = u64::from_str_radix(digits, 16).ok()?;
    (number != 0 && file_name(number) == name).then_some(number)
}

/// The size of a segment that is to hold one such record beside `usual` octets.
pub fn segment_bytes(usual: u64, payload: usize) -> u64 {
    let least = SEGMENT_HEADER_BYTES as u64 + record_bytes(payload) + EMPTY_RECORD_BYTES;
    let usual = usual.clamp(limits::SEGMENT_BYTES_MIN, limits::SEGMENT_BYTES_MAX);
    usual
        .max(least)
        .next_multiple_of(limits::SEGMENT_BYTES_STEP)
}

pub(super) fn u32_at(octets: &[u8], at: usize) -> u32 {
    let octets = octets[at..at + 4].try_into();
    u32::from_be_bytes(octets.expect("a slice of four octets"))
}

pub(super) fn u64_at(octets: &[u8], at: usize) -> u64 {
    let octets = octets[at..at + 8].try_into();
    u64::from_be_bytes(octets.expect("a slice of eight octets"))
}

/// What a segment's header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentHeader {
    /// The store that it belongs to.
    pub store_id: u64,
    /// Its number.
    pub number: u64,
    /// The position of its first octet.
    pub base: u64,
    /// Octets of its file.
    pub size: u64,
}

/// Why a segment's header cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderError {
    /// It is not one.
    Invalid,
    /// It is one of another version.
    Version(u32),
}

impl SegmentHeader {
    /// Its octets.
    pub fn encode(&self) -> [u8; SEGMENT_HEADER_BYTES] {
        let mut octets = [0; SEGMENT_HEADER_BYTES];
        octets[..8].copy_from_slice(&MAGIC);
        octets[8..12].copy_from_slice(&VERSION.to_be_bytes());
        octets[16..24].copy_from_slice(&self.store_id.to_be_bytes());
        octets[24..32].copy_from_slice(&self.number.to_be_bytes());
        octets[32..40].copy_from_slice(&self.base.to_be_bytes());
        octets[40..48].copy_from_slice(&self.size.to_be_bytes());
        let check = crc32fast::hash(&octets[..60]);
        octets[60..].copy_from_slice(&check.to_be_bytes());
        octets
    }

    /// Reads one from the start of `octets`.
    pub fn decode(octets: &[u8]) -> Result<SegmentHeader, HeaderError> {
        let Some(octets) = octets.get(..SEGMENT_HEADER_BYTES) else {
            return Err(HeaderError::Invalid);
        };
        if octets[..8] != MAGIC || crc32fast::hash(&octets[..60]) != u32_at(octets, 60) {
            return Err(HeaderError::Invalid);
        }
        match u32_at(octets, 8) {
            VERSION => Ok(SegmentHeader {
                store_id: u64_at(octets, 16),
                number: u64_at(octets, 24),
                base: u64_at(octets, 32),
                size: u64_at(octets, 40),
            }),
            version => Err(HeaderError::Version(version)),
        }
    }
}

/// What a record's header says, beside its check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordHeader {
    /// Octets of the payload.
    pub length: u32,
    /// What it is.
    pub kind: u8,
    /// Where it belongs.
    pub position: u64,
    /// Up to where all was on the disk when it was written.
    pub synced: u64,
}

impl RecordHeader {
    /// Its octets, with zeros for the check.
    pub fn encode(&self) -> [u8; RECORD_HEADER_BYTES] {
        let mut octets = [0; RECORD_HEADER_BYTES];
        octets[..4].copy_from_slice(&self.length.to_be_bytes());
        octets[4] = self.kind;
        octets[8..16].copy_from_slice(&self.position.to_be_bytes());
        octets[16..24].copy_from_slice(&self.synced.to_be_bytes());
        octets
    }

    /// Octets of the whole record.
    pub fn record_bytes(&self) -> u64 {
        record_bytes(self.length as usize)
    }
}

/// Makes and tests the checks of one store's records.
#[derive(Clone)]
pub struct Checks {
    begun: Hasher,
    /// See [`Plant`](super::options::Plant).
    pub(super) are_ignored: bool,
    pub(super) positions_are_ignored: bool,
}

impl Checks {
    /// Those of the store with this id.
    pub fn new(store_id: u64) -> Checks {
        let mut begun = Hasher::new();
        begun.update(&store_id.to_be_bytes());
        Checks {
            begun,
            are_ignored: false,
            positions_are_ignored: false,
        }
    }

    /// The check of a record: of its header without the last four octets, and all after it.
    pub fn of<'a>(&self, header: &[u8], rest: impl IntoIterator<Item = &'a [u8]>) -> u32 {
        let mut hasher = self.begun.clone();
        hasher.update(&header[..RECORD_HEADER_BYTES - 4]);
        rest.into_iter().for_each(|octets| hasher.update(octets));
        hasher.finalize()
    }

    /// A whole record without payload.
    pub fn empty_record(&self, kind: u8, position: u64, synced: u64) -> [u8; RECORD_HEADER_BYTES] {
        let length = 0;
        let header = RecordHeader {
            length,
            kind,
            position,
            synced,
        };
        let mut octets = header.encode();
        let check = self.of(&octets, []);
        octets[RECORD_HEADER_BYTES - 4..].copy_from_slice(&check.to_be_bytes());
        octets
    }

    /// The record at `offset` of a segment's octets, if a valid one is there.
    pub fn record_at(&self, octets: &[u8], base: u64, offset: u64) -> Option<RecordHeader> {
        let rest = octets.get(usize::try_from(offset).ok()?..)?;
        if rest.len() < RECORD_HEADER_BYTES {
            return None;
        }
        let header = RecordHeader {
            length: u32_at(rest, 0),
            kind: rest[4],
            position: u64_at(rest, 8),
            synced: u64_at(rest, 16),
        };
        // First what is read fast: recovery looks for records where there are none.
        if header.position != base.wrapping_add(offset) && !self.positions_are_ignored {
            return None;
        }
        let end = usize::try_from(header.record_bytes()).ok()?;
        if end > rest.len() || header.length as usize > limits::RECORD_BYTES_MAX {
            return None;
        }
        let check = self.of(rest, [&rest[RECORD_HEADER_BYTES..end]]);
        let is_valid = check == u32_at(rest, RECORD_HEADER_BYTES - 4);
        (is_valid || self.are_ignored && header.kind != 0).then_some(header)
    }
}
