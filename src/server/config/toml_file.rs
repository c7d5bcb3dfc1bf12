//! The same options as TOML.
//!
//! ```toml
//!   port = 5672
//!   log-enable = ["notice+", "debug+:Network"]
//!   [cluster]
//!   name = "here"          # cluster-name
//! ```
//!
//! A table's name goes before those in it, with a dash between them.

use std::ops::Range;

use toml::de::{DeTable, DeValue};

use super::qpidd_conf::Entry;

/// Tables in tables, at most. No option's name has more parts.
const DEPTH_MAX: usize = 8;

/// All entries of a file; several of the same name for a list.
///
/// # Errors
/// The text is no TOML, or a value is none that an option could have: the line, and what is wrong.
pub fn parse(text: &str) -> Result<Vec<Entry>, (usize, String)> {
    let document = DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        (line_at(text, at), error.message().to_owned())
    })?;
    let mut found = Found {
        text,
        entries: Vec::new(),
    };
    found.table("", document.get_ref(), 0)?;
    found.entries.sort_by_key(|entry| entry.line);
    Ok(found.entries)
}

/// Whether a text is TOML rather than lines of `name=value`: only TOML has tables, lists and quotes.
pub fn is_toml(text: &str) -> bool {
    text.lines().map(str::trim).any(|line| {
        let value = line.split_once('=').map(|(_, value)| value.trim_start());
        let is_said = !line.starts_with('#');
        is_said
            && (line.starts_with('[')
                || value.is_some_and(|value| value.starts_with(['"', '\'', '['])))
    })
}

fn line_at(text: &str, at: usize) -> usize {
    let before = text.as_bytes().get(..at).unwrap_or(text.as_bytes());
    before.iter().filter(|octet| **octet == b'\n').count() + 1
}

struct Found<'a> {
    text: &'a str,
    entries: Vec<Entry>,
}

impl Found<'_> {
    fn table(
        &mut self,
        before: &str,
        table: &DeTable<'_>,
        depth: usize,
    ) -> Result<(), (usize, String)> {
        for (key, value) in table {
            let name = match before {
                "" => key.get_ref().to_string(),
                before => format!("{before}-{}", key.get_ref()),
            };
            let wrong = |found: &Found<'_>, why: &str| {
                (
                    line_at(found.text, key.span().start),
                    format!("{name}: {why}"),
                )
            };
            match value.get_ref() {
                DeValue::Table(_) if depth == DEPTH_MAX => {
                    return Err(wrong(self, "a table in too many others"));
                }
                DeValue::Table(inner) => self.table(&name, inner, depth + 1)?,
                DeValue::Array(values) => {
                    for value in values {
                        let text = scalar(value.get_ref());
                        let text = text.ok_or_else(|| {
                            wrong(self, "a list holds texts, numbers and truth values")
                        })?;
                        self.add(&name, value.span(), text);
                    }
                }
                single => {
                    let text = scalar(single);
                    let text = text.ok_or_else(|| wrong(self, "no option is a date or a time"))?;
                    self.add(&name, key.span(), text);
                }
            }
        }
        Ok(())
    }

    fn add(&mut self, name: &str, span: Range<usize>, value: String) {
        self.entries.push(Entry {
            line: line_at(self.text, span.start),
            name: name.to_owned(),
            value,
            is_cut: false,
        });
    }
}

fn scalar(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) if number.radix() == 10 => Some(number.as_str().to_owned()),
        DeValue::Integer(number) => {
            let number = i64::from_str_radix(number.as_str(), number.radix()).ok()?;
            Some(number.to_string())
        }
        DeValue::Float(number) => Some(number.as_str().to_owned()),
        DeValue::Boolean(true) => Some("yes".to_owned()),
        DeValue::Boolean(false) => Some("no".to_owned()),
        DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_go_before_what_is_in_them() {
        let text = "port = 5672\nauth = false\n[log]\nenable = [\"notice+\",\n  \"debug+:Network\"]\n\
                    [cluster.tls]\ncert = 'c.pem'\n[journal]\nfile-size = \"16m\"\n";
        let entries = parse(text).expect("it is TOML");
        let found: Vec<(usize, &str, &str)> = entries
            .iter()
            .map(|entry| (entry.line, &*entry.name, &*entry.value))
            .collect();
        let wanted = [
            (1, "port", "5672"),
            (2, "auth", "no"),
            (4, "log-enable", "notice+"),
            (5, "log-enable", "debug+:Network"),
            (7, "cluster-tls-cert", "c.pem"),
            (9, "journal-file-size", "16m"),
        ];
        assert_eq!(found, wanted);
    }

    #[test]
    fn mistakes_have_their_line() {
        for (text, line) in [
            ("port = 1\nport = 2", 2),
            ("a = 1\n\nb = 1979-05-27", 3),
            ("a = [[1]]", 1),
            ("port 5672", 1),
            ("realm = QPID", 1),
        ] {
            assert_eq!(parse(text).map_err(|(at, _)| at), Err(line), "{text}");
        }
    }

    #[test]
    fn content_says_which_of_both_it_is() {
        for text in [
            "[log]\nenable='x'",
            "realm = \"QPID\"",
            "a=1\nlog-enable=['info+']",
        ] {
            assert!(is_toml(text), "{text}");
        }
        for text in ["", "port=5672", "# [log]\nlog-enable=info+", "#a=\"b\""] {
            assert!(!is_toml(text), "{text}");
        }
    }
}
