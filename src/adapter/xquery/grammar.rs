//! From words to an expression.
//!
//! Axes: `child`, `descendant`, `descendant-or-self`, `attribute`, `self`, `parent`, `ancestor`,
//! `ancestor-or-self`, `following-sibling`, `preceding-sibling`, and what is short for them.

mod prolog;
mod steps;

use std::collections::BTreeMap;

use super::expression::{Binding, Comparison, Expression, Module, Operator, Variable};
use super::functions::Function;
use super::lexical::{self, Token};
use super::{QueryError, error};
use crate::adapter::limits::{XQUERY_DEPTH_MAX, XQUERY_NESTING_MAX};

/// An expression, and how many are one in the other.
type Parsed = (Expression, usize);

/// A variable that counts where a name is read.
struct Scoped {
    name: String,
    slot: usize,
    /// How deep its value is, which is worked out where the variable first stands.
    depth: usize,
}

struct Grammar {
    tokens: Vec<Token>,
    at: usize,
    /// Namespaces by prefix.
    prefixes: BTreeMap<String, String>,
    /// That of elements without a prefix.
    of_elements: Option<String>,
    variables: Vec<Variable>,
    /// Variables that count here, the innermost last.
    scope: Vec<Scoped>,
    slots: usize,
    nesting: usize,
    /// In how many predicates this is: there `.` is not the document.
    predicates: usize,
    is_about_body: bool,
    /// Whether a path begins at the document, wherever it stands.
    has_root: bool,
}

/// Reads a query.
pub(super) fn parse(text: &str) -> Result<Module, QueryError> {
    let tokens = lexical::tokens(text)?;
    let mut grammar = Grammar {
        tokens,
        at: 0,
        prefixes: BTreeMap::new(),
        of_elements: None,
        variables: Vec::new(),
        scope: Vec::new(),
        slots: 0,
        nesting: 0,
        predicates: 0,
        is_about_body: false,
        has_root: false,
    };
    grammar.prolog()?;
    let (body, _) = grammar.sequence()?;
    if *grammar.peek() != Token::End {
        return grammar.unexpected("the end");
    }
    Ok(Module {
        variables: grammar.variables,
        slots: grammar.slots,
        body,
        is_about_body: grammar.is_about_body || grammar.has_root,
    })
}

impl Grammar {
    fn peek(&self) -> &Token {
        self.peek_behind(0)
    }

    fn peek_behind(&self, count: usize) -> &Token {
        self.tokens.get(self.at + count).unwrap_or(&Token::End)
    }

    fn next(&mut self) -> Token {
        let token = self.peek().clone();
        self.at += 1;
        token
    }

    fn unexpected<T>(&self, wanted: &str) -> Result<T, QueryError> {
        error(format_args!(
            "{wanted} is missing before {:?}, word {} of the query",
            self.peek(),
            self.at + 1
        ))
    }

    fn is_sign(&self, sign: &str) -> bool {
        matches!(self.peek(), Token::Sign(found) if *found == sign)
    }

    fn take_sign(&mut self, sign: &str) -> bool {
        let is_it = self.is_sign(sign);
        self.at += usize::from(is_it);
        is_it
    }

