//! What a link carries, beside what a consumer takes; and how soon a binding crosses brokers.
//!
//! `cargo bench --bench federation`. Two brokers on loopback. Messages of a KiB lie in a queue of the one;
//! a consumer takes them, accepting each hundredth with those before it, and then as many go over a link to
//! a queue of the other, acknowledged each hundredth. The same with a proxy in the link's way by which
//! every octet is so much later. Then six brokers in a chain: a queue is bound at the one end, and it is
//! looked when the other end has the binding.

#[allow(dead_code)]
mod process;

use std::collections::VecDeque;
use std::process::Child;
use std::time::{Duration, Instant};

use ferrymq::client::{Client, Flow, Message, Options, Session, unique_name};
use ferrymq::wire::url::Url;
use ferrymq::wire::{
    Command, ExchangeBind, ExchangeBound, ExchangeBoundResult, MessageSubscribe, QueueDeclare,
    QueueDelete, QueueQuery, QueueQueryResult, SequenceSet,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::time::{sleep, sleep_until};

/// Messages that are carried.
const MESSAGES: usize = 200_000;

/// Octets of each.
const SIZE: usize = 1024;

/// Accepted at once.
const ACCEPTED: usize = 100;

/// One way, in the link's way.
const DELAY: Duration = Duration::from_millis(50);

/// Rounds of each.
const ROUNDS: usize = 3;

/// Brokers in the chain: five hops.
const CHAIN: usize = 6;

/// Between two looks.
const LOOK: Duration = Duration::from_millis(2);

type Failure = Box<dyn std::error::Error + Send + Sync>;

fn main() -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let source = Broker::start().await?;
        let here = Broker::start().await?;
        let far = delayed(source.port).await?;
        for round in 0..ROUNDS {
            let consumed = source.consumed().await?;
            let carried = here.carried(&source, source.port).await?;
            let late = here.carried(&source, far).await?;
            println!(
                "round {round}: a consumer {consumed:.0} messages/s; a link {carried:.0}, {:.2} of it; \
                 {} ms away {late:.0}, {:.2} of it",
                carried / consumed,
                DELAY.as_millis(),
                late / consumed
            );
        }
        chain().await
    })
}

/// A broker that keeps nothing, and a session with it.
struct Broker {
    process: Child,
    port: u16,
    http_port: u16,
    session: Session,
    _client: Client,
}

impl Drop for Broker {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Broker {
    async fn start() -> Result<Broker, Failure> {
        let free = std::net::TcpListener::bind("127.0.0.1:0")?;
        let http_port = free.local_addr()?.port();
        drop(free);
        let (process, port) = process::start(&[
            "--no-data-dir",
            "--default-queue-limit",
            "0",
            "--http-port",
            &http_port.to_string(),
        ])?;
        let url: Url = format!("127.0.0.1:{port}").parse()?;
        let client = Client::connect(&url, &Options::default()).await?;
        let session = client.session(&unique_name("bench")).await?;
        Ok(Broker {
            process,
            port,
            http_port,
            session,
            _client: client,
        })
    }

    async fn declare(&self, queue: &str) -> Result<(), Failure> {
        let declare = QueueDeclare {
            queue: queue.into(),
            ..QueueDeclare::default()
        };
        self.session.call(Command::QueueDeclare(declare)).await?;
        Ok(())
    }

    async fn delete(&self, queue: &str) -> Result<(), Failure> {
        let delete = QueueDelete {
            queue: queue.into(),
            ..QueueDelete::default()
        };
        self.session.call(Command::QueueDelete(delete)).await?;
        Ok(())
    }

    async fn bind(&self, queue: &str, key: &str) -> Result<(), Failure> {
        let bind = ExchangeBind {
            queue: queue.into(),
            exchange: "amq.topic".into(),
            binding_key: key.into(),
            ..ExchangeBind::default()
        };
        self.session.call(Command::ExchangeBind(bind)).await?;
        Ok(())
    }

    async fn depth(&self, queue: &str) -> Result<u32, Failure> {
        let query = Command::QueueQuery(QueueQuery {
            queue: queue.into(),
        });
        let found: QueueQueryResult = self.session.query(query).await?;
        Ok(found.message_count)
    }

    /// Has a queue full of messages.
    async fn fill(&self) -> Result<(), Failure> {
        self.declare("from").await?;
        let message = Message::new(vec![0; SIZE]).routing_key("from");
        for _ in 0..MESSAGES {
            self.session.publish("", &message).await?;
        }
        self.session.sync().await?;
        Ok(())
    }

    /// Messages a second that a consumer takes.
    async fn consumed(&self) -> Result<f64, Failure> {
        self.fill().await?;
        let subscribe = MessageSubscribe {
            queue: "from".into(),
            ..MessageSubscribe::default()
        };
        let start = Instant::now();
        let mut taken = self
            .session
            .subscribe(subscribe, Flow::Window(16_384))
            .await?;
        let mut accepted = SequenceSet::new();
        for n in 1..=MESSAGES {
            accepted.insert(taken.next().await?.id);
            if n % ACCEPTED == 0 {
                self.session.accept(std::mem::take(&mut accepted)).await?;
            }
        }
        self.session.sync().await?;
        let rate = MESSAGES as f64 / start.elapsed().as_secs_f64();
        taken.cancel().await?;
        Ok(rate)
    }

