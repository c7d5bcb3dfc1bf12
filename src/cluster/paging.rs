//! Queues deeper than memory: bodies leave it when the queues take more than the limit.
//!
//! A message that has a home in the journal only lets go of its body. Another is written to the
//! *pages* first: a journal of its own, that is never synced and not read again after the process.
//! The messages at the front of a queue stay in memory, since they are wanted next.

use std::sync::Arc;

use super::home::{Home, JournalCell};
use super::limits;
use super::outbox::Outboxes;
use super::outbox::Woken;
use crate::broker::Core;
use crate::broker::message::{Message, RestingGauge};
use crate::broker::paging::{Candidate, Cursor};
use crate::store::{self, Journal, Part};

/// The kind of records that hold a message's content. They are in a journal of their own, which nobody
/// reads after the process: the number means nothing beside those of other journals.
const CONTENT: u8 = 4;

/// How much memory messages may take.
#[derive(Clone, Debug)]
pub struct MemoryLimit {
    /// Octets of messages in queues whose bodies are in memory.
    pub bytes_max: u64,
    /// Counts the bodies that are not.
    pub gauge: RestingGauge,
}

impl MemoryLimit {
    /// Octets of the messages in a core's queues, without the bodies that are not in memory.
    pub fn in_memory(&self, core: &Core) -> u64 {
        core.queued_bytes().saturating_sub(self.gauge.bytes())
    }

    /// Whether a core's queues take more.
    pub fn is_passed_by(&self, core: &Core) -> bool {
        self.in_memory(core) > self.bytes_max
    }
}

/// A member whose queues may be deeper than its memory.
pub trait Paged {
    /// Does something with the lock held: with what keeps the messages within the memory, if there is
    /// such, and with the core and the outboxes.
    fn with_paging<R>(&self, act: impl FnOnce(&mut Option<Paging>, &mut Core, &Outboxes) -> R)
    -> R;

    /// Says whether there is room neither in memory nor on the disk.
    fn set_memory_full(&self, is_full: bool);
}

/// What keeps a broker's messages within its memory.
pub struct Paging {
    journal: Arc<Journal>,
    cell: JournalCell,
    memory: MemoryLimit,
    cursor: Cursor,
    /// Whether anything was found since the search began at the first queue.
    has_found: bool,
    /// Whether the queues take so much that publishers have to wait.
    is_pressed: bool,
}

/// What one piece of work came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Piece {
    /// The queues are within the limit.
    Within,
    /// There is more to do at once.
    More,
    /// Nothing more can leave the memory now.
    Stuck,
}

impl std::fmt::Debug for Paging {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Paging({} octets rest)", self.memory.gauge.bytes())
    }
}

impl Paging {
    /// `pages` is a new journal; the limit is shared with whatever else lets bodies rest.
    pub fn new(pages: Journal, memory: MemoryLimit) -> Paging {
        let journal = Arc::new(pages);
        let cell = JournalCell::default();
        // It was empty until now.
        let _ = cell.set(journal.clone());
        Paging {
            journal,
            cell,
            memory,
            cursor: Cursor::default(),
            has_found: false,
            is_pressed: false,
        }
    }

    /// Whether publishers have to wait until bodies have left the memory.
    pub(super) fn is_pressed(&self) -> bool {
        self.is_pressed
    }

    /// A message without its body, which rests where it is at home, or now in the pages.
    fn rest(&self, message: &Arc<Message>) -> Option<Message> {
        if message.has_home() {
            return message.rest(&self.memory.gauge);
        }
        let content = message.shared_content();
        let place = self.journal.append(CONTENT, &[Part::Shared(&content)]);
        // Err: it is larger than a record can be, and stays in memory.
        let place = place.ok()?;
        message.set_home(Arc::new(Home::new(&self.cell, &place, 0, message, 0)));
        message.rest(&self.memory.gauge)
    }

    /// Lets the bodies of some messages go, and publishers on when that has helped or can help no more.
    fn piece(&mut self, core: &mut Core, outboxes: &Outboxes, woken: &mut Woken) -> Piece {
        let in_memory = self.memory.in_memory(core);
        let most = self.memory.bytes_max;
        let piece = match in_memory <= most {
            true => Piece::Within,
            false => self.page_out(core),
        };
        // They wait only for what gets on: neither a full disk nor headers are helped by waiting.
        let is_pressed = piece == Piece::More && in_memory > most.saturating_add(most / 4);
        let was_pressed = std::mem::replace(&mut self.is_pressed, is_pressed);
        if was_pressed && !is_pressed {
            outboxes.wake_all(woken);
        }
        piece
    }

    fn page_out(&mut self, core: &mut Core) -> Piece {
        if !self.journal.has_room() || self.journal.state() != store::State::Ok {
            return Piece::Stuck;
        }
        let mut found = Vec::new();
        let looked_at = limits::PAGED_MESSAGES_PER_PIECE;
        let was_at_start = self.cursor == Cursor::default();
        let is_end = core.page_candidates(&mut self.cursor, looked_at, &mut found);
        let has_none = found.is_empty();
        for Candidate {
            queue,
            position,
            message,
        } in found
        {
            if let Some(resting) = self.rest(&message) {
                core.replace_message(queue, position, &Arc::new(resting));
            }
        }
        self.has_found = !has_none || self.has_found && !was_at_start;
        match is_end && !std::mem::take(&mut self.has_found) {
            true => Piece::Stuck,
            false => Piece::More,
        }
    }
}

/// Lets bodies leave the memory until the queues are within the limit, or no more can. The group's
/// lock is taken for one piece after the other.
///
/// # Errors
/// Why this broker cannot go on.
pub fn round(paged: &impl Paged) -> Result<(), String> {
    loop {
        let mut woken = Woken::default();
        let piece = paged.with_paging(|paging, core, outboxes| {
            let paging = paging.as_mut()?;
            Some(paging.piece(core, outboxes, &mut woken))
        });
        woken.wake();
        match piece {
            Some(Piece::More) => {}
            Some(Piece::Stuck | Piece::Within) => break,
            None => return Ok(()),
        }
    }
    give_back(paged)
}

/// Removes the pages that nobody needs any more.
fn give_back(paged: &impl Paged) -> Result<(), String> {
    let pages = paged.with_paging(|paging, core, _| {
        let paging = paging.as_ref()?;
        let is_over = paging.memory.is_passed_by(core);
        Some((paging.journal.clone(), is_over))
    });
    let Some((pages, is_over)) = pages else {
        return Ok(());
    };
    paged.set_memory_full(is_over && matches!(pages.state(), store::State::Full(_)));
    let segments = pages.segments().into_iter();
    let unused = segments.filter(|segment| segment.is_sealed && segment.live_bytes <= 0);
    let unused: Vec<u64> = unused.map(|segment| segment.number).collect();
    if unused.is_empty() {
        return Ok(());
    }
    match pages.remove_segments(&unused) {
        Ok(()) => Ok(()),
        Err(error @ store::RemoveError::Disk(_)) => Err(error.to_string()),
        // They are removed with older ones, later.
        Err(_) => Ok(()),
    }
}

/// Logs that messages are refused, or are not any more.
pub(super) fn tell_of_memory(is_full: bool) {
    match is_full {
        true => tracing::error!(
            target: "Store",
            "No room for messages in memory and none for their bodies on the disk: all are refused \
             until there is some"
        ),
        false => tracing::warn!(target: "Store", "There is room for messages again"),
    }
}
