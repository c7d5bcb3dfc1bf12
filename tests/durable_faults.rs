//! A disk that fails: nothing is completed after it has, the broker ends, and what was completed is
//! there when it starts again. A disk that is slow: nothing is seen before it is safe.
//!
//! System calls are made to fail by `strace`, at the `N`-th call of the thread that makes them.
//! `FERRYMQ_FAULTS=50` tries every N up to 50, instead of a few. `FERRYMQ_ONLY` names one part.

mod durable_load;
mod durable_support;
mod server_support;

#[path = "durable_faults/failing.rs"]
mod failing;
#[path = "durable_faults/slow.rs"]
mod slow;
#[path = "durable_faults/tracer.rs"]
mod tracer;

use std::process::ExitCode;
use std::time::Instant;

use durable_load::runs;
use durable_support::plants::{self, Row};

/// A fault, and the part that finds it.
const fn row(
    plant: &'static str,
    by: &'static str,
    environment: &'static [(&'static str, &'static str)],
    says: &'static [&'static str],
) -> Row {
    Row {
        plant,
        by,
        arguments: &[],
        environment,
        says,
        is_long: false,
    }
}

// A completion may not be out when the broker ends: some calls are tried.
const PLANTS: [Row; 8] = [
    row(
        "completion-before-sync",
        "a sync that fails",
        &[("FERRYMQ_ONLY", "fdatasync"), ("FERRYMQ_FAULTS", "8")],
        &["completions came of"],
    ),
    row(
        "watermark-before-sync",
        "a sync that fails",
        &[("FERRYMQ_ONLY", "fdatasync"), ("FERRYMQ_FAULTS", "8")],
        &["completions came of"],
    ),
    Row {
        is_long: true,
        ..row(
            "sync-retried",
            "a sync that fails",
            &[("FERRYMQ_ONLY", "fdatasync"), ("FERRYMQ_FAULTS", "1")],
            &["the broker does not end"],
        )
    },
    Row {
        is_long: true,
        ..row(
            "failure-ignored",
            "a sync that fails",
            &[("FERRYMQ_ONLY", "fdatasync"), ("FERRYMQ_FAULTS", "1")],
            &["the broker does not end"],
        )
    },
    row(
        "later-batch-overtakes",
        "a write that takes long",
        &[("FERRYMQ_ONLY", "later-sync")],
        &["a message is gone whose completion was seen"],
    ),
    row(
        "delivery-before-sync",
        "a write that takes long",
        &[("FERRYMQ_ONLY", "seen")],
        &["messages of a transaction were delivered"],
    ),
    row(
        "batch-in-two-records",
        "a write that takes long",
        &[("FERRYMQ_ONLY", "whole")],
        &["messages of a transaction of 12 are there"],
    ),
    row(
        "compaction-before-sync",
        "a write that takes long",
        &[("FERRYMQ_ONLY", "copied")],
        &["copied messages are there", "Queue not found"],
    ),
];

fn main() -> ExitCode {
    if let Some(ended) = runs::client_if_asked() {
        return ended;
    }
    if runs::is_left_out("durable_faults") {
        return ExitCode::SUCCESS;
    }
    let started = Instant::now();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let only = std::env::var("FERRYMQ_ONLY").ok();
    let ended = tracer::is_there().and_then(|()| {
        let faults = runtime.block_on(async {
            slow::all(only.as_deref()).await?;
            failing::all(only.as_deref()).await
        })?;
        let plants = match plants::is_planted() {
            true => 0,
            false => plants::find(&PLANTS)?,
        };
        Ok((faults, plants))
    });
    let seconds = started.elapsed().as_secs_f32();
    match ended {
        Ok((faults, plants)) => {
            println!(
                "durable_faults: ok: {faults} faults, nothing completed was lost; {plants} planted \
                 faults found; {seconds:.0} s"
            );
            ExitCode::SUCCESS
        }
        Err(why) => {
            println!("durable_faults: FAILED: {why}");
            ExitCode::FAILURE
        }
    }
}
