//! The `ferrymq` binary.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use ferrymq::server::config;

/// FerryMQ, a message broker for AMQP 0-10
#[derive(Parser)]
#[command(version, arg_required_else_help = true)]
struct Line {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run a broker until it is told to stop (SIGTERM or SIGINT)
    Serve(Box<ferrymq::server::Options>),
    /// Look at the journal of a broker that does not run, or mend it
    Journal(ferrymq::server::journal_tool::Options),
    /// Say who may log in
    User(ferrymq::server::user_tool::Options),
    /// Load a broker and measure it
    Bench(Box<ferrymq::load::Options>),
    #[command(flatten)]
    Console(ferrymq::console::Command),
    /// Print what a shell needs to complete these commands
    Completions {
        /// Which shell
        shell: clap_complete::Shell,
    },
    /// Write a manual page for each of these commands
    Man {
        /// Into this directory
        directory: PathBuf,
    },
}

fn main() -> ExitCode {
    let mut words: Vec<OsString> = std::env::args_os().collect();
    if words
        .first()
        .is_some_and(|program| config::is_qpidd(program))
    {
        return config::run_as_qpidd(&words);
    }
    let mut prepared = None;
    if words.get(1).is_some_and(|word| word == "serve") {
        let behind = config::prepare(&words[2..])
            .unwrap_or_else(|why| Line::command().error(ErrorKind::InvalidValue, why).exit());
        words.truncate(2);
        words.extend(behind.words.iter().cloned());
        prepared = Some(behind);
    }
    let matches = Line::command().get_matches_from(words);
    let line = Line::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    match line.command {
        Command::Serve(options) => {
            let (_, said) = matches.subcommand().expect("one was found");
            match options.settled(said) {
                Ok(options) => {
                    let prepared = prepared.expect("the words behind serve were read");
                    let start = prepared.start(&options);
                    ferrymq::server::run(options, start)
                }
                Err(why) => Line::command()
                    .error(ErrorKind::ArgumentConflict, why)
                    .exit(),
            }
        }
        Command::Journal(options) => ferrymq::server::journal_tool::run(options),
        Command::Bench(options) => ferrymq::load::run(*options),
        Command::User(options) => ferrymq::server::user_tool::run(options),
        Command::Console(command) => ferrymq::console::run(&command),
        Command::Completions { shell } => {
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut Line::command(), "ferrymq", &mut text);
            match std::io::stdout().write_all(&text) {
                Ok(()) => ExitCode::SUCCESS,
                Err(_) => ExitCode::FAILURE,
            }
        }
        Command::Man { directory } => match write_manual(&directory) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("ferrymq: {}: {error}", directory.display());
                ExitCode::FAILURE
            }
        },
    }
}

/// A page for the program and one for each command below it.
fn write_manual(directory: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(directory)?;
    clap_mangen::generate_to(Line::command(), directory)
}
