//! What brings the records to the disk.

use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use rustix::io::Errno;

use super::disk::{self, DiskFile};
use super::examination::Segment;
use super::format::{self, EMPTY_RECORD_BYTES, MARK, SEGMENT_HEADER_BYTES, SegmentHeader};
use super::journal::Shared;
use super::limits;
use super::options::{Options, Plant, SyncMode};
use super::recovery;
use super::segment::SegmentUse;
use super::state::State;

/// What brings the records to the disk: by a thread of the journal, or by whoever calls
/// [`Writer::turn`].
pub struct Writer {
    shared: Arc<Shared>,
    active: Active,
    /// What is prepared for the next segment.
    reserve: Option<Reserve>,
    /// The first run of the batch in flight that is not written.
    next_run: usize,
    /// Up to where a record or mark says that all is on the disk.
    attested: u64,
    /// Whether no segment could be made the last time.
    is_blocked: bool,
}

/// The segment that is written to.
struct Active {
    of: Arc<SegmentUse>,
    size: u64,
    file: Arc<dyn DiskFile>,
}

struct Reserve {
    file: Arc<dyn DiskFile>,
    size: u64,
}

/// What came of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Something was done; there may be more.
    Worked,
    /// There was nothing to do.
    Idle,
    /// There is no room for the next segment; what waits, if anything waits, is for that one.
    Full,
    /// The journal has failed: nothing is ever done again.
    Failed,
}

/// Why a turn ended early.
enum Halt {
    Full,
    Failed(String),
}

fn failed(what: &str) -> impl FnOnce(io::Error) -> Halt {
    move |error| Halt::Failed(format!("{what}: {error}"))
}

impl Writer {
    pub(super) fn new(
        shared: Arc<Shared>,
        last: Segment,
        file: Arc<dyn DiskFile>,
        reserve: Option<(Arc<dyn DiskFile>, u64)>,
    ) -> Writer {
        let (of, size) = (last.of, last.size);
        let synced = shared.synced.load(Ordering::Relaxed);
        let has_records = last.end > SEGMENT_HEADER_BYTES as u64;
        Writer {
            shared,
            active: Active { of, size, file },
            reserve: reserve.map(|(file, size)| Reserve { file, size }),
            next_run: 0,
            attested: if has_records { 0 } else { synced },
            is_blocked: false,
        }
    }

    /// Writes and syncs what has gathered; or, when nothing has, writes a mark or prepares the next
    /// segment, if one of these is due.
    pub fn turn(&mut self) -> Turn {
        self.turn_and(true, true)
    }

    /// The same; `seeks_room`: a segment is prepared even if there was no room the last time;
    /// `is_idle`: a mark is written if one is due.
    fn turn_and(&mut self, seeks_room: bool, is_idle: bool) -> Turn {
        if let State::Failed(_) = self.shared.front.lock().state {
            return Turn::Failed;
        }
        match self.work(seeks_room, is_idle) {
            Ok(turn) => turn,
            Err(Halt::Full) => Turn::Full,
            Err(Halt::Failed(why)) => {
                self.fail(why);
                Turn::Failed
            }
        }
    }

    fn work(&mut self, seeks_room: bool, is_idle: bool) -> Result<Turn, Halt> {
        let has_blocked_runs = !self.shared.in_flight.read().is_empty();
        let has_written = has_blocked_runs || self.take_batch();
        if has_written {
            self.write_batch(seeks_room)?;
        } else if is_idle && self.write_mark()? {
            return Ok(Turn::Worked);
        }
        // At once, so that a full disk shows while there is a whole segment left.
        if self.reserve.is_none() {
            let usual = format::segment_bytes(self.shared.options.segment_bytes, 0);
            match self.prepare(usual, seeks_room) {
                Err(Halt::Full) if has_written => {}
                prepared => prepared?,
            }
            return Ok(Turn::Worked);
        }
        if self.is_full() && seeks_room {
            self.look_for_room();
        }
        match has_written {
            true => Ok(Turn::Worked),
            false if self.is_full() => Ok(Turn::Full),
            false => Ok(Turn::Idle),
        }
    }

