//! The description of what management tools see, as values.

/// One package of `management.spec`.
#[derive(Debug)]
pub struct Package {
    pub name: String,
    pub classes: Vec<Class>,
    pub events: Vec<Event>,
}

#[derive(Debug)]
pub struct Class {
    pub name: String,
    pub properties: Vec<Property>,
    pub statistics: Vec<Statistic>,
    pub methods: Vec<Method>,
}

/// What may be said of a property or statistic besides its name and type.
#[derive(Clone, Debug, Default)]
pub struct Notes {
    pub access: Option<String>,
    pub is_index: bool,
    pub is_optional: bool,
    pub unit: Option<String>,
    pub min: Option<u32>,
    pub about: Option<String>,
}

#[derive(Debug)]
pub struct Property {
    pub name: String,
    pub type_name: String,
    /// Package, when it is another one, and class.
    pub refers_to: Option<(Option<String>, String)>,
    pub notes: Notes,
}

#[derive(Debug)]
pub struct Statistic {
    pub name: String,
    pub type_name: String,
    pub notes: Notes,
}

#[derive(Debug)]
pub struct Method {
    pub name: String,
    pub arguments: Vec<Argument>,
    pub about: Option<String>,
}

#[derive(Debug)]
pub struct Argument {
    pub name: String,
    pub type_name: String,
    /// `I`, `O` or `IO`.
    pub direction: String,
    pub default: Option<String>,
}

impl Argument {
    pub fn is_given(&self) -> bool {
        self.direction.contains('I')
    }

    pub fn is_answered(&self) -> bool {
        self.direction.contains('O')
    }
}

#[derive(Debug)]
pub struct Event {
    pub name: String,
    pub severity: String,
    pub arguments: Vec<Argument>,
}

/// What a type of the description is.
pub struct Type {
    /// In the description.
    pub name: &'static str,
    /// The variant of the schema's type, of the datum, and what makes one of the Rust value.
    pub variant: &'static str,
    /// The Rust type of a field.
    pub rust: &'static str,
    /// Whether it becomes several statistics.
    pub spread: Spread,
}

#[derive(Clone, Copy, PartialEq)]
pub enum Spread {
    One,
    HighLow,
    Samples,
}

const fn plain(name: &'static str, variant: &'static str, rust: &'static str) -> Type {
    Type {
        name,
        variant,
        rust,
        spread: Spread::One,
    }
}

pub const TYPES: &[Type] = &[
    plain("objId", "Reference", "ObjectName"),
    plain("uint8", "U8", "u8"),
    plain("uint16", "U16", "u16"),
    plain("uint32", "U32", "u32"),
    plain("uint64", "U64", "u64"),
    plain("int8", "I8", "i8"),
    plain("int16", "I16", "i16"),
    plain("int32", "I32", "i32"),
    plain("int64", "I64", "i64"),
    plain("bool", "Bool", "bool"),
    plain("sstr", "ShortText", "Text"),
    plain("lstr", "LongText", "Text"),
    plain("absTime", "AbsTime", "i64"),
    plain("deltaTime", "DeltaTime", "u64"),
    plain("float", "F32", "f32"),
    plain("double", "F64", "f64"),
    plain("uuid", "Uuid", "[u8; 16]"),
    plain("map", "Map", "Map"),
    plain("list", "List", "Vec<Value>"),
    plain("count32", "U32", "u32"),
    plain("count64", "U64", "u64"),
    Type {
        name: "hilo32",
        variant: "U32",
        rust: "Watermarks",
        spread: Spread::HighLow,
    },
    Type {
        name: "mmaTime",
        variant: "DeltaTime",
        rust: "Samples",
        spread: Spread::Samples,
    },
];

/// The type called `name`.
pub fn type_of(name: &str) -> Option<&'static Type> {
    TYPES.iter().find(|item| item.name == name)
}
