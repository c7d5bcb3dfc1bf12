//! A run from beginning to end.

use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;

use super::consumer::{be_stuck, consume};
use super::error::Error;
use super::flight::Flight;
use super::interrupt;
use super::limits::{OPEN_TIMEOUT, STALL_TIMEOUT, TICK};
use super::options::{Progress, RunOptions};
use super::outcome::{Outcome, Sample};
use super::plan::Plan;
use super::process;
use super::producer::produce;
use super::shared::{Phase, Shared};
use super::topology;

/// Runs the plan against the broker.
///
/// # Errors
/// The broker cannot be reached, refuses something, stalls, or loses a message.
pub(super) fn measure(options: &RunOptions, plan: Plan) -> Result<Outcome, Error> {
    let runtime = runtime()?;
    runtime.block_on(topology::declare(&plan))?;
    let in_flight = plan.rate.is_none().then_some(plan.in_flight);
    let flight = Flight::new(plan.copies, in_flight, options.messages);
    let shared = Arc::new(Shared::new(plan, flight));
    let workers = spawn_workers(&shared, usize::from(options.workers));
    let mut watch = Watch::new(options, shared.clone());
    let watched = watch.run(options);
    if watched.is_err() {
        shared.flight.finish();
    }
    shared.enter(Phase::Closing);
    for worker in workers {
        if worker.join().is_err() {
            shared.fail(Error::Lane("a worker has come to grief".to_owned()));
        }
    }
    let deleted = runtime.block_on(topology::delete(&shared.plan));
    if let Some(failure) = shared.take_failure() {
        return Err(failure);
    }
    let (before, after) = watched?;
    deleted?;
    let (published, delivered) = (shared.flight.published(), shared.flight.delivered());
    if delivered != published * shared.plan.copies {
        let text = format!("{published} published, {delivered} delivered");
        return Err(Error::Lane(text));
    }
    let resident_bytes = watch.resident_bytes;
    let latencies = shared.plan.rate.map(|_| shared.latencies());
    Ok(Outcome {
        plan: shared.plan.clone(),
        before,
        after,
        resident_bytes,
        latencies,
        floor: None,
    })
}

fn runtime() -> Result<Runtime, Error> {
    Ok(Builder::new_current_thread().enable_all().build()?)
}

/// A lane that is still to be opened.
#[derive(Clone, Copy)]
enum Kind {
    Producer(usize),
    Consumer(usize),
    Stuck(usize),
}

/// Deals the lanes out to threads: producers and consumers apart as far as there are threads, and
/// producers with a rate each to one of their own, since they sleep.
fn spawn_workers(shared: &Arc<Shared>, workers: usize) -> Vec<thread::JoinHandle<()>> {
    let plan = &shared.plan;
    let producers = (0..plan.producers.len()).map(Kind::Producer);
    let consumers = (0..plan.consumers.len()).map(Kind::Consumer);
    let consumers = consumers.chain((0..plan.stuck).map(Kind::Stuck));
    let mut hands: Vec<Vec<Kind>> = Vec::new();
    let mut deal = |lanes: &mut dyn Iterator<Item = Kind>, count: usize| {
        let first = hands.len();
        hands.resize(first + count, Vec::new());
        for (at, lane) in lanes.enumerate() {
            hands[first + at % count].push(lane);
        }
    };
    if plan.rate.is_some() {
        deal(&mut producers.clone(), producers.len());
        deal(&mut consumers.clone(), (workers / 2).max(1));
    } else if workers == 1 {
        deal(&mut producers.clone().chain(consumers.clone()), 1);
    } else {
        deal(&mut producers.clone(), workers / 2);
        deal(&mut consumers.clone(), workers - workers / 2);
    }
    let spawn = |lanes: Vec<Kind>| {
        let shared = shared.clone();
        thread::spawn(move || work(&shared, &lanes))
    };
    hands.into_iter().map(spawn).collect()
}

/// One thread: its lanes as tasks.
fn work(shared: &Arc<Shared>, lanes: &[Kind]) {
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        Err(error) => return shared.fail(error),
    };
    runtime.block_on(async {
        let mut tasks = JoinSet::new();
        for lane in lanes {
            let shared = shared.clone();
            match *lane {
                Kind::Producer(index) => tasks.spawn(produce(shared, index)),
                Kind::Consumer(index) => tasks.spawn(consume(shared, index)),
                Kind::Stuck(index) => tasks.spawn(be_stuck(shared, index)),
            };
        }
        while let Some(ended) = tasks.join_next().await {
            match ended {
                Ok(Ok(())) => {}
                Ok(Err(error)) => shared.fail(error),
                Err(error) => shared.fail(Error::Lane(error.to_string())),
            }
        }
    });
}

/// Looks at the counters from outside, and says when to go on.
struct Watch {
    shared: Arc<Shared>,
    pid: Option<u32>,
    resident_bytes: u64,
    bar: ProgressBar,
    last: (Instant, u64),
}

impl Watch {
    fn new(options: &RunOptions, shared: Arc<Shared>) -> Watch {
        let shown = options.progress == Progress::Auto && io::stderr().is_terminal();
        let target = match shown {
            true => ProgressDrawTarget::stderr(),
            false => ProgressDrawTarget::hidden(),
        };
        let bar = ProgressBar::with_draw_target(Some(1000), target);
        if let Ok(style) = ProgressStyle::with_template("{prefix:>10} [{bar:40}] {msg}") {
            bar.set_style(style.progress_chars("=> "));
        }
        let last = (Instant::now(), 0);
        Watch {
            shared,
            pid: options.pid,
            resident_bytes: 0,
            bar,
            last,
        }
    }