    fn is_full(&self) -> bool {
        matches!(self.shared.front.lock().state, State::Full(_))
    }

    /// Says how it stands, a segment having been made, or at the beginning. What is full stays so until the spare is free,
    /// and either a segment more or the segment at hand has some room: else it would be full again at
    /// once. To ask for a segment more always would leave a journal full of which all was removed.
    pub(super) fn look_for_room(&self) {
        let Options {
            spare_bytes,
            segment_bytes,
            ..
        } = self.shared.options;
        let begins_soon = self.left_at_hand() < segment_bytes / limits::LEFT_PART;
        let more = match self.is_full() && begins_soon {
            true => segment_bytes,
            false => 0,
        };
        // A disk that does not say is asked for room when a segment is made.
        let free = self.shared.look_for_room();
        let is_short = free.is_some_and(|free| free < spare_bytes + more);
        self.shared.set_state(match is_short {
            true => State::Full(format!("fewer than {spare_bytes} octets are free")),
            false => State::Ok,
        });
    }

    /// Octets that can be appended before the segment that is made ahead begins; none when it has begun.
    fn left_at_hand(&self) -> u64 {
        let front = self.shared.front.lock();
        match front.tail.of.number() == self.active.of.number() {
            true => front.tail.size.saturating_sub(front.tail.end),
            false => 0,
        }
    }

    /// Takes what has gathered. False when nothing has.
    fn take_batch(&mut self) -> bool {
        let shared = Arc::clone(&self.shared);
        let mut front = shared.front.lock();
        if front.buffer.is_empty() {
            return false;
        }
        let mut batch = shared.in_flight.write();
        std::mem::swap(&mut front.buffer, &mut *batch);
        drop(front);
        // The checks are made off the lock that appends need. Who reads a record of the batch waits.
        self.attested = match shared.options.sync {
            SyncMode::Data => shared.synced.load(Ordering::Relaxed),
            SyncMode::None => 0,
        };
        batch.finish(self.attested, &shared.checks);
        self.next_run = 0;
        true
    }

    /// Writes the batch in flight from the run that is next.
    fn write_batch(&mut self, seeks_room: bool) -> Result<(), Halt> {
        let shared = Arc::clone(&self.shared);
        let batch = shared.in_flight.read();
        let mut unsynced = None;
        while let Some(run) = batch.runs().get(self.next_run) {
            if let Some((_, size)) = &run.next
                && let Err(halt) = self.prepare(*size, seeks_room)
            {
                // What goes before the seal need not wait for the next segment.
                self.sync_and_publish(unsynced, false)?;
                return Err(halt);
            }
            let (start, end) = batch.positions(self.next_run);
            let offset = start - self.active.of.base();
            let mut slices = batch.slices(self.next_run);
            let written = self.active.file.write_vectored_at(&mut slices, offset);
            written.map_err(failed("a write"))?;
            let bytes = (end - start) as usize;
            shared.buffered.fetch_sub(bytes, Ordering::Relaxed);
            self.next_run += 1;
            unsynced = Some(end);
            if let Some((next, _)) = &run.next {
                self.sync_and_publish(unsynced.take(), true)?;
                self.attested = end;
                self.advance(next);
            }
        }
        self.sync_and_publish(unsynced, false)?;
        drop(batch);
        shared.in_flight.write().clear();
        Ok(())
    }

    /// Syncs the active segment, to where it was written, and raises the watermark.
    fn sync_and_publish(&mut self, end: Option<u64>, is_sealed: bool) -> Result<(), Halt> {
        let Some(end) = end else {
            return Ok(());
        };
        match self.shared.options.plant {
            Plant::WatermarkBeforeSync => self.publish(end, is_sealed),
            Plant::SealNotSynced if is_sealed => {
                self.publish(end, is_sealed);
                return Ok(());
            }
            _ => {}
        }
        self.sync()?;
        self.publish(end, is_sealed);
        Ok(())
    }

