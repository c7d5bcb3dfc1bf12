//! The journal as its caller sees it.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};

use parking_lot::{Condvar, Mutex, RwLock};

use super::Visit;
use super::buffer::Buffer;
use super::disk::Disk;
use super::error::{OpenError, RecordTooLarge, RemoveError};
use super::examination::Segment;
use super::format::{self, Checks, EMPTY_RECORD_BYTES, RecordHeader, SEGMENT_HEADER_BYTES};
use super::limits;
use super::options::{Options, Plant};
use super::reading::{self, OpenFiles};
use super::recovery::{self, Opened};
use super::segment::{Part, Place, SegmentInfo, SegmentUse};
use super::state::{Recovery, State};
use super::store_file::StoreFile;
use super::writer::{self, Writer};

/// What is called when the watermark has risen or the state has changed.
pub type Waker = Arc<dyn Fn() + Send + Sync>;

/// An endless list of records on a disk. See the [room](super).
///
/// All of it may be called from any thread. Nothing but [`Journal::read`] and its like,
/// [`Journal::remove_segments`] and [`Journal::close`] waits for the disk.
pub struct Journal {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl std::fmt::Debug for Journal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Journal({})", self.shared.disk.directory())
    }
}

/// What the journal and its writer share. Locks are taken in the order of the fields.
pub(super) struct Shared {
    pub disk: Arc<dyn Disk>,
    pub options: Options,
    pub store_id: u64,
    pub checks: Checks,
    /// Which segments are there, on the disk.
    pub store: Mutex<StoreFile>,
    pub front: Mutex<Front>,
    /// What the writer is writing. It is here to be read from.
    pub in_flight: RwLock<Buffer>,
    pub files: Mutex<OpenFiles>,
    /// Wakes the writer; goes with `front`.
    pub wake: Condvar,
    pub synced: AtomicU64,
    pub buffered: AtomicUsize,
    /// Octets that can be appended before the disk has fewer free than are to be spared, as far as is
    /// known; less than none when more was.
    pub room: AtomicI64,
    /// Octets of the segment that is made ahead.
    pub reserve_bytes: AtomicU64,
    pub waker: RwLock<Option<Waker>>,
}

/// What an append changes.
pub(super) struct Front {
    pub buffer: Buffer,
    /// The segment that the next record goes into, or whose successor it begins.
    pub tail: Segment,
    /// All before it.
    pub segments: BTreeMap<u64, Segment>,
    pub state: State,
    /// Whether the writer waits to be woken.
    pub is_asleep: bool,
    pub is_stopping: bool,
    /// Whether segments were removed since the writer last looked.
    pub was_freed: bool,
}

impl Front {
    /// Whether what is appended goes anywhere.
    fn takes_records(&self) -> bool {
        !self.is_stopping && !matches!(self.state, State::Failed(_))
    }
}

impl Shared {
    /// Sets the state and tells, when it is another.
    pub fn set_state(&self, state: State) {
        let changed = {
            let mut front = self.front.lock();
            let changed = front.state != state && !matches!(front.state, State::Failed(_));
            if changed {
                front.state = state;
            }
            changed
        };
        if changed {
            self.tell();
        }
    }

    /// Finds out how much room there is. Octets that are free; none when the disk does not say, or none
    /// are to be spared.
    pub fn look_for_room(&self) -> Option<u64> {
        let spare = self.options.spare_bytes;
        let free = match spare {
            0 => None,
            _ => self.disk.free_bytes().ok(),
        };
        let room = free.map_or(i64::MAX, |free| {
            let ahead = self.reserve_bytes.load(Ordering::Relaxed);
            let waiting = self.buffered.load(Ordering::Relaxed) as u64;
            let signed = |octets: u64| i64::try_from(octets).unwrap_or(i64::MAX);
            signed(free.saturating_add(ahead)) - signed(spare.saturating_add(waiting))
        });
        self.room.store(room, Ordering::Relaxed);
        free
    }

    /// Calls the waker.
    pub fn tell(&self) {
        let waker = self.waker.read().clone();
        if let Some(waker) = waker {
            waker();
        }
    }

