//! The description as values.

/// The whole of `amqp-0-10.spec`.
#[derive(Debug, Default)]
pub struct Description {
    pub types: Vec<Type>,
    pub constants: Vec<(String, u32)>,
    pub enums: Vec<Enum>,
    pub aliases: Vec<Alias>,
    pub classes: Vec<Class>,
}

/// A type of the protocol.
#[derive(Debug)]
pub struct Type {
    pub name: String,
    pub code: Option<u8>,
    pub width: Width,
}

/// How many octets a value takes.
#[derive(Debug, PartialEq)]
pub enum Width {
    /// This many.
    Fixed(usize),
    /// As many as a count of this many octets says.
    Counted(usize),
}

/// A number with named values.
#[derive(Debug)]
pub struct Enum {
    pub name: String,
    pub base: String,
    pub values: Vec<(String, u32)>,
}

/// Another name for a type.
#[derive(Debug)]
pub struct Alias {
    pub name: String,
    pub target: String,
}

/// A class of controls, commands and structs.
#[derive(Debug)]
pub struct Class {
    pub code: u8,
    pub name: String,
    pub roles: Vec<Role>,
    pub notes: Notes,
    pub enums: Vec<Enum>,
    pub aliases: Vec<Alias>,
    pub structs: Vec<Struct>,
    pub items: Vec<Item>,
}

/// Who handles something, and whether it has to.
#[derive(Debug)]
pub struct Role {
    pub name: String,
    pub duty: Duty,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Duty {
    Must,
    Should,
    May,
}

/// Names of rules, and of exceptions with their error codes.
#[derive(Debug, Default)]
pub struct Notes {
    pub rules: Vec<String>,
    pub raises: Vec<(String, String)>,
}

/// A struct: packing flags of `pack` octets and fields, behind a size of `size` octets.
#[derive(Debug)]
pub struct Struct {
    pub code: Option<u8>,
    pub name: String,
    pub size: usize,
    pub pack: usize,
    pub bare: bool,
    pub fields: Vec<Field>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    Control,
    Command,
}

/// A control or a command.
#[derive(Debug)]
pub struct Item {
    pub kind: Kind,
    pub code: u8,
    pub name: String,
    pub roles: Vec<Role>,
    pub replies: Vec<String>,
    pub result: Option<String>,
    pub notes: Notes,
    pub fields: Vec<Field>,
    pub header: Option<Segment>,
    pub body: Option<Segment>,
}

/// A segment that follows a command.
#[derive(Debug)]
pub struct Segment {
    pub required: bool,
    pub entries: Vec<String>,
}

#[derive(Debug)]
pub struct Field {
    pub name: String,
    pub type_name: String,
    pub presence: Presence,
    pub notes: Notes,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Presence {
    Required,
    /// Required, but absent and empty are told apart.
    Nullable,
    Optional,
    /// Optional; absent means empty.
    Empty,
    /// A bit that is set unless cleared.
    Set,
}
