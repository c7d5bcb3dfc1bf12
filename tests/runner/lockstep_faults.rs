//! Faults that make members come apart are caught by comparing them, each kind of it; the same
//! workload without fault passes.

use std::collections::HashMap;
use std::time::Instant;

use ferrymq::broker::ids::GroupTime;
use ferrymq::broker::{Batch, Command, Effect, Out, Request};
use ferrymq::cluster::lockstep::Settings;

use super::cluster::machines;
use super::planted::{Fault, Planted, Sound};
use super::run::{Failure, Plan, Report, run};
use super::seed;

/// Exchanges the messages of a batch in the order in which a hash map gives them.
#[derive(Default)]
struct HashOrder;

impl Fault for HashOrder {
    fn before(&mut self, batch: &mut Batch, _: GroupTime) {
        let mut places = HashMap::new();
        for (place, command) in batch.commands.iter().enumerate() {
            if let Command::Session {
                request: Request::Transfer { message, .. },
                ..
            } = command
            {
                places.insert(place, message.clone());
            }
        }
        let mut in_hash_order = places.into_values();
        for command in &mut batch.commands {
            if let Command::Session {
                request: Request::Transfer { message, .. },
                ..
            } = command
            {
                *message = in_hash_order.next().expect("there are as many as before");
            }
        }
    }
}

/// Takes a machine's own clock for the time of the group.
struct OwnClock(Instant);

impl Default for OwnClock {
    fn default() -> Self {
        OwnClock(Instant::now())
    }
}

impl Fault for OwnClock {
    fn before(&mut self, batch: &mut Batch, now: GroupTime) {
        batch.time = now.plus(self.0.elapsed().as_nanos() as u64);
    }
}

/// Leaves an option, how often expired messages are searched for, out of what it carries.
#[derive(Default)]
struct Forgetful;

impl Fault for Forgetful {
    fn carried(state: &mut Vec<u8>) {
        // Behind the mark, the shard, index and time, and another option.
        state[30..38].fill(0);
    }
}

/// Has a state that it neither carries nor shows, and by which it drops messages.
#[derive(Default)]
struct HiddenState(u64);

impl Fault for HiddenState {
    fn before(&mut self, batch: &mut Batch, _: GroupTime) {
        for command in &mut batch.commands {
            if let Command::Session { request, .. } = command
                && matches!(request, Request::Transfer { .. })
            {
                self.0 += 1;
                if self.0.is_multiple_of(40) {
                    *request = Request::Nothing;
                }
            }
        }
    }
}

/// Has a state that it shows and does not carry.
#[derive(Default)]
struct Uncarried(u64);

impl Fault for Uncarried {
    fn before(&mut self, _: &mut Batch, _: GroupTime) {
        self.0 += 1;
    }

    fn digest(&self) -> u64 {
        self.0
    }
}

/// Tells something else on a machine that has been replaced, which is in no state.
#[derive(Default)]
struct OtherEffects(u64);

impl Fault for OtherEffects {
    fn after(&mut self, index: u64, out: &mut Out) {
        self.0 += 1;
        let is_replaced = self.0 != index;
        for (_, effect) in out.effects.iter_mut().filter(|_| is_replaced) {
            if let Effect::Completed { timely_reply, .. } = effect {
                *timely_reply = true;
            }
        }
    }
}

fn with<F: Fault>() -> Result<Report, Failure> {
    let seed = seed::of_this_run(5);
    let settings = Settings::usual(seed);
    let plan = Plan::usual(seed, 1500);
    run(machines(Planted::<F>::machines(3), settings), plan)
}

fn caught<F: Fault>(by: &str) {
    let failure = with::<F>().expect_err("the fault is caught");
    let is_by = failure.text.contains(by) && failure.text.contains("seed=");
    assert!(
        is_by,
        "caught by something else than {by:?}: {}",
        failure.text
    );
}

#[test]
fn the_workload_passes_without_fault() {
    with::<Sound>().unwrap_or_else(|failure| panic!("{}", failure.text));
}

#[test]
fn a_planted_hash_order_bug_is_caught() {
    caught::<HashOrder>("digests of their states");
}

#[test]
fn a_planted_clock_read_is_caught() {
    caught::<OwnClock>("digests of their states");
}

#[test]
fn a_planted_field_left_out_of_the_snapshot_is_caught() {
    caught::<Forgetful>("does not give the state it was made of");
    caught::<Uncarried>("does not give the state it was made of");
}

#[test]
fn a_planted_state_beside_the_core_is_caught() {
    caught::<HiddenState>("digests of their states");
}

#[test]
fn planted_effects_that_only_some_members_ask_for_are_caught() {
    caught::<OtherEffects>("digests of their effects");
}
