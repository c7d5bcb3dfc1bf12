//! What counts of all that was said.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::{Arg, Command};

use super::Form;
use super::line::{self, Line};
use super::process::{Process, qpidd_directory};
use super::setting::{Origin, Setting};
use super::source;
use super::table::{Here, Takes};
use super::vocabulary::{Known, Vocabulary};

/// The file that is read under the name `qpidd` when none is named, if it is there.
const QPIDD_CONF: &str = "/etc/qpid/qpidd.conf";

/// What counts.
#[derive(Debug)]
pub(super) struct Settled {
    /// What the command line asks.
    pub line: Line,
    /// All options of the broker that were given, as its own command line.
    pub arguments: Vec<OsString>,
    /// What an operator should know.
    pub warnings: Vec<String>,
    /// What was asked for and cannot be given: the broker does not start.
    pub refusals: Vec<String>,
    /// What is said of the process.
    pub process: Process,
    /// The directory of qpidd's store, where it is another than that of the data.
    pub store_dir: Option<PathBuf>,
}

impl Settled {
    /// Looks whether a broker may start.
    ///
    /// # Errors
    /// Something was asked for that cannot be given, or its messages are in a store of qpidd.
    pub fn check(&self) -> Result<(), String> {
        if !self.refusals.is_empty() {
            return Err(self.refusals.join("\n"));
        }
        self.store_dir
            .as_deref()
            .map_or(Ok(()), super::qpidd_store::refuse)
    }
}

/// Reads the words of a command line, the environment, and the file that they name. `own` has the
/// options of the broker.
///
/// # Errors
/// Something cannot be meant; where it stands is said.
pub(super) fn settle(
    form: Form,
    words: &[OsString],
    variables: &[(OsString, OsString)],
    own: &Command,
) -> Result<Settled, String> {
    let vocabulary = Vocabulary::of(own);
    let home = variables.iter().find(|(name, _)| name == "HOME");
    let home = home.map(|(_, value)| value.as_os_str());
    let mut settled = Settled {
        line: line::parse(form, words, &vocabulary)?,
        arguments: Vec::new(),
        warnings: Vec::new(),
        refusals: Vec::new(),
        process: Process::usual(home),
        store_dir: None,
    };
    if settled.line.help.is_some() || settled.line.is_version_asked {
        return Ok(settled);
    }
    let said = settled.line.settings.clone();
    let environment = source::environment(variables, &vocabulary);
    settled.warnings.extend(environment.warnings);
    let mut all = [said, environment.settings].concat();
    let (path, may_be_missing) = configuration(form, &all);
    if let Some(path) = path
        && let Some(file) = source::file(&path, may_be_missing, &vocabulary)?
    {
        settled.warnings.extend(file.warnings);
        all.extend(file.settings);
    }
    let mut counting = Vec::new();
    for known in vocabulary.all() {
        counting.extend(first_source(known, &all)?);
    }
    if form == Form::Qpidd {
        add_defaults(&mut counting, home);
    }
    settled.choose_directory(&mut counting);
    for setting in &counting {
        // Each was found by its name before.
        if let Some(known) = vocabulary.named(&setting.name) {
            settled.take(form, setting, known, own)?;
        }
    }
    Ok(settled)
}

/// How near to whoever starts the broker something was said: the least is the nearest.
fn rank(origin: &Origin) -> u8 {
    match origin {
        Origin::Line => 0,
        Origin::Environment => 1,
        Origin::File(..) => 2,
        Origin::Name => 3,
    }
}

/// The file with options, and whether it need not be there.
fn configuration(form: Form, said: &[Setting]) -> (Option<PathBuf>, bool) {
    // The command line comes first, and on it the last.
    let on_line = said
        .iter()
        .rfind(|setting| setting.name == "config" && setting.origin == Origin::Line);
    let named = on_line.or_else(|| said.iter().find(|setting| setting.name == "config"));
    match (named, form) {
        (Some(setting), _) => (Some(PathBuf::from(&setting.value)), false),
        (None, Form::Qpidd) => (Some(PathBuf::from(QPIDD_CONF)), true),
        (None, Form::Serve) => (None, true),
    }
}

/// What the first source says of an option that speaks of it.
fn first_source(known: &Known, all: &[Setting]) -> Result<Vec<Setting>, String> {
    let mut said = all.iter().filter(|setting| setting.name == known.name);
    let Some(first) = said.next() else {
        return Ok(Vec::new());
    };
    let mut found = vec![first.clone()];
    for other in said.filter(|other| other.origin.is_beside(&first.origin)) {
        if known.takes != Takes::Values {
            let (place, other) = (first.place(), other.place());
            return Err(format!("{other} is said twice (first as {place})"));
        }
        found.push(other.clone());
    }
    Ok(found)
}

/// Adds qpidd's defaults where the broker has others.
fn add_defaults(counting: &mut Vec<Setting>, home: Option<&OsStr>) {
    let is_said = |name: &str| counting.iter().any(|setting| setting.name == name);
    let needs_auth = !is_said("auth");
    let needs_directory = !["data-dir", "no-data-dir", "store-dir"]
        .iter()
        .any(|name| is_said(name));
    let mut add = |name: &str, value: OsString| {
        counting.push(Setting {
            name: name.to_owned(),
            value,
            origin: Origin::Name,
        });
    };
    if needs_auth {
        add("auth", "yes".into());
    }
    if needs_directory {
        add("data-dir", qpidd_directory(home).into());
    }
}

