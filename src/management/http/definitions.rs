//! Definitions as one document: exported, compared with what is there, imported.
//!
//! What belongs to a session (exclusive queues and their bindings, bindings of a session's scope) or to the broker itself (standard
//! exchanges, those of management, bindings to the default exchange) is no definition. Exchanges and
//! bindings are compared by what JSON shows of them, so that a document that was exported and is
//! imported again changes nothing.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value as Json, json};

use super::json::of_map;
use super::limits::{IMPORT_ARGUMENTS_BYTES_MAX, VALUE_BYTES_MAX};
use super::nouns::{referred, text};
use super::problem::{Kind, Problem};
use super::request::{self, Members, short};
use crate::broker::arguments::is_session_scoped;
use crate::broker::exchange;
use crate::broker::exchanges::own_type;
use crate::broker::limits::IMPORTED_DEFINITIONS_MAX;
use crate::broker::management::Import;
use crate::qmf::broker as schema;
use crate::qmf::datum::Datum;
use crate::qmf::object::Object;
use crate::qmf::schema::Class;
use crate::wire::{
    ExchangeBind, ExchangeDeclare, ExchangeDelete, ExchangeUnbind, Map, QueueDeclare, QueueDelete,
    Text, cut,
};

/// Classes of which definitions are made, in the order in which they are looked at.
pub static DEFINED: &[&Class] = &[&schema::EXCHANGE, &schema::QUEUE, &schema::BINDING];

/// A binding's exchange, queue and key.
type Bound = (Text, Text, Text);

/// Definitions by name.
#[derive(Clone, Debug, Default)]
pub struct Definitions {
    exchanges: BTreeMap<Text, ExchangeDeclare>,
    queues: BTreeMap<Text, QueueDeclare>,
    bindings: BTreeMap<Bound, ExchangeBind>,
    /// What is there and no definition: names that are taken.
    others: BTreeSet<Text>,
}

/// Whether an exchange is the broker's own.
fn is_own(exchange: &str) -> bool {
    own_type(exchange).is_some()
}

fn flag(object: &Object, name: &str) -> bool {
    object.value(name) == Some(&Datum::Bool(true))
}

fn map(object: &Object, name: &str) -> Map {
    match object.value(name) {
        Some(Datum::Map(map)) => map.clone(),
        _ => Map::new(),
    }
}

/// A queue of the model as it would be declared.
pub fn declared_queue(object: &Object) -> QueueDeclare {
    QueueDeclare {
        queue: text(object, "name").into(),
        durable: flag(object, "durable"),
        auto_delete: flag(object, "autoDelete"),
        alternate_exchange: referred(object, "altExchange").map(Text::from),
        arguments: Some(map(object, "arguments")),
        ..QueueDeclare::default()
    }
}

/// An exchange of the model as it would be declared.
pub fn declared_exchange(object: &Object) -> ExchangeDeclare {
    ExchangeDeclare {
        exchange: text(object, "name").into(),
        r#type: text(object, "type").into(),
        durable: flag(object, "durable"),
        auto_delete: flag(object, "autoDelete"),
        alternate_exchange: referred(object, "altExchange").map(Text::from),
        arguments: Some(map(object, "arguments")),
        ..ExchangeDeclare::default()
    }
}

/// A queue's definition.
pub fn show_queue(queue: &QueueDeclare) -> Json {
    json!({
        "name": queue.queue.as_str(),
        "vhost": "/",
        "durable": queue.durable,
        "auto_delete": queue.auto_delete,
        "alternate_exchange": named(queue.alternate_exchange.as_ref()),
        "arguments": of_map(&queue.arguments.clone().unwrap_or_default()),
    })
}

/// An exchange's definition.
pub fn show_exchange(exchange: &ExchangeDeclare) -> Json {
    json!({
        "name": exchange.exchange.as_str(),
        "vhost": "/",
        "type": exchange.r#type.as_str(),
        "durable": exchange.durable,
        "auto_delete": exchange.auto_delete,
        "alternate_exchange": named(exchange.alternate_exchange.as_ref()),
        "arguments": of_map(&exchange.arguments.clone().unwrap_or_default()),
    })
}

