//! What the broker asks when: a rule that can never be met is left out, with a warning.

use std::collections::BTreeMap;

use super::names::{Action, Object, Property, RuleProperty};

/// Actions, objects, and the properties that are asked about together, beside the name.
const LOOKUPS: [(Action, Object, &[&[Property]]); 20] = {
    use Property as P;
    const OF_QUEUE: &[Property] = &[
        P::Alternate,
        P::Durable,
        P::Exclusive,
        P::AutoDelete,
        P::PolicyType,
    ];
    const BINDING: &[Property] = &[P::QueueName, P::RoutingKey];
    [
        (Action::Access, Object::Broker, &[&[]]),
        (
            Action::Access,
            Object::Exchange,
            &[BINDING, &[P::Type, P::Alternate, P::Durable, P::AutoDelete]],
        ),
        (
            Action::Access,
            Object::Method,
            &[&[P::SchemaPackage, P::SchemaClass]],
        ),
        (Action::Access, Object::Query, &[&[P::SchemaClass]]),
        (
            Action::Access,
            Object::Queue,
            &[&[
                P::Alternate,
                P::Durable,
                P::Exclusive,
                P::AutoDelete,
                P::PolicyType,
                P::MaxQueueCount,
                P::MaxQueueSize,
            ]],
        ),
        (Action::Bind, Object::Exchange, &[BINDING]),
        (Action::Consume, Object::Queue, &[&[]]),
        (Action::Create, Object::Connection, &[&[P::Host]]),
        (
            Action::Create,
            Object::Exchange,
            &[&[P::Type, P::Alternate, P::Durable, P::AutoDelete]],
        ),
        (Action::Create, Object::Link, &[&[]]),
        (
            Action::Create,
            Object::Queue,
            &[&[
                P::Alternate,
                P::Durable,
                P::Exclusive,
                P::AutoDelete,
                P::PolicyType,
                P::Paging,
                P::MaxPages,
                P::MaxPageFactor,
                P::MaxQueueCount,
                P::MaxQueueSize,
                P::MaxFileCount,
                P::MaxFileSize,
            ]],
        ),
        (
            Action::Delete,
            Object::Exchange,
            &[&[P::Type, P::Alternate, P::Durable]],
        ),
        (Action::Delete, Object::Queue, &[OF_QUEUE]),
        (Action::Move, Object::Queue, &[&[P::QueueName]]),
        (Action::Publish, Object::Exchange, &[&[P::RoutingKey]]),
        (Action::Purge, Object::Queue, &[&[]]),
        (Action::Redirect, Object::Queue, &[&[P::QueueName]]),
        (Action::Reroute, Object::Queue, &[&[P::ExchangeName]]),
        (Action::Unbind, Object::Exchange, &[BINDING]),
        (Action::Update, Object::Broker, &[&[]]),
    ]
};

/// Every action and object that the broker asks about.
pub fn all() -> impl Iterator<Item = (Action, Object)> {
    LOOKUPS.iter().map(|(action, object, _)| (*action, *object))
}

fn asked(action: Action, object: Object) -> Option<&'static [&'static [Property]]> {
    LOOKUPS
        .iter()
        .find(|(a, o, _)| (*a, *o) == (action, object))
        .map(|(_, _, sets)| *sets)
}

/// Whether the broker ever asks something that a rule with these properties could meet.
///
/// # Errors
/// Why it does not, for a warning.
pub fn can_be_met(
    action: Action,
    object: Object,
    properties: &BTreeMap<RuleProperty, String>,
) -> Result<(), String> {
    let Some(sets) = asked(action, object) else {
        return Err(format!(
            "the broker never checks for rules with action '{action}' and object '{object}'"
        ));
    };
    let is_in = |set: &&[Property]| {
        properties.keys().all(|property| {
            let (of, _) = property.of();
            of == Property::Name || set.contains(&of)
        })
    };
    match sets.iter().any(is_in) {
        true => Ok(()),
        false => {
            let named: Vec<&str> = properties.keys().map(|property| property.name()).collect();
            Err(format!(
                "the broker checks for rules with action '{action}' and object '{object}' but will \
                 never match the property set {{{}}}",
                named.join(" ")
            ))
        }
    }
}
