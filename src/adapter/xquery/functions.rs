//! The functions of the subset: those of XPath 2.0 about truths, texts, numbers, nodes and sequences that
//! need no regular expression, no date and no collation; and the constructors of some types.

use std::rc::Rc;

use super::evaluation::{Evaluation, Focus};
use super::expression::Expression;
use super::value::{Atom, Item, Sequence, text_number};
use super::{QueryError, error};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    True,
    False,
    Not,
    Boolean,
    String,
    Number,
    Count,
    Exists,
    Empty,
    Sum,
    Average,
    Minimum,
    Maximum,
    Absolute,
    Floor,
    Ceiling,
    Round,
    Contains,
    StartsWith,
    EndsWith,
    Substring,
    SubstringBefore,
    SubstringAfter,
    StringLength,
    NormalizeSpace,
    UpperCase,
    LowerCase,
    Translate,
    Concat,
    StringJoin,
    Position,
    Last,
    Name,
    LocalName,
    NamespaceUri,
    Data,
    Root,
    /// `xs:integer` and its kin: a whole number of a value.
    Whole,
    /// `xs:double` and its kin.
    Double,
}

/// Name, function, and how many arguments it has at least and at most.
const NAMED: [(&str, Function, usize, usize); 37] = [
    ("true", Function::True, 0, 0),
    ("false", Function::False, 0, 0),
    ("not", Function::Not, 1, 1),
    ("boolean", Function::Boolean, 1, 1),
    ("string", Function::String, 0, 1),
    ("number", Function::Number, 0, 1),
    ("count", Function::Count, 1, 1),
    ("exists", Function::Exists, 1, 1),
    ("empty", Function::Empty, 1, 1),
    ("sum", Function::Sum, 1, 1),
    ("avg", Function::Average, 1, 1),
    ("min", Function::Minimum, 1, 1),
    ("max", Function::Maximum, 1, 1),
    ("abs", Function::Absolute, 1, 1),
    ("floor", Function::Floor, 1, 1),
    ("ceiling", Function::Ceiling, 1, 1),
    ("round", Function::Round, 1, 1),
    ("contains", Function::Contains, 2, 2),
    ("starts-with", Function::StartsWith, 2, 2),
    ("ends-with", Function::EndsWith, 2, 2),
    ("substring", Function::Substring, 2, 3),
    ("substring-before", Function::SubstringBefore, 2, 2),
    ("substring-after", Function::SubstringAfter, 2, 2),
    ("string-length", Function::StringLength, 0, 1),
    ("normalize-space", Function::NormalizeSpace, 0, 1),
    ("upper-case", Function::UpperCase, 1, 1),
    ("lower-case", Function::LowerCase, 1, 1),
    ("translate", Function::Translate, 3, 3),
    ("concat", Function::Concat, 2, usize::MAX),
    ("string-join", Function::StringJoin, 2, 2),
    ("position", Function::Position, 0, 0),
    ("last", Function::Last, 0, 0),
    ("name", Function::Name, 0, 1),
    ("local-name", Function::LocalName, 0, 1),
    ("namespace-uri", Function::NamespaceUri, 0, 1),
    ("data", Function::Data, 1, 1),
    ("root", Function::Root, 0, 1),
];

impl Function {
    /// The function of a name with so many arguments.
    pub fn named(prefix: Option<&str>, name: &str, count: usize) -> Result<Function, QueryError> {
        let of_type = match (prefix, name) {
            (Some("xs"), "string") => Some(Function::String),
            (Some("xs"), "boolean") => Some(Function::Boolean),
            (Some("xs"), "integer" | "int" | "long" | "short") => Some(Function::Whole),
            (Some("xs"), "double" | "float" | "decimal") => Some(Function::Double),
            _ => None,
        };
        if let Some(function) = of_type {
            return match count {
                1 => Ok(function),
                _ => error(format_args!("xs:{name} has one argument")),
            };
        }
        let found = NAMED.iter().find(|(found, ..)| *found == name);
        match found {
            Some((_, function, least, most)) if matches!(prefix, None | Some("fn")) => {
                match (*least..=*most).contains(&count) {
                    true => Ok(*function),
                    false => error(format_args!("{name} has not {count} arguments")),
                }
            }
            _ => error(format_args!("the function {name} is not of the subset")),
        }
    }

    /// Whether the function, with so many arguments, is about the item at hand.
    pub fn is_about_item(self, count: usize) -> bool {
        use Function::{
            LocalName, Name, NamespaceUri, NormalizeSpace, Number, Root, String, StringLength,
        };
        let takes = [
            String,
            Number,
            StringLength,
            NormalizeSpace,
            Name,
            LocalName,
            NamespaceUri,
            Root,
        ];
        count == 0 && takes.contains(&self)
    }
}

