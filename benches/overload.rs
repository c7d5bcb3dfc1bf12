//! What is left of an overload: three members, one of which lags, get twice as much as they can do for a
//! minute, and then what they had before.
//!
//! `cargo bench --bench overload`. Messages of a KiB, durable, confirmed and delivered. First as much as
//! goes, which is what they can do; then half of that. The overload is another one and a half
//! times that beside it, while a member stands still half of the time. When it is over the usual load goes
//! on, and the member lags still. Told is the rate of each [`SECOND`], and from when on all are at least
//! [`RECOVERED`] of the usual.

#[allow(dead_code)]
mod process;

use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::Duration;

use process::group::Group;
use process::{Failure, Load};

/// How long a rate is taken, and what comes before.
const LOOK: Duration = Duration::from_secs(10);
const WARM_UP: Duration = Duration::from_secs(5);

/// How long the overload lasts.
const OVERLOAD: Duration = Duration::from_secs(60);

/// What is looked at afterwards.
const AFTERWARDS: usize = 40;
const SECOND: Duration = Duration::from_secs(1);

/// Of the usual rate this much is as before.
const RECOVERED: f64 = 0.95;

/// Processes that put load on them, where it is to be as much as goes: one alone waits too often.
const SEVERAL: usize = 3;

/// How long the member that lags goes, and stands still.
const LAG: Duration = Duration::from_millis(200);

/// What is put on them, but for the rate.
const USUAL: [&str; 4] = ["confirmed", "--size", "1024", "--durable"];

fn main() -> Result<(), Failure> {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("overload-bench");
    let _ = std::fs::remove_dir_all(&directory);
    let group = Group::start(&directory)?;
    let port = group.members[0].port;
    let look = || {
        sleep(LOOK);
        Ok(())
    };
    let full = (0..SEVERAL).map(|_| Load::start(port, &USUAL));
    let full = full.collect::<Result<Vec<Load>, Failure>>()?;
    sleep(WARM_UP);
    let most = group.rate(look)?;
    drop(full);
    let mut usual = load(port, most / 2.0)?;
    sleep(WARM_UP);
    let before = group.rate(look)?;
    println!("as much as goes: {most:.0} messages/s; the usual: {before:.0}");
    let is_over = AtomicBool::new(false);
    let lagging = group.members[2].process.id();
    let rates = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                for signal in ["STOP", "CONT"] {
                    tell(lagging, signal);
                    sleep(LAG);
                }
            }
        });
        let rates = overloaded(&group, port, most * 1.5);
        is_over.store(true, Ordering::Relaxed);
        rates
    })?;
    usual.check()?;
    let is_low = |rate: &f64| *rate < RECOVERED * before;
    let low = rates.iter().rposition(is_low).map_or(0, |at| at + 1);
    println!("afterwards, by second: {rates:.0?}");
    println!("at {RECOVERED} of the usual and more from second {low} on");
    drop(usual);
    drop(group);
    std::fs::remove_dir_all(&directory)?;
    Ok(())
}

fn load(port: u16, rate: f64) -> Result<Load, Failure> {
    let rate = format!("{rate:.0}");
    let arguments: Vec<&str> = USUAL.iter().copied().chain(["--rate", &rate]).collect();
    Load::start(port, &arguments)
}

/// Puts more on them for a while; gives the rates afterwards.
fn overloaded(group: &Group, port: u16, rate: f64) -> Result<Vec<f64>, Failure> {
    let more = (0..SEVERAL).map(|_| load(port, rate / SEVERAL as f64));
    let more = more.collect::<Result<Vec<Load>, Failure>>()?;
    let during = group.rate(|| {
        sleep(OVERLOAD);
        Ok(())
    })?;
    println!("under overload: {during:.0} messages/s");
    drop(more);
    let second = || {
        sleep(SECOND);
        Ok(())
    };
    (0..AFTERWARDS).map(|_| group.rate(second)).collect()
}

fn tell(process: u32, signal: &str) {
    let _ = Command::new("kill")
        .args([format!("-{signal}"), process.to_string()])
        .status();
}
