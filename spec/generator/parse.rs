//! The text of the description, read with nom.

use nom::branch::alt;
use nom::bytes::complete::{tag, take_while1};
use nom::character::complete::{char, digit1, hex_digit1, multispace1, not_line_ending};
use nom::combinator::{all_consuming, cut, map, map_res, not, opt, peek, value, verify};
use nom::error::{Error, ParseError};
use nom::multi::{many0, many1, separated_list1};
use nom::sequence::{delimited, preceded, separated_pair, terminated};
use nom::{IResult, Parser};

use super::model::{
    Alias, Class, Description, Duty, Enum, Field, Item, Kind, Notes, Presence, Role, Segment,
    Struct, Type, Width,
};

type Parsed<'a, T> = IResult<&'a str, T>;

/// Reads a description, or says at which line it stops making sense.
pub fn description(text: &str) -> Result<Description, String> {
    text_or_line(text, all_consuming(terminated(top, space)).parse(text))
}

/// What was parsed of the whole of `text`, or at which line it stops making sense.
pub(super) fn text_or_line<T>(text: &str, parsed: Parsed<'_, T>) -> Result<T, String> {
    parsed.map(|(_, parsed)| parsed).map_err(|error| {
        let left = match error {
            nom::Err::Error(error) | nom::Err::Failure(error) => error.input.len(),
            nom::Err::Incomplete(_) => 0,
        };
        let line = text[..text.len() - left].lines().count();
        format!("the description makes no sense from line {line}")
    })
}

/// White space and comments.
pub(super) fn space(input: &str) -> Parsed<'_, ()> {
    let comment = (char('#'), not_line_ending);
    value((), many0(alt((value((), multispace1), value((), comment))))).parse(input)
}

/// `inner` behind any white space.
pub(super) fn lexeme<'a, T, P>(inner: P) -> impl Parser<&'a str, Output = T, Error = Error<&'a str>>
where
    P: Parser<&'a str, Output = T, Error = Error<&'a str>>,
{
    preceded(space, inner)
}

pub(super) fn sign<'a>(
    text: &'static str,
) -> impl Parser<&'a str, Output = &'a str, Error = Error<&'a str>> {
    lexeme(tag(text))
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '.')
}

/// A whole word that is `text`.
fn keyword<'a>(
    text: &'static str,
) -> impl Parser<&'a str, Output = &'a str, Error = Error<&'a str>> {
    lexeme(terminated(tag(text), not(peek(take_while1(is_word)))))
}

fn word(input: &str) -> Parsed<'_, String> {
    let (input, word) = lexeme(take_while1(is_word)).parse(input)?;
    if word.starts_with(|c: char| c.is_ascii_alphabetic()) {
        Ok((input, word.to_owned()))
    } else {
        Err(nom::Err::Error(Error::from_error_kind(
            input,
            nom::error::ErrorKind::Alpha,
        )))
    }
}

pub(super) fn number(input: &str) -> Parsed<'_, u32> {
    let hex = map_res(preceded(tag("0x"), hex_digit1), |digits| {
        u32::from_str_radix(digits, 16)
    });
    let decimal = map_res(digit1, str::parse);
    lexeme(alt((hex, decimal))).parse(input)
}

fn octet(input: &str) -> Parsed<'_, u8> {
    map_res(number, u8::try_from).parse(input)
}

fn size(input: &str) -> Parsed<'_, usize> {
    map(number, |number| number as usize).parse(input)
}

enum Part {
    Types(Vec<Type>),
    Constant(String, u32),
    Enum(Enum),
    Alias(Alias),
    Class(Class),
}

fn top(input: &str) -> Parsed<'_, Description> {
    let types = delimited((keyword("types"), sign("{")), many1(type_row), sign("}"));
    let constant = preceded(keyword("constant"), (word, number));
    let part = alt((
        map(types, Part::Types),
        map(constant, |(name, value)| Part::Constant(name, value)),
        map(enumeration, Part::Enum),
        map(alias, Part::Alias),
        map(class, Part::Class),
    ));
    let (input, parts) = many1(part).parse(input)?;
    let mut description = Description::default();
    for part in parts {
        match part {
            Part::Types(types) => description.types.extend(types),
            Part::Constant(name, value) => description.constants.push((name, value)),
            Part::Enum(item) => description.enums.push(item),
            Part::Alias(item) => description.aliases.push(item),
            Part::Class(item) => description.classes.push(item),
        }
    }
    Ok((input, description))
}

fn type_row(input: &str) -> Parsed<'_, Type> {
    let code = alt((map(octet, Some), value(None, sign("-"))));
    let width = alt((
        map(preceded(keyword("fixed"), size), Width::Fixed),
        map(preceded(keyword("counted"), size), Width::Counted),
    ));
    map((word, code, width), |(name, code, width)| Type {
        name,
        code,
        width,
    })
    .parse(input)
}

fn enumeration(input: &str) -> Parsed<'_, Enum> {
    let values = delimited(
        sign("{"),
        separated_list1(sign(","), (word, number)),
        sign("}"),
    );
    let (input, (name, base)) =
        preceded(keyword("enum"), cut(separated_pair(word, sign(":"), word))).parse(input)?;
    let (input, values) = cut(values).parse(input)?;
    Ok((input, Enum { name, base, values }))
}

