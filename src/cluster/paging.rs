//! Queues deeper than memory: bodies leave it when the queues take more than the limit.
//!
//! A message that has a home in the journal only lets go of its body. Another is written to the
//! *pages* first: a journal of its own, that is never synced and not read again after the process.
//! The messages at the front of a queue stay in memory, since they are wanted next.
//!
//! What has come since the last look is looked at once. What could not leave then is looked at again
//! in a walk over all messages, when nothing else helps, and more and more rarely while that does not
//! help either. When nothing more can leave and the queues still take too much, because headers and
//! what a queue needs for a message do, all messages are refused.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::home::{Home, JournalCell};
use super::limits;
use super::outbox::{Outboxes, Woken};
use crate::broker::Core;
use crate::broker::message::Message;
use crate::broker::paging::{Candidate, Cursor};
use crate::store::{self, Journal, Part, RemoveError, SegmentInfo};

/// The kind of records that hold a message's content. They are in a journal of their own, which nobody
/// reads after the process: the number means nothing beside those of other journals.
const CONTENT: u8 = 4;

/// How much memory messages may take.
#[derive(Clone, Copy, Debug)]
pub struct MemoryLimit {
    /// Octets of what messages in queues take of it: see [`Core::held_bytes`].
    pub bytes_max: u64,
}

impl MemoryLimit {
    /// Whether a core's queues take more.
    pub fn is_passed_by(&self, core: &Core) -> bool {
        core.held_bytes() > self.bytes_max
    }

    /// Beyond this messages are refused if nothing can leave the memory.
    fn refused_beyond(&self) -> u64 {
        self.bytes_max.max(limits::MEMORY_REFUSED_BYTES_MIN)
    }
}

/// Where pages are written.
#[derive(Clone)]
struct Pages {
    journal: Arc<Journal>,
    cell: JournalCell,
}

impl Pages {
    /// A new home for a message whose body is in memory. None: it is larger than a record can be.
    fn home(&self, message: &Arc<Message>) -> Option<Arc<Home>> {
        let content = message.shared_content();
        let place = self.journal.append(CONTENT, &[Part::Shared(&content)]);
        let place = place.ok()?;
        Some(Arc::new(Home::page(&self.cell, &place, message)))
    }

    /// Writes a message anew that is in one of some segments, or forgets that it is there when its
    /// body is in memory, too. The segments in which it had to stay are noted.
    fn move_out(&self, message: &Arc<Message>, stays: &mut BTreeSet<u64>) {
        let Some(page) = message.page() else {
            return;
        };
        if !message.is_resting() {
            return message.move_from_page(page, None);
        }
        // Err: whoever wants it is told.
        let home = message.fetch().ok().and_then(|whole| self.home(&whole));
        match home {
            Some(home) => message.move_from_page(page, Some(home)),
            None => _ = stays.insert(page),
        }
    }
}

/// Pages that are being written anew, out of segments of which little is needed.
#[derive(Debug, Default)]
struct Moving {
    victims: BTreeSet<u64>,
    cursor: Cursor,
}

/// A member whose queues may be deeper than its memory.
pub trait Paged {
    /// Does something with the lock held: with what keeps the messages within the memory, and with the
    /// core and the outboxes. None when nothing is paged.
    fn with_paging<R>(&self, act: impl FnOnce(&mut Paging, &mut Core, &Outboxes) -> R)
    -> Option<R>;

    /// Says whether all messages are refused.
    fn set_memory_full(&self, is_full: bool);
}

/// What keeps a broker's messages within its memory.
pub struct Paging {
    pages: Pages,
    memory: MemoryLimit,
    /// Where a walk over all messages goes on, while there is one.
    walk: Option<Cursor>,
    /// Pieces of this walk, and messages that have left the memory in it.
    walked: (usize, usize),
    /// Looks from one walk to the next, and how many are left until then.
    looks_per_walk: u32,
    looks_left: u32,
    /// Whether the last walk, and all since, could let nothing more go.
    is_stuck: bool,
    /// Whether the queues take so much that publishers have to wait.
    is_pressed: bool,
    /// Whether messages are refused.
    is_full: bool,
    moving: Option<Moving>,
    /// Segments with pages that cannot be moved.
    stays: BTreeSet<u64>,
    /// Whether the pages lie so scattered that segments cannot be removed.
    is_scattered: bool,
}

/// What one piece of work came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Piece {
    /// There is more to do at once.
    More,
    /// There is nothing to do, or nothing that can be done now.
    Done,
}

impl std::fmt::Debug for Paging {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Paging({:?})", self.memory)
    }
}