fn show_binding(binding: &ExchangeBind) -> Json {
    json!({
        "source": binding.exchange.as_str(),
        "vhost": "/",
        "destination": binding.queue.as_str(),
        "destination_type": "queue",
        "routing_key": binding.binding_key.as_str(),
        "arguments": of_map(&binding.arguments.clone().unwrap_or_default()),
    })
}

/// None and the empty name are the same.
fn named(exchange: Option<&Text>) -> Json {
    match exchange.filter(|name| !name.is_empty()) {
        Some(name) => json!(name.as_str()),
        None => Json::Null,
    }
}

/// In what a definition that is wanted differs from the one that is there, with both values; None: in
/// nothing.
pub fn differing(wanted: &Json, there: &Json) -> Option<String> {
    let members = wanted.as_object().into_iter().flatten();
    let shown = |value: Option<&Json>| {
        let text = value.unwrap_or(&Json::Null).to_string();
        cut(&text, VALUE_BYTES_MAX).to_owned()
    };
    let differs = |(name, value): &(&String, &Json)| there.get(name.as_str()) != Some(*value);
    let names: Vec<String> = members
        .filter(differs)
        .map(|(name, value)| {
            let (is, wanted) = (shown(there.get(name.as_str())), shown(Some(value)));
            format!("{name} ({is}, not {wanted})")
        })
        .collect();
    (!names.is_empty()).then(|| names.join(", "))
}

impl Definitions {
    /// Takes an object of the model, if it is a definition. Queues are to come before bindings.
    pub fn add(&mut self, object: &Object) {
        match object.class().name {
            "queue" => {
                let queue = declared_queue(object);
                match flag(object, "exclusive") {
                    true => drop(self.others.insert(queue.queue)),
                    false => drop(self.queues.insert(queue.queue.clone(), queue)),
                }
            }
            "exchange" => {
                let exchange = declared_exchange(object);
                if !is_own(&exchange.exchange) {
                    self.exchanges.insert(exchange.exchange.clone(), exchange);
                }
            }
            "binding" => {
                let (exchange, queue) = ("exchangeRef", "queueRef");
                let binding = ExchangeBind {
                    queue: referred(object, queue).unwrap_or_default().into(),
                    exchange: referred(object, exchange).unwrap_or_default().into(),
                    binding_key: text(object, "bindingKey").into(),
                    arguments: Some(map(object, "arguments")),
                };
                let arguments = binding.arguments.as_ref();
                let is_scoped = arguments.is_some_and(is_session_scoped);
                let is_kept = self.queues.contains_key(&binding.queue) && !is_scoped;
                if is_kept && !binding.exchange.is_empty() {
                    self.bindings.insert(bound(&binding), binding);
                }
            }
            _ => {}
        }
    }

