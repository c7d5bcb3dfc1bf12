//! Thousands of connections that say nothing, or stop inside the handshake, keep nobody out, cost little
//! and are gone when their time is up.
//!
//! ```text
//!   test --starts--> broker <--------- 8,000 connections ------- the same test as `attacker`
//!     |                ^                                              | "held", then what became
//!     +-- good client -+                                              v of them
//! ```
//!
//! `FERRYMQ_ATTACK` says how many connections. Without it there are a few hundred, which have little time,
//! and only counts are judged; with it they have the usual ten seconds, and when they are closed is
//! judged, too.

#[path = "server_attack/attacker.rs"]
mod attacker;
mod durable_load;
mod durable_support;
mod server_support;

use std::process::{Child, ExitCode, Stdio};
use std::time::{Duration, Instant};

use durable_load::runs::is_left_out;
use durable_support::{Directory, number};
use ferrymq::wire::{self, Map};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use server_support::{Broker, Client, add_user, lines};

use attacker::{Report, Way};

/// The user that has to get in.
const USER: &str = "ann";

/// Messages that the good client moves.
const MESSAGES: usize = 1_000;

/// Octets of memory by which a broker may grow.
const GROWN_MAX: u64 = 128 << 20;

/// Files that a process has open besides the connections.
const OTHER_FILES: u64 = 500;

/// Addresses that the attack comes from: 127.0.0.2 to 127.0.0.9.
const HOSTS: std::ops::RangeInclusive<u8> = 2..=9;

/// The good client's own: where one address attacks, it is this one.
const ONE_HOST: std::ops::RangeInclusive<u8> = 1..=1;

/// How large the attack is.
#[derive(Clone, Copy)]
struct Size {
    connections: u64,
    /// Seconds that a client has to open its connection.
    seconds: u64,
    /// Whether it is judged when connections are closed.
    is_timed: bool,
}

fn main() -> ExitCode {
    if let Some(ended) = attacker::run_if_asked() {
        return ended;
    }
    if is_left_out("server_attack") {
        return ExitCode::SUCCESS;
    }
    let size = match std::env::var_os("FERRYMQ_ATTACK") {
        Some(_) => Size {
            connections: number("FERRYMQ_ATTACK", 8_000),
            seconds: 10,
            is_timed: true,
        },
        None => Size {
            connections: 300,
            seconds: 3,
            is_timed: false,
        },
    };
    match allow_files(size.connections + OTHER_FILES).and_then(|()| all(size)) {
        Ok(told) => {
            println!("server_attack: ok: {told}");
            ExitCode::SUCCESS
        }
        Err(why) => {
            println!("server_attack: FAILED: {why}");
            ExitCode::FAILURE
        }
    }
}

/// Lets this process, and those that it starts, have so many files open.
fn allow_files(wanted: u64) -> Result<(), String> {
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= wanted) {
        return Ok(());
    }
    if limit.maximum.is_some_and(|most| most < wanted) {
        return Err(format!(
            "a process may have {} files open here, and the attack needs {wanted}: raise the hard limit \
             (ulimit -Hn)",
            limit.maximum.unwrap_or(0)
        ));
    }
    let raised = Rlimit {
        current: Some(wanted),
        maximum: limit.maximum,
    };
    setrlimit(Resource::Nofile, raised).map_err(|error| format!("the limit of files: {error}"))
}

fn all(size: Size) -> Result<String, String> {
    let directory = Directory::new();
    add_user(["--data-dir", directory.text()], USER, "password");
    let ways = [Way::Silent, Way::InsideTheHandshake];
    let mut broker = start(&directory, size, &["--max-connections", "20000"]);
    let mut told = Vec::new();
    for way in ways {
        told.push(under_attack(&mut broker, size, way)?);
    }
    drop(broker);
    let mut kept_out = Vec::new();
    for way in ways {
        let broker = start(&directory, size, &[]);
        kept_out.push(from_one_address(&broker, size, way)?);
    }
    Ok(format!(
        "{}; with the default limit, from the address of the attack, {} logins, none refused",
        told.join("; "),
        kept_out.iter().sum::<usize>()
    ))
}

fn start(directory: &Directory, size: Size, more: &[&str]) -> Broker {
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
    Broker::start(&options)
}

/// The process that attacks.
struct Attack {
    process: Child,
    out: std::sync::mpsc::Receiver<String>,
    patience: Duration,
}

