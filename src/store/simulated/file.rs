//! One file of the simulated disk.

use std::collections::BTreeSet;
use std::io::{self, IoSlice};
use std::ops::Range;
use std::sync::Arc;

use parking_lot::Mutex;
use rustix::io::Errno;

use super::random::Random;
use super::{Call, DiskFile, Failure, Left, PIECE_BYTES, State};

/// What is in a file.
pub(super) struct Contents {
    /// As it is read.
    pub seen: Vec<u8>,
    /// As it is on the disk.
    pub durable: Vec<u8>,
    /// Pieces written and not synced.
    dirty: BTreeSet<usize>,
    /// Whether the length was changed and is not synced.
    is_length_dirty: bool,
    /// Cloned by all who have it open.
    handle: Arc<()>,
}

impl Contents {
    pub fn synced(octets: Vec<u8>) -> Contents {
        Contents {
            durable: octets.clone(),
            seen: octets,
            dirty: BTreeSet::new(),
            is_length_dirty: false,
            handle: Arc::new(()),
        }
    }

    pub fn open(&self) -> Arc<()> {
        Arc::clone(&self.handle)
    }

    pub fn is_open(&self) -> bool {
        Arc::strong_count(&self.handle) > 1
    }

    fn range(&self, piece: usize) -> Range<usize> {
        let start = piece * PIECE_BYTES;
        start.min(self.seen.len())..(start + PIECE_BYTES).min(self.seen.len())
    }

    fn resize(&mut self, length: usize) {
        self.is_length_dirty |= length != self.seen.len();
        self.seen.resize(length, 0);
    }

    fn write(&mut self, octets: &[u8], offset: usize) {
        let end = offset + octets.len();
        if end > self.seen.len() {
            self.resize(end);
        }
        self.seen[offset..end].copy_from_slice(octets);
        self.dirty
            .extend(offset / PIECE_BYTES..end.div_ceil(PIECE_BYTES));
    }

    /// A piece reaches the disk.
    fn settle(&mut self, piece: usize) {
        let range = self.range(piece);
        if self.durable.len() < range.end {
            self.durable.resize(range.end, 0);
        }
        self.durable[range.clone()].copy_from_slice(&self.seen[range]);
        self.dirty.remove(&piece);
    }

    fn sync(&mut self) {
        self.durable.resize(self.seen.len(), 0);
        for piece in std::mem::take(&mut self.dirty) {
            self.settle(piece);
        }
        self.is_length_dirty = false;
    }

    /// Some pieces come through, some will be tried again, some never.
    fn fail_to_sync(&mut self, random: &mut Random) {
        for piece in self.dirty.clone() {
            match random.below(3) {
                0 => self.settle(piece),
                1 => drop(self.dirty.remove(&piece)),
                _ => {}
            }
        }
    }

    fn drop_cache(&mut self) {
        if !self.is_length_dirty {
            self.seen.resize(self.durable.len(), 0);
        }
        for piece in 0..self.seen.len().div_ceil(PIECE_BYTES) {
            let range = self.range(piece);
            if !self.dirty.contains(&piece) && range.end <= self.durable.len() {
                self.seen[range.clone()].copy_from_slice(&self.durable[range]);
            }
        }
    }

    /// What a power cut leaves of it.
    pub fn crash(
        &self,
        random: &mut Random,
        (kept_of_8, torn_of_8): (usize, usize),
        left: &mut Left,
    ) -> Contents {
        let keeps_length = random.below(8) < kept_of_8;
        let length = match keeps_length {
            true => self.seen.len(),
            false => self.durable.len(),
        };
        let mut octets = self.durable.clone();
        octets.resize(length, 0);
        for piece in &self.dirty {
            let range = self.range(*piece);
            let range = range.start.min(length)..range.end.min(length);
            let range = if random.below(8) < torn_of_8 {
                left.torn += 1;
                torn(range, random)
            } else if random.below(8) < kept_of_8 {
                range
            } else {
                left.lost += 1;
                continue;
            };
            octets[range.clone()].copy_from_slice(&self.seen[range]);
        }
        Contents::synced(octets)
    }
}

