//! The level at which a broker runs: what all versions that take part in it can do.
//!
//! A new version of the broker that does something otherwise, or writes a snapshot in another format, does
//! so from a new level on. Members of two versions run together at the level that both know, and the
//! older one can come back; once all members know the new level an operator raises it, and from then on
//! a version that does not know it is not let in and does not start. So nothing of a new level may be
//! in an entry or a snapshot before the level is raised: whoever proposes looks at
//! [`Core::level`] first, and snapshots are written in the format of the
//! level, by which they are marked.

use std::collections::{BTreeMap, BTreeSet};

use super::core::Core;
use super::encoding::{Decoder, Encoder, EncodingError, Record, record};
use super::ids::MemberId;
use super::plant::{Plant, is_planted};

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Level(u8);

impl Level {
    /// The lowest: that of every new group, until its members have said what they know.
    pub const FIRST: Level = Level(3);

    /// The highest that this version knows.
    pub fn most() -> Level {
        // A version that is still to come, as far as the others can see.
        match is_planted(Plant::KnowsNextLevel) {
            true => Level(Level::FIRST.0 + 1),
            false => Level::FIRST,
        }
    }

    /// The level of this number, if this version knows it.
    pub fn known(number: u8) -> Option<Level> {
        let levels = Levels::known();
        Some(Level(number)).filter(|level| levels.holds(*level))
    }

    /// Its number: the format of the snapshots that are written at it.
    pub fn number(self) -> u8 {
        self.0
    }
}

impl std::fmt::Display for Level {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl Record for Level {
    fn encode(&self, to: &mut Encoder) {
        self.0.encode(to);
    }

    /// Fails where an entry raises the level to one that this version does not know: it must not go on.
    fn decode(from: &mut Decoder<'_>) -> Result<Self, EncodingError> {
        let number = u8::decode(from)?;
        let unknown = from.error("a level that another version of the broker knows");
        Level::known(number).ok_or(unknown)
    }
}

/// The levels that a version can run at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Levels {
    /// The lowest.
    least: u8,
    /// The highest.
    most: u8,
}
record!(Levels { least, most } if least <= most, else "levels");

impl Levels {
    /// Those of this version.
    pub fn known() -> Levels {
        Levels {
            least: Level::FIRST.0,
            most: Level::most().0,
        }
    }

    /// The lowest and the highest, by number.
    pub fn numbers(self) -> (u8, u8) {
        (self.least, self.most)
    }

    /// Whether a level is among them.
    pub fn holds(self, level: Level) -> bool {
        (self.least..=self.most).contains(&level.0)
    }
}

impl std::fmt::Display for Levels {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.least == self.most {
            true => write!(f, "level {}", self.most),
            false => write!(f, "levels {} to {}", self.least, self.most),
        }
    }
}

/// The levels that members know, as far as they have said so.
pub type LevelsOf = BTreeMap<MemberId, Levels>;

/// What whoever leads has to say of the levels that those know who take part: what was said, and what
/// those have said since that it has met. None: nothing. The first that is said of a new group is whole,
/// as it decides where that begins.
pub fn news(said: &LevelsOf, met: &LevelsOf, parts: &BTreeSet<MemberId>) -> Option<LevelsOf> {
    let mut levels = said.clone();
    levels.extend(met);
    levels.retain(|member, _| parts.contains(member));
    let is_enough = !said.is_empty() || levels.len() == parts.len();
    (is_enough && levels != *said).then_some(levels)
}

/// The highest level to which the broker can be raised; None while a member has not said what it knows.
pub fn possible(core: &Core) -> Option<Level> {
    match core.members().parts() {
        [] => Some(Level::most()),
        parts => common(parts, core.members().levels()),
    }
}

/// The highest level that all of these members know. None: one has not said what it knows, or what they
/// know has nothing in common with what this version does.
pub fn common(members: &[MemberId], levels: &LevelsOf) -> Option<Level> {
    let mut most = None;
    for member in members {
        let known = levels.get(member)?.most;
        most = Some(most.map_or(known, |most: u8| most.min(known)));
    }
    Level::known(most?)
}
