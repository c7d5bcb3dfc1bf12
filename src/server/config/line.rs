//! The command line, as qpidd reads it.
//!
//! ```text
//!   --name=value   --name value   --name        (what may stand alone)
//!   -nvalue   -n value   -dt                     (short forms that take nothing, together)
//! ```
//!
//! Under the name `qpidd` a long name may be cut short as long as one option is meant.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use super::super::options::yes_or_no;
use super::Form;
use super::setting::{Origin, Setting};
use super::table::Takes;
use super::vocabulary::{Known, Vocabulary};

/// What a command line says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Line {
    /// Options, in order.
    pub settings: Vec<Setting>,
    /// It asks for the options there are, by this word.
    pub help: Option<OsString>,
    /// It asks for the version.
    pub is_version_asked: bool,
}

/// Reads what stands behind the name of the program, or of its subcommand.
///
/// # Errors
/// What cannot be meant.
pub(super) fn parse(
    form: Form,
    words: &[OsString],
    vocabulary: &Vocabulary,
) -> Result<Line, String> {
    let mut reading = Reading {
        form,
        vocabulary,
        words: words.iter(),
        line: Line::default(),
    };
    while let Some(word) = reading.words.next() {
        reading.word(word)?;
    }
    Ok(reading.line)
}

struct Reading<'a> {
    form: Form,
    vocabulary: &'a Vocabulary,
    words: std::slice::Iter<'a, OsString>,
    line: Line,
}

impl<'a> Reading<'a> {
    fn word(&mut self, word: &'a OsStr) -> Result<(), String> {
        let octets = word.as_bytes();
        match octets {
            [b'-', b'-', long @ ..] if !long.is_empty() => self.long(long),
            [b'-', short @ ..] if !short.is_empty() && short != b"-" => self.shorts(short),
            _ => Err(format!(
                "{}: no option (options begin with --)",
                word.display()
            )),
        }
    }

    fn long(&mut self, text: &'a [u8]) -> Result<(), String> {
        let mut parts = text.splitn(2, |octet| *octet == b'=');
        let name = parts.next().unwrap_or_default();
        let value = parts.next().map(OsStr::from_bytes);
        let name = String::from_utf8_lossy(name);
        let known = self.find(&name)?;
        self.take(known, value, &format!("--{}", known.name))
    }

    fn find(&self, name: &str) -> Result<&'a Known, String> {
        if let Some(known) = self.vocabulary.named(name) {
            return Ok(known);
        }
        if self.form == Form::Qpidd {
            match &*self.vocabulary.beginning(name) {
                [] => {}
                [known] => return Ok(known),
                several => {
                    let names: Vec<&str> = several.iter().map(|known| &*known.name).collect();
                    return Err(format!("--{name} may be any of {}", names.join(", ")));
                }
            }
        }
        Err(unknown(&format!("--{name}"), self.vocabulary.nearest(name)))
    }

    fn shorts(&mut self, text: &'a [u8]) -> Result<(), String> {
        let mut rest = text;
        while let [octet, behind @ ..] = rest {
            let short = char::from(*octet);
            let Some(known) = self.vocabulary.short(short) else {
                return Err(unknown(&format!("-{short}"), None));
            };
            let behind_text = OsStr::from_bytes(behind);
            let is_value = match known.takes {
                Takes::Nothing => false,
                // The rest is its value if it can be, else more short forms.
                Takes::YesNoOrNothing => behind_text
                    .to_str()
                    .is_some_and(|text| yes_or_no(text).is_ok()),
                Takes::Value | Takes::Values => !behind.is_empty(),
            };
            let written = format!("-{short}");
            match (is_value, behind.is_empty()) {
                (true, _) => return self.take(known, Some(behind_text), &written),
                (false, true) => return self.take(known, None, &written),
                (false, false) => self.add(known, OsString::from("yes"), &written),
            }
            rest = behind;
        }
        Ok(())
    }

    fn take(&mut self, known: &Known, value: Option<&OsStr>, written: &str) -> Result<(), String> {
        let value = match (known.takes, value) {
            (Takes::Nothing, Some(value)) => {
                return Err(format!(
                    "{written} takes no value, and {} was given",
                    value.display()
                ));
            }
            (Takes::Nothing, None) => OsString::from("yes"),
            (_, Some(value)) => value.to_owned(),
            (Takes::YesNoOrNothing, None) => {
                let next = self.words.as_slice().first();
                match next.filter(|word| !word.as_bytes().starts_with(b"-")) {
                    Some(_) => self.words.next().cloned().unwrap_or_default(),
                    None => OsString::from("yes"),
                }
            }
            (Takes::Value | Takes::Values, None) => match self.words.as_slice().first() {
                Some(word) if !is_option(word) => self.words.next().cloned().unwrap_or_default(),
                _ => return Err(format!("{written} needs a value")),
            },
        };
        self.add(known, value, written);
        Ok(())
    }

    fn add(&mut self, known: &Known, value: OsString, written: &str) {
        let is_no = value
            .to_str()
            .is_some_and(|text| yes_or_no(text) == Ok(false));
        match &*known.name {
            "help" if !is_no => self.line.help = Some(written.into()),
            "version" if !is_no => self.line.is_version_asked = true,
            "help" | "version" => {}
            name => self.line.settings.push(Setting {
                name: name.to_owned(),
                value,
                origin: Origin::Line,
            }),
        }
    }
}

