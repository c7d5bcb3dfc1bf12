//! Where members are found, and who has left: what this member has heard, kept in a file beside its
//! store. It is a help and no promise: without it, what `--cluster-peers` lists is tried.

use std::collections::BTreeMap;
use std::collections::VecDeque;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::broker::ids::MemberId;
use crate::cluster::limits::MEMBERS_MAX;
use crate::server::limits;
use crate::wire::Text;

/// The name of the file.
const NAME: &str = "members";

/// See the module.
#[derive(Debug, Default)]
pub struct Book {
    path: PathBuf,
    addresses: BTreeMap<MemberId, Text>,
    left: VecDeque<MemberId>,
    is_changed: bool,
}

impl Book {
    /// Reads the book in a directory; lines that make no sense are left out.
    pub fn open(directory: &Path) -> Book {
        let path = directory.join(NAME);
        let mut book = Book {
            path,
            ..Book::default()
        };
        let text = fs::read_to_string(&book.path).unwrap_or_default();
        for line in text.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let member = words
                .get(1)
                .and_then(|id| u64::from_str_radix(id, 16).ok())
                .map(MemberId);
            match (words.as_slice(), member) {
                (["at", _, address], Some(member)) => book.note(member, &Text::from(*address)),
                (["left", _], Some(member)) => book.note_left(member),
                _ => {}
            }
        }
        book.is_changed = false;
        book
    }

    /// A member is found at an address.
    pub fn note(&mut self, member: MemberId, address: &Text) {
        let is_text = !address.is_empty() && !address.contains(char::is_whitespace);
        let is_known = self.addresses.get(&member) == Some(address);
        let has_room =
            self.addresses.len() < 2 * MEMBERS_MAX || self.addresses.contains_key(&member);
        if is_text && !is_known && has_room {
            self.addresses.insert(member, address.clone());
            self.is_changed = true;
        }
    }

    /// A member takes part no more.
    pub fn note_left(&mut self, member: MemberId) {
        self.is_changed |= self.addresses.remove(&member).is_some();
        if !self.has_left(member) {
            self.left.push_back(member);
            self.is_changed = true;
        }
        while self.left.len() > limits::MEMBERS_LEFT_MAX {
            self.left.pop_front();
        }
    }

    /// A member takes part, whatever was heard before.
    pub fn note_part(&mut self, member: MemberId) {
        let before = self.left.len();
        self.left.retain(|left| *left != member);
        self.is_changed |= self.left.len() != before;
    }

    /// Whether a member took part once and does no more.
    pub fn has_left(&self, member: MemberId) -> bool {
        self.left.contains(&member)
    }

    /// Where a member is found.
    pub fn address(&self, member: MemberId) -> Option<&Text> {
        self.addresses.get(&member)
    }

    /// The members that are found at an address.
    pub fn members_at(&self, address: &str) -> Vec<MemberId> {
        let at = self.addresses.iter();
        let here = at.filter(|(_, found)| found.as_str() == address);
        here.map(|(member, _)| *member).collect()
    }

    /// Writes the file, if anything is new.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn save(&mut self) -> io::Result<()> {
        if !std::mem::take(&mut self.is_changed) {
            return Ok(());
        }
        let at = self.addresses.iter();
        let at = at.map(|(member, address)| format!("at {:016x} {address}\n", member.0));
        let left = self.left.iter();
        let left = left.map(|member| format!("left {:016x}\n", member.0));
        let text: String = at.chain(left).collect();
        let new = self.path.with_extension("new");
        let mut file = fs::File::create(&new)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&new, &self.path)
    }
}
