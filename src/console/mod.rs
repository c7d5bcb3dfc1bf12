//! The subcommands that speak to a running broker, over HTTP with TLS and without.
//!
//! What each prints is either a table for people or, with `--json`, JSON for programs: lists are arrays,
//! things are objects, with the fields of the management API. The exit status is one of [`Exit`].

mod ask;
mod client;
mod cluster;
mod credentials;
mod link;
mod options;
mod reach;
mod table;
mod top;

use std::io::Write;
use std::process::ExitCode;

use serde_json::json;

pub use self::options::Command;

/// How a subcommand ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// It is done.
    Done = 0,
    /// The broker refused it, or something else failed.
    Failed = 1,
    /// The command line makes no sense.
    Usage = 2,
    /// What it speaks of is not there.
    NotFound = 3,
    /// No broker answers at the URL.
    Unreachable = 4,
}

/// Why a subcommand did not do what it should.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// How it ends.
    pub exit: Exit,
    /// The kind of problem, as the management API calls it.
    pub error: String,
    /// What was wrong.
    pub reason: String,
}

impl Failure {
    fn new(exit: Exit, error: &str, reason: impl Into<String>) -> Failure {
        Failure {
            exit,
            error: error.to_owned(),
            reason: reason.into(),
        }
    }

    fn failed(reason: impl Into<String>) -> Failure {
        Failure::new(Exit::Failed, "failed", reason)
    }
}

/// Writes to standard output.
///
/// # Errors
/// It is closed, or cannot be written.
fn print(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    written.map_err(|error| Failure::failed(format!("cannot print: {error}")))
}

/// Does what a subcommand says.
pub fn run(command: &Command) -> ExitCode {
    let is_json = command.target().json;
    match ask::run(command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            match is_json {
                true => eprintln!(
                    "{}",
                    json!({"error": failure.error, "reason": failure.reason})
                ),
                false => eprintln!("ferrymq: {}", failure.reason),
            }
            ExitCode::from(failure.exit as u8)
        }
    }
}
