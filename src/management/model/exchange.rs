//! Exchanges and their bindings.

use super::queue::{alternate, behind};
use super::{OBJECTS_PER_LOOK, Place, World, around, number32, page};
use crate::broker::exchange::Behind;
use crate::broker::exchanges::Exchange;
use crate::broker::queue::Queue;
use crate::qmf::broker as schema;
use crate::qmf::limits::OBJECT_NAME_BYTES_MAX;
use crate::qmf::object::{Object, ObjectName};
use crate::wire::{Map, Text};

/// The argument of a binding that says by which broker it came.
const ORIGIN: &str = "qpid.fed.origin";

pub(super) fn list(world: World<'_>, place: &mut Place, found: &mut Vec<Object>) {
    let behind = match place {
        Place::Start => None,
        Place::Name(name) => Some(name.clone()),
        _ => return *place = Place::End,
    };
    let exchanges = world.core.exchanges_behind(behind.as_ref());
    *place = page(exchanges, found, |exchange| {
        (object(world, exchange), Place::Name(exchange.name.clone()))
    });
}

pub(super) fn named(world: World<'_>, name: &str) -> Option<Object> {
    Some(object(world, world.core.exchange_of_name(name)?))
}

fn object(world: World<'_>, exchange: &Exchange) -> Object {
    let counters = &exchange.counters;
    let bindings = match exchange.is_default() {
        true => number32(world.core.queue_count() as u64).into(),
        false => world.watched(exchange.kind.binding_count() as u64, &exchange.watched),
    };
    let values = schema::Exchange {
        vhost_ref: ObjectName::vhost(),
        name: exchange.name.clone(),
        r#type: exchange.kind.type_name().into(),
        durable: exchange.is_durable,
        auto_delete: exchange.is_auto_delete,
        alt_exchange: alternate(world, exchange.alternate),
        arguments: exchange.shown_arguments(),
        binding_count: bindings,
        msg_receives: counters.receives,
        msg_drops: counters.drops,
        msg_routes: counters.routes,
        byte_receives: counters.bytes_received,
        byte_drops: counters.bytes_dropped,
        byte_routes: counters.bytes_routed,
        ..schema::Exchange::default()
    };
    let times = world.setting.since(world.core, exchange.created);
    Object::new(values.into_values(), times)
}

/// Bindings: those of the default exchange first, which every queue has and nobody keeps, then those of
/// each other exchange.
pub(super) fn list_bindings(world: World<'_>, place: &mut Place, found: &mut Vec<Object>) {
    let full = found.len() + OBJECTS_PER_LOOK;
    loop {
        match place {
            Place::Start => list_default(world, None, place, found),
            Place::DefaultBinding(name) => {
                let name = name.clone();
                list_default(world, Some(&name), place, found);
            }
            Place::Name(name) => {
                let name = name.clone();
                *place = next_exchange(world, &name);
            }
            Place::Binding(name, behind) => {
                let (name, behind) = (name.clone(), behind.take());
                let most = full.saturating_sub(found.len());
                *place = list_of(world, &name, behind.as_ref(), most, found);
            }
            _ => return *place = Place::End,
        }
        if found.len() >= full {
            return;
        }
    }
}

fn next_exchange(world: World<'_>, name: &Text) -> Place {
    let next = world.core.exchanges_behind(Some(name)).next();
    next.map_or(Place::End, |next| Place::Binding(next.name.clone(), None))
}

fn list_default(world: World<'_>, name: Option<&Text>, place: &mut Place, found: &mut Vec<Object>) {
    let mut last = None;
    for queue in behind(world, name) {
        found.push(binding(world, "", queue, &queue.name, &Map::new(), 0));
        last = Some(queue.name.clone());
    }
    // The default exchange's name is empty: all others are behind it.
    *place = last.map_or(Place::Name(Text::default()), Place::DefaultBinding);
}

fn list_of(
    world: World<'_>,
    name: &Text,
    behind: Option<&Behind>,
    most: usize,
    found: &mut Vec<Object>,
) -> Place {
    let Some(exchange) = world.core.exchange_of_name(name) else {
        return Place::Name(name.clone());
    };
    let mut last = None;
    let mut seen = 0;
    for (slot, bound, queue) in world.core.bindings_behind(exchange, behind).take(most) {
        let (key, arguments) = (&bound.key, &bound.arguments);
        found.push(binding(world, name, queue, key, arguments, bound.matched));
        last = Some((slot, bound));
        seen += 1;
    }
    let last = last.map(|(slot, bound)| Behind {
        key: bound.key.clone(),
        queue: bound.queue,
        slot,
    });
    match seen < most {
        true => Place::Name(name.clone()),
        false => Place::Binding(name.clone(), last),
    }
}

fn binding(
    world: World<'_>,
    exchange: &str,
    queue: &Queue,
    key: &str,
    arguments: &Map,
    matched: u64,
) -> Object {
    let origin = arguments.get(ORIGIN).and_then(|origin| origin.as_str());
    let values = schema::Binding {
        exchange_ref: ObjectName::exchange(exchange),
        queue_ref: ObjectName::queue(&queue.name),
        binding_key: key.into(),
        arguments: arguments.clone(),
        origin: origin.map(Text::from),
        msg_matched: matched,
    };
    Object::new(
        values.into_values(),
        world.setting.since(world.core, queue.created),
    )
}

/// The binding of a name that is made of those of exchange and queue, and its key. Names may have commas
/// in them: all ways to read it are tried.
pub(super) fn binding_named(world: World<'_>, key: &str) -> Option<Object> {
    let exchange_part = ObjectName::exchange("").as_str().to_owned();
    let queue_part = format!(",{}", ObjectName::queue("").as_str());
    let rest = key.strip_prefix(&exchange_part)?;
    // There are as many ways as a peer puts commas into it.
    if rest.len() > OBJECT_NAME_BYTES_MAX {
        return None;
    }
    for (at, _) in rest.match_indices(&queue_part) {
        let Some((exchange, behind)) = around(rest, at, queue_part.len()) else {
            continue;
        };
        let Some(exchange) = world.core.exchange_of_name(exchange) else {
            continue;
        };
        for (comma, _) in behind.match_indices(',') {
            let Some((queue, key)) = around(behind, comma, 1) else {
                continue;
            };
            if let Some(found) = binding_of(world, exchange, queue, key) {
                return Some(found);
            }
        }
    }
    None
}

fn binding_of(world: World<'_>, exchange: &Exchange, queue: &str, key: &str) -> Option<Object> {
    let queue = world.core.queue_of_name(queue)?;
    if exchange.is_default() {
        return (queue.name == key).then(|| binding(world, "", queue, key, &Map::new(), 0));
    }
    let mut bindings = exchange.kind.bindings();
    let bound = bindings.find(|bound| bound.key == key && bound.queue == queue.reference.id)?;
    Some(binding(
        world,
        &exchange.name,
        queue,
        key,
        &bound.arguments,
        bound.matched,
    ))
}
