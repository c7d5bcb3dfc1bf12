//! What outlasts the process: the data directory and what is made of it at the start.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::clock::{self, Clock};
use super::keeper::Keeper;
use super::log::notice;
use super::options::Options;
use super::{cluster, limits, members, memory, plant};
use crate::broker;
use crate::broker::ids::MemberId;
use crate::broker::plant::{Plant, is_planted};
use crate::cluster::fact_log::{FactLog, Opening};
use crate::cluster::paging::{MemoryLimit, Paging};
use crate::cluster::solo::Solo;
use crate::store::limits::SEGMENT_BYTES;
use crate::store::{self, Journal, RealDisk};

/// The name of the data directory in the home directory, unless another is given.
const DEFAULT_NAME: &str = ".ferrymq";

/// The folder of a journal in a store's directory.
pub(super) const JOURNAL: &str = "journal";

/// The folder in the data directory for bodies of messages that do not outlast the process.
const PAGES: &str = "pages";

/// Where things are kept: as given, else in the home directory, else where temporary files are.
/// qpidd looks in the same places for `.qpidd`.
pub fn data_dir(options: &Options) -> Option<PathBuf> {
    if options.no_data_dir {
        return None;
    }
    Some(options.data_dir.clone().unwrap_or_else(default_directory))
}

/// Where things are kept when nothing is said.
pub fn default_directory() -> PathBuf {
    let home = std::env::var_os("HOME").filter(|home| !home.is_empty());
    home.map_or(std::env::temp_dir(), PathBuf::from)
        .join(DEFAULT_NAME)
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
        if options.memory_limit.is_some() {
            tracing::warn!(
                target: "Store",
                "--memory-limit has no effect without a data directory: bodies have nowhere else to be"
            );
        }
        let solo = Solo::new(MemberId(random), core_options, clock.millis());
        return Ok((Arc::new(solo), None));
    };
    if members::are_in(&directory) {
        return Err(format!(
            "{}: the data directory is that of a lockstep group",
            directory.display()
        ));
    }
    if cluster::is_in(&directory) {
        return Err(format!(
            "{}: the data directory is that of a member of a cluster",
            directory.display()
        ));
    }
    let disk = open_disk(&directory)?;
    let planted = plant::from_environment()?;
    let now = clock.millis();
    let opening = Opening {
        store_id: random,
        wall_at_zero: clock::wall_milliseconds().saturating_sub(now.0),
        now,
        memory_bytes_max: memory_bytes_max(options),
        plant: planted.log,
    };
    let journal = store::Options {
        plant: planted.journal,
        ..journal_options(options, &disk)
    };
    let opened = FactLog::open(Arc::new(disk), &journal, core_options.clone(), &opening);
    let (log, core, found) = opened.map_err(|error| format!("{}: {error}", directory.display()))?;
    tell(&directory, options, Some(&core), &found);
    tell_of_strays(&directory, log.strays(), &found);
    tell_of_passed_over(&directory, log.passed_over());
    let memory = *log.memory();
    let member = MemberId(found.store_id);
    let epoch = 1;
    let solo = Solo::with_log(member, epoch, (log, core), core_options, now);
    solo.page_with(pages_in(&directory, options, opening.store_id, memory)?);
    let keeper = Keeper::of_solo(&solo, clock)?;
    Ok((solo, Some(keeper)))
}

/// Locks a store's directory, and makes it if need be.
pub(super) fn open_disk(directory: &Path) -> Result<RealDisk, String> {
    let opened = RealDisk::open(directory);
    opened.map_err(|error| format!("the data directory cannot be used: {error}"))
}

/// How a journal on a disk is.
pub(super) fn journal_options(options: &Options, disk: &RealDisk) -> store::Options {
    let usual = || usual_file_bytes(disk.total_bytes().unwrap_or(u64::MAX));
    store::Options {
        segment_bytes: options.journal_file_size.unwrap_or_else(usual),
        sync: match options.journal_sync {
            true => store::SyncMode::Data,
            false => store::SyncMode::None,
        },
        spare_bytes: match is_planted(Plant::SpareIgnored) {
            true => 0,
            false => limits::JOURNAL_SPARE_BYTES,
        },
        ..store::Options::default()
    }
}

