//! The tests.

use ferrymq::cluster::fact_log::Plant;

use super::run::{Run, Tally};

/// Images that a usual run opens.
const IMAGES: u64 = 500;

/// The first seed, unless another is given.
const SEED: u64 = 0x000F_E441;

fn number_from(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// Runs until so many images were opened. What was wrong, and with which seed.
fn run(plant: Plant, first: u64, images: u64) -> Result<Tally, String> {
    let mut all = Tally::default();
    for seed in first.. {
        let mut run = Run::new(seed, plant);
        let ran = run.run();
        ran.map_err(|text| format!("FERRYMQ_SEED={seed} FERRYMQ_CRASH_IMAGES=1: {text}; {all:?}"))?;
        all += run.tally;
        if all.opened >= images {
            break;
        }
    }
    Ok(all)
}

#[test]
fn what_clients_saw_holds_after_any_crash() {
    let images = number_from("FERRYMQ_CRASH_IMAGES").unwrap_or(IMAGES);
    let first = number_from("FERRYMQ_SEED").unwrap_or(SEED);
    println!("FERRYMQ_SEED={first}");
    let all = run(Plant::None, first, images).unwrap_or_else(|text| panic!("{text}"));
    let Tally {
        opened,
        records,
        compactions,
        pages,
        power_cuts,
        kills,
        failures,
        orderly,
    } = all;
    println!(
        "crash images of facts: {opened} opened, {records} records, {compactions} compactions, \
         {pages} pages"
    );
    let counts = [compactions, pages, power_cuts, kills, failures, orderly];
    let is_enough = images < IMAGES || counts.iter().all(|count| *count > 0);
    assert!(is_enough, "something never happened: {all:?}");
}

/// Images in which a planted fault must be found: always the same, since a fault that is rarely
/// found would fail now and then. Those that only show when the disk is slow, or a kill comes at the
/// right moment, are found by `durable_faults` and `durable_kills`.
const PLANTED_IMAGES: u64 = 3000;

fn is_found(plant: Plant) {
    match run(plant, SEED, PLANTED_IMAGES) {
        Ok(tally) => panic!("{plant:?} was not found in {tally:?}"),
        Err(text) => println!("{plant:?}: {text}"),
    }
}

#[test]
fn planted_departures_forgotten_by_compaction_are_found() {
    is_found(Plant::LeftForgotten);
}

#[test]
fn planted_departures_from_deleted_queues_forgotten_are_found() {
    is_found(Plant::DeletedForgotten);
}

#[test]
fn planted_definitions_forgotten_by_compaction_are_found() {
    is_found(Plant::DefinitionsForgotten);
}

#[test]
fn planted_copy_that_comes_late_is_found() {
    is_found(Plant::CopiedLate);
}

#[test]
fn planted_homes_not_moved_by_compaction_are_found() {
    is_found(Plant::HomesKept);
}

#[test]
fn planted_effects_not_held_are_found() {
    is_found(Plant::EffectsNotHeld);
}

#[test]
fn planted_body_read_from_elsewhere_is_found() {
    is_found(Plant::BodyElsewhere);
}

#[test]
fn planted_old_place_of_a_rerouted_message_is_found() {
    is_found(Plant::OldPlaceKept);
}

#[test]
fn planted_time_that_was_down_forgotten_is_found() {
    is_found(Plant::DownTimeForgotten);
}

#[test]
fn planted_live_octets_not_counted_are_found() {
    is_found(Plant::LiveNotCounted);
}
