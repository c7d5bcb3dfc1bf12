//! Who attacks: a process that makes many connections, says little, and looks when each is closed.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::ops::RangeInclusive;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::Duration;

use ferrymq::security::sasl::scram::{ClientSide, Hash};
use ferrymq::wire::{self, Control, Map, protocol_header};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::{Barrier, Semaphore};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::server_support::control_frame;

/// The word by which the test is started as this.
const ATTACKER: &str = "attacker";

/// What it says when all connections are made.
pub const HELD: &str = "held";

/// Connections that are being made at one moment: fewer than the broker's system keeps waiting.
const CONNECTING_MAX: usize = 64;

/// How an attack goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Nothing is said.
    Silent,
    /// Something is said, and then nothing more.
    InsideTheHandshake,
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Way::Silent => "silent",
            Way::InsideTheHandshake => "inside-the-handshake",
        })
    }
}

/// What became of the connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Made.
    pub opened: u64,
    /// Not made.
    pub refused: u64,
    /// Closed by the broker, whenever.
    pub closed: u64,
    /// How long the shortest lived, and the longest.
    pub first: Duration,
    /// See `first`.
    pub last: Duration,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, last) = (self.first.as_millis(), self.last.as_millis());
        let counts = [self.opened, self.refused, self.closed];
        let [opened, refused, closed] = counts;
        write!(f, "report {opened} {refused} {closed} {first} {last}")
    }
}

impl Report {
    /// From a line; None if it is none.
    pub fn parse(line: &str) -> Option<Report> {
        let numbers = line.strip_prefix("report ")?;
        let numbers: Vec<u64> = numbers.split(' ').flat_map(str::parse).collect();
        let [opened, refused, closed, first, last] = numbers[..] else {
            return None;
        };
        Some(Report {
            opened,
            refused,
            closed,
            first: Duration::from_millis(first),
            last: Duration::from_millis(last),
        })
    }
}

/// How the process is started.
pub fn command(
    own: &Path,
    address: SocketAddr,
    connections: u64,
    way: Way,
    hosts: RangeInclusive<u8>,
) -> Command {
    let mut command = Command::new(own);
    command.arg(ATTACKER).arg(address.to_string());
    command.args([connections.to_string(), way.to_string()]);
    command.args([hosts.start().to_string(), hosts.end().to_string()]);
    command
}

/// Attacks if the command line says so.
pub fn run_if_asked() -> Option<ExitCode> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, word, address, connections, way, first, last] = &arguments[..] else {
        return None;
    };
    if word != ATTACKER {
        return None;
    }
    let way = match *way == Way::Silent.to_string() {
        true => Way::Silent,
        false => Way::InsideTheHandshake,
    };
    let address = address.parse().expect("an address");
    let connections = connections.parse().expect("a number");
    let hosts: Vec<u8> =
        (first.parse().expect("a number")..=last.parse().expect("a number")).collect();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    println!(
        "{}",
        runtime.block_on(attack(address, connections, way, hosts))
    );
    Some(ExitCode::SUCCESS)
}

/// What became of one connection: how long it was there, if it was made.
type Became = Option<Duration>;

async fn attack(address: SocketAddr, connections: u64, way: Way, hosts: Vec<u8>) -> Report {
    let many = usize::try_from(connections).expect("a count");
    let turns = Arc::new(Semaphore::new(CONNECTING_MAX));
    // All of them, and who says that they are made.
    let made = Arc::new(Barrier::new(many + 1));
    let mut tasks: JoinSet<Became> = JoinSet::new();
    for number in 0..many {
        let host = hosts[number % hosts.len()];
        let (turns, made) = (turns.clone(), made.clone());
        tasks.spawn(async move {
            let stream = {
                let _turn = turns.acquire().await.expect("it is not closed");
                connect(address, host, &words(way, number)).await
            };
            let closed = async {
                match stream {
                    Ok((stream, began)) => Some(until_closed(stream, began).await),
                    Err(_) => None,
                }
            };
            let (closed, _) = tokio::join!(closed, made.wait());
            closed
        });
    }
    made.wait().await;
    println!("{HELD}");
    let mut report = Report {
        first: Duration::MAX,
        ..Report::default()
    };
    while let Some(became) = tasks.join_next().await {
        let Some(lived) = became.expect("it does not panic") else {
            report.refused += 1;
            continue;
        };
        report.opened += 1;
        report.closed += 1;
        report.first = report.first.min(lived);
        report.last = report.last.max(lived);
    }
    report.first = report.first.min(report.last);
    report
}

/// Makes a connection and says its words; gives when it was made, too.
async fn connect(
    address: SocketAddr,
    host: u8,
    words: &[u8],
) -> std::io::Result<(TcpStream, Instant)> {
    let socket = TcpSocket::new_v4()?;
    socket.bind(SocketAddr::from((Ipv4Addr::new(127, 0, 0, host), 0)))?;
    let mut stream = socket.connect(address).await?;
    let made = Instant::now();
    if !words.is_empty() {
        stream.write_all(words).await?;
    }
    Ok((stream, made))
}

/// Reads until the broker closes; gives how long that took.
async fn until_closed(mut stream: TcpStream, began: Instant) -> Duration {
    let mut buffer = [0; 1024];
    // Err: it was reset, and so closed.
    while stream.read(&mut buffer).await.is_ok_and(|read| read > 0) {}
    began.elapsed()
}

/// What a connection says: nothing; or the header, or that and half a frame, or the first words of a login.
fn words(way: Way, number: usize) -> Vec<u8> {
    let mut words = match way {
        Way::Silent => return Vec::new(),
        Way::InsideTheHandshake => protocol_header::BYTES.to_vec(),
    };
    // A name that may be one: a login that fails would be another attack.
    let user = format!("nobody-{}", number % 10);
    let (_, first) = ClientSide::new(Hash::Sha256, &user, b"password");
    let start_ok = Control::ConnectionStartOk(wire::ConnectionStartOk {
        client_properties: Some(Map::new()),
        mechanism: "SCRAM-SHA-256".into(),
        response: Some(first.into_bytes()),
        locale: "en_US".into(),
    });
    let frame = control_frame(0, &start_ok);
    match number % 3 {
        0 => {}
        1 => words.extend(&frame[..frame.len() / 2]),
        _ => words.extend(frame),
    }
    words
}
