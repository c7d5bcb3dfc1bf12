//! Connections.

use super::{Place, World, page};
use crate::broker::Core;
use crate::broker::connections::Connection;
use crate::broker::ids::ConnectionKey;
use crate::qmf::broker as schema;
use crate::qmf::object::{Object, ObjectName};
use crate::wire::{Map, Text, Value};

/// What all connections speak here.
const PROTOCOL: &str = "AMQP 0-10";

/// What a client says of its process.
const PROCESS_NAME: &str = "qpid.client_process";
const PROCESS_ID: &str = "qpid.client_pid";
const PARENT_ID: &str = "qpid.client_ppid";

pub(super) fn list(world: World<'_>, place: &mut Place, found: &mut Vec<Object>) {
    let behind = match place {
        Place::Start => None,
        Place::Connection(key) => Some(*key),
        _ => return *place = Place::End,
    };
    let connections = world.core.connections_behind(behind);
    *place = page(connections, found, |(key, connection)| {
        (object(world, key, connection), Place::Connection(key))
    });
}

pub(super) fn named(world: World<'_>, address: &str) -> Option<Object> {
    let (key, connection) = found(world.core, address)?;
    Some(object(world, key, connection))
}

pub(super) fn found<'a>(core: &'a Core, address: &str) -> Option<(ConnectionKey, &'a Connection)> {
    let mut all = core.connections_behind(None);
    all.find(|(_, connection)| connection.address() == address)
}

fn object(world: World<'_>, key: ConnectionKey, connection: &Connection) -> Object {
    let record = &connection.record;
    let details = connection.details.as_deref().cloned().unwrap_or_default();
    let said = &record.client_properties;
    let mut traffic = (world.traffic)(key).unwrap_or(connection.traffic);
    if details.is_outgoing {
        // As seen from the other broker, whose client we are.
        std::mem::swap(&mut traffic.frames_in, &mut traffic.frames_out);
        std::mem::swap(&mut traffic.bytes_in, &mut traffic.bytes_out);
        std::mem::swap(&mut traffic.messages_in, &mut traffic.messages_out);
    }
    let values = schema::Connection {
        vhost_ref: ObjectName::vhost(),
        address: connection.address(),
        incoming: !details.is_outgoing,
        system_connection: false,
        user_proxy_auth: false,
        federation_link: details.is_link,
        auth_identity: record.user.clone(),
        remote_process_name: said
            .get(PROCESS_NAME)
            .and_then(Value::as_str)
            .map(Text::from),
        remote_pid: number(said, PROCESS_ID),
        remote_parent_pid: number(said, PARENT_ID),
        shadow: false,
        sasl_mechanism: details.mechanism,
        sasl_ssf: details.strength,
        remote_properties: said.clone(),
        protocol: PROTOCOL.into(),
        closing: false,
        frames_from_client: traffic.frames_in,
        frames_to_client: traffic.frames_out,
        bytes_from_client: traffic.bytes_in,
        bytes_to_client: traffic.bytes_out,
        msgs_from_client: traffic.messages_in,
        msgs_to_client: traffic.messages_out,
    };
    let times = world.setting.since(world.core, connection.created);
    Object::new(values.into_values(), times)
}

fn number(said: &Map, name: &str) -> Option<u32> {
    said.get(name)?.as_u64()?.try_into().ok()
}
