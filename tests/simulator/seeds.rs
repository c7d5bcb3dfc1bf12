//! Seeds without a planted fault.
//!
//! `FERRYMQ_SIM_SEEDS=n` tries so many seeds of a simulated minute each; without it a few short ones
//! are tried. `FERRYMQ_SEED=n FERRYMQ_SIM_SEEDS=1` tries a failing one again.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use parking_lot::Mutex;

use super::checks::progress::CONFIRMED_MS;
use super::schedule::Event;
use super::seed::seeds;
use super::shrink::{self, EVENTS_MAX};
use super::simulation::{Failure, LONG_MS, Plan, Report, simulate};

/// Seeds of an ordinary run of the tests, and how long each is, in simulated milliseconds.
const SEEDS: u64 = 12;
const SHORT_MS: u64 = 15_000;

/// One seed in so many runs twice, and must do the same.
const REPLAYED: usize = 20;

/// Seeds from which on averages count, and every kind of fault must have happened so often.
const SEEDS_COUNTED: usize = 1000;
const FAULTS_MIN: u64 = 100;

/// What a run must have in a simulated second on average, not to be idle: commands, and faults other
/// than those of single messages and syncs.
const COMMANDS_PER_SECOND: u64 = 20;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// What all runs came to.
#[derive(Debug, Default)]
struct Total {
    seeds: u64,
    commands: u64,
    deliveries: u64,
    entries: u64,
    /// By members of a group: entries that one member applied, and groups.
    by_members: BTreeMap<usize, (u64, u64)>,
    /// Entries that a second member applied too, found equal; and states.
    compared: u64,
    states: u64,
    terms: u64,
    /// Messages found in their order, and deliveries that nobody else had.
    ordered: u64,
    exclusive: u64,
    /// Groups that had a queue of each of the other kinds, and what was looked at in those.
    kinds: BTreeMap<&'static str, u64>,
    values: u64,
    levels: u64,
    grouped: u64,
    simulated_ms: u64,
    longest_heal_ms: u64,
    skipped: u64,
    prepared: u64,
    in_doubt: u64,
    resumed: u64,
    lost: u64,
    run_out: u64,
    commands_again: u64,
    deliveries_again: u64,
    replayed: u64,
    faults: BTreeMap<&'static str, u64>,
}

/// What follows of something else that is counted: no faults of their own.
const CONSEQUENCES: [&str; 5] = [
    "ways cut",
    "journals found damaged",
    "members replaced",
    "members joined",
    "changes of members",
];

/// Kinds of which every message or sync can have one.
const SMALL: [&str; 8] = [
    "messages lost",
    "messages cut off",
    "messages doubled",
    "refusals doubled",
    "messages delayed",
    "messages overtaken",
    "slow syncs",
    "pieces torn",
];

impl Total {
    fn add(&mut self, report: &Report) {
        self.seeds += 1;
        self.commands += report.commands;
        self.deliveries += report.deliveries as u64;
        self.entries += report.entries as u64;
        let (entries, groups) = self.by_members.entry(report.members).or_default();
        *entries += report.applied / report.members as u64;
        *groups += 1;
        self.compared += report.compared;
        self.states += report.states;
        self.terms += report.terms as u64;
        self.ordered += report.ordered;
        self.exclusive += report.exclusive;
        for queue in &report.kinds {
            *self.kinds.entry(queue).or_default() += 1;
        }
        self.values += report.values;
        self.levels += report.levels;
        self.grouped += report.grouped;
        self.simulated_ms += report.simulated_ms;
        self.longest_heal_ms = self.longest_heal_ms.max(report.longest_heal_ms);
        self.skipped += report.skipped;
        self.prepared += report.prepared;
        self.in_doubt += report.in_doubt;
        self.resumed += report.resumed;
        self.lost += report.lost;
        self.run_out += report.run_out;
        self.commands_again += report.commands_again;
        self.deliveries_again += report.deliveries_again;
        let (tally, done) = (&report.tally, &report.done);
        for (kind, count) in [
            ("messages lost", tally.drops),
            ("messages cut off", tally.cut_off),
            ("messages doubled", tally.doublings),
            ("refusals doubled", tally.doubled_rejects),
            ("messages delayed", tally.delays),
            ("messages overtaken", tally.overtakes),
            ("slow syncs", tally.slow_syncs),
            ("groups cut in halves", done.halves),
            ("members cut off", done.alone),
            ("ways cut in one direction alone", done.one_ways),
            ("ways cut", tally.cuts),
            ("crashes", tally.crashes),
            ("pieces torn", tally.torn),
            ("pieces unsynced", tally.unsynced),
            ("pauses", tally.pauses),
            ("members ended by their disk", tally.failures),
            ("disks full", tally.full),
            ("writes lost", tally.lost_writes),
            ("writes misdirected", tally.misdirected_writes),
            ("bits flipped", tally.flips),
            ("read errors at a start", tally.unreadable),
            ("journals found damaged", tally.damaged),
            ("wall clocks set", tally.wall_steps),
            ("clocks that drift", tally.drifts),
            ("disks lost", done.disks_lost),
            ("members replaced", tally.losses),
            ("members left", tally.leaves),
            ("members joined", tally.joins),
            ("changes of members", tally.changes),
            ("members upgraded", tally.upgrades),
            ("members that went back", tally.downgrades),
            ("levels raised", report.raised),
        ] {
            *self.faults.entry(kind).or_default() += count;
        }
    }

