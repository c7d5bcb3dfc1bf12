//! The text of a `qpidd.conf`.
//!
//! ```text
//!   file    = *( line LF )
//!   line    = blanks [ name blanks "=" blanks value ] blanks [ "#" *any ]
//!   name    = 1*( any but blanks, "=" and "#" )
//!   value   = *( any but "#" )
//! ```
//!
//! Qpidd cuts a line at its first `#`, wherever it stands, so a value has none; that is kept, since a
//! file has to mean what it meant. Qpidd allows no blanks around the name; here they do no harm.

use nom::branch::alt;
use nom::bytes::complete::{take_till, take_till1};
use nom::character::complete::{char, space0};
use nom::combinator::{all_consuming, map, opt, rest};
use nom::sequence::{delimited, pair, preceded};
use nom::{IResult, Parser};

/// One `name=value` of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The number of its line, from 1.
    pub line: usize,
    /// The name before the sign.
    pub name: String,
    /// What is said of it.
    pub value: String,
    /// The value was cut at a `#` that stood close behind it: whoever wrote it may have meant it.
    pub is_cut: bool,
}

/// All entries of a file, in order.
///
/// # Errors
/// A line is none: its number, and what is wrong.
pub fn parse(text: &str) -> Result<Vec<Entry>, (usize, String)> {
    let mut entries = Vec::new();
    for (at, line) in text.lines().enumerate() {
        match all_consuming(self::line).parse(line) {
            Ok((_, None)) => {}
            Ok((_, Some((name, (value, is_cut))))) => entries.push(Entry {
                line: at + 1,
                name: name.to_owned(),
                value: value.to_owned(),
                is_cut,
            }),
            Err(_) => {
                return Err((
                    at + 1,
                    format!("{line:?} is neither name=value nor a comment"),
                ));
            }
        }
    }
    Ok(entries)
}

type Said<'a> = (&'a str, (&'a str, bool));

fn line(input: &str) -> IResult<&str, Option<Said<'_>>> {
    let comment = map(opt(preceded(char('#'), rest)), |_| None);
    let entry = map(pair(name, value), Some);
    preceded(space0, alt((entry, comment))).parse(input)
}

fn name(input: &str) -> IResult<&str, &str> {
    let is_end = |c: char| c == '=' || c == '#' || c.is_whitespace();
    let sign = delimited(space0, char('='), space0);
    nom::sequence::terminated(take_till1(is_end), sign).parse(input)
}

fn value(input: &str) -> IResult<&str, (&str, bool)> {
    let comment = opt(preceded(char('#'), rest));
    let said = pair(take_till(|c| c == '#'), comment);
    map(said, |(value, comment): (&str, Option<&str>)| {
        let is_close = !value.is_empty() && !value.ends_with([' ', '\t']);
        (value.trim_end(), is_close && comment.is_some())
    })
    .parse(input)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(text: &str) -> Vec<(usize, String, String)> {
        let entries = parse(text).unwrap_or_else(|error| panic!("{text}: {error:?}"));
        let pair = |entry: Entry| (entry.line, entry.name, entry.value);
        entries.into_iter().map(pair).collect()
    }

    #[test]
    fn names_have_values_and_lines() {
        let found = pairs("# a comment\n\nport=5672\n  \t\nlog-enable=info+:Broker");
        let wanted = [(3, "port", "5672"), (5, "log-enable", "info+:Broker")];
        assert_eq!(found, wanted.map(|(at, a, b)| (at, a.into(), b.into())));
    }

    #[test]
    fn blanks_around_either_do_no_harm() {
        let found = pairs("  auth = no \r\nrealm=\n");
        let wanted = [(1, "auth", "no"), (2, "realm", "")];
        assert_eq!(found, wanted.map(|(at, a, b)| (at, a.into(), b.into())));
    }

    #[test]
    fn a_value_ends_at_a_number_sign_and_may_hold_others() {
        let entries = parse("a=b=c # why\nb=x#y\nc=#").expect("it is read");
        let values: Vec<&str> = entries.iter().map(|entry| &*entry.value).collect();
        assert_eq!(values, ["b=c", "x", ""]);
        let cut: Vec<bool> = entries.iter().map(|entry| entry.is_cut).collect();
        assert_eq!(cut, [false, true, false]);
    }

    #[test]
    fn what_is_neither_is_an_error_with_its_line() {
        for (text, line) in [
            ("port", 1),
            ("a=b\n[log]\n", 2),
            ("=5", 1),
            ("a b=c", 1),
            ("a#=b", 1),
        ] {
            assert_eq!(parse(text).map_err(|(at, _)| at), Err(line), "{text}");
        }
    }
}
