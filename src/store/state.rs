//! How a journal stands, and what was found when it was opened.

use std::fmt;

/// How a journal stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// All is well.
    #[default]
    Ok,
    /// There is no room for a segment after the one that is written to, says the disk, or less than
    /// [`Options::spare_bytes`](super::Options::spare_bytes) are free. Records still go into that one
    /// and, as long as any can be made, into others. It clears by itself when there is room again.
    Full(String),
    /// A write or a sync failed: nothing more is ever synced. What is appended goes nowhere.
    Failed(String),
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            State::Ok => f.write_str("ok"),
            State::Full(why) => write!(f, "no room for another segment: {why}"),
            State::Failed(why) => write!(f, "failed: {why}"),
        }
    }
}

/// What was found when a journal was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovery {
    /// The id of the store: the one given, when it is new.
    pub store_id: u64,
    /// Whether there was none before.
    pub is_new: bool,
    /// Segments with records.
    pub segments: usize,
    /// Records handed to the caller.
    pub records: u64,
    /// Octets of their payloads.
    pub bytes: u64,
    /// Places where a repair left a gap for damaged octets, and how often it could not: where it set a
    /// file aside or took what was missing for removed.
    pub gaps: u64,
    /// What a crash left unfinished at the end, and was cut.
    pub torn_tail: Option<TornTail>,
    /// Files that could not be read and held nothing, and so were made anew: the segment prepared
    /// ahead, or one half of the store file. A crash while they were written leaves that behind.
    pub remade: Vec<String>,
}

/// Records that were being written when the power went: none of them had been synced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TornTail {
    /// The file.
    pub file: String,
    /// Where the last whole record ends.
    pub offset: u64,
    /// Octets from there to the last that is not zero.
    pub octets: u64,
}

impl fmt::Display for TornTail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TornTail {
            file,
            offset,
            octets,
        } = self;
        write!(
            f,
            "{file} at offset {offset}: {octets} octets of records never finished"
        )
    }
}
