//! Settings of a file and of the environment.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use super::line::unknown;
use super::qpidd_conf::{self, Entry};
use super::setting::{Origin, Setting};
use super::table::Takes;
use super::toml_file;
use super::vocabulary::{PREFIX, Vocabulary, variable};
use crate::security::files;
use crate::server::limits::CONFIG_FILE_BYTES_MAX;

/// Settings of one source, and what is odd about it.
#[derive(Debug, Default)]
pub(super) struct Source {
    /// In the order in which they stand there.
    pub settings: Vec<Setting>,
    /// What an operator should know.
    pub warnings: Vec<String>,
}

/// What the environment says. Variables that speak of nothing are only worth a warning: they may be
/// meant for other programs.
pub(super) fn environment(variables: &[(OsString, OsString)], vocabulary: &Vocabulary) -> Source {
    let mut source = Source::default();
    let mut named: Vec<_> = variables
        .iter()
        .filter_map(|(name, value)| Some((name.to_str()?, value)))
        .filter(|(name, _)| name.starts_with(PREFIX))
        .collect();
    named.sort();
    for (name, value) in named {
        let found = vocabulary
            .all()
            .iter()
            .find(|known| known.variable() == name);
        match found {
            Some(known) if matches!(&*known.name, "help" | "version") => {}
            Some(known) => source.settings.push(Setting {
                name: known.name.clone(),
                value: value.clone(),
                origin: Origin::Environment,
            }),
            None => {
                let meant = name.strip_prefix(PREFIX).unwrap_or(name);
                let meant = meant.to_ascii_lowercase().replace('_', "-");
                let nearest = vocabulary.nearest(&meant).map(variable);
                let nearest = nearest.map_or(String::new(), |name| format!("; is {name} meant?"));
                source
                    .warnings
                    .push(format!("{name} in the environment is no option{nearest}"));
            }
        }
    }
    source
}

/// What a file says. None: it is not there, and need not be.
///
/// # Errors
/// It cannot be read, or says something that cannot be meant.
pub(super) fn file(
    path: &Path,
    may_be_missing: bool,
    vocabulary: &Vocabulary,
) -> Result<Option<Source>, String> {
    let text = match text_of(path) {
        Err(error) if may_be_missing && error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            return Err(format!(
                "cannot read the configuration file {}: {error}",
                path.display()
            ));
        }
        Ok(text) => text,
    };
    let is_toml = match path.extension().and_then(|end| end.to_str()) {
        Some("toml") => true,
        Some("conf") => false,
        _ => toml_file::is_toml(&text),
    };
    let parsed = match is_toml {
        true => toml_file::parse(&text),
        false => qpidd_conf::parse(&text),
    };
    let shown = path.display();
    let entries = parsed.map_err(|(line, why)| format!("{shown}:{line}: {why}"))?;
    let shared = Arc::new(path.to_owned());
    let mut source = Source::default();
    for entry in entries {
        let line = entry.line;
        if entry.is_cut {
            source.warnings.push(format!(
                "{shown}:{line}: {}: the value ends at the first #, as it does in qpidd",
                entry.name
            ));
        }
        let setting = setting(entry, &shared, vocabulary);
        source
            .settings
            .push(setting.map_err(|why| format!("{shown}:{line}: {why}"))?);
    }
    Ok(Some(source))
}

fn setting(
    entry: Entry,
    path: &Arc<std::path::PathBuf>,
    vocabulary: &Vocabulary,
) -> Result<Setting, String> {
    let Entry {
        line, name, value, ..
    } = entry;
    let found = vocabulary.named(&name);
    let Some(known) = found.filter(|known| !matches!(&*known.name, "help" | "version")) else {
        return Err(unknown(&name, vocabulary.nearest(&name)));
    };
    let is_yes = value.is_empty() && matches!(known.takes, Takes::Nothing | Takes::YesNoOrNothing);
    Ok(Setting {
        name,
        value: match is_yes {
            true => "yes".into(),
            false => value.into(),
        },
        origin: Origin::File(path.clone(), line),
    })
}

fn text_of(path: &Path) -> std::io::Result<String> {
    let octets = files::read(path, CONFIG_FILE_BYTES_MAX)?.ok_or_else(|| {
        let why = format!("it has more than {CONFIG_FILE_BYTES_MAX} octets");
        std::io::Error::new(ErrorKind::FileTooLarge, why)
    })?;
    String::from_utf8(octets).map_err(|error| {
        let before = error
            .as_bytes()
            .iter()
            .take(error.utf8_error().valid_up_to());
        let line = before.filter(|octet| **octet == b'\n').count() + 1;
        std::io::Error::new(ErrorKind::InvalidData, format!("line {line} is no UTF-8"))
    })
}
