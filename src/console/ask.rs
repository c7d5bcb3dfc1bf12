//! What each subcommand asks the broker.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use hyper::Method;
use serde_json::{Map as JsonMap, Value as Json, json};

use super::client::{Client, part};
use super::credentials::Credentials;
use super::options::{Binding, Command, Connection, Definitions, Exchange, Listed, Made, Queue};
use super::{Exit, Failure, cluster, link, print, table, top};

/// Items that are asked for at a time.
const PAGE_SIZE: usize = 500;

/// Octets of a document to be imported: the broker takes no more.
const DOCUMENT_BYTES_MAX: u64 = 1024 * 1024;

/// A broker, and what answers look like.
pub(super) struct Asking<'a> {
    pub(super) client: &'a Client,
    pub(super) is_json: bool,
}

/// Does what a subcommand says.
///
/// # Errors
/// Why it cannot.
pub fn run(command: &Command) -> Result<(), Failure> {
    let target = command.target();
    let credentials = target.user.as_deref().map(Credentials::of).transpose()?;
    let client = Client::at(target, credentials.as_ref())?;
    let asking = Asking {
        client: &client,
        is_json: target.json,
    };
    match command {
        Command::Queue(of) => asking.queue(&of.command),
        Command::Exchange(of) => asking.exchange(&of.command),
        Command::Binding(of) => asking.binding(&of.command),
        Command::Connection(of) => asking.connection(&of.command),
        Command::Cluster(of) => cluster::run(&asking, &of.command),
        Command::Link(of) => link::run(&asking, &of.command),
        Command::Definitions(of) => asking.definitions(&of.command),
        Command::Top {
            interval,
            count,
            queues,
            ..
        } => top::run(&client, (*interval, *count, *queues), target.json),
        Command::Status { .. } => asking.status(),
    }
}

/// `NAME=VALUE` pairs as JSON.
fn arguments(pairs: &[String]) -> Result<Json, Failure> {
    let mut members = JsonMap::new();
    for pair in pairs {
        let (name, value) = pair.split_once('=').ok_or_else(|| {
            Failure::new(
                Exit::Usage,
                "usage",
                format!("--argument {pair}: not NAME=VALUE"),
            )
        })?;
        let value = serde_json::from_str(value).unwrap_or_else(|_| json!(value));
        members.insert(name.to_owned(), value);
    }
    Ok(Json::Object(members))
}

fn definition(made: &Made) -> Result<Json, Failure> {
    Ok(json!({
        "durable": !made.transient,
        "auto_delete": made.auto_delete,
        "alternate_exchange": made.alternate_exchange,
        "arguments": arguments(&made.arguments)?,
    }))
}

fn queue_path(name: &str) -> String {
    format!("/api/queues/%2F/{}", part(name))
}

fn exchange_name(name: &str) -> String {
    match name {
        "" => "amq.default".to_owned(),
        name => part(name),
    }
}

fn exchange_path(name: &str) -> String {
    format!("/api/exchanges/%2F/{}", exchange_name(name))
}

/// A flag as a parameter.
fn flags(pairs: &[(&str, bool)]) -> String {
    let set = pairs.iter().filter(|(_, is_set)| *is_set);
    let set: Vec<String> = set.map(|(name, _)| format!("{name}=true")).collect();
    match set.is_empty() {
        true => String::new(),
        false => format!("?{}", set.join("&")),
    }
}

