//! The text of `management.spec`, read with nom.

use nom::branch::alt;
use nom::bytes::complete::{is_not, tag, take_while1};
use nom::character::complete::char;
use nom::combinator::{all_consuming, cut, map, not, opt, peek, value, verify};
use nom::multi::{many0, many1, separated_list0};
use nom::sequence::{delimited, preceded, terminated};
use nom::{IResult, Parser};

use super::super::parse::{lexeme, number, sign, space, text_or_line};
use super::model::{Argument, Class, Event, Method, Notes, Package, Property, Statistic};

type Parsed<'a, T> = IResult<&'a str, T>;

/// Reads the description, or says at which line it stops making sense.
pub fn packages(text: &str) -> Result<Vec<Package>, String> {
    let parsed = all_consuming(terminated(many1(package), space)).parse(text);
    text_or_line(text, parsed)
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn name(input: &str) -> Parsed<'_, String> {
    map(lexeme(take_while1(is_name)), str::to_owned).parse(input)
}

fn path(input: &str) -> Parsed<'_, String> {
    let is_path = |c: char| is_name(c) || c == '.';
    map(lexeme(take_while1(is_path)), str::to_owned).parse(input)
}

/// A whole name that is `text`.
fn keyword<'a>(
    text: &'static str,
) -> impl Parser<&'a str, Output = &'a str, Error = nom::error::Error<&'a str>> {
    lexeme(terminated(tag(text), not(peek(take_while1(is_name)))))
}

fn quoted(input: &str) -> Parsed<'_, String> {
    let inside = delimited(char('"'), is_not("\"\n"), char('"'));
    map(lexeme(inside), str::to_owned).parse(input)
}

enum Part {
    Class(Class),
    Event(Event),
}

fn package(input: &str) -> Parsed<'_, Package> {
    let (input, name) = preceded(keyword("package"), cut(path)).parse(input)?;
    let part = alt((map(class, Part::Class), map(event, Part::Event)));
    let (input, parts) = cut(delimited(sign("{"), many1(part), sign("}"))).parse(input)?;
    let (mut classes, mut events) = (Vec::new(), Vec::new());
    for part in parts {
        match part {
            Part::Class(class) => classes.push(class),
            Part::Event(event) => events.push(event),
        }
    }
    let package = Package {
        name,
        classes,
        events,
    };
    Ok((input, package))
}

fn class(input: &str) -> Parsed<'_, Class> {
    let (input, name) = preceded(keyword("class"), cut(name)).parse(input)?;
    let (input, _) = cut(sign("{")).parse(input)?;
    let (input, properties) = many0(property_row).parse(input)?;
    let rows = delimited(
        (keyword("statistics"), sign("{")),
        many1(statistic_row),
        cut(sign("}")),
    );
    let (input, statistics) = opt(rows).parse(input)?;
    let rows = delimited(
        (keyword("methods"), sign("{")),
        many1(method),
        cut(sign("}")),
    );
    let (input, methods) = opt(rows).parse(input)?;
    let (input, _) = cut(sign("}")).parse(input)?;
    let class = Class {
        name,
        properties: properties.into_iter().flatten().collect(),
        statistics: statistics
            .unwrap_or_default()
            .into_iter()
            .flatten()
            .collect(),
        methods: methods.unwrap_or_default(),
    };
    Ok((input, class))
}

/// One or more names before a colon, and a type behind it.
fn names_and_type(input: &str) -> Parsed<'_, (Vec<String>, String)> {
    let (input, names) = many1(name).parse(input)?;
    let (input, _) = sign(":").parse(input)?;
    let (input, type_name) = cut(verify(name, |name: &String| {
        super::model::type_of(name).is_some()
    }))
    .parse(input)?;
    Ok((input, (names, type_name)))
}

fn notes(input: &str) -> Parsed<'_, Notes> {
    let access = alt((keyword("RO"), keyword("RC"), keyword("RW")));
    let (input, access) = opt(map(access, str::to_owned)).parse(input)?;
    let (input, is_index) = flag(input, "index")?;
    let (input, is_optional) = flag(input, "optional")?;
    let (input, unit) = opt(preceded(keyword("unit"), cut(quoted))).parse(input)?;
    let (input, min) = opt(preceded(keyword("min"), cut(number))).parse(input)?;
    let (input, about) = opt(quoted).parse(input)?;
    let notes = Notes {
        access,
        is_index,
        is_optional,
        unit,
        min,
        about,
    };
    Ok((input, notes))
}

fn flag<'a>(input: &'a str, word: &'static str) -> Parsed<'a, bool> {
    map(opt(value((), keyword(word))), |found| found.is_some()).parse(input)
}

fn reference(input: &str) -> Parsed<'_, (Option<String>, String)> {
    let (input, first) = preceded(sign("->"), cut(path)).parse(input)?;
    let (input, second) = opt(preceded(char(':'), name)).parse(input)?;
    Ok((
        input,
        match second {
            Some(class) => (Some(first), class),
            None => (None, first),
        },
    ))
}

fn property_row(input: &str) -> Parsed<'_, Vec<Property>> {
    let (input, (names, type_name)) = names_and_type(input)?;
    let (input, (refers_to, notes)) = (opt(reference), notes).parse(input)?;
    let property = |name| Property {
        name,
        type_name: type_name.clone(),
        refers_to: refers_to.clone(),
        notes: notes.clone(),
    };
    Ok((input, names.into_iter().map(property).collect()))
}

fn statistic_row(input: &str) -> Parsed<'_, Vec<Statistic>> {
    let (input, (names, type_name)) = names_and_type(input)?;
    let (input, notes) = notes(input)?;
    let statistic = |name| Statistic {
        name,
        type_name: type_name.clone(),
        notes: notes.clone(),
    };
    Ok((input, names.into_iter().map(statistic).collect()))
}

fn argument(input: &str) -> Parsed<'_, Argument> {
    let direction = alt((keyword("IO"), keyword("I"), keyword("O")));
    let (input, direction) = opt(map(direction, str::to_owned)).parse(input)?;
    let (input, (names, type_name)) = names_and_type(input)?;
    let (input, default) = opt(preceded(sign("="), cut(quoted))).parse(input)?;
    let [name] = <[String; 1]>::try_from(names).map_err(|_| {
        nom::Err::Failure(nom::error::Error::new(input, nom::error::ErrorKind::Many1))
    })?;
    let argument = Argument {
        name,
        type_name,
        direction: direction.unwrap_or_else(|| "I".to_owned()),
        default,
    };
    Ok((input, argument))
}

fn arguments(input: &str) -> Parsed<'_, Vec<Argument>> {
    delimited(
        sign("("),
        separated_list0(sign(","), argument),
        cut(sign(")")),
    )
    .parse(input)
}

fn method(input: &str) -> Parsed<'_, Method> {
    let (input, (name, arguments, about)) = (name, arguments, opt(quoted)).parse(input)?;
    let method = Method {
        name,
        arguments,
        about,
    };
    Ok((input, method))
}

fn event(input: &str) -> Parsed<'_, Event> {
    let (input, (name, severity, arguments)) =
        preceded(keyword("event"), cut((name, name, arguments))).parse(input)?;
    let event = Event {
        name,
        severity,
        arguments,
    };
    Ok((input, event))
}
