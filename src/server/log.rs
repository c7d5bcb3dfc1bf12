//! The log: qpidd's lines, qpidd's levels, qpidd's rules of what is logged.
//!
//! ```text
//!   2026-11-29 15:23:01 [Network] notice Listening on TCP/TCP6 port 5672
//! ```
//!
//! An event's target is its category. `tracing` has five levels, qpidd seven: `notice` is INFO with
//! a field `notice`, `critical` is ERROR with a field `critical` (the macros of this file).

use std::fmt::{self, Write as _};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockWriteGuard};

use tracing::field::{Field, Visit};
use tracing::{Event, Metadata, Subscriber};
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, MakeWriter};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, fmt as subscriber_fmt};

use super::clock;
use super::options::LogOptions;
use super::syslog::{Severity, Syslog};

/// What is logged: as text, and the rules. It may change while the broker runs.
static RULES: RwLock<(String, Vec<Rule>)> = RwLock::new((String::new(), Vec::new()));

/// Whether lines have the time to the nanosecond.
static IS_HIRES: AtomicBool = AtomicBool::new(false);

/// Logs at the level between information and warning: what an operator wants to see of a broker
/// that is well. The first argument is the category.
macro_rules! notice {
    ($category:literal, $($text:tt)+) => {
        tracing::info!(target: $category, notice = true, $($text)+)
    };
}

/// Logs what ends the broker. The first argument is the category.
macro_rules! critical {
    ($category:literal, $($text:tt)+) => {
        tracing::error!(target: $category, critical = true, $($text)+)
    };
}

pub(crate) use {critical, notice};

/// The levels of qpidd, from the least to the worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Trace,
    Debug,
    Info,
    Notice,
    Warning,
    Error,
    Critical,
}

const LEVELS: [(Level, &str); 7] = [
    (Level::Trace, "trace"),
    (Level::Debug, "debug"),
    (Level::Info, "info"),
    (Level::Notice, "notice"),
    (Level::Warning, "warning"),
    (Level::Error, "error"),
    (Level::Critical, "critical"),
];

impl Level {
    fn of(metadata: &Metadata<'_>) -> Level {
        let has = |name| metadata.fields().field(name).is_some();
        match *metadata.level() {
            tracing::Level::TRACE => Level::Trace,
            tracing::Level::DEBUG => Level::Debug,
            tracing::Level::INFO if has("notice") => Level::Notice,
            tracing::Level::INFO => Level::Info,
            tracing::Level::WARN => Level::Warning,
            tracing::Level::ERROR if has("critical") => Level::Critical,
            tracing::Level::ERROR => Level::Error,
        }
    }

    fn name(self) -> &'static str {
        LEVELS.get(self as usize).map_or("", |(_, name)| name)
    }

    fn severity(self) -> Severity {
        match self {
            Level::Trace | Level::Debug => Severity::Debug,
            Level::Info => Severity::Information,
            Level::Notice => Severity::Notice,
            Level::Warning => Severity::Warning,
            Level::Error => Severity::Error,
            Level::Critical => Severity::Critical,
        }
    }
}

/// One rule of `--log-enable`: `LEVEL[+][:PATTERN]`.
#[derive(Clone, Debug, PartialEq)]
struct Rule {
    level: Level,
    and_worse: bool,
    /// In lower case; empty for everything.
    pattern: String,
}

impl Rule {
    fn parse(text: &str) -> Result<Rule, String> {
        let (level, pattern) = text.split_once(':').unwrap_or((text, ""));
        let (name, and_worse) = match level.strip_suffix('+') {
            Some(name) => (name, true),
            None => (level, false),
        };
        let found = LEVELS.iter().find(|(_, known)| *known == name);
        let Some((level, _)) = found else {
            return Err(format!("{text}: no level is called {name:?}"));
        };
        Ok(Rule {
            level: *level,
            and_worse,
            pattern: pattern.to_ascii_lowercase(),
        })
    }

    fn enables(&self, level: Level, category: &str, module: &str) -> bool {
        let level = match self.and_worse {
            true => level >= self.level,
            false => level == self.level,
        };
        let contains = |text: &str| text.to_ascii_lowercase().contains(&self.pattern);
        level && (self.pattern.is_empty() || contains(category) || contains(module))
    }
}

