//! Who attacks: a process that makes many connections, says little, and looks when each is closed.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::ops::RangeInclusive;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::{Barrier, Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval};

use super::speech::{self, Heard};

/// The word by which the test is started as this.
const ATTACKER: &str = "attacker";

/// What it says when all connections are made.
pub const HELD: &str = "held";

/// Connections that are being made at one moment: fewer than the broker's system keeps waiting.
const CONNECTING_MAX: usize = 64;

/// Octets that the system keeps for one that never reads, asked for: the least.
const DEAF_RECEIVE_BYTES: u32 = 4096;

/// Seconds between heartbeats, as connections that have some say: far more than lie between those that come,
/// so that none is closed for being late.
pub const HEARTBEAT: u16 = 5;

/// How an attack goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Nothing is said.
    Silent,
    /// Something is said, and then nothing more.
    InsideTheHandshake,
    /// What few octets make much of is said before the login.
    Largest,
    /// As much as may be said before the login is, and not ended.
    LargestHeld,
    /// After a login nothing is said.
    LoggedIn,
    /// One octet is said each second, before the login and after it.
    Trickling,
    /// A consumer with all credit that reads nothing.
    Deaf,
}

impl Way {
    const ALL: [Way; 7] = [
        Way::Silent,
        Way::InsideTheHandshake,
        Way::Largest,
        Way::LargestHeld,
        Way::LoggedIn,
        Way::Trickling,
        Way::Deaf,
    ];

    /// Whether a connection logs in.
    fn logs_in(self, number: usize) -> bool {
        match self {
            Way::LoggedIn | Way::Deaf => true,
            Way::Trickling => number % 4 == 3,
            _ => false,
        }
    }

    /// Whether a connection has heartbeats, of [`HEARTBEAT`], and sends one each second.
    pub fn beats(self, number: usize) -> bool {
        self == Way::Deaf && number.is_multiple_of(10)
    }

    /// Whether the broker has to end a connection, sooner or later.
    fn ends(self, number: usize) -> bool {
        !self.logs_in(number) || self.beats(number)
    }

    /// How many of so many connections it has to end.
    pub fn ending(self, connections: u64) -> u64 {
        let numbers = 0..connections as usize;
        numbers.filter(|number| self.ends(*number)).count() as u64
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Way::Silent => "silent",
            Way::InsideTheHandshake => "inside-the-handshake",
            Way::Largest => "largest",
            Way::LargestHeld => "largest-held",
            Way::LoggedIn => "logged-in",
            Way::Trickling => "trickling",
            Way::Deaf => "deaf",
        })
    }
}

/// The queue of a consumer.
pub fn deaf_queue(number: usize) -> String {
    format!("deaf-{number}")
}

/// What became of the connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Made, and let in where they log in.
    pub opened: u64,
    /// Not made, or not let in.
    pub refused: u64,
    /// Closed by the broker, whenever.
    pub closed: u64,
    /// Those of them that might have stayed.
    pub wronged: u64,
    /// There still when the attack was told to end.
    pub left: u64,
    /// Told that they broke the protocol: 501.
    pub faulted: u64,
    /// Told that they have to go: 320.
    pub forced: u64,
    /// How long the shortest of those lived that were closed, and the longest.
    pub first: Duration,
    /// See `first`.
    pub last: Duration,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers = [
            self.opened,
            self.refused,
            self.closed,
            self.wronged,
            self.left,
            self.faulted,
            self.forced,
            self.first.as_millis() as u64,
            self.last.as_millis() as u64,
        ];
        f.write_str("report")?;
        numbers.iter().try_for_each(|number| write!(f, " {number}"))
    }
}

