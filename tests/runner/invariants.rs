//! What clients are promised holds at random, on one broker and on members in lockstep.

use ferrymq::cluster::lockstep::Settings;
use ferrymq::cluster::lockstep::faults::Faults;

use super::run::{Plan, Report, run};
use super::{cluster, seed};

fn sound(group: impl cluster::Cluster, plan: Plan) -> Report {
    let report = run(group, plan).unwrap_or_else(|failure| panic!("{}", failure.text));
    assert!(
        report.commands > plan.steps / 2,
        "too little was done: {report:?}"
    );
    let few = report.deliveries < plan.steps as usize / 20;
    assert!(!few, "too little came of it: {report:?}");
    let is_long = plan.steps >= 3000;
    assert!(
        !is_long || report.prepared > 0,
        "no branch was prepared: {report:?}"
    );
    assert!(
        !is_long || report.resumed > 0,
        "no session went on: {report:?}"
    );
    report
}

fn in_lockstep(plan: Plan, faults: Faults) -> Report {
    let settings = Settings {
        faults,
        ..Settings::usual(plan.seed)
    };
    sound(cluster::lockstep(settings), plan)
}

#[test]
fn promises_hold_on_one_broker() {
    for seed in seed::seeds(1, 3) {
        sound(cluster::solo(), Plan::usual(seed, 4000));
    }
}

#[test]
fn promises_hold_in_lockstep_with_the_usual_faults() {
    for seed in seed::seeds(2, 2) {
        in_lockstep(Plan::usual(seed, 3000), Faults::USUAL);
    }
}

#[test]
fn promises_hold_where_work_is_too_much_for_one_entry() {
    for seed in seed::seeds(8, 1) {
        let depth = 100;
        let plan = Plan {
            depth,
            ..Plan::usual(seed, 200)
        };
        sound(cluster::solo(), plan);
        let report = in_lockstep(plan, Faults::USUAL);
        assert!(report.continuations > 0, "one entry was enough: {report:?}");
    }
}

#[test]
fn promises_hold_in_lockstep_on_a_bad_network() {
    for seed in seed::seeds(3, 1) {
        let pace = 6;
        let plan = Plan {
            pace,
            ..Plan::usual(seed, 3000)
        };
        in_lockstep(plan, Faults::HEAVY);
    }
}

#[test]
fn a_seed_replays_to_the_same_trace() {
    let seed = seed::of_this_run(4);
    let once = || in_lockstep(Plan::usual(seed, 1000), Faults::USUAL);
    assert_eq!(once().trace, once().trace);
}
