//! The queries of bindings to xml exchanges: a subset of XQuery.
//!
//! A query is about one message. Its body, if it is XML, is the document that paths begin at; its
//! application headers are the variables that are declared `external`. A message matches when the query
//! gives what counts as true (XQuery: the effective boolean value). As in qpidd a message does not match
//! whose body is looked at and is not XML, or that lacks a header that is looked at; a query that does not
//! look at the body does not ask what it is.
//!
//! The subset: `declare variable $x [as T] external;` (the type is read and not checked) and
//! `declare variable $x := e;`, `declare namespace`, `for`, `let`, `where`, `return`, `some`, `every`, `if`,
//! `or`, `and`, general and value comparisons, arithmetic, unions, paths with predicates and the axes of
//! [`grammar`], strings, numbers, and the functions of [`functions`]. All numbers are doubles. What is not
//! in it is an error when a queue is bound: elements that are made, `order by`, types, functions of one's
//! own, regular expressions.
//!
//! What a query can cost is bounded: see [`limits`](super::limits).

mod evaluation;
mod expression;
mod functions;
mod grammar;
mod lexical;
mod value;

use std::fmt;

use roxmltree::{Document, ParsingOptions};

use self::evaluation::Evaluation;
use self::expression::Module;
use super::limits::{XML_BODY_BYTES_MAX, XML_NODES_MAX, XQUERY_STEPS_MAX};
use crate::wire::Map;

/// A query that was read.
#[derive(Debug)]
pub struct Query(Module);

/// Why a text is no query, or why a message does not match one, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryError(pub(super) String);

impl fmt::Display for QueryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for QueryError {}

fn error<T>(text: impl fmt::Display) -> Result<T, QueryError> {
    Err(QueryError(text.to_string()))
}

/// The body of a message as a document, or why it is none.
#[derive(Debug)]
pub struct Body<'a>(Result<Document<'a>, String>);

impl<'a> Body<'a> {
    /// Reads a body. A document type declaration is not read, and so no entity is: nothing is fetched,
    /// and nothing gets larger than it was sent.
    pub fn read(body: Option<&'a [u8]>) -> Body<'a> {
        let body = body.unwrap_or_default();
        if body.len() > XML_BODY_BYTES_MAX {
            return Body(Err(format!("a body of {} octets", body.len())));
        }
        let options = ParsingOptions {
            allow_dtd: false,
            nodes_limit: XML_NODES_MAX,
            ..ParsingOptions::default()
        };
        let text = std::str::from_utf8(body).map_err(|error| error.to_string());
        let document = text.and_then(|text| {
            let read = Document::parse_with_options(text, options);
            read.map_err(|error| error.to_string())
        });
        Body(document)
    }
}

impl Query {
    /// Reads a query.
    ///
    /// # Errors
    /// It is not of the subset.
    pub fn parse(text: &str) -> Result<Query, QueryError> {
        grammar::parse(text).map(Query)
    }

    /// Whether the query looks at the body.
    pub fn is_about_body(&self) -> bool {
        self.0.is_about_body
    }

    /// Whether a message matches. `body` may be None for a query that does not look at it.
    ///
    /// # Errors
    /// There is no telling: a header is missing, the body is no document, values cannot be compared, or
    /// it would take too long. The message does not match then.
    pub fn matches(&self, headers: &Map, body: Option<&Body<'_>>) -> Result<bool, QueryError> {
        let root = match body {
            Some(Body(Ok(document))) => Some(document.root()),
            Some(Body(Err(why))) if self.is_about_body() => return error(why),
            _ => None,
        };
        Evaluation::of(&self.0, headers, root, XQUERY_STEPS_MAX).truth()
    }
}
