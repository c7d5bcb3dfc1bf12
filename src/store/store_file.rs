//! The store file: whose store this is, and which segments are gone on purpose, so that one that is
//! gone by accident is missed.
//!
//! Two slots are written in turn, in place: the disk may be full when segments are removed, and a
//! slot that is torn by a crash leaves the other.
//!
//! ```text
//!   slot:  0 magic 8     8 version 4   12 runs 4    16 generation 8   24 store id 8
//!          32 first 8   40 lost 4   44 zero 16   60 check 4   64 runs: {first 8, count 8} ..., zeros to 4096
//! ```

use std::io;
use std::sync::Arc;

use super::disk::{self, Disk, DiskFile};
use super::format::{u32_at, u64_at};
use super::limits;

/// Its name.
pub const NAME: &str = "store";

const SLOT_BYTES: usize = 4096;
const MAGIC: [u8; 8] = *b"FerryMQs";
const VERSION: u32 = 1;
const RUNS_AT: usize = 64;

/// What it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The store's id.
    pub store_id: u64,
    /// The number of the first segment that is not removed.
    pub first: u64,
    /// Runs of removed segments behind that one, ascending, not touching: number of the first, count.
    pub removed: Vec<(u64, u64)>,
    /// How often a repair found records missing and could leave no gap for them.
    pub lost: u32,
}

impl Identity {
    /// That of a new store.
    pub fn new(store_id: u64) -> Identity {
        Identity {
            store_id,
            first: 1,
            removed: Vec::new(),
            lost: 0,
        }
    }

    /// Whether a segment is removed.
    pub fn is_removed(&self, number: u64) -> bool {
        let is_in = |&(first, count): &(u64, u64)| number >= first && number - first < count;
        number < self.first || self.removed.iter().any(is_in)
    }

    /// The same with more segments removed, or nothing when they are too scattered.
    pub fn without(&self, numbers: &[u64]) -> Option<Identity> {
        let single = numbers.iter().map(|number| (*number, 1));
        let mut runs: Vec<(u64, u64)> = self.removed.iter().copied().chain(single).collect();
        runs.sort_unstable();
        let mut next = Identity::new(self.store_id);
        (next.first, next.lost) = (self.first, self.lost);
        for (first, count) in runs {
            let end = first + count;
            match next.removed.last_mut() {
                _ if first <= next.first => next.first = next.first.max(end),
                Some((last, length)) if first <= *last + *length => {
                    *length = (end - *last).max(*length);
                }
                _ => next.removed.push((first, count)),
            }
        }
        (next.removed.len() <= limits::REMOVED_RUNS_MAX).then_some(next)
    }

    fn encode(&self, generation: u64) -> Vec<u8> {
        let mut octets = vec![0; SLOT_BYTES];
        octets[..8].copy_from_slice(&MAGIC);
        octets[8..12].copy_from_slice(&VERSION.to_be_bytes());
        octets[12..16].copy_from_slice(&(self.removed.len() as u32).to_be_bytes());
        octets[16..24].copy_from_slice(&generation.to_be_bytes());
        octets[24..32].copy_from_slice(&self.store_id.to_be_bytes());
        octets[32..40].copy_from_slice(&self.first.to_be_bytes());
        octets[40..44].copy_from_slice(&self.lost.to_be_bytes());
        for (n, (first, count)) in self.removed.iter().enumerate() {
            let at = RUNS_AT + 16 * n;
            octets[at..at + 8].copy_from_slice(&first.to_be_bytes());
            octets[at + 8..at + 16].copy_from_slice(&count.to_be_bytes());
        }
        let check = check(&octets);
        octets[60..64].copy_from_slice(&check.to_be_bytes());
        octets
    }