impl Asking<'_> {
    fn queue(&self, queue: &Queue) -> Result<(), Failure> {
        match queue {
            Queue::List(listed) => {
                let fields = [
                    "name",
                    "durable",
                    "messages",
                    "message_bytes",
                    "consumers",
                    "state",
                ];
                self.list("/api/queues", listed, &fields)
            }
            Queue::Show(named) => self.show(&queue_path(&named.name)),
            Queue::Add { made, .. } => {
                let body = definition(made)?;
                self.done(Method::PUT, &queue_path(&made.name), Some(&body))
            }
            Queue::Delete {
                if_unused,
                if_empty,
                named,
            } => {
                let flags = flags(&[("if_unused", *if_unused), ("if_empty", *if_empty)]);
                let path = format!("{}{flags}", queue_path(&named.name));
                self.done(Method::DELETE, &path, None)
            }
            Queue::Purge(named) => {
                let path = format!("{}/contents", queue_path(&named.name));
                self.done(Method::DELETE, &path, None)
            }
            Queue::Move {
                source,
                destination,
                count,
                filter,
                ..
            } => {
                let body = json!({"destination": destination, "count": count, "filter": filter});
                let path = format!("{}/move", queue_path(source));
                self.done(Method::POST, &path, Some(&body))
            }
        }
    }

    fn exchange(&self, exchange: &Exchange) -> Result<(), Failure> {
        match exchange {
            Exchange::List(listed) => {
                let fields = [
                    "name",
                    "type",
                    "durable",
                    "bindings",
                    "messages_in",
                    "messages_out",
                ];
                self.list("/api/exchanges", listed, &fields)
            }
            Exchange::Show(named) => self.show(&exchange_path(&named.name)),
            Exchange::Add { kind, made, .. } => {
                let mut body = definition(made)?;
                if let Json::Object(members) = &mut body {
                    members.insert("type".to_owned(), json!(kind));
                }
                self.done(Method::PUT, &exchange_path(&made.name), Some(&body))
            }
            Exchange::Delete { if_unused, named } => {
                let flags = flags(&[("if_unused", *if_unused)]);
                let path = format!("{}{flags}", exchange_path(&named.name));
                self.done(Method::DELETE, &path, None)
            }
        }
    }

    fn binding(&self, binding: &Binding) -> Result<(), Failure> {
        let between = |exchange: &str, queue: &str| {
            format!(
                "/api/bindings/%2F/e/{}/q/{}",
                exchange_name(exchange),
                part(queue)
            )
        };
        match binding {
            Binding::List(listed) => {
                let fields = ["source", "destination", "routing_key", "messages_matched"];
                self.list("/api/bindings", listed, &fields)
            }
            Binding::Add {
                arguments: pairs,
                ends,
            } => {
                let body = json!({"routing_key": ends.key, "arguments": arguments(pairs)?});
                let path = between(&ends.exchange, &ends.queue);
                self.done(Method::POST, &path, Some(&body))
            }
            Binding::Delete(ends) => {
                // A key of nothing but `~` has one more in paths.
                let key = match ends.key.bytes().all(|byte| byte == b'~') {
                    true => format!("{}~", ends.key),
                    false => ends.key.clone(),
                };
                let path = format!("{}/{}", between(&ends.exchange, &ends.queue), part(&key));
                self.done(Method::DELETE, &path, None)
            }
        }
    }

    fn connection(&self, connection: &Connection) -> Result<(), Failure> {
        match connection {
            Connection::List(listed) => {
                let fields = ["name", "user", "state", "process", "recv_oct", "send_oct"];
                self.list("/api/connections", listed, &fields)
            }
            Connection::Close(named) => {
                let path = format!("/api/connections/{}", part(&named.name));
                self.done(Method::DELETE, &path, None)
            }
        }
    }

    fn definitions(&self, definitions: &Definitions) -> Result<(), Failure> {
        match definitions {
            Definitions::Export { file, .. } => {
                let document = self.client.get("/api/definitions")?;
                let text = format!("{document:#}\n");
                match file {
                    None => print(&text),
                    Some(file) => std::fs::write(file, text)
                        .map_err(|error| Failure::failed(format!("{}: {error}", file.display()))),
                }
            }
            Definitions::Import {
                file,
                dry_run,
                prune,
                ..
            } => {
                let wrong = |why: String| Failure::failed(format!("{}: {why}", file.display()));
                let text = document(file).map_err(|error| wrong(error.to_string()))?;
                if text.len() as u64 > DOCUMENT_BYTES_MAX {
                    return Err(wrong(format!("more than {DOCUMENT_BYTES_MAX} octets")));
                }
                let document: Json = serde_json::from_slice(&text)
                    .map_err(|error| wrong(format!("no JSON: {error}")))?;
                let flags = flags(&[("dry_run", *dry_run), ("prune", *prune)]);
                let path = format!("/api/definitions{flags}");
                let answer = self.client.ask(Method::POST, &path, Some(&document));
                // What the document names and is not there is no noun that was asked for.
                let answer = answer.map_err(|failure| match failure.exit {
                    Exit::NotFound => Failure {
                        exit: Exit::Failed,
                        ..failure
                    },
                    _ => failure,
                })?;
                match self.is_json {
                    true => print(&format!("{answer}\n"))?,
                    false => print(&difference(&answer))?,
                }
                match conflicts(&answer).next() {
                    Some(_) => Err(Failure::new(
                        Exit::Failed,
                        "conflict",
                        "the import would be refused, for what begins with !",
                    )),
                    None => Ok(()),
                }
            }
        }
    }

    fn status(&self) -> Result<(), Failure> {
        self.client.get("/api/health/ready")?;
        let overview = self.client.get("/api/overview")?;
        if self.is_json {
            return print(&format!("{overview}\n"));
        }
        let mut text = String::new();
        for name in ["product", "version", "node", "agent"] {
            text.push_str(&format!("{name}: {}\n", table::cell(overview.get(name))));
        }
        let seconds = overview.get("uptime").and_then(Json::as_u64).unwrap_or(0) / 1_000_000_000;
        text.push_str(&format!("uptime: {seconds} s\n"));
        for name in ["object_totals", "queue_totals"] {
            let totals = overview.get(name).cloned().unwrap_or_default();
            text.push_str(&table::one(&totals));
        }
        print(&text)
    }

    /// All items, page by page.
    fn list(&self, path: &str, listed: &Listed, fields: &[&str]) -> Result<(), Failure> {
        let mut query = format!("page_size={PAGE_SIZE}");
        if let Some(name) = &listed.name {
            query.push_str(&format!("&name={}", part(name)));
        }
        if let Some(sort) = &listed.sort {
            query.push_str(&format!("&sort={}", part(sort)));
        }
        if listed.reverse {
            query.push_str("&sort_reverse=true");
        }
        let mut items = Vec::new();
        for page in 1.. {
            let answer = self.client.get(&format!("{path}?{query}&page={page}"))?;
            let more = answer.get("items").and_then(Json::as_array).cloned();
            let more = more.unwrap_or_default();
            let is_last = more.len() < PAGE_SIZE;
            items.extend(more);
            if is_last {
                break;
            }
        }
        match self.is_json {
            true => print(&format!("{}\n", Json::Array(items))),
            false => print(&table::of(fields, &items)),
        }
    }

    fn show(&self, path: &str) -> Result<(), Failure> {
        let item = self.client.get(path)?;
        match self.is_json {
            true => print(&format!("{item}\n")),
            false => print(&table::one(&item)),
        }
    }

    /// Has something done. What it comes to is how many messages there were, if anything.
    pub(super) fn done(
        &self,
        method: Method,
        path: &str,
        body: Option<&Json>,
    ) -> Result<(), Failure> {
        let answer = self.client.ask(method, path, body)?;
        let messages = answer.get("messages").and_then(Json::as_u64);
        match (self.is_json, messages) {
            (true, Some(messages)) => print(&format!("{}\n", json!({"messages": messages}))),
            (true, None) => print("{}\n"),
            (false, Some(messages)) => print(&format!("{messages} messages\n")),
            (false, None) => Ok(()),
        }
    }
}