impl Attack {
    fn start(
        broker: &Broker,
        size: Size,
        way: Way,
        hosts: std::ops::RangeInclusive<u8>,
    ) -> Result<Attack, String> {
        let own = std::env::current_exe().map_err(|error| error.to_string())?;
        let mut process = attacker::command(&own, broker.address(), size.connections, way, hosts)
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("the attacker does not start: {error}"))?;
        let out = lines(process.stdout.take().expect("it is piped"));
        Ok(Attack {
            process,
            out,
            // Far more than it takes on a slow machine.
            patience: Duration::from_secs(size.seconds + 120),
        })
    }

    fn line(&self) -> Result<String, String> {
        let line = self.out.recv_timeout(self.patience);
        line.map_err(|error| format!("the attacker says nothing: {error}"))
    }

    /// Waits until all connections are made.
    fn held(&self) -> Result<(), String> {
        let line = self.line()?;
        match line == attacker::HELD {
            true => Ok(()),
            false => Err(format!("the attacker says {line:?}")),
        }
    }

    fn is_over(&mut self) -> bool {
        !matches!(self.process.try_wait(), Ok(None))
    }

    /// Waits until all of them are closed.
    fn report(&self) -> Result<Report, String> {
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
}

impl Drop for Attack {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Logs in and attaches a session.
fn good_client(broker: &Broker, name: &str) -> Result<Client, String> {
    let client = Client::open_as(broker.address(), USER, Map::new());
    let mut client = client.map_err(|closed| format!("the good client is closed: {closed:?}"))?;
    client.attach(0, name);
    Ok(client)
}

/// Moves messages through a queue; gives how many came.
fn move_messages(client: &mut Client, queue: &str) -> usize {
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

/// Octets of a field of `/proc/PID/status`.
fn memory(broker: &Broker, field: &str) -> Result<u64, String> {
    let path = format!("/proc/{}/status", broker.pid());
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
    let line = text.lines().find_map(|line| line.strip_prefix(field));
    let kilobytes = line.and_then(|line| {
        let number = line.trim_start_matches(':').trim().split(' ').next()?;
        number.parse::<u64>().ok()
    });
    let kilobytes = kilobytes.ok_or_else(|| format!("{path} says nothing of {field}"))?;
    Ok(kilobytes * 1024)
}

/// Connections that the broker says it has dropped, rather than waited for.
fn dropped(broker: &mut Broker) -> u64 {
    let is_dropped = |line: &&String| line.contains("has not opened its connection and");
    broker.log().iter().filter(is_dropped).count() as u64
}

/// An attack from all addresses; gives what it came to, in words.
fn under_attack(broker: &mut Broker, size: Size, way: Way) -> Result<String, String> {
    // What a first client makes the process allocate is there now.
    move_messages(&mut good_client(broker, "before")?, "before");
    let before = memory(broker, "VmRSS")?;
    let attack = Attack::start(broker, size, way, HOSTS)?;
    attack.held()?;
    let held = broker.open_files();
    let moved = move_messages(&mut good_client(broker, "meanwhile")?, "meanwhile");
    let report = attack.report()?;
    let grown = memory(broker, "VmHWM")?.saturating_sub(before);
    let (first, last) = (report.first, report.last);
    let refused = report.refused + dropped(broker);
    let told = format!(
        "{way}: {} connections, {} refused, closed after {:.2} to {:.2} s, {} MiB more memory, {moved} \
         messages moved",
        report.opened,
        refused,
        first.as_secs_f32(),
        last.as_secs_f32(),
        grown >> 20
    );
    println!("server_attack: {told} ({held} files open when all were made)");
    let judged = [
        (report.opened == size.connections, "not all were made"),
        (refused == 0, "some were refused"),
        (report.closed == size.connections, "not all were closed"),
        (grown <= GROWN_MAX, "it took too much memory"),
        (
            moved == MESSAGES,
            "the good client did not move its messages",
        ),
        (
            !size.is_timed || is_in_time(first, last, size.seconds),
            "they were not closed in time",
        ),
    ];
    match judged.iter().find(|(holds, _)| !holds) {
        None => Ok(told),
        Some((_, why)) => Err(format!("{why}: {told}")),
    }
}

/// Whether all were closed within a second of their time.
fn is_in_time(first: Duration, last: Duration, seconds: u64) -> bool {
    let (least, most) = (seconds - 1, seconds + 1);
    first >= Duration::from_secs(least) && last <= Duration::from_secs(most)
}

/// An attack from the address of the good client; gives how often that logged in meanwhile, which has to
/// be always.
fn from_one_address(broker: &Broker, size: Size, way: Way) -> Result<usize, String> {
    let mut attack = Attack::start(broker, size, way, ONE_HOST)?;
    let started = Instant::now();
    let mut logins = 0;
    while !attack.is_over() {
        if started.elapsed() > attack.patience {
            return Err("the attack from one address does not end".to_owned());
        }
        let mut client = good_client(broker, &format!("login {logins}"))?;
        client.sync(0);
        logins += 1;
        // Logins that are counted as those of a person, not as another attack.
        std::thread::sleep(Duration::from_millis(50));
    }
    let report = attack.report()?;
    println!(
        "server_attack: {way}, from one address: {} connections, {logins} logins meanwhile",
        report.opened
    );
    match (report.opened == size.connections, logins > 0) {
        (true, true) => Ok(logins),
        _ => Err(format!("{} connections, {logins} logins", report.opened)),
    }
}