    fn decode(octets: &[u8]) -> Slot {
        if octets.len() < SLOT_BYTES
            || octets[..8] != MAGIC
            || check(octets) != u32_at(octets, 60)
            || u32_at(octets, 12) as usize > limits::REMOVED_RUNS_MAX
        {
            return Slot::Invalid;
        }
        if u32_at(octets, 8) != VERSION {
            return Slot::Version(u32_at(octets, 8));
        }
        let run = |n| {
            let at = RUNS_AT + 16 * n;
            (u64_at(octets, at), u64_at(octets, at + 8))
        };
        let identity = Identity {
            store_id: u64_at(octets, 24),
            first: u64_at(octets, 32),
            removed: (0..u32_at(octets, 12) as usize).map(run).collect(),
            lost: u32_at(octets, 40),
        };
        Slot::Valid(u64_at(octets, 16), identity)
    }
}

fn check(octets: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&octets[..60]);
    hasher.update(&octets[64..SLOT_BYTES]);
    hasher.finalize()
}

enum Slot {
    Valid(u64, Identity),
    Version(u32),
    Invalid,
}

/// The open file.
pub struct StoreFile {
    file: Arc<dyn DiskFile>,
    generation: u64,
    identity: Identity,
    /// Whether one of the slots could not be read.
    pub is_spoiled: bool,
}

/// What is there.
pub enum Found {
    /// A valid one.
    Valid(StoreFile),
    /// None, or one that cannot be read.
    Nothing,
    /// One of a newer version.
    Version(u32),
}

impl StoreFile {
    /// Reads the one that is there.
    pub fn find(disk: &dyn Disk) -> io::Result<Found> {
        let file = match disk.open(NAME) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::Nothing),
            Err(error) => return Err(error),
        };
        // What is believed must be on the disk, not only in the kernel: an earlier process may have
        // ended before its sync, or because of it. Files are removed on the word of this one.
        file.sync_data()?;
        file.drop_cache()?;
        let mut octets = vec![0; 2 * SLOT_BYTES];
        let count = disk::read_full(&*file, &mut octets, 0)?;
        let octets = &octets[..count];
        let (first, second) = octets.split_at(count.min(SLOT_BYTES));
        let slots = [Identity::decode(first), Identity::decode(second)];
        let is_spoiled = slots.iter().any(|slot| matches!(slot, Slot::Invalid));
        let mut newest: Option<(u64, Identity)> = None;
        for slot in slots {
            match slot {
                Slot::Version(version) => return Ok(Found::Version(version)),
                Slot::Valid(generation, identity) => {
                    let is_newer = newest.as_ref().is_none_or(|(other, _)| generation > *other);
                    newest = if is_newer {
                        Some((generation, identity))
                    } else {
                        newest
                    };
                }
                Slot::Invalid => {}
            }
        }
        let Some((generation, identity)) = newest else {
            return Ok(Found::Nothing);
        };
        Ok(Found::Valid(StoreFile {
            file,
            generation,
            identity,
            is_spoiled,
        }))
    }

    /// Makes one, in place of any that is there, and syncs it; the directory is for the caller.
    pub fn create(disk: &dyn Disk, identity: Identity) -> io::Result<StoreFile> {
        match disk.remove(NAME) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let file = disk.create(NAME)?;
        file.preallocate(2 * SLOT_BYTES as u64)?;
        disk::write_all(&*file, &identity.encode(0), 0)?;
        disk::write_all(&*file, &identity.encode(1), SLOT_BYTES as u64)?;
        file.sync_data()?;
        Ok(StoreFile {
            file,
            generation: 1,
            identity,
            is_spoiled: false,
        })
    }

    /// What it says.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Makes it say something else, in the older slot, without waiting for the disk.
    pub fn write(&mut self, identity: Identity) -> io::Result<()> {
        let generation = self.generation + 1;
        let at = generation % 2 * SLOT_BYTES as u64;
        disk::write_all(&*self.file, &identity.encode(generation), at)?;
        self.generation = generation;
        self.identity = identity;
        Ok(())
    }

    /// Returns when what it says is on the disk.
    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}