    /// Seals the segment, as far as the buffer goes, and begins the next, in which such a record
    /// fits.
    pub fn roll(&self, front: &mut Front, payload: usize) {
        let tail = &mut front.tail;
        let (segment, size, offset) = (Arc::clone(&tail.of), tail.size, tail.end);
        tail.end += EMPTY_RECORD_BYTES;
        let next = Segment {
            of: SegmentUse::new(segment.number() + 1, segment.base() + size),
            size: format::segment_bytes(self.options.segment_bytes, payload),
            end: SEGMENT_HEADER_BYTES as u64,
            is_sealed: false,
        };
        if front.takes_records() {
            let position = segment.base() + offset;
            let next = (Arc::clone(&next.of), next.size);
            front.buffer.push_seal(&segment, position, next);
            let bytes = EMPTY_RECORD_BYTES as usize;
            self.buffered.fetch_add(bytes, Ordering::Relaxed);
        }
        let full = std::mem::replace(&mut front.tail, next);
        front.segments.insert(segment.number(), full);
    }

    /// Wakes the writer.
    pub fn wake(&self, front: &mut Front) {
        if front.is_asleep {
            front.is_asleep = false;
            self.wake.notify_one();
        }
    }
}

impl Journal {
    /// Opens the journal on `disk`, or makes one with the id given, and hands all of its records to
    /// `visit`, in order. Starts a thread that writes what is appended.
    pub fn open(
        disk: Arc<dyn Disk>,
        options: &Options,
        store_id_if_new: u64,
        visit: &mut Visit<'_>,
    ) -> Result<(Journal, Recovery), OpenError> {
        let (journal, writer, recovery) =
            Journal::open_without_thread(disk, options, store_id_if_new, visit)?;
        let thread = thread::Builder::new().name("journal".to_owned());
        let thread = thread.spawn(move || writer::run(writer));
        let thread = thread.map_err(recovery::disk_error("the journal's thread"))?;
        *journal.thread.lock() = Some(thread);
        Ok((journal, recovery))
    }

    /// The same, but what is appended is written by whoever calls [`Writer::turn`].
    pub fn open_without_thread(
        disk: Arc<dyn Disk>,
        options: &Options,
        store_id_if_new: u64,
        visit: &mut Visit<'_>,
    ) -> Result<(Journal, Writer, Recovery), OpenError> {
        let opened = recovery::open(&*disk, options, store_id_if_new, visit)?;
        let Opened {
            store,
            checks,
            segments,
            active,
            reserve,
            recovery,
        } = opened;
        let mut segments = segments;
        let reserve_bytes = reserve.as_ref().map_or(0, |(_, size)| *size);
        let last = segments.pop().expect("there is one to write to");
        let by_number = |segment: Segment| (segment.of.number(), segment);
        let shared = Arc::new(Shared {
            disk,
            options: options.clone(),
            store_id: recovery.store_id,
            checks,
            store: Mutex::new(store),
            front: Mutex::new(Front {
                buffer: Buffer::default(),
                segments: segments.into_iter().map(by_number).collect(),
                tail: last.clone(),
                state: State::Ok,
                is_asleep: false,
                is_stopping: false,
                was_freed: false,
            }),
            in_flight: RwLock::new(Buffer::default()),
            files: Mutex::new(OpenFiles::default()),
            wake: Condvar::new(),
            synced: AtomicU64::new(last.of.base() + last.end),
            buffered: AtomicUsize::new(0),
            room: AtomicI64::new(i64::MAX),
            reserve_bytes: AtomicU64::new(reserve_bytes),
            waker: RwLock::new(None),
        });
        let writer = Writer::new(Arc::clone(&shared), last, active, reserve);
        // Records may be there for less room than is to be spared: it is full from the beginning.
        writer.look_for_room();
        let thread = Mutex::new(None);
        Ok((Journal { shared, thread }, writer, recovery))
    }

    /// The id of the store: random, made with it.
    pub fn store_id(&self) -> u64 {
        self.shared.store_id
    }

