//! What can be chosen about a journal.

use super::limits;

/// What can be chosen about a journal. All of it may differ from one opening to the next.
#[derive(Clone, Debug)]
pub struct Options {
    /// Octets of a new segment, within [`limits::SEGMENT_BYTES_MIN`] and
    /// [`limits::SEGMENT_BYTES_MAX`], rounded up to whole blocks. A record that does not fit gets a
    /// segment of its own size.
    pub segment_bytes: u64,
    /// When a record counts as synced.
    pub sync: SyncMode,
    /// Octets that may wait to be written before [`Journal::has_room`](super::Journal::has_room)
    /// says no. Appending goes on all the same: it is for the caller to pause its peers.
    pub buffer_bytes_max: usize,
    /// Octets of the disk that are left to records already on their way, and to what makes room: with
    /// fewer free the journal says that it is [`State::Full`](super::State::Full), while it still goes
    /// on.
    pub spare_bytes: u64,
    /// What is done wrongly on purpose, to test the tests.
    #[doc(hidden)]
    pub plant: Plant,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            segment_bytes: limits::SEGMENT_BYTES,
            sync: SyncMode::Data,
            buffer_bytes_max: limits::BUFFER_BYTES,
            spare_bytes: 0,
            plant: Plant::None,
        }
    }
}

/// When a record counts as synced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SyncMode {
    /// When the disk has it (`fdatasync`): it survives a power cut.
    #[default]
    Data,
    /// When the kernel has it: it survives the end of the process, not that of the machine.
    None,
}

/// A fault in the journal, for the tests that must find it.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Plant {
    /// The journal as it should be.
    #[default]
    None,
    /// The watermark rises before the disk has what it says.
    WatermarkBeforeSync,
    /// A full segment is not synced before the next is written to.
    SealNotSynced,
    /// The segment prepared ahead is not synced before it is written to.
    ReserveNotSynced,
    /// The directory is not synced after a segment was made.
    DirectoryNotSynced,
    /// Segments are removed before the store file says so on the disk.
    RemovedBeforeNoted,
    /// A journal goes on after a failed sync, which it does again.
    SyncRetried,
    /// Recovery believes records whose check does not hold.
    CheckIgnored,
    /// Recovery believes records that say they belong elsewhere.
    PositionIgnored,
    /// Recovery leaves a torn tail as it is.
    TailKept,
    /// Recovery does not sync what it finds.
    RecoveredNotSynced,
    /// No mark says that the last records were synced.
    MarkLeftOut,
}
