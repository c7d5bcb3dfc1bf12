//! What it costs that a member joins: confirmed messages a second before, while and after, and how soon
//! the newcomer has what is there.
//!
//! `cargo bench --bench joining -- ROUNDS`. Three members on loopback with [`BACKLOG`] messages of a KiB in
//! a queue. In each round a fourth joins with an empty directory and is taken out again: at rest, at as
//! much load as goes, and at half of that. A join lasts from the start of the process until the members
//! say that the newcomer counts. The rate while it joins is compared with that before and behind, so that
//! what drifts with the machine cancels.

#[allow(dead_code)]
mod process;

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Child;
use std::thread::sleep;
use std::time::{Duration, Instant};

use ferrymq::client::{Client, Message, Options};
use ferrymq::wire::url::Url;
use ferrymq::wire::{self, DeliveryMode, QueueDeclare};
use process::Load;

/// Messages that a newcomer has to be given.
const BACKLOG: usize = 100_000;

/// Octets of a body.
const BODY_BYTES: usize = 1024;

/// Members, without the newcomer.
const MEMBERS: usize = 3;

/// How long a rate is taken where nobody joins; what comes before is not looked at.
const LOOK: Duration = Duration::from_secs(8);
const WARM_UP: Duration = Duration::from_secs(4);

/// Between two looks whether a member counts.
const PAUSE: Duration = Duration::from_millis(20);

/// A join that takes longer has failed.
const JOIN_MAX: Duration = Duration::from_secs(120);

/// Rounds unless the command line says another number.
const ROUNDS: usize = 3;

type Failure = Box<dyn std::error::Error + Send + Sync>;

fn main() -> Result<(), Failure> {
    let given = std::env::args().skip(1).find(|word| !word.starts_with('-'));
    let rounds: usize = given.map_or(Ok(ROUNDS), |number| number.parse())?;
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("joining-bench");
    let _ = std::fs::remove_dir_all(&directory);
    let mut group = Group::start(&directory)?;
    group.fill()?;
    println!("| load | joined in s | messages/s before | while it joins | behind | ratio |");
    println!("|---|---:|---:|---:|---:|---:|");
    for _ in 0..rounds {
        let took = group.join()?;
        println!("| none | {:.2} | | | | |", took.as_secs_f64());
        group.take_out()?;
    }
    let full = ["confirmed", "--size", "1024", "--durable"];
    let mut most = f64::MAX;
    for _ in 0..rounds {
        most = group.under_load("all that goes", &full)?.min(most);
    }
    let half = format!("{:.0}", most / 2.0);
    let half: Vec<&str> = full.iter().copied().chain(["--rate", &half]).collect();
    for _ in 0..rounds {
        group.under_load("half of that", &half)?;
    }
    drop(group);
    std::fs::remove_dir_all(&directory)?;
    Ok(())
}

struct Member {
    process: Child,
    port: u16,
    http_port: u16,
}

impl Drop for Member {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

struct Group {
    directory: PathBuf,
    /// Where members listen for each other, the newcomer last.
    peers: Vec<u16>,
    http_ports: Vec<u16>,
    members: Vec<Member>,
    newcomer: Option<Member>,
    /// Newcomers so far: each has a directory of its own.
    joined: usize,
}

impl Group {
    fn start(directory: &std::path::Path) -> Result<Group, Failure> {
        // All at once, so that no port is given twice.
        let free = (0..2 * (MEMBERS + 1)).map(|_| TcpListener::bind("127.0.0.1:0"));
        let free: Vec<TcpListener> = free.collect::<Result<_, _>>()?;
        let mut ports = Vec::new();
        for listener in &free {
            ports.push(listener.local_addr()?.port());
        }
        drop(free);
        let http_ports = ports.split_off(MEMBERS + 1);
        let mut group = Group {
            directory: directory.to_owned(),
            peers: ports,
            http_ports,
            members: Vec::new(),
            newcomer: None,
            joined: 0,
        };
        // None serves before all are there: they are started side by side.
        let started = std::thread::scope(|scope| {
            let starts: Vec<_> = (0..MEMBERS)
                .map(|at| {
                    let group = &group;
                    scope.spawn(move || group.launch(at, &format!("member{at}")))
                })
                .collect();
            let ended = starts.into_iter().map(|start| start.join());
            ended.collect::<Vec<_>>()
        });
        for member in started {
            group.members.push(member.map_err(|_| "a start panicked")??);
        }
        Ok(group)
    }