/// A part of a piece: its beginning, as a rule.
fn torn(range: Range<usize>, random: &mut Random) -> Range<usize> {
    let cut = range.start + random.below(range.len() + 1);
    match random.below(4) {
        0 => cut..range.end,
        _ => range.start..cut,
    }
}

/// A handle to a file.
pub(super) struct SimulatedFile {
    disk: Arc<Mutex<State>>,
    id: u64,
    /// Keeps the file's room in use.
    _handle: Arc<()>,
}

impl SimulatedFile {
    pub fn new(disk: &Arc<Mutex<State>>, id: u64, handle: Arc<()>) -> SimulatedFile {
        SimulatedFile {
            disk: Arc::clone(disk),
            id,
            _handle: handle,
        }
    }

    fn resize(&self, bytes: u64, may_shrink: bool) -> io::Result<()> {
        let mut state = self.disk.lock();
        state.call(Call::Resize)?;
        let free = state.free_bytes();
        let length = state.files[&self.id].seen.len() as u64;
        if bytes > length && bytes - length > free {
            return Err(state.no_room());
        }
        if bytes > length || may_shrink {
            let file = state.files.get_mut(&self.id).expect("it is open");
            file.resize(bytes as usize);
        }
        Ok(())
    }
}

impl DiskFile for SimulatedFile {
    fn length(&self) -> io::Result<u64> {
        let state = self.disk.lock();
        Ok(state.files[&self.id].seen.len() as u64)
    }

    fn read_at(&self, octets: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut state = self.disk.lock();
        state.call(Call::Read)?;
        let rest = &state.files[&self.id].seen;
        let rest = &rest[rest.len().min(offset as usize)..];
        let mut count = rest.len().min(octets.len());
        octets[..count].copy_from_slice(&rest[..count]);
        if state.reads_short && count > 1 {
            count = 1 + state.random.below(count);
            count = count.min(octets.len());
        }
        Ok(count)
    }

    fn write_vectored_at(&self, slices: &mut [IoSlice<'_>], offset: u64) -> io::Result<()> {
        let mut octets: Vec<u8> = slices
            .iter()
            .flat_map(|slice| slice.iter().copied())
            .collect();
        let mut offset = offset as usize;
        let mut state = self.disk.lock();
        let failure = state.call(Call::Write)?;
        let is_lie = matches!(failure, Some(Failure::Lost | Failure::Misdirected(_)));
        if is_lie || failure.is_none() {
            state.note_write(self.id, is_lie);
        }
        match failure {
            Some(Failure::Lost) => return Ok(()),
            Some(Failure::Misdirected(further)) => offset += further as usize,
            Some(Failure::Error) => octets.truncate(state.random.below(octets.len() + 1)),
            None => {}
        }
        let free = state.free_bytes();
        let end = (offset + octets.len()) as u64;
        let length = state.files[&self.id].seen.len() as u64;
        if end.saturating_sub(length) > free {
            return Err(state.no_room());
        }
        let State { random, files, .. } = &mut *state;
        let file = files.get_mut(&self.id).expect("it is open");
        file.write(&octets, offset);
        // Now and then the kernel writes something back on its own.
        if random.below(4) == 0 {
            let piece = random.below(file.dirty.len().max(1));
            if let Some(piece) = file.dirty.iter().nth(piece).copied() {
                file.settle(piece);
            }
        }
        match failure {
            Some(Failure::Error) => Err(Errno::IO.into()),
            _ => Ok(()),
        }
    }

    fn preallocate(&self, bytes: u64) -> io::Result<()> {
        self.resize(bytes, false)
    }

    fn set_length(&self, bytes: u64) -> io::Result<()> {
        self.resize(bytes, true)
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut state = self.disk.lock();
        let failure = state.call(Call::Sync)?;
        let State { random, files, .. } = &mut *state;
        let file = files.get_mut(&self.id).expect("it is open");
        if failure.is_some() {
            file.fail_to_sync(random);
            return Err(Errno::IO.into());
        }
        file.sync();
        state.note_sync(self.id);
        Ok(())
    }

    fn drop_cache(&self) -> io::Result<()> {
        let mut state = self.disk.lock();
        let file = state.files.get_mut(&self.id).expect("it is open");
        file.drop_cache();
        Ok(())
    }
}
