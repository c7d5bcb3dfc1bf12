//! The members of a lockstep group and their directories.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::clock::{self, Clock};
use super::options::Options;
use super::{cluster, storage};
use crate::broker;
use crate::cluster::entry_log;
use crate::cluster::lockstep::start::{Started, Storage, seats_on_disks};
use crate::cluster::lockstep::{Seat, Settings, seats};
use crate::store::{self, Disk};

/// Makes a directory, if need be, so that its name survives a crash.
pub(super) fn make_directory(directory: &Path) -> io::Result<()> {
    store::make_directories(directory)?;
    let parent = directory.parent();
    let parent = parent.filter(|parent| !parent.as_os_str().is_empty());
    File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
}

/// Where the member at a place of a lockstep group keeps what it has: folders 1, 2, 3 and so on.
fn member_directory(directory: &Path, place: usize) -> PathBuf {
    directory.join((place + 1).to_string())
}

/// Whether a data directory is that of a lockstep group.
pub fn are_in(directory: &Path) -> bool {
    member_directory(directory, 0)
        .join(storage::JOURNAL)
        .exists()
}

/// The seats of a lockstep group, one for each port. It keeps what it has only if a data directory
/// was given: it is for tests.
///
/// # Errors
/// A directory cannot be used, or what is in them cannot be read whole.
pub fn start(
    options: &Options,
    core_options: broker::Options,
    settings: Settings,
    (clock, random): (Clock, u64),
) -> Result<Vec<Seat<broker::Core>>, String> {
    let count = options.port.len();
    let Some(directory) = &options.data_dir else {
        return Ok(seats(count, core_options, settings, clock.millis()));
    };
    let shown = directory.display();
    if directory.join(storage::JOURNAL).exists() {
        return Err(format!(
            "{shown}: the data directory is that of a broker that stands alone"
        ));
    }
    if cluster::is_in(directory) {
        return Err(format!(
            "{shown}: the data directory is that of a member of a cluster"
        ));
    }
    if member_directory(directory, count).exists() {
        return Err(format!(
            "{shown}: the data directory is that of a group of more than {count} members"
        ));
    }
    make_directory(directory).map_err(|error| format!("{shown}: {error}"))?;
    let mut disks: Vec<Arc<dyn Disk>> = Vec::new();
    let mut journal = store::Options::default();
    for place in 0..count {
        let disk = storage::open_disk(&member_directory(directory, place))?;
        journal = storage::journal_options(options, &disk);
        disks.push(Arc::new(disk));
    }
    let now = clock.millis();
    let storage = Storage {
        disks,
        log: entry_log::Options {
            journal,
            ..entry_log::Options::default()
        },
        random,
        wall_at_zero: clock::wall_milliseconds().saturating_sub(now.0),
        has_threads: true,
    };
    let started = seats_on_disks(&storage, core_options, settings, now);
    let (seats, found): Started<_> = started.map_err(|error| format!("{shown}: {error}"))?;
    for (place, (seat, found)) in seats.iter().zip(&found).enumerate() {
        let directory = member_directory(directory, place);
        seat.read(|core| storage::tell(&directory, options, Some(core), found));
    }
    Ok(seats)
}