/// Octets of a journal's file on a file system of so many, unless said otherwise: a small one would be
/// full of files that are made ahead.
fn usual_file_bytes(total: u64) -> u64 {
    let part = total / limits::JOURNAL_FILES_PER_DISK;
    part.clamp(limits::JOURNAL_FILE_BYTES_LEAST, SEGMENT_BYTES)
}

/// Octets of messages that are kept in memory.
pub(super) fn memory_bytes_max(options: &Options) -> u64 {
    options.memory_limit.unwrap_or_else(memory::default_limit)
}

/// The pages, empty: what was in them went with the process that wrote it.
pub(super) fn pages_in(
    directory: &Path,
    options: &Options,
    store_id: u64,
    memory: MemoryLimit,
) -> Result<Paging, String> {
    let directory = directory.join(PAGES);
    let failed =
        |error: &dyn std::fmt::Display| format!("{} cannot be used: {error}", directory.display());
    empty(&directory).map_err(|error| failed(&error))?;
    let disk = RealDisk::open(&directory).map_err(|error| failed(&error))?;
    let options = store::Options {
        sync: store::SyncMode::None,
        spare_bytes: 0,
        ..journal_options(options, &disk)
    };
    let opened = Journal::open(Arc::new(disk), &options, store_id, &mut |_, _| Ok(()));
    let (journal, _) = opened.map_err(|error| failed(&error))?;
    Ok(Paging::new(journal, memory))
}

/// Logs that messages are in no queue, once a repair has set parts of the journal aside: the queue may
/// have been declared there. Without one their queue was deleted.
fn tell_of_strays(directory: &Path, strays: u64, found: &store::Recovery) {
    if strays > 0 && found.gaps > 0 {
        tracing::error!(
            target: "Store",
            "{}: {strays} messages are in no queue that is known: it was deleted, or was declared in what \
             a repair set aside. The files as they were before are beside the journal (damaged-*)",
            directory.display()
        );
    }
}

/// Logs that the journal speaks of exchanges and queues of which a repair has set aside what else was
/// said of them.
fn tell_of_passed_over(directory: &Path, count: u64) {
    if count > 0 {
        tracing::error!(
            target: "Store",
            "{}: {count} entries of the journal do not fit what a repair left, and were passed over: \
             they bind, delete or refer to an exchange or a queue that was declared in what it set aside, \
             or declare one anew that was deleted there. The files as they were before are beside the \
             journal (damaged-*)",
            directory.display()
        );
    }
}

/// Removes what is in a directory, if there is one, and not itself: it may be a file system of its own.
fn empty(directory: &Path) -> std::io::Result<()> {
    let entries = match std::fs::read_dir(directory) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        match entry.file_type()?.is_dir() {
            // Each file system has this, and it may be nobody's but the system's.
            true if entry.file_name() == "lost+found" => {}
            true => std::fs::remove_dir_all(entry.path())?,
            false => std::fs::remove_file(entry.path())?,
        }
    }
    Ok(())
}

/// Logs what was found in a directory, and what came of it where that is known already: a member of a
/// cluster applies what its group says is in the order.
pub(super) fn tell(
    directory: &Path,
    options: &Options,
    core: Option<&broker::Core>,
    found: &store::Recovery,
) {
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
    match core {
        _ if found.is_new => notice!("Store", "New data directory {directory}"),
        None => notice!(
            "Store",
            "The journal in {directory} is read: the group says what of it counts"
        ),
        Some(core) => notice!(
            "Store",
            "Recovered {} queues with {} messages from {directory}",
            core.queue_count(),
            core.message_count()
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_file_system_gets_small_files() {
        let mebibyte = 1024 * 1024;
        assert_eq!(usual_file_bytes(64 * mebibyte), mebibyte);
        assert_eq!(usual_file_bytes(mebibyte), limits::JOURNAL_FILE_BYTES_LEAST);
        assert_eq!(usual_file_bytes(1024 * mebibyte), SEGMENT_BYTES);
        assert_eq!(usual_file_bytes(u64::MAX), SEGMENT_BYTES);
    }
}
