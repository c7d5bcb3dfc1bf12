//! What all attacks share: how large they are, the broker, the process that attacks, the client that has to
//! get on, and what the broker takes of memory.

use std::fs;
use std::ops::RangeInclusive;
use std::process::{Child, Stdio};
use std::sync::mpsc::Receiver;
use std::time::Duration;

use ferrymq::wire::{self, Map};

use super::attacker::{self, Report, Way};
use super::cgroup::Cgroup;
use crate::durable_support::Directory;
use crate::server_support::{Broker, Client, lines};

/// The user that has to get in.
pub const USER: &str = "ann";

/// Messages that the good client moves.
pub const MESSAGES: usize = 1_000;

/// Addresses that an attack comes from: 127.0.0.2 to 127.0.0.9.
pub const HOSTS: RangeInclusive<u8> = 2..=9;

/// The good client's own: where one address attacks, it is this one.
pub const ONE_HOST: RangeInclusive<u8> = 1..=1;

/// How large the attacks are.
#[derive(Clone, Copy)]
pub struct Size {
    /// Connections that say nothing, or nothing more.
    pub connections: u64,
    /// Connections that say as much as they may before they log in.
    pub largest: u64,
    /// Connections that say one octet a second.
    pub trickling: u64,
    /// Consumers that read nothing.
    pub deaf: u64,
    /// Messages of one look at what others get done beside these.
    pub messages: u64,
    /// Seconds that a client has to open its connection.
    pub seconds: u64,
    /// Whether times are judged.
    pub is_timed: bool,
}

impl Size {
    /// What every change is tried with.
    pub const SHORT: Size = Size {
        connections: 300,
        largest: 300,
        trickling: 200,
        deaf: 30,
        messages: 600,
        seconds: 3,
        is_timed: false,
    };

    /// With so many connections of the kind of which there are the most.
    pub fn long(connections: u64) -> Size {
        Size {
            connections,
            largest: connections / 8,
            trickling: connections * 5 / 8,
            deaf: connections / 8,
            messages: 3_000,
            seconds: 10,
            is_timed: true,
        }
    }
}

/// Starts a broker that wants everybody to log in.
pub fn start(directory: &Directory, size: Size, more: &[&str]) -> Broker {
    started(directory, size, &[], more)
}

/// The same in a control group.
pub fn start_in(group: &Cgroup, directory: &Directory, size: Size, more: &[&str]) -> Broker {
    let launcher = group.launcher();
    let launcher: Vec<&str> = launcher.iter().map(String::as_str).collect();
    started(directory, size, &launcher, more)
}

fn started(directory: &Directory, size: Size, before: &[&str], more: &[&str]) -> Broker {
    let users = directory.path().join("users");
    let seconds = format!("{}s", size.seconds);
    let mut options = vec![
        "--auth",
        "yes",
        "--interface",
        "127.0.0.1",
        "--users-file",
        users.to_str().expect("text"),
        "--connection-backlog",
        "1024",
    ];
    if !size.is_timed {
        options.extend(["--max-negotiate-time", &seconds]);
    }
    options.extend(more);
    match more.contains(&"--port") {
        true => Broker::start_on(&options),
        false => {
            let started = Broker::start_under(before, &options);
            started.unwrap_or_else(|ended| panic!("the broker does not start: {ended:#?}"))
        }
    }
}

/// The process that attacks.
pub struct Attack {
    process: Child,
    out: Receiver<String>,
    patience: Duration,
}

