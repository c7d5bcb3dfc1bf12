//! The journal of a broker that stands alone: the facts of each batch, and a core made of them.
//!
//! A record holds the wall-clock time at which it was written and the facts of one batch. Bodies of
//! messages are at home in it: when the queues hold more than the memory limit, what comes in more
//! is kept in memory without its body, which is fetched when it is delivered.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use smallvec::SmallVec;

use super::Millis;
use super::home::{Home, JournalCell};
use super::paging::MemoryLimit;
use crate::broker::encoding::{EncodingError, MessageBy};
use crate::broker::facts::{
    Dequeued, EncodedFacts, EncodedMessage, Enqueued, Fact, FactRecord, Prepared,
};
use crate::broker::held;
use crate::broker::ids::{GroupTime, QueueKey, ShardId};
use crate::broker::management::WallTime;
use crate::broker::message::Message;
use crate::broker::recovery::Contradiction;
use crate::broker::{Core, Options, Recovery};
use crate::store::{self, Disk, Journal, OpenError, Part, Place, RecordAt, State, Writer};

/// The kind of records that hold facts. Numbers of kinds are not used again.
const FACTS: u8 = 1;

/// Octets of a fact that messages have left a queue, and of each range of positions in it.
const LEFT_BYTES: u64 = 24;
const LEFT_RANGE_BYTES: u64 = 16;

/// Octets of the wall-clock time in front of the facts: milliseconds since 1970, big endian.
const STAMP_BYTES: usize = 8;

/// What a log is opened with.
#[derive(Clone, Debug)]
pub struct Opening {
    /// The id of the store if there is none yet: random.
    pub store_id: u64,
    /// The wall-clock time at `Millis(0)`, in milliseconds since 1970.
    pub wall_at_zero: u64,
    /// The time now.
    pub now: Millis,
    /// Octets of memory that messages may take, before bodies stay on the disk.
    pub memory_bytes_max: u64,
    /// What is done wrongly on purpose, to test the tests.
    #[doc(hidden)]
    pub plant: Plant,
}

/// A fault in the log or its compaction, for the tests that must find it.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Plant {
    /// All as it should be.
    #[default]
    None,
    /// A compaction forgets what was said of messages that have left.
    LeftForgotten,
    /// A compaction forgets what was said of messages that have left a queue deleted since.
    DeletedForgotten,
    /// A compaction forgets the definitions.
    DefinitionsForgotten,
    /// A compaction removes segments before the copies are on the disk.
    RemovedBeforeSynced,
    /// A compaction removes segments before what made them needless is on the disk.
    DeparturesNotSynced,
    /// A compaction asks what is needed, and appends the copy when something else may have happened.
    CopiedLate,
    /// A compaction does not tell messages where their copies are.
    HomesKept,
    /// Effects do not wait for the facts of their batch.
    EffectsNotHeld,
    /// Effects do not wait for the facts that they rest on.
    RestsNotHeld,
    /// The body of a message is looked for at a wrong offset.
    BodyElsewhere,
    /// Of a message that is routed on, its old place is not said to be left.
    OldPlaceKept,
    /// The time for which the broker was down is not counted.
    DownTimeForgotten,
    /// What is needed of a segment is not counted there.
    LiveNotCounted,
}

/// Why a core cannot be made of what is on the disk.
#[derive(Debug)]
pub enum LogError {
    /// The journal cannot be read.
    Journal(OpenError),
    /// What it says makes no sense.
    Contradiction(Contradiction),
}

impl fmt::Display for LogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LogError::Journal(error) => error.fmt(f),
            LogError::Contradiction(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for LogError {}

/// What the records of a segment bring into queues: enough to know which of them may still matter.
#[derive(Clone, Debug, Default)]
pub(super) struct Contents {
    /// The first and last position, by queue.
    pub queues: BTreeMap<QueueKey, (u64, u64)>,
    /// What they say of messages that have left, by queue.
    pub left: BTreeMap<QueueKey, LeftIn>,
}

/// What a segment says of messages that have left a queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct LeftIn {
    /// All before this position have left.
    before: u64,
    /// Ranges of positions beside that, but for those that go on where the one before ends.
    ranges: u64,
    /// The end of the range that was said last.
    range_end: u64,
    /// The first and last position of the ranges.
    first: u64,
    last: u64,
}