impl Report {
    /// From a line; None if it is none.
    pub fn parse(line: &str) -> Option<Report> {
        let numbers = line.strip_prefix("report ")?;
        let numbers: Vec<u64> = numbers.split(' ').flat_map(str::parse).collect();
        let [
            opened,
            refused,
            closed,
            wronged,
            left,
            faulted,
            forced,
            first,
            last,
        ] = numbers[..]
        else {
            return None;
        };
        Some(Report {
            opened,
            refused,
            closed,
            wronged,
            left,
            faulted,
            forced,
            first: Duration::from_millis(first),
            last: Duration::from_millis(last),
        })
    }

    fn note(&mut self, became: Became, has_to_end: bool) {
        match became {
            Became::Refused => self.refused += 1,
            Became::Left => self.left += 1,
            Became::Closed(lived, code) => {
                self.closed += 1;
                self.wronged += u64::from(!has_to_end);
                self.faulted += u64::from(code == Some(501));
                self.forced += u64::from(code == Some(320));
                self.first = self.first.min(lived);
                self.last = self.last.max(lived);
            }
        }
        self.opened += u64::from(!matches!(became, Became::Refused));
    }
}

/// How the process is started. It ends when all that have to be closed are, or when its input does.
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
    let named = |one: &Way| one.to_string() == *way;
    let way = Way::ALL.into_iter().find(named).expect("a way");
    let address = address.parse().expect("an address");
    let connections = connections.parse().expect("a number");
    let hosts: Vec<u8> =
        (first.parse().expect("a number")..=last.parse().expect("a number")).collect();
    let (tell, stop) = watch::channel(false);
    std::thread::spawn(move || {
        // Whatever comes, it is the end that counts.
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        let _ = tell.send(true);
    });
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let report = attack(address, connections, way, hosts, stop);
    println!("{}", runtime.block_on(report));
    Some(ExitCode::SUCCESS)
}

/// What became of one connection.
#[derive(Clone, Copy)]
enum Became {
    Refused,
    /// How long it was there, and the code with which it was closed.
    Closed(Duration, Option<u16>),
    Left,
}

async fn attack(
    address: SocketAddr,
    connections: u64,
    way: Way,
    hosts: Vec<u8>,
    stop: watch::Receiver<bool>,
) -> Report {
    let many = usize::try_from(connections).expect("a count");
    let turns = Arc::new(Semaphore::new(CONNECTING_MAX));
    // All of them, and who says that they are made.
    let made = Arc::new(Barrier::new(many + 1));
    let mut tasks: JoinSet<(usize, Became)> = JoinSet::new();
    // Those that have nothing to wait for but the end.
    let (tell, ending) = watch::channel(false);
    for number in 0..many {
        let host = hosts[number % hosts.len()];
        let (turns, made, ending) = (turns.clone(), made.clone(), ending.clone());
        tasks.spawn(async move {
            let line = {
                let _turn = turns.acquire().await.expect("it is not closed");
                Line::connect(address, host, way, number).await
            };
            let became = async {
                match line {
                    Ok(line) => line.live(ending).await,
                    Err(_) => Became::Refused,
                }
            };
            let (became, _) = tokio::join!(became, made.wait());
            (number, became)
        });
    }
    made.wait().await;
    println!("{HELD}");
    let mut report = Report {
        first: Duration::MAX,
        ..Report::default()
    };
    let awaited = way.ending(connections);
    let mut stop = Some(stop);
    loop {
        // Those that hear nothing are there for as long as they are wanted.
        let is_over = way != Way::Deaf
            && awaited > 0
            && report.closed - report.wronged + report.refused >= awaited;
        tokio::select! {
            became = tasks.join_next() => match became {
                Some(joined) => {
                    let (number, became) = joined.expect("it does not panic");
                    report.note(became, way.ends(number));
                }
                None => break,
            },
            () = told(stop.as_mut(), is_over), if stop.is_some() => {
                stop = None;
                let _ = tell.send(true);
            }
        }
    }
    report.first = report.first.min(report.last);
    report
}

/// Returns when the attack is to end.
async fn told(stop: Option<&mut watch::Receiver<bool>>, is_over: bool) {
    if let (Some(stop), false) = (stop, is_over) {
        let _ = stop.wait_for(|stop| *stop).await;
    }
}

