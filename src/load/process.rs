//! What the kernel's books say of a process.

use std::fs;
use std::io;
use std::time::Duration;

/// CPU time in `/proc` counts hundredths of a second on every Linux (`USER_HZ`), whatever the
/// kernel's own clock does.
const TICKS_PER_SECOND: u64 = 100;

/// What a process has used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// User and system time of all its threads.
    pub cpu: Duration,
    /// Resident memory.
    pub resident_bytes: u64,
}

/// Reads the books of a process of this machine.
///
/// # Errors
/// There is no such process, or no `/proc`.
pub fn usage(pid: u32) -> io::Result<Usage> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).map_err(|error| {
        io::Error::new(
            error.kind(),
            format!("process {pid} cannot be watched: {error}"),
        )
    })?;
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let strange = || io::Error::new(io::ErrorKind::InvalidData, format!("/proc/{pid}/stat"));
    Ok(Usage {
        cpu: cpu(&stat).ok_or_else(strange)?,
        resident_bytes: resident_bytes(&status).unwrap_or(0),
    })
}

/// utime and stime, fields 14 and 15. The command's name in field 2 may hold blanks and brackets.
fn cpu(stat: &str) -> Option<Duration> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some(Duration::from_millis(
        (user + system) * 1000 / TICKS_PER_SECOND,
    ))
}

fn resident_bytes(status: &str) -> Option<u64> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kibibytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_does_not_shift_the_fields() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194304 100 0 0 0 250 50 9 9 20 0 1 0 5 1000 10";
        assert_eq!(cpu(stat), Some(Duration::from_secs(3)));
    }

    #[test]
    fn resident_memory_is_told_in_kibibytes() {
        assert_eq!(
            resident_bytes("Name:\tx\nVmRSS:\t  12 kB\n"),
            Some(12 * 1024)
        );
        assert_eq!(resident_bytes("Name:\tx\n"), None);
    }
}