impl Default for LeftIn {
    fn default() -> Self {
        LeftIn {
            before: 0,
            ranges: 0,
            range_end: 0,
            first: u64::MAX,
            last: 0,
        }
    }
}

impl LeftIn {
    fn note(&mut self, fact: &Dequeued) {
        let ranges = &fact.positions.0;
        self.before = self.before.max(fact.before);
        for (first, last) in ranges {
            let goes_on = self.ranges > 0 && *first == self.range_end.saturating_add(1);
            self.ranges += u64::from(!goes_on);
            self.range_end = *last;
        }
        if let (Some((first, _)), Some((_, last))) = (ranges.first(), ranges.last()) {
            (self.first, self.last) = (self.first.min(*first), self.last.max(*last));
        }
    }

    /// Octets that a copy would take of what concerns messages at some positions, of a queue that has
    /// none before `gone_before`: however often it is said that all before a position have left, that
    /// is said once. Of the ranges only those count that can concern such messages: where messages leave
    /// out of order there are many, and neighbours in the journal meet in a few.
    fn needed_bytes<'a>(
        &self,
        gone_before: u64,
        brought: impl Iterator<Item = &'a (u64, u64)>,
    ) -> u64 {
        let before = self.before.max(gone_before);
        let first = self.first.max(before);
        let (mut needs_before, mut needed_ranges) = (false, 0_u64);
        for (from, to) in brought {
            needs_before |= *from < before;
            let (from, to) = (first.max(*from), self.last.min(*to));
            if from <= to {
                // Ranges that are apart have a position between them.
                needed_ranges = needed_ranges.saturating_add((to - from) / 2 + 1);
            }
        }
        let ranges = needed_ranges.min(self.ranges);
        match needs_before || ranges > 0 {
            true => LEFT_BYTES + ranges * LEFT_RANGE_BYTES,
            false => 0,
        }
    }
}

/// What all segments say.
#[derive(Debug, Default)]
struct Said {
    /// By number.
    contents: BTreeMap<u64, Contents>,
    /// The segment of the newest checkpoint of definitions, and the octets of its record: they are
    /// needed until there is another.
    checkpoint: Option<(u64, u64)>,
}

impl Said {
    /// A record says this.
    fn note(&mut self, place: &Place, facts: &[Fact]) {
        let segment = place.segment().number();
        let Contents { queues, left } = self.contents.entry(segment).or_default();
        for fact in facts {
            match fact {
                Fact::Enqueued(fact) => {
                    for place in &fact.places {
                        let position = place.position;
                        let range = queues.entry(place.queue);
                        let (first, last) = range.or_insert((position, position));
                        (*first, *last) = ((*first).min(position), (*last).max(position));
                    }
                }
                Fact::Prepared(branch) => {
                    let number = branch.number;
                    let range = queues.entry(QueueKey::BRANCHES);
                    let (first, last) = range.or_insert((number, number));
                    (*first, *last) = ((*first).min(number), (*last).max(number));
                }
                Fact::Dequeued(fact) => left.entry(fact.queue).or_default().note(fact),
                Fact::Definitions(_) => self.checkpoint = Some((segment, place.bytes())),
                _ => {}
            }
        }
    }
}

/// See the module.
pub struct FactLog {
    journal: Arc<Journal>,
    cell: JournalCell,
    wall_at_zero: u64,
    memory: MemoryLimit,
    said: Said,
    /// Where the last record ends; 0 before the first.
    end: u64,
    /// Messages that were read and are in no queue that is known.
    strays: u64,
    /// What was passed over.
    passed_over: u64,
    failure: Option<String>,
    plant: Plant,
}

impl fmt::Debug for FactLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FactLog({:?})", self.journal.state())
    }
}

impl FactLog {
    /// Opens the log of a store, or makes one, and the core that it tells of.
    ///
    /// # Errors
    /// The journal cannot be read, or what it says makes no sense. Nothing on the disk was changed.
    pub fn open(
        disk: Arc<dyn Disk>,
        journal: &store::Options,
        options: Options,
        opening: &Opening,
    ) -> Result<(FactLog, Core, store::Recovery), LogError> {
        let mut reading = Reading::new(options, opening);
        let opened = Journal::open(disk, journal, opening.store_id, &mut |at, octets| {
            reading.take(&at, octets)
        });
        let (journal, found) = opened.map_err(LogError::Journal)?;
        let (log, core) = reading.finish((journal, &found), opening)?;
        Ok((log, core, found))
    }