/// The value of a call.
pub(super) fn call<'a>(
    run: &mut Evaluation<'a>,
    function: Function,
    arguments: &'a [Expression],
    focus: &Focus<'a>,
) -> Result<Sequence<'a>, QueryError> {
    match function {
        Function::Position => return Ok(vec![Item::Number(focus.position as f64)]),
        Function::Last => return Ok(vec![Item::Number(focus.size as f64)]),
        _ => {}
    }
    let mut values = Vec::with_capacity(arguments.len());
    for argument in arguments {
        values.push(run.evaluate(argument, focus)?);
    }
    if function.is_about_item(arguments.len()) {
        values.push(vec![focus.item()?.clone()]);
    }
    match function {
        Function::True | Function::False => truth(function == Function::True),
        Function::Not => truth(!run.truth_of(argument(&values, 0)?)?),
        Function::Boolean => truth(run.truth_of(argument(&values, 0)?)?),
        Function::Count => number(argument(&values, 0)?.len() as f64),
        Function::Exists => truth(!argument(&values, 0)?.is_empty()),
        Function::Empty => truth(argument(&values, 0)?.is_empty()),
        Function::Data => {
            let atoms = run.atoms(argument(&values, 0)?)?;
            Ok(atoms.into_iter().map(item).collect())
        }
        Function::Number => {
            let value = run
                .one(argument(&values, 0)?)?
                .and_then(|value| value.as_number());
            number(value.unwrap_or(f64::NAN))
        }
        Function::Sum | Function::Average | Function::Minimum | Function::Maximum => {
            aggregate(run, function, argument(&values, 0)?)
        }
        Function::Absolute
        | Function::Floor
        | Function::Ceiling
        | Function::Round
        | Function::Whole
        | Function::Double => numeric(run, function, argument(&values, 0)?),
        Function::Name | Function::LocalName | Function::NamespaceUri | Function::Root => {
            of_node(function, argument(&values, 0)?)
        }
        _ => textual(run, function, &values),
    }
}

/// One of the arguments of a call. They have been counted when the query was read.
fn argument<'v, 'a>(
    values: &'v [Sequence<'a>],
    place: usize,
) -> Result<&'v Sequence<'a>, QueryError> {
    match values.get(place) {
        Some(value) => Ok(value),
        None => error("an argument is missing"),
    }
}

fn item<'a>(atom: Atom) -> Item<'a> {
    match atom {
        Atom::Untyped(text) | Atom::Text(text) => Item::Text(text),
        Atom::Number(number) => Item::Number(number),
        Atom::Truth(truth) => Item::Truth(truth),
    }
}

fn truth<'a>(truth: bool) -> Result<Sequence<'a>, QueryError> {
    Ok(vec![Item::Truth(truth)])
}

fn number<'a>(number: f64) -> Result<Sequence<'a>, QueryError> {
    Ok(vec![Item::Number(number)])
}

fn text<'a>(text: impl Into<Rc<str>>) -> Result<Sequence<'a>, QueryError> {
    Ok(vec![Item::Text(text.into())])
}

fn aggregate<'a>(
    run: &mut Evaluation<'a>,
    function: Function,
    values: &Sequence<'a>,
) -> Result<Sequence<'a>, QueryError> {
    let mut numbers = Vec::new();
    for atom in run.atoms(values)? {
        numbers.push(atom.number()?);
    }
    let sum: f64 = numbers.iter().sum();
    if function == Function::Sum {
        return number(sum);
    }
    if numbers.is_empty() {
        return Ok(Vec::new());
    }
    if numbers.iter().any(|number| number.is_nan()) {
        return number(f64::NAN);
    }
    number(match function {
        Function::Average => sum / numbers.len() as f64,
        Function::Minimum => numbers.iter().copied().fold(f64::INFINITY, f64::min),
        _ => numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max),
    })
}

fn numeric<'a>(
    run: &mut Evaluation<'a>,
    function: Function,
    value: &Sequence<'a>,
) -> Result<Sequence<'a>, QueryError> {
    let Some(value) = run.one(value)? else {
        return Ok(Vec::new());
    };
    let value = match function {
        Function::Whole | Function::Double => match &value {
            Atom::Untyped(text) | Atom::Text(text) => match text_number(text) {
                Some(number) => number,
                None => return error(format_args!("{text:?} is no number")),
            },
            other => other.as_number().unwrap_or(f64::NAN),
        },
        _ => value.number()?,
    };
    number(match function {
        Function::Absolute => value.abs(),
        Function::Floor => value.floor(),
        Function::Ceiling => value.ceil(),
        // Half is rounded up, also below zero.
        Function::Round => (value + 0.5).floor(),
        Function::Whole if !value.is_finite() => return error("no whole number"),
        Function::Whole => value.trunc(),
        _ => value,
    })
}

