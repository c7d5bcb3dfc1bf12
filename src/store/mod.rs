//! The journal: one endless list of records on a disk, cut into segments.
//!
//! ```text
//!   caller --append--> buffer --Writer::turn--> segment files --> synced() --> waker
//!                                                     |
//!   caller <--visit-- recovery <----------------------+--> read, read_segment --> caller
//! ```
//!
//! Records are opaque octets with a kind. The room imports nothing of ours.
//!
//! - [`Journal::append`] copies into a buffer and returns; it never waits for the disk. The writer
//!   writes all that has gathered with one vectored write and one `fdatasync`, then raises the
//!   watermark [`Journal::synced`]. While it does so, the next batch gathers: that is all of group
//!   commit.
//! - What was synced is there after a crash, in order and unaltered; of what was not, a beginning
//!   may be there, in whole records. What is damaged is told and never delivered: see `recovery`.
//! - A failed write or sync is the end of this journal ([`State::Failed`]): nothing after it counts
//!   as synced, whatever the kernel says the next time it is asked.
//! - A full disk is not ([`State::Full`]): one segment is always prepared ahead, so that there is
//!   room for what makes room.
//! - Segments are removed by number when nothing in them is needed any more. The caller knows; it
//!   counts in [`SegmentUse`], and may copy what still lives forward.
//!
//! The disk is behind a trait. [`SimulatedDisk`] forgets what was not synced, from a seed, and
//! [`Writer`] runs without a thread for it.

mod buffer;
mod check;
pub mod disk;
mod error;
mod examination;
mod format;
mod journal;
pub mod limits;
mod options;
mod reading;
mod real;
mod recovery;
mod repair;
mod scan;
mod segment;
pub mod simulated;
mod state;
mod store_file;
mod writer;

pub use check::{Report, check};
pub use disk::{Disk, DiskFile};
pub use error::{Damage, Damages, Flaw, OpenError, RecordTooLarge, RemoveError};
pub use examination::Progress;
pub use journal::{Journal, Waker};
pub use options::{Options, Plant, SyncMode};
pub use real::{LockError, RealDisk, make_directories};
pub use repair::{Mended, Repaired, repair};
pub use segment::{Part, Place, RecordAt, SegmentInfo, SegmentUse};
pub use simulated::SimulatedDisk;
pub use state::{Recovery, State, TornTail};
pub use writer::{Turn, Writer};

/// What takes the records as they are read. A reason for refusing one ends the reading.
pub type Visit<'a> = dyn FnMut(RecordAt, &[u8]) -> Result<(), String> + 'a;
