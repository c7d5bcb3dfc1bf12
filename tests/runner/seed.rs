//! Where seeds come from: each commit tries others, and each of them can be tried again.
//! `FERRYMQ_SEED` tries one; `FERRYMQ_SEEDS` tries that many times as many.

use std::process::Command;

/// `count` seeds of this run, or more when more are asked for. `salt` as below.
pub fn seeds(salt: u64, count: u64) -> Vec<u64> {
    if std::env::var_os("FERRYMQ_SEED").is_some() {
        return vec![of_this_run(salt)];
    }
    let more = std::env::var("FERRYMQ_SEEDS").ok();
    let more = more.and_then(|text| text.parse::<u64>().ok()).unwrap_or(1);
    let first = of_this_run(salt);
    let seed = |n| first.wrapping_add(100 * n);
    (0..count * more).map(seed).collect()
}

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
