//! A snapshot at any index and the rest of the log give what the whole log gives.

use std::sync::Mutex;

use ferrymq::broker::ids::{GroupTime, ShardId};
use ferrymq::broker::{Batch, Core, Options, Out};
use ferrymq::cluster::limits::PROPOSAL_BYTES;
use ferrymq::cluster::lockstep::Settings;
use ferrymq::cluster::lockstep::dice::Dice;
use ferrymq::cluster::lockstep::faults::Faults;

use super::cluster::machines;
use super::planted::{Fault, Planted};
use super::run::{Plan, run};
use super::seed;

/// What was applied: machines that are made anew from bytes write into the same log.
static LOG: Mutex<Vec<Batch>> = Mutex::new(Vec::new());

/// Writes down what is applied.
#[derive(Default)]
struct Writes;

impl Fault for Writes {
    fn before(&mut self, batch: &mut Batch, _: GroupTime) {
        LOG.lock().expect("one thread writes").push(batch.clone());
    }
}

/// Applies a part of the log, and gives the digest of the state and a text of all effects.
fn apply(core: &mut Core, log: &[Batch]) -> (u64, String) {
    let mut out = Out::default();
    for batch in log {
        core.apply(&mut batch.clone(), &mut out);
    }
    (core.digest(), format!("{:?}", out.effects))
}

#[test]
fn a_snapshot_and_the_rest_of_the_log_give_what_the_whole_log_gives() {
    let seed = seed::of_this_run(7);
    let settings = Settings {
        seed,
        compare_every: u64::MAX,
        faults: Faults::NONE,
        proposal_bytes: PROPOSAL_BYTES,
    };
    let plan = Plan::usual(seed, 2000);
    let machines = machines(Planted::<Writes>::machines(1), settings);
    run(machines, plan).unwrap_or_else(|failure| panic!("{}", failure.text));
    let log = LOG.lock().expect("one thread writes").clone();
    assert!(log.len() > 300, "the log is short: {}", log.len());

    let mut dice = Dice::new(seed);
    for _ in 0..12 {
        let cut = dice.below(log.len() as u64) as usize;
        let mut whole = Core::new(ShardId::default(), Options::default());
        apply(&mut whole, &log[..cut]);
        let snapshot = whole.freeze().encode();
        let mut restored = snapshot.decode().expect("a snapshot can be read");
        assert_eq!(restored.digest(), whole.digest(), "seed {seed}, cut {cut}");
        assert_eq!(
            restored.freeze().encode(),
            snapshot,
            "seed {seed}, cut {cut}"
        );
        let expected = apply(&mut whole, &log[cut..]);
        let given = apply(&mut restored, &log[cut..]);
        assert_eq!(given.0, expected.0, "state, seed {seed}, cut {cut}");
        assert!(given.1 == expected.1, "effects, seed {seed}, cut {cut}");
    }
}
