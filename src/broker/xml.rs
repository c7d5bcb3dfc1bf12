//! What the core knows of publishing to xml exchanges.
//!
//! The core reads no XML. Whoever proposes a message to an xml exchange decides which bindings of its
//! key it matches, and says so in a [`Matching`] ahead of it, with the number of the change that those
//! bindings had seen last as they were looked at. When that is not the present one, or nothing was said,
//! the command is given back with the bindings as they are now ([`super::effect::Again`]) and proposed
//! anew. Until it has come again, the later commands of its session are given back, too: so they are
//! done in their order, and each exactly once.

use std::collections::BTreeMap;

use super::command::Matching;
use super::encoding::record;
use super::exchange::Kind;
use super::ids::{ExchangeId, SessionId};
use crate::wire::{CommandId, Text};

/// See the module.
#[derive(Clone, Debug, Default, Hash)]
pub struct XmlPublishing {
    /// How many xml exchanges there are.
    exchanges: u32,
    /// Counts changes of bindings. An entry may change those of a key more than once, and give a command
    /// back between two of these.
    changes: u64,
    /// The number of the change that the bindings of a key have seen last; 0 where that is not known or
    /// there are none.
    versions: BTreeMap<(ExchangeId, Text), u64>,
    /// What was said of a session's next transfer.
    matching: BTreeMap<SessionId, Matching>,
    /// Sessions with commands that were given back and have not come again.
    given_back: BTreeMap<SessionId, GivenBack>,
}
record!(XmlPublishing {
    exchanges,
    changes,
    versions,
    matching,
    given_back
});

/// The commands of a session that were given back: those from `next` to before `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct GivenBack {
    next: CommandId,
    end: CommandId,
    /// How often `next` was given back though it was said what it matches.
    stale: u32,
}
record!(GivenBack { next, end, stale });

/// Whether it is a command's turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// It is; it was given back so often though it was said what it matches.
    Now(u32),
    /// One before it was given back and has not come again.
    Later,
}

impl XmlPublishing {
    /// Whether there is nothing that a command could have to do with.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.exchanges == 0 && self.given_back.is_empty()
    }

    /// An exchange has come.
    pub fn note_exchange(&mut self, kind: &Kind) {
        self.exchanges += u32::from(matches!(kind, Kind::Xml(_)));
    }

    /// An exchange is gone: its slot may be used again.
    pub fn forget_exchange(&mut self, id: ExchangeId, kind: &Kind) {
        if let Kind::Xml(xml) = kind {
            self.exchanges -= 1;
            for (_, binding) in xml.bindings_behind(None) {
                self.versions.remove(&(id, binding.key.clone()));
            }
        }
    }

    /// The bindings of a key have changed, or there are none any more.
    pub fn note_change(&mut self, exchange: ExchangeId, key: &str, is_bound: bool) {
        let key = (exchange, Text::from(key));
        self.changes += 1;
        match is_bound {
            true => self.versions.insert(key, self.changes),
            false => self.versions.remove(&key),
        };
    }

    /// The number of the change that the bindings of a key have seen last.
    pub fn version(&self, exchange: ExchangeId, key: &str) -> u64 {
        let version = self.versions.get(&(exchange, Text::from(key)));
        version.copied().unwrap_or(0)
    }

    /// It is said what a session's next transfer matches. What was said before is forgotten.
    pub fn note_matching(&mut self, session: SessionId, matching: Matching) {
        if self.exchanges > 0 {
            self.matching.insert(session, matching);
        }
    }

    /// What was said of this transfer.
    pub fn take_matching(&mut self, session: SessionId, command: CommandId) -> Option<Matching> {
        let matching = self.matching.remove(&session)?;
        (matching.id == command).then_some(matching)
    }

    /// Whether it is this command's turn.
    pub fn turn(&self, session: SessionId, command: CommandId) -> Turn {
        match self.given_back.get(&session) {
            None => Turn::Now(0),
            Some(given_back) if given_back.next == command => Turn::Now(given_back.stale),
            Some(_) => Turn::Later,
        }
    }

    /// Whether commands of the session are to come again.
    pub fn has_given_back(&self, session: SessionId) -> bool {
        self.given_back.contains_key(&session)
    }

    /// A command is given back; `is_stale` when it was said what it matches.
    pub fn give_back(&mut self, session: SessionId, command: CommandId, is_stale: bool) {
        let given_back = self.given_back.entry(session).or_insert(GivenBack {
            next: command,
            end: command,
            stale: 0,
        });
        if given_back.end.at_or_before(command) {
            given_back.end = command.next();
        }
        given_back.stale += u32::from(is_stale);
    }

    /// A command is being done; `next` comes behind it.
    pub fn go_on(&mut self, session: SessionId, next: CommandId) {
        let Some(given_back) = self.given_back.get_mut(&session) else {
            return;
        };
        (given_back.next, given_back.stale) = (next, 0);
        if given_back.end.at_or_before(next) {
            self.given_back.remove(&session);
        }
    }

    /// The session has ended, or has no connection.
    pub fn forget(&mut self, session: SessionId) {
        self.matching.remove(&session);
        self.given_back.remove(&session);
    }
}