impl Attack {
    /// Starts it with so many connections, from these addresses.
    pub fn start(
        broker: &Broker,
        size: Size,
        (way, connections): (Way, u64),
        hosts: RangeInclusive<u8>,
    ) -> Result<Attack, String> {
        let own = std::env::current_exe().map_err(|error| error.to_string())?;
        let mut process = attacker::command(&own, broker.address(), connections, way, hosts)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("the attacker does not start: {error}"))?;
        let out = lines(process.stdout.take().expect("it is piped"));
        // Far more than it takes on a slow machine; what is to be closed in three seconds has less.
        let patience = match size.is_timed {
            true => Duration::from_secs(600),
            false => Duration::from_secs(60),
        };
        Ok(Attack {
            process,
            out,
            patience,
        })
    }

    fn line(&self) -> Result<String, String> {
        let line = self.out.recv_timeout(self.patience);
        line.map_err(|error| format!("the attacker says nothing: {error}"))
    }

    /// Waits until all connections are made.
    pub fn held(&self) -> Result<(), String> {
        let line = self.line()?;
        match line == attacker::HELD {
            true => Ok(()),
            false => Err(format!("the attacker says {line:?}")),
        }
    }

    /// How long it is waited for at most.
    pub fn patience(&self) -> Duration {
        self.patience
    }

    /// Whether it has come to its end.
    pub fn is_over(&mut self) -> bool {
        !matches!(self.process.try_wait(), Ok(None))
    }

    /// Waits until all that have to be closed are.
    pub fn report(&self) -> Result<Report, String> {
        loop {
            let line = self.line()?;
            if let Some(report) = Report::parse(&line) {
                return Ok(report);
            }
            if line != attacker::HELD {
                return Err(format!("the attacker says {line:?}"));
            }
        }
    }

    /// Has it end now.
    pub fn end(&mut self) -> Result<Report, String> {
        drop(self.process.stdin.take());
        self.report()
    }
}

impl Drop for Attack {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Logs in and attaches a session.
pub fn good_client(broker: &Broker, name: &str) -> Result<Client, String> {
    let client = Client::open_as(broker.address(), USER, Map::new());
    let mut client = client.map_err(|closed| format!("the good client is closed: {closed:?}"))?;
    client.attach(0, name);
    Ok(client)
}

/// Moves messages through a queue; gives how many came.
pub fn move_messages(client: &mut Client, queue: &str) -> usize {
    client.declare(0, queue);
    client.subscribe(0, queue, wire::AcceptMode::NONE);
    let mut moved = 0;
    for piece in 0..MESSAGES / 100 {
        for at in 0..100 {
            client.publish(0, queue, format!("{}", piece * 100 + at).as_bytes());
        }
        for at in 0..100 {
            let body = client.receive();
            moved += usize::from(body == format!("{}", piece * 100 + at).into_bytes());
        }
    }
    moved
}

/// Octets of resident memory, now and at most since the beginning or [`forget_most`].
pub struct Memory {
    pub now: u64,
    pub most: u64,
}

/// Octets that a broker takes for the first of many, as threads and buffers of all: of a few hundred
/// connections they would be some thousand octets each.
const FIRST_BYTES: u64 = 2 << 20;

/// Whether so many connections that take `each` octets keep within `most`, on average.
pub fn is_within(each: u64, most: u64, connections: u64) -> bool {
    each * connections <= most * connections + FIRST_BYTES
}

/// What the broker takes of memory.
pub fn memory(broker: &Broker) -> Result<Memory, String> {
    let path = format!("/proc/{}/status", broker.pid());
    let text = fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
    let of = |field: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(field));
        let kilobytes = line.and_then(|line| {
            let number = line.trim_start_matches(':').trim().split(' ').next()?;
            number.parse::<u64>().ok()
        });
        let kilobytes = kilobytes.ok_or_else(|| format!("{path} says nothing of {field}"))?;
        Ok::<u64, String>(kilobytes * 1024)
    };
    Ok(Memory {
        now: of("VmRSS")?,
        most: of("VmHWM")?,
    })
}

/// What a first client makes the process allocate is there when this returns; gives the memory that it has.
pub fn warmed(broker: &Broker) -> Result<u64, String> {
    move_messages(&mut good_client(broker, "before")?, "before");
    // proc(5): 5 has the kernel forget the most that there was.
    let path = format!("/proc/{}/clear_refs", broker.pid());
    fs::write(&path, "5").map_err(|error| format!("{path}: {error}"))?;
    Ok(memory(broker)?.now)
}

/// Connections that the broker says it has dropped, rather than waited for.
pub fn dropped(broker: &mut Broker) -> u64 {
    let is_dropped = |line: &&String| line.contains("has not opened its connection and");
    broker.log().iter().filter(is_dropped).count() as u64
}

/// What was found, if all of it holds; otherwise the first that does not.
pub fn judge(told: String, judged: &[(bool, &str)]) -> Result<String, String> {
    println!("server_attack: {told}");
    match judged.iter().find(|(holds, _)| !holds) {
        None => Ok(told),
        Some((_, why)) => Err(format!("{why}: {told}")),
    }
}
