//! The options of `ferrymq serve`, by qpidd's names.
//!
//! Each may be given on the command line, in the environment as `QPID_<NAME>` or in a file, and counts
//! in this order: see [`super::config`].

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::PathBuf;

use clap::parser::ValueSource;
use clap::{ArgAction, ArgMatches, Args, ValueEnum};

use super::cluster_options::ClusterOptions;
use super::config::interfaces;
use super::config::options::ConfigOptions;
use super::federation_options::FederationOptions;
use super::http::HttpOptions;
use super::limit_options::LimitOptions;
use super::limits;
use super::management_options::ManagementOptions;
use super::replication_options::ReplicationOptions;
use super::security_options::SecurityOptions;
use super::syslog::SinkOptions;
use crate::broker;
use crate::broker::options::{DEFAULT_GROUP, QueueDefaults};

/// Options of `ferrymq serve`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Port to listen on; 0 picks a free one and prints it. Several, with commas, for --group
    /// lockstep: one for each member
    #[arg(
        short,
        long,
        env = "QPID_PORT",
        default_value = "5672",
        value_delimiter = ','
    )]
    pub port: Vec<u16>,

    /// Address, interface or host name to listen on; may be repeated. Without it: all interfaces with
    /// --auth yes, --auth no or --users-file, and loopback only without any of them
    #[arg(long, env = "QPID_INTERFACE", value_name = "ADDRESS")]
    pub interface: Vec<String>,

    /// Directory for what has to outlast the broker; without it .ferrymq in the home directory, or,
    /// where there is none, in that for temporary files. For --group lockstep, in which each member has a folder there,
    /// only if it is given
    #[arg(long, env = "QPID_DATA_DIR", value_name = "DIRECTORY")]
    pub data_dir: Option<PathBuf>,

    /// Keep nothing on disk
    #[arg(long, env = "QPID_NO_DATA_DIR", value_name = "yes|no", default_value = "no",
          value_parser = yes_or_no, num_args = 0..=1, default_missing_value = "yes",
          action = ArgAction::Set)]
    pub no_data_dir: bool,

    /// Octets of memory that messages may take, before bodies stay in the data directory only: a
    /// number, or with k, m or g behind it; 0 keeps none. When headers and entries of queues alone take
    /// more, and 64 MiB at least, all messages are refused. Without it 40 % of the machine's memory
    #[arg(long, env = "QPID_MEMORY_LIMIT", value_name = "BYTES", value_parser = octets)]
    pub memory_limit: Option<u64>,

    /// Whether what was confirmed is on the disk (yes), or only with the kernel (no), from which a
    /// power cut takes it
    #[arg(long, env = "QPID_JOURNAL_SYNC", value_name = "yes|no", default_value = "yes",
          value_parser = yes_or_no, num_args = 0..=1, default_missing_value = "yes")]
    pub journal_sync: bool,

    /// Octets of a file of the journal: a number, or with k, m or g behind it. Default: 16m, less on a
    /// file system of less than a gibibyte
    #[arg(long, env = "QPID_JOURNAL_FILE_SIZE", value_name = "BYTES", value_parser = journal_file_size)]
    pub journal_file_size: Option<u64>,

    /// Time a client has to open its connection: milliseconds, or a number with s, ms, us or ns
    #[arg(long, env = "QPID_MAX_NEGOTIATE_TIME", value_name = "TIME", default_value = "10000",
          value_parser = negotiate_time)]
    pub max_negotiate_time: u64,

    /// Who may do what.
    #[command(flatten)]
    pub security: SecurityOptions,

    /// Connections that may wait to be accepted, a port
    #[arg(
        long,
        env = "QPID_CONNECTION_BACKLOG",
        value_name = "N",
        default_value_t = 10
    )]
    pub connection_backlog: u32,

    /// Whether small frames are sent at once (TCP_NODELAY)
    #[arg(long, env = "QPID_TCP_NODELAY", value_name = "yes|no", default_value = "yes",
          value_parser = yes_or_no, num_args = 0..=1, require_equals = false,
          default_missing_value = "yes")]
    pub tcp_nodelay: bool,

    /// Octets a queue holds unless declared otherwise; 0 is no limit
    #[arg(
        long,
        env = "QPID_DEFAULT_QUEUE_LIMIT",
        value_name = "BYTES",
        default_value_t = 104_857_600
    )]
    pub default_queue_limit: u64,

    /// Percent of a queue's limit where its publishers are held back, unless declared otherwise; 0 is
    /// nowhere
    #[arg(
        long,
        env = "QPID_DEFAULT_FLOW_STOP_THRESHOLD",
        value_name = "PERCENT",
        default_value_t = 80
    )]
    pub default_flow_stop_threshold: u8,

    /// Percent of a queue's limit where they go on
    #[arg(
        long,
        env = "QPID_DEFAULT_FLOW_RESUME_THRESHOLD",
        value_name = "PERCENT",
        default_value_t = 70
    )]
    pub default_flow_resume_threshold: u8,

    /// Percent of a queue's limit where an alert is due, unless declared otherwise; 0 is nowhere
    #[arg(
        long,
        env = "QPID_DEFAULT_EVENT_THRESHOLD_RATIO",
        value_name = "PERCENT",
        default_value_t = 80
    )]
    pub default_event_threshold_ratio: u8,

    /// The group of messages in a queue of message groups that name none
    #[arg(
        long,
        env = "QPID_DEFAULT_MESSAGE_GROUP",
        value_name = "NAME",
        default_value = DEFAULT_GROUP
    )]
    pub default_message_group: String,

    /// Time between two searches for expired messages: seconds, or a number with s, ms, us or ns;
    /// 0 is never
    #[arg(long, env = "QPID_QUEUE_PURGE_INTERVAL", value_name = "TIME", default_value = "600",
          value_parser = seconds)]
    pub queue_purge_interval: u64,

    /// Seconds that work in a branch of a distributed transaction may take unless it says otherwise;
    /// 0 is without end
    #[arg(
        long,
        env = "QPID_DTX_DEFAULT_TIMEOUT",
        value_name = "SECONDS",
        default_value_t = 60
    )]
    pub dtx_default_timeout: u32,

    /// Seconds that it can say at most; 0 is no limit
    #[arg(
        long,
        env = "QPID_DTX_MAX_TIMEOUT",
        value_name = "SECONDS",
        default_value_t = 3600
    )]
    pub dtx_max_timeout: u32,

    /// Seconds for which a session may outlive its connection, if its client asks for it: a number, or
    /// with s, ms, us or ns behind it. With 0 every session ends with its connection, as in qpidd
    #[arg(long, env = "QPID_SESSION_TIMEOUT_MAX", value_name = "TIME", default_value = "0",
          value_parser = session_timeout)]
    pub session_timeout_max: u32,

    /// Threads that serve connections; without it one more than there are processors
    #[arg(long, env = "QPID_WORKER_THREADS", value_name = "N",
          value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub worker_threads: Option<u16>,

    /// Who gives the order
    #[arg(long, env = "QPID_GROUP", value_enum, default_value = "solo")]
    pub group: GroupKind,

    /// Where the faults of --group lockstep begin; without it some number, which is logged
    #[arg(long, env = "QPID_LOCKSTEP_SEED", value_name = "N")]
    pub lockstep_seed: Option<u64>,

    /// How brokers act as one.
    #[command(flatten)]
    pub cluster: ClusterOptions,

    /// How the broker is managed.
    #[command(flatten)]
    pub management: ManagementOptions,

    /// Links to other brokers.
    #[command(flatten)]
    pub federation: FederationOptions,

    /// Copies of queues at other brokers.
    #[command(flatten)]
    pub replication: ReplicationOptions,

    /// Management over HTTP.
    #[command(flatten)]
    pub http: HttpOptions,

    /// What is logged.
    #[command(flatten)]
    pub log: LogOptions,

    /// What one connection may hold.
    #[command(flatten)]
    pub limits: LimitOptions,

    /// Where other options are.
    #[command(flatten)]
    pub config: ConfigOptions,
}

