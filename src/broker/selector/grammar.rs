//! The grammar of a selector, from the loosest to the tightest binding.
//!
//! ```text
//! selector   = [ or ]                                  nothing at all selects everything
//! or         = and { OR and }
//! and        = condition { AND condition }
//! condition  = NOT condition
//!            | sum [ IS [ NOT ] NULL
//!                  | [ NOT ] LIKE text [ ESCAPE text ]
//!                  | [ NOT ] BETWEEN sum AND sum
//!                  | [ NOT ] IN "(" sum { "," sum } ")"
//!                  | ( "=" | "<>" | "<" | "<=" | ">" | ">=" ) sum ]
//! sum        = product { ( "+" | "-" ) product }
//! product    = signed { ( "*" | "/" ) signed }
//! signed     = ( "+" | "-" ) signed | "(" or ")" | primary
//! primary    = name | text | number | TRUE | FALSE
//! ```
//!
//! This is qpidd's grammar; it takes a `+` only before a primary, and this one before a bracket or
//! another sign too, as JMS has it. Whatever may begin a rule is tried, and what has begun must go
//! on: so the first fault met is the one to report.

use std::cell::RefCell;
use std::collections::BTreeMap;

use compact_str::CompactString;
use nom::branch::alt;
use nom::bytes::complete::tag;
use nom::character::complete::anychar;
use nom::combinator::{map_opt, opt, value};
use nom::multi::separated_list1;
use nom::sequence::{preceded, terminated};
use nom::{IResult, Parser};

use super::environment::identifier::canonical;
use super::expression::{Comparison, Expression, Operation};
use super::lexical::{Fault, Keyword, any_keyword, blanks, keyword, name, required, symbol, text};
use super::limits::{DEPTH_MAX, IDENTIFIERS_MAX};
use super::number::{Number, approximate, approximate_hexadecimal, exact, number};
use super::pattern::Pattern;

/// A tree and the identifiers in it, by their canonical names.
pub(super) struct Parsed {
    pub(super) expression: Expression,
    pub(super) identifiers: Box<[CompactString]>,
}

type Read<'a> = IResult<&'a str, Expression, Fault<'a>>;

/// Reads a whole selector.
pub(super) fn parse(input: &str) -> Result<Parsed, Fault<'_>> {
    let grammar = Grammar::default();
    match grammar.selector(input) {
        Ok((_, expression)) => Ok(Parsed {
            expression,
            identifiers: grammar.identifiers(),
        }),
        Err(nom::Err::Error(fault) | nom::Err::Failure(fault)) => Err(fault),
        // Only parsers of streams ask for more; these are not.
        Err(nom::Err::Incomplete(_)) => Err(Fault::at("", "more text")),
    }
}

/// The rules, and the identifiers met so far with their places.
#[derive(Default)]
struct Grammar {
    places: RefCell<BTreeMap<CompactString, u16>>,
}

impl Grammar {
    fn identifiers(self) -> Box<[CompactString]> {
        let mut named: Vec<_> = self.places.into_inner().into_iter().collect();
        named.sort_by_key(|(_, place)| *place);
        named.into_iter().map(|(name, _)| name).collect()
    }