/// A dash alone is a value: for files it means standard input, say.
fn is_option(word: &OsStr) -> bool {
    word.as_bytes().starts_with(b"-") && word.len() > 1
}

/// What is said of an option that there is not.
pub(super) fn unknown(written: &str, nearest: Option<&str>) -> String {
    match nearest {
        Some(name) => format!("there is no option {written}; is {name} meant?"),
        None => format!("there is no option {written}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(form: Form, text: &str) -> Result<Vec<(String, String)>, String> {
        let vocabulary = Vocabulary::of(&super::super::own_command());
        let words: Vec<OsString> = text
            .split(' ')
            .filter(|word| !word.is_empty())
            .map(OsString::from)
            .collect();
        let line = parse(form, &words, &vocabulary)?;
        let pair = |setting: Setting| (setting.name.clone(), setting.text().into_owned());
        Ok(line.settings.into_iter().map(pair).collect())
    }

    #[test]
    fn every_way_to_write_an_option_is_read() {
        for (text, wanted) in [
            ("--port=1", vec![("port", "1")]),
            ("--port 1", vec![("port", "1")]),
            ("-p1", vec![("port", "1")]),
            ("-p 1", vec![("port", "1")]),
            ("--realm=", vec![("realm", "")]),
            ("--realm a=b", vec![("realm", "a=b")]),
            ("-dt", vec![("daemon", "yes"), ("trace", "yes")]),
            ("-dp0", vec![("daemon", "yes"), ("port", "0")]),
            ("-t --auth no", vec![("trace", "yes"), ("auth", "no")]),
            ("-m no -tno", vec![("mgmt-enable", "no"), ("trace", "no")]),
            (
                "--no-data-dir --no-data",
                vec![("no-data-dir", "yes"), ("no-data-dir", "yes")],
            ),
            ("--tcp-nodelay off", vec![("tcp-nodelay", "off")]),
            (
                "--interface a --interface b",
                vec![("interface", "a"), ("interface", "b")],
            ),
        ] {
            let wanted: Vec<(String, String)> = wanted
                .into_iter()
                .map(|(a, b)| (a.into(), b.into()))
                .collect();
            assert_eq!(read(Form::Qpidd, text), Ok(wanted), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_meant_is_an_error_that_says_what_might() {
        for (text, part) in [
            ("--porrt=1", "is port meant?"),
            ("--something-else-entirely", "there is no option"),
            ("--daemon=no", "takes no value"),
            ("--port", "needs a value"),
            ("--port --trace", "needs a value"),
            ("--log-to-st yes", "log-to-stderr, log-to-stdout"),
            ("-z", "there is no option -z"),
            ("port", "no option"),
            ("--", "no option"),
            ("-", "no option"),
        ] {
            let error = read(Form::Qpidd, text).expect_err(text);
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn only_under_qpidds_name_names_are_cut_short() {
        assert!(read(Form::Serve, "--no-data").is_err());
        assert!(read(Form::Serve, "--no-data-dir").is_ok());
    }

    #[test]
    fn questions_are_no_options() {
        let vocabulary = Vocabulary::of(&super::super::own_command());
        let asked =
            |word: &str| parse(Form::Qpidd, &[word.into()], &vocabulary).expect("it is read");
        assert_eq!(asked("-h").help, Some("-h".into()));
        assert_eq!(asked("--help").help, Some("--help".into()));
        assert!(asked("-v").is_version_asked && asked("--version").is_version_asked);
        assert_eq!(asked("--help=no"), Line::default());
    }
}
