//! Members in network namespaces, killed, frozen, cut off, replaced and upgraded again and again amid load,
//! keep what any of them confirmed.
//!
//! `FERRYMQ_CLUSTER_FAULTS` says how often (7), `FERRYMQ_CLUSTER_KINDS` what happens, in turn and with
//! commas between (what three members can have), `FERRYMQ_CLUSTER_MEMBERS` how many members there are
//! (3), `FERRYMQ_CLUSTER_FAULT_MS` how long a fault lasts at most (8000), `FERRYMQ_SEED` where the
//! random numbers begin, else the commit.

#[path = "cluster_kills/faults.rs"]
mod cluster_kills_faults;
#[path = "cluster_kills/members.rs"]
mod cluster_kills_members;
#[path = "cluster_kills/network.rs"]
mod cluster_kills_network;
mod durable_load;
mod durable_support;
#[allow(dead_code)]
#[path = "runner/seed.rs"]
mod seed;
mod server_support;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use cluster_kills_faults::Fault;
use cluster_kills_members::{Member, until_serving};
use cluster_kills_network as network;
use durable_load::branches;
use durable_load::judge::Judge;
use durable_load::runs::{self, Load};
use durable_support::plants::{self, Row};
use durable_support::{Directory, number};
use ferrymq::cluster::lockstep::dice::Dice;

/// Samples from which on a 99th percentile says more than the largest does.
const P99_SAMPLES: usize = 100;

/// Confirmations that clients have seen before something happens to a member.
const CONFIRMED_MIN: u64 = 500;

/// Rounds after which what is there is taken out.
const DRAIN_EVERY: u64 = 10;

/// A fault, and what the judge says of it.
const fn row(plant: &'static str, says: &'static [&'static str]) -> Row {
    Row {
        plant,
        by: "kills of members",
        arguments: &[],
        environment: &[
            ("FERRYMQ_CLUSTER_FAULTS", "2"),
            (cluster_kills_faults::KINDS, "kill"),
            ("FERRYMQ_CLUSTER_MEMBERS", "3"),
        ],
        says,
        is_long: false,
    }
}

const PLANTS: [Row; 2] = [
    // What a member proposes in its second life is taken for what it proposed in the first.
    row("epoch-kept", &["does not serve", "does not have"]),
    row(
        "given-back-unflagged",
        &["without the flag", "redelivered=false"],
    ),
];

fn main() -> ExitCode {
    if let Some(ended) = runs::client_if_asked() {
        return ended;
    }
    if runs::is_left_out("cluster_kills") {
        return ExitCode::SUCCESS;
    }
    if let Some(ended) = network::enter() {
        return ended;
    }
    let faults = number("FERRYMQ_CLUSTER_FAULTS", 7);
    let members = number("FERRYMQ_CLUSTER_MEMBERS", 3) as usize;
    let kinds = match Fault::asked(members) {
        Ok(kinds) => kinds,
        Err(why) => {
            println!("cluster_kills: FAILED: {why}");
            return ExitCode::FAILURE;
        }
    };
    let seed = seed::of_this_run(6);
    println!("cluster_kills: {faults} faults of {members} members, FERRYMQ_SEED={seed}");
    let started = Instant::now();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let directory = Directory::new();
    let mut run = Run::new(&directory, members, seed);
    let ended = runtime.block_on(run.all(faults, &kinds));
    println!("cluster_kills: {:?}", run.judge.totals);
    println!("cluster_kills: {:?}", run.tally);
    run.gaps
        .iter_mut()
        .for_each(|(fault, gaps)| tell_gaps(*fault, gaps));
    let ended = ended.and_then(|()| match plants::is_planted() {
        true => Ok(0),
        false => plants::find(&PLANTS),
    });
    match ended {
        Ok(found) => {
            println!(
                "cluster_kills: ok: {faults} faults, {} confirmed, none lost; {found} planted \
                 faults found; {:.0} s",
                run.judge.totals.confirmed,
                started.elapsed().as_secs_f32()
            );
            ExitCode::SUCCESS
        }
        Err(why) => {
            println!("cluster_kills: FAILED with FERRYMQ_SEED={seed}\n{why}");
            for member in &mut run.members {
                println!("{}", member.tail());
            }
            ExitCode::FAILURE
        }
    }
}

/// How long the others took to serve after a fault of one, in the median and at most: nothing is asked of that here, but
/// that they do.
fn tell_gaps(fault: Fault, gaps: &mut [Duration]) {
    gaps.sort_unstable();
    let at = |part: usize| gaps[(gaps.len() - 1) * part / 100].as_millis();
    let p99 = match gaps.len() >= P99_SAMPLES {
        true => format!(", p99 {} ms", at(99)),
        false => String::new(),
    };
    println!(
        "cluster_kills: the others serve after {fault:?}: {} times, in {} ms{p99}, {} ms at most",
        gaps.len(),
        at(50),
        at(100)
    );
}

struct Run<'a> {
    directory: &'a Directory,
    random: Dice,
    judge: Judge,
    members: Vec<Member>,
    tally: BTreeMap<Fault, u64>,
    /// From a fault of one member until all others have completed a command.
    gaps: BTreeMap<Fault, Vec<Duration>>,
}

