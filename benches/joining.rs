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

use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, Instant};

use ferrymq::client::{Client, Message, Options};
use ferrymq::wire::url::Url;
use ferrymq::wire::{self, DeliveryMode, QueueDeclare};
use process::group::{Group, MEMBERS, Member};
use process::{Failure, Load};

/// Messages that a newcomer has to be given.
const BACKLOG: usize = 100_000;

/// Octets of a body.
const BODY_BYTES: usize = 1024;

/// How long a rate is taken where nobody joins; what comes before is not looked at.
const LOOK: Duration = Duration::from_secs(8);
const WARM_UP: Duration = Duration::from_secs(4);

/// Rounds unless the command line says another number.
const ROUNDS: usize = 3;

fn main() -> Result<(), Failure> {
    let given = std::env::args().skip(1).find(|word| !word.starts_with('-'));
    let rounds: usize = given.map_or(Ok(ROUNDS), |number| number.parse())?;
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("joining-bench");
    let _ = std::fs::remove_dir_all(&directory);
    let mut group = Joining {
        group: Group::start(&directory)?,
        newcomer: None,
        joined: 0,
    };
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

/// A group that another member joins again and again.
struct Joining {
    group: Group,
    newcomer: Option<Member>,
    /// Newcomers so far: each has a directory of its own.
    joined: usize,
}

impl Joining {
    /// Publishes the backlog.
    fn fill(&self) -> Result<(), Failure> {
        let url: Url = format!("127.0.0.1:{}", self.group.members[0].port).parse()?;
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

    /// Has a newcomer join; gives how long that took.
    fn join(&mut self) -> Result<Duration, Failure> {
        let began = Instant::now();
        self.joined += 1;
        self.newcomer = Some(
            self.group
                .launch(MEMBERS, &format!("newcomer{}", self.joined))?,
        );
        self.group.until_voters(MEMBERS + 1)?;
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
        process::http(self.group.members[0].http_port, "DELETE", &path)?;
        self.group.until_voters(MEMBERS)
    }

    /// One join under load; gives the rate without it.
    fn under_load(&mut self, name: &str, arguments: &[&str]) -> Result<f64, Failure> {
        let mut load = Load::start(self.group.members[0].port, arguments)?;
        let look = || {
            sleep(LOOK);
            Ok(())
        };
        sleep(WARM_UP);
        let before = self.group.rate(look)?;
        let (so_far, began) = (self.group.enqueued()?, Instant::now());
        let took = self.join()?;
        let count = self.group.enqueued()? - so_far;
        let meanwhile = count as f64 / began.elapsed().as_secs_f64();
        self.take_out()?;
        sleep(WARM_UP);
        let behind = self.group.rate(look)?;
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
