//! Where the bodies of messages are on a disk.

use std::fmt;
use std::sync::{Arc, OnceLock};

use crate::broker::message::{Message, Rest};
use crate::store::{Journal, Place};

/// A journal, known to the homes in it before it is open.
pub(super) type JournalCell = Arc<OnceLock<Arc<Journal>>>;

/// Where the body of a message is in a journal. As long as this lives the message's octets count
/// as needed there.
pub(super) struct Home {
    journal: JournalCell,
    place: Place,
    /// Where in the record's payload the body begins: a record's length is a `u32`.
    at: u32,
    bytes: u32,
    counted: i64,
    /// Whether the journal is the pages.
    is_page: bool,
}

/// Octets that a record has for each place of a message: queue, position and time. A small message
/// in many queues is mostly these.
const PLACE_BYTES: i64 = 24;

impl Home {
    /// The home of a message whose content begins at `content_at` of the record's payload.
    pub(super) fn new(
        journal: &JournalCell,
        place: &Place,
        content_at: usize,
        message: &Message,
        places: usize,
    ) -> Home {
        let places = i64::try_from(places).unwrap_or(i64::MAX / PLACE_BYTES);
        let counted = message.size() as i64 + places * PLACE_BYTES;
        place.segment().count_live(counted);
        Home {
            journal: journal.clone(),
            place: place.clone(),
            at: (content_at + message.header().len()) as u32,
            bytes: message.body_bytes() as u32,
            counted,
            is_page: false,
        }
    }

    /// The home in the pages of a message whose content is a record.
    pub(super) fn page(pages: &JournalCell, place: &Place, message: &Message) -> Home {
        let mut home = Home::new(pages, place, 0, message, 0);
        home.is_page = true;
        home
    }

    /// What [`super::fact_log::Plant::LiveNotCounted`] does.
    pub(super) fn count_no_more(&self) {
        self.place.segment().count_live(-self.counted);
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        self.place.segment().count_live(-self.counted);
    }
}

impl fmt::Debug for Home {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}+{}", self.place, self.at)
    }
}

impl Rest for Home {
    fn body(&self) -> Result<Vec<u8>, String> {
        let journal = self.journal.get().ok_or("the journal is not open yet")?;
        let range = self.at as usize..self.at as usize + self.bytes as usize;
        let read = journal.read(&self.place, range);
        read.map_err(|error| format!("a body cannot be read: {error}"))
    }

    fn place(&self) -> String {
        let folder = match self.is_page {
            true => "pages/journal",
            false => "journal",
        };
        let offset = u64::from(self.place.offset());
        format!("{folder}/{} at offset {offset}", self.place.file())
    }

    fn page(&self) -> Option<u64> {
        self.is_page.then(|| self.place.segment().number())
    }
}