    fn selector<'a>(&self, input: &'a str) -> Read<'a> {
        let (rest, _) = blanks(input)?;
        if rest.is_empty() {
            return Ok((rest, Expression::Bool(true)));
        }
        let (rest, expression) = self.or(rest, 0)?;
        let (rest, _) = blanks(rest)?;
        if rest.is_empty() {
            return Ok((rest, expression));
        }
        Err(nom::Err::Failure(Fault::at(rest, "an operator or the end")))
    }

    fn or<'a>(&self, input: &'a str, depth: usize) -> Read<'a> {
        let (rest, terms) = terms(input, Keyword::Or, |input| self.and(input, depth))?;
        Ok((rest, flat(terms, Expression::Or)))
    }

    fn and<'a>(&self, input: &'a str, depth: usize) -> Read<'a> {
        let (rest, terms) = terms(input, Keyword::And, |input| self.condition(input, depth))?;
        Ok((rest, flat(terms, Expression::And)))
    }

    fn condition<'a>(&self, input: &'a str, depth: usize) -> Read<'a> {
        if let (rest, Some(_)) = opt(keyword(Keyword::Not)).parse(input)? {
            let (rest, of) = self.condition(rest, deeper(input, depth)?)?;
            return Ok((rest, Expression::Not(Box::new(of))));
        }
        let (rest, left) = self.sum(input, depth)?;
        self.condition_on(rest, left, depth)
    }

    /// What is asked of `left`, if anything.
    fn condition_on<'a>(&self, input: &'a str, left: Expression, depth: usize) -> Read<'a> {
        if let (rest, Some(comparison)) = opt(comparison).parse(input)? {
            let (rest, right) = self.sum(rest, depth)?;
            let sides = Box::new([left, right]);
            return Ok((rest, Expression::Compare { comparison, sides }));
        }
        match opt(any_keyword).parse(input)? {
            (rest, Some(Keyword::Is)) => is_null(rest, left),
            (rest, Some(Keyword::Like)) => like(rest, left, false),
            (rest, Some(Keyword::Between)) => self.between(rest, left, false, depth),
            (rest, Some(Keyword::In)) => self.list(rest, left, false, depth),
            (rest, Some(Keyword::Not)) => self.negated(rest, left, depth),
            _ => Ok((input, left)),
        }
    }

    /// The conditions that may have a `NOT` before their word, after that `NOT`.
    fn negated<'a>(&self, input: &'a str, left: Expression, depth: usize) -> Read<'a> {
        match opt(any_keyword).parse(input)? {
            (rest, Some(Keyword::Like)) => like(rest, left, true),
            (rest, Some(Keyword::Between)) => self.between(rest, left, true, depth),
            (rest, Some(Keyword::In)) => self.list(rest, left, true, depth),
            _ => {
                let (rest, _) = blanks(input)?;
                Err(nom::Err::Failure(Fault::at(
                    rest,
                    "LIKE, BETWEEN or IN after NOT",
                )))
            }
        }
    }

    fn between<'a>(
        &self,
        input: &'a str,
        value: Expression,
        is_negated: bool,
        depth: usize,
    ) -> Read<'a> {
        let (rest, lower) = self.sum(input, depth)?;
        let (rest, _) = required("AND between the bounds of BETWEEN", keyword(Keyword::And))(rest)?;
        let (rest, upper) = self.sum(rest, depth)?;
        let operands = Box::new([value, lower, upper]);
        Ok((
            rest,
            Expression::Between {
                operands,
                is_negated,
            },
        ))
    }

    fn list<'a>(&self, input: &'a str, of: Expression, is_negated: bool, depth: usize) -> Read<'a> {
        let (rest, _) = required("( after IN", symbol("("))(input)?;
        let (rest, list) =
            separated_list1(symbol(","), |rest| self.sum(rest, depth)).parse(rest)?;
        let (rest, _) = required(", or ) in the list of IN", symbol(")"))(rest)?;
        let (of, list) = (Box::new(of), list.into_boxed_slice());
        Ok((
            rest,
            Expression::In {
                of,
                list,
                is_negated,
            },
        ))
    }

    fn sum<'a>(&self, input: &'a str, depth: usize) -> Read<'a> {
        let operation = |sign| match sign {
            '+' => Some(Operation::Add),
            '-' => Some(Operation::Subtract),
            _ => None,
        };
        chain(input, operation, |input| self.product(input, depth))
    }

    fn product<'a>(&self, input: &'a str, depth: usize) -> Read<'a> {
        let operation = |sign| match sign {
            '*' => Some(Operation::Multiply),
            '/' => Some(Operation::Divide),
            _ => None,
        };
        chain(input, operation, |input| self.signed(input, depth))
    }

    fn signed<'a>(&self, input: &'a str, depth: usize) -> Read<'a> {
        let (start, _) = blanks(input)?;
        let mut characters = start.chars();
        match characters.next() {
            Some('(') => self.bracketed(characters.as_str(), deeper(start, depth)?),
            Some('+') => self.signed(characters.as_str(), deeper(start, depth)?),
            Some('-') => self.negative(characters.as_str(), deeper(start, depth)?),
            _ => self.primary(start),
        }
    }

    /// What follows an opening bracket, and the closing one.
    fn bracketed<'a>(&self, input: &'a str, depth: usize) -> Read<'a> {
        terminated(
            |input| self.or(input, depth),
            required("an operator or )", symbol(")")),
        )
        .parse(input)
    }

    /// What follows a minus. A whole number takes it in, or the lowest one could not be written.
    fn negative<'a>(&self, input: &'a str, depth: usize) -> Read<'a> {
        let (start, _) = blanks(input)?;
        if let (rest, Some(Number::Whole { radix, digits })) = opt(number).parse(start)? {
            let literal = exact(radix, digits, true).map(Expression::Exact);
            return fitting(start, rest, literal, "a whole number of at most 64 bits");
        }
        let (rest, of) = self.signed(start, depth)?;
        Ok((rest, Expression::Negative(Box::new(of))))
    }

    fn primary<'a>(&self, input: &'a str) -> Read<'a> {
        required("a name, a value or (", |input| self.literal_or_name(input))(input)
    }

    /// `input` begins with no blank.
    fn literal_or_name<'a>(&self, input: &'a str) -> Read<'a> {
        match input.chars().next() {
            Some('0'..='9' | '.') => number_literal(input),
            Some('\'') => text.map(|text| Expression::Text(text.into())).parse(input),
            _ => match opt(any_keyword).parse(input)? {
                (rest, Some(Keyword::True)) => Ok((rest, Expression::Bool(true))),
                (rest, Some(Keyword::False)) => Ok((rest, Expression::Bool(false))),
                _ => self.identifier(input),
            },
        }
    }

    fn identifier<'a>(&self, input: &'a str) -> Read<'a> {
        let (rest, name) = name(input)?;
        let name = canonical(&name);
        let mut places = self.places.borrow_mut();
        let place = match places.get(name) {
            Some(place) => *place,
            None => match u16::try_from(places.len()) {
                Ok(next) if places.len() < IDENTIFIERS_MAX => {
                    places.insert(name.into(), next);
                    next
                }
                _ => {
                    let fault = Fault::at(input, "fewer different names");
                    return Err(nom::Err::Failure(fault));
                }
            },
        };
        Ok((rest, Expression::Identifier(place)))
    }
}

