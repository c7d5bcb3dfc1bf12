//! Faults planted on purpose, for the tests that must find them: all that keeps what is durable, but
//! for the journal itself, which has its own. A release build has none of them.

use std::sync::atomic::{AtomicU8, Ordering};

/// A fault.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Plant {
    /// What a later batch without facts says is seen before those of the batches before it are.
    LaterBatchOvertakes = 1,
    /// The facts of a batch are written as two records.
    BatchInTwoRecords,
    /// A message that was accepted leaves no fact.
    AcceptNotSaid,
    /// A purge leaves no fact.
    PurgeNotSaid,
    /// A message that is rerouted stays at its old place, too.
    RerouteForgetsPlace,
    /// A binding leaves no fact.
    BindingNotSaid,
    /// Of a message in several queues only the first is said.
    PlaceLeftOut,
    /// Recovered messages are not flagged.
    FlagLost,
    /// Positions of an empty queue begin anew after a start.
    PositionsAnew,
    /// Persistent messages are taken while the disk is full.
    FullIgnored,
    /// A disk is only full when nothing more goes onto it.
    SpareIgnored,
    /// The broker goes on when its journal has failed.
    FailureIgnored,
}

/// All of them, by the names that tests give.
const NAMES: [(&str, Plant); 12] = [
    ("later-batch-overtakes", Plant::LaterBatchOvertakes),
    ("batch-in-two-records", Plant::BatchInTwoRecords),
    ("accept-not-said", Plant::AcceptNotSaid),
    ("purge-not-said", Plant::PurgeNotSaid),
    ("reroute-forgets-place", Plant::RerouteForgetsPlace),
    ("binding-not-said", Plant::BindingNotSaid),
    ("place-left-out", Plant::PlaceLeftOut),
    ("flag-lost", Plant::FlagLost),
    ("positions-anew", Plant::PositionsAnew),
    ("full-ignored", Plant::FullIgnored),
    ("spare-ignored", Plant::SpareIgnored),
    ("failure-ignored", Plant::FailureIgnored),
];

static PLANTED: AtomicU8 = AtomicU8::new(0);

/// Plants the fault of this name in the whole process. False when there is none of that name.
#[doc(hidden)]
pub fn plant(name: &str) -> bool {
    let found = NAMES.iter().find(|(one, _)| *one == name);
    if let Some((_, plant)) = found {
        PLANTED.store(*plant as u8, Ordering::Relaxed);
    }
    found.is_some()
}

/// Whether a fault is planted; never in a release build.
#[doc(hidden)]
#[inline]
pub fn is_planted(plant: Plant) -> bool {
    cfg!(debug_assertions) && PLANTED.load(Ordering::Relaxed) == plant as u8
}