    /// The same, but what is written is brought to the disk by whoever calls [`Writer::turn`].
    ///
    /// # Errors
    /// As for [`FactLog::open`].
    pub fn open_without_thread(
        disk: Arc<dyn Disk>,
        journal: &store::Options,
        options: Options,
        opening: &Opening,
    ) -> Result<(FactLog, Core, Writer, store::Recovery), LogError> {
        let mut reading = Reading::new(options, opening);
        let id = opening.store_id;
        let opened = Journal::open_without_thread(disk, journal, id, &mut |at, octets| {
            reading.take(&at, octets)
        });
        let (journal, writer, found) = opened.map_err(LogError::Journal)?;
        let (log, core) = reading.finish((journal, &found), opening)?;
        Ok((log, core, writer, found))
    }

    /// The journal.
    pub fn journal(&self) -> &Arc<Journal> {
        &self.journal
    }

    /// Why nothing can be written any more.
    pub fn failure(&self) -> Option<String> {
        if let Some(failure) = &self.failure {
            return Some(failure.clone());
        }
        match self.journal.state() {
            State::Failed(why) => Some(format!("the journal has failed: {why}")),
            State::Ok | State::Full(_) => None,
        }
    }

    /// What is done wrongly on purpose.
    pub(super) fn plant(&self) -> Plant {
        self.plant
    }

    /// How much memory messages may take.
    pub fn memory(&self) -> &MemoryLimit {
        &self.memory
    }

    /// What the segments say, by number.
    pub(super) fn contents(&self) -> &BTreeMap<u64, Contents> {
        &self.said.contents
    }

    /// Messages that were read and are in no queue that is known.
    pub fn strays(&self) -> u64 {
        self.strays
    }

    /// How often a record spoke of what a repair had set aside, and was passed over.
    pub fn passed_over(&self) -> u64 {
        self.passed_over
    }

    /// Octets that a copy would take of what a segment says of definitions, and of messages that have
    /// left and that an older segment brings.
    pub(super) fn said_bytes(&self, segment: u64, core: &Core) -> u64 {
        let of_it = self
            .said
            .checkpoint
            .filter(|(number, _)| *number == segment);
        let definitions = of_it.map_or(0, |(_, bytes)| bytes);
        let contents = &self.said.contents;
        let left = contents.get(&segment).into_iter().flat_map(|at| &at.left);
        let needed = left.map(|(queue, left)| {
            let older = contents.range(..segment);
            let brought = older.filter_map(|(_, older)| older.queues.get(queue));
            left.needed_bytes(core.gone_before(*queue).unwrap_or(0), brought)
        });
        definitions + needed.sum::<u64>()
    }

    /// The segment of the newest checkpoint of definitions: what older ones say of definitions does
    /// not count any more.
    pub(super) fn checkpoint_segment(&self) -> u64 {
        self.said.checkpoint.map_or(0, |(segment, _)| segment)
    }

    /// A segment has been removed.
    pub(super) fn forget(&mut self, segment: u64) {
        self.said.contents.remove(&segment);
    }

    /// Writes what a batch, or a compaction, decided, with the group time that it is at `now`. It is on
    /// the disk when the journal is synced to the position given; that is never when it cannot be
    /// written. Bodies leave the memory when the queues take too much of it.
    pub fn write(
        &mut self,
        (now, time): (Millis, GroupTime),
        core: &mut Core,
        mut facts: Vec<Fact>,
    ) -> u64 {
        let comes = |fact: &Fact| matches!(fact, Fact::Enqueued(_));
        if self.plant == Plant::OldPlaceKept && facts.iter().any(comes) {
            facts.retain(|fact| !matches!(fact, Fact::Dequeued(_)));
        }
        self.end = self.write_record((now, time), core, facts);
        self.end
    }

    /// Where all that was written ends: when the journal is synced to it, all is on the disk.
    pub fn end(&self) -> u64 {
        self.end
    }

