//! The level at which the broker runs.

use super::refuse;
use crate::broker::command::Refusal;
use crate::broker::core::Core;
use crate::broker::level::{self, Level, LevelsOf};
use crate::wire::ErrorCode;

impl Core {
    /// Members have said what levels they know. What a new group can do at once, it does: no member of an
    /// older version has ever been in it. One that has begun anew from the directory of one member of
    /// another is not new: whoever was in that one may want to go back.
    pub(in crate::broker) fn set_levels(&mut self, levels: LevelsOf) {
        let has_had_others = self.members.left().next().is_some();
        let is_new = self.members.levels().is_empty() && !has_had_others;
        self.members.set_levels(levels);
        let common = level::common(self.members.parts(), self.members.levels());
        if let Some(common) = common.filter(|_| is_new) {
            self.level = self.level.max(common);
        }
    }

    /// Raises the level. One at which the broker runs already is no fault.
    ///
    /// # Errors
    /// It runs at a higher one, or a member stands in the way, which is named.
    pub(super) fn raise(&mut self, level: Level) -> Result<(), Refusal> {
        let refused =
            |text: std::fmt::Arguments<'_>| Err(refuse(ErrorCode::PRECONDITION_FAILED, text));
        if level < self.level {
            return refused(format_args!(
                "the broker runs at level {} and does not go back",
                self.level
            ));
        }
        for member in self.members.parts() {
            match self.members.levels().get(member) {
                None => {
                    return refused(format_args!(
                        "what levels member {:016x} knows is not known: it has not been met",
                        member.0
                    ));
                }
                Some(known) if !known.holds(level) => {
                    return refused(format_args!(
                        "member {:016x} runs a version that knows {known} only",
                        member.0
                    ));
                }
                Some(_) => {}
            }
        }
        self.level = level;
        Ok(())
    }

    /// The same core at the highest level that this version knows: of a broker that runs alone, which
    /// nobody of an older version has to understand.
    pub fn at_most_level(mut self) -> Core {
        self.level = Level::most();
        self
    }
}
