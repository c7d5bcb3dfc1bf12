//! What commands of AMQP ask of the rules.

use std::fmt::Display;

use super::names::{Action, Decision, Object, Property, RuleProperty};
use super::rules::{Properties, Rules};
use super::text::{self, Substitutes};
use crate::broker::arguments::{self, flag, number, text as text_of};
use crate::broker::guard::{Aspect, Clause, Guard, Guarded, Ruling, truth};
use crate::wire::{Command, ExchangeDeclare, Map, QueueDeclare, Text};

/// Conditions of one command: a file with more rules about deletion for one user is taken to deny it.
const CLAUSES_MAX: usize = 1024;

/// Files of a journal, and pages of one, of a queue that does not say: qpidd's.
const FILES: (u64, u64) = (8, 24);

/// Pages that a paged queue keeps loaded, and their size, where it does not say: qpidd's.
const PAGES: (u64, u64) = (4, 1);

/// An act, as rules know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked<'a> {
    /// What is done.
    pub action: Action,
    /// To what.
    pub object: Object,
    /// Its name.
    pub name: &'a str,
    /// What else is known. None: only names are compared.
    pub properties: Option<Properties>,
    /// In words, for the client.
    pub what: &'static str,
}

/// What a command asks. None: it needs no right. `default_queue_limit` is what a queue holds that does
/// not say, in octets.
pub fn asked(command: &Command, default_queue_limit: u64) -> Option<Asked<'_>> {
    match command {
        Command::ExchangeDeclare(declare) => Some(of_exchange_declare(declare)),
        Command::QueueDeclare(declare) => Some(of_queue_declare(declare, default_queue_limit)),
        command => of_exchange(command).or_else(|| of_queue(command)),
    }
}

/// What another command of an exchange asks.
fn of_exchange(command: &Command) -> Option<Asked<'_>> {
    use Command as C;
    let (action, name, properties, what) = match command {
        C::ExchangeDelete(delete) => {
            let none = Some(Properties::new());
            (Action::Delete, &*delete.exchange, none, "exchange delete")
        }
        C::ExchangeQuery(query) => {
            let name = query.name.as_deref().unwrap_or_default();
            (Action::Access, name, None, "exchange query")
        }
        C::ExchangeBound(bound) => {
            let key = bound.binding_key.as_deref().unwrap_or_default();
            let binding = Some(of_binding(&bound.queue, key));
            let name = bound.exchange.as_deref().unwrap_or_default();
            (Action::Access, name, binding, "exchange bound")
        }
        C::ExchangeBind(bind) => {
            let binding = Some(of_binding(&bind.queue, &bind.binding_key));
            (Action::Bind, &*bind.exchange, binding, "exchange bind")
        }
        C::ExchangeUnbind(unbind) => {
            let binding = Some(of_binding(&unbind.queue, &unbind.binding_key));
            (
                Action::Unbind,
                &*unbind.exchange,
                binding,
                "exchange unbind",
            )
        }
        _ => return None,
    };
    Some(Asked {
        action,
        object: Object::Exchange,
        name,
        properties,
        what,
    })
}

/// What another command of a queue asks.
fn of_queue(command: &Command) -> Option<Asked<'_>> {
    use Command as C;
    let (action, name, what) = match command {
        C::QueueDelete(delete) => (Action::Delete, &*delete.queue, "queue delete"),
        C::QueuePurge(purge) => (Action::Purge, &*purge.queue, "queue purge"),
        C::QueueQuery(query) => (Action::Access, &*query.queue, "queue query"),
        C::MessageSubscribe(subscribe) => (Action::Consume, &*subscribe.queue, "Queue subscribe"),
        _ => return None,
    };
    Some(Asked {
        action,
        object: Object::Queue,
        name,
        properties: (action == Action::Delete).then(Properties::new),
        what,
    })
}

fn put(properties: &mut Properties, property: Property, value: impl Display) {
    properties.insert(property, value.to_string());
}

