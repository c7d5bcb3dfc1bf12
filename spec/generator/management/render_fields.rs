//! A Rust type for every class, event and the methods of a class.

use std::fmt::Write;

use super::model::{Argument, Class, Event, Method, Spread, type_of};
use super::names::{camel, constant, snake};
use super::render::variant;

fn rust(type_name: &str) -> &'static str {
    type_of(type_name).map_or("", |found| found.rust)
}

/// A field `NAME: TYPE`, with what is said of it.
fn field(out: &mut String, name: &str, type_name: &str, rust: &str, about: Option<&str>) {
    let about = about.map(|about| format!(" {about}.")).unwrap_or_default();
    let _ = writeln!(
        out,
        "/// `{name}`, {type_name}.{about}\npub {}: {rust},",
        snake(name)
    );
}

/// A struct of a class's properties and statistics, and how it becomes values.
pub fn class_type(class: &Class) -> String {
    let (name, table) = (camel(&class.name), constant(&class.name));
    let mut out = format!(
        "/// What there is to say of an object of class `{}`.\n\
         #[derive(Clone, Debug, Default, PartialEq)]\npub struct {name} {{\n",
        class.name
    );
    for property in &class.properties {
        let plain = rust(&property.type_name);
        let rust = match property.notes.is_optional {
            true => format!("Option<{plain}>"),
            false => plain.to_owned(),
        };
        let about = property.notes.about.as_deref();
        field(&mut out, &property.name, &property.type_name, &rust, about);
    }
    for statistic in &class.statistics {
        let (of, about) = (&statistic.type_name, statistic.notes.about.as_deref());
        field(&mut out, &statistic.name, of, rust(of), about);
    }
    let _ = writeln!(
        out,
        "}}\n\nimpl {name} {{\n/// The same as values of the schema.\npub fn into_values(self) -> \
         Values {{\nValues {{ class: &{table}, properties: vec!["
    );
    for property in &class.properties {
        let (variant, field) = (variant(&property.type_name), snake(&property.name));
        let _ = match property.notes.is_optional {
            true => write!(out, "self.{field}.map(Datum::{variant}),"),
            false => write!(out, "Some(Datum::{variant}(self.{field})),"),
        };
    }
    out += "], statistics: vec![";
    for statistic in &class.statistics {
        let (variant, field) = (variant(&statistic.type_name), snake(&statistic.name));
        let parts: &[&str] = match type_of(&statistic.type_name).map(|found| found.spread) {
            Some(Spread::HighLow) => &[".value", ".high", ".low"],
            Some(Spread::Samples) => &[".count", ".min", ".max", ".average"],
            _ => &[""],
        };
        for part in parts {
            let _ = write!(out, "Datum::{variant}(self.{field}{part}),");
        }
    }
    out + "] }\n}\n}\n\n"
}

/// An enum of a class's methods with what they are given, and what makes their answers.
pub fn method_type(class: &Class) -> String {
    if class.methods.is_empty() {
        return String::new();
    }
    let name = camel(&class.name);
    let mut out = format!(
        "/// A method of class `{}` with its arguments.\n#[derive(Clone, Debug, PartialEq)]\n\
         pub enum {name}Method {{\n",
        class.name
    );
    let mut arms = String::new();
    for (index, method) in class.methods.iter().enumerate() {
        let variant = camel(&method.name);
        let about = method
            .about
            .as_deref()
            .map(|about| format!(" {about}."))
            .unwrap_or_default();
        let _ = write!(out, "/// `{}`.{about}\n{variant}", method.name);
        let _ = write!(arms, "{index} => Self::{variant}");
        let given: Vec<_> = method.arguments.iter().filter(|a| a.is_given()).collect();
        if !given.is_empty() {
            out += " {";
            arms += " {";
            for argument in given {
                let (field, rust) = (snake(&argument.name), rust(&argument.type_name));
                let _ = writeln!(
                    out,
                    "/// `{}`, {}.\n{field}: {rust},",
                    argument.name, argument.type_name
                );
                let _ = write!(arms, "{field}: arguments.take()?,");
            }
            out += "}";
            arms += "}";
        }
        out += ",\n";
        arms += ",\n";
    }
    let _ = write!(out, "}}\n\nimpl {name}Method {{\n");
    let takes = class
        .methods
        .iter()
        .any(|method| method.arguments.iter().any(Argument::is_given));
    let parameter = if takes { "arguments" } else { "_arguments" };
    let _ = write!(
        out,
        "/// The method at `index` of the schema; None unless the arguments are of its types.\n\
         pub(crate) fn from_arguments(index: usize, {parameter}: &mut Arguments) -> Option<Self> \
         {{\nSome(match index {{\n{arms}_ => return None,\n}})\n}}\n"
    );
    for method in &class.methods {
        out += &answer(method);
    }
    out + "}\n\n"
}

/// A function that makes the answer of a method, if it has more to say than that it is done.
fn answer(method: &Method) -> String {
    let answered: Vec<_> = method
        .arguments
        .iter()
        .filter(|a| a.is_answered())
        .collect();
    if answered.is_empty() {
        return String::new();
    }
    let list = |item: &dyn Fn(&Argument) -> String| {
        answered
            .iter()
            .map(|a| item(a))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let parameters = list(&|a| format!("{}: {}", snake(&a.name), rust(&a.type_name)));
    let values = list(&|a| format!("Datum::{}({})", variant(&a.type_name), snake(&a.name)));
    format!(
        "\n/// What `{}` answers.\npub fn {}_answer({parameters}) -> Vec<Datum> {{\nvec![{values}]\n}}\n",
        method.name,
        snake(&method.name)
    )
}

/// A struct of an event's arguments, and how it becomes an event.
pub fn event_type(event: &Event) -> String {
    let name = camel(&event.name);
    let mut out = format!(
        "/// What there is to say of an event `{}`.\n#[derive(Clone, Debug, Default, PartialEq)]\n\
         pub struct {name} {{\n",
        event.name
    );
    let mut values = String::new();
    for argument in &event.arguments {
        let of = &argument.type_name;
        field(&mut out, &argument.name, of, rust(of), None);
        let _ = write!(
            values,
            "Datum::{}(self.{}),",
            variant(of),
            snake(&argument.name)
        );
    }
    let _ = write!(
        out,
        "}}\n\nimpl {name} {{\n/// The same as an event.\npub fn into_event(self) -> Event {{\n\
         Event {{ class: &{}_EVENT, arguments: vec![{values}] }}\n}}\n}}\n\n",
        constant(&event.name)
    );
    out
}