impl Paging {
    /// `journal` is a new one, for pages.
    pub fn new(journal: Journal, memory: MemoryLimit) -> Paging {
        let journal = Arc::new(journal);
        let cell = JournalCell::default();
        // It was empty until now.
        let _ = cell.set(journal.clone());
        Paging {
            pages: Pages { journal, cell },
            memory,
            walk: None,
            walked: (0, 0),
            looks_per_walk: 0,
            looks_left: 0,
            is_stuck: false,
            is_pressed: false,
            is_full: false,
            moving: None,
            stays: BTreeSet::new(),
            is_scattered: false,
        }
    }

    /// Whether publishers have to wait until bodies have left the memory.
    pub(super) fn is_pressed(&self) -> bool {
        self.is_pressed
    }

    /// A message without its body, which rests where it is at home, or now in the pages. None when it
    /// has to stay in memory.
    fn rest(&self, message: &Arc<Message>) -> Option<Arc<Message>> {
        if !message.has_home() {
            let has_room = self.pages.journal.state() == store::State::Ok;
            let home = has_room.then(|| self.pages.home(message))??;
            message.set_home(home);
        }
        message.rest()
    }

    /// Lets the bodies of some messages go, and publishers on when that has helped or can help no more.
    fn piece(&mut self, core: &mut Core, outboxes: &Outboxes, woken: &mut Woken) -> Piece {
        let piece = match self.memory.is_passed_by(core) {
            true => self.page_out(core),
            false => self.within(),
        };
        let held = core.held_bytes();
        let most = self.memory.bytes_max;
        // They wait only for what gets on: neither a full disk nor headers are helped by waiting.
        let is_pressed = piece == Piece::More && held > most.saturating_add(most / 16);
        let was_pressed = std::mem::replace(&mut self.is_pressed, is_pressed);
        if was_pressed && !is_pressed {
            outboxes.wake_all(woken);
        }
        // Once full, some room is to be there again, or every message that leaves lets one in.
        let beyond = self.memory.refused_beyond();
        let beyond = beyond - if self.is_full { beyond / 16 } else { 0 };
        self.is_full = self.is_stuck && held > beyond;
        piece
    }

    fn within(&mut self) -> Piece {
        (self.walk, self.is_stuck) = (None, self.is_full);
        Piece::Done
    }

    fn page_out(&mut self, core: &mut Core) -> Piece {
        if !self.pages.journal.has_room() {
            return Piece::Done;
        }
        let (most, mut found) = (limits::PAGED_MESSAGES_PER_PIECE, Vec::new());
        let is_end = match &mut self.walk {
            Some(cursor) => core.page_any(cursor, most, &mut found),
            None => core.page_new(most, &mut found),
        };
        for Candidate {
            queue,
            position,
            message,
        } in found
        {
            if let Some(resting) = self.rest(&message) {
                core.replace_message(queue, position, &resting);
                self.walked.1 += 1;
                self.is_stuck = false;
            }
        }
        self.walked.0 += 1;
        match (is_end, self.walk) {
            (false, _) => Piece::More,
            (true, None) if self.looks_left == 0 => {
                (self.walk, self.walked) = (Some(Cursor::default()), (0, 0));
                Piece::More
            }
            (true, None) => Piece::Done,
            (true, Some(_)) => {
                self.walk = None;
                let (pieces, rested) = self.walked;
                self.is_stuck = rested == 0;
                // A piece is worth it when some of its messages are.
                self.looks_per_walk = match rested >= pieces * limits::RESTED_PER_PIECE_MIN {
                    true => 1,
                    false => (self.looks_per_walk * 2).clamp(1, limits::LOOKS_PER_WALK_MAX),
                };
                self.looks_left = self.looks_per_walk;
                Piece::Done
            }
        }
    }

    /// The segments that are to be emptied, if there are so many that it is worth a walk over all
    /// messages.
    fn victims(&mut self) -> BTreeSet<u64> {
        let segments = self.pages.journal.segments();
        let needed = |segment: &SegmentInfo| u64::try_from(segment.live_bytes).unwrap_or(0);
        self.stays
            .retain(|number| segments.iter().any(|segment| segment.number == *number));
        let sealed = segments.iter().filter(|segment| {
            segment.is_sealed && needed(segment) > 0 && !self.stays.contains(&segment.number)
        });
        if std::mem::take(&mut self.is_scattered) {
            // Where the oldest go there are no gaps any more.
            let half = segments.len() / 2;
            return sealed.take(half).map(|segment| segment.number).collect();
        }
        let taken: u64 = segments.iter().map(|segment| segment.bytes).sum();
        let live: u64 = segments.iter().map(needed).sum();
        let of_one = segments.iter().map(|segment| segment.bytes).max();
        let spare = of_one
            .unwrap_or(0)
            .saturating_mul(limits::PAGES_SPARE_SEGMENTS);
        if taken <= live.saturating_mul(2).saturating_add(spare) {
            return BTreeSet::new();
        }
        // On a full disk what is written anew has the one segment that is made ahead.
        let mut room = match self.pages.journal.state() {
            store::State::Full(_) => of_one.unwrap_or(0) / 2,
            _ => u64::MAX,
        };
        let sparse = sealed.filter(|segment| needed(segment) <= segment.bytes / 2);
        let few = sparse.take_while(|segment| {
            let is_enough = needed(segment) <= room;
            room = room.saturating_sub(needed(segment));
            is_enough
        });
        few.map(|segment| segment.number).collect()
    }

