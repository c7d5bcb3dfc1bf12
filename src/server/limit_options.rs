//! Options about what one connection may hold.

use clap::Args;

use super::options::octets;
use crate::protocol::Bounds;
use crate::protocol::limits::{ASSEMBLY_BYTES_MAX, SESSIONS_MAX};

/// Octets of `--max-message-size`, at least: headers alone, with no body to speak of, take hundreds.
const MESSAGE_BYTES_MIN: u64 = 1024;

/// What one connection may hold.
#[derive(Args, Clone, Debug)]
pub struct LimitOptions {
    /// Octets of one message, header and body: a number, or with k, m or g behind it. A larger one is
    /// refused
    #[arg(long, env = "QPID_MAX_MESSAGE_SIZE", value_name = "BYTES", default_value = "128m",
          value_parser = message_size)]
    pub max_message_size: u64,

    /// Sessions attached on one connection at one moment
    #[arg(long, env = "QPID_MAX_SESSIONS_PER_CONNECTION", value_name = "N",
          default_value_t = SESSIONS_MAX as u64,
          value_parser = clap::value_parser!(u64).range(1..=SESSIONS_MAX as u64))]
    pub max_sessions_per_connection: u64,
}

impl LimitOptions {
    /// The bounds of a connection, with those of these options.
    pub fn bounds(&self, others: Bounds) -> Bounds {
        let of = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let message = of(self.max_message_size);
        Bounds {
            assembly_bytes_max: message,
            // Two of the largest: one whose last frame is read while the next begins.
            assemblies_bytes_max: message.saturating_mul(2),
            sessions_max: of(self.max_sessions_per_connection),
            ..others
        }
    }
}

fn message_size(text: &str) -> Result<u64, String> {
    match octets(text)? {
        size if (MESSAGE_BYTES_MIN..=ASSEMBLY_BYTES_MAX as u64).contains(&size) => Ok(size),
        _ => Err(format!(
            "{text}: a message has {MESSAGE_BYTES_MIN} to {ASSEMBLY_BYTES_MAX} octets at most"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Command, FromArgMatches};

    fn read(line: &str) -> Option<Bounds> {
        let command = LimitOptions::augment_args(Command::new("serve"));
        let words = std::iter::once("serve").chain(line.split_whitespace());
        let matches = command.try_get_matches_from(words).ok()?;
        let options = LimitOptions::from_arg_matches(&matches).ok()?;
        Some(options.bounds(Bounds::default()))
    }

    #[test]
    fn the_bounds_of_a_connection_are_as_before_unless_said() {
        assert_eq!(read(""), Some(Bounds::default()));
        let line = "--max-message-size 64k --max-sessions-per-connection 3";
        let said = read(line).expect("they are read");
        assert_eq!(said.assembly_bytes_max, 64 * 1024);
        assert_eq!(said.assemblies_bytes_max, 128 * 1024);
        assert_eq!(said.sessions_max, 3);
    }

    #[test]
    fn what_no_connection_could_live_with_is_an_error() {
        for wrong in [
            "--max-message-size 0",
            "--max-message-size 129m",
            "--max-sessions-per-connection 0",
            "--max-sessions-per-connection 8193",
        ] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
