//! What outlasts the process: the data directory and what is made of it at the start.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::clock::{self, Clock};
use super::keeper::Keeper;
use super::log::notice;
use super::memory;
use super::options::Options;
use crate::broker;
use crate::broker::ids::MemberId;
use crate::cluster::entry_log;
use crate::cluster::fact_log::{FactLog, Opening};
use crate::cluster::lockstep::start::{Started, Storage, seats_on_disks};
use crate::cluster::lockstep::{Seat, Settings, seats};
use crate::cluster::solo::Solo;
use crate::store::{self, Disk, RealDisk};

/// The name of the data directory in the home directory, unless another is given.
const DEFAULT_NAME: &str = ".ferrymq";

/// The folder of a journal in a store's directory.
const JOURNAL: &str = "journal";

/// Where things are kept: as given, else in the home directory, else where temporary files are.
/// qpidd looks in the same places for `.qpidd`.
pub fn data_dir(options: &Options) -> Option<PathBuf> {
    if options.no_data_dir {
        return None;
    }
    Some(options.data_dir.clone().unwrap_or_else(|| {
        let home = std::env::var_os("HOME").filter(|home| !home.is_empty());
        home.map_or(std::env::temp_dir(), PathBuf::from)
            .join(DEFAULT_NAME)
    }))
}

/// A broker that stands alone, with what its data directory kept.
///
/// # Errors
/// The directory cannot be used, or what is in it cannot be read whole.
pub fn start(
    options: &Options,
    core_options: broker::Options,
    (clock, random): (Clock, u64),
) -> Result<(Arc<Solo>, Option<Keeper>), String> {
    let Some(directory) = data_dir(options) else {
        let solo = Solo::new(MemberId(random), core_options, clock.millis());
        return Ok((Arc::new(solo), None));
    };
    if member_directory(&directory, 0).join(JOURNAL).exists() {
        return Err(format!(
            "{}: the data directory is that of a lockstep group",
            directory.display()
        ));
    }
    let disk = open_disk(&directory)?;
    let now = clock.millis();
    let opening = Opening {
        store_id: random,
        wall_at_zero: clock::wall_milliseconds().saturating_sub(now.0),
        now,
        memory_bytes_max: options.memory_limit.unwrap_or_else(memory::default_limit),
    };
    let journal = journal_options(options);
    let opened = FactLog::open(Arc::new(disk), &journal, core_options.clone(), &opening);
    let (log, core, found) = opened.map_err(|error| format!("{}: {error}", directory.display()))?;
    tell(&directory, options, &core, &found);
    let member = MemberId(found.store_id);
    let epoch = 1;
    let solo = Solo::with_log(member, epoch, (log, core), core_options, clock.millis());
    let keeper = Keeper::start(&solo, clock)?;
    Ok((solo, Some(keeper)))
}

fn open_disk(directory: &Path) -> Result<RealDisk, String> {
    let opened = RealDisk::open(directory);
    opened.map_err(|error| format!("the data directory cannot be used: {error}"))
}

fn journal_options(options: &Options) -> store::Options {
    store::Options {
        segment_bytes: options.journal_file_size,
        sync: match options.journal_sync {
            true => store::SyncMode::Data,
            false => store::SyncMode::None,
        },
        ..store::Options::default()
    }
}

/// Makes a directory, if need be, so that its name survives a crash.
fn make_directory(directory: &Path) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    let parent = directory.parent();
    let parent = parent.filter(|parent| !parent.as_os_str().is_empty());
    File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
}

/// Where the member at a place of a lockstep group keeps what it has: folders 1, 2, 3 and so on.
fn member_directory(directory: &Path, place: usize) -> PathBuf {
    directory.join((place + 1).to_string())
}

/// The seats of a lockstep group, one for each port. It keeps what it has only if a data directory
/// was given: it is for tests.
///
/// # Errors
/// A directory cannot be used, or what is in them cannot be read whole.
pub fn start_lockstep(
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
    if directory.join(JOURNAL).exists() {
        return Err(format!(
            "{shown}: the data directory is that of a broker that stands alone"
        ));
    }
    if member_directory(directory, count).exists() {
        return Err(format!(
            "{shown}: the data directory is that of a group of more than {count} members"
        ));
    }
    make_directory(directory).map_err(|error| format!("{shown}: {error}"))?;
    let mut disks: Vec<Arc<dyn Disk>> = Vec::new();
    for place in 0..count {
        disks.push(Arc::new(open_disk(&member_directory(directory, place))?));
    }
    let now = clock.millis();
    let storage = Storage {
        disks,
        log: entry_log::Options {
            journal: journal_options(options),
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
        seat.read(|core| tell(&directory, options, core, found));
    }
    Ok(seats)
}

fn tell(directory: &Path, options: &Options, core: &broker::Core, found: &store::Recovery) {
    let directory = directory.display();
    for file in &found.remade {
        tracing::warn!(target: "Store", "{directory}: {file} was unfinished and is made anew");
    }
    if let Some(torn) = &found.torn_tail {
        tracing::warn!(
            target: "Store",
            "{directory}: cut {torn}: the broker was stopped while it wrote them, and nobody was \
             told that they are safe"
        );
    }
    if found.gaps > 0 {
        tracing::warn!(
            target: "Store",
            "{directory}: {} places of the journal were set aside by a repair",
            found.gaps
        );
    }
    if !options.journal_sync {
        tracing::warn!(
            target: "Store",
            "Nothing waits for the disk (--journal-sync no): a power cut loses what was confirmed"
        );
    }
    match found.is_new {
        true => notice!("Store", "New data directory {directory}"),
        false => notice!(
            "Store",
            "Recovered {} queues with {} messages from {directory}",
            core.queue_count(),
            core.message_count()
        ),
    }
}
