//! Faults that tests plant in a broker's process, by the environment. Only a build with debug
//! assertions looks there.

use crate::broker::plant;
use crate::store::Plant;

/// The variable that names a fault.
const VARIABLE: &str = "FERRYMQ_PLANT";

/// Those of the journal; the others have their names in `broker`.
const OF_THE_JOURNAL: [(&str, Plant); 3] = [
    ("watermark-before-sync", Plant::WatermarkBeforeSync),
    ("sync-retried", Plant::SyncRetried),
    ("check-ignored", Plant::CheckIgnored),
];

/// Plants what the environment names; what of it is for the journal is returned.
///
/// # Errors
/// There is no fault of that name.
pub fn from_environment() -> Result<Plant, String> {
    if !cfg!(debug_assertions) {
        return Ok(Plant::None);
    }
    let Ok(name) = std::env::var(VARIABLE) else {
        return Ok(Plant::None);
    };
    let of_the_journal = OF_THE_JOURNAL.iter().find(|(one, _)| *one == name);
    if of_the_journal.is_none() && !plant::plant(&name) {
        return Err(format!("{VARIABLE}={name}: there is no such fault"));
    }
    tracing::warn!(target: "Broker", "A fault is planted on purpose: {name}");
    Ok(of_the_journal.map_or(Plant::None, |(_, plant)| *plant))
}
