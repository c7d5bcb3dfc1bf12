//! Words and signs of a query.

use super::{QueryError, error};

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// A name, with its prefix if it has one; `*` stands for any of either.
    Name(Option<String>, String),
    /// `$name`
    Variable(String),
    Text(String),
    Number(f64),
    Sign(&'static str),
    End,
}

/// Longer ones first.
const SIGNS: [&str; 27] = [
    "::", ":=", "!=", "<=", ">=", "//", "..", "(", ")", "[", "]", ",", ".", "/", "@", "*", "+",
    "-", "=", "<", ">", "|", ";", "?", "{", "}", "!",
];

/// Takes a query apart.
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, QueryError> {
    let mut rest = text;
    let mut tokens = Vec::new();
    loop {
        rest = skip(rest)?;
        let mut characters = rest.chars();
        let Some(first) = characters.next() else {
            tokens.push(Token::End);
            return Ok(tokens);
        };
        let behind_first = characters.as_str();
        let (token, behind) = match first {
            '"' | '\'' => string(behind_first, first)?,
            '$' => variable(behind_first)?,
            '0'..='9' => number(rest)?,
            '.' if behind_first.starts_with(|c: char| c.is_ascii_digit()) => number(rest)?,
            _ if is_name_start(first) => name(rest),
            '*' => match behind_first.strip_prefix(':') {
                Some(local) if !local.starts_with(':') => {
                    let (local, behind) = local_name(local)?;
                    (Token::Name(Some("*".into()), local), behind)
                }
                _ => sign(rest)?,
            },
            _ => sign(rest)?,
        };
        tokens.push(token);
        rest = behind;
    }
}

/// Passes over white space and comments, which may hold comments.
fn skip(mut rest: &str) -> Result<&str, QueryError> {
    loop {
        rest = rest.trim_start();
        if !rest.starts_with("(:") {
            return Ok(rest);
        }
        let mut open = 0;
        loop {
            if let Some(behind) = rest.strip_prefix("(:") {
                (open, rest) = (open + 1, behind);
            } else if let Some(behind) = rest.strip_prefix(":)") {
                (open, rest) = (open - 1, behind);
            } else {
                let mut chars = rest.chars();
                if chars.next().is_none() {
                    return error("a comment without an end");
                }
                rest = chars.as_str();
            }
            if open == 0 {
                break;
            }
        }
    }
}

fn is_name_start(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

fn is_name(c: char) -> bool {
    is_name_start(c) || c.is_alphanumeric() || c == '-' || c == '.'
}

fn split_name(rest: &str) -> (&str, &str) {
    let end = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
    rest.split_at(end)
}

fn local_name(rest: &str) -> Result<(String, &str), QueryError> {
    match rest.starts_with(is_name_start) {
        true => {
            let (name, rest) = split_name(rest);
            Ok((name.into(), rest))
        }
        false => error(format_args!("a name is missing at {:?}", cut(rest))),
    }
}

fn name(rest: &str) -> (Token, &str) {
    let (first, behind) = split_name(rest);
    if let Some(second) = behind.strip_prefix(':') {
        if second.starts_with(is_name_start) {
            let (local, behind) = split_name(second);
            return (Token::Name(Some(first.into()), local.into()), behind);
        }
        if let Some(behind) = second.strip_prefix('*') {
            return (Token::Name(Some(first.into()), "*".into()), behind);
        }
    }
    (Token::Name(None, first.into()), behind)
}

/// Headers may have names with colons in them: they are part of the variable's name.
fn variable(rest: &str) -> Result<(Token, &str), QueryError> {
    let (mut name, mut rest) = local_name(rest.trim_start())?;
    if let Some(behind) = rest.strip_prefix(':')
        && behind.starts_with(is_name_start)
    {
        let (local, behind) = split_name(behind);
        (name, rest) = (format!("{name}:{local}"), behind);
    }
    Ok((Token::Variable(name), rest))
}

fn behind_digits(text: &str) -> &str {
    text.trim_start_matches(|c: char| c.is_ascii_digit())
}

fn number(rest: &str) -> Result<(Token, &str), QueryError> {
    let mut behind = behind_digits(rest);
    if let Some(fraction) = behind.strip_prefix('.') {
        behind = behind_digits(fraction);
    }
    if let Some(exponent) = behind.strip_prefix(['e', 'E']) {
        behind = behind_digits(exponent.strip_prefix(['+', '-']).unwrap_or(exponent));
    }
    let text = rest.strip_suffix(behind).unwrap_or(rest);
    let rest = behind;
    match text.parse() {
        Ok(number) if !rest.starts_with(is_name_start) => Ok((Token::Number(number), rest)),
        _ => error(format_args!("{text:?} is no number")),
    }
}

/// What is behind the quote that begins a string. A quote in it stands twice; five characters can
/// be written as entities.
fn string(mut rest: &str, quote: char) -> Result<(Token, &str), QueryError> {
    let mut text = String::new();
    loop {
        let mut characters = rest.chars();
        let Some(first) = characters.next() else {
            return error("a string without an end");
        };
        let behind = characters.as_str();
        if first == '&' {
            let Some((character, behind)) = entity(behind) else {
                return error(format_args!("no entity at {:?}", cut(rest)));
            };
            text.push(character);
            rest = behind;
            continue;
        }
        rest = behind;
        if first != quote {
            text.push(first);
            continue;
        }
        match rest.strip_prefix(quote) {
            Some(behind) => {
                text.push(quote);
                rest = behind;
            }
            None => return Ok((Token::Text(text), rest)),
        }
    }
}

fn entity(rest: &str) -> Option<(char, &str)> {
    let (name, rest) = rest.split_once(';')?;
    let character = match name {
        "lt" => '<',
        "gt" => '>',
        "amp" => '&',
        "quot" => '"',
        "apos" => '\'',
        _ => {
            let number = name.strip_prefix('#')?;
            let number = match number.strip_prefix('x') {
                Some(digits) => u32::from_str_radix(digits, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(number)?
        }
    };
    Some((character, rest))
}

fn sign(rest: &str) -> Result<(Token, &str), QueryError> {
    let found = SIGNS
        .iter()
        .find_map(|sign| Some((*sign, rest.strip_prefix(*sign)?)));
    match found {
        Some((sign, behind)) => Ok((Token::Sign(sign), behind)),
        None => error(format_args!("nothing begins with {:?}", cut(rest))),
    }
}

/// The beginning of a text, for an error.
fn cut(text: &str) -> String {
    text.chars().take(20).collect()
}
