//! Each promise to clients is broken once, by all members alike, and each time it is noticed: by
//! clients alone, since the members agree.

use ferrymq::broker::ids::GroupTime;
use ferrymq::broker::{Batch, Command, Effect, Out, Request};
use ferrymq::cluster::limits::PROPOSAL_BYTES;
use ferrymq::cluster::lockstep::Settings;
use ferrymq::cluster::lockstep::faults::Faults;

use super::cluster::machines;
use super::planted::{Fault, Planted, Sound};
use super::run::{Failure, Plan, Report, run};

/// Seeds that are always the same: what is tried here is the checks, not the broker.
const SEEDS: [u64; 3] = [1, 2, 3];

fn with<F: Fault>(seed: u64) -> Result<Report, Failure> {
    let settings = Settings {
        seed,
        compare_every: u64::MAX,
        faults: Faults::NONE,
        proposal_bytes: PROPOSAL_BYTES,
    };
    let plan = Plan::usual(seed, 2500);
    run(machines(Planted::<F>::machines(1), settings), plan)
}

/// The promise is seen to be broken, by one of these words.
fn noticed<F: Fault>(by: &[&str]) {
    let mut others = Vec::new();
    for seed in SEEDS {
        if let Err(failure) = with::<F>(seed) {
            let first = failure.text.lines().next().unwrap_or_default().to_owned();
            if by.iter().any(|by| first.contains(by)) {
                return;
            }
            others.push(first);
        }
    }
    panic!("not noticed by {by:?} but by {others:?}");
}

fn requests(batch: &mut Batch) -> impl Iterator<Item = &mut Request> {
    let commands = batch.commands.iter_mut();
    commands.filter_map(|command| match command {
        Command::Session { request, .. } => Some(request),
        _ => None,
    })
}

#[test]
fn the_same_machine_without_fault_keeps_all_promises() {
    for seed in SEEDS {
        with::<Sound>(seed).unwrap_or_else(|failure| panic!("{}", failure.text));
    }
}

#[derive(Default)]
struct Loses;

impl Fault for Loses {
    fn before(&mut self, batch: &mut Batch, _: GroupTime) {
        let is_chosen = batch.index.is_multiple_of(9);
        let mut transfers = requests(batch).filter(|r| matches!(r, Request::Transfer { .. }));
        if let Some(request) = transfers.next().filter(|_| is_chosen) {
            *request = Request::Nothing;
        }
    }
}

#[test]
fn a_lost_message_is_noticed() {
    // One that an accept is awaited of is missed before the end.
    noticed::<Loses>(&["is lost", "waits for"]);
}

#[derive(Default)]
struct Doubles;

impl Fault for Doubles {
    fn before(&mut self, batch: &mut Batch, _: GroupTime) {
        let is_transfer = |command: &&Command| {
            let Command::Session { request, .. } = command else {
                return false;
            };
            matches!(request, Request::Transfer { .. })
        };
        if let Some(again) = batch.commands.iter().find(is_transfer).cloned() {
            let at = batch.commands.iter().position(|c| *c == again);
            batch.commands.insert(at.unwrap_or_default(), again);
        }
    }
}

#[test]
fn a_message_delivered_twice_is_noticed() {
    // Where both come to one subscription the order is what shows it first.
    noticed::<Doubles>(&["out of order", "twice"]);
}

#[derive(Default)]
struct Unflagged;

impl Fault for Unflagged {
    fn after(&mut self, _: u64, out: &mut Out) {
        for (_, effect) in &mut out.effects {
            if let Effect::Deliver(delivery) = effect {
                delivery.redelivered = false;
            }
        }
    }
}

#[test]
fn a_missing_redelivered_flag_is_noticed() {
    noticed::<Unflagged>(&["out of order", "without flag", "without the flag"]);
}

#[derive(Default)]
struct Swaps;

impl Fault for Swaps {
    fn before(&mut self, batch: &mut Batch, _: GroupTime) {
        let mut last = None;
        for request in requests(batch) {
            if let Request::Transfer { message, .. } = request {
                if let Some(last) = last.replace(message.clone()) {
                    *message = last;
                } else {
                    continue;
                }
            }
        }
        // The first one takes what the last one had, so that none is lost.
        let first = requests(batch).find_map(|request| match request {
            Request::Transfer { message, .. } => Some(message),
            _ => None,
        });
        if let (Some(first), Some(last)) = (first, last) {
            *first = last;
        }
    }
}

#[test]
fn messages_out_of_order_are_noticed() {
    noticed::<Swaps>(&[
        "out of order",
        "never sent there",
        "another time to live",
        "was rejected and goes",
    ]);
}

#[derive(Default)]
struct GrantsMore;

impl Fault for GrantsMore {
    fn before(&mut self, batch: &mut Batch, _: GroupTime) {
        for request in requests(batch) {
            if let Request::Flow { value, .. } = request {
                *value = value.saturating_add(3);
            }
        }
    }
}

#[test]
fn more_than_the_credit_is_noticed() {
    noticed::<GrantsMore>(&["has no credit"]);
}

#[derive(Default)]
struct HasMoreHeadroom;

impl Fault for HasMoreHeadroom {
    fn before(&mut self, batch: &mut Batch, _: GroupTime) {
        for command in &mut batch.commands {
            if let Command::ConnectionOpen { record, .. } = command {
                record.headroom_messages *= 2;
                record.headroom_bytes *= 2;
            }
        }
    }
}

#[test]
fn more_than_the_headroom_is_noticed() {
    noticed::<HasMoreHeadroom>(&["no headroom"]);
}

#[derive(Default)]
struct NeverCompletes;

impl Fault for NeverCompletes {
    fn after(&mut self, index: u64, out: &mut Out) {
        if index > 300 {
            let is_kept = |effect: &Effect| !matches!(effect, Effect::Completed { .. });
            out.effects.retain(|(_, effect)| is_kept(effect));
        }
    }
}

#[test]
fn a_command_that_is_never_completed_is_noticed() {
    noticed::<NeverCompletes>(&["waits for"]);
}

#[derive(Default)]
struct TellsOthers;

impl Fault for TellsOthers {
    fn after(&mut self, _: u64, out: &mut Out) {
        for (_, effect) in &mut out.effects {
            if let Effect::Confirmed { channel, .. } = effect {
                *channel += 1;
            }
        }
    }
}

#[test]
fn what_is_told_outside_a_session_is_noticed() {
    noticed::<TellsOthers>(&["no session on channel"]);
}

#[test]
fn a_failing_seed_replays_to_the_same_trace() {
    let once = || with::<Loses>(SEEDS[0]).expect_err("the broken promise is noticed");
    let (first, second) = (once(), once());
    assert_eq!(first.trace, second.trace);
    assert_eq!(first.text, second.text);
}