/// One level further in, if there is room for it.
fn deeper(input: &str, depth: usize) -> Result<usize, nom::Err<Fault<'_>>> {
    if depth < DEPTH_MAX {
        return Ok(depth + 1);
    }
    Err(nom::Err::Failure(Fault::at(
        input,
        "fewer levels of brackets, NOT and signs",
    )))
}

/// A term, and those that a `separator` joins to it.
fn terms<'a>(
    input: &'a str,
    separator: Keyword,
    term: impl Fn(&'a str) -> Read<'a>,
) -> IResult<&'a str, (Expression, Vec<Expression>), Fault<'a>> {
    let (mut rest, first) = term(input)?;
    let mut others = Vec::new();
    while let (after, Some(_)) = opt(keyword(separator)).parse(rest)? {
        let (after, other) = term(after)?;
        others.push(other);
        rest = after;
    }
    Ok((rest, (first, others)))
}

/// A single term as itself, several as one node.
fn flat(
    (first, others): (Expression, Vec<Expression>),
    node: impl Fn(Box<[Expression]>) -> Expression,
) -> Expression {
    if others.is_empty() {
        return first;
    }
    node(std::iter::once(first).chain(others).collect())
}

/// An operand, and those that the sign of an `operation` joins to it.
fn chain<'a>(
    input: &'a str,
    operation: fn(char) -> Option<Operation>,
    operand: impl Fn(&'a str) -> Read<'a>,
) -> Read<'a> {
    let sign = map_opt(preceded(blanks, anychar), operation);
    let mut sign = opt(sign);
    let (mut rest, first) = operand(input)?;
    let mut others = Vec::new();
    while let (after, Some(operation)) = sign.parse(rest)? {
        let (after, other) = operand(after)?;
        others.push((operation, other));
        rest = after;
    }
    if others.is_empty() {
        return Ok((rest, first));
    }
    let (first, others) = (Box::new(first), others.into_boxed_slice());
    Ok((rest, Expression::Arithmetic { first, others }))
}

