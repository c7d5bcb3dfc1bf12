//! Something that happened and that management tools are told.

use super::datum::Datum;
use super::schema::EventClass;

/// An event, to be told with the time at which it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// What happened.
    pub class: &'static EventClass,
    /// The values of the class's arguments, in order.
    pub arguments: Vec<Datum>,
}