    /// The samples before and after what is measured.
    fn run(&mut self, options: &RunOptions) -> Result<(Sample, Sample), Error> {
        let begin = Instant::now();
        let lanes = self.shared.plan.lanes();
        while self.shared.ready() < lanes {
            if begin.elapsed() > OPEN_TIMEOUT {
                return Err(Error::Stalled(
                    "not all connections open in time".to_owned(),
                ));
            }
            self.tick("connect", self.shared.ready() as f64 / lanes as f64)?;
        }
        let mut before = self.sample()?;
        if options.messages.is_some() {
            self.shared.record();
        }
        self.shared.enter(Phase::Running);
        if options.messages.is_none() {
            self.pass("warm up", options.warm_up)?;
            before = self.sample()?;
            self.shared.record();
        }
        match options.messages {
            Some(messages) => self.deliver(messages)?,
            None => self.pass("measure", options.duration)?,
        }
        let mut after = self.sample()?;
        self.shared.flight.finish();
        self.shared.enter(Phase::Draining);
        self.drain()?;
        if options.messages.is_some() && self.shared.plan.stuck > 0 {
            after = self.sample()?;
        }
        self.bar.finish_and_clear();
        Ok((before, after))
    }

    fn pass(&mut self, what: &'static str, time: Duration) -> Result<(), Error> {
        let begin = Instant::now();
        while let Some(left) = time
            .checked_sub(begin.elapsed())
            .filter(|left| !left.is_zero())
        {
            self.tick_for(
                left.min(TICK),
                what,
                1.0 - left.as_secs_f64() / time.as_secs_f64(),
            )?;
        }
        Ok(())
    }

    /// Until so many messages are published and have arrived.
    fn deliver(&mut self, messages: u64) -> Result<(), Error> {
        let mut progress = Stall::new();
        while !(self.shared.flight.is_complete() && self.shared.flight.is_drained()) {
            let delivered = self.shared.flight.delivered();
            progress.check(delivered, "no message is delivered")?;
            if self.shared.plan.stuck > 0 && self.shared.flight.is_complete() {
                // The rest is with those that never read.
                break;
            }
            let all = (messages * self.shared.plan.copies) as f64;
            self.tick_for(TICK / 10, "measure", delivered as f64 / all)?;
        }
        Ok(())
    }

    fn drain(&mut self) -> Result<(), Error> {
        let mut progress = Stall::new();
        // Producers publish what they were granted; two looks at the same number make it sure
        // that they are done.
        loop {
            let flight = &self.shared.flight;
            let (published, delivered) = (flight.published(), flight.delivered());
            let drained = flight.is_drained();
            let missing = (published * self.shared.plan.copies).saturating_sub(delivered);
            progress.check(
                delivered,
                &format!("{missing} deliveries of {published} messages are missing"),
            )?;
            self.tick("drain", 1.0)?;
            if drained && self.shared.flight.published() == published {
                return Ok(());
            }
        }
    }

    fn tick(&mut self, what: &'static str, part: f64) -> Result<(), Error> {
        self.tick_for(TICK, what, part)
    }

    /// Sleeps, shows where we are, and sees whether something has failed.
    fn tick_for(&mut self, time: Duration, what: &'static str, part: f64) -> Result<(), Error> {
        thread::sleep(time);
        if interrupt::is_told() {
            return Err(Error::Interrupted);
        }
        if let Some(failure) = self.shared.take_failure() {
            return Err(failure);
        }
        let (since, counted) = self.last;
        if since.elapsed() >= TICK * 4 {
            if let Some(pid) = self.pid {
                self.resident_bytes = self.resident_bytes.max(process::usage(pid)?.resident_bytes);
            }
            let delivered = self.shared.flight.delivered();
            let rate = (delivered - counted) as f64 / since.elapsed().as_secs_f64();
            self.bar.set_prefix(what);
            self.bar.set_message(format!("{rate:.0} messages/s"));
            self.bar.set_position((part * 1000.0) as u64);
            self.last = (Instant::now(), delivered);
        }
        Ok(())
    }

    fn sample(&mut self) -> Result<Sample, Error> {
        let broker = self.pid.map(process::usage).transpose()?;
        let tool = process::usage(std::process::id())?;
        if let Some(usage) = broker {
            self.resident_bytes = self.resident_bytes.max(usage.resident_bytes);
        }
        let traffic = &self.shared.traffic;
        Ok(Sample {
            at: Instant::now(),
            published: self.shared.flight.published(),
            delivered: self.shared.flight.delivered(),
            broker_cpu: broker.map(|usage| usage.cpu),
            tool_cpu: tool.cpu,
            bytes_out: traffic.bytes_out.load(Relaxed),
            writes: traffic.writes.load(Relaxed),
            bytes_in: traffic.bytes_in.load(Relaxed),
            reads: traffic.reads.load(Relaxed),
        })
    }
}

/// Notices that a number stays the same for too long.
struct Stall {
    since: Instant,
    seen: u64,
}

impl Stall {
    fn new() -> Stall {
        Stall {
            since: Instant::now(),
            seen: u64::MAX,
        }
    }

    fn check(&mut self, now: u64, what: &str) -> Result<(), Error> {
        if now != self.seen {
            *self = Stall {
                since: Instant::now(),
                seen: now,
            };
        } else if self.since.elapsed() > STALL_TIMEOUT {
            return Err(Error::Stalled(what.to_owned()));
        }
        Ok(())
    }
}