    /// Messages a second that a link brings here from another broker, by way of a port.
    async fn carried(&self, source: &Broker, port: u16) -> Result<f64, Failure> {
        source.fill().await?;
        self.declare("to").await?;
        self.bind("to", "#").await?;
        self.link(&["add", "l", &format!("127.0.0.1:{port}")])?;
        let route = [
            "add-route",
            "l",
            "from",
            "amq.topic",
            "--queue",
            "--ack",
            "100",
        ];
        self.link(&route)?;
        let start = Instant::now();
        while self.depth("to").await? < MESSAGES as u32 || source.depth("from").await? > 0 {
            sleep(LOOK).await;
        }
        let rate = MESSAGES as f64 / start.elapsed().as_secs_f64();
        self.link(&["delete", "l"])?;
        self.delete("to").await?;
        Ok(rate)
    }

    /// Does something with links.
    fn link(&self, arguments: &[&str]) -> Result<(), Failure> {
        let url = format!("http://127.0.0.1:{}", self.http_port);
        let status = std::process::Command::new(env!("CARGO_BIN_EXE_ferrymq"))
            .arg("link")
            .args(arguments)
            .args(["--url", &url])
            .status()?;
        match status.success() {
            true => Ok(()),
            false => Err(format!("link {arguments:?} fails").into()),
        }
    }

    async fn is_bound(&self, key: &str) -> Result<bool, Failure> {
        let query = Command::ExchangeBound(ExchangeBound {
            exchange: Some("amq.topic".into()),
            binding_key: Some(key.into()),
            ..ExchangeBound::default()
        });
        let found: ExchangeBoundResult = self.session.query(query).await?;
        Ok(!found.key_not_matched)
    }
}

/// A port by which a broker is reached so much later.
async fn delayed(port: u16) -> Result<u16, Failure> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let own = listener.local_addr()?.port();
    tokio::spawn(async move {
        while let Ok((from, _)) = listener.accept().await {
            let Ok(to) = TcpStream::connect(("127.0.0.1", port)).await else {
                continue;
            };
            let (from, to) = (from.into_split(), to.into_split());
            tokio::spawn(late(from.0, to.1));
            tokio::spawn(late(to.0, from.1));
        }
    });
    Ok(own)
}

/// Passes octets on, each of them [`DELAY`] after it has come.
async fn late(
    mut from: tokio::net::tcp::OwnedReadHalf,
    mut to: tokio::net::tcp::OwnedWriteHalf,
) -> Option<()> {
    let (sender, mut receiver) = mpsc::unbounded_channel::<(Instant, Vec<u8>)>();
    tokio::spawn(async move {
        let mut waiting: VecDeque<(Instant, Vec<u8>)> = VecDeque::new();
        loop {
            let (at, octets) = match waiting.pop_front() {
                Some(next) => next,
                None => receiver.recv().await?,
            };
            sleep_until(at.into()).await;
            to.write_all(&octets).await.ok()?;
            while let Ok(more) = receiver.try_recv() {
                waiting.push_back(more);
            }
        }
        #[allow(unreachable_code, reason = "it says what the task gives")]
        Some(())
    });
    loop {
        let mut octets = vec![0; 256 * 1024];
        let read = from.read(&mut octets).await.ok()?;
        if read == 0 {
            return None;
        }
        octets.truncate(read);
        sender.send((Instant::now() + DELAY, octets)).ok()?;
    }
}

/// How long it takes until what is bound at the one end of a chain is bound at the other.
async fn chain() -> Result<(), Failure> {
    let mut brokers = Vec::new();
    for _ in 0..CHAIN {
        brokers.push(Broker::start().await?);
    }
    for pair in brokers.windows(2) {
        let [near, far] = pair else { continue };
        near.link(&["add", "l", &format!("127.0.0.1:{}", far.port)])?;
        near.link(&["add-route", "l", "amq.topic", "amq.topic", "--dynamic"])?;
    }
    let [first, .., last] = brokers.as_slice() else {
        return Ok(());
    };
    first.declare("q").await?;
    let mut times = Vec::new();
    // The first finds the links ready, or waits for them.
    for n in 0..=20 {
        let key = format!("k{n}");
        let start = Instant::now();
        first.bind("q", &key).await?;
        while !last.is_bound(&key).await? {
            sleep(LOOK).await;
        }
        times.push(start.elapsed().as_secs_f64() * 1000.0);
    }
    let mut later = times.split_off(1);
    later.sort_by(f64::total_cmp);
    println!(
        "a binding crosses {} hops in {:.1} ms, {:.1} ms at most",
        CHAIN - 1,
        later[later.len() / 2],
        later[later.len() - 1]
    );
    Ok(())
}
