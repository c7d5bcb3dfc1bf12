//! What may be looked for.

use super::object::ObjectName;
use super::schema::{Class, classes};
use crate::wire::Text;

/// Which objects somebody wants to see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Query {
    /// All of a class, of one package or of any. There may be no such class, and then no object.
    Class {
        /// The package; None for any.
        package: Option<Text>,
        /// The class.
        class: Text,
    },
    /// The one with this name, if it is there.
    Object(ObjectName),
}

impl Query {
    /// The classes to look through, for a query by class.
    pub fn classes(&self) -> Vec<&'static Class> {
        match self {
            Query::Class { package, class } => classes(package.as_deref(), class).collect(),
            Query::Object(_) => Vec::new(),
        }
    }
}