/// Starts the log for the whole process.
///
/// # Errors
/// A rule cannot be read, the file cannot be opened, or a log is there already.
pub fn start(options: &LogOptions) -> Result<(), String> {
    let trace = options.trace.then(|| "trace+".to_owned());
    let texts: Vec<String> = options.log_enable.iter().cloned().chain(trace).collect();
    let parsed = texts.iter().map(|text| Rule::parse(text));
    let rules = parsed.collect::<Result<Vec<_>, _>>();
    let rules = rules.map_err(|error| format!("--log-enable {error}"))?;
    *write_rules() = (texts.join(","), rules);
    let file = match &options.log_to_file {
        None => None,
        Some(path) => {
            let opened = OpenOptions::new().create(true).append(true).open(path);
            let text = |error| format!("--log-to-file {}: {error}", path.display());
            Some(Arc::new(Mutex::new(opened.map_err(text)?)))
        }
    };
    let syslog = match options.sinks.log_to_syslog {
        false => None,
        true => {
            let opened = Syslog::open(&options.sinks);
            Some(Arc::new(
                opened.map_err(|error| format!("--log-to-syslog: {error}"))?,
            ))
        }
    };
    set_hires(options.sinks.log_hires_timestamp);
    let sinks = Sinks {
        stderr: options.log_to_stderr,
        stdout: options.log_to_stdout,
        file,
        syslog,
        severity: Severity::Debug,
    };
    let is_enabled = |metadata: &Metadata<'_>| {
        let module = metadata.module_path().unwrap_or("");
        // Other crates log under their own names; only ours have categories.
        let is_ours = module.starts_with(env!("CARGO_PKG_NAME"));
        let level = Level::of(metadata);
        let (_, rules) = &*RULES.read().unwrap_or_else(PoisonError::into_inner);
        let mut rules = rules.iter();
        is_ours && rules.any(|rule| rule.enables(level, metadata.target(), module))
    };
    let layer = subscriber_fmt::layer()
        .event_format(Lines)
        .with_writer(sinks)
        .with_filter(filter_fn(is_enabled));
    tracing_subscriber::registry()
        .with(layer)
        .try_init()
        .map_err(|error| error.to_string())
}

fn write_rules() -> RwLockWriteGuard<'static, (String, Vec<Rule>)> {
    RULES.write().unwrap_or_else(PoisonError::into_inner)
}

/// What is logged, as it was said: rules with commas between them.
pub fn level() -> String {
    let (text, _) = &*RULES.read().unwrap_or_else(PoisonError::into_inner);
    text.clone()
}

/// From now on only what these rules say is logged. They have commas or blanks between them.
///
/// # Errors
/// One of them names no level; nothing has changed then.
pub fn set_level(text: &str) -> Result<(), String> {
    let texts = text.split([',', ' ']).filter(|text| !text.is_empty());
    let rules = texts.map(Rule::parse).collect::<Result<Vec<_>, _>>()?;
    *write_rules() = (text.to_owned(), rules);
    tracing::callsite::rebuild_interest_cache();
    Ok(())
}

/// Whether lines have the time to the nanosecond.
pub fn is_hires() -> bool {
    IS_HIRES.load(Ordering::Relaxed)
}

/// From now on lines have the time to the nanosecond, or to the second.
pub fn set_hires(is_hires: bool) {
    IS_HIRES.store(is_hires, Ordering::Relaxed);
}

/// Where lines go. A sink that does not take a line is no reason to stop: the others have it.
#[derive(Clone, Debug)]
struct Sinks {
    stderr: bool,
    stdout: bool,
    file: Option<Arc<Mutex<File>>>,
    syslog: Option<Arc<Syslog>>,
    /// How bad the line that is written is.
    severity: Severity,
}

impl Write for Sinks {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.stderr {
            let _ = io::stderr().lock().write_all(line);
        }
        if self.stdout {
            let mut stdout = io::stdout().lock();
            let _ = stdout.write_all(line).and_then(|()| stdout.flush());
        }
        if let Some(file) = &self.file {
            let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
            let _ = file.write_all(line);
        }
        if let Some(syslog) = &self.syslog {
            syslog.log(self.severity, line);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Sinks {
    type Writer = Sinks;

    fn make_writer(&'a self) -> Sinks {
        self.clone()
    }

    fn make_writer_for(&'a self, metadata: &Metadata<'_>) -> Sinks {
        Sinks {
            severity: Level::of(metadata).severity(),
            ..self.clone()
        }
    }
}

/// The form of a line.
#[derive(Debug)]
struct Lines;

impl<S, N> FormatEvent<S, N> for Lines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        _: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let metadata = event.metadata();
        let mut text = Message(String::new());
        event.record(&mut text);
        writeln!(
            writer,
            "{} [{}] {} {}",
            Stamp(clock::wall_nanoseconds()),
            metadata.target(),
            Level::of(metadata).name(),
            text.0
        )
    }
}

