//! The `ferrymq` binary.

use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

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
    Serve(ferrymq::server::Options),
    /// Look at the journal of a broker that does not run, or mend it
    Journal(ferrymq::server::journal_tool::Options),
    /// Load a broker and measure it
    Bench(ferrymq::load::Options),
}

fn main() -> ExitCode {
    let matches = Line::command().get_matches();
    let line = Line::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    match line.command {
        Command::Serve(options) => {
            let (_, said) = matches.subcommand().expect("one was found");
            match options.settled(said) {
                Ok(options) => ferrymq::server::run(options),
                Err(why) => Line::command()
                    .error(ErrorKind::ArgumentConflict, why)
                    .exit(),
            }
        }
        Command::Journal(options) => ferrymq::server::journal_tool::run(options),
        Command::Bench(options) => ferrymq::load::run(options),
    }
}
