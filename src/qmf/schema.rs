//! What the tables of the schema are made of.

use super::datum::{Arguments, Datum};
use super::generated::{Call, PACKAGES};
use super::status::{Fault, Status};
use crate::wire::Map;

/// A package: classes and events.
#[derive(Debug)]
pub struct Package {
    /// Name on the wire, with dots.
    pub name: &'static str,
    /// Classes of objects.
    pub classes: &'static [&'static Class],
    /// Events.
    pub events: &'static [&'static EventClass],
}

/// A class of objects.
#[derive(Debug)]
pub struct Class {
    /// Name of its package.
    pub package: &'static str,
    /// Name on the wire, in small letters.
    pub name: &'static str,
    /// Tells it from other forms of the class: it changes whenever the schema does.
    pub hash: [u8; 16],
    /// What an object is and how it is set up.
    pub properties: &'static [Property],
    /// What changes while it lives.
    pub statistics: &'static [Statistic],
    /// What can be done to it.
    pub methods: &'static [Method],
}

/// Two classes are the same when they are the same row of the schema.
impl PartialEq for Class {
    fn eq(&self, other: &Self) -> bool {
        (self.package, self.name) == (other.package, other.name)
    }
}

impl Eq for Class {}

/// A type of QMF version 1; version 2 uses the type of AMQP 0-10 that is nearest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Type {
    /// `uint8`.
    U8 = 1,
    /// `uint16`.
    U16 = 2,
    /// `uint32`.
    U32 = 3,
    /// `uint64`.
    U64 = 4,
    /// Text of at most 255 octets.
    ShortText = 6,
    /// Text of at most 65535 octets.
    LongText = 7,
    /// Nanoseconds since 1970.
    AbsTime = 8,
    /// Nanoseconds.
    DeltaTime = 9,
    /// The name of another object.
    Reference = 10,
    /// Truth.
    Bool = 11,
    /// `float`.
    F32 = 12,
    /// `double`.
    F64 = 13,
    /// `uuid`.
    Uuid = 14,
    /// A map.
    Map = 15,
    /// `int8`.
    I8 = 16,
    /// `int16`.
    I16 = 17,
    /// `int32`.
    I32 = 18,
    /// `int64`.
    I64 = 19,
    /// A list.
    List = 21,
}

impl Type {
    /// The code on the wire of version 1.
    pub fn code(self) -> u8 {
        self as u8
    }
}

/// Who may set a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Access {
    /// Whoever creates the object.
    ReadCreate = 1,
    /// Anybody, at any time.
    ReadWrite = 2,
    /// Nobody.
    ReadOnly = 3,
}

/// A property of a class.
#[derive(Debug)]
pub struct Property {
    /// Name on the wire.
    pub name: &'static str,
    /// Type of its value.
    pub r#type: Type,
    /// Who may set it.
    pub access: Access,
    /// Whether it is part of the object's name.
    pub is_index: bool,
    /// Whether an object may be without.
    pub is_optional: bool,
    /// Package and class of what a reference refers to.
    pub refers_to: Option<(&'static str, &'static str)>,
    /// Unit of a number.
    pub unit: Option<&'static str>,
    /// The smallest number.
    pub min: Option<u32>,
    /// What it is.
    pub about: Option<&'static str>,
}

impl Property {
    /// With nothing more to say of it.
    pub(super) const fn new(name: &'static str, r#type: Type, access: Access) -> Self {
        Property {
            name,
            r#type,
            access,
            is_index: false,
            is_optional: false,
            refers_to: None,
            unit: None,
            min: None,
            about: None,
        }
    }

    pub(super) const fn index(mut self) -> Self {
        self.is_index = true;
        self
    }

    pub(super) const fn optional(mut self) -> Self {
        self.is_optional = true;
        self
    }

    pub(super) const fn refers_to(mut self, package: &'static str, class: &'static str) -> Self {
        self.refers_to = Some((package, class));
        self
    }