/// What is logged, and where to.
#[derive(Args, Clone, Debug)]
pub struct LogOptions {
    /// Log everything
    #[arg(short, long, env = "QPID_TRACE", value_name = "yes|no", default_value = "no",
          value_parser = yes_or_no, num_args = 0..=1, default_missing_value = "yes",
          action = ArgAction::Set)]
    pub trace: bool,

    /// LEVEL[+][:PATTERN]: log this level, with + also what is worse, in categories or modules that
    /// contain PATTERN; may be repeated. Levels: trace debug info notice warning error critical
    #[arg(
        long,
        env = "QPID_LOG_ENABLE",
        value_name = "RULE",
        default_value = "notice+"
    )]
    pub log_enable: Vec<String>,

    /// Whether the log goes to standard error
    #[arg(long, env = "QPID_LOG_TO_STDERR", value_name = "yes|no", default_value = "yes",
          value_parser = yes_or_no, num_args = 0..=1, default_missing_value = "yes")]
    pub log_to_stderr: bool,

    /// Whether the log goes to standard output
    #[arg(long, env = "QPID_LOG_TO_STDOUT", value_name = "yes|no", default_value = "no",
          value_parser = yes_or_no, num_args = 0..=1, default_missing_value = "yes")]
    pub log_to_stdout: bool,

    /// File the log is appended to
    #[arg(long, env = "QPID_LOG_TO_FILE", value_name = "FILE")]
    pub log_to_file: Option<PathBuf>,

    /// Further places of the log, and how lines look.
    #[command(flatten)]
    pub sinks: SinkOptions,
}

