//! The message selector of Qpid C++: which messages of a queue a subscription wants
//! (`x-apache-selector`), or a queue lets in (`qpid.filter`). JMS syntax, a subset of SQL-92.
//!
//! A [`Selector`] is parsed once and then held against messages, each seen through an
//! [`Environment`]. Both are pure: the same text and the same message give the same answer on every
//! member. Floating point is plain IEEE 754 addition, subtraction, multiplication and division.
//!
//! Truth has three values, and only what is true matches. The language and its readings are
//! qpidd's; where they go another way, the place says so.

mod environment;
mod expression;
mod grammar;
mod lexical;
pub mod limits;
mod number;
mod pattern;

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use compact_str::CompactString;

pub use environment::{Environment, Scalar, identifier};

use expression::{Expression, Values, selects};
use lexical::Fault;

/// A compiled selector. Equal when the texts are; a clone shares the tree.
#[derive(Clone)]
pub struct Selector {
    compiled: Arc<Compiled>,
}

struct Compiled {
    text: Box<str>,
    expression: Expression,
    identifiers: Box<[CompactString]>,
}

impl Selector {
    /// Compiles `text`. An empty one, or one of blanks, matches every message.
    ///
    /// # Errors
    /// When `text` is longer than [`limits::TEXT_BYTES_MAX`], is no selector, nests deeper than
    /// [`limits::DEPTH_MAX`] or names more than [`limits::IDENTIFIERS_MAX`] identifiers.
    pub fn parse(text: &str) -> Result<Self, SelectorError> {
        if text.len() > limits::TEXT_BYTES_MAX {
            let excess = text.get(limits::TEXT_BYTES_MAX..).unwrap_or_default();
            return Err(SelectorError::new(
                text,
                Fault::at(excess, "a shorter text"),
            ));
        }
        let parsed = grammar::parse(text).map_err(|fault| SelectorError::new(text, fault))?;
        let compiled = Compiled {
            text: text.into(),
            expression: parsed.expression,
            identifiers: parsed.identifiers,
        };
        Ok(Self {
            compiled: Arc::new(compiled),
        })
    }

    /// The text it was parsed from, unchanged.
    pub fn text(&self) -> &str {
        &self.compiled.text
    }

    /// The identifiers it asks for, each once, by the names that [`Environment::value`] gets.
    pub fn identifiers(&self) -> impl Iterator<Item = &str> {
        self.compiled.identifiers.iter().map(CompactString::as_str)
    }

    /// Whether the message behind `environment` is wanted. Unknown counts as not, and so does an
    /// evaluation that would cost more than [`limits::STEPS_MAX`].
    pub fn matches(&self, environment: &impl Environment) -> bool {
        self.matches_counting(environment).0
    }

    /// Whether the message behind `environment` is wanted, and how many steps of
    /// [`limits::STEPS_MAX`] it took to tell.
    pub fn matches_counting(&self, environment: &impl Environment) -> (bool, u32) {
        let values: Values<'_> = self
            .identifiers()
            .map(|name| environment.value(name))
            .collect();
        selects(&self.compiled.expression, &values)
    }
}

impl fmt::Debug for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Selector").field(&self.text()).finish()
    }
}

impl PartialEq for Selector {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

impl Eq for Selector {}

impl Hash for Selector {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text().hash(state);
    }
}

/// Why a text is no selector. Displayed as `Illegal selector: 'hello': expected ... at offset 6`;
/// peers get to read it, and the first two words are qpidd's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectorError {
    /// Bytes of the text before the fault.
    pub offset: usize,
    /// The beginning of what stands there; empty at the end of the text.
    pub found: CompactString,
    /// What would have been right there.
    pub expected: &'static str,
}

impl SelectorError {
    /// Characters of the text that an error repeats: `connection.close` has little room.
    const FOUND_CHARACTERS_MAX: usize = 24;

    fn new(text: &str, fault: Fault<'_>) -> Self {
        let found = fault.rest.chars().take(Self::FOUND_CHARACTERS_MAX);
        Self {
            offset: text.len() - fault.rest.len(),
            found: found.take_while(|c| !c.is_whitespace()).collect(),
            expected: fault.expected,
        }
    }
}

impl fmt::Display for SelectorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = if self.found.is_empty() {
            "<END>"
        } else {
            self.found.as_str()
        };
        write!(
            f,
            "Illegal selector: '{found}': expected {} at offset {}",
            self.expected, self.offset
        )
    }
}

impl std::error::Error for SelectorError {}