    pub(super) const fn min(mut self, min: u32) -> Self {
        self.min = Some(min);
        self
    }

    pub(super) const fn unit(mut self, unit: &'static str) -> Self {
        self.unit = Some(unit);
        self
    }

    pub(super) const fn about(mut self, about: &'static str) -> Self {
        self.about = Some(about);
        self
    }
}

/// A statistic of a class.
#[derive(Debug)]
pub struct Statistic {
    /// Name in the schema.
    pub name: &'static str,
    /// Name in a map of values: another one for those that are made of samples.
    pub value_name: &'static str,
    /// Type of its value.
    pub r#type: Type,
    /// Unit of a number.
    pub unit: Option<&'static str>,
    /// What it is.
    pub about: Option<&'static str>,
}

impl Statistic {
    /// With nothing more to say of it.
    pub(super) const fn new(name: &'static str, r#type: Type) -> Self {
        Statistic {
            name,
            value_name: name,
            r#type,
            unit: None,
            about: None,
        }
    }

    pub(super) const fn in_values(mut self, value_name: &'static str) -> Self {
        self.value_name = value_name;
        self
    }

    pub(super) const fn unit(mut self, unit: &'static str) -> Self {
        self.unit = Some(unit);
        self
    }

    pub(super) const fn about(mut self, about: &'static str) -> Self {
        self.about = Some(about);
        self
    }
}

/// A method of a class.
#[derive(Debug, PartialEq)]
pub struct Method {
    /// Name on the wire.
    pub name: &'static str,
    /// What it does.
    pub about: Option<&'static str>,
    /// What it is given and what it answers.
    pub arguments: &'static [Argument],
}

/// Whether an argument is given or answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// With the call.
    Given,
    /// With the answer.
    Answered,
    /// With both.
    Both,
}

impl Direction {
    /// `I`, `O` or `IO`.
    pub fn name(self) -> &'static str {
        match self {
            Direction::Given => "I",
            Direction::Answered => "O",
            Direction::Both => "IO",
        }
    }
}

/// An argument of a method or an event.
#[derive(Debug, PartialEq)]
pub struct Argument {
    /// Name on the wire.
    pub name: &'static str,
    /// Type of its value.
    pub r#type: Type,
    /// Whether it is given or answered. An event's are all given.
    pub direction: Direction,
    /// What a console gives when its user gives nothing.
    pub default: Option<&'static str>,
}

impl Argument {
    const fn new(name: &'static str, r#type: Type, direction: Direction) -> Self {
        Argument {
            name,
            r#type,
            direction,
            default: None,
        }
    }

    pub(super) const fn given(name: &'static str, r#type: Type) -> Self {
        Self::new(name, r#type, Direction::Given)
    }

    pub(super) const fn answered(name: &'static str, r#type: Type) -> Self {
        Self::new(name, r#type, Direction::Answered)
    }

    pub(super) const fn both(name: &'static str, r#type: Type) -> Self {
        Self::new(name, r#type, Direction::Both)
    }

    pub(super) const fn default(mut self, default: &'static str) -> Self {
        self.default = Some(default);
        self
    }
}

/// How bad an event is, as in syslog.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Severity {
    /// Nothing works.
    Emergency,
    /// Somebody has to act at once.
    Alert,
    /// Critical.
    Critical,
    /// Error.
    Error,
    /// Warning.
    Warning,
    /// Of note.
    Notice,
    /// As it should be.
    Informational,
    /// For who looks closely.
    Debug,
}

impl Severity {
    /// The word in routing keys of version 2.
    pub fn word(self) -> &'static str {
        match self {
            Severity::Emergency => "emerg",
            Severity::Alert => "alert",
            Severity::Critical => "crit",
            Severity::Error => "error",
            Severity::Warning => "warn",
            Severity::Notice => "note",
            Severity::Informational => "info",
            Severity::Debug => "debug",
        }
    }
}

/// An event that may be raised.
#[derive(Debug)]
pub struct EventClass {
    /// Name of its package.
    pub package: &'static str,
    /// Name on the wire.
    pub name: &'static str,
    /// Tells it from other forms of the event.
    pub hash: [u8; 16],
    /// How bad it is.
    pub severity: Severity,
    /// What is told with it.
    pub arguments: &'static [Argument],
}

/// Two events are of one class when that is the same row of the schema.
impl PartialEq for EventClass {
    fn eq(&self, other: &Self) -> bool {
        (self.package, self.name) == (other.package, other.name)
    }
}

impl Eq for EventClass {}

/// The classes called `name`, of one package or of any.
pub fn classes<'a>(
    package: Option<&'a str>,
    name: &'a str,
) -> impl Iterator<Item = &'static Class> + 'a {
    let of_package = move |candidate: &&&'static Package| {
        package.is_none_or(|package| candidate.name == package)
    };
    PACKAGES
        .iter()
        .filter(of_package)
        .flat_map(|package| package.classes.iter().copied())
        .filter(move |class| class.name == name)
}

