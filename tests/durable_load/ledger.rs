//! What a client did and saw, a line each, in a file that outlives everybody.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use parking_lot::Mutex;

/// Names a message for ever: which life of the broker it was sent in, by which producer, and how
/// many that one had sent before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uid {
    pub life: u32,
    pub producer: u32,
    pub number: u32,
}

impl fmt::Display for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.life, self.producer, self.number)
    }
}

impl Uid {
    /// Reads one back.
    pub fn parse(text: &str) -> Option<Uid> {
        let mut parts = text.split('.').map(|part| part.parse().ok());
        let uid = Uid {
            life: parts.next()??,
            producer: parts.next()??,
            number: parts.next()??,
        };
        parts.next().is_none().then_some(uid)
    }

    /// The body of the message: its name, and octets that follow from it, of a length that does.
    pub fn body(self) -> Vec<u8> {
        let mut body = self.to_string().into_bytes();
        body.push(b' ');
        let seed = self.life * 31 + self.producer * 7 + self.number;
        let length = match seed % 97 {
            // Beyond what the journal copies, and beyond a small file of it.
            0 => 20_000,
            1 => 150_000,
            _ => 60 + (seed * 13 % 1_500) as usize,
        };
        body.extend((body.len()..length).map(|at| (at as u32 * 31 + seed) as u8));
        body
    }

    /// The message that a body is of; None when not every octet is right.
    pub fn of_body(body: &[u8]) -> Option<Uid> {
        let end = body.iter().position(|octet| *octet == b' ')?;
        let uid = Uid::parse(std::str::from_utf8(&body[..end]).ok()?)?;
        (uid.body() == body).then_some(uid)
    }
}

/// A line of the ledger. `tx` is the transaction or branch, 0 for none; lines are numbered by it within a life.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// A message is about to be sent to a queue or exchange.
    Sent { uid: Uid, target: String, tx: u32 },
    /// Its completion came.
    Completed { uid: Uid },
    /// A message came.
    Delivered {
        uid: Uid,
        queue: String,
        redelivered: bool,
    },
    /// An accept is about to be sent.
    AcceptSent { uid: Uid, queue: String, tx: u32 },
    /// Its completion came, which for one in a transaction says nothing.
    Accepted { uid: Uid, queue: String },
    /// A commit is about to be sent.
    CommitSent { tx: u32 },
    /// Its completion came.
    Committed { tx: u32 },
    /// A rollback is about to be sent.
    RolledBack { tx: u32 },
    /// Its completion came.
    RollbackCompleted { tx: u32 },
    /// A branch is about to be prepared.
    PrepareSent { tx: u32 },
    /// It is.
    Prepared { tx: u32 },
    /// A queue is about to be declared and bound.
    DeclareSent { queue: String },
    /// Both are completed.
    Declared { queue: String },
    /// A queue is about to be deleted.
    DeleteSent { queue: String },
    /// It is.
    Deleted { queue: String },
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Line::Sent { uid, target, tx } => write!(f, "sent {uid} {target} {tx}"),
            Line::Completed { uid } => write!(f, "completed {uid}"),
            Line::Delivered {
                uid,
                queue,
                redelivered,
            } => write!(f, "delivered {uid} {queue} {redelivered}"),
            Line::AcceptSent { uid, queue, tx } => write!(f, "accept-sent {uid} {queue} {tx}"),
            Line::Accepted { uid, queue } => write!(f, "accepted {uid} {queue}"),
            Line::CommitSent { tx } => write!(f, "commit-sent {tx}"),
            Line::Committed { tx } => write!(f, "committed {tx}"),
            Line::RolledBack { tx } => write!(f, "rolled-back {tx}"),
            Line::RollbackCompleted { tx } => write!(f, "rollback-completed {tx}"),
            Line::PrepareSent { tx } => write!(f, "prepare-sent {tx}"),
            Line::Prepared { tx } => write!(f, "prepared {tx}"),
            Line::DeclareSent { queue } => write!(f, "declare-sent {queue}"),
            Line::Declared { queue } => write!(f, "declared {queue}"),
            Line::DeleteSent { queue } => write!(f, "delete-sent {queue}"),
            Line::Deleted { queue } => write!(f, "deleted {queue}"),
        }
    }
}

impl Line {
    /// Reads one back.
    pub fn parse(text: &str) -> Option<Line> {
        let words: Vec<&str> = text.split(' ').collect();
        let text = |at: usize| words.get(at).map(|word| (*word).to_owned());
        let uid = |at: usize| words.get(at).and_then(|word| Uid::parse(word));
        let number = |at: usize| words.get(at).and_then(|word| word.parse().ok());
        Some(match *words.first()? {
            "sent" => Line::Sent {
                uid: uid(1)?,
                target: text(2)?,
                tx: number(3)?,
            },
            "completed" => Line::Completed { uid: uid(1)? },
            "delivered" => Line::Delivered {
                uid: uid(1)?,
                queue: text(2)?,
                redelivered: words.get(3)?.parse().ok()?,
            },
            "accept-sent" => Line::AcceptSent {
                uid: uid(1)?,
                queue: text(2)?,
                tx: number(3)?,
            },
            "accepted" => Line::Accepted {
                uid: uid(1)?,
                queue: text(2)?,
            },
            "commit-sent" => Line::CommitSent { tx: number(1)? },
            "committed" => Line::Committed { tx: number(1)? },
            "rolled-back" => Line::RolledBack { tx: number(1)? },
            "rollback-completed" => Line::RollbackCompleted { tx: number(1)? },
            "prepare-sent" => Line::PrepareSent { tx: number(1)? },
            "prepared" => Line::Prepared { tx: number(1)? },
            "declare-sent" => Line::DeclareSent { queue: text(1)? },
            "declared" => Line::Declared { queue: text(1)? },
            "delete-sent" => Line::DeleteSent { queue: text(1)? },
            "deleted" => Line::Deleted { queue: text(1)? },
            _ => return None,
        })
    }
}

/// Where lines are written.
pub struct Ledger(Mutex<BufWriter<File>>);

impl Ledger {
    /// Appends to a file.
    pub fn append_to(path: &Path) -> io::Result<Ledger> {
        let file = OpenOptions::new().append(true).create(true).open(path)?;
        Ok(Ledger(Mutex::new(BufWriter::new(file))))
    }

    /// Writes lines, one behind the other.
    pub fn write(&self, lines: impl IntoIterator<Item = Line>) {
        let mut file = self.0.lock();
        for line in lines {
            writeln!(file, "{line}").expect("the ledger can be written");
        }
    }

    /// Hands everything to the system.
    pub fn flush(&self) {
        let flushed = self.0.lock().flush();
        flushed.expect("the ledger can be written");
    }
}

/// All lines of a file.
pub fn read(path: &Path) -> Result<Vec<Line>, String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let line = |line: &str| Line::parse(line).ok_or_else(|| format!("what is {line:?}?"));
    text.lines().map(line).collect()
}
