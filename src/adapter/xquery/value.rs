//! Items, and what they are as text, as a number and as a truth.

use std::cmp::Ordering;
use std::rc::Rc;

use roxmltree::Node;

use super::expression::Comparison;
use super::{QueryError, error};

/// An item of a sequence.
#[derive(Clone, Debug)]
pub(super) enum Item<'a> {
    Node(Node<'a, 'a>),
    /// An attribute: its element, and its place there.
    Attribute(Node<'a, 'a>, usize),
    Text(Rc<str>),
    Number(f64),
    Truth(bool),
}

pub(super) type Sequence<'a> = Vec<Item<'a>>;

/// A value of an item.
#[derive(Clone, Debug)]
pub(super) enum Atom {
    /// Of a node: what it is depends on what it is put to.
    Untyped(Rc<str>),
    Text(Rc<str>),
    Number(f64),
    Truth(bool),
}

impl<'a> Item<'a> {
    pub fn is_node(&self) -> bool {
        matches!(self, Item::Node(_) | Item::Attribute(..))
    }

    /// Where a node stands in its document.
    pub fn place(&self) -> Option<(Node<'a, 'a>, usize)> {
        match self {
            Item::Node(node) => Some((*node, 0)),
            Item::Attribute(node, place) => Some((*node, place + 1)),
            _ => None,
        }
    }

    /// The value, and what it has taken: nodes that were looked at, and octets of text that were put
    /// together.
    pub fn atom(&self) -> (Atom, (usize, usize)) {
        match self {
            Item::Node(node) => {
                let (text, nodes) = text_of(*node);
                let octets = text.len();
                (Atom::Untyped(text.into()), (nodes, octets))
            }
            Item::Attribute(node, place) => {
                let attribute = node.attributes().nth(*place);
                let value = attribute.map_or("", |attribute| attribute.value());
                (Atom::Untyped(value.into()), (0, value.len()))
            }
            Item::Text(text) => (Atom::Text(text.clone()), (0, 0)),
            Item::Number(number) => (Atom::Number(*number), (0, 0)),
            Item::Truth(truth) => (Atom::Truth(*truth), (0, 0)),
        }
    }
}

/// All text in a node, and how many nodes are within it.
fn text_of(node: Node<'_, '_>) -> (String, usize) {
    if !(node.is_element() || node.is_root()) {
        return (node.text().unwrap_or_default().into(), 0);
    }
    let (mut text, mut nodes) = (String::new(), 0);
    for within in node.descendants() {
        nodes += 1;
        if within.is_text() {
            text += within.text().unwrap_or_default();
        }
    }
    // It is among them itself.
    (text, nodes - 1)
}

/// A number as XPath writes it.
pub(super) fn number_text(number: f64) -> String {
    match number {
        _ if number.is_nan() => "NaN".into(),
        _ if number.is_infinite() && number > 0.0 => "INF".into(),
        _ if number.is_infinite() => "-INF".into(),
        _ => number.to_string(),
    }
}

/// A text as a number, as `xs:double` reads it.
pub(super) fn text_number(text: &str) -> Option<f64> {
    let text = text.trim();
    match text {
        "INF" => return Some(f64::INFINITY),
        "-INF" => return Some(f64::NEG_INFINITY),
        "NaN" => return Some(f64::NAN),
        _ => {}
    }
    let is_number = |c: char| c.is_ascii_digit() || matches!(c, '.' | '+' | '-' | 'e' | 'E');
    let is_plain = text.contains(|c: char| c.is_ascii_digit()) && text.chars().all(is_number);
    is_plain.then(|| text.parse().ok())?
}

impl Atom {
    pub fn text(&self) -> String {
        match self {
            Atom::Untyped(text) | Atom::Text(text) => text.to_string(),
            Atom::Number(number) => number_text(*number),
            Atom::Truth(truth) => truth.to_string(),
        }
    }

    /// As a number, also of a text: what `fn:number` gives; None where that is not a number.
    pub fn as_number(&self) -> Option<f64> {
        match self {
            Atom::Untyped(text) | Atom::Text(text) => text_number(text),
            Atom::Number(number) => Some(*number),
            Atom::Truth(truth) => Some(f64::from(u8::from(*truth))),
        }
    }

    /// As a number to calculate with.
    pub fn number(&self) -> Result<f64, QueryError> {
        match self {
            Atom::Number(number) => Ok(*number),
            Atom::Untyped(text) => match text_number(text) {
                Some(number) => Ok(number),
                None => error(format_args!("{text:?} is no number")),
            },
            Atom::Text(_) | Atom::Truth(_) => error("only numbers can be calculated with"),
        }
    }

    fn truth(&self) -> Result<bool, QueryError> {
        match self {
            Atom::Truth(truth) => Ok(*truth),
            Atom::Untyped(text) => match text.trim() {
                "true" | "1" => Ok(true),
                "false" | "0" => Ok(false),
                _ => error(format_args!("{text:?} is neither true nor false")),
            },
            Atom::Text(_) | Atom::Number(_) => error("a truth is compared with something else"),
        }
    }
}

/// How two values compare. What a node holds is taken for what it is compared with; texts by their
/// characters' numbers.
pub(super) fn compare(
    comparison: Comparison,
    left: &Atom,
    right: &Atom,
) -> Result<bool, QueryError> {
    let order = match (left, right) {
        (Atom::Truth(_), _) | (_, Atom::Truth(_)) => Some(left.truth()?.cmp(&right.truth()?)),
        (Atom::Number(_), Atom::Text(_)) | (Atom::Text(_), Atom::Number(_)) => {
            return error("a number is compared with a text");
        }
        (Atom::Number(_), _) | (_, Atom::Number(_)) => left.number()?.partial_cmp(&right.number()?),
        (Atom::Untyped(left) | Atom::Text(left), Atom::Untyped(right) | Atom::Text(right)) => {
            Some(left.cmp(right))
        }
    };
    // What is not a number is unequal to all.
    let Some(order) = order else {
        return Ok(comparison == Comparison::NotEqual);
    };
    Ok(match comparison {
        Comparison::Equal => order == Ordering::Equal,
        Comparison::NotEqual => order != Ordering::Equal,
        Comparison::Less => order == Ordering::Less,
        Comparison::LessOrEqual => order != Ordering::Greater,
        Comparison::Greater => order == Ordering::Greater,
        Comparison::GreaterOrEqual => order != Ordering::Less,
    })
}
