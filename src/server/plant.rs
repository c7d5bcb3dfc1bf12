//! Faults that tests plant in a broker's process, by the environment. Only a build with debug
//! assertions looks there.

use crate::broker::plant;
use crate::cluster::{fact_log, raft};
use crate::store;

/// The variable that names a fault.
const VARIABLE: &str = "FERRYMQ_PLANT";

/// Those of the journal.
const OF_THE_JOURNAL: [(&str, store::Plant); 3] = [
    ("watermark-before-sync", store::Plant::WatermarkBeforeSync),
    ("sync-retried", store::Plant::SyncRetried),
    ("check-ignored", store::Plant::CheckIgnored),
];

/// Those of the log of facts; the others have their names in `broker`.
const OF_THE_LOG: [(&str, fact_log::Plant); 6] = [
    ("completion-before-sync", fact_log::Plant::EffectsNotHeld),
    ("delivery-before-sync", fact_log::Plant::RestsNotHeld),
    ("compaction-drops-dequeues", fact_log::Plant::LeftForgotten),
    (
        "compaction-drops-definitions",
        fact_log::Plant::DefinitionsForgotten,
    ),
    (
        "compaction-before-sync",
        fact_log::Plant::RemovedBeforeSynced,
    ),
    ("time-stands-still", fact_log::Plant::DownTimeForgotten),
];

/// Those of a member of a group.
const OF_A_MEMBER: [(&str, raft::Plant); 2] = [
    ("epoch-kept", raft::Plant::EpochKept),
    ("down-unheeded", raft::Plant::DownUnheeded),
];

/// What is planted, by where it is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Planted {
    /// In the journal.
    pub journal: store::Plant,
    /// In the log of facts.
    pub log: fact_log::Plant,
    /// In a member of a group.
    pub member: raft::Plant,
}

/// Plants what the environment names; what is not for the core is returned.
///
/// # Errors
/// There is no fault of that name.
pub fn from_environment() -> Result<Planted, String> {
    let mut planted = Planted::default();
    if !cfg!(debug_assertions) {
        return Ok(planted);
    }
    let Ok(name) = std::env::var(VARIABLE) else {
        return Ok(planted);
    };
    if let Some((_, plant)) = OF_THE_JOURNAL.iter().find(|(one, _)| *one == name) {
        planted.journal = *plant;
    } else if let Some((_, plant)) = OF_THE_LOG.iter().find(|(one, _)| *one == name) {
        planted.log = *plant;
    } else if let Some((_, plant)) = OF_A_MEMBER.iter().find(|(one, _)| *one == name) {
        planted.member = *plant;
    } else if !plant::plant(&name) {
        return Err(format!("{VARIABLE}={name}: there is no such fault"));
    }
    tracing::warn!(target: "Broker", "A fault is planted on purpose: {name}");
    Ok(planted)
}
