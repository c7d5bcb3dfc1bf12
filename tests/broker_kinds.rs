//! Kinds of queues and what their arguments ask: each rule by its name, on a core of which a second
//! one, replaced by snapshots, and one recovered from facts must be the same.

mod broker;

#[path = "broker_kinds/alerts.rs"]
mod alerts;
#[path = "broker_kinds/arguments.rs"]
mod arguments;
#[path = "broker_kinds/defaults.rs"]
mod defaults;
#[path = "broker_kinds/durable.rs"]
mod durable;
#[path = "broker_kinds/flow.rs"]
mod flow;
#[path = "broker_kinds/groups.rs"]
mod groups;
#[path = "broker_kinds/last_value.rs"]
mod last_value;
#[path = "broker_kinds/lifetime.rs"]
mod lifetime;
#[path = "broker_kinds/policies.rs"]
mod policies;
#[path = "broker_kinds/priority.rs"]
mod priority;
#[path = "broker_kinds/rules.rs"]
mod rules;

use broker::scenes::persist;
use broker::{Session, message_with, message_with_headers};
use ferrymq::wire::{DeliveryPriority, Value};

/// Text as a value.
fn text(text: &str) -> Value {
    Value::Str16(text.into())
}

/// Publishes a message with a header.
fn publish_with(session: &Session, queue: &str, body: &str, header: (&str, &str)) -> u32 {
    let (name, value) = header;
    let message = message_with_headers(queue, body, &[(name, text(value))]);
    session.publish_message("", message)
}

/// Publishes a message with a priority.
fn publish_at(session: &Session, queue: &str, body: &str, priority: u8) -> u32 {
    let message = message_with(queue, body, |delivery| {
        delivery.priority = Some(DeliveryPriority(priority))
    });
    session.publish_message("", message)
}

/// What a browser sees in a queue.
fn browsed(session: &Session, queue: &str) -> Vec<String> {
    session.told();
    session.browse(queue, "browse");
    session.flow("browse", u32::MAX);
    let found = session.received_among_others();
    session.cancel("browse");
    found
}

/// What a consumer gets of a queue, and accepts.
fn taken(session: &Session, queue: &str) -> Vec<String> {
    session.told();
    session.subscribe_with(queue, "take", |subscribe| {
        subscribe.accept_mode = ferrymq::wire::AcceptMode::NONE;
    });
    session.flow("take", u32::MAX);
    let found = session.received_among_others();
    session.cancel("take");
    found
}
