//! What management costs a broker at full load: CPU of its process for a message, with and without
//! somebody who manages.
//!
//! `cargo bench --bench management -- ROUNDS`. One broker with 1,000 queues, all of them under the load of
//! `ferrymq bench queues`, so that every queue has changed whenever objects are told. In each round it is
//! looked at alone and then managed:
//!
//! - at the default interval of 10 s: a console of QMF version 2 that listens to everything, and a scrape of
//!   Prometheus each 10 s;
//! - with another broker at an interval of 1 s: the same, and all queues asked for each 10 s, as `qpid-stat -q`
//!   does.
//!
//! A figure is the CPU for a message managed, over that of the looks alone before and behind it, in the same
//! process: what drifts with the machine cancels. The last table has no load but one message to each queue
//! before a telling: what one telling of 1,000 changed queues costs, a scrape, and asking for all queues,
//! whatever the load. With no rounds (`-- 0`) it is all there is.

mod process;

use std::net::TcpListener;
use std::process::Child;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ferrymq::client::{Client, Flow, Message, Options, Session, Subscription, unique_name};
use ferrymq::load::usage;
use ferrymq::wire::url::Url;
use ferrymq::wire::{self, ExchangeBind, Map, MessageSubscribe, QueueDeclare, ReplyTo, Value};
use process::Load;

/// Queues, all under load.
const QUEUES: usize = 1000;

/// How long a look lasts: two intervals of 10 s, with two scrapes in them.
const LOOK: Duration = Duration::from_secs(20);

/// Between two scrapes, and two queries.
const ASKED_EACH: Duration = Duration::from_secs(10);

/// Rounds unless the command line says another number.
const ROUNDS: usize = 5;

/// Tellings whose cost is taken without load.
const TELLINGS: u32 = 50;

/// Scrapes and queries whose cost is taken without load: the system counts CPU by hundredths of a second.
const ASKINGS: u32 = 200;

type Failure = Box<dyn std::error::Error + Send + Sync>;

fn main() -> Result<(), Failure> {
    let given = std::env::args().skip(1).find(|word| !word.starts_with('-'));
    let rounds = given.map_or(Ok(ROUNDS), |number| number.parse())?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()?;
    runtime.block_on(async {
        if rounds > 0 {
            println!("| managed | CPU us alone | managed | ratio, % | from | to | told MiB/s |");
            println!("|---|---:|---:|---:|---:|---:|---:|");
            under_load(10, false, rounds).await?;
            under_load(1, true, rounds).await?;
        }
        without_load().await
    })
}

/// A broker without a data directory, killed when this is dropped.
struct Broker {
    process: Child,
    port: u16,
    http_port: u16,
}

impl Broker {
    fn start(interval: u16) -> Result<Broker, Failure> {
        let http_port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let (http, interval) = (http_port.to_string(), interval.to_string());
        let options = [
            "--no-data-dir",
            "--http-port",
            &http,
            "--mgmt-pub-interval",
            &interval,
        ];
        let (process, port) = process::start(&options)?;
        Ok(Broker {
            process,
            port,
            http_port,
        })
    }

    /// Load on all queues, for as long as it is let.
    fn load(&self) -> Result<Load, Failure> {
        Load::start(self.port, &["queues", "--queues", &QUEUES.to_string()])
    }

    async fn session(&self) -> Result<(Client, Session), Failure> {
        let url: Url = format!("127.0.0.1:{}", self.port).parse()?;
        let client = Client::connect(&url, &Options::default()).await?;
        let session = client.session(&unique_name("management-")).await?;
        Ok((client, session))
    }

    /// What Prometheus reads.
    async fn scrape(&self) -> Result<String, Failure> {
        self.get("/metrics").await
    }

    async fn get(&self, path: &'static str) -> Result<String, Failure> {
        let port = self.http_port;
        let answer =
            tokio::task::spawn_blocking(move || process::http(port, "GET", path)).await??;
        match answer.starts_with("HTTP/1.1 200") {
            true => Ok(answer),
            false => Err(format!("{path}: {answer}").into()),
        }
    }

