//! The machine's disk.

use std::fmt;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, IoSlice, Read, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{Advice, FallocateFlags};
use rustix::io::Errno;

use super::disk::{Disk, DiskFile};
use super::{disk, limits};

/// The folder of the segments in a store's directory.
const JOURNAL: &str = "journal";

/// The file that is locked while a broker has the store.
const LOCK: &str = "lock";

/// Octets of the lock file that are read: a process id and its line end.
const PID_BYTES_MAX: u64 = 32;

/// The journal's folder in a directory that nobody else has open.
pub struct RealDisk {
    folder: PathBuf,
    /// Locked until it is closed; the kernel closes it however the process ends. None: the disk is only
    /// read, and there is no lock file.
    lock: Option<File>,
    is_read_only: bool,
}

/// Why a store's directory cannot be had.
#[derive(Debug)]
pub enum LockError {
    /// Another process has it.
    Held {
        /// The directory.
        directory: PathBuf,
        /// The process, as its lock file says.
        pid: Option<u32>,
    },
    /// The disk refuses.
    Disk {
        /// The directory.
        directory: PathBuf,
        /// What it said.
        error: io::Error,
    },
}

impl fmt::Display for LockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LockError::Held { directory, pid } => {
                write!(f, "a broker has {} open", directory.display())?;
                match pid {
                    Some(pid) => write!(f, " (process {pid})"),
                    None => Ok(()),
                }
            }
            LockError::Disk { directory, error } => write!(f, "{}: {error}", directory.display()),
        }
    }
}

impl std::error::Error for LockError {}

/// Who may read what is kept: nobody but the broker's user. Messages are nobody else's business.
const FOLDER_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// Makes a directory and those above it that are missing, for the broker's user alone.
///
/// # Errors
/// The file system refuses.
pub fn make_directories(directory: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(FOLDER_MODE).create(directory)
}

impl RealDisk {
    /// The folder of the journal in a store's directory.
    pub const FOLDER: &str = JOURNAL;

    /// Locks a store's directory, and makes it if need be.
    pub fn open(directory: &Path) -> Result<RealDisk, LockError> {
        let refused = |error| LockError::Disk {
            directory: directory.to_owned(),
            error,
        };
        let folder = directory.join(JOURNAL);
        let is_new = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.exists();
        let new = folder.ancestors().take_while(is_new).map(Path::to_owned);
        let new: Vec<PathBuf> = new.collect();
        make_directories(&folder).map_err(|error| LockError::Disk {
            directory: folder.clone(),
            error,
        })?;
        let mut lock = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(FILE_MODE)
            .open(directory.join(LOCK))
            .map_err(refused)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(LockError::Held {
                    directory: directory.to_owned(),
                    pid: pid_in(&lock),
                });
            }
            Err(TryLockError::Error(error)) => return Err(refused(error)),
        }
        lock.set_len(0).map_err(refused)?;
        // Who is told of the process is helped; a full disk must not keep the broker from starting.
        let _ = writeln!(lock, "{}", std::process::id());
        for folder in new
            .iter()
            .map(PathBuf::as_path)
            .chain([&*folder, directory])
        {
            sync_name(folder).map_err(refused)?;
        }
        Ok(RealDisk {
            folder,
            lock: Some(lock),
            is_read_only: false,
        })
    }

    /// Octets of the file system, free or not, as far as it says.
    pub fn total_bytes(&self) -> Option<u64> {
        let found = rustix::fs::statvfs(&self.folder).ok()?;
        Some(found.f_blocks.saturating_mul(found.f_frsize))
    }

    /// The journal's folder in a store's directory, to be read only: nothing is made or changed. It is
    /// locked if there is a lock file and the file system can lock it: see [`RealDisk::is_locked`].
    ///
    /// # Errors
    /// Another process has it, or the disk refuses.
    pub fn open_to_read(directory: &Path) -> Result<RealDisk, LockError> {
        let refused = |error| LockError::Disk {
            directory: directory.to_owned(),
            error,
        };
        let folder = directory.join(JOURNAL);
        fs::read_dir(&folder).map_err(refused)?;
        let lock = match File::open(directory.join(LOCK)) {
            Ok(file) => Some(file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(refused(error)),
        };
        let lock = match lock.map(|file| (file.try_lock(), file)) {
            Some((Ok(()), file)) => Some(file),
            Some((Err(TryLockError::WouldBlock), file)) => {
                return Err(LockError::Held {
                    directory: directory.to_owned(),
                    pid: pid_in(&file),
                });
            }
            Some((Err(TryLockError::Error(_)), _)) | None => None,
        };
        Ok(RealDisk {
            folder,
            lock,
            is_read_only: true,
        })
    }

    /// Whether nobody else can have it open meanwhile.
    pub fn is_locked(&self) -> bool {
        self.lock.is_some()
    }
}