fn alias(input: &str) -> Parsed<'_, Alias> {
    let pair = preceded(keyword("alias"), separated_pair(word, sign("="), word));
    map(pair, |(name, target)| Alias { name, target }).parse(input)
}

fn roles(input: &str) -> Parsed<'_, Vec<Role>> {
    let duty = alt((
        value(Duty::Must, char('!')),
        value(Duty::Should, char('+')),
        value(Duty::May, char('?')),
    ));
    let role = map((word, duty), |(name, duty)| Role { name, duty });
    preceded(keyword("to"), many1(role)).parse(input)
}

fn notes(input: &str) -> Parsed<'_, Notes> {
    let list = |name| {
        preceded(
            (keyword(name), sign("(")),
            terminated(many1(word), sign(")")),
        )
    };
    let raise = separated_pair(word, sign("="), word);
    let raises = delimited((keyword("raises"), sign("(")), many1(raise), sign(")"));
    map((opt(list("rules")), opt(raises)), |(rules, raises)| Notes {
        rules: rules.unwrap_or_default(),
        raises: raises.unwrap_or_default(),
    })
    .parse(input)
}

enum ClassPart {
    Enum(Enum),
    Alias(Alias),
    Struct(Struct),
    Item(Item),
}

fn class(input: &str) -> Parsed<'_, Class> {
    let part = alt((
        map(enumeration, ClassPart::Enum),
        map(alias, ClassPart::Alias),
        map(structure, ClassPart::Struct),
        map(item, ClassPart::Item),
    ));
    let (input, (code, name, roles)) =
        preceded(keyword("class"), cut((octet, word, roles))).parse(input)?;
    let (input, (notes, parts)) =
        cut(delimited(sign("{"), (notes, many0(part)), sign("}"))).parse(input)?;
    let (enums, aliases, structs, items) = Default::default();
    let mut class = Class {
        code,
        name,
        roles,
        notes,
        enums,
        aliases,
        structs,
        items,
    };
    for part in parts {
        match part {
            ClassPart::Enum(item) => class.enums.push(item),
            ClassPart::Alias(item) => class.aliases.push(item),
            ClassPart::Struct(item) => class.structs.push(item),
            ClassPart::Item(item) => class.items.push(item),
        }
    }
    Ok((input, class))
}

fn structure(input: &str) -> Parsed<'_, Struct> {
    let widths = (
        preceded(keyword("size"), size),
        preceded(keyword("pack"), size),
    );
    let (input, (code, name, (size, pack), bare)) = preceded(
        keyword("struct"),
        cut((opt(octet), word, widths, opt(keyword("bare")))),
    )
    .parse(input)?;
    let (input, fields) = cut(delimited(sign("{"), many0(field), sign("}"))).parse(input)?;
    Ok((
        input,
        Struct {
            code,
            name,
            size,
            pack,
            bare: bare.is_some(),
            fields,
        },
    ))
}

fn field(input: &str) -> Parsed<'_, Field> {
    let presence = alt((
        value(Presence::Nullable, (char('!'), keyword("nullable"))),
        value(Presence::Required, char('!')),
        value(Presence::Empty, (sign("="), sign("\"\""))),
        value(Presence::Set, (sign("="), sign("1"))),
    ));
    let (input, name) = terminated(word, char(':')).parse(input)?;
    let (input, (type_name, presence, notes)) = cut((word, opt(presence), notes)).parse(input)?;
    let presence = presence.unwrap_or(Presence::Optional);
    Ok((
        input,
        Field {
            name,
            type_name,
            presence,
            notes,
        },
    ))
}

fn item(input: &str) -> Parsed<'_, Item> {
    let kind = alt((
        value(Kind::Control, keyword("control")),
        value(Kind::Command, keyword("command")),
    ));
    let (input, (kind, (code, name, roles))) = (kind, cut((octet, word, roles))).parse(input)?;
    let reply = verify(word, |word: &String| word != "result");
    let (input, replies) = opt(preceded(keyword("replies"), many1(reply))).parse(input)?;
    let (input, result) = opt(preceded(keyword("result"), word)).parse(input)?;
    let (input, _) = cut(sign("{")).parse(input)?;
    let (input, (notes, fields)) = (notes, many0(field)).parse(input)?;
    let (input, header) = opt(header).parse(input)?;
    let (input, body) = opt(preceded(keyword("body"), opt(char('!')))).parse(input)?;
    let (input, _) = cut(sign("}")).parse(input)?;
    let body = body.map(|mark| Segment {
        required: mark.is_some(),
        entries: Vec::new(),
    });
    let replies = replies.unwrap_or_default();
    Ok((
        input,
        Item {
            kind,
            code,
            name,
            roles,
            replies,
            result,
            notes,
            fields,
            header,
            body,
        },
    ))
}

fn header(input: &str) -> Parsed<'_, Segment> {
    let entries = delimited(sign("("), many1(word), sign(")"));
    let (input, (mark, entries)) =
        preceded(keyword("header"), (opt(char('!')), entries)).parse(input)?;
    Ok((
        input,
        Segment {
            required: mark.is_some(),
            entries,
        },
    ))
}