fn of_binding(queue: &str, key: &str) -> Properties {
    let mut properties = Properties::new();
    put(&mut properties, Property::QueueName, queue);
    put(&mut properties, Property::RoutingKey, key);
    properties
}

fn of_exchange_declare(declare: &ExchangeDeclare) -> Asked<'_> {
    let mut properties = Properties::new();
    let alternate = declare.alternate_exchange.as_deref().unwrap_or_default();
    put(&mut properties, Property::Type, &declare.r#type);
    put(&mut properties, Property::Alternate, alternate);
    put(&mut properties, Property::Durable, truth(declare.durable));
    put(
        &mut properties,
        Property::AutoDelete,
        truth(declare.auto_delete),
    );
    let (action, what) = match declare.passive {
        true => (Action::Access, "exchange access"),
        false => (Action::Create, "exchange create"),
    };
    Asked {
        action,
        object: Object::Exchange,
        name: declare.exchange.as_str(),
        properties: Some(properties),
        what,
    }
}

fn of_queue_declare(declare: &QueueDeclare, default_queue_limit: u64) -> Asked<'_> {
    let none = Map::new();
    let given = declare.arguments.as_ref().unwrap_or(&none);
    let mut properties = Properties::new();
    let alternate = declare.alternate_exchange.as_deref().unwrap_or_default();
    put(&mut properties, Property::Alternate, alternate);
    put(&mut properties, Property::Durable, truth(declare.durable));
    put(
        &mut properties,
        Property::Exclusive,
        truth(declare.exclusive),
    );
    // A queue without name cannot be asked for: it is made.
    if declare.passive && !declare.queue.is_empty() {
        let number_of = |name| number(given, name).ok().flatten().unwrap_or(0);
        let policy = text_of(given, arguments::POLICY_TYPE).unwrap_or_default();
        put(
            &mut properties,
            Property::AutoDelete,
            truth(declare.auto_delete),
        );
        put(&mut properties, Property::PolicyType, policy);
        let (count, size) = (arguments::MAX_COUNT, arguments::MAX_SIZE);
        put(&mut properties, Property::MaxQueueCount, number_of(count));
        put(&mut properties, Property::MaxQueueSize, number_of(size));
        return Asked {
            action: Action::Access,
            object: Object::Queue,
            name: declare.queue.as_str(),
            properties: Some(properties),
            what: "queue access",
        };
    }
    let is_auto_delete = is_auto_delete(declare, given);
    put(&mut properties, Property::AutoDelete, truth(is_auto_delete));
    put(&mut properties, Property::PolicyType, policy(given));
    put_depths(&mut properties, given, default_queue_limit);
    put_files(&mut properties, given, declare.durable);
    Asked {
        action: Action::Create,
        object: Object::Queue,
        name: declare.queue.as_str(),
        properties: Some(properties),
        what: "queue create",
    }
}

/// As it will be: the arguments can say otherwise than the declaration.
fn is_auto_delete(declare: &QueueDeclare, given: &Map) -> bool {
    let timeout = number(given, arguments::AUTO_DELETE_TIMEOUT).ok().flatten();
    let policy = text_of(given, arguments::LIFETIME_POLICY);
    match policy.as_deref() {
        Some("manual") => false,
        Some("delete-if-unused" | "delete-if-unused-and-empty" | "delete-on-close") => true,
        _ => declare.auto_delete || timeout.is_some_and(|seconds| seconds > 0),
    }
}

fn policy(given: &Map) -> &'static str {
    match text_of(given, arguments::POLICY_TYPE).as_deref() {
        Some("ring") => "ring",
        Some("self-destruct") => "self-destruct",
        _ => "reject",
    }
}

/// What is said to be without limit is more than any limit.
fn put_depths(properties: &mut Properties, given: &Map, default_queue_limit: u64) {
    let unlimited = |depth: u64| match depth {
        0 => u64::MAX,
        depth => depth,
    };
    let count = number(given, arguments::MAX_COUNT).ok().flatten();
    let size = number(given, arguments::MAX_SIZE).ok().flatten();
    if let Some(count) = count {
        put(properties, Property::MaxQueueCount, unlimited(count));
    }
    let size = size.map_or(default_queue_limit, unlimited);
    put(properties, Property::MaxQueueSize, size);
}

