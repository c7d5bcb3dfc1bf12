//! What is in a store, and what is wrong with it, without opening it.

use std::collections::BTreeMap;
use std::io;

use super::disk::{self, Disk};
use super::error::{Damages, Flaw, OpenError};
use super::examination::{self, Examination, Progress};
use super::format::{self, SEGMENT_HEADER_BYTES, SegmentHeader};
use super::options::Options;
use super::recovery::{self, disk_error};
use super::state::TornTail;
use super::store_file::{self, Found, Identity, StoreFile};

/// What is in a store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The store's id; none when there is no store.
    pub store_id: Option<u64>,
    /// Segments that can be read, also those without records.
    pub segments: usize,
    /// Records before the first damage of each segment.
    pub records: u64,
    /// Octets of their payloads.
    pub bytes: u64,
    /// Gaps that earlier repairs left.
    pub gaps: u64,
    /// What a crash left unfinished; opening the journal cuts it. None while there is damage.
    pub torn_tail: Option<TornTail>,
    /// Files with nothing in them that opening the journal makes anew. None while there is damage.
    pub remade: Vec<String>,
    /// What is damaged; while there is any, the journal cannot be opened.
    pub damages: Damages,
}

/// Reads a whole store and changes nothing. `progress` is told after each segment.
pub fn check(disk: &dyn Disk, progress: &mut dyn FnMut(Progress)) -> Result<Report, OpenError> {
    let Some((store, identity)) = identity(disk)? else {
        let mut report = Report::default();
        if has_records(disk)? {
            report.damages.add(store_file::NAME, 0, Flaw::StoreFile);
        }
        return Ok(report);
    };
    let options = Options::default();
    let mut examination = Examination::new(disk, &options, identity);
    match &store {
        None => examination
            .damages
            .add(store_file::NAME, 0, Flaw::StoreFile),
        Some(store) if store.is_spoiled => {
            let name = store_file::NAME.to_owned();
            examination.recovery.remade.push(name);
        }
        Some(_) => {}
    }
    examination.read(&mut |_, _| Ok(()), progress)?;
    let found = examination.recovery;
    // While there is damage nothing is opened, and so nothing cut or made anew.
    let is_sound = examination.damages.is_empty();
    Ok(Report {
        store_id: Some(found.store_id),
        segments: examination.segments.len(),
        records: found.records,
        bytes: found.bytes,
        gaps: found.gaps,
        torn_tail: found.torn_tail.filter(|_| is_sound),
        remade: if is_sound { found.remade } else { Vec::new() },
        damages: examination.damages,
    })
}

fn has_records(disk: &dyn Disk) -> Result<bool, OpenError> {
    let what = format!("{} cannot be read", disk.directory());
    recovery::has_records(disk).map_err(disk_error(what))
}

/// What the store file says or, without one, what the segments let suppose. None when there is no
/// store, or nothing but records of an unknown one.
pub(super) fn identity(
    disk: &dyn Disk,
) -> Result<Option<(Option<StoreFile>, Identity)>, OpenError> {
    let refused = || disk_error(format!("{} cannot be read", disk.directory()));
    match StoreFile::find(disk).map_err(refused())? {
        Found::Valid(store) => {
            let identity = store.identity().clone();
            Ok(Some((Some(store), identity)))
        }
        Found::Version(version) => Err(OpenError::Version {
            file: store_file::NAME.to_owned(),
            version,
        }),
        Found::Nothing if !has_records(disk)? => Ok(None),
        Found::Nothing => {
            let identity = supposed_identity(disk).map_err(refused())?;
            Ok(identity.map(|identity| (None, identity)))
        }
    }
}

/// The store that most segments belong to. Segments that are missing between are supposed to have
/// been removed.
fn supposed_identity(disk: &dyn Disk) -> io::Result<Option<Identity>> {
    let numbers = examination::numbers(disk)?;
    let mut ids: BTreeMap<u64, usize> = BTreeMap::new();
    for number in &numbers {
        let file = disk.open(&format::file_name(*number))?;
        let mut octets = [0; SEGMENT_HEADER_BYTES];
        let count = disk::read_full(&*file, &mut octets, 0)?;
        if let Ok(header) = SegmentHeader::decode(&octets[..count]) {
            *ids.entry(header.store_id).or_default() += 1;
        }
    }
    let most = ids.into_iter().max_by_key(|(_, count)| *count);
    let (Some((store_id, _)), Some(first)) = (most, numbers.first()) else {
        return Ok(None);
    };
    let mut identity = Identity::new(store_id);
    identity.first = *first;
    let mut expected = *first;
    for number in numbers {
        if number > expected {
            identity.removed.push((expected, number - expected));
        }
        expected = number.saturating_add(1);
    }
    Ok(Some(identity))
}
