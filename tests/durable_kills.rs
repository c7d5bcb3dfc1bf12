//! A broker that is killed again and again, amid load, keeps what it confirmed.
//!
//! `FERRYMQ_KILLS` says how often (15), `FERRYMQ_SEED` where the random numbers begin, else
//! the commit.

mod durable_load;
mod durable_support;
#[allow(dead_code)]
#[path = "server_resume/relay.rs"]
mod relay;
#[allow(dead_code)]
#[path = "runner/seed.rs"]
mod seed;
mod server_support;
#[path = "durable_kills/witness.rs"]
mod witness;

use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use durable_load::branches;
use durable_load::judge::Judge;
use durable_load::runs::{self, Load};
use durable_support::plants::{self, Row};
use durable_support::{Directory, number, start, stop};
use ferrymq::cluster::lockstep::dice::Dice;
use server_support::Broker;
use witness::Witness;

/// Confirmations that a client has seen before the broker is killed.
const CONFIRMED_MIN: u64 = 2_000;

/// A fault that few kills find.
const fn row(plant: &'static str) -> Row {
    Row {
        plant,
        by: "kills under load",
        arguments: &[],
        environment: &[("FERRYMQ_KILLS", "6")],
        says: JUDGED,
        is_long: false,
    }
}

/// The same of what few kills meet: about every second finds a branch that is prepared and no more.
const fn rare(plant: &'static str) -> Row {
    Row {
        environment: &[("FERRYMQ_KILLS", "40")],
        ..row(plant)
    }
}

/// Whatever the judge complains of, in the words of its sentences: which of the consequences of a fault
/// the load meets first is a matter of when the kills come.
const JUDGED: &[&str] = &[
    " delivers ",
    " has ",
    " does not have ",
    " in doubt",
    "has happened by",
    "is in one of its queues and not in",
    "should be there",
    "is there again",
];

const PLANTS: [Row; 7] = [
    row("accept-not-said"),
    row("completion-before-sync"),
    row("place-left-out"),
    row("flag-lost"),
    row("compaction-drops-dequeues"),
    rare("prepared-not-said"),
    rare("outcome-not-said"),
];

fn main() -> ExitCode {
    if let Some(ended) = runs::client_if_asked() {
        return ended;
    }
    if runs::is_left_out("durable_kills") {
        return ExitCode::SUCCESS;
    }
    let (kills, seed) = (number("FERRYMQ_KILLS", 15), seed::of_this_run(4));
    let started = Instant::now();
    println!("durable_kills: {kills} kills, FERRYMQ_SEED={seed}");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let directory = Directory::new();
    let mut run = Run {
        directory: &directory,
        random: Dice::new(seed),
        judge: Judge::default(),
        early: 0,
        recovered: 0,
        lost: 0,
    };
    let ended = runtime.block_on(run.all(kills));
    let totals = run.judge.totals;
    println!("durable_kills: {totals:?}");
    println!(
        "durable_kills: {} kills more while it started; {} messages recovered; {} sessions lost; {:.0} s",
        run.early,
        run.recovered,
        run.lost,
        started.elapsed().as_secs_f32()
    );
    let ended = ended.and_then(|()| match plants::is_planted() {
        true => Ok(0),
        false => plants::find(&PLANTS),
    });
    match ended {
        Ok(found) => {
            println!(
                "durable_kills: ok: {} confirmed, none lost; {found} planted faults found",
                totals.confirmed
            );
            ExitCode::SUCCESS
        }
        Err(why) => {
            println!("durable_kills: FAILED with FERRYMQ_SEED={seed}\n{why}");
            if !plants::is_planted() {
                println!("durable_kills: see {}", directory.text());
                std::mem::forget(directory);
            }
            ExitCode::FAILURE
        }
    }
}

struct Run<'a> {
    directory: &'a Directory,
    random: Dice,
    judge: Judge,
    /// Kills of brokers that were not yet running.
    early: u64,
    /// Messages that were there when the broker started, all starts together.
    recovered: usize,
    /// Sessions with a timeout that ended with the broker.
    lost: u64,
}