fn of_node<'a>(function: Function, value: &Sequence<'a>) -> Result<Sequence<'a>, QueryError> {
    let [item] = &value[..] else {
        return match value.is_empty() {
            true if function == Function::Root => Ok(Vec::new()),
            true => text(""),
            false => error("a name is of one node"),
        };
    };
    let (namespace, local, prefix) = match item {
        Item::Node(node) if function == Function::Root => {
            return Ok(vec![Item::Node(node.document().root())]);
        }
        Item::Attribute(node, _) if function == Function::Root => {
            return Ok(vec![Item::Node(node.document().root())]);
        }
        Item::Node(node) => {
            let name = node.tag_name();
            let prefix = name.namespace().and_then(|uri| node.lookup_prefix(uri));
            (name.namespace(), name.name(), prefix)
        }
        Item::Attribute(node, place) => match node.attributes().nth(*place) {
            Some(found) => {
                let prefix = found.namespace().and_then(|uri| node.lookup_prefix(uri));
                (found.namespace(), found.name(), prefix)
            }
            None => (None, "", None),
        },
        _ => return error("a name is of a node"),
    };
    match (function, prefix) {
        (Function::NamespaceUri, _) => text(namespace.unwrap_or_default()),
        (Function::Name, Some(prefix)) if !prefix.is_empty() => text(format!("{prefix}:{local}")),
        _ => text(local),
    }
}

fn textual<'a>(
    run: &mut Evaluation<'a>,
    function: Function,
    values: &[Sequence<'a>],
) -> Result<Sequence<'a>, QueryError> {
    let mut texts = Vec::with_capacity(values.len());
    if function == Function::StringJoin {
        let all = run.atoms(argument(values, 0)?)?;
        let between = run.text(argument(values, 1)?)?;
        let all: Vec<String> = all.iter().map(Atom::text).collect();
        let joined = all.join(&between);
        run.spend_octets(joined.len())?;
        return text(joined);
    }
    if function == Function::Substring {
        return substring(run, values);
    }
    for value in values {
        let value = run.text(value)?;
        run.spend_octets(value.len())?;
        texts.push(value);
    }
    let text_at = |at: usize| texts.get(at).map_or("", String::as_str);
    let (first, second) = (text_at(0), text_at(1));
    match function {
        Function::Contains => truth(first.contains(second)),
        Function::StartsWith => truth(first.starts_with(second)),
        Function::EndsWith => truth(first.ends_with(second)),
        Function::SubstringBefore => text(first.split_once(second).map_or("", |(cut, _)| cut)),
        Function::SubstringAfter => text(first.split_once(second).map_or("", |(_, cut)| cut)),
        Function::StringLength => number(first.chars().count() as f64),
        Function::NormalizeSpace => {
            let words: Vec<&str> = first.split_ascii_whitespace().collect();
            text(words.join(" "))
        }
        Function::UpperCase => text(first.to_uppercase()),
        Function::LowerCase => text(first.to_lowercase()),
        Function::Concat => text(texts.concat()),
        Function::Translate => {
            let from: Vec<char> = second.chars().collect();
            let to: Vec<char> = text_at(2).chars().collect();
            run.spend_octets(first.len().saturating_mul(from.len()))?;
            let changed = first.chars().filter_map(|c| {
                let found = from.iter().position(|other| *other == c);
                found.map_or(Some(c), |place| to.get(place).copied())
            });
            text(changed.collect::<String>())
        }
        // What is left is `string`.
        _ => text(first),
    }
}

/// The first character is 1, and the numbers are rounded.
fn substring<'a>(
    run: &mut Evaluation<'a>,
    values: &[Sequence<'a>],
) -> Result<Sequence<'a>, QueryError> {
    let whole = run.text(argument(values, 0)?)?;
    run.spend_octets(whole.len())?;
    let round = |number: f64| (number + 0.5).floor();
    let start = round(run.required_number(argument(values, 1)?)?);
    let end = match values.get(2) {
        Some(length) => start + round(run.required_number(length)?),
        None => f64::INFINITY,
    };
    let is_in = |place: &f64| *place >= start && *place < end;
    let characters = whole.chars().enumerate();
    let kept = characters.filter(|(place, _)| is_in(&(*place as f64 + 1.0)));
    text(kept.map(|(_, c)| c).collect::<String>())
}
