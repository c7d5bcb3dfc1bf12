//! A disk that fails: nothing is completed after it has, the broker ends, and what was completed is
//! there when it starts again. A disk that is slow: nothing is seen before it is safe.
//!
//! System calls are made to fail by `strace`, at the `N`-th call of the thread that makes them.
//! `FERRYMQ_FAULTS=50` tries every N up to 50, instead of a few.

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
    let ended = tracer::is_there().and_then(|()| {
        runtime.block_on(async {
            slow::all().await?;
            failing::all().await
        })
    });
    let seconds = started.elapsed().as_secs_f32();
    match ended {
        Ok(faults) => {
            println!(
                "durable_faults: ok: {faults} faults, nothing completed was lost; {seconds:.0} s"
            );
            ExitCode::SUCCESS
        }
        Err(why) => {
            println!("durable_faults: FAILED: {why}");
            ExitCode::FAILURE
        }
    }
}
