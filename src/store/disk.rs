//! What the journal needs of a disk: one directory of files. [`RealDisk`](super::RealDisk) is the
//! machine's, [`SimulatedDisk`](super::SimulatedDisk) one in memory that loses, tears and damages
//! from a seed.
//!
//! Nothing that is done is on the disk until it is synced: the octets of a file by
//! [`DiskFile::sync_data`], its name by [`Disk::sync_directory`].

use std::io::{self, IoSlice};
use std::sync::Arc;

/// One directory.
pub trait Disk: Send + Sync {
    /// Where it is, for messages.
    fn directory(&self) -> String;

    /// The names in it, in no order.
    fn list(&self) -> io::Result<Vec<String>>;

    /// Opens a file that is there, for reading and writing.
    fn open(&self, name: &str) -> io::Result<Arc<dyn DiskFile>>;

    /// Makes a file that is not there, for reading and writing.
    fn create(&self, name: &str) -> io::Result<Arc<dyn DiskFile>>;

    /// Removes a file. Whoever has it open can go on reading.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Gives a file another name, whole or not at all.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Returns when all creations, removals and renames so far are on the disk.
    fn sync_directory(&self) -> io::Result<()>;

    /// Octets that can still be allocated.
    fn free_bytes(&self) -> io::Result<u64>;
}

/// One open file. The room of a removed file is given back when the last of these is dropped.
pub trait DiskFile: Send + Sync {
    /// Its length in octets.
    fn length(&self) -> io::Result<u64>;

    /// Reads at `offset`, as many octets as come at once; 0 at the end of the file only.
    fn read_at(&self, octets: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Writes all of `slices`, one after the other, at `offset`. They may be used up.
    fn write_vectored_at(&self, slices: &mut [IoSlice<'_>], offset: u64) -> io::Result<()>;

    /// Makes the file at least `bytes` long, reading as zeros, with all of its room allocated, so
    /// that no write within it finds the disk full.
    fn preallocate(&self, bytes: u64) -> io::Result<()>;

    /// Cuts the file, or lengthens it with zeros that have no room yet.
    fn set_length(&self, bytes: u64) -> io::Result<()>;

    /// Returns when all octets written so far, and the length, are on the disk.
    ///
    /// After an error nothing is known of them: the kernel may have dropped them and say yes the
    /// next time. Only reading the disk again after [`DiskFile::drop_cache`] tells.
    fn sync_data(&self) -> io::Result<()>;

    /// Makes the next reads come from the disk for all octets that are not waiting to be written.
    fn drop_cache(&self) -> io::Result<()>;
}

/// Fills `octets` from `offset`, through short reads and interruptions. Fewer are returned only
/// where the file ends.
pub fn read_full(file: &dyn DiskFile, octets: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut done = 0;
    while done < octets.len() {
        match file.read_at(&mut octets[done..], offset + done as u64) {
            Ok(0) => break,
            Ok(count) => done += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}

/// Writes `octets` at `offset`.
pub fn write_all(file: &dyn DiskFile, octets: &[u8], offset: u64) -> io::Result<()> {
    file.write_vectored_at(&mut [IoSlice::new(octets)], offset)
}