    fn seconds(&self) -> u64 {
        (self.simulated_ms / 1000).max(1)
    }

    /// Faults that are not those of one message or sync.
    fn large_faults(&self) -> u64 {
        let is_large = |kind: &str| !SMALL.contains(&kind) && !CONSEQUENCES.contains(&kind);
        let large = self.faults.iter().filter(|(kind, _)| is_large(kind));
        large.map(|(_, count)| count).sum()
    }

    fn print(&self, wall_seconds: f64) {
        let seconds = self.seconds();
        let all = self.faults.iter();
        let all = all.filter(|(kind, _)| !CONSEQUENCES.contains(kind));
        let faults = all.map(|(_, count)| count).sum::<u64>();
        println!(
            "simulator: {} seeds, {seconds} simulated seconds in {wall_seconds:.1} s ({:.0} times as \
             fast); {} commands ({:.1} a second), {} deliveries, {} entries in {} terms",
            self.seeds,
            seconds as f64 / wall_seconds.max(0.001),
            self.commands,
            self.commands as f64 / seconds as f64,
            self.deliveries,
            self.entries,
            self.terms,
        );
        for (members, (entries, groups)) in &self.by_members {
            let each = entries / (*groups).max(1);
            println!("simulator: {groups} groups of {members}: {each} entries a member");
        }
        println!(
            "simulator: {} entries and {} states compared, {} messages in order, {} deliveries \
             exclusive; healed in {} ms at most, confirmed within {CONFIRMED_MS} ms; {} seeds \
             replayed to the same trace; {} branches prepared, {} in doubt at the end",
            self.compared,
            self.states,
            self.ordered,
            self.exclusive,
            self.longest_heal_ms,
            self.replayed,
            self.prepared,
            self.in_doubt,
        );
        println!(
            "simulator: {} sessions went on, {} commands and {} deliveries sent again; {} sessions ran \
             out, {} were found ended",
            self.resumed, self.commands_again, self.deliveries_again, self.run_out, self.lost,
        );
        println!(
            "simulator: groups with queues of other kinds: {:?}; {} last values changed, {} levels \
             compared, {} deliveries of groups",
            self.kinds, self.values, self.levels, self.grouped,
        );
        println!(
            "simulator: {faults} faults, {} of them not of a single message or sync ({:.2} a \
             second); {} came at a wrong time: {:?}",
            self.large_faults(),
            self.large_faults() as f64 / seconds as f64,
            self.skipped,
            self.faults
        );
    }

