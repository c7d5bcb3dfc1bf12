//! The same load on a FerryMQ cluster and on RabbitMQ's quorum queues: publishers that wait for
//! confirmations, and consumers that accept each message.
//!
//! ```text
//! quorum-load ferrymq|rabbitmq QUEUES SECONDS RATE HOST:PORT...
//! ```
//!
//! Each queue has a publisher and a consumer with a connection each; clients are spread over the addresses
//! in turn. `RATE` is messages a second of all publishers together; 0 is as many as go. Prints one object of
//! JSON: confirmed messages a second, and percentiles in microseconds of the time from when a message was
//! due until it was confirmed, and until its consumer had it.

mod ferry;
mod rabbit;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use serde_json::json;

/// Octets of a body, which begins with the time when the message was due.
pub const BODY_BYTES: usize = 1024;

/// Messages that a publisher has not had confirmed, at most.
pub const WINDOW: usize = 500;

/// Messages that a consumer is given before it accepts.
pub const PREFETCH: u16 = 500;

/// A consumer accepts so many at once.
pub const ACCEPTED_EACH: u64 = 50;

/// Load before anything is counted.
const WARM_UP: Duration = Duration::from_secs(5);

/// Microseconds that are told apart, at most.
const LATENCY_MAX: u64 = 60_000_000;

pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// What all publishers and consumers count together.
pub struct Counts {
    began: Instant,
    is_counting: AtomicBool,
    confirmed: AtomicU64,
    to_confirmed: Mutex<Histogram<u64>>,
    to_delivered: Mutex<Histogram<u64>>,
}

impl Counts {
    fn new() -> Result<Counts, Failure> {
        let histogram = || Histogram::new_with_bounds(1, LATENCY_MAX, 3).map(Mutex::new);
        Ok(Counts {
            began: Instant::now(),
            is_counting: AtomicBool::new(false),
            confirmed: AtomicU64::new(0),
            to_confirmed: histogram()?,
            to_delivered: histogram()?,
        })
    }

    fn note(&self, due: Instant, into: &Mutex<Histogram<u64>>) {
        let micros = u64::try_from(due.elapsed().as_micros()).unwrap_or(LATENCY_MAX);
        if let Ok(mut histogram) = into.lock() {
            histogram.saturating_record(micros.max(1));
        }
    }

    /// A message that was due then is confirmed.
    pub fn confirmed(&self, due: Instant) {
        if self.is_counting.load(Ordering::Relaxed) {
            self.confirmed.fetch_add(1, Ordering::Relaxed);
            self.note(due, &self.to_confirmed);
        }
    }

    /// A message with this body has come to its consumer.
    pub fn delivered(&self, body: &[u8]) {
        let due = body.first_chunk().map(|octets| u64::from_be_bytes(*octets));
        if let Some(due) = due.filter(|_| self.is_counting.load(Ordering::Relaxed)) {
            self.note(self.began + Duration::from_nanos(due), &self.to_delivered);
        }
    }

    /// The body of a message that is due then.
    pub fn body(&self, due: Instant) -> Vec<u8> {
        let mut body = vec![0x5a; BODY_BYTES];
        let nanoseconds = due.duration_since(self.began).as_nanos() as u64;
        body[..8].copy_from_slice(&nanoseconds.to_be_bytes());
        body
    }
}

/// When the messages of one publisher are due.
pub struct Schedule {
    each: Option<Duration>,
    next: Instant,
}

impl Schedule {
    /// Waits until the next is due. Who is late makes up for it, and the wait counts.
    pub async fn due(&mut self) -> Instant {
        let Some(each) = self.each else {
            return Instant::now();
        };
        let due = self.next;
        if due > Instant::now() {
            tokio::time::sleep_until(due.into()).await;
        }
        // Not before it has waited: the wait may be given up.
        self.next += each;
        due
    }
}

