//! What a query is made of.

/// A query.
#[derive(Debug)]
pub(super) struct Module {
    /// Variables in the order declared.
    pub variables: Vec<Variable>,
    /// How many slots for variables there are in all.
    pub slots: usize,
    pub body: Expression,
    /// Whether it looks at the document.
    pub is_about_body: bool,
}

/// A variable that was declared.
#[derive(Debug)]
pub(super) struct Variable {
    pub name: String,
    pub slot: usize,
    /// None: it is external.
    pub value: Option<Expression>,
}

#[derive(Debug)]
pub(super) enum Expression {
    Text(String),
    Number(f64),
    Variable(usize),
    /// Items one after the other.
    Sequence(Vec<Expression>),
    /// `.`
    Item,
    /// The document.
    Root,
    Or(Vec<Expression>),
    And(Vec<Expression>),
    /// `=`, `<` and so on: whether any of the left is so to any of the right.
    Compare(Comparison, Box<(Expression, Expression)>),
    /// `eq`, `lt` and so on: of one value each.
    CompareOne(Comparison, Box<(Expression, Expression)>),
    Arithmetic(Operator, Box<(Expression, Expression)>),
    Negated(Box<Expression>),
    Union(Box<(Expression, Expression)>),
    If(Box<(Expression, Expression, Expression)>),
    /// `for` and `let` with what follows.
    For(Box<Binding>),
    Let(Box<Binding>),
    /// `where` and what it lets through.
    Where(Box<(Expression, Expression)>),
    Some(Box<Binding>),
    Every(Box<Binding>),
    Call(super::functions::Function, Vec<Expression>),
    /// Each item of the first is the context of the second.
    Path(Box<(Expression, Expression)>),
    Step(Axis, Test, Vec<Expression>),
    Filter(Box<Expression>, Vec<Expression>),
}

/// A variable with its value, and where it counts.
#[derive(Debug)]
pub(super) struct Binding {
    pub slot: usize,
    /// The slot of the position, of `for $x at $n`.
    pub at: Option<usize>,
    pub value: Expression,
    pub then: Expression,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    DivideWhole,
    Remainder,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Axis {
    Child,
    Descendant,
    DescendantOrSelf,
    Attribute,
    Own,
    Parent,
    Ancestor,
    AncestorOrSelf,
    FollowingSibling,
    PrecedingSibling,
}

/// What a step takes of its axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Test {
    /// Elements, or attributes on their axis, of this name; None is any.
    Name {
        namespace: Option<String>,
        local: Option<String>,
    },
    /// `element()`, whatever the axis.
    Element,
    Node,
    Text,
    Comment,
}