    /// Of a document.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    pub fn read(document: Json) -> Result<Definitions, Problem> {
        let mut members = Members::of(document)?;
        let mut read = Definitions::default();
        for (at, item) in items(&mut members, "exchanges")? {
            let exchange = part(item, ["name"], |[name], rest| {
                request::exchange(&name, rest)
            });
            let exchange = exchange.map_err(|problem| within(&at, problem))?;
            let name = exchange.exchange.clone();
            twice(&at, read.exchanges.insert(name, exchange).is_some())?;
        }
        for (at, item) in items(&mut members, "queues")? {
            let queue = part(item, ["name"], |[name], rest| request::queue(&name, rest));
            let queue = queue.map_err(|problem| within(&at, problem))?;
            let name = queue.queue.clone();
            twice(&at, read.queues.insert(name, queue).is_some())?;
        }
        for (at, item) in items(&mut members, "bindings")? {
            let binding = part(item, ["source", "destination"], |[from, to], rest| {
                request::binding(&from, &to, rest)
            });
            let binding = binding.map_err(|problem| within(&at, problem))?;
            twice(
                &at,
                read.bindings.insert(bound(&binding), binding).is_some(),
            )?;
        }
        members.end(&["ferrymq_version"])?;
        match read.arguments_bytes() > IMPORT_ARGUMENTS_BYTES_MAX {
            true => Err(Problem::new(
                Kind::TooLarge,
                format!("arguments of more than {IMPORT_ARGUMENTS_BYTES_MAX} octets"),
            )),
            false => Ok(read),
        }
    }

    /// The same with binding keys as the broker keeps them: those that match the same are one.
    fn normal(mut self, there: &Definitions) -> Definitions {
        let bindings = std::mem::take(&mut self.bindings);
        for mut binding in bindings.into_values() {
            let name = &binding.exchange;
            let declared = self.exchanges.get(name).or(there.exchanges.get(name));
            // The broker's own exchanges stand in no document.
            let r#type = match declared {
                Some(exchange) => Some(exchange.r#type.as_str()),
                None => own_type(name),
            };
            // Of an exchange that is nowhere the key stays: what is wrong with it is told later.
            if let Some(kind) = r#type.and_then(exchange::Kind::of_type) {
                binding.binding_key = kind.kept_key(&binding.binding_key);
            }
            self.bindings.insert(bound(&binding), binding);
        }
        self
    }

    fn arguments_bytes(&self) -> usize {
        let exchanges = self.exchanges.values().map(|one| &one.arguments);
        let queues = self.queues.values().map(|one| &one.arguments);
        let bindings = self.bindings.values().map(|one| &one.arguments);
        let all = exchanges.chain(queues).chain(bindings).flatten();
        all.map(request::encoded_bytes).sum()
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.exchanges.len() + self.queues.len() + self.bindings.len()
    }

    /// As a document.
    pub fn show(&self) -> Json {
        json!({
            "ferrymq_version": env!("CARGO_PKG_VERSION"),
            "exchanges": self.exchanges.values().map(show_exchange).collect::<Vec<_>>(),
            "queues": self.queues.values().map(show_queue).collect::<Vec<_>>(),
            "bindings": self.bindings.values().map(show_binding).collect::<Vec<_>>(),
        })
    }
}

fn bound(binding: &ExchangeBind) -> Bound {
    (
        binding.exchange.clone(),
        binding.queue.clone(),
        binding.binding_key.clone(),
    )
}

/// The items of a list, each with the place where it stands.
fn items(members: &mut Members, name: &str) -> Result<Vec<(String, Json)>, Problem> {
    match members.take(name) {
        None => Ok(Vec::new()),
        Some(Json::Array(items)) if items.len() > IMPORTED_DEFINITIONS_MAX => Err(Problem::new(
            Kind::TooLarge,
            format!("{name}: more than {IMPORTED_DEFINITIONS_MAX}"),
        )),
        Some(Json::Array(items)) => {
            let items = items.into_iter().enumerate();
            Ok(items
                .map(|(at, item)| (format!("{name}[{at}]"), item))
                .collect())
        }
        Some(_) => Err(Problem::bad(format!("{name}: not a list"))),
    }
}

/// One definition: its names, and what remains of it.
fn part<T, const N: usize>(
    item: Json,
    names: [&str; N],
    make: impl FnOnce([Text; N], Json) -> Result<T, Problem>,
) -> Result<T, Problem> {
    let Json::Object(mut members) = item else {
        return Err(Problem::bad("not an object"));
    };
    if members.get("vhost").is_some_and(|vhost| vhost != "/") {
        return Err(Problem::bad("vhost: there is none but /"));
    }
    let mut found = [const { Text::const_new("") }; N];
    for (place, name) in found.iter_mut().zip(names) {
        match members.remove(name) {
            Some(Json::String(text)) => *place = short(name, &text)?,
            Some(_) => return Err(Problem::bad(format!("{name}: not a text"))),
            None => return Err(Problem::bad(format!("{name} is missing"))),
        }
    }
    make(found, Json::Object(members))
}

