//! Who counts is known again after a restart, whatever else was not yet on the disk.

use std::panic::catch_unwind;

use ferrymq::cluster::raft::Plant;
use ferrymq::cluster::raft::seats::Setup;

use super::group::{Raft, setup};

/// A newcomer has taken the place of a lost disk. As soon as another disk may be lost, it is, and the
/// power of the two others goes: they must find that they are enough.
fn a_second_disk_is_lost_with_the_power(seed: u64, plant: Plant) {
    let mut raft = Raft::new(Setup {
        plant,
        ..setup(seed)
    });
    let first = raft.leader();
    let (newcomer, second) = ((first + 1) % 3, (first + 2) % 3);
    raft.seats[newcomer].wipe(raft.now);
    raft.until("a second disk may be lost", |raft| {
        raft.seats[second].may_lose()
    });
    for place in [first, newcomer] {
        raft.seats[place].crash(raft.now);
    }
    raft.seats[second].wipe(raft.now);
    for place in [first, newcomer] {
        raft.seats[place].start(raft.now, 0);
    }
    raft.until_whole();
}

const SEEDS: std::ops::Range<u64> = 0..20;

#[test]
fn members_that_restart_behind_a_promotion_know_that_the_newcomer_counts() {
    for seed in SEEDS {
        a_second_disk_is_lost_with_the_power(seed, Plant::None);
    }
}

#[test]
fn a_promotion_that_is_not_on_the_disk_at_once_is_found() {
    let is_stuck = |seed| {
        let scene = move || a_second_disk_is_lost_with_the_power(seed, Plant::ChangeNotKept);
        catch_unwind(scene).is_err()
    };
    assert!(SEEDS.into_iter().any(is_stuck));
}
