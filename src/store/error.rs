//! What can be wrong with a store.

use std::fmt;
use std::io;

use super::limits;

/// One thing found damaged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The file's name.
    pub file: String,
    /// Where in the file.
    pub offset: u64,
    /// What is wrong there.
    pub what: Flaw,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at offset {}: {}", self.file, self.offset, self.what)
    }
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// The store file cannot be read, and there are records.
    StoreFile,
    /// The file of a segment is not there.
    SegmentMissing,
    /// The header of a segment cannot be read.
    SegmentHeader,
    /// The header is one of another store or of another segment; what it says, and what it should.
    SegmentForeign {
        /// Which of the header's fields.
        field: &'static str,
        /// What it says.
        found: u64,
        /// What it should say.
        expected: u64,
    },
    /// The file is not as long as its header says.
    SegmentLength {
        /// Octets that it has.
        found: u64,
        /// Octets that it should have.
        expected: u64,
    },
    /// There is no valid record where one was synced. The next one, if any, begins at the offset.
    Record {
        /// The offset of the next valid record.
        next: Option<u64>,
    },
    /// A segment that others follow does not end with a seal.
    SealMissing,
    /// There are octets where nothing was ever written.
    NotZero,
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Flaw::StoreFile => f.write_str("the store's identity cannot be read"),
            Flaw::SegmentMissing => f.write_str("the file is missing"),
            Flaw::SegmentHeader => f.write_str("the header of the segment is not valid"),
            Flaw::SegmentForeign {
                field,
                found,
                expected,
            } => write!(f, "the header's {field} is {found:#x}, not {expected:#x}"),
            Flaw::SegmentLength { found, expected } => {
                write!(f, "the file has {found} octets and should have {expected}")
            }
            Flaw::Record { next: Some(next) } => {
                write!(f, "no valid record; the next one is at offset {next}")
            }
            Flaw::Record { next: None } => f.write_str("no valid record from here on"),
            Flaw::SealMissing => f.write_str("the segment has no seal, and others follow it"),
            Flaw::NotZero => f.write_str("octets where none were written"),
        }
    }
}

/// Damages: the first [`limits::DAMAGES_MAX`] of them, and how many there are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Damages {
    /// In the order of the segments.
    pub list: Vec<Damage>,
    /// How many more were found.
    pub more: usize,
}

impl Damages {
    /// Adds one.
    pub fn add(&mut self, file: &str, offset: u64, what: Flaw) {
        if self.list.len() < limits::DAMAGES_MAX {
            let file = file.to_owned();
            self.list.push(Damage { file, offset, what });
        } else {
            self.more += 1;
        }
    }

    /// Whether none was found.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}

impl fmt::Display for Damages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, damage) in self.list.iter().enumerate() {
            let separator = if n == 0 { "" } else { "; " };
            write!(f, "{separator}{damage}")?;
        }
        if self.more > 0 {
            write!(f, "; and {} more", self.more)?;
        }
        Ok(())
    }
}

/// Why a journal cannot be opened. Nothing was changed on the disk.
#[derive(Debug)]
pub enum OpenError {
    /// The disk refuses.
    Disk {
        /// What was being done.
        what: String,
        /// What it said.
        error: io::Error,
    },
    /// There is damage, which only a person can decide about.
    Damaged {
        /// Where the journal is.
        directory: String,
        /// What was found.
        damages: Damages,
    },
    /// A newer version of the broker wrote it.
    Version {
        /// The file.
        file: String,
        /// The version of the format that it has.
        version: u32,
    },
    /// The caller cannot make sense of a record.
    Refused {
        /// The file.
        file: String,
        /// Where in it the record begins.
        offset: u32,
        /// What the caller said.
        reason: String,
    },
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenError::Disk { what, error } => write!(f, "{what}: {error}"),
            OpenError::Damaged { directory, damages } => write!(
                f,
                "the journal in {directory} is damaged: {damages}. Nothing was changed; \
                 `ferrymq journal check` tells all, `ferrymq journal repair` sets the damaged \
                 parts aside"
            ),
            OpenError::Version { file, version } => write!(
                f,
                "{file} has format version {version}, which a newer broker wrote"
            ),
            OpenError::Refused {
                file,
                offset,
                reason,
            } => write!(f, "the record in {file} at offset {offset}: {reason}"),
        }
    }
}

impl std::error::Error for OpenError {}

/// Why a record cannot be appended: nothing of it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordTooLarge {
    /// Octets of the payload; [`limits::RECORD_BYTES_MAX`] is the most.
    pub bytes: usize,
}

impl fmt::Display for RecordTooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (bytes, most) = (self.bytes, limits::RECORD_BYTES_MAX);
        write!(f, "a record of {bytes} octets; the most is {most}")
    }
}

impl std::error::Error for RecordTooLarge {}

/// Why segments cannot be removed.
#[derive(Debug)]
pub enum RemoveError {
    /// This one is not there, or is still written to. None was removed.
    NotSealed(u64),
    /// Too many of those between are gone already ([`limits::REMOVED_RUNS_MAX`]): older ones must be
    /// removed first. None was removed.
    TooScattered,
    /// Octets of this one are still needed, and of too many that are gone already
    /// ([`limits::REMOVED_IN_USE_MAX`]). None was removed.
    InUse(u64),
    /// The disk refuses. What was removed by then stays so.
    Disk(io::Error),
}

impl fmt::Display for RemoveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RemoveError::NotSealed(number) => {
                write!(f, "segment {number:x} is not one that can be removed")
            }
            RemoveError::TooScattered => f.write_str("older segments must be removed first"),
            RemoveError::InUse(number) => write!(f, "octets of segment {number:x} are needed"),
            RemoveError::Disk(error) => write!(f, "segments cannot be removed: {error}"),
        }
    }
}

impl std::error::Error for RemoveError {}
