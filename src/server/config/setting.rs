//! What somebody said of an option, and where.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use super::vocabulary::variable;

/// Where something was said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// On the command line.
    Line,
    /// In the environment.
    Environment,
    /// In a file, in a line of it.
    File(Arc<PathBuf>, usize),
    /// Nowhere: it is qpidd's default, and another than the broker's.
    Name,
}

impl Origin {
    /// Whether both are of one source, of which each option speaks once.
    pub fn is_beside(&self, other: &Origin) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

/// One option and what it is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Setting {
    /// The option.
    pub name: String,
    /// Its value; yes for one that was only named.
    pub value: OsString,
    /// Where it was said.
    pub origin: Origin,
}

impl Setting {
    /// The value as text. What is no text is no number and no truth value either.
    pub fn text(&self) -> std::borrow::Cow<'_, str> {
        self.value.to_string_lossy()
    }

    /// As an argument of the broker's own command line.
    pub fn argument(&self) -> OsString {
        let mut argument = OsString::from(format!("--{}=", self.name));
        argument.push(self.value.as_os_str());
        argument
    }

    /// Whether the value says no.
    pub fn is_no(&self) -> bool {
        self.value
            .to_str()
            .is_some_and(|text| super::super::options::yes_or_no(text) == Ok(false))
    }

    /// Where it was said, for a message.
    pub fn place(&self) -> String {
        match &self.origin {
            Origin::Line | Origin::Name => format!("--{}", self.name),
            Origin::Environment => format!("{} in the environment", variable(&self.name)),
            Origin::File(path, line) => format!("{}:{line}: {}", path.display(), self.name),
        }
    }
}
