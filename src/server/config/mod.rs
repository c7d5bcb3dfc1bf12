//! From what an operator wrote to the options of the broker.
//!
//! ```text
//!   command line -- line ------------.
//!   QPID_* ------------------------- settle -- arguments --> clap --> Options
//!   qpidd.conf -- qpidd_conf --.     |  |
//!   *.toml ------ toml_file ---+-----'  '--> warnings, refusals, Process
//!                                |
//!                              table (what becomes of each of qpidd's options)
//! ```
//!
//! The command line goes before the environment, and that before the file; of a list the first of
//! them that speaks of it says all. `ferrymq serve` and the name `qpidd` read the same options; under
//! that name there are also those of the process (a daemon, its pid file), and qpidd's defaults where
//! they differ. What a file may ask for and nobody can give is told before anything is touched.

pub mod daemon;
pub mod herald;
pub mod interfaces;
mod line;
mod named;
mod nearest;
pub mod options;
mod pid_files;
mod process;
pub mod qpidd_conf;
pub mod qpidd_store;
mod rows;
mod setting;
mod settle;
mod source;
pub mod table;
pub mod toml_file;
mod vocabulary;

use std::ffi::{OsStr, OsString};
use std::path::Path;

use clap::{Args, Command};

use super::Options;
use herald::{Foreground, Start};

pub use named::run as run_as_qpidd;

/// How the broker was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As `ferrymq serve`.
    Serve,
    /// Under the name `qpidd`.
    Qpidd,
}

/// The name that makes the broker take qpidd's command line.
pub const QPIDD: &str = "qpidd";

/// Whether a program was started under the name `qpidd`: a link to the binary, or a copy.
pub fn is_qpidd(program: &OsStr) -> bool {
    Path::new(program).file_name() == Some(OsStr::new(QPIDD))
}

/// The broker's own options, as a command.
fn own_command() -> Command {
    Options::augment_args(Command::new("serve"))
}

/// What stands behind `ferrymq serve`, with what environment and file add to it.
#[derive(Debug)]
pub struct Prepared {
    /// The words, all of which the broker's own command line knows.
    pub words: Vec<OsString>,
    /// What to say once there is a log.
    pub warnings: Vec<String>,
}

impl Prepared {
    /// How a broker starts that was prepared so.
    pub fn start(self, options: &Options) -> Start {
        Start {
            warnings: self.warnings,
            herald: Box::new(Foreground::new(options, None)),
        }
    }
}

/// The variables of the process's environment.
fn environment() -> Vec<(OsString, OsString)> {
    std::env::vars_os().collect()
}

/// Adds to the words behind `ferrymq serve` what environment and file say.
///
/// # Errors
/// Something cannot be meant, or asks for protection that there is not.
pub fn prepare(words: &[OsString]) -> Result<Prepared, String> {
    let settled = settle::settle(Form::Serve, words, &environment(), &own_command())?;
    if settled.line.help.is_some() {
        // It is clap's to answer.
        return Ok(Prepared {
            words: words.to_vec(),
            warnings: Vec::new(),
        });
    }
    if settled.line.is_version_asked {
        return Err("the version is told by --version alone, without serve".to_owned());
    }
    settled.check()?;
    Ok(Prepared {
        words: settled.arguments,
        warnings: settled.warnings,
    })
}