impl Settled {
    /// Of a directory and the wish for none, what was said nearer counts. Qpidd's store may have had a
    /// directory of its own, also where there is none for the rest: then everything is there.
    fn choose_directory(&mut self, counting: &mut Vec<Setting>) {
        let find =
            |name: &str, all: &[Setting]| all.iter().find(|setting| setting.name == name).cloned();
        let store = find("store-dir", counting);
        if find("no-data-dir", counting).is_some_and(|none| none.is_no()) {
            counting.retain(|setting| setting.name != "no-data-dir");
        }
        let none = find("no-data-dir", counting);
        let is_further = |setting: &Setting| {
            let none = none.as_ref();
            none.is_some_and(|none| rank(&none.origin) < rank(&setting.origin))
        };
        if let (Some(directory), Some(none)) = (find("data-dir", counting), &none) {
            if is_further(&directory) {
                self.note_unused(&directory, none);
                counting.retain(|setting| setting.name != "data-dir");
            } else if rank(&directory.origin) < rank(&none.origin) {
                counting.retain(|setting| setting.name != "no-data-dir");
            }
            // Both of one source: that is for the broker to refuse.
        }
        let Some(store) = store.filter(|store| !store.value.is_empty()) else {
            return;
        };
        if let Some(none) = none.as_ref().filter(|_| is_further(&store)) {
            self.note_unused(&store, none);
            return;
        }
        self.store_dir = Some(PathBuf::from(&store.value));
        if find("data-dir", counting).is_some() {
            let text = "{}: messages are in the data directory, with all else that is kept";
            self.warnings.push(text.replace("{}", &store.place()));
            return;
        }
        self.warnings
            .push(format!("{}: it is the data directory", store.place()));
        counting.retain(|setting| setting.name != "no-data-dir");
        counting.push(Setting {
            name: "data-dir".to_owned(),
            ..store
        });
    }

    fn note_unused(&mut self, directory: &Setting, none: &Setting) {
        let (place, value, none) = (directory.place(), directory.text(), none.place());
        let text = format!("{place} is not used ({value}): {none} says that nothing is kept");
        self.warnings.push(text);
    }

    fn take(
        &mut self,
        form: Form,
        setting: &Setting,
        known: &Known,
        own: &Command,
    ) -> Result<(), String> {
        if matches!(setting.origin, Origin::File(..)) && setting.name == "config" {
            self.warnings
                .push(format!("{}: no other file is read", setting.place()));
            return Ok(());
        }
        if known.is_ours {
            if setting.origin != Origin::Line {
                check_value(setting, own)?;
            }
            self.arguments.push(setting.argument());
            return Ok(());
        }
        match known.row.map(|row| row.here) {
            None | Some(Here::Ours | Here::OursBut(_) | Here::Line) => {}
            Some(Here::Process) if form == Form::Qpidd => self.process.take(setting)?,
            Some(Here::Process) if setting.origin == Origin::Line => {
                return Err(format!(
                    "{} is for the name qpidd: start the broker by a link of that name",
                    setting.place()
                ));
            }
            Some(Here::Process) => {
                let text = "counts under the name qpidd alone";
                self.warnings.push(format!("{}: {text}", setting.place()));
            }
            Some(Here::Nothing(why)) => {
                self.warnings
                    .push(format!("{} has no effect: {why}", setting.place()));
            }
            Some(Here::Protection {
                is_harmless,
                instead,
            }) => {
                if !is_harmless(&setting.text()) {
                    let place = setting.place();
                    self.refusals
                        .push(format!("{place} cannot be honoured: {instead}"));
                }
            }
        }
        Ok(())
    }
}

/// Looks at a value that is not on the command line, so that an error says where it stands.
fn check_value(setting: &Setting, own: &Command) -> Result<(), String> {
    let argument = own
        .get_arguments()
        .find(|argument| argument.get_long() == Some(&*setting.name));
    let Some(argument) = argument else {
        return Ok(());
    };
    let mut alone = Arg::new(ALONE)
        .long(ALONE)
        .value_parser(argument.get_value_parser().clone());
    if let Some(delimiter) = argument.get_value_delimiter() {
        alone = alone.value_delimiter(delimiter);
    }
    let command = Command::new(ALONE).arg(alone).disable_help_flag(true);
    let mut word = OsString::from(format!("--{ALONE}="));
    word.push(&setting.value);
    let Err(error) = command.try_get_matches_from([OsString::from(ALONE), word]) else {
        return Ok(());
    };
    let text = error.to_string();
    let text = text.split("\n\nFor more").next().unwrap_or_default();
    let text = text.trim_start_matches("error: ");
    let why = text.replace(&format!(" for '--{ALONE} <{ALONE}>'"), "");
    Err(format!("{}: {}", setting.place(), why.replace('\n', " ")))
}

/// The name of an option that is looked at alone.
const ALONE: &str = "alone";

#[cfg(test)]
#[path = "settle_tests.rs"]
mod tests;