/// What an import may not change.
fn conflicts(answer: &Json) -> impl Iterator<Item = &Json> {
    let all = answer.get("conflicts").and_then(Json::as_array);
    all.into_iter().flatten()
}

/// What an import changes, in words.
fn difference(answer: &Json) -> String {
    let names = |of: &str, noun: &str| -> Vec<String> {
        let list = answer.get(of).and_then(|of| of.get(noun));
        let items = list.and_then(Json::as_array).into_iter().flatten();
        items
            .map(|item| match noun {
                "bindings" => {
                    let part = |name| table::cell(item.get(name));
                    let (source, key) = (part("source"), part("routing_key"));
                    format!("binding {source} -> {} {key}", part("destination"))
                }
                noun => {
                    let noun = noun.trim_end_matches('s');
                    format!("{noun} {}", table::cell(item.get("name")))
                }
            })
            .collect()
    };
    let mut text = String::new();
    for (of, mark) in [("to_make", '+'), ("to_delete", '-')] {
        for noun in ["exchanges", "queues", "bindings"] {
            for name in names(of, noun) {
                text.push_str(&format!("{mark} {name}\n"));
            }
        }
    }
    for conflict in conflicts(answer) {
        let part = |name| table::cell(conflict.get(name));
        let named = [part("kind"), part("name")].join(" ");
        text.push_str(&format!("! {}: {}\n", named.trim_end(), part("reason")));
    }
    match text.is_empty() {
        true => "nothing to change\n".to_owned(),
        false => text,
    }
}

/// What is in a file, or for `-` comes in by standard input: one octet more than may be, at most.
fn document(file: &Path) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    let most = DOCUMENT_BYTES_MAX + 1;
    match file == Path::new("-") {
        true => io::stdin().lock().take(most).read_to_end(&mut text)?,
        false => File::open(file)?.take(most).read_to_end(&mut text)?,
    };
    Ok(text)
}
