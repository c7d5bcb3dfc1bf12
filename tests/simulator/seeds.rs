//! Seeds without a planted fault.

use std::collections::BTreeMap;

use ferrymq::cluster::raft::Plant;

use super::seed::seeds;
use super::simulation::{Report, simulate};

/// Seeds of one run of the tests.
const SEEDS: u64 = 100;

fn count() -> u64 {
    let count = std::env::var("FERRYMQ_SIM_SEEDS").ok();
    count.and_then(|text| text.parse().ok()).unwrap_or(SEEDS)
}

/// What all runs came to.
#[derive(Debug, Default)]
struct Total {
    commands: u64,
    deliveries: usize,
    entries: usize,
    /// Entries that a second member applied too, found equal; and states.
    compared: u64,
    states: u64,
    terms: usize,
    simulated_ms: u64,
    faults: BTreeMap<&'static str, u64>,
}

impl Total {
    fn add(&mut self, report: &Report) {
        self.commands += report.commands;
        self.deliveries += report.deliveries;
        self.entries += report.entries;
        self.compared += report.compared;
        self.states += report.states;
        self.terms += report.terms;
        self.simulated_ms += report.simulated_ms;
        let tally = &report.tally;
        for (kind, count) in [
            ("messages lost", tally.drops),
            ("messages cut off", tally.cut_off),
            ("messages doubled", tally.doublings),
            ("messages delayed", tally.delays),
            ("slow syncs", tally.slow_syncs),
            ("cuts", tally.cuts),
            ("crashes", tally.crashes),
            ("pauses", tally.pauses),
            ("disks that refused", tally.failures),
            ("disks lost", tally.losses),
            ("changes of members", tally.changes),
        ] {
            *self.faults.entry(kind).or_default() += count;
        }
    }
}

#[test]
fn a_group_keeps_its_promises_whatever_happens() {
    let mut total = Total::default();
    let seeds = seeds(0, count());
    for seed in &seeds {
        match simulate(*seed, Plant::None) {
            Ok(report) => total.add(&report),
            Err(failure) => panic!("{}", failure.text),
        }
    }
    println!("{} seeds: {total:?}", seeds.len());
    let is_enough = total.faults.values().all(|count| *count > 0) && total.states > 0;
    assert!(
        seeds.len() < 20 || is_enough,
        "something never happened: {total:?}"
    );
}

#[test]
fn a_seed_replays_to_the_same_trace() {
    for seed in seeds(50, 2) {
        let run = || match simulate(seed, Plant::None) {
            Ok(report) => report.trace,
            Err(failure) => failure.trace,
        };
        assert_eq!(run(), run(), "seed {seed}");
    }
}