    fn sync(&self) -> Result<(), Halt> {
        if self.shared.options.sync == SyncMode::None {
            return Ok(());
        }
        let mut synced = self.active.file.sync_data();
        if self.shared.options.plant == Plant::SyncRetried && synced.is_err() {
            synced = self.active.file.sync_data();
        }
        synced.map_err(failed("a sync"))
    }

    /// Raises the watermark.
    fn publish(&self, end: u64, is_sealed: bool) {
        if is_sealed {
            let mut front = self.shared.front.lock();
            let number = self.active.of.number();
            if let Some(segment) = front.segments.get_mut(&number) {
                segment.is_sealed = true;
            }
        }
        self.shared.synced.store(end, Ordering::Release);
        self.shared.tell();
    }

    fn is_mark_due(&self) -> bool {
        let options = &self.shared.options;
        self.attested < self.shared.synced.load(Ordering::Relaxed)
            && options.sync == SyncMode::Data
            && options.plant != Plant::MarkLeftOut
    }

    /// Says on the disk how far it has come, when no record does: so that damage to the last records
    /// can be told from a torn tail. Needs no sync.
    fn write_mark(&mut self) -> Result<bool, Halt> {
        let shared = Arc::clone(&self.shared);
        let synced = shared.synced.load(Ordering::Relaxed);
        if !self.is_mark_due() {
            return Ok(false);
        }
        let offset = {
            let mut front = shared.front.lock();
            if !front.buffer.is_empty() {
                return Ok(false);
            }
            let offset = front.tail.end;
            if offset + 2 * EMPTY_RECORD_BYTES > front.tail.size {
                // There is no room for it. A seal says as much.
                shared.roll(&mut front, 0);
                return Ok(true);
            }
            front.tail.end += EMPTY_RECORD_BYTES;
            offset
        };
        let position = self.active.of.base() + offset;
        let mark = shared.checks.empty_record(MARK, position, synced);
        let written = disk::write_all(&*self.active.file, &mark, offset);
        written.map_err(failed("a write"))?;
        self.attested = synced;
        Ok(true)
    }

    /// Makes the next segment, of this size, unless it is there.
    fn prepare(&mut self, size: u64, seeks_room: bool) -> Result<(), Halt> {
        if self
            .reserve
            .as_ref()
            .is_some_and(|reserve| reserve.size == size)
        {
            return Ok(());
        }
        if self.is_blocked && !seeks_room {
            return Err(Halt::Full);
        }
        let header = SegmentHeader {
            store_id: self.shared.store_id,
            number: self.active.of.number() + 1,
            base: self.active.of.base() + self.active.size,
            size,
        };
        match self.make(&header) {
            Ok(file) => {
                self.reserve = Some(Reserve { file, size });
                self.shared.reserve_bytes.store(size, Ordering::Relaxed);
                self.is_blocked = false;
                self.look_for_room();
                Ok(())
            }
            Err((error, is_sync)) if !is_sync && is_for_want_of_room(&error) => {
                self.is_blocked = true;
                self.shared.set_state(State::Full(error.to_string()));
                Err(Halt::Full)
            }
            Err((error, _)) => {
                let name = format::file_name(header.number);
                Err(Halt::Failed(format!("{name} cannot be made: {error}")))
            }
        }
    }

