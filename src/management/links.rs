//! What calls about links and bridges ask for.

use super::deed::is_set;
use crate::broker::links::{BridgeDefinition, LinkDefinition};
use crate::broker::management::Action;
use crate::qmf::broker::{BrokerMethod, LinkMethod};
use crate::qmf::datum::Datum;
use crate::qmf::schema::Type;
use crate::qmf::{Fault, Status};
use crate::wire::url::{Address, DEFAULT_PORT, DEFAULT_PROTOCOL, SECURE_PORT, SECURE_PROTOCOL};
use crate::wire::{Map, Text};

/// `connect`, the older way to make a link: tools of Qpid rely on the name that it gets.
///
/// # Errors
/// [`Status::NotImplemented`] for a transport that there is not.
pub fn connect(method: &BrokerMethod) -> Result<Action, Fault> {
    let BrokerMethod::Connect {
        host,
        port,
        durable,
        auth_mechanism,
        username,
        password,
        transport,
    } = method
    else {
        return Err(Fault::of(Status::NotImplemented));
    };
    let Some(address) = address(host, *port, transport) else {
        return Err(Fault::of(Status::NotImplemented));
    };
    let name = format!(
        "qpid.{}:{}:{}",
        address.protocol, address.host, address.port
    );
    Ok(Action::Connect(Box::new(LinkDefinition {
        name: name.into(),
        address,
        is_durable: *durable,
        mechanism: auth_mechanism.clone(),
        user: username.clone(),
        password: password.clone(),
    })))
}

/// None for a transport that there is not, or a port that is none.
fn address(host: &Text, port: u32, transport: &str) -> Option<Address> {
    let protocol = match transport {
        "" => DEFAULT_PROTOCOL,
        DEFAULT_PROTOCOL | SECURE_PROTOCOL => transport,
        _ => return None,
    };
    let usual = match protocol {
        SECURE_PROTOCOL => SECURE_PORT,
        _ => DEFAULT_PORT,
    };
    let port = match port {
        0 => usual,
        port => u16::try_from(port).ok()?,
    };
    Some(Address {
        protocol: protocol.into(),
        host: host.clone(),
        port,
    })
}

/// `create` of a link.
///
/// # Errors
/// A property is missing or of the wrong type.
pub fn create_link(name: &Text, properties: &Map) -> Result<Action, Fault> {
    let text = |key: &str| text(properties, key);
    let port = number(properties, "port")?.unwrap_or(0);
    let (host, transport) = (text("host"), text("transport"));
    if host.is_empty() {
        return Err(missing("host"));
    }
    let address = address(&host, port, &transport).ok_or_else(|| {
        let text = format!("no transport {transport} to {host}:{port}");
        Fault::new(Status::InvalidParameter, text)
    })?;
    Ok(Action::CreateLink(Box::new(LinkDefinition {
        name: name.clone(),
        address,
        is_durable: is_set(properties, "durable")?,
        mechanism: text("authMechanism"),
        user: text("username"),
        password: text("password"),
    })))
}

/// `create` of a bridge.
///
/// # Errors
/// A property is missing or of the wrong type.
pub fn create_bridge(name: &Text, properties: &Map) -> Result<Action, Fault> {
    let text = |key: &str| text(properties, key);
    let flag = |key: &str| is_set(properties, key);
    for needed in ["link", "src", "dest"] {
        if text(needed).is_empty() {
            return Err(missing(needed));
        }
    }
    let sync = number(properties, "sync")?.unwrap_or(0);
    let sync = u16::try_from(sync).map_err(|_| wrong("sync"))?;
    Ok(Action::CreateBridge(Box::new(BridgeDefinition {
        name: name.clone(),
        link: text("link"),
        is_durable: flag("durable")?,
        source: text("src"),
        destination: text("dest"),
        key: text("key"),
        tag: text("tag"),
        excludes: text("excludes"),
        source_is_queue: flag("srcIsQueue")?,
        source_is_local: flag("srcIsLocal")?,
        is_dynamic: flag("dynamic")?,
        sync,
        credit: number(properties, "credit")?.unwrap_or(u32::MAX),
        queue: text("queue"),
    })))
}

/// A method of the link with this name.
pub fn of_link(link: &str, method: &LinkMethod) -> Action {
    match method {
        LinkMethod::Close => Action::DeleteLink(link.into()),
        LinkMethod::Bridge {
            durable,
            src,
            dest,
            key,
            tag,
            excludes,
            src_is_queue,
            src_is_local,
            dynamic,
            sync,
            credit,
        } => Action::AddBridge(Box::new(BridgeDefinition {
            name: format!("{link}!{src}!{dest}!{key}").into(),
            link: link.into(),
            is_durable: *durable,
            source: src.clone(),
            destination: dest.clone(),
            key: key.clone(),
            tag: tag.clone(),
            excludes: excludes.clone(),
            source_is_queue: *src_is_queue,
            source_is_local: *src_is_local,
            is_dynamic: *dynamic,
            sync: *sync,
            credit: *credit,
            queue: Text::default(),
        })),
    }
}

fn text(properties: &Map, key: &str) -> Text {
    let found = properties.get(key).and_then(|value| value.as_str());
    found.unwrap_or_default().into()
}

fn number(properties: &Map, key: &str) -> Result<Option<u32>, Fault> {
    let Some(value) = properties.get(key) else {
        return Ok(None);
    };
    match Datum::from_value(Type::U32, value) {
        Some(Datum::U32(number)) => Ok(Some(number)),
        _ => Err(wrong(key)),
    }
}

fn wrong(key: &str) -> Fault {
    Fault::new(Status::InvalidParameter, format!("{key} is no such number"))
}

fn missing(key: &str) -> Fault {
    Fault::new(Status::InvalidParameter, format!("{key} is missing"))
}