    fn write_record(
        &mut self,
        (now, time): (Millis, GroupTime),
        core: &mut Core,
        facts: Vec<Fact>,
    ) -> u64 {
        let mut record = FactRecord {
            index: core.index(),
            time,
            facts,
        };
        match self.append(now, &mut record) {
            Ok((place, encoded)) => {
                self.settle_homes(core, &record, &place, &encoded);
                place.end()
            }
            Err(why) => {
                self.failure.get_or_insert(why);
                u64::MAX
            }
        }
    }

    fn append(
        &mut self,
        now: Millis,
        record: &mut FactRecord,
    ) -> Result<(Place, EncodedFacts), String> {
        for fact in &mut record.facts {
            for message in fact.messages_mut() {
                *message = message.fetch()?;
            }
        }
        let encoded = record.encode_sharing();
        let stamp = self.wall_at_zero.saturating_add(now.0).to_be_bytes();
        let mut parts = Vec::with_capacity(2 + 2 * encoded.shared.len());
        parts.push(Part::Octets(&stamp));
        let mut from = 0;
        for (before, run) in &encoded.shared {
            let octets = encoded.octets.get(from..*before);
            parts.push(Part::Octets(octets.unwrap_or_default()));
            parts.push(Part::Shared(run));
            from = *before;
        }
        let octets = encoded.octets.get(from..);
        parts.push(Part::Octets(octets.unwrap_or_default()));
        let place = self.journal.append(FACTS, &parts);
        let place = place.map_err(|error| error.to_string())?;
        self.said.note(&place, &record.facts);
        Ok((place, encoded))
    }

    /// Tells the messages where they are at home now.
    fn settle_homes(
        &mut self,
        core: &mut Core,
        record: &FactRecord,
        place: &Place,
        encoded: &EncodedFacts,
    ) {
        let is_over = self.memory.is_passed_by(core);
        let start = match self.plant {
            Plant::BodyElsewhere => 0,
            _ => STAMP_BYTES,
        };
        let mut contents = encoded.contents.iter();
        for fact in &record.facts {
            let messages = fact.messages().zip(&mut contents);
            let homes = messages.map(|((message, places), at)| {
                let home = Home::new(&self.cell, place, start + at, message, places);
                if self.plant == Plant::LiveNotCounted {
                    home.count_no_more();
                }
                Arc::new(home)
            });
            let homes: SmallVec<[Arc<Home>; 1]> = homes.collect();
            match fact {
                Fact::Enqueued(fact) => {
                    for home in homes {
                        self.settle_home(core, fact, home, is_over);
                    }
                }
                Fact::Prepared(branch) => self.settle_homes_in_branch(core, branch, homes),
                _ => {}
            }
        }
    }

    /// The same for the messages that a prepared branch publishes. Their bodies stay in memory:
    /// branches have a bound of their own.
    fn settle_homes_in_branch(
        &self,
        core: &Core,
        branch: &Prepared,
        homes: SmallVec<[Arc<Home>; 1]>,
    ) {
        let held: BTreeMap<_, _> = core.messages_of_branch(branch.number).collect();
        for (publish, home) in branch.publishes.iter().zip(homes) {
            publish.message.set_home(home.clone());
            if let Some(held) = held.get(&publish.handle)
                && !Arc::ptr_eq(held, &publish.message)
                && self.plant != Plant::HomesKept
            {
                held.set_home(home);
            }
        }
    }

    /// The message of a fact may be another in memory than the one that was written: a compaction
    /// reads it from the disk.
    fn settle_home(&self, core: &mut Core, fact: &Enqueued, home: Arc<Home>, is_over: bool) {
        fact.message.set_home(home.clone());
        let resting = match is_over && held::is_worth_paging(&fact.message) {
            true => fact.message.rest(),
            false => None,
        };
        for place in &fact.places {
            let Some(held) = core.message_at(place.queue, place.position) else {
                continue;
            };
            if !Arc::ptr_eq(held, &fact.message) && self.plant != Plant::HomesKept {
                held.set_home(home.clone());
            }
            if let Some(resting) = &resting
                && held.body().is_some()
                && let Some(queue) = core.queue_of(place.queue)
            {
                core.replace_message(queue, place.position, resting);
            }
        }
    }
}

