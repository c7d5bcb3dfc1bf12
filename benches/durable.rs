//! What durability costs, end to end: a broker's process, its journal on a real disk, clients.
//!
//! `cargo bench --bench durable -- DIRECTORY`: data directories are made there and removed; without
//! one they lie under the build's. Prints tables of Markdown.
//!
//! - throughput: messages published, synced, confirmed, delivered and accepted, beside a bare loop
//!   that appends and syncs as many octets, in the same run on the same disk;
//! - written: octets that the broker's process wrote to the disk for each octet of body, compaction
//!   included, with a slow queue that keeps a message in every file;
//! - space: what the journal takes after much has passed through while a little stays;
//! - recovery: how fast a broker that was killed has its messages back.

#[allow(dead_code)]
mod process;

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ferrymq::client::{Client, Message, Options, Session};
use ferrymq::wire::url::Url;
use ferrymq::wire::{self, DeliveryMode, QueueDeclare};

/// Octets of a body.
const BODY_BYTES: usize = 1024;

/// Octets of a batch of the bare loop: the best counts.
const BARE_BATCHES: [usize; 4] = [64 << 10, 256 << 10, 1 << 20, 4 << 20];

/// Octets that the bare loop writes for each of them.
const BARE_BYTES: usize = 512 << 20;

/// Messages that recovery gets back.
const RECOVERED: usize = 1_000_000;

/// Messages that pass through while others stay.
const PASSED: usize = 10_000_000;

/// Messages that stay meanwhile.
const STAYING: usize = 10_000;

const FERRYMQ: &str = env!("CARGO_BIN_EXE_ferrymq");

type Failure = Box<dyn std::error::Error + Send + Sync>;

fn main() -> Result<(), Failure> {
    let mut given = std::env::args().skip(1);
    let given = given.find(|argument| !argument.starts_with("--"));
    let directory = match given {
        Some(directory) => PathBuf::from(directory),
        None => PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("durable-bench"),
    };
    fs::create_dir_all(&directory)?;
    let measured = measure(&directory);
    fs::remove_dir_all(&directory)?;
    measured
}

fn measure(directory: &Path) -> Result<(), Failure> {
    let runtime = tokio::runtime::Runtime::new()?;
    throughput(directory)?;
    runtime.block_on(written(directory))?;
    runtime.block_on(space(directory))?;
    runtime.block_on(recovery(directory))
}

/// A broker with a data directory, killed when this is dropped.
struct Broker {
    process: Child,
    port: u16,
    directory: PathBuf,
}

impl Broker {
    fn start(directory: &Path) -> Result<Broker, Failure> {
        let path = directory.to_str().ok_or("a directory's name is no text")?;
        let options = ["--default-queue-limit", "0", "--data-dir", path];
        let (process, port) = process::start(&options)?;
        Ok(Broker {
            process,
            port,
            directory: directory.to_owned(),
        })
    }

    fn url(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Octets that the process has written to disks.
    fn written_bytes(&self) -> Result<u64, Failure> {
        let path = format!("/proc/{}/io", self.process.id());
        let text = fs::read_to_string(path)?;
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix("write_bytes: "));
        Ok(line.ok_or("no write_bytes")?.parse()?)
    }

    /// Octets of the files in its data directory.
    fn journal_bytes(&self) -> Result<u64, Failure> {
        let mut bytes = 0;
        for file in fs::read_dir(self.directory.join("journal"))? {
            bytes += file?.metadata()?.len();
        }
        Ok(bytes)
    }

    /// The load tool, putting durable messages through a queue.
    fn load(&self, arguments: &[&str]) -> Command {
        let size = BODY_BYTES.to_string();
        let pid = self.process.id().to_string();
        let mut command = Command::new(FERRYMQ);
        command
            .args(["bench", "durable", "--json", "--size", &size])
            .args(["--url", &self.url(), "--pid", &pid])
            .args(arguments)
            .stdout(Stdio::piped());
        command
    }

