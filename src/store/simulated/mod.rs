//! A disk in memory that keeps apart what is synced and what is not, and from a seed makes what a
//! power cut can leave of it.
//!
//! What it supposes of a real one: a piece of [`PIECE_BYTES`] that is overwritten and not yet synced
//! holds after a power cut its old octets, its new ones, or some of each; other pieces are as they
//! were. Pieces and changes of names reach the disk in any order, and some before they are synced. A
//! failed sync leaves pieces that look written and are not.

mod file;
mod random;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;

use parking_lot::Mutex;
use rustix::io::Errno;

use super::disk::{Disk, DiskFile};
use file::{Contents, SimulatedFile};
use random::Random;

/// Octets that reach the disk together or not, as a rule.
pub const PIECE_BYTES: usize = 512;

/// A disk in memory. Clones are the same disk.
#[derive(Clone)]
pub struct SimulatedDisk {
    state: Arc<Mutex<State>>,
}

/// What can be asked of a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Call {
    /// A file is made.
    Create,
    /// A file is removed.
    Remove,
    /// A file gets another name.
    Rename,
    /// Room is allocated, or the length is set.
    Resize,
    /// Octets are written.
    Write,
    /// A file is synced.
    Sync,
    /// The directory is synced.
    SyncDirectory,
    /// Octets are read.
    Read,
}

/// What goes wrong with a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// It returns an error (`EIO`). Of a write some octets may have come through.
    Error,
    /// A write returns as if it had been done.
    Lost,
    /// A write goes this many octets further on.
    Misdirected(u64),
}

#[derive(Clone)]
enum NameChange {
    Created(String, u64),
    Removed(String),
    Renamed(String, String),
}

impl NameChange {
    fn apply(&self, names: &mut BTreeMap<String, u64>) {
        match self {
            NameChange::Created(name, file) => drop(names.insert(name.clone(), *file)),
            NameChange::Removed(name) => drop(names.remove(name)),
            NameChange::Renamed(from, to) => {
                if let Some(file) = names.remove(from) {
                    names.insert(to.clone(), file);
                }
            }
        }
    }
}

struct State {
    random: Random,
    files: BTreeMap<u64, Contents>,
    next_file: u64,
    names: BTreeMap<String, u64>,
    synced_names: BTreeMap<String, u64>,
    unsynced: Vec<NameChange>,
    capacity: Option<u64>,
    reads_short: bool,
    calls: BTreeMap<Call, u64>,
    /// Calls that change something.
    changes: u64,
    off_after: Option<u64>,
    /// What goes wrong with the n-th call of a kind.
    failures: BTreeMap<(Call, u64), Failure>,
    lie: Option<Lie>,
    /// Calls that there was no room for.
    refusals: u64,
    left: Left,
}

/// What became, in the power cut that a disk is left by, of the pieces that were not synced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Left {
    /// Of these a part came through.
    pub torn: u64,
    /// Of these nothing did.
    pub lost: u64,
}

/// A write that returned as if it had been done where it was asked for.
#[derive(Clone, Copy, Debug)]
struct Lie {
    /// The file.
    file: u64,
    /// Whether the file was synced since.
    is_synced: bool,
    /// Whether something was written to the file since it was synced. What was written before may come
    /// through a power cut without what is missing before it, on any disk.
    is_followed: bool,
    /// Whether that is on the disk: then what is missing before it can be told from a torn tail.
    is_told: bool,
}

impl State {
    /// Counts a call. What of it goes wrong, if anything does.
    fn call(&mut self, call: Call) -> io::Result<Option<Failure>> {
        if call != Call::Read {
            self.changes += 1;
        }
        if self.off_after.is_some_and(|most| self.changes > most) {
            return Err(io::Error::other("the power is off"));
        }
        let count = self.calls.entry(call).or_default();
        *count += 1;
        let failure = self.failures.get(&(call, *count)).copied();
        let is_for_writes = matches!(failure, Some(Failure::Lost | Failure::Misdirected(_)));
        match failure {
            Some(_) if is_for_writes && call == Call::Write => Ok(failure),
            Some(_) if call == Call::Write || call == Call::Sync => Ok(failure),
            Some(_) => Err(Errno::IO.into()),
            None => Ok(None),
        }
    }

    fn file(&self, name: &str) -> io::Result<u64> {
        let found = self.names.get(name).copied();
        found.ok_or_else(|| Errno::NOENT.into())
    }

    fn change(&mut self, change: NameChange) {
        change.apply(&mut self.names);
        self.unsynced.push(change);
    }