/// A log while it is read.
struct Reading {
    recovery: Recovery,
    cell: JournalCell,
    memory_bytes_left: u64,
    last_wall: Option<u64>,
    said: Said,
}

impl Reading {
    fn new(options: Options, opening: &Opening) -> Reading {
        Reading {
            recovery: Recovery::new(ShardId::default(), options),
            cell: JournalCell::default(),
            memory_bytes_left: opening.memory_bytes_max,
            last_wall: None,
            said: Said::default(),
        }
    }

    /// The log, all of its records having been read, and the core that it tells of. Where something
    /// was passed over a checkpoint says what there is, so that the next start need not.
    fn finish(
        mut self,
        (journal, found): (Journal, &store::Recovery),
        opening: &Opening,
    ) -> Result<(FactLog, Core), LogError> {
        let journal = Arc::new(journal);
        // It was empty until now.
        let _ = self.cell.set(journal.clone());
        let wall = opening.wall_at_zero.saturating_add(opening.now.0);
        let last_wall = match opening.plant {
            Plant::DownTimeForgotten => None,
            _ => self.last_wall,
        };
        let elapsed = last_wall.map_or(0, |last| wall.saturating_sub(last));
        let passed_over = match found.gaps {
            0 => 0,
            _ => self.recovery.pass_over(),
        };
        let strays = self.recovery.stray_count();
        let core = self.recovery.finish(elapsed);
        let mut core = core.map_err(LogError::Contradiction)?;
        core.set_wall(WallTime(wall));
        let mut log = FactLog {
            journal,
            cell: self.cell,
            wall_at_zero: opening.wall_at_zero,
            memory: MemoryLimit {
                bytes_max: opening.memory_bytes_max,
            },
            said: self.said,
            end: 0,
            strays,
            passed_over,
            failure: None,
            plant: opening.plant,
        };
        if passed_over > 0 {
            let (time, facts) = (core.time(), core.definitions().facts);
            log.write((opening.now, time), &mut core, facts);
        }
        Ok((log, core))
    }

    fn take(&mut self, at: &RecordAt, octets: &[u8]) -> Result<(), String> {
        let Reading {
            recovery,
            cell,
            memory_bytes_left,
            ..
        } = self;
        let mut make = |encoded: &EncodedMessage<'_>| -> Result<Arc<Message>, EncodingError> {
            let message = encoded.message()?;
            let content_at = STAMP_BYTES + encoded.header_at;
            let home = Home::new(cell, &at.place, content_at, &message, encoded.places);
            message.set_home(Arc::new(home));
            let entries = encoded.places as u64 * held::ENTRY_BYTES;
            let bytes = held::message_bytes(&message).saturating_add(entries);
            let message = match bytes <= *memory_bytes_left {
                false if held::is_worth_paging(&message) => message.rest().unwrap_or(message),
                _ => message,
            };
            let bytes = held::message_bytes(&message).saturating_add(entries);
            *memory_bytes_left = memory_bytes_left.saturating_sub(bytes);
            Ok(message)
        };
        let (wall, record) = record_of(at, octets, Some(&mut make))?;
        self.last_wall = self.last_wall.max(Some(wall));
        self.said.note(&at.place, &record.facts);
        recovery.take_record(record);
        Ok(())
    }
}

/// The wall-clock time at which a record was written, and its facts; `make` makes the messages, None
/// of what stands there.
fn record_of<'a>(
    at: &RecordAt,
    octets: &'a [u8],
    make: Option<MessageBy<'a>>,
) -> Result<(u64, FactRecord), String> {
    if at.kind != FACTS {
        return Err(format!("a record of the unknown kind {}", at.kind));
    }
    let Some((stamp, facts)) = octets.split_first_chunk::<STAMP_BYTES>() else {
        return Err(format!("{} octets are no record of facts", octets.len()));
    };
    let record = FactRecord::decode_with(facts, make).map_err(|error| error.to_string())?;
    Ok((u64::from_be_bytes(*stamp), record))
}

/// The facts of a record that is read back.
///
/// # Errors
/// What cannot be read of it.
pub(super) fn facts_of(at: &RecordAt, octets: &[u8]) -> Result<FactRecord, String> {
    record_of(at, octets, None).map(|(_, record)| record)
}
