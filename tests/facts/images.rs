//! The tests.

use ferrymq::broker::plant::{self, Plant as CorePlant};
use ferrymq::cluster::fact_log::Plant;

use super::run::{Run, Tally};
use super::scenes;
use crate::seed::of_this_run;

/// Images that a usual run opens.
const IMAGES: u64 = 500;

/// Where the search for planted faults begins.
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
    let first = of_this_run(3);
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
        in_doubt,
        decided,
    } = all;
    println!(
        "crash images of facts: {opened} opened, {records} records, {compactions} compactions, \
         {pages} pages, {in_doubt} branches in doubt, {decided} decided"
    );
    let counts = [
        compactions,
        pages,
        power_cuts,
        kills,
        failures,
        orderly,
        in_doubt,
        decided,
    ];
    let is_enough = images < IMAGES || counts.iter().all(|count| *count > 0);
    assert!(is_enough, "something never happened: {all:?}");
}

#[test]
fn a_segment_goes_when_what_made_it_needless_is_on_the_disk() {
    scenes::last_of_a_segment(Plant::None).unwrap_or_else(|text| panic!("{text}"));
}

#[test]
fn compaction_of_small_messages_in_many_queues_comes_to_an_end() {
    scenes::small_messages_in_many_queues().unwrap_or_else(|text| panic!("{text}"));
}

#[test]
fn what_has_left_beside_a_backlog_does_not_keep_its_segments() {
    for (first_stays, out_of_order) in [(false, false), (true, false), (false, true), (true, true)]
    {
        let held = scenes::small_messages_beside_a_backlog(first_stays, out_of_order);
        held.unwrap_or_else(|text| {
            panic!("first stays: {first_stays}, out of order: {out_of_order}: {text}")
        });
    }
}

#[test]
fn compaction_of_large_definitions_comes_to_an_end() {
    scenes::large_definitions().unwrap_or_else(|text| panic!("{text}"));
}

#[test]
fn a_message_copied_on_its_way_to_an_alternate_exchange_is_at_home_in_the_copy() {
    scenes::copied_while_leaving().unwrap_or_else(|text| panic!("{text}"));
}

#[test]
fn a_prepared_branch_outlives_the_segments_that_it_was_written_to() {
    scenes::prepared_branch_in_the_way().unwrap_or_else(|text| panic!("{text}"));
}

#[test]
fn departures_from_a_deleted_queue_stay_as_long_as_what_brought_the_messages() {
    let scene = scenes::departures_from_a_deleted_queue(Plant::None);
    scene.unwrap_or_else(|text| panic!("{text}"));
}

#[test]
fn memory_of_which_nothing_can_leave_is_seldom_walked_through() {
    scenes::nothing_left_to_page_out().unwrap_or_else(|text| panic!("{text}"));
}

#[test]
fn what_has_left_in_no_order_is_not_written_again_and_again() {
    scenes::departures_in_no_order().unwrap_or_else(|text| panic!("{text}"));
}

#[test]
fn answers_to_queries_wait_for_what_they_show() {
    scenes::answers_wait().unwrap_or_else(|text| panic!("{text}"));
}

/// Images in which a planted fault must be found: always the same, since a fault that is rarely
/// found would fail now and then.
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
    let found = scenes::departures_from_a_deleted_queue(Plant::DeletedForgotten);
    println!("{}", found.expect_err("it is found"));
}

#[test]
fn planted_definitions_forgotten_by_compaction_are_found() {
    is_found(Plant::DefinitionsForgotten);
}

#[test]
fn planted_removal_before_copies_are_synced_is_found() {
    is_found(Plant::RemovedBeforeSynced);
}

#[test]
fn planted_removal_before_departures_are_synced_is_found() {
    let found = scenes::last_of_a_segment(Plant::DeparturesNotSynced);
    println!("{}", found.expect_err("it is found"));
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

/// The same for a fault of the core.
fn is_found_in_core(fault: CorePlant) {
    plant::plant_here(Some(fault));
    let found = run(Plant::None, SEED, PLANTED_IMAGES);
    plant::plant_here(None);
    match found {
        Ok(tally) => panic!("{fault:?} was not found in {tally:?}"),
        Err(text) => println!("{fault:?}: {text}"),
    }
}

#[test]
fn planted_branch_that_is_prepared_and_not_said_to_be_is_found() {
    is_found_in_core(CorePlant::PreparedNotSaid);
}

#[test]
fn planted_outcome_of_a_branch_that_is_not_said_is_found() {
    is_found_in_core(CorePlant::OutcomeNotSaid);
}

#[test]
fn planted_offer_of_what_a_branch_accepted_is_found() {
    is_found_in_core(CorePlant::AcceptedOfBranchOffered);
}

#[test]
fn planted_half_of_a_commit_is_found() {
    is_found_in_core(CorePlant::HalfCommitted);
}