    /// Makes the file of a segment. The error says whether it was a sync that failed.
    fn make(&mut self, header: &SegmentHeader) -> Result<Arc<dyn DiskFile>, (io::Error, bool)> {
        let plant = self.shared.options.plant;
        let disk = &*self.shared.disk;
        // One of another size goes: nothing is in it.
        drop(self.reserve.take());
        self.shared.reserve_bytes.store(0, Ordering::Relaxed);
        let file = recovery::create_segment(disk, header);
        let file = file.map_err(|error| {
            // What there is of it takes room. If it cannot be removed now, it is the next time.
            let _ = disk.remove(&format::file_name(header.number));
            (error, false)
        })?;
        if plant != Plant::ReserveNotSynced {
            file.sync_data().map_err(|error| (error, true))?;
        }
        if plant != Plant::DirectoryNotSynced {
            disk.sync_directory().map_err(|error| (error, true))?;
        }
        Ok(file)
    }

    /// Goes on in the segment prepared.
    fn advance(&mut self, segment: &Arc<SegmentUse>) {
        let reserve = self.reserve.take().expect("it was prepared");
        self.shared.reserve_bytes.store(0, Ordering::Relaxed);
        self.active = Active {
            of: Arc::clone(segment),
            size: reserve.size,
            file: reserve.file,
        };
    }

    fn fail(&mut self, why: String) {
        self.shared.set_state(State::Failed(why));
        self.shared.front.lock().buffer.clear();
        self.shared.in_flight.write().clear();
        self.shared.buffered.store(0, Ordering::Relaxed);
    }

    /// Works until nothing more can be done, and syncs the last mark.
    pub fn finish(&mut self) {
        while self.turn() == Turn::Worked {}
        let is_failed = matches!(self.shared.front.lock().state, State::Failed(_));
        if !is_failed && let Err(Halt::Failed(why)) = self.sync() {
            self.fail(why);
        }
    }
}

/// Whether it may go another time: the disk is full, or the process has too many files open.
fn is_for_want_of_room(error: &io::Error) -> bool {
    use io::ErrorKind::{QuotaExceeded, StorageFull};
    let too_many = [Errno::MFILE, Errno::NFILE].map(Errno::raw_os_error);
    let number = error.raw_os_error();
    matches!(error.kind(), StorageFull | QuotaExceeded)
        || number.is_some_and(|number| too_many.contains(&number))
}

/// Works until the journal is closed. An end by a panic makes the journal a failed one: else those
/// who wait for the watermark would wait for ever.
pub(super) fn run(writer: Writer) {
    let shared = Arc::clone(&writer.shared);
    let worked = panic::catch_unwind(AssertUnwindSafe(|| work_until_closed(writer)));
    if worked.is_err() {
        let why = "the journal's thread ended by a panic";
        shared.set_state(State::Failed(why.to_owned()));
    }
}

fn work_until_closed(mut writer: Writer) {
    let shared = Arc::clone(&writer.shared);
    let (mut next_try, mut was_freed, mut is_idle) = (Instant::now(), false, false);
    loop {
        let seeks_room = was_freed || Instant::now() >= next_try;
        let turn = writer.turn_and(seeks_room, is_idle);
        let deadline = match turn {
            Turn::Worked => {
                is_idle = false;
                continue;
            }
            Turn::Failed => return,
            Turn::Full => {
                if seeks_room {
                    next_try = Instant::now() + limits::FULL_RETRY_INTERVAL;
                }
                Some(next_try)
            }
            Turn::Idle if is_idle || !writer.is_mark_due() => None,
            // Who waited for the last sync may append at once: the mark would be in its way.
            Turn::Idle => Some(Instant::now() + limits::MARK_DELAY),
        };
        let is_blocked = !shared.in_flight.read().is_empty();
        let mut front = shared.front.lock();
        if front.is_stopping {
            break;
        }
        is_idle = false;
        let has_work = !front.buffer.is_empty() && !is_blocked || front.was_freed;
        if !has_work {
            front.is_asleep = true;
            match deadline {
                Some(deadline) => {
                    is_idle = shared.wake.wait_until(&mut front, deadline).timed_out();
                }
                None => shared.wake.wait(&mut front),
            }
            front.is_asleep = false;
        }
        was_freed = std::mem::take(&mut front.was_freed);
    }
    writer.finish();
}
