//! The tree of a selector and what it comes to.
//!
//! Truth has three values, `None` being unknown. Texts and truth values know only `=` and `<>`;
//! any other comparison of them, and every comparison of different kinds, is false rather than
//! unknown: qpidd's reading, which `NOT` makes visible (`NOT 'a' > 1` matches).

use std::cell::Cell;
use std::cmp::Ordering;

use smallvec::SmallVec;

use super::environment::Scalar;
use super::limits::{BYTES_A_STEP, STEPS_MAX};
use super::pattern::Pattern;

/// A node of the tree. Chains are flat, so that depth is what the brackets make it.
#[derive(Debug)]
pub(super) enum Expression {
    Bool(bool),
    Exact(i64),
    Approximate(f64),
    Text(Box<str>),
    /// A place in the list of identifiers.
    Identifier(u16),
    Or(Box<[Expression]>),
    And(Box<[Expression]>),
    Not(Box<Expression>),
    Compare {
        comparison: Comparison,
        sides: Box<[Expression; 2]>,
    },
    IsNull {
        of: Box<Expression>,
        is_negated: bool,
    },
    Like {
        of: Box<Expression>,
        pattern: Box<Pattern>,
        is_negated: bool,
    },
    /// The value, the lower and the upper bound.
    Between {
        operands: Box<[Expression; 3]>,
        is_negated: bool,
    },
    In {
        of: Box<Expression>,
        list: Box<[Expression]>,
        is_negated: bool,
    },
    Negative(Box<Expression>),
    /// Worked off from left to right.
    Arithmetic {
        first: Box<Expression>,
        others: Box<[(Operation, Expression)]>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Operation {
    Add,
    Subtract,
    Multiply,
    Divide,
}

/// A value on the way, borrowed from the message or from the tree.
#[derive(Clone, Copy, Debug)]
enum Operand<'v> {
    Unknown,
    Bool(bool),
    Exact(i64),
    Approximate(f64),
    Text(&'v str),
}

impl Operand<'_> {
    fn is_unknown(self) -> bool {
        matches!(self, Operand::Unknown)
    }

    fn of_truth(truth: Option<bool>) -> Self {
        truth.map_or(Operand::Unknown, Operand::Bool)
    }
}

/// Two numbers brought to one kind: approximate as soon as one of them is.
enum Pair {
    Exact(i64, i64),
    Approximate(f64, f64),
}

impl Pair {
    fn of(left: Operand<'_>, right: Operand<'_>) -> Option<Self> {
        match (left, right) {
            (Operand::Exact(a), Operand::Exact(b)) => Some(Pair::Exact(a, b)),
            (Operand::Exact(a), Operand::Approximate(b)) => Some(Pair::Approximate(a as f64, b)),
            (Operand::Approximate(a), Operand::Exact(b)) => Some(Pair::Approximate(a, b as f64)),
            (Operand::Approximate(a), Operand::Approximate(b)) => Some(Pair::Approximate(a, b)),
            _ => None,
        }
    }

    /// `None` for NaN.
    fn order(&self) -> Option<Ordering> {
        match self {
            Pair::Exact(a, b) => Some(a.cmp(b)),
            Pair::Approximate(a, b) => a.partial_cmp(b),
        }
    }

    /// Whole numbers wrap, as they do in qpidd; a whole number divided by 0, which is the end of
    /// qpidd, is unknown.
    fn compute<'v>(self, operation: Operation) -> Operand<'v> {
        match self {
            Pair::Exact(a, b) => match operation {
                Operation::Add => Operand::Exact(a.wrapping_add(b)),
                Operation::Subtract => Operand::Exact(a.wrapping_sub(b)),
                Operation::Multiply => Operand::Exact(a.wrapping_mul(b)),
                Operation::Divide if b == 0 => Operand::Unknown,
                Operation::Divide => Operand::Exact(a.wrapping_div(b)),
            },
            Pair::Approximate(a, b) => Operand::Approximate(match operation {
                Operation::Add => a + b,
                Operation::Subtract => a - b,
                Operation::Multiply => a * b,
                Operation::Divide => a / b,
            }),
        }
    }
}

/// The work that one evaluation may still spend.
pub(super) struct Steps {
    left: Cell<Option<u32>>,
}

impl Steps {
    pub(super) fn new() -> Self {
        Self {
            left: Cell::new(Some(STEPS_MAX)),
        }
    }

