//! What is declared before a query.

use super::super::expression::Variable;
use super::super::lexical::Token;
use super::super::{QueryError, error};
use super::{Grammar, Scoped};

impl Grammar {
    pub(super) fn prolog(&mut self) -> Result<(), QueryError> {
        let is_versioned =
            matches!(self.peek_behind(1), Token::Name(None, word) if word == "version");
        if self.is_word("xquery") && is_versioned {
            self.at += 2;
            self.text("a version")?;
            self.sign(";")?;
        }
        while self.is_word("declare") && matches!(self.peek_behind(1), Token::Name(None, _)) {
            self.at += 1;
            if self.take_word("variable") {
                self.declare_variable()?;
            } else if self.take_word("namespace") {
                let Token::Name(None, prefix) = self.next() else {
                    return self.unexpected("a prefix");
                };
                self.sign("=")?;
                let namespace = self.text("a namespace")?;
                self.prefixes.insert(prefix, namespace);
            } else if self.take_word("default") {
                self.word("element")?;
                self.word("namespace")?;
                self.of_elements = Some(self.text("a namespace")?);
            } else {
                return self.unexpected("variable or namespace");
            }
            self.sign(";")?;
        }
        Ok(())
    }

    fn text(&mut self, wanted: &str) -> Result<String, QueryError> {
        match self.peek().clone() {
            Token::Text(text) => {
                self.at += 1;
                Ok(text)
            }
            _ => self.unexpected(wanted),
        }
    }

    fn declare_variable(&mut self) -> Result<(), QueryError> {
        let name = self.variable_name()?;
        if self.variables.iter().any(|found| found.name == name) {
            return error(format_args!("the variable ${name} is declared twice"));
        }
        self.skip_type()?;
        let (value, depth) = match self.take_sign(":=") {
            true => {
                let (value, depth) = self.single()?;
                (Some(value), depth)
            }
            false => {
                self.word("external")?;
                (None, 0)
            }
        };
        // Slots of variables within its value come before.
        let slot = self.slots;
        self.slots += 1;
        self.scope.push(Scoped {
            name: name.clone(),
            slot,
            depth,
        });
        self.variables.push(Variable { name, slot, value });
        Ok(())
    }

    /// A type: read, and not checked.
    pub(super) fn skip_type(&mut self) -> Result<(), QueryError> {
        if !self.take_word("as") {
            return Ok(());
        }
        let Token::Name(..) = self.next() else {
            return self.unexpected("a type");
        };
        if self.take_sign("(") {
            if !self.is_sign(")") {
                self.at += 1;
            }
            self.sign(")")?;
        }
        if !(self.take_sign("?") || self.take_sign("*")) {
            self.take_sign("+");
        }
        Ok(())
    }
}
