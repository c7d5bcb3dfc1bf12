//! What must hold in a run, each in a file of its own. What clients are told is checked by the
//! runner's own ledger, sessions and answers besides.

pub mod agreement;
pub mod exclusivity;
pub mod holders;
pub mod kinds;
pub mod order;
pub mod progress;
