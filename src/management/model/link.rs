//! Links to other brokers, and the bridges on them.

use super::{Place, World, page};
use crate::broker::links::{Bridge, Link};
use crate::qmf::broker as schema;
use crate::qmf::object::{Object, ObjectName};
use crate::wire::Text;

/// Links behind the place.
pub(super) fn list(world: World<'_>, place: &mut Place, found: &mut Vec<Object>) {
    let Some(behind) = behind(place) else {
        return *place = Place::End;
    };
    let links = world.core.links().behind(behind.as_ref());
    *place = page(links, found, |link| {
        (
            object(world, link),
            Place::Name(link.definition.name.clone()),
        )
    });
}

/// Bridges behind the place.
pub(super) fn list_bridges(world: World<'_>, place: &mut Place, found: &mut Vec<Object>) {
    let Some(behind) = behind(place) else {
        return *place = Place::End;
    };
    let bridges = world.core.links().bridges_behind(behind.as_ref());
    *place = page(bridges, found, |(link, bridge)| {
        let place = Place::Name(bridge.definition.name.clone());
        (bridge_object(world, link, bridge), place)
    });
}

/// The name behind which a list goes on; None at its end.
fn behind(place: &Place) -> Option<Option<Text>> {
    match place {
        Place::Start => Some(None),
        Place::Name(name) => Some(Some(name.clone())),
        _ => None,
    }
}

/// The link of a name.
pub(super) fn named(world: World<'_>, name: &str) -> Option<Object> {
    let link = world.core.links().get(name)?;
    Some(object(world, link))
}

/// The bridge of a key: the name of its link as an object, and its own.
pub(super) fn bridge_named(world: World<'_>, key: &str) -> Option<Object> {
    let (link, bridge) = super::bridge_of(world.core, key)?;
    Some(bridge_object(world, link, bridge))
}

fn object(world: World<'_>, link: &Link) -> Object {
    let address = link.address();
    let values = schema::Link {
        vhost_ref: ObjectName::vhost(),
        name: link.definition.name.clone(),
        host: address.host.clone(),
        port: address.port,
        transport: address.protocol.clone(),
        durable: link.definition.is_durable,
        connection_ref: match link.connection.is_empty() {
            true => ObjectName::default(),
            false => ObjectName::connection(&link.connection),
        },
        state: link.state.name().into(),
        last_error: link.last_error.clone(),
    };
    let times = world.setting.since(world.core, link.created);
    Object::new(values.into_values(), times)
}

fn bridge_object(world: World<'_>, link: &Link, bridge: &Bridge) -> Object {
    let definition = &bridge.definition;
    let values = schema::Bridge {
        link_ref: ObjectName::link(&link.definition.name),
        name: definition.name.clone(),
        channel_id: bridge.number as u16,
        durable: definition.is_durable,
        src: definition.source.clone(),
        dest: definition.destination.clone(),
        key: definition.key.clone(),
        src_is_queue: definition.source_is_queue,
        src_is_local: definition.source_is_local,
        tag: definition.tag.clone(),
        excludes: definition.excludes.clone(),
        dynamic: definition.is_dynamic,
        sync: definition.sync,
        credit: definition.credit,
    };
    let times = world.setting.since(world.core, bridge.created);
    Object::new(values.into_values(), times)
}
