//! Branches of distributed transactions, as the load and the judge ask for them.

use std::net::SocketAddr;

use super::judge::Judge;
pub use crate::durable_support::branches::*;
use crate::durable_support::session_at;

/// The name of a transaction's branch.
pub fn name(life: u32, tx: u32) -> String {
    format!("{life}.{tx}")
}

/// The life and the transaction of a name.
pub fn parse(name: &str) -> Option<(u32, u32)> {
    let (life, tx) = name.split_once('.')?;
    Some((life.parse().ok()?, tx.parse().ok()?))
}

/// Decides what becomes of the branches that are in doubt, and gives how many these were. What clients
/// of a group have ended and not prepared is rolled back: it waits for its time to run out.
///
/// # Errors
/// A branch does not do what was decided.
pub async fn resolve(address: SocketAddr, judge: &mut Judge) -> Result<usize, String> {
    let in_doubt = in_doubt(address).await?;
    let session = session_at(address).await;
    for (name, is_commit) in judge.decide(&in_doubt) {
        let decided = match is_commit {
            true => commit(&session, &name, false).await,
            false => roll_back(&session, &name).await,
        };
        decided.map_err(|error| format!("the branch {name} in doubt: {error}"))?;
    }
    for name in judge.left_open() {
        // It is not known if it has ended with its session: that fails, and the session with it.
        let session = session_at(address).await;
        let _ = roll_back(&session, &name).await;
    }
    Ok(in_doubt.len())
}