impl Class {
    /// The method called `name`, and its place among the class's.
    ///
    /// # Errors
    /// [`Status::UnknownMethod`].
    pub fn method(&self, name: &str) -> Result<(usize, &'static Method), Fault> {
        let mut methods = self.methods.iter().enumerate();
        let found = methods.find(|(_, method)| method.name == name);
        found.ok_or_else(|| Fault::of(Status::UnknownMethod))
    }

    /// The call of a method that [`method`](Class::method) gave, with arguments as version 2 gives them, by name. One that
    /// is absent is what is empty of its type, as in qpidd; stock tools leave out what they need
    /// not say. Names that the method does not have are passed over.
    ///
    /// # Errors
    /// [`Status::InvalidParameter`] for a value that is not of the argument's type nor can be turned
    /// into it.
    pub fn call_with_map(
        &self,
        (index, method): (usize, &'static Method),
        given: &Map,
    ) -> Result<Call, Fault> {
        let mut arguments = Vec::new();
        for argument in method.given() {
            arguments.push(match given.get(argument.name) {
                Some(value) => Datum::from_value(argument.r#type, value).ok_or_else(|| {
                    let what = format!(
                        "{}: argument {} is not of its type",
                        method.name, argument.name
                    );
                    Fault::new(Status::InvalidParameter, what)
                })?,
                None => argument.absent(),
            });
        }
        self.call(index, arguments)
    }

    /// The call of the method at `index`, with the values of what it is given in the schema's order.
    ///
    /// # Errors
    /// [`Status::InvalidParameter`] if they are not of the schema's types.
    pub fn call(&self, index: usize, arguments: Vec<Datum>) -> Result<Call, Fault> {
        Call::new(self, index, &mut Arguments::new(arguments))
            .ok_or_else(|| Fault::of(Status::InvalidParameter))
    }
}

impl Method {
    /// The arguments that a call is given, in order.
    pub fn given(&self) -> impl Iterator<Item = &Argument> {
        self.arguments
            .iter()
            .filter(|argument| argument.direction != Direction::Answered)
    }

    /// The arguments that are answered, in order.
    pub fn answered(&self) -> impl Iterator<Item = &Argument> {
        self.arguments
            .iter()
            .filter(|argument| argument.direction != Direction::Given)
    }
}

impl Argument {
    /// What an argument is that was not given: its default, or what is empty of its type.
    fn absent(&self) -> Datum {
        let default = self.default.and_then(|text| {
            let number = match text.strip_prefix("0x") {
                Some(digits) => u64::from_str_radix(digits, 16).ok(),
                None => text.parse().ok(),
            };
            Datum::from_value(self.r#type, &number?.into())
        });
        default.unwrap_or_else(|| Datum::empty(self.r#type))
    }
}