fn within(at: &str, problem: Problem) -> Problem {
    Problem::new(problem.kind, format!("{at}: {}", problem.reason))
}

fn twice(at: &str, is_twice: bool) -> Result<(), Problem> {
    match is_twice {
        true => Err(Problem::bad(format!("{at}: stands there twice"))),
        false => Ok(()),
    }
}

/// What an import would change.
#[derive(Clone, Debug, Default)]
pub struct Difference {
    to_make: Definitions,
    to_delete: Definitions,
    conflicts: Vec<(&'static str, String, String)>,
}

impl Difference {
    /// Between what is there and what is wanted. What is there and not wanted goes if `is_pruned`.
    pub fn between(there: &Definitions, wanted: &Definitions, is_pruned: bool) -> Difference {
        let wanted = &wanted.clone().normal(there);
        let mut difference = Difference::default();
        difference.exchanges(there, wanted);
        difference.queues(there, wanted);
        difference.bindings(there, wanted);
        if is_pruned {
            difference.to_delete = unwanted(there, wanted);
            difference.last_bindings(there, wanted);
        }
        difference
    }

    fn exchanges(&mut self, there: &Definitions, wanted: &Definitions) {
        for (name, exchange) in &wanted.exchanges {
            let made = match there.exchanges.get(name) {
                None if is_own(name) => Some("it is the broker's own".to_owned()),
                None => {
                    self.to_make
                        .exchanges
                        .insert(name.clone(), exchange.clone());
                    continue;
                }
                Some(found) => differing(&show_exchange(exchange), &show_exchange(found))
                    .map(|names| format!("it is there with other {names}")),
            };
            self.conflicts
                .extend(made.map(|why| ("exchange", name.to_string(), why)));
        }
    }

    fn queues(&mut self, there: &Definitions, wanted: &Definitions) {
        for (name, queue) in &wanted.queues {
            let made = match there.queues.get(name) {
                None if there.others.contains(name) => {
                    Some("it is there and exclusive to a session".to_owned())
                }
                None => {
                    self.to_make.queues.insert(name.clone(), queue.clone());
                    continue;
                }
                Some(found) => differing(&show_queue(queue), &show_queue(found))
                    .map(|names| format!("it is there with other {names}")),
            };
            self.conflicts
                .extend(made.map(|why| ("queue", name.to_string(), why)));
        }
    }

    fn bindings(&mut self, there: &Definitions, wanted: &Definitions) {
        for (name, binding) in &wanted.bindings {
            let Some(found) = there.bindings.get(name) else {
                self.to_make.bindings.insert(name.clone(), binding.clone());
                continue;
            };
            if let Some(names) = differing(&show_binding(binding), &show_binding(found)) {
                let (exchange, queue, key) = name;
                let why = format!("it is there with other {names}");
                self.conflicts
                    .push(("binding", format!("{exchange}/{queue}/{key}"), why));
            }
        }
    }

    /// A wanted exchange with `auto_delete` would go with the last binding that the document has not.
    fn last_bindings(&mut self, there: &Definitions, wanted: &Definitions) {
        let stay = |name: &&Bound| !self.to_delete.bindings.contains_key(*name);
        let kept = there.bindings.keys().filter(stay);
        let made = self.to_make.bindings.keys();
        let bound: BTreeSet<&Text> = kept.chain(made).map(|(exchange, ..)| exchange).collect();
        let lost = self.to_delete.bindings.keys();
        let lost: BTreeSet<&Text> = lost.map(|(exchange, ..)| exchange).collect();
        let ending = lost.difference(&bound).filter(|name| {
            let wanted = wanted.exchanges.get(**name);
            wanted.is_some_and(|exchange| exchange.auto_delete)
        });
        let why = "it goes with its last binding (auto_delete), which the document has not";
        let ending = ending.map(|name| ("exchange", name.to_string(), why.to_owned()));
        let ending: Vec<_> = ending.collect();
        self.conflicts.extend(ending);
    }