impl Run<'_> {
    async fn all(&mut self, kills: u64) -> Result<(), String> {
        let mut broker = self.start();
        runs::define(broker.address()).await;
        let mut witness = Witness::new(broker.address()).await;
        let mut backlog = 0;
        for life in 1..=kills as u32 {
            witness.begin().await;
            let mut load = self.load(&broker, life, backlog);
            load.wait_for_confirmed(CONFIRMED_MIN)?;
            let delay = Duration::from_micros(self.random.below(300_000));
            tokio::time::sleep(delay).await;
            if !broker.is_running() {
                return Err(format!("it ended by itself: {:#?}", broker.log()));
            }
            stop(&mut broker, "KILL");
            let confirmed = load.finish(&mut self.judge)?;
            if confirmed < CONFIRMED_MIN {
                return Err(format!("only {confirmed} were confirmed in life {life}"));
            }
            if self.random.below(4) == 0 {
                self.kill_early();
            }
            broker = self.start();
            backlog = self.look(&mut broker).await?;
            witness.comes_back(broker.address()).await?;
            self.lost = witness.lost;
            let ledger = runs::ledger_of(self.directory, life);
            std::fs::remove_file(ledger).map_err(|error| error.to_string())?;
            self.recovered += backlog;
        }
        self.end(broker).await
    }

    fn load(&mut self, broker: &Broker, life: u32, backlog: usize) -> Load {
        let seed = self.random.roll();
        Load::start(self.directory, &[broker.address()], life, backlog, seed)
    }

    /// A broker with other options than the last: all of them may change.
    fn start(&mut self) -> Broker {
        let options = self.options();
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        start(self.directory, &options)
    }

    fn options(&mut self) -> Vec<String> {
        let random = &mut self.random;
        let size = random.pick(&["64k", "256k", "1m"]).expect("one of some");
        let memory = random.pick(&["100k", "1m", "1g"]).expect("one of some");
        let mut words = vec!["--journal-file-size", size, "--memory-limit", memory];
        words.extend(["--session-timeout-max", "60"]);
        words.into_iter().map(str::to_owned).collect()
    }

    /// Kills a broker that reads its journal, or is about to.
    fn kill_early(&mut self) {
        let mut process = Command::new(env!("CARGO_BIN_EXE_ferrymq"))
            .args(["serve", "--port", "0", "--data-dir", self.directory.text()])
            .args(self.options())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the broker was built");
        std::thread::sleep(Duration::from_micros(self.random.below(150_000)));
        process.kill().expect("it is a child");
        process.wait().expect("it is a child");
        self.early += 1;
    }

    /// Compares what is there with what must be; gives how many messages there are.
    async fn look(&mut self, broker: &mut Broker) -> Result<usize, String> {
        let in_doubt = branches::in_doubt(broker.address()).await?;
        if !in_doubt.is_empty() && self.random.below(3) == 0 {
            stop(broker, "KILL");
            *broker = self.start();
            let again = branches::in_doubt(broker.address()).await?;
            if again != in_doubt {
                return Err(format!("in doubt were {in_doubt:?}, and are {again:?}"));
            }
        }
        branches::resolve(broker.address(), &mut self.judge).await?;
        let found = runs::look(broker.address()).await?;
        self.judge.check(&found);
        runs::look_at_definitions(broker.address(), &mut self.judge).await;
        self.judge.verdict()?;
        Ok(found.values().map(Vec::len).sum())
    }

    /// Takes everything out; after another start nothing is left.
    async fn end(&mut self, mut broker: Broker) -> Result<(), String> {
        let found = runs::drain(broker.address()).await?;
        self.judge.check(&found);
        self.judge.verdict()?;
        stop(&mut broker, "KILL");
        broker = self.start();
        let left = runs::look(broker.address()).await?;
        match left.values().all(Vec::is_empty) {
            true => Ok(()),
            false => Err(format!("accepted messages are there again: {left:?}")),
        }
    }
}