fn put_files(properties: &mut Properties, given: &Map, is_durable: bool) {
    let or = |name, default| {
        let found = number(given, name).ok().flatten();
        found.filter(|number| *number > 0).unwrap_or(default)
    };
    let is_paged = flag(given, arguments::PAGING);
    put(properties, Property::Paging, truth(is_paged));
    if is_paged {
        let [loaded, factor] = arguments::PAGES;
        put(properties, Property::MaxPages, or(loaded, PAGES.0));
        put(properties, Property::MaxPageFactor, or(factor, PAGES.1));
    }
    if is_durable {
        let (count, size) = (
            or("qpid.file_count", FILES.0),
            or("qpid.file_size", FILES.1),
        );
        put(properties, Property::MaxFileCount, count);
        put(properties, Property::MaxFileSize, size);
    }
}

/// What the rules say of an act on what has this name, as far as it depends on what is there. None: it is
/// denied whatever is there and nobody is told why, or has too many conditions.
pub fn conditions(
    rules: &Rules,
    user: &str,
    (action, object): (Action, Object),
    name: &str,
) -> Option<Guard> {
    let substitutes = Substitutes::of(user);
    let clauses: Vec<Clause> = rules
        .rules_of(action, object, user)
        .filter(|rule| {
            let wanted = rule.properties.get(&RuleProperty::NAME);
            wanted.is_none_or(|wanted| text::is_matched(&substitutes.put_into(wanted), name))
        })
        .map(|rule| Clause {
            ruling: ruling(rule.decision),
            wanted: rule
                .properties
                .iter()
                .filter_map(|(asked, wanted)| {
                    let wanted = Text::from(substitutes.put_into(wanted));
                    Some((aspect(*asked)?, wanted))
                })
                .collect(),
        })
        .collect();
    let otherwise = ruling(rules.mode);
    let mut all = clauses
        .iter()
        .map(|clause| clause.ruling)
        .chain([otherwise]);
    // One that denies whatever comes is proposed all the same where it depends which rule is to be told of.
    let is_open = all.any(|ruling| ruling.is_allowed() || ruling.is_told());
    (is_open && clauses.len() <= CLAUSES_MAX).then_some(Guard { clauses, otherwise })
}

fn ruling(decision: Decision) -> Ruling {
    Ruling::new(decision.is_allowed(), decision.is_logged())
}

/// A deletion with what the rules say of what may be deleted. None: as for [`conditions`].
pub fn guard(rules: &Rules, user: &str, command: &Command) -> Option<Guarded> {
    let of = |object, name: &str| conditions(rules, user, (Action::Delete, object), name);
    match command {
        Command::QueueDelete(delete) => Some(Guarded::QueueDelete {
            guard: of(Object::Queue, &delete.queue)?,
            delete: delete.clone(),
        }),
        Command::ExchangeDelete(delete) => Some(Guarded::ExchangeDelete {
            guard: of(Object::Exchange, &delete.exchange)?,
            delete: delete.clone(),
        }),
        _ => None,
    }
}

/// What the core knows of what an act is about. The name has been looked at; the exchange that messages
/// are routed anew to is asked about only where it is the queue's alternate.
fn aspect(asked: RuleProperty) -> Option<Aspect> {
    match asked.of().0 {
        Property::Durable => Some(Aspect::Durable),
        Property::Exclusive => Some(Aspect::Exclusive),
        Property::AutoDelete => Some(Aspect::AutoDelete),
        Property::PolicyType => Some(Aspect::PolicyType),
        Property::Alternate | Property::ExchangeName => Some(Aspect::Alternate),
        Property::Type => Some(Aspect::Type),
        _ => None,
    }
}