    /// Messages that are to be written anew, out of a piece of the walk for that. None when there is
    /// nothing to be done now.
    fn next_moved(&mut self, core: &Core) -> Option<Vec<Arc<Message>>> {
        if !self.pages.journal.has_room() {
            return None;
        }
        if self.moving.is_none() {
            let victims = self.victims();
            self.moving = (!victims.is_empty()).then(|| Moving {
                victims,
                cursor: Cursor::default(),
            });
        }
        let Moving { victims, cursor } = self.moving.as_mut()?;
        let mut found = Vec::new();
        let most = limits::PAGED_MESSAGES_PER_PIECE;
        let is_victim = |page: u64| victims.contains(&page);
        if core.paged_in(cursor, most, is_victim, &mut found) {
            self.moving = None;
        }
        Some(found)
    }
}

/// Lets bodies leave the memory until the queues are within the limit, or no more can, and gives back
/// pages that are not needed. The group's lock is taken for one piece after the other. It does not
/// wait for the pages to be written. Gives how many pieces there were, of some hundred messages each.
///
/// # Errors
/// Why this broker cannot go on.
pub fn round(paged: &impl Paged) -> Result<usize, String> {
    let is_paging = paged.with_paging(|paging, _, _| {
        paging.looks_left = paging.looks_left.saturating_sub(1);
    });
    if is_paging.is_none() {
        return Ok(0);
    }
    let mut pieces = 0;
    loop {
        pieces += 1;
        let mut woken = Woken::default();
        let piece =
            paged.with_paging(|paging, core, outboxes| paging.piece(core, outboxes, &mut woken));
        woken.wake();
        if piece != Some(Piece::More) {
            break;
        }
    }
    let is_full = paged.with_paging(|paging, _, _| paging.is_full);
    paged.set_memory_full(is_full.unwrap_or(false));
    give_back(paged)?;
    Ok(pieces + move_pages(paged))
}

/// Writes pages anew of which little is needed, so that their segments can be removed. Gives how many
/// pieces of that were done.
fn move_pages(paged: &impl Paged) -> usize {
    for pieces in 0..limits::MOVED_PIECES_PER_LOOK {
        let found = paged
            .with_paging(|paging, core, _| Some((paging.next_moved(core)?, paging.pages.clone())));
        let Some((found, journal)) = found.flatten() else {
            return pieces;
        };
        // It reads from the disk: without the lock.
        let mut stays = BTreeSet::new();
        for message in found {
            journal.move_out(&message, &mut stays);
        }
        if !stays.is_empty() {
            paged.with_paging(|paging, _, _| paging.stays.append(&mut stays));
        }
    }
    limits::MOVED_PIECES_PER_LOOK
}

/// Removes the pages that nobody needs any more.
fn give_back(paged: &impl Paged) -> Result<(), String> {
    let pages = paged.with_paging(|paging, _, _| paging.pages.journal.clone());
    let Some(pages) = pages else { return Ok(()) };
    let segments = pages.segments().into_iter();
    let unused = segments.filter(|segment| segment.is_sealed && segment.live_bytes <= 0);
    let unused: Vec<u64> = unused.map(|segment| segment.number).collect();
    if unused.is_empty() {
        return Ok(());
    }
    match pages.remove_segments(&unused) {
        Ok(()) => Ok(()),
        Err(error @ RemoveError::Disk(_)) => Err(error.to_string()),
        Err(RemoveError::TooScattered) => {
            paged.with_paging(|paging, _, _| paging.is_scattered = true);
            Ok(())
        }
        // They are removed later.
        Err(_) => Ok(()),
    }
}

/// Logs that messages are refused, or are not any more.
pub(super) fn tell_of_memory(is_full: bool) {
    match is_full {
        true => tracing::error!(
            target: "Store",
            "Messages take the memory that they may have (--memory-limit), and no more of them can go to \
             the disk: all are refused until there is room"
        ),
        false => tracing::warn!(target: "Store", "There is room for messages again"),
    }
}
