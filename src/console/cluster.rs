//! `ferrymq cluster`.

use std::time::{Duration, Instant};

use hyper::Method;
use serde_json::{Value as Json, json};

use super::ask::Asking;
use super::client::part;
use super::options::Cluster;
use super::{Exit, Failure, print, table};

/// Between two looks whether a member is out.
const LOOK: Duration = Duration::from_millis(250);

/// What is shown of members.
const FIELDS: [&str; 8] = [
    "name",
    "role",
    "is_leader",
    "running",
    "is_self",
    "connections",
    "level_most",
    "url",
];

/// Does what a subcommand says.
///
/// # Errors
/// Why it cannot.
pub(super) fn run(asking: &Asking<'_>, cluster: &Cluster) -> Result<(), Failure> {
    match cluster {
        Cluster::Status => status(asking),
        Cluster::Stop(named) => {
            if !nodes(asking)?
                .iter()
                .any(|node| is_called(node, &named.name))
            {
                let reason = format!("no member is called {}", named.name);
                return Err(Failure::new(Exit::NotFound, "not_found", reason));
            }
            call(asking, "stopClusterNode", &json!({"brokerId": named.name}))
        }
        Cluster::StopAll(wait) => {
            call(asking, "stopFullCluster", &json!({}))?;
            let is_asked = |failure: &Failure| failure.exit == Exit::Unreachable;
            until(wait.wait, || {
                nodes(asking).err().is_some_and(|why| is_asked(&why))
            })
            .map_err(|()| Failure::failed("they are told to end and this one has not"))
        }
        Cluster::Level => level(asking, Method::GET),
        Cluster::Finalise => level(asking, Method::POST),
        Cluster::Remove { named, wait } => remove(asking, &named.name, wait.wait),
    }
}

fn nodes(asking: &Asking<'_>) -> Result<Vec<Json>, Failure> {
    let answer = asking.client.get("/api/nodes")?;
    Ok(answer.as_array().cloned().unwrap_or_default())
}

/// Whether a member has this name, with or without zeros in front.
fn is_called(node: &Json, name: &str) -> bool {
    let number = |name: &str| u64::from_str_radix(name, 16).ok();
    let named = node.get("name").and_then(Json::as_str);
    number(name).is_some_and(|number_of_name| named.and_then(number) == Some(number_of_name))
}

fn status(asking: &Asking<'_>) -> Result<(), Failure> {
    let nodes = nodes(asking)?;
    match asking.is_json {
        true => print(&format!("{}\n", Json::Array(nodes))),
        false => print(&table::of(&FIELDS, &nodes)),
    }
}

/// Shows the level at which the broker runs, after it was raised for a `POST`.
fn level(asking: &Asking<'_>, method: Method) -> Result<(), Failure> {
    let level = asking.client.ask(method, "/api/level", None)?;
    match asking.is_json {
        true => print(&format!("{level}\n")),
        false => print(&table::one(&level)),
    }
}

/// Calls a method of the cluster's object.
fn call(asking: &Asking<'_>, method: &str, arguments: &Json) -> Result<(), Failure> {
    let objects = asking.client.get("/api/classes/cluster/objects")?;
    let object = objects.get(0).and_then(|object| object.get("object"));
    let Some(object) = object.and_then(Json::as_str) else {
        let reason = "the broker is in no cluster";
        return Err(Failure::new(Exit::NotFound, "not_found", reason));
    };
    let path = format!("/api/objects/{}/{method}", part(object));
    asking.done(Method::POST, &path, Some(arguments))
}

/// Has a member taken out, and waits until it is.
fn remove(asking: &Asking<'_>, name: &str, wait: u64) -> Result<(), Failure> {
    let path = format!("/api/nodes/{}", part(name));
    asking.client.ask(Method::DELETE, &path, None)?;
    let is_part = |node: &Json| {
        let has_role = node.get("role").is_some_and(|role| !role.is_null());
        has_role || node.get("is_leaving") == Some(&json!(true))
    };
    let mut told = "it is out";
    let is_out = until(wait, || match nodes(asking) {
        Ok(nodes) => !nodes
            .iter()
            .any(|node| is_called(node, name) && is_part(node)),
        // The member that answers may be the one that goes.
        Err(failure) if failure.exit == Exit::Unreachable => {
            told = "it was this member that was asked, and it has ended";
            true
        }
        Err(_) => false,
    });
    is_out.map_err(|()| {
        Failure::failed(format!(
            "it is decided and not done after {wait} s: without a majority of the members nothing is"
        ))
    })?;
    print(&done(asking, told))
}

/// Waits until something holds, so many seconds.
///
/// # Errors
/// It did not.
fn until(seconds: u64, mut holds: impl FnMut() -> bool) -> Result<(), ()> {
    let end = Instant::now() + Duration::from_secs(seconds);
    while !holds() {
        if Instant::now() >= end {
            return Err(());
        }
        std::thread::sleep(LOOK);
    }
    Ok(())
}

fn done(asking: &Asking<'_>, what: &str) -> String {
    match asking.is_json {
        true => "{}\n".to_owned(),
        false => format!("{what}\n"),
    }
}