/// Brings the name of a folder to the disk.
fn sync_name(folder: &Path) -> io::Result<()> {
    let parent = match folder.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => return Ok(()),
    };
    match File::open(parent) {
        // A folder that we may not read is none that we made anything in.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        opened => opened?.sync_all(),
    }
}

fn pid_in(lock: &File) -> Option<u32> {
    let mut text = String::new();
    lock.take(PID_BYTES_MAX).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

impl Disk for RealDisk {
    fn directory(&self) -> String {
        self.folder.display().to_string()
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let entries = fs::read_dir(&self.folder)?;
        let name = |entry: fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
        entries.map(|entry| entry.map(name)).collect()
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        let mut options = OpenOptions::new();
        let file = options
            .read(true)
            .write(!self.is_read_only)
            .open(self.folder.join(name))?;
        Ok(Arc::new(RealFile(file)))
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create_new(true);
        options.mode(FILE_MODE);
        Ok(Arc::new(RealFile(options.open(self.folder.join(name))?)))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.folder.join(name))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.folder.join(from), self.folder.join(to))
    }

    fn sync_directory(&self) -> io::Result<()> {
        File::open(&self.folder)?.sync_all()
    }

    fn free_bytes(&self) -> io::Result<u64> {
        let found = rustix::fs::statvfs(&self.folder)?;
        Ok(found.f_bavail.saturating_mul(found.f_frsize))
    }
}

struct RealFile(File);

impl DiskFile for RealFile {
    fn length(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn read_at(&self, octets: &mut [u8], offset: u64) -> io::Result<usize> {
        self.0.read_at(octets, offset)
    }

    fn write_vectored_at(&self, slices: &mut [IoSlice<'_>], offset: u64) -> io::Result<()> {
        let (mut slices, mut offset) = (slices, offset);
        while !slices.is_empty() {
            let most = slices.len().min(limits::SLICES_PER_WRITE_MAX);
            match rustix::io::pwritev(&self.0, &slices[..most], offset) {
                Ok(0) if slices.iter().any(|slice| !slice.is_empty()) => {
                    return Err(io::ErrorKind::WriteZero.into());
                }
                Ok(count) => {
                    IoSlice::advance_slices(&mut slices, count);
                    offset += count as u64;
                }
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn preallocate(&self, bytes: u64) -> io::Result<()> {
        loop {
            match rustix::fs::fallocate(&self.0, FallocateFlags::empty(), 0, bytes) {
                Err(Errno::INTR) => {}
                Err(Errno::OPNOTSUPP | Errno::NOSYS) => return self.fill_up(bytes),
                done => return Ok(done?),
            }
        }
    }

    fn set_length(&self, bytes: u64) -> io::Result<()> {
        self.0.set_len(bytes)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn drop_cache(&self) -> io::Result<()> {
        Ok(rustix::fs::fadvise(&self.0, 0, None, Advice::DontNeed)?)
    }
}

impl RealFile {
    /// Allocates by writing zeros behind the end, where the file system knows no other way.
    fn fill_up(&self, bytes: u64) -> io::Result<()> {
        let zeros = vec![0; limits::ZEROS_BYTES];
        let mut at = self.length()?;
        while at < bytes {
            let count = (bytes - at).min(zeros.len() as u64) as usize;
            disk::write_all(self, &zeros[..count], at)?;
            at += count as u64;
        }
        Ok(())
    }
}