/// Who gives the order of commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum GroupKind {
    /// This broker alone.
    Solo,
    /// Several members in this process, with faults: for tests.
    Lockstep,
    /// This broker and others, in other processes, as a cluster.
    Raft,
}

impl Options {
    /// Threads that serve clients.
    pub fn threads(&self) -> usize {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        self.worker_threads.map_or(processors + 1, usize::from)
    }

    /// Takes what was said on the command line before what stands in the environment, where the two
    /// speak of the same. `matches` is what the options were read from.
    ///
    /// # Errors
    /// The command line contradicts itself.
    pub fn settled(mut self, matches: &ArgMatches) -> Result<Options, String> {
        let is_said = |name| matches.value_source(name) == Some(ValueSource::CommandLine);
        match (is_said("data_dir"), is_said("no_data_dir")) {
            (true, true) => return Err("--data-dir and --no-data-dir exclude each other".into()),
            (true, false) => self.no_data_dir = false,
            (false, _) => {}
        }
        if self.no_data_dir {
            self.data_dir = None;
        }
        let core = self.core();
        match core.of_queues.fault().or_else(|| core.events_to.fault()) {
            Some(fault) => Err(fault),
            None => Ok(self),
        }
    }

    /// The options that are state of the core.
    pub fn core(&self) -> broker::Options {
        broker::Options {
            default_queue_limit: self.default_queue_limit,
            queue_purge_interval: self.queue_purge_interval,
            of_queues: QueueDefaults {
                flow_stop_percent: self.default_flow_stop_threshold,
                flow_resume_percent: self.default_flow_resume_threshold,
                alert_percent: self.default_event_threshold_ratio,
                message_group: self.default_message_group.as_str().into(),
            },
            events_to: self.replication.events_to(),
        }
    }

    /// Where to listen, in order. The flag says whether an address may be missing on this machine:
    /// those that nobody named may.
    ///
    /// # Errors
    /// An interface is neither an address nor the name of an interface or a host.
    pub fn addresses(&self) -> Result<Vec<(IpAddr, bool)>, String> {
        if self.interface.is_empty() {
            let (v4, v6) = match self.security.access().is_open() {
                true => (Ipv4Addr::UNSPECIFIED, Ipv6Addr::UNSPECIFIED),
                false => (Ipv4Addr::LOCALHOST, Ipv6Addr::LOCALHOST),
            };
            return Ok(vec![(v4.into(), false), (v6.into(), true)]);
        }
        let mut addresses = Vec::new();
        for interface in &self.interface {
            for address in resolve("--interface", interface)? {
                if !addresses.contains(&(address, false)) {
                    addresses.push((address, false));
                }
            }
        }
        Ok(addresses)
    }
}