    /// Messages that have come into queues so far.
    async fn messages(&self) -> Result<u64, Failure> {
        process::enqueued(&self.scrape().await?)
    }

    fn cpu(&self) -> Result<Duration, Failure> {
        Ok(usage(self.process.id())?.cpu)
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A console that listens to everything that is told unasked.
struct Listening {
    octets: Arc<AtomicU64>,
    /// Objects of queues that came.
    queues: Arc<AtomicU64>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Listening {
    fn drop(&mut self) {
        // Its connection closes with it, and its queue goes.
        self.task.abort();
    }
}

/// A queue of the session's own that an exchange of management is bound to, with what comes to it.
async fn bound(session: &Session, exchange: &str, key: &str) -> Result<Subscription, Failure> {
    let queue = unique_name("console-");
    let declare = QueueDeclare {
        queue: queue.as_str().into(),
        exclusive: true,
        auto_delete: true,
        ..QueueDeclare::default()
    };
    session.call(wire::Command::QueueDeclare(declare)).await?;
    let bind = ExchangeBind {
        queue: queue.as_str().into(),
        exchange: exchange.into(),
        binding_key: key.into(),
        arguments: None,
    };
    session.call(wire::Command::ExchangeBind(bind)).await?;
    let subscribe = MessageSubscribe {
        queue: queue.as_str().into(),
        accept_mode: wire::AcceptMode::NONE,
        ..MessageSubscribe::default()
    };
    Ok(session.subscribe(subscribe, Flow::Window(1000)).await?)
}

async fn listen(broker: &Broker) -> Result<Listening, Failure> {
    let (client, session) = broker.session().await?;
    let mut heard = bound(&session, "qmf.default.topic", "#").await?;
    let (octets, queues) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let counted = (octets.clone(), queues.clone());
    let task = tokio::spawn(async move {
        let _client = client;
        while let Ok(delivery) = heard.next().await {
            let body = delivery.body_bytes();
            counted.0.fetch_add(body.len() as u64, Ordering::Relaxed);
            let key = delivery.delivery_properties().ok();
            let key = key.and_then(|properties| properties.routing_key);
            if key.is_some_and(|key| key.contains(".queue.")) {
                let list = wire::Cursor::new(&body).list().unwrap_or_default();
                counted.1.fetch_add(list.len() as u64, Ordering::Relaxed);
            }
        }
    });
    Ok(Listening {
        octets,
        queues,
        task,
    })
}

impl Listening {
    /// Waits until all queues have been told of so many times more.
    async fn hear(&self, times: u64) -> Result<(), Failure> {
        let wanted = self.queues.load(Ordering::Relaxed) + times * QUEUES as u64;
        let until = Instant::now() + 3 * ASKED_EACH;
        while self.queues.load(Ordering::Relaxed) < wanted {
            if Instant::now() > until {
                return Err("the console hears of no queues".into());
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    }
}

/// Asks for all queues, as a tool does.
struct Asking {
    _client: Client,
    session: Session,
    answers: Subscription,
    key: String,
}

impl Asking {
    async fn open(broker: &Broker) -> Result<Asking, Failure> {
        let (client, session) = broker.session().await?;
        let key = unique_name("reply-");
        let answers = bound(&session, "qmf.default.direct", &key).await?;
        Ok(Asking {
            _client: client,
            session,
            answers,
            key,
        })
    }

    async fn queues(&mut self) -> Result<usize, Failure> {
        let schema: Map = [("_class_name", "queue")].into_iter().collect();
        let mut query = Map::new();
        query.insert("_what", "OBJECT");
        query.insert("_schema_id", schema);
        let mut body = Vec::new();
        // A value has its type in front, which a body has not.
        Value::Map(query).encode(&mut body);
        let mut message = Message::new(body.split_off(1))
            .routing_key("broker")
            .application_header("qmf.opcode", "_query_request");
        message.properties.app_id = Some(b"qmf2".to_vec());
        message.properties.content_type = Some("amqp/map".into());
        message.properties.reply_to = Some(ReplyTo {
            exchange: Some("qmf.default.direct".into()),
            routing_key: Some(self.key.as_str().into()),
        });
        self.session.publish("qmf.default.direct", &message).await?;
        let mut count = 0;
        loop {
            let answer = self.answers.next().await?;
            count += wire::Cursor::new(&answer.body_bytes()).list()?.len();
            let headers = answer.message_properties()?.application_headers;
            if headers.is_none_or(|headers| headers.get("partial").is_none()) {
                return Ok(count);
            }
        }
    }
}

/// Microseconds of the broker's CPU for a message while this lasts.
async fn look(
    broker: &Broker,
    during: impl Future<Output = Result<(), Failure>>,
) -> Result<f64, Failure> {
    let (messages, cpu) = (broker.messages().await?, broker.cpu()?);
    during.await?;
    let spent = broker.cpu()? - cpu;
    let messages = broker.messages().await? - messages;
    if messages == 0 {
        return Err("no message came".into());
    }
    Ok(spent.as_secs_f64() * 1e6 / messages as f64)
}

async fn alone(broker: &Broker) -> Result<f64, Failure> {
    let nothing = async {
        tokio::time::sleep(LOOK).await;
        Ok(())
    };
    look(broker, nothing).await
}

/// Microseconds for a message, and octets told in a second.
async fn managed(broker: &Broker, is_asked: bool) -> Result<(f64, f64), Failure> {
    let console = listen(broker).await?;
    let mut asking = Asking::open(broker).await?;
    // The first telling has all objects that there are; from then on it goes by what has changed.
    console.hear(1).await?;
    let before = console.octets.load(Ordering::Relaxed);
    let begun = Instant::now();
    let managing = async {
        while begun.elapsed() + ASKED_EACH / 2 < LOOK {
            tokio::time::sleep(ASKED_EACH / 2).await;
            broker.scrape().await?;
            if is_asked && asking.queues().await? < QUEUES {
                return Err("the broker has fewer queues than it should".into());
            }
            tokio::time::sleep(ASKED_EACH / 2).await;
        }
        Ok(())
    };
    let cost = look(broker, managing).await?;
    let octets = console.octets.load(Ordering::Relaxed) - before;
    if octets == 0 {
        return Err("the console has heard nothing".into());
    }
    Ok((cost, octets as f64 / begun.elapsed().as_secs_f64()))
}

async fn under_load(interval: u16, is_asked: bool, rounds: usize) -> Result<(), Failure> {
    let broker = Broker::start(interval)?;
    let mut load = broker.load()?;
    tokio::time::sleep(Duration::from_secs(3)).await;
    let mut before = alone(&broker).await?;
    let (mut ratios, mut bare, mut full, mut told) = (vec![], vec![], vec![], vec![]);
    for _ in 0..rounds {
        let (cost, octets) = managed(&broker, is_asked).await?;
        let behind = alone(&broker).await?;
        load.check()?;
        let beside = (before + behind) / 2.0;
        eprintln!("{interval} s: {before:.3} {cost:.3} {behind:.3}");
        ratios.push((cost / beside - 1.0) * 100.0);
        bare.push(beside);
        full.push(cost);
        told.push(octets / f64::from(1 << 20));
        before = behind;
    }
    let name = match is_asked {
        true => format!("each {interval} s, and asked"),
        false => format!("each {interval} s"),
    };
    ratios.sort_by(f64::total_cmp);
    let (from, to) = (ratios[0], ratios[ratios.len() - 1]);
    println!(
        "| {name} | {:.3} | {:.3} | {:+.1} | {from:+.1} | {to:+.1} | {:.2} |",
        median(bare),
        median(full),
        median(ratios),
        median(told)
    );
    Ok(())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() % 2 {
        1 => values[middle],
        _ => (values[middle - 1] + values[middle]) / 2.0,
    }
}

/// What one telling costs of which all queues are news, and one of which none is.
async fn without_load() -> Result<(), Failure> {
    let broker = Broker::start(1)?;
    let (_client, session) = broker.session().await?;
    let names: Vec<String> = (0..QUEUES).map(|at| format!("told.{at}")).collect();
    for name in &names {
        let declare = QueueDeclare {
            queue: name.as_str().into(),
            ..QueueDeclare::default()
        };
        session
            .command(wire::Command::QueueDeclare(declare), None)
            .await?;
    }
    session.sync().await?;
    let second = Duration::from_secs(1);
    let spent = async |is_changing: bool| -> Result<Duration, Failure> {
        let cpu = broker.cpu()?;
        for _ in 0..TELLINGS {
            for name in names.iter().filter(|_| is_changing) {
                let message = Message::new(vec![0x5a; 64]).routing_key(name);
                session.publish("", &message).await?;
            }
            session.sync().await?;
            tokio::time::sleep(second).await;
        }
        Ok(broker.cpu()? - cpu)
    };
    let changing_alone = spent(true).await?;
    let idle_alone = spent(false).await?;
    let asked = asked(&broker).await?;
    let console = listen(&broker).await?;
    console.hear(1).await?;
    let idle_told = spent(false).await?;
    let before = console.queues.load(Ordering::Relaxed);
    let changing_told = spent(true).await?;
    let told = console.queues.load(Ordering::Relaxed) - before;
    if told < u64::from(TELLINGS) * QUEUES as u64 {
        return Err(format!("the console has heard of {told} queues only").into());
    }
    let each = |told: Duration, alone: Duration| {
        told.saturating_sub(alone).as_secs_f64() * 1e3 / f64::from(TELLINGS)
    };
    let unchanged = each(idle_told, idle_alone);
    let changed = each(changing_told, changing_alone);
    println!("\n| with {QUEUES} queues, without load | CPU ms |");
    println!("|---|---:|");
    println!("| a telling, nothing has changed | {unchanged:.2} |");
    println!("| a telling, every queue has changed | {changed:.2} |");
    println!("| a scrape of Prometheus | {:.2} |", asked.scrape);
    println!("| all queues asked for by QMF | {:.2} |", asked.query);
    println!("| all queues asked for by HTTP | {:.2} |", asked.list);
    println!("| a scrape of each queue | {:.2} |", asked.detailed);
    let per_cent = |milliseconds: f64, seconds: f64| milliseconds / seconds / 10.0;
    println!("\n| of one CPU, % | |");
    println!("|---|---:|");
    println!(
        "| told each 10 s, a scrape each 10 s | {:.2} |",
        per_cent(changed + asked.scrape, 10.0)
    );
    println!(
        "| told each second, a scrape and a query each 10 s | {:.2} |",
        per_cent(changed, 1.0) + per_cent(asked.scrape + asked.query, 10.0)
    );
    Ok(())
}

/// What it costs to be asked, in milliseconds of CPU.
struct Asked {
    scrape: f64,
    query: f64,
    list: f64,
    detailed: f64,
}

async fn asked(broker: &Broker) -> Result<Asked, Failure> {
    let each = |spent: Duration| spent.as_secs_f64() * 1e3 / f64::from(ASKINGS);
    let mut asking = Asking::open(broker).await?;
    let begun = broker.cpu()?;
    for _ in 0..ASKINGS {
        broker.scrape().await?;
    }
    let scraped = broker.cpu()?;
    for _ in 0..ASKINGS {
        if asking.queues().await? < QUEUES {
            return Err("the broker has fewer queues than it should".into());
        }
    }
    let queried = broker.cpu()?;
    for _ in 0..ASKINGS {
        broker.get("/api/queues").await?;
    }
    let listed = broker.cpu()?;
    for _ in 0..ASKINGS {
        broker.get("/metrics/detailed").await?;
    }
    Ok(Asked {
        scrape: each(scraped - begun),
        query: each(queried - scraped),
        list: each(listed - queried),
        detailed: each(broker.cpu()? - listed),
    })
}