    fn launch(&self, at: usize, name: &str) -> Result<Member, Failure> {
        let peer = |port: &u16| format!("127.0.0.1:{port}");
        let peers: Vec<String> = self.peers[..MEMBERS].iter().map(peer).collect();
        let data = self.directory.join(name);
        let options = [
            "--group",
            "raft",
            "--cluster-listen",
            &peer(&self.peers[at]),
            "--cluster-peers",
            &peers.join(","),
            "--data-dir",
            data.to_str().ok_or("a path that is no text")?,
            "--http-port",
            &self.http_ports[at].to_string(),
        ];
        let (process, port) = process::start(&options)?;
        Ok(Member {
            process,
            port,
            http_port: self.http_ports[at],
        })
    }

    /// Publishes the backlog.
    fn fill(&self) -> Result<(), Failure> {
        let url: Url = format!("127.0.0.1:{}", self.members[0].port).parse()?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        runtime.block_on(async {
            let client = Client::connect(&url, &Options::default()).await?;
            let session = client.session("backlog").await?;
            let declare = QueueDeclare {
                queue: "backlog".into(),
                durable: true,
                arguments: Some([("qpid.max_size", 0u64)].into_iter().collect()),
                ..QueueDeclare::default()
            };
            session.call(wire::Command::QueueDeclare(declare)).await?;
            for n in 0..BACKLOG {
                let mut message = Message::new(vec![b'x'; BODY_BYTES]).routing_key("backlog");
                message.delivery.delivery_mode = Some(DeliveryMode::PERSISTENT);
                session.publish("", &message).await?;
                if n % 1000 == 999 {
                    session.sync().await?;
                }
            }
            session.sync().await?;
            Ok(())
        })
    }

    fn nodes(&self) -> Result<Vec<serde_json::Value>, Failure> {
        let answer = process::http(self.members[0].http_port, "GET", "/api/nodes")?;
        let (_, body) = answer.split_once("\r\n\r\n").ok_or("no answer")?;
        Ok(serde_json::from_str(body)?)
    }

    /// Waits until so many members count.
    fn until_voters(&self, count: usize) -> Result<(), Failure> {
        let end = Instant::now() + JOIN_MAX;
        loop {
            let nodes = self.nodes()?;
            let voters = nodes.iter().filter(|node| node["role"] == "voter");
            if voters.count() == count {
                return Ok(());
            }
            if Instant::now() > end {
                return Err(format!("there are not {count} that count: {nodes:?}").into());
            }
            sleep(PAUSE);
        }
    }

    /// Has a newcomer join; gives how long that took.
    fn join(&mut self) -> Result<Duration, Failure> {
        let began = Instant::now();
        self.joined += 1;
        self.newcomer = Some(self.launch(MEMBERS, &format!("newcomer{}", self.joined))?);
        self.until_voters(MEMBERS + 1)?;
        Ok(began.elapsed())
    }

    /// Takes the newcomer out again.
    fn take_out(&mut self) -> Result<(), Failure> {
        let newcomer = self.newcomer.take().ok_or("nobody has joined")?;
        let answer = process::http(newcomer.http_port, "GET", "/api/overview")?;
        let (_, body) = answer.split_once("\r\n\r\n").ok_or("no answer")?;
        let overview: serde_json::Value = serde_json::from_str(body)?;
        let name = overview["node"].as_str().ok_or("it has no name")?;
        let path = format!("/api/nodes/{name}");
        process::http(self.members[0].http_port, "DELETE", &path)?;
        self.until_voters(MEMBERS)
    }

    fn enqueued(&self) -> Result<u64, Failure> {
        let metrics = process::http(self.members[0].http_port, "GET", "/metrics")?;
        process::enqueued(&metrics)
    }

    /// Messages a second while something is done.
    fn rate(
        &mut self,
        act: impl FnOnce(&mut Group) -> Result<(), Failure>,
    ) -> Result<f64, Failure> {
        let (before, began) = (self.enqueued()?, Instant::now());
        act(self)?;
        let count = self.enqueued()? - before;
        Ok(count as f64 / began.elapsed().as_secs_f64())
    }

    /// One join under load; gives the rate without it.
    fn under_load(&mut self, name: &str, arguments: &[&str]) -> Result<f64, Failure> {
        let mut load = Load::start(self.members[0].port, arguments)?;
        let look = |_: &mut Group| {
            sleep(LOOK);
            Ok(())
        };
        sleep(WARM_UP);
        let before = self.rate(look)?;
        let mut took = Duration::ZERO;
        let meanwhile = self.rate(|group| {
            took = group.join()?;
            Ok(())
        })?;
        self.take_out()?;
        sleep(WARM_UP);
        let behind = self.rate(look)?;
        load.check()?;
        let alone = (before + behind) / 2.0;
        println!(
            "| {name} | {:.2} | {before:.0} | {meanwhile:.0} | {behind:.0} | {:.3} |",
            took.as_secs_f64(),
            meanwhile / alone
        );
        Ok(alone)
    }
}