    fn sign(&mut self, sign: &'static str) -> Result<(), QueryError> {
        match self.take_sign(sign) {
            true => Ok(()),
            false => self.unexpected(sign),
        }
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), Token::Name(None, found) if found == word)
    }

    fn take_word(&mut self, word: &str) -> bool {
        let is_it = self.is_word(word);
        self.at += usize::from(is_it);
        is_it
    }

    fn word(&mut self, word: &str) -> Result<(), QueryError> {
        match self.take_word(word) {
            true => Ok(()),
            false => self.unexpected(word),
        }
    }

    fn variable_name(&mut self) -> Result<String, QueryError> {
        match self.next() {
            Token::Variable(name) => Ok(name),
            _ => {
                self.at -= 1;
                self.unexpected("a variable")
            }
        }
    }

    /// One more than the deepest of these.
    fn over(&self, depths: &[usize]) -> Result<usize, QueryError> {
        let depth = 1 + depths.iter().max().copied().unwrap_or(0);
        match depth <= XQUERY_DEPTH_MAX {
            true => Ok(depth),
            false => error("too many expressions are one in the other"),
        }
    }

    fn deeper<T>(
        &mut self,
        read: impl FnOnce(&mut Grammar) -> Result<T, QueryError>,
    ) -> Result<T, QueryError> {
        if self.nesting == XQUERY_NESTING_MAX {
            return error("too many expressions are one in the other");
        }
        self.nesting += 1;
        let read = read(self);
        self.nesting -= 1;
        read
    }

    /// Expressions with commas between them.
    fn sequence(&mut self) -> Result<Parsed, QueryError> {
        let (first, depth) = self.single()?;
        if !self.is_sign(",") {
            return Ok((first, depth));
        }
        let (mut all, mut depths) = (vec![first], vec![depth]);
        while self.take_sign(",") {
            let (one, depth) = self.single()?;
            all.push(one);
            depths.push(depth);
        }
        Ok((Expression::Sequence(all), self.over(&depths)?))
    }

    fn single(&mut self) -> Result<Parsed, QueryError> {
        self.deeper(|grammar| {
            let has_variable = matches!(grammar.peek_behind(1), Token::Variable(_));
            let opens = matches!(grammar.peek_behind(1), Token::Sign("("));
            match grammar.peek().clone() {
                Token::Name(None, word) if has_variable => match word.as_str() {
                    "for" | "let" => grammar.flwor(),
                    "some" | "every" => grammar.quantified(),
                    _ => grammar.or(),
                },
                Token::Name(None, word) if word == "if" && opens => grammar.conditional(),
                _ => grammar.or(),
            }
        })
    }

    /// Reads what a variable's name counts in.
    fn with_variable(
        &mut self,
        name: String,
        read: impl FnOnce(&mut Grammar) -> Result<Parsed, QueryError>,
    ) -> Result<(usize, Parsed), QueryError> {
        let slot = self.slots;
        self.slots += 1;
        self.scope.push(Scoped {
            name,
            slot,
            depth: 0,
        });
        let parsed = read(self);
        self.scope.pop();
        Ok((slot, parsed?))
    }

    /// `for`, `let`, `where` and `return`, one behind the other.
    fn flwor(&mut self) -> Result<Parsed, QueryError> {
        if self.take_word("for") {
            return self.clause(true);
        }
        if self.take_word("let") {
            return self.clause(false);
        }
        if self.take_word("where") {
            let (condition, first) = self.single()?;
            let (then, second) = self.deeper(Grammar::flwor)?;
            let depth = self.over(&[first, second])?;
            return Ok((Expression::Where(Box::new((condition, then))), depth));
        }
        self.word("return")?;
        self.single()
    }

    /// A variable of `for` or `let`, and all that follows: other variables behind a comma are as if the
    /// word stood before each.
    fn clause(&mut self, is_for: bool) -> Result<Parsed, QueryError> {
        let name = self.variable_name()?;
        self.skip_type()?;
        let position = match is_for && self.take_word("at") {
            true => Some(self.variable_name()?),
            false => None,
        };
        match is_for {
            true => self.word("in")?,
            false => self.sign(":=")?,
        }
        let (value, first) = self.single()?;
        let then = |grammar: &mut Grammar| {
            grammar.deeper(|grammar| match grammar.take_sign(",") {
                true => grammar.clause(is_for),
                false => grammar.flwor(),
            })
        };
        let (at, (slot, (then, second))) = match position {
            None => (None, self.with_variable(name, then)?),
            Some(position) => {
                let mut inner = None;
                let (at, parsed) = self.with_variable(position, |grammar| {
                    let (slot, parsed) = grammar.with_variable(name, then)?;
                    inner = Some(slot);
                    Ok(parsed)
                })?;
                (Some(at), (inner.unwrap_or_default(), parsed))
            }
        };
        let depth = self.over(&[first, second])?;
        let binding = Box::new(Binding {
            slot,
            at,
            value,
            then,
        });
        let expression = match is_for {
            true => Expression::For(binding),
            false => Expression::Let(binding),
        };
        Ok((expression, depth))
    }

    fn quantified(&mut self) -> Result<Parsed, QueryError> {
        let is_some = self.take_word("some");
        if !is_some {
            self.word("every")?;
        }
        self.quantified_variable(is_some)
    }

    fn quantified_variable(&mut self, is_some: bool) -> Result<Parsed, QueryError> {
        let name = self.variable_name()?;
        self.skip_type()?;
        self.word("in")?;
        let (value, first) = self.single()?;
        let (slot, (then, second)) = self.with_variable(name, |grammar| {
            if grammar.take_sign(",") {
                return grammar.deeper(|grammar| grammar.quantified_variable(is_some));
            }
            grammar.word("satisfies")?;
            grammar.single()
        })?;
        let depth = self.over(&[first, second])?;
        let binding = Box::new(Binding {
            slot,
            at: None,
            value,
            then,
        });
        let expression = match is_some {
            true => Expression::Some(binding),
            false => Expression::Every(binding),
        };
        Ok((expression, depth))
    }

    fn conditional(&mut self) -> Result<Parsed, QueryError> {
        self.word("if")?;
        self.sign("(")?;
        let (condition, first) = self.sequence()?;
        self.sign(")")?;
        self.word("then")?;
        let (then, second) = self.single()?;
        self.word("else")?;
        let (other, third) = self.single()?;
        let depth = self.over(&[first, second, third])?;
        Ok((Expression::If(Box::new((condition, then, other))), depth))
    }

    fn or(&mut self) -> Result<Parsed, QueryError> {
        self.joined("or", Expression::Or, |grammar| {
            grammar.joined("and", Expression::And, Grammar::comparison)
        })
    }

    fn joined(
        &mut self,
        word: &str,
        make: fn(Vec<Expression>) -> Expression,
        mut read: impl FnMut(&mut Grammar) -> Result<Parsed, QueryError>,
    ) -> Result<Parsed, QueryError> {
        let (first, depth) = read(self)?;
        if !self.is_word(word) {
            return Ok((first, depth));
        }
        let (mut all, mut depths) = (vec![first], vec![depth]);
        while self.take_word(word) {
            let (one, depth) = read(self)?;
            all.push(one);
            depths.push(depth);
        }
        Ok((make(all), self.over(&depths)?))
    }

    fn comparison(&mut self) -> Result<Parsed, QueryError> {
        use Comparison::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
        let (left, first) = self.additive()?;
        let (comparison, is_of_one) = match self.peek() {
            Token::Sign("=") => (Equal, false),
            Token::Sign("!=") => (NotEqual, false),
            Token::Sign("<") => (Less, false),
            Token::Sign("<=") => (LessOrEqual, false),
            Token::Sign(">") => (Greater, false),
            Token::Sign(">=") => (GreaterOrEqual, false),
            Token::Name(None, word) => match word.as_str() {
                "eq" => (Equal, true),
                "ne" => (NotEqual, true),
                "lt" => (Less, true),
                "le" => (LessOrEqual, true),
                "gt" => (Greater, true),
                "ge" => (GreaterOrEqual, true),
                _ => return Ok((left, first)),
            },
            _ => return Ok((left, first)),
        };
        self.at += 1;
        let (right, second) = self.additive()?;
        let depth = self.over(&[first, second])?;
        let sides = Box::new((left, right));
        let expression = match is_of_one {
            true => Expression::CompareOne(comparison, sides),
            false => Expression::Compare(comparison, sides),
        };
        Ok((expression, depth))
    }

    fn additive(&mut self) -> Result<Parsed, QueryError> {
        let operator = |token: &Token| match token {
            Token::Sign("+") => Some(Operator::Add),
            Token::Sign("-") => Some(Operator::Subtract),
            _ => None,
        };
        self.chained(operator, Grammar::multiplicative)
    }

    fn multiplicative(&mut self) -> Result<Parsed, QueryError> {
        let operator = |token: &Token| match token {
            Token::Sign("*") => Some(Operator::Multiply),
            Token::Name(None, word) => match word.as_str() {
                "div" => Some(Operator::Divide),
                "idiv" => Some(Operator::DivideWhole),
                "mod" => Some(Operator::Remainder),
                _ => None,
            },
            _ => None,
        };
        self.chained(operator, Grammar::union)
    }

    /// Operators of one rank, from the left.
    fn chained(
        &mut self,
        operator: impl Fn(&Token) -> Option<Operator>,
        read: impl Fn(&mut Grammar) -> Result<Parsed, QueryError>,
    ) -> Result<Parsed, QueryError> {
        let (mut left, mut depth) = read(self)?;
        while let Some(operator) = operator(self.peek()) {
            self.at += 1;
            let (right, second) = read(self)?;
            depth = self.over(&[depth, second])?;
            left = Expression::Arithmetic(operator, Box::new((left, right)));
        }
        Ok((left, depth))
    }

    fn union(&mut self) -> Result<Parsed, QueryError> {
        let (mut left, mut depth) = self.unary()?;
        while self.take_sign("|") || self.take_word("union") {
            let (right, second) = self.unary()?;
            depth = self.over(&[depth, second])?;
            left = Expression::Union(Box::new((left, right)));
        }
        Ok((left, depth))
    }

    fn unary(&mut self) -> Result<Parsed, QueryError> {
        if self.take_sign("+") {
            return self.deeper(Grammar::unary);
        }
        if self.take_sign("-") {
            let (value, depth) = self.deeper(Grammar::unary)?;
            let depth = self.over(&[depth])?;
            return Ok((Expression::Negated(Box::new(value)), depth));
        }
        self.path()
    }

    /// What stands by itself, if something does.
    fn primary(&mut self) -> Result<Option<Parsed>, QueryError> {
        let expression = match self.peek().clone() {
            Token::Text(text) => Expression::Text(text),
            Token::Number(number) => Expression::Number(number),
            Token::Variable(name) => {
                self.at += 1;
                return self.variable(&name).map(Some);
            }
            Token::Sign(".") => {
                self.is_about_body |= self.predicates == 0;
                Expression::Item
            }
            Token::Sign("(") => {
                self.at += 1;
                if self.take_sign(")") {
                    return Ok(Some((Expression::Sequence(Vec::new()), 1)));
                }
                let parsed = self.deeper(Grammar::sequence)?;
                self.sign(")")?;
                return Ok(Some(parsed));
            }
            Token::Name(prefix, name) if self.calls() => {
                if matches!(
                    name.as_str(),
                    "node" | "text" | "comment" | "element" | "attribute"
                ) {
                    return Ok(None);
                }
                return self.call(prefix.as_deref(), &name).map(Some);
            }
            _ => return Ok(None),
        };
        self.at += 1;
        Ok(Some((expression, 1)))
    }

    fn calls(&self) -> bool {
        matches!(self.peek_behind(1), Token::Sign("("))
    }

    fn variable(&self, name: &str) -> Result<Parsed, QueryError> {
        let found = self.scope.iter().rev().find(|found| found.name == name);
        match found {
            Some(found) => Ok((Expression::Variable(found.slot), self.over(&[found.depth])?)),
            None => error(format_args!("the variable ${name} is not declared")),
        }
    }

    fn call(&mut self, prefix: Option<&str>, name: &str) -> Result<Parsed, QueryError> {
        self.at += 2;
        let (mut arguments, mut depths) = (Vec::new(), Vec::new());
        if !self.is_sign(")") {
            loop {
                let (argument, depth) = self.single()?;
                arguments.push(argument);
                depths.push(depth);
                if !self.take_sign(",") {
                    break;
                }
            }
        }
        self.sign(")")?;
        let function = Function::named(prefix, name, arguments.len())?;
        self.is_about_body |= function.is_about_item(arguments.len()) && self.predicates == 0;
        let depth = self.over(&depths)?;
        Ok((Expression::Call(function, arguments), depth))
    }
}