/// What a publisher waits for, in order.
pub struct Waiting<F>(VecDeque<(Instant, F)>);

impl<F> Default for Waiting<F> {
    fn default() -> Waiting<F> {
        Waiting(VecDeque::with_capacity(WINDOW))
    }
}

impl<F: Future<Output = Result<(), Failure>> + Unpin> Waiting<F> {
    /// Adds one; when there are too many, waits for the first of them.
    pub async fn add(&mut self, due: Instant, one: F, counts: &Counts) -> Result<(), Failure> {
        self.0.push_back((due, one));
        while self.0.len() >= WINDOW {
            self.first(counts).await?;
        }
        Ok(())
    }

    /// When the next message is due, which is waited for; what is confirmed meanwhile is counted.
    pub async fn due(
        &mut self,
        schedule: &mut Schedule,
        counts: &Counts,
    ) -> Result<Instant, Failure> {
        loop {
            tokio::select! {
                biased;
                due = schedule.due() => return Ok(due),
                done = self.first(counts) => done?,
            }
        }
    }

    /// Waits for the first of them; for ever when there is none.
    pub async fn first(&mut self, counts: &Counts) -> Result<(), Failure> {
        match self.0.front_mut() {
            None => std::future::pending().await,
            Some((due, one)) => {
                one.await?;
                counts.confirmed(*due);
                self.0.pop_front();
                Ok(())
            }
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let mut words = std::env::args().skip(1);
    let mut word = || {
        words
            .next()
            .ok_or("quorum-load BROKER QUEUES SECONDS RATE HOST:PORT...")
    };
    let broker = word()?;
    let queues: usize = word()?.parse()?;
    let seconds = Duration::from_secs(word()?.parse()?);
    let rate: u32 = word()?.parse()?;
    let addresses: Vec<String> = words.collect();
    if queues == 0 || addresses.is_empty() {
        return Err("there is nothing to do".into());
    }
    let counts = Arc::new(Counts::new()?);
    let each = (rate > 0).then(|| Duration::from_secs(1) * queues as u32 / rate);
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..queues {
        let name = format!("quorum-{number}");
        let at = |place: usize| addresses[place % addresses.len()].clone();
        let ends = [at(number), at(number + 1)];
        let schedule = Schedule {
            each,
            next: Instant::now() + Duration::from_secs(1),
        };
        match broker.as_str() {
            "ferrymq" => ferry::start(&mut tasks, name, ends, schedule, counts.clone()).await?,
            "rabbitmq" => rabbit::start(&mut tasks, name, ends, schedule, counts.clone()).await?,
            other => return Err(format!("{other}: neither ferrymq nor rabbitmq").into()),
        }
    }
    let look = async {
        tokio::time::sleep(WARM_UP).await;
        counts.is_counting.store(true, Ordering::Relaxed);
        let began = Instant::now();
        tokio::time::sleep(seconds).await;
        counts.is_counting.store(false, Ordering::Relaxed);
        began.elapsed()
    };
    let took = tokio::select! {
        took = look => took,
        // No client ends of itself.
        ended = tasks.join_next() => return match ended {
            Some(Ok(Err(why))) => Err(why),
            other => Err(format!("a client has ended: {other:?}").into()),
        },
    };
    let confirmed = counts.confirmed.load(Ordering::Relaxed);
    let shown = |histogram: &Mutex<Histogram<u64>>| {
        let histogram = histogram.lock().map_err(|_| "a client panicked")?;
        let at = |quantile| histogram.value_at_quantile(quantile);
        Ok::<_, Failure>(json!({"p50": at(0.5), "p99": at(0.99), "count": histogram.len()}))
    };
    println!(
        "{}",
        json!({
            "confirmed": confirmed as f64 / took.as_secs_f64(),
            "to_confirmed": shown(&counts.to_confirmed)?,
            "to_delivered": shown(&counts.to_delivered)?,
        })
    );
    Ok(())
}
