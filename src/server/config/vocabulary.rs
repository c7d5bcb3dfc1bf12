//! Every option there is: qpidd's by the table, and the broker's own.

use clap::{ArgAction, Command};

use super::nearest::nearest;
use super::table::{self, Row, Takes};

/// An option.
#[derive(Clone, Debug)]
pub(super) struct Known {
    /// Its name, without dashes before it.
    pub name: String,
    /// Its short form.
    pub short: Option<char>,
    /// What it takes.
    pub takes: Takes,
    /// What qpidd knows of it.
    pub row: Option<&'static Row>,
    /// The broker has it.
    pub is_ours: bool,
}

impl Known {
    /// The variable of the environment that speaks of it.
    pub fn variable(&self) -> String {
        variable(&self.name)
    }
}

/// The variable of the environment that speaks of an option.
pub(super) fn variable(name: &str) -> String {
    format!(
        "{PREFIX}{}",
        name.to_ascii_uppercase().replace(['-', '.'], "_")
    )
}

/// What the names of variables begin with.
pub(super) const PREFIX: &str = "QPID_";

/// All options.
#[derive(Clone, Debug)]
pub(super) struct Vocabulary(Vec<Known>);

impl Vocabulary {
    /// Those of a command, and qpidd's.
    pub fn of(own: &Command) -> Vocabulary {
        let mut known: Vec<Known> = own.get_arguments().filter_map(of_argument).collect();
        for row in table::rows() {
            if known.iter().all(|other| other.name != row.name) {
                known.push(Known {
                    name: row.name.to_owned(),
                    short: row.short,
                    takes: row.takes,
                    row: Some(row),
                    is_ours: false,
                });
            }
        }
        known.sort_by(|a, b| a.name.cmp(&b.name));
        Vocabulary(known)
    }

    /// All of them, by name.
    pub fn all(&self) -> &[Known] {
        &self.0
    }

    /// The one of a name.
    pub fn named(&self, name: &str) -> Option<&Known> {
        self.0.iter().find(|known| known.name == name)
    }

    /// The one of a short form.
    pub fn short(&self, short: char) -> Option<&Known> {
        self.0.iter().find(|known| known.short == Some(short))
    }

    /// Those whose names begin so.
    pub fn beginning(&self, name: &str) -> Vec<&Known> {
        let begins = |known: &&Known| known.name.starts_with(name);
        self.0.iter().filter(begins).collect()
    }

    /// The name that somebody meant who wrote another.
    pub fn nearest(&self, name: &str) -> Option<&str> {
        nearest(name, self.0.iter().map(|known| &*known.name))
    }
}

fn of_argument(argument: &clap::Arg) -> Option<Known> {
    let name = argument.get_long()?.to_owned();
    if name == "help" {
        return None;
    }
    let row = table::row(&name);
    let is_list = matches!(argument.get_action(), ArgAction::Append);
    // What was said of the number of values counts before the kind of action.
    let may_be_alone = argument
        .get_num_args()
        .is_some_and(|range| range.min_values() == 0 && range.max_values() > 0);
    let takes = match argument.get_action() {
        _ if may_be_alone => Takes::YesNoOrNothing,
        action if !action.takes_values() => Takes::Nothing,
        _ if is_list => Takes::Values,
        _ => Takes::Value,
    };
    Some(Known {
        name,
        short: argument.get_short(),
        takes,
        row,
        is_ours: true,
    })
}
