//! The power cut at any call, and what it leaves.

use ferrymq::store::Plant;

use crate::seed::of_this_run;
use crate::world::World;

/// Crash images of a usual run.
const IMAGES: usize = 500;

pub fn number_from(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// Runs until so many images were opened. What was wrong, and with which seed.
fn run(plant: Plant, first: u64, images: usize) -> Result<usize, String> {
    let mut opened = 0;
    for seed in first.. {
        let mut world = World::new(seed, plant);
        let ran = world.run();
        opened += world.images;
        ran.map_err(|error| format!("FERRYMQ_SEED={seed}: {error}"))?;
        if opened >= images {
            break;
        }
    }
    Ok(opened)
}

#[test]
fn what_was_synced_survives_a_power_cut_at_any_call() {
    let images = number_from("FERRYMQ_CRASH_IMAGES").map_or(IMAGES, |count| count as usize);
    match run(Plant::None, of_this_run(1), images) {
        Ok(opened) => println!("{opened} crash images"),
        Err(error) => panic!("{error}"),
    }
}

/// Where the search for planted faults begins: always the same, since a fault that is rarely found
/// would fail now and then.
const PLANTED_SEED: u64 = 0x000F_E441;

/// How many images may be needed to find a planted fault.
const PLANTED_IMAGES: usize = 20 * IMAGES;

fn is_found(plant: Plant) {
    match run(plant, PLANTED_SEED, PLANTED_IMAGES) {
        Ok(_) => panic!("{plant:?} was not found"),
        Err(error) => println!("{plant:?}: {error}"),
    }
}

#[test]
fn planted_watermark_before_sync_is_found() {
    is_found(Plant::WatermarkBeforeSync);
}

#[test]
fn planted_seal_not_synced_is_found() {
    is_found(Plant::SealNotSynced);
}

#[test]
fn planted_reserve_not_synced_is_found() {
    is_found(Plant::ReserveNotSynced);
}

#[test]
fn planted_directory_not_synced_is_found() {
    is_found(Plant::DirectoryNotSynced);
}

#[test]
fn planted_removal_before_it_is_noted_is_found() {
    is_found(Plant::RemovedBeforeNoted);
}

#[test]
fn planted_sync_retried_is_found() {
    is_found(Plant::SyncRetried);
}

#[test]
fn planted_check_ignored_is_found() {
    is_found(Plant::CheckIgnored);
}

#[test]
fn planted_tail_kept_is_found() {
    is_found(Plant::TailKept);
}

#[test]
fn planted_recovered_not_synced_is_found() {
    is_found(Plant::RecoveredNotSynced);
}