/// The addresses that an option names: by one, by an interface or by a host.
///
/// # Errors
/// It is none of them.
pub(super) fn resolve(option: &str, interface: &str) -> Result<Vec<IpAddr>, String> {
    use std::net::ToSocketAddrs;
    let bare = interface.trim_start_matches('[').trim_end_matches(']');
    if let Ok(address) = bare.parse() {
        return Ok(vec![address]);
    }
    let named = interfaces::addresses(interface);
    if !named.is_empty() {
        return Ok(named);
    }
    match (interface, 0).to_socket_addrs() {
        Ok(found) => Ok(found.map(|address| address.ip()).collect()),
        Err(error) => Err(format!(
            "{option} {interface}: neither an address nor the name of an interface or a host ({error})"
        )),
    }
}

/// A duration as qpidd takes it: a number, and s, ms, us or ns behind it, else `unit` is meant.
/// In milliseconds, rounded up so that some time never becomes none.
pub(super) fn duration(text: &str, unit: &str) -> Result<u64, String> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, suffix) = text.split_at(digits);
    let wrong = || format!("{text}: not a number with s, ms, us or ns behind it");
    let number: u64 = number.parse().map_err(|_| wrong())?;
    let unit = match suffix {
        "" => unit,
        suffix => suffix,
    };
    let too_long = || format!("{text}: too long");
    match unit {
        "s" => number.checked_mul(1000).ok_or_else(too_long),
        "ms" => Ok(number),
        "us" => Ok(number.div_ceil(1000)),
        "ns" => Ok(number.div_ceil(1_000_000)),
        _ => Err(wrong()),
    }
}

fn negotiate_time(text: &str) -> Result<u64, String> {
    match duration(text, "ms")? {
        0 => Err("no client could open a connection in no time".to_owned()),
        time if time > limits::NEGOTIATE_MILLISECONDS_MAX => Err(format!("{text}: over a day")),
        time => Ok(time),
    }
}

fn seconds(text: &str) -> Result<u64, String> {
    duration(text, "s")
}

fn session_timeout(text: &str) -> Result<u32, String> {
    let seconds = duration(text, "s")?.div_ceil(1000);
    match u32::try_from(seconds) {
        Ok(seconds) if seconds <= limits::SESSION_TIMEOUT_SECONDS_MAX => Ok(seconds),
        _ => Err(format!("{text}: over a week")),
    }
}

/// A number of octets: with k, m or g behind it times 1024 and so on.
pub(super) fn octets(text: &str) -> Result<u64, String> {
    let wrong = || format!("{text}: not a number with k, m or g behind it");
    let lower = text.to_ascii_lowercase();
    let digits = lower.trim_end_matches(['k', 'm', 'g']);
    let shift = match lower.strip_prefix(digits).unwrap_or_default() {
        "" => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        _ => return Err(wrong()),
    };
    let number: u64 = digits.parse().map_err(|_| wrong())?;
    number
        .checked_mul(1 << shift)
        .ok_or_else(|| format!("{text}: too many"))
}

fn journal_file_size(text: &str) -> Result<u64, String> {
    use crate::store::limits::{SEGMENT_BYTES_MAX, SEGMENT_BYTES_MIN};
    match octets(text)? {
        size if (SEGMENT_BYTES_MIN..=SEGMENT_BYTES_MAX).contains(&size) => Ok(size),
        _ => Err(format!(
            "{text}: a file has {SEGMENT_BYTES_MIN} to {SEGMENT_BYTES_MAX} octets"
        )),
    }
}