fn comparison(input: &str) -> IResult<&str, Comparison, Fault<'_>> {
    // The longer signs first: `<` begins three of them.
    let sign = alt((
        value(Comparison::Equal, tag("=")),
        value(Comparison::NotEqual, tag("<>")),
        value(Comparison::LessOrEqual, tag("<=")),
        value(Comparison::GreaterOrEqual, tag(">=")),
        value(Comparison::Less, tag("<")),
        value(Comparison::Greater, tag(">")),
    ));
    preceded(blanks, sign).parse(input)
}

fn is_null(input: &str, of: Expression) -> Read<'_> {
    let (rest, negation) = opt(keyword(Keyword::Not)).parse(input)?;
    let is_negated = negation.is_some();
    let expected = if is_negated {
        "NULL after IS NOT"
    } else {
        "NULL or NOT NULL after IS"
    };
    let (rest, _) = required(expected, keyword(Keyword::Null))(rest)?;
    Ok((
        rest,
        Expression::IsNull {
            of: Box::new(of),
            is_negated,
        },
    ))
}

fn like(input: &str, of: Expression, is_negated: bool) -> Read<'_> {
    let (rest, pattern) = required("a text after LIKE", text)(input)?;
    let (rest, escape) = match opt(keyword(Keyword::Escape)).parse(rest)? {
        (rest, Some(_)) => required("a text after ESCAPE", escape)(rest)?,
        (rest, None) => (rest, None),
    };
    let pattern = Box::new(Pattern::compile(&pattern, escape));
    Ok((
        rest,
        Expression::Like {
            of: Box::new(of),
            pattern,
            is_negated,
        },
    ))
}

/// The escape character of a `LIKE`. An empty text means none, as in qpidd.
fn escape(input: &str) -> IResult<&str, Option<char>, Fault<'_>> {
    let (start, _) = blanks(input)?;
    let (rest, text) = text(start)?;
    let mut characters = text.chars();
    let expected = match (characters.next(), characters.next()) {
        (Some('%' | '_'), None) => "another ESCAPE character than % and _",
        (character, None) => return Ok((rest, character)),
        _ => "a single character after ESCAPE",
    };
    Err(nom::Err::Failure(Fault::at(start, expected)))
}

fn number_literal(input: &str) -> Read<'_> {
    let (rest, number) = number(input)?;
    let (literal, expected) = match number {
        Number::Whole { radix, digits } => (
            exact(radix, digits, false).map(Expression::Exact),
            "a whole number of at most 64 bits",
        ),
        Number::Decimal(spelling) => (
            approximate(spelling).map(Expression::Approximate),
            "a number in the range of a double",
        ),
        Number::Hexadecimal { digits, exponent } => (
            approximate_hexadecimal(digits, exponent).map(Expression::Approximate),
            "a number in the range of a double",
        ),
    };
    fitting(input, rest, literal, expected)
}

/// The literal, or the fault that no value stands for what is written at `start`.
fn fitting<'a>(
    start: &'a str,
    rest: &'a str,
    literal: Option<Expression>,
    expected: &'static str,
) -> Read<'a> {
    match literal {
        Some(literal) => Ok((rest, literal)),
        None => Err(nom::Err::Failure(Fault::at(start, expected))),
    }
}