    /// A write went nowhere, or elsewhere; or one went where it should.
    fn note_write(&mut self, file: u64, is_lie: bool) {
        match &mut self.lie {
            _ if is_lie => {
                self.lie = Some(Lie {
                    file,
                    is_synced: false,
                    is_followed: false,
                    is_told: false,
                });
            }
            Some(lie) if lie.file == file => lie.is_followed = lie.is_synced,
            _ => {}
        }
    }

    fn note_sync(&mut self, file: u64) {
        if let Some(lie) = self.lie.as_mut().filter(|lie| lie.file == file) {
            lie.is_told = lie.is_followed;
            lie.is_synced = true;
        }
    }

    fn no_room(&mut self) -> io::Error {
        self.refusals += 1;
        Errno::NOSPC.into()
    }

    fn used_bytes(&self) -> u64 {
        let named: BTreeSet<u64> = self.names.values().copied().collect();
        let holds_room = |(id, file): &(&u64, &Contents)| named.contains(id) || file.is_open();
        let files = self.files.iter().filter(holds_room);
        files.map(|(_, file)| file.seen.len() as u64).sum()
    }

    fn free_bytes(&self) -> u64 {
        match self.capacity {
            Some(capacity) => capacity.saturating_sub(self.used_bytes()),
            None => u64::MAX,
        }
    }
}

impl SimulatedDisk {
    /// An empty one.
    pub fn new(seed: u64) -> SimulatedDisk {
        SimulatedDisk::with(seed, BTreeMap::new(), BTreeMap::new())
    }

    fn with(
        seed: u64,
        files: BTreeMap<u64, Contents>,
        names: BTreeMap<String, u64>,
    ) -> SimulatedDisk {
        let state = State {
            random: Random::new(seed),
            next_file: files.last_key_value().map_or(0, |(id, _)| id + 1),
            files,
            synced_names: names.clone(),
            names,
            unsynced: Vec::new(),
            capacity: None,
            reads_short: false,
            calls: BTreeMap::new(),
            changes: 0,
            off_after: None,
            failures: BTreeMap::new(),
            lie: None,
            refusals: 0,
            left: Left::default(),
        };
        SimulatedDisk {
            state: Arc::new(Mutex::new(state)),
        }
    }

    /// What a power cut at this moment leaves, one of the many things that it can: a disk of its
    /// own, with all that is on it synced.
    pub fn crash(&self, seed: u64) -> SimulatedDisk {
        let mut random = Random::new(seed);
        let state = self.state.lock();
        // Some images lose all that is not synced, some nothing, most something.
        let kept_of_8 = *random.pick(&[0, 1, 4, 4, 4, 7, 8]);
        let torn_of_8 = *random.pick(&[0, 1, 4]);
        let mut names = state.synced_names.clone();
        for change in &state.unsynced {
            if random.below(8) < kept_of_8 {
                change.apply(&mut names);
            }
        }
        let named: BTreeSet<u64> = names.values().copied().collect();
        let named = state.files.iter().filter(|(id, _)| named.contains(id));
        let mut left = Left::default();
        let files = named.map(|(id, file)| {
            let of_8 = (kept_of_8, torn_of_8);
            (*id, file.crash(&mut random, of_8, &mut left))
        });
        let files = files.collect();
        let disk = SimulatedDisk::with(random.u64(), files, names);
        disk.state.lock().left = left;
        disk
    }

    /// What the power cut that left this disk did; nothing when none did.
    pub fn left(&self) -> Left {
        self.state.lock().left
    }

    /// The power goes when so many more calls have changed something: from then on every call fails.
    pub fn power_off_after(&self, changes: u64) {
        let mut state = self.state.lock();
        state.off_after = Some(state.changes + changes);
    }

    /// What goes wrong with the n-th call of a kind from now, the next being the first.
    pub fn fail(&self, call: Call, n: u64, failure: Failure) {
        let mut state = self.state.lock();
        let n = state.calls.get(&call).copied().unwrap_or_default() + n;
        state.failures.insert((call, n), failure);
    }

    /// Nothing that was asked for by [`SimulatedDisk::fail`] goes wrong any more.
    pub fn heal(&self) {
        self.state.lock().failures.clear();
    }

    /// How many octets all files can have; `u64::MAX` is as many as they like.
    pub fn set_capacity(&self, bytes: u64) {
        self.state.lock().capacity = (bytes != u64::MAX).then_some(bytes);
    }

