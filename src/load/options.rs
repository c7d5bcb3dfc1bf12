//! The command line.

use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};

use crate::wire::url::Url;

use super::limits;

/// `ferrymq bench`.
#[derive(Args, Clone, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Options {
    /// Something else than a run.
    #[command(subcommand)]
    pub part: Option<Part>,
    /// A run.
    #[command(flatten)]
    pub run: RunOptions,
}

/// What else `ferrymq bench` does.
#[derive(Clone, Debug, Subcommand)]
pub enum Part {
    /// A bare TCP relay, the floor below every broker. Ends with its standard input.
    Relay(RelayOptions),
}

/// `ferrymq bench relay`.
#[derive(Args, Clone, Debug)]
pub struct RelayOptions {
    /// Where every connection goes on to.
    #[arg(long, value_name = "HOST:PORT")]
    pub to: String,
    /// Where to listen; the port is printed.
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:0")]
    pub listen: String,
}

/// What is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Scenario {
    /// One queue, published and consumed as fast as it goes
    #[default]
    Throughput,
    /// Throughput with every message confirmed
    Confirmed,
    /// Latency at a fixed rate
    Latency,
    /// One exchange, a queue for each consumer
    FanOut,
    /// A topic exchange with many bindings
    Topic,
    /// Transactions on both sides
    Transactions,
    /// Durable queue, persistent messages, confirmed and accepted
    Durable,
    /// Many queues
    Queues,
    /// Many connections, each with a queue of its own
    Connections,
}

/// Whether progress is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Progress {
    /// A bar when standard error is a terminal
    #[default]
    Auto,
    /// Nothing
    Never,
}

/// A run.
#[derive(Args, Clone, Debug)]
pub struct RunOptions {
    /// What to measure
    #[arg(value_enum, default_value_t)]
    pub scenario: Scenario,
    /// The broker, as `[USER/PASSWORD@]HOST[:PORT]`
    #[arg(
        long,
        visible_alias = "broker",
        short = 'b',
        value_name = "URL",
        default_value = "127.0.0.1:5672"
    )]
    pub url: Url,
    /// Messages to publish, measured from the first to the last, instead of a duration and without
    /// load before
    #[arg(long, short = 'n', value_name = "N", value_parser = clap::value_parser!(u64).range(1..), conflicts_with_all = ["duration", "warm_up"])]
    pub messages: Option<u64>,
    /// Seconds to measure
    #[arg(long, short = 'd', value_name = "SECONDS", value_parser = some_seconds, default_value = "5")]
    pub duration: Duration,
    /// Seconds of load before
    #[arg(long, value_name = "SECONDS", value_parser = seconds, default_value = "1")]
    pub warm_up: Duration,
    /// Octets of a body
    #[arg(long, short = 's', value_name = "BYTES", value_parser = clap::value_parser!(u32).range(..=i64::from(limits::SIZE_MAX)), default_value_t = 64)]
    pub size: u32,
    /// Connections that publish
    #[arg(long, value_name = "N", value_parser = lanes())]
    pub producers: Option<u32>,
    /// Connections that consume
    #[arg(long, value_name = "N", value_parser = lanes())]
    pub consumers: Option<u32>,
    /// Queues
    #[arg(long, value_name = "N", value_parser = queues())]
    pub queues: Option<u32>,
    /// Bindings of the topic exchange, over all queues
    #[arg(long, value_name = "N", value_parser = queues(), default_value_t = 1000)]
    pub bindings: u32,
    /// Consumers accept each N messages; 0 subscribes without acceptance
    #[arg(long, value_name = "N")]
    pub ack_every: Option<u32>,
    /// Producers ask for completion with each Nth message; 0 only at the end
    #[arg(long, value_name = "N")]
    pub sync_every: Option<u32>,
    /// So many of these may be unanswered; 1 waits for each
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub sync_window: Option<u32>,
    /// Messages of a transaction
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), default_value_t = 100)]
    pub commit_every: u32,
    /// Messages a second, all producers together, by a fixed schedule
    #[arg(long, value_name = "N", value_parser = rate)]
    pub rate: Option<f64>,
    /// Window of a consumer's credit; 0 is unlimited credit
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub credit: u32,
    /// Messages that may be published and not consumed, when there is no rate
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub in_flight: Option<u64>,
    /// Durable queues and persistent messages
    #[arg(long)]
    pub durable: bool,
    /// More consumers, which subscribe and never read
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(..=i64::from(limits::LANES_MAX)), default_value_t = 0)]
    pub stuck: u32,
    /// Threads
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64), default_value_t = 2)]
    pub workers: u16,
    /// The broker's process on this machine, whose CPU and memory are read
    #[arg(long, value_name = "PID")]
    pub pid: Option<u32>,
    /// Measure the same octets through a bare relay too
    #[arg(long)]
    pub floor: bool,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    /// Show progress
    #[arg(long, value_enum, default_value_t)]
    pub progress: Progress,
}

fn lanes() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=i64::from(limits::LANES_MAX))
}

fn queues() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=i64::from(limits::QUEUES_MAX))
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number of seconds")?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}

fn some_seconds(text: &str) -> Result<Duration, String> {
    match seconds(text)? {
        Duration::ZERO => Err("nothing is measured in no time".to_owned()),
        some => Ok(some),
    }
}

fn rate(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(rate) if rate > 0.0 && rate <= 1e9 => Ok(rate),
        _ => Err("not a number of messages a second".to_owned()),
    }
}
