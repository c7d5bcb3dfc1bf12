//! Every bound of the journal, with its reason.

use std::time::Duration;

/// Octets of a segment's file unless said otherwise: large enough that making one is rare, small
/// enough that what is dead in it comes back soon.
pub const SEGMENT_BYTES: u64 = 16 * 1024 * 1024;

/// Octets of the smallest segment: some records must fit beside the header and the seal.
pub const SEGMENT_BYTES_MIN: u64 = 4096;

/// Octets of the largest segment: offsets within one are `u32`, and recovery reads one at a time
/// into memory.
pub const SEGMENT_BYTES_MAX: u64 = RECORD_BYTES_MAX as u64 + 2 * SEGMENT_BYTES_STEP;

/// Segments are a multiple of this: blocks of every usual file system.
pub const SEGMENT_BYTES_STEP: u64 = 4096;

/// Octets of one record's payload: far above the largest transaction that the core allows, and
/// within what a CRC-32 tells apart when two bits change.
pub const RECORD_BYTES_MAX: usize = 512 * 1024 * 1024;

/// The largest kind that the caller may give a record; those above are the journal's own.
pub const KIND_MAX: u8 = 0xef;

/// Octets that wait to be written before [`Journal::has_room`](super::Journal::has_room) says no,
/// unless said otherwise: a second or so of what a plain disk takes.
pub const BUFFER_BYTES: usize = 64 * 1024 * 1024;

/// Octets from which a shared part is kept by reference until it is written; smaller ones are
/// copied, which costs less than one more slice in the write.
pub const SHARED_BYTES_MIN: usize = 4096;

/// Room that a buffer keeps for its next use: the usual batch fits, and a great one does not hold
/// its memory for ever.
pub const BUFFER_KEPT_BYTES: usize = 4 * 1024 * 1024;

/// Slices in one vectored write: the most that Linux takes (`IOV_MAX`).
pub const SLICES_PER_WRITE_MAX: usize = 1024;

/// How often room for the next segment is sought while there is none.
pub const FULL_RETRY_INTERVAL: Duration = Duration::from_millis(500);

/// With fewer octets of room than this a disk is asked each time: more than the largest record that is
/// usual, so that room that was given back elsewhere is not missed.
pub const ROOM_ASKED_BELOW: i64 = 256 * 1024 * 1024;

/// A journal that was full has room again once this part of a segment can be written before the next
/// begins, or there is room for one more: with less it would be full again after a few records.
pub const LEFT_PART: u64 = 4;

/// How long nothing is appended before a mark says that the last records are on the disk.
pub const MARK_DELAY: Duration = Duration::from_millis(5);

/// Damages that a report tells one by one; the rest is counted.
pub const DAMAGES_MAX: usize = 64;

/// Runs of removed segments among those still needed: what a slot of the store file holds.
pub const REMOVED_RUNS_MAX: usize = 252;

/// Files of segments kept open for reading bodies back, so that a long backlog does not use up the
/// process's file descriptors.
pub const OPEN_FILES_MAX: usize = 64;

/// Removed segments of which octets are still needed. Each is a file that stays open, and its room is
/// given back later: few, as what is needed for long is copied before.
pub const REMOVED_IN_USE_MAX: usize = 64;

/// Octets of zeros written in one go, where the file system cannot reserve room or a torn tail is
/// wiped.
pub const ZEROS_BYTES: usize = 1024 * 1024;

/// Segments missing in a row that a repair takes for lost; behind more than that, a file has a
/// number that is none of this store.
pub const SEGMENTS_MISSED_MAX: u64 = 1_000_000;