    /// Whether something that is there contradicts the document.
    pub fn conflicts(&self) -> usize {
        self.conflicts.len()
    }

    /// Adds what would be refused that is no difference: a right that is missing, or what the broker
    /// cannot make.
    pub fn refused(&mut self, why: String) {
        self.conflicts.push(("document", String::new(), why));
    }

    /// Whether nothing is to be changed.
    pub fn is_empty(&self) -> bool {
        self.to_make.count() + self.to_delete.count() == 0
    }

    /// As an answer.
    pub fn show(&self, is_dry_run: bool) -> Json {
        let conflicts = self.conflicts.iter();
        let conflicts = conflicts
            .map(|(kind, name, reason)| json!({"kind": kind, "name": name, "reason": reason}));
        json!({
            "dry_run": is_dry_run,
            "to_make": self.to_make.show(),
            "to_delete": self.to_delete.show(),
            "conflicts": conflicts.collect::<Vec<_>>(),
        })
    }

    /// The conflicts in words.
    pub fn complaint(&self) -> String {
        let one = |(kind, name, why): &(&str, String, String)| format!("{kind} {name}: {why}");
        let all: Vec<String> = self.conflicts.iter().map(one).collect();
        all.join("; ")
    }

    /// What the core is to do. Bindings of what goes go with it.
    pub fn import(&self) -> Import {
        let (made, gone) = (&self.to_make, &self.to_delete);
        let stays = |name: &&Bound| {
            !gone.exchanges.contains_key(&name.0) && !gone.queues.contains_key(&name.1)
        };
        let unbind = |(exchange, queue, key): &Bound| ExchangeUnbind {
            queue: queue.clone(),
            exchange: exchange.clone(),
            binding_key: key.clone(),
        };
        Import {
            exchanges: alternates_first(&made.exchanges),
            queues: made.queues.values().cloned().collect(),
            bindings: made.bindings.values().cloned().collect(),
            // Whoever proposes it reads them, and knows his rights.
            unreadable: Default::default(),
            quota: None,
            unbindings: gone.bindings.keys().filter(stays).map(unbind).collect(),
            deleted_queues: gone
                .queues
                .keys()
                .map(|name| QueueDelete {
                    queue: name.clone(),
                    ..QueueDelete::default()
                })
                .collect(),
            deleted_exchanges: gone
                .exchanges
                .keys()
                .map(|name| ExchangeDelete {
                    exchange: name.clone(),
                    ..ExchangeDelete::default()
                })
                .collect(),
        }
    }
}

/// What is there and not wanted.
fn unwanted(there: &Definitions, wanted: &Definitions) -> Definitions {
    let mut gone = there.clone();
    gone.others.clear();
    gone.exchanges
        .retain(|name, _| !wanted.exchanges.contains_key(name));
    gone.queues
        .retain(|name, _| !wanted.queues.contains_key(name));
    gone.bindings
        .retain(|name, _| !wanted.bindings.contains_key(name));
    gone
}

/// Exchanges, each behind the one that is its alternate. Those whose alternates go round in a circle come
/// last: the core refuses them.
fn alternates_first(exchanges: &BTreeMap<Text, ExchangeDeclare>) -> Vec<ExchangeDeclare> {
    let mut users: BTreeMap<&Text, Vec<&Text>> = BTreeMap::new();
    let mut ready: Vec<&Text> = Vec::new();
    for (name, exchange) in exchanges {
        match &exchange.alternate_exchange {
            Some(alternate) if exchanges.contains_key(alternate) => {
                users.entry(alternate).or_default().push(name);
            }
            _ => ready.push(name),
        }
    }
    let mut done = BTreeSet::new();
    let mut order = Vec::new();
    while let Some(name) = ready.pop() {
        done.insert(name);
        order.extend(exchanges.get(name).cloned());
        ready.extend(users.remove(name).unwrap_or_default());
    }
    let circle = exchanges.iter().filter(|(name, _)| !done.contains(name));
    order.extend(circle.map(|(_, exchange)| exchange.clone()));
    order
}