impl Run<'_> {
    fn new(directory: &Directory, members: usize, seed: u64) -> Run<'_> {
        let mut random = Dice::new(seed);
        let key = directory.path().join("key");
        let octets: String = (0..4).map(|_| format!("{:016x}", random.roll())).collect();
        std::fs::write(&key, octets).expect("a file");
        let private = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(&key, private).expect("it is ours");
        let key = key.to_str().expect("it is UTF-8");
        let member = |number| Member::new(number, members, key);
        Run {
            members: (1..=members).map(member).collect(),
            directory,
            random,
            judge: Judge::of_group(),
            tally: BTreeMap::new(),
            gaps: BTreeMap::new(),
        }
    }

    async fn all(&mut self, faults: u64, kinds: &[Fault]) -> Result<(), String> {
        network::make(self.members.len())?;
        self.members.iter_mut().for_each(Member::start);
        self.until_whole().await?;
        runs::define(network::address(1)).await;
        let mut backlog = 0;
        for life in 1..=faults {
            let fault = kinds[(life - 1) as usize % kinds.len()];
            *self.tally.entry(fault).or_default() += 1;
            backlog = self
                .life(life as u32, fault, backlog)
                .await
                .map_err(|why| format!("after {fault:?} number {life}: {why}"))?;
            if life % DRAIN_EVERY == 0 {
                self.drain().await?;
                backlog = 0;
            }
        }
        self.drain().await?;
        self.end()
    }

    async fn until_whole(&mut self) -> Result<(), String> {
        for member in &mut self.members {
            until_serving(member).await?;
        }
        Ok(())
    }

    /// Load, a fault amid it, its end, and a look at what is there.
    async fn life(&mut self, life: u32, fault: Fault, backlog: usize) -> Result<usize, String> {
        let numbers = 1..=self.members.len();
        let addresses: Vec<SocketAddr> = numbers.map(network::address).collect();
        let seed = self.random.roll();
        let mut load = Load::start(self.directory, &addresses, life, backlog, seed);
        load.wait_for_confirmed(CONFIRMED_MIN)?;
        tokio::time::sleep(Duration::from_micros(self.random.below(300_000))).await;
        self.fault(fault).await?;
        self.until_whole().await?;
        load.stop();
        load.finish(&mut self.judge)?;
        let backlog = self.look().await?;
        let ledger = runs::ledger_of(self.directory, life);
        std::fs::remove_file(ledger).map_err(|error| error.to_string())?;
        Ok(backlog)
    }

    /// Compares what each member shows with what must be; gives how many messages there are.
    async fn look(&mut self) -> Result<usize, String> {
        branches::resolve(network::address(1), &mut self.judge).await?;
        let mut shown = Vec::new();
        for member in 1..=self.members.len() {
            let found = runs::look(network::address(member)).await?;
            if shown.first().is_some_and(|first| *first != found) {
                return Err(format!("members 1 and {member} show different messages"));
            }
            shown.push(found);
        }
        let found = shown.swap_remove(0);
        self.judge.check(&found);
        runs::look_at_definitions(network::address(2), &mut self.judge).await;
        self.judge.verdict()?;
        Ok(found.values().map(Vec::len).sum())
    }

    /// Takes everything out; nothing is left on any member.
    async fn drain(&mut self) -> Result<(), String> {
        let found = runs::drain(network::address(1)).await?;
        self.judge.check(&found);
        self.judge.verdict()?;
        self.judge.forget_drained();
        for member in 1..=self.members.len() {
            let left = runs::look(network::address(member)).await?;
            if !left.values().all(Vec::is_empty) {
                return Err(format!("member {member} still has {left:?}"));
            }
        }
        Ok(())
    }

    /// Ends all members in order; they have applied the same.
    fn end(&mut self) -> Result<(), String> {
        self.members.iter().for_each(|member| member.signal("TERM"));
        let mut last = Vec::new();
        for member in &mut self.members {
            member.ended(true)?;
            let line = member.line("has digest");
            let line = line.ok_or_else(|| format!("says nothing at its end: {}", member.tail()))?;
            let (_, told) = line
                .split_once("; entry ")
                .ok_or("a line of another form")?;
            println!("cluster_kills: {line}");
            last.push(told.to_owned());
        }
        // Whoever ended last has applied what the others said when they ended.
        last.sort_unstable();
        last.dedup();
        match last.len() < self.members.len() {
            true => Ok(()),
            false => Err(format!("no two members ended alike: {last:?}")),
        }
    }
}