/// A truth value as `qpidd` takes it: in its configuration files people write all of these.
pub(super) fn yes_or_no(text: &str) -> Result<bool, String> {
    match text.to_ascii_lowercase().as_str() {
        "yes" | "y" | "true" | "on" | "1" => Ok(true),
        "no" | "n" | "false" | "off" | "0" => Ok(false),
        _ => Err("it is yes or no".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::security::access::Auth;
    use clap::{CommandFactory, FromArgMatches, Parser};

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        options: Options,
    }

    fn parse(line: &str) -> Result<Options, String> {
        let words = std::iter::once("serve").chain(line.split_whitespace());
        let matches = Line::command().try_get_matches_from(words);
        let matches = matches.map_err(|error| error.to_string())?;
        let line = Line::from_arg_matches(&matches).map_err(|error| error.to_string())?;
        line.options.settled(&matches)
    }

    fn options(line: &str) -> Options {
        parse(line).unwrap_or_else(|error| panic!("{line}: {error}"))
    }

    #[test]
    fn durations_take_the_suffixes_of_qpidd() {
        assert_eq!(duration("10", "s"), Ok(10_000));
        assert_eq!(duration("10", "ms"), Ok(10));
        assert_eq!(duration("3s", "ms"), Ok(3000));
        assert_eq!(duration("1500us", "s"), Ok(2));
        assert_eq!(duration("1ns", "s"), Ok(1));
        for wrong in ["", "s", "-1", "1.5s", "10 s", "1h", "99999999999999999999"] {
            assert!(duration(wrong, "s").is_err(), "{wrong}");
        }
        assert!(duration("18446744073709551615s", "s").is_err());
    }

    #[test]
    fn octets_take_a_unit() {
        assert_eq!(octets("10"), Ok(10));
        assert_eq!(octets("3k"), Ok(3072));
        assert_eq!(octets("16M"), Ok(16 << 20));
        assert_eq!(octets("2g"), Ok(2 << 30));
        for wrong in ["", "k", "-1", "1.5m", "1mk", "1 k", "1t", "99999999999g"] {
            assert!(octets(wrong).is_err(), "{wrong}");
        }
        assert!(options("").journal_sync && !options("--journal-sync no").journal_sync);
        assert!(parse("--journal-file-size 1").is_err());
        assert!(parse("--journal-file-size 9g").is_err());
    }

    #[test]
    fn defaults_are_those_of_qpidd() {
        let options = options("");
        assert_eq!(options.port, [5672]);
        assert_eq!(options.max_negotiate_time, 10_000);
        assert_eq!(options.security.max_connections, 500);
        assert_eq!(options.queue_purge_interval, 600_000);
        assert_eq!(options.default_queue_limit, 104_857_600);
        assert_eq!(options.core(), broker::Options::default());
        assert_eq!(options.dtx_default_timeout, 60);
        assert_eq!(options.dtx_max_timeout, 3600);
        assert_eq!(options.log.log_enable, ["notice+"]);
        assert!(options.tcp_nodelay && options.log.log_to_stderr);
        assert_eq!(options.security.access(), Auth::NotConfigured);
    }

    #[test]
    fn ports_come_with_commas_and_repeated_options_add_up() {
        let options = options(
            "-p 0,0,0 --group lockstep --interface 127.0.0.1 --interface ::1 \
             --log-enable info+ --log-enable debug+:Network --auth no --tcp-nodelay no",
        );
        assert_eq!(options.port, [0, 0, 0]);
        assert_eq!(options.log.log_enable, ["info+", "debug+:Network"]);
        assert_eq!(options.addresses().map(|all| all.len()), Ok(2));
        assert_eq!(options.security.access(), Auth::No);
        assert!(!options.tcp_nodelay);
    }

    #[test]
    fn events_go_where_qpidd_has_them_go() {
        let to = |line: &str| options(line).core().events_to;
        assert!(!to("").is_anywhere());
        let events = to("--replication-queue q --create-replication-queue true");
        assert_eq!((&*events.queue, events.makes_queue), ("q", true));
        let both = "--replication-queue q --create-replication-queue --replication-exchange-name e";
        let events = to(both);
        assert_eq!((&*events.queue, &*events.exchange), ("", "e"));
        assert!(!events.makes_queue && options(both).replication.names_queue_in_vain());
        assert_eq!(&*events.exchange_type, "direct");
    }

    #[test]
    fn nobody_is_let_in_from_elsewhere_unless_it_was_said() {
        let all_local = |line: &str| {
            let addresses = options(line).addresses().unwrap_or_default();
            addresses.iter().all(|(address, _)| address.is_loopback())
        };
        assert!(all_local(""));
        assert!(!all_local("--auth no"));
        assert!(all_local("--auth no --interface 127.0.0.1"));
    }

    #[test]
    fn what_is_not_an_option_is_an_error() {
        for wrong in [
            "--no-such-option",
            "--port x",
            "--auth maybe",
            "--max-negotiate-time 0",
            "--data-dir x --no-data-dir",
            "--worker-threads 0",
            "--default-flow-stop-threshold 101",
            "--default-flow-stop-threshold 60",
            "--default-flow-resume-threshold 81",
            "--default-event-threshold-ratio 101",
            "--default-event-threshold-ratio -1",
            "--replication-exchange-type xml",
            "--create-replication-queue perhaps",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