    /// How many octets all files have.
    pub fn used_bytes(&self) -> u64 {
        self.state.lock().used_bytes()
    }

    /// How many calls there was no room for.
    pub fn refusals(&self) -> u64 {
        self.state.lock().refusals
    }

    /// Whether a write was lost or misdirected and, if one was, whether the last of them can be told
    /// from what a power cut leaves: something behind it, in its file, that was written after a sync is
    /// on the disk.
    pub fn lie_is_told(&self) -> Option<bool> {
        self.state.lock().lie.map(|lie| lie.is_told)
    }

    /// Nothing is known of a lie any more: all of the disk was read, and found whole.
    pub fn forget_lie(&self) {
        self.state.lock().lie = None;
    }

    /// Whether reads return fewer octets than they could.
    pub fn set_reads_short(&self, are_short: bool) {
        self.state.lock().reads_short = are_short;
    }

    /// How many calls of a kind there were.
    pub fn calls(&self, call: Call) -> u64 {
        let state = self.state.lock();
        state.calls.get(&call).copied().unwrap_or_default()
    }

    /// How many calls have changed something.
    pub fn changes(&self) -> u64 {
        self.state.lock().changes
    }

    /// The octets of a file, as they are read.
    pub fn contents(&self, name: &str) -> io::Result<Vec<u8>> {
        let state = self.state.lock();
        let id = state.file(name)?;
        Ok(state.files[&id].seen.clone())
    }

    /// Makes a file hold these octets, and be on the disk.
    pub fn put(&self, name: &str, octets: &[u8]) {
        let mut state = self.state.lock();
        let id = match state.names.get(name) {
            Some(id) => *id,
            None => state.next_file,
        };
        state.next_file = state.next_file.max(id + 1);
        state.files.insert(id, Contents::synced(octets.to_vec()));
        state.names.insert(name.to_owned(), id);
        state.synced_names.insert(name.to_owned(), id);
    }

    /// Flips a bit of a file, on the disk.
    pub fn flip(&self, name: &str, bit: u64) -> io::Result<()> {
        let mut state = self.state.lock();
        let id = state.file(name)?;
        let file = state.files.get_mut(&id).expect("it has a name");
        let (at, mask) = ((bit / 8) as usize, 1 << (bit % 8));
        for octets in [&mut file.seen, &mut file.durable] {
            if let Some(octet) = octets.get_mut(at) {
                *octet ^= mask;
            }
        }
        Ok(())
    }

    /// Takes a file away from the disk.
    pub fn lose(&self, name: &str) -> io::Result<()> {
        let mut state = self.state.lock();
        state.file(name)?;
        state.names.remove(name);
        state.synced_names.remove(name);
        Ok(())
    }
}

impl Disk for SimulatedDisk {
    fn directory(&self) -> String {
        "a simulated disk".to_owned()
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let mut state = self.state.lock();
        state.call(Call::Read)?;
        Ok(state.names.keys().cloned().collect())
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        let mut state = self.state.lock();
        state.call(Call::Read)?;
        let id = state.file(name)?;
        let is_open = state.files[&id].open();
        Ok(Arc::new(SimulatedFile::new(&self.state, id, is_open)))
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        let mut state = self.state.lock();
        state.call(Call::Create)?;
        if state.names.contains_key(name) {
            return Err(Errno::EXIST.into());
        }
        let id = state.next_file;
        state.next_file += 1;
        let file = Contents::synced(Vec::new());
        let is_open = file.open();
        state.files.insert(id, file);
        state.change(NameChange::Created(name.to_owned(), id));
        Ok(Arc::new(SimulatedFile::new(&self.state, id, is_open)))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut state = self.state.lock();
        state.call(Call::Remove)?;
        state.file(name)?;
        state.change(NameChange::Removed(name.to_owned()));
        Ok(())
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut state = self.state.lock();
        state.call(Call::Rename)?;
        state.file(from)?;
        state.change(NameChange::Renamed(from.to_owned(), to.to_owned()));
        Ok(())
    }

    fn sync_directory(&self) -> io::Result<()> {
        let mut state = self.state.lock();
        state.call(Call::SyncDirectory)?;
        state.unsynced.clear();
        state.synced_names = state.names.clone();
        let named: BTreeSet<u64> = state.names.values().copied().collect();
        state
            .files
            .retain(|id, file| named.contains(id) || file.is_open());
        Ok(())
    }

    fn free_bytes(&self) -> io::Result<u64> {
        Ok(self.state.lock().free_bytes())
    }
}
