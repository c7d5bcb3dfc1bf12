//! `ferrymq journal begin-anew`: one member's store becomes the beginning of a new group, when the
//! stores of a majority of the members are lost for good.

use std::fmt::Display;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::clock::random;
use super::{cluster, limits, log};
use crate::broker::Core;
use crate::broker::ids::MemberId;
use crate::cluster::entry_log::{self, EntryLog, Voter};
use crate::cluster::raft::{Found, Remains};
use crate::store::RealDisk;

/// The folder that the new store is made in.
const NEW: &str = "member.new";

/// Whether a data directory is that of a member whose new beginning was interrupted, the old store being
/// set aside and the new one, which is whole, not in its place.
pub fn is_interrupted(directory: &Path) -> bool {
    directory.join(NEW).is_dir() && !cluster::is_in(directory)
}

/// Puts the new store into its place.
fn finish(directory: &Path) -> Result<(), String> {
    let store = cluster::store_in(directory);
    let put = fs::rename(directory.join(NEW), &store).and_then(|()| sync(directory));
    put.map_err(|error| format!("{}: {error}", store.display()))
}

fn sync(directory: &Path) -> std::io::Result<()> {
    File::open(directory)?.sync_all()
}

/// What the member's store has, and whether it was made the beginning of a new group.
pub struct Told {
    found: Found,
    queues: usize,
    /// The new group and its member, and where the old store is.
    begun: Option<(Voter, PathBuf)>,
}

/// Looks at the store of a member that does not run, and makes it the beginning of a new group if
/// `is_meant`.
///
/// # Errors
/// There is none, a broker has it, it cannot be read, or the new one not be written.
pub fn run(directory: &Path, is_meant: bool) -> Result<Told, String> {
    let shown = directory.display();
    if is_interrupted(directory) {
        finish(directory)?;
    }
    if !cluster::is_in(directory) {
        return Err(format!(
            "{shown}: this is not the data directory of a member of a cluster"
        ));
    }
    let log = open(&cluster::store_in(directory), None)?;
    let remains = Remains::<Core>::read(&log).map_err(|why| format!("{shown}: {why}"))?;
    // Its lock goes with it, and its folder is renamed.
    drop(log);
    let (found, queues) = (remains.found.clone(), remains.machine().queue_count());
    let begun = match is_meant {
        true => Some(begin(directory, remains)?),
        false => None,
    };
    Ok(Told {
        found,
        queues,
        begun,
    })
}

/// Opens the log of a store; a new one if an id is given.
fn open(store: &Path, id: Option<u64>) -> Result<EntryLog, String> {
    let shown = store.display();
    let disk = RealDisk::open(store).map_err(|error| error.to_string())?;
    let options = entry_log::Options::default();
    let opened = EntryLog::open(Arc::new(disk), &options, id.unwrap_or(1));
    let (log, _) = opened.map_err(|error| format!("{shown}: {error}"))?;
    Ok(log)
}

fn begin(directory: &Path, remains: Remains<Core>) -> Result<(Voter, PathBuf), String> {
    let text = |path: &Path, error: &dyn Display| format!("{}: {error}", path.display());
    let new = directory.join(NEW);
    // What an attempt before has left.
    if new.exists() {
        fs::remove_dir_all(&new).map_err(|error| text(&new, &error))?;
    }
    fs::create_dir(&new).map_err(|error| text(&new, &error))?;
    let voter = Voter {
        group: random().max(1),
        member: MemberId(random().max(1)),
    };
    let former = remains.found.voter.group;
    {
        let mut log = open(&new, Some(voter.member.0))?;
        remains.begin_anew(&mut log, voter)?;
        while log.journal().synced() < log.end() {
            if let Some(why) = log.failure() {
                return Err(text(&new, &why));
            }
            std::thread::sleep(limits::SYNC_LOOK);
        }
    }
    let old = directory.join(format!("member.of-{former:x}"));
    let store = cluster::store_in(directory);
    // The new store is there when the old one goes.
    let aside = sync(directory).and_then(|()| fs::rename(&store, &old));
    aside.map_err(|error| text(&old, &error))?;
    finish(directory)?;
    Ok((voter, old))
}

impl Told {
    /// Whether it was done.
    pub fn is_done(&self) -> bool {
        self.begun.is_some()
    }

    /// For people.
    pub fn text(&self) -> String {
        let found = &self.found;
        let members = found.configuration.voters.iter();
        let members: Vec<String> = members.map(|id| format!("{id:016x}")).collect();
        let wall = found.wall.map(log::time_text);
        let there = format!(
            "Member {:016x} of group {:016x}, whose members are {}: {} queues, the last entry is {} of term {}, \
             ordered at {}; {} is known to be in the order.",
            found.voter.member.0,
            found.voter.group,
            members.join(", "),
            self.queues,
            found.last,
            found.term,
            wall.unwrap_or_else(|| "a time that is not known".to_owned()),
            found.committed
        );
        let done = match &self.begun {
            None => {
                "Nothing was changed. With --lose-what-others-had this store becomes the beginning of a new \
                 group of this member alone. What that costs: whatever the other members confirmed and this \
                 one does not have is lost, and nobody can say what it was; what nobody was told of yet may \
                 be there. Look at the stores of all members that are left, and take the one with the \
                 highest term, and of these with the highest entry. It is of no use as long as a majority \
                 of the stores can still be brought back."
                    .to_owned()
            }
            Some((Voter { group, member }, old)) => format!(
                "It is member {:016x} of the new group {group:016x} now. The store as it was is {}. Start this \
                 broker with the options it had, then the others with empty data directories: they join. A \
                 store of the old group is refused.",
                member.0,
                old.display()
            ),
        };
        format!("{there}\n{done}")
    }

    /// For programs.
    pub fn json(&self) -> Json {
        let hex = |id: u64| format!("{id:016x}");
        let found = &self.found;
        let members = found.configuration.voters.iter();
        let begun = self.begun.as_ref().map(|(Voter { group, member }, old)| {
            json!({
                "group": hex(*group),
                "member": hex(member.0),
                "old_store": old.to_string_lossy(),
            })
        });
        json!({
            "group": hex(found.voter.group),
            "member": hex(found.voter.member.0),
            "members": members.copied().map(hex).collect::<Vec<_>>(),
            "last_entry": found.last,
            "committed_entry": found.committed,
            "term": found.term,
            "ordered_at_milliseconds": found.wall,
            "queues": self.queues,
            "begun": begun,
        })
    }
}
