//! A full disk: publishers are refused with 506, everybody else goes on, and when there is room again
//! publishing works again. A disk that cannot be written to: the broker does not start, and says so.
//!
//! It runs in a mount namespace of its own, on a small file system in memory. `FERRYMQ_FULL_ROUNDS`
//! says how often the disk is filled (10).

mod durable_load;
mod durable_support;
mod server_support;

#[path = "durable_full/disk.rs"]
mod disk;
#[path = "durable_full/filling.rs"]
mod filling;

use std::process::{Command, ExitCode};
use std::time::Instant;

use disk::SmallDisk;
use durable_load::runs;
use durable_support::plants::{self, Row};
use durable_support::{Directory, number};
use filling::Filling;

/// Says to a process of this test that it is in a mount namespace of its own.
const INSIDE: &str = "FERRYMQ_FULL_INSIDE";

/// Who is not refused, or waits behind what has no room, is waited for in vain: that takes long.
const fn row(plant: &'static str) -> Row {
    Row {
        plant,
        by: "a full disk",
        arguments: &[],
        environment: &[("FERRYMQ_FULL_ROUNDS", "2")],
        says: &[
            "waited in vain until",
            "a message larger than the disk's room",
        ],
        is_long: true,
    }
}

const PLANTS: [Row; 2] = [row("full-ignored"), row("spare-ignored")];

fn main() -> ExitCode {
    if runs::is_left_out("durable_full") {
        return ExitCode::SUCCESS;
    }
    if std::env::var_os(INSIDE).is_none() {
        return go_inside();
    }
    let rounds = number("FERRYMQ_FULL_ROUNDS", 10);
    let started = Instant::now();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let ended = runtime.block_on(all(rounds));
    let ended = ended.and_then(|text| match plants::is_planted() {
        true => Ok((text, 0)),
        false => Ok((text, plants::find(&PLANTS)?)),
    });
    match ended {
        Ok((text, plants)) => {
            let seconds = started.elapsed().as_secs_f32();
            println!("durable_full: ok: {text}; {plants} planted faults found; {seconds:.0} s");
            ExitCode::SUCCESS
        }
        Err(why) => {
            println!("durable_full: FAILED: {why}");
            ExitCode::FAILURE
        }
    }
}

/// Runs this test again where mounting is nobody else's business.
fn go_inside() -> ExitCode {
    let this = std::env::current_exe().expect("this test");
    let ended = Command::new("unshare")
        .args(["--mount", "--propagation", "private", "--"])
        .arg(this)
        .args(std::env::args_os().skip(1))
        .env(INSIDE, "1")
        .status();
    let why = match ended {
        Ok(status) if status.success() => return ExitCode::SUCCESS,
        Ok(status) => format!("it ended with {status}; mount namespaces need root"),
        Err(error) => format!("unshare cannot be run: {error}"),
    };
    println!("durable_full: FAILED: {why}");
    ExitCode::FAILURE
}

async fn all(rounds: u64) -> Result<String, String> {
    let directory = Directory::new();
    let disk = SmallDisk::mount(directory.path(), 64)?;
    let mut filling = Filling::new(&disk);
    for round in 1..=rounds {
        let of = |error| format!("round {round} of {rounds}: {error}");
        filling.round(round).await.map_err(of)?;
    }
    let text = filling.closing_lines();
    drop(filling);
    disk.read_only().await?;
    disk.pages_apart().await?;
    Ok(text)
}
