//! The system's log as a place for lines.
//!
//! ```text
//!   <facility * 8 + severity>NAME[PID]: line
//! ```
//!
//! Without a time: the daemon that takes lines puts its own before them. One datagram a line, to the
//! socket's name each time, so that a daemon that was started anew gets what comes after.

use std::os::unix::net::UnixDatagram;
use std::path::Path;

use clap::{ArgAction, Args};

use super::options::yes_or_no;

/// Where the system's log takes lines.
pub const SOCKET: &str = "/dev/log";

/// Octets of a line; what is longer is cut. Daemons take eight KiB and more.
const LINE_BYTES_MAX: usize = 8 * 1024;

/// Further places of the log, and how lines look.
#[derive(Args, Clone, Debug)]
pub struct SinkOptions {
    /// Whether lines of the log have the time to the nanosecond. Management can change it
    #[arg(long, env = "QPID_LOG_HIRES_TIMESTAMP", value_name = "yes|no", default_value = "no",
          value_parser = yes_or_no, num_args = 0..=1, default_missing_value = "yes",
          action = ArgAction::Set)]
    pub log_hires_timestamp: bool,

    /// Whether the log goes to the system's log
    #[arg(long, env = "QPID_LOG_TO_SYSLOG", value_name = "yes|no", default_value = "no",
          value_parser = yes_or_no, num_args = 0..=1, default_missing_value = "yes",
          action = ArgAction::Set)]
    pub log_to_syslog: bool,

    /// The broker's name there
    #[arg(
        long,
        env = "QPID_SYSLOG_NAME",
        value_name = "NAME",
        default_value = "qpidd"
    )]
    pub syslog_name: String,

    /// What it is there: LOG_DAEMON, LOG_USER, LOG_LOCAL0 to LOG_LOCAL7 and so on
    #[arg(long, env = "QPID_SYSLOG_FACILITY", value_name = "LOG_XXX", default_value = "LOG_DAEMON",
          value_parser = facility)]
    pub syslog_facility: Facility,
}

/// What a program is, for the system's log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facility(u8);

/// Names and numbers (RFC 3164, 4.1.1).
const FACILITIES: [(&str, u8); 20] = [
    ("KERN", 0),
    ("USER", 1),
    ("MAIL", 2),
    ("DAEMON", 3),
    ("AUTH", 4),
    ("SYSLOG", 5),
    ("LPR", 6),
    ("NEWS", 7),
    ("UUCP", 8),
    ("CRON", 9),
    ("AUTHPRIV", 10),
    ("FTP", 11),
    ("LOCAL0", 16),
    ("LOCAL1", 17),
    ("LOCAL2", 18),
    ("LOCAL3", 19),
    ("LOCAL4", 20),
    ("LOCAL5", 21),
    ("LOCAL6", 22),
    ("LOCAL7", 23),
];

fn facility(text: &str) -> Result<Facility, String> {
    let upper = text.to_ascii_uppercase();
    let bare = upper.strip_prefix("LOG_").unwrap_or(&upper);
    let found = FACILITIES.iter().find(|(name, _)| *name == bare);
    let wrong = || format!("{text} is no facility of the system's log");
    found.map(|(_, number)| Facility(*number)).ok_or_else(wrong)
}

/// How bad what a line says is (RFC 3164, 4.1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The broker ends.
    Critical = 2,
    /// Something failed.
    Error = 3,
    /// Somebody should look.
    Warning = 4,
    /// What an operator wants to see.
    Notice = 5,
    /// What goes on.
    Information = 6,
    /// Everything else.
    Debug = 7,
}

/// Whether somebody takes lines.
pub fn is_there() -> bool {
    Path::new(SOCKET).exists()
}

/// The system's log.
#[derive(Debug)]
pub struct Syslog {
    socket: UnixDatagram,
    name: String,
    facility: Facility,
}

impl Syslog {
    /// As the options say.
    ///
    /// # Errors
    /// There is no socket to be had. That nobody takes lines is no error: who does may come later.
    pub fn open(options: &SinkOptions) -> std::io::Result<Syslog> {
        let socket = UnixDatagram::unbound()?;
        // A broker never waits for those who read its log.
        socket.set_nonblocking(true)?;
        Ok(Syslog {
            socket,
            name: options.syslog_name.clone(),
            facility: options.syslog_facility,
        })
    }

    /// Gives one line away, if somebody takes it.
    pub fn log(&self, severity: Severity, line: &[u8]) {
        let datagram = self.datagram(severity, line);
        let _ = self.socket.send_to(&datagram, SOCKET);
    }

    fn datagram(&self, severity: Severity, line: &[u8]) -> Vec<u8> {
        let priority = u32::from(self.facility.0) * 8 + severity as u32;
        let before = format!("<{priority}>{}[{}]: ", self.name, std::process::id());
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let mut datagram = before.into_bytes();
        datagram.extend(line);
        datagram.truncate(LINE_BYTES_MAX);
        datagram
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_priority_name_and_process() {
        let options = SinkOptions {
            log_hires_timestamp: false,
            log_to_syslog: true,
            syslog_name: "broker".to_owned(),
            syslog_facility: facility("LOG_LOCAL1").expect("it is one"),
        };
        let syslog = Syslog::open(&options).expect("a socket");
        let datagram = syslog.datagram(Severity::Notice, b"Listening\n");
        let wanted = format!("<141>broker[{}]: Listening", std::process::id());
        assert_eq!(String::from_utf8_lossy(&datagram), wanted);
        let long = syslog.datagram(Severity::Debug, &[b'x'; 2 * LINE_BYTES_MAX]);
        assert_eq!(long.len(), LINE_BYTES_MAX);
    }

    #[test]
    fn facilities_have_the_names_of_the_system() {
        assert_eq!(facility("LOG_DAEMON"), Ok(Facility(3)));
        assert_eq!(facility("daemon"), Ok(Facility(3)));
        assert_eq!(facility("local7"), Ok(Facility(23)));
        assert!(facility("LOG_NOTHING").is_err());
    }
}
