//! Where seeds come from: each commit tries others, and each of them can be tried again.

use std::process::Command;

/// The seed of this run: `FERRYMQ_SEED`, else made from the commit, else a fixed one. `salt` tells
/// the tests of one run apart.
pub fn of_this_run(salt: u64) -> u64 {
    if let Some(seed) = std::env::var("FERRYMQ_SEED")
        .ok()
        .and_then(|text| text.parse().ok())
    {
        return seed;
    }
    let commit = Command::new("git")
        .args(["rev-parse", "HEAD"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .ok()
        .and_then(|output| String::from_utf8(output.stdout).ok())
        .and_then(|text| u64::from_str_radix(text.get(..12)?, 16).ok());
    commit.unwrap_or(0x000F_E441).wrapping_add(salt)
}
