//! Paths.

use super::super::expression::{Axis, Expression, Test};
use super::super::lexical::Token;
use super::super::{QueryError, error};
use super::{Grammar, Parsed};

impl Grammar {
    pub(super) fn path(&mut self) -> Result<Parsed, QueryError> {
        let (mut path, mut depth) = if self.is_sign("//") {
            self.has_root = true;
            (Expression::Root, 1)
        } else if self.take_sign("/") {
            self.has_root = true;
            if !self.begins_step() {
                return Ok((Expression::Root, 1));
            }
            let (step, depth) = self.step()?;
            (joined(Expression::Root, step), self.over(&[depth])?)
        } else {
            self.step()?
        };
        loop {
            let is_deep = match self.peek() {
                Token::Sign("/") => false,
                Token::Sign("//") => true,
                _ => return Ok((path, depth)),
            };
            self.at += 1;
            if is_deep {
                let all = Expression::Step(Axis::DescendantOrSelf, Test::Node, Vec::new());
                path = joined(path, all);
                depth = self.over(&[depth])?;
            }
            // What comes behind a slash has what is before it for its context, not the document.
            let before = self.is_about_body;
            let (step, second) = self.step()?;
            self.is_about_body = before;
            path = joined(path, step);
            depth = self.over(&[depth, second])?;
        }
    }

    fn begins_step(&self) -> bool {
        match self.peek() {
            Token::Name(..) => true,
            Token::Sign(sign) => matches!(*sign, "@" | ".." | "." | "*" | "("),
            Token::Variable(_) | Token::Text(_) | Token::Number(_) => true,
            Token::End => false,
        }
    }

    fn step(&mut self) -> Result<Parsed, QueryError> {
        if let Some((primary, depth)) = self.primary()? {
            let (predicates, depths) = self.predicates()?;
            if predicates.is_empty() {
                return Ok((primary, depth));
            }
            let depth = self.over(&[depth, depths])?;
            return Ok((Expression::Filter(Box::new(primary), predicates), depth));
        }
        self.is_about_body |= self.predicates == 0;
        let (axis, test) = self.axis_and_test()?;
        let (predicates, depth) = self.predicates()?;
        let depth = self.over(&[depth])?;
        Ok((Expression::Step(axis, test, predicates), depth))
    }

    fn predicates(&mut self) -> Result<(Vec<Expression>, usize), QueryError> {
        let (mut predicates, mut deepest) = (Vec::new(), 0);
        while self.take_sign("[") {
            self.predicates += 1;
            let predicate = self.sequence();
            self.predicates -= 1;
            let (predicate, depth) = predicate?;
            self.sign("]")?;
            deepest = deepest.max(depth);
            predicates.push(predicate);
        }
        Ok((predicates, deepest))
    }

    fn axis_and_test(&mut self) -> Result<(Axis, Test), QueryError> {
        if self.take_sign("..") {
            return Ok((Axis::Parent, Test::Node));
        }
        if self.take_sign("@") {
            return Ok((Axis::Attribute, self.test(Axis::Attribute)?));
        }
        let axis = match (self.peek(), self.peek_behind(1)) {
            (Token::Name(None, name), Token::Sign("::")) => Some(named_axis(name)?),
            _ => None,
        };
        self.at += if axis.is_some() { 2 } else { 0 };
        let axis = axis.unwrap_or(match (self.peek(), self.calls()) {
            (Token::Name(None, name), true) if name == "attribute" => Axis::Attribute,
            _ => Axis::Child,
        });
        Ok((axis, self.test(axis)?))
    }

    fn test(&mut self, axis: Axis) -> Result<Test, QueryError> {
        let calls = self.calls();
        match self.next() {
            Token::Sign("*") => Ok(any_name()),
            Token::Name(None, name) if calls => {
                self.at += 1;
                let test = match name.as_str() {
                    "node" => Test::Node,
                    "text" => Test::Text,
                    "comment" => Test::Comment,
                    "element" => Test::Element,
                    "attribute" => any_name(),
                    _ => return error(format_args!("{name}() is not of the subset")),
                };
                self.sign(")")?;
                Ok(test)
            }
            Token::Name(None, local) => Ok(Test::Name {
                namespace: match axis {
                    Axis::Attribute => Some(String::new()),
                    _ => Some(self.of_elements.clone().unwrap_or_default()),
                },
                local: Some(local),
            }),
            Token::Name(Some(prefix), local) => {
                let namespace = match prefix.as_str() {
                    "*" => None,
                    "xml" => Some(roxmltree::NS_XML_URI.into()),
                    _ => match self.prefixes.get(&prefix) {
                        Some(namespace) => Some(namespace.clone()),
                        None => {
                            return error(format_args!("the prefix {prefix} is not declared"));
                        }
                    },
                };
                let local = (local != "*").then_some(local);
                Ok(Test::Name { namespace, local })
            }
            _ => {
                self.at -= 1;
                self.unexpected("a value")
            }
        }
    }
}

fn any_name() -> Test {
    Test::Name {
        namespace: None,
        local: None,
    }
}

fn joined(path: Expression, step: Expression) -> Expression {
    Expression::Path(Box::new((path, step)))
}

fn named_axis(name: &str) -> Result<Axis, QueryError> {
    Ok(match name {
        "child" => Axis::Child,
        "descendant" => Axis::Descendant,
        "descendant-or-self" => Axis::DescendantOrSelf,
        "attribute" => Axis::Attribute,
        "self" => Axis::Own,
        "parent" => Axis::Parent,
        "ancestor" => Axis::Ancestor,
        "ancestor-or-self" => Axis::AncestorOrSelf,
        "following-sibling" => Axis::FollowingSibling,
        "preceding-sibling" => Axis::PrecedingSibling,
        _ => return error(format_args!("the axis {name} is not of the subset")),
    })
}