/// The message of an event and fields behind it. Control characters are shown, so that no peer can
/// make a line of its own.
struct Message(String);

impl Message {
    fn add(&mut self, text: &str) {
        for c in text.chars() {
            match c.is_control() {
                true => self.0.extend(c.escape_default()),
                false => self.0.push(c),
            }
        }
    }
}

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        match field.name() {
            "message" => self.add(&format!("{value:?}")),
            "notice" | "critical" => {}
            name => {
                let _ = write!(self.0, " {name}=");
                self.add(&format!("{value:?}"));
            }
        }
    }
}

/// A moment as lines have it: milliseconds since 1970.
pub fn time_text(milliseconds: u64) -> String {
    Stamp(milliseconds.saturating_mul(1_000_000)).to_string()
}

/// A moment as qpidd writes it, in UTC.
struct Stamp(u64);

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DAY: u64 = 24 * 60 * 60;
        let (seconds, nanoseconds) = (self.0 / 1_000_000_000, self.0 % 1_000_000_000);
        let (year, month, day) = date(seconds / DAY);
        let (hour, minute, second) = (seconds % DAY / 3600, seconds % 3600 / 60, seconds % 60);
        write!(
            f,
            "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}"
        )?;
        match is_hires() {
            true => write!(f, ".{nanoseconds:09}"),
            false => Ok(()),
        }
    }
}

/// Year, month and day of the Gregorian calendar, `days` after the first of January 1970. Years are
/// counted from the first of March, so that the day that some of them lack is the last.
fn date(days: u64) -> (u64, u64, u64) {
    const ERA: u64 = 400 * 365 + 97;
    const MARCH_0000_TO_1970: u64 = 719_468;
    let days = days + MARCH_0000_TO_1970;
    let (era, day_of_era) = (days / ERA, days % ERA);
    let leap_days_passed = day_of_era / 1460 - day_of_era / 36_524 + day_of_era / (ERA - 1);
    let year_of_era = (day_of_era - leap_days_passed) / 365;
    let days_before_year = 365 * year_of_era + year_of_era / 4 - year_of_era / 100;
    let day_of_year = day_of_era - days_before_year;
    let months_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * months_from_march + 2) / 5 + 1;
    let month = match months_from_march < 10 {
        true => months_from_march + 3,
        false => months_from_march - 9,
    };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_are_dates_of_the_calendar() {
        let cases = [
            (0, "1970-01-01 00:00:00"),
            (951_782_399, "2000-02-28 23:59:59"),
            (951_782_400, "2000-02-29 00:00:00"),
            (1_709_164_800, "2024-02-29 00:00:00"),
            (1_735_689_599, "2024-12-31 23:59:59"),
            (4_107_542_400, "2100-03-01 00:00:00"),
        ];
        for (seconds, text) in cases {
            assert_eq!(Stamp(seconds * 1_000_000_000).to_string(), text);
        }
    }

    #[test]
    fn rules_enable_a_level_and_what_is_worse_where_the_pattern_fits() {
        let notice = Rule::parse("notice+").expect("a rule");
        assert!(notice.enables(Level::Notice, "Broker", ""));
        assert!(notice.enables(Level::Critical, "Broker", ""));
        assert!(!notice.enables(Level::Info, "Broker", ""));
        let one = Rule::parse("debug:network").expect("a rule");
        assert!(one.enables(Level::Debug, "Network", ""));
        assert!(one.enables(Level::Debug, "", "ferrymq::network"));
        assert!(!one.enables(Level::Debug, "Broker", ""));
        assert!(!one.enables(Level::Error, "Network", ""));
        assert!(Rule::parse("loud+").is_err());
    }

    #[test]
    fn no_peer_makes_a_line_of_its_own() {
        let mut message = Message(String::new());
        message.add("a\nb\u{1b}[31m");
        assert_eq!(message.0, "a\\nb\\u{1b}[31m");
    }
}