    async fn session(&self) -> Result<(Client, Session), Failure> {
        let url: Url = self.url().parse()?;
        let client = Client::connect(&url, &Options::default()).await?;
        let session = client.session("bench").await?;
        Ok((client, session))
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// A number in JSON of one level.
fn number(json: &str, name: &str) -> Result<f64, Failure> {
    let key = format!("\"{name}\":");
    let at = json.find(&key).ok_or_else(|| format!("no {name}"))?;
    let rest = &json[at + key.len()..];
    let end = rest.find([',', '}']).ok_or("a value ends")?;
    Ok(rest[..end].parse()?)
}

/// MB/s of appending and syncing batches of so many octets into a file made ahead.
fn bare(path: &Path, batch: usize) -> io::Result<f64> {
    let file = OpenOptions::new().create_new(true).write(true).open(path)?;
    file.set_len(BARE_BYTES as u64)?;
    file.sync_all()?;
    let octets = vec![0x5a; batch];
    let start = Instant::now();
    let mut at = 0;
    while at < BARE_BYTES {
        file.write_all_at(&octets, at as u64)?;
        file.sync_data()?;
        at += batch;
    }
    let rate = BARE_BYTES as f64 / start.elapsed().as_secs_f64() / 1e6;
    fs::remove_file(path)?;
    Ok(rate)
}

fn throughput(directory: &Path) -> Result<(), Failure> {
    let mut bare_rates = Vec::new();
    let mut rates = Vec::new();
    for round in 0..3 {
        for batch in BARE_BATCHES {
            bare_rates.push(bare(
                &directory.join(format!("bare-{round}-{batch}")),
                batch,
            )?);
        }
        let broker = Broker::start(&directory.join(format!("throughput-{round}")))?;
        let output = broker
            .load(&["--duration", "5", "--warm-up", "1"])
            .output()?;
        let json = String::from_utf8(output.stdout)?;
        let rate = number(&json, "delivered_per_s")?;
        rates.push((rate, number(&json, "broker_cpu_us")?));
    }
    let best = bare_rates.iter().copied().fold(0.0, f64::max);
    rates.sort_by(|one, other| one.0.total_cmp(&other.0));
    let (rate, cpu) = rates[1];
    let megabytes = rate * BODY_BYTES as f64 / 1e6;
    println!("| confirmed and accepted, 1 KiB | messages/s | MB/s | broker CPU us |");
    println!("|---|---:|---:|---:|");
    println!("| bare loop, best batch | - | {best:.0} | - |");
    println!("| broker | {rate:.0} | {megabytes:.0} | {cpu:.2} |");
    println!(
        "| broker, of the bare loop | - | {:.2} | - |\n",
        megabytes / best
    );
    Ok(())
}

async fn declare(session: &Session, queue: &str) -> Result<(), Failure> {
    let declare = QueueDeclare {
        queue: queue.into(),
        durable: true,
        ..QueueDeclare::default()
    };
    session.call(wire::Command::QueueDeclare(declare)).await?;
    Ok(())
}

fn message(queue: &str) -> Message {
    let mut message = Message::new(vec![0x5a; BODY_BYTES]).routing_key(queue);
    message.delivery.delivery_mode = Some(DeliveryMode::PERSISTENT);
    message
}

async fn publish(session: &Session, queue: &str, count: usize) -> Result<(), Failure> {
    let message = message(queue);
    for _ in 0..count {
        session.publish("", &message).await?;
    }
    session.sync().await?;
    Ok(())
}

/// Lets many messages pass through one queue while another gets one now and then, which stay.
async fn written(directory: &Path) -> Result<(), Failure> {
    let broker = Broker::start(&directory.join("written"))?;
    let (_client, session) = broker.session().await?;
    declare(&session, "slow").await?;
    let before = broker.written_bytes()?;
    let count = 2_000_000;
    let mut slow = 0;
    let mut load = broker.load(&["--messages", &count.to_string()]).spawn()?;
    let status = loop {
        publish(&session, "slow", 1).await?;
        slow += 1;
        if let Some(status) = load.try_wait()? {
            break status;
        }
        // Several in every file of 16 MiB at any rate that a disk reaches.
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    if !status.success() {
        return Err("the load failed".into());
    }
    let payload = ((count + slow) * BODY_BYTES) as f64;
    let written = (broker.written_bytes()? - before) as f64;
    println!("| written, 1 KiB, beside a slow queue with a message in every file | |");
    println!("|---|---:|");
    println!("| messages that passed | {count} |");
    println!("| messages that stay | {slow} |");
    println!(
        "| octets written for each of a body | {:.3} |\n",
        written / payload
    );
    Ok(())
}

/// Lets ten gigabytes pass while ten megabytes stay.
async fn space(directory: &Path) -> Result<(), Failure> {
    let broker = Broker::start(&directory.join("space"))?;
    let (_client, session) = broker.session().await?;
    declare(&session, "staying").await?;
    publish(&session, "staying", STAYING).await?;
    let status = broker.load(&["--messages", &PASSED.to_string()]).status()?;
    if !status.success() {
        return Err("the load failed".into());
    }
    // What the last messages freed is given back in the background.
    let mut bytes = broker.journal_bytes()?;
    loop {
        tokio::time::sleep(Duration::from_secs(1)).await;
        match broker.journal_bytes()? {
            now if now < bytes => bytes = now,
            _ => break,
        }
    }
    println!("| space, 1 KiB | MB |");
    println!("|---|---:|");
    println!(
        "| bodies that passed | {} |",
        PASSED * BODY_BYTES / 1_000_000
    );
    println!(
        "| bodies that stay | {} |",
        STAYING * BODY_BYTES / 1_000_000
    );
    println!("| journal | {} |\n", bytes / 1_000_000);
    Ok(())
}

/// Kills a broker with a million messages and starts it again.
async fn recovery(directory: &Path) -> Result<(), Failure> {
    let place = directory.join("recovery");
    let mut broker = Broker::start(&place)?;
    {
        let (_client, session) = broker.session().await?;
        declare(&session, "deep").await?;
        publish(&session, "deep", RECOVERED).await?;
    }
    broker.process.kill()?;
    broker.process.wait()?;
    let mut rates = Vec::new();
    let bytes = RECOVERED * BODY_BYTES;
    for _ in 0..3 {
        let start = Instant::now();
        let mut again = Broker::start(&place)?;
        rates.push(bytes as f64 / start.elapsed().as_secs_f64() / 1e6);
        again.process.kill()?;
        again.process.wait()?;
        // Its directory is needed once more.
        again.directory = directory.join("nothing");
    }
    rates.sort_by(f64::total_cmp);
    println!("| recovery, {RECOVERED} messages of 1 KiB, from the kernel's cache | MB/s |");
    println!("|---|---:|");
    println!("| process started to port told | {:.0} |\n", rates[1]);
    Ok(())
}
