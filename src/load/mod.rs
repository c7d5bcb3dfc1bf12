//! The load tool: `ferrymq bench`, for any AMQP 0-10 broker, and the relay that sets the floor.
//!
//! ```text
//!   plan      what is declared, who publishes where, who reads what       (from the options)
//!   topology  declares it and takes it away again                         (by the client)
//!   lane      one connection with one session, spoken in prepared octets  (producer, consumer)
//!   flight    how much may be published and not consumed; the end
//!   measure   workers, warm-up, samples, drain
//!   floor     the same octets through a relay that does nothing else
//! ```
//!
//! A load tool must cost less a message than what it loads. So a lane opens its connection with
//! the state machine of `protocol` and then speaks for itself: transfers are octets prepared
//! once and copied by the block, deliveries are counted by their frames without being decoded,
//! and nothing wakes a task for one message.
//!
//! - Every message is accounted for: what was published must arrive, or the run fails.
//! - With a rate, messages are sent by a fixed schedule and their latency counts from the moment
//!   they were due: a broker that stalls delays them all, and all of them are recorded
//!   (otherwise the stall itself would keep the worst from being measured).
//! - A run in which nothing could be measured fails, and one that could not keep its rate says so.
//! - CPU is that of the broker's process by the kernel's books, divided by messages delivered.

mod consumer;
mod dial;
mod error;
mod flight;
mod floor;
mod inbound;
mod interrupt;
mod lane;
pub mod limits;
mod measure;
mod options;
mod outcome;
mod plan;
mod prepared;
mod process;
mod producer;

mod relay;
mod schedule;
mod shared;
mod topology;

use std::process::ExitCode;

pub use error::Error;
pub use options::{Options, Part, Progress, RelayOptions, RunOptions, Scenario};
pub use process::{Usage, usage};

/// Does what the command line asks, and says what came of it: the result on standard output,
/// what went wrong on standard error.
pub fn run(options: Options) -> ExitCode {
    let done = match options.part {
        Some(Part::Relay(relay)) => relay::serve(&relay).map_err(Error::from),
        None => bench(&options.run),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("ferrymq bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn bench(options: &RunOptions) -> Result<(), Error> {
    let plan = plan::Plan::of(options)?;
    interrupt::listen()?;
    let mut outcome = measure::measure(options, plan)?;
    outcome.check()?;
    if let Some(text) = outcome.lag() {
        eprintln!("ferrymq bench: {text}");
    }
    if options.floor {
        outcome.floor = Some(floor::measure(&outcome)?);
    }
    match options.json {
        true => println!("{}", outcome.json()),
        false => print!("{}", outcome.table()),
    }
    Ok(())
}
