//! `ferrymq link`.

use hyper::Method;
use serde_json::{Map as JsonMap, Value as Json, json};

use super::ask::Asking;
use super::client::part;
use super::options::{Link, MadeLink, MadeRoute};
use super::{Exit, Failure, print, table};

/// What is shown of links.
const LINK_FIELDS: [&str; 7] = [
    "name",
    "host",
    "port",
    "transport",
    "durable",
    "state",
    "lastError",
];

/// What is shown of routes.
const ROUTE_FIELDS: [&str; 10] = [
    "name",
    "link",
    "src",
    "dest",
    "key",
    "dynamic",
    "srcIsQueue",
    "srcIsLocal",
    "sync",
    "durable",
];

/// The broker as management calls it.
const BROKER: &str = "org.apache.qpid.broker:broker:amqp-broker";

/// What the name of every link's object begins with.
const LINK_PREFIX: &str = "org.apache.qpid.broker:link:";

/// The variable with the password of a link.
const PASSWORD: &str = "FERRYMQ_LINK_PASSWORD";

/// Does what a subcommand says.
///
/// # Errors
/// Why it cannot.
pub(super) fn run(asking: &Asking<'_>, link: &Link) -> Result<(), Failure> {
    match link {
        Link::List => show(asking, "link", &LINK_FIELDS),
        Link::Routes => show(asking, "bridge", &ROUTE_FIELDS),
        Link::Add(made) => create(asking, "link", &made.name, &of_link(made)?),
        Link::Delete(named) => delete(asking, "link", &named.name),
        Link::AddRoute(made) => create(asking, "bridge", &name_of(made), &of_route(made)),
        Link::DeleteRoute(named) => delete(asking, "bridge", &named.name),
    }
}

/// The values of all objects of a class, a route's with the name of its link.
fn objects(asking: &Asking<'_>, class: &str) -> Result<Vec<Json>, Failure> {
    let found = asking
        .client
        .get(&format!("/api/classes/{class}/objects"))?;
    let found = found.as_array().cloned().unwrap_or_default();
    Ok(found.iter().map(values).collect())
}

fn values(object: &Json) -> Json {
    let mut values = JsonMap::new();
    for part in ["properties", "statistics"] {
        let members = object.get(part).and_then(Json::as_object);
        values.extend(members.cloned().unwrap_or_default());
    }
    let link = values.get("linkRef").and_then(Json::as_str);
    let link = link
        .and_then(|link| link.strip_prefix(LINK_PREFIX))
        .map(str::to_owned);
    if let Some(link) = link {
        values.insert("link".to_owned(), json!(link));
    }
    Json::Object(values)
}

fn show(asking: &Asking<'_>, class: &str, fields: &[&str]) -> Result<(), Failure> {
    let items = objects(asking, class)?;
    match asking.is_json {
        true => print(&format!("{}\n", Json::Array(items))),
        false => print(&table::of(fields, &items)),
    }
}

fn create(asking: &Asking<'_>, kind: &str, name: &str, properties: &Json) -> Result<(), Failure> {
    let arguments = json!({"type": kind, "name": name, "properties": properties, "strict": false});
    call(asking, "create", &arguments)
}

/// One that is not there is told of: the broker itself says nothing of it.
fn delete(asking: &Asking<'_>, kind: &str, name: &str) -> Result<(), Failure> {
    let is_it = |item: &Json| item.get("name").and_then(Json::as_str) == Some(name);
    if !objects(asking, kind)?.iter().any(is_it) {
        let what = match kind {
            "bridge" => "route",
            kind => kind,
        };
        let reason = format!("no {what} is called {name}");
        return Err(Failure::new(Exit::NotFound, "not_found", reason));
    }
    call(
        asking,
        "delete",
        &json!({"type": kind, "name": name, "options": {}}),
    )
}

fn call(asking: &Asking<'_>, method: &str, arguments: &Json) -> Result<(), Failure> {
    let path = format!("/api/objects/{}/{method}", part(BROKER));
    asking.done(Method::POST, &path, Some(arguments))
}

fn of_link(made: &MadeLink) -> Result<Json, Failure> {
    let (host, port) = host_and_port(&made.address).ok_or_else(|| {
        let reason = format!("{}: neither HOST nor HOST:PORT", made.address);
        Failure::new(Exit::Usage, "usage", reason)
    })?;
    let transport = if made.tls { "ssl" } else { "tcp" };
    let mut properties = vec![
        ("host", json!(host)),
        ("port", json!(port)),
        ("durable", json!(made.durable)),
        ("transport", json!(transport)),
    ];
    if let Some(user) = &made.login {
        let password = std::env::var(PASSWORD).map_err(|_| {
            let reason = format!("the password of {user} has to be in the variable {PASSWORD}");
            Failure::new(Exit::Usage, "usage", reason)
        })?;
        properties.extend([("username", json!(user)), ("password", json!(password))]);
    }
    if let Some(mechanism) = &made.mechanism {
        properties.push(("authMechanism", json!(mechanism)));
    }
    let properties = properties.into_iter();
    Ok(properties
        .map(|(name, value)| (name.to_owned(), value))
        .collect())
}

/// Port 0 is the usual one. An address of IPv6 stands in brackets where a port comes behind it.
fn host_and_port(address: &str) -> Option<(&str, u16)> {
    if let Some(rest) = address.strip_prefix('[') {
        let (host, port) = rest.split_once(']')?;
        let port = port.strip_prefix(':');
        return Some((host, port.map_or(Some(0), |port| port.parse().ok())?));
    }
    match address.split_once(':') {
        Some((_, port)) if port.contains(':') => Some((address, 0)),
        Some((host, port)) if !host.is_empty() => Some((host, port.parse().ok()?)),
        None if !address.is_empty() => Some((address, 0)),
        _ => None,
    }
}

/// As a route is called that was given no name: as qpid-route's are.
fn name_of(made: &MadeRoute) -> String {
    let MadeRoute {
        link,
        source,
        destination,
        key,
        ..
    } = made;
    let usual = || format!("{link}!{source}!{destination}!{key}");
    made.name.clone().unwrap_or_else(usual)
}

fn of_route(made: &MadeRoute) -> Json {
    json!({
        "link": made.link,
        "src": made.source,
        "dest": made.destination,
        "key": made.key,
        "srcIsQueue": made.queue,
        "srcIsLocal": made.push,
        "dynamic": made.dynamic,
        "durable": made.durable,
        "sync": made.ack,
        "credit": made.credit.unwrap_or(u32::MAX),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_host_with_a_port_or_without() {
        let cases = [
            ("h", Some(("h", 0))),
            ("h:5", Some(("h", 5))),
            ("::1", Some(("::1", 0))),
            ("[::1]:5", Some(("::1", 5))),
            ("[::1]", Some(("::1", 0))),
            ("h:x", None),
            (":5", None),
            ("", None),
            ("h:70000", None),
        ];
        for (address, wanted) in cases {
            assert_eq!(host_and_port(address), wanted, "{address}");
        }
    }
}
