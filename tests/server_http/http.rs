//! A broker with management over HTTP, and requests to it.

use std::io::{BufRead as _, BufReader, Write};
use std::net::SocketAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value as Json;

use crate::durable_support::Directory;
use crate::server_support::{Broker, Client, add_user, rest_or_reset, socket};

/// A broker and where its management is.
pub struct Managed {
    pub broker: Broker,
    pub port: u16,
}

/// What was answered.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    pub fn json(&self) -> Json {
        match serde_json::from_str(&self.body) {
            Ok(json) => json,
            Err(error) => panic!("{error}: {self:?}"),
        }
    }

    /// The answer to a request that cannot be done, with this status.
    pub fn refused(&self, status: u16) -> String {
        assert_eq!(self.status, status, "{self:?}");
        let json = self.json();
        assert!(json["error"].is_string(), "{json}");
        json["reason"].as_str().expect("a reason").to_owned()
    }
}

impl Managed {
    /// One broker that keeps nothing.
    pub fn start() -> Managed {
        Managed::with(&[])
    }

    pub fn with(options: &[&str]) -> Managed {
        let mut all = vec!["--port", "0", "--http-port", "0"];
        all.extend(options);
        Managed::on(&all)
    }

    pub fn on(options: &[&str]) -> Managed {
        Managed::of(Broker::start_on(options))
    }

    /// One on which users log in by these passwords, with these rules.
    pub fn secured(directory: &Directory, users: &[(&str, &str)], rules: &str) -> Managed {
        for (name, password) in users {
            add_user(["--data-dir", directory.text()], name, password);
        }
        let file = directory.path().join("acl");
        std::fs::write(&file, rules).expect("written");
        Managed::with(&[
            "--auth",
            "yes",
            "--data-dir",
            directory.text(),
            "--acl-file",
            file.to_str().expect("text"),
        ])
    }

    /// One that runs.
    pub fn of(mut broker: Broker) -> Managed {
        let port = port_of(&mut broker, "Management over HTTP on");
        Managed { broker, port }
    }

    pub fn address(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.port))
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address())
    }

    /// A client of AMQP with a session on channel 0.
    pub fn client(&self, name: &str) -> Client {
        let mut client = Client::open(self.broker.address());
        client.attach(0, name);
        client
    }

    /// The member's name.
    pub fn node(&self) -> String {
        let shown = self.shown("/api/overview");
        shown["node"].as_str().expect("a name").to_owned()
    }

    pub fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, "", "")
    }

    pub fn delete(&self, path: &str) -> Answer {
        self.ask("DELETE", path, "", "")
    }

    pub fn put(&self, path: &str, body: &Json) -> Answer {
        self.ask("PUT", path, JSON, &body.to_string())
    }

    pub fn post(&self, path: &str, body: &Json) -> Answer {
        self.ask("POST", path, JSON, &body.to_string())
    }

    /// What a page or list shows, which has to be there.
    pub fn shown(&self, path: &str) -> Json {
        let answer = self.get(path);
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        answer.json()
    }

    /// One request on a connection of its own.
    pub fn ask(&self, method: &str, path: &str, head: &str, body: &str) -> Answer {
        ask_at(self.address(), (method, path), head, body)
    }

    /// The lines of an event stream that is open, by the query of its address (which may be empty) and
    /// further lines of the request's head.
    pub fn events(&self, query: &str, head: &str) -> impl Iterator<Item = String> + use<> {
        let mut stream = socket(self.address());
        let request = format!(
            "GET /api/events{query} HTTP/1.1\r\nHost: {}\r\n{head}\r\n",
            self.address()
        );
        stream.write_all(request.as_bytes()).expect("it listens");
        let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
        assert!(
            lines.any(|line| line.starts_with(": open")),
            "the stream opens"
        );
        lines
    }

    /// Any octets, and what is answered until the socket closes.
    pub fn say(&self, octets: &[u8]) -> Answer {
        say_at(self.address(), octets)
    }
}

/// The port that a line of the log ends with.
pub fn port_of(broker: &mut Broker, text: &str) -> u16 {
    let line = broker.log_line(text);
    let port = line.rsplit(' ').next().and_then(|word| word.parse().ok());
    port.unwrap_or_else(|| panic!("no port in {line}"))
}

/// One request on a connection of its own, from any thread.
pub fn ask_at(address: SocketAddr, what: (&str, &str), head: &str, body: &str) -> Answer {
    say_at(address, request(address, what, head, body).as_bytes())
}

/// A request for one answer.
pub fn request(
    address: SocketAddr,
    (method, path): (&str, &str),
    head: &str,
    body: &str,
) -> String {
    let host = match head.to_lowercase().contains("host:") {
        true => String::new(),
        false => format!("Host: {address}\r\n"),
    };
    let length = body.len();
    format!(
        "{method} {path} HTTP/1.1\r\n{host}{head}Content-Length: {length}\r\n\
         Connection: close\r\n\r\n{body}"
    )
}

pub fn say_at(address: SocketAddr, octets: &[u8]) -> Answer {
    let mut stream = socket(address);
    // The broker may answer and close before it has read all.
    let _ = stream.write_all(octets);
    answer(&rest_or_reset(&mut stream))
}

pub const JSON: &str = "Content-Type: application/json\r\n";

/// What was answered, in all octets that came.
pub fn answer(octets: &[u8]) -> Answer {
    let text = String::from_utf8_lossy(octets).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|word| word.parse().ok());
    Answer {
        status: status.unwrap_or(0),
        head: head.to_owned(),
        body: match head.to_lowercase().contains("transfer-encoding: chunked") {
            true => dechunked(body),
            false => body.to_owned(),
        },
    }
}

fn dechunked(mut body: &str) -> String {
    let mut text = String::new();
    while let Some((length, rest)) = body.split_once("\r\n") {
        let length = usize::from_str_radix(length, 16).expect("a length");
        if length == 0 {
            break;
        }
        text.push_str(&rest[..length]);
        body = &rest[length + 2..];
    }
    text
}

/// The header of a request that names a user by the scheme Basic.
pub fn basic(user: &str, password: &str) -> String {
    let coded = STANDARD.encode(format!("{user}:{password}"));
    format!("Authorization: Basic {coded}\r\n")
}
