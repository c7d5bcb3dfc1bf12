//! Faults planted on purpose: each is found.

use std::collections::BTreeMap;

use ferrymq::broker::ids::{GroupTime, MemberId};
use ferrymq::broker::{Batch, Command, Origin, Request};
use ferrymq::cluster::machine::Machine;
use ferrymq::cluster::raft::Plant;
use ferrymq::cluster::raft::seats::{Seat, Setup, seats};

use super::group::{BEGIN, configure};
use super::planted::{Fault, Planted};
use super::simulation::{Failure, Report, simulate, simulate_with};

/// Runs in which a planted fault must be found, and the seed of the first: always the same, since a
/// fault that is rarely found would fail now and then.
const RUNS: u64 = 80;
const SEED: u64 = 0x000F_E441;

/// The fault is found, in words of one of these.
fn is_found(by: &[&str], run: impl Fn(u64) -> Result<Report, Failure>) {
    let mut others = Vec::new();
    for n in 0..RUNS {
        if let Err(failure) = run(SEED + n) {
            let first = failure.text.lines().next().unwrap_or_default().to_owned();
            if by.iter().any(|by| first.contains(by)) {
                println!("run {n}: {first}");
                return;
            }
            others.push(first);
        }
    }
    panic!("not found by {by:?} but by {others:?}");
}

fn plant_is_found(plant: Plant, by: &[&str]) {
    is_found(by, |seed| simulate(seed, plant));
}

const LOST: [&str; 7] = [
    "is lost",
    "waits for",
    "come apart",
    "was settled",
    "another than in the order",
    "both lead",
    "half a transaction",
];

#[test]
fn planted_promise_not_kept_is_found() {
    plant_is_found(Plant::VoteForgotten, &LOST);
}

#[test]
fn planted_acknowledgement_before_the_sync_is_found() {
    plant_is_found(Plant::SentUnsynced, &LOST);
}

#[test]
fn planted_time_of_ones_own_clock_is_found() {
    plant_is_found(Plant::LocalTime, &["come apart"]);
}

#[test]
fn planted_epoch_not_raised_is_found() {
    plant_is_found(
        Plant::EpochKept,
        &[
            "waits for",
            "was never answered",
            "is lost",
            "no session",
            "does not come to rest",
        ],
    );
}

#[test]
fn planted_connections_kept_over_a_state_from_elsewhere_are_found() {
    plant_is_found(
        Plant::ConnectionsKept,
        &[
            "waits for",
            "was never answered",
            "out of order",
            "is lost",
            "held by nobody",
            "does not come to rest",
            "was due",
        ],
    );
}

#[test]
fn planted_down_not_heeded_is_found() {
    plant_is_found(
        Plant::DownUnheeded,
        &[
            "waits for",
            "was never answered",
            "does not come to rest",
            "no session",
        ],
    );
}

#[test]
fn planted_loss_that_is_not_mended_is_found() {
    plant_is_found(
        Plant::NotResent,
        &["does not come to rest", "was never answered", "waits for"],
    );
}

#[test]
fn planted_snapshot_of_two_states_is_found() {
    plant_is_found(
        Plant::SnapshotBehind,
        &["cannot be read", "come apart", "does not start", "snapshot"],
    );
}

fn planted<F: Fault>(setup: Setup) -> Vec<Seat<Planted<F>>> {
    let fresh = || Planted::<F>::machines(1).remove(0);
    seats(setup, fresh, &[configure()], BEGIN).expect("new disks are sound")
}

fn fault_is_found<F: Fault>(by: &[&str])
where
    Planted<F>: Machine,
{
    is_found(by, |seed| simulate_with(seed, Plant::None, planted::<F>));
}

/// What is sent again is taken again: by member and epoch, the last number and how many were taken
/// besides.
#[derive(Default)]
struct TakenAgain(BTreeMap<(MemberId, u64), (u64, u64)>);

impl Fault for TakenAgain {
    fn before(&mut self, batch: &mut Batch, _: GroupTime) {
        if let Origin::Member { id, epoch, seq } = &mut batch.origin {
            let (last, besides) = self.0.entry((*id, *epoch)).or_default();
            match *seq <= *last {
                true => {
                    *besides += 1;
                    *seq = *last + *besides;
                }
                false => {
                    *last = (*last).max(*seq);
                    *seq += *besides;
                }
            }
        }
    }
}

#[test]
fn planted_resending_that_is_taken_again_is_found() {
    fault_is_found::<TakenAgain>(&[
        "twice",
        "is lost",
        "waits for",
        "out of order",
        "come apart",
    ]);
}

/// A field is not in the snapshot.
#[derive(Default)]
struct Forgetful;

impl Fault for Forgetful {
    fn carried(state: &mut Vec<u8>) {
        let counters = state.len() - 16;
        state[counters..].fill(0);
    }
}

#[test]
fn planted_field_left_out_of_the_snapshot_is_found() {
    fault_is_found::<Forgetful>(&["come apart"]);
}

/// Some messages are dropped by all members alike: only clients can tell.
#[derive(Default)]
struct LosesTransfers;

impl Fault for LosesTransfers {
    fn before(&mut self, batch: &mut Batch, _: GroupTime) {
        let is_chosen = batch.index.is_multiple_of(9);
        for command in batch.commands.iter_mut().filter(|_| is_chosen) {
            if let Command::Session { request, .. } = command
                && matches!(request, Request::Transfer { .. })
            {
                *request = Request::Nothing;
            }
        }
    }
}

#[test]
fn planted_loss_by_all_alike_is_found() {
    fault_is_found::<LosesTransfers>(&["is lost", "waits for"]);
}