    /// `None` when the steps have run out, from then on for good.
    pub(super) fn spend(&self, steps: usize) -> Option<()> {
        let steps = u32::try_from(steps).unwrap_or(u32::MAX);
        let left = self.left.get().and_then(|left| left.checked_sub(steps));
        self.left.set(left);
        left.map(|_| ())
    }
}

/// The values behind the identifiers of a selector, in their order.
pub(super) type Values<'m> = SmallVec<[Scalar<'m>; 4]>;

/// Whether the message behind `values` is one that `expression` selects. A value that is no truth
/// value selects nothing, and neither does an evaluation that costs too much.
pub(super) fn selects(expression: &Expression, values: &Values<'_>) -> (bool, u32) {
    let evaluation = Evaluation {
        values,
        steps: Steps::new(),
    };
    let is_true = evaluation.truth(expression) == Some(true);
    match evaluation.steps.left.get() {
        Some(left) => (is_true, STEPS_MAX - left),
        None => (false, STEPS_MAX),
    }
}

struct Evaluation<'v, 'm> {
    values: &'v Values<'m>,
    steps: Steps,
}

impl<'v> Evaluation<'v, '_> {
    fn truth(&self, expression: &'v Expression) -> Option<bool> {
        match self.operand(expression) {
            Operand::Bool(truth) => Some(truth),
            _ => None,
        }
    }

    fn operand(&self, expression: &'v Expression) -> Operand<'v> {
        match expression {
            Expression::Bool(value) => Operand::Bool(*value),
            Expression::Exact(value) => Operand::Exact(*value),
            Expression::Approximate(value) => Operand::Approximate(*value),
            Expression::Text(value) => Operand::Text(value),
            Expression::Identifier(place) => self.value(*place),
            Expression::Negative(of) => match self.operand(of) {
                Operand::Exact(value) => Operand::Exact(value.wrapping_neg()),
                Operand::Approximate(value) => Operand::Approximate(-value),
                _ => Operand::Unknown,
            },
            Expression::Arithmetic { first, others } => self.arithmetic(first, others),
            condition => Operand::of_truth(self.condition(condition)),
        }
    }

    fn value(&self, place: u16) -> Operand<'v> {
        match self.values.get(usize::from(place)) {
            None | Some(Scalar::Unknown) => Operand::Unknown,
            Some(Scalar::Bool(value)) => Operand::Bool(*value),
            Some(Scalar::Exact(value)) => Operand::Exact(*value),
            Some(Scalar::Approximate(value)) => Operand::Approximate(*value),
            Some(Scalar::Text(value)) => Operand::Text(value),
        }
    }

    fn arithmetic(
        &self,
        first: &'v Expression,
        others: &'v [(Operation, Expression)],
    ) -> Operand<'v> {
        let mut result = self.operand(first);
        for (operation, other) in others {
            result = match Pair::of(result, self.operand(other)) {
                Some(pair) => pair.compute(*operation),
                None => return Operand::Unknown,
            };
        }
        result
    }

    /// The nodes that come to a truth value, whatever they are made of.
    fn condition(&self, expression: &'v Expression) -> Option<bool> {
        match expression {
            Expression::Or(terms) => self.any(terms, true),
            Expression::And(terms) => self.any(terms, false),
            Expression::Not(of) => self.truth(of).map(|truth| !truth),
            Expression::Compare { comparison, sides } => {
                let [left, right] = &**sides;
                let (left, right) = (self.operand(left), self.operand(right));
                if left.is_unknown() || right.is_unknown() {
                    return None;
                }
                self.compare(*comparison, left, right)
            }
            Expression::IsNull { of, is_negated } => {
                Some(self.operand(of).is_unknown() != *is_negated)
            }
            Expression::Like {
                of,
                pattern,
                is_negated,
            } => match self.operand(of) {
                Operand::Text(text) => pattern
                    .matches(text, &self.steps)
                    .map(|matches| matches != *is_negated),
                _ => None,
            },
            Expression::Between {
                operands,
                is_negated,
            } => self.between(operands).map(|lies| lies != *is_negated),
            Expression::In {
                of,
                list,
                is_negated: false,
            } => self.is_in(of, list),
            Expression::In {
                of,
                list,
                is_negated: true,
            } => self.is_not_in(of, list),
            // The others are values and do not come here.
            _ => None,
        }
    }

    /// `decisive` if any term comes to it, the opposite if all come to that, else unknown.
    fn any(&self, terms: &'v [Expression], decisive: bool) -> Option<bool> {
        let mut result = Some(!decisive);
        for term in terms {
            match self.truth(term) {
                Some(truth) if truth == decisive => return Some(decisive),
                Some(_) => {}
                None => result = None,
            }
        }
        result
    }

    /// Both sides are known. `None` only when the steps have run out.
    fn compare(
        &self,
        comparison: Comparison,
        left: Operand<'_>,
        right: Operand<'_>,
    ) -> Option<bool> {
        if let Some(pair) = Pair::of(left, right) {
            let order = pair.order();
            return Some(match comparison {
                Comparison::Equal => order == Some(Ordering::Equal),
                Comparison::NotEqual => order != Some(Ordering::Equal),
                Comparison::Less => order.is_some_and(Ordering::is_lt),
                Comparison::LessOrEqual => order.is_some_and(Ordering::is_le),
                Comparison::Greater => order.is_some_and(Ordering::is_gt),
                Comparison::GreaterOrEqual => order.is_some_and(Ordering::is_ge),
            });
        }
        let are_equal = match (left, right) {
            (Operand::Bool(a), Operand::Bool(b)) => a == b,
            (Operand::Text(a), Operand::Text(b)) if a.len() == b.len() => {
                self.steps.spend(a.len() / BYTES_A_STEP)?;
                a == b
            }
            (Operand::Text(_), Operand::Text(_)) => false,
            _ => return Some(false),
        };
        Some(match comparison {
            Comparison::Equal => are_equal,
            Comparison::NotEqual => !are_equal,
            _ => false,
        })
    }

    /// Unknown as soon as one of the three is, even if the other bound decides.
    fn between(&self, operands: &'v [Expression; 3]) -> Option<bool> {
        let [value, lower, upper] = operands;
        let (value, lower, upper) = (
            self.operand(value),
            self.operand(lower),
            self.operand(upper),
        );
        if value.is_unknown() || lower.is_unknown() || upper.is_unknown() {
            return None;
        }
        Some(
            self.compare(Comparison::GreaterOrEqual, value, lower)?
                && self.compare(Comparison::LessOrEqual, value, upper)?,
        )
    }

    fn is_in(&self, of: &'v Expression, list: &'v [Expression]) -> Option<bool> {
        let value = self.operand(of);
        if value.is_unknown() {
            return None;
        }
        let mut result = Some(false);
        for item in list {
            let item = self.operand(item);
            if item.is_unknown() {
                result = None;
            } else if self.compare(Comparison::Equal, value, item)? {
                return Some(true);
            }
        }
        result
    }

    /// Not simply the opposite of `IN`: an item of another kind than the value makes the answer
    /// false, as if it could have been equal. An unknown item makes it unknown all the same, and
    /// an equal one false.
    fn is_not_in(&self, of: &'v Expression, list: &'v [Expression]) -> Option<bool> {
        let value = self.operand(of);
        if value.is_unknown() {
            return None;
        }
        let mut result = Some(true);
        for item in list {
            let item = self.operand(item);
            if item.is_unknown() {
                result = None;
            } else if are_comparable(value, item) {
                if self.compare(Comparison::Equal, value, item)? {
                    return Some(false);
                }
            } else if result.is_some() {
                result = Some(false);
            }
        }
        result
    }
}

fn are_comparable(left: Operand<'_>, right: Operand<'_>) -> bool {
    Pair::of(left, right).is_some()
        || matches!(
            (left, right),
            (Operand::Bool(_), Operand::Bool(_)) | (Operand::Text(_), Operand::Text(_))
        )
}