/// Returns when the attack is told to end.
async fn ended(ending: &mut watch::Receiver<bool>) {
    let _ = ending.wait_for(|ending| *ending).await;
}

/// One connection.
struct Line {
    stream: TcpStream,
    began: Instant,
    way: Way,
    number: usize,
    heard: Heard,
}

impl Line {
    /// Makes a connection, says its words, and waits until it is let in if it logs in.
    async fn connect(
        address: SocketAddr,
        host: u8,
        way: Way,
        number: usize,
    ) -> std::io::Result<Line> {
        let socket = TcpSocket::new_v4()?;
        socket.bind(SocketAddr::from((Ipv4Addr::new(127, 0, 0, host), 0)))?;
        if way == Way::Deaf {
            socket.set_recv_buffer_size(DEAF_RECEIVE_BYTES)?;
        }
        let mut line = Line {
            stream: socket.connect(address).await?,
            began: Instant::now(),
            way,
            number,
            heard: Heard::default(),
        };
        // Err: it is refused before it has said all, and what it is told is still to be read.
        let _ = line.stream.write_all(&speech::words(way, number)).await;
        if way.logs_in(number) {
            while !line.heard.is_open {
                if line.hear().await {
                    return Err(std::io::ErrorKind::ConnectionRefused.into());
                }
            }
            line.stream.set_nodelay(true)?;
        }
        if way == Way::Deaf {
            line.stream.write_all(&speech::consuming(number)).await?;
        }
        Ok(line)
    }

    /// Reads once; true at the end, or where it was reset.
    async fn hear(&mut self) -> bool {
        let mut buffer = [0; 1024];
        match self.stream.read(&mut buffer).await {
            Ok(0) | Err(_) => true,
            Ok(octets) => {
                self.heard.take(&buffer[..octets]);
                false
            }
        }
    }

    /// Goes on until the broker closes, or the attack is told to end.
    async fn live(self, mut ending: watch::Receiver<bool>) -> Became {
        match self.way {
            Way::Deaf => self.be_deaf(ending).await,
            Way::Trickling => self.trickle(&mut ending).await,
            _ => {
                let nothing = interval(Duration::from_secs(3600));
                self.until_closed(&mut ending, &[], nothing).await
            }
        }
    }

    async fn trickle(self, ending: &mut watch::Receiver<bool>) -> Became {
        let mut seconds = interval(Duration::from_secs(1));
        seconds.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let words = speech::trickle(self.number);
        self.until_closed(ending, &words, seconds).await
    }

    /// Reads what comes, and says one more octet whenever it is time to.
    async fn until_closed(
        mut self,
        ending: &mut watch::Receiver<bool>,
        words: &[u8],
        mut ticks: Interval,
    ) -> Became {
        let mut words = words.chunks(1);
        loop {
            tokio::select! {
                is_over = self.hear() => if is_over {
                    return Became::Closed(self.began.elapsed(), self.heard.code);
                },
                _ = ticks.tick() => if let Some(octet) = words.next() {
                    // Err: it is closed, which is read next.
                    let _ = self.stream.try_write(octet);
                },
                () = ended(ending) => return Became::Left,
            }
        }
    }

    /// Reads nothing; that it is closed shows when it says something.
    async fn be_deaf(mut self, mut ending: watch::Receiver<bool>) -> Became {
        let beat = speech::beat();
        let mut ticks = interval(Duration::from_secs(1));
        loop {
            tokio::select! {
                _ = ticks.tick(), if self.way.beats(self.number) => {
                    if self.stream.write_all(&beat).await.is_err() {
                        return Became::Closed(self.began.elapsed(), None);
                    }
                }
                () = ended(&mut ending) => break,
            }
        }
        // The first of them has a closed socket answered by a reset, and the second meets that.
        for _ in 0..2 {
            if self.stream.write_all(&beat).await.is_err() {
                return Became::Closed(self.began.elapsed(), None);
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Became::Left
    }
}
