//! Opening a store: which segments there are, what is in them, what of it to believe.
//!
//! All segments but the last with records must be whole. In the last one the first place without a
//! valid record is the torn tail of a crash, and is cut, unless a valid record behind it says that
//! the place had been synced: then it is damage. Marks, written when the writer falls idle, say so
//! of the last records there are.
//!
//! Damage is told, all of it, and nothing is changed. A torn tail is wiped with zeros before
//! anything new is written: the positions in it are used again, and an old record further on that
//! happened to reach the disk would be valid behind a new one that ends where it begins.
//!
//! Records that the scan finds and that were never synced count as records; so the last segment is
//! synced before it is read. If that sync comes after a failed one of an earlier process, the kernel
//! may still show octets that the disk does not have: so its cache is dropped as well.

use std::io;
use std::sync::Arc;

use super::disk::{self, Disk, DiskFile};
use super::error::{Damages, Flaw, OpenError};
use super::examination::{self, Examination, Segment};
use super::format::{self, Checks, SEGMENT_HEADER_BYTES, SegmentHeader};
use super::options::{Options, Plant};
use super::segment::SegmentUse;
use super::state::Recovery;
use super::store_file::{self, Found, Identity, StoreFile};
use super::{Visit, limits};

/// What a journal goes on from.
pub(super) struct Opened {
    pub store: StoreFile,
    pub checks: Checks,
    /// All segments with records, ascending, and the one to write to, which is the last.
    pub segments: Vec<Segment>,
    /// The file of the last.
    pub active: Arc<dyn DiskFile>,
    /// The file prepared for the next one, and its size.
    pub reserve: Option<(Arc<dyn DiskFile>, u64)>,
    pub recovery: Recovery,
}

pub(super) fn disk_error(what: impl Into<String>) -> impl FnOnce(io::Error) -> OpenError {
    let what = what.into();
    |error| OpenError::Disk { what, error }
}

/// Makes the file of a segment, with its room and header. File and directory are for the caller to
/// sync.
pub(super) fn create_segment(
    disk: &dyn Disk,
    header: &SegmentHeader,
) -> io::Result<Arc<dyn DiskFile>> {
    let name = format::file_name(header.number);
    let file = match disk.create(&name) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            disk.remove(&name)?;
            disk.create(&name)?
        }
        made => made?,
    };
    file.preallocate(header.size)?;
    disk::write_all(&*file, &header.encode(), 0)?;
    Ok(file)
}

/// Opens the store on `disk`, or makes one.
pub(super) fn open(
    disk: &dyn Disk,
    options: &Options,
    store_id_if_new: u64,
    visit: &mut Visit<'_>,
) -> Result<Opened, OpenError> {
    let what = || format!("the journal in {} cannot be opened", disk.directory());
    let found = StoreFile::find(disk).map_err(disk_error(what()))?;
    match found {
        Found::Version(version) => Err(OpenError::Version {
            file: store_file::NAME.to_owned(),
            version,
        }),
        Found::Valid(store) => recover(disk, options, store, visit),
        Found::Nothing => {
            let has_records = has_records(disk).map_err(disk_error(what()))?;
            if has_records {
                let mut damages = Damages::default();
                damages.add(store_file::NAME, 0, Flaw::StoreFile);
                return Err(damaged(disk, damages));
            }
            create(disk, options, store_id_if_new).map_err(disk_error(format!(
                "a journal in {} cannot be made",
                disk.directory()
            )))
        }
    }
}

fn damaged(disk: &dyn Disk, damages: Damages) -> OpenError {
    let directory = disk.directory();
    OpenError::Damaged { directory, damages }
}

/// Whether there is a segment that was ever written to.
pub(super) fn has_records(disk: &dyn Disk) -> io::Result<bool> {
    let mut octets = Vec::new();
    for number in examination::numbers(disk)? {
        let file = disk.open(&format::file_name(number))?;
        examination::read_file(&*file, &mut octets)?;
        if !examination::is_empty(&octets) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Makes a store. The store file comes last: where it is, the first segment was.
fn create(disk: &dyn Disk, options: &Options, store_id: u64) -> io::Result<Opened> {
    for number in examination::numbers(disk)? {
        disk.remove(&format::file_name(number))?;
    }
    let identity = Identity::new(store_id);
    let header = SegmentHeader {
        store_id,
        number: identity.first,
        base: 0,
        size: format::segment_bytes(options.segment_bytes, 0),
    };
    let active = create_segment(disk, &header)?;
    active.sync_data()?;
    disk.sync_directory()?;
    let store = StoreFile::create(disk, identity)?;
    disk.sync_directory()?;
    Ok(Opened {
        store,
        checks: Checks::new(store_id),
        segments: vec![Segment {
            of: SegmentUse::new(header.number, header.base),
            size: header.size,
            end: SEGMENT_HEADER_BYTES as u64,
            is_sealed: false,
        }],
        active,
        reserve: None,
        recovery: Recovery {
            store_id,
            is_new: true,
            ..Recovery::default()
        },
    })
}

/// Reads the store, and does away with what a crash left behind.
fn recover(
    disk: &dyn Disk,
    options: &Options,
    mut store: StoreFile,
    visit: &mut Visit<'_>,
) -> Result<Opened, OpenError> {
    let mut examination = Examination::new(disk, options, store.identity().clone());
    examination.read(visit, &mut |_| {})?;
    if !examination.damages.is_empty() {
        return Err(damaged(disk, examination.damages));
    }
    if store.is_spoiled {
        let name = store_file::NAME.to_owned();
        examination.recovery.remade.push(name);
    }
    let what = format!("the journal in {} cannot be mended", disk.directory());
    mend(disk, options, &mut store, &examination).map_err(disk_error(what))?;
    let last = examination
        .last
        .expect("without damage there is a last one");
    Ok(Opened {
        store,
        checks: examination.checks,
        segments: examination.segments,
        active: last.file,
        reserve: examination.reserve,
        recovery: examination.recovery,
    })
}

fn mend(
    disk: &dyn Disk,
    options: &Options,
    store: &mut StoreFile,
    examination: &Examination<'_>,
) -> io::Result<()> {
    let last = examination.last.as_ref();
    let last = last.expect("without damage there is a last one");
    let segment = examination.segments.last();
    let segment = segment.expect("the last one is a segment");
    if options.plant != Plant::TailKept {
        wipe(&*last.file, segment.end, last.wipe_to)?;
    }
    if last.length < segment.size {
        last.file.preallocate(segment.size)?;
    }
    last.file.sync_data()?;
    if let Some((file, _)) = &examination.reserve {
        file.sync_data()?;
    }
    if store.is_spoiled {
        store.write(store.identity().clone())?;
        store.sync()?;
    }
    for name in &examination.leftovers {
        disk.remove(name)?;
    }
    disk.sync_directory()
}

/// Writes zeros from one offset to another.
pub(super) fn wipe(file: &dyn DiskFile, from: u64, to: u64) -> io::Result<()> {
    let mut at = from;
    while at < to {
        let count = (to - at).min(limits::ZEROS_BYTES as u64);
        disk::write_all(file, &vec![0; count as usize], at)?;
        at += count;
    }
    Ok(())
}
