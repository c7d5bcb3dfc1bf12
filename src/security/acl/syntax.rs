//! The lines of an ACL file as statements: words with white space between them.
//!
//! A line that begins with `#` is a comment. What stands behind the last `\` of a line is dropped, and
//! its statement goes on in the next line that says something.

use nom::Parser;
use nom::bytes::complete::{take_till, take_while, take_while1};
use nom::combinator::opt;
use nom::multi::many0;
use nom::sequence::preceded;

use super::limits::{LINE_BYTES_MAX, STATEMENT_WORDS_MAX};

/// A statement: its words, and the line on which it begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement<'a> {
    /// Counted from 1.
    pub line: usize,
    /// At least one.
    pub words: Vec<&'a str>,
}

/// What is wrong with a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Counted from 1.
    pub line: usize,
    /// What it is.
    pub text: String,
}

/// White space of C: other than that of Rust a vertical tab is some.
fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\x0b' | '\x0c' | '\r')
}

type Parsed<'a, T> = nom::IResult<&'a str, T>;

fn words(input: &str) -> Parsed<'_, Vec<&str>> {
    let word = preceded(take_while(is_blank), take_while1(|c| !is_blank(c)));
    let (input, words) = many0(word).parse(input)?;
    let (input, _) = opt(take_while1(is_blank)).parse(input)?;
    Ok((input, words))
}

/// A line's words, and whether its statement goes on.
fn line(input: &str) -> Parsed<'_, (Vec<&str>, bool)> {
    let (said, goes_on) = match input.rsplit_once('\\') {
        Some((said, _)) => (said, true),
        None => (input, false),
    };
    // A C string ends with NUL.
    let (_, said) = take_till(|c| c == '\0').parse(said)?;
    let (_, words) = words(said)?;
    Ok(("", (words, goes_on)))
}

/// Reads the statements of a file. Lines with faults are left out, and what is wrong with them goes to
/// `faults`.
pub fn statements<'a>(text: &'a str, faults: &mut Vec<Fault>) -> Vec<Statement<'a>> {
    let mut statements: Vec<Statement<'a>> = Vec::new();
    let mut goes_on = false;
    for (index, input) in text.split('\n').enumerate() {
        let number = index + 1;
        let mut fault = |text: String| faults.push(Fault { line: number, text });
        if input.len() > LINE_BYTES_MAX {
            fault(format!("the line has more than {LINE_BYTES_MAX} octets"));
            goes_on = false;
            continue;
        }
        if input.is_empty() || input.starts_with('#') {
            continue;
        }
        let (words, is_continued) = match line(input) {
            Ok((_, parsed)) => parsed,
            Err(error) => {
                fault(format!("it is not made of words: {error}"));
                continue;
            }
        };
        match (words.is_empty(), is_continued) {
            (true, true) => {
                fault(format!("Line \"{number}\" contains an illegal extension."));
                goes_on = false;
                continue;
            }
            (true, false) => {}
            (false, _) => match statements.last_mut() {
                Some(last) if goes_on => {
                    if last.words.len() + words.len() > STATEMENT_WORDS_MAX {
                        fault(format!("more than {STATEMENT_WORDS_MAX} words"));
                    } else {
                        last.words.extend(words);
                    }
                }
                _ => statements.push(Statement {
                    line: number,
                    words,
                }),
            },
        }
        goes_on = is_continued;
    }
    statements
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Vec<(usize, String)>, Vec<usize>) {
        let mut faults = Vec::new();
        let statements = statements(text, &mut faults);
        let read = |statement: &Statement<'_>| (statement.line, statement.words.join("|"));
        let faulty = faults.iter().map(|fault| fault.line).collect();
        (statements.iter().map(read).collect(), faulty)
    }

    fn said(line: usize, words: &str) -> (usize, String) {
        (line, words.to_owned())
    }

    #[test]
    fn statements_are_words_of_a_line_and_those_it_goes_on_in() {
        let text = "# of\n\nacl  allow\tall all\r\ngroup a x@Y \\ ignored\n  # not\n   z@Y\n \t\n";
        let (statements, faults) = read(text);
        assert!(faults.is_empty());
        assert_eq!(
            statements,
            [
                said(3, "acl|allow|all|all"),
                said(4, "group|a|x@Y|#|not"),
                said(6, "z@Y"),
            ]
        );
    }

    #[test]
    fn comments_and_empty_lines_do_not_end_a_continuation() {
        let (statements, faults) = read("group a x@Y \\\n# why\n\ny@Y");
        assert_eq!(statements, [said(1, "group|a|x@Y|y@Y")]);
        assert!(faults.is_empty());
    }

    #[test]
    fn a_continuation_without_words_and_a_long_line_are_faults() {
        let long = format!("a\n \\ \nb {}\nc", "x".repeat(LINE_BYTES_MAX));
        let (statements, faults) = read(&long);
        assert_eq!(statements, [said(1, "a"), said(4, "c")]);
        assert_eq!(faults, [2, 3]);
    }
}
