//! The words of a selector: blanks, names, quoted text, symbols; and where reading failed.

use std::borrow::Cow;

use nom::bytes::complete::{tag, take_till, take_while};
use nom::character::complete::{char, satisfy};
use nom::combinator::{map_opt, recognize, verify};
use nom::error::{ErrorKind, ParseError};
use nom::sequence::{pair, preceded};
use nom::{IResult, Parser};

/// Where reading failed and what would have gone on there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Fault<'a> {
    /// The text from the failing place to the end.
    pub(super) rest: &'a str,
    /// What was expected.
    pub(super) expected: &'static str,
}

impl<'a> Fault<'a> {
    pub(super) fn at(rest: &'a str, expected: &'static str) -> Self {
        Self { rest, expected }
    }
}

impl<'a> ParseError<&'a str> for Fault<'a> {
    fn from_error_kind(rest: &'a str, _: ErrorKind) -> Self {
        Self::at(rest, "another word")
    }

    fn append(_: &'a str, _: ErrorKind, first: Self) -> Self {
        first
    }
}

/// `parser`, of which nothing but `expected` is left to be: its failure is final and reported
/// at the first word after blanks.
pub(super) fn required<'a, O>(
    expected: &'static str,
    mut parser: impl Parser<&'a str, Output = O, Error = Fault<'a>>,
) -> impl FnMut(&'a str) -> IResult<&'a str, O, Fault<'a>> {
    move |input| match parser.parse(input) {
        Err(nom::Err::Error(_)) => {
            let (rest, _) = blanks(input)?;
            Err(nom::Err::Failure(Fault::at(rest, expected)))
        }
        other => other,
    }
}

/// White space as C knows it.
pub(super) fn blanks(input: &str) -> IResult<&str, &str, Fault<'_>> {
    take_while(|c| matches!(c, ' ' | '\t'..='\r')).parse(input)
}

/// A fixed sign, after blanks.
pub(super) fn symbol<'a>(
    sign: &'static str,
) -> impl Parser<&'a str, Output = &'a str, Error = Fault<'a>> {
    preceded(blanks, tag(sign))
}

/// A word without quotes: a name or a keyword.
fn bare_word(input: &str) -> IResult<&str, &str, Fault<'_>> {
    let first = satisfy(|c| c.is_ascii_alphabetic() || matches!(c, '_' | '$'));
    let others = take_while(|c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '.'));
    preceded(blanks, recognize(pair(first, others))).parse(input)
}

/// Words that are names only in quotes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Keyword {
    And,
    Between,
    Escape,
    False,
    In,
    Is,
    Like,
    Not,
    Null,
    Or,
    True,
}

const KEYWORDS: [(&str, Keyword); 11] = [
    ("AND", Keyword::And),
    ("BETWEEN", Keyword::Between),
    ("ESCAPE", Keyword::Escape),
    ("FALSE", Keyword::False),
    ("IN", Keyword::In),
    ("IS", Keyword::Is),
    ("LIKE", Keyword::Like),
    ("NOT", Keyword::Not),
    ("NULL", Keyword::Null),
    ("OR", Keyword::Or),
    ("TRUE", Keyword::True),
];

/// The keyword that `word` is, in any case.
fn as_keyword(word: &str) -> Option<Keyword> {
    let found = KEYWORDS
        .iter()
        .find(|(keyword, _)| word.eq_ignore_ascii_case(keyword));
    found.map(|(_, keyword)| *keyword)
}

/// Any keyword, as a whole word.
pub(super) fn any_keyword(input: &str) -> IResult<&str, Keyword, Fault<'_>> {
    map_opt(bare_word, as_keyword).parse(input)
}

/// This keyword and no other.
pub(super) fn keyword<'a>(
    wanted: Keyword,
) -> impl Parser<&'a str, Output = Keyword, Error = Fault<'a>> {
    verify(any_keyword, move |found| *found == wanted)
}

/// A name: a bare word that is no keyword, or anything in double quotes.
pub(super) fn name(input: &str) -> IResult<&str, Cow<'_, str>, Fault<'_>> {
    let (rest, _) = blanks(input)?;
    if rest.starts_with('"') {
        return quoted('"', "the closing \" of this name").parse(rest);
    }
    verify(bare_word, |word: &str| as_keyword(word).is_none())
        .map(Cow::Borrowed)
        .parse(rest)
}

/// Text in single quotes.
pub(super) fn text(input: &str) -> IResult<&str, Cow<'_, str>, Fault<'_>> {
    preceded(blanks, quoted('\'', "the closing ' of this text")).parse(input)
}

/// What stands between two `quote`s; a doubled one inside stands for itself. A missing end is
/// reported at the opening quote, as `unclosed`.
fn quoted<'a>(
    quote: char,
    unclosed: &'static str,
) -> impl Parser<&'a str, Output = Cow<'a, str>, Error = Fault<'a>> {
    move |input: &'a str| {
        let mut content = Cow::Borrowed("");
        let (mut rest, _) = char(quote).parse(input)?;
        loop {
            let (at_quote, part) = take_till(|c| c == quote).parse(rest)?;
            let Some(after) = at_quote.strip_prefix(quote) else {
                return Err(nom::Err::Failure(Fault::at(input, unclosed)));
            };
            content += part;
            let Some(doubled) = after.strip_prefix(quote) else {
                return Ok((after, content));
            };
            content.to_mut().push(quote);
            rest = doubled;
        }
    }
}