    /// Whether enough has happened. A few seeds are too few for an average, and for what is rare: of
    /// them each common thing must have happened at all.
    fn is_enough(&self) -> Result<(), String> {
        let common = [
            self.commands,
            self.large_faults(),
            self.states,
            self.ordered,
            self.exclusive,
            self.resumed,
            self.run_out,
            self.commands_again,
            self.values,
            self.levels,
            self.grouped,
        ];
        if common.contains(&0) {
            return Err(format!("something common has not happened: {common:?}"));
        }
        if (self.seeds as usize) < SEEDS_COUNTED {
            return Ok(());
        }
        let seconds = self.seconds();
        if self.commands < COMMANDS_PER_SECOND * seconds {
            return Err(format!("{} commands in {seconds} s", self.commands));
        }
        if self.large_faults() < seconds {
            let faults = self.large_faults();
            return Err(format!("{faults} faults in {seconds} s"));
        }
        if self.in_doubt == 0 || self.deliveries_again == 0 {
            return Err("no branch was in doubt, or no delivery was sent again".to_owned());
        }
        match self.faults.iter().find(|(_, count)| **count < FAULTS_MIN) {
            Some((kind, count)) => Err(format!("{kind}: only {count} in {} seeds", self.seeds)),
            None => Ok(()),
        }
    }
}

/// Runs a seed, and some twice.
fn once(seed: u64, milliseconds: u64, is_replayed: bool) -> Result<Report, Box<Failure>> {
    let plan = Plan::of(seed, milliseconds);
    let report = simulate(&plan)?;
    if is_replayed {
        let again = simulate(&plan)?;
        if again.trace != report.trace {
            return Err(Box::new(Failure {
                text: "the same seed gave another trace".to_owned(),
                trace: again.trace,
                schedule: Vec::new(),
                at: 0,
            }));
        }
    }
    Ok(report)
}

/// Cuts a failing run, and says how it is tried again.
fn explain(seed: u64, milliseconds: u64, failure: &Failure) -> String {
    let first = failure.text.lines().next().unwrap_or_default();
    println!("seed {seed} fails and is cut, which takes a while: {first}");
    let of = |schedule: &[Event]| {
        let mut plan = Plan::of(seed, milliseconds);
        plan.schedule = Some(schedule.to_vec());
        simulate(&plan)
    };
    let kept = shrink::cut(&failure.schedule, |events| of(events).is_err());
    let cut = match of(&kept) {
        Err(failure) if kept.len() <= EVENTS_MAX => {
            format!("with these alone: {}", failure.text)
        }
        _ => format!("it could not be cut to {EVENTS_MAX} events that still fail"),
    };
    format!(
        "seed {seed}, after {} ms, trace {:016x}: {}\n\n{} of {} events are enough: {kept:#?}\n{cut}\n\n\
         FERRYMQ_SEED={seed} FERRYMQ_SIM_SEEDS=1 FERRYMQ_SIM_MS={milliseconds} cargo test --profile \
         simulation --locked --test simulator a_group_keeps -- --nocapture",
        failure.at,
        failure.trace,
        failure.text,
        kept.len(),
        failure.schedule.len(),
    )
}

/// Runs seeds on all cores, each on one thread of its own, up to the first that fails.
fn run_all(seeds: &[u64], milliseconds: u64) -> Result<Total, (u64, Box<Failure>)> {
    let total = Mutex::new(Total::default());
    let failed = Mutex::new(None);
    let next = AtomicUsize::new(0);
    let work = || {
        while failed.lock().is_none() {
            let n = next.fetch_add(1, Ordering::Relaxed);
            let Some(seed) = seeds.get(n) else { return };
            let is_replayed = n.is_multiple_of(REPLAYED);
            match once(*seed, milliseconds, is_replayed) {
                Ok(report) => {
                    let mut total = total.lock();
                    total.add(&report);
                    total.replayed += u64::from(is_replayed);
                }
                Err(failure) => drop(failed.lock().get_or_insert((*seed, failure))),
            }
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    match failed.into_inner() {
        Some(failed) => Err(failed),
        None => Ok(total.into_inner()),
    }
}

#[test]
fn a_group_keeps_its_promises_whatever_happens() {
    let asked = number("FERRYMQ_SIM_SEEDS");
    let usual_ms = if asked.is_some() { LONG_MS } else { SHORT_MS };
    let milliseconds = number("FERRYMQ_SIM_MS").unwrap_or(usual_ms);
    let seeds = seeds(0, asked.unwrap_or(SEEDS));
    let began = Instant::now();
    match run_all(&seeds, milliseconds) {
        Ok(total) => {
            total.print(began.elapsed().as_secs_f64());
            if seeds.len() > 1 {
                total.is_enough().unwrap_or_else(|why| panic!("{why}"));
            }
        }
        Err((seed, failure)) => panic!("{}", explain(seed, milliseconds, &failure)),
    }
}