    /// Appends a record of a kind of at most [`limits::KIND_MAX`], its payload in parts. It is on the
    /// disk when [`Journal::synced`] has come to the [`Place::end`] of what is returned.
    ///
    /// It may be called with a lock held: it copies and does not wait. The writer begins with the
    /// first record that it finds, so what belongs together is best one record: it is there whole or
    /// not at all, and takes one sync.
    pub fn append(&self, kind: u8, parts: &[Part<'_>]) -> Result<Place, RecordTooLarge> {
        assert!(kind <= limits::KIND_MAX, "kind {kind} is the journal's own");
        let length: usize = parts.iter().map(|part| part.octets().len()).sum();
        if length > limits::RECORD_BYTES_MAX {
            return Err(RecordTooLarge { bytes: length });
        }
        let bytes = format::record_bytes(length);
        let mut front = self.shared.front.lock();
        let front = &mut *front;
        if front.tail.end + bytes + EMPTY_RECORD_BYTES > front.tail.size {
            self.shared.roll(front, length);
        }
        let tail = &mut front.tail;
        let (segment, offset) = (Arc::clone(&tail.of), tail.end);
        tail.end += bytes;
        let header = RecordHeader {
            length: length as u32,
            kind,
            position: segment.base() + offset,
            synced: 0,
        };
        if front.takes_records() {
            front.buffer.push(&segment, &header, parts);
            let shared = &self.shared;
            shared.buffered.fetch_add(bytes as usize, Ordering::Relaxed);
            shared.room.fetch_sub(bytes as i64, Ordering::Relaxed);
            self.shared.wake(front);
        }
        Ok(Place {
            segment,
            offset: offset as u32,
            length: length as u32,
        })
    }

    /// The watermark: all records that end at it or before are on the disk.
    pub fn synced(&self) -> u64 {
        self.shared.synced.load(Ordering::Acquire)
    }

    /// Sets what is called, by the writer, when the watermark has risen or the state has changed.
    pub fn set_waker(&self, waker: Waker) {
        *self.shared.waker.write() = Some(waker);
    }

    /// How it stands.
    pub fn state(&self) -> State {
        self.shared.front.lock().state.clone()
    }

    /// Octets appended and not yet written.
    pub fn buffered_bytes(&self) -> usize {
        self.shared.buffered.load(Ordering::Relaxed)
    }

    /// Whether fewer octets wait than [`Options::buffer_bytes_max`].
    pub fn has_room(&self) -> bool {
        self.buffered_bytes() < self.shared.options.buffer_bytes_max
    }

    /// Octets that can be appended now before the disk has fewer free than
    /// [`Options::spare_bytes`], as far as is known: what is appended counts at once. No bound is known
    /// where none are to be spared. With little room left the disk is asked.
    pub fn room(&self) -> u64 {
        let room = || self.shared.room.load(Ordering::Relaxed);
        if room() < limits::ROOM_ASKED_BELOW {
            self.shared.look_for_room();
        }
        u64::try_from(room()).unwrap_or(0)
    }

    /// Octets `range` of the payload of a record, written or not. They are not checked: damage that
    /// came after the journal was opened shows in [`Journal::read_record`] only.
    pub fn read(&self, place: &Place, range: Range<usize>) -> io::Result<Vec<u8>> {
        let mut octets = vec![0; range.len()];
        self.read_into(place, range.start, &mut octets)?;
        Ok(octets)
    }

    /// Fills `octets` from the payload of a record, from `start` on.
    pub fn read_into(&self, place: &Place, start: usize, octets: &mut [u8]) -> io::Result<()> {
        reading::read_into(&self.shared, place, start, octets)
    }

    /// The payload of a record, checked.
    pub fn read_record(&self, place: &Place) -> io::Result<Vec<u8>> {
        reading::read_record(&self.shared, place)
    }

    /// Hands the records of a sealed segment to `visit`, checked.
    pub fn read_segment(&self, number: u64, visit: &mut Visit<'_>) -> io::Result<()> {
        reading::read_segment(&self.shared, number, visit)
    }

    /// All segments, ascending.
    pub fn segments(&self) -> Vec<SegmentInfo> {
        let front = self.shared.front.lock();
        let info = |segment: &Segment| SegmentInfo {
            number: segment.of.number(),
            base: segment.of.base(),
            end: segment.of.base() + segment.end,
            bytes: segment.size,
            live_bytes: segment.of.live_bytes(),
            is_sealed: segment.is_sealed,
        };
        let all = front.segments.values().chain([&front.tail]);
        all.map(info).collect()
    }

    /// Counts `delta` octets of a segment as needed, or no more. Without effect when it is removed.
    pub fn count_live(&self, segment: u64, delta: i64) {
        let front = self.shared.front.lock();
        let is_tail = front.tail.of.number() == segment;
        let found = match is_tail {
            true => Some(&front.tail),
            false => front.segments.get(&segment),
        };
        if let Some(found) = found {
            found.of.count_live(delta);
        }
    }

    /// Removes sealed segments: to be called when what was copied out of them is synced, and when
    /// no record in others needs one of theirs. After a crash they are there or not, each for
    /// itself, until this has returned. Places in a segment of which octets are still counted as
    /// needed can be read as long as they are.
    pub fn remove_segments(&self, numbers: &[u64]) -> Result<(), RemoveError> {
        let shared = &*self.shared;
        let mut store = shared.store.lock();
        let segments: Vec<Arc<SegmentUse>> = {
            let front = shared.front.lock();
            let is_sealed = |number: &&u64| {
                let segment = front.segments.get(number);
                segment.is_some_and(|segment| segment.is_sealed)
            };
            if let Some(other) = numbers.iter().find(|number| !is_sealed(number)) {
                return Err(RemoveError::NotSealed(*other));
            }
            if let State::Failed(why) = &front.state {
                return Err(RemoveError::Disk(io::Error::other(why.clone())));
            }
            let all = numbers
                .iter()
                .filter_map(|number| front.segments.get(number));
            all.map(|segment| Arc::clone(&segment.of)).collect()
        };
        let mut in_use = segments.iter().filter(|segment| segment.live_bytes() > 0);
        let most = limits::REMOVED_IN_USE_MAX.saturating_sub(self.removed_in_use());
        if let Some(one_more) = in_use.nth(most) {
            return Err(RemoveError::InUse(one_more.number()));
        }
        let identity = store.identity().without(numbers);
        let identity = identity.ok_or(RemoveError::TooScattered)?;
        let noted = store
            .write(identity)
            .and_then(|()| match shared.options.plant {
                Plant::RemovedBeforeNoted => Ok(()),
                _ => store.sync(),
            });
        if let Err(error) = noted {
            // Whether the slot is on the disk is not known, nor what a later sync would mean.
            shared.set_state(State::Failed(format!("the store file: {error}")));
            return Err(RemoveError::Disk(error));
        }
        let removed = {
            let mut files = shared.files.lock();
            segments.iter().try_for_each(|segment| {
                files.forget(&*shared.disk, segment)?;
                shared.disk.remove(&format::file_name(segment.number()))
            })
        };
        let mut front = shared.front.lock();
        for number in numbers {
            front.segments.remove(number);
        }
        front.was_freed = true;
        shared.wake(&mut front);
        drop(front);
        shared.look_for_room();
        let synced = removed.and_then(|()| shared.disk.sync_directory());
        synced.map_err(RemoveError::Disk)
    }

    /// How many removed segments are still needed. They can be at most
    /// [`limits::REMOVED_IN_USE_MAX`]. The room of those that are not any more is given back.
    pub fn removed_in_use(&self) -> usize {
        self.shared.files.lock().removed_in_use()
    }

    /// Writes and syncs what was appended, says so in a mark, and ends the thread. What is appended
    /// later goes nowhere. Returns how the journal stood at the end: what could not be written,
    /// because the disk is full or failed, is lost.
    pub fn close(&self) -> State {
        {
            let mut front = self.shared.front.lock();
            front.is_stopping = true;
            self.shared.wake(&mut front);
        }
        let thread = self.thread.lock().take();
        if let Some(thread) = thread
            && thread.thread().id() != thread::current().id()
        {
            // Its end by a panic has already made the state a failed one.
            let _ = thread.join();
        }
        self.state()
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        self.close();
    }
}
