//! What clients are promised holds at random, on one broker and on members in lockstep.

mod runner;

use ferrymq::cluster::lockstep::Settings;
use ferrymq::cluster::lockstep::faults::Faults;
use runner::{cluster, run, seed};

fn settings(seed: u64, faults: Faults) -> Settings {
    Settings {
        seed,
        compare_every: 50,
        faults,
    }
}

#[test]
fn promises_hold_on_one_broker() {
    for salt in 0..4 {
        let seed = seed::of_this_run(salt);
        let report = run(cluster::solo(), seed, 4000).unwrap_or_else(|f| panic!("{}", f.text));
        assert!(report.commands > 4000, "too little was done: {report:?}");
        assert!(report.deliveries > 500, "too little came of it: {report:?}");
    }
}

#[test]
fn promises_hold_in_lockstep_with_faults() {
    for (salt, faults) in [
        (10, Faults::USUAL),
        (11, Faults::HEAVY),
        (12, Faults::USUAL),
    ] {
        let seed = seed::of_this_run(salt);
        let group = cluster::lockstep(settings(seed, faults));
        let report = run(group, seed, 3000).unwrap_or_else(|f| panic!("{}", f.text));
        assert!(report.commands > 3000, "too little was done: {report:?}");
        assert!(report.deliveries > 300, "too little came of it: {report:?}");
    }
}

#[test]
fn a_seed_replays_to_the_same_trace() {
    let seed = seed::of_this_run(20);
    let once = || {
        let group = cluster::lockstep(settings(seed, Faults::USUAL));
        run(group, seed, 800).unwrap_or_else(|f| panic!("{}", f.text))
    };
    assert_eq!(once().trace, once().trace);
}
