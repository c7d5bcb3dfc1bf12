//! Every option of qpidd, and what becomes of it here.
//!
//! The options are those of the last releases (1.39, 1.40) on Unix with all their plug-ins, and those
//! of older ones that stand in configuration files to this day: the cluster of 0.18 and before, the
//! watchdog, the replication of queues. Those that exist on Windows alone are not here.
//!
//! A row says what qpidd knows; what the broker itself takes is in `server::options` and the files
//! beside it. A test holds the two together.

use super::rows;

/// What an option takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// Nothing: to name it is to say yes.
    Nothing,
    /// A truth value, or nothing for yes.
    YesNoOrNothing,
    /// One value.
    Value,
    /// A value; it may be repeated.
    Values,
}

/// What becomes of an option here.
#[derive(Clone, Copy, Debug)]
pub enum Here {
    /// It is an option of the broker, by the same name and with the same default.
    Ours,
    /// It is an option of the broker, by the same name, and has another default. The text says why.
    OursBut(&'static str),
    /// It is about how the broker is configured and is read in this room.
    Line,
    /// It is about the process, and counts under the name `qpidd`.
    Process,
    /// It has no meaning here and no effect on safety: a warning names it. The text says why.
    Nothing(&'static str),
    /// It may ask for protection that the broker cannot give.
    Protection {
        /// Values that ask for none.
        is_harmless: fn(&str) -> bool,
        /// What to do instead.
        instead: &'static str,
    },
}

/// An option of qpidd.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Its name, without dashes before it.
    pub name: &'static str,
    /// Its short form.
    pub short: Option<char>,
    /// What it takes.
    pub takes: Takes,
    /// Its default in qpidd; empty where there is none, or it depends on the machine.
    pub default: &'static str,
    /// What becomes of it.
    pub here: Here,
}

/// All rows.
pub fn rows() -> impl Iterator<Item = &'static Row> {
    rows::ALL.iter().copied().flatten()
}

/// The row of a name.
pub fn row(name: &str) -> Option<&'static Row> {
    rows().find(|row| row.name == name)
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
