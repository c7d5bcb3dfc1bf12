//! The `ferrymq` binary.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

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
    match Line::parse().command {
        Command::Serve(options) => ferrymq::server::run(options),
        Command::Journal(options) => ferrymq::server::journal_tool::run(options),
        Command::Bench(options) => ferrymq::load::run(options),
    }
}
